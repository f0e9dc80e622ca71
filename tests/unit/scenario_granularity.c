/*
 * sched-gran: which granularity is in effect, and the warnings about VMs that do not fill their
 * units (field case 24: an odd vCPU count under a full-core policy).
 */
#include "scenario_text.h"

#include "scenario/granularity.h"

#define CORE "host: {topology: 1x4x2, cmdline: sched-gran=core}\ndom0: none\n"

static void expect_size(const char *text, unsigned int size, enum hv_gran gran)
{
	struct scenario_file *f = load(text);
	enum hv_gran effective;

	assert_int_equal(sc_gran_size(&f->variant[0], &effective), size);
	assert_int_equal(effective, gran);
	scenario_file_free(f);
}

static void a_unit_has_as_many_vcpus_as_a_core_has_pcpus(void **state)
{
	(void)state;
	expect_size("host: {topology: 1x4x2}\n", 1, HV_GRAN_CPU);
	expect_size("host: {topology: 1x4x2, cmdline: sched-gran=core}\n", 2, HV_GRAN_CORE);
	expect_size("host: {topology: 2x4x2, cmdline: sched-gran=socket}\n", 8, HV_GRAN_SOCKET);
	/* with SMT off a core has one pCPU: the granularity stays, and costs nothing */
	expect_size("host: {topology: 1x4x2, cmdline: sched-gran=core smt=off}\n", 1, HV_GRAN_CORE);
}

static void unequal_cores_get_a_smaller_granularity(void **state)
{
	(void)state;
	expect_size("host: {topology: 1x4x2, cmdline: sched-gran=core maxcpus=7}\n", 1,
		    HV_GRAN_CPU);
	assert_non_null(strstr(messages, "sched-gran=cpu is used"));
	/* sockets of 8 and 4 pCPUs, cores of 2 */
	expect_size("host: {topology: 2x4x2, cmdline: sched-gran=socket maxcpus=12}\n", 2,
		    HV_GRAN_CORE);
	assert_non_null(strstr(messages, "sched-gran=core is used"));
}

static void an_odd_number_of_vcpus_is_warned_of(void **state)
{
	(void)state;
	scenario_file_free(load(CORE "vms:\n  - {name: a, vcpus: 3}\n"));
	assert_non_null(strstr(messages, "x.yaml:4:1: warning: VM 'a' has 3 vCPUs: under "
					 "sched-gran=core its last unit leaves 1 of 2 pCPUs idle "
					 "while it runs; 4 vCPUs would use them"));
	/* a group once; the VM that fills its units not at all */
	scenario_file_free(
		load(CORE "vms: [{name: b, count: 3, vcpus: 1}, {name: c, vcpus: 4}]\n"));
	assert_non_null(strstr(messages, "VM 'b' has 1 vCPU: "));
	assert_null(strstr(strstr(messages, "VM 'b'") + 1, "VM '"));
	/* nobody loses anything with granularity cpu, or one thread per core */
	scenario_file_free(load("host: {topology: 1x4x2}\nvms: [{name: a, vcpus: 3}]\n"));
	assert_string_equal(messages, "");
	scenario_file_free(load("host: {topology: 1x4x2, cmdline: sched-gran=core smt=off}\n"
				"vms: [{name: a, vcpus: 3}]\n"));
	assert_string_equal(messages, "");
}

/* What counts is the granularity of the VM's pool, not the host's. */
static void an_odd_number_is_warned_of_where_the_pool_has_cores(void **state)
{
	(void)state;
	scenario_file_free(
		load("host: {topology: 1x4x2}\ndom0: none\n"
		     "pools: [{name: safe, cpus: 4-7, gran: core}]\n"
		     "vms: [{name: in, vcpus: 3, pool: safe}, {name: out, vcpus: 3}]\n"));
	assert_non_null(strstr(messages, "VM 'in' has 3 vCPUs: under sched-gran=core"));
	assert_null(strstr(messages, "VM 'out'"));
	scenario_file_free(load(CORE "pools: [{name: fast, cpus: 4-7, gran: cpu}]\n"
				     "vms: [{name: in, vcpus: 3}, {name: out, vcpus: 3, pool: "
				     "fast}]\n"));
	assert_non_null(strstr(messages, "VM 'in' has 3 vCPUs"));
	assert_null(strstr(messages, "VM 'out'"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_unit_has_as_many_vcpus_as_a_core_has_pcpus),
		cmocka_unit_test(unequal_cores_get_a_smaller_granularity),
		cmocka_unit_test(an_odd_number_of_vcpus_is_warned_of),
		cmocka_unit_test(an_odd_number_is_warned_of_where_the_pool_has_cores),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
