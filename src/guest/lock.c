/*
 * The guest kernel's global spin lock: a ticket lock, plain or paravirtual, with or without
 * pause-loop exits (workloads section 1.3, hardware-model section 8, pv-spinlock sections 2-4).
 *
 * To keep events few, an uncontended holder does not say when it lets go: its segment starts with
 * the hold, and who wants the lock asks the machine how far the holder has come (spin_inside()).
 * Only when somebody waits is the holder's segment cut at the end of the hold, so that the
 * release becomes an event. A holder that was preempted inside its hold has not passed its end,
 * whatever the time: lock-holder preemption needs no code.
 *
 * Laws: waiters are served in order of arrival; with a waiter there is a holder; a waiter that
 * has been served (LOCK_GRANTED) is the holder, even if its vCPU does not run.
 */
#include <assert.h>

#include "guest/kernel.h"

bool spin_inside(const struct vcpu *v)
{
	if (v->lock_explicit || v->lock == LOCK_GRANTED)
		return true;
	return v->lock == LOCK_HELD &&
	       (v->doing != DO_COMPUTE || vcpu_segment_done(v) < v->hold_end);
}

static bool is_pv(const struct guest *g)
{
	return g->p.lock_variant == LOCK_PVTICKET || g->p.lock_variant == LOCK_PVTICKET_PLE;
}

static bool has_ple(const struct guest *g)
{
	return g->p.ple_window > 0 &&
	       (g->p.lock_variant == LOCK_TICKET_PLE || g->p.lock_variant == LOCK_PVTICKET_PLE);
}

/* Spin until the next thing that the waiter or the host does about it. */
static void spin_on(struct vcpu *v)
{
	const struct guest *g = v->guest;
	int64_t ns = v->spin_left;

	if (has_ple(g) && g->p.ple_window < ns)
		ns = g->p.ple_window;
	if (ns != MC_FOREVER && v->spin_left != MC_FOREVER)
		v->spin_left -= ns;
	mc_work(v->mv, MC_SPIN, v->curr->cls, ns);
}

static void spin_start(struct vcpu *v)
{
	v->spin_left = is_pv(v->guest) ? v->guest->p.spin_limit : MC_FOREVER;
	v->lock_halted = false;
	v->doing = DO_SPIN;
	spin_on(v);
}

bool spin_acquire(struct vcpu *v)
{
	struct spin *s = &v->guest->spin;

	if (v->guest->p.lock_variant == LOCK_PVQUEUED)
		return queued_acquire(v);
	assert(v->lock == LOCK_NOT && v->curr);
	v->guest->r.lock_visits++;
	if (s->holder && !s->head && !spin_inside(s->holder)) {
		s->holder->lock = LOCK_NOT; /* it has let go some time ago */
		s->holder = NULL;
	}
	if (!s->holder) {
		s->holder = v;
		v->lock = LOCK_HELD;
		return true;
	}
	assert(s->holder != v);
	v->guest->r.lock_contended++;
	v->lock = LOCK_WAITING;
	v->lock_next = NULL;
	if (s->head) {
		s->tail->lock_next = v;
	} else {
		s->head = v;
		if (s->holder->doing == DO_COMPUTE && !s->holder->lock_explicit)
			vcpu_segment_cut(s->holder, s->holder->hold_end);
	}
	s->tail = v;
	s->nr_waiting++;
	spin_start(v);
	return false;
}

void spin_release(struct vcpu *v)
{
	struct guest *g = v->guest;
	struct spin *s = &g->spin;
	struct vcpu *next = s->head;

	if (g->p.lock_variant == LOCK_PVQUEUED) {
		queued_release(v);
		return;
	}
	assert(s->holder == v && v->lock == LOCK_HELD);
	v->lock = LOCK_NOT;
	v->lock_explicit = false;
	s->holder = next;
	if (!next)
		return;
	assert(next->lock == LOCK_WAITING && next->doing == DO_SPIN);
	s->head = next->lock_next;
	s->nr_waiting--;
	next->lock_next = NULL;
	next->lock = LOCK_GRANTED;
	if (next->lock_halted) {
		g->r.lock_kicks++;
		mc_charge(v->mv, g->p.pv ? g->cost->hypercall_pv : g->cost->hypercall,
			  MC_CHARGE_HYPERVISOR);
		mc_interrupt(next->mv, NULL, IRQ_KICK);
	} else {
		mc_work(next->mv, MC_SPIN, next->curr->cls, g->p.handover);
	}
}

void spin_work_done(struct vcpu *v)
{
	struct guest *g = v->guest;

	assert(v->doing == DO_SPIN);
	if (g->p.lock_variant == LOCK_PVQUEUED) {
		queued_work_done(v);
		return;
	}
	if (v->lock == LOCK_GRANTED) {
		v->lock = LOCK_HELD;
		v->lock_halted = false;
		return;
	}
	assert(v->lock == LOCK_WAITING);
	if (v->spin_left > 0) { /* a pause-loop exit */
		spin_on(v);
		mc_charge(v->mv, g->cost->ple_handler, MC_CHARGE_HYPERVISOR);
		mc_yield(v->mv);
		return;
	}
	g->r.lock_halts++;
	v->lock_halted = true;
	mc_halt(v->mv);
}

/* It ran again after a halt, a yield or a preemption: served, kicked, or for another interrupt. */
void spin_resume(struct vcpu *v)
{
	assert(v->doing == DO_SPIN);
	if (v->guest->p.lock_variant == LOCK_PVQUEUED) {
		queued_resume(v);
		return;
	}
	if (v->mv->kind != MC_NONE)
		return; /* it spins on */
	if (v->lock == LOCK_GRANTED) {
		v->lock_halted = false;
		mc_work(v->mv, MC_SPIN, v->curr->cls, v->guest->p.handover);
	} else {
		assert(v->lock == LOCK_WAITING);
		spin_start(v);
	}
}
