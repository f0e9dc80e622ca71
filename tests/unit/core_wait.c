/*
 * The split of waiting under core scheduling (docs/observe.md, "For the core or in the queue"), by
 * hand on hosts small enough to count threads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "machine/hwmodel.h"
#include "machine_guest.h"

#define US 1000LL
#define MS 1000000LL
#define S  1000000000LL

static const struct mc_class plain = {.sigma = MC_ONE};

static struct world *start(unsigned cores, enum hv_gran gran, const char *policy)
{
	struct world *w = world_new(1, cores, 2);

	w->gran = gran;
	assert_int_equal(world_start(w, policy, true, NULL), 0);
	return w;
}

/* Busy VMs; pcpu < 0: anywhere. */
static void hogs(struct world *w, unsigned vms, unsigned vcpus, int pcpu)
{
	for (unsigned i = 0; i < vms; i++) {
		struct mc_vm *vm = world_vm(w, vcpus, 0);

		for (unsigned v = 0; v < vcpus; v++)
			assert_non_null(world_vcpu(w, vm, &plain, 10 * MS, 0, pcpu));
	}
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

static const int64_t *ledger(struct world *w, const struct rule *r)
{
	return observe_vcpu(w->observe, r->mv->hv->observer)->ns;
}

/* What the host's vCPUs waited, and what its pCPUs were forced idle, in 1/1000 of a thread. */
struct figures {
	int64_t core, queue, forced;
	int64_t unexplained; /* ns of core wait less ns of forced idle */
};

static struct figures of_run(struct world *w, hv_time until)
{
	struct observe_totals t;
	struct figures f;

	world_up(w);
	run(w, 100 * MS);
	observe_mark(w->observe, 100 * MS);
	run(w, until);
	observe_totals(w->observe, &t);
	until -= 100 * MS;
	f.core = t.vcpus.ns[OBSERVE_WAIT_CORE] * 1000 / until;
	f.queue = t.vcpus.ns[OBSERVE_WAIT_QUEUE] * 1000 / until;
	f.forced = t.pcpu_ns[OBSERVE_PCPU_FORCED_IDLE] * 1000 / until;
	f.unexplained = t.vcpus.ns[OBSERVE_WAIT_CORE] - t.pcpu_ns[OBSERVE_PCPU_FORCED_IDLE];
	return f;
}

/* One core. One of the two runs, its sibling thread is idle and would run the other. */
static void two_single_vcpu_hogs_wait_for_the_core(void **state)
{
	struct world *w = start(1, HV_GRAN_CORE, "credit2");
	struct figures f;

	(void)state;
	hogs(w, 2, 1, -1);
	f = of_run(w, 2 * S);
	assert_in_range(f.core, 990, 1000);
	assert_in_range(f.queue, 0, 10); /* while the core switches its thread is not idle */
	assert_in_range(f.forced, 990, 1000);
	assert_int_equal(f.unexplained, 0);
	for (unsigned i = 0; i < 2; i++) {
		const int64_t *ns = ledger(w, &w->rules[i]);

		assert_in_range(ns[OBSERVE_WAIT_CORE], 19 * S / 10 * 48 / 100,
				19 * S / 10 * 52 / 100);
	}
	world_free(w);
}

/* One thread is forced idle, two wait: with granularity cpu one of them would wait all the same. */
static void a_forced_idle_thread_explains_the_wait_of_one(void **state)
{
	struct world *w = start(1, HV_GRAN_CORE, "credit2");
	struct figures f;

	(void)state;
	hogs(w, 3, 1, -1);
	f = of_run(w, 2 * S);
	assert_in_range(f.forced, 990, 1000);
	assert_in_range(f.core, 990, 1000);
	assert_in_range(f.queue, 1000, 1010);
	assert_int_equal(f.unexplained, 0);
	for (unsigned i = 0; i < 3; i++) /* and they take turns in it */
		assert_in_range(ledger(w, &w->rules[i])[OBSERVE_WAIT_CORE], S / 2, S * 8 / 10);
	world_free(w);
}

/* Units that fill the core: nothing is forced idle, others have the threads. */
static void full_units_wait_in_the_queue(void **state)
{
	struct world *w = start(1, HV_GRAN_CORE, "credit2");
	struct figures f;

	(void)state;
	hogs(w, 2, 2, -1);
	f = of_run(w, 2 * S);
	assert_int_equal(f.forced, 0);
	assert_int_equal(f.core, 0);
	assert_in_range(f.queue, 1990, 2000);
	world_free(w);
}

/* With granularity cpu there is no such wait. */
static void no_wait_is_for_the_core_with_granularity_cpu(void **state)
{
	struct world *w = start(1, HV_GRAN_CPU, "credit2");
	struct figures f;

	(void)state;
	hogs(w, 3, 1, -1);
	f = of_run(w, 2 * S);
	assert_int_equal(f.core, 0);
	assert_in_range(f.queue, 990, 1010);
	world_free(w);
}

/* Core 0 has a thread to spare, but those that wait may not use it. */
static void a_thread_that_one_may_not_use_explains_nothing(void **state)
{
	struct world *w = start(2, HV_GRAN_CORE, "credit2");
	struct figures f;

	(void)state;
	hogs(w, 1, 1, 0);
	hogs(w, 2, 2, 2);
	f = of_run(w, 2 * S);
	assert_int_equal(f.forced, 1000);
	assert_int_equal(f.core, 0);
	assert_in_range(f.queue, 1990, 2000);
	world_free(w);
}

/* The same of another pool, whose pCPUs no affinity excludes. */
static void a_thread_of_another_pool_explains_nothing(void **state)
{
	struct world *w = world_new(1, 2, 2);
	struct mc_pool_config pool = {.policy = "credit2", .gran = HV_GRAN_CORE};
	struct figures f;

	(void)state;
	hv_mask_set(&pool.pcpus, 2);
	hv_mask_set(&pool.pcpus, 3);
	w->gran = HV_GRAN_CORE;
	w->pools = &pool;
	w->nr_pools = 1;
	assert_int_equal(world_start(w, "credit2", true, NULL), 0);
	hogs(w, 1, 1, -1); /* pool 0 */
	w->pool = hv_pool_find(mc_sys(w->m), 1);
	hogs(w, 2, 2, -1);
	f = of_run(w, 2 * S);
	assert_int_equal(f.forced, 1000);
	assert_int_equal(f.core, 0);
	assert_in_range(f.queue, 1990, 2000);
	world_free(w);
}

/*
 * A member that wakes while its unit runs: its thread stands idle for it until the request arrives
 * there, C6. Another VM that has waited for longer and counts as waiting for that thread gets back
 * into the queue for so long.
 */
static void a_member_not_yet_loaded_waits_for_the_core(void **state)
{
	struct world *w = start(1, HV_GRAN_CORE, "null");
	struct rule *sleeper;
	struct mc_vm *vm;

	(void)state;
	hogs(w, 1, 2, -1);
	vm = w->rules[0].mv->vm;
	sleeper = &w->rules[1];
	sleeper->work = 300 * US;
	sleeper->sleep = 700 * US;
	hogs(w, 1, 1, -1); /* null gives it no core: it waits for ever */
	world_up(w);
	run(w, MS);
	observe_mark(w->observe, MS);
	run(w, 101 * MS);
	assert_int_equal(vm->nr_vcpus, 2);
	assert_true(sleeper->done > 80);
	{
		const struct observe_vcpu *v = observe_vcpu(w->observe, sleeper->mv->hv->observer);
		const int64_t *other = ledger(w, &w->rules[2]);
		struct observe_totals t;
		int64_t own = v->ns[OBSERVE_WAIT_CORE];

		observe_totals(w->observe, &t);
		assert_int_equal(v->ns[OBSERVE_WAIT_QUEUE], 0);
		assert_in_range(own, 80 * US, 110 * US); /* 1 us each time */
		assert_int_equal(own + other[OBSERVE_WAIT_CORE],
				 t.pcpu_ns[OBSERVE_PCPU_FORCED_IDLE]);
		assert_in_range(other[OBSERVE_WAIT_CORE], 60 * MS, 70 * MS);
		assert_int_equal(other[OBSERVE_WAIT_CORE] + other[OBSERVE_WAIT_QUEUE], 100 * MS);
	}
	world_free(w);
}

/*
 * A unit wakes on an idle core: C6 and the idle exit bring the first thread, which any wake takes;
 * then it waits as long for its sibling, which only core scheduling asks for.
 */
static void a_rendezvous_of_idle_threads_is_waited_for(void **state)
{
	struct world *w = start(1, HV_GRAN_CORE, "null");
	const struct mc_costs *c = &w->params.cost;
	int64_t reach = c->ipi + hw_idle_exit(&w->params, 50 * MS);
	const int64_t *ns;
	struct rule *r;

	(void)state;
	r = world_vcpu(w, world_vm(w, 1, 0), &plain, 0, 0, -1);
	assert_non_null(r);
	world_up(w);
	run(w, 100 * MS);
	observe_mark(w->observe, 100 * MS);
	mc_interrupt(r->mv, NULL, 1);
	run(w, 200 * MS);
	ns = ledger(w, r);
	assert_int_equal(r->interrupts, 1);
	assert_int_equal(ns[OBSERVE_WAIT_QUEUE], reach);
	assert_int_equal(ns[OBSERVE_WAIT_CORE], reach);
	world_free(w);
}

/*
 * The core leaves its pool while one thread waits for the other before a decision. Nobody will look
 * for that thread any more: it is idle from then on, and no longer held.
 */
static void a_thread_that_waits_goes_on_when_its_core_leaves_the_pool(void **state)
{
	struct world *w = start(2, HV_GRAN_CORE, "credit2");
	struct hv_sys *sys = mc_sys(w->m);
	struct observe_totals t;
	hv_time now = 100 * MS;

	(void)state;
	run(w, now);
	hv_tickle(hv_pool_sched(mc_pool(w->m)), 2);
	while (hv_pcpu_wait(sys, 2) != HV_WAIT_ENTER && now < 101 * MS)
		run(w, now += 100);
	assert_int_equal(hv_pcpu_wait(sys, 2), HV_WAIT_ENTER);
	assert_int_equal(hv_pool_remove_pcpu(mc_pool(w->m), 2), 0);
	mc_reshaped(w->m);
	observe_mark(w->observe, now);
	run(w, 200 * MS);
	observe_totals(w->observe, &t);
	assert_int_equal(t.pcpu_ns[OBSERVE_PCPU_HYPERVISOR], 0);
	assert_int_equal(t.pcpu_ns[OBSERVE_PCPU_IDLE], 4 * (200 * MS - now));
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_single_vcpu_hogs_wait_for_the_core),
		cmocka_unit_test(a_forced_idle_thread_explains_the_wait_of_one),
		cmocka_unit_test(full_units_wait_in_the_queue),
		cmocka_unit_test(no_wait_is_for_the_core_with_granularity_cpu),
		cmocka_unit_test(a_thread_that_one_may_not_use_explains_nothing),
		cmocka_unit_test(a_thread_of_another_pool_explains_nothing),
		cmocka_unit_test(a_member_not_yet_loaded_waits_for_the_core),
		cmocka_unit_test(a_rendezvous_of_idle_threads_is_waited_for),
		cmocka_unit_test(a_thread_that_waits_goes_on_when_its_core_leaves_the_pool),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
