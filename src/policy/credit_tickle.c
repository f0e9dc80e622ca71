/* SPDX-License-Identifier: MIT */
/*
 * Credit, section 12: which pCPUs are asked to make a pass for a unit that has just been queued.
 *
 * The question of 2012 (Xen commit ebce2d836c): when the unit could preempt what runs on its pCPU
 * and there are idle pCPUs as well, shall one of those come for it, or shall it preempt and an idle
 * pCPU come for whoever is left? Boot parameter credit_tickle chooses the answer:
 *
 *   head          today's Xen: an idle pCPU comes, nothing is preempted
 *   head-fixed    the same; if no idle pCPU suits the unit it preempts, and what it preempts is
 *                 "kicked away" to one of them (Xen's own code for that is dead since 4.13)
 *   head-without  today's rules for masks and idlers, but preempting and an idle pCPU
 *   with-2012     the commit itself
 *   without-2012  the code before it
 *
 * Laws: a pCPU asked within today's rules is no idler from then on, until it has made its pass, so
 * two wakes do not ask the same one (bug 47d5292995 of section 15); with the rules of 2012 it stays
 * an idler. Only pCPUs within the unit's hard affinity are asked, or its own one.
 */
#include "policy/credit.h"

/* A question: who shall come for u, which is on the queue of pCPU home, where cur runs. */
struct question {
	struct hv_sched *s;
	struct c1_sched *p;
	const struct c1_unit *u, *cur;
	uint32_t home;
	bool kick;	     /* cur is to go to another pCPU */
	struct hv_mask idle; /* M0 */
	struct hv_mask asked;
};

/* asked |= one(m), m not empty: the next one after the last that this pCPU has asked, or all. */
static void ask_idlers(struct question *q, const struct hv_mask *m)
{
	uint32_t *last = &q->p->host->last_tickle[hv_this_pcpu(q->s->sys)];

	if (!q->p->tickle_one) {
		hv_mask_or(&q->asked, &q->asked, m, q->p->nw);
		return;
	}
	*last = hv_mask_after(m, *last, q->p->nw);
	hv_mask_set(&q->asked, *last);
}

/* Idle pCPUs that suit u, soft affinity first. False if there are none. */
static bool suitable(const struct question *q, struct hv_mask *m)
{
	unsigned nw = q->p->nw;

	if (q->u->unit->soft_counts && hv_unit_has_soft(q->s, q->u->unit)) {
		hv_unit_step_mask(q->s, q->u->unit, true, m);
		hv_mask_and(m, m, &q->idle, nw);
		if (!hv_mask_empty(m, nw))
			return true;
	}
	hv_mask_and(m, &q->u->unit->hard, &q->idle, nw);
	return !hv_mask_empty(m, nw);
}

/* 12.1: preempt, and wake an idler for whoever is left. */
static void preempt_and_ask(struct question *q, bool may_preempt, bool today)
{
	const struct hv_mask *hard = &q->u->unit->hard;
	struct hv_mask m;
	bool any;

	if (may_preempt)
		hv_mask_set(&q->asked, q->home);
	if (q->cur->pri == C1_IDLE || hv_mask_empty(&q->idle, q->p->nw))
		return;
	if (today) {
		any = suitable(q, &m);
	} else {
		hv_mask_and(&m, hard, &q->idle, q->p->nw);
		any = !hv_mask_empty(&m, q->p->nw);
	}
	if (any)
		ask_idlers(q, &m);
	hv_mask_and(&q->asked, &q->asked, hard, q->p->nw);
}

/* 12.2 and 12.3: an idler that suits u comes, if there is one. */
static void ask_or_preempt(struct question *q, bool may_preempt, bool today)
{
	bool none = hv_mask_empty(&q->idle, q->p->nw);
	struct hv_mask m;
	bool any;

	if (q->cur->pri == C1_IDLE || (none && may_preempt)) {
		hv_mask_set(&q->asked, q->home);
		return;
	}
	if (none)
		return;
	if (today) {
		any = suitable(q, &m);
	} else {
		hv_mask_and(&m, &q->u->unit->hard, &q->idle, q->p->nw);
		any = !hv_mask_empty(&m, q->p->nw);
	}
	if (any) {
		ask_idlers(q, &m);
	} else if (may_preempt) {
		hv_mask_set(&q->asked, q->home);
		q->kick = q->p->preset == C1_WITH_2012 ||
			  (q->p->preset == C1_HEAD_FIXED &&
			   hv_mask_intersects(&q->cur->unit->hard, &q->idle, q->p->nw));
	}
}

void c1_tickle(struct hv_sched *s, struct c1_unit *u)
{
	struct c1_sched *p = c1_sched(s);
	struct hv_resource *r = u->unit->res;
	struct question q = {.s = s, .p = p, .u = u, .cur = c1_unit(r->curr), .home = r->master};
	bool today = p->preset != C1_WITH_2012 && p->preset != C1_WITHOUT_2012;
	bool may_preempt = u->pri > q.cur->pri;

	HV_ASSERT(s->sys, hv_lock_held(r->lock) && (u->flags & C1_QUEUED));
	hv_mask_copy(&q.idle, &p->idlers, p->nw);
	if (today)
		hv_mask_and(&q.idle, &q.idle, hv_unit_valid(s), p->nw);
	if (today && (u->flags & C1_PINNED) && hv_mask_test(&q.idle, q.home))
		hv_mask_set(&q.asked, q.home);
	else if (p->preset == C1_HEAD_WITHOUT || p->preset == C1_WITHOUT_2012)
		preempt_and_ask(&q, may_preempt, today);
	else
		ask_or_preempt(&q, may_preempt, today);
	if (q.kick)
		hv_unit_set_flag(r->curr, HV_PF_MIGRATING);
	if (today)
		hv_mask_andnot(&p->idlers, &p->idlers, &q.asked, p->nw);
	hv_mask_for_each(c, &q.asked, p->nw) hv_tickle(s, c);
}
