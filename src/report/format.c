/*
 * Figures as text. A mean and its range share one unit, chosen by the mean: "35.2 s [34.9..35.6]".
 * Delays have three significant digits (the histograms' buckets are 1.6 % wide), a workload's own
 * metric has four, counts have all.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/report.h"

struct scale {
	double factor;
	char unit[48];
	int digits; /* significant ones; 0 = a whole number, -1 = one decimal below 100 */
};

static void scale_time(double ns, struct scale *s)
{
	double a = fabs(ns);

	s->factor = a >= 1e9 ? 1e9 : a >= 1e6 ? 1e6 : a >= 1e3 ? 1e3 : 1;
	snprintf(s->unit, sizeof(s->unit), " %s",
		 a >= 1e9   ? "s"
		 : a >= 1e6 ? "ms"
		 : a >= 1e3 ? "us"
			    : "ns");
}

/*
 * Bytes get decimal prefixes, as network rates have; other things are plain numbers, since the
 * metric's name stands beside them.
 */
static void scale_rate(double value, const char *unit, struct scale *s)
{
	static const char *const prefix[] = {"", "k", "M", "G", "T"};
	unsigned i = 0;

	s->factor = 1;
	if (strcmp(unit, "bytes") != 0) {
		snprintf(s->unit, sizeof(s->unit), "/s");
		return;
	}
	while (fabs(value) / s->factor >= 1000 && i + 1 < sizeof(prefix) / sizeof(*prefix)) {
		s->factor *= 1000;
		i++;
	}
	snprintf(s->unit, sizeof(s->unit), " %sB/s", prefix[i]);
}

static void choose(enum report_unit unit, const char *rate, double value, struct scale *s)
{
	*s = (struct scale){.factor = 1};
	switch (unit) {
	case REPORT_TIME:
		scale_time(value, s);
		s->digits = 3;
		break;
	case REPORT_PERCENT:
		snprintf(s->unit, sizeof(s->unit), " %%");
		s->digits = -1;
		break;
	case REPORT_COUNT:
		break;
	case REPORT_METRIC:
		if (rate)
			scale_rate(value, rate, s);
		else
			scale_time(value, s);
		s->digits = 4;
		break;
	}
}

static void number(const struct scale *s, double value, char *buf, size_t size)
{
	double scaled = value / s->factor, a = fabs(scaled);
	int before = a >= 1000 ? 4 : a >= 100 ? 3 : a >= 10 ? 2 : 1, decimals;

	decimals = s->digits == -1 ? a < 100 : s->digits > before ? s->digits - before : 0;
	if (scaled == 0 && s->digits > 0)
		decimals = 0;
	snprintf(buf, size, "%.*f", decimals, scaled);
}

char *report_format(enum report_unit unit, const char *rate, double value, char *buf, size_t size)
{
	struct scale s;
	char text[32];

	assert(buf);
	assert(size > 0);
	choose(unit, rate, value, &s);
	number(&s, value, text, sizeof(text));
	snprintf(buf, size, "%s%s", text, s.unit);
	return buf;
}

char *report_format_range(enum report_unit unit, const char *rate, const struct report_range *range,
			  char *buf, size_t size)
{
	char mean[32], min[32], max[32];
	struct scale s;

	assert(range);
	assert(buf && size > 0);
	if (!range->n) {
		snprintf(buf, size, "-");
		return buf;
	}
	choose(unit, rate, range->mean, &s);
	number(&s, range->mean, mean, sizeof(mean));
	number(&s, range->min, min, sizeof(min));
	number(&s, range->max, max, sizeof(max));
	if (strcmp(min, max) == 0)
		snprintf(buf, size, "%s%s", mean, s.unit);
	else
		snprintf(buf, size, "%s%s [%s..%s]", mean, s.unit, min, max);
	return buf;
}
