/* SPDX-License-Identifier: MIT */
/*
 * Credit: charging, ticks, accounting, caps, parameters. Case n is section 14 of the credit spec;
 * bugs are named by the commits of its section 15.
 */
#include "credit_world.h"

/* ---- parameters */

static void set_pool(const struct world *w, uint32_t tslice_ms, uint32_t ratelimit_us,
		     uint32_t delay_us, int rc)
{
	struct hv_sched_params p = {.tslice_ms = tslice_ms,
				    .ratelimit_us = ratelimit_us,
				    .migration_delay_us = delay_us};

	assert_int_equal(hv_sched_params_set(w->f.pool, &p), rc);
}

/* Also bugs 1320b8100c and ffc342fbb0: K and the pool's credit follow the timeslice. */
static void case_1_values_that_follow_from_the_timeslice(void **state)
{
	static const struct {
		uint32_t tslice_ms, credit;
		hv_time tick;
	} rows[] = {{30, 300, 10000 * US}, {10, 100, 3333 * US}, {5, 50, 1666 * US},
		    {3, 30, 1000 * US},	   {2, 20, 2000 * US},	 {1, 10, 1000 * US}};
	struct world *w = world_start(1, 4, 1, NULL);

	(void)state;
	assert_int_equal(w->p->credit, 1200);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		set_pool(w, rows[i].tslice_ms, 1000, 0, 0);
		assert_int_equal(w->p->tick, rows[i].tick);
		assert_int_equal(w->p->slice_credit, rows[i].credit);
		assert_int_equal(w->p->credit, 4 * rows[i].credit);
		assert_int_equal(w->p->tslice, rows[i].tslice_ms * MS);
	}
	world_end(w);
}

static void case_1_a_wrong_value_rejects_all_three(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);
	struct hv_sched_params p;

	(void)state;
	set_pool(w, 20, 50, 5, -HV_EINVAL);
	set_pool(w, 20, 600000, 5, -HV_EINVAL);
	set_pool(w, 5, 5001, 5, -HV_EINVAL); /* longer than the timeslice */
	set_pool(w, 0, 0, 5, -HV_EINVAL);
	set_pool(w, 1001, 0, 5, -HV_EINVAL);
	set_pool(w, 20, 0, 100001, -HV_EINVAL);
	assert_int_equal(hv_sched_params_get(w->f.pool, &p), 0);
	assert_int_equal(p.tslice_ms, 30);
	assert_int_equal(p.ratelimit_us, 1000);
	assert_int_equal(p.migration_delay_us, 0);
	set_pool(w, 5, 5000, 100000, 0);
	set_pool(w, 1000, 500000, 0, 0);
	set_pool(w, 30, 100, 0, 0);
	set_pool(w, 30, 0, 0, 0);
	assert_int_equal(hv_sched_params_get(w->f.pool, &p), 0);
	assert_int_equal(p.ratelimit_us, 0);
	world_end(w);
}

static void boot_values_out_of_range_are_corrected(void **state)
{
	const char *const params[] = {"sched_credit_tslice_ms",
				      "1001",
				      "vcpu_migration_delay",
				      "100001",
				      "load-balance-ratelimit",
				      "1000001",
				      NULL};
	const char *const clipped[] = {"sched_credit_tslice_ms", "2", "sched_ratelimit_us",
				       "400000", NULL};
	struct world *w = world_start(1, 1, 1, params);

	(void)state;
	assert_int_equal(w->p->tslice_ms, 30);
	assert_int_equal(w->p->migration_delay, 0);
	assert_int_equal(w->p->balance_ratelimit, 1000 * MS);
	world_end(w);
	w = world_start(1, 1, 1, clipped);
	assert_int_equal(w->p->ratelimit, 2 * MS);
	world_end(w);
}

/* Xen checks the boot rate limit when the boot pool exists already. */
static void the_boot_pool_keeps_a_rate_limit_out_of_range(void **state)
{
	const char *const params[] = {"sched_ratelimit_us", "50", NULL};
	struct world *w = world_start(1, 1, 1, params);
	struct hv_sched_params p;
	struct hv_pool *second;

	(void)state;
	assert_int_equal(w->p->ratelimit, 50 * US);
	assert_int_equal(hv_pool_create(w->f.sys, -1, "credit", HV_GRAN_CPU, &second), 0);
	assert_int_equal(hv_sched_params_get(second, &p), 0);
	assert_int_equal(p.ratelimit_us, 1000);
	assert_int_equal(hv_pool_destroy(second), 0);
	world_end(w);
}

static void the_tickling_is_one_of_five(void **state)
{
	struct fake *f = calloc(1, sizeof(*f));
	int64_t value;

	(void)state;
	assert_int_equal(fake_create(f, 1, 1, 1, hv_policies), 0);
	assert_int_equal(hv_param_get(f->sys, "credit_tickle", &value), 0);
	assert_int_equal(value, C1_HEAD);
	assert_int_equal(hv_param_set(f->sys, "credit_tickle", "with"), -HV_EINVAL);
	assert_int_equal(hv_param_set(f->sys, "credit_tickle", "with-2012"), 0);
	assert_int_equal(hv_param_get(f->sys, "credit_tickle", &value), 0);
	assert_int_equal(value, C1_WITH_2012);
	fake_destroy(f);
	free(f);
}

static void weight_and_cap_of_a_domain(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);
	struct c1_unit *u = new_unit(w, 0);
	struct hv_domain_params p;

	(void)state;
	make_active(w, u, 0);
	assert_int_equal(w->p->weight, 256);
	assert_int_equal(set_params(u, 65535, 40), 0);
	assert_int_equal(w->p->weight, 65535); /* at once, as it is active */
	assert_int_equal(set_params(u, 0, 65535), 0);
	assert_int_equal(hv_domain_params_get(u->unit->domain, &p), 0);
	assert_int_equal(p.weight, 65535); /* 0 and 65535 as requests: as it was */
	assert_int_equal(p.cap, 40);
	assert_int_equal(set_params(u, 65536, 10), -HV_EINVAL);
	assert_int_equal(hv_domain_params_get(u->unit->domain, &p), 0);
	assert_int_equal(p.cap, 40);
	fake_check(&w->f);
	world_end(w);
}

/* ---- charging */

static void case_2_a_charge_carries_its_remainder(void **state)
{
	static const struct {
		hv_time now, start;
		int32_t charge;
		uint32_t residual;
	} rows[] = {{150, 100, 1, 500000}, {300, 300, 2, 500000}, {350, 400, 1, 0},
		    {360, 400, 0, 0},	   {450, 400, 0, 500000}, {500, 500, 1, 500000}};
	struct world *w = world_start(1, 1, 1, NULL);
	struct c1_unit *u = run_new(w, 0, 0);
	int32_t credit = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		at(w, rows[i].now * US);
		lock_home(w, u);
		c1_burn(u, w->f.now);
		unlock_home(w, u);
		credit -= rows[i].charge;
		assert_int_equal(u->credit, credit);
		assert_int_equal(u->start, START + rows[i].start * US);
		assert_int_equal(u->residual, rows[i].residual);
	}
	assert_int_equal(credit, -5);
	world_end(w);
}

/* Bug 78c9b2a64b: whoever was off at the ticks ran for nothing. */
static void a_guest_that_sleeps_through_the_ticks_is_charged(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);
	struct c1_unit *u = new_unit(w, 0);

	(void)state;
	for (int i = 0; i < 10; i++) {
		run(w, u);
		fake_run(&w->f, w->f.now + 9500 * US);
		block(w, u);
		fake_run(&w->f, w->f.now + 500 * US);
	}
	assert_int_equal(u->credit, -950);
	assert_false(u->flags & C1_ACTIVE);
	world_end(w);
}

/* ---- ticks */

static void case_3_ticks_come_at_multiples_of_their_period(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);
	struct c1_unit *u = new_unit(w, 0);

	(void)state;
	at(w, 12345 * US);
	run(w, u);
	assert_int_equal(pcpu(w, 0)->ticker.expiry, START + 20 * MS);
	block(w, u);
	assert_false(pcpu(w, 0)->ticker.armed);
	at(w, 20 * MS);
	run(w, u);
	assert_int_equal(pcpu(w, 0)->ticker.expiry, START + 30 * MS);
	world_end(w);
}

static void a_pcpu_that_never_ran_anything_ticks_from_its_birth(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);

	(void)state;
	fake_run(&w->f, START + 25 * MS);
	assert_int_equal(pcpu(w, 0)->ticker.expiry, START + 30 * MS);
	world_end(w);
}

/* ---- accounting */

static void case_4_credit_is_shared_by_weight(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);
	struct c1_unit *heavy = new_unit(w, 0), *light = new_unit(w, 0);

	(void)state;
	assert_int_equal(set_params(heavy, 512, 0), 0);
	make_active(w, light, 0);
	make_active(w, heavy, 0);
	account(w);
	assert_int_equal(heavy->credit, 200);
	assert_int_equal(light->credit, 100);
	world_end(w);
}

static void case_4_a_weight_is_for_each_vcpu(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);
	struct hv_domain *two = new_domain(w);
	struct c1_unit *u[3] = {add_unit(two, 0, 0), add_unit(two, 0, 0), new_unit(w, 0)};

	(void)state;
	for (int i = 0; i < 3; i++)
		make_active(w, u[i], 0);
	account(w);
	for (int i = 0; i < 3; i++)
		assert_int_equal(u[i]->credit, 100);
	world_end(w);
}

static void case_4_an_overdraft_of_all_is_paid_back(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);
	struct c1_unit *a = new_unit(w, 0), *b = new_unit(w, 0);

	(void)state;
	make_active(w, a, -100);
	make_active(w, b, 50);
	w->p->balance = -50;
	account(w);
	assert_int_equal(a->credit, 75);
	assert_int_equal(b->credit, 225);
	assert_int_equal(w->p->balance, 300);
	world_end(w);
}

static void case_5_who_is_at_its_peak_goes_first_next_time(void **state)
{
	struct world *w = world_start(1, 2, 1, NULL);
	struct c1_unit *heavy = new_unit(w, 0), *light = new_unit(w, 0);

	(void)state;
	assert_int_equal(set_params(heavy, 512, 0), 0);
	make_active(w, heavy, 0);
	make_active(w, light, 0); /* at the head of the list */
	account(w);
	assert_int_equal(light->credit, 200);
	assert_int_equal(heavy->credit, 300);
	assert_ptr_equal(w->p->active_domains.next, &heavy->dom->active_domain);
	account(w);
	assert_int_equal(heavy->credit, 300);
	assert_int_equal(light->credit, 250);
	assert_false((heavy->flags | light->flags) & C1_ACTIVE);
	assert_int_equal(w->p->balance, 550);
	assert_int_equal(w->p->weight, 0);
	account(w);
	assert_int_equal(w->p->balance, 0);
	world_end(w);
}

static void case_6_shares_are_rounded_up(void **state)
{
	static const uint32_t weight[3] = {100, 100, 150};
	static const int32_t share[3] = {86, 86, 129};
	struct world *w = world_start(1, 1, 1, NULL);
	struct c1_unit *u[3];

	(void)state;
	for (int i = 0; i < 3; i++) {
		u[i] = new_unit(w, 0);
		assert_int_equal(set_params(u[i], weight[i], 0), 0);
		make_active(w, u[i], 0);
	}
	account(w);
	for (int i = 0; i < 3; i++)
		assert_int_equal(u[i]->credit, share[i]);
	assert_int_equal(w->p->balance, 301);
	world_end(w);
}

/* Also bug c92d5f4e0f: who becomes inactive keeps half of its credit. */
static void case_7_credit_has_bounds(void **state)
{
	static const struct {
		int32_t before, after, pri;
		bool active;
	} rows[] = {{151, 150, C1_UNDER, false},
		    {150, 300, C1_UNDER, true},
		    {-500, -300, C1_OVER, true},
		    {-150, 0, C1_UNDER, true},
		    {-151, -1, C1_OVER, true}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct world *w = world_start(1, 1, 1, NULL);
		struct c1_unit *u = new_unit(w, 0), *other = new_unit(w, 0);

		make_active(w, u, rows[i].before);
		make_active(w, other, 0);
		account(w);
		assert_int_equal(u->credit, rows[i].after);
		assert_int_equal(u->pri, rows[i].pri);
		assert_int_equal((u->flags & C1_ACTIVE) != 0, rows[i].active);
		world_end(w);
	}
}

/* 6.3: 65700 * 65535 is the first product that does not fit 32 bits. */
static void products_wrap_in_32_bits(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);
	struct c1_unit *u = new_unit(w, 0);

	(void)state;
	assert_int_equal(set_params(u, 65535, 0), 0);
	make_active(w, u, 0);
	for (uint32_t pcpus = 218; pcpus <= 219; pcpus++) {
		u->credit = 0;
		w->p->credit = 300 * pcpus;
		fake_timer_forget(&w->f, &w->p->accounting);
		w->p->accounting.armed = false;
		c1_account(&w->p->accounting);
		assert_int_equal(u->credit, pcpus == 218 ? 300 : 163);
	}
	w->p->credit = 300;
	world_end(w);
}

static void accounting_without_active_units_starts_no_sort(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);
	uint32_t epoch = w->p->epoch;

	(void)state;
	w->p->balance = -7;
	account(w);
	assert_int_equal(w->p->balance, 0);
	assert_int_equal(w->p->epoch, epoch);
	assert_int_equal(w->p->accounting.expiry, START + 30 * MS);
	make_active(w, new_unit(w, 0), 0);
	account(w);
	assert_int_equal(w->p->epoch, epoch + 1);
	world_end(w);
}

/* ---- caps */

/* One busy unit with a cap of 50, charged right before each accounting. */
static void case_8_a_capped_unit_runs_half_of_the_time(void **state)
{
	static const int32_t credit[4] = {-150, -300, -150, 0};
	struct world *w = world_start(1, 1, 1, NULL);
	struct c1_unit *u = new_unit(w, 0);
	struct hv_runstate before, after;

	(void)state;
	run(w, u);
	tick(w, 0);
	assert_int_equal(set_params(u, 256, 50), 0);
	hv_runstate_get(vcpu_of(u), &before);
	for (int i = 0; i < 8; i++) {
		at(w, (i + 1) * 30 * MS);
		if (running_on(w, 0))
			tick(w, 0);
		account(w);
		fake_drain(&w->f);
		assert_int_equal(u->credit, credit[i % 4]);
		assert_int_equal((u->flags & C1_PARKED) != 0, i % 4 == 1 || i % 4 == 2);
		assert_int_equal(u->pri, i % 4 == 3 ? C1_UNDER : C1_OVER);
		assert_ptr_equal(running_on(w, 0), u->flags & C1_PARKED ? NULL : u);
	}
	hv_runstate_get(vcpu_of(u), &after);
	assert_int_equal(after.time[HV_RUNNING] - before.time[HV_RUNNING], 120 * MS);
	world_end(w);
}

/* The same with timers when they come, for a minute. */
static void a_cap_of_50_gives_half_a_pcpu(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);
	struct c1_unit *u = new_unit(w, 0);
	struct hv_runstate rs;

	(void)state;
	assert_int_equal(set_params(u, 256, 50), 0);
	run(w, u);
	fake_run(&w->f, START + 60000 * MS);
	hv_runstate_get(vcpu_of(u), &rs);
	assert_in_range(rs.time[HV_RUNNING], 30000 * MS - 60 * MS, 30000 * MS + 60 * MS);
	fake_forget(&w->f);
	world_end(w);
}

static void case_9_a_cap_bounds_the_share_and_parks_beyond_it(void **state)
{
	(void)state;
	for (int32_t after = -225; after >= -226; after--) {
		struct world *w = world_start(1, 4, 1, NULL);
		struct hv_domain *d = new_domain(w);
		struct c1_unit *u[2] = {add_unit(d, 0, 0), add_unit(d, 0, 0)};

		assert_int_equal(set_params(u[0], 256, 150), 0);
		make_active(w, u[0], 0);
		make_active(w, u[1], after - 225);
		account(w);
		assert_int_equal(u[0]->credit, 225);
		assert_int_equal(u[1]->credit, after);
		assert_int_equal((u[1]->flags & C1_PARKED) != 0, after == -226);
		world_end(w);
	}
	for (int32_t after = -75; after >= -76; after--) {
		struct world *w = world_start(1, 4, 1, NULL);
		struct c1_unit *u = new_unit(w, 0);

		assert_int_equal(set_params(u, 256, 25), 0);
		make_active(w, u, after - 75);
		account(w);
		assert_int_equal(u->credit, after);
		assert_int_equal((u->flags & C1_PARKED) != 0, after == -76);
		world_end(w);
	}
}

/* A parked unit wakes in between: it stays off until it has earned enough. */
static struct c1_unit *parked_unit(struct world *w)
{
	struct c1_unit *u = new_unit(w, 0);

	assert_int_equal(set_params(u, 256, 10), 0);
	make_active(w, u, -300);
	account(w);
	assert_int_equal(u->credit, -270);
	assert_true(u->flags & C1_PARKED);
	return u;
}

static void a_parked_unit_that_wakes_waits_for_its_credit(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);
	struct c1_unit *u = parked_unit(w);

	(void)state;
	wake_up(w, u);
	fake_drain(&w->f);
	assert_null(running_on(w, 0));
	for (int i = 0; i < 9; i++) {
		assert_null(running_on(w, 0));
		account(w);
		fake_drain(&w->f);
	}
	assert_int_equal(u->credit, 0);
	assert_int_equal(u->pri, C1_UNDER);
	assert_ptr_equal(running_on(w, 0), u);
	world_end(w);
}

/* Bugs be65075094 and d38a668b6e: nothing of being parked is left behind. */
static void a_domain_can_go_while_it_is_parked(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);
	struct c1_unit *u = parked_unit(w);

	(void)state;
	assert_int_equal(hv_domain_destroy(u->unit->domain), 0);
	fake_check(&w->f);
	assert_int_equal(w->p->weight, 0);
	assert_true(c1_ring_empty(&w->p->active_domains));
	world_end(w);
}

static void without_its_cap_a_parked_unit_runs_at_the_next_accounting(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);
	struct c1_unit *u = parked_unit(w);

	(void)state;
	assert_int_equal(set_params(u, 256, 0), 0);
	wake_up(w, u);
	assert_null(running_on(w, 0));
	account(w);
	fake_drain(&w->f);
	assert_int_equal(u->credit, 300); /* the pCPU's 300 and what all have overdrawn */
	assert_ptr_equal(running_on(w, 0), u);
	world_end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(case_1_values_that_follow_from_the_timeslice),
		cmocka_unit_test(case_1_a_wrong_value_rejects_all_three),
		cmocka_unit_test(boot_values_out_of_range_are_corrected),
		cmocka_unit_test(the_boot_pool_keeps_a_rate_limit_out_of_range),
		cmocka_unit_test(the_tickling_is_one_of_five),
		cmocka_unit_test(weight_and_cap_of_a_domain),
		cmocka_unit_test(case_2_a_charge_carries_its_remainder),
		cmocka_unit_test(a_guest_that_sleeps_through_the_ticks_is_charged),
		cmocka_unit_test(case_3_ticks_come_at_multiples_of_their_period),
		cmocka_unit_test(a_pcpu_that_never_ran_anything_ticks_from_its_birth),
		cmocka_unit_test(case_4_credit_is_shared_by_weight),
		cmocka_unit_test(case_4_a_weight_is_for_each_vcpu),
		cmocka_unit_test(case_4_an_overdraft_of_all_is_paid_back),
		cmocka_unit_test(case_5_who_is_at_its_peak_goes_first_next_time),
		cmocka_unit_test(case_6_shares_are_rounded_up),
		cmocka_unit_test(case_7_credit_has_bounds),
		cmocka_unit_test(products_wrap_in_32_bits),
		cmocka_unit_test(accounting_without_active_units_starts_no_sort),
		cmocka_unit_test(case_8_a_capped_unit_runs_half_of_the_time),
		cmocka_unit_test(a_cap_of_50_gives_half_a_pcpu),
		cmocka_unit_test(case_9_a_cap_bounds_the_share_and_parks_beyond_it),
		cmocka_unit_test(a_parked_unit_that_wakes_waits_for_its_credit),
		cmocka_unit_test(a_domain_can_go_while_it_is_parked),
		cmocka_unit_test(without_its_cap_a_parked_unit_runs_at_the_next_accounting),
	};

	return cmocka_run_group_tests_name("credit_account", tests, NULL, NULL);
}
