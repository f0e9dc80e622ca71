/* SPDX-License-Identifier: MIT */
/* Instances, boot parameters, topology, pCPUs and pools (core-scheduling 4.2, 4.3, 7.3). */
#include "fake_host.h"
#include "probe_policy.h"

static int64_t to_ten(int64_t value)
{
	(void)value;
	return 10;
}

static const char *const colours[] = {"red", "green", NULL};

static const struct hv_param_desc own_params[] = {
	{.name = "level", .kind = HV_PARAM_INT, .def = 7, .min = -5, .max = 100, .fix = to_ten},
	{.name = "free", .kind = HV_PARAM_INT, .def = 0, .min = 0, .max = 1},
	{.name = "flag", .kind = HV_PARAM_BOOL, .def = 0, .min = 0, .max = 1},
	{.name = "colour", .kind = HV_PARAM_CHOICE, .def = 0, .choices = colours},
};

/* Shares "level" with the first, with another range. */
static const struct hv_param_desc twin_params[] = {
	{.name = "level", .kind = HV_PARAM_INT, .def = 8, .min = 0, .max = 1000},
};

struct policies {
	struct hv_policy own, twin;
	const struct hv_policy *table[3];
};

static int setup(void **state)
{
	struct fake *f = calloc(1, sizeof(*f));
	static struct policies p;

	p.own = probe_policy;
	p.own.name = "own";
	p.own.params = own_params;
	p.own.nr_params = 4;
	p.twin = probe_policy;
	p.twin.name = "twin";
	p.twin.params = twin_params;
	p.twin.nr_params = 1;
	p.table[0] = &p.own;
	p.table[1] = &p.twin;
	assert_int_equal(fake_create(f, 2, 2, 2, p.table), 0);
	*state = f;
	return 0;
}

static int64_t value_of(struct fake *f, const char *name)
{
	int64_t v = -999;

	assert_int_equal(hv_param_get(f->sys, name, &v), 0);
	return v;
}

static void parameters_start_at_their_defaults(void **state)
{
	int64_t v;

	assert_int_equal(value_of(*state, "level"), 7);
	assert_int_equal(value_of(*state, "flag"), 0);
	assert_int_equal(hv_param_get(((struct fake *)*state)->sys, "unknown", &v), -HV_ENOENT);
}

static void a_parameter_holds_for_every_policy_that_has_it(void **state)
{
	struct fake *f = *state;
	struct hv_pool *own, *twin;

	assert_int_equal(hv_param_set(f->sys, "level", "33"), 0);
	assert_int_equal(hv_pool_create(f->sys, 0, "own", HV_GRAN_CPU, &own), 0);
	assert_int_equal(hv_pool_create(f->sys, 1, "twin", HV_GRAN_CPU, &twin), 0);
	assert_int_equal(own->sched->params[0], 33);
	assert_int_equal(twin->sched->params[0], 33);
	assert_int_equal(hv_param_set(f->sys, "level", "34"), -HV_EBUSY);
}

static void a_value_out_of_range_is_corrected_and_said_so(void **state)
{
	struct fake *f = *state;

	assert_int_equal(hv_param_set(f->sys, "level", "101"), 1);
	assert_int_equal(value_of(f, "level"), 10);
	assert_int_equal(hv_param_set(f->sys, "level", "-5"), 0);
	assert_int_equal(value_of(f, "level"), -5);
	assert_int_equal(hv_param_set(f->sys, "free", "77"), 0); /* no correction: as is */
	assert_int_equal(value_of(f, "free"), 77);
}

static void a_value_of_another_kind_is_refused_and_the_old_one_stays(void **state)
{
	static const char *const bad_ints[] = {"",  "x", "1x", "0x10", "-", "9223372036854775808",
					       " 1"};
	struct fake *f = *state;

	assert_int_equal(hv_param_set(f->sys, "free", "9223372036854775807"), 0);
	for (unsigned i = 0; i < sizeof(bad_ints) / sizeof(bad_ints[0]); i++)
		assert_int_equal(hv_param_set(f->sys, "free", bad_ints[i]), -HV_EINVAL);
	assert_int_equal(value_of(f, "free"), INT64_MAX);
	assert_int_equal(hv_param_set(f->sys, "colour", "blue"), -HV_EINVAL);
	assert_int_equal(hv_param_set(f->sys, "colour", "green"), 0);
	assert_int_equal(value_of(f, "colour"), 1);
	assert_int_equal(hv_param_set(f->sys, "flag", "2"), -HV_EINVAL);
	assert_int_equal(hv_param_set(f->sys, "nothing", "1"), -HV_ENOENT);
}

static void booleans_take_xens_words(void **state)
{
	static const char *const yes[] = {"1", "yes", "on", "true", "enable"};
	static const char *const no[] = {"0", "no", "off", "false", "disable"};
	struct fake *f = *state;

	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(hv_param_set(f->sys, "flag", yes[i]), 0);
		assert_int_equal(value_of(f, "flag"), 1);
		assert_int_equal(hv_param_set(f->sys, "flag", no[i]), 0);
		assert_int_equal(value_of(f, "flag"), 0);
	}
}

static void a_host_topology_or_policy_that_lacks_something_is_refused(void **state)
{
	struct fake *f = calloc(1, sizeof(*f));
	struct hv_host host = fake_host;
	struct hv_policy lame = probe_policy;
	const struct hv_policy *table[] = {&lame, NULL};
	uint32_t zero[2] = {0, 0};
	struct hv_topology topo = {2, zero, zero, zero};
	struct hv_sys *sys = NULL;

	(void)state;
	host.poke = NULL;
	assert_int_equal(hv_sys_create(&host, f, &topo, probe_policies, &sys), -HV_EINVAL);
	topo.nr_pcpus = 0;
	assert_int_equal(hv_sys_create(&fake_host, f, &topo, probe_policies, &sys), -HV_EINVAL);
	topo.nr_pcpus = HV_MAX_PCPUS + 1;
	assert_int_equal(hv_sys_create(&fake_host, f, &topo, probe_policies, &sys), -HV_EINVAL);
	topo.nr_pcpus = 2;
	topo.core = NULL;
	assert_int_equal(hv_sys_create(&fake_host, f, &topo, probe_policies, &sys), -HV_EINVAL);
	topo.core = zero;
	lame.pick_resource = NULL;
	assert_int_equal(hv_sys_create(&fake_host, f, &topo, table, &sys), -HV_EINVAL);
	assert_null(sys);
	assert_int_equal(f->live_bytes, 0);
	free(f);
}

static void a_host_without_a_trace_is_served(void **state)
{
	struct fake *f = calloc(1, sizeof(*f));
	struct hv_host host = fake_host;
	uint32_t zero[2] = {0, 0};
	struct hv_topology topo = {2, zero, zero, zero};
	struct hv_vcpu *v;

	(void)state;
	host.trace = NULL;
	f->nr_pcpus = 2;
	assert_int_equal(hv_sys_create(&host, f, &topo, probe_policies, &f->sys), 0);
	fake_boot(f, "probe");
	v = fake_domain(f, 1, 1)->vcpus[0];
	hv_vcpu_up(v);
	fake_drain(f);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 0), v);
	fake_destroy(f);
	free(f);
}

static void core_and_socket_masks_follow_the_topology(void **state)
{
	struct fake *f = *state; /* 2 sockets x 2 cores x 2 threads */
	unsigned nw = hv_mask_words(f->sys);

	assert_int_equal(hv_topology(f->sys)->nr_pcpus, 8);
	for (unsigned c = 0; c < 8; c++) {
		assert_int_equal(hv_mask_weight(hv_core_mask(f->sys, c), nw), 2);
		assert_true(hv_mask_test(hv_core_mask(f->sys, c), c ^ 1));
		assert_int_equal(hv_mask_weight(hv_socket_mask(f->sys, c), nw), 4);
		assert_int_equal(hv_mask_first(hv_socket_mask(f->sys, c), nw), c & 4);
	}
	assert_true(hv_mask_empty(hv_online_mask(f->sys), nw));
}

static void a_pcpu_comes_up_free_under_the_idle_policy(void **state)
{
	struct fake *f = *state;
	struct hv_resource *r;

	assert_int_equal(hv_pcpu_up(f->sys, 8), -HV_EINVAL);
	assert_null(hv_pcpu_loaded(f->sys, 3));
	assert_int_equal(hv_pcpu_up(f->sys, 3), 0);
	assert_int_equal(hv_pcpu_up(f->sys, 3), -HV_EEXIST);
	r = hv_resource_of(f->sys, 3);
	assert_string_equal(r->sched->policy->name, "idle");
	assert_null(r->pool);
	assert_true(hv_mask_test(hv_online_mask(f->sys), 3));
	assert_true(hv_pcpu_loaded(f->sys, 3)->idle);
	f->now = 99;
	assert_int_equal(fake_pass(f, 3).kind, HV_KEEP);
	assert_int_equal(hv_pcpu_idle_time(f->sys, 3), 99);
	assert_int_equal(hv_pcpu_idle_time(f->sys, 4), 0); /* off line */
	assert_int_equal(hv_pool_create(f->sys, 0, "idle", HV_GRAN_CPU, &f->pool), -HV_ENOENT);
}

static void free_pcpus_share_one_lock_and_pool_pcpus_have_their_policys(void **state)
{
	struct fake *f = *state;
	struct hv_resource *r[2];

	for (unsigned c = 0; c < 2; c++) {
		assert_int_equal(hv_pcpu_up(f->sys, c), 0);
		r[c] = hv_resource_of(f->sys, c);
	}
	assert_ptr_equal(r[0]->lock, r[1]->lock);
	assert_int_equal(hv_pool_create(f->sys, 0, "own", HV_GRAN_CPU, &f->pool), 0);
	assert_int_equal(hv_pool_add_pcpu(f->pool, 0), 0);
	assert_ptr_equal(r[0]->lock, &r[0]->own_lock);
	assert_ptr_not_equal(r[0]->lock, r[1]->lock);
	assert_false(hv_lock_held(r[1]->lock)); /* the old lock object was released */
}

static void pools_are_created_and_destroyed_with_the_errors_of_the_table(void **state)
{
	struct fake *f = *state;
	struct hv_pool *a = NULL, *b = NULL, *c = NULL;
	struct hv_domain *d;

	assert_int_equal(hv_pool_create(f->sys, 2, "own", HV_GRAN_CPU, &a), 0);
	assert_int_equal(hv_pool_create(f->sys, 2, "own", HV_GRAN_CPU, &b), -HV_EEXIST);
	assert_int_equal(hv_pool_create(f->sys, 0, "unknown", HV_GRAN_CPU, &b), -HV_ENOENT);
	assert_int_equal(hv_pool_create(f->sys, 0, "own", (enum hv_gran)7, &b), -HV_EINVAL);
	assert_int_equal(hv_pool_create(f->sys, -2, "own", HV_GRAN_CPU, &b), -HV_EINVAL);
	assert_null(b);
	assert_int_equal(hv_pool_create(f->sys, -1, "twin", HV_GRAN_CPU, &b), 0);
	assert_int_equal(b->id, 3); /* ids skip what is used */
	assert_int_equal(hv_pool_create(f->sys, 0, "twin", HV_GRAN_CPU, &c), 0);
	assert_ptr_equal(hv_pool_find(f->sys, 0), c);
	assert_ptr_equal(hv_pool_find(f->sys, 3), b);
	assert_null(hv_pool_find(f->sys, 1));
	fake_check(f); /* ascending order is a law */

	assert_int_equal(hv_pool_add_pcpu(a, 0), -HV_ENODEV); /* off line */
	assert_int_equal(hv_pool_add_pcpu(a, 8), -HV_EINVAL);
	assert_int_equal(hv_pool_destroy(c), 0); /* a pCPU that comes up would join pool 0 */
	assert_int_equal(hv_pcpu_up(f->sys, 0), 0);
	assert_int_equal(hv_pool_add_pcpu(a, 0), 0);
	assert_int_equal(hv_pool_add_pcpu(a, 0), 0); /* idempotent */
	assert_int_equal(hv_pool_add_pcpu(b, 0), -HV_ENODEV);
	assert_int_equal(hv_pool_destroy(a), -HV_EBUSY);
	assert_int_equal(hv_domain_create(a, 1, 1, &d), 0);
	assert_int_equal(hv_pool_destroy(a), -HV_EBUSY);
	assert_int_equal(hv_pool_destroy(b), 0);
	assert_null(hv_pool_find(f->sys, 3));
}

static void the_number_of_pools_is_limited(void **state)
{
	struct fake *f = *state;
	struct hv_pool *p;

	for (unsigned i = 0; i < 2 * f->nr_pcpus; i++)
		assert_int_equal(hv_pool_create(f->sys, -1, "own", HV_GRAN_CPU, &p), 0);
	assert_int_equal(hv_pool_create(f->sys, -1, "own", HV_GRAN_CPU, &p), -HV_ENOSPC);
}

static void the_next_free_pool_id_after_the_largest_is_the_first_gap(void **state)
{
	struct fake *f = *state;
	struct hv_pool *p;

	assert_int_equal(hv_pool_create(f->sys, INT32_MAX, "own", HV_GRAN_CPU, &p), 0);
	assert_int_equal(hv_pool_create(f->sys, 0, "own", HV_GRAN_CPU, &p), 0);
	assert_int_equal(hv_pool_create(f->sys, -1, "own", HV_GRAN_CPU, &p), 0);
	assert_int_equal(p->id, 1);
}

static void adding_a_pcpu_asks_for_a_pass_there(void **state)
{
	struct fake *f = *state;

	hv_pcpu_up(f->sys, 5);
	hv_pool_create(f->sys, 0, "own", HV_GRAN_CPU, &f->pool);
	fake_forget(f);
	assert_int_equal(hv_pool_add_pcpu(f->pool, 5), 0);
	assert_int_equal(f->pending[5], HV_EVENT_SCHEDULE);
	assert_int_equal(fake_count(f, HV_TRACE_TICKLE), 1); /* as recorded */
	assert_true(hv_mask_test(&f->pool->res_valid, 5));
	assert_int_equal(hv_resource_of(f->sys, 5)->g, 1);
}

static void what_a_policy_does_not_offer_is_said(void **state)
{
	struct fake *f = *state;
	struct hv_domain_params dp = {.weight = 1};
	struct hv_sched_params sp = {0};
	struct hv_runqueue_info ri;
	struct hv_state st = {.nr = 9};
	struct hv_domain *d;

	hv_pcpu_up(f->sys, 0);
	hv_pool_create(f->sys, 0, "own", HV_GRAN_CPU, &f->pool);
	hv_pool_add_pcpu(f->pool, 0);
	d = fake_domain(f, 1, 1);
	assert_int_equal(hv_domain_params_get(d, &dp), -HV_EOPNOTSUPP);
	assert_int_equal(hv_domain_params_set(d, &dp), -HV_EOPNOTSUPP);
	assert_int_equal(hv_sched_params_get(f->pool, &sp), -HV_EOPNOTSUPP);
	assert_int_equal(hv_sched_params_set(f->pool, &sp), -HV_EOPNOTSUPP);
	assert_int_equal(hv_runqueue_info(f->pool, 0, &ri), -HV_ENOENT);
	hv_unit_state(d->units, &st);
	assert_int_equal(st.nr, 0);
}

static void an_instance_is_destroyed_with_everything_in_it(void **state)
{
	struct fake *f = calloc(1, sizeof(*f));

	(void)state;
	assert_int_equal(fake_create(f, 1, 2, 1, probe_policies), 0);
	fake_boot(f, "probe");
	probe_of(f->pool->sched)->slice = 100;
	for (int id = 1; id <= 3; id++) {
		struct hv_domain *d = fake_domain(f, id, 2);

		hv_vcpu_up(d->vcpus[0]);
		hv_vcpu_up(d->vcpus[1]);
	}
	fake_run(f, 1000);
	f->hold_saves = true; /* a switch in flight, too */
	fake_pass(f, 0);
	assert_true(f->saving[0] && f->nr_timers > 0);
	fake_destroy(f); /* no byte, no timer left */
	free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fake_tear_down)
		TEST(parameters_start_at_their_defaults),
		TEST(a_parameter_holds_for_every_policy_that_has_it),
		TEST(a_value_out_of_range_is_corrected_and_said_so),
		TEST(a_value_of_another_kind_is_refused_and_the_old_one_stays),
		TEST(booleans_take_xens_words),
		cmocka_unit_test(a_host_topology_or_policy_that_lacks_something_is_refused),
		cmocka_unit_test(a_host_without_a_trace_is_served),
		TEST(core_and_socket_masks_follow_the_topology),
		TEST(a_pcpu_comes_up_free_under_the_idle_policy),
		TEST(free_pcpus_share_one_lock_and_pool_pcpus_have_their_policys),
		TEST(pools_are_created_and_destroyed_with_the_errors_of_the_table),
		TEST(the_number_of_pools_is_limited),
		TEST(the_next_free_pool_id_after_the_largest_is_the_first_gap),
		TEST(adding_a_pcpu_asks_for_a_pass_there),
		TEST(what_a_policy_does_not_offer_is_said),
		cmocka_unit_test(an_instance_is_destroyed_with_everything_in_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
