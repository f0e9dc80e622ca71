/*
 * Translation of a scenario's host into machine parameters; see host.h.
 */
#include "lab/host.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fill_costs(struct mc_costs *out, const struct sc_costs *in)
{
	assert(out && in);
	out->exit = in->c1_exit;
	out->device_model = in->c2_exit_device_model;
	out->hypercall = in->c3_hypercall;
	out->hypercall_pv = in->c3_hypercall_pv;
	out->vcpu_switch = in->c4_switch;
	out->task_switch = in->c5_task_switch;
	out->thread_switch = in->c5_thread_switch;
	out->ipi = in->c6_ipi;
	out->guest_ipi = in->c7_guest_ipi;
	out->guest_ipi_loss = in->c7_target_loss;
	out->wake_extra = in->c8_wake_extra;
	out->wake_scale = in->c8_wake_scale;
	out->guest_tick = in->c9_guest_tick;
	out->host_timer = in->c10_host_tick;
	out->timer_slop = in->c11_timer_slop;
	out->ple_handler = in->c12_ple_handler;
	out->critical = in->c13_critical;
	out->l1d_flush = in->c14_l1d_flush;
	out->l1d_refill = in->c14_l1d_refill;
	out->ibpb = in->c15_ibpb;
	out->shootdown = in->c16_shootdown;
	out->shootdown_each = in->c16_per_target;
	out->broadcast = in->c17_broadcast;
	out->clock_read = in->c18_clock_read;
}

static void fill_hardware(struct mc_params *out, const struct sc_hw *in)
{
	assert(in->n_cstates <= MC_MAX_CSTATES);
	assert(in->n_turbo <= MC_MAX_TURBO);
	assert(in->n_curve <= MC_MAX_CURVE);
	out->l2_bytes = in->l2_bytes;
	out->llc_bytes = in->llc_bytes;
	out->mem_bw = in->mem_bw;
	out->mem_bw_thread = in->mem_bw_thread;
	out->l3_bw = in->l3_bw;
	out->d_remote = in->d_remote;
	out->chi = in->chi;
	out->s_vm = in->s_vm;
	out->p_spin = in->p_spin;
	out->cold_share = in->cold_share;
	out->deadband = in->deadband;
	out->lock_base = in->lock_base;
	out->lock_per_entity = in->lock_per_entity;
	out->halt_poll = in->halt_poll;
	out->ibpb_on = in->ibpb;
	out->l1d = in->l1d == SC_L1D_OFF    ? MC_L1D_OFF
		   : in->l1d == SC_L1D_COND ? MC_L1D_COND
					    : MC_L1D_ALWAYS;
	out->nr_cstates = 0;
	for (unsigned i = 0; i < in->n_cstates && i <= in->cstate_cap; i++) {
		out->cstate[out->nr_cstates].exit_ns = in->cstate[i].exit_ns;
		out->cstate[out->nr_cstates++].residency_ns = in->cstate[i].residency_ns;
	}
	out->nr_turbo = in->n_turbo;
	memcpy(out->turbo, in->turbo, in->n_turbo * sizeof(*in->turbo));
	out->nr_curve = in->n_curve;
	memcpy(out->curve_rho, in->curve_rho, in->n_curve * sizeof(*in->curve_rho));
	memcpy(out->curve_stretch, in->curve_stretch, in->n_curve * sizeof(*in->curve_stretch));
	fill_costs(&out->cost, &in->cost);
}

int lab_host_init(struct lab_host *h, const struct scenario *s, uint64_t seed)
{
	const struct sc_topology *t = &s->topo;

	assert(t->n_cpus > 0);
	memset(h, 0, sizeof(*h));
	h->core = calloc(t->n_cpus, sizeof(*h->core));
	h->socket = calloc(t->n_cpus, sizeof(*h->socket));
	h->node = calloc(t->n_cpus, sizeof(*h->node));
	h->llc = calloc(t->n_cpus, sizeof(*h->llc));
	h->online = calloc(t->n_cpus, sizeof(*h->online));
	if (!h->core || !h->socket || !h->node || !h->llc || !h->online) {
		lab_host_fini(h);
		return -HV_ENOMEM;
	}
	for (unsigned i = 0; i < t->n_cpus; i++) {
		h->core[i] = t->cpu[i].core;
		h->socket[i] = t->cpu[i].socket;
		h->node[i] = t->cpu[i].node;
		h->llc[i] = t->cpu[i].llc;
		h->online[i] = t->cpu[i].online;
	}
	mc_params_default(&h->params);
	fill_hardware(&h->params, &s->hw);
	h->params.seed = seed;
	h->params.nr_pcpus = t->n_cpus;
	h->params.core = h->core;
	h->params.socket = h->socket;
	h->params.node = h->node;
	h->params.llc = h->llc;
	h->params.online = h->online;
	h->params.nr_cores = t->n_cores;
	h->params.nr_sockets = t->n_sockets;
	h->params.nr_nodes = t->n_nodes;
	h->params.nr_llcs = t->n_llcs;
	h->params.stall_limit = s->run.stall_limit;
	return 0;
}

void lab_host_fini(struct lab_host *h)
{
	free(h->core);
	free(h->socket);
	free(h->node);
	free(h->llc);
	free(h->online);
	memset(h, 0, sizeof(*h));
}

struct mc_pool_config *lab_pools(const struct scenario *s)
{
	struct mc_pool_config *pools = calloc(s->n_pools, sizeof(*pools));

	assert(s->n_pools > 0);
	for (unsigned i = 1; pools && i < s->n_pools; i++) {
		pools[i - 1].policy = sc_sched_name(s->pool[i].sched);
		pools[i - 1].gran = s->pool[i].gran;
		lab_mask_to_machine(s, &s->pool[i].cpus, &pools[i - 1].pcpus);
	}
	return pools;
}

void lab_mask_to_machine(const struct scenario *s, const struct hv_mask *user, struct hv_mask *out)
{
	assert(user != out);
	hv_mask_zero(out, SC_NW);
	for (unsigned i = 0; i < s->topo.n_cpus; i++) {
		if (hv_mask_test(user, s->topo.cpu[i].id))
			hv_mask_set(out, i);
	}
}

void lab_mask_to_user(const struct scenario *s, const struct hv_mask *machine, struct hv_mask *out)
{
	assert(machine != out);
	hv_mask_zero(out, SC_NW);
	for (unsigned i = 0; i < s->topo.n_cpus; i++) {
		if (hv_mask_test(machine, i))
			hv_mask_set(out, s->topo.cpu[i].id);
	}
}

/* A parameter that the scenario has validated; a policy that does not know it has no use for it. */
static int set_param(struct hv_sys *sys, const char *name, const char *value)
{
	int ret = hv_param_set(sys, name, value);

	return ret < 0 && ret != -HV_ENOENT ? ret : 0;
}

static int set_number(struct hv_sys *sys, const char *name, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)value);
	return set_param(sys, name, text);
}

int lab_boot_params(void *scenario, struct hv_sys *sys)
{
	const struct sc_xen *x = &((const struct scenario *)scenario)->xen;
	const struct {
		const char *name;
		int64_t value;
	} number[] = {
		{"sched_credit2_max_cpus_runqueue", x->max_cpus_runqueue},
		{"sched_credit2_migrate_resist", x->migrate_resist_us},
		{"credit2_load_precision_shift", x->load_precision_shift},
		{"credit2_load_window_shift", x->load_window_shift},
		{"credit2_balance_under", x->balance_under},
		{"credit2_balance_over", x->balance_over},
		{"credit2_cap_period_ms", x->cap_period_ms},
		{"sched_ratelimit_us", x->ratelimit_us},
		{"sched_smt_power_savings", x->smt_power_savings},
		{"sched_credit_tslice_ms", x->tslice_ms},
		{"vcpu_migration_delay", x->migration_delay_us},
		{"load-balance-ratelimit", x->balance_ratelimit_us},
		{"tickle_one_idle_cpu", x->tickle_one_idle_cpu},
	};
	int ret = set_param(sys, "credit2_runqueue", sc_runqueue_name(x->runqueue));

	if (ret == 0)
		ret = set_param(sys, "credit_tickle", sc_tickle_name(x->tickle));

	for (unsigned i = 0; ret == 0 && i < sizeof(number) / sizeof(*number); i++)
		ret = set_number(sys, number[i].name, number[i].value);
	return ret;
}
