/*
 * Numbers with units, in integers; see quantity.h.
 */
#include "scenario/quantity.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define ONE	     (1 << 20) /* 1.0 of a ratio */
#define FORMAT_SIZE  48	       /* bytes of a formatted value */
#define MAX_FRACTION 12	       /* digits behind the point that are ever printed */
#define MAX_DIGITS   30	       /* of a number, before and behind the point */

struct unit {
	const char *name;
	int64_t scale; /* base units in one of it */
};

struct kind {
	const char *expected;
	bool needs_unit, fraction, negative;
	const struct unit *units; /* largest last; ends with a NULL name */
};

static const struct unit no_units[] = {{"", 1}, {0}};
static const struct unit ratio_units[] = {{"", ONE}, {0}};
static const struct unit duration_units[] = {{"ns", 1},
					     {"us", 1000},
					     {"ms", 1000000},
					     {"s", 1000000000},
					     {"min", 60000000000},
					     {"h", 3600000000000},
					     {0}};
static const struct unit size_units[] = {{"B", 1},
					 {"kB", 1000},
					 {"KB", 1000},
					 {"MB", 1000000},
					 {"GB", 1000000000},
					 {"TB", 1000000000000},
					 {"KiB", 1 << 10},
					 {"MiB", 1 << 20},
					 {"GiB", 1 << 30},
					 {"TiB", 1LL << 40},
					 {0}};
static const struct unit frequency_units[] = {
	{"Hz", 1}, {"kHz", 1000}, {"MHz", 1000000}, {"GHz", 1000000000}, {0}};
static const struct unit bandwidth_units[] = {
	{"B/s", 1},	    {"kB/s", 1000},	{"MB/s", 1000000},  {"GB/s", 1000000000},
	{"KiB/s", 1 << 10}, {"MiB/s", 1 << 20}, {"GiB/s", 1 << 30}, {0}};
static const struct unit rate_units[] = {{"/s", 1}, {"/ms", 1000}, {0}};
static const struct unit percent_units[] = {{"%", 1}, {0}};
static const struct unit share_units[] = {{"%", 0}, {0}}; /* 2^20 / 100: see scaled() */

static const struct kind kinds[] = {
	[SC_Q_COUNT] = {"a whole number such as 4", false, false, false, no_units},
	[SC_Q_INTEGER] = {"a whole number such as -3", false, false, true, no_units},
	[SC_Q_DURATION] = {"a duration such as 30ms (units ns, us, ms, s, min, h)", true, true,
			   false, duration_units},
	[SC_Q_SIZE] = {"a size such as 960MiB (units B, kB, MB, GB, TB, KiB, MiB, GiB, TiB)", true,
		       true, false, size_units},
	[SC_Q_FREQUENCY] = {"a frequency such as 2.4GHz (units Hz, kHz, MHz, GHz)", true, true,
			    false, frequency_units},
	[SC_Q_BANDWIDTH] = {"a bandwidth such as 12GB/s (units B/s, kB/s, MB/s, GB/s, KiB/s, "
			    "MiB/s, GiB/s)",
			    true, true, false, bandwidth_units},
	[SC_Q_RATE] = {"a rate such as 2000/s (units /s, /ms)", true, false, false, rate_units},
	[SC_Q_PERCENT] = {"a whole percentage such as 25%", true, false, false, percent_units},
	[SC_Q_SHARE] = {"a share such as 25%", true, true, false, share_units},
	[SC_Q_RATIO] = {"a number such as 0.58", false, true, false, ratio_units},
};

struct number {
	__int128 mantissa;
	__int128 divisor; /* 10^digits behind the point */
	bool negative, fraction;
	const char *end;
};

/* Digits, perhaps a point and digits. "3." and ".5" are not numbers here. */
static enum sc_quantity_error scan(const char *text, struct number *n)
{
	const char *s = text;
	int digits = 0;

	*n = (struct number){.divisor = 1};
	if (*s == '-') {
		n->negative = true;
		s++;
	}
	if (!isdigit((unsigned char)*s))
		return SC_Q_NOT_A_NUMBER;
	for (; isdigit((unsigned char)*s) || (*s == '.' && !n->fraction); s++) {
		if (*s == '.') {
			n->fraction = true;
			if (!isdigit((unsigned char)s[1]))
				return SC_Q_NOT_A_NUMBER;
			continue;
		}
		if (++digits > MAX_DIGITS)
			return SC_Q_OVERFLOW;
		n->mantissa = n->mantissa * 10 + (*s - '0');
		if (n->fraction)
			n->divisor *= 10;
	}
	n->end = s;
	return SC_Q_OK;
}

static enum sc_quantity_error scaled(const struct number *n, const struct unit *unit, int64_t *out)
{
	__int128 scale = unit->scale ? unit->scale : ONE;
	__int128 divisor = n->divisor * (unit->scale ? 1 : 100);
	__int128 value;

	assert(divisor > 0);
	/* Beyond this the product below could leave 128 bits; the result would not fit anyway. */
	if (n->mantissa / divisor > INT64_MAX / scale)
		return SC_Q_OVERFLOW;
	if (n->mantissa > ((__int128)1 << 126) / (2 * scale))
		return SC_Q_OVERFLOW;
	value = (2 * n->mantissa * scale + divisor) / (2 * divisor);
	if (value > INT64_MAX)
		return SC_Q_OVERFLOW;
	*out = n->negative ? -(int64_t)value : (int64_t)value;
	return SC_Q_OK;
}

enum sc_quantity_error sc_quantity_parse(const char *text, enum sc_quantity kind, int64_t *out)
{
	const struct kind *k = &kinds[kind];
	enum sc_quantity_error error;
	struct number n;
	const char *unit;

	assert(text && out);
	error = scan(text, &n);
	if (error)
		return error;
	if (n.negative && !k->negative)
		return SC_Q_NOT_A_NUMBER;
	if (n.fraction && !k->fraction)
		return SC_Q_NOT_A_NUMBER;
	for (unit = n.end; *unit == ' '; unit++)
		;
	for (const struct unit *u = k->units; u->name; u++) {
		if (strcmp(unit, u->name) == 0)
			return scaled(&n, u, out);
	}
	/* "0" is the same in every unit, but a bare 0 is still a missing unit: be strict. */
	return !*unit && k->needs_unit ? SC_Q_NO_UNIT : SC_Q_WRONG_UNIT;
}

const char *sc_quantity_expected(enum sc_quantity kind)
{
	assert(kind <= SC_Q_RATIO);
	return kinds[kind].expected;
}

/* value / scale with `digits` digits behind the point, trailing zeros cut. */
static void decimal(int64_t value, __int128 scale, unsigned int digits, const char *unit, char *buf)
{
	__int128 ten = 1, scaled_value;
	char fraction[24];
	size_t len;

	assert(value >= 0 && digits <= MAX_FRACTION);
	for (unsigned int i = 0; i < digits; i++)
		ten *= 10;
	scaled_value = (2 * value * ten + scale) / (2 * scale);
	snprintf(fraction, sizeof(fraction), "%0*" PRId64, (int)digits,
		 (int64_t)(scaled_value % ten));
	len = digits;
	while (len > 0 && fraction[len - 1] == '0')
		len--;
	fraction[len] = 0;
	snprintf(buf, FORMAT_SIZE, "%" PRId64 "%s%s%s", (int64_t)(scaled_value / ten),
		 len ? "." : "", len ? fraction : "", unit);
}

/* The shortest decimal that reads back as the same value. */
static void shortest(enum sc_quantity kind, int64_t value, __int128 scale, const char *unit,
		     char *buf)
{
	int64_t shown = kind == SC_Q_SHARE ? value * 100 : value;
	int64_t back = -1;

	for (unsigned int digits = 0; digits <= MAX_FRACTION; digits++) {
		decimal(shown, scale, digits, unit, buf);
		if (sc_quantity_parse(buf, kind, &back) == SC_Q_OK && back == value)
			return;
	}
	assert(0);
}

/* The largest unit that needs at most three digits behind the point. */
static const struct unit *best_unit(const struct kind *k, int64_t value)
{
	const struct unit *best = &k->units[0];

	for (const struct unit *u = k->units; u->name; u++) {
		bool exact = (__int128)value * (k->fraction ? 1000 : 1) % u->scale == 0;

		if (exact && value >= u->scale && u->scale > best->scale)
			best = u;
	}
	return best;
}

char *sc_quantity_format(enum sc_quantity kind, int64_t value, char *buf)
{
	const struct kind *k = &kinds[kind];
	const struct unit *u;

	assert(buf);
	assert(value >= 0 || k->negative);
	if (kind == SC_Q_SHARE) {
		shortest(kind, value, ONE, "%", buf);
	} else if (k->fraction) {
		u = best_unit(k, value);
		shortest(kind, value, u->scale, u->name, buf);
	} else {
		u = best_unit(k, value < 0 ? 0 : value);
		snprintf(buf, FORMAT_SIZE, "%" PRId64 "%s", value / u->scale, u->name);
	}
	return buf;
}
