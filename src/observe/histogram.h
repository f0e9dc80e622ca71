/*
 * Log-linear histogram of times in ns, integers only.
 *
 * Values below 2^HISTOGRAM_BITS have a bucket each; above, every octave is cut into
 * 2^HISTOGRAM_BITS buckets of equal width. Law: a quantile is never below the true one and exceeds
 * it by less than 1/64 (1.6 %) of it; count, sum and max are exact.
 */
#ifndef HVSCHED_OBSERVE_HISTOGRAM_H
#define HVSCHED_OBSERVE_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

#define HISTOGRAM_BITS	  6
#define HISTOGRAM_BUCKETS ((63 - HISTOGRAM_BITS + 1) << HISTOGRAM_BITS)

struct histogram {
	uint64_t *bucket; /* HISTOGRAM_BUCKETS counts */
	uint64_t count;
	int64_t max; /* 0 when empty */
	int64_t sum; /* ns; 292 years of waiting fit */
};

/* 0, -HV_ENOMEM. */
int histogram_init(struct histogram *h);
void histogram_fini(struct histogram *h);
void histogram_reset(struct histogram *h);
void histogram_add(struct histogram *h, int64_t value); /* value >= 0 */
void histogram_merge(struct histogram *into, const struct histogram *from);
/*
 * Smallest bucket bound that at least permille10 / 10000 of the values do not exceed (5000 = p50,
 * 9990 = p99.9); never above max. 0 when empty.
 */
int64_t histogram_quantile(const struct histogram *h, unsigned permille10);
int64_t histogram_mean(const struct histogram *h); /* rounded down; 0 when empty */

#endif
