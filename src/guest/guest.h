/*
 * A guest: what runs inside one VM. It gives the vCPUs of an mc_vm their work, from the programs
 * of one or more workloads, through a small guest kernel (workloads section 1).
 *
 * Laws
 *  - A task is in one place: current on one vCPU, queued on one vCPU, asleep, or ended.
 *  - A vCPU is idle exactly when it has no current task and an empty queue.
 *  - The global spin lock has one holder at most; unless it is of the queued kind, it serves its
 *    waiters in order of arrival.
 *  - What a task draws depends on (seed, VM name, task, purpose) only; what a job draws, on (seed,
 *    VM name, pool, job number, build number).
 *  - Nothing is allocated after guest_create() and guest_link().
 *
 * Use: mc_vm_create(), domain parameters, guest_create(), guest_link() over all guests,
 * guest_start().
 */
#ifndef HV_GUEST_GUEST_H
#define HV_GUEST_GUEST_H

#include "guest/program.h"
#include "machine/machine.h"

struct guest;

/* How a contended kernel spin lock waits (workloads section 1.3, hardware-model section 8). */
enum lock_variant {
	LOCK_TICKET,	   /* spins until served */
	LOCK_TICKET_PLE,   /* the same; the host's pause-loop exits make it yield */
	LOCK_PVTICKET,	   /* spins for spin_limit, then halts until kicked */
	LOCK_PVTICKET_PLE, /* both */
	LOCK_PVQUEUED,	   /* queued lock with stealing, Linux 4.2 and later */
};

/* The guest kernel. Times in ns. */
struct guest_params {
	enum lock_variant lock_variant;
	int64_t spin_limit;	   /* PV: spinning before it halts */
	int64_t early_halt;	   /* queued: a waiter behind a halted one halts after this long */
	int64_t ple_window;	   /* a spin episode exits after this long; 0 = no exits */
	int64_t handover;	   /* of a lock to a running waiter */
	int64_t tick;		   /* of a busy vCPU */
	int64_t residual_mean;	   /* idle vCPU: mean distance of wake-ups for kernel timers */
	int64_t residual_work;	   /* work of each */
	int64_t idle_entry;	   /* before a halt */
	int64_t period, min_slice; /* fair queue; min_slice x (1 + log2 vCPUs) */
	int64_t rq_lock;	   /* run-queue lock, per wake-up and switch */
	int64_t system_call;	   /* futex: each of the two when contended */
	bool pv;		   /* hypercalls cost C3 PV, else HVM */
};

/* The values of workloads section 1 and hardware-model section 8: PV guests, 2.4 GHz. */
void guest_params_default(struct guest_params *p);

struct guest_config {
	struct mc_vm *vm;		   /* without vCPUs yet */
	const char *name;		   /* keys the random streams */
	unsigned vcpus;			   /* on line at the start; vm->max_vcpus are created */
	const struct hv_mask *hard, *soft; /* [max_vcpus], or NULL: all */
	const struct workload *const *workload;
	unsigned n_workloads; /* the metric is that of the first */
	struct guest_params params;
	/* Called at each OP_DONE of the first workload, from the event loop. May be NULL. */
	void (*done)(void *ctx, struct guest *g);
	void *ctx;
};

/*
 * Creates the guest and the VM's vCPUs. The name and the workloads must outlive it, the rest of
 * config is copied. 0, -HV_ENOMEM, -HV_EINVAL (a workload breaks its laws, too many tasks), or an
 * error of the engine.
 */
int guest_create(const struct guest_config *config, struct guest **out);
/* Before mc_destroy(). The machine must not run any more. NULL is allowed. */
void guest_destroy(struct guest *g);

/*
 * Resolve the channels that name other VMs; again whenever a VM is created later. A channel to a VM
 * that is not there yet blocks its users until then. 0, or -HV_ENOENT: VM *vm has no *channel of
 * its own.
 */
int guest_link(struct guest *const *guests, unsigned n, const char **vm, const char **channel);

/* Boot at the present time: the first `vcpus` vCPUs come up, the tasks begin. */
void guest_start(struct guest *g);
/* The VM is going away: cancel all timers. Peers that wait for it wait for ever. */
void guest_stop(struct guest *g);
/* Operator command: n vCPUs on line (1..max). The guest kernel moves tasks off the others first. */
void guest_set_vcpus(struct guest *g, unsigned n);

/* Everything counted since guest_start() or the last guest_measure(). */
struct guest_result {
	int64_t time;					/* ns measured */
	uint64_t runs;					/* OP_DONEs */
	int64_t elapsed_sum;				/* of these runs, each from its own start */
	int64_t elapsed_min, elapsed_max, elapsed_last; /* 0 without runs */
	int64_t count;					/* OP_COUNT */
	uint64_t user_ticks, system_ticks;		/* 4 ms each */
	int64_t tick;					/* ns of one */
	uint64_t switches, halts, wakes, pulls, residuals;
	uint64_t lock_visits, lock_contended, lock_halts, lock_kicks; /* the global lock */
	uint64_t sleeping_contended; /* mutexes, futexes, r/w locks */
	uint64_t shootdowns, ios, jobs;
	uint64_t faults;
	int64_t work; /* nominal ns done by tasks */
};
void guest_result(const struct guest *g, struct guest_result *out);
void guest_measure(struct guest *g); /* zero the counters: the warm-up is over */

const struct metric *guest_metric(const struct guest *g);
const char *guest_name(const struct guest *g);

#endif
