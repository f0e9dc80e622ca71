/*
 * The files of an experiment, and its cells filled from a campaign. See experiment.h.
 */
#include "campaign/experiment.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/embedded.h"

#define PREFIX "experiments/"

/* ---- the list */

const char *experiment_next(const char *previous, char *name, size_t size, const char **about)
{
	const struct embedded_file *f = NULL;
	bool found = !previous;
	const char *end;
	char full[128];

	snprintf(full, sizeof(full), PREFIX "%s.yaml", previous ? previous : "");
	while ((f = embedded_next(f, PREFIX))) {
		end = strstr(f->name, ".yaml");
		if (!end || end[5] || !found) {
			found |= strcmp(f->name, full) == 0;
			continue;
		}
		snprintf(name, size, "%.*s", (int)(end - f->name - strlen(PREFIX)),
			 f->name + strlen(PREFIX));
		*about = (const char *)f->data;
		return name;
	}
	return NULL;
}

/* ---- reading; a mistake here is one of whoever wrote the experiment */

static int wrong(struct sc_diag *diag, const char *name, const char *part, unsigned line,
		 const char *fmt, ...) __attribute__((format(printf, 5, 6)));

static int wrong(struct sc_diag *diag, const char *name, const char *part, unsigned line,
		 const char *fmt, ...)
{
	va_list args;

	diag->errors++;
	if (!diag->out)
		return -EINVAL;
	fprintf(diag->out, PREFIX "%s.%s.csv:%u: error: ", name, part, line);
	va_start(args, fmt);
	vfprintf(diag->out, fmt, args);
	va_end(args);
	fputc('\n', diag->out);
	return -EINVAL;
}

static int read_table(const char *name, const char *part, struct sc_diag *diag, struct csv *out)
{
	const struct embedded_file *f;
	char path[128];
	unsigned line;
	int ret;

	snprintf(path, sizeof(path), PREFIX "%s.%s.csv", name, part);
	f = embedded_find(path);
	if (!f)
		return wrong(diag, name, part, 0, "the file is missing");
	ret = csv_read((const char *)f->data, out, &line);
	if (ret == -HV_EINVAL)
		return wrong(diag, name, part, line, "not as many cells as the header has");
	return ret;
}

/* The row's cell, "" when the table has no such column. */
static const char *text_of(const struct csv *c, unsigned row, const char *column)
{
	const char *text = csv_cell(c, row, column);

	return text ? text : "";
}

static bool number_of(const struct csv *c, unsigned row, const char *column, double *out)
{
	const char *text = text_of(c, row, column);
	char *end;

	*out = strtod(text, &end);
	return end != text && !*end;
}

static bool find_cell(const struct experiment *e, const char *workload, const char *metric,
		      const char *configuration, const char *load, unsigned *out)
{
	for (unsigned i = 0; i < e->n_cells; i++) {
		const struct experiment_cell *c = &e->cell[i];

		*out = i;
		if (strcmp(c->workload, workload) == 0 && strcmp(c->metric, metric) == 0 &&
		    strcmp(c->configuration, configuration) == 0 && strcmp(c->load, load) == 0)
			return true;
	}
	return false;
}

static bool find_variant(const struct experiment *e, const struct experiment_cell *c, unsigned *out)
{
	char name[256];

	snprintf(name, sizeof(name), "%s %s %s", c->configuration, c->load, c->workload);
	for (*out = 0; *out < e->file->n_variants; ++*out) {
		if (strcmp(e->file->variant[*out].variant, name) == 0)
			return true;
	}
	return false;
}

static int read_cells(struct experiment *e, struct sc_diag *diag)
{
	const struct csv *t = &e->published;

	e->cell = calloc(t->n_rows + 1, sizeof(*e->cell));
	if (!e->cell)
		return -HV_ENOMEM;
	for (unsigned i = 0; i < t->n_rows; i++) {
		struct experiment_cell *c = &e->cell[e->n_cells++];

		c->workload = text_of(t, i, "workload");
		c->configuration = text_of(t, i, "configuration");
		c->load = text_of(t, i, "load");
		c->metric = text_of(t, i, "metric");
		c->unit = text_of(t, i, "unit");
		c->lower_is_better = strcmp(text_of(t, i, "better"), "lower") == 0;
		c->linked = NAN;
		if (!number_of(t, i, "value", &c->published))
			return wrong(diag, e->name, "published", i + 2, "'%s' is no number",
				     text_of(t, i, "value"));
		if (!find_variant(e, c, &c->variant))
			return wrong(diag, e->name, "published", i + 2,
				     "the scenario has no variant '%s %s %s'", c->configuration,
				     c->load, c->workload);
	}
	return 0;
}

/* The second source, if there is one. */
static int read_linked(struct experiment *e, struct sc_diag *diag)
{
	const struct csv *t = &e->linked;
	char path[128];
	unsigned cell;
	int ret;

	snprintf(path, sizeof(path), PREFIX "%s.linked.csv", e->name);
	e->has_linked = embedded_find(path) != NULL;
	if (!e->has_linked)
		return 0;
	ret = read_table(e->name, "linked", diag, &e->linked);
	if (ret != 0)
		return ret;
	for (unsigned i = 0; i < t->n_rows; i++) {
		if (!find_cell(e, text_of(t, i, "workload"), text_of(t, i, "metric"),
			       text_of(t, i, "configuration"), text_of(t, i, "load"), &cell))
			return wrong(diag, e->name, "linked", i + 2, "no such cell is published");
		if (!number_of(t, i, "value", &e->cell[cell].linked))
			return wrong(diag, e->name, "linked", i + 2, "'%s' is no number",
				     text_of(t, i, "value"));
	}
	return 0;
}

/* "A > B >= C", names of configurations. Other words are kept as text and not checked. */
static void read_demand(const struct experiment *e, struct experiment_ordering *o)
{
	const char *at = o->demanded;
	char name[64];
	int used;

	o->result = strncmp(at, "none", 4) == 0 ? ORDER_NOT_DEMANDED : ORDER_UNREAD;
	while (o->result == ORDER_UNREAD && o->n < EXPERIMENT_MAX_CLAUSES &&
	       sscanf(at, "%63s%n", name, &used) == 1) {
		if (!find_cell(e, o->workload, o->metric, name, o->load, &o->cell[o->n]))
			break;
		o->n++;
		at += used;
		at += strspn(at, " ");
		if (!*at) {
			o->result = o->n >= 2 ? ORDER_NO_VALUE : ORDER_UNREAD;
			break;
		}
		if (*at != '>')
			break;
		o->strict[o->n - 1] = at[1] != '=';
		at += at[1] == '=' ? 2 : 1;
	}
}

static int read_orderings(struct experiment *e)
{
	const struct csv *t = &e->orderings;

	e->ordering = calloc(t->n_rows + 1, sizeof(*e->ordering));
	if (!e->ordering)
		return -HV_ENOMEM;
	for (unsigned i = 0; i < t->n_rows; i++) {
		struct experiment_ordering *o = &e->ordering[e->n_orderings++];

		o->workload = text_of(t, i, "workload");
		o->load = text_of(t, i, "load");
		o->metric = text_of(t, i, "metric");
		o->demanded = text_of(t, i, "demanded");
		o->observed = text_of(t, i, "observed_best_first");
		read_demand(e, o);
	}
	return 0;
}

/* The order that a ratio within one load also depends on: the one that orders its two cells. */
static const struct experiment_ordering *order_of(const struct experiment *e,
						  const struct experiment_ratio *r)
{
	for (unsigned i = 0; i < e->n_orderings; i++) {
		const struct experiment_ordering *o = &e->ordering[i];
		bool num = false, den = false;

		if (o->result == ORDER_NOT_DEMANDED || o->result == ORDER_UNREAD)
			continue;
		for (unsigned k = 0; k < o->n; k++) {
			num |= o->cell[k] == r->num;
			den |= o->cell[k] == r->den;
		}
		if (num && den)
			return o;
	}
	return NULL;
}

static int read_ratios(struct experiment *e, struct sc_diag *diag)
{
	const struct csv *t = &e->ratios;

	e->ratio = calloc(t->n_rows + 1, sizeof(*e->ratio));
	if (!e->ratio)
		return -HV_ENOMEM;
	for (unsigned i = 0; i < t->n_rows; i++) {
		struct experiment_ratio *r = &e->ratio[e->n_ratios++];
		const char *workload = text_of(t, i, "workload"), *metric = text_of(t, i, "metric");

		r->id = text_of(t, i, "id");
		r->note = text_of(t, i, "note");
		r->percent = strcmp(text_of(t, i, "kind"), "percent") == 0;
		r->grade = *text_of(t, i, "grade");
		r->fitted = strncmp(r->note, "fitted", 6) == 0;
		if (!find_cell(e, workload, metric, text_of(t, i, "num_configuration"),
			       text_of(t, i, "num_load"), &r->num) ||
		    !find_cell(e, workload, metric, text_of(t, i, "den_configuration"),
			       text_of(t, i, "den_load"), &r->den))
			return wrong(diag, e->name, "ratios", i + 2, "no such cell is published");
		if (!number_of(t, i, "observed", &r->observed) ||
		    !number_of(t, i, "lower", &r->lower) || !number_of(t, i, "upper", &r->upper) ||
		    !strchr("ABC", r->grade) || !r->grade)
			return wrong(diag, e->name, "ratios", i + 2,
				     "observed, lower, upper and a grade A, B or C are expected");
		if (r->grade == 'B')
			r->order = order_of(e, r);
	}
	return 0;
}

/* ---- the hash of the parameters */

/* Everything that scenario_print() says of the hardware: what a variant could differ in. */
static int hash_parameters(const struct scenario *s, uint64_t *hash)
{
	struct scenario bare = *s;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return -HV_ENOMEM;
	bare.variant = "";
	bare.n_vms = bare.n_events = 0;
	bare.xen = (struct sc_xen){.cmdline = "", .max_cpus_runqueue = 16};
	bare.run = (struct sc_run){.seeds = 1};
	scenario_print(out, &bare);
	if (fclose(out) != 0) {
		free(text);
		return -HV_ENOMEM;
	}
	*hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
	for (size_t i = 0; i < size; i++)
		*hash = (*hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
	free(text);
	return 0;
}

/* Rule 1: one parameter set for all cells. */
static int check_parameters(struct experiment *e, struct sc_diag *diag)
{
	uint64_t hash = 0;
	int ret = hash_parameters(&e->file->variant[0], &e->parameters);

	for (unsigned i = 1; ret == 0 && i < e->file->n_variants; i++) {
		ret = hash_parameters(&e->file->variant[i], &hash);
		if (ret == 0 && hash != e->parameters)
			return wrong(diag, e->name, "published", 0,
				     "variant '%s' has other hardware parameters than the first",
				     e->file->variant[i].variant);
	}
	return ret;
}

/* ---- an experiment */

int experiment_load(const char *name, const struct sc_set *set, unsigned n_sets,
		    struct sc_diag *diag, struct experiment *out)
{
	struct experiment e = {.name = name};
	const struct embedded_file *f;
	char path[128];
	int ret;

	assert(name && diag && out);
	snprintf(path, sizeof(path), PREFIX "%s.yaml", name);
	f = embedded_find(path);
	if (!f)
		return -ENOENT;
	e.about = (const char *)f->data;
	ret = scenario_load_text(path, e.about, f->size, ".", set, n_sets, diag, &e.file);
	if (ret == 0)
		ret = read_table(name, "published", diag, &e.published);
	if (ret == 0)
		ret = read_table(name, "ratios", diag, &e.ratios);
	if (ret == 0)
		ret = read_table(name, "orderings", diag, &e.orderings);
	if (ret == 0)
		ret = read_table(name, "metrics", diag, &e.metrics);
	if (ret == 0)
		ret = read_cells(&e, diag);
	if (ret == 0)
		ret = read_linked(&e, diag);
	if (ret == 0)
		ret = read_orderings(&e);
	if (ret == 0)
		ret = read_ratios(&e, diag);
	if (ret == 0)
		ret = check_parameters(&e, diag);
	if (ret != 0) {
		experiment_free(&e);
		return ret;
	}
	*out = e;
	return 0;
}

void experiment_free(struct experiment *e)
{
	for (unsigned i = 0; i < e->n_cells; i++)
		free(e->cell[i].value);
	free(e->cell);
	free(e->ratio);
	free(e->ordering);
	csv_free(&e->published);
	csv_free(&e->ratios);
	csv_free(&e->orderings);
	csv_free(&e->metrics);
	csv_free(&e->linked);
	if (e->file)
		scenario_file_free(e->file);
	memset(e, 0, sizeof(*e));
}

/* ---- figures */

/* "build.elapsed" of the metrics table as a reference. The text lives as long as the table. */
static bool find_reference(const struct experiment *e, const struct experiment_cell *c,
			   struct sc_ref *ref, char *entity, size_t size, double *unit)
{
	const struct csv *t = &e->metrics;
	size_t n;
	const struct sc_metric *m = sc_metrics(&n);

	for (unsigned i = 0; i < t->n_rows; i++) {
		const char *text = text_of(t, i, "reference"), *dot = strchr(text, '.');

		if (strcmp(text_of(t, i, "workload"), c->workload) != 0 ||
		    strcmp(text_of(t, i, "metric"), c->metric) != 0 || !dot ||
		    !number_of(t, i, "base_units", unit))
			continue;
		snprintf(entity, size, "%.*s", (int)(dot - text), text);
		*ref = (struct sc_ref){.scope = SC_SCOPE_VM,
				       .entity = entity,
				       .index = -1,
				       .variant = (int)c->variant};
		for (size_t k = 0; k < n; k++) {
			if (strcmp(m[k].name, dot + 1) == 0)
				ref->metric = &m[k];
		}
		return ref->metric;
	}
	return false;
}

/* The mean over the VMs of the reference, in the published unit; NAN when a VM has no value. */
static double cell_value(const struct scenario *s, const struct lab_result *r,
			 const struct sc_ref *ref, double unit)
{
	struct report_range range = {0};
	unsigned first = 0, n = 0;
	double value;

	if (!r || !r->vm || r->status != LAB_DONE || !scenario_find(s, ref->entity, &first, &n))
		return NAN;
	for (unsigned i = first; i < first + n; i++) {
		if (lab_value(s, r, ref, (int)i, &value) != 0)
			return NAN;
		report_range_add(&range, value / unit);
	}
	return range.n ? range.mean : NAN;
}

int experiment_score(struct experiment *e, const struct campaign *c)
{
	assert(c->file == e->file);
	e->n_seeds = c->n_seeds;
	for (unsigned i = 0; i < e->n_cells; i++) {
		struct experiment_cell *cell = &e->cell[i];
		char entity[64];
		struct sc_ref ref;
		double unit = 1;
		bool known = find_reference(e, cell, &ref, entity, sizeof(entity), &unit);

		free(cell->value);
		cell->value = calloc(e->n_seeds, sizeof(*cell->value));
		if (!cell->value)
			return -HV_ENOMEM;
		for (unsigned k = 0; k < e->n_seeds; k++)
			cell->value[k] =
				known ? cell_value(&e->file->variant[cell->variant],
						   campaign_result(c, cell->variant, k), &ref, unit)
				      : NAN;
	}
	experiment_judge(e);
	return 0;
}
