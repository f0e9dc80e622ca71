/*
 * Random numbers: counter-based streams and integer distributions.
 *
 * A stream is keyed by (seed, entity, purpose): the n-th draw of a stream is a pure function of the
 * key and n. Adding an entity therefore never shifts the draws of another (hardware-model section
 * 1). Distributions are drawn by inverse transform from tables of 4096 integers that are computed
 * with integer arithmetic only, so that every machine gets the same values (workloads section 1.5).
 */
#ifndef HV_MACHINE_RANDOM_H
#define HV_MACHINE_RANDOM_H

#include <stdint.h>

#define MC_TABLE_SIZE 4096
#define MC_CV_MAX     (8 << 20) /* largest coefficient of variation, 2^-20 */

struct mc_rng {
	uint64_t key, count;
};

/* entity: any number that names the drawing thing for ever, e.g. VM << 32 | task. */
void mc_rng_init(struct mc_rng *r, uint64_t seed, uint64_t entity, uint64_t purpose);
uint64_t mc_rng_next(struct mc_rng *r);
/* Uniform in [0, n); n > 0. */
uint64_t mc_rng_below(struct mc_rng *r, uint64_t n);

enum mc_dist_kind {
	MC_DIST_CONST,	   /* a */
	MC_DIST_UNIFORM,   /* a..b, both included */
	MC_DIST_EXP,	   /* mean a */
	MC_DIST_LOGNORMAL, /* mean a, coefficient of variation b (2^-20) */
};

/* Quantiles at (i + 1/2) / 4096 in 2^-20 of the mean; the mean of all entries is 1 within 2^-20. */
struct mc_table {
	uint32_t q[MC_TABLE_SIZE];
};

/* Fill a table: MC_DIST_EXP, or MC_DIST_LOGNORMAL with cv in 2^-20 (0..MC_CV_MAX). */
void mc_table_fill(struct mc_table *t, enum mc_dist_kind kind, int64_t cv);

struct mc_dist {
	enum mc_dist_kind kind;
	int64_t a, b;
	const struct mc_table *table; /* EXP and LOGNORMAL; owned by whoever filled it */
};

/* One draw, never negative for non-negative parameters. CONST draws nothing from the stream. */
int64_t mc_dist_draw(const struct mc_dist *d, struct mc_rng *r);

#endif
