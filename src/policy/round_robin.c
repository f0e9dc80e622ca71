/* SPDX-License-Identifier: MIT */
/*
 * round-robin: the example of docs/policy-guide.md, small and complete. Not a policy of Xen.
 *
 * All pCPUs of a pool share one queue, first in, first out. A unit that becomes runnable goes to
 * its end, and an idle pCPU that it may use is asked to come. A pass takes the first unit of the
 * queue that may run there, for SLICE_NS; it also ends the turn of the unit that ran, which goes to
 * the end of the queue once its context is saved. No weights, caps, priorities or preemption.
 *
 * Laws: a runnable unit is queued, or runs, or its context is being saved; a queued unit is neither
 * running nor being saved, so any pCPU may take it; where a queued unit may run, a pCPU is on its
 * way to the queue or none is idle; a pCPU that is called idle runs its idle unit.
 *
 * Starvation: with q units of one affinity on p pCPUs a unit waits at most q / p + 1 slices.
 *
 * Locks: one lock guards the queue and every resource of the pool.
 */
#include "engine/engine.h"
#include "policy/policies.h"

#define SLICE_NS 10000000LL /* ns; long beside a switch (2 us), short beside a second */

struct rr_unit {
	struct hv_unit *unit;
	struct rr_unit *next, *prev; /* NULL-terminated both ways */
	bool queued;
};

struct rr_pool {
	struct hv_lock lock;
	struct rr_unit *first, *last;
	struct hv_mask idle;  /* pCPUs that had nothing to run and have not been asked since */
	struct hv_mask asked; /* pCPUs that were idle, were asked, and have not come yet */
};

/* ---- the queue; its lock is held */

static void queue_append(struct rr_pool *p, struct rr_unit *ru)
{
	ru->queued = true;
	ru->next = NULL;
	ru->prev = p->last;
	if (p->last)
		p->last->next = ru;
	else
		p->first = ru;
	p->last = ru;
}

static void queue_remove(struct rr_pool *p, struct rr_unit *ru)
{
	if (ru->prev)
		ru->prev->next = ru->next;
	else
		p->first = ru->next;
	if (ru->next)
		ru->next->prev = ru->prev;
	else
		p->last = ru->prev;
	ru->queued = false;
}

/* pCPUs that the unit may use; with soft: that it prefers, which may be none. */
static void allowed(const struct hv_sched *s, const struct hv_unit *u, bool soft,
		    struct hv_mask *out)
{
	hv_unit_step_mask(s, u, soft, out);
	hv_mask_and(out, out, hv_unit_valid(s), s->nw);
}

/* Ask one idle pCPU to come: one that the unit prefers, else one that it may use. */
static void tickle_idle(struct hv_sched *s, const struct hv_unit *u)
{
	struct rr_pool *p = s->priv;
	struct hv_mask m;
	unsigned pcpu = HV_NO_PCPU;

	for (int soft = 1; soft >= 0 && pcpu == HV_NO_PCPU; soft--) {
		allowed(s, u, soft, &m);
		hv_mask_and(&m, &m, &p->idle, s->nw);
		pcpu = hv_mask_first(&m, s->nw);
	}
	if (pcpu == HV_NO_PCPU)
		return; /* all busy: its turn comes */
	hv_mask_clear(&p->idle, pcpu);
	hv_mask_set(&p->asked, pcpu);
	hv_tickle(s, pcpu);
}

static void enqueue(struct hv_sched *s, struct hv_unit *u)
{
	HV_ASSERT(s->sys, hv_lock_held(u->res->lock) && !u->is_running);
	queue_append(s->priv, u->priv);
	tickle_idle(s, u);
}

/*
 * After a pass: whoever was counted on may have taken another unit, or have other work to do. For
 * a unit that is left, some idle pCPU must be on its way.
 */
static void tickle_for_the_rest(struct hv_sched *s)
{
	const struct rr_pool *p = s->priv;
	struct hv_mask m;

	for (struct rr_unit *ru = p->first; ru && !hv_mask_empty(&p->idle, s->nw); ru = ru->next) {
		allowed(s, ru->unit, false, &m);
		if (hv_unit_runnable(ru->unit) && !hv_mask_intersects(&m, &p->asked, s->nw))
			tickle_idle(s, ru->unit);
	}
}

/* ---- events */

/* Also called for a unit that runs, or whose context is being saved: context_saved queues it. */
static void rr_wake(struct hv_sched *s, struct hv_unit *u)
{
	const struct rr_unit *ru = u->priv;

	if (!ru->queued && !u->is_running)
		enqueue(s, u);
}

static void rr_sleep(struct hv_sched *s, struct hv_unit *u)
{
	struct rr_unit *ru = u->priv;

	HV_ASSERT(s->sys, hv_lock_held(u->res->lock));
	if (u->res->curr == u)
		hv_tickle(s, u->res->master);
	else if (ru->queued)
		queue_remove(s->priv, ru);
}

static void rr_context_saved(struct hv_sched *s, struct hv_unit *u)
{
	struct hv_lock *l = hv_unit_lock(u);

	if (!u->idle && hv_unit_runnable(u))
		enqueue(s, u);
	hv_lock_release(s->sys, l);
}

/* Where it is, if it may be there. */
static struct hv_resource *rr_pick_resource(struct hv_sched *s, struct hv_unit *u)
{
	struct hv_mask m;

	for (int soft = 1; soft >= 0; soft--) {
		allowed(s, u, soft, &m);
		if (hv_mask_test(&m, u->res->master))
			return u->res;
		if (!hv_mask_empty(&m, s->nw))
			break;
	}
	return hv_resource_of(s->sys, hv_mask_first(&m, s->nw));
}

static void rr_insert_unit(struct hv_sched *s, struct hv_unit *u)
{
	struct hv_lock *l = hv_unit_lock(u);

	hv_unit_assign(u, rr_pick_resource(s, u));
	if (hv_unit_runnable(u))
		enqueue(s, u);
	hv_lock_release(s->sys, l);
}

static void rr_remove_unit(struct hv_sched *s, struct hv_unit *u)
{
	struct hv_lock *l = hv_unit_lock(u);
	struct rr_unit *ru = u->priv;

	if (ru->queued)
		queue_remove(s->priv, ru);
	hv_lock_release(s->sys, l);
}

/* ---- the pass */

/* The first of the queue that may run here, taken from it; NULL = none, or r leaves the pool. */
static struct hv_unit *take_first(struct hv_sched *s, const struct hv_resource *r)
{
	struct rr_pool *p = s->priv;

	if (!hv_mask_test(hv_unit_valid(s), r->master))
		return NULL;
	for (struct rr_unit *ru = p->first; ru; ru = ru->next) {
		if (hv_mask_test(&ru->unit->hard, r->master) && hv_unit_runnable_state(ru->unit)) {
			queue_remove(p, ru);
			return ru->unit;
		}
	}
	return NULL;
}

static void rr_do_schedule(struct hv_sched *s, struct hv_resource *r, struct hv_unit *prev,
			   hv_time now, bool tasklet)
{
	struct rr_pool *p = s->priv;
	struct hv_unit *next = NULL;

	(void)now;
	HV_ASSERT(s->sys, hv_lock_held(&p->lock));
	hv_mask_clear(&p->idle, r->master);
	hv_mask_clear(&p->asked, r->master);
	if (!tasklet) {
		next = take_first(s, r);
		if (!next && !prev->idle && hv_unit_runnable_state(prev))
			next = prev; /* nobody waits: another turn */
		if (!next)
			hv_mask_set(&p->idle, r->master);
	}
	if (!next)
		next = r->idle;
	next->migrated = next->res != r;
	if (next->migrated)
		hv_unit_assign(next, r);
	prev->next = next;
	prev->next_time = next->idle ? -1 : SLICE_NS;
	tickle_for_the_rest(s);
}

/* ---- life of instance, unit, pCPU */

static int rr_init(struct hv_sched *s)
{
	struct rr_pool *p = hv_alloc(s->sys, sizeof(*p));

	if (!p)
		return -HV_ENOMEM;
	hv_lock_init(s->sys, &p->lock);
	s->priv = p;
	return 0;
}

static void rr_deinit(struct hv_sched *s)
{
	hv_free(s->sys, s->priv, sizeof(struct rr_pool));
}

/* An idle unit is never queued and needs no data. */
static int rr_alloc_unit(struct hv_sched *s, struct hv_unit *u, void *domdata, void **out)
{
	struct rr_unit *ru;

	(void)domdata;
	if (u->idle)
		return 0;
	ru = hv_alloc(s->sys, sizeof(*ru));
	if (!ru)
		return -HV_ENOMEM;
	ru->unit = u;
	*out = ru;
	return 0;
}

static void rr_free_unit(struct hv_sched *s, void *priv)
{
	if (priv)
		hv_free(s->sys, priv, sizeof(struct rr_unit));
}

static struct hv_lock *rr_switch_sched(struct hv_sched *s, struct hv_resource *r, void *pcpu_priv,
				       void *idle_priv)
{
	struct rr_pool *p = s->priv;

	(void)pcpu_priv;
	r->idle->priv = idle_priv;
	return &p->lock; /* its first pass, which the engine asks for, says whether it is idle */
}

static void rr_deinit_pcpu(struct hv_sched *s, void *priv, unsigned pcpu)
{
	struct rr_pool *p = s->priv;

	(void)priv;
	hv_mask_clear(&p->idle, pcpu);
	hv_mask_clear(&p->asked, pcpu);
}

/* ---- laws */

static int check_unit(const struct hv_sched *s, const struct hv_unit *u, struct hv_violation *out)
{
	const struct rr_pool *p = s->priv;
	const struct rr_unit *ru = u->priv;
	struct hv_mask m;

	if (ru->queued != (hv_unit_runnable(u) && !u->is_running) && !hv_unit_falls_asleep(u))
		return hv_broken(out, "round-robin: who is runnable and does not run is queued", u,
				 u->res->master);
	allowed(s, u, false, &m);
	if (ru->queued && hv_unit_runnable(u) && hv_mask_intersects(&m, &p->idle, s->nw) &&
	    !hv_mask_intersects(&m, &p->asked, s->nw))
		return hv_broken(out,
				 "round-robin: no pCPU is idle beside a unit that may run there", u,
				 u->res->master);
	return 0;
}

static int rr_check(const struct hv_sched *s, struct hv_violation *out)
{
	const struct rr_pool *p = s->priv;
	const struct hv_domain *d;
	const struct hv_unit *u;
	const struct rr_unit *ru;
	unsigned flagged = 0, linked = 0;

	for (d = s->sys->domains; d; d = d->link) {
		for (u = d->pool == s->pool ? d->units : NULL; u; u = u->link) {
			ru = u->priv;
			flagged += ru->queued;
			if (check_unit(s, u, out))
				return -HV_EINVAL;
		}
	}
	for (ru = p->first; ru; ru = ru->next) {
		linked++;
		if (!ru->queued || (ru->next ? ru->next->prev : p->last) != ru)
			return hv_broken(out, "round-robin: the queue links who is queued",
					 ru->unit, HV_NO_PCPU);
	}
	if (linked != flagged)
		return hv_broken(out, "round-robin: a unit is queued once", NULL, HV_NO_PCPU);
	hv_mask_for_each(c, &p->idle, s->nw)
	{
		if (!hv_resource_of(s->sys, c)->curr->idle)
			return hv_broken(out, "round-robin: an idle pCPU runs its idle unit", NULL,
					 c);
	}
	return 0;
}

const struct hv_policy hv_policy_round_robin = {
	.name = "round-robin",
	.init = rr_init,
	.deinit = rr_deinit,
	.alloc_unit = rr_alloc_unit,
	.free_unit = rr_free_unit,
	.switch_sched = rr_switch_sched,
	.deinit_pcpu = rr_deinit_pcpu,
	.insert_unit = rr_insert_unit,
	.remove_unit = rr_remove_unit,
	.sleep = rr_sleep,
	.wake = rr_wake,
	.context_saved = rr_context_saved,
	.do_schedule = rr_do_schedule,
	.pick_resource = rr_pick_resource,
	.check = rr_check,
};
