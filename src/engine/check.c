/* SPDX-License-Identifier: MIT */
/*
 * hv_check(): the whole state against the laws of the engine, then against those of every policy
 * instance. It holds between any two public operations, also between a switch and its hv_saved().
 *
 * Source: core-scheduling section 2.9 (I1, I4-I9), and the laws that head the engine's files.
 */
#include "engine/engine.h"

int hv_broken(struct hv_violation *out, const char *law, const struct hv_unit *u, uint32_t pcpu)
{
	if (out) {
		out->law = law;
		out->pcpu = pcpu;
		out->domain = u && u->domain ? u->domain->id : -1;
		out->unit = u ? (int32_t)u->id : -1;
	}
	return -HV_EINVAL;
}

#define LAW(cond, text, unit, pcpu)                              \
	do {                                                     \
		if (!(cond))                                     \
			return hv_broken(out, text, unit, pcpu); \
	} while (0)

static bool time_sums(const struct hv_vcpu *v)
{
	int64_t sum = 0;

	for (int i = 0; i < HV_NR_RUNSTATES; i++) {
		if (v->runstate.time[i] < 0)
			return false;
		sum += v->runstate.time[i];
	}
	return sum == v->runstate.since - v->birth;
}

static int check_vcpu(const struct hv_sys *sys, const struct hv_vcpu *v, struct hv_violation *out)
{
	const struct hv_unit *u = v->unit;
	const struct hv_pcpu *p = &sys->pcpus[v->pcpu];
	bool loaded = p->loaded == v;

	LAW(v->pcpu == hv_resource_pcpu(u->res, v->id - u->id),
	    "member k of a unit is on the k-th pCPU of its resource", u, v->pcpu);
	LAW(v->is_running == (loaded || p->from == v),
	    "a vCPU runs exactly while it is loaded or being saved", u, v->pcpu);
	LAW(loaded ? v->runstate.state == HV_RUNNING
		   : v->state_lags || v->runstate.state == hv_vcpu_rest_state(v),
	    "the runstate says what the flags say", u, v->pcpu);
	LAW(time_sums(v), "runstate times sum to entry time minus birth", u, v->pcpu);
	LAW(!(v->pause_flags & HV_PF_MIGRATING) || u->is_running,
	    "a migration is open only while the unit runs", u, v->pcpu);
	return 0;
}

/* A resource that is leaving counts: affinities may be broken only when it has left. */
static bool has_place(const struct hv_sys *sys, const struct hv_unit *u)
{
	const struct hv_mask *own = u->pinned ? &u->own_hard : &u->hard;
	const struct hv_pool *pool = u->domain->pool;
	const struct hv_resource *leaving = sys->leaving;

	return hv_mask_intersects(own, &pool->res_valid, sys->nw) ||
	       (leaving && leaving->pool == pool && hv_mask_test(own, leaving->master));
}

static int check_pins(const struct hv_sys *sys, const struct hv_unit *u, struct hv_violation *out)
{
	const struct hv_resource *r = u->res;
	unsigned held = 0;

	for (unsigned k = 0; k < u->nr_vcpus; k++)
		held |= u->domain->vcpus[u->id + k]->pins;
	LAW(u->pinned == (held != 0), "a unit is pinned while a member holds a pin", u, r->master);
	if (!u->pinned)
		return 0;
	LAW(!u->domain->move, "a pinned unit stays in its pool", u, r->master);
	LAW(hv_mask_weight(&u->hard, sys->nw) == 1 &&
		    hv_mask_subset(&u->hard, &u->domain->pool->res_valid, sys->nw),
	    "a pinned unit may use one resource of its pool", u, r->master);
	LAW(!(held & HV_PIN_WAIT) || hv_mask_test(&u->hard, r->master),
	    "a unit stays where one of its vCPUs waits", u, r->master);
	LAW(held & HV_PIN_OVERRIDE
		    ? u->override_to < sys->nr_pcpus &&
			      hv_mask_test(&u->domain->pool->res_valid, u->override_to)
		    : u->override_to == HV_NO_PCPU,
	    "an override names a resource of the pool", u, r->master);
	LAW(held & HV_PIN_WAIT || hv_mask_test(&u->hard, u->override_to),
	    "a unit is pinned where the override wants it", u, r->master);
	return 0;
}

static int check_unit(const struct hv_sys *sys, const struct hv_unit *u, struct hv_violation *out)
{
	const struct hv_resource *r = u->res;
	const struct hv_pool *pool = u->domain->pool;
	uint32_t count[HV_NR_RUNSTATES] = {0};
	bool running = r->curr == u || r->prev == u;

	LAW(r->pool == pool, "a unit is assigned to a resource of its pool", u, r->master);
	LAW(u->id % pool->g == 0 && u->nr_vcpus >= 1 && u->nr_vcpus <= pool->g,
	    "unit id = g * floor(vCPU id / g)", u, r->master);
	for (unsigned k = 0; k < u->nr_vcpus; k++) {
		const struct hv_vcpu *v = u->domain->vcpus[u->id + k];

		LAW(v && v->unit == u && v->id == u->id + k, "a unit has consecutive vCPUs", u,
		    r->master);
		count[v->runstate.state]++;
		if (check_vcpu(sys, v, out))
			return -HV_EINVAL;
	}
	for (int i = 0; i < HV_NR_RUNSTATES; i++)
		LAW(count[i] == u->runstate_count[i], "I9: unit counters sum to its members", u,
		    r->master);
	LAW(u->is_running == running, "a unit runs from its switch-in until it is saved", u,
	    r->master);
	LAW(r->curr != u || u->vcpu->pause_flags & HV_PF_MIGRATING ||
		    r->sched->policy->ignores_affinity || hv_mask_test(&u->hard, r->master),
	    "nothing runs outside its hard affinity", u, r->master);
	LAW(u->soft_counts == (!hv_mask_subset(&u->hard, &u->soft, sys->nw) &&
			       hv_mask_intersects(&u->hard, &u->soft, sys->nw)),
	    "soft_counts says whether soft affinity can matter", u, r->master);
	LAW(r->curr == u || (u->enter == 0 && u->leave == 0),
	    "I1: only the current unit of a resource has a rendezvous", u, r->master);
	LAW(has_place(sys, u), "hard affinity leaves every unit a place in its pool", u, r->master);
	return check_pins(sys, u, out);
}

static int check_domain(const struct hv_sys *sys, const struct hv_domain *d,
			struct hv_violation *out)
{
	const struct hv_unit *u = d->units;
	uint32_t n = 0;

	LAW(d->nr_vcpus <= d->max_vcpus, "no more vCPUs than max_vcpus", NULL, HV_NO_PCPU);
	LAW(!d->link || d->link->id > d->id, "domains are in ascending order", u, HV_NO_PCPU);
	for (; u; u = u->link) {
		LAW(u->domain == d && u->id == n, "units of a domain are in ascending order", u,
		    HV_NO_PCPU);
		if (check_unit(sys, u, out))
			return -HV_EINVAL;
		n += u->nr_vcpus;
	}
	LAW(n == d->nr_vcpus, "every vCPU belongs to one unit", d->units, HV_NO_PCPU);
	LAW(!d->move || d->move->to != d->pool, "a move leads to another pool", d->units,
	    HV_NO_PCPU);
	LAW(d->suspended == sys->suspending, "a suspend holds all domains, and nothing else does",
	    d->units, HV_NO_PCPU);
	LAW(d->pause_count >= (d->move != NULL) + (uint32_t)d->suspended,
	    "a domain that moves or is suspended is paused", d->units, HV_NO_PCPU);
	return 0;
}

static int check_pcpu(const struct hv_sys *sys, unsigned c, struct hv_violation *out)
{
	const struct hv_pcpu *p = &sys->pcpus[c];
	const struct hv_resource *r = p->res;
	const struct hv_vcpu *v = p->loaded;

	LAW(r && v && p->idle, "an on line pCPU has a resource and a loaded vCPU", NULL, c);
	LAW(hv_mask_test(&r->pcpus, c) && hv_resource_pcpu(r, p->rank) == c,
	    "rank is the position in the resource", NULL, c);
	LAW(r->curr && r->curr->res == r && r->curr->is_running,
	    "the current unit is assigned here and running", r->curr, c);
	LAW(!r->prev || r->prev->is_running, "a unit being saved still runs", r->prev, c);
	LAW(v->unit == r->curr, "I6: loaded vCPUs of a resource belong to its current unit",
	    v->unit, c);
	LAW(v->is_running && v->runstate.state == HV_RUNNING, "the loaded vCPU is running", v->unit,
	    c);
	LAW(!p->from == !r->prev || r->g > 1, "a switch in flight has a unit to save", r->prev, c);
	LAW(p->idle == v || p->idle == p->from || p->idle->unit == r->idle,
	    "an idle vCPU that is not loaded belongs to the idle unit", NULL, c);
	LAW((p->idle->runstate.state == HV_RUNNING) == (p->idle == v),
	    "an idle vCPU that is not loaded is runnable", NULL, c);
	LAW(time_sums(p->idle), "runstate times sum to entry time minus birth", NULL, c);
	LAW(r->idle->runstate_count[HV_RUNNING] == (r->curr == r->idle ? r->g : 0) &&
		    r->idle->runstate_count[HV_RUNNABLE] == (r->curr == r->idle ? 0 : r->g),
	    "counters of the idle unit", r->idle, c);
	LAW(r->lock && !hv_lock_held(r->lock), "no schedule lock is left held", NULL, c);
	LAW(!sys->suspended || hv_resource_is_quiet(r), "a suspended host runs nothing", r->curr,
	    c);
	LAW(!(p->work & HV_WORK_LEAVING) || (r == sys->leaving && sys->leaving_pcpu != HV_NO_PCPU),
	    "only what goes off line is sent idle for that", NULL, c);
	return 0;
}

/*
 * The counters of the rendezvous against what its pCPUs do. A pCPU that is being saved and waits
 * for nothing has left the gathering to switch one vCPU alone, or has yet to leave the decision.
 */
static int check_rendezvous(const struct hv_sys *sys, const struct hv_resource *r,
			    struct hv_violation *out)
{
	const struct hv_unit *u = r->curr;
	uint32_t entered = 0, to_leave = 0, left = 0;

	hv_mask_for_each(c, &r->pcpus, sys->nw)
	{
		const struct hv_pcpu *p = &sys->pcpus[c];

		entered += p->wait == HV_WAIT_ENTER;
		left += p->wait == HV_WAIT_LEAVE;
		to_leave += p->wait == HV_WAIT_LOAD || (p->from && p->wait == HV_WAIT_NONE);
		LAW(!p->from || p->wait == HV_WAIT_NONE || p->wait == HV_WAIT_LOAD,
		    "who waits for siblings has nothing to save", u, c);
		LAW(!p->loaded->force_switch || p->loaded->unit == u,
		    "a vCPU to be switched alone is of the current unit", u, c);
	}
	LAW(r->g > 1 || (u->enter == 0 && u->leave == 0 && !entered && !left),
	    "a resource of one pCPU has no rendezvous", u, r->master);
	LAW(entered == (u->enter ? r->g - u->enter : 0),
	    "I4: enter counts the pCPUs that have not arrived", u, r->master);
	LAW(u->enter == 0 || u->leave == 0, "a rendezvous begins when the last one is over", u,
	    r->master);
	LAW(u->leave == 0 || u->leave == to_leave + 1,
	    "leave counts the pCPUs that have not saved, plus one", u, r->master);
	LAW(u->leave != 0 || r->g == 1 || !r->prev, "I5: leave is 0 outside a switch", u,
	    r->master);
	LAW(r->idle->is_running == (r->curr == r->idle || r->prev == r->idle),
	    "the idle unit runs while no other does", r->idle, r->master);
	LAW(r->curr == r->idle || (r->idle->enter == 0 && r->idle->leave == 0),
	    "I1: only the current unit of a resource has a rendezvous", r->idle, r->master);
	return 0;
}

static int check_resource(const struct hv_sys *sys, const struct hv_resource *r,
			  struct hv_violation *out)
{
	const struct hv_pool *pool = r->pool;

	if (check_rendezvous(sys, r, out))
		return -HV_EINVAL;
	LAW(hv_mask_first(&r->pcpus, sys->nw) == r->master &&
		    hv_mask_weight(&r->pcpus, sys->nw) == r->g,
	    "a resource has g pCPUs and its master is the lowest", NULL, r->master);
	if (!pool) {
		LAW(r->sched == &sys->idle_sched && r->lock == &sys->free_lock && r->g == 1,
		    "a free pCPU is alone under the idle policy", NULL, r->master);
		return 0;
	}
	LAW(r->sched == pool->sched && r->g == pool->g, "a resource has its pool's policy and g",
	    NULL, r->master);
	if (r == sys->leaving)
		LAW(!hv_mask_test(&pool->res_valid, r->master) &&
			    !hv_mask_intersects(&r->pcpus, &pool->cpu_valid, sys->nw),
		    "a resource that is leaving is not in its pool's masks", NULL, r->master);
	else
		LAW(hv_mask_test(&pool->res_valid, r->master) &&
			    hv_mask_subset(&r->pcpus, &pool->cpu_valid, sys->nw),
		    "a pool's masks hold its resources", NULL, r->master);
	return 0;
}

static int check_pool(struct hv_sys *sys, const struct hv_pool *pool, struct hv_violation *out)
{
	const struct hv_policy *p = pool->sched->policy;
	uint32_t n = 0, coming = 0;

	LAW(!pool->link || pool->link->id > pool->id, "pools are in ascending order", NULL,
	    HV_NO_PCPU);
	LAW(hv_mask_subset(&pool->cpu_valid, &sys->online, sys->nw), "a pool has on line pCPUs",
	    NULL, HV_NO_PCPU);
	hv_mask_for_each(c, &pool->cpu_valid, sys->nw)
	{
		const struct hv_resource *r = sys->pcpus[c].res;

		LAW(r->pool == pool, "a pCPU is in one pool", NULL, c);
		LAW((r->master == c) == hv_mask_test(&pool->res_valid, c),
		    "res_valid is the masters of cpu_valid", NULL, c);
	}
	LAW(hv_mask_subset(&pool->res_valid, &pool->cpu_valid, sys->nw),
	    "res_valid is the masters of cpu_valid", NULL, HV_NO_PCPU);
	for (const struct hv_domain *d = sys->domains; d; d = d->link) {
		n += d->pool == pool;
		coming += d->move && d->move->to == pool;
	}
	LAW(n == pool->nr_domains, "a pool counts its domains", NULL, HV_NO_PCPU);
	LAW(coming == pool->nr_coming, "a pool counts the domains on their way to it", NULL,
	    HV_NO_PCPU);
	return p->check ? p->check(pool->sched, out) : 0;
}

static int check_leaving(const struct hv_sys *sys, struct hv_violation *out)
{
	const struct hv_resource *r = sys->leaving;

	if (!r)
		return 0;
	LAW(!sys->suspended, "nothing is leaving while the host is suspended", NULL, r->master);
	LAW(r->pool && sys->pcpus[r->master].res == r, "what is leaving is still in its pool", NULL,
	    r->master);
	LAW(sys->leaving_pcpu == HV_NO_PCPU || hv_mask_test(&r->pcpus, sys->leaving_pcpu),
	    "a pCPU goes off line with its resource", NULL, r->master);
	return 0;
}

int hv_check(struct hv_sys *sys, struct hv_violation *out)
{
	if (check_leaving(sys, out))
		return -HV_EINVAL;
	hv_mask_for_each(c, &sys->online, sys->nw)
	{
		if (check_pcpu(sys, c, out) ||
		    (sys->pcpus[c].res->master == c && check_resource(sys, sys->pcpus[c].res, out)))
			return -HV_EINVAL;
	}
	for (const struct hv_domain *d = sys->domains; d; d = d->link) {
		if (check_domain(sys, d, out))
			return -HV_EINVAL;
	}
	for (const struct hv_pool *pool = sys->pools; pool; pool = pool->link) {
		if (check_pool(sys, pool, out))
			return -HV_EINVAL;
	}
	return 0;
}

#if HV_DEBUG
void hv_check_now(struct hv_sys *sys, const char *file, int line)
{
	struct hv_violation v = {"", HV_NO_PCPU, -1, -1};

	if (!sys->closing && hv_check(sys, &v))
		hv_assert_failed(sys, v.law, file, line);
}
#endif
