/*
 * Timer ticks, accounting and residual wake-ups of guests, workloads section 1.2.
 */
#include "guest_world.h"

#include "guest/kernel.h"

static struct op hog_op[] = {FOREVER(3), COMPUTE(SECOND), END(1)};

static int64_t running_time(const struct world *w, unsigned guest, unsigned vcpu)
{
	struct hv_runstate rs;

	hv_runstate_get(w->vm[guest]->vcpu[vcpu]->hv, &rs);
	return rs.time[HV_RUNNING];
}

static void a_busy_vcpu_pays_c9_every_4_ms(void **state)
{
	struct op op[] = {COMPUTE(100 * MS), DONE};
	struct program p = PROGRAM("p", op);
	struct task_group g = {.name = "g", .count = 1};
	struct workload wl = WORKLOAD(1, &p, 1, &g, .runs = 1);
	struct world w;

	(void)state;
	world_init(&w, 1, 1);
	w.params.cost.exit = 700;
	w.params.cost.guest_tick = 2900;
	world_guest(&w, "vm", 1, &wl);
	world_start(&w);
	world_run(&w, 200 * MS);
	/* The 25th, at 100.0 ms, comes before the work ends at 100 ms + 24 x 2.9 us. */
	assert_int_equal(world_result(&w, 0).user_ticks, 25);
	/* C1 of the entry goes before the work. */
	assert_int_equal(world_result(&w, 0).elapsed_last, 100 * MS + 25 * 2900 + 700);
	world_fini(&w);
}

static void an_idle_vcpu_has_no_tick(void **state)
{
	struct world w;

	(void)state;
	world_alone(&w, 2, 2, &workload_idle);
	world_run(&w, SECOND);
	assert_int_equal(world_result(&w, 0).user_ticks + world_result(&w, 0).system_ticks, 0);
	assert_int_equal(running_time(&w, 0, 0), 0);
	world_fini(&w);
}

static void an_idle_guest_wakes_about_ten_times_a_second_per_vcpu_for_30_us(void **state)
{
	struct world w;
	struct guest_result r;
	int64_t ran = 0;

	(void)state;
	world_init(&w, 4, 1);
	w.guest_params.residual_mean = 100 * MS;
	world_guest(&w, "vm", 4, &workload_idle);
	world_start(&w);
	world_run(&w, 250 * SECOND);
	r = world_result(&w, 0);
	/* 4 x 250 s x 10/s; 5 % are five standard deviations. */
	assert_in_range(r.residuals, 9500, 10500);
	for (unsigned i = 0; i < 4; i++)
		ran += running_time(&w, 0, i);
	/* And each vCPU fills its 16 KiB of cache once, in less than 20 us. */
	assert_in_range(ran, (int64_t)r.residuals * 30 * US,
			(int64_t)r.residuals * 30 * US + 80 * US);
	world_fini(&w);
}

static void time_taken_by_others_is_charged_to_the_current_task(void **state)
{
	struct program p = PROGRAM("hog", hog_op);
	struct task_group g = {.name = "g", .count = 1};
	struct workload wl = WORKLOAD(1, &p, 1, &g);
	struct world w;

	(void)state;
	world_init(&w, 1, 1);
	w.policy = "credit2";
	world_guest(&w, "a", 1, &wl);
	world_guest(&w, "b", 1, &wl);
	world_start(&w);
	world_run(&w, 10 * SECOND);
	for (unsigned i = 0; i < 2; i++) {
		/* Each has had half the pCPU, and believes it had all of it: 2,500 ticks. */
		assert_in_range(running_time(&w, i, 0), 4800 * MS, 5200 * MS);
		assert_in_range(world_result(&w, i).user_ticks, 2490, 2500);
	}
	world_fini(&w);
}

/* It waits for its pCPU from 10 ms, when its task wakes, until 105 ms: nothing was current. */
static void a_wait_after_a_wake_is_idle_time_for_the_guest(void **state)
{
	struct op op[] = {SLEEP(10 * MS), COMPUTE(20 * MS), DONE};
	struct program p = PROGRAM("p", op);
	struct task_group g = {.name = "g", .count = 1};
	struct workload wl = WORKLOAD(1, &p, 1, &g, .runs = 1);
	struct world w;

	(void)state;
	world_alone(&w, 1, 1, &wl);
	world_run(&w, 5 * MS);
	assert_int_equal(hv_domain_pause(w.vm[0]->domain), 0);
	world_run(&w, 105 * MS);
	assert_int_equal(hv_domain_unpause(w.vm[0]->domain), 0);
	world_run(&w, 200 * MS);
	assert_int_equal(world_result(&w, 0).elapsed_last, 125 * MS);
	assert_int_equal(world_result(&w, 0).user_ticks, 5);
	world_fini(&w);
}

/* The same pause in the middle of its work belongs to the task. */
static void a_wait_in_the_middle_of_work_is_busy_time_for_the_guest(void **state)
{
	struct op op[] = {COMPUTE(20 * MS), DONE};
	struct program p = PROGRAM("p", op);
	struct task_group g = {.name = "g", .count = 1};
	struct workload wl = WORKLOAD(1, &p, 1, &g, .runs = 1);
	struct world w;

	(void)state;
	world_alone(&w, 1, 1, &wl);
	world_run(&w, 5 * MS);
	assert_int_equal(hv_domain_pause(w.vm[0]->domain), 0);
	world_run(&w, 105 * MS);
	assert_int_equal(hv_domain_unpause(w.vm[0]->domain), 0);
	world_run(&w, 200 * MS);
	assert_int_equal(world_result(&w, 0).elapsed_last, 120 * MS);
	assert_in_range(world_result(&w, 0).user_ticks, 29, 30); /* the last may come at the end */
	world_fini(&w);
}

static void system_time_is_the_given_share_of_ticks(void **state)
{
	struct op op[] = {FOREVER(3), COMPUTE_BG(SECOND), END(1)};
	struct program p = PROGRAM("p", op);
	struct background bg = {.name = "bg", .system_share = PROGRAM_ONE / 4};
	struct task_group g = {.name = "g", .count = 1};
	struct workload wl = WORKLOAD(1, &p, 1, &g, .background = &bg, .n_backgrounds = 1);
	struct world w;
	struct guest_result r;

	(void)state;
	world_alone(&w, 1, 1, &wl);
	world_run(&w, 4 * SECOND);
	r = world_result(&w, 0);
	assert_int_equal(r.user_ticks + r.system_ticks, 1000);
	assert_int_equal(r.system_ticks, 250);
	world_fini(&w);
}

static void counters_start_anew_after_the_warm_up(void **state)
{
	struct op op[] = {FOREVER(4), COMPUTE(MS), COUNT(3), END(1)};
	struct program p = PROGRAM("p", op);
	struct task_group g = {.name = "g", .count = 1};
	struct workload wl = WORKLOAD(1, &p, 1, &g);
	struct world w;
	struct guest_result r;

	(void)state;
	world_alone(&w, 1, 1, &wl);
	world_run(&w, 100 * MS + 1);
	guest_measure(w.guest[0]);
	world_run(&w, 600 * MS + 1);
	r = world_result(&w, 0);
	assert_int_equal(r.time, 500 * MS);
	assert_int_equal(r.count, 1500);
	assert_int_equal(r.work, 500 * MS);
	assert_int_equal(r.user_ticks, 125);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_busy_vcpu_pays_c9_every_4_ms),
		cmocka_unit_test(an_idle_vcpu_has_no_tick),
		cmocka_unit_test(an_idle_guest_wakes_about_ten_times_a_second_per_vcpu_for_30_us),
		cmocka_unit_test(time_taken_by_others_is_charged_to_the_current_task),
		cmocka_unit_test(a_wait_after_a_wake_is_idle_time_for_the_guest),
		cmocka_unit_test(a_wait_in_the_middle_of_work_is_busy_time_for_the_guest),
		cmocka_unit_test(system_time_is_the_given_share_of_ticks),
		cmocka_unit_test(counters_start_anew_after_the_warm_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
