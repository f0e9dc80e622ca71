/*
 * Workloads: built-in files and own programs become the plain data of guest/program.h.
 */
#include "scenario_text.h"

#include "guest/program.h"
#include "scenario/embedded.h"

static struct scenario_file *loaded;

/* `keys` stands behind `workload:`; the VM has 4 vCPUs. */
static const struct workload *workload(const char *keys)
{
	char text[4096];

	snprintf(text, sizeof(text),
		 HOST "dom0: {workload: iperf-dom0}\n"
		      "vms:\n  - name: a\n    vcpus: 4\n    workload: %s\n",
		 keys);
	scenario_file_free(loaded);
	loaded = load(text);
	return loaded->variant[0].vm[1].workload;
}

static void refused(const char *keys, const char *message)
{
	char text[4096];

	snprintf(text, sizeof(text), HOST "vms:\n  - name: a\n    vcpus: 4\n    workload: %s\n",
		 keys);
	refuse(text, message);
}

static void check_laws(const struct workload *w)
{
	struct workload_fault fault = {0};

	if (workload_check(w, &fault) != 0)
		fail_msg("workload %s, program %u, op %u: %s", w->name, fault.program, fault.op,
			 fault.law);
}

static const struct op *op(const struct workload *w, unsigned int program, unsigned int i)
{
	assert_true(program < w->n_programs);
	assert_true(i < w->program[program].n_ops);
	return &w->program[program].op[i];
}

static void every_built_in_workload_is_right(void **state)
{
	const struct embedded_file *file = NULL;
	unsigned int n = 0;
	char name[64];

	(void)state;
	while ((file = embedded_next(file, "workloads/"))) {
		const char *base = file->name + strlen("workloads/");
		const struct workload *w;

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(base, "."), base);
		w = workload(name);
		assert_string_equal(w->name, name);
		assert_true(strlen(w->text) > 0);
		check_laws(w);
		n++;
	}
	assert_true(n >= 8);
}

static void xen_build_has_the_numbers_of_its_table(void **state)
{
	const struct workload *w = workload("{use: xen-build, jobs: 4}");

	(void)state;
	check_laws(w);
	assert_int_equal(w->metric.kind, METRIC_ELAPSED);
	assert_int_equal(w->n_pools, 1);
	assert_int_equal(w->pool[0].jobs, 600);
	assert_int_equal(w->pool[0].directories, 40);
	assert_int_equal(w->pool[0].tokens, 4);
	assert_int_equal(w->background[0].lock_rate, 2000);
	assert_int_equal(w->background[0].partner_rate, 230);
	assert_int_equal(w->background[0].partner_work.kind, AMOUNT_EXP);
	assert_int_equal(w->background[0].partner_work.a, 300000);
	assert_string_equal(w->param[0].name, "jobs");
	assert_int_equal(w->param[0].value, 4);
}

static void parameters_are_put_in_place_and_checked(void **state)
{
	const struct workload *w = workload("{use: noise, on: 7ms}");

	(void)state;
	assert_int_equal(w->group[0].count, 4); /* $vcpus */
	assert_int_equal(op(w, 0, 2)->amount.a, 7000000);
	assert_int_equal(op(w, 0, 2)->amount.kind, AMOUNT_EXP);
	w = workload("{use: hog, loops: $vcpus}");
	assert_int_equal(w->group[0].count, 4);
	refused("{use: noise, onn: 7ms}",
		"workload 'noise' has no parameter 'onn'; did you mean 'on'?");
	refused("{use: noise, zebra: 1}", "expected one of: on, off");
	refused("{use: noise, on: 7}",
		"x.yaml:5:32: error: on: '7' has no unit, expected a duration");
	refused("{use: noise, on: [1]}", "on: found a list, expected a value");
	refused("{use: xen-build, jobs: 4ms}", "jobs: found '4ms', expected a whole number");
	refused("{use: xen-build, jobs: 0}", "tokens: 0 is out of range");
	refused("{use: noise, on: $of}", "unknown parameter '$of'");
	refused("nosie", "x.yaml:5:15: error: unknown workload 'nosie'; did you mean 'noise'?");
	refused("zebra", "unknown workload 'zebra', expected one of: dom0-background");
	refused("./no-such.yaml", "cannot read workload './no-such.yaml'");
	refused("{use: [a]}", "use: found a list, expected the name of a workload");
}

static void a_short_program_runs_on_every_vcpu(void **state)
{
	const struct workload *w =
		workload("{program: [{forever: [{compute: 1ms}, {sleep: 2ms}]}]}");

	(void)state;
	check_laws(w);
	assert_int_equal(w->n_programs, 1);
	assert_int_equal(w->n_groups, 1);
	assert_int_equal(w->group[0].count, 4);
	assert_int_equal(w->program[0].n_ops, 4);
	assert_int_equal(op(w, 0, 0)->kind, OP_FOREVER);
	assert_int_equal(op(w, 0, 0)->target, 4);
	assert_int_equal(op(w, 0, 1)->kind, OP_COMPUTE);
	assert_int_equal(op(w, 0, 1)->arg, -1);
	assert_int_equal(op(w, 0, 2)->amount.a, 2000000);
	assert_int_equal(op(w, 0, 3)->kind, OP_END);
	assert_int_equal(op(w, 0, 3)->target, 1);
	assert_int_equal(w->metric.kind, METRIC_NONE);
}

static void loops_and_chances_nest_with_their_targets(void **state)
{
	const struct workload *w = workload(
		"{program: [{loop: {times: 3, do: [{chance: {p: 25%, do: [{compute: 1us}, exit]}}, "
		"shootdown]}}, {compute: 2us}]}");
	static const enum op_kind kinds[] = {OP_LOOP,	   OP_CHANCE, OP_COMPUTE, OP_EXIT,
					     OP_SHOOTDOWN, OP_END,    OP_COMPUTE};

	(void)state;
	check_laws(w);
	assert_int_equal(w->program[0].n_ops, 7);
	for (unsigned int i = 0; i < 7; i++)
		assert_int_equal(op(w, 0, i)->kind, kinds[i]);
	assert_int_equal(op(w, 0, 0)->target, 6);
	assert_int_equal(op(w, 0, 0)->amount.a, 3);
	assert_int_equal(op(w, 0, 1)->target, 4);
	assert_int_equal(op(w, 0, 1)->arg, PROGRAM_ONE / 4);
	assert_int_equal(op(w, 0, 5)->target, 1);
	refused("{program: [{forever: [{forever: [{forever: [{forever: [{forever: [{forever: "
		"[{forever: [{forever: [{forever: [exit]}]}]}]}]}]}]}]}]}]}",
		"nest deeper than 8");
}

static void try_has_its_semaphore_and_what_to_do_else(void **state)
{
	static const char keys[] =
		"{semaphores: {s: {initial: 2}}, programs: {p: [{try: {semaphore: s, "
		"else: [{compute: 1us}, exit]}}, {clock: 2}, {compute: 2us}]}, "
		"tasks: {t: {program: p}}}";
	const struct workload *w = workload(keys);

	(void)state;
	check_laws(w);
	assert_int_equal(op(w, 0, 0)->kind, OP_TRY);
	assert_int_equal(op(w, 0, 0)->arg, 0);
	assert_int_equal(op(w, 0, 0)->target, 3);
	assert_int_equal(op(w, 0, 3)->kind, OP_CLOCK);
	assert_int_equal(op(w, 0, 3)->amount.a, 2);
	refused("{program: [{try: {else: [exit]}}]}", "semaphore");
	refused("{program: [{try: {semaphore: s, else: [exit]}}]}", "no semaphore is named 's'");
}

static void amounts_have_all_distributions(void **state)
{
	const struct workload *w = workload(
		"{program: [{draw: {to: r3, time: 'lognormal(177ms, 0.8)'}}, {compute: r3/10}, "
		"{compute: r3}, {sleep: 'uniform(1ms, 3ms)'}, {sleep: exp(5ms)}, "
		"{draw: {to: r0, size: 64KiB}}]}");

	(void)state;
	check_laws(w);
	assert_int_equal(op(w, 0, 0)->reg, 3);
	assert_int_equal(op(w, 0, 0)->amount.kind, AMOUNT_LOGNORMAL);
	assert_int_equal(op(w, 0, 0)->amount.a, 177000000);
	assert_int_equal(op(w, 0, 0)->amount.b, 838861); /* 0.8 x 2^20 */
	assert_int_equal(op(w, 0, 1)->amount.kind, AMOUNT_REGISTER);
	assert_int_equal(op(w, 0, 1)->amount.a, 3);
	assert_int_equal(op(w, 0, 1)->amount.b, 10);
	assert_int_equal(op(w, 0, 2)->amount.b, 1);
	assert_int_equal(op(w, 0, 3)->amount.a, 1000000);
	assert_int_equal(op(w, 0, 3)->amount.b, 3000000);
	assert_int_equal(op(w, 0, 5)->amount.a, 65536);
	refused("{program: [{sleep: 'uniform(3ms, 1ms)'}]}", "1ms is out of range");
	refused("{program: [{sleep: exp(3)}]}", "'3' has no unit");
	refused("{program: [{sleep: 'exp(3ms, 1)'}]}", "expected exp(MEAN)");
	refused("{program: [{sleep: 'exp(3ms'}]}", "expected exp(MEAN)");
	refused("{program: [{sleep: 'lognormal(3ms)'}]}", "expected lognormal(MEAN, CV)");
	refused("{program: [{sleep: 'lognormal(3ms, 9.0)'}]}",
		"9.0 is out of range, expected 0..8");
	refused("{program: [{sleep: 'pareto(3ms)'}]}", "expected a duration");
	refused("{program: [{compute: r4}]}", "expected a register r0..r3");
	refused("{program: [{compute: r1/0}]}", "0 is out of range");
	refused("{program: [{compute: r1*2}]}", "expected");
}

static void shared_objects_are_found_by_name(void **state)
{
	const struct workload *w = workload(
		"{locks: {a: {kind: spin}, b: {kind: futex, count: 16}, c: {kind: rw}}, "
		"barriers: {w: {parties: 4, kind: spin, spin: 200ms}}, "
		"semaphores: {s: {initial: 2}}, "
		"devices: {d: {latency: exp(8ms), rate: 500MB/s, slots: 32}}, "
		"channels: {x: {slots: 16}}, program: [{lock: b}, {unlock: b}, {lock_shared: c}, "
		"{barrier: w}, {wait: s}, {signal: {semaphore: s, count: 2}}, {signal: s}, "
		"{io: {device: d, bytes: 128KiB}}, {io: d}, {send: x}, {recv: x}]}");

	(void)state;
	check_laws(w);
	assert_int_equal(w->lock[1].kind, LOCK_FUTEX);
	assert_int_equal(w->lock[1].count, 16);
	assert_int_equal(w->barrier[0].spin, 200000000);
	assert_int_equal(w->device[0].rate, 500000000);
	assert_int_equal(op(w, 0, 0)->arg, 1);
	assert_int_equal(op(w, 0, 2)->kind, OP_LOCK_SHARED);
	assert_int_equal(op(w, 0, 5)->amount.a, 2);
	assert_int_equal(op(w, 0, 6)->amount.a, 1);
	assert_int_equal(op(w, 0, 7)->amount.a, 131072);
	refused("{locks: {l: {kind: futex}}, program: [{lock_shared: l}]}", "is not of kind rw");
	refused("{locks: {lll: {kind: futex}}, program: [{lock: llk}]}",
		"no lock is named 'llk'; did you mean 'lll'?");
	refused("{program: [{lock: l}]}", "no lock is named 'l'");
	refused("{locks: {l: {kind: fast}}, program: [{lock: l}]}",
		"kind: found 'fast', expected one");
	refused("{barriers: {b: {parties: 4, spin: 1ms}}, program: []}",
		"only for a barrier of kind");
	refused("{channels: {c: {}}, program: []}", "expected either 'slots' or 'vm'");
	refused("{classes: {c: {sigma: 1.5}}, program: []}", "sigma: 1.5 is out of range");
	refused("{classes: {default: {sigma: 0.5}}, program: []}", "'default' is reserved");
}

static void wrong_programs_are_refused(void **state)
{
	(void)state;
	refused("{program: [{slep: 1ms}]}", "unknown op 'slep'; did you mean 'sleep'?");
	refused("{program: [{compute: 1ms, sleep: 1ms}]}",
		"expected one op such as 'compute: 3ms'");
	refused("{program: [{loop: {times: 3}}]}", "'do' is missing in loop");
	refused("{program: [compute]}", "'compute' has no value");
	refused("{program: [{done: 1}]}", "'done' takes no value");
	refused("{program: 3}", "main: found '3', expected a list");
	refused("{programs: {p: []}}", "'tasks' is missing in a workload");
	refused("{programs: {p: []}, program: [], tasks: {}}",
		"expected either 'programs' or 'program'");
	refused("{programs: {p: []}, tasks: {t: {program: q}}}", "no program is named 'q'");
	refused("{programs: {p: []}, tasks: {t: {program: p, class: x}}}", "no class is named 'x'");
	refused("{programs: {p: []}, tasks: {t: {program: p, vcpu: 1}}}", "needs 'place: each'");
	refused("{programs: {p: []}, tasks: {t: {program: p, place: one, vcpu: 4}}}",
		"vcpu: 4 is out of range, expected 0..3");
	refused("{program: [{compute: 1ms}], metric: elapsed}",
		"needs a program with the op 'done'");
	refused("{program: [{compute: 1ms}], metric: {kind: rate}}", "the op 'count'");
	refused("{program: [{compute: 1ms}], tasks: {t: {program: main, count: 65537}}}",
		"count: 65537 is out of range");
}

static void workloads_of_one_vm_are_merged(void **state)
{
	const struct workload *w = workload("[dom0-background, {use: xen-build, jobs: 2}]");
	const struct workload *dom0 = loaded->variant[0].vm[0].workload;

	(void)state;
	check_laws(w);
	assert_int_equal(w->metric.kind, METRIC_ELAPSED);
	assert_int_equal(w->n_groups, 2);
	assert_string_equal(w->program[w->group[1].program].name, "daemon");
	assert_string_equal(w->cls[w->group[1].cls].name, "generic");
	check_laws(dom0); /* iperf-dom0 with its background */
	assert_int_equal(dom0->n_groups, 3);
	refused("[xen-build, hog]", "both measure something");
	refused("[]", "workload: the list is empty");
}

static void channels_join_two_vms(void **state)
{
	const struct workload *w = workload("iperf");

	(void)state;
	assert_string_equal(w->channel[0].vm, "dom0");
	refused("iperf", "whose workload 'dom0-background' has no such channel");
	refused("{use: iperf, peer: b}", "wants channel 'tx' of VM 'b', which does not exist");
	refuse(HOST "vms:\n  - {name: a, workload: {use: iperf, peer: b}}\n"
		    "  - {name: b, count: 2, workload: iperf-dom0}\n",
	       "which is a group; name one of its VMs");
}

static void a_scenario_has_workloads_and_classes_of_its_own(void **state)
{
	const struct workload *w;

	(void)state;
	scenario_file_free(loaded);
	loaded = load(HOST "workloads:\n"
			   "  mine: {params: {t: 3ms}, program: [{compute: $t}]}\n"
			   "classes: {build: {sigma: 0.63}}\n"
			   "vms:\n"
			   "  - {name: a, workload: {use: mine, t: 4ms}}\n"
			   "  - {name: b, workload: xen-build}\n");
	w = loaded->variant[0].vm[1].workload;
	assert_string_equal(w->name, "mine");
	assert_int_equal(op(w, 0, 0)->amount.a, 4000000);
	w = loaded->variant[0].vm[2].workload;
	assert_int_equal(w->cls[1].sigma, 660603); /* 0.63 x 2^20 */
	assert_int_equal(w->cls[1].mu, 157286);
	assert_int_equal(w->cls[1].working_set, 3 << 19);
	refuse(HOST "classes: {buidl: {sigma: 0.63}}\nvms: [{name: b, workload: xen-build}]\n",
	       "x.yaml:2:11: error: classes: no workload here has a class 'buidl'");
	refuse(HOST "workloads: {mine: 3}\nvms: [{name: b, workload: mine}]\n",
	       "a workload: found '3', expected a mapping");
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
		cmocka_unit_test(every_built_in_workload_is_right),
		cmocka_unit_test(xen_build_has_the_numbers_of_its_table),
		cmocka_unit_test(parameters_are_put_in_place_and_checked),
		cmocka_unit_test(a_short_program_runs_on_every_vcpu),
		cmocka_unit_test(loops_and_chances_nest_with_their_targets),
		cmocka_unit_test(try_has_its_semaphore_and_what_to_do_else),
		cmocka_unit_test(amounts_have_all_distributions),
		cmocka_unit_test(shared_objects_are_found_by_name),
		cmocka_unit_test(wrong_programs_are_refused),
		cmocka_unit_test(workloads_of_one_vm_are_merged),
		cmocka_unit_test(channels_join_two_vms),
		cmocka_unit_test(a_scenario_has_workloads_and_classes_of_its_own),
	};

	return cmocka_run_group_tests_name("scenario_workload", tests, NULL, end);
}
