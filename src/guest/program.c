/*
 * The interpreter of programs: takes the current task of a vCPU from op to op until one needs time.
 *
 * Computing is cut into segments at the points where the kernel acts on the task's behalf: visits
 * to the global lock, turns of a partner, shootdowns (workloads section 3.1). The distances are
 * exponential in work, so they do not depend on how the host schedules. A partner's turn: the
 * task sleeps while another task does a small part of its work, as processes on a pipe do.
 *
 * Law: the work of an OP_COMPUTE is done exactly once, by the task and its partner together.
 */
#include <assert.h>

#include "guest/kernel.h"

#define NS_PER_S       1000000000LL
#define MAX_IDLE_STEPS 1000000 /* ops without time before a program counts as stuck */

enum outcome {
	GOES_ON, /* the next op can be fetched */
	BUSY,	 /* the vCPU has work */
	LEFT,	 /* the task has left the vCPU */
};

/* Distance to the next of events that come `rate` times per second of work, `length` long each. */
static int64_t distance(struct guest *g, int32_t rate, int64_t length, struct mc_rng *rng)
{
	struct amount a = {AMOUNT_EXP, 0, 0};

	if (!rate)
		return INT64_MAX;
	a.a = NS_PER_S / rate - length;
	if (a.a < 1)
		a.a = 1;
	return guest_draw(g, &a, NULL, rng);
}

static void draw_distances(struct task *t)
{
	const struct background *bg = t->bg;
	struct guest *g = t->guest;

	t->drawn = bg;
	t->to_lock = distance(g, bg->lock_rate, bg->lock_hold, &t->rng_lock);
	t->to_partner = distance(g, bg->partner_rate, 0, &t->rng_partner);
	t->to_shootdown = distance(g, bg->shootdown_rate, 0, &t->rng_shootdown);
}

/* Sleep until the partner has done a part of the work. */
static enum outcome partner_turn(struct vcpu *v, struct task *t)
{
	const struct background *bg = t->bg;
	struct task *p = t->partner;
	int64_t work = guest_draw(t->guest, &bg->partner_work, NULL, &t->rng_partner);

	t->to_partner = distance(t->guest, bg->partner_rate, 0, &t->rng_partner);
	if (work > t->work_left)
		work = t->work_left;
	if (!work)
		return GOES_ON;
	assert(p && p->state == TASK_ASLEEP);
	t->work_left -= work;
	p->work_left = work;
	p->bg = &t->inst->partner_bg[bg - t->inst->w->background];
	p->cls = t->cls;
	p->step = STEP_COMPUTE;
	sched_wake(p, v);
	sched_leave(v, TASK_ASLEEP);
	return LEFT;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static enum outcome compute(struct vcpu *v, struct task *t)
{
	const struct background *bg = t->bg;
	int64_t hold = 0;

	if (!t->work_left) {
		t->step = STEP_NEXT;
		return GOES_ON;
	}
	if (!bg || v->lock_explicit) { /* inside a spin lock nothing else happens */
		vcpu_segment(v, t->work_left, 0);
		return BUSY;
	}
	if (t->drawn != bg)
		draw_distances(t);
	if (!t->to_partner)
		return partner_turn(v, t);
	if (!t->to_shootdown) {
		assert(v->lock == LOCK_NOT);
		t->to_shootdown = distance(t->guest, bg->shootdown_rate, 0, &t->rng_shootdown);
		return call_all(v) ? BUSY : GOES_ON;
	}
	if (!t->to_lock) {
		if (v->lock == LOCK_NOT && !spin_acquire(v))
			return BUSY;
		hold = bg->lock_hold;
		t->to_lock = hold + distance(t->guest, bg->lock_rate, hold, &t->rng_lock);
		/* Nobody sleeps or asks others while holding a spin lock. */
		if (t->to_partner < hold)
			t->to_partner = hold;
		if (t->to_shootdown < hold)
			t->to_shootdown = hold;
	}
	vcpu_segment(v,
		     least(least(t->work_left, t->to_lock), least(t->to_partner, t->to_shootdown)),
		     hold);
	return BUSY;
}

static enum outcome start_compute(struct vcpu *v, struct task *t, const struct op *op)
{
	int64_t work = guest_draw(t->guest, &op->amount, t->reg, &t->rng);

	t->bg = op->arg < 0 ? NULL : &t->inst->w->background[op->arg];
	if (t->bg) /* work in s x faults per s x cost */
		work += (int64_t)((__int128)work * t->bg->fault_rate * t->bg->fault_cost /
				  NS_PER_S);
	t->work_left = work;
	t->step = STEP_COMPUTE;
	return compute(v, t);
}

static enum outcome waits(struct task *t)
{
	return t->state == TASK_CURRENT ? BUSY : LEFT;
}

static enum outcome lock_op(struct vcpu *v, struct task *t, const struct op *op)
{
	if (t->inst->w->lock[op->arg].kind != LOCK_SPIN_GLOBAL)
		return mutex_lock(v, t, op) ? GOES_ON : LEFT;
	if (v->lock != LOCK_NOT) {
		guest_law(t->guest, "a task takes the global lock twice", t);
		return GOES_ON;
	}
	t->step = STEP_SPIN;
	return spin_acquire(v) ? GOES_ON : BUSY;
}

static void unlock_op(struct vcpu *v, struct task *t, const struct op *op)
{
	if (t->inst->w->lock[op->arg].kind != LOCK_SPIN_GLOBAL) {
		mutex_unlock(v, t, op);
		return;
	}
	if (!v->lock_explicit) {
		guest_law(t->guest, "a task unlocks what it does not hold", t);
		return;
	}
	spin_release(v);
}

/* Ops that only steer the program. */
static void control(struct task *t, const struct op *op)
{
	int64_t n;

	switch (op->kind) {
	case OP_LOOP:
	case OP_FOREVER:
		n = op->kind == OP_FOREVER ? INT64_MAX
					   : guest_draw(t->guest, &op->amount, t->reg, &t->rng);
		if (n <= 0) {
			t->pc = op->target;
			break;
		}
		assert(t->depth < PROGRAM_MAX_NEST);
		t->loop[t->depth++] = n;
		break;
	case OP_END:
		assert(t->depth > 0);
		if (--t->loop[t->depth - 1] > 0)
			t->pc = op->target;
		else
			t->depth--;
		break;
	case OP_CHANCE:
		if (mc_rng_below(&t->rng, PROGRAM_ONE) >= (uint64_t)op->arg)
			t->pc = op->target;
		break;
	case OP_TRY:
		if (semaphore_try(&t->inst->semaphore[op->arg]))
			t->pc = op->target;
		break;
	case OP_DRAW:
		t->reg[op->reg] = guest_draw(t->guest, &op->amount, t->reg, &t->rng);
		break;
	default:
		t->pc = t->program->n_ops; /* OP_EXIT */
	}
}

static enum outcome execute(struct vcpu *v, struct task *t, const struct op *op)
{
	struct instance *in = t->inst;
	struct guest *g = t->guest;

	switch (op->kind) {
	case OP_COMPUTE:
		return start_compute(v, t, op);
	case OP_SLEEP:
		task_sleep(v, t, guest_draw(g, &op->amount, t->reg, &t->rng));
		return LEFT;
	case OP_IO:
		task_io(v, t, op, guest_draw(g, &op->amount, t->reg, &t->rng));
		return LEFT;
	case OP_LOCK:
	case OP_LOCK_SHARED:
		return lock_op(v, t, op);
	case OP_UNLOCK:
		unlock_op(v, t, op);
		return GOES_ON;
	case OP_WAIT:
		return semaphore_wait(v, t, &in->semaphore[op->arg]) ? GOES_ON : LEFT;
	case OP_SIGNAL:
		semaphore_signal(v, &in->semaphore[op->arg],
				 guest_draw(g, &op->amount, t->reg, &t->rng));
		return GOES_ON;
	case OP_BARRIER:
		return barrier_wait(v, t, op) ? GOES_ON : waits(t);
	case OP_SEND:
		return channel_send(v, t, &in->channel[op->arg]) ? GOES_ON : waits(t);
	case OP_RECV:
		return channel_recv(v, t, &in->channel[op->arg]) ? GOES_ON : waits(t);
	case OP_CLOCK: /* guest kernel work, done in front of what comes next */
		v->pending_overhead +=
			g->cost->clock_read * guest_draw(g, &op->amount, t->reg, &t->rng);
		return GOES_ON;
	case OP_SHOOTDOWN:
		return call_all(v) ? BUSY : GOES_ON;
	case OP_FORK:
		pool_fork(v, t, &in->pool[op->arg]);
		return GOES_ON;
	case OP_JOIN:
		return pool_join(v, t, &in->pool[op->arg]) ? GOES_ON : LEFT;
	case OP_COUNT:
		if (in->first)
			g->r.count += guest_draw(g, &op->amount, t->reg, &t->rng);
		return GOES_ON;
	case OP_DONE:
		in->runs++;
		t->had_done = true;
		if (in->first)
			guest_run_done(g);
		return GOES_ON;
	default:
		control(t, op);
		return GOES_ON;
	}
}

void task_begin(struct task *t)
{
	t->pc = 0;
	t->depth = 0;
	t->had_done = false;
	t->step = STEP_NEXT;
	for (unsigned i = 0; i < PROGRAM_REGS; i++)
		t->reg[i] = 0;
}

/* The program is at its end. */
static enum outcome finish(struct vcpu *v, struct task *t)
{
	const struct instance *in = t->inst;

	if (t->kind == TASK_WORKER) {
		if (t->job != UINT32_MAX)
			pool_job_done(v, t);
		t->job = UINT32_MAX;
		return pool_next_job(v, t) ? GOES_ON : LEFT;
	}
	if (t->kind == TASK_PARTNER) {
		sched_wake(t->partner, v);
		sched_leave(v, TASK_ASLEEP);
		return LEFT;
	}
	if (t->had_done && (!in->w->runs || in->runs < in->w->runs)) {
		task_begin(t);
		return GOES_ON;
	}
	sched_leave(v, TASK_ENDED);
	return LEFT;
}

static enum outcome advance(struct vcpu *v, struct task *t)
{
	switch (t->step) {
	case STEP_COMPUTE:
		return compute(v, t);
	case STEP_WAIT:
		if (!t->granted)
			return task_wait_continue(v, t) ? BUSY : LEFT;
		t->step = STEP_NEXT;
		return GOES_ON;
	case STEP_LOCK:
		return mutex_retry(v, t) ? GOES_ON : LEFT;
	case STEP_SPIN:
		assert(v->lock == LOCK_HELD);
		v->lock_explicit = true;
		t->step = STEP_NEXT;
		return GOES_ON;
	case STEP_NEXT:
		break;
	}
	if (t->kind == TASK_PARTNER || t->pc >= t->program->n_ops)
		return finish(v, t);
	return execute(v, t, &t->program->op[t->pc++]);
}

bool task_continue(struct vcpu *v, struct task *t)
{
	assert(v->curr == t && t->state == TASK_CURRENT);
	for (unsigned i = 0; i < MAX_IDLE_STEPS; i++) {
		enum outcome o = advance(v, t);

		assert((o == LEFT) == (v->curr != t));
		if (o != GOES_ON)
			return o == BUSY;
	}
	guest_law(t->guest, "a program makes no progress: its loop has no op that takes time", t);
	v->doing = DO_POLL;
	mc_work(v->mv, MC_POLL, t->cls, MC_FOREVER);
	return true;
}
