/*
 * Requests and turns (docs/conformance.md, "Time and order").
 *
 * A pCPU has one flag and due time for each kind of request, slave and schedule; a request for the
 * executing pCPU is due now, one for another pCPU after the latency. A pCPU handles one request
 * in a turn. The turn may have to wait for siblings: the pCPU then handles nothing else, its
 * guest stands still and its timers do not fire. Pcpus that wait look, in the order in which they
 * began to, before anybody begins a turn.
 *
 * Laws: a request is in the queue exactly if it is raised and its pCPU does not wait; `waiter`
 * holds the pCPUs that wait, each once.
 */
#include <assert.h>

#include "conform/world_state.h"

/* --- requests --------------------------------------------------------------------------------- */

static uint32_t slot(unsigned pcpu, unsigned kind)
{
	return NR_REQUESTS * pcpu + kind;
}

static void set_request(struct world *w, unsigned pcpu, unsigned kind, hv_time due)
{
	struct world_request *r = &w->pcpu[pcpu].request[kind];

	r->raised = true;
	r->due = due;
	r->order = w->raised++;
	if (!w->pcpu[pcpu].waits && !w->pcpu[pcpu].stopped)
		due_set(&w->requests, slot(pcpu, kind), r->due, r->order);
}

static void drop_request(struct world *w, unsigned pcpu, unsigned kind)
{
	w->pcpu[pcpu].request[kind].raised = false;
	due_drop(&w->requests, slot(pcpu, kind));
}

void world_raise(struct world *w, unsigned pcpu, unsigned kind)
{
	const struct world_request *r = &w->pcpu[pcpu].request[kind];
	/* At boot nothing is in flight. */
	hv_time due = w->now + (pcpu == w->cpu || !w->recording ? 0 : w->s->ipi);

	assert(pcpu < w->s->nr_pcpus && kind < NR_REQUESTS);
	if (!r->raised || due < r->due)
		set_request(w, pcpu, kind, due);
}

void world_drop_requests(struct world *w, unsigned pcpu)
{
	for (unsigned kind = 0; kind < NR_REQUESTS; kind++)
		drop_request(w, pcpu, kind);
}

/*
 * A pCPU that was in the hypervisor handles its own requests, if they are still in flight, on the
 * way out.
 */
void world_requests_due(struct world *w, unsigned pcpu)
{
	for (unsigned kind = 0; kind < NR_REQUESTS; kind++) {
		const struct world_request *r = &w->pcpu[pcpu].request[kind];

		if (r->raised && r->due > w->now)
			set_request(w, pcpu, kind, w->now);
	}
}

/* --- waiting ---------------------------------------------------------------------------------- */

static void begin_wait(struct world *w, unsigned p)
{
	struct world_pcpu *pcpu = &w->pcpu[p];

	assert(!pcpu->waits && w->nr_waiters < w->s->nr_pcpus);
	pcpu->waits = true;
	w->waiter[w->nr_waiters++] = p;
	for (unsigned kind = 0; kind < NR_REQUESTS; kind++)
		due_drop(&w->requests, slot(p, kind));
	if (pcpu->loaded)
		guest_freeze(w, pcpu->loaded);
}

/* It is not in the line of those that wait any more. */
static void leave_line(struct world *w, unsigned p)
{
	unsigned i = 0;

	assert(w->pcpu[p].waits);
	while (w->waiter[i] != p)
		i++;
	for (w->nr_waiters--; i < w->nr_waiters; i++)
		w->waiter[i] = w->waiter[i + 1];
	w->pcpu[p].waits = false;
	if (w->pcpu[p].loaded)
		guest_thaw(w, w->pcpu[p].loaded);
}

/* What came up during the wait is due again. */
static void requeue(struct world *w, unsigned p)
{
	for (unsigned kind = 0; kind < NR_REQUESTS; kind++) {
		const struct world_request *r = &w->pcpu[p].request[kind];

		if (r->raised)
			due_set(&w->requests, slot(p, kind), r->due, r->order);
	}
	for (unsigned i = 0; i < w->nr_held_timers;) {
		struct hv_timer *t = w->timer[w->held_timer[i]];

		if (t->pcpu == p)
			world_host.timer_arm(w, t); /* it is not held any more */
		else
			i++;
	}
}

/* The pCPU's idle vCPU is loaded for the work of a command. */
static void stop(struct world *w, unsigned p)
{
	assert(!w->pcpu[p].loaded && !w->pcpu[p].waits);
	w->pcpu[p].stopped = true;
	for (unsigned kind = 0; kind < NR_REQUESTS; kind++)
		due_drop(&w->requests, slot(p, kind));
}

void world_go(struct world *w, unsigned p)
{
	assert(w->pcpu[p].stopped);
	w->pcpu[p].stopped = false;
	requeue(w, p);
}

/* --- turns ------------------------------------------------------------------------------------ */

static void record_load(struct world *w, unsigned p, const struct hv_next *next)
{
	const struct world_vcpu *to = next->to->idle ? NULL : next->to->host;

	if (w->s->format == 1 || !w->recording)
		return;
	record_begin(w->out, w->now, "vrun");
	record_int(w->out, "cpu", p);
	if (to)
		record_vcpu(w->out, "vcpu", to->domain, to->id);
	else
		record_text(w->out, "vcpu", "idle");
	if (next->forced)
		record_int(w->out, "forced", 1);
	record_end(w->out);
}

/* Another vCPU is loaded; the context of what ran is saved at once. */
static enum hv_next_kind load(struct world *w, unsigned p, const struct hv_next *next)
{
	struct world_pcpu *pcpu = &w->pcpu[p];
	struct world_vcpu *from = pcpu->loaded, *to = next->to->idle ? NULL : next->to->host;

	if ((next->from->idle ? NULL : next->from->host) != from || to == from)
		world_stop(w, REPLAY_BROKEN, "pCPU %u switches from what it does not run", p);
	if (to && to->on != HV_NO_PCPU)
		world_stop(w, REPLAY_BROKEN, "d%dv%u runs on pCPU %u and %u", to->domain, to->id,
			   to->on, p);
	record_load(w, p, next);
	if (from)
		guest_switch_out(w, from);
	else
		pcpu->idle += w->now - pcpu->idle_since;
	if (to)
		guest_switch_in(w, to, p);
	else
		pcpu->idle_since = w->now;
	return hv_saved(w->sys, p);
}

/* What the engine answered at the beginning of a turn, or when a pCPU that waited looked. */
static void go_on(struct world *w, unsigned p, struct hv_next next)
{
	if (next.kind == HV_SWITCH)
		next.kind = load(w, p, &next);
	if (next.kind == HV_AGAIN) {
		begin_wait(w, p);
		return;
	}
	requeue(w, p);
	if (hv_work_ready(w->sys, p))
		stop(w, p);
	world_end_operation(w);
}

static void make_turn(struct world *w, unsigned p)
{
	unsigned kind = w->pcpu[p].request[REQUEST_SLAVE].raised ? REQUEST_SLAVE : REQUEST_SCHEDULE;

	drop_request(w, p, kind);
	world_begin_operation(w, p);
	w->pcpu[p].turn = w->now;
	go_on(w, p,
	      hv_event(w->sys, p, kind == REQUEST_SLAVE ? HV_EVENT_SLAVE : HV_EVENT_SCHEDULE));
}

/* One pCPU looks at what it waits for. True if its turn goes on. */
static bool look(struct world *w, unsigned p)
{
	enum hv_wait before = hv_pcpu_wait(w->sys, p);
	struct hv_next next;

	w->cpu = p;
	/* As in Xen: a vCPU that is switched alone now is so as of the beginning of the turn. */
	w->stale = before == HV_WAIT_ENTER;
	w->sample = w->pcpu[p].turn;
	next = hv_event(w->sys, p, 0);
	w->stale = false;
	if (next.kind == HV_AGAIN && hv_pcpu_wait(w->sys, p) == before)
		return false;
	world_begin_operation(w, p);
	leave_line(w, p);
	go_on(w, p, next);
	return true;
}

static void look_all(struct world *w)
{
	bool again = w->nr_waiters > 0;

	while (again) {
		unsigned nr = w->nr_waiters;

		again = false;
		for (unsigned i = 0; i < nr; i++)
			w->looker[i] = w->waiter[i];
		for (unsigned i = 0; i < nr; i++)
			again |= look(w, w->looker[i]);
	}
}

void world_drain(struct world *w)
{
	for (;;) {
		look_all(w);
		if (due_next(&w->requests) <= w->now)
			make_turn(w, due_first(&w->requests) / NR_REQUESTS);
		else if (!world_command_look(w))
			return;
	}
}
