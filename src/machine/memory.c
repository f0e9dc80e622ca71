/*
 * What running vCPUs share: the threads of a core, caches, memory nodes, the clock of a socket.
 *
 * Each pCPU has a footprint: the pressure on its SMT sibling, a working set in its LLC, a demand on
 * memory nodes. It changes only at the events of hardware-model section 3.5; the factors of an LLC
 * and of a node are state that follows its input with a dead band, so that the outcome does not
 * depend on how often somebody looks.
 *
 * Laws: an LLC's Wsum is the sum over footprints in it, a VM's shared set counted once; a node's
 * demand is the sum of share * demand over footprints, each added and removed as the same integer.
 */
#include "machine/internal.h"

int64_t mc_pressure_of(const struct mc_machine *m, const struct mc_vcpu *mv)
{
	return mv->kind == MC_SPIN || mv->kind == MC_POLL ? m->params.p_spin : MC_ONE;
}

/* sigma of class cls of VM vm on this pCPU, given what the other threads of the core do. */
static int64_t sigma_here(const struct mc_pcpu *pc, const struct mc_vm *vm,
			  const struct mc_class *cls)
{
	const struct mc_machine *m = pc->machine;
	int64_t pressure = 0;
	bool same_vm = true;

	for (uint32_t s = pc->sibling; s != pc->id; s = m->pcpu[s].sibling) {
		const struct mc_pcpu *sib = &m->pcpu[s];

		if (!sib->pressure)
			continue;
		if (sib->pressure > pressure)
			pressure = sib->pressure;
		if (sib->hw_vm != vm)
			same_vm = false;
	}
	if (!pressure)
		return MC_ONE;
	return hw_sigma(cls->sigma, pressure, same_vm, m->params.s_vm);
}

/* lambda(v) of section 3.3. vm->reach has a(v,n) * d(s,n) for the node s of this pCPU. */
static int64_t lambda_here(const struct mc_pcpu *pc, const struct mc_vm *vm)
{
	const struct mc_machine *m = pc->machine;
	unsigned nodes = m->params.nr_nodes;
	const int64_t *reach = vm->reach + pc->node * nodes;
	int64_t sum = 0;

	for (unsigned n = 0; n < nodes; n++)
		sum += reach[n] * m->node[n].stretch;
	return hw_mul(m->llc[pc->llc].stretch, (sum + MC_ONE / 2) >> 20);
}

void mc_reach(struct mc_vm *vm)
{
	const struct mc_params *p = &vm->machine->params;

	for (unsigned n = 0; n < p->nr_nodes; n++) {
		if (vm->share[n])
			vm->nodes |= 1ULL << n;
	}
	for (unsigned s = 0; s < p->nr_nodes; s++) {
		for (unsigned n = 0; n < p->nr_nodes; n++)
			vm->reach[s * p->nr_nodes + n] =
				s == n ? vm->share[n] : hw_mul(vm->share[n], p->d_remote);
	}
}

static void count_demand(struct mc_machine *m, const struct mc_vm *vm, int64_t demand, int sign)
{
	for (unsigned n = 0; n < m->params.nr_nodes; n++) {
		if (vm->share[n]) {
			m->node[n].demand += sign * hw_mul(vm->share[n], demand);
			MC_LAW(m, m->node[n].demand >= 0);
		}
	}
}

/* What the footprint's class makes of its thread: sigma, and what follows from it. */
static void follow_sigma(struct mc_pcpu *pc)
{
	struct mc_machine *m = pc->machine;
	const struct mc_class *cls = pc->hw_cls;
	int64_t sigma = sigma_here(pc, pc->hw_vm, cls);
	int64_t phi = m->socket[pc->socket].phi;
	int64_t demand;

	if (sigma == pc->hw_sigma && phi == pc->hw_phi)
		return;
	pc->hw_sigma = sigma;
	pc->hw_phi = phi;
	pc->hw_compute = hw_compute_part(cls->mu, phi, sigma);
	pc->hw_alone = hw_compute_part(cls->mu, phi, MC_ONE);
	demand = hw_demand(cls->bw, cls->mu, phi, sigma);
	if (demand == pc->hw_demand)
		return;
	count_demand(m, pc->hw_vm, pc->hw_demand, -1);
	count_demand(m, pc->hw_vm, demand, 1);
	pc->hw_demand = demand;
	m->memory_changed = true;
}

/* Pace of the running vCPU from what is known of its thread; settles and requeues if it changes. */
static void apply_pace(struct mc_pcpu *pc)
{
	struct mc_machine *m = pc->machine;
	struct mc_vcpu *mv = pc->mv;
	int64_t mu = pc->hw_cls->mu;
	int64_t stall, pace, smt = pc->hw_compute - pc->hw_alone;
	bool slower;

	if (pc->state != MC_PCPU_RUN || mv->kind != MC_COMPUTE)
		return;
	MC_LAW(m, mv->cls == pc->hw_cls && mv->vm == pc->hw_vm);
	stall = mu ? hw_mul(mu, lambda_here(pc, mv->vm)) : 0;
	pace = pc->hw_compute + stall;
	if (pace == mv->pace && smt == mv->loss_smt)
		return;
	mc_settle_vcpu(mv);
	if (mv->acc_wall && smt != mv->loss_smt)
		mc_book(mv);
	mv->loss_smt = smt;
	mv->loss_memory = stall - mu;
	if (pace == mv->pace)
		return; /* as fast as before, for other reasons: only the ledger differs */
	slower = pace > mv->pace;
	mv->pace = pace;
	mv->carry = 0;
	mc_repaced(pc, slower);
}

void mc_refresh_pace(struct mc_pcpu *pc)
{
	if (!pc->hw_cls)
		return;
	follow_sigma(pc);
	apply_pace(pc);
}

static void refresh_siblings(struct mc_pcpu *pc)
{
	struct mc_machine *m = pc->machine;

	for (uint32_t s = pc->sibling; s != pc->id; s = m->pcpu[s].sibling)
		mc_refresh_pace(&m->pcpu[s]);
}

/* One working set enters (sign 1) or leaves (-1) the LLC of pc. */
static void count_set(struct mc_pcpu *pc, const struct mc_vm *vm, const struct mc_class *cls,
		      int sign)
{
	struct mc_machine *m = pc->machine;
	int64_t bytes = cls->ws;

	if (cls->shared) {
		uint16_t *sharers = &vm->llc_sharers[pc->llc];
		bool first = sign > 0 ? *sharers == 0 : *sharers == 1;

		*sharers = (uint16_t)(*sharers + sign);
		bytes = first ? vm->shared_ws : 0;
	}
	if (bytes) {
		m->llc[pc->llc].sets += sign * bytes;
		m->memory_changed = true;
		MC_LAW(m, m->llc[pc->llc].sets >= 0);
	}
}

/*
 * The input of a factor has left its dead band: a share of the capacity, so that little demand on a
 * large host does not re-evaluate it at every dispatch.
 */
static bool outside(const struct mc_machine *m, int64_t now, int64_t in_force, int64_t capacity)
{
	int64_t diff = now > in_force ? now - in_force : in_force - now;

	return diff > hw_mul(capacity, m->params.deadband);
}

/* LLCs and nodes whose factor changes now are left in the two sets. */
static bool follow_inputs(struct mc_machine *m, uint64_t *llcs, uint64_t *nodes)
{
	for (unsigned i = 0; i < m->params.nr_llcs; i++) {
		struct mc_llc *l = &m->llc[i];
		int64_t before = l->stretch;

		if (!outside(m, l->sets, l->sets_in_force, m->params.llc_bytes))
			continue;
		l->sets_in_force = l->sets;
		l->stretch = hw_llc_stretch(m->params.chi, m->params.llc_bytes, l->sets);
		if (l->stretch != before)
			llcs[i / 64] |= 1ULL << (i % 64);
	}
	for (unsigned i = 0; i < m->params.nr_nodes; i++) {
		struct mc_node_memory *n = &m->node[i];
		int64_t before = n->stretch;

		if (!outside(m, n->demand, n->demand_in_force, m->params.mem_bw))
			continue;
		n->demand_in_force = n->demand;
		n->stretch = hw_bandwidth_stretch(&m->params, hw_div(n->demand, m->params.mem_bw));
		if (n->stretch != before)
			*nodes |= 1ULL << i;
	}
	for (unsigned i = 0; i < HV_MASK_WORDS; i++) {
		if (llcs[i])
			return true;
	}
	return *nodes != 0;
}

void mc_check_dead_band(struct mc_machine *m)
{
	uint64_t llcs[HV_MASK_WORDS] = {0}, nodes = 0;

	if (!m->memory_changed)
		return;
	m->memory_changed = false;
	if (!follow_inputs(m, llcs, &nodes))
		return;
	hv_mask_for_each(i, &m->stalling, m->nw)
	{
		struct mc_pcpu *pc = &m->pcpu[i];

		if ((pc->hw_vm->nodes & nodes) || (llcs[pc->llc / 64] >> (pc->llc % 64) & 1))
			apply_pace(pc); /* sigma is as before */
	}
}

/* Cores of a socket that are not idle decide its clock. */
static void count_active(struct mc_pcpu *pc, bool active)
{
	struct mc_machine *m = pc->machine;
	struct mc_socket *s = &m->socket[pc->socket];
	int64_t phi = MC_ONE;

	if (!m->params.nr_turbo || pc->hw_active == active)
		return;
	pc->hw_active = active;
	if (active)
		s->active += m->core_active[pc->core]++ == 0;
	else
		s->active -= --m->core_active[pc->core] == 0;
	if (s->active)
		phi = m->params.turbo[s->active <= m->params.nr_turbo ? s->active - 1
								      : m->params.nr_turbo - 1];
	if (phi == s->phi)
		return;
	s->phi = phi;
	for (unsigned i = 0; i < m->params.nr_pcpus; i++) {
		if (m->pcpu[i].socket == pc->socket)
			mc_refresh_pace(&m->pcpu[i]);
	}
}

void mc_footprint(struct mc_pcpu *pc, struct mc_vcpu *mv, int64_t pressure)
{
	struct mc_machine *m = pc->machine;
	const struct mc_vm *vm = mv ? mv->vm : NULL;
	const struct mc_class *cls = mv ? mv->cls : NULL;

	if (pc->hw_vm != vm || pc->hw_cls != cls) {
		if (pc->hw_cls) {
			count_set(pc, pc->hw_vm, pc->hw_cls, -1);
			if (pc->hw_demand)
				count_demand(m, pc->hw_vm, pc->hw_demand, -1);
			pc->hw_demand = 0;
			m->memory_changed |= pc->hw_cls->bw != 0;
		}
		pc->hw_sigma = 0; /* of another class: to be found anew */
		if (cls && cls->mu)
			hv_mask_set(&m->stalling, pc->id);
		else
			hv_mask_clear(&m->stalling, pc->id);
		if (pc->hw_vm != vm)
			pc->pressure = -1; /* the same-VM bonus may change as well */
		pc->hw_vm = vm;
		pc->hw_cls = cls;
		if (cls)
			count_set(pc, vm, cls, 1);
	}
	if (pc->pressure != pressure) {
		pc->pressure = pressure;
		count_active(pc, pressure > 0);
		refresh_siblings(pc);
	}
	mc_refresh_pace(pc);
	mc_check_dead_band(m);
}

void mc_work_changed(struct mc_pcpu *pc, bool new_class)
{
	struct mc_vcpu *mv = pc->mv;
	int64_t pressure = mc_pressure_of(pc->machine, mv);

	if (new_class) {
		mc_footprint(pc, mv, pressure);
		return;
	}
	/* A spin loop begins or ends: only the sibling is re-evaluated (section 3.5). */
	if (pc->pressure != pressure) {
		pc->pressure = pressure;
		refresh_siblings(pc);
	}
	mc_refresh_pace(pc);
}

void mc_cache_enter(struct mc_pcpu *pc, struct mc_vcpu *mv)
{
	struct mc_machine *m = pc->machine;
	const struct mc_params *p = &m->params;
	int64_t w_priv = 0, w_llc = 0, d = 0;

	mv->fresh = false;
	if (mv->last_core == pc->core)
		w_priv = hw_warmth(m->core_inserted[pc->core] - mv->snap_core, p->l2_bytes);
	if (mv->last_llc == pc->llc)
		w_llc = hw_warmth(m->llc[pc->llc].inserted - mv->snap_llc, p->llc_bytes);
	if (w_priv == MC_ONE && w_llc == MC_ONE) {
		mv->cold = 0;
		return;
	}
	for (unsigned n = 0; n < p->nr_nodes; n++)
		d += mv->vm->reach[pc->node * p->nr_nodes + n];
	mv->cold = hw_cold_time(hw_debt(p, mv->cls->ws, w_priv, w_llc, d), p->cold_share);
}

void mc_cache_leave(struct mc_pcpu *pc, struct mc_vcpu *mv)
{
	struct mc_machine *m = pc->machine;
	int64_t ws = mv->cls ? mv->cls->ws : 0;
	int64_t bytes = hw_inserted(&m->params, ws, m->now - mv->entered);

	m->core_inserted[pc->core] += bytes < m->params.l2_bytes ? bytes : m->params.l2_bytes;
	m->llc[pc->llc].inserted += bytes;
	mv->snap_core = m->core_inserted[pc->core];
	mv->snap_llc = m->llc[pc->llc].inserted;
	mv->last_core = pc->core;
	mv->last_llc = pc->llc;
}
