/*
 * Scenarios for the real-time policies: periods and budgets of rtds, time tables of arinc653, the
 * operator's commands for both.
 */
#include "scenario_text.h"

#define RTDS "host: {preset: H0, cmdline: sched=rtds}\ndom0: none\n"
#define A653 "host: {preset: H0, cmdline: sched=arinc653}\ndom0: none\n"
#define VMS  "vms:\n  - {name: a}\n  - {name: b, vcpus: 2}\n  - {name: n, count: 2}\n"

static const struct scenario *first(struct scenario_file *f)
{
	return &f->variant[0];
}

static void assert_rtds(const struct sc_rtds *r, unsigned int period_us, unsigned int budget_us,
			bool extratime)
{
	assert_int_equal(r->period_us, period_us);
	assert_int_equal(r->budget_us, budget_us);
	assert_int_equal(r->extratime, extratime);
}

/* ---- rtds */

static void a_vm_without_periods_has_the_defaults_of_the_policy(void **state)
{
	struct scenario_file *f = load(RTDS "vms: [{name: a}]\n");

	(void)state;
	assert_int_equal(first(f)->xen.sched, SC_SCHED_RTDS);
	assert_null(first(f)->vm[0].rtds);
	scenario_file_free(f);
}

static void a_value_counts_for_all_vcpus_a_list_for_each(void **state)
{
	struct scenario_file *f =
		load(RTDS "vms:\n  - {name: a, vcpus: 3, period: 20ms, budget: [5ms, 250us],"
			  " extratime: [off, on, off]}\n");
	const struct sc_rtds *r = first(f)->vm[0].rtds;

	(void)state;
	assert_rtds(&r[0], 20000, 5000, false);
	assert_rtds(&r[1], 20000, 250, true);
	assert_rtds(&r[2], 20000, 4000, false);
	scenario_file_free(f);
	warn(RTDS "vms:\n  - {name: a, period: [20ms, 30ms]}\n", "the surplus is ignored");
}

static void bad_periods_and_budgets_are_refused(void **state)
{
	(void)state;
	refuse(RTDS "vms:\n  - {name: a, period: 9us, budget: 9us}\n", "period");
	refuse(RTDS "vms:\n  - {name: a, period: 20ms, budget: 9us}\n", "budget");
	refuse(RTDS "vms:\n  - {name: a, period: 10500ns, budget: 10us}\n",
	       "'10500ns' is no whole number of microseconds");
	refuse(RTDS "vms:\n  - {name: a, period: 20ms, budget: 21ms}\n",
	       "x.yaml:4:37: error: budget: vCPU 0 has 21000 us in a period of 20000 us");
	/* the default budget is 4 ms */
	refuse(RTDS "vms:\n  - {name: a, period: 2ms}\n", "vCPU 0 has 4000 us in a period of 2000");
	refuse(RTDS "vms:\n  - {name: a, period: 10}\n", "period");
	refuse(RTDS "vms:\n  - {name: a, extratime: maybe}\n", "extratime");
}

static const struct sc_op *op(const char *host, const char *command)
{
	static struct scenario_file *loaded;
	char text[1024];

	snprintf(text, sizeof(text), "%s" VMS "timeline:\n  - {at: 1s, do: \"%s\"}\n", host,
		 command);
	scenario_file_free(loaded);
	loaded = load(text);
	return first(loaded)->event[0].op;
}

static void refused(const char *host, const char *command, const char *message)
{
	char text[1024];

	snprintf(text, sizeof(text), "%s" VMS "timeline:\n  - {at: 1s, do: \"%s\"}\n", host,
		 command);
	refuse(text, message);
}

static void sched_rtds_changes_vcpus_in_order(void **state)
{
	const struct sc_op *o = op(RTDS, "xl sched-rtds -d b -v 1 -p 5000 -b 2500 -e 0"
					 " -v 0 -p 30000 -b 10 -e 1");

	(void)state;
	assert_int_equal(o->kind, SC_OP_SCHED_RTDS);
	assert_int_equal(o->n_rtds, 2);
	assert_int_equal(o->rtds[0].vcpu, 1);
	assert_rtds(&o->rtds[0].value, 5000, 2500, false);
	assert_int_equal(o->rtds[1].vcpu, 0);
	assert_rtds(&o->rtds[1].value, 30000, 10, true);
	o = op(RTDS, "sched-rtds --domain n --vcpuid all --period 10 --budget 10 --extratime 1");
	assert_int_equal(o->n_vms, 2);
	assert_int_equal(o->rtds[0].vcpu, -1);
	assert_rtds(&o->rtds[0].value, 10, 10, true);
}

static void sched_rtds_wants_all_values_for_each_vcpu(void **state)
{
	static const char expected[] = "expected 'sched-rtds -d DOM -v VCPU|all";

	(void)state;
	refused(RTDS, "sched-rtds -d b -p 5000 -b 2500 -e 0", expected);
	refused(RTDS, "sched-rtds -v 0 -p 5000 -b 2500 -e 0", expected);
	refused(RTDS, "sched-rtds -d b -v 0 -p 5000 -b 2500", expected);
	refused(RTDS, "sched-rtds -d b -v 0 -v 1 -p 5000 -b 2500 -e 0", expected);
	refused(RTDS, "sched-rtds -d b -v 0 -p 5000 -b 2500 -e", "option '-e' has no value");
	refused(RTDS, "sched-rtds -d b -v 2 -p 5000 -b 2500 -e 0",
		"vCPU: found '2', expected 0..1");
	refused(RTDS, "sched-rtds -d b -v 0 -p 9 -b 9 -e 0", "period in us: found '9'");
	refused(RTDS, "sched-rtds -d b -v 0 -p 5000 -b 5001 -e 0",
		"budget in us: found '5001', expected 10..5000");
	refused(RTDS, "sched-rtds -d b -v 0 -p 5000 -b 2500 -e 2", "extratime: found '2'");
	refused(RTDS, "sched-rtds -d b -v all -p 50 -b 25 -e 0 -v 0 -p 50 -b 25 -e 0",
		"'-v all' stands alone");
	refused(RTDS, "sched-rtds -d b -w 3", "unknown option '-w'");
	refused(RTDS, "sched-credit2 -d b -w 3", "the scheduler is not credit2");
	refused(A653, "sched-rtds -d b -v 0 -p 5000 -b 2500 -e 0", "the scheduler is not rtds");
}

/* ---- arinc653 */

#define TABLE(major, windows) A653 VMS "arinc653:\n  major: " major "\n  windows:\n" windows

static void a_table_names_vcpus_and_lengths(void **state)
{
	struct scenario_file *f = load(TABLE("100ms", "    - {vm: a, runtime: 30ms}\n"
						      "    - {vm: b, vcpu: 1, runtime: 20ms}\n"
						      "    - {vm: n2, runtime: 50ms}\n"));
	const struct sc_frame *frame = &first(f)->frame;

	(void)state;
	assert_int_equal(first(f)->xen.sched, SC_SCHED_ARINC653);
	assert_int_equal(frame->major, 100000000);
	assert_int_equal(frame->n, 3);
	assert_int_equal(frame->window[0].vm, 0);
	assert_int_equal(frame->window[0].vcpu, 0);
	assert_int_equal(frame->window[1].vcpu, 1);
	assert_int_equal(frame->window[1].runtime, 20000000);
	assert_string_equal(first(f)->vm[frame->window[2].vm].name, "n2");
	scenario_file_free(f);
}

static void bad_tables_are_refused(void **state)
{
	char text[8192] = A653 VMS "arinc653:\n  major: 1s\n  windows:\n";

	(void)state;
	refuse(TABLE("49ms", "    - {vm: a, runtime: 30ms}\n    - {vm: b, runtime: 20ms}\n"),
	       "the windows take 50000 us, more than the major frame of 49000 us");
	refuse(TABLE("0ms", "    - {vm: a, runtime: 30ms}\n"), "major");
	refuse(TABLE("50ms", "    - {vm: a, runtime: 0ms}\n"), "runtime");
	refuse(TABLE("50ms", "    - {vm: x, runtime: 1ms}\n"),
	       "x.yaml:10:12: error: vm: no VM is named 'x'");
	refuse(TABLE("50ms", "    - {vm: n, runtime: 1ms}\n"), "'n' is a group");
	refuse(TABLE("50ms", "    - {vm: b, vcpu: 2, runtime: 1ms}\n"), "vcpu");
	refuse(TABLE("50ms", "    - {vm: b}\n"), "'runtime' is missing");
	refuse(A653 VMS "arinc653: {major: 50ms, windows: []}\n", "0 windows, expected 1..64");
	refuse(A653 VMS "arinc653: {windows: [{vm: a, runtime: 1ms}]}\n", "'major' is missing");
	for (unsigned int i = 0; i < 65; i++)
		strcat(text, "    - {vm: a, runtime: 1ms}\n");
	refuse(text, "65 windows, expected 1..64");
}

/* Field case 72: such a VM would never be scheduled. */
static void a_vm_without_a_window_is_warned_of(void **state)
{
	(void)state;
	warn(TABLE("50ms", "    - {vm: a, runtime: 1ms}\n    - {vm: b, runtime: 1ms}\n"
			   "    - {vm: n1, runtime: 1ms}\n"),
	     "x.yaml:6:1: warning: VM 'n2' has no window in the arinc653 table: it never runs");
	assert_non_null(strstr(messages, "vCPU 1 of VM 'b' has no window"));
	assert_null(strstr(messages, "'n1'"));
	warn(A653 "vms: [{name: a}]\n", "VM 'a' has no window");
	/* a later table counts */
	scenario_file_free(load(A653 "vms: [{name: a}]\ntimeline:\n"
				     "  - {at: 1s, do: \"arinc653-set 10ms a.0:1ms\"}\n"));
	assert_string_equal(messages, "");
	/* domain 0 has windows of its own until somebody sets a table */
	scenario_file_free(load("host: {preset: H0, cmdline: sched=arinc653}\n"));
	assert_string_equal(messages, "");
	warn("host: {preset: H0, cmdline: sched=arinc653}\nvms: [{name: a}]\n"
	     "arinc653: {major: 1ms, windows: [{vm: a, runtime: 1ms}]}\n",
	     "VM 'dom0' has no window");
	/* under another policy a table is without effect */
	scenario_file_free(load("host: {preset: H0}\nvms: [{name: a}, {name: b}]\n"
				"arinc653: {major: 1ms, windows: [{vm: a, runtime: 1ms}]}\n"));
	assert_string_equal(messages, "");
}

static void a_table_can_be_set_at_run_time(void **state)
{
	const struct sc_op *o = op(A653, "arinc653-set 50ms a.0:10ms b.1:20ms a.0:500us");
	char many[1200] = "arinc653-set 1s";

	(void)state;
	assert_int_equal(o->kind, SC_OP_FRAME);
	assert_int_equal(o->frame.major, 50000000);
	assert_int_equal(o->frame.n, 3);
	assert_int_equal(o->frame.window[1].vm, 1);
	assert_int_equal(o->frame.window[1].vcpu, 1);
	assert_int_equal(o->frame.window[2].runtime, 500000);
	refused(A653, "arinc653-set 50ms", "expected 'arinc653-set MAJOR DOM.VCPU:TIME...'");
	refused(A653, "arinc653-set 50ms a.0:30ms b.0:21ms", "the windows take 51000 us");
	refused(A653, "arinc653-set 50 a.0:30ms", "found '50'");
	refused(A653, "arinc653-set 50ms a.0", "expected DOM.VCPU:TIME");
	refused(A653, "arinc653-set 50ms a:1ms", "expected DOM.VCPU:TIME");
	refused(A653, "arinc653-set 50ms a.1:1ms", "vCPU: found '1'");
	refused(A653, "arinc653-set 50ms z.0:1ms", "no VM is named 'z'");
	refused(A653, "arinc653-set 50ms n.0:1ms", "'n' is a group");
	refused(A653, "arinc653-set 50ms a.0:1", "found '1'");
	refused(RTDS, "arinc653-set 50ms a.0:1ms", "the scheduler is not arinc653");
	for (unsigned int i = 0; i < 64; i++)
		strcat(many, " a.0:1ms");
	assert_int_equal(op(A653, many)->frame.n, 64);
}

static void what_is_printed_is_read_again(void **state)
{
	static const char text[] =
		A653 "vms:\n  - {name: a, vcpus: 2, period: [20ms, 15ms], budget: 1500us,"
		     " extratime: off}\n"
		     "arinc653: {major: 70ms, windows: [{vm: a, vcpu: 1, runtime: 1250us}]}\n"
		     "timeline: [{at: 1s, do: \"arinc653-set 1ms a.0:1ms\"}]\n";
	char *once = NULL, *again = NULL;
	size_t len;
	FILE *out = open_memstream(&once, &len);
	struct scenario_file *f = load(text);

	(void)state;
	scenario_print(out, first(f));
	fclose(out);
	scenario_file_free(f);
	assert_non_null(strstr(once, "period: [20ms, 15ms]"));
	assert_non_null(strstr(once, "major: 70ms"));
	f = load(once);
	out = open_memstream(&again, &len);
	scenario_print(out, first(f));
	fclose(out);
	/* what stands above tells which preset the host came from */
	assert_string_equal(strstr(once, "dom0:"), strstr(again, "dom0:"));
	scenario_file_free(f);
	free(once);
	free(again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_vm_without_periods_has_the_defaults_of_the_policy),
		cmocka_unit_test(a_value_counts_for_all_vcpus_a_list_for_each),
		cmocka_unit_test(bad_periods_and_budgets_are_refused),
		cmocka_unit_test(sched_rtds_changes_vcpus_in_order),
		cmocka_unit_test(sched_rtds_wants_all_values_for_each_vcpu),
		cmocka_unit_test(a_table_names_vcpus_and_lengths),
		cmocka_unit_test(bad_tables_are_refused),
		cmocka_unit_test(a_vm_without_a_window_is_warned_of),
		cmocka_unit_test(a_table_can_be_set_at_run_time),
		cmocka_unit_test(what_is_printed_is_read_again),
	};

	return cmocka_run_group_tests_name("scenario_realtime", tests, NULL, NULL);
}
