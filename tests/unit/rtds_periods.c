/* SPDX-License-Identifier: MIT */
/*
 * rtds: periods, budgets and deadlines. Case n is that of rtds section 11; extratime is off and
 * there is one pCPU unless stated.
 */
#include "rtds_world.h"

static void case_1_first_deadlines_are_multiples_of_the_period(void **state)
{
	struct world *w = world_start(1);
	struct rtds_unit *a;

	(void)state;
	go_to(w, 123456 * US);
	a = rtds_unit(fake_domain(&w->f, 9, 1)->vcpus[0]->unit);
	ASSERT_STATE(a, 130 * MS, 4 * MS, 0);
	a = plain(w, 10, 4);
	wake_at(w, 123456 * US, a);
	ASSERT_STATE(a, 130 * MS, 4 * MS, 0);
	world_end(w);
}

static void case_1_a_missed_deadline_goes_on_by_whole_periods(void **state)
{
	struct world *w = world_start(1);
	struct rtds_unit *a = plain(w, 10, 4), *b = plain(w, 10, 4);

	(void)state;
	go_to(w, 57 * MS);
	a->rank.deadline = 30 * MS;
	b->rank.deadline = 30 * MS;
	wake_at(w, 57 * MS, a);
	ASSERT_STATE(a, 60 * MS, 4 * MS, 0);
	hv_vcpu_down(vcpu_of(a));
	wake_at(w, 60 * MS, b);
	ASSERT_STATE(b, 70 * MS, 4 * MS, 0);
	world_end(w);
}

static void case_2_a_first_period_gives_the_whole_budget(void **state)
{
	struct world *w = world_start(1);
	struct rtds_unit *a = plain(w, 10, 4);

	(void)state;
	wake_at(w, 3 * MS, a);
	ASSERT_STATE(a, 10 * MS, 4 * MS, 0);
	go_to(w, 24 * MS);
	ASSERT_SPANS(w, 0, {3 * MS, a}, {7 * MS, NULL}, {10 * MS, a}, {14 * MS, NULL}, {20 * MS, a},
		     {24 * MS, NULL});
	world_end(w);
}

static void case_3_a_budget_waits_for_a_unit_that_blocks(void **state)
{
	struct world *w = world_start(1);
	struct rtds_unit *a = plain(w, 10, 4);

	(void)state;
	wake_at(w, 0, a);
	go_to(w, 1 * MS);
	block(w, a);
	wake_at(w, 6 * MS, a);
	ASSERT_STATE(a, 10 * MS, 3 * MS, 0);
	go_to(w, 14 * MS);
	ASSERT_SPANS(w, 0, {0, a}, {1 * MS, NULL}, {6 * MS, a}, {9 * MS, NULL}, {10 * MS, a},
		     {14 * MS, NULL});
	world_end(w);
}

static void case_4_a_tie_does_not_preempt(void **state)
{
	struct world *w = world_start(1);
	struct rtds_unit *a = plain(w, 10, 4), *b = plain(w, 20, 8);

	(void)state;
	wake_up(a);
	wake_up(b);
	go_to(w, 11 * MS);
	ASSERT_STATE(a, 20 * MS, 4 * MS, 0);
	go_to(w, 24 * MS);
	ASSERT_SPANS(w, 0, {0, a}, {4 * MS, b}, {12 * MS, a}, {16 * MS, NULL}, {20 * MS, a},
		     {24 * MS, b});
	world_end(w);
}

static void case_5_with_extratime_what_is_left_over_goes_to_lower_levels(void **state)
{
	struct world *w = world_start(1);
	struct rtds_unit *a = extra(w, 10, 4), *b = extra(w, 20, 8);

	(void)state;
	wake_up(a);
	wake_up(b);
	go_to(w, 16 * MS);
	ASSERT_STATE(a, 20 * MS, 4 * MS, 1);
	ASSERT_STATE(b, 20 * MS, 8 * MS, 1);
	go_to(w, 20 * MS);
	ASSERT_STATE(a, 30 * MS, 4 * MS, 0);
	ASSERT_STATE(b, 40 * MS, 8 * MS, 0);
	ASSERT_SPANS(w, 0, {0, a}, {4 * MS, b}, {12 * MS, a}, {16 * MS, b}, {20 * MS, a});
	go_to(w, 24 * MS);
	assert_ptr_equal(running_on(w, 0), b);
	world_end(w);
}

static void case_6_a_period_that_begins_leaves_the_slice_alone(void **state)
{
	struct world *w = world_start(1);
	struct rtds_unit *a = extra(w, 10, 4);

	(void)state;
	wake_at(w, 3 * MS, a);
	go_to(w, 7 * MS);
	ASSERT_STATE(a, 10 * MS, 4 * MS, 1);
	go_to(w, 10 * MS);
	ASSERT_STATE(a, 20 * MS, 4 * MS, 0);
	assert_int_equal(w->f.passes[0], 2);
	go_to(w, 11 * MS);
	ASSERT_STATE(a, 20 * MS, 3 * MS, 0);
	assert_int_equal(last_slice(w, 0), 3 * MS);
	go_to(w, 14 * MS);
	ASSERT_STATE(a, 20 * MS, 4 * MS, 1);
	go_to(w, 18 * MS);
	ASSERT_STATE(a, 20 * MS, 4 * MS, 2);
	ASSERT_SPANS(w, 0, {3 * MS, a});
	world_end(w);
}

/* The slice of 4 ms ends with a pass that comes at 4.3 ms. */
static struct rtds_unit *overrun(struct world *w, bool extratime)
{
	struct rtds_unit *a = new_unit(w, 10000, 4000, extratime, 0);

	wake_at(w, 0, a);
	w->f.now = 4300 * US;
	fake_fire_due(&w->f);
	fake_drain(&w->f);
	fake_check(&w->f);
	return a;
}

static void case_7_an_overrun_is_forgotten(void **state)
{
	struct world *w = world_start(1);
	struct rtds_unit *a = overrun(w, true);

	(void)state;
	ASSERT_STATE(a, 10 * MS, 4 * MS, 1);
	assert_ptr_equal(running_on(w, 0), a);
	world_end(w);

	w = world_start(1);
	a = overrun(w, false);
	ASSERT_STATE(a, 10 * MS, 0, 0);
	assert_true(a->depleted);
	assert_null(running_on(w, 0));
	world_end(w);
}

static void case_8_a_demoted_unit_behind_a_fresh_one_is_replenished_late(void **state)
{
	struct world *w = world_start(2);
	struct rtds_unit *a = extra(w, 10, 4), *b = extra(w, 20, 8);

	(void)state;
	wake_at(w, 0, a);
	wake_at(w, 5 * MS, b);
	assert_ptr_equal(running_on(w, 1), b);
	assert_ptr_equal(w->p->replq.head, &b->repl);
	assert_ptr_equal(w->p->replq.tail, &a->repl);
	assert_int_equal(w->p->timer.expiry, 20 * MS);
	go_to(w, 12 * MS);
	ASSERT_STATE(a, 10 * MS, 4 * MS, 3);
	go_to(w, 16 * MS);
	ASSERT_STATE(a, 10 * MS, 4 * MS, 4);
	go_to(w, 20 * MS);
	assert_int_equal(a->rank.deadline, 30 * MS);
	assert_int_equal(b->rank.deadline, 40 * MS);
	world_end(w);
}

static void case_13_a_depleted_unit_tickles_when_it_is_switched_out(void **state)
{
	struct world *w = world_start(1);
	struct rtds_unit *a = plain(w, 10, 4);

	(void)state;
	wake_at(w, 3 * MS, a);
	fake_forget(&w->f);
	go_to(w, 9 * MS);
	assert_int_equal(tickled(w, 0), 0);
	assert_int_equal(tickled(w, 1), HV_NO_PCPU);
	assert_int_equal(w->f.passes[0], 2);
	ASSERT_SPANS(w, 0, {7 * MS, NULL});
	world_end(w);
}

static void case_13_also_a_pcpu_that_is_busy_and_stays_so(void **state)
{
	struct world *w = world_start(1);
	struct rtds_unit *a = plain(w, 10, 4), *b = plain(w, 20, 8);

	(void)state;
	wake_up(a);
	wake_up(b);
	go_to(w, 3 * MS);
	fake_forget(&w->f);
	go_to(w, 9 * MS);
	assert_int_equal(tickled(w, 0), 0);
	assert_int_equal(w->f.passes[0], 2);
	ASSERT_SPANS(w, 0, {4 * MS, b});
	assert_int_equal(last_slice(w, 0), 8 * MS);
	world_end(w);
}

static void case_17_a_depleted_unit_that_blocks_is_still_depleted_when_it_wakes(void **state)
{
	struct world *w = world_start(1);
	struct rtds_unit *a = plain(w, 10, 4);

	(void)state;
	wake_at(w, 0, a);
	w->f.now = 4 * MS; /* it blocks just when its budget is used up */
	block(w, a);
	ASSERT_STATE(a, 10 * MS, 0, 0);
	wake_at(w, 6 * MS, a);
	assert_int_equal(a->place, RTDS_DEPLETED);
	assert_int_equal(a->left, 0);
	go_to(w, 10 * MS);
	ASSERT_SPANS(w, 0, {0, a}, {4 * MS, NULL}, {10 * MS, a});
	world_end(w);
}

static void case_17_a_later_wake_finds_a_new_period(void **state)
{
	struct world *w = world_start(1);
	struct rtds_unit *a = plain(w, 10, 4);

	(void)state;
	wake_at(w, 0, a);
	w->f.now = 4 * MS;
	block(w, a);
	wake_at(w, 12 * MS, a);
	ASSERT_STATE(a, 20 * MS, 4 * MS, 0);
	ASSERT_SPANS(w, 0, {0, a}, {4 * MS, NULL}, {12 * MS, a});
	world_end(w);
}

/* ---- faults of the past (rtds section 12) */

/* Xen 514e5eb015: run time of the old period was charged to the new one. */
static void a_budget_as_long_as_the_period_never_runs_out(void **state)
{
	struct world *w = world_start(1);
	struct rtds_unit *a = plain(w, 10, 10);

	(void)state;
	wake_at(w, 0, a);
	go_to(w, 95 * MS);
	ASSERT_SPANS(w, 0, {0, a});
	ASSERT_STATE(a, 100 * MS, 10 * MS, 0);
	world_end(w);
}

static void overload_charges_each_period_with_its_own_time(void **state)
{
	struct world *w = world_start(1);
	struct rtds_unit *a = plain(w, 10, 6), *b = plain(w, 10, 6);

	(void)state;
	wake_up(a);
	wake_up(b);
	go_to(w, 12 * MS);
	/* b has run from 6 to 12; 4 ms of it belong to the period that ended at 10. */
	ASSERT_STATE(b, 20 * MS, 4 * MS, 0);
	ASSERT_STATE(a, 20 * MS, 6 * MS, 0);
	go_to(w, 32 * MS);
	ASSERT_SPANS(w, 0, {0, a}, {6 * MS, b}, {12 * MS, a}, {18 * MS, b}, {22 * MS, a},
		     {28 * MS, b}, {32 * MS, a});
	world_end(w);
}

/* Xen 1b843b2097: a depleted mark survived a replenishment within a context switch. */
static void a_period_that_begins_during_a_switch_out_counts(void **state)
{
	struct world *w = world_start(1);
	struct rtds_unit *a = plain(w, 10, 4);

	(void)state;
	wake_at(w, 3 * MS, a);
	w->f.hold_saves = true;
	go_to(w, 10 * MS);
	assert_true(a->scheduled && !a->depleted);
	ASSERT_STATE(a, 20 * MS, 4 * MS, 0);
	w->f.hold_saves = false;
	fake_save(&w->f, 0);
	assert_int_equal(a->place, RTDS_IN_RUNQ);
	go_to(w, 11 * MS);
	assert_ptr_equal(running_on(w, 0), a);
	world_end(w);
}

/* Xen 802b778e9a and others: a clock read before a lock was taken. */
static void time_that_seems_to_run_backwards_costs_nothing(void **state)
{
	struct world *w = world_start(1);
	struct rtds_unit *a = plain(w, 10, 4);

	(void)state;
	wake_at(w, 0, a);
	a->since = 2 * MS;
	w->f.now = 1 * MS;
	fake_pass(&w->f, 0);
	ASSERT_STATE(a, 10 * MS, 4 * MS, 0);
	assert_int_equal(a->since, 1 * MS);
	world_end(w);
}

/* Xen 73c62927f6: a unit paused in the midst of a pass could not be unpaused. */
static void a_unit_paused_while_it_is_switched_out_comes_back(void **state)
{
	struct world *w = world_start(1);
	struct rtds_unit *a = plain(w, 10, 4);

	(void)state;
	wake_at(w, 0, a);
	w->f.hold_saves = true;
	go_to(w, 4 * MS); /* depleted, to be queued once it is saved */
	assert_true(a->delayed_add);
	assert_int_equal(hv_pause(vcpu_of(a)), 0);
	assert_false(a->delayed_add);
	w->f.hold_saves = false;
	fake_save(&w->f, 0);
	assert_false(a->in_repl);
	assert_int_equal(hv_unpause(vcpu_of(a)), 0);
	assert_int_equal(a->place, RTDS_DEPLETED);
	go_to(w, 11 * MS);
	assert_ptr_equal(running_on(w, 0), a);
	world_end(w);
}

/* The timer is late: the wake itself finds that the deadline has passed. */
static void a_wake_during_a_switch_out_may_begin_a_period(void **state)
{
	struct world *w = world_start(1);
	struct rtds_unit *a = plain(w, 10, 4), *b = plain(w, 15, 2);

	(void)state;
	wake_at(w, 0, a);
	wake_at(w, 0, b);
	w->f.hold_saves = true;
	go_to(w, 1 * MS);
	block(w, a);
	assert_true(a->scheduled);
	assert_int_equal(w->p->timer.expiry, 10 * MS);
	w->f.now = 12 * MS;
	assert_true(hv_wake(vcpu_of(a)));
	ASSERT_STATE(a, 20 * MS, 4 * MS, 0);
	assert_ptr_equal(w->p->replq.tail, &a->repl); /* behind b, whose deadline is 15 ms */
	assert_int_equal(w->p->timer.expiry, 15 * MS);
	w->f.hold_saves = false;
	fake_save(&w->f, 0);
	assert_int_equal(a->place, RTDS_IN_RUNQ);
	fake_check(&w->f);
	world_end(w);
}

static void a_unit_that_wakes_while_it_is_switched_out_is_queued_after(void **state)
{
	struct world *w = world_start(1);
	struct rtds_unit *a = plain(w, 10, 4);

	(void)state;
	wake_at(w, 0, a);
	w->f.hold_saves = true;
	go_to(w, 1 * MS);
	block(w, a);
	go_to(w, 12 * MS); /* a new period has begun meanwhile */
	assert_true(hv_wake(vcpu_of(a)));
	assert_true(a->delayed_add && a->in_repl && a->place == RTDS_NOWHERE);
	ASSERT_STATE(a, 20 * MS, 4 * MS, 0);
	assert_int_equal(w->p->timer.expiry, 20 * MS);
	w->f.hold_saves = false;
	fake_save(&w->f, 0);
	fake_drain(&w->f);
	assert_ptr_equal(running_on(w, 0), a);
	world_end(w);
}

/* Xen 0f1dec89d3: a queue head that cannot run made the pCPU idle. */
static void a_waiting_unit_that_cannot_run_is_passed_over(void **state)
{
	struct world *w = world_start(1);
	struct rtds_unit *a = plain(w, 10, 4), *b = plain(w, 20, 4);

	(void)state;
	hv_vcpu_up(vcpu_of(a));
	hv_vcpu_up(vcpu_of(b));
	hv_lock_acquire(w->f.sys, &w->p->lock);
	hv_unit_set_flag(a->unit, HV_PF_PARKED); /* nobody tells the policy */
	hv_lock_release(w->f.sys, &w->p->lock);
	fake_pass(&w->f, 0);
	assert_ptr_equal(running_on(w, 0), b);
	assert_int_equal(a->place, RTDS_NOWHERE);
	assert_false(a->in_repl);
	hv_lock_acquire(w->f.sys, &w->p->lock);
	hv_unit_clear_flag(a->unit, HV_PF_PARKED);
	w->s->policy->wake(w->s, a->unit);
	hv_lock_release(w->f.sys, &w->p->lock);
	fake_drain(&w->f);
	assert_ptr_equal(running_on(w, 0), a);
	world_end(w);
}

/* Xen 410d44fcf3: the level wrapped to 0, which is the best. */
static void the_level_does_not_wrap(void **state)
{
	struct world *w = world_start(1);
	struct rtds_unit *a = extra(w, 4000, 1);

	(void)state;
	wake_at(w, 0, a);
	hv_lock_acquire(w->f.sys, &w->p->lock);
	a->rank.level = UINT32_MAX - 1;
	rtds_queue_rerank(&a->repl, a->rank);
	w->p->running[0] = a->rank;
	hv_lock_release(w->f.sys, &w->p->lock);
	go_to(w, 1 * MS);
	assert_int_equal(a->rank.level, UINT32_MAX);
	go_to(w, 3 * MS);
	ASSERT_STATE(a, 4000 * MS, 1 * MS, UINT32_MAX);
	world_end(w);
}

static void late_timers_do_not_shift_deadlines(void **state)
{
	struct world *w = world_start(1);
	struct rtds_unit *a = plain(w, 10, 4);

	(void)state;
	wake_at(w, 0, a);
	for (int k = 1; k <= 50; k++) {
		/* each timer fires 175 us late, one of them 14 ms */
		hv_time late = k == 20 ? 14 * MS : 175 * US;

		w->f.now = fake_first_timer(&w->f)->expiry + late;
		fake_fire_due(&w->f);
		fake_drain(&w->f);
		fake_check(&w->f);
		assert_int_equal(a->rank.deadline % (10 * MS), 0);
		assert_in_range(a->left, 0, 4 * MS);
	}
	world_end(w);
}

/* 1024 units with one deadline are served at once, and all of them in time. */
static void many_units_with_one_deadline_are_replenished_together(void **state)
{
	struct world *w = world_start(4);
	struct rtds_unit *u[1024];

	(void)state;
	for (unsigned i = 0; i < 1024; i++) {
		u[i] = new_unit(w, 100000, 100, false, 0);
		hv_vcpu_up(vcpu_of(u[i]));
	}
	fake_drain(&w->f);
	fake_run(&w->f, 90 * MS);
	for (unsigned i = 0; i < 1024; i++)
		assert_int_equal(u[i]->left, 0);
	fake_run(&w->f, 100 * MS);
	for (unsigned i = 0; i < 1024; i++)
		assert_int_equal(u[i]->rank.deadline, 200 * MS);
	fake_run(&w->f, 190 * MS);
	for (unsigned i = 0; i < 1024; i++) {
		struct hv_runstate rs;

		hv_runstate_get(vcpu_of(u[i]), &rs);
		assert_int_equal(rs.time[HV_RUNNING], 200 * US);
	}
	world_end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(case_1_first_deadlines_are_multiples_of_the_period),
		cmocka_unit_test(case_1_a_missed_deadline_goes_on_by_whole_periods),
		cmocka_unit_test(case_2_a_first_period_gives_the_whole_budget),
		cmocka_unit_test(case_3_a_budget_waits_for_a_unit_that_blocks),
		cmocka_unit_test(case_4_a_tie_does_not_preempt),
		cmocka_unit_test(case_5_with_extratime_what_is_left_over_goes_to_lower_levels),
		cmocka_unit_test(case_6_a_period_that_begins_leaves_the_slice_alone),
		cmocka_unit_test(case_7_an_overrun_is_forgotten),
		cmocka_unit_test(case_8_a_demoted_unit_behind_a_fresh_one_is_replenished_late),
		cmocka_unit_test(case_13_a_depleted_unit_tickles_when_it_is_switched_out),
		cmocka_unit_test(case_13_also_a_pcpu_that_is_busy_and_stays_so),
		cmocka_unit_test(
			case_17_a_depleted_unit_that_blocks_is_still_depleted_when_it_wakes),
		cmocka_unit_test(case_17_a_later_wake_finds_a_new_period),
		cmocka_unit_test(a_budget_as_long_as_the_period_never_runs_out),
		cmocka_unit_test(overload_charges_each_period_with_its_own_time),
		cmocka_unit_test(a_period_that_begins_during_a_switch_out_counts),
		cmocka_unit_test(time_that_seems_to_run_backwards_costs_nothing),
		cmocka_unit_test(a_unit_paused_while_it_is_switched_out_comes_back),
		cmocka_unit_test(a_unit_that_wakes_while_it_is_switched_out_is_queued_after),
		cmocka_unit_test(a_wake_during_a_switch_out_may_begin_a_period),
		cmocka_unit_test(a_waiting_unit_that_cannot_run_is_passed_over),
		cmocka_unit_test(the_level_does_not_wrap),
		cmocka_unit_test(late_timers_do_not_shift_deadlines),
		cmocka_unit_test(many_units_with_one_deadline_are_replenished_together),
	};

	return cmocka_run_group_tests_name("rtds_periods", tests, NULL, NULL);
}
