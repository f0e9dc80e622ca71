/*
 * An experiment as tables: every cell, every ratio, every order, misses as well; then the headline
 * and one line for machines.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "campaign/experiment.h"

#define CELL 96 /* bytes of one table cell */

/* The first line of the scenario's text without its comment sign. */
static void about_text(const struct experiment *e, char *buf, size_t size)
{
	const char *text = e->about + strspn(e->about, "# ");

	snprintf(buf, size, "%.*s", (int)strcspn(text, "\n"), text);
}

static void print_header(FILE *out, const struct experiment *e)
{
	const struct scenario *s = &e->file->variant[0];
	char about[160];

	about_text(e, about, sizeof(about));
	fprintf(out, "%s: %s\n", e->name, about);
	fprintf(out,
		"host %s, %u pCPUs, %s; %u seed%s from %" PRIu64 "; parameters %016" PRIx64 "\n",
		s->topo.name, s->topo.n_online, sc_sched_name(s->xen.sched), e->n_seeds,
		e->n_seeds == 1 ? "" : "s", s->run.seed_base, e->parameters);
}

/* "35.20 s [34.9..35.6]", the range only when it is wider than what is printed. */
static void range_text(const struct report_range *r, const char *unit, int digits, char *buf,
		       size_t size)
{
	char min[32], max[32];

	if (!r->n) {
		snprintf(buf, size, "-");
		return;
	}
	snprintf(min, sizeof(min), "%.*f", digits, r->min);
	snprintf(max, sizeof(max), "%.*f", digits, r->max);
	if (strcmp(min, max) == 0)
		snprintf(buf, size, "%.*f%s", digits, r->mean, unit);
	else
		snprintf(buf, size, "%.*f%s [%s..%s]", digits, r->mean, unit, min, max);
}

/* The workload, and what is measured where a workload has several figures. */
static void measure_text(const struct experiment *e, const char *workload, const char *metric,
			 char *buf, size_t size)
{
	bool several = false;

	for (unsigned i = 0; i < e->n_cells && !several; i++)
		several = strcmp(e->cell[i].workload, workload) == 0 &&
			  strcmp(e->cell[i].metric, metric) != 0;
	snprintf(buf, size, "%s%s%s", workload, several ? " " : "", several ? metric : "");
}

static int print_cells(FILE *out, const struct experiment *e)
{
	static const char *const titles[] = {
		"WORKLOAD",	     "LOAD",	   "CONFIGURATION", "PUBLISHED",
		"SIMULATED [RANGE]", "DIFFERENCE", "LINKED"};
	struct report_table *t = report_table_new(titles, e->has_linked ? 7 : 6, 3);
	int ret = t ? 0 : -HV_ENOMEM;

	for (unsigned i = 0; i < e->n_cells && ret == 0; i++) {
		const struct experiment_cell *c = &e->cell[i];
		char measure[CELL], published[CELL], simulated[CELL], difference[CELL] = "-";
		char linked[CELL] = "", unit[32];
		const char *cells[] = {measure,	   c->load, c->configuration, published, simulated,
				       difference, linked};

		measure_text(e, c->workload, c->metric, measure, sizeof(measure));
		snprintf(unit, sizeof(unit), " %s", c->unit);
		snprintf(published, sizeof(published), "%.2f%s", c->published, unit);
		range_text(&c->simulated, unit, 2, simulated, sizeof(simulated));
		if (c->simulated.n)
			snprintf(difference, sizeof(difference), "%+.1f %%",
				 100 * (c->simulated.mean / c->published - 1));
		if (!isnan(c->linked))
			snprintf(linked, sizeof(linked), "%.2f%s", c->linked, unit);
		ret = report_table_row(t, cells);
	}
	fprintf(out, "\nCells: mean [lowest..highest] over seeds\n");
	if (e->has_linked && e->linked.n_rows)
		fprintf(out, "Linked: the same cell in %s, not judged\n",
			csv_cell(&e->linked, 0, "source_ref"));
	if (ret == 0)
		ret = report_table_print(t, out);
	report_table_free(t);
	return ret;
}

static void ratio_text(const struct experiment *e, const struct experiment_ratio *r, char *buf,
		       size_t size)
{
	const struct experiment_cell *n = &e->cell[r->num], *d = &e->cell[r->den];
	char measure[CELL];

	measure_text(e, n->workload, n->metric, measure, sizeof(measure));
	if (strcmp(n->load, d->load) == 0)
		snprintf(buf, size, "%s %s: %s / %s", measure, n->load, n->configuration,
			 d->configuration);
	else if (strcmp(n->configuration, d->configuration) == 0)
		snprintf(buf, size, "%s %s: %s / %s", measure, n->configuration, n->load, d->load);
	else
		snprintf(buf, size, "%s: %s %s / %s %s", measure, n->configuration, n->load,
			 d->configuration, d->load);
}

static const char *result_text(const struct experiment_ratio *r)
{
	if (r->result == RESULT_NO_VALUE)
		return "no value";
	if (r->grade == 'C')
		return r->in_band ? "report only: inside" : "report only: outside";
	if (r->fitted)
		return r->result == RESULT_PASS ? "pass, but fitted" : "MISS, fitted";
	if (r->result == RESULT_PASS)
		return "pass";
	return r->in_band ? "MISS: the order" : "MISS";
}

static int print_ratios(FILE *out, const struct experiment *e)
{
	static const char *const titles[] = {"ID",     "RATIO",	    "GRADE",
					     "RESULT", "PUBLISHED", "SIMULATED [RANGE]",
					     "BAND",   "ERROR"};
	struct report_table *t = report_table_new(titles, 8, 4);
	int ret = t ? 0 : -HV_ENOMEM;

	for (unsigned i = 0; i < e->n_ratios && ret == 0; i++) {
		const struct experiment_ratio *r = &e->ratio[i];
		struct report_range shown = r->seed;
		char ratio[2 * CELL], grade[2] = {r->grade}, published[CELL], simulated[CELL] = "-";
		char band[CELL], error[CELL] = "-";
		const char *cells[] = {r->id,	  ratio,     grade, result_text(r),
				       published, simulated, band,  error};

		ratio_text(e, r, ratio, sizeof(ratio));
		snprintf(published, sizeof(published), r->percent ? "%+.1f %%" : "%.3f",
			 r->observed);
		snprintf(band, sizeof(band), r->percent ? "%+.0f..%+.0f %%" : "%.3f..%.3f",
			 r->lower, r->upper);
		shown.mean = r->simulated; /* of the means; the range is seed by seed */
		if (r->has_value) {
			range_text(&shown, r->percent ? " %" : "", r->percent ? 1 : 3, simulated,
				   sizeof(simulated));
			snprintf(error, sizeof(error), "%+.1f %%", r->error);
		}
		ret = report_table_row(t, cells);
	}
	fprintf(out,
		"\nRatios: of the means [lowest..highest seed by seed]. Grade A: must be inside "
		"the band; B: and in order;\nC: report only. Fitted: a model parameter was chosen "
		"after it, so it proves nothing.\n");
	if (ret == 0)
		ret = report_table_print(t, out);
	report_table_free(t);
	return ret;
}

static int print_orderings(FILE *out, const struct experiment *e)
{
	static const char *const titles[] = {"WORKLOAD", "LOAD", "PUBLISHED, BEST FIRST",
					     "DEMANDED", "RESULT"};
	static const char *const result[] = {[ORDER_NOT_DEMANDED] = "",
					     [ORDER_UNREAD] = "not checked here",
					     [ORDER_HELD] = "held",
					     [ORDER_MISSED] = "MISS",
					     [ORDER_NO_VALUE] = "no value"};
	struct report_table *t = report_table_new(titles, 5, 5);
	int ret = t ? 0 : -HV_ENOMEM;

	for (unsigned i = 0; i < e->n_orderings && ret == 0; i++) {
		const struct experiment_ordering *o = &e->ordering[i];
		char measure[CELL];
		const char *cells[] = {measure, o->load, o->observed, o->demanded,
				       result[o->result]};

		measure_text(e, o->workload, o->metric, measure, sizeof(measure));
		ret = report_table_row(t, cells);
	}
	fprintf(out,
		"\nOrders: '>' counts when the seeds' ranges do not overlap or all seeds agree, "
		"'>=' unless the reverse does\n");
	if (ret == 0)
		ret = report_table_print(t, out);
	report_table_free(t);
	return ret;
}

int experiment_print(FILE *out, const struct experiment *e)
{
	int ret;

	assert(out && e->n_seeds > 0);
	print_header(out, e);
	ret = print_cells(out, e);
	if (ret == 0)
		ret = print_ratios(out, e);
	if (ret == 0)
		ret = print_orderings(out, e);
	return ret;
}

void experiment_print_verdict(FILE *out, const struct experiment *e)
{
	fprintf(out,
		"\n%u of %u ratios reproduced (grades A and B, fitted ones not counted), "
		"%u of %u orders\n",
		e->reproduced, e->counted, e->orders_held, e->orders_demanded);
	fprintf(out,
		"verdict=%s experiment=%s ratios=%u/%u orders=%u/%u fitted_missed=%u "
		"parameters=%016" PRIx64 "\n",
		experiment_reproduced(e) ? "reproduced" : "missed", e->name, e->reproduced,
		e->counted, e->orders_held, e->orders_demanded, e->fitted_missed, e->parameters);
}
