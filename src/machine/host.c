/*
 * The machine as the engine's host: requests and their latency, timers, wakes, the schedule pass
 * and the switch. Costs are those of hardware-model section 5; they are charged where they fall.
 *
 * A request to a pCPU ("poke") takes C6, and the idle exit if it sleeps; a request that is raised
 * while one is on its way merges with it. A pCPU in the hypervisor looks at its requests when it
 * leaves it. A switch costs C4 and what the hypervisor did before it; the entry into a guest costs
 * C1. A pass that keeps a running guest costs what brought the pCPU into the hypervisor: C1 for an
 * IPI, C10 for a timer.
 */
#include "machine/internal.h"

#include <stdlib.h>

/* ------------------------------------------------------------------ run-queue locks, section 7 */

/*
 * FIFO server: the time a taker waits at this moment. Policies do not report how many entities they
 * scanned, so one is assumed.
 */
static int64_t take_lock(struct mc_machine *m, const struct hv_lock *lock)
{
	hv_time *free;
	int64_t wait;

	if (!lock || lock->rank >= m->nr_locks)
		return 0;
	free = &m->lock_free[lock->rank];
	wait = *free > m->now ? *free - m->now : 0;
	*free = m->now + wait + m->params.lock_base + m->params.lock_per_entity;
	m->counters.lock_wait += wait;
	return wait;
}

/* ------------------------------------------------------------------ requests */

/*
 * How deep it sleeps is decided by how long it has been idle when the request is made; one whose
 * siblings run a guest sleeps lightly.
 */
static int64_t idle_exit(const struct mc_pcpu *pc)
{
	struct mc_machine *m = pc->machine;
	hv_time idle = hv_pcpu_urgent(m->sys, pc->id) ? 0 : m->now - pc->idle_since;

	return hw_idle_exit(&m->params, idle);
}

static void poke(void *ctx, unsigned pcpu, unsigned events)
{
	struct mc_machine *m = ctx;
	struct mc_pcpu *pc = &m->pcpu[pcpu];
	bool local = m->local_pcpu == pcpu;
	int64_t delay = local ? 0 : m->params.cost.ipi;
	/* One that waits for siblings looks all the time. */
	bool waits = pc->state == MC_PCPU_WAIT && events & HV_EVENT_SLAVE;
	bool merged = pc->pending != 0 && !waits;

	MC_LAW(m, pcpu < m->params.nr_pcpus && events);
	pc->pending |= events;
	if (merged || (local && pc->advancing))
		return;
	if (waits) {
		mc_queue_at(m, &pc->poke, m->now, pc->poke_order);
		return;
	}
	pc->exit_paid = false;
	if (!local)
		m->counters.ipis++;
	if (pc->state == MC_PCPU_IDLE) {
		mc_watch_idle(pc, false);
		delay += idle_exit(pc);
		pc->exit_paid = true;
	}
	if (m->waking) {
		if (m->params.cost.wake_scale != MC_ONE)
			delay = hw_mul(delay, m->params.cost.wake_scale);
		delay += m->params.cost.wake_extra;
	}
	mc_queue_at(m, &pc->poke, m->now + delay, pc->poke_order);
}

/* It is at work in its idle context: requests are kept until that is done. */
static bool is_at_work(const struct mc_pcpu *pc)
{
	return pc->state == MC_PCPU_IDLE && hv_work_ready(pc->machine->sys, pc->id);
}

void mc_idle_work(struct mc_machine *m, unsigned pcpu, bool pending)
{
	struct mc_pcpu *pc = &m->pcpu[pcpu];
	bool was = is_at_work(pc);
	unsigned kept = pc->pending;

	hv_work(m->sys, pcpu, pending);
	if (!was || pending || !kept)
		return;
	kept = pc->pending;
	pc->pending = 0;
	poke(m, pcpu, kept);
}

void mc_poke_arrived(struct mc_pcpu *pc)
{
	struct mc_machine *m = pc->machine;

	MC_LAW(m, pc->pending);
	switch (pc->state) {
	case MC_PCPU_IDLE:
		if (is_at_work(pc))
			return;
		if (!pc->exit_paid) {
			/* It was busy when asked and has gone idle since. */
			pc->exit_paid = true;
			mc_queue_at(m, &pc->poke, m->now + idle_exit(pc), pc->poke_order);
			return;
		}
		mc_pass(pc, 0);
		break;
	case MC_PCPU_RUN:
		mc_settle_vcpu(pc->mv);
		if (pc->mv->charge[MC_CHARGE_HYPERVISOR])
			return; /* in the hypervisor: it looks when it leaves */
		if (hv_resource_of(m->sys, pc->id)->g > 1)
			/* Its siblings wait until it is in the hypervisor. */
			mc_charge(pc->mv, m->params.cost.exit, MC_CHARGE_HYPERVISOR);
		else
			mc_pass(pc, m->params.cost.exit);
		break;
	case MC_PCPU_SWITCH:
		break; /* likewise */
	case MC_PCPU_WAIT:
		if (mc_look(pc))
			mc_look_around(pc);
		break;
	case MC_PCPU_OFFLINE:
		MC_LAW(m, pc->state != MC_PCPU_OFFLINE);
	}
}

/* ------------------------------------------------------------------ the schedule pass */

static int64_t entry_cost(const struct mc_machine *m)
{
	const struct mc_costs *c = &m->params.cost;

	return c->exit + (m->params.l1d != MC_L1D_OFF ? c->l1d_flush + c->l1d_refill : 0);
}

/* The pass lets the pCPU go on with what it has. */
void mc_keep(struct mc_pcpu *pc, int64_t cost)
{
	struct mc_machine *m = pc->machine;

	if (pc->state == MC_PCPU_RUN) {
		if (cost && m->params.l1d == MC_L1D_ALWAYS)
			cost += m->params.cost.l1d_flush + m->params.cost.l1d_refill;
		mc_charge(pc->mv, cost, MC_CHARGE_HYPERVISOR);
		return;
	}
	MC_LAW(m, pc->state == MC_PCPU_IDLE);
	mc_enter_idle(pc);
}

void mc_enter_idle(struct mc_pcpu *pc)
{
	struct mc_machine *m = pc->machine;
	bool forced = hv_pcpu_urgent(m->sys, pc->id);

	pc->idle_since = m->now;
	mc_set_mode(pc, forced ? OBSERVE_PCPU_FORCED_IDLE : OBSERVE_PCPU_IDLE);
	mc_core_hold(pc, forced);
	if (!pc->pending && !forced)
		mc_watch_idle(pc, true);
}

void mc_begin_switch(struct mc_pcpu *pc, struct mc_vcpu *to, int64_t cost)
{
	struct mc_machine *m = pc->machine;
	struct mc_vcpu *from = pc->mv;
	bool announced = from && from->place == MC_GUEST;

	if (from)
		mc_stop_running(from);
	pc->mv = to;
	pc->state = MC_PCPU_SWITCH;
	mc_core_hold(pc, false);
	if (to) {
		mc_start_running(to);
		to->pcpu = pc->id;
		if (m->params.ibpb_on)
			cost += m->params.cost.ibpb;
	}
	mc_set_mode(pc, OBSERVE_PCPU_HYPERVISOR);
	if (!from)
		mc_footprint(pc, NULL, MC_ONE); /* hypervisor code runs on this thread now */
	mc_queue_at(m, &pc->ev, m->now + cost + m->params.cost.vcpu_switch, pc->ev_order);
	m->counters.switches++;
	if (announced && from->ops->descheduled)
		from->ops->descheduled(from);
}

void mc_pass(struct mc_pcpu *pc, int64_t keep_cost)
{
	struct mc_machine *m = pc->machine;
	unsigned events = pc->pending;
	int64_t cost = pc->overhead;
	struct hv_next next;

	MC_LAW(m, pc->state == MC_PCPU_RUN || pc->state == MC_PCPU_IDLE);
	pc->pending = 0;
	pc->exit_paid = false;
	pc->overhead = 0;
	mc_queue_remove(&m->queue, &pc->poke);
	if (pc->state == MC_PCPU_IDLE)
		mc_watch_idle(pc, false);
	cost += take_lock(m, hv_resource_of(m->sys, pc->id)->lock);
	mc_execute(m, pc->id, pc->id);
	next = hv_event(m->sys, pc->id, events);
	mc_execute(m, HV_NO_PCPU, HV_NO_PCPU);
	m->counters.passes++;
	MC_LAW(m, (next.from->idle ? NULL : next.from->host) == pc->mv);
	if (next.kind == HV_KEEP)
		mc_keep(pc, cost + keep_cost);
	else if (next.kind == HV_AGAIN)
		mc_wait(pc, cost);
	else
		mc_begin_switch(pc, next.to->idle ? NULL : next.to->host, cost);
	mc_look_around(pc);
}

void mc_switched(struct mc_pcpu *pc)
{
	struct mc_machine *m = pc->machine;
	struct mc_vcpu *mv = pc->mv;
	enum hv_next_kind kind;

	MC_LAW(m, pc->state == MC_PCPU_SWITCH);
	if (mv)
		mc_settle_vcpu(mv);
	mc_execute(m, pc->id, pc->id);
	kind = hv_saved(m->sys, pc->id);
	mc_execute(m, HV_NO_PCPU, HV_NO_PCPU);
	if (kind == HV_AGAIN) {
		pc->entering = true;
		pc->state = MC_PCPU_WAIT;
	} else {
		mc_finish_switch(pc);
	}
	mc_look_around(pc);
}

void mc_finish_switch(struct mc_pcpu *pc)
{
	struct mc_machine *m = pc->machine;
	struct mc_vcpu *mv = pc->mv;

	pc->entering = false;
	if (mv) {
		pc->state = MC_PCPU_RUN;
		mv->entered = m->now;
		mv->fresh = true;
		mv->announce = true;
		mv->deliver = true;
		mv->charge[MC_CHARGE_HYPERVISOR] += entry_cost(m);
		mc_footprint(pc, mv, mc_pressure_of(m, mv));
	} else {
		pc->state = MC_PCPU_IDLE;
		mc_footprint(pc, NULL, 0);
	}
	if (pc->pending && !is_at_work(pc))
		mc_pass(pc, 0);
	else if (mv)
		mc_requeue(pc);
	else
		mc_enter_idle(pc);
}

void mc_wake(struct mc_vcpu *mv, struct mc_vcpu *from)
{
	struct mc_machine *m = mv->machine;
	int64_t wait = take_lock(m, mv->hv->unit->res->lock);

	if (from)
		mc_execute(m, from->pcpu, from->pcpu);
	else
		mc_execute(m, mv->hv->pcpu, HV_NO_PCPU);
	m->waking = true;
	hv_wake(mv->hv);
	m->waking = false;
	mc_execute(m, HV_NO_PCPU, HV_NO_PCPU);
	m->counters.wakes++;
	if (from && wait)
		mc_charge(from, wait, MC_CHARGE_HYPERVISOR);
}

/* ------------------------------------------------------------------ timers of the engine */

static uint32_t pcpu_of_timer(const struct mc_machine *m, const struct hv_timer *t)
{
	if (t->cls == HV_TIMER_SCHEDULE || t->cls == HV_TIMER_TICK)
		return t->number;
	return m->first_online;
}

/*
 * C11: a timer fires late by up to the slop, and timers that are due close to each other fire
 * together. Each pCPU looks at its timers on a grid of that period, shifted by a phase of its own,
 * so that pCPUs do not act in step.
 */
static hv_time with_slop(const struct mc_machine *m, uint32_t pcpu, hv_time at)
{
	int64_t slop = m->params.cost.timer_slop;
	int64_t phase;

	if (slop <= 1)
		return at;
	phase = (int64_t)((pcpu * 2654435761u) >> 8) % slop;
	if (at <= phase)
		return phase;
	return phase + (at - phase + slop - 1) / slop * slop;
}

hv_time mc_timer_late(const struct mc_vcpu *mv, hv_time at)
{
	return with_slop(mv->machine, mv->hv ? mv->hv->pcpu : 0, at);
}

int mc_timer_slots_grow(struct mc_machine *m)
{
	uint32_t n = m->nr_timer_slots;
	struct mc_engine_timer **slot;
	struct mc_engine_timer *block;

	slot = realloc(m->timer_slot, (n + MC_TIMER_BLOCK) * sizeof(struct mc_engine_timer *));
	if (!slot)
		return -HV_ENOMEM;
	m->timer_slot = slot;
	block = calloc(MC_TIMER_BLOCK, sizeof(*block));
	if (!block)
		return -HV_ENOMEM;
	for (uint32_t i = 0; i < MC_TIMER_BLOCK; i++) {
		block[i].ev.what = MC_OF_ENGINE;
		block[i].next_free = i + 1 < MC_TIMER_BLOCK ? n + i + 2 : m->free_timer;
		slot[n + i] = &block[i];
	}
	m->free_timer = n + 1;
	m->nr_timer_slots = n + MC_TIMER_BLOCK;
	return 0;
}

/* t->host[0]: number of its slot + 1 while armed. */
static void timer_arm(void *ctx, struct hv_timer *t)
{
	struct mc_machine *m = ctx;
	struct mc_engine_timer *slot;
	hv_time at = t->expiry > m->now ? t->expiry : m->now;
	uint32_t entity = (uint32_t)t->cls << 22 | (t->number & ((1u << 22) - 1));

	if (!t->host[0]) {
		if (!m->free_timer && mc_timer_slots_grow(m)) {
			mc_fail(m, MC_FAULT_MEMORY, "no memory for a timer");
			mc_law_broken(m, "memory for a timer", __FILE__, __LINE__);
		}
		t->host[0] = m->free_timer;
		slot = m->timer_slot[t->host[0] - 1];
		m->free_timer = slot->next_free;
		slot->timer = t;
	}
	slot = m->timer_slot[t->host[0] - 1];
	MC_LAW(m, slot->timer == t);
	mc_queue_at(m, &slot->ev, with_slop(m, pcpu_of_timer(m, t), at),
		    mc_event_order(MC_EV_SCHEDULER, entity));
}

static void release_slot(struct mc_machine *m, struct mc_engine_timer *slot)
{
	struct hv_timer *t = slot->timer;
	uint32_t number = (uint32_t)t->host[0];

	slot->timer = NULL;
	slot->next_free = m->free_timer;
	m->free_timer = number;
	t->host[0] = 0;
}

static void timer_disarm(void *ctx, struct hv_timer *t)
{
	struct mc_machine *m = ctx;

	if (!t->host[0])
		return;
	mc_queue_remove(&m->queue, &m->timer_slot[t->host[0] - 1]->ev);
	release_slot(m, m->timer_slot[t->host[0] - 1]);
}

void mc_engine_timer_fired(struct mc_machine *m, struct mc_engine_timer *slot)
{
	struct hv_timer *t = slot->timer;
	struct mc_pcpu *pc = &m->pcpu[pcpu_of_timer(m, t)];
	int64_t cost = m->params.cost.host_timer;

	release_slot(m, slot);
	m->counters.timers++;
	mc_execute(m, pc->id, pc->id);
	hv_timer_fire(t);
	mc_execute(m, HV_NO_PCPU, HV_NO_PCPU);
	if (pc->state != MC_PCPU_RUN)
		return; /* an idle pCPU has the time; a switch under way hides it */
	mc_settle_vcpu(pc->mv);
	if (!pc->pending || pc->mv->charge[MC_CHARGE_HYPERVISOR]) {
		mc_charge(pc->mv, cost, MC_CHARGE_HYPERVISOR);
		return;
	}
	pc->overhead += cost;
	mc_pass(pc, 0);
}

/* ------------------------------------------------------------------ the rest of the host */

static hv_time host_now(void *ctx)
{
	return ((struct mc_machine *)ctx)->now;
}

static unsigned host_this_pcpu(void *ctx)
{
	return ((struct mc_machine *)ctx)->this_pcpu;
}

static void *host_alloc(void *ctx, size_t size)
{
	struct mc_machine *m = ctx;
	struct mc_block *b = calloc(1, sizeof(*b) + size);

	if (!b)
		return NULL;
	b->next = m->blocks;
	b->prev = &m->blocks;
	if (b->next)
		b->next->prev = &b->next;
	m->blocks = b;
	return b->data;
}

static void host_free(void *ctx, void *p, size_t size)
{
	struct mc_block *b;

	(void)ctx;
	(void)size;
	if (!p)
		return;
	b = (struct mc_block *)((char *)p - offsetof(struct mc_block, data));
	*b->prev = b->next;
	if (b->next)
		b->next->prev = b->prev;
	free(b);
}

static void host_trace(void *ctx, const struct hv_trace *ev)
{
	struct mc_machine *m = ctx;

	if (m->observe)
		observe_trace(m->observe, ev);
	if (ev->kind == HV_TRACE_RUNSTATE && !ev->vcpu->idle && ev->vcpu->host)
		mc_watch_runstate(ev->vcpu->host, (enum hv_runstate_kind)ev->b);
	/* The runstate of one that a policy parks, or lets go, follows later. */
	if (ev->kind == HV_TRACE_PAUSE && ev->vcpu->host &&
	    (ev->vcpu->runstate.state == HV_RUNNABLE || ev->vcpu->runstate.state == HV_OFFLINE))
		mc_watch_runstate(ev->vcpu->host, ev->a || ev->b ? HV_OFFLINE : HV_RUNNABLE);
	if (m->trace)
		m->trace(m->trace_ctx, ev);
}

static void host_assert_failed(void *ctx, const char *expr, const char *file, int line)
{
	mc_law_broken(ctx, expr, file, line);
}

const struct hv_host mc_host = {
	.now = host_now,
	.this_pcpu = host_this_pcpu,
	.poke = poke,
	.timer_arm = timer_arm,
	.timer_disarm = timer_disarm,
	.alloc = host_alloc,
	.free = host_free,
	.trace = host_trace,
	.assert_failed = host_assert_failed,
};
