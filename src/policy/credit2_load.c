/* SPDX-License-Identifier: MIT */
/*
 * Credit2, section 6: decayed load of runqueues and units.
 *
 * A load is fixed point: 2^P means one unit runnable all the time. Between two updates the number
 * of runnable units n is constant, and the average moves towards n by the share of the window
 * (2^W ticks of 1024 ns) that has passed. The two terms of the step are truncated separately, so
 * decisions that compare loads come out as in Xen to the last bit.
 *
 * Law: loads are never negative and, but for what assignments add to pavg, never exceed the
 * largest n * 2^P of their past. With d <= 2^W: new = old + floor(d*n*2^P / 2^W) -
 * floor(d*old / 2^W) >= 0.
 *
 * pavg, the prospective load, is the same average, but an assignment adds the unit's load at once.
 */
#include "policy/credit2.h"

/* floor(d * x / 2^shift); the product may need more than 64 bits with unusual parameters. */
static inline int64_t share(uint64_t d, uint64_t x, unsigned shift)
{
	return (int64_t)(((unsigned __int128)d * x) >> shift);
}

static inline int64_t step(int64_t old, int64_t d, int64_t full, unsigned window)
{
	return old + share((uint64_t)d, (uint64_t)full, window) -
	       share((uint64_t)d, (uint64_t)old, window);
}

static void runq_load_update(const struct c2_sched *p, struct c2_runq *rq, int change, int64_t t)
{
	int64_t full = (int64_t)rq->nload << p->precision;
	int64_t d = t - rq->lt;

	if (d > (int64_t)1 << p->window) {
		rq->avg = rq->pavg = full;
	} else if (d > 0) { /* the clock may step back (section 21, bug 13) */
		rq->avg = step(rq->avg, d, full, p->window);
		rq->pavg = step(rq->pavg, d, full, p->window);
	}
	rq->nload += (uint32_t)change;
	rq->lt = t;
}

void c2_unit_load_update(const struct c2_sched *p, struct c2_unit *u, int change, hv_time now)
{
	int64_t t = now >> C2_TICK_SHIFT;
	int64_t d = t - u->lt;

	if (d > 0) {
		bool was_runnable = change ? change < 0 : hv_unit_runnable(u->unit);
		int64_t full = was_runnable ? (int64_t)1 << p->precision : 0;

		u->load = d > (int64_t)1 << p->window ? full : step(u->load, d, full, p->window);
	}
	u->lt = t;
}

void c2_load_update(const struct c2_sched *p, struct c2_runq *rq, struct c2_unit *u, int change,
		    hv_time now)
{
	HV_ASSERT(rq->sys, hv_lock_held(&rq->lock));
	HV_ASSERT(rq->sys, change >= 0 || rq->nload > 0);
	runq_load_update(p, rq, change, now >> C2_TICK_SHIFT);
	if (u)
		c2_unit_load_update(p, u, change, now);
}
