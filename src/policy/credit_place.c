/* SPDX-License-Identifier: MIT */
/*
 * Credit, section 11: which pCPU a unit should be on.
 *
 * Its own one if that has nothing to do, else an idle one within its affinity, in the core or
 * socket with most idle pCPUs: another core of the socket if it has more of them, another socket
 * only if it has more than twice as many, so that one busy unit does not bounce between sockets
 * (bug 6d6b9b99aa of section 15). With power savings the core or socket with fewest idle pCPUs is
 * preferred.
 *
 * idle_bias spreads those that come at the same time over the pCPUs of a group.
 */
#include "policy/credit.h"

/* A choice under way. */
struct choice {
	struct hv_sched *s;
	struct c1_sched *p;
	uint32_t here; /* best so far */
	struct hv_mask idle, left;
	struct c1_pcpu *bias; /* whose idle_bias led here last, NULL = none */
};

static struct c1_pcpu *pcpu_of(const struct choice *c, uint32_t cpu)
{
	return c1_pcpu(hv_resource_of(c->s->sys, cpu));
}

static uint32_t weight_of(const struct hv_mask *a, const struct hv_mask *b, unsigned nw)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < nw; i++)
		n += hv_bits(a->w[i] & b->w[i]);
	return n;
}

/* Step 3 for the next candidate. */
static void consider(struct choice *c, uint32_t next)
{
	const struct hv_sys *sys = c->s->sys;
	unsigned nw = c->p->nw, factor = 1;
	const struct hv_mask *here_group, *next_group;
	uint32_t here_idle, next_idle;
	struct hv_mask group;

	if (hv_mask_test(hv_socket_mask(sys, c->here), next)) {
		here_group = hv_core_mask(sys, c->here);
		next_group = hv_core_mask(sys, next);
	} else {
		factor = 2;
		here_group = hv_socket_mask(sys, c->here);
		next_group = hv_socket_mask(sys, next);
	}
	here_idle = weight_of(&c->idle, here_group, nw);
	next_idle = weight_of(&c->idle, next_group, nw);
	hv_mask_and(&group, &c->idle, next_group, nw);
	if (c->p->power_savings ? here_idle > next_idle : here_idle * factor < next_idle) {
		hv_mask_and(&group, &group, &c->left, nw);
		c->bias = pcpu_of(c, next);
		c->here = hv_mask_after(&group, c->bias->idle_bias, nw);
		hv_mask_andnot(&c->left, &c->left, hv_core_mask(sys, c->here), nw);
	} else {
		hv_mask_andnot(&c->left, &c->left, &group, nw);
	}
}

/* One affinity step, c->left being pool and affinity. True when an idle pCPU is found. */
static bool choose(struct choice *c, const struct c1_unit *u)
{
	uint32_t home = u->unit->res->master;
	unsigned nw = c->p->nw;

	c->here = hv_mask_test(&c->left, home) ? home : hv_mask_after(&c->left, home, nw);
	hv_mask_and(&c->idle, hv_online_mask(c->s->sys), &c->p->idlers, nw);
	if (c->here == home && c1_queue_idle(&pcpu_of(c, home)->queue))
		hv_mask_set(&c->idle, home);
	hv_mask_and(&c->left, &c->left, &c->idle, nw);
	if (!hv_mask_empty(&c->left, nw)) {
		if (!hv_mask_test(&c->left, c->here))
			c->here = hv_mask_after(&c->left, c->here, nw);
		hv_mask_clear(&c->left, c->here);
	}
	while (!hv_mask_empty(&c->left, nw))
		consider(c, hv_mask_after(&c->left, c->here, nw));
	return hv_mask_test(&c->idle, c->here);
}

uint32_t c1_best_pcpu(struct hv_sched *s, const struct c1_unit *u, bool commit)
{
	struct choice c = {.s = s, .p = c1_sched(s)};

	HV_ASSERT(s->sys, hv_lock_held(u->unit->res->lock));
	for (int step = hv_unit_has_soft(s, u->unit) ? 0 : 1; step < 2; step++) {
		hv_unit_step_mask(s, u->unit, step == 0, &c.left);
		hv_mask_and(&c.left, &c.left, hv_unit_valid(s), s->nw);
		if (step == 0 && hv_mask_empty(&c.left, s->nw))
			continue;
		if (choose(&c, u))
			break;
	}
	if (commit && c.bias)
		c.bias->idle_bias = c.here;
	return c.here;
}

/* The unit is being placed, which is no sleep that deserves a boost. */
struct hv_resource *c1_pick(struct hv_sched *s, struct hv_unit *unit)
{
	struct c1_unit *u = c1_unit(unit);

	u->flags |= C1_MIGRATING;
	return hv_resource_of(s->sys, c1_best_pcpu(s, u, true));
}
