/*
 * What guests do on their vCPUs (docs/conformance.md, "Guest behaviours").
 *
 * Law: a guest's action is due at started + rest, its CPU time since then being now - started.
 */
#include <assert.h>

#include "conform/world_state.h"

/* One splitmix64 step; a duration with mean M is uniform in 1..2M-1. */
static hv_time draw(struct world_vcpu *g, hv_time mean)
{
	uint64_t z;

	assert(mean > 0);
	g->random += 0x9E3779B97F4A7C15;
	z = g->random;
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
	z ^= z >> 31;
	return (hv_time)(1 + z % (2 * (uint64_t)mean - 1));
}

/* Puts the running guest's next action into the queue. */
static void plan_action(struct world *w, struct world_vcpu *g)
{
	assert(g->on != HV_NO_PCPU && w->pcpu[g->on].loaded == g);
	if (g->rest == REST_INFINITE || g->frozen)
		due_drop(&w->actions, g->on);
	else
		due_set(&w->actions, g->on, g->started + g->rest, g->on);
}

void world_guest_behave(struct world *w, struct world_vcpu *g, const struct script_behaviour *b)
{
	g->behaviour = *b;
	g->random = b->seed;
	if (b->kind == BEHAVE_BUSY)
		g->rest = REST_INFINITE;
	if (g->on != HV_NO_PCPU)
		plan_action(w, g);
}

void world_guest_woken(struct world *w, struct world_vcpu *g)
{
	due_drop(&w->wakes, (uint32_t)(g - w->vcpu));
	if (g->behaviour.kind == BEHAVE_BUSY)
		g->rest = REST_INFINITE;
	else if (g->behaviour.kind == BEHAVE_RANDOM)
		g->rest = draw(g, g->behaviour.run);
	else
		g->rest = g->behaviour.run;
	/* It may still run, on its way off after it was taken off line. */
	if (g->on != HV_NO_PCPU)
		plan_action(w, g);
}

void guest_switch_in(struct world *w, struct world_vcpu *g, unsigned pcpu)
{
	assert(g->on == HV_NO_PCPU && !w->pcpu[pcpu].loaded);
	g->on = pcpu;
	w->pcpu[pcpu].loaded = g;
	g->started = w->now;
	g->loaded = w->now;
	g->switches++;
	plan_action(w, g);
}

void guest_switch_out(struct world *w, struct world_vcpu *g)
{
	assert(g->on != HV_NO_PCPU && w->pcpu[g->on].loaded == g);
	due_drop(&w->actions, g->on);
	if (g->rest != REST_INFINITE && !g->frozen)
		g->rest -= w->now - g->started;
	g->frozen = false;
	g->run += w->now - g->loaded;
	w->pcpu[g->on].loaded = NULL;
	g->on = HV_NO_PCPU;
}

void guest_freeze(struct world *w, struct world_vcpu *g)
{
	assert(g->on != HV_NO_PCPU && !g->frozen);
	if (g->rest != REST_INFINITE)
		g->rest -= w->now - g->started;
	g->frozen = true;
	plan_action(w, g);
}

void guest_thaw(struct world *w, struct world_vcpu *g)
{
	assert(g->on != HV_NO_PCPU && g->frozen);
	g->frozen = false;
	g->started = w->now;
	/* One that has blocked, and is kept all the same, does nothing more. */
	if (!(g->v->pause_flags & HV_PF_BLOCKED))
		plan_action(w, g);
}

void world_guest_stop(struct world *w, struct world_vcpu *g)
{
	due_drop(&w->wakes, (uint32_t)(g - w->vcpu));
}

/* A yielder starts anew, whoever made it yield. */
void world_guest_yield(struct world *w, struct world_vcpu *g)
{
	assert(g->on == w->cpu);
	record_begin(w->out, w->now, "yield");
	record_vcpu(w->out, "unit", g->domain, g->id);
	record_end(w->out);
	if (g->behaviour.kind == BEHAVE_YIELDER) {
		g->rest = g->behaviour.run;
		g->started = w->now;
		plan_action(w, g);
	}
	hv_yield(g->v);
}

void world_guest_act(struct world *w)
{
	struct world_vcpu *g = w->pcpu[w->cpu].loaded;
	const struct script_behaviour *b = &g->behaviour;
	hv_time sleep;

	assert(g->on == w->cpu && g->started + g->rest <= w->now);
	if (b->kind == BEHAVE_YIELDER) {
		world_guest_yield(w, g);
		return;
	}
	assert(b->kind == BEHAVE_PERIODIC || b->kind == BEHAVE_RANDOM);
	record_begin(w->out, w->now, "block");
	record_vcpu(w->out, "unit", g->domain, g->id);
	record_end(w->out);
	sleep = b->kind == BEHAVE_RANDOM ? draw(g, b->sleep) : b->sleep;
	due_drop(&w->actions, w->cpu);
	due_set(&w->wakes, (uint32_t)(g - w->vcpu), w->now + sleep,
		(uint64_t)g->domain << 32 | g->id);
	hv_block(g->v, NULL, NULL);
}
