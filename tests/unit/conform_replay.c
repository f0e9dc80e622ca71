/*
 * The world of a replay: its order of events, its guests, and how it ends when something is wrong.
 * The policy is null where the policy does not matter: it decides the same at once and for ever.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "conform/compare.h"
#include "conform/world.h"

#define NULL_2 "sched null\ntopology 1 2 1\n" /* two pCPUs */

static const struct replay_options checked = {.check = true};

/* Replays a script that must parse. */
static enum replay_status run(const char *text, const struct replay_options *options,
			      struct record *out, struct replay_result *result)
{
	struct script s;
	struct script_error err;

	memset(out, 0, sizeof(*out));
	if (script_parse(text, strlen(text), &s, &err))
		fail_msg("line %u: %s", err.line, err.text);
	replay(&s, options, out, result);
	script_free(&s);
	return result->status;
}

/* The lines of the record between its head (meta, runqueues) and its totals must be these. */
static void expect_lines(const char *text, const char *const *expected)
{
	struct record r;
	struct replay_result result;
	size_t at = 1, len;

	if (run(text, &checked, &r, &result) != REPLAY_DONE)
		fail_msg("line %u: %s", result.why.line, result.why.text);
	for (; *expected; expected++, at++) {
		const char *line = at < r.nr ? record_get(&r, at, &len) : (len = 0, "");

		if (len != strlen(*expected) || memcmp(line, *expected, len) != 0)
			fail_msg("line %zu: expected %s, got %.*s", at + 1, *expected, (int)len,
				 line);
	}
	assert_true(at < r.nr);
	assert_non_null(strstr(record_get(&r, at, &len), "\"ev\":\"total\""));
	record_free(&r);
}

/* The i-th line of the record holds this. */
static bool has_line(const struct record *r, const char *whole)
{
	size_t len;

	for (size_t i = 0; i < r->nr; i++) {
		const char *line = record_get(r, i, &len);

		if (len == strlen(whole) && memcmp(line, whole, len) == 0)
			return true;
	}
	return false;
}

static void a_request_arrives_after_the_latency(void **state)
{
	static const char *const lines[] = {
		"{\"t\":0,\"ev\":\"insert\",\"unit\":\"d1v0\",\"cpu\":0}",
		"{\"t\":0,\"ev\":\"insert\",\"unit\":\"d1v1\",\"cpu\":1}",
		"{\"t\":1000,\"ev\":\"wake\",\"unit\":\"d1v1\"}",
		"{\"t\":1000,\"ev\":\"tickle\",\"cpu\":1}",
		/* The script executes on pCPU 0, where a request is due at once. */
		"{\"t\":1100,\"ev\":\"wake\",\"unit\":\"d1v0\"}",
		"{\"t\":1100,\"ev\":\"tickle\",\"cpu\":0}",
		"{\"t\":1100,\"ev\":\"switch\",\"cpu\":0,\"prev\":\"idle\",\"unit\":\"d1v0\","
		"\"slice\":-1}",
		"{\"t\":1500,\"ev\":\"switch\",\"cpu\":1,\"prev\":\"idle\",\"unit\":\"d1v1\","
		"\"slice\":-1}",
		NULL,
	};

	(void)state;
	expect_lines(NULL_2 "ipi 500\ndomain 1 vcpus 2\nat 1000 wake 1.1\nat 1100 wake 1.0\n"
			    "run-until 9000\n",
		     lines);
}

static void a_request_in_flight_is_due_when_its_pcpu_ends_an_operation(void **state)
{
	static const char *const lines[] = {
		"{\"t\":0,\"ev\":\"insert\",\"unit\":\"d1v0\",\"cpu\":0}",
		"{\"t\":0,\"ev\":\"insert\",\"unit\":\"d1v1\",\"cpu\":1}",
		"{\"t\":0,\"ev\":\"wake\",\"unit\":\"d1v1\"}",
		"{\"t\":0,\"ev\":\"tickle\",\"cpu\":1}",
		"{\"t\":500,\"ev\":\"switch\",\"cpu\":1,\"prev\":\"idle\",\"unit\":\"d1v1\","
		"\"slice\":-1}",
		/* Paused at 1000, its pCPU would hear of it at 1500; the guest blocks before. */
		"{\"t\":1000,\"ev\":\"tickle\",\"cpu\":1}",
		"{\"t\":1200,\"ev\":\"block\",\"unit\":\"d1v1\"}",
		"{\"t\":1200,\"ev\":\"switch\",\"cpu\":1,\"prev\":\"d1v1\",\"unit\":\"idle\","
		"\"slice\":-1}",
		/* The pause stops neither the sleep nor the wake. */
		"{\"t\":2200,\"ev\":\"wake\",\"unit\":\"d1v1\"}",
		NULL,
	};

	(void)state;
	expect_lines(NULL_2 "ipi 500\ndomain 1 vcpus 2\nbehave 1.1 periodic 700 1000\nwake 1.1\n"
			    "at 1000 pause 1.1\nrun-until 9000\n",
		     lines);
}

static void a_second_request_is_a_duplicate(void **state)
{
	struct record r;
	struct replay_result result;

	(void)state;
	assert_int_equal(run(NULL_2 "ipi 500\ndomain 1 vcpus 2\nwake 1.1\nat 1000 pause 1.1\n"
				    "at 1010 down 1.1\nrun-until 9000\n",
			     &checked, &r, &result),
			 REPLAY_DONE);
	assert_true(has_line(&r, "{\"t\":1000,\"ev\":\"tickle\",\"cpu\":1}"));
	assert_true(has_line(&r, "{\"t\":1010,\"ev\":\"tickle\",\"cpu\":1,\"dup\":1}"));
	record_free(&r);
}

static void guest_actions_come_before_timers_lines_and_wakes(void **state)
{
	/* At 3000: d1v0's guest blocks, the line wakes d2v0, and d1v1's sleep of 1000 ends. */
	static const char *const lines[] = {
		"{\"t\":0,\"ev\":\"insert\",\"unit\":\"d1v0\",\"cpu\":0}",
		"{\"t\":0,\"ev\":\"insert\",\"unit\":\"d1v1\",\"cpu\":1}",
		"{\"t\":0,\"ev\":\"insert\",\"unit\":\"d2v0\",\"cpu\":0}",
		"{\"t\":0,\"ev\":\"wake\",\"unit\":\"d1v0\"}",
		"{\"t\":0,\"ev\":\"tickle\",\"cpu\":0}",
		"{\"t\":0,\"ev\":\"switch\",\"cpu\":0,\"prev\":\"idle\",\"unit\":\"d1v0\","
		"\"slice\":-1}",
		"{\"t\":0,\"ev\":\"wake\",\"unit\":\"d1v1\"}",
		"{\"t\":0,\"ev\":\"tickle\",\"cpu\":1}",
		"{\"t\":0,\"ev\":\"switch\",\"cpu\":1,\"prev\":\"idle\",\"unit\":\"d1v1\","
		"\"slice\":-1}",
		"{\"t\":2000,\"ev\":\"block\",\"unit\":\"d1v1\"}",
		"{\"t\":2000,\"ev\":\"switch\",\"cpu\":1,\"prev\":\"d1v1\",\"unit\":\"idle\","
		"\"slice\":-1}",
		"{\"t\":3000,\"ev\":\"block\",\"unit\":\"d1v0\"}",
		"{\"t\":3000,\"ev\":\"switch\",\"cpu\":0,\"prev\":\"d1v0\",\"unit\":\"idle\","
		"\"slice\":-1}",
		"{\"t\":3000,\"ev\":\"wake\",\"unit\":\"d2v0\"}",
		"{\"t\":3000,\"ev\":\"wake\",\"unit\":\"d1v1\"}",
		"{\"t\":3000,\"ev\":\"tickle\",\"cpu\":1}",
		"{\"t\":3000,\"ev\":\"switch\",\"cpu\":1,\"prev\":\"idle\",\"unit\":\"d1v1\","
		"\"slice\":-1}",
		NULL,
	};

	(void)state;
	expect_lines(NULL_2 "domain 1 vcpus 2\ndomain 2 vcpus 1\nbehave 1.0 periodic 3000 9000\n"
			    "behave 1.1 periodic 2000 1000\nwake 1.0\nwake 1.1\nat 3000 wake 2.0\n"
			    "run-until 4000\n",
		     lines);
}

static void equal_wakes_go_by_domain_and_vcpu(void **state)
{
	struct record r;
	struct replay_result result;
	const char *text;
	size_t len;

	(void)state;
	/* Created as 5, 3; blocked in the order of pCPUs (5.0, 5.1, 3.0); woken 3.0, 5.0, 5.1. */
	assert_int_equal(run("sched null\ntopology 1 3 1\ndomain 5 vcpus 2\ndomain 3 vcpus 1\n"
			     "hard 3.0 2\nbehave 5.0 periodic 1000 500\n"
			     "behave 5.1 periodic 1000 500\nbehave 3.0 periodic 1000 500\n"
			     "wake 5.0\nwake 5.1\nwake 3.0\nrun-until 1600\n",
			     &checked, &r, &result),
			 REPLAY_DONE);
	text = record_get(&r, 0, &len);
	const char *first = strstr(text, "{\"t\":1500,\"ev\":\"wake\",\"unit\":\"d3v0\"}");
	const char *second = strstr(text, "{\"t\":1500,\"ev\":\"wake\",\"unit\":\"d5v0\"}");
	const char *third = strstr(text, "{\"t\":1500,\"ev\":\"wake\",\"unit\":\"d5v1\"}");

	assert_true(first && second && third && first < second && second < third);
	/* Totals are in the same order. */
	first = strstr(text, "\"total\",\"unit\":\"d3v0\",\"run\":1100,\"switches\":2,\"cpu\":2");
	second = strstr(text, "\"total\",\"unit\":\"d5v0\",\"run\":1100,\"switches\":2,\"cpu\":0");
	assert_true(first && second && first < second);
	record_free(&r);
}

static void random_durations_are_splitmix64_draws(void **state)
{
	struct record r;
	struct replay_result result;

	(void)state;
	/*
	 * Seed 0 gives 0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F (the published
	 * first outputs of splitmix64): run 1 + first mod 1999 = 1953, sleep 1 + second mod 19999
	 * = 16809, run 1 + third mod 1999 = 939.
	 */
	assert_int_equal(run(NULL_2 "domain 1 vcpus 1\nbehave 1.0 random 0 1000 10000\nwake 1.0\n"
				    "run-until 20201\n",
			     &checked, &r, &result),
			 REPLAY_DONE);
	assert_true(has_line(&r, "{\"t\":1953,\"ev\":\"block\",\"unit\":\"d1v0\"}"));
	assert_true(has_line(&r, "{\"t\":18762,\"ev\":\"wake\",\"unit\":\"d1v0\"}"));
	assert_true(has_line(&r, "{\"t\":19701,\"ev\":\"block\",\"unit\":\"d1v0\"}"));
	record_free(&r);
}

static void a_script_block_leaves_no_automatic_wake(void **state)
{
	struct record r;
	struct replay_result result;

	(void)state;
	assert_int_equal(run(NULL_2 "domain 1 vcpus 1\nbehave 1.0 periodic 1000 100\nwake 1.0\n"
				    "at 400 block 1.0\nat 500 block 1.0\nat 600 yield 1.0\n"
				    "run-until 9000\n",
			     &checked, &r, &result),
			 REPLAY_DONE);
	/* It ran from 0 to 400; lines for a vCPU that does not run have no effect. */
	assert_true(has_line(&r, "{\"t\":9000,\"ev\":\"total\",\"unit\":\"d1v0\",\"run\":400,"
				 "\"switches\":1,\"cpu\":0}"));
	assert_int_equal(r.nr, 1 + 1 + 3 + 2 + 1 + 2);
	record_free(&r);
}

static void a_yielder_starts_anew_when_the_script_makes_it_yield(void **state)
{
	struct record r;
	struct replay_result result;

	(void)state;
	assert_int_equal(run(NULL_2 "domain 1 vcpus 1\nbehave 1.0 yielder 1000\nwake 1.0\n"
				    "at 400 yield 1.0\nrun-until 2000\n",
			     &checked, &r, &result),
			 REPLAY_DONE);
	assert_true(has_line(&r, "{\"t\":400,\"ev\":\"yield\",\"unit\":\"d1v0\"}"));
	assert_false(has_line(&r, "{\"t\":1000,\"ev\":\"yield\",\"unit\":\"d1v0\"}"));
	assert_true(has_line(&r, "{\"t\":1400,\"ev\":\"yield\",\"unit\":\"d1v0\"}"));
	record_free(&r);
}

static void down_cancels_the_automatic_wake(void **state)
{
	struct record r;
	struct replay_result result;

	(void)state;
	assert_int_equal(run(NULL_2 "domain 1 vcpus 1\nbehave 1.0 periodic 1000 1000\nwake 1.0\n"
				    "at 1500 down 1.0\nat 7000 wake 1.0\nrun-until 7500\n",
			     &checked, &r, &result),
			 REPLAY_DONE);
	/* One wake ends both states; run time starts anew. */
	assert_true(has_line(&r, "{\"t\":7500,\"ev\":\"total\",\"unit\":\"d1v0\",\"run\":1500,"
				 "\"switches\":2,\"cpu\":0}"));
	record_free(&r);
}

static void what_happens_at_the_end_is_still_handled(void **state)
{
	struct record r;
	struct replay_result result;

	(void)state;
	assert_int_equal(run(NULL_2 "domain 1 vcpus 1\nwake 1.0\nat 500 down 1.0\n"
				    "at 501 wake 1.0\nrun-until 500\n",
			     &checked, &r, &result),
			 REPLAY_DONE);
	assert_true(has_line(&r, "{\"t\":500,\"ev\":\"switch\",\"cpu\":0,\"prev\":\"d1v0\","
				 "\"unit\":\"idle\",\"slice\":-1}"));
	assert_true(has_line(&r, "{\"t\":500,\"ev\":\"idletotal\",\"cpu\":0,\"run\":0}"));
	assert_true(has_line(&r, "{\"t\":500,\"ev\":\"idletotal\",\"cpu\":1,\"run\":500}"));
	record_free(&r);
}

/* Xen's null policy asks for passes without end here (its spec's case 9); the engine must not. */
static void null_does_not_spin_on_a_soft_affinity_that_excludes_the_only_free_pcpu(void **state)
{
	struct record r;
	struct replay_result result;

	(void)state;
	assert_int_equal(run(NULL_2 "domain 1 vcpus 1\ndomain 2 vcpus 1\nhard 1.0 1\nwake 1.0\n"
				    "soft 2.0 1\nat 1000 wake 2.0\nrun-until 5000\n",
			     &checked, &r, &result),
			 REPLAY_DONE);
	assert_true(result.operations < 100);
	record_free(&r);
}

static void a_refused_parameter_makes_an_error_line(void **state)
{
	struct record r;
	struct replay_result result;

	(void)state;
	assert_int_equal(run("sched credit2\ntopology 1 2 1\ndomain 1 vcpus 2\nat 70 cap 1 201\n"
			     "at 80 cap 1 200\nat 90 ratelimit 99\nrun-until 100\n",
			     &checked, &r, &result),
			 REPLAY_DONE);
	assert_true(has_line(&r, "{\"t\":70,\"ev\":\"error\",\"rc\":-22}"));
	assert_false(has_line(&r, "{\"t\":80,\"ev\":\"error\",\"rc\":-22}"));
	assert_true(has_line(&r, "{\"t\":90,\"ev\":\"error\",\"rc\":-22}"));
	record_free(&r);
}

/*
 * pCPU 0, where the period's timer lives, waits for its sibling from 9999500 to 10000500: the
 * decision then is of the old period, and the new one begins right after it.
 */
static void a_timer_of_a_pcpu_that_waits_fires_when_the_wait_is_over(void **state)
{
	struct record r;
	struct replay_result result;

	(void)state;
	assert_int_equal(run("sched rtds\nparam sched-gran core\ntopology 1 1 2\nipi 1000\n"
			     "domain 1 vcpus 2\nat 9000000 wake 1.0\nat 9000100 wake 1.1\n"
			     "at 9999500 block 1.0\nrun-until 10100000\n",
			     &checked, &r, &result),
			 REPLAY_DONE);
	assert_true(has_line(&r, "{\"t\":9999500,\"ev\":\"enter\",\"cpu\":0}"));
	/* Both run since 9001000. */
	assert_true(has_line(&r, "{\"t\":10000500,\"ev\":\"cont\",\"cpu\":0,\"on\":1,"
				 "\"unit\":\"d1v0\",\"slice\":3000500,\"dl\":10000000,"
				 "\"budget\":3000500,\"level\":0}"));
	assert_true(has_line(&r, "{\"t\":10100000,\"ev\":\"total\",\"unit\":\"d1v0\","
				 "\"run\":999500,\"switches\":1,\"cpu\":0,\"runnable\":1000,"
				 "\"blocked\":99500,\"offline\":9000000,\"dl\":20000000,"
				 "\"budget\":4000000,\"level\":0}"));
	record_free(&r);
}

/* While pCPU 0 waits for its sibling its vCPU comes in alone as often as it is asked to. */
static void a_vcpu_goes_in_and_out_alone_during_one_gathering(void **state)
{
	struct record r;
	struct replay_result result;
	unsigned forced = 0;
	size_t len;

	(void)state;
	assert_int_equal(run("sched null\nparam sched-gran core\ntopology 1 1 2\nipi 100000\n"
			     "domain 1 vcpus 2\nat 1000 wake 1.1\nat 1000 wake 1.0\n"
			     "at 500000 yield 1.0\nat 510000 pause 1.0\nat 520000 unpause 1.0\n"
			     "at 530000 pause 1.0\nat 540000 unpause 1.0\nrun-until 700000\n",
			     &checked, &r, &result),
			 REPLAY_DONE);
	for (size_t i = 0; i < r.nr; i++) {
		const char *line = record_get(&r, i, &len);

		forced += len > 20 && memcmp(line, "{\"t\":5", 6) == 0 &&
			  memcmp(line + len - 11, "\"forced\":1}", 11) == 0;
	}
	assert_int_equal(forced, 4);
	assert_true(has_line(&r, "{\"t\":600000,\"ev\":\"cont\",\"cpu\":0,\"on\":1,"
				 "\"unit\":\"d1v0\",\"slice\":-1}"));
	record_free(&r);
}

/* rtds has no weights. The first period, of 10 ms, began when the vCPU was created. */
static void a_weight_leaves_the_periods_of_rtds(void **state)
{
	struct record r;
	struct replay_result result;

	(void)state;
	assert_int_equal(run("sched rtds\ntopology 1 1 1\ndomain 1 vcpus 1\nrtds 1.0 5000 1000 0\n"
			     "weight 1 512\nwake 1.0\nrun-until 11000000\n",
			     &checked, &r, &result),
			 REPLAY_DONE);
	assert_true(has_line(&r, "{\"t\":10000000,\"ev\":\"switch\",\"cpu\":0,\"prev\":\"idle\","
				 "\"unit\":\"d1v0\",\"slice\":1000000,\"dl\":15000000,"
				 "\"budget\":1000000,\"level\":0}"));
	record_free(&r);
}

/* The answers to all lines about pools and hotplug, in order; nr of them. */
static void expect_results(const char *text, const int *rc, unsigned nr)
{
	struct record r;
	struct replay_result result;
	unsigned n = 0;
	size_t len;

	if (run(text, &checked, &r, &result) != REPLAY_DONE)
		fail_msg("line %u: %s", result.why.line, result.why.text);
	for (size_t i = 0; i < r.nr; i++) {
		const char *line = record_get(&r, i, &len);
		char text_of_line[256];
		int got;

		snprintf(text_of_line, sizeof(text_of_line), "%.*s", (int)len, line);
		if (!strstr(text_of_line, "\"ev\":\"rc\""))
			continue;
		line = strstr(text_of_line, "\"rc\":");
		assert_non_null(line);
		assert_int_equal(sscanf(line, "\"rc\":%d", &got), 1);
		if (n >= nr || got != rc[n])
			fail_msg("answer %u is %d, expected %d", n, got, n < nr ? rc[n] : 0);
		n++;
	}
	assert_int_equal(n, nr);
	record_free(&r);
}

#define EXPECT_RESULTS(text, ...)                        \
	expect_results(text, (const int[]){__VA_ARGS__}, \
		       sizeof((const int[]){__VA_ARGS__}) / sizeof(int))

/* pCPU 0 is refused by its number (-22), its sibling as the last core of a pool in use (-16). */
static void a_sibling_of_pcpu_0_is_refused_for_other_reasons(void **state)
{
	(void)state;
	EXPECT_RESULTS("sched null\nparam sched-gran core\ntopology 1 1 2\ndomain 1 vcpus 1\n"
		       "at 1000 pool-remove 0 0\nat 2000 pool-remove 0 1\nrun-until 3000\n",
		       -22, -16);
}

/*
 * When its sibling goes off line pCPU 0 is free, and joins pool 1. Its removal from there is done
 * on the first pCPU of pool 0, and can be begun only while that has one.
 */
static void pcpu_0_is_removed_by_another(void **state)
{
	(void)state;
	EXPECT_RESULTS("sched null\nparam sched-gran core\ntopology 1 2 2\n"
		       "pool-create 1 null gran cpu\nat 1000 offline 1\nat 2000 pool-add 1 0\n"
		       "at 3000 pool-remove 1 0\nrun-until 4000\n",
		       0, 0, 0, 0);
	EXPECT_RESULTS("sched null\nparam sched-gran core\ntopology 1 2 2\n"
		       "pool-create 1 null gran cpu\nat 1000 offline 1\nat 2000 pool-add 1 0\n"
		       "at 2500 pool-remove 0 2\nat 3000 pool-remove 1 0\n"
		       "at 3500 pool-remove 1 3\nrun-until 4000\n",
		       0, 0, 0, 0, -22, -99);
}

/*
 * pCPU 3 is never let go, so it is free and still runs units of pool 0. Pool 1 wants its sibling as
 * well, which is not free (-19); pool 2 wants it alone, and hears that it is on its way (-99).
 */
static void a_pcpu_on_its_way_is_refused_by_what_else_is_wanted(void **state)
{
	static const char text[] = "sched credit2\ntopology 1 2 2\n"
				   "pool-create 1 credit2 gran core\npool-create 2 rtds gran cpu\n"
				   "domain 1 vcpus 8\nwake 1.0\nwake 1.1\nwake 1.2\nwake 1.3\n"
				   "wake 1.4\nwake 1.5\nwake 1.6\nwake 1.7\n"
				   "at 8000000 pool-remove 0 3\nat 9000000 pool-add 1 3\n"
				   "at 9000000 pool-add 2 3\nrun-until 9100000\n";
	int rc[2 + 20 + 2] = {0};

	(void)state;
	for (unsigned attempt = 0; attempt < 20; attempt++)
		rc[2 + attempt] = -11;
	rc[22] = -19;
	rc[23] = -99;
	expect_results(text, rc, 24);
}

static const struct {
	const char *text;
	unsigned line;
	const char *says;
} refused[] = {
	{"topology 1 1 1\nrun-until 1\nsched bvt\n", 3, "no policy 'bvt'"},
	{NULL_2 "run-until 1\nparam credit2_runq core\n", 4, "no boot parameter is named"},
	{NULL_2 "run-until 1\npool-create 1 null\ndomain 1 vcpus 1 pool 1\n", 5,
	 "pool 1 has no pCPU now"},
	{NULL_2 "run-until 1\nparam sched_ratelimit_us soon\n", 4, "'soon' is not a value of"},
};

static void what_the_build_does_not_have_is_refused_with_its_line(void **state)
{
	struct record r;
	struct replay_result result;

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		assert_int_equal(run(refused[i].text, &checked, &r, &result), REPLAY_REFUSED);
		assert_int_equal(result.why.line, refused[i].line);
		if (!strstr(result.why.text, refused[i].says))
			fail_msg("case %zu said: %s", i, result.why.text);
		record_free(&r);
	}
}

static void parameters_of_missing_policies_are_accepted(void **state)
{
	struct record r;
	struct replay_result result;

	(void)state;
	assert_int_equal(run(NULL_2 "param sched_credit_tslice_ms 5\nparam sched-gran cpu\n"
				    "param credit2_runqueue all\nrun-until 1\n",
			     &checked, &r, &result),
			 REPLAY_DONE);
	record_free(&r);
}

/* Fails every allocation of the engine in turn: nothing crashes and nothing is left (see ASan). */
static void every_allocation_may_fail(void **state)
{
	static const char text[] =
		"sched credit2\ntopology 2 2 2\ndomain 1 vcpus 3 cap 50\ndomain 2 vcpus 2\n"
		"wake 1.0\nwake 1.1\nwake 1.2\nwake 2.0\nwake 2.1\nat 5000000 cap 2 30\n"
		"run-until 30000000\n";
	struct replay_options options = {.check = true};
	struct record r;
	struct replay_result result;

	(void)state;
	for (options.fail_allocation = 1;; options.fail_allocation++) {
		enum replay_status status = run(text, &options, &r, &result);

		record_free(&r);
		if (status == REPLAY_DONE)
			break;
		if (status != REPLAY_NO_MEMORY)
			fail_msg("allocation %u: %s", (unsigned)options.fail_allocation,
				 result.why.text);
	}
	/* Machine, resources, policy, domains and units: there is more than one for each pCPU. */
	assert_true(options.fail_allocation > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_arrives_after_the_latency),
		cmocka_unit_test(a_request_in_flight_is_due_when_its_pcpu_ends_an_operation),
		cmocka_unit_test(a_second_request_is_a_duplicate),
		cmocka_unit_test(guest_actions_come_before_timers_lines_and_wakes),
		cmocka_unit_test(equal_wakes_go_by_domain_and_vcpu),
		cmocka_unit_test(random_durations_are_splitmix64_draws),
		cmocka_unit_test(a_script_block_leaves_no_automatic_wake),
		cmocka_unit_test(a_yielder_starts_anew_when_the_script_makes_it_yield),
		cmocka_unit_test(down_cancels_the_automatic_wake),
		cmocka_unit_test(what_happens_at_the_end_is_still_handled),
		cmocka_unit_test(
			null_does_not_spin_on_a_soft_affinity_that_excludes_the_only_free_pcpu),
		cmocka_unit_test(a_refused_parameter_makes_an_error_line),
		cmocka_unit_test(a_weight_leaves_the_periods_of_rtds),
		cmocka_unit_test(a_vcpu_goes_in_and_out_alone_during_one_gathering),
		cmocka_unit_test(a_timer_of_a_pcpu_that_waits_fires_when_the_wait_is_over),
		cmocka_unit_test(a_sibling_of_pcpu_0_is_refused_for_other_reasons),
		cmocka_unit_test(pcpu_0_is_removed_by_another),
		cmocka_unit_test(a_pcpu_on_its_way_is_refused_by_what_else_is_wanted),
		cmocka_unit_test(what_the_build_does_not_have_is_refused_with_its_line),
		cmocka_unit_test(parameters_of_missing_policies_are_accepted),
		cmocka_unit_test(every_allocation_may_fail),
	};

	return cmocka_run_group_tests_name("conform_replay", tests, NULL, NULL);
}
