/*
 * Campaigns: a run's place and result depend on its variant and seed only, what was asked for is
 * what is run, a stop keeps what was completed, and expectations are judged for the variants that
 * ran.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "campaign/campaign.h"

static const char text[] = "host: {topology: 1x2x1, hypervisor: xen, cmdline: sched=credit2}\n"
			   "dom0: none\n"
			   "vms:\n"
			   "  - {name: a, vcpus: 2, workload: noise}\n"
			   "  - {name: b, vcpus: 2, workload: hog}\n"
			   "run: {warmup: 0s, duration: 100ms, seeds: 3}\n"
			   "variants:\n"
			   "  - {name: one}\n"
			   "  - {name: two, set: {vms.a.weight: 512}}\n"
			   "expect:\n"
			   "  - b.cpu >= 0%\n"
			   "  - b.cpu[two] >= 0%\n"
			   "  - b.cpu[one] < 0%\n";

static int load(void **state)
{
	struct sc_diag diag = {.out = stderr};

	return scenario_load_text("made.yaml", text, strlen(text), ".", NULL, 0, &diag,
				  (struct scenario_file **)state);
}

static int unload(void **state)
{
	scenario_file_free(*state);
	return 0;
}

static void the_number_of_threads_changes_no_result(void **state)
{
	struct campaign_options options = {.threads = 1, .check_determinism = true};
	struct campaign one, four;

	assert_int_equal(campaign_run(*state, &options, &one), 0);
	options.threads = 4;
	assert_int_equal(campaign_run(*state, &options, &four), 0);
	assert_int_equal(campaign_planned(&one), 6);
	for (unsigned v = 0; v < 2; v++) {
		for (unsigned i = 0; i < 3; i++) {
			const struct lab_result *a = campaign_result(&one, v, i);
			const struct lab_result *b = campaign_result(&four, v, i);

			assert_non_null(a);
			assert_non_null(b);
			assert_int_equal(a->status, LAB_DONE);
			assert_int_equal(a->seed, i + 1);
			assert_true(a->hash != 0 && a->hash == b->hash);
		}
	}
	/* Seeds and variants differ, or equal hashes would say nothing. */
	assert_true(campaign_result(&one, 0, 0)->hash != campaign_result(&one, 0, 1)->hash);
	assert_true(campaign_result(&one, 0, 0)->hash != campaign_result(&one, 1, 0)->hash);
	campaign_free(&one);
	campaign_free(&four);
}

static void only_what_was_asked_for_is_run(void **state)
{
	struct campaign_options options = {
		.has_variant = true, .variant = 1, .has_seed = true, .seed = 40, .seeds = 2};
	struct campaign c;

	assert_int_equal(campaign_run(*state, &options, &c), 0);
	assert_int_equal(campaign_planned(&c), 2);
	assert_null(campaign_result(&c, 0, 0));
	assert_int_equal(campaign_result(&c, 1, 0)->seed, 40);
	assert_int_equal(campaign_result(&c, 1, 1)->seed, 41);
	assert_false(c.interrupted);
	campaign_free(&c);
}

static void a_stop_before_the_first_run_leaves_an_empty_table(void **state)
{
	atomic_bool stop = true;
	struct campaign_options options = {.stop = &stop};
	struct campaign c;
	struct report r;

	assert_int_equal(campaign_run(*state, &options, &c), 0);
	assert_true(c.interrupted);
	for (unsigned v = 0; v < 2; v++) {
		for (unsigned i = 0; i < 3; i++)
			assert_null(campaign_result(&c, v, i));
	}
	assert_int_equal(campaign_report(&c, &r), 0);
	assert_int_equal(report_verdict(&r), REPORT_INTERRUPTED);
	campaign_report_free(&r);
	campaign_free(&c);
}

static void expectations_are_judged_over_all_variants(void **state)
{
	struct campaign_options options = {0};
	struct campaign c;
	struct report r;

	assert_int_equal(campaign_run(*state, &options, &c), 0);
	assert_int_equal(campaign_report(&c, &r), 0);
	assert_int_equal(r.n_variants, 2);
	assert_int_equal(r.variant[0].n_runs, 3);
	assert_true(r.expect[0].verdict.held && r.expect[1].verdict.held);
	assert_false(r.expect[2].verdict.held);
	assert_false(r.expect[2].skipped);
	assert_int_equal(report_verdict(&r), REPORT_MISSED);
	campaign_report_free(&r);
	campaign_free(&c);
}

static void a_line_about_a_variant_that_was_not_run_is_skipped(void **state)
{
	struct campaign_options options = {.has_variant = true, .variant = 1};
	struct campaign c;
	struct report r;

	/* seeds of the file count, so that a line over all of them has all its values */
	assert_int_equal(campaign_run(*state, &options, &c), 0);
	assert_int_equal(campaign_report(&c, &r), 0);
	assert_int_equal(r.n_variants, 1);
	assert_true(r.expect[0].verdict.held && !r.expect[0].skipped);
	assert_string_equal(r.expect[0].variant, "two");
	assert_true(r.expect[1].verdict.held && !r.expect[1].skipped);
	assert_true(r.expect[2].skipped);
	assert_int_equal(report_verdict(&r), REPORT_HELD);
	campaign_report_free(&r);
	campaign_free(&c);
}

#define WITH(name) cmocka_unit_test_setup_teardown(name, load, unload)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(the_number_of_threads_changes_no_result),
		WITH(only_what_was_asked_for_is_run),
		WITH(a_stop_before_the_first_run_leaves_an_empty_table),
		WITH(expectations_are_judged_over_all_variants),
		WITH(a_line_about_a_variant_that_was_not_run_is_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
