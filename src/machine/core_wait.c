/*
 * Which waits are due to core scheduling (docs/observe.md, "For the core or in the queue").
 *
 * With granularity core or socket a thread is *held* while core scheduling alone keeps it from
 * running somebody: it is forced idle beside a unit that runs on its siblings, or it has nothing
 * to run and waits for them before a decision. With granularity cpu it would run one of those that
 * wait and may use it, so it explains the wait of one: of the member whose own thread it is while
 * its unit runs there, else of the one that has waited longest. Every other wait is for the queue.
 *
 * Laws: a held thread explains at most one wait and a wait is explained by at most one thread, so
 * no more time is waited for core scheduling than threads are held; nobody waits in the queue who
 * may use a held thread that explains nothing (m->held).
 */
#include "machine/internal.h"

static bool may_use(const struct mc_vcpu *mv, const struct mc_pcpu *pc)
{
	unsigned master = hv_resource_of(mv->machine->sys, pc->id)->master;

	return hv_mask_test(&mv->hv->unit->hard, master) &&
	       hv_mask_test(&mv->hv->domain->pool->res_valid, master);
}

static void explain(struct mc_pcpu *pc, struct mc_vcpu *mv)
{
	MC_LAW(pc->machine, pc->held && !pc->would_run && !mv->would_run_on);
	pc->would_run = mv;
	mv->would_run_on = pc;
	hv_mask_clear(&pc->machine->held, pc->id);
}

static void forget(struct mc_pcpu *pc)
{
	MC_LAW(pc->machine, pc->would_run && pc->would_run->would_run_on == pc);
	pc->would_run->would_run_on = NULL;
	pc->would_run = NULL;
	if (pc->held)
		hv_mask_set(&pc->machine->held, pc->id);
}

static void tell(struct mc_vcpu *mv)
{
	struct mc_machine *m = mv->machine;

	if (m->observe)
		observe_core_wait(m->observe, mv->hv, m->now, mv->would_run_on != NULL);
}

/* Find a thread for one that waits. */
static void seek(struct mc_vcpu *mv)
{
	struct mc_machine *m = mv->machine;

	MC_LAW(m, !mv->would_run_on);
	hv_mask_for_each(c, &m->held, m->nw)
	{
		if (may_use(mv, &m->pcpu[c])) {
			explain(&m->pcpu[c], mv);
			return;
		}
	}
}

/* Find one that waits for a thread that explains nothing: the first of the list is the oldest. */
static void offer(struct mc_pcpu *pc)
{
	for (struct mc_vcpu *mv = pc->machine->waiting; mv; mv = mv->wait_next) {
		if (!mv->would_run_on && may_use(mv, pc)) {
			explain(pc, mv);
			tell(mv);
			return;
		}
	}
}

/* Its unit runs on a resource whose thread for it is held: the thread is its own. */
static struct mc_pcpu *own_thread(const struct mc_vcpu *mv)
{
	struct mc_pcpu *pc = &mv->machine->pcpu[mv->hv->pcpu];

	return mv->hv->unit->is_running && pc->held ? pc : NULL;
}

void mc_core_hold(struct mc_pcpu *pc, bool held)
{
	struct mc_vcpu *mv = pc->would_run;

	if (pc->held == held || pc->machine->closing)
		return;
	pc->held = held;
	if (held) {
		hv_mask_set(&pc->machine->held, pc->id);
		offer(pc);
		return;
	}
	hv_mask_clear(&pc->machine->held, pc->id);
	if (mv) {
		forget(pc);
		seek(mv);
		tell(mv);
	}
}

void mc_core_wait_begins(struct mc_vcpu *mv)
{
	struct mc_pcpu *own = own_thread(mv);
	struct mc_vcpu *other = own ? own->would_run : NULL;

	if (other)
		forget(own);
	if (own)
		explain(own, mv);
	else
		seek(mv);
	if (mv->would_run_on)
		tell(mv);
	if (other) {
		seek(other);
		tell(other);
	}
}

void mc_core_wait_ends(struct mc_vcpu *mv)
{
	struct mc_pcpu *pc = mv->would_run_on;

	if (!pc)
		return;
	forget(pc);
	tell(mv);
	offer(pc);
}

void mc_core_waits_anew(struct mc_machine *m)
{
	for (unsigned c = 0; c < m->params.nr_pcpus; c++) {
		if (m->pcpu[c].would_run)
			forget(&m->pcpu[c]);
	}
	for (struct mc_vcpu *mv = m->waiting; mv; mv = mv->wait_next) {
		struct mc_pcpu *own = own_thread(mv);

		if (own && !own->would_run)
			explain(own, mv);
	}
	for (struct mc_vcpu *mv = m->waiting; mv; mv = mv->wait_next) {
		if (!mv->would_run_on)
			seek(mv);
		tell(mv);
	}
}
