/* SPDX-License-Identifier: MIT */
/* Wake, sleep, block, yield, pause and the schedule pass: what happens, and in which order. */
#include "fake_host.h"
#include "probe_policy.h"

static int setup(void **state)
{
	struct fake *f = fake_new(1, 2, 1, probe_policies);

	fake_boot(f, "probe");
	*state = f;
	return 0;
}

#define OPS(f) (probe_of((f)->pool->sched)->ops)

static void forget(struct fake *f)
{
	fake_forget(f);
	probe_forget(f->pool->sched);
}

static enum hv_runstate_kind state_of(const struct hv_vcpu *v)
{
	return v->runstate.state;
}

/* ---- the pass (2.4, 2.5) */

static void a_pass_switches_and_its_tail_saves(void **state)
{
	struct fake *f = *state;
	struct hv_domain *d = fake_domain(f, 1, 1);
	struct hv_vcpu *v = d->vcpus[0];
	struct hv_unit *u = v->unit, *idle = hv_resource_of(f->sys, 0)->idle;
	struct hv_next next;

	f->hold_saves = true;
	f->now = 50;
	hv_vcpu_up(v);
	forget(f);
	f->now = 100;
	next = fake_pass(f, 0);
	assert_int_equal(next.kind, HV_SWITCH);
	assert_true(next.from->idle);
	assert_ptr_equal(next.to, v);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 0), v);
	assert_true(u->is_running && idle->is_running && v->is_running);
	assert_int_equal(u->state_entry, 100);
	assert_string_equal(OPS(f), "schedule idle");
	assert_int_equal(fake_count(f, HV_TRACE_SWITCH), 1);
	assert_int_equal(fake_count(f, HV_TRACE_SAVED), 0);
	f->now = 107;
	fake_save(f, 0);
	assert_string_equal(OPS(f), "schedule idle; saved idle");
	assert_false(idle->is_running);
	assert_int_equal(idle->state_entry, 107);
	assert_int_equal(u->state_entry, 100);
	assert_true(fake_find(f, HV_TRACE_SWITCH, 0) < fake_find(f, HV_TRACE_SAVED, 0));
	assert_null(hv_resource_of(f->sys, 0)->prev);
}

static void a_unit_that_goes_on_is_no_switch_and_has_no_tail(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = fake_domain(f, 1, 1)->vcpus[0];
	struct hv_next next;

	f->now = 10;
	hv_vcpu_up(v);
	fake_drain(f);
	forget(f);
	f->now = 20;
	next = fake_pass(f, 0);
	assert_int_equal(next.kind, HV_KEEP);
	assert_ptr_equal(next.to, v);
	assert_string_equal(OPS(f), "schedule d1v0");
	assert_int_equal(v->unit->state_entry, 10);
	assert_int_equal(f->nr_log, 1);
	assert_int_equal(f->log[0].kind, HV_TRACE_CONT);
	assert_int_equal(hv_saved(f->sys, 0), HV_KEEP); /* nothing to save: no effect */
	assert_string_equal(OPS(f), "schedule d1v0");
}

static void the_slice_timer_runs_from_the_decision_and_only_asks_for_a_pass(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = fake_domain(f, 1, 1)->vcpus[0];
	struct hv_timer *t;

	probe_of(f->pool->sched)->slice = 500;
	f->now = 100;
	hv_vcpu_up(v);
	fake_drain(f);
	t = fake_first_timer(f);
	assert_non_null(t);
	assert_int_equal(t->expiry, 600);
	assert_int_equal(t->cls, HV_TIMER_SCHEDULE);
	assert_int_equal(t->number, 0);
	assert_int_equal(f->log[fake_find(f, HV_TRACE_SWITCH, 0)].a, 500);

	f->now = 300; /* a pass in between moves it */
	fake_pass(f, 0);
	assert_int_equal(f->nr_timers, 1);
	assert_int_equal(t->expiry, 800);

	forget(f);
	f->now = 800;
	fake_timer_forget(f, t);
	hv_timer_fire(t);
	assert_false(t->armed);
	assert_int_equal(f->pending[0], HV_EVENT_SCHEDULE);
	assert_string_equal(OPS(f), "");
	assert_int_equal(f->nr_log, 0); /* no tickle: it was not the policy */
}

static void a_negative_slice_leaves_the_timer_stopped(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = fake_domain(f, 1, 1)->vcpus[0];

	probe_of(f->pool->sched)->slice = 500;
	hv_vcpu_up(v);
	fake_drain(f);
	assert_int_equal(f->nr_timers, 1);
	probe_of(f->pool->sched)->slice = -1;
	forget(f);
	fake_pass(f, 0);
	assert_int_equal(f->nr_timers, 0);
	assert_int_equal(f->log[0].a, -1);
	probe_of(f->pool->sched)->slice = 0; /* zero is a slice */
	fake_pass(f, 0);
	assert_int_equal(fake_first_timer(f)->expiry, f->now);
}

static void other_events_than_schedule_do_nothing_under_granularity_cpu(void **state)
{
	struct fake *f = *state;

	forget(f);
	assert_int_equal(hv_event(f->sys, 0, HV_EVENT_SLAVE).kind, HV_KEEP);
	assert_int_equal(hv_event(f->sys, 0, 0).kind, HV_KEEP);
	assert_string_equal(OPS(f), "");
}

static void a_unit_woken_while_it_is_saved_is_queued_by_its_tail(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = fake_domain(f, 1, 1)->vcpus[0];

	hv_vcpu_up(v);
	fake_drain(f);
	f->hold_saves = true;
	assert_true(hv_block(v, NULL, NULL));
	fake_drain(f);
	assert_int_equal(state_of(v), HV_BLOCKED);
	assert_true(hv_wake(v));
	assert_int_equal(state_of(v), HV_RUNNABLE);
	assert_true(v->unit->is_running);
	forget(f);
	fake_save(f, 0);
	assert_string_equal(OPS(f), "saved d1v0");
	assert_int_equal(fake_count(f, HV_TRACE_TICKLE), 1);
	f->hold_saves = false;
	fake_drain(f);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 0), v);
}

static void round_robin_shares_a_pcpu(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *a = fake_domain(f, 1, 1)->vcpus[0], *b = fake_domain(f, 2, 1)->vcpus[0];
	struct hv_runstate ra, rb;

	probe_of(f->pool->sched)->slice = 100;
	hv_vcpu_up(a);
	hv_vcpu_up(b);
	fake_run(f, 100000);
	hv_runstate_get(a, &ra);
	hv_runstate_get(b, &rb);
	assert_int_equal(ra.time[HV_RUNNING] + rb.time[HV_RUNNING], 100000);
	assert_in_range(ra.time[HV_RUNNING], 49900, 50100);
	assert_int_equal(hv_pcpu_idle_time(f->sys, 0), 0);
	assert_int_equal(hv_pcpu_idle_time(f->sys, 1), 100000);
}

/* Granularity cpu must cost nothing that the pre-unit scheduler did not pay: one request a wake. */
static void a_wake_and_a_switch_raise_one_request_and_involve_no_other_pcpu(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = fake_domain(f, 1, 1)->vcpus[0];

	hv_vcpu_up(v);
	fake_drain(f);
	hv_block(v, NULL, NULL);
	fake_drain(f);
	forget(f);
	hv_wake(v);
	fake_drain(f);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 0), v);
	assert_int_equal(f->raised[0], 1);
	assert_int_equal(f->raised[1], 0);
	assert_int_equal(f->passes[0], 1);
	assert_int_equal(f->nr_timers, 0);
}

/* ---- wake and sleep (3.2) */

static void wake_is_traced_before_the_policy_hears_of_it(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = fake_domain(f, 1, 1)->vcpus[0];

	forget(f);
	hv_vcpu_up(v);
	assert_int_equal(f->log[0].kind, HV_TRACE_WAKE);
	assert_int_equal(f->log[f->nr_log - 1].kind, HV_TRACE_TICKLE);
	assert_string_equal(OPS(f), "wake d1v0");
	assert_int_equal(state_of(v), HV_RUNNABLE);
}

static void up_and_wake_have_an_effect_once(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = fake_domain(f, 1, 1)->vcpus[0];

	hv_vcpu_up(v);
	fake_drain(f);
	forget(f);
	hv_vcpu_up(v);
	assert_false(hv_wake(v));
	assert_string_equal(OPS(f), "");
	assert_int_equal(f->nr_log, 0);
}

static void a_blocked_vcpu_that_went_down_needs_up_and_wake_and_is_traced_once(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = fake_domain(f, 1, 1)->vcpus[0];

	hv_vcpu_up(v);
	fake_drain(f);
	hv_block(v, NULL, NULL);
	fake_drain(f);
	hv_vcpu_down(v);
	assert_int_equal(state_of(v), HV_BLOCKED); /* if both apply, blocked is reported */
	forget(f);
	hv_vcpu_up(v);
	assert_string_equal(OPS(f), "");
	assert_true(hv_wake(v));
	assert_string_equal(OPS(f), "wake d1v0");
	assert_int_equal(fake_count(f, HV_TRACE_WAKE), 1);
}

static void wake_of_a_running_vcpu_still_reaches_the_policy(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = fake_domain(f, 1, 1)->vcpus[0];

	hv_vcpu_up(v);
	fake_drain(f);
	hv_block(v, NULL, NULL);
	forget(f);
	assert_true(hv_wake(v)); /* before the pass that would have taken it off */
	assert_string_equal(OPS(f), "wake d1v0");
	fake_drain(f);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 0), v);
	assert_int_equal(state_of(v), HV_RUNNING);
}

static void a_paused_vcpu_is_not_woken_until_the_count_is_zero(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = fake_domain(f, 1, 1)->vcpus[0];

	hv_vcpu_up(v);
	fake_drain(f);
	assert_int_equal(hv_pause(v), 0);
	assert_int_equal(hv_pause(v), 0);
	fake_drain(f);
	assert_int_equal(state_of(v), HV_OFFLINE);
	forget(f);
	assert_int_equal(hv_unpause(v), 0);
	assert_string_equal(OPS(f), "");
	assert_int_equal(hv_unpause(v), 0);
	assert_string_equal(OPS(f), "wake d1v0");
	fake_drain(f);
	assert_int_equal(state_of(v), HV_RUNNING);
}

static void pause_counts_end_at_255_and_at_zero(void **state)
{
	struct fake *f = *state;
	struct hv_domain *d = fake_domain(f, 1, 1);

	assert_int_equal(hv_unpause(d->vcpus[0]), -HV_EINVAL);
	assert_int_equal(hv_domain_unpause(d), -HV_EINVAL);
	for (int i = 0; i < 255; i++) {
		assert_int_equal(hv_pause(d->vcpus[0]), 0);
		assert_int_equal(hv_domain_pause(d), 0);
	}
	assert_int_equal(hv_pause(d->vcpus[0]), -HV_EOVERFLOW);
	assert_int_equal(hv_domain_pause(d), -HV_EOVERFLOW);
	for (int i = 0; i < 255; i++) {
		assert_int_equal(hv_unpause(d->vcpus[0]), 0);
		assert_int_equal(hv_domain_unpause(d), 0);
	}
	assert_int_equal(hv_unpause(d->vcpus[0]), -HV_EINVAL);
}

static void sleep_reaches_the_policy_every_time_and_changes_runnable_to_offline(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *a = fake_domain(f, 1, 1)->vcpus[0], *b = fake_domain(f, 2, 1)->vcpus[0];

	hv_vcpu_up(a);
	fake_drain(f);
	hv_vcpu_up(b);
	assert_int_equal(state_of(b), HV_RUNNABLE);
	forget(f);
	assert_int_equal(hv_pause(b), 0);
	assert_int_equal(state_of(b), HV_OFFLINE);
	assert_int_equal(hv_pause(b), 0);
	hv_vcpu_down(b);
	hv_vcpu_down(b); /* idempotent */
	assert_string_equal(OPS(f), "sleep d2v0; sleep d2v0; sleep d2v0");
}

static void a_paused_running_vcpu_leaves_its_pcpu_at_the_pass(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = fake_domain(f, 1, 1)->vcpus[0];

	hv_vcpu_up(v);
	fake_drain(f);
	hv_pause(v);
	assert_int_equal(state_of(v), HV_RUNNING);
	assert_int_equal(f->pending[0], HV_EVENT_SCHEDULE);
	fake_drain(f);
	assert_int_equal(state_of(v), HV_OFFLINE);
	assert_true(hv_pcpu_loaded(f->sys, 0)->idle);
}

/* Row 15 of the faults seen in real Xen: the paused vCPU must stop. */
static void woken_then_paused_before_the_pass_never_runs(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = fake_domain(f, 1, 1)->vcpus[0];

	hv_vcpu_up(v);
	hv_pause(v);
	fake_drain(f);
	assert_true(hv_pcpu_loaded(f->sys, 0)->idle);
	assert_int_equal(v->runstate.time[HV_RUNNING], 0);
	assert_int_equal(state_of(v), HV_OFFLINE);
}

static void blocked_stays_blocked_through_a_pause_and_a_wake_makes_it_offline(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = fake_domain(f, 1, 1)->vcpus[0];

	hv_vcpu_up(v);
	fake_drain(f);
	hv_block(v, NULL, NULL);
	fake_drain(f);
	hv_pause(v);
	assert_int_equal(state_of(v), HV_BLOCKED);
	forget(f);
	assert_true(hv_wake(v)); /* unblocked but paused: blocked -> offline, no policy wake */
	assert_int_equal(state_of(v), HV_OFFLINE);
	assert_string_equal(OPS(f), "");
	hv_unpause(v);
	assert_int_equal(state_of(v), HV_RUNNABLE);
}

static void a_domain_pause_stops_every_vcpu_and_counts_apart(void **state)
{
	struct fake *f = *state;
	struct hv_domain *d = fake_domain(f, 1, 2);

	hv_vcpu_up(d->vcpus[0]);
	hv_vcpu_up(d->vcpus[1]);
	fake_drain(f);
	hv_pause(d->vcpus[1]);
	hv_domain_pause(d);
	fake_drain(f);
	assert_int_equal(state_of(d->vcpus[0]), HV_OFFLINE);
	assert_int_equal(state_of(d->vcpus[1]), HV_OFFLINE);
	hv_domain_unpause(d);
	fake_drain(f);
	assert_int_equal(state_of(d->vcpus[0]), HV_RUNNING);
	assert_int_equal(state_of(d->vcpus[1]), HV_OFFLINE);
}

static void every_change_of_flags_and_counts_is_traced_with_the_value_after(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = fake_domain(f, 1, 1)->vcpus[0];
	const struct hv_trace *e;

	hv_vcpu_up(v);
	fake_drain(f);
	forget(f);
	hv_pause(v);
	hv_domain_pause(v->domain);
	hv_vcpu_down(v);
	assert_int_equal(fake_count(f, HV_TRACE_PAUSE), 3);
	e = &f->log[fake_find(f, HV_TRACE_PAUSE, 0)];
	assert_true(e->vcpu == v && e->a == 0 && e->b == 1);
	e = &f->log[fake_find(f, HV_TRACE_PAUSE, 1)];
	assert_true(e->a == 0 && e->b == 2);
	e = &f->log[fake_find(f, HV_TRACE_PAUSE, 2)];
	assert_true(e->a == HV_PF_DOWN && e->b == 2);
}

/* ---- block and yield (3.3) */

static bool event_pending(void *arg)
{
	return *(bool *)arg;
}

static void block_with_an_event_between_flag_and_check_returns_without_descheduling(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = fake_domain(f, 1, 1)->vcpus[0];
	bool pending = true;

	hv_vcpu_up(v);
	fake_drain(f);
	forget(f);
	assert_false(hv_block(v, event_pending, &pending));
	assert_int_equal(v->pause_flags, 0);
	assert_int_equal(f->raised[0], 0);
	assert_int_equal(f->nr_log, 0);
	pending = false;
	assert_true(hv_block(v, event_pending, &pending));
	assert_int_equal(v->pause_flags, HV_PF_BLOCKED);
	assert_int_equal(f->raised[0], 1);
	assert_int_equal(fake_count(f, HV_TRACE_BLOCK), 1);
	assert_int_equal(fake_count(f, HV_TRACE_TICKLE), 0);
	assert_string_equal(OPS(f), ""); /* no operation before the pass */
	fake_drain(f);
	assert_string_equal(OPS(f), "schedule d1v0; saved d1v0");
	assert_int_equal(state_of(v), HV_BLOCKED);
}

/* Bug 16 of real Xen: the flag was not seen by a sender that came in between. */
static bool looks_after_the_flag(void *arg)
{
	struct hv_vcpu *v = arg;

	assert_int_equal(v->pause_flags, HV_PF_BLOCKED);
	assert_true(hv_wake(v)); /* the sender's part, on another pCPU */
	return false;		 /* and nothing to be seen here yet */
}

static void a_wake_while_block_looks_is_not_lost(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = fake_domain(f, 1, 1)->vcpus[0];

	hv_vcpu_up(v);
	fake_drain(f);
	hv_block(v, looks_after_the_flag, v);
	fake_drain(f);
	assert_ptr_equal(fake_guest(f, v->pcpu), v);
	assert_int_equal(v->pause_flags, 0);
	assert_int_equal(state_of(v), HV_RUNNING);
}

static void yield_of_a_sole_runnable_unit_continues_it(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = fake_domain(f, 1, 1)->vcpus[0];
	hv_time entry;

	hv_vcpu_up(v);
	fake_drain(f);
	entry = v->runstate.since;
	f->now += 100;
	forget(f);
	hv_yield(v);
	fake_drain(f);
	assert_string_equal(OPS(f), "yield d1v0; schedule d1v0");
	assert_true(v->unit->is_running && v->is_running);
	assert_int_equal(v->runstate.since, entry); /* still one record */
	assert_int_equal(fake_count(f, HV_TRACE_RUNSTATE), 0);
	assert_int_equal(fake_count(f, HV_TRACE_TICKLE), 0);
}

/* ---- work for the idle context (2.8) */

static void work_sends_the_pcpu_idle_and_the_unit_resumes_afterwards(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = fake_domain(f, 1, 1)->vcpus[0];

	hv_vcpu_up(v);
	fake_drain(f);
	forget(f);
	hv_work(f->sys, 0, true);
	hv_work(f->sys, 0, true); /* only a change raises the request */
	assert_int_equal(f->raised[0], 1);
	fake_pass(f, 0);
	assert_true(hv_pcpu_loaded(f->sys, 0)->idle);
	assert_int_equal(state_of(v), HV_RUNNABLE);
	fake_drain(f); /* the queued unit asks for a pass, but the work is not done */
	assert_true(hv_pcpu_loaded(f->sys, 0)->idle);
	hv_work(f->sys, 0, false);
	fake_drain(f);
	assert_ptr_equal(hv_pcpu_loaded(f->sys, 0), v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fake_tear_down)
		TEST(a_pass_switches_and_its_tail_saves),
		TEST(a_unit_that_goes_on_is_no_switch_and_has_no_tail),
		TEST(the_slice_timer_runs_from_the_decision_and_only_asks_for_a_pass),
		TEST(a_negative_slice_leaves_the_timer_stopped),
		TEST(other_events_than_schedule_do_nothing_under_granularity_cpu),
		TEST(a_unit_woken_while_it_is_saved_is_queued_by_its_tail),
		TEST(round_robin_shares_a_pcpu),
		TEST(a_wake_and_a_switch_raise_one_request_and_involve_no_other_pcpu),
		TEST(wake_is_traced_before_the_policy_hears_of_it),
		TEST(up_and_wake_have_an_effect_once),
		TEST(a_blocked_vcpu_that_went_down_needs_up_and_wake_and_is_traced_once),
		TEST(wake_of_a_running_vcpu_still_reaches_the_policy),
		TEST(a_paused_vcpu_is_not_woken_until_the_count_is_zero),
		TEST(pause_counts_end_at_255_and_at_zero),
		TEST(sleep_reaches_the_policy_every_time_and_changes_runnable_to_offline),
		TEST(a_paused_running_vcpu_leaves_its_pcpu_at_the_pass),
		TEST(woken_then_paused_before_the_pass_never_runs),
		TEST(blocked_stays_blocked_through_a_pause_and_a_wake_makes_it_offline),
		TEST(a_domain_pause_stops_every_vcpu_and_counts_apart),
		TEST(every_change_of_flags_and_counts_is_traced_with_the_value_after),
		TEST(block_with_an_event_between_flag_and_check_returns_without_descheduling),
		TEST(a_wake_while_block_looks_is_not_lost),
		TEST(yield_of_a_sole_runnable_unit_continues_it),
		TEST(work_sends_the_pcpu_idle_and_the_unit_resumes_afterwards),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
