/* SPDX-License-Identifier: MIT */
/*
 * rtds: where units wait, and which pCPU a unit that waits asks for a pass (rtds sections 3, 8).
 *
 * The search looks at the pCPUs once, from the unit's own one upwards and round: the first idle one
 * wins, else the first of those with the lowest priority, if that is lower than the unit's. Both
 * come from arrays of the pool, so that no unit is touched.
 */
#include "policy/rtds.h"

void rtds_enqueue(struct rtds_pool *p, struct rtds_unit *u)
{
	HV_ASSERT(u->unit->sys, hv_lock_held(&p->lock) && u->place == RTDS_NOWHERE);
	if (u->left > 0 || u->extratime) {
		u->place = RTDS_IN_RUNQ;
		rtds_queue_insert(&p->runq, &u->run, u->rank, &u->unit->hard);
	} else {
		u->place = RTDS_DEPLETED;
		p->nr_depleted++;
	}
}

void rtds_dequeue(struct rtds_pool *p, struct rtds_unit *u)
{
	HV_ASSERT(u->unit->sys, hv_lock_held(&p->lock) && u->place != RTDS_NOWHERE);
	if (u->place == RTDS_IN_RUNQ)
		rtds_queue_remove(&p->runq, &u->run);
	else
		p->nr_depleted--;
	u->place = RTDS_NOWHERE;
}

/* First member of m from c upwards, with wrap-around; HV_NO_PCPU if it is empty. */
static unsigned first_from(const struct hv_mask *m, unsigned c, unsigned nw)
{
	unsigned n = hv_mask_next(m, c, nw);

	return n != HV_NO_PCPU ? n : hv_mask_first(m, nw);
}

/* The first of the lowest priority among `lowest`, unless HV_NO_PCPU, and the bits of word i. */
static unsigned lower_in_word(const struct rtds_pool *p, unsigned lowest, unsigned i, uint64_t bits)
{
	if (lowest == HV_NO_PCPU && bits) {
		lowest = 64 * i + (unsigned)__builtin_ctzll(bits);
		bits &= bits - 1;
	}
	for (; bits; bits &= bits - 1) {
		unsigned c = 64 * i + (unsigned)__builtin_ctzll(bits);

		if (rtds_compare(p->running[c], p->running[lowest]) < 0)
			lowest = c;
	}
	return lowest;
}

/* pCPU of the lowest priority among those of m, none of which is idle; the first from start on. */
static unsigned lowest_priority(const struct rtds_pool *p, const struct hv_mask *m, unsigned start,
				unsigned nw)
{
	unsigned i = start / 64, lowest;
	uint64_t before = (1ULL << start % 64) - 1;

	lowest = lower_in_word(p, HV_NO_PCPU, i, m->w[i] & ~before);
	for (unsigned k = i + 1; k < nw; k++)
		lowest = lower_in_word(p, lowest, k, m->w[k]);
	for (unsigned k = 0; k < i; k++)
		lowest = lower_in_word(p, lowest, k, m->w[k]);
	return lower_in_word(p, lowest, i, m->w[i] & before);
}

void rtds_tickle(struct hv_sched *s, const struct rtds_unit *new)
{
	struct rtds_pool *p = rtds_pool(s);
	unsigned start = new->unit->res->master;
	struct hv_mask open = {{0}}, idle;
	unsigned c;

	HV_ASSERT(s->sys, hv_lock_held(&p->lock) && !new->unit->idle);
	hv_mask_and(&open, &new->unit->hard, hv_unit_valid(s), s->nw);
	hv_mask_andnot(&open, &open, &p->tickled, s->nw);
	hv_mask_and(&idle, &open, &p->idle, s->nw);
	c = first_from(&idle, start, s->nw);
	if (c == HV_NO_PCPU) {
		c = lowest_priority(p, &open, start, s->nw);
		if (c == HV_NO_PCPU || rtds_compare(p->running[c], new->rank) >= 0)
			return;
	}
	hv_mask_set(&p->tickled, c);
	hv_tickle(s, c);
}
