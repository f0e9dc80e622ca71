/*
 * A guest's vCPU as the machine sees it: the callbacks of machine.h, and the segments of work.
 *
 * Laws: outside a callback a vCPU that can run has work or has been told to halt; a segment that
 * ends has released the global lock, unless an OP_LOCK took it; a task is never switched away
 * from while it waits for or holds the global lock or waits for answers to a call.
 */
#include <assert.h>

#include "guest/kernel.h"

void vcpu_segment(struct vcpu *v, int64_t work, int64_t hold)
{
	assert(work > 0 && hold >= 0 && v->curr);
	v->overhead = v->pending_overhead;
	v->pending_overhead = 0;
	v->segment = v->overhead + work;
	v->hold_end = v->overhead + (hold < work ? hold : work);
	v->doing = DO_COMPUTE;
	mc_work(v->mv, MC_COMPUTE, v->curr->cls, v->segment);
	if (v->lock == LOCK_HELD && !v->lock_explicit &&
	    (v->guest->spin.nr_waiting || v->need_resched))
		vcpu_segment_cut(v, v->hold_end);
}

int64_t vcpu_segment_done(const struct vcpu *v)
{
	assert(v->doing == DO_COMPUTE);
	return v->mv->kind == MC_COMPUTE ? v->segment - mc_work_left(v->mv) : v->segment;
}

void vcpu_segment_cut(struct vcpu *v, int64_t offset)
{
	int64_t done = vcpu_segment_done(v);

	if (offset >= v->segment || done >= offset)
		return;
	mc_work(v->mv, MC_COMPUTE, v->curr->cls, offset - done);
	v->segment = offset;
}

/* A distance never goes below zero: inside an OP_LOCK of the global lock it waits for its end. */
static int64_t left_after(int64_t distance, int64_t work)
{
	return distance > work ? distance - work : 0;
}

static void count_faults(struct guest *g, int64_t work, int32_t rate)
{
	/* A segment is at most some seconds long: 10^11 ns x 10^6 faults/s fit beside 10^15. */
	g->fault_units += work * rate;
	if (g->fault_units >= FAULT_UNIT * 1000000) {
		g->r.faults += (uint64_t)(g->fault_units / FAULT_UNIT);
		g->fault_units %= FAULT_UNIT;
	}
}

void vcpu_segment_end(struct vcpu *v)
{
	struct guest *g = v->guest;
	struct task *t = v->curr;
	int64_t done = vcpu_segment_done(v);
	int64_t work = done > v->overhead ? done - v->overhead : 0;

	assert(done >= 0 && done <= v->segment && work <= t->work_left);
	v->pending_overhead += v->overhead - (done - work);
	t->work_left -= work;
	g->r.work += work;
	if (t->bg) {
		t->to_lock = left_after(t->to_lock, work);
		t->to_partner = left_after(t->to_partner, work);
		t->to_shootdown = left_after(t->to_shootdown, work);
		count_faults(g, work, t->bg->fault_rate);
	}
	if (v->lock == LOCK_HELD && !v->lock_explicit)
		spin_release(v);
}

static void vcpu_halt(struct vcpu *v)
{
	v->doing = DO_IDLE;
	v->guest->r.halts++;
	mc_halt(v->mv);
}

/*
 * Nothing to run: what the kernel still owes and its way to the halt are work like any other, in
 * which a sibling is felt. Who is given a task meanwhile does not halt.
 */
static void vcpu_idle(struct vcpu *v)
{
	struct guest *g = v->guest;
	int64_t work;

	if (v->residual_due) {
		v->residual_due = false;
		g->r.residuals++;
		v->doing = DO_RESIDUAL;
		mc_work(v->mv, MC_COMPUTE, &g->kernel_class, g->p.residual_work);
		return;
	}
	residual_arm(v);
	work = g->p.idle_entry + v->pending_overhead;
	v->pending_overhead = 0;
	if (!work) {
		vcpu_halt(v);
		return;
	}
	v->doing = DO_ENTER;
	mc_work(v->mv, MC_COMPUTE, &g->kernel_class, work);
}

/* The guest kernel takes the vCPU off line: its tasks go elsewhere. */
static void vcpu_off(struct vcpu *v)
{
	struct task *t;

	v->going_off = false;
	sched_evacuate(v);
	while ((t = waitq_pop(&v->fired)))
		sched_wake(t, v);
	call_answer(v);
	v->doing = DO_IDLE;
	v->pending_overhead = 0;
	mc_work(v->mv, MC_POLL, &v->guest->kernel_class, MC_FOREVER);
	hv_vcpu_down(v->mv->hv);
}

static void schedule(struct vcpu *v)
{
	struct task *t;

	if (v->going_off) {
		vcpu_off(v);
		return;
	}
	while ((t = sched_pick(v))) {
		tick_arm(v);
		if (task_continue(v, t))
			return;
	}
	vcpu_idle(v);
}

static bool wants_switch(const struct vcpu *v)
{
	return v->going_off || (v->need_resched && v->queue);
}

/* Switch away from a task that runs or polls, now or at the end of its hold of the global lock. */
static void preempt(struct vcpu *v)
{
	struct task *t = v->curr;

	if (v->doing == DO_COMPUTE) {
		if (v->lock != LOCK_NOT && spin_inside(v)) {
			if (!v->lock_explicit)
				vcpu_segment_cut(v, v->hold_end);
			return;
		}
		vcpu_segment_end(v);
	} else if (!t->granted) {
		t->spin_left = mc_work_left(v->mv);
	}
	sched_requeue(v);
	schedule(v);
}

static void go_on(struct vcpu *v)
{
	if (v->lock == LOCK_NOT && wants_switch(v)) {
		sched_requeue(v);
		schedule(v);
	} else if (!task_continue(v, v->curr)) {
		schedule(v);
	}
}

static void work_done(struct mc_vcpu *mv)
{
	struct vcpu *v = mv->guest;

	switch (v->doing) {
	case DO_RESIDUAL:
		schedule(v);
		return;
	case DO_ENTER:
		if (v->queue || v->residual_due || v->going_off)
			schedule(v);
		else
			vcpu_halt(v);
		return;
	case DO_COMPUTE:
		vcpu_segment_end(v);
		break;
	case DO_SPIN:
		spin_work_done(v);
		if (v->lock != LOCK_HELD)
			return;
		break;
	case DO_CALL:
		assert(!v->acks);
		break;
	case DO_POLL:
		v->curr->spin_left = 0;
		break;
	case DO_IDLE: /* it halts or goes off line; nothing was asked for */
		assert(false && "an idle vCPU has completed work");
		return;
	}
	go_on(v);
}

static void handle_fired(struct vcpu *v)
{
	struct task *t;

	while ((t = waitq_pop(&v->fired)))
		sched_wake(t, v);
}

/* One that is off line has nothing to run: it polls until the hypervisor takes its pCPU. */
static void leave_idle(struct vcpu *v)
{
	assert(v->doing == DO_IDLE);
	if (v->online)
		schedule(v);
}

static void interrupt(struct mc_vcpu *mv, uint32_t bits)
{
	struct vcpu *v = mv->guest;

	if (bits & IRQ_CALL)
		call_answer(v);
	handle_fired(v);
	if (bits & IRQ_TICK)
		tick_interrupt(v);
	switch (v->doing) {
	case DO_IDLE:
		leave_idle(v);
		break;
	case DO_SPIN:
		if (mv->kind == MC_NONE)
			spin_resume(v);
		break;
	case DO_COMPUTE:
	case DO_POLL:
		if (wants_switch(v))
			preempt(v);
		break;
	case DO_RESIDUAL:
	case DO_ENTER:
	case DO_CALL:
		break;
	}
}

static void dispatched(struct mc_vcpu *mv)
{
	struct vcpu *v = mv->guest;

	if (mv->pending && mv->kind == MC_NONE)
		return; /* interrupt() comes next, and knows more */
	if (v->doing == DO_IDLE) {
		handle_fired(v);
		leave_idle(v);
	} else if (v->doing == DO_SPIN) {
		spin_resume(v);
	}
}

const struct mc_guest_ops guest_vcpu_ops = {
	.work_done = work_done,
	.interrupt = interrupt,
	.dispatched = dispatched,
	.descheduled = NULL,
};
