/*
 * The global spin lock as Linux has it since 4.2: a queued lock, paravirtual (pv-spinlock section
 * 9).
 *
 * Who finds the lock free takes it, even past a queue, unless the head of the queue is spinning
 * (`pending`). Who finds it taken by somebody and a queue whose head does not spin tries on, to
 * steal it; else he joins the queue. The head spins up to the limit with `pending` set, then
 * halts; the unlock that finds it halted kicks it, once. Other waiters spin up to the limit as
 * well, but halt early when the one before them has halted.
 *
 * So a halted or preempted waiter does not stop those that run, as it does with tickets; only a
 * head that is preempted while it spins does.
 *
 * Laws: `pending` is set only while there is a head that spins (or was preempted while it did);
 * with `pending` set and the lock free, the head has got it already (LOCK_GRANTED).
 */
#include <assert.h>

#include "guest/kernel.h"

static void push(struct vcpu **head, struct vcpu **tail, struct vcpu *v)
{
	v->lock_next = NULL;
	if (*head)
		(*tail)->lock_next = v;
	else
		*head = v;
	*tail = v;
}

static void unlink_stealer(struct spin *s, struct vcpu *v)
{
	struct vcpu *before = NULL, *at = s->steal_head;

	while (at != v) {
		assert(at);
		before = at;
		at = at->lock_next;
	}
	if (before)
		before->lock_next = v->lock_next;
	else
		s->steal_head = v->lock_next;
	if (s->steal_tail == v)
		s->steal_tail = before;
}

/* Nobody has it; a holder that has passed the end of its hold is forgotten. */
static bool is_free(struct spin *s)
{
	if (s->holder && !spin_inside(s->holder)) {
		s->holder->lock = LOCK_NOT;
		s->holder = NULL;
	}
	return !s->holder;
}

static void spin_for(struct vcpu *v, int64_t ns)
{
	v->doing = DO_SPIN;
	v->lock_halted = false;
	mc_work(v->mv, MC_SPIN, v->curr->cls, ns);
}

static void head_spins(struct vcpu *v);

static void join(struct vcpu *v)
{
	struct guest *g = v->guest;
	struct spin *s = &g->spin;
	struct vcpu *before = s->head ? s->tail : NULL;

	push(&s->head, &s->tail, v);
	v->lock_place = before ? LOCK_NODE : LOCK_HEAD;
	if (!before)
		head_spins(v);
	else
		spin_for(v, before->lock_halted ? g->p.early_halt : g->p.spin_limit);
}

/* Who tries to steal and runs sees that he may not any more; who does not run will see it. */
static void stealers_join(struct spin *s)
{
	struct vcpu *v = s->steal_head;

	while (v) {
		if (!mc_running(v->mv)) {
			v = v->lock_next;
			continue;
		}
		unlink_stealer(s, v);
		join(v);
		v = s->steal_head; /* joining may have moved others */
	}
}

static void head_spins(struct vcpu *v)
{
	struct spin *s = &v->guest->spin;

	assert(s->head == v && v->lock_place == LOCK_HEAD);
	s->pending = true;
	spin_for(v, v->guest->p.spin_limit);
	stealers_join(s);
}

static void leave_queue(struct vcpu *v)
{
	struct spin *s = &v->guest->spin;
	struct vcpu *next = v->lock_next;

	assert(s->head == v);
	s->head = next;
	s->pending = false;
	v->lock_next = NULL;
	if (!next) {
		stealers_join(s); /* the queue is empty: the first becomes its head */
		return;
	}
	next->lock_place = LOCK_HEAD;
	next->lock_kicked = false;
	if (!next->lock_halted && mc_running(next->mv))
		head_spins(next);
}

static void grant(struct vcpu *v)
{
	struct guest *g = v->guest;
	struct spin *s = &g->spin;

	assert(!s->holder && v->lock == LOCK_WAITING);
	s->holder = v;
	s->nr_waiting--;
	v->lock = LOCK_GRANTED;
	spin_for(v, g->p.handover);
	if (v->lock_place == LOCK_HEAD)
		leave_queue(v);
	else
		unlink_stealer(s, v);
	v->lock_place = LOCK_NOWHERE;
}

static void start_waiting(struct vcpu *v)
{
	struct spin *s = &v->guest->spin;

	v->guest->r.lock_contended++;
	v->lock = LOCK_WAITING;
	v->lock_next = NULL;
	s->nr_waiting++;
	if (s->holder && s->holder->doing == DO_COMPUTE && !s->holder->lock_explicit)
		vcpu_segment_cut(s->holder, s->holder->hold_end);
	if (s->head && !s->pending) {
		v->lock_place = LOCK_STEALER;
		push(&s->steal_head, &s->steal_tail, v);
		spin_for(v, MC_FOREVER);
	} else {
		join(v);
	}
}

bool queued_acquire(struct vcpu *v)
{
	struct spin *s = &v->guest->spin;

	assert(v->lock == LOCK_NOT && v->curr);
	v->guest->r.lock_visits++;
	if (is_free(s) && !s->pending) {
		s->holder = v;
		v->lock = LOCK_HELD;
		return true;
	}
	start_waiting(v);
	return false;
}

static void kick(struct vcpu *v, struct vcpu *from)
{
	const struct guest *g = v->guest;

	if (v->lock_kicked)
		return;
	v->lock_kicked = true;
	v->guest->r.lock_kicks++;
	mc_charge(from->mv, g->p.pv ? g->cost->hypercall_pv : g->cost->hypercall,
		  MC_CHARGE_HYPERVISOR);
	mc_interrupt(v->mv, NULL, IRQ_KICK);
}

void queued_release(struct vcpu *v)
{
	struct spin *s = &v->guest->spin;

	assert(s->holder == v && v->lock == LOCK_HELD);
	v->lock = LOCK_NOT;
	v->lock_explicit = false;
	s->holder = NULL;
	if (s->head && s->pending) {
		grant(s->head);
		return;
	}
	if (s->head && s->head->lock_halted)
		kick(s->head, v);
	for (struct vcpu *st = s->steal_head; st; st = st->lock_next) {
		if (mc_running(st->mv)) {
			grant(st);
			return;
		}
	}
}

void queued_work_done(struct vcpu *v)
{
	struct guest *g = v->guest;
	struct vcpu *next = v->lock_next;

	if (v->lock == LOCK_GRANTED) {
		v->lock = LOCK_HELD;
		return;
	}
	assert(v->lock == LOCK_WAITING && v->lock_place != LOCK_STEALER);
	if (v->lock_place == LOCK_HEAD)
		g->spin.pending = false;
	g->r.lock_halts++;
	v->lock_halted = true;
	v->lock_kicked = false;
	/* The one behind looks at us every 256 polls. */
	if (next && !next->lock_halted)
		spin_for(next, g->p.early_halt);
	mc_halt(v->mv);
}

/* It runs again, after a halt or after it was preempted while it spun. */
void queued_resume(struct vcpu *v)
{
	struct guest *g = v->guest;
	struct spin *s = &g->spin;
	bool halted = v->lock_halted;

	assert(v->doing == DO_SPIN);
	if (v->lock == LOCK_GRANTED)
		return;
	assert(v->lock == LOCK_WAITING);
	switch (v->lock_place) {
	case LOCK_HEAD:
		if (is_free(s))
			grant(v);
		else if (!s->pending)
			head_spins(v);
		break;
	case LOCK_NODE:
		if (halted)
			spin_for(v, g->p.spin_limit);
		break;
	case LOCK_STEALER:
		if (is_free(s) && !s->pending) {
			grant(v);
		} else if (s->pending || !s->head) {
			unlink_stealer(s, v);
			join(v);
		}
		break;
	case LOCK_NOWHERE:
		assert(false && "a waiter is nowhere");
	}
}
