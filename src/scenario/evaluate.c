/*
 * Evaluation of expectations against the values of runs.
 *
 * Law: a reference to a group is the mean over its members unless min(), max() or sum() says
 * otherwise; with SC_OVER_MEAN every value is first averaged over the seeds, with SC_OVER_EACH the
 * line must hold for each seed. A missing value never makes a line hold. A comparison of doubles
 * that are sums of the same integers is exact; == and != on measured values want a tolerance.
 */
#include <assert.h>
#include <errno.h>
#include <float.h>
#include <math.h>

#include "scenario/scenario.h"

#define ALL_SEEDS (-1)

struct eval {
	const struct scenario_file *f;
	sc_value_fn get;
	void *ctx;
	unsigned int variant;
	int seed; /* or ALL_SEEDS: the mean over them */
	const struct sc_ref *missing;
};

/* One entity in one variant: this seed's value, or the mean over all seeds. */
static bool value_of(struct eval *e, const struct sc_ref *ref, unsigned int variant, int vm,
		     double *out)
{
	unsigned int seeds = e->f->variant[variant].run.seeds;
	double sum = 0, value = 0;

	assert(seeds > 0);
	if (e->seed != ALL_SEEDS)
		return e->get(e->ctx, variant, (unsigned int)e->seed, ref, vm, out) == 0;
	for (unsigned int i = 0; i < seeds; i++) {
		if (e->get(e->ctx, variant, i, ref, vm, &value) != 0)
			return false;
		sum += value;
	}
	*out = sum / seeds;
	return true;
}

static double ref_value(struct eval *e, const struct sc_ref *ref, enum sc_expr_op op)
{
	unsigned int variant = ref->variant >= 0 ? (unsigned int)ref->variant : e->variant;
	unsigned int first, n;
	double result = 0, value = 0;

	if (ref->scope != SC_SCOPE_VM) {
		if (!value_of(e, ref, variant, -1, &value))
			e->missing = ref;
		return value;
	}
	if (!scenario_find(&e->f->variant[variant], ref->entity, &first, &n)) {
		e->missing = ref; /* a group of count 0 in this variant */
		return 0;
	}
	for (unsigned int i = 0; i < n; i++) {
		if (!value_of(e, ref, variant, (int)(first + i), &value)) {
			e->missing = ref;
			return 0;
		}
		if (op == SC_EXPR_ANY_MIN)
			result = i && result < value ? result : value;
		else if (op == SC_EXPR_ANY_MAX)
			result = i && result > value ? result : value;
		else
			result += value;
	}
	return op == SC_EXPR_REF || op == SC_EXPR_MEAN ? result / n : result;
}

static double product(const struct sc_expr *x, double a, double b)
{
	const struct sc_expr *right = x->arg->next;
	bool percent = x->op == SC_EXPR_MUL && right->dim == SC_DIM_PERCENT &&
		       x->arg->dim != SC_DIM_NUMBER;
	bool left =
		x->op == SC_EXPR_MUL && x->arg->dim == SC_DIM_PERCENT && right->dim == SC_DIM_TIME;

	if (x->op == SC_EXPR_DIV)
		return a / b;
	return percent || left ? a * b / 100 : a * b;
}

static double expr_value(struct eval *e, const struct sc_expr *x)
{
	double a, b;

	assert(x);
	switch (x->op) {
	case SC_EXPR_NUMBER:
		return x->number;
	case SC_EXPR_REF:
		return ref_value(e, &x->ref, SC_EXPR_REF);
	case SC_EXPR_ANY_MIN:
	case SC_EXPR_ANY_MAX:
	case SC_EXPR_SUM:
	case SC_EXPR_MEAN:
		assert(x->arg->op == SC_EXPR_REF);
		return ref_value(e, &x->arg->ref, x->op);
	case SC_EXPR_NEG:
		return -expr_value(e, x->arg);
	case SC_EXPR_ABS:
		return fabs(expr_value(e, x->arg));
	case SC_EXPR_MIN:
	case SC_EXPR_MAX:
		a = expr_value(e, x->arg);
		for (const struct sc_expr *c = x->arg->next; c; c = c->next) {
			b = expr_value(e, c);
			a = x->op == SC_EXPR_MIN ? fmin(a, b) : fmax(a, b);
		}
		return a;
	case SC_EXPR_ADD:
	case SC_EXPR_SUB:
	case SC_EXPR_MUL:
	case SC_EXPR_DIV:
		a = expr_value(e, x->arg);
		b = expr_value(e, x->arg->next);
		if (x->op == SC_EXPR_ADD)
			return a + b;
		return x->op == SC_EXPR_SUB ? a - b : product(x, a, b);
	}
	return NAN;
}

/* NaN (0/0) never holds. The tolerance widens the accepted side. */
static bool compare(enum sc_cmp cmp, double a, double b, double tolerance)
{
	double slack = tolerance + 4 * DBL_EPSILON * fmax(fabs(a), fabs(b)); /* of conversions */

	if (isnan(a) || isnan(b))
		return false;
	switch (cmp) {
	case SC_LT:
		return a < b + tolerance;
	case SC_LE:
		return a <= b + slack;
	case SC_EQ:
		return a == b || fabs(a - b) <= slack;
	case SC_NE:
		return a != b && fabs(a - b) > slack;
	case SC_GE:
		return a >= b - slack;
	case SC_GT:
		return a > b - tolerance;
	}
	return false;
}

static bool holds(struct eval *e, const struct sc_expect *x, struct sc_verdict *v)
{
	v->variant = e->variant;
	v->seed = e->seed == ALL_SEEDS ? 0 : (unsigned int)e->seed;
	v->lhs = expr_value(e, x->lhs);
	v->rhs = expr_value(e, x->rhs);
	v->tolerance = 0;
	if (x->tolerance)
		v->tolerance = fabs(expr_value(e, x->tolerance));
	if (x->relative)
		v->tolerance = v->tolerance / 100 * fabs(v->rhs);
	v->held = !e->missing && compare(x->cmp, v->lhs, v->rhs, v->tolerance);
	v->missing = e->missing;
	v->error = e->missing ? -ENODATA : 0;
	return v->held;
}

struct sc_verdict sc_expect_eval(const struct scenario_file *f, const struct sc_expect *x,
				 sc_value_fn get, void *ctx)
{
	struct eval e = {.f = f, .get = get, .ctx = ctx};
	unsigned int variants = x->per_variant ? f->n_variants : 1;
	struct sc_verdict v = {0};

	assert(f->n_variants > 0 && get);
	for (e.variant = 0; e.variant < variants; e.variant++) {
		int seeds = x->over == SC_OVER_EACH ? (int)f->variant[e.variant].run.seeds : 0;

		for (e.seed = seeds ? 0 : ALL_SEEDS; e.seed < seeds; e.seed++) {
			if (!holds(&e, x, &v))
				return v;
			if (!seeds)
				break;
		}
	}
	return v;
}
