/*
 * A run that is held open (lab/session.h): it is the run of lab_run(), commands are those of a
 * timeline, and whatever an operator does, in any order, breaks no law of engine, policies and
 * ledger.
 */
#include "scenario_text.h"

#include "lab/session.h"
#include "machine/machine.h"

#define MS 1000000LL

#define TEXT(cmdline)                                                      \
	"host: {topology: 1x4x2, hypervisor: xen, cmdline: " cmdline "}\n" \
	"dom0: {vcpus: 2}\n"                                               \
	"vms:\n"                                                           \
	"  - {name: a, vcpus: 4, workload: hog}\n"                         \
	"  - {name: b, vcpus: 3, workload: noise}\n"                       \
	"  - {name: c, vcpus: 2, workload: hog}\n"                         \
	"run: {warmup: 0s, duration: 200ms, seeds: 1, stall_limit: 100s}\n"

static const struct lab_options hashed = {.hash = true};

/*
 * What came of a run. (Not the hash: the log splits a vCPU's time where somebody looks.)
 */
struct outcome {
	uint64_t events, switches, passes, tickles;
	int64_t ns[OBSERVE_NR_TIMES];
};

static struct outcome outcome_of(struct lab_result *r)
{
	struct outcome o;

	if (r->status != LAB_DONE)
		fail_msg("%s", r->message);
	memset(&o, 0, sizeof(o));
	o.events = r->events;
	o.switches = r->totals.switches;
	o.passes = r->totals.passes;
	o.tickles = r->totals.tickles;
	memcpy(o.ns, r->totals.vcpus.ns, sizeof(o.ns));
	lab_result_clear(r);
	return o;
}

static struct outcome finish(struct lab_run *run, struct lab_result *r)
{
	assert_int_equal(lab_finish(run), 0);
	lab_close(run);
	return outcome_of(r);
}

/* It is what a run by itself comes to. */
static void assert_same(struct outcome held, const char *text)
{
	struct scenario_file *f = load(text);
	struct outcome whole;
	struct lab_result r;

	assert_int_equal(lab_run(&f->variant[0], 3, &hashed, &r), 0);
	whole = outcome_of(&r);
	assert_true(whole.events > 100);
	assert_memory_equal(&held, &whole, sizeof(whole));
	scenario_file_free(f);
}

static void steps_do_not_change_what_happens(void **state)
{
	struct scenario_file *f = load(TEXT("sched=credit2"));
	struct lab_result r;
	struct lab_run *run;

	(void)state;
	assert_int_equal(lab_open(&f->variant[0], 3, &hashed, &r, &run), 0);
	for (hv_time t = 0; t <= 200 * MS; t += 7 * MS)
		assert_true(lab_run_to(run, t));
	assert_true(lab_run_to(run, 200 * MS));
	assert_same(finish(run, &r), TEXT("sched=credit2"));
	scenario_file_free(f);
}

/* 0, or why it was refused. */
static const char *command(struct scenario_file *f, struct lab_run *run, const char *text)
{
	struct sc_diag diag = {.out = stderr};
	const char *why;
	struct sc_op op;

	if (!scenario_command(f, lab_scenario(run), text, 1, &diag, &op))
		fail_msg("%s", text);
	return lab_do(run, &op, &why) ? why : NULL;
}

static void a_command_does_what_it_does_in_a_timeline(void **state)
{
	static const char *const commands[] = {
		"cpupool-cpu-remove Pool-0 6-7", "cpupool-create name=x sched=credit cpus=6-7",
		"cpupool-migrate c x", "sched-credit -d c -w 512", "cpu-offline 3"};
	struct scenario_file *f = load(TEXT("sched=credit2"));
	char timeline[2048] = TEXT("sched=credit2") "timeline:\n  - at: 50ms\n    do:\n";
	struct lab_result r;
	struct lab_run *run;

	(void)state;
	assert_int_equal(lab_open(&f->variant[0], 3, &hashed, &r, &run), 0);
	assert_true(lab_run_to(run, 50 * MS));
	for (unsigned i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		snprintf(timeline + strlen(timeline), sizeof(timeline) - strlen(timeline),
			 "      - %s\n", commands[i]);
		assert_null(command(f, run, commands[i]));
	}
	assert_true(lab_run_to(run, 200 * MS));
	assert_same(finish(run, &r), timeline);
	scenario_file_free(f);
}

static void a_refusal_is_told_and_changes_nothing(void **state)
{
	struct scenario_file *f = load(TEXT("sched=credit2"));
	struct lab_result r;
	struct lab_run *run;
	const char *why;

	(void)state;
	assert_int_equal(lab_open(&f->variant[0], 3, &hashed, &r, &run), 0);
	assert_true(lab_run_to(run, 50 * MS));
	why = command(f, run, "cpupool-cpu-remove Pool-0 0");
	assert_non_null(why);
	assert_string_equal(why, "pCPU 0: the first pCPU must stay in Pool-0");
	assert_non_null(command(f, run, "cpupool-create name=x cpus=5"));
	assert_null(lab_pool_find(run, "x"));
	assert_non_null(command(f, run, "cpupool-migrate a x"));
	assert_int_equal(mc_now(lab_machine(run)), 50 * MS);
	assert_true(lab_run_to(run, 200 * MS));
	assert_same(finish(run, &r), TEXT("sched=credit2"));
	scenario_file_free(f);
}

/* A busy host under load: removal ends although someone always waits for the pCPU. */
static void a_pcpu_leaves_its_pool_under_overload(void **state)
{
	static const char *const cmdlines[] = {TEXT("sched=credit2"),
					       TEXT("sched=credit"),
					       TEXT("sched=rtds"),
					       TEXT("sched=round-robin"),
					       TEXT("sched=credit2 sched-gran=core"),
					       TEXT("sched=credit sched-gran=core")};

	(void)state;
	for (unsigned i = 0; i < sizeof(cmdlines) / sizeof(cmdlines[0]); i++) {
		struct scenario_file *f = load(cmdlines[i]);
		struct lab_result r;
		struct lab_run *run;

		assert_int_equal(lab_open(&f->variant[0], 3, &hashed, &r, &run), 0);
		assert_true(lab_run_to(run, 20 * MS));
		assert_null(command(f, run, "cpupool-cpu-remove Pool-0 2-7"));
		assert_true(mc_now(lab_machine(run)) < 21 * MS);
		assert_true(lab_run_to(run, 40 * MS));
		assert_null(command(f, run, "cpupool-cpu-add Pool-0 2-7"));
		assert_true(lab_run_to(run, 60 * MS));
		finish(run, &r);
		scenario_file_free(f);
	}
}

/* ---- any commands in any order */

static uint64_t draw(uint64_t *x, uint64_t n)
{
	*x = *x * 6364136223846793005ULL + 1442695040888963407ULL;
	return (*x >> 33) % n;
}

static void random_command(uint64_t *x, char *text, size_t size)
{
	static const char *const pools[] = {"0", "0", "x", "y"};
	static const char *const grans[] = {"cpu", "core", "socket"};
	static const char *const vms[] = {"a", "b", "c"};
	static const char *const scheds[] = {"credit2", "credit", "rtds", "null", "round-robin"};
	const char *pool = pools[draw(x, 4)], *vm = vms[draw(x, 3)];
	unsigned c = (unsigned)draw(x, 8), more = (unsigned)draw(x, 3);

	switch (draw(x, 15)) {
	case 0:
		snprintf(text, size, "cpupool-create name=%s sched=%s gran=%s",
			 draw(x, 2) ? "x" : "y", scheds[draw(x, 5)], draw(x, 3) ? "cpu" : "core");
		break;
	case 1:
		snprintf(text, size, "cpupool-destroy %s", pool);
		break;
	case 2:
	case 3:
		snprintf(text, size, "cpupool-cpu-remove %s %u-%u", pool, c,
			 c + more < 8 ? c + more : 7);
		break;
	case 4:
	case 5:
		snprintf(text, size, "cpupool-cpu-add %s %u-%u", pool, c,
			 c + more < 8 ? c + more : 7);
		break;
	case 6:
	case 7:
		snprintf(text, size, "cpupool-migrate %s %s", vm, pool);
		break;
	case 8:
		snprintf(text, size, "cpu-%s %u", draw(x, 2) ? "offline" : "online", c);
		break;
	case 9:
		snprintf(text, size, "smt-%s", draw(x, 2) ? "disable" : "enable");
		break;
	case 10:
		snprintf(text, size, "vcpu-pin %s all %u-7", vm, c);
		break;
	case 11:
		snprintf(text, size, "suspend");
		break;
	case 12:
		snprintf(text, size, "xenhypfs write /cpupool/%u/sched-gran %s", 1 + more,
			 grans[draw(x, 3)]);
		break;
	case 13:
		snprintf(text, size, "cpupool-numa-split");
		break;
	default:
		snprintf(text, size, "%s %s", draw(x, 2) ? "pause" : "unpause", vm);
	}
}

/* The host slept for a while; pCPUs may be lost. pCPU 0 and its core's other thread return. */
static void wake_up(struct scenario_file *f, struct lab_run *run, uint64_t *x)
{
	unsigned c = 2 + (unsigned)draw(x, 6);
	char text[64];

	assert_true(lab_run_to(run, mc_now(lab_machine(run)) + (hv_time)draw(x, MS)));
	snprintf(text, sizeof(text), draw(x, 2) ? "resume" : "resume lost=%u-7", c);
	if (command(f, run, text))
		assert_null(command(f, run, "resume"));
}

static void commands_in_any_order_break_no_law(void **state)
{
	static const char *const texts[] = {TEXT("sched=credit2"), TEXT("sched=credit"),
					    TEXT("sched=rtds"), TEXT("sched=null"),
					    TEXT("sched=credit2 sched-gran=core")};
	unsigned done = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 40; seed++) {
		struct scenario_file *f = load(texts[seed % 5]);
		struct hv_violation broken = {0};
		uint64_t x = seed;
		struct lab_result r;
		struct lab_run *run;
		char text[128];

		assert_int_equal(lab_open(&f->variant[0], seed, &hashed, &r, &run), 0);
		for (unsigned i = 0; i < 60; i++) {
			random_command(&x, text, sizeof(text));
			if (!command(f, run, text)) {
				done++;
				if (strcmp(text, "suspend") == 0)
					wake_up(f, run, &x);
			}
			if (hv_check(mc_sys(lab_machine(run)), &broken) != 0)
				fail_msg("seed %llu: after '%s': %s", (unsigned long long)seed,
					 text, broken.law);
			if (!lab_run_to(run, mc_now(lab_machine(run)) + (hv_time)draw(&x, MS)))
				fail_msg("seed %llu: after '%s': %s", (unsigned long long)seed,
					 text, r.message);
		}
		finish(run, &r);
		scenario_file_free(f);
	}
	/* Many of them did something. */
	assert_true(done > 40 * 60 / 4);
}

static int forget(void **state)
{
	(void)state;
	free(messages);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_do_not_change_what_happens),
		cmocka_unit_test(a_command_does_what_it_does_in_a_timeline),
		cmocka_unit_test(a_refusal_is_told_and_changes_nothing),
		cmocka_unit_test(a_pcpu_leaves_its_pool_under_overload),
		cmocka_unit_test(commands_in_any_order_break_no_law),
	};

	return cmocka_run_group_tests_name("lab_session", tests, NULL, forget);
}
