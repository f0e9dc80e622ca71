/*
 * Experiments: tables of values, the arithmetic of ratios, bands and grades, the rule for orders,
 * and the built-in experiments' own files. The cells are made by hand; nothing is simulated.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>

#include "campaign/experiment.h"

/* ---- tables */

static void a_table_is_read_by_the_names_of_its_columns(void **state)
{
	struct csv c;
	unsigned line;

	(void)state;
	assert_int_equal(csv_read("a,b,c\n1,2,3\n4,,6\n", &c, &line), 0);
	assert_int_equal(c.n_rows, 2);
	assert_string_equal(csv_cell(&c, 0, "b"), "2");
	assert_string_equal(csv_cell(&c, 1, "b"), "");
	assert_string_equal(csv_cell(&c, 1, "c"), "6");
	assert_null(csv_cell(&c, 1, "d"));
	csv_free(&c);
}

static void quotes_keep_commas_and_quotes(void **state)
{
	struct csv c;
	unsigned line;

	(void)state;
	assert_int_equal(csv_read("a,b\n\"x, y\",\"say \"\"no\"\"\"\r\n\"\",last", &c, &line), 0);
	assert_string_equal(csv_cell(&c, 0, "a"), "x, y");
	assert_string_equal(csv_cell(&c, 0, "b"), "say \"no\"");
	assert_string_equal(csv_cell(&c, 1, "a"), "");
	assert_string_equal(csv_cell(&c, 1, "b"), "last");
	csv_free(&c);
}

static void a_row_of_another_length_is_named(void **state)
{
	struct csv c;
	unsigned line;

	(void)state;
	assert_int_equal(csv_read("a,b\n1,2\n1\n", &c, &line), -HV_EINVAL);
	assert_int_equal(line, 3);
	assert_int_equal(csv_read("a,b\n1,2,3\n", &c, &line), -HV_EINVAL);
	assert_int_equal(line, 2);
}

/* ---- judging: cells a and b with three seeds, a ratio a / b, an order of the two */

struct made {
	double a[3], b[3];
	struct experiment_cell cell[2];
	struct experiment_ratio ratio;
	struct experiment_ordering ordering;
	struct experiment e;
};

static int make(void **state)
{
	struct made *m = calloc(1, sizeof(*m));
	static const double a[3] = {11, 12, 13}, b[3] = {10, 10, 10};

	assert_non_null(m);
	memcpy(m->a, a, sizeof(a));
	memcpy(m->b, b, sizeof(b));
	m->cell[0] = (struct experiment_cell){.lower_is_better = true, .value = m->a};
	m->cell[1] = (struct experiment_cell){.lower_is_better = true, .value = m->b};
	m->ratio = (struct experiment_ratio){.num = 0,
					     .den = 1,
					     .observed = 1.25,
					     .lower = 1.1,
					     .upper = 1.3,
					     .grade = 'A',
					     .note = ""};
	m->ordering = (struct experiment_ordering){
		.n = 2, .cell = {1, 0}, .strict = {true}, .result = ORDER_NO_VALUE};
	m->e = (struct experiment){.cell = m->cell,
				   .n_cells = 2,
				   .ratio = &m->ratio,
				   .n_ratios = 1,
				   .ordering = &m->ordering,
				   .n_orderings = 1,
				   .n_seeds = 3};
	*state = m;
	return 0;
}

static int unmake(void **state)
{
	free(*state);
	return 0;
}

static bool near(double a, double b)
{
	return fabs(a - b) < 1e-9;
}

static void a_ratio_is_of_the_means_and_its_range_seed_by_seed(void **state)
{
	struct made *m = *state;

	m->b[2] = 13; /* means 12 and 11; by seed 1.1, 1.2, 1.0 */
	experiment_judge(&m->e);
	assert_true(near(m->ratio.simulated, 12.0 / 11));
	assert_true(near(m->ratio.seed.min, 1.0) && near(m->ratio.seed.max, 1.2));
	assert_true(near(m->ratio.error, 100 * (12.0 / 11 / 1.25 - 1)));
}

static void a_change_in_per_cent_has_its_error_in_points(void **state)
{
	struct made *m = *state;

	m->ratio.percent = true;
	m->ratio.observed = 25;
	m->ratio.lower = 15;
	m->ratio.upper = 30;
	experiment_judge(&m->e);
	assert_true(near(m->ratio.simulated, 20) && near(m->ratio.error, -5));
	assert_int_equal(m->ratio.result, RESULT_PASS);
}

static void grade_a_passes_inside_the_band_and_misses_outside(void **state)
{
	struct made *m = *state;

	experiment_judge(&m->e);
	assert_int_equal(m->ratio.result, RESULT_PASS);
	assert_int_equal(m->e.reproduced, 1);
	assert_true(experiment_reproduced(&m->e));
	m->ratio.upper = 1.19;
	experiment_judge(&m->e);
	assert_int_equal(m->ratio.result, RESULT_MISS);
	assert_int_equal(m->e.reproduced, 0);
	assert_int_equal(m->e.counted, 1);
	assert_false(experiment_reproduced(&m->e));
}

static void grade_b_also_needs_its_order(void **state)
{
	struct made *m = *state;

	m->ratio.grade = 'B';
	m->ratio.order = &m->ordering;
	experiment_judge(&m->e);
	assert_int_equal(m->ratio.result, RESULT_PASS);
	m->ordering.cell[0] = 0; /* the other way round is demanded */
	m->ordering.cell[1] = 1;
	experiment_judge(&m->e);
	assert_true(m->ratio.in_band);
	assert_int_equal(m->ratio.result, RESULT_MISS);
}

static void grade_c_is_reported_and_not_counted(void **state)
{
	struct made *m = *state;

	m->ratio.grade = 'C';
	m->ratio.upper = 1.15;
	experiment_judge(&m->e);
	assert_false(m->ratio.in_band);
	assert_int_equal(m->e.counted, 0);
	assert_true(experiment_reproduced(&m->e));
}

static void a_fitted_ratio_is_not_counted_but_must_not_miss(void **state)
{
	struct made *m = *state;

	m->ratio.fitted = true;
	experiment_judge(&m->e);
	assert_int_equal(m->e.counted, 0);
	assert_int_equal(m->e.fitted_missed, 0);
	m->ratio.upper = 1.15;
	experiment_judge(&m->e);
	assert_int_equal(m->e.fitted_missed, 1);
	assert_false(experiment_reproduced(&m->e));
}

static void a_missing_run_leaves_a_ratio_without_value(void **state)
{
	struct made *m = *state;

	m->a[1] = NAN;
	experiment_judge(&m->e);
	assert_int_equal(m->ratio.result, RESULT_NO_VALUE);
	assert_int_equal(m->e.reproduced, 0);
	assert_int_equal(m->e.counted, 1);
}

static void an_order_counts_when_ranges_are_apart_or_all_seeds_agree(void **state)
{
	struct made *m = *state;

	experiment_judge(&m->e); /* 11..13 against 10: apart */
	assert_int_equal(m->ordering.result, ORDER_HELD);
	m->b[0] = 9;
	m->b[1] = 11.5;
	m->b[2] = 12.5; /* overlap, but each seed agrees */
	experiment_judge(&m->e);
	assert_int_equal(m->ordering.result, ORDER_HELD);
	m->b[2] = 13.5; /* one seed does not */
	experiment_judge(&m->e);
	assert_int_equal(m->ordering.result, ORDER_MISSED);
	assert_int_equal(m->e.orders_demanded, 1);
	assert_int_equal(m->e.orders_held, 0);
}

static void higher_is_better_turns_the_order(void **state)
{
	struct made *m = *state;

	m->cell[0].lower_is_better = m->cell[1].lower_is_better = false;
	experiment_judge(&m->e);
	assert_int_equal(m->ordering.result, ORDER_MISSED);
	m->ordering.cell[0] = 0;
	m->ordering.cell[1] = 1;
	experiment_judge(&m->e);
	assert_int_equal(m->ordering.result, ORDER_HELD);
}

static void as_good_or_better_holds_for_a_tie_and_not_for_the_reverse(void **state)
{
	struct made *m = *state;

	m->ordering.strict[0] = false;
	m->b[0] = 12;
	m->b[1] = 12;
	m->b[2] = 12.6; /* b is no better than a: 12, 12, 12.6 against 11, 12, 13 */
	experiment_judge(&m->e);
	assert_int_equal(m->ordering.result, ORDER_HELD);
	m->b[0] = m->b[1] = m->b[2] = 14; /* b first is demanded, but a is better in all */
	experiment_judge(&m->e);
	assert_int_equal(m->ordering.result, ORDER_MISSED);
}

/* ---- the built-in experiments */

static void every_experiment_loads_and_its_bands_hold_no_nonsense(void **state)
{
	const char *previous = NULL, *about;
	char name[2][64];
	unsigned n = 0;

	(void)state;
	while (experiment_next(previous, name[n % 2], sizeof(name[0]), &about)) {
		struct sc_diag diag = {.out = stderr};
		struct experiment e;

		assert_int_equal(about[0], '#');
		assert_int_equal(experiment_load(name[n % 2], NULL, 0, &diag, &e), 0);
		assert_true(e.n_cells > 0 && e.n_ratios > 0);
		for (unsigned i = 0; i < e.n_ratios; i++) {
			const struct experiment_ratio *r = &e.ratio[i];
			const struct experiment_cell *num = &e.cell[r->num], *den = &e.cell[r->den];
			double published = r->percent ? 100 * (num->published / den->published - 1)
						      : num->published / den->published;

			assert_true(r->lower <= r->upper);
			assert_true(fabs(published - r->observed) <= 0.0001 * fabs(published));
		}
		experiment_free(&e);
		previous = name[n++ % 2];
	}
	assert_true(n >= 1);
}

static void the_runqueue_experiment_is_the_published_table(void **state)
{
	struct sc_diag diag = {.out = stderr};
	struct experiment e;
	unsigned demanded = 0, fitted = 0;

	(void)state;
	assert_int_equal(experiment_load("credit2-runqueue", NULL, 0, &diag, &e), 0);
	assert_int_equal(e.n_cells, 12);
	assert_int_equal(e.n_ratios, 12);
	assert_int_equal(e.file->n_variants, 12);
	for (unsigned i = 0; i < e.n_orderings; i++) {
		assert_int_not_equal(e.ordering[i].result, ORDER_UNREAD);
		demanded += e.ordering[i].n == 2;
	}
	for (unsigned i = 0; i < e.n_ratios; i++)
		fitted += e.ratio[i].fitted;
	assert_int_equal(demanded, 4);
	assert_int_equal(fitted, 2);
	for (unsigned i = 0; i < e.n_cells; i++) {
		const struct scenario *s = &e.file->variant[e.cell[i].variant];

		assert_int_equal(s->xen.runqueue, strcmp(e.cell[i].configuration, "runq=core") == 0
							  ? SC_RUNQ_CORE
							  : SC_RUNQ_SOCKET);
		assert_int_equal(s->run.seeds, 5);
	}
	experiment_free(&e);
}

static const struct experiment_cell *cell_of(const struct experiment *e, const char *workload,
					     const char *configuration, const char *load)
{
	for (unsigned i = 0; i < e->n_cells; i++) {
		if (strcmp(e->cell[i].workload, workload) == 0 &&
		    strcmp(e->cell[i].configuration, configuration) == 0 &&
		    strcmp(e->cell[i].load, load) == 0)
			return &e->cell[i];
	}
	fail_msg("no cell %s %s %s", workload, configuration, load);
	return NULL;
}

/* vCPU k of all VMs stands on core k mod 8, thread (k div 8) mod 2: pCPU 2 x core + thread. */
static void check_pins(const struct scenario *s)
{
	unsigned first, n;

	assert_true(scenario_find(s, "vm", &first, &n));
	for (unsigned k = 0; k < 2 * n; k++) {
		const struct sc_vm *vm = &s->vm[first + k / 2];

		assert_int_equal(hv_mask_weight(&vm->hard[k % 2], SC_NW), 1);
		assert_int_equal(hv_mask_first(&vm->hard[k % 2], SC_NW), k % 8 * 2 + k / 8 % 2);
		assert_int_equal(vm->node_share[k % 8 / 4], SC_ONE); /* both vCPUs: one socket */
	}
}

static void check_tickling_variant(const struct experiment_cell *c, const struct scenario *s)
{
	unsigned first, n;

	assert_int_equal(s->xen.sched, SC_SCHED_CREDIT);
	assert_int_equal(s->xen.tickle, strncmp(c->configuration, "with-", 5) == 0
						? SC_TICKLE_WITH_2012
						: SC_TICKLE_WITHOUT_2012);
	assert_int_equal(s->run.seeds, 5);
	assert_true(scenario_find(s, "vm", &first, &n));
	assert_int_equal(n, strtoul(c->load, NULL, 10));
	if (strstr(c->configuration, "/pinned")) {
		check_pins(s);
		return;
	}
	for (unsigned i = first; i < first + n; i++) {
		assert_false(s->vm[i].has_hard);
		assert_int_equal(s->vm[i].node_share[0], SC_ONE / 2);
		assert_int_equal(s->vm[i].node_share[1], SC_ONE / 2);
	}
}

static void the_tickling_experiment_is_the_published_table(void **state)
{
	struct sc_diag diag = {.out = stderr};
	struct experiment e;
	unsigned linked = 0, fitted = 0;

	(void)state;
	assert_int_equal(experiment_load("credit-tickling", NULL, 0, &diag, &e), 0);
	assert_int_equal(e.n_cells, 36);
	assert_int_equal(e.n_ratios, 34);
	assert_int_equal(e.file->n_variants, 36);
	for (unsigned i = 0; i < e.n_orderings; i++)
		assert_int_not_equal(e.ordering[i].result, ORDER_UNREAD);
	for (unsigned i = 0; i < e.n_ratios; i++)
		fitted += e.ratio[i].fitted;
	assert_int_equal(fitted, 5);
	for (unsigned i = 0; i < e.n_cells; i++) {
		check_tickling_variant(&e.cell[i], &e.file->variant[e.cell[i].variant]);
		linked += !isnan(e.cell[i].linked);
	}
	assert_int_equal(linked, 18);
	assert_true(near(cell_of(&e, "sysbench-memory", "with-change/unpinned", "2vms")->linked,
			 487.83167));
	assert_true(isnan(cell_of(&e, "sysbench-cpu", "without-change/pinned", "2vms")->linked));
	experiment_free(&e);
}

static void the_parameter_hash_follows_the_hardware_only(void **state)
{
	static const struct sc_set hardware = {"host.costs.C4", "3us"},
				   vm = {"vms.build.weight", "100"};
	struct sc_diag diag = {.out = stderr};
	struct experiment e;
	uint64_t hash;

	(void)state;
	assert_int_equal(experiment_load("credit2-runqueue", NULL, 0, &diag, &e), 0);
	hash = e.parameters;
	experiment_free(&e);
	assert_int_equal(experiment_load("credit2-runqueue", &vm, 1, &diag, &e), 0);
	assert_true(e.parameters == hash);
	experiment_free(&e);
	assert_int_equal(experiment_load("credit2-runqueue", &hardware, 1, &diag, &e), 0);
	assert_true(e.parameters != hash);
	experiment_free(&e);
}

static void an_unknown_experiment_is_not_there(void **state)
{
	struct sc_diag diag = {.out = NULL};
	struct experiment e;

	(void)state;
	assert_int_equal(experiment_load("no-such", NULL, 0, &diag, &e), -ENOENT);
}

#define WITH(name) cmocka_unit_test_setup_teardown(name, make, unmake)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_is_read_by_the_names_of_its_columns),
		cmocka_unit_test(quotes_keep_commas_and_quotes),
		cmocka_unit_test(a_row_of_another_length_is_named),
		WITH(a_ratio_is_of_the_means_and_its_range_seed_by_seed),
		WITH(a_change_in_per_cent_has_its_error_in_points),
		WITH(grade_a_passes_inside_the_band_and_misses_outside),
		WITH(grade_b_also_needs_its_order),
		WITH(grade_c_is_reported_and_not_counted),
		WITH(a_fitted_ratio_is_not_counted_but_must_not_miss),
		WITH(a_missing_run_leaves_a_ratio_without_value),
		WITH(an_order_counts_when_ranges_are_apart_or_all_seeds_agree),
		WITH(higher_is_better_turns_the_order),
		WITH(as_good_or_better_holds_for_a_tie_and_not_for_the_reverse),
		cmocka_unit_test(every_experiment_loads_and_its_bands_hold_no_nonsense),
		cmocka_unit_test(the_runqueue_experiment_is_the_published_table),
		cmocka_unit_test(the_tickling_experiment_is_the_published_table),
		cmocka_unit_test(the_parameter_hash_follows_the_hardware_only),
		cmocka_unit_test(an_unknown_experiment_is_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
