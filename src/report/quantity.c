/*
 * What a report shows: each quantity is a function of one run's result, and a range over runs.
 *
 * Shares of the ledger are of the vCPUs' lifetime in the window, so the shares of a group sum to
 * 100 %. CPU is in per cent of one pCPU, as operators read it; a group's CPU is the mean per VM.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/report.h"

void report_range_add(struct report_range *range, double value)
{
	assert(range);
	if (!range->n || value < range->min)
		range->min = value;
	if (!range->n || value > range->max)
		range->max = value;
	range->mean += (value - range->mean) / ++range->n;
}

struct report_range report_range(const struct report_variant *v, report_get get, unsigned first_vm,
				 unsigned n_vms)
{
	struct report_range range = {0};

	assert(get);
	for (unsigned i = 0; i < v->n_runs; i++) {
		double value;

		if (get(v, v->run[i], first_vm, n_vms, &value))
			report_range_add(&range, value);
	}
	return range;
}

static double window(const struct lab_result *r)
{
	return (double)(r->end - r->start);
}

/* ---- of a group of VMs */

static bool get_metric(const struct report_variant *v, const struct lab_result *r, unsigned first,
		       unsigned n, double *value)
{
	struct report_range range = {0};

	(void)v;
	for (unsigned i = first; i < first + n; i++) {
		const struct lab_vm *vm = &r->vm[i];

		if (vm->has_elapsed)
			report_range_add(&range, (double)vm->elapsed);
		else if (vm->has_rate && window(r) > 0)
			report_range_add(&range, (double)vm->counted * 1e9 / window(r));
	}
	*value = range.mean;
	return range.n > 0;
}

static bool get_cpu(const struct report_variant *v, const struct lab_result *r, unsigned first,
		    unsigned n, double *value)
{
	double sum = 0;

	(void)v;
	for (unsigned i = first; i < first + n; i++)
		sum += (double)observe_cpu_time(r->vm[i].sum.ns);
	*value = n && window(r) > 0 ? 100 * sum / n / window(r) : 0;
	return n > 0 && window(r) > 0;
}

/* Share of the group's vCPU time that is in the category, in per cent. */
static bool share(const struct lab_result *r, unsigned first, unsigned n,
		  int64_t (*part)(const int64_t ns[OBSERVE_NR_TIMES]), double *value)
{
	double whole = 0, sum = 0;

	for (unsigned i = first; i < first + n; i++) {
		whole += (double)r->vm[i].sum.elapsed;
		sum += (double)part(r->vm[i].sum.ns);
	}
	*value = whole > 0 ? 100 * sum / whole : 0;
	return whole > 0;
}

static bool get_ready(const struct report_variant *v, const struct lab_result *r, unsigned first,
		      unsigned n, double *value)
{
	(void)v;
	return share(r, first, n, observe_ready_time, value);
}

#define DELAY(name, field, combine)                                                  \
	static bool name(const struct report_variant *v, const struct lab_result *r, \
			 unsigned first, unsigned n, double *value)                  \
	{                                                                            \
		(void)v;                                                             \
		*value = 0;                                                          \
		for (unsigned i = first; i < first + n; i++)                         \
			*value = combine(*value, (double)r->vm[i].field);            \
		return n > 0;                                                        \
	}

/* Of a group: the worst VM's quantile, which is what its owner complains about. */
DELAY(get_wake_p50, wake_p50, fmax)
DELAY(get_wake_p99, wake_p99, fmax)
DELAY(get_wake_max, wake_max, fmax)

const struct report_quantity report_vm_quantities[] = {
	{"metric", "metric", REPORT_METRIC, get_metric},
	{"cpu", "CPU", REPORT_PERCENT, get_cpu},
	{"ready", "ready (steal)", REPORT_PERCENT, get_ready},
	{"wake_p50", "wake p50", REPORT_TIME, get_wake_p50},
	{"wake_p99", "wake p99", REPORT_TIME, get_wake_p99},
	{"wake_max", "wake max", REPORT_TIME, get_wake_max},
	{0},
};

#define PART(name, category)                                                               \
	static int64_t part_##name(const int64_t ns[OBSERVE_NR_TIMES])                     \
	{                                                                                  \
		return ns[category];                                                       \
	}                                                                                  \
	static bool get_##name(const struct report_variant *v, const struct lab_result *r, \
			       unsigned first, unsigned n, double *value)                  \
	{                                                                                  \
		(void)v;                                                                   \
		return share(r, first, n, part_##name, value);                             \
	}

PART(useful, OBSERVE_USEFUL)
PART(smt, OBSERVE_SMT)
PART(cold, OBSERVE_COLD)
PART(memory, OBSERVE_MEMORY)
PART(spin, OBSERVE_SPIN)
PART(hypervisor, OBSERVE_HYPERVISOR)
PART(wait_queue, OBSERVE_WAIT_QUEUE)
PART(wait_core, OBSERVE_WAIT_CORE)
PART(wait_migration, OBSERVE_WAIT_MIGRATION)
PART(wait_cap, OBSERVE_WAIT_CAP)
PART(offline, OBSERVE_OFFLINE)
PART(blocked, OBSERVE_BLOCKED)

const struct report_quantity report_ledger_quantities[] = {
	{"useful", "useful", REPORT_PERCENT, get_useful},
	{"smt", "SMT loss", REPORT_PERCENT, get_smt},
	{"cold", "cold cache", REPORT_PERCENT, get_cold},
	{"memory", "memory", REPORT_PERCENT, get_memory},
	{"spin", "spin", REPORT_PERCENT, get_spin},
	{"hypervisor", "hyperv.", REPORT_PERCENT, get_hypervisor},
	{"wait_queue", "wait: queue", REPORT_PERCENT, get_wait_queue},
	{"wait_core", "core sched.", REPORT_PERCENT, get_wait_core},
	{"wait_migration", "migration", REPORT_PERCENT, get_wait_migration},
	{"wait_cap", "cap", REPORT_PERCENT, get_wait_cap},
	{"offline", "paused", REPORT_PERCENT, get_offline},
	{"blocked", "blocked", REPORT_PERCENT, get_blocked},
	{0},
};

/* ---- of the run */

/* A quantity of the whole run; r is the result, t its totals. */
#define TOTAL(name, expr)                                                                  \
	static bool get_##name(const struct report_variant *v, const struct lab_result *r, \
			       unsigned first, unsigned n, double *value)                  \
	{                                                                                  \
		(void)v;                                                                   \
		(void)first;                                                               \
		(void)n;                                                                   \
		*value = (double)(expr);                                                   \
		return true;                                                               \
	}

TOTAL(switches, r->totals.switches)
TOTAL(passes, r->totals.passes)
TOTAL(migrations_core, r->totals.vcpus.counts.migrations[OBSERVE_SAME_CORE])
TOTAL(migrations_socket, r->totals.vcpus.counts.migrations[OBSERVE_SAME_SOCKET])
TOTAL(migrations_cross, r->totals.vcpus.counts.migrations[OBSERVE_CROSS_SOCKET])
TOTAL(tickles, r->totals.tickles)
TOTAL(wasted, r->totals.wasted)
TOTAL(resets, r->totals.resets)
TOTAL(shared, r->totals.shared)
TOTAL(idle_runnable, r->totals.vcpus.idle_runnable)
TOTAL(longest_ready, r->longest_ready)

const struct report_quantity report_machine_quantities[] = {
	{"switches", "switches", REPORT_COUNT, get_switches},
	{"passes", "passes", REPORT_COUNT, get_passes},
	{"migrations_same_core", "moves: core", REPORT_COUNT, get_migrations_core},
	{"migrations_same_socket", "socket", REPORT_COUNT, get_migrations_socket},
	{"migrations_cross_socket", "cross", REPORT_COUNT, get_migrations_cross},
	{"tickles", "tickles", REPORT_COUNT, get_tickles},
	{"wasted_tickles", "wasted", REPORT_COUNT, get_wasted},
	{"resets", "resets", REPORT_COUNT, get_resets},
	{"shared_core", "core shared", REPORT_TIME, get_shared},
	{"idle_while_runnable", "idle while runnable", REPORT_TIME, get_idle_runnable},
	{"longest_ready", "longest wait", REPORT_TIME, get_longest_ready},
	{0},
};

/* ---- text */

static char *format_time(double ns, char *buf, size_t size)
{
	double a = fabs(ns);

	if (a >= 1e9)
		snprintf(buf, size, "%.3f s", ns / 1e9);
	else if (a >= 1e6)
		snprintf(buf, size, "%.2f ms", ns / 1e6);
	else if (a >= 1e3)
		snprintf(buf, size, "%.1f us", ns / 1e3);
	else
		snprintf(buf, size, "%.0f ns", ns);
	return buf;
}

static char *format_rate(double value, const char *unit, char *buf, size_t size)
{
	static const char *const prefix[] = {"", "k", "M", "G", "T"};
	unsigned i = 0;

	while (fabs(value) >= 1000 && i + 1 < sizeof(prefix) / sizeof(*prefix)) {
		value /= 1000;
		i++;
	}
	snprintf(buf, size, "%.3g %s%s%s/s", value, prefix[i], *prefix[i] ? " " : "", unit);
	if (strcmp(unit, "bytes") == 0)
		snprintf(buf, size, "%.3g %sB/s", value, prefix[i]);
	return buf;
}

char *report_format(enum report_unit unit, const char *rate, double value, char *buf, size_t size)
{
	assert(buf);
	assert(size > 0);
	switch (unit) {
	case REPORT_TIME:
		return format_time(value, buf, size);
	case REPORT_PERCENT:
		snprintf(buf, size, "%.1f %%", value);
		return buf;
	case REPORT_COUNT:
		snprintf(buf, size, "%.0f", value);
		return buf;
	case REPORT_METRIC:
		return rate ? format_rate(value, rate, buf, size) : format_time(value, buf, size);
	}
	return buf;
}

char *report_format_range(enum report_unit unit, const char *rate, const struct report_range *range,
			  char *buf, size_t size)
{
	char mean[48], min[48], max[48];

	assert(range);
	if (!range->n) {
		snprintf(buf, size, "-");
		return buf;
	}
	report_format(unit, rate, range->mean, mean, sizeof(mean));
	report_format(unit, rate, range->min, min, sizeof(min));
	report_format(unit, rate, range->max, max, sizeof(max));
	if (strcmp(min, max) == 0)
		snprintf(buf, size, "%s", mean);
	else
		snprintf(buf, size, "%s [%s .. %s]", mean, min, max);
	return buf;
}
