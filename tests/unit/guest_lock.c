/*
 * Locks and synchronous calls of guests, workloads sections 1.3 and 1.4.
 */
#include "guest_world.h"

#include "guest/kernel.h"

static struct lock_desc spin_lock = {.name = "spin", .kind = LOCK_SPIN_GLOBAL, .count = 1};
static struct lock_desc mutex = {.name = "mutex", .kind = LOCK_MUTEX, .count = 1};
static struct lock_desc futex = {.name = "futex", .kind = LOCK_FUTEX, .count = 1};
static struct lock_desc rwlock = {.name = "rw", .kind = LOCK_RW, .count = 1};

static struct op hog_op[] = {FOREVER(3), COMPUTE(SECOND), END(1)};
static struct program hog_program = PROGRAM("hog", hog_op);
static struct task_group hog_group = {.name = "hog", .count = 1};
static struct workload hog = {.name = "hog",
			      .cls = &plain_class,
			      .n_classes = 1,
			      .program = &hog_program,
			      .n_programs = 1,
			      .group = &hog_group,
			      .n_groups = 1};

/* Takes the lock, works inside, lets go. */
static struct op visit_op[] = {OP(OP_LOCK, 0), COMPUTE(1 * MS), OP(OP_UNLOCK, 0)};
static struct program visit[] = {PROGRAM("visit", visit_op)};

/* n tasks, task i on vCPU i, the i-th from i x 10 us on. */
static struct workload visitors(struct lock_desc *lock, struct task_group *g, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		g[i] = (struct task_group){.name = "v",
					   .count = 1,
					   .placement = PLACE_ONE,
					   .vcpu = i,
					   .start = CONST((int64_t)i * 10 * US)};
	return (struct workload){.name = "visitors",
				 .cls = &plain_class,
				 .n_classes = 1,
				 .lock = lock,
				 .n_locks = 1,
				 .program = visit,
				 .n_programs = 1,
				 .group = g,
				 .n_groups = n};
}

static struct hv_runstate runstate(const struct world *w, unsigned guest, unsigned vcpu)
{
	struct hv_runstate rs;

	hv_runstate_get(w->vm[guest]->vcpu[vcpu]->hv, &rs);
	return rs;
}

static void the_spin_lock_serves_in_order_of_arrival(void **state)
{
	struct task_group g[4];
	struct workload wl = visitors(&spin_lock, g, 4);
	struct world w;

	(void)state;
	world_init(&w, 4, 1);
	w.guest_params.lock_variant = LOCK_TICKET;
	world_guest(&w, "vm", 4, &wl);
	world_start(&w);
	for (unsigned i = 0; i < 4; i++) {
		world_run(&w, (int64_t)i * MS + 500 * US);
		assert_int_equal(w.guest[0]->spin.holder->id, i);
	}
	world_run(&w, 10 * MS);
	assert_null(w.guest[0]->spin.holder);
	assert_int_equal(world_result(&w, 0).lock_visits, 4);
	assert_int_equal(world_result(&w, 0).lock_contended, 3);
	assert_int_equal(world_result(&w, 0).lock_halts, 0);
	world_fini(&w);
}

static void a_plain_ticket_waiter_spins_until_it_is_served(void **state)
{
	struct task_group g[2];
	struct workload wl = visitors(&spin_lock, g, 2);
	struct world w;

	(void)state;
	world_init(&w, 2, 1);
	w.guest_params.lock_variant = LOCK_TICKET;
	w.guest_params.handover = 100;
	world_guest(&w, "vm", 2, &wl);
	world_start(&w);
	world_run(&w, 10 * MS);
	/* From 10 us to 1 ms it spins, 100 ns for the handover, then its own 1 ms. */
	assert_int_equal(runstate(&w, 0, 1).time[HV_RUNNING], 990 * US + 100 + 1 * MS);
	world_fini(&w);
}

static void a_paravirtual_waiter_halts_after_its_limit_and_is_kicked(void **state)
{
	struct task_group g[2];
	struct workload wl = visitors(&spin_lock, g, 2);
	struct world w;

	(void)state;
	world_init(&w, 2, 1);
	w.guest_params.spin_limit = 200 * US;
	world_guest(&w, "vm", 2, &wl);
	world_start(&w);
	world_run(&w, 209 * US);
	assert_int_equal(runstate(&w, 0, 1).state, HV_RUNNING);
	world_run(&w, 211 * US);
	assert_int_equal(runstate(&w, 0, 1).state, HV_BLOCKED);
	world_run(&w, 10 * MS);
	assert_int_equal(runstate(&w, 0, 1).time[HV_RUNNING], 200 * US + 1 * MS);
	assert_int_equal(world_result(&w, 0).lock_halts, 1);
	assert_int_equal(world_result(&w, 0).lock_kicks, 1);
	world_fini(&w);
}

static void a_spinner_with_pause_loop_exits_yields_its_pcpu(void **state)
{
	struct task_group g[2];
	struct workload wl = visitors(&spin_lock, g, 2);
	struct hv_mask hard[2];
	struct world w;

	(void)state;
	world_init(&w, 2, 1);
	w.policy = "credit2";
	w.guest_params.lock_variant = LOCK_TICKET_PLE;
	w.guest_params.ple_window = 2 * US;
	for (unsigned i = 0; i < 2; i++) {
		memset(&hard[i], 0, sizeof(hard[i]));
		hv_mask_set(&hard[i], i);
	}
	world_guest_on(&w, "vm", 2, &wl, hard);
	world_guest_on(&w, "hog", 1, &hog, &hard[1]);
	world_start(&w);
	world_run(&w, 900 * US);
	/* vCPU 1 shares its pCPU with the hog and gives way each time it has spun for 2 us. */
	assert_in_range(runstate(&w, 1, 0).time[HV_RUNNING], 850 * US, 900 * US);
	world_run(&w, 100 * MS);
	assert_int_equal(world_result(&w, 0).work, 2 * MS);
	world_fini(&w);
}

static void uncontended_visits_take_no_time_of_their_own(void **state)
{
	struct background bg = {.name = "bg", .lock_rate = 2000, .lock_hold = 2000};
	struct op op[] = {COMPUTE_BG(10 * SECOND), DONE};
	struct program p = PROGRAM("p", op);
	struct task_group g = {.name = "g", .count = 1};
	struct workload wl =
		WORKLOAD(1, &p, 1, &g, .background = &bg, .n_backgrounds = 1, .runs = 1);
	struct world w;
	struct guest_result r;

	(void)state;
	world_alone(&w, 1, 1, &wl);
	world_run(&w, 11 * SECOND);
	r = world_result(&w, 0);
	assert_int_equal(r.elapsed_last, 10 * SECOND);
	/* 2,000 per second of work; 3 % are four standard deviations. */
	assert_in_range(r.lock_visits, 19400, 20600);
	assert_int_equal(r.lock_contended, 0);
	world_fini(&w);
}

/*
 * Two pCPUs; vCPU 0 works 5 ms under the lock, as an OP_LOCK or as a visit of the background;
 * vCPU 1 wants it 0.5 ms later and spins. ns that vCPU 1 spun.
 */
static int64_t spun_behind_holder(bool visit_of_background, bool with_hog)
{
	struct background bg[] = {
		{.name = "first",
		 .lock_rate = 100,
		 .lock_hold = 9 * MS}, /* first visit within 10 ms */
		{.name = "none"},
	};
	struct op holder_op[] = {OP(OP_LOCK, 0), COMPUTE(5 * MS), OP(OP_UNLOCK, 0)};
	struct op visitor_op[] = {COMPUTE_BG(6 * MS)};
	struct program p[] = {PROGRAM("visit", visit_op),
			      visit_of_background ? (struct program)PROGRAM("bg", visitor_op)
						  : (struct program)PROGRAM("holder", holder_op)};
	struct task_group g[] = {
		{.name = "holder", .count = 1, .program = 1, .placement = PLACE_ONE, .vcpu = 0},
		{.name = "waiter", .count = 1, .placement = PLACE_ONE, .vcpu = 1}};
	struct workload wl = WORKLOAD(2, p, 2, g, .lock = &spin_lock, .n_locks = 1,
				      .background = bg, .n_backgrounds = 2);
	struct hv_mask hard[2];
	struct world w;
	struct vcpu *holder, *waiter;
	hv_time from, now = 0;

	world_init(&w, 2, 1);
	w.policy = "credit2";
	w.guest_params.lock_variant = LOCK_TICKET;
	for (unsigned i = 0; i < 2; i++) {
		memset(&hard[i], 0, sizeof(hard[i]));
		hv_mask_set(&hard[i], i);
	}
	world_guest_on(&w, "vm", 2, &wl, hard);
	if (with_hog)
		world_guest_on(&w, "hog", 1, &hog, &hard[0]);
	holder = &w.guest[0]->vcpu[0];
	waiter = &w.guest[0]->vcpu[1];
	world_start(&w);
	/* The holder enters; then the waiter comes. */
	w.guest[0]->task[1].step = STEP_WAIT;
	while (w.guest[0]->spin.holder != holder)
		world_run(&w, now += 10 * US);
	w.guest[0]->task[1].granted = true;
	task_event(&w.guest[0]->task[1], NULL);
	from = now;
	while (waiter->lock != LOCK_HELD)
		world_run(&w, now += 10 * US);
	world_fini(&w);
	return now - from;
}

static void a_preempted_holder_stops_a_waiter_that_has_a_pcpu_of_its_own(void **state)
{
	(void)state;
	/* The holder has its pCPU for itself: the waiter waits for the rest of 5 ms. */
	assert_in_range(spun_behind_holder(false, false), 4900 * US, 5000 * US);
	/* With a hog it runs every second ms (credit2's rate limit): twice as long. */
	assert_in_range(spun_behind_holder(false, true), 9000 * US, 10000 * US);
}

static void a_holder_is_preempted_inside_a_folded_visit_as_well(void **state)
{
	int64_t alone = spun_behind_holder(true, false), beside = spun_behind_holder(true, true);

	(void)state;
	assert_in_range(alone, 1 * MS, 6 * MS);
	assert_in_range(beside, 2 * alone - 1100 * US, 2 * alone + 1100 * US);
}

/* Visitors of 1 ms at 0, 10 and 500 us under the queued lock; who has it at 1.5 and 2.5 ms. */
static void queued_order(int64_t spin_limit, uint32_t second, uint32_t third)
{
	struct task_group g[3];
	struct workload wl = visitors(&spin_lock, g, 3);
	struct world w;

	g[2].start.a = 500 * US;
	world_init(&w, 3, 1);
	w.guest_params.lock_variant = LOCK_PVQUEUED;
	w.guest_params.spin_limit = spin_limit;
	world_guest(&w, "vm", 3, &wl);
	world_start(&w);
	world_run(&w, 1500 * US);
	assert_int_equal(w.guest[0]->spin.holder->id, second);
	world_run(&w, 2500 * US);
	assert_int_equal(w.guest[0]->spin.holder->id, third);
	world_run(&w, 5 * MS);
	assert_int_equal(w.guest[0]->spin.nr_waiting, 0);
	assert_int_equal(world_result(&w, 0).work, 3 * MS);
	world_fini(&w);
}

static void a_queued_lock_is_stolen_past_a_halted_head(void **state)
{
	(void)state;
	queued_order(200 * US, 2, 1);
}

static void a_queued_lock_is_not_stolen_past_a_spinning_head(void **state)
{
	(void)state;
	queued_order(5 * MS, 1, 2);
}

static void a_queued_waiter_halts_early_behind_one_that_has_halted(void **state)
{
	struct task_group g[3];
	struct workload wl = visitors(&spin_lock, g, 3);
	struct world w;

	(void)state;
	world_init(&w, 3, 1);
	w.guest_params.lock_variant = LOCK_PVQUEUED;
	w.guest_params.spin_limit = 200 * US;
	w.guest_params.early_halt = 2 * US;
	world_guest(&w, "vm", 3, &wl);
	world_start(&w);
	/* The head came at 10 us and halts at 210 us, the next came at 20 us. */
	world_run(&w, 211 * US);
	assert_int_equal(runstate(&w, 0, 1).state, HV_BLOCKED);
	assert_int_equal(runstate(&w, 0, 2).state, HV_RUNNING);
	world_run(&w, 213 * US);
	assert_int_equal(runstate(&w, 0, 2).state, HV_BLOCKED);
	world_run(&w, 10 * MS);
	/* Each was kicked once, when it was the head. */
	assert_int_equal(world_result(&w, 0).lock_kicks, 2);
	world_fini(&w);
}

static void every_kind_of_lock_lets_all_work_be_done_under_overcommit(void **state)
{
	struct background bg = {.name = "bg",
				.lock_rate = 5000,
				.lock_hold = 20 * US,
				.partner_rate = 500,
				.partner_work = EXP(100 * US),
				.shootdown_rate = 50};
	struct op op[] = {COMPUTE_BG(500 * MS), COUNT(1)};
	struct program p = PROGRAM("p", op);
	struct task_group g = {.name = "g", .count = 8};
	struct workload wl = WORKLOAD(1, &p, 1, &g, .background = &bg, .n_backgrounds = 1);

	(void)state;
	for (enum lock_variant v = LOCK_TICKET; v <= LOCK_PVQUEUED; v++) {
		struct guest_result r;
		struct world w;

		world_init(&w, 2, 2);
		w.policy = "credit2";
		w.guest_params.lock_variant = v;
		w.guest_params.ple_window = 2 * US;
		w.guest_params.residual_mean = 100 * MS;
		world_guest(&w, "vm", 6, &wl);
		world_guest(&w, "hog", 1, &hog);
		world_start(&w);
		world_run(&w, 200 * SECOND);
		r = world_result(&w, 0);
		assert_int_equal(r.count, 8);
		assert_int_equal(r.work, 8 * 500 * MS);
		assert_true(r.lock_contended > 1000);
		assert_int_equal(w.guest[0]->spin.nr_waiting, 0);
		assert_int_equal(w.guest[0]->nr_queued, 0);
		world_fini(&w);
	}
}

static void waiters_of_a_mutex_are_served_in_order_and_sleep(void **state)
{
	struct task_group g[3];
	struct workload wl = visitors(&mutex, g, 3);
	struct world w;

	(void)state;
	world_alone(&w, 3, 3, &wl);
	for (unsigned i = 0; i < 3; i++) {
		world_run(&w, (int64_t)i * MS + 500 * US);
		assert_ptr_equal(w.guest[0]->inst[0].lock[0]->owner, &w.guest[0]->task[i]);
	}
	world_run(&w, 10 * MS);
	assert_int_equal(world_result(&w, 0).sleeping_contended, 2);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(runstate(&w, 0, i).time[HV_RUNNING], 1 * MS);
	world_fini(&w);
}

static void who_comes_by_may_take_a_mutex_before_the_woken_waiter(void **state)
{
	/* Task 0 unlocks at 1 ms and wakes task 1, but takes the lock again before task 1 runs. */
	struct op again[] = {OP(OP_LOCK, 0), COMPUTE(1 * MS), OP(OP_UNLOCK, 0),
			     OP(OP_LOCK, 0), COMPUTE(1 * MS), OP(OP_UNLOCK, 0)};
	struct program p[] = {PROGRAM("again", again), PROGRAM("visit", visit_op)};
	struct task_group g[] = {{.name = "again", .count = 1, .placement = PLACE_ONE, .vcpu = 0},
				 {.name = "visit",
				  .count = 1,
				  .program = 1,
				  .placement = PLACE_ONE,
				  .vcpu = 1,
				  .start = CONST(10 * US)}};
	struct workload wl = WORKLOAD(2, p, 2, g, .lock = &mutex, .n_locks = 1);
	struct world w;

	(void)state;
	world_alone(&w, 2, 2, &wl);
	world_run(&w, 1500 * US);
	assert_ptr_equal(w.guest[0]->inst[0].lock[0]->owner, &w.guest[0]->task[0]);
	assert_ptr_equal(w.guest[0]->inst[0].lock[0]->waiters.head, &w.guest[0]->task[1]);
	world_run(&w, 2500 * US);
	assert_ptr_equal(w.guest[0]->inst[0].lock[0]->owner, &w.guest[0]->task[1]);
	world_fini(&w);
}

static void a_futex_costs_system_calls_only_when_contended(void **state)
{
	struct task_group g[2];
	struct workload wl = visitors(&futex, g, 2);
	struct world w;

	(void)state;
	for (unsigned n = 1; n <= 2; n++) {
		int64_t running = 0;

		wl.n_groups = n;
		world_init(&w, 2, 1);
		w.guest_params.system_call = 300;
		world_guest(&w, "vm", 2, &wl);
		world_start(&w);
		world_run(&w, 10 * MS);
		for (unsigned i = 0; i < 2; i++)
			running += runstate(&w, 0, i).time[HV_RUNNING];
		assert_int_equal(running, n * MS + (n == 2 ? 600 : 0));
		world_fini(&w);
	}
}

static void readers_share_and_a_writer_waits_for_them(void **state)
{
	struct op read_op[] = {OP(OP_LOCK_SHARED, 0), COMPUTE(1 * MS), OP(OP_UNLOCK, 0)};
	struct program p[] = {PROGRAM("read", read_op), PROGRAM("write", visit_op)};
	/* Readers at 0 and 10 us, a writer at 20 us, a reader at 30 us that may not overtake. */
	struct task_group g[] = {
		{.name = "r0", .count = 1, .placement = PLACE_ONE, .vcpu = 0},
		{.name = "r1",
		 .count = 1,
		 .placement = PLACE_ONE,
		 .vcpu = 1,
		 .start = CONST(10 * US)},
		{.name = "w2",
		 .count = 1,
		 .program = 1,
		 .placement = PLACE_ONE,
		 .vcpu = 2,
		 .start = CONST(20 * US)},
		{.name = "r3",
		 .count = 1,
		 .placement = PLACE_ONE,
		 .vcpu = 3,
		 .start = CONST(30 * US)},
	};
	struct workload wl = WORKLOAD(2, p, 4, g, .lock = &rwlock, .n_locks = 1);
	struct world w;
	struct sleep_lock *l;

	(void)state;
	world_alone(&w, 4, 4, &wl);
	l = w.guest[0]->inst[0].lock[0];
	world_run(&w, 500 * US);
	assert_int_equal(l->readers, 2);
	world_run(&w, 1500 * US);
	assert_ptr_equal(l->owner, &w.guest[0]->task[2]);
	assert_int_equal(l->readers, 0);
	world_run(&w, 2500 * US);
	assert_null(l->owner);
	assert_int_equal(l->readers, 1);
	world_fini(&w);
}

static void a_shootdown_waits_for_a_preempted_target(void **state)
{
	struct op op[] = {LOOP(100, 4), COMPUTE(1 * MS), {.kind = OP_SHOOTDOWN}, END(1), DONE};
	struct program p[] = {PROGRAM("shoot", op), PROGRAM("hog", hog_op)};
	struct task_group g[] = {
		{.name = "shoot", .count = 1, .placement = PLACE_ONE, .vcpu = 0},
		{.name = "hog", .count = 1, .program = 1, .placement = PLACE_ONE, .vcpu = 1}};
	struct workload wl = WORKLOAD(2, p, 2, g, .runs = 1);
	struct hv_mask hard[2];
	int64_t elapsed[2];

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		memset(&hard[i], 0, sizeof(hard[i]));
		hv_mask_set(&hard[i], i);
	}
	for (unsigned shared = 0; shared < 2; shared++) {
		struct world w;

		world_init(&w, 2, 1);
		w.policy = "credit2";
		w.params.cost.shootdown = 2000;
		w.params.cost.shootdown_each = 250;
		if (shared) /* the hog of another VM comes first on pCPU 1 */
			world_guest_on(&w, "hog", 1, &hog, &hard[1]);
		world_guest_on(&w, "vm", 2, &wl, hard);
		world_start(&w);
		world_run(&w, SECOND);
		elapsed[shared] = world_result(&w, shared).elapsed_last;
		world_fini(&w);
	}
	/* Running target: C16 for one target, 2.25 us. Preempted: until its turn comes. */
	assert_int_equal(elapsed[0], 100 * (1 * MS + 2250));
	/* credit2 lets each run 1 ms (its rate limit): of three shootdowns one waits for 1 ms. */
	assert_in_range(elapsed[1], 130 * MS, 137 * MS);
}

static void nobody_is_asked_when_all_others_are_idle(void **state)
{
	struct op op[] = {COMPUTE(1 * MS), {.kind = OP_SHOOTDOWN}, COMPUTE(1 * MS), DONE};
	struct program p = PROGRAM("shoot", op);
	struct task_group g = {.name = "shoot", .count = 1};
	struct workload wl = WORKLOAD(1, &p, 1, &g, .runs = 1);
	struct world w;

	(void)state;
	world_init(&w, 2, 1);
	w.params.cost.shootdown = 2000;
	world_guest(&w, "vm", 2, &wl);
	world_start(&w);
	world_run(&w, SECOND);
	assert_int_equal(world_result(&w, 0).elapsed_last, 2 * MS);
	assert_int_equal(world_result(&w, 0).shootdowns, 0);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_spin_lock_serves_in_order_of_arrival),
		cmocka_unit_test(a_plain_ticket_waiter_spins_until_it_is_served),
		cmocka_unit_test(a_paravirtual_waiter_halts_after_its_limit_and_is_kicked),
		cmocka_unit_test(a_spinner_with_pause_loop_exits_yields_its_pcpu),
		cmocka_unit_test(uncontended_visits_take_no_time_of_their_own),
		cmocka_unit_test(a_preempted_holder_stops_a_waiter_that_has_a_pcpu_of_its_own),
		cmocka_unit_test(a_holder_is_preempted_inside_a_folded_visit_as_well),
		cmocka_unit_test(a_queued_lock_is_stolen_past_a_halted_head),
		cmocka_unit_test(a_queued_lock_is_not_stolen_past_a_spinning_head),
		cmocka_unit_test(a_queued_waiter_halts_early_behind_one_that_has_halted),
		cmocka_unit_test(every_kind_of_lock_lets_all_work_be_done_under_overcommit),
		cmocka_unit_test(waiters_of_a_mutex_are_served_in_order_and_sleep),
		cmocka_unit_test(who_comes_by_may_take_a_mutex_before_the_woken_waiter),
		cmocka_unit_test(a_futex_costs_system_calls_only_when_contended),
		cmocka_unit_test(readers_share_and_a_writer_waits_for_them),
		cmocka_unit_test(a_shootdown_waits_for_a_preempted_target),
		cmocka_unit_test(nobody_is_asked_when_all_others_are_idle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
