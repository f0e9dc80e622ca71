/*
 * See sensitivity.h.
 */
#include "campaign/sensitivity.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/embedded.h"

#define LIST	  "experiments/sensitivity.csv"
#define FLIPS_MAX 160 /* bytes of the list of flips */

/* sigma of every class of every workload of every variant, each workload once. */
static int change_sigma(struct scenario_file *f, double by)
{
	const struct workload **seen = NULL;
	size_t n = 0, room = 0;

	for (unsigned v = 0; v < f->n_variants; v++)
		room += f->variant[v].n_vms;
	seen = calloc(room + 1, sizeof(struct workload *));
	if (!seen)
		return -HV_ENOMEM;
	for (unsigned v = 0; v < f->n_variants; v++) {
		for (unsigned i = 0; i < f->variant[v].n_vms; i++) {
			const struct workload *w = f->variant[v].vm[i].workload;
			size_t k = 0;

			while (k < n && seen[k] != w)
				k++;
			if (k < n)
				continue;
			seen[n++] = w;
			for (uint32_t c = 0; c < w->n_classes; c++) {
				double sigma = w->cls[c].sigma + by * PROGRAM_ONE;

				w->cls[c].sigma =
					(int32_t)lround(fmin(fmax(sigma, 0), PROGRAM_ONE));
			}
		}
	}
	free(seen);
	return 0;
}

static int load(const char *name, const struct sc_set *set, unsigned n_sets, const char *path,
		const char *value, struct sc_diag *diag, struct experiment *out)
{
	bool sigma = strcmp(path, "sigma") == 0;
	struct sc_set *all = calloc(n_sets + 1, sizeof(*all));
	int ret;

	if (!all)
		return -HV_ENOMEM;
	if (n_sets)
		memcpy(all, set, n_sets * sizeof(*all));
	all[n_sets] = (struct sc_set){.path = path, .value = value};
	ret = experiment_load(name, all, n_sets + !sigma, diag, out);
	free(all);
	if (ret == 0 && sigma) {
		ret = change_sigma(out->file, strtod(value, NULL));
		if (ret != 0)
			experiment_free(out);
	}
	return ret;
}

static int run_one(const char *name, const struct sc_set *set, unsigned n_sets,
		   const struct campaign_options *options, struct sc_diag *diag,
		   const struct csv *list, unsigned row, struct sensitivity_run *out,
		   bool *interrupted)
{
	struct campaign campaign;
	int ret;

	out->change = csv_cell(list, row, "change");
	ret = load(name, set, n_sets, csv_cell(list, row, "path"), csv_cell(list, row, "value"),
		   diag, &out->e);
	if (ret == -EINVAL)
		return 0; /* told through diag; the other changes go on */
	if (ret != 0)
		return ret;
	ret = campaign_run(out->e.file, options, &campaign);
	if (ret == 0) {
		ret = experiment_score(&out->e, &campaign);
		*interrupted = campaign.interrupted;
		out->done = ret == 0 && !campaign.interrupted;
		campaign_free(&campaign);
	}
	if (!out->done)
		experiment_free(&out->e);
	return ret;
}

int sensitivity_run(const char *name, const struct sc_set *set, unsigned n_sets,
		    const struct campaign_options *options, struct sc_diag *diag,
		    struct sensitivity *out)
{
	const struct embedded_file *f = embedded_find(LIST);
	unsigned line;
	int ret;

	*out = (struct sensitivity){0};
	assert(f);
	ret = csv_read((const char *)f->data, &out->list, &line);
	if (ret != 0)
		return ret;
	assert(out->list.n_rows <= SENSITIVITY_MAX);
	for (unsigned i = 0; i < out->list.n_rows && ret == 0 && !out->interrupted; i++) {
		ret = run_one(name, set, n_sets, options, diag, &out->list, i, &out->run[i],
			      &out->interrupted);
		out->n++;
	}
	return ret;
}

void sensitivity_free(struct sensitivity *s)
{
	for (unsigned i = 0; i < s->n; i++) {
		if (s->run[i].done)
			experiment_free(&s->run[i].e);
	}
	csv_free(&s->list);
	*s = (struct sensitivity){0};
}

/* "000-3 misses, order of xen-build low/none holds": what differs from the base. */
static unsigned flips_text(const struct experiment *e, const struct experiment *base, char *buf,
			   size_t size)
{
	unsigned n = 0;
	size_t len = 0;

	buf[0] = '\0';
	assert(e->n_ratios == base->n_ratios && e->n_orderings == base->n_orderings);
	for (unsigned i = 0; i < e->n_ratios && len < size; i++) {
		const struct experiment_ratio *r = &e->ratio[i];

		if (r->grade == 'C' || r->result == base->ratio[i].result)
			continue;
		len += (size_t)snprintf(buf + len, size - len, "%s%s %s", n++ ? ", " : "", r->id,
					r->result == RESULT_PASS ? "passes" : "misses");
	}
	for (unsigned i = 0; i < e->n_orderings && len < size; i++) {
		const struct experiment_ordering *o = &e->ordering[i];

		if (o->result == base->ordering[i].result)
			continue;
		len += (size_t)snprintf(buf + len, size - len, "%sorder of %s %s %s",
					n++ ? ", " : "", o->workload, o->load,
					o->result == ORDER_HELD ? "holds" : "misses");
	}
	return n;
}

int sensitivity_print(FILE *out, const struct sensitivity *s, const struct experiment *base)
{
	static const char *const titles[] = {"CHANGE", "RATIOS", "ORDERS", "WHAT FLIPS"};
	struct report_table *t = report_table_new(titles, 4, 4);
	unsigned flipped = 0, done = 0;
	int ret = t ? 0 : -HV_ENOMEM;

	for (unsigned i = 0; i < s->n && ret == 0; i++) {
		const struct sensitivity_run *r = &s->run[i];
		char ratios[32] = "not run", orders[32] = "", flips[FLIPS_MAX] = "";
		const char *cells[] = {r->change, ratios, orders, flips};

		if (r->done) {
			snprintf(ratios, sizeof(ratios), "%u/%u", r->e.reproduced, r->e.counted);
			snprintf(orders, sizeof(orders), "%u/%u", r->e.orders_held,
				 r->e.orders_demanded);
			flipped += flips_text(&r->e, base, flips, sizeof(flips)) > 0;
			done++;
		}
		ret = report_table_row(t, cells);
	}
	fprintf(out, "\nSensitivity: one parameter changed for all cells. A claim holds only if no "
		     "change flips it.\n");
	if (ret == 0)
		ret = report_table_print(t, out);
	report_table_free(t);
	fprintf(out, "\n%u of %u changes flip something\n", flipped, done);
	return ret;
}
