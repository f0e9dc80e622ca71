/* SPDX-License-Identifier: MIT */
/*
 * rtds: periods, and the timer that begins them (rtds sections 3, 4, 9).
 *
 * The replenishment queue holds all units that are queued, run, or are being switched out; the
 * timer is set for the deadline of its front. As the queue puts levels before deadlines, and keeps
 * in place a unit whose level rises, the front is not always the unit whose deadline comes first: a
 * demoted unit may be replenished late. That is what Xen does, so it is done here.
 *
 * Xen walks the queue for every unit that it puts back, which is quadratic when many deadlines are
 * one; here a step costs O(log n).
 */
#include "policy/rtds.h"

static struct rtds_unit *front(const struct rtds_pool *p)
{
	return p->replq.head ? rtds_unit_of_repl(p->replq.head) : NULL;
}

static void aim_timer(struct rtds_pool *p)
{
	const struct rtds_unit *u = front(p);

	if (u)
		hv_timer_set(&p->timer, u->rank.deadline);
	else
		hv_timer_stop(&p->timer);
}

static void insert(struct rtds_pool *p, struct rtds_unit *u)
{
	HV_ASSERT(u->unit->sys, hv_lock_held(&p->lock) && !u->in_repl);
	rtds_queue_insert(&p->replq, &u->repl, u->rank, &u->unit->hard);
	u->in_repl = true;
}

static void remove(struct rtds_pool *p, struct rtds_unit *u)
{
	HV_ASSERT(u->unit->sys, hv_lock_held(&p->lock) && u->in_repl);
	rtds_queue_remove(&p->replq, &u->repl);
	u->in_repl = false;
}

void rtds_replq_insert(struct rtds_pool *p, struct rtds_unit *u)
{
	insert(p, u);
	if (front(p) == u)
		aim_timer(p);
}

void rtds_replq_remove(struct rtds_pool *p, struct rtds_unit *u)
{
	bool first = front(p) == u;

	remove(p, u);
	if (first)
		aim_timer(p);
}

void rtds_replq_reinsert(struct rtds_pool *p, struct rtds_unit *u)
{
	bool first = front(p) == u;

	remove(p, u);
	insert(p, u);
	if (first || front(p) == u)
		aim_timer(p);
}

/* Deadlines are on the grid d + k * p, so they do not drift, however late this comes. */
void rtds_new_period(struct rtds_pool *p, struct rtds_unit *u, hv_time now)
{
	struct hv_sys *sys = u->unit->sys;

	HV_ASSERT(sys, hv_lock_held(&p->lock) && now >= u->rank.deadline && u->period > 0);
	u->rank.deadline += ((now - u->rank.deadline) / u->period + 1) * u->period;
	u->rank.level = 0;
	u->since = now;
	u->left = u->budget;
	HV_ASSERT(sys, u->rank.deadline > now);
	if (rtds_is_current(u))
		p->running[u->unit->res->master] = u->rank;
}

/* u has got a new period: whom does that call to run? */
static void tickle_for(struct hv_sched *s, struct rtds_unit *u)
{
	struct rtds_pool *p = rtds_pool(s);
	struct rtds_node *first = p->runq.head;

	if (rtds_is_current(u) && first) {
		if (rtds_compare(u->rank, first->rank) < 0)
			rtds_tickle(s, rtds_unit_of_run(first));
	} else {
		bool was_depleted = u->depleted;

		u->depleted = false;
		if (was_depleted && u->place != RTDS_NOWHERE)
			rtds_tickle(s, u);
	}
}

void rtds_replenish(struct hv_timer *t)
{
	struct hv_sched *s = t->data;
	struct rtds_pool *p = rtds_pool(s);
	hv_time now = hv_now(s->sys);
	struct rtds_unit *done = NULL, *u;

	hv_lock_acquire(s->sys, &p->lock);
	while ((u = front(p)) && now >= u->rank.deadline) {
		remove(p, u);
		if (u->place == RTDS_NOWHERE) {
			rtds_new_period(p, u, now);
		} else {
			rtds_dequeue(p, u);
			rtds_new_period(p, u, now);
			rtds_enqueue(p, u);
		}
		u->done = done;
		done = u;
	}
	for (; done; done = done->done) {
		tickle_for(s, done);
		insert(p, done);
	}
	if (front(p))
		aim_timer(p);
	hv_lock_release(s->sys, &p->lock);
}
