/* SPDX-License-Identifier: MIT */
/*
 * Credit2: which pCPUs share a runqueue, load averages, where new and moved units go. The names
 * T10... are those of the credit2 spec, section 20; "bug n" is section 21, Qn section 19.
 */
#include "credit2_world.h"

#define FULL 262144 /* load of one busy unit */

static void lock(const struct world *w, struct c2_runq *rq)
{
	hv_lock_acquire(w->f.sys, &rq->lock);
}

static void unlock(const struct world *w, struct c2_runq *rq)
{
	hv_lock_release(w->f.sys, &rq->lock);
}

/* Let the runqueue's load age to the given tick. */
static void age(struct world *w, struct c2_runq *rq, int64_t tick)
{
	lock(w, rq);
	c2_load_update(w->p, rq, NULL, 0, tick << C2_TICK_SHIFT);
	unlock(w, rq);
}

static void t10_load_decays_by_the_window(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);
	struct c2_runq *rq = runq(w, 0);
	int64_t t = 5000000;

	(void)state;
	rq->lt = t;
	rq->nload = 1;
	rq->avg = rq->pavg = 0;
	age(w, rq, t += 1024);
	assert_int_equal(rq->avg, 256);
	age(w, rq, t += 1024);
	assert_int_equal(rq->avg, 512);
	age(w, rq, t += 262144);
	assert_int_equal(rq->avg, 65920);
	rq->nload = 2;
	age(w, rq, t += 1 << 20);
	assert_int_equal(rq->avg, 524288);
	rq->pavg += 131072;
	age(w, rq, t += (1 << 20) + 1);
	assert_int_equal(rq->avg, 524288);
	assert_int_equal(rq->pavg, 524288);

	rq->nload = 0;
	rq->avg = 100000;
	rq->pavg = 1;
	age(w, rq, t += 1 << 19);
	assert_int_equal(rq->avg, 50000);
	assert_int_equal(rq->pavg, 1); /* never decays to 0 that way */
	world_end(w);
}

/* bug 13 */
static void bug13_a_clock_that_steps_back_changes_no_load(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);
	struct c2_runq *rq = runq(w, 0);
	struct c2_unit *u = new_unit(w, 0);

	(void)state;
	rq->lt = u->lt = 9000000;
	rq->avg = rq->pavg = 1000;
	age(w, rq, 8000000);
	assert_int_equal(rq->avg, 1000);
	assert_int_equal(rq->lt, 8000000);
	c2_unit_load_update(w->p, u, 0, 8000000LL << C2_TICK_SHIFT);
	assert_int_equal(u->load, FULL / 2);
	assert_int_equal(u->lt, 8000000);

	/* Removing more load than there is leaves none. */
	rq->pavg = 5;
	assert_int_equal(hv_domain_destroy(u->unit->domain), 0);
	assert_int_equal(rq->pavg, 0);
	world_end(w);
}

static void t11_a_long_pause_wipes_what_assignments_added(void **state)
{
	struct world *w = world_create(1, 1, 1, NULL);
	struct c2_unit *u;
	struct c2_runq *rq;

	(void)state;
	w->f.now = 100000 * MS;
	world_boot(w);
	rq = runq(w, 0);
	u = new_unit(w, 0);
	new_unit(w, 0);
	assert_int_equal(rq->pavg, 262144);
	w->f.now = 101500 * MS;
	wake_up(u);
	assert_int_equal(rq->pavg, 0);
	assert_int_equal(rq->nload, 1);
	assert_int_equal(u->load, 0);
	pass(w, 0);
	w->f.now = 102000 * MS;
	pass(w, 0);
	assert_int_equal(rq->avg, 122070);
	assert_int_equal(rq->pavg, 122070);
	assert_int_equal(u->load, 122070);
	world_end(w);
}

/*
 * T12 on the second and third of three sockets: pCPU 0, where new units start from, belongs to the
 * first, so that no runqueue that matters is locked while they are placed (see the next test).
 */
static void t12_new_units_go_where_the_load_is_least(void **state)
{
	static const unsigned home[6] = {3, 5, 2, 4, 3, 5};
	struct world *w = world_start(3, 2, 1, NULL);

	(void)state;
	assert_int_equal(runq(w, 1)->bias, 2);
	assert_int_equal(runq(w, 2)->bias, 4);
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(c2_home(new_unit(w, 0x3c)), home[i]);
	world_end(w);
}

/* As recorded: the runqueue that the unit starts from is locked meanwhile and not considered. */
static void a_new_unit_goes_to_another_runqueue_than_it_starts_from(void **state)
{
	struct world *w = world_start(2, 2, 1, NULL);

	(void)state;
	assert_int_equal(c2_home(new_unit(w, 0)), 3);
	assert_int_equal(c2_home(new_unit(w, 0)), 2);
	assert_int_equal(runq(w, 0)->nr_members, 0);
	world_end(w);

	/* Without another one it stays where it starts. */
	w = world_start(1, 2, 1, NULL);
	fake_domain(&w->f, 7, 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(hv_domain_find(w->f.sys, 7)->vcpus[i]->pcpu, i % 2);
	world_end(w);
}

/* Sizes of the runqueues in order of ids. */
static void assert_sizes(struct world *w, const unsigned *sizes)
{
	struct hv_runqueue_info info;
	unsigned i = 0;

	for (; sizes[i]; i++) {
		assert_int_equal(hv_runqueue_info(w->f.pool, i, &info), 0);
		assert_int_equal(info.id, i);
		assert_int_equal(hv_mask_weight(&info.pcpus, hv_mask_words(w->f.sys)), sizes[i]);
	}
	assert_int_equal(hv_runqueue_info(w->f.pool, i, &info), -HV_ENOENT);
}

static void t26_arrangement(void **state)
{
	static const struct {
		unsigned sockets, cores, threads;
		const char *by, *max;
		unsigned sizes[9];
	} cases[] = {
		{2, 2, 2, "socket", "16", {4, 4}},
		{1, 20, 1, "socket", "16", {10, 10}},
		{2, 12, 2, "socket", "16", {16, 8, 16, 8}},
		{1, 9, 2, "socket", "16", {8, 8, 2}},
		{1, 2, 4, "socket", "3", {4, 4}}, /* over the limit: siblings stay together */
		{2, 4, 1, "all", "16", {8}},
		{1, 9, 2, "all", "16", {10, 8}},
		{1, 21, 1, "all", "16", {10, 10, 1}},
		{4, 8, 2, "all", "16", {16, 16, 16, 16}},
		{1, 4, 2, "core", "16", {2, 2, 2, 2}},
		{1, 2, 2, "cpu", "16", {1, 1, 1, 1}},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *const params[] = {"credit2_runqueue", cases[i].by,
					      "sched_credit2_max_cpus_runqueue", cases[i].max,
					      NULL};
		struct world *w =
			world_start(cases[i].sockets, cases[i].cores, cases[i].threads, params);

		assert_sizes(w, cases[i].sizes);
		world_end(w);
	}
}

static void t26_arrangement_by_node(void **state)
{
	static const unsigned sizes[] = {8, 8, 0};
	uint32_t core[16], socket[16], node[16];
	const struct hv_topology topo = {16, core, socket, node};
	struct world *w = calloc(1, sizeof(*w));

	(void)state;
	assert_non_null(w);
	for (unsigned c = 0; c < 16; c++) {
		core[c] = c;
		socket[c] = c / 4;
		node[c] = c / 8;
	}
	w->f.now = START;
	w->f.nr_pcpus = 16;
	assert_int_equal(hv_sys_create(&fake_host, &w->f, &topo, hv_policies, &w->f.sys), 0);
	assert_int_equal(hv_param_set(w->f.sys, "credit2_runqueue", "node"), 0);
	world_boot(w);
	assert_sizes(w, sizes);
	world_end(w);
}

/* Hot-added pCPUs join the runqueue of their socket; a freed id is used again. */
static void late_pcpus_join_the_matching_runqueue(void **state)
{
	static const unsigned order[] = {4, 0, 1, 5, 2};
	static const int id[] = {0, 1, 1, 0, 1};
	struct world *w = world_create(2, 4, 1, NULL);

	(void)state;
	for (unsigned c = 0; c < 8; c++)
		assert_int_equal(hv_pcpu_up(w->f.sys, c), 0);
	assert_int_equal(hv_pool_create(w->f.sys, 0, "credit2", HV_GRAN_CPU, &w->f.pool), 0);
	w->s = hv_pool_sched(w->f.pool);
	w->p = w->s->priv;
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(hv_pool_add_pcpu(w->f.pool, order[i]), 0);
		fake_drain(&w->f);
		assert_int_equal(c2_pcpu(w->p, order[i])->rq->id, id[i]);
		fake_check(&w->f);
	}
	assert_int_equal(w->p->nr_active, 2);
	world_end(w);
}

/*
 * 4.1, sibling room: threads that are off line count, although a pCPU that is off line is no
 * sibling. Three pCPUs on line: two cores with two threads each are too many for one runqueue.
 */
static void room_is_kept_for_threads_that_are_off_line(void **state)
{
	struct world *w = world_create(1, 2, 2, NULL);

	(void)state;
	for (unsigned c = 0; c < 4; c++)
		assert_int_equal(hv_pcpu_up(w->f.sys, c), 0);
	assert_int_equal(hv_pcpu_down(w->f.sys, 1), 0);
	assert_int_equal(hv_pool_create(w->f.sys, 0, "credit2", HV_GRAN_CPU, &w->f.pool), 0);
	w->s = hv_pool_sched(w->f.pool);
	w->p = w->s->priv;
	for (unsigned c = 0; c < 4; c++)
		assert_int_equal(hv_pool_add_pcpu(w->f.pool, c), c == 1 ? -HV_ENODEV : 0);
	assert_int_equal(c2_pcpu(w->p, 0)->rq->id, 0);
	assert_int_equal(c2_pcpu(w->p, 2)->rq->id, 1);
	assert_int_equal(c2_pcpu(w->p, 3)->rq->id, 1);

	/* With the thread back it is four, and they would all fit; siblings stay together. */
	assert_int_equal(hv_pcpu_up(w->f.sys, 1), 0);
	assert_int_equal(c2_pcpu(w->p, 1)->rq->id, 0);
	fake_drain(&w->f);
	fake_check(&w->f);
	world_end(w);
}

/* 4.1: of runqueues with equally few pCPUs the first in the list gets the next one. */
static void a_late_pcpu_joins_the_first_of_equal_runqueues(void **state)
{
	static const char *const params[] = {"credit2_runqueue", "all",
					     "sched_credit2_max_cpus_runqueue", "2", NULL};
	struct world *w = world_start(1, 4, 1, params);

	(void)state;
	assert_int_equal(c2_pcpu(w->p, 1)->rq->id, 0);
	assert_int_equal(c2_pcpu(w->p, 3)->rq->id, 1);
	assert_int_equal(hv_pool_remove_pcpu(w->f.pool, 1), 0);
	assert_int_equal(hv_pool_remove_pcpu(w->f.pool, 3), 0);
	assert_int_equal(hv_pool_add_pcpu(w->f.pool, 3), 0);
	assert_int_equal(c2_pcpu(w->p, 3)->rq->id, 0);
	assert_int_equal(hv_pool_add_pcpu(w->f.pool, 1), 0);
	assert_int_equal(c2_pcpu(w->p, 1)->rq->id, 1);
	fake_drain(&w->f);
	fake_check(&w->f);
	world_end(w);
}

static void t27_largest_weight_follows_the_members(void **state)
{
	struct world *w = world_start(1, 2, 1, NULL);
	struct hv_domain *d1 = fake_domain(&w->f, 100, 2), *d2 = fake_domain(&w->f, 200, 1);
	struct c2_unit *u = c2_unit(d1->units);
	const uint32_t *maxw = &runq(w, 0)->maxw;

	(void)state;
	assert_int_equal(*maxw, 256);
	set_weight(u, 1024);
	assert_int_equal(*maxw, 1024);
	set_weight(u, 512);
	assert_int_equal(*maxw, 512);
	set_weight(u, 100);
	assert_int_equal(*maxw, 256);
	assert_int_equal(hv_domain_destroy(d2), 0);
	assert_int_equal(*maxw, 100);
	assert_int_equal(hv_domain_destroy(d1), 0);
	assert_int_equal(*maxw, 1);
	world_end(w);
}

static struct hv_mask range(unsigned from, unsigned to)
{
	struct hv_mask m = {{0}};

	for (unsigned c = from; c <= to; c++)
		hv_mask_set(&m, c);
	return m;
}

static void t28_q2_a_move_rotates_twice(void **state)
{
	const struct hv_mask upper = range(4, 7), all = range(0, 7), soft = range(0, 1);
	struct world *w = world_start(2, 4, 1, NULL);
	struct c2_unit *u = new_unit(w, 1 << 1);

	(void)state;
	assert_int_equal(c2_home(u), 1);
	runq(w, 0)->bias = 1;
	assert_int_equal(runq(w, 1)->bias, 4);
	hv_affinity_set(vcpu_of(u), &upper, NULL);
	assert_int_equal(c2_home(u), 6);
	assert_int_equal(runq(w, 1)->bias, 6);
	hv_affinity_set(vcpu_of(u), &all, &soft);
	assert_int_equal(c2_home(u), 1);
	hv_affinity_set(vcpu_of(u), NULL, &all);
	assert_int_equal(c2_home(u), 2);
	hv_affinity_set(vcpu_of(u), NULL, &all);
	assert_int_equal(c2_home(u), 3);
	world_end(w);
}

static void t29_q1_soft_affinity_rotates_the_wrong_runqueue(void **state)
{
	const struct hv_mask all = range(0, 7), soft = range(5, 6);
	struct world *w = world_start(2, 4, 1, NULL);
	struct c2_unit *a = new_unit(w, 1);

	(void)state;
	hv_affinity_set(vcpu_of(a), &all, NULL);
	set_home(w, a, 0);
	runq(w, 0)->bias = 0;
	for (unsigned i = 0; i < 3; i++)
		new_unit(w, 0xf0);
	runq(w, 1)->bias = 6;
	assert_int_equal(runq(w, 1)->pavg, 393216);
	hv_affinity_set(vcpu_of(a), NULL, &soft);
	assert_int_equal(runq(w, 0)->bias, 5);
	assert_int_equal(c2_home(a), 7);
	world_end(w);
}

static void t30_a_wake_before_the_context_is_saved(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);
	struct c2_unit *u = new_unit(w, 0);
	struct c2_runq *rq = runq(w, 0);

	(void)state;
	for (int slept = 0; slept <= 1; slept++) {
		w->f.hold_saves = false;
		run_on(w, u, 0);
		w->f.hold_saves = true;
		hv_block(vcpu_of(u), NULL, NULL);
		fake_pass(&w->f, 0);
		assert_true(u->flags & C2_SCHED);
		wake_up(u);
		assert_true(u->flags & C2_REQUEUE);
		assert_int_equal(rq->nload, 1);
		if (slept) {
			hv_vcpu_down(vcpu_of(u));
			assert_false(u->flags & C2_REQUEUE);
		}
		fake_forget(&w->f);
		fake_save(&w->f, 0);
		fake_check(&w->f);
		assert_int_equal(last_tickle(w), slept ? HV_NO_PCPU : 0);
		assert_int_equal(!(u->flags & C2_QUEUED), slept);
		assert_int_equal(rq->nload, slept ? 0 : 1);
		if (!slept) {
			hv_vcpu_down(vcpu_of(u));
			assert_int_equal(rq->nload, 0);
		}
	}
	world_end(w);
}

/* Where pick sends u while somebody else holds the instance lock (15.1 step 1). */
static uint32_t pick_under_contention(struct world *w, struct c2_unit *u)
{
	uint32_t c;

	hv_lock_acquire(w->f.sys, &w->p->lock);
	lock(w, u->rq);
	c = c2_pick(w->s, u->unit)->master;
	unlock(w, u->rq);
	hv_lock_release(w->f.sys, &w->p->lock);
	return c;
}

/* Masks alone, without the migration that comes with a change. */
static void store_affinity(struct c2_unit *u, uint64_t hard, uint64_t soft)
{
	u->unit->hard = (struct hv_mask){{hard}};
	u->unit->soft = (struct hv_mask){{soft}};
	u->unit->soft_counts = (hard & ~soft) && (hard & soft);
}

/*
 * 15.2: without the instance lock a unit stays in its runqueue if it can: home, else the lowest
 * pCPU there, in soft before hard affinity; only else the lowest pCPU that it may use. No turn is
 * taken, and a move that was asked for is off.
 */
static void a_pick_that_must_not_wait_falls_back(void **state)
{
	struct world *w = world_start(2, 4, 1, NULL);
	struct c2_unit *u = new_unit(w, 0x0f);
	uint32_t bias[2] = {runq(w, 0)->bias, runq(w, 1)->bias};

	(void)state;
	set_home(w, u, 2);
	store_affinity(u, 0xff, 0xff);
	u->flags |= C2_MIGREQ;
	u->mig_target = runq(w, 1);
	assert_int_equal(pick_under_contention(w, u), 2);
	assert_false(u->flags & C2_MIGREQ);
	assert_null(u->mig_target);

	store_affinity(u, 0xff, 0x18); /* soft without home, but with another one there */
	assert_int_equal(pick_under_contention(w, u), 3);
	store_affinity(u, 0xff, 0x30); /* soft elsewhere: the hard step knows home */
	assert_int_equal(pick_under_contention(w, u), 2);
	store_affinity(u, 0xfa, 0x30); /* ...or others in its runqueue */
	assert_int_equal(pick_under_contention(w, u), 1);
	store_affinity(u, 0xe0, 0xff); /* none there */
	assert_int_equal(pick_under_contention(w, u), 5);
	assert_int_equal(runq(w, 0)->bias, bias[0]);
	assert_int_equal(runq(w, 1)->bias, bias[1]);
	world_end(w);
}

/* Units of one pool are never placed on pCPUs of another, and each pool has its own runqueues. */
static void pools_keep_apart(void **state)
{
	struct world *w = world_create(2, 4, 1, NULL);
	struct hv_pool *pool[2];

	(void)state;
	for (unsigned c = 0; c < 8; c++)
		assert_int_equal(hv_pcpu_up(w->f.sys, c), 0);
	for (int id = 0; id < 2; id++)
		assert_int_equal(hv_pool_create(w->f.sys, id, "credit2", HV_GRAN_CPU, &pool[id]),
				 0);
	for (unsigned c = 0; c < 8; c++)
		assert_int_equal(hv_pool_add_pcpu(pool[c % 2], c), 0);
	fake_drain(&w->f);
	for (int id = 0; id < 2; id++) {
		w->f.pool = pool[id];
		w->s = hv_pool_sched(pool[id]);
		w->p = w->s->priv;
		struct hv_domain *d = fake_domain(&w->f, 50 + id, 12);

		for (unsigned i = 0; i < 12; i++) {
			assert_int_equal(d->vcpus[i]->pcpu % 2, id);
			hv_vcpu_up(d->vcpus[i]);
			fake_drain(&w->f);
		}
	}
	for (unsigned c = 0; c < 8; c++)
		assert_int_equal(running_on(w, c)->unit->domain->id, 50 + c % 2);
	fake_run(&w->f, START + 100 * MS);
	world_end(w);
}

static void boot_parameters_are_corrected_as_in_xen(void **state)
{
	static const struct {
		const char *name, *value;
		int rc;
		int64_t now;
	} cases[] = {
		{"credit2_load_precision_shift", "3", 1, 4},
		{"credit2_load_precision_shift", "41", 1, 40},
		{"credit2_load_precision_shift", "10", 0, 10},
		{"credit2_load_window_shift", "10", 1, 30},
		{"credit2_load_window_shift", "51", 1, 50},
		{"credit2_load_window_shift", "11", 0, 11},
		{"credit2_cap_period_ms", "5000000000", 1, UINT32_MAX},
		{"credit2_cap_period_ms", "0", 1, 10},
		{"sched_ratelimit_us", "99", 1, 1000},
		{"sched_ratelimit_us", "500001", 1, 1000},
		{"sched_ratelimit_us", "0", 0, 0},
		{"sched_ratelimit_us", "100", 0, 100},
		{"credit2_balance_over", "-3000000000", 1, INT32_MIN},
		{"credit2_balance_over", "3000000000", 1, INT32_MAX},
		{"credit2_balance_over", "-7", 0, -7},
		{"sched_credit2_migrate_resist", "-1", 1, 0},
		{"sched_credit2_migrate_resist", "5000000000", 1, UINT32_MAX},
		{"sched_credit2_max_cpus_runqueue", "5000000000", 1, UINT32_MAX},
		{"sched_credit2_max_cpus_runqueue", "0", 1, 16},
		{"credit2_runqueue", "node", 0, C2_BY_NODE},
		{"credit2_runqueue", "die", -HV_EINVAL, C2_BY_NODE},
		{"sched_smt_power_savings", "yes", 0, 1},
	};
	struct world *w = world_create(1, 1, 1, NULL);
	int64_t value;

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(hv_param_set(w->f.sys, cases[i].name, cases[i].value),
				 cases[i].rc);
		assert_int_equal(hv_param_get(w->f.sys, cases[i].name, &value), 0);
		assert_int_equal(value, cases[i].now);
	}
	world_boot(w);
	assert_int_equal(w->p->ratelimit, 100000);
	assert_int_equal(w->p->precision, 10);
	assert_int_equal(w->p->window, 1);
	world_end(w);
}

static void the_rate_limit_changes_at_run_time(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);
	struct c2_unit *u = new_unit(w, 0);
	struct hv_sched_params p = {.ratelimit_us = 99};

	(void)state;
	assert_int_equal(hv_sched_params_set(w->f.pool, &p), -HV_EINVAL);
	p.ratelimit_us = 500000;
	assert_int_equal(hv_sched_params_set(w->f.pool, &p), 0);
	wake_up(u);
	assert_int_equal(pass(w, 0), 500000000);
	p.ratelimit_us = 0;
	assert_int_equal(hv_sched_params_set(w->f.pool, &p), 0);
	assert_int_equal(hv_sched_params_get(w->f.pool, &p), 0);
	assert_int_equal(p.ratelimit_us, 0);
	assert_int_equal(pass(w, 0), 10000000);
	world_end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t10_load_decays_by_the_window),
		cmocka_unit_test(bug13_a_clock_that_steps_back_changes_no_load),
		cmocka_unit_test(t11_a_long_pause_wipes_what_assignments_added),
		cmocka_unit_test(t12_new_units_go_where_the_load_is_least),
		cmocka_unit_test(a_new_unit_goes_to_another_runqueue_than_it_starts_from),
		cmocka_unit_test(t26_arrangement),
		cmocka_unit_test(t26_arrangement_by_node),
		cmocka_unit_test(late_pcpus_join_the_matching_runqueue),
		cmocka_unit_test(room_is_kept_for_threads_that_are_off_line),
		cmocka_unit_test(a_late_pcpu_joins_the_first_of_equal_runqueues),
		cmocka_unit_test(t27_largest_weight_follows_the_members),
		cmocka_unit_test(t28_q2_a_move_rotates_twice),
		cmocka_unit_test(t29_q1_soft_affinity_rotates_the_wrong_runqueue),
		cmocka_unit_test(t30_a_wake_before_the_context_is_saved),
		cmocka_unit_test(a_pick_that_must_not_wait_falls_back),
		cmocka_unit_test(pools_keep_apart),
		cmocka_unit_test(boot_parameters_are_corrected_as_in_xen),
		cmocka_unit_test(the_rate_limit_changes_at_run_time),
	};

	return cmocka_run_group_tests_name("credit2: placement", tests, NULL, NULL);
}
