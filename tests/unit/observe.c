/* The ledger's laws on random sequences of events, and what it says when one is broken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "observe_world.h"

static struct observe *create(void)
{
	struct observe_config config = {.topology = &world_topology};
	struct observe *o = NULL;

	assert_int_equal(observe_create(&config, &o), 0);
	return o;
}

/* Observer and the test's own books say the same. */
static void compare(struct world *w)
{
	struct observe_violation broken;
	struct observe_totals totals;
	uint64_t wakes = 0;
	int64_t delay = 0;

	world_report_all(w);
	assert_true(observe_check(w->o, w->now, &broken));
	for (int i = 0; i < WORLD_VCPUS; i++) {
		const struct world_vcpu *expected = &w->vcpu[i];
		const struct observe_vcpu *v = observe_vcpu(w->o, expected->v.observer);

		for (int c = 0; c < OBSERVE_NR_TIMES; c++)
			assert_int_equal(v->ns[c], expected->expected[c]);
		for (int d = 0; d < OBSERVE_NR_DISTANCES; d++)
			assert_int_equal(v->counts.migrations[d], expected->moves[d]);
		assert_int_equal(v->counts.dispatches, expected->dispatches);
		assert_int_equal(v->max_wake, expected->max_wake);
	}
	for (unsigned c = 0; c < WORLD_PCPUS; c++) {
		for (int m = 0; m < OBSERVE_NR_MODES; m++)
			assert_int_equal(observe_pcpu_result(w->o, c)->ns[m], w->mode[c][m]);
	}
	for (uint32_t d = 0; d < observe_nr_domains(w->o); d++) {
		wakes += observe_domain(w->o, d)->wake.count;
		delay += observe_domain(w->o, d)->wake.sum;
	}
	assert_int_equal(wakes, w->wake_count);
	assert_int_equal(delay, w->wake_sum);
	observe_totals(w->o, &totals);
	assert_int_equal(totals.shared, w->shared);
	assert_int_equal(totals.switches, w->switches);
}

static void random_sequences_keep_every_law(void **state)
{
	int64_t shared = 0, wakes = 0, moves = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct world w;

		world_create(&w, create(), seed);
		for (int step = 0; step < 8000; step++) {
			world_step(&w);
			if (step % 97 == 0)
				compare(&w);
			if (step == 1000)
				world_mark(&w);
			if (step % 2500 == 2499)
				world_destroy_vcpu(&w, step / 2500);
		}
		compare(&w);
		shared += w.shared;
		wakes += (int64_t)w.wake_count;
		moves += (int64_t)w.vcpu[8].moves[OBSERVE_SAME_CORE];
		assert_int_equal(observe_close(w.o, w.now), 0);
		observe_destroy(w.o);
	}
	/* The sequences do reach what they are to test. */
	assert_true(shared > 0 && wakes > 1000 && moves > 0);
}

/* ------------------------------------------------------------------ a world of one vCPU */

static void start_one(struct world *w)
{
	world_create(w, create(), 1);
	world_advance(w, 1000);
	world_start(w, 4, 2); /* d1v1 on pCPU 2 */
	w->vcpu[4].in_guest = true;
	world_show_pcpu(w, 2);
}

static void expect_broken(struct world *w, const char *part)
{
	struct observe_violation broken;

	assert_false(observe_check(w->o, w->now, &broken));
	if (!strstr(broken.text, part))
		print_error("it says: %s\n", broken.text);
	assert_non_null(strstr(broken.text, part));
	/* And it goes on saying so. */
	assert_false(observe_check(w->o, w->now, &broken));
	assert_non_null(strstr(broken.text, part));
	observe_destroy(w->o);
}

static void running_that_is_not_reported_breaks_the_law_and_names_the_vcpu(void **state)
{
	struct world w;

	(void)state;
	start_one(&w);
	world_advance(&w, 500);
	expect_broken(&w, "d1v1: running is reported up to 1000 ns, expected up to 1500");
}

static void a_report_with_a_gap_breaks_the_law(void **state)
{
	const int64_t parts[OBSERVE_NR_RUN] = {499};
	struct world w;

	(void)state;
	start_one(&w);
	world_advance(&w, 500);
	observe_run(w.o, &w.vcpu[4].v, 1001, 1500, parts);
	expect_broken(&w, "d1v1: running is reported for 1001..1500 ns, expected it from 1000");
}

static void parts_that_do_not_sum_to_the_interval_break_the_law(void **state)
{
	const int64_t parts[OBSERVE_NR_RUN] = {400, 99};
	struct world w;

	(void)state;
	start_one(&w);
	world_advance(&w, 500);
	observe_run(w.o, &w.vcpu[4].v, 1000, 1500, parts);
	expect_broken(&w, "d1v1: parts of 1000..1500 ns sum to 499, not to 500");
}

static void a_negative_part_breaks_the_law(void **state)
{
	const int64_t parts[OBSERVE_NR_RUN] = {501, -1};
	struct world w;

	(void)state;
	start_one(&w);
	world_advance(&w, 500);
	observe_run(w.o, &w.vcpu[4].v, 1000, 1500, parts);
	expect_broken(&w, "d1v1: -1 ns of smt");
}

static void running_again_with_the_last_run_unreported_breaks_the_law(void **state)
{
	struct world w;

	(void)state;
	start_one(&w);
	world_advance(&w, 500);
	world_stop(&w, 2, true);
	w.vcpu[4].unreported_end = -1; /* the machine forgets it */
	world_start(&w, 4, 3);
	expect_broken(&w, "d1v1 ran until 1500 ns, but its running is reported only up to 1000");
}

static void guest_time_of_pcpus_and_vcpus_must_agree(void **state)
{
	struct world w;

	(void)state;
	start_one(&w);
	world_advance(&w, 300);
	observe_pcpu(w.o, 2, w.now, OBSERVE_PCPU_HYPERVISOR, 0);
	world_advance(&w, 200);
	world_report(&w, &w.vcpu[4]); /* all 500 ns as guest time */
	expect_broken(&w, "the vCPUs were in their guests for 500 ns, the pCPUs for 300");
}

static void the_engines_own_runstates_must_agree(void **state)
{
	struct world w;

	(void)state;
	start_one(&w);
	world_advance(&w, 500);
	world_report(&w, &w.vcpu[4]);
	w.vcpu[4].v.runstate.since -= 7;
	expect_broken(&w, "d1v1: it ran 500 ns, by the engine's runstates 507");
}

static void a_runstate_out_of_turn_breaks_the_law(void **state)
{
	struct world w;

	(void)state;
	start_one(&w);
	world_advance(&w, 500);
	world_trace(&w, HV_TRACE_RUNSTATE, &w.vcpu[4], HV_BLOCKED, HV_RUNNABLE);
	expect_broken(&w, "d1v1 leaves runstate 2 at 1500 ns, but it was in 0");
}

static void time_that_runs_back_breaks_the_law(void **state)
{
	struct world w;

	(void)state;
	start_one(&w);
	observe_pcpu(w.o, 0, 999, OBSERVE_PCPU_HYPERVISOR, 0);
	expect_broken(&w, "time runs back from 1000 to 999 ns");
}

static void a_law_broken_in_warm_up_is_not_forgotten(void **state)
{
	struct world w;

	(void)state;
	start_one(&w);
	world_advance(&w, 500);
	observe_mark(w.o, w.now);
	expect_broken(&w, "d1v1: running is reported up to 1000 ns");
}

/* ------------------------------------------------------------------ counters and waits */

static void a_tickle_is_wasted_if_the_pass_after_it_goes_on(void **state)
{
	struct hv_trace tickle = {.kind = HV_TRACE_TICKLE, .pcpu = 2};
	struct world w;

	(void)state;
	start_one(&w);
	tickle.time = w.now;
	observe_trace(w.o, &tickle);
	observe_trace(w.o, &tickle); /* two tickles before one pass */
	world_switch(&w, 2, &w.vcpu[4].unit, &w.vcpu[4].unit);
	assert_int_equal(observe_pcpu_result(w.o, 2)->tickles, 2);
	assert_int_equal(observe_pcpu_result(w.o, 2)->wasted, 2);
	observe_trace(w.o, &tickle);
	world_stop(&w, 2, false);
	world_switch(&w, 2, &w.idle, &w.idle); /* nobody asked for this pass */
	assert_int_equal(observe_pcpu_result(w.o, 2)->wasted, 2);
	observe_trace(w.o, &tickle);
	world_switch(&w, 2, &w.idle, &w.idle); /* idle stays idle */
	assert_int_equal(observe_pcpu_result(w.o, 2)->wasted, 3);
	assert_int_equal(observe_pcpu_result(w.o, 2)->tickles, 4);
	observe_destroy(w.o);
}

static void a_wait_for_the_cap_is_no_ready_time_and_no_stall(void **state)
{
	struct observe_violation broken;
	struct observe_stall stall;
	const struct observe_vcpu *v;
	struct world w;

	(void)state;
	world_create(&w, create(), 1);
	for (int i = 0; i < WORLD_VCPUS; i++) {
		if (i != 4)
			world_destroy_vcpu(&w, i);
	}
	world_advance(&w, 3000);
	world_flip_flag(&w, &w.vcpu[4], HV_PF_PARKED);
	world_advance(&w, 100000);
	world_flip_flag(&w, &w.vcpu[4], HV_PF_PARKED);
	world_advance(&w, 2000);
	world_start(&w, 4, 0);
	assert_true(observe_check(w.o, w.now, &broken));
	v = observe_vcpu(w.o, w.vcpu[4].v.observer);
	assert_int_equal(observe_ready_time(v->ns), 5000);
	assert_int_equal(v->ns[OBSERVE_WAIT_CAP], 100000);
	assert_int_equal(v->max_wait, 105000);
	assert_int_equal(v->max_ready, 3000);
	assert_int_equal(observe_domain_find(w.o, 1)->ready.max, 5000);
	assert_false(observe_stalled(w.o, w.now, 3000, &stall));
	assert_true(observe_stalled(w.o, w.now, 2999, &stall));
	assert_int_equal(stall.vcpu, w.vcpu[4].v.observer);
	assert_int_equal(stall.since, 0);
	observe_destroy(w.o);
}

static void a_stall_that_lasts_is_seen_while_it_lasts(void **state)
{
	struct observe_violation broken;
	struct observe_totals totals;
	struct observe_stall stall;
	struct world w;

	(void)state;
	start_one(&w);
	world_stop(&w, 2, false);
	world_advance(&w, 7000);
	for (int i = 0; i < WORLD_VCPUS; i++) {
		if (i != 4)
			world_destroy_vcpu(&w, i);
	}
	world_mark(&w);
	world_advance(&w, 500);
	assert_true(observe_stalled(w.o, w.now, 7499, &stall));
	assert_int_equal(stall.vcpu, w.vcpu[4].v.observer);
	assert_int_equal(stall.since, 1000);
	assert_int_equal(stall.lasted, 7500);
	/* and is the longest wait, though it has not ended */
	assert_true(observe_check(w.o, w.now, &broken));
	observe_totals(w.o, &totals);
	assert_int_equal(totals.vcpus.max_ready, 7500);
	assert_int_equal(totals.vcpus.max_wait, 7500);
	observe_destroy(w.o);
}

static void a_wake_while_paused_delays_nobody(void **state)
{
	struct world_vcpu *v;
	struct world w;

	(void)state;
	start_one(&w);
	v = &w.vcpu[4];
	world_flip_flag(&w, v, HV_PF_BLOCKED);
	world_stop(&w, 2, false);
	world_flip_pause(&w, v);
	world_wake(&w, v);
	world_advance(&w, 90000);
	world_flip_pause(&w, v);
	world_advance(&w, 10);
	world_start(&w, 4, 2);
	assert_int_equal(observe_vcpu(w.o, v->v.observer)->counts.wakes, 1);
	assert_int_equal(observe_domain_find(w.o, 1)->wake.count, 0);
	assert_int_equal(observe_vcpu(w.o, v->v.observer)->max_wait, 1000);
	observe_destroy(w.o);
}

static void a_vcpu_that_comes_up_is_delayed_from_then_on(void **state)
{
	struct world_vcpu *v;
	struct world w;

	(void)state;
	start_one(&w);
	v = &w.vcpu[4];
	world_stop(&w, 2, false);
	world_flip_flag(&w, v, HV_PF_DOWN);
	world_advance(&w, 600);
	world_trace(&w, HV_TRACE_WAKE, v, 0, 0); /* the engine says so before the flag is cleared */
	world_flip_flag(&w, v, HV_PF_DOWN);
	world_advance(&w, 40);
	world_start(&w, 4, 2);
	assert_int_equal(observe_domain_find(w.o, 1)->wake.count, 1);
	assert_int_equal(observe_domain_find(w.o, 1)->wake.max, 40);
	observe_destroy(w.o);
}

static void isolation_counts_two_domains_on_one_core_only(void **state)
{
	struct observe_totals totals;
	struct observe_violation broken;
	struct observe *o = create();

	(void)state;
	observe_pcpu(o, 0, 0, OBSERVE_PCPU_GUEST, 1);
	observe_pcpu(o, 2, 0, OBSERVE_PCPU_GUEST, 2);	/* another core */
	observe_pcpu(o, 1, 100, OBSERVE_PCPU_GUEST, 1); /* the same domain */
	observe_pcpu(o, 1, 200, OBSERVE_PCPU_GUEST, 3); /* 200..250 */
	observe_pcpu(o, 0, 250, OBSERVE_PCPU_HYPERVISOR, 1);
	observe_pcpu(o, 0, 300, OBSERVE_PCPU_GUEST, 3);
	observe_pcpu(o, 1, 400, OBSERVE_PCPU_IDLE, 0);
	observe_pcpu(o, 1, 500, OBSERVE_PCPU_GUEST, 0); /* 500..510 */
	observe_check(o, 510, &broken);
	observe_totals(o, &totals);
	assert_int_equal(totals.shared, 60);
	observe_mark(o, 510);
	observe_check(o, 517, &broken); /* the window starts within a shared stretch */
	observe_totals(o, &totals);
	assert_int_equal(totals.shared, 7);
	observe_destroy(o);
}

static void waiting_beside_an_idle_pcpu_is_summed(void **state)
{
	struct observe_sum sum;
	struct world w;

	(void)state;
	start_one(&w);
	observe_idle_runnable(w.o, &w.vcpu[1].v, 100, 700);
	observe_idle_runnable(w.o, &w.vcpu[1].v, 900, 1000);
	observe_domain_sum(w.o, observe_domain_find(w.o, 1), &sum);
	assert_int_equal(sum.idle_runnable, 700);
	world_mark(&w);
	world_advance(&w, 50);
	observe_idle_runnable(w.o, &w.vcpu[1].v, 600, 1050); /* the window starts at 1000 */
	observe_domain_sum(w.o, observe_domain_find(w.o, 1), &sum);
	assert_int_equal(sum.idle_runnable, 50);
	observe_destroy(w.o);
}

static void sums_over_domains_make_the_total(void **state)
{
	struct observe_totals totals;
	int64_t ns[OBSERVE_NR_TIMES] = {0}, elapsed = 0;
	uint64_t dispatches = 0;
	struct world w;

	(void)state;
	world_create(&w, create(), 77);
	for (int step = 0; step < 3000; step++)
		world_step(&w);
	compare(&w);
	observe_totals(w.o, &totals);
	for (uint32_t d = 0; d < observe_nr_domains(w.o); d++) {
		struct observe_sum sum;

		observe_domain_sum(w.o, observe_domain(w.o, d), &sum);
		for (int c = 0; c < OBSERVE_NR_TIMES; c++)
			ns[c] += sum.ns[c];
		elapsed += sum.elapsed;
		dispatches += sum.counts.dispatches;
	}
	for (int c = 0; c < OBSERVE_NR_TIMES; c++)
		assert_int_equal(totals.vcpus.ns[c], ns[c]);
	assert_int_equal(totals.vcpus.elapsed, elapsed);
	assert_int_equal(elapsed, WORLD_VCPUS * w.now);
	assert_int_equal(totals.vcpus.counts.dispatches, dispatches);
	assert_true(dispatches > 0);
	observe_destroy(w.o);
}

static void domains_have_names(void **state)
{
	struct observe *o = create();
	struct world w;

	(void)state;
	assert_int_equal(observe_domain_name(o, 1, "web"), 0);
	world_create(&w, o, 1);
	assert_string_equal(observe_domain_find(o, 1)->name, "web");
	assert_string_equal(observe_domain_find(o, 2)->name, "d2");
	assert_int_equal(observe_domain_name(o, 2, "db"), 0);
	assert_string_equal(observe_domain_find(o, 2)->name, "db");
	assert_int_equal(observe_domain_find(o, 2)->nr_vcpus, 3);
	assert_null(observe_domain_find(o, 3));
	assert_int_equal(observe_nr_domains(o), 3);
	observe_destroy(o);
}

static void wrong_topologies_are_refused(void **state)
{
	const struct hv_topology none = {0, world_core, world_socket, world_node};
	struct observe_config config = {.topology = &none};
	struct observe *o = NULL;

	(void)state;
	assert_int_equal(observe_create(&config, &o), -HV_EINVAL);
	config.topology = NULL;
	assert_int_equal(observe_create(&config, &o), -HV_EINVAL);
	config.topology = &world_topology;
	config.start = -1;
	assert_int_equal(observe_create(&config, &o), -HV_EINVAL);
	assert_null(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_sequences_keep_every_law),
		cmocka_unit_test(running_that_is_not_reported_breaks_the_law_and_names_the_vcpu),
		cmocka_unit_test(a_report_with_a_gap_breaks_the_law),
		cmocka_unit_test(parts_that_do_not_sum_to_the_interval_break_the_law),
		cmocka_unit_test(a_negative_part_breaks_the_law),
		cmocka_unit_test(running_again_with_the_last_run_unreported_breaks_the_law),
		cmocka_unit_test(guest_time_of_pcpus_and_vcpus_must_agree),
		cmocka_unit_test(the_engines_own_runstates_must_agree),
		cmocka_unit_test(a_runstate_out_of_turn_breaks_the_law),
		cmocka_unit_test(time_that_runs_back_breaks_the_law),
		cmocka_unit_test(a_law_broken_in_warm_up_is_not_forgotten),
		cmocka_unit_test(a_tickle_is_wasted_if_the_pass_after_it_goes_on),
		cmocka_unit_test(a_wait_for_the_cap_is_no_ready_time_and_no_stall),
		cmocka_unit_test(a_stall_that_lasts_is_seen_while_it_lasts),
		cmocka_unit_test(a_wake_while_paused_delays_nobody),
		cmocka_unit_test(a_vcpu_that_comes_up_is_delayed_from_then_on),
		cmocka_unit_test(isolation_counts_two_domains_on_one_core_only),
		cmocka_unit_test(waiting_beside_an_idle_pcpu_is_summed),
		cmocka_unit_test(sums_over_domains_make_the_total),
		cmocka_unit_test(domains_have_names),
		cmocka_unit_test(wrong_topologies_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
