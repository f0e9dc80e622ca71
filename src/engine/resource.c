/* SPDX-License-Identifier: MIT */
/*
 * Resources: what units run on. A pCPU that comes up is a free resource of one pCPU under the idle
 * policy; a pool takes it over (attach) and gives it back (detach). For a pool with g > 1 free
 * pCPUs are merged first: the lowest one's resource takes the others in, and theirs sleep until
 * the split, so that neither step needs memory.
 *
 * Leaving has two halves. From the first on the resource is not in its pool's masks, so that
 * nothing new is placed there; but it still belongs to the pool and its policy. The second sends
 * away the units that are assigned to it; one that runs goes when it is switched out, and another
 * attempt is needed then.
 *
 * Laws: a free pCPU's resource has g = 1, no pool, the idle policy and the lock that all free
 * pCPUs share. The lock pointer is the last thing that attach or detach changes, and the old lock
 * object is what is released.
 *
 * Source: core-scheduling sections 1.1, 4.3, 4.4, 4.5.
 */
#include "engine/engine.h"

/* End of a slice. */
static void slice_over(struct hv_timer *t)
{
	struct hv_resource *r = t->data;

	r->sys->host.poke(r->sys->ctx, r->master, HV_EVENT_SCHEDULE);
}

static struct hv_vcpu *create_idle_vcpu(struct hv_sys *sys, unsigned pcpu, struct hv_unit *u)
{
	struct hv_vcpu *v = hv_alloc(sys, sizeof(*v));

	if (!v)
		return NULL;
	v->unit = u;
	v->id = pcpu;
	v->pcpu = pcpu;
	v->idle = true;
	v->is_running = true;
	v->new_state = HV_RUNNING;
	return v;
}

static struct hv_unit *create_idle_unit(struct hv_resource *r)
{
	struct hv_sys *sys = r->sys;
	struct hv_unit *u = hv_alloc(sys, sizeof(*u));

	if (!u)
		return NULL;
	u->sys = sys;
	u->res = r;
	u->id = r->master;
	u->nr_vcpus = 1;
	u->idle = true;
	u->is_running = true;
	u->state_entry = hv_clock(sys);
	u->next_time = -1;
	hv_mask_copy(&u->hard, &r->pcpus, sys->nw);
	hv_mask_copy(&u->soft, &r->pcpus, sys->nw);
	u->vcpu = create_idle_vcpu(sys, r->master, u);
	if (!u->vcpu) {
		hv_free(sys, u, sizeof(*u));
		return NULL;
	}
	/* The idle policy keeps nothing: any non-NULL token will do. */
	u->priv = u;
	hv_runstate_init(u->vcpu, HV_RUNNING, u->state_entry);
	return u;
}

struct hv_resource *hv_resource_create(struct hv_sys *sys, unsigned pcpu)
{
	struct hv_resource *r = hv_alloc(sys, sizeof(*r));

	if (!r)
		return NULL;
	r->sys = sys;
	r->sched = &sys->idle_sched;
	r->master = pcpu;
	r->g = 1;
	hv_mask_set(&r->pcpus, pcpu);
	r->idle = create_idle_unit(r);
	if (!r->idle) {
		hv_free(sys, r, sizeof(*r));
		return NULL;
	}
	hv_lock_init(sys, &r->own_lock);
	r->lock = &sys->free_lock;
	r->curr = r->idle;
	hv_timer_init(&r->timer, sys, HV_TIMER_SCHEDULE, pcpu, slice_over, r);
	return r;
}

/* Only a free resource that runs its idle unit, or one that sleeps. */
void hv_resource_destroy(struct hv_resource *r)
{
	struct hv_sys *sys = r->sys;

	HV_ASSERT(sys, !r->pool && r->curr == r->idle && !r->prev);
	hv_timer_stop(&r->timer);
	hv_free(sys, r->idle->vcpu, sizeof(*r->idle->vcpu));
	hv_free(sys, r->idle, sizeof(*r->idle));
	hv_free(sys, r, sizeof(*r));
}

/* A pCPU runs its idle vCPU as part of this resource. */
static void place_pcpu(struct hv_resource *r, unsigned pcpu, unsigned rank)
{
	struct hv_pcpu *p = &r->sys->pcpus[pcpu];

	HV_ASSERT(r->sys, p->loaded == p->idle && !p->from && p->wait == HV_WAIT_NONE);
	p->res = r;
	p->rank = rank;
	p->idle->unit = r->idle;
}

static void set_pcpus(struct hv_resource *r, const struct hv_mask *pcpus)
{
	struct hv_unit *idle = r->idle;
	unsigned nw = r->sys->nw;

	hv_mask_copy(&r->pcpus, pcpus, nw);
	hv_mask_copy(&idle->hard, pcpus, nw);
	hv_mask_copy(&idle->soft, pcpus, nw);
	r->g = hv_mask_weight(pcpus, nw);
	idle->runstate_count[HV_RUNNING] = r->g;
}

struct hv_resource *hv_resource_merge(struct hv_sys *sys, const struct hv_mask *pcpus)
{
	struct hv_resource *r = sys->pcpus[hv_mask_first(pcpus, sys->nw)].own;
	unsigned rank = 0;

	hv_mask_for_each(c, pcpus, sys->nw)
	{
		struct hv_resource *own = sys->pcpus[c].own;

		HV_ASSERT(sys, own && own == sys->pcpus[c].res && !own->pool && own->g == 1);
		HV_ASSERT(sys, own->curr == own->idle && !own->prev && !own->timer.armed);
		place_pcpu(r, c, rank++);
	}
	set_pcpus(r, pcpus);
	return r;
}

void hv_resource_split(struct hv_resource *r)
{
	struct hv_sys *sys = r->sys;
	struct hv_mask pcpus = r->pcpus, single;

	HV_ASSERT(sys, !r->pool && r->curr == r->idle && !r->prev);
	hv_mask_for_each(c, &pcpus, sys->nw)
	{
		struct hv_resource *own = sys->pcpus[c].own;

		hv_mask_zero(&single, sys->nw);
		hv_mask_set(&single, c);
		place_pcpu(own, c, 0);
		set_pcpus(own, &single);
	}
	HV_ASSERT(sys, r->g == 1);
}

void hv_gran_mask(const struct hv_sys *sys, enum hv_gran gran, unsigned pcpu, struct hv_mask *out)
{
	hv_mask_zero(out, sys->nw);
	if (gran == HV_GRAN_CPU)
		hv_mask_set(out, pcpu);
	else
		hv_mask_and(out,
			    gran == HV_GRAN_CORE ? sys->pcpus[pcpu].core : sys->pcpus[pcpu].socket,
			    &sys->online, sys->nw);
}

unsigned hv_gran_size(const struct hv_sys *sys, enum hv_gran gran)
{
	struct hv_mask mask;
	unsigned g = 0;

	if (gran == HV_GRAN_CPU)
		return 1;
	if (gran != HV_GRAN_CORE && gran != HV_GRAN_SOCKET)
		return 0;
	hv_mask_for_each(c, &sys->online, sys->nw)
	{
		unsigned weight;

		hv_gran_mask(sys, gran, c, &mask);
		weight = hv_mask_weight(&mask, sys->nw);
		if (g && weight != g)
			return 0;
		g = weight;
	}
	return g;
}

int hv_resource_attach(struct hv_resource *r, struct hv_pool *pool)
{
	struct hv_sys *sys = r->sys;
	struct hv_sched *s = pool->sched;
	const struct hv_policy *p = s->policy;
	void *pcpu_priv = NULL, *idle_priv = NULL;
	struct hv_lock *old, *new;
	int rc;

	HV_ASSERT(sys, !r->pool && r->sched == &sys->idle_sched);
	if (p->alloc_pcpu) {
		rc = p->alloc_pcpu(s, r->master, &pcpu_priv);
		if (rc)
			return rc;
	}
	rc = p->alloc_unit(s, r->idle, NULL, &idle_priv);
	if (rc) {
		if (p->free_pcpu)
			p->free_pcpu(s, pcpu_priv, r->master);
		return rc;
	}
	old = hv_resource_lock(r);
	new = p->switch_sched(s, r, pcpu_priv, idle_priv);
	HV_ASSERT(sys, new && r->idle->priv == idle_priv);
	r->sched = s;
	r->priv = pcpu_priv;
	r->pool = pool;
	r->lock = new;
	hv_lock_release(sys, old);
	hv_mask_or(&pool->cpu_valid, &pool->cpu_valid, &r->pcpus, sys->nw);
	hv_mask_set(&pool->res_valid, r->master);
	return 0;
}

/* No guest unit runs on the resource or is assigned to it. */
void hv_resource_detach(struct hv_resource *r)
{
	struct hv_sys *sys = r->sys;
	struct hv_pool *pool = r->pool;
	struct hv_sched *s = r->sched;
	const struct hv_policy *p = s->policy;
	void *pcpu_priv = r->priv, *idle_priv = r->idle->priv;
	struct hv_lock *old;

	HV_ASSERT(sys, pool && r->curr == r->idle && !r->prev);
	hv_rendezvous_end(r);
	hv_mask_andnot(&pool->cpu_valid, &pool->cpu_valid, &r->pcpus, sys->nw);
	hv_mask_clear(&pool->res_valid, r->master);
	old = hv_resource_lock(r);
	hv_timer_stop(&r->timer);
	r->idle->priv = r->idle;
	r->sched = &sys->idle_sched;
	r->priv = NULL;
	r->pool = NULL;
	r->lock = &sys->free_lock;
	hv_lock_release(sys, old);
	if (p->deinit_pcpu)
		p->deinit_pcpu(s, pcpu_priv, r->master);
	p->free_unit(s, idle_priv);
	if (p->free_pcpu)
		p->free_pcpu(s, pcpu_priv, r->master);
	if (r->g > 1)
		hv_resource_split(r);
}

/* ---- leaving */

static bool is_last(const struct hv_resource *r)
{
	return hv_mask_subset(&r->pool->cpu_valid, &r->pcpus, r->sys->nw);
}

int hv_leave_begin(struct hv_resource *r, uint32_t off)
{
	struct hv_sys *sys = r->sys;
	struct hv_pool *pool = r->pool;

	HV_ASSERT(sys, pool);
	if (sys->leaving)
		return sys->leaving == r && sys->leaving_pcpu == off ? 0 : -HV_EADDRNOTAVAIL;
	if (is_last(r) && (pool->nr_domains || pool->nr_coming))
		return -HV_EBUSY;
	if (hv_resource_has_pins(r))
		return -HV_EADDRINUSE;
	hv_mask_andnot(&pool->cpu_valid, &pool->cpu_valid, &r->pcpus, sys->nw);
	hv_mask_clear(&pool->res_valid, r->master);
	sys->leaving = r;
	sys->leaving_pcpu = off;
	return 0;
}

/*
 * A unit that can run nowhere else in its pool may run everywhere; one that is pinned elsewhere,
 * once it is not. Locked.
 */
static void break_affinity(struct hv_resource *r, struct hv_unit *u)
{
	struct hv_sys *sys = r->sys;
	struct hv_mask *own = u->pinned ? &u->own_hard : &u->hard;

	HV_ASSERT(sys, !hv_unit_pinned_to(u, r));
	if (hv_mask_intersects(own, &r->pool->res_valid, sys->nw) || !hv_mask_test(own, r->master))
		return;
	if (u->pinned)
		hv_mask_copy(own, &sys->all, sys->nw);
	else
		hv_unit_set_affinity(u, &sys->all, NULL);
}

/*
 * Who waits looks for a place anew: a pCPU comes back, or one goes that was asked to take somebody.
 */
static void place_waiting(struct hv_pool *pool)
{
	struct hv_sys *sys = pool->sys;

	for (struct hv_domain *d = sys->domains; d; d = d->link) {
		for (struct hv_unit *u = d->pool == pool ? d->units : NULL; u; u = u->link) {
			struct hv_lock *l = hv_unit_lock(u);
			bool waits = hv_unit_runnable(u) && !u->is_running;

			if (waits)
				hv_migrate_start(u);
			hv_lock_release(sys, l);
			if (waits)
				hv_migrate_finish(u);
		}
	}
}

void hv_leave_announce(struct hv_resource *r)
{
	struct hv_sys *sys = r->sys;

	HV_ASSERT(sys, sys->leaving == r);
	for (struct hv_domain *d = sys->domains; d; d = d->link) {
		for (struct hv_unit *u = d->pool == r->pool ? d->units : NULL; u; u = u->link) {
			struct hv_lock *l = hv_unit_lock(u);

			break_affinity(r, u);
			hv_lock_release(sys, l);
		}
	}
	place_waiting(r->pool);
}

/* False: it still runs there. */
static bool send_away(struct hv_resource *r, struct hv_unit *u)
{
	struct hv_lock *l = hv_unit_lock(u);
	bool here = u->res == r;

	break_affinity(r, u);
	if (here)
		hv_migrate_start(u);
	hv_lock_release(r->sys, l);
	if (here)
		hv_migrate_finish(u);
	return u->res != r;
}

int hv_leave_finish(struct hv_resource *r)
{
	struct hv_sys *sys = r->sys;
	bool empty = true;

	HV_ASSERT(sys, sys->leaving == r);
	for (struct hv_domain *d = sys->domains; d; d = d->link) {
		for (struct hv_unit *u = d->pool == r->pool ? d->units : NULL; u; u = u->link)
			empty &= send_away(r, u);
	}
	if (!empty)
		return -HV_EAGAIN;
	hv_resource_detach(r);
	sys->leaving = NULL;
	return 0;
}

void hv_leave_cancel(struct hv_sys *sys)
{
	struct hv_resource *r = sys->leaving;

	HV_ASSERT(sys, r && r->pool);
	hv_mask_or(&r->pool->cpu_valid, &r->pool->cpu_valid, &r->pcpus, sys->nw);
	hv_mask_set(&r->pool->res_valid, r->master);
	hv_mask_for_each(c, &r->pcpus, sys->nw) sys->pcpus[c].work &= (uint16_t)~HV_WORK_LEAVING;
	sys->leaving = NULL;
	sys->host.poke(sys->ctx, r->master, HV_EVENT_SCHEDULE);
	place_waiting(r->pool);
}

void hv_sched_masters(const struct hv_sched *s, struct hv_mask *out)
{
	const struct hv_resource *leaving = s->sys->leaving;

	hv_mask_copy(out, &s->pool->res_valid, s->nw);
	if (leaving && leaving->sched == s)
		hv_mask_set(out, leaving->master);
}

struct hv_resource *hv_resource_of(const struct hv_sys *sys, unsigned pcpu)
{
	return sys->pcpus[pcpu].res;
}
