/* SPDX-License-Identifier: MIT */
/*
 * Credit2, section 9: which pCPU shall come for a unit that has just been queued.
 *
 * In this order: an idle home of a pinned unit; an idle core, then an idle pCPU, within soft
 * affinity, then within hard; the busy pCPU whose unit has the least claim to it. A pCPU that has
 * been asked already is left alone, because its answer may be another unit.
 *
 * Law: judging a busy pCPU accounts its unit's run time up to now, chosen or not.
 */
#include "policy/credit2.h"

#define SOFT_BONUS C2_CREDIT_INIT

/* M = a AND (not b) AND valid pCPUs AND affinity; true if not empty. */
static bool idle_candidates(struct hv_mask *m, const struct hv_mask *idle,
			    const struct hv_mask *without, const struct hv_mask *valid,
			    const struct hv_mask *affinity, unsigned nw)
{
	uint64_t any = 0;

	for (unsigned i = 0; i < nw; i++) {
		uint64_t w = idle->w[i] & valid->w[i] & affinity->w[i];

		if (without)
			w &= ~without->w[i];
		m->w[i] = w;
		any |= w;
	}
	return any != 0;
}

/* 9.2: an idle pCPU within the mask of one affinity step, or HV_NO_PCPU. */
static uint32_t find_idle(const struct hv_sched *s, const struct c2_runq *rq, uint32_t home,
			  const struct hv_mask *affinity)
{
	const struct c2_sched *p = c2_sched(s);
	const struct hv_mask *valid = hv_unit_valid(s);
	struct hv_mask m;

	/* Power savings fill a core that is awake first; Q6: asked pCPUs are not left out there. */
	if (p->power_savings ? idle_candidates(&m, &rq->idl, &rq->cor, valid, affinity, p->nw)
			     : idle_candidates(&m, &rq->cor, NULL, valid, affinity, p->nw))
		return c2_keep(home, &m, p->nw);
	if (idle_candidates(&m, &rq->idl, &rq->tik, valid, affinity, p->nw))
		return c2_keep(home, &m, p->nw);
	return HV_NO_PCPU;
}

/* 9.3: how much better pCPU c would be off with u; -1 = leave it alone. */
static int64_t score(const struct c2_sched *p, const struct c2_unit *u, uint32_t c, uint32_t home,
		     hv_time now)
{
	struct hv_unit *curr = c2_pcpu(p, c)->res->curr;
	struct c2_unit *v = c2_unit(curr);
	int64_t s;

	if (c2_is_idle(v)) /* it does work of the hypervisor */
		return -1;
	if (p->ratelimit > C2_RL_TOLERANCE &&
	    c2_since_turn(curr, now) <= (uint64_t)(p->ratelimit - C2_RL_TOLERANCE))
		return -1;
	c2_burn(v, now);
	s = (int64_t)u->credit - v->credit;
	if (c != home)
		s -= p->resist;
	if (s > 0) {
		if (hv_mask_test(&u->unit->soft, c))
			s += SOFT_BONUS;
		if (!hv_mask_test(&curr->soft, c))
			s += SOFT_BONUS;
	}
	return s;
}

/* Word i of the busy pCPUs that u may go to and that have not been asked. */
static inline uint64_t busy_word(const struct c2_runq *rq, const struct hv_unit *u,
				 const struct hv_mask *valid, unsigned i)
{
	return rq->act.w[i] & ~rq->idl.w[i] & ~rq->tik.w[i] & u->hard.w[i] & valid->w[i];
}

/* 9.3: the busy pCPU that is best taken from its unit, or HV_NO_PCPU. Home is judged first. */
static uint32_t find_busy(const struct hv_sched *s, const struct c2_runq *rq,
			  const struct c2_unit *u, uint32_t home, hv_time now)
{
	const struct c2_sched *p = c2_sched(s);
	const struct hv_mask *valid = hv_unit_valid(s);
	uint64_t home_bit = 1ULL << home % 64;
	uint32_t best = HV_NO_PCPU;
	int64_t best_score = 0;

	if (busy_word(rq, u->unit, valid, home / 64) & home_bit) {
		int64_t sc = score(p, u, home, home, now);

		if (sc > 0) {
			if (hv_mask_test(&u->unit->soft, home))
				return home;
			best = home;
			best_score = sc;
		}
	}
	for (unsigned i = 0; i < p->nw; i++) {
		uint64_t w = busy_word(rq, u->unit, valid, i);

		if (i == home / 64)
			w &= ~home_bit;
		for (; w; w &= w - 1) {
			uint32_t c = i * 64 + (unsigned)__builtin_ctzll(w);
			int64_t sc = score(p, u, c, home, now);

			if (sc > best_score) {
				best = c;
				best_score = sc;
			}
		}
	}
	return best;
}

static uint32_t find_pcpu(const struct hv_sched *s, const struct c2_runq *rq,
			  const struct c2_unit *u, hv_time now)
{
	uint32_t home = c2_home(u), c;

	if ((u->flags & C2_PINNED) && hv_mask_test(&rq->idl, home) && !hv_mask_test(&rq->tik, home))
		return home;
	/* COR is looked at as well: with Q7 it may name a pCPU that is not idle. */
	if (!hv_mask_empty(&rq->idl, c2_sched(s)->nw) ||
	    !hv_mask_empty(&rq->cor, c2_sched(s)->nw)) {
		if (hv_unit_has_soft(s, u->unit)) {
			struct hv_mask soft;

			hv_unit_step_mask(s, u->unit, true, &soft);
			c = find_idle(s, rq, home, &soft);
			if (c != HV_NO_PCPU)
				return c;
		}
		c = find_idle(s, rq, home, &u->unit->hard);
		if (c != HV_NO_PCPU)
			return c;
	}
	return find_busy(s, rq, u, home, now);
}

void c2_tickle(struct hv_sched *s, struct c2_unit *u, hv_time now)
{
	struct c2_runq *rq = u->rq;
	uint32_t c;

	HV_ASSERT(s->sys, hv_lock_held(&rq->lock));
	HV_ASSERT(s->sys, u->flags & C2_QUEUED);
	c = find_pcpu(s, rq, u, now);
	if (c == HV_NO_PCPU)
		return;
	c2_tickle_pcpu(s, rq, c);
	u->tcpu = c;
}
