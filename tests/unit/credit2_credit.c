/* SPDX-License-Identifier: MIT */
/*
 * Credit2: burning and resetting credit, slices, the order of the queue, who goes on. The names
 * T1... are those of the credit2 spec, section 20; "bug n" is section 21, Qn section 19.
 */
#include "credit2_world.h"

#include "engine/engine.h"

#define NO_RATELIMIT ((const char *const[]){"sched_ratelimit_us", "0", NULL})

/* Two units of weights 256 and 512 in one runqueue, each alone on a pCPU with 10 ms of credit. */
struct pair {
	struct world *w;
	struct c2_unit *a, *b;
};

static struct pair start_pair(void)
{
	struct pair p = {.w = world_start(1, 2, 1, NULL)};

	p.a = new_unit(p.w, 0);
	p.b = new_unit(p.w, 0);
	set_weight(p.b, 512);
	run_on(p.w, p.a, 0);
	run_on(p.w, p.b, 1);
	assert_int_equal(p.a->rq->maxw, 512);
	return p;
}

static void t1_credit_burns_by_weight(void **state)
{
	static const struct {
		hv_time at;
		int32_t a, b;
	} steps[] = {{4 * MS, 2000000, 6000000},
		     {10 * MS, -10000000, 0},
		     {11 * MS, -10000000, -1000000}};
	struct pair p = start_pair();

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		at(p.w, steps[i].at);
		burn(p.w, p.a);
		burn(p.w, p.b);
		assert_int_equal(p.a->credit, steps[i].a);
		assert_int_equal(p.b->credit, steps[i].b);
	}
	world_end(p.w);
}

static void t2_the_floor_is_reset_by_twice_as_much(void **state)
{
	struct pair p = start_pair();

	(void)state;
	at(p.w, 10 * MS);
	assert_int_equal(pass(p.w, 0), 5000000);
	assert_int_equal(p.a->credit, 10000000);
	assert_int_equal(p.b->credit, 10500000);
	assert_int_equal(fake_count(&p.w->f, HV_TRACE_RESET), 1);
	world_end(p.w);
}

static void t3_the_remainder_is_carried(void **state)
{
	struct world *w = world_start(1, 2, 1, NULL);
	struct c2_unit *a = new_unit(w, 0), *heavy = new_unit(w, 0);
	static const struct {
		int32_t fall;
		uint32_t rem;
	} steps[] = {{3, 100}, {3, 200}, {4, 0}, {3, 100}, {3, 200}};
	int32_t credit;
	hv_time t = 0;

	(void)state;
	set_weight(a, 300);
	set_weight(heavy, 1000);
	run_on(w, a, 0);
	for (unsigned i = 0; i < 5; i++) {
		credit = a->credit;
		at(w, ++t);
		burn(w, a);
		assert_int_equal(credit - a->credit, steps[i].fall);
		assert_int_equal(a->rem, steps[i].rem);
	}
	/* The remainder may exceed a new weight once: x = 1000 + 200. */
	set_weight(a, 100);
	credit = a->credit;
	at(w, ++t);
	burn(w, a);
	assert_int_equal(credit - a->credit, 12);
	assert_int_equal(a->rem, 0);
	world_end(w);
}

static void t4_extreme_weights(void **state)
{
	struct world *w = world_start(1, 2, 1, NULL);
	struct c2_unit *a = new_unit(w, 0), *heavy = new_unit(w, 0);

	(void)state;
	set_weight(a, 1);
	set_weight(heavy, 65535);
	run_on(w, a, 0);
	at(w, 100);
	burn(w, a);
	assert_int_equal(10000000 - a->credit, 6553500);
	assert_int_equal(c2_credit_to_time(a, 10000000), 152);
	set_weight(a, 300);
	set_weight(heavy, 1000);
	assert_int_equal(c2_credit_to_time(a, 1000001), 300000);
	assert_int_equal(c2_credit_to_time(heavy, 1000001), 1000001);
	world_end(w);
}

/* A running unit whose remainder exceeds its weight while it is the heaviest: no shortcut. */
static void the_heaviest_unit_too_pays_its_old_remainder(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);
	struct c2_unit *a = new_unit(w, 0);

	(void)state;
	run_on(w, a, 0);
	a->rem = 300; /* from a time of weight 1000 */
	at(w, 10);
	burn(w, a);
	assert_int_equal(a->credit, 10000000 - (10 * 256 + 300) / 256);
	assert_int_equal(a->rem, (10 * 256 + 300) % 256);

	a->rem = 256; /* a whole credit, no less */
	at(w, 20);
	set_credit(w, a, 1000);
	at(w, 30);
	burn(w, a);
	assert_int_equal(a->credit, 1000 - 11);
	assert_int_equal(a->rem, 0);
	world_end(w);
}

/* T5: what a (pCPU 0) gets while b, which may run on pCPU 1 only, waits in the queue. */
static struct pair start_waiter(const char *const *params, int32_t waiter)
{
	struct pair p = {.w = world_start(1, 2, 1, params)};

	p.a = new_unit(p.w, 1);
	p.b = new_unit(p.w, 2);
	set_credit(p.w, p.b, waiter);
	wake_up(p.a);
	wake_up(p.b);
	assert_int_equal(runq(p.w, 0)->queue.nr, 2);
	return p;
}

static void t5_slices(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);
	struct c2_unit *a = new_unit(w, 0), *b = new_unit(w, 0);
	struct pair p;

	(void)state;
	/* (a) alone; (h) idle */
	wake_up(a);
	assert_int_equal(pass(w, 0), 10000000);
	hv_block(vcpu_of(a), NULL, NULL);
	assert_int_equal(pass(w, 0), -1);
	/* (b) the waiter has 4 ms */
	set_credit(w, a, 10000000);
	set_credit(w, b, 4000000);
	wake_up(a);
	wake_up(b);
	assert_int_equal(pass(w, 0), 6000000);
	/* (f) no waiter, but the outgoing unit is runnable and has 7 ms */
	hv_block(vcpu_of(a), NULL, NULL);
	pass(w, 0);
	assert_ptr_equal(running_on(w, 0), b);
	set_credit(w, a, 10000000);
	set_credit(w, b, 8000000);
	wake_up(a);
	at(w, 1 * MS);
	assert_int_equal(pass(w, 0), 3000000);
	assert_ptr_equal(running_on(w, 0), a);
	world_end(w);

	/* (c) the waiter has 12 ms; (d) going on after 0.2 and 0.7 ms */
	p = start_waiter(NULL, 12000000);
	assert_int_equal(pass(p.w, 0), 1000000);
	at(p.w, 200000);
	assert_int_equal(pass(p.w, 0), 800000);
	at(p.w, 700000);
	assert_int_equal(pass(p.w, 0), 500000);
	world_end(p.w);
	p = start_waiter(NO_RATELIMIT, 12000000);
	assert_int_equal(pass(p.w, 0), 500000);
	world_end(p.w);
}

static void t5e_a_waiter_without_credit_is_no_rival(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);
	struct c2_unit *a = new_unit(w, 0), *b = new_unit(w, 0);

	(void)state;
	run_on(w, a, 0);
	set_credit(w, a, 5300000);
	set_credit(w, b, -5);
	wake_up(b);
	at(w, 5 * MS);
	assert_int_equal(pass(w, 0), 500000);
	assert_ptr_equal(running_on(w, 0), a);
	assert_int_equal(a->credit, 300000);
	world_end(w);
}

static void t5g_a_long_rate_limit_makes_long_slices(void **state)
{
	const char *const params[] = {"sched_ratelimit_us", "20000", NULL};
	struct world *w = world_start(1, 1, 1, params);
	struct c2_unit *a = new_unit(w, 0);

	(void)state;
	wake_up(a);
	assert_int_equal(pass(w, 0), 20000000);
	world_end(w);
}

/* What one pCPU decided: who starts (or goes on), when, for how long. */
struct turn {
	hv_time at, slice;
	char who;
};

static void assert_turns(const struct world *w, const struct c2_unit *a, const struct turn *turns,
			 unsigned nr)
{
	unsigned seen = 0;

	for (unsigned i = 0; i < w->f.nr_log && seen < nr; i++) {
		const struct hv_trace *t = &w->f.log[i];

		if (t->kind != HV_TRACE_SWITCH && t->kind != HV_TRACE_CONT)
			continue;
		assert_int_equal(t->time - START, turns[seen].at);
		assert_int_equal(t->a, turns[seen].slice);
		assert_int_equal(t->unit == a->unit ? 'a' : 'b', turns[seen].who);
		seen++;
	}
	assert_int_equal(seen, nr);
}

static void t6_two_equal_hogs_alternate(void **state)
{
	static const struct turn turns[] = {
		{0, 1000000, 'a'},	 {1000000, 1000000, 'b'}, {2000000, 500000, 'b'},
		{2500000, 1000000, 'a'}, {3500000, 1000000, 'b'}, {4500000, 1000000, 'a'},
		{5500000, 1000000, 'b'}, {6500000, 1000000, 'a'},
	};
	struct world *w = world_start(1, 1, 1, NULL);
	struct c2_unit *a = new_unit(w, 0), *b = new_unit(w, 0);

	(void)state;
	wake_up(a);
	wake_up(b);
	fake_run(&w->f, START + 19500000 - 1);
	assert_turns(w, a, turns, 8);
	assert_int_equal(fake_count(&w->f, HV_TRACE_RESET), 0);
	fake_run(&w->f, START + 19500000);
	assert_ptr_equal(running_on(w, 0), b);
	assert_int_equal(a->credit, 0);
	assert_int_equal(b->credit, 500000);
	assert_int_equal(last_slice(w, 0), 1000000);
	fake_run(&w->f, START + 20500000);
	assert_ptr_equal(running_on(w, 0), a);
	assert_int_equal(fake_count(&w->f, HV_TRACE_RESET), 1);
	assert_int_equal(a->credit, 10000000);
	assert_int_equal(b->credit, 9500000);
	world_end(w);
}

static int64_t run_time(const struct c2_unit *u)
{
	struct hv_runstate rs;

	hv_runstate_get(vcpu_of(u), &rs);
	return rs.time[HV_RUNNING];
}

static void t7_run_time_follows_weight(void **state)
{
	static const struct turn turns[] = {
		{0, 1000000, 'a'},	 {1000000, 2000000, 'b'}, {3000000, 500000, 'b'},
		{3500000, 1000000, 'a'}, {4500000, 1500000, 'b'}, {6000000, 500000, 'b'},
		{6500000, 1000000, 'a'},
	};
	struct world *w = world_start(1, 1, 1, NULL);
	struct c2_unit *a = new_unit(w, 0), *b = new_unit(w, 0);

	(void)state;
	set_weight(b, 512);
	wake_up(a);
	wake_up(b);
	fake_run(&w->f, START + 15 * MS);
	assert_turns(w, a, turns, 7);
	assert_ptr_equal(running_on(w, 0), b);
	assert_int_equal(fake_count(&w->f, HV_TRACE_RESET), 1);
	assert_int_equal(a->credit, 10000000);
	assert_int_equal(b->credit, 10000000);
	assert_int_equal(run_time(a), 5 * MS);
	assert_int_equal(run_time(b), 10 * MS);
	fake_run(&w->f, START + 150 * MS);
	assert_int_equal(run_time(a) * 2, run_time(b));
	world_end(w);
}

static void t8_a_reset_adds_the_same_to_all(void **state)
{
	static const struct {
		int32_t before[4], after[4]; /* the first one is chosen */
	} cases[] = {
		{{-1200000, -3000000, 600000, 400000}, {8800000, 7000000, 10500000, 10400000}},
		{{-10000000, -9999999, 600000, -9400000}, {10000000, 10000001, 10500000, 10500000}},
	};

	(void)state;
	for (unsigned k = 0; k < 2; k++) {
		struct world *w = world_start(1, 1, 1, NULL);
		struct c2_unit *u[4];

		for (unsigned i = 0; i < 4; i++) {
			u[i] = new_unit(w, 0);
			set_credit(w, u[i], cases[k].before[i]);
		}
		wake_up(u[0]);
		pass(w, 0);
		for (unsigned i = 0; i < 4; i++)
			assert_int_equal(u[i]->credit, cases[k].after[i]);
		world_end(w);
	}
}

static void t9_equals_are_first_come_first_served(void **state)
{
	static const int32_t credit[5] = {5, 7, 5, 9, 7};
	static const unsigned order[5] = {3, 1, 4, 0, 2};
	struct world *w = world_start(1, 1, 1, NULL);
	struct c2_unit *u[5];
	unsigned i;

	(void)state;
	for (i = 0; i < 5; i++) {
		u[i] = new_unit(w, 0);
		set_credit(w, u[i], credit[i]);
		wake_up(u[i]);
	}
	i = 0;
	for (struct sorted_node *n = sorted_queue_head(&runq(w, 0)->queue); n; n = n->next)
		assert_ptr_equal(c2_of_node(n), u[order[i++]]);
	assert_int_equal(i, 5);
	world_end(w);
}

static void t20_idle_refuses_a_stranger_with_very_low_credit(void **state)
{
	(void)state;
	for (int32_t credit = -9500002; credit <= -9500001; credit++) {
		struct world *w = world_start(1, 2, 1, NULL);
		struct c2_unit *hog = new_unit(w, 0), *u = new_unit(w, 0);

		run_on(w, hog, 0);
		set_credit(w, hog, -10000000);
		set_credit(w, u, credit);
		assert_int_equal(wake_tickles(w, u), 1);
		pass(w, 1);
		if (credit == -9500002) {
			assert_null(running_on(w, 1));
			assert_int_equal(runq(w, 0)->queue.nr, 1);
		} else {
			assert_ptr_equal(running_on(w, 1), u);
			assert_int_equal(u->credit, 549999);
		}
		world_end(w);
	}
}

static void t22_yield(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);
	struct c2_unit *a = new_unit(w, 0), *b = new_unit(w, 0);

	(void)state;
	run_on(w, a, 0);
	set_credit(w, b, 2000000);
	assert_int_equal(wake_tickles(w, b), HV_NO_PCPU);
	at(w, 100000);
	hv_yield(vcpu_of(a));
	assert_int_equal(pass(w, 0), 1000000);
	assert_ptr_equal(running_on(w, 0), b);
	assert_true(a->flags & C2_QUEUED);
	assert_int_equal(a->credit, 9900000);
	assert_int_equal(last_tickle(w), HV_NO_PCPU);

	/* With an empty queue a yielding unit just goes on, and the wish is forgotten. */
	hv_block(vcpu_of(b), NULL, NULL);
	pass(w, 0);
	assert_ptr_equal(running_on(w, 0), a);
	hv_yield(vcpu_of(a));
	pass(w, 0);
	assert_ptr_equal(running_on(w, 0), a);
	assert_false(a->flags & C2_YIELD);
	world_end(w);
}

static void q10_compensation_comes_on_top_of_the_ceiling(void **state)
{
	struct world *w = world_start(1, 2, 1, NULL);
	struct c2_unit *u = new_unit(w, 0);

	(void)state;
	set_credit(w, u, 10500000);
	wake_up(u);
	hv_mask_clear(&runq(w, 0)->tik, 0);
	pass(w, 1);
	assert_ptr_equal(running_on(w, 1), u);
	assert_int_equal(u->credit, 10550000);
	assert_true(u->unit->migrated);
	world_end(w);
}

/* Without resets, a unit that moves more often than every 50 us gets richer and richer. */
static void compensation_ends_where_a_reset_still_fits(void **state)
{
	static const int32_t before[] = {INT32_MAX - 20050001, INT32_MAX - 20049999,
					 INT32_MAX - 20000000};
	static const int32_t after[] = {INT32_MAX - 20000001, INT32_MAX - 20000000,
					INT32_MAX - 20000000};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct world *w = world_start(1, 2, 1, NULL);
		struct c2_unit *u = new_unit(w, 0), *poor = new_unit(w, 0);

		set_credit(w, u, before[i]);
		set_credit(w, poor, -1);
		wake_up(u);
		hv_mask_clear(&runq(w, 0)->tik, 0);
		pass(w, 1);
		assert_ptr_equal(running_on(w, 1), u);
		assert_int_equal(u->credit, after[i]);
		wake_up(poor);
		pass(w, 0);
		assert_int_equal(u->credit, 10500000);
		world_end(w);
	}
}

/* bug 1: the floor keeps every unit above idle. */
static void bug1_a_unit_at_the_floor_still_beats_idle(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);
	struct c2_unit *u = new_unit(w, 0);

	(void)state;
	run_on(w, u, 0);
	at(w, 10000 * MS);
	burn(w, u);
	assert_int_equal(u->credit, C2_CREDIT_MIN);
	assert_true(u->credit > c2_unit(u->unit->res->idle)->credit);
	pass(w, 0);
	assert_ptr_equal(running_on(w, 0), u);
	world_end(w);
}

/* The count changes before the lock is taken: a decision may see it while the unit is queued. */
static void pause_behind_the_policys_back(struct world *w, struct c2_unit *u, uint32_t count)
{
	vcpu_of(u)->pause_count = count;
	lock_home(w, u);
	hv_runstate_settle(vcpu_of(u));
	unlock_home(w, u);
}

/* bug 2: stepping over a unit that cannot run this moment does not end the walk. */
static void bug2_a_queued_unit_that_is_not_runnable_is_skipped(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);
	struct c2_unit *first = new_unit(w, 0), *second = new_unit(w, 0);

	(void)state;
	wake_up(first);
	wake_up(second);
	pause_behind_the_policys_back(w, first, 1);
	pass(w, 0);
	assert_ptr_equal(running_on(w, 0), second);
	assert_true(first->flags & C2_QUEUED);
	pause_behind_the_policys_back(w, first, 0);
	world_end(w);
}

/* bug 4, both sides. */
static void bug4_a_reset_needs_both_chosen_and_head_without_credit(void **state)
{
	(void)state;
	for (int32_t head = 0; head <= 1; head++) {
		struct pair p = start_waiter(NULL, head); /* b cannot come to pCPU 0 */

		p.a->credit = -700;
		sorted_queue_remove(&p.a->rq->queue, &p.a->node);
		sorted_queue_insert(&p.a->rq->queue, &p.a->node, 700);
		pass(p.w, 0);
		assert_ptr_equal(running_on(p.w, 0), p.a);
		assert_int_equal(fake_count(&p.w->f, HV_TRACE_RESET), head == 0);
		assert_int_equal(p.a->credit, head == 0 ? 9999300 : -700);
		world_end(p.w);
	}
}

/* bug 6: run time elsewhere is burned before a reset adds credit. */
static void bug6_units_running_elsewhere_are_burned_at_a_reset(void **state)
{
	struct pair p = start_pair();

	(void)state;
	set_credit(p.w, p.a, 0);
	set_credit(p.w, p.b, 3000000);
	at(p.w, 2 * MS);
	pass(p.w, 0); /* a: 0 - 4 ms */
	assert_int_equal(p.a->credit, 6000000);
	assert_int_equal(p.b->credit, 10500000);
	assert_int_equal(p.b->since, p.w->f.now);
	world_end(p.w);
}

/* bug 10: a pCPU that works for the hypervisor is neither idle nor worth preempting. */
static void bug10_a_pcpu_with_idle_work_is_busy(void **state)
{
	struct world *w = world_start(1, 2, 1, NULL);
	struct c2_unit *hog = new_unit(w, 0), *u = new_unit(w, 0);

	(void)state;
	run_on(w, hog, 1);
	hv_work(w->f.sys, 0, true);
	pass(w, 0);
	assert_false(hv_mask_test(&runq(w, 0)->idl, 0));
	assert_int_equal(wake_tickles(w, u), HV_NO_PCPU);
	pass(w, 0); /* still at work: it must not take the unit */
	assert_null(running_on(w, 0));
	hv_work(w->f.sys, 0, false);
	pass(w, 0);
	assert_ptr_equal(running_on(w, 0), u);
	world_end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t1_credit_burns_by_weight),
		cmocka_unit_test(t2_the_floor_is_reset_by_twice_as_much),
		cmocka_unit_test(t3_the_remainder_is_carried),
		cmocka_unit_test(t4_extreme_weights),
		cmocka_unit_test(the_heaviest_unit_too_pays_its_old_remainder),
		cmocka_unit_test(t5_slices),
		cmocka_unit_test(t5e_a_waiter_without_credit_is_no_rival),
		cmocka_unit_test(t5g_a_long_rate_limit_makes_long_slices),
		cmocka_unit_test(t6_two_equal_hogs_alternate),
		cmocka_unit_test(t7_run_time_follows_weight),
		cmocka_unit_test(t8_a_reset_adds_the_same_to_all),
		cmocka_unit_test(t9_equals_are_first_come_first_served),
		cmocka_unit_test(t20_idle_refuses_a_stranger_with_very_low_credit),
		cmocka_unit_test(t22_yield),
		cmocka_unit_test(q10_compensation_comes_on_top_of_the_ceiling),
		cmocka_unit_test(compensation_ends_where_a_reset_still_fits),
		cmocka_unit_test(bug1_a_unit_at_the_floor_still_beats_idle),
		cmocka_unit_test(bug2_a_queued_unit_that_is_not_runnable_is_skipped),
		cmocka_unit_test(bug4_a_reset_needs_both_chosen_and_head_without_credit),
		cmocka_unit_test(bug6_units_running_elsewhere_are_burned_at_a_reset),
		cmocka_unit_test(bug10_a_pcpu_with_idle_work_is_busy),
	};

	return cmocka_run_group_tests_name("credit2: credit", tests, NULL, NULL);
}
