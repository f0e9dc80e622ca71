/*
 * What the user asked for, as plain data.
 *
 * A scenario file (YAML) is parsed, checked and resolved into the structs below: no YAML type, no
 * default left open, no name that is not known. One `struct scenario` is one fully resolved
 * configuration, that is, one variant; `struct scenario_file` holds all variants of a file and its
 * expectations.
 *
 * Laws: every value is inside its documented range; every CPU set names existing pCPUs only and has
 * at least one online pCPU; the memory shares of a VM sum to exactly SC_ONE; all arrays are owned
 * by the scenario_file and live until scenario_file_free().
 *
 * Times are int64 nanoseconds, sizes bytes, ratios integers in 2^-20 (hardware-model section 1).
 * The format is described in docs/scenarios.md.
 */
#ifndef HV_SCENARIO_SCENARIO_H
#define HV_SCENARIO_SCENARIO_H

#include <hvsched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "guest/program.h"

#define SC_ONE		  (1 << 20)    /* 1.0 of every ratio */
#define SC_MAX_CPUS	  HV_MAX_PCPUS /* pCPU ids are below this; they may be sparse */
#define SC_MAX_NODES	  64	       /* memory nodes of a host */
#define SC_MAX_VMS	  1024	       /* VMs after expansion of `count` */
#define SC_MAX_VCPUS	  4096	       /* vCPUs of one VM */
#define SC_MAX_ALL_VCPUS  16384	       /* vCPUs of one scenario, domain 0 included */
#define SC_MAX_VARIANTS	  64
#define SC_MAX_SEEDS	  1000
#define SC_MAX_CSTATES	  8
#define SC_MAX_TURBO	  64
#define SC_MAX_CURVE	  16
#define SC_WEIGHT_MAX	  65535 /* core-scheduling section 7.2 */
#define SC_WEIGHT_DEFAULT 256

/* --- CPU sets --------------------------------------------------------------------------------- */

/* Sets of pCPU ids are engine masks, all HV_MASK_WORDS words of them valid. */
#define SC_NW HV_MASK_WORDS

/* Writes "0-3,5" into buf (always terminated; "..." at the end if it does not fit). Returns buf. */
char *sc_mask_format(const struct hv_mask *m, char *buf, size_t size);

/* --- Host ------------------------------------------------------------------------------------- */

/* One hardware thread. `id` is the number that users and CPU lists use; ids may be sparse. */
struct sc_cpu {
	unsigned int id;
	unsigned int socket, core, node, llc; /* dense numbers, unique in the whole host */
	unsigned int thread;		      /* number inside its core, 0 is the first */
	bool online;			      /* false: parked by smt=off, maxcpus= or nosmp */
};

/* The topology: cpu[] is ordered by ascending id. */
struct sc_topology {
	const char *name; /* as the user named it: preset, "2x8x2", file, "this-host" */
	struct sc_cpu *cpu;
	unsigned int n_cpus, n_online;
	unsigned int nr_ids; /* highest id + 1; equal to n_cpus unless ids are sparse */
	unsigned int n_sockets, n_cores, n_nodes, n_llcs;
	unsigned int threads_per_core; /* the largest of all cores */
	struct hv_mask present, online;
	unsigned int node_id[SC_MAX_NODES];	/* the number that users give a node; ascending */
	struct hv_mask node_cpus[SC_MAX_NODES]; /* present pCPUs of each node */
	int64_t l2_bytes, llc_bytes;		/* told by hwloc; 0 = not told */
};

/* Costs of hardware-model section 5, ns. The keys of a user are in host.c: C1, C3_pv, ... */
struct sc_costs {
	int64_t c1_exit;
	int64_t c2_exit_device_model;
	int64_t c3_hypercall;	  /* Xen HVM */
	int64_t c3_hypercall_pv;  /* Xen PV */
	int64_t c4_switch;	  /* vCPU switch on a pCPU */
	int64_t c5_task_switch;	  /* guest: between processes */
	int64_t c5_thread_switch; /* guest: between threads of one process */
	int64_t c6_ipi;
	int64_t c7_guest_ipi;
	int64_t c7_target_loss; /* lost by the target of a guest IPI; 0 if posted */
	int64_t c8_wake_extra;	/* added to the composed wake cost, 0 by default (sensitivity) */
	int64_t c8_wake_scale;	/* 2^-20, multiplies the composed wake cost (sensitivity) */
	int64_t c9_guest_tick;
	int64_t c10_host_tick;
	int64_t c11_timer_slop;
	int64_t c12_ple_handler; /* beside C1, and C4 if it yields */
	int64_t c13_critical;	 /* longest critical section a rendezvous waits for */
	int64_t c14_l1d_flush;
	int64_t c14_l1d_refill;
	int64_t c15_ibpb;
	int64_t c16_shootdown;
	int64_t c16_per_target;
	int64_t c17_broadcast; /* per idle target */
	int64_t c18_clock_read;
};

struct sc_cstate {
	char name[8];
	int64_t exit_ns, residency_ns;
};

enum sc_l1d { SC_L1D_OFF, SC_L1D_COND, SC_L1D_ALWAYS };

/* Hardware parameters, hardware-model sections 2-8. One set per host; ratios are 2^-20. */
struct sc_hw {
	int64_t clock_hz;
	int64_t l2_bytes, llc_bytes;
	int64_t mem_bw;	       /* bytes/s, per node */
	int64_t mem_bw_thread; /* bytes/s, one thread: LLC refill */
	int64_t l3_bw;	       /* bytes/s: L2 refill */
	int64_t d_remote;      /* memory distance to another node, local = 1 */
	int64_t chi;	       /* weight of LLC contention */
	int64_t s_vm;	       /* same-VM bonus of SMT siblings */
	int64_t p_spin;	       /* pressure of a spinning or polling sibling */
	int64_t cold_share;    /* g: share of time lost while cold */
	int64_t deadband;  /* relative change of working set or demand that re-evaluates a socket */
	int64_t lock_base; /* ns, hold time of a run-queue lock... */
	int64_t lock_per_entity;		 /* ...and ns per entity scanned */
	int64_t handover_local, handover_remote; /* ns, lock handover to a running waiter */
	int64_t ple_window;			 /* ns; 0 = no pause-loop exits */
	int64_t pv_spin_polls;			 /* polls before a PV lock halts */
	int64_t halt_poll; /* ns of host polling before a pCPU idles; 0 = none */
	bool ibpb;	   /* charge C15 at each vCPU switch */
	enum sc_l1d l1d;
	unsigned int n_cstates, cstate_cap; /* cstates[0..cstate_cap] may be used */
	struct sc_cstate cstate[SC_MAX_CSTATES];
	unsigned int n_turbo; /* turbo[i]: clock factor with i + 1 active cores; none: 1.0 */
	int64_t turbo[SC_MAX_TURBO];
	unsigned int n_curve; /* loaded-latency curve: points (rho, stretch), rho ascending */
	int64_t curve_rho[SC_MAX_CURVE], curve_stretch[SC_MAX_CURVE];
	struct sc_costs cost;
};

/* --- Hypervisor (Xen) ------------------------------------------------------------------------- */

enum sc_sched {
	SC_SCHED_CREDIT2,
	SC_SCHED_CREDIT,
	SC_SCHED_RTDS,
	SC_SCHED_ARINC653,
	SC_SCHED_NULL,
	SC_SCHED_ROUND_ROBIN, /* ours, an example */
	SC_NR_SCHEDS,
};
enum sc_runqueue { SC_RUNQ_CPU, SC_RUNQ_CORE, SC_RUNQ_SOCKET, SC_RUNQ_NODE, SC_RUNQ_ALL };
/* credit_tickle: which pCPUs credit asks to come for a vCPU that wakes (credit section 12.4). */
enum sc_tickle {
	SC_TICKLE_HEAD,
	SC_TICKLE_HEAD_FIXED,
	SC_TICKLE_HEAD_WITHOUT,
	SC_TICKLE_WITH_2012,
	SC_TICKLE_WITHOUT_2012,
};

/*
 * Effective boot parameters (core-scheduling section 7.3, credit2 section 1, credit section 2), all
 * validated as Xen does.
 */
struct sc_xen {
	const char *cmdline; /* effective text: base and the variant's replacements */
	enum sc_sched sched;
	enum hv_gran gran; /* as asked for; a host whose cores differ gets a smaller one */
	enum sc_runqueue runqueue;
	unsigned int max_cpus_runqueue; /* >= 1 */
	unsigned int migrate_resist_us;
	unsigned int load_precision_shift; /* >= 4 */
	unsigned int load_window_shift;	   /* > 10 */
	int balance_under, balance_over;
	unsigned int cap_period_ms;
	unsigned int ratelimit_us; /* 0 or 100..500000 */
	/* credit */
	unsigned int tslice_ms;		   /* 1..1000 */
	unsigned int migration_delay_us;   /* 0..100000 */
	unsigned int balance_ratelimit_us; /* 0..1000000 */
	bool tickle_one_idle_cpu;
	enum sc_tickle tickle;
	bool smt_power_savings;
	bool smt;
	unsigned int maxcpus;			     /* 0 = no limit */
	unsigned int dom0_min_vcpus, dom0_max_vcpus; /* 0, UINT_MAX if not given */
	bool dom0_vcpus_pin;
	bool dom0_nodes_set, dom0_nodes_relaxed;
	uint64_t dom0_nodes; /* bit n = node n */
};

/* --- Virtual machines ------------------------------------------------------------------------- */

/*
 * A cpupool. The first one is Pool-0, which has what the others leave, pCPU 0 among it; sched and
 * sched-gran are by default those of the command line.
 */
struct sc_pool {
	const char *name;
	struct hv_mask cpus; /* online ones only */
	enum sc_sched sched;
	enum hv_gran gran;
	int line;
};

/* What a vCPU may use under rtds. */
struct sc_rtds {
	unsigned int period_us, budget_us; /* budget <= period */
	bool extratime;
};

struct sc_vm {
	const char *name;  /* "noise3" */
	const char *group; /* "noise": the name in the file; equal to name if there is no `count` */
	unsigned int index; /* number inside the group, from 0 */
	bool dom0;
	unsigned int pool;	      /* index into scenario.pool */
	unsigned int vcpus, maxvcpus; /* the first `vcpus` of `maxvcpus` start online */
	unsigned int weight;	      /* 1..65535 */
	unsigned int cap;	      /* % of one pCPU, 0 = none */
	struct sc_rtds *rtds;	      /* [maxvcpus]; NULL: the policy's defaults */
	struct hv_mask *hard, *soft;  /* [maxvcpus]; all present pCPUs if not restricted */
	bool has_hard, has_soft;      /* the user (or dom0_nodes, dom0_vcpus_pin) restricted it */
	int64_t memory;		      /* bytes */
	int64_t node_share[SC_MAX_NODES]; /* a(v,n) of hardware-model 3.3, 2^-20, sum SC_ONE */
	int64_t start;			  /* virtual time at which the VM is created */
	/* What it runs; never NULL, an idle one by default. Domain 0's background is part of it. */
	const struct workload *workload;
	bool builtin; /* it is the built-in workload of this name with its param[] */
	int line;     /* of the VM in the file */
};

/* A window of an arinc653 table, ns; the table of the pool: windows take at most `major`. */
struct sc_window {
	unsigned int vm, vcpu;
	int64_t runtime;
};

struct sc_frame {
	int64_t major;
	unsigned int n; /* 0: no table */
	struct sc_window *window;
};

/* --- Run and timeline ------------------------------------------------------------------------- */

struct sc_run {
	int64_t warmup;	     /* not measured */
	int64_t duration;    /* measured time; with `until`, the limit of it */
	unsigned int seeds;  /* number of runs */
	uint64_t seed_base;  /* run i uses seed_base + i */
	int64_t stall_limit; /* a runnable unit that waits longer is a stall: exit 3 */
	const char *until;   /* VM or group whose workload must complete to end the run, or NULL */
};

enum sc_op_kind {
	SC_OP_SCHED_DOM,    /* sched-credit2 or sched-credit -d DOM [-w W] [-c C] */
	SC_OP_SCHED_POOL,   /* sched-credit2 -s -r US; sched-credit -s [-t MS] [-r US] [-m US] */
	SC_OP_SCHED_RTDS,   /* sched-rtds -d DOM -v VCPU|all -p US -b US -e 0|1 ... */
	SC_OP_FRAME,	    /* arinc653-set MAJOR DOM.VCPU:TIME...: a whole new table */
	SC_OP_VCPU_PIN,	    /* vcpu-pin [-f] [-i] DOM VCPU|all HARD [SOFT] */
	SC_OP_PIN_OVERRIDE, /* pin-override DOM VCPU PCPU|none: what its guest asks for */
	SC_OP_VCPU_SET,	    /* vcpu-set DOM N */
	SC_OP_PAUSE,
	SC_OP_UNPAUSE,
	SC_OP_DESTROY,
	SC_OP_OVERRUN,	   /* overrun DOM VCPU TIME: its next run is not ended for TIME (a fault) */
	SC_OP_POOL_CREATE, /* cpupool-create [-n] [FILE] [name=N] [sched=S] [gran=G] [cpus=L] ... */
	SC_OP_POOL_DESTROY,    /* cpupool-destroy POOL */
	SC_OP_POOL_RENAME,     /* cpupool-rename POOL NAME */
	SC_OP_POOL_CPU_ADD,    /* cpupool-cpu-add POOL LIST */
	SC_OP_POOL_CPU_REMOVE, /* cpupool-cpu-remove POOL LIST */
	SC_OP_POOL_MIGRATE,    /* cpupool-migrate DOM POOL */
	SC_OP_CPU_ONLINE,      /* cpu-online N */
	SC_OP_CPU_OFFLINE,     /* cpu-offline N */
	SC_OP_SMT,	       /* smt-enable, smt-disable */
	SC_OP_SUSPEND,	       /* suspend: the host */
	SC_OP_RESUME,	       /* resume [lost=LIST] */
	SC_OP_POOL_SPLIT,      /* cpupool-numa-split */
	SC_OP_POOL_GRAN,       /* xenhypfs write /cpupool/ID/sched-gran MODE */
};

/* A change of one vCPU, or of all, under rtds. */
struct sc_rtds_change {
	int vcpu; /* -1 = all */
	struct sc_rtds value;
};

/*
 * An operator command. It applies to the VMs vm .. vm + n_vms - 1 of the scenario, in this order.
 */
struct sc_op {
	enum sc_op_kind kind;
	unsigned int vm, n_vms;
	int vcpu; /* -1 = all */
	bool set_weight, set_cap, set_hard, set_soft;
	bool set_ratelimit, set_tslice, set_migration_delay;
	unsigned int weight, cap;
	struct hv_mask hard, soft;
	unsigned int vcpus;					  /* vcpu-set; 0 = leave */
	bool ignore_host;					  /* vcpu-set -i */
	bool force, ignore_masks;				  /* vcpu-pin -f, -i */
	unsigned int ratelimit_us, tslice_ms, migration_delay_us; /* sched pool */
	int64_t time;						  /* overrun */
	struct sc_rtds_change *rtds;				  /* sched-rtds, in this order */
	unsigned int n_rtds;
	struct sc_frame frame; /* arinc653-set */
	/* Pools and pCPUs. A pool's name is looked up when the command is done. */
	const char *pool, *name; /* pool, NULL = Pool-0; name: cpupool-rename */
	struct hv_mask cpus;	 /* may be empty; resume: those that are lost; pin-override */
	bool set_sched, set_gran, on;
	bool of_nodes, dry_run; /* cpupool-create: those of `cpus` that are free; -n */
	enum sc_sched sched;	/* cpupool-create, and that of a sched-* command */
	enum hv_gran gran;
	const char *text;
	int line;
};

/*
 * Commands done at `at`, `at + every`, ... `count` times. Time 0 is the start of the run, warm-up
 * included.
 */
struct sc_event {
	int64_t at, every;
	uint64_t count;
	struct sc_op *op;
	unsigned int n_ops;
};

/* --- One configuration ------------------------------------------------------------------------ */

struct scenario {
	const char *file;    /* as it was given */
	const char *variant; /* "" if the file has no variants */
	struct sc_topology topo;
	struct sc_hw hw;
	const char *preset; /* whose hardware parameters were taken */
	struct sc_xen xen;
	struct sc_vm *vm; /* domain 0 first, if there is one; then in file order */
	unsigned int n_vms;
	struct sc_pool *pool; /* pool[0] is Pool-0 */
	unsigned int n_pools;
	struct hv_mask cpumask; /* pCPUs that xl gives to VMs, its vm.cpumask */
	bool pools_change;	/* the timeline makes pools */
	struct sc_frame frame;	/* arinc653 */
	struct sc_run run;
	struct sc_event *event; /* in file order */
	unsigned int n_events;
};

/*
 * The VMs of a name: one VM or a whole group. Returns false if there are none (a group of count 0).
 */
bool scenario_find(const struct scenario *s, const char *name, unsigned int *first,
		   unsigned int *n);

/* --- Expectations ----------------------------------------------------------------------------- */

enum sc_dim { SC_DIM_NUMBER, SC_DIM_TIME, SC_DIM_PERCENT };
enum sc_scope { SC_SCOPE_VM = 1, SC_SCOPE_CPU = 2, SC_SCOPE_HOST = 4 };

/* Values are in base units: number, nanoseconds, or per cent (50 % is 50.0). */
struct sc_metric {
	const char *name;
	enum sc_dim dim;
	unsigned int scopes; /* of enum sc_scope: where it may stand */
	bool vcpu;	     /* may be asked of one vCPU: build:3.steal */
	const char *meaning;
};

const struct sc_metric *sc_metrics(size_t *n);

/* build:3.steal[runq=core] */
struct sc_ref {
	const struct sc_metric *metric;
	enum sc_scope scope;
	const char *entity; /* VM or group name, "cpu", "host" */
	int index;	    /* vCPU or pCPU number, -1 = the whole */
	int variant;	    /* -1: of the variant for which the line is evaluated */
};

enum sc_expr_op {
	SC_EXPR_NUMBER,
	SC_EXPR_REF,
	SC_EXPR_NEG,
	SC_EXPR_ADD,
	SC_EXPR_SUB,
	SC_EXPR_MUL,
	SC_EXPR_DIV,
	SC_EXPR_ABS,
	SC_EXPR_MIN,
	SC_EXPR_MAX, /* of one or more expressions */
	SC_EXPR_ANY_MIN,
	SC_EXPR_ANY_MAX,
	SC_EXPR_SUM,
	SC_EXPR_MEAN, /* over the members of one reference */
};

struct sc_expr {
	enum sc_expr_op op;
	enum sc_dim dim;
	double number;
	struct sc_ref ref;
	struct sc_expr *arg, *next; /* arguments: a list */
};

enum sc_cmp { SC_LT, SC_LE, SC_EQ, SC_NE, SC_GE, SC_GT };
enum sc_over { SC_OVER_MEAN, SC_OVER_EACH };

struct sc_expect {
	const char *text, *why; /* why: the user's comment or NULL */
	int line;
	enum sc_cmp cmp;
	enum sc_over over; /* on the mean over seeds, or for each seed */
	bool per_variant;  /* some reference names no variant: evaluate once per variant */
	struct sc_expr *lhs, *rhs, *tolerance; /* tolerance: NULL if none */
	bool relative;			       /* tolerance is a share of the right side */
};

struct scenario_file {
	const char *path;
	struct scenario *variant;
	unsigned int n_variants;
	struct sc_expect *expect;
	unsigned int n_expects;
	struct sc_arena *arena;
};

/*
 * The value of a reference in one run: entity resolved to one VM (index into s->vm), or to a pCPU
 * or the host (vm is -1 then). Returns 0, or -ENODATA if that run has no such value.
 */
typedef int (*sc_value_fn)(void *ctx, unsigned int variant, unsigned int seed,
			   const struct sc_ref *ref, int vm, double *value);

struct sc_verdict {
	bool held;
	unsigned int variant, seed; /* where it failed (seed only for SC_OVER_EACH) */
	double lhs, rhs,
		tolerance; /* of the failing, else of the last evaluation; tolerance absolute */
	int error;	   /* 0, or -ENODATA: a value is missing (held is false) */
	const struct sc_ref *missing;
};

struct sc_verdict sc_expect_eval(const struct scenario_file *f, const struct sc_expect *e,
				 sc_value_fn get, void *ctx);
/* Prints a value with its unit: "12.4 ms", "49.8 %", "17". Returns buf. */
char *sc_format_value(enum sc_dim dim, double value, char *buf, size_t size);

/* --- Loading ---------------------------------------------------------------------------------- */

/*
 * `--set path=value` of the command line, for example vms.build.weight=512. Applied before the
 * variants.
 */
struct sc_set {
	const char *path, *value;
};

/*
 * Where messages go. Errors and warnings are counted; each is one line "file:line:col: error: ...".
 */
struct sc_diag {
	FILE *out; /* NULL: count only */
	unsigned int errors, warnings;
};

/*
 * Reads, checks and resolves a scenario file. Returns 0 and *out (the caller frees it), -EINVAL if
 * the file is wrong (all messages were given), -ENOMEM, or another negative errno if it cannot be
 * read.
 */
int scenario_load(const char *path, const struct sc_set *set, unsigned int n_sets,
		  struct sc_diag *diag, struct scenario_file **out);
/*
 * The same with these variants (YAML, a list as in a file) instead of the file's own, and without
 * its expectations, which may be about those.
 */
int scenario_load_as(const char *path, const struct sc_set *set, unsigned int n_sets,
		     const char *variants, struct sc_diag *diag, struct scenario_file **out);
/*
 * The same from memory; `name` stands for the file in messages. Relative paths in it start from
 * `dir`.
 */
int scenario_load_text(const char *name, const char *text, size_t len, const char *dir,
		       const struct sc_set *set, unsigned int n_sets, struct sc_diag *diag,
		       struct scenario_file **out);
void scenario_file_free(struct scenario_file *f);

/*
 * One operator command at a terminal, parsed as those of a timeline are; pools are looked up when
 * it is done. Memory is the file's. False after an error message, "console:LINE:COLUMN: ...".
 */
bool scenario_command(struct scenario_file *f, const struct scenario *s, const char *text, int line,
		      struct sc_diag *diag, struct sc_op *op);

/*
 * Prints one configuration with all defaults resolved, as YAML that scenario_load() accepts again.
 */
void scenario_print(FILE *out, const struct scenario *s);
void scenario_print_expects(FILE *out, const struct scenario_file *f);

/* The workload as a program of its own, in YAML below `workload:` (indented by six blanks). */
void sc_workload_print(FILE *out, const struct workload *w);

/* A text as a YAML scalar, quoted and escaped if need be. */
void sc_print_scalar(FILE *out, const char *text);

const char *sc_sched_name(enum sc_sched sched);
const char *sc_gran_name(enum hv_gran gran);
const char *sc_tickle_name(enum sc_tickle tickle);
const char *sc_runqueue_name(enum sc_runqueue runq);

#endif
