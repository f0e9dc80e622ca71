/*
 * Sleeps on timers, and I/O (workloads section 1.1 and 1.4).
 *
 * A device serves a request in latency + bytes / rate, `slots` requests at once, the rest in
 * order of arrival. The end of a sleep or of a request is an interrupt to the vCPU on which the
 * task slept, and that vCPU wakes the task. A timer is programmed with an exit (C1) and fires
 * late (C11); a request is a kick of the device model or backend (one hypercall).
 */
#include <assert.h>

#include "guest/kernel.h"

#define NS_PER_S 1000000000LL

static void serve(struct task *t)
{
	struct mc_machine *m = t->guest->machine;

	t->device->busy++;
	mc_timer_set(&t->timer, mc_now(m) + t->io_time);
}

static void timer_fn(struct mc_timer *timer)
{
	struct task *t = timer->data;
	struct device *d = t->device;

	assert(t->state == TASK_ASLEEP && t->step == STEP_WAIT);
	if (d) {
		assert(d->busy > 0);
		d->busy--;
		t->device = NULL;
		if (d->waiters.head)
			serve(waitq_pop(&d->waiters));
	}
	t->granted = true;
	task_event(t, NULL);
}

void task_timer_init(struct task *t, uint32_t entity)
{
	mc_timer_init(&t->timer, t->guest->machine, MC_TIMER_WAKE, entity, timer_fn, t);
}

void task_sleep(struct vcpu *v, struct task *t, int64_t ns)
{
	struct guest *g = t->guest;

	assert(v->curr == t && ns >= 0);
	mc_charge(v->mv, g->cost->exit, MC_CHARGE_HYPERVISOR);
	mc_timer_set(&t->timer, mc_timer_late(v->mv, mc_now(g->machine) + ns));
	task_wait(v, t, 0);
}

void task_io(struct vcpu *v, struct task *t, const struct op *op, int64_t bytes)
{
	struct guest *g = t->guest;
	const struct device_desc *desc = &t->inst->w->device[op->arg];
	struct device *d = &t->inst->device[op->arg];

	assert(v->curr == t && bytes >= 0);
	g->r.ios++;
	mc_charge(v->mv, g->p.pv ? g->cost->hypercall_pv : g->cost->hypercall,
		  MC_CHARGE_HYPERVISOR);
	t->io_time = guest_draw(g, &desc->latency, t->reg, &t->rng);
	if (desc->rate) /* split: bytes x 10^9 may not fit */
		t->io_time += bytes / desc->rate * NS_PER_S +
			      (int64_t)((__int128)(bytes % desc->rate) * NS_PER_S / desc->rate);
	t->device = d;
	if (desc->slots && d->busy == desc->slots)
		waitq_push(&d->waiters, t);
	else
		serve(t);
	task_wait(v, t, 0);
}
