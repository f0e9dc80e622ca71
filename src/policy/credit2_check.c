/* SPDX-License-Identifier: MIT */
/*
 * Credit2: what can be seen from outside, and the walk over all laws (section 18).
 *
 * Nothing is changed here. The check takes no lock: it runs between operations.
 */
#include "policy/credit2.h"
#include "policy/laws.h"

void c2_unit_state(const struct hv_sched *s, const struct hv_unit *unit, struct hv_state *out)
{
	const struct c2_unit *u = c2_unit(unit);

	(void)s;
	out->nr = 0;
	if (unit->idle)
		return;
	out->v[out->nr].name = "credit";
	out->v[out->nr++].value = u->credit;
	out->v[out->nr].name = "load";
	out->v[out->nr++].value = u->load;
	if (c2_is_capped(u)) {
		out->v[out->nr].name = "budget";
		out->v[out->nr++].value = u->budget;
	}
}

int c2_runqueue_info(const struct hv_sched *s, unsigned index, struct hv_runqueue_info *out)
{
	const struct c2_sched *p = c2_sched(s);
	const struct c2_runq *rq = p->runqs;

	while (rq && index--)
		rq = rq->next;
	if (!rq)
		return -HV_ENOENT;
	out->id = rq->id;
	out->pcpus = rq->act;
	out->nr_queued = rq->queue.nr;
	out->nr_load = rq->nload;
	out->load = rq->avg;
	out->balance_load = rq->pavg;
	out->load_shift = p->precision;
	out->max_weight = rq->maxw;
	return 0;
}

static int check_queued(struct finding *f, const struct c2_runq *rq)
{
	LAW(f, sorted_queue_check(&rq->queue),
	    "credit2: the queue is sorted and its tree is whole");
	for (struct sorted_node *n = sorted_queue_head(&rq->queue); n; n = n->next) {
		const struct c2_unit *u = c2_of_node(n);

		f->unit = u->unit;
		LAW(f, u->rq == rq && (u->flags & C2_QUEUED), "credit2: queued in its runqueue");
		LAW(f, n->key == -(int64_t)u->credit, "credit2: sort key is the credit");
		LAW(f, !(u->flags & C2_SCHED) && !u->unit->is_running && !c2_is_idle(u),
		    "credit2: no idle or running unit is queued");
		LAW(f, !c2_is_current(u), "credit2: no current unit is queued");
	}
	f->unit = NULL;
	return 0;
}

static int check_member(struct finding *f, const struct c2_sched *p, const struct c2_runq *rq,
			const struct c2_unit *u)
{
	const struct c2_pcpu *home = c2_pcpu(p, c2_home(u));

	f->unit = u->unit;
	LAW(f, u->rq == rq, "credit2: a member names its runqueue");
	LAW(f, u->credit >= C2_CREDIT_MIN, "credit2: credit is not below the floor");
	LAW(f, u->credit <= C2_CREDIT_TOP, "credit2: credit is not above the top");
	LAW(f, u->weight > 0 && u->weight <= rq->maxw, "credit2: no weight above the largest");
	LAW(f, u->weight == u->dom->weight, "credit2: a unit has its domain's weight");
	LAW(f, u->load >= 0, "credit2: load is not negative");
	LAW(f, home && home->rq == rq, "credit2: home is a pCPU of the unit's runqueue");
	LAW(f, !(u->flags & C2_MIGREQ) == !u->mig_target, "credit2: a move asked for has a target");
	LAW(f, !(u->flags & C2_ON_PARKED) || !(u->flags & C2_QUEUED), "credit2: parked or queued");
	LAW(f, !u->unit->is_running || (u->flags & C2_SCHED), "credit2: what runs is SCHED");
	return 0;
}

static int check_masks(struct finding *f, const struct c2_sched *p, const struct c2_runq *rq)
{
	LAW(f, hv_mask_subset(&rq->tik, &rq->act, p->nw), "credit2: only active pCPUs are tickled");
	LAW(f, hv_mask_subset(&rq->idl, &rq->act, p->nw), "credit2: only active pCPUs show idle");
	LAW(f, hv_mask_weight(&rq->act, p->nw) == rq->ncpu, "credit2: active pCPUs are counted");
	LAW(f, rq->ncpu <= rq->refs, "credit2: active pCPUs are assigned");
	hv_mask_for_each(c, &rq->act, p->nw)
	{
		const struct c2_pcpu *pc = c2_pcpu(p, c);

		f->pcpu = c;
		LAW(f, pc && pc->rq == rq && pc->res, "credit2: an active pCPU knows its runqueue");
		LAW(f, hv_mask_subset(&pc->sib, &rq->act, p->nw) && hv_mask_test(&pc->sib, c),
		    "credit2: siblings are of the same runqueue");
		LAW(f, hv_mask_test(&p->initialised, c), "credit2: an active pCPU is initialised");
		LAW(f, pc->res->lock == &rq->lock, "credit2: the runqueue's lock guards its pCPUs");
		LAW(f, p->curr[c]->unit == pc->res->curr, "credit2: a pCPU's current unit");
		LAW(f, pc->res->curr->idle || p->turn[c] == pc->res->curr->state_entry,
		    "credit2: a pCPU's last switch");
		if (hv_mask_test(&rq->cor, c) && !pc->cor_stale)
			LAW(f, hv_mask_test(&rq->idl, c) && !hv_mask_test(&rq->tik, c),
			    "credit2: a pCPU of an idle core is idle and not tickled");
		LAW(f, !hv_mask_test(&rq->idl, c) || pc->res->curr->idle,
		    "credit2: a pCPU that shows idle is idle");
	}
	f->pcpu = HV_NO_PCPU;
	LAW(f, hv_mask_subset(&rq->cor, &rq->act, p->nw),
	    "credit2: only active pCPUs are idle cores");
	return 0;
}

static int check_runq(struct finding *f, const struct c2_sched *p, const struct c2_runq *rq)
{
	uint32_t load = rq->queue.nr, queued = 0, members = 0, max = 1;

	if (check_masks(f, p, rq) || check_queued(f, rq))
		return -HV_EINVAL;
	for (const struct c2_unit *u = rq->members; u; u = u->member_next) {
		if (check_member(f, p, rq, u))
			return -HV_EINVAL;
		LAW(f, u->member_next ? u->member_next->member_prev == u : rq->members_tail == u,
		    "credit2: the list of members is linked both ways");
		load += (u->flags & C2_SCHED) != 0;
		queued += (u->flags & C2_QUEUED) != 0;
		members++;
		if (u->weight > max)
			max = u->weight;
	}
	f->unit = NULL;
	LAW(f, members == rq->nr_members, "credit2: members are counted");
	LAW(f, queued == rq->queue.nr, "credit2: queued units are members");
	LAW(f, load == rq->nload, "credit2: load counts queued and scheduled units");
	LAW(f, max == rq->maxw, "credit2: the largest weight is the largest of the members");
	LAW(f, rq->avg >= 0 && rq->pavg >= 0, "credit2: load of a runqueue is not negative");
	return 0;
}

static int check_domain(struct finding *f, const struct c2_domain *d)
{
	uint32_t units = 0, parked = 0, marked = 0;
	/* On its way to this pool its units have another policy's data. */
	const struct hv_unit *first = d->domain->priv == d ? d->domain->units : NULL;

	for (const struct hv_unit *u = first; u; u = u->link) {
		const struct c2_unit *cu = c2_unit(u);

		if (!cu || cu->dom != d || !cu->rq)
			continue; /* being created or moved */
		f->unit = u;
		units++;
		marked += (cu->flags & C2_ON_PARKED) != 0;
		LAW(f, !(cu->flags & C2_ON_PARKED) == !(u->vcpu->pause_flags & HV_PF_PARKED),
		    "credit2: what waits for budget is marked parked");
		LAW(f, d->cap || !c2_is_capped(cu), "credit2: no budget without a cap");
	}
	f->unit = NULL;
	for (const struct c2_unit *u = d->parked; u; u = u->parked_next)
		parked++;
	LAW(f, units == d->nunits, "credit2: units of a domain are counted");
	LAW(f, parked == marked, "credit2: the parked list holds what is parked");
	LAW(f, d->refill.armed == (d->cap != 0), "credit2: a cap is refilled");
	return 0;
}

int c2_check(const struct hv_sched *s, struct hv_violation *out)
{
	const struct c2_sched *p = c2_sched(s);
	struct finding f = {out, HV_NO_PCPU, NULL};
	uint32_t active = 0;
	int id = -1;

	LAW(&f, !hv_lock_held(&p->lock), "credit2: the instance lock is released");
	for (const struct c2_runq *rq = p->runqs; rq; rq = rq->next) {
		LAW(&f, rq->id > id, "credit2: runqueues are in order of their ids");
		LAW(&f, rq->refs > 0, "credit2: a runqueue has pCPUs");
		LAW(&f, !hv_lock_held(&rq->lock), "credit2: runqueue locks are released");
		id = rq->id;
		active += rq->ncpu > 0;
		if (check_runq(&f, p, rq))
			return -HV_EINVAL;
	}
	LAW(&f, active == p->nr_active, "credit2: active runqueues are counted");
	for (const struct c2_domain *d = p->domains; d; d = d->next)
		if (check_domain(&f, d))
			return -HV_EINVAL;
	return 0;
}
