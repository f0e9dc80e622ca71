/* SPDX-License-Identifier: MIT */
/*
 * Credit: Xen's default policy from 2006 to 2019, with the same decisions to the last bit.
 *
 * Design. Every pCPU has a queue of its own, by priority. Running burns credit, one for each 100
 * us; accounting hands out a timeslice's worth for each pCPU of the pool once in a timeslice, by
 * weight. Who has credit is UNDER, who has none is OVER and runs when nobody is UNDER; who wakes
 * while UNDER goes first for a while (BOOST). A cap limits what is handed out, and who overdraws
 * it is parked until it has earned it back. A pCPU about to run somebody OVER, or nobody, steals.
 *
 * Laws (c1_check() walks them):
 *  - a unit is in at most one place: queued on the pCPU that it is assigned to, current there, or
 *    neither; whenever a guest's unit is current, the idle unit is the last on the queue;
 *  - nr_runnable = queued units of guests, the current one until a pass has seen it stop, and those
 *    that a pass found queued although they could not run (nr_lost);
 *  - an idler runs its idle unit; surplus holds the pCPUs with two runnable units or more;
 *  - the laws of the active lists (credit_account.c);
 *  - the ticker of a pCPU is armed while a guest's unit is current there;
 *  - a unit changes its pCPU at insertion, by theft and by migration only.
 *
 * Locking, outermost first: the instance lock (active lists, weights, caps, settings, accounting),
 * then one schedule lock; each pCPU has its own (queue, units assigned to it). A second
 * schedule lock is only ever tried. Settings and the epoch are read without the instance lock.
 *
 * The algorithm is that of the credit spec; section numbers here and in the other credit_*.c are
 * its own. Known oddities of the real code are kept: the balance rate limit that lets a pCPU ignore
 * a request (9), the 100 ns minimum compared with the run time (9.3), 32-bit wrap-around (6.3).
 */
#include "policy/credit.h"
#include "engine/engine.h"
#include "policy/policies.h"

/* ---- boot parameters (section 2) */

#define MAX_TSLICE_MS	 1000
#define DEF_TSLICE_MS	 30
#define MIN_RATELIMIT_US 100
#define MAX_RATELIMIT_US 500000
#define DEF_RATELIMIT_US 1000
#define MAX_DELAY_US	 100000
#define MAX_BALANCE_US	 1000000

static int64_t fix_tslice(int64_t v)
{
	(void)v;
	return DEF_TSLICE_MS;
}

/* What is out of the range proper is left to the pools (init()). */
static int64_t fix_ratelimit(int64_t v)
{
	return v < 0 ? DEF_RATELIMIT_US : UINT32_MAX;
}

static int64_t fix_delay(int64_t v)
{
	(void)v;
	return 0;
}

static int64_t fix_balance(int64_t v)
{
	(void)v;
	return MAX_BALANCE_US;
}

static const char *const presets[] = {
	[C1_HEAD] = "head",
	[C1_HEAD_FIXED] = "head-fixed",
	[C1_HEAD_WITHOUT] = "head-without",
	[C1_WITH_2012] = "with-2012",
	[C1_WITHOUT_2012] = "without-2012",
	NULL,
};

static const struct hv_param_desc params[C1_NR_PARAMS] = {
	[C1_P_TSLICE] = {"sched_credit_tslice_ms", "ms",
			 "how long a unit runs before another one of its priority does",
			 HV_PARAM_INT, DEF_TSLICE_MS, 1, MAX_TSLICE_MS, fix_tslice, NULL},
	[C1_P_RATELIMIT] = {"sched_ratelimit_us", "us",
			    "time for which a unit that was switched in is not preempted; 0 = off",
			    HV_PARAM_INT, DEF_RATELIMIT_US, 0, UINT32_MAX, fix_ratelimit, NULL},
	[C1_P_MIGRATION_DELAY] = {"vcpu_migration_delay", "us",
				  "a unit that has just run is not stolen for this time",
				  HV_PARAM_INT, 0, 0, MAX_DELAY_US, fix_delay, NULL},
	[C1_P_BALANCE_RATELIMIT] = {"load-balance-ratelimit", "us",
				    "a pCPU looks for units to steal no more often than this",
				    HV_PARAM_INT, 1000, 0, MAX_BALANCE_US, fix_balance, NULL},
	[C1_P_TICKLE_ONE] = {"tickle_one_idle_cpu", "",
			     "ask one idle pCPU to come for a unit that wakes, not all of them",
			     HV_PARAM_BOOL, 1, 0, 1, NULL, NULL},
	[C1_P_SMT_POWER_SAVINGS] = {"sched_smt_power_savings", "",
				    "fill cores that are awake before waking others", HV_PARAM_BOOL,
				    0, 0, 1, NULL, NULL},
	[C1_P_TICKLE] = {"credit_tickle", "",
			 "who comes for a unit that wakes: as today, or as before and after the "
			 "change of 2012",
			 HV_PARAM_CHOICE, C1_HEAD, C1_HEAD, C1_WITHOUT_2012, NULL, presets},
};

static bool ratelimit_ok(uint32_t us)
{
	return us == 0 || (us >= MIN_RATELIMIT_US && us <= MAX_RATELIMIT_US);
}

static void set_ratelimit(struct c1_sched *p, uint32_t us)
{
	p->ratelimit_us = us;
	p->ratelimit = (hv_time)us * 1000;
}

static void set_migration_delay(struct c1_sched *p, uint32_t us)
{
	p->migration_delay_us = us;
	p->migration_delay = (hv_time)us * 1000;
}

/* All three or none. */
static int sched_params(struct hv_sched *s, struct hv_sched_params *pr, bool set)
{
	struct c1_sched *p = c1_sched(s);

	if (!set) {
		pr->tslice_ms = p->tslice_ms;
		pr->ratelimit_us = p->ratelimit_us;
		pr->migration_delay_us = p->migration_delay_us;
		return 0;
	}
	if (pr->tslice_ms < 1 || pr->tslice_ms > MAX_TSLICE_MS || !ratelimit_ok(pr->ratelimit_us) ||
	    pr->ratelimit_us > pr->tslice_ms * 1000 || pr->migration_delay_us > MAX_DELAY_US)
		return -HV_EINVAL;
	hv_lock_acquire(s->sys, &p->lock);
	c1_set_tslice(p, pr->tslice_ms);
	set_ratelimit(p, pr->ratelimit_us);
	set_migration_delay(p, pr->migration_delay_us);
	hv_lock_release(s->sys, &p->lock);
	return 0;
}

/* ---- what all instances share */

static size_t host_size(uint32_t nr_nodes)
{
	return sizeof(struct c1_host) + nr_nodes * sizeof(struct hv_mask);
}

/* Smallest number of a node that is at least `from`; false if there is none. */
static bool next_node(const struct hv_topology *t, uint64_t from, uint32_t *node)
{
	bool found = false;

	for (uint32_t c = 0; c < t->nr_pcpus; c++) {
		if (t->node[c] >= from && (!found || t->node[c] < *node)) {
			*node = t->node[c];
			found = true;
		}
	}
	return found;
}

static struct c1_host *create_host(struct hv_sys *sys)
{
	const struct hv_topology *t = hv_topology(sys);
	struct c1_host *h;
	uint32_t nr = 0, node = 0;

	for (uint64_t from = 0; next_node(t, from, &node); from = (uint64_t)node + 1)
		nr++;
	h = hv_alloc(sys, host_size(nr));
	if (!h)
		return NULL;
	h->nr_nodes = nr;
	h->nr_pcpus = t->nr_pcpus;
	h->last_tickle = hv_alloc(sys, 2 * t->nr_pcpus * sizeof(uint32_t));
	if (!h->last_tickle) {
		hv_free(sys, h, host_size(nr));
		return NULL;
	}
	h->node_of = h->last_tickle + t->nr_pcpus;
	nr = 0;
	for (uint64_t from = 0; next_node(t, from, &node); from = (uint64_t)node + 1) {
		for (uint32_t c = 0; c < t->nr_pcpus; c++) {
			if (t->node[c] == node) {
				h->node_of[c] = nr;
				hv_mask_set(&h->node[nr], c);
			}
		}
		nr++;
	}
	return h;
}

/* That of another instance, if there is one. */
static struct c1_host *join_host(struct hv_sys *sys)
{
	struct c1_host *h = NULL;

	for (const struct hv_pool *pool = sys->pools; pool && !h; pool = pool->link) {
		if (pool->sched->policy == &hv_policy_credit)
			h = c1_sched(pool->sched)->host;
	}
	if (!h)
		h = create_host(sys);
	if (h)
		h->refs++;
	return h;
}

static void leave_host(struct hv_sys *sys, struct c1_host *h)
{
	HV_ASSERT(sys, h->refs > 0);
	if (--h->refs)
		return;
	hv_free(sys, h->last_tickle, 2 * h->nr_pcpus * sizeof(uint32_t));
	hv_free(sys, h, host_size(h->nr_nodes));
}

/* ---- instance */

static size_t sched_size(uint32_t nr_nodes)
{
	return sizeof(struct c1_sched) + nr_nodes * sizeof(uint32_t);
}

/*
 * Xen looks at the range of the boot rate limit only after the boot pool has been made, which
 * therefore keeps what it was given; pools made later get the default.
 */
static uint32_t boot_ratelimit(const struct hv_sched *s, uint32_t tslice_ms)
{
	uint32_t us = (uint32_t)s->params[C1_P_RATELIMIT];

	if (s->sys->pools && !ratelimit_ok(us))
		us = DEF_RATELIMIT_US;
	return us > tslice_ms * 1000 ? tslice_ms * 1000 : us;
}

static int init(struct hv_sched *s)
{
	struct c1_host *h = join_host(s->sys);
	struct c1_sched *p = h ? hv_alloc(s->sys, sched_size(h->nr_nodes)) : NULL;

	if (!p) {
		if (h)
			leave_host(s->sys, h);
		return -HV_ENOMEM;
	}
	p->host = h;
	p->nw = s->nw;
	p->preset = (enum c1_preset)s->params[C1_P_TICKLE];
	p->tickle_one = s->params[C1_P_TICKLE_ONE];
	p->power_savings = s->params[C1_P_SMT_POWER_SAVINGS];
	p->balance_ratelimit = s->params[C1_P_BALANCE_RATELIMIT] * 1000;
	c1_set_tslice(p, (uint32_t)s->params[C1_P_TSLICE]);
	set_ratelimit(p, boot_ratelimit(s, p->tslice_ms));
	set_migration_delay(p, (uint32_t)s->params[C1_P_MIGRATION_DELAY]);
	hv_lock_init(s->sys, &p->lock);
	c1_ring_init(&p->active_domains);
	hv_timer_init(&p->accounting, s->sys, HV_TIMER_ACCOUNTING, (uint32_t)s->pool->id,
		      c1_account, s);
	s->priv = p;
	return 0;
}

static void deinit(struct hv_sched *s)
{
	struct c1_sched *p = c1_sched(s);
	struct c1_host *h = p->host;

	HV_ASSERT(s->sys, !p->nr_pcpus && c1_ring_empty(&p->active_domains));
	HV_ASSERT(s->sys, !p->accounting.armed);
	hv_free(s->sys, p, sched_size(h->nr_nodes));
	leave_host(s->sys, h);
	s->priv = NULL;
}

/* ---- pCPUs (13.3, 13.4) */

static int alloc_pcpu(struct hv_sched *s, unsigned c, void **out)
{
	(void)c;
	*out = hv_alloc(s->sys, sizeof(struct c1_pcpu));
	return *out ? 0 : -HV_ENOMEM;
}

static void free_pcpu(struct hv_sched *s, void *priv, unsigned c)
{
	(void)c;
	hv_free(s->sys, priv, sizeof(struct c1_pcpu));
}

/* Lowest pCPU of the pool in a node, HV_NO_PCPU if there is none. */
static uint32_t first_of_node(const struct c1_sched *p, uint32_t node)
{
	struct hv_mask m;

	hv_mask_and(&m, &p->pcpus, &p->host->node[node], p->nw);
	return hv_mask_first(&m, p->nw);
}

static struct hv_lock *switch_sched(struct hv_sched *s, struct hv_resource *r, void *pcpu_priv,
				    void *idle_priv)
{
	struct c1_sched *p = c1_sched(s);
	struct c1_pcpu *pc = pcpu_priv;
	hv_time now = hv_now(s->sys);
	uint32_t c = r->master;

	HV_ASSERT(s->sys, r->curr == r->idle);
	r->idle->priv = idle_priv;
	c1_queue_init(&pc->queue);
	pc->s = s;
	pc->res = r;
	pc->idle = idle_priv;
	pc->idle_bias = p->host->nr_pcpus - 1;
	pc->node = p->host->node_of[c];
	pc->last_balance = now;
	hv_timer_init(&pc->ticker, s->sys, HV_TIMER_TICK, c, c1_tick, pc);

	hv_lock_acquire(s->sys, &p->lock);
	pc->epoch = p->epoch;
	if (first_of_node(p, pc->node) == HV_NO_PCPU)
		p->balance_bias[pc->node] = c;
	if (p->nr_pcpus++ == 0) {
		p->accounting.pcpu = c;
		hv_timer_set(&p->accounting, now + p->tslice);
	}
	p->credit += p->slice_credit;
	hv_mask_set(&p->pcpus, c);
	hv_mask_set(&p->idlers, c);
	hv_timer_set(&pc->ticker, now + p->tick);
	hv_lock_release(s->sys, &p->lock);
	return &r->own_lock;
}

static void deinit_pcpu(struct hv_sched *s, void *priv, unsigned c)
{
	struct c1_sched *p = c1_sched(s);
	struct c1_pcpu *pc = priv;

	HV_ASSERT(s->sys, c1_ring_empty(&pc->queue.ring) && pc->nr_runnable == pc->nr_lost);
	hv_lock_acquire(s->sys, &p->lock);
	p->credit -= p->slice_credit;
	hv_mask_clear(&p->pcpus, c);
	hv_mask_clear(&p->idlers, c);
	hv_mask_clear(&p->surplus, c); /* what it has lost, it has lost */
	if (p->balance_bias[pc->node] == c && first_of_node(p, pc->node) != HV_NO_PCPU)
		p->balance_bias[pc->node] = first_of_node(p, pc->node);
	hv_timer_stop(&pc->ticker);
	if (--p->nr_pcpus == 0)
		hv_timer_stop(&p->accounting);
	else if (p->accounting.pcpu == c)
		p->accounting.pcpu = hv_mask_first(&p->pcpus, p->nw);
	hv_lock_release(s->sys, &p->lock);
}

/* ---- units */

static int alloc_unit(struct hv_sched *s, struct hv_unit *unit, void *domdata, void **out)
{
	struct c1_unit *u = hv_alloc(s->sys, sizeof(*u));

	if (!u)
		return -HV_ENOMEM;
	u->unit = unit;
	u->dom = domdata;
	u->pri = unit->idle ? C1_IDLE : C1_UNDER;
	c1_ring_init(&u->queue);
	c1_ring_init(&u->active);
	HV_ASSERT(s->sys, unit->idle == !domdata);
	*out = u;
	return 0;
}

static void free_unit(struct hv_sched *s, void *priv)
{
	struct c1_unit *u = priv;

	if (!u)
		return;
	HV_ASSERT(s->sys, !(u->flags & (C1_QUEUED | C1_ACTIVE)));
	hv_free(s->sys, u, sizeof(*u));
}

const struct hv_policy hv_policy_credit = {
	.name = "credit",
	.params = params,
	.nr_params = C1_NR_PARAMS,
	.init = init,
	.deinit = deinit,
	.alloc_domain = c1_alloc_domain,
	.free_domain = c1_free_domain,
	.alloc_unit = alloc_unit,
	.free_unit = free_unit,
	.alloc_pcpu = alloc_pcpu,
	.free_pcpu = free_pcpu,
	.switch_sched = switch_sched,
	.deinit_pcpu = deinit_pcpu,
	.insert_unit = c1_insert_unit,
	.remove_unit = c1_remove_unit,
	.sleep = c1_sleep,
	.wake = c1_wake,
	.yield = c1_yield,
	.do_schedule = c1_do_schedule,
	.pick_resource = c1_pick,
	.domain_params = c1_domain_params,
	.sched_params = sched_params,
	.unit_state = c1_unit_state,
	.check = c1_check,
};
