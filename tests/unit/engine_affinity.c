/* SPDX-License-Identifier: MIT */
/* Affinity and the two-step migration (core-scheduling 3.5, 3.6). */
#include "fake_host.h"
#include "probe_policy.h"

static int setup(void **state)
{
	struct fake *f = fake_new(1, 4, 2, probe_policies);

	fake_boot(f, "probe");
	*state = f;
	return 0;
}

#define OPS(f) (probe_of((f)->pool->sched)->ops)

static struct hv_vcpu *running_vcpu(struct fake *f)
{
	struct hv_vcpu *v = fake_domain(f, 1, 1)->vcpus[0];

	hv_vcpu_up(v);
	fake_drain(f);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 0), v);
	fake_forget(f);
	probe_forget(f->pool->sched);
	return v;
}

static void a_running_unit_moves_in_the_tail_of_its_switch(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = running_vcpu(f);
	struct hv_mask hard = fake_mask1(4);

	assert_int_equal(hv_affinity_set(v, &hard, NULL), 0);
	assert_string_equal(OPS(f), "affinity-hard d1v0; sleep d1v0");
	assert_int_equal(v->pause_flags, HV_PF_MIGRATING);
	assert_int_equal(v->pcpu, 0);
	f->hold_saves = true;
	fake_drain(f);
	assert_int_equal(v->runstate.state, HV_OFFLINE);
	assert_int_equal(v->pcpu, 0); /* not before the context is saved */
	probe_forget(f->pool->sched);
	fake_save(f, 0);
	assert_string_equal(OPS(f), "saved d1v0; pick d1v0; migrate d1v0; wake d1v0");
	assert_int_equal(v->pcpu, 4);
	assert_int_equal(v->pause_flags, 0);
	f->hold_saves = false;
	fake_drain(f);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 4), v);
	for (unsigned i = 0; i < f->nr_log; i++) {
		if (f->log[i].kind == HV_TRACE_SWITCH && f->log[i].unit == v->unit)
			assert_int_equal(f->log[i].pcpu, 4);
	}
	assert_int_equal(fake_count(f, HV_TRACE_ASSIGN), 1);
	assert_int_equal(f->log[fake_find(f, HV_TRACE_ASSIGN, 0)].a, 0);
	assert_int_equal(f->log[fake_find(f, HV_TRACE_ASSIGN, 0)].b, 4);
}

static void a_unit_that_does_not_run_moves_at_once(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = fake_domain(f, 1, 1)->vcpus[0];
	struct hv_mask hard = fake_mask1(5);

	probe_forget(f->pool->sched);
	assert_int_equal(hv_affinity_set(v, &hard, NULL), 0);
	/* it is down: no wake at the end */
	assert_string_equal(OPS(f), "affinity-hard d1v0; sleep d1v0; pick d1v0; migrate d1v0");
	assert_int_equal(v->pcpu, 5);
	assert_int_equal(v->pause_flags, HV_PF_DOWN);
}

static void an_equal_mask_makes_the_unit_pick_again(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = running_vcpu(f);
	struct hv_mask hard = v->unit->hard, soft = v->unit->soft;

	assert_int_equal(hv_affinity_set(v, &hard, &soft), 0);
	fake_drain(f);
	assert_int_equal(probe_of(f->pool->sched)->nr_picks, 1);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 0), v);
	assert_int_equal(fake_count(f, HV_TRACE_ASSIGN), 0);
}

static void a_soft_mask_does_the_same(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = running_vcpu(f);
	struct hv_mask soft = fake_mask1(3);

	assert_int_equal(hv_affinity_set(v, NULL, &soft), 0);
	fake_drain(f);
	assert_string_equal(OPS(f),
			    "affinity-soft d1v0; sleep d1v0; schedule d1v0; saved d1v0; "
			    "pick d1v0; migrate d1v0; wake d1v0; schedule idle; saved idle");
}

static void pick_runs_once_whether_one_lock_or_two(void **state)
{
	struct fake *f = *state;

	for (int one_lock = 0; one_lock < 2; one_lock++) {
		struct fake *g = calloc(1, sizeof(*g));
		struct hv_mask hard = fake_mask1(1);
		struct hv_vcpu *v;

		assert_int_equal(fake_create(g, 1, 2, 1, probe_policies), 0);
		hv_pcpu_up(g->sys, 0);
		hv_pcpu_up(g->sys, 1);
		hv_pool_create(g->sys, 0, "probe", HV_GRAN_CPU, &g->pool);
		probe_of(g->pool->sched)->one_lock = one_lock;
		hv_pool_add_pcpu(g->pool, 0);
		hv_pool_add_pcpu(g->pool, 1);
		assert_int_equal(hv_resource_of(g->sys, 0)->lock == hv_resource_of(g->sys, 1)->lock,
				 one_lock);
		v = fake_domain(g, 1, 1)->vcpus[0];
		hv_vcpu_up(v);
		fake_drain(g);
		probe_forget(g->pool->sched);
		assert_int_equal(hv_affinity_set(v, &hard, NULL), 0);
		fake_drain(g);
		assert_int_equal(probe_of(g->pool->sched)->nr_picks, 1);
		assert_ptr_equal(hv_pcpu_loaded(g->sys, 1), v);
		fake_destroy(g);
		free(g);
	}
	fake_check(f);
}

/* A policy marks a running unit itself, e.g. to balance: the tail finishes the migration. */
static void a_policy_may_start_a_migration_by_the_flag(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = running_vcpu(f);
	struct hv_lock *l = hv_unit_lock(v->unit);

	hv_unit_set_flag(v->unit, HV_PF_MIGRATING);
	hv_request(f->pool->sched, 0);
	hv_lock_release(f->sys, l);
	assert_int_equal(v->runstate.state, HV_RUNNING);
	assert_int_equal(fake_count(f, HV_TRACE_TICKLE), 0); /* hv_request() is silent */
	probe_of(f->pool->sched)->pick = 6;
	fake_drain(f);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 6), v);
	assert_int_equal(v->pause_flags, 0);
}

static void a_second_affinity_call_before_the_pass_joins_the_first_migration(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = running_vcpu(f);
	struct hv_mask a = fake_mask1(4), b = fake_mask1(2);

	assert_int_equal(hv_affinity_set(v, &a, NULL), 0);
	assert_int_equal(hv_affinity_set(v, &b, NULL), 0);
	fake_drain(f);
	assert_int_equal(probe_of(f->pool->sched)->nr_picks, 1);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 2), v);
}

static void parking_calls_nobody_and_the_runstate_follows(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *a = running_vcpu(f), *b = fake_domain(f, 2, 1)->vcpus[0];
	struct hv_lock *l;

	hv_vcpu_up(b);
	assert_int_equal(b->runstate.state, HV_RUNNABLE);
	probe_forget(f->pool->sched);
	l = hv_unit_lock(b->unit);
	hv_unit_set_flag(b->unit, HV_PF_PARKED);
	assert_int_equal(b->runstate.state, HV_RUNNABLE); /* as Xen: nothing was called yet */
	assert_false(hv_unit_runnable(b->unit));
	hv_lock_release(f->sys, l);
	fake_check(f);
	assert_string_equal(OPS(f), "");
	hv_pause(b);
	assert_int_equal(b->runstate.state, HV_OFFLINE);
	hv_unpause(b);
	l = hv_unit_lock(b->unit);
	hv_unit_clear_flag(b->unit, HV_PF_PARKED);
	assert_int_equal(b->runstate.state, HV_OFFLINE);
	assert_true(hv_unit_runnable(b->unit));
	hv_lock_release(f->sys, l);
	fake_check(f);
	assert_int_equal(a->runstate.state, HV_RUNNING);
}

static void a_hard_mask_outside_the_pool_is_refused(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = running_vcpu(f);
	struct hv_mask outside = fake_mask2(8, 63), empty = {{0}};
	struct hv_mask before = v->unit->hard;

	assert_int_equal(hv_affinity_set(v, &outside, NULL), -HV_EINVAL);
	assert_int_equal(hv_affinity_set(v, &empty, NULL), -HV_EINVAL);
	assert_int_equal(hv_affinity_set(v, NULL, NULL), -HV_EINVAL);
	assert_true(hv_mask_equal(&v->unit->hard, &before, hv_mask_words(f->sys)));
	assert_string_equal(OPS(f), "");
}

static void pcpus_that_do_not_exist_are_dropped_from_a_mask(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = running_vcpu(f);
	struct hv_mask hard = fake_mask2(3, 60);

	assert_int_equal(hv_affinity_set(v, &hard, NULL), 0);
	assert_int_equal(hv_mask_weight(&v->unit->hard, hv_mask_words(f->sys)), 1);
}

/* soft_counts and the two steps, for the cases of section 3.6 */
static void soft_affinity_counts_only_when_it_can_matter(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = running_vcpu(f);
	struct hv_sched *s = f->pool->sched;
	struct hv_mask all = fake_all(8), m12 = fake_mask2(1, 2), m23 = fake_mask2(2, 3);
	struct hv_mask m5 = fake_mask1(5), out;

	/* hard all, soft {2,3}: it counts; soft step {2,3}, hard step all */
	assert_int_equal(hv_affinity_set(v, &all, &m23), 0);
	assert_true(hv_unit_has_soft(s, v->unit));
	hv_unit_step_mask(s, v->unit, true, &out);
	assert_true(hv_mask_equal(&out, &m23, s->nw));
	hv_unit_step_mask(s, v->unit, false, &out);
	assert_true(hv_mask_equal(&out, &all, s->nw));
	/* hard {1,2}, soft {2,3}: soft step is the intersection */
	assert_int_equal(hv_affinity_set(v, &m12, &m23), 0);
	assert_true(hv_unit_has_soft(s, v->unit));
	hv_unit_step_mask(s, v->unit, true, &out);
	assert_int_equal(hv_mask_weight(&out, s->nw), 1);
	assert_true(hv_mask_test(&out, 2));
	/* disjoint: stored but ignored; the soft step is the hard mask */
	assert_int_equal(hv_affinity_set(v, &m5, &m23), 0);
	assert_true(hv_mask_equal(&v->unit->soft, &m23, s->nw));
	assert_false(hv_unit_has_soft(s, v->unit));
	hv_unit_step_mask(s, v->unit, true, &out);
	assert_true(hv_mask_equal(&out, &m5, s->nw));
	/* hard inside soft */
	assert_int_equal(hv_affinity_set(v, &m23, &all), 0);
	assert_false(hv_unit_has_soft(s, v->unit));
}

/* core-scheduling 8.20, and what a set call answers by 3.6 */
static void the_effective_masks_are_what_is_left_of_those_that_were_set(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = running_vcpu(f);
	struct hv_mask hard, soft, m12 = fake_mask2(1, 2), m23 = fake_mask2(2, 3);
	struct hv_mask m2 = fake_mask1(2), m7 = fake_mask1(7);
	unsigned nw = hv_mask_words(f->sys);

	probe_of(f->pool->sched)->pick = 2;
	assert_int_equal(hv_affinity_set(v, &m12, &m23), 0);
	hv_affinity_effective(v, &hard, &soft);
	assert_true(hv_mask_equal(&hard, &m12, nw) && hv_mask_equal(&soft, &m2, nw));
	/* what the pool loses is lost to both */
	fake_drain(f);
	assert_int_equal(hv_pool_remove_pcpu(f->pool, 1), 0);
	hv_affinity_effective(v, &hard, &soft);
	assert_true(hv_mask_equal(&hard, &m2, nw) && hv_mask_equal(&soft, &m2, nw));
	assert_true(hv_mask_equal(&v->unit->hard, &m12, nw));
	/* soft affinity that can never be: stored, and without effect */
	assert_int_equal(hv_affinity_set(v, NULL, &m7), 0);
	hv_affinity_effective(v, &hard, &soft);
	assert_true(hv_mask_equal(&hard, &m2, nw) && hv_mask_empty(&soft, nw));
	assert_true(hv_mask_equal(&v->unit->soft, &m7, nw));
}

static void a_soft_mask_that_holds_the_pool_means_no_soft_step(void **state)
{
	struct fake *f = calloc(1, sizeof(*f));
	struct hv_mask all = fake_all(4), m01 = fake_mask2(0, 1);
	struct hv_vcpu *v;

	(void)state;
	assert_int_equal(fake_create(f, 1, 4, 1, probe_policies), 0);
	for (unsigned c = 0; c < 4; c++)
		hv_pcpu_up(f->sys, c);
	hv_pool_create(f->sys, 0, "probe", HV_GRAN_CPU, &f->pool);
	hv_pool_add_pcpu(f->pool, 0);
	hv_pool_add_pcpu(f->pool, 1);
	v = fake_domain(f, 1, 1)->vcpus[0];
	assert_int_equal(hv_affinity_set(v, &all, &m01), 0);
	assert_true(v->unit->soft_counts);
	assert_false(hv_unit_has_soft(f->pool->sched, v->unit));
	assert_int_equal(hv_pool_add_pcpu(f->pool, 2), 0); /* the pool's part is judged on use */
	assert_true(hv_unit_has_soft(f->pool->sched, v->unit));
	fake_destroy(f);
	free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fake_tear_down)
		TEST(a_running_unit_moves_in_the_tail_of_its_switch),
		TEST(a_unit_that_does_not_run_moves_at_once),
		TEST(an_equal_mask_makes_the_unit_pick_again),
		TEST(a_soft_mask_does_the_same),
		TEST(pick_runs_once_whether_one_lock_or_two),
		TEST(a_policy_may_start_a_migration_by_the_flag),
		TEST(a_second_affinity_call_before_the_pass_joins_the_first_migration),
		TEST(parking_calls_nobody_and_the_runstate_follows),
		TEST(a_hard_mask_outside_the_pool_is_refused),
		TEST(pcpus_that_do_not_exist_are_dropped_from_a_mask),
		TEST(soft_affinity_counts_only_when_it_can_matter),
		TEST(the_effective_masks_are_what_is_left_of_those_that_were_set),
		cmocka_unit_test(a_soft_mask_that_holds_the_pool_means_no_soft_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
