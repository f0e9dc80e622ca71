/* SPDX-License-Identifier: MIT */
/*
 * Sets of pCPUs, part of the public interface of libhvsched (hvsched.h includes this).
 */
#ifndef HVSCHED_MASK_H
#define HVSCHED_MASK_H

#include <stdbool.h>
#include <stdint.h>

/* Largest pCPU number + 1. Masks have this capacity; loops run over the words in use only. */
#define HV_MAX_PCPUS  1024
#define HV_MASK_WORDS (HV_MAX_PCPUS / 64)
#define HV_NO_PCPU    UINT32_MAX

/*
 * A set of pCPUs. Storage is fixed; every operation takes the number of words in use (nw), which
 * is hv_mask_words(sys) everywhere in one instance. Words beyond nw are never read.
 */
struct hv_mask {
	uint64_t w[HV_MASK_WORDS];
};

static inline void hv_mask_zero(struct hv_mask *m, unsigned nw)
{
	for (unsigned i = 0; i < nw; i++)
		m->w[i] = 0;
}

static inline void hv_mask_set(struct hv_mask *m, unsigned c)
{
	m->w[c / 64] |= 1ULL << (c % 64);
}

static inline void hv_mask_clear(struct hv_mask *m, unsigned c)
{
	m->w[c / 64] &= ~(1ULL << (c % 64));
}

static inline bool hv_mask_test(const struct hv_mask *m, unsigned c)
{
	return (m->w[c / 64] >> (c % 64)) & 1;
}

/* First nr pCPUs set. */
static inline void hv_mask_fill(struct hv_mask *m, unsigned nw, unsigned nr)
{
	for (unsigned i = 0; i < nw; i++) {
		unsigned lo = i * 64;

		m->w[i] = nr >= lo + 64 ? ~0ULL : nr > lo ? (1ULL << (nr - lo)) - 1 : 0;
	}
}

static inline void hv_mask_copy(struct hv_mask *d, const struct hv_mask *a, unsigned nw)
{
	for (unsigned i = 0; i < nw; i++)
		d->w[i] = a->w[i];
}

static inline void hv_mask_and(struct hv_mask *d, const struct hv_mask *a, const struct hv_mask *b,
			       unsigned nw)
{
	for (unsigned i = 0; i < nw; i++)
		d->w[i] = a->w[i] & b->w[i];
}

static inline void hv_mask_or(struct hv_mask *d, const struct hv_mask *a, const struct hv_mask *b,
			      unsigned nw)
{
	for (unsigned i = 0; i < nw; i++)
		d->w[i] = a->w[i] | b->w[i];
}

static inline void hv_mask_andnot(struct hv_mask *d, const struct hv_mask *a,
				  const struct hv_mask *b, unsigned nw)
{
	for (unsigned i = 0; i < nw; i++)
		d->w[i] = a->w[i] & ~b->w[i];
}

static inline bool hv_mask_empty(const struct hv_mask *m, unsigned nw)
{
	uint64_t any = 0;

	for (unsigned i = 0; i < nw; i++)
		any |= m->w[i];
	return !any;
}

static inline bool hv_mask_intersects(const struct hv_mask *a, const struct hv_mask *b, unsigned nw)
{
	uint64_t any = 0;

	for (unsigned i = 0; i < nw; i++)
		any |= a->w[i] & b->w[i];
	return any != 0;
}

/* a is a subset of b. */
static inline bool hv_mask_subset(const struct hv_mask *a, const struct hv_mask *b, unsigned nw)
{
	uint64_t out = 0;

	for (unsigned i = 0; i < nw; i++)
		out |= a->w[i] & ~b->w[i];
	return !out;
}

static inline bool hv_mask_equal(const struct hv_mask *a, const struct hv_mask *b, unsigned nw)
{
	uint64_t diff = 0;

	for (unsigned i = 0; i < nw; i++)
		diff |= a->w[i] ^ b->w[i];
	return !diff;
}

/* Bits set. The compiler's builtin may call a function that an embedder does not have. */
static inline unsigned hv_bits(uint64_t w)
{
	w -= (w >> 1) & 0x5555555555555555;
	w = (w & 0x3333333333333333) + ((w >> 2) & 0x3333333333333333);
	w = (w + (w >> 4)) & 0x0f0f0f0f0f0f0f0f;
	return (unsigned)((w * 0x0101010101010101) >> 56);
}

static inline unsigned hv_mask_weight(const struct hv_mask *m, unsigned nw)
{
	unsigned n = 0;

	for (unsigned i = 0; i < nw; i++)
		n += hv_bits(m->w[i]);
	return n;
}

/* Lowest member >= from, or HV_NO_PCPU. */
static inline unsigned hv_mask_next(const struct hv_mask *m, unsigned from, unsigned nw)
{
	unsigned i = from / 64;

	if (i >= nw)
		return HV_NO_PCPU;
	uint64_t w = m->w[i] & (~0ULL << (from % 64));

	while (!w) {
		if (++i >= nw)
			return HV_NO_PCPU;
		w = m->w[i];
	}
	return i * 64 + (unsigned)__builtin_ctzll(w);
}

/* Lowest member, or HV_NO_PCPU when empty. */
static inline unsigned hv_mask_first(const struct hv_mask *m, unsigned nw)
{
	return hv_mask_next(m, 0, nw);
}

/* Lowest member greater than c, else the lowest member, else HV_NO_PCPU (cyclic successor). */
static inline unsigned hv_mask_after(const struct hv_mask *m, unsigned c, unsigned nw)
{
	unsigned n = hv_mask_next(m, c + 1, nw);

	return n != HV_NO_PCPU ? n : hv_mask_first(m, nw);
}

#define hv_mask_for_each(c, m, nw) \
	for (unsigned c = hv_mask_first(m, nw); c != HV_NO_PCPU; c = hv_mask_next(m, c + 1, nw))

#endif /* HVSCHED_MASK_H */
