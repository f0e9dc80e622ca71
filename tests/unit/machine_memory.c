/*
 * What running vCPUs share: LLC, memory nodes, clock, caches that others displaced; and the costs
 * that a host may switch on. Worked examples 6, 8 and 11 of the hardware model, through the whole
 * machine.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "machine/hwmodel.h"
#include "machine_guest.h"

#define R(x)	((int64_t)((x)*MC_ONE + 0.5))
#define MS	1000000LL
#define FOREVER (1000000 * MS)

static void near(double got, double want, double tolerance)
{
	if (!(fabs(got - want) <= tolerance * fabs(want)))
		fail_msg("%.8f, expected %.8f within %g", got, want, tolerance);
}

static void run(struct world *w, hv_time until)
{
	const struct mc_fault *f = mc_run_until(w->m, until);
	struct observe_violation v;

	if (f)
		fail_msg("fault at %lld: %s", (long long)f->time, f->text);
	if (!observe_check(w->observe, until, &v))
		fail_msg("%s", v.text);
}

static void start(struct world *w, const char *policy)
{
	assert_int_equal(world_start(w, policy, true, NULL), 0);
}

static int64_t spent(struct world *w, const struct rule *r, enum observe_time category)
{
	return observe_vcpu(w->observe, r->mv->hv->observer)->ns[category];
}

/* Wall ns per nns of a vCPU in a steady state, over 100 ms. */
static double pace_of(struct world *w, const struct rule *r)
{
	hv_time now = mc_now(w->m);
	int64_t before = spent(w, r, OBSERVE_USEFUL);

	run(w, now + 100 * MS);
	return 100e6 / (double)(spent(w, r, OBSERVE_USEFUL) - before);
}

static void striped_memory_is_half_remote(void **state)
{
	const struct mc_class jbb = {.sigma = R(0.52), .mu = R(0.35), .ws = 3 << 20};
	struct world *w = world_new(2, 4, 2);
	struct rule *striped, *local, *remote;

	(void)state;
	start(w, "null");
	striped = world_vcpu(w, world_vm(w, 1, -1), &jbb, FOREVER, 0, 0);
	local = world_vcpu(w, world_vm(w, 1, 0), &jbb, FOREVER, 0, 2);
	remote = world_vcpu(w, world_vm(w, 1, 1), &jbb, FOREVER, 0, 4);
	world_up(w);
	run(w, 50 * MS);
	near(pace_of(w, striped), 1.105, 1e-5);
	near(pace_of(w, local), 1.0, 1e-5);
	near(pace_of(w, remote), 0.65 + 0.35 * 1.6, 1e-5);
	/* all that is lost is memory's */
	assert_int_equal(spent(w, striped, OBSERVE_SMT), 0);
	near((double)spent(w, striped, OBSERVE_MEMORY),
	     0.105 * (double)spent(w, striped, OBSERVE_USEFUL), 1e-3);
	world_free(w);
}

static void bandwidth_of_a_node_is_shared(void **state)
{
	const struct mc_class stream = {.sigma = MC_ONE, .mu = R(0.35), .bw = 3500000000};
	const struct mc_class light = {.sigma = MC_ONE, .mu = R(0.35)};
	struct world *w = world_new(2, 4, 2);
	struct rule *r[6];

	(void)state;
	start(w, "null");
	for (int i = 0; i < 4; i++)
		r[i] = world_vcpu(w, world_vm(w, 1, 0), &stream, FOREVER, 0, 2 * i);
	r[4] = world_vcpu(w, world_vm(w, 1, 0), &light, FOREVER, 0, 8);	 /* same memory, far */
	r[5] = world_vcpu(w, world_vm(w, 1, 1), &light, FOREVER, 0, 10); /* other memory */
	world_up(w);
	run(w, 50 * MS);
	double bw = 1.21 + 0.20 / 0.47 * 0.30;

	for (int i = 0; i < 4; i++)
		near(pace_of(w, r[i]), 0.65 + 0.35 * bw, 1e-5);
	near(pace_of(w, r[4]), 0.65 + 0.35 * bw * 1.6, 1e-5);
	near(pace_of(w, r[5]), 1.0, 1e-5);
	/* two of them stop: the rest is faster */
	hv_vcpu_down(r[0]->mv->hv);
	hv_vcpu_down(r[1]->mv->hv);
	run(w, mc_now(w->m) + 10 * MS);
	bw = 1.15 + (0.35 - 0.31) / (0.50 - 0.31) * (1.21 - 1.15);
	near(pace_of(w, r[2]), 0.65 + 0.35 * bw, 1e-5);
	world_free(w);
}

static void small_changes_of_demand_are_ignored(void **state)
{
	const struct mc_class stream = {.sigma = MC_ONE, .mu = R(0.35), .bw = 3500000000};
	const struct mc_class drop = {.sigma = MC_ONE, .mu = R(0.35), .bw = 300000000};
	struct world *w = world_new(2, 4, 2);
	struct rule *r, *a, *b;
	double alone;

	(void)state;
	start(w, "null");
	r = world_vcpu(w, world_vm(w, 1, 0), &stream, FOREVER, 0, 0);
	a = world_vcpu(w, world_vm(w, 1, 0), &drop, FOREVER, 0, 2);
	b = world_vcpu(w, world_vm(w, 1, 0), &drop, FOREVER, 0, 4);
	hv_vcpu_up(r->mv->hv);
	run(w, 50 * MS);
	alone = pace_of(w, r);
	near(alone, 0.65 + 0.35 * (1.10 + (0.175 - 0.14) / 0.17 * 0.05), 1e-5);
	hv_vcpu_up(a->mv->hv); /* 1.5 % of the capacity */
	run(w, 200 * MS);
	near(pace_of(w, r), alone, 1e-9);
	hv_vcpu_up(b->mv->hv); /* 3 % */
	run(w, 400 * MS);
	near(pace_of(w, r), 0.65 + 0.35 * (1.10 + (0.205 - 0.14) / 0.17 * 0.05), 1e-5);
	world_free(w);
}

static void shared_set_of_a_vm_is_counted_once(void **state)
{
	const int64_t mb = 1 << 20;
	const struct mc_class own = {.sigma = MC_ONE, .mu = R(0.35), .ws = 8 * mb};
	const struct mc_class shared = {
		.sigma = MC_ONE, .mu = R(0.35), .ws = 8 * mb, .shared = true};

	(void)state;
	for (int sharing = 0; sharing < 2; sharing++) {
		struct world *w = world_new(1, 4, 1);
		struct mc_vm *vm;
		double llc;

		start(w, "null");
		vm = world_vm(w, 2, 0);
		vm->shared_ws = 8 * mb;
		for (int i = 0; i < 2; i++)
			world_vcpu(w, vm, sharing ? &shared : &own, FOREVER, 0, i);
		world_vcpu(w, world_vm(w, 1, 0), &own, FOREVER, 0, 2);
		world_up(w);
		run(w, 50 * MS);
		llc = 1 + 1.2 * (1 - 12.0 / (sharing ? 16 : 24));
		near(pace_of(w, &w->rules[0]), 0.65 + 0.35 * llc, 1e-5);
		near(pace_of(w, &w->rules[2]), 0.65 + 0.35 * llc, 1e-5);
		world_free(w);
	}
}

static void clock_follows_active_cores(void **state)
{
	const struct mc_class plain = {.sigma = MC_ONE};
	struct world *w = world_new(1, 4, 1);

	(void)state;
	w->params.nr_turbo = 4;
	w->params.turbo[0] = w->params.turbo[1] = R(1.136);
	w->params.turbo[2] = w->params.turbo[3] = R(1.0);
	start(w, "null");
	for (int i = 0; i < 3; i++) {
		world_vcpu(w, world_vm(w, 1, 0), &plain, 10 * MS, 0, i);
		hv_vcpu_up(w->rules[i].mv->hv);
		run(w, (i + 1) * 1000 * MS);
	}
	/* 1000 ms with at most two cores, then 1000 ms with three */
	near((double)w->rules[1].done, (1000 * 1.136 + 1000) / 10, 0.01);
	near((double)w->rules[2].done, 1000 / 10, 0.01);
	/* a fast ns is still one ns */
	near((double)spent(w, &w->rules[0], OBSERVE_USEFUL), 3000e6, 1e-4);
	world_free(w);
}

/* Example 8: a build is preempted by a hog, or by another build, on one core (X7560 class). */
static void caches_are_refilled_after_preemption(void **state)
{
	const struct mc_class build = {.sigma = MC_ONE, .mu = R(0.15), .ws = 3 << 19};
	const struct mc_class hog = {.sigma = MC_ONE, .ws = 16 << 10};
	const double mb = 1 << 20;
	const double expect[] = {262144 / 16.0 / 14 + 1.5 * mb * (16384 / (24 * mb)) / 5,
				 262144.0 / 14 + 0.0625 * 1.5 * mb / 5};

	(void)state;
	for (int other = 0; other < 2; other++) {
		struct world *w = world_new(1, 1, 1);
		struct rule *r;
		int64_t cold;
		uint64_t dispatched;

		w->params.llc_bytes = 24 << 20;
		w->params.mem_bw_thread = 5000000000;
		start(w, "credit2");
		r = world_vcpu(w, world_vm(w, 1, 0), &build, FOREVER, 0, -1);
		world_vcpu(w, world_vm(w, 1, 0), other ? &build : &hog, FOREVER, 0, -1);
		world_up(w);
		run(w, 500 * MS);
		cold = spent(w, r, OBSERVE_COLD);
		dispatched = r->dispatched;
		run(w, 2500 * MS);
		cold = spent(w, r, OBSERVE_COLD) - cold;
		dispatched = r->dispatched - dispatched;
		assert_true(dispatched > 20);
		/* per dispatch; the last one may not have paid yet */
		near((double)cold / (double)dispatched, expect[other], 5e-3);
		world_free(w);
	}
}

/* A vCPU comes back to its core while nobody else was there: nothing to refill. */
static void own_core_stays_warm(void **state)
{
	const struct mc_class build = {.sigma = MC_ONE, .mu = R(0.15), .ws = 3 << 19};
	struct world *w = world_new(1, 1, 1);
	struct rule *r;
	int64_t cold;

	(void)state;
	start(w, "credit2");
	r = world_vcpu(w, world_vm(w, 1, 0), &build, MS, MS, -1);
	world_up(w);
	run(w, 20 * MS);
	cold = spent(w, r, OBSERVE_COLD);
	run(w, 500 * MS);
	assert_true(r->dispatched > 200);
	assert_int_equal(spent(w, r, OBSERVE_COLD), cold);
	world_free(w);
}

static int64_t hypervisor_share(void (*tune)(struct mc_params *p))
{
	const struct mc_class plain = {.sigma = MC_ONE};
	struct world *w = world_new(1, 1, 1);
	struct rule *r;
	int64_t ns;

	if (tune)
		tune(&w->params);
	start(w, "null");
	r = world_vcpu(w, world_vm(w, 1, 0), &plain, MS, MS, -1);
	world_up(w);
	run(w, 1000 * MS);
	ns = spent(w, r, OBSERVE_HYPERVISOR);
	/* each round: switch and entry, then the exit of the halt */
	near((double)ns / (double)r->dispatched, tune ? 0.0 + 3400 + 2500 : 3400, 0.01);
	world_free(w);
	return ns;
}

static void with_mitigations(struct mc_params *p)
{
	p->ibpb_on = true;
	p->l1d = MC_L1D_COND;
}

static void mitigations_cost_at_each_switch(void **state)
{
	(void)state;
	assert_true(hypervisor_share(NULL) < hypervisor_share(with_mitigations));
}

static void pcpus_that_are_off_line_run_nothing(void **state)
{
	const struct mc_class plain = {.sigma = R(0.6)};
	static const bool online[] = {false, true, false, true};
	struct world *w = world_new(1, 2, 2);

	(void)state;
	w->params.online = online;
	start(w, "credit2");
	for (int i = 0; i < 4; i++)
		world_vcpu(w, world_vm(w, 1, 0), &plain, MS, 0, -1);
	world_up(w);
	run(w, 1000 * MS);
	for (unsigned i = 0; i < 4; i++) {
		const struct observe_pcpu *pc = observe_pcpu_result(w->observe, i);

		assert_int_equal(pc->ns[OBSERVE_PCPU_OFFLINE], online[i] ? 0 : 1000 * MS);
		assert_true(online[i] == (pc->ns[OBSERVE_PCPU_GUEST] > 900 * MS));
	}
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(spent(w, &w->rules[i], OBSERVE_SMT), 0); /* no sibling runs */
	world_free(w);
}

static void bad_parameters_are_refused(void **state)
{
	struct world *w = world_new(1, 1, 1);

	(void)state;
	w->params.nr_pcpus = 0;
	assert_int_equal(world_start(w, "credit2", false, NULL), -HV_EINVAL);
	w->params.nr_pcpus = 1;
	w->params.cold_share = MC_ONE;
	assert_int_equal(world_start(w, "credit2", false, NULL), -HV_EINVAL);
	w->params.cold_share = MC_ONE / 2;
	assert_int_equal(world_start(w, "no such policy", false, NULL), -HV_ENOENT);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(striped_memory_is_half_remote),
		cmocka_unit_test(bandwidth_of_a_node_is_shared),
		cmocka_unit_test(small_changes_of_demand_are_ignored),
		cmocka_unit_test(shared_set_of_a_vm_is_counted_once),
		cmocka_unit_test(clock_follows_active_cores),
		cmocka_unit_test(caches_are_refilled_after_preemption),
		cmocka_unit_test(own_core_stays_warm),
		cmocka_unit_test(mitigations_cost_at_each_switch),
		cmocka_unit_test(pcpus_that_are_off_line_run_nothing),
		cmocka_unit_test(bad_parameters_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
