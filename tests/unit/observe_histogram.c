/* The histogram's laws: exact count, sum and max; quantiles never low, and less than 1/64 high. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "observe/histogram.h"

static uint64_t random_state = 88172645463325252ULL;

static uint64_t draw(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static int ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void assert_close(int64_t got, int64_t exact)
{
	assert_true(got >= exact);
	assert_true(got - exact <= exact / 64);
}

static void one_value_has_a_relative_error_below_one_in_64(void **state)
{
	struct histogram h;

	(void)state;
	assert_int_equal(histogram_init(&h), 0);
	for (unsigned bit = 0; bit < 62; bit++) {
		for (int off = -2; off <= 2; off++) {
			int64_t value = (int64_t)((1ULL << bit) + (uint64_t)off);

			if (value < 0)
				continue;
			histogram_reset(&h);
			histogram_add(&h, value);
			/* A larger value keeps max from hiding the bucket's bound. */
			histogram_add(&h, INT64_MAX - value);
			assert_close(histogram_quantile(&h, 5000), value);
			assert_int_equal(histogram_quantile(&h, 10000), INT64_MAX - value);
		}
	}
	histogram_fini(&h);
}

static void small_values_are_exact(void **state)
{
	struct histogram h;

	(void)state;
	assert_int_equal(histogram_init(&h), 0);
	for (int64_t value = 0; value < 100; value++)
		histogram_add(&h, value);
	for (unsigned percent = 1; percent <= 100; percent++)
		assert_int_equal(histogram_quantile(&h, percent * 100), percent - 1);
	assert_int_equal(histogram_quantile(&h, 0), 0);
	assert_int_equal(histogram_mean(&h), 49);
	histogram_fini(&h);
}

static void quantiles_of_random_values_stay_within_the_error(void **state)
{
	enum { N = 20011 };
	const unsigned wanted[] = {100, 5000, 9900, 9990, 9999, 10000};
	int64_t *value = malloc(N * sizeof(*value)), sum = 0;
	struct histogram h;

	(void)state;
	assert_int_equal(histogram_init(&h), 0);
	for (int i = 0; i < N; i++) {
		value[i] = (int64_t)(draw() >> 24 >> (draw() % 40)); /* all sizes */
		sum += value[i];
		histogram_add(&h, value[i]);
	}
	qsort(value, N, sizeof(*value), ascending);
	assert_int_equal(h.count, N);
	assert_int_equal(h.sum, sum);
	assert_int_equal(h.max, value[N - 1]);
	for (unsigned i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		int rank = (int)((N * (int64_t)wanted[i] + 9999) / 10000);

		assert_close(histogram_quantile(&h, wanted[i]), value[rank - 1]);
	}
	assert_int_equal(histogram_quantile(&h, 10000), h.max);
	histogram_fini(&h);
	free(value);
}

static void merging_equals_adding_all_to_one(void **state)
{
	struct histogram a, b, all;

	(void)state;
	assert_int_equal(histogram_init(&a) | histogram_init(&b) | histogram_init(&all), 0);
	for (int i = 0; i < 5000; i++) {
		int64_t value = (int64_t)(draw() >> 30);

		histogram_add(i % 3 ? &a : &b, value);
		histogram_add(&all, value);
	}
	histogram_merge(&a, &b);
	assert_int_equal(a.count, all.count);
	assert_int_equal(a.sum, all.sum);
	assert_int_equal(a.max, all.max);
	assert_memory_equal(a.bucket, all.bucket, HISTOGRAM_BUCKETS * sizeof(*a.bucket));
	histogram_fini(&a);
	histogram_fini(&b);
	histogram_fini(&all);
}

static void an_empty_histogram_says_zero(void **state)
{
	struct histogram h;

	(void)state;
	assert_int_equal(histogram_init(&h), 0);
	histogram_add(&h, 123456);
	histogram_reset(&h);
	assert_int_equal(histogram_quantile(&h, 9900), 0);
	assert_int_equal(histogram_mean(&h), 0);
	assert_int_equal(h.max, 0);
	histogram_fini(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_value_has_a_relative_error_below_one_in_64),
		cmocka_unit_test(small_values_are_exact),
		cmocka_unit_test(quantiles_of_random_values_stay_within_the_error),
		cmocka_unit_test(merging_equals_adding_all_to_one),
		cmocka_unit_test(an_empty_histogram_says_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
