/* SPDX-License-Identifier: MIT */
/*
 * State of rtds, shared by its files and its tests. See rtds.c for the laws.
 */
#ifndef HVSCHED_POLICY_RTDS_H
#define HVSCHED_POLICY_RTDS_H

#include "engine/engine.h"
#include "policy/rtds_queue.h"

#define RTDS_PERIOD_US 10000 /* of a new unit */
#define RTDS_BUDGET_US 4000
#define RTDS_MIN_US    10 /* least period and least budget */
#define RTDS_NS_PER_US 1000LL

enum rtds_place {
	RTDS_NOWHERE,
	RTDS_IN_RUNQ,  /* has budget, or runs on without */
	RTDS_DEPLETED, /* waits for its next period */
};

struct rtds_unit {
	struct hv_unit *unit;
	hv_time period, budget; /* ns */
	int64_t left;		/* ns of the budget in this period */
	hv_time since;		/* up to here its run time has been charged */
	struct rtds_rank rank;	/* level, and end of the present period */
	struct rtds_node run;	/* in the run queue */
	struct rtds_node repl;	/* in the replenishment queue, if in_repl */
	struct rtds_unit *done; /* next one that the replenishment timer has served */
	enum rtds_place place;
	bool in_repl;
	bool scheduled;	  /* chosen, or its switch-out is not finished */
	bool delayed_add; /* to be queued when its switch-out is finished */
	bool depleted;
	bool extratime;
};

struct rtds_pool {
	struct hv_lock lock; /* guards all of this, and every resource of the pool */
	struct rtds_queue runq, replq;
	uint32_t nr_depleted;
	struct hv_timer timer;	/* replenishment: when the front of replq has its deadline */
	struct hv_mask tickled; /* asked for a pass, which has not come yet */
	struct hv_mask idle;	/* current unit is the idle unit */
	uint32_t nr_pcpus;
	struct rtds_rank running[]; /* of the current unit of each pCPU that is not in idle */
};

static inline struct rtds_pool *rtds_pool(const struct hv_sched *s)
{
	return s->priv;
}

/* NULL for idle units. */
static inline struct rtds_unit *rtds_unit(const struct hv_unit *u)
{
	return u->priv;
}

static inline struct rtds_unit *rtds_unit_of_run(struct rtds_node *n)
{
	return (struct rtds_unit *)((char *)n - offsetof(struct rtds_unit, run));
}

static inline struct rtds_unit *rtds_unit_of_repl(struct rtds_node *n)
{
	return (struct rtds_unit *)((char *)n - offsetof(struct rtds_unit, repl));
}

static inline bool rtds_is_current(const struct rtds_unit *u)
{
	return u->unit->res->curr == u->unit;
}

/* Without budget it runs on, at a lower priority; it keeps its place in the replq. */
static inline void rtds_demote(struct rtds_unit *u, uint32_t level)
{
	HV_ASSERT(u->unit->sys, u->place != RTDS_IN_RUNQ && u->budget > 0);
	u->rank.level = level;
	u->left = u->budget;
	if (u->in_repl)
		rtds_queue_rerank(&u->repl, u->rank);
}

/* rtds_replenish.c; the pool's lock is held, but by the timer */
void rtds_replq_insert(struct rtds_pool *p, struct rtds_unit *u);
void rtds_replq_remove(struct rtds_pool *p, struct rtds_unit *u);
void rtds_replq_reinsert(struct rtds_pool *p, struct rtds_unit *u);
/* now >= deadline */
void rtds_new_period(struct rtds_pool *p, struct rtds_unit *u, hv_time now);
void rtds_replenish(struct hv_timer *t);

/* rtds_tickle.c; the pool's lock is held */
void rtds_enqueue(struct rtds_pool *p, struct rtds_unit *u);
void rtds_dequeue(struct rtds_pool *p, struct rtds_unit *u);
void rtds_tickle(struct hv_sched *s, const struct rtds_unit *new);

/* rtds_params.c */
int rtds_domain_params(struct hv_sched *s, struct hv_domain *d, struct hv_domain_params *pr,
		       bool set);
int rtds_unit_params(struct hv_sched *s, struct hv_unit *u, struct hv_unit_params *pr, bool set);

/* rtds_check.c */
void rtds_unit_state(const struct hv_sched *s, const struct hv_unit *u, struct hv_state *out);
int rtds_check(const struct hv_sched *s, struct hv_violation *out);

#endif /* HVSCHED_POLICY_RTDS_H */
