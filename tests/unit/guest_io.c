/*
 * Waiting for devices, timers, semaphores, barriers and channels: workloads sections 1.1, 3.5,
 * 3.9b.
 */
#include "guest_world.h"

#include "guest/kernel.h"

#define KIB 1024LL

static int64_t running_time(const struct world *w, unsigned guest, unsigned vcpu)
{
	struct hv_runstate rs;

	hv_runstate_get(w->vm[guest]->vcpu[vcpu]->hv, &rs);
	return rs.time[HV_RUNNING];
}

static void a_request_takes_latency_and_bytes_over_rate(void **state)
{
	struct op op[] = {COMPUTE(1 * MS), {.kind = OP_IO, .amount = CONST(1000 * KIB)}, DONE};
	struct program p = PROGRAM("p", op);
	struct device_desc d = {.name = "disk", .latency = CONST(2 * MS), .rate = 100 * 1000 * KIB};
	struct task_group g = {.name = "g", .count = 1};
	struct workload wl = WORKLOAD(1, &p, 1, &g, .device = &d, .n_devices = 1, .runs = 1);
	struct world w;

	(void)state;
	world_init(&w, 1, 1);
	w.params.cost.hypercall_pv = 300; /* C3: the kick */
	w.params.cost.exit = 700;
	world_guest(&w, "vm", 1, &wl);
	world_start(&w);
	world_run(&w, SECOND);
	/* 1 + 2 + 10 ms after the kick; C1 at the first entry and when it is woken again. */
	assert_int_equal(world_result(&w, 0).elapsed_last, 13 * MS + 700 + 700);
	/* C1 twice more for two halts, the kick once. */
	assert_int_equal(running_time(&w, 0, 0), 1 * MS + 700 + 700 + 300 + 700 + 700);
	assert_int_equal(world_result(&w, 0).ios, 1);
	world_fini(&w);
}

static void a_device_serves_as_many_requests_at_once_as_it_has_slots(void **state)
{
	static const struct {
		unsigned slots;
		int64_t last;
	} c[] = {{1, 40 * MS}, {2, 20 * MS}, {3, 20 * MS}, {0, 10 * MS}};
	struct op op[] = {{.kind = OP_IO, .amount = CONST(0)}, COUNT(1)};
	struct program p = PROGRAM("p", op);
	struct device_desc d = {.name = "disk", .latency = CONST(10 * MS)};
	struct task_group g = {.name = "g", .count = 4};
	struct workload wl = WORKLOAD(1, &p, 1, &g, .device = &d, .n_devices = 1, .runs = 4);

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct world w;

		d.slots = c[i].slots;
		world_init(&w, 2, 1);
		world_guest(&w, "vm", 2, &wl);
		world_start(&w);
		world_run(&w, c[i].last - 1);
		assert_true(world_result(&w, 0).count < 4);
		world_run(&w, c[i].last);
		assert_int_equal(world_result(&w, 0).count, 4);
		world_fini(&w);
	}
}

static void a_barrier_lets_all_go_when_the_last_arrives(void **state)
{
	struct op fast[] = {LOOP(10, 4), COMPUTE(1 * MS), OP(OP_BARRIER, 0), END(1)};
	struct op slow[] = {LOOP(10, 4), COMPUTE(3 * MS), OP(OP_BARRIER, 0), END(1), DONE};
	struct program p[] = {PROGRAM("fast", fast), PROGRAM("slow", slow)};
	struct barrier_desc b = {.name = "b", .parties = 3, .spin = 5 * MS};
	struct task_group g[] = {
		{.name = "fast", .count = 2, .placement = PLACE_EACH},
		{.name = "slow", .count = 1, .program = 1, .placement = PLACE_ONE, .vcpu = 2}};
	struct workload wl = WORKLOAD(2, p, 2, g, .barrier = &b, .n_barriers = 1, .runs = 1);

	(void)state;
	for (unsigned spin = 0; spin < 2; spin++) {
		struct world w;

		b.kind = spin ? BARRIER_SPIN : BARRIER_SLEEP;
		world_init(&w, 3, 1);
		world_guest(&w, "vm", 3, &wl);
		world_start(&w);
		world_run(&w, SECOND);
		assert_int_equal(world_result(&w, 0).elapsed_last, 30 * MS);
		/* Who spins is busy all the time, who sleeps only for its own work. */
		assert_int_equal(running_time(&w, 0, 0), spin ? 30 * MS : 10 * MS);
		world_fini(&w);
	}
}

static void a_spinning_waiter_sleeps_after_its_limit(void **state)
{
	struct op fast[] = {COMPUTE(1 * MS), OP(OP_BARRIER, 0)};
	struct op slow[] = {COMPUTE(10 * MS), OP(OP_BARRIER, 0), DONE};
	struct program p[] = {PROGRAM("fast", fast), PROGRAM("slow", slow)};
	struct barrier_desc b = {.name = "b", .parties = 2, .kind = BARRIER_SPIN, .spin = 2 * MS};
	struct task_group g[] = {
		{.name = "fast", .count = 1, .placement = PLACE_ONE, .vcpu = 0},
		{.name = "slow", .count = 1, .program = 1, .placement = PLACE_ONE, .vcpu = 1}};
	struct workload wl = WORKLOAD(2, p, 2, g, .barrier = &b, .n_barriers = 1, .runs = 1);
	struct world w;

	(void)state;
	world_alone(&w, 2, 2, &wl);
	world_run(&w, SECOND);
	assert_int_equal(running_time(&w, 0, 0), 3 * MS);
	assert_int_equal(world_result(&w, 0).elapsed_last, 10 * MS);
	world_fini(&w);
}

static void a_semaphore_wakes_as_many_as_are_signalled(void **state)
{
	struct op waiter[] = {FOREVER(4), OP(OP_WAIT, 0), COUNT(1), END(1)};
	struct op signal[] = {
		COMPUTE(1 * MS), {.kind = OP_SIGNAL, .amount = CONST(5)}, COMPUTE(1 * MS)};
	struct program p[] = {PROGRAM("waiter", waiter), PROGRAM("signal", signal)};
	struct semaphore_desc s = {.name = "s", .initial = 2};
	struct task_group g[] = {{.name = "waiter", .count = 3},
				 {.name = "signal", .count = 1, .program = 1}};
	struct workload wl = WORKLOAD(2, p, 2, g, .semaphore = &s, .n_semaphores = 1);
	struct world w;

	(void)state;
	world_alone(&w, 4, 4, &wl);
	world_run(&w, 900 * US);
	assert_int_equal(world_result(&w, 0).count, 2);
	world_run(&w, SECOND);
	assert_int_equal(world_result(&w, 0).count, 7);
	world_fini(&w);
}

/* --- iperf: guest -> netback -> receiver, section 3.5 */

static struct op client_op[] = {FOREVER(5), COMPUTE(16 * US), OP(OP_SEND, 0), COUNT(64 * KIB),
				END(1)};
static struct program client_program = PROGRAM("client", client_op);
static struct channel_desc client_channel = {.name = "tx", .vm = "dom0"};
static struct task_group client_group = {.name = "client", .count = 1};
static struct workload client = {.name = "iperf",
				 .cls = &plain_class,
				 .n_classes = 1,
				 .channel = &client_channel,
				 .n_channels = 1,
				 .program = &client_program,
				 .n_programs = 1,
				 .group = &client_group,
				 .n_groups = 1};

static struct op netback_op[] = {FOREVER(5), OP(OP_RECV, 0), COMPUTE(20 * US), OP(OP_SEND, 1),
				 END(1)};
static struct op receiver_op[] = {FOREVER(5), OP(OP_RECV, 1), COMPUTE(17 * US), COUNT(64 * KIB),
				  END(1)};
static struct program dom0_program[] = {PROGRAM("netback", netback_op),
					PROGRAM("receiver", receiver_op)};
static struct channel_desc dom0_channel[] = {{.name = "tx", .slots = 16, .poll = 50 * US},
					     {.name = "rx", .slots = 16, .poll = 50 * US}};
static struct task_group dom0_group[] = {{.name = "netback", .count = 1, .program = 0},
					 {.name = "receiver", .count = 1, .program = 1}};
static struct workload dom0 = {.name = "iperf-dom0",
			       .cls = &plain_class,
			       .n_classes = 1,
			       .channel = dom0_channel,
			       .n_channels = 2,
			       .program = dom0_program,
			       .n_programs = 2,
			       .group = dom0_group,
			       .n_groups = 2};

static void a_stream_is_as_fast_as_its_slowest_stage_and_needs_no_wake_ups(void **state)
{
	struct guest_result before, after;
	struct world w;

	(void)state;
	world_init(&w, 4, 1);
	world_guest(&w, "dom0", 2, &dom0);
	world_guest(&w, "client", 2, &client);
	world_start(&w);
	world_run(&w, 100 * MS);
	before = world_result(&w, 0);
	world_run(&w, 1100 * MS);
	after = world_result(&w, 0);
	/* 1 s / 20 us = 50,000 segments, at both ends. */
	assert_in_range((after.count - before.count) / (64 * KIB), 49999, 50001);
	assert_int_equal(after.halts, before.halts);
	assert_int_equal(after.wakes, before.wakes);
	assert_in_range(world_result(&w, 1).count / (64 * KIB), 55000, 55020);
	world_fini(&w);
}

static void a_side_that_sleeps_is_woken_across_vms(void **state)
{
	struct op slow_op[] = {FOREVER(6),     SLEEP(10 * MS), COMPUTE(16 * US),
			       OP(OP_SEND, 0), COUNT(1),       END(1)};
	struct program slow_program = PROGRAM("slow", slow_op);
	struct workload slow = client;
	struct guest_result r;
	struct world w;

	(void)state;
	slow.program = &slow_program;
	world_init(&w, 4, 1);
	w.params.cost.exit = 700;
	world_guest(&w, "dom0", 2, &dom0);
	world_guest(&w, "client", 1, &slow);
	world_start(&w);
	world_run(&w, SECOND);
	r = world_result(&w, 0);
	/* 99 segments, each wakes netback and then the receiver. */
	assert_int_equal(world_result(&w, 1).count, 99);
	assert_int_equal(r.count, 99 * 64 * KIB);
	assert_int_equal(r.wakes, 2 + 2 * 99);
	world_fini(&w);
}

static void a_full_ring_stops_the_sender(void **state)
{
	struct op stuck_op[] = {SLEEP(SECOND)};
	struct program stuck[] = {PROGRAM("netback", stuck_op), PROGRAM("receiver", stuck_op)};
	struct workload deaf = dom0;
	struct world w;

	(void)state;
	deaf.program = stuck;
	world_init(&w, 4, 1);
	world_guest(&w, "dom0", 2, &deaf);
	world_guest(&w, "client", 1, &client);
	world_start(&w);
	world_run(&w, 500 * MS);
	assert_int_equal(world_result(&w, 1).count, 16 * 64 * KIB);
	/* 17 segments made, then 50 us of polling. */
	assert_int_equal(running_time(&w, 1, 0), 17 * 16 * US + 50 * US);
	world_fini(&w);
}

static void a_channel_that_the_other_vm_does_not_have_is_an_error(void **state)
{
	const char *vm = NULL, *channel = NULL;
	struct world w;

	(void)state;
	world_init(&w, 4, 1);
	world_guest(&w, "client", 1, &client);
	world_guest(&w, "dom0", 1, &workload_idle);
	assert_int_equal(guest_link(w.guest, w.n, &vm, &channel), -HV_ENOENT);
	assert_string_equal(vm, "dom0");
	assert_string_equal(channel, "tx");
	world_fini(&w);
}

static void a_peer_may_be_created_later(void **state)
{
	const char *vm, *channel;
	struct world w;

	(void)state;
	world_init(&w, 4, 1);
	world_guest(&w, "client", 1, &client);
	world_start(&w);
	world_run(&w, 100 * MS);
	assert_int_equal(world_result(&w, 0).count, 0);
	assert_int_equal(running_time(&w, 0, 0), 16 * US);
	world_guest(&w, "dom0", 2, &dom0);
	assert_int_equal(guest_link(w.guest, w.n, &vm, &channel), 0);
	guest_start(w.guest[1]);
	world_run(&w, 200 * MS);
	/* 100 ms / 20 us, and what is on the way. */
	assert_in_range(world_result(&w, 0).count / (64 * KIB), 5000, 5034);
	world_fini(&w);
}

static void a_vm_that_goes_away_leaves_its_peer_waiting(void **state)
{
	int64_t sent;
	struct world w;

	(void)state;
	world_init(&w, 4, 1);
	world_guest(&w, "client", 1, &client);
	world_guest(&w, "dom0", 2, &dom0);
	world_start(&w);
	world_run(&w, 100 * MS);
	guest_stop(w.guest[1]);
	mc_vm_destroy(w.vm[1]);
	world_run(&w, 200 * MS);
	sent = world_result(&w, 0).count;
	assert_in_range(sent / (64 * KIB), 5000, 5034);
	world_run(&w, 300 * MS);
	assert_int_equal(world_result(&w, 0).count, sent);
	world_fini(&w);
}

/* --- noise, section 3.9b */

static void noise_is_on_for_55_percent_of_the_time(void **state)
{
	struct op op[] = {FOREVER(4),
			  {.kind = OP_SLEEP, .amount = EXP(4500 * US)},
			  {.kind = OP_COMPUTE, .arg = -1, .amount = EXP(5500 * US)},
			  END(1)};
	struct program p = PROGRAM("noise", op);
	struct task_group g = {.name = "noise", .count = 12, .placement = PLACE_EACH};
	struct workload wl = {.name = "noise",
			      .cls = &plain_class,
			      .n_classes = 1,
			      .program = &p,
			      .n_programs = 1,
			      .group = &g,
			      .n_groups = 1};
	struct world w;
	int64_t on = 0;

	(void)state;
	world_init(&w, 12, 1);
	world_guest(&w, "noise", 12, &wl);
	world_start(&w);
	world_run(&w, 20 * SECOND);
	for (unsigned i = 0; i < 12; i++)
		on += running_time(&w, 0, i);
	/* 55 % of 240 s; one per cent is six standard deviations. */
	assert_in_range(on, 130 * SECOND, 134 * SECOND);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_takes_latency_and_bytes_over_rate),
		cmocka_unit_test(a_device_serves_as_many_requests_at_once_as_it_has_slots),
		cmocka_unit_test(a_barrier_lets_all_go_when_the_last_arrives),
		cmocka_unit_test(a_spinning_waiter_sleeps_after_its_limit),
		cmocka_unit_test(a_semaphore_wakes_as_many_as_are_signalled),
		cmocka_unit_test(a_stream_is_as_fast_as_its_slowest_stage_and_needs_no_wake_ups),
		cmocka_unit_test(a_side_that_sleeps_is_woken_across_vms),
		cmocka_unit_test(a_full_ring_stops_the_sender),
		cmocka_unit_test(a_channel_that_the_other_vm_does_not_have_is_an_error),
		cmocka_unit_test(a_peer_may_be_created_later),
		cmocka_unit_test(a_vm_that_goes_away_leaves_its_peer_waiting),
		cmocka_unit_test(noise_is_on_for_55_percent_of_the_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
