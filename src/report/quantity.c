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

bool report_measured(const struct lab_result *r)
{
	return r->status != LAB_FAILED;
}

struct report_range report_range(const struct report_variant *v, report_get get, unsigned first_vm,
				 unsigned n_vms)
{
	struct report_range range = {0};

	assert(get);
	for (unsigned i = 0; i < v->n_runs; i++) {
		double value;

		if (report_measured(v->run[i]) && get(v, v->run[i], first_vm, n_vms, &value))
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

/* Useful work of one VM as the GHz of a pCPU that would do it alone. */
static bool get_ghz(const struct report_variant *v, const struct lab_result *r, unsigned first,
		    unsigned n, double *value)
{
	double sum = 0;

	for (unsigned i = first; i < first + n; i++)
		sum += (double)r->vm[i].sum.ns[OBSERVE_USEFUL];
	*value = n && window(r) > 0 ? sum / n / window(r) * (double)v->scenario->hw.clock_hz / 1e9
				    : 0;
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
DELAY(get_wake_p999, wake_p999, fmax)
DELAY(get_wake_max, wake_max, fmax)
DELAY(get_ready_p50, ready_p50, fmax)
DELAY(get_ready_p99, ready_p99, fmax)
DELAY(get_ready_p999, ready_p999, fmax)
DELAY(get_ready_max, ready_max, fmax)

static bool get_runs(const struct report_variant *v, const struct lab_result *r, unsigned first,
		     unsigned n, double *value)
{
	(void)v;
	*value = 0;
	for (unsigned i = first; i < first + n; i++)
		*value += (double)r->vm[i].runs;
	return n > 0;
}

/* Guest's own tick accounting, in per cent of one pCPU per VM like CPU. */
#define TICKS(name, field)                                                                 \
	static bool get_##name(const struct report_variant *v, const struct lab_result *r, \
			       unsigned first, unsigned n, double *value)                  \
	{                                                                                  \
		double sum = 0;                                                            \
		(void)v;                                                                   \
		for (unsigned i = first; i < first + n; i++)                               \
			sum += (double)r->vm[i].field;                                     \
		*value = n && window(r) > 0 ? 100 * sum / n / window(r) : 0;               \
		return n > 0 && window(r) > 0;                                             \
	}

TICKS(user, user)
TICKS(system, system)

const struct report_quantity report_vm_quantities[] = {
	{"metric", "metric", REPORT_METRIC, get_metric},
	{"cpu", "CPU", REPORT_PERCENT, get_cpu},
	{"ready", "ready (steal)", REPORT_PERCENT, get_ready},
	{"wake_p50", "wake p50", REPORT_TIME, get_wake_p50},
	{"wake_p99", "wake p99", REPORT_TIME, get_wake_p99},
	{"wake_max", "wake max", REPORT_TIME, get_wake_max},
	{0},
};

const struct report_quantity report_more_vm_quantities[] = {
	{"wake_p999", "wake p99.9", REPORT_TIME, get_wake_p999},
	{"ready_p50", "wait p50", REPORT_TIME, get_ready_p50},
	{"ready_p99", "wait p99", REPORT_TIME, get_ready_p99},
	{"ready_p999", "wait p99.9", REPORT_TIME, get_ready_p999},
	{"ready_max", "wait max", REPORT_TIME, get_ready_max},
	{"runs", "runs", REPORT_COUNT, get_runs},
	{"ghz", "GHz of work", REPORT_COUNT, get_ghz},
	{"user", "user", REPORT_PERCENT, get_user},
	{"system", "system", REPORT_PERCENT, get_system},
	{0},
};

/* Of the next three: VMs that are gone at the end have no part in them. */
static bool get_weight(const struct report_variant *v, const struct lab_result *r, unsigned first,
		       unsigned n, double *value)
{
	unsigned there = 0;

	(void)v;
	*value = 0;
	for (unsigned i = first; i < first + n; i++) {
		*value += r->vm[i].weight;
		there += r->vm[i].weight > 0;
	}
	*value = there ? *value / there : 0;
	return there > 0;
}

/* Per VM, of what the VMs of its pool have by weight if all of them are busy. */
static bool get_by_weight(const struct report_variant *v, const struct lab_result *r,
			  unsigned first, unsigned n, double *value)
{
	unsigned there = 0;
	double sum = 0;

	(void)v;
	for (unsigned i = first; i < first + n; i++) {
		if (!r->vm[i].weight)
			continue;
		sum += r->vm[i].weight / lab_pool_weight(r, r->vm[i].pool);
		there++;
	}
	*value = there ? 100 * sum / there : 0;
	return there > 0;
}

/* Per VM, of what the VMs that are in its pool at the end have had. */
static bool get_had(const struct report_variant *v, const struct lab_result *r, unsigned first,
		    unsigned n, double *value)
{
	unsigned there = 0;
	double sum = 0;

	(void)v;
	for (unsigned i = first; i < first + n; i++) {
		double had = (double)observe_cpu_time(r->vm[i].sum.ns), all = 0;

		if (r->vm[i].pool < 0)
			continue;
		there++;
		for (uint32_t k = 0; k < r->n_vms; k++) {
			if (r->vm[k].pool == r->vm[i].pool)
				all += (double)observe_cpu_time(r->vm[k].sum.ns);
		}
		sum += all > 0 ? had / all : 0;
	}
	*value = there ? 100 * sum / there : 0;
	return there > 0;
}

const struct report_quantity report_weight_quantities[] = {
	{"weight", "WEIGHT", REPORT_COUNT, get_weight},
	{"share_by_weight", "BY WEIGHT", REPORT_PERCENT, get_by_weight},
	{"share_had", "HAD", REPORT_PERCENT, get_had},
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
	{"useful", "USEFUL", REPORT_PERCENT, get_useful},
	{"smt", "SMT", REPORT_PERCENT, get_smt},
	{"cold", "COLD", REPORT_PERCENT, get_cold},
	{"memory", "MEMORY", REPORT_PERCENT, get_memory},
	{"spin", "SPIN", REPORT_PERCENT, get_spin},
	{"hypervisor", "HYPERV", REPORT_PERCENT, get_hypervisor},
	{"wait_queue", "QUEUE", REPORT_PERCENT, get_wait_queue},
	{"wait_core", "CORE", REPORT_PERCENT, get_wait_core},
	{"wait_migration", "MIGR", REPORT_PERCENT, get_wait_migration},
	{"wait_cap", "CAP", REPORT_PERCENT, get_wait_cap},
	{"offline", "PAUSED", REPORT_PERCENT, get_offline},
	{"blocked", "BLOCKED", REPORT_PERCENT, get_blocked},
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
TOTAL(rqmoves, r->totals.rqmoves)
TOTAL(missed, r->totals.missed)
TOTAL(shared, r->totals.shared)
TOTAL(idle_runnable, r->totals.vcpus.idle_runnable)
TOTAL(longest_ready, r->longest_ready)

static bool get_host_forced_idle(const struct report_variant *v, const struct lab_result *r,
				 unsigned first, unsigned n, double *value)
{
	double all = 0;

	(void)v, (void)first, (void)n;
	for (unsigned i = 0; i < OBSERVE_NR_MODES; i++)
		all += i == OBSERVE_PCPU_OFFLINE ? 0 : (double)r->totals.pcpu_ns[i];
	*value = all > 0 ? 100 * (double)r->totals.pcpu_ns[OBSERVE_PCPU_FORCED_IDLE] / all : 0;
	return all > 0;
}

const struct report_quantity report_machine_quantities[] = {
	{"migrations_same_core", "migrations: inside the core", REPORT_COUNT, get_migrations_core},
	{"migrations_same_socket", "migrations: inside the socket", REPORT_COUNT,
	 get_migrations_socket},
	{"migrations_cross_socket", "migrations: across sockets", REPORT_COUNT,
	 get_migrations_cross},
	{"runqueue_moves", "moves between runqueues", REPORT_COUNT, get_rqmoves},
	{"switches", "vCPU switches", REPORT_COUNT, get_switches},
	{"passes", "schedule passes", REPORT_COUNT, get_passes},
	{"tickles", "tickles", REPORT_COUNT, get_tickles},
	{"wasted_tickles", "wasted tickles", REPORT_COUNT, get_wasted},
	{"resets", "credit resets", REPORT_COUNT, get_resets},
	{"shared_core", "core shared by two VMs", REPORT_TIME, get_shared},
	{"forced_idle", "forced idle, of all pCPU time", REPORT_PERCENT, get_host_forced_idle},
	{"idle_while_runnable", "idle while runnable", REPORT_TIME, get_idle_runnable},
	{"longest_ready", "longest wait", REPORT_TIME, get_longest_ready},
	{"missed_windows", "missed windows", REPORT_COUNT, get_missed},
	{0},
};

/* ---- of a pCPU: the first index is that of the pCPU, n of them are one line */

#define MODE(name, mode)                                                                   \
	static bool get_##name(const struct report_variant *v, const struct lab_result *r, \
			       unsigned first, unsigned n, double *value)                  \
	{                                                                                  \
		double part = 0, whole = 0;                                                \
		(void)v;                                                                   \
		for (unsigned i = first; i < first + n && i < r->n_cpus; i++) {            \
			part += (double)r->cpu[i].ns[mode];                                \
			whole += window(r);                                                \
		}                                                                          \
		*value = whole > 0 ? 100 * part / whole : 0;                               \
		return whole > 0;                                                          \
	}

MODE(guest, OBSERVE_PCPU_GUEST)
MODE(idle, OBSERVE_PCPU_IDLE)
MODE(forced_idle, OBSERVE_PCPU_FORCED_IDLE)
MODE(pcpu_hypervisor, OBSERVE_PCPU_HYPERVISOR)

#define CPU_COUNT(name, field)                                                             \
	static bool get_##name(const struct report_variant *v, const struct lab_result *r, \
			       unsigned first, unsigned n, double *value)                  \
	{                                                                                  \
		(void)v;                                                                   \
		*value = 0;                                                                \
		for (unsigned i = first; i < first + n && i < r->n_cpus; i++)              \
			*value += (double)r->cpu[i].field;                                 \
		return first < r->n_cpus;                                                  \
	}

CPU_COUNT(cpu_switches, switches)
CPU_COUNT(cpu_passes, passes)
CPU_COUNT(cpu_tickles, tickles)
CPU_COUNT(cpu_wasted, wasted)
CPU_COUNT(cpu_shared, shared)

const struct report_quantity report_cpu_quantities[] = {
	{"guest", "guest", REPORT_PERCENT, get_guest},
	{"idle", "idle", REPORT_PERCENT, get_idle},
	{"forced_idle", "forced idle", REPORT_PERCENT, get_forced_idle},
	{"hypervisor", "hypervisor", REPORT_PERCENT, get_pcpu_hypervisor},
	{"switches", "switches", REPORT_COUNT, get_cpu_switches},
	{"passes", "passes", REPORT_COUNT, get_cpu_passes},
	{"tickles", "tickles", REPORT_COUNT, get_cpu_tickles},
	{"wasted_tickles", "wasted tickles", REPORT_COUNT, get_cpu_wasted},
	{"shared_core", "core shared", REPORT_TIME, get_cpu_shared},
	{0},
};
