/* SPDX-License-Identifier: MIT */
/*
 * Credit, sections 5, 6 and 13.1: the clockwork. Each pCPU that runs a guest ticks three times in a
 * timeslice: the unit found running is charged and counts as active from then on. Once in a
 * timeslice accounting hands out credit to the active units of all domains, by weight, and sets
 * everybody's priority; a unit that has saved more than a timeslice's worth is not active any more.
 *
 * Arithmetic is unsigned, in 32 bits, and wraps as Xen's does (6.3).
 *
 * Laws: a domain is on the active list exactly if it has active units; W is the sum of weight times
 * active units over these; a parked unit is active.
 */
#include "policy/credit.h"

void c1_set_tslice(struct c1_sched *p, uint32_t ms)
{
	uint32_t ticks = ms < C1_TICKS ? 1 : C1_TICKS;

	p->tslice_ms = ms;
	p->tslice = (hv_time)ms * 1000000;
	p->tick = (hv_time)(ms * 1000 / ticks) * 1000; /* whole us */
	p->slice_credit = ms * C1_CREDITS_PER_MS;
	p->credit = p->slice_credit * p->nr_pcpus;
}

/* ---- active units and domains; the instance lock is held */

static void activate(struct c1_sched *p, struct c1_unit *u)
{
	struct c1_domain *d = u->dom;

	HV_ASSERT(u->unit->sys, hv_lock_held(&p->lock));
	if (u->flags & C1_ACTIVE)
		return;
	u->flags |= C1_ACTIVE;
	d->nr_active++;
	c1_link_before(d->active.next, &u->active);
	p->weight += d->weight;
	if (c1_ring_empty(&d->active_domain))
		c1_link_before(p->active_domains.next, &d->active_domain);
}

void c1_deactivate(struct c1_sched *p, struct c1_unit *u)
{
	struct c1_domain *d = u->dom;

	HV_ASSERT(u->unit->sys, hv_lock_held(&p->lock) && (u->flags & C1_ACTIVE));
	HV_ASSERT(u->unit->sys, d->nr_active > 0 && p->weight >= d->weight);
	u->flags &= ~(unsigned)C1_ACTIVE;
	d->nr_active--;
	c1_unlink(&u->active);
	p->weight -= d->weight;
	if (c1_ring_empty(&d->active))
		c1_unlink(&d->active_domain);
}

/* ---- the tick (section 5) */

/* The unit that the tick finds running; its schedule lock is held. */
static void tick_unit(struct hv_sched *s, struct c1_unit *u, hv_time now)
{
	uint32_t here = u->unit->res->master;

	if (u->pri == C1_BOOST)
		u->pri = C1_UNDER;
	c1_burn(u, now);
	if (!(u->flags & C1_ACTIVE) || c1_best_pcpu(s, u, false) == here)
		return;
	/* It had better run elsewhere: the tail of the pass places it anew. */
	hv_unit_set_flag(u->unit, HV_PF_MIGRATING);
	hv_tickle(s, here);
}

void c1_tick(struct hv_timer *t)
{
	struct c1_pcpu *pc = t->data;
	struct hv_resource *r = pc->res;
	struct hv_sched *s = pc->s;
	struct c1_sched *p = c1_sched(s);
	struct hv_lock *lock = hv_resource_lock(r);
	struct c1_unit *u = c1_unit(r->curr);
	hv_time now = hv_now(s->sys);

	if (!c1_is_idle(u))
		tick_unit(s, u, now);
	if (pc->epoch != p->epoch) {
		pc->epoch = p->epoch;
		c1_queue_sort(&pc->queue);
	}
	hv_lock_release(s->sys, lock);
	if (!c1_is_idle(u) && !(u->flags & C1_ACTIVE)) {
		hv_lock_acquire(s->sys, &p->lock);
		activate(p, u);
		hv_lock_release(s->sys, &p->lock);
	}
	hv_timer_set(t, now + p->tick);
}

/* ---- accounting (section 6) */

/* Sums and settings of one run. */
struct accounts {
	struct hv_sched *s;
	struct c1_sched *p;
	uint32_t total;	 /* T: credit to hand out */
	uint32_t debt;	 /* -B if B is below zero */
	uint32_t left;	 /* L: weight of the domains still to come */
	int32_t sum;	 /* S: credit of all units seen */
	uint32_t weight; /* W when the run began */
	bool spare;	 /* a domain got less than it could have: let others be first next time */
};

/* Credit for an active unit; what it has then decides its priority. Its schedule lock is held. */
static void pay(const struct accounts *a, struct c1_unit *u, uint32_t share, uint32_t unit_cap)
{
	int32_t credit = (int32_t)((uint32_t)u->credit + share);
	int32_t slice = (int32_t)a->p->slice_credit;

	if (credit < 0) {
		c1_set_pri(a->p, u, C1_OVER);
		if (u->dom->cap && (uint32_t)-credit > unit_cap && !(u->flags & C1_PARKED))
			c1_park(a->s, u);
		if (credit < -slice)
			credit = -slice;
	} else {
		c1_set_pri(a->p, u, C1_UNDER);
		if (u->flags & C1_PARKED)
			c1_unpark(u);
		if (credit > slice) {
			c1_deactivate(a->p, u);
			credit /= 2;
		}
	}
	u->credit = credit;
}

/* What the active units of a domain may get together at most; *unit_cap: beyond it they park. */
static uint32_t peak_of(const struct accounts *a, const struct c1_domain *d, uint32_t weight,
			uint32_t *unit_cap)
{
	uint32_t peak = d->nr_active * a->p->slice_credit;

	*unit_cap = 0;
	if (a->debt)
		peak += c1_ceil(a->debt * weight, a->weight);
	if (d->cap) {
		uint32_t cap = c1_ceil(d->cap * a->p->slice_credit, 100);

		if (cap < peak)
			peak = cap;
		*unit_cap = c1_ceil(cap, d->nr_active);
	}
	return peak;
}

static void pay_domain(struct accounts *a, struct c1_domain *d)
{
	uint32_t weight = d->weight * d->nr_active; /* m */
	uint32_t unit_cap, peak = peak_of(a, d, weight, &unit_cap);
	uint32_t fair = c1_ceil(a->total * weight, a->weight), share;
	struct c1_link *next;

	a->left -= weight;
	if (fair < peak) {
		a->spare = true;
	} else {
		if (a->left)
			a->total += c1_ceil((fair - peak) * a->weight, a->left);
		if (a->spare) {
			c1_unlink(&d->active_domain);
			c1_link_before(a->p->active_domains.next, &d->active_domain);
		}
		fair = peak;
	}
	share = c1_ceil(fair, d->nr_active);
	for (struct c1_link *l = d->active.next; l != &d->active; l = next) {
		struct c1_unit *u = c1_of_active(l);
		struct hv_lock *lock = hv_unit_lock(u->unit);

		next = l->next;
		pay(a, u, share, unit_cap);
		a->sum = (int32_t)((uint32_t)a->sum + (uint32_t)u->credit);
		hv_lock_release(a->s->sys, lock);
	}
}

void c1_account(struct hv_timer *t)
{
	struct hv_sched *s = t->data;
	struct c1_sched *p = c1_sched(s);
	struct accounts a = {
		.s = s, .p = p, .total = p->credit, .left = p->weight, .weight = p->weight};
	struct c1_link *next;

	hv_lock_acquire(s->sys, &p->lock);
	if (p->balance < 0) {
		a.debt = -(uint32_t)p->balance;
		a.total += a.debt;
	}
	for (struct c1_link *l = p->active_domains.next; l != &p->active_domains; l = next) {
		next = l->next; /* before d moves or leaves */
		pay_domain(&a, c1_of_active_domain(l));
	}
	p->balance = a.sum;
	if (a.weight)
		p->epoch++;
	hv_lock_release(s->sys, &p->lock);
	hv_timer_set(t, hv_now(s->sys) + p->tslice);
}

/* ---- domains (13.1) */

int c1_alloc_domain(struct hv_sched *s, struct hv_domain *dom, void **out)
{
	struct c1_domain *d = hv_alloc(s->sys, sizeof(*d));

	if (!d)
		return -HV_ENOMEM;
	d->domain = dom;
	d->weight = C1_DEF_WEIGHT;
	c1_ring_init(&d->active_domain);
	c1_ring_init(&d->active);
	*out = d;
	return 0;
}

void c1_free_domain(struct hv_sched *s, struct hv_domain *dom, void *priv)
{
	struct c1_domain *d = priv;

	(void)dom;
	if (!d)
		return;
	HV_ASSERT(s->sys, !d->nr_active && c1_ring_empty(&d->active_domain));
	hv_free(s->sys, d, sizeof(*d));
}

/* Credits and parked units change at the next accounting only. Xen does not look at the cap. */
int c1_domain_params(struct hv_sched *s, struct hv_domain *dom, struct hv_domain_params *pr,
		     bool set)
{
	struct c1_sched *p = c1_sched(s);
	struct c1_domain *d = dom->priv;
	int rc = 0;

	hv_lock_acquire(s->sys, &p->lock);
	if (!set) {
		pr->weight = d->weight;
		pr->cap = d->cap;
	} else if (pr->weight > UINT16_MAX || pr->cap > UINT16_MAX) {
		rc = -HV_EINVAL;
	} else {
		if (pr->weight) {
			p->weight += (pr->weight - d->weight) * d->nr_active;
			d->weight = pr->weight;
		}
		if (pr->cap != C1_UNCHANGED_CAP)
			d->cap = pr->cap;
	}
	hv_lock_release(s->sys, &p->lock);
	return rc;
}
