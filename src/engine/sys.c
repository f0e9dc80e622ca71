/* SPDX-License-Identifier: MIT */
/*
 * An instance: creation from a host and a topology, tearing down, and the services that the rest
 * of the library asks its host for.
 *
 * Source: core-scheduling section 10.
 */
#include "engine/engine.h"

hv_time hv_now(const struct hv_sys *sys)
{
	return hv_clock(sys);
}

unsigned hv_this_pcpu(const struct hv_sys *sys)
{
	return sys->host.this_pcpu(sys->ctx);
}

unsigned hv_mask_words(const struct hv_sys *sys)
{
	return sys->nw;
}

void *hv_alloc(struct hv_sys *sys, size_t size)
{
	void *p = sys->host.alloc(sys->ctx, size);

	if (p)
		memset(p, 0, size);
	return p;
}

void hv_free(struct hv_sys *sys, void *p, size_t size)
{
	if (p)
		sys->host.free(sys->ctx, p, size);
}

void hv_assert_failed(const struct hv_sys *sys, const char *expr, const char *file, int line)
{
	sys->host.assert_failed(sys->ctx, expr, file, line);
	__builtin_trap(); /* it must not return */
}

static bool host_ok(const struct hv_host *h)
{
	return h && h->now && h->this_pcpu && h->poke && h->timer_arm && h->timer_disarm &&
	       h->alloc && h->free && h->assert_failed;
}

static bool topology_ok(const struct hv_topology *t)
{
	return t && t->nr_pcpus >= 1 && t->nr_pcpus <= HV_MAX_PCPUS && t->core && t->socket &&
	       t->node;
}

static bool policy_ok(const struct hv_policy *p)
{
	return p->name && p->init && p->deinit && p->alloc_unit && p->free_unit &&
	       p->switch_sched && p->do_schedule && p->pick_resource &&
	       (p->params || p->nr_params == 0);
}

static void free_sys(struct hv_sys *sys)
{
	struct hv_host host = sys->host;
	void *ctx = sys->ctx;

	hv_params_free(sys);
	hv_topology_free(sys);
	hv_free(sys, sys->pcpus, sys->nr_pcpus * sizeof(*sys->pcpus));
	host.free(ctx, sys, sizeof(*sys));
}

int hv_sys_create(const struct hv_host *host, void *ctx, const struct hv_topology *topo,
		  const struct hv_policy *const *policies, struct hv_sys **out)
{
	struct hv_sys *sys;
	unsigned nr = 0;
	int rc;

	if (!host_ok(host) || !topology_ok(topo) || !policies || !out)
		return -HV_EINVAL;
	for (; policies[nr]; nr++) {
		if (!policy_ok(policies[nr]))
			return -HV_EINVAL;
	}
	sys = host->alloc(ctx, sizeof(*sys));
	if (!sys)
		return -HV_ENOMEM;
	memset(sys, 0, sizeof(*sys));
	sys->host = *host;
	sys->ctx = ctx;
	sys->tracing = host->trace != NULL;
	sys->nr_pcpus = topo->nr_pcpus;
	sys->nw = hv_topology_words(topo->nr_pcpus);
	hv_mask_fill(&sys->all, sys->nw, sys->nr_pcpus);
	sys->policies = policies;
	sys->nr_policies = nr;
	hv_lock_init(sys, &sys->free_lock);
	sys->idle_sched.policy = &hv_policy_idle;
	sys->idle_sched.sys = sys;
	sys->idle_sched.nw = sys->nw;
	sys->pcpus = hv_alloc(sys, sys->nr_pcpus * sizeof(*sys->pcpus));
	rc = sys->pcpus ? hv_topology_init(sys, topo) : -HV_ENOMEM;
	if (!rc)
		rc = hv_params_init(sys);
	if (rc) {
		free_sys(sys);
		return rc;
	}
	*out = sys;
	return 0;
}

/* Everybody off, domains, pools, pCPUs: by the ordinary paths, so that policies free their own. */
void hv_sys_destroy(struct hv_sys *sys)
{
	sys->tracing = false;
	sys->closing = true;
	sys->suspended = false;
	if (sys->leaving)
		hv_leave_cancel(sys);
	for (struct hv_domain *d = sys->domains; d; d = d->link) {
		if (d->move)
			hv_move_cancel(d);
		hv_domain_pause_all(d);
	}
	hv_mask_for_each(c, &sys->online, sys->nw)
	{
		if (sys->pcpus[c].res->master == c)
			hv_resource_evict(sys->pcpus[c].res);
	}
	while (sys->domains)
		hv_domain_free(sys->domains);
	while (sys->pools) {
		struct hv_pool *pool = sys->pools;

		hv_mask_for_each(c, &pool->res_valid, sys->nw)
			hv_resource_detach(sys->pcpus[c].res);
		hv_pool_destroy(pool);
	}
	for (unsigned c = 0; c < sys->nr_pcpus; c++) {
		if (sys->pcpus[c].own)
			hv_resource_destroy(sys->pcpus[c].own);
		sys->pcpus[c].res = NULL;
	}
	free_sys(sys);
}
