/*
 * One run, from the scenario to the result; see lab.h for the laws.
 *
 * The window: virtual time runs in steps of STEP_NS so that a stop request, a full disk and the
 * stall watchdog are noticed soon; steps do not change what happens, only when we look.
 */
#include "lab/lab.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/run.h"

#define STEP_NS	      100000000LL /* virtual time between two looks, ns */
#define POLL_CYCLES   20	  /* of one poll of a PV lock (hardware-model section 8) */
#define NS_PER_SECOND 1000000000LL

/* ---- building */

static void fill_guest_params(struct guest_params *g, const struct sc_hw *hw)
{
	guest_params_default(g);
	assert(hw->clock_hz > 0);
	g->spin_limit = hw->pv_spin_polls * POLL_CYCLES * NS_PER_SECOND / hw->clock_hz;
	g->ple_window = hw->ple_window;
	g->handover = hw->handover_local;
}

static void say(struct lab_result *r, enum lab_status status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void say(struct lab_result *r, enum lab_status status, const char *fmt, ...)
{
	va_list args;

	assert(status != LAB_DONE);
	r->status = status;
	va_start(args, fmt);
	vsnprintf(r->message, sizeof(r->message), fmt, args);
	va_end(args);
}

static int create_observer(struct lab_run *run, uint64_t seed)
{
	const struct mc_params *p = &run->host.params;
	struct hv_topology topology = {
		.nr_pcpus = p->nr_pcpus, .core = p->core, .socket = p->socket, .node = p->node};
	struct observe_config config = {
		.topology = &topology,
		.hash = run->options->hash,
		.log_path = run->options->log_path,
		.scenario = run->s->file,
		.variant = run->s->variant,
		.seed = seed,
	};
	int ret;

	ret = observe_create(&config, &run->observe);
	if (ret != 0 && ret != -HV_ENOMEM && config.log_path)
		say(run->result, LAB_FAILED, "cannot write the event log %s: %s", config.log_path,
		    strerror(-ret));
	return ret;
}

static int set_params(void *ctx, struct hv_sys *sys)
{
	return lab_boot_params((void *)((struct lab_run *)ctx)->s, sys);
}

static int create_machine(struct lab_run *run)
{
	const struct scenario *s = run->s;
	struct mc_pool_config *pools = lab_pools(s);
	int ret;

	if (!pools)
		return -HV_ENOMEM;
	struct mc_config config = {
		.params = &run->host.params,
		.policies = hv_policies,
		.policy = sc_sched_name(run->s->xen.sched),
		.gran = run->s->xen.gran,
		.pools = pools,
		.nr_pools = s->n_pools - 1,
		.set = set_params,
		.trace = lab_watch,
		.observe = run->observe,
		.ctx = run,
	};

	ret = mc_create(&config, &run->machine);
	free(pools);
	for (unsigned i = 0; ret == 0 && i < s->n_pools; i++)
		ret = lab_pool_add(run, (int)i, s->pool[i].name);
	return ret;
}

/* Masks of the scenario in the machine's numbers; NULL when nobody restricted them. */
static struct hv_mask *convert_masks(const struct scenario *s, const struct hv_mask *user,
				     unsigned n)
{
	struct hv_mask *out = calloc(n, sizeof(*out));

	for (unsigned i = 0; out && i < n; i++)
		lab_mask_to_machine(s, &user[i], &out[i]);
	return out;
}

/* The runs that a group must complete are done by all its VMs? */
static void check_until(struct lab_run *run)
{
	unsigned first, n;

	if (run->options->hold || !run->s->run.until ||
	    !scenario_find(run->s, run->s->run.until, &first, &n))
		return;
	for (unsigned i = first; i < first + n; i++) {
		if (!run->vm[i].finished)
			return;
	}
	run->until_reached = true;
	mc_stop(run->machine);
}

static void workload_done(void *ctx, struct guest *g)
{
	struct lab_vm_run *v = ctx;
	uint32_t runs = v->vm->workload->runs;
	struct guest_result result;

	guest_result(g, &result);
	if (result.runs >= (runs ? runs : 1))
		v->finished = true;
	check_until(v->run);
}

static int create_guest(struct lab_vm_run *v)
{
	const struct scenario *s = v->run->s;
	const struct sc_vm *vm = v->vm;
	struct hv_mask *hard = vm->has_hard ? convert_masks(s, vm->hard, vm->maxvcpus) : NULL;
	struct hv_mask *soft = vm->has_soft ? convert_masks(s, vm->soft, vm->maxvcpus) : NULL;
	struct guest_config config = {
		.vm = v->mvm,
		.name = vm->name,
		.vcpus = vm->vcpus,
		.hard = hard,
		.soft = soft,
		.workload = &vm->workload,
		.n_workloads = 1,
		.params = v->run->guest_params,
		.done = workload_done,
		.ctx = v,
	};
	int ret = -HV_ENOMEM;

	if ((hard || !vm->has_hard) && (soft || !vm->has_soft))
		ret = guest_create(&config, &v->guest);
	free(hard);
	free(soft);
	return ret;
}

/* Domain 0 is the VM of index 0, if there is one. */
int lab_domain_id(const struct lab_run *run, unsigned vm)
{
	return (int)vm + (run->s->vm[0].dom0 ? 0 : 1);
}

int lab_set_rtds(struct lab_vm_run *v, unsigned vcpu, const struct sc_rtds *value)
{
	struct hv_unit_params p = {value->period_us, value->budget_us, value->extratime};

	return hv_unit_params_set(v->mvm->vcpu[vcpu]->hv, &p);
}

/* The first pool whose policy has a time table. */
static struct hv_pool *frame_pool(struct lab_run *run)
{
	struct hv_pool *p = hv_pool_next(mc_sys(run->machine), 0);

	while (p && strcmp(p->sched->policy->name, sc_sched_name(SC_SCHED_ARINC653)) != 0)
		p = hv_pool_next(mc_sys(run->machine), p->id + 1);
	return p ? p : mc_pool(run->machine);
}

/* Windows name a domain by its handle, which is made of its id; it need not exist yet. */
int lab_set_frame(struct lab_run *run, const struct sc_frame *frame)
{
	struct hv_window window[HV_MAX_WINDOWS];

	assert(frame->n <= HV_MAX_WINDOWS);
	memset(window, 0, sizeof(window));
	for (unsigned i = 0; i < frame->n; i++) {
		uint32_t id = (uint32_t)lab_domain_id(run, frame->window[i].vm);

		for (unsigned k = 0; k < 4; k++)
			window[i].handle[HV_HANDLE_BYTES - 1 - k] = (uint8_t)(id >> (8 * k));
		window[i].vcpu = frame->window[i].vcpu;
		window[i].runtime = (uint64_t)frame->window[i].runtime;
	}
	return hv_frame_set(frame_pool(run), (uint64_t)frame->major, frame->n, window);
}

/* What the policy has been told of the VM before it boots. */
static int set_vm_params(struct lab_vm_run *v)
{
	const struct sc_vm *vm = v->vm;
	struct hv_domain_params params = {.weight = vm->weight, .cap = vm->cap};
	int ret = hv_domain_params_set(v->mvm->domain, &params);

	/* A policy without weights (null) has nothing to set. */
	if (ret == -HV_EOPNOTSUPP)
		ret = 0;
	if (v->run->s->pool[vm->pool].sched != SC_SCHED_RTDS || !vm->rtds)
		return ret;
	for (unsigned i = 0; ret == 0 && i < v->mvm->nr_vcpus; i++)
		ret = lab_set_rtds(v, i, &vm->rtds[i]);
	return ret;
}

static int create_vm(struct lab_vm_run *v)
{
	struct lab_run *run = v->run;
	const struct sc_vm *vm = v->vm;
	/* Pool-0 is the default, whatever its name is by now. */
	struct hv_pool *pool =
		vm->pool ? lab_pool_find(run, run->s->pool[vm->pool].name) : mc_pool(run->machine);
	int id = lab_domain_id(run, (unsigned)(v - run->vm));
	int ret;

	assert(!v->mvm);
	if (!pool)
		return -HV_ENOENT;
	ret = observe_domain_name(run->observe, id, vm->name);
	if (ret == 0)
		ret = mc_vm_create_in(run->machine, pool, id, vm->maxvcpus, vm->node_share,
				      &v->mvm);
	if (ret == 0 && vm->dom0)
		ret = hv_domain_identify(v->mvm->domain, v->mvm->domain->handle, true);
	if (ret == 0)
		ret = create_guest(v);
	return ret == 0 ? set_vm_params(v) : ret;
}

static int link_guests(struct lab_run *run)
{
	struct guest **guest = calloc(run->s->n_vms, sizeof(struct guest *));
	const char *vm = NULL, *channel = NULL;
	unsigned n = 0;
	int ret;

	if (!guest)
		return -HV_ENOMEM;
	for (unsigned i = 0; i < run->s->n_vms; i++) {
		if (run->vm[i].guest && run->vm[i].mvm)
			guest[n++] = run->vm[i].guest;
	}
	ret = guest_link(guest, n, &vm, &channel);
	free(guest);
	return ret;
}

static void vm_due(struct mc_timer *t)
{
	struct lab_vm_run *v = t->data;
	int ret = create_vm(v);

	if (ret == 0)
		ret = link_guests(v->run);
	if (ret == 0)
		guest_start(v->guest);
	else if (ret == -HV_ENOENT || ret == -HV_ENODEV)
		mc_fail(v->run->machine, MC_FAULT_LAW,
			"VM '%s' cannot be created: there is no pool '%s' with a pCPU", v->vm->name,
			v->run->s->pool[v->vm->pool].name);
	else
		mc_fail(v->run->machine, ret == -HV_ENOMEM ? MC_FAULT_MEMORY : MC_FAULT_LAW,
			"VM '%s' cannot be created (error %d)", v->vm->name, -ret);
}

/* VMs that start with the host exist, all of them, before the first one boots. */
static int start_vms(struct lab_run *run)
{
	int ret = 0;

	for (unsigned i = 0; ret == 0 && i < run->s->n_vms; i++) {
		struct lab_vm_run *v = &run->vm[i];

		v->run = run;
		v->vm = &run->s->vm[i];
		v->credit_min = malloc(v->vm->maxvcpus * sizeof(*v->credit_min));
		if (!v->credit_min)
			return -HV_ENOMEM;
		for (unsigned k = 0; k < v->vm->maxvcpus; k++)
			v->credit_min[k] = INT64_MAX;
		mc_timer_init(&v->start, run->machine, MC_TIMER_SAMPLE, run->s->n_events + i,
			      vm_due, v);
		if (v->vm->start > 0)
			mc_timer_set(&v->start, v->vm->start);
		else
			ret = create_vm(v);
	}
	/* Last, so that nothing is appended to what the user gave. */
	if (ret == 0 && run->s->frame.n) {
		ret = lab_set_frame(run, &run->s->frame);
		/* A variant whose pools all have other policies has no use for it. */
		if (ret == -HV_EOPNOTSUPP)
			ret = 0;
	}
	if (ret == 0)
		ret = link_guests(run);
	for (unsigned i = 0; ret == 0 && i < run->s->n_vms; i++) {
		if (run->vm[i].guest)
			guest_start(run->vm[i].guest);
	}
	return ret;
}

static int build(struct lab_run *run, uint64_t seed)
{
	const struct scenario *s = run->s;
	int ret = lab_host_init(&run->host, s, seed);

	if (ret != 0)
		return ret;
	fill_guest_params(&run->guest_params, &s->hw);
	run->vm = calloc(s->n_vms ? s->n_vms : 1, sizeof(*run->vm));
	run->event = calloc(s->n_events ? s->n_events : 1, sizeof(*run->event));
	if (!run->vm || !run->event)
		return -HV_ENOMEM;
	ret = create_observer(run, seed);
	if (ret == 0)
		ret = create_machine(run);
	if (ret == 0)
		lab_operator_start(run);
	if (ret == 0)
		ret = start_vms(run);
	if (ret == 0)
		lab_timeline_start(run);
	return ret;
}

static void tear_down(struct lab_run *run)
{
	for (unsigned i = 0; run->vm && i < run->s->n_vms; i++) {
		if (run->vm[i].guest)
			guest_destroy(run->vm[i].guest);
		free(run->vm[i].credit_min);
	}
	lab_operator_stop(run);
	if (run->machine)
		mc_destroy(run->machine);
	observe_destroy(run->observe);
	free(run->vm);
	free(run->event);
	lab_host_fini(&run->host);
}

/* ---- running */

bool lab_run_to(struct lab_run *run, hv_time until)
{
	struct lab_result *r = run->result;
	struct observe_violation broken;

	if (r->status != LAB_DONE || run->until_reached)
		return false;

	do {
		hv_time next = mc_now(run->machine) + STEP_NS;
		const struct mc_fault *fault =
			mc_run_until(run->machine, next < until ? next : until);

		if (fault) {
			say(r,
			    fault->kind == MC_FAULT_STALL    ? LAB_STALL
			    : fault->kind == MC_FAULT_MEMORY ? LAB_FAILED
							     : LAB_BROKEN,
			    "at %.6f s: %s", (double)fault->time / 1e9, fault->text);
			return false;
		}
		if (!observe_check(run->observe, mc_now(run->machine), &broken)) {
			say(r, LAB_BROKEN, "ledger: %s", broken.text);
			return false;
		}
		if (observe_error(run->observe) != 0) /* observe_close() says what it was */
			return false;
		if (run->options->progress)
			atomic_store(run->options->progress, mc_now(run->machine));
		if (run->options->stop && atomic_load(run->options->stop)) {
			say(r, LAB_INTERRUPTED, "interrupted at %.3f s of virtual time",
			    (double)mc_now(run->machine) / 1e9);
			return false;
		}
	} while (mc_now(run->machine) < until && !run->until_reached);
	return !run->until_reached;
}

static void run_window(struct lab_run *run)
{
	struct lab_result *r = run->result;
	const struct sc_run *plan = &run->s->run;

	assert(plan->duration > 0);
	if (plan->warmup > 0 && lab_run_to(run, plan->warmup)) {
		observe_mark(run->observe, mc_now(run->machine));
		for (unsigned i = 0; i < run->s->n_vms; i++) {
			if (run->vm[i].guest)
				guest_measure(run->vm[i].guest);
		}
		lab_watch_reset(run);
		r->start = mc_now(run->machine);
	}
	if (r->status == LAB_DONE && !run->until_reached)
		lab_run_to(run, plan->warmup + plan->duration);
	if (r->status == LAB_DONE && plan->until && !run->until_reached)
		say(r, LAB_INTERRUPTED, "'%s' was not done after %.3f s (run.duration)",
		    plan->until, (double)mc_now(run->machine) / 1e9);
}

int lab_open(const struct scenario *s, uint64_t seed, const struct lab_options *options,
	     struct lab_result *result, struct lab_run **out)
{
	struct lab_run *run = calloc(1, sizeof(*run));
	int ret = -HV_ENOMEM;

	assert(s && options && result);
	memset(result, 0, sizeof(*result));
	result->seed = seed;
	result->longest_vm = result->longest_vcpu = -1;
	if (run) {
		run->s = s;
		run->options = options;
		run->result = result;
		ret = build(run, seed);
	}
	if (ret == 0) {
		*out = run;
		return 0;
	}
	if (ret != -HV_ENOMEM && result->status == LAB_DONE)
		say(result, LAB_FAILED, "the run cannot be set up: %s", strerror(-ret));
	if (run)
		lab_close(run);
	return ret;
}

int lab_finish(struct lab_run *run)
{
	return lab_collect(run, run->result);
}

void lab_close(struct lab_run *run)
{
	tear_down(run);
	free(run);
}

/* Puts the command into the event loop, where those of a timeline are. */
struct order {
	struct lab_run *run;
	const struct sc_op *op;
	struct lab_outcome *outcome;
	int error;
};

static void order_due(struct mc_timer *t)
{
	struct order *o = t->data;

	o->error = lab_command(o->run, o->op, o->outcome);
}

int lab_do(struct lab_run *run, const struct sc_op *op, const char **why)
{
	struct order o = {.run = run, .op = op, .outcome = &run->outcome};
	struct mc_timer timer;
	bool going;

	memset(&run->outcome, 0, sizeof(run->outcome));
	mc_timer_init(&timer, run->machine, MC_TIMER_SAMPLE, run->s->n_events + run->s->n_vms + 1,
		      order_due, &o);
	mc_timer_set(&timer, mc_now(run->machine));
	*why = run->outcome.text;
	going = lab_run_to(run, mc_now(run->machine));
	if (o.error)
		return o.error;
	while (going && !run->outcome.done)
		going = lab_run_to(run, mc_now(run->machine) + run->operator.retry);
	return going ? run->outcome.error : 0;
}

const struct scenario *lab_scenario(const struct lab_run *run)
{
	return run->s;
}

struct mc_machine *lab_machine(const struct lab_run *run)
{
	return run->machine;
}

struct mc_vm *lab_vm_of(const struct lab_run *run, unsigned vm)
{
	assert(vm < run->s->n_vms);
	return run->vm[vm].mvm;
}

int lab_run(const struct scenario *s, uint64_t seed, const struct lab_options *options,
	    struct lab_result *out)
{
	struct lab_run *run;
	int ret = lab_open(s, seed, options, out, &run);

	if (ret != 0 && ret != -HV_ENOMEM)
		return 0; /* the result says why */
	if (ret == 0) {
		run_window(run);
		ret = lab_finish(run);
		lab_close(run);
	}
	if (ret != 0)
		lab_result_clear(out);
	return ret;
}
