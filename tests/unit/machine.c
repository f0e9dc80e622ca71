/*
 * The machine: latencies, pace, charges and interrupts as the hardware model's worked examples say.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "machine/hwmodel.h"
#include "machine_guest.h"

#define R(x) ((int64_t)((x)*MC_ONE + 0.5))
#define US   1000LL
#define MS   1000000LL

static const struct mc_class plain = {.sigma = MC_ONE};
static const struct mc_class generic = {.sigma = R(0.58), .mu = R(0.15)};

static void near(double got, double want, double tolerance)
{
	if (!(fabs(got - want) <= tolerance * fabs(want)))
		fail_msg("%.8f, expected %.8f within %g", got, want, tolerance);
}

static void run(struct world *w, hv_time until)
{
	const struct mc_fault *f = mc_run_until(w->m, until);
	struct observe_violation v;

	if (f)
		fail_msg("fault at %lld: %s", (long long)f->time, f->text);
	if (w->observe && !observe_check(w->observe, until, &v))
		fail_msg("%s", v.text);
}

static void start(struct world *w, const char *policy)
{
	int err = world_start(w, policy, true, NULL);

	if (err)
		fail_msg("machine: error %d", err);
}

static const int64_t *ledger(struct world *w, const struct rule *r)
{
	return observe_vcpu(w->observe, r->mv->hv->observer)->ns;
}

/* ------------------------------------------------------- latency of a wake (example 9) */

static hv_time wake_latency(hv_time idle, bool deep)
{
	struct world *w = world_new(2, 4, 2);
	struct rule *r;
	hv_time sent, latency;

	if (deep) {
		w->params.nr_cstates = 4;
		w->params.cstate[2] = (struct mc_cstate){20 * US, 80 * US};
		w->params.cstate[3] = (struct mc_cstate){200 * US, 800 * US};
	}
	start(w, "null");
	r = world_vcpu(w, world_vm(w, 1, 0), &plain, 0, 0, -1);
	world_up(w);
	run(w, 10 * MS); /* it has run, found no work and halted */
	mc_interrupt(r->mv, NULL, 1);
	run(w, 11 * MS);
	assert_int_equal(r->interrupts, 1);
	/* It halts in its handler: C1, then C4 to the idle context; idle from then on. */
	sent = r->last_interrupt + 700 + 2000 + idle;
	if (sent < 11 * MS) { /* again, from a clean start of idleness */
		mc_interrupt(r->mv, NULL, 1);
		run(w, 12 * MS);
		sent = r->last_interrupt + 700 + 2000 + idle;
	}
	mc_timer_set(&r->timer, sent);
	run(w, sent + MS);
	latency = r->last_interrupt - sent;
	world_free(w);
	return latency;
}

static void wake_of_a_halted_vcpu_costs_ipi_idle_exit_switch_and_entry(void **state)
{
	(void)state;
	assert_int_equal(wake_latency(5 * MS, false), 1000 + 10000 + 2000 + 700); /* C1E at most */
	assert_int_equal(wake_latency(5 * MS, true), 1000 + 200000 + 2000 + 700);
}

/* The same for short idle times: the wake is sent while the run goes on. */
struct short_idle {
	struct world *w;
	struct rule *r;
	struct mc_timer t;
	hv_time sent;
};

static void send_now(struct mc_timer *t)
{
	struct short_idle *s = t->data;

	s->sent = mc_now(s->w->m);
	mc_interrupt(s->r->mv, NULL, 1);
}

static hv_time short_wake_latency(hv_time idle)
{
	struct short_idle s = {.w = world_new(2, 4, 2)};
	hv_time halted, latency;

	start(s.w, "null");
	s.r = world_vcpu(s.w, world_vm(s.w, 1, 0), &plain, 0, 0, -1);
	world_up(s.w);
	run(s.w, MS);
	mc_timer_init(&s.t, s.w->m, MC_TIMER_WAKE, 99, send_now, &s);
	mc_timer_set(&s.t, 2 * MS);
	/* woken by this from C1E: handler after 13.7 us, then C1 and C4 into idleness */
	halted = 2 * MS + 13700 + 700 + 2000;
	run(s.w, halted);
	mc_timer_set(&s.t, halted + idle);
	run(s.w, 10 * MS);
	assert_int_equal(s.r->interrupts, 2);
	latency = s.r->last_interrupt - s.sent;
	world_free(s.w);
	return latency;
}

static void idle_exit_depends_on_time_idle(void **state)
{
	(void)state;
	assert_int_equal(short_wake_latency(50 * US), 13700);
	assert_int_equal(short_wake_latency(5 * US), 3700);
	assert_int_equal(short_wake_latency(6 * US), 6700);
	assert_int_equal(short_wake_latency(20 * US), 13700);
}

/* ------------------------------------------------------- pace (examples 1, 2, 3, 7, 10) */

struct switch_log {
	hv_time to_guest[64]; /* last time a switch away from idle began, by pCPU */
};
static struct switch_log switch_log;

static void log_switch(void *ctx, const struct hv_trace *ev)
{
	(void)ctx;
	if (ev->kind == HV_TRACE_SWITCH && ev->prev->idle)
		switch_log.to_guest[ev->pcpu] = ev->time;
}

static void sibling_that_starts_slows_the_rest_of_the_work(void **state)
{
	struct world *w = world_new(1, 1, 2);
	struct rule *a, *b;
	hv_time begin, slow;

	(void)state;
	assert_int_equal(world_start(w, "null", true, log_switch), 0);
	a = world_vcpu(w, world_vm(w, 1, 0), &generic, 1000000, 10000 * MS, 0);
	b = world_vcpu(w, world_vm(w, 1, 0), &generic, 100 * MS, 0, 1);
	hv_vcpu_up(a->mv->hv);
	run(w, 1000); /* the request is on its way */
	run(w, 400000);
	begin = a->first_dispatched;
	assert_int_equal(begin, 1000 + 2000 + 700);
	run(w, begin + 399000);
	hv_vcpu_up(b->mv->hv);
	run(w, 10 * MS);
	slow = switch_log.to_guest[1]; /* hypervisor code presses like any other */
	assert_int_equal(a->done, 1);
	assert_int_equal(a->last_done,
			 slow + hw_wall(1000000 - (slow - begin),
					hw_pace(generic.mu, MC_ONE, generic.sigma, MC_ONE)));
	assert_int_equal(ledger(w, a)[OBSERVE_USEFUL], 1000000);
	near((double)ledger(w, a)[OBSERVE_SMT], (1000000 - (double)(slow - begin)) * 0.615517,
	     1e-4);
	world_free(w);
}

/* Time per nominal ns beside a sibling that runs class cls, of the same VM or another. */
static double pace_beside(const struct mc_class *cls, bool same_vm, bool spin)
{
	struct world *w = world_new(1, 1, 2);
	struct mc_vm *vm;
	struct rule *a, *b;
	hv_time first;
	double pace;

	start(w, "null");
	vm = world_vm(w, 2, 0);
	b = world_vcpu(w, vm, cls, 1000000 * MS, 0, 1);
	if (!same_vm)
		vm = world_vm(w, 1, 0);
	a = world_vcpu(w, vm, cls, 10 * MS, 0, 0);
	world_up(w);
	run(w, 50 * MS);
	if (spin)
		mc_work(b->mv, MC_SPIN, cls, MC_FOREVER);
	run(w, 100 * MS);
	first = a->last_done;
	a->done = 0;
	run(w, 500 * MS);
	pace = (double)(a->last_done - first) / ((double)a->done * 10e6);
	world_free(w);
	return pace;
}

static void sibling_pressure_by_vm_and_kind(void **state)
{
	const struct mc_class linpack = {.sigma = R(0.535), .mu = R(0.05)};

	(void)state;
	near(pace_beside(&generic, false, false), 1.615517, 1e-5);
	near(pace_beside(&linpack, true, false), 0.95 / 0.5815 + 0.05, 1e-5);
	near(pace_beside(&linpack, false, false), 0.95 / 0.535 + 0.05, 1e-5);
	near(pace_beside(&generic, false, true), 0.85 / 0.832 + 0.15, 1e-5);
}

static void move_inside_the_llc_costs_a_cold_phase(void **state)
{
	const struct mc_class build = {.sigma = R(0.58), .mu = R(0.15), .ws = 3 << 19};
	struct world *w = world_new(1, 2, 1);
	struct hv_mask one = {{0}};
	struct rule *r;
	int64_t cold;

	(void)state;
	w->params.llc_bytes = 24 << 20;
	w->params.mem_bw_thread = 5000000000;
	start(w, "credit2");
	r = world_vcpu(w, world_vm(w, 1, 0), &build, 1000000 * MS, 0, -1);
	world_up(w);
	run(w, 100 * MS);
	cold = ledger(w, r)[OBSERVE_COLD]; /* the first time everything was cold */
	assert_int_equal(cold, hw_debt(&w->params, 3 << 19, 0, 0, MC_ONE));
	hv_mask_set(&one, r->mv->pcpu ? 0 : 1);
	assert_int_equal(hv_affinity_set(r->mv->hv, &one, NULL), 0);
	run(w, 200 * MS);
	assert_int_equal(r->dispatched, 2);
	near((double)(ledger(w, r)[OBSERVE_COLD] - cold), 262144.0 / 14, 1e-4);
	world_free(w);
}

static void jbb_of_six_and_ten_vms_pinned(void **state)
{
	const struct mc_class jbb = {.sigma = R(0.52), .mu = R(0.35), .ws = 3 << 20};
	static const double want[] = {0.6755, 0.4420};

	(void)state;
	for (unsigned k = 0; k < 2; k++) {
		unsigned vms = k ? 10 : 6;
		struct world *w = world_new(2, 4, 2);
		int64_t useful = 0;

		/* capacity only: no costs, no locks, caches that fill at once */
		w->params.cost = (struct mc_costs){.wake_scale = MC_ONE};
		w->params.lock_base = w->params.lock_per_entity = 0;
		w->params.l3_bw = w->params.mem_bw_thread = INT64_MAX;
		start(w, "credit2");
		/* vCPU k on core k mod 8, thread (k div 8) mod 2, memory on its node; cores are
		 * counted round the sockets, so that six VMs put six vCPUs on each */
		for (unsigned v = 0; v < 2 * vms; v += 2) {
			struct mc_vm *vm[2];

			for (unsigned i = 0; i < 2; i++) {
				unsigned core = (v + i) % 8;
				unsigned c = core % 2 * 8 + core / 2 * 2 + (v + i) / 8 % 2;

				vm[i] = world_vm(w, 1, (int)w->node[c]);
				assert_non_null(
					world_vcpu(w, vm[i], &jbb, 1000000 * MS, 0, (int)c));
			}
		}
		world_up(w);
		run(w, 200 * MS);
		observe_mark(w->observe, 200 * MS);
		run(w, 5200 * MS);
		for (unsigned i = 0; i < w->nr_rules; i++)
			useful += ledger(w, &w->rules[i])[OBSERVE_USEFUL];
		near((double)useful / (5000e6 * w->nr_rules), want[k], 1e-4);
		world_free(w);
	}
}

/* ------------------------------------------------------------------ interrupts */

static void send_to_next(struct rule *r)
{
	mc_interrupt(r[1].mv, r->mv, 4);
	mc_work(r->mv, MC_COMPUTE, r->cls, 100 * MS);
	r->on_done = NULL;
}

static void guest_ipi_to_a_running_vcpu(void **state)
{
	struct world *w = world_new(1, 2, 1);
	struct mc_vm *vm;
	struct rule *a, *b;
	int64_t lost;

	(void)state;
	start(w, "null");
	vm = world_vm(w, 2, 0);
	a = world_vcpu(w, vm, &plain, 5 * MS, 0, 0);
	b = world_vcpu(w, vm, &plain, 1000 * MS, 0, 1);
	a->on_done = send_to_next;
	world_up(w);
	run(w, 4 * MS);
	lost = ledger(w, a)[OBSERVE_HYPERVISOR];
	assert_int_equal(lost, 2700); /* switch and entry */
	assert_int_equal(ledger(w, b)[OBSERVE_HYPERVISOR], 2700);
	run(w, 20 * MS);
	assert_int_equal(b->interrupts, 1);
	assert_int_equal(b->last_bits, 4);
	assert_int_equal(b->last_interrupt, a->last_done + 3000);
	assert_int_equal(ledger(w, a)[OBSERVE_HYPERVISOR], 2700 + 700);
	assert_int_equal(ledger(w, b)[OBSERVE_HYPERVISOR], 2700 + 700);
	/* its work went on and lost nothing else */
	assert_int_equal(ledger(w, b)[OBSERVE_USEFUL] + 3400 + ledger(w, b)[OBSERVE_BLOCKED] +
				 ledger(w, b)[OBSERVE_OFFLINE] + ledger(w, b)[OBSERVE_WAIT_QUEUE],
			 20 * MS);
	world_free(w);
}

static void interrupts_under_way_merge(void **state)
{
	struct world *w = world_new(1, 2, 1);
	struct rule *r;

	(void)state;
	start(w, "null");
	r = world_vcpu(w, world_vm(w, 1, 0), &plain, 1000 * MS, 0, -1);
	world_up(w);
	run(w, MS);
	mc_interrupt(r->mv, NULL, 1);
	mc_interrupt(r->mv, NULL, 2);
	run(w, 2 * MS);
	assert_int_equal(r->interrupts, 1);
	assert_int_equal(r->last_bits, 3);
	assert_int_equal(r->last_interrupt, MS + 700);
	world_free(w);
}

static void interrupt_on_the_way_into_halt_is_not_lost(void **state)
{
	struct world *w = world_new(1, 1, 1);
	struct rule *r;

	(void)state;
	start(w, "null");
	r = world_vcpu(w, world_vm(w, 1, 0), &plain, MS, 1000 * MS, -1);
	world_up(w);
	run(w, 1000 + 2000 + 700 + MS + 300); /* halting since 300 ns: C1 not paid yet */
	assert_int_equal(r->done, 1);
	mc_interrupt(r->mv, NULL, 1);
	run(w, 5 * MS);
	assert_int_equal(r->interrupts, 1);
	assert_int_equal(r->last_interrupt, 3700 + MS + 700); /* delivered instead of blocking */
	assert_int_equal(r->descheduled, 1);		      /* only after the second piece */
	assert_int_equal(r->done, 2);
	world_free(w);
}

static void interrupt_waits_for_a_preempted_vcpu(void **state)
{
	struct world *w = world_new(1, 1, 1);
	struct rule *a, *b, *off;

	(void)state;
	start(w, "credit2");
	a = world_vcpu(w, world_vm(w, 1, 0), &plain, 1000000 * MS, 0, -1);
	b = world_vcpu(w, world_vm(w, 1, 0), &plain, 1000000 * MS, 0, -1);
	world_up(w);
	run(w, 100 * MS);
	off = a->mv->place == MC_OFF ? a : b;
	assert_int_equal(off->mv->place, MC_OFF);
	assert_false(mc_blocked(off->mv));
	mc_interrupt(off->mv, NULL, 8);
	assert_int_equal(off->interrupts, 0);
	run(w, 200 * MS);
	assert_int_equal(off->interrupts, 1);
	/* at its next dispatch, which is a switch by the policy, not by the interrupt */
	assert_true(off->last_interrupt > 100 * MS + 100 * US);
	world_free(w);
}

/* ------------------------------------------------------------------ work and ledger */

static void preempted_work_is_neither_lost_nor_done_twice(void **state)
{
	struct world *w = world_new(1, 1, 2);
	struct rule *r;
	const int64_t *ns;

	(void)state;
	start(w, "credit2");
	r = world_vcpu(w, world_vm(w, 1, 0), &generic, 250 * MS, 100000 * MS, -1);
	for (unsigned i = 0; i < 5; i++)
		assert_non_null(world_vcpu(w, world_vm(w, 1, 0), &generic, 1000000 * MS, 0, -1));
	world_up(w);
	run(w, 3000 * MS);
	assert_int_equal(r->done, 1);
	assert_true(r->descheduled > 10);
	ns = ledger(w, r);
	assert_in_range(ns[OBSERVE_USEFUL], 250 * MS - 100,
			250 * MS); /* < 1 nns per change of pace */
	near((double)ns[OBSERVE_SMT], 0.615517 * (double)ns[OBSERVE_USEFUL], 0.01);
	assert_true(ns[OBSERVE_WAIT_QUEUE] > 250 * MS);
	world_free(w);
}

static void mixed_load(struct world *w)
{
	static const struct mc_class classes[] = {
		{.sigma = R(0.58), .mu = R(0.15), .ws = 3 << 19, .bw = 800000000},
		{.sigma = R(0.60), .ws = 16 << 10},
		{.sigma = R(0.52), .mu = R(0.35), .ws = 3 << 20, .bw = 1500000000, .shared = true},
	};

	for (unsigned v = 0; v < 12; v++) {
		struct mc_vm *vm = world_vm(w, 4, (int)(v % 3) - 1);

		vm->shared_ws = 3 << 20;
		for (unsigned i = 0; i < 4; i++) {
			unsigned k = v * 4 + i;

			assert_non_null(world_vcpu(w, vm, &classes[k % 3], (100 + 37 * k) * US,
						   (k % 5) * 531 * US, -1));
		}
	}
	world_up(w);
}

static void ledger_sums_hold_under_a_mixed_load(void **state)
{
	static const char *const policies[] = {"credit2", "null"};

	(void)state;
	for (unsigned p = 0; p < 2; p++) {
		struct world *w = world_new(2, 4, 2);
		struct observe_totals t;
		hv_time at = 0;

		start(w, policies[p]);
		mixed_load(w);
		for (int i = 0; i < 40; i++) {
			at += 12345678;
			run(w, at); /* all laws hold at odd times */
		}
		observe_totals(w->observe, &t);
		assert_true(t.vcpus.ns[OBSERVE_USEFUL] > 0 && t.vcpus.ns[OBSERVE_SMT] > 0 &&
			    t.vcpus.ns[OBSERVE_COLD] > 0 && t.vcpus.ns[OBSERVE_MEMORY] > 0 &&
			    t.vcpus.ns[OBSERVE_HYPERVISOR] > 0);
		for (unsigned i = 0; i < w->nr_rules; i++) {
			const struct rule *r = &w->rules[i];
			struct hv_runstate rs;

			hv_runstate_get(r->mv->hv, &rs);
			assert_int_equal(rs.time[HV_RUNNING], observe_cpu_time(ledger(w, r)));
		}
		world_free(w);
	}
}

/* Hash of what the engine decided and when; the log's own hash also covers when somebody looked. */
static uint64_t decisions;

static void hash_decision(void *ctx, const struct hv_trace *ev)
{
	const struct hv_vcpu *v = ev->vcpu ? ev->vcpu : ev->unit ? ev->unit->vcpu : NULL;
	const uint64_t word[] = {(uint64_t)ev->kind, (uint64_t)ev->time, ev->pcpu,
				 v && v->domain ? (uint64_t)v->domain->id << 32 | v->id : ~0ULL,
				 (uint64_t)ev->a};

	(void)ctx;
	for (unsigned i = 0; i < sizeof(word) / sizeof(word[0]); i++)
		decisions = (decisions ^ word[i]) * 0x100000001b3ULL + (decisions >> 29);
}

static uint64_t hash_of(unsigned steps, uint64_t *events, uint64_t *log)
{
	struct world *w = world_new(2, 4, 2);

	decisions = 0;
	w->hash = true;
	assert_int_equal(world_start(w, "credit2", true, hash_decision), 0);
	mixed_load(w);
	for (unsigned i = 1; i <= steps; i++)
		run(w, 300 * MS / steps * i);
	run(w, 300 * MS);
	*log = observe_hash(w->observe);
	*events = mc_counters(w->m)->events;
	world_free(w);
	return decisions;
}

static void same_input_gives_the_same_log(void **state)
{
	uint64_t first, second, log, again, hash = hash_of(1, &first, &log);

	(void)state;
	assert_true(first > 10000 && hash && log);
	assert_true(hash == hash_of(1, &second, &again));
	assert_true(log == again);
	assert_int_equal(first, second);
}

static void looking_in_between_changes_nothing(void **state)
{
	uint64_t first, second, log, hash = hash_of(1, &first, &log);

	(void)state;
	assert_true(hash == hash_of(777, &second, &log));
	assert_int_equal(first, second);
}

/* ------------------------------------------------------------------ timers, locks, faults */

static hv_time slice_armed;
static hv_time latest_lateness;

static void log_slice(void *ctx, const struct hv_trace *ev)
{
	(void)ctx;
	if (slice_armed && (ev->kind == HV_TRACE_SWITCH || ev->kind == HV_TRACE_CONT)) {
		hv_time late = ev->time - slice_armed;

		if (late > latest_lateness)
			latest_lateness = late;
		assert_true(late >= 0);
	}
	if (ev->kind == HV_TRACE_SWITCH || ev->kind == HV_TRACE_CONT)
		slice_armed = ev->a >= 0 ? ev->time + ev->a : 0;
}

static void slices_end_late_by_at_most_the_slop(void **state)
{
	struct world *w = world_new(1, 1, 1);

	(void)state;
	slice_armed = latest_lateness = 0;
	assert_int_equal(world_start(w, "credit2", true, log_slice), 0);
	for (int i = 0; i < 3; i++)
		assert_non_null(world_vcpu(w, world_vm(w, 1, 0), &plain, 1000000 * MS, 0, -1));
	world_up(w);
	run(w, 2000 * MS);
	assert_in_range(latest_lateness, 1, 50 * US);
	world_free(w);
}

static void takers_of_one_lock_wait_their_turn(void **state)
{
	struct world *w = world_new(1, 8, 1);

	(void)state;
	w->params.cost.timer_slop = 0;
	start(w, "credit2");
	/* all wake at the same time, again and again, on one runqueue */
	for (int i = 0; i < 8; i++)
		assert_non_null(world_vcpu(w, world_vm(w, 1, 0), &plain, 100 * US, 400 * US, i));
	world_up(w);
	run(w, 100 * MS);
	assert_true(mc_counters(w->m)->lock_wait > 0);
	world_free(w);
}

static void no_work_after_a_callback_is_a_broken_law(void **state)
{
	struct world *w = world_new(1, 1, 1);
	const struct mc_fault *f;
	struct rule *r;

	(void)state;
	start(w, "null");
	r = world_vcpu(w, world_vm(w, 1, 0), &plain, MS, 0, -1);
	world_up(w);
	run(w, MS / 2);
	mc_work(r->mv, MC_NONE, NULL, 0);
	f = mc_run_until(w->m, 10 * MS);
	assert_non_null(f);
	assert_int_equal(f->kind, MC_FAULT_LAW);
	assert_non_null(strstr(f->text, "MC_NONE"));
	assert_ptr_equal(mc_run_until(w->m, 20 * MS), f); /* it does not go on */
	world_free(w);
}

static void again_at_once(struct mc_timer *t)
{
	mc_timer_set(t, mc_now(t->data));
}

static void a_clock_that_stands_still_is_a_broken_law(void **state)
{
	struct world *w = world_new(1, 1, 1);
	const struct mc_fault *f;
	struct mc_timer t;

	(void)state;
	start(w, "null");
	mc_timer_init(&t, w->m, MC_TIMER_WAKE, 99, again_at_once, w->m);
	mc_timer_set(&t, MS);
	f = mc_run_until(w->m, 10 * MS);
	assert_non_null(f);
	assert_int_equal(f->kind, MC_FAULT_LAW);
	assert_int_equal(f->time, MS);
	assert_non_null(strstr(f->text, "time stands still"));
	world_free(w);
}

struct worker {
	struct mc_machine *m;
	unsigned left;
};

static void more_work(struct mc_timer *t)
{
	struct worker *worker = t->data;

	mc_idle_work(worker->m, 0, false);
	mc_idle_work(worker->m, 0, worker->left > 0);
	if (worker->left && worker->left--)
		mc_timer_set(t, mc_now(worker->m) + MS / 2);
}

/* A decision is asked for while its pCPU has idle work that is ready, and does not sleep. */
static void idle_work_is_done_before_the_next_event(void **state)
{
	struct world *w = world_new(1, 1, 2);
	struct worker worker = {.left = 10};
	struct rule *hog;
	struct mc_timer t;

	(void)state;
	w->gran = HV_GRAN_CORE;
	w->params.nr_cstates = 0;
	start(w, "credit2");
	hog = world_vcpu(w, world_vm(w, 2, 0), &plain, MS / 4, 0, -1);
	world_up(w);
	worker.m = w->m;
	mc_timer_init(&t, w->m, MC_TIMER_SAMPLE, 99, more_work, &worker);
	mc_timer_set(&t, 3 * MS);
	run(w, 8 * MS + 1); /* the last of it is done at 8 ms */
	assert_int_equal(hog->done, 11);
	run(w, 20 * MS);
	assert_in_range(hog->done, 11 + 45, 11 + 48);
	world_free(w);
}

static void stall_is_found_and_named(void **state)
{
	struct world *w = world_new(1, 1, 1);
	const struct mc_fault *f;

	(void)state;
	w->params.stall_limit = 500 * MS;
	start(w, "null"); /* one pCPU: the second vCPU never gets one */
	assert_non_null(world_vcpu(w, world_vm(w, 1, 0), &plain, 1000 * MS, 0, -1));
	assert_non_null(world_vcpu(w, world_vm(w, 1, 0), &plain, 1000 * MS, 0, -1));
	world_up(w);
	f = mc_run_until(w->m, 10000 * MS);
	assert_non_null(f);
	assert_int_equal(f->kind, MC_FAULT_STALL);
	assert_non_null(strstr(f->text, "d2v0"));
	assert_true(f->time <= 700 * MS);
	world_free(w);
}

static void a_vm_is_destroyed_while_it_runs(void **state)
{
	struct world *w = world_new(1, 2, 1);
	struct mc_vm *vm;
	uint64_t before, other;

	(void)state;
	start(w, "credit2");
	vm = world_vm(w, 4, 0);
	for (int i = 0; i < 4; i++)
		assert_non_null(world_vcpu(w, vm, &plain, 300 * US, i * 100 * US, -1));
	assert_non_null(world_vcpu(w, world_vm(w, 1, 0), &plain, MS, 0, -1));
	world_up(w);
	run(w, 50 * MS);
	assert_true(w->rules[0].done > 10);
	for (int i = 0; i < 4; i++)
		mc_timer_cancel(&w->rules[i].timer);
	mc_vm_destroy(vm);
	before = w->rules[0].done;
	other = w->rules[4].done;
	run(w, 51 * MS);
	assert_null(vm->domain);
	assert_null(hv_domain_find(mc_sys(w->m), 1));
	assert_int_equal(w->rules[0].done, before);
	mc_interrupt(w->rules[0].mv, NULL, 1); /* nothing happens */
	run(w, 100 * MS);
	assert_in_range(w->rules[4].done - other, 48, 50); /* the host is its own now */
	world_free(w);
}

static void idle_while_runnable_is_counted(void **state)
{
	struct world *w = world_new(1, 1, 2);
	static const char *const boot[] = {"credit2_runqueue", "cpu", NULL};
	struct observe_totals t;

	(void)state;
	w->boot = boot;
	start(w, "credit2"); /* two queues: one may have two hogs while the other's pCPU sleeps */
	assert_non_null(world_vcpu(w, world_vm(w, 1, 0), &plain, 900 * US, 0, -1));
	assert_non_null(world_vcpu(w, world_vm(w, 1, 0), &plain, 700 * US, 300 * US, -1));
	assert_non_null(world_vcpu(w, world_vm(w, 1, 0), &plain, 500 * US, 600 * US, -1));
	world_up(w);
	run(w, 1000 * MS);
	observe_totals(w->observe, &t);
	assert_in_range(t.vcpus.idle_runnable, 1 * MS, 999 * MS);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wake_of_a_halted_vcpu_costs_ipi_idle_exit_switch_and_entry),
		cmocka_unit_test(idle_exit_depends_on_time_idle),
		cmocka_unit_test(sibling_that_starts_slows_the_rest_of_the_work),
		cmocka_unit_test(sibling_pressure_by_vm_and_kind),
		cmocka_unit_test(move_inside_the_llc_costs_a_cold_phase),
		cmocka_unit_test(jbb_of_six_and_ten_vms_pinned),
		cmocka_unit_test(guest_ipi_to_a_running_vcpu),
		cmocka_unit_test(interrupts_under_way_merge),
		cmocka_unit_test(interrupt_on_the_way_into_halt_is_not_lost),
		cmocka_unit_test(interrupt_waits_for_a_preempted_vcpu),
		cmocka_unit_test(preempted_work_is_neither_lost_nor_done_twice),
		cmocka_unit_test(ledger_sums_hold_under_a_mixed_load),
		cmocka_unit_test(same_input_gives_the_same_log),
		cmocka_unit_test(looking_in_between_changes_nothing),
		cmocka_unit_test(slices_end_late_by_at_most_the_slop),
		cmocka_unit_test(takers_of_one_lock_wait_their_turn),
		cmocka_unit_test(no_work_after_a_callback_is_a_broken_law),
		cmocka_unit_test(a_clock_that_stands_still_is_a_broken_law),
		cmocka_unit_test(idle_work_is_done_before_the_next_event),
		cmocka_unit_test(stall_is_found_and_named),
		cmocka_unit_test(a_vm_is_destroyed_while_it_runs),
		cmocka_unit_test(idle_while_runnable_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
