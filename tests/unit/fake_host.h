/* SPDX-License-Identifier: MIT */
/*
 * A host for tests: a clock that stands still, pending bits, ordered timers, memory that can fail,
 * and the trace kept in a list. Passes at one instant are made in ascending pCPU order.
 */
#ifndef TESTS_FAKE_HOST_H
#define TESTS_FAKE_HOST_H

#include <hvsched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FAKE_PCPUS  130
#define FAKE_TIMERS 4096
#define FAKE_LOG    4096

/* In front of every allocation, so that a lost instance can be freed. */
struct fake_block {
	struct fake_block *next, *prev;
};

struct fake {
	hv_time now;
	unsigned here; /* executing pCPU */
	unsigned nr_pcpus;
	unsigned pending[FAKE_PCPUS];
	unsigned raised[FAKE_PCPUS]; /* pokes since fake_forget() */
	unsigned passes[FAKE_PCPUS]; /* schedule passes since fake_forget() */
	bool saving[FAKE_PCPUS];     /* switched, not reported as saved */
	bool waiting[FAKE_PCPUS];    /* the last answer was HV_AGAIN */
	unsigned forced, agains;     /* answers of the engine since fake_forget() */
	bool hold_saves;	     /* fake_save() reports them, not fake_drain() */
	struct hv_timer *timers[FAKE_TIMERS];
	unsigned nr_timers;
	struct fake_block *blocks;
	size_t live_bytes;
	long allocs;  /* so far */
	long fail_at; /* this allocation fails, counted from 1; 0 = none */
	struct hv_trace log[FAKE_LOG];
	unsigned nr_log;
	bool expect_assert; /* a failed assertion jumps to assert_jump */
	jmp_buf assert_jump;
	const char *assert_expr;
	struct hv_sys *sys;
	struct hv_pool *pool;
};

static inline hv_time fake_now(void *ctx)
{
	return ((struct fake *)ctx)->now;
}

static inline unsigned fake_this_pcpu(void *ctx)
{
	return ((struct fake *)ctx)->here;
}

static inline void fake_poke(void *ctx, unsigned pcpu, unsigned events)
{
	struct fake *f = ctx;

	assert_true(pcpu < f->nr_pcpus && events != 0);
	f->pending[pcpu] |= events;
	f->raised[pcpu]++;
}

static inline void fake_timer_arm(void *ctx, struct hv_timer *t)
{
	struct fake *f = ctx;

	assert_true(t->armed);
	for (unsigned i = 0; i < f->nr_timers; i++) {
		if (f->timers[i] == t)
			return;
	}
	assert_true(f->nr_timers < FAKE_TIMERS);
	f->timers[f->nr_timers++] = t;
}

static inline void fake_timer_forget(struct fake *f, struct hv_timer *t)
{
	for (unsigned i = 0; i < f->nr_timers; i++) {
		if (f->timers[i] == t) {
			f->timers[i] = f->timers[--f->nr_timers];
			return;
		}
	}
	fail_msg("a timer is disarmed that is not armed");
}

static inline void fake_timer_disarm(void *ctx, struct hv_timer *t)
{
	fake_timer_forget(ctx, t);
}

static inline void *fake_alloc(void *ctx, size_t size)
{
	struct fake *f = ctx;
	struct fake_block *b;

	if (++f->allocs == f->fail_at)
		return NULL;
	b = malloc(sizeof(*b) + size);
	assert_non_null(b);
	memset(b + 1, 0xa5, size);
	b->prev = NULL;
	b->next = f->blocks;
	if (b->next)
		b->next->prev = b;
	f->blocks = b;
	f->live_bytes += size;
	return b + 1;
}

static inline void fake_free(void *ctx, void *p, size_t size)
{
	struct fake *f = ctx;
	struct fake_block *b = (struct fake_block *)p - 1;

	assert_true(p && size <= f->live_bytes);
	f->live_bytes -= size;
	memset(p, 0x5a, size);
	if (b->prev)
		b->prev->next = b->next;
	else
		f->blocks = b->next;
	if (b->next)
		b->next->prev = b->prev;
	free(b);
}

/* Free an instance that cannot be destroyed after a failed assertion, and the host with it. */
static inline void fake_abandon(struct fake *f)
{
	while (f->blocks) {
		struct fake_block *b = f->blocks;

		f->blocks = b->next;
		free(b);
	}
	free(f);
}

static inline void fake_trace(void *ctx, const struct hv_trace *ev)
{
	struct fake *f = ctx;

	if (f->nr_log < FAKE_LOG)
		f->log[f->nr_log] = *ev;
	f->nr_log++;
}

static inline void fake_assert_failed(void *ctx, const char *expr, const char *file, int line)
{
	struct fake *f = ctx;

	f->assert_expr = expr;
	if (f->expect_assert)
		longjmp(f->assert_jump, 1);
	fail_msg("%s:%d: %s", file, line, expr);
	abort();
}

static const struct hv_host fake_host = {
	.now = fake_now,
	.this_pcpu = fake_this_pcpu,
	.poke = fake_poke,
	.timer_arm = fake_timer_arm,
	.timer_disarm = fake_timer_disarm,
	.alloc = fake_alloc,
	.free = fake_free,
	.trace = fake_trace,
	.assert_failed = fake_assert_failed,
};

/* An instance on sockets x cores x threads, one node a socket; pCPUs are off line. */
static inline int fake_create(struct fake *f, unsigned sockets, unsigned cores, unsigned threads,
			      const struct hv_policy *const *policies)
{
	uint32_t core[FAKE_PCPUS], socket[FAKE_PCPUS];
	struct hv_topology topo = {sockets * cores * threads, core, socket, socket};

	assert_true(topo.nr_pcpus <= FAKE_PCPUS);
	for (unsigned c = 0; c < topo.nr_pcpus; c++) {
		core[c] = c / threads;
		socket[c] = c / (cores * threads);
	}
	f->nr_pcpus = topo.nr_pcpus;
	return hv_sys_create(&fake_host, f, &topo, policies, &f->sys);
}

/* Report the context of a pCPU as saved. */
static inline enum hv_next_kind fake_save(struct fake *f, unsigned pcpu)
{
	enum hv_next_kind kind;

	assert_true(f->saving[pcpu]);
	f->saving[pcpu] = false;
	f->here = pcpu;
	kind = hv_saved(f->sys, pcpu);
	f->here = 0;
	assert_true(kind == HV_KEEP || (kind == HV_AGAIN && hv_resource_of(f->sys, pcpu)->g > 1));
	f->waiting[pcpu] = kind == HV_AGAIN;
	f->agains += kind == HV_AGAIN;
	return kind;
}

/* One call of hv_event() on this pCPU, and what follows from the answer. */
static inline struct hv_next fake_event(struct fake *f, unsigned pcpu, unsigned events)
{
	struct hv_next next;

	f->here = pcpu;
	next = hv_event(f->sys, pcpu, events);
	f->here = 0;
	f->waiting[pcpu] = next.kind == HV_AGAIN;
	f->agains += next.kind == HV_AGAIN;
	f->forced += next.forced;
	if (next.kind == HV_SWITCH) {
		f->saving[pcpu] = true;
		if (!f->hold_saves)
			fake_save(f, pcpu);
	}
	return next;
}

/* One pass on this pCPU, whether it is pending or not; a pCPU that waits looks again. */
static inline struct hv_next fake_pass(struct fake *f, unsigned pcpu)
{
	unsigned events = f->pending[pcpu] | HV_EVENT_SCHEDULE;

	if (f->waiting[pcpu])
		return fake_event(f, pcpu, 0);
	f->pending[pcpu] = 0;
	f->passes[pcpu]++;
	return fake_event(f, pcpu, events);
}

/* What is pending here is handled, SLAVE by itself and first, as Xen does. */
static inline void fake_turn(struct fake *f, unsigned pcpu)
{
	unsigned events = f->pending[pcpu] & HV_EVENT_SLAVE ? HV_EVENT_SLAVE : f->pending[pcpu];

	assert_true(events && !f->waiting[pcpu] && !f->saving[pcpu]);
	f->pending[pcpu] &= ~events;
	f->passes[pcpu] += (events & HV_EVENT_SCHEDULE) != 0;
	fake_event(f, pcpu, events);
}

/* A pCPU that waits looks again; true if that got it further. */
static inline bool fake_look(struct fake *f, unsigned pcpu)
{
	enum hv_wait before = hv_pcpu_wait(f->sys, pcpu);

	assert_true(f->waiting[pcpu]);
	return fake_event(f, pcpu, 0).kind != HV_AGAIN || hv_pcpu_wait(f->sys, pcpu) != before;
}

/* It is in its idle context to do work, and handles nothing before that is done (hv_work()). */
static inline bool fake_works(struct fake *f, unsigned pcpu)
{
	return hv_resource_of(f->sys, pcpu)->g > 1 && hv_work_ready(f->sys, pcpu);
}

/* Passes until none is pending: the lowest pCPU first. Fails when it does not end. */
static inline void fake_drain(struct fake *f)
{
	unsigned left = 100000;

	for (unsigned c = 0; c < f->nr_pcpus; c++) {
		if (f->saving[c])
			continue;
		if (f->waiting[c]) {
			if (!fake_look(f, c))
				continue;
		} else if (f->pending[c] && !fake_works(f, c)) {
			fake_turn(f, c);
		} else {
			continue;
		}
		if (left-- == 0)
			fail_msg("endless rescheduling on pCPU %u", c);
		c = UINT32_MAX; /* from the lowest again */
	}
}

/* The vCPU whose guest executes on a pCPU now, NULL if none does. */
static inline struct hv_vcpu *fake_guest(struct fake *f, unsigned pcpu)
{
	struct hv_vcpu *v = hv_pcpu_loaded(f->sys, pcpu);

	return !v || v->idle || f->saving[pcpu] || f->waiting[pcpu] ? NULL : v;
}

static inline bool timer_before(const struct hv_timer *a, const struct hv_timer *b)
{
	if (a->expiry != b->expiry)
		return a->expiry < b->expiry;
	return a->cls != b->cls ? a->cls < b->cls : a->number < b->number;
}

static inline struct hv_timer *fake_first_timer(struct fake *f)
{
	struct hv_timer *first = NULL;

	for (unsigned i = 0; i < f->nr_timers; i++) {
		if (!first || timer_before(f->timers[i], first))
			first = f->timers[i];
	}
	return first;
}

/* All timers that are due, in order; the passes they ask for come later. */
static inline void fake_fire_due(struct fake *f)
{
	struct hv_timer *t;

	while ((t = fake_first_timer(f)) && t->expiry <= f->now) {
		fake_timer_forget(f, t);
		f->here = t->cls == HV_TIMER_SCHEDULE || t->cls == HV_TIMER_TICK ? t->number : 0;
		hv_timer_fire(t);
		f->here = 0;
	}
}

/* Time passes to `until`: timers fire in order, all due ones before the passes they ask for. */
static inline void fake_run(struct fake *f, hv_time until)
{
	struct hv_timer *t;

	fake_drain(f);
	while ((t = fake_first_timer(f)) && t->expiry <= until) {
		if (t->expiry > f->now)
			f->now = t->expiry;
		fake_fire_due(f);
		fake_drain(f);
	}
	f->now = until;
}

/* Start a new chapter: what has been recorded so far does not count. */
static inline void fake_forget(struct fake *f)
{
	f->nr_log = 0;
	f->forced = 0;
	f->agains = 0;
	memset(f->raised, 0, sizeof(f->raised));
	memset(f->passes, 0, sizeof(f->passes));
}

static inline unsigned fake_count(const struct fake *f, enum hv_trace_kind kind)
{
	unsigned n = 0;

	assert_true(f->nr_log <= FAKE_LOG);
	for (unsigned i = 0; i < f->nr_log; i++)
		n += f->log[i].kind == kind;
	return n;
}

/* Position in the log of the n-th record of a kind, counted from 0; fails if there is none. */
static inline unsigned fake_find(const struct fake *f, enum hv_trace_kind kind, unsigned n)
{
	for (unsigned i = 0; i < f->nr_log; i++) {
		if (f->log[i].kind == kind && n-- == 0)
			return i;
	}
	fail_msg("no such record: kind %d", kind);
	return 0;
}

static inline void fake_check(struct fake *f)
{
	struct hv_violation v = {"", 0, 0, 0};

	if (hv_check(f->sys, &v))
		fail_msg("law broken: %s (pcpu %u, domain %d, unit %d)", v.law, v.pcpu, v.domain,
			 v.unit);
}

/* All pCPUs up and in pool 0 under the policy, first passes made. */
static inline void fake_boot_gran(struct fake *f, const char *policy, enum hv_gran gran)
{
	for (unsigned c = 0; c < f->nr_pcpus; c++)
		assert_int_equal(hv_pcpu_up(f->sys, c), 0);
	assert_int_equal(hv_pool_create(f->sys, 0, policy, gran, &f->pool), 0);
	for (unsigned c = 0; c < f->nr_pcpus; c++)
		assert_int_equal(hv_pool_add_pcpu(f->pool, c), 0);
	fake_drain(f);
	fake_forget(f);
}

static inline void fake_boot(struct fake *f, const char *policy)
{
	fake_boot_gran(f, policy, HV_GRAN_CPU);
}

static inline void fake_destroy(struct fake *f)
{
	fake_check(f);
	hv_sys_destroy(f->sys);
	assert_int_equal(f->live_bytes, 0);
	assert_int_equal(f->nr_timers, 0);
}

/* A host of a test's own, without pools; cmocka's tear-down takes away the one in *state. */
static inline struct fake *fake_new(unsigned sockets, unsigned cores, unsigned threads,
				    const struct hv_policy *const *policies)
{
	struct fake *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	assert_int_equal(fake_create(f, sockets, cores, threads, policies), 0);
	return f;
}

static inline int fake_tear_down(void **state)
{
	fake_destroy(*state);
	free(*state);
	return 0;
}

static inline struct hv_domain *fake_domain(struct fake *f, int id, unsigned nr_vcpus)
{
	struct hv_domain *d = NULL;
	struct hv_vcpu *v;

	assert_int_equal(hv_domain_create(f->pool, id, nr_vcpus, &d), 0);
	for (unsigned i = 0; i < nr_vcpus; i++)
		assert_int_equal(hv_vcpu_create(d, NULL, NULL, NULL, &v), 0);
	return d;
}

static inline struct hv_mask fake_mask1(unsigned a)
{
	struct hv_mask m = {{0}};

	hv_mask_set(&m, a);
	return m;
}

static inline struct hv_mask fake_mask2(unsigned a, unsigned b)
{
	struct hv_mask m = fake_mask1(a);

	hv_mask_set(&m, b);
	return m;
}

static inline struct hv_mask fake_all(unsigned nr)
{
	struct hv_mask m = {{0}};

	hv_mask_fill(&m, HV_MASK_WORDS, nr);
	return m;
}

/* True when the call fails an assertion of the engine. The instance is unusable afterwards. */
#define fake_asserts(f, call)                        \
	({                                           \
		volatile bool caught = true;         \
		(f)->expect_assert = true;           \
		if (setjmp((f)->assert_jump) == 0) { \
			call;                        \
			caught = false;              \
		}                                    \
		(f)->expect_assert = false;          \
		caught;                              \
	})

#endif /* TESTS_FAKE_HOST_H */
