/*
 * The Xen command line of a scenario (scenario/cmdline.h): defaults, every parameter, what Xen
 * corrects, what is refused (credit2 section 1, core-scheduling section 7.3).
 */
#include "scenario_text.h"

#include <limits.h>

static struct scenario_file *loaded;

static const struct sc_xen *xen(const char *cmdline)
{
	char text[512];

	snprintf(text, sizeof(text), "host: {preset: H0, cmdline: '%s'}\nvms: [{name: a}]\n",
		 cmdline);
	scenario_file_free(loaded);
	loaded = load(text);
	return &loaded->variant[0].xen;
}

static void refused(const char *cmdline, const char *message)
{
	char text[512];

	snprintf(text, sizeof(text), "host: {preset: H0, cmdline: '%s'}\nvms: [{name: a}]\n",
		 cmdline);
	refuse(text, message);
}

static void corrected(const char *cmdline, const char *message)
{
	char text[512];

	snprintf(text, sizeof(text), "host: {preset: H0, cmdline: '%s'}\nvms: [{name: a}]\n",
		 cmdline);
	warn(text, message);
}

static void an_empty_line_gives_the_defaults_of_xen(void **state)
{
	const struct sc_xen *x;

	(void)state;
	scenario_file_free(loaded);
	loaded = load(HOST "vms: [{name: a}]\n");
	x = &loaded->variant[0].xen;
	assert_int_equal(x->sched, SC_SCHED_CREDIT2);
	assert_int_equal(x->runqueue, SC_RUNQ_SOCKET);
	assert_int_equal(x->max_cpus_runqueue, 16);
	assert_int_equal(x->migrate_resist_us, 500);
	assert_int_equal(x->load_precision_shift, 18);
	assert_int_equal(x->load_window_shift, 30);
	assert_int_equal(x->balance_under, 0);
	assert_int_equal(x->balance_over, -3);
	assert_int_equal(x->cap_period_ms, 10);
	assert_int_equal(x->ratelimit_us, 1000);
	assert_false(x->smt_power_savings);
	assert_true(x->smt);
	assert_int_equal(x->maxcpus, 0);
	assert_false(x->dom0_vcpus_pin);
	assert_false(x->dom0_nodes_set);
}

static void every_parameter_is_taken(void **state)
{
	const struct sc_xen *x;

	(void)state;
	x = xen("sched=null credit2_runqueue=all sched_credit2_max_cpus_runqueue=128 "
		"sched_credit2_migrate_resist=0 credit2_load_precision_shift=4 "
		"credit2_load_window_shift=11 credit2_balance_under=-2 credit2_balance_over=5 "
		"credit2_cap_period_ms=1 sched_ratelimit_us=0 sched_smt_power_savings smt=off "
		"maxcpus=3 dom0_max_vcpus=2-4 dom0_vcpus_pin=1 dom0_nodes=0,1,relaxed "
		"sched-gran=cpu");
	assert_int_equal(x->sched, SC_SCHED_NULL);
	assert_int_equal(x->runqueue, SC_RUNQ_ALL);
	assert_int_equal(x->max_cpus_runqueue, 128);
	assert_int_equal(x->migrate_resist_us, 0);
	assert_int_equal(x->load_precision_shift, 4);
	assert_int_equal(x->load_window_shift, 11);
	assert_int_equal(x->balance_under, -2);
	assert_int_equal(x->balance_over, 5);
	assert_int_equal(x->cap_period_ms, 1);
	assert_int_equal(x->ratelimit_us, 0);
	assert_true(x->smt_power_savings);
	assert_false(x->smt);
	assert_int_equal(x->maxcpus, 3);
	assert_int_equal(x->dom0_min_vcpus, 2);
	assert_int_equal(x->dom0_max_vcpus, 4);
	assert_true(x->dom0_vcpus_pin);
	assert_true(x->dom0_nodes_set && x->dom0_nodes_relaxed);
	assert_int_equal(x->dom0_nodes, 3);
	assert_int_equal(xen("credit2_runqueue=cpu")->runqueue, SC_RUNQ_CPU);
	assert_int_equal(xen("credit2_runqueue=core")->runqueue, SC_RUNQ_CORE);
	assert_int_equal(xen("credit2_runqueue=node")->runqueue, SC_RUNQ_NODE);
	assert_int_equal(xen("sched_ratelimit_us=0x64")->ratelimit_us, 100);
}

static void credit_has_parameters_of_its_own(void **state)
{
	static const char *const tickle[] = {"head", "head-fixed", "head-without", "with-2012",
					     "without-2012"};
	const struct sc_xen *x = xen("sched=credit");

	(void)state;
	assert_int_equal(x->sched, SC_SCHED_CREDIT);
	assert_int_equal(x->tslice_ms, 30);
	assert_int_equal(x->migration_delay_us, 0);
	assert_int_equal(x->balance_ratelimit_us, 1000);
	assert_true(x->tickle_one_idle_cpu);
	assert_int_equal(x->tickle, SC_TICKLE_HEAD);
	x = xen("sched=credit sched_credit_tslice_ms=5 vcpu_migration_delay=100000 "
		"load-balance-ratelimit=0 no-tickle_one_idle_cpu credit_tickle=without-2012");
	assert_int_equal(x->tslice_ms, 5);
	assert_int_equal(x->migration_delay_us, 100000);
	assert_int_equal(x->balance_ratelimit_us, 0);
	assert_false(x->tickle_one_idle_cpu);
	assert_int_equal(x->tickle, SC_TICKLE_WITHOUT_2012);
	for (int i = 0; i < 5; i++) {
		char text[40];

		snprintf(text, sizeof(text), "credit_tickle=%s", tickle[i]);
		assert_int_equal(xen(text)->tickle, i);
		assert_string_equal(sc_tickle_name((enum sc_tickle)i), tickle[i]);
	}
	refused("credit_tickle=with", "found 'with', expected head, head-fixed, head-without");
	corrected("sched_credit_tslice_ms=1001", "1001 is out of range (1..1000), 30 is used");
	assert_int_equal(xen("sched_credit_tslice_ms=0")->tslice_ms, 30);
	corrected("vcpu_migration_delay=100001", "out of range (0..100000), 0 is used");
	assert_int_equal(xen("vcpu_migration_delay=100001")->migration_delay_us, 0);
	assert_int_equal(xen("load-balance-ratelimit=1000001")->balance_ratelimit_us, 1000000);
}

static void booleans_have_the_words_of_xen(void **state)
{
	(void)state;
	assert_false(xen("no-smt")->smt);
	assert_false(xen("smt=no")->smt);
	assert_false(xen("smt=disable")->smt);
	assert_true(xen("smt=off smt")->smt); /* the later word wins */
	assert_true(xen("dom0_vcpus_pin")->dom0_vcpus_pin);
	assert_int_equal(xen("nosmp")->maxcpus, 1);
	refused("smt=maybe", "x.yaml:1:30: error: smt: found 'maybe', expected a boolean");
	refused("no-smt=1", "smt");
}

static void what_xen_corrects_is_corrected_with_a_warning(void **state)
{
	(void)state;
	corrected("sched_ratelimit_us=99", "99 is out of range (0 or 100..500000), 1000 is used");
	assert_int_equal(xen("sched_ratelimit_us=99")->ratelimit_us, 1000);
	assert_int_equal(xen("sched_ratelimit_us=100")->ratelimit_us, 100);
	assert_int_equal(xen("sched_ratelimit_us=500000")->ratelimit_us, 500000);
	assert_int_equal(xen("sched_ratelimit_us=500001")->ratelimit_us, 1000);
	corrected("credit2_load_precision_shift=3", "3 is too small, 4 is used");
	assert_int_equal(xen("credit2_load_precision_shift=3")->load_precision_shift, 4);
	corrected("credit2_load_window_shift=10", "10 is too small, 30 is used");
	assert_int_equal(xen("credit2_load_window_shift=10")->load_window_shift, 30);
	corrected("credit2_cap_period_ms=0", "0 is too small, 10 is used");
	assert_int_equal(xen("credit2_cap_period_ms=0")->cap_period_ms, 10);
}

static void unknown_text_is_an_error_with_its_place(void **state)
{
	(void)state;
	refused("sched=credti2", "x.yaml:1:30: error: sched: found 'credti2', expected credit2");
	refused("smt=1 credit2_runqueue=thread",
		"x.yaml:1:36: error: credit2_runqueue: found 'thread', expected cpu, core, socket");
	refused("sched_ratelimit_us=1ms", "found '1ms', expected a whole number");
	refused("sched_ratelimit_us=-1", "found '-1', expected a whole number");
	refused("sched_ratelimit_us", "sched_ratelimit_us has no value");
	refused("sched_ratelimit_us=", "sched_ratelimit_us: found ''");
	refused("sched_credit2_max_cpus_runqueue=0", "found '0', expected a whole number 1..");
	refused("maxcpus=0", "maxcpus: found '0'");
	refused("dom0_max_vcpus=-", "dom0_max_vcpus: found '-', expected N, MIN-MAX");
	refused("dom0_max_vcpus=4-2", "dom0_max_vcpus: found '4-2'");
	refused("dom0_nodes=0-1", "dom0_nodes: found '0-1', expected node numbers");
	refused("dom0_nodes=2", "dom0_nodes: node 2 is not in the topology (it has 2)");
}

static void an_unknown_parameter_is_an_error_with_the_nearest_name(void **state)
{
	(void)state;
	refused("credit2_runque=core",
		"unknown Xen parameter 'credit2_runque'; did you mean 'credit2_runqueue'?");
	refused("zebra=1", "unknown Xen parameter 'zebra'");
	refused("sched=rt", "expected credit2, credit, rtds, arinc653, null");
	refused("no-sched", "unknown Xen parameter 'no-sched'");
	corrected("dom0_mem=4G", "dom0_mem has no effect here");
}

static void granularities_are_read(void **state)
{
	(void)state;
	assert_int_equal(xen("sched=credit")->gran, HV_GRAN_CPU);
	assert_int_equal(xen("sched-gran=core")->gran, HV_GRAN_CORE);
	assert_int_equal(xen("sched-gran=core sched-gran=socket")->gran, HV_GRAN_SOCKET);
	refused("sched-gran=thread", "expected cpu, core or socket");
	refused("sched-gran", "expected cpu, core or socket");
}

static void a_variant_replaces_and_adds_parameters(void **state)
{
	struct scenario_file *f =
		load("host: {preset: H0, cmdline: sched=credit2 credit2_runqueue=core smt=1}\n"
		     "vms: [{name: a}]\n"
		     "variants:\n"
		     "  - {name: base}\n"
		     "  - {name: x, cmdline: credit2_runqueue=all sched_ratelimit_us=0}\n");

	(void)state;
	assert_string_equal(f->variant[0].xen.cmdline, "sched=credit2 credit2_runqueue=core smt=1");
	assert_int_equal(f->variant[0].xen.runqueue, SC_RUNQ_CORE);
	assert_string_equal(f->variant[1].xen.cmdline,
			    "sched=credit2 smt=1 credit2_runqueue=all sched_ratelimit_us=0");
	assert_int_equal(f->variant[1].xen.runqueue, SC_RUNQ_ALL);
	assert_int_equal(f->variant[1].xen.ratelimit_us, 0);
	scenario_file_free(f);
}

static int end(void **state)
{
	(void)state;
	scenario_file_free(loaded);
	free(messages);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_line_gives_the_defaults_of_xen),
		cmocka_unit_test(every_parameter_is_taken),
		cmocka_unit_test(credit_has_parameters_of_its_own),
		cmocka_unit_test(booleans_have_the_words_of_xen),
		cmocka_unit_test(what_xen_corrects_is_corrected_with_a_warning),
		cmocka_unit_test(unknown_text_is_an_error_with_its_place),
		cmocka_unit_test(an_unknown_parameter_is_an_error_with_the_nearest_name),
		cmocka_unit_test(granularities_are_read),
		cmocka_unit_test(a_variant_replaces_and_adds_parameters),
	};

	return cmocka_run_group_tests_name("scenario_cmdline", tests, NULL, end);
}
