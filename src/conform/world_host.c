/*
 * The engine's host in a replay: clock, requests, timers, memory, and the lines that its trace
 * makes.
 *
 * Requests and what pCPUs do with them are world_turn.c.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "conform/world_state.h"

static hv_time host_now(void *ctx)
{
	const struct world *w = ctx;

	return w->stale ? w->sample : w->now;
}

static unsigned host_this_pcpu(void *ctx)
{
	return ((struct world *)ctx)->cpu;
}

static void host_poke(void *ctx, unsigned pcpu, unsigned events)
{
	struct world *w = ctx;

	if (events & HV_EVENT_SLAVE)
		world_raise(w, pcpu, REQUEST_SLAVE);
	if (events & HV_EVENT_SCHEDULE)
		world_raise(w, pcpu, REQUEST_SCHEDULE);
}

/* --- timers ----------------------------------------------------------------------------------- */

/* A place for one more timer; host[0] of a timer is its place + 1 while it is armed. */
static uint32_t timer_place(struct world *w)
{
	uint32_t slots = w->timers.slots;

	if (w->nr_free_places == 0) {
		uint32_t more = slots ? 2 * slots : 64;
		struct hv_timer **timer = realloc(w->timer, more * sizeof(struct hv_timer *));
		uint32_t *places = realloc(w->free_place, more * sizeof(*places));

		uint32_t *held = realloc(w->held_timer, more * sizeof(*held));

		if (timer)
			w->timer = timer;
		if (places)
			w->free_place = places;
		if (held)
			w->held_timer = held;
		if (!timer || !places || !held || due_reserve(&w->timers, more))
			world_stop(w, REPLAY_NO_MEMORY, "out of memory");
		for (uint32_t place = more; place-- > slots;)
			w->free_place[w->nr_free_places++] = place;
	}
	return w->free_place[--w->nr_free_places];
}

/* It is not held any more, if it was. */
static void release_timer(struct world *w, uint32_t place)
{
	for (unsigned i = 0; i < w->nr_held_timers; i++) {
		if (w->held_timer[i] == place) {
			w->held_timer[i] = w->held_timer[--w->nr_held_timers];
			return;
		}
	}
}

static void host_timer_arm(void *ctx, struct hv_timer *t)
{
	struct world *w = ctx;

	if (!t->host[0]) {
		uint32_t place = timer_place(w);

		w->timer[place] = t;
		t->host[0] = place + 1;
	}
	release_timer(w, (uint32_t)t->host[0] - 1);
	due_set(&w->timers, (uint32_t)t->host[0] - 1, t->expiry,
		(uint64_t)t->cls << 32 | t->number);
}

static void host_timer_disarm(void *ctx, struct hv_timer *t)
{
	struct world *w = ctx;
	uint32_t place = (uint32_t)t->host[0] - 1;

	assert(t->host[0] && w->timer[place] == t);
	release_timer(w, place);
	due_drop(&w->timers, place);
	w->free_place[w->nr_free_places++] = place;
	w->timer[place] = NULL;
	t->host[0] = 0;
}

/* --- memory ----------------------------------------------------------------------------------- */

static void *host_alloc(void *ctx, size_t size)
{
	struct world *w = ctx;
	struct world_block *b;

	if (++w->allocations == w->fail_allocation)
		return NULL;
	b = malloc(sizeof(*b) + size);
	if (!b)
		return NULL;
	b->prev = NULL;
	b->next = w->blocks;
	if (b->next)
		b->next->prev = b;
	w->blocks = b;
	return b + 1;
}

static void host_free(void *ctx, void *p, size_t size)
{
	struct world *w = ctx;
	struct world_block *b = (struct world_block *)p - 1;

	(void)size;
	if (!p)
		return;
	if (b->prev)
		b->prev->next = b->next;
	else
		w->blocks = b->next;
	if (b->next)
		b->next->prev = b->prev;
	free(b);
}

void world_free_blocks(struct world *w)
{
	while (w->blocks)
		host_free(w, w->blocks + 1, 0);
}

/* --- lines ------------------------------------------------------------------------------------ */

/*
 * Which values of a unit's state stand in a record, in this order, by policy. Other values that a
 * policy shows are not recorded.
 */
static const struct {
	const char *sched;
	const char *pass[4];  /* in switch and cont lines */
	const char *total[4]; /* in total lines */
} recorded_state[] = {
	{"credit2", {"credit"}, {"credit", "load"}},
	{"credit", {"pri", "credit"}, {"pri", "credit"}},
	{"rtds", {"dl", "budget", "level"}, {"dl", "budget", "level"}},
};

void world_record_state(struct world *w, const struct hv_unit *u, bool total, const char *prefix)
{
	struct hv_state state = {0};
	const char *const *names = NULL;

	if (u->idle)
		return;
	for (size_t i = 0; i < sizeof(recorded_state) / sizeof(recorded_state[0]); i++) {
		if (strcmp(recorded_state[i].sched, u->res->sched->policy->name) == 0)
			names = total ? recorded_state[i].total : recorded_state[i].pass;
	}
	if (!names)
		return;
	hv_unit_state(u, &state);
	for (unsigned n = 0; n < 4 && names[n]; n++) {
		unsigned i = 0;
		char name[16] = "";

		while (i < state.nr && strcmp(state.v[i].name, names[n]) != 0)
			i++;
		if (i == state.nr)
			world_stop(w, REPLAY_BROKEN, "the policy does not show its value '%s'",
				   names[n]);
		assert(strlen(prefix) + strlen(names[n]) < sizeof(name));
		strcat(strcat(name, prefix), names[n]);
		record_int(w->out, name, state.v[i].value);
	}
}

static void put_load(struct world *w, struct hv_pool *pool)
{
	struct hv_runqueue_info info;

	for (unsigned i = 0; hv_runqueue_info(pool, i, &info) == 0; i++) {
		record_begin(w->out, w->now, "rqload");
		if (w->s->format > 1)
			record_int(w->out, "pool", pool->id);
		record_int(w->out, "id", info.id);
		record_int(w->out, "avgload", info.load);
		record_int(w->out, "b_avgload", info.balance_load);
		record_int(w->out, "max_weight", info.max_weight);
		record_end(w->out);
	}
}

void world_record_runqueues(struct world *w, bool load)
{
	struct hv_runqueue_info info;
	struct hv_pool *p = load ? hv_pool_next(w->sys, 0) : NULL;

	for (; p; p = hv_pool_next(w->sys, p->id + 1))
		put_load(w, p);
	for (unsigned i = 0; !load && hv_runqueue_info(w->pool, i, &info) == 0; i++) {
		record_begin(w->out, w->now, "runqueue");
		record_int(w->out, "id", info.id);
		record_pcpus(w->out, "cpus", &info.pcpus, hv_mask_words(w->sys));
		record_end(w->out);
	}
}

static void put_unit(struct world *w, const char *name, const struct hv_unit *u)
{
	if (u->idle)
		record_text(w->out, name, "idle");
	else
		record_vcpu(w->out, name, u->domain->id, u->id);
}

/* A switch or cont line: what the pass chose, and the states after the decision. */
static void trace_pass(struct world *w, const struct hv_trace *ev)
{
	bool other = ev->kind == HV_TRACE_SWITCH;

	if (!hv_resource_of(w->sys, ev->pcpu)->pool)
		return; /* a free pCPU, from idle to idle */
	record_begin(w->out, w->now, other ? "switch" : "cont");
	record_int(w->out, "cpu", ev->pcpu);
	if (hv_resource_of(w->sys, ev->pcpu)->g > 1)
		record_int(w->out, "on", w->cpu);
	if (ev->b)
		record_int(w->out, "work", 1);
	if (other)
		put_unit(w, "prev", ev->prev);
	put_unit(w, "unit", ev->unit);
	record_int(w->out, "slice", ev->a);
	world_record_state(w, ev->unit, false, "");
	if (other)
		world_record_state(w, ev->prev, false, "p");
	record_end(w->out);
}

/* Remembers where a unit was when its assigned pCPU changes for the first time in an operation. */
static void trace_assign(struct world *w, const struct hv_trace *ev)
{
	struct world_vcpu *g = ev->unit->idle ? NULL : ev->unit->vcpu->host;

	if (!g || !g->inserted || g->moved)
		return;
	assert(w->nr_moved < w->s->nr_vcpus);
	g->moved = true;
	g->from = (uint32_t)ev->a;
	w->moved[w->nr_moved++] = g;
}

static void trace_insert(struct world *w, const struct hv_trace *ev)
{
	struct world_vcpu *g = ev->unit->vcpu->host;

	if (g->inserted)
		return; /* its domain has moved */
	record_begin(w->out, w->now, "insert");
	put_unit(w, "unit", ev->unit);
	record_int(w->out, "cpu", ev->pcpu);
	record_end(w->out);
	g->inserted = true;
}

/* A request of one kind; dup: one is there already. */
static void trace_request(struct world *w, const char *event, unsigned pcpu, unsigned kind)
{
	record_begin(w->out, w->now, event);
	record_int(w->out, "cpu", pcpu);
	if (w->pcpu[pcpu].request[kind].raised)
		record_int(w->out, "dup", 1);
	record_end(w->out);
}

static void host_trace(void *ctx, const struct hv_trace *ev)
{
	struct world *w = ctx;

	if (!w->recording)
		return;
	switch (ev->kind) {
	case HV_TRACE_SWITCH:
	case HV_TRACE_CONT:
		trace_pass(w, ev);
		break;
	case HV_TRACE_TICKLE:
		trace_request(w, "tickle", ev->pcpu, REQUEST_SCHEDULE);
		break;
	case HV_TRACE_FORCE:
		trace_request(w, "force", ev->pcpu, REQUEST_SLAVE);
		break;
	case HV_TRACE_ENTER:
		record_begin(w->out, w->now, "enter");
		record_int(w->out, "cpu", ev->pcpu);
		record_end(w->out);
		break;
	case HV_TRACE_RESET:
		record_begin(w->out, w->now, "reset");
		record_int(w->out, "cpu", ev->pcpu);
		record_end(w->out);
		break;
	case HV_TRACE_RQMOVE:
		record_begin(w->out, w->now, "rqmove");
		put_unit(w, "unit", ev->unit);
		record_int(w->out, "from", ev->a);
		record_int(w->out, "to", ev->b);
		record_end(w->out);
		break;
	case HV_TRACE_ASSIGN:
		trace_assign(w, ev);
		break;
	case HV_TRACE_INSERT:
		trace_insert(w, ev);
		break;
	default: /* wake, block and yield lines are the world's; the rest is not recorded */
		break;
	}
}

static void host_assert_failed(void *ctx, const char *expr, const char *file, int line)
{
	const char *base = strrchr(file, '/');

	world_stop(ctx, REPLAY_BROKEN, "%s:%d: %s", base ? base + 1 : file, line, expr);
}

const struct hv_host world_host = {
	.now = host_now,
	.this_pcpu = host_this_pcpu,
	.poke = host_poke,
	.timer_arm = host_timer_arm,
	.timer_disarm = host_timer_disarm,
	.alloc = host_alloc,
	.free = host_free,
	.trace = host_trace,
	.assert_failed = host_assert_failed,
};
