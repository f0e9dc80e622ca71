/* SPDX-License-Identifier: MIT */
/*
 * rtds: what can be seen from outside, and the walk over all laws.
 *
 * Nothing is changed here. The check takes no lock: it runs between operations.
 */
#include "policy/laws.h"
#include "policy/rtds.h"

void rtds_unit_state(const struct hv_sched *s, const struct hv_unit *unit, struct hv_state *out)
{
	const struct rtds_unit *u = rtds_unit(unit);

	(void)s;
	out->nr = 0;
	if (unit->idle)
		return;
	out->v[out->nr].name = "dl"; /* ns, absolute */
	out->v[out->nr++].value = u->rank.deadline;
	out->v[out->nr].name = "budget"; /* ns left in this period */
	out->v[out->nr++].value = u->left;
	out->v[out->nr].name = "level";
	out->v[out->nr++].value = u->rank.level;
}

/* What units there are, counted from the domains. */
struct count {
	uint32_t run, depleted, repl;
};

static int check_unit(struct finding *f, const struct rtds_unit *u, struct count *n)
{
	const struct hv_unit *unit = u->unit;
	bool waits = u->place != RTDS_NOWHERE;

	f->unit = unit;
	f->pcpu = unit->res->master;
	n->run += u->place == RTDS_IN_RUNQ;
	n->depleted += u->place == RTDS_DEPLETED;
	n->repl += u->in_repl;
	LAW(f, u->scheduled == unit->is_running, "rtds: what runs is scheduled");
	LAW(f,
	    !waits || (!unit->is_running && (hv_unit_runnable(unit) || hv_unit_falls_asleep(unit))),
	    "rtds: what waits can run and does not");
	LAW(f, waits || unit->is_running || !hv_unit_runnable(unit),
	    "rtds: what can run waits or runs");
	LAW(f, u->in_repl == (waits || unit->is_running),
	    "rtds: to be replenished is what waits or runs");
	LAW(f, !u->delayed_add || u->scheduled,
	    "rtds: a delayed addition waits for a saved context");
	LAW(f, u->budget >= RTDS_MIN_US * RTDS_NS_PER_US && u->budget <= u->period,
	    "rtds: 10 us <= budget <= period");
	LAW(f, u->left >= 0, "rtds: the rest of a budget is not negative");
	LAW(f, u->place != RTDS_IN_RUNQ || u->left > 0,
	    "rtds: what is in the run queue has budget");
	LAW(f, u->place != RTDS_DEPLETED || u->left == 0, "rtds: what is depleted has no budget");
	return 0;
}

static int check_queues(struct finding *f, const struct rtds_pool *p)
{
	LAW(f, rtds_queue_check(&p->runq), "rtds: the run queue's list, tree and sums agree");
	LAW(f, rtds_queue_check(&p->replq), "rtds: the replq's list, tree and sums agree");
	for (struct rtds_node *n = p->runq.head; n; n = n->next) {
		const struct rtds_unit *u = rtds_unit_of_run(n);

		f->unit = u->unit;
		LAW(f, u->place == RTDS_IN_RUNQ, "rtds: the run queue holds what is marked so");
		LAW(f, rtds_compare(n->rank, u->rank) == 0, "rtds: a queued unit has its own rank");
		LAW(f, hv_mask_equal(&n->pcpus, &u->unit->hard, p->runq.nw),
		    "rtds: a queued unit has its own affinity");
		LAW(f, !n->next || rtds_compare(n->rank, n->next->rank) >= 0,
		    "rtds: the run queue is sorted");
	}
	for (struct rtds_node *n = p->replq.head; n; n = n->next) {
		const struct rtds_unit *u = rtds_unit_of_repl(n);

		f->unit = u->unit;
		LAW(f, u->in_repl, "rtds: the replq holds what is marked so");
		LAW(f, rtds_compare(n->rank, u->rank) == 0, "rtds: the replq knows a unit's rank");
	}
	f->unit = NULL;
	LAW(f, p->timer.armed == (p->replq.nr > 0),
	    "rtds: the timer runs for whoever waits for it");
	LAW(f, !p->replq.head || p->timer.expiry == rtds_unit_of_repl(p->replq.head)->rank.deadline,
	    "rtds: the timer is set for the front of the replq");
	return 0;
}

static int check_pcpus(struct finding *f, const struct hv_sched *s, const struct rtds_pool *p)
{
	struct hv_mask masters;

	f->unit = NULL;
	hv_sched_masters(s, &masters);
	hv_mask_for_each(c, &masters, s->nw)
	{
		const struct hv_unit *curr = hv_resource_of(s->sys, c)->curr;

		f->pcpu = c;
		LAW(f, hv_mask_test(&p->idle, c) == curr->idle, "rtds: a pCPU that shows idle is");
		LAW(f, curr->idle || rtds_compare(p->running[c], rtds_unit(curr)->rank) == 0,
		    "rtds: a pCPU shows the rank of what runs");
	}
	f->pcpu = HV_NO_PCPU;
	LAW(f, hv_mask_subset(&p->idle, &masters, s->nw), "rtds: only pCPUs here are idle");
	LAW(f, hv_mask_subset(&p->tickled, &masters, s->nw), "rtds: only pCPUs here are tickled");
	return 0;
}

int rtds_check(const struct hv_sched *s, struct hv_violation *out)
{
	const struct rtds_pool *p = rtds_pool(s);
	struct finding f = {out, HV_NO_PCPU, NULL};
	struct count n = {0, 0, 0};

	LAW(&f, !hv_lock_held(&p->lock), "rtds: the lock is released");
	if (check_queues(&f, p) || check_pcpus(&f, s, p))
		return -HV_EINVAL;
	for (const struct hv_domain *d = s->sys->domains; d; d = d->link) {
		for (const struct hv_unit *u = d->pool == s->pool ? d->units : NULL; u;
		     u = u->link) {
			if (check_unit(&f, rtds_unit(u), &n))
				return -HV_EINVAL;
		}
	}
	f.unit = NULL;
	f.pcpu = HV_NO_PCPU;
	LAW(&f, n.run == p->runq.nr && n.depleted == p->nr_depleted && n.repl == p->replq.nr,
	    "rtds: the queues hold each unit once");
	return 0;
}
