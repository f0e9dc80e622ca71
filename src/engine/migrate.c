/* SPDX-License-Identifier: MIT */
/*
 * Two-step migration. Start marks every member "migrating", which makes the unit unable to run;
 * finish runs once the unit is off its resource and needs no lock order between the current lock
 * and that of a target nobody knows yet: it looks without holding the target's lock, takes both in
 * rank order, and looks again.
 *
 * Laws: a unit marked migrating is running (its tail will finish); pick_resource is called once
 * unless a lock pointer changed meanwhile.
 *
 * Source: core-scheduling section 3.5.
 */
#include "engine/engine.h"

void hv_unit_assign(struct hv_unit *u, struct hv_resource *r)
{
	struct hv_sys *sys = u->sys;
	unsigned from = u->res->master;

	HV_ASSERT(sys, hv_lock_held(u->res->lock));
	if (u->res == r)
		return;
	HV_ASSERT(sys, !u->idle && !u->is_running);
	u->res = r;
	for (unsigned k = 0; k < u->nr_vcpus; k++)
		hv_unit_member(u, k)->pcpu = hv_resource_pcpu(r, k);
	if (hv_tracing(sys))
		hv_trace_unit(sys, HV_TRACE_ASSIGN, u, r->master, from, r->master);
}

void hv_migrate_start(struct hv_unit *u)
{
	HV_ASSERT(u->sys, hv_lock_held(u->res->lock) && !u->idle);
	for (unsigned k = 0; k < u->nr_vcpus; k++) {
		struct hv_vcpu *v = hv_unit_member(u, k);

		hv_vcpu_set_flag(v, HV_PF_MIGRATING);
		hv_vcpu_sleep_locked(v);
	}
}

static bool all_migrating(const struct hv_unit *u)
{
	for (unsigned k = 0; k < u->nr_vcpus; k++) {
		if (!(hv_unit_member(u, k)->pause_flags & HV_PF_MIGRATING))
			return false;
	}
	return true;
}

/* The target may be used now: the lock we hold guards it and it is still in the pool. */
static bool target_ok(const struct hv_unit *u, const struct hv_resource *r, const struct hv_lock *l)
{
	return r->lock == l && hv_mask_test(&u->domain->pool->res_valid, r->master);
}

static bool hard_allows(const struct hv_unit *u, const struct hv_resource *r)
{
	return u->res->sched->policy->ignores_affinity || hv_mask_test(&u->hard, r->master);
}

/* While the only resource that it may use is leaving it must go somewhere else. Locked. */
static void need_target(struct hv_unit *u)
{
	struct hv_sys *sys = u->sys;

	if (hv_mask_intersects(&u->hard, &u->domain->pool->res_valid, sys->nw))
		return;
	HV_ASSERT(sys, sys->leaving && sys->leaving->pool == u->domain->pool);
	HV_ASSERT(sys, !u->pinned); /* the resource of a pin does not leave */
	hv_unit_set_affinity(u, &sys->all, NULL);
}

/*
 * Find a target and return with the locks of both the current and the target resource held.
 */
static struct hv_resource *pick_and_lock(struct hv_unit *u, struct hv_lock **old_lock,
					 struct hv_lock **new_lock)
{
	struct hv_sys *sys = u->sys;
	struct hv_resource *target = NULL;

	for (;;) {
		struct hv_sched *s = u->res->sched;
		struct hv_lock *a = u->res->lock;
		struct hv_lock *b = target ? target->lock : a;

		hv_lock_double(sys, a, b);
		*old_lock = a;
		*new_lock = b;
		if (a != u->res->lock) {
			target = NULL; /* remapped while we waited */
		} else {
			if (target && target_ok(u, target, b) && hard_allows(u, target))
				return target;
			need_target(u);
			target = s->policy->pick_resource(s, u);
			HV_ASSERT(sys, target && hard_allows(u, target));
			if (target_ok(u, target, b))
				return target;
		}
		hv_unlock_double(sys, a, b);
	}
}

void hv_migrate_finish(struct hv_unit *u)
{
	struct hv_sys *sys = u->sys;
	struct hv_lock *old_lock, *new_lock;
	struct hv_resource *target;
	struct hv_sched *s;

	if (!(u->vcpu->pause_flags & HV_PF_MIGRATING) || u->is_running || !all_migrating(u))
		return;
	target = pick_and_lock(u, &old_lock, &new_lock);
	if (u->is_running || !all_migrating(u)) {
		/* Somebody else finished it, or it got going again, before we had the locks. */
		hv_unlock_double(sys, old_lock, new_lock);
		return;
	}
	for (unsigned k = 0; k < u->nr_vcpus; k++)
		hv_vcpu_clear_flag(hv_unit_member(u, k), HV_PF_MIGRATING);
	s = target->sched;
	if (s->policy->migrate)
		s->policy->migrate(s, u, target->master);
	else
		hv_unit_assign(u, target);
	hv_unlock_double(sys, old_lock, new_lock);
	for (unsigned k = 0; k < u->nr_vcpus; k++)
		hv_vcpu_wake(hv_unit_member(u, k));
}
