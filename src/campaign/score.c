/*
 * The arithmetic of an experiment: ratios of cells against their bands, orders against the rule
 * that an order counts only if the seeds' ranges do not overlap or all seeds agree (workloads 4.7).
 */
#include <assert.h>
#include <math.h>

#include "campaign/experiment.h"

static void take_range(struct experiment_cell *c, unsigned n_seeds)
{
	c->simulated = (struct report_range){0};
	for (unsigned i = 0; i < n_seeds; i++) {
		if (!isnan(c->value[i]))
			report_range_add(&c->simulated, c->value[i]);
	}
}

/* ---- orders */

static double better_by(const struct experiment_cell *a, double va, double vb)
{
	return a->lower_is_better ? vb - va : va - vb;
}

/* a is better than b by rule 3: the ranges are apart, or every seed says so. */
static bool counts_as_better(const struct experiment_cell *a, const struct experiment_cell *b,
			     unsigned n_seeds)
{
	double worst_a = a->lower_is_better ? a->simulated.max : a->simulated.min;
	double best_b = a->lower_is_better ? b->simulated.min : b->simulated.max;
	unsigned agree = 0;

	assert(a->lower_is_better == b->lower_is_better);
	if (better_by(a, worst_a, best_b) > 0)
		return true;
	for (unsigned i = 0; i < n_seeds; i++)
		agree += better_by(a, a->value[i], b->value[i]) > 0; /* false with a NAN */
	return agree == n_seeds;
}

/*
 * A strict step must be shown by the rule; "as good or better" must not be contradicted by it: a
 * difference that does not count either way is a tie.
 */
static enum experiment_order judge_order(const struct experiment *e,
					 const struct experiment_ordering *o)
{
	if (o->result == ORDER_NOT_DEMANDED || o->result == ORDER_UNREAD)
		return o->result;
	assert(o->n >= 2);
	for (unsigned i = 0; i < o->n; i++) {
		if (!e->cell[o->cell[i]].simulated.n)
			return ORDER_NO_VALUE;
	}
	for (unsigned i = 0; i + 1 < o->n; i++) {
		const struct experiment_cell *a = &e->cell[o->cell[i]],
					     *b = &e->cell[o->cell[i + 1]];

		if (o->strict[i] ? !counts_as_better(a, b, e->n_seeds)
				 : counts_as_better(b, a, e->n_seeds))
			return ORDER_MISSED;
	}
	return ORDER_HELD;
}

/* ---- ratios */

static double quotient(const struct experiment_ratio *r, double num, double den)
{
	return r->percent ? 100 * (num / den - 1) : num / den;
}

static void judge_ratio(const struct experiment *e, struct experiment_ratio *r)
{
	const struct experiment_cell *num = &e->cell[r->num], *den = &e->cell[r->den];

	r->seed = (struct report_range){0};
	r->has_value = num->simulated.n == e->n_seeds && den->simulated.n == e->n_seeds &&
		       e->n_seeds > 0 && den->simulated.min > 0;
	if (!r->has_value) {
		r->result = RESULT_NO_VALUE;
		return;
	}
	r->simulated = quotient(r, num->simulated.mean, den->simulated.mean);
	for (unsigned i = 0; i < e->n_seeds; i++)
		report_range_add(&r->seed, quotient(r, num->value[i], den->value[i]));
	r->error = r->percent ? r->simulated - r->observed : 100 * (r->simulated / r->observed - 1);
	r->in_band = r->simulated >= r->lower && r->simulated <= r->upper;
	r->result = r->in_band && (!r->order || r->order->result == ORDER_HELD) ? RESULT_PASS
										: RESULT_MISS;
}

void experiment_judge(struct experiment *e)
{
	e->reproduced = e->counted = e->orders_held = e->orders_demanded = e->fitted_missed = 0;
	for (unsigned i = 0; i < e->n_cells; i++)
		take_range(&e->cell[i], e->n_seeds);
	for (unsigned i = 0; i < e->n_orderings; i++) {
		struct experiment_ordering *o = &e->ordering[i];

		o->result = judge_order(e, o);
		e->orders_demanded += o->result != ORDER_NOT_DEMANDED && o->result != ORDER_UNREAD;
		e->orders_held += o->result == ORDER_HELD;
	}
	for (unsigned i = 0; i < e->n_ratios; i++) {
		struct experiment_ratio *r = &e->ratio[i];

		judge_ratio(e, r);
		if (r->grade == 'C')
			continue;
		if (r->fitted) {
			e->fitted_missed += r->result != RESULT_PASS;
			continue;
		}
		e->counted++;
		e->reproduced += r->result == RESULT_PASS;
	}
}

bool experiment_reproduced(const struct experiment *e)
{
	return e->reproduced == e->counted && e->orders_held == e->orders_demanded &&
	       e->fitted_missed == 0;
}
