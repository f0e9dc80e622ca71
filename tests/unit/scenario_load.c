/*
 * Scenario files as a whole: VMs, domain 0, run, variants, `set`, messages, the printed
 * configuration.
 */
#include "scenario_text.h"

static struct scenario_file *loaded;

static const struct scenario *first(const char *text)
{
	scenario_file_free(loaded);
	loaded = load(text);
	return &loaded->variant[0];
}

static const struct sc_vm *vm(const struct scenario *s, const char *name)
{
	unsigned int i, n;

	if (!scenario_find(s, name, &i, &n))
		fail_msg("no VM '%s'", name);
	assert_int_equal(n, 1);
	return &s->vm[i];
}

static const char *mask(const struct hv_mask *m)
{
	static char text[256];

	return sc_mask_format(m, text, sizeof(text));
}

/*
 * --- Defaults -----------------------------------------------------------------------------------
 */

static void a_vm_has_documented_defaults(void **state)
{
	const struct scenario *s = first(HOST "vms: [{name: a}]\n");
	const struct sc_vm *a = vm(s, "a");

	(void)state;
	assert_string_equal(s->variant, "");
	assert_int_equal(loaded->n_variants, 1);
	assert_int_equal(a->vcpus, 1);
	assert_int_equal(a->maxvcpus, 1);
	assert_int_equal(a->weight, 256);
	assert_int_equal(a->cap, 0);
	assert_false(a->has_hard || a->has_soft || a->dom0);
	assert_string_equal(mask(&a->hard[0]), "0-15");
	assert_string_equal(mask(&a->soft[0]), "0-15");
	assert_int_equal(a->start, 0);
	assert_string_equal(a->workload->name, "idle");
	assert_int_equal(s->run.warmup, 1000000000);
	assert_int_equal(s->run.duration, 10000000000);
	assert_int_equal(s->run.seeds, 5);
	assert_int_equal(s->run.seed_base, 1);
	assert_null(s->run.until);
}

static void domain_0_is_there_unless_it_is_switched_off(void **state)
{
	const struct scenario *s = first(HOST "vms: [{name: a}]\n");

	(void)state;
	assert_true(s->vm[0].dom0);
	assert_string_equal(s->vm[0].name, "dom0");
	assert_int_equal(s->vm[0].vcpus, 16);
	assert_int_equal(s->vm[0].weight, 256);
	assert_string_equal(s->vm[0].workload->name, "dom0-background");
	s = first(HOST "dom0: {background: off}\n");
	assert_string_equal(s->vm[0].workload->name, "idle");
	s = first(HOST "dom0: {background: hog, vcpus: 2, weight: 2000, cap: 150}\n");
	assert_string_equal(s->vm[0].workload->name, "hog");
	assert_int_equal(s->vm[0].vcpus, 2);
	assert_int_equal(s->vm[0].weight, 2000);
	assert_int_equal(s->vm[0].cap, 150);
	s = first(HOST "dom0: none\nvms: [{name: a}]\n");
	assert_int_equal(s->n_vms, 1);
	refuse(HOST "dom0: none\n", "there is no VM");
}

static void domain_0_follows_the_command_line(void **state)
{
	const struct scenario *s;
	const struct sc_vm *d;

	(void)state;
	s = first("host: {preset: H0, cmdline: dom0_max_vcpus=2-4}\ndom0: {}\n");
	assert_int_equal(s->vm[0].vcpus, 4);
	s = first("host: {preset: H0, cmdline: dom0_max_vcpus=20-}\ndom0: {}\n");
	assert_int_equal(s->vm[0].vcpus, 20);
	s = first("host: {preset: H0, cmdline: dom0_max_vcpus=0}\ndom0: {}\n");
	assert_int_equal(s->vm[0].vcpus, 1);
	s = first("host: {preset: H0, cmdline: dom0_max_vcpus=3 smt=0}\ndom0: {vcpus: 3}\n");
	assert_int_equal(s->vm[0].vcpus, 3);
	s = first("host: {preset: H0, cmdline: smt=0}\ndom0: {}\n");
	assert_int_equal(s->vm[0].vcpus, 8);
	d = &first("host: {preset: H0, cmdline: dom0_nodes=1}\ndom0: {}\n")->vm[0];
	assert_int_equal(d->vcpus, 8);
	assert_true(d->has_hard && !d->has_soft);
	assert_string_equal(mask(&d->hard[7]), "8-15");
	assert_int_equal(d->node_share[1], SC_ONE); /* memory follows affinity */
	d = &first("host: {preset: H0, cmdline: 'dom0_nodes=1,relaxed'}\ndom0: {}\n")->vm[0];
	assert_true(!d->has_hard && d->has_soft);
	assert_string_equal(mask(&d->soft[0]), "8-15");
	d = &first("host: {preset: H0, cmdline: dom0_vcpus_pin dom0_max_vcpus=3 dom0_nodes=1}\n"
		   "dom0: {}\n")
		     ->vm[0];
	assert_string_equal(mask(&d->hard[0]), "8");
	assert_string_equal(mask(&d->hard[2]), "10");
	refuse("host: {preset: H0, cmdline: dom0_max_vcpus=2}\ndom0: {vcpus: 3}\n",
	       "x.yaml:2:15: error: dom0: vcpus: 3 contradicts dom0_max_vcpus");
}

/*
 * --- VMs ----------------------------------------------------------------------------------------
 */

static void count_makes_numbered_vms_of_one_group(void **state)
{
	const struct scenario *s = first(HOST "vms:\n"
					      "  - {name: noise, count: 12, weight: 64}\n"
					      "  - {name: b}\n"
					      "  - {name: none-of-it, count: 0}\n");
	unsigned int i, n;

	(void)state;
	assert_int_equal(s->n_vms, 14); /* with domain 0 */
	assert_true(scenario_find(s, "noise", &i, &n));
	assert_int_equal(i, 1);
	assert_int_equal(n, 12);
	assert_string_equal(s->vm[12].name, "noise12");
	assert_string_equal(s->vm[12].group, "noise");
	assert_int_equal(s->vm[12].index, 11);
	assert_int_equal(vm(s, "noise7")->weight, 64);
	assert_false(scenario_find(s, "none-of-it", &i, &n));
	assert_false(scenario_find(s, "noise13", &i, &n));
}

static void affinity_is_one_list_for_all_or_one_per_vcpu(void **state)
{
	const struct scenario *s =
		first(HOST "vms:\n"
			   "  - {name: a, vcpus: 2, cpus: '0-3,^1', cpus_soft: 'node:1'}\n"
			   "  - {name: b, vcpus: 3, cpus: ['1', '2-3']}\n"
			   "  - {name: c, vcpus: 1, maxvcpus: 2, cpus: ['1', '2']}\n");

	(void)state;
	assert_true(vm(s, "a")->has_hard && vm(s, "a")->has_soft);
	assert_string_equal(mask(&vm(s, "a")->hard[1]), "0,2-3");
	assert_string_equal(mask(&vm(s, "a")->soft[1]), "8-15");
	assert_string_equal(mask(&vm(s, "b")->hard[1]), "2-3");
	assert_string_equal(mask(&vm(s, "b")->hard[2]), "0-15"); /* missing: not pinned */
	assert_string_equal(mask(&vm(s, "c")->hard[1]), "2");
	warn(HOST "vms: [{name: a, cpus: ['1', '2']}]\n",
	     "cpus: 2 entries for 1 vCPUs, the surplus is ignored");
	refuse("host: {preset: H0, cmdline: smt=0}\nvms: [{name: a, cpus: '1,3'}]\n",
	       "none of the pCPUs '1,3' is online");
	first("host: {preset: H0, cmdline: smt=0}\nvms: [{name: a, cpus: '1,2'}]\n");
}

static void affinity_of_a_group_may_be_a_list_per_vm(void **state)
{
	static const char text[] = HOST "vms:\n"
					"  - name: a\n    count: 3\n    vcpus: 2\n"
					"    cpus: [['0', '2'], ['8', '10']]\n";
	const struct scenario *s = first(text);

	(void)state;
	assert_string_equal(mask(&vm(s, "a1")->hard[1]), "2");
	assert_string_equal(mask(&vm(s, "a2")->hard[0]), "8");
	assert_int_equal(vm(s, "a1")->node_share[0], SC_ONE); /* memory follows each */
	assert_int_equal(vm(s, "a2")->node_share[1], SC_ONE);
	assert_false(vm(s, "a3")->has_hard); /* missing: not pinned */
	assert_int_equal(vm(s, "a3")->node_share[1], SC_ONE / 2);
	refuse(HOST "vms: [{name: a, cpus: [['0'], ['1']]}]\n", "cpus: found a list");
	refuse(HOST "vms: [{name: a, count: 2, cpus: [['0'], ['99']]}]\n", "99");
}

static void memory_is_placed_as_told_or_by_affinity(void **state)
{
	const struct scenario *s =
		first(HOST "vms:\n"
			   "  - {name: a, cpus: '0-3'}\n"
			   "  - {name: b}\n"
			   "  - {name: c, cpus: '0-3', placement: striped}\n"
			   "  - {name: d, placement: 'node:1'}\n"
			   "  - {name: e, placement: {0: 75%, 1: 25%}, memory: 960MiB}\n"
			   "  - {name: f, placement: {0: 33.3%, 1: 66.7%}}\n");
	int64_t sum;

	(void)state;
	assert_int_equal(vm(s, "a")->node_share[0], SC_ONE);
	assert_int_equal(vm(s, "b")->node_share[0], SC_ONE / 2);
	assert_int_equal(vm(s, "c")->node_share[1], SC_ONE / 2);
	assert_int_equal(vm(s, "d")->node_share[1], SC_ONE);
	assert_int_equal(vm(s, "e")->node_share[0], SC_ONE / 4 * 3);
	assert_int_equal(vm(s, "e")->memory, 960 << 20);
	for (unsigned int i = 0; i < s->n_vms; i++) {
		sum = 0;
		for (unsigned int n = 0; n < SC_MAX_NODES; n++)
			sum += s->vm[i].node_share[n];
		assert_int_equal(sum, SC_ONE);
	}
	s = first("host: {topology: 3x2x1}\nvms: [{name: a}]\n");
	assert_int_equal(vm(s, "a")->node_share[0] + 2 * vm(s, "a")->node_share[1], SC_ONE);
	refuse(HOST "vms: [{name: a, placement: {0: 70%}}]\n", "the shares must sum to 100%");
	refuse(HOST "vms: [{name: a, placement: {2: 100%}}]\n", "'2' is no memory node");
	refuse(HOST "vms: [{name: a, placement: 'node:2'}]\n", "'node:2' is not in the topology");
	refuse(HOST "vms: [{name: a, placement: far}]\n", "found 'far', expected auto, striped");
}

static void values_out_of_range_name_the_range(void **state)
{
	(void)state;
	refuse(HOST "vms: [{name: a, weight: 0}]\n",
	       "x.yaml:2:25: error: weight: 0 is out of range, expected 1..65535");
	refuse(HOST "vms: [{name: a, weight: 65536}]\n",
	       "weight: 65536 is out of range, expected 1..65535");
	assert_int_equal(vm(first(HOST "vms: [{name: a, weight: 65535}]\n"), "a")->weight, 65535);
	assert_int_equal(vm(first(HOST "vms: [{name: a, weight: 1}]\n"), "a")->weight, 1);
	refuse(HOST "vms: [{name: a, vcpus: 0}]\n",
	       "x.yaml:2:24: error: vcpus: 0 is out of range, expected 1..4096");
	refuse(HOST "vms: [{name: a, vcpus: 4097}]\n", "expected 1..4096");
	refuse(HOST "vms: [{name: a, vcpus: 2, cap: 201}]\n",
	       "cap: 201 is out of range, expected 0..200");
	refuse(HOST "vms: [{name: a, vcpus: 4, maxvcpus: 3}]\n", "expected at least 4");
	refuse(HOST "vms: [{name: a, count: 1025}]\n", "count: 1025 is out of range");
	refuse(HOST "vms: [{name: a, count: 5, vcpus: 4096}]\n", "more than 16384 vCPUs in all");
	refuse(HOST "vms: [{name: a}]\nrun: {seeds: 0}\n", "seeds: 0 is out of range");
	refuse(HOST "vms: [{name: a}]\nrun: {duration: 0s}\n", "duration: 0s is out of range");
}

static void names_are_unique_words(void **state)
{
	(void)state;
	refuse(HOST "vms: [{name: a}, {name: a}]\n",
	       "x.yaml:2:25: error: name: another VM is called 'a'");
	refuse(HOST "vms: [{name: a1}, {name: a, count: 2}]\n", "another VM is called 'a1'");
	refuse(HOST "vms: [{name: a, count: 2}, {name: a1}]\n", "another VM is called 'a1'");
	refuse(HOST "vms: [{name: 'a b'}]\n", "'a b' is not a name");
	refuse(HOST "vms: [{name: host}]\n", "'host' is reserved");
	refuse(HOST "vms: [{name: dom0}]\n", "'dom0' is reserved");
	refuse(HOST "vms: [{vcpus: 1}]\n", "x.yaml:2:8: error: 'name' is missing in a VM");
}

/*
 * --- Bad YAML and bad types ---------------------------------------------------------------------
 */

static void wrong_yaml_is_told_with_its_place(void **state)
{
	(void)state;
	refuse("host: {preset: H0\nvms:\n", "x.yaml:2:4: error: not valid YAML");
	refuse("host: \"x\n", "x.yaml:1:");
	refuse("", "x.yaml: error: the file is empty");
	refuse("# only a comment\n", "the file is empty");
	refuse("- a\n- b\n", "found a list, expected a mapping");
	refuse("just words\n", "found 'just words', expected a mapping");
	refuse(HOST "vms: [{name: a}]\n---\nhost: 1\n", "more than one YAML document");
	refuse(HOST "vms: [{name: *a}]\n", "this alias names no anchor");
	refuse("host: {preset: H0, ? [a] : b}\nvms: [{name: a}]\n", "a key must be a plain word");
}

static void unknown_and_repeated_keys_are_told(void **state)
{
	(void)state;
	refuse(HOST "vms: [{name: a, wieght: 3}]\n",
	       "x.yaml:2:17: error: unknown key 'wieght' in a VM; did you mean 'weight'?");
	refuse(HOST "vms: [{name: a}]\nzebra: 1\n",
	       "x.yaml:3:1: error: unknown key 'zebra' in the scenario; expected one of: name");
	refuse(HOST "vms: [{name: a, vcpus: 2, vcpus: 3}]\n",
	       "x.yaml:2:27: error: key 'vcpus' is repeated; it was first given at line 2");
	refuse(HOST HOST "vms: [{name: a}]\n", "key 'host' is repeated");
	refuse(HOST "vms: [{name: a, vcpus: }]\n", "'vcpus' has no value");
	refuse(HOST "vms: [{name: a, vcpus: ~}]\n", "'vcpus' has no value");
}

static void wrong_types_name_what_was_expected(void **state)
{
	(void)state;
	refuse(HOST "vms: {a: 1}\n", "vms: found a mapping, expected a list");
	refuse(HOST "vms: [a]\n", "a VM: found 'a', expected a mapping");
	refuse(HOST "vms: [{name: [a]}]\n", "name: found a list, expected a text");
	refuse(HOST "vms: [{name: a, vcpus: [1]}]\n",
	       "vcpus: found a list, expected a whole number");
	refuse(HOST "vms: [{name: a, vcpus: two}]\n",
	       "vcpus: found 'two', expected a whole number such as 4");
	refuse(HOST "vms: [{name: a, weight: 25%}]\n",
	       "weight: found '25%', expected a whole number");
	refuse(HOST "vms: [{name: a}]\nrun: {warmup: 5}\n",
	       "x.yaml:3:15: error: warmup: '5' has no unit, expected a duration such as 30ms");
	refuse(HOST "vms: [{name: a, memory: 4096}]\n",
	       "memory: '4096' has no unit, expected a size such as 960MiB");
	refuse("host: [1]\nvms: [{name: a}]\n", "host: found a list, expected a mapping");
	refuse("vms: [{name: a}]\n", "'host' is missing in the scenario");
}

static void all_errors_of_a_file_are_told(void **state)
{
	(void)state;
	refuse(HOST "vms:\n"
		    "  - {name: a, weight: 0}\n"
		    "  - {name: b, vcpus: 0, cpus: '99'}\n"
		    "run: {warmup: 5}\n",
	       "weight: 0");
	assert_non_null(strstr(messages, "x.yaml:4:22: error: vcpus: 0"));
	assert_non_null(strstr(messages, "x.yaml:4:32: error: cpus: pCPU 99"));
	assert_non_null(strstr(messages, "x.yaml:5:15: error: warmup"));
}

static void hostile_yaml_ends_in_a_message(void **state)
{
	char *deep = malloc(20000), bomb[2048];
	size_t n = 0;

	(void)state;
	assert_non_null(deep);
	memset(deep, '[', 9999);
	memset(deep + 9999, ']', 9999);
	deep[19998] = 0;
	refuse(deep, "error");
	free(deep);
	n += (size_t)snprintf(bomb + n, sizeof(bomb) - n, "a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
	for (int i = 1; i < 12; i++)
		n += (size_t)snprintf(bomb + n, sizeof(bomb) - n,
				      "a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i,
				      i, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
	refuse(bomb, "the document is too large");
}

/*
 * --- Variants -----------------------------------------------------------------------------------
 */

static void a_variant_sets_any_key(void **state)
{
	struct scenario_file *f = load(
		HOST
		"vms:\n"
		"  - {name: a, weight: 100, workload: noise}\n"
		"  - {name: n, count: 3}\n"
		"variants:\n"
		"  - {name: base}\n"
		"  - {name: x, set: {vms.a.weight: 512, vms.n.count: 0, host.costs.C4: 9us,\n"
		"      run.seeds: 2, vms.a.workload.on: 7ms, dom0.vcpus: 3}}\n"
		"  - {name: y, set: {vms.a.cpus: ['1'], vms.1.vcpus: 4, host.topology: 1x4x1}}\n");

	(void)state;
	assert_int_equal(f->n_variants, 3);
	assert_string_equal(f->variant[1].variant, "x");
	assert_int_equal(vm(&f->variant[0], "a")->weight, 100);
	assert_int_equal(vm(&f->variant[1], "a")->weight, 512);
	assert_int_equal(vm(&f->variant[2], "a")->weight, 100);
	assert_int_equal(f->variant[0].n_vms, 5);
	assert_int_equal(f->variant[1].n_vms, 2);
	assert_int_equal(f->variant[1].hw.cost.c4_switch, 9000);
	assert_int_equal(f->variant[1].run.seeds, 2);
	assert_string_equal(vm(&f->variant[1], "a")->workload->param[0].text, "7ms");
	assert_int_equal(f->variant[1].vm[0].vcpus, 3);
	assert_string_equal(mask(&vm(&f->variant[2], "a")->hard[0]), "1");
	assert_int_equal(vm(&f->variant[2], "n1")->vcpus, 4);
	assert_int_equal(f->variant[2].topo.n_cpus, 4);
	scenario_file_free(f);
}

static void a_variant_that_names_nothing_is_refused(void **state)
{
	(void)state;
	refuse(HOST "vms: [{name: a}]\nvariants:\n  - {cmdline: smt=0}\n",
	       "x.yaml:4:6: error: 'name' is missing in a variant");
	refuse(HOST "vms: [{name: a}]\nvariants:\n  - {name: x}\n  - {name: x}\n",
	       "x.yaml:5:12: error: name: another variant is called 'x'");
	refuse(HOST "vms: [{name: a}]\nvariants:\n  - {name: x, set: {vms.b.weight: 3}}\n",
	       "x.yaml:4:21: error: variant 'x': 'b' names nothing that is there");
	refuse(HOST "vms: [{name: a}]\nvariants:\n  - {name: x, set: {vms.a.wieght: 3}}\n",
	       "variant 'x': unknown key 'wieght' in a VM; did you mean 'weight'?");
	refuse(HOST "vms: [{name: a}]\nvariants:\n  - {name: x, set: {vms.a.weight: 0}}\n",
	       "x.yaml:4:35: error: variant 'x': weight: 0 is out of range");
	refuse(HOST "vms: [{name: a}]\nvariants:\n  - {name: x, set: {vms.a.weight.b: 0}}\n",
	       "variant 'x': ");
	refuse(HOST "vms: [{name: a}]\nvariants:\n  - {name: x, cmdline: smt=huh}\n",
	       "x.yaml:4:24: error: variant 'x': smt: found 'huh'");
	refuse(HOST "vms: [{name: a}]\nvariants: []\n", "variants: 0 entries, expected 1..64");
	refuse(HOST "vms: [{name: a}]\nvariants: [{name: 'a]'}]\n", "must not contain '[' or ']'");
	refuse(HOST "vms: [{name: a}]\nvariants: [{name: x, set: {expect: 1}}]\n",
	       "'expect' cannot be set");
}

static void the_command_line_sets_keys_too(void **state)
{
	static const struct sc_set good[] = {{"vms.a.weight", "512"}, {"run", "{seeds: 3}"}};
	static const struct sc_set bad[] = {{"vms.a.weight", "0"}};
	static const struct sc_set nothing[] = {{"vms.b.weight", "1"}};
	struct scenario_file *f = load_with(HOST "vms: [{name: a}]\n", good, 2);

	(void)state;
	assert_non_null(f);
	assert_int_equal(vm(&f->variant[0], "a")->weight, 512);
	assert_int_equal(f->variant[0].run.seeds, 3);
	scenario_file_free(f);
	assert_null(load_with(HOST "vms: [{name: a}]\n", bad, 1));
	assert_non_null(
		strstr(messages, "--set vms.a.weight:1:1: error: weight: 0 is out of range"));
	assert_null(load_with(HOST "vms: [{name: a}]\n", nothing, 1));
	assert_non_null(strstr(messages, "--set vms.b.weight: error: 'b' names nothing"));
}

static void until_names_a_workload_with_an_end(void **state)
{
	const struct scenario *s =
		first(HOST "vms: [{name: a, workload: xen-build}]\nrun: {until: a}\n");

	(void)state;
	assert_string_equal(s->run.until, "a");
	assert_int_equal(s->run.duration, 600000000000);
	refuse(HOST "vms: [{name: a}]\nrun: {until: b}\n",
	       "x.yaml:3:14: error: until: no VM is named 'b'");
	refuse(HOST "vms: [{name: a, workload: hog}]\nrun: {until: a}\n", "has no end");
}

/*
 * --- The printed configuration ------------------------------------------------------------------
 */

static char *printed(const struct scenario *s)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	scenario_print(out, s);
	fclose(out);
	return text;
}

static void the_printed_configuration_reads_back_as_itself(void **state)
{
	static const char *const texts[] = {
		HOST "vms: [{name: a}]\n",
		"host: {preset: H2, cmdline: sched=null smt=0, cpumask: '0-40,44'}\n"
		"dom0: {vcpus: 2, workload: iperf-dom0}\n"
		"vms:\n"
		"  - {name: b, vcpus: 8, maxvcpus: 9, weight: 3, cap: 250, cpus: ['1-2', '4'],\n"
		"     cpus_soft: 'node:1', placement: {0: 33.3%, 1: 66.7%}, start: 1.5s,\n"
		"     workload: {use: xen-build, jobs: 4}}\n"
		"  - {name: n, count: 3, workload: noise-e2}\n"
		"  - {name: i, workload: iperf}\n"
		"run: {warmup: 5s, until: b, seeds: 3, seed: 9}\n"
		"timeline:\n"
		"  - {at: 2s, every: 1ms, times: 4, do: [pause n, 'vcpu-pin b all 1-3 -']}\n",
		"host: {topology: 'pack:2 l3:2 core:2 pu:2'}\n"
		"vms: [{name: a, workload: [xen-build, dom0-background]}]\n",
		"host: {topology: 1x2x1}\n"
		"vms:\n"
		"  - name: a\n"
		"    vcpus: 2\n"
		"    workload:\n"
		"      locks: {l: {kind: futex, count: 4}, g: {kind: spin}, r: {kind: rw}}\n"
		"      barriers: {b: {parties: 2, kind: spin, spin: 200ms}}\n"
		"      semaphores: {s: {initial: 2}}\n"
		"      channels: {c: {slots: 4}}\n"
		"      devices: {d: {latency: exp(8ms), rate: 500MB/s, slots: 2}}\n"
		"      program:\n"
		"        - forever:\n"
		"            - loop: {times: 'uniform(1, 3)', do: [{chance: {p: 4%, do: []}}]}\n"
		"            - loop: {times: 2, do: []}\n"
		"            - chance: {p: 50%, do: [{compute: 'lognormal(1s, 0.8)'}, {send: c}]}\n"
		"            - draw: {to: r1, size: exp(4KiB)}\n"
		"            - io: {device: d, bytes: r1/2}\n"
		"            - lock: l\n"
		"            - unlock: l\n"
		"            - lock_shared: r\n"
		"            - barrier: b\n"
		"            - wait: s\n"
		"            - signal: {semaphore: s, count: 2}\n"
		"            - recv: c\n"
		"            - shootdown\n"
		"            - done\n"
		"            - count: {size: 64KiB}\n"
		"        - exit\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char *once = printed(first(texts[i])), *twice = printed(first(once));

		/* The comment with the preset's name is the only line that may differ. */
		assert_string_equal(strstr(once, "topology:"), strstr(twice, "topology:"));
		free(once);
		free(twice);
	}
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
		cmocka_unit_test(a_vm_has_documented_defaults),
		cmocka_unit_test(domain_0_is_there_unless_it_is_switched_off),
		cmocka_unit_test(domain_0_follows_the_command_line),
		cmocka_unit_test(count_makes_numbered_vms_of_one_group),
		cmocka_unit_test(affinity_is_one_list_for_all_or_one_per_vcpu),
		cmocka_unit_test(affinity_of_a_group_may_be_a_list_per_vm),
		cmocka_unit_test(memory_is_placed_as_told_or_by_affinity),
		cmocka_unit_test(values_out_of_range_name_the_range),
		cmocka_unit_test(names_are_unique_words),
		cmocka_unit_test(wrong_yaml_is_told_with_its_place),
		cmocka_unit_test(unknown_and_repeated_keys_are_told),
		cmocka_unit_test(wrong_types_name_what_was_expected),
		cmocka_unit_test(all_errors_of_a_file_are_told),
		cmocka_unit_test(hostile_yaml_ends_in_a_message),
		cmocka_unit_test(a_variant_sets_any_key),
		cmocka_unit_test(a_variant_that_names_nothing_is_refused),
		cmocka_unit_test(the_command_line_sets_keys_too),
		cmocka_unit_test(until_names_a_workload_with_an_end),
		cmocka_unit_test(the_printed_configuration_reads_back_as_itself),
	};

	return cmocka_run_group_tests_name("scenario_load", tests, NULL, end);
}
