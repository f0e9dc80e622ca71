/* SPDX-License-Identifier: MIT */
/*
 * Credit: which pCPU a unit should be on. Case n is section 14 of the credit spec; bugs are named
 * by the commits of its section 15.
 */
#include "credit_world.h"

/* What a pick says while exactly these pCPUs are idlers. */
static unsigned pick(struct world *w, struct c1_unit *u, uint64_t idlers, bool commit)
{
	uint64_t real = w->p->idlers.w[0];
	unsigned c;

	w->p->idlers.w[0] = idlers;
	lock_home(w, u);
	c = c1_best_pcpu(w->s, u, commit);
	unlock_home(w, u);
	w->p->idlers.w[0] = real;
	return c;
}

/* pCPU c runs one unit and another one waits behind it: that one. */
static struct c1_unit *waiting_at(struct world *w, unsigned c, uint64_t soft)
{
	struct c1_unit *u = add_unit(new_domain(w), 0, soft);

	run_new(w, c, 1ULL << c);
	set_home(w, u, c);
	wake_up(w, u);
	fake_forget(&w->f);
	w->f.pending[1] = w->f.pending[2] = w->f.pending[3] = 0; /* nobody comes for it */
	return u;
}

/* 2 cores x 2 threads: {0,1}, {2,3}. */
static void case_16_a_core_with_more_idle_threads_is_better(void **state)
{
	struct world *w = world_start(1, 2, 2, NULL);
	struct c1_unit *u = run_new(w, 0, 0);

	(void)state;
	assert_int_equal(pick(w, u, 0xe, true), 0);
	assert_int_equal(pcpu(w, 2)->idle_bias, 3);
	assert_int_equal(pick(w, u, 0xc, false), 2);
	assert_int_equal(pcpu(w, 2)->idle_bias, 3); /* it was only a question */
	assert_int_equal(pick(w, u, 0xc, true), 2);
	assert_int_equal(pcpu(w, 2)->idle_bias, 2);
	assert_int_equal(pick(w, u, 0xc, true), 3);
	assert_int_equal(pick(w, u, 0xa, false), 0);
	world_end(w);
}

/* Also bug 750ec2271d: a busy pCPU passed for an idle one. */
static void case_16_a_unit_that_waits_takes_any_idle_pcpu(void **state)
{
	struct world *w = world_start(1, 2, 2, NULL);
	struct c1_unit *u = waiting_at(w, 0, 0);

	(void)state;
	assert_int_equal(pick(w, u, 0x2, false), 1);
	assert_int_equal(pick(w, u, 0x0, false), 0);
	world_end(w);
}

static void case_16_power_savings_fill_busy_cores(void **state)
{
	const char *const params[] = {"sched_smt_power_savings", "1", NULL};
	struct world *w = world_start(1, 2, 2, params);
	struct c1_unit *u = run_new(w, 0, 0);

	(void)state;
	assert_int_equal(pick(w, u, 0xa, false), 3);
	world_end(w);
}

/* Sockets {0-3}, {4-7} without SMT. Also bug 6d6b9b99aa: one busy unit bounced between sockets. */
static void case_17_another_socket_must_have_more_than_twice_as_many_idle(void **state)
{
	struct world *w = world_start(2, 4, 1, NULL);
	struct c1_unit *u = run_new(w, 0, 0);

	(void)state;
	assert_int_equal(pick(w, u, 0xf2, false), 0);
	assert_int_equal(pick(w, u, 0xe0, false), 5);
	assert_int_equal(pick(w, u, 0xc0, false), 0);
	world_end(w);
}

static void case_17_soft_affinity_comes_first(void **state)
{
	struct world *w = world_start(2, 4, 1, NULL);
	struct c1_unit *u = waiting_at(w, 1, 0xf);

	(void)state;
	assert_int_equal(pick(w, u, 0x50, false), 4);
	assert_int_equal(pick(w, u, 0x58, false), 3);
	world_end(w);
}

/* Bug 58a83b75d1: a pick left the affinity mask. */
static void a_pick_stays_within_affinity_and_pool(void **state)
{
	struct world *w = world_start(2, 2, 2, NULL);
	struct c1_unit *u = new_unit(w, 0);
	uint64_t random = 7;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		uint64_t hard, idlers;

		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		hard = (random >> 32 & 0xff) ? random >> 32 & 0xff : 1;
		idlers = random >> 48 & 0xff;
		u->unit->hard.w[0] = hard;
		u->unit->soft.w[0] = random >> 56 & 0xff;
		u->unit->soft_counts = hard & ~u->unit->soft.w[0] && hard & u->unit->soft.w[0];
		set_home(w, u, (unsigned)(random >> 40 & 7));
		unsigned c = pick(w, u, idlers, true);

		assert_true(c < 8 && hard >> c & 1);
		/* An idle pCPU that suits it is never left for a busy one. */
		if (hard & idlers)
			assert_true(idlers >> c & 1 || c == u->unit->res->master);
	}
	u->unit->hard = u->unit->soft = fake_all(8);
	u->unit->soft_counts = false;
	world_end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(case_16_a_core_with_more_idle_threads_is_better),
		cmocka_unit_test(case_16_a_unit_that_waits_takes_any_idle_pcpu),
		cmocka_unit_test(case_16_power_savings_fill_busy_cores),
		cmocka_unit_test(case_17_another_socket_must_have_more_than_twice_as_many_idle),
		cmocka_unit_test(case_17_soft_affinity_comes_first),
		cmocka_unit_test(a_pick_stays_within_affinity_and_pool),
	};

	return cmocka_run_group_tests_name("credit_place", tests, NULL, NULL);
}
