/*
 * Replays a script: the main loop of its world (docs/conformance.md, "Time and order").
 *
 * The world is serial. At each moment the first of these that applies is done: guest actions that
 * are due, requests that have arrived, timers, one script line, one automatic wake; each is
 * followed by passes on all pCPUs whose request is due. When none applies the clock goes to the
 * next time.
 */
#include "conform/world.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conform/world_state.h"

/*
 * Operations at one time, for each script line, after which the world is said to go round in
 * circles: a request that is answered by the same request again has no end. A line rarely makes
 * more than one pass on every pCPU, so that 10^6 passes on HV_MAX_PCPUS pCPUs are far beyond.
 */
#define MAX_AT_ONE_TIME 1000000

void world_stop(struct world *w, enum replay_status status, const char *format, ...)
{
	struct replay_result *result = w->result;
	va_list args;

	assert(status != REPLAY_DONE);
	result->status = status;
	result->why.line = w->line;
	va_start(args, format);
	vsnprintf(result->why.text, sizeof(result->why.text), format, args);
	va_end(args);
	longjmp(w->stop, 1);
}

/* --- operations ------------------------------------------------------------------------------- */

void world_begin_operation(struct world *w, unsigned cpu)
{
	assert(cpu < w->s->nr_pcpus);
	w->cpu = cpu;
	w->result->operations++;
	if (++w->at_this_time > MAX_AT_ONE_TIME)
		world_stop(w, REPLAY_BROKEN,
			   "stall: no end of operations at %lld ns, now on pCPU %u",
			   (long long)w->now, cpu);
}

static int by_domain_and_id(const void *a, const void *b)
{
	const struct world_vcpu *x = *(struct world_vcpu *const *)a;
	const struct world_vcpu *y = *(struct world_vcpu *const *)b;

	if (x->domain != y->domain)
		return x->domain < y->domain ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static void record_moves(struct world *w)
{
	if (w->nr_moved > 1)
		qsort(w->moved, w->nr_moved, sizeof(struct world_vcpu *), by_domain_and_id);
	for (unsigned i = 0; i < w->nr_moved; i++) {
		struct world_vcpu *g = w->moved[i];

		g->moved = false;
		if (g->v->pcpu == g->from)
			continue;
		record_begin(w->out, w->now, "migrate");
		record_vcpu(w->out, "unit", g->domain, g->id);
		record_int(w->out, "from", g->from);
		record_int(w->out, "to", g->v->pcpu);
		record_end(w->out);
	}
	w->nr_moved = 0;
}

void world_record_places(struct world *w, const struct hv_domain *d)
{
	unsigned kept = 0;

	/* Moves of its own that were noticed in this operation are part of the whole. */
	for (unsigned i = 0; i < w->nr_moved; i++) {
		if (w->moved[i]->domain != d->id)
			w->moved[kept++] = w->moved[i];
	}
	w->nr_moved = kept;
	for (unsigned i = 0; i < d->nr_vcpus; i++) {
		struct world_vcpu *g = d->vcpus[i]->host;

		if (d->vcpus[i]->unit->vcpu != d->vcpus[i])
			continue;
		g->moved = true;
		g->from = g->place;
		w->moved[w->nr_moved++] = g;
	}
}

static void check_laws(struct world *w)
{
	struct hv_violation v = {.pcpu = HV_NO_PCPU, .domain = -1, .unit = -1};

	if (hv_check(w->sys, &v) == 0)
		return;
	world_stop(w, REPLAY_BROKEN, "%s (pCPU %d, domain %d, unit %d)", v.law ? v.law : "unknown",
		   v.pcpu == HV_NO_PCPU ? -1 : (int)v.pcpu, v.domain, v.unit);
}

void world_end_operation(struct world *w)
{
	record_moves(w);
	world_requests_due(w, w->cpu);
	if (w->check)
		check_laws(w);
	if (w->out->failed)
		world_stop(w, REPLAY_NO_MEMORY, "out of memory");
}

/* Every pCPU in ascending order whose guest has used up its CPU time acts once. */
static void guest_actions(struct world *w)
{
	struct hv_mask due;
	unsigned nw = hv_topology_words(w->s->nr_pcpus);

	hv_mask_zero(&due, nw);
	while (due_next(&w->actions) <= w->now) {
		uint32_t p = due_first(&w->actions);

		due_drop(&w->actions, p);
		hv_mask_set(&due, p);
	}
	hv_mask_for_each(p, &due, nw)
	{
		world_begin_operation(w, p);
		world_guest_act(w);
		world_end_operation(w);
	}
}

/* On a pCPU that waits for siblings, or has stopped, no timer fires before that is over. */
static void fire_timers(struct world *w)
{
	while (due_next(&w->timers) <= w->now) {
		uint32_t place = due_first(&w->timers);
		struct hv_timer *t = w->timer[place];
		unsigned cpu = t->pcpu;

		if (w->pcpu[cpu].waits || w->pcpu[cpu].stopped) {
			due_drop(&w->timers, place);
			w->held_timer[w->nr_held_timers++] = place;
			continue;
		}
		world_host.timer_disarm(w, t);
		world_begin_operation(w, cpu);
		hv_timer_fire(t);
		world_end_operation(w);
	}
}

static void script_line(struct world *w)
{
	const struct script_line *l = &w->s->line[w->next_line++];

	w->line = l->number;
	w->at_this_time = 0;
	world_begin_operation(w, 0);
	if (world_script_line(w, l))
		world_end_operation(w);
	w->line = 0;
}

static void automatic_wake(struct world *w)
{
	uint32_t number = due_first(&w->wakes);
	struct world_vcpu *g = &w->vcpu[number];

	due_drop(&w->wakes, number);
	world_begin_operation(w, g->v->pcpu);
	world_wake(w, g);
	world_end_operation(w);
}

static hv_time next_line_time(const struct world *w)
{
	if (w->command.line)
		return DUE_NEVER;
	return w->next_line < w->s->nr_lines ? w->s->line[w->next_line].at : DUE_NEVER;
}

/* When a command tries again. */
static hv_time retry_time(const struct world *w)
{
	return w->command.line ? w->command.retry : DUE_NEVER;
}

/* The earliest time at which something happens. */
static hv_time next_time(const struct world *w)
{
	hv_time times[] = {due_next(&w->actions), due_next(&w->requests), due_next(&w->timers),
			   next_line_time(w),	  due_next(&w->wakes),	  retry_time(w)};
	hv_time first = DUE_NEVER;

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		if (times[i] < first)
			first = times[i];
	}
	return first;
}

static void main_loop(struct world *w)
{
	for (;;) {
		if (due_next(&w->actions) <= w->now)
			guest_actions(w);
		else if (due_next(&w->requests) <= w->now || retry_time(w) <= w->now)
			;
		else if (due_next(&w->timers) <= w->now)
			fire_timers(w);
		else if (next_line_time(w) <= w->now)
			script_line(w);
		else if (due_next(&w->wakes) <= w->now)
			automatic_wake(w);
		else if (next_time(w) <= w->s->end) {
			w->now = next_time(w);
			w->at_this_time = 0;
			continue;
		} else {
			break;
		}
		world_drain(w);
	}
	w->now = w->s->end;
}

/* --- end -------------------------------------------------------------------------------------- */

/*
 * The engine's own account of CPU time must be the world's; but a vCPU that is switched alone on a
 * pCPU that waits for siblings changes its runstate as of the beginning of the wait.
 */
static void check_run(struct world *w, const struct world_vcpu *g, const struct hv_runstate *state)
{
	hv_time run = g->run + (g->on != HV_NO_PCPU ? w->now - g->loaded : 0);

	if (state->time[HV_RUNNING] != run && w->s->ipi == 0)
		world_stop(w, REPLAY_BROKEN, "d%dv%u ran for %lld ns, its runstate says %lld",
			   g->domain, g->id, (long long)run, (long long)state->time[HV_RUNNING]);
}

static void record_totals(struct world *w)
{
	/* No operation runs any more: the list of moved vCPUs is free for sorting. */
	struct world_vcpu **all = w->moved;
	unsigned nr = 0;

	for (unsigned i = 0; i < w->s->nr_vcpus; i++) {
		if (w->vcpu[i].v)
			all[nr++] = &w->vcpu[i];
	}
	qsort(all, nr, sizeof(struct world_vcpu *), by_domain_and_id);
	for (unsigned i = 0; i < nr; i++) {
		const struct world_vcpu *g = all[i];
		struct hv_runstate state;

		hv_runstate_get(g->v, &state);
		check_run(w, g, &state);
		record_begin(w->out, w->now, "total");
		record_vcpu(w->out, "unit", g->domain, g->id);
		record_int(w->out, "run", state.time[HV_RUNNING]);
		record_int(w->out, "switches", g->switches);
		record_int(w->out, "cpu", g->v->pcpu);
		if (w->s->format > 1) {
			record_int(w->out, "runnable", state.time[HV_RUNNABLE]);
			record_int(w->out, "blocked", state.time[HV_BLOCKED]);
			record_int(w->out, "offline", state.time[HV_OFFLINE]);
		}
		if (g->v->unit->vcpu == g->v)
			world_record_state(w, g->v->unit, true, "");
		record_end(w->out);
	}
	for (unsigned p = 0; p < w->s->nr_pcpus; p++) {
		const struct world_pcpu *pcpu = &w->pcpu[p];
		hv_time ours = pcpu->idle + (pcpu->loaded ? 0 : w->now - pcpu->idle_since);
		hv_time idle = hv_pcpu_idle_time(w->sys, p);

		if (idle != ours && w->s->ipi == 0)
			world_stop(w, REPLAY_BROKEN,
				   "pCPU %u was idle for %lld ns, the engine says %lld", p,
				   (long long)ours, (long long)idle);
		record_begin(w->out, w->now, "idletotal");
		record_int(w->out, "cpu", p);
		record_int(w->out, "run", idle);
		record_end(w->out);
	}
	world_record_runqueues(w, true);
	check_laws(w);
}

/* --- the whole -------------------------------------------------------------------------------- */

/* An array of nr zeroed elements, at least one so that NULL means out of memory. */
static void *array(unsigned nr, size_t size)
{
	return calloc(nr ? nr : 1, size);
}

static bool allocate(struct world *w)
{
	const struct script *s = w->s;

	w->domain = array(s->nr_domains, sizeof(struct hv_domain *));
	w->vcpu = array(s->nr_vcpus, sizeof(*w->vcpu));
	w->moved = array(s->nr_vcpus, sizeof(struct world_vcpu *));
	w->pcpu = array(s->nr_pcpus, sizeof(*w->pcpu));
	w->topology = array(3 * s->nr_pcpus, sizeof(*w->topology));
	w->waiter = array(s->nr_pcpus, sizeof(*w->waiter));
	w->looker = array(s->nr_pcpus, sizeof(*w->looker));
	return w->domain && w->vcpu && w->moved && w->pcpu && w->topology && w->waiter &&
	       w->looker && due_reserve(&w->requests, NR_REQUESTS * s->nr_pcpus) == 0 &&
	       due_reserve(&w->actions, s->nr_pcpus) == 0 &&
	       due_reserve(&w->wakes, s->nr_vcpus ? s->nr_vcpus : 1) == 0;
}

static void release(struct world *w)
{
	due_free(&w->requests);
	due_free(&w->actions);
	due_free(&w->wakes);
	due_free(&w->timers);
	free(w->domain);
	free(w->vcpu);
	free(w->moved);
	free(w->pcpu);
	free(w->topology);
	free(w->timer);
	free(w->free_place);
	free(w->held_timer);
	free(w->waiter);
	free(w->looker);
	free(w);
}

/* From boot to the totals; it is left through world_stop() when something is wrong. */
static void run_world(struct world *w)
{
	if (setjmp(w->stop))
		return;
	world_boot(w);
	main_loop(w);
	record_totals(w);
	w->recording = false;
	hv_sys_destroy(w->sys);
	if (w->blocks)
		world_stop(w, REPLAY_BROKEN, "the engine has not freed all its memory");
	if (w->timers.nr)
		world_stop(w, REPLAY_BROKEN, "the engine has left a timer armed");
	w->result->status = REPLAY_DONE;
}

enum replay_status replay(const struct script *s, const struct replay_options *options,
			  struct record *out, struct replay_result *result)
{
	struct world *w = calloc(1, sizeof(*w));

	assert(out->nr == 0);
	memset(result, 0, sizeof(*result));
	result->status = REPLAY_NO_MEMORY;
	snprintf(result->why.text, sizeof(result->why.text), "out of memory");
	if (!w)
		return result->status;
	w->s = s;
	w->out = out;
	w->result = result;
	w->check = options->check;
	w->fail_allocation = options->fail_allocation;
	if (allocate(w))
		run_world(w);
	record_abandon(out);
	result->time = w->now;
	if (result->status == REPLAY_DONE)
		result->why.text[0] = '\0';
	world_free_blocks(w);
	release(w);
	return result->status;
}
