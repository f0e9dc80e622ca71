/* SPDX-License-Identifier: MIT */
/*
 * Credit, sections 1 and 7: what happens to a unit.
 *
 * Boost: a unit that wakes and has credit left goes ahead of all that run, until its next tick or
 * the next accounting. It must have slept for that: one that was just placed, or that comes back
 * from being parked, is not boosted (bugs 66c7449a4d and 5c8c0ae7c4 of section 15).
 */
#include "policy/credit.h"

/* A unit comes while it cannot run: new vCPUs are down, and a domain that moves is paused. */
void c1_insert_unit(struct hv_sched *s, struct hv_unit *unit)
{
	struct c1_unit *u = c1_unit(unit);
	struct hv_lock *lock = hv_unit_lock(unit);

	HV_ASSERT(s->sys, !unit->idle && !(u->flags & C1_QUEUED));
	HV_ASSERT(s->sys, !hv_unit_runnable(unit));
	hv_unit_assign(unit, c1_pick(s, unit));
	hv_lock_release(s->sys, lock);
}

void c1_remove_unit(struct hv_sched *s, struct hv_unit *unit)
{
	struct c1_sched *p = c1_sched(s);
	struct c1_unit *u = c1_unit(unit);
	struct hv_lock *lock;

	HV_ASSERT(s->sys, !unit->idle && !(u->flags & C1_QUEUED));
	if (u->flags & C1_PARKED) {
		u->flags &= ~(unsigned)C1_PARKED;
		lock = hv_unit_lock(unit);
		c1_unpark(u);
		hv_lock_release(s->sys, lock);
	}
	hv_lock_acquire(s->sys, &p->lock);
	if (u->flags & C1_ACTIVE)
		c1_deactivate(p, u);
	hv_lock_release(s->sys, &p->lock);
	HV_ASSERT(s->sys, !(u->flags & C1_QUEUED));
}

void c1_sleep(struct hv_sched *s, struct hv_unit *unit)
{
	struct c1_unit *u = c1_unit(unit);
	struct c1_pcpu *pc = c1_pcpu(unit->res);

	HV_ASSERT(s->sys, !unit->idle && hv_lock_held(unit->res->lock));
	if (c1_is_current(u)) {
		hv_tickle(s, unit->res->master);
	} else if (u->flags & C1_QUEUED) {
		c1_queue_remove(c1_sched(s), pc, u);
		c1_nr_runnable_down(c1_sched(s), pc);
	}
}

void c1_wake(struct hv_sched *s, struct hv_unit *unit)
{
	struct c1_unit *u = c1_unit(unit);
	struct c1_pcpu *pc = c1_pcpu(unit->res);
	bool placed;

	HV_ASSERT(s->sys, !unit->idle && hv_lock_held(unit->res->lock));
	if (c1_is_current(u) || (u->flags & C1_QUEUED))
		return;
	placed = u->flags & C1_MIGRATING;
	u->flags &= ~(unsigned)C1_MIGRATING;
	if (!placed && u->pri == C1_UNDER && !(u->flags & C1_PARKED))
		u->pri = C1_BOOST;
	c1_queue_insert(c1_sched(s), pc, u);
	c1_nr_runnable_up(c1_sched(s), pc);
	c1_tickle(s, u);
}

void c1_yield(struct hv_sched *s, struct hv_unit *unit)
{
	HV_ASSERT(s->sys, hv_lock_held(unit->res->lock));
	c1_unit(unit)->flags |= C1_YIELD;
}

/* It has used up more than its cap allows. */
void c1_park(struct hv_sched *s, struct c1_unit *u)
{
	HV_ASSERT(s->sys, !(u->flags & C1_PARKED));
	u->flags |= C1_PARKED;
	hv_unit_stop(u->unit, HV_PF_PARKED);
}

/* C1_PARKED goes last: it keeps the wake from boosting. */
void c1_unpark(struct c1_unit *u)
{
	hv_unit_go(u->unit, HV_PF_PARKED);
	u->flags &= ~(unsigned)C1_PARKED;
}
