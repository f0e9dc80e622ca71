/*
 * What operator commands do to a running host, and what is left after one that is refused
 * (core-scheduling sections 4.2, 4.5, 7.1; behaviour 29; faults 5 to 8 and 10 seen in real Xen).
 */
#include "scenario_text.h"

#include "lab/session.h"
#include "machine/machine.h"

#define MS 1000000LL

#define RUN "run: {warmup: 0s, duration: 10s, seeds: 1, stall_limit: 100s}\n"
/* 8 pCPUs: 4 cores of 2 threads. */
#define BUSY(cmdline)                                                      \
	"host: {topology: 1x4x2, hypervisor: xen, cmdline: " cmdline "}\n" \
	"dom0: {vcpus: 2}\n"                                               \
	"vms:\n"                                                           \
	"  - {name: a, vcpus: 4, maxvcpus: 12, workload: hog}\n"           \
	"  - {name: b, vcpus: 6, workload: hog}\n" RUN
#define NODES                                                               \
	"host: {topology: 2x2x2, hypervisor: xen, cmdline: sched=credit}\n" \
	"dom0: {}\n"                                                        \
	"vms:\n"                                                            \
	"  - {name: a, vcpus: 8, workload: hog, cpus: 4-7}\n"               \
	"  - {name: late, workload: hog, start: 2s}\n" RUN

static struct scenario_file *file;
static struct lab_run *run;
static struct lab_result result;
static const struct lab_options held = {.hold = true};

static struct hv_sys *sys(void)
{
	return mc_sys(lab_machine(run));
}

static void begin_at(const char *text, hv_time time)
{
	file = load(text);
	assert_int_equal(lab_open(&file->variant[0], 1, &held, &result, &run), 0);
	assert_true(lab_run_to(run, time));
}

static void begin(const char *text)
{
	begin_at(text, 20 * MS);
}

static void go_on(int64_t ms)
{
	struct hv_violation broken = {0};

	if (!lab_run_to(run, mc_now(lab_machine(run)) + ms * MS))
		fail_msg("%s", result.message);
	if (hv_check(sys(), &broken) != 0)
		fail_msg("%s", broken.law);
}

static void end(void)
{
	go_on(20);
	lab_close(run);
	scenario_file_free(file);
}

/* NULL, or why it was refused. */
static const char *command(const char *text)
{
	struct sc_diag diag = {.out = stderr};
	struct hv_violation broken = {0};
	const char *why;
	struct sc_op op;
	int ret;

	if (!scenario_command(file, lab_scenario(run), text, 1, &diag, &op))
		fail_msg("%s", text);
	ret = lab_do(run, &op, &why);
	if (result.status != LAB_DONE)
		fail_msg("%s: %s", text, result.message);
	if (hv_check(sys(), &broken) != 0)
		fail_msg("after '%s': %s", text, broken.law);
	return ret ? why : NULL;
}

static void done(const char *text)
{
	const char *why = command(text);

	if (why)
		fail_msg("'%s' is refused: %s", text, why);
}

static void refused(const char *text, const char *expected)
{
	const char *why = command(text);

	if (!why || !strstr(why, expected))
		fail_msg("'%s': %s, expected: %s", text, why ? why : "done", expected);
}

static const struct hv_domain *domain(unsigned vm)
{
	return lab_vm_of(run, vm)->domain;
}

static const char *cpus(const char *pool)
{
	static char text[128];

	return sc_mask_format(&lab_pool_find(run, pool)->cpu_valid, text, sizeof(text));
}

static int64_t cpu_time(unsigned vm)
{
	const struct hv_domain *d = domain(vm);
	struct hv_runstate rs;
	int64_t sum = 0;

	for (unsigned i = 0; i < d->nr_vcpus; i++) {
		hv_runstate_get(d->vcpus[i], &rs);
		sum += rs.time[HV_RUNNING];
	}
	return sum;
}

static unsigned online(unsigned vm)
{
	unsigned n = 0;

	for (unsigned i = 0; i < domain(vm)->nr_vcpus; i++)
		n += !(domain(vm)->vcpus[i]->pause_flags & HV_PF_DOWN);
	return n;
}

/* ---- suspend and resume */

static void nothing_runs_while_the_host_sleeps(void **state)
{
	int64_t before;

	(void)state;
	begin(BUSY("sched=credit2"));
	done("suspend");
	before = cpu_time(1);
	assert_true(before > 0);
	go_on(500);
	assert_int_equal(cpu_time(1), before);
	/* The operator sleeps, too. */
	refused("suspend", "the host is suspended; 'resume' wakes it");
	refused("pause a", "the host is suspended");
	refused("sched-credit2 -s -r 500", "the host is suspended");
	refused("cpu-offline 3", "the host is suspended");
	done("resume");
	refused("resume", "the host is not suspended");
	go_on(500);
	assert_true(cpu_time(1) > before + 1000 * MS);
	end();
}

/* Behaviour 29. */
static void pcpus_that_do_not_return_are_evicted_and_others_stay(void **state)
{
	unsigned place[4];

	(void)state;
	begin("host: {topology: 1x4x2, hypervisor: xen, cmdline: sched=credit2}\n"
	      "pools: [{name: rt, cpus: 6-7, sched: rtds}]\n"
	      "dom0: {vcpus: 1}\n"
	      "vms:\n"
	      "  - {name: a, vcpus: 4, workload: hog}\n"
	      "  - {name: r, vcpus: 2, workload: hog, pool: rt}\n" RUN);
	done("suspend");
	for (unsigned i = 0; i < 4; i++)
		place[i] = domain(1)->vcpus[i]->pcpu;
	refused("resume lost=0", "pCPU 0 is the first one");
	refused("resume lost=0-7", "pCPU 0 is the first one");
	refused("pause a", "the host is suspended"); /* still */
	done("resume lost=6-7");
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(domain(1)->vcpus[i]->pcpu, place[i]);
	assert_string_equal(cpus("rt"), "");
	assert_int_equal(lab_pool_find(run, "rt")->nr_domains, 0);
	assert_int_equal(domain(2)->pool->id, 0);
	assert_string_equal(cpus("Pool-0"), "0-5");
	assert_false(hv_mask_test(hv_online_mask(sys()), 6));
	go_on(500);
	assert_true(cpu_time(2) > 400 * MS);
	done("cpu-online 6"); /* repaired */
	assert_string_equal(cpus("Pool-0"), "0-6");
	end();
}

static void a_core_returns_as_a_whole(void **state)
{
	(void)state;
	begin(BUSY("sched=credit2 sched-gran=core"));
	done("suspend");
	refused("resume lost=1,3,5,7", "Pool-0 would have no pCPU for its VMs");
	done("resume lost=3");
	assert_string_equal(cpus("Pool-0"), "0-1,4-7");
	end();
}

/* Their threads waited for each other when the core left its pool. */
static void a_free_core_need_not_return(void **state)
{
	(void)state;
	begin_at(BUSY("sched=credit2 sched-gran=core"), 1000);
	done("cpupool-cpu-remove Pool-0 2-3");
	done("suspend");
	done("resume lost=2-3");
	assert_false(hv_mask_test(hv_online_mask(sys()), 2));
	go_on(100);
	assert_string_equal(cpus("Pool-0"), "0-1,4-7");
	end();
}

static void suspend_is_called_off_when_a_vcpu_does_not_leave(void **state)
{
	int64_t before;

	(void)state;
	begin(BUSY("sched=credit2"));
	done("overrun a 0 3s");
	go_on(200);
	refused("suspend", "a vCPU does not leave its pCPU; the host goes on");
	before = cpu_time(2);
	go_on(3000);
	assert_true(cpu_time(2) > before + 3000 * MS);
	done("suspend");
	done("resume");
	end();
}

static void a_timeline_suspends_and_resumes(void **state)
{
	static const struct lab_options options = {.hash = true};
	struct scenario_file *f = load(BUSY("sched=credit2") "timeline:\n"
							     "  - {at: 1s, do: suspend}\n"
							     "  - {at: 3s, do: resume lost=4-7}\n");
	struct lab_result r;

	(void)state;
	assert_int_equal(lab_run(&f->variant[0], 1, &options, &r), 0);
	if (r.status != LAB_DONE)
		fail_msg("%s", r.message);
	/* 1 s of 8 pCPUs, 7 s of 4: what the hypervisor takes of it is little. */
	assert_true(r.totals.vcpus.ns[OBSERVE_USEFUL] > 15 * 1000 * MS);
	lab_result_clear(&r);
	scenario_file_free(f);
	f = load(BUSY("sched=credit2") "timeline: [{at: 1s, do: [suspend, cpu-offline 3]}]\n");
	assert_int_equal(lab_run(&f->variant[0], 1, &options, &r), 0);
	assert_int_equal(r.status, LAB_BROKEN);
	assert_non_null(strstr(r.message, "'cpu-offline 3' is refused: the host is suspended"));
	lab_result_clear(&r);
	scenario_file_free(f);
}

/* ---- cpupool-numa-split */

static void a_split_makes_one_pool_for_each_node(void **state)
{
	(void)state;
	begin(NODES);
	assert_int_equal(online(0), 8);
	done("cpupool-numa-split");
	assert_null(lab_pool_find(run, "Pool-0"));
	assert_string_equal(cpus("Pool-node0"), "0-3");
	assert_string_equal(cpus("Pool-node1"), "4-7");
	assert_string_equal(lab_pool_find(run, "Pool-node1")->sched->policy->name, "credit");
	assert_int_equal(lab_pool_find(run, "Pool-node0")->id, 0);
	assert_int_equal(online(0), 4);
	/* It was pinned to what has gone. */
	assert_int_equal(domain(1)->pool->id, 0);
	go_on(2500); /* a VM that comes later finds Pool-0 by its new name */
	assert_int_equal(domain(2)->pool->id, 0);
	assert_true(cpu_time(1) > 2000 * MS);
	refused("cpupool-numa-split", "there are cpupools already");
	end();
}

static void a_split_waits_for_domain_0_and_gives_up(void **state)
{
	hv_time start;

	(void)state;
	begin(NODES);
	done("pause dom0");
	start = mc_now(lab_machine(run));
	refused("cpupool-numa-split", "domain 0 has 8 vCPUs on line after 10 s");
	assert_true(mc_now(lab_machine(run)) - start >= 10000 * MS);
	assert_true(mc_now(lab_machine(run)) - start < 10100 * MS);
	assert_string_equal(cpus("Pool-0"), "0-7");
	assert_null(hv_pool_next(sys(), 1));
	done("unpause dom0");
	go_on(100);
	assert_int_equal(online(0), 8); /* nothing was done */
	done("cpupool-numa-split");
	assert_int_equal(online(0), 4);
	end();
}

static void a_split_that_fails_on_the_way_is_undone(void **state)
{
	(void)state;
	begin(NODES);
	done("overrun a 0 3s"); /* it is on a pCPU of node 1 */
	go_on(200);
	refused("cpupool-numa-split", "vCPU 0 of VM 'a' has taken it and does not leave");
	assert_string_equal(cpus("Pool-0"), "0-7");
	assert_null(hv_pool_next(sys(), 1));
	go_on(100);
	assert_int_equal(online(0), 8);
	end();
}

static void resources_on_two_nodes_are_not_split(void **state)
{
	(void)state;
	begin("host: {topology: 'numa:2 l3:1 pack:1 core:2 pu:2', hypervisor: xen}\n"
	      "dom0: {}\nvms: [{name: a, workload: hog}]\n" RUN);
	done("cpupool-numa-split");
	assert_int_equal(lab_pool_find(run, "Pool-node1")->nr_domains, 0);
	end();
	begin("host: {topology: 'pack:1 numa:2 core:2 pu:2', hypervisor: xen, "
	      "cmdline: sched-gran=socket}\n"
	      "dom0: {}\nvms: [{name: a, workload: hog}]\n" RUN);
	refused("cpupool-numa-split", "under sched-gran=socket pCPUs 0 and 4 belong together");
	assert_string_equal(cpus("Pool-0"), "0-7");
	end();
}

/* ---- pools */

static void nodes_give_what_is_free_of_them(void **state)
{
	(void)state;
	begin(NODES);
	refused("cpupool-create name=x nodes=1", "no pCPU of these nodes is free");
	refused("cpupool-create name=x cpus=5", "pCPU 5: it is in pool 'Pool-0'");
	done("cpupool-cpu-remove Pool-0 5-6");
	done("cpupool-create name=x nodes=0,1 cpus=2");
	assert_string_equal(cpus("x"), "5-6");
	refused("cpupool-create name=x", "there is a pool 'x' already");
	end();
}

static void a_dry_run_checks_and_tells_and_does_nothing(void **state)
{
	struct sc_diag diag = {.out = stderr};
	const char *told;
	struct sc_op op;

	(void)state;
	begin(BUSY("sched=credit2"));
	refused("cpupool-create -n name=x cpus=4-7", "pCPU 4: it is in pool 'Pool-0'");
	done("cpupool-cpu-remove Pool-0 4-7");
	assert_true(scenario_command(file, lab_scenario(run),
				     "cpupool-create -n name=x sched=rtds cpus=4-6", 1, &diag,
				     &op));
	assert_int_equal(lab_do(run, &op, &told), 0);
	assert_string_equal(told, "cpupool name:   x\nscheduler:      rtds\n"
				  "granularity:    cpu\nnumber of cpus: 3");
	assert_null(lab_pool_find(run, "x"));
	done("cpupool-create name=x sched=rtds cpus=4-6");
	end();
}

static void an_empty_pool_changes_its_granularity(void **state)
{
	(void)state;
	begin(BUSY("sched=credit2"));
	refused("xenhypfs write /cpupool/0/sched-gran core", "pool 'Pool-0' has pCPUs (EBUSY)");
	refused("xenhypfs write /cpupool/1/sched-gran core", "no pool is named '1'");
	done("cpupool-create name=x");
	done("xenhypfs write /cpupool/1/sched-gran core");
	assert_int_equal(lab_pool_find(run, "x")->gran, HV_GRAN_CORE);
	done("cpupool-cpu-remove Pool-0 4-5");
	done("cpupool-cpu-add x 4");
	assert_string_equal(cpus("x"), "4-5");
	refused("xenhypfs write /cpupool/1/sched-gran cpu", "EBUSY");
	refused("smt-disable", "forbidden while a pool has sched-gran core or socket ('x' has");
	done("cpupool-destroy x");
	done("cpu-offline 7");
	done("cpupool-create name=y");
	refused("xenhypfs write /cpupool/1/sched-gran core",
		"core is not possible on this host (EINVAL)");
	end();
}

/* Field case 17: Xen crashes when SMT is switched off while pools under credit own the cores. */
static void smt_stays_on_while_pools_own_second_threads(void **state)
{
	(void)state;
	begin(BUSY("sched=credit"));
	done("cpupool-cpu-remove Pool-0 2-7");
	done("cpupool-create name=x sched=credit cpus=2-5");
	done("cpupool-create name=y sched=credit cpus=6-7");
	refused("smt-disable", "a second thread is in a pool other than Pool-0");
	assert_string_equal(cpus("x"), "2-5");
	assert_string_equal(cpus("y"), "6-7");
	done("cpupool-cpu-remove y 7");
	done("cpupool-cpu-remove x 3,5");
	done("smt-disable");
	assert_string_equal(cpus("x"), "2,4");
	end();
}

/* Fault 5. */
static void each_thread_of_the_first_core_is_refused_alike(void **state)
{
	(void)state;
	begin(BUSY("sched=credit2 sched-gran=core"));
	refused("cpupool-cpu-remove Pool-0 0", "pCPU 0: the first pCPU must stay in Pool-0");
	refused("cpupool-cpu-remove Pool-0 1", "pCPU 1: its core has the first pCPU");
	refused("cpupool-cpu-remove Pool-0 0-3", "2 of 4 pCPUs were removed");
	assert_string_equal(cpus("Pool-0"), "0-1,4-7");
	end();
}

/* Fault 6. */
static void a_core_with_a_thread_off_line_is_named_and_joins_when_that_returns(void **state)
{
	(void)state;
	begin(BUSY("sched=credit2 sched-gran=core"));
	done("cpu-offline 3");
	refused("cpupool-cpu-add Pool-0 2", "pCPU 3 of its core is off line");
	refused("cpupool-create name=x cpus=2", "pCPU 3 of its core is off line");
	assert_null(lab_pool_find(run, "x"));
	done("cpu-online 3");
	assert_string_equal(cpus("Pool-0"), "0-7");
	end();
}

/* Faults 7, 8, and 10: who has taken the pCPU, and nothing remains of the refusal. */
static void a_pcpu_that_is_not_left_stays_and_who_is_there_is_told(void **state)
{
	static const char *const cmdlines[] = {BUSY("sched=credit2"),
					       BUSY("sched=credit2 sched-gran=core")};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		char remove[64], offline[32], add[64];
		unsigned c;

		begin(cmdlines[i]);
		done("vcpu-pin a 0 4-7");
		go_on(50);
		done("overrun a 0 5s");
		go_on(200);
		c = domain(1)->vcpus[0]->pcpu;
		snprintf(remove, sizeof(remove), "cpupool-cpu-remove Pool-0 %u", c);
		snprintf(add, sizeof(add), "cpupool-cpu-add Pool-0 %u", c);
		snprintf(offline, sizeof(offline), "cpu-offline %u", c);
		refused(remove, "vCPU 0 of VM 'a' has taken it and does not leave; it stays in the "
				"pool ('pause a' or pin that vCPU elsewhere, then try again)");
		refused(offline, "vCPU 0 of VM 'a' has taken it and does not leave; it stays on "
				 "line");
		done(add); /* it is there already */
		assert_string_equal(cpus("Pool-0"), "0-7");
		go_on(5000);
		done(remove);
		done(add);
		done(offline);
		end();
	}
}

/* ---- VMs and parameters */

static void more_vcpus_than_pcpus_are_a_slip_unless_it_is_said(void **state)
{
	(void)state;
	begin(BUSY("sched=credit2"));
	done("vcpu-set a 8");
	go_on(10);
	assert_int_equal(online(1), 8);
	refused("vcpu-set a 9", "9 vCPUs are more than the 8 pCPUs that are on line");
	assert_int_equal(online(1), 8);
	done("vcpu-set -i a 11");
	go_on(10);
	assert_int_equal(online(1), 11);
	done("vcpu-set a 10"); /* less than before is no raise */
	go_on(10);
	assert_int_equal(online(1), 10);
	done("vcpu-set a 0");
	go_on(10);
	assert_int_equal(online(1), 10);
	end();
}

static void vcpus_go_off_line_again_before_they_have_run(void **state)
{
	(void)state;
	begin(BUSY("sched=credit2 sched-gran=core"));
	done("vcpu-set a 2");
	go_on(10);
	assert_int_equal(online(1), 2);
	done("vcpu-set a 4");
	done("vcpu-set a 2");
	go_on(100);
	assert_int_equal(online(1), 2);
	done("vcpu-set a 4");
	go_on(100);
	assert_int_equal(online(1), 4);
	end();
}

static void the_rate_limit_stays_within_the_slice_of_credit(void **state)
{
	struct hv_sched_params p = {0};

	(void)state;
	begin(BUSY("sched=credit"));
	refused("sched-credit -s -r 30001", "the rate limit (30001 us) would be longer than the "
					    "timeslice (30 ms)");
	done("sched-credit -s -t 5 -r 5000");
	refused("sched-credit -s -t 4", "longer than the timeslice (4 ms)");
	assert_int_equal(hv_sched_params_get(lab_pool_find(run, "Pool-0"), &p), 0);
	assert_int_equal(p.tslice_ms, 5);
	assert_int_equal(p.ratelimit_us, 5000);
	end();
}

static int forget(void **state)
{
	(void)state;
	free(messages);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_runs_while_the_host_sleeps),
		cmocka_unit_test(pcpus_that_do_not_return_are_evicted_and_others_stay),
		cmocka_unit_test(a_core_returns_as_a_whole),
		cmocka_unit_test(a_free_core_need_not_return),
		cmocka_unit_test(suspend_is_called_off_when_a_vcpu_does_not_leave),
		cmocka_unit_test(a_timeline_suspends_and_resumes),
		cmocka_unit_test(a_split_makes_one_pool_for_each_node),
		cmocka_unit_test(a_split_waits_for_domain_0_and_gives_up),
		cmocka_unit_test(a_split_that_fails_on_the_way_is_undone),
		cmocka_unit_test(resources_on_two_nodes_are_not_split),
		cmocka_unit_test(nodes_give_what_is_free_of_them),
		cmocka_unit_test(a_dry_run_checks_and_tells_and_does_nothing),
		cmocka_unit_test(an_empty_pool_changes_its_granularity),
		cmocka_unit_test(smt_stays_on_while_pools_own_second_threads),
		cmocka_unit_test(each_thread_of_the_first_core_is_refused_alike),
		cmocka_unit_test(
			a_core_with_a_thread_off_line_is_named_and_joins_when_that_returns),
		cmocka_unit_test(a_pcpu_that_is_not_left_stays_and_who_is_there_is_told),
		cmocka_unit_test(more_vcpus_than_pcpus_are_a_slip_unless_it_is_said),
		cmocka_unit_test(vcpus_go_off_line_again_before_they_have_run),
		cmocka_unit_test(the_rate_limit_stays_within_the_slice_of_credit),
	};

	return cmocka_run_group_tests_name("lab_commands", tests, NULL, forget);
}
