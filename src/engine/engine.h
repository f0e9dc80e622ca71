/* SPDX-License-Identifier: MIT */
/*
 * The inside of the engine: one instance, and what its files share.
 *
 * Laws (hv_check() walks them):
 *  - a vCPU that is not loaded is runnable, blocked or offline exactly as its pause flags say;
 *  - the times in all runstates of a vCPU sum to the entry time of its state minus its birth;
 *  - guarded state (assignment, runstate, current unit) changes only under the schedule lock of
 *    the resource concerned; two schedule locks are taken in ascending rank;
 *  - with granularity cpu nothing here loops over pCPUs or domains on the wake or schedule path.
 *
 * Source: core-scheduling sections 1-5. A unit has up to g vCPUs and a resource has g pCPUs
 * everywhere; how the pCPUs of a resource with g > 1 meet to decide is rendezvous.c.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include <hvsched.h>
#include <string.h>

/* Most pauses that hosts may hold on one vCPU or domain (core-scheduling 3.2). */
#define HV_MAX_PAUSE 255

/* Work for the idle context of a pCPU (core-scheduling 2.8). */
enum {
	HV_WORK_ENQUEUED = 1u << 0,
	HV_WORK_SCHEDULED = 1u << 1, /* the idle unit has been asked for because of it */
	HV_WORK_LEAVING = 1u << 2,   /* the engine's own: its resource is to go off line */
};

struct hv_pcpu {
	struct hv_resource *res; /* NULL while off line */
	struct hv_vcpu *loaded;	 /* whose context is on the pCPU, or is being switched to */
	struct hv_vcpu *from;	 /* context being saved, NULL = no switch in flight */
	uint32_t rank;		 /* position among the pCPUs of the resource */
	uint16_t work;		 /* HV_WORK_* */
	uint8_t wait;		 /* enum hv_wait */
	uint8_t came_in;	 /* loads of a vCPU alone since the last gathering began */
	struct hv_vcpu *idle;	 /* this pCPU's idle vCPU; its unit pointer may name a guest unit */
	const struct hv_mask *core, *socket;
	struct hv_resource *own; /* its resource while free; sleeps while merged or off line */
};

struct hv_sys {
	/* Hot: touched by every operation. */
	struct hv_host host;
	void *ctx;
	struct hv_pcpu *pcpus; /* nr_pcpus entries */
	unsigned nr_pcpus, nw;
	bool tracing;
	bool closing;	    /* hv_sys_destroy() is at work: nothing is traced or checked */
	bool suspending;    /* domains are paused for hv_suspend() */
	bool suspended;	    /* nothing is scheduled */
	uint32_t lock_rank; /* rank of the next lock */

	struct hv_pool *pools;	   /* ascending id */
	struct hv_domain *domains; /* ascending id */
	struct hv_mask all;	   /* 0..nr_pcpus-1 */
	struct hv_mask online;
	struct hv_resource *leaving; /* removal or off-lining is unfinished; NULL = none */
	uint32_t leaving_pcpu;	     /* the pCPU that goes off line, HV_NO_PCPU = to be free */

	struct hv_sched idle_sched; /* drives free pCPUs, which share free_lock */
	struct hv_lock free_lock;

	const struct hv_policy *const *policies;
	unsigned nr_policies;
	int64_t **params; /* values in force, per policy; NULL entry = policy has none */

	struct hv_topology topo;
	/* Siblings as policies see them, by pCPU; a socket's are stored at its lowest member. */
	struct hv_mask *core_masks, *socket_masks;
};

extern const struct hv_policy hv_policy_idle;

/* ---- topology.c, params.c */
int hv_topology_init(struct hv_sys *sys, const struct hv_topology *topo);
void hv_topology_free(struct hv_sys *sys);
int hv_params_init(struct hv_sys *sys);
void hv_params_free(struct hv_sys *sys);
/* The pCPU is, or is no longer, a sibling of others. */
void hv_topology_join(struct hv_sys *sys, unsigned pcpu);
void hv_topology_leave(struct hv_sys *sys, unsigned pcpu);
/* Index of a policy in the instance's table, -1 = no such name. */
int hv_policy_index(const struct hv_sys *sys, const char *name);

/* ---- trace.c: one function per record, each called only when host->trace is set */
static inline bool hv_tracing(const struct hv_sys *sys)
{
	return __builtin_expect(sys->tracing, 0);
}
void hv_trace_unit(struct hv_sys *sys, enum hv_trace_kind kind, struct hv_unit *u, unsigned pcpu,
		   int64_t a, int64_t b);
void hv_trace_vcpu(struct hv_sys *sys, enum hv_trace_kind kind, struct hv_vcpu *v);
void hv_trace_runstate(struct hv_vcpu *v, enum hv_runstate_kind old);
void hv_trace_decision(struct hv_resource *r, struct hv_unit *prev, struct hv_unit *next,
		       hv_time now, bool work);

/* ---- lock.c */
void hv_lock_double(struct hv_sys *sys, struct hv_lock *a, struct hv_lock *b);
void hv_unlock_double(struct hv_sys *sys, struct hv_lock *a, struct hv_lock *b);

/* ---- small predicates */

static inline hv_time hv_clock(const struct hv_sys *sys)
{
	return sys->host.now(sys->ctx);
}

static inline bool hv_vcpu_runnable(const struct hv_vcpu *v)
{
	return !(v->pause_flags | v->pause_count | v->domain->pause_count);
}

/* What the flags of a vCPU say it is while it is not running (core-scheduling 1.4). */
static inline enum hv_runstate_kind hv_vcpu_rest_state(const struct hv_vcpu *v)
{
	if (hv_vcpu_runnable(v))
		return HV_RUNNABLE;
	return v->pause_flags & HV_PF_BLOCKED ? HV_BLOCKED : HV_OFFLINE;
}

/* Member k of a unit, NULL beyond the last one. */
static inline struct hv_vcpu *hv_unit_member(const struct hv_unit *u, unsigned k)
{
	if (k >= u->nr_vcpus)
		return NULL;
	return k == 0 ? u->vcpu : u->domain->vcpus[u->id + k];
}

/* k-th pCPU of a resource, HV_NO_PCPU beyond the last one. */
static inline unsigned hv_resource_pcpu(const struct hv_resource *r, unsigned k)
{
	unsigned c = r->master;

	while (k-- > 0 && c != HV_NO_PCPU)
		c = hv_mask_next(&r->pcpus, c + 1, HV_MASK_WORDS);
	return c;
}

/* ---- runstate.c */
void hv_runstate_init(struct hv_vcpu *v, enum hv_runstate_kind state, hv_time now);

/*
 * Change the state; locked. The time in the old one is added exactly when the entry time moves: a
 * stale clock sample moves neither. An idle vCPU may carry the pointer of the guest unit that it
 * fills in for, so it never touches a unit's counters.
 */
static inline void hv_runstate_change(struct hv_vcpu *v, enum hv_runstate_kind state, hv_time now)
{
	struct hv_runstate *rs = &v->runstate;
	enum hv_runstate_kind old = rs->state;
	struct hv_unit *u = v->unit;

	if (!v->idle) {
		u->runstate_count[old]--;
		u->runstate_count[state]++;
	}
	if (now > rs->since) {
		rs->time[old] += now - rs->since;
		rs->since = now;
	}
	rs->state = state;
	v->state_lags = false;
	if (hv_tracing(u->sys))
		hv_trace_runstate(v, old);
}

/* Locked. Bring the state of a vCPU that is not running in line with its flags. */
void hv_runstate_settle(struct hv_vcpu *v);

/* ---- wake.c */
void hv_vcpu_set_flag(struct hv_vcpu *v, uint32_t flag);
void hv_vcpu_clear_flag(struct hv_vcpu *v, uint32_t flag);
/* After a change that may have made the vCPU runnable, or not runnable. */
void hv_vcpu_wake(struct hv_vcpu *v);
void hv_vcpu_sleep(struct hv_vcpu *v);
void hv_vcpu_sleep_locked(struct hv_vcpu *v);
/* Pause without the limit, for the engine's own use; and the end of that. */
void hv_domain_pause_all(struct hv_domain *d);
void hv_domain_unpause_all(struct hv_domain *d);
/* Only count: nobody sleeps yet. */
void hv_domain_pause_count(struct hv_domain *d);

/* ---- migrate.c */
void hv_migrate_start(struct hv_unit *u); /* locked */
void hv_migrate_finish(struct hv_unit *u);

/* ---- affinity.c */
/* Tell the policy, and store the masks without pCPUs that do not exist. NULL = leave. Locked. */
void hv_unit_set_affinity(struct hv_unit *u, const struct hv_mask *hard,
			  const struct hv_mask *soft);

/* ---- pin.c */
bool hv_unit_waits(const struct hv_unit *u); /* some member holds HV_PIN_WAIT */
bool hv_unit_pinned_to(const struct hv_unit *u, const struct hv_resource *r);
bool hv_resource_has_pins(const struct hv_resource *r);
bool hv_domain_has_pins(const struct hv_domain *d);
/* All members' pins of these reasons end, and the unit may have to go elsewhere. Locked. */
void hv_unit_drop_pins(struct hv_unit *u, unsigned reasons);
/* The resource is about to be lost: pins to it end, and who can goes elsewhere. */
void hv_pins_lost(struct hv_resource *r);

/* ---- resource.c */
/* A free resource of one pCPU with its idle unit; NULL = out of memory. */
struct hv_resource *hv_resource_create(struct hv_sys *sys, unsigned pcpu);
void hv_resource_destroy(struct hv_resource *r);
/* Free pCPUs become one resource, and are single again; never fails, needs no memory. */
struct hv_resource *hv_resource_merge(struct hv_sys *sys, const struct hv_mask *pcpus);
void hv_resource_split(struct hv_resource *r);
int hv_resource_attach(struct hv_resource *r, struct hv_pool *pool);
void hv_resource_detach(struct hv_resource *r);
/*
 * The resource is to leave its pool; off: the pCPU that is to go off line, HV_NO_PCPU = none.
 * After all checks it is not in the pool's masks any more.
 */
int hv_leave_begin(struct hv_resource *r, uint32_t off);
/* Units that could run nowhere in the pool may run everywhere; who waits, waits elsewhere. */
void hv_leave_announce(struct hv_resource *r);
/* Units there go elsewhere; -HV_EAGAIN if one still runs, else the resource is free now. */
int hv_leave_finish(struct hv_resource *r);
void hv_leave_cancel(struct hv_sys *sys);
/* pCPUs that are up and share a resource with this one at this granularity. */
void hv_gran_mask(const struct hv_sys *sys, enum hv_gran gran, unsigned pcpu, struct hv_mask *out);

/* ---- pool.c, hotplug.c */
/*
 * The first halves as Xen has them: affinities are only broken when the resource leaves, and until
 * then no unit that may run nowhere else may be placed anew; a pCPU that goes off line may take its
 * sibling pCPU 0 out of pool 0.
 */
int hv_pool_remove_start(struct hv_pool *pool, unsigned pcpu);
int hv_pcpu_down_start(struct hv_sys *sys, unsigned pcpu);
int hv_pcpu_down_finish(struct hv_sys *sys, unsigned pcpu);
/* The pCPUs that would join with this one are up, free and as many as the pool's resources have. */
bool hv_pool_can_join(const struct hv_pool *pool, unsigned pcpu, struct hv_mask *pcpus);

/* ---- move.c: a domain on its way to another pool */
struct hv_move {
	struct hv_pool *to;
	struct hv_unit *units; /* made already, ascending ids */
	void *priv;	       /* domain data of the new policy */
	uint32_t nr_off;       /* vCPUs 0..nr_off-1 sleep and are off */
	bool asked;	       /* and vCPU nr_off sleeps */
};
/* The two halves of a move, for a domain that does not run; the first one allocates. */
int hv_move_prepare(struct hv_domain *d, struct hv_pool *to);
void hv_move_commit(struct hv_domain *d);
void hv_move_cancel(struct hv_domain *d);

/* ---- schedule.c, for rendezvous.c */
void hv_decide(struct hv_resource *r, hv_time now);
void hv_unit_saved(struct hv_resource *r);

/* ---- rendezvous.c: hv_event() and hv_saved() where g > 1 */
struct hv_next hv_rendezvous_event(struct hv_sys *sys, unsigned pcpu, unsigned events);
enum hv_next_kind hv_rendezvous_saved(struct hv_pcpu *p);
/* The resource is about to change its pCPUs: nobody waits any more. Its idle unit is current. */
void hv_rendezvous_end(struct hv_resource *r);
/* Have the vCPU switched alone, in or out of its running unit. Locked. */
void hv_force_request(struct hv_vcpu *v);

/* ---- domain.c, rendezvous.c: also used when an instance is torn down */
void hv_domain_free(struct hv_domain *d);
bool hv_domain_runs(const struct hv_domain *d);
/* Bring the pCPUs of a resource to their idle vCPUs, whatever runs there. */
void hv_resource_evict(struct hv_resource *r);
/* It runs its idle unit, and nobody waits or saves. */
bool hv_resource_is_quiet(const struct hv_resource *r);

/* ---- check.c */
#if HV_DEBUG
void hv_check_now(struct hv_sys *sys, const char *file, int line);
#define HV_CHECKED(sys) hv_check_now(sys, __FILE__, __LINE__)
#else
#define HV_CHECKED(sys) ((void)(sys))
#endif

#endif /* ENGINE_ENGINE_H */
