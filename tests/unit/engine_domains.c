/* SPDX-License-Identifier: MIT */
/* Domains, units and vCPUs come and go (core-scheduling 1.2, 3.1). */
#include "fake_host.h"
#include "probe_policy.h"

static int setup(void **state)
{
	struct fake *f = fake_new(1, 4, 2, probe_policies);

	fake_boot(f, "probe");
	*state = f;
	return 0;
}

static void a_domain_of_five_vcpus_has_five_units_under_granularity_cpu(void **state)
{
	struct hv_domain *d = fake_domain(*state, 1, 5);
	unsigned n = 0;

	for (struct hv_unit *u = d->units; u; u = u->link, n++) {
		assert_int_equal(u->id, n);
		assert_int_equal(u->nr_vcpus, 1);
		assert_ptr_equal(u->vcpu, d->vcpus[n]);
		assert_ptr_equal(d->vcpus[n]->unit, u);
	}
	assert_int_equal(n, 5);
}

static void a_vcpu_is_born_down_and_off_line(void **state)
{
	struct fake *f = *state;
	struct hv_domain *d;
	struct hv_runstate rs;

	f->now = 1234;
	d = fake_domain(f, 1, 1);
	f->now = 2000;
	assert_int_equal(d->vcpus[0]->pause_flags, HV_PF_DOWN);
	hv_runstate_get(d->vcpus[0], &rs);
	assert_int_equal(rs.state, HV_OFFLINE);
	assert_int_equal(rs.since, 1234);
	assert_int_equal(rs.time[HV_OFFLINE], 2000 - 1234);
	assert_int_equal(d->vcpus[0]->birth, 1234);
	assert_int_equal(d->vcpus[0]->unit->runstate_count[HV_OFFLINE], 1);
}

/* Each provisional pCPU follows the pCPU that the vCPU before has at that moment, cyclically. */
static void first_pcpus_go_round_after_the_previous_vcpus_pcpu(void **state)
{
	struct fake *f = *state;
	struct hv_domain *d;
	struct hv_vcpu *v[4];

	assert_int_equal(hv_domain_create(f->pool, 1, 4, &d), 0);
	assert_int_equal(hv_vcpu_create(d, NULL, NULL, NULL, &v[0]), 0);
	assert_int_equal(v[0]->pcpu, 0);
	assert_int_equal(hv_vcpu_create(d, NULL, NULL, NULL, &v[1]), 0);
	assert_int_equal(v[1]->pcpu, 1);
	probe_of(f->pool->sched)->pick = 7; /* the policy places this one itself */
	assert_int_equal(hv_vcpu_create(d, NULL, NULL, NULL, &v[2]), 0);
	assert_int_equal(v[2]->pcpu, 7);
	probe_of(f->pool->sched)->pick = HV_NO_PCPU;
	assert_int_equal(hv_vcpu_create(d, NULL, NULL, NULL, &v[3]), 0);
	assert_int_equal(v[3]->pcpu, 0);
}

static void first_pcpus_are_those_of_the_pool(void **state)
{
	struct fake *f = calloc(1, sizeof(*f));
	struct hv_domain *d;

	(void)state;
	assert_int_equal(fake_create(f, 1, 4, 1, probe_policies), 0);
	for (unsigned c = 0; c < 4; c++)
		assert_int_equal(hv_pcpu_up(f->sys, c), 0);
	assert_int_equal(hv_pool_create(f->sys, 0, "probe", HV_GRAN_CPU, &f->pool), 0);
	assert_int_equal(hv_pool_add_pcpu(f->pool, 1), 0);
	assert_int_equal(hv_pool_add_pcpu(f->pool, 3), 0);
	d = fake_domain(f, 1, 3);
	assert_int_equal(d->vcpus[0]->pcpu, 1);
	assert_int_equal(d->vcpus[1]->pcpu, 3);
	assert_int_equal(d->vcpus[2]->pcpu, 1);
	fake_destroy(f);
	free(f);
}

static void affinity_is_final_before_the_unit_is_inserted(void **state)
{
	struct fake *f = *state;
	struct hv_mask hard = fake_mask1(6), soft = fake_mask2(6, 7);
	struct hv_domain *d;
	struct hv_vcpu *v;

	assert_int_equal(hv_domain_create(f->pool, 1, 1, &d), 0);
	probe_forget(f->pool->sched);
	fake_forget(f);
	assert_int_equal(hv_vcpu_create(d, NULL, &hard, &soft, &v), 0);
	assert_string_equal(probe_of(f->pool->sched)->ops,
			    "affinity-both d1v0; insert d1v0; pick d1v0");
	assert_int_equal(v->pcpu, 6);
	assert_int_equal(f->log[f->nr_log - 1].kind, HV_TRACE_INSERT);
	assert_int_equal(f->log[f->nr_log - 1].pcpu, 6);
	assert_false(v->unit->soft_counts); /* hard is a subset of soft */
}

static void creation_refuses_what_is_wrong(void **state)
{
	struct fake *f = *state;
	struct hv_domain *d = NULL, *twin = NULL;
	struct hv_mask outside = fake_mask1(8);
	struct hv_pool *empty;
	struct hv_vcpu *v = NULL;

	assert_int_equal(hv_domain_create(f->pool, -1, 1, &d), -HV_EINVAL);
	assert_int_equal(hv_domain_create(f->pool, 1, 0, &d), -HV_EINVAL);
	assert_int_equal(hv_domain_create(f->pool, 1, HV_MAX_VCPUS + 1, &d), -HV_EINVAL);
	assert_int_equal(hv_pool_create(f->sys, -1, "probe", HV_GRAN_CPU, &empty), 0);
	assert_int_equal(hv_domain_create(empty, 1, 1, &d), -HV_ENODEV);
	assert_int_equal(hv_domain_create(f->pool, 1, 1, &d), 0);
	assert_int_equal(hv_domain_create(f->pool, 1, 1, &twin), -HV_EEXIST);
	assert_null(twin);
	assert_int_equal(hv_vcpu_create(d, NULL, &outside, NULL, &v), -HV_EINVAL);
	assert_int_equal(d->nr_vcpus, 0);
	assert_int_equal(hv_vcpu_create(d, NULL, NULL, NULL, &v), 0);
	assert_int_equal(hv_vcpu_create(d, NULL, NULL, NULL, &v), -HV_ENOSPC);
	fake_check(f);
}

static void domains_are_found_by_id_and_kept_in_order(void **state)
{
	struct fake *f = *state;
	static const int ids[] = {5, 1, 9, 3, 0};

	for (unsigned i = 0; i < 5; i++)
		fake_domain(f, ids[i], 1);
	fake_check(f); /* ascending order is a law */
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(hv_domain_find(f->sys, ids[i])->id, ids[i]);
	assert_null(hv_domain_find(f->sys, 2));
	assert_null(hv_domain_find(f->sys, 10));
}

static void vcpus_are_destroyed_in_descending_order(void **state)
{
	struct fake *f = *state;
	struct hv_domain *d = fake_domain(f, 1, 3);

	probe_forget(f->pool->sched);
	fake_forget(f);
	assert_int_equal(hv_domain_destroy(d), 0);
	assert_string_equal(probe_of(f->pool->sched)->ops, "sleep d1v0; sleep d1v1; sleep d1v2; "
							   "remove d1v2; remove d1v1; remove d1v0");
	assert_int_equal(fake_count(f, HV_TRACE_REMOVE), 3);
	assert_null(hv_domain_find(f->sys, 1));
	assert_int_equal(f->pool->nr_domains, 0);
}

static void a_running_domain_is_not_destroyed(void **state)
{
	struct fake *f = *state;
	struct hv_domain *d = fake_domain(f, 1, 2);

	hv_vcpu_up(d->vcpus[0]);
	fake_drain(f);
	assert_int_equal(hv_domain_destroy(d), -HV_EBUSY);
	assert_int_equal(hv_domain_pause(d), 0);
	assert_int_equal(hv_domain_destroy(d), -HV_EBUSY); /* its pCPU has not heard of it yet */
	f->hold_saves = true;
	fake_drain(f);
	assert_int_equal(hv_domain_destroy(d), -HV_EBUSY); /* its context is not saved yet */
	fake_save(f, 0);
	assert_int_equal(hv_domain_destroy(d), 0);
	fake_check(f);
}

static void a_queued_domain_leaves_the_queues_when_destroyed(void **state)
{
	struct fake *f = *state;
	struct hv_domain *a = fake_domain(f, 1, 1), *b = fake_domain(f, 2, 1);

	hv_vcpu_up(a->vcpus[0]);
	fake_drain(f);
	hv_vcpu_up(b->vcpus[0]); /* both have pCPU 0 */
	assert_int_equal(hv_domain_destroy(b), 0);
	fake_drain(f);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 0), a->vcpus[0]);
}

/* Everything that a host builds, in one go; false when something was refused. */
static bool build(struct fake *f)
{
	struct hv_domain *d;
	struct hv_vcpu *v;
	struct hv_pool *pool;

	if (fake_create(f, 1, 2, 1, probe_policies))
		return false;
	for (unsigned c = 0; c < 2; c++) {
		int rc = hv_pcpu_up(f->sys, c);

		fake_check(f);
		if (rc)
			return assert_int_equal(rc, -HV_ENOMEM), false;
	}
	if (hv_pool_create(f->sys, 3, "probe", HV_GRAN_CPU, &pool)) {
		assert_null(hv_pool_find(f->sys, 3));
		return false;
	}
	for (unsigned c = 0; c < 2; c++) {
		if (hv_pool_add_pcpu(pool, c)) {
			assert_false(hv_mask_test(&pool->cpu_valid, c));
			return false;
		}
	}
	fake_drain(f);
	if (hv_domain_create(pool, 1, 2, &d)) {
		assert_null(hv_domain_find(f->sys, 1));
		return false;
	}
	for (unsigned i = 0; i < 2; i++) {
		if (hv_vcpu_create(d, NULL, NULL, NULL, &v)) {
			assert_int_equal(d->nr_vcpus, i);
			return false;
		}
		hv_vcpu_up(v);
		fake_drain(f);
	}
	return true;
}

/* An operation completes or leaves no trace, whichever allocation fails. */
static void every_failed_allocation_leaves_no_trace(void **state)
{
	bool complete = false;
	long n;

	(void)state;
	for (n = 1; !complete; n++) {
		struct fake *f = calloc(1, sizeof(*f));

		f->fail_at = n;
		complete = build(f);
		if (f->sys)
			fake_destroy(f); /* checks the laws, then that no byte is left */
		assert_int_equal(f->live_bytes, 0);
		free(f);
	}
	/* instance, pCPUs, topology, parameters; 2 pCPUs up, a pool with both; a domain of two */
	assert_true(n > 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fake_tear_down)
		TEST(a_domain_of_five_vcpus_has_five_units_under_granularity_cpu),
		TEST(a_vcpu_is_born_down_and_off_line),
		TEST(first_pcpus_go_round_after_the_previous_vcpus_pcpu),
		cmocka_unit_test(first_pcpus_are_those_of_the_pool),
		TEST(affinity_is_final_before_the_unit_is_inserted),
		TEST(creation_refuses_what_is_wrong),
		TEST(domains_are_found_by_id_and_kept_in_order),
		TEST(vcpus_are_destroyed_in_descending_order),
		TEST(a_running_domain_is_not_destroyed),
		TEST(a_queued_domain_leaves_the_queues_when_destroyed),
		cmocka_unit_test(every_failed_allocation_leaves_no_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
