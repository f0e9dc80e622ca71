/*
 * The laws of a workload (program.h) and of running programs.
 */
#include "guest_world.h"

#include "guest/kernel.h"

static struct task_group group = {.name = "g", .count = 1};
static struct lock_desc locks[] = {{.name = "spin", .kind = LOCK_SPIN_GLOBAL, .count = 1},
				   {.name = "mutex", .kind = LOCK_MUTEX, .count = 4}};
static struct device_desc disk = {.name = "disk", .latency = EXP(MS)};

static struct workload with(struct program *p)
{
	return (struct workload){.name = "w",
				 .cls = &plain_class,
				 .n_classes = 1,
				 .lock = locks,
				 .n_locks = 2,
				 .device = &disk,
				 .n_devices = 1,
				 .program = p,
				 .n_programs = 1,
				 .group = &group,
				 .n_groups = 1};
}

static const char *fault_of(struct op *op, uint32_t n, uint32_t *at)
{
	struct program p = {"p", op, n};
	struct workload wl = with(&p);
	struct workload_fault f;

	if (!workload_check(&wl, &f))
		return NULL;
	*at = f.op;
	return f.law;
}

#define CHECK(law, op_number, ...)                                                    \
	do {                                                                          \
		struct op ops[] = {__VA_ARGS__};                                      \
		uint32_t at = 0;                                                      \
		const char *fault = fault_of(ops, sizeof(ops) / sizeof(ops[0]), &at); \
		assert_non_null(fault);                                               \
		assert_string_equal(fault, law);                                      \
		assert_int_equal(at, op_number);                                      \
	} while (0)

static void a_sound_program_passes(void **state)
{
	struct op op[] = {FOREVER(6),	    OP(OP_LOCK, 0), COMPUTE(5),
			  OP(OP_UNLOCK, 0), OP(OP_IO, 0),   END(1)};
	uint32_t at;

	(void)state;
	assert_null(fault_of(op, 6, &at));
}

static void loops_must_nest_and_end(void **state)
{
	(void)state;
	CHECK("a loop without an end", 0, LOOP(3, 2), COMPUTE(1));
	CHECK("an end without a loop", 1, COMPUTE(1), END(0));
	CHECK("targets of a loop", 2, LOOP(3, 2), COMPUTE(1), END(1));
	CHECK("targets of a loop", 2, LOOP(3, 3), COMPUTE(1), END(0));
	CHECK("loops are nested too deeply", 8, LOOP(1, 0), LOOP(1, 0), LOOP(1, 0), LOOP(1, 0),
	      LOOP(1, 0), LOOP(1, 0), LOOP(1, 0), LOOP(1, 0), LOOP(1, 0));
}

static void an_endless_loop_must_take_time(void **state)
{
	(void)state;
	CHECK("an endless loop without an op that takes time", 0, FOREVER(3), COUNT(1), END(1));
}

static void nobody_sleeps_inside_a_spin_lock(void **state)
{
	(void)state;
	CHECK("a task sleeps inside a spin lock", 1, OP(OP_LOCK, 0), SLEEP(5), OP(OP_UNLOCK, 0));
	CHECK("a spin lock inside a spin lock", 1, OP(OP_LOCK, 0), OP(OP_LOCK, 0));
	CHECK("a spin lock is never released", 2, OP(OP_LOCK, 0), COMPUTE(1));
}

static void objects_and_amounts_are_in_range(void **state)
{
	(void)state;
	CHECK("object of an op", 0, OP(OP_LOCK, 2));
	CHECK("object of an op", 0, OP(OP_LOCK_SHARED, 1));
	CHECK("object of an op", 0, OP(OP_IO, 1));
	CHECK("object of an op", 0, OP(OP_FORK, 0));
	CHECK("amount of an op", 0, COMPUTE(-1));
	CHECK("amount of an op", 0,
	      {.kind = OP_COMPUTE, .arg = -1, .amount = {AMOUNT_UNIFORM, 5, 4}});
	CHECK("amount of an op", 0,
	      {.kind = OP_COMPUTE, .arg = -1, .amount = {AMOUNT_REGISTER, 4, 1}});
	CHECK("amount of an op", 0,
	      {.kind = OP_COMPUTE, .arg = -1, .amount = {AMOUNT_LOGNORMAL, 4, 9 * PROGRAM_ONE}});
	CHECK("target of a chance or try", 1, COMPUTE(1),
	      {.kind = OP_CHANCE, .arg = 5, .target = 1});
}

static void a_pool_has_a_job_for_each_directory(void **state)
{
	struct op op[] = {COMPUTE(1)};
	struct program p = PROGRAM("p", op);
	struct pool_desc pool = {.name = "p", .jobs = 3, .directories = 4, .tokens = 1};
	struct workload wl = with(&p);
	struct workload_fault f;

	(void)state;
	wl.pool = &pool;
	wl.n_pools = 1;
	assert_int_equal(workload_check(&wl, &f), -HV_EINVAL);
	assert_string_equal(f.law, "a pool has tokens and a job for each directory");
	pool.directories = 3;
	assert_int_equal(workload_check(&wl, &f), 0);
}

static void the_idle_workload_is_sound(void **state)
{
	struct workload_fault f;

	(void)state;
	assert_int_equal(workload_check(&workload_idle, &f), 0);
}

static const struct mc_fault *run_program(struct world *w, struct program *p)
{
	static struct workload wl; /* outlives the guest */

	wl = with(p);
	world_init(w, 1, 1);
	world_guest(w, "vm", 1, &wl);
	world_start(w);
	return mc_run_until(w->machine, SECOND);
}

static void a_loop_whose_time_is_always_zero_stops_the_run_with_a_message(void **state)
{
	struct op op[] = {
		FOREVER(4), {.kind = OP_CHANCE, .arg = 0, .target = 3}, COMPUTE(5), END(1)};
	struct program p = PROGRAM("stuck", op);
	const struct mc_fault *f;
	struct world w;

	(void)state;
	f = run_program(&w, &p);
	assert_non_null(f);
	assert_int_equal(f->kind, MC_FAULT_LAW);
	assert_non_null(strstr(f->text, "VM vm, task 0"));
	assert_non_null(strstr(f->text, "no progress"));
	world_fini(&w);
}

static void try_takes_one_of_a_semaphore_or_does_its_body(void **state)
{
	/* Three may be taken; the fourth and fifth round do the body. */
	static struct semaphore_desc three = {.name = "three", .initial = 3};
	struct op op[] = {
		LOOP(5, 5), COMPUTE(5), {.kind = OP_TRY, .arg = 0, .target = 4}, COUNT(1), END(1)};
	struct program p = PROGRAM("p", op);
	struct workload wl = with(&p);
	struct workload_fault f;
	struct world w;

	(void)state;
	wl.semaphore = &three;
	assert_int_equal(workload_check(&wl, &f), -HV_EINVAL); /* it has none yet */
	assert_int_equal(f.op, 2);
	wl.n_semaphores = 1;
	world_alone(&w, 1, 1, &wl);
	world_run(&w, SECOND);
	assert_int_equal(world_result(&w, 0).count, 2);
	world_fini(&w);
}

static void a_clock_read_is_kernel_work_of_c18(void **state)
{
	struct op op[] = {
		LOOP(1000, 4), {.kind = OP_CLOCK, .amount = CONST(2)}, COMPUTE(20), END(1)};
	struct program p = PROGRAM("p", op);
	struct workload wl = with(&p);
	struct hv_runstate rs;
	struct world w;

	(void)state;
	world_init(&w, 1, 1);
	w.params.cost.clock_read = 490;
	world_guest(&w, "vm", 1, &wl);
	world_start(&w);
	world_run(&w, SECOND);
	hv_runstate_get(w.vm[0]->vcpu[0]->hv, &rs);
	assert_int_equal(rs.time[HV_RUNNING], 1000 * (2 * 490 + 20));
	assert_int_equal(world_result(&w, 0).work, 1000 * 20);
	world_fini(&w);
}

static void unlocking_what_is_not_held_stops_the_run_with_a_message(void **state)
{
	struct op op[] = {COMPUTE(5), OP(OP_UNLOCK, 1)};
	struct program p = PROGRAM("wrong", op);
	const struct mc_fault *f;
	struct world w;

	(void)state;
	f = run_program(&w, &p);
	assert_non_null(f);
	assert_non_null(strstr(f->text, "unlocks what it does not hold"));
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sound_program_passes),
		cmocka_unit_test(loops_must_nest_and_end),
		cmocka_unit_test(an_endless_loop_must_take_time),
		cmocka_unit_test(nobody_sleeps_inside_a_spin_lock),
		cmocka_unit_test(objects_and_amounts_are_in_range),
		cmocka_unit_test(a_pool_has_a_job_for_each_directory),
		cmocka_unit_test(the_idle_workload_is_sound),
		cmocka_unit_test(a_loop_whose_time_is_always_zero_stops_the_run_with_a_message),
		cmocka_unit_test(try_takes_one_of_a_semaphore_or_does_its_body),
		cmocka_unit_test(a_clock_read_is_kernel_work_of_c18),
		cmocka_unit_test(unlocking_what_is_not_held_stops_the_run_with_a_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
