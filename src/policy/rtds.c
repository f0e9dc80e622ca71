/* SPDX-License-Identifier: MIT */
/*
 * rtds: each unit may run for its budget in each of its periods, the one with the earliest
 * deadline first; a deferrable server, global in the pool. With extratime (the default) a unit
 * without budget gets another one, at a priority that is one level lower; without, it waits for its
 * next period.
 *
 * Laws (rtds_check() walks them):
 *  - a unit waits in the run queue or as depleted, or in neither, never in both; none that is
 *    current or being switched out waits;
 *  - the run queue is sorted by level, then deadline, first come first served among equals; what is
 *    in it has budget;
 *  - a unit has an entry in the replenishment queue exactly while it waits, runs or is being
 *    switched out; the timer is set for the deadline of the front, and stopped when there is none;
 *  - the rest of a budget is never above the budget unless that has been lowered since;
 *  - deadlines lie on a grid of periods: they follow neither late timers nor late wakes.
 *
 * What looks odd and is nevertheless kept (rtds sections 6, 8, 9): the replenishment queue is
 * ordered by level first, so a demoted unit may be replenished late; a depleted unit tickles when
 * it is switched out; nobody is tickled when extratime lets a depleted unit run; soft affinity is
 * ignored. Different from Xen: a change of period or budget of a domain that one of its units
 * cannot take changes none.
 *
 * Costs: O(log units) for each wake, pass and replenishment, besides one look over the pool's pCPUs
 * when a unit asks for one.
 *
 * Locks: one lock guards the queues and every resource of the pool.
 *
 * Source: rtds sections 1-10.
 */
#include "policy/rtds.h"

/* ---- life of instance, unit, pCPU */

static size_t pool_size(uint32_t nr_pcpus)
{
	return sizeof(struct rtds_pool) + nr_pcpus * sizeof(struct rtds_rank);
}

static int init(struct hv_sched *s)
{
	uint32_t nr_pcpus = hv_topology(s->sys)->nr_pcpus;
	struct rtds_pool *p = hv_alloc(s->sys, pool_size(nr_pcpus));

	if (!p)
		return -HV_ENOMEM;
	hv_lock_init(s->sys, &p->lock);
	p->nr_pcpus = nr_pcpus;
	p->runq.nw = s->nw;
	hv_timer_init(&p->timer, s->sys, HV_TIMER_REPLENISH, (uint32_t)s->pool->id, rtds_replenish,
		      s);
	s->priv = p;
	return 0;
}

static void deinit(struct hv_sched *s)
{
	struct rtds_pool *p = rtds_pool(s);

	HV_ASSERT(s->sys, !p->replq.nr && !p->runq.nr && !p->nr_depleted && !p->timer.armed);
	hv_free(s->sys, p, pool_size(p->nr_pcpus));
	s->priv = NULL;
}

static int alloc_unit(struct hv_sched *s, struct hv_unit *unit, void *domdata, void **out)
{
	struct rtds_unit *u;

	(void)domdata;
	if (unit->idle) {
		*out = NULL;
		return 0;
	}
	u = hv_alloc(s->sys, sizeof(*u));
	if (!u)
		return -HV_ENOMEM;
	u->unit = unit;
	u->period = RTDS_PERIOD_US * RTDS_NS_PER_US;
	u->budget = RTDS_BUDGET_US * RTDS_NS_PER_US;
	u->extratime = true;
	*out = u;
	return 0;
}

static void free_unit(struct hv_sched *s, void *priv)
{
	struct rtds_unit *u = priv;

	if (!u)
		return;
	HV_ASSERT(s->sys, u->place == RTDS_NOWHERE && !u->in_repl);
	hv_free(s->sys, u, sizeof(*u));
}

static struct hv_lock *switch_sched(struct hv_sched *s, struct hv_resource *r, void *pcpu_priv,
				    void *idle_priv)
{
	struct rtds_pool *p = rtds_pool(s);

	(void)pcpu_priv;
	HV_ASSERT(s->sys, r->curr == r->idle && r->master < p->nr_pcpus);
	r->idle->priv = idle_priv;
	hv_mask_set(&p->idle, r->master);
	if (hv_mask_empty(&s->pool->res_valid, s->nw))
		p->timer.pcpu = r->master;
	return &p->lock;
}

static void deinit_pcpu(struct hv_sched *s, void *priv, unsigned pcpu)
{
	struct rtds_pool *p = rtds_pool(s);

	(void)priv;
	HV_ASSERT(s->sys, hv_mask_test(&p->idle, pcpu));
	hv_mask_clear(&p->idle, pcpu);
	hv_mask_clear(&p->tickled, pcpu);
	if (p->timer.pcpu == pcpu && !hv_mask_empty(hv_unit_valid(s), s->nw))
		p->timer.pcpu = hv_mask_after(hv_unit_valid(s), pcpu, s->nw);
}

/* ---- events (section 6) */

static struct hv_resource *pick_resource(struct hv_sched *s, struct hv_unit *unit)
{
	const struct hv_mask *valid = hv_unit_valid(s);
	unsigned c = unit->res->master;

	if (!hv_mask_test(valid, c) || !hv_mask_test(&unit->hard, c)) {
		struct hv_mask allowed;

		hv_mask_and(&allowed, valid, &unit->hard, s->nw);
		c = hv_mask_after(&allowed, c, s->nw);
	}
	HV_ASSERT(s->sys, c != HV_NO_PCPU);
	return hv_resource_of(s->sys, c);
}

static void insert_unit(struct hv_sched *s, struct hv_unit *unit)
{
	struct rtds_pool *p = rtds_pool(s);
	struct rtds_unit *u = rtds_unit(unit);
	hv_time now = hv_now(s->sys);

	HV_ASSERT(s->sys, !unit->idle);
	hv_lock_acquire(s->sys, &p->lock);
	hv_unit_assign(unit, pick_resource(s, unit));
	if (now >= u->rank.deadline)
		rtds_new_period(p, u, now);
	if (hv_unit_runnable(unit) && u->place == RTDS_NOWHERE) {
		rtds_replq_insert(p, u);
		if (!unit->is_running)
			rtds_enqueue(p, u);
	}
	hv_lock_release(s->sys, &p->lock);
}

/* Leave all queues. */
static void withdraw(struct rtds_pool *p, struct rtds_unit *u)
{
	if (u->place != RTDS_NOWHERE)
		rtds_dequeue(p, u);
	if (u->in_repl)
		rtds_replq_remove(p, u);
}

static void remove_unit(struct hv_sched *s, struct hv_unit *unit)
{
	struct rtds_pool *p = rtds_pool(s);

	HV_ASSERT(s->sys, !unit->idle && !unit->is_running);
	hv_lock_acquire(s->sys, &p->lock);
	withdraw(p, rtds_unit(unit));
	hv_lock_release(s->sys, &p->lock);
}

static void wake(struct hv_sched *s, struct hv_unit *unit)
{
	struct rtds_pool *p = rtds_pool(s);
	struct rtds_unit *u = rtds_unit(unit);
	hv_time now;
	bool missed;

	HV_ASSERT(s->sys, hv_lock_held(&p->lock) && !unit->idle);
	if (rtds_is_current(u) || u->place != RTDS_NOWHERE)
		return;
	now = hv_now(s->sys);
	missed = now >= u->rank.deadline;
	if (missed)
		rtds_new_period(p, u, now);
	if (u->scheduled) {
		u->delayed_add = true;
		if (missed)
			rtds_replq_reinsert(p, u);
		return;
	}
	rtds_replq_insert(p, u);
	rtds_enqueue(p, u);
	rtds_tickle(s, u);
}

static void sleep(struct hv_sched *s, struct hv_unit *unit)
{
	struct rtds_pool *p = rtds_pool(s);
	struct rtds_unit *u = rtds_unit(unit);

	HV_ASSERT(s->sys, hv_lock_held(&p->lock) && !unit->idle);
	if (rtds_is_current(u))
		hv_tickle(s, unit->res->master);
	else if (u->place != RTDS_NOWHERE)
		withdraw(p, u);
	else
		u->delayed_add = false;
}

static void context_saved(struct hv_sched *s, struct hv_unit *unit)
{
	struct rtds_pool *p = rtds_pool(s);
	struct rtds_unit *u = rtds_unit(unit);
	bool queue;

	if (unit->idle)
		return;
	hv_lock_acquire(s->sys, &p->lock);
	HV_ASSERT(s->sys, u->scheduled && u->place == RTDS_NOWHERE);
	u->scheduled = false;
	queue = u->delayed_add && hv_unit_runnable(unit);
	u->delayed_add = false;
	if (queue) {
		rtds_enqueue(p, u);
		rtds_tickle(s, u); /* a depleted one too */
	} else {
		rtds_replq_remove(p, u);
	}
	hv_lock_release(s->sys, &p->lock);
}

/* A queued unit keeps its place. */
static void adjust_affinity(struct hv_sched *s, struct hv_unit *unit, const struct hv_mask *hard,
			    const struct hv_mask *soft)
{
	struct rtds_pool *p = rtds_pool(s);
	struct rtds_unit *u = rtds_unit(unit);

	(void)soft;
	HV_ASSERT(s->sys, hv_lock_held(&p->lock));
	if (hard && u->place == RTDS_IN_RUNQ)
		rtds_queue_repin(&p->runq, &u->run, hard);
}

/* ---- the pass (sections 5, 7) */

static void burn(struct rtds_unit *u, hv_time now)
{
	hv_time ran = now - u->since;

	u->since = now;
	if (ran < 0)
		return;
	u->left -= ran;
	if (u->left > 0)
		return;
	if (u->extratime) {
		rtds_demote(u, u->rank.level == UINT32_MAX ? UINT32_MAX : u->rank.level + 1);
	} else {
		u->left = 0;
		u->depleted = true;
	}
}

/*
 * The best unit that waits for this pCPU. One that cannot run does not stand in its way. A pCPU
 * that is leaving the pool takes nobody, so that it gets free however many wait.
 */
static struct rtds_unit *first_waiting(struct hv_sched *s, unsigned pcpu)
{
	struct rtds_pool *p = rtds_pool(s);
	struct rtds_node *n;

	if (!hv_mask_test(hv_unit_valid(s), pcpu))
		return NULL;
	while ((n = rtds_queue_first_for(&p->runq, pcpu))) {
		struct rtds_unit *u = rtds_unit_of_run(n);

		if (hv_unit_runnable(u->unit))
			return u;
		withdraw(p, u);
	}
	return NULL;
}

/* The pCPU goes over to u, NULL = idle; it was u's already if `kept`. */
static void give_to(struct rtds_pool *p, struct hv_resource *r, struct rtds_unit *u, bool kept,
		    hv_time now)
{
	if (!u) {
		hv_mask_set(&p->idle, r->master);
		return;
	}
	hv_mask_clear(&p->idle, r->master);
	p->running[r->master] = u->rank;
	u->since = now;
	if (kept)
		return;
	rtds_dequeue(p, u);
	u->scheduled = true;
	u->unit->migrated = u->unit->res != r;
	hv_unit_assign(u->unit, r);
}

static void do_schedule(struct hv_sched *s, struct hv_resource *r, struct hv_unit *prev,
			hv_time now, bool tasklet)
{
	struct rtds_pool *p = rtds_pool(s);
	struct rtds_unit *old = prev->idle ? NULL : rtds_unit(prev), *next = NULL;
	bool old_can_run = old && hv_unit_runnable(prev);

	HV_ASSERT(s->sys, hv_lock_held(&p->lock));
	hv_mask_clear(&p->tickled, r->master);
	if (old)
		burn(old, now);
	if (!tasklet) {
		next = first_waiting(s, r->master);
		if (old_can_run && old->left > 0 &&
		    (!next || rtds_compare(old->rank, next->rank) > 0))
			next = old;
	}
	if (old_can_run && next != old)
		old->delayed_add = true;
	give_to(p, r, next, next == old, now);
	prev->next = next ? next->unit : r->idle;
	prev->next_time = next ? next->left : -1;
	hv_unit_runnable_state(prev->next);
	HV_ASSERT(s->sys, !next || (next->left > 0 && next->in_repl));
}

const struct hv_policy hv_policy_rtds = {
	.name = "rtds",
	.init = init,
	.deinit = deinit,
	.alloc_unit = alloc_unit,
	.free_unit = free_unit,
	.switch_sched = switch_sched,
	.deinit_pcpu = deinit_pcpu,
	.insert_unit = insert_unit,
	.remove_unit = remove_unit,
	.sleep = sleep,
	.wake = wake,
	.do_schedule = do_schedule,
	.context_saved = context_saved,
	.pick_resource = pick_resource,
	.adjust_affinity = adjust_affinity,
	.domain_params = rtds_domain_params,
	.unit_params = rtds_unit_params,
	.unit_state = rtds_unit_state,
	.check = rtds_check,
};
