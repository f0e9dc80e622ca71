/*
 * The arithmetic of the hardware model: pure functions of integers, hardware-model sections 1-6.
 *
 * All ratios are in 2^-20, rounded half up; times in ns; sizes in bytes. State (who runs where) is
 * kept by the machine; worked examples of the model are tests of this file.
 */
#ifndef HV_MACHINE_HWMODEL_H
#define HV_MACHINE_HWMODEL_H

#include <stdint.h>

#include "machine/machine.h"

/* a * b / 2^20, rounded half up; a, b >= 0. */
static inline int64_t hw_mul(int64_t a, int64_t b)
{
	return (int64_t)(((__int128)a * b + (MC_ONE / 2)) >> 20);
}

/* a * 2^20 / b, rounded half up; a >= 0, b > 0. */
static inline int64_t hw_div(int64_t a, int64_t b)
{
	if (a < 1LL << 42)
		return ((a << 20) + b / 2) / b;
	return (int64_t)((((__int128)a << 20) + b / 2) / b);
}

/* sigma(v), section 3.2. sigma_w: of the class; p_sib: pressure of the sibling. */
static inline int64_t hw_sigma(int64_t sigma_w, int64_t p_sib, bool same_vm, int64_t s_vm)
{
	int64_t share = same_vm ? hw_mul(p_sib, MC_ONE - s_vm) : p_sib;

	return MC_ONE - hw_mul(MC_ONE - sigma_w, share);
}

/* The compute part of tau: (1 - mu) / (phi * sigma). */
static inline int64_t hw_compute_part(int64_t mu, int64_t phi, int64_t sigma)
{
	int64_t speed = phi == MC_ONE ? sigma : hw_mul(phi, sigma);

	return speed == MC_ONE ? MC_ONE - mu : hw_div(MC_ONE - mu, speed);
}

/* tau in 2^-20 = pace P without the cold factor, section 3.1. */
static inline int64_t hw_pace(int64_t mu, int64_t phi, int64_t sigma, int64_t lambda)
{
	return hw_compute_part(mu, phi, sigma) + hw_mul(mu, lambda);
}

/* LLC(s), section 3.3. */
int64_t hw_llc_stretch(int64_t chi, int64_t capacity, int64_t working_sets);
/* BW(n): the loaded-latency curve at rho; above the last point, its stretch times rho. */
int64_t hw_bandwidth_stretch(const struct mc_params *p, int64_t rho);
/* Demand that a vCPU offers to memory, bytes/s: b_w over the tau of lambda = 1. */
int64_t hw_demand(int64_t bw, int64_t mu, int64_t phi, int64_t sigma);

/* nns done in `wall` ns at pace P (floor); wall ns that `left` nns need (ceiling). Section 1. */
int64_t hw_done(int64_t wall, int64_t pace);
int64_t hw_wall(int64_t left, int64_t pace);

/* Bytes that a vCPU of working set ws brings into the caches in `run` ns, section 4. */
int64_t hw_inserted(const struct mc_params *p, int64_t ws, int64_t run);
/* Share (2^-20) of a footprint that is left after others brought in `inserted` bytes. */
int64_t hw_warmth(int64_t inserted, int64_t size);
/* The debt D in ns; w_priv, w_llc: warmth; distance: of the memory, 2^-20. */
int64_t hw_debt(const struct mc_params *p, int64_t ws, int64_t w_priv, int64_t w_llc,
		int64_t distance);
/* How long a cold phase with debt d lasts: d / g, rounded up. */
int64_t hw_cold_time(int64_t debt, int64_t g);

/* Exit latency of a pCPU that has been idle for `idle` ns, section 6. */
int64_t hw_idle_exit(const struct mc_params *p, int64_t idle);

/*
 * Split `wall` ns of work in which `done` nns were done, into the ledger's categories; exact sum.
 * cold_wall of the wall ns were cold: a share g of them is lost to that. Each nns done lost
 * loss_smt / 2^20 ns to the sibling. What is neither is memory's if there was a memory loss at all,
 * else (a few ns of rounding) it goes to the sibling, to cold caches or to useful work, whichever
 * there was first.
 */
struct hw_split {
	int64_t useful, smt, cold, memory;
};
void hw_split(struct hw_split *s, int64_t wall, int64_t done, int64_t cold_wall, int64_t g,
	      int64_t loss_smt, bool memory);

#endif
