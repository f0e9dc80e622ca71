/* SPDX-License-Identifier: MIT */
/*
 * The schedule path: events, the decision, the switch and its tail.
 *
 * Laws: one do_schedule per pass; the unit chosen is assigned to the deciding resource, runnable
 * and runs nowhere else; a unit runs from its switch-in until its context is saved, so no second
 * resource loads registers that are still being stored; is_running is cleared before context_saved.
 *
 * What a member of a resource loads is worked out per pCPU (switch_members), so gathering siblings
 * for g > 1 (rendezvous.c) only has to decide who calls hv_decide() and when. With g = 1 no other
 * pCPU is involved.
 *
 * Source: core-scheduling sections 2.2, 2.4, 2.5, 2.8.
 */
#include "engine/engine.h"

/* Fix what the vCPU will do if its unit is chosen; true when it will run. */
static inline bool fix_new_state(struct hv_vcpu *v)
{
	bool runnable = hv_vcpu_runnable(v);

	v->new_state = runnable ? HV_RUNNING : hv_vcpu_rest_state(v);
	return runnable;
}

bool hv_unit_runnable_state(struct hv_unit *u)
{
	bool any;

	if (u->idle)
		return true;
	any = fix_new_state(u->vcpu);
	for (unsigned k = 1; k < u->nr_vcpus; k++)
		any |= fix_new_state(hv_unit_member(u, k));
	return any;
}

/* Idle-context work is wanted on this pCPU. */
static inline bool pcpu_wants_work(struct hv_pcpu *p)
{
	if (p->work & (HV_WORK_ENQUEUED | HV_WORK_LEAVING))
		p->work |= HV_WORK_SCHEDULED;
	else
		p->work = 0;
	return p->work != 0;
}

/* On any member: the idle unit must be chosen. */
static inline bool work_wanted(struct hv_sys *sys, const struct hv_resource *r, unsigned g)
{
	bool any = pcpu_wants_work(&sys->pcpus[r->master]);

	for (unsigned k = 1; k < g; k++)
		any |= pcpu_wants_work(&sys->pcpus[hv_resource_pcpu(r, k)]);
	return any;
}

void hv_work(struct hv_sys *sys, unsigned pcpu, bool pending)
{
	struct hv_pcpu *p = &sys->pcpus[pcpu];
	bool was = p->work & HV_WORK_ENQUEUED;

	HV_ASSERT(sys, pcpu < sys->nr_pcpus && p->res);
	if (was == pending)
		return;
	if (pending)
		p->work |= HV_WORK_ENQUEUED;
	else
		p->work &= (uint16_t)~HV_WORK_ENQUEUED;
	sys->host.poke(sys->ctx, pcpu, HV_EVENT_SCHEDULE);
}

bool hv_work_ready(const struct hv_sys *sys, unsigned pcpu)
{
	const struct hv_pcpu *p = &sys->pcpus[pcpu];

	return p->work & HV_WORK_ENQUEUED && p->work & HV_WORK_SCHEDULED && p->loaded == p->idle &&
	       p->idle->unit->idle;
}

/* The vCPU that a pCPU runs when the unit is current; v is the member whose place it is, if any. */
static inline struct hv_vcpu *vcpu_to_run(const struct hv_pcpu *p, const struct hv_unit *u,
					  struct hv_vcpu *v)
{
	return !u->idle && v && v->new_state == HV_RUNNING ? v : p->idle;
}

/* Runstates and the loaded vCPU of a pCPU follow the decision. */
static inline void switch_member(struct hv_pcpu *p, struct hv_unit *next, struct hv_vcpu *member,
				 hv_time now)
{
	struct hv_vcpu *vp = p->loaded;
	struct hv_vcpu *vn = vcpu_to_run(p, next, member);

	if (vp != vn) {
		if (vp->idle) {
			hv_runstate_change(vp, HV_RUNNABLE, now);
		} else {
			vp->new_state = hv_vcpu_rest_state(vp);
			hv_runstate_change(vp, vp->new_state, now);
		}
		HV_ASSERT(next->sys, !vn->is_running);
		vn->is_running = true;
		p->from = vp;
		p->loaded = vn;
	}
	if (vn->idle)
		vn->unit = next;
	if (vp != vn)
		hv_runstate_change(vn, HV_RUNNING, now);
}

static inline void switch_members(struct hv_resource *r, struct hv_unit *next, hv_time now,
				  unsigned g)
{
	struct hv_sys *sys = r->sys;

	switch_member(&sys->pcpus[r->master], next, next->vcpu, now);
	for (unsigned k = 1; k < g; k++)
		switch_member(&sys->pcpus[hv_resource_pcpu(r, k)], next, hv_unit_member(next, k),
			      now);
}

/* Counters of the idle unit are set wholesale. */
static void count_idle(struct hv_unit *idle, uint32_t g, bool current)
{
	idle->runstate_count[HV_RUNNING] = current ? g : 0;
	idle->runstate_count[HV_RUNNABLE] = current ? 0 : g;
}

/* An old decision is no reason to run: new_state must be fixed anew for a unit that stays. */
static inline void forget_states(struct hv_unit *u, unsigned g)
{
	if (u->idle)
		return;
	u->vcpu->new_state = HV_OFFLINE;
	for (unsigned k = 1; g > 1 && k < u->nr_vcpus; k++)
		hv_unit_member(u, k)->new_state = HV_OFFLINE;
}

static inline bool has_state_to_run(const struct hv_unit *u, unsigned g)
{
	bool any = u->idle || u->vcpu->new_state == HV_RUNNING;

	for (unsigned k = 1; g > 1 && !any && k < u->nr_vcpus; k++)
		any = hv_unit_member(u, k)->new_state == HV_RUNNING;
	return any;
}

/* Decide and switch units; lock held. g is r->g, and a constant 1 where nothing may loop. */
static inline __attribute__((always_inline)) void decide(struct hv_resource *r, hv_time now,
							 unsigned g)
{
	struct hv_sys *sys = r->sys;
	struct hv_unit *prev = r->curr;
	bool work = work_wanted(sys, r, g);
	struct hv_unit *next;

	HV_ASSERT(sys, hv_lock_held(r->lock));
	forget_states(prev, g);
	HV_ASSERT(sys, !prev->next);
	r->sched->policy->do_schedule(r->sched, r, prev, now, work);
	next = prev->next;
	prev->next = NULL; /* `next` may be freed before `prev` is switched in again */
	HV_ASSERT(sys, next && next->res == r);
	HV_ASSERT(sys, next == prev || !next->is_running);
	HV_ASSERT(sys, !work || next->idle);
	/* Moving an armed timer costs the host less than stopping and arming it. */
	if (prev->next_time >= 0)
		hv_timer_set(&r->timer, now + prev->next_time);
	else
		hv_timer_stop(&r->timer);
	/*
	 * The policy fixed the members' states (hv_unit_runnable_state()) when it chose the unit.
	 * That holds even if it marked the unit for migration afterwards, as credit2 may when it
	 * balances in the same pass: the unit is loaded now and leaves at the next decision.
	 */
	HV_ASSERT(sys, has_state_to_run(next, g));
	if (next != prev) {
		r->curr = next;
		r->prev = prev;
		next->is_running = true;
		next->state_entry = now;
		if (prev->idle)
			count_idle(prev, g, false);
		if (next->idle)
			count_idle(next, g, true);
	}
	switch_members(r, next, now, g);
	if (hv_tracing(sys))
		hv_trace_decision(r, prev, next, now, work);
}

void hv_decide(struct hv_resource *r, hv_time now)
{
	decide(r, now, r->g);
}

struct hv_next hv_event(struct hv_sys *sys, unsigned pcpu, unsigned events)
{
	struct hv_pcpu *p = &sys->pcpus[pcpu];
	struct hv_resource *r = p->res;
	struct hv_next out = {HV_KEEP, false, p->loaded, p->loaded};
	struct hv_lock *l;

	HV_ASSERT(sys, pcpu < sys->nr_pcpus && r);
	if (__builtin_expect(r->g > 1, 0))
		return hv_rendezvous_event(sys, pcpu, events);
	if (!(events & HV_EVENT_SCHEDULE) || sys->suspended)
		return out;
	/* The host must report the last switch as saved before it asks for the next. */
	HV_ASSERT(sys, !p->from && !r->prev);
	l = hv_resource_lock(r);
	decide(r, hv_clock(sys), 1);
	hv_lock_release(sys, l);
	if (p->from) {
		out.kind = HV_SWITCH;
		out.to = p->loaded;
	}
	HV_CHECKED(sys);
	return out;
}

/* The unit that was switched away from is off all pCPUs of its resource. */
static inline void unit_saved(struct hv_resource *r)
{
	struct hv_sys *sys = r->sys;
	struct hv_unit *old = r->prev;

	if (!old)
		return;
	old->is_running = false;
	old->state_entry = hv_clock(sys);
	r->prev = NULL;
	if (hv_tracing(sys))
		hv_trace_unit(sys, HV_TRACE_SAVED, old, r->master, 0, 0);
	if (r->sched->policy->context_saved)
		r->sched->policy->context_saved(r->sched, old);
	if (!old->idle)
		hv_migrate_finish(old);
}

void hv_unit_saved(struct hv_resource *r)
{
	struct hv_unit *old = r->prev;

	/* A request to switch one of its members alone has found it gone: the wake did the rest. */
	for (unsigned k = 0; old && !old->idle && k < old->nr_vcpus; k++) {
		hv_unit_member(old, k)->force_switch = false;
		hv_unit_member(old, k)->sleeps_late = false;
	}
	unit_saved(r);
}

enum hv_next_kind hv_saved(struct hv_sys *sys, unsigned pcpu)
{
	struct hv_pcpu *p = &sys->pcpus[pcpu];
	struct hv_vcpu *vp = p->from;

	HV_ASSERT(sys, pcpu < sys->nr_pcpus && p->res);
	if (__builtin_expect(p->res->g > 1, 0))
		return hv_rendezvous_saved(p);
	if (!vp)
		return HV_KEEP;
	p->from = NULL;
	vp->is_running = false;
	if (vp->idle)
		vp->unit = p->res->idle;
	unit_saved(p->res);
	HV_CHECKED(sys);
	return HV_KEEP;
}

struct hv_vcpu *hv_pcpu_loaded(struct hv_sys *sys, unsigned pcpu)
{
	return pcpu < sys->nr_pcpus ? sys->pcpus[pcpu].loaded : NULL;
}

void hv_tickle(struct hv_sched *s, unsigned pcpu)
{
	struct hv_sys *sys = s->sys;

	HV_DEBUG_ASSERT(sys, pcpu < sys->nr_pcpus && sys->pcpus[pcpu].res);
	if (hv_tracing(sys))
		hv_trace_unit(sys, HV_TRACE_TICKLE, NULL, pcpu, 0, 0);
	sys->host.poke(sys->ctx, pcpu, HV_EVENT_SCHEDULE);
}

void hv_request(struct hv_sched *s, unsigned pcpu)
{
	HV_DEBUG_ASSERT(s->sys, pcpu < s->sys->nr_pcpus && s->sys->pcpus[pcpu].res);
	s->sys->host.poke(s->sys->ctx, pcpu, HV_EVENT_SCHEDULE);
}
