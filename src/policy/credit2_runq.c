/* SPDX-License-Identifier: MIT */
/*
 * Credit2, sections 4, 5, 7 and 8.2: which pCPUs share a runqueue, the queue and the members of a
 * runqueue, its masks, and the reset of its credits.
 *
 * Why the queue may be a tree. In the spec it is a list that is searched from the head for the
 * first unit with strictly less credit and is never sorted again. The list is sorted at all times
 * nevertheless: the credit of a queued unit changes at a reset only, and a reset maps every credit
 * c of the runqueue to min(c + amount, ceiling) with one amount, which never turns two credits
 * round. (A current unit is burned first, but is not queued.) So the place behind all units with at
 * least as much credit is the place that the walk would find, and after a reset the structure is
 * still right: only the keys are rewritten.
 */
#include "policy/credit2.h"

/* ---- arrangement (section 4) */

/* Is c of the same part of the machine as the runqueue's representative? */
static bool topology_match(const struct hv_topology *t, enum c2_arrangement by, unsigned rep,
			   unsigned c)
{
	switch (by) {
	case C2_ALL:
		return true;
	case C2_BY_CORE:
		return t->core[rep] == t->core[c] && t->socket[rep] == t->socket[c];
	case C2_BY_SOCKET:
		return t->socket[rep] == t->socket[c];
	case C2_BY_NODE:
		return t->node[rep] == t->node[c];
	case C2_BY_CPU:
		break;
	}
	return false;
}

/* Hardware threads of c's core, in this pool, on line, or not: they may join later. */
static unsigned nr_threads(const struct hv_topology *t, unsigned c)
{
	unsigned n = 0;

	for (uint32_t o = 0; o < t->nr_pcpus; o++)
		n += t->core[o] == t->core[c];
	return n;
}

/* Sibling room test: all threads of the cores present in rq and of c's own core fit. */
static bool sibling_room(struct hv_sys *sys, const struct c2_runq *rq, unsigned c, unsigned limit,
			 unsigned nw)
{
	const struct hv_topology *t = hv_topology(sys);
	struct hv_mask left = rq->act;
	unsigned threads = nr_threads(t, c);

	for (unsigned m = hv_mask_first(&left, nw); m != HV_NO_PCPU; m = hv_mask_first(&left, nw)) {
		threads += nr_threads(t, m);
		hv_mask_andnot(&left, &left, hv_core_mask(sys, m), nw);
	}
	return threads <= limit;
}

/* Largest number of pCPUs of a runqueue, from the logical CPUs of the whole host (Q14). */
static unsigned runq_limit(const struct hv_sched *s, unsigned nw)
{
	unsigned online = hv_mask_weight(hv_online_mask(s->sys), nw);
	unsigned max = (unsigned)s->params[C2_P_MAX_CPUS_RUNQUEUE];

	HV_ASSERT(s->sys, online > 0);
	HV_ASSERT(s->sys, max > 0);
	return online / ((online - 1) / max + 1);
}

/* A new runqueue with the lowest unused id; *link is where it belongs in the list. */
static struct c2_runq *runq_create(struct hv_sched *s, unsigned c)
{
	struct c2_sched *p = c2_sched(s);
	struct c2_runq **link = &p->runqs, *rq;
	int id = 0;

	while (*link && (*link)->id == id) {
		link = &(*link)->next;
		id++;
	}
	rq = hv_alloc(s->sys, sizeof(*rq));
	if (!rq)
		return NULL;
	rq->sys = s->sys;
	hv_lock_init(s->sys, &rq->lock);
	rq->id = id;
	rq->bias = c;
	rq->next = *link;
	*link = rq;
	return rq;
}

struct c2_runq *c2_runq_join(struct hv_sched *s, unsigned c)
{
	struct c2_sched *p = c2_sched(s);
	enum c2_arrangement by = (enum c2_arrangement)s->params[C2_P_RUNQUEUE];
	const struct hv_topology *topo = hv_topology(s->sys);
	unsigned limit = runq_limit(s, p->nw);
	struct c2_runq *best = NULL;

	HV_ASSERT(s->sys, hv_lock_held(&p->lock));
	for (struct c2_runq *rq = p->runqs; rq; rq = rq->next) {
		if (!topology_match(topo, by, rq->bias, c))
			continue;
		if (hv_mask_intersects(hv_core_mask(s->sys, c), &rq->act, p->nw)) {
			best = rq; /* siblings stay together, beyond the limit if need be */
			break;
		}
		if (rq->refs < limit && (!best || rq->refs < best->refs) &&
		    (s->pool->gran != HV_GRAN_CPU || by == C2_ALL ||
		     sibling_room(s->sys, rq, c, limit, p->nw)))
			best = rq;
	}
	if (!best)
		best = runq_create(s, c);
	if (best)
		best->refs++;
	return best;
}

/* A running unit may have been asked to move to the runqueue that goes: it will pick another. */
static void forget_target(struct c2_sched *p, const struct c2_runq *gone)
{
	for (struct c2_runq *rq = p->runqs; rq; rq = rq->next) {
		for (struct c2_unit *m = rq->members; m; m = m->member_next) {
			if (m->mig_target != gone)
				continue;
			m->mig_target = NULL;
			m->flags &= ~(unsigned)C2_MIGREQ;
		}
	}
}

void c2_runq_leave(struct hv_sched *s, struct c2_runq *rq)
{
	struct c2_sched *p = c2_sched(s);

	HV_ASSERT(s->sys, hv_lock_held(&p->lock));
	HV_ASSERT(s->sys, rq->refs > 0);
	if (--rq->refs)
		return;
	HV_ASSERT(s->sys, rq->ncpu == 0);
	HV_ASSERT(s->sys, !rq->members);
	forget_target(p, rq);
	for (struct c2_runq **link = &p->runqs; *link; link = &(*link)->next) {
		if (*link == rq) {
			*link = rq->next;
			break;
		}
	}
	hv_free(s->sys, rq, sizeof(*rq));
}

void c2_runq_activate(struct hv_sched *s, struct c2_runq *rq, struct hv_resource *r)
{
	struct c2_sched *p = c2_sched(s);
	unsigned c = r->master;
	struct c2_pcpu *pc = c2_pcpu(p, c);
	const struct hv_mask *core = hv_core_mask(s->sys, c);

	HV_ASSERT(s->sys, hv_lock_held(&rq->lock));
	HV_ASSERT(s->sys, pc && !hv_mask_test(&rq->act, c));
	if (!rq->ncpu) {
		HV_ASSERT(s->sys, !rq->members && !rq->queue.nr);
		rq->maxw = 1;
		p->nr_active++;
	}
	pc->res = r;
	p->curr[c] = c2_unit(r->curr);
	p->turn[c] = r->curr->state_entry;
	pc->cor_stale = false;
	hv_mask_zero(&pc->sib, p->nw);
	hv_mask_set(&pc->sib, c);
	hv_mask_for_each(m, &rq->act, p->nw)
	{
		if (!hv_mask_test(core, m))
			continue;
		hv_mask_set(&c2_pcpu(p, m)->sib, c);
		hv_mask_set(&pc->sib, m);
		if (!hv_mask_test(&rq->cor, m)) /* Q7 begins */
			pc->cor_stale = true;
	}
	hv_mask_set(&rq->idl, c);
	hv_mask_set(&rq->act, c);
	hv_mask_set(&rq->cor, c);
	hv_mask_set(&p->initialised, c);
	if (++rq->ncpu == 1)
		rq->bias = c;
}

void c2_runq_deactivate(struct hv_sched *s, struct c2_runq *rq, unsigned c)
{
	struct c2_sched *p = c2_sched(s);

	HV_ASSERT(s->sys, hv_lock_held(&rq->lock));
	HV_ASSERT(s->sys, hv_mask_test(&rq->act, c));
	hv_mask_clear(&rq->idl, c);
	hv_mask_clear(&rq->cor, c);
	hv_mask_clear(&rq->act, c);
	hv_mask_clear(&rq->tik, c);
	hv_mask_for_each(m, &rq->act, p->nw) hv_mask_clear(&c2_pcpu(p, m)->sib, c);
	c2_pcpu(p, c)->res = NULL;
	if (--rq->ncpu == 0)
		p->nr_active--;
	else if (rq->bias == c)
		rq->bias = hv_mask_first(&rq->act, p->nw);
	hv_mask_clear(&p->initialised, c);
}

/* ---- queue and members (section 5) */

void c2_runq_insert(struct c2_runq *rq, struct c2_unit *u)
{
	HV_ASSERT(rq->sys, hv_lock_held(&rq->lock));
	HV_ASSERT(rq->sys, u->rq == rq);
	HV_ASSERT(rq->sys, !(u->flags & (C2_QUEUED | C2_SCHED)));
	HV_ASSERT(rq->sys, !c2_is_idle(u));
	u->flags |= C2_QUEUED;
	sorted_queue_insert(&rq->queue, &u->node, -(int64_t)u->credit);
}

void c2_runq_remove(struct c2_runq *rq, struct c2_unit *u)
{
	HV_ASSERT(rq->sys, hv_lock_held(&rq->lock));
	HV_ASSERT(rq->sys, u->rq == rq && (u->flags & C2_QUEUED));
	u->flags &= ~(unsigned)C2_QUEUED;
	sorted_queue_remove(&rq->queue, &u->node);
}

void c2_update_max_weight(struct c2_runq *rq, uint32_t new_weight, uint32_t old_weight)
{
	if (new_weight > rq->maxw) {
		rq->maxw = new_weight;
	} else if (old_weight == rq->maxw) {
		uint32_t max = 1;

		for (struct c2_unit *m = rq->members; m && max < old_weight; m = m->member_next)
			if (m->weight > max)
				max = m->weight;
		rq->maxw = max;
	}
}

void c2_assign(struct c2_runq *rq, struct c2_unit *u)
{
	HV_ASSERT(rq->sys, hv_lock_held(&rq->lock));
	HV_ASSERT(rq->sys, !u->rq);
	u->rq = rq;
	u->member_next = NULL;
	u->member_prev = rq->members_tail;
	if (rq->members_tail)
		rq->members_tail->member_next = u;
	else
		rq->members = u;
	rq->members_tail = u;
	rq->nr_members++;
	c2_update_max_weight(rq, u->weight, 0);
	rq->pavg += u->load;
}

void c2_deassign(struct c2_unit *u)
{
	struct c2_runq *rq = u->rq;

	HV_ASSERT(rq->sys, hv_lock_held(&rq->lock));
	HV_ASSERT(rq->sys, !(u->flags & (C2_QUEUED | C2_SCHED)));
	if (u->member_prev)
		u->member_prev->member_next = u->member_next;
	else
		rq->members = u->member_next;
	if (u->member_next)
		u->member_next->member_prev = u->member_prev;
	else
		rq->members_tail = u->member_prev;
	rq->nr_members--;
	c2_update_max_weight(rq, 0, u->weight);
	rq->pavg = rq->pavg > u->load ? rq->pavg - u->load : 0;
	u->rq = NULL;
}

/* ---- masks (section 7) */

void c2_cor_set(struct c2_sched *p, struct c2_runq *rq, unsigned c)
{
	const struct hv_mask *sib = &c2_pcpu(p, c)->sib;
	uint64_t busy = 0;

	for (unsigned i = 0; i < p->nw; i++)
		busy |= sib->w[i] & ~(rq->idl.w[i] & ~rq->tik.w[i]);
	if (busy)
		return;
	hv_mask_or(&rq->cor, &rq->cor, sib, p->nw);
	if (c2_pcpu(p, c)->cor_stale)
		hv_mask_for_each(m, sib, p->nw) c2_pcpu(p, m)->cor_stale = false;
}

void c2_cor_clear(struct c2_sched *p, struct c2_runq *rq, unsigned c)
{
	const struct hv_mask *sib = &c2_pcpu(p, c)->sib;

	if (hv_mask_subset(sib, &rq->cor, p->nw))
		hv_mask_andnot(&rq->cor, &rq->cor, sib, p->nw);
}

void c2_tickle_pcpu(struct hv_sched *s, struct c2_runq *rq, unsigned c)
{
	HV_ASSERT(s->sys, hv_lock_held(&rq->lock));
	HV_ASSERT(s->sys, hv_mask_test(&rq->act, c));
	hv_mask_set(&rq->tik, c);
	c2_cor_clear(c2_sched(s), rq, c);
	hv_tickle(s, c);
}

/* ---- reset (section 8.2) */

void c2_reset(struct hv_sched *s, struct c2_runq *rq, struct c2_unit *chosen, unsigned c,
	      hv_time now)
{
	/* After a long overrun one unit of credit would leave it without: double (bug 5). */
	int32_t amount = chosen->credit == C2_CREDIT_MIN ? 2 * C2_CREDIT_INIT : C2_CREDIT_INIT;

	HV_ASSERT(s->sys, hv_lock_held(&rq->lock));
	HV_ASSERT(s->sys, chosen->credit <= 0);
	for (struct c2_unit *m = rq->members; m; m = m->member_next) {
		if (c2_is_current(m)) {
			c2_burn(m, now);
			if (m->budget <= 0)
				c2_tickle_pcpu(s, rq, c2_home(m));
		}
		m->credit += amount;
		if (m->credit > C2_CREDIT_MAX)
			m->credit = C2_CREDIT_MAX;
		m->since = now;
		if (m->flags & C2_QUEUED)
			sorted_queue_rekey(&m->node, -(int64_t)m->credit);
		if (m == rq->members) /* the record stands behind the first unit's, as in Xen */
			hv_trace_emit(s->sys, &(struct hv_trace){.kind = HV_TRACE_RESET,
								 .time = now,
								 .pcpu = c,
								 .a = rq->id});
	}
}
