/* SPDX-License-Identifier: MIT */
/*
 * Temporary pins: for a while a unit stays on one resource, whatever its hard affinity says, which
 * is kept and comes back. An *override* is a guest's wish to run on a certain pCPU and may be
 * refused; a *wait* keeps a vCPU where the hypervisor's half-done work for it lies, and is not.
 *
 * Each vCPU holds a pin of each reason or does not; what is pinned is its unit, and it is pinned
 * to a whole resource, because it runs on nothing less. An override names the resource by its
 * master, as a hard mask does; a wait is where the vCPU is, on whatever thread. A wait that begins
 * on a unit that an override sends elsewhere, and that has not got there, puts the override off.
 *
 * Laws: while a member is pinned the hard mask is one resource of the pool: the present one with a
 * wait, else that of the override; without pins it is the unit's own again. A pinned unit's domain
 * is not on its way to another pool, and no resource that a pin names is leaving: who wants that is
 * refused, and a wait calls off what has begun.
 *
 * Source: core-scheduling sections 3.6, 4.2, 4.5; section 9 (hazards).
 */
#include "engine/engine.h"

/* Some member holds a pin of one of these reasons. */
static bool holds(const struct hv_unit *u, unsigned reasons)
{
	for (unsigned k = 0; k < u->nr_vcpus; k++) {
		if (hv_unit_member(u, k)->pins & reasons)
			return true;
	}
	return false;
}

bool hv_unit_waits(const struct hv_unit *u)
{
	return u->pinned && holds(u, HV_PIN_WAIT);
}

/* What holds it on this resource, or will: 0 = nothing. (A wait may be named that nobody holds.) */
static unsigned reasons_at(const struct hv_unit *u, const struct hv_resource *r)
{
	unsigned reasons = 0;

	if (u->pinned && u->override_to == r->master)
		reasons |= HV_PIN_OVERRIDE;
	if (u->pinned && hv_mask_test(&u->hard, r->master))
		reasons |= HV_PIN_WAIT;
	return reasons;
}

bool hv_unit_pinned_to(const struct hv_unit *u, const struct hv_resource *r)
{
	return reasons_at(u, r) != 0;
}

bool hv_resource_has_pins(const struct hv_resource *r)
{
	for (const struct hv_domain *d = r->sys->domains; d; d = d->link) {
		for (const struct hv_unit *u = d->pool == r->pool ? d->units : NULL; u;
		     u = u->link) {
			if (hv_unit_pinned_to(u, r))
				return true;
		}
	}
	return false;
}

bool hv_domain_has_pins(const struct hv_domain *d)
{
	for (const struct hv_unit *u = d->units; u; u = u->link) {
		if (u->pinned)
			return true;
	}
	return false;
}

/* The hard mask follows from the pins. Locked. */
static void follow(struct hv_unit *u)
{
	struct hv_sys *sys = u->sys;
	struct hv_mask hard;

	HV_ASSERT(sys, u->pinned && hv_lock_held(u->res->lock));
	hv_mask_zero(&hard, sys->nw);
	if (!holds(u, HV_PIN_OVERRIDE))
		u->override_to = HV_NO_PCPU;
	if (holds(u, HV_PIN_WAIT)) {
		hv_mask_set(&hard, u->res->master);
	} else if (u->override_to != HV_NO_PCPU) {
		hv_mask_set(&hard, u->override_to);
	} else {
		hv_mask_copy(&hard, &u->own_hard, sys->nw);
		u->pinned = false;
	}
	if (!hv_mask_equal(&hard, &u->hard, sys->nw))
		hv_unit_set_affinity(u, &hard, NULL);
}

void hv_unit_drop_pins(struct hv_unit *u, unsigned reasons)
{
	if (!u->pinned)
		return;
	for (unsigned k = 0; k < u->nr_vcpus; k++)
		hv_unit_member(u, k)->pins &= (uint8_t)~reasons;
	follow(u);
}

/*
 * After its pins have changed: releases the unit's lock, and sends it where it must be. One that
 * does not run looks for a place anew in any case: what it may use now may be free.
 */
static void go_there(struct hv_unit *u, struct hv_lock *l)
{
	bool moves = !u->is_running || !hv_mask_test(&u->hard, u->res->master);

	if (moves)
		hv_migrate_start(u);
	hv_lock_release(u->sys, l);
	if (moves)
		hv_migrate_finish(u);
}

static void pin(struct hv_vcpu *v, unsigned reason, uint32_t master)
{
	struct hv_unit *u = v->unit;
	struct hv_lock *l = hv_unit_lock(u);

	if (!u->pinned)
		hv_mask_copy(&u->own_hard, &u->hard, u->sys->nw);
	u->pinned = true;
	v->pins |= (uint8_t)reason;
	if (reason == HV_PIN_OVERRIDE)
		u->override_to = master;
	follow(u);
	go_there(u, l);
}

static void unpin(struct hv_vcpu *v, unsigned reasons)
{
	struct hv_lock *l = hv_unit_lock(v->unit);

	v->pins &= (uint8_t)~reasons;
	follow(v->unit);
	go_there(v->unit, l);
}

static int override(struct hv_vcpu *v, unsigned pcpu)
{
	const struct hv_unit *u = v->unit;
	const struct hv_domain *d = u->domain;

	if (pcpu >= u->sys->nr_pcpus || !hv_mask_test(&d->pool->res_valid, pcpu))
		return -HV_EINVAL;
	if (d->move)
		return -HV_EBUSY;
	if (u->pinned && !hv_mask_test(&u->hard, pcpu))
		return -HV_EBUSY;
	/* Another member's was put off: the wait is here, but that one is to go elsewhere. */
	if (holds(u, HV_PIN_OVERRIDE) && u->override_to != pcpu)
		return -HV_EBUSY;
	pin(v, HV_PIN_OVERRIDE, pcpu);
	return 0;
}

static int wait_here(struct hv_vcpu *v, unsigned pcpu)
{
	struct hv_sys *sys = v->unit->sys;

	if (pcpu != v->pcpu)
		return -HV_EINVAL;
	if (v->domain->move)
		hv_move_cancel(v->domain);
	if (sys->leaving && sys->leaving == v->unit->res)
		hv_leave_cancel(sys);
	pin(v, HV_PIN_WAIT, HV_NO_PCPU);
	return 0;
}

int hv_vcpu_pin(struct hv_vcpu *v, unsigned pcpu, enum hv_pin_reason reason)
{
	struct hv_sys *sys = v->unit->sys;
	int rc = 0;

	HV_ASSERT(sys, !v->idle);
	if (reason != HV_PIN_OVERRIDE && reason != HV_PIN_WAIT)
		return -HV_EINVAL;
	if (pcpu == HV_NO_PCPU && !(v->pins & reason))
		return -HV_EINVAL;
	if (pcpu == HV_NO_PCPU)
		unpin(v, reason);
	else if (v->pins & reason)
		rc = -HV_EBUSY;
	else
		rc = reason == HV_PIN_WAIT ? wait_here(v, pcpu) : override(v, pcpu);
	HV_CHECKED(sys);
	return rc;
}

void hv_vcpu_reset(struct hv_vcpu *v)
{
	struct hv_sys *sys = v->unit->sys;

	HV_ASSERT(sys, !v->idle);
	if (v->pins)
		unpin(v, v->pins);
	hv_vcpu_set_flag(v, HV_PF_DOWN);
	hv_vcpu_clear_flag(v, HV_PF_BLOCKED);
	hv_vcpu_sleep(v);
	HV_CHECKED(sys);
}

void hv_pins_lost(struct hv_resource *r)
{
	for (struct hv_domain *d = r->sys->domains; d; d = d->link) {
		for (struct hv_unit *u = d->pool == r->pool ? d->units : NULL; u; u = u->link) {
			struct hv_lock *l;

			if (!reasons_at(u, r))
				continue;
			l = hv_unit_lock(u);
			hv_unit_drop_pins(u, reasons_at(u, r));
			go_there(u, l);
		}
	}
}
