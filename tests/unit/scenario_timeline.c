/*
 * The timeline: operator commands as xl takes them (core-scheduling section 7.1).
 */
#include "scenario_text.h"

static struct scenario_file *loaded;

#define BASE                                          \
	HOST "vms:\n"                                 \
	     "  - {name: a, vcpus: 2, maxvcpus: 4}\n" \
	     "  - {name: n, count: 3}\n"              \
	     "run: {warmup: 1s, duration: 9s}\n"

static const struct sc_event *event(const char *entry)
{
	char text[1024];

	snprintf(text, sizeof(text), BASE "timeline:\n  - {%s}\n", entry);
	scenario_file_free(loaded);
	loaded = load(text);
	assert_int_equal(loaded->variant[0].n_events, 1);
	return &loaded->variant[0].event[0];
}

static const struct sc_op *op(const char *command)
{
	char entry[512];
	const struct sc_event *e;

	snprintf(entry, sizeof(entry), "at: 2s, do: \"%s\"", command);
	e = event(entry);
	assert_int_equal(e->n_ops, 1);
	return e->op;
}

static void refused(const char *command, const char *message)
{
	char text[1024];

	snprintf(text, sizeof(text), BASE "timeline:\n  - {at: 2s, do: \"%s\"}\n", command);
	refuse(text, message);
}

static const char *mask(const struct hv_mask *m)
{
	static char text[256];

	return sc_mask_format(m, text, sizeof(text));
}

static void weight_and_cap_are_set(void **state)
{
	const struct sc_op *o = op("sched-credit2 -d a -w 512 -c 50");

	(void)state;
	assert_int_equal(o->kind, SC_OP_SCHED_DOM);
	assert_string_equal(loaded->variant[0].vm[o->vm].name, "a");
	assert_int_equal(o->n_vms, 1);
	assert_true(o->set_weight && o->set_cap);
	assert_int_equal(o->weight, 512);
	assert_int_equal(o->cap, 50);
	o = op("sched-credit2 -c 0 -d Domain-0");
	assert_true(loaded->variant[0].vm[o->vm].dom0);
	assert_true(!o->set_weight && o->set_cap);
	o = op("xl sched-credit2 --domain a --weight 1");
	assert_int_equal(o->weight, 1);
	o = op("sched-credit2 -d a -c 400"); /* 100 for each of the maxvcpus */
	assert_int_equal(o->cap, 400);
	refused("sched-credit2 -d a -w 0",
		"x.yaml:7:41: error: weight: found '0', expected 1..65535");
	refused("sched-credit2 -d a -w 65536", "expected 1..65535");
	refused("sched-credit2 -d a -c 401", "cap: found '401', expected 0..400");
	refused("sched-credit2 -d a", "expected '-w WEIGHT' or '-c CAP'");
	refused("sched-credit2 -w 3", "expected '-d DOM' or '-s'");
	refused("sched-credit2 -d a -w", "option '-w' has no value");
	refused("sched-credit2 -d a -w 1 -w 2", "option '-w' is repeated");
	refused("sched-credit2 -d a -q 1", "unknown option '-q'");
}

static void the_rate_limit_is_a_pool_parameter(void **state)
{
	const struct sc_op *o = op("sched-credit2 -s -r 5000");

	(void)state;
	assert_int_equal(o->kind, SC_OP_SCHED_POOL);
	assert_int_equal(o->ratelimit_us, 5000);
	assert_int_equal(op("sched-credit2 -s -r 0")->ratelimit_us, 0);
	assert_int_equal(op("sched-credit2 -s -r 100")->ratelimit_us, 100);
	refused("sched-credit2 -r 5000", "'-r' needs '-s'");
	refused("sched-credit2 -s -r 99", "found '99', expected 0 or 100..500000");
	refused("sched-credit2 -s -r 500001", "expected 0..500000");
	refused("sched-credit2 -s -d a -w 3", "'-s' does not go with");
	refused("sched-credit2 -s", "expected 'sched-credit2 -s -r US'");
}

/* What getopt makes one of: xl's users write all of these. */
static void options_are_written_as_for_xl(void **state)
{
	static const char *const same[] = {
		"sched-credit2 -d a -w 512 -c 50",
		"sched-credit2 -w512 -c50 -d a",
		"sched-credit2 --domain=a --weight=512 --cap=50",
		"sched-credit2 --cap 50 -da --weight 512",
	};
	const struct sc_op *o;

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		o = op(same[i]);
		assert_true(o->set_weight && o->set_cap);
		assert_int_equal(o->weight, 512);
		assert_int_equal(o->cap, 50);
	}
	assert_int_equal(op("sched-credit2 -sr 5000")->ratelimit_us, 5000);
	assert_int_equal(op("sched-credit2 -sr5000")->ratelimit_us, 5000);
	assert_int_equal(op("sched-credit2 --schedparam --ratelimit_us=5000")->ratelimit_us, 5000);
	assert_int_equal(op("sched-credit2 -p Pool-0 -s -r 0")->ratelimit_us, 0);
	assert_int_equal(op("sched-credit2 -s --cpupool=0 -r 100")->ratelimit_us, 100);
	refused("sched-credit2 -p Pool-1 -s -r 0",
		"x.yaml:7:36: error: no pool is named 'Pool-1', expected Pool-0");
	refused("sched-credit2 -p Pool-0 -d a -w 3", "'-p' does not go with options of a domain");
	refused("sched-credit2 -d a -w=512", "weight: found '=512'");
	refused("sched-credit2 -d a -w -5", "weight: found '-5', expected 1..65535");
	refused("sched-credit2 -d a --weight=", "weight: found ''");
	refused("sched-credit2 -d a -w512k", "weight: found '512k'");
	refused("sched-credit2", "expected '-d DOM' or '-s'");
}

#define CREDIT                                        \
	"host: {preset: H0, cmdline: sched=credit}\n" \
	"vms: [{name: a, vcpus: 2, maxvcpus: 4}]\n"   \
	"timeline: [{at: 1s, do: \"%s\"}]\n"

/* The op of a command on a host under credit. */
static const struct sc_op *credit_op(const char *command)
{
	char text[512];

	snprintf(text, sizeof(text), CREDIT, command);
	scenario_file_free(loaded);
	loaded = load(text);
	return loaded->variant[0].event[0].op;
}

static void credit_takes_what_sched_credit_takes(void **state)
{
	const struct sc_op *o = credit_op("sched-credit -s -t 5 -r 5000 -m 100000");

	(void)state;
	assert_int_equal(o->kind, SC_OP_SCHED_POOL);
	assert_true(o->set_tslice && o->set_ratelimit && o->set_migration_delay);
	assert_int_equal(o->tslice_ms, 5);
	assert_int_equal(o->ratelimit_us, 5000);
	assert_int_equal(o->migration_delay_us, 100000);
	o = credit_op("xl sched-credit -s --tslice_ms 1000");
	assert_true(o->set_tslice && !o->set_ratelimit && !o->set_migration_delay);
	o = credit_op("sched-credit -st5 -r5000 --migration_delay_us=0 -p0");
	assert_true(o->set_tslice && o->set_ratelimit && o->set_migration_delay);
	assert_int_equal(o->tslice_ms, 5);
	o = credit_op("sched-credit -d a -w 65535 -c 400");
	assert_int_equal(o->kind, SC_OP_SCHED_DOM);
	assert_int_equal(o->weight, 65535);
	assert_int_equal(o->cap, 400);
}

static void refused_by_credit(const char *command, const char *message)
{
	char text[512];

	snprintf(text, sizeof(text), CREDIT, command);
	refuse(text, message);
}

static void what_sched_credit_refuses_is_an_error(void **state)
{
	(void)state;
	refused_by_credit("sched-credit -s -t 0", "timeslice in ms: found '0', expected 1..1000");
	refused_by_credit("sched-credit -s -t 1001", "expected 1..1000");
	refused_by_credit("sched-credit -s -r 99", "found '99', expected 0 or 100..500000");
	refused_by_credit("sched-credit -s -t 5 -r 5001",
			  "x.yaml:3:1: error: the rate limit (5001 us) is longer than the "
			  "timeslice (5 ms) in 'sched-credit -s -t 5 -r 5001'");
	refused_by_credit("sched-credit -s -r 30001", "longer than the timeslice (30 ms)");
	refuse("host: {preset: H0, cmdline: sched=credit}\nvms: [{name: a}]\ntimeline:\n"
	       "  - {at: 3s, do: sched-credit -s -t 1}\n"
	       "  - {at: 2s, do: [sched-credit -s -t 40, sched-credit -s -r 40000]}\n",
	       "x.yaml:4:1: error: the rate limit (40000 us) is longer than the timeslice (1 ms)");
	/* In force is what its pool has. */
	refuse(HOST "pools: [{name: p, cpus: 1, sched: credit}]\nvms: [{name: a}]\ntimeline:\n"
		    "  - {at: 2s, do: [sched-credit -p p -s -t 1, sched-credit2 -s -r 40000]}\n"
		    "  - {at: 3s, do: sched-credit -p 1 -s -r 1001}\n",
	       "x.yaml:6:1: error: the rate limit (1001 us) is longer than the timeslice (1 ms)");
	scenario_file_free(load("host: {preset: H0, cmdline: sched=credit}\n"
				"pools: [{name: p, cpus: 1, sched: credit2}]\nvms: [{name: a}]\n"
				"timeline: [{at: 2s, do: sched-credit2 -p p -s -r 40000}]\n"));
	refused_by_credit("sched-credit -s -m 100001", "expected 0..100000");
	refused_by_credit("sched-credit -t 5", "'-t' needs '-s'");
	refused_by_credit("sched-credit -d a -m 5", "'-m' needs '-s'");
	refused_by_credit("sched-credit -s", "expected 'sched-credit -s [-t MS] [-r US] [-m US]'");
	refused_by_credit("sched-credit -w 3", "expected '-d DOM' or '-s'");
	refused_by_credit("sched-credit -d a -c 401", "expected 0..400");
	refused_by_credit("sched-credit2 -d a -w 3", "the scheduler is not credit2");
	refused("sched-credit -d a -w 3", "the scheduler is not credit");
	refused("sched-credit2 -s -t 5", "unknown option '-t'");
}

static void a_command_for_another_scheduler_is_refused(void **state)
{
	(void)state;
	refuse("host: {preset: H0, cmdline: sched=null}\nvms: [{name: a}]\n"
	       "timeline: [{at: 1s, do: sched-credit2 -d a -w 3}]\n",
	       "the scheduler is not credit2");
}

static void pinning_takes_hard_and_soft_lists(void **state)
{
	const struct sc_op *o = op("vcpu-pin a 1 0-3,^1 node:1");

	(void)state;
	assert_int_equal(o->kind, SC_OP_VCPU_PIN);
	assert_int_equal(o->vcpu, 1);
	assert_true(o->set_hard && o->set_soft);
	assert_string_equal(mask(&o->hard), "0,2-3");
	assert_string_equal(mask(&o->soft), "8-15");
	o = op("vcpu-pin a all - 5");
	assert_int_equal(o->vcpu, -1);
	assert_true(!o->set_hard && o->set_soft);
	o = op("vcpu-pin a 3 all"); /* an offline vCPU may be pinned too */
	assert_string_equal(mask(&o->hard), "0-15");
	refused("vcpu-pin a 4 1", "vCPU: found '4', expected 0..3");
	refused("vcpu-pin a 0 16",
		"x.yaml:7:32: error: pCPU 16 is not in the topology, expected pCPUs out of 0-15");
	refused("vcpu-pin a 0 -", "neither hard nor soft affinity");
	refused("vcpu-pin a 0", "expected 'vcpu-pin [-f] [-i] DOM VCPU|all HARD [SOFT]'");
	refused("vcpu-pin a 0 1 2 3", "expected 'vcpu-pin");
	refuse("host: {preset: H0, cmdline: smt=0}\nvms: [{name: a}]\n"
	       "timeline: [{at: 1s, do: vcpu-pin a all 3}]\n",
	       "none of these pCPUs is online");
}

static void pinning_has_two_options(void **state)
{
	const struct sc_op *o = op("vcpu-pin -f a 1 - 2");

	(void)state;
	assert_true(o->force && !o->ignore_masks && !o->set_hard && o->set_soft);
	o = op("vcpu-pin -i a all 2");
	assert_true(!o->force && o->ignore_masks && o->vcpu == -1);
	o = op("vcpu-pin -if a 0 2");
	assert_true(o->force && o->ignore_masks);
	o = op("vcpu-pin --force --ignore-global-affinity-masks a 0 2");
	assert_true(o->force && o->ignore_masks);
	refused("vcpu-pin -f a all 2", "'-f' is for one vCPU, not for all");
	refused("vcpu-pin -g a 0 2", "unknown option '-g'");
	refused("vcpu-pin -fx a 0 2", "unknown option '-fx'");
	refused("vcpu-pin --forced a 0 2", "unknown option '--forced'");
	refused("vcpu-pin a -f 0 2", "vCPU: found '-f'");
	refused("vcpu-pin -f", "expected 'vcpu-pin [-f]");
}

static const struct hv_mask *hard_of(unsigned int vm, unsigned int vcpu)
{
	return &loaded->variant[0].vm[vm].hard[vcpu];
}

/* xl.conf: vm.cpumask */
static void the_cpumask_of_the_host_holds_for_vms_and_for_pinning(void **state)
{
	static const char host[] = "host: {topology: 1x4x2, cpumask: '2-7'}\n"
				   "vms: [{name: a, vcpus: 2, cpus: '0-3'}, {name: b}]\n"
				   "timeline: [{at: 1s, do: 'vcpu-pin %s'}]\n";
	char text[256];

	(void)state;
	scenario_file_free(loaded);
	snprintf(text, sizeof(text), host, "a 0 0-2");
	loaded = load(text);
	assert_true(loaded->variant[0].vm[0].dom0); /* not of xl's making */
	assert_string_equal(mask(hard_of(0, 0)), "0-7");
	assert_string_equal(mask(hard_of(1, 1)), "2-3");
	assert_string_equal(mask(hard_of(2, 0)), "2-7");
	assert_true(loaded->variant[0].vm[2].has_hard);
	assert_string_equal(mask(&loaded->variant[0].event[0].op[0].hard), "2");
	scenario_file_free(loaded);
	snprintf(text, sizeof(text), host, "-i a 0 0-2");
	loaded = load(text);
	assert_string_equal(mask(&loaded->variant[0].event[0].op[0].hard), "0-2");
	snprintf(text, sizeof(text), host, "dom0 0 0-1");
	refuse(text, "none of these pCPUs is in the host's cpumask ('-i' leaves that out)");
	refuse("host: {topology: 1x4x2, cpumask: '2-7'}\n"
	       "vms: [{name: a, vcpus: 2, cpus: ['2', '1']}]\n",
	       "x.yaml:2:8: error: cpus: vCPU 1 has no pCPU of the host's cpumask");
	refuse("host: {topology: 1x4x2, cpumask: '8'}\nvms: [{name: a}]\n",
	       "x.yaml:1:35: error: cpumask: pCPU 8 is not in the topology");
}

static void domain_0_may_override_its_affinity(void **state)
{
	const struct sc_op *o = op("pin-override Domain-0 1 5");

	(void)state;
	assert_int_equal(o->kind, SC_OP_PIN_OVERRIDE);
	assert_int_equal(o->vcpu, 1);
	assert_string_equal(mask(&o->cpus), "5");
	o = op("pin-override dom0 0 none");
	assert_true(hv_mask_empty(&o->cpus, SC_NW));
	refused("pin-override a 0 5", "the hypervisor lets only domain 0 override its affinity");
	refused("pin-override dom0 all 5", "vCPU: found 'all'");
	refused("pin-override dom0 0 16", "pCPU, or none: found '16', expected 0..15");
	refused("pin-override dom0 0", "expected 'pin-override DOM VCPU PCPU|none'");
}

static void groups_are_commanded_as_a_whole(void **state)
{
	const struct sc_op *o = op("pause n");

	(void)state;
	assert_int_equal(o->kind, SC_OP_PAUSE);
	assert_int_equal(o->n_vms, 3);
	assert_string_equal(loaded->variant[0].vm[o->vm].name, "n1");
	o = op("unpause n2");
	assert_int_equal(o->kind, SC_OP_UNPAUSE);
	assert_int_equal(o->n_vms, 1);
	assert_string_equal(loaded->variant[0].vm[o->vm].name, "n2");
	assert_int_equal(op("destroy a")->kind, SC_OP_DESTROY);
	refused("pause m", "x.yaml:7:25: error: no VM is named 'm'");
	refused("pause", "expected 'pause DOM'");
	refused("destroy dom0", "domain 0 cannot be destroyed");
}

static void other_commands(void **state)
{
	const struct sc_op *o = op("vcpu-set a 3");

	(void)state;
	assert_int_equal(o->kind, SC_OP_VCPU_SET);
	assert_int_equal(o->vcpus, 3);
	assert_false(o->ignore_host);
	o = op("vcpu-set -i a 4");
	assert_true(o->ignore_host);
	assert_int_equal(o->vcpus, 4);
	assert_int_equal(op("vcpu-set a 0")->vcpus, 0); /* less than one: ignored, with a warning */
	assert_non_null(strstr(messages, "warning: less than one vCPU: 'vcpu-set a 0' is ignored"));
	assert_int_equal(op("vcpu-set a -2")->vcpus, 0);
	refused("vcpu-set a -", "found '-', expected 1..4");
	refused("vcpu-set -i a", "expected 'vcpu-set [-i] DOM N'");
	refused("vcpu-set a 5", "found '5', expected 1..4");
	o = op("overrun dom0 1 1300ms");
	assert_int_equal(o->kind, SC_OP_OVERRUN);
	assert_int_equal(o->vcpu, 1);
	assert_int_equal(o->time, 1300000000);
	refused("overrun dom0 1 1300", "expected a duration");
	refused("overrun dom0 99 1ms", "vCPU: found '99'");
	refused("pasue a", "unknown command 'pasue'; did you mean 'pause'?");
	refused("reboot a", "unknown command 'reboot', expected sched-credit2");
	refused("", "error");
}

static void an_entry_may_repeat(void **state)
{
	const struct sc_event *e =
		event("at: 2s, every: 2ms, times: 1000, do: [pause a, unpause a]");

	(void)state;
	assert_int_equal(e->at, 2000000000);
	assert_int_equal(e->every, 2000000);
	assert_int_equal(e->count, 1000);
	assert_int_equal(e->n_ops, 2);
	e = event("at: 2s, every: 1s, until: 5s, do: pause a"); /* 2, 3, 4, 5 s */
	assert_int_equal(e->count, 4);
	e = event("at: 2s, every: 1s, do: pause a"); /* to the end at 10 s */
	assert_int_equal(e->count, 9);
	e = event("at: 2s, every: 1s, times: 100, do: pause a"); /* no more than fit */
	assert_int_equal(e->count, 9);
	e = event("at: 2s, every: 1000h, times: 10000000, do: pause a");
	assert_int_equal(e->count, 1);
	e = event("at: 2s, do: pause a");
	assert_int_equal(e->count, 1);
	assert_int_equal(e->every, 0);
}

static void wrong_entries_are_refused(void **state)
{
	(void)state;
	refuse(BASE "timeline:\n  - {do: pause a}\n", "x.yaml:7:6: error: 'at' is missing");
	refuse(BASE "timeline:\n  - {at: 2s}\n", "'do' is missing in a timeline entry");
	refuse(BASE "timeline:\n  - {at: 2, do: pause a}\n", "at: '2' has no unit");
	refuse(BASE "timeline:\n  - {at: 2s, do: []}\n", "do: the list is empty");
	refuse(BASE "timeline:\n  - {at: 2s, times: 3, do: pause a}\n", "need 'every'");
	refuse(BASE "timeline:\n  - {at: 2s, every: 1s, times: 3, until: 5s, do: pause a}\n",
	       "'until' does not go with 'times'");
	refuse(BASE "timeline:\n  - {at: 2s, every: 1s, until: 1s, do: pause a}\n",
	       "until: 1s is out of range");
	refuse(BASE "timeline:\n  - {at: 2s, whne: 1s, do: pause a}\n", "unknown key 'whne'");
	warn(BASE "timeline:\n  - {at: 11s, do: pause a}\n", "after the end of the run");
}

static int end(void **state)
{
	(void)state;
	scenario_file_free(loaded);
	free(messages);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weight_and_cap_are_set),
		cmocka_unit_test(the_rate_limit_is_a_pool_parameter),
		cmocka_unit_test(options_are_written_as_for_xl),
		cmocka_unit_test(credit_takes_what_sched_credit_takes),
		cmocka_unit_test(what_sched_credit_refuses_is_an_error),
		cmocka_unit_test(a_command_for_another_scheduler_is_refused),
		cmocka_unit_test(pinning_takes_hard_and_soft_lists),
		cmocka_unit_test(pinning_has_two_options),
		cmocka_unit_test(the_cpumask_of_the_host_holds_for_vms_and_for_pinning),
		cmocka_unit_test(domain_0_may_override_its_affinity),
		cmocka_unit_test(groups_are_commanded_as_a_whole),
		cmocka_unit_test(other_commands),
		cmocka_unit_test(an_entry_may_repeat),
		cmocka_unit_test(wrong_entries_are_refused),
	};

	return cmocka_run_group_tests_name("scenario_timeline", tests, NULL, end);
}
