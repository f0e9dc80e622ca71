/* SPDX-License-Identifier: MIT */
/*
 * Credit2: caps. The names T24... are those of the credit2 spec, section 20; "bug n" is section 21,
 * Qn section 19.
 */
#include "credit2_world.h"

static struct c2_domain *domain_of(const struct c2_unit *u)
{
	return u->dom;
}

static bool is_parked(const struct c2_unit *u)
{
	return vcpu_of(u)->pause_flags & HV_PF_PARKED;
}

static void t24_half_a_pcpu(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);
	struct c2_unit *u = new_unit(w, 0);
	struct c2_domain *d = domain_of(u);
	static const struct {
		hv_time at;
		bool runs;
		hv_time slice;
		int32_t credit;
	} steps[] = {
		{6 * MS, false, -1, 4000000},	    {11 * MS, true, 4000000, 4000000},
		{15 * MS, true, 1000000, 10000000}, {16 * MS, false, -1, 9000000},
		{21 * MS, true, 5000000, 9000000},  {26 * MS, false, -1, 4000000},
	};

	(void)state;
	run_on(w, u, 0);
	at(w, 1 * MS);
	fake_forget(&w->f);
	assert_int_equal(set_cap(u->unit->domain, 50), 0);
	assert_int_equal(d->total, 5000000);
	assert_int_equal(u->quota, 5000000);
	assert_int_equal(d->next_refill, START + 11 * MS);
	assert_int_equal(u->credit, 9000000);
	assert_int_equal(u->budget, 0);
	assert_int_equal(last_tickle(w), 0);
	fake_drain(&w->f);
	assert_int_equal(u->budget, 5000000);
	assert_int_equal(last_slice(w, 0), 5000000);
	for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		fake_forget(&w->f);
		fake_run(&w->f, START + steps[i].at);
		assert_int_equal(running_on(w, 0) == u, steps[i].runs);
		assert_int_equal(is_parked(u), !steps[i].runs);
		assert_int_equal(last_slice(w, 0), steps[i].slice);
		assert_int_equal(u->credit, steps[i].credit);
		fake_check(&w->f);
	}
	world_end(w);
}

/* T25 but for the weight sent along with a bad cap, which does not apply here either. */
static void t25_quotas_and_bad_caps(void **state)
{
	struct world *w = world_start(1, 4, 1, NULL);
	struct hv_domain *two = fake_domain(&w->f, 100, 2), *four = fake_domain(&w->f, 200, 4);
	struct hv_domain_params p = {.weight = 1000, .cap = 201};

	(void)state;
	assert_int_equal(set_cap(two, 100), 0);
	assert_int_equal(c2_unit(two->units)->quota, 5000000);
	assert_int_equal(set_cap(four, 10), 0);
	assert_int_equal(c2_unit(four->units)->dom->total, 1000000);
	assert_int_equal(c2_unit(four->units)->quota, 500000);

	assert_int_equal(hv_domain_params_set(two, &p), -HV_EINVAL);
	assert_int_equal(hv_domain_params_get(two, &p), 0);
	assert_int_equal(p.weight, 256);
	assert_int_equal(p.cap, 100);
	p = (struct hv_domain_params){.weight = 1000, .cap = 200};
	assert_int_equal(hv_domain_params_set(two, &p), 0);
	assert_int_equal(c2_unit(two->units)->weight, 1000);
	assert_int_equal(c2_unit(two->units)->quota, 10000000);
	world_end(w);
}

static void t25_refills(void **state)
{
	static const struct {
		int64_t pool, late;
		int64_t pool_after, next; /* next: ns after the refill */
	} cases[] = {
		{-2500000, 25 * MS, 500000, 5 * MS},
		{300000, 0, 1000000, 10 * MS},
		{-1500000, 10 * MS, 500000, 10 * MS}, /* one period late: two refills */
		{-5000000, 10 * MS, -3000000, 10 * MS},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct world *w = world_start(1, 1, 1, NULL);
		struct c2_unit *u = new_unit(w, 0);
		struct c2_domain *d = domain_of(u);

		assert_int_equal(set_cap(u->unit->domain, 10), 0);
		assert_int_equal(d->total, 1000000);
		d->pool = cases[i].pool;
		w->f.now = d->next_refill + cases[i].late;
		fake_timer_forget(&w->f, &d->refill);
		hv_timer_fire(&d->refill);
		assert_int_equal(d->pool, cases[i].pool_after);
		assert_int_equal(d->next_refill, w->f.now + cases[i].next);
		assert_true(d->refill.armed);
		assert_int_equal(d->refill.expiry, d->next_refill);
		world_end(w);
	}
}

static void t25_two_units_share_a_pool(void **state)
{
	struct world *w = world_start(1, 2, 1, NULL);
	struct hv_domain *dom = fake_domain(&w->f, 100, 2);
	struct c2_unit *a = c2_unit(dom->vcpus[0]->unit), *b = c2_unit(dom->vcpus[1]->unit);
	struct c2_domain *d = domain_of(a);

	(void)state;
	assert_int_equal(set_cap(dom, 100), 0);
	run_on(w, a, 0);
	run_on(w, b, 1);
	assert_int_equal(a->budget, 5000000);
	assert_int_equal(b->budget, 5000000);
	assert_int_equal(d->pool, 0);
	at(w, 1 * MS);
	hv_block(vcpu_of(a), NULL, NULL);
	pass(w, 0);
	assert_int_equal(d->pool, 4000000);
	assert_int_equal(a->budget, 0);
	at(w, 9500000);
	pass(w, 1);
	assert_int_equal(d->pool, -500000);
	assert_true(is_parked(b));
	wake_up(a);
	fake_drain(&w->f);
	assert_true(is_parked(a));
	assert_ptr_equal(d->parked, a);
	assert_ptr_equal(a->parked_next, b);
	fake_run(&w->f, START + 10 * MS - 1);
	assert_null(running_on(w, 0));
	at(w, 10 * MS);
	fake_timer_forget(&w->f, &d->refill);
	hv_timer_fire(&d->refill);
	assert_int_equal(d->pool, 9500000);
	assert_false(is_parked(a) || is_parked(b));
	fake_drain(&w->f);
	assert_ptr_equal(running_on(w, 0), a);
	assert_ptr_equal(running_on(w, 1), b);
	world_end(w);
}

static void t35_a_reset_tickles_who_has_overrun(void **state)
{
	struct world *w = world_start(1, 2, 1, NULL);
	struct c2_unit *a = new_unit(w, 0), *b = new_unit(w, 0);

	(void)state;
	assert_int_equal(set_cap(a->unit->domain, 20), 0);
	run_on(w, a, 0);
	assert_int_equal(a->budget, 2000000);
	run_on(w, b, 1);
	set_credit(w, b, 1000000);
	at(w, 3 * MS);
	fake_forget(&w->f);
	pass(w, 1);
	assert_int_equal(fake_count(&w->f, HV_TRACE_RESET), 1);
	assert_int_equal(last_tickle(w), 0);
	assert_int_equal(a->budget, -1000000);
	assert_int_equal(a->credit, 10500000);
	world_end(w);
}

/* bug 3: a unit without budget at the head does not end the walk. */
static void bug3_a_unit_without_budget_is_skipped(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);
	struct c2_unit *poor = new_unit(w, 0), *next = new_unit(w, 0);

	(void)state;
	assert_int_equal(set_cap(poor->unit->domain, 10), 0);
	domain_of(poor)->pool = -1;
	wake_up(poor);
	wake_up(next);
	pass(w, 0);
	assert_ptr_equal(running_on(w, 0), next);
	assert_true(is_parked(poor));
	assert_int_equal(runq(w, 0)->nload, 1);
	world_end(w);
}

/* bug 14: the first unit to run does not take the whole period's budget. */
static void bug14_every_unit_of_a_capped_domain_runs(void **state)
{
	struct world *w = world_start(1, 4, 1, NULL);
	struct hv_domain *dom = fake_domain(&w->f, 100, 4);
	struct hv_runstate rs;
	int64_t sum = 0;

	(void)state;
	assert_int_equal(set_cap(dom, 100), 0);
	for (unsigned i = 0; i < 4; i++)
		hv_vcpu_up(dom->vcpus[i]);
	fake_run(&w->f, START + 100 * MS);
	for (unsigned i = 0; i < 4; i++) {
		hv_runstate_get(dom->vcpus[i], &rs);
		assert_in_range(rs.time[HV_RUNNING], 20 * MS, 30 * MS);
		sum += rs.time[HV_RUNNING];
	}
	/* 10 periods of 10 ms, and never more than one quota each beyond. */
	assert_in_range(sum, 95 * MS, 110 * MS);
	world_end(w);
}

/* Q12 */
static void q12_a_unit_added_to_a_capped_domain_is_not_capped(void **state)
{
	struct world *w = world_start(1, 2, 1, NULL);
	struct hv_domain *dom;
	struct hv_vcpu *v[2];

	(void)state;
	assert_int_equal(hv_domain_create(w->f.pool, 100, 2, &dom), 0);
	assert_int_equal(hv_vcpu_create(dom, NULL, NULL, NULL, &v[0]), 0);
	assert_int_equal(set_cap(dom, 50), 0);
	assert_int_equal(hv_vcpu_create(dom, NULL, NULL, NULL, &v[1]), 0);
	assert_int_equal(c2_unit(v[0]->unit)->quota, 5000000);
	assert_true(c2_is_capped(c2_unit(v[0]->unit)));
	assert_false(c2_is_capped(c2_unit(v[1]->unit)));
	assert_int_equal(set_cap(dom, 60), 0);
	assert_false(c2_is_capped(c2_unit(v[1]->unit)));
	assert_int_equal(c2_unit(v[0]->unit)->quota, 3000000);
	world_end(w);
}

static void removing_a_cap_frees_the_parked(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);
	struct c2_unit *u = new_unit(w, 0);

	(void)state;
	assert_int_equal(set_cap(u->unit->domain, 10), 0);
	run_on(w, u, 0);
	fake_run(&w->f, START + 2 * MS);
	assert_true(is_parked(u));
	assert_int_equal(set_cap(u->unit->domain, 0), 0);
	fake_drain(&w->f);
	assert_ptr_equal(running_on(w, 0), u);
	assert_false(c2_is_capped(u));
	assert_int_equal(u->quota, 0);
	assert_false(domain_of(u)->refill.armed);
	world_end(w);
}

/* A unit blocked while parked is only unmarked; its wake queues it. */
static void a_unit_paused_while_parked_is_only_unmarked(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);
	struct c2_unit *u = new_unit(w, 0);

	(void)state;
	assert_int_equal(set_cap(u->unit->domain, 10), 0);
	run_on(w, u, 0);
	fake_run(&w->f, START + 2 * MS);
	assert_true(is_parked(u));
	assert_int_equal(hv_pause(vcpu_of(u)), 0);
	fake_run(&w->f, START + 11 * MS);
	assert_false(is_parked(u));
	assert_false(u->flags & C2_QUEUED);
	assert_int_equal(hv_unpause(vcpu_of(u)), 0);
	fake_drain(&w->f);
	assert_ptr_equal(running_on(w, 0), u);
	world_end(w);
}

/* The cap begins while the unit is being switched out: not current, it is not burned or tickled. */
static void a_cap_may_begin_during_a_switch(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);
	struct c2_unit *u = new_unit(w, 0);

	(void)state;
	run_on(w, u, 0);
	w->f.hold_saves = true;
	at(w, 1 * MS);
	hv_block(vcpu_of(u), NULL, NULL);
	fake_pass(&w->f, 0);
	assert_true(u->unit->is_running);
	fake_forget(&w->f);
	assert_int_equal(set_cap(u->unit->domain, 10), 0);
	assert_int_equal(last_tickle(w), HV_NO_PCPU);
	fake_save(&w->f, 0);
	fake_check(&w->f);
	w->f.hold_saves = false;
	wake_up(u);
	fake_drain(&w->f);
	assert_int_equal(u->budget, 1000000);
	world_end(w);
}

/* 14.4: budget comes while the parked unit is still being switched out: the save queues it. */
static void budget_may_come_during_a_switch(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);
	struct c2_unit *u = new_unit(w, 0);
	struct c2_runq *rq = runq(w, 0);

	(void)state;
	run_on(w, u, 0);
	assert_int_equal(set_cap(u->unit->domain, 10), 0);
	fake_drain(&w->f);
	assert_int_equal(u->budget, 1000000);
	w->f.hold_saves = true;
	at(w, 1 * MS);
	fake_pass(&w->f, 0);
	assert_null(running_on(w, 0));
	assert_true(is_parked(u));

	at(w, 10 * MS);
	fake_forget(&w->f);
	fake_fire_due(&w->f);
	assert_false(is_parked(u));
	assert_true(u->flags & C2_SCHED && u->flags & C2_REQUEUE);
	assert_false(u->flags & C2_QUEUED);
	assert_int_equal(rq->nload, 1);
	assert_int_equal(last_tickle(w), HV_NO_PCPU);

	w->f.hold_saves = false;
	fake_save(&w->f, 0);
	assert_int_equal(rq->nload, 1);
	assert_int_equal(last_tickle(w), 0);
	fake_drain(&w->f);
	fake_check(&w->f);
	assert_ptr_equal(running_on(w, 0), u);
	assert_int_equal(u->budget, 1000000);
	world_end(w);
}

static void a_domain_with_parked_units_can_be_destroyed(void **state)
{
	struct world *w = world_start(1, 2, 1, NULL);
	struct hv_domain *dom = fake_domain(&w->f, 100, 2);

	(void)state;
	assert_int_equal(set_cap(dom, 10), 0);
	for (unsigned i = 0; i < 2; i++)
		hv_vcpu_up(dom->vcpus[i]);
	fake_run(&w->f, START + 2 * MS);
	assert_true(is_parked(c2_unit(dom->vcpus[0]->unit)));
	assert_true(is_parked(c2_unit(dom->vcpus[1]->unit)));
	assert_int_equal(hv_domain_pause(dom), 0);
	fake_drain(&w->f);
	assert_int_equal(hv_domain_destroy(dom), 0);
	world_end(w);
}

/* Every allocation of building up a pool and a capped domain fails in turn. */
static void no_memory_leaves_no_trace(void **state)
{
	bool done = false;

	(void)state;
	for (long n = 1; !done; n++) {
		struct world *w = world_create(1, 2, 1, NULL);
		struct hv_domain *d = NULL;
		struct hv_vcpu *v;

		for (unsigned c = 0; c < 2; c++)
			assert_int_equal(hv_pcpu_up(w->f.sys, c), 0);
		w->f.allocs = 0;
		w->f.fail_at = n;
		done = !hv_pool_create(w->f.sys, 0, "credit2", HV_GRAN_CPU, &w->f.pool) &&
		       !hv_pool_add_pcpu(w->f.pool, 0) && !hv_pool_add_pcpu(w->f.pool, 1) &&
		       !hv_domain_create(w->f.pool, 1, 2, &d) &&
		       !hv_vcpu_create(d, NULL, NULL, NULL, &v) &&
		       !hv_vcpu_create(d, NULL, NULL, NULL, &v);
		assert_true(done || w->f.allocs >= n);
		fake_drain(&w->f);
		world_end(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t24_half_a_pcpu),
		cmocka_unit_test(t25_quotas_and_bad_caps),
		cmocka_unit_test(t25_refills),
		cmocka_unit_test(t25_two_units_share_a_pool),
		cmocka_unit_test(t35_a_reset_tickles_who_has_overrun),
		cmocka_unit_test(bug3_a_unit_without_budget_is_skipped),
		cmocka_unit_test(bug14_every_unit_of_a_capped_domain_runs),
		cmocka_unit_test(q12_a_unit_added_to_a_capped_domain_is_not_capped),
		cmocka_unit_test(removing_a_cap_frees_the_parked),
		cmocka_unit_test(a_unit_paused_while_parked_is_only_unmarked),
		cmocka_unit_test(a_cap_may_begin_during_a_switch),
		cmocka_unit_test(budget_may_come_during_a_switch),
		cmocka_unit_test(a_domain_with_parked_units_can_be_destroyed),
		cmocka_unit_test(no_memory_leaves_no_trace),
	};

	return cmocka_run_group_tests_name("credit2: caps", tests, NULL, NULL);
}
