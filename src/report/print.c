/*
 * The report as a person reads it, made for 120 columns.
 *
 * Tables of VMs have one line per VM group and variant, so that variants stand below each other;
 * tables of pCPUs and counters have a column per variant, up to four in one table. The last line is
 * the verdict, for machines.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"

#define CELL	      96 /* bytes of one cell */
#define PER_TABLE     4	 /* variants side by side, at most */
#define MAX_COLUMNS   16
#define MAX_CPU_LINES 16 /* more pCPUs are shown in blocks of neighbours */

static const char *variant_name(const struct report_variant *v)
{
	return *v->scenario->variant ? v->scenario->variant : "(the file)";
}

/* ---- what was run */

static void seeds_text(const struct report_variant *v, char *buf, size_t size)
{
	uint64_t first, last;

	if (!v->n_runs) {
		snprintf(buf, size, "none done");
		return;
	}
	first = v->run[0]->seed;
	last = v->run[v->n_runs - 1]->seed;
	if (v->n_runs == 1)
		snprintf(buf, size, "%llu", (unsigned long long)first);
	else if (last - first + 1 == v->n_runs)
		snprintf(buf, size, "%llu..%llu", (unsigned long long)first,
			 (unsigned long long)last);
	else
		snprintf(buf, size, "%u of %llu..%llu", v->n_runs, (unsigned long long)first,
			 (unsigned long long)last);
}

/* The arrangement that is in effect, not the one asked for: "8 x 2 pCPUs". */
static void runqueues_text(const struct report_variant *v, char *buf, size_t size)
{
	const struct lab_result *r = v->n_runs ? v->run[0] : NULL;
	size_t len = 0;

	snprintf(buf, size, "-");
	for (unsigned i = 0, n; r && i < r->n_runqueues; i += n) {
		n = 1;
		while (i + n < r->n_runqueues && r->runqueue[i + n].size == r->runqueue[i].size)
			n++;
		if (len < size)
			len += (size_t)snprintf(buf + len, size - len, "%s%u x %u pCPUs",
						i ? " + " : "", n, r->runqueue[i].size);
	}
}

static bool get_window(const struct report_variant *v, const struct lab_result *r, unsigned first,
		       unsigned n, double *value)
{
	(void)v;
	(void)first;
	(void)n;
	*value = (double)(r->end - r->start);
	return true;
}

/* "xeon-2x4x2", or topology and preset when they are not the same thing. */
static void host_text(const struct scenario *s, char *buf, size_t size)
{
	const char *preset = s->preset ? s->preset : "generic";

	if (strstr(preset, s->topo.name))
		snprintf(buf, size, "%s", preset);
	else
		snprintf(buf, size, "%s (%s)", s->topo.name, preset);
}

/* "credit2", or "credit2, rtds" with a pool under another one. */
static void sched_text(const struct scenario *s, char *buf, size_t size)
{
	bool seen[SC_NR_SCHEDS] = {false};
	size_t used = 0;

	for (unsigned i = 0; i < s->n_pools && used < size; i++) {
		enum sc_sched sched = s->pool[i].sched;

		if (!seen[sched])
			used += (size_t)snprintf(buf + used, size - used, "%s%s", i ? ", " : "",
						 sc_sched_name(sched));
		seen[sched] = true;
	}
}

static int print_header(FILE *out, const struct report *r)
{
	static const char *const titles[] = {"VARIANT",	  "HOST",  "PCPUS",   "SCHEDULER",
					     "RUNQUEUES", "SEEDS", "WARM-UP", "WINDOW"};
	struct report_table *t = report_table_new(titles, 8, 5);
	int ret = t ? 0 : -HV_ENOMEM;

	fprintf(out, "%s\n\n", r->path);
	for (unsigned i = 0; i < r->n_variants && ret == 0; i++) {
		const struct report_variant *v = &r->variant[i];
		const struct scenario *s = v->scenario;
		struct report_range window = report_range(v, get_window, 0, 0);
		char pcpus[CELL], seeds[CELL], warmup[CELL], wide[CELL], queues[CELL], host[CELL];
		char sched[CELL] = "";
		const char *cells[] = {variant_name(v), host,  pcpus,  sched,
				       queues,		seeds, warmup, wide};

		host_text(s, host, sizeof(host));
		sched_text(s, sched, sizeof(sched));
		snprintf(pcpus, sizeof(pcpus), "%u", s->topo.n_online);
		seeds_text(v, seeds, sizeof(seeds));
		runqueues_text(v, queues, sizeof(queues));
		report_format(REPORT_TIME, NULL, (double)s->run.warmup, warmup, sizeof(warmup));
		report_format_range(REPORT_METRIC, NULL, &window, wide, sizeof(wide));
		ret = report_table_row(t, cells);
	}
	if (ret == 0)
		ret = report_table_print(t, out);
	report_table_free(t);
	return ret;
}

/* ---- tables with a line per VM and variant */

/* Calls line() for every VM group of every variant, equal names next to each other. */
typedef int (*line_fn)(struct report_table *t, const struct report_variant *v,
		       const struct report_group *g, unsigned before);

static bool named_before(const struct report *r, unsigned variant, const char *name)
{
	struct report_group g;

	for (unsigned i = 0; i < variant; i++) {
		if (report_group_find(r->variant[i].scenario, name, r->each_vm, &g))
			return true;
	}
	return false;
}

static int each_line(const struct report *r, struct report_table *t, line_fn line)
{
	int ret = 0;

	for (unsigned v = 0; v < r->n_variants; v++) {
		const struct scenario *s = r->variant[v].scenario;
		struct report_group named, g;

		for (unsigned i = 0; i < s->n_vms; i += named.n) {
			unsigned before = 0;

			named = report_group_at(s, i, r->each_vm);
			if (named_before(r, v, named.name))
				continue;
			for (unsigned w = v; w < r->n_variants && ret == 0; w++) {
				if (!report_group_find(r->variant[w].scenario, named.name,
						       r->each_vm, &g))
					continue;
				ret = line(t, &r->variant[w], &g, before);
				before = g.n;
			}
		}
	}
	return ret;
}

/* before: how many VMs the line above has, 0 if it is about others. */
static void name_cell(const struct report_group *g, unsigned before, char *buf, size_t size)
{
	const char *name = before ? "" : g->name;

	if (g->n == before)
		snprintf(buf, size, "%s", "");
	else if (g->n > 1)
		snprintf(buf, size, "%s (%u VMs)", name, g->n);
	else
		snprintf(buf, size, "%s", before ? " (1 VM)" : name);
}

static int vm_line(struct report_table *t, const struct report_variant *v,
		   const struct report_group *g, unsigned before)
{
	const struct metric *m = &v->scenario->vm[g->first].workload->metric;
	const char *rate = report_rate_unit(v->scenario, g), *cells[MAX_COLUMNS];
	char text[MAX_COLUMNS][CELL];
	unsigned n = 0;

	name_cell(g, before, text[n++], CELL);
	snprintf(text[n++], CELL, "%s", variant_name(v));
	snprintf(text[n++], CELL, "%s",
		 m->kind == METRIC_NONE ? ""
		 : m->name		? m->name
					: "elapsed");
	for (const struct report_quantity *q = report_vm_quantities; q->name; q++, n++) {
		struct report_range range = report_range(v, q->get, g->first, g->n);

		assert(n < MAX_COLUMNS);
		/* A delay's range is in JSON; here its mean, and of `max` the largest. */
		if (q->unit == REPORT_TIME && range.n)
			report_format(q->unit, NULL,
				      strcmp(q->name, "wake_max") == 0 ? range.max : range.mean,
				      text[n], CELL);
		else
			report_format_range(q->unit, rate, &range, text[n], CELL);
	}
	for (unsigned i = 0; i < n; i++)
		cells[i] = text[i];
	return report_table_row(t, cells);
}

static int print_vms(FILE *out, const struct report *r)
{
	static const char *const titles[] = {"VM",    "VARIANT",  "MEASURES", "MEAN [RANGE]", "CPU",
					     "READY", "WAKE P50", "P99",      "MAX"};
	struct report_table *t = report_table_new(titles, 9, 3);
	int ret = t ? each_line(r, t, vm_line) : -HV_ENOMEM;

	fprintf(out,
		"\nVMs: mean [lowest..highest] over seeds; a group shows the mean of its VMs and "
		"the delays of its worst.\nCPU: 100 %% is one pCPU. Ready (= steal = runnable): "
		"share of its vCPUs' time. Wake: from wake-up until it\nruns; p50 and p99 are "
		"means over seeds, max is the largest.\n");
	if (ret == 0)
		ret = report_table_print(t, out);
	report_table_free(t);
	return ret;
}

static int ledger_line(struct report_table *t, const struct report_variant *v,
		       const struct report_group *g, unsigned before)
{
	char text[MAX_COLUMNS][CELL];
	const char *cells[MAX_COLUMNS];
	unsigned n = 0;

	name_cell(g, before, text[n++], CELL);
	snprintf(text[n++], CELL, "%s", variant_name(v));
	for (const struct report_quantity *q = report_ledger_quantities; q->name; q++, n++) {
		struct report_range range = report_range(v, q->get, g->first, g->n);

		assert(n < MAX_COLUMNS);
		if (range.n && range.max > 0)
			snprintf(text[n], CELL, "%.1f", range.mean);
		else
			snprintf(text[n], CELL, "%s", range.n ? "." : "-");
	}
	for (unsigned i = 0; i < n; i++)
		cells[i] = text[i];
	return report_table_row(t, cells);
}

static int print_ledger(FILE *out, const struct report *r)
{
	const char *titles[MAX_COLUMNS] = {"VM", "VARIANT"};
	struct report_table *t;
	unsigned n = 2;
	int ret;

	for (const struct report_quantity *q = report_ledger_quantities; q->name; q++)
		titles[n++] = q->title;
	assert(n <= MAX_COLUMNS);
	t = report_table_new(titles, n, 2);
	ret = t ? each_line(r, t, ledger_line) : -HV_ENOMEM;
	fprintf(out,
		"\nWhere the vCPUs' time went, %% (a line sums to 100; '.' is exactly 0). On a "
		"pCPU: useful work; lost to the\nSMT sibling, to cold caches, to remote or "
		"contended memory; spinning; hypervisor. Waiting: in a queue,\nfor core "
		"scheduling, in a migration, for a cap. Then paused or off line, and blocked: "
		"nothing to do.\n");
	if (ret == 0)
		ret = report_table_print(t, out);
	report_table_free(t);
	return ret;
}

/* Two VMs of a pool have different weights at the end of the first run. */
static bool weights_differ(const struct report_variant *v)
{
	const struct lab_result *r = v->n_runs ? v->run[0] : NULL;

	for (uint32_t i = 0; r && i < r->n_vms; i++) {
		for (uint32_t k = 0; r->vm[i].weight && k < i; k++) {
			if (r->vm[k].pool == r->vm[i].pool && r->vm[k].weight &&
			    r->vm[k].weight != r->vm[i].weight)
				return true;
		}
	}
	return false;
}

static int weight_line(struct report_table *t, const struct report_variant *v,
		       const struct report_group *g, unsigned before)
{
	char text[MAX_COLUMNS][CELL];
	const char *cells[MAX_COLUMNS];
	unsigned n = 0;

	name_cell(g, before, text[n++], CELL);
	snprintf(text[n++], CELL, "%s", variant_name(v));
	for (const struct report_quantity *q = report_weight_quantities; q->name; q++, n++) {
		struct report_range range = report_range(v, q->get, g->first, g->n);

		report_format_range(q->unit, NULL, &range, text[n], CELL);
	}
	for (unsigned i = 0; i < n; i++)
		cells[i] = text[i];
	return report_table_row(t, cells);
}

/* A weight that cannot be had (credit2: far below the largest one) is seen beside what was. */
static int print_weights(FILE *out, const struct report *r)
{
	const char *titles[MAX_COLUMNS] = {"VM", "VARIANT"};
	struct report_table *t;
	bool any = false;
	unsigned n = 2;
	int ret;

	for (unsigned v = 0; v < r->n_variants; v++)
		any |= weights_differ(&r->variant[v]);
	if (!any)
		return 0;
	for (const struct report_quantity *q = report_weight_quantities; q->name; q++)
		titles[n++] = q->title;
	t = report_table_new(titles, n, 2);
	ret = t ? each_line(r, t, weight_line) : -HV_ENOMEM;
	fprintf(out,
		"\nShares of the CPU time of all VMs in the same pool, per VM: by weight, if all "
		"are busy; and had\n");
	if (ret == 0)
		ret = report_table_print(t, out);
	report_table_free(t);
	return ret;
}

/* ---- tables with a column per variant */

/* Text of the line's cell for one variant. */
typedef void (*cell_fn)(const struct report *r, const struct report_variant *v, unsigned line,
			char *buf, size_t size);

struct column_table {
	const char *title; /* of the first column */
	unsigned n_lines;
	cell_fn name, cell; /* name: the first column; v is NULL */
};

static int print_columns(FILE *out, const struct report *r, const struct column_table *c)
{
	/* Tables as equal as can be: of nine variants three with three, not four, four and one. */
	unsigned n_tables = (r->n_variants + PER_TABLE - 1) / PER_TABLE;
	unsigned most = (r->n_variants + n_tables - 1) / n_tables;
	int ret = 0;

	for (unsigned at = 0; at < r->n_variants && ret == 0; at += most) {
		unsigned n = r->n_variants - at < most ? r->n_variants - at : most;
		char text[PER_TABLE + 1][CELL];
		const char *cells[PER_TABLE + 1] = {c->title};
		struct report_table *t;

		for (unsigned i = 0; i < n; i++)
			cells[i + 1] = variant_name(&r->variant[at + i]);
		t = report_table_new(cells, n + 1, 1);
		ret = t ? 0 : -HV_ENOMEM;
		for (unsigned line = 0; line < c->n_lines && ret == 0; line++) {
			c->name(r, NULL, line, text[0], CELL);
			for (unsigned i = 0; i < n; i++)
				c->cell(r, &r->variant[at + i], line, text[i + 1], CELL);
			for (unsigned i = 0; i <= n; i++)
				cells[i] = text[i];
			ret = report_table_row(t, cells);
		}
		if (ret == 0)
			ret = report_table_print(t, out);
		report_table_free(t);
	}
	return ret;
}

/* The variant with the most pCPUs names the lines; its result, or NULL when nothing was run. */
static const struct lab_result *widest(const struct report *r)
{
	const struct lab_result *best = NULL;

	for (unsigned v = 0; v < r->n_variants; v++) {
		const struct report_variant *variant = &r->variant[v];

		if (variant->n_runs && (!best || variant->run[0]->n_cpus > best->n_cpus))
			best = variant->run[0];
	}
	return best;
}

/* How many pCPUs are one line: the smallest power of two that keeps the table short. */
static unsigned block(const struct report *r)
{
	const struct lab_result *w = widest(r);
	unsigned size = 1;

	while (!r->each_vm && w && (w->n_cpus + size - 1) / size > MAX_CPU_LINES)
		size *= 2;
	return size;
}

static void cpu_name(const struct report *r, const struct report_variant *v, unsigned line,
		     char *buf, size_t size)
{
	const struct lab_result *w = widest(r);
	unsigned n = block(r), first = line * n, last = first + n - 1;

	(void)v;
	assert(w);
	if (last >= w->n_cpus)
		last = w->n_cpus - 1;
	if (first == last)
		snprintf(buf, size, "%u", w->cpu[first].id);
	else
		snprintf(buf, size, "%u-%u", w->cpu[first].id, w->cpu[last].id);
}

/* Of a block the mean of its pCPUs. Variants may lack pCPUs (smt=off): lines go by pCPU number. */
static void cpu_cell(const struct report *r, const struct report_variant *v, unsigned line,
		     char *buf, size_t size)
{
	const struct lab_result *w = widest(r), *own = v->n_runs ? v->run[0] : NULL;
	unsigned n = block(r), first = 0, count = 0;
	size_t len = 0;

	snprintf(buf, size, "-");
	for (unsigned i = line * n; own && i < (line + 1) * n && i < w->n_cpus; i++) {
		for (unsigned k = 0; k < own->n_cpus; k++) {
			if (own->cpu[k].id != w->cpu[i].id)
				continue;
			first = count++ ? first : k;
		}
	}
	for (unsigned i = 0; i < REPORT_CPU_SHARES && count; i++) {
		struct report_range range =
			report_range(v, report_cpu_quantities[i].get, first, count);

		if (len < size)
			len += (size_t)snprintf(buf + len, size - len, "%s%5.1f", i ? " " : "  ",
						range.mean);
	}
}

static int print_cpus(FILE *out, const struct report *r)
{
	const struct lab_result *w = widest(r);
	unsigned n = block(r);
	struct column_table c = {.title = "PCPU", .name = cpu_name, .cell = cpu_cell};

	if (!w)
		return 0;
	c.n_lines = (w->n_cpus + n - 1) / n;
	fprintf(out, "\npCPU time, %%: guest, idle, forced idle (core scheduling), hypervisor; "
		     "mean over seeds\n");
	return print_columns(out, r, &c);
}

static void counter_name(const struct report *r, const struct report_variant *v, unsigned line,
			 char *buf, size_t size)
{
	(void)r;
	(void)v;
	snprintf(buf, size, "%s", report_machine_quantities[line].title);
}

static void counter_cell(const struct report *r, const struct report_variant *v, unsigned line,
			 char *buf, size_t size)
{
	const struct report_quantity *q = &report_machine_quantities[line];
	struct report_range range = report_range(v, q->get, 0, 0);

	(void)r;
	report_format_range(q->unit, NULL, &range, buf, size);
}

static bool has_time_table(const struct report *r)
{
	for (unsigned v = 0; v < r->n_variants; v++) {
		for (unsigned i = 0; i < r->variant[v].scenario->n_pools; i++) {
			if (r->variant[v].scenario->pool[i].sched == SC_SCHED_ARINC653)
				return true;
		}
	}
	return false;
}

static int print_counters(FILE *out, const struct report *r)
{
	struct column_table c = {.title = "COUNTED", .name = counter_name, .cell = counter_cell};

	while (report_machine_quantities[c.n_lines].name)
		c.n_lines++;
	if (!has_time_table(r))
		c.n_lines--; /* the last one: missed windows */
	fprintf(out, "\nThe run: mean [lowest..highest] over seeds\n");
	return print_columns(out, r, &c);
}

/* ---- expectations and trouble */

static const char *comparison(enum sc_cmp cmp)
{
	static const char *const text[] = {
		[SC_LT] = "<",	[SC_LE] = "<=", [SC_EQ] = "==",
		[SC_NE] = "!=", [SC_GE] = ">=", [SC_GT] = ">",
	};

	assert(cmp <= SC_GT);
	return text[cmp];
}

static void found_text(const struct report_expect *e, char *buf, size_t size)
{
	const struct sc_verdict *v = &e->verdict;
	char lhs[CELL], rhs[CELL], tolerance[CELL];
	enum sc_dim dim = e->expect->lhs->dim;
	size_t len = 0;

	if (e->skipped) {
		snprintf(buf, size, "its variants were not run");
		return;
	}
	if (v->error) {
		snprintf(buf, size, "no value for %s.%s", v->missing ? v->missing->entity : "?",
			 v->missing ? v->missing->metric->name : "?");
		return;
	}
	sc_format_value(dim, v->lhs, lhs, sizeof(lhs));
	sc_format_value(dim, v->rhs, rhs, sizeof(rhs));
	len = (size_t)snprintf(buf, size, "found %s %s %s", lhs, comparison(e->expect->cmp), rhs);
	if (e->expect->tolerance && len < size)
		len += (size_t)snprintf(
			buf + len, size - len, " +- %s",
			sc_format_value(dim, v->tolerance, tolerance, sizeof(tolerance)));
	if (!v->held && e->expect->per_variant && e->variant && *e->variant && len < size)
		len += (size_t)snprintf(buf + len, size - len, ", in %s", e->variant);
	if (!v->held && e->expect->over == SC_OVER_EACH && len < size)
		snprintf(buf + len, size - len, ", run %u", v->seed + 1);
}

static void print_expects(FILE *out, const struct report *r)
{
	if (!r->n_expects)
		return;
	fprintf(out, "\nExpectations\n");
	for (unsigned i = 0; i < r->n_expects; i++) {
		const struct report_expect *e = &r->expect[i];
		const char *word = e->verdict.held ? "held   " : "FAILED ";
		char found[4 * CELL];

		if (report_unknown(r, e))
			word = "unknown";
		found_text(e, found, sizeof(found));
		fprintf(out, "  %s line %d: %s (%s)\n", word, e->expect->line, e->expect->text,
			found);
		if (e->expect->why && *word == 'F')
			fprintf(out, "          why: %s\n", e->expect->why);
	}
}

static void print_trouble(FILE *out, const struct report *r)
{
	/* "broken": a law is, or the run off at a command that was refused; the message says. */
	static const char *const word[] = {[LAB_INTERRUPTED] = "cut short",
					   [LAB_STALL] = "stall",
					   [LAB_BROKEN] = "broken",
					   [LAB_FAILED] = "failed"};
	unsigned shown = 0;

	for (unsigned v = 0; v < r->n_variants; v++) {
		for (unsigned i = 0; i < r->variant[v].n_runs; i++) {
			const struct lab_result *run = r->variant[v].run[i];

			if (run->status == LAB_DONE)
				continue;
			fprintf(out, "%s%s: %s, seed %llu: %s\n", shown++ ? "" : "\n",
				word[run->status], variant_name(&r->variant[v]),
				(unsigned long long)run->seed, run->message);
		}
	}
}

void report_print_notes(FILE *out, const struct report *r)
{
	assert(out && r);
	if (r->n_notes)
		fprintf(out, "\nNotes\n");
	for (unsigned i = 0; i < r->n_notes; i++)
		fprintf(out, "  %s\n", r->note[i]);
}

void report_print_findings(FILE *out, const struct report *r)
{
	assert(out && r);
	print_expects(out, r);
	print_trouble(out, r);
	fputc('\n', out);
	report_print_verdict(out, r);
}

static bool any_measured(const struct report *r)
{
	for (unsigned v = 0; v < r->n_variants; v++) {
		for (unsigned i = 0; i < r->variant[v].n_runs; i++) {
			if (report_measured(r->variant[v].run[i]))
				return true;
		}
	}
	return false;
}

static int print_tables(FILE *out, const struct report *r)
{
	int ret = print_vms(out, r);

	if (ret == 0)
		ret = print_weights(out, r);
	if (ret == 0)
		ret = print_ledger(out, r);
	if (ret == 0)
		ret = print_cpus(out, r);
	if (ret == 0)
		ret = print_counters(out, r);
	return ret;
}

int report_print(FILE *out, const struct report *r)
{
	int ret;

	assert(out && r);
	assert(r->n_variants > 0);
	ret = print_header(out, r);
	report_print_notes(out, r);
	if (ret == 0 && any_measured(r))
		ret = print_tables(out, r);
	if (ret == 0)
		report_print_findings(out, r);
	return ret;
}
