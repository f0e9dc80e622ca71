/*
 * How a report ended: one verdict, its machine-readable line, and one hash for all runs.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "report/report.h"

static enum report_verdict of_run(const struct report *r, enum lab_status status)
{
	switch (status) {
	case LAB_DONE:
		return REPORT_HELD;
	case LAB_INTERRUPTED: /* by the user, or run.duration ended before run.until was done */
		return r->interrupted ? REPORT_INTERRUPTED : REPORT_MISSED;
	case LAB_STALL:
		return REPORT_STALL;
	case LAB_BROKEN:
		return REPORT_BROKEN;
	case LAB_FAILED:
		return REPORT_FAILED;
	}
	return REPORT_FAILED;
}

static bool any_failed(const struct report *r)
{
	for (unsigned v = 0; v < r->n_variants; v++) {
		for (unsigned i = 0; i < r->variant[v].n_runs; i++) {
			if (!report_measured(r->variant[v].run[i]))
				return true;
		}
	}
	return false;
}

bool report_unknown(const struct report *r, const struct report_expect *e)
{
	return e->skipped || (e->verdict.error == -ENODATA && (r->interrupted || any_failed(r)));
}

static unsigned count_failed(const struct report *r)
{
	unsigned n = 0;

	for (unsigned i = 0; i < r->n_expects; i++)
		n += !r->expect[i].verdict.held && !report_unknown(r, &r->expect[i]);
	return n;
}

enum report_verdict report_verdict(const struct report *r)
{
	enum report_verdict worst = r->interrupted ? REPORT_INTERRUPTED : REPORT_HELD;

	assert(r);
	if (count_failed(r))
		worst = REPORT_MISSED;
	for (unsigned v = 0; v < r->n_variants; v++) {
		for (unsigned i = 0; i < r->variant[v].n_runs; i++) {
			enum report_verdict one = of_run(r, r->variant[v].run[i]->status);

			if (one < worst)
				worst = one;
		}
	}
	return worst;
}

const char *report_verdict_name(enum report_verdict verdict)
{
	static const char *const names[] = {
		[REPORT_FAILED] = "failed",
		[REPORT_BROKEN] = "broken",
		[REPORT_STALL] = "stall",
		[REPORT_MISSED] = "missed",
		[REPORT_INTERRUPTED] = "interrupted",
		[REPORT_HELD] = "held",
	};

	assert(verdict <= REPORT_HELD);
	return names[verdict];
}

uint64_t report_hash(const struct report *r)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
	bool any = false;

	for (unsigned v = 0; v < r->n_variants; v++) {
		for (unsigned i = 0; i < r->variant[v].n_runs; i++) {
			uint64_t one = r->variant[v].run[i]->hash;

			any |= one != 0;
			for (unsigned byte = 0; byte < 8; byte++)
				hash = (hash ^ (one >> (8 * byte) & 0xff)) *
				       UINT64_C(0x100000001b3);
		}
	}
	return any ? hash : 0;
}

void report_print_verdict(FILE *out, const struct report *r)
{
	unsigned runs = 0, failed = count_failed(r), skipped = 0;

	assert(out);
	for (unsigned v = 0; v < r->n_variants; v++)
		runs += r->variant[v].n_runs;
	for (unsigned i = 0; i < r->n_expects; i++)
		skipped += report_unknown(r, &r->expect[i]);
	fprintf(out, "verdict=%s variants=%u runs=%u/%u expectations=%u held=%u failed=%u",
		report_verdict_name(report_verdict(r)), r->n_variants, runs, r->n_planned,
		r->n_expects, r->n_expects - failed - skipped, failed);
	if (skipped)
		fprintf(out, " unknown=%u", skipped);
	if (report_hash(r))
		fprintf(out, " hash=%016" PRIx64, report_hash(r));
	fputc('\n', out);
}
