/*
 * Builds: job pools and background activity (workloads section 3.1), and what random draws depend
 * on.
 */
#include "guest_world.h"

#include "guest/kernel.h"

#define JOBS 60

struct build {
	struct op job[2], make[4];
	struct program program[2];
	struct background bg;
	struct pool_desc pool;
	struct task_group group;
	struct workload wl;
};

/* JOBS jobs of 10 ms in 7 directories, then a serial part of 100 ms. */
static void build_init(struct build *b, unsigned tokens)
{
	*b = (struct build){
		.job = {COMPUTE_BG(10 * MS), COUNT(1)},
		.make = {OP(OP_FORK, 0), OP(OP_JOIN, 0), COMPUTE_BG(100 * MS), DONE},
		.bg = {.name = "compile"},
		.pool = {.name = "objects",
			 .jobs = JOBS,
			 .directories = 7,
			 .tokens = tokens,
			 .program = 0},
		.group = {.name = "make", .count = 1, .program = 1},
	};
	b->program[0] = (struct program){"job", b->job, 2};
	b->program[1] = (struct program){"make", b->make, 4};
	b->wl = (struct workload){.name = "build",
				  .cls = &plain_class,
				  .n_classes = 1,
				  .background = &b->bg,
				  .n_backgrounds = 1,
				  .pool = &b->pool,
				  .n_pools = 1,
				  .program = b->program,
				  .n_programs = 2,
				  .group = &b->group,
				  .n_groups = 1,
				  .runs = 1,
				  .metric = {METRIC_ELAPSED, "elapsed", ""}};
}

static void a_build_on_one_vcpu_takes_its_work_and_the_known_overheads(void **state)
{
	struct build b;
	struct world w;
	struct guest_result r;
	int64_t work = JOBS * 10 * MS + 100 * MS, ticks, expected;

	(void)state;
	build_init(&b, 1);
	world_init(&w, 1, 1);
	w.params.cost.exit = 700;
	w.params.cost.guest_tick = 2900;
	w.params.cost.task_switch = 2400;
	w.guest_params.rq_lock = 400;
	world_guest(&w, "vm", 1, &b.wl);
	world_start(&w);
	world_run(&w, 2 * SECOND);
	r = world_result(&w, 0);
	assert_int_equal(r.runs, 1);
	assert_int_equal(r.jobs, JOBS);
	assert_int_equal(r.count, JOBS);
	assert_int_equal(r.work, work);
	/* make, the worker, make again: three switches and three wake-ups. */
	assert_int_equal(r.switches, 3);
	assert_int_equal(r.wakes, 3);
	ticks = (int64_t)(r.user_ticks + r.system_ticks);
	assert_in_range(ticks, work / (4 * MS), work / (4 * MS) + 1);
	/* One entry (C1), C9 per tick, C5 + 0.4 us per switch, 0.4 us per wake-up. */
	expected = work + 700 + ticks * 2900 + 3 * 2800 + 3 * 400;
	assert_int_equal(r.elapsed_last, expected);
	world_fini(&w);
}

static void more_tokens_share_the_jobs_evenly(void **state)
{
	struct build b;

	(void)state;
	for (unsigned tokens = 1; tokens <= 4; tokens++) {
		struct world w;
		int64_t rounds = (JOBS + tokens - 1) / tokens;

		build_init(&b, tokens);
		b.pool.directories = JOBS; /* no link waits for another job */
		world_init(&w, 4, 1);
		world_guest(&w, "vm", 4, &b.wl);
		world_start(&w);
		world_run(&w, 2 * SECOND);
		assert_int_equal(world_result(&w, 0).elapsed_last, rounds * 10 * MS + 100 * MS);
		world_fini(&w);
	}
}

static void a_link_waits_for_the_members_of_its_directory(void **state)
{
	/* One directory, four workers: 9 members in 3 rounds, then the link alone. */
	struct build b;
	struct world w;

	(void)state;
	build_init(&b, 4);
	b.pool.jobs = 10;
	b.pool.directories = 1;
	world_init(&w, 4, 1);
	world_guest(&w, "vm", 4, &b.wl);
	world_start(&w);
	world_run(&w, 2 * SECOND);
	assert_int_equal(world_result(&w, 0).jobs, 10);
	assert_int_equal(world_result(&w, 0).elapsed_last, 4 * 10 * MS + 100 * MS);
	world_fini(&w);
}

static void a_build_is_repeated_as_often_as_asked(void **state)
{
	struct build b;
	struct world w;
	struct guest_result r;

	(void)state;
	build_init(&b, 1);
	b.wl.runs = 3;
	world_init(&w, 1, 1);
	world_guest(&w, "vm", 1, &b.wl);
	world_start(&w);
	world_run(&w, 5 * SECOND);
	r = world_result(&w, 0);
	assert_int_equal(r.runs, 3);
	assert_int_equal(r.jobs, 3 * JOBS);
	assert_int_equal(r.elapsed_min, 700 * MS);
	assert_int_equal(r.elapsed_max, 700 * MS);
	assert_int_equal(r.elapsed_sum, 2100 * MS);
	world_fini(&w);
}

static void partners_do_a_part_of_the_work_and_none_is_lost(void **state)
{
	struct build b;
	struct world w;
	struct guest_result r;

	(void)state;
	build_init(&b, 2);
	b.bg.partner_rate = 230;
	b.bg.partner_work = (struct amount)EXP(300 * US);
	world_init(&w, 4, 1);
	world_guest(&w, "vm", 4, &b.wl);
	world_start(&w);
	world_run(&w, 2 * SECOND);
	r = world_result(&w, 0);
	assert_int_equal(r.runs, 1);
	assert_int_equal(r.work, JOBS * 10 * MS + 100 * MS);
	/* 230 turns per second of work that is not the partner's own; each is two wake-ups. */
	assert_in_range(r.wakes, 2 * 110, 2 * 200);
	/* Handing over costs nothing here, so neither does the partner. */
	assert_in_range(r.elapsed_last, 400 * MS, 412 * MS);
	world_fini(&w);
}

static void faults_are_counted_and_may_cost_work(void **state)
{
	struct build b;
	struct world w;

	(void)state;
	for (int64_t cost = 0; cost <= 500; cost += 500) {
		build_init(&b, 1);
		b.bg.fault_rate = 28000;
		b.bg.fault_cost = cost;
		world_init(&w, 1, 1);
		world_guest(&w, "vm", 1, &b.wl);
		world_start(&w);
		world_run(&w, 2 * SECOND);
		/* 28,000 x 500 ns are 14 ms per second, 1.4 %. */
		assert_int_equal(world_result(&w, 0).elapsed_last,
				 700 * MS + (cost ? 9800 * US : 0));
		assert_in_range(world_result(&w, 0).faults, 19590, 19890);
		world_fini(&w);
	}
}

/* A build with everything random, on credit2 with hyper-threads; other VMs beside it on demand. */
static struct guest_result random_build(uint64_t seed, bool with_other, const char *policy)
{
	struct op job[] = {{.kind = OP_DRAW,
			    .reg = 0,
			    .amount = {AMOUNT_LOGNORMAL, 10 * MS, PROGRAM_ONE * 8 / 10}},
			   {.kind = OP_CHANCE, .arg = PROGRAM_ONE / 4, .target = 3},
			   OP(OP_IO, 0),
			   {.kind = OP_COMPUTE, .arg = 0, .amount = {AMOUNT_REGISTER, 0, 1}}};
	struct op other_op[] = {FOREVER(4),
				{.kind = OP_COMPUTE, .arg = -1, .amount = EXP(MS)},
				{.kind = OP_SLEEP, .amount = EXP(MS)},
				END(1)};
	struct program other_program = PROGRAM("other", other_op);
	struct device_desc disk = {.name = "disk", .latency = EXP(2 * MS)};
	struct task_group other_group = {.name = "other", .count = 2};
	struct workload other = {.name = "other",
				 .cls = &plain_class,
				 .n_classes = 1,
				 .program = &other_program,
				 .n_programs = 1,
				 .group = &other_group,
				 .n_groups = 1};
	struct guest_result r;
	struct hv_mask hard[2];
	struct build b;
	struct world w;

	build_init(&b, 3);
	b.program[0] = (struct program)PROGRAM("job", job);
	b.wl.device = &disk;
	b.wl.n_devices = 1;
	b.bg = (struct background){.name = "compile",
				   .lock_rate = 2000,
				   .lock_hold = 2000,
				   .partner_rate = 230,
				   .partner_work = EXP(300 * US),
				   .shootdown_rate = 20,
				   .fault_rate = 28000,
				   .system_share = PROGRAM_ONE / 10};
	world_init(&w, 8, 1);
	w.seed = seed;
	w.policy = policy;
	w.params.cost.exit = 700;
	w.params.cost.vcpu_switch = 2000;
	w.params.cost.ipi = 1000;
	w.params.cost.guest_ipi = 3000;
	w.params.cost.guest_tick = 2900;
	w.guest_params.residual_mean = 100 * MS;
	memset(hard, 0, sizeof(hard));
	hv_mask_set(&hard[0], 6);
	hv_mask_set(&hard[1], 7);
	if (with_other) /* created first, and out of the way */
		world_guest_on(&w, "other", 2, &other, hard);
	world_guest(&w, "build", 4, &b.wl);
	world_start(&w);
	world_run(&w, 5 * SECOND);
	r = world_result(&w, with_other);
	assert_int_equal(r.runs, 1);
	world_fini(&w);
	return r;
}

static void the_same_seed_gives_the_same_run(void **state)
{
	struct guest_result a = random_build(1, false, "credit2");
	struct guest_result b = random_build(1, false, "credit2");
	struct guest_result c = random_build(2, false, "credit2");

	(void)state;
	assert_memory_equal(&a, &b, sizeof(a));
	assert_int_not_equal(a.elapsed_last, c.elapsed_last);
}

static void another_vm_shifts_no_draw(void **state)
{
	struct guest_result a, b;

	(void)state;
	/* Under null every vCPU has its own pCPU: the other VM can only matter through draws. */
	a = random_build(1, false, "null");
	b = random_build(1, true, "null");
	assert_memory_equal(&a, &b, sizeof(a));
	/* Where it does compete, the work to do is still the same. */
	a = random_build(1, true, "credit2");
	assert_int_equal(a.work, b.work);
	assert_int_equal(a.ios, b.ios);
}

static void jobs_are_equally_long_whoever_does_them(void **state)
{
	struct op job[] = {{.kind = OP_COMPUTE,
			    .arg = -1,
			    .amount = {AMOUNT_LOGNORMAL, 10 * MS, PROGRAM_ONE * 8 / 10}}};
	int64_t work[3];

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct build b;
		struct world w;

		build_init(&b, 1 + 3 * i);
		b.program[0] = (struct program)PROGRAM("job", job);
		world_init(&w, 4, 1);
		world_guest(&w, "vm", 4, &b.wl);
		world_start(&w);
		world_run(&w, 5 * SECOND);
		assert_int_equal(world_result(&w, 0).jobs, JOBS);
		work[i] = world_result(&w, 0).work;
		world_fini(&w);
	}
	assert_int_equal(work[0], work[1]);
	assert_int_equal(work[0], work[2]);
	/* JOBS draws of mean 10 ms and cv 0.8: within four standard deviations. */
	assert_in_range(work[0], 100 * MS + 350 * MS, 100 * MS + 850 * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_build_on_one_vcpu_takes_its_work_and_the_known_overheads),
		cmocka_unit_test(more_tokens_share_the_jobs_evenly),
		cmocka_unit_test(a_link_waits_for_the_members_of_its_directory),
		cmocka_unit_test(a_build_is_repeated_as_often_as_asked),
		cmocka_unit_test(partners_do_a_part_of_the_work_and_none_is_lost),
		cmocka_unit_test(faults_are_counted_and_may_cost_work),
		cmocka_unit_test(the_same_seed_gives_the_same_run),
		cmocka_unit_test(another_vm_shifts_no_draw),
		cmocka_unit_test(jobs_are_equally_long_whoever_does_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
