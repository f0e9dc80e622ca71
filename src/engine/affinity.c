/* SPDX-License-Identifier: MIT */
/*
 * Affinity: where a unit may run (hard) and where it would like to (soft). It belongs to the unit:
 * setting it through one member sets it for all. While a member holds a temporary pin (pin.c) the
 * hard mask is the pin's, and neither is set.
 *
 * Law: soft_counts is true exactly when hard is not a subset of soft and the two intersect; only
 * then can soft affinity make a difference.
 *
 * Source: core-scheduling section 3.6.
 */
#include "engine/engine.h"

void hv_unit_set_affinity(struct hv_unit *u, const struct hv_mask *hard, const struct hv_mask *soft)
{
	struct hv_sys *sys = u->sys;
	struct hv_sched *s = u->res->sched;

	HV_ASSERT(sys, hv_lock_held(u->res->lock));
	if (s->policy->adjust_affinity)
		s->policy->adjust_affinity(s, u, hard, soft);
	if (hard)
		hv_mask_and(&u->hard, hard, &sys->all, sys->nw);
	if (soft)
		hv_mask_and(&u->soft, soft, &sys->all, sys->nw);
	u->soft_counts = !hv_mask_subset(&u->hard, &u->soft, sys->nw) &&
			 hv_mask_intersects(&u->soft, &u->hard, sys->nw);
}

static bool is_usable(const struct hv_unit *u, const struct hv_mask *hard,
		      const struct hv_mask *soft)
{
	if (!hard && !soft)
		return false;
	return !hard || hv_mask_intersects(hard, &u->domain->pool->res_valid, u->sys->nw);
}

static void set(struct hv_unit *u, const struct hv_mask *hard, const struct hv_mask *soft)
{
	struct hv_lock *l = hv_unit_lock(u);

	hv_unit_drop_pins(u, HV_PIN_OVERRIDE);
	hv_unit_set_affinity(u, hard, soft);
	hv_migrate_start(u);
	hv_lock_release(u->sys, l);
	hv_migrate_finish(u);
	HV_CHECKED(u->sys);
}

int hv_affinity_set(struct hv_vcpu *v, const struct hv_mask *hard, const struct hv_mask *soft)
{
	HV_ASSERT(v->unit->sys, !v->idle);
	if (!is_usable(v->unit, hard, soft))
		return -HV_EINVAL;
	if (v->unit->pinned)
		return -HV_EBUSY;
	set(v->unit, hard, soft);
	return 0;
}

int hv_affinity_force(struct hv_vcpu *v, const struct hv_mask *hard, const struct hv_mask *soft)
{
	HV_ASSERT(v->unit->sys, !v->idle);
	if (!is_usable(v->unit, hard, soft))
		return -HV_EINVAL;
	if (hv_unit_waits(v->unit))
		return -HV_EBUSY;
	set(v->unit, hard, soft);
	return 0;
}

void hv_affinity_effective(const struct hv_vcpu *v, struct hv_mask *hard, struct hv_mask *soft)
{
	const struct hv_unit *u = v->unit;
	unsigned nw = u->sys->nw;

	HV_ASSERT(u->sys, !v->idle);
	hv_mask_and(hard, &u->hard, &u->domain->pool->res_valid, nw);
	hv_mask_and(soft, &u->soft, hard, nw);
}

bool hv_unit_has_soft(const struct hv_sched *s, const struct hv_unit *u)
{
	return u->soft_counts && !hv_mask_subset(&s->pool->res_valid, &u->soft, s->nw);
}

void hv_unit_step_mask(const struct hv_sched *s, const struct hv_unit *u, bool soft,
		       struct hv_mask *out)
{
	if (soft) {
		hv_mask_and(out, &u->soft, &u->hard, s->nw);
		if (!hv_mask_empty(out, s->nw))
			return;
	}
	hv_mask_copy(out, &u->hard, s->nw);
}
