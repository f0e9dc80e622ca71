/* SPDX-License-Identifier: MIT */
/*
 * Credit, internal: constants, state and what its files offer each other. The design, the laws and
 * the locking are told on top of credit.c. Section numbers are those of the credit spec.
 *
 *   credit.c           operations, parameters of the host
 *   credit_unit.c      inserting, waking, parking and removing units (sections 1, 7)
 *   credit_queue.c     the queue of a pCPU (8)
 *   credit_account.c   ticks, accounting, weight and cap (4, 5, 6, 13.1)
 *   credit_schedule.c  who runs next (9)
 *   credit_balance.c   stealing from other pCPUs (10)
 *   credit_place.c     choosing a pCPU (11)
 *   credit_tickle.c    which pCPUs shall look at a unit that woke (12)
 *   credit_check.c     the laws, and what can be seen from outside
 */
#ifndef HVSCHED_POLICY_CREDIT_H
#define HVSCHED_POLICY_CREDIT_H

#include <hvsched.h>

/* Section 2. One credit is 100 us of run time. */
#define C1_DEF_WEIGHT	  256
#define C1_UNCHANGED_CAP  UINT16_MAX /* as a request */
#define C1_CREDITS_PER_MS 10
#define C1_CREDIT_NS	  100000
#define C1_CREDIT_SCALE	  1000000 /* 10 * ns to credits; C1_CREDITS_PER_MS per 10^6 ns */
#define C1_TICKS	  3	  /* in a timeslice */
#define C1_MIN_TIMER	  100	  /* Xen means us and compares with ns: ns, as there */

/* Larger is better. BOOST to OVER are also, negated, indices. */
enum { C1_BOOST = 0, C1_UNDER = -1, C1_OVER = -2, C1_IDLE = -64 };
#define C1_NR_GUEST_PRI 3

/* Boot parameters, indices into hv_sched.params. */
enum c1_param {
	C1_P_TSLICE,
	C1_P_RATELIMIT,
	C1_P_MIGRATION_DELAY,
	C1_P_BALANCE_RATELIMIT,
	C1_P_TICKLE_ONE,
	C1_P_SMT_POWER_SAVINGS,
	C1_P_TICKLE,
	C1_NR_PARAMS
};

/* Values of credit_tickle, in the order of its choices (section 12.4). */
enum c1_preset {
	C1_HEAD,
	C1_HEAD_FIXED,
	C1_HEAD_WITHOUT,
	C1_WITH_2012,
	C1_WITHOUT_2012,
};

/* Flags of a unit (section 3). */
enum {
	C1_PARKED = 1u << 0,
	C1_YIELD = 1u << 1,
	C1_MIGRATING = 1u << 2, /* placed anew: its next wake gets no boost */
	C1_QUEUED = 1u << 3,
	C1_SOFT = 1u << 4, /* queued, and counted as one whose soft affinity may matter */
	C1_ACTIVE = 1u << 5,
};

struct c1_link {
	struct c1_link *next, *prev;
};

struct c1_domain;

/* Ordered by use: what the queues and the schedule path touch comes first. */
struct c1_unit {
	struct c1_link queue; /* place on the queue of its pCPU */
	struct hv_unit *unit;
	int32_t pri;
	uint32_t flags;
	int32_t credit;
	uint32_t residual;     /* of the last charge, below C1_CREDIT_SCALE */
	hv_time start;	       /* charged up to here; less the time of the last pass while off */
	hv_time last_sched;    /* last pass that found it current */
	struct c1_domain *dom; /* NULL for idle units */
	struct c1_link active; /* place on the active list of its domain */
};

/*
 * A ring of units. below[i] is the first one of lower priority than -i, the ring itself if there is
 * none; while `stale` is set that is not kept up, because priorities have changed within the queue.
 */
struct c1_queue {
	struct c1_link ring;
	struct c1_link *below[C1_NR_GUEST_PRI];
	bool stale;
	uint32_t nr_soft;   /* units with C1_SOFT */
	uint32_t nr_credit; /* units that are better than OVER */
};

struct c1_pcpu {
	struct c1_queue queue; /* all here is guarded by the schedule lock of the pCPU */
	struct hv_resource *res;
	struct c1_unit *idle;
	uint32_t nr_runnable; /* guests' units that are queued or current, and nr_lost */
	uint32_t nr_lost;     /* a pass dropped them from the queue: they are counted for good */
	uint32_t idle_bias;   /* under the schedule lock of whoever picks; a hint only */
	uint32_t node;	      /* index in c1_host.node */
	uint32_t epoch;	      /* of the last sort */
	hv_time last_balance;
	struct hv_timer ticker;
	struct hv_sched *s;
};

struct c1_domain {
	struct hv_domain *domain;
	struct c1_link active_domain; /* place on the list of active domains */
	struct c1_link active;	      /* ring of its active units; all here under instance lock */
	uint32_t weight, cap;
	uint32_t nr_active;
};

/* What belongs to the host, not to one instance: shared by all of them, nodes do not change. */
struct c1_host {
	uint32_t refs, nr_nodes, nr_pcpus;
	uint32_t *last_tickle; /* by executing pCPU */
	uint32_t *node_of;     /* by pCPU: index in node[] */
	struct hv_mask node[]; /* pCPUs of each node, by ascending node number */
};

struct c1_sched {
	struct hv_lock lock; /* instance lock */
	unsigned nw;
	enum c1_preset preset;
	bool tickle_one, power_savings;
	uint32_t tslice_ms, ratelimit_us, migration_delay_us;
	hv_time tslice, ratelimit, migration_delay, balance_ratelimit, tick; /* ns */
	struct c1_host *host;
	/* Written under the schedule lock of the pCPU that each bit stands for. */
	struct hv_mask idlers;
	struct hv_mask surplus;	      /* nr_runnable is 2 or more */
	struct hv_mask soft;	      /* queue.nr_soft is not 0 */
	struct hv_mask credit_queued; /* queue.nr_credit is not 0 */
	/* Under the instance lock. */
	struct hv_mask pcpus;
	uint32_t nr_pcpus;
	uint32_t slice_credit; /* K: credits in a timeslice */
	uint32_t credit;       /* of the pool: K for each pCPU */
	uint32_t weight;       /* W: of all active units */
	int32_t balance;       /* B */
	uint32_t epoch;
	struct c1_link active_domains;
	struct hv_timer accounting;
	uint32_t balance_bias[]; /* by node: where the last unit was stolen; a hint only */
};

static inline struct c1_sched *c1_sched(const struct hv_sched *s)
{
	return s->priv;
}

static inline struct c1_unit *c1_unit(const struct hv_unit *u)
{
	return u->priv;
}

static inline struct c1_pcpu *c1_pcpu(const struct hv_resource *r)
{
	return r->priv;
}

static inline bool c1_is_idle(const struct c1_unit *u)
{
	return !u->dom;
}

/* u is the current unit of its pCPU. */
static inline bool c1_is_current(const struct c1_unit *u)
{
	return u->unit->res->curr == u->unit;
}

/* ceil(a / b) in 32 bits; wraps as Xen's does (6.3). */
static inline uint32_t c1_ceil(uint32_t a, uint32_t b)
{
	return (a + b - 1) / b;
}

/* ---- rings */

static inline void c1_ring_init(struct c1_link *ring)
{
	ring->next = ring->prev = ring;
}

static inline bool c1_ring_empty(const struct c1_link *ring)
{
	return ring->next == ring;
}

static inline void c1_link_before(struct c1_link *at, struct c1_link *l)
{
	l->next = at;
	l->prev = at->prev;
	at->prev->next = l;
	at->prev = l;
}

static inline void c1_unlink(struct c1_link *l)
{
	l->prev->next = l->next;
	l->next->prev = l->prev;
	l->next = l->prev = l;
}

static inline struct c1_unit *c1_of_queue(const struct c1_link *l)
{
	return (struct c1_unit *)((char *)(uintptr_t)l - offsetof(struct c1_unit, queue));
}

static inline struct c1_unit *c1_of_active(const struct c1_link *l)
{
	return (struct c1_unit *)((char *)(uintptr_t)l - offsetof(struct c1_unit, active));
}

static inline struct c1_domain *c1_of_active_domain(const struct c1_link *l)
{
	return (struct c1_domain *)((char *)(uintptr_t)l -
				    offsetof(struct c1_domain, active_domain));
}

/* ---- the queue (section 8); the schedule lock of its pCPU is held */

/* First unit of a queue, NULL if it is empty. */
static inline struct c1_unit *c1_queue_head(const struct c1_queue *q)
{
	return c1_ring_empty(&q->ring) ? NULL : c1_of_queue(q->ring.next);
}

/* Nothing of a guest is queued, whatever runs. */
static inline bool c1_queue_idle(const struct c1_queue *q)
{
	return c1_ring_empty(&q->ring) || c1_is_idle(c1_of_queue(q->ring.next));
}

static inline void c1_nr_runnable_up(struct c1_sched *p, struct c1_pcpu *pc)
{
	if (++pc->nr_runnable == 2)
		hv_mask_set(&p->surplus, pc->res->master);
}

static inline void c1_nr_runnable_down(struct c1_sched *p, struct c1_pcpu *pc)
{
	HV_ASSERT(pc->res->sys, pc->nr_runnable > 0);
	if (--pc->nr_runnable == 1)
		hv_mask_clear(&p->surplus, pc->res->master);
}

/* Section 4: charge run time up to now. Locked; for the current unit of a pCPU. */
static inline void c1_burn(struct c1_unit *u, hv_time now)
{
	int64_t d = now - u->start;
	uint64_t v, c;

	if (d <= 0)
		return;
	HV_ASSERT(u->unit->sys, hv_lock_held(u->unit->res->lock));
	v = (uint64_t)d * C1_CREDITS_PER_MS + u->residual;
	c = v / C1_CREDIT_SCALE;
	u->residual = (uint32_t)(v % C1_CREDIT_SCALE);
	u->credit = (int32_t)((uint32_t)u->credit - (uint32_t)c);
	u->start += (int64_t)c * C1_CREDIT_NS;
}

/* credit_queue.c */
void c1_queue_init(struct c1_queue *q);
void c1_queue_insert(struct c1_sched *p, struct c1_pcpu *pc, struct c1_unit *u);
void c1_queue_remove(struct c1_sched *p, struct c1_pcpu *pc, struct c1_unit *u);
void c1_queue_sort(struct c1_queue *q);
/* Of a unit that may be queued. */
void c1_set_pri(struct c1_sched *p, struct c1_unit *u, int32_t pri);

/* credit_unit.c */
void c1_insert_unit(struct hv_sched *s, struct hv_unit *unit);
void c1_remove_unit(struct hv_sched *s, struct hv_unit *unit);
void c1_sleep(struct hv_sched *s, struct hv_unit *unit);
void c1_wake(struct hv_sched *s, struct hv_unit *unit);
void c1_yield(struct hv_sched *s, struct hv_unit *unit);
void c1_park(struct hv_sched *s, struct c1_unit *u); /* locked */
void c1_unpark(struct c1_unit *u);		     /* locked */

/* credit_account.c */
void c1_set_tslice(struct c1_sched *p, uint32_t ms);
void c1_deactivate(struct c1_sched *p, struct c1_unit *u); /* instance lock held */
void c1_tick(struct hv_timer *t);
void c1_account(struct hv_timer *t);
int c1_alloc_domain(struct hv_sched *s, struct hv_domain *d, void **out);
void c1_free_domain(struct hv_sched *s, struct hv_domain *d, void *priv);
int c1_domain_params(struct hv_sched *s, struct hv_domain *d, struct hv_domain_params *p, bool set);

/* credit_schedule.c */
void c1_do_schedule(struct hv_sched *s, struct hv_resource *r, struct hv_unit *prev, hv_time now,
		    bool tasklet);

/* credit_balance.c: a unit of better priority than x from another pCPU, or NULL; r is locked */
struct c1_unit *c1_balance(struct hv_sched *s, struct hv_resource *r, const struct c1_unit *x,
			   hv_time now);

/* credit_place.c */
struct hv_resource *c1_pick(struct hv_sched *s, struct hv_unit *unit);
uint32_t c1_best_pcpu(struct hv_sched *s, const struct c1_unit *u, bool commit);

/* credit_tickle.c; u has just been queued */
void c1_tickle(struct hv_sched *s, struct c1_unit *u);

/* credit_check.c */
void c1_unit_state(const struct hv_sched *s, const struct hv_unit *unit, struct hv_state *out);
int c1_check(const struct hv_sched *s, struct hv_violation *out);

#endif
