/* SPDX-License-Identifier: MIT */
/*
 * rtds: periods, budgets and extratime as operators change them. Case n is that of rtds section 11.
 */
#include "rtds_world.h"

static void assert_params(struct rtds_unit *u, uint32_t period_us, uint32_t budget_us,
			  bool extratime)
{
	struct hv_unit_params p = {0};

	assert_int_equal(hv_unit_params_get(vcpu_of(u), &p), 0);
	assert_int_equal(p.period_us, period_us);
	assert_int_equal(p.budget_us, budget_us);
	assert_int_equal(p.extratime, extratime);
}

static void a_new_unit_has_4_of_10_ms_and_extratime(void **state)
{
	struct world *w = world_start(1);

	(void)state;
	assert_params(rtds_unit(fake_domain(&w->f, 9, 1)->vcpus[0]->unit), 10000, 4000, true);
	world_end(w);
}

static void case_14_bad_values_are_refused_and_change_nothing(void **state)
{
	static const uint32_t bad[][2] = {{9, 9}, {20, 9}, {10, 11}, {0, 0}, {10, 0}, {0, 10}};
	struct world *w = world_start(1);
	struct rtds_unit *a = plain(w, 10, 4);

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(set_params(a, bad[i][0], bad[i][1], true), -HV_EINVAL);
		assert_params(a, 10000, 4000, false);
	}
	assert_int_equal(set_params(a, 10, 10, false), 0);
	assert_params(a, 10, 10, false);
	assert_int_equal(set_params(a, UINT32_MAX, UINT32_MAX, false), 0);
	assert_params(a, UINT32_MAX, UINT32_MAX, false);
	world_end(w);
}

static void case_14_a_change_counts_from_the_next_period_on(void **state)
{
	struct world *w = world_start(1);
	struct rtds_unit *a = plain(w, 10, 4);

	(void)state;
	wake_at(w, 0, a);
	go_to(w, 12 * MS);
	ASSERT_STATE(a, 20 * MS, 4 * MS, 0);
	assert_int_equal(set_params(a, 5000, 5000, false), 0);
	ASSERT_STATE(a, 20 * MS, 4 * MS, 0);
	go_to(w, 19 * MS);
	ASSERT_STATE(a, 20 * MS, 0, 0);
	go_to(w, 20 * MS);
	ASSERT_STATE(a, 25 * MS, 5 * MS, 0);
	world_end(w);
}

/* Known to stall the unit; Xen does the same. */
static void case_15_extratime_for_a_depleted_unit_tickles_nobody(void **state)
{
	struct world *w = world_start(1);
	struct rtds_unit *a = plain(w, 10, 4);

	(void)state;
	wake_at(w, 3 * MS, a);
	go_to(w, 8 * MS);
	assert_int_equal(a->place, RTDS_DEPLETED);
	fake_forget(&w->f);
	assert_int_equal(set_params(a, 10000, 4000, true), 0);
	ASSERT_STATE(a, 10 * MS, 4 * MS, 1);
	assert_int_equal(a->place, RTDS_IN_RUNQ);
	assert_false(a->depleted);
	go_to(w, 35 * MS);
	ASSERT_STATE(a, 40 * MS, 4 * MS, 0);
	assert_int_equal(w->f.passes[0], 0);
	assert_int_equal(tickled(w, 0), HV_NO_PCPU);
	/* until something else makes the pCPU look */
	hv_work(w->f.sys, 0, true);
	hv_work(w->f.sys, 0, false);
	fake_drain(&w->f);
	assert_ptr_equal(running_on(w, 0), a);
	world_end(w);
}

/* Xen 37b49cb48e: the host panicked. */
static void extratime_for_a_depleted_unit_gives_it_a_budget_of_the_new_size(void **state)
{
	struct world *w = world_start(1);
	struct rtds_unit *a = plain(w, 10, 4), *b = plain(w, 10, 6);

	(void)state;
	wake_up(a);
	wake_up(b);
	go_to(w, 5 * MS);
	assert_int_equal(a->place, RTDS_DEPLETED);
	assert_int_equal(set_params(a, 10000, 2000, true), 0);
	ASSERT_STATE(a, 10 * MS, 2 * MS, 1);
	go_to(w, 30 * MS);
	fake_check(&w->f);
	world_end(w);
}

static void extratime_for_a_blocked_unit_without_budget_works_at_its_wake(void **state)
{
	struct world *w = world_start(1);
	struct rtds_unit *a = plain(w, 10, 4);

	(void)state;
	wake_at(w, 0, a);
	w->f.now = 4 * MS;
	block(w, a);
	assert_int_equal(set_params(a, 10000, 4000, true), 0);
	ASSERT_STATE(a, 10 * MS, 4 * MS, 1);
	assert_int_equal(a->place, RTDS_NOWHERE);
	wake_at(w, 6 * MS, a);
	assert_ptr_equal(running_on(w, 0), a);
	world_end(w);
}

static void extratime_while_a_depleted_unit_is_switched_out_counts_too(void **state)
{
	struct world *w = world_start(1);
	struct rtds_unit *a = plain(w, 10, 4);

	(void)state;
	wake_at(w, 0, a);
	w->f.hold_saves = true;
	go_to(w, 4 * MS);
	assert_true(a->scheduled && a->depleted);
	assert_int_equal(set_params(a, 10000, 4000, true), 0);
	ASSERT_STATE(a, 10 * MS, 4 * MS, 1);
	fake_check(&w->f);
	w->f.hold_saves = false;
	fake_save(&w->f, 0);
	fake_drain(&w->f);
	assert_ptr_equal(running_on(w, 0), a);
	world_end(w);
}

static void turning_extratime_off_leaves_the_rest_of_the_budget(void **state)
{
	struct world *w = world_start(1);
	struct rtds_unit *a = extra(w, 10, 4);

	(void)state;
	wake_at(w, 0, a);
	go_to(w, 5 * MS);
	assert_int_equal(set_params(a, 10000, 4000, false), 0);
	ASSERT_STATE(a, 10 * MS, 4 * MS, 1);
	go_to(w, 9 * MS);
	assert_null(running_on(w, 0));
	ASSERT_STATE(a, 10 * MS, 0, 1);
	world_end(w);
}

static void case_16_a_domain_answers_the_defaults_whatever_was_set(void **state)
{
	struct world *w = world_start(1);
	struct hv_domain *d = fake_domain(&w->f, 9, 2);
	struct hv_domain_params p = {.period_us = 5000, .budget_us = 2500};

	(void)state;
	assert_int_equal(hv_domain_params_set(d, &p), 0);
	assert_int_equal(hv_domain_params_get(d, &p), 0);
	assert_int_equal(p.period_us, 10000);
	assert_int_equal(p.budget_us, 4000);
	for (unsigned i = 0; i < 2; i++)
		assert_params(rtds_unit(d->vcpus[i]->unit), 5000, 2500, true);
	world_end(w);
}

/* Xen eec1a570c0: a domain-wide set took a budget above the period. */
static void a_domain_takes_good_values_for_all_its_units_or_none(void **state)
{
	struct world *w = world_start(1);
	struct hv_domain *d = fake_domain(&w->f, 9, 2);
	struct rtds_unit *a = rtds_unit(d->vcpus[0]->unit), *b = rtds_unit(d->vcpus[1]->unit);
	struct hv_domain_params p = {.period_us = 4000, .budget_us = 4001};

	(void)state;
	assert_int_equal(hv_domain_params_set(d, &p), -HV_EINVAL);
	assert_int_equal(set_params(b, 3000, 1000, false), 0);
	/* 0 leaves the budget as it is: 4 ms fit into no period of 3.5 ms */
	p = (struct hv_domain_params){.period_us = 3500};
	assert_int_equal(hv_domain_params_set(d, &p), -HV_EINVAL);
	assert_params(a, 10000, 4000, true);
	assert_params(b, 3000, 1000, false);
	p = (struct hv_domain_params){.budget_us = 2000};
	assert_int_equal(hv_domain_params_set(d, &p), 0);
	assert_params(a, 10000, 2000, true);
	assert_params(b, 3000, 2000, false);
	p = (struct hv_domain_params){.weight = 512, .cap = 50};
	assert_int_equal(hv_domain_params_set(d, &p), 0);
	assert_params(a, 10000, 2000, true);
	world_end(w);
}

/* Of pool 0, in pool 1 from now on. */
static void move_pcpu(struct world *w, struct hv_pool *to, unsigned pcpu)
{
	assert_int_equal(hv_pool_remove_pcpu(w->f.pool, pcpu), 0);
	assert_int_equal(hv_pool_add_pcpu(to, pcpu), 0);
	fake_drain(&w->f);
}

/* Xen f294e3abe4: four commands, create pool, remove pCPU 1 from pool 0, add it, remove it. */
static void the_only_pcpu_of_a_pool_can_be_removed(void **state)
{
	struct world *w = world_start(2);
	struct hv_pool *test;

	(void)state;
	assert_int_equal(hv_pool_create(w->f.sys, 1, "rtds", HV_GRAN_CPU, &test), 0);
	move_pcpu(w, test, 1);
	assert_int_equal(hv_pool_remove_pcpu(test, 1), 0);
	assert_int_equal(hv_pool_add_pcpu(w->f.pool, 1), 0);
	fake_drain(&w->f);
	assert_int_equal(hv_pool_destroy(test), 0);
	world_end(w);
}

static void a_timer_goes_on_when_its_pcpu_leaves(void **state)
{
	struct world *w = world_start(3);
	struct hv_pool *all = w->f.pool, *test;
	struct rtds_unit *a;
	int rc;

	(void)state;
	assert_int_equal(hv_pool_create(w->f.sys, 1, "rtds", HV_GRAN_CPU, &test), 0);
	move_pcpu(w, test, 1);
	move_pcpu(w, test, 2);
	w->f.pool = test;
	a = plain(w, 10, 4);
	wake_at(w, 0, a);
	assert_ptr_equal(running_on(w, 1), a);
	go_to(w, 1 * MS);
	while ((rc = hv_pool_remove_pcpu(test, 1)) == -HV_EAGAIN)
		fake_drain(&w->f);
	assert_int_equal(rc, 0);
	fake_drain(&w->f);
	assert_ptr_equal(running_on(w, 2), a);
	fake_forget(&w->f);
	go_to(w, 14 * MS);
	ASSERT_SPANS(w, 2, {4 * MS, NULL}, {10 * MS, a}, {14 * MS, NULL});
	w->f.pool = all;
	world_end(w);
}

/*
 * Section 7, step 2: a pass takes whom pool and hard affinity allow there, and a pCPU that is
 * leaving is not in the pool any more. So b goes, and c does not take its place.
 */
static void a_pcpu_that_leaves_takes_nobody_who_waits(void **state)
{
	struct world *w = world_start(2);
	struct rtds_unit *a = plain(w, 10, 4), *b = plain(w, 20, 8), *c = plain(w, 40, 9);

	(void)state;
	set_home(w, b, 1);
	wake_at(w, 0, a);
	wake_at(w, 0, b);
	wake_at(w, 0, c);
	assert_ptr_equal(running_on(w, 0), a);
	assert_ptr_equal(running_on(w, 1), b);
	go_to(w, 1 * MS);
	assert_int_equal(hv_pool_remove_pcpu(w->f.pool, 1), -HV_EAGAIN);
	fake_forget(&w->f);
	fake_drain(&w->f);
	ASSERT_SPANS(w, 1, {1 * MS, NULL});
	assert_int_equal(hv_pool_remove_pcpu(w->f.pool, 1), 0);
	fake_check(&w->f);
	/* a until its budget is used up, then b's 7 ms, a's next period at 10 preempting */
	go_to(w, 14 * MS);
	ASSERT_SPANS(w, 0, {4 * MS, b}, {11 * MS, a});
	world_end(w);
}

static void a_domain_that_comes_to_a_pool_has_the_defaults(void **state)
{
	struct world *w = world_start(2);
	struct hv_pool *all = w->f.pool, *test;
	struct rtds_unit *a = plain(w, 20, 5);
	struct hv_vcpu *v = vcpu_of(a);

	(void)state;
	assert_int_equal(hv_pool_create(w->f.sys, 1, "rtds", HV_GRAN_CPU, &test), 0);
	move_pcpu(w, test, 1);
	assert_int_equal(hv_domain_move(v->domain, test), 0);
	assert_params(rtds_unit(v->unit), 10000, 4000, true);
	wake_at(w, 3 * MS, rtds_unit(v->unit));
	assert_ptr_equal(running_on(w, 1), rtds_unit(v->unit));
	w->f.pool = all;
	world_end(w);
}

static void other_policies_have_no_such_parameters(void **state)
{
	struct fake *f = calloc(1, sizeof(*f));
	struct hv_unit_params p = {10000, 4000, true};
	struct hv_domain *d;

	(void)state;
	assert_int_equal(fake_create(f, 1, 1, 1, hv_policies), 0);
	fake_boot(f, "credit2");
	d = fake_domain(f, 1, 1);
	assert_int_equal(hv_unit_params_set(d->vcpus[0], &p), -HV_EOPNOTSUPP);
	assert_int_equal(hv_unit_params_get(d->vcpus[0], &p), -HV_EOPNOTSUPP);
	fake_destroy(f);
	free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_unit_has_4_of_10_ms_and_extratime),
		cmocka_unit_test(case_14_bad_values_are_refused_and_change_nothing),
		cmocka_unit_test(case_14_a_change_counts_from_the_next_period_on),
		cmocka_unit_test(case_15_extratime_for_a_depleted_unit_tickles_nobody),
		cmocka_unit_test(extratime_for_a_depleted_unit_gives_it_a_budget_of_the_new_size),
		cmocka_unit_test(extratime_for_a_blocked_unit_without_budget_works_at_its_wake),
		cmocka_unit_test(extratime_while_a_depleted_unit_is_switched_out_counts_too),
		cmocka_unit_test(turning_extratime_off_leaves_the_rest_of_the_budget),
		cmocka_unit_test(case_16_a_domain_answers_the_defaults_whatever_was_set),
		cmocka_unit_test(a_domain_takes_good_values_for_all_its_units_or_none),
		cmocka_unit_test(the_only_pcpu_of_a_pool_can_be_removed),
		cmocka_unit_test(a_timer_goes_on_when_its_pcpu_leaves),
		cmocka_unit_test(a_pcpu_that_leaves_takes_nobody_who_waits),
		cmocka_unit_test(a_domain_that_comes_to_a_pool_has_the_defaults),
		cmocka_unit_test(other_policies_have_no_such_parameters),
	};

	return cmocka_run_group_tests_name("rtds_params", tests, NULL, NULL);
}
