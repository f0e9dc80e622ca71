/*
 * Sleeping locks, workloads section 1.3.
 *
 * Mutex and futex: FIFO with barging. An unlock frees the lock and wakes the first waiter, which
 * must take it when it runs; who comes by before may have it, and the waiter then waits at the
 * head again. A futex costs nothing without contention, and one system call each for wait and
 * wake with it. Read/write: strictly FIFO, handed over at unlock; neighbouring readers go
 * together.
 *
 * Law: a lock has an owner or readers, never both; a waiter exists only while the lock is taken
 * or a woken waiter is on its way.
 */
#include <assert.h>

#include "guest/kernel.h"

static struct sleep_lock *stripe_of(struct task *t, uint32_t lock, uint32_t *stripe)
{
	uint32_t count = t->inst->w->lock[lock].count;

	*stripe = count > 1 ? (uint32_t)mc_rng_below(&t->rng, count) : 0;
	return &t->inst->lock[lock][*stripe];
}

static void hold(struct task *t, uint32_t lock, uint32_t stripe)
{
	if (t->n_held == TASK_MAX_HELD) {
		guest_law(t->guest, "a task holds too many locks", t);
		return;
	}
	t->held[t->n_held].lock = lock;
	t->held[t->n_held].stripe = stripe;
	t->n_held++;
}

static void lock_sleep(struct vcpu *v, struct task *t, struct sleep_lock *l)
{
	const struct lock_desc *d = &t->inst->w->lock[t->held[t->n_held - 1].lock];

	t->guest->r.sleeping_contended++;
	t->want = l;
	t->granted = false;
	t->step = d->kind == LOCK_RW ? STEP_WAIT : STEP_LOCK;
	t->spin_left = 0;
	if (d->kind == LOCK_FUTEX)
		v->pending_overhead += t->guest->p.system_call;
	waitq_push(&l->waiters, t);
	sched_leave(v, TASK_ASLEEP);
}

bool mutex_lock(struct vcpu *v, struct task *t, const struct op *op)
{
	uint32_t lock = (uint32_t)op->arg, stripe;
	struct sleep_lock *l = stripe_of(t, lock, &stripe);
	bool rw = t->inst->w->lock[lock].kind == LOCK_RW;

	assert(l->owner != t);
	hold(t, lock, stripe);
	t->exclusive = op->kind == OP_LOCK;
	if (rw && !t->exclusive && !l->owner && !l->waiters.head) {
		l->readers++;
		return true;
	}
	if (t->exclusive && !l->owner && !l->readers && !(rw && l->waiters.head)) {
		l->owner = t;
		return true;
	}
	lock_sleep(v, t, l);
	return false;
}

bool mutex_retry(struct vcpu *v, struct task *t)
{
	struct sleep_lock *l = t->want;

	assert(t->step == STEP_LOCK && l);
	if (!l->owner) {
		l->owner = t;
		t->want = NULL;
		t->step = STEP_NEXT;
		return true;
	}
	waitq_push_front(&l->waiters, t);
	sched_leave(v, TASK_ASLEEP);
	return false;
}

static void rw_hand_over(struct vcpu *v, struct sleep_lock *l)
{
	while (l->waiters.head && !l->owner) {
		struct task *t = l->waiters.head;

		if (t->exclusive && l->readers)
			break;
		waitq_pop(&l->waiters);
		if (t->exclusive)
			l->owner = t;
		else
			l->readers++;
		t->want = NULL;
		task_grant(t, v);
	}
}

void mutex_unlock(struct vcpu *v, struct task *t, const struct op *op)
{
	const struct lock_desc *d = &t->inst->w->lock[op->arg];
	struct sleep_lock *l = NULL;
	uint32_t i = t->n_held;

	while (i > 0 && t->held[i - 1].lock != (uint32_t)op->arg)
		i--;
	if (!i) {
		guest_law(t->guest, "a task unlocks what it does not hold", t);
		return;
	}
	l = &t->inst->lock[op->arg][t->held[i - 1].stripe];
	for (t->n_held--; i <= t->n_held; i++)
		t->held[i - 1] = t->held[i];
	if (l->owner == t) {
		l->owner = NULL;
	} else {
		assert(l->readers > 0);
		l->readers--;
	}
	if (d->kind == LOCK_RW) {
		rw_hand_over(v, l);
	} else if (l->waiters.head) {
		if (d->kind == LOCK_FUTEX)
			v->pending_overhead += t->guest->p.system_call;
		sched_wake(waitq_pop(&l->waiters), v);
	}
}
