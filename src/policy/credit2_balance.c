/* SPDX-License-Identifier: MIT */
/*
 * Credit2, section 16.3: at a credit reset the runqueue exchanges at most one unit each way with
 * the runqueue whose prospective load differs most from its own.
 *
 * Soft affinity does not count, and blocked units do. The gate looks at the last runqueue of the
 * list instead of the one to exchange with (Q4). Xen tries all pairs; the result is the first pair
 * in its order that is better than all before, i.e. the first among the best.
 */
#include "policy/credit2.h"

/* Is difference < 2^exponent? The exponents are set by the user and may be anything. */
static bool below_pow2(int64_t difference, int64_t exponent)
{
	if (exponent < 0)
		return difference < 1;
	return exponent >= 63 || difference < (int64_t)1 << exponent;
}

static bool movable(const struct hv_sched *s, const struct c2_unit *u, const struct c2_runq *to)
{
	const struct hv_mask *valid = hv_unit_valid(s);
	uint64_t any = 0;

	if (u->flags & C2_MIGREQ)
		return false;
	for (unsigned i = 0; i < s->nw; i++)
		any |= u->unit->hard.w[i] & valid->w[i] & to->act.w[i];
	return any != 0;
}

/* 16.3 steps 2 to 5: whom to exchange with, if at all. */
struct partner {
	struct c2_runq *far;
	int64_t delta;
};

static struct partner find_partner(struct hv_sched *s, struct c2_runq *local, hv_time now)
{
	struct c2_sched *p = c2_sched(s);
	struct partner best = {NULL, 0};
	const struct c2_runq *last = NULL;
	int64_t load, ncpu, tolerance;

	if (!hv_lock_try(s->sys, &p->lock))
		return best;
	for (struct c2_runq *rq = p->runqs; rq; rq = rq->next) {
		int64_t delta;

		last = rq;
		if (rq == local || !hv_lock_try(s->sys, &rq->lock))
			continue;
		c2_load_update(p, rq, NULL, 0, now);
		delta = local->pavg > rq->pavg ? local->pavg - rq->pavg : rq->pavg - local->pavg;
		if (delta > best.delta) {
			best.delta = delta;
			best.far = rq;
		}
		hv_lock_release(s->sys, &rq->lock);
	}
	if (best.far) {
		load = local->pavg > last->pavg ? local->pavg : last->pavg;
		ncpu = local->ncpu > last->ncpu ? local->ncpu : last->ncpu;
		tolerance = s->params[load < ncpu << p->precision ? C2_P_BALANCE_UNDER
								  : C2_P_BALANCE_OVER];
		if (below_pow2(best.delta, (int64_t)p->precision + tolerance))
			best.far = NULL;
	}
	hv_lock_release(s->sys, &p->lock);
	return best;
}

/* The best exchange found so far: a leaves, b comes; either may be NULL. */
struct exchange {
	int64_t local, far; /* loads before */
	int64_t best;	    /* |difference| to be beaten */
	struct c2_unit *a, *b;
};

static void try_exchange(struct exchange *x, struct c2_unit *a, struct c2_unit *b)
{
	int64_t shift = (a ? a->load : 0) - (b ? b->load : 0);
	int64_t diff = (x->local - shift) - (x->far + shift);

	if (diff < 0)
		diff = -diff;
	if (diff < x->best) {
		x->best = diff;
		x->a = a;
		x->b = b;
	}
}

/* 16.3 step 6. */
static void find_exchange(struct hv_sched *s, struct c2_runq *local, struct c2_runq *far,
			  struct exchange *x, hv_time now)
{
	const struct c2_sched *p = c2_sched(s);
	bool refreshed = false;

	for (struct c2_unit *a = local->members; a; a = a->member_next) {
		c2_unit_load_update(p, a, 0, now);
		if (!movable(s, a, far))
			continue;
		for (struct c2_unit *b = far->members; b; b = b->member_next) {
			if (!refreshed) /* Q5: not at all if nothing can leave */
				c2_unit_load_update(p, b, 0, now);
			if (movable(s, b, local))
				try_exchange(x, a, b);
		}
		refreshed = true;
		try_exchange(x, a, NULL);
	}
	for (struct c2_unit *b = far->members; b; b = b->member_next)
		if (movable(s, b, local))
			try_exchange(x, NULL, b);
}

void c2_balance(struct hv_sched *s, struct c2_runq *local, hv_time now)
{
	struct exchange x = {0};
	struct partner partner;

	HV_ASSERT(s->sys, hv_lock_held(&local->lock));
	c2_load_update(c2_sched(s), local, NULL, 0, now);
	do {
		partner = find_partner(s, local, now);
		if (!partner.far)
			return;
	} while (!hv_lock_try(s->sys, &partner.far->lock));

	x.local = local->pavg;
	x.far = partner.far->pavg;
	x.best = partner.delta;
	find_exchange(s, local, partner.far, &x, now);
	if (x.a)
		c2_migrate(s, x.a, partner.far, now);
	if (x.b)
		c2_migrate(s, x.b, local, now);
	hv_lock_release(s->sys, &partner.far->lock);
}
