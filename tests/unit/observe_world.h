/*
 * A small host without a scheduler: random operations on a few vCPUs and pCPUs, told to an observer
 * as engine and machine would, with a second bookkeeping of the test's own. That one adds up every
 * step of time by the definition of the categories and knows nothing of intervals.
 */
#ifndef OBSERVE_WORLD_H
#define OBSERVE_WORLD_H

#include <assert.h>
#include <hvsched.h>
#include <string.h>

#include "observe/observe.h"

#define WORLD_PCPUS   4 /* two cores of two threads, one per socket */
#define WORLD_VCPUS   9
#define WORLD_DOMAINS 3

static const uint32_t world_core[] = {0, 0, 1, 1}, world_socket[] = {0, 0, 1, 1},
		      world_node[] = {0, 0, 1, 1};
static const struct hv_topology world_topology = {WORLD_PCPUS, world_core, world_socket,
						  world_node};

struct world_vcpu {
	struct hv_vcpu v;
	struct hv_unit unit;
	bool gone, core_wait, in_guest;
	hv_time from;		      /* running not reported from here... */
	int64_t part[OBSERVE_NR_RUN]; /* ...and its split */
	hv_time unreported_end;	      /* >= 0: stopped there, report still due */
	hv_time woken;

	int64_t expected[OBSERVE_NR_TIMES];
	uint64_t moves[OBSERVE_NR_DISTANCES], dispatches;
	uint32_t last;
	int64_t max_wake;
};

struct world {
	struct observe *o;
	hv_time now;
	uint64_t random;
	struct hv_domain domain[WORLD_DOMAINS];
	struct world_vcpu vcpu[WORLD_VCPUS];
	struct hv_unit idle;
	int on[WORLD_PCPUS]; /* vCPU that runs there, -1 = idle */
	bool forced[WORLD_PCPUS];
	int64_t mode[WORLD_PCPUS][OBSERVE_NR_MODES];
	int64_t shared;
	uint64_t wake_count, switches;
	int64_t wake_sum;
};

static inline uint64_t world_random(struct world *w, uint64_t below)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random % below;
}

static inline void world_trace(struct world *w, enum hv_trace_kind kind, struct world_vcpu *v,
			       int64_t a, int64_t b)
{
	struct hv_trace ev = {.kind = kind,
			      .time = w->now,
			      .pcpu = v->v.pcpu,
			      .unit = &v->unit,
			      .vcpu = &v->v,
			      .a = a,
			      .b = b};

	observe_trace(w->o, &ev);
}

static inline void world_trace_pause(struct world *w, struct world_vcpu *v)
{
	world_trace(w, HV_TRACE_PAUSE, v, v->v.pause_flags,
		    v->v.pause_count + v->v.domain->pause_count);
}

static inline void world_switch(struct world *w, uint32_t pcpu, struct hv_unit *prev,
				struct hv_unit *next)
{
	struct hv_trace ev = {.kind = prev == next ? HV_TRACE_CONT : HV_TRACE_SWITCH,
			      .time = w->now,
			      .pcpu = pcpu,
			      .unit = next,
			      .prev = prev,
			      .a = -1};

	w->switches += prev != next;
	observe_trace(w->o, &ev);
}

/* The engine's accounting rule, core-scheduling section 1.4. */
static inline void world_runstate(struct world *w, struct world_vcpu *v, enum hv_runstate_kind to)
{
	struct hv_runstate *r = &v->v.runstate;
	enum hv_runstate_kind from = r->state;

	if (from == to)
		return;
	r->time[from] += w->now - r->since;
	r->since = w->now;
	r->state = to;
	world_trace(w, HV_TRACE_RUNSTATE, v, from, to);
}

static inline bool world_runnable(const struct world_vcpu *v)
{
	return !v->v.pause_flags && !v->v.pause_count && !v->v.domain->pause_count;
}

static inline void world_settle(struct world *w, struct world_vcpu *v)
{
	if (v->v.runstate.state == HV_RUNNING)
		return;
	world_runstate(w, v,
		       world_runnable(v)		  ? HV_RUNNABLE
		       : v->v.pause_flags & HV_PF_BLOCKED ? HV_BLOCKED
							  : HV_OFFLINE);
	if (v->v.runstate.state == HV_BLOCKED || (v->v.pause_flags & HV_PF_DOWN) ||
	    v->v.pause_count || v->v.domain->pause_count)
		v->woken = -1;
}

static inline void world_create(struct world *w, struct observe *o, uint64_t seed)
{
	memset(w, 0, sizeof(*w));
	w->o = o;
	w->random = seed * 0x9E3779B97F4A7C15ULL + 1;
	w->idle.idle = true;
	for (int d = 0; d < WORLD_DOMAINS; d++)
		w->domain[d].id = d;
	for (int i = 0; i < WORLD_VCPUS; i++) {
		struct world_vcpu *v = &w->vcpu[i];

		v->v = (struct hv_vcpu){.domain = &w->domain[i % WORLD_DOMAINS],
					.unit = &v->unit,
					.id = (uint32_t)(i / WORLD_DOMAINS),
					.pause_flags = HV_PF_DOWN,
					.runstate = {.state = HV_OFFLINE}};
		v->unit.vcpu = &v->v;
		v->unreported_end = v->woken = -1;
		v->last = HV_NO_PCPU;
		world_trace(w, HV_TRACE_INSERT, v, 0, 0);
		v->v.pause_flags = 0;
		world_trace_pause(w, v);
		world_settle(w, v);
	}
	for (int c = 0; c < WORLD_PCPUS; c++) {
		w->on[c] = -1;
		observe_pcpu(o, (unsigned)c, 0, OBSERVE_PCPU_IDLE, 0);
	}
}

static inline enum observe_time world_category(const struct world_vcpu *v)
{
	if (v->v.runstate.state == HV_BLOCKED)
		return OBSERVE_BLOCKED;
	if ((v->v.pause_flags & HV_PF_DOWN) || v->v.pause_count || v->v.domain->pause_count)
		return OBSERVE_OFFLINE;
	if (v->v.pause_flags & HV_PF_MIGRATING)
		return OBSERVE_WAIT_MIGRATION;
	if (v->v.pause_flags & HV_PF_PARKED)
		return OBSERVE_WAIT_CAP;
	return v->core_wait ? OBSERVE_WAIT_CORE : OBSERVE_WAIT_QUEUE;
}

static inline int world_mode(const struct world *w, int c)
{
	if (w->on[c] >= 0)
		return w->vcpu[w->on[c]].in_guest ? OBSERVE_PCPU_GUEST : OBSERVE_PCPU_HYPERVISOR;
	return w->forced[c] ? OBSERVE_PCPU_FORCED_IDLE : OBSERVE_PCPU_IDLE;
}

/* Split dt among the guest's categories at random, or give it to the hypervisor. */
static inline void world_progress(struct world *w, struct world_vcpu *v, int64_t dt)
{
	if (!v->in_guest) {
		v->part[OBSERVE_HYPERVISOR] += dt;
		v->expected[OBSERVE_HYPERVISOR] += dt;
		return;
	}
	for (int c = OBSERVE_SPIN; c >= 0; c--) {
		int64_t some = c ? (int64_t)world_random(w, (uint64_t)dt + 1) : dt;

		v->part[c] += some;
		v->expected[c] += some;
		dt -= some;
	}
}

static inline void world_advance(struct world *w, int64_t dt)
{
	for (int i = 0; i < WORLD_VCPUS; i++) {
		struct world_vcpu *v = &w->vcpu[i];

		if (v->gone)
			continue;
		if (v->v.runstate.state == HV_RUNNING)
			world_progress(w, v, dt);
		else
			v->expected[world_category(v)] += dt;
	}
	for (int c = 0; c < WORLD_PCPUS; c++)
		w->mode[c][world_mode(w, c)] += dt;
	for (int c = 0; c < WORLD_PCPUS; c += 2) {
		int a = w->on[c], b = w->on[c + 1];

		if (a >= 0 && b >= 0 && w->vcpu[a].in_guest && w->vcpu[b].in_guest &&
		    w->vcpu[a].v.domain != w->vcpu[b].v.domain)
			w->shared += dt;
	}
	w->now += dt;
}

static inline void world_report(struct world *w, struct world_vcpu *v)
{
	hv_time end = v->unreported_end >= 0 ? v->unreported_end : w->now;

	if (v->unreported_end < 0 && v->v.runstate.state != HV_RUNNING)
		return;
	observe_run(w->o, &v->v, v->from, end, v->part);
	memset(v->part, 0, sizeof(v->part));
	v->from = end;
	v->unreported_end = -1;
}

static inline void world_show_pcpu(struct world *w, int c)
{
	observe_pcpu(w->o, (unsigned)c, w->now, (enum observe_mode)world_mode(w, c),
		     w->on[c] >= 0 ? w->vcpu[w->on[c]].v.domain->id : 0);
}

static inline void world_start(struct world *w, int i, int c)
{
	struct world_vcpu *v = &w->vcpu[i];

	if (v->unreported_end >= 0)
		world_report(w, v);
	v->v.pcpu = (uint32_t)c;
	world_switch(w, (uint32_t)c, &w->idle, &v->unit);
	world_runstate(w, v, HV_RUNNING);
	v->from = w->now;
	v->in_guest = v->core_wait = false;
	v->dispatches++;
	if (v->last != HV_NO_PCPU && v->last != (uint32_t)c)
		v->moves[v->last / 2 == (uint32_t)c / 2 ? OBSERVE_SAME_CORE
							: OBSERVE_CROSS_SOCKET]++;
	v->last = (uint32_t)c;
	if (v->woken >= 0) {
		int64_t delay = w->now - v->woken;

		w->wake_count++;
		w->wake_sum += delay;
		v->max_wake = delay > v->max_wake ? delay : v->max_wake;
		v->woken = -1;
	}
	w->on[c] = i;
	world_show_pcpu(w, c);
}

/* Off its pCPU; its time is reported before, or (later) after the engine says so. */
static inline void world_stop(struct world *w, int c, bool later)
{
	struct world_vcpu *v = &w->vcpu[w->on[c]];
	enum hv_runstate_kind to = world_runnable(v)		      ? HV_RUNNABLE
				   : v->v.pause_flags & HV_PF_BLOCKED ? HV_BLOCKED
								      : HV_OFFLINE;

	if (!later)
		world_report(w, v);
	world_switch(w, (uint32_t)c, &v->unit, &w->idle);
	world_runstate(w, v, to);
	if (later)
		v->unreported_end = w->now;
	w->on[c] = -1;
	world_show_pcpu(w, c);
}

static inline void world_flip_flag(struct world *w, struct world_vcpu *v, uint32_t flag)
{
	v->v.pause_flags ^= flag;
	world_trace_pause(w, v);
	world_settle(w, v);
}

static inline void world_flip_pause(struct world *w, struct world_vcpu *v)
{
	v->v.pause_count ^= 1;
	world_trace_pause(w, v);
	world_settle(w, v);
}

static inline void world_wake(struct world *w, struct world_vcpu *v)
{
	if (!(v->v.pause_flags & HV_PF_BLOCKED))
		return;
	world_trace(w, HV_TRACE_WAKE, v, 0, 0);
	if (v->v.runstate.state != HV_RUNNING && v->woken < 0)
		v->woken = w->now;
	world_flip_flag(w, v, HV_PF_BLOCKED);
}

/* One random operation. */
static inline void world_act(struct world *w)
{
	int i = (int)world_random(w, WORLD_VCPUS), c = (int)world_random(w, WORLD_PCPUS);
	struct world_vcpu *v = &w->vcpu[i];

	/* A wake or a cleared flag is as likely as all that hinders, so that much is running. */
	if (!v->gone && world_random(w, 2)) {
		world_wake(w, v);
		if (v->v.pause_flags & (HV_PF_PARKED | HV_PF_MIGRATING))
			world_flip_flag(w, v, v->v.pause_flags & (HV_PF_PARKED | HV_PF_MIGRATING));
		if (v->v.pause_count)
			world_flip_pause(w, v);
		return;
	}
	switch (v->gone ? 1 : world_random(w, 12)) {
	case 0:
		world_wake(w, v);
		break;
	case 1:
		if (w->on[c] >= 0)
			world_stop(w, c, world_random(w, 2));
		break;
	case 2:
	case 3:
	case 4:
		if (w->on[c] < 0 && v->v.runstate.state == HV_RUNNABLE && world_runnable(v))
			world_start(w, i, c);
		break;
	case 5:
		if (w->on[c] >= 0) {
			struct world_vcpu *r = &w->vcpu[w->on[c]];

			r->in_guest = !r->in_guest;
			world_show_pcpu(w, c);
		}
		break;
	case 6:
		if (w->on[c] >= 0) {
			v = &w->vcpu[w->on[c]];
			if (!(v->v.pause_flags & HV_PF_BLOCKED)) {
				world_trace(w, HV_TRACE_BLOCK, v, 0, 0);
				world_flip_flag(w, v, HV_PF_BLOCKED);
			}
			world_stop(w, c, world_random(w, 2));
		}
		break;
	case 7:
		world_flip_flag(w, v, HV_PF_PARKED);
		break;
	case 8:
		world_flip_flag(w, v, HV_PF_MIGRATING);
		break;
	case 9:
		world_flip_pause(w, v);
		break;
	case 10:
		if (v->v.runstate.state != HV_RUNNING) {
			v->core_wait = !v->core_wait;
			observe_core_wait(w->o, &v->v, w->now, v->core_wait);
		}
		break;
	case 11:
		world_report(w, v);
		if (w->on[c] < 0) {
			w->forced[c] = !w->forced[c];
			world_show_pcpu(w, c);
		}
		break;
	}
}

static inline void world_step(struct world *w)
{
	if (world_random(w, 3))
		world_advance(w, (int64_t)world_random(w, 5000));
	world_act(w);
}

static inline void world_report_all(struct world *w)
{
	for (int i = 0; i < WORLD_VCPUS; i++) {
		if (!w->vcpu[i].gone)
			world_report(w, &w->vcpu[i]);
	}
}

/* The vCPU is taken off and destroyed. */
static inline void world_destroy_vcpu(struct world *w, int i)
{
	struct world_vcpu *v = &w->vcpu[i];

	if (v->gone)
		return;
	if (v->v.runstate.state == HV_RUNNING)
		world_stop(w, (int)v->v.pcpu, false);
	world_report(w, v);
	observe_vcpu_gone(w->o, &v->v, w->now);
	v->gone = true;
	world_trace(w, HV_TRACE_REMOVE, v, 0, 0);
}

/* A new window of the test's own books. */
static inline void world_mark(struct world *w)
{
	world_report_all(w);
	observe_mark(w->o, w->now);
	for (int i = 0; i < WORLD_VCPUS; i++) {
		struct world_vcpu *v = &w->vcpu[i];

		memset(v->expected, 0, sizeof(v->expected));
		memset(v->moves, 0, sizeof(v->moves));
		v->dispatches = 0;
		v->max_wake = 0;
	}
	memset(w->mode, 0, sizeof(w->mode));
	w->shared = w->wake_sum = 0;
	w->wake_count = w->switches = 0;
}

#endif
