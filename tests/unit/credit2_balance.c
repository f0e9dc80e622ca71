/* SPDX-License-Identifier: MIT */
/*
 * Credit2: balancing. The names T31... are those of the credit2 spec, section 20; Qn section 19.
 */
#include "credit2_world.h"

#define FULL 262144 /* load of one busy unit */

/* A blocked unit of the given load in the runqueue with this id, which may move anywhere. */
static struct c2_unit *unit_in(struct world *w, int id, int64_t load)
{
	struct c2_runq *rq = runq(w, id);
	struct c2_unit *u = new_unit(w, rq->act.w[0]);

	assert_ptr_equal(u->rq, rq);
	u->unit->hard = fake_all(w->f.nr_pcpus);
	u->load = load;
	u->lt = w->f.now >> C2_TICK_SHIFT;
	return u;
}

static void set_load(struct world *w, int id, int64_t pavg)
{
	struct c2_runq *rq = runq(w, id);

	rq->pavg = pavg;
	rq->lt = w->f.now >> C2_TICK_SHIFT;
}

static void balance(struct world *w, int from)
{
	struct c2_runq *rq = runq(w, from);

	fake_forget(&w->f);
	hv_lock_acquire(w->f.sys, &rq->lock);
	c2_balance(w->s, rq, w->f.now);
	hv_lock_release(w->f.sys, &rq->lock);
	fake_check(&w->f);
}

static unsigned moves(const struct world *w)
{
	return fake_count(&w->f, HV_TRACE_RQMOVE);
}

/* Both runqueues have a unit whose exchange would make the difference smaller, if looked for. */
static void t31_gates(void **state)
{
	static const struct {
		int64_t local, far, load;
		unsigned moves;
	} cases[] = {
		{393216, 131073, 100000, 0}, /* delta 262143, not full */
		{393216, 131072, 100000, 1},
		{557055, 524288, 10000, 0}, /* delta 32767, full */
		{557056, 524288, 10000, 1},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct world *w = world_start(2, 2, 1, NULL);

		unit_in(w, 0, cases[i].load);
		set_load(w, 0, cases[i].local);
		set_load(w, 1, cases[i].far);
		balance(w, 0);
		assert_int_equal(moves(w), cases[i].moves);
		world_end(w);
	}
}

static void t31_busy_units_move_only_if_that_helps(void **state)
{
	struct world *w = world_start(2, 2, 1, NULL);
	struct c2_unit *u[3];

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		u[i] = unit_in(w, 0, FULL);
	unit_in(w, 1, FULL);
	set_load(w, 0, 3 * FULL);
	set_load(w, 1, FULL);
	balance(w, 0);
	assert_int_equal(moves(w), 1);
	assert_ptr_equal(u[0]->rq, runq(w, 1));
	assert_int_equal(runq(w, 0)->pavg, 524288);
	assert_int_equal(runq(w, 1)->pavg, 524288);

	/* 2 : 1 passes the gate, but nothing makes it better. */
	set_load(w, 0, 2 * FULL);
	set_load(w, 1, FULL);
	balance(w, 0);
	assert_int_equal(moves(w), 0);
	world_end(w);
}

static void t32_the_best_exchange_is_taken(void **state)
{
	struct world *w = world_start(2, 2, 1, NULL);
	struct c2_unit *a = unit_in(w, 0, 200000), *stays = unit_in(w, 0, 150000);
	struct c2_unit *there = unit_in(w, 1, 60000), *b = unit_in(w, 1, 20000);

	(void)state;
	set_load(w, 0, 900000);
	set_load(w, 1, 550000);
	balance(w, 0);
	assert_int_equal(moves(w), 2);
	assert_ptr_equal(a->rq, runq(w, 1));
	assert_ptr_equal(b->rq, runq(w, 0));
	assert_ptr_equal(stays->rq, runq(w, 0));
	assert_ptr_equal(there->rq, runq(w, 1));
	assert_int_equal(runq(w, 0)->pavg, 720000);
	assert_int_equal(runq(w, 1)->pavg, 730000);
	world_end(w);
}

static void t33_q4_the_gate_looks_at_the_last_runqueue(void **state)
{
	static const int64_t last[] = {150000, 262144};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct world *w = world_start(3, 1, 1, NULL);
		struct c2_unit *u = unit_in(w, 0, 100000);

		unit_in(w, 0, 100000);
		set_load(w, 0, 200000);
		set_load(w, 1, 0);
		set_load(w, 2, last[i]);
		balance(w, 0);
		assert_int_equal(moves(w), i);
		assert_int_equal(u->rq->id, i);
		world_end(w);
	}
}

static void t34_a_running_unit_moves_when_it_is_off_its_pcpu(void **state)
{
	struct world *w = world_start(2, 1, 1, NULL);
	struct c2_unit *u = new_unit(w, 1);
	struct c2_runq *from = runq(w, 0), *to = runq(w, 1);

	(void)state;
	u->unit->hard = fake_all(2);
	run_on(w, u, 0);
	u->load = FULL;
	set_load(w, 0, 3 * FULL);
	set_load(w, 1, 0);
	balance(w, 0);
	assert_int_equal(moves(w), 1);
	assert_int_equal(last_tickle(w), 0);
	assert_true(u->flags & C2_MIGREQ);
	assert_true(vcpu_of(u)->pause_flags & HV_PF_MIGRATING);
	assert_ptr_equal(u->rq, from);
	assert_int_equal(from->nload, 1);

	w->f.hold_saves = true;
	fake_pass(&w->f, 0);
	assert_null(running_on(w, 0));
	assert_ptr_equal(u->rq, from);
	assert_int_equal(from->nload, 1);
	w->f.hold_saves = false;
	fake_save(&w->f, 0);
	assert_int_equal(from->nload, 0);
	assert_ptr_equal(u->rq, to);
	assert_int_equal(to->nload, 1);
	assert_false(u->flags & C2_MIGREQ);
	fake_drain(&w->f);
	assert_ptr_equal(running_on(w, 1), u);
	world_end(w);
}

/* A unit on pCPU 0 runs and has been asked to move to runqueue 1, as in T34. */
static struct c2_unit *asked_to_move(struct world *w)
{
	struct c2_unit *u = new_unit(w, 1);

	u->unit->hard = fake_all(2);
	run_on(w, u, 0);
	u->load = FULL;
	set_load(w, 0, 3 * FULL);
	set_load(w, 1, 0);
	balance(w, 0);
	assert_true(u->flags & C2_MIGREQ);
	assert_ptr_equal(u->mig_target, runq(w, 1));
	return u;
}

/* 15.1 step 2: the target is honoured only if hard affinity still allows it. */
static void a_move_asked_for_yields_to_hard_affinity(void **state)
{
	struct world *w = world_start(2, 1, 1, NULL);
	struct c2_unit *u = asked_to_move(w);
	struct hv_mask here = {{1}};

	(void)state;
	assert_int_equal(hv_affinity_set(vcpu_of(u), &here, NULL), 0);
	assert_true(u->flags & C2_MIGREQ);
	fake_drain(&w->f);
	fake_check(&w->f);
	assert_false(u->flags & C2_MIGREQ);
	assert_ptr_equal(u->rq, runq(w, 0));
	assert_ptr_equal(running_on(w, 0), u);
	assert_int_equal(runq(w, 1)->bias, 1);
	world_end(w);
}

/* 16.3: who has been asked already does not count as movable. */
static void a_unit_is_asked_to_move_once(void **state)
{
	struct world *w = world_start(2, 1, 1, NULL);
	struct c2_unit *u = asked_to_move(w);

	(void)state;
	fake_forget(&w->f);
	balance(w, 0);
	assert_int_equal(moves(w), 0);
	assert_true(u->flags & C2_MIGREQ);
	world_end(w);
}

/* The runqueue that it was to move to is gone before it is off its pCPU: it picks as others do. */
static void a_move_to_a_runqueue_that_goes_is_forgotten(void **state)
{
	struct world *w = world_start(2, 1, 1, NULL);
	struct c2_unit *u = asked_to_move(w);

	(void)state;
	assert_int_equal(hv_pool_remove_pcpu(w->f.pool, 1), 0);
	assert_null(runq(w, 0)->next);
	assert_false(u->flags & C2_MIGREQ);
	assert_null(u->mig_target);
	assert_true(vcpu_of(u)->pause_flags & HV_PF_MIGRATING);
	fake_drain(&w->f);
	fake_check(&w->f);
	assert_ptr_equal(running_on(w, 0), u);
	assert_int_equal(vcpu_of(u)->pause_flags, 0);
	world_end(w);
}

/* The unit that the pass chooses may itself be marked: it is loaded, and leaves at once. */
static void the_chosen_unit_may_be_asked_to_move(void **state)
{
	struct world *w = world_start(2, 1, 1, NULL);
	struct c2_unit *u = new_unit(w, 1);

	(void)state;
	u->unit->hard = fake_all(2);
	set_credit(w, u, 0);
	wake_up(u);
	set_load(w, 0, 3 * FULL);
	set_load(w, 1, 0);
	u->load = FULL;
	fake_pass(&w->f, 0);
	assert_ptr_equal(running_on(w, 0), u);
	assert_int_equal(vcpu_of(u)->runstate.state, HV_RUNNING);
	assert_true(u->flags & C2_MIGREQ);
	fake_drain(&w->f);
	assert_ptr_equal(running_on(w, 1), u);
	world_end(w);
}

/*
 * The pass that resets asks the unit that it is switching out to move: that one was to be queued
 * again (12.5), but is not runnable any more when it is saved (13.1), and goes away instead.
 */
static void a_unit_on_its_way_out_may_be_asked_to_move(void **state)
{
	struct world *w = world_start(2, 1, 1, NULL);
	struct c2_unit *u = new_unit(w, 1), *next = new_unit(w, 1);

	(void)state;
	u->unit->hard = fake_all(2);
	run_on(w, u, 0);
	set_credit(w, next, 0);
	wake_up(next);
	at(w, 2 * MS);
	set_credit(w, u, -1000);
	set_load(w, 0, 3 * FULL);
	set_load(w, 1, 0);
	u->load = FULL;
	w->f.hold_saves = true;
	fake_pass(&w->f, 0);
	assert_ptr_equal(running_on(w, 0), next);
	assert_true(u->flags & C2_REQUEUE && u->flags & C2_MIGREQ);
	assert_int_equal(runq(w, 0)->nload, 2);

	w->f.hold_saves = false;
	at(w, 3 * MS);
	fake_save(&w->f, 0);
	fake_check(&w->f);
	assert_int_equal(u->lt, w->f.now >> C2_TICK_SHIFT); /* its load fell, and rose there */
	assert_int_equal(runq(w, 0)->nload, 1);
	assert_ptr_equal(u->rq, runq(w, 1));
	fake_drain(&w->f);
	assert_ptr_equal(running_on(w, 1), u);
	assert_ptr_equal(running_on(w, 0), next);
	world_end(w);
}

static void q5_loads_of_the_far_side_may_be_stale(void **state)
{
	(void)state;
	for (int pinned = 0; pinned <= 1; pinned++) {
		struct world *w = world_start(2, 2, 1, NULL);
		struct c2_unit *a = unit_in(w, 0, FULL / 2), *b = unit_in(w, 1, FULL / 2);

		if (pinned)
			a->unit->hard = fake_mask2(0, 1);
		at(w, 200 * MS);
		set_load(w, 0, 2 * FULL);
		set_load(w, 1, 0);
		balance(w, 0);
		assert_true(a->load < FULL / 2);
		assert_int_equal(b->load == FULL / 2, pinned);
		world_end(w);
	}
}

/* The exponents may be anything: beyond all loads nothing is balanced, far below everything is. */
static void tolerances_are_exponents(void **state)
{
	static const struct {
		const char *over;
		unsigned moves;
	} cases[] = {{"-3", 0}, {"-4", 1}, {"-2000000000", 1}, {"100", 0}};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		const char *const params[] = {"credit2_balance_over", cases[i].over, NULL};
		struct world *w = world_start(2, 2, 1, params);

		unit_in(w, 0, 10000);
		set_load(w, 0, 557000);
		set_load(w, 1, 524288);
		balance(w, 0);
		assert_int_equal(moves(w), cases[i].moves);
		world_end(w);
	}
}

/* ---- the search against the one of the spec: all pairs in order, only strictly better ones */

static bool may_move(const struct c2_unit *u, const struct c2_runq *to)
{
	return !(u->flags & C2_MIGREQ) && (u->unit->hard.w[0] & to->act.w[0]);
}

static void try_pair(struct c2_exchange *x, struct c2_unit *a, struct c2_unit *b)
{
	int64_t l = x->local - (a ? a->load : 0) + (b ? b->load : 0);
	int64_t o = x->far + (a ? a->load : 0) - (b ? b->load : 0);
	int64_t d = l > o ? l - o : o - l;

	if (d < x->best) {
		x->best = d;
		x->a = a;
		x->b = b;
	}
}

static void all_pairs(const struct c2_runq *local, const struct c2_runq *far, struct c2_exchange *x)
{
	for (struct c2_unit *a = local->members; a; a = a->member_next) {
		if (!may_move(a, far))
			continue;
		for (struct c2_unit *b = far->members; b; b = b->member_next)
			if (may_move(b, local))
				try_pair(x, a, b);
		try_pair(x, a, NULL);
	}
	for (struct c2_unit *b = far->members; b; b = b->member_next)
		if (may_move(b, local))
			try_pair(x, NULL, b);
}

static uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static void the_search_finds_what_trying_all_pairs_finds(void **state)
{
	static const int64_t ranges[] = {3, 20, 1000, FULL + 1};
	struct world *w = world_start(2, 2, 1, NULL);
	struct c2_unit *u[24];
	uint64_t seed = 7;
	unsigned found = 0;

	(void)state;
	for (unsigned i = 0; i < 24; i++)
		u[i] = unit_in(w, i < 13 ? 0 : 1, 0);
	for (unsigned round = 0; round < 20000; round++) {
		struct c2_exchange x = {0}, expected;
		int64_t range = ranges[round % 4];

		for (unsigned i = 0; i < 24; i++) {
			bool stays = draw(&seed) % 4 == 0;

			u[i]->load = (int64_t)(draw(&seed) % (uint64_t)range);
			u[i]->unit->hard.w[0] = stays ? u[i]->rq->act.w[0] : 0xf;
		}
		x.local = (int64_t)(draw(&seed) % (uint64_t)(6 * range));
		x.far = (int64_t)(draw(&seed) % (uint64_t)(6 * range));
		x.best = x.local > x.far ? x.local - x.far : x.far - x.local;
		expected = x;
		all_pairs(runq(w, 0), runq(w, 1), &expected);
		hv_lock_acquire(w->f.sys, &runq(w, 0)->lock);
		hv_lock_acquire(w->f.sys, &runq(w, 1)->lock);
		c2_find_exchange(w->s, runq(w, 0), runq(w, 1), &x, w->f.now);
		hv_lock_release(w->f.sys, &runq(w, 0)->lock);
		hv_lock_release(w->f.sys, &runq(w, 1)->lock);
		assert_int_equal(x.best, expected.best);
		assert_ptr_equal(x.a, expected.a);
		assert_ptr_equal(x.b, expected.b);
		found += x.a || x.b;
	}
	assert_true(found > 10000);
	world_end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t31_gates),
		cmocka_unit_test(t31_busy_units_move_only_if_that_helps),
		cmocka_unit_test(t32_the_best_exchange_is_taken),
		cmocka_unit_test(t33_q4_the_gate_looks_at_the_last_runqueue),
		cmocka_unit_test(t34_a_running_unit_moves_when_it_is_off_its_pcpu),
		cmocka_unit_test(a_move_asked_for_yields_to_hard_affinity),
		cmocka_unit_test(a_unit_is_asked_to_move_once),
		cmocka_unit_test(a_move_to_a_runqueue_that_goes_is_forgotten),
		cmocka_unit_test(the_chosen_unit_may_be_asked_to_move),
		cmocka_unit_test(a_unit_on_its_way_out_may_be_asked_to_move),
		cmocka_unit_test(q5_loads_of_the_far_side_may_be_stale),
		cmocka_unit_test(tolerances_are_exponents),
		cmocka_unit_test(the_search_finds_what_trying_all_pairs_finds),
	};

	return cmocka_run_group_tests_name("credit2: balancing", tests, NULL, NULL);
}
