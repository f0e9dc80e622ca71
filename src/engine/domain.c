/* SPDX-License-Identifier: MIT */
/*
 * Domains, their vCPUs and units: creation in ascending order of ids, destruction in descending
 * order. An operation completes or leaves no trace.
 *
 * Laws: unit_id = g * floor(vcpu_id / g); only the first vCPU of a unit allocates and inserts it,
 * later ones join; affinity is final before the policy places the unit; a unit is asleep before the
 * policy is asked to remove it.
 *
 * Source: core-scheduling sections 1.2, 3.1.
 */
#include "engine/engine.h"

struct hv_domain *hv_domain_find(struct hv_sys *sys, int id)
{
	struct hv_domain *d = sys->domains;

	while (d && d->id < id)
		d = d->link;
	return d && d->id == id ? d : NULL;
}

int hv_domain_create(struct hv_pool *pool, int id, unsigned max_vcpus, struct hv_domain **out)
{
	struct hv_sys *sys = pool->sys;
	struct hv_sched *s = pool->sched;
	struct hv_domain **at = &sys->domains, *d;
	int rc;

	if (id < 0 || max_vcpus < 1 || max_vcpus > HV_MAX_VCPUS)
		return -HV_EINVAL;
	while (*at && (*at)->id < id)
		at = &(*at)->link;
	if (*at && (*at)->id == id)
		return -HV_EEXIST;
	if (hv_mask_empty(&pool->cpu_valid, sys->nw))
		return -HV_ENODEV;
	d = hv_alloc(sys, sizeof(*d));
	if (!d)
		return -HV_ENOMEM;
	d->sys = sys;
	d->pool = pool;
	d->id = id;
	d->max_vcpus = max_vcpus;
	d->suspended = sys->suspending;
	d->pause_count = d->suspended;
	for (unsigned i = 0; i < 4; i++)
		d->handle[HV_HANDLE_BYTES - 1 - i] = (uint8_t)((uint32_t)id >> (8 * i));
	d->vcpus = hv_alloc(sys, max_vcpus * sizeof(*d->vcpus));
	rc = d->vcpus ? 0 : -HV_ENOMEM;
	if (!rc && s->policy->alloc_domain)
		rc = s->policy->alloc_domain(s, d, &d->priv);
	if (rc) {
		hv_free(sys, d->vcpus, max_vcpus * sizeof(*d->vcpus));
		hv_free(sys, d, sizeof(*d));
		return rc;
	}
	d->link = *at;
	*at = d;
	pool->nr_domains++;
	*out = d;
	HV_CHECKED(sys);
	return 0;
}

/* pCPU on which the next vCPU is first thought of. */
static unsigned provisional_pcpu(const struct hv_domain *d)
{
	const struct hv_mask *valid = &d->pool->cpu_valid;

	if (d->nr_vcpus == 0)
		return hv_mask_first(valid, d->sys->nw);
	return hv_mask_after(valid, d->vcpus[d->nr_vcpus - 1]->pcpu, d->sys->nw);
}

/* A unit for the vCPU, not yet known to the policy as something to place. */
static int alloc_unit(struct hv_domain *d, struct hv_vcpu *v)
{
	struct hv_sys *sys = d->sys;
	struct hv_sched *s = d->pool->sched;
	struct hv_unit *u = hv_alloc(sys, sizeof(*u));
	int rc;

	if (!u)
		return -HV_ENOMEM;
	u->sys = sys;
	u->domain = d;
	u->vcpu = v;
	u->res = sys->pcpus[v->pcpu].res;
	u->id = v->id;
	u->next_time = -1;
	u->state_entry = hv_clock(sys);
	hv_mask_copy(&u->hard, &sys->all, sys->nw);
	hv_mask_copy(&u->soft, &sys->all, sys->nw);
	v->unit = u;
	rc = s->policy->alloc_unit(s, u, d->priv, &u->priv);
	if (rc)
		hv_free(sys, u, sizeof(*u));
	return rc;
}

static void join_unit(struct hv_unit *u, struct hv_vcpu *v)
{
	v->unit = u;
	v->pcpu = hv_resource_pcpu(u->res, v->id - u->id);
	u->nr_vcpus++;
	hv_runstate_init(v, HV_OFFLINE, hv_clock(u->sys));
}

/* The policy learns of the unit: its affinity, then where it should be. */
static void insert_unit(struct hv_unit *u, const struct hv_mask *hard, const struct hv_mask *soft)
{
	struct hv_sys *sys = u->sys;
	struct hv_sched *s = u->domain->pool->sched;
	struct hv_lock *l = hv_unit_lock(u);

	hv_unit_set_affinity(u, hard ? hard : &sys->all, soft ? soft : &sys->all);
	hv_lock_release(sys, l);
	if (s->policy->insert_unit)
		s->policy->insert_unit(s, u);
	if (hv_tracing(sys))
		hv_trace_unit(sys, HV_TRACE_INSERT, u, u->res->master, 0, 0);
}

int hv_vcpu_create(struct hv_domain *d, void *host, const struct hv_mask *hard,
		   const struct hv_mask *soft, struct hv_vcpu **out)
{
	struct hv_sys *sys = d->sys;
	uint32_t id = d->nr_vcpus, g = d->pool->g;
	bool first = id % g == 0;
	struct hv_vcpu *v;

	if (id >= d->max_vcpus)
		return -HV_ENOSPC;
	if (d->move || (!first && (hard || soft) && d->vcpus[id - 1]->unit->pinned))
		return -HV_EBUSY;
	if (hard && !hv_mask_intersects(hard, &d->pool->res_valid, sys->nw))
		return -HV_EINVAL;
	v = hv_alloc(sys, sizeof(*v));
	if (!v)
		return -HV_ENOMEM;
	v->domain = d;
	v->host = host;
	v->id = id;
	v->pause_flags = HV_PF_DOWN;
	v->new_state = HV_OFFLINE;
	v->pcpu = provisional_pcpu(d);
	if (first) {
		int rc = alloc_unit(d, v);

		if (rc) {
			hv_free(sys, v, sizeof(*v));
			return rc;
		}
	}
	d->vcpus[id] = v;
	d->nr_vcpus++;
	join_unit(first ? v->unit : d->vcpus[id - 1]->unit, v);
	if (first) {
		if (id == 0)
			d->units = v->unit;
		else
			d->vcpus[id - 1]->unit->link = v->unit;
		insert_unit(v->unit, hard, soft);
	} else if (hard || soft) {
		hv_affinity_set(v, hard, soft);
	}
	*out = v;
	HV_CHECKED(sys);
	return 0;
}

static void free_unit(struct hv_unit *u)
{
	struct hv_sys *sys = u->sys;
	struct hv_domain *d = u->domain;
	struct hv_sched *s = d->pool->sched;

	HV_ASSERT(sys, !u->is_running && u->nr_vcpus == 1 && !u->link);
	if (s->policy->remove_unit)
		s->policy->remove_unit(s, u);
	if (hv_tracing(sys))
		hv_trace_unit(sys, HV_TRACE_REMOVE, u, u->res->master, 0, 0);
	if (u->id == 0)
		d->units = NULL;
	else
		d->vcpus[u->id - 1]->unit->link = NULL;
	s->policy->free_unit(s, u->priv);
	hv_free(sys, u, sizeof(*u));
}

/* The last vCPU goes; with the first of a unit its unit goes. */
static void free_last_vcpu(struct hv_domain *d)
{
	struct hv_vcpu *v = d->vcpus[d->nr_vcpus - 1];
	struct hv_unit *u = v->unit;

	HV_ASSERT(d->sys, !v->is_running && !hv_vcpu_runnable(v));
	if (v == u->vcpu) {
		free_unit(u);
	} else {
		u->nr_vcpus--;
		u->runstate_count[v->runstate.state]--;
	}
	d->nr_vcpus--;
	d->vcpus[d->nr_vcpus] = NULL;
	hv_free(d->sys, v, sizeof(*v));
}

bool hv_domain_runs(const struct hv_domain *d)
{
	for (const struct hv_unit *u = d->units; u; u = u->link) {
		if (u->is_running)
			return true;
	}
	return false;
}

void hv_domain_free(struct hv_domain *d)
{
	struct hv_sys *sys = d->sys;
	struct hv_pool *pool = d->pool;
	struct hv_domain **at = &sys->domains;

	HV_ASSERT(sys, !hv_domain_runs(d) && !d->move);
	while (d->nr_vcpus > 0)
		free_last_vcpu(d);
	if (pool->sched->policy->free_domain)
		pool->sched->policy->free_domain(pool->sched, d, d->priv);
	while (*at != d)
		at = &(*at)->link;
	*at = d->link;
	HV_ASSERT(sys, pool->nr_domains > 0);
	pool->nr_domains--;
	hv_free(sys, d->vcpus, d->max_vcpus * sizeof(*d->vcpus));
	hv_free(sys, d, sizeof(*d));
}

int hv_domain_destroy(struct hv_domain *d)
{
	struct hv_sys *sys = d->sys;

	if (hv_domain_runs(d))
		return -HV_EBUSY;
	if (d->move)
		hv_move_cancel(d);
	/* What is queued or waiting leaves the queues: remove_unit wants sleepers. */
	hv_domain_pause_all(d);
	hv_domain_free(d);
	HV_CHECKED(sys);
	return 0;
}

int hv_domain_params_get(struct hv_domain *d, struct hv_domain_params *p)
{
	struct hv_sched *s = d->pool->sched;

	if (!s->policy->domain_params)
		return -HV_EOPNOTSUPP;
	memset(p, 0, sizeof(*p));
	return s->policy->domain_params(s, d, p, false);
}

int hv_domain_params_set(struct hv_domain *d, const struct hv_domain_params *p)
{
	struct hv_sched *s = d->pool->sched;
	struct hv_domain_params copy = *p;
	int rc;

	if (!s->policy->domain_params)
		return -HV_EOPNOTSUPP;
	rc = s->policy->domain_params(s, d, &copy, true);
	HV_CHECKED(d->sys);
	return rc;
}

int hv_unit_params_get(struct hv_vcpu *v, struct hv_unit_params *p)
{
	struct hv_sched *s = v->domain->pool->sched;

	if (!s->policy->unit_params)
		return -HV_EOPNOTSUPP;
	memset(p, 0, sizeof(*p));
	return s->policy->unit_params(s, v->unit, p, false);
}

int hv_unit_params_set(struct hv_vcpu *v, const struct hv_unit_params *p)
{
	struct hv_sched *s = v->domain->pool->sched;
	struct hv_unit_params copy = *p;
	int rc;

	if (!s->policy->unit_params)
		return -HV_EOPNOTSUPP;
	rc = s->policy->unit_params(s, v->unit, &copy, true);
	HV_CHECKED(v->domain->sys);
	return rc;
}

int hv_domain_identify(struct hv_domain *d, const uint8_t handle[16], bool control)
{
	if (d->nr_vcpus > 0)
		return -HV_EBUSY;
	memcpy(d->handle, handle, sizeof(d->handle));
	d->control = control;
	return 0;
}

void hv_unit_state(const struct hv_unit *u, struct hv_state *out)
{
	const struct hv_sched *s = u->res->sched;

	out->nr = 0;
	if (!u->idle && s->policy->unit_state)
		s->policy->unit_state(s, u, out);
}
