/* SPDX-License-Identifier: MIT */
/*
 * A domain moves to another pool: its vCPUs stay, its units are made anew for the other pool's
 * granularity and policy. First everything is allocated, then every vCPU is paused, one after the
 * other, and the last step cannot fail. A vCPU keeps its runstate and its times; affinity and
 * parameters are lost.
 *
 * Laws: while a move is unfinished the domain is in its old pool, paused, and neither loses nor
 * gains vCPUs; the old policy forgets a unit before its resource changes; the old data are freed
 * by the policy that made them; no unit is taken from a policy before its context is saved.
 *
 * Source: core-scheduling sections 4.2, 4.6; real-Xen faults 4 and 9.
 */
#include "engine/engine.h"

static void free_units(struct hv_sched *s, struct hv_unit *u)
{
	while (u) {
		struct hv_unit *next = u->link;

		s->policy->free_unit(s, u->priv);
		hv_free(s->sys, u, sizeof(*u));
		u = next;
	}
}

static void free_data(struct hv_sched *s, struct hv_domain *d, struct hv_unit *units, void *priv)
{
	free_units(s, units);
	if (s->policy->free_domain)
		s->policy->free_domain(s, d, priv);
}

/* A unit for the vCPUs from `first` on; nobody is in it yet. */
static struct hv_unit *make_unit(struct hv_domain *d, struct hv_move *m, struct hv_vcpu *first)
{
	struct hv_sys *sys = d->sys;
	struct hv_sched *s = m->to->sched;
	struct hv_unit *u = hv_alloc(sys, sizeof(*u));

	if (!u)
		return NULL;
	u->sys = sys;
	u->domain = d;
	u->vcpu = first;
	u->res = sys->pcpus[hv_mask_first(&m->to->cpu_valid, sys->nw)].res;
	u->id = first->id;
	u->next_time = -1;
	hv_mask_copy(&u->hard, &sys->all, sys->nw);
	hv_mask_copy(&u->soft, &sys->all, sys->nw);
	if (s->policy->alloc_unit(s, u, m->priv, &u->priv)) {
		hv_free(sys, u, sizeof(*u));
		return NULL;
	}
	return u;
}

static bool make_units(struct hv_domain *d, struct hv_move *m)
{
	struct hv_unit **tail = &m->units;

	for (uint32_t i = 0; i < d->nr_vcpus; i += m->to->g) {
		*tail = make_unit(d, m, d->vcpus[i]);
		if (!*tail)
			return false;
		tail = &(*tail)->link;
	}
	return true;
}

int hv_move_prepare(struct hv_domain *d, struct hv_pool *to)
{
	struct hv_sys *sys = d->sys;
	struct hv_sched *s = to->sched;
	struct hv_move *m = hv_alloc(sys, sizeof(*m));
	int rc;

	HV_ASSERT(sys, !d->move && d->pool != to);
	if (!m)
		return -HV_ENOMEM;
	m->to = to;
	rc = s->policy->alloc_domain ? s->policy->alloc_domain(s, d, &m->priv) : 0;
	if (!rc && !make_units(d, m)) {
		free_data(s, d, m->units, m->priv);
		rc = -HV_ENOMEM;
	}
	if (rc) {
		hv_free(sys, m, sizeof(*m));
		return rc;
	}
	d->move = m;
	to->nr_coming++;
	hv_domain_pause_count(d);
	return 0;
}

/* The move is over, one way or the other. */
static void forget(struct hv_domain *d)
{
	struct hv_move *m = d->move;

	HV_ASSERT(d->sys, m->to->nr_coming > 0);
	m->to->nr_coming--;
	d->move = NULL;
	hv_free(d->sys, m, sizeof(*m));
}

/*
 * Who waits and has not been told to sleep is told now. A pCPU may have passed it over, because it
 * cannot run, and gone idle: only a wake that follows a sleep has the policy ask for one again.
 */
static void put_to_sleep(struct hv_domain *d)
{
	for (uint32_t i = d->move->nr_off + d->move->asked; i < d->nr_vcpus; i++) {
		if (!d->vcpus[i]->unit->is_running)
			hv_vcpu_sleep(d->vcpus[i]);
	}
}

void hv_move_cancel(struct hv_domain *d)
{
	put_to_sleep(d);
	free_data(d->move->to->sched, d, d->move->units, d->move->priv);
	forget(d);
	hv_domain_unpause_all(d);
}

/* The old policy forgets all units; one lock, that of the pool's first pCPU, covers them then. */
static void leave_policy(struct hv_domain *d)
{
	struct hv_sys *sys = d->sys;
	struct hv_pool *pool = d->pool;
	struct hv_resource *first = sys->pcpus[hv_mask_first(&pool->cpu_valid, sys->nw)].res;

	for (struct hv_unit *u = d->units; u; u = u->link) {
		struct hv_lock *l;

		HV_ASSERT(sys, !u->is_running);
		if (pool->sched->policy->remove_unit)
			pool->sched->policy->remove_unit(pool->sched, u);
		if (hv_tracing(sys))
			hv_trace_unit(sys, HV_TRACE_REMOVE, u, u->res->master, 0, 0);
		l = hv_unit_lock(u);
		hv_unit_assign(u, first);
		hv_lock_release(sys, l);
	}
}

/* vCPU 0 is first thought of on the first pCPU of the pool, each further one on the next. */
static void populate(struct hv_domain *d)
{
	struct hv_sys *sys = d->sys;
	const struct hv_mask *valid = &d->pool->cpu_valid;
	unsigned c = hv_mask_first(valid, sys->nw);
	struct hv_unit *u = NULL;

	for (uint32_t i = 0; i < d->nr_vcpus; i++, c = hv_mask_after(valid, c, sys->nw)) {
		struct hv_vcpu *v = d->vcpus[i];

		HV_ASSERT(sys, !v->is_running && v->runstate.state != HV_RUNNING);
		if (i % d->pool->g == 0) {
			u = u ? u->link : d->units;
			u->state_entry = v->unit->state_entry;
			u->res = sys->pcpus[c].res;
		}
		v->unit = u;
		v->pcpu = hv_resource_pcpu(u->res, v->id - u->id);
		u->nr_vcpus++;
		u->runstate_count[v->runstate.state]++;
	}
}

static void enter_policy(struct hv_domain *d)
{
	struct hv_sys *sys = d->sys;
	struct hv_sched *s = d->pool->sched;

	for (struct hv_unit *u = d->units; u; u = u->link) {
		struct hv_lock *l = hv_unit_lock(u);

		hv_unit_set_affinity(u, &sys->all, &sys->all);
		hv_lock_release(sys, l);
		if (s->policy->insert_unit)
			s->policy->insert_unit(s, u);
		if (hv_tracing(sys))
			hv_trace_unit(sys, HV_TRACE_INSERT, u, u->res->master, 0, 0);
	}
}

void hv_move_commit(struct hv_domain *d)
{
	struct hv_move *m = d->move;
	struct hv_pool *from = d->pool;
	struct hv_unit *old_units = d->units;
	void *old_priv = d->priv;

	HV_ASSERT(d->sys, !hv_domain_runs(d) && d->pause_count > 0);
	leave_policy(d);
	d->pool = m->to;
	d->units = m->units;
	d->priv = m->priv;
	from->nr_domains--;
	d->pool->nr_domains++;
	populate(d);
	enter_policy(d);
	forget(d);
	hv_domain_unpause_all(d);
	free_data(from->sched, d, old_units, old_priv);
}

/* One vCPU after the other sleeps, and is waited for. */
static bool all_off(struct hv_domain *d)
{
	struct hv_move *m = d->move;

	for (; m->nr_off < d->nr_vcpus; m->nr_off++) {
		struct hv_vcpu *v = d->vcpus[m->nr_off];

		if (!m->asked)
			hv_vcpu_sleep(v);
		m->asked = true;
		if (v->is_running)
			return false;
		m->asked = false;
	}
	return !hv_domain_runs(d);
}

int hv_domain_move(struct hv_domain *d, struct hv_pool *to)
{
	struct hv_sys *sys = d->sys;
	int rc;

	if (to == d->pool) {
		if (d->move)
			hv_move_cancel(d);
		HV_CHECKED(sys);
		return 0;
	}
	if (hv_mask_empty(&to->cpu_valid, sys->nw))
		return -HV_ENOENT;
	if (sys->suspended || (d->move && d->move->to != to) || hv_domain_has_pins(d))
		return -HV_EBUSY;
	rc = d->move ? 0 : hv_move_prepare(d, to);
	if (rc)
		return rc;
	if (!all_off(d))
		return -HV_EAGAIN;
	hv_move_commit(d);
	HV_CHECKED(sys);
	return 0;
}
