/*
 * Pools and pCPUs that change while the machine runs (core-scheduling sections 4.3 to 4.5).
 *
 * The engine decides what may go and come; here follows what that means for the hardware. A pCPU
 * that went off line ran its idle vCPU and forgets what was raised on it; one that comes is idle.
 * One that waited for a sibling when their resource left its pool has nobody to wait for.
 */
#include "machine/internal.h"

static void power_off(struct mc_pcpu *pc)
{
	struct mc_machine *m = pc->machine;

	MC_LAW(m, !pc->mv);
	mc_queue_remove(&m->queue, &pc->poke);
	mc_queue_remove(&m->queue, &pc->ev);
	mc_watch_idle(pc, false);
	pc->pending = 0;
	pc->overhead = 0;
	pc->exit_paid = false;
	pc->entering = false;
	mc_core_hold(pc, false);
	mc_footprint(pc, NULL, 0);
	pc->state = MC_PCPU_OFFLINE;
	mc_set_mode(pc, OBSERVE_PCPU_OFFLINE);
}

static void power_on(struct mc_pcpu *pc)
{
	pc->state = MC_PCPU_IDLE;
	mc_enter_idle(pc);
}

void mc_reshaped(struct mc_machine *m)
{
	const struct hv_mask *online = hv_online_mask(m->sys);

	for (unsigned i = 0; i < m->params.nr_pcpus; i++) {
		bool up = hv_mask_test(online, i), was = m->pcpu[i].state != MC_PCPU_OFFLINE;

		if (was && !up)
			power_off(&m->pcpu[i]);
		else if (up && !was)
			power_on(&m->pcpu[i]);
		m->online[i] = up;
		if (m->pcpu[i].state == MC_PCPU_WAIT && hv_pcpu_wait(m->sys, i) == HV_WAIT_NONE)
			mc_look(&m->pcpu[i]);
	}
	mc_watch_reshaped(m);
}
