/*
 * Numbers with units (scenario/quantity.h): what is read, what is refused, what is printed.
 */
#include "scenario_text.h"

#include "scenario/quantity.h"

static int64_t read_value(enum sc_quantity kind, const char *text)
{
	int64_t value = -12345;

	assert_int_equal(sc_quantity_parse(text, kind, &value), SC_Q_OK);
	return value;
}

static enum sc_quantity_error error_of(enum sc_quantity kind, const char *text)
{
	int64_t value = -12345;
	enum sc_quantity_error error = sc_quantity_parse(text, kind, &value);

	assert_int_equal(value, -12345); /* untouched */
	return error;
}

static void every_unit_has_its_size(void **state)
{
	(void)state;
	assert_int_equal(read_value(SC_Q_DURATION, "30ms"), 30000000);
	assert_int_equal(read_value(SC_Q_DURATION, "1ns"), 1);
	assert_int_equal(read_value(SC_Q_DURATION, "7us"), 7000);
	assert_int_equal(read_value(SC_Q_DURATION, "2s"), 2000000000);
	assert_int_equal(read_value(SC_Q_DURATION, "3min"), 180000000000);
	assert_int_equal(read_value(SC_Q_DURATION, "1h"), 3600000000000);
	assert_int_equal(read_value(SC_Q_SIZE, "960MiB"), 960 << 20);
	assert_int_equal(read_value(SC_Q_SIZE, "1kB"), 1000);
	assert_int_equal(read_value(SC_Q_SIZE, "1TiB"), 1LL << 40);
	assert_int_equal(read_value(SC_Q_FREQUENCY, "2.27GHz"), 2270000000);
	assert_int_equal(read_value(SC_Q_BANDWIDTH, "12GB/s"), 12000000000);
	assert_int_equal(read_value(SC_Q_RATE, "2000/s"), 2000);
	assert_int_equal(read_value(SC_Q_RATE, "3/ms"), 3000);
	assert_int_equal(read_value(SC_Q_PERCENT, "25%"), 25);
	assert_int_equal(read_value(SC_Q_SHARE, "25%"), 1 << 18);
	assert_int_equal(read_value(SC_Q_SHARE, "100%"), 1 << 20);
	assert_int_equal(read_value(SC_Q_INTEGER, "-3"), -3);
	assert_int_equal(read_value(SC_Q_COUNT, "007"), 7);
	assert_int_equal(read_value(SC_Q_DURATION, "30 ms"), 30000000); /* a blank is allowed */
}

static void fractions_are_exact_or_rounded_half_up(void **state)
{
	(void)state;
	assert_int_equal(read_value(SC_Q_DURATION, "0.7us"), 700);
	assert_int_equal(read_value(SC_Q_DURATION, "0.4ns"), 0);
	assert_int_equal(read_value(SC_Q_DURATION, "0.5ns"), 1);
	assert_int_equal(read_value(SC_Q_SIZE, "1.5MiB"), 3 << 19);
	assert_int_equal(read_value(SC_Q_RATIO, "0.5"), 1 << 19);
	/* 0.58 x 2^20 = 608174.08, 0.15 x 2^20 = 157286.4 (hardware-model 9.1) */
	assert_int_equal(read_value(SC_Q_RATIO, "0.58"), 608174);
	assert_int_equal(read_value(SC_Q_RATIO, "0.15"), 157286);
}

static void a_missing_unit_is_told_apart_from_a_wrong_one(void **state)
{
	(void)state;
	assert_int_equal(error_of(SC_Q_DURATION, "30"), SC_Q_NO_UNIT);
	assert_int_equal(error_of(SC_Q_DURATION, "0"), SC_Q_NO_UNIT);
	assert_int_equal(error_of(SC_Q_SHARE, "0.25"), SC_Q_NO_UNIT);
	assert_int_equal(error_of(SC_Q_DURATION, "30MiB"), SC_Q_WRONG_UNIT);
	assert_int_equal(error_of(SC_Q_DURATION, "30 furlongs"), SC_Q_WRONG_UNIT);
	assert_int_equal(error_of(SC_Q_COUNT, "30ms"), SC_Q_WRONG_UNIT);
	assert_int_equal(error_of(SC_Q_SIZE, "30M"), SC_Q_WRONG_UNIT);
}

static void what_is_no_number_is_refused(void **state)
{
	static const char *const texts[] = {"",	    "ms",   ".5ms",   "5.ms",
					    "+5ms", "-5ms", "0x10ms", " 5ms"};

	(void)state;
	for (size_t i = 0; i < 8; i++)
		assert_int_not_equal(error_of(SC_Q_DURATION, texts[i]), SC_Q_OK);
	assert_int_equal(error_of(SC_Q_COUNT, "1.0"), SC_Q_NOT_A_NUMBER);
	assert_int_equal(error_of(SC_Q_RATE, "1.5/s"), SC_Q_NOT_A_NUMBER);
	assert_int_equal(error_of(SC_Q_COUNT, "1 2"), SC_Q_WRONG_UNIT);
}

static void overflow_is_an_error_at_its_very_border(void **state)
{
	(void)state;
	assert_int_equal(read_value(SC_Q_COUNT, "9223372036854775807"), INT64_MAX);
	assert_int_equal(error_of(SC_Q_COUNT, "9223372036854775808"), SC_Q_OVERFLOW);
	assert_int_equal(read_value(SC_Q_DURATION, "9223372036.854775807s"), INT64_MAX);
	assert_int_equal(error_of(SC_Q_DURATION, "9223372036.854775808s"), SC_Q_OVERFLOW);
	assert_int_equal(error_of(SC_Q_DURATION, "2562048h"), SC_Q_OVERFLOW);
	assert_int_equal(error_of(SC_Q_COUNT, "99999999999999999999999999999"), SC_Q_OVERFLOW);
	assert_int_equal(error_of(SC_Q_COUNT, "9999999999999999999999999999999999999"),
			 SC_Q_OVERFLOW);
	assert_int_equal(error_of(SC_Q_SHARE, "99999999999999999%"), SC_Q_OVERFLOW);
}

static void what_is_printed_reads_back_as_the_same_value(void **state)
{
	char buf[48];
	uint64_t random = 1;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		enum sc_quantity kind = (enum sc_quantity)(i % 10);
		int64_t value;

		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		value = (int64_t)(random >> (1 + random % 50));
		if (kind == SC_Q_SHARE || kind == SC_Q_RATIO)
			value %= 1LL << 30;
		else
			value %= 1LL << 55;
		if (i % 3 == 0)
			value -= value % 1000;
		sc_quantity_format(kind, value, buf);
		assert_int_equal(read_value(kind, buf), value);
	}
	assert_string_equal(sc_quantity_format(SC_Q_DURATION, 9700000, buf), "9.7ms");
	assert_string_equal(sc_quantity_format(SC_Q_DURATION, 0, buf), "0ns");
	assert_string_equal(sc_quantity_format(SC_Q_SIZE, 3 << 19, buf), "1.5MiB");
	assert_string_equal(sc_quantity_format(SC_Q_RATIO, 608174, buf), "0.58");
	assert_string_equal(sc_quantity_format(SC_Q_SHARE, 1 << 18, buf), "25%");
	assert_string_equal(sc_quantity_format(SC_Q_FREQUENCY, 2270000000, buf), "2.27GHz");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_unit_has_its_size),
		cmocka_unit_test(fractions_are_exact_or_rounded_half_up),
		cmocka_unit_test(a_missing_unit_is_told_apart_from_a_wrong_one),
		cmocka_unit_test(what_is_no_number_is_refused),
		cmocka_unit_test(overflow_is_an_error_at_its_very_border),
		cmocka_unit_test(what_is_printed_reads_back_as_the_same_value),
	};

	return cmocka_run_group_tests_name("scenario_quantity", tests, NULL, NULL);
}
