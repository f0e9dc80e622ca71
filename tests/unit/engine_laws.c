/* SPDX-License-Identifier: MIT */
/*
 * Runstate accounting (core-scheduling 1.4), locks (section 5), and that hv_check() and the
 * assertions see what they are there to see.
 */
#include "engine/engine.h"
#include "fake_host.h"
#include "probe_policy.h"

static int setup(void **state)
{
	struct fake *f = fake_new(1, 2, 2, probe_policies);

	fake_boot(f, "probe");
	*state = f;
	return 0;
}

static int64_t sum(const struct hv_runstate *rs)
{
	return rs->time[0] + rs->time[1] + rs->time[2] + rs->time[3];
}

/* ---- runstates */

static void runstate_times_are_exact(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v, *w;
	struct hv_runstate rs;

	f->now = 1000;
	v = fake_domain(f, 1, 1)->vcpus[0];
	w = fake_domain(f, 2, 1)->vcpus[0];
	f->now = 1010;
	hv_vcpu_up(v); /* 10 off line */
	f->now = 1013;
	fake_drain(f); /* 3 runnable */
	f->now = 1033;
	hv_block(v, NULL, NULL);
	f->now = 1034;
	fake_drain(f); /* 21 running */
	f->now = 1084;
	hv_wake(v); /* 50 blocked */
	fake_drain(f);
	f->now = 1090;
	hv_pause(v);
	fake_drain(f); /* 6 running */
	f->now = 1097;
	hv_runstate_get(v, &rs);
	assert_int_equal(rs.state, HV_OFFLINE);
	assert_int_equal(rs.time[HV_OFFLINE], 10 + 7);
	assert_int_equal(rs.time[HV_RUNNABLE], 3);
	assert_int_equal(rs.time[HV_RUNNING], 21 + 6);
	assert_int_equal(rs.time[HV_BLOCKED], 50);
	assert_int_equal(sum(&rs), 1097 - 1000);
	assert_int_equal(sum(&v->runstate), v->runstate.since - v->birth);
	assert_int_equal(sum(&w->runstate), 0);
	assert_int_equal(hv_pcpu_idle_time(f->sys, 0), 1097 - 27);
}

static void a_stale_clock_never_decreases_a_counter(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = fake_domain(f, 1, 1)->vcpus[0];
	struct hv_runstate rs;

	f->now = 100;
	hv_vcpu_up(v);
	f->now = 90; /* behind the entry time: neither time nor entry time moves */
	fake_drain(f);
	assert_int_equal(v->runstate.state, HV_RUNNING);
	assert_int_equal(v->runstate.since, 100);
	assert_int_equal(v->runstate.time[HV_RUNNABLE], 0);
	hv_runstate_get(v, &rs);
	assert_int_equal(rs.time[HV_RUNNING], 0);
	f->now = 130;
	hv_block(v, NULL, NULL);
	fake_drain(f);
	assert_int_equal(v->runstate.time[HV_RUNNING], 30);
	fake_check(f);
}

/* Bug 14 of real Xen (XSA-492): whoever reads runstates often makes no scheduler wait. */
static void a_runstate_is_read_while_the_lock_is_held(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = fake_domain(f, 1, 1)->vcpus[0];
	struct hv_runstate rs;
	struct hv_lock *l;

	hv_vcpu_up(v);
	fake_run(f, 100);
	l = hv_unit_lock(v->unit);
	hv_runstate_get(v, &rs); /* to take a lock that is held would be a failed assertion */
	assert_int_equal(rs.time[HV_RUNNING], 100);
	assert_int_equal(hv_pcpu_idle_time(f->sys, v->pcpu), 0);
	hv_lock_release(f->sys, l);
}

static void runstate_records_form_a_ledger(void **state)
{
	struct fake *f = *state;
	struct hv_domain *d = fake_domain(f, 1, 3);
	int64_t time[3][HV_NR_RUNSTATES] = {{0}};
	hv_time since[3] = {0};
	int64_t at[3] = {HV_OFFLINE, HV_OFFLINE, HV_OFFLINE};

	fake_forget(f);
	probe_of(f->pool->sched)->slice = 7;
	probe_of(f->pool->sched)->pick = 1;
	for (unsigned i = 0; i < 3; i++) {
		struct hv_mask m = fake_mask1(1);

		hv_vcpu_up(d->vcpus[i]);
		hv_affinity_set(d->vcpus[i], &m, NULL);
	}
	fake_run(f, 500);
	for (unsigned i = 0; i < f->nr_log; i++) {
		const struct hv_trace *e = &f->log[i];

		if (e->kind != HV_TRACE_RUNSTATE || e->vcpu->idle)
			continue;
		assert_int_equal(e->a, at[e->vcpu->id]); /* no change is left out */
		time[e->vcpu->id][e->a] += e->time - since[e->vcpu->id];
		since[e->vcpu->id] = e->time;
		at[e->vcpu->id] = e->b;
	}
	for (unsigned i = 0; i < 3; i++) {
		for (unsigned k = 0; k < HV_NR_RUNSTATES; k++)
			assert_int_equal(time[i][k], d->vcpus[i]->runstate.time[k]);
		assert_int_equal(since[i], d->vcpus[i]->runstate.since);
		assert_true(time[i][HV_RUNNING] > 100);
	}
}

/* ---- locks */

static void acquiring_a_held_lock_is_a_bug(void **state)
{
	struct fake *f = *state;
	struct hv_lock l;

	hv_lock_init(f->sys, &l);
	hv_lock_acquire(f->sys, &l);
	assert_true(hv_lock_held(&l) && hv_lock_mine(f->sys, &l));
	assert_false(hv_lock_try(f->sys, &l));
	f->here = 1;
	assert_false(hv_lock_mine(f->sys, &l));
	f->here = 0;
	assert_true(fake_asserts(f, hv_lock_acquire(f->sys, &l)));
	hv_lock_release(f->sys, &l);
	assert_true(fake_asserts(f, hv_lock_release(f->sys, &l)));
}

static void a_resource_is_locked_through_its_pointer(void **state)
{
	struct fake *f = *state;
	struct hv_resource *r = hv_resource_of(f->sys, 2);
	struct hv_lock *l = hv_resource_lock(r);

	assert_ptr_equal(l, r->lock);
	assert_true(hv_lock_held(l));
	hv_lock_release(f->sys, l);
}

static void moving_a_unit_without_its_lock_is_a_bug(void **state)
{
	struct fake *f = *state;
	struct hv_unit *u = fake_domain(f, 1, 1)->units;
	struct hv_resource *to = hv_resource_of(f->sys, 1);

	assert_true(fake_asserts(f, hv_unit_assign(u, to)));
	assert_ptr_equal(u->res->master == 0 ? u : NULL, u);
	assert_true(fake_asserts(f, hv_unit_set_flag(u, HV_PF_PARKED)));
}

static void running_units_are_not_moved(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = fake_domain(f, 1, 1)->vcpus[0];
	struct hv_lock *l;

	hv_vcpu_up(v);
	fake_drain(f);
	l = hv_unit_lock(v->unit);
	assert_true(fake_asserts(f, hv_unit_assign(v->unit, hv_resource_of(f->sys, 1))));
	hv_lock_release(f->sys, l);
}

/* A policy that breaks its contract in do_schedule. */
static struct hv_unit *wrong_choice(struct hv_unit *set)
{
	static struct hv_unit *choice;

	if (set)
		choice = set;
	return choice;
}

static void wrong_schedule(struct hv_sched *s, struct hv_resource *r, struct hv_unit *prev,
			   hv_time now, bool tasklet)
{
	(void)s;
	(void)now;
	(void)tasklet;
	prev->next = r->master == 0 ? wrong_choice(NULL) : r->idle;
	prev->next_time = -1;
}

/* do_schedule on pCPU 0 answers with a vCPU of a domain whose vCPU 1 (on pCPU 1) is up. */
static const char *caught_when_choosing(unsigned vcpu)
{
	struct fake *const f = calloc(1, sizeof(*f));
	static struct hv_policy wrong;
	const struct hv_policy *const table[] = {&wrong, NULL};
	const char *expr;
	struct hv_domain *d;

	wrong = probe_policy;
	assert_int_equal(fake_create(f, 1, 2, 1, table), 0);
	fake_boot(f, "probe");
	d = fake_domain(f, 1, 2);
	hv_vcpu_up(d->vcpus[1]);
	wrong.do_schedule = wrong_schedule;
	wrong_choice(d->vcpus[vcpu]->unit);
	assert_true(fake_asserts(f, hv_event(f->sys, 0, HV_EVENT_SCHEDULE)));
	expr = f->assert_expr;
	fake_abandon(f);
	return expr;
}

static void a_policy_that_chooses_what_cannot_run_here_is_caught(void **state)
{
	(void)state;
	assert_string_equal(caught_when_choosing(0), "has_state_to_run(next, g)");
	assert_string_equal(caught_when_choosing(1), "next && next->res == r");
}

static void a_second_pass_before_the_save_is_a_bug_of_the_host(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = fake_domain(f, 1, 1)->vcpus[0];

	hv_vcpu_up(v);
	f->hold_saves = true;
	fake_drain(f);
	assert_true(fake_asserts(f, hv_event(f->sys, 0, HV_EVENT_SCHEDULE)));
	fake_save(f, 0);
}

/* ---- hv_check() sees each law broken, and names it */

static void expect_law(struct fake *f, const char *law)
{
	struct hv_violation v = {"", 0, 0, 0};

	assert_int_equal(hv_check(f->sys, &v), -HV_EINVAL);
	assert_string_equal(v.law, law);
	assert_int_equal(hv_check(f->sys, NULL), -HV_EINVAL);
}

#define BROKEN(f, change, undo, law) \
	do {                         \
		fake_check(f);       \
		change;              \
		expect_law(f, law);  \
		undo;                \
		fake_check(f);       \
	} while (0)

static void hv_check_names_the_law_that_is_broken(void **state)
{
	struct fake *f = *state;
	struct hv_domain *d = fake_domain(f, 1, 2);
	struct hv_vcpu *v = d->vcpus[0];
	struct hv_unit *u = v->unit;
	struct hv_resource *r = hv_resource_of(f->sys, 0);
	struct hv_violation at;

	hv_vcpu_up(v);
	fake_run(f, 100);
	assert_true(u->is_running);
	BROKEN(f, v->runstate.time[HV_RUNNING] = 5, v->runstate.time[HV_RUNNING] = 0,
	       "runstate times sum to entry time minus birth");
	BROKEN(f, u->runstate_count[HV_BLOCKED]++, u->runstate_count[HV_BLOCKED]--,
	       "I9: unit counters sum to its members");
	BROKEN(f, u->enter = 1, u->enter = 0, "a resource of one pCPU has no rendezvous");
	BROKEN(f, hv_mask_clear(&u->hard, 0), hv_mask_set(&u->hard, 0),
	       "nothing runs outside its hard affinity");
	BROKEN(f, u->is_running = false, u->is_running = true,
	       "the current unit is assigned here and running");
	BROKEN(f, v->is_running = false, v->is_running = true, "the loaded vCPU is running");
	BROKEN(f, r->lock->holder = 1, r->lock->holder = 0, "no schedule lock is left held");
	BROKEN(f, f->pool->nr_domains++, f->pool->nr_domains--, "a pool counts its domains");
	BROKEN(f, hv_mask_clear(&f->pool->res_valid, 0), hv_mask_set(&f->pool->res_valid, 0),
	       "a pool's masks hold its resources");
	BROKEN(f, u->soft_counts = true, u->soft_counts = false,
	       "soft_counts says whether soft affinity can matter");
	BROKEN(f, d->vcpus[1]->pause_flags = 0, d->vcpus[1]->pause_flags = HV_PF_DOWN,
	       "the runstate says what the flags say");
	BROKEN(f, d->vcpus[1]->pause_flags |= HV_PF_MIGRATING,
	       d->vcpus[1]->pause_flags = HV_PF_DOWN,
	       "a migration is open only while the unit runs");
	BROKEN(f, r->master = 1, r->master = 0, "rank is the position in the resource");
	d->vcpus[1]->pause_flags = 0;
	assert_int_equal(hv_check(f->sys, &at), -HV_EINVAL);
	assert_int_equal(at.domain, 1);
	assert_int_equal(at.unit, 1);
	assert_int_equal(at.pcpu, 1);
	d->vcpus[1]->pause_flags = HV_PF_DOWN;
}

static void hv_check_names_the_law_of_pins_that_is_broken(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = fake_domain(f, 1, 1)->vcpus[0];
	struct hv_unit *u = v->unit;

	hv_vcpu_up(v);
	fake_drain(f);
	BROKEN(f, v->pins = HV_PIN_WAIT, v->pins = 0,
	       "a unit is pinned while a member holds a pin");
	assert_int_equal(hv_vcpu_pin(v, 0, HV_PIN_OVERRIDE), 0);
	BROKEN(f, u->pinned = false, u->pinned = true,
	       "a unit is pinned while a member holds a pin");
	BROKEN(f, hv_mask_set(&u->hard, 1), hv_mask_clear(&u->hard, 1),
	       "a pinned unit may use one resource of its pool");
	BROKEN(f, u->override_to = HV_NO_PCPU, u->override_to = 0,
	       "an override names a resource of the pool");
	BROKEN(f, u->override_to = 1, u->override_to = 0,
	       "a unit is pinned where the override wants it");
	BROKEN(f, u->domain->move = (struct hv_move *)v, u->domain->move = NULL,
	       "a pinned unit stays in its pool");
	assert_int_equal(hv_vcpu_pin(v, 0, HV_PIN_WAIT), 0);
	hv_vcpu_down(v);
	fake_drain(f);
	BROKEN(f, u->hard = fake_mask1(1), u->hard = fake_mask1(0),
	       "a unit stays where one of its vCPUs waits");
}

/* What is unfinished: a removal, an off-lining, a move, a suspend. */
static void hv_check_names_the_law_of_what_is_unfinished_that_is_broken(void **state)
{
	struct fake *f = *state;
	struct hv_domain *d = fake_domain(f, 1, 1);
	struct hv_pool *other;
	struct hv_unit *u;

	hv_vcpu_up(d->vcpus[0]);
	fake_drain(f);
	BROKEN(f, f->sys->pcpus[0].work = HV_WORK_LEAVING, f->sys->pcpus[0].work = 0,
	       "only what goes off line is sent idle for that");
	assert_int_equal(hv_pool_create(f->sys, 1, "probe", HV_GRAN_CPU, &other), 0);
	BROKEN(f, other->nr_coming = 1, other->nr_coming = 0,
	       "a pool counts the domains on their way to it");
	BROKEN(f, d->suspended = true, d->suspended = false,
	       "a suspend holds all domains, and nothing else does");

	assert_int_equal(hv_pool_remove_pcpu(f->pool, 1), 0);
	assert_int_equal(hv_pool_add_pcpu(other, 1), 0);
	assert_int_equal(hv_domain_move(d, other), -HV_EAGAIN);
	BROKEN(f, d->move->to = f->pool, d->move->to = other, "a move leads to another pool");
	BROKEN(f, d->pause_count = 0, d->pause_count = 1,
	       "a domain that moves or is suspended is paused");
	fake_drain(f);
	assert_int_equal(hv_domain_move(d, other), 0);
	u = d->units;

	assert_int_equal(hv_pcpu_down_begin(f->sys, 3), 0);
	BROKEN(f, f->sys->leaving_pcpu = 2, f->sys->leaving_pcpu = 3,
	       "a pCPU goes off line with its resource");
	BROKEN(f, f->sys->suspended = true, f->sys->suspended = false,
	       "nothing is leaving while the host is suspended");
	assert_int_equal(hv_pcpu_up(f->sys, 3), 0);
	fake_drain(f);

	BROKEN(f, f->sys->suspended = true, f->sys->suspended = false,
	       "a suspended host runs nothing");
	hv_vcpu_down(d->vcpus[0]);
	fake_drain(f);
	BROKEN(f, u->hard = fake_mask1(3), hv_mask_copy(&u->hard, &f->sys->all, f->sys->nw),
	       "hard affinity leaves every unit a place in its pool");
}

/* The same of a core that switches from one guest to another: I1, I4, I5, I6. */
static void hv_check_names_the_law_of_the_rendezvous_that_is_broken(void **state)
{
	struct fake *f = calloc(1, sizeof(*f));
	struct hv_domain *a, *b;
	struct hv_vcpu *idle;
	struct hv_resource *r;

	(void)state;
	assert_int_equal(fake_create(f, 1, 1, 2, probe_policies), 0);
	fake_boot_gran(f, "probe", HV_GRAN_CORE);
	r = hv_resource_of(f->sys, 0);
	a = fake_domain(f, 1, 1);
	b = fake_domain(f, 2, 1);
	hv_vcpu_up(a->vcpus[0]);
	fake_drain(f);
	idle = hv_pcpu_loaded(f->sys, 1);
	assert_true(idle->idle && r->curr == a->units);
	BROKEN(f, b->units->enter = 1, b->units->enter = 0,
	       "I1: only the current unit of a resource has a rendezvous");
	BROKEN(f, r->idle->leave = 1, r->idle->leave = 0,
	       "I1: only the current unit of a resource has a rendezvous");
	BROKEN(f, a->units->enter = 1, a->units->enter = 0,
	       "I4: enter counts the pCPUs that have not arrived");
	BROKEN(f, a->units->leave = 2, a->units->leave = 0,
	       "leave counts the pCPUs that have not saved, plus one");
	BROKEN(f, idle->unit = r->idle, idle->unit = a->units,
	       "I6: loaded vCPUs of a resource belong to its current unit");
	f->hold_saves = true;
	hv_pause(a->vcpus[0]);
	fake_drain(f);
	assert_int_equal(r->curr->leave, 2); /* pCPU 1 had nothing to save */
	BROKEN(f, r->curr->enter = 2, r->curr->enter = 0,
	       "a rendezvous begins when the last one is over");
	BROKEN(f, r->curr->leave = 3, r->curr->leave = 2,
	       "leave counts the pCPUs that have not saved, plus one");
	BROKEN(f, r->curr->leave = 0, r->curr->leave = 2, "I5: leave is 0 outside a switch");
	f->hold_saves = false;
	fake_save(f, 0);
	fake_drain(f);
	fake_destroy(f);
	free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fake_tear_down)
		TEST(runstate_times_are_exact),
		TEST(a_stale_clock_never_decreases_a_counter),
		TEST(a_runstate_is_read_while_the_lock_is_held),
		TEST(runstate_records_form_a_ledger),
		TEST(acquiring_a_held_lock_is_a_bug),
		TEST(a_resource_is_locked_through_its_pointer),
		TEST(moving_a_unit_without_its_lock_is_a_bug),
		TEST(running_units_are_not_moved),
		cmocka_unit_test(a_policy_that_chooses_what_cannot_run_here_is_caught),
		TEST(a_second_pass_before_the_save_is_a_bug_of_the_host),
		TEST(hv_check_names_the_law_that_is_broken),
		TEST(hv_check_names_the_law_of_pins_that_is_broken),
		TEST(hv_check_names_the_law_of_what_is_unfinished_that_is_broken),
		cmocka_unit_test(hv_check_names_the_law_of_the_rendezvous_that_is_broken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
