/* SPDX-License-Identifier: MIT */
/*
 * hvsched: vCPU scheduling for virtualization hosts.
 *
 * This is the whole public interface of libhvsched; it includes hvsched_mask.h and, at its end,
 * hvsched_policy.h. Part 1 is for the host (a hypervisor, a VMM, a simulator) that drives the
 * engine; part 2 is for the author of a policy.
 *
 * The library is freestanding C11: it has no globals, does no I/O, never blocks and never calls
 * libc beyond memcpy/memset (compilers may put in memmove and memcmp). Everything hangs off one
 * instance, struct hv_sys; a process may have many. One thread at a time calls into an instance: a
 * host of several threads holds a lock of its own around each call. All times are signed 64-bit
 * nanoseconds. Errors are negative errno values (HV_E*).
 *
 * Ownership: what hv_*_create() returns belongs to the instance until the matching
 * hv_*_destroy(). Pointers passed as arguments are only read during the call unless said otherwise.
 *
 * Vocabulary (Xen's): a *vCPU* belongs to a *domain*; a *unit* is what a policy schedules, g
 * consecutive vCPUs of a domain; a *resource* is what a unit runs on, g pCPUs, named by its lowest
 * pCPU, the *master*; a *cpupool* is a set of resources with one *policy instance*.
 * With granularity "cpu" (g = 1) a unit is a vCPU and a resource is a pCPU.
 */
#ifndef HVSCHED_H
#define HVSCHED_H

#include <hvsched_mask.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ------------------------------------------------------------------ numbers and names */

/* Largest number of vCPUs of one domain. */
#define HV_MAX_VCPUS 8192

/* Error numbers: the Linux/Xen values, spelled here because errno.h is not freestanding. */
enum {
	HV_EPERM = 1,
	HV_ENOENT = 2,
	HV_ESRCH = 3,
	HV_EAGAIN = 11,
	HV_ENOMEM = 12,
	HV_EBUSY = 16,
	HV_EEXIST = 17,
	HV_ENODEV = 19,
	HV_EINVAL = 22,
	HV_ENOSPC = 28,
	HV_EOVERFLOW = 75,
	HV_EOPNOTSUPP = 95,
	HV_EADDRINUSE = 98,
	HV_EADDRNOTAVAIL = 99,
};

typedef int64_t hv_time; /* ns */

struct hv_sys;
struct hv_sched;
struct hv_pool;
struct hv_domain;
struct hv_vcpu;
struct hv_unit;
struct hv_resource;
struct hv_policy;
struct hv_timer;

/* ================================================================== part 1: the host */

/* Events of a pCPU; the host keeps one pending bit per event and pCPU (core-scheduling 2.1). */
enum {
	HV_EVENT_SLAVE = 1u << 0,    /* join a decision under way; handled before SCHEDULE */
	HV_EVENT_SCHEDULE = 1u << 1, /* a decision is wanted */
};

/*
 * A timer of the engine or of a policy. The engine fills all but the host fields and sets expiry
 * before it calls host->timer_arm(). Timers that are due together fire in the order
 * (expiry, cls, number).
 */
enum hv_timer_class {
	HV_TIMER_REPLENISH = 0,	 /* number: domain id (credit2), pool id (rtds) */
	HV_TIMER_ACCOUNTING = 1, /* credit */
	HV_TIMER_TICK = 2,	 /* credit; number: pCPU */
	HV_TIMER_SCHEDULE = 3,	 /* end of a slice; number: master pCPU */
};

struct hv_timer {
	hv_time expiry;
	uint8_t cls;
	bool armed;
	uint32_t number;
	uint32_t pcpu; /* its home: where a hypervisor would let it fire */
	struct hv_sys *sys;
	void (*fn)(struct hv_timer *t); /* called through hv_timer_fire() */
	void *data;
	uint64_t host[2]; /* for the host, e.g. its place in a heap; zero at first */
};

/* What happened; see enum hv_trace_kind for which fields are valid. */
enum hv_trace_kind {
	HV_TRACE_INSERT, /* unit now managed by a policy; pcpu: where it was placed */
	HV_TRACE_REMOVE, /* unit no longer managed */
	HV_TRACE_WAKE,	 /* vcpu: became unblocked or came up; before the policy hears of it */
	HV_TRACE_BLOCK,	 /* vcpu: its guest blocked */
	HV_TRACE_YIELD,	 /* vcpu */
	HV_TRACE_TICKLE, /* pcpu: a policy asks that pCPU to reschedule */
	HV_TRACE_RESET,	 /* pcpu: credit2 reset the credits of its runqueue (a: runqueue id) */
	HV_TRACE_RQMOVE, /* unit: moved, or asked to move, from runqueue a to runqueue b */
	/* pcpu (master): unit replaces prev; a: slice in ns or -1; b: 1 = idle due to work */
	HV_TRACE_SWITCH,
	HV_TRACE_CONT,	   /* pcpu (master): unit goes on; a, b: the same */
	HV_TRACE_SAVED,	   /* pcpu: unit is off, its context saved */
	HV_TRACE_ASSIGN,   /* unit: assigned resource changed from pCPU a to pCPU b */
	HV_TRACE_RUNSTATE, /* vcpu: runstate changed from a to b (enum hv_runstate_kind) */
	HV_TRACE_PAUSE,	   /* vcpu: pause flags (a) or total pause count (b) changed */
	HV_TRACE_ENTER,	   /* pcpu: begins to wait for its siblings before a decision */
	HV_TRACE_FORCE,	   /* vcpu: is to be switched alone, in or out of its running unit */
	HV_TRACE_MISSED,   /* pcpu: a windows went by before its pass (arinc653) */
};

struct hv_trace {
	enum hv_trace_kind kind;
	hv_time time;
	uint32_t pcpu;
	struct hv_unit *unit;
	struct hv_unit *prev;
	struct hv_vcpu *vcpu;
	int64_t a, b;
};

/*
 * What the engine needs of its host. ctx is passed back unchanged. Every function must be set
 * unless it says "may be NULL". None may call back into the engine.
 */
struct hv_host {
	hv_time (*now)(void *ctx);
	/* pCPU that executes the present call; used for request latency and by policies that
	 * remember what the executing pCPU did last. */
	unsigned (*this_pcpu)(void *ctx);
	/* Raise events (HV_EVENT_*) on a pCPU; raising what is pending already has no effect. */
	void (*poke)(void *ctx, unsigned pcpu, unsigned events);
	void (*timer_arm)(void *ctx, struct hv_timer *t);    /* (re)arm at t->expiry */
	void (*timer_disarm)(void *ctx, struct hv_timer *t); /* only called when armed */
	void *(*alloc)(void *ctx, size_t size);		     /* aligned for any type; NULL = none */
	void (*free)(void *ctx, void *p, size_t size);
	void (*trace)(void *ctx, const struct hv_trace *ev); /* may be NULL */
	/* Law broken: a bug in the engine or a policy. Must not return. */
	void (*assert_failed)(void *ctx, const char *expr, const char *file, int line);
};

/*
 * Shape of the machine. Arrays have nr_pcpus entries; core, socket and node numbers are unique in
 * the whole machine (two pCPUs are siblings exactly if they have the same core number).
 */
struct hv_topology {
	unsigned nr_pcpus; /* 1..HV_MAX_PCPUS; pCPUs are numbered 0..nr_pcpus-1 */
	const uint32_t *core, *socket, *node;
};

enum hv_gran { HV_GRAN_CPU, HV_GRAN_CORE, HV_GRAN_SOCKET };

/* Runstates, guest-visible numbering (core-scheduling 1.4). */
enum hv_runstate_kind { HV_RUNNING, HV_RUNNABLE, HV_BLOCKED, HV_OFFLINE, HV_NR_RUNSTATES };

struct hv_runstate {
	enum hv_runstate_kind state;
	hv_time since;		       /* entry time of state */
	int64_t time[HV_NR_RUNSTATES]; /* ns in each state up to since */
};

/* ---- instance */

/*
 * policies: NULL-terminated table, normally hv_policies. topo is copied.
 * All pCPUs are off line at first. Errors: -HV_EINVAL (bad topology, a policy that lacks a
 * mandatory operation), -HV_ENOMEM.
 */
int hv_sys_create(const struct hv_host *host, void *ctx, const struct hv_topology *topo,
		  const struct hv_policy *const *policies, struct hv_sys **out);
/* Frees everything that is left, domains and pools included. */
void hv_sys_destroy(struct hv_sys *sys);

/* All policies of libhvsched, NULL-terminated (src/policy/policies.c). */
extern const struct hv_policy *const hv_policies[];

/*
 * Set a boot parameter by its Xen command-line name before pools are created; it holds for every
 * policy that has a parameter of that name. Returns 0, 1 when the value was out of range and has
 * been corrected as Xen does, -HV_ENOENT unknown name, -HV_EINVAL not a value of this kind (the
 * old value stays), -HV_EBUSY once a pool exists.
 */
int hv_param_set(struct hv_sys *sys, const char *name, const char *value);
/* Value in force (for HV_PARAM_CHOICE the index of the choice). -HV_ENOENT. */
int hv_param_get(const struct hv_sys *sys, const char *name, int64_t *value);

static inline unsigned hv_topology_words(unsigned nr_pcpus)
{
	return (nr_pcpus + 63) / 64;
}
unsigned hv_mask_words(const struct hv_sys *sys);

/*
 * Walk the whole state. 0, or -HV_EINVAL with a description of the first broken law in out.
 * core-scheduling 2.9 (I1..I9) and every policy's own laws.
 */
struct hv_violation {
	const char *law;      /* static text */
	uint32_t pcpu;	      /* HV_NO_PCPU if none */
	int32_t domain, unit; /* -1 if none */
};
int hv_check(struct hv_sys *sys, struct hv_violation *out);

/* ---- pCPUs and pools */

/*
 * What takes pCPUs from where guests run never waits: it checks everything, stops new placement
 * there, and answers -HV_EAGAIN while a guest still runs. Let pCPUs handle their events and call
 * again; nothing needs memory any more. Until then the removal, off-lining or move is
 * *unfinished*, and can be called off: by hv_pool_add_pcpu(), hv_pcpu_up(), hv_domain_move() to
 * the pool where the domain is. One resource at a time can be leaving its pool (-HV_EADDRNOTAVAIL
 * for others). While the instance is suspended all these are refused with -HV_EBUSY.
 */

/*
 * Bring a pCPU up: it is then free, under the idle policy; if that completes a resource of free
 * pCPUs as pool 0 wants them, they join pool 0. Or call off its off-lining. -HV_EEXIST,
 * -HV_EINVAL, -HV_ENOMEM (it stays down).
 */
int hv_pcpu_up(struct hv_sys *sys, unsigned pcpu);
/*
 * Take a pCPU off line. Its whole resource leaves pool 0; what else belongs to that is free until
 * it is complete again. -HV_EINVAL (pCPU 0, what shares its resource, no such pCPU), -HV_EEXIST
 * (down already), -HV_ENODEV (in another pool), -HV_EBUSY (last of pool 0, which has domains),
 * -HV_EADDRNOTAVAIL, -HV_EADDRINUSE (a vCPU is pinned there for a while), -HV_EAGAIN: the resource
 * has been asked to go idle; after its next decision a call completes. The host forgets the
 * pending events of a pCPU that is down. Work for its idle context (hv_work()) that is not done is
 * not wanted there any more: the host, which has it, announces it for another pCPU.
 */
int hv_pcpu_down(struct hv_sys *sys, unsigned pcpu);
/* Only the first half: all checks, and no new placement. The same answers but -HV_EAGAIN. */
int hv_pcpu_down_begin(struct hv_sys *sys, unsigned pcpu);

/*
 * Take all second and further threads of cores off line, or bring them up. -HV_EOPNOTSUPP (there
 * are none), -HV_EBUSY (a pool has granularity core or socket, or would lose its last pCPU),
 * -HV_ENODEV (one is in a pool other than 0), -HV_EADDRNOTAVAIL, -HV_EADDRINUSE (a vCPU is pinned
 * to one for a while), -HV_ENOMEM: all as before.
 * -HV_EAGAIN: call again.
 */
int hv_smt_set(struct hv_sys *sys, bool on);

/*
 * Pause all domains, then stop scheduling: pCPUs may lose their power. -HV_EAGAIN while a guest
 * runs, -HV_EEXIST (suspended already), -HV_EBUSY (a removal is unfinished).
 */
int hv_suspend(struct hv_sys *sys);
/*
 * Go on, or call off an unfinished suspend. back: pCPUs that returned, NULL = all. The others are
 * down now and their resources have left their pools; domains of a pool that has lost all are in
 * pool 0, and temporary pins to what is lost are over. Nothing else is placed anew. -HV_EINVAL
 * (not suspended; pCPU 0 is not in back; pool 0 would have lost all, but has domains or is to take
 * some in), -HV_ENOMEM: still suspended.
 */
int hv_resume(struct hv_sys *sys, const struct hv_mask *back);

/* pCPUs of a resource of this granularity: the same for every pCPU that is up, else 0 (none). */
unsigned hv_gran_size(const struct hv_sys *sys, enum hv_gran gran);
/*
 * Create an empty pool. id >= 0, or -1 for the next free one. -HV_EEXIST, -HV_ENOENT (no such
 * policy), -HV_ENOSPC (2 x pCPUs pools), -HV_ENOMEM, -HV_EINVAL (no granularity, or one, other than
 * that of pool 0, for which the pCPUs that are up do not form resources of equal size).
 */
int hv_pool_create(struct hv_sys *sys, int id, const char *policy, enum hv_gran gran,
		   struct hv_pool **out);
/* -HV_EBUSY while it has pCPUs or domains, or one that is leaving or coming. */
int hv_pool_destroy(struct hv_pool *pool);
/* Change the granularity of an empty pool. -HV_EBUSY (it has pCPUs, or one that is leaving, or a
 * domain that is coming), -HV_EINVAL (none, or the pCPUs that are up do not form resources of equal
 * size, be it the granularity of pool 0). */
int hv_pool_set_gran(struct hv_pool *pool, enum hv_gran gran);
/*
 * Add the whole resource that holds this pCPU; all its pCPUs must be up and free (-HV_ENODEV). 0
 * when it is there already. -HV_EADDRNOTAVAIL (leaving another pool), -HV_ENOMEM. Raises SCHEDULE
 * on the resource's master.
 */
int hv_pool_add_pcpu(struct hv_pool *pool, unsigned pcpu);
/*
 * Remove the whole resource that holds this pCPU; its pCPUs are free then. A unit that may run
 * nowhere else in the pool may run everywhere from now on. -HV_EINVAL (down, or pCPU 0's resource
 * and pool 0), -HV_EADDRNOTAVAIL (not in this pool, or another removal is unfinished), -HV_EBUSY
 * (last of a pool that has domains), -HV_EADDRINUSE (a vCPU is pinned there for a while: try again
 * in a moment), -HV_EAGAIN: units were sent away, but one still runs there.
 * A policy may put another one in its place: what runs (hv_pcpu_loaded()) must be paused or
 * pinned elsewhere then.
 */
int hv_pool_remove_pcpu(struct hv_pool *pool, unsigned pcpu);
/* Only the first half: all checks, and no new placement. The same answers but -HV_EAGAIN. */
int hv_pool_remove_begin(struct hv_pool *pool, unsigned pcpu);
/* pCPUs in no pool; those of an unfinished removal, too. */
void hv_free_pcpus(const struct hv_sys *sys, struct hv_mask *out);
/* Pool with the lowest id that is at least `from`; NULL at the end. */
struct hv_pool *hv_pool_next(struct hv_sys *sys, int from);
/*
 * Move a domain: units are rebuilt for the pool's granularity, with its policy's default
 * parameters and no affinity. 0 when it is there already. -HV_ENOENT (no pCPU there), -HV_EBUSY
 * (on its way to another pool, or a vCPU is pinned for a while), -HV_ENOMEM, -HV_EAGAIN: it is
 * paused, but a vCPU still runs.
 */
int hv_domain_move(struct hv_domain *d, struct hv_pool *to);
struct hv_pool *hv_pool_find(struct hv_sys *sys, int id);
struct hv_sched *hv_pool_sched(struct hv_pool *pool);

/* ---- domains and vCPUs */

/* max_vcpus 1..HV_MAX_VCPUS. The domain has no vCPU yet. -HV_EEXIST, -HV_ENODEV (pool is empty),
 * -HV_EINVAL, -HV_ENOMEM. */
int hv_domain_create(struct hv_pool *pool, int id, unsigned max_vcpus, struct hv_domain **out);
/* All vCPUs must be off their pCPUs (else -HV_EBUSY; hv_domain_pause() first and let the pCPUs
 * handle their events). Destroys vCPUs in descending order, then the domain. */
int hv_domain_destroy(struct hv_domain *d);
struct hv_domain *hv_domain_find(struct hv_sys *sys, int id);
/*
 * Give the domain the handle by which time tables name it (by default twelve zero bytes and its id,
 * most significant byte first) and say whether it is a control domain (default: no). Before its
 * first vCPU is created, else -HV_EBUSY.
 */
int hv_domain_identify(struct hv_domain *d, const uint8_t handle[16], bool control);
/*
 * Create the next vCPU (ids ascend), down at first. hard and soft may be NULL (all): affinity is
 * final before the policy places the unit (core-scheduling 3.1). host is the host's own pointer.
 * -HV_ENOSPC (max_vcpus reached), -HV_EINVAL (hard affinity misses the pool), -HV_EBUSY (on its
 * way to another pool, or masks for a unit that is pinned for a while), -HV_ENOMEM.
 */
int hv_vcpu_create(struct hv_domain *d, void *host, const struct hv_mask *hard,
		   const struct hv_mask *soft, struct hv_vcpu **out);

/* Bring on line or take off line ("down" flag). Idempotent. */
void hv_vcpu_up(struct hv_vcpu *v);
void hv_vcpu_down(struct hv_vcpu *v);
/* Its guest starts it anew one day: it is down, not blocked, and has no temporary pin. */
void hv_vcpu_reset(struct hv_vcpu *v);
/* Clear "blocked" and wake. No effect on a vCPU that is not blocked (returns false). */
bool hv_wake(struct hv_vcpu *v);
/* The running vCPU blocks. If pending(arg) says an event is deliverable, nothing happens and the
 * result is false. pending may be NULL. */
bool hv_block(struct hv_vcpu *v, bool (*pending)(void *arg), void *arg);
/* The running vCPU yields. */
void hv_yield(struct hv_vcpu *v);
/* Counted. -HV_EOVERFLOW beyond 255 / -HV_EINVAL below 0. */
int hv_pause(struct hv_vcpu *v);
int hv_unpause(struct hv_vcpu *v);
int hv_domain_pause(struct hv_domain *d);
int hv_domain_unpause(struct hv_domain *d);

/*
 * Set hard and/or soft affinity (NULL = leave) of the vCPU's whole unit. The unit is asked to pick
 * a resource anew even when nothing changed. Refused without effect: -HV_EINVAL (no mask, or the
 * hard mask misses the pool, of which only masters count), -HV_EBUSY (a member is pinned for a
 * while, see below).
 */
int hv_affinity_set(struct hv_vcpu *v, const struct hv_mask *hard, const struct hv_mask *soft);
/* The same, but overrides of the unit's members end first. -HV_EBUSY: a member waits. */
int hv_affinity_force(struct hv_vcpu *v, const struct hv_mask *hard, const struct hv_mask *soft);
/*
 * What is in force: the masters of the pool that the hard mask allows, and those of them that the
 * soft mask prefers (none: it is without effect). The masks as they were set are in v->unit.
 */
void hv_affinity_effective(const struct hv_vcpu *v, struct hv_mask *hard, struct hv_mask *soft);

/* ---- temporary pins (core-scheduling 3.6) */

enum hv_pin_reason {
	HV_PIN_OVERRIDE = 1u << 0, /* the guest of a privileged domain wants to be there */
	HV_PIN_WAIT = 1u << 1,	   /* the hypervisor's half-done work for it lies there */
};
/*
 * Pin a vCPU, and with it its unit, to one resource for a while; pcpu HV_NO_PCPU ends that. Pins
 * nest: one of each reason per vCPU. The first one of a unit puts its hard mask by, and with the
 * last one, of whichever member, it is back. Meanwhile affinities cannot be set, the domain cannot
 * be moved, and the resource can neither leave its pool nor go off line.
 *
 * HV_PIN_OVERRIDE: pcpu is the master of a resource of the pool; the unit goes there. -HV_EINVAL
 * (no such), -HV_EBUSY (the unit is pinned elsewhere, or on its way to another pool).
 * HV_PIN_WAIT: pcpu is where the vCPU is (v->pcpu), master or not, else -HV_EINVAL. That never
 * fails: an unfinished removal, off-lining or move that is in its way is called off, and an
 * override to a place where the unit has not got yet holds when the last wait is over.
 * Both: -HV_EBUSY when the vCPU has that pin already, -HV_EINVAL when one that it has not is to
 * end, or the reason is none.
 *
 * Pins end with the vCPU, with hv_vcpu_reset(), and when the pCPU does not return from a suspend.
 */
int hv_vcpu_pin(struct hv_vcpu *v, unsigned pcpu, enum hv_pin_reason reason);

/* Snapshot; the open interval up to now is added to the current state. */
void hv_runstate_get(const struct hv_vcpu *v, struct hv_runstate *out);
/* ns for which the pCPU's idle vCPU has run; that of a pCPU that went off line runs on. */
int64_t hv_pcpu_idle_time(struct hv_sys *sys, unsigned pcpu);

/* ---- parameters of domains, units and instances, changed at run time */

struct hv_domain_params {
	uint32_t weight; /* 1..65535; 0 on set = leave */
	uint32_t cap;	 /* percent of one pCPU (per unit member), 0 = none */
	/* rtds, of all units of the domain; 0 on set = leave. Get answers the policy's defaults. */
	uint32_t period_us, budget_us;
};

/* rtds: what one unit may use. */
struct hv_unit_params {
	uint32_t period_us, budget_us; /* >= 10 us each, budget <= period */
	bool extratime;		       /* runs on at a lower priority when the budget is used up */
};

struct hv_sched_params {
	uint32_t ratelimit_us;	     /* 0, or 100..500000 */
	uint32_t tslice_ms;	     /* credit */
	uint32_t migration_delay_us; /* credit */
};

/* -HV_EOPNOTSUPP when the policy has none; -HV_EINVAL out of range. */
int hv_domain_params_get(struct hv_domain *d, struct hv_domain_params *p);
int hv_domain_params_set(struct hv_domain *d, const struct hv_domain_params *p);
int hv_sched_params_get(struct hv_pool *pool, struct hv_sched_params *p);
int hv_sched_params_set(struct hv_pool *pool, const struct hv_sched_params *p);
/* Of the vCPU's whole unit. */
int hv_unit_params_get(struct hv_vcpu *v, struct hv_unit_params *p);
int hv_unit_params_set(struct hv_vcpu *v, const struct hv_unit_params *p);

/*
 * The time table of a pool (arinc653 sections 2, 4): windows follow each other from the start of
 * each major frame; what is left of the frame is idle. A window names its vCPU by the domain's
 * handle, so the domain need not exist yet.
 */
#define HV_HANDLE_BYTES 16
#define HV_MAX_WINDOWS	64
struct hv_window {
	uint8_t handle[HV_HANDLE_BYTES];
	uint32_t vcpu;
	uint64_t runtime; /* ns, > 0 */
};
/*
 * major: length of the frame in ns, up to 2^62. -HV_EINVAL, and the old table stays, when there is
 * no window or more than HV_MAX_WINDOWS, a length of zero, or more in the windows than in the
 * frame.
 * -HV_EOPNOTSUPP: the policy has no time table.
 */
int hv_frame_set(struct hv_pool *pool, uint64_t major, unsigned nr, const struct hv_window *window);
/* window: room for HV_MAX_WINDOWS; *nr of them are filled. */
int hv_frame_get(struct hv_pool *pool, uint64_t *major, unsigned *nr, struct hv_window *window);

/* ---- the schedule path (core-scheduling 2) */

enum hv_next_kind {
	HV_KEEP,   /* go on with what is loaded */
	HV_SWITCH, /* save `from`, load `to`, then call hv_saved() */
	HV_AGAIN,  /* waits for siblings: call the same function again, hv_event() with no event */
};

struct hv_next {
	enum hv_next_kind kind;
	bool forced;		   /* HV_SWITCH of this pCPU alone, without a decision */
	struct hv_vcpu *from, *to; /* idle vCPUs included; equal when kind != HV_SWITCH */
};

/*
 * Handle pending events of a pCPU; the host has cleared its pending bits.
 *
 * What the host owes, or pCPUs of one resource may wait for each other for ever (tests/model):
 *  - it handles what is pending on a pCPU before it enters a guest there or sleeps, and what is
 *    raised later interrupts the guest or the sleep;
 *  - where hv_work_ready() holds it does that work and calls hv_work(false) before it handles the
 *    pCPU's next event: somebody who cannot arrive may be waiting for the work;
 *  - it forgets what is pending on a pCPU that went down.
 *
 * A resource of several pCPUs decides in a rendezvous: every pCPU arrives with its next event
 * (the first one raises SLAVE on the others), the one that arrives last decides for all, and no
 * pCPU enters a guest before all have saved what they had. Where a hypervisor would spin until
 * the siblings get there, the answer is HV_AGAIN: nothing of a guest may run on this pCPU, and
 * its host calls again, at once or after a sibling's next hv_event() or hv_saved() (only these, a
 * wake or sleep of a member, work, and the resource's leaving its pool change the answer).
 * Meanwhile it keeps what is raised; events that it passes all the same are raised anew. While it
 * waits the pCPU may be sent on an errand: HV_SWITCH with `forced`, after which it comes back by
 * the SLAVE that was raised on it. With resources of one pCPU there is no HV_AGAIN.
 */
struct hv_next hv_event(struct hv_sys *sys, unsigned pcpu, unsigned events);
/* The context of `from` of the last HV_SWITCH on this pCPU is saved. HV_KEEP: enter `to` now, or
 * handle what has become pending; HV_AGAIN: siblings have not saved yet, call again. */
enum hv_next_kind hv_saved(struct hv_sys *sys, unsigned pcpu);
/* What a pCPU waits for whose last answer was HV_AGAIN. */
enum hv_wait {
	HV_WAIT_NONE,
	HV_WAIT_ENTER, /* siblings have not arrived yet */
	HV_WAIT_LOAD,  /* the last one has decided: the next call loads what it chose */
	HV_WAIT_LEAVE, /* siblings have not saved yet */
};
enum hv_wait hv_pcpu_wait(const struct hv_sys *sys, unsigned pcpu);
/*
 * Reasons why a sleep of this pCPU must be a light one: 1 while its idle vCPU stands in for a
 * vCPU of the guest unit that runs on its siblings, so that it can join a rendezvous quickly;
 * else 0.
 */
unsigned hv_pcpu_urgent(const struct hv_sys *sys, unsigned pcpu);
/* The timer fires (t->armed is cleared). */
void hv_timer_fire(struct hv_timer *t);
/* Work for the idle context of this pCPU is wanted (tasklet), or is done. While it is wanted the
 * whole resource runs its idle unit, and once it does this pCPU waits in no gathering. */
void hv_work(struct hv_sys *sys, unsigned pcpu, bool pending);
/* The pCPU was sent idle for the work, which is to be done now: before the next hv_event() here. */
bool hv_work_ready(const struct hv_sys *sys, unsigned pcpu);

/* ---- observation */

struct hv_vcpu *hv_pcpu_loaded(struct hv_sys *sys, unsigned pcpu);

/* Named state values of a unit as its policy sees them (credit, load, budget, ...). */
#define HV_MAX_STATE 8
struct hv_state {
	unsigned nr;
	struct {
		const char *name; /* static text */
		int64_t value;
	} v[HV_MAX_STATE];
};
void hv_unit_state(const struct hv_unit *u, struct hv_state *out);

/* The index-th runqueue of a pool's policy in list order; -HV_ENOENT past the end or none. */
struct hv_runqueue_info {
	int id;
	struct hv_mask pcpus;
	unsigned nr_queued, nr_load;
	int64_t load, balance_load; /* fixed point, 2^load_shift = one busy unit */
	unsigned load_shift;
	uint32_t max_weight;
};
int hv_runqueue_info(struct hv_pool *pool, unsigned index, struct hv_runqueue_info *out);

/* ================================================================== part 2: policies */

/*
 * Locks. A policy names the lock that guards a resource (switch_sched). In a single-threaded host a
 * lock is an ownership record; access to guarded state asserts that it is held
 * (core-scheduling 5).
 */
struct hv_lock {
	uint32_t holder; /* executing pCPU + 1, 0 = free */
	uint32_t rank;	 /* order of creation; two schedule locks are taken in ascending rank */
};
void hv_lock_init(struct hv_sys *sys, struct hv_lock *l);
void hv_lock_acquire(struct hv_sys *sys, struct hv_lock *l);
bool hv_lock_try(struct hv_sys *sys, struct hv_lock *l);
void hv_lock_release(struct hv_sys *sys, struct hv_lock *l);
static inline bool hv_lock_held(const struct hv_lock *l)
{
	return l->holder != 0;
}
/* The executing pCPU holds it. */
bool hv_lock_mine(const struct hv_sys *sys, const struct hv_lock *l);
/*
 * Acquire the schedule lock in force, through the resource's lock pointer with re-check; returns
 * the lock object, which is what must be released even if the pointer changes meanwhile.
 */
struct hv_lock *hv_resource_lock(struct hv_resource *r);
struct hv_lock *hv_unit_lock(struct hv_unit *u);

/* Pause flags of a vCPU (core-scheduling 1.4). */
enum {
	HV_PF_BLOCKED = 1u << 0,
	HV_PF_DOWN = 1u << 1,
	HV_PF_MIGRATING = 1u << 2,
	HV_PF_PARKED = 1u << 3,
};

struct hv_vcpu {
	struct hv_domain *domain; /* NULL for idle vCPUs */
	struct hv_unit *unit;
	void *host;
	uint32_t id;
	uint32_t pcpu; /* assigned pCPU */
	uint32_t pause_flags;
	uint32_t pause_count;
	uint32_t observer; /* the host's number for it, e.g. of its statistics; 0 at first */
	bool idle;
	bool is_running;		 /* loaded, or chosen to be loaded, and not yet saved off */
	bool force_switch;		 /* to be switched alone, in or out of its running unit */
	bool state_lags;		 /* its flags changed, its runstate will follow */
	bool sleeps_late;		 /* paused while it alone ran of its unit; others come */
	uint8_t pins;			 /* HV_PIN_* that it holds */
	enum hv_runstate_kind new_state; /* chosen for the next switch */
	hv_time birth;			 /* sum of runstate.time[] == runstate.since - birth */
	struct hv_runstate runstate;
};

/*
 * What a policy schedules. Fields are the engine's; a policy reads them under the schedule lock,
 * and writes only priv's target, next/next_time of the outgoing unit and migrated of the chosen.
 */
struct hv_unit {
	struct hv_sys *sys;
	struct hv_domain *domain; /* NULL for idle units */
	struct hv_vcpu *vcpu;	  /* first member; member k is domain->vcpus[id + k] */
	struct hv_resource *res;  /* assigned resource, never NULL once created */
	struct hv_unit *link;	  /* next unit of the domain, ascending id */
	void *priv;		  /* policy data */
	uint32_t id;		  /* id of the first vCPU */
	uint32_t nr_vcpus;
	bool idle;
	bool is_running;       /* from switch-in until its context is saved */
	bool soft_counts;      /* hard is not a subset of soft, and soft meets hard */
	bool migrated;	       /* output of do_schedule: it last ran on another resource */
	bool pinned;	       /* some member holds a temporary pin */
	hv_time state_entry;   /* time of last switch in or out */
	struct hv_unit *next;  /* output of do_schedule, in the outgoing unit */
	hv_time next_time;     /* slice, < 0 = none */
	uint32_t enter, leave; /* rendezvous counters, g > 1 */
	uint32_t runstate_count[HV_NR_RUNSTATES];
	struct hv_mask hard, soft;
	/* While it is pinned: what hard will be again; master that an override names, or none. */
	struct hv_mask own_hard;
	uint32_t override_to;
};

struct hv_resource {
	struct hv_sys *sys;
	struct hv_sched *sched; /* policy instance; the idle policy's while free */
	struct hv_pool *pool;	/* NULL while free */
	struct hv_lock *lock;	/* lock in force */
	struct hv_lock own_lock;
	struct hv_unit *curr; /* current unit */
	struct hv_unit *prev; /* being switched away from, NULL = no switch in flight */
	struct hv_unit *idle;
	void *priv; /* policy data */
	uint32_t master, g;
	struct hv_mask pcpus;
	struct hv_timer timer; /* end of the slice */
};

struct hv_pool {
	struct hv_sys *sys;
	struct hv_sched *sched;
	struct hv_pool *link; /* next pool, ascending id */
	int id;
	enum hv_gran gran;
	uint32_t g;
	uint32_t nr_domains;
	uint32_t nr_coming;	  /* domains whose move to this pool is unfinished */
	struct hv_mask cpu_valid; /* all pCPUs of the pool */
	struct hv_mask res_valid; /* masters only; what a policy looks at */
};

/* One policy's state for one pool. */
struct hv_sched {
	const struct hv_policy *policy;
	struct hv_sys *sys;
	struct hv_pool *pool; /* NULL for the idle policy's instance */
	void *priv;
	const int64_t *params; /* boot parameters, indexed as in policy->params */
	unsigned nw;	       /* mask words in use */
};

struct hv_domain {
	struct hv_sys *sys;
	struct hv_pool *pool;
	struct hv_domain *link; /* next domain of the instance, ascending id */
	struct hv_unit *units;	/* ascending unit id, through link */
	struct hv_vcpu **vcpus; /* max_vcpus entries, NULL beyond nr_vcpus */
	void *priv;		/* policy data, may be NULL */
	int id;
	uint32_t max_vcpus, nr_vcpus;
	uint32_t pause_count;
	bool suspended;			 /* one of pause_count is hv_suspend()'s */
	struct hv_move *move;		 /* unfinished, to another pool */
	bool control;			 /* privileged: arinc653 gives it windows by itself */
	uint8_t handle[HV_HANDLE_BYTES]; /* its name in time tables */
};

enum hv_param_kind {
	HV_PARAM_INT,	 /* decimal integer */
	HV_PARAM_BOOL,	 /* Xen's words: 1/0, yes/no, on/off, true/false, enable/disable */
	HV_PARAM_CHOICE, /* one of choices; anything else is an error and the old value stays */
};

/* A boot parameter, by its name on the Xen command line. */
struct hv_param_desc {
	const char *name, *unit, *help;
	enum hv_param_kind kind;
	int64_t def;
	int64_t min, max;	       /* range of the kind; outside: fix(value) */
	int64_t (*fix)(int64_t value); /* correction on set, NULL = store as is */
	const char *const *choices;    /* NULL-terminated */
};

/*
 * What a policy implements (core-scheduling 1.3). "Locked": the schedule lock of the unit's (or
 * the named) resource is held on entry. Operations marked * are mandatory. A policy sees masters
 * and units only; res_valid is the set of pCPUs it may use.
 */
struct hv_policy {
	const char *name;
	const struct hv_param_desc *params;
	unsigned nr_params;
	bool ignores_affinity; /* units stay where it puts them, whatever their masks (arinc653) */

	int (*init)(struct hv_sched *s);    /* * 0 or negative errno */
	void (*deinit)(struct hv_sched *s); /* * */

	/* *out may stay NULL ("need nothing"); free accepts NULL. */
	int (*alloc_domain)(struct hv_sched *s, struct hv_domain *d, void **out);
	void (*free_domain)(struct hv_sched *s, struct hv_domain *d, void *priv);
	/* Also for idle units (u->idle, domdata NULL). u->res is the provisional resource. */
	int (*alloc_unit)(struct hv_sched *s, struct hv_unit *u, void *domdata, void **out); /* * */
	void (*free_unit)(struct hv_sched *s, void *priv);				     /* * */
	int (*alloc_pcpu)(struct hv_sched *s, unsigned pcpu, void **out);
	void (*free_pcpu)(struct hv_sched *s, void *priv, unsigned pcpu);
	/* Attach a resource; old lock held. Install idle_priv as idle unit data, register the pCPU,
	 * return the lock that guards this resource from now on. */
	struct hv_lock *(*switch_sched)(struct hv_sched *s, struct hv_resource *r, void *pcpu_priv,
					void *idle_priv); /* * */
	/* Detach; the resource belongs to the idle policy already. */
	void (*deinit_pcpu)(struct hv_sched *s, void *priv, unsigned pcpu);
	/* A pCPU has gone down: timers whose home it was have another one now. */
	void (*move_timers)(struct hv_sched *s, unsigned from, unsigned to);

	/* Not locked. insert: choose a resource (set u->res through hv_unit_assign()), queue the
	 * unit if it is runnable and not running. */
	void (*insert_unit)(struct hv_sched *s, struct hv_unit *u);
	void (*remove_unit)(struct hv_sched *s, struct hv_unit *u);
	void (*sleep)(struct hv_sched *s, struct hv_unit *u); /* locked */
	void (*wake)(struct hv_sched *s, struct hv_unit *u);  /* locked; idempotent */
	void (*yield)(struct hv_sched *s, struct hv_unit *u); /* locked */
	/* Locked. prev is r->curr. Sets prev->next (never NULL), prev->next_time; assigns the
	 * chosen unit to r. tasklet: the idle unit must be chosen. */
	void (*do_schedule)(struct hv_sched *s, struct hv_resource *r, struct hv_unit *prev,
			    hv_time now, bool tasklet); /* * */
	/* Not locked; also for idle units. */
	void (*context_saved)(struct hv_sched *s, struct hv_unit *u);
	/* Locked. A resource whose master is in res_valid and in the unit's hard mask. */
	struct hv_resource *(*pick_resource)(struct hv_sched *s, struct hv_unit *u); /* * */
	/* Locks of both resources held. Absent = hv_unit_assign() only. */
	void (*migrate)(struct hv_sched *s, struct hv_unit *u, unsigned pcpu);
	/* Locked; before the masks change; either may be NULL. */
	void (*adjust_affinity)(struct hv_sched *s, struct hv_unit *u, const struct hv_mask *hard,
				const struct hv_mask *soft);
	/* Not locked. */
	int (*domain_params)(struct hv_sched *s, struct hv_domain *d, struct hv_domain_params *p,
			     bool set);
	int (*sched_params)(struct hv_sched *s, struct hv_sched_params *p, bool set);
	int (*unit_params)(struct hv_sched *s, struct hv_unit *u, struct hv_unit_params *p,
			   bool set);
	int (*frame_set)(struct hv_sched *s, uint64_t major, unsigned nr,
			 const struct hv_window *window);
	int (*frame_get)(const struct hv_sched *s, uint64_t *major, unsigned *nr,
			 struct hv_window *window);

	void (*unit_state)(const struct hv_sched *s, const struct hv_unit *u, struct hv_state *out);
	int (*runqueue_info)(const struct hv_sched *s, unsigned index,
			     struct hv_runqueue_info *out);
	/* The policy's laws; 0 or -HV_EINVAL. */
	int (*check)(const struct hv_sched *s, struct hv_violation *out);
};

#include <hvsched_policy.h>

#endif /* HVSCHED_H */
