/*
 * Plain tables of text cells through libsmartcols: the first columns are text (left), the others
 * numbers (right). A table never truncates: a report that is piped must not depend on a terminal.
 */
#include <assert.h>
#include <errno.h>
#include <libsmartcols.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"

struct report_table {
	struct libscols_table *table;
	unsigned n;
};

struct report_table *report_table_new(const char *const *titles, unsigned n, unsigned n_text)
{
	struct report_table *t = calloc(1, sizeof(*t));

	assert(n > 0);
	assert(n_text <= n);
	if (!t)
		return NULL;
	t->n = n;
	t->table = scols_new_table();
	if (!t->table) {
		free(t);
		return NULL;
	}
	scols_table_enable_nowrap(t->table, 1);
	for (unsigned i = 0; i < n; i++) {
		if (!scols_table_new_column(t->table, titles[i], 0,
					    i < n_text ? 0 : SCOLS_FL_RIGHT)) {
			report_table_free(t);
			return NULL;
		}
	}
	return t;
}

int report_table_row(struct report_table *t, const char *const *cells)
{
	struct libscols_line *line;

	assert(t);
	line = scols_table_new_line(t->table, NULL);
	if (!line)
		return -HV_ENOMEM;
	for (unsigned i = 0; i < t->n; i++) {
		if (scols_line_set_data(line, i, cells[i] ? cells[i] : "") != 0)
			return -HV_ENOMEM;
	}
	return 0;
}

int report_table_print(struct report_table *t, FILE *out)
{
	char *text = NULL;
	int ret;

	assert(t);
	assert(out);
	scols_table_set_termforce(t->table, SCOLS_TERMFORCE_NEVER);
	ret = scols_print_table_to_string(t->table, &text);
	if (ret == 0) {
		size_t len = strlen(text);

		fputs(text, out);
		if (!len || text[len - 1] != '\n')
			fputc('\n', out);
	}
	free(text);
	return ret == 0 ? 0 : -HV_ENOMEM;
}

void report_table_free(struct report_table *t)
{
	if (!t)
		return;
	scols_unref_table(t->table);
	free(t);
}
