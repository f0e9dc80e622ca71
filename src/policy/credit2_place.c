/* SPDX-License-Identifier: MIT */
/*
 * Credit2, sections 15, 16.1 and 16.2: choosing a pCPU for a unit, and moving it to another
 * runqueue.
 *
 * A unit goes to the runqueue with the least prospective load that it may use, and within it to
 * the next pCPU in turn: bias(R) remembers the last one. Odd but as in Xen: the turn is that of the
 * least loaded runqueue by hard affinity even when soft affinity chose another (Q1), and a move
 * takes a turn of its own, over hard affinity only (Q2).
 */
#include "policy/credit2.h"

/* M = hard(u) AND valid pCPUs AND active pCPUs of rq; true if not empty. */
static bool usable(const struct hv_sched *s, const struct hv_unit *u, const struct c2_runq *rq,
		   struct hv_mask *m)
{
	const struct hv_mask *valid = hv_unit_valid(s);
	uint64_t any = 0;

	for (unsigned i = 0; i < s->nw; i++) {
		m->w[i] = u->hard.w[i] & valid->w[i] & rq->act.w[i];
		any |= m->w[i];
	}
	return any != 0;
}

/* Take the next pCPU of the mask in turn. */
static uint32_t rotate(struct c2_runq *rq, const struct hv_mask *m, unsigned nw)
{
	uint32_t c = hv_mask_after(m, rq->bias, nw);

	HV_ASSERT(rq->sys, c != HV_NO_PCPU);
	rq->bias = c;
	return c;
}

/* 15.2: a pCPU that can be named without looking at other runqueues. */
static uint32_t fallback(const struct hv_sched *s, const struct c2_unit *u)
{
	const struct hv_unit *unit = u->unit;
	struct hv_mask m, act;

	for (int soft = hv_unit_has_soft(s, unit); soft >= 0; soft--) {
		hv_unit_step_mask(s, unit, soft, &m);
		hv_mask_and(&m, &m, hv_unit_valid(s), s->nw);
		if (hv_mask_test(&m, c2_home(u)))
			return c2_home(u);
		if (u->rq) { /* Q15: none while the unit is inserted */
			hv_mask_and(&act, &m, &u->rq->act, s->nw);
			if (!hv_mask_empty(&act, s->nw))
				return hv_mask_first(&act, s->nw);
		}
	}
	HV_ASSERT(s->sys, !hv_mask_empty(&m, s->nw));
	return hv_mask_first(&m, s->nw);
}

/*
 * Prospective load of rq for u, as if u were not there yet; INT64_MAX if it cannot be read. While
 * a unit is inserted that is so for the runqueue of its provisional resource, because the caller
 * holds the lock and the unit is not in the runqueue yet: recordings of Xen show new units being
 * sent to other runqueues, or left where they are if there is no other.
 */
static int64_t load_without(const struct c2_unit *u, struct c2_runq *rq)
{
	if (rq == u->rq)
		return rq->pavg > u->load ? rq->pavg - u->load : 0;
	if (!hv_lock_try(rq->sys, &rq->lock))
		return INT64_MAX;
	int64_t load = rq->pavg;

	hv_lock_release(rq->sys, &rq->lock);
	return load;
}

/* The runqueues with the least load by soft and by hard affinity; NULL = none. */
struct choice {
	struct c2_runq *soft, *hard;
};

static struct choice least_loaded(const struct hv_sched *s, const struct c2_unit *u)
{
	const struct hv_unit *unit = u->unit;
	bool has_soft = hv_unit_has_soft(s, unit);
	int64_t soft_min = INT64_MAX, hard_min = INT64_MAX;
	struct choice best = {NULL, NULL};
	struct hv_mask m;

	for (struct c2_runq *rq = c2_sched(s)->runqs; rq; rq = rq->next) {
		if (!usable(s, unit, rq, &m))
			continue;
		int64_t load = load_without(u, rq);

		if (has_soft && load < soft_min && hv_mask_intersects(&m, &unit->soft, s->nw)) {
			soft_min = load;
			best.soft = rq;
		}
		if (load < hard_min) {
			hard_min = load;
			best.hard = rq;
		}
	}
	return best;
}

static uint32_t pick(const struct hv_sched *s, struct c2_unit *u)
{
	struct c2_runq *target = u->mig_target;
	bool asked = u->flags & C2_MIGREQ;
	struct choice best;
	struct hv_mask m;

	u->flags &= ~(unsigned)C2_MIGREQ;
	u->mig_target = NULL;
	if (asked && usable(s, u->unit, target, &m))
		return rotate(target, &m, s->nw);
	best = least_loaded(s, u);
	if (!best.hard)
		return fallback(s, u);
	usable(s, u->unit, best.soft ? best.soft : best.hard, &m);
	if (best.soft)
		hv_mask_and(&m, &m, &u->unit->soft, s->nw);
	return rotate(best.hard, &m, s->nw);
}

struct hv_resource *c2_pick(struct hv_sched *s, struct hv_unit *unit)
{
	struct c2_sched *p = c2_sched(s);
	struct c2_unit *u = c2_unit(unit);
	uint32_t c;

	HV_ASSERT(s->sys, hv_lock_held(unit->res->lock));
	if (!hv_lock_try(s->sys, &p->lock)) {
		u->flags &= ~(unsigned)C2_MIGREQ;
		u->mig_target = NULL;
		c = fallback(s, u);
	} else {
		c = pick(s, u);
		hv_lock_release(s->sys, &p->lock);
	}
	HV_ASSERT(s->sys, hv_mask_test(&unit->hard, c) && hv_mask_test(hv_unit_valid(s), c));
	return hv_resource_of(s->sys, c);
}

void c2_migrate(struct hv_sched *s, struct c2_unit *u, struct c2_runq *to, hv_time now)
{
	struct c2_sched *p = c2_sched(s);
	struct c2_runq *from = u->rq;
	bool queued = u->flags & C2_QUEUED;
	struct hv_mask m = {0};

	HV_ASSERT(s->sys, hv_lock_held(&from->lock) && hv_lock_held(&to->lock));
	HV_ASSERT(s->sys, from != to);
	hv_trace_emit(s->sys, &(struct hv_trace){.kind = HV_TRACE_RQMOVE,
						 .time = now,
						 .pcpu = HV_NO_PCPU,
						 .unit = u->unit,
						 .a = from->id,
						 .b = to->id});
	if (u->flags & C2_SCHED) {
		/* It moves when it has been switched out, through pick (15.1 step 2). */
		u->mig_target = to;
		u->flags |= C2_MIGREQ;
		hv_unit_set_flag(u->unit, HV_PF_MIGRATING);
		c2_tickle_pcpu(s, from, c2_home(u));
		return;
	}
	if (queued) {
		c2_runq_remove(from, u);
		c2_load_update(p, from, NULL, -1, now);
	}
	c2_deassign(u);
	usable(s, u->unit, to, &m);
	hv_unit_assign(u->unit, c2_pcpu(p, rotate(to, &m, s->nw))->res);
	c2_assign(to, u);
	if (queued) {
		c2_load_update(p, to, NULL, 1, now);
		c2_runq_insert(to, u);
		c2_tickle(s, u, now);
	}
}
