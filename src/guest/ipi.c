/*
 * Synchronous calls to other vCPUs (TLB shootdown), workloads section 1.4 and C16.
 *
 * The initiator asks every other vCPU that has a task loaded (an idle one has given up its
 * address space and need not answer) and spins, with interrupts on, until all have answered. A
 * running target answers when the interrupt arrives, a preempted one when it next runs.
 *
 * Law: v->acks is the number of bits in v->call_mask; v is in guest->callers exactly while it is
 * > 0.
 */
#include <assert.h>
#include <string.h>

#include "guest/kernel.h"

bool call_all(struct vcpu *v)
{
	struct guest *g = v->guest;

	assert(!v->acks);
	for (uint32_t i = 0; i < g->nr_vcpus; i++) {
		struct vcpu *to = &g->vcpu[i];

		if (to == v || !to->online || !to->curr)
			continue;
		v->call_mask[i / 64] |= 1ULL << (i % 64);
		v->acks++;
		/* One broadcast, which C16 pays for below: no exit per target. */
		mc_interrupt(to->mv, NULL, IRQ_CALL);
	}
	if (!v->acks)
		return false;
	g->r.shootdowns++;
	mc_charge(v->mv, g->cost->shootdown + v->acks * g->cost->shootdown_each, MC_CHARGE_USEFUL);
	v->doing = DO_CALL;
	v->call_next = g->callers;
	g->callers = v;
	mc_work(v->mv, MC_POLL, v->curr->cls, MC_FOREVER);
	return true;
}

void call_answer(struct vcpu *v)
{
	struct guest *g = v->guest;
	struct vcpu **at = &g->callers;

	while (*at) {
		struct vcpu *c = *at;
		uint64_t bit = 1ULL << (v->id % 64);

		if (c->call_mask[v->id / 64] & bit) {
			assert(c->acks > 0 && c->doing == DO_CALL);
			c->call_mask[v->id / 64] &= ~bit;
			c->acks--;
		}
		if (c->acks) {
			at = &c->call_next;
			continue;
		}
		*at = c->call_next;
		c->call_next = NULL;
		/* The last answer is seen after the time of one cache line transfer. */
		mc_work(c->mv, MC_POLL, c->curr->cls, g->p.handover);
	}
}
