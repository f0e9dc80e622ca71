/*
 * Numbers with units: durations, sizes, frequencies, rates, shares.
 *
 * Law: integer arithmetic only, every overflow is an error; a fraction that the base unit cannot
 * hold is rounded half up. A unit is never guessed: a missing one is an error that names the units
 * (design: "Durations, sizes, frequencies, shares carry units").
 */
#ifndef HV_SCENARIO_QUANTITY_H
#define HV_SCENARIO_QUANTITY_H

#include <stdint.h>

enum sc_quantity {
	SC_Q_COUNT,	/* "12" */
	SC_Q_INTEGER,	/* "-3" */
	SC_Q_DURATION,	/* "30ms" -> ns */
	SC_Q_SIZE,	/* "960MiB" -> bytes */
	SC_Q_FREQUENCY, /* "2.4GHz" -> Hz */
	SC_Q_BANDWIDTH, /* "12GB/s" -> bytes/s */
	SC_Q_RATE,	/* "2000/s" -> per second, whole */
	SC_Q_PERCENT,	/* "25%" -> per cent, whole */
	SC_Q_SHARE,	/* "25%" -> 2^-20 */
	SC_Q_RATIO,	/* "0.58", "1.6" -> 2^-20 */
};

enum sc_quantity_error {
	SC_Q_OK,
	SC_Q_NOT_A_NUMBER,
	SC_Q_NO_UNIT,
	SC_Q_WRONG_UNIT, /* or text behind the number */
	SC_Q_OVERFLOW,
};

/* *out is untouched after an error. */
enum sc_quantity_error sc_quantity_parse(const char *text, enum sc_quantity kind, int64_t *out);

/* "a duration such as 30ms (units ns, us, ms, s, min, h)" */
const char *sc_quantity_expected(enum sc_quantity kind);

/* Writes a value so that sc_quantity_parse() reads the same value again. buf: at least 48 bytes. */
char *sc_quantity_format(enum sc_quantity kind, int64_t value, char *buf);

#endif
