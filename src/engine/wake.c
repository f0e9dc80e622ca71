/* SPDX-License-Identifier: MIT */
/*
 * What makes a vCPU able or unable to run: on and off line, block, wake, pause, yield.
 *
 * Each operation changes a flag or count first, then tells the policy: "wake" whenever the vCPU is
 * runnable now, even if it runs already (a policy's wake is idempotent); "sleep" whenever no member
 * of the unit is. A member that wakes or sleeps while others of its unit run is switched alone
 * (core-scheduling 2.7). A guest that blocks or yields tells the policy nothing but yield: the next
 * schedule pass finds out. Checking for events after the blocked flag is set is what keeps a wakeup
 * from being lost.
 *
 * Source: core-scheduling sections 3.2, 3.3.
 */
#include "engine/engine.h"

void hv_vcpu_set_flag(struct hv_vcpu *v, uint32_t flag)
{
	v->pause_flags |= flag;
	if (hv_tracing(v->unit->sys))
		hv_trace_vcpu(v->unit->sys, HV_TRACE_PAUSE, v);
}

void hv_vcpu_clear_flag(struct hv_vcpu *v, uint32_t flag)
{
	v->pause_flags &= ~flag;
	if (hv_tracing(v->unit->sys))
		hv_trace_vcpu(v->unit->sys, HV_TRACE_PAUSE, v);
}

static void count_changed(struct hv_vcpu *v)
{
	if (hv_tracing(v->unit->sys))
		hv_trace_vcpu(v->unit->sys, HV_TRACE_PAUSE, v);
}

/* Only the flags: runstates follow with the next wake, sleep or switch, as in Xen. */
void hv_unit_set_flag(struct hv_unit *u, uint32_t flag)
{
	HV_ASSERT(u->sys, hv_lock_held(u->res->lock) && !u->idle);
	for (unsigned k = 0; k < u->nr_vcpus; k++) {
		struct hv_vcpu *v = hv_unit_member(u, k);

		hv_vcpu_set_flag(v, flag);
		v->state_lags = v->runstate.state != HV_RUNNING;
	}
}

void hv_unit_clear_flag(struct hv_unit *u, uint32_t flag)
{
	HV_ASSERT(u->sys, hv_lock_held(u->res->lock) && !u->idle);
	for (unsigned k = 0; k < u->nr_vcpus; k++) {
		struct hv_vcpu *v = hv_unit_member(u, k);

		hv_vcpu_clear_flag(v, flag);
		v->state_lags = v->runstate.state != HV_RUNNING;
	}
}

bool hv_unit_runnable(const struct hv_unit *u)
{
	if (u->idle || hv_vcpu_runnable(u->vcpu))
		return true;
	for (unsigned k = 1; k < u->nr_vcpus; k++) {
		if (hv_vcpu_runnable(hv_unit_member(u, k)))
			return true;
	}
	return false;
}

/*
 * Its unit runs without it. Going by is_running alone would lose a wake that comes after the vCPU
 * was switched away, alone or by a decision that kept its unit, and before its registers are
 * saved.
 */
static inline bool is_left_out(const struct hv_vcpu *v)
{
	const struct hv_unit *u = v->unit;

	if (!u->is_running)
		return false;
	return !v->is_running || (u->res->curr == u && v->runstate.state != HV_RUNNING);
}

static inline void wake_locked(struct hv_vcpu *v)
{
	struct hv_unit *u = v->unit;
	struct hv_sched *s = u->res->sched;

	hv_runstate_settle(v);
	if (!hv_vcpu_runnable(v))
		return;
	if (s->policy->wake)
		s->policy->wake(s, u);
	if (__builtin_expect(is_left_out(v), 0))
		hv_force_request(v);
}

void hv_vcpu_wake(struct hv_vcpu *v)
{
	struct hv_unit *u = v->unit;
	struct hv_lock *l = hv_unit_lock(u);

	wake_locked(v);
	hv_lock_release(u->sys, l);
}

void hv_vcpu_sleep_locked(struct hv_vcpu *v)
{
	struct hv_unit *u = v->unit;
	struct hv_sched *s = u->res->sched;

	HV_ASSERT(u->sys, hv_lock_held(u->res->lock));
	if (hv_vcpu_runnable(v))
		return;
	hv_runstate_settle(v);
	if (hv_unit_runnable(u)) {
		/* The others of its unit go on; it cannot go before one of them is there. */
		if (v->is_running && u->runstate_count[HV_RUNNING] > 1)
			hv_force_request(v);
		else
			v->sleeps_late = v->is_running;
	} else if (s->policy->sleep) {
		s->policy->sleep(s, u);
	}
}

void hv_unit_stop(struct hv_unit *u, uint32_t flag)
{
	for (unsigned k = 0; k < u->nr_vcpus; k++) {
		struct hv_vcpu *v = hv_unit_member(u, k);

		hv_vcpu_set_flag(v, flag);
		hv_vcpu_sleep_locked(v);
	}
}

void hv_unit_go(struct hv_unit *u, uint32_t flag)
{
	HV_ASSERT(u->sys, hv_lock_held(u->res->lock) && !u->idle);
	for (unsigned k = 0; k < u->nr_vcpus; k++) {
		struct hv_vcpu *v = hv_unit_member(u, k);

		hv_vcpu_clear_flag(v, flag);
		wake_locked(v);
	}
}

void hv_vcpu_sleep(struct hv_vcpu *v)
{
	struct hv_unit *u = v->unit;
	struct hv_lock *l = hv_unit_lock(u);

	hv_vcpu_sleep_locked(v);
	hv_lock_release(u->sys, l);
}

void hv_vcpu_up(struct hv_vcpu *v)
{
	struct hv_sys *sys = v->unit->sys;

	HV_ASSERT(sys, !v->idle);
	if (!(v->pause_flags & HV_PF_DOWN))
		return;
	/* A blocked vCPU that comes up stays blocked: hv_wake() is its wake. */
	if (hv_tracing(sys) && !(v->pause_flags & HV_PF_BLOCKED))
		hv_trace_vcpu(sys, HV_TRACE_WAKE, v);
	hv_vcpu_clear_flag(v, HV_PF_DOWN);
	hv_vcpu_wake(v);
	HV_CHECKED(sys);
}

void hv_vcpu_down(struct hv_vcpu *v)
{
	struct hv_sys *sys = v->unit->sys;

	HV_ASSERT(sys, !v->idle);
	if (v->pause_flags & HV_PF_DOWN)
		return;
	hv_vcpu_set_flag(v, HV_PF_DOWN);
	hv_vcpu_sleep(v);
	HV_CHECKED(sys);
}

bool hv_wake(struct hv_vcpu *v)
{
	struct hv_sys *sys = v->unit->sys;

	HV_ASSERT(sys, !v->idle);
	if (!(v->pause_flags & HV_PF_BLOCKED))
		return false;
	if (hv_tracing(sys))
		hv_trace_vcpu(sys, HV_TRACE_WAKE, v);
	hv_vcpu_clear_flag(v, HV_PF_BLOCKED);
	hv_vcpu_wake(v);
	HV_CHECKED(sys);
	return true;
}

bool hv_block(struct hv_vcpu *v, bool (*pending)(void *arg), void *arg)
{
	struct hv_sys *sys = v->unit->sys;

	HV_ASSERT(sys, !v->idle && sys->pcpus[v->pcpu].loaded == v);
	v->pause_flags |= HV_PF_BLOCKED;
	if (pending && pending(arg)) {
		v->pause_flags &= ~HV_PF_BLOCKED;
		return false;
	}
	if (hv_tracing(sys)) {
		hv_trace_vcpu(sys, HV_TRACE_BLOCK, v);
		hv_trace_vcpu(sys, HV_TRACE_PAUSE, v);
	}
	sys->host.poke(sys->ctx, v->pcpu, HV_EVENT_SCHEDULE);
	HV_CHECKED(sys);
	return true;
}

void hv_yield(struct hv_vcpu *v)
{
	struct hv_unit *u = v->unit;
	struct hv_sys *sys = u->sys;
	struct hv_lock *l;

	HV_ASSERT(sys, !v->idle && sys->pcpus[v->pcpu].loaded == v);
	if (hv_tracing(sys))
		hv_trace_vcpu(sys, HV_TRACE_YIELD, v);
	l = hv_unit_lock(u);
	if (u->res->sched->policy->yield)
		u->res->sched->policy->yield(u->res->sched, u);
	hv_lock_release(sys, l);
	sys->host.poke(sys->ctx, v->pcpu, HV_EVENT_SCHEDULE);
	HV_CHECKED(sys);
}

int hv_pause(struct hv_vcpu *v)
{
	HV_ASSERT(v->unit->sys, !v->idle);
	if (v->pause_count >= HV_MAX_PAUSE)
		return -HV_EOVERFLOW;
	v->pause_count++;
	count_changed(v);
	hv_vcpu_sleep(v);
	HV_CHECKED(v->unit->sys);
	return 0;
}

int hv_unpause(struct hv_vcpu *v)
{
	HV_ASSERT(v->unit->sys, !v->idle);
	if (v->pause_count == 0)
		return -HV_EINVAL;
	v->pause_count--;
	count_changed(v);
	if (v->pause_count == 0)
		hv_vcpu_wake(v);
	HV_CHECKED(v->unit->sys);
	return 0;
}

void hv_domain_pause_count(struct hv_domain *d)
{
	d->pause_count++;
	for (unsigned i = 0; i < d->nr_vcpus; i++) {
		struct hv_vcpu *v = d->vcpus[i];

		count_changed(v);
		v->state_lags = v->runstate.state != HV_RUNNING;
	}
}

void hv_domain_pause_all(struct hv_domain *d)
{
	d->pause_count++;
	for (unsigned i = 0; i < d->nr_vcpus; i++) {
		count_changed(d->vcpus[i]);
		hv_vcpu_sleep(d->vcpus[i]);
	}
}

void hv_domain_unpause_all(struct hv_domain *d)
{
	HV_ASSERT(d->sys, d->pause_count > 0);
	d->pause_count--;
	for (unsigned i = 0; i < d->nr_vcpus; i++) {
		count_changed(d->vcpus[i]);
		if (d->pause_count == 0)
			hv_vcpu_wake(d->vcpus[i]);
	}
}

int hv_domain_pause(struct hv_domain *d)
{
	if (d->pause_count >= HV_MAX_PAUSE)
		return -HV_EOVERFLOW;
	hv_domain_pause_all(d);
	HV_CHECKED(d->sys);
	return 0;
}

/* What the engine itself holds is not for the host to give up. */
static uint32_t held(const struct hv_domain *d)
{
	return (d->move != NULL) + (uint32_t)d->suspended;
}

int hv_domain_unpause(struct hv_domain *d)
{
	if (d->pause_count == held(d))
		return -HV_EINVAL;
	hv_domain_unpause_all(d);
	HV_CHECKED(d->sys);
	return 0;
}
