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
 * an idler. Only pCPUs within the unit's hard affinity are asked.
 *
 * Two steps of Xen's are not needed. The shortcut for pinned units: an idler runs its idle unit, so
 * a unit whose own pCPU is one asks that pCPU in any case. And leaving out what is outside hard
 * affinity before the change of 2012: a unit's own pCPU never is.
 */
#include "policy/credit.h"

/* Who shall come for u, which is on the queue of pCPU home, where cur runs. */
struct question {
	struct hv_sched *s;
	struct c1_sched *p;
	const struct c1_unit *u, *cur;
	uint32_t home;
	bool today;	      /* the rules of 12.3, else those of 2012 */
	bool may_preempt;     /* u is better than cur */
	bool kick;	      /* cur shall go to another pCPU */
	struct hv_mask *idle; /* M0; not empty */
	struct hv_mask *asked;
};

/* asked |= one(m), m not empty: the next one after the last that this pCPU has asked, or all. */
static void ask_idlers(const struct question *q, const struct hv_mask *m)
{
	uint32_t *last = &q->p->host->last_tickle[hv_this_pcpu(q->s->sys)];

	if (!q->p->tickle_one) {
		hv_mask_or(q->asked, q->asked, m, q->p->nw);
		return;
	}
	*last = hv_mask_after(m, *last, q->p->nw);
	hv_mask_set(q->asked, *last);
}

/* Idle pCPUs that suit u; soft affinity first, which the rules of 2012 do not know. */
static bool suitable(const struct question *q, struct hv_mask *m)
{
	unsigned nw = q->p->nw;

	if (q->today && hv_unit_has_soft(q->s, q->u->unit)) {
		hv_unit_step_mask(q->s, q->u->unit, true, m);
		hv_mask_and(m, m, q->idle, nw);
		if (!hv_mask_empty(m, nw))
			return true;
	}
	hv_mask_and(m, &q->u->unit->hard, q->idle, nw);
	return !hv_mask_empty(m, nw);
}

/* 12.1: preempt, and wake an idler for whoever is left. */
static void preempt_and_ask(const struct question *q)
{
	struct hv_mask m;

	if (q->may_preempt)
		hv_mask_set(q->asked, q->home);
	if (suitable(q, &m))
		ask_idlers(q, &m);
}

/* 12.2 and 12.3: an idler that suits u comes, if there is one. */
static void ask_or_preempt(struct question *q)
{
	enum c1_preset preset = q->p->preset;
	struct hv_mask m;

	if (suitable(q, &m)) {
		ask_idlers(q, &m);
	} else if (q->may_preempt) {
		hv_mask_set(q->asked, q->home);
		q->kick = preset == C1_WITH_2012 ||
			  (preset == C1_HEAD_FIXED &&
			   hv_mask_intersects(&q->cur->unit->hard, q->idle, q->p->nw));
	}
}

/* M0; false if it is empty. */
static bool find_idlers(const struct question *q, struct hv_mask *m)
{
	const struct hv_mask *valid = hv_unit_valid(q->s);
	uint64_t any = 0;

	for (unsigned i = 0; i < q->p->nw; i++) {
		m->w[i] = q->p->idlers.w[i];
		if (q->today)
			m->w[i] &= valid->w[i];
		any |= m->w[i];
	}
	return any != 0;
}

void c1_tickle(struct hv_sched *s, struct c1_unit *u)
{
	struct c1_sched *p = c1_sched(s);
	struct hv_resource *r = u->unit->res;
	struct hv_mask idle, asked;
	struct question q = {
		.s = s,
		.p = p,
		.u = u,
		.cur = c1_unit(r->curr),
		.home = r->master,
		.today = p->preset != C1_WITH_2012 && p->preset != C1_WITHOUT_2012,
		.idle = &idle,
		.asked = &asked,
	};

	HV_ASSERT(s->sys, hv_lock_held(r->lock) && (u->flags & C1_QUEUED));
	q.may_preempt = u->pri > q.cur->pri;
	if (q.cur->pri == C1_IDLE || !find_idlers(&q, &idle)) {
		if (!q.may_preempt)
			return;
		if (q.today)
			hv_mask_clear(&p->idlers, q.home);
		hv_tickle(s, q.home);
		return;
	}
	hv_mask_zero(&asked, p->nw);
	if (p->preset == C1_HEAD_WITHOUT || p->preset == C1_WITHOUT_2012)
		preempt_and_ask(&q);
	else
		ask_or_preempt(&q);
	if (q.kick)
		hv_unit_set_flag(r->curr, HV_PF_MIGRATING);
	if (q.today)
		hv_mask_andnot(&p->idlers, &p->idlers, &asked, p->nw);
	hv_mask_for_each(c, &asked, p->nw) hv_tickle(s, c);
}
