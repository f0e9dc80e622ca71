/* SPDX-License-Identifier: MIT */
/*
 * pCPUs come and go: hotplug, SMT on and off, suspend and resume.
 *
 * A pCPU that goes off line takes its whole resource out of pool 0; the resource is first sent
 * idle, by work for its idle context, so that the attempt after that succeeds whatever waits for
 * a pCPU. What a pCPU needs is kept while it is off line: it comes back without memory for
 * itself.
 *
 * Laws: everything is checked before anything is changed, and what was changed is undone exactly;
 * pools are not touched by a suspend, and by a resume only where pCPUs have not returned.
 *
 * Source: core-scheduling section 4.5; section 9 (hazards); real-Xen faults 3, 6, 7, 8.
 */
#include "engine/engine.h"

/* ---- down */

static void move_timers(struct hv_sys *sys, unsigned from)
{
	unsigned to = hv_mask_first(&sys->online, sys->nw);

	for (struct hv_pool *p = sys->pools; p; p = p->link) {
		if (p->sched->policy->move_timers)
			p->sched->policy->move_timers(p->sched, from, to);
	}
}

/* A free pCPU is gone. */
static void take_off(struct hv_sys *sys, unsigned pcpu)
{
	struct hv_pcpu *p = &sys->pcpus[pcpu];

	HV_ASSERT(sys, p->res == p->own && !p->own->pool && p->own->g == 1);
	HV_ASSERT(sys, p->loaded == p->idle && !p->from && !p->own->timer.armed);
	p->res = NULL;
	p->loaded = NULL;
	p->work = 0;
	p->wait = HV_WAIT_NONE;
	hv_mask_clear(&sys->online, pcpu);
	hv_topology_leave(sys, pcpu);
	move_timers(sys, pcpu);
}

int hv_pcpu_down_start(struct hv_sys *sys, unsigned pcpu)
{
	struct hv_resource *r;

	if (pcpu == 0 || pcpu >= sys->nr_pcpus)
		return -HV_EINVAL;
	r = sys->pcpus[pcpu].res;
	if (!r)
		return -HV_EEXIST;
	if (sys->suspended)
		return -HV_EBUSY;
	if (!r->pool)
		return 0;
	if (r->pool->id != 0)
		return -HV_ENODEV;
	return hv_leave_begin(r, pcpu);
}

/* It would take pCPU 0 out of pool 0, which is refused to pCPU 0 itself. */
static bool is_beside_pcpu_0(const struct hv_sys *sys, unsigned pcpu)
{
	const struct hv_resource *boot = sys->pcpus[0].res;

	return pcpu < sys->nr_pcpus && boot && sys->pcpus[pcpu].res == boot;
}

int hv_pcpu_down_begin(struct hv_sys *sys, unsigned pcpu)
{
	bool first = !sys->leaving;
	int rc = is_beside_pcpu_0(sys, pcpu) ? -HV_EINVAL : hv_pcpu_down_start(sys, pcpu);

	if (!rc && first && sys->leaving)
		hv_leave_announce(sys->leaving);
	HV_CHECKED(sys);
	return rc;
}

/* Its resource runs its idle unit, or is asked to. */
static bool is_idle(struct hv_resource *r)
{
	struct hv_pcpu *master = &r->sys->pcpus[r->master];

	if (hv_resource_is_quiet(r))
		return true;
	if (!(master->work & HV_WORK_LEAVING)) {
		master->work |= HV_WORK_LEAVING;
		r->sys->host.poke(r->sys->ctx, r->master, HV_EVENT_SCHEDULE);
	}
	return false;
}

int hv_pcpu_down_finish(struct hv_sys *sys, unsigned pcpu)
{
	struct hv_resource *r = sys->pcpus[pcpu].res;

	if (r->pool) {
		int rc;

		if (!is_idle(r))
			return -HV_EAGAIN;
		sys->pcpus[r->master].work &= (uint16_t)~HV_WORK_LEAVING;
		rc = hv_leave_finish(r);
		HV_ASSERT(sys, !rc);
	}
	take_off(sys, pcpu);
	return 0;
}

int hv_pcpu_down(struct hv_sys *sys, unsigned pcpu)
{
	int rc = hv_pcpu_down_begin(sys, pcpu);

	if (!rc)
		rc = hv_pcpu_down_finish(sys, pcpu);
	HV_CHECKED(sys);
	return rc;
}

/* ---- up */

/* The pCPU is on line, and free. */
static void put_on(struct hv_sys *sys, unsigned pcpu)
{
	struct hv_pcpu *p = &sys->pcpus[pcpu];

	p->res = p->own;
	p->rank = 0;
	p->work = 0;
	p->wait = HV_WAIT_NONE;
	p->idle = p->own->idle->vcpu;
	p->loaded = p->idle;
	hv_mask_set(&sys->online, pcpu);
	hv_topology_join(sys, pcpu);
}

int hv_pcpu_up(struct hv_sys *sys, unsigned pcpu)
{
	struct hv_pool *pool = hv_pool_find(sys, 0);
	struct hv_mask pcpus;
	struct hv_pcpu *p;
	int rc = 0;

	if (pcpu >= sys->nr_pcpus)
		return -HV_EINVAL;
	if (sys->suspended)
		return -HV_EBUSY;
	p = &sys->pcpus[pcpu];
	if (p->res && p->res == sys->leaving && sys->leaving_pcpu == pcpu) {
		hv_leave_cancel(sys);
		HV_CHECKED(sys);
		return 0;
	}
	if (p->res)
		return -HV_EEXIST;
	if (!p->own)
		p->own = hv_resource_create(sys, pcpu);
	if (!p->own)
		return -HV_ENOMEM;
	put_on(sys, pcpu);
	if (pool && hv_pool_can_join(pool, pcpu, &pcpus))
		rc = hv_pool_add_pcpu(pool, pcpu);
	if (rc)
		take_off(sys, pcpu);
	HV_CHECKED(sys);
	return rc;
}

/* ---- SMT */

/* The first thread of its core, off line ones included. */
static bool is_first_thread(const struct hv_sys *sys, unsigned pcpu)
{
	unsigned low = 0;

	while (sys->topo.core[low] != sys->topo.core[pcpu])
		low++;
	return low == pcpu;
}

/* All that can be refused. */
static int check_smt(struct hv_sys *sys, bool on)
{
	const struct hv_pool *boot = hv_pool_find(sys, 0);
	bool smt = false, left = false;

	for (const struct hv_pool *p = sys->pools; p; p = p->link) {
		if (p->gran != HV_GRAN_CPU)
			return -HV_EBUSY;
	}
	for (unsigned c = 0; c < sys->nr_pcpus; c++) {
		const struct hv_resource *r = sys->pcpus[c].res;

		if (is_first_thread(sys, c)) {
			left |= r && r->pool == boot;
			continue;
		}
		smt = true;
		if (!on && r && r->pool && r->pool != boot)
			return -HV_ENODEV;
	}
	if (!smt)
		return -HV_EOPNOTSUPP;
	if (!on && boot && !left && (boot->nr_domains || boot->nr_coming))
		return -HV_EBUSY;
	for (unsigned c = 0; !on && c < sys->nr_pcpus; c++) {
		struct hv_resource *r = sys->pcpus[c].res;

		if (r && r->pool && !is_first_thread(sys, c) && hv_resource_has_pins(r))
			return -HV_EADDRINUSE;
	}
	if (sys->leaving &&
	    (on || sys->leaving_pcpu == HV_NO_PCPU || is_first_thread(sys, sys->leaving_pcpu)))
		return -HV_EADDRNOTAVAIL;
	return 0;
}

static int smt_off(struct hv_sys *sys)
{
	int first = sys->leaving ? hv_pcpu_down(sys, sys->leaving_pcpu) : 0;

	if (first)
		return first;
	hv_mask_for_each(c, &sys->online, sys->nw)
	{
		int rc = is_first_thread(sys, c) ? 0 : hv_pcpu_down(sys, c);

		if (rc) {
			HV_ASSERT(sys, rc == -HV_EAGAIN);
			return rc;
		}
	}
	return 0;
}

static int smt_on(struct hv_sys *sys)
{
	struct hv_mask done;
	int rc = 0;

	hv_mask_zero(&done, sys->nw);
	for (unsigned c = 0; !rc && c < sys->nr_pcpus; c++) {
		if (is_first_thread(sys, c) || sys->pcpus[c].res)
			continue;
		rc = hv_pcpu_up(sys, c);
		if (!rc)
			hv_mask_set(&done, c);
	}
	/* No guest has got there yet: they go as they came, and who waits need not look anew. */
	hv_mask_for_each(c, &done, sys->nw)
	{
		int down = rc ? hv_pcpu_down_start(sys, c) : 0;

		if (rc && !down)
			down = hv_pcpu_down_finish(sys, c);
		HV_ASSERT(sys, !down);
	}
	return rc;
}

int hv_smt_set(struct hv_sys *sys, bool on)
{
	int rc = sys->suspended ? -HV_EBUSY : check_smt(sys, on);

	if (rc)
		return rc;
	return on ? smt_on(sys) : smt_off(sys);
}

/* ---- suspend */

static bool all_quiet(const struct hv_sys *sys)
{
	hv_mask_for_each(c, &sys->online, sys->nw)
	{
		if (!hv_resource_is_quiet(sys->pcpus[c].res))
			return false;
	}
	return true;
}

int hv_suspend(struct hv_sys *sys)
{
	if (sys->suspended)
		return -HV_EEXIST;
	if (sys->leaving)
		return -HV_EBUSY;
	sys->suspending = true;
	for (struct hv_domain *d = sys->domains; d; d = d->link) {
		/* Also one that began while this suspend was unfinished. */
		if (d->move)
			hv_move_cancel(d);
		if (d->suspended)
			continue;
		d->suspended = true;
		hv_domain_pause_all(d);
	}
	if (!all_quiet(sys))
		return -HV_EAGAIN;
	sys->suspended = true;
	HV_CHECKED(sys);
	return 0;
}

/* ---- resume */

/* A pCPU of the resource has not returned. */
static bool is_lost(const struct hv_resource *r, const struct hv_mask *back)
{
	return !hv_mask_subset(&r->pcpus, back, r->sys->nw);
}

/* No resource of the pool is left. */
static bool pool_is_lost(const struct hv_pool *pool, const struct hv_mask *back)
{
	const struct hv_sys *sys = pool->sys;

	hv_mask_for_each(c, &pool->res_valid, sys->nw)
	{
		if (!is_lost(sys->pcpus[c].res, back))
			return false;
	}
	return true;
}

/* Domains of pools that are lost get all they need in pool 0, or nobody does. */
static int prepare_refugees(struct hv_sys *sys, struct hv_pool *boot, const struct hv_mask *back)
{
	/* Pool 0 may have been empty before: a thread of pCPU 0's core has not returned. */
	bool has_room = boot && !pool_is_lost(boot, back);
	struct hv_domain *d;
	int rc = 0;

	for (d = sys->domains; d && !rc; d = d->link) {
		if (pool_is_lost(d->pool, back))
			rc = has_room ? hv_move_prepare(d, boot) : -HV_EINVAL;
	}
	for (d = rc ? sys->domains : NULL; d; d = d->link) {
		if (d->move)
			hv_move_cancel(d);
	}
	return rc;
}

static void end_lost_pins(struct hv_sys *sys, const struct hv_mask *back)
{
	hv_mask_for_each(c, &sys->online, sys->nw)
	{
		struct hv_resource *r = sys->pcpus[c].res;

		if (r->pool && r->master == c && is_lost(r, back))
			hv_pins_lost(r);
	}
}

/* What has not returned leaves its pool, and goes off line. */
static void drop_pcpus(struct hv_sys *sys, const struct hv_mask *back)
{
	hv_mask_for_each(c, &sys->online, sys->nw)
	{
		struct hv_resource *r = sys->pcpus[c].res;
		int rc;

		if (hv_mask_test(back, c))
			continue;
		if (r->pool) {
			rc = hv_leave_begin(r, c);
			HV_ASSERT(sys, !rc);
			rc = hv_leave_finish(r);
			HV_ASSERT(sys, !rc);
		}
		take_off(sys, c);
	}
}

int hv_resume(struct hv_sys *sys, const struct hv_mask *back)
{
	struct hv_pool *boot = hv_pool_find(sys, 0);
	int rc;

	if (!sys->suspending)
		return -HV_EINVAL;
	if (!back || !sys->suspended)
		back = &sys->all;
	if (!hv_mask_test(back, 0))
		return -HV_EINVAL;
	rc = prepare_refugees(sys, boot, back);
	if (rc)
		return rc;
	end_lost_pins(sys, back);
	sys->suspending = false;
	sys->suspended = false;
	for (struct hv_domain *d = sys->domains; d; d = d->link) {
		/* Called before all had stopped: a move goes on like any other. */
		if (d->move && !hv_domain_runs(d))
			hv_move_commit(d);
	}
	drop_pcpus(sys, back);
	/* Whatever was raised meanwhile has been answered without a decision. */
	hv_mask_for_each(c, &sys->online, sys->nw) sys->host.poke(sys->ctx, c, HV_EVENT_SCHEDULE);
	for (struct hv_domain *d = sys->domains; d; d = d->link) {
		if (!d->suspended)
			continue;
		d->suspended = false;
		hv_domain_unpause_all(d);
	}
	HV_CHECKED(sys);
	return 0;
}
