/* SPDX-License-Identifier: MIT */
/*
 * Affinity: where a unit may run (hard) and where it would like to (soft). It belongs to the unit:
 * setting it through one member sets it for all.
 *
 * Law: soft_counts is true exactly when hard is not a subset of soft and the two intersect; only
 * then can soft affinity make a difference.
 *
 * Source: core-scheduling section 3.6.
 */
#include "engine/engine.h"

/* Store the given masks, without pCPUs that do not exist. NULL = leave. */
void hv_unit_store_affinity(struct hv_unit *u, const struct hv_mask *hard,
			    const struct hv_mask *soft)
{
	struct hv_sys *sys = u->sys;

	if (hard)
		hv_mask_and(&u->hard, hard, &sys->all, sys->nw);
	if (soft)
		hv_mask_and(&u->soft, soft, &sys->all, sys->nw);
	u->soft_counts = !hv_mask_subset(&u->hard, &u->soft, sys->nw) &&
			 hv_mask_intersects(&u->soft, &u->hard, sys->nw);
}

int hv_affinity_set(struct hv_vcpu *v, const struct hv_mask *hard, const struct hv_mask *soft)
{
	struct hv_unit *u = v->unit;
	struct hv_sys *sys = u->sys;
	struct hv_sched *s;
	struct hv_lock *l;

	HV_ASSERT(sys, !v->idle);
	if (!hard && !soft)
		return -HV_EINVAL;
	if (hard && !hv_mask_intersects(hard, &u->domain->pool->res_valid, sys->nw))
		return -HV_EINVAL;
	l = hv_unit_lock(u);
	s = u->res->sched;
	if (s->policy->adjust_affinity)
		s->policy->adjust_affinity(s, u, hard, soft);
	hv_unit_store_affinity(u, hard, soft);
	hv_migrate_start(u);
	hv_lock_release(sys, l);
	hv_migrate_finish(u);
	HV_CHECKED(sys);
	return 0;
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
