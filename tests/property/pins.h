/* SPDX-License-Identifier: MIT */
/*
 * Temporary pins in a trial: they come and go like everything else, what is refused is what the
 * public header says, and the last one of a unit gives the mask back that the first one found
 * (or all, where the pCPUs of that have left the pool meanwhile).
 */
#ifndef TESTS_PROPERTY_PINS_H
#define TESTS_PROPERTY_PINS_H

#include "trial.h"

/* Pins that were made, refused for a pin elsewhere, and nested; operations that pins kept off. */
static uint64_t nr_pins, nr_pin_conflicts, nr_nested_pins, nr_kept_off;

static bool member_holds(const struct hv_unit *u, unsigned reason)
{
	for (unsigned k = 0; k < u->nr_vcpus; k++) {
		if (u->domain->vcpus[u->id + k]->pins & reason)
			return true;
	}
	return false;
}

static struct hv_mask *own_mask(struct trial *t, const struct hv_unit *u)
{
	unsigned at = 0;

	while (t->domains[at] != u->domain)
		at++;
	return &t->own[at][u->id];
}

static int expected_of_pin(const struct hv_vcpu *v, unsigned pcpu, unsigned reason)
{
	const struct hv_unit *u = v->unit;
	bool elsewhere;

	if (pcpu == HV_NO_PCPU)
		return v->pins & reason ? 0 : -HV_EINVAL;
	if (v->pins & reason)
		return -HV_EBUSY;
	if (reason == HV_PIN_WAIT)
		return pcpu == v->pcpu ? 0 : -HV_EINVAL;
	if (!hv_mask_test(&u->domain->pool->res_valid, pcpu))
		return -HV_EINVAL;
	elsewhere = u->pinned && !hv_mask_test(&u->hard, pcpu);
	elsewhere |= member_holds(u, HV_PIN_OVERRIDE) && u->override_to != pcpu;
	return u->domain->move || elsewhere ? -HV_EBUSY : 0;
}

static void unpinned(struct trial *t, const struct hv_unit *u)
{
	unsigned nw = hv_mask_words(t->f->sys);
	struct hv_mask all;

	hv_mask_fill(&all, nw, t->f->nr_pcpus);
	EXPECT(t, hv_mask_equal(&u->hard, own_mask(t, u), nw) || hv_mask_equal(&u->hard, &all, nw));
}

static void set_pin(struct trial *t, struct hv_vcpu *v)
{
	unsigned reason = draw(t, 2) ? HV_PIN_OVERRIDE : HV_PIN_WAIT;
	unsigned pcpu = draw(t, 2) ? v->unit->res->master : draw(t, t->f->nr_pcpus);
	bool was_pinned = v->unit->pinned;
	int expected;

	if (reason == HV_PIN_WAIT && draw(t, 4))
		pcpu = v->pcpu;
	if (draw(t, 3) == 0)
		pcpu = HV_NO_PCPU;
	expected = expected_of_pin(v, pcpu, reason);
	if (!was_pinned)
		*own_mask(t, v->unit) = v->unit->hard;
	EXPECT(t, hv_vcpu_pin(v, pcpu, (enum hv_pin_reason)reason) == expected);
	if (was_pinned && !v->unit->pinned)
		unpinned(t, v->unit);
	nr_pins += expected == 0 && pcpu != HV_NO_PCPU;
	nr_nested_pins += expected == 0 && pcpu != HV_NO_PCPU && was_pinned;
	nr_pin_conflicts += expected == -HV_EBUSY;
}

static void end_pins(struct trial *t, struct hv_vcpu *v)
{
	for (unsigned reason = HV_PIN_OVERRIDE; reason <= HV_PIN_WAIT; reason <<= 1) {
		if (v->pins & reason)
			EXPECT(t, hv_vcpu_pin(v, HV_NO_PCPU, (enum hv_pin_reason)reason) == 0);
		check(t);
	}
}

/* Each was met often enough to mean something. */
static void report_pins(void)
{
	print_message("# pins %" PRIu64 ", nested %" PRIu64 ", refused for another %" PRIu64
		      ", kept off by them %" PRIu64 "\n",
		      nr_pins, nr_nested_pins, nr_pin_conflicts, nr_kept_off);
	assert_true(nr_pins > 1000 && nr_nested_pins > 200 && nr_pin_conflicts > 200 &&
		    nr_kept_off > 20);
	nr_pins = nr_nested_pins = nr_pin_conflicts = nr_kept_off = 0;
}

#endif
