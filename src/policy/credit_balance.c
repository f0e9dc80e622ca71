/* SPDX-License-Identifier: MIT */
/*
 * Credit, section 10: a pCPU without good work steals a unit of better priority from a busy one.
 *
 * All nodes are searched for units whose soft affinity wants this pCPU before any other unit is
 * taken; the own node comes first, and within a node the search goes on behind the pCPU where the
 * last one was found. Only pCPUs with two units or more, and with a queued unit that may be good
 * enough, are looked at, so that the search is short when there is nothing to find.
 *
 * Law: a stolen unit is on no queue, counts for the thief, and is assigned to it.
 */
#include "policy/credit.h"

/* A search. */
struct theft {
	struct hv_sched *s;
	struct c1_sched *p;
	struct hv_resource *r; /* the thief */
	int32_t pri;	       /* better than this one */
	bool soft;
	hv_time now;
};

/* It ran so short a time ago that its cache is worth more than waiting. */
static bool is_cache_hot(const struct theft *t, const struct c1_unit *u)
{
	return t->p->migration_delay > 0 && t->now - u->last_sched < t->p->migration_delay;
}

/* The thief's pCPU is one for this step. When soft affinity counts it meets the hard one. */
static bool wants(const struct theft *t, const struct c1_unit *u)
{
	uint32_t c = t->r->master;

	if (!hv_mask_test(&u->unit->hard, c))
		return false;
	return !t->soft || (hv_unit_has_soft(t->s, u->unit) && hv_mask_test(&u->unit->soft, c));
}

/* The victim's lock is held. */
static struct c1_unit *find_loot(const struct theft *t, const struct c1_pcpu *victim)
{
	const struct c1_queue *q = &victim->queue;

	if (victim->res->curr->idle)
		return NULL;
	for (const struct c1_link *l = q->ring.next; l != &q->ring; l = l->next) {
		struct c1_unit *u = c1_of_queue(l);

		if (u->pri <= t->pri)
			break;
		if (!(u->flags & C1_YIELD) && !u->unit->is_running && wants(t, u) &&
		    !is_cache_hot(t, u))
			return u;
	}
	return NULL;
}

static struct c1_unit *steal_from(const struct theft *t, uint32_t c)
{
	struct hv_resource *r = hv_resource_of(t->s->sys, c);
	struct c1_pcpu *victim = c1_pcpu(r);
	struct hv_lock *lock = r->lock;
	struct c1_unit *u;

	HV_ASSERT(t->s->sys, r != t->r);
	if (!hv_lock_try(t->s->sys, lock))
		return NULL;
	u = find_loot(t, victim);
	if (u) {
		c1_queue_remove(t->p, victim, u);
		c1_nr_runnable_down(t->p, victim);
		hv_unit_assign(u->unit, t->r);
		c1_nr_runnable_up(t->p, c1_pcpu(t->r));
	}
	hv_lock_release(t->s->sys, lock);
	return u;
}

/* pCPUs of a node that run guests and have more than one unit, and may have one of the kind. */
static bool victims(const struct theft *t, uint32_t node, struct hv_mask *m)
{
	const struct hv_mask *valid = hv_unit_valid(t->s), *of_node = &t->p->host->node[node];
	uint64_t any = 0;

	for (unsigned i = 0; i < t->p->nw; i++) {
		m->w[i] = valid->w[i] & of_node->w[i] & t->p->surplus.w[i] & ~t->p->idlers.w[i];
		if (t->soft)
			m->w[i] &= t->p->soft.w[i];
		if (t->pri == C1_OVER)
			m->w[i] &= t->p->credit_queued.w[i];
		if (i == t->r->master / 64)
			m->w[i] &= ~(1ULL << t->r->master % 64);
		any |= m->w[i];
	}
	return any != 0;
}

static struct c1_unit *search_node(const struct theft *t, uint32_t node)
{
	struct hv_mask m;
	uint32_t first, c;

	if (!victims(t, node, &m))
		return NULL;
	first = c = hv_mask_after(&m, t->p->balance_bias[node], t->p->nw);
	do {
		struct c1_unit *u = steal_from(t, c);

		if (u) {
			t->p->balance_bias[node] = c;
			return u;
		}
		c = hv_mask_after(&m, c, t->p->nw);
	} while (c != first);
	return NULL;
}

struct c1_unit *c1_balance(struct hv_sched *s, struct hv_resource *r, const struct c1_unit *x,
			   hv_time now)
{
	struct c1_sched *p = c1_sched(s);
	struct theft t = {.s = s, .p = p, .r = r, .pri = x->pri, .now = now};
	uint32_t own = c1_pcpu(r)->node, nr = p->host->nr_nodes;

	HV_ASSERT(s->sys, hv_lock_held(r->lock));
	if (!hv_mask_test(hv_unit_valid(s), r->master))
		return NULL; /* going off line */
	for (int step = 0; step < 2; step++) {
		t.soft = step == 0;
		for (uint32_t n = 0; n < nr; n++) {
			struct c1_unit *u = search_node(&t, (own + n) % nr);

			if (u)
				return u;
		}
	}
	return NULL;
}
