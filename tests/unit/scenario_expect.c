/*
 * Expectations: the grammar, what is refused, and what a line means for given values of runs.
 */
#include "scenario_text.h"

#include <errno.h>

#define BASE                             \
	HOST "vms:\n"                    \
	     "  - {name: a, vcpus: 2}\n" \
	     "  - {name: b-c}\n"         \
	     "  - {name: n, count: 3}\n" \
	     "run: {seeds: 2}\n"         \
	     "variants:\n"               \
	     "  - {name: runq=core}\n"   \
	     "  - {name: runq=socket, set: {vms.n.count: 2}}\n"

/*
 * The values of the made-up runs: of VM i in variant v with seed s, elapsed is (10 + 2 v + s) s and
 * cpu is (10 i + s) %; of one vCPU k, cpu is k %; idle of a pCPU or the host is 25 %.
 */
static int value(void *ctx, unsigned int variant, unsigned int seed, const struct sc_ref *ref,
		 int vm, double *out)
{
	const struct scenario_file *f = ctx;

	if (strcmp(ref->metric->name, "idle") == 0) {
		assert_int_equal(vm, -1);
		*out = 25;
		return 0;
	}
	assert_in_range(vm, 0, f->variant[variant].n_vms - 1);
	if (strcmp(ref->metric->name, "elapsed") == 0)
		*out = (10 + 2.0 * variant + seed) * 1e9;
	else if (strcmp(ref->metric->name, "cpu") == 0)
		*out = ref->index >= 0 ? ref->index : 10.0 * vm + seed;
	else
		return -ENODATA;
	return 0;
}

static struct sc_verdict judge(const char *line)
{
	char text[1024];
	struct scenario_file *f;
	struct sc_verdict v;

	snprintf(text, sizeof(text), BASE "expect:\n  - %s\n", line);
	f = load(text);
	assert_int_equal(f->n_expects, 1);
	v = sc_expect_eval(f, &f->expect[0], value, f);
	v.missing = NULL; /* points into f */
	scenario_file_free(f);
	return v;
}

static void holds(const char *line)
{
	if (!judge(line).held)
		fail_msg("does not hold: %s", line);
}

static void fails(const char *line)
{
	struct sc_verdict v = judge(line);

	if (v.held || v.error)
		fail_msg("holds or has no value: %s", line);
}

static void refused(const char *line, const char *message)
{
	char text[1024];

	snprintf(text, sizeof(text), BASE "expect:\n  - %s\n", line);
	refuse(text, message);
}

static void variants_are_compared(void **state)
{
	(void)state;
	holds("a.elapsed[runq=core] < a.elapsed[runq=socket]");
	fails("a.elapsed[runq=socket] < a.elapsed[runq=core]");
	/* Means over seeds: 10.5 s and 12.5 s. */
	holds("a.elapsed[runq=core] == 10.5s");
	holds("a.elapsed[runq=socket] / a.elapsed[runq=core] == 1.19 +- 0.1%  # 1.1905");
	fails("a.elapsed[runq=socket] / a.elapsed[runq=core] == 1.19 +- 0.01%");
}

static void a_line_without_variant_must_hold_in_each(void **state)
{
	struct sc_verdict v;

	(void)state;
	holds("a.elapsed < 13s");
	fails("a.elapsed < 12s");
	v = judge("a.elapsed < 12s");
	assert_int_equal(v.variant, 1);
	assert_true(v.lhs == 12.5e9 && v.rhs == 12e9);
	holds("a.elapsed >= a.elapsed[runq=core]");
}

static void each_seed_can_be_asked_for(void **state)
{
	struct sc_verdict v;

	(void)state;
	holds("a.elapsed[runq=core] < 10.9s");
	v = judge("{that: 'a.elapsed[runq=core] < 10.9s', seeds: each, why: sooner}");
	assert_false(v.held);
	assert_int_equal(v.seed, 1);
	holds("{that: 'a.elapsed[runq=core] <= 11s', seeds: each}");
	holds("{that: 'a.elapsed[runq=core] < 10.9s', seeds: mean}");
}

static void a_group_is_its_mean_unless_told_otherwise(void **state)
{
	(void)state;
	/* n1..n3 are VMs 3, 4, 5 behind dom0, a, b-c: cpu 30.5, 40.5, 50.5 % over two seeds. */
	holds("n.cpu[runq=core] == 40.5%");
	holds("mean(n.cpu[runq=core]) == 40.5%");
	holds("min(n.cpu[runq=core]) == 30.5%");
	holds("max(n.cpu[runq=core]) == 50.5%");
	holds("sum(n.cpu[runq=core]) == 121.5%");
	holds("sum(n.cpu[runq=socket]) == 71%"); /* two members there */
	holds("n2.cpu[runq=core] == 40.5%");
	holds("sum(a.cpu) == a.cpu");
}

static void vcpus_and_pcpus_have_numbers(void **state)
{
	(void)state;
	holds("a:1.cpu == 1%");
	holds("cpu:3.idle == host.idle");
	holds("b-c.cpu == 20.5%");
	refused("a:2.cpu == 1%", "VM 'a' has no vCPU 2");
	refused("cpu:16.idle == 1%", "pCPU 16 is not online");
	refused("cpu.idle == 1%", "expected cpu:NUMBER");
	refused("host:1.idle == 1%", "the host has no number");
	refused("a:x.cpu == 1%", "expected a vCPU or pCPU number");
}

static void arithmetic_has_its_usual_order(void **state)
{
	(void)state;
	holds("1 + 2 * 3 == 7");
	holds("(1 + 2) * 3 == 9");
	holds("8 / 2 / 2 == 2");
	holds("2 - 3 - 4 == -5");
	holds("-2 * 3 == 0 - 6");
	holds("abs(1 - 3) == 2");
	holds("min(3, 2, 5) + max(3, 2, 5) == 7");
	holds("100% * 2000 / (2000 + 5 * 1000) == 28.571% +- 0.001%");
	holds("50% * 10s == 5s");
	holds("10s * 50% == 5s");
	holds("50% * 50% == 25%");
	holds("2 * 50% == 100%");
	holds("3k == 3000");
	holds("1min + 1ms == 60001ms");
	holds("a.elapsed[runq=core] - 500ms == 10s");
	fails("0 / 0 == 0 / 0"); /* nothing can be said of it */
}

static void tolerance_is_relative_except_for_percentages(void **state)
{
	(void)state;
	holds("50% == 49% +- 1%");
	fails("50% == 49% +- 0.9%"); /* points, not a share of 49 % */
	holds("50s == 49.6s +- 1%");
	fails("50s == 49.4s +- 1%");
	holds("10s == 9s +- 1s");
	holds("10s < 9.5s +- 1s");
	holds("10s >= 10.5s +- 1s");
	holds("3 != 5 +- 1");
	fails("3 != 4 +- 1");
	holds("10 == 9.5 \u00b1 0.5");
}

static void comparisons_are_what_they_say(void **state)
{
	(void)state;
	holds("1 < 2");
	fails("2 < 2");
	holds("2 <= 2");
	fails("3 <= 2");
	holds("2 == 2");
	fails("2 == 3");
	holds("2 != 3");
	holds("3 > 2");
	fails("2 > 2");
	holds("2 >= 2");
	fails("1 >= 2");
}

static void a_missing_value_never_holds(void **state)
{
	struct sc_verdict v = judge("a.runs >= 0");

	(void)state;
	assert_false(v.held);
	assert_int_equal(v.error, -ENODATA);
	v = judge("a.runs != 3");
	assert_false(v.held);
	assert_int_equal(v.error, -ENODATA);
}

static void unknown_names_are_refused_with_their_place(void **state)
{
	(void)state;
	refused("a.cpuu == 3%", "x.yaml:11:7: error: unknown metric 'cpuu'; did you mean 'cpu'?");
	refused("z.cpu == 3%", "x.yaml:11:5: error: no VM is named 'z'");
	refused("3% == z.cpu", "x.yaml:11:11: error: no VM is named 'z'");
	refused("n3.cpu[runq=socket] == 3%", "no VM is named 'n3'");
	refused("a.cpu[runq] == 3%", "x.yaml:11:11: error: no variant is named 'runq'");
	refused("a.cpu[runq=core == 3%", "no ']' after '['");
	refused("host.cpu == 3%", "metric 'cpu' is kept for VMs, not for 'host'");
	refused("a.runqueues == 3", "metric 'runqueues' is kept for the host, not for 'a'");
	refused("a:1.elapsed == 3s", "metric 'elapsed' is not kept for a single vCPU");
	refused("median(a.cpu) == 3%", "unknown function 'median'");
}

static void kinds_that_do_not_match_are_refused(void **state)
{
	(void)state;
	refused("a.cpu == 3", "a percentage is compared with a number");
	refused("a.elapsed == 3", "a time is compared with a number");
	refused("a.cpu == 3s", "a percentage is compared with a time");
	refused("a.cpu + a.elapsed == 3%", "a percentage and a time do not add up");
	refused("a.elapsed * a.elapsed == 3", "a time cannot be multiplied with a time");
	refused("3 / a.elapsed == 3", "a number cannot be divided by a time");
	refused("min(a.cpu, a.elapsed) == 3%", "the arguments of min() differ in kind");
	refused("a.cpu == 3% +- 1s", "the tolerance is a time, expected a percentage");
	refused("a.elapsed == 3s +- 1", "the tolerance is a number, expected a time");
}

static void broken_lines_are_refused(void **state)
{
	(void)state;
	refused("a.cpu", "expected a comparison");
	refused("a.cpu = 3%", "x.yaml:11:11: error: '=' is no comparison, expected '=='");
	refused("a.cpu == ", "unexpected end");
	refused("(a.cpu == 3%", "expected ')'");
	refused("a.cpu == 3% 4%", "unexpected '4%'");
	refused("a.cpu < 3% < 4%", "unexpected '< 4%'");
	refused("a == 3%", "expected '.METRIC' after 'a'");
	refused("a. == 3%", "expected the name of a metric");
	refused("3 == 4furlong", "unknown unit 'furlong'");
	refused("1.2.3 == 4", "not a number");
	refused("abs(1, 2) == 1", "abs() takes one argument");
	refused("sum(3) == 3", "sum() takes one name.metric");
	refused("'((((((((((((((((((((((((((((((((((((1 == 1'", "nested too deeply");
	refused("{why: nothing}", "'that' is missing in an expectation");
	refused("{that: 1 == 1, seeds: some}", "seeds: found 'some', expected one of: mean, each");
	refused("[1]", "found a list, expected a text");
}

static void values_are_printed_with_their_units(void **state)
{
	char buf[32];

	(void)state;
	assert_string_equal(sc_format_value(SC_DIM_TIME, 12.4e6, buf, sizeof(buf)), "12.4 ms");
	assert_string_equal(sc_format_value(SC_DIM_TIME, 999, buf, sizeof(buf)), "999 ns");
	assert_string_equal(sc_format_value(SC_DIM_TIME, 35.2e9, buf, sizeof(buf)), "35.2 s");
	assert_string_equal(sc_format_value(SC_DIM_PERCENT, 49.8, buf, sizeof(buf)), "49.8 %");
	assert_string_equal(sc_format_value(SC_DIM_NUMBER, 123456789, buf, sizeof(buf)),
			    "123456789");
	assert_string_equal(sc_format_value(SC_DIM_NUMBER, 1.25, buf, sizeof(buf)), "1.25");
}

static int end(void **state)
{
	(void)state;
	free(messages);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(variants_are_compared),
		cmocka_unit_test(a_line_without_variant_must_hold_in_each),
		cmocka_unit_test(each_seed_can_be_asked_for),
		cmocka_unit_test(a_group_is_its_mean_unless_told_otherwise),
		cmocka_unit_test(vcpus_and_pcpus_have_numbers),
		cmocka_unit_test(arithmetic_has_its_usual_order),
		cmocka_unit_test(tolerance_is_relative_except_for_percentages),
		cmocka_unit_test(comparisons_are_what_they_say),
		cmocka_unit_test(a_missing_value_never_holds),
		cmocka_unit_test(unknown_names_are_refused_with_their_place),
		cmocka_unit_test(kinds_that_do_not_match_are_refused),
		cmocka_unit_test(broken_lines_are_refused),
		cmocka_unit_test(values_are_printed_with_their_units),
	};

	return cmocka_run_group_tests_name("scenario_expect", tests, NULL, end);
}
