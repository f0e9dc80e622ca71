/* SPDX-License-Identifier: MIT */
/*
 * What the model checker found (tests/model) in a resource of two pCPUs. Races: a member that can
 * run is loaded, and one that cannot is not, without any timer or decision coming to the rescue.
 * And a gathering that pauses and wakes of one member put off for ever.
 */
#include "fake_host.h"
#include "probe_policy.h"

static int setup(void **state)
{
	struct fake *f = fake_new(1, 2, 2, probe_policies);

	fake_boot_gran(f, "probe", HV_GRAN_CORE);
	*state = f;
	return 0;
}

/* A domain whose two vCPUs run side by side on one core. */
static struct hv_domain *pair(struct fake *f)
{
	struct hv_domain *d = fake_domain(f, 1, 2);

	hv_vcpu_up(d->vcpus[0]);
	hv_vcpu_up(d->vcpus[1]);
	fake_drain(f);
	assert_ptr_equal(fake_guest(f, d->vcpus[0]->pcpu), d->vcpus[0]);
	assert_ptr_equal(fake_guest(f, d->vcpus[1]->pcpu), d->vcpus[1]);
	return d;
}

/* It is off its pCPU, alone, but its registers are still being stored when it may go on. */
static void a_member_that_wakes_while_it_is_saved_is_loaded_again(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = pair(f)->vcpus[0];
	unsigned c = v->pcpu;

	assert_int_equal(hv_pause(v), 0);
	f->hold_saves = true;
	fake_turn(f, c);
	assert_true(f->saving[c] && hv_pcpu_loaded(f->sys, c)->idle);
	assert_int_equal(hv_unpause(v), 0);
	f->hold_saves = false;
	fake_save(f, c);
	fake_drain(f);
	assert_ptr_equal(fake_guest(f, c), v);
	fake_check(f);
}

/* The same after a decision that leaves it out, while its unit goes on. */
static void a_member_left_out_of_a_decision_is_loaded_when_it_wakes_while_saved(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = pair(f)->vcpus[0];
	unsigned c = v->pcpu;

	assert_true(hv_block(v, NULL, NULL));
	f->hold_saves = true;
	fake_drain(f);
	assert_true(f->saving[c] && hv_pcpu_loaded(f->sys, c)->idle);
	assert_true(hv_wake(v));
	f->hold_saves = false;
	fake_save(f, c);
	fake_drain(f);
	assert_ptr_equal(fake_guest(f, c), v);
	fake_check(f);
}

/* It is paused, or goes on, each time its pCPU is back, while the sibling waits for that. */
static void pauses_and_wakes_of_one_member_do_not_put_off_a_gathering_for_ever(void **state)
{
	struct fake *f = *state;
	struct hv_domain *d = pair(f);
	struct hv_vcpu *v = d->vcpus[0];
	unsigned c = v->pcpu, sibling = d->vcpus[1]->pcpu, n = 0;
	unsigned forced = f->forced;

	fake_event(f, sibling, HV_EVENT_SCHEDULE);
	assert_int_equal(hv_pcpu_wait(f->sys, sibling), HV_WAIT_ENTER);
	do {
		assert_true(n < 40);
		assert_int_equal(n++ % 2 ? hv_unpause(v) : hv_pause(v), 0);
		fake_turn(f, c);
	} while (hv_pcpu_wait(f->sys, sibling) == HV_WAIT_ENTER);
	/* 16 times out and in, and out again, by itself; then it came in with the decision. */
	assert_int_equal(f->forced, forced + 33);
	assert_int_equal(v->pause_count, 0);
	fake_drain(f);
	assert_ptr_equal(fake_guest(f, c), v);
	assert_ptr_equal(fake_guest(f, sibling), d->vcpus[1]);
	fake_check(f);
}

/* Only while siblings wait: without a gathering it may come in as often as it likes. */
static void a_member_comes_in_alone_as_often_as_it_wakes(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = pair(f)->vcpus[0];
	unsigned forced = f->forced;

	for (int n = 0; n < 300; n++) {
		assert_int_equal(hv_pause(v), 0);
		fake_drain(f);
		assert_null(fake_guest(f, v->pcpu));
		assert_int_equal(hv_unpause(v), 0);
		fake_drain(f);
		assert_ptr_equal(fake_guest(f, v->pcpu), v);
	}
	assert_int_equal(f->forced, forced + 600);
	fake_check(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fake_tear_down)
		TEST(a_member_that_wakes_while_it_is_saved_is_loaded_again),
		TEST(a_member_left_out_of_a_decision_is_loaded_when_it_wakes_while_saved),
		TEST(pauses_and_wakes_of_one_member_do_not_put_off_a_gathering_for_ever),
		TEST(a_member_comes_in_alone_as_often_as_it_wakes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
