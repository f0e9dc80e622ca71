/* SPDX-License-Identifier: MIT */
/*
 * Credit, section 8: the queue of a pCPU. By priority, first come first served among equals, with
 * the pCPU's idle unit at the tail whenever a guest's unit runs.
 *
 * Accounting changes the priorities of queued units where they stand, and only the next tick sorts
 * them. So a unit is put before the first one of lower priority, which is not the end of its
 * equals. That place is remembered for each priority (below[]): putting in and taking out cost
 * the same whatever the number of queued units. What thieves look for is counted as well.
 */
#include "policy/credit.h"

static inline int32_t pri_at(const struct c1_link *l)
{
	return c1_of_queue(l)->pri;
}

void c1_queue_init(struct c1_queue *q)
{
	c1_ring_init(&q->ring);
	for (int i = 0; i < C1_NR_GUEST_PRI; i++)
		q->below[i] = &q->ring;
	q->stale = false;
	q->nr_soft = q->nr_credit = 0;
}

/* The counts, and the pCPU's bits that say whether they are 0. */
static void count_in(struct c1_sched *p, struct c1_pcpu *pc, struct c1_unit *u)
{
	if (u->unit->soft_counts) {
		u->flags |= C1_SOFT;
		if (pc->queue.nr_soft++ == 0)
			hv_mask_set(&p->soft, pc->res->master);
	}
	if (u->pri > C1_OVER && pc->queue.nr_credit++ == 0)
		hv_mask_set(&p->credit_queued, pc->res->master);
}

static void count_out(struct c1_sched *p, struct c1_pcpu *pc, struct c1_unit *u)
{
	if ((u->flags & C1_SOFT) && --pc->queue.nr_soft == 0)
		hv_mask_clear(&p->soft, pc->res->master);
	if (u->pri > C1_OVER && --pc->queue.nr_credit == 0)
		hv_mask_clear(&p->credit_queued, pc->res->master);
	u->flags &= ~(unsigned)C1_SOFT;
}

/* Walk the queue for the places in below[]. */
static void find_places(struct c1_queue *q)
{
	struct c1_link *l = q->ring.next;

	for (int i = 0; i < C1_NR_GUEST_PRI; i++) {
		while (l != &q->ring && pri_at(l) >= -i)
			l = l->next;
		q->below[i] = l;
	}
	q->stale = false;
}

void c1_queue_insert(struct c1_sched *p, struct c1_pcpu *pc, struct c1_unit *u)
{
	struct c1_queue *q = &pc->queue;
	struct c1_link *at = &q->ring;

	HV_ASSERT(u->unit->sys, hv_lock_held(u->unit->res->lock) && !(u->flags & C1_QUEUED));
	if (q->stale)
		find_places(q);
	if (u->pri >= C1_OVER)
		at = q->below[-u->pri];
	if ((u->flags & C1_YIELD) && at != &q->ring && at->next != &q->ring &&
	    !c1_is_idle(c1_of_queue(at))) {
		at = at->next; /* one of lower priority goes first; below[] stays as it is */
	} else {
		/* It is the first below those that had no other one before this place. */
		for (int i = 0; i < C1_NR_GUEST_PRI && -i > u->pri; i++) {
			if (q->below[i] == at)
				q->below[i] = &u->queue;
		}
	}
	c1_link_before(at, &u->queue);
	u->flags |= C1_QUEUED;
	count_in(p, pc, u);
}

/* It has had its turn to yield, too. */
void c1_queue_remove(struct c1_sched *p, struct c1_pcpu *pc, struct c1_unit *u)
{
	struct c1_queue *q = &pc->queue;

	HV_ASSERT(u->unit->sys, hv_lock_held(u->unit->res->lock) && (u->flags & C1_QUEUED));
	for (int i = 0; i < C1_NR_GUEST_PRI && !q->stale; i++) {
		struct c1_link *l = q->below[i];

		if (l != &u->queue)
			continue;
		do
			l = l->next;
		while (l != &q->ring && pri_at(l) >= -i);
		q->below[i] = l;
	}
	c1_unlink(&u->queue);
	count_out(p, pc, u);
	u->flags &= ~(unsigned)(C1_QUEUED | C1_YIELD);
}

/* It stays where it is. */
void c1_set_pri(struct c1_sched *p, struct c1_unit *u, int32_t pri)
{
	struct c1_pcpu *pc = c1_pcpu(u->unit->res);

	HV_ASSERT(u->unit->sys, hv_lock_held(u->unit->res->lock));
	if (u->pri == pri)
		return;
	if (u->flags & C1_QUEUED) {
		count_out(p, pc, u);
		pc->queue.stale = true;
	}
	u->pri = pri;
	if (u->flags & C1_QUEUED)
		count_in(p, pc, u);
}

/* 8.2: UNDER and better first, then the rest; neither group is reordered. */
void c1_queue_sort(struct c1_queue *q)
{
	struct c1_link *end = q->ring.prev, *first_low = NULL, *next;
	bool last = c1_ring_empty(&q->ring);

	for (struct c1_link *l = q->ring.next; !last; l = next) {
		next = l->next;
		last = l == end;
		if (pri_at(l) < C1_UNDER) {
			if (!first_low)
				first_low = l;
		} else if (first_low) {
			c1_unlink(l);
			c1_link_before(first_low, l);
		}
	}
	find_places(q);
}
