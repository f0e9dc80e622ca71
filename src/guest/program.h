/*
 * Workloads as plain data: what a guest does, in numbers, without YAML and without the machine.
 *
 * A *workload* is what one VM runs: task groups, the programs of their tasks, the objects they
 * share (locks, barriers, semaphores, channels, job pools, devices) and the metric. A *program*
 * is a flat array of ops. Everything is resolved: parameters are numbers, names are indices. The
 * scenario layer fills these structs from YAML (docs/workloads.md describes the format); the
 * guest layer only reads them, so that many guests, seeds and threads may share one workload.
 *
 * Laws: every index is in range; loops nest at most PROGRAM_MAX_NEST deep and `target` of a loop's
 * end is the op after its begin; every amount is >= 0; workload_check() says all of this.
 *
 * Times are ns, work is nominal ns (hardware-model section 1), sizes bytes, rates events per second
 * of work, ratios integers in 2^-20 (PROGRAM_ONE). Source: workloads sections 1 and 3.
 */
#ifndef HV_GUEST_PROGRAM_H
#define HV_GUEST_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROGRAM_ONE	 (1 << 20) /* 1.0 of every ratio */
#define PROGRAM_MAX_NEST 8	   /* loops inside loops */
#define PROGRAM_REGS	 4	   /* registers of a task, for drawn values */
#define PROGRAM_MAX_OPS	 4096	   /* of one program */
#define WORKLOAD_MAX	 256	   /* groups, programs, objects of one kind in one workload */
#define WORKLOAD_TASKS	 65536	   /* tasks of one guest, pool workers and partners included */
#define WORKLOAD_JOBS	 1000000   /* jobs of one pool */

/* --- Amounts --------------------------------------------------------------------------------- */

/* A number of a program: drawn anew each time the op is reached (workloads section 1.5). */
enum amount_kind {
	AMOUNT_CONST,	  /* a */
	AMOUNT_UNIFORM,	  /* a <= x <= b, evenly */
	AMOUNT_EXP,	  /* mean a */
	AMOUNT_LOGNORMAL, /* mean a, coefficient of variation b (2^-20, up to 8.0) */
	AMOUNT_REGISTER,  /* register a (what OP_DRAW stored there), divided by b (>= 1) */
};

struct amount {
	enum amount_kind kind;
	int64_t a, b;
};

/* --- Classes and background activity --------------------------------------------------------- */

/* How work reacts to the hardware, hardware-model sections 3 and 4. */
struct work_class {
	const char *name;
	int32_t sigma;	     /* 2^-20: pipeline share left by a busy SMT sibling */
	int32_t mu;	     /* 2^-20: share of nominal time stalled on memory */
	int64_t working_set; /* bytes */
	int64_t bandwidth;   /* bytes/s at pace 1 */
	bool shared_set;     /* the working set is one for the whole VM, not one per vCPU */
};

/*
 * What the kernel does on behalf of computing tasks, per second of work. Each of the first three
 * happens at points with exponential distances; 0 = never.
 */
struct background {
	const char *name;
	int32_t lock_rate;    /* visits to the guest's spin-global lock */
	int64_t lock_hold;    /* ns of work inside; this work is part of the computing task's */
	int32_t partner_rate; /* sleeps until a partner task has done partner_work */
	struct amount partner_work; /* ns of work; part of the computing task's */
	int32_t shootdown_rate;	    /* synchronous IPIs to the guest's on-line vCPUs */
	int32_t fault_rate;	    /* minor faults; each adds fault_cost ns of work */
	int64_t fault_cost;   /* 0 when the work given includes it, as in every built-in one */
	int32_t system_share; /* 2^-20: share of the work that tick accounting calls system */
};

/* --- Shared objects -------------------------------------------------------------------------- */

enum lock_kind {
	LOCK_SPIN_GLOBAL, /* the one ticket lock of the guest kernel; every object of this kind */
	LOCK_MUTEX,	  /* sleeping, FIFO with barging */
	LOCK_FUTEX,	  /* the same in user space: system calls only when contended */
	LOCK_RW,	  /* sleeping, shared or exclusive, FIFO */
};

/* count > 1: an array of locks (stripes); an op takes one of them, drawn evenly. */
struct lock_desc {
	const char *name;
	enum lock_kind kind;
	uint32_t count;
};

enum barrier_kind { BARRIER_SLEEP, BARRIER_SPIN };

struct barrier_desc {
	const char *name;
	uint32_t parties;
	enum barrier_kind kind;
	int64_t spin; /* BARRIER_SPIN: ns of spinning in user space before the waiter sleeps */
};

struct semaphore_desc {
	const char *name;
	uint32_t initial;
};

/*
 * A ring of `slots` items between tasks, of one VM or of two. A side that finds it empty or full
 * polls for `poll` ns and then sleeps; the other side sends an event only to a sleeper (workloads
 * section 3.5: a busy side is polled). vm != NULL: the channel `name` of that VM's workloads, and
 * the other fields are unused.
 */
struct channel_desc {
	const char *name;
	const char *vm;
	uint32_t slots;
	int64_t poll;
};

/*
 * A job pool: `jobs` jobs in `directories` directories, done in order by `tokens` worker tasks. The
 * last job of each directory (its link) waits for the other members. OP_FORK starts it, OP_JOIN
 * waits for its last job. Each job runs `program` once; what it draws depends on the job's number
 * and not on the worker that does it.
 */
struct pool_desc {
	const char *name;
	uint32_t jobs, directories, tokens;
	uint32_t program; /* index */
	uint32_t cls;	  /* index */
};

/* Serves requests: latency + bytes / rate each, in `slots` at once (0 = no limit), FIFO. */
struct device_desc {
	const char *name;
	struct amount latency; /* ns */
	int64_t rate;	       /* bytes/s of each slot; 0 = size does not matter */
	uint32_t slots;
};

/* --- Programs -------------------------------------------------------------------------------- */

enum op_kind {
	OP_COMPUTE,	/* amount ns of work; arg: background or -1 */
	OP_SLEEP,	/* amount ns, by a timer of the guest */
	OP_LOCK,	/* arg: lock, exclusive */
	OP_LOCK_SHARED, /* arg: lock of LOCK_RW */
	OP_UNLOCK,	/* arg: lock (of an array: the one that was taken) */
	OP_IO,		/* arg: device; amount bytes; sleeps until it is done */
	OP_WAIT,	/* arg: semaphore; down */
	OP_SIGNAL,	/* arg: semaphore; up by amount */
	OP_BARRIER,	/* arg: barrier */
	OP_SEND,	/* arg: channel; sleeps while it is full */
	OP_RECV,	/* arg: channel; sleeps while it is empty */
	OP_CLOCK,	/* amount readings of the clock by system call, C18 each */
	OP_SHOOTDOWN,	/* a synchronous IPI to all on-line vCPUs of the guest */
	OP_FORK,	/* arg: pool, must not be running */
	OP_JOIN,	/* arg: pool */
	OP_LOOP,    /* the ops up to the matching OP_END, amount times; target: op after OP_END */
	OP_FOREVER, /* the same without end */
	OP_END,	    /* target: first op of the body */
	OP_DRAW,    /* reg = amount */
	OP_CHANCE,  /* with probability arg (2^-20) go on, else go to target */
	OP_TRY,	    /* arg: semaphore; down and go to target, or go on if it is zero */
	OP_COUNT,   /* the metric's counter grows by amount */
	OP_DONE,    /* one run of the workload is complete; the next one, if any, starts here */
	OP_EXIT,    /* the task ends; implied at the end of a program */
};

struct op {
	enum op_kind kind;
	uint8_t reg;
	int32_t arg;
	uint32_t target;
	struct amount amount;
};

struct program {
	const char *name;
	struct op *op;
	uint32_t n_ops;
};

enum placement {
	PLACE_ANY,  /* the guest's scheduler decides */
	PLACE_EACH, /* task i of the group stays on vCPU (vcpu + i) mod vCPUs */
	PLACE_ONE,  /* all stay on vCPU `vcpu` */
};

struct task_group {
	const char *name;
	uint32_t count;
	uint32_t program; /* index */
	uint32_t cls;	  /* index */
	enum placement placement;
	uint32_t vcpu;
	struct amount start; /* ns after the guest's start at which the task begins */
};

/* --- The workload ---------------------------------------------------------------------------- */

enum metric_kind {
	METRIC_NONE,	/* the workload is a load, not a measure */
	METRIC_ELAPSED, /* ns from the start of a run to its OP_DONE */
	METRIC_RATE,	/* OP_COUNT per second of the measured interval */
};

struct metric {
	enum metric_kind kind;
	const char *name; /* "elapsed", "throughput" */
	const char *unit; /* METRIC_RATE: what is counted: "bytes", "transactions", "loops" */
};

/* A parameter as resolved, for printing. */
struct workload_param {
	const char *name;
	int64_t value;
	const char *text; /* value as the user may write it, with its unit */
};

struct workload {
	const char *name;
	const char *text; /* one line: what it models */
	struct metric metric;
	uint32_t runs; /* runs of the workload before its tasks end at OP_DONE; 0 = for ever */

	struct workload_param *param;
	struct work_class *cls;
	struct background *background;
	struct lock_desc *lock;
	struct barrier_desc *barrier;
	struct semaphore_desc *semaphore;
	struct channel_desc *channel;
	struct pool_desc *pool;
	struct device_desc *device;
	struct program *program;
	struct task_group *group;
	uint32_t n_params, n_classes, n_backgrounds, n_locks, n_barriers, n_semaphores, n_channels,
		n_pools, n_devices, n_programs, n_groups;
};

/*
 * 0, or -HV_EINVAL and a static text that says which law is broken (and in which program and op;
 * UINT32_MAX when it is not about one).
 */
struct workload_fault {
	const char *law;
	uint32_t program, op;
};
int workload_check(const struct workload *w, struct workload_fault *fault);

/* A workload without tasks: what a VM runs when nothing is said (workloads section 3.11). */
extern const struct workload workload_idle;

#endif
