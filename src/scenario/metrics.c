/*
 * The metrics that an `expect` line may name. This table is the whole list: a name that is not here
 * is an error with its line; the lab gives every one of them a value.
 *
 * Shares (per cent) of a VM are of the time of its vCPUs, all of them together, unless said
 * otherwise.
 */
#include "scenario/scenario.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

#define VM	SC_SCOPE_VM
#define CPU	SC_SCOPE_CPU
#define HOST	SC_SCOPE_HOST
#define NUMBER	SC_DIM_NUMBER
#define TIME	SC_DIM_TIME
#define PERCENT SC_DIM_PERCENT

static const struct sc_metric metrics[] = {
	/* what the workload measures */
	{"elapsed", TIME, VM, false, "mean time of one completed run of the workload"},
	{"runs", NUMBER, VM, false, "completed runs of the workload"},
	{"throughput", NUMBER, VM, false, "what the workload counts, per second"},
	{"user", PERCENT, VM, false, "user time by the guest's own tick accounting"},
	{"system", PERCENT, VM, false, "system time by the guest's own tick accounting"},
	{"user_time", TIME, VM, false, "user time, as `time` prints it"},
	{"system_time", TIME, VM, false, "system time, as `time` prints it"},
	{"accounted", PERCENT, VM, false, "user + system"},
	/* how much CPU it got */
	{"cpu", PERCENT, VM, true, "CPU time, 100 % is one pCPU"},
	{"share", PERCENT, VM, true, "CPU time as a share of that of all VMs"},
	{"share_by_weight", PERCENT, VM, false,
	 "its weight, of the weights of all VMs of its pool"},
	{"vcpus", NUMBER, VM, false, "number of vCPUs"},
	/* where the time of its vCPUs went */
	{"useful", PERCENT, VM, true, "useful work"},
	{"ghz", NUMBER, VM, true, "useful work as the GHz of a pCPU that would do it"},
	{"smt_loss", PERCENT, VM, true, "lost to the SMT sibling"},
	{"cold", PERCENT, VM, true, "lost to cold caches"},
	{"memory", PERCENT, VM, true, "lost to remote memory, cache and bandwidth contention"},
	{"spin", PERCENT, VM, true, "spinning on a lock, polling"},
	{"hypervisor", PERCENT, VM | CPU | HOST, true, "in the hypervisor"},
	{"wait_queue", PERCENT, VM, true, "runnable, another vCPU ran"},
	{"wait_core", PERCENT, VM, true, "runnable, would run but for core scheduling"},
	{"wait_migration", PERCENT, VM, true, "between two pCPUs"},
	{"wait_cap", PERCENT, VM, true, "its cap was used up"},
	{"offline", PERCENT, VM, true, "off line or paused"},
	{"blocked", PERCENT, VM, true, "the guest had nothing to do"},
	{"ready", PERCENT, VM, true, "wait_queue + wait_core + wait_migration"},
	{"steal", PERCENT, VM, true, "the same as ready: the guest's name for it"},
	/* delays */
	{"wake_p50", TIME, VM, false, "delay from wake to running, median"},
	{"wake_p99", TIME, VM, false, "the same, 99th percentile"},
	{"wake_p999", TIME, VM, false, "the same, 99.9th percentile"},
	{"wake_max", TIME, VM | HOST, true, "the same, largest"},
	{"ready_p50", TIME, VM, false, "length of one wait for a pCPU, median"},
	{"ready_p99", TIME, VM, false, "the same, 99th percentile"},
	{"ready_p999", TIME, VM, false, "the same, 99.9th percentile"},
	{"ready_max", TIME, VM | HOST, true,
	 "longest time ready without running (cap not counted)"},
	{"max_wait", TIME, VM | HOST, true,
	 "longest time from wanting to run until running, cap included"},
	/* how often */
	{"dispatches", NUMBER, VM | HOST, true, "times a vCPU began to run"},
	{"wakes", NUMBER, VM | HOST, true, "wake-ups"},
	{"preemptions", NUMBER, VM | HOST, true, "times it was taken off while it wanted to run"},
	{"yields", NUMBER, VM | HOST, true, "yields"},
	{"migrations", NUMBER, VM | HOST, true, "starts on another pCPU than before"},
	{"migrations_socket", NUMBER, VM | HOST, true, "those that crossed sockets"},
	{"switches", NUMBER, CPU | HOST, false, "schedule passes that changed the unit"},
	{"passes", NUMBER, CPU | HOST, false, "schedule passes"},
	{"tickles", NUMBER, CPU | HOST, false, "requests to reschedule"},
	{"wasted_tickles", NUMBER, CPU | HOST, false, "those after which the same unit went on"},
	{"resets", NUMBER, HOST, false, "credit resets"},
	{"missed_windows", NUMBER, HOST, false, "arinc653: windows that went by without a pass"},
	{"runqueue_moves", NUMBER, HOST, false, "moves between runqueues"},
	/* laws */
	{"idle_while_runnable", TIME, VM | HOST, true,
	 "time it waited although an allowed pCPU was idle"},
	{"outside_affinity", NUMBER, VM | HOST, false, "starts on a pCPU outside hard affinity"},
	{"stall", NUMBER, HOST, false, "waits longer than run.stall_limit"},
	{"credit_min", NUMBER, VM, true, "lowest credit of a vCPU (credit2)"},
	/* what the policy thinks */
	{"load", PERCENT, VM | HOST, true,
	 "load as the policy tracks it, at the end: of the units (VM), of the runqueues (host)"},
	{"runqueues", NUMBER, HOST, false, "number of runqueues"},
	{"runqueue_size", NUMBER, HOST, false, "pCPUs of the largest runqueue"},
	{"runqueue_size_min", NUMBER, HOST, false, "pCPUs of the smallest runqueue"},
	/* pCPUs: shares of the time of the online pCPUs */
	{"guest", PERCENT, CPU | HOST, false, "running guests"},
	{"idle", PERCENT, CPU | HOST, false, "idle"},
	{"forced_idle", PERCENT, CPU | HOST, false, "idle only because of core scheduling"},
	{"pcpus", NUMBER, HOST, false, "online pCPUs"},
	{"shared", TIME, CPU | HOST, false, "time in which two VMs shared a core"},
};

const struct sc_metric *sc_metrics(size_t *n)
{
	assert(n);
	*n = sizeof(metrics) / sizeof(metrics[0]);
	return metrics;
}

static void format_time(double ns, char *buf, size_t size)
{
	static const struct {
		double scale;
		const char *name;
	} units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
	size_t i = 0;

	while (i < 3 && fabs(ns) < units[i].scale)
		i++;
	snprintf(buf, size, "%.4g %s", ns / units[i].scale, units[i].name);
}

char *sc_format_value(enum sc_dim dim, double value, char *buf, size_t size)
{
	assert(buf && size > 0);
	switch (dim) {
	case SC_DIM_TIME:
		format_time(value, buf, size);
		break;
	case SC_DIM_PERCENT:
		snprintf(buf, size, "%.4g %%", value);
		break;
	case SC_DIM_NUMBER:
		if (fabs(value) < 1e15 && value == floor(value))
			snprintf(buf, size, "%.0f", value);
		else
			snprintf(buf, size, "%.5g", value);
		break;
	}
	return buf;
}
