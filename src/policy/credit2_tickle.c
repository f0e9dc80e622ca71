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

/*
 * Those of the 64 pCPUs from `first` in w whose unit has run for longer than the rate limit less a
 * tolerance. Without branches: about every third pCPU of a busy host would be guessed wrong.
 */
static inline uint64_t preemptable(const struct c2_sched *p, unsigned first, uint64_t w,
				   hv_time now)
{
	uint64_t limit = (uint64_t)(p->ratelimit - C2_RL_TOLERANCE), out = 0;

	if (p->ratelimit <= C2_RL_TOLERANCE)
		return w;
	for (uint64_t rest = w; rest; rest &= rest - 1) {
		unsigned bit = (unsigned)__builtin_ctzll(rest);

		out |= (uint64_t)(c2_since_turn(p->turn[first + bit], now) > limit) << bit;
	}
	return out;
}

/* 9.3: how much better pCPU c, whose unit may be preempted, would be off with u. */
static inline int64_t score(const struct c2_sched *p, const struct c2_unit *u, uint32_t c,
			    uint32_t home, hv_time now)
{
	struct c2_unit *v = p->curr[c];
	int64_t s;

	if (c2_is_idle(v)) /* it does work of the hypervisor */
		return -1;
	c2_burn(v, now);
	s = (int64_t)u->credit - v->credit;
	if (c != home)
		s -= p->resist;
	if (s > 0) {
		if (hv_mask_test(&u->unit->soft, c))
			s += SOFT_BONUS;
		if (!hv_mask_test(&v->unit->soft, c))
			s += SOFT_BONUS;
	}
	return s;
}

int64_t c2_score(const struct c2_sched *p, const struct c2_unit *u, uint32_t c, hv_time now)
{
	if (!preemptable(p, c / 64 * 64, 1ULL << c % 64, now))
		return -1;
	return score(p, u, c, c2_home(u), now);
}

/* 64 busy pCPUs that u may go to, that have not been asked and whose unit may be preempted. */
static inline uint64_t busy_word(const struct hv_sched *s, const struct c2_runq *rq,
				 const struct hv_unit *u, unsigned i, hv_time now)
{
	uint64_t w = rq->act.w[i] & ~rq->idl.w[i] & ~rq->tik.w[i] & u->hard.w[i] &
		     hv_unit_valid(s)->w[i];

	return preemptable(c2_sched(s), i * 64, w, now);
}

/* 9.3: the busy pCPU that is best taken from its unit, or HV_NO_PCPU. Home is judged first. */
static uint32_t find_busy(const struct hv_sched *s, const struct c2_runq *rq,
			  const struct c2_unit *u, uint32_t home, hv_time now)
{
	const struct c2_sched *p = c2_sched(s);
	uint64_t home_bit = 1ULL << home % 64;
	uint64_t home_word = busy_word(s, rq, u->unit, home / 64, now);
	uint32_t best = HV_NO_PCPU;
	int64_t best_score = 0;

	if (home_word & home_bit) {
		home_word &= ~home_bit;
		best_score = score(p, u, home, home, now);
		if (best_score > 0) {
			if (hv_mask_test(&u->unit->soft, home))
				return home;
			best = home;
		} else {
			best_score = 0;
		}
	}
	for (unsigned i = 0; i < p->nw; i++) {
		uint64_t w = i == home / 64 ? home_word : busy_word(s, rq, u->unit, i, now);

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
