/* SPDX-License-Identifier: MIT */
/*
 * rtds: which pCPU a unit that wakes gets. Case n is that of rtds section 11.
 */
#include "rtds_world.h"

static void case_9_a_level_beats_a_deadline(void **state)
{
	struct world *w = world_start(1);
	struct rtds_unit *a = extra(w, 5, 1), *b = plain(w, 900, 100);

	(void)state;
	wake_at(w, 0, a);
	go_to(w, 1 * MS);
	ASSERT_STATE(a, 5 * MS, 1 * MS, 1);
	wake_at(w, 1 * MS, b);
	assert_ptr_equal(running_on(w, 0), b);
	assert_int_equal(b->rank.deadline, 900 * MS);
	world_end(w);
}

static void case_10_the_pcpu_of_the_lowest_priority_is_taken_and_its_unit_moves(void **state)
{
	struct world *w = world_start(2);
	struct rtds_unit *a = plain(w, 10, 4), *b = plain(w, 20, 8), *c = plain(w, 15, 5);

	(void)state;
	set_home(w, b, 1);
	set_home(w, c, 1);
	wake_up(a);
	wake_up(b);
	assert_int_equal(tickled(w, 0), 0);
	assert_int_equal(tickled(w, 1), 1);
	go_to(w, 1 * MS);
	fake_forget(&w->f);
	wake_up(c);
	assert_int_equal(tickled(w, 0), 1);
	go_to(w, 4 * MS);
	ASSERT_STATE(b, 20 * MS, 7 * MS, 0);
	assert_int_equal(b->unit->res->master, 0);
	go_to(w, 9 * MS);
	ASSERT_SPANS(w, 0, {4 * MS, b});
	ASSERT_SPANS(w, 1, {1 * MS, c}, {6 * MS, NULL});
	world_end(w);
}

/* pCPUs 0-3 run units with deadlines 40, 20, 30, 40 ms. */
static struct world *four_busy(void)
{
	static const uint32_t period[] = {40, 20, 30, 40};
	struct world *w = world_start(4);

	for (unsigned c = 0; c < 4; c++) {
		struct rtds_unit *u = plain(w, period[c], 15);

		set_home(w, u, c);
		wake_at(w, 0, u);
		assert_ptr_equal(running_on(w, c), u);
	}
	fake_forget(&w->f);
	return w;
}

/* pCPU that a new unit with this deadline tickles, whose own pCPU is 2. */
static unsigned newcomer_tickles(struct world *w, uint32_t deadline_ms)
{
	struct rtds_unit *u = plain(w, deadline_ms, 5);

	set_home(w, u, 2);
	fake_forget(&w->f);
	wake_up(u);
	assert_int_equal(u->rank.deadline, deadline_ms * MS);
	return tickled(w, 0);
}

static void case_11_the_first_of_the_lowest_priority_is_tickled_once(void **state)
{
	struct world *w = four_busy();

	(void)state;
	assert_int_equal(newcomer_tickles(w, 35), 3);
	assert_int_equal(newcomer_tickles(w, 36), 0);
	/* 0 and 3 are tickled; 1 and 2 have earlier deadlines */
	assert_int_equal(newcomer_tickles(w, 37), HV_NO_PCPU);
	fake_drain(&w->f);
	world_end(w);
}

static void case_11_equal_priority_tickles_nobody(void **state)
{
	struct world *w = four_busy();

	(void)state;
	assert_int_equal(newcomer_tickles(w, 40), HV_NO_PCPU);
	world_end(w);
}

/* Case 11 on a host of 130 pCPUs, of which only 3 and 129 run units of low priority. */
static void the_search_goes_round_all_pcpus_of_a_large_host(void **state)
{
	struct world *w = world_start(130);
	struct rtds_unit *new;

	(void)state;
	for (unsigned c = 0; c < 130; c++) {
		struct rtds_unit *u = plain(w, c == 3 || c == 129 ? 40 : 20, 10);

		set_home(w, u, c);
		wake_at(w, 0, u);
		assert_ptr_equal(running_on(w, c), u);
	}
	for (unsigned n = 0; n < 2; n++) {
		static const unsigned home[] = {70, 101}, expected[] = {129, 3};

		fake_forget(&w->f);
		new = plain(w, 30, 10);
		set_home(w, new, home[n]);
		wake_up(new);
		assert_int_equal(tickled(w, 0), expected[n]);
		fake_drain(&w->f);
		assert_ptr_equal(running_on(w, expected[n]), new);
	}
	/* The two that were preempted are nobody's betters. */
	fake_forget(&w->f);
	new = plain(w, 30, 10);
	wake_up(new);
	assert_int_equal(tickled(w, 0), HV_NO_PCPU);
	world_end(w);
}

static void case_11_two_wakes_at_once_tickle_two_pcpus(void **state)
{
	struct world *w = world_start(2);
	struct rtds_unit *a = plain(w, 10, 4), *b = plain(w, 10, 4);

	(void)state;
	set_home(w, b, 0);
	wake_up(a);
	wake_up(b);
	assert_int_equal(tickled(w, 0), 0);
	assert_int_equal(tickled(w, 1), 1);
	fake_drain(&w->f);
	assert_ptr_equal(running_on(w, 0), a);
	assert_ptr_equal(running_on(w, 1), b);
	assert_int_equal(b->unit->res->master, 1);
	world_end(w);
}

static void a_pass_makes_its_pcpu_ready_to_be_tickled_again(void **state)
{
	struct world *w = world_start(1);
	struct rtds_unit *a = plain(w, 20, 4), *b = plain(w, 10, 4);

	(void)state;
	wake_at(w, 0, a);
	fake_forget(&w->f);
	wake_at(w, 0, b);
	assert_int_equal(tickled(w, 0), 0);
	assert_ptr_equal(running_on(w, 0), b);
	world_end(w);
}

static void case_12_units_pinned_elsewhere_are_passed_over(void **state)
{
	struct world *w = world_start(2);
	struct rtds_unit *busy = new_unit(w, 5000, 4000, false, 2);
	struct rtds_unit *x = new_unit(w, 10000, 4000, false, 2);
	struct rtds_unit *y = new_unit(w, 20000, 4000, false, 0);

	(void)state;
	wake_at(w, 0, busy);
	assert_ptr_equal(running_on(w, 1), busy);
	hv_vcpu_up(vcpu_of(x));
	hv_vcpu_up(vcpu_of(y));
	assert_ptr_equal(w->p->runq.head, &x->run);
	fake_pass(&w->f, 0);
	assert_ptr_equal(running_on(w, 0), y);
	assert_ptr_equal(w->p->runq.head, &x->run);
	world_end(w);
}

static void soft_affinity_is_ignored(void **state)
{
	struct world *w = world_start(2);
	struct rtds_unit *a = plain(w, 10, 4);
	struct hv_mask soft = fake_mask1(1);

	(void)state;
	assert_int_equal(hv_affinity_set(vcpu_of(a), NULL, &soft), 0);
	wake_at(w, 0, a);
	assert_ptr_equal(running_on(w, 0), a);
	world_end(w);
}

static void a_pcpu_that_does_idle_work_counts_as_idle(void **state)
{
	struct world *w = world_start(1);
	struct rtds_unit *a = plain(w, 10, 4);

	(void)state;
	hv_work(w->f.sys, 0, true);
	fake_drain(&w->f);
	fake_forget(&w->f);
	wake_at(w, 0, a);
	assert_int_equal(tickled(w, 0), 0);
	assert_null(running_on(w, 0));
	assert_int_equal(a->place, RTDS_IN_RUNQ);
	go_to(w, 1 * MS);
	hv_work(w->f.sys, 0, false);
	fake_drain(&w->f);
	assert_ptr_equal(running_on(w, 0), a);
	ASSERT_STATE(a, 10 * MS, 4 * MS, 0);
	world_end(w);
}

static void idle_work_interrupts_a_unit_which_keeps_its_budget(void **state)
{
	struct world *w = world_start(1);
	struct rtds_unit *a = plain(w, 10, 4);

	(void)state;
	wake_at(w, 0, a);
	go_to(w, 1 * MS);
	hv_work(w->f.sys, 0, true);
	fake_drain(&w->f);
	assert_null(running_on(w, 0));
	go_to(w, 2 * MS);
	hv_work(w->f.sys, 0, false);
	go_to(w, 6 * MS);
	ASSERT_SPANS(w, 0, {0, a}, {1 * MS, NULL}, {2 * MS, a}, {5 * MS, NULL});
	world_end(w);
}

static void a_yield_changes_nothing(void **state)
{
	struct world *w = world_start(1);
	struct rtds_unit *a = plain(w, 10, 4);

	(void)state;
	wake_at(w, 0, a);
	go_to(w, 1 * MS);
	hv_yield(vcpu_of(a));
	fake_drain(&w->f);
	assert_ptr_equal(running_on(w, 0), a);
	assert_int_equal(last_slice(w, 0), 3 * MS);
	world_end(w);
}

static void a_unit_picks_its_own_pcpu_or_the_next_allowed_one(void **state)
{
	struct world *w = world_start(4);
	struct rtds_unit *a = plain(w, 10, 4);
	struct hv_mask hard = fake_mask2(0, 2), all = fake_all(4);

	(void)state;
	set_home(w, a, 1);
	assert_int_equal(hv_affinity_set(vcpu_of(a), &hard, NULL), 0);
	assert_int_equal(a->unit->res->master, 2);
	assert_int_equal(hv_affinity_set(vcpu_of(a), &all, NULL), 0);
	assert_int_equal(a->unit->res->master, 2);
	hard = fake_mask1(1);
	assert_int_equal(hv_affinity_set(vcpu_of(a), &hard, NULL), 0);
	assert_int_equal(a->unit->res->master, 1);
	world_end(w);
}

/* A change of affinity takes it off the queue and back, wherever it waits. */
static void a_queued_unit_that_is_pinned_anew_runs_there(void **state)
{
	struct world *w = world_start(2);
	struct rtds_unit *a = new_unit(w, 10000, 4000, false, 1);
	struct rtds_unit *b = new_unit(w, 20000, 4000, false, 1);
	struct hv_mask hard = fake_mask1(1);

	(void)state;
	wake_at(w, 0, a);
	wake_at(w, 0, b);
	assert_int_equal(b->place, RTDS_IN_RUNQ);
	assert_int_equal(hv_affinity_set(vcpu_of(b), &hard, NULL), 0);
	fake_drain(&w->f);
	fake_check(&w->f);
	assert_ptr_equal(running_on(w, 1), b);
	world_end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(case_9_a_level_beats_a_deadline),
		cmocka_unit_test(
			case_10_the_pcpu_of_the_lowest_priority_is_taken_and_its_unit_moves),
		cmocka_unit_test(case_11_the_first_of_the_lowest_priority_is_tickled_once),
		cmocka_unit_test(case_11_equal_priority_tickles_nobody),
		cmocka_unit_test(case_11_two_wakes_at_once_tickle_two_pcpus),
		cmocka_unit_test(the_search_goes_round_all_pcpus_of_a_large_host),
		cmocka_unit_test(a_pass_makes_its_pcpu_ready_to_be_tickled_again),
		cmocka_unit_test(case_12_units_pinned_elsewhere_are_passed_over),
		cmocka_unit_test(soft_affinity_is_ignored),
		cmocka_unit_test(a_pcpu_that_does_idle_work_counts_as_idle),
		cmocka_unit_test(idle_work_interrupts_a_unit_which_keeps_its_budget),
		cmocka_unit_test(a_yield_changes_nothing),
		cmocka_unit_test(a_unit_picks_its_own_pcpu_or_the_next_allowed_one),
		cmocka_unit_test(a_queued_unit_that_is_pinned_anew_runs_there),
	};

	return cmocka_run_group_tests_name("rtds_tickle", tests, NULL, NULL);
}
