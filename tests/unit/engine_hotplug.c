/* SPDX-License-Identifier: MIT */
/*
 * pCPUs off and on line, SMT, suspend and resume (core-scheduling 4.5, behaviours 27 and 29 of
 * section 8; bugs 1, 4, 9 and 10 of section 9; real-Xen faults 3, 7, 8).
 *
 * The host is 4 cores of 2 threads: pCPUs {0,1} {2,3} {4,5} {6,7}.
 */
#include "fake_host.h"

#define MS INT64_C(1000000)

static int set_up(void **state)
{
	struct fake *f = fake_new(1, 4, 2, hv_policies);

	*state = f;
	return 0;
}

static struct hv_domain *busy(struct fake *f, int id, unsigned nr_vcpus)
{
	struct hv_domain *d = fake_domain(f, id, nr_vcpus);

	for (unsigned i = 0; i < nr_vcpus; i++)
		hv_vcpu_up(d->vcpus[i]);
	fake_drain(f);
	return d;
}

static void all_run(struct fake *f, struct hv_domain *d)
{
	for (unsigned i = 0; i < d->nr_vcpus; i++) {
		struct hv_runstate before, after;

		hv_runstate_get(d->vcpus[i], &before);
		for (unsigned k = 0; k < 100; k++) {
			fake_run(f, f->now + 10 * MS);
			hv_runstate_get(d->vcpus[i], &after);
			if (after.time[HV_RUNNING] > before.time[HV_RUNNING])
				break;
		}
		assert_true(after.time[HV_RUNNING] > before.time[HV_RUNNING]);
	}
	fake_check(f);
}

/* What a host does with a pCPU that is down. */
static void forget(struct fake *f, unsigned pcpu)
{
	assert_null(hv_resource_of(f->sys, pcpu));
	assert_null(hv_pcpu_loaded(f->sys, pcpu));
	f->pending[pcpu] = 0;
	f->waiting[pcpu] = false;
}

/* One more turn of the pCPUs is enough. */
static void down(struct fake *f, unsigned pcpu)
{
	int rc = hv_pcpu_down(f->sys, pcpu);

	fake_check(f);
	if (rc == -HV_EAGAIN) {
		fake_drain(f);
		rc = hv_pcpu_down(f->sys, pcpu);
	}
	assert_int_equal(rc, 0);
	forget(f, pcpu);
	fake_drain(f);
	fake_check(f);
}

static bool is_free(struct fake *f, unsigned pcpu)
{
	struct hv_mask m;

	hv_free_pcpus(f->sys, &m);
	return hv_mask_test(&m, pcpu);
}

static void suspend(struct fake *f)
{
	int rc = hv_suspend(f->sys);

	if (rc == -HV_EAGAIN) {
		fake_drain(f);
		rc = hv_suspend(f->sys);
	}
	assert_int_equal(rc, 0);
	fake_check(f);
}

/* ---- hotplug */

static void the_whole_core_leaves_with_one_thread_and_returns_when_complete(void **state)
{
	struct fake *f = *state;
	struct hv_domain *d;

	fake_boot_gran(f, "credit2", HV_GRAN_CORE);
	d = busy(f, 1, 8);
	down(f, 3);
	assert_true(is_free(f, 2));
	assert_int_equal(hv_resource_of(f->sys, 2)->g, 1);
	assert_int_equal(hv_mask_weight(&f->pool->cpu_valid, 1), 6);
	assert_false(hv_mask_test(hv_core_mask(f->sys, 2), 3)); /* no sibling any more */
	all_run(f, d);
	assert_int_equal(hv_pcpu_up(f->sys, 3), 0);
	assert_int_equal(hv_mask_weight(&f->pool->cpu_valid, 1), 8);
	assert_int_equal(hv_resource_of(f->sys, 3)->g, 2);
	assert_true(hv_mask_test(hv_core_mask(f->sys, 2), 3));
	fake_drain(f);
	all_run(f, d);
	assert_false(hv_pcpu_loaded(f->sys, 2)->idle);
}

static void a_half_core_does_not_join(void **state)
{
	struct fake *f = *state;

	fake_boot_gran(f, "credit", HV_GRAN_CORE);
	down(f, 5);
	down(f, 4);
	assert_int_equal(hv_pcpu_up(f->sys, 5), 0);
	assert_true(is_free(f, 5));
	assert_int_equal(hv_mask_weight(&f->pool->cpu_valid, 1), 6);
	assert_int_equal(hv_pcpu_up(f->sys, 4), 0);
	assert_false(is_free(f, 5));
	assert_int_equal(hv_mask_weight(&f->pool->cpu_valid, 1), 8);
	fake_check(f);
}

/* Fault 5 and the first hazard, of an off-lining: pCPU 0 stays in pool 0. */
static void every_thread_of_pcpu_0_stays_on_line_as_pcpu_0_does(void **state)
{
	struct fake *f = *state;

	fake_boot_gran(f, "credit2", HV_GRAN_CORE);
	assert_int_equal(hv_pcpu_down(f->sys, 0), -HV_EINVAL);
	assert_int_equal(hv_pcpu_down(f->sys, 1), -HV_EINVAL);
	assert_int_equal(hv_pcpu_down_begin(f->sys, 1), -HV_EINVAL);
	assert_int_equal(hv_mask_weight(&f->pool->cpu_valid, 1), 8);
	fake_check(f);
}

/* Under granularity cpu the sibling of pCPU 0 is like any other. */
static void the_sibling_of_pcpu_0_goes_off_line_alone(void **state)
{
	struct fake *f = *state;

	fake_boot(f, "credit2");
	down(f, 1);
	assert_false(is_free(f, 0));
	assert_int_equal(hv_mask_weight(&f->pool->cpu_valid, 1), 7);
}

/* What is to be done there is the host's; the engine only knew that it was wanted. */
static void work_is_forgotten_by_a_pcpu_that_goes_and_kept_by_its_sibling(void **state)
{
	struct fake *f = *state;
	struct hv_domain *d;

	fake_boot_gran(f, "credit2", HV_GRAN_CORE);
	d = busy(f, 1, 8);
	hv_work(f->sys, 2, true);
	hv_work(f->sys, 3, true);
	down(f, 3);
	assert_true(is_free(f, 2));
	assert_true(hv_work_ready(f->sys, 2));
	assert_int_equal(hv_pcpu_up(f->sys, 3), 0); /* their core is back in the pool */
	fake_drain(f);
	assert_false(hv_work_ready(f->sys, 3));
	assert_true(hv_work_ready(f->sys, 2));
	assert_true(hv_pcpu_loaded(f->sys, 3)->idle);
	hv_work(f->sys, 2, false);
	fake_drain(f);
	all_run(f, d);
	assert_false(hv_pcpu_loaded(f->sys, 3)->idle);
}

/* Bug 13 of real Xen: whoever asks for the time of a pCPU that has nothing gets an answer. */
static void a_pcpu_that_is_off_line_has_an_idle_time(void **state)
{
	struct fake *f = *state;
	int64_t before;

	assert_int_equal(hv_pcpu_idle_time(f->sys, 3), 0); /* it was never up */
	assert_int_equal(hv_pcpu_idle_time(f->sys, 8), 0);
	fake_boot_gran(f, "credit2", HV_GRAN_CORE);
	busy(f, 1, 8);
	fake_run(f, f->now + 10 * MS);
	before = hv_pcpu_idle_time(f->sys, 3);
	down(f, 3);
	f->now += 5 * MS;
	assert_int_equal(hv_pcpu_idle_time(f->sys, 3), before + 5 * MS);
}

/* A policy's timers do not stay on a pCPU that is gone: core-scheduling 4.5. */
static void timers_leave_a_pcpu_that_goes_off_line(void **state)
{
	static const char *const policies[] = {"credit", "credit2", "rtds"};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct fake *f = calloc(1, sizeof(*f));
		struct hv_domain_params p = {.weight = 256, .cap = 50};
		struct hv_domain *d;
		unsigned n = 0;

		assert_int_equal(fake_create(f, 1, 4, 2, hv_policies), 0);
		for (unsigned c = 0; c < 8; c++)
			assert_int_equal(hv_pcpu_up(f->sys, c), 0);
		assert_int_equal(hv_pool_create(f->sys, 0, policies[i], HV_GRAN_CPU, &f->pool), 0);
		/* pCPU 3 joins first and is the lowest: it is home */
		for (unsigned c = 3; c < 8; c++)
			assert_int_equal(hv_pool_add_pcpu(f->pool, c), 0);
		d = fake_domain(f, 1, 2);
		if (i < 2)
			assert_int_equal(hv_domain_params_set(d, &p), 0);
		hv_vcpu_up(d->vcpus[0]);
		hv_vcpu_up(d->vcpus[1]);
		fake_drain(f);
		for (unsigned k = 0; k < f->nr_timers; k++)
			n += f->timers[k]->pcpu == 3 && f->timers[k]->cls != HV_TIMER_SCHEDULE &&
			     f->timers[k]->cls != HV_TIMER_TICK;
		assert_int_equal(n, 1);
		down(f, 3);
		for (unsigned k = 0; k < f->nr_timers; k++)
			assert_int_not_equal(f->timers[k]->pcpu, 3);
		all_run(f, d);
		fake_destroy(f);
		free(f);
	}
}

/* Faults 3 and 7. */
static void a_refused_off_lining_leaves_nothing_behind(void **state)
{
	struct fake *f = *state;
	struct hv_pool *other;
	struct hv_domain *d;

	fake_boot(f, "credit2");
	assert_int_equal(hv_pool_create(f->sys, 1, "credit2", HV_GRAN_CPU, &other), 0);
	assert_int_equal(hv_pool_remove_pcpu(f->pool, 3), 0);
	assert_int_equal(hv_pool_add_pcpu(other, 3), 0);
	fake_drain(f);
	assert_int_equal(hv_pcpu_down(f->sys, 0), -HV_EINVAL);
	assert_int_equal(hv_pcpu_down(f->sys, 8), -HV_EINVAL);
	assert_int_equal(hv_pcpu_up(f->sys, 2), -HV_EEXIST);
	assert_int_equal(hv_pcpu_down(f->sys, 3), -HV_ENODEV);
	fake_check(f);
	assert_int_equal(hv_pool_remove_pcpu(other, 3), 0);
	assert_int_equal(hv_pool_add_pcpu(other, 3), 0); /* it is not locked */
	assert_int_equal(hv_pool_remove_pcpu(other, 3), 0);
	down(f, 3);
	assert_int_equal(hv_pcpu_down(f->sys, 3), -HV_EEXIST);
	assert_int_equal(hv_pool_add_pcpu(f->pool, 3), -HV_ENODEV);
	assert_int_equal(hv_pool_remove_pcpu(f->pool, 3), -HV_EINVAL);
	/* the last pCPU of pool 0 stays while that has a domain */
	d = fake_domain(f, 1, 1);
	for (unsigned c = 1; c < 8; c++) {
		if (c != 3)
			down(f, c);
	}
	assert_int_equal(hv_pool_remove_pcpu(f->pool, 0), -HV_EINVAL);
	hv_vcpu_up(d->vcpus[0]);
	fake_drain(f);
	all_run(f, d);
}

static void a_pcpu_goes_off_line_while_a_guest_is_current_there(void **state)
{
	static const char *const policies[] = {"credit2", "credit", "rtds", "null"};
	struct fake *f = *state;
	struct hv_domain *d;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct fake *g = i ? calloc(1, sizeof(*g)) : f;

		if (i)
			assert_int_equal(fake_create(g, 1, 4, 2, hv_policies), 0);
		fake_boot_gran(g, policies[i], HV_GRAN_CORE);
		d = busy(g, 1, 4);
		for (unsigned c = 2; c < 8; c++) {
			if (hv_pcpu_loaded(g->sys, c)->idle)
				continue;
			assert_int_equal(hv_pcpu_down(g->sys, c), -HV_EAGAIN);
			down(g, c);
			break;
		}
		assert_int_equal(hv_mask_weight(hv_online_mask(g->sys), 1), 7);
		all_run(g, d);
		if (i) {
			fake_destroy(g);
			free(g);
		}
	}
}

static void an_overcommitted_pcpu_goes_off_line_at_the_second_call(void **state)
{
	struct fake *f = *state;
	struct hv_domain *d;
	int64_t idle[8];

	fake_boot(f, "credit2");
	d = busy(f, 1, 24);
	for (unsigned c = 7; c > 0; c--) {
		assert_int_equal(hv_pcpu_down(f->sys, c), -HV_EAGAIN);
		down(f, c);
	}
	all_run(f, d);
	for (unsigned c = 1; c < 8; c++)
		assert_int_equal(hv_pcpu_up(f->sys, c), 0);
	fake_drain(f);
	assert_int_equal(hv_mask_weight(&f->pool->cpu_valid, 1), 8);
	for (unsigned c = 0; c < 8; c++)
		idle[c] = hv_pcpu_idle_time(f->sys, c);
	all_run(f, d);
	fake_run(f, f->now + 2000 * MS);
	for (unsigned c = 0; c < 8; c++) /* every one has had some of the load */
		assert_true(hv_pcpu_idle_time(f->sys, c) - idle[c] < 2000 * MS);
}

static void an_off_lining_is_called_off_by_bringing_up(void **state)
{
	struct fake *f = *state;
	struct hv_domain *d;

	fake_boot_gran(f, "credit2", HV_GRAN_CORE);
	d = busy(f, 1, 8);
	assert_int_equal(hv_pcpu_down(f->sys, 5), -HV_EAGAIN);
	assert_false(is_free(f, 5)); /* it is not for others */
	assert_int_equal(hv_pool_remove_pcpu(f->pool, 4), -HV_EADDRNOTAVAIL);
	assert_int_equal(hv_pool_add_pcpu(f->pool, 4), -HV_EADDRNOTAVAIL);
	assert_int_equal(hv_pcpu_down(f->sys, 7), -HV_EADDRNOTAVAIL);
	fake_drain(f);
	assert_true(hv_pcpu_loaded(f->sys, 4)->idle);
	assert_int_equal(hv_pcpu_up(f->sys, 5), 0);
	fake_drain(f);
	assert_false(hv_pcpu_loaded(f->sys, 4)->idle);
	assert_int_equal(hv_mask_weight(&f->pool->cpu_valid, 1), 8);
	all_run(f, d);
}

/* Bug 1: a sibling waits in a rendezvous of idle units when its resource is split. */
static void who_waits_for_siblings_stops_when_its_core_is_split(void **state)
{
	struct fake *f = *state;

	fake_boot_gran(f, "credit2", HV_GRAN_CORE);
	f->pending[2] |= HV_EVENT_SCHEDULE;
	fake_turn(f, 2);
	assert_int_equal(hv_pcpu_wait(f->sys, 2), HV_WAIT_ENTER);
	assert_int_equal(hv_pool_remove_pcpu(f->pool, 3), 0);
	assert_int_equal(hv_pcpu_wait(f->sys, 2), HV_WAIT_NONE);
	fake_drain(f);
	fake_check(f);
	assert_int_equal(hv_pool_add_pcpu(f->pool, 3), 0);
	fake_drain(f);
	fake_check(f);
}

static void a_pcpu_that_cannot_join_for_lack_of_memory_stays_down(void **state)
{
	struct fake *f = *state;
	size_t bytes;
	unsigned failures = 0;
	int rc;

	fake_boot_gran(f, "credit2", HV_GRAN_CORE);
	down(f, 3);
	bytes = f->live_bytes;
	for (unsigned n = 1;; n++) {
		f->fail_at = f->allocs + n;
		rc = hv_pcpu_up(f->sys, 3);
		f->fail_at = 0;
		if (!rc)
			break;
		failures++;
		assert_int_equal(rc, -HV_ENOMEM);
		assert_int_equal(f->live_bytes, bytes);
		assert_false(hv_mask_test(hv_online_mask(f->sys), 3));
		assert_true(is_free(f, 2));
		fake_check(f);
	}
	assert_true(failures >= 2);
	assert_int_equal(hv_mask_weight(&f->pool->cpu_valid, 1), 8);
}

/* Bug 10. */
static void what_takes_pcpus_away_needs_no_memory(void **state)
{
	struct fake *f = *state;
	struct hv_domain *d;
	long allocs;

	fake_boot_gran(f, "credit2", HV_GRAN_CORE);
	d = busy(f, 1, 10);
	allocs = f->allocs;
	down(f, 7);
	assert_int_equal(hv_pool_remove_pcpu(f->pool, 4), -HV_EAGAIN);
	assert_int_equal(hv_domain_pause(d), 0);
	fake_drain(f);
	assert_int_equal(hv_pool_remove_pcpu(f->pool, 4), 0);
	assert_int_equal(hv_domain_unpause(d), 0);
	suspend(f);
	assert_int_equal(hv_resume(f->sys, &(struct hv_mask){{0xf3}}), 0);
	forget(f, 2);
	forget(f, 3);
	assert_int_equal(f->allocs, allocs);
	fake_drain(f);
	all_run(f, d);
}

/* ---- SMT */

static void smt_is_not_switched_where_threads_belong_together(void **state)
{
	struct fake *f = *state;
	struct hv_pool *core;

	fake_boot(f, "credit2");
	assert_int_equal(hv_pool_create(f->sys, 1, "credit2", HV_GRAN_CORE, &core), 0);
	assert_int_equal(hv_smt_set(f->sys, false), -HV_EBUSY);
	assert_int_equal(hv_pool_set_gran(core, HV_GRAN_CPU), 0);
	assert_int_equal(hv_pool_set_gran(core, HV_GRAN_SOCKET), 0); /* later than at boot */
	assert_int_equal(hv_smt_set(f->sys, false), -HV_EBUSY);
	assert_int_equal(hv_smt_set(f->sys, true), -HV_EBUSY);
	assert_int_equal(hv_pool_set_gran(core, HV_GRAN_CPU), 0);
	assert_int_equal(hv_pool_remove_pcpu(f->pool, 5), 0);
	assert_int_equal(hv_pool_add_pcpu(core, 5), 0);
	assert_int_equal(hv_smt_set(f->sys, false), -HV_ENODEV);
	assert_int_equal(hv_mask_weight(hv_online_mask(f->sys), 1), 8);
	fake_check(f);
}

static void smt_goes_off_and_on(void **state)
{
	struct fake *f = *state;
	struct hv_domain *d;
	int rc;

	fake_boot(f, "credit2");
	d = busy(f, 1, 8);
	for (unsigned i = 0; (rc = hv_smt_set(f->sys, false)) == -HV_EAGAIN; i++) {
		assert_true(i < 8);
		for (unsigned c = 1; c < 8; c += 2) {
			if (!hv_mask_test(hv_online_mask(f->sys), c))
				forget(f, c);
		}
		fake_drain(f);
	}
	assert_int_equal(rc, 0);
	for (unsigned c = 1; c < 8; c += 2)
		forget(f, c);
	assert_int_equal(hv_online_mask(f->sys)->w[0], 0x55);
	all_run(f, d);
	/* without memory for all of them none comes up */
	f->fail_at = f->allocs + 3;
	assert_int_equal(hv_smt_set(f->sys, true), -HV_ENOMEM);
	f->fail_at = 0;
	assert_int_equal(hv_online_mask(f->sys)->w[0], 0x55);
	for (unsigned c = 1; c < 8; c += 2)
		forget(f, c);
	fake_check(f);
	assert_int_equal(hv_smt_set(f->sys, true), 0);
	assert_int_equal(hv_mask_weight(&f->pool->cpu_valid, 1), 8);
	fake_drain(f);
	assert_false(hv_pcpu_loaded(f->sys, 1)->idle);
	all_run(f, d);
}

static void smt_is_not_supported_without_threads(void **state)
{
	struct fake *f = calloc(1, sizeof(*f));

	(void)state;
	assert_int_equal(fake_create(f, 1, 4, 1, hv_policies), 0);
	fake_boot(f, "credit2");
	assert_int_equal(hv_smt_set(f->sys, false), -HV_EOPNOTSUPP);
	assert_int_equal(hv_smt_set(f->sys, true), -HV_EOPNOTSUPP);
	fake_destroy(f);
	free(f);
}

/* ---- suspend */

static void nothing_is_scheduled_while_suspended(void **state)
{
	struct fake *f = *state;
	struct hv_domain *d, *late;
	struct hv_pool *p;

	fake_boot_gran(f, "credit2", HV_GRAN_CORE);
	d = busy(f, 1, 5);
	assert_int_equal(hv_resume(f->sys, NULL), -HV_EINVAL);
	assert_int_equal(hv_suspend(f->sys), -HV_EAGAIN);
	assert_int_equal(hv_resume(f->sys, NULL), 0); /* called off */
	all_run(f, d);
	suspend(f);
	assert_int_equal(hv_suspend(f->sys), -HV_EEXIST);
	assert_int_equal(hv_pcpu_down(f->sys, 3), -HV_EBUSY);
	assert_int_equal(hv_pool_remove_pcpu(f->pool, 3), -HV_EBUSY);
	assert_int_equal(hv_smt_set(f->sys, false), -HV_EBUSY);
	assert_int_equal(hv_domain_unpause(d), -HV_EINVAL);
	late = busy(f, 2, 2); /* a domain that is made now waits like the others */
	fake_run(f, f->now + 100 * MS);
	for (unsigned c = 0; c < 8; c++)
		assert_true(hv_pcpu_loaded(f->sys, c)->idle);
	assert_int_equal(hv_pool_create(f->sys, 1, "rtds", HV_GRAN_CORE, &p), 0);
	assert_int_equal(hv_domain_move(late, p), -HV_ENOENT);
	assert_int_equal(hv_resume(f->sys, NULL), 0);
	fake_drain(f);
	all_run(f, d);
	all_run(f, late);
}

/* Bug 3: whatever is raised meanwhile is answered, and nobody waits for a sibling without power. */
static void no_decision_is_made_while_suspended(void **state)
{
	(void)state;
	for (int gran = HV_GRAN_CPU; gran <= HV_GRAN_SOCKET; gran++) {
		struct fake *f = calloc(1, sizeof(*f));
		struct hv_domain *d;

		assert_int_equal(fake_create(f, 1, 4, 2, hv_policies), 0);
		fake_boot_gran(f, "credit2", (enum hv_gran)gran);
		d = busy(f, 1, 9);
		suspend(f);
		fake_forget(f);
		for (unsigned c = 0; c < 8; c++) {
			fake_pass(f, c);
			assert_true(hv_pcpu_loaded(f->sys, c)->idle);
			assert_int_equal(hv_pcpu_wait(f->sys, c), HV_WAIT_NONE);
		}
		assert_int_equal(f->nr_log, 0);
		assert_int_equal(hv_domain_pause(d), 0); /* its wakes shall not help */
		hv_work(f->sys, 5, true);
		fake_drain(f);
		assert_false(hv_work_ready(f->sys, 5));
		/* what was asked for meanwhile is made up for */
		assert_int_equal(hv_resume(f->sys, NULL), 0);
		fake_drain(f);
		assert_true(hv_work_ready(f->sys, 5));
		hv_work(f->sys, 5, false);
		assert_int_equal(hv_domain_unpause(d), 0);
		fake_drain(f);
		all_run(f, d);
		fake_destroy(f);
		free(f);
	}
}

/* One that begins between the two calls of a suspend is called off as well. */
static void a_suspended_domain_is_not_on_its_way(void **state)
{
	struct fake *f = *state;
	struct hv_pool *boot, *other;
	struct hv_domain *d;

	fake_boot(f, "credit2");
	boot = f->pool;
	assert_int_equal(hv_pool_create(f->sys, 1, "credit", HV_GRAN_CPU, &other), 0);
	assert_int_equal(hv_pool_remove_pcpu(boot, 7), 0);
	assert_int_equal(hv_pool_add_pcpu(other, 7), 0);
	f->pool = other;
	d = busy(f, 1, 1);
	assert_int_equal(hv_suspend(f->sys), -HV_EAGAIN);
	assert_int_equal(hv_domain_move(d, boot), -HV_EAGAIN);
	assert_int_equal(boot->nr_coming, 1);
	suspend(f);
	assert_int_equal(boot->nr_coming, 0);
	assert_int_equal(hv_resume(f->sys, &(struct hv_mask){{0x7f}}), 0);
	forget(f, 7);
	assert_ptr_equal(d->pool, boot); /* it had to flee */
	fake_drain(f);
	all_run(f, d);
}

/* When a thread of pCPU 0's core has not returned pool 0 is empty: nobody can flee there. */
static void an_empty_pool_0_takes_in_nobody(void **state)
{
	struct fake *f = *state;
	struct hv_pool *other;
	struct hv_domain *d;

	fake_boot_gran(f, "credit2", HV_GRAN_CORE);
	assert_int_equal(hv_pool_create(f->sys, 1, "credit", HV_GRAN_CORE, &other), 0);
	for (unsigned c = 2; c < 8; c += 2) {
		assert_int_equal(hv_pool_remove_pcpu(f->pool, c), 0);
		assert_int_equal(hv_pool_add_pcpu(other, c), 0);
	}
	suspend(f);
	assert_int_equal(hv_resume(f->sys, &(struct hv_mask){{0xfd}}), 0);
	forget(f, 1);
	assert_true(hv_mask_empty(&f->pool->cpu_valid, 1));
	f->pool = other;
	d = busy(f, 1, 2);
	suspend(f);
	assert_int_equal(hv_resume(f->sys, &(struct hv_mask){{0x01}}), -HV_EINVAL);
	fake_check(f);
	assert_int_equal(hv_resume(f->sys, &(struct hv_mask){{0x0d}}), 0);
	for (unsigned c = 4; c < 8; c++)
		forget(f, c);
	fake_drain(f);
	all_run(f, d);
}

static void what_does_not_return_is_evicted_and_nothing_else_moves(void **state)
{
	struct fake *f = *state;
	struct hv_pool *lost;
	struct hv_domain *d[3], *orphan, *second;
	struct hv_mask back = {{0x3f}};
	unsigned before[3];
	struct hv_vcpu *v;
	size_t bytes;
	int rc;

	fake_boot_gran(f, "credit2", HV_GRAN_CORE);
	assert_int_equal(hv_pool_create(f->sys, 1, "credit", HV_GRAN_CORE, &lost), 0);
	assert_int_equal(hv_pool_remove_pcpu(f->pool, 6), 0);
	assert_int_equal(hv_pool_add_pcpu(lost, 7), 0);
	fake_drain(f);
	for (int i = 0; i < 3; i++)
		d[i] = busy(f, i + 1, 2);
	assert_int_equal(hv_domain_create(lost, 9, 3, &orphan), 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(hv_vcpu_create(orphan, NULL, NULL, NULL, &v), 0);
		hv_vcpu_up(v);
	}
	fake_drain(f);
	all_run(f, orphan);
	assert_int_equal(hv_domain_create(lost, 10, 1, &second), 0);
	assert_int_equal(hv_vcpu_create(second, NULL, NULL, NULL, &v), 0);
	suspend(f);
	for (unsigned i = 0; i < 3; i++)
		before[i] = d[i]->units->res->master;
	/* pool 0 must live on; without memory nothing has happened */
	assert_int_equal(hv_resume(f->sys, &(struct hv_mask){{0xfc}}), -HV_EINVAL);
	bytes = f->live_bytes;
	for (unsigned n = 1;; n++) {
		f->fail_at = f->allocs + n;
		rc = hv_resume(f->sys, &back);
		f->fail_at = 0;
		if (rc != -HV_ENOMEM)
			break;
		assert_int_equal(hv_mask_weight(hv_online_mask(f->sys), 1), 8);
		assert_ptr_equal(orphan->pool, lost);
		assert_int_equal(f->pool->nr_coming, 0);
		assert_int_equal(f->live_bytes, bytes);
		fake_check(f);
	}
	assert_int_equal(rc, 0);
	forget(f, 6);
	forget(f, 7);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(d[i]->units->res->master, before[i]);
	assert_true(hv_mask_empty(&lost->cpu_valid, 1));
	assert_int_equal(lost->nr_domains, 0);
	assert_ptr_equal(orphan->pool, f->pool);
	fake_drain(f);
	fake_check(f);
	all_run(f, orphan);
	for (unsigned i = 0; i < 3; i++)
		all_run(f, d[i]);
	assert_int_equal(hv_pool_destroy(lost), 0);
	assert_int_equal(hv_pcpu_up(f->sys, 6), 0);
	assert_int_equal(hv_pcpu_up(f->sys, 7), 0);
	assert_int_equal(hv_mask_weight(&f->pool->cpu_valid, 1), 8);
}

static void one_thread_that_does_not_return_leaves_its_sibling_free(void **state)
{
	struct fake *f = *state;
	struct hv_domain *d;
	struct hv_mask back = {{0xdf}};

	fake_boot_gran(f, "credit2", HV_GRAN_CORE);
	d = busy(f, 1, 8);
	suspend(f);
	assert_int_equal(hv_resume(f->sys, &back), 0);
	forget(f, 5);
	assert_true(is_free(f, 4));
	assert_int_equal(hv_mask_weight(&f->pool->cpu_valid, 1), 6);
	fake_drain(f);
	all_run(f, d);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, fake_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(the_whole_core_leaves_with_one_thread_and_returns_when_complete),
		TEST(a_half_core_does_not_join),
		TEST(every_thread_of_pcpu_0_stays_on_line_as_pcpu_0_does),
		TEST(the_sibling_of_pcpu_0_goes_off_line_alone),
		TEST(work_is_forgotten_by_a_pcpu_that_goes_and_kept_by_its_sibling),
		TEST(a_pcpu_that_is_off_line_has_an_idle_time),
		cmocka_unit_test(timers_leave_a_pcpu_that_goes_off_line),
		TEST(a_refused_off_lining_leaves_nothing_behind),
		TEST(a_pcpu_goes_off_line_while_a_guest_is_current_there),
		TEST(an_overcommitted_pcpu_goes_off_line_at_the_second_call),
		TEST(an_off_lining_is_called_off_by_bringing_up),
		TEST(who_waits_for_siblings_stops_when_its_core_is_split),
		TEST(a_pcpu_that_cannot_join_for_lack_of_memory_stays_down),
		TEST(what_takes_pcpus_away_needs_no_memory),
		TEST(smt_is_not_switched_where_threads_belong_together),
		TEST(smt_goes_off_and_on),
		TEST(nothing_is_scheduled_while_suspended),
		cmocka_unit_test(no_decision_is_made_while_suspended),
		TEST(a_suspended_domain_is_not_on_its_way),
		TEST(an_empty_pool_0_takes_in_nobody),
		TEST(what_does_not_return_is_evicted_and_nothing_else_moves),
		TEST(one_thread_that_does_not_return_leaves_its_sibling_free),
		cmocka_unit_test(smt_is_not_supported_without_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
