/*
 * One run: a machine, an engine on it, domains and guests, put together from one resolved scenario
 * and one seed, run to its end, and what came out as plain data.
 *
 * Laws: the same scenario and seed give the same result and the same log hash on every machine; a
 * run shares nothing with other runs, so many may run in threads at once; a result holds only
 * values measured inside the window (after warm-up), each of them an integer.
 */
#ifndef HVSCHED_LAB_LAB_H
#define HVSCHED_LAB_LAB_H

#include <stdatomic.h>

#include "observe/observe.h"
#include "scenario/scenario.h"

enum lab_status {
	LAB_DONE,	 /* ran to its end */
	LAB_INTERRUPTED, /* stopped on request; the result is valid up to then */
	LAB_STALL,	 /* a runnable unit waited longer than run.stall_limit */
	LAB_BROKEN,	 /* a law of the engine or the ledger did not hold */
	LAB_FAILED,	 /* out of memory, or the log could not be written */
};

struct lab_options {
	const char *log_path;	   /* binary event log, NULL = none */
	bool hash;		   /* compute the log hash without a log */
	bool hold;		   /* run.until does not end it */
	const atomic_bool *stop;   /* set by a signal handler; may be NULL */
	_Atomic int64_t *progress; /* virtual time reached, for a progress line; may be NULL */
};

/* What one vCPU did in the window, and what its policy thought of it. */
struct lab_vcpu {
	struct observe_sum sum;
	bool has_credit, has_load;
	int64_t credit_min; /* lowest credit seen when it was switched out */
	int64_t load;	    /* at the end, 2^-20 of one busy vCPU */
};

/* What one VM did in the window. Times in ns. */
struct lab_vm {
	uint32_t nr_vcpus;
	struct observe_sum sum; /* over its vCPUs */
	struct lab_vcpu *vcpu;	/* [nr_vcpus], by vCPU id */
	/* Of waits that have ended; the longest also of those that have not. */
	int64_t wake_p50, wake_p99, wake_p999, wake_max;     /* wake-to-run delay */
	int64_t ready_p50, ready_p99, ready_p999, ready_max; /* ready time of each wait */
	bool has_elapsed; /* at least one run of its workload was completed */
	int64_t elapsed;  /* mean over completed runs */
	uint64_t runs;
	bool has_rate;
	uint64_t counted;	   /* what OP_COUNT counted in the window */
	int64_t user, system;	   /* by the guest's tick accounting */
	uint64_t outside_affinity; /* times a vCPU was switched in outside its hard affinity */
	uint32_t weight;	   /* at the end; 0: its policy has none, or the VM is gone */
	int32_t pool;		   /* its number, at the end; -1: the VM is gone */
};

struct lab_cpu {
	unsigned id; /* as the user numbers it */
	int64_t ns[OBSERVE_NR_MODES];
	uint64_t switches, passes, tickles, wasted;
	int64_t shared;
};

struct lab_runqueue {
	int id;
	struct hv_mask pcpus; /* the user's numbers */
	unsigned size;
	int64_t load; /* as the policy tracks it, at the end, 2^-20 of one busy vCPU */
};

struct lab_result {
	enum lab_status status;
	char message[256]; /* why, when status is not LAB_DONE */
	uint64_t seed, hash;
	hv_time start, end; /* the window */
	uint64_t events;    /* scheduling events: wakes, blocks, yields, passes, timers */
	uint32_t n_vms, n_cpus, n_runqueues;
	struct lab_vm *vm;   /* as in the scenario */
	struct lab_cpu *cpu; /* on-line pCPUs, ascending */
	struct lab_runqueue *runqueue;
	struct observe_totals totals;
	int64_t longest_ready; /* longest time that a vCPU was ready and did not run */
	int32_t longest_vm, longest_vcpu;
};

/*
 * Run s with this seed. 0: *out holds the result (lab_result_clear() it), whatever its status.
 * -HV_ENOMEM: nothing is there.
 */
int lab_run(const struct scenario *s, uint64_t seed, const struct lab_options *options,
	    struct lab_result *out);
void lab_result_clear(struct lab_result *r);

/*
 * The runqueues that the scenario's policy makes of its on-line pCPUs, without running anything:
 * boot only. *out is to be freed by the caller; *n may be 0 (a policy without runqueues).
 * 0, -HV_ENOMEM, -HV_EINVAL.
 */
int lab_arrangement(const struct scenario *s, struct lab_runqueue **out, uint32_t *n);

/* Sum of the weights of the VMs in a pool, each of which takes its part of it when all are busy. */
double lab_pool_weight(const struct lab_result *r, int32_t pool);

/*
 * Value of a metric (the table of sc_metrics()) in base units: number, ns or per cent. vm is the
 * index of the VM when ref->scope is SC_SCOPE_VM. 0, or -ENODATA when this run has no such value.
 */
int lab_value(const struct scenario *s, const struct lab_result *r, const struct sc_ref *ref,
	      int vm, double *value);

#endif
