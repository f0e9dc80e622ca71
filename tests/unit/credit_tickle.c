/* SPDX-License-Identifier: MIT */
/*
 * Credit: who is asked to come for a unit that wakes, under each preset of credit_tickle. Case n is
 * section 14 of the credit spec; bugs are named by the commits of its section 15.
 *
 * pCPUs 0 to 3 without SMT; A runs on 0 and C on 1, both UNDER; 2 and 3 are idle; wakes execute on
 * pCPU 0.
 */
#include "credit_world.h"

enum { A, B, C, D, E, NR };

static struct world *four(const char *preset, bool one, struct c1_unit **u)
{
	const char *const params[] = {"credit_tickle", preset, "tickle_one_idle_cpu",
				      one ? "1" : "0", NULL};
	struct world *w = world_start(1, 4, 1, params);

	u[A] = run_new(w, 0, 0);
	u[C] = run_new(w, 1, 0);
	u[B] = new_sleeper_at(w, 0, 0);
	u[D] = new_sleeper_at(w, 1, 0);
	u[E] = new_sleeper_at(w, 0, 0);
	at(w, 5 * MS);
	open_gates(w);
	return w;
}

static void case_18_who_is_asked_by_three_wakes(void **state)
{
	static const struct {
		const char *preset;
		uint64_t b, d, e;
	} rows[] = {{"without-2012", 0x5, 0xa, 0x5},
		    {"with-2012", 0x4, 0x8, 0x4},
		    {"head", 0x4, 0x8, 0x1},
		    {"head-fixed", 0x4, 0x8, 0x1},
		    {"head-without", 0x5, 0xa, 0x1}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct c1_unit *u[NR];
		struct world *w = four(rows[i].preset, true, u);

		assert_int_equal(wake_tickles(w, u[B]), rows[i].b);
		assert_int_equal(wake_tickles(w, u[D]), rows[i].d);
		assert_int_equal(wake_tickles(w, u[E]), rows[i].e);
		world_end(w);
	}
}

static void case_18_all_idlers_are_asked_when_told_so(void **state)
{
	static const struct {
		const char *preset;
		uint64_t b;
	} rows[] = {{"without-2012", 0xd},
		    {"with-2012", 0xc},
		    {"head", 0xc},
		    {"head-fixed", 0xc},
		    {"head-without", 0xd}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct c1_unit *u[NR];
		struct world *w = four(rows[i].preset, false, u);

		assert_int_equal(wake_tickles(w, u[B]), rows[i].b);
		world_end(w);
	}
}

/* Only head presets take who was asked off the idlers. */
static void rules_of_2012_leave_the_idlers_alone(void **state)
{
	static const char *const presets[] = {"without-2012", "with-2012", "head", "head-without"};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct c1_unit *u[NR];
		struct world *w = four(presets[i], true, u);

		wake_up(w, u[B]);
		assert_int_equal(w->p->idlers.w[0], i < 2 ? 0xc : 0x8);
		world_end(w);
	}
}

/* B may run on 0 only. */
static void case_19_nobody_idle_suits_the_unit(void **state)
{
	static const struct {
		const char *preset;
		bool kick;
	} rows[] = {{"without-2012", false},
		    {"with-2012", true},
		    {"head", false},
		    {"head-fixed", true},
		    {"head-without", false}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct c1_unit *u[NR];
		struct world *w = four(rows[i].preset, true, u);

		u[B]->unit->hard = fake_mask1(0);
		assert_int_equal(wake_tickles(w, u[B]), 0x1);
		migrating(u[A], rows[i].kick);
		fake_drain(&w->f);
		fake_check(&w->f);
		migrating(u[A], false);
		assert_ptr_equal(running_on(w, 0), u[B]);
		assert_ptr_equal(running_on(w, 2), rows[i].kick ? u[A] : NULL);
		assert_null(running_on(w, 3));
		assert_int_equal((u[A]->flags & C1_QUEUED) != 0, !rows[i].kick);
		assert_int_equal(u[A]->unit->res->master, rows[i].kick ? 2 : 0);
		assert_int_equal(u[A]->pri, C1_UNDER); /* bug 66c7449a4d: a kick boosted it */
		world_end(w);
	}
}

/* Bug f02a5760c7: kicking away what has nowhere to go. */
static void a_kick_needs_a_place_to_go_since_2015(void **state)
{
	(void)state;
	for (int fixed = 0; fixed < 2; fixed++) {
		struct c1_unit *u[NR];
		struct world *w = four(fixed ? "head-fixed" : "with-2012", true, u);

		u[A]->unit->hard = fake_mask2(0, 1);
		u[B]->unit->hard = fake_mask1(0);
		assert_int_equal(wake_tickles(w, u[B]), 0x1);
		migrating(u[A], !fixed);
		world_end(w);
	}
}

static void case_19_no_better_than_what_runs_asks_nobody(void **state)
{
	static const char *const presets[] = {"without-2012", "with-2012", "head", "head-fixed",
					      "head-without"};

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		struct c1_unit *u[NR];
		struct world *w = four(presets[i], true, u);

		u[B]->unit->hard = fake_mask1(0);
		u[B]->flags |= C1_MIGRATING; /* no boost */
		assert_int_equal(wake_tickles(w, u[B]), 0);
		migrating(u[A], false);
		world_end(w);
	}
}

/* A switched in 0.2 ms ago is protected from preemption. */
static void case_20_the_rate_limit_leaves_the_work_to_the_idler(void **state)
{
	struct c1_unit *u[NR];
	struct world *w = four("without-2012", true, u);

	(void)state;
	u[A]->unit->state_entry = w->f.now - 200 * US;
	assert_int_equal(wake_tickles(w, u[B]), 0x5);
	fake_drain(&w->f);
	assert_ptr_equal(running_on(w, 0), u[A]);
	assert_int_equal(last_slice(w, 0), 800 * US);
	assert_ptr_equal(running_on(w, 2), u[B]);
	world_end(w);
}

static void case_20_who_runs_where_when_an_idler_comes(void **state)
{
	static const char *const presets[] = {"without-2012", "head-without", "with-2012", "head",
					      "head-fixed"};

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		struct c1_unit *u[NR];
		struct world *w = four(presets[i], true, u);
		bool preempts = i < 2;

		wake_up(w, u[B]);
		fake_drain(&w->f); /* pCPU 0 first */
		assert_ptr_equal(running_on(w, 0), preempts ? u[B] : u[A]);
		assert_ptr_equal(running_on(w, 2), preempts ? u[A] : u[B]);
		assert_int_equal(w->f.passes[0], preempts);
		world_end(w);
	}
}

/* The idler that is asked has just looked for work: it ignores the request. */
static void case_20_a_closed_gate(void **state)
{
	static const char *const presets[] = {"without-2012", "head-without", "with-2012", "head"};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct c1_unit *u[NR];
		struct world *w = four(presets[i], true, u);
		bool preempts = i < 2;

		close_gate(w, 2);
		wake_up(w, u[B]);
		fake_drain(&w->f);
		assert_ptr_equal(running_on(w, 0), preempts ? u[B] : u[A]);
		assert_null(running_on(w, 2));
		assert_int_equal((u[B]->flags & C1_QUEUED) != 0, !preempts);
		if (!preempts) {
			/* A becomes active at 10 ms; the tick at 20 ms sends it away. */
			fake_run(&w->f, START + 20 * MS - 1);
			assert_true(u[B]->flags & C1_QUEUED);
			fake_run(&w->f, START + 20 * MS);
			assert_ptr_equal(running_on(w, 0), u[B]);
			assert_ptr_equal(running_on(w, 3), u[A]); /* 2 was asked for B */
		}
		world_end(w);
	}
}

static void case_22_a_tick_moves_what_runs_to_a_better_pcpu(void **state)
{
	struct c1_unit *u[NR];
	struct world *w = four("head", true, u);

	(void)state;
	tick(w, 0);
	assert_true(u[A]->flags & C1_ACTIVE);
	close_gate(w, 2);
	wake_up(w, u[B]);
	fake_drain(&w->f);
	assert_true(u[B]->flags & C1_QUEUED);
	w->p->idlers.w[0] = 0x4; /* 2 only, as the case has it */
	at(w, 10 * MS);
	open_gates(w);
	fake_forget(&w->f);
	tick(w, 0);
	migrating(u[A], true);
	assert_int_equal(tickled(w), 0x1);
	fake_pass(&w->f, 0);
	assert_ptr_equal(running_on(w, 0), u[B]);
	assert_int_equal(u[A]->unit->res->master, 0);
	assert_int_equal(u[A]->pri, C1_UNDER);
	assert_int_equal(tickled(w), 0x5); /* the tick's, and that of A's wake */
	fake_pass(&w->f, 2);
	assert_ptr_equal(running_on(w, 2), u[A]);
	fake_check(&w->f);
	world_end(w);
}

/* Bug f83fc393b2. */
static void soft_affinity_is_asked_first_but_not_in_2012(void **state)
{
	static const char *const presets[] = {"head", "head-without", "with-2012", "without-2012"};
	static const uint64_t asked[] = {0x8, 0x9, 0x4, 0x5};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct c1_unit *u[NR];
		struct world *w = four(presets[i], true, u);

		u[B]->unit->soft = fake_mask1(3);
		u[B]->unit->soft_counts = true;
		assert_int_equal(wake_tickles(w, u[B]), asked[i]);
		world_end(w);
	}
}

static void a_pinned_unit_asks_its_own_idle_pcpu(void **state)
{
	struct hv_mask m = fake_mask1(3);
	struct c1_unit *u[NR];
	struct world *w = four("head", true, u);

	(void)state;
	assert_int_equal(hv_affinity_set(vcpu_of(u[B]), &m, NULL), 0);
	assert_int_equal(wake_tickles(w, u[B]), 0x8);
	assert_int_equal(w->p->idlers.w[0], 0x4);
	world_end(w);
}

/* last_tickle belongs to the executing pCPU, whatever the pool. */
static void each_executing_pcpu_goes_round_by_itself(void **state)
{
	struct c1_unit *u[NR];
	struct world *w = four("with-2012", true, u);
	struct hv_pool *second;

	(void)state;
	assert_int_equal(hv_pool_create(w->f.sys, -1, "credit", HV_GRAN_CPU, &second), 0);
	assert_ptr_equal(c1_sched(hv_pool_sched(second))->host, w->p->host);
	assert_int_equal(wake_tickles(w, u[B]), 0x4);
	w->f.here = 1;
	assert_int_equal(wake_tickles(w, u[D]), 0x4);
	w->f.here = 0;
	assert_int_equal(wake_tickles(w, u[E]), 0x8);
	assert_int_equal(w->p->host->last_tickle[0], 3);
	assert_int_equal(w->p->host->last_tickle[1], 2);
	assert_int_equal(hv_pool_destroy(second), 0);
	world_end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(case_18_who_is_asked_by_three_wakes),
		cmocka_unit_test(case_18_all_idlers_are_asked_when_told_so),
		cmocka_unit_test(rules_of_2012_leave_the_idlers_alone),
		cmocka_unit_test(case_19_nobody_idle_suits_the_unit),
		cmocka_unit_test(a_kick_needs_a_place_to_go_since_2015),
		cmocka_unit_test(case_19_no_better_than_what_runs_asks_nobody),
		cmocka_unit_test(case_20_the_rate_limit_leaves_the_work_to_the_idler),
		cmocka_unit_test(case_20_who_runs_where_when_an_idler_comes),
		cmocka_unit_test(case_20_a_closed_gate),
		cmocka_unit_test(case_22_a_tick_moves_what_runs_to_a_better_pcpu),
		cmocka_unit_test(soft_affinity_is_asked_first_but_not_in_2012),
		cmocka_unit_test(a_pinned_unit_asks_its_own_idle_pcpu),
		cmocka_unit_test(each_executing_pcpu_goes_round_by_itself),
	};

	return cmocka_run_group_tests_name("credit_tickle", tests, NULL, NULL);
}
