/* SPDX-License-Identifier: MIT */
/*
 * Trace records. Every transition of the engine goes to the host once, in the order in which it
 * happens; callers look at hv_tracing() first, so a host without a trace function pays one test.
 *
 * Source: the record kinds of hvsched.h.
 */
#include "engine/engine.h"

void hv_trace_emit(struct hv_sys *sys, const struct hv_trace *ev)
{
	struct hv_trace copy;

	if (!sys->tracing)
		return;
	copy = *ev;
	copy.time = hv_clock(sys);
	sys->host.trace(sys->ctx, &copy);
}

void hv_trace_unit(struct hv_sys *sys, enum hv_trace_kind kind, struct hv_unit *u, unsigned pcpu,
		   int64_t a, int64_t b)
{
	struct hv_trace ev = {.kind = kind, .pcpu = pcpu, .unit = u, .a = a, .b = b};

	hv_trace_emit(sys, &ev);
}

void hv_trace_vcpu(struct hv_sys *sys, enum hv_trace_kind kind, struct hv_vcpu *v)
{
	struct hv_trace ev = {
		.kind = kind,
		.pcpu = v->pcpu,
		.unit = v->unit,
		.vcpu = v,
		.a = v->pause_flags,
		.b = (int64_t)v->pause_count + (v->domain ? v->domain->pause_count : 0),
	};

	hv_trace_emit(sys, &ev);
}

/* The time of the record is the entry time of the new state, so that a ledger sums exactly. */
void hv_trace_runstate(struct hv_vcpu *v, enum hv_runstate_kind old)
{
	struct hv_sys *sys = v->unit->sys;
	struct hv_trace ev = {
		.kind = HV_TRACE_RUNSTATE,
		.time = v->runstate.since,
		.pcpu = v->pcpu,
		.unit = v->unit,
		.vcpu = v,
		.a = old,
		.b = v->runstate.state,
	};

	sys->host.trace(sys->ctx, &ev);
}

void hv_trace_decision(struct hv_resource *r, struct hv_unit *prev, struct hv_unit *next,
		       hv_time now, bool work)
{
	struct hv_sys *sys = r->sys;
	struct hv_trace ev = {
		.kind = next == prev ? HV_TRACE_CONT : HV_TRACE_SWITCH,
		.time = now,
		.pcpu = r->master,
		.unit = next,
		.prev = prev,
		.a = prev->next_time >= 0 ? prev->next_time : -1,
		.b = work,
	};

	sys->host.trace(sys->ctx, &ev);
}
