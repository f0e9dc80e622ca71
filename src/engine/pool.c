/* SPDX-License-Identifier: MIT */
/*
 * Cpupools: disjoint sets of resources, each set with one policy instance. The list of pools is in
 * ascending order of ids.
 *
 * Source: core-scheduling sections 4.2, 4.3, 4.4.
 */
#include "engine/engine.h"

struct hv_pool *hv_pool_find(struct hv_sys *sys, int id)
{
	struct hv_pool *p = sys->pools;

	while (p && p->id < id)
		p = p->link;
	return p && p->id == id ? p : NULL;
}

struct hv_pool *hv_pool_next(struct hv_sys *sys, int from)
{
	struct hv_pool *p = sys->pools;

	while (p && p->id < from)
		p = p->link;
	return p;
}

struct hv_sched *hv_pool_sched(struct hv_pool *pool)
{
	return pool->sched;
}

/*
 * Place for a new pool in the list; id -1 becomes the highest id + 1, or the first gap when that is
 * no number any more. NULL = taken.
 */
static struct hv_pool **find_slot(struct hv_sys *sys, int *id)
{
	struct hv_pool **at = &sys->pools;

	if (*id >= 0) {
		while (*at && (*at)->id < *id)
			at = &(*at)->link;
		return *at && (*at)->id == *id ? NULL : at;
	}
	*id = 0;
	while (*at && (*at)->link)
		at = &(*at)->link;
	if (*at && (*at)->id < INT32_MAX) {
		*id = (*at)->id + 1;
		return &(*at)->link;
	}
	for (at = &sys->pools; *at && (*at)->id == *id; at = &(*at)->link)
		(*id)++;
	return at;
}

static unsigned nr_pools(const struct hv_sys *sys)
{
	unsigned n = 0;

	for (const struct hv_pool *p = sys->pools; p; p = p->link)
		n++;
	return n;
}

static struct hv_sched *create_sched(struct hv_sys *sys, struct hv_pool *pool, unsigned index)
{
	struct hv_sched *s = hv_alloc(sys, sizeof(*s));

	if (!s)
		return NULL;
	s->policy = sys->policies[index];
	s->sys = sys;
	s->pool = pool;
	s->params = sys->params[index];
	s->nw = sys->nw;
	return s;
}

/*
 * pCPUs of a resource. The mode of the boot, which is pool 0's, is good for a new pool also while
 * pCPUs are off line; another one must suit the pCPUs that are up. 0 = it does not.
 */
static unsigned size_of_new(struct hv_sys *sys, enum hv_gran gran)
{
	const struct hv_pool *boot = hv_pool_find(sys, 0);

	return boot && boot->gran == gran ? boot->g : hv_gran_size(sys, gran);
}

int hv_pool_create(struct hv_sys *sys, int id, const char *policy, enum hv_gran gran,
		   struct hv_pool **out)
{
	int index = hv_policy_index(sys, policy);
	struct hv_pool **at, *pool;
	unsigned g;
	int rc;

	if (id < -1)
		return -HV_EINVAL;
	at = find_slot(sys, &id);
	if (!at)
		return -HV_EEXIST;
	if (index < 0)
		return -HV_ENOENT;
	g = size_of_new(sys, gran);
	if (!g)
		return -HV_EINVAL;
	if (nr_pools(sys) >= 2 * sys->nr_pcpus)
		return -HV_ENOSPC;
	pool = hv_alloc(sys, sizeof(*pool));
	if (!pool)
		return -HV_ENOMEM;
	pool->sys = sys;
	pool->id = id;
	pool->gran = gran;
	pool->g = g;
	pool->sched = create_sched(sys, pool, (unsigned)index);
	rc = pool->sched ? pool->sched->policy->init(pool->sched) : -HV_ENOMEM;
	if (rc) {
		hv_free(sys, pool->sched, sizeof(*pool->sched));
		hv_free(sys, pool, sizeof(*pool));
		return rc;
	}
	pool->link = *at;
	*at = pool;
	*out = pool;
	HV_CHECKED(sys);
	return 0;
}

/* A resource that is leaving, and a domain that is coming, count. */
static bool has_pcpus(const struct hv_pool *pool)
{
	const struct hv_sys *sys = pool->sys;

	return !hv_mask_empty(&pool->cpu_valid, sys->nw) || pool->nr_coming ||
	       (sys->leaving && sys->leaving->pool == pool);
}

int hv_pool_set_gran(struct hv_pool *pool, enum hv_gran gran)
{
	unsigned g = hv_gran_size(pool->sys, gran);

	if (has_pcpus(pool))
		return -HV_EBUSY;
	if (!g)
		return -HV_EINVAL;
	HV_ASSERT(pool->sys, !pool->nr_domains);
	pool->gran = gran;
	pool->g = g;
	HV_CHECKED(pool->sys);
	return 0;
}

int hv_pool_destroy(struct hv_pool *pool)
{
	struct hv_sys *sys = pool->sys;
	struct hv_pool **at = &sys->pools;

	if (pool->nr_domains || has_pcpus(pool))
		return -HV_EBUSY;
	while (*at != pool)
		at = &(*at)->link;
	*at = pool->link;
	pool->sched->policy->deinit(pool->sched);
	hv_free(sys, pool->sched, sizeof(*pool->sched));
	hv_free(sys, pool, sizeof(*pool));
	HV_CHECKED(sys);
	return 0;
}

bool hv_pool_can_join(const struct hv_pool *pool, unsigned pcpu, struct hv_mask *pcpus)
{
	const struct hv_sys *sys = pool->sys;

	hv_gran_mask(sys, pool->gran, pcpu, pcpus);
	hv_mask_for_each(c, pcpus, sys->nw)
	{
		const struct hv_resource *r = sys->pcpus[c].res;

		if (!r || r->pool)
			return false;
	}
	return hv_mask_weight(pcpus, sys->nw) == pool->g;
}

int hv_pool_add_pcpu(struct hv_pool *pool, unsigned pcpu)
{
	struct hv_sys *sys = pool->sys;
	struct hv_resource *r;
	struct hv_mask pcpus;
	int rc;

	if (pcpu >= sys->nr_pcpus)
		return -HV_EINVAL;
	if (sys->suspended)
		return -HV_EBUSY;
	r = sys->pcpus[pcpu].res;
	if (r && sys->leaving == r) {
		if (r->pool != pool || sys->leaving_pcpu != HV_NO_PCPU)
			return -HV_EADDRNOTAVAIL;
		hv_leave_cancel(sys);
		HV_CHECKED(sys);
		return 0;
	}
	if (r && r->pool == pool)
		return 0; /* its resource has joined already */
	if (!r || !hv_pool_can_join(pool, pcpu, &pcpus))
		return -HV_ENODEV;
	if (pool->g > 1)
		r = hv_resource_merge(sys, &pcpus);
	rc = hv_resource_attach(r, pool);
	if (rc) {
		if (pool->g > 1)
			hv_resource_split(r);
		return rc;
	}
	hv_tickle(pool->sched, r->master);
	HV_CHECKED(sys);
	return 0;
}

int hv_pool_remove_start(struct hv_pool *pool, unsigned pcpu)
{
	struct hv_sys *sys = pool->sys;
	const struct hv_resource *boot = sys->pcpus[0].res;
	struct hv_resource *r;

	if (pcpu >= sys->nr_pcpus || !sys->pcpus[pcpu].res)
		return -HV_EINVAL;
	r = sys->pcpus[pcpu].res;
	/* Every thread of pCPU 0's resource is refused as pCPU 0 itself is. */
	if (pool->id == 0 && (pcpu == 0 || r == boot))
		return -HV_EINVAL;
	if (sys->suspended)
		return -HV_EBUSY;
	if (r->pool != pool)
		return -HV_EADDRNOTAVAIL;
	return hv_leave_begin(r, HV_NO_PCPU);
}

int hv_pool_remove_begin(struct hv_pool *pool, unsigned pcpu)
{
	struct hv_sys *sys = pool->sys;
	bool first = !sys->leaving;
	int rc = hv_pool_remove_start(pool, pcpu);

	if (!rc && first)
		hv_leave_announce(sys->pcpus[pcpu].res);
	HV_CHECKED(sys);
	return rc;
}

int hv_pool_remove_pcpu(struct hv_pool *pool, unsigned pcpu)
{
	struct hv_sys *sys = pool->sys;
	int rc = hv_pool_remove_begin(pool, pcpu);

	if (!rc)
		rc = hv_leave_finish(sys->pcpus[pcpu].res);
	HV_CHECKED(sys);
	return rc;
}

void hv_free_pcpus(const struct hv_sys *sys, struct hv_mask *out)
{
	hv_mask_zero(out, sys->nw);
	hv_mask_for_each(c, &sys->online, sys->nw)
	{
		const struct hv_resource *r = sys->pcpus[c].res;

		if (!r->pool || (r == sys->leaving && sys->leaving_pcpu == HV_NO_PCPU))
			hv_mask_set(out, c);
	}
}

int hv_sched_params_get(struct hv_pool *pool, struct hv_sched_params *p)
{
	struct hv_sched *s = pool->sched;

	if (!s->policy->sched_params)
		return -HV_EOPNOTSUPP;
	memset(p, 0, sizeof(*p));
	return s->policy->sched_params(s, p, false);
}

int hv_sched_params_set(struct hv_pool *pool, const struct hv_sched_params *p)
{
	struct hv_sched *s = pool->sched;
	struct hv_sched_params copy = *p;
	int rc;

	if (!s->policy->sched_params)
		return -HV_EOPNOTSUPP;
	rc = s->policy->sched_params(s, &copy, true);
	HV_CHECKED(pool->sys);
	return rc;
}

int hv_frame_set(struct hv_pool *pool, uint64_t major, unsigned nr, const struct hv_window *window)
{
	struct hv_sched *s = pool->sched;
	int rc;

	if (!s->policy->frame_set)
		return -HV_EOPNOTSUPP;
	rc = s->policy->frame_set(s, major, nr, window);
	HV_CHECKED(pool->sys);
	return rc;
}

int hv_frame_get(struct hv_pool *pool, uint64_t *major, unsigned *nr, struct hv_window *window)
{
	struct hv_sched *s = pool->sched;

	if (!s->policy->frame_get)
		return -HV_EOPNOTSUPP;
	return s->policy->frame_get(s, major, nr, window);
}

int hv_runqueue_info(struct hv_pool *pool, unsigned index, struct hv_runqueue_info *out)
{
	struct hv_sched *s = pool->sched;

	if (!s->policy->runqueue_info)
		return -HV_ENOENT;
	memset(out, 0, sizeof(*out));
	return s->policy->runqueue_info(s, index, out);
}
