/*
 * Random streams and distribution tables (machine/random.h).
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "machine/random.h"

#define ONE ((double)(1 << 20))

static void near(double got, double want, double tolerance)
{
	if (!(fabs(got - want) <= tolerance))
		fail_msg("%.8f, expected %.8f within %g", got, want, tolerance);
}

static void draws_are_a_function_of_key_and_count(void **state)
{
	struct mc_rng a, b, other;
	unsigned same = 0;

	(void)state;
	mc_rng_init(&a, 7, 3, 1);
	mc_rng_init(&b, 7, 3, 1);
	mc_rng_init(&other, 7, 4, 1);
	for (int i = 0; i < 1000; i++) {
		uint64_t x = mc_rng_next(&a);

		(void)mc_rng_next(&other); /* another entity draws in between */
		assert_true(x == mc_rng_next(&b));
	}
	for (uint64_t entity = 0; entity < 100; entity++) {
		for (uint64_t purpose = 0; purpose < 10; purpose++) {
			mc_rng_init(&b, 7, entity, purpose);
			mc_rng_init(&other, 8, entity, purpose);
			same += mc_rng_next(&b) == mc_rng_next(&other);
			mc_rng_init(&a, 7, purpose, entity);
			mc_rng_init(&b, 7, entity, purpose);
			same += entity != purpose && mc_rng_next(&a) == mc_rng_next(&b);
		}
	}
	assert_int_equal(same, 0);
}

/* The stream must be the same on every machine: values fixed once. */
static void first_draws_are_these(void **state)
{
	struct mc_rng r;

	(void)state;
	mc_rng_init(&r, 1, 2, 3);
	uint64_t first = mc_rng_next(&r), second = mc_rng_next(&r);

	assert_true(first == 0x3064c53251b62548ULL && second == 0xa2d6a8564524d307ULL);
}

static void below_is_uniform(void **state)
{
	struct mc_rng r;
	unsigned count[10] = {0};

	(void)state;
	mc_rng_init(&r, 42, 0, 0);
	for (int i = 0; i < 100000; i++) {
		uint64_t x = mc_rng_below(&r, 10);

		assert_true(x < 10);
		count[x]++;
	}
	for (int i = 0; i < 10; i++)
		assert_in_range(count[i], 9600, 10400); /* 4 sigma of sqrt(9000) */
}

static double table_mean(const struct mc_table *t, double *cv)
{
	double sum = 0, square = 0;

	for (int i = 0; i < MC_TABLE_SIZE; i++)
		sum += t->q[i] / ONE;
	sum /= MC_TABLE_SIZE;
	for (int i = 0; i < MC_TABLE_SIZE; i++)
		square += (t->q[i] / ONE - sum) * (t->q[i] / ONE - sum);
	*cv = sqrt(square / MC_TABLE_SIZE) / sum;
	return sum;
}

static void exponential_table_is_the_quantile_function(void **state)
{
	static struct mc_table t;
	double cv, scale, mean;

	(void)state;
	mc_table_fill(&t, MC_DIST_EXP, 0);
	mean = table_mean(&t, &cv);
	near(mean, 1, 1e-9);
	near(cv, 1, 0.002); /* the tail ends at the last midpoint */
	scale = 0;
	for (int i = 0; i < MC_TABLE_SIZE; i++)
		scale += -log1p(-(i + 0.5) / MC_TABLE_SIZE) / MC_TABLE_SIZE;
	for (int i = 0; i < MC_TABLE_SIZE; i++)
		near(t.q[i] / ONE, -log1p(-(i + 0.5) / MC_TABLE_SIZE) / scale, 3e-6);
}

/* Standard normal quantile by bisection of erfc. */
static double normal_quantile(double u)
{
	double lo = -10, hi = 10;

	for (int i = 0; i < 100; i++) {
		double mid = (lo + hi) / 2;

		if (0.5 * erfc(-mid / sqrt(2)) < u)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

static void lognormal_table_is_the_quantile_function(void **state)
{
	static const double cvs[] = {0.2, 0.8, 1.0, 2.0};
	static struct mc_table t;

	(void)state;
	for (unsigned k = 0; k < 4; k++) {
		double s = sqrt(log1p(cvs[k] * cvs[k])), scale = 0, cv, mean;

		mc_table_fill(&t, MC_DIST_LOGNORMAL, (int64_t)(cvs[k] * ONE + 0.5));
		mean = table_mean(&t, &cv);
		near(mean, 1, 1e-9);
		near(cv, cvs[k], 0.05 * cvs[k] * cvs[k]); /* a heavy tail loses its end */
		for (int i = 0; i < MC_TABLE_SIZE; i++)
			scale +=
				exp(s * normal_quantile((i + 0.5) / MC_TABLE_SIZE)) / MC_TABLE_SIZE;
		for (int i = 0; i < MC_TABLE_SIZE; i += 13) {
			double want = exp(s * normal_quantile((i + 0.5) / MC_TABLE_SIZE)) / scale;

			near(t.q[i] / ONE, want, 3e-6 + 2e-6 * want);
			assert_true(!i || t.q[i] >= t.q[i - 1]);
		}
	}
	mc_table_fill(&t, MC_DIST_LOGNORMAL, 0); /* no variation: the mean */
	for (int i = 0; i < MC_TABLE_SIZE; i++)
		assert_in_range(t.q[i], (1 << 20) - 1, (1 << 20) + 1);
}

static void draws_have_the_asked_mean_and_range(void **state)
{
	static struct mc_table exp_table;
	struct mc_rng r;
	struct mc_dist d = {.kind = MC_DIST_CONST, .a = 17};
	double sum = 0;

	(void)state;
	mc_rng_init(&r, 5, 0, 0);
	assert_int_equal(mc_dist_draw(&d, &r), 17);
	assert_int_equal(r.count, 0); /* a constant draws nothing */
	d = (struct mc_dist){.kind = MC_DIST_UNIFORM, .a = 100, .b = 103};
	for (int i = 0; i < 1000; i++)
		assert_in_range(mc_dist_draw(&d, &r), 100, 103);
	mc_table_fill(&exp_table, MC_DIST_EXP, 0);
	d = (struct mc_dist){.kind = MC_DIST_EXP, .a = 5500000, .table = &exp_table};
	for (int i = 0; i < 200000; i++) {
		int64_t x = mc_dist_draw(&d, &r);

		assert_true(x >= 0);
		sum += (double)x;
	}
	near(sum / 200000, 5500000, 5500000 * 0.01);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(draws_are_a_function_of_key_and_count),
		cmocka_unit_test(first_draws_are_these),
		cmocka_unit_test(below_is_uniform),
		cmocka_unit_test(exponential_table_is_the_quantile_function),
		cmocka_unit_test(lognormal_table_is_the_quantile_function),
		cmocka_unit_test(draws_have_the_asked_mean_and_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
