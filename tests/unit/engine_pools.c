/* SPDX-License-Identifier: MIT */
/*
 * Pools: whole resources come and go, domains move, several policies side by side; what real Xen
 * gets wrong in these states is done right here (core-scheduling 4, behaviours 22-26 and 28 of
 * section 8; real-Xen faults 2, 4, 5, 6, 8, 9, 10).
 *
 * The host is 4 cores of 2 threads: pCPUs {0,1} {2,3} {4,5} {6,7}.
 */
#include "fake_host.h"

#define MS INT64_C(1000000)

static int set_up(void **state)
{
	struct fake *f = fake_new(1, 4, 2, hv_policies);

	*state = f;
	return 0;
}

static struct hv_pool *pool_of(struct fake *f, int id, const char *policy, enum hv_gran gran)
{
	struct hv_pool *pool = NULL;

	assert_int_equal(hv_pool_create(f->sys, id, policy, gran, &pool), 0);
	return pool;
}

/* From pool 0, where nothing runs on it, to another. */
static void give(struct fake *f, unsigned pcpu, struct hv_pool *to)
{
	assert_int_equal(hv_pool_remove_pcpu(f->pool, pcpu), 0);
	assert_int_equal(hv_pool_add_pcpu(to, pcpu), 0);
	fake_drain(f);
}

static void run_domain(struct fake *f, struct hv_domain *d)
{
	for (unsigned i = 0; i < d->nr_vcpus; i++)
		hv_vcpu_up(d->vcpus[i]);
	fake_drain(f);
}

static int64_t ran(struct hv_domain *d, unsigned vcpu)
{
	struct hv_runstate rs;

	hv_runstate_get(d->vcpus[vcpu], &rs);
	return rs.time[HV_RUNNING];
}

static void all_run(struct fake *f, struct hv_domain *d)
{
	for (unsigned i = 0; i < d->nr_vcpus; i++) {
		int64_t before = ran(d, i);

		for (unsigned k = 0; k < 100 && ran(d, i) == before; k++)
			fake_run(f, f->now + 10 * MS);
		assert_true(ran(d, i) > before);
	}
	fake_check(f);
}

static bool in(const struct hv_mask *m, unsigned pcpu)
{
	return hv_mask_test(m, pcpu);
}

static unsigned nr_units(const struct hv_domain *d)
{
	unsigned n = 0;

	for (const struct hv_unit *u = d->units; u; u = u->link)
		n++;
	return n;
}

/* ---- pCPUs */

static void one_thread_brings_its_whole_core(void **state)
{
	struct fake *f = *state;
	struct hv_pool *core;

	fake_boot(f, "credit2");
	core = pool_of(f, 1, "credit2", HV_GRAN_CORE);
	assert_int_equal(hv_pool_remove_pcpu(f->pool, 4), 0);
	/* its sibling is in pool 0 */
	assert_int_equal(hv_pool_add_pcpu(core, 4), -HV_ENODEV);
	assert_int_equal(hv_pool_remove_pcpu(f->pool, 5), 0);
	assert_int_equal(hv_pool_add_pcpu(core, 5), 0);
	assert_true(in(&core->cpu_valid, 4) && in(&core->cpu_valid, 5));
	assert_true(in(&core->res_valid, 4) && !in(&core->res_valid, 5));
	assert_int_equal(hv_pool_add_pcpu(core, 4), 0); /* it is there */
	fake_drain(f);
	assert_int_equal(hv_pool_remove_pcpu(core, 5), 0);
	assert_true(hv_mask_empty(&core->cpu_valid, 1));
	assert_null(hv_resource_of(f->sys, 4)->pool);
	assert_int_equal(hv_resource_of(f->sys, 5)->g, 1);
	fake_check(f);
}

static void what_is_refused_changes_nothing(void **state)
{
	struct fake *f = *state;
	struct hv_pool *other;

	fake_boot(f, "credit2");
	other = pool_of(f, 1, "rtds", HV_GRAN_CPU);
	assert_int_equal(hv_pool_remove_pcpu(f->pool, 0), -HV_EINVAL);
	assert_int_equal(hv_pool_remove_pcpu(f->pool, 8), -HV_EINVAL);
	assert_int_equal(hv_pool_remove_pcpu(other, 3), -HV_EADDRNOTAVAIL);
	assert_int_equal(hv_pool_add_pcpu(other, 3), -HV_ENODEV);
	fake_domain(f, 1, 1);
	assert_int_equal(hv_domain_move(hv_domain_find(f->sys, 1), other), -HV_ENOENT);
	assert_int_equal(hv_pool_destroy(f->pool), -HV_EBUSY);
	assert_int_equal(hv_pool_set_gran(f->pool, HV_GRAN_CORE), -HV_EBUSY);
	assert_int_equal(hv_mask_weight(&f->pool->cpu_valid, 1), 8);
	fake_check(f);
}

static void the_last_resource_stays_while_the_pool_has_a_domain(void **state)
{
	struct fake *f = *state;
	struct hv_pool *core;
	struct hv_domain *d;

	fake_boot_gran(f, "credit2", HV_GRAN_CORE);
	core = pool_of(f, 1, "credit", HV_GRAN_CORE);
	give(f, 6, core);
	assert_int_equal(hv_domain_create(core, 1, 1, &d), 0);
	assert_int_equal(hv_pool_remove_pcpu(core, 7), -HV_EBUSY);
	assert_int_equal(hv_domain_destroy(d), 0);
	assert_int_equal(hv_pool_remove_pcpu(core, 7), 0);
	assert_int_equal(hv_pool_destroy(core), 0);
}

/* Fault 5. */
static void every_thread_of_pcpu_0_is_refused_as_pcpu_0_is(void **state)
{
	struct fake *f = *state;

	fake_boot_gran(f, "credit2", HV_GRAN_CORE);
	assert_int_equal(hv_pool_remove_pcpu(f->pool, 0), -HV_EINVAL);
	assert_int_equal(hv_pool_remove_pcpu(f->pool, 1), -HV_EINVAL);
	assert_int_equal(hv_mask_weight(&f->pool->cpu_valid, 1), 8);
	fake_check(f);
}

/* Fault 2. */
static void one_thread_of_a_former_core_joins_a_credit_pool(void **state)
{
	struct fake *f = *state;
	struct hv_pool *credit;
	struct hv_domain *d;

	fake_boot_gran(f, "credit2", HV_GRAN_CORE);
	credit = pool_of(f, 1, "credit", HV_GRAN_CPU);
	assert_int_equal(hv_pool_remove_pcpu(f->pool, 2), 0);
	assert_int_equal(hv_pool_add_pcpu(credit, 3), 0);
	assert_int_equal(hv_domain_create(credit, 1, 2, &d), 0);
	for (unsigned i = 0; i < 2; i++) {
		struct hv_vcpu *v;

		assert_int_equal(hv_vcpu_create(d, NULL, NULL, NULL, &v), 0);
	}
	run_domain(f, d);
	all_run(f, d);
	assert_null(hv_resource_of(f->sys, 2)->pool);
}

/* Fault 6. */
static void a_core_with_a_thread_off_line_does_not_join(void **state)
{
	struct fake *f = *state;
	struct hv_pool *core;

	fake_boot(f, "credit2");
	core = pool_of(f, 1, "credit2", HV_GRAN_CORE);
	assert_int_equal(hv_pool_remove_pcpu(f->pool, 6), 0);
	assert_int_equal(hv_pcpu_down(f->sys, 7), 0);
	assert_int_equal(hv_pool_add_pcpu(core, 6), -HV_ENODEV);
	fake_check(f);
	assert_int_equal(hv_pcpu_up(f->sys, 7), 0); /* into pool 0, as granularity cpu wants */
	assert_int_equal(hv_pool_remove_pcpu(f->pool, 7), 0);
	assert_int_equal(hv_pool_add_pcpu(core, 6), 0);
	assert_true(in(&core->cpu_valid, 7));
}

/* Fault 8. */
static void an_unfinished_removal_is_called_off_by_adding_back(void **state)
{
	struct fake *f = *state;
	struct hv_pool *other;
	struct hv_domain *d;
	struct hv_mask free, only = fake_mask1(3);

	fake_boot(f, "credit2");
	other = pool_of(f, 1, "null", HV_GRAN_CPU);
	d = fake_domain(f, 1, 1);
	assert_int_equal(hv_affinity_set(d->vcpus[0], &only, NULL), 0);
	run_domain(f, d);
	assert_int_equal(hv_pool_remove_pcpu(f->pool, 3), -HV_EAGAIN);
	hv_free_pcpus(f->sys, &free);
	assert_true(in(&free, 3) && !in(&f->pool->cpu_valid, 3));
	assert_int_equal(hv_pool_remove_pcpu(f->pool, 4), -HV_EADDRNOTAVAIL);
	assert_int_equal(hv_pcpu_down(f->sys, 3), -HV_EADDRNOTAVAIL);
	assert_int_equal(hv_pcpu_down(f->sys, 5), -HV_EADDRNOTAVAIL);
	assert_int_equal(hv_pool_add_pcpu(other, 3), -HV_EADDRNOTAVAIL);
	fake_check(f);
	assert_int_equal(hv_pool_add_pcpu(f->pool, 3), 0);
	hv_free_pcpus(f->sys, &free);
	assert_true(hv_mask_empty(&free, 1) && in(&f->pool->cpu_valid, 3));
	all_run(f, d);
	/* and a second attempt, with the pCPU's turn between the calls, succeeds */
	if (hv_pool_remove_pcpu(f->pool, 3) == -HV_EAGAIN) {
		fake_drain(f);
		assert_int_equal(hv_pool_remove_pcpu(f->pool, 3), 0);
	}
	assert_null(hv_resource_of(f->sys, 3)->pool);
	all_run(f, d);
}

/* Fault 10: a queued unit takes the pCPU again and again. */
static void an_overcommitted_runqueue_does_not_let_its_pcpu_go(void **state)
{
	struct fake *f = *state;
	struct hv_domain *d;

	fake_boot(f, "credit2");
	d = fake_domain(f, 1, 16);
	run_domain(f, d);
	for (unsigned i = 0; i < 20; i++) {
		assert_int_equal(hv_pool_remove_pcpu(f->pool, 5), -HV_EAGAIN);
		fake_drain(f);
		/* who took it can be named */
		assert_ptr_equal(hv_pcpu_loaded(f->sys, 5)->domain, d);
		fake_check(f);
	}
	assert_int_equal(hv_domain_pause(d), 0);
	fake_drain(f);
	assert_int_equal(hv_pool_remove_pcpu(f->pool, 5), 0);
	assert_int_equal(hv_domain_unpause(d), 0);
	all_run(f, d);
	assert_true(hv_pcpu_loaded(f->sys, 5)->idle);
}

static void a_core_leaves_under_load_and_comes_back(void **state)
{
	struct fake *f = *state;
	struct hv_domain *d;
	unsigned again = 0;

	fake_boot_gran(f, "credit2", HV_GRAN_CORE);
	d = fake_domain(f, 1, 8);
	run_domain(f, d);
	for (unsigned i = 0; i < 1000; i++) {
		struct hv_vcpu *v = d->vcpus[i % 8];
		int rc;

		f->now += 100000;
		if (hv_pcpu_loaded(f->sys, v->pcpu) == v && !f->waiting[v->pcpu])
			hv_block(v, NULL, NULL);
		else
			hv_wake(v);
		fake_turn(f, v->pcpu); /* and its siblings wait for each other */
		while ((rc = hv_pool_remove_pcpu(f->pool, 2 + i % 2)) == -HV_EAGAIN) {
			again++;
			fake_drain(f);
			assert_true(again < 10000);
		}
		assert_int_equal(rc, 0);
		fake_drain(f);
		assert_null(fake_guest(f, 2));
		assert_null(fake_guest(f, 3));
		assert_int_equal(hv_pcpu_wait(f->sys, 2), HV_WAIT_NONE);
		assert_int_equal(hv_pool_add_pcpu(f->pool, 2), 0);
		fake_drain(f);
		hv_wake(v);
		fake_run(f, f->now + MS);
		fake_check(f);
	}
	assert_true(again > 100);
	all_run(f, d);
}

static void an_uneven_host_has_no_granularity_core(void **state)
{
	struct fake *f = *state;
	struct hv_pool *pool = NULL;

	for (unsigned c = 0; c < 7; c++)
		assert_int_equal(hv_pcpu_up(f->sys, c), 0);
	assert_int_equal(hv_gran_size(f->sys, HV_GRAN_CORE), 0);
	assert_int_equal(hv_pool_create(f->sys, 1, "credit2", HV_GRAN_CORE, &pool), -HV_EINVAL);
	pool = pool_of(f, 1, "credit2", HV_GRAN_CPU);
	assert_int_equal(hv_pool_set_gran(pool, HV_GRAN_CORE), -HV_EINVAL);
	assert_int_equal(hv_pcpu_up(f->sys, 7), 0);
	assert_int_equal(hv_pool_set_gran(pool, HV_GRAN_CORE), 0);
	assert_int_equal(pool->g, 2);
	assert_int_equal(hv_pool_add_pcpu(pool, 7), 0);
	assert_int_equal(hv_pool_set_gran(pool, HV_GRAN_CPU), -HV_EBUSY);
}

/* Section 4.2: a new pool has the mode of the boot, whatever is off line. */
static void a_thread_off_line_leaves_the_mode_of_the_boot_to_new_pools(void **state)
{
	struct fake *f = *state;
	struct hv_pool *pool;

	fake_boot_gran(f, "credit2", HV_GRAN_CORE);
	assert_int_equal(hv_pcpu_down(f->sys, 3), 0);
	assert_int_equal(hv_gran_size(f->sys, HV_GRAN_CORE), 0);
	pool = pool_of(f, 1, "credit2", HV_GRAN_CORE);
	assert_int_equal(pool->g, 2);
	assert_int_equal(hv_pool_add_pcpu(pool, 2), -HV_ENODEV);
	give(f, 6, pool);
	assert_true(in(&pool->cpu_valid, 7));
}

/* ---- domains */

static struct hv_pool *core_pool(struct fake *f, const char *policy)
{
	struct hv_pool *core = pool_of(f, 1, policy, HV_GRAN_CORE);

	for (unsigned c = 4; c < 8; c++)
		assert_int_equal(hv_pool_remove_pcpu(f->pool, c), 0);
	assert_int_equal(hv_pool_add_pcpu(core, 4), 0);
	assert_int_equal(hv_pool_add_pcpu(core, 6), 0);
	fake_drain(f);
	return core;
}

static void move(struct fake *f, struct hv_domain *d, struct hv_pool *to)
{
	int rc;

	for (unsigned i = 0; (rc = hv_domain_move(d, to)) == -HV_EAGAIN; i++) {
		assert_true(i <= d->nr_vcpus);
		fake_check(f);
		fake_drain(f);
	}
	assert_int_equal(rc, 0);
	assert_ptr_equal(d->pool, to);
	fake_check(f);
	fake_drain(f);
}

static void units_merge_and_split_when_a_domain_moves(void **state)
{
	struct fake *f = *state;
	struct hv_pool *core;
	struct hv_domain *d;
	struct hv_mask one = fake_mask1(1);
	int64_t before[5];
	hv_time stopped;

	fake_boot(f, "credit2");
	core = core_pool(f, "credit2");
	d = fake_domain(f, 1, 5);
	run_domain(f, d);
	assert_int_equal(hv_affinity_set(d->vcpus[2], &one, NULL), 0);
	all_run(f, d);
	assert_int_equal(nr_units(d), 5);
	hv_pause(d->vcpus[4]);
	fake_drain(f);
	stopped = d->vcpus[4]->unit->state_entry;
	f->now += MS;
	fake_drain(f);
	for (unsigned i = 0; i < 5; i++)
		before[i] = ran(d, i);
	move(f, d, core);
	assert_int_equal(d->vcpus[4]->unit->state_entry, stopped);
	hv_unpause(d->vcpus[4]);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(ran(d, i), before[i]);
	assert_int_equal(nr_units(d), 3);
	assert_int_equal(d->vcpus[3]->unit->id, 2);
	for (const struct hv_unit *u = d->units; u; u = u->link) {
		assert_int_equal(u->hard.w[0], 0xff); /* all again */
		assert_int_equal(u->soft.w[0], 0xff);
	}
	assert_int_equal(core->nr_domains, 1);
	assert_int_equal(f->pool->nr_domains, 0);
	all_run(f, d);
	move(f, d, f->pool);
	assert_int_equal(nr_units(d), 5);
	all_run(f, d);
	assert_int_equal(hv_domain_move(d, f->pool), 0); /* it is there */
}

static void a_move_without_memory_leaves_the_domain_running_where_it_is(void **state)
{
	struct fake *f = *state;
	struct hv_pool *core;
	struct hv_domain *d;
	unsigned failures = 0;
	int rc;

	fake_boot(f, "credit2");
	core = core_pool(f, "credit2");
	d = fake_domain(f, 1, 5);
	run_domain(f, d);
	for (unsigned n = 1;; n++) {
		size_t bytes = f->live_bytes;

		f->fail_at = f->allocs + n;
		rc = hv_domain_move(d, core);
		f->fail_at = 0;
		if (rc != -HV_ENOMEM)
			break;
		failures++;
		assert_int_equal(f->live_bytes, bytes);
		assert_int_equal(d->pause_count, 0);
		assert_int_equal(nr_units(d), 5);
		assert_int_equal(core->nr_coming, 0);
		all_run(f, d);
	}
	assert_true(failures >= 8); /* the move, its data, 3 units with their data */
	assert_int_equal(rc, -HV_EAGAIN);
	move(f, d, core);
	all_run(f, d);
}

/* Fault 9. */
static void a_move_waits_for_the_saved_context(void **state)
{
	struct fake *f = *state;
	struct hv_pool *core;
	struct hv_domain *d;

	fake_boot(f, "credit2");
	core = core_pool(f, "credit2");
	d = fake_domain(f, 1, 1);
	run_domain(f, d);
	move(f, d, core);
	assert_false(hv_pcpu_loaded(f->sys, d->vcpus[0]->pcpu)->idle);
	f->hold_saves = true;
	assert_int_equal(hv_domain_move(d, f->pool), -HV_EAGAIN);
	fake_drain(f);
	assert_true(d->units->is_running); /* off, but not saved */
	assert_int_equal(hv_domain_move(d, f->pool), -HV_EAGAIN);
	assert_int_equal(hv_pool_destroy(f->pool), -HV_EBUSY);
	f->hold_saves = false;
	for (unsigned c = 4; c < 8; c++) {
		if (f->saving[c])
			fake_save(f, c);
	}
	fake_drain(f);
	assert_int_equal(hv_domain_move(d, f->pool), 0);
	fake_drain(f);
	all_run(f, d);
}

static void an_unfinished_move_is_called_off_or_goes_with_its_domain(void **state)
{
	struct fake *f = *state;
	struct hv_pool *core, *third;
	struct hv_domain *d;
	struct hv_vcpu *v;

	fake_boot(f, "credit2");
	core = core_pool(f, "credit");
	third = pool_of(f, 2, "null", HV_GRAN_CPU);
	give(f, 3, third);
	d = fake_domain(f, 1, 3);
	run_domain(f, d);
	assert_int_equal(hv_domain_move(d, core), -HV_EAGAIN);
	assert_int_equal(hv_domain_move(d, third), -HV_EBUSY);
	assert_int_equal(hv_domain_unpause(d), -HV_EINVAL); /* the pause is not the host's */
	assert_int_equal(hv_vcpu_create(d, NULL, NULL, NULL, &v), -HV_ENOSPC);
	assert_int_equal(hv_domain_move(d, f->pool), 0);
	assert_int_equal(d->pause_count, 0);
	all_run(f, d);
	assert_int_equal(hv_domain_move(d, third), -HV_EAGAIN);
	assert_int_equal(hv_pool_remove_pcpu(third, 3), -HV_EBUSY); /* its last, and d comes */
	assert_int_equal(hv_domain_move(d, f->pool), 0);
	assert_int_equal(hv_domain_move(d, core), -HV_EAGAIN);
	hv_domain_pause(d);
	fake_drain(f);
	assert_int_equal(hv_domain_destroy(d), 0);
	assert_int_equal(core->nr_coming, 0);
	fake_check(f);
}

/*
 * vCPU 1 waits for pCPU 5, which goes idle while the domain is on its way: called off, the move
 * must not leave it waiting beside the idle pCPU.
 */
static void whose_move_is_called_off_is_looked_for_again(void **state)
{
	static const char *const policies[] = {"credit2", "credit", "rtds", "round-robin"};
	struct fake *f = *state;

	fake_boot(f, "credit2");
	for (unsigned i = 0; i < 4; i++) {
		struct hv_mask four = fake_mask1(4), five = fake_mask1(5);
		struct hv_pool *pool = pool_of(f, 1, policies[i], HV_GRAN_CPU);
		struct hv_domain *d, *other;
		struct hv_vcpu *runs, *waits, *busy;

		give(f, 4, pool);
		give(f, 5, pool);
		assert_int_equal(hv_domain_create(pool, 1, 2, &d), 0);
		assert_int_equal(hv_domain_create(pool, 2, 1, &other), 0);
		assert_int_equal(hv_vcpu_create(d, NULL, &four, NULL, &runs), 0);
		assert_int_equal(hv_vcpu_create(d, NULL, &five, NULL, &waits), 0);
		assert_int_equal(hv_vcpu_create(other, NULL, &five, NULL, &busy), 0);
		hv_vcpu_up(runs);
		hv_vcpu_up(busy);
		fake_drain(f);
		hv_vcpu_up(waits);
		assert_int_equal(hv_domain_move(d, f->pool), -HV_EAGAIN);
		f->here = 5;
		assert_true(hv_block(busy, NULL, NULL));
		fake_drain(f);
		assert_true(hv_pcpu_loaded(f->sys, 5)->idle);
		assert_int_equal(hv_domain_move(d, pool), 0);
		fake_drain(f);
		assert_ptr_equal(hv_pcpu_loaded(f->sys, 5), waits);
		hv_domain_pause(d);
		fake_drain(f);
		assert_int_equal(hv_domain_destroy(d), 0);
		assert_int_equal(hv_domain_destroy(other), 0);
		assert_int_equal(hv_pool_remove_pcpu(pool, 4), 0);
		assert_int_equal(hv_pool_remove_pcpu(pool, 5), 0);
		assert_int_equal(hv_pool_destroy(pool), 0);
		assert_int_equal(hv_pool_add_pcpu(f->pool, 4), 0);
		assert_int_equal(hv_pool_add_pcpu(f->pool, 5), 0);
		fake_drain(f);
	}
}

/*
 * A pass of pCPU 5 finds two units queued that cannot run, as their domain is on its way; credit
 * goes on counting them there. The pCPU leaves, and nothing of that is left when it comes back.
 */
static void a_credit_pcpu_comes_back_without_what_it_lost(void **state)
{
	struct fake *f = *state;
	struct hv_mask four = fake_mask1(4), five = fake_mask1(5);
	struct hv_domain *d, *other;
	struct hv_pool *pool;
	struct hv_vcpu *v, *busy;

	fake_boot(f, "credit2");
	pool = pool_of(f, 1, "credit", HV_GRAN_CPU);
	give(f, 4, pool);
	give(f, 5, pool);
	assert_int_equal(hv_domain_create(pool, 1, 3, &d), 0);
	assert_int_equal(hv_domain_create(pool, 2, 1, &other), 0);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(hv_vcpu_create(d, NULL, i ? &five : &four, NULL, &v), 0);
	assert_int_equal(hv_vcpu_create(other, NULL, &five, NULL, &busy), 0);
	hv_vcpu_up(busy);
	run_domain(f, d);
	fake_run(f, f->now + 20 * MS);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 4), d->vcpus[0]);
	while (hv_pcpu_loaded(f->sys, 5) != busy)
		fake_run(f, f->now + 10 * MS);
	assert_int_equal(hv_domain_move(d, f->pool), -HV_EAGAIN);
	f->here = 5;
	assert_true(hv_block(busy, NULL, NULL));
	fake_drain(f);
	assert_int_equal(hv_domain_move(d, f->pool), 0);
	assert_int_equal(hv_pool_remove_pcpu(pool, 5), 0);
	fake_check(f);
	assert_int_equal(hv_pool_add_pcpu(pool, 5), 0);
	fake_drain(f);
	fake_check(f);
	hv_wake(busy);
	all_run(f, other);
	all_run(f, d);
}

/* Fault 4: the idle unit remembers nobody who may be freed. */
static void no_pointer_to_a_former_unit_survives(void **state)
{
	struct fake *f = *state;
	struct hv_pool *core;
	struct hv_domain *d;

	fake_boot_gran(f, "credit2", HV_GRAN_CORE);
	core = pool_of(f, 1, "credit2", HV_GRAN_CORE);
	give(f, 4, core);
	give(f, 6, core);
	d = fake_domain(f, 1, 2);
	move(f, d, core);
	run_domain(f, d);
	all_run(f, d);
	move(f, d, f->pool); /* its units are freed, and filled with 0x5a */
	for (unsigned c = 0; c < 8; c++) {
		const struct hv_resource *r = hv_resource_of(f->sys, c);

		assert_null(r->idle->next);
		assert_null(r->prev);
	}
	assert_int_equal(hv_pool_remove_pcpu(core, 4), 0);
	assert_int_equal(hv_pool_remove_pcpu(core, 6), 0);
	assert_int_equal(hv_pool_destroy(core), 0);
	all_run(f, d);
}

static void a_domain_without_vcpus_moves(void **state)
{
	struct fake *f = *state;
	struct hv_pool *core;
	struct hv_domain *d;
	struct hv_vcpu *v;

	fake_boot(f, "credit2");
	core = core_pool(f, "rtds");
	assert_int_equal(hv_domain_create(f->pool, 1, 4, &d), 0);
	assert_int_equal(hv_domain_move(d, core), 0);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(hv_vcpu_create(d, NULL, NULL, NULL, &v), 0);
	assert_int_equal(nr_units(d), 2);
	run_domain(f, d);
	all_run(f, d);
}

/* The last hazard: a domain that is half made, for lack of memory. */
static void a_domain_that_got_only_some_of_its_vcpus_moves(void **state)
{
	struct fake *f = *state;
	struct hv_pool *core;
	struct hv_domain *d;
	struct hv_vcpu *v;

	fake_boot(f, "credit2");
	core = core_pool(f, "credit2");
	for (unsigned n = 1; n <= 2; n++) {
		assert_int_equal(hv_domain_create(f->pool, 1, 4, &d), 0);
		for (unsigned i = 0; i < 3; i++)
			assert_int_equal(hv_vcpu_create(d, NULL, NULL, NULL, &v), 0);
		f->fail_at = f->allocs + n; /* the vCPU itself, or its unit */
		assert_int_equal(hv_vcpu_create(d, NULL, NULL, NULL, &v), -HV_ENOMEM);
		f->fail_at = 0;
		move(f, d, core);
		assert_int_equal(nr_units(d), 2);
		run_domain(f, d);
		all_run(f, d);
		assert_int_equal(hv_vcpu_create(d, NULL, NULL, NULL, &v), 0);
		hv_vcpu_up(v);
		all_run(f, d);
		hv_domain_pause(d);
		fake_drain(f);
		assert_int_equal(hv_domain_destroy(d), 0);
	}
}

static void a_domain_visits_pools_of_every_policy(void **state)
{
	static const char *const policies[] = {"credit", "rtds", "null", "credit2"};
	struct fake *f = *state;
	struct hv_pool *pools[4];
	struct hv_domain *stays[4], *d;
	struct hv_vcpu *v;

	fake_boot(f, "credit2");
	for (unsigned i = 0; i < 4; i++) {
		pools[i] = pool_of(f, (int)i + 1, policies[i], HV_GRAN_CPU);
		give(f, 4 + i, pools[i]);
		assert_int_equal(hv_domain_create(pools[i], 10 + (int)i, 1, &stays[i]), 0);
		assert_int_equal(hv_vcpu_create(stays[i], NULL, NULL, NULL, &v), 0);
		run_domain(f, stays[i]);
	}
	d = fake_domain(f, 1, 3);
	run_domain(f, d);
	for (unsigned i = 0; i < 12; i++) {
		move(f, d, pools[i % 4]);
		fake_run(f, f->now + 50 * MS);
		for (unsigned k = 0; k < 4; k++)
			all_run(f, stays[k]);
		/* null has one pCPU, and its own unit keeps it */
		if (strcmp(policies[i % 4], "null") != 0)
			all_run(f, d);
	}
	move(f, d, f->pool);
	all_run(f, d);
}

/* Pool, resource and idle unit of every policy: made whole, or not at all. */
static void a_pool_without_memory_is_not_there(void **state)
{
	struct fake *f = *state;

	fake_boot(f, "credit2");
	assert_int_equal(hv_pool_remove_pcpu(f->pool, 6), 0);
	assert_int_equal(hv_pool_remove_pcpu(f->pool, 7), 0);
	for (unsigned i = 0; hv_policies[i]; i++) {
		struct hv_pool *pool = NULL;
		size_t bytes = f->live_bytes;
		unsigned failures = 0;

		for (unsigned n = 1; !pool; n++) {
			f->fail_at = f->allocs + n;
			if (hv_pool_create(f->sys, 1, hv_policies[i]->name, HV_GRAN_CORE, &pool)) {
				failures++;
				assert_null(pool);
				assert_null(hv_pool_find(f->sys, 1));
				assert_int_equal(f->live_bytes, bytes);
			}
		}
		bytes = f->live_bytes;
		for (unsigned n = 1; hv_mask_empty(&pool->cpu_valid, 1); n++) {
			f->fail_at = f->allocs + n;
			if (hv_pool_add_pcpu(pool, 6)) {
				failures++;
				assert_int_equal(f->live_bytes, bytes);
				assert_int_equal(hv_resource_of(f->sys, 7)->g, 1);
			}
			fake_check(f);
		}
		f->fail_at = 0;
		assert_true(failures >= 2);
		fake_drain(f);
		assert_int_equal(hv_pool_remove_pcpu(pool, 7), 0);
		assert_int_equal(hv_pool_destroy(pool), 0);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, fake_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(one_thread_brings_its_whole_core),
		TEST(what_is_refused_changes_nothing),
		TEST(the_last_resource_stays_while_the_pool_has_a_domain),
		TEST(every_thread_of_pcpu_0_is_refused_as_pcpu_0_is),
		TEST(one_thread_of_a_former_core_joins_a_credit_pool),
		TEST(a_core_with_a_thread_off_line_does_not_join),
		TEST(an_unfinished_removal_is_called_off_by_adding_back),
		TEST(an_overcommitted_runqueue_does_not_let_its_pcpu_go),
		TEST(a_core_leaves_under_load_and_comes_back),
		TEST(an_uneven_host_has_no_granularity_core),
		TEST(a_thread_off_line_leaves_the_mode_of_the_boot_to_new_pools),
		TEST(units_merge_and_split_when_a_domain_moves),
		TEST(a_move_without_memory_leaves_the_domain_running_where_it_is),
		TEST(a_move_waits_for_the_saved_context),
		TEST(an_unfinished_move_is_called_off_or_goes_with_its_domain),
		TEST(whose_move_is_called_off_is_looked_for_again),
		TEST(a_credit_pcpu_comes_back_without_what_it_lost),
		TEST(no_pointer_to_a_former_unit_survives),
		TEST(a_domain_without_vcpus_moves),
		TEST(a_domain_that_got_only_some_of_its_vcpus_moves),
		TEST(a_domain_visits_pools_of_every_policy),
		TEST(a_pool_without_memory_is_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
