/*
 * Conformance scripts: what they mean, and what is said of a wrong one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "conform/script.h"

#define BOOT "sched credit2\ntopology 1 2 2\nrun-until 100\n" /* lines 1-3 */

static int parse(const char *text, struct script *s, struct script_error *err)
{
	return script_parse(text, strlen(text), s, err);
}

static void boot_section_is_read_in_any_order(void **state)
{
	struct script s;
	struct script_error err;

	(void)state;
	assert_int_equal(parse("run-until 5000 # the end\nparam credit2_runqueue core\n\n"
			       "topology 4 2 2 nodes 2\n\tipi  20000\nparam a -2\nsched null",
			       &s, &err),
			 0);
	assert_string_equal(s.sched, "null");
	assert_int_equal(s.sched_line, 7);
	assert_int_equal(s.end, 5000);
	assert_int_equal(s.ipi, 20000);
	assert_int_equal(s.sockets * 100 + s.cores * 10 + s.threads, 422);
	assert_int_equal(s.nodes, 2);
	assert_int_equal(s.nr_pcpus, 16);
	assert_int_equal(s.nr_params, 2);
	assert_string_equal(s.param[0].name, "credit2_runqueue");
	assert_string_equal(s.param[1].value, "-2");
	assert_int_equal(s.param[1].number, 6);
	script_free(&s);
}

static void nodes_are_sockets_unless_said(void **state)
{
	struct script s;
	struct script_error err;

	(void)state;
	assert_int_equal(parse("sched null\ntopology 3 1 1\nrun-until 1\n", &s, &err), 0);
	assert_int_equal(s.nodes, 3);
	assert_int_equal(s.ipi, 0);
	script_free(&s);
}

static void unprefixed_lines_come_before_timed_ones(void **state)
{
	struct script s;
	struct script_error err;

	(void)state;
	assert_int_equal(parse(BOOT "at 0 wake 7.1\nat 9 down 7.1\ndomain 7 vcpus 2 cap 50\n"
				    "pause 7.0\nat 9 wake 7.0\n",
			       &s, &err),
			 0);
	static const enum script_op expected[] = {SCRIPT_DOMAIN, SCRIPT_PAUSE, SCRIPT_WAKE,
						  SCRIPT_DOWN, SCRIPT_WAKE};
	static const unsigned number[] = {6, 7, 4, 5, 8};

	assert_int_equal(s.nr_lines, 5);
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(s.line[i].op, expected[i]);
		assert_int_equal(s.line[i].number, number[i]);
		assert_int_equal(s.line[i].at, i < 3 ? 0 : 9);
	}
	assert_true(s.line[0].create.has_cap && !s.line[0].create.has_weight);
	assert_int_equal(s.line[0].create.cap, 50);
	script_free(&s);
}

static void vcpus_are_numbered_over_all_domains(void **state)
{
	struct script s;
	struct script_error err;

	(void)state;
	assert_int_equal(parse(BOOT "domain 9 vcpus 3\ndomain 2 vcpus 2\nwake 9.2\nwake 2.1\n"
				    "weight 2 77\n",
			       &s, &err),
			 0);
	assert_int_equal(s.nr_domains, 2);
	assert_int_equal(s.nr_vcpus, 5);
	assert_int_equal(s.line[2].vcpu, 2);
	assert_int_equal(s.line[3].vcpu, 4);
	assert_int_equal(s.line[4].domain, 1);
	assert_int_equal(s.line[4].value, 77);
	script_free(&s);
}

static void behaviours_and_pcpu_lists_are_read(void **state)
{
	struct script s;
	struct script_error err;

	(void)state;
	assert_int_equal(parse(BOOT "domain 1 vcpus 1\nbehave 1.0 periodic 5 6\n"
				    "behave 1.0 random 18446744073709551615 7 8\n"
				    "behave 1.0 yielder 9\nbehave 1.0 busy\n"
				    "hard 1.0 0-1,3\nsoft 1.0 all\n",
			       &s, &err),
			 0);
	assert_int_equal(s.line[1].behaviour.kind, BEHAVE_PERIODIC);
	assert_int_equal(s.line[1].behaviour.run, 5);
	assert_int_equal(s.line[1].behaviour.sleep, 6);
	assert_int_equal(s.line[2].behaviour.kind, BEHAVE_RANDOM);
	assert_true(s.line[2].behaviour.seed == UINT64_MAX);
	assert_int_equal(s.line[3].behaviour.kind, BEHAVE_YIELDER);
	assert_int_equal(s.line[4].behaviour.kind, BEHAVE_BUSY);
	assert_int_equal(s.line[5].pcpus.w[0], 0xb);
	assert_int_equal(s.line[6].pcpus.w[0], 0xf);
	assert_int_equal(s.line[6].pcpus.w[1], 0);
	script_free(&s);
}

static void commands_of_other_policies_are_read(void **state)
{
	struct script s;
	struct script_error err;

	(void)state;
	assert_int_equal(
		parse("sched arinc653\ntopology 1 1 1\nrun-until 9\n"
		      "domain 0 vcpus 1 handle 3 control\narinc 100 3.0:60 9.4294967295:40\n"
		      "arinc 0\nat 5 arinc-get\n",
		      &s, &err),
		0);
	assert_true(s.line[0].create.control && s.line[0].create.has_handle);
	assert_int_equal(s.line[0].create.handle, 3);
	assert_int_equal(s.line[1].arinc.major, 100);
	assert_int_equal(s.line[1].arinc.nr_windows, 2);
	assert_int_equal(s.line[1].arinc.window[1].domain, 9);
	assert_int_equal(s.line[1].arinc.window[1].vcpu, UINT32_MAX);
	assert_int_equal(s.line[1].arinc.window[1].runtime, 40);
	assert_int_equal(s.line[2].arinc.nr_windows, 0);
	script_free(&s);
	assert_int_equal(parse("sched rtds\ntopology 1 1 1\nrun-until 9\ndomain 1 vcpus 1\n"
			       "rtds 1.0 10000 4000 1\n",
			       &s, &err),
			 0);
	assert_int_equal(s.line[1].rtds.period_us, 10000);
	assert_int_equal(s.line[1].rtds.budget_us, 4000);
	assert_true(s.line[1].rtds.extra);
	script_free(&s);
}

static const struct {
	const char *text;
	unsigned line;
	const char *says; /* part of the message */
} wrong[] = {
	{"param sched-gran node\n", 1, "expected cpu, core or socket, found 'node'"},
	{"", 0, "sched NAME"},
	{"sched null\n", 1, "topology S C T"},
	{"sched null\ntopology 1 1 1\nat 5 wak", 3, "found 'wak'"},
	{"sched null\ntopology 1 1 1\n", 2, "run-until T"},
	{"sched null\nsched null\n", 2, "second `sched`"},
	{"sched\n", 1, "the name of a policy, found end of line"},
	{"topology 1 1\n", 1, "threads per core (1..1024), found 'end of line'"},
	{"topology 1 0 1\n", 1, "cores per socket (1..1024), found '0'"},
	{"topology 16 64 2\n", 1, "2048 pCPUs, expected at most 1024"},
	{"topology 1 1 1 nodes\n", 1, "the number of nodes"},
	{"topology 1 1 1 2\n", 1, "expected end of line, found '2'"},
	{"ipi 1\nipi 1\n", 2, "second `ipi`"},
	{"at 5 ipi 1\n", 1, "boot section"},
	{"at\n", 1, "a time in ns"},
	{"at 5\n", 1, "a command, found end of line"},
	{"run-until -5\n", 1, "found '-5'"},
	{"run-until 99999999999999999999\n", 1, "found '99999999999999999999'"},
	{"run-until 5x\n", 1, "found '5x'"},
	{"param credit2_runqueue\n", 1, "the value of the boot parameter"},
	{"frobnicate 1\n", 1, "expected a boot line or a command, found 'frobnicate'"},
	{BOOT "at 9 yield 1.0\nat 8 yield 1.0\n", 5, "8 ns comes after 9 ns"},
	{BOOT "wake 1.0\n", 4, "domain 1 does not exist"},
	{BOOT "at 1 domain 1 vcpus 1\nwake 1.0\n", 5, "domain 1 does not exist"},
	{BOOT "domain 1 vcpus 2\nwake 1.2\n", 5, "vCPUs 0-1, no vCPU 2"},
	{BOOT "domain 1 vcpus 2\nwake 1\n", 5, "DOM.VCPU, found '1'"},
	{BOOT "domain 1 vcpus 2\nwake 1.0 1.1\n", 5, "expected end of line, found '1.1'"},
	{BOOT "domain 1 vcpus 0\n", 4, "the number of vCPUs (1..8192), found '0'"},
	{BOOT "domain 1 cpus 2\n", 4, "expected `vcpus N`, found 'cpus'"},
	{BOOT "domain 1 vcpus 2 weight\n", 4, "a weight (0..65535), found 'end of line'"},
	{BOOT "domain 1 vcpus 2 weight 65536\n", 4, "found '65536'"},
	{BOOT "domain 1 vcpus 2 handle 1\n", 4, "expected weight, cap or pool, found 'handle'"},
	{BOOT "pool-create 1\n", 4, "the name of a policy"},
	{BOOT "pool-create 1 credit gran thread\n", 4, "cpu, core or socket, found 'thread'"},
	{BOOT "pool-add 1 4\n", 4, "pCPUs 0-3, no pCPU 4"},
	{BOOT "pool-move 1 1\n", 4, "domain 1 does not exist"},
	{BOOT "domain 1 vcpus 2\ndomain 1 vcpus 1\n", 5, "domain 1 exists already"},
	{BOOT "domain 40000 vcpus 2\n", 4, "a domain id (0..32751)"},
	{BOOT "domain 1 vcpus 1\nbehave 1.0 lazy\n", 5,
	 "expected busy, periodic, random or yielder"},
	{BOOT "domain 1 vcpus 1\nbehave 1.0 periodic 5\n", 5, "sleep time in ns"},
	{BOOT "domain 1 vcpus 1\nbehave 1.0 yielder 0\n", 5, "found '0'"},
	{BOOT "domain 1 vcpus 1\nhard 1.0 0-4\n", 5, "pCPU 4 in '0-4' does not exist"},
	{BOOT "domain 1 vcpus 1\nhard 1.0 3-2\n", 5, "a list of pCPUs such as 0-3,8, found '3-2'"},
	{BOOT "domain 1 vcpus 1\nhard 1.0 1,\n", 5, "a list of pCPUs"},
	{BOOT "domain 1 vcpus 1\nhard 1.0 1-\n", 5, "a list of pCPUs"},
	{BOOT "domain 1 vcpus 1\nhard 1.0\n", 5, "found 'end of line'"},
	{BOOT "domain 1 vcpus 1\nrtds 1.0 1 1 1\n", 5, "`rtds` needs `sched rtds`"},
	{BOOT "pool-create 1 arinc653\narinc-get\n", 5, "`arinc-get` needs `sched arinc653`"},
	{BOOT "arinc-get\n", 4, "`arinc-get` needs `sched arinc653`"},
	{BOOT "weight 1 5\n", 4, "domain 1 does not exist"},
	{"sched arinc653\ntopology 1 1 1\nrun-until 1\narinc 5 1.0\n", 4,
	 "DOM.VCPU:RUNTIME, found '1.0'"},
};

static void a_wrong_script_is_refused_with_line_and_expectation(void **state)
{
	struct script s;
	struct script_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		int rc = parse(wrong[i].text, &s, &err);

		if (rc != -HV_EINVAL || err.line != wrong[i].line ||
		    !strstr(err.text, wrong[i].says))
			fail_msg("case %zu: rc %d, line %u, said: %s", i, rc, err.line, err.text);
		script_free(&s);
	}
}

/* Cutting a good script anywhere never crashes, and never leaves a script without an end. */
static void every_truncation_is_refused_or_complete(void **state)
{
	static const char text[] = "sched credit2\ndomain 1 vcpus 2 weight 300\nhard 1.1 0-3\n"
				   "behave 1.0 random 5 100 200\ntopology 1 2 2\nat 7 wake 1.0\n"
				   "run-until 90\n";
	size_t last_word = strlen(text) - strlen("90\n");
	struct script s;
	struct script_error err;

	(void)state;
	for (size_t len = 0; len <= last_word; len++) {
		assert_int_equal(script_parse(text, len, &s, &err), -HV_EINVAL);
		assert_true(err.text[0]);
		script_free(&s);
	}
	assert_int_equal(script_parse(text, strlen(text), &s, &err), 0);
	script_free(&s);
}

static void a_file_that_is_no_text_is_refused(void **state)
{
	struct script s;
	struct script_error err;

	(void)state;
	assert_int_equal(script_parse("sched\0null", 10, &s, &err), -HV_EINVAL);
	assert_non_null(strstr(err.text, "zero byte"));
	script_free(&s);
	assert_true(script_load("/nonexistent.ev", &s, &err) < 0);
	assert_non_null(strstr(err.text, "cannot be opened"));
	script_free(&s);
	assert_true(script_load("/", &s, &err) < 0);
	assert_non_null(strstr(err.text, "cannot be read"));
	script_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(boot_section_is_read_in_any_order),
		cmocka_unit_test(nodes_are_sockets_unless_said),
		cmocka_unit_test(unprefixed_lines_come_before_timed_ones),
		cmocka_unit_test(vcpus_are_numbered_over_all_domains),
		cmocka_unit_test(behaviours_and_pcpu_lists_are_read),
		cmocka_unit_test(commands_of_other_policies_are_read),
		cmocka_unit_test(a_wrong_script_is_refused_with_line_and_expectation),
		cmocka_unit_test(every_truncation_is_refused_or_complete),
		cmocka_unit_test(a_file_that_is_no_text_is_refused),
	};

	return cmocka_run_group_tests_name("conform_script", tests, NULL, NULL);
}
