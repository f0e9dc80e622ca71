/* SPDX-License-Identifier: MIT */
/*
 * Credit2: which pCPU is asked to come for a queued unit, and which one may take it. The names
 * T13... are those of the credit2 spec, section 20; "bug n" is section 21, Qn section 19.
 */
#include "credit2_world.h"

#define NOBODY HV_NO_PCPU

static void assert_cor(const struct world *w, uint64_t mask)
{
	assert_int_equal(runq(w, 0)->cor.w[0], mask);
}

static struct c2_unit *new_unit_at(struct world *w, unsigned home)
{
	struct c2_unit *u = new_unit(w, 0);

	set_home(w, u, home);
	return u;
}

/* 2 cores x 2 threads: {0,1}, {2,3}. */
static void t13_idle_cores_before_idle_threads(void **state)
{
	static const unsigned tickled[5] = {0, 2, 1, 3, NOBODY};
	static const unsigned taken[4] = {0, 2, 1, 3}; /* pCPU 0 takes unit 0, ... */
	struct world *w = world_start(1, 2, 2, NULL);
	struct c2_unit *u[5];

	(void)state;
	assert_cor(w, 0xf);
	for (unsigned i = 0; i < 5; i++)
		u[i] = new_unit_at(w, 0);
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(wake_tickles(w, u[i]), tickled[i]);
		assert_cor(w, i == 0 ? 0xc : 0);
	}
	for (unsigned c = 0; c < 4; c++) {
		assert_int_equal(pass(w, c), 1000000);
		assert_ptr_equal(running_on(w, c), u[taken[c]]);
	}
	assert_true(u[4]->flags & C2_QUEUED);
	world_end(w);
}

static void t14_a_busy_sibling_makes_a_core_second_choice(void **state)
{
	static const unsigned tickled[3] = {2, 1, 3};
	struct world *w = world_start(1, 2, 2, NULL);
	struct c2_unit *hog = new_unit(w, 0), *u[3];

	(void)state;
	run_on(w, hog, 0);
	for (unsigned i = 0; i < 3; i++) {
		u[i] = new_unit_at(w, 1);
		assert_int_equal(wake_tickles(w, u[i]), tickled[i]);
		pass(w, tickled[i]);
		assert_ptr_equal(running_on(w, tickled[i]), u[i]);
	}
	hv_block(vcpu_of(hog), NULL, NULL);
	pass(w, 0);
	assert_cor(w, 0);
	hv_block(vcpu_of(u[1]), NULL, NULL);
	pass(w, 1);
	assert_cor(w, 0x3);
	world_end(w);
}

static void t15_q6_power_savings_tickle_the_same_pcpu_again(void **state)
{
	const char *const params[] = {"sched_smt_power_savings", "1", NULL};
	struct world *w = world_start(1, 2, 2, params);

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(wake_tickles(w, new_unit_at(w, 2)), 2);
	world_end(w);
}

/* Units on pCPUs 0, 1, 2 that have 5, 3 and 1 ms left after 2 ms. */
static struct world *three_running(struct c2_unit **v)
{
	struct world *w = world_start(1, 3, 1, NULL);

	for (unsigned c = 0; c < 3; c++) {
		v[c] = new_unit(w, 0);
		run_on(w, v[c], c);
		set_credit(w, v[c], (int32_t)((7 - 2 * (int)c) * MS));
	}
	at(w, 2 * MS);
	return w;
}

static void assert_scores(const struct world *w, const struct c2_unit *u, const int64_t *score)
{
	lock_home(w, u);
	for (unsigned c = 0; c < 3; c++)
		assert_int_equal(c2_score(w->p, u, c, w->f.now), score[c]);
	unlock_home(w, u);
}

static void t16_home_wins_if_it_can_be_preempted(void **state)
{
	static const int64_t score[3] = {-1500000, 11000000, 12500000};
	struct c2_unit *v[3], *u;
	struct world *w = three_running(v);

	(void)state;
	u = new_unit_at(w, 1);
	set_credit(w, u, 4000000);
	assert_scores(w, u, score);
	assert_int_equal(wake_tickles(w, u), 1);
	assert_int_equal(u->tcpu, 1);
	world_end(w);
}

static void t17_soft_affinity_adds_to_the_score(void **state)
{
	static const int64_t score[3] = {12500000, 5000000, 16500000};
	const struct hv_mask soft12 = fake_mask2(1, 2), soft2 = fake_mask1(2);
	struct c2_unit *v[3], *u;
	struct world *w = three_running(v);

	(void)state;
	u = new_unit(w, 0);
	assert_int_equal(hv_affinity_set(vcpu_of(u), NULL, &soft2), 0);
	v[0]->unit->soft = soft12; /* hv_affinity_set() would have it moved */
	v[0]->unit->soft_counts = true;
	set_home(w, u, 1);
	set_credit(w, u, 8000000);
	assert_scores(w, u, score);
	assert_int_equal(wake_tickles(w, u), 2);
	world_end(w);
}

static void t18_the_rate_limit_protects_from_tickling(void **state)
{
	(void)state;
	for (hv_time t = 950000; t <= 950001; t++) {
		struct world *w = world_start(1, 1, 1, NULL);
		struct c2_unit *old = new_unit(w, 0), *u = new_unit(w, 0);

		run_on(w, old, 0);
		set_credit(w, old, 1000000);
		at(w, t);
		lock_home(w, u);
		assert_int_equal(c2_score(w->p, u, 0, w->f.now), t == 950000 ? -1 : 19950001);
		unlock_home(w, u);
		assert_int_equal(wake_tickles(w, u), t == 950000 ? NOBODY : 0);
		if (t == 950001) {
			assert_int_equal(pass(w, 0), 500000);
			assert_ptr_equal(running_on(w, 0), old);
			at(w, 1450001);
			pass(w, 0);
			assert_ptr_equal(running_on(w, 0), u);
		}
		world_end(w);
	}
}

/* T19 and Q9: at a lead of exactly RESIST tickling says no and the decision says yes. */
static void t19_moving_needs_a_lead(void **state)
{
	(void)state;
	for (int32_t credit = 4499999; credit <= 4500001; credit++) {
		struct world *w = world_start(1, 2, 1, NULL);
		struct c2_unit *v0 = new_unit(w, 0), *v1 = new_unit(w, 0), *u = new_unit(w, 0);

		run_on(w, v0, 0);
		run_on(w, v1, 1);
		at(w, 2 * MS);
		set_credit(w, v0, 9000000);
		set_credit(w, v1, 4000000);
		set_credit(w, u, credit);
		lock_home(w, u);
		assert_int_equal(c2_score(w->p, u, 1, w->f.now),
				 credit > 4500000 ? 10000001 : credit - 4500000);
		unlock_home(w, u);
		assert_int_equal(wake_tickles(w, u), credit > 4500000 ? 1 : NOBODY);
		pass(w, 1);
		assert_ptr_equal(running_on(w, 1), credit >= 4500000 ? u : v1);
		world_end(w);
	}
}

static void t21_a_unit_is_left_to_the_pcpu_that_was_told(void **state)
{
	struct world *w = world_start(1, 2, 1, NULL);
	struct c2_unit *u = new_unit(w, 0);

	(void)state;
	assert_int_equal(wake_tickles(w, u), 0);
	pass(w, 1);
	assert_null(running_on(w, 1));
	pass(w, 0);
	assert_ptr_equal(running_on(w, 0), u);
	world_end(w);

	/* Once the told pCPU's mark is gone, anybody may take it. */
	w = world_start(1, 2, 1, NULL);
	u = new_unit(w, 0);
	assert_int_equal(wake_tickles(w, u), 0);
	hv_mask_clear(&runq(w, 0)->tik, 0);
	pass(w, 1);
	assert_ptr_equal(running_on(w, 1), u);
	assert_int_equal(u->credit, 10050000);
	world_end(w);
}

static void t23_a_unit_leaves_for_its_soft_affinity(void **state)
{
	const struct hv_mask hard = fake_mask2(0, 1), soft = fake_mask1(1);
	struct world *w = world_start(1, 2, 1, NULL);
	struct c2_unit *b = new_unit(w, 2), *a = new_unit(w, 0);

	(void)state;
	run_on(w, b, 1);
	assert_int_equal(hv_affinity_set(vcpu_of(a), &hard, &soft), 0);
	run_on(w, a, 0);
	set_credit(w, a, 10000000);
	hv_block(vcpu_of(b), NULL, NULL);
	pass(w, 1);
	at(w, 500000);
	pass(w, 0);
	assert_ptr_equal(running_on(w, 0), a);
	at(w, 1500000);
	fake_forget(&w->f);
	pass(w, 0);
	assert_null(running_on(w, 0));
	assert_true(a->flags & C2_QUEUED);
	assert_int_equal(last_tickle(w), 1);
	pass(w, 1);
	assert_ptr_equal(running_on(w, 1), a);
	assert_int_equal(a->credit, 8550000);
	world_end(w);
}

static void t36_a_pinned_unit_asks_its_pcpu_at_once(void **state)
{
	const struct hv_mask one = fake_mask1(1);
	struct world *w = world_start(1, 2, 1, NULL);
	struct c2_unit *a = new_unit(w, 0), *b = new_unit(w, 0);

	(void)state;
	assert_int_equal(hv_affinity_set(vcpu_of(a), &one, NULL), 0);
	assert_int_equal(hv_affinity_set(vcpu_of(b), &one, NULL), 0);
	assert_true(a->flags & C2_PINNED);
	hv_mask_clear(&runq(w, 0)->cor, 1); /* it does not look at idle cores */
	assert_int_equal(wake_tickles(w, a), 1);
	pass(w, 1);
	assert_ptr_equal(running_on(w, 1), a);
	assert_int_equal(wake_tickles(w, b), NOBODY);
	assert_true(b->flags & C2_QUEUED);
	world_end(w);
}

/* 9.3 on a runqueue of more than 64 pCPUs: all are judged, and the lowest of equals wins. */
static void the_best_of_many_busy_pcpus_is_found(void **state)
{
	static const char *const params[] = {"sched_credit2_max_cpus_runqueue", "128", NULL};
	struct world *w = world_start(1, 70, 1, params);
	struct c2_unit *run[70], *u = new_unit(w, 0);

	(void)state;
	assert_int_equal(runq(w, 0)->ncpu, 70);
	for (unsigned c = 0; c < 70; c++)
		run_on(w, run[c] = new_unit(w, 0), c);
	at(w, 2 * MS);
	for (unsigned c = 0; c < 70; c++)
		set_credit(w, run[c], 5 * MS);
	set_credit(w, run[3], 7 * MS);
	set_credit(w, run[66], 1 * MS);
	set_credit(w, run[68], 1 * MS);
	set_home(w, u, 3);
	set_credit(w, u, 6 * MS);
	assert_int_equal(wake_tickles(w, u), 66);
	world_end(w);
}

/* bug 8: two wakers never tickle the same pCPU while another one is idle. */
static void bug8_every_waker_asks_another_idle_pcpu(void **state)
{
	struct world *w = world_start(1, 8, 2, NULL);
	uint64_t asked = 0;

	(void)state;
	for (unsigned i = 0; i < 16; i++) {
		unsigned c = wake_tickles(w, new_unit(w, 0));

		assert_int_not_equal(c, NOBODY);
		assert_false(asked & 1ULL << c);
		asked |= 1ULL << c;
	}
	fake_drain(&w->f);
	for (unsigned c = 0; c < 16; c++)
		assert_non_null(running_on(w, c));
	world_end(w);
}

/*
 * Bug 10, the other half: a pCPU that works for the hypervisor is busy, but not to be preempted,
 * even where its unit would be judged first: no tickle, and the work goes on.
 */
static void bug10_work_for_the_hypervisor_is_not_preempted(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);
	struct c2_unit *u = new_unit(w, 0);

	(void)state;
	hv_work(w->f.sys, 0, true);
	pass(w, 0);
	at(w, 5 * MS); /* past the rate limit, which says nothing about idle units anyhow */
	assert_int_equal(c2_score(w->p, u, 0, w->f.now), -1);
	assert_int_equal(wake_tickles(w, u), HV_NO_PCPU);
	assert_int_equal(u->tcpu, HV_NO_PCPU);
	hv_work(w->f.sys, 0, false);
	fake_drain(&w->f);
	assert_ptr_equal(running_on(w, 0), u);
	world_end(w);
}

/* bug 12: with a runqueue per thread each thread is a core of its own. */
static void bug12_threads_in_different_runqueues_count_as_idle_cores(void **state)
{
	const char *const params[] = {"credit2_runqueue", "cpu", NULL};
	struct world *w = world_start(1, 2, 2, params);

	(void)state;
	for (int id = 0; id < 4; id++)
		assert_int_equal(runq(w, id)->cor.w[0], 1u << id);
	world_end(w);
}

/* Section 13.3: a unit that sleeps and wakes before its pCPU decides just goes on. */
static void a_short_sleep_leaves_the_pcpu_marked(void **state)
{
	struct world *w = world_start(1, 2, 1, NULL);
	struct c2_unit *a = new_unit(w, 0), *b = new_unit(w, 0);

	(void)state;
	run_on(w, a, 0);
	run_on(w, b, 1);
	set_credit(w, b, 10000000);
	assert_int_equal(hv_pause(vcpu_of(a)), 0);
	assert_int_equal(hv_unpause(vcpu_of(a)), 0);
	assert_true(hv_mask_test(&runq(w, 0)->tik, 0));
	at(w, 2 * MS);
	set_credit(w, a, -10000000);
	assert_int_equal(wake_tickles(w, new_unit(w, 0)), 1); /* 0 would be the better choice */
	pass(w, 0);
	assert_false(hv_mask_test(&runq(w, 0)->tik, 0));
	world_end(w);
}

/* Q7: a pCPU added beside a busy sibling enters COR, until its core has been idle once. */
static void q7_a_thread_added_beside_a_busy_one_passes_for_an_idle_core(void **state)
{
	struct world *w = world_create(1, 2, 2, NULL);
	struct c2_unit *hog, *u;

	(void)state;
	for (unsigned c = 0; c < 4; c++)
		assert_int_equal(hv_pcpu_up(w->f.sys, c), 0);
	assert_int_equal(hv_pool_create(w->f.sys, 0, "credit2", HV_GRAN_CPU, &w->f.pool), 0);
	w->s = hv_pool_sched(w->f.pool);
	w->p = w->s->priv;
	assert_int_equal(hv_pool_add_pcpu(w->f.pool, 0), 0);
	fake_drain(&w->f);
	hog = new_unit(w, 0);
	run_on(w, hog, 0);
	assert_int_equal(hv_pool_add_pcpu(w->f.pool, 1), 0);
	fake_drain(&w->f);
	assert_cor(w, 0x2);

	/* Somebody runs there, and COR still names it: the next one is sent to a busy pCPU. */
	run_on(w, new_unit(w, 0), 1);
	assert_cor(w, 0x2);
	u = new_unit(w, 0);
	assert_int_equal(wake_tickles(w, u), 1);
	fake_drain(&w->f);

	hv_vcpu_down(vcpu_of(u));
	hv_block(vcpu_of(hog), NULL, NULL);
	hv_vcpu_down(vcpu_of(running_on(w, 1)));
	fake_drain(&w->f);
	assert_null(running_on(w, 0));
	assert_null(running_on(w, 1));
	assert_cor(w, 0x3);
	assert_int_equal(wake_tickles(w, hog), 0);
	assert_cor(w, 0);
	world_end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t13_idle_cores_before_idle_threads),
		cmocka_unit_test(t14_a_busy_sibling_makes_a_core_second_choice),
		cmocka_unit_test(t15_q6_power_savings_tickle_the_same_pcpu_again),
		cmocka_unit_test(t16_home_wins_if_it_can_be_preempted),
		cmocka_unit_test(t17_soft_affinity_adds_to_the_score),
		cmocka_unit_test(t18_the_rate_limit_protects_from_tickling),
		cmocka_unit_test(t19_moving_needs_a_lead),
		cmocka_unit_test(t21_a_unit_is_left_to_the_pcpu_that_was_told),
		cmocka_unit_test(t23_a_unit_leaves_for_its_soft_affinity),
		cmocka_unit_test(t36_a_pinned_unit_asks_its_pcpu_at_once),
		cmocka_unit_test(the_best_of_many_busy_pcpus_is_found),
		cmocka_unit_test(bug8_every_waker_asks_another_idle_pcpu),
		cmocka_unit_test(bug10_work_for_the_hypervisor_is_not_preempted),
		cmocka_unit_test(bug12_threads_in_different_runqueues_count_as_idle_cores),
		cmocka_unit_test(a_short_sleep_leaves_the_pcpu_marked),
		cmocka_unit_test(q7_a_thread_added_beside_a_busy_one_passes_for_an_idle_core),
	};

	return cmocka_run_group_tests_name("credit2: tickling", tests, NULL, NULL);
}
