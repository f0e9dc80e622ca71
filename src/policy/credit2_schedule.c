/* SPDX-License-Identifier: MIT */
/*
 * Credit2, sections 10 to 12: a pCPU chooses its next unit and how long it may run.
 *
 * The head of the queue has the most credit, so the walk ends at the first unit that has no more
 * than the one that would go on; units that may not come here are stepped over, never ending the
 * walk (bugs 2 and 3 of section 21). Credit is handed out anew exactly when neither the chosen unit
 * nor the head of the queue has any left, whoever was stepped over (bug 4).
 */
#include "policy/credit2.h"

/* A decision under way. */
struct decision {
	struct hv_sched *s;
	struct c2_sched *p;
	struct c2_runq *rq;
	struct c2_unit *idle;
	uint32_t n; /* pCPU that decides */
	bool prev_runnable;
	hv_time now;
};

/* 11.3: an idle pCPU within u's soft affinity waits, and this one is not. */
static bool push_out(const struct decision *d, const struct c2_unit *u)
{
	const struct hv_mask *valid = hv_unit_valid(d->s);
	struct hv_mask soft;
	uint64_t any = 0;

	if (!hv_unit_has_soft(d->s, u->unit))
		return false;
	hv_unit_step_mask(d->s, u->unit, true, &soft);
	if (hv_mask_test(&soft, d->n))
		return false;
	for (unsigned i = 0; i < d->p->nw; i++)
		any |= soft.w[i] & d->rq->idl.w[i] & ~d->rq->tik.w[i] & valid->w[i];
	return any != 0;
}

/* 11.4 b to e: may the queued unit q come to this pCPU? def goes on otherwise. */
static bool may_take(const struct decision *d, const struct c2_unit *q, const struct c2_unit *def)
{
	if (!hv_unit_runnable(q->unit) || !hv_mask_test(&q->unit->hard, d->n))
		return false;
	/* Told to another pCPU that has yet to come for it (bug 9). */
	if (q->tcpu != HV_NO_PCPU && q->tcpu != d->n && hv_mask_test(&d->rq->tik, q->tcpu))
		return false;
	/* Moving costs: the lead must be worth it. Q8: against idle as well. */
	return c2_home(q) == d->n || def->credit + d->p->resist <= q->credit;
}

/* Section 11. */
static struct c2_unit *choose(const struct decision *d, struct c2_unit *prev)
{
	struct c2_unit *def = prev;
	struct sorted_node *next;
	bool yield = false;

	if (!c2_is_idle(prev)) {
		yield = prev->flags & C2_YIELD;
		prev->flags &= ~(unsigned)C2_YIELD;
		if (!yield && d->p->ratelimit && d->prev_runnable &&
		    c2_since_turn(prev->unit->state_entry, d->now) < (uint64_t)d->p->ratelimit)
			return prev;
		if (!d->prev_runnable || push_out(d, prev))
			def = d->idle;
	}
	for (struct sorted_node *n = sorted_queue_head(&d->rq->queue); n; n = next) {
		struct c2_unit *q = c2_of_node(n);

		next = n->next; /* a failed grab takes q off the queue */
		if (!yield && q->credit <= def->credit)
			break;
		if (may_take(d, q, def) && (!c2_is_capped(q) || c2_grab_budget(d->s, q, d->now)))
			return q;
	}
	return def;
}

/* Section 10; inflight: credit of a unit that is being switched out and will be queued. */
static hv_time slice_of(const struct decision *d, const struct c2_unit *u, int32_t inflight)
{
	const struct c2_unit *head = c2_queue_head(d->rq);
	int64_t floor = C2_MIN_SLICE, rival = 0, lead, t = 0;

	if (d->p->ratelimit) {
		int64_t rest = d->p->ratelimit;

		if (u->unit->is_running)
			rest += u->unit->state_entry - d->now;
		if (rest > floor)
			floor = rest;
	}
	if (head && head->credit > 0)
		rival = head->credit;
	if (inflight > rival)
		rival = inflight;
	lead = u->credit - rival;
	if (lead > 0)
		t = c2_credit_to_time(u, lead);
	if (c2_is_capped(u) && u->budget < t)
		t = u->budget;
	if (t < floor)
		return floor;
	return t > C2_MAX_SLICE ? C2_MAX_SLICE : t;
}

/* 12.6: everything that follows from choosing a guest's unit. */
static hv_time commit_unit(const struct decision *d, struct c2_unit *prev, struct c2_unit *u)
{
	struct c2_runq *rq = d->rq;
	const struct c2_unit *head;

	if (u != prev) {
		c2_runq_remove(rq, u);
		u->flags |= C2_SCHED;
	} else {
		c2_load_update(d->p, rq, u, 0, d->now);
	}
	/* Before balancing, which must not take this pCPU for idle. */
	if (hv_mask_test(&rq->idl, d->n)) {
		hv_mask_clear(&rq->idl, d->n);
		c2_cor_clear(d->p, rq, d->n);
	}
	head = c2_queue_head(rq);
	if (u->credit <= 0 && (!head || head->credit <= 0)) {
		c2_reset(d->s, rq, u, d->n, d->now);
		c2_balance(d->s, rq, d->now);
	}
	u->since = d->now;
	u->tcpu = HV_NO_PCPU;
	if (c2_home(u) != d->n) {
		/* Changing pCPUs every few us earns more than it burns, for as long as no reset. */
		u->credit = u->credit < C2_CREDIT_TOP - C2_MIG_COMP ? u->credit + C2_MIG_COMP
								    : C2_CREDIT_TOP;
		hv_unit_assign(u->unit, c2_pcpu(d->p, d->n)->res);
		u->unit->migrated = true;
	}
	return slice_of(d, u, prev->flags & C2_REQUEUE ? prev->credit : 0);
}

/* 12.7: the pCPU goes idle, or its idle unit works for the hypervisor. */
static void commit_idle(const struct decision *d, bool tasklet)
{
	struct c2_runq *rq = d->rq;
	bool idl = hv_mask_test(&rq->idl, d->n);

	if (tasklet && idl) {
		hv_mask_clear(&rq->idl, d->n);
		c2_cor_clear(d->p, rq, d->n);
	} else if (!tasklet && !idl) {
		hv_mask_set(&rq->idl, d->n);
		c2_cor_set(d->p, rq, d->n);
	}
	c2_load_update(d->p, rq, NULL, 0, d->now);
}

void c2_do_schedule(struct hv_sched *s, struct hv_resource *r, struct hv_unit *prev_unit,
		    hv_time now, bool tasklet)
{
	struct c2_pcpu *pc = r->priv;
	struct decision d = {.s = s,
			     .p = c2_sched(s),
			     .rq = pc->rq,
			     .idle = c2_unit(r->idle),
			     .n = r->master,
			     .now = now};
	struct c2_unit *prev = c2_unit(prev_unit), *next;

	HV_ASSERT(s->sys, hv_lock_held(&d.rq->lock));
	HV_ASSERT(s->sys, r->curr == prev_unit);
	if (hv_mask_test(&d.rq->tik, d.n)) {
		hv_mask_clear(&d.rq->tik, d.n);
		c2_cor_set(d.p, d.rq, d.n);
	}
	c2_burn(prev, now);
	if (prev->budget <= 0)
		c2_grab_budget(s, prev, now); /* or else it is parked */
	d.prev_runnable = hv_unit_runnable(prev_unit);
	if (tasklet) {
		prev->flags &= ~(unsigned)C2_YIELD;
		next = d.idle;
	} else {
		next = choose(&d, prev);
	}
	if (next != prev && !c2_is_idle(prev) && d.prev_runnable)
		prev->flags |= C2_REQUEUE;
	next->unit->migrated = false;
	if (c2_is_idle(next)) {
		commit_idle(&d, tasklet);
		prev_unit->next_time = -1;
	} else {
		/* Now: balancing may mark the chosen unit for migration, yet it is loaded first. */
		hv_unit_runnable_state(next->unit);
		prev_unit->next_time = commit_unit(&d, prev, next);
	}
	prev_unit->next = next->unit;
	if (next != prev) {
		d.p->curr[d.n] = next;
		d.p->turn[d.n] = now;
	}
}
