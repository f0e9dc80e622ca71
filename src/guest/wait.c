/*
 * Waiting for others: semaphores, barriers, channels (workloads sections 1.1, 3.5, 3.6).
 *
 * A waiter polls for a while if its object says so, then sleeps; what it waits for is handed to
 * it. A sleeper of the same VM is woken by the guest scheduler, one of another VM by an event to
 * its vCPU. A poller sees it after the time of one cache line transfer, once its vCPU runs.
 *
 * Laws: a channel with waiting receivers is empty, one with waiting senders is full; a semaphore
 * with waiters is zero.
 */
#include <assert.h>

#include "guest/kernel.h"

void waitq_push(struct waitq *q, struct task *t)
{
	assert(!t->wait_link);
	if (q->head)
		q->tail->wait_link = t;
	else
		q->head = t;
	q->tail = t;
}

void waitq_push_front(struct waitq *q, struct task *t)
{
	assert(!t->wait_link);
	t->wait_link = q->head;
	if (!q->head)
		q->tail = t;
	q->head = t;
}

struct task *waitq_pop(struct waitq *q)
{
	struct task *t = q->head;

	if (t) {
		q->head = t->wait_link;
		t->wait_link = NULL;
	}
	return t;
}

bool task_wait(struct vcpu *v, struct task *t, int64_t spin)
{
	assert(v->curr == t);
	t->step = STEP_WAIT;
	t->granted = false;
	t->spin_left = spin;
	return task_wait_continue(v, t);
}

bool task_wait_continue(struct vcpu *v, struct task *t)
{
	assert(t->step == STEP_WAIT && !t->granted);
	if (t->spin_left <= 0) {
		sched_leave(v, TASK_ASLEEP);
		return false;
	}
	v->doing = DO_POLL;
	mc_work(v->mv, MC_POLL, t->cls, t->spin_left);
	return true;
}

void task_event(struct task *t, struct mc_vcpu *from)
{
	struct vcpu *v = t->vcpu->online ? t->vcpu : &t->guest->vcpu[0];

	assert(t->state == TASK_ASLEEP);
	if (t->guest->stopped)
		return;
	waitq_push(&v->fired, t);
	mc_interrupt(v->mv, from, IRQ_EVENT);
}

void task_grant(struct task *t, struct vcpu *from)
{
	struct vcpu *v = t->vcpu;

	assert(t->step == STEP_WAIT && !t->granted);
	t->granted = true;
	if (t->state == TASK_ASLEEP) {
		if (t->guest == from->guest)
			sched_wake(t, from);
		else
			task_event(t, from->mv);
	} else if (t->state == TASK_CURRENT && v->doing == DO_POLL) {
		mc_work(v->mv, MC_POLL, t->cls, t->guest->p.handover);
	}
}

bool semaphore_try(struct semaphore *s)
{
	if (s->count <= 0)
		return false;
	assert(!s->waiters.head);
	s->count--;
	return true;
}

bool semaphore_wait(struct vcpu *v, struct task *t, struct semaphore *s)
{
	if (semaphore_try(s))
		return true;
	waitq_push(&s->waiters, t);
	task_wait(v, t, 0);
	return false;
}

void semaphore_signal(struct vcpu *v, struct semaphore *s, int64_t n)
{
	assert(n >= 0);
	for (; n > 0 && s->waiters.head; n--)
		task_grant(waitq_pop(&s->waiters), v);
	s->count += n;
}

bool barrier_wait(struct vcpu *v, struct task *t, const struct op *op)
{
	const struct barrier_desc *d = &t->inst->w->barrier[op->arg];
	struct barrier *b = &t->inst->barrier[op->arg];

	assert(b->arrived < d->parties);
	if (++b->arrived < d->parties) {
		waitq_push(&b->waiters, t);
		task_wait(v, t, d->kind == BARRIER_SPIN ? d->spin : 0);
		return false;
	}
	b->arrived = 0;
	while (b->waiters.head)
		task_grant(waitq_pop(&b->waiters), v);
	return true;
}

/* The other VM has not been created yet: sleep, and do the op again when it is linked. */
static bool await_peer(struct vcpu *v, struct task *t, struct channel *c)
{
	assert(t->pc > 0);
	t->pc--;
	waitq_push(&c->senders, t);
	task_wait(v, t, 0);
	return false;
}

void channel_linked(struct channel *c)
{
	struct task *t;

	assert(c->real && c->real != c);
	while ((t = waitq_pop(&c->senders))) {
		t->granted = true;
		task_event(t, NULL);
	}
}

bool channel_send(struct vcpu *v, struct task *t, struct channel *c)
{
	struct channel *r = c->real;

	if (!r)
		return await_peer(v, t, c);
	if (r->receivers.head) {
		assert(!r->count);
		task_grant(waitq_pop(&r->receivers), v);
		return true;
	}
	if (r->count < r->desc->slots) {
		r->count++;
		return true;
	}
	waitq_push(&r->senders, t);
	task_wait(v, t, r->desc->poll);
	return false;
}

bool channel_recv(struct vcpu *v, struct task *t, struct channel *c)
{
	struct channel *r = c->real;

	if (!r)
		return await_peer(v, t, c);
	if (!r->count) {
		assert(!r->senders.head);
		waitq_push(&r->receivers, t);
		task_wait(v, t, r->desc->poll);
		return false;
	}
	if (r->senders.head)
		task_grant(waitq_pop(&r->senders), v); /* its item takes the slot */
	else
		r->count--;
	return true;
}
