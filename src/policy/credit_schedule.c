/* SPDX-License-Identifier: MIT */
/*
 * Credit, section 9: a pCPU chooses its next unit.
 *
 * What runs now goes back to the queue and the head of the queue runs, for a whole timeslice. When
 * the head has no credit left (or there is none) a better unit is looked for on other pCPUs, but
 * not more often than the balance rate limit allows: a pCPU that has looked just now goes idle even
 * if it was asked to come for a unit elsewhere (fault 11 of the real code, kept).
 */
#include "policy/credit.h"

/* Step 3: u was switched in too short a time ago to be preempted. */
static bool rate_limited(const struct c1_sched *p, const struct c1_unit *u, hv_time now,
			 hv_time *slice)
{
	hv_time runtime = now - u->unit->state_entry;

	if (runtime < 0)
		runtime = 0;
	if ((u->flags & C1_YIELD) || p->ratelimit == 0 || runtime >= p->ratelimit ||
	    !hv_unit_runnable(u->unit))
		return false;
	*slice = runtime < C1_MIN_TIMER ? C1_MIN_TIMER : p->ratelimit - runtime;
	return true;
}

/* One round of step 5: X, taken off its queue. */
static struct c1_unit *take_next(struct hv_sched *s, struct hv_resource *r, hv_time now,
				 bool tasklet)
{
	struct c1_sched *p = c1_sched(s);
	struct c1_pcpu *pc = c1_pcpu(r);
	struct c1_unit *x = tasklet ? pc->idle : c1_queue_head(&pc->queue);

	HV_ASSERT(s->sys, x && (x->flags & C1_QUEUED));
	if (!tasklet && x->pri <= C1_OVER && now - pc->last_balance > p->balance_ratelimit) {
		struct c1_unit *stolen;

		pc->last_balance = now;
		stolen = c1_balance(s, r, x, now);
		if (stolen) {
			stolen->unit->migrated = true;
			return stolen;
		}
	}
	c1_queue_remove(p, pc, x);
	x->unit->migrated = false;
	if (tasklet)
		x->pri = C1_BOOST;
	return x;
}

/* The ticker runs while a guest does, at multiples of its period. */
static void set_ticker(const struct c1_sched *p, struct c1_pcpu *pc, bool was_idle, bool is_idle,
		       hv_time now)
{
	if (is_idle && !was_idle)
		hv_timer_stop(&pc->ticker);
	else if (was_idle && !is_idle)
		hv_timer_set(&pc->ticker, now + p->tick - now % p->tick);
}

void c1_do_schedule(struct hv_sched *s, struct hv_resource *r, struct hv_unit *prev, hv_time now,
		    bool tasklet)
{
	struct c1_sched *p = c1_sched(s);
	struct c1_pcpu *pc = c1_pcpu(r);
	struct c1_unit *u = c1_unit(prev), *x;
	bool was_idle = c1_is_idle(u);

	HV_ASSERT(s->sys, hv_lock_held(r->lock) && r->curr == prev);
	prev->next_time = p->tslice;
	if (was_idle) {
		u->pri = C1_IDLE;
	} else {
		c1_burn(u, now);
		u->last_sched = now;
		if (!tasklet && rate_limited(p, u, now, &prev->next_time)) {
			hv_unit_runnable_state(prev);
			prev->migrated = false;
			prev->next = prev;
			return;
		}
		u->start -= now;
	}
	if (hv_unit_runnable(prev))
		c1_queue_insert(p, pc, u);
	else
		c1_nr_runnable_down(p, pc);
	/* One whose domain is being paused may still be queued; Xen forgets to uncount it. */
	while (x = take_next(s, r, now, tasklet), !hv_unit_runnable_state(x->unit))
		pc->nr_lost++;
	if (!tasklet && x->pri == C1_IDLE)
		hv_mask_set(&p->idlers, r->master);
	else
		hv_mask_clear(&p->idlers, r->master);
	if (c1_is_idle(x))
		prev->next_time = -1;
	else
		x->start += now;
	set_ticker(p, pc, was_idle, c1_is_idle(x), now);
	prev->next = x->unit;
}
