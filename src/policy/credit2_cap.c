/* SPDX-License-Identifier: MIT */
/*
 * Credit2, sections 14 and 17: caps (budgets, parking, refill), and changes of weight and cap.
 *
 * A cap of c percent gives the domain total = period * c / 100 ns of budget per period. It lies in
 * the domain's pool; a unit that wants to run takes a quota out of it, brings back what it did not
 * use, and may overrun, which it repays with its next grab. A unit that gets nothing is parked: it
 * carries PARKED, so it is not runnable, and waits on the domain's parked list.
 *
 * Laws: time that units of a capped domain run is taken from the pool, sooner or later, exactly
 * once (budget - pool transfers only under the budget lock). A unit is on the parked list exactly
 * while it is marked PARKED. A parked unit is not queued. A refill leaves pool <= total.
 *
 * Real Xen applies the weight of a request whose cap it then rejects. Here a request is carried
 * out as a whole or not at all.
 */
#include "policy/credit2.h"

/* 14.1; u's runqueue and the budget lock are held. */
static void park(struct hv_sched *s, struct c2_unit *u, hv_time now)
{
	HV_ASSERT(s->sys, hv_lock_held(&u->dom->lock));
	HV_ASSERT(s->sys, !(u->flags & C2_ON_PARKED));
	hv_unit_set_flag(u->unit, HV_PF_PARKED);
	if (u->flags & C2_QUEUED) {
		c2_load_update(c2_sched(s), u->rq, u, -1, now);
		c2_runq_remove(u->rq, u);
	}
	u->flags |= C2_ON_PARKED;
	u->parked_next = u->dom->parked;
	u->dom->parked = u;
}

/* 14.2; a unit that has some left need not ask: what is queued brought its budget back. */
bool c2_grab_budget(struct hv_sched *s, struct c2_unit *u, hv_time now)
{
	struct c2_domain *d = u->dom;
	bool got;

	HV_ASSERT(s->sys, hv_lock_held(&u->rq->lock) && u->budget <= 0);
	hv_lock_acquire(s->sys, &d->lock);
	d->pool += u->budget; /* <= 0: repays an overrun */
	u->budget = 0;
	got = d->pool > 0;
	if (got) {
		u->budget = u->quota < d->pool ? u->quota : d->pool;
		d->pool -= u->budget;
		HV_ASSERT(s->sys, u->budget > 0);
	} else {
		park(s, u, now);
	}
	hv_lock_release(s->sys, &d->lock);
	return got;
}

struct c2_unit *c2_return_budget(struct c2_unit *u)
{
	struct c2_domain *d = u->dom;
	struct hv_sys *sys = u->unit->sys;
	struct c2_unit *list = NULL;

	HV_ASSERT(sys, c2_is_capped(u) && u->budget > 0);
	hv_lock_acquire(sys, &d->lock);
	d->pool += u->budget;
	u->budget = 0;
	if (d->pool > 0) {
		list = d->parked;
		d->parked = NULL;
	}
	hv_lock_release(sys, &d->lock);
	return list;
}

void c2_unpark(struct hv_sched *s, struct c2_unit *list, hv_time now)
{
	struct c2_unit *next;

	for (struct c2_unit *u = list; u; u = next) {
		struct c2_runq *rq = u->rq;

		next = u->parked_next;
		hv_lock_acquire(s->sys, &rq->lock);
		HV_ASSERT(s->sys, u->flags & C2_ON_PARKED);
		u->flags &= ~(unsigned)C2_ON_PARKED;
		u->parked_next = NULL;
		hv_unit_clear_flag(u->unit, HV_PF_PARKED);
		if (u->flags & C2_SCHED) {
			u->flags |= C2_REQUEUE;
		} else if (hv_unit_runnable(u->unit)) {
			c2_load_update(c2_sched(s), rq, u, 1, now);
			c2_runq_insert(rq, u);
			c2_tickle(s, u, now);
		}
		hv_lock_release(s->sys, &rq->lock);
	}
}

/* The unit leaves its domain's care (destroyed or moved to another pool): no mark may stay. */
void c2_forget_parked(struct c2_unit *u)
{
	struct c2_domain *d = u->dom;
	struct hv_sys *sys = u->unit->sys;

	if (!(u->flags & C2_ON_PARKED))
		return;
	hv_lock_acquire(sys, &d->lock);
	for (struct c2_unit **link = &d->parked; *link; link = &(*link)->parked_next) {
		if (*link == u) {
			*link = u->parked_next;
			break;
		}
	}
	hv_lock_release(sys, &d->lock);
	u->flags &= ~(unsigned)C2_ON_PARKED;
	u->parked_next = NULL;
	hv_unit_clear_flag(u->unit, HV_PF_PARKED);
}

/* 14.5. The timer may come late by any number of periods; all of them are made up for. */
static void refill(struct hv_timer *t)
{
	struct c2_domain *d = t->data;
	struct hv_sched *s = d->s;
	hv_time period = c2_sched(s)->cap_period, now = hv_now(s->sys);
	struct c2_unit *list = NULL;
	int64_t periods = 1;

	hv_lock_acquire(s->sys, &d->lock);
	if (now >= d->next_refill)
		periods = (now - d->next_refill) / period + 1;
	d->next_refill += periods * period;
	d->pool += periods * d->total;
	if (d->pool > 0) {
		if (d->pool > d->total)
			d->pool = d->total;
		list = d->parked;
		d->parked = NULL;
	}
	hv_lock_release(s->sys, &d->lock);
	c2_unpark(s, list, now);
	hv_timer_set(&d->refill, d->next_refill);
}

int c2_alloc_domain(struct hv_sched *s, struct hv_domain *dom, void **out)
{
	struct c2_sched *p = c2_sched(s);
	struct c2_domain *d = hv_alloc(s->sys, sizeof(*d));

	if (!d)
		return -HV_ENOMEM;
	d->s = s;
	d->domain = dom;
	d->weight = C2_DEF_WEIGHT;
	hv_lock_init(s->sys, &d->lock);
	hv_timer_init(&d->refill, s->sys, HV_TIMER_REPLENISH, (uint32_t)dom->id, refill, d);
	d->refill.pcpu = hv_mask_first(&dom->pool->res_valid, s->nw);
	hv_lock_acquire(s->sys, &p->lock);
	d->next = p->domains;
	p->domains = d;
	hv_lock_release(s->sys, &p->lock);
	*out = d;
	return 0;
}

void c2_free_domain(struct hv_sched *s, struct hv_domain *dom, void *priv)
{
	struct c2_sched *p = c2_sched(s);
	struct c2_domain *d = priv;

	(void)dom;
	if (!d)
		return;
	HV_ASSERT(s->sys, !d->nunits && !d->parked);
	hv_timer_stop(&d->refill);
	hv_lock_acquire(s->sys, &p->lock);
	for (struct c2_domain **link = &p->domains; *link; link = &(*link)->next) {
		if (*link == d) {
			*link = d->next;
			break;
		}
	}
	hv_lock_release(s->sys, &p->lock);
	hv_free(s->sys, d, sizeof(*d));
}

void c2_move_timers(struct hv_sched *s, unsigned from, unsigned to)
{
	struct c2_sched *p = c2_sched(s);

	hv_lock_acquire(s->sys, &p->lock);
	for (struct c2_domain *d = p->domains; d; d = d->next) {
		if (d->refill.pcpu == from)
			d->refill.pcpu = to;
	}
	hv_lock_release(s->sys, &p->lock);
}

/* ---- changes at run time (section 17); the instance lock is held */

static void set_weight(struct c2_domain *d, uint32_t weight)
{
	uint32_t old = d->weight;

	for (struct hv_unit *u = d->domain->units; u; u = u->link) {
		struct c2_unit *cu = c2_unit(u);

		HV_ASSERT(u->sys, cu->rq && cu->weight == old);
		hv_lock_acquire(u->sys, &cu->rq->lock);
		cu->weight = weight;
		c2_update_max_weight(cu->rq, weight, old);
		hv_lock_release(u->sys, &cu->rq->lock);
	}
	d->weight = weight;
}

/* The cap begins: every unit starts without budget and must ask for a quota. */
static void enable_cap(struct hv_sched *s, struct c2_domain *d, hv_time now)
{
	hv_lock_acquire(s->sys, &d->lock);
	d->pool = d->total;
	d->next_refill = now + c2_sched(s)->cap_period;
	hv_lock_release(s->sys, &d->lock);
	hv_timer_set(&d->refill, d->next_refill);
	for (struct hv_unit *u = d->domain->units; u; u = u->link) {
		struct c2_unit *cu = c2_unit(u);

		hv_lock_acquire(s->sys, &cu->rq->lock);
		/*
		 * Xen does this whenever the unit is running and takes for granted that it is
		 * current then; one that is just being switched out has been burned already.
		 */
		if (u->is_running && c2_is_current(cu)) {
			c2_burn(cu, now);
			hv_mask_set(&cu->rq->tik, c2_home(cu));
			hv_tickle(s, c2_home(cu));
		}
		cu->budget = 0;
		hv_lock_release(s->sys, &cu->rq->lock);
	}
}

static void disable_cap(struct hv_sched *s, struct c2_domain *d, hv_time now)
{
	struct c2_unit *list;

	hv_timer_stop(&d->refill);
	for (struct hv_unit *u = d->domain->units; u; u = u->link) {
		struct c2_unit *cu = c2_unit(u);

		hv_lock_acquire(s->sys, &cu->rq->lock);
		cu->budget = C2_INFINITE;
		cu->quota = 0;
		hv_lock_release(s->sys, &cu->rq->lock);
	}
	hv_lock_acquire(s->sys, &d->lock);
	list = d->parked;
	d->parked = NULL;
	hv_lock_release(s->sys, &d->lock);
	c2_unpark(s, list, now);
}

static void set_cap(struct hv_sched *s, struct c2_domain *d, uint32_t cap, hv_time now)
{
	if (cap) {
		int64_t quota;

		HV_ASSERT(s->sys, d->nunits > 0);
		d->total = c2_sched(s)->cap_period * (int64_t)cap / 100;
		quota = d->total / d->nunits;
		if (quota < C2_MIN_SLICE)
			quota = C2_MIN_SLICE;
		for (struct hv_unit *u = d->domain->units; u; u = u->link)
			c2_unit(u)->quota = quota;
		if (!d->cap)
			enable_cap(s, d, now);
	} else if (d->cap) {
		disable_cap(s, d, now);
	}
	d->cap = cap;
}

int c2_domain_params(struct hv_sched *s, struct hv_domain *dom, struct hv_domain_params *pr,
		     bool set)
{
	struct c2_sched *p = c2_sched(s);
	struct c2_domain *d = dom->priv;
	int rc = 0;

	hv_lock_acquire(s->sys, &p->lock);
	if (!set) {
		pr->weight = d->weight;
		pr->cap = d->cap;
	} else if (pr->weight > UINT16_MAX || pr->cap > 100 * d->nunits) {
		rc = -HV_EINVAL;
	} else {
		if (pr->weight)
			set_weight(d, pr->weight);
		set_cap(s, d, pr->cap, hv_now(s->sys));
	}
	hv_lock_release(s->sys, &p->lock);
	return rc;
}
