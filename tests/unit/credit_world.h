/* SPDX-License-Identifier: MIT */
/*
 * A fake host with credit for tests that start from a given state: credits, homes and idlers are
 * set directly where the behaviour under test begins there. The clock is at 10 s when pCPUs are
 * added, a multiple of every tick period. "Case n" is section 14 of the credit spec.
 */
#ifndef TESTS_CREDIT_WORLD_H
#define TESTS_CREDIT_WORLD_H

#include "fake_host.h"

#include "policy/credit.h"

#define US    1000LL
#define MS    1000000LL
#define START (10000 * MS)

struct world {
	struct fake f;
	struct hv_sched *s;
	struct c1_sched *p;
	int next_domain;
};

/* params: name, value, ..., NULL; may be NULL. */
static inline struct world *world_start(unsigned sockets, unsigned cores, unsigned threads,
					const char *const *params)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->f.now = START;
	assert_int_equal(fake_create(&w->f, sockets, cores, threads, hv_policies), 0);
	for (; params && *params; params += 2)
		assert_true(hv_param_set(w->f.sys, params[0], params[1]) >= 0);
	w->next_domain = 1;
	fake_boot(&w->f, "credit");
	w->s = hv_pool_sched(w->f.pool);
	w->p = w->s->priv;
	return w;
}

static inline void world_end(struct world *w)
{
	fake_destroy(&w->f);
	free(w);
}

/* The clock, without timers. */
static inline void at(struct world *w, hv_time since_start)
{
	w->f.now = START + since_start;
}

static inline struct c1_pcpu *pcpu(const struct world *w, unsigned c)
{
	return c1_pcpu(hv_resource_of(w->f.sys, c));
}

/* Another vCPU of a domain; hard, soft: masks of pCPUs (bit n = pCPU n), 0 = all. */
static inline struct c1_unit *add_unit(struct hv_domain *d, uint64_t hard, uint64_t soft)
{
	struct hv_mask h = {{hard}}, s = {{soft}};
	struct hv_vcpu *v;

	assert_int_equal(hv_vcpu_create(d, NULL, hard ? &h : NULL, soft ? &s : NULL, &v), 0);
	return c1_unit(v->unit);
}

static inline struct hv_domain *new_domain(struct world *w)
{
	struct hv_domain *d;

	assert_int_equal(hv_domain_create(w->f.pool, w->next_domain++, 8, &d), 0);
	return d;
}

/* A new domain of one unit. */
static inline struct c1_unit *new_unit(struct world *w, uint64_t hard)
{
	return add_unit(new_domain(w), hard, 0);
}

static inline struct hv_vcpu *vcpu_of(const struct c1_unit *u)
{
	return u->unit->vcpu;
}

static inline int set_params(const struct c1_unit *u, uint32_t weight, uint32_t cap)
{
	struct hv_domain_params p = {.weight = weight, .cap = cap};

	return hv_domain_params_set(u->unit->domain, &p);
}

static inline void lock_home(const struct world *w, const struct c1_unit *u)
{
	hv_lock_acquire(w->f.sys, u->unit->res->lock);
}

static inline void unlock_home(const struct world *w, const struct c1_unit *u)
{
	hv_lock_release(w->f.sys, u->unit->res->lock);
}

static inline void set_home(struct world *w, struct c1_unit *u, unsigned c)
{
	struct hv_lock *l = u->unit->res->lock;

	hv_lock_acquire(w->f.sys, l);
	hv_unit_assign(u->unit, hv_resource_of(w->f.sys, c));
	hv_lock_release(w->f.sys, l);
}

static inline struct c1_unit *new_unit_at(struct world *w, unsigned c, uint64_t hard)
{
	struct c1_unit *u = new_unit(w, hard);

	set_home(w, u, c);
	return u;
}

/* A sleeper: its next wake is one that may boost. */
static inline struct c1_unit *new_sleeper_at(struct world *w, unsigned c, uint64_t hard)
{
	struct c1_unit *u = new_unit_at(w, c, hard);

	u->flags &= ~(unsigned)C1_MIGRATING;
	return u;
}

/* Executed on pCPU 0. */
static inline void wake_up(struct world *w, struct c1_unit *u)
{
	if (vcpu_of(u)->pause_flags & HV_PF_DOWN)
		hv_vcpu_up(vcpu_of(u));
	else
		assert_true(hv_wake(vcpu_of(u)));
	fake_check(&w->f);
}

static inline void pass(struct world *w, unsigned c)
{
	fake_pass(&w->f, c);
	fake_check(&w->f);
}

static inline struct c1_unit *running_on(const struct world *w, unsigned c)
{
	struct hv_vcpu *v = hv_pcpu_loaded(w->f.sys, c);

	return v->idle ? NULL : c1_unit(v->unit);
}

/* Wake it and let it run on its pCPU, which is idle. */
static inline void run(struct world *w, struct c1_unit *u)
{
	unsigned c = u->unit->res->master;

	wake_up(w, u);
	pass(w, c);
	assert_ptr_equal(running_on(w, c), u);
	/* Nobody else has been asked: the other pCPUs go on as they were. */
	fake_forget(&w->f);
}

static inline struct c1_unit *run_new(struct world *w, unsigned c, uint64_t hard)
{
	struct c1_unit *u = new_unit_at(w, c, hard);

	run(w, u);
	return u;
}

/* The guest on the unit's pCPU blocks, and the pCPU makes a pass. */
static inline void block(struct world *w, struct c1_unit *u)
{
	unsigned c = u->unit->res->master;

	assert_true(hv_block(vcpu_of(u), NULL, NULL));
	pass(w, c);
}

static inline void fire(struct world *w, struct hv_timer *t, unsigned here)
{
	assert_true(t->armed);
	fake_timer_forget(&w->f, t);
	w->f.here = here;
	hv_timer_fire(t);
	w->f.here = 0;
	fake_check(&w->f);
}

/* A tick on a pCPU, whenever it is due. */
static inline void tick(struct world *w, unsigned c)
{
	fire(w, &pcpu(w, c)->ticker, c);
}

/* Accounting, whenever it is due. */
static inline void account(struct world *w)
{
	fire(w, &w->p->accounting, 0);
}

/* Make it an active unit that does not run, with this credit. Its pCPU must be idle. */
static inline void make_active(struct world *w, struct c1_unit *u, int32_t credit)
{
	run(w, u);
	tick(w, u->unit->res->master);
	block(w, u);
	assert_true(u->flags & C1_ACTIVE);
	u->credit = credit;
}

/* The last decision on a pCPU. */
static inline const struct hv_trace *last_pass(const struct world *w, unsigned c)
{
	assert_true(w->f.nr_log <= FAKE_LOG);
	for (unsigned i = w->f.nr_log; i-- > 0;) {
		const struct hv_trace *t = &w->f.log[i];

		if ((t->kind == HV_TRACE_SWITCH || t->kind == HV_TRACE_CONT) && t->pcpu == c)
			return t;
	}
	fail_msg("no decision on pCPU %u", c);
	return NULL;
}

static inline hv_time last_slice(const struct world *w, unsigned c)
{
	return last_pass(w, c)->a;
}

/* pCPUs that have been tickled since fake_forget(). */
static inline uint64_t tickled(const struct world *w)
{
	uint64_t m = 0;

	assert_true(w->f.nr_log <= FAKE_LOG);
	for (unsigned i = 0; i < w->f.nr_log; i++)
		if (w->f.log[i].kind == HV_TRACE_TICKLE)
			m |= 1ULL << w->f.log[i].pcpu;
	return m;
}

static inline uint64_t wake_tickles(struct world *w, struct c1_unit *u)
{
	fake_forget(&w->f);
	wake_up(w, u);
	return tickled(w);
}

/* pCPUs may look for work elsewhere at once, or only after another millisecond. */
static inline void open_gates(struct world *w)
{
	hv_mask_for_each(c, &w->p->pcpus, w->p->nw) pcpu(w, c)->last_balance =
		w->f.now - 1000 * US - 1;
}

static inline void close_gate(struct world *w, unsigned c)
{
	pcpu(w, c)->last_balance = w->f.now - 1000 * US;
}

static inline void migrating(const struct c1_unit *u, bool yes)
{
	assert_int_equal((vcpu_of(u)->pause_flags & HV_PF_MIGRATING) != 0, yes);
}

#endif
