/*
 * What should not happen: a vCPU that waits although an idle pCPU could run it, and a vCPU that
 * waits for longer than the limit.
 *
 * A pCPU counts as idle here while no request to it is pending: time on its way out of idle is
 * latency, not neglect. Law: idle_since of a vCPU is set exactly if it is runnable, not running,
 * and some idle pCPU is in its hard affinity and pool.
 */
#include "machine/internal.h"

#define STALL_PERIOD 100000000LL /* ns between looks at all vCPUs */

static bool idle_could_run(const struct mc_vcpu *mv)
{
	const struct mc_machine *m = mv->machine;
	const struct hv_mask *hard = &mv->hv->unit->hard;
	const struct hv_mask *valid = &mv->hv->domain->pool->res_valid;
	uint64_t any = 0;

	for (unsigned i = 0; i < m->nw; i++)
		any |= m->idle_mask.w[i] & hard->w[i] & valid->w[i];
	return any != 0;
}

static void begin(struct mc_vcpu *mv)
{
	mv->idle_since = mv->machine->now;
	mv->machine->nr_idle_wait++;
}

static void end(struct mc_vcpu *mv)
{
	struct mc_machine *m = mv->machine;

	if (m->observe && m->now > mv->idle_since)
		observe_idle_runnable(m->observe, mv->hv, mv->idle_since, m->now);
	mv->idle_since = -1;
	MC_LAW(m, m->nr_idle_wait > 0);
	m->nr_idle_wait--;
}

void mc_watch_runstate(struct mc_vcpu *mv, enum hv_runstate_kind to)
{
	struct mc_machine *m = mv->machine;

	if (m->closing)
		return;
	if (to == HV_RUNNABLE) {
		if (mv->wait_prev)
			return;
		mv->wait_prev = m->waiting_end;
		*m->waiting_end = mv;
		m->waiting_end = &mv->wait_next;
		mc_core_wait_begins(mv);
		if (idle_could_run(mv))
			begin(mv);
		return;
	}
	if (!mv->wait_prev)
		return;
	if (mv->idle_since >= 0)
		end(mv);
	*mv->wait_prev = mv->wait_next;
	if (mv->wait_next)
		mv->wait_next->wait_prev = mv->wait_prev;
	else
		m->waiting_end = mv->wait_prev;
	mv->wait_prev = NULL;
	mv->wait_next = NULL;
	mc_core_wait_ends(mv);
}

void mc_watch_idle(struct mc_pcpu *pc, bool idle)
{
	struct mc_machine *m = pc->machine;

	if (m->closing || hv_mask_test(&m->idle_mask, pc->id) == idle)
		return;
	if (idle) {
		hv_mask_set(&m->idle_mask, pc->id);
		for (struct mc_vcpu *mv = m->waiting; mv; mv = mv->wait_next) {
			if (mv->idle_since < 0 && hv_mask_test(&mv->hv->unit->hard, pc->id) &&
			    hv_mask_test(&mv->hv->domain->pool->res_valid, pc->id))
				begin(mv);
		}
		return;
	}
	hv_mask_clear(&m->idle_mask, pc->id);
	if (!m->nr_idle_wait)
		return;
	for (struct mc_vcpu *mv = m->waiting; mv; mv = mv->wait_next) {
		if (mv->idle_since >= 0 && !idle_could_run(mv))
			end(mv);
	}
}

void mc_watch_reshaped(struct mc_machine *m)
{
	mc_core_waits_anew(m);
	mc_watch_settle(m);
}

void mc_watch_settle(struct mc_machine *m)
{
	for (struct mc_vcpu *mv = m->waiting; mv; mv = mv->wait_next) {
		bool still = idle_could_run(mv); /* affinity may have changed since */

		if (mv->idle_since >= 0)
			end(mv);
		if (still)
			begin(mv);
	}
}

static void look_for_stall(struct mc_timer *t)
{
	struct mc_machine *m = t->machine;
	struct observe_stall s;

	if (observe_stalled(m->observe, m->now, m->params.stall_limit, &s)) {
		const struct observe_vcpu *v = observe_vcpu(m->observe, s.vcpu);

		mc_fail(m, MC_FAULT_STALL,
			"d%dv%u of %s was ready for %lld ns from %lld ns on without running "
			"(limit %lld ns)",
			v->domain, v->id, observe_domain(m->observe, v->group)->name,
			(long long)s.lasted, (long long)s.since, (long long)m->params.stall_limit);
		return;
	}
	mc_timer_set(t, m->now + STALL_PERIOD);
}

void mc_watch_start(struct mc_machine *m)
{
	if (!m->observe || !m->params.stall_limit)
		return;
	mc_timer_init(&m->stall_timer, m, MC_TIMER_SAMPLE, 0, look_for_stall, NULL);
	mc_timer_set(&m->stall_timer, m->now + STALL_PERIOD);
}
