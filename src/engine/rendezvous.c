/* SPDX-License-Identifier: MIT */
/*
 * The rendezvous of a resource with several pCPUs: they enter a decision together, and leave it
 * together. Two counters in units say how far it is: `enter` (in the current unit: pCPUs that have
 * not arrived) and `leave` (in the next one: pCPUs that have not saved, plus one).
 *
 * Laws: one decision for each gathering, by the pCPU that arrives last; no pCPU enters a guest
 * before all have saved what they had; a pCPU that leaves the gathering early, to switch one vCPU
 * alone or for work of its idle context, puts `enter` back and comes again by a SLAVE of its own.
 *
 * Where a hypervisor spins the answer is HV_AGAIN, and hv_pcpu.wait says for what; a call with no
 * events looks again. So siblings may be driven in any order, by one thread.
 *
 * Source: core-scheduling sections 2.3, 2.5, 2.6, 2.7, 2.9.
 */
#include "engine/engine.h"

/* The member of the current unit whose place this pCPU is, if there is one. */
static struct hv_vcpu *own_member(const struct hv_pcpu *p)
{
	const struct hv_unit *u = p->res->curr;

	return u->idle ? NULL : hv_unit_member(u, p->rank);
}

/* ---- one vCPU alone */

void hv_force_request(struct hv_vcpu *v)
{
	struct hv_sys *sys = v->unit->sys;

	HV_ASSERT(sys, hv_lock_held(v->unit->res->lock) && v->unit->is_running);
	if (v->force_switch)
		return;
	if (hv_tracing(sys))
		hv_trace_vcpu(sys, HV_TRACE_FORCE, v);
	v->force_switch = true;
	sys->host.poke(sys->ctx, v->pcpu, HV_EVENT_SLAVE);
}

/*
 * A member that was paused while it alone ran, before one that was runnable had been loaded,
 * could not go alone. Now it can.
 */
static void release_sleepers(struct hv_unit *u)
{
	for (unsigned k = 0; k < u->nr_vcpus; k++) {
		struct hv_vcpu *v = hv_unit_member(u, k);

		if (v->sleeps_late && v->is_running && !hv_vcpu_runnable(v))
			hv_force_request(v);
		v->sleeps_late = false;
	}
}

/* Xen has no such limit: more than a host that means no harm comes to while an IPI is under way. */
#define MAX_ALONE 16

/*
 * Do what was asked for: load the member, or its pCPU's idle vCPU in its place. False when there is
 * nothing to do, or when it is the last one that runs: then the whole unit is to be rescheduled.
 *
 * In one gathering a pCPU loads a vCPU alone no more than MAX_ALONE times. Else pauses and wakes of
 * one member that come faster than its pCPU returns would keep the siblings waiting for ever. Who
 * wakes again is loaded by the decision; who is paused goes at once, because whoever pauses may
 * wait for that.
 */
static bool force(struct hv_pcpu *p, struct hv_vcpu *v)
{
	struct hv_unit *u = v->unit;
	struct hv_vcpu *old = p->loaded, *new = v;
	bool runnable = hv_vcpu_runnable(v);
	hv_time now;

	v->force_switch = false;
	if (runnable == v->is_running || (runnable && u->enter > 0 && p->came_in >= MAX_ALONE))
		return false;
	now = hv_clock(u->sys);
	if (runnable) {
		if (u->enter > 0)
			p->came_in++;
		HV_ASSERT(u->sys, old == p->idle);
		hv_runstate_change(old, HV_RUNNABLE, now);
		old->unit = p->res->idle;
		v->new_state = HV_RUNNING;
		hv_runstate_change(v, HV_RUNNING, now);
	} else {
		HV_ASSERT(u->sys, old == v);
		if (u->runstate_count[HV_RUNNING] == 1)
			return false;
		v->new_state = hv_vcpu_rest_state(v);
		hv_runstate_change(v, v->new_state, now);
		new = p->idle;
		new->unit = u;
		hv_runstate_change(new, HV_RUNNING, now);
	}
	new->is_running = true;
	p->from = old;
	p->loaded = new;
	/* A gathering may have called meanwhile. */
	u->sys->host.poke(u->sys->ctx, v->pcpu, HV_EVENT_SLAVE);
	if (runnable)
		release_sleepers(u);
	return true;
}

/* ---- leave */

/* This pCPU has saved. The last one tells the policy; true when all have. */
static bool leave(struct hv_pcpu *p)
{
	struct hv_resource *r = p->res;
	struct hv_unit *next = r->curr;

	if (next->leave == 0)
		return true;
	HV_ASSERT(r->sys, next->leave > 1);
	if (--next->leave > 1) {
		p->wait = HV_WAIT_LEAVE;
		return false;
	}
	hv_unit_saved(r);
	next->leave = 0;
	return true;
}

static inline struct hv_next answer(const struct hv_pcpu *p, enum hv_next_kind kind)
{
	return (struct hv_next){kind, false, p->loaded, p->loaded};
}

/* The decision is made: load what was chosen for this pCPU. */
static struct hv_next load(struct hv_pcpu *p)
{
	p->wait = HV_WAIT_NONE;
	if (p->from)
		return (struct hv_next){HV_SWITCH, false, p->from, p->loaded};
	return answer(p, leave(p) ? HV_KEEP : HV_AGAIN);
}

/* ---- enter */

/* For all pCPUs of the resource: the others wait, and load what they find when they look. */
static void decide(struct hv_pcpu *p)
{
	struct hv_resource *r = p->res;
	struct hv_sys *sys = r->sys;

	hv_decide(r, hv_clock(sys));
	r->curr->leave = r->g + 1;
	hv_mask_for_each(c, &r->pcpus, sys->nw)
	{
		struct hv_pcpu *other = &sys->pcpus[c];

		if (other == p)
			continue;
		HV_ASSERT(sys, other->wait == HV_WAIT_ENTER);
		other->wait = HV_WAIT_LOAD;
	}
}

/* Another errand is more urgent than the gathering; *next is what it means. */
static bool go_early(struct hv_pcpu *p, unsigned pcpu, struct hv_next *next)
{
	struct hv_unit *u = p->res->curr;
	struct hv_vcpu *v = own_member(p);

	HV_ASSERT(u->sys, u->enter > 0);
	if (v && v->force_switch && force(p, v)) {
		*next = (struct hv_next){HV_SWITCH, true, p->from, p->loaded};
	} else if (u->idle && p->work & HV_WORK_ENQUEUED) {
		p->work |= HV_WORK_SCHEDULED;
		u->sys->host.poke(u->sys->ctx, pcpu, HV_EVENT_SLAVE);
		*next = answer(p, HV_KEEP);
	} else {
		return false;
	}
	u->enter++;
	p->wait = HV_WAIT_NONE;
	return true;
}

/* One pCPU more is here; locked. */
static struct hv_next arrive(struct hv_pcpu *p, unsigned pcpu)
{
	struct hv_sys *sys = p->res->sys;
	struct hv_unit *u = p->res->curr;
	struct hv_next next;

	HV_ASSERT(sys, u->enter > 0 && p->wait == HV_WAIT_NONE);
	if (--u->enter == 0) {
		decide(p);
		p->wait = HV_WAIT_LOAD;
		return answer(p, HV_AGAIN);
	}
	if (go_early(p, pcpu, &next))
		return next;
	p->wait = HV_WAIT_ENTER;
	if (hv_tracing(sys))
		hv_trace_unit(sys, HV_TRACE_ENTER, NULL, pcpu, 0, 0);
	return answer(p, HV_AGAIN);
}

/* SLAVE; locked. False when it was spurious; then *again says that a decision is wanted. */
static bool slave_turn(struct hv_pcpu *p, unsigned pcpu, struct hv_next *next, bool *again)
{
	struct hv_vcpu *v = own_member(p);

	*again = v && v->force_switch;
	if (*again && force(p, v)) {
		*next = (struct hv_next){HV_SWITCH, true, p->from, p->loaded};
		return true;
	}
	if (p->res->curr->enter == 0)
		return false;
	hv_timer_stop(&p->res->timer);
	*next = arrive(p, pcpu);
	return true;
}

/* SCHEDULE; locked. */
static struct hv_next schedule_turn(struct hv_pcpu *p, unsigned pcpu)
{
	struct hv_resource *r = p->res;
	struct hv_sys *sys = r->sys;
	struct hv_next next = answer(p, HV_KEEP);
	bool again;

	if (r->curr->enter > 0) {
		/* A gathering is under way: join it, and ask once more afterwards. */
		sys->host.poke(sys->ctx, pcpu, HV_EVENT_SCHEDULE);
		slave_turn(p, pcpu, &next, &again);
		return next;
	}
	hv_timer_stop(&r->timer);
	r->curr->enter = r->g;
	hv_mask_for_each(c, &r->pcpus, sys->nw)
	{
		sys->pcpus[c].came_in = 0;
		if (c != pcpu)
			sys->host.poke(sys->ctx, c, HV_EVENT_SLAVE);
	}
	return arrive(p, pcpu);
}

/* A turn begins; locked. */
static struct hv_next turn(struct hv_pcpu *p, unsigned pcpu, unsigned events)
{
	struct hv_sys *sys = p->res->sys;
	struct hv_next next;
	bool again = false;

	if (events & HV_EVENT_SLAVE) {
		if (slave_turn(p, pcpu, &next, &again)) {
			if (events & HV_EVENT_SCHEDULE)
				sys->host.poke(sys->ctx, pcpu, HV_EVENT_SCHEDULE);
			return next;
		}
		if (again && !(events & HV_EVENT_SCHEDULE))
			sys->host.poke(sys->ctx, pcpu, HV_EVENT_SCHEDULE);
	}
	if (events & HV_EVENT_SCHEDULE)
		return schedule_turn(p, pcpu);
	return answer(p, HV_KEEP);
}

/* ---- hv_event() and hv_saved() */

struct hv_next hv_rendezvous_event(struct hv_sys *sys, unsigned pcpu, unsigned events)
{
	struct hv_pcpu *p = &sys->pcpus[pcpu];
	struct hv_next next;
	struct hv_lock *l;

	/* The host must report the last switch as saved before it asks for the next. */
	HV_ASSERT(sys, !p->from || p->wait == HV_WAIT_LOAD);
	if (sys->suspended)
		return answer(p, HV_KEEP);
	if (p->wait != HV_WAIT_NONE && events)
		sys->host.poke(sys->ctx, pcpu, events);
	switch (p->wait) {
	case HV_WAIT_NONE:
		l = hv_resource_lock(p->res);
		next = turn(p, pcpu, events);
		hv_lock_release(sys, l);
		break;
	case HV_WAIT_ENTER:
		l = hv_resource_lock(p->res);
		if (!go_early(p, pcpu, &next))
			next = answer(p, HV_AGAIN);
		hv_lock_release(sys, l);
		break;
	case HV_WAIT_LEAVE:
		if (p->res->curr->leave == 0)
			p->wait = HV_WAIT_NONE;
		next = answer(p, p->wait ? HV_AGAIN : HV_KEEP);
		break;
	default:
		next = answer(p, HV_AGAIN);
	}
	/* Whoever decided goes on at once, without the lock. */
	if (p->wait == HV_WAIT_LOAD)
		next = load(p);
	HV_CHECKED(sys);
	return next;
}

enum hv_next_kind hv_rendezvous_saved(struct hv_pcpu *p)
{
	struct hv_sys *sys = p->res->sys;
	struct hv_vcpu *old = p->from;

	if (!old) {
		if (p->wait == HV_WAIT_LEAVE && p->res->curr->leave == 0)
			p->wait = HV_WAIT_NONE;
		return p->wait ? HV_AGAIN : HV_KEEP;
	}
	HV_ASSERT(sys, p->wait == HV_WAIT_NONE);
	p->from = NULL;
	old->is_running = false;
	if (old->idle)
		old->unit = p->res->idle;
	if (!leave(p))
		return HV_AGAIN;
	HV_CHECKED(sys);
	return HV_KEEP;
}

enum hv_wait hv_pcpu_wait(const struct hv_sys *sys, unsigned pcpu)
{
	return sys->pcpus[pcpu].wait;
}

unsigned hv_pcpu_urgent(const struct hv_sys *sys, unsigned pcpu)
{
	const struct hv_pcpu *p = &sys->pcpus[pcpu];

	return p->res && p->loaded == p->idle && !p->idle->unit->idle;
}

/* ---- ends */

void hv_rendezvous_end(struct hv_resource *r)
{
	struct hv_sys *sys = r->sys;

	HV_ASSERT(sys, r->curr == r->idle && !r->prev);
	hv_mask_for_each(c, &r->pcpus, sys->nw)
	{
		struct hv_pcpu *p = &sys->pcpus[c];

		HV_ASSERT(sys, p->loaded == p->idle && !p->from);
		p->wait = HV_WAIT_NONE;
	}
	r->curr->enter = 0;
	r->curr->leave = 0;
}

bool hv_resource_is_quiet(const struct hv_resource *r)
{
	const struct hv_sys *sys = r->sys;

	if (r->curr != r->idle || r->prev)
		return false;
	hv_mask_for_each(c, &r->pcpus, sys->nw)
	{
		if (sys->pcpus[c].from || sys->pcpus[c].wait)
			return false;
	}
	return true;
}

void hv_resource_evict(struct hv_resource *r)
{
	struct hv_sys *sys = r->sys;

	sys->pcpus[r->master].work |= HV_WORK_ENQUEUED;
	while (!hv_resource_is_quiet(r)) {
		hv_mask_for_each(c, &r->pcpus, sys->nw)
		{
			const struct hv_pcpu *p = &sys->pcpus[c];

			if (p->from && p->wait != HV_WAIT_LOAD)
				hv_saved(sys, c);
			hv_event(sys, c,
				 p->wait	  ? 0
				 : c == r->master ? HV_EVENT_SCHEDULE
						  : HV_EVENT_SLAVE);
		}
	}
	hv_mask_for_each(c, &r->pcpus, sys->nw) sys->pcpus[c].work = 0;
}
