/*
 * Timer ticks and the guest's own accounting, workloads section 1.2.
 *
 * A busy vCPU has a tick every 4 ms (C9); an idle one has none, but wakes at exponential
 * distances (mean 100 ms) for 30 us of kernel timers. User and system time are counted by ticks:
 * the guest does not see steal, so when a vCPU returns after missing n ticks, all n are charged
 * to the task that is current.
 */
#include <assert.h>

#include "guest/kernel.h"

/* Ticks of the vCPUs of a guest are spread over the period. */
static hv_time next_boundary(const struct vcpu *v, hv_time now)
{
	const struct guest *g = v->guest;
	hv_time phase = g->p.tick * v->id / g->nr_vcpus;

	return now + g->p.tick - (now + g->p.tick - phase) % g->p.tick;
}

/* The share of system time is paid out tick by tick: no draw, and exact in the long run. */
static void charge_tick(struct vcpu *v)
{
	struct guest *g = v->guest;
	struct task *t = v->curr;
	bool system = v->doing == DO_SPIN || v->doing == DO_CALL || v->lock_explicit;

	if (!system && t->bg) {
		t->system_credit += t->bg->system_share;
		system = t->system_credit >= PROGRAM_ONE;
		if (system)
			t->system_credit -= PROGRAM_ONE;
	}
	if (system)
		g->r.system_ticks++;
	else
		g->r.user_ticks++;
}

static void tick(struct vcpu *v, int64_t missed, int64_t paid)
{
	const struct guest *g = v->guest;
	int64_t exits = 2 * g->cost->exit;

	assert(v->curr && missed >= 1);
	while (missed--)
		charge_tick(v);
	if (exits > g->cost->guest_tick)
		exits = g->cost->guest_tick;
	if (exits > paid)
		mc_charge(v->mv, exits - paid, MC_CHARGE_HYPERVISOR);
	if (g->cost->guest_tick > exits)
		mc_charge(v->mv, g->cost->guest_tick - exits, MC_CHARGE_USEFUL);
	if (sched_slice_over(v))
		v->need_resched = true;
	tick_arm(v);
}

static void tick_fn(struct mc_timer *timer)
{
	struct vcpu *v = timer->data;

	if (!v->curr) /* tickless */
		return;
	/* With a queue the tick may switch tasks, which needs the vCPU's own context. */
	if (mc_running(v->mv) && !v->queue) {
		tick(v, 1, 0);
		return;
	}
	v->tick_due = mc_now(v->guest->machine);
	mc_interrupt(v->mv, NULL, IRQ_TICK);
}

void tick_interrupt(struct vcpu *v)
{
	const struct guest *g = v->guest;

	if (!v->curr || mc_timer_armed(&v->tick))
		return;
	/* Its delivery has cost C1 already. */
	tick(v, 1 + (mc_now(g->machine) - v->tick_due) / g->p.tick, g->cost->exit);
}

void tick_init(struct vcpu *v, uint32_t entity)
{
	mc_timer_init(&v->tick, v->guest->machine, MC_TIMER_WAKE, entity, tick_fn, v);
}

/* When the vCPU goes idle the timer stays: it finds nothing to do, or is used again. */
void tick_arm(struct vcpu *v)
{
	if (!mc_timer_armed(&v->tick) && !(v->mv->pending & IRQ_TICK))
		mc_timer_set(&v->tick, next_boundary(v, mc_now(v->guest->machine)));
}

static void residual_fn(struct mc_timer *timer)
{
	struct vcpu *v = timer->data;

	if ((v->doing != DO_IDLE && v->doing != DO_ENTER) || !v->online)
		return;
	v->residual_due = true;
	mc_interrupt(v->mv, NULL, IRQ_RESCHED);
}

void residual_init(struct vcpu *v, uint32_t entity)
{
	struct guest *g = v->guest;

	mc_timer_init(&v->residual, g->machine, MC_TIMER_WAKE, entity, residual_fn, v);
	mc_rng_init(&v->rng_residual, mc_seed(g->machine), g->key | v->id, PURPOSE_RESIDUAL);
}

void residual_arm(struct vcpu *v)
{
	struct guest *g = v->guest;
	struct amount mean = {AMOUNT_EXP, g->p.residual_mean, 0};
	hv_time at;

	if (!g->p.residual_mean || mc_timer_armed(&v->residual))
		return;
	at = mc_now(g->machine) + guest_draw(g, &mean, NULL, &v->rng_residual);
	mc_timer_set(&v->residual, mc_timer_late(v->mv, at));
}
