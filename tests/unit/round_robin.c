/* SPDX-License-Identifier: MIT */
/*
 * round-robin, the example of docs/policy-guide.md: turns, the queue, affinity.
 */
#include "fake_host.h"

#define MS    INT64_C(1000000)
#define SLICE (10 * MS)

static int setup(void **state)
{
	struct fake *f = fake_new(1, 2, 1, hv_policies);

	fake_boot(f, "round-robin");
	*state = f;
	return 0;
}

/* Domain id with one vCPU of this hard and soft affinity (NULL = all), up. */
static struct hv_vcpu *one(struct fake *f, int id, const struct hv_mask *hard,
			   const struct hv_mask *soft)
{
	struct hv_domain *d;
	struct hv_vcpu *v;

	assert_int_equal(hv_domain_create(f->pool, id, 1, &d), 0);
	assert_int_equal(hv_vcpu_create(d, NULL, hard, soft, &v), 0);
	hv_vcpu_up(v);
	fake_drain(f);
	return v;
}

static int64_t ran(const struct hv_vcpu *v)
{
	struct hv_runstate rs;

	hv_runstate_get(v, &rs);
	return rs.time[HV_RUNNING];
}

static void units_of_one_pcpu_take_turns_of_a_slice_in_the_order_of_arrival(void **state)
{
	struct fake *f = *state;
	struct hv_mask p0 = fake_mask1(0);
	struct hv_vcpu *v[3];

	for (int i = 0; i < 3; i++)
		v[i] = one(f, i + 1, &p0, NULL);
	for (int turn = 0; turn < 9; turn++) {
		fake_run(f, turn * SLICE + MS);
		assert_ptr_equal(hv_pcpu_loaded(f->sys, 0), v[turn % 3]);
		fake_run(f, (turn + 1) * SLICE - 1);
		assert_ptr_equal(hv_pcpu_loaded(f->sys, 0), v[turn % 3]);
	}
	fake_run(f, 9 * SLICE);
	for (int i = 0; i < 3; i++)
		assert_int_equal(ran(v[i]), 3 * SLICE);
	assert_true(hv_pcpu_loaded(f->sys, 1)->idle); /* nobody may run there */
}

static void a_unit_alone_goes_on_slice_after_slice(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = one(f, 1, NULL, NULL);

	fake_forget(f);
	fake_run(f, 5 * SLICE);
	assert_int_equal(ran(v), 5 * SLICE);
	assert_int_equal(fake_count(f, HV_TRACE_SWITCH), 0);
	assert_int_equal(fake_count(f, HV_TRACE_CONT), 5);
}

static void three_units_on_two_pcpus_get_two_thirds_each(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v[3];

	for (int i = 0; i < 3; i++)
		v[i] = one(f, i + 1, NULL, NULL);
	fake_run(f, 300 * SLICE);
	for (int i = 0; i < 3; i++)
		assert_int_equal(ran(v[i]), 200 * SLICE);
}

static void a_waking_unit_goes_to_the_end_and_preempts_nobody(void **state)
{
	struct fake *f = *state;
	struct hv_mask p0 = fake_mask1(0);
	struct hv_vcpu *a = one(f, 1, &p0, NULL), *b = one(f, 2, &p0, NULL);
	struct hv_vcpu *c = one(f, 3, &p0, NULL);

	assert_true(hv_block(a, NULL, NULL)); /* at 0: the turn of b, then c */
	fake_drain(f);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 0), b);
	fake_run(f, MS);
	fake_forget(f);
	assert_true(hv_wake(a));
	fake_drain(f);
	assert_int_equal(f->passes[0] + f->passes[1], 0);
	fake_run(f, SLICE);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 0), c);
	fake_run(f, 2 * SLICE);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 0), a);
}

static void a_yield_ends_the_turn(void **state)
{
	struct fake *f = *state;
	struct hv_mask p0 = fake_mask1(0);
	struct hv_vcpu *a = one(f, 1, &p0, NULL), *b = one(f, 2, &p0, NULL);

	assert_ptr_equal(hv_pcpu_loaded(f->sys, 0), a);
	hv_yield(a);
	fake_drain(f);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 0), b);
	fake_run(f, SLICE); /* a whole slice for b, counted from the yield */
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 0), a);
}

static void an_idle_pcpu_that_the_unit_prefers_is_asked_first(void **state)
{
	struct fake *f = *state;
	struct hv_mask p1 = fake_mask1(1);
	struct hv_vcpu *v = one(f, 1, NULL, &p1);

	assert_ptr_equal(hv_pcpu_loaded(f->sys, 1), v);
	/* Taken: the other one will do. */
	v = one(f, 2, NULL, &p1);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 0), v);
}

static void a_unit_that_may_not_run_here_does_not_block_the_queue(void **state)
{
	struct fake *f = *state;
	struct hv_mask p0 = fake_mask1(0), p1 = fake_mask1(1);
	struct hv_vcpu *a = one(f, 1, &p0, NULL), *b = one(f, 2, &p1, NULL);
	struct hv_vcpu *c = one(f, 3, &p1, NULL); /* at the head of the queue */
	struct hv_vcpu *d = one(f, 4, &p0, NULL);

	assert_true(hv_block(a, NULL, NULL));
	fake_drain(f);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 0), d);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 1), b);
	assert_int_equal(ran(c), 0);
}

/* Its context may still be in use where it ran: nobody else may load it before that is saved. */
static void a_unit_is_queued_only_when_its_context_is_saved(void **state)
{
	struct fake *f = *state;
	struct hv_mask p1 = fake_mask1(1);
	struct hv_vcpu *a = one(f, 1, NULL, NULL), *b = one(f, 2, &p1, NULL);

	f->hold_saves = true;
	assert_true(hv_block(a, NULL, NULL));
	fake_drain(f); /* pCPU 0 switches to idle, not saved yet */
	assert_true(f->saving[0]);
	assert_true(hv_block(b, NULL, NULL));
	fake_drain(f);
	fake_save(f, 1);
	fake_drain(f);
	fake_forget(f);
	assert_true(hv_wake(a));
	assert_int_equal(fake_count(f, HV_TRACE_TICKLE), 0);
	fake_save(f, 0);
	assert_int_equal(fake_count(f, HV_TRACE_TICKLE), 1);
	fake_drain(f);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 0), a);
}

static void a_unit_that_is_unpinned_leaves_for_the_idle_pcpu(void **state)
{
	struct fake *f = *state;
	struct hv_mask p0 = fake_mask1(0), p1 = fake_mask1(1);
	struct hv_vcpu *a = one(f, 1, &p0, NULL), *b = one(f, 2, &p0, NULL);

	assert_true(hv_pcpu_loaded(f->sys, 1)->idle);
	assert_int_equal(hv_affinity_set(b, &p1, NULL), 0); /* b is queued */
	fake_drain(f);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 1), b);
	assert_int_equal(hv_affinity_set(a, &p1, NULL), 0); /* a runs */
	fake_drain(f);
	assert_true(hv_pcpu_loaded(f->sys, 0)->idle);
	fake_run(f, 20 * SLICE);
	assert_int_equal(ran(a) + ran(b), 20 * SLICE);
	assert_int_equal(ran(a), 10 * SLICE);
}

/* Else whoever waits would take the place of who goes, and the pCPU would never be free. */
static void a_pcpu_that_leaves_its_pool_takes_nobody_who_waits(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *first = one(f, 1, NULL, NULL);
	struct hv_vcpu *second = one(f, 2, NULL, NULL);
	struct hv_vcpu *third = one(f, 3, NULL, NULL);

	assert_ptr_equal(hv_pcpu_loaded(f->sys, 1), second);
	assert_int_equal(hv_pool_remove_pcpu(f->pool, 1), -HV_EAGAIN);
	fake_drain(f);
	assert_true(hv_pcpu_loaded(f->sys, 1)->idle);
	assert_int_equal(hv_pool_remove_pcpu(f->pool, 1), 0);
	fake_run(f, 30 * SLICE);
	assert_int_equal(ran(first) + ran(second) + ran(third), 30 * SLICE);
	assert_int_equal(ran(third), 10 * SLICE);
	fake_check(f);
}

static void it_has_no_parameters_and_no_table(void **state)
{
	struct fake *f = *state;
	struct hv_domain_params weight = {.weight = 512};
	struct hv_sched_params limit = {.ratelimit_us = 1000};
	struct hv_window w = {.runtime = 1};

	assert_int_equal(hv_domain_params_set(fake_domain(f, 1, 1), &weight), -HV_EOPNOTSUPP);
	assert_int_equal(hv_sched_params_set(f->pool, &limit), -HV_EOPNOTSUPP);
	assert_int_equal(hv_frame_set(f->pool, 1, 1, &w), -HV_EOPNOTSUPP);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fake_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(units_of_one_pcpu_take_turns_of_a_slice_in_the_order_of_arrival),
		TEST(a_unit_alone_goes_on_slice_after_slice),
		TEST(three_units_on_two_pcpus_get_two_thirds_each),
		TEST(a_waking_unit_goes_to_the_end_and_preempts_nobody),
		TEST(a_yield_ends_the_turn),
		TEST(an_idle_pcpu_that_the_unit_prefers_is_asked_first),
		TEST(a_unit_that_may_not_run_here_does_not_block_the_queue),
		TEST(a_unit_is_queued_only_when_its_context_is_saved),
		TEST(a_unit_that_is_unpinned_leaves_for_the_idle_pcpu),
		TEST(a_pcpu_that_leaves_its_pool_takes_nobody_who_waits),
		TEST(it_has_no_parameters_and_no_table),
	};

	return cmocka_run_group_tests_name("round_robin", tests, NULL, NULL);
}
