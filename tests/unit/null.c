/* SPDX-License-Identifier: MIT */
/*
 * The null policy, case by case (null section 8): a pool of pCPUs 0-3, all affinities unless
 * stated, passes at one instant in ascending pCPU order. Cases 10 and 11 need pCPUs that leave a
 * pool.
 */
#include "fake_host.h"

static int setup(void **state)
{
	struct fake *f = fake_new(1, 4, 1, hv_policies);

	fake_boot(f, "null");
	*state = f;
	return 0;
}

static int64_t value(const struct hv_vcpu *v, unsigned i)
{
	struct hv_state st = {0};

	hv_unit_state(v->unit, &st);
	assert_int_equal(st.nr, 2);
	return st.v[i].value;
}

/* pCPU that the vCPU holds, -1 = none. */
static int64_t slot(const struct hv_vcpu *v)
{
	return value(v, 0);
}

/* Place in the wait queue from 1, 0 = not in it. */
static int64_t place(const struct hv_vcpu *v)
{
	return value(v, 1);
}

static unsigned all_passes(const struct fake *f)
{
	return f->passes[0] + f->passes[1] + f->passes[2] + f->passes[3];
}

/* Domain id with n vCPUs, brought up one after the other. */
static struct hv_domain *up(struct fake *f, int id, unsigned n)
{
	struct hv_domain *d = fake_domain(f, id, n);

	for (unsigned i = 0; i < n; i++) {
		hv_vcpu_up(d->vcpus[i]);
		fake_drain(f);
	}
	fake_forget(f);
	return d;
}

/* A one-vCPU domain with affinities, down. */
static struct hv_vcpu *one(struct fake *f, int id, const struct hv_mask *hard,
			   const struct hv_mask *soft)
{
	struct hv_domain *d;
	struct hv_vcpu *v;

	assert_int_equal(hv_domain_create(f->pool, id, 1, &d), 0);
	assert_int_equal(hv_vcpu_create(d, NULL, hard, soft, &v), 0);
	return v;
}

static void bring_up(struct fake *f, struct hv_vcpu *v)
{
	hv_vcpu_up(v);
	fake_drain(f);
}

static void take_down(struct fake *f, struct hv_vcpu *v)
{
	hv_vcpu_down(v);
	fake_drain(f);
}

static void case_1_offline_units_hold_nothing_and_take_their_pcpu_when_they_come_up(void **state)
{
	struct fake *f = *state;
	struct hv_domain *d = fake_domain(f, 1, 2);

	assert_int_equal(d->vcpus[0]->pcpu, 0);
	assert_int_equal(d->vcpus[1]->pcpu, 1);
	assert_int_equal(slot(d->vcpus[0]), -1);
	assert_int_equal(place(d->vcpus[0]) + place(d->vcpus[1]), 0);
	fake_forget(f);
	hv_vcpu_up(d->vcpus[0]);
	hv_vcpu_up(d->vcpus[1]);
	fake_drain(f);
	assert_int_equal(slot(d->vcpus[0]), 0);
	assert_int_equal(slot(d->vcpus[1]), 1);
	assert_int_equal(f->passes[0], 1);
	assert_int_equal(f->passes[1], 1);
	assert_int_equal(all_passes(f), 2);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 0), d->vcpus[0]);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 1), d->vcpus[1]);
}

static void case_2_a_unit_whose_pcpu_is_taken_waits_and_the_lowest_free_pcpu_takes_it(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v;

	up(f, 1, 2);
	v = fake_domain(f, 2, 1)->vcpus[0];
	assert_int_equal(v->pcpu, 0);
	hv_vcpu_up(v);
	assert_int_equal(place(v), 1);
	assert_int_equal(f->pending[2], HV_EVENT_SCHEDULE);
	assert_int_equal(f->pending[3], HV_EVENT_SCHEDULE);
	assert_int_equal(f->pending[0] | f->pending[1], 0);
	fake_drain(f);
	assert_int_equal(slot(v), 2);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 2), v);
	assert_true(hv_pcpu_loaded(f->sys, 3)->idle);
	assert_int_equal(all_passes(f), 2);
}

/* What a pool move does: an on line unit is inserted. */
static void case_3_an_online_unit_is_inserted_on_a_free_pcpu_directly(void **state)
{
	struct fake *f = *state;
	struct hv_sched *s = f->pool->sched;
	struct hv_vcpu *v;

	up(f, 1, 2);
	v = fake_domain(f, 2, 1)->vcpus[0];
	hv_pause(v);
	hv_vcpu_up(v); /* on line, but it has never woken */
	assert_int_equal(slot(v), -1);
	fake_forget(f);
	s->policy->insert_unit(s, v->unit);
	assert_int_equal(slot(v), 2);
	assert_int_equal(place(v), 0);
	assert_int_equal(f->raised[0] + f->raised[1] + f->raised[2] + f->raised[3], 0);
	fake_check(f);
}

static void case_4_a_fifth_unit_waits_until_a_pcpu_is_given_up(void **state)
{
	struct fake *f = *state;
	struct hv_domain *d = up(f, 1, 4);
	struct hv_vcpu *fifth = fake_domain(f, 2, 1)->vcpus[0];

	bring_up(f, fifth);
	assert_int_equal(place(fifth), 1);
	assert_int_equal(all_passes(f), 0);
	hv_block(d->vcpus[1], NULL, NULL);
	fake_drain(f);
	assert_true(hv_pcpu_loaded(f->sys, 1)->idle); /* it keeps its slot */
	assert_int_equal(slot(d->vcpus[1]), 1);
	assert_int_equal(place(fifth), 1);
	fake_forget(f);
	take_down(f, d->vcpus[1]);
	assert_int_equal(slot(fifth), 1);
	assert_int_equal(f->passes[1], 1);
	assert_int_equal(all_passes(f), 1);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 1), fifth);
}

/* A wait queue [W1 (no soft), W2 (soft {3})] behind four units. */
static struct hv_domain *two_waiters(struct fake *f, struct hv_vcpu **w1, struct hv_vcpu **w2)
{
	struct hv_domain *d = up(f, 1, 4);
	struct hv_mask m3 = fake_mask1(3);

	*w1 = one(f, 2, NULL, NULL);
	*w2 = one(f, 3, NULL, &m3);
	bring_up(f, *w1);
	bring_up(f, *w2);
	assert_int_equal(place(*w1), 1);
	assert_int_equal(place(*w2), 2);
	return d;
}

static void case_5_a_freed_pcpu_goes_to_the_waiter_whose_soft_affinity_wants_it(void **state)
{
	struct hv_vcpu *w1, *w2;
	struct hv_domain *d = two_waiters(*state, &w1, &w2);

	take_down(*state, d->vcpus[3]);
	assert_int_equal(slot(w2), 3);
	assert_int_equal(place(w1), 1);
}

static void case_5_else_to_the_first_that_may_run_there(void **state)
{
	struct hv_vcpu *w1, *w2;
	struct hv_domain *d = two_waiters(*state, &w1, &w2);

	take_down(*state, d->vcpus[1]);
	assert_int_equal(slot(w1), 1);
	assert_int_equal(place(w2), 1);
}

static void case_6_a_waiter_that_may_not_run_there_keeps_its_place(void **state)
{
	struct fake *f = *state;
	struct hv_domain *d = up(f, 1, 4);
	struct hv_mask m2 = fake_mask1(2);
	struct hv_vcpu *w1 = one(f, 2, &m2, NULL), *w2 = one(f, 3, NULL, NULL);

	bring_up(f, w1);
	bring_up(f, w2);
	take_down(f, d->vcpus[0]);
	assert_int_equal(slot(w2), 0);
	assert_int_equal(place(w1), 1);
	take_down(f, d->vcpus[2]);
	assert_int_equal(slot(w1), 2);
}

static void case_7_a_forbidden_pcpu_is_left_for_a_free_one_or_for_the_queue(void **state)
{
	struct fake *f = *state;
	struct hv_domain *d = up(f, 1, 3); /* on 0, 1, 2; 3 is free */
	struct hv_mask m13 = fake_mask2(1, 3), m1 = fake_mask1(1);
	struct hv_vcpu *u = d->vcpus[0];

	assert_int_equal(hv_affinity_set(u, &m13, NULL), 0);
	fake_drain(f);
	assert_int_equal(slot(u), 3);
	assert_true(hv_pcpu_loaded(f->sys, 0)->idle);
	assert_int_equal(hv_affinity_set(u, &m1, NULL), 0);
	fake_drain(f);
	assert_int_equal(slot(u), -1);
	assert_int_equal(place(u), 1);
	assert_int_equal(u->pcpu, 1);
	assert_true(hv_pcpu_loaded(f->sys, 3)->idle);
	take_down(f, d->vcpus[1]);
	assert_int_equal(slot(u), 1);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 1), u);
}

static void case_7_the_pcpu_left_goes_to_a_waiter(void **state)
{
	struct fake *f = *state;
	struct hv_domain *d = up(f, 1, 4);
	struct hv_vcpu *w = fake_domain(f, 2, 1)->vcpus[0];
	struct hv_mask m1 = fake_mask1(1);

	bring_up(f, w);
	assert_int_equal(hv_affinity_set(d->vcpus[0], &m1, NULL), 0);
	fake_drain(f);
	assert_int_equal(slot(w), 0);
	assert_int_equal(place(d->vcpus[0]), 1);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 0), w);
}

static void case_8_soft_affinity_moves_to_a_free_pcpu_only(void **state)
{
	struct fake *f = *state;
	struct hv_domain *d = up(f, 1, 2); /* on 0, 1 */
	struct hv_mask m2 = fake_mask1(2), m1 = fake_mask1(1);

	assert_int_equal(hv_affinity_set(d->vcpus[0], NULL, &m2), 0);
	fake_drain(f);
	assert_int_equal(slot(d->vcpus[0]), 2);
	assert_int_equal(hv_affinity_set(d->vcpus[0], NULL, &m1), 0); /* 1 is busy */
	fake_drain(f);
	assert_int_equal(slot(d->vcpus[0]), 2);
	take_down(f, d->vcpus[1]); /* freed later: it does not move */
	assert_int_equal(slot(d->vcpus[0]), 2);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 2), d->vcpus[0]);
}

/*
 * Real null lets pCPU 0 spin here (fault 1): it cannot take the unit, as it holds the lock that it
 * tries to get. Ours takes it in its first pass.
 */
static void case_9_a_unit_whose_own_pcpu_is_free_but_not_wanted_is_placed(void **state)
{
	struct fake *f = *state;
	struct hv_domain *d = up(f, 1, 4);
	struct hv_mask m2 = fake_mask1(2);
	struct hv_vcpu *u = one(f, 2, NULL, &m2);

	take_down(f, d->vcpus[0]);
	take_down(f, d->vcpus[3]);
	assert_int_equal(u->pcpu, 0);
	fake_forget(f);
	hv_vcpu_up(u);
	assert_int_equal(place(u), 1); /* not placed directly */
	assert_int_equal(f->pending[0], HV_EVENT_SCHEDULE);
	assert_int_equal(f->pending[3], HV_EVENT_SCHEDULE);
	fake_drain(f);
	assert_int_equal(slot(u), 0);
	assert_true(hv_pcpu_loaded(f->sys, 3)->idle);
	assert_int_equal(all_passes(f), 2);
}

static void case_9_also_when_no_other_pcpu_is_free(void **state)
{
	struct fake *f = *state;
	struct hv_domain *d = up(f, 1, 4);
	struct hv_mask m2 = fake_mask1(2);
	struct hv_vcpu *u = one(f, 2, NULL, &m2);

	take_down(f, d->vcpus[0]);
	fake_forget(f);
	bring_up(f, u); /* fake_drain() fails on endless rescheduling */
	assert_int_equal(slot(u), 0);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 0), u);
	assert_int_equal(all_passes(f), 1);
}

static void case_12_idle_work_is_done_in_a_pass_and_the_unit_runs_at_the_next(void **state)
{
	struct fake *f = *state;
	struct hv_domain *d = up(f, 1, 1);

	hv_work(f->sys, 0, true);
	fake_drain(f);
	assert_true(hv_pcpu_loaded(f->sys, 0)->idle);
	assert_int_equal(slot(d->vcpus[0]), 0);
	hv_work(f->sys, 0, false);
	fake_drain(f);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 0), d->vcpus[0]);
}

static void case_12_with_idle_work_an_empty_pcpu_takes_no_waiter(void **state)
{
	struct fake *f = *state;
	struct hv_domain *d = up(f, 1, 4);
	struct hv_mask m2 = fake_mask1(2);
	struct hv_vcpu *u = one(f, 2, NULL, &m2);

	take_down(f, d->vcpus[0]);
	hv_work(f->sys, 0, true);
	hv_vcpu_up(u);
	fake_drain(f);
	assert_int_equal(place(u), 1);
	hv_work(f->sys, 0, false);
	fake_drain(f);
	assert_int_equal(slot(u), 0);
}

static void case_13_yield_selects_the_same_unit_and_no_timer_is_ever_armed(void **state)
{
	struct fake *f = *state;
	struct hv_domain *d = up(f, 1, 1);

	hv_yield(d->vcpus[0]);
	fake_drain(f);
	assert_int_equal(fake_count(f, HV_TRACE_CONT), 1);
	assert_int_equal(f->log[fake_find(f, HV_TRACE_CONT, 0)].a, -1);
	assert_int_equal(fake_count(f, HV_TRACE_SWITCH), 0);
	assert_int_equal(f->nr_timers, 0);
}

static void case_14_a_paused_waiter_takes_a_freed_pcpu_which_then_idles(void **state)
{
	struct hv_vcpu *w1, *w2;
	struct fake *f = *state;
	struct hv_domain *d = two_waiters(f, &w1, &w2);

	hv_pause(w1);
	take_down(f, d->vcpus[1]);
	assert_int_equal(slot(w1), 1);
	assert_int_equal(place(w2), 1);
	assert_true(hv_pcpu_loaded(f->sys, 1)->idle);
	hv_unpause(w1);
	fake_drain(f);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 1), w1);
}

static void case_15_a_waiter_that_goes_offline_comes_back_at_the_tail(void **state)
{
	struct hv_vcpu *w1, *w2;

	two_waiters(*state, &w1, &w2);
	take_down(*state, w1);
	assert_int_equal(place(w1), 0);
	assert_int_equal(place(w2), 1);
	bring_up(*state, w1);
	assert_int_equal(place(w2), 1);
	assert_int_equal(place(w1), 2);
}

static void a_paused_or_woken_waiter_keeps_its_place(void **state)
{
	struct hv_vcpu *w1, *w2;

	two_waiters(*state, &w1, &w2);
	hv_pause(w1);
	hv_unpause(w1);
	assert_int_equal(place(w1), 1);
	assert_int_equal(place(w2), 2);
}

static void case_16_a_unit_never_assigned_leaves_the_holder_of_its_pcpu_alone(void **state)
{
	struct fake *f = *state;
	struct hv_domain *d = up(f, 1, 1);
	struct hv_vcpu *u = fake_domain(f, 2, 1)->vcpus[0];

	assert_int_equal(u->pcpu, 0);
	hv_pause(u);
	hv_vcpu_up(u); /* on line without a wake */
	assert_int_equal(slot(u) + place(u), -1);
	assert_int_equal(hv_domain_destroy(u->domain), 0);
	fake_drain(f);
	assert_int_equal(slot(d->vcpus[0]), 0);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 0), d->vcpus[0]);
}

static void case_17_wakes_ask_for_a_pass_only_where_they_can_change_something(void **state)
{
	struct fake *f = *state;
	struct hv_domain *d = up(f, 1, 4);
	struct hv_vcpu *w = fake_domain(f, 2, 1)->vcpus[0];

	bring_up(f, w);
	fake_forget(f);
	hv_pause(w);
	hv_unpause(w); /* a wake of a waiting unit */
	fake_drain(f);
	assert_int_equal(all_passes(f), 0);

	hv_block(d->vcpus[2], NULL, NULL);
	hv_wake(d->vcpus[2]); /* still running: no pass but the one that the block asked for */
	assert_int_equal(fake_count(f, HV_TRACE_TICKLE), 0);
	fake_drain(f);
	assert_int_equal(f->passes[2], 1);

	hv_block(d->vcpus[2], NULL, NULL);
	fake_drain(f);
	assert_true(hv_pcpu_loaded(f->sys, 2)->idle);
	fake_forget(f);
	hv_wake(d->vcpus[2]);
	fake_drain(f);
	assert_int_equal(f->passes[2], 1);
	assert_int_equal(all_passes(f), 1);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 2), d->vcpus[2]);
}

/* Xen's wake takes it for running, and it never runs again. */
static void a_unit_down_and_up_before_the_pass_is_not_lost(void **state)
{
	struct fake *f = *state;
	struct hv_domain *d = up(f, 1, 1);

	hv_vcpu_down(d->vcpus[0]);
	hv_vcpu_up(d->vcpus[0]);
	fake_drain(f);
	assert_int_equal(slot(d->vcpus[0]), 0);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 0), d->vcpus[0]);
}

static void a_waiter_is_taken_elsewhere_only_when_its_context_is_saved(void **state)
{
	struct fake *f = *state;
	struct hv_domain *d = up(f, 1, 4);
	struct hv_vcpu *w = fake_domain(f, 2, 1)->vcpus[0], *u = d->vcpus[0];

	bring_up(f, w);
	f->hold_saves = true;
	hv_vcpu_down(u); /* the waiter gets pCPU 0 */
	fake_drain(f);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 0), w);
	assert_true(u->unit->is_running);
	take_down(f, d->vcpus[1]);
	fake_save(f, 1);
	hv_vcpu_up(u); /* pCPU 1 is free, but u's context is not saved yet */
	fake_drain(f);
	assert_int_equal(place(u), 1);
	assert_true(hv_pcpu_loaded(f->sys, 1)->idle);
	fake_save(f, 0);
	fake_drain(f);
	assert_int_equal(slot(u), 1);
	fake_save(f, 1);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 1), u);
}

static void a_destroyed_domain_gives_its_pcpus_to_waiters(void **state)
{
	struct hv_vcpu *w1, *w2;
	struct fake *f = *state;
	struct hv_domain *d = two_waiters(f, &w1, &w2);

	hv_domain_pause(d);
	fake_drain(f);
	assert_int_equal(place(w1), 1); /* paused units keep their pCPUs */
	assert_int_equal(hv_domain_destroy(d), 0);
	fake_drain(f);
	assert_int_equal(slot(w2), 3);
	assert_int_equal(slot(w1), 2);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 2), w1);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 3), w2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fake_tear_down)
		TEST(case_1_offline_units_hold_nothing_and_take_their_pcpu_when_they_come_up),
		TEST(case_2_a_unit_whose_pcpu_is_taken_waits_and_the_lowest_free_pcpu_takes_it),
		TEST(case_3_an_online_unit_is_inserted_on_a_free_pcpu_directly),
		TEST(case_4_a_fifth_unit_waits_until_a_pcpu_is_given_up),
		TEST(case_5_a_freed_pcpu_goes_to_the_waiter_whose_soft_affinity_wants_it),
		TEST(case_5_else_to_the_first_that_may_run_there),
		TEST(case_6_a_waiter_that_may_not_run_there_keeps_its_place),
		TEST(case_7_a_forbidden_pcpu_is_left_for_a_free_one_or_for_the_queue),
		TEST(case_7_the_pcpu_left_goes_to_a_waiter),
		TEST(case_8_soft_affinity_moves_to_a_free_pcpu_only),
		TEST(case_9_a_unit_whose_own_pcpu_is_free_but_not_wanted_is_placed),
		TEST(case_9_also_when_no_other_pcpu_is_free),
		TEST(case_12_idle_work_is_done_in_a_pass_and_the_unit_runs_at_the_next),
		TEST(case_12_with_idle_work_an_empty_pcpu_takes_no_waiter),
		TEST(case_13_yield_selects_the_same_unit_and_no_timer_is_ever_armed),
		TEST(case_14_a_paused_waiter_takes_a_freed_pcpu_which_then_idles),
		TEST(case_15_a_waiter_that_goes_offline_comes_back_at_the_tail),
		TEST(a_paused_or_woken_waiter_keeps_its_place),
		TEST(case_16_a_unit_never_assigned_leaves_the_holder_of_its_pcpu_alone),
		TEST(case_17_wakes_ask_for_a_pass_only_where_they_can_change_something),
		TEST(a_unit_down_and_up_before_the_pass_is_not_lost),
		TEST(a_waiter_is_taken_elsewhere_only_when_its_context_is_saved),
		TEST(a_destroyed_domain_gives_its_pcpus_to_waiters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
