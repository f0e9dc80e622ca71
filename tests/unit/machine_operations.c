/*
 * Operator commands at random moments of a mixed load: pause, unpause, pin, weight, cap, on and off
 * line, VMs that come and go, interrupts from anywhere. The laws of engine, policy, ledger and
 * machine hold after each, and a seed reproduces the run. With core and socket granularity no two
 * VMs are ever in guest mode on one core, and threads are forced idle.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "machine_guest.h"

#define R(x) ((int64_t)((x)*MC_ONE + 0.5))
#define US   1000LL
#define MS   1000000LL

static const struct mc_class classes[] = {
	{.sigma = R(0.58), .mu = R(0.15), .ws = 3 << 19, .bw = 800000000},
	{.sigma = R(0.60), .ws = 16 << 10},
	{.sigma = R(0.52), .mu = R(0.35), .ws = 3 << 20, .bw = 1500000000, .shared = true},
};

static void spin_now_and_then(struct rule *r)
{
	if (r->done % 3 == 0) {
		mc_work(r->mv, MC_SPIN, r->cls, 20 * US);
	} else if (r->done % 3 == 1) {
		mc_charge(r->mv, 3 * US, MC_CHARGE_HYPERVISOR);
		mc_charge(r->mv, 1 * US, MC_CHARGE_USEFUL);
		mc_yield(r->mv);
	} else if (r->sleep) {
		mc_timer_set(&r->timer, mc_now(r->mv->machine) + r->sleep);
		mc_halt(r->mv);
	} else {
		mc_interrupt(r->mv, r->mv, 2);
		rule_next(r);
	}
}

static struct mc_vm *add_vm(struct world *w, struct mc_rng *rng)
{
	unsigned vcpus = 1 + (unsigned)mc_rng_below(rng, 4);
	struct mc_vm *vm = world_vm(w, vcpus, (int)mc_rng_below(rng, 3) - 1);

	assert_non_null(vm);
	vm->shared_ws = 3 << 20;
	for (unsigned i = 0; i < vcpus; i++) {
		uint64_t k = mc_rng_below(rng, 100);
		struct rule *r = world_vcpu(w, vm, &classes[k % 3], (20 + (int64_t)k * 17) * US,
					    (int64_t)(k % 5) * 331 * US, -1);

		assert_non_null(r);
		if (k % 2)
			r->on_done = spin_now_and_then;
		hv_vcpu_up(r->mv->hv);
	}
	return vm;
}

static unsigned paused[1024]; /* by VM */

static void random_mask(struct mc_rng *rng, struct hv_mask *mask, unsigned nr)
{
	*mask = (struct hv_mask){{0}};
	for (unsigned i = 0; i < 1 + nr / 3; i++)
		hv_mask_set(mask, (unsigned)mc_rng_below(rng, nr));
}

static void operate(struct world *w, struct mc_rng *rng)
{
	struct rule *r = &w->rules[mc_rng_below(rng, w->nr_rules)];
	struct mc_vm *vm = r->mv->vm;
	struct hv_domain_params p = {.weight = 0};
	struct hv_mask mask;

	if (mc_rng_below(rng, 40) == 0 && w->nr_vms < 100)
		add_vm(w, rng);
	if (!vm->domain || vm->dying)
		return;
	switch (mc_rng_below(rng, 14)) {
	case 0:
		if (!hv_domain_pause(vm->domain))
			paused[vm->index]++;
		break;
	case 1:
	case 2:
	case 10:
	case 11:
		if (paused[vm->index]) {
			assert_int_equal(hv_domain_unpause(vm->domain), 0);
			paused[vm->index]--;
		}
		break;
	case 3:
		random_mask(rng, &mask, w->params.nr_pcpus);
		assert_int_equal(
			hv_affinity_set(r->mv->hv, &mask, NULL),
			hv_mask_intersects(&mask, &mc_pool(w->m)->res_valid, 1) ? 0 : -HV_EINVAL);
		break;
	case 4:
		random_mask(rng, &mask, w->params.nr_pcpus);
		assert_int_equal(hv_affinity_set(r->mv->hv, NULL, &mask), 0);
		break;
	case 5:
		p.weight = 1 + (uint32_t)mc_rng_below(rng, 2000);
		p.cap = (uint32_t)mc_rng_below(rng, 3) * 80;
		(void)hv_domain_params_set(vm->domain, &p); /* null has none */
		break;
	case 6:
		hv_vcpu_down(r->mv->hv);
		break;
	case 7:
	case 12:
	case 13:
		hv_vcpu_up(r->mv->hv);
		break;
	case 8:
		mc_interrupt(r->mv, NULL, 16);
		break;
	case 9:
		if (mc_rng_below(rng, 6) == 0) {
			for (unsigned i = 0; i < vm->nr_vcpus; i++)
				mc_timer_cancel(&((struct rule *)vm->vcpu[i]->guest)->timer);
			mc_vm_destroy(vm);
		}
		break;
	}
}

struct step {
	struct world *w;
	struct mc_rng *rng;
};

static void guarded_operation(void *ctx)
{
	struct step *s = ctx;

	operate(s->w, s->rng);
}

static void fail_on(const struct mc_fault *f)
{
	if (f)
		fail_msg("fault at %lld ns: %s", (long long)f->time, f->text);
}

static uint64_t random_run(const char *policy, enum hv_gran gran, uint64_t seed)
{
	struct world *w = world_new(2, 2, 2);
	struct mc_rng rng;
	struct step s = {w, &rng};
	hv_time at = 0;
	struct observe_totals totals;
	uint64_t hash;

	mc_rng_init(&rng, seed, 0, 0);
	for (unsigned i = 0; i < 1024; i++)
		paused[i] = 0;
	w->hash = true;
	w->gran = gran;
	assert_int_equal(world_start(w, policy, true, NULL), 0);
	for (int i = 0; i < 6; i++)
		add_vm(w, &rng);
	for (int i = 0; i < 1500; i++) {
		struct observe_violation ov;
		struct hv_violation hv;

		at += (int64_t)mc_rng_below(&rng, 700 * US);
		fail_on(mc_run_until(w->m, at));
		if (!observe_check(w->observe, at, &ov))
			fail_msg("step %d: %s", i, ov.text);
		if (hv_check(mc_sys(w->m), &hv))
			fail_msg("step %d: %s", i, hv.law);
		fail_on(mc_guard(w->m, guarded_operation, &s));
	}
	/* the run was worth its name */
	assert_true(w->nr_vms > 20);
	/* two sockets that decide as one each decide less often than eight pCPUs */
	assert_true(mc_counters(w->m)->wakes > 500 / mc_pool(w->m)->g &&
		    mc_counters(w->m)->switches > 1500 / mc_pool(w->m)->g);
	observe_totals(w->observe, &totals);
	assert_true((totals.shared == 0) == (gran != HV_GRAN_CPU));
	assert_true((totals.pcpu_ns[OBSERVE_PCPU_FORCED_IDLE] > 0) == (gran != HV_GRAN_CPU));
	/* a thread that is held explains one wait at most */
	assert_true(totals.vcpus.ns[OBSERVE_WAIT_CORE] <=
		    totals.pcpu_ns[OBSERVE_PCPU_FORCED_IDLE] +
			    totals.pcpu_ns[OBSERVE_PCPU_HYPERVISOR]);
	assert_true((totals.vcpus.ns[OBSERVE_WAIT_CORE] > 0) == (gran != HV_GRAN_CPU));
	hash = observe_hash(w->observe);
	world_free(w);
	return hash;
}

static void laws_hold_whatever_the_operator_does(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++) {
		assert_true(random_run("credit2", HV_GRAN_CPU, seed));
		assert_true(random_run("null", HV_GRAN_CPU, seed));
	}
}

static void no_core_is_shared_with_core_and_socket_granularity(void **state)
{
	static const char *const policies[] = {"credit2", "credit", "rtds", "null"};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		for (uint64_t seed = 1; seed <= 3; seed++) {
			assert_true(random_run(policies[i], HV_GRAN_CORE, seed));
			assert_true(random_run(policies[i], HV_GRAN_SOCKET, seed));
		}
	}
}

static void a_seed_reproduces_the_run(void **state)
{
	uint64_t first = random_run("credit2", HV_GRAN_CORE, 99);

	(void)state;
	assert_true(first == random_run("credit2", HV_GRAN_CORE, 99));
	assert_true(first != random_run("credit2", HV_GRAN_CORE, 98));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(laws_hold_whatever_the_operator_does),
		cmocka_unit_test(no_core_is_shared_with_core_and_socket_granularity),
		cmocka_unit_test(a_seed_reproduces_the_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
