/* SPDX-License-Identifier: MIT */
/*
 * Field cases about pools, which no simulated host is needed for: 19 (pools of unequal pCPUs with
 * gaps in their numbers; VMs move and shut down), 60 (a pCPU goes through an RTDS pool).
 *
 * fake_check() is hv_check(): among its laws is the one that failed on the reporter's desktop, that
 * a unit's run queue is the one of its pCPU.
 */
#include "fake_host.h"

#define MS	   INT64_C(1000000)
#define NR_DOMAINS 8

static int set_up(void **state)
{
	struct fake *f = fake_new(1, 6, 2, hv_policies);

	*state = f;
	return 0;
}

static struct hv_domain *busy(struct fake *f, struct hv_pool *pool, int id)
{
	struct hv_domain *d;
	struct hv_vcpu *v;

	assert_int_equal(hv_domain_create(pool, id, 2, &d), 0);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(hv_vcpu_create(d, NULL, NULL, NULL, &v), 0);
		hv_vcpu_up(v);
	}
	fake_drain(f);
	return d;
}

static int64_t ran(const struct hv_domain *d, unsigned vcpu)
{
	struct hv_runstate rs;

	hv_runstate_get(d->vcpus[vcpu], &rs);
	return rs.time[HV_RUNNING];
}

/* Every vCPU of the domain gets a pCPU within a second. */
static void goes_on(struct fake *f, struct hv_domain *d)
{
	for (unsigned i = 0; i < d->nr_vcpus; i++) {
		int64_t before = ran(d, i);

		for (unsigned k = 0; k < 100 && ran(d, i) == before; k++)
			fake_run(f, f->now + 10 * MS);
		assert_true(ran(d, i) > before);
	}
	fake_check(f);
}

static void take(struct fake *f, struct hv_pool *pool, unsigned pcpu)
{
	int rc;

	for (unsigned i = 0; (rc = hv_pool_remove_pcpu(pool, pcpu)) == -HV_EAGAIN; i++) {
		assert_true(i < 100);
		fake_check(f);
		fake_drain(f);
	}
	assert_int_equal(rc, 0);
	fake_drain(f);
	fake_check(f);
}

static void give(struct fake *f, struct hv_pool *pool, unsigned pcpu)
{
	assert_int_equal(hv_pool_add_pcpu(pool, pcpu), 0);
	fake_check(f);
	fake_drain(f);
	fake_check(f);
}

static void off(struct fake *f, unsigned pcpu)
{
	int rc;

	for (unsigned i = 0; (rc = hv_pcpu_down(f->sys, pcpu)) == -HV_EAGAIN; i++) {
		assert_true(i < 100);
		fake_drain(f);
	}
	assert_int_equal(rc, 0);
	f->pending[pcpu] = 0;
	f->waiting[pcpu] = false;
	fake_check(f);
}

/* ---- 60: xl cpupool-create, then pCPU 1 from Pool-0 to test and out of it again */

static void case_60_a_pcpu_goes_through_an_rtds_pool(void **state)
{
	struct fake *f = *state;
	struct hv_domain *d;
	struct hv_pool *test;

	fake_boot(f, "rtds");
	d = busy(f, f->pool, 1);
	for (unsigned i = 0; i < 50; i++) {
		assert_int_equal(hv_pool_create(f->sys, 1, "rtds", HV_GRAN_CPU, &test), 0);
		fake_check(f);
		take(f, f->pool, 1);
		give(f, test, 1);
		fake_run(f, f->now + MS);
		take(f, test, 1);
		assert_int_equal(hv_pool_destroy(test), 0);
		give(f, f->pool, 1);
		goes_on(f, d);
	}
}

/* ---- 19: four credit2 pools; P cores of two threads, E cores of one, VMs that shut down */

static void move(struct fake *f, struct hv_domain *d, struct hv_pool *to)
{
	int rc;

	/* Unfinished while a vCPU of it still runs. */
	for (unsigned i = 0; (rc = hv_domain_move(d, to)) == -HV_EAGAIN; i++) {
		assert_true(i < 100);
		fake_check(f);
		fake_drain(f);
	}
	assert_int_equal(rc, 0);
	fake_check(f);
}

static void shut_down(struct fake *f, struct hv_domain **d)
{
	hv_domain_pause(*d);
	fake_drain(f);
	fake_check(f);
	assert_int_equal(hv_domain_destroy(*d), 0);
	*d = NULL;
	fake_check(f);
}

static void case_19_pools_of_unequal_pcpus_with_gaps(void **state)
{
	static const unsigned pool_of[12] = {0, 0, 0, 0, 1, 1, 1, 9, 2, 9, 3, 9};
	struct fake *f = *state;
	struct hv_domain *d[NR_DOMAINS] = {NULL};
	struct hv_pool *pool[4];
	uint64_t random = 19;
	unsigned moved = 0, ended = 0;

	fake_boot(f, "credit2");
	pool[0] = f->pool;
	for (int i = 1; i < 4; i++)
		assert_int_equal(hv_pool_create(f->sys, i, "credit2", HV_GRAN_CPU, &pool[i]), 0);
	for (unsigned c = 0; c < 12; c++) {
		if (pool_of[c] == 9) /* the E cores have no second thread: a gap */
			off(f, c);
		else if (pool_of[c])
			take(f, f->pool, c);
		if (pool_of[c] && pool_of[c] != 9)
			give(f, pool[pool_of[c]], c);
	}
	for (int id = 1; id < 400; id++) {
		unsigned at, to;

		random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		at = (unsigned)(random >> 33) % NR_DOMAINS;
		to = (unsigned)(random >> 48) % 4;
		if (!d[at]) {
			d[at] = busy(f, pool[to], id);
		} else if (random >> 62) {
			move(f, d[at], pool[to]);
			moved++;
		} else {
			shut_down(f, &d[at]);
			ended++;
		}
		fake_drain(f);
		fake_run(f, f->now + 2 * MS);
		fake_check(f);
	}
	assert_true(moved > 50 && ended > 50);
	for (unsigned i = 0; i < NR_DOMAINS; i++) {
		if (d[i])
			goes_on(f, d[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(case_60_a_pcpu_goes_through_an_rtds_pool, set_up,
						fake_tear_down),
		cmocka_unit_test_setup_teardown(case_19_pools_of_unequal_pcpus_with_gaps, set_up,
						fake_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
