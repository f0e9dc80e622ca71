/* SPDX-License-Identifier: MIT */
/*
 * Credit2, internal: constants, state and what its files offer each other. The design, the laws
 * and the locking are told on top of credit2.c. Section numbers are those of the credit2 spec.
 *
 *   credit2.c           operations, parameters of the host
 *   credit2_schedule.c  who runs next and for how long (sections 10 to 12)
 *   credit2_runq.c      arrangement, queue, members, masks (4, 5, 7)
 *   credit2_load.c      decayed load (6)
 *   credit2_tickle.c    which pCPU shall look at a queued unit (9)
 *   credit2_cap.c       budgets, parking, refill, weight and cap changes (14, 17)
 *   credit2_place.c     choosing a pCPU, moving (15, 16.1, 16.2)
 *   credit2_balance.c   exchange of units between runqueues (16.3)
 *   credit2_check.c     the laws, and what can be seen from outside (18)
 */
#ifndef HVSCHED_POLICY_CREDIT2_H
#define HVSCHED_POLICY_CREDIT2_H

#include <hvsched.h>

#include "policy/sorted_queue.h"

/* Section 1. One credit is 1 ns of run time of the heaviest unit of a runqueue. */
#define C2_DEF_WEIGHT	256
#define C2_CREDIT_INIT	10000000
#define C2_CREDIT_MIN	(-C2_CREDIT_INIT)
#define C2_IDLE_CREDIT	(C2_CREDIT_MIN - 1)
#define C2_MIN_SLICE	500000				/* ns */
#define C2_MAX_SLICE	10000000			/* ns */
#define C2_CREDIT_MAX	(C2_CREDIT_INIT + C2_MIN_SLICE) /* after a reset */
#define C2_MIG_COMP	50000				/* credit for a change of pCPU */
#define C2_RL_TOLERANCE 50000				/* ns */
#define C2_TICK_SHIFT	10				/* load clock: 1 tick = 1024 ns */
#define C2_INFINITE	INT64_MAX			/* budget of an uncapped unit */
/* No more is earned by changing pCPUs: a reset can add to it, before it cuts, without overflow. */
#define C2_CREDIT_TOP (INT32_MAX - 2 * C2_CREDIT_INIT)

/* Boot parameters, indices into hv_sched.params. */
enum c2_param {
	C2_P_MIGRATE_RESIST,
	C2_P_LOAD_PRECISION,
	C2_P_LOAD_WINDOW,
	C2_P_BALANCE_UNDER,
	C2_P_BALANCE_OVER,
	C2_P_CAP_PERIOD,
	C2_P_RUNQUEUE,
	C2_P_MAX_CPUS_RUNQUEUE,
	C2_P_RATELIMIT,
	C2_P_SMT_POWER_SAVINGS,
	C2_NR_PARAMS
};

/* Values of credit2_runqueue, in the order of its choices. */
enum c2_arrangement { C2_BY_CPU, C2_BY_CORE, C2_BY_SOCKET, C2_BY_NODE, C2_ALL };

/* Flags of a unit (section 13.4); QUEUED is this program's: on the queue of its runqueue. */
enum {
	C2_SCHED = 1u << 0,   /* running, or still being switched out */
	C2_REQUEUE = 1u << 1, /* to be queued once it is switched out */
	C2_MIGREQ = 1u << 2,  /* mig_target is valid */
	C2_YIELD = 1u << 3,
	C2_PINNED = 1u << 4, /* hard affinity of exactly one pCPU */
	C2_QUEUED = 1u << 5,
	C2_ON_PARKED = 1u << 6, /* on the parked list of its domain */
};

struct c2_runq;
struct c2_domain;

/* Ordered by use: what the queue and the schedule path touch comes first. */
struct c2_unit {
	struct sorted_node node; /* key = -credit while queued */
	struct hv_unit *unit;
	struct c2_runq *rq; /* NULL = none */
	hv_time since;	    /* start of run time that is not accounted yet */
	int64_t budget;	    /* ns; C2_INFINITE = not capped */
	int32_t credit;
	uint32_t weight; /* 0 for idle units only */
	uint32_t rem;	 /* remainder of the last division by weight */
	uint32_t flags;
	uint32_t tcpu;				   /* pCPU told to come for it, or HV_NO_PCPU */
	int64_t load, lt;			   /* decayed load, tick of its last update */
	struct c2_unit *member_prev, *member_next; /* members of rq, in order of assignment */
	struct c2_domain *dom;			   /* NULL for idle units */
	struct c2_runq *mig_target;
	struct c2_unit *parked_next; /* parked list of dom */
	int64_t quota;		     /* ns of budget handed out at a time */
	/* Scratch of a search for the best exchange. */
	struct c2_unit *by_load;
	uint32_t order;
	bool movable;
};

struct c2_runq {
	struct hv_sys *sys;
	struct hv_lock lock; /* guards all below, its units and the pCPUs' sib */
	int id;
	uint32_t refs; /* pCPUs assigned, active or not; under the instance lock */
	uint32_t ncpu; /* active pCPUs */
	uint32_t bias; /* pCPU where the next rotation starts */
	uint32_t maxw; /* largest weight of a member, at least 1 */
	uint32_t nload;
	uint32_t nr_members;
	int64_t avg, pavg, lt;
	struct sorted_queue queue;
	struct c2_unit *members, *members_tail;
	struct c2_runq *next; /* ascending id; under the instance lock */
	struct hv_mask act, idl, tik, cor;
};

struct c2_pcpu {
	struct c2_runq *rq;
	struct hv_resource *res; /* NULL until activated */
	bool cor_stale; /* Q7: COR may name this core although it is busy; for the check only */
	struct hv_mask sib;
};

struct c2_domain {
	struct hv_sched *s;
	struct hv_domain *domain;
	struct c2_domain *next;
	struct hv_lock lock; /* budget lock: guards pool, next_refill and the parked list */
	uint32_t weight, cap, nunits; /* under the instance lock */
	int64_t pool, total;	      /* ns of budget: left, per period */
	hv_time next_refill;
	struct hv_timer refill;
	struct c2_unit *parked; /* most recently parked first */
};

struct c2_sched {
	struct hv_lock lock; /* instance lock */
	unsigned nw;
	unsigned precision; /* P: one busy unit = 2^P */
	unsigned window;    /* W: ticks = 2^W */
	uint32_t ratelimit_us;
	int64_t ratelimit;  /* ns */
	int64_t resist;	    /* credit */
	hv_time cap_period; /* ns */
	bool power_savings;
	uint32_t nr_active;    /* runqueues with an active pCPU */
	struct c2_runq *runqs; /* ascending id */
	struct c2_domain *domains;
	struct hv_mask initialised; /* active pCPUs of this instance */
	uint32_t nr_pcpus;
	/*
	 * By pCPU number. turn and curr mirror the current unit of the pCPU's resource and when it
	 * was switched in, close together for those who look for a pCPU to preempt. They change at
	 * decisions of this policy only, under the runqueue's lock.
	 */
	hv_time *turn;
	struct c2_unit **curr;
	struct c2_pcpu *pcpu[]; /* NULL = not of this instance */
};

static inline struct c2_sched *c2_sched(const struct hv_sched *s)
{
	return s->priv;
}

static inline struct c2_unit *c2_unit(const struct hv_unit *u)
{
	return u->priv;
}

static inline struct c2_pcpu *c2_pcpu(const struct c2_sched *p, uint32_t c)
{
	return p->pcpu[c];
}

static inline struct c2_unit *c2_of_node(struct sorted_node *n)
{
	return (struct c2_unit *)((char *)n - offsetof(struct c2_unit, node));
}

static inline struct c2_unit *c2_queue_head(const struct c2_runq *rq)
{
	struct sorted_node *n = sorted_queue_head(&rq->queue);

	return n ? c2_of_node(n) : NULL;
}

static inline bool c2_is_idle(const struct c2_unit *u)
{
	return u->weight == 0;
}

static inline bool c2_is_capped(const struct c2_unit *u)
{
	return u->budget != C2_INFINITE;
}

/* home(u): master pCPU of the unit's resource. */
static inline uint32_t c2_home(const struct c2_unit *u)
{
	return u->unit->res->master;
}

/* u is the current unit of its home pCPU. */
static inline bool c2_is_current(const struct c2_unit *u)
{
	return u->unit->res->curr == u->unit;
}

/* keep(c, M): c if it is a member, else the next one cyclically. */
static inline uint32_t c2_keep(uint32_t c, const struct hv_mask *m, unsigned nw)
{
	return hv_mask_test(m, c) ? c : hv_mask_after(m, c, nw);
}

/* Time since a switch in or out; huge if that lies in the future (unsigned on purpose). */
static inline uint64_t c2_since_turn(hv_time turn, hv_time now)
{
	return (uint64_t)now - (uint64_t)turn;
}

/* 5.4: u has run for t > 0 ns. Exact for every t < 2^47 ns (39 hours in one go). */
static inline void c2_charge(struct c2_unit *u, int64_t t, uint32_t maxw)
{
	uint64_t fall;

	if (u->weight == maxw && u->rem < maxw) {
		fall = (uint64_t)t; /* floor((t * w + rem) / w), remainder unchanged */
	} else {
		uint64_t x = (uint64_t)t * maxw + u->rem;

		if (x <= UINT32_MAX) { /* common, and much cheaper on many CPUs */
			fall = (uint32_t)x / u->weight;
			u->rem = (uint32_t)x % u->weight;
		} else {
			fall = x / u->weight;
			u->rem = (uint32_t)(x % u->weight);
		}
	}
	if (fall > (uint64_t)((int64_t)u->credit - C2_CREDIT_MIN))
		u->credit = C2_CREDIT_MIN;
	else
		u->credit = (int32_t)(u->credit - (int64_t)fall);
}

/* 8.1: account run time up to now. Locked; for the current unit of a pCPU. */
static inline void c2_burn(struct c2_unit *u, hv_time now)
{
	int64_t d = now - u->since;

	if (c2_is_idle(u) || d <= 0)
		return;
	HV_ASSERT(u->unit->sys, hv_lock_held(&u->rq->lock));
	c2_charge(u, d, u->rq->maxw);
	if (c2_is_capped(u))
		u->budget -= d;
	u->since = now;
}

/* 5.4: run time that credit > 0 is worth, in ns. */
static inline int64_t c2_credit_to_time(const struct c2_unit *u, int64_t credit)
{
	return u->weight == u->rq->maxw ? credit : credit * u->weight / u->rq->maxw;
}

/* credit2_runq.c */
struct c2_runq *c2_runq_join(struct hv_sched *s, unsigned c); /* 4.1; NULL = no memory */
void c2_runq_leave(struct hv_sched *s, struct c2_runq *rq);   /* 4.3, free */
/* 4.2 */
void c2_runq_activate(struct hv_sched *s, struct c2_runq *rq, struct hv_resource *r);
void c2_runq_deactivate(struct hv_sched *s, struct c2_runq *rq, unsigned c); /* 4.3 */
void c2_runq_insert(struct c2_runq *rq, struct c2_unit *u);
void c2_runq_remove(struct c2_runq *rq, struct c2_unit *u);
void c2_update_max_weight(struct c2_runq *rq, uint32_t new_weight, uint32_t old_weight);
void c2_assign(struct c2_runq *rq, struct c2_unit *u);
void c2_deassign(struct c2_unit *u);
void c2_cor_set(struct c2_sched *p, struct c2_runq *rq, unsigned c);
void c2_cor_clear(struct c2_sched *p, struct c2_runq *rq, unsigned c);
void c2_tickle_pcpu(struct hv_sched *s, struct c2_runq *rq, unsigned c);
void c2_reset(struct hv_sched *s, struct c2_runq *rq, struct c2_unit *chosen, unsigned c,
	      hv_time now); /* 8.2 */

/* credit2_load.c; u may be NULL */
void c2_load_update(const struct c2_sched *p, struct c2_runq *rq, struct c2_unit *u, int change,
		    hv_time now);
void c2_unit_load_update(const struct c2_sched *p, struct c2_unit *u, int change, hv_time now);

/* credit2_tickle.c */
void c2_tickle(struct hv_sched *s, struct c2_unit *u, hv_time now);
/* 9.3: how much better busy pCPU c would be off with u; burns its unit unless that is protected. */
int64_t c2_score(const struct c2_sched *p, const struct c2_unit *u, uint32_t c, hv_time now);

/* credit2_cap.c */
bool c2_grab_budget(struct hv_sched *s, struct c2_unit *u, hv_time now);
struct c2_unit *c2_return_budget(struct c2_unit *u);
void c2_unpark(struct hv_sched *s, struct c2_unit *list, hv_time now);
void c2_forget_parked(struct c2_unit *u);
int c2_alloc_domain(struct hv_sched *s, struct hv_domain *d, void **out);
void c2_move_timers(struct hv_sched *s, unsigned from, unsigned to);
void c2_free_domain(struct hv_sched *s, struct hv_domain *d, void *priv);
int c2_domain_params(struct hv_sched *s, struct hv_domain *d, struct hv_domain_params *p, bool set);

/* credit2_place.c */
struct hv_resource *c2_pick(struct hv_sched *s, struct hv_unit *unit);
void c2_migrate(struct hv_sched *s, struct c2_unit *u, struct c2_runq *to, hv_time now);

/* credit2_balance.c */
/* The best exchange found so far: a leaves, b comes; either may be NULL. */
struct c2_exchange {
	int64_t local, far; /* loads before */
	int64_t best;	    /* |difference| to be beaten */
	struct c2_unit *a, *b;
};
/* 16.3 step 6; both locks held. */
void c2_find_exchange(struct hv_sched *s, struct c2_runq *local, struct c2_runq *far,
		      struct c2_exchange *x, hv_time now);
void c2_balance(struct hv_sched *s, struct c2_runq *local, hv_time now);

/* credit2_schedule.c */
void c2_do_schedule(struct hv_sched *s, struct hv_resource *r, struct hv_unit *prev, hv_time now,
		    bool tasklet);

/* credit2_check.c */
void c2_unit_state(const struct hv_sched *s, const struct hv_unit *unit, struct hv_state *out);
int c2_runqueue_info(const struct hv_sched *s, unsigned index, struct hv_runqueue_info *out);
int c2_check(const struct hv_sched *s, struct hv_violation *out);

#endif
