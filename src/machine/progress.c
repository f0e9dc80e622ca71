/*
 * Progress of running vCPUs: settling of work and ledger, charges, callbacks to the guest.
 *
 * A vCPU on a pCPU pays in this order, one ns at a time: the switch to it, its hypervisor charges,
 * its guest charges, then it works. mc_settle_vcpu() is the only place where work and running time
 * move; it gives every ns to one category of the ledger (docs/model.md, "Where a nanosecond goes").
 *
 * Laws: the split of a stretch sums to the stretch; a change of pace settles first (hardware-model
 * 1); settling at other times changes no outcome: the remainder of the division by the pace is
 * carried.
 */
#include "machine/internal.h"

#include <string.h>

/* Callbacks in one go without time passing: more is a guest that loops. */
#define MAX_CALLBACKS 1000000

static struct mc_pcpu *pcpu_of(const struct mc_vcpu *mv)
{
	return mv->place == MC_OFF ? NULL : &mv->machine->pcpu[mv->pcpu];
}

static int64_t take(int64_t *from, int64_t most)
{
	int64_t n = *from < most ? *from : most;

	*from -= n;
	return n;
}

/* Split what was settled since the last time. Before its loss_smt changes. */
void mc_book(struct mc_vcpu *mv)
{
	struct hw_split s;

	hw_split(&s, mv->acc_wall, mv->acc_done, mv->acc_cold, mv->machine->params.cold_share,
		 mv->loss_smt, mv->acc_memory);
	mv->run_ns[OBSERVE_USEFUL] += s.useful;
	mv->run_ns[OBSERVE_SMT] += s.smt;
	mv->run_ns[OBSERVE_COLD] += s.cold;
	mv->run_ns[OBSERVE_MEMORY] += s.memory;
	mv->acc_wall = mv->acc_cold = mv->acc_done = 0;
	mv->acc_memory = false;
}

/*
 * delta ns of MC_COMPUTE. A cold ns is worth 1 - g of a warm one, which is a pace of P / (1 - g).
 * What is left of the division by the pace is carried, so that it does not matter how often work is
 * settled.
 */
static void settle_compute(struct mc_vcpu *mv, int64_t delta)
{
	int64_t cold = mv->cold < delta ? mv->cold : delta;
	int64_t done;

	mv->cold -= cold;
	mv->acc_cold += cold;
	mv->acc_wall += delta;
	mv->acc_memory |= mv->loss_memory != 0;
	if (mv->pace == MC_ONE && !cold && !mv->carry) {
		done = delta;
	} else if (delta < 1LL << 42) {
		int64_t worth = (delta << 20) - cold * mv->machine->params.cold_share + mv->carry;

		done = worth / mv->pace;
		mv->carry = worth - done * mv->pace;
	} else {
		__int128 worth = ((__int128)delta << 20) + mv->carry -
				 (__int128)cold * mv->machine->params.cold_share;

		done = (int64_t)(worth / mv->pace);
		mv->carry = (int64_t)(worth - (__int128)done * mv->pace);
	}
	if (mv->left != MC_FOREVER) {
		if (done >= mv->left) {
			done = mv->left;
			mv->carry = 0;
		}
		mv->left -= done;
	}
	mv->acc_done += done;
}

/* Charges first, in this order; returns what is left of delta. */
static int64_t pay_charges(struct mc_vcpu *mv, int64_t delta)
{
	static const enum observe_time category[] = {
		[MC_CHARGE_HYPERVISOR] = OBSERVE_HYPERVISOR,
		[MC_CHARGE_USEFUL] = OBSERVE_USEFUL,
		[MC_CHARGE_SPIN] = OBSERVE_SPIN,
	};

	for (unsigned i = 0; i < sizeof(category) / sizeof(category[0]); i++) {
		int64_t paid = take(&mv->charge[i], delta);

		mv->run_ns[category[i]] += paid;
		delta -= paid;
	}
	return delta;
}

void mc_settle_vcpu(struct mc_vcpu *mv)
{
	struct mc_machine *m = mv->machine;
	const struct mc_pcpu *pc = &m->pcpu[mv->pcpu];
	int64_t delta = m->now - mv->start;

	MC_LAW(m, delta >= 0 && mv->place != MC_OFF);
	if (!delta)
		return;
	mv->start = m->now;
	if (pc->state == MC_PCPU_SWITCH || pc->state == MC_PCPU_WAIT) {
		mv->run_ns[OBSERVE_HYPERVISOR] += delta;
		return;
	}
	if (mv->charge[MC_CHARGE_HYPERVISOR] | mv->charge[MC_CHARGE_USEFUL] |
	    mv->charge[MC_CHARGE_SPIN]) {
		delta = pay_charges(mv, delta);
		if (!delta)
			return;
	}
	MC_LAW(m, mv->kind != MC_NONE);
	if (mv->kind == MC_COMPUTE) {
		settle_compute(mv, delta);
		return;
	}
	mv->run_ns[OBSERVE_SPIN] += delta;
	if (mv->left != MC_FOREVER)
		mv->left -= delta;
	MC_LAW(m, mv->left >= 0);
}

/* Wall ns until its work is done; MC_FOREVER = never. */
static int64_t phase_length(const struct mc_vcpu *mv)
{
	int64_t wall = mv->left;

	if (mv->left == MC_FOREVER)
		return MC_FOREVER;
	if (mv->kind == MC_COMPUTE) {
		int64_t rate = MC_ONE - mv->machine->params.cold_share; /* while cold */
		__int128 need = (__int128)mv->left * mv->pace - mv->carry;
		__int128 cold = (__int128)mv->cold * rate;

		if (need <= 0)
			wall = 0;
		else if (need > cold)
			wall = mv->cold + (int64_t)((need - cold + (MC_ONE - 1)) >> 20);
		else
			wall = ((int64_t)need + rate - 1) / rate;
	}
	return wall + mv->charge[MC_CHARGE_USEFUL] + mv->charge[MC_CHARGE_SPIN];
}

/* A guest that halts or yields pays all that it owes first, its own kernel's work included. */
static int64_t before_leaving(const struct mc_vcpu *mv)
{
	return mv->leaving == MC_STAY ? 0
				      : mv->charge[MC_CHARGE_USEFUL] + mv->charge[MC_CHARGE_SPIN];
}

/* Something is to be done for it now, not at the end of its work. */
static bool due_now(const struct mc_pcpu *pc, const struct mc_vcpu *mv)
{
	return pc->pending || mv->announce || mv->leaving != MC_STAY ||
	       (mv->pending && mv->deliver) || mv->kind == MC_NONE;
}

void mc_requeue(struct mc_pcpu *pc)
{
	struct mc_machine *m = pc->machine;
	struct mc_vcpu *mv = pc->mv;
	int64_t wall;

	if (pc->advancing || pc->state != MC_PCPU_RUN)
		return;
	MC_LAW(m, mv->start == m->now);
	if (mv->charge[MC_CHARGE_HYPERVISOR]) {
		mc_set_mode(pc, OBSERVE_PCPU_HYPERVISOR);
		mc_queue_at(m, &pc->ev, m->now + mv->charge[MC_CHARGE_HYPERVISOR], pc->ev_order);
		return;
	}
	mc_set_mode(pc, OBSERVE_PCPU_GUEST);
	if (due_now(pc, mv)) {
		wall = pc->pending ? 0 : before_leaving(mv);
		mc_queue_at(m, &pc->ev, m->now + wall, pc->ev_order);
		return;
	}
	if (mv->fresh && mv->kind == MC_COMPUTE)
		mc_cache_enter(pc, mv);
	wall = phase_length(mv);
	if (wall == MC_FOREVER)
		mc_queue_remove(&m->queue, &pc->ev);
	else
		mc_queue_at(m, &pc->ev, m->now + wall, pc->ev_order);
}

/*
 * The event may stay early: then it finds work left and is queued anew. So the many small changes
 * of pace that neighbours cause move it only when it would come too late.
 */
void mc_repaced(struct mc_pcpu *pc, bool slower)
{
	struct mc_machine *m = pc->machine;
	struct mc_vcpu *mv = pc->mv;
	int64_t wall;

	if (slower && pc->ev.pos)
		return; /* it cannot come too late */
	if (pc->advancing || mv->charge[MC_CHARGE_HYPERVISOR] || due_now(pc, mv))
		return; /* its event does not depend on its pace */
	wall = phase_length(mv);
	if (wall != MC_FOREVER && (!pc->ev.pos || pc->ev.time > m->now + wall))
		mc_queue_at(m, &pc->ev, m->now + wall, pc->ev_order);
}

static bool interrupt_pending(void *arg)
{
	return ((const struct mc_vcpu *)arg)->pending != 0;
}

/* The guest's halt or yield reaches the engine, which then has raised a request on this pCPU. */
static void leave(struct mc_pcpu *pc, struct mc_vcpu *mv)
{
	struct mc_machine *m = pc->machine;
	enum mc_leaving how = mv->leaving;
	bool gone = true;

	mv->leaving = MC_STAY;
	mc_execute(m, pc->id, pc->id);
	if (how == MC_YIELDING)
		hv_yield(mv->hv);
	else
		gone = hv_block(mv->hv, interrupt_pending, mv);
	mc_execute(m, HV_NO_PCPU, HV_NO_PCPU);
	MC_LAW(m, !gone || pc->pending);
	if (how == MC_YIELDING)
		mv->announce = true;
	else if (gone)
		m->counters.blocks++;
	else
		mv->deliver = true;
}

/* One callback or action that is due; false: none is. */
static bool step(struct mc_pcpu *pc, struct mc_vcpu *mv)
{
	if (mv->leaving != MC_STAY) {
		if (before_leaving(mv))
			return false;
		leave(pc, mv);
	} else if (mv->announce) {
		mv->announce = false;
		mv->deliver = mv->pending != 0;
		mv->place = MC_GUEST;
		if (mv->ops->dispatched)
			mv->ops->dispatched(mv);
	} else if (mv->pending && mv->deliver) {
		uint32_t bits = mv->pending;

		mv->pending = 0;
		mv->deliver = false;
		mc_queue_remove(&pc->machine->queue, &mv->irq);
		mv->ops->interrupt(mv, bits);
	} else if (mv->kind != MC_NONE && !mv->left && !mv->charge[MC_CHARGE_USEFUL] &&
		   !mv->charge[MC_CHARGE_SPIN]) {
		mv->kind = MC_NONE;
		mv->ops->work_done(mv);
	} else {
		MC_LAW(pc->machine, mv->kind != MC_NONE);
		return false;
	}
	return true;
}

void mc_advance(struct mc_pcpu *pc)
{
	struct mc_machine *m = pc->machine;
	struct mc_vcpu *mv = pc->mv;
	unsigned n = 0;

	MC_LAW(m, pc->state == MC_PCPU_RUN && !pc->advancing && mv->start == m->now);
	pc->advancing = true;
	while (!mv->charge[MC_CHARGE_HYPERVISOR]) {
		if (pc->pending) {
			pc->advancing = false;
			mc_pass(pc, 0);
			return;
		}
		if (!step(pc, mv))
			break;
		MC_LAW(m, ++n < MAX_CALLBACKS);
	}
	pc->advancing = false;
	mc_requeue(pc);
}

void mc_start_running(struct mc_vcpu *mv)
{
	MC_LAW(mv->machine, mv->place == MC_OFF);
	mv->place = MC_ENTERING;
	mv->start = mv->machine->now;
	mv->run_from = mv->start;
	memset(mv->run_ns, 0, sizeof(mv->run_ns));
}

void mc_report_run(struct mc_vcpu *mv)
{
	if (mv->acc_wall)
		mc_book(mv);
	if (mv->machine->observe)
		observe_run(mv->machine->observe, mv->hv, mv->run_from, mv->start, mv->run_ns);
	mv->run_from = mv->start;
	memset(mv->run_ns, 0, sizeof(mv->run_ns));
}

void mc_stop_running(struct mc_vcpu *mv)
{
	struct mc_pcpu *pc = &mv->machine->pcpu[mv->pcpu];

	mc_settle_vcpu(mv);
	mc_report_run(mv);
	mc_cache_leave(pc, mv);
	mc_queue_remove(&mv->machine->queue, &mv->irq);
	mv->deliver = false;
	mv->cold = 0;
	mv->place = MC_OFF;
}

void mc_irq_arrived(struct mc_vcpu *mv)
{
	MC_LAW(mv->machine, mv->place != MC_OFF && mv->pending);
	mv->deliver = true;
	mc_charge(mv, mv->machine->params.cost.guest_ipi_loss, MC_CHARGE_HYPERVISOR);
}

/* ------------------------------------------------------------------ guest calls */

void mc_work(struct mc_vcpu *mv, enum mc_kind kind, const struct mc_class *cls, int64_t amount)
{
	struct mc_pcpu *pc = pcpu_of(mv);
	bool new_class = cls && cls != mv->cls;

	MC_LAW(mv->machine, amount >= 0 && (cls || kind == MC_NONE));
	if (pc)
		mc_settle_vcpu(mv);
	mv->kind = kind;
	mv->left = amount;
	mv->carry = 0;
	if (cls)
		mv->cls = cls;
	if (!pc || pc->state != MC_PCPU_RUN)
		return;
	mc_work_changed(pc, new_class);
	mc_requeue(pc);
}

int64_t mc_work_left(struct mc_vcpu *mv)
{
	struct mc_pcpu *pc = pcpu_of(mv);

	if (pc && mv->start != mv->machine->now) {
		mc_settle_vcpu(mv);
		mc_requeue(pc);
	}
	return mv->left;
}

void mc_charge(struct mc_vcpu *mv, int64_t ns, enum mc_charge who)
{
	struct mc_pcpu *pc = pcpu_of(mv);

	MC_LAW(mv->machine, ns >= 0);
	if (pc)
		mc_settle_vcpu(mv);
	mv->charge[who] += ns;
	if (pc)
		mc_requeue(pc);
}

void mc_halt(struct mc_vcpu *mv)
{
	MC_LAW(mv->machine, mv->place == MC_GUEST && mv->leaving == MC_STAY);
	mv->kind = MC_NONE;
	mv->leaving = MC_HALTING;
	mc_charge(mv, mv->machine->params.cost.exit, MC_CHARGE_HYPERVISOR);
}

void mc_yield(struct mc_vcpu *mv)
{
	MC_LAW(mv->machine, mv->place == MC_GUEST);
	if (mv->leaving != MC_STAY)
		return;
	mv->leaving = MC_YIELDING;
	mc_charge(mv, mv->machine->params.cost.exit, MC_CHARGE_HYPERVISOR);
}

static void interrupt_running(struct mc_vcpu *mv, const struct mc_vcpu *from)
{
	const struct mc_costs *c = &mv->machine->params.cost;

	if (mv->leaving == MC_HALTING || mv->deliver || mv->irq.pos)
		return; /* it will see the bits: when it tries to block, or with those before */
	if (from && from != mv) {
		mc_queue_at(mv->machine, &mv->irq,
			    mv->machine->now + c->guest_ipi - c->guest_ipi_loss,
			    mc_event_order(MC_EV_INTERRUPT, HV_MAX_PCPUS + mv->index));
		return;
	}
	mv->deliver = true;
	mc_charge(mv, from ? 0 : c->exit, MC_CHARGE_HYPERVISOR);
}

void mc_interrupt(struct mc_vcpu *target, struct mc_vcpu *from, uint32_t bits)
{
	MC_LAW(target->machine, bits);
	if (!target->hv)
		return; /* destroyed */
	target->pending |= bits;
	if (from) {
		MC_LAW(target->machine, from->place == MC_GUEST);
		mc_charge(from, target->machine->params.cost.exit, MC_CHARGE_HYPERVISOR);
	}
	if (target->place == MC_GUEST)
		interrupt_running(target, from);
	else if (target->place == MC_OFF && mc_blocked(target))
		mc_wake(target, from);
}
