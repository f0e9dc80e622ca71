/* SPDX-License-Identifier: MIT */
/*
 * Runstates: what a vCPU is doing, and for how long it has done it.
 *
 * Law: the sum over states of time[] equals since - birth, whatever clock samples callers pass: an
 * interval is added exactly when the entry time moves, and a stale sample (now <= since) moves
 * neither. A unit's counters say how many of its members are in each state.
 *
 * Source: core-scheduling section 1.4.
 */
#include "engine/engine.h"

void hv_runstate_init(struct hv_vcpu *v, enum hv_runstate_kind state, hv_time now)
{
	memset(&v->runstate, 0, sizeof(v->runstate));
	v->runstate.state = state;
	v->runstate.since = now;
	v->birth = now;
	v->unit->runstate_count[state]++;
}

void hv_runstate_settle(struct hv_vcpu *v)
{
	enum hv_runstate_kind state;

	HV_ASSERT(v->unit->sys, hv_lock_held(v->unit->res->lock));
	if (v->runstate.state == HV_RUNNING)
		return;
	state = hv_vcpu_rest_state(v);
	if (state != v->runstate.state)
		hv_runstate_change(v, state, hv_clock(v->unit->sys));
	else
		v->state_lags = false;
}

void hv_runstate_get(const struct hv_vcpu *v, struct hv_runstate *out)
{
	hv_time now = hv_clock(v->unit->sys);

	*out = v->runstate;
	if (now > out->since)
		out->time[out->state] += now - out->since;
}

int64_t hv_pcpu_idle_time(struct hv_sys *sys, unsigned pcpu)
{
	struct hv_runstate rs;

	if (pcpu >= sys->nr_pcpus || !sys->pcpus[pcpu].idle)
		return 0;
	hv_runstate_get(sys->pcpus[pcpu].idle, &rs);
	return rs.time[HV_RUNNING];
}
