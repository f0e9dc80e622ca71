/*
 * Hosts: topologies from all sources, presets, hardware parameters (hardware-model section 2).
 */
#include "scenario_text.h"

#include <unistd.h>

#include "scenario/embedded.h"
#include "scenario/host.h"
#include "temporary.h"

static struct scenario_file *loaded;

static const struct scenario *host(const char *keys)
{
	char text[2 * PATH_MAX];

	snprintf(text, sizeof(text), "host: {%s}\nvms: [{name: a}]\n", keys);
	scenario_file_free(loaded);
	loaded = load(text);
	return &loaded->variant[0];
}

static void refused(const char *keys, const char *message)
{
	char text[2 * PATH_MAX];

	snprintf(text, sizeof(text), "host: {%s}\nvms: [{name: a}]\n", keys);
	refuse(text, message);
}

static void the_plain_form_numbers_threads_of_a_core_as_neighbours(void **state)
{
	const struct sc_topology *t = &host("topology: 2x8x2")->topo;

	(void)state;
	assert_int_equal(t->n_cpus, 32);
	assert_int_equal(t->n_online, 32);
	assert_int_equal(t->nr_ids, 32);
	assert_int_equal(t->n_sockets, 2);
	assert_int_equal(t->n_cores, 16);
	assert_int_equal(t->n_nodes, 2);
	assert_int_equal(t->n_llcs, 2);
	assert_int_equal(t->threads_per_core, 2);
	for (unsigned int i = 0; i < 32; i++) {
		assert_int_equal(t->cpu[i].id, i);
		assert_int_equal(t->cpu[i].core, i / 2);
		assert_int_equal(t->cpu[i].thread, i % 2);
		assert_int_equal(t->cpu[i].socket, i / 16);
		assert_int_equal(t->cpu[i].node, i / 16);
	}
}

static void presets_have_the_shapes_of_the_hardware_model(void **state)
{
	static const struct {
		const char *name;
		unsigned int sockets, cores, cpus;
		int64_t clock, l2, llc, bw, bw1;
		const char *cap;
	} expected[] = {
		{"H0", 2, 8, 16, 2400000000, 256 << 10, 12 << 20, 20000000000, 12000000000, "C1E"},
		{"H1", 2, 8, 16, 2400000000, 256 << 10, 12 << 20, 20000000000, 12000000000, "C1E"},
		{"H2", 2, 36, 72, 2400000000, 1 << 20, 25 << 20, 100000000000, 12000000000, "C6"},
		{"H3", 1, 2, 4, 2500000000, 256 << 10, 4 << 20, 20000000000, 12000000000, "C1E"},
		{"H4", 1, 8, 8, 2270000000, 256 << 10, 24 << 20, 14000000000, 5000000000, "C6"},
		{"xeon-2x4x2", 2, 8, 16, 2400000000, 256 << 10, 12 << 20, 20000000000, 12000000000,
		 "C1E"},
	};
	char keys[64];

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		const struct scenario *s;

		snprintf(keys, sizeof(keys), "preset: %s", expected[i].name);
		s = host(keys);
		assert_int_equal(s->topo.n_sockets, expected[i].sockets);
		assert_int_equal(s->topo.n_cores, expected[i].cores);
		assert_int_equal(s->topo.n_cpus, expected[i].cpus);
		assert_int_equal(s->hw.clock_hz, expected[i].clock);
		assert_int_equal(s->hw.l2_bytes, expected[i].l2);
		assert_int_equal(s->hw.llc_bytes, expected[i].llc);
		assert_int_equal(s->hw.mem_bw, expected[i].bw);
		assert_int_equal(s->hw.mem_bw_thread, expected[i].bw1);
		assert_string_equal(s->hw.cstate[s->hw.cstate_cap].name, expected[i].cap);
	}
}

/* A parameter that hosts/generic.yaml forgets would silently be 0 on every host. */
static void the_generic_host_sets_every_parameter(void **state)
{
	const struct embedded_file *file = embedded_find("hosts/generic.yaml");
	char key[64];

	(void)state;
	assert_non_null(file);
	for (const struct sc_param *p = sc_hw_params; p->key; p++) {
		snprintf(key, sizeof(key), "\n  %s:", p->key);
		if (!strstr((const char *)file->data, key))
			fail_msg("'%s' is not set", p->key);
	}
	for (const struct sc_param *p = sc_hw_costs; p->key; p++) {
		snprintf(key, sizeof(key), "\n  %s:", p->key);
		if (!strstr((const char *)file->data, key))
			fail_msg("'%s' is not set", p->key);
	}
}

static void costs_and_parameters_are_those_of_the_hardware_model(void **state)
{
	const struct sc_hw *hw = &host("preset: H0")->hw;

	(void)state;
	assert_int_equal(hw->cost.c1_exit, 700);
	assert_int_equal(hw->cost.c4_switch, 2000);
	assert_int_equal(hw->cost.c6_ipi, 1000);
	assert_int_equal(hw->cost.c9_guest_tick, 2900);
	assert_int_equal(hw->cost.c11_timer_slop, 50000);
	assert_int_equal(hw->cost.c8_wake_scale, SC_ONE);
	assert_int_equal(hw->chi, 1258291);	 /* 1.2 */
	assert_int_equal(hw->d_remote, 1677722); /* 1.6 */
	assert_int_equal(hw->l3_bw, 14000000000);
	assert_int_equal(hw->n_cstates, 4);
	assert_int_equal(hw->n_curve, 6);
	assert_false(hw->ibpb);
	hw = &host("preset: H2")->hw;
	assert_true(hw->ibpb);
	assert_int_equal(hw->halt_poll, 200000);
	assert_int_equal(hw->cost.c7_target_loss, 0);
}

static void a_scenario_changes_parameters_of_its_preset(void **state)
{
	const struct scenario *s = host("preset: H1, topology: 1x4x2, params: {d_remote: 1.3, "
					"cstate_cap: C6, turbo: [1.136, 1.091]}, costs: {C4: 4us}");

	(void)state;
	assert_int_equal(s->topo.n_cpus, 8);
	assert_int_equal(s->hw.d_remote, 1363149);
	assert_int_equal(s->hw.cost.c4_switch, 4000);
	assert_int_equal(s->hw.cost.c1_exit, 700);
	assert_int_equal(s->hw.cstate_cap, 3);
	assert_int_equal(s->hw.n_turbo, 2);
	assert_int_equal(s->hw.turbo[0], 1191182);
}

static void wrong_parameters_are_refused(void **state)
{
	(void)state;
	refused("preset: H1, params: {d_remote: 0.5}", "d_remote: 0.5 is out of range");
	refused("preset: H1, params: {l2: 256}", "l2: '256' has no unit");
	refused("preset: H1, params: {cstate_cap: C9}", "cstate_cap: found 'C9'");
	refused("preset: H1, params: {curve: [[0, 1]]}", "curve: 1 points, expected 2..16");
	refused("preset: H1, params: {curve: [[0, 1], [0, 2]]}", "must start at 0 and grow");
	refused("preset: H1, params: {chii: 1.0}", "unknown key 'chii' in params");
	refused("preset: H1, costs: {C99: 1us}", "unknown key 'C99' in costs");
	refused("preset: H1, costs: {C4: 4}", "C4: '4' has no unit");
	refused("preset: xeon-2x4x3", "did you mean 'xeon-2x4x2'?");
	refused("params: {}", "the host has no shape, expected 'preset' or 'topology'");
	refused("preset: H1, hypervisor: kvm", "kvm is not available yet, expected xen");
	refused("preset: H1, hypervisor: vmware", "hypervisor: found 'vmware'");
	refused("preset: no-such/host.yaml", "cannot read host preset 'no-such/host.yaml'");
}

static void shapes_out_of_range_are_refused(void **state)
{
	(void)state;
	refused("topology: 0x1x1", "is out of range");
	refused("topology: 65x1x1", "is out of range");
	refused("topology: 64x64x64", "is out of range");
	refused("topology: 1x1025x1", "is out of range, expected 1..64 sockets and 1..1024 pCPUs");
	refused("topology: 2x8", "expected SOCKETSxCORESxTHREADS");
	refused("topology: 2x8x2x2", "expected SOCKETSxCORESxTHREADS");
	refused("topology: 99999999999999999999x1x1", "is out of range");
	assert_int_equal(host("topology: 1x1024x1")->topo.n_cpus, 1024);
}

static void hwloc_synthetic_strings_are_topologies(void **state)
{
	const struct scenario *s = host("topology: 'pack:2 l3:2 l2:4 core:1 pu:2'");
	const struct sc_topology *t = &s->topo;

	(void)state;
	assert_int_equal(t->n_cpus, 32);
	assert_int_equal(t->n_sockets, 2);
	assert_int_equal(t->n_llcs, 4);
	assert_int_equal(t->n_cores, 16);
	assert_int_equal(t->n_nodes, 1);
	assert_int_equal(t->cpu[9].socket, 0);
	assert_int_equal(t->cpu[9].llc, 1);
	assert_int_equal(host("topology: 'node:2 core:2 pu:1'")->topo.n_nodes, 2);
	s = host("topology: 'pack:1 l3:1(size=8MB) l2:2(size=512kB) core:1 pu:2'");
	assert_true(s->hw.llc_bytes == 8000000 || s->hw.llc_bytes == 8 << 20);
	assert_true(s->hw.l2_bytes == 512000 || s->hw.l2_bytes == 512 << 10);
	refused("topology: 'pack:0 core:2'", "not an hwloc synthetic string");
	refused("topology: 'frob:2 pu:2'", "not an hwloc synthetic string");
}

/* Sibling numbers as Linux gives them, gaps in the numbers, nodes 0 and 8. */
static void irregular_numbers_are_kept(void **state)
{
	const struct sc_topology *t =
		&host("topology: 'node:2(indexes=0,8) core:2 pu:2(indexes=0,4,1,5,16,20,17,21)'")
			 ->topo;
	static const unsigned int ids[] = {0, 1, 4, 5, 16, 17, 20, 21};
	static const unsigned int cores[] = {0, 1, 0, 1, 2, 3, 2, 3};

	(void)state;
	assert_int_equal(t->n_cpus, 8);
	assert_int_equal(t->nr_ids, 22);
	for (unsigned int i = 0; i < 8; i++) {
		assert_int_equal(t->cpu[i].id, ids[i]);
		assert_int_equal(t->cpu[i].core, cores[i]);
		assert_int_equal(t->cpu[i].thread, (i / 2) % 2);
	}
	assert_int_equal(t->node_id[0], 0);
	assert_int_equal(t->node_id[1], 8);
	refuse("host: {topology: 'node:2(indexes=0,8) core:2 pu:1'}\n"
	       "vms: [{name: a, cpus: 'node:1'}]\n",
	       "node 1 is not in the topology, expected nodes out of 0,8");
}

static void an_xml_file_of_a_host_is_read(void **state)
{
	static const char xml[] =
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
		"<topology version=\"2.0\">\n"
		"<object type=\"Machine\" os_index=\"0\" cpuset=\"0x0000000b\" "
		"complete_cpuset=\"0x0000000b\" allowed_cpuset=\"0x0000000b\" nodeset=\"0x1\" "
		"complete_nodeset=\"0x1\" allowed_nodeset=\"0x1\" gp_index=\"1\">\n"
		"<object type=\"NUMANode\" os_index=\"0\" cpuset=\"0x0000000b\" "
		"complete_cpuset=\"0x0000000b\" nodeset=\"0x1\" complete_nodeset=\"0x1\" "
		"gp_index=\"2\" local_memory=\"1073741824\"/>\n"
		"<object type=\"Core\" os_index=\"0\" cpuset=\"0x00000003\" "
		"complete_cpuset=\"0x00000003\" nodeset=\"0x1\" complete_nodeset=\"0x1\" "
		"gp_index=\"3\">\n"
		"<object type=\"PU\" os_index=\"0\" cpuset=\"0x1\" complete_cpuset=\"0x1\" "
		"nodeset=\"0x1\" complete_nodeset=\"0x1\" gp_index=\"4\"/>\n"
		"<object type=\"PU\" os_index=\"1\" cpuset=\"0x2\" complete_cpuset=\"0x2\" "
		"nodeset=\"0x1\" complete_nodeset=\"0x1\" gp_index=\"5\"/>\n"
		"</object>\n"
		"<object type=\"Core\" os_index=\"1\" cpuset=\"0x00000008\" "
		"complete_cpuset=\"0x00000008\" nodeset=\"0x1\" complete_nodeset=\"0x1\" "
		"gp_index=\"6\">\n"
		"<object type=\"PU\" os_index=\"3\" cpuset=\"0x8\" complete_cpuset=\"0x8\" "
		"nodeset=\"0x1\" complete_nodeset=\"0x1\" gp_index=\"7\"/>\n"
		"</object>\n"
		"</object>\n"
		"</topology>\n";
	char path[PATH_MAX], keys[PATH_MAX + 16];
	const struct sc_topology *t;
	FILE *file;

	(void)state;
	assert_true(temporary_make(path, ".xml"));
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(xml, file) >= 0);
	assert_int_equal(fclose(file), 0);
	snprintf(keys, sizeof(keys), "topology: %s", path);
	t = &host(keys)->topo;
	assert_int_equal(t->n_cpus, 3);
	assert_int_equal(t->n_cores, 2);
	assert_int_equal(t->nr_ids, 4);
	assert_int_equal(t->threads_per_core, 2);
	assert_int_equal(t->cpu[2].id, 3);
	assert_int_equal(truncate(path, 300), 0);
	refused(keys, "not an hwloc XML file");
	unlink(path);
	refused(keys, "cannot read the hwloc file: No such file or directory");
}

static void this_host_is_a_topology(void **state)
{
	const struct scenario *s = host("topology: this-host");

	(void)state;
	assert_true(s->topo.n_cpus >= 1);
	assert_int_equal(hv_mask_weight(&s->topo.online, SC_NW), s->topo.n_cpus);
}

static void smt_off_parks_all_but_the_first_thread(void **state)
{
	const struct sc_topology *t = &host("preset: H0, cmdline: smt=off")->topo;
	char text[64];

	(void)state;
	assert_int_equal(t->n_cpus, 16);
	assert_int_equal(t->n_online, 8);
	assert_string_equal(sc_mask_format(&t->online, text, sizeof(text)), "0,2,4,6,8,10,12,14");
	t = &host("preset: H0, cmdline: smt=off maxcpus=3")->topo;
	assert_string_equal(sc_mask_format(&t->online, text, sizeof(text)), "0,2,4");
	t = &host("preset: H0, cmdline: maxcpus=3")->topo;
	assert_string_equal(sc_mask_format(&t->online, text, sizeof(text)), "0-2");
	t = &host("preset: H0, cmdline: nosmp")->topo;
	assert_int_equal(t->n_online, 1);
	t = &host("preset: H0, cmdline: maxcpus=100")->topo;
	assert_int_equal(t->n_online, 16);
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
		cmocka_unit_test(the_plain_form_numbers_threads_of_a_core_as_neighbours),
		cmocka_unit_test(presets_have_the_shapes_of_the_hardware_model),
		cmocka_unit_test(the_generic_host_sets_every_parameter),
		cmocka_unit_test(costs_and_parameters_are_those_of_the_hardware_model),
		cmocka_unit_test(a_scenario_changes_parameters_of_its_preset),
		cmocka_unit_test(wrong_parameters_are_refused),
		cmocka_unit_test(shapes_out_of_range_are_refused),
		cmocka_unit_test(hwloc_synthetic_strings_are_topologies),
		cmocka_unit_test(irregular_numbers_are_kept),
		cmocka_unit_test(an_xml_file_of_a_host_is_read),
		cmocka_unit_test(this_host_is_a_topology),
		cmocka_unit_test(smt_off_parks_all_but_the_first_thread),
	};

	return cmocka_run_group_tests_name("scenario_host", tests, NULL, end);
}
