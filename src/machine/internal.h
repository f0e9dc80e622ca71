/*
 * Inside the machine: its state, and what its files offer each other.
 *
 *   machine.c    life of a machine and its VMs, the event loop, guest calls that only look
 *   host.c       the engine's host: pokes, timers, wakes, the schedule pass, switches
 *   rendezvous.c pCPUs that wait for their siblings
 *   progress.c   work of running vCPUs: settling, callbacks, charges
 *   hotplug.c    pCPUs that go off line and return
 *   memory.c     what vCPUs share: SMT threads, caches, memory; their pace
 *   watch.c      idle while runnable, stalls
 *   core_wait.c  waits that are due to core scheduling
 */
#ifndef HV_MACHINE_INTERNAL_H
#define HV_MACHINE_INTERNAL_H

#include <setjmp.h>

#include "machine/hwmodel.h"
#include "machine/machine.h"
#include "machine/queue.h"
#include "observe/observe.h"

/* Whose event it is (mc_event.what). */
enum mc_event_owner { MC_OF_PCPU, MC_OF_POKE, MC_OF_IRQ, MC_OF_ENGINE, MC_OF_TIMER };

enum mc_leaving { MC_STAY, MC_HALTING, MC_YIELDING };

enum mc_pcpu_state {
	MC_PCPU_OFFLINE,
	MC_PCPU_IDLE,
	MC_PCPU_SWITCH, /* in the hypervisor, on the way to mv, or to idle when mv is NULL */
	MC_PCPU_RUN,	/* mv is on it */
	MC_PCPU_WAIT,	/* in the hypervisor, until siblings have arrived or saved */
};

struct mc_pcpu {
	/* Hot: used by every event of this pCPU. */
	struct mc_event ev;   /* end of the present phase */
	struct mc_event poke; /* arrival of a request */
	uint64_t ev_order, poke_order;
	struct mc_machine *machine;
	struct mc_vcpu *mv;
	enum mc_pcpu_state state;
	uint32_t id;
	uint32_t pending; /* events of the engine that are raised and not handled */
	bool exit_paid;	  /* the poke under way includes the exit from idle */
	bool advancing;	  /* progress.c is in its callbacks: it will look at pending itself */
	bool entering;	  /* MC_PCPU_WAIT: has saved, and will enter mv */
	bool was_idle;	  /* MC_PCPU_WAIT: came from idle, and may go back to it */
	bool held;	  /* core scheduling alone keeps it from running somebody */
	uint8_t mode;	  /* enum observe_mode, last reported */
	const struct mc_vm *mode_vm; /* ...and whose guest */
	struct mc_vcpu *would_run;   /* whose wait it explains while it is held */
	int64_t overhead; /* ns the hypervisor worked here, to be added to the next phase */
	hv_time idle_since;
	/* What it means to its neighbours: the footprint of what runs. */
	int64_t pressure;	   /* p_sib for its sibling */
	const struct mc_vm *hw_vm; /* NULL: no guest */
	const struct mc_class *hw_cls;
	int64_t hw_demand;	      /* bytes/s, as counted in the nodes */
	bool hw_active;		      /* counted in socket->active */
	int64_t hw_sigma, hw_phi;     /* of this thread for hw_cls; 0 = not known */
	int64_t hw_compute, hw_alone; /* (1 - mu) / (phi * sigma), and with sigma = 1 */
	/* Place. */
	uint32_t core, socket, node, llc;
	uint32_t sibling; /* next pCPU of the core, cyclic */
};

struct mc_llc {
	int64_t inserted;      /* F_s */
	int64_t sets;	       /* Wsum */
	int64_t sets_in_force; /* ...for which stretch was computed */
	int64_t stretch;
};

struct mc_node_memory {
	int64_t demand, demand_in_force, stretch;
};

struct mc_socket {
	unsigned active; /* cores that are not idle; only kept with a turbo table */
	int64_t phi;
};

/* An armed timer of the engine. */
struct mc_engine_timer {
	struct mc_event ev;
	struct hv_timer *timer;
	uint32_t next_free;
};

/* Memory of the engine is chained: it can be freed when the engine is beyond repair. */
struct mc_block {
	struct mc_block *next, **prev;
	max_align_t data[];
};

#define MC_TIMER_BLOCK 64 /* timer slots made at a time */

struct mc_named_table {
	struct mc_named_table *next;
	enum mc_dist_kind kind;
	int64_t cv;
	struct mc_table table;
};

struct mc_machine {
	hv_time now;
	hv_time until;
	struct mc_queue queue;
	bool stop;
	struct mc_fault fault;
	/* Who executes the present engine call. */
	unsigned this_pcpu;  /* what the engine is told */
	unsigned local_pcpu; /* really executing: asks itself without an IPI; HV_NO_PCPU = none */
	bool waking;	     /* inside hv_wake(): pokes are part of C8 */
	struct mc_pcpu *pcpu;
	int64_t *core_inserted; /* F_c */
	unsigned *core_active;	/* pCPUs of the core that are not idle (turbo) */
	struct mc_llc *llc;
	struct mc_node_memory *node;
	struct mc_socket *socket;
	struct hv_mask stalling; /* pCPUs whose footprint stalls on memory */
	bool memory_changed;	 /* a dead band is to be checked */
	hv_time *lock_free;	 /* by lock rank: when the queue of its takers is empty */
	uint32_t nr_locks;
	struct mc_counters counters;
	uint32_t standing; /* events in a row at the present time */
	struct observe *observe;
	mc_trace_fn trace;
	void *trace_ctx;
	/* watch.c */
	struct hv_mask idle_mask;		/* idle pCPUs on which no request is pending */
	struct hv_mask held;			/* pCPUs that are held and explain nobody's wait */
	bool closing;				/* vCPUs are being freed: nobody watches any more */
	struct mc_vcpu *waiting, **waiting_end; /* in the order in which their waits began */
	uint32_t nr_idle_wait;			/* vCPUs with idle_since >= 0 */
	unsigned nw;
	/* */
	struct hv_sys *sys;
	struct hv_pool *pool;
	struct mc_params params;
	uint32_t first_online;
	uint32_t *topology; /* the four arrays */
	bool *online;
	struct mc_vm **vm;
	uint32_t nr_vms, nr_vcpus;
	struct mc_engine_timer **timer_slot; /* blocks never move: events point into them */
	uint32_t nr_timer_slots, free_timer;
	struct mc_named_table *tables;
	struct mc_block *blocks;
	struct mc_timer stall_timer;
	jmp_buf *escape; /* set while an assertion of the engine can be caught */
	struct hv_host host;
};

/* A law of the machine; always checked. */
void mc_law_broken(struct mc_machine *m, const char *expr, const char *file, int line)
	__attribute__((noreturn, cold));
void mc_queue_grow(struct mc_machine *m); /* at a new peak only; no memory stops the run */
#define MC_LAW(m, expr)                                              \
	do {                                                         \
		if (__builtin_expect(!(expr), 0))                    \
			mc_law_broken(m, #expr, __FILE__, __LINE__); \
	} while (0)

/* Queue or move an event. */
static inline void mc_queue_at(struct mc_machine *m, struct mc_event *ev, hv_time time,
			       uint64_t order)
{
	MC_LAW(m, time >= m->now);
	if (!ev->pos && mc_queue_full(&m->queue))
		mc_queue_grow(m);
	mc_queue_set(&m->queue, ev, time, order);
}

/* ---- host.c */
extern const struct hv_host mc_host;
void mc_pass(struct mc_pcpu *pc, int64_t keep_cost); /* handle its pending events now */
void mc_switched(struct mc_pcpu *pc);		     /* the switch phase is over */
void mc_poke_arrived(struct mc_pcpu *pc);
void mc_begin_switch(struct mc_pcpu *pc, struct mc_vcpu *to, int64_t cost);
void mc_finish_switch(struct mc_pcpu *pc); /* all have saved: enter what was switched to */
void mc_keep(struct mc_pcpu *pc, int64_t cost);
void mc_enter_idle(struct mc_pcpu *pc); /* its mode, and who may be waiting for it */
void mc_engine_timer_fired(struct mc_machine *m, struct mc_engine_timer *slot);
void mc_wake(struct mc_vcpu *mv, struct mc_vcpu *from);
int mc_timer_slots_grow(struct mc_machine *m);
/* Executing pCPU of engine calls; returns to "nobody in particular" with HV_NO_PCPU. */
static inline void mc_execute(struct mc_machine *m, unsigned pcpu, unsigned local)
{
	m->this_pcpu = pcpu == HV_NO_PCPU ? m->first_online : pcpu;
	m->local_pcpu = local;
}

/* ---- rendezvous.c */
void mc_wait(struct mc_pcpu *pc, int64_t cost); /* the engine answered HV_AGAIN */
bool mc_look(struct mc_pcpu *pc);	 /* a pCPU that waits looks; true if it got further */
void mc_look_around(struct mc_pcpu *pc); /* ...and all its siblings that wait, after its call */

/* ---- progress.c */
void mc_settle_vcpu(struct mc_vcpu *mv);   /* up to now; mv is on a pCPU */
void mc_requeue(struct mc_pcpu *pc);	   /* set the event at which its present phase ends */
void mc_advance(struct mc_pcpu *pc);	   /* callbacks that are due, then mc_requeue() */
void mc_start_running(struct mc_vcpu *mv); /* runstate running begins */
void mc_stop_running(struct mc_vcpu *mv);  /* ...ends: settle, report, tell the guest */
void mc_report_run(struct mc_vcpu *mv);	   /* hand the split so far to the ledger */
void mc_irq_arrived(struct mc_vcpu *mv);
static inline void mc_set_mode(struct mc_pcpu *pc, enum observe_mode mode)
{
	const struct mc_vm *vm = mode == OBSERVE_PCPU_GUEST ? pc->mv->vm : NULL;

	if (pc->mode == mode && pc->mode_vm == vm)
		return;
	pc->mode = (uint8_t)mode;
	pc->mode_vm = vm;
	if (pc->machine->observe)
		observe_pcpu(pc->machine->observe, pc->id, pc->machine->now, mode,
			     vm ? vm->id : -1);
}

/* Its pace changed and is settled: see that its event is not too late. */
void mc_repaced(struct mc_pcpu *pc, bool slower);
void mc_book(struct mc_vcpu *mv); /* before its loss_smt changes */

/* ---- memory.c */
void mc_reach(struct mc_vm *vm); /* fill vm->reach from vm->share */
/* The footprint of the pCPU is that of mv from now on (NULL: none), with this pressure. */
void mc_footprint(struct mc_pcpu *pc, struct mc_vcpu *mv, int64_t pressure);
/* The running vCPU changed its kind or class of work. */
void mc_work_changed(struct mc_pcpu *pc, bool new_class);
/* Pace of the vCPU on pc anew; if it differs, settle and requeue. */
void mc_refresh_pace(struct mc_pcpu *pc);
void mc_check_dead_band(struct mc_machine *m);
void mc_cache_enter(struct mc_pcpu *pc, struct mc_vcpu *mv); /* find its debt */
void mc_cache_leave(struct mc_pcpu *pc, struct mc_vcpu *mv);
int64_t mc_pressure_of(const struct mc_machine *m, const struct mc_vcpu *mv);

/* ---- watch.c */
void mc_watch_runstate(struct mc_vcpu *mv, enum hv_runstate_kind to);
void mc_watch_idle(struct mc_pcpu *pc, bool idle); /* idle without a request pending, or not */
void mc_watch_start(struct mc_machine *m);
void mc_watch_settle(struct mc_machine *m);
void mc_watch_reshaped(struct mc_machine *m); /* pools or resources are others now */

/* ---- core_wait.c */
void mc_core_hold(struct mc_pcpu *pc, bool held);
void mc_core_wait_begins(struct mc_vcpu *mv); /* it is in the list of the waiting */
void mc_core_wait_ends(struct mc_vcpu *mv);   /* it has left the list */
void mc_core_waits_anew(struct mc_machine *m);

#endif
