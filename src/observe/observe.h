/*
 * What is seen of one run: one struct observe per run takes the engine's trace records and the
 * machine's reports and turns them, once, into the time ledger, the counters, the histograms, the
 * isolation figure and the event log.
 *
 * Laws (observe_check() verifies them, all in integer ns):
 *   1. Each vCPU's categories sum to the time from the start of the window (or its birth) to now.
 *      The six running ones come from the machine (observe_run()), the time they must fill comes
 *      from the engine's trace; neither is derived from the other. Running and blocked time also
 *      agree with what the engine itself accounts to the runstates (core-scheduling section 1.4).
 *   2. Each pCPU's categories sum to the time since the start of the window.
 *   3. Guest time is one quantity: over the whole machine, the vCPUs' running time outside the
 *      hypervisor equals the pCPUs' time in guest mode.
 *   4. Times never run backwards; every running interval is reported exactly once, in order.
 *
 * Nothing is allocated per event; a vCPU's record is made when it is first heard of. The engine's
 * struct hv_vcpu carries the number of its record (observer, 0 = none: idle vCPUs).
 *
 * Meaning of the categories and their names in other tools: docs/observe.md.
 */
#ifndef HVSCHED_OBSERVE_OBSERVE_H
#define HVSCHED_OBSERVE_OBSERVE_H

#include <hvsched.h>

#include "observe/histogram.h"

/* ------------------------------------------------------------------ categories */

/* Where a vCPU's time goes. Each ns of its life is in exactly one of them. */
enum observe_time {
	/* runstate running; split by the machine */
	OBSERVE_USEFUL,	    /* work that would take as long on a whole, warm, local core */
	OBSERVE_SMT,	    /* lost to the SMT sibling */
	OBSERVE_COLD,	    /* lost to cold caches after a dispatch */
	OBSERVE_MEMORY,	    /* lost to remote memory and to contention for LLC and bandwidth */
	OBSERVE_SPIN,	    /* spinning on a lock, polling */
	OBSERVE_HYPERVISOR, /* on the pCPU, but in the hypervisor on its behalf: switch, exit */
	/* not running though the guest wants to */
	OBSERVE_WAIT_QUEUE,	/* runnable, others have all threads it may use */
	OBSERVE_WAIT_CORE,	/* runnable, and would run but for core scheduling */
	OBSERVE_WAIT_MIGRATION, /* between two resources */
	OBSERVE_WAIT_CAP,	/* parked: its cap or budget is used up */
	OBSERVE_OFFLINE,	/* down or paused by the operator */
	OBSERVE_BLOCKED,	/* the guest has nothing to do */
	OBSERVE_NR_TIMES,
	OBSERVE_NR_RUN = OBSERVE_WAIT_QUEUE, /* the first six */
};

/* What a pCPU does. */
enum observe_mode {
	OBSERVE_PCPU_OFFLINE, /* not up; the mode of every pCPU at first */
	OBSERVE_PCPU_GUEST,
	OBSERVE_PCPU_IDLE,
	OBSERVE_PCPU_FORCED_IDLE, /* idle only because of core scheduling */
	OBSERVE_PCPU_HYPERVISOR,
	OBSERVE_NR_MODES,
};

/* Short names for tables and JSON ("useful", "smt", ... ; "guest", ...); static text. */
extern const char *const observe_time_names[OBSERVE_NR_TIMES];
extern const char *const observe_mode_names[OBSERVE_NR_MODES];

/* How far a vCPU moved from where it last ran to where it runs now. */
enum observe_distance {
	OBSERVE_SAME_CORE,   /* the SMT sibling */
	OBSERVE_SAME_SOCKET, /* same LLC */
	OBSERVE_CROSS_SOCKET,
	OBSERVE_NR_DISTANCES,
};

/* ------------------------------------------------------------------ life of an observer */

struct observe;

struct observe_config {
	const struct hv_topology *topology; /* copied */
	hv_time start;			    /* no record is earlier; >= 0, normally 0 */
	bool hash;			    /* hash the records although there is no log */
	const char *log_path;		    /* NULL = no event log; made anew */
	const char *scenario;		    /* for the log's header; may be NULL */
	const char *variant;		    /* likewise */
	uint64_t seed;			    /* likewise */
};

/*
 * *out is set only on success. -HV_EINVAL topology or start; -HV_ENOMEM; any other negative errno:
 * the log could not be made.
 */
int observe_create(const struct observe_config *config, struct observe **out);
/*
 * The run is over at t: close all intervals, finish and close the log. The results stay readable.
 * 0, or the negative errno of the first failure of the run: memory (-HV_ENOMEM) or writing the log
 * (-ENOSPC, ...). Every failed or short write of the run is reported here at the latest.
 */
int observe_close(struct observe *o, hv_time t);
/* First failure so far, 0 if none: a long run can stop early when its disk is full. */
int observe_error(const struct observe *o);
void observe_destroy(struct observe *o); /* NULL is fine; a log that is open stays without an end */
/* Hash over all records so far; 0 when neither hash nor log_path was asked for. */
uint64_t observe_hash(const struct observe *o);

/* ------------------------------------------------------------------ what the engine says */

/* Every trace record, from the host callback. */
void observe_trace(struct observe *o, const struct hv_trace *ev);

/* ------------------------------------------------------------------ what the machine says */

/* Give a domain its name, before its first vCPU is created ("dN" otherwise). 0, -HV_ENOMEM. */
int observe_domain_name(struct observe *o, int domain, const char *name);
/*
 * Idempotent; observe_trace() does it by itself on the first record of a vCPU (it is born then:
 * down, i.e. OBSERVE_OFFLINE). Returns the number of the record (> 0), 0 when out of memory.
 */
uint32_t observe_vcpu_register(struct observe *o, struct hv_vcpu *v, hv_time t);
/* The vCPU is about to be destroyed: its ledger ends at t. All its intervals must be reported. */
void observe_vcpu_gone(struct observe *o, struct hv_vcpu *v, hv_time t);

/*
 * How the vCPU spent [from, to) of its runstate running: ns[c] for the categories up to
 * OBSERVE_HYPERVISOR, sum = to - from. Intervals follow each other without gap from one change of
 * the runstate to the next; an interval may be reported before or after the engine says that the
 * runstate ended. All running vCPUs must be reported up to t before observe_mark(t),
 * observe_check(t), observe_close(t). Zero length is fine.
 */
void observe_run(struct observe *o, const struct hv_vcpu *v, hv_time from, hv_time to,
		 const int64_t ns[OBSERVE_NR_RUN]);

/*
 * From t on the pCPU is in this mode; domain is the id of the vCPU's domain in mode guest (and
 * ignored otherwise). No effect when nothing changes.
 */
void observe_pcpu(struct observe *o, unsigned pcpu, hv_time t, enum observe_mode mode, int domain);

/* From t on a wait of this vCPU is (is not) due to core scheduling, by the rule of
 * docs/observe.md. It ends by itself when the vCPU runs. */
void observe_core_wait(struct observe *o, const struct hv_vcpu *v, hv_time t, bool on);

/* In [from, to) the vCPU waited although a pCPU that it may use was idle. */
void observe_idle_runnable(struct observe *o, const struct hv_vcpu *v, hv_time from, hv_time to);

/* ------------------------------------------------------------------ window, laws, watchdog */

/*
 * The measured window starts at t (end of warm-up): all times, counters and histograms start from
 * zero; states stay. A delay that began before t counts whole when it ends.
 */
void observe_mark(struct observe *o, hv_time t);

struct observe_violation {
	char text[200]; /* names the first broken law, the vCPU or pCPU and the two figures */
};
/* All laws hold at t? Later breaks do not hide the first one. */
bool observe_check(struct observe *o, hv_time t, struct observe_violation *out);

struct observe_stall {
	uint32_t vcpu;	       /* number of the record, 0 = nobody has waited */
	hv_time since, lasted; /* begin and length of its longest wait */
};
/*
 * Longest time in which a vCPU was ready (queue, core scheduling or migration; not cap) without
 * running, in the window, waits still open at t included. True if it is longer than limit. Looks at
 * every vCPU: call it now and then (every 100 ms of simulated time, and at the end).
 */
bool observe_stalled(const struct observe *o, hv_time t, hv_time limit, struct observe_stall *out);

/* ------------------------------------------------------------------ results */

/* Counts of the window, of one vCPU or of the sum over several. */
struct observe_counts {
	uint64_t dispatches; /* times it began to run */
	uint64_t wakes, blocks, yields;
	uint64_t preempted; /* running -> runnable */
	uint64_t migrations[OBSERVE_NR_DISTANCES];
};

struct observe_vcpu {
	/* who */
	int domain; /* id */
	uint32_t id;
	uint32_t group;	    /* index of the domain's results, observe_domain() */
	hv_time born, gone; /* gone < 0: alive; born = start of the window at the earliest */
	/* results, closed up to the last observe_mark/check/close */
	int64_t ns[OBSERVE_NR_TIMES];
	struct observe_counts counts;
	int64_t max_wake;	 /* longest wake-to-run delay */
	int64_t max_ready;	 /* longest time ready without running (cap not counted)... */
	hv_time max_ready_since; /* ...and when it began */
	int64_t max_wait;	 /* longest time from wanting to run until running, cap included */
	int64_t idle_runnable;	 /* waited while a pCPU that it may use was idle */

	/* the ledger's own state */
	const struct hv_vcpu *engine; /* NULL when gone */
	enum hv_runstate_kind runstate;
	enum observe_time waiting; /* category when not running */
	bool paused, parked, migrating, core_wait;
	uint32_t last_pcpu;		    /* where it last began to run, HV_NO_PCPU = never */
	hv_time since;			    /* entry into the present category */
	hv_time settled;		    /* running time is reported up to here */
	hv_time stopped;		    /* end of the last stretch of running */
	int64_t ran;			    /* running time of the window by the runstates */
	int64_t engine_ran, engine_blocked; /* the engine's own totals at the start of the window */
	hv_time wake_at;		    /* wake not yet answered by running, or -1 */
	hv_time wait_since;		    /* start of the present wait, or -1 */
	hv_time ready_since;		    /* the same, begun anew when a cap wait ends; or -1 */
	int64_t ready_ns;		    /* ready time of the present wait, closed part */
};

struct observe_pcpu {
	int64_t ns[OBSERVE_NR_MODES];
	uint64_t switches;	  /* passes that changed the unit */
	uint64_t passes;	  /* all schedule passes (of the resource, at its master) */
	uint64_t tickles, wasted; /* wasted: the pass after it went on with the same unit */
	int64_t shared; /* ns in which this core ran two domains, kept at its lowest pCPU */

	enum observe_mode mode;
	int domain;
	hv_time since;
	uint32_t tickles_open;
	uint32_t core_first;  /* lowest pCPU of its core */
	uint32_t sibling;     /* next pCPU of its core, cyclic */
	hv_time shared_since; /* kept at core_first; -1 = not now */
};

struct observe_domain {
	int id;
	char *name;
	uint32_t nr_vcpus;	/* ever created */
	struct histogram wake;	/* from the wake to the runstate running */
	struct histogram ready; /* ready time of each wait that ended in running */
};

/* The longest delays of a vCPU so far; one that has not ended yet counts. */
struct observe_delays {
	int64_t wake, ready, wait;
};

/* Sum over the vCPUs of a domain (or of all). */
struct observe_sum {
	int64_t elapsed; /* sum of the vCPUs' lifetimes in the window = sum of ns[] */
	int64_t ns[OBSERVE_NR_TIMES];
	struct observe_counts counts;
	int64_t max_wake, max_ready, max_wait, idle_runnable;
};

/* The whole machine. */
struct observe_totals {
	hv_time start, end; /* the window so far */
	struct observe_sum vcpus;
	int64_t pcpu_ns[OBSERVE_NR_MODES];
	uint64_t switches, passes, tickles, wasted;
	uint64_t resets;  /* credit2 credit resets */
	uint64_t missed;  /* arinc653: windows that went by without a pass */
	uint64_t rqmoves; /* moves between runqueues */
	int64_t shared;	  /* isolation: ns of core time in which two domains shared the core */
	uint64_t records; /* trace records seen in the window */
};

/* vCPUs are numbered 1..nr, pCPUs 0..nr-1, domains 0..nr-1 in order of appearance. Pointers are
 * valid until the next record. */
uint32_t observe_nr_vcpus(const struct observe *o);
uint32_t observe_nr_domains(const struct observe *o);
const struct observe_vcpu *observe_vcpu(const struct observe *o, uint32_t number);
const struct observe_pcpu *observe_pcpu_result(const struct observe *o, unsigned pcpu);
const struct observe_domain *observe_domain(const struct observe *o, uint32_t index);
/* NULL when no vCPU and no name of this domain was ever heard of. */
const struct observe_domain *observe_domain_find(const struct observe *o, int id);
struct observe_delays observe_delays(const struct observe *o, const struct observe_vcpu *v);
void observe_domain_sum(const struct observe *o, const struct observe_domain *d,
			struct observe_sum *out);
void observe_totals(const struct observe *o, struct observe_totals *out);
/* CPU time; ready time (= steal, = runnable: queue + core scheduling + migration). */
int64_t observe_cpu_time(const int64_t ns[OBSERVE_NR_TIMES]);
int64_t observe_ready_time(const int64_t ns[OBSERVE_NR_TIMES]);

#endif
