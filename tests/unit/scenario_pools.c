/*
 * Cpupools: the section `pools:`, the key `pool`, and the commands on pools and pCPUs
 * (core-scheduling sections 4.1, 7.1).
 */
#include "scenario_text.h"

#define VMS                                  \
	"vms:\n"                             \
	"  - {name: a, vcpus: 2, pool: p}\n" \
	"  - {name: n, count: 3}\n"          \
	"run: {warmup: 1s, duration: 9s}\n"
#define POOLS "pools:\n  - {name: p, cpus: 8-15, sched: credit}\n"
#define BASE  HOST POOLS VMS

static struct scenario_file *file;

static const struct sc_op *op(const char *command)
{
	char text[1024];

	snprintf(text, sizeof(text), BASE "timeline:\n  - {at: 2s, do: '%s'}\n", command);
	scenario_file_free(file);
	file = load(text);
	return file->variant[0].event[0].op;
}

static void refused(const char *command, const char *message)
{
	char text[1024];

	snprintf(text, sizeof(text), BASE "timeline:\n  - {at: 2s, do: '%s'}\n", command);
	refuse(text, message);
}

static const char *mask(const struct hv_mask *m)
{
	static char text[256];

	return sc_mask_format(m, text, sizeof(text));
}

static void pool_0_has_what_the_others_leave(void **state)
{
	struct scenario_file *f = load(BASE);
	const struct scenario *s = &f->variant[0];

	(void)state;
	assert_int_equal(s->n_pools, 2);
	assert_string_equal(s->pool[0].name, "Pool-0");
	assert_string_equal(mask(&s->pool[0].cpus), "0-7");
	assert_int_equal(s->pool[0].sched, SC_SCHED_CREDIT2);
	assert_string_equal(mask(&s->pool[1].cpus), "8-15");
	assert_int_equal(s->pool[1].sched, SC_SCHED_CREDIT);
	assert_int_equal(s->pool[1].gran, HV_GRAN_CPU);
	scenario_file_free(f);
}

static void domain_0_has_a_vcpu_for_each_pcpu_of_pool_0(void **state)
{
	struct scenario_file *f = load(BASE);
	const struct scenario *s = &f->variant[0];

	(void)state;
	assert_true(s->vm[0].dom0);
	assert_int_equal(s->vm[0].vcpus, 8);
	assert_int_equal(s->vm[0].pool, 0);
	assert_int_equal(s->vm[1].pool, 1);
	assert_int_equal(s->vm[2].pool, 0);
	scenario_file_free(f);
}

static void what_is_printed_is_read_again(void **state)
{
	struct scenario_file *f = load(BASE), *again;
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	assert_non_null(out);
	scenario_print(out, &f->variant[0]);
	fclose(out);
	again = load(text);
	assert_int_equal(again->variant[0].n_pools, 2);
	assert_string_equal(mask(&again->variant[0].pool[1].cpus), "8-15");
	assert_int_equal(again->variant[0].pool[1].sched, SC_SCHED_CREDIT);
	assert_int_equal(again->variant[0].vm[1].pool, 1);
	free(text);
	scenario_file_free(again);
	scenario_file_free(f);
}

static void a_pool_consists_of_whole_resources(void **state)
{
	struct scenario_file *f = load(HOST "pools:\n  - {name: p, cpus: 4-7, gran: core}\n"
					    "vms:\n  - {name: a, pool: p}\n");

	(void)state;
	assert_int_equal(f->variant[0].pool[1].gran, HV_GRAN_CORE);
	scenario_file_free(f);
	refuse(HOST "pools:\n  - {name: p, cpus: 4-6, gran: core}\nvms:\n  - {name: a}\n",
	       "pCPUs 6 and 7 belong together");
	/* Pool-0 would have half a core. */
	refuse("host: {preset: H0, cmdline: sched-gran=core}\n"
	       "pools:\n  - {name: p, cpus: 3, gran: cpu}\nvms:\n  - {name: a}\n",
	       "pool 'Pool-0': under sched-gran=core pCPUs 2 and 3 belong together");
}

static void wrong_pools_are_refused(void **state)
{
	(void)state;
	refuse(HOST "pools:\n  - {name: p, cpus: 0-3}\n" VMS, "which stays in Pool-0");
	refuse(HOST "pools:\n  - {name: p, cpus: 2}\n  - {name: q, cpus: 2-3}\n" VMS,
	       "a pCPU of it is in pool 'p', too");
	refuse(HOST "pools:\n  - {name: p, cpus: 16}\n" VMS, "x.yaml:3:");
	refuse(HOST POOLS "vms:\n  - {name: a, pool: r}\n",
	       "no pool is named 'r', expected Pool-0 or p");
	refuse(HOST POOLS "vms:\n  - {name: a, pool: p, cpus: 0-7}\n",
	       "vCPU 0 may run on no pCPU of its pool 'p'");
}

static void pools_are_made_as_with_xl(void **state)
{
	const struct sc_op *o = op("xl cpupool-create name=\"x\" sched=\"rtds\" cpus=\"2-3,^3\"");

	(void)state;
	assert_int_equal(o->kind, SC_OP_POOL_CREATE);
	assert_string_equal(o->pool, "x");
	assert_true(o->set_sched && !o->set_gran);
	assert_int_equal(o->sched, SC_SCHED_RTDS);
	assert_string_equal(mask(&o->cpus), "2");
	o = op("cpupool-create cpus=1 nodes=1 name=x gran=core"); /* nodes beat cpus */
	assert_string_equal(mask(&o->cpus), "8-15");
	assert_int_equal(o->gran, HV_GRAN_CORE);
	o = op("cpupool-create name=x");
	assert_true(hv_mask_empty(&o->cpus, SC_NW) && !o->set_sched);
	refused("cpupool-create sched=rtds", "expected 'cpupool-create [-n] [FILE] [name=NAME]");
	refused("cpupool-create name=x colour=red", "unknown key 'colour', expected name, sched");
	refused("cpupool-create name=x cpus=99", "99");
}

static void pools_are_named_by_name_or_number(void **state)
{
	const struct sc_op *o = op("cpupool-cpu-add p 3");

	(void)state;
	assert_int_equal(o->kind, SC_OP_POOL_CPU_ADD);
	assert_string_equal(mask(&o->cpus), "3");
	o = op("cpupool-cpu-remove 1 8,9");
	assert_int_equal(o->kind, SC_OP_POOL_CPU_REMOVE);
	o = op("cpupool-migrate n p");
	assert_int_equal(o->kind, SC_OP_POOL_MIGRATE);
	assert_int_equal(o->n_vms, 3);
	refused("cpupool-destroy x", "no pool is named 'x', expected Pool-0 or p");
	refused("cpupool-destroy 2", "no pool is named '2'");
	refused("cpupool-migrate dom0 p", "domain 0 cannot be moved");
	refused("cpupool-rename p", "expected 'cpupool-rename POOL NAME'");
}

/* A pool that the timeline makes may have a scheduler of its own, and a name. */
static void a_timeline_that_makes_pools_knows_more_names(void **state)
{
	struct scenario_file *f =
		load(BASE "timeline:\n"
			  "  - at: 2s\n"
			  "    do:\n"
			  "      - cpupool-create name=x sched=rtds\n"
			  "      - cpupool-migrate n x\n"
			  "      - sched-rtds -d n -v all -p 10000 -b 2000 -e 0\n");

	(void)state;
	assert_true(f->variant[0].pools_change);
	assert_int_equal(f->variant[0].event[0].n_ops, 3);
	scenario_file_free(f);
	refused("sched-rtds -d n -v all -p 10000 -b 2000 -e 0", "the scheduler is not rtds");
	assert_int_equal(op("sched-credit -d a -w 3")->sched, SC_SCHED_CREDIT);
}

static void pcpus_go_off_line_by_number(void **state)
{
	const struct sc_op *o = op("xen-hptool cpu-offline 5");

	(void)state;
	assert_int_equal(o->kind, SC_OP_CPU_OFFLINE);
	assert_string_equal(mask(&o->cpus), "5");
	assert_int_equal(op("cpu-online 5")->kind, SC_OP_CPU_ONLINE);
	assert_true(op("smt-enable")->on);
	assert_false(op("smt-disable")->on);
	refused("cpu-offline 16", "found '16', expected 0..15");
	refused("cpu-offline all", "pCPU: found 'all'");
}

static int forget(void **state)
{
	(void)state;
	scenario_file_free(file);
	free(messages);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pool_0_has_what_the_others_leave),
		cmocka_unit_test(domain_0_has_a_vcpu_for_each_pcpu_of_pool_0),
		cmocka_unit_test(what_is_printed_is_read_again),
		cmocka_unit_test(a_pool_consists_of_whole_resources),
		cmocka_unit_test(wrong_pools_are_refused),
		cmocka_unit_test(pools_are_made_as_with_xl),
		cmocka_unit_test(pools_are_named_by_name_or_number),
		cmocka_unit_test(a_timeline_that_makes_pools_knows_more_names),
		cmocka_unit_test(pcpus_go_off_line_by_number),
	};

	return cmocka_run_group_tests_name("scenario_pools", tests, NULL, forget);
}
