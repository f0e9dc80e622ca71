/*
 * Small tables of comma-separated values with a header line (RFC 4180, but no line breaks inside
 * quotes).
 */
#ifndef HVSCHED_CAMPAIGN_CSV_H
#define HVSCHED_CAMPAIGN_CSV_H

#include <stddef.h>

struct csv {
	char *text;  /* what the cells point into */
	char **cell; /* [(1 + n_rows) * n_columns], the header first */
	unsigned n_columns, n_rows;
};

/*
 * Split a copy of text. 0; -HV_ENOMEM; -HV_EINVAL when a row has another number of cells than the
 * header, *line says which (from 1).
 */
int csv_read(const char *text, struct csv *out, unsigned *line);
void csv_free(struct csv *c);

/* The cell of a row (from 0) under the column's name; NULL when there is no such column. */
const char *csv_cell(const struct csv *c, unsigned row, const char *column);

#endif
