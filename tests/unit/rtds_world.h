/* SPDX-License-Identifier: MIT */
/*
 * A fake host with rtds. The clock begins at 0, so that the deadlines of tests are those of the
 * rtds spec; homes and deadlines are set directly where the behaviour under test begins there.
 */
#ifndef TESTS_RTDS_WORLD_H
#define TESTS_RTDS_WORLD_H

#include "fake_host.h"

#include "policy/rtds.h"

#define MS 1000000LL
#define US 1000LL

struct world {
	struct fake f;
	struct hv_sched *s;
	struct rtds_pool *p;
	int next_domain;
};

static inline struct world *world_start(unsigned nr_pcpus)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	assert_int_equal(fake_create(&w->f, 1, nr_pcpus, 1, hv_policies), 0);
	fake_boot(&w->f, "rtds");
	w->s = hv_pool_sched(w->f.pool);
	w->p = w->s->priv;
	w->next_domain = 1;
	return w;
}

static inline void world_end(struct world *w)
{
	fake_destroy(&w->f);
	free(w);
}

static inline struct hv_vcpu *vcpu_of(const struct rtds_unit *u)
{
	return u->unit->vcpu;
}

static inline int set_params(struct rtds_unit *u, uint32_t period_us, uint32_t budget_us,
			     bool extratime)
{
	struct hv_unit_params params = {period_us, budget_us, extratime};

	return hv_unit_params_set(vcpu_of(u), &params);
}

/*
 * A new domain of one unit, down, which has not begun a period: its first wake does. `hard`: bit n
 * = pCPU n, 0 = all.
 */
static inline struct rtds_unit *new_unit(struct world *w, uint32_t period_us, uint32_t budget_us,
					 bool extratime, uint64_t hard)
{
	struct hv_mask m = {{hard}};
	struct hv_domain *d;
	struct hv_vcpu *v;
	struct rtds_unit *u;

	assert_int_equal(hv_domain_create(w->f.pool, w->next_domain++, 1, &d), 0);
	assert_int_equal(hv_vcpu_create(d, NULL, hard ? &m : NULL, NULL, &v), 0);
	u = rtds_unit(v->unit);
	assert_int_equal(set_params(u, period_us, budget_us, extratime), 0);
	u->rank.deadline = 0;
	return u;
}

/* Period and budget in ms, no extratime, no affinity. */
static inline struct rtds_unit *plain(struct world *w, uint32_t period_ms, uint32_t budget_ms)
{
	return new_unit(w, period_ms * 1000, budget_ms * 1000, false, 0);
}

static inline struct rtds_unit *extra(struct world *w, uint32_t period_ms, uint32_t budget_ms)
{
	return new_unit(w, period_ms * 1000, budget_ms * 1000, true, 0);
}

static inline void set_home(struct world *w, struct rtds_unit *u, unsigned pcpu)
{
	hv_lock_acquire(w->f.sys, u->unit->res->lock);
	hv_unit_assign(u->unit, hv_resource_of(w->f.sys, pcpu));
	hv_lock_release(w->f.sys, u->unit->res->lock);
}

static inline void wake_up(struct rtds_unit *u)
{
	if (vcpu_of(u)->pause_flags & HV_PF_DOWN)
		hv_vcpu_up(vcpu_of(u));
	else
		assert_true(hv_wake(vcpu_of(u)));
}

static inline struct rtds_unit *running_on(struct world *w, unsigned c)
{
	struct hv_vcpu *v = hv_pcpu_loaded(w->f.sys, c);

	return v->idle ? NULL : rtds_unit(v->unit);
}

static inline void block(struct world *w, struct rtds_unit *u)
{
	w->f.here = u->unit->res->master;
	assert_ptr_equal(running_on(w, w->f.here), u);
	assert_true(hv_block(vcpu_of(u), NULL, NULL));
	w->f.here = 0;
	fake_drain(&w->f);
}

/* Time passes; all that is due is done. */
static inline void go_to(struct world *w, hv_time until)
{
	fake_run(&w->f, until);
	fake_check(&w->f);
}

/* Wake it at a time, and all that follows at that time. */
static inline void wake_at(struct world *w, hv_time at, struct rtds_unit *u)
{
	go_to(w, at);
	wake_up(u);
	fake_drain(&w->f);
	fake_check(&w->f);
}

/* Who runs from when on. */
struct span {
	hv_time from;
	struct rtds_unit *unit; /* NULL: idle */
};

/* The switches of a pCPU since fake_forget(), all of them. */
static inline void assert_spans(const struct world *w, unsigned pcpu, const struct span *span,
				unsigned nr)
{
	unsigned n = 0;

	assert_true(w->f.nr_log <= FAKE_LOG);
	for (unsigned i = 0; i < w->f.nr_log; i++) {
		const struct hv_trace *t = &w->f.log[i];

		if (t->kind != HV_TRACE_SWITCH || t->pcpu != pcpu)
			continue;
		if (n >= nr)
			fail_msg("one more switch on pCPU %u at %lld", pcpu, (long long)t->time);
		if (t->time != span[n].from)
			fail_msg("switch %u at %lld, expected at %lld", n, (long long)t->time,
				 (long long)span[n].from);
		assert_ptr_equal(t->unit->idle ? NULL : rtds_unit(t->unit), span[n].unit);
		n++;
	}
	assert_int_equal(n, nr);
}

#define ASSERT_SPANS(w, pcpu, ...)                                \
	assert_spans(w, pcpu, (const struct span[]){__VA_ARGS__}, \
		     sizeof((const struct span[]){__VA_ARGS__}) / sizeof(struct span))

/* pCPU of the n-th tickle since fake_forget(), HV_NO_PCPU if there are not so many. */
static inline unsigned tickled(const struct world *w, unsigned n)
{
	assert_true(w->f.nr_log <= FAKE_LOG);
	for (unsigned i = 0; i < w->f.nr_log; i++)
		if (w->f.log[i].kind == HV_TRACE_TICKLE && n-- == 0)
			return w->f.log[i].pcpu;
	return HV_NO_PCPU;
}

/* Slice of the last decision on a pCPU. */
static inline hv_time last_slice(const struct world *w, unsigned c)
{
	for (unsigned i = w->f.nr_log; i-- > 0;) {
		const struct hv_trace *t = &w->f.log[i];

		if ((t->kind == HV_TRACE_SWITCH || t->kind == HV_TRACE_CONT) && t->pcpu == c)
			return t->a;
	}
	fail_msg("no decision on pCPU %u", c);
	return 0;
}

#define ASSERT_STATE(u, d, r, l)                           \
	do {                                               \
		assert_int_equal((u)->rank.deadline, (d)); \
		assert_int_equal((u)->left, (r));          \
		assert_int_equal((u)->rank.level, (l));    \
	} while (0)

#endif /* TESTS_RTDS_WORLD_H */
