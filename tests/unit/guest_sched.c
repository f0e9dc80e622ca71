/*
 * The guest kernel's scheduler, workloads section 1.1: placement of woken tasks, slices, pulls,
 * halts.
 */
#include "guest_world.h"

#include "guest/kernel.h"

static struct workload workload_of(struct program *p, unsigned programs, struct task_group *g,
				   unsigned groups)
{
	return (struct workload){.name = "test",
				 .cls = &plain_class,
				 .n_classes = 1,
				 .program = p,
				 .n_programs = programs,
				 .group = g,
				 .n_groups = groups};
}

static int64_t running_time(const struct world *w, unsigned guest, unsigned vcpu)
{
	struct hv_runstate rs;

	hv_runstate_get(w->vm[guest]->vcpu[vcpu]->hv, &rs);
	return rs.time[HV_RUNNING];
}

static void a_woken_task_returns_to_its_previous_vcpu_if_that_is_idle(void **state)
{
	/* Task 1 starts on vCPU 1, since 0 is busy; when it wakes at 20 ms vCPU 0 is idle too. */
	struct op op[] = {COMPUTE(5 * MS), SLEEP(15 * MS), COMPUTE(5 * MS)};
	struct op early[] = {COMPUTE(5 * MS)};
	struct program p[] = {PROGRAM("sleeper", op), PROGRAM("early", early)};
	struct task_group g[] = {{.name = "early", .count = 1, .program = 1},
				 {.name = "sleeper", .count = 1, .program = 0}};
	struct workload wl = workload_of(p, 2, g, 2);
	struct world w;

	(void)state;
	world_alone(&w, 4, 4, &wl);
	world_run(&w, 10 * MS);
	assert_int_equal(w.guest[0]->task[1].state, TASK_ASLEEP);
	assert_int_equal(w.guest[0]->task[1].vcpu->id, 1);
	world_run(&w, 21 * MS);
	assert_int_equal(w.guest[0]->task[1].state, TASK_CURRENT);
	assert_int_equal(w.guest[0]->task[1].vcpu->id, 1);
	world_fini(&w);
}

static void a_woken_task_goes_to_the_lowest_idle_vcpu_if_its_own_is_busy(void **state)
{
	struct op busy[] = {COMPUTE(SECOND)};
	struct op sleeper[] = {SLEEP(10 * MS), COMPUTE(5 * MS)};
	struct program p[] = {PROGRAM("busy", busy), PROGRAM("sleeper", sleeper)};
	/* The sleeper falls asleep on vCPU 0; then one task stays on 0 and one on 1. */
	struct task_group g[] = {{.name = "sleeper", .count = 1, .program = 1},
				 {.name = "busy",
				  .count = 2,
				  .program = 0,
				  .placement = PLACE_EACH,
				  .start = CONST(5 * MS)}};
	struct workload wl = workload_of(p, 2, g, 2);
	struct world w;

	(void)state;
	world_alone(&w, 4, 4, &wl);
	world_run(&w, 9 * MS);
	assert_int_equal(w.guest[0]->task[0].vcpu->id, 0);
	world_run(&w, 12 * MS);
	assert_int_equal(w.guest[0]->task[0].state, TASK_CURRENT);
	assert_int_equal(w.guest[0]->task[0].vcpu->id, 2);
	world_fini(&w);
}

static void a_woken_task_queues_behind_without_preempting_if_no_vcpu_is_idle(void **state)
{
	struct op busy[] = {COMPUTE(30 * MS)};
	struct op sleeper[] = {COMPUTE(1 * MS), SLEEP(10 * MS), COMPUTE(1 * MS)};
	struct program p[] = {PROGRAM("busy", busy), PROGRAM("sleeper", sleeper)};
	struct task_group g[] = {
		{.name = "sleeper", .count = 1, .program = 1},
		{.name = "busy", .count = 1, .program = 0, .start = CONST(5 * MS)}};
	struct workload wl = workload_of(p, 2, g, 2);
	struct world w;

	(void)state;
	world_alone(&w, 1, 1, &wl);
	/* It wakes at 11 ms; the next tick that may switch is at 12 ms. */
	world_run(&w, 11500 * US);
	assert_int_equal(w.guest[0]->task[0].state, TASK_QUEUED);
	assert_int_equal(w.guest[0]->task[1].state, TASK_CURRENT);
	world_run(&w, 12500 * US);
	assert_int_equal(w.guest[0]->task[0].state, TASK_CURRENT);
	world_fini(&w);
}

static void tasks_of_one_vcpu_share_it_evenly(void **state)
{
	struct op op[] = {FOREVER(4), COMPUTE(100 * US), COUNT(1), END(1)};
	struct program p[] = {PROGRAM("hog", op)};
	struct task_group g[] = {{.name = "hog", .count = 3, .program = 0}};
	struct workload wl = workload_of(p, 1, g, 1);
	struct world w;

	(void)state;
	world_alone(&w, 1, 1, &wl);
	world_run(&w, 1200 * MS);
	for (unsigned i = 0; i < 3; i++) {
		struct task *t = &w.guest[0]->task[i];
		int64_t ran = t->vruntime + (t->state == TASK_ASLEEP ? t->vcpu->min_vruntime : 0);

		/* 400 ms each; the switch comes with a tick of 4 ms. */
		assert_in_range(ran, 396 * MS, 404 * MS);
	}
	assert_in_range(world_result(&w, 0).count, 11990, 12000);
	/* One switch per tick: a slice of 2 ms is over at every tick of 4 ms. */
	assert_in_range(world_result(&w, 0).switches, 299, 301);
	world_fini(&w);
}

static void the_shortest_slice_grows_with_the_number_of_vcpus(void **state)
{
	static const struct {
		unsigned vcpus;
		int64_t slice;
	} c[] = {{1, 750 * US}, {2, 1500 * US}, {4, 2250 * US}, {16, 3750 * US}};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct world w;

		world_init(&w, 16, 1);
		world_guest(&w, "vm", c[i].vcpus, &workload_idle);
		assert_int_equal(w.guest[0]->min_slice, c[i].slice);
		world_fini(&w);
	}
}

static void a_vcpu_that_runs_dry_pulls_from_the_longest_queue(void **state)
{
	struct op longer[] = {COMPUTE(50 * MS)}, shorter[] = {COMPUTE(10 * MS)};
	struct program p[] = {PROGRAM("long", longer), PROGRAM("short", shorter)};
	/* vCPU 0: one short. vCPU 1: two tasks. vCPU 2: four tasks. */
	struct task_group g[] = {
		{.name = "short", .count = 1, .program = 1, .placement = PLACE_ONE, .vcpu = 0},
		{.name = "fixed1", .count = 1, .program = 0, .placement = PLACE_ONE, .vcpu = 1},
		{.name = "fixed2", .count = 1, .program = 0, .placement = PLACE_ONE, .vcpu = 2},
		{.name = "free", .count = 4, .program = 0, .start = CONST(1 * MS)},
	};
	struct workload wl = workload_of(p, 2, g, 4);
	struct world w;
	struct guest *guest;

	(void)state;
	world_init(&w, 3, 1);
	guest = world_guest(&w, "vm", 3, &wl);
	guest->task[3].vcpu = &guest->vcpu[1];
	for (unsigned i = 4; i < 7; i++)
		guest->task[i].vcpu = &guest->vcpu[2];
	world_start(&w);
	world_run(&w, 9 * MS);
	assert_int_equal(guest->vcpu[1].nr_queued, 1);
	assert_int_equal(guest->vcpu[2].nr_queued, 3);
	assert_int_equal(world_result(&w, 0).pulls, 0);
	world_run(&w, 11 * MS);
	assert_int_equal(guest->vcpu[1].nr_queued, 1);
	assert_int_equal(guest->vcpu[2].nr_queued, 2);
	assert_int_equal(world_result(&w, 0).pulls, 1);
	assert_true(guest->vcpu[0].curr >= &guest->task[4]);
	world_fini(&w);
}

static void a_task_that_is_fixed_to_a_vcpu_is_never_pulled(void **state)
{
	struct op op[] = {COMPUTE(10 * MS)};
	struct program p[] = {PROGRAM("p", op)};
	struct task_group g[] = {
		{.name = "fixed", .count = 3, .program = 0, .placement = PLACE_ONE, .vcpu = 1}};
	struct workload wl = workload_of(p, 1, g, 1);
	struct world w;

	(void)state;
	world_alone(&w, 2, 2, &wl);
	world_run(&w, 40 * MS);
	assert_int_equal(running_time(&w, 0, 1), 30 * MS);
	assert_int_equal(running_time(&w, 0, 0), 0);
	assert_int_equal(world_result(&w, 0).pulls, 0);
	world_fini(&w);
}

static void a_vcpu_halts_two_us_after_its_last_task(void **state)
{
	struct op op[] = {SLEEP(1 * MS), COMPUTE(3 * MS)};
	struct program p[] = {PROGRAM("p", op)};
	struct task_group g[] = {{.name = "g", .count = 1, .program = 0}};
	struct workload wl = workload_of(p, 1, g, 1);
	struct world w;
	struct hv_runstate rs;

	(void)state;
	world_init(&w, 1, 1);
	w.guest_params.idle_entry = 2 * US;
	world_guest(&w, "vm", 1, &wl);
	world_start(&w);
	world_run(&w, 4 * MS + 1 * US);
	hv_runstate_get(w.vm[0]->vcpu[0]->hv, &rs);
	assert_int_equal(rs.state, HV_RUNNING);
	world_run(&w, 10 * MS);
	hv_runstate_get(w.vm[0]->vcpu[0]->hv, &rs);
	assert_int_equal(rs.state, HV_BLOCKED);
	/*
	 * It went idle twice: when the task fell asleep at 0, and when it ended at 4 ms. The
	 * first time the kernel's 16 KiB are not in the cache yet: 2.5 us of debt, in which work
	 * takes twice as long.
	 */
	assert_int_equal(rs.time[HV_RUNNING], 3 * MS + 6 * US);
	assert_int_equal(world_result(&w, 0).halts, 2);
	world_fini(&w);
}

static void who_gets_a_task_on_the_way_to_the_halt_does_not_halt(void **state)
{
	/* The first sleeps at 0; the second wakes it 2 us later, while its vCPU still enters. */
	struct op wait[] = {OP(OP_WAIT, 0), COMPUTE(1 * MS)};
	struct op signal[] = {COMPUTE(2 * US), OP(OP_SIGNAL, 0), COMPUTE(2 * MS)};
	struct program p[] = {PROGRAM("w", wait), PROGRAM("s", signal)};
	struct task_group g[] = {
		{.name = "w", .count = 1, .program = 0, .placement = PLACE_ONE, .vcpu = 0},
		{.name = "s", .count = 1, .program = 1, .placement = PLACE_ONE, .vcpu = 1}};
	struct semaphore_desc s = {.name = "s"};
	struct workload wl = workload_of(p, 2, g, 2);
	struct world w;

	(void)state;
	wl.semaphore = &s;
	wl.n_semaphores = 1;
	world_init(&w, 2, 1);
	w.guest_params.idle_entry = 5 * US;
	world_guest(&w, "vm", 2, &wl);
	world_start(&w);
	world_run(&w, 1500 * US);
	assert_int_equal(world_result(&w, 0).halts, 1); /* after its work */
	world_run(&w, 10 * MS);
	assert_int_equal(world_result(&w, 0).halts, 2);
	world_fini(&w);
}

static void the_way_to_the_halt_feels_the_sibling(void **state)
{
	/* 10 us of kernel work (sigma 0.58, mu 0.15) beside a loop: tau = 0.85 / 0.58 + 0.15 */
	struct op loop[] = {COMPUTE(1 * SECOND)}, rest[] = {COMPUTE(1 * MS)};
	struct program p[] = {PROGRAM("loop", loop), PROGRAM("rest", rest)};
	struct task_group g = {.name = "g", .count = 1, .program = 0}, h = g;
	struct workload busy = workload_of(p, 2, &g, 1), idle = workload_of(p, 2, &h, 1);
	struct world w;

	(void)state;
	h.program = 1;
	world_init(&w, 1, 2);
	w.params.l2_bytes = w.params.llc_bytes = 1; /* no caches: nothing is cold */
	w.params.chi = 0;
	w.guest_params.idle_entry = 10 * US;
	world_guest(&w, "busy", 1, &busy);
	world_guest(&w, "idle", 1, &idle);
	world_start(&w);
	world_run(&w, 100 * MS);
	assert_in_range(running_time(&w, 1, 0), 1 * MS + 16155 - 30, 1 * MS + 16155 + 30);
	world_fini(&w);
}

static void a_switch_costs_c5_and_the_run_queue_lock(void **state)
{
	/* Two threads on one vCPU: at 4 ms the tick switches to the other, which ends at 8 ms. */
	struct op op[] = {COMPUTE(4 * MS)};
	struct program p[] = {PROGRAM("p", op)};
	struct task_group g[] = {{.name = "g", .count = 2, .program = 0}};
	struct workload wl = workload_of(p, 1, g, 1);
	struct world w;

	(void)state;
	world_init(&w, 1, 1);
	w.params.cost.thread_switch = 1100;
	w.params.cost.task_switch = 2400;
	w.guest_params.rq_lock = 400;
	world_guest(&w, "vm", 1, &wl);
	world_start(&w);
	world_run(&w, 20 * MS);
	/* Two wakes at the start, then thread 1, 2 (tick), 1, 2: four switches and picks. */
	assert_int_equal(world_result(&w, 0).switches, 4);
	assert_int_equal(running_time(&w, 0, 0), 8 * MS + 2 * 400 + 4 * 1500);
	world_fini(&w);
}

static void a_vcpu_set_off_line_gives_its_tasks_away(void **state)
{
	struct op op[] = {COMPUTE(20 * MS)};
	struct program p[] = {PROGRAM("p", op)};
	struct task_group g[] = {{.name = "g", .count = 2, .program = 0}};
	struct workload wl = workload_of(p, 1, g, 1);
	struct world w;

	(void)state;
	world_alone(&w, 2, 2, &wl);
	world_run(&w, 10 * MS);
	guest_set_vcpus(w.guest[0], 1);
	world_run(&w, 30 * MS);
	assert_int_equal(running_time(&w, 0, 1), 10 * MS);
	assert_int_equal(running_time(&w, 0, 0), 30 * MS);
	assert_int_equal(world_result(&w, 0).work, 40 * MS);
	guest_set_vcpus(w.guest[0], 2);
	world_run(&w, 31 * MS);
	assert_true(w.guest[0]->vcpu[1].online);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_woken_task_returns_to_its_previous_vcpu_if_that_is_idle),
		cmocka_unit_test(a_woken_task_goes_to_the_lowest_idle_vcpu_if_its_own_is_busy),
		cmocka_unit_test(a_woken_task_queues_behind_without_preempting_if_no_vcpu_is_idle),
		cmocka_unit_test(tasks_of_one_vcpu_share_it_evenly),
		cmocka_unit_test(the_shortest_slice_grows_with_the_number_of_vcpus),
		cmocka_unit_test(a_vcpu_that_runs_dry_pulls_from_the_longest_queue),
		cmocka_unit_test(a_task_that_is_fixed_to_a_vcpu_is_never_pulled),
		cmocka_unit_test(a_vcpu_halts_two_us_after_its_last_task),
		cmocka_unit_test(who_gets_a_task_on_the_way_to_the_halt_does_not_halt),
		cmocka_unit_test(the_way_to_the_halt_feels_the_sibling),
		cmocka_unit_test(a_switch_costs_c5_and_the_run_queue_lock),
		cmocka_unit_test(a_vcpu_set_off_line_gives_its_tasks_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
