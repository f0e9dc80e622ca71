/* SPDX-License-Identifier: MIT */
/*
 * A policy for tests of the engine: round robin with a slice of its own making, one queue per pCPU,
 * and a list of every operation that was called. It asserts the engine's half of the contract
 * (core-scheduling 1.3): the lock is held on entry where it should be, and not where it should not.
 *
 * Any allocation may fail, it needs all four kinds of private data, and it frees them exactly once
 * (the host counts the bytes).
 */
#ifndef TESTS_PROBE_POLICY_H
#define TESTS_PROBE_POLICY_H

#include <hvsched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct probe_unit {
	struct hv_unit *unit;
	struct probe_unit *next;
	bool queued, saving, delayed;
};

struct probe_pcpu {
	struct probe_unit *first;
};

struct probe {
	char ops[8192]; /* "wake d1v0; ..." since probe_forget() */
	hv_time slice;
	unsigned pick; /* pCPU to answer, HV_NO_PCPU = own if allowed, else lowest */
	bool one_lock; /* all pCPUs share one lock */
	struct hv_lock lock;
	unsigned nr_picks;
};

/* The instance's probe. */
static inline struct probe *probe_of(const struct hv_sched *s)
{
	return s->priv;
}

static inline void probe_note(const struct hv_sched *s, const char *op, const struct hv_unit *u)
{
	struct probe *p = probe_of(s);
	size_t n = strlen(p->ops);
	char name[32] = "idle";

	if (u && !u->idle)
		snprintf(name, sizeof(name), "d%dv%u", u->domain->id, u->id);
	snprintf(p->ops + n, sizeof(p->ops) - n, "%s%s %s", n ? "; " : "", op, u ? name : "-");
}

static inline void probe_forget(struct hv_sched *s)
{
	probe_of(s)->ops[0] = 0;
	probe_of(s)->nr_picks = 0;
}

static inline bool probe_locked(const struct hv_unit *u)
{
	return hv_lock_held(u->res->lock);
}

static inline void probe_enqueue(struct hv_unit *u)
{
	struct probe_unit *pu = u->priv, **at = &((struct probe_pcpu *)u->res->priv)->first;

	assert_false(pu->queued);
	while (*at)
		at = &(*at)->next;
	pu->next = NULL;
	pu->queued = true;
	*at = pu;
}

static inline void probe_dequeue(struct hv_unit *u)
{
	struct probe_unit *pu = u->priv, **at = &((struct probe_pcpu *)u->res->priv)->first;

	assert_true(pu->queued);
	while (*at != pu)
		at = &(*at)->next;
	*at = pu->next;
	pu->queued = false;
}

static inline int probe_init(struct hv_sched *s)
{
	struct probe *p = hv_alloc(s->sys, sizeof(*p));

	if (!p)
		return -HV_ENOMEM;
	hv_lock_init(s->sys, &p->lock);
	p->slice = -1;
	p->pick = HV_NO_PCPU;
	s->priv = p;
	return 0;
}

static inline void probe_deinit(struct hv_sched *s)
{
	hv_free(s->sys, s->priv, sizeof(struct probe));
}

static inline int probe_alloc_domain(struct hv_sched *s, struct hv_domain *d, void **out)
{
	assert_true(d->nr_vcpus == 0 || d->pool != s->pool); /* new, or it comes from elsewhere */
	*out = hv_alloc(s->sys, 1);
	return *out ? 0 : -HV_ENOMEM;
}

static inline void probe_free_domain(struct hv_sched *s, struct hv_domain *d, void *priv)
{
	assert_true(d->nr_vcpus == 0 || d->move || d->pool != s->pool);
	hv_free(s->sys, priv, 1);
}

static inline int probe_alloc_unit(struct hv_sched *s, struct hv_unit *u, void *domdata, void **out)
{
	struct probe_unit *pu = hv_alloc(s->sys, sizeof(*pu));

	assert_true(u->idle == !domdata && u->res);
	if (!pu)
		return -HV_ENOMEM;
	pu->unit = u;
	*out = pu;
	return 0;
}

static inline void probe_free_unit(struct hv_sched *s, void *priv)
{
	hv_free(s->sys, priv, sizeof(struct probe_unit));
}

static inline int probe_alloc_pcpu(struct hv_sched *s, unsigned pcpu, void **out)
{
	(void)pcpu;
	*out = hv_alloc(s->sys, sizeof(struct probe_pcpu));
	return *out ? 0 : -HV_ENOMEM;
}

static inline void probe_free_pcpu(struct hv_sched *s, void *priv, unsigned pcpu)
{
	(void)pcpu;
	hv_free(s->sys, priv, sizeof(struct probe_pcpu));
}

static inline struct hv_lock *probe_switch_sched(struct hv_sched *s, struct hv_resource *r,
						 void *pcpu_priv, void *idle_priv)
{
	assert_true(hv_lock_held(r->lock) && pcpu_priv && !r->pool);
	r->idle->priv = idle_priv;
	return probe_of(s)->one_lock ? &probe_of(s)->lock : &r->own_lock;
}

static inline void probe_deinit_pcpu(struct hv_sched *s, void *priv, unsigned pcpu)
{
	assert_true(!hv_resource_of(s->sys, pcpu)->pool);
	assert_null(((struct probe_pcpu *)priv)->first);
}

static inline struct hv_resource *probe_pick(struct hv_sched *s, struct hv_unit *u)
{
	struct probe *p = probe_of(s);
	struct hv_mask m;

	assert_true(probe_locked(u));
	probe_note(s, "pick", u);
	p->nr_picks++;
	hv_mask_and(&m, &u->hard, hv_unit_valid(s), s->nw);
	if (p->pick != HV_NO_PCPU && hv_mask_test(&m, p->pick))
		return hv_resource_of(s->sys, p->pick);
	if (hv_mask_test(&m, u->res->master))
		return u->res;
	return hv_resource_of(s->sys, hv_mask_first(&m, s->nw));
}

static inline void probe_insert(struct hv_sched *s, struct hv_unit *u)
{
	struct hv_lock *l;

	assert_false(probe_locked(u));
	probe_note(s, "insert", u);
	l = hv_unit_lock(u);
	hv_unit_assign(u, probe_pick(s, u));
	hv_lock_release(s->sys, l);
}

static inline void probe_remove(struct hv_sched *s, struct hv_unit *u)
{
	assert_false(probe_locked(u));
	assert_false(hv_unit_runnable(u) || ((struct probe_unit *)u->priv)->queued);
	probe_note(s, "remove", u);
}

static inline void probe_sleep(struct hv_sched *s, struct hv_unit *u)
{
	struct probe_unit *pu = u->priv;

	assert_true(probe_locked(u) && !hv_unit_runnable(u));
	probe_note(s, "sleep", u);
	if (u->res->curr == u)
		hv_tickle(s, u->res->master);
	else if (pu->queued)
		probe_dequeue(u);
	else
		pu->delayed = false;
}

static inline void probe_wake(struct hv_sched *s, struct hv_unit *u)
{
	struct probe_unit *pu = u->priv;

	assert_true(probe_locked(u) && hv_unit_runnable(u));
	probe_note(s, "wake", u);
	if (u->res->curr == u || pu->queued)
		return;
	if (u->is_running) {
		pu->delayed = true; /* its context is still being saved */
		return;
	}
	probe_enqueue(u);
	hv_tickle(s, u->res->master);
}

static inline void probe_yield(struct hv_sched *s, struct hv_unit *u)
{
	assert_true(probe_locked(u));
	probe_note(s, "yield", u);
}

static inline void probe_schedule(struct hv_sched *s, struct hv_resource *r, struct hv_unit *prev,
				  hv_time now, bool tasklet)
{
	struct probe_pcpu *pc = r->priv;
	struct hv_unit *next = r->idle;
	bool stays = !prev->idle && hv_unit_runnable_state(prev);

	(void)now;
	assert_true(hv_lock_held(r->lock) && r->curr == prev);
	probe_note(s, tasklet ? "schedule-work" : "schedule", prev);
	if (!tasklet && pc->first && hv_unit_runnable_state(pc->first->unit))
		next = pc->first->unit;
	else if (!tasklet && stays)
		next = prev;
	if (next != prev && !next->idle)
		probe_dequeue(next);
	if (next != prev && stays)
		((struct probe_unit *)prev->priv)->delayed = true;
	next->migrated = false;
	prev->next = next;
	prev->next_time = next->idle ? -1 : probe_of(s)->slice;
}

static inline void probe_saved(struct hv_sched *s, struct hv_unit *u)
{
	struct probe_unit *pu = u->priv;
	struct hv_lock *l;

	assert_false(probe_locked(u) || u->is_running);
	probe_note(s, "saved", u);
	if (u->idle)
		return;
	l = hv_unit_lock(u);
	if (pu->delayed && hv_unit_runnable(u)) {
		probe_enqueue(u);
		if (u->res->curr->idle)
			hv_tickle(s, u->res->master);
	}
	pu->delayed = false;
	hv_lock_release(s->sys, l);
}

static inline void probe_migrate(struct hv_sched *s, struct hv_unit *u, unsigned pcpu)
{
	struct hv_resource *r = hv_resource_of(s->sys, pcpu);

	assert_true(probe_locked(u) && hv_lock_held(r->lock) && !u->is_running);
	probe_note(s, "migrate", u);
	hv_unit_assign(u, r);
}

static inline void probe_affinity(struct hv_sched *s, struct hv_unit *u, const struct hv_mask *hard,
				  const struct hv_mask *soft)
{
	assert_true(probe_locked(u) && (hard || soft));
	probe_note(s, hard && soft ? "affinity-both" : hard ? "affinity-hard" : "affinity-soft", u);
}

static const struct hv_param_desc probe_params[] = {
	{.name = "probe_slice", .kind = HV_PARAM_INT, .def = 5, .min = 1, .max = 9},
};

static const struct hv_policy probe_policy = {
	.name = "probe",
	.params = probe_params,
	.nr_params = 1,
	.init = probe_init,
	.deinit = probe_deinit,
	.alloc_domain = probe_alloc_domain,
	.free_domain = probe_free_domain,
	.alloc_unit = probe_alloc_unit,
	.free_unit = probe_free_unit,
	.alloc_pcpu = probe_alloc_pcpu,
	.free_pcpu = probe_free_pcpu,
	.switch_sched = probe_switch_sched,
	.deinit_pcpu = probe_deinit_pcpu,
	.insert_unit = probe_insert,
	.remove_unit = probe_remove,
	.sleep = probe_sleep,
	.wake = probe_wake,
	.yield = probe_yield,
	.do_schedule = probe_schedule,
	.context_saved = probe_saved,
	.pick_resource = probe_pick,
	.migrate = probe_migrate,
	.adjust_affinity = probe_affinity,
};

static const struct hv_policy *const probe_policies[] = {&probe_policy, NULL};

#endif /* TESTS_PROBE_POLICY_H */
