/*
 * The insides of a guest, shared by the files of this directory only.
 *
 * A vCPU runs its current task in *segments*: pieces of work after which something happens (the
 * op is done, a lock visit, a partner's turn, a shootdown). A segment is handed to the machine as
 * one piece of work; its front part may be kernel overhead, which is not the task's own work.
 *
 * Laws: see guest.h. Contexts: functions that take a vCPU `v` run in that vCPU's callback, so that
 * they may halt it; those that take `from` run in from's.
 */
#ifndef HV_GUEST_KERNEL_H
#define HV_GUEST_KERNEL_H

#include "guest/guest.h"

struct block;
struct task;
struct vcpu;

/* Virtual interrupts. */
enum {
	IRQ_RESCHED = 1u << 0, /* look at the queue */
	IRQ_TICK = 1u << 1,
	IRQ_EVENT = 1u << 2, /* timer, device or event channel: v->fired */
	IRQ_CALL = 1u << 3,  /* synchronous call: acknowledge */
	IRQ_KICK = 1u << 4,  /* the spin lock is yours */
};

/* What a random stream is for. */
enum purpose {
	PURPOSE_PROGRAM,
	PURPOSE_LOCK,
	PURPOSE_PARTNER,
	PURPOSE_SHOOTDOWN,
	PURPOSE_PARTNER_LOCK,
	PURPOSE_PARTNER_SHOOTDOWN,
	PURPOSE_RESIDUAL,
	PURPOSE_START,
	PURPOSE_JOB, /* + number of the pool */
};

/* FIFO of waiting tasks, through task->wait_link. */
struct waitq {
	struct task *head, *tail;
};

/* A sleeping lock; of LOCK_SPIN_GLOBAL objects only the descriptor is used. */
struct sleep_lock {
	struct task *owner;
	uint32_t readers;
	struct waitq waiters;
};

struct barrier {
	uint32_t arrived;
	struct waitq waiters;
};

struct semaphore {
	int64_t count;
	struct waitq waiters;
};

struct channel {
	const struct channel_desc *desc;
	struct channel *real; /* itself, or the other VM's channel, NULL until that VM is there */
	uint32_t count;
	struct waitq senders, receivers;
};

struct device {
	uint32_t busy;
	struct waitq waiters;
};

/* A job pool: workers take jobs under no lock of their own (make's token pipe is a sleep there). */
struct pool {
	const struct pool_desc *desc;
	struct waitq idle, joiners;
	uint32_t *left;	 /* members of each directory that are not done */
	uint32_t *ready; /* ring of directories whose link job may start */
	uint32_t ready_head, n_ready;
	uint32_t dir, member; /* next job in order */
	uint32_t done;
	uint32_t build; /* number of times it has been started */
	bool running;
};

/* One workload of a guest with its objects. */
struct instance {
	const struct workload *w;
	struct guest *guest;
	struct mc_class *cls;	       /* [n_classes] */
	struct background *partner_bg; /* [n_backgrounds]: what holds for a partner */
	struct sleep_lock **lock;      /* [n_locks][count] */
	struct barrier *barrier;
	struct semaphore *semaphore;
	struct channel *channel;
	struct pool *pool;
	struct device *device;
	uint32_t runs;
	bool first; /* its OP_DONE and OP_COUNT are the guest's */
};

enum task_kind { TASK_PROGRAM, TASK_WORKER, TASK_PARTNER };
enum task_state { TASK_ASLEEP, TASK_QUEUED, TASK_CURRENT, TASK_ENDED };

/* Where a task is in its current op. */
enum step {
	STEP_NEXT,    /* fetch the next op */
	STEP_COMPUTE, /* work_left is to be done */
	STEP_WAIT,    /* until granted */
	STEP_LOCK,    /* must try again to take `want` */
	STEP_SPIN,    /* wants the global spin lock for an OP_LOCK */
};

/* nns x faults per second that make one fault. */
#define FAULT_UNIT 1000000000LL

#define TASK_MAX_HELD 8 /* locks held by one task at a time */

struct task {
	struct guest *guest;
	struct instance *inst;
	struct vcpu *vcpu;	/* current or queued there; else where it ran last */
	struct task *link;	/* in the vCPU's queue */
	struct task *wait_link; /* in a waitq, or in v->fired */
	enum task_kind kind;
	enum task_state state;
	enum step step;
	uint32_t number; /* in the guest */
	int32_t pinned;	 /* vCPU, -1 = any */
	bool process;	 /* switching to it switches address spaces */
	bool granted;	 /* what it waited for is there */
	bool exclusive;	 /* how it waits for a r/w lock */
	bool had_done;	 /* it has passed OP_DONE since its program began */
	const struct mc_class *cls;
	/* Guest scheduler. Relative to the vCPU's minimum unless queued or current. */
	int64_t vruntime;
	hv_time since; /* switched in, or last accounted */
	hv_time slice_start;
	/* Program. */
	const struct program *program;
	uint32_t pc, depth;
	int64_t loop[PROGRAM_MAX_NEST];
	int64_t reg[PROGRAM_REGS];
	struct mc_rng rng;
	struct {
		uint32_t lock, stripe;
	} held[TASK_MAX_HELD];
	uint32_t n_held;
	struct sleep_lock *want;
	int64_t spin_left; /* STEP_WAIT: ns to poll before it sleeps */
	/* OP_COMPUTE and what happens meanwhile: nns to the next of each. */
	const struct background *bg;
	const struct background *drawn; /* distances belong to this one */
	int64_t work_left, to_lock, to_partner, to_shootdown;
	struct mc_rng rng_lock, rng_partner, rng_shootdown;
	int32_t system_credit;		/* 2^-20 of a tick that is owed to system time */
	struct task *partner;		/* of a computing task; of a partner: its owner */
	const struct task_group *group; /* TASK_PROGRAM only */
	/* Sleeps and I/O. */
	struct mc_timer timer;
	struct device *device;
	const struct device_desc *device_desc;
	int64_t io_time;
	/* Workers. */
	struct pool *pool;
	uint32_t job;
};

/* What a vCPU does, from the guest's point of view. */
enum doing {
	DO_IDLE,     /* halted or about to halt */
	DO_ENTER,    /* the kernel's way to the halt, on which it may still find something to do */
	DO_RESIDUAL, /* kernel timers, no task */
	DO_COMPUTE,  /* a segment of the current task */
	DO_SPIN,     /* waits for the global lock, spinning or halted */
	DO_CALL,     /* waits for acknowledgements */
	DO_POLL,     /* the current task polls for what it waits for */
};

enum lock_state { LOCK_NOT, LOCK_WAITING, LOCK_GRANTED, LOCK_HELD };

/* Where a waiter of the queued lock is. */
enum lock_place { LOCK_NOWHERE, LOCK_STEALER, LOCK_NODE, LOCK_HEAD };

struct vcpu {
	struct mc_vcpu *mv;
	struct guest *guest;
	uint32_t id;
	bool online, going_off;
	enum doing doing;
	struct task *curr;
	struct task *last; /* task whose context is loaded */
	/* Queue, ascending vruntime. */
	struct task *queue;
	uint32_t nr_queued;
	int64_t min_vruntime;
	bool need_resched;
	/* Segment: nns given to the machine, its front part that is overhead. */
	int64_t segment, overhead;
	int64_t pending_overhead; /* ns for the next segment */
	/* Global lock. */
	enum lock_state lock;
	bool lock_explicit; /* OP_LOCK: held until OP_UNLOCK */
	bool lock_halted;
	bool lock_kicked; /* queued: it need not be kicked again */
	enum lock_place lock_place;
	int64_t hold_end;  /* offset in the segment at which it is released */
	int64_t spin_left; /* PV: before it halts */
	struct vcpu *lock_next;
	/* Synchronous calls. */
	uint32_t acks;
	uint64_t *call_mask; /* vCPUs that have not answered */
	struct vcpu *call_next;
	/* Interrupts. */
	struct waitq fired;
	bool residual_due;
	struct mc_timer tick, residual;
	hv_time tick_due;
	struct mc_rng rng_residual;
};

/* The guest's one global lock. The holder may have left its hold without notice: spin_inside(). */
struct spin {
	struct vcpu *holder;
	struct vcpu *head, *tail; /* waiters in order of arrival */
	uint32_t nr_waiting;
	/* Queued lock only. */
	bool pending; /* the head spins, or was preempted while it did */
	struct vcpu *steal_head, *steal_tail;
};

struct guest {
	struct mc_machine *machine;
	struct mc_vm *vm;
	const struct guest_config *config; /* our_config */
	struct guest_config our_config;
	struct guest_params p;
	const struct mc_costs *cost;
	const struct mc_table *exp_table;
	uint64_t key; /* of the random streams, from the name */
	struct vcpu *vcpu;
	uint32_t nr_vcpus, nr_online, mask_words;
	uint64_t *idle; /* vCPUs without task or queue */
	uint32_t nr_queued;
	int64_t min_slice;
	struct task *task;
	uint32_t n_tasks;
	struct instance *inst;
	uint32_t n_inst;
	struct spin spin;
	struct vcpu *callers; /* vCPUs that wait for acknowledgements */
	struct mc_class kernel_class;
	bool stopped;
	struct block *blocks; /* all memory of the guest */
	/* Results. */
	hv_time measured_from, run_start;
	int64_t fault_units; /* nns of work x faults per second, below one fault each FAULT_UNIT */
	struct guest_result r;
};

/* --- guest.c */
int64_t guest_draw(struct guest *g, const struct amount *a, const int64_t *reg, struct mc_rng *r);
void guest_run_done(struct guest *g);
void guest_law(struct guest *g, const char *law, const struct task *t);

/* --- guest_vcpu.c */
extern const struct mc_guest_ops guest_vcpu_ops;
/* The current task's next `work` nns. hold: how much of its front is under the global lock. */
void vcpu_segment(struct vcpu *v, int64_t work, int64_t hold);
/* Let the segment end at this offset, unless it is past it already. */
void vcpu_segment_cut(struct vcpu *v, int64_t offset);
/* nns of the segment that are done, overhead included. */
int64_t vcpu_segment_done(const struct vcpu *v);
/* Take what is done of the segment off the current task; the segment is over. */
void vcpu_segment_end(struct vcpu *v);

/* --- guest_sched.c */
void sched_enqueue(struct vcpu *v, struct task *t);
/* Wake a sleeping task. */
void sched_wake(struct task *t, struct vcpu *from);
/* The next task becomes current (pulling one if there is none), or NULL. v->curr is NULL. */
struct task *sched_pick(struct vcpu *v);
/* The current task leaves its vCPU: asleep or ended. */
void sched_leave(struct vcpu *v, enum task_state state);
/* The current task goes back to the queue. */
void sched_requeue(struct vcpu *v);
/* The current task has used up its slice and another waits. */
bool sched_slice_over(struct vcpu *v);
void sched_account(struct vcpu *v);
/* Move everything off a vCPU that goes off line. */
void sched_evacuate(struct vcpu *v);
void sched_set_idle(struct vcpu *v);

/* --- tick.c */
void tick_init(struct vcpu *v, uint32_t entity);
void tick_arm(struct vcpu *v);	     /* the vCPU is busy */
void tick_interrupt(struct vcpu *v); /* IRQ_TICK */
void residual_init(struct vcpu *v, uint32_t entity);
void residual_arm(struct vcpu *v); /* the vCPU is idle */

/* --- lock.c: the global spin lock */
bool spin_acquire(struct vcpu *v); /* false: it spins, DO_SPIN */
void spin_release(struct vcpu *v);
/* v has the lock and has not passed the end of its hold. */
bool spin_inside(const struct vcpu *v);
void spin_work_done(struct vcpu *v); /* in DO_SPIN; v->lock is LOCK_HELD after success */
void spin_resume(struct vcpu *v);    /* in DO_SPIN, the vCPU runs again */

/* --- lock_queued.c: the same for the queued variant; called by lock.c */
bool queued_acquire(struct vcpu *v);
void queued_release(struct vcpu *v);
void queued_work_done(struct vcpu *v);
void queued_resume(struct vcpu *v);

/* --- mutex.c: sleeping locks */
bool mutex_lock(struct vcpu *v, struct task *t, const struct op *op); /* false: it sleeps */
bool mutex_retry(struct vcpu *v, struct task *t);
void mutex_unlock(struct vcpu *v, struct task *t, const struct op *op);

/* --- ipi.c */
bool call_all(struct vcpu *v); /* false: nobody to ask */
void call_answer(struct vcpu *v);

/* --- wait.c */
void waitq_push(struct waitq *q, struct task *t);
void waitq_push_front(struct waitq *q, struct task *t);
struct task *waitq_pop(struct waitq *q);
/* Wait until granted, polling for spin ns first. true: it polls; false: it has left the vCPU. */
bool task_wait(struct vcpu *v, struct task *t, int64_t spin);
bool task_wait_continue(struct vcpu *v, struct task *t);
void task_grant(struct task *t, struct vcpu *from);
/* Something from outside happened to a sleeping task: interrupt its vCPU. */
void task_event(struct task *t, struct mc_vcpu *from);
bool semaphore_try(struct semaphore *s);
bool semaphore_wait(struct vcpu *v, struct task *t, struct semaphore *s); /* false: it waits */
void semaphore_signal(struct vcpu *v, struct semaphore *s, int64_t n);
bool barrier_wait(struct vcpu *v, struct task *t, const struct op *op);
bool channel_send(struct vcpu *v, struct task *t, struct channel *c); /* false: it waits */
bool channel_recv(struct vcpu *v, struct task *t, struct channel *c);
void channel_linked(struct channel *c); /* real is there now */

/* --- device.c */
void task_sleep(struct vcpu *v, struct task *t, int64_t ns);
void task_io(struct vcpu *v, struct task *t, const struct op *op, int64_t bytes);
void task_timer_init(struct task *t, uint32_t entity);

/* --- pool.c */
void pool_fork(struct vcpu *v, struct task *t, struct pool *p);
bool pool_join(struct vcpu *v, struct task *t, struct pool *p); /* false: it waits */
/* A worker has no job: take one, or false: it has left the vCPU. */
bool pool_next_job(struct vcpu *v, struct task *t);
void pool_job_done(struct vcpu *v, struct task *t);

/* --- program.c */
/* Go on with the current task. true: the vCPU has work; false: the task has left it. */
bool task_continue(struct vcpu *v, struct task *t);
void task_begin(struct task *t); /* at the first op of its program */

#endif
