/*
 * Random streams and distribution tables (random.h).
 *
 * The hash of a stream is a 64-bit finalizer with full avalanche, applied to a counter that starts
 * at the stream's key. Tables are quantile functions at the midpoints of 4096 equal steps, computed
 * in fixed point (2^-40) and scaled so that the mean over the table is exactly the asked mean.
 */
#include "machine/random.h"

#include <assert.h>

#define GOLDEN 0x9e3779b97f4a7c15ULL

/* Fixed point of this file: 2^-40, range +-2^23. */
#define FX     40
#define FX_ONE (1LL << FX)
#define FX_LN2 762123384786LL /* ln 2 * 2^40 */
typedef __int128 wide;

static uint64_t mix(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ULL;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

void mc_rng_init(struct mc_rng *r, uint64_t seed, uint64_t entity, uint64_t purpose)
{
	r->key = mix(mix(mix(seed + GOLDEN) ^ (entity + GOLDEN)) ^ (purpose + GOLDEN));
	r->count = 0;
}

uint64_t mc_rng_next(struct mc_rng *r)
{
	return mix(r->key + ++r->count * GOLDEN);
}

uint64_t mc_rng_below(struct mc_rng *r, uint64_t n)
{
	assert(n > 0);
	return (uint64_t)(((unsigned __int128)mc_rng_next(r) * n) >> 64);
}

static int64_t fx_mul(int64_t a, int64_t b)
{
	return (int64_t)(((wide)a * b) >> FX);
}

static int64_t fx_div(int64_t a, int64_t b)
{
	return (int64_t)((wide)a * FX_ONE / b);
}

/* Natural logarithm of x > 0: exponent by shifting to [1, 2), mantissa by repeated squaring. */
static int64_t fx_ln(int64_t x)
{
	int64_t log2 = 0;

	assert(x > 0);
	while (x < FX_ONE) {
		x <<= 1;
		log2 -= FX_ONE;
	}
	while (x >= 2 * FX_ONE) {
		x >>= 1;
		log2 += FX_ONE;
	}
	for (int64_t bit = FX_ONE >> 1; bit > 0; bit >>= 1) {
		x = fx_mul(x, x);
		if (x >= 2 * FX_ONE) {
			x >>= 1;
			log2 += bit;
		}
	}
	return fx_mul(log2, FX_LN2);
}

/* e^x for x in about -27..15: 2^k times the series of the rest, which is in [0, ln 2). */
static int64_t fx_exp(int64_t x)
{
	int64_t k = x / FX_LN2;
	int64_t rest, term = FX_ONE, sum = FX_ONE;

	if (x - k * FX_LN2 < 0)
		k--;
	rest = x - k * FX_LN2;
	for (int64_t n = 1; n < 24 && term; n++) {
		term = fx_mul(term, rest) / n;
		sum += term;
	}
	assert(k < 22);
	if (k >= 0)
		return sum << k;
	return k > -60 ? sum >> -k : 0;
}

static int64_t fx_sqrt(int64_t x)
{
	int64_t root = x > FX_ONE ? x : FX_ONE;

	if (x <= 0)
		return 0;
	for (;;) {
		int64_t next = (root + fx_div(x, root)) / 2;

		if (next >= root)
			return root;
		root = next;
	}
}

static int64_t polynomial(const int64_t *c, unsigned n, int64_t x)
{
	int64_t sum = c[0];

	for (unsigned i = 1; i < n; i++)
		sum = fx_mul(sum, x) + c[i];
	return sum;
}

/* A decimal constant with nine digits after the point, in 2^-40. */
#define DEC(units, nano) ((units)*FX_ONE + (int64_t)((wide)(nano)*FX_ONE / 1000000000))

/*
 * Quantile of the standard normal distribution at 0 < u < 1/2: the rational approximation of P.
 * Acklam (relative error below 2e-9 in exact arithmetic), tail below u = 0.02425.
 */
static int64_t normal_quantile(int64_t u)
{
	static const int64_t a[] = {DEC(-39, -696830287),  DEC(220, 946098425),
				    DEC(-275, -928510447), DEC(138, 357751867),
				    DEC(-30, -664798066),  DEC(2, 506628277)};
	static const int64_t b[] = {DEC(-54, -476098798),  DEC(161, 585836858),
				    DEC(-155, -698979860), DEC(66, 801311888),
				    DEC(-13, -280681553),  DEC(1, 0)};
	static const int64_t c[] = {DEC(0, -7784894),	 DEC(0, -322396458), DEC(-2, -400758277),
				    DEC(-2, -549732539), DEC(4, 374664141),  DEC(2, 938163983)};
	static const int64_t d[] = {DEC(0, 7784696), DEC(0, 322467129), DEC(2, 445134137),
				    DEC(3, 754408662), DEC(1, 0)};

	assert(u > 0 && u < FX_ONE / 2);
	if (u < DEC(0, 24250000)) {
		int64_t q = fx_sqrt(-2 * fx_ln(u));

		return fx_div(polynomial(c, 6, q), polynomial(d, 5, q));
	}
	int64_t q = u - FX_ONE / 2;
	int64_t r = fx_mul(q, q);

	return fx_div(fx_mul(polynomial(a, 6, r), q), polynomial(b, 6, r));
}

/* Scale so that the entries have the mean 2^20 and store them, largest remainder into the last. */
static void normalise(struct mc_table *t, const int64_t value[MC_TABLE_SIZE])
{
	wide sum = 0, scaled = 0, stored = 0;

	for (unsigned i = 0; i < MC_TABLE_SIZE; i++)
		sum += value[i];
	assert(sum > 0);
	/* Running totals are rounded, not entries: the table's total is exact. */
	for (unsigned i = 0; i < MC_TABLE_SIZE; i++) {
		wide upto;

		scaled += value[i];
		upto = (scaled * ((wide)MC_TABLE_SIZE << 20) + sum / 2) / sum;
		t->q[i] = (uint32_t)(upto - stored);
		stored = upto;
	}
	assert(stored == (wide)MC_TABLE_SIZE << 20);
}

void mc_table_fill(struct mc_table *t, enum mc_dist_kind kind, int64_t cv)
{
	int64_t value[MC_TABLE_SIZE];
	int64_t variance = 0, sigma = 0;

	assert(kind == MC_DIST_EXP || kind == MC_DIST_LOGNORMAL);
	assert(cv >= 0 && cv <= MC_CV_MAX);
	if (kind == MC_DIST_LOGNORMAL) {
		variance = fx_ln(FX_ONE + fx_mul(cv << (FX - 20), cv << (FX - 20)));
		sigma = fx_sqrt(variance);
	}
	for (unsigned i = 0; i < MC_TABLE_SIZE; i++) {
		int64_t u = (2 * (int64_t)i + 1) * (FX_ONE / (2 * MC_TABLE_SIZE));

		if (kind == MC_DIST_EXP) {
			value[i] = -fx_ln(FX_ONE - u);
		} else {
			int64_t z =
				u < FX_ONE / 2 ? normal_quantile(u) : -normal_quantile(FX_ONE - u);

			value[i] = fx_exp(fx_mul(sigma, z) - variance / 2);
		}
	}
	normalise(t, value);
}

int64_t mc_dist_draw(const struct mc_dist *d, struct mc_rng *r)
{
	int64_t x = d->a;

	if (d->kind == MC_DIST_UNIFORM) {
		assert(d->b >= d->a);
		x += (int64_t)mc_rng_below(r, (uint64_t)(d->b - d->a) + 1);
	} else if (d->kind != MC_DIST_CONST) {
		uint32_t q = d->table->q[mc_rng_next(r) >> 52];

		x = (int64_t)(((wide)d->a * q + (1 << 19)) >> 20);
	}
	return x;
}
