/* SPDX-License-Identifier: MIT */
/*
 * The second phase of a trial: the disturbances stop, everything is released, and progress is
 * demanded. Every runnable unit runs within a bounded time, unless its policy keeps it waiting for
 * a reason that its specification gives; each such reason is a predicate here that holds for
 * nothing else. At the end the time of every pCPU is accounted for.
 *
 * Source: null section 5; credit2 sections 9, 11 and 19 (Q8); rtds section 9.
 */
#ifndef TESTS_PROPERTY_QUIET_H
#define TESTS_PROPERTY_QUIET_H

#include "pins.h"
#include "policy/rtds.h"

/* What is unfinished is called off; the machine is not suspended. */
static void call_off(struct trial *t)
{
	struct hv_sys *sys = t->f->sys;

	hv_resume(sys, NULL);
	for (unsigned c = 0; c < t->f->nr_pcpus; c++)
		hv_pcpu_up(sys, c);
	for (unsigned c = 0; c < t->f->nr_pcpus; c++) {
		for (unsigned i = 0; i < MAX_POOLS; i++) {
			const struct hv_resource *r = hv_resource_of(sys, c);

			if (r && r->pool && r->pool == t->pools[i])
				EXPECT(t, hv_pool_add_pcpu(t->pools[i], c) == 0);
		}
	}
	for (unsigned i = 0; i < MAX_DOMAINS; i++) {
		if (t->domains[i])
			EXPECT(t, hv_domain_move(t->domains[i], t->domains[i]->pool) == 0);
	}
	check(t);
}

static void release_everything(struct trial *t)
{
	struct fake *f = t->f;

	call_off(t);
	settle(t);
	f->hold_saves = false;
	for (unsigned i = 0; i < MAX_DOMAINS; i++) {
		struct hv_domain *d = t->domains[i];
		/* rtds promises progress to what fits: 48 units of 1 % do, on one pCPU */
		struct hv_domain_params p = {
			.weight = 256, .cap = 0, .period_us = 100000, .budget_us = 1000};

		if (!d)
			continue;
		hv_domain_params_set(d, &p);
		for (; t->domain_pauses[i]; t->domain_pauses[i]--)
			EXPECT(t, hv_domain_unpause(d) == 0);
		for (unsigned k = 0; k < d->nr_vcpus; k++) {
			while (d->vcpus[k]->pause_count)
				EXPECT(t, hv_unpause(d->vcpus[k]) == 0);
			end_pins(t, d->vcpus[k]);
			hv_vcpu_up(d->vcpus[k]);
			hv_wake(d->vcpus[k]);
			check(t);
		}
	}
	fake_drain(f);
	check(t);
}

/* Where a time table decides: a window of 1 ms for every vCPU. */
static void give_windows(struct trial *t, struct hv_pool *pool)
{
	struct hv_window w[HV_MAX_WINDOWS];
	unsigned nr = 0;

	for (unsigned i = 0; i < MAX_DOMAINS; i++) {
		struct hv_domain *d = t->domains[i];

		for (unsigned k = 0; d && d->pool == pool && k < d->nr_vcpus; k++) {
			memcpy(w[nr].handle, d->handle, sizeof(d->handle));
			w[nr].vcpu = k;
			w[nr++].runtime = MS;
		}
	}
	if (nr > 0) {
		int rc = hv_frame_set(pool, nr * MS, nr, w);

		EXPECT(t, rc == 0 || rc == -HV_EOPNOTSUPP);
	}
}

/* Value of a unit's state as its policy shows it, or -1. */
static int64_t shown(const struct hv_vcpu *v, const char *name)
{
	struct hv_state st = {0};

	hv_unit_state(v->unit, &st);
	for (unsigned i = 0; i < st.nr; i++) {
		if (strcmp(st.v[i].name, name) == 0)
			return st.v[i].value;
	}
	return -1;
}

/* Null: it has no pCPU, but then none that it may use is free. */
static bool waits_for_a_slot(struct trial *t, const struct hv_vcpu *v)
{
	if (shown(v, "waiting") <= 0)
		return false;
	hv_mask_for_each(c, &v->domain->pool->res_valid, hv_mask_words(t->f->sys))
	{
		if (hv_mask_test(&v->unit->hard, c) && hv_resource_of(t->f->sys, c)->curr->idle)
			return false;
	}
	return true;
}

/* Credit2: who looked at it last is idle, and did not take it, rightly (note_refusals()). */
static bool was_refused(struct trial *t, const struct hv_vcpu *v)
{
	return c2_unit(v->unit)->flags & C2_QUEUED && *refusal(t, v->unit);
}

/* Rtds: all pCPUs that it may use run units that go before it. */
static bool others_go_first(struct trial *t, const struct hv_unit *u)
{
	const struct rtds_pool *p = rtds_pool(u->domain->pool->sched);

	hv_mask_for_each(c, &u->domain->pool->res_valid, hv_mask_words(t->f->sys))
	{
		if (hv_mask_test(&u->hard, c) &&
		    (hv_mask_test(&p->idle, c) ||
		     rtds_compare(p->running[c], rtds_unit(u)->rank) < 0))
			return false;
	}
	return true;
}

/*
 * Rtds, quirk of section 9: its deadline has passed, but it gets no new period. The replenishment
 * queue puts levels before deadlines, and keeps in place whose level rises; so what stands in
 * front of a demoted unit may be due later than that, and than all behind it, for ever.
 * It waits without budget, or at a level that those who are replenished never come down to.
 */
static bool is_replenished_late(struct trial *t, const struct hv_vcpu *v)
{
	const struct rtds_unit *u = rtds_unit(v->unit);
	bool behind = false;

	if (!u->in_repl || t->f->now < u->rank.deadline)
		return false;
	for (const struct rtds_node *n = &u->repl; n && !behind; n = n->prev)
		behind = n->rank.level > 0;
	return behind && (u->place == RTDS_DEPLETED || others_go_first(t, v->unit));
}

static bool rightly_waiting(struct trial *t, const struct hv_vcpu *v)
{
	const char *policy = v->domain->pool->sched->policy->name;

	if (strcmp(policy, "null") == 0)
		return waits_for_a_slot(t, v);
	if (strcmp(policy, "credit2") == 0)
		return was_refused(t, v);
	if (strcmp(policy, "rtds") == 0)
		return is_replenished_late(t, v);
	return false;
}

/* The first vCPU that has not run, and, if that counts, does not wait rightly; NULL = none. */
static const struct hv_vcpu *who_starves(struct trial *t, int64_t since[MAX_DOMAINS][MAX_VCPUS],
					 bool may_wait)
{
	for (unsigned i = 0; i < MAX_DOMAINS; i++) {
		struct hv_domain *d = t->domains[i];

		for (unsigned k = 0; d && k < d->nr_vcpus; k++) {
			struct hv_runstate rs;

			hv_runstate_get(d->vcpus[k], &rs);
			if (rs.time[HV_RUNNING] <= since[i][k] &&
			    !(may_wait && rightly_waiting(t, d->vcpus[k])))
				return d->vcpus[k];
		}
	}
	return NULL;
}

static void report_starving(struct trial *t, const struct hv_vcpu *v)
{
	const struct hv_unit *u = v->unit;
	struct hv_state st = {0};
	char text[256];

	hv_unit_state(u, &st);
	print_message("# %s, pool %d, pCPU %u, hard %#" PRIx64 ":",
		      v->domain->pool->sched->policy->name, v->domain->pool->id, v->pcpu,
		      u->hard.w[0]);
	for (unsigned i = 0; i < st.nr; i++)
		print_message(" %s %" PRId64, st.v[i].name, st.v[i].value);
	print_message("\n");
	snprintf(text, sizeof(text), "vCPU %u of domain %d does not run", v->id, v->domain->id);
	failed(t, text);
}

static void everybody_runs(struct trial *t)
{
	int64_t since[MAX_DOMAINS][MAX_VCPUS] = {{0}};
	const struct hv_vcpu *starves;
	hv_time end, patience;

	release_everything(t);
	for (unsigned i = 0; i < MAX_POOLS; i++) {
		if (t->pools[i])
			give_windows(t, t->pools[i]);
	}
	for (unsigned i = 0; i < MAX_DOMAINS; i++) {
		struct hv_domain *d = t->domains[i];

		for (unsigned k = 0; d && k < d->nr_vcpus; k++) {
			struct hv_runstate rs;

			hv_runstate_get(d->vcpus[k], &rs);
			since[i][k] = rs.time[HV_RUNNING];
		}
	}
	/*
	 * 48 vCPUs on one pCPU, 10 ms each, and debts to be paid off: 20 s is ample. To have a
	 * reason to wait counts after 1 s: many have one for a moment, and run all the same.
	 */
	end = t->f->now + 20000 * MS;
	patience = t->f->now + 1000 * MS;
	while ((starves = who_starves(t, since, t->f->now >= patience)) && t->f->now < end) {
		fake_run(t->f, t->f->now + 10 * MS);
		check(t);
	}
	if (starves)
		report_starving(t, starves);
}

static void every_pcpu_is_accounted_for(struct trial *t)
{
	int64_t sum = t->gone_ran;

	for (unsigned c = 0; c < t->f->nr_pcpus; c++)
		sum += hv_pcpu_idle_time(t->f->sys, c);
	for (unsigned i = 0; i < MAX_DOMAINS; i++)
		sum += t->domains[i] ? ran(t->domains[i]) : 0;
	EXPECT(t, sum == t->f->now * (int64_t)t->f->nr_pcpus);
}

#endif
