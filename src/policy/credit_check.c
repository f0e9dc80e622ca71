/* SPDX-License-Identifier: MIT */
/*
 * Credit: what can be seen from outside, and the walk over all laws (told in credit.c and
 * credit_account.c).
 *
 * Nothing is changed here. The check takes no lock: it runs between operations.
 */
#include "engine/engine.h"
#include "policy/credit.h"
#include "policy/laws.h"

void c1_unit_state(const struct hv_sched *s, const struct hv_unit *unit, struct hv_state *out)
{
	const struct c1_unit *u = c1_unit(unit);

	(void)s;
	out->nr = 0;
	if (unit->idle)
		return;
	out->v[out->nr].name = "pri";
	out->v[out->nr++].value = u->pri;
	out->v[out->nr].name = "credit";
	out->v[out->nr++].value = u->credit;
	out->v[out->nr].name = "active";
	out->v[out->nr++].value = (u->flags & C1_ACTIVE) != 0;
	out->v[out->nr].name = "parked";
	out->v[out->nr++].value = (u->flags & C1_PARKED) != 0;
}

/* Places in below[], worked out anew. */
static int check_places(const struct finding *f, const struct c1_queue *q)
{
	for (int i = 0; i < C1_NR_GUEST_PRI && !q->stale; i++) {
		const struct c1_link *l = q->ring.next;

		while (l != &q->ring && c1_of_queue(l)->pri >= -i)
			l = l->next;
		LAW(f, l == q->below[i], "credit: the place below a priority is remembered right");
	}
	return 0;
}

static int check_queue(struct finding *f, const struct c1_pcpu *pc)
{
	const struct hv_resource *r = pc->res;
	uint32_t guests = 0, soft = 0, credit = 0, nr = 0;

	for (const struct c1_link *l = pc->queue.ring.next; l != &pc->queue.ring; l = l->next) {
		const struct c1_unit *u = c1_of_queue(l);

		f->unit = u->unit;
		LAW(f, l->next->prev == l, "credit: the queue is linked both ways");
		LAW(f, u->flags & C1_QUEUED, "credit: what is on a queue is marked queued");
		LAW(f, u->unit->res == r && r->curr != u->unit,
		    "credit: queued units wait for the pCPU that they are assigned to");
		LAW(f, hv_unit_runnable(u->unit) || hv_unit_falls_asleep(u->unit),
		    "credit: queued units are runnable");
		LAW(f, !c1_is_idle(u) || (u == pc->idle && l->next == &pc->queue.ring),
		    "credit: the idle unit is the last on the queue");
		guests += !c1_is_idle(u);
		soft += (u->flags & C1_SOFT) != 0;
		credit += u->pri > C1_OVER;
		nr++;
	}
	f->unit = NULL;
	LAW(f, soft == pc->queue.nr_soft && credit == pc->queue.nr_credit,
	    "credit: what thieves look for is counted");
	LAW(f, (nr != guests) == !r->curr->idle,
	    "credit: the idle unit is queued while a guest's unit is current");
	LAW(f, pc->nr_runnable == guests + !r->curr->idle + pc->nr_lost,
	    "credit: runnable units are those queued, and the current one");
	return check_places(f, &pc->queue);
}

static int check_pcpu(struct finding *f, const struct c1_sched *p, const struct c1_pcpu *pc)
{
	const struct hv_unit *curr = pc->res->curr;
	uint32_t c = pc->res->master;

	if (check_queue(f, pc))
		return -HV_EINVAL;
	LAW(f, !hv_mask_test(&p->idlers, c) || curr->idle, "credit: an idler is idle");
	LAW(f, hv_mask_test(&p->surplus, c) == (pc->nr_runnable >= 2),
	    "credit: pCPUs with units to spare are marked");
	LAW(f,
	    hv_mask_test(&p->soft, c) == (pc->queue.nr_soft > 0) &&
		    hv_mask_test(&p->credit_queued, c) == (pc->queue.nr_credit > 0),
	    "credit: pCPUs with what thieves look for are marked");
	LAW(f, curr->idle || pc->ticker.armed, "credit: a pCPU that runs a guest ticks");
	LAW(f, c1_unit(curr)->pri == C1_IDLE || c1_unit(curr)->pri == C1_BOOST || !curr->idle,
	    "credit: an idle unit has the priority idle, or boost while it works");
	return 0;
}

static int check_unit(struct finding *f, const struct hv_unit *unit, const struct c1_domain *d)
{
	const struct c1_unit *u = c1_unit(unit);

	f->unit = unit;
	LAW(f, u->dom == d, "credit: a unit knows its domain");
	LAW(f, u->pri <= C1_BOOST && u->pri >= C1_OVER, "credit: priority is one of a guest's");
	LAW(f, u->residual < C1_CREDIT_SCALE, "credit: a residual is less than a credit");
	LAW(f, !(u->flags & C1_PARKED) == !(unit->vcpu->pause_flags & HV_PF_PARKED),
	    "credit: what overdrew its cap is marked parked");
	LAW(f, !(u->flags & C1_PARKED) || (u->flags & C1_ACTIVE),
	    "credit: parked units are active");
	LAW(f, !(u->flags & C1_QUEUED) || !(u->flags & C1_PARKED), "credit: parked units wait");
	LAW(f, !(u->flags & C1_ACTIVE) == c1_ring_empty(&u->active),
	    "credit: an active unit is on a list");
	f->unit = NULL;
	return 0;
}

/* Adds the weights of its active units to *total. */
static int check_domain(struct finding *f, const struct hv_domain *dom, uint32_t *total)
{
	const struct c1_domain *d = dom->priv;
	uint32_t active = 0, listed = 0;

	for (const struct hv_unit *u = dom->units; u; u = u->link) {
		if (check_unit(f, u, d))
			return -HV_EINVAL;
		active += (c1_unit(u)->flags & C1_ACTIVE) != 0;
	}
	for (const struct c1_link *l = d->active.next; l != &d->active; l = l->next)
		listed++;
	LAW(f, active == d->nr_active && listed == active, "credit: active units are counted");
	LAW(f, c1_ring_empty(&d->active_domain) == (active == 0),
	    "credit: a domain is listed while it has active units");
	*total += active * d->weight;
	return 0;
}

int c1_check(const struct hv_sched *s, struct hv_violation *out)
{
	const struct c1_sched *p = c1_sched(s);
	struct finding f = {out, HV_NO_PCPU, NULL};
	uint32_t total = 0;
	struct hv_mask masters;

	LAW(&f, !hv_lock_held(&p->lock), "credit: the instance lock is released");
	hv_sched_masters(s, &masters);
	LAW(&f, hv_mask_equal(&p->pcpus, &masters, p->nw), "credit: it knows its pCPUs");
	LAW(&f, hv_mask_weight(&p->pcpus, p->nw) == p->nr_pcpus, "credit: pCPUs are counted");
	LAW(&f, hv_mask_subset(&p->surplus, &masters, p->nw),
	    "credit: only pCPUs here have units to spare");
	LAW(&f, p->credit == p->nr_pcpus * p->slice_credit,
	    "credit: each pCPU is worth a timeslice");
	LAW(&f, p->accounting.armed == (p->nr_pcpus > 0), "credit: accounting goes on");
	hv_mask_for_each(c, &p->pcpus, p->nw)
	{
		f.pcpu = c;
		if (check_pcpu(&f, p, c1_pcpu(hv_resource_of(s->sys, c))))
			return -HV_EINVAL;
	}
	f.pcpu = HV_NO_PCPU;
	for (const struct hv_domain *d = s->sys->domains; d; d = d->link) {
		if (d->pool != s->pool)
			continue;
		if (check_domain(&f, d, &total))
			return -HV_EINVAL;
	}
	LAW(&f, total == p->weight, "credit: the weight of all active units is their sum");
	return 0;
}
