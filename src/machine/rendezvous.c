/*
 * pCPUs that wait for their siblings, where several of them are scheduled as one (hardware-model
 * section 7): before a decision until all have arrived, and after it until all have saved.
 *
 * A pCPU that waits is in the hypervisor, and so is the time of the vCPU on it. What it waits for
 * happens in a sibling's call into the engine, so siblings look after each such call, at the same
 * instant: T = max over siblings (arrival) + C4 follows.
 *
 * Law: in MC_PCPU_WAIT nothing is due on the pCPU; requests are kept until it goes on.
 */
#include "machine/internal.h"

void mc_wait(struct mc_pcpu *pc, int64_t cost)
{
	struct mc_machine *m = pc->machine;

	MC_LAW(m, pc->state == MC_PCPU_RUN || pc->state == MC_PCPU_IDLE);
	if (pc->mv)
		mc_settle_vcpu(pc->mv);
	else
		mc_footprint(pc, NULL, MC_ONE);
	pc->overhead += cost; /* for the phase after the wait */
	pc->was_idle = pc->state == MC_PCPU_IDLE;
	pc->entering = false;
	pc->state = MC_PCPU_WAIT;
	mc_core_hold(pc, !pc->mv && hv_pcpu_wait(m->sys, pc->id) == HV_WAIT_ENTER);
	mc_set_mode(pc, OBSERVE_PCPU_HYPERVISOR);
	mc_queue_remove(&m->queue, &pc->ev);
}

/* What came up during the wait is to be handled now. */
static void handle_pending(struct mc_pcpu *pc)
{
	struct mc_machine *m = pc->machine;

	if (!pc->pending)
		return;
	pc->exit_paid = true;
	mc_queue_at(m, &pc->poke, m->now, pc->poke_order);
}

/* The wait is over, and the pCPU goes on with what it had. */
static void go_on(struct mc_pcpu *pc)
{
	struct mc_machine *m = pc->machine;
	int64_t cost = pc->overhead;

	pc->overhead = 0;
	if (pc->was_idle) {
		pc->state = MC_PCPU_IDLE;
		mc_footprint(pc, NULL, 0);
		mc_keep(pc, 0);
		handle_pending(pc);
		return;
	}
	mc_settle_vcpu(pc->mv);
	pc->state = MC_PCPU_RUN;
	mc_footprint(pc, pc->mv, mc_pressure_of(m, pc->mv));
	mc_keep(pc, cost + m->params.cost.exit);
}

bool mc_look(struct mc_pcpu *pc)
{
	struct mc_machine *m = pc->machine;
	enum hv_wait before = hv_pcpu_wait(m->sys, pc->id);
	struct hv_next next;
	int64_t cost;

	MC_LAW(m, pc->state == MC_PCPU_WAIT);
	mc_execute(m, pc->id, pc->id);
	next = hv_event(m->sys, pc->id, 0);
	mc_execute(m, HV_NO_PCPU, HV_NO_PCPU);
	switch (next.kind) {
	case HV_AGAIN:
		return hv_pcpu_wait(m->sys, pc->id) != before;
	case HV_SWITCH:
		cost = pc->overhead;
		pc->overhead = 0;
		mc_begin_switch(pc, next.to->idle ? NULL : next.to->host, cost);
		return true;
	default:
		if (pc->entering) {
			if (pc->mv)
				mc_settle_vcpu(pc->mv);
			mc_finish_switch(pc);
		} else {
			go_on(pc);
		}
		return true;
	}
}

void mc_look_around(struct mc_pcpu *pc)
{
	struct mc_machine *m = pc->machine;
	const struct hv_resource *r = hv_resource_of(m->sys, pc->id);
	bool again = r->g > 1;

	while (again) {
		again = false;
		hv_mask_for_each(c, &r->pcpus, m->nw)
		{
			/* Before all have arrived only a request of its own lets it go. */
			if (m->pcpu[c].state == MC_PCPU_WAIT &&
			    hv_pcpu_wait(m->sys, c) != HV_WAIT_ENTER)
				again |= mc_look(&m->pcpu[c]);
		}
	}
}
