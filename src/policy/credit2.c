/* SPDX-License-Identifier: MIT */
/*
 * Credit2: the general-purpose policy of Xen, with the same decisions to the last bit.
 *
 * Design. pCPUs that share a socket (or what credit2_runqueue says) share a runqueue, sorted by
 * credit. Running burns credit, the faster the lower the weight: the heaviest unit of the runqueue
 * burns 1 credit per ns. The unit with most credit runs, for as long as its lead over the next one
 * lasts. When the best has no credit left everybody gets the same amount, and then one exchange of
 * units with the runqueue of most different load is considered. A unit that is queued looks for a
 * pCPU itself (tickling). A cap is a budget of run time per period, on top of all this.
 *
 * Laws (c2_check() walks them):
 *  - the queue is sorted by falling credit, first come first served among equals;
 *  - a unit is in at most one place: queued, current somewhere, parked, or none of them;
 *  - nload = queued units + units scheduled and not yet saved;
 *  - tickled and idle pCPUs are active ones; pCPUs of "idle cores" are idle and not tickled, but
 *    for a pCPU that was added beside a busy sibling (Q7);
 *  - maxw is the largest weight of the members, and 1 without members;
 *  - credit of a guest's unit is never below -10 ms, nor above 2.1 s; loads are never negative;
 *  - home(u), the unit's resource, changes only at insertion, at switch-in and by migration, and
 *    is always a pCPU of the unit's runqueue.
 *
 * Locking, outermost first: the instance lock (list of runqueues and domains, arrangement, weights
 * and caps), a runqueue's lock (the schedule lock of all its pCPUs: queue, members, masks, its
 * units), a domain's budget lock (pool and parked list). While a runqueue's lock is held, the
 * instance lock and a second runqueue are only ever tried, never waited for. home(u) and rq(u)
 * change under the locks of both runqueues.
 *
 * The algorithm is that of the credit2 spec; section numbers here and in the other credit2_*.c are
 * its own. Section 19 (Q1 to Q16) lists what looks odd and is nevertheless kept. Two departures: a
 * request to change weight and cap whose cap is out of range changes neither (see credit2_cap.c);
 * and what is earned by changing pCPUs ends before it overflows (C2_CREDIT_TOP).
 */
#include "policy/credit2.h"

/* ---- boot parameters (section 1) */

/* Beyond these Xen shifts by more bits than there are. */
#define MAX_PRECISION 40
#define MAX_WINDOW    50

static int64_t fix_precision(int64_t v)
{
	return v < 4 ? 4 : v > MAX_PRECISION ? MAX_PRECISION : v;
}

static int64_t fix_window(int64_t v)
{
	return v <= C2_TICK_SHIFT ? 30 : v > MAX_WINDOW ? MAX_WINDOW : v;
}

static int64_t fix_cap_period(int64_t v)
{
	return v < 1 ? 10 : v > UINT32_MAX ? UINT32_MAX : v;
}

static int64_t fix_unsigned(int64_t v)
{
	return v < 0 ? 0 : UINT32_MAX;
}

static int64_t fix_exponent(int64_t v)
{
	return v < 0 ? INT32_MIN : INT32_MAX;
}

/* Xen divides by zero. */
static int64_t fix_max_cpus(int64_t v)
{
	return v < 1 ? 16 : v > UINT32_MAX ? UINT32_MAX : v;
}

static bool ratelimit_ok(int64_t us)
{
	return us == 0 || (us >= 100 && us <= 500000);
}

static int64_t fix_ratelimit(int64_t v)
{
	return ratelimit_ok(v) ? v : 1000;
}

static const char *const arrangements[] = {
	[C2_BY_CPU] = "cpu",   [C2_BY_CORE] = "core", [C2_BY_SOCKET] = "socket",
	[C2_BY_NODE] = "node", [C2_ALL] = "all",      NULL,
};

static const struct hv_param_desc params[C2_NR_PARAMS] = {
	[C2_P_MIGRATE_RESIST] = {"sched_credit2_migrate_resist", "us",
				 "lead in credit that makes moving a unit to another pCPU worth it",
				 HV_PARAM_INT, 500, 0, UINT32_MAX, fix_unsigned, NULL},
	[C2_P_LOAD_PRECISION] = {"credit2_load_precision_shift", "bits",
				 "a load of one busy unit is 2^this", HV_PARAM_INT, 18, 4,
				 MAX_PRECISION, fix_precision, NULL},
	[C2_P_LOAD_WINDOW] = {"credit2_load_window_shift", "bits",
			      "loads are averaged over 2^this ns", HV_PARAM_INT, 30,
			      C2_TICK_SHIFT + 1, MAX_WINDOW, fix_window, NULL},
	[C2_P_BALANCE_UNDER] =
		{"credit2_balance_under", "exponent",
		 "smallest difference worth balancing, in loads of 2^this units, below full load",
		 HV_PARAM_INT, 0, INT32_MIN, INT32_MAX, fix_exponent, NULL},
	[C2_P_BALANCE_OVER] =
		{"credit2_balance_over", "exponent",
		 "smallest difference worth balancing, in loads of 2^this units, from full load on",
		 HV_PARAM_INT, -3, INT32_MIN, INT32_MAX, fix_exponent, NULL},
	[C2_P_CAP_PERIOD] = {"credit2_cap_period_ms", "ms", "period over which a cap holds",
			     HV_PARAM_INT, 10, 1, UINT32_MAX, fix_cap_period, NULL},
	[C2_P_RUNQUEUE] = {"credit2_runqueue", "", "which pCPUs share a runqueue", HV_PARAM_CHOICE,
			   C2_BY_SOCKET, C2_BY_CPU, C2_ALL, NULL, arrangements},
	[C2_P_MAX_CPUS_RUNQUEUE] = {"sched_credit2_max_cpus_runqueue", "pCPUs",
				    "largest number of pCPUs that share a runqueue", HV_PARAM_INT,
				    16, 1, UINT32_MAX, fix_max_cpus, NULL},
	[C2_P_RATELIMIT] = {"sched_ratelimit_us", "us",
			    "time for which a unit that was switched in is not preempted; 0 = off",
			    HV_PARAM_INT, 1000, 100, 500000, fix_ratelimit, NULL},
	[C2_P_SMT_POWER_SAVINGS] = {"sched_smt_power_savings", "",
				    "fill cores that are awake before waking others", HV_PARAM_BOOL,
				    0, 0, 1, NULL, NULL},
};

static void set_ratelimit(struct c2_sched *p, uint32_t us)
{
	p->ratelimit_us = us;
	p->ratelimit = (int64_t)us * 1000;
}

static int sched_params(struct hv_sched *s, struct hv_sched_params *pr, bool set)
{
	struct c2_sched *p = c2_sched(s);

	if (!set) {
		pr->ratelimit_us = p->ratelimit_us;
		return 0;
	}
	if (!ratelimit_ok(pr->ratelimit_us))
		return -HV_EINVAL;
	hv_lock_acquire(s->sys, &p->lock);
	set_ratelimit(p, pr->ratelimit_us);
	hv_lock_release(s->sys, &p->lock);
	return 0;
}

/* ---- instance, pCPUs */

/* The state and its three arrays, one entry a pCPU, in one piece. */
static size_t sched_size(uint32_t nr_pcpus)
{
	return sizeof(struct c2_sched) +
	       nr_pcpus * (sizeof(struct c2_pcpu *) + sizeof(struct c2_unit *) + sizeof(hv_time));
}

static int init(struct hv_sched *s)
{
	uint32_t nr_pcpus = hv_topology(s->sys)->nr_pcpus;
	struct c2_sched *p = hv_alloc(s->sys, sched_size(nr_pcpus));

	if (!p)
		return -HV_ENOMEM;
	p->curr = (struct c2_unit **)(p->pcpu + nr_pcpus);
	p->turn = (hv_time *)(p->curr + nr_pcpus);
	hv_lock_init(s->sys, &p->lock);
	p->nw = s->nw;
	p->nr_pcpus = nr_pcpus;
	p->precision = (unsigned)s->params[C2_P_LOAD_PRECISION];
	p->window = (unsigned)s->params[C2_P_LOAD_WINDOW] - C2_TICK_SHIFT;
	p->resist = s->params[C2_P_MIGRATE_RESIST] * 1000;
	p->cap_period = s->params[C2_P_CAP_PERIOD] * 1000000;
	p->power_savings = s->params[C2_P_SMT_POWER_SAVINGS];
	set_ratelimit(p, (uint32_t)s->params[C2_P_RATELIMIT]);
	s->priv = p;
	return 0;
}

static void deinit(struct hv_sched *s)
{
	struct c2_sched *p = c2_sched(s);

	if (!p)
		return;
	HV_ASSERT(s->sys, !p->runqs && !p->domains && !p->nr_active);
	hv_free(s->sys, p, sched_size(p->nr_pcpus));
	s->priv = NULL;
}

static int alloc_pcpu(struct hv_sched *s, unsigned c, void **out)
{
	struct c2_sched *p = c2_sched(s);
	struct c2_pcpu *pc = hv_alloc(s->sys, sizeof(*pc));

	if (!pc)
		return -HV_ENOMEM;
	HV_ASSERT(s->sys, c < p->nr_pcpus && !p->pcpu[c]);
	hv_lock_acquire(s->sys, &p->lock);
	pc->rq = c2_runq_join(s, c);
	if (pc->rq)
		p->pcpu[c] = pc;
	hv_lock_release(s->sys, &p->lock);
	if (!pc->rq) {
		hv_free(s->sys, pc, sizeof(*pc));
		return -HV_ENOMEM;
	}
	*out = pc;
	return 0;
}

static void free_pcpu(struct hv_sched *s, void *priv, unsigned c)
{
	struct c2_sched *p = c2_sched(s);
	struct c2_pcpu *pc = priv;

	if (!pc)
		return;
	HV_ASSERT(s->sys, p->pcpu[c] == pc && !pc->res);
	hv_lock_acquire(s->sys, &p->lock);
	p->pcpu[c] = NULL;
	c2_runq_leave(s, pc->rq);
	hv_lock_release(s->sys, &p->lock);
	hv_free(s->sys, pc, sizeof(*pc));
}

static struct hv_lock *switch_sched(struct hv_sched *s, struct hv_resource *r, void *pcpu_priv,
				    void *idle_priv)
{
	struct c2_sched *p = c2_sched(s);
	struct c2_pcpu *pc = pcpu_priv;
	struct c2_runq *rq = pc->rq;

	HV_ASSERT(s->sys, r->curr == r->idle);
	r->idle->priv = idle_priv;
	hv_lock_acquire(s->sys, &p->lock);
	hv_lock_acquire(s->sys, &rq->lock);
	c2_runq_activate(s, rq, r);
	hv_lock_release(s->sys, &rq->lock);
	hv_lock_release(s->sys, &p->lock);
	return &rq->lock;
}

static void deinit_pcpu(struct hv_sched *s, void *priv, unsigned c)
{
	struct c2_sched *p = c2_sched(s);
	struct c2_pcpu *pc = priv;

	HV_ASSERT(s->sys, pc && p->pcpu[c] == pc);
	hv_lock_acquire(s->sys, &p->lock);
	hv_lock_acquire(s->sys, &pc->rq->lock);
	c2_runq_deactivate(s, pc->rq, c);
	hv_lock_release(s->sys, &pc->rq->lock);
	hv_lock_release(s->sys, &p->lock);
}

/* ---- units */

static int alloc_unit(struct hv_sched *s, struct hv_unit *unit, void *domdata, void **out)
{
	struct c2_unit *u = hv_alloc(s->sys, sizeof(*u));

	if (!u)
		return -HV_ENOMEM;
	u->unit = unit;
	u->budget = C2_INFINITE;
	u->tcpu = HV_NO_PCPU;
	if (unit->idle) {
		u->credit = C2_IDLE_CREDIT;
	} else {
		u->dom = domdata;
		u->credit = C2_CREDIT_INIT;
		u->weight = u->dom->weight;
		u->load = (int64_t)1 << (c2_sched(s)->precision - 1);
		u->lt = hv_now(s->sys) >> C2_TICK_SHIFT;
	}
	*out = u;
	return 0;
}

static void free_unit(struct hv_sched *s, void *priv)
{
	struct c2_unit *u = priv;

	if (!u)
		return;
	HV_ASSERT(s->sys, !u->rq && !(u->flags & C2_ON_PARKED));
	hv_free(s->sys, u, sizeof(*u));
}

/* Section 3, new unit. Load is not raised; that comes with the wake. */
static void insert_unit(struct hv_sched *s, struct hv_unit *unit)
{
	struct c2_sched *p = c2_sched(s);
	struct c2_unit *u = c2_unit(unit);
	struct hv_lock *lock = unit->res->lock;

	HV_ASSERT(s->sys, !unit->idle && !u->rq);
	hv_lock_acquire(s->sys, lock);
	hv_unit_assign(unit, c2_pick(s, unit));
	hv_lock_release(s->sys, lock);

	lock = unit->res->lock;
	hv_lock_acquire(s->sys, lock);
	c2_assign(c2_pcpu(p, c2_home(u))->rq, u);
	hv_lock_release(s->sys, lock);

	hv_lock_acquire(s->sys, &p->lock);
	u->dom->nunits++;
	hv_lock_release(s->sys, &p->lock);
}

static void remove_unit(struct hv_sched *s, struct hv_unit *unit)
{
	struct c2_sched *p = c2_sched(s);
	struct c2_unit *u = c2_unit(unit);
	struct hv_lock *lock = &u->rq->lock;

	HV_ASSERT(s->sys, !unit->idle && u->rq);
	hv_lock_acquire(s->sys, lock);
	c2_forget_parked(u);
	u->flags &= ~(unsigned)(C2_MIGREQ | C2_REQUEUE);
	u->mig_target = NULL;
	c2_deassign(u);
	hv_lock_release(s->sys, lock);

	hv_lock_acquire(s->sys, &p->lock);
	HV_ASSERT(s->sys, u->dom->nunits > 0);
	u->dom->nunits--;
	hv_lock_release(s->sys, &p->lock);
}

/* 13.2 */
static void wake(struct hv_sched *s, struct hv_unit *unit)
{
	struct c2_unit *u = c2_unit(unit);
	hv_time now;

	HV_ASSERT(s->sys, !unit->idle && u->rq && hv_lock_held(unit->res->lock));
	if (c2_is_current(u) || (u->flags & C2_QUEUED))
		return;
	if (u->flags & C2_SCHED) { /* still being switched out: context_saved() queues it */
		u->flags |= C2_REQUEUE;
		return;
	}
	now = hv_now(s->sys);
	c2_load_update(c2_sched(s), u->rq, u, 1, now);
	c2_runq_insert(u->rq, u);
	c2_tickle(s, u, now);
}

/* 13.3 */
static void sleep(struct hv_sched *s, struct hv_unit *unit)
{
	struct c2_unit *u = c2_unit(unit);

	HV_ASSERT(s->sys, !unit->idle && hv_lock_held(unit->res->lock));
	if (c2_is_current(u)) {
		c2_tickle_pcpu(s, u->rq, c2_home(u));
	} else if (u->flags & C2_QUEUED) {
		c2_load_update(c2_sched(s), u->rq, u, -1, hv_now(s->sys));
		c2_runq_remove(u->rq, u);
	} else {
		u->flags &= ~(unsigned)C2_REQUEUE;
	}
}

static void yield(struct hv_sched *s, struct hv_unit *unit)
{
	HV_ASSERT(s->sys, hv_lock_held(unit->res->lock));
	c2_unit(unit)->flags |= C2_YIELD;
}

/* 13.1 */
static void context_saved(struct hv_sched *s, struct hv_unit *unit)
{
	struct c2_unit *u = c2_unit(unit), *unparked = NULL;
	struct c2_runq *rq = u->rq;
	hv_time now;
	bool requeue;

	if (c2_is_idle(u)) /* never SCHED, capped or queued */
		return;
	HV_ASSERT(s->sys, u->flags & C2_SCHED);
	now = hv_now(s->sys);
	hv_lock_acquire(s->sys, &rq->lock);
	u->flags &= ~(unsigned)C2_SCHED;
	if (c2_is_capped(u) && u->budget > 0)
		unparked = c2_return_budget(u);
	requeue = u->flags & C2_REQUEUE;
	u->flags &= ~(unsigned)C2_REQUEUE;
	if (requeue && hv_unit_runnable(unit)) {
		c2_runq_insert(rq, u);
		c2_tickle(s, u, now);
	} else {
		c2_load_update(c2_sched(s), rq, u, -1, now);
	}
	hv_lock_release(s->sys, &rq->lock);
	c2_unpark(s, unparked, now);
}

/* 16.2: the core commits a migration; the pCPU it names only says which runqueue (Q2). */
static void migrate(struct hv_sched *s, struct hv_unit *unit, unsigned c)
{
	struct c2_sched *p = c2_sched(s);
	struct c2_unit *u = c2_unit(unit);
	struct c2_pcpu *pc = c2_pcpu(p, c);

	HV_ASSERT(s->sys, pc && pc->res);
	if (pc->rq == u->rq)
		hv_unit_assign(unit, pc->res);
	else
		c2_migrate(s, u, pc->rq, hv_now(s->sys));
}

static void adjust_affinity(struct hv_sched *s, struct hv_unit *unit, const struct hv_mask *hard,
			    const struct hv_mask *soft)
{
	struct c2_unit *u = c2_unit(unit);

	(void)soft;
	if (!hard)
		return;
	if (hv_mask_weight(hard, s->nw) == 1)
		u->flags |= C2_PINNED;
	else
		u->flags &= ~(unsigned)C2_PINNED;
}

const struct hv_policy hv_policy_credit2 = {
	.name = "credit2",
	.params = params,
	.nr_params = C2_NR_PARAMS,
	.init = init,
	.deinit = deinit,
	.alloc_domain = c2_alloc_domain,
	.free_domain = c2_free_domain,
	.alloc_unit = alloc_unit,
	.free_unit = free_unit,
	.alloc_pcpu = alloc_pcpu,
	.free_pcpu = free_pcpu,
	.switch_sched = switch_sched,
	.deinit_pcpu = deinit_pcpu,
	.move_timers = c2_move_timers,
	.insert_unit = insert_unit,
	.remove_unit = remove_unit,
	.sleep = sleep,
	.wake = wake,
	.yield = yield,
	.do_schedule = c2_do_schedule,
	.context_saved = context_saved,
	.pick_resource = c2_pick,
	.migrate = migrate,
	.adjust_affinity = adjust_affinity,
	.domain_params = c2_domain_params,
	.sched_params = sched_params,
	.unit_state = c2_unit_state,
	.runqueue_info = c2_runqueue_info,
	.check = c2_check,
};
