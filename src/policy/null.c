/* SPDX-License-Identifier: MIT */
/*
 * null: each pCPU holds at most one unit, statically. That unit runs there whenever it is runnable,
 * otherwise the pCPU idles. No slices, timers, priorities, parameters or balancing. Units without a
 * pCPU wait in one FIFO per pool and do not run at all.
 *
 * Laws: a pCPU is in the free mask exactly when its slot is empty; a unit is in one slot or in the
 * wait queue or in neither, never in two of them; an off line unit is in neither, a runnable one is
 * not in neither; the slot of a pCPU holds a unit that is assigned to it.
 *
 * Locks: every pCPU is guarded by its own lock. The wait queue and the free mask have a lock of
 * their own, taken inside a schedule lock. Whoever takes a waiter needs the lock of the pCPU that
 * the waiter is assigned to as well; at that point it may only be tried.
 *
 * No livelock. Real null has one: a unit with effective soft affinity comes up, its own pCPU P is
 * free but outside its soft mask, so it waits and P is asked for a pass; that pass tries P's lock,
 * which it holds itself, fails, and asks for another pass, for ever. Here a lock that the executing
 * pCPU holds already counts as taken, so P takes the unit in the hard step. Another pass is asked
 * for only when a lock is held by another pCPU, which ends.
 *
 * No unit is lost. A unit that goes down and comes up again before its pCPU has made its pass is
 * still current there but holds no slot any more; Xen's wake takes it for running and does nothing,
 * so it never runs again. Here it is placed or waits like any other. As its context may still be in
 * use, a waiter is given to another pCPU only once that is saved.
 *
 * Where Xen takes a random pCPU, the lowest is taken.
 *
 * Source: null sections 2-5; real-Xen fault 1.
 */
#include "engine/engine.h"
#include "policy/policies.h"

struct null_unit {
	struct hv_unit *unit;
	struct null_unit *next, *prev; /* wait queue; NULL-terminated both ways */
	bool waiting;
};

struct null_pcpu {
	struct null_unit *slot;
};

struct null_pool {
	struct hv_lock lock; /* wait queue and free mask */
	struct null_unit *first, *last;
	struct hv_mask free; /* pCPUs with an empty slot */
};

static inline struct null_unit *null_unit(const struct hv_unit *u)
{
	return u->priv;
}

static inline struct null_pcpu *null_pcpu(const struct hv_resource *r)
{
	return r->priv;
}

/* ---- wait queue; its lock is held */

static void waitq_append(struct null_pool *np, struct null_unit *nu)
{
	nu->waiting = true;
	nu->next = NULL;
	nu->prev = np->last;
	if (np->last)
		np->last->next = nu;
	else
		np->first = nu;
	np->last = nu;
}

static void waitq_remove(struct null_pool *np, struct null_unit *nu)
{
	if (nu->prev)
		nu->prev->next = nu->next;
	else
		np->first = nu->next;
	if (nu->next)
		nu->next->prev = nu->prev;
	else
		np->last = nu->prev;
	nu->next = nu->prev = NULL;
	nu->waiting = false;
}

/* ---- building blocks (null section 3) */

/* On line: some member is not brought down, be it blocked or paused. */
static bool is_online(const struct hv_unit *u)
{
	if (!(u->vcpu->pause_flags & HV_PF_DOWN))
		return true;
	for (unsigned k = 1; k < u->nr_vcpus; k++) {
		if (!(hv_unit_member(u, k)->pause_flags & HV_PF_DOWN))
			return true;
	}
	return false;
}

/* step_mask(u, soft) AND pool */
static void allowed(const struct hv_sched *s, const struct hv_unit *u, bool soft,
		    struct hv_mask *out)
{
	hv_unit_step_mask(s, u, soft, out);
	hv_mask_and(out, out, hv_unit_valid(s), s->nw);
}

static bool may_run_on(const struct hv_sched *s, const struct hv_unit *u, unsigned pcpu, bool soft)
{
	struct hv_mask m;

	allowed(s, u, soft, &m);
	return hv_mask_test(&m, pcpu);
}

/* Queue lock and the locks of both resources are held. */
static void assign(struct hv_sched *s, struct hv_unit *u, struct hv_resource *r)
{
	struct null_pool *np = s->priv;

	HV_ASSERT(s->sys, hv_lock_held(r->lock) && hv_lock_held(&np->lock));
	HV_ASSERT(s->sys, !null_pcpu(r)->slot && !null_unit(u)->waiting);
	null_pcpu(r)->slot = null_unit(u);
	hv_mask_clear(&np->free, r->master);
	hv_unit_assign(u, r);
}

/* Take the waiter to r, whose lock is held. False when its own resource is locked elsewhere. */
static bool take_waiter(struct hv_sched *s, struct null_unit *w, struct hv_resource *r)
{
	struct hv_lock *l = w->unit->res->lock;
	bool mine = hv_lock_mine(s->sys, l);

	if (!mine && !hv_lock_try(s->sys, l))
		return false;
	waitq_remove(s->priv, w);
	assign(s, w->unit, r);
	if (!mine)
		hv_lock_release(s->sys, l);
	return true;
}

/*
 * First waiter that suits r: units with soft affinity that prefers it, then whoever may run there.
 * *contended: one would have suited but its lock was not to be had.
 */
static struct null_unit *find_waiter(struct hv_sched *s, struct hv_resource *r, bool *contended)
{
	struct null_pool *np = s->priv;

	*contended = false;
	for (int step = 0; step < 2; step++) {
		bool soft = step == 0;

		for (struct null_unit *w = np->first; w; w = w->next) {
			if (soft && !hv_unit_has_soft(s, w->unit))
				continue;
			if (!may_run_on(s, w->unit, r->master, soft))
				continue;
			if (w->unit->is_running && w->unit->res != r)
				continue; /* context_saved asks again */
			if (take_waiter(s, w, r))
				return w;
			*contended = true;
		}
	}
	return NULL;
}

/* Empty the slot of u's pCPU; a waiter may get it. True when a pass has been requested there. */
static bool deassign(struct hv_sched *s, struct hv_unit *u)
{
	struct null_pool *np = s->priv;
	struct hv_resource *r = u->res;
	bool contended, tickle;

	HV_ASSERT(s->sys, null_pcpu(r)->slot == null_unit(u));
	hv_lock_acquire(s->sys, &np->lock);
	null_pcpu(r)->slot = NULL;
	hv_mask_set(&np->free, r->master);
	tickle = find_waiter(s, r, &contended) || contended;
	hv_lock_release(s->sys, &np->lock);
	if (tickle)
		hv_tickle(s, r->master);
	return tickle;
}

static struct hv_resource *null_pick_resource(struct hv_sched *s, struct hv_unit *u)
{
	struct null_pool *np = s->priv;
	struct null_unit *holder = null_pcpu(u->res) ? null_pcpu(u->res)->slot : NULL;
	struct hv_mask m;
	unsigned c;

	for (int step = hv_unit_has_soft(s, u) ? 0 : 1; step < 2; step++) {
		struct hv_mask open;

		allowed(s, u, step == 0, &m);
		if ((!holder || holder == null_unit(u)) && hv_mask_test(&m, u->res->master))
			return u->res;
		hv_mask_and(&open, &m, &np->free, s->nw);
		c = hv_mask_first(&open, s->nw);
		if (c != HV_NO_PCPU)
			return hv_resource_of(s->sys, c);
	}
	/* All taken; m is hard AND pool, never empty. */
	c = hv_mask_first(&m, s->nw);
	HV_ASSERT(s->sys, c != HV_NO_PCPU);
	return hv_resource_of(s->sys, c);
}

/* ---- unit events (null section 4) */

static bool some_free_pcpu(struct hv_sched *s, const struct hv_unit *u)
{
	struct null_pool *np = s->priv;
	struct hv_mask m;

	allowed(s, u, false, &m);
	return hv_mask_intersects(&m, &np->free, s->nw);
}

static void null_insert_unit(struct hv_sched *s, struct hv_unit *u)
{
	struct null_pool *np = s->priv;
	bool again = is_online(u);

	while (again) {
		struct hv_lock *l = hv_unit_lock(u);

		hv_unit_assign(u, null_pick_resource(s, u));
		hv_lock_release(s->sys, l);
		l = hv_unit_lock(u);
		hv_lock_acquire(s->sys, &np->lock);
		again = false;
		if (!null_pcpu(u->res)->slot)
			assign(s, u, u->res);
		else if (some_free_pcpu(s, u))
			again = true; /* it was taken between the locks */
		else
			waitq_append(np, null_unit(u));
		hv_lock_release(s->sys, &np->lock);
		hv_lock_release(s->sys, l);
	}
}

/* Leave the wait queue or the slot, whichever it is in. True when a pass has been requested. */
static bool withdraw(struct hv_sched *s, struct hv_unit *u)
{
	struct null_pool *np = s->priv;
	struct null_unit *nu = null_unit(u);

	if (nu->waiting) {
		hv_lock_acquire(s->sys, &np->lock);
		waitq_remove(np, nu);
		hv_lock_release(s->sys, &np->lock);
		return false;
	}
	return null_pcpu(u->res)->slot == nu && deassign(s, u);
}

static void null_remove_unit(struct hv_sched *s, struct hv_unit *u)
{
	struct hv_lock *l = hv_unit_lock(u);

	/* Of a unit that is being destroyed the first vCPU is left, which may have been down. */
	withdraw(s, u);
	hv_lock_release(s->sys, l);
}

/* The first of them to make its pass takes the waiting unit. */
static void tickle_free_pcpus(struct hv_sched *s, const struct hv_unit *u)
{
	struct null_pool *np = s->priv;
	struct hv_mask m;

	allowed(s, u, false, &m);
	hv_mask_and(&m, &m, &np->free, s->nw);
	hv_mask_for_each(c, &m, s->nw) hv_tickle(s, c);
}

static void null_wake(struct hv_sched *s, struct hv_unit *u)
{
	struct null_pool *np = s->priv;
	struct null_unit *nu = null_unit(u);
	struct hv_resource *r = u->res;
	bool assigned;

	if (nu->waiting)
		return;
	if (null_pcpu(r)->slot == nu) {
		if (r->curr != u)
			hv_tickle(s, r->master);
		return;
	}
	/* It has just come on line. */
	assigned = !null_pcpu(r)->slot && may_run_on(s, u, r->master, false) &&
		   (!hv_unit_has_soft(s, u) || may_run_on(s, u, r->master, true));
	hv_lock_acquire(s->sys, &np->lock);
	if (assigned)
		assign(s, u, r);
	else
		waitq_append(np, nu);
	hv_lock_release(s->sys, &np->lock);
	if (assigned)
		hv_tickle(s, r->master);
	else
		tickle_free_pcpus(s, u);
}

static void null_context_saved(struct hv_sched *s, struct hv_unit *u)
{
	if (!u->idle && null_unit(u)->waiting)
		tickle_free_pcpus(s, u);
}

static void null_sleep(struct hv_sched *s, struct hv_unit *u)
{
	bool tickled = !is_online(u) && withdraw(s, u);

	if (!tickled && u->res->curr == u)
		hv_tickle(s, u->res->master);
}

static void null_migrate(struct hv_sched *s, struct hv_unit *u, unsigned pcpu)
{
	struct null_pool *np = s->priv;
	struct null_unit *nu = null_unit(u);
	struct hv_resource *new = hv_resource_of(s->sys, pcpu);

	if (new == u->res)
		return;
	if (null_pcpu(u->res)->slot == nu)
		deassign(s, u);
	hv_lock_acquire(s->sys, &np->lock);
	if (!is_online(u)) {
		if (nu->waiting)
			waitq_remove(np, nu);
	} else if (!null_pcpu(new)->slot && may_run_on(s, u, pcpu, false)) {
		if (nu->waiting)
			waitq_remove(np, nu);
		assign(s, u, new);
	} else if (!nu->waiting) {
		waitq_append(np, nu);
	}
	hv_lock_release(s->sys, &np->lock);
	hv_unit_assign(u, new);
}

/* ---- schedule pass (null section 5) */

static void null_do_schedule(struct hv_sched *s, struct hv_resource *r, struct hv_unit *prev,
			     hv_time now, bool tasklet)
{
	struct null_pool *np = s->priv;
	struct null_unit *x = tasklet ? NULL : null_pcpu(r)->slot;
	bool contended = false;

	(void)now;
	HV_ASSERT(s->sys, hv_lock_held(r->lock));
	if (!tasklet && !x && np->first) {
		hv_lock_acquire(s->sys, &np->lock);
		x = find_waiter(s, r, &contended);
		hv_lock_release(s->sys, &np->lock);
		if (!x && contended)
			hv_tickle(s, r->master);
	}
	prev->next = x && hv_unit_runnable_state(x->unit) ? x->unit : r->idle;
	prev->next_time = -1;
	prev->next->migrated = false;
}

/* ---- life cycle */

static int null_init(struct hv_sched *s)
{
	struct null_pool *np = hv_alloc(s->sys, sizeof(*np));

	if (!np)
		return -HV_ENOMEM;
	hv_lock_init(s->sys, &np->lock);
	s->priv = np;
	return 0;
}

static void null_deinit(struct hv_sched *s)
{
	hv_free(s->sys, s->priv, sizeof(struct null_pool));
	s->priv = NULL;
}

static int null_alloc_unit(struct hv_sched *s, struct hv_unit *u, void *domdata, void **out)
{
	struct null_unit *nu = hv_alloc(s->sys, sizeof(*nu));

	(void)domdata;
	if (!nu)
		return -HV_ENOMEM;
	nu->unit = u;
	*out = nu;
	return 0;
}

static void null_free_unit(struct hv_sched *s, void *priv)
{
	hv_free(s->sys, priv, sizeof(struct null_unit));
}

static int null_alloc_pcpu(struct hv_sched *s, unsigned pcpu, void **out)
{
	(void)pcpu;
	*out = hv_alloc(s->sys, sizeof(struct null_pcpu));
	return *out ? 0 : -HV_ENOMEM;
}

static void null_free_pcpu(struct hv_sched *s, void *priv, unsigned pcpu)
{
	(void)pcpu;
	hv_free(s->sys, priv, sizeof(struct null_pcpu));
}

static struct hv_lock *null_switch_sched(struct hv_sched *s, struct hv_resource *r, void *pcpu_priv,
					 void *idle_priv)
{
	struct null_pool *np = s->priv;
	struct null_pcpu *pc = pcpu_priv;

	pc->slot = NULL;
	hv_mask_set(&np->free, r->master);
	r->idle->priv = idle_priv;
	return &r->own_lock;
}

static void null_deinit_pcpu(struct hv_sched *s, void *priv, unsigned pcpu)
{
	struct null_pool *np = s->priv;
	struct null_pcpu *pc = priv;

	pc->slot = NULL;
	hv_mask_clear(&np->free, pcpu);
}

/* ---- observation */

/* slot: the pCPU that it holds, -1 = none; waiting: its place in the wait queue, 0 = not in it. */
static void null_unit_state(const struct hv_sched *s, const struct hv_unit *u, struct hv_state *out)
{
	const struct null_unit *nu = null_unit(u);
	int64_t place = 0;

	for (const struct null_unit *w = nu; nu->waiting && w; w = w->prev)
		place++;
	(void)s;
	out->nr = 2;
	out->v[0].name = "slot";
	out->v[0].value = null_pcpu(u->res)->slot == nu ? (int64_t)u->res->master : -1;
	out->v[1].name = "waiting";
	out->v[1].value = place;
}

/* ---- laws */

static int null_check(const struct hv_sched *s, struct hv_violation *out)
{
	const struct null_pool *np = s->priv;
	unsigned waiting = 0, queued = 0;

	hv_mask_for_each(c, hv_unit_valid(s), s->nw)
	{
		const struct null_unit *nu = null_pcpu(hv_resource_of(s->sys, c))->slot;

		if (hv_mask_test(&np->free, c) != !nu)
			return hv_broken(out, "null: a pCPU is free exactly when its slot is empty",
					 NULL, c);
		if (nu && (nu->waiting || nu->unit->res->master != c || !is_online(nu->unit)))
			return hv_broken(out, "null: a slot holds an on line unit assigned to it",
					 nu->unit, c);
	}
	for (const struct null_unit *w = np->first; w; w = w->next) {
		queued++;
		if (!w->waiting || !is_online(w->unit) || (w->next ? w->next->prev : np->last) != w)
			return hv_broken(out, "null: the wait queue holds on line units", w->unit,
					 w->unit->res->master);
	}
	for (const struct hv_domain *d = s->sys->domains; d; d = d->link) {
		for (const struct hv_unit *u = d->pool == s->pool ? d->units : NULL; u;
		     u = u->link) {
			waiting += null_unit(u)->waiting;
			if (hv_unit_runnable(u) && !null_unit(u)->waiting &&
			    null_pcpu(u->res)->slot != null_unit(u))
				return hv_broken(out, "null: a runnable unit holds a pCPU or waits",
						 u, u->res->master);
		}
	}
	if (waiting != queued)
		return hv_broken(out, "null: every waiting unit is queued once", NULL, HV_NO_PCPU);
	return 0;
}

const struct hv_policy hv_policy_null = {
	.name = "null",
	.init = null_init,
	.deinit = null_deinit,
	.alloc_unit = null_alloc_unit,
	.free_unit = null_free_unit,
	.alloc_pcpu = null_alloc_pcpu,
	.free_pcpu = null_free_pcpu,
	.switch_sched = null_switch_sched,
	.deinit_pcpu = null_deinit_pcpu,
	.insert_unit = null_insert_unit,
	.remove_unit = null_remove_unit,
	.sleep = null_sleep,
	.wake = null_wake,
	.do_schedule = null_do_schedule,
	.context_saved = null_context_saved,
	.pick_resource = null_pick_resource,
	.migrate = null_migrate,
	.unit_state = null_unit_state,
	.check = null_check,
};
