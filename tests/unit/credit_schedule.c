/* SPDX-License-Identifier: MIT */
/*
 * Credit: boost, the queue of a pCPU, who runs next, stealing. Case n is section 14 of the credit
 * spec; bugs are named by the commits of its section 15.
 */
#include "credit_world.h"

/* ---- boost */

static void case_10_a_sleeper_is_boosted_until_the_next_tick(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);
	struct c1_unit *u = new_unit(w, 0);

	(void)state;
	wake_up(w, u);
	assert_int_equal(u->pri, C1_UNDER); /* it has just been inserted */
	pass(w, 0);
	block(w, u);
	wake_up(w, u);
	assert_int_equal(u->pri, C1_BOOST);
	pass(w, 0);
	assert_int_equal(u->pri, C1_BOOST);
	tick(w, 0);
	assert_int_equal(u->pri, C1_UNDER);
	assert_true(u->flags & C1_ACTIVE);
	world_end(w);
}

static void a_boost_survives_a_short_sleep_and_ends_at_accounting(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);
	struct c1_unit *u = new_unit(w, 0), *hog;

	(void)state;
	make_active(w, u, 10);
	wake_up(w, u);
	pass(w, 0);
	block(w, u);
	assert_int_equal(u->pri, C1_BOOST);
	hog = run_new(w, 0, 0);
	wake_up(w, u);
	assert_int_equal(u->pri, C1_BOOST);
	assert_ptr_equal(running_on(w, 0), hog);
	account(w); /* while it is queued */
	assert_int_equal(u->pri, C1_UNDER);
	world_end(w);
}

static void case_10_who_is_over_is_not_boosted(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);
	struct c1_unit *u = new_unit(w, 0);

	(void)state;
	make_active(w, u, -400);
	account(w);
	assert_int_equal(u->pri, C1_OVER);
	wake_up(w, u);
	assert_int_equal(u->pri, C1_OVER);
	world_end(w);
}

/* Bug 66c7449a4d. */
static void case_10_migration_is_no_sleep(void **state)
{
	struct hv_mask m = fake_mask1(1);
	struct world *w = world_start(1, 2, 1, NULL);
	struct c1_unit *u = run_new(w, 0, 0);

	(void)state;
	assert_int_equal(hv_affinity_set(vcpu_of(u), &m, NULL), 0);
	fake_drain(&w->f);
	assert_ptr_equal(running_on(w, 1), u);
	assert_int_equal(u->pri, C1_UNDER);

	/* While it sleeps: the mark stays for one wake. */
	block(w, u);
	m = fake_all(2);
	assert_int_equal(hv_affinity_set(vcpu_of(u), &m, NULL), 0);
	run(w, u);
	assert_int_equal(u->pri, C1_UNDER);
	block(w, u);
	run(w, u);
	assert_int_equal(u->pri, C1_BOOST);
	world_end(w);
}

/* ---- the queue: built by hand behind a hog on pCPU 0, and taken down again */

static void put(struct world *w, struct c1_unit *u, int32_t pri, uint32_t flags)
{
	lock_home(w, u);
	u->pri = pri;
	u->flags |= flags;
	c1_queue_insert(w->p, pcpu(w, 0), u);
	unlock_home(w, u);
}

static void take(struct world *w, struct c1_unit *u)
{
	lock_home(w, u);
	c1_queue_remove(w->p, pcpu(w, 0), u);
	unlock_home(w, u);
	assert_false(u->flags & (C1_YIELD | C1_QUEUED));
}

/* The queue is these units, then the idle unit. */
static void assert_queue(const struct world *w, struct c1_unit *const *u, unsigned n)
{
	const struct c1_queue *q = &pcpu(w, 0)->queue;
	const struct c1_link *l = q->ring.next;

	for (unsigned i = 0; i < n; i++, l = l->next)
		assert_ptr_equal(l, &u[i]->queue);
	assert_ptr_equal(l, &pcpu(w, 0)->idle->queue);
	assert_ptr_equal(l->next, &q->ring);
}

static void case_11_a_unit_goes_before_the_first_lower_one(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);
	struct c1_unit *hog = new_unit(w, 0), *new = new_unit(w, 0);
	struct c1_unit *u1 = new_unit(w, 0), *o1 = new_unit(w, 0), *o2 = new_unit(w, 0);

	(void)state;
	run(w, hog);
	put(w, u1, C1_UNDER, 0);
	put(w, o1, C1_OVER, 0);
	put(w, o2, C1_OVER, 0);

	put(w, new, C1_UNDER, 0);
	assert_queue(w, (struct c1_unit *[]){u1, new, o1, o2}, 4);
	take(w, new);
	put(w, new, C1_UNDER, C1_YIELD); /* exactly one lower unit goes first */
	assert_queue(w, (struct c1_unit *[]){u1, o1, new, o2}, 4);
	take(w, new);
	put(w, new, C1_OVER, C1_YIELD);
	assert_queue(w, (struct c1_unit *[]){u1, o1, o2, new}, 4);
	take(w, new);
	put(w, new, C1_BOOST, 0);
	assert_queue(w, (struct c1_unit *[]){new, u1, o1, o2}, 4);
	take(w, new);
	take(w, o1);
	take(w, o2);
	put(w, new, C1_UNDER, C1_YIELD); /* idle never goes first */
	assert_queue(w, (struct c1_unit *[]){u1, new}, 2);
	take(w, new);
	take(w, u1);
	world_end(w);
}

/* Without the idle unit on the queue, when it runs, the last unit of a guest is not passed over. */
static void case_11_nobody_yields_to_the_last_on_the_queue(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);
	struct c1_unit *o1 = new_unit(w, 0), *o2 = new_unit(w, 0), *new = new_unit(w, 0);
	const struct c1_link *ring = &pcpu(w, 0)->queue.ring;

	(void)state;
	put(w, o1, C1_OVER, 0);
	put(w, new, C1_UNDER, C1_YIELD);
	assert_ptr_equal(ring->next, &new->queue);
	take(w, new);
	put(w, o2, C1_OVER, 0);
	put(w, new, C1_UNDER, C1_YIELD);
	assert_ptr_equal(ring->next, &o1->queue);
	assert_ptr_equal(ring->next->next, &new->queue);
	take(w, new);
	take(w, o1);
	take(w, o2);
	put(w, new, C1_UNDER, C1_YIELD); /* nothing lower there at all */
	take(w, new);
	world_end(w);
}

static void case_12_the_first_tick_after_accounting_sorts(void **state)
{
	static const int32_t pri[5] = {C1_OVER, C1_UNDER, C1_BOOST, C1_OVER, C1_UNDER};
	struct world *w = world_start(1, 1, 1, NULL);
	struct c1_unit *hog = new_unit(w, 0), *u[5];

	(void)state;
	for (int i = 0; i < 5; i++)
		u[i] = new_unit(w, 0);
	run(w, hog);
	for (int i = 0; i < 5; i++)
		wake_up(w, u[i]);
	for (int i = 0; i < 5; i++) {
		lock_home(w, u[i]);
		c1_set_pri(w->p, u[i], pri[i]);
		unlock_home(w, u[i]);
	}
	w->p->epoch++;
	assert_queue(w, u, 5); /* nothing moves until then */
	tick(w, 0);
	assert_queue(w, (struct c1_unit *[]){u[1], u[2], u[4], u[0], u[3]}, 5);
	lock_home(w, hog);
	c1_set_pri(w->p, u[1], C1_OVER);
	unlock_home(w, hog);
	tick(w, 0);
	assert_queue(w, (struct c1_unit *[]){u[1], u[2], u[4], u[0], u[3]}, 5);
	world_end(w);
}

/* Whatever is put in, taken out and changed, the remembered places are those of a walk. */
static void places_in_the_queue_are_those_of_a_walk(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);
	struct c1_unit *hog = new_unit(w, 0), *u[12];
	uint64_t random = 1;

	(void)state;
	for (int i = 0; i < 12; i++)
		u[i] = new_unit(w, 0);
	run(w, hog);
	for (int step = 0; step < 20000; step++) {
		struct c1_unit *x = u[(random >> 33) % 12];
		const struct c1_queue *q = &pcpu(w, 0)->queue;
		int32_t pri = -(int32_t)((random >> 40) % 3);

		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		if (!(x->flags & C1_QUEUED)) {
			put(w, x, pri, random >> 63 ? C1_YIELD : 0);
		} else if (random >> 62 == 0) {
			lock_home(w, x);
			c1_set_pri(w->p, x, pri);
			unlock_home(w, x);
		} else {
			take(w, x);
		}
		for (int i = 0; i < C1_NR_GUEST_PRI && !q->stale; i++) {
			const struct c1_link *l = q->ring.next;

			while (c1_of_queue(l)->pri >= -i)
				l = l->next; /* the idle unit ends the walk */
			assert_ptr_equal(q->below[i], l);
		}
	}
	for (int i = 0; i < 12; i++)
		if (u[i]->flags & C1_QUEUED)
			take(w, u[i]);
	world_end(w);
}

/* ---- the pass */

static void case_13_the_rate_limit(void **state)
{
	static const struct {
		hv_time runtime, slice; /* ns */
		bool yield, tasklet, kept;
	} rows[] = {{200 * US, 800 * US, false, false, true},
		    {0, 100, false, false, true},
		    {99, 100, false, false, true},
		    {100, 1000 * US - 100, false, false, true},
		    {999999, 1, false, false, true},
		    {1000 * US, 30 * MS, false, false, false},
		    {200 * US, 30 * MS, true, false, false},
		    {200 * US, -1, false, true, false}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct world *w = world_start(1, 1, 1, NULL);
		struct c1_unit *u = new_unit(w, 0), *other = new_unit(w, 0);

		run(w, u);
		wake_up(w, other);
		at(w, rows[i].runtime);
		if (rows[i].yield)
			hv_yield(vcpu_of(u));
		if (rows[i].tasklet)
			hv_work(w->f.sys, 0, true);
		pass(w, 0);
		assert_int_equal(last_slice(w, 0), rows[i].slice);
		assert_ptr_equal(running_on(w, 0), rows[i].kept	     ? u
						   : rows[i].tasklet ? NULL
								     : other);
		assert_int_equal(u->last_sched, w->f.now);
		if (rows[i].kept) {
			at(w, 5 * MS);
			pass(w, 0);
			assert_ptr_equal(running_on(w, 0), other);
		}
		world_end(w);
	}
}

static void every_pass_that_keeps_a_unit_gives_a_whole_slice(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);
	struct c1_unit *u = run_new(w, 0, 0);

	(void)state;
	at(w, 7 * MS);
	pass(w, 0);
	assert_ptr_equal(running_on(w, 0), u);
	assert_int_equal(last_pass(w, 0)->kind, HV_TRACE_CONT);
	assert_int_equal(last_slice(w, 0), 30 * MS);
	world_end(w);
}

/* A pCPU whose idle unit works is no idler, and nothing preempts it. */
static void work_for_the_hypervisor_goes_first(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);
	struct c1_unit *u = new_sleeper_at(w, 0, 0);

	(void)state;
	hv_work(w->f.sys, 0, true);
	pass(w, 0);
	assert_int_equal(pcpu(w, 0)->idle->pri, C1_BOOST);
	assert_false(hv_mask_test(&w->p->idlers, 0));
	assert_int_equal(wake_tickles(w, u), 0);
	hv_work(w->f.sys, 0, false);
	fake_drain(&w->f);
	assert_ptr_equal(running_on(w, 0), u);
	assert_int_equal(pcpu(w, 0)->idle->pri, C1_IDLE);
	world_end(w);
}

static void case_21_runnable_units_are_counted(void **state)
{
	struct world *w = world_start(1, 1, 1, NULL);
	struct c1_unit *a = new_unit(w, 0), *b = new_unit(w, 0), *c = new_unit(w, 0);

	(void)state;
	run(w, a);
	wake_up(w, b);
	wake_up(w, c);
	assert_int_equal(pcpu(w, 0)->nr_runnable, 3);
	assert_int_equal(hv_pause(vcpu_of(b)), 0);
	assert_int_equal(pcpu(w, 0)->nr_runnable, 2);
	block(w, a);
	assert_int_equal(pcpu(w, 0)->nr_runnable, 1);
	assert_ptr_equal(running_on(w, 0), c);
	block(w, c);
	assert_int_equal(pcpu(w, 0)->nr_runnable, 0);
	world_end(w);
}

/* ---- stealing */

/* A hog on pCPU c, and a unit behind it that pCPU `thief` may steal or not. */
static struct c1_unit *busy(struct world *w, unsigned c, unsigned thief, bool stealable,
			    uint64_t soft)
{
	struct c1_unit *u;

	run_new(w, c, 1ULL << c);
	u = add_unit(new_domain(w), 1ULL << c | (stealable ? 1ULL << thief : 0), soft);
	set_home(w, u, c);
	wake_up(w, u);
	w->f.pending[thief] = 0; /* the request of that wake */
	assert_true(u->flags & C1_QUEUED);
	return u;
}

/* Whom pCPU `thief` takes from, -1 = nobody. */
static int steals_from(struct world *w, unsigned thief)
{
	open_gates(w);
	fake_forget(&w->f);
	pass(w, thief);
	for (unsigned i = 0; i < w->f.nr_log; i++)
		if (w->f.log[i].kind == HV_TRACE_ASSIGN)
			return (int)w->f.log[i].a;
	return -1;
}

static void case_14_a_pcpu_looks_for_work_once_a_millisecond(void **state)
{
	struct world *w = world_start(1, 2, 1, NULL);
	struct c1_unit *u = busy(w, 0, 1, true, 0);

	(void)state;
	pcpu(w, 1)->last_balance = START + 10 * MS;
	at(w, 11 * MS);
	pass(w, 1);
	assert_null(running_on(w, 1));
	assert_int_equal(pcpu(w, 1)->last_balance, START + 10 * MS);
	at(w, 11 * MS + 1);
	pass(w, 1);
	assert_ptr_equal(running_on(w, 1), u);
	assert_int_equal(pcpu(w, 1)->last_balance, w->f.now);
	world_end(w);
}

/* Fault 11 of the real code, kept. */
static void case_14_a_pcpu_that_has_just_gone_idle_ignores_a_request(void **state)
{
	struct world *w = world_start(1, 2, 1, NULL);
	struct c1_unit *a = new_unit_at(w, 1, 0), *hog = run_new(w, 0, 0);
	struct c1_unit *b = new_sleeper_at(w, 0, 0);

	(void)state;
	run(w, a);
	at(w, 10 * MS);
	block(w, a); /* pCPU 1 has looked now */
	at(w, 10500 * US);
	assert_int_equal(wake_tickles(w, b), 1u << 1);
	assert_false(hv_mask_test(&w->p->idlers, 1));
	fake_drain(&w->f);
	assert_null(running_on(w, 1));
	assert_true(hv_mask_test(&w->p->idlers, 1));
	assert_true(b->flags & C1_QUEUED);
	assert_ptr_equal(running_on(w, 0), hog);
	world_end(w);
}

/* Nodes {0-3}, {4-7}; pCPU 2 is idle, all others have two units. */
static struct world *two_nodes(uint64_t stealable, uint64_t soft)
{
	struct world *w = world_start(2, 4, 1, NULL);

	for (unsigned c = 0; c < 8; c++)
		if (c != 2)
			busy(w, c, 2, stealable >> c & 1, soft >> c & 1 ? 1u << 2 : 0);
	return w;
}

static void case_15_victims_are_visited_in_turn_own_node_first(void **state)
{
	static const unsigned order[] = {1, 3, 0, 5, 6, 7, 4};

	(void)state;
	for (unsigned soft = 0; soft < 2; soft++) {
		for (unsigned i = 0; i < 7; i++) {
			uint64_t left = 0;
			struct world *w;

			for (unsigned k = i; k < 7; k++)
				left |= 1ULL << order[k];
			w = two_nodes(left, soft ? left : 0);
			assert_int_equal(steals_from(w, 2), order[i]);
			world_end(w);
		}
	}
}

/* After a theft from 3: 0, 1, 3. */
static void case_15_the_search_goes_on_where_it_ended(void **state)
{
	static const uint64_t stealable[3] = {1u << 0 | 1u << 1 | 1u << 3, 1u << 1 | 1u << 3,
					      1u << 3};
	static const int victim[3] = {0, 1, 3};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct world *w = two_nodes(stealable[i], 0);
		struct c1_unit *more = new_unit_at(w, 3, 1u << 2 | 1u << 3);

		w->p->balance_bias[0] = 1;
		wake_up(w, more);
		assert_int_equal(steals_from(w, 2), 3);
		block(w, running_on(w, 2));
		assert_int_equal(steals_from(w, 2), victim[i]);
		world_end(w);
	}
}

/* From its own node on, to the next higher ones, around. */
static void case_15_nodes_are_searched_upwards(void **state)
{
	(void)state;
	for (int low_only = 0; low_only < 2; low_only++) {
		struct world *w = world_start(3, 1, 1, NULL);

		busy(w, 0, 1, true, 0);
		busy(w, 2, 1, !low_only, 0);
		assert_int_equal(steals_from(w, 1), low_only ? 0 : 2);
		world_end(w);
	}
}

/* Section 10: where the last one was found has left the pool: on from the lowest that is there. */
static void a_search_goes_on_from_the_lowest_when_its_place_has_left(void **state)
{
	struct world *w = world_start(1, 4, 1, NULL);

	(void)state;
	w->p->balance_bias[0] = 2;
	assert_int_equal(hv_pool_remove_pcpu(w->f.pool, 2), 0);
	fake_drain(&w->f);
	busy(w, 0, 3, true, 0);
	busy(w, 1, 3, true, 0);
	assert_int_equal(steals_from(w, 3), 1);
	world_end(w);
}

static void case_15_soft_affinity_is_looked_for_on_all_nodes_first(void **state)
{
	struct world *w = two_nodes(1u << 1 | 1u << 6, 1u << 6);

	(void)state;
	assert_int_equal(steals_from(w, 2), 6);
	world_end(w);
}

static void case_15_a_pcpu_with_one_unit_is_left_alone(void **state)
{
	struct world *w = world_start(1, 2, 1, NULL);
	struct c1_unit *a = new_unit_at(w, 0, 0);

	(void)state;
	wake_up(w, a);
	w->f.pending[0] = 0;
	assert_int_equal(steals_from(w, 1), -1);
	world_end(w);
}

static void case_15_who_is_over_steals_only_better_ones(void **state)
{
	(void)state;
	for (int32_t pri = C1_UNDER; pri >= C1_OVER; pri--) {
		struct world *w = world_start(1, 2, 1, NULL);
		struct c1_unit *u = busy(w, 0, 1, true, 0), *over = new_unit_at(w, 1, 1u << 1);

		run(w, over);
		lock_home(w, u);
		c1_set_pri(w->p, u, pri);
		unlock_home(w, u);
		over->pri = C1_OVER;
		at(w, 2 * MS);
		assert_int_equal(steals_from(w, 1), pri == C1_UNDER ? 0 : -1);
		assert_ptr_equal(running_on(w, 1), pri == C1_UNDER ? u : over);
		world_end(w);
	}
}

/* The queue is not sorted between accounting and the tick: what stands behind is not seen. */
static void a_search_ends_at_the_first_unit_that_is_not_better(void **state)
{
	struct world *w = world_start(1, 2, 1, NULL);
	struct c1_unit *first = busy(w, 0, 1, true, 0), *over = new_unit_at(w, 1, 1u << 1);
	struct c1_unit *behind = new_unit_at(w, 0, 3);

	(void)state;
	run(w, over);
	wake_up(w, behind);
	lock_home(w, first);
	c1_set_pri(w->p, first, C1_OVER);
	unlock_home(w, first);
	over->pri = C1_OVER;
	at(w, 2 * MS);
	assert_int_equal(steals_from(w, 1), -1);
	w->p->epoch++;
	tick(w, 0);
	assert_int_equal(steals_from(w, 1), 0);
	assert_ptr_equal(running_on(w, 1), behind);
	world_end(w);
}

/* Bug e282067cf2. */
static void who_has_yielded_is_not_stolen(void **state)
{
	struct world *w = world_start(1, 2, 1, NULL);
	struct c1_unit *a = new_unit_at(w, 0, 0), *b = new_unit_at(w, 0, 1);

	(void)state;
	run(w, a);
	wake_up(w, b);
	at(w, 2 * MS);
	hv_yield(vcpu_of(a));
	pass(w, 0);
	assert_ptr_equal(running_on(w, 0), b);
	assert_true(a->flags & C1_YIELD);
	assert_int_equal(steals_from(w, 1), -1);
	world_end(w);
}

/* It was asked and has not made its pass: it will run one of them itself. */
static void a_pcpu_on_its_way_from_idle_is_left_alone(void **state)
{
	struct world *w = world_start(1, 2, 1, NULL);

	(void)state;
	wake_up(w, new_unit_at(w, 0, 3));
	wake_up(w, new_unit_at(w, 0, 3));
	assert_false(hv_mask_test(&w->p->idlers, 0));
	assert_int_equal(pcpu(w, 0)->nr_runnable, 2);
	assert_int_equal(steals_from(w, 1), -1);
	pass(w, 0);
	assert_int_equal(steals_from(w, 1), 0);
	world_end(w);
}

/* Its registers are still being stored. */
static void who_is_being_switched_out_is_not_stolen(void **state)
{
	struct world *w = world_start(1, 2, 1, NULL);
	struct c1_unit *a = new_unit_at(w, 0, 3), *b = new_unit_at(w, 0, 1);

	(void)state;
	run(w, a);
	wake_up(w, b);
	at(w, 2 * MS);
	w->f.hold_saves = true;
	assert_true(hv_block(vcpu_of(a), NULL, NULL));
	fake_pass(&w->f, 0);
	assert_ptr_equal(running_on(w, 0), b);
	wake_up(w, a);
	assert_true((a->flags & C1_QUEUED) && a->unit->is_running);
	assert_int_equal(steals_from(w, 1), -1);
	fake_save(&w->f, 0);
	assert_int_equal(steals_from(w, 1), 0);
	fake_save(&w->f, 1);
	world_end(w);
}

static void a_new_pcpu_does_not_look_for_work_at_once(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct c1_unit *waits;

	(void)state;
	w->f.now = START;
	w->next_domain = 1;
	assert_int_equal(fake_create(&w->f, 1, 2, 1, hv_policies), 0);
	for (unsigned c = 0; c < 2; c++)
		assert_int_equal(hv_pcpu_up(w->f.sys, c), 0);
	assert_int_equal(hv_pool_create(w->f.sys, 0, "credit", HV_GRAN_CPU, &w->f.pool), 0);
	w->s = hv_pool_sched(w->f.pool);
	w->p = w->s->priv;
	assert_int_equal(hv_pool_add_pcpu(w->f.pool, 0), 0);
	fake_drain(&w->f);
	run(w, new_unit(w, 0));
	waits = new_unit(w, 0);
	wake_up(w, waits);

	assert_int_equal(hv_pool_add_pcpu(w->f.pool, 1), 0);
	assert_int_equal(w->p->credit, 600);
	assert_int_equal(pcpu(w, 1)->ticker.expiry, START + 10 * MS);
	assert_int_equal(w->p->accounting.expiry, START + 30 * MS); /* the first one's */
	fake_drain(&w->f);
	assert_int_equal(w->f.passes[1], 1);
	at(w, MS);
	pass(w, 1);
	assert_null(running_on(w, 1));
	at(w, MS + 1);
	pass(w, 1);
	assert_ptr_equal(running_on(w, 1), waits);
	world_end(w);
}

/* Section 10: a pCPU that is leaving its pool gives its unit away and steals none. */
static void a_pcpu_that_leaves_does_not_steal(void **state)
{
	struct world *w = world_start(1, 2, 1, NULL);
	struct c1_unit *a = run_new(w, 0, 0), *b = run_new(w, 1, 0), *c = new_unit_at(w, 0, 0);

	(void)state;
	wake_up(w, c);
	fake_drain(&w->f);
	at(w, 20 * MS); /* its last search is long ago */
	assert_int_equal(hv_pool_remove_pcpu(w->f.pool, 1), -HV_EAGAIN);
	fake_drain(&w->f);
	fake_check(&w->f);
	assert_null(running_on(w, 1));
	assert_ptr_equal(running_on(w, 0), a);
	assert_int_equal(b->unit->res->master, 0);
	assert_int_equal(c->unit->res->master, 0);
	assert_int_equal(hv_pool_remove_pcpu(w->f.pool, 1), 0);
	world_end(w);
}

static void who_has_just_run_is_not_stolen_within_the_migration_delay(void **state)
{
	const char *const params[] = {"vcpu_migration_delay", "2000", NULL};
	struct world *w = world_start(1, 2, 1, params);
	struct c1_unit *a = new_unit_at(w, 0, 0), *b = new_unit_at(w, 0, 1);

	(void)state;
	run(w, a);
	wake_up(w, b);
	at(w, 5 * MS);
	pass(w, 0); /* a has run until now */
	assert_ptr_equal(running_on(w, 0), b);
	at(w, 7 * MS - 1);
	assert_int_equal(steals_from(w, 1), -1);
	at(w, 7 * MS);
	assert_int_equal(steals_from(w, 1), 0);
	assert_ptr_equal(running_on(w, 1), a);
	world_end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(case_10_a_sleeper_is_boosted_until_the_next_tick),
		cmocka_unit_test(a_boost_survives_a_short_sleep_and_ends_at_accounting),
		cmocka_unit_test(case_10_who_is_over_is_not_boosted),
		cmocka_unit_test(case_10_migration_is_no_sleep),
		cmocka_unit_test(case_11_a_unit_goes_before_the_first_lower_one),
		cmocka_unit_test(case_11_nobody_yields_to_the_last_on_the_queue),
		cmocka_unit_test(case_12_the_first_tick_after_accounting_sorts),
		cmocka_unit_test(places_in_the_queue_are_those_of_a_walk),
		cmocka_unit_test(case_13_the_rate_limit),
		cmocka_unit_test(every_pass_that_keeps_a_unit_gives_a_whole_slice),
		cmocka_unit_test(work_for_the_hypervisor_goes_first),
		cmocka_unit_test(case_21_runnable_units_are_counted),
		cmocka_unit_test(case_14_a_pcpu_looks_for_work_once_a_millisecond),
		cmocka_unit_test(case_14_a_pcpu_that_has_just_gone_idle_ignores_a_request),
		cmocka_unit_test(case_15_victims_are_visited_in_turn_own_node_first),
		cmocka_unit_test(case_15_the_search_goes_on_where_it_ended),
		cmocka_unit_test(case_15_nodes_are_searched_upwards),
		cmocka_unit_test(a_search_goes_on_from_the_lowest_when_its_place_has_left),
		cmocka_unit_test(case_15_soft_affinity_is_looked_for_on_all_nodes_first),
		cmocka_unit_test(case_15_a_pcpu_with_one_unit_is_left_alone),
		cmocka_unit_test(case_15_who_is_over_steals_only_better_ones),
		cmocka_unit_test(a_search_ends_at_the_first_unit_that_is_not_better),
		cmocka_unit_test(who_has_yielded_is_not_stolen),
		cmocka_unit_test(a_pcpu_on_its_way_from_idle_is_left_alone),
		cmocka_unit_test(who_is_being_switched_out_is_not_stolen),
		cmocka_unit_test(a_new_pcpu_does_not_look_for_work_at_once),
		cmocka_unit_test(a_pcpu_that_leaves_does_not_steal),
		cmocka_unit_test(who_has_just_run_is_not_stolen_within_the_migration_delay),
	};

	return cmocka_run_group_tests_name("credit_schedule", tests, NULL, NULL);
}
