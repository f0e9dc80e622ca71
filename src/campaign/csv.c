/*
 * See csv.h. Cells are cut out in place: quotes are removed by moving the rest of the cell left.
 */
#include "campaign/csv.h"

#include <assert.h>
#include <hvsched.h>
#include <stdlib.h>
#include <string.h>

/* Ends the cell at *at with a NUL and moves *at behind it. Returns what ended it: ',' '\n' or 0. */
static char cut_cell(char **at)
{
	char *in = *at, *out = *at, end;

	if (*in == '"') {
		for (in++; *in && !(in[0] == '"' && in[1] != '"'); in++) {
			if (*in == '"')
				in++;
			*out++ = *in;
		}
		in += *in == '"';
	}
	while (*in && *in != ',' && *in != '\n') {
		if (*in != '\r')
			*out++ = *in;
		in++;
	}
	end = *in;
	*at = end ? in + 1 : in;
	*out = '\0';
	return end;
}

static unsigned count(const char *text, char what)
{
	unsigned n = 0;

	for (; *text; text++)
		n += *text == what;
	return n;
}

/* The cells of one line into row[]; false when there are not exactly n of them (n = 0: any). */
static bool cut_line(char **at, char **row, unsigned limit, unsigned *n)
{
	char end;

	*n = 0;
	do {
		if (*n == limit)
			return false;
		row[(*n)++] = *at;
		end = cut_cell(at);
	} while (end == ',');
	return true;
}

int csv_read(const char *text, struct csv *out, unsigned *line)
{
	struct csv c = {.text = strdup(text)};
	unsigned limit = count(text, ',') + count(text, '\n') + 1, n, used = 0;
	char *at = c.text;

	assert(out && line);
	*line = 0;
	c.cell = calloc(limit, sizeof(*c.cell));
	if (!c.text || !c.cell) {
		csv_free(&c);
		return -HV_ENOMEM;
	}
	while (*at) {
		++*line;
		if (!cut_line(&at, c.cell + used, limit - used, &n) ||
		    (c.n_columns && n != c.n_columns)) {
			csv_free(&c);
			return -HV_EINVAL;
		}
		if (c.n_columns)
			c.n_rows++;
		c.n_columns = n;
		used += n;
	}
	*out = c;
	return 0;
}

void csv_free(struct csv *c)
{
	free(c->text);
	free(c->cell);
	memset(c, 0, sizeof(*c));
}

const char *csv_cell(const struct csv *c, unsigned row, const char *column)
{
	assert(row < c->n_rows);
	for (unsigned i = 0; i < c->n_columns; i++) {
		if (strcmp(c->cell[i], column) == 0)
			return c->cell[(row + 1) * c->n_columns + i];
	}
	return NULL;
}
