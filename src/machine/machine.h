/*
 * The machine: a discrete-event model of one host. It drives the engine as its host, moves virtual
 * time, lets running vCPUs make progress and charges what hypervisor actions cost. It knows no
 * policy by name and nothing of guests: a guest layer gives each vCPU its work and is called back.
 *
 * Laws
 *  - Work is in nominal ns (nns); a running vCPU needs P / 2^20 wall ns per nns, P from
 *    hardware-model section 3; progress is settled exactly at every change of P (section 1).
 *  - Every wall ns of a vCPU is in exactly one category of the ledger, and its running categories
 *    sum to the engine's own RUNNING time; every wall ns of a pCPU is in exactly one mode.
 *  - Events happen in the order (time, class, entity, sequence). Nothing depends on a wall clock,
 *    on addresses or on hash order. Nothing is allocated per event.
 *
 * Contexts. All guest callbacks come from the event loop, never from inside another mc_ or hv_
 * call, so a callback may call anything of the "guest calls" below. Times are ns since the start of
 * the run.
 */
#ifndef HV_MACHINE_MACHINE_H
#define HV_MACHINE_MACHINE_H

#include <hvsched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine/random.h"

#define MC_ONE	       (1 << 20) /* 1.0 of every ratio and pace */
#define MC_MAX_NODES   64
#define MC_MAX_CSTATES 8
#define MC_MAX_TURBO   64
#define MC_MAX_CURVE   16
#define MC_FOREVER     INT64_MAX /* work that never completes */

struct mc_machine;
struct mc_vcpu;
struct mc_vm;
struct observe;

/* ------------------------------------------------------------------ parameters (lab fills) */

/* Costs of hardware-model section 5, ns. */
struct mc_costs {
	int64_t exit;		/* C1: exit and re-entry */
	int64_t device_model;	/* C2; charged by the guest layer */
	int64_t hypercall;	/* C3, HVM; charged by the guest layer */
	int64_t hypercall_pv;	/* C3, PV; charged by the guest layer */
	int64_t vcpu_switch;	/* C4 */
	int64_t task_switch;	/* C5; guest */
	int64_t thread_switch;	/* C5; guest */
	int64_t ipi;		/* C6, handler entry included */
	int64_t guest_ipi;	/* C7, from send to handler, target running */
	int64_t guest_ipi_loss; /* C7, lost by the target: C1, or 0 with posted interrupts */
	int64_t wake_extra;	/* C8: added to a wake (sensitivity), 0 */
	int64_t wake_scale;  /* C8: 2^-20, scales C6 + idle exit of a wake (sensitivity), MC_ONE */
	int64_t guest_tick;  /* C9; guest */
	int64_t host_timer;  /* C10 */
	int64_t timer_slop;  /* C11 */
	int64_t ple_handler; /* C12; guest */
	int64_t critical;    /* C13: longest critical section a rendezvous waits for */
	int64_t l1d_flush;   /* C14 */
	int64_t l1d_refill;  /* C14 */
	int64_t ibpb;	     /* C15 */
	int64_t shootdown;   /* C16; guest */
	int64_t shootdown_each; /* C16; guest */
	int64_t broadcast;	/* C17; guest */
	int64_t clock_read;	/* C18; guest */
};

struct mc_cstate {
	int64_t exit_ns, residency_ns;
};

/* One set per host. Ratios are 2^-20. The arrays of the topology have nr_pcpus entries. */
struct mc_params {
	uint64_t seed;
	unsigned nr_pcpus;
	const uint32_t *core, *socket, *node, *llc; /* dense numbers, unique in the host */
	const bool *online;			    /* NULL = all */
	unsigned nr_cores, nr_sockets, nr_nodes, nr_llcs;
	int64_t l2_bytes, llc_bytes;
	int64_t mem_bw;			    /* bytes/s of a node */
	int64_t mem_bw_thread;		    /* bytes/s of one thread: LLC refill */
	int64_t l3_bw;			    /* bytes/s: L2 refill */
	int64_t d_remote;		    /* memory distance, local = MC_ONE */
	int64_t chi;			    /* weight of LLC contention */
	int64_t s_vm;			    /* same-VM bonus of SMT siblings */
	int64_t p_spin;			    /* pressure of a spinning or polling sibling */
	int64_t cold_share;		    /* g */
	int64_t deadband;		    /* 2 % */
	int64_t lock_base, lock_per_entity; /* run-queue lock hold time, ns */
	int64_t halt_poll;		    /* ns polled before a pCPU idles */
	bool ibpb_on;
	enum mc_l1d { MC_L1D_OFF, MC_L1D_COND, MC_L1D_ALWAYS } l1d;
	unsigned nr_cstates; /* usable ones only; ascending residency; 0 = no exit latency */
	struct mc_cstate cstate[MC_MAX_CSTATES];
	unsigned nr_turbo; /* turbo[i] = clock factor with i + 1 active cores of the socket */
	int64_t turbo[MC_MAX_TURBO];
	unsigned nr_curve; /* loaded-latency curve, rho ascending from 0 */
	int64_t curve_rho[MC_MAX_CURVE], curve_stretch[MC_MAX_CURVE];
	struct mc_costs cost;
	int64_t stall_limit; /* a vCPU ready and not run for longer is a stall; 0 = off */
};

/* Defaults of the hardware model (class H0/H1: 2 x 4 x 2 Nehalem); topology pointers stay NULL. */
void mc_params_default(struct mc_params *p);

/* A class of work: how it meets the hardware (hardware-model 3.2, 3.3, 4). The guest's own. */
struct mc_class {
	int64_t sigma; /* pipeline share left by a busy SMT sibling */
	int64_t mu;    /* share of nominal time stalled on memory */
	int64_t ws;    /* W, bytes */
	int64_t bw;    /* memory bandwidth wanted at full pace, bytes/s */
	bool shared;   /* the working set is the VM's shared set: counted once per VM and LLC */
};

/* ------------------------------------------------------------------ machine <-> guest */

enum mc_kind {
	MC_NONE,    /* nothing to do: only while not running, or inside a callback */
	MC_COMPUTE, /* nns of work; useful time */
	MC_SPIN,    /* wall ns on a lock, with PAUSE: pace 1, no work done, pressure p_spin */
	MC_POLL, /* the same, but waits for an event: a barrier, a ring. Counted as spinning too */
};

/* Causes of mc_charge(), by the category of the ledger that pays. */
enum mc_charge { MC_CHARGE_HYPERVISOR, MC_CHARGE_USEFUL, MC_CHARGE_SPIN };

/* An event of the queue: (time, order), its place in the heap. Private to the machine. */
struct mc_event {
	hv_time time;
	uint64_t order;		       /* class, entity, sequence */
	struct mc_event *next, **prev; /* list of the wheel */
	uint32_t pos;		       /* in the heap + 1, or in the wheel; 0 = not queued */
	uint32_t what;		       /* whose it is */
};

/* A one-shot timer; see mc_timer_init(). */
struct mc_timer {
	struct mc_event ev;
	struct mc_machine *machine;
	void (*fn)(struct mc_timer *t);
	void *data;
	uint64_t order; /* class and entity */
};

/*
 * One virtual machine. The lab fills it with mc_vm_create(); the guest layer may set guest and
 * shared_ws before a vCPU first runs.
 */
struct mc_vm {
	struct mc_machine *machine;
	struct hv_domain *domain;
	void *guest;	/* guest layer */
	int id;		/* domain id */
	unsigned index; /* creation order */
	unsigned nr_vcpus, max_vcpus;
	struct mc_vcpu **vcpu;	     /* nr_vcpus entries */
	int64_t shared_ws;	     /* bytes of the shared working set (mc_class.shared) */
	int64_t share[MC_MAX_NODES]; /* a(v,n), sum MC_ONE */
	/* Private to the machine. */
	uint64_t nodes;	       /* bit n: it has memory on node n */
	int64_t *reach;	       /* share * distance, by node of the pCPU and node of the memory */
	uint16_t *llc_sharers; /* running vCPUs of a shared class, by LLC */
	bool dying;
	struct mc_timer death;
};

/* Where a vCPU is for the machine. */
enum mc_place {
	MC_OFF,	     /* not on a pCPU: waits, blocked or off line */
	MC_ENTERING, /* being switched in; dispatched() has not been called yet */
	MC_GUEST,    /* on its pCPU: its work advances once its hypervisor charges are paid */
};

/*
 * The guest layer gets these for each vCPU. Each may change the vCPU's work, halt, yield, interrupt
 * others, set timers. After work_done(), interrupt() and dispatched() the vCPU must have work (not
 * MC_NONE), or have been told to halt or yield; otherwise the run stops with a broken law.
 * dispatched() may leave that to interrupt() when interrupts are pending: it follows at once.
 */
struct mc_guest_ops {
	/* The current work is finished; the vCPU runs. Its kind is MC_NONE, its class is kept. */
	void (*work_done)(struct mc_vcpu *mv);
	/* Virtual interrupts are delivered: the vCPU runs, or has just been entered. bits: all that
	 * were pending, cleared now. The current work is settled and goes on unless replaced. */
	void (*interrupt)(struct mc_vcpu *mv, uint32_t bits);
	/* The vCPU runs on a pCPU from now on (its switch and entry are paid); called before
	 * interrupt(). Its previous work goes on unless replaced; kind is MC_NONE at the very first
	 * time, when it had halted, or when it yielded without work. After mc_yield() it is called
	 * even if the policy lets the vCPU go on. Not called for a vCPU that was preempted on its
	 * way into mc_halt(). */
	void (*dispatched)(struct mc_vcpu *mv);
	/* It is off its pCPU (preempted, blocked, paused), its work is settled. May be NULL. */
	void (*descheduled)(struct mc_vcpu *mv);
};

struct mc_vcpu {
	/* For the guest layer. */
	struct mc_machine *machine;
	struct mc_vm *vm;
	struct hv_vcpu *hv;
	const struct mc_guest_ops *ops;
	void *guest;
	uint32_t id;	/* in the VM */
	uint32_t index; /* in the machine, creation order */
	/* Work; read only for the guest, change it with mc_work(). */
	enum mc_kind kind;
	const struct mc_class *cls;
	int64_t left; /* nns as of `start` */
	enum mc_place place;
	uint32_t pcpu;	  /* where it runs or ran last, HV_NO_PCPU = never */
	uint32_t pending; /* virtual interrupts that wait for delivery */
	/* Private to the machine. */
	bool fresh;	   /* its cache debt is to be found when it next computes */
	bool announce;	   /* dispatched() is due */
	bool deliver;	   /* pending interrupts may be delivered: none is still on its way */
	uint8_t leaving;   /* enum mc_leaving: it halts or yields once its charges are paid */
	hv_time start;	   /* work and ledger are settled up to here */
	hv_time run_from;  /* running, not yet reported to the ledger from here */
	int64_t run_ns[6]; /* the split of run_from..start, by enum observe_time */
	int64_t pace;	   /* P when warm: wall per nominal, 2^-20 */
	int64_t carry;	   /* wall * 2^20 not yet worth an nns, < P */
	int64_t loss_smt, loss_memory;	      /* parts of P that are losses */
	int64_t acc_wall, acc_cold, acc_done; /* settled, not yet split into run_ns */
	bool acc_memory;		      /* ...some of it with a memory loss */
	int64_t charge[3]; /* ns to pay before further guest work, by enum mc_charge */
	int64_t cold;	   /* ns that its cold phase still lasts while it computes: D / g */
	hv_time entered;   /* on this core since, for F */
	int64_t snap_core, snap_llc; /* F_c, F_s when it left */
	uint32_t last_core, last_llc;
	hv_time idle_since; /* waits while an idle pCPU could run it, since; -1 = no */
	struct mc_vcpu *wait_next, **wait_prev; /* list of the waiting */
	struct mc_pcpu *would_run_on;		/* thread that core scheduling keeps from it */
	struct mc_event irq;			/* arrival of a guest IPI */
};

/* ---- guest calls. mv is any vCPU of the VM unless said otherwise. */

hv_time mc_now(const struct mc_machine *m);
const struct mc_params *mc_params(const struct mc_machine *m);
uint64_t mc_seed(const struct mc_machine *m);

/* It is on a pCPU and its guest knows (dispatched() was called). */
static inline bool mc_running(const struct mc_vcpu *mv)
{
	return mv->place == MC_GUEST;
}

/* Blocked in the engine, i.e. a wake is needed for it to run. */
bool mc_blocked(const struct mc_vcpu *mv);

/*
 * Start or replace the current work. amount: nns for MC_COMPUTE, wall ns while running for MC_SPIN
 * and MC_POLL (MC_FOREVER: until replaced); 0 completes at once (in a later callback). cls may not
 * be NULL but for MC_NONE. Also while the vCPU is not running: the work then starts when it runs.
 */
void mc_work(struct mc_vcpu *mv, enum mc_kind kind, const struct mc_class *cls, int64_t amount);
/* What is left of the current work, settled up to now. */
int64_t mc_work_left(struct mc_vcpu *mv);
/* ns to be paid before further guest work: from now on, or when it next runs. */
void mc_charge(struct mc_vcpu *mv, int64_t ns, enum mc_charge who);

/*
 * The running vCPU halts: C1, then it blocks unless an interrupt is pending by then (which is
 * delivered instead). Its kind becomes MC_NONE. Only from a callback of this vCPU.
 */
void mc_halt(struct mc_vcpu *mv);
/* The running vCPU yields: C1, then the policy decides. Its work is kept. Only while it runs. */
void mc_yield(struct mc_vcpu *mv);

/*
 * Send virtual interrupts (a set of bits that mean what the guest layer wants) to a vCPU, from a
 * running vCPU (guest IPI: the sender pays C1) or from NULL (a device or timer of the host). Target
 * running: handler after C7 (from NULL: after C1), the target loses C1. Blocked: it is woken (C8).
 * Otherwise it stays pending until the vCPU runs. Sending to itself delivers at once after C1.
 */
void mc_interrupt(struct mc_vcpu *target, struct mc_vcpu *from, uint32_t bits);

/*
 * A one-shot timer of the guest layer or the lab, in virtual time. fn is called from the event loop
 * in no vCPU's context. Class WAKE for sleeps and I/O, SAMPLE for things that look or command.
 */
enum mc_timer_class { MC_TIMER_WAKE, MC_TIMER_SAMPLE };

/* entity (below 2^24) orders timers that are due together: best unique within the class. */
void mc_timer_init(struct mc_timer *t, struct mc_machine *m, enum mc_timer_class cls,
		   uint32_t entity, void (*fn)(struct mc_timer *t), void *data);
void mc_timer_set(struct mc_timer *t, hv_time at); /* (re)arm; at >= now */
void mc_timer_cancel(struct mc_timer *t);	   /* no effect when not armed */
static inline bool mc_timer_armed(const struct mc_timer *t)
{
	return t->ev.pos != 0;
}
/* When a timer of the hypervisor that is due at `at` on behalf of mv really fires (C11 slop). */
hv_time mc_timer_late(const struct mc_vcpu *mv, hv_time at);

/* Tables of distributions, kept until the machine is destroyed. NULL = no memory. */
const struct mc_table *mc_table(struct mc_machine *m, enum mc_dist_kind kind, int64_t cv);

/* ------------------------------------------------------------------ machine <-> lab */

/* A run that may not go on: a broken law, a stall. Text lives until the machine is destroyed. */
enum mc_fault_kind { MC_FAULT_NONE, MC_FAULT_LAW, MC_FAULT_STALL, MC_FAULT_MEMORY };

struct mc_fault {
	enum mc_fault_kind kind;
	hv_time time;
	char text[256];
};

/* Optional tap for the lab: every trace record of the engine, after observe and machine. */
typedef void (*mc_trace_fn)(void *ctx, const struct hv_trace *ev);

/* A pool beside pool 0: its pCPUs, in the machine's numbers. */
struct mc_pool_config {
	const char *policy;
	enum hv_gran gran;
	struct hv_mask pcpus;
};

/*
 * Create a machine with all its online pCPUs up and in pool 0, or in the pool that names them,
 * granularity and policy as named; params and its topology arrays are copied. policies: normally
 * hv_policies. set() may be NULL; it is called with the engine instance before the pool is
 * created, to set boot parameters (hv_param_set), and returns 0 or a negative errno. Errors:
 * those of the engine.
 */
struct mc_config {
	const struct mc_params *params;
	const struct hv_policy *const *policies;
	const char *policy;
	enum hv_gran gran;
	const struct mc_pool_config *pools; /* pools 1..nr_pools; may be NULL */
	unsigned nr_pools;
	int (*set)(void *ctx, struct hv_sys *sys);
	struct observe *observe; /* may be NULL: nothing is observed */
	mc_trace_fn trace;	 /* may be NULL */
	void *ctx;
};
int mc_create(const struct mc_config *cfg, struct mc_machine **out);
void mc_destroy(struct mc_machine *m);

/* The fault that stopped the machine, or NULL. */
const struct mc_fault *mc_fault(const struct mc_machine *m);
struct hv_sys *mc_sys(struct mc_machine *m);
struct hv_pool *mc_pool(struct mc_machine *m); /* pool 0 */
/*
 * To be called after what the lab has done to pools and pCPUs of the engine: pCPUs that have gone
 * off line lose their power, those that came have it, and what is watched is watched anew.
 */
void mc_reshaped(struct mc_machine *m);
/*
 * There is work for a pCPU's idle context, or no more. Whoever says so does it, in no time of the
 * pCPU's own; while it could be done the pCPU handles no event, as hv_work_ready() asks of a host.
 */
void mc_idle_work(struct mc_machine *m, unsigned pcpu, bool pending);

/*
 * A VM with max_vcpus vCPUs, all off line; share: nr_nodes entries that sum to MC_ONE. The domain
 * can be configured (hv_domain_params_set) before vCPUs are created.
 */
int mc_vm_create(struct mc_machine *m, int id, unsigned max_vcpus, const int64_t *share,
		 struct mc_vm **out);
/* The same in another pool than pool 0. */
int mc_vm_create_in(struct mc_machine *m, struct hv_pool *pool, int id, unsigned max_vcpus,
		    const int64_t *share, struct mc_vm **out);
/* The next vCPU; hard, soft as hv_vcpu_create(). It starts with hv_vcpu_up(mv->hv). */
int mc_vcpu_create(struct mc_vm *vm, const struct hv_mask *hard, const struct hv_mask *soft,
		   const struct mc_guest_ops *ops, void *guest, struct mc_vcpu **out);
/*
 * Take a VM away: paused now, destroyed once none of its vCPUs is on a pCPU (within a few us). The
 * structs stay readable until mc_destroy(), mv->hv and vm->domain become NULL. Its guest gets no
 * more callbacks; the guest layer cancels its own timers.
 */
void mc_vm_destroy(struct mc_vm *vm);

/*
 * Call fn(ctx) so that a failed assertion of the engine becomes a fault, as in mc_run_until(). For
 * what the lab does with the engine outside of callbacks. NULL = no fault.
 */
const struct mc_fault *mc_guard(struct mc_machine *m, void (*fn)(void *ctx), void *ctx);

/*
 * Run all events up to and including time `until`, or until mc_stop() or a fault. Then now ==
 * until.
 */
const struct mc_fault *mc_run_until(struct mc_machine *m, hv_time until); /* NULL = no fault */
void mc_stop(struct mc_machine *m); /* from a callback: mc_run_until() returns after this event */
/*
 * Settle everything to now, so that ledgers and counters are exact. Done by mc_run_until() at
 * its end.
 */
void mc_settle(struct mc_machine *m);
/* Report a broken law from a layer above; the run stops. */
void mc_fail(struct mc_machine *m, enum mc_fault_kind kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

struct mc_counters {
	uint64_t events;			/* of the queue */
	uint64_t wakes, blocks, passes, timers; /* their sum: scheduling events */
	uint64_t switches;			/* to another vCPU, idle ones included */
	uint64_t ipis;				/* pokes that crossed pCPUs */
	int64_t lock_wait;			/* ns waited for run-queue locks */
};
const struct mc_counters *mc_counters(const struct mc_machine *m);

#endif
