/*
 * A host and a guest for tests and benches of the machine: each vCPU follows a small rule.
 *
 * rule.work nns of class rule.cls, then: sleep for rule.sleep ns (timer, exact), or with sleep 0
 * work again. work 0: the vCPU halts until it gets an interrupt.
 */
#ifndef HV_TESTS_MACHINE_GUEST_H
#define HV_TESTS_MACHINE_GUEST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/machine.h"
#include "observe/observe.h"

#define MAX_RULES 8192

struct rule {
	const struct mc_class *cls;
	int64_t work, sleep;
	/* state and results */
	struct mc_timer timer;
	struct mc_vcpu *mv;
	uint64_t done, interrupts, dispatched, descheduled;
	uint32_t last_bits;
	hv_time last_done, last_interrupt, last_dispatched, first_dispatched;
	void (*on_interrupt)(struct rule *r); /* after the default; may be NULL */
	void (*on_done)(struct rule *r);      /* instead of the default; may be NULL */
};

struct world {
	struct mc_params params;
	uint32_t core[HV_MAX_PCPUS], socket[HV_MAX_PCPUS], node[HV_MAX_PCPUS];
	struct observe *observe;
	struct mc_machine *m;
	struct mc_vm *vm[1024];
	unsigned nr_vms, nr_rules;
	struct rule *rules;
	bool hash; /* the observer hashes its records */
	enum hv_gran gran;
	const struct mc_pool_config *pools; /* besides pool 0; may be NULL */
	unsigned nr_pools;
	struct hv_pool *pool;	 /* where new VMs go, NULL = pool 0 */
	const char *const *boot; /* pairs of name and value, NULL-terminated */
};

static inline void rule_next(struct rule *r)
{
	if (r->work)
		mc_work(r->mv, MC_COMPUTE, r->cls, r->work);
	else
		mc_halt(r->mv);
}

static inline void rule_woken(struct mc_timer *t)
{
	mc_interrupt(((struct rule *)t->data)->mv, NULL, 1);
}

static inline void guest_work_done(struct mc_vcpu *mv)
{
	struct rule *r = mv->guest;

	r->done++;
	r->last_done = mc_now(mv->machine);
	if (r->on_done) {
		r->on_done(r);
	} else if (r->sleep) {
		mc_timer_set(&r->timer, mc_now(mv->machine) + r->sleep);
		mc_halt(mv);
	} else {
		rule_next(r);
	}
}

static inline void guest_interrupt(struct mc_vcpu *mv, uint32_t bits)
{
	struct rule *r = mv->guest;

	r->interrupts++;
	r->last_bits = bits;
	r->last_interrupt = mc_now(mv->machine);
	if (mv->kind == MC_NONE)
		rule_next(r);
	if (r->on_interrupt)
		r->on_interrupt(r);
}

static inline void guest_dispatched(struct mc_vcpu *mv)
{
	struct rule *r = mv->guest;

	r->last_dispatched = mc_now(mv->machine);
	if (!r->dispatched++)
		r->first_dispatched = r->last_dispatched;
	if (mv->kind == MC_NONE && !mv->pending)
		rule_next(r);
}

static inline void guest_descheduled(struct mc_vcpu *mv)
{
	((struct rule *)mv->guest)->descheduled++;
}

static const struct mc_guest_ops rule_ops = {
	.work_done = guest_work_done,
	.interrupt = guest_interrupt,
	.dispatched = guest_dispatched,
	.descheduled = guest_descheduled,
};

/* Sockets x cores x threads, siblings adjacent; parameters of the default host. */
static inline struct world *world_new(unsigned sockets, unsigned cores, unsigned threads)
{
	struct world *w = calloc(1, sizeof(*w));

	w->rules = calloc(MAX_RULES, sizeof(*w->rules));
	mc_params_default(&w->params);
	w->params.nr_pcpus = sockets * cores * threads;
	w->params.nr_cores = sockets * cores;
	w->params.nr_sockets = w->params.nr_nodes = w->params.nr_llcs = sockets;
	for (unsigned i = 0; i < w->params.nr_pcpus; i++) {
		w->core[i] = i / threads;
		w->socket[i] = w->node[i] = i / (cores * threads);
	}
	w->params.core = w->core;
	w->params.socket = w->socket;
	w->params.node = w->params.llc = w->node;
	return w;
}

static inline int world_boot(void *ctx, struct hv_sys *sys)
{
	struct world *w = ctx;
	int err = 0;

	for (unsigned i = 0; w->boot && w->boot[i] && !err; i += 2)
		err = hv_param_set(sys, w->boot[i], w->boot[i + 1]);
	return err;
}

static inline int world_start(struct world *w, const char *policy, bool observed, mc_trace_fn trace)
{
	const struct hv_topology topo = {.nr_pcpus = w->params.nr_pcpus,
					 .core = w->core,
					 .socket = w->socket,
					 .node = w->node};
	const struct observe_config oc = {.topology = &topo, .hash = w->hash};
	struct mc_config cfg = {.params = &w->params,
				.policies = hv_policies,
				.policy = policy,
				.gran = w->gran,
				.pools = w->pools,
				.nr_pools = w->nr_pools,
				.set = world_boot,
				.trace = trace,
				.ctx = w};

	if (observed && observe_create(&oc, &w->observe))
		return -HV_ENOMEM;
	cfg.observe = w->observe;
	return mc_create(&cfg, &w->m);
}

/* A VM; its memory is on one node, or striped with node < 0. */
static inline struct mc_vm *world_vm(struct world *w, unsigned vcpus, int node)
{
	int64_t share[MC_MAX_NODES] = {0};
	unsigned nodes = w->params.nr_nodes;

	for (unsigned n = 0; n < nodes; n++)
		share[n] = node < 0 ? MC_ONE / nodes : n == (unsigned)node ? MC_ONE : 0;
	if (mc_vm_create_in(w->m, w->pool ? w->pool : mc_pool(w->m), (int)w->nr_vms + 1, vcpus,
			    share, &w->vm[w->nr_vms]))
		return NULL;
	return w->vm[w->nr_vms++];
}

/* A vCPU with a rule; pcpu < 0: anywhere. It is not up yet. */
static inline struct rule *world_vcpu(struct world *w, struct mc_vm *vm, const struct mc_class *cls,
				      int64_t work, int64_t sleep, int pcpu)
{
	struct rule *r = &w->rules[w->nr_rules];
	struct hv_mask hard = {{0}};

	r->cls = cls;
	r->work = work;
	r->sleep = sleep;
	if (pcpu >= 0)
		hv_mask_set(&hard, (unsigned)pcpu);
	if (mc_vcpu_create(vm, pcpu >= 0 ? &hard : NULL, NULL, &rule_ops, r, &r->mv))
		return NULL;
	mc_timer_init(&r->timer, w->m, MC_TIMER_WAKE, w->nr_rules, rule_woken, r);
	w->nr_rules++;
	return r;
}

static inline void world_up(struct world *w)
{
	for (unsigned i = 0; i < w->nr_rules; i++)
		hv_vcpu_up(w->rules[i].mv->hv);
}

static inline void world_free(struct world *w)
{
	if (w->m)
		mc_destroy(w->m);
	observe_destroy(w->observe);
	free(w->rules);
	free(w);
}

#endif
