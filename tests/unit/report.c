/*
 * The report: ranges over runs, figures as text, verdicts and their exit meaning, tables and JSON
 * of hand-made results (no simulation runs here).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <jansson.h>

#include "report/report.h"

#define MS 1000000LL
#define S  (1000 * MS)

/* ---- a run of 10 s: a VM "build" of 2 vCPUs and two VMs "noise1", "noise2" of one */

static struct metric elapsed = {.kind = METRIC_ELAPSED, .name = "elapsed"};
static struct metric rate = {.kind = METRIC_RATE, .name = "throughput", .unit = "bytes"};

struct made {
	struct workload build, noise;
	struct sc_vm vm[3];
	struct scenario scenario;
	struct lab_vm result_vm[2][3];
	struct lab_cpu cpu[2][2];
	struct lab_result result[2];
	const struct lab_result *run[2];
	struct report_variant variant;
	struct report report;
};

static void fill_run(struct made *m, unsigned i, int64_t build_elapsed, uint64_t counted)
{
	struct lab_result *r = &m->result[i];
	struct lab_vm *vm = m->result_vm[i];

	vm[0] = (struct lab_vm){.nr_vcpus = 2,
				.has_elapsed = true,
				.elapsed = build_elapsed,
				.runs = 1,
				.wake_p50 = 10000,
				.wake_p99 = 2 * MS,
				.wake_max = 5 * MS};
	vm[0].sum.elapsed = 20 * S;
	vm[0].sum.ns[OBSERVE_USEFUL] = 9 * S;
	vm[0].sum.ns[OBSERVE_SMT] = 1 * S;
	vm[0].sum.ns[OBSERVE_WAIT_QUEUE] = 5 * S;
	vm[0].sum.ns[OBSERVE_BLOCKED] = 5 * S;
	for (unsigned k = 1; k < 3; k++) {
		vm[k] = (struct lab_vm){.nr_vcpus = 1,
					.has_rate = true,
					.counted = counted * k,
					.wake_p99 = (int64_t)k * MS};
		vm[k].sum.elapsed = 10 * S;
		vm[k].sum.ns[OBSERVE_USEFUL] = 10 * S;
	}
	*r = (struct lab_result){.seed = i + 1,
				 .start = 5 * S,
				 .end = 15 * S,
				 .n_vms = 3,
				 .n_cpus = 2,
				 .vm = vm,
				 .cpu = m->cpu[i],
				 .hash = 7 + i};
	for (unsigned k = 0; k < 2; k++) {
		m->cpu[i][k] = (struct lab_cpu){.id = k};
		m->cpu[i][k].ns[OBSERVE_PCPU_GUEST] = 9 * S;
		m->cpu[i][k].ns[OBSERVE_PCPU_IDLE] = 1 * S;
	}
	m->run[i] = r;
}

static int make(void **state)
{
	struct made *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	m->build = (struct workload){.name = "xen-build", .metric = elapsed};
	m->noise = (struct workload){.name = "noise", .metric = rate};
	m->vm[0] = (struct sc_vm){
		.name = "build", .group = "build", .vcpus = 2, .workload = &m->build};
	m->vm[1] = (struct sc_vm){
		.name = "noise1", .group = "noise", .vcpus = 1, .workload = &m->noise};
	m->vm[2] = m->vm[1];
	m->vm[2].name = "noise2";
	m->scenario = (struct scenario){.variant = "one",
					.preset = "generic",
					.vm = m->vm,
					.n_vms = 3,
					.topo = {.name = "1x2x1", .n_online = 2}};
	fill_run(m, 0, 30 * S, 10000000);
	fill_run(m, 1, 34 * S, 30000000);
	m->variant = (struct report_variant){&m->scenario, m->run, 2};
	m->report = (struct report){
		.path = "made.yaml", .variant = &m->variant, .n_variants = 1, .n_planned = 2};
	*state = m;
	return 0;
}

static int unmake(void **state)
{
	free(*state);
	return 0;
}

static struct report_range range_of(const struct made *m, const struct report_quantity *q,
				    const char *name, unsigned first, unsigned n)
{
	for (; q->name; q++) {
		if (strcmp(q->name, name) == 0)
			return report_range(&m->variant, q->get, first, n);
	}
	fail_msg("there is no quantity '%s'", name);
	return (struct report_range){0};
}

/* ---- ranges */

static void a_range_has_the_mean_and_both_ends(void **state)
{
	struct report_range r = {0};

	(void)state;
	report_range_add(&r, 4);
	assert_true(r.mean == 4 && r.min == 4 && r.max == 4 && r.n == 1);
	report_range_add(&r, -2);
	report_range_add(&r, 7);
	assert_true(r.mean == 3 && r.min == -2 && r.max == 7 && r.n == 3);
}

static void the_metric_of_a_vm_is_elapsed_time_or_a_rate_of_the_window(void **state)
{
	struct report_range r = range_of(*state, report_vm_quantities, "metric", 0, 1);

	assert_true(r.n == 2 && r.mean == 32e9 && r.min == 30e9 && r.max == 34e9);
	r = range_of(*state, report_vm_quantities, "metric", 1, 1);
	assert_true(r.min == 1e6 && r.max == 3e6); /* 10 million in 10 s */
}

static void a_group_shows_the_mean_of_its_vms_and_the_delay_of_its_worst(void **state)
{
	struct report_range r = range_of(*state, report_vm_quantities, "metric", 1, 2);

	assert_true(r.min == 1.5e6 && r.max == 4.5e6); /* of 1 and 2, of 3 and 6 million */
	r = range_of(*state, report_vm_quantities, "wake_p99", 1, 2);
	assert_true(r.mean == 2e6);
}

static void cpu_is_of_one_pcpu_and_ready_of_the_vcpus_time(void **state)
{
	struct report_range r = range_of(*state, report_vm_quantities, "cpu", 0, 1);

	assert_true(r.mean == 100); /* 10 s of running in 10 s, two vCPUs together */
	r = range_of(*state, report_vm_quantities, "ready", 0, 1);
	assert_true(r.mean == 25); /* 5 s of 20 s */
}

static void the_shares_of_the_ledger_sum_to_all_of_it(void **state)
{
	const struct made *m = *state;
	double sum = 0;

	for (const struct report_quantity *q = report_ledger_quantities; q->name; q++)
		sum += report_range(&m->variant, q->get, 0, 1).mean;
	assert_true(sum > 99.999999 && sum < 100.000001);
}

static void a_weight_is_a_share_of_its_pool(void **state)
{
	struct made *m = *state;
	const struct report_quantity *q = report_weight_quantities;

	/* pool 0: build with 100, noise1 with 300; noise2 is alone in pool 1 */
	for (unsigned i = 0; i < 2; i++) {
		m->result_vm[i][0].weight = 100;
		m->result_vm[i][1].weight = 300;
		m->result_vm[i][2].weight = 50;
		m->result_vm[i][2].pool = 1;
	}
	assert_float_equal(range_of(m, q, "share_by_weight", 0, 1).mean, 25, 1e-9);
	assert_float_equal(range_of(m, q, "share_by_weight", 1, 1).mean, 75, 1e-9);
	assert_float_equal(range_of(m, q, "share_by_weight", 2, 1).mean, 100, 1e-9);
	assert_float_equal(range_of(m, q, "share_by_weight", 1, 2).mean, 87.5, 1e-9);
	/* both were on a pCPU for 10 s */
	assert_float_equal(range_of(m, q, "share_had", 0, 1).mean, 50, 1e-9);
	assert_float_equal(range_of(m, q, "share_had", 2, 1).mean, 100, 1e-9);
	assert_float_equal(range_of(m, q, "weight", 1, 2).mean, 175, 1e-9);
	/* one that is gone has no pool to have a share of */
	for (unsigned i = 0; i < 2; i++) {
		m->result_vm[i][2].pool = -1;
		m->result_vm[i][2].weight = 0;
	}
	assert_int_equal(range_of(m, q, "share_had", 2, 1).n, 0);
	assert_float_equal(range_of(m, q, "share_had", 1, 2).mean, 50, 1e-9);
	assert_float_equal(range_of(m, q, "share_by_weight", 1, 2).mean, 75, 1e-9);
	assert_float_equal(range_of(m, q, "weight", 1, 2).mean, 300, 1e-9);
	/* a policy without weights */
	m->result_vm[0][0].weight = m->result_vm[1][0].weight = 0;
	assert_int_equal(range_of(m, q, "share_by_weight", 0, 1).n, 0);
}

static void a_failed_run_has_no_values(void **state)
{
	struct made *m = *state;

	m->result[1] = (struct lab_result){.status = LAB_FAILED, .seed = 2};
	assert_int_equal(range_of(m, report_vm_quantities, "metric", 0, 1).n, 1);
	assert_int_equal(range_of(m, report_machine_quantities, "switches", 0, 0).n, 1);
}

/* ---- text */

static void figures_have_units_and_few_digits(void **state)
{
	static const struct {
		enum report_unit unit;
		const char *rate;
		double value;
		const char *text;
	} cases[] = {
		{REPORT_TIME, NULL, 0, "0 ns"},
		{REPORT_TIME, NULL, 999, "999 ns"},
		{REPORT_TIME, NULL, 12345, "12.3 us"},
		{REPORT_TIME, NULL, 1.5e6, "1.50 ms"},
		{REPORT_TIME, NULL, 35.2e9, "35.2 s"},
		{REPORT_METRIC, NULL, 35.2e9, "35.20 s"},
		{REPORT_METRIC, "bytes", 2.9e9, "2.900 GB/s"},
		{REPORT_METRIC, "bytes", 12, "12.00 B/s"},
		{REPORT_METRIC, "bursts", 1171.9, "1172/s"},
		{REPORT_PERCENT, NULL, 49.96, "50.0 %"},
		{REPORT_PERCENT, NULL, 336.2, "336 %"},
		{REPORT_COUNT, NULL, 123456789, "123456789"},
	};
	char buf[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(report_format(cases[i].unit, cases[i].rate, cases[i].value, buf,
						  sizeof(buf)),
				    cases[i].text);
}

static void a_range_is_shown_only_when_it_is_wider_than_what_is_printed(void **state)
{
	struct report_range r = {.n = 3, .mean = 35.2e9, .min = 34.9e9, .max = 35.6e9};
	char buf[64];

	(void)state;
	assert_string_equal(report_format_range(REPORT_METRIC, NULL, &r, buf, sizeof(buf)),
			    "35.20 s [34.90..35.60]");
	r.min = 35.1999e9;
	r.max = 35.2001e9;
	assert_string_equal(report_format_range(REPORT_METRIC, NULL, &r, buf, sizeof(buf)),
			    "35.20 s");
	r.n = 0;
	assert_string_equal(report_format_range(REPORT_METRIC, NULL, &r, buf, sizeof(buf)), "-");
}

static void text_that_does_not_fit_is_cut_not_overrun(void **state)
{
	struct report_range r = {.n = 2, .mean = 35.2e9, .min = 34.9e9, .max = 35.6e9};
	char buf[8] = "xxxxxxx";

	(void)state;
	report_format_range(REPORT_METRIC, NULL, &r, buf, 6);
	assert_string_equal(buf, "35.20");
	assert_int_equal(buf[6], 'x');
}

/* ---- groups */

static void vms_of_one_entry_are_one_line_unless_each_is_asked_for(void **state)
{
	const struct made *m = *state;
	struct report_group g = report_group_at(&m->scenario, 1, false);

	assert_string_equal(g.name, "noise");
	assert_int_equal(g.n, 2);
	g = report_group_at(&m->scenario, 1, true);
	assert_string_equal(g.name, "noise1");
	assert_int_equal(g.n, 1);
	assert_true(report_group_find(&m->scenario, "noise2", true, &g));
	assert_int_equal(g.first, 2);
	assert_false(report_group_find(&m->scenario, "noise2", false, &g));
}

/* ---- verdicts */

static void the_worst_of_all_runs_and_lines_is_the_verdict(void **state)
{
	struct made *m = *state;
	struct sc_expr side = {.op = SC_EXPR_NUMBER};
	struct sc_expect line = {.text = "1 < 0", .lhs = &side, .rhs = &side};
	struct report_expect outcome = {.expect = &line};

	assert_int_equal(report_verdict(&m->report), REPORT_HELD);
	m->report.expect = &outcome;
	m->report.n_expects = 1;
	assert_int_equal(report_verdict(&m->report), REPORT_MISSED);
	m->result[0].status = LAB_STALL;
	assert_int_equal(report_verdict(&m->report), REPORT_STALL);
	m->result[1].status = LAB_BROKEN;
	assert_int_equal(report_verdict(&m->report), REPORT_BROKEN);
	m->result[0].status = LAB_FAILED;
	assert_int_equal(report_verdict(&m->report), REPORT_FAILED);
}

static void a_line_without_runs_is_neither_held_nor_failed(void **state)
{
	struct made *m = *state;
	struct sc_expr side = {.op = SC_EXPR_NUMBER};
	struct sc_expect line = {.text = "1 < 0", .lhs = &side, .rhs = &side};
	struct report_expect outcome = {.expect = &line, .skipped = true};

	m->report.expect = &outcome;
	m->report.n_expects = 1;
	assert_int_equal(report_verdict(&m->report), REPORT_HELD);
	outcome.skipped = false;
	outcome.verdict.error = -ENODATA;
	assert_int_equal(report_verdict(&m->report), REPORT_MISSED);
	m->report.interrupted = true;
	assert_int_equal(report_verdict(&m->report), REPORT_INTERRUPTED);
}

static void a_run_that_ended_before_until_was_done_is_a_miss(void **state)
{
	struct made *m = *state;

	m->result[0].status = LAB_INTERRUPTED;
	assert_int_equal(report_verdict(&m->report), REPORT_MISSED);
	m->report.interrupted = true; /* the user's Ctrl-C, then */
	assert_int_equal(report_verdict(&m->report), REPORT_INTERRUPTED);
}

static void the_hash_of_all_runs_feels_each_and_their_order(void **state)
{
	struct made *m = *state;
	uint64_t hash = report_hash(&m->report);

	assert_int_not_equal(hash, 0);
	m->result[0].hash = 8;
	m->result[1].hash = 7;
	assert_int_not_equal(report_hash(&m->report), hash);
	m->result[0].hash = m->result[1].hash = 0;
	assert_int_equal(report_hash(&m->report), 0);
}

/* ---- whole reports */

/* Not inlined: gcc 12 takes what open_memstream() leaves in text for a pointer to text itself. */
static __attribute__((noinline)) char *print_with(int (*print)(FILE *out, const struct report *r),
						  const struct report *r)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(print(out, r), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void the_last_line_of_a_report_is_the_verdict(void **state)
{
	const struct made *m = *state;
	char *text = print_with(report_print, &m->report), *last;

	text[strlen(text) - 1] = '\0';
	last = strrchr(text, '\n');
	assert_non_null(last);
	assert_int_equal(strncmp(last + 1,
				 "verdict=held variants=1 runs=2/2 expectations=0 held=0 failed=0",
				 63),
			 0);
	assert_non_null(strstr(text, "32.00 s [30.00..34.00]"));
	assert_non_null(strstr(text, "noise (2 VMs)"));
	free(text);
}

static void json_has_the_figures_and_each_seed(void **state)
{
	const struct made *m = *state;
	char *text = print_with(report_json, &m->report);
	json_t *root = json_loads(text, 0, NULL), *variant, *vm, *metric;

	assert_non_null(root);
	assert_string_equal(json_string_value(json_object_get(root, "verdict")), "held");
	variant = json_array_get(json_object_get(root, "variants"), 0);
	assert_string_equal(json_string_value(json_object_get(variant, "name")), "one");
	vm = json_array_get(json_object_get(variant, "vms"), 0);
	metric = json_object_get(vm, "metric");
	assert_true(json_number_value(json_object_get(metric, "mean")) == 32e9);
	assert_true(json_number_value(json_array_get(json_object_get(metric, "seeds"), 1)) == 34e9);
	assert_int_equal(json_array_size(json_object_get(variant, "cpus")), 2);
	json_decref(root);
	free(text);
}

static void json_to_a_full_disk_is_an_error(void **state)
{
	const struct made *m = *state;
	FILE *full = fopen("/dev/full", "w");

	assert_non_null(full);
	setvbuf(full, NULL, _IONBF, 0);
	assert_int_equal(report_json(full, &m->report), -EIO);
	fclose(full);
}

#define WITH(name) cmocka_unit_test_setup_teardown(name, make, unmake)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_range_has_the_mean_and_both_ends),
		WITH(the_metric_of_a_vm_is_elapsed_time_or_a_rate_of_the_window),
		WITH(a_group_shows_the_mean_of_its_vms_and_the_delay_of_its_worst),
		WITH(cpu_is_of_one_pcpu_and_ready_of_the_vcpus_time),
		WITH(the_shares_of_the_ledger_sum_to_all_of_it),
		WITH(a_weight_is_a_share_of_its_pool),
		WITH(a_failed_run_has_no_values),
		cmocka_unit_test(figures_have_units_and_few_digits),
		cmocka_unit_test(a_range_is_shown_only_when_it_is_wider_than_what_is_printed),
		cmocka_unit_test(text_that_does_not_fit_is_cut_not_overrun),
		WITH(vms_of_one_entry_are_one_line_unless_each_is_asked_for),
		WITH(the_worst_of_all_runs_and_lines_is_the_verdict),
		WITH(a_line_without_runs_is_neither_held_nor_failed),
		WITH(a_run_that_ended_before_until_was_done_is_a_miss),
		WITH(the_hash_of_all_runs_feels_each_and_their_order),
		WITH(the_last_line_of_a_report_is_the_verdict),
		WITH(json_has_the_figures_and_each_seed),
		WITH(json_to_a_full_disk_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
