/*
 * Commands on pools and the host as they are parsed: pool files in xl's syntax, what a command line
 * puts over them, suspend and resume, the node of a granularity (core-scheduling sections 4.2,
 * 7.1).
 */
#include "scenario_text.h"

#include <sys/resource.h>
#include <unistd.h>

#include "temporary.h"

static struct scenario_file *loaded;
static char pool_file[PATH_MAX];

#define BASE HOST "vms: [{name: a, vcpus: 2}]\n"

static bool parse(const char *command, struct sc_op *op)
{
	struct sc_diag diag = {0};
	size_t len;
	bool ok;

	free(messages);
	diag.out = open_memstream(&messages, &len);
	ok = scenario_command(loaded, &loaded->variant[0], command, 1, &diag, op);
	fclose(diag.out);
	return ok;
}

static struct sc_op op(const char *command)
{
	struct sc_op out;

	if (!parse(command, &out))
		fail_msg("%s: %s", command, messages);
	return out;
}

static void refused(const char *command, const char *message)
{
	struct sc_op out;

	if (parse(command, &out))
		fail_msg("accepted: %s", command);
	if (!strstr(messages, message))
		fail_msg("%s\nsaid: %sexpected: %s", command, messages, message);
}

/* Write the pool file; "@" in a command below is its name. */
static void write_file(const char *text)
{
	FILE *f = fopen(pool_file, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static const char *with_file(const char *command)
{
	static char text[PATH_MAX + 256];
	const char *at = strchr(command, '@');

	assert_non_null(at);
	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - command), command, pool_file, at + 1);
	return text;
}

static const char *mask(const struct hv_mask *m)
{
	static char text[256];

	return sc_mask_format(m, text, sizeof(text));
}

/* ---- pool files */

static void a_pool_file_is_read_as_xl_reads_it(void **state)
{
	static const char *const same[] = {
		"name = \"rt\"\nsched = \"rtds\"\ncpus = \"4-5,7\"\n",
		"# a pool\n\nname='rt';sched='rtds' # real time\n  cpus = [\"4-5\", 7]",
		("cpus = [\n  4,\n  \"5\", # more\n  \"7\",\n]\r\n"
		 "sched\t=\t\"rtds\"\r\nname = \"rt\""),
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		struct sc_op o;

		write_file(same[i]);
		o = op(with_file("cpupool-create @"));
		assert_int_equal(o.kind, SC_OP_POOL_CREATE);
		assert_string_equal(o.pool, "rt");
		assert_true(o.set_sched && !o.set_gran && !o.of_nodes && !o.dry_run);
		assert_int_equal(o.sched, SC_SCHED_RTDS);
		assert_string_equal(mask(&o.cpus), "4-5,7");
	}
}

/* KiB that this program has had at once. */
static long most_memory(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
	return usage.ru_maxrss;
}

static void a_long_list_takes_memory_by_its_length(void **state)
{
	long before = most_memory();
	FILE *f = fopen(pool_file, "w");
	struct sc_op o;

	(void)state;
	assert_non_null(f);
	fputs("name = 'x'\ncpus = ['5'", f);
	for (unsigned i = 0; i < 20000; i++)
		fputs(", 5", f);
	fputs(",6]\n", f);
	assert_int_equal(fclose(f), 0);
	o = op(with_file("cpupool-create @"));
	assert_string_equal(mask(&o.cpus), "5-6");
	assert_in_range(most_memory() - before, 0, 50 * 1024);
}

static void the_command_line_is_put_over_the_file(void **state)
{
	struct sc_op o;

	(void)state;
	write_file("name = \"rt\"\nsched = \"no such\"\ncpus = \"77\"\n");
	o = op(with_file("xl cpupool-create @ sched=\"credit\" name=other cpus=1,2"));
	assert_string_equal(o.pool, "other");
	assert_int_equal(o.sched, SC_SCHED_CREDIT);
	assert_string_equal(mask(&o.cpus), "1-2");
	write_file("cpus = \"3\"\n");
	o = op(with_file("cpupool-create --defconfig=@ --dryrun gran=core name=x"));
	assert_true(o.dry_run);
	assert_int_equal(o.gran, HV_GRAN_CORE);
	assert_string_equal(mask(&o.cpus), "3");
	o = op(with_file("cpupool-create -nf @ name=x cpus=[4, \"6-7\"]"));
	assert_string_equal(mask(&o.cpus), "4,6-7");
	/* nodes beat cpus, wherever they stand */
	o = op(with_file("cpupool-create -f@ name=x nodes=0-1,^0"));
	assert_true(o.of_nodes);
	assert_string_equal(mask(&o.cpus), "8-15");
	write_file("nodes = [0, 1]");
	o = op(with_file("cpupool-create @ name=x cpus=1"));
	assert_string_equal(mask(&o.cpus), "0-15");
}

static void quotes_may_stand_as_a_shell_needs_them(void **state)
{
	static const char *const same[] = {
		"cpupool-create name=\\\"rt\\\" sched=\\\"rtds\\\" cpus=\\\"4-5,7\\\"",
		"xl cpupool-create 'name=\"rt\"' 'sched=\"rtds\"' 'cpus=[\"4-5\", \"7\"]'",
		"cpupool-create \"name=\\\"rt\\\"\" \"sched='rtds'\" cpus=[\\\"4-5\\\",\\\"7\\\"]",
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		struct sc_op o = op(same[i]);

		assert_string_equal(o.pool, "rt");
		assert_int_equal(o.sched, SC_SCHED_RTDS);
		assert_string_equal(mask(&o.cpus), "4-5,7");
	}
	refused("cpupool-create name=a\\b", "console:1:16: error: ");
}

static void the_name_is_by_default_that_of_the_file(void **state)
{
	(void)state;
	write_file("cpus = \"3\"\n");
	assert_string_equal(op(with_file("cpupool-create @")).pool, strrchr(pool_file, '/') + 1);
	refused("cpupool-create sched=rtds", "console:1:1: error: no name, expected");
	refused("cpupool-create -f /dev/null/9.cfg", "cannot read the pool file");
	refused("cpupool-create name=9", "a pool's name is a letter");
}

static void mistakes_in_a_pool_file_are_told_with_their_place(void **state)
{
	static const struct {
		const char *text, *message;
	} wrong[] = {
		{"name = \"x\"\nsched = cfs\n", ":2:9: error: expected a text in quotes, a number"},
		{"name = \"x\"\nsched = \"cfs\"\n", ":2:9: error: unknown scheduler 'cfs'"},
		{"name = \"x\"\ngran = \"chip\"\n", ":2:8: error: found 'chip', expected cpu"},
		{"colour = 3\n", ":1:1: error: unknown key 'colour'"},
		{"name = \"x\"; name = \"y\"\n", ":1:13: error: key 'name' is repeated"},
		{"name \"x\"\n", ":1:6: error: expected '=' behind the key"},
		{"= 3\n", ":1:1: error: expected KEY = VALUE"},
		{"name = \"x\n", ":1:8: error: expected the closing quote"},
		{"name = \"x\" sched = \"credit\"\n", ":1:12: error: expected the end of the line"},
		{"cpus = [1, x]\n", ":1:12: error: expected a text in quotes, or a number"},
		{"cpus = [1 2]\n", ":1:11: error: expected ',' or ']' in the list"},
		{"cpus = [1,\n", ":2:1: error: expected a text in quotes, or a number"},
		{"name = \"x\"\ncpus = \"0-99\"\n", ":2:8: error: pCPU 99 is not in the topology"},
		{"name = \"x\"\nnodes = 2\n", ":2:9: error: node 2 is not in the topology"},
		{"name = \"a b\"\n", ":1:8: error: a pool's name is a letter"},
		{"name =\n", ":1:7: error: expected a text in quotes, a number or a list"},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		write_file(wrong[i].text);
		refused(with_file("cpupool-create @"), wrong[i].message);
		assert_non_null(strstr(messages, pool_file));
	}
}

static void mistakes_on_the_command_line_are_told_with_their_place(void **state)
{
	(void)state;
	write_file("name = \"x\"\n");
	refused(with_file("cpupool-create -f @ @"), "error: one pool file at a time");
	refused("cpupool-create -f", "console:1:16: error: option '-f' has no value");
	refused("cpupool-create -q name=x", "console:1:16: error: unknown option '-q'");
	refused("cpupool-create name=x name=y", "console:1:23: error: key 'name' is repeated");
	refused("cpupool-create name=x cpus=[1 ,2", "console:1:23: error: expected ',' or ']'");
	refused("cpupool-create name=\"x", "console:1:16: error: expected the closing quote");
	refused("cpupool-create name=x colour=red", "console:1:23: error: unknown key 'colour'");
	refused("cpupool-create name=x sched=cfs", "console:1:23: error: unknown scheduler 'cfs'");
}

static void a_pool_file_of_a_timeline_starts_from_the_scenario(void **state)
{
	char text[PATH_MAX + 512], *slash = strrchr(pool_file, '/');
	struct scenario_file *f;
	struct sc_diag diag = {.out = stderr};

	(void)state;
	write_file("name = \"x\"; cpus = 3\n");
	snprintf(text, sizeof(text),
		 HOST "vms: [{name: a}]\ntimeline: [{at: 1s, do: cpupool-create %s}]\n", slash + 1);
	*slash = '\0';
	assert_int_equal(
		scenario_load_text("x.yaml", text, strlen(text), pool_file, NULL, 0, &diag, &f), 0);
	*slash = '/';
	assert_string_equal(f->variant[0].event[0].op->pool, "x");
	scenario_file_free(f);
	refuse(HOST "vms: [{name: a}]\ntimeline: [{at: 1s, do: cpupool-create no/file}]\n",
	       "cannot read the pool file 'no/file'");
	refuse(HOST "vms: [{name: a}]\ntimeline: [{at: 1s, do: cpupool-create -n name=x}]\n",
	       "-n only shows what would be done, in the console");
}

/* ---- the host */

static void the_host_is_suspended_and_resumed(void **state)
{
	struct sc_op o = op("suspend");

	(void)state;
	assert_int_equal(o.kind, SC_OP_SUSPEND);
	refused("suspend a", "console:1:9: error: 'suspend' puts the whole host to sleep");
	o = op("resume");
	assert_int_equal(o.kind, SC_OP_RESUME);
	assert_true(hv_mask_empty(&o.cpus, SC_NW));
	o = op("resume lost=6-7,node:1");
	assert_string_equal(mask(&o.cpus), "6-15");
	refused("resume 6", "console:1:8: error: found '6', expected lost=LIST");
	refused("resume lost=", "empty CPU list");
	refused("resume lost=99", "pCPU 99 is not in the topology");
	refused("resume lost=1 2", "expected 'resume [lost=LIST]'");
}

static void a_granularity_is_written_to_its_node(void **state)
{
	struct sc_op o = op("xenhypfs write /cpupool/3/sched-gran core");

	(void)state;
	assert_int_equal(o.kind, SC_OP_POOL_GRAN);
	assert_string_equal(o.pool, "3");
	assert_int_equal(o.gran, HV_GRAN_CORE);
	assert_int_equal(op("xenhypfs write /cpupool/0/sched-gran socket").gran, HV_GRAN_SOCKET);
	/* 8 bytes with the NUL */
	refused("xenhypfs write /cpupool/0/sched-gran corexxxxx", "(ENOSPC)");
	refused("xenhypfs write /cpupool/0/sched-gran corexxxx", "(ENOSPC)");
	refused("xenhypfs write /cpupool/0/sched-gran corexxx", "(EINVAL)");
	refused("xenhypfs write /cpupool/x/sched-gran core", "no node '/cpupool/x/sched-gran'");
	refused("xenhypfs write /cpupool//sched-gran core", "no node '/cpupool//sched-gran'");
	refused("xenhypfs write /params/sched-gran core", "no node");
	refused("xenhypfs write /cpupool/0/sched-gran", "expected 'xenhypfs write");
}

static void what_only_looks_is_the_consoles(void **state)
{
	(void)state;
	refuse(BASE "timeline: [{at: 1s, do: vcpu-list a}]\n",
	       "'vcpu-list' is a command of the console only");
	refuse(BASE "timeline: [{at: 1s, do: debug-keys r}]\n", "of the console only");
}

/* ---- keys of a VM, as xl names them */

static void xl_names_of_keys_are_understood(void **state)
{
	struct scenario_file *f = load(
		HOST "pools: [{name: p, nodes: '1'}]\n"
		     "vms:\n  - {name: a, cpu_weight: 512, pool: 1}\n  - {name: b, pool: 0}\n");

	(void)state;
	assert_int_equal(f->variant[0].vm[1].weight, 512);
	assert_int_equal(f->variant[0].vm[1].pool, 1);
	assert_int_equal(f->variant[0].vm[2].pool, 0);
	scenario_file_free(f);
	refuse(HOST "vms: [{name: a, cpu_weight: 512, weight: 3}]\n",
	       "cpu_weight is another name of weight");
	refuse(HOST "vms: [{name: a, cpu_weight: 65536}]\n", "cpu_weight: 65536 is out of range");
	refuse(HOST "vms: [{name: a, pool: 1}]\n", "no pool is named '1'");
	warn(HOST "vms: [{name: a, slice: 5}]\n", "slice has no effect, in Xen neither");
}

static void lists_of_nodes_are_lists(void **state)
{
	struct scenario_file *f =
		load("host: {topology: 4x2x1}\nvms: [{name: a}]\n"
		     "pools: [{name: p, nodes: '1,3'}, {name: q, nodes: '0-2,^0,^1'}]\n");

	(void)state;
	assert_string_equal(mask(&f->variant[0].pool[1].cpus), "2-3,6-7");
	assert_string_equal(mask(&f->variant[0].pool[2].cpus), "4-5");
	scenario_file_free(f);
}

static int begin(void **state)
{
	(void)state;
	assert_true(temporary_make(pool_file, ""));
	loaded = load(BASE);
	return 0;
}

static int end(void **state)
{
	(void)state;
	unlink(pool_file);
	scenario_file_free(loaded);
	free(messages);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pool_file_is_read_as_xl_reads_it),
		cmocka_unit_test(a_long_list_takes_memory_by_its_length),
		cmocka_unit_test(the_command_line_is_put_over_the_file),
		cmocka_unit_test(quotes_may_stand_as_a_shell_needs_them),
		cmocka_unit_test(the_name_is_by_default_that_of_the_file),
		cmocka_unit_test(mistakes_in_a_pool_file_are_told_with_their_place),
		cmocka_unit_test(mistakes_on_the_command_line_are_told_with_their_place),
		cmocka_unit_test(a_pool_file_of_a_timeline_starts_from_the_scenario),
		cmocka_unit_test(the_host_is_suspended_and_resumed),
		cmocka_unit_test(a_granularity_is_written_to_its_node),
		cmocka_unit_test(what_only_looks_is_the_consoles),
		cmocka_unit_test(xl_names_of_keys_are_understood),
		cmocka_unit_test(lists_of_nodes_are_lists),
	};

	return cmocka_run_group_tests_name("scenario_commands", tests, begin, end);
}
