/*
 * Values of metrics: one line per metric of the scenario layer's table, in base units (number, ns,
 * per cent). A metric that a run cannot have (a throughput of a workload that counts nothing) is
 * -ENODATA, never zero.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "lab/lab.h"

#define PERCENT 100.0
#define ONE	(double)SC_ONE

/* What a reference is about: a VM or one vCPU of it, a pCPU, or the host. */
struct subject {
	const struct scenario *s;
	const struct lab_result *r;
	enum sc_scope scope;
	const struct lab_vm *vm;       /* SC_SCOPE_VM */
	const struct lab_vcpu *vcpu;   /* one vCPU, or NULL */
	const struct observe_sum *sum; /* of the VM, the vCPU, or all vCPUs */
	const struct lab_cpu *cpu;     /* SC_SCOPE_CPU */
};

typedef int (*value_fn)(const struct subject *a, double *value);

static double window(const struct subject *a)
{
	return (double)(a->r->end - a->r->start);
}

static int quotient(double part, double whole, double *value)
{
	if (!(whole > 0))
		return -ENODATA;
	*value = part / whole;
	return 0;
}

/* ---- the workload */

static int elapsed(const struct subject *a, double *value)
{
	*value = (double)a->vm->elapsed;
	return a->vm->has_elapsed ? 0 : -ENODATA;
}

static int runs(const struct subject *a, double *value)
{
	*value = (double)a->vm->runs;
	return 0;
}

static int throughput(const struct subject *a, double *value)
{
	if (!a->vm->has_rate)
		return -ENODATA;
	return quotient((double)a->vm->counted * 1e9, window(a), value);
}

static int user_share(const struct subject *a, double *value)
{
	return quotient(PERCENT * (double)a->vm->user, (double)a->vm->sum.elapsed, value);
}

static int system_share(const struct subject *a, double *value)
{
	return quotient(PERCENT * (double)a->vm->system, (double)a->vm->sum.elapsed, value);
}

static int accounted(const struct subject *a, double *value)
{
	return quotient(PERCENT * (double)(a->vm->user + a->vm->system), (double)a->vm->sum.elapsed,
			value);
}

/* ---- CPU time */

static int cpu(const struct subject *a, double *value)
{
	return quotient(PERCENT * (double)observe_cpu_time(a->sum->ns), window(a), value);
}

static int cpu_share(const struct subject *a, double *value)
{
	return quotient(PERCENT * (double)observe_cpu_time(a->sum->ns),
			(double)observe_cpu_time(a->r->totals.vcpus.ns), value);
}

static int share_by_weight(const struct subject *a, double *value)
{
	return quotient(PERCENT * a->vm->weight, lab_pool_weight(a->r, a->vm->pool), value);
}

static int vcpus(const struct subject *a, double *value)
{
	*value = a->vm->nr_vcpus;
	return 0;
}

/* ---- the ledger */

static int ledger(const struct subject *a, enum observe_time category, double *value)
{
	return quotient(PERCENT * (double)a->sum->ns[category], (double)a->sum->elapsed, value);
}

#define LEDGER(name, category)                                  \
	static int name(const struct subject *a, double *value) \
	{                                                       \
		return ledger(a, category, value);              \
	}

LEDGER(useful, OBSERVE_USEFUL)
LEDGER(smt_loss, OBSERVE_SMT)
LEDGER(cold, OBSERVE_COLD)
LEDGER(memory, OBSERVE_MEMORY)
LEDGER(spin, OBSERVE_SPIN)
LEDGER(wait_queue, OBSERVE_WAIT_QUEUE)
LEDGER(wait_core, OBSERVE_WAIT_CORE)
LEDGER(wait_migration, OBSERVE_WAIT_MIGRATION)
LEDGER(wait_cap, OBSERVE_WAIT_CAP)
LEDGER(offline, OBSERVE_OFFLINE)
LEDGER(blocked, OBSERVE_BLOCKED)

/* What a pCPU of so many GHz would do in the same time, alone and with nothing to wait for. */
static int ghz(const struct subject *a, double *value)
{
	return quotient((double)a->sum->ns[OBSERVE_USEFUL] * (double)a->s->hw.clock_hz / 1e9,
			window(a), value);
}

static int mode(const struct subject *a, enum observe_mode which, double *value)
{
	const int64_t *ns = a->scope == SC_SCOPE_CPU ? a->cpu->ns : a->r->totals.pcpu_ns;
	double all = 0;

	for (int i = 0; i < OBSERVE_NR_MODES; i++)
		all += i == OBSERVE_PCPU_OFFLINE ? 0 : (double)ns[i];
	return quotient(PERCENT * (double)ns[which], all, value);
}

static int hypervisor(const struct subject *a, double *value)
{
	return a->scope == SC_SCOPE_VM ? ledger(a, OBSERVE_HYPERVISOR, value)
				       : mode(a, OBSERVE_PCPU_HYPERVISOR, value);
}

static int guest(const struct subject *a, double *value)
{
	return mode(a, OBSERVE_PCPU_GUEST, value);
}

static int idle(const struct subject *a, double *value)
{
	return mode(a, OBSERVE_PCPU_IDLE, value);
}

static int forced_idle(const struct subject *a, double *value)
{
	return mode(a, OBSERVE_PCPU_FORCED_IDLE, value);
}

static int ready(const struct subject *a, double *value)
{
	return quotient(PERCENT * (double)observe_ready_time(a->sum->ns), (double)a->sum->elapsed,
			value);
}

/* ---- delays and counts: a field of a struct */

#define FIELD(name, expr)                                       \
	static int name(const struct subject *a, double *value) \
	{                                                       \
		*value = (double)(expr);                        \
		return 0;                                       \
	}

FIELD(user_time, a->vm->user)
FIELD(system_time, a->vm->system)
FIELD(wake_p50, a->vm->wake_p50)
FIELD(wake_p99, a->vm->wake_p99)
FIELD(wake_p999, a->vm->wake_p999)
FIELD(wake_max, a->sum->max_wake)
FIELD(ready_p50, a->vm->ready_p50)
FIELD(ready_p99, a->vm->ready_p99)
FIELD(ready_p999, a->vm->ready_p999)
FIELD(ready_max, a->sum->max_ready)
FIELD(max_wait, a->sum->max_wait)
FIELD(dispatches, a->sum->counts.dispatches)
FIELD(wakes, a->sum->counts.wakes)
FIELD(preemptions, a->sum->counts.preempted)
FIELD(yields, a->sum->counts.yields)
FIELD(migrations, a->sum->counts.migrations[OBSERVE_SAME_CORE] +
			  a->sum->counts.migrations[OBSERVE_SAME_SOCKET] +
			  a->sum->counts.migrations[OBSERVE_CROSS_SOCKET])
FIELD(migrations_socket, a->sum->counts.migrations[OBSERVE_CROSS_SOCKET])
FIELD(switches, a->cpu ? a->cpu->switches : a->r->totals.switches)
FIELD(passes, a->cpu ? a->cpu->passes : a->r->totals.passes)
FIELD(tickles, a->cpu ? a->cpu->tickles : a->r->totals.tickles)
FIELD(wasted_tickles, a->cpu ? a->cpu->wasted : a->r->totals.wasted)
FIELD(resets, a->r->totals.resets)
FIELD(missed_windows, a->r->totals.missed)
FIELD(runqueue_moves, a->r->totals.rqmoves)
FIELD(idle_while_runnable, a->sum->idle_runnable)
FIELD(stall, a->r->status == LAB_STALL)
FIELD(runqueues, a->r->n_runqueues)
FIELD(pcpus, a->r->n_cpus)
FIELD(shared_core, a->cpu ? a->cpu->shared : a->r->totals.shared)

/* ---- laws and what the policy thinks */

static int outside_affinity(const struct subject *a, double *value)
{
	*value = 0;
	if (a->scope == SC_SCOPE_VM) {
		*value = (double)a->vm->outside_affinity;
		return 0;
	}
	for (uint32_t i = 0; i < a->r->n_vms; i++)
		*value += (double)a->r->vm[i].outside_affinity;
	return 0;
}

static int credit_min(const struct subject *a, double *value)
{
	const struct lab_vcpu *v = a->vcpu ? a->vcpu : a->vm->vcpu;
	uint32_t n = a->vcpu ? 1 : a->vm->nr_vcpus;
	int ret = -ENODATA;

	for (uint32_t i = 0; i < n; i++) {
		if (!v[i].has_credit || (ret == 0 && (double)v[i].credit_min >= *value))
			continue;
		*value = (double)v[i].credit_min;
		ret = 0;
	}
	return ret;
}

static int load(const struct subject *a, double *value)
{
	const struct lab_vcpu *v = a->vcpu ? a->vcpu : a->vm ? a->vm->vcpu : NULL;
	uint32_t n = a->vcpu ? 1 : a->vm ? a->vm->nr_vcpus : 0;
	int ret = -ENODATA;

	*value = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (!v[i].has_load)
			continue;
		*value += PERCENT * (double)v[i].load / ONE;
		ret = 0;
	}
	for (uint32_t i = 0; a->scope == SC_SCOPE_HOST && i < a->r->n_runqueues; i++) {
		*value += PERCENT * (double)a->r->runqueue[i].load / ONE;
		ret = 0;
	}
	return ret;
}

static int runqueue_size(const struct subject *a, double *value)
{
	unsigned largest = 0;

	for (uint32_t i = 0; i < a->r->n_runqueues; i++)
		largest = a->r->runqueue[i].size > largest ? a->r->runqueue[i].size : largest;
	*value = largest;
	return largest ? 0 : -ENODATA;
}

static int runqueue_size_min(const struct subject *a, double *value)
{
	unsigned smallest = UINT32_MAX;

	for (uint32_t i = 0; i < a->r->n_runqueues; i++)
		smallest = a->r->runqueue[i].size < smallest ? a->r->runqueue[i].size : smallest;
	*value = smallest;
	return a->r->n_runqueues ? 0 : -ENODATA;
}

static const struct {
	const char *name;
	value_fn fn;
} values[] = {
	{"elapsed", elapsed},
	{"runs", runs},
	{"throughput", throughput},
	{"user", user_share},
	{"system", system_share},
	{"user_time", user_time},
	{"system_time", system_time},
	{"accounted", accounted},
	{"cpu", cpu},
	{"share", cpu_share},
	{"share_by_weight", share_by_weight},
	{"vcpus", vcpus},
	{"useful", useful},
	{"ghz", ghz},
	{"smt_loss", smt_loss},
	{"cold", cold},
	{"memory", memory},
	{"spin", spin},
	{"hypervisor", hypervisor},
	{"wait_queue", wait_queue},
	{"wait_core", wait_core},
	{"wait_migration", wait_migration},
	{"wait_cap", wait_cap},
	{"offline", offline},
	{"blocked", blocked},
	{"ready", ready},
	{"steal", ready},
	{"wake_p50", wake_p50},
	{"wake_p99", wake_p99},
	{"wake_p999", wake_p999},
	{"wake_max", wake_max},
	{"ready_p50", ready_p50},
	{"ready_p99", ready_p99},
	{"ready_p999", ready_p999},
	{"ready_max", ready_max},
	{"max_wait", max_wait},
	{"dispatches", dispatches},
	{"wakes", wakes},
	{"preemptions", preemptions},
	{"yields", yields},
	{"migrations", migrations},
	{"migrations_socket", migrations_socket},
	{"switches", switches},
	{"passes", passes},
	{"tickles", tickles},
	{"wasted_tickles", wasted_tickles},
	{"resets", resets},
	{"missed_windows", missed_windows},
	{"runqueue_moves", runqueue_moves},
	{"idle_while_runnable", idle_while_runnable},
	{"outside_affinity", outside_affinity},
	{"stall", stall},
	{"credit_min", credit_min},
	{"load", load},
	{"runqueues", runqueues},
	{"runqueue_size", runqueue_size},
	{"runqueue_size_min", runqueue_size_min},
	{"guest", guest},
	{"idle", idle},
	{"forced_idle", forced_idle},
	{"pcpus", pcpus},
	{"shared", shared_core},
};

/* False when the run has no such vCPU or pCPU. */
static bool find_subject(struct subject *a, const struct sc_ref *ref, int vm)
{
	a->scope = ref->scope;
	a->sum = &a->r->totals.vcpus;
	switch (ref->scope) {
	case SC_SCOPE_VM:
		assert(vm >= 0 && (uint32_t)vm < a->r->n_vms);
		a->vm = &a->r->vm[vm];
		a->sum = &a->vm->sum;
		if (ref->index < 0)
			return true;
		if ((uint32_t)ref->index >= a->vm->nr_vcpus)
			return false;
		a->vcpu = &a->vm->vcpu[ref->index];
		a->sum = &a->vcpu->sum;
		return true;
	case SC_SCOPE_CPU:
		for (uint32_t i = 0; i < a->r->n_cpus; i++) {
			if (a->r->cpu[i].id == (unsigned)ref->index)
				a->cpu = &a->r->cpu[i];
		}
		return a->cpu != NULL;
	case SC_SCOPE_HOST:
		return true;
	}
	return false;
}

int lab_value(const struct scenario *s, const struct lab_result *r, const struct sc_ref *ref,
	      int vm, double *value)
{
	struct subject a = {.s = s, .r = r};

	assert(ref && value);
	if (!find_subject(&a, ref, vm))
		return -ENODATA;
	for (unsigned i = 0; i < sizeof(values) / sizeof(*values); i++) {
		if (strcmp(values[i].name, ref->metric->name) == 0)
			return values[i].fn(&a, value);
	}
	return -ENODATA;
}
