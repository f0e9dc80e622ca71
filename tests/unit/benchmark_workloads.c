/*
 * The benchmarks of experiment 001 (workloads sections 3.2 to 3.4) against calculations by hand, on
 * whole scenarios: how long a run takes, how fast it goes, and how it shares a core.
 *
 * The memory curve is flat where a calculation leaves it out, and there is no domain 0.
 */
#include "scenario_text.h"

#include "lab/lab.h"

#define H1 "host: {preset: H1, cmdline: sched=credit}\ndom0: none\n"
#define FLAT                                                                                   \
	"host: {preset: H1, cmdline: sched=credit, params: {curve: [[0, 1.00], [1, 1.00]]}}\n" \
	"dom0: none\n"

static struct scenario_file *file;
static struct lab_result result;

static const struct lab_vm *run(const char *text)
{
	struct lab_options options = {.hash = false};

	file = load(text);
	assert_int_equal(lab_run(&file->variant[0], 1, &options, &result), 0);
	if (result.status != LAB_DONE)
		fail_msg("%s", result.message);
	return result.vm;
}

static void done(void)
{
	lab_result_clear(&result);
	scenario_file_free(file);
}

/* Counts per second, of VM i. */
static double rate(unsigned i)
{
	assert_true(result.vm[i].has_rate);
	return (double)result.vm[i].counted * 1e9 / (double)(result.end - result.start);
}

static double seconds(const char *text)
{
	const struct lab_vm *vm = run(text);
	double s = (double)vm->elapsed / 1e9;

	assert_true(vm->has_elapsed && vm->runs == 1);
	done();
	return s;
}

static void within(double value, double expected, double share)
{
	if (value < expected * (1 - share) || value > expected * (1 + share))
		fail_msg("%g, expected %g within %g %%", value, expected, 100 * share);
}

/*
 * 5,000 events of 9.56 ms and 0.5 us each; the guest's tick of 2.9 us every 4 ms and the
 * scheduler's of 1.5 us every 10 ms: 47.8025 s x (1 + 0.000725 + 0.00015).
 */
static void sysbench_cpu_alone_takes_47_8_s(void **state)
{
	(void)state;
	within(seconds(H1 "vms: [{name: a, vcpus: 2, cpus: ['0', '2'], workload: sysbench-cpu}]\n"
			  "run: {until: a}\n"),
	       47.8443, 0.0002);
}

/* Siblings of one VM: sigma = 1 - 0.33 x 0.9 = 0.703; 500 events each. */
static void two_threads_on_one_core_share_its_pipeline(void **state)
{
	(void)state;
	within(seconds(H1 "vms: [{name: a, vcpus: 2, cpus: ['0', '1'], "
			  "workload: {use: sysbench-cpu, events: 1000}}]\nrun: {until: a}\n"),
	       0.5 * 9.5605 / 0.703, 0.002);
}

/* One thread has half a pCPU: the other one does two thirds of the 1,000 events. */
static void events_go_to_whoever_asks(void **state)
{
	(void)state;
	within(seconds(H1 "vms:\n"
			  "  - {name: a, vcpus: 2, cpus: ['0', '2'], "
			  "workload: {use: sysbench-cpu, events: 1000}}\n"
			  "  - {name: b, vcpus: 1, cpus: '2', workload: hog}\n"
			  "run: {until: a}\n"),
	       9.5605 * 2 / 3, 0.01);
}

/* 0.45 us in the mutex, 2 x 0.49 us for the clock, 0.37 us for the block; 0.07 % for ticks. */
static void a_memory_block_takes_1_80_us(void **state)
{
	(void)state;
	run(H1 "vms: [{name: a, vcpus: 1, cpus: '0', workload: sysbench-memory}]\n"
	       "run: {warmup: 10ms, duration: 200ms}\n");
	within(rate(0), 1024 / 1.80e-6 / 1.00073, 0.005);
	assert_int_equal(result.vm[0].counted % 1024, 0);
	done();
}

static void a_memory_block_pays_for_the_clock(void **state)
{
	(void)state;
	run("host: {preset: H1, cmdline: sched=credit, costs: {C18: 1us}}\ndom0: none\n"
	    "vms: [{name: a, vcpus: 1, cpus: '0', workload: sysbench-memory}]\n"
	    "run: {warmup: 10ms, duration: 200ms}\n");
	within(rate(0), 1024 / 2.82e-6 / 1.00073, 0.005);
	done();
}

/* sigma 0.71 between strangers: 1.80 / 0.71 = 2.54 us. All of it is work, system calls too. */
static void a_memory_block_feels_the_sibling(void **state)
{
	(void)state;
	run(H1 "vms: [{name: a, vcpus: 1, cpus: '0', workload: sysbench-memory}, "
	       "{name: b, vcpus: 1, cpus: '1', workload: hog}]\n"
	       "run: {warmup: 10ms, duration: 200ms}\n");
	within(rate(0), 1024 * 0.71 / 1.80e-6 / 1.00073, 0.006);
	done();
}

/*
 * Two threads meet at the mutex: it is taken with a chance of hold / period. Each such block loses
 * some us, so that both together are about as fast as one.
 */
static void two_memory_threads_lose_most_of_their_time_to_the_mutex(void **state)
{
	double alone = 1024 / 1.80e-6;

	(void)state;
	run(H1 "vms: [{name: a, vcpus: 2, cpus: ['0', '2'], workload: sysbench-memory}]\n"
	       "run: {warmup: 10ms, duration: 200ms}\n");
	assert_true(rate(0) > 0.8 * alone && rate(0) < 1.3 * alone);
	done();
}

static void memory_blocks_do_not_care_where_memory_is(void **state)
{
	uint64_t local;

	(void)state;
	local = run(H1 "vms: [{name: a, vcpus: 1, cpus: '0', placement: 'node:0', "
		       "workload: sysbench-memory}]\nrun: {warmup: 10ms, duration: 50ms}\n")
			->counted;
	done();
	run(H1 "vms: [{name: a, vcpus: 1, cpus: '0', placement: 'node:1', "
	       "workload: sysbench-memory}]\nrun: {warmup: 10ms, duration: 50ms}\n");
	within((double)result.vm[0].counted, (double)local, 0.0005);
	done();
}

/*
 * 20,000 transactions of 38.5 us by two threads are 385 ms, a collection is 18 ms: 49,628 a second,
 * less ticks, switches and what the slower collector adds.
 */
static void specjbb_alone_does_49600_transactions(void **state)
{
	(void)state;
	run(FLAT "vms: [{name: a, vcpus: 2, cpus: ['0', '2'], workload: specjbb}]\n"
		 "run: {warmup: 1s, duration: 8s}\n");
	within(rate(0), 20000 / (0.385 + 0.018), 0.006);
	done();
}

/* With a heap of 1,000 transactions it collects half of the time: 1,000 / (19.25 + 18 ms). */
static void a_small_heap_is_collected_more_often(void **state)
{
	(void)state;
	run(FLAT
	    "vms: [{name: a, vcpus: 2, cpus: ['0', '2'], workload: {use: specjbb, heap: 1000}}]\n"
	    "run: {warmup: 1s, duration: 4s}\n");
	within(rate(0), 1000 / (0.01925 + 0.018), 0.01);
	done();
}

/* While the world is stopped a vCPU that gets half of a pCPU halves the other one, too. */
static void a_collection_waits_for_the_slowest(void **state)
{
	(void)state;
	run(FLAT "vms:\n"
		 "  - {name: a, vcpus: 2, cpus: ['0', '2'], "
		 "workload: {use: specjbb, heap: 100, collect: 100ms}}\n"
		 "  - {name: b, vcpus: 1, cpus: '2', workload: hog}\n"
		 "run: {warmup: 1s, duration: 10s}\n");
	/* 100 ms of work on half a pCPU: 200 ms, and 100 transactions hardly count. */
	within(rate(0), 100 / 0.2, 0.1);
	done();
}

/*
 * hardware-model section 9.4: 6 working sets of 3 MiB per socket of 12 MiB, LLC 1.4; of 12 vCPUs 8
 * share a core (tau 1.74) and 4 do not (1.14): 0.6755 of the speed of two VMs with a socket each
 * (tau 1).
 */
static void six_pinned_jbb_vms_have_0_6755_of_the_speed_of_two(void **state)
{
	double two, six = 0;

	(void)state;
	run(FLAT "vms: [{name: a, count: 2, vcpus: 2, cpus: [['0', '2'], ['8', '10']], "
		 "workload: specjbb}]\n"
		 "run: {warmup: 1s, duration: 4s}\n");
	two = (rate(0) + rate(1)) / 2;
	done();
	run(FLAT "vms:\n"
		 "  - name: a\n    count: 6\n    vcpus: 2\n    workload: specjbb\n"
		 "    cpus: [['0', '2'], ['4', '6'], ['1', '3'], "
		 "['8', '10'], ['12', '14'], ['9', '11']]\n"
		 "run: {warmup: 1s, duration: 4s}\n");
	for (unsigned i = 0; i < 6; i++)
		six += rate(i) / 6;
	done();
	within(six / two, 0.6755, 0.01);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sysbench_cpu_alone_takes_47_8_s),
		cmocka_unit_test(two_threads_on_one_core_share_its_pipeline),
		cmocka_unit_test(events_go_to_whoever_asks),
		cmocka_unit_test(a_memory_block_takes_1_80_us),
		cmocka_unit_test(a_memory_block_pays_for_the_clock),
		cmocka_unit_test(a_memory_block_feels_the_sibling),
		cmocka_unit_test(two_memory_threads_lose_most_of_their_time_to_the_mutex),
		cmocka_unit_test(memory_blocks_do_not_care_where_memory_is),
		cmocka_unit_test(specjbb_alone_does_49600_transactions),
		cmocka_unit_test(a_small_heap_is_collected_more_often),
		cmocka_unit_test(a_collection_waits_for_the_slowest),
		cmocka_unit_test(six_pinned_jbb_vms_have_0_6755_of_the_speed_of_two),
	};

	return cmocka_run_group_tests_name("benchmark_workloads", tests, NULL, NULL);
}
