/*
 * From the observer, the guests and the machine to the plain result of a run.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/run.h"

#define P50  5000 /* quantiles, in 1/10000 */
#define P99  9900
#define P999 9990

static int64_t longer(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void add_vcpu(const struct observe *o, struct lab_vm *vm, const struct observe_vcpu *v,
		     hv_time start, hv_time end)
{
	struct observe_delays delays = observe_delays(o, v);
	struct observe_sum *sum;

	if (v->id >= vm->nr_vcpus)
		return;
	sum = &vm->vcpu[v->id].sum;
	for (int i = 0; i < OBSERVE_NR_TIMES; i++)
		sum->ns[i] += v->ns[i];
	sum->elapsed += (v->gone < 0 ? end : v->gone) - (v->born > start ? v->born : start);
	sum->counts = v->counts;
	sum->max_wake = delays.wake;
	sum->max_ready = delays.ready;
	sum->max_wait = delays.wait;
	sum->idle_runnable = v->idle_runnable;
}

static void collect_guest(const struct lab_vm_run *v, struct lab_vm *vm)
{
	struct guest_result g;
	const struct metric *metric;

	if (!v->guest)
		return;
	guest_result(v->guest, &g);
	metric = guest_metric(v->guest);
	vm->runs = g.runs;
	vm->user = (int64_t)g.user_ticks * g.tick;
	vm->system = (int64_t)g.system_ticks * g.tick;
	if (metric->kind == METRIC_ELAPSED && g.runs > 0) {
		vm->has_elapsed = true;
		vm->elapsed = g.elapsed_sum / (int64_t)g.runs;
	}
	if (metric->kind == METRIC_RATE) {
		vm->has_rate = true;
		vm->counted = (uint64_t)g.count;
	}
}

double lab_pool_weight(const struct lab_result *r, int32_t pool)
{
	double sum = 0;

	for (uint32_t i = 0; i < r->n_vms; i++)
		sum += r->vm[i].pool == pool ? r->vm[i].weight : 0;
	return sum;
}

/* What it was entitled to, and where, at the end. */
static void collect_weight(struct hv_domain *d, struct lab_vm *vm)
{
	struct hv_domain_params p;

	vm->pool = d ? d->pool->id : -1;
	vm->weight = d && hv_domain_params_get(d, &p) == 0 ? p.weight : 0;
}

/* What the policy thinks of each vCPU at the end. */
static void collect_states(struct lab_run *run, unsigned index, struct lab_vm *vm)
{
	struct lab_vm_run *v = &run->vm[index];
	struct hv_runqueue_info info;
	struct hv_domain *d = v->mvm ? v->mvm->domain : NULL;
	bool has_load = d && hv_runqueue_info(d->pool, 0, &info) == 0;

	collect_weight(d, vm);
	vm->outside_affinity = v->outside_affinity;
	for (uint32_t i = 0; i < vm->nr_vcpus; i++) {
		struct lab_vcpu *vcpu = &vm->vcpu[i];

		vcpu->has_credit = v->credit_min[i] != INT64_MAX;
		vcpu->credit_min = vcpu->has_credit ? v->credit_min[i] : 0;
		if (!v->mvm || i >= v->mvm->nr_vcpus || !has_load)
			continue;
		vcpu->has_load = lab_unit_value(v->mvm->vcpu[i]->hv->unit, "load", &vcpu->load);
		if (vcpu->has_load)
			vcpu->load = (vcpu->load << 20) >> info.load_shift;
	}
}

static int collect_vm(struct lab_run *run, unsigned index, struct lab_result *out)
{
	struct lab_vm *vm = &out->vm[index];
	int id = (int)index + (run->s->vm[0].dom0 ? 0 : 1);
	const struct observe_domain *d = observe_domain_find(run->observe, id);

	vm->nr_vcpus = run->s->vm[index].maxvcpus;
	vm->vcpu = calloc(vm->nr_vcpus, sizeof(*vm->vcpu));
	if (!vm->vcpu)
		return -HV_ENOMEM;
	collect_guest(&run->vm[index], vm);
	collect_states(run, index, vm);
	if (!d)
		return 0;
	observe_domain_sum(run->observe, d, &vm->sum);
	for (uint32_t n = 1; n <= observe_nr_vcpus(run->observe); n++) {
		const struct observe_vcpu *v = observe_vcpu(run->observe, n);

		if (v->domain == id)
			add_vcpu(run->observe, vm, v, out->start, out->end);
	}
	vm->wake_p50 = histogram_quantile(&d->wake, P50);
	vm->wake_p99 = histogram_quantile(&d->wake, P99);
	vm->wake_p999 = histogram_quantile(&d->wake, P999);
	vm->wake_max = longer(d->wake.max, vm->sum.max_wake);
	vm->ready_p50 = histogram_quantile(&d->ready, P50);
	vm->ready_p99 = histogram_quantile(&d->ready, P99);
	vm->ready_p999 = histogram_quantile(&d->ready, P999);
	vm->ready_max = longer(d->ready.max, vm->sum.max_ready);
	for (uint32_t i = 0; i < vm->nr_vcpus; i++) {
		if (vm->vcpu[i].sum.max_ready <= out->longest_ready)
			continue;
		out->longest_ready = vm->vcpu[i].sum.max_ready;
		out->longest_vm = (int32_t)index;
		out->longest_vcpu = (int32_t)i;
	}
	return 0;
}

static int collect_cpus(const struct lab_run *run, struct lab_result *out)
{
	const struct sc_topology *t = &run->s->topo;

	out->cpu = calloc(t->n_cpus, sizeof(*out->cpu));
	if (!out->cpu)
		return -HV_ENOMEM;
	for (unsigned i = 0; i < t->n_cpus; i++) {
		const struct observe_pcpu *p = observe_pcpu_result(run->observe, i);
		struct lab_cpu *cpu = &out->cpu[out->n_cpus];

		if (!t->cpu[i].online)
			continue;
		out->n_cpus++;
		cpu->id = t->cpu[i].id;
		memcpy(cpu->ns, p->ns, sizeof(cpu->ns));
		cpu->switches = p->switches;
		cpu->passes = p->passes;
		cpu->tickles = p->tickles;
		cpu->wasted = p->wasted;
		cpu->shared = p->shared;
	}
	return 0;
}

static int collect_runqueues(const struct scenario *s, struct hv_sys *sys,
			     struct lab_runqueue **out, uint32_t *n)
{
	struct hv_runqueue_info info;
	struct hv_pool *pool = hv_pool_next(sys, 0);
	unsigned index = 0;

	*n = 0;
	*out = calloc(s->topo.n_cpus, sizeof(**out));
	if (!*out)
		return -HV_ENOMEM;
	while (pool && *n < s->topo.n_cpus) {
		struct hv_mask all = {{0}};
		struct lab_runqueue *q;

		if (hv_runqueue_info(pool, index++, &info) != 0) {
			pool = hv_pool_next(sys, pool->id + 1);
			index = 0;
			continue;
		}
		q = &(*out)[(*n)++];

		hv_mask_copy(&all, &info.pcpus, hv_topology_words(s->topo.n_cpus));
		lab_mask_to_user(s, &all, &q->pcpus);
		q->id = info.id;
		q->load = (info.load << 20) >> info.load_shift;
		q->size = hv_mask_weight(&q->pcpus, SC_NW);
	}
	return 0;
}

int lab_collect(struct lab_run *run, struct lab_result *out)
{
	const struct mc_counters *c = mc_counters(run->machine);
	struct observe_violation broken;
	int ret;

	assert(out->end == 0);
	out->end = mc_now(run->machine);
	mc_settle(run->machine);
	ret = observe_close(run->observe, out->end);
	if (ret != 0 && out->status == LAB_DONE) {
		out->status = LAB_FAILED;
		snprintf(out->message, sizeof(out->message), "event log: %s", strerror(-ret));
	}
	if (out->status == LAB_DONE && !observe_check(run->observe, out->end, &broken)) {
		out->status = LAB_BROKEN;
		snprintf(out->message, sizeof(out->message), "ledger: %s", broken.text);
	}
	out->events = c->wakes + c->blocks + c->passes + c->timers;
	out->hash = observe_hash(run->observe);
	observe_totals(run->observe, &out->totals);
	out->start = out->totals.start;
	out->vm = calloc(run->s->n_vms ? run->s->n_vms : 1, sizeof(*out->vm));
	if (!out->vm)
		return -HV_ENOMEM;
	for (ret = 0; ret == 0 && out->n_vms < run->s->n_vms; out->n_vms++)
		ret = collect_vm(run, out->n_vms, out);
	if (ret == 0)
		ret = collect_cpus(run, out);
	if (ret == 0)
		ret = collect_runqueues(run->s, mc_sys(run->machine), &out->runqueue,
					&out->n_runqueues);
	return ret;
}

void lab_result_clear(struct lab_result *r)
{
	for (uint32_t i = 0; r->vm && i < r->n_vms; i++)
		free(r->vm[i].vcpu);
	free(r->vm);
	free(r->cpu);
	free(r->runqueue);
	memset(r, 0, sizeof(*r));
}

int lab_arrangement(const struct scenario *s, struct lab_runqueue **out, uint32_t *n)
{
	struct lab_host host;
	struct mc_machine *machine = NULL;
	struct mc_pool_config *pools = lab_pools(s);
	struct mc_config config = {
		.params = &host.params,
		.policies = hv_policies,
		.policy = sc_sched_name(s->xen.sched),
		.gran = s->xen.gran,
		.pools = pools,
		.nr_pools = s->n_pools - 1,
		.set = lab_boot_params,
		.ctx = (void *)s,
	};
	int ret = pools ? lab_host_init(&host, s, 0) : -HV_ENOMEM;

	if (ret != 0) {
		free(pools);
		return ret;
	}
	ret = mc_create(&config, &machine);
	if (ret == 0) {
		ret = collect_runqueues(s, mc_sys(machine), out, n);
		mc_destroy(machine);
	}
	free(pools);
	lab_host_fini(&host);
	return ret;
}
