/* SPDX-License-Identifier: MIT */
/*
 * A fake host with credit2 for tests that start from a given state: credits, homes and loads are
 * set directly where the behaviour under test begins there. The clock is at 10 s when pCPUs are
 * added.
 */
#ifndef TESTS_CREDIT2_WORLD_H
#define TESTS_CREDIT2_WORLD_H

#include "fake_host.h"

#include "policy/credit2.h"

#define MS    1000000LL
#define START (10000 * MS)

struct world {
	struct fake f;
	struct hv_sched *s;
	struct c2_sched *p;
	int next_domain;
};

/* params: name, value, ..., NULL; may be NULL. pCPUs are up, but in no pool. */
static inline struct world *world_create(unsigned sockets, unsigned cores, unsigned threads,
					 const char *const *params)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->f.now = START;
	assert_int_equal(fake_create(&w->f, sockets, cores, threads, hv_policies), 0);
	for (; params && *params; params += 2)
		assert_true(hv_param_set(w->f.sys, params[0], params[1]) >= 0);
	w->next_domain = 1;
	return w;
}

static inline void world_boot(struct world *w)
{
	fake_boot(&w->f, "credit2");
	w->s = hv_pool_sched(w->f.pool);
	w->p = w->s->priv;
}

static inline struct world *world_start(unsigned sockets, unsigned cores, unsigned threads,
					const char *const *params)
{
	struct world *w = world_create(sockets, cores, threads, params);

	world_boot(w);
	return w;
}

static inline void world_end(struct world *w)
{
	fake_destroy(&w->f);
	free(w);
}

static inline void at(struct world *w, hv_time since_start)
{
	w->f.now = START + since_start;
}

/* A new domain of one unit; mask of pCPUs (bit n = pCPU n) for hard affinity, 0 = all. */
static inline struct c2_unit *new_unit(struct world *w, uint64_t hard)
{
	struct hv_mask m = {{hard}};
	struct hv_domain *d;
	struct hv_vcpu *v;

	assert_int_equal(hv_domain_create(w->f.pool, w->next_domain++, 1, &d), 0);
	assert_int_equal(hv_vcpu_create(d, NULL, hard ? &m : NULL, NULL, &v), 0);
	return c2_unit(v->unit);
}

static inline struct hv_vcpu *vcpu_of(const struct c2_unit *u)
{
	return u->unit->vcpu;
}

static inline void set_weight(struct c2_unit *u, uint32_t weight)
{
	struct hv_domain_params p = {0};

	assert_int_equal(hv_domain_params_get(u->unit->domain, &p), 0);
	p.weight = weight;
	assert_int_equal(hv_domain_params_set(u->unit->domain, &p), 0);
}

static inline int set_cap(const struct hv_domain *d, uint32_t cap)
{
	struct hv_domain_params p = {0};

	assert_int_equal(hv_domain_params_get((struct hv_domain *)d, &p), 0);
	p.cap = cap;
	return hv_domain_params_set((struct hv_domain *)d, &p);
}

/* Not for a queued unit. */
static inline void set_credit(struct world *w, struct c2_unit *u, int32_t credit)
{
	assert_false(u->flags & C2_QUEUED);
	u->credit = credit;
	u->since = w->f.now;
}

static inline void lock_home(const struct world *w, const struct c2_unit *u)
{
	hv_lock_acquire(w->f.sys, u->unit->res->lock);
}

static inline void unlock_home(const struct world *w, const struct c2_unit *u)
{
	hv_lock_release(w->f.sys, u->unit->res->lock);
}

/* Within the unit's runqueue. */
static inline void set_home(struct world *w, struct c2_unit *u, unsigned pcpu)
{
	lock_home(w, u);
	hv_unit_assign(u->unit, hv_resource_of(w->f.sys, pcpu));
	unlock_home(w, u);
}

static inline void burn(struct world *w, struct c2_unit *u)
{
	lock_home(w, u);
	c2_burn(u, w->f.now);
	unlock_home(w, u);
}

static inline void wake_up(struct c2_unit *u)
{
	if (vcpu_of(u)->pause_flags & HV_PF_DOWN)
		hv_vcpu_up(vcpu_of(u));
	else
		assert_true(hv_wake(vcpu_of(u)));
}

/* Wake it and let it run on pCPU c, which must be idle and may be used. */
static inline void run_on(struct world *w, struct c2_unit *u, unsigned c)
{
	set_home(w, u, c);
	wake_up(u);
	fake_pass(&w->f, c);
	assert_ptr_equal(hv_pcpu_loaded(w->f.sys, c), vcpu_of(u));
	fake_check(&w->f);
}

static inline struct c2_unit *running_on(struct world *w, unsigned c)
{
	struct hv_vcpu *v = hv_pcpu_loaded(w->f.sys, c);

	return v->idle ? NULL : c2_unit(v->unit);
}

/* Slice of the last decision on a pCPU. */
static inline hv_time last_slice(const struct world *w, unsigned c)
{
	assert_true(w->f.nr_log <= FAKE_LOG);
	for (unsigned i = w->f.nr_log; i-- > 0;) {
		const struct hv_trace *t = &w->f.log[i];

		if ((t->kind == HV_TRACE_SWITCH || t->kind == HV_TRACE_CONT) && t->pcpu == c)
			return t->a;
	}
	fail_msg("no decision on pCPU %u", c);
	return 0;
}

static inline hv_time pass(struct world *w, unsigned c)
{
	fake_pass(&w->f, c);
	fake_check(&w->f);
	return last_slice(w, c);
}

/* pCPU of the last tickle, HV_NO_PCPU if there was none since fake_forget(). */
static inline unsigned last_tickle(const struct world *w)
{
	assert_true(w->f.nr_log <= FAKE_LOG);
	for (unsigned i = w->f.nr_log; i-- > 0;)
		if (w->f.log[i].kind == HV_TRACE_TICKLE)
			return w->f.log[i].pcpu;
	return HV_NO_PCPU;
}

/* Wake and tell which pCPU was tickled. */
static inline unsigned wake_tickles(struct world *w, struct c2_unit *u)
{
	fake_forget(&w->f);
	wake_up(u);
	fake_check(&w->f);
	return last_tickle(w);
}

static inline struct c2_runq *runq(const struct world *w, int id)
{
	struct c2_runq *rq = w->p->runqs;

	while (rq && rq->id != id)
		rq = rq->next;
	assert_non_null(rq);
	return rq;
}

#endif
