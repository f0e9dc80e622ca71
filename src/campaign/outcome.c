/*
 * What a campaign came to: its runs gathered per variant for the report, its expectations judged.
 *
 * When only one variant was run, a line without variant is judged for that one, and a line that
 * names another variant is skipped: it is neither held nor failed.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "campaign/campaign.h"

static bool any_named(const struct sc_expr *x)
{
	for (; x; x = x->next) {
		if (x->op == SC_EXPR_REF && x->ref.variant >= 0)
			return true;
		if (any_named(x->arg))
			return true;
	}
	return false;
}

static bool names_a_variant(const struct sc_expect *e)
{
	return any_named(e->lhs) || any_named(e->rhs) || any_named(e->tolerance);
}

/* For a file cut down to one variant, whose number is 0 there. */
static int only_value(void *ctx, unsigned variant, unsigned seed, const struct sc_ref *ref, int vm,
		      double *value)
{
	const struct campaign *c = ctx;

	assert(variant == 0);
	return campaign_value(ctx, c->variant, seed, ref, vm, value);
}

static void judge(struct campaign *c, const struct sc_expect *e, struct report_expect *out)
{
	struct scenario_file one = *c->file;

	*out = (struct report_expect){.expect = e};
	if (!c->has_variant) {
		out->verdict = sc_expect_eval(c->file, e, campaign_value, c);
	} else if (e->per_variant && !names_a_variant(e)) {
		one.variant = &c->file->variant[c->variant];
		one.n_variants = 1;
		out->verdict = sc_expect_eval(&one, e, only_value, c);
		out->verdict.variant = c->variant;
	} else {
		out->verdict = sc_expect_eval(c->file, e, campaign_value, c);
		out->skipped = out->verdict.error == -ENODATA;
	}
	out->variant = c->file->variant[out->verdict.variant].variant;
}

/* The runs of one variant that were made, in order of seeds. */
static int gather(const struct campaign *c, unsigned variant, struct report_variant *out)
{
	const struct lab_result **run = calloc(c->n_seeds, sizeof(*run));
	unsigned n = 0;

	if (!run)
		return -HV_ENOMEM;
	for (unsigned i = 0; i < c->n_seeds; i++) {
		if (campaign_result(c, variant, i))
			run[n++] = campaign_result(c, variant, i);
	}
	*out = (struct report_variant){&c->file->variant[variant], run, n};
	return 0;
}

int campaign_report(const struct campaign *c, struct report *out)
{
	struct report_variant *variants = calloc(c->n_variants, sizeof(*variants));
	struct report_expect *expects = calloc(c->file->n_expects + 1, sizeof(*expects));
	struct campaign campaign = *c;

	*out = (struct report){.path = c->file->path,
			       .variant = variants,
			       .expect = expects,
			       .n_planned = campaign_planned(c),
			       .interrupted = c->interrupted};
	if (!variants || !expects)
		goto no_memory;
	for (unsigned v = 0; v < c->n_variants; v++) {
		if (c->has_variant && c->variant != v)
			continue;
		if (gather(c, v, &variants[out->n_variants]) != 0)
			goto no_memory;
		out->n_variants++;
	}
	for (unsigned i = 0; i < c->file->n_expects; i++)
		judge(&campaign, &c->file->expect[i], &expects[out->n_expects++]);
	return 0;

no_memory:
	campaign_report_free(out);
	return -HV_ENOMEM;
}

void campaign_report_free(struct report *r)
{
	for (unsigned v = 0; v < r->n_variants; v++)
		free(r->variant[v].run);
	free(r->variant);
	free(r->expect);
	*r = (struct report){0};
}
