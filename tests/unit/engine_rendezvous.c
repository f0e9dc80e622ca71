/* SPDX-License-Identifier: MIT */
/*
 * Races of a resource of two pCPUs that the model checker found (tests/model): a member that can
 * run is loaded, and one that cannot is not, without any timer or decision coming to the rescue.
 */
#include "fake_host.h"
#include "probe_policy.h"

static int setup(void **state)
{
	struct fake *f = calloc(1, sizeof(*f));

	assert_int_equal(fake_create(f, 1, 2, 2, probe_policies), 0);
	fake_boot_gran(f, "probe", HV_GRAN_CORE);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	fake_destroy(*state);
	free(*state);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(a_member_that_wakes_while_it_is_saved_is_loaded_again),
		TEST(a_member_left_out_of_a_decision_is_loaded_when_it_wakes_while_saved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
