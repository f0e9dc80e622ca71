/* SPDX-License-Identifier: MIT */
/*
 * Credit2, section 16.3: at a credit reset the runqueue exchanges at most one unit each way with
 * the runqueue whose prospective load differs most from its own.
 *
 * Soft affinity does not count, and blocked units do. The gate looks at the last runqueue of the
 * list instead of the one to exchange with (Q4).
 *
 * Xen tries every pair (a out, b in) of n * m, a first, and keeps what is strictly better than all
 * before: the result is the first in this order among the best. Here the same pair is found in
 * O((n + m) log(n + m)): with both sides sorted by load, the best b for each a lies next to one
 * place that only moves up as a's load grows; among equally good a's the first in member order is
 * kept, and its first b is found by a walk.
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

/* Merge two lists sorted by rising load. */
static struct c2_unit *merge(struct c2_unit *a, struct c2_unit *b)
{
	struct c2_unit *head = NULL, **tail = &head;

	while (a && b) {
		struct c2_unit **less = a->load <= b->load ? &a : &b;

		*tail = *less;
		tail = &(*less)->by_load;
		*less = *tail;
	}
	*tail = a ? a : b;
	return head;
}

/* Collects units and hands them out sorted: list[i] is empty or holds 2^i units, sorted. */
struct sorter {
	struct c2_unit *list[32];
};

static void sorter_add(struct sorter *s, struct c2_unit *u)
{
	unsigned i = 0;

	u->by_load = NULL;
	for (; s->list[i]; i++) {
		u = merge(s->list[i], u);
		s->list[i] = NULL;
	}
	s->list[i] = u;
}

static struct c2_unit *sorter_finish(const struct sorter *s)
{
	struct c2_unit *all = NULL;

	for (unsigned i = 0; i < 32; i++)
		all = merge(all, s->list[i]);
	return all;
}

/* Difference of the loads once a has left and b has come; either may be NULL. */
static int64_t difference(const struct c2_exchange *x, const struct c2_unit *a,
			  const struct c2_unit *b)
{
	return x->local - x->far - 2 * ((a ? a->load : 0) - (b ? b->load : 0));
}

static int64_t magnitude(int64_t v)
{
	return v < 0 ? -v : v;
}

static void accept(struct c2_exchange *x, int64_t value, struct c2_unit *a, struct c2_unit *b)
{
	if (value < x->best) {
		x->best = value;
		x->a = a;
		x->b = b;
	}
}

/*
 * Pairs with an a. as and bs are sorted by load; a's place in member order is a->order. First the
 * best a, judged by its best b (or none), then the first b that does as well with it.
 */
static void exchange_pairs(struct c2_exchange *x, struct c2_unit *as, struct c2_unit *bs,
			   struct c2_runq *far)
{
	struct c2_unit *below = NULL, *above = bs, *best = NULL;
	int64_t best_value = INT64_MAX;

	for (struct c2_unit *a = as; a; a = a->by_load) {
		int64_t value = magnitude(difference(x, a, NULL));

		while (above && difference(x, a, above) < 0) {
			below = above;
			above = above->by_load;
		}
		if (above && magnitude(difference(x, a, above)) < value)
			value = magnitude(difference(x, a, above));
		if (below && magnitude(difference(x, a, below)) < value)
			value = magnitude(difference(x, a, below));
		if (value < best_value || (value == best_value && a->order < best->order)) {
			best_value = value;
			best = a;
		}
	}
	if (!best || best_value >= x->best)
		return;
	for (struct c2_unit *b = far->members; b; b = b->member_next)
		if (b->movable && magnitude(difference(x, best, b)) == best_value)
			accept(x, best_value, best, b);
	accept(x, best_value, best, NULL);
}

void c2_find_exchange(struct hv_sched *s, struct c2_runq *local, struct c2_runq *far,
		      struct c2_exchange *x, hv_time now)
{
	const struct c2_sched *p = c2_sched(s);
	struct sorter leaving = {{0}}, coming = {{0}};
	bool any_leaves = false;
	uint32_t order = 0;

	HV_ASSERT(s->sys, hv_lock_held(&local->lock) && hv_lock_held(&far->lock));
	for (struct c2_unit *a = local->members; a; a = a->member_next) {
		c2_unit_load_update(p, a, 0, now);
		a->order = order++;
		if (movable(s, a, far)) {
			sorter_add(&leaving, a);
			any_leaves = true;
		}
	}
	for (struct c2_unit *b = far->members; b; b = b->member_next) {
		if (any_leaves) /* Q5: not refreshed if nothing can leave */
			c2_unit_load_update(p, b, 0, now);
		b->movable = movable(s, b, local);
		if (b->movable)
			sorter_add(&coming, b);
	}
	exchange_pairs(x, sorter_finish(&leaving), sorter_finish(&coming), far);
	for (struct c2_unit *b = far->members; b; b = b->member_next)
		if (b->movable)
			accept(x, magnitude(difference(x, NULL, b)), NULL, b);
}

void c2_balance(struct hv_sched *s, struct c2_runq *local, hv_time now)
{
	struct c2_exchange x = {0};
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
	c2_find_exchange(s, local, partner.far, &x, now);
	if (x.a)
		c2_migrate(s, x.a, partner.far, now);
	if (x.b)
		c2_migrate(s, x.b, local, now);
	hv_lock_release(s->sys, &partner.far->lock);
}
