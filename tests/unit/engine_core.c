/* SPDX-License-Identifier: MIT */
/*
 * Core and socket granularity on 4 cores x 2 threads: behaviours of core-scheduling section 8 (1-2,
 * 4-13, 16-19, 28; the comments have the numbers), and a pause that real Xen loses.
 */
#include "fake_host.h"
#include "probe_policy.h"

static int boot(void **state, enum hv_gran gran)
{
	struct fake *f = fake_new(1, 4, 2, probe_policies);

	fake_boot_gran(f, "probe", gran);
	*state = f;
	return 0;
}

static int core(void **state)
{
	return boot(state, HV_GRAN_CORE);
}

#define OPS(f) (probe_of((f)->pool->sched)->ops)

static void forget(struct fake *f)
{
	fake_forget(f);
	probe_forget(f->pool->sched);
}

/* Placed on the core of this pCPU, all up and running. */
static struct hv_domain *running(struct fake *f, int id, unsigned nr_vcpus, unsigned pcpu)
{
	struct hv_domain *d;

	probe_of(f->pool->sched)->pick = pcpu;
	d = fake_domain(f, id, nr_vcpus);
	probe_of(f->pool->sched)->pick = HV_NO_PCPU;
	for (unsigned i = 0; i < nr_vcpus; i++)
		hv_vcpu_up(d->vcpus[i]);
	fake_drain(f);
	fake_check(f);
	forget(f);
	return d;
}

/* 1 */
static void a_unit_has_as_many_vcpus_as_a_resource_has_pcpus(void **state)
{
	static const unsigned expected[][6] = {{0, 1, 2, 3, 4}, {0, 2, 4}, {0}};
	static const unsigned nr[] = {5, 3, 1};

	(void)state;
	for (int gran = HV_GRAN_CPU; gran <= HV_GRAN_SOCKET; gran++) {
		struct fake *f = NULL;
		const struct hv_unit *u;
		unsigned n = 0;

		boot((void **)&f, (enum hv_gran)gran);
		for (u = fake_domain(f, 1, 5)->units; u; u = u->link, n++)
			assert_int_equal(u->id, expected[gran][n]);
		assert_int_equal(n, nr[gran]);
		fake_tear_down((void **)&f);
	}
}

/* 2; and the policy hears of units and masters only: core-scheduling 1.2 */
static void a_vcpu_has_its_thread_on_whatever_core(void **state)
{
	struct fake *f = *state;
	struct hv_domain *d;
	struct hv_mask one;

	forget(f);
	d = fake_domain(f, 1, 4);
	assert_string_equal(OPS(f), "affinity-both d1v0; insert d1v0; pick d1v0; "
				    "affinity-both d1v2; insert d1v2; pick d1v2");
	for (unsigned c = 0; c < 8; c += 2) {
		one = fake_mask1(c);
		assert_int_equal(hv_affinity_set(d->vcpus[3], &one, NULL), 0);
		assert_int_equal(d->vcpus[2]->pcpu, c);
		assert_int_equal(d->vcpus[3]->pcpu, c + 1);
	}
}

/* 4 */
static void one_slave_request_one_decision_and_both_threads_switch(void **state)
{
	struct fake *f = *state;
	struct hv_domain *a = running(f, 1, 2, 2), *b;

	probe_of(f->pool->sched)->pick = 2;
	b = fake_domain(f, 2, 2);
	hv_vcpu_up(b->vcpus[0]);
	hv_vcpu_up(b->vcpus[1]);
	forget(f);
	f->pending[2] = 0; /* the request of the wake: pCPU 3 shall be first */
	fake_pass(f, 3);
	assert_true(f->waiting[3]);
	assert_int_equal(f->raised[2], 1);
	assert_int_equal(f->pending[2], HV_EVENT_SLAVE);
	assert_string_equal(OPS(f), "");
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 3), a->vcpus[1]);
	fake_turn(f, 2); /* the last one decides */
	assert_string_equal(OPS(f), "schedule d1v0");
	fake_drain(f);
	assert_string_equal(OPS(f), "schedule d1v0; saved d1v0");
	assert_ptr_equal(fake_guest(f, 2), b->vcpus[0]);
	assert_ptr_equal(fake_guest(f, 3), b->vcpus[1]);
	assert_int_equal(fake_count(f, HV_TRACE_ENTER), 1);
}

/* 5 */
static void nobody_enters_a_guest_before_all_have_saved(void **state)
{
	struct fake *f = *state;
	struct hv_domain *a = running(f, 1, 2, 2), *b;

	probe_of(f->pool->sched)->pick = 2;
	b = fake_domain(f, 2, 2);
	hv_vcpu_up(b->vcpus[0]);
	hv_vcpu_up(b->vcpus[1]);
	forget(f);
	f->hold_saves = true;
	fake_drain(f);
	assert_true(f->saving[2] && f->saving[3]);
	fake_save(f, 3);
	assert_true(f->waiting[3]);
	assert_false(fake_look(f, 3));
	assert_null(fake_guest(f, 3));
	assert_false(a->vcpus[1]->is_running);
	assert_true(a->units->is_running);
	assert_null(strstr(OPS(f), "saved"));
	fake_check(f);
	fake_save(f, 2);
	assert_non_null(strstr(OPS(f), "saved d1v0"));
	assert_ptr_equal(fake_guest(f, 2), b->vcpus[0]);
	assert_true(fake_look(f, 3));
	assert_ptr_equal(fake_guest(f, 3), b->vcpus[1]);
	assert_int_equal(fake_count(f, HV_TRACE_SAVED), 1);
	f->hold_saves = false;
}

/* 6 */
static void the_idle_vcpu_stands_in_for_a_missing_one(void **state)
{
	struct fake *f = *state;
	struct hv_domain *a = running(f, 1, 1, 4);
	struct hv_vcpu *idle = hv_pcpu_loaded(f->sys, 5);

	assert_ptr_equal(fake_guest(f, 4), a->vcpus[0]);
	assert_true(idle->idle);
	assert_ptr_equal(idle->unit, a->units);
	assert_int_equal(hv_pcpu_urgent(f->sys, 5), 1);
	assert_int_equal(hv_pcpu_urgent(f->sys, 4), 0);
	hv_pause(a->vcpus[0]);
	fake_drain(f);
	assert_true(idle->unit->idle);
	assert_int_equal(hv_pcpu_urgent(f->sys, 5), 0);
}

/* 6: work for the idle context waits until the core is idle; 13: it sends the whole core idle */
static void work_sends_the_whole_core_idle(void **state)
{
	struct fake *f = *state;
	struct hv_domain *a = running(f, 1, 2, 2);

	hv_work(f->sys, 2, true);
	assert_false(hv_work_ready(f->sys, 2));
	fake_drain(f);
	assert_string_equal(OPS(f), "schedule-work d1v0; saved d1v0");
	assert_true(hv_work_ready(f->sys, 2));
	assert_false(hv_work_ready(f->sys, 3));
	assert_true(hv_pcpu_loaded(f->sys, 2)->idle && hv_pcpu_loaded(f->sys, 3)->idle);
	assert_int_equal(f->log[fake_find(f, HV_TRACE_SWITCH, 0)].b, 1);
	hv_work(f->sys, 2, false);
	fake_drain(f);
	assert_ptr_equal(fake_guest(f, 2), a->vcpus[0]);
	assert_ptr_equal(fake_guest(f, 3), a->vcpus[1]);
}

static void work_is_not_done_while_idle_stands_in(void **state)
{
	struct fake *f = *state;

	running(f, 1, 1, 4);
	hv_work(f->sys, 5, true);
	assert_true(hv_pcpu_loaded(f->sys, 5)->idle);
	assert_false(hv_work_ready(f->sys, 5));
	fake_drain(f);
	assert_true(hv_work_ready(f->sys, 5));
	assert_null(fake_guest(f, 4));
	hv_work(f->sys, 5, false);
	fake_drain(f);
	assert_non_null(fake_guest(f, 4));
}

/* 7 */
static void a_member_that_wakes_is_loaded_alone(void **state)
{
	struct fake *f = *state;
	struct hv_domain *a = running(f, 1, 2, 2);

	hv_block(a->vcpus[1], NULL, NULL);
	fake_drain(f);
	assert_true(hv_pcpu_loaded(f->sys, 3)->idle);
	forget(f);
	hv_wake(a->vcpus[1]);
	assert_int_equal(fake_count(f, HV_TRACE_FORCE), 1);
	assert_int_equal(f->raised[2], 0);
	fake_turn(f, 3);
	assert_ptr_equal(fake_guest(f, 3), a->vcpus[1]);
	assert_ptr_equal(fake_guest(f, 2), a->vcpus[0]);
	fake_drain(f);
	assert_string_equal(OPS(f), "wake d1v0");
	assert_int_equal(f->forced, 1);
	assert_int_equal(f->raised[2], 0); /* its sibling never left the guest */
	assert_int_equal(a->units->runstate_count[HV_RUNNING], 2);
}

/* 8; its last part: what a synchronous pause waits for comes about; 9: also when a sibling asks */
static void a_member_that_is_paused_leaves_alone(void **state)
{
	struct fake *f = *state;
	struct hv_domain *a = running(f, 1, 2, 2);

	f->here = 2; /* vCPU 0 pauses its sibling */
	hv_pause(a->vcpus[1]);
	f->here = 0;
	fake_turn(f, 3);
	assert_true(hv_pcpu_loaded(f->sys, 3)->idle);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 3)->unit, a->units);
	assert_false(a->vcpus[1]->is_running);
	assert_int_equal(a->vcpus[1]->runstate.state, HV_OFFLINE);
	fake_drain(f);
	assert_string_equal(OPS(f), "");
	assert_ptr_equal(fake_guest(f, 2), a->vcpus[0]);
	assert_int_equal(f->raised[2], 0);
}

/* 10 */
static void the_last_member_that_runs_takes_the_unit_along(void **state)
{
	struct fake *f = *state;
	struct hv_domain *a = running(f, 1, 2, 2);

	hv_pause(a->vcpus[1]);
	fake_drain(f);
	forget(f);
	hv_pause(a->vcpus[0]);
	fake_drain(f);
	assert_string_equal(OPS(f), "sleep d1v0; schedule d1v0; saved d1v0");
	assert_false(a->units->is_running);
	assert_ptr_equal(hv_resource_of(f->sys, 3)->curr, hv_resource_of(f->sys, 2)->idle);
}

/* 10 */
static void one_that_wakes_and_is_paused_before_its_turn_stays_off(void **state)
{
	struct fake *f = *state;
	struct hv_domain *a = running(f, 1, 2, 2);

	hv_block(a->vcpus[1], NULL, NULL);
	fake_drain(f);
	forget(f);
	hv_wake(a->vcpus[1]);
	hv_pause(a->vcpus[1]);
	assert_true(a->vcpus[1]->force_switch);
	fake_turn(f, 3);
	assert_false(a->vcpus[1]->force_switch);
	assert_int_equal(f->forced, 0);
	fake_drain(f);
	assert_true(hv_pcpu_loaded(f->sys, 3)->idle);
	assert_ptr_equal(fake_guest(f, 2), a->vcpus[0]);
	assert_int_equal(a->vcpus[1]->runstate.state, HV_OFFLINE);
}

/* It has to stop although the other one had not been loaded when it was paused. */
static void the_only_running_member_stops_when_paused_before_its_sibling_is_loaded(void **state)
{
	struct fake *f = *state;
	struct hv_domain *a = running(f, 1, 2, 2);

	hv_block(a->vcpus[1], NULL, NULL);
	fake_drain(f);
	hv_wake(a->vcpus[1]);  /* to be loaded by the next turn of pCPU 3... */
	hv_pause(a->vcpus[0]); /* ...which has not come */
	assert_true(a->vcpus[0]->is_running);
	fake_drain(f);
	assert_false(a->vcpus[0]->is_running);
	assert_int_equal(a->vcpus[0]->runstate.state, HV_OFFLINE);
	assert_ptr_equal(fake_guest(f, 3), a->vcpus[1]);
	fake_check(f);
}

/* 10: both are to leave alone; the second one may not, and asks for a decision. */
static void the_last_member_that_runs_is_never_switched_off_alone(void **state)
{
	struct fake *f = *state;
	struct hv_domain *a = running(f, 1, 2, 2);

	hv_pause(a->vcpus[1]); /* leaves alone */
	hv_pause(a->vcpus[0]); /* no member is left: the policy's affair */
	hv_unpause(a->vcpus[1]);
	hv_pause(a->vcpus[0]); /* once more, and now there is one: leaves alone */
	hv_pause(a->vcpus[1]);
	assert_true(a->vcpus[0]->force_switch && a->vcpus[1]->force_switch);
	f->pending[2] = f->pending[3] = HV_EVENT_SLAVE;
	fake_turn(f, 2);
	assert_int_equal(f->forced, 1);
	fake_turn(f, 3);
	assert_int_equal(f->forced, 1);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 3), a->vcpus[1]);
	assert_true(f->pending[3] & HV_EVENT_SCHEDULE);
	fake_drain(f);
	assert_false(a->units->is_running);
	assert_int_equal(a->vcpus[1]->runstate.state, HV_OFFLINE);
	fake_check(f);
}

/* 11 */
static void requests_on_both_threads_make_one_gathering_and_none_is_lost(void **state)
{
	struct fake *f = *state;

	probe_of(f->pool->sched)->slice = 1000;
	running(f, 1, 2, 2);
	f->pending[2] = f->pending[3] = HV_EVENT_SCHEDULE;
	fake_turn(f, 2);
	f->pending[3] &= ~(unsigned)HV_EVENT_SLAVE; /* the schedule request arrives first */
	fake_turn(f, 3);			    /* joins, and asks again for itself */
	assert_string_equal(OPS(f), "schedule d1v0");
	assert_true(f->pending[3] & HV_EVENT_SCHEDULE);
	fake_drain(f);
	assert_string_equal(OPS(f), "schedule d1v0; schedule d1v0");
	assert_int_equal(f->nr_timers, 1); /* the slice's */
}

/* 11: the old slice ends where the gathering begins, so that one timer is armed once. */
static void the_slice_ends_when_a_gathering_begins(void **state)
{
	struct fake *f = *state;

	probe_of(f->pool->sched)->slice = 1000;
	running(f, 1, 2, 2);
	fake_event(f, 2, HV_EVENT_SCHEDULE);
	fake_drain(f);
	assert_int_equal(f->nr_timers, 1);
	f->now += 400;
	f->pending[3] = HV_EVENT_SCHEDULE;
	fake_turn(f, 3);
	assert_true(f->waiting[3]);
	assert_int_equal(f->nr_timers, 0);
	fake_drain(f);
	assert_int_equal(f->nr_timers, 1);
	assert_int_equal(fake_first_timer(f)->expiry, f->now + 1000);
}

/* A host that handles both events at once loses none either. */
static void both_events_in_one_call(void **state)
{
	struct fake *f = *state;

	running(f, 1, 2, 2);
	fake_event(f, 2, HV_EVENT_SCHEDULE);
	f->pending[3] = 0;
	fake_event(f, 3, HV_EVENT_SLAVE | HV_EVENT_SCHEDULE);
	assert_string_equal(OPS(f), "schedule d1v0");
	fake_drain(f);
	assert_string_equal(OPS(f), "schedule d1v0; schedule d1v0");
}

/* 12: while it waits the host is in charge; what is raised is kept */
static void a_pcpu_that_waits_can_do_other_things(void **state)
{
	struct fake *f = *state;

	running(f, 1, 2, 2);
	f->pending[2] = HV_EVENT_SCHEDULE;
	fake_turn(f, 2);
	assert_true(f->waiting[2]);
	assert_int_equal(hv_pcpu_wait(f->sys, 2), HV_WAIT_ENTER);
	for (int i = 0; i < 3; i++)
		assert_false(fake_look(f, 2));
	f->pending[2] = 0;
	fake_event(f, 2, HV_EVENT_SCHEDULE); /* passed on although it waits */
	assert_int_equal(f->pending[2], HV_EVENT_SCHEDULE);
	fake_drain(f);
	assert_string_equal(OPS(f), "schedule d1v0; schedule d1v0");
	fake_check(f);
}

/* 12: work for the idle context is an errand that leaves the wait, and comes back */
static void work_leaves_the_gathering_of_an_idle_core_and_comes_back(void **state)
{
	struct fake *f = *state;
	struct hv_unit *idle = hv_resource_of(f->sys, 2)->idle;

	f->pending[2] = HV_EVENT_SCHEDULE;
	fake_turn(f, 2);
	assert_true(f->waiting[2]);
	hv_work(f->sys, 2, true);
	assert_int_equal(fake_event(f, 2, 0).kind, HV_KEEP);
	assert_true(hv_work_ready(f->sys, 2));
	assert_int_equal(idle->enter, 2);
	assert_true(f->pending[2] & HV_EVENT_SLAVE);
	fake_check(f);
	hv_work(f->sys, 2, false);
	fake_drain(f);
	assert_int_equal(idle->enter, 0);
	assert_int_equal(idle->leave, 0);
	fake_check(f);
}

/* A vCPU that wakes while its pCPU waits is switched to at once, and takes part afterwards. */
static void a_forced_switch_goes_before_the_gathering(void **state)
{
	struct fake *f = *state;
	struct hv_domain *a = running(f, 1, 2, 2);

	hv_block(a->vcpus[1], NULL, NULL);
	fake_drain(f);
	forget(f);
	f->pending[3] = HV_EVENT_SCHEDULE;
	fake_turn(f, 3);
	assert_true(f->waiting[3]);
	hv_wake(a->vcpus[1]);
	assert_true(fake_look(f, 3));
	assert_int_equal(f->forced, 1);
	assert_ptr_equal(fake_guest(f, 3), a->vcpus[1]);
	assert_true(f->pending[3] & HV_EVENT_SLAVE);
	fake_check(f);
	fake_drain(f);
	assert_string_equal(OPS(f), "wake d1v0; schedule d1v0");
	assert_int_equal(a->units->enter, 0);
}

/* One SLAVE request stands for both, a switch of this vCPU alone and a gathering (2.7). */
static void a_forced_switch_does_not_lose_a_gathering_that_called_meanwhile(void **state)
{
	struct fake *f = *state;
	struct hv_domain *a = running(f, 1, 2, 2);

	hv_pause(a->vcpus[1]);
	f->pending[2] = HV_EVENT_SCHEDULE;
	fake_turn(f, 2);
	assert_true(f->waiting[2]);
	fake_turn(f, 3);
	assert_int_equal(f->forced, 1);
	assert_int_equal(f->pending[3], HV_EVENT_SLAVE);
	assert_true(f->waiting[2]);
	fake_drain(f);
	assert_string_equal(OPS(f), "schedule d1v0");
	assert_ptr_equal(fake_guest(f, 2), a->vcpus[0]);
}

/* 16 */
static void time_is_accounted_for_in_a_unit(void **state)
{
	struct fake *f = *state;
	struct hv_domain *a = running(f, 1, 3, 2);
	int64_t sum = 0;

	for (int i = 0; i < 40; i++) {
		struct hv_vcpu *v = a->vcpus[i % 3];

		f->now += 100 + i;
		if (i % 4 == 0 && fake_guest(f, v->pcpu) == v)
			hv_block(v, NULL, NULL);
		else if (i % 4 == 1)
			hv_pause(v);
		else if (i % 4 == 2)
			hv_wake(v);
		else
			hv_unpause(v);
		f->now += 7;
		fake_drain(f);
		fake_check(f);
	}
	for (unsigned c = 0; c < 8; c++)
		sum += hv_pcpu_idle_time(f->sys, c);
	for (unsigned i = 0; i < 3; i++) {
		struct hv_runstate rs;

		hv_runstate_get(a->vcpus[i], &rs);
		sum += rs.time[HV_RUNNING];
		assert_int_equal(rs.time[0] + rs.time[1] + rs.time[2] + rs.time[3],
				 f->now - a->vcpus[i]->birth);
	}
	assert_int_equal(sum, 8 * f->now);
}

/* 17 */
static void a_yield_of_the_only_runnable_unit_continues_it(void **state)
{
	struct fake *f = *state;
	struct hv_domain *a = running(f, 1, 2, 2);

	hv_yield(a->vcpus[1]);
	fake_drain(f);
	assert_string_equal(OPS(f), "yield d1v0; schedule d1v0");
	assert_int_equal(fake_count(f, HV_TRACE_CONT), 1);
	assert_int_equal(fake_count(f, HV_TRACE_RUNSTATE), 0);
	assert_true(a->vcpus[0]->is_running && a->vcpus[1]->is_running);
}

/* 18 */
static void a_running_unit_moves_as_a_whole(void **state)
{
	struct fake *f = *state;
	struct hv_domain *a = running(f, 1, 2, 2);
	struct hv_mask other = fake_mask1(6);

	assert_int_equal(hv_affinity_set(a->vcpus[1], &other, NULL), 0);
	f->hold_saves = true;
	fake_drain(f);
	assert_int_equal(a->vcpus[0]->pcpu, 2); /* not before it is saved */
	assert_true(a->units->is_running);
	f->hold_saves = false;
	for (unsigned c = 2; c < 4; c++) {
		if (f->saving[c])
			fake_save(f, c);
	}
	fake_drain(f);
	assert_ptr_equal(fake_guest(f, 6), a->vcpus[0]);
	assert_ptr_equal(fake_guest(f, 7), a->vcpus[1]);
	assert_null(fake_guest(f, 2));
	assert_int_equal(fake_count(f, HV_TRACE_ASSIGN), 1);
}

/* 19 */
static void a_hard_mask_needs_a_master(void **state)
{
	struct fake *f = *state;
	struct hv_domain *a = running(f, 1, 2, 4);
	struct hv_mask outside = fake_mask1(8), thread = fake_mask1(3), master = fake_mask1(2);
	struct hv_domain *b;
	struct hv_vcpu *v;

	assert_int_equal(hv_affinity_set(a->vcpus[0], &outside, NULL), -HV_EINVAL);
	assert_int_equal(hv_affinity_set(a->vcpus[0], &thread, NULL), -HV_EINVAL);
	assert_int_equal(hv_affinity_set(a->vcpus[0], &master, NULL), 0);
	/* nor is a vCPU made with such a mask */
	assert_int_equal(hv_domain_create(f->pool, 2, 1, &b), 0);
	assert_int_equal(hv_vcpu_create(b, NULL, &thread, NULL, &v), -HV_EINVAL);
	assert_int_equal(hv_vcpu_create(b, NULL, &master, NULL, &v), 0);
	fake_drain(f);
	assert_ptr_equal(fake_guest(f, 2), a->vcpus[0]);
	assert_ptr_equal(fake_guest(f, 3), a->vcpus[1]);
}

/* 28; and hazard 6 of section 9: half a core does not join */
static void cores_that_differ_form_no_resources(void **state)
{
	struct fake *f = calloc(1, sizeof(*f));
	struct hv_pool *p = NULL;

	(void)state;
	assert_int_equal(fake_create(f, 1, 2, 2, probe_policies), 0);
	for (unsigned c = 0; c < 3; c++)
		assert_int_equal(hv_pcpu_up(f->sys, c), 0);
	assert_int_equal(hv_gran_size(f->sys, HV_GRAN_CORE), 0);
	assert_int_equal(hv_gran_size(f->sys, HV_GRAN_CPU), 1);
	assert_int_equal(hv_pool_create(f->sys, 0, "probe", HV_GRAN_CORE, &p), -HV_EINVAL);
	assert_int_equal(hv_pcpu_up(f->sys, 3), 0);
	assert_int_equal(hv_gran_size(f->sys, HV_GRAN_CORE), 2);
	assert_int_equal(hv_pool_create(f->sys, 0, "probe", HV_GRAN_CORE, &p), 0);
	assert_int_equal(hv_pool_add_pcpu(p, 3), 0); /* the whole core, by any of its threads */
	assert_int_equal(hv_pool_add_pcpu(p, 2), 0);
	assert_true(hv_mask_test(&p->res_valid, 2) && !hv_mask_test(&p->res_valid, 3));
	assert_int_equal(hv_mask_weight(&p->cpu_valid, 1), 2);
	fake_destroy(f);
	free(f);
}

/* Every allocation of a resource that joins may fail: the pCPUs stay as they were. */
static void a_core_joins_as_a_whole_or_not_at_all(void **state)
{
	unsigned failures = 0;

	(void)state;
	for (long at = 1;; at++) {
		struct fake *f = calloc(1, sizeof(*f));
		int rc;

		assert_int_equal(fake_create(f, 1, 2, 2, probe_policies), 0);
		for (unsigned c = 0; c < 4; c++)
			assert_int_equal(hv_pcpu_up(f->sys, c), 0);
		assert_int_equal(hv_pool_create(f->sys, 0, "probe", HV_GRAN_CORE, &f->pool), 0);
		f->fail_at = f->allocs + at;
		rc = hv_pool_add_pcpu(f->pool, 2);
		f->fail_at = 0;
		fake_check(f);
		if (rc == -HV_ENOMEM) {
			failures++;
			assert_int_equal(hv_resource_of(f->sys, 3)->g, 1);
			assert_int_equal(hv_pool_add_pcpu(f->pool, 2), 0);
		}
		fake_destroy(f);
		free(f);
		if (rc == 0)
			break;
	}
	assert_int_equal(failures, 2); /* the policy's data of pCPU and idle unit */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, core, fake_tear_down)
		cmocka_unit_test(a_unit_has_as_many_vcpus_as_a_resource_has_pcpus),
		TEST(a_vcpu_has_its_thread_on_whatever_core),
		TEST(one_slave_request_one_decision_and_both_threads_switch),
		TEST(nobody_enters_a_guest_before_all_have_saved),
		TEST(the_idle_vcpu_stands_in_for_a_missing_one),
		TEST(work_sends_the_whole_core_idle),
		TEST(work_is_not_done_while_idle_stands_in),
		TEST(a_member_that_wakes_is_loaded_alone),
		TEST(a_member_that_is_paused_leaves_alone),
		TEST(the_last_member_that_runs_takes_the_unit_along),
		TEST(one_that_wakes_and_is_paused_before_its_turn_stays_off),
		TEST(the_only_running_member_stops_when_paused_before_its_sibling_is_loaded),
		TEST(the_last_member_that_runs_is_never_switched_off_alone),
		TEST(requests_on_both_threads_make_one_gathering_and_none_is_lost),
		TEST(the_slice_ends_when_a_gathering_begins),
		TEST(both_events_in_one_call),
		TEST(a_pcpu_that_waits_can_do_other_things),
		TEST(work_leaves_the_gathering_of_an_idle_core_and_comes_back),
		TEST(a_forced_switch_goes_before_the_gathering),
		TEST(a_forced_switch_does_not_lose_a_gathering_that_called_meanwhile),
		TEST(time_is_accounted_for_in_a_unit),
		TEST(a_yield_of_the_only_runnable_unit_continues_it),
		TEST(a_running_unit_moves_as_a_whole),
		TEST(a_hard_mask_needs_a_master),
		cmocka_unit_test(cores_that_differ_form_no_resources),
		cmocka_unit_test(a_core_joins_as_a_whole_or_not_at_all),
	};

	return cmocka_run_group_tests_name("engine_core", tests, NULL, NULL);
}
