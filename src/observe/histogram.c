/*
 * Log-linear histogram of times in ns; laws in histogram.h.
 *
 * Bucket number of value v: v itself below 2^HISTOGRAM_BITS, else the octave in the high bits and
 * the HISTOGRAM_BITS bits below v's leading one in the low bits.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <hvsched.h>

#include "observe/histogram.h"

#define FIRST (1 << HISTOGRAM_BITS) /* buckets of an octave; values below it have their own */

int histogram_init(struct histogram *h)
{
	assert(h);
	memset(h, 0, sizeof(*h));
	/* Pages that no value falls into are never touched, hence cost no memory. */
	h->bucket = calloc(HISTOGRAM_BUCKETS, sizeof(*h->bucket));
	return h->bucket ? 0 : -HV_ENOMEM;
}

void histogram_fini(struct histogram *h)
{
	free(h->bucket);
	memset(h, 0, sizeof(*h));
}

void histogram_reset(struct histogram *h)
{
	assert(h->bucket);
	memset(h->bucket, 0, HISTOGRAM_BUCKETS * sizeof(*h->bucket));
	h->count = 0;
	h->max = 0;
	h->sum = 0;
}

static unsigned bucket_of(int64_t value)
{
	assert(value >= 0);
	if (value < FIRST)
		return (unsigned)value;

	unsigned octave = 63 - (unsigned)__builtin_clzll((uint64_t)value);
	unsigned shift = octave - HISTOGRAM_BITS;

	return ((shift + 1) << HISTOGRAM_BITS) | ((unsigned)(value >> shift) & (FIRST - 1));
}

/* Largest value of a bucket. */
static int64_t bucket_top(unsigned bucket)
{
	unsigned shift = bucket >> HISTOGRAM_BITS;

	assert(bucket < HISTOGRAM_BUCKETS);
	if (shift == 0)
		return bucket;
	shift--;

	uint64_t low = (uint64_t)(FIRST | (bucket & (FIRST - 1))) << shift;

	return (int64_t)(low + ((1ULL << shift) - 1));
}

void histogram_add(struct histogram *h, int64_t value)
{
	assert(h->bucket);
	h->bucket[bucket_of(value)]++;
	h->count++;
	h->sum = (int64_t)((uint64_t)h->sum + (uint64_t)value);
	if (value > h->max)
		h->max = value;
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
	assert(into != from);
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		into->bucket[i] += from->bucket[i];
	into->count += from->count;
	into->sum += from->sum;
	if (from->max > into->max)
		into->max = from->max;
}

int64_t histogram_quantile(const struct histogram *h, unsigned permille10)
{
	assert(permille10 <= 10000);
	if (h->count == 0)
		return 0;

	/* Rank of the value, 1..count: the smallest r with r / count >= permille10 / 10000. */
	uint64_t whole = h->count / 10000, rest = h->count % 10000;
	uint64_t rank = whole * permille10 + (rest * permille10 + 9999) / 10000;
	uint64_t seen = 0;

	if (rank == 0)
		rank = 1;
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		seen += h->bucket[i];
		if (seen >= rank)
			return bucket_top(i) < h->max ? bucket_top(i) : h->max;
	}
	assert(false && "the buckets sum to count");
	return h->max;
}

int64_t histogram_mean(const struct histogram *h)
{
	assert(h->sum >= 0);
	return h->count ? h->sum / (int64_t)h->count : 0;
}
