/*
 * CPU lists in xl's grammar (scenario/cpulist.h, core-scheduling section 7).
 */
#include "scenario_text.h"

#include "scenario/cpulist.h"

/* 8 pCPUs on nodes 0 and 1, but number 5 is missing and the second node is called 4. */
static struct sc_topology sparse(void)
{
	struct sc_topology t = {.n_nodes = 2, .node_id = {0, 4}};

	for (unsigned int c = 0; c < 9; c++) {
		if (c == 5)
			continue;
		hv_mask_set(&t.present, c);
		hv_mask_set(&t.node_cpus[c >= 4], c);
	}
	t.online = t.present;
	return t;
}

static void means(const char *list, const char *expected)
{
	struct sc_topology t = sparse();
	struct hv_mask m;
	char error[SC_CPULIST_ERROR] = "", text[64];
	size_t at;

	if (sc_cpulist_parse(list, &t, &m, error, &at) != 0)
		fail_msg("'%s': %s", list, error);
	assert_string_equal(sc_mask_format(&m, text, sizeof(text)), expected);
}

static void refused(const char *list, const char *message, size_t place)
{
	struct sc_topology t = sparse();
	struct hv_mask m;
	char error[SC_CPULIST_ERROR] = "";
	size_t at = 999;

	if (sc_cpulist_parse(list, &t, &m, error, &at) == 0)
		fail_msg("'%s' was accepted", list);
	if (!strstr(error, message))
		fail_msg("'%s': said '%s', expected '%s'", list, error, message);
	assert_int_equal(at, place);
}

static void numbers_and_ranges_add_up(void **state)
{
	(void)state;
	means("0", "0");
	means("0-3", "0-3");
	means("0-3,6", "0-3,6");
	means("6,0-1", "0-1,6");
	means("3-3", "3");
	means("0-2,1-3", "0-3");
	means("all", "0-4,6-8");
	means(" 0 , 2-3 ", "0,2-3");
}

static void a_caret_takes_away_from_what_stands_before_it(void **state)
{
	(void)state;
	means("0-3,^1", "0,2-3");
	means("0-3,^1-2", "0,3");
	means("all,^7", "0-4,6,8");
	means("^1,0-3", "0-3"); /* left to right: nothing was there to take */
	means("0-3,^1,1", "0-3");
	means("all,^node:4", "0-3");
}

static void nodes_stand_for_their_pcpus(void **state)
{
	(void)state;
	means("node:0", "0-3");
	means("nodes:0", "0-3");
	means("nodes:4", "4,6-8");
	means("nodes:0-4", "0-4,6-8"); /* numbers between nodes need not exist */
	means("nodes:0-4,^node:0", "4,6-8");
	means("nodes:all", "0-4,6-8");
	means("node:0,6", "0-3,6");
}

static void ranges_skip_numbers_that_do_not_exist_inside(void **state)
{
	(void)state;
	means("4-6", "4,6");
	refused("4-5", "pCPU 5 is not in the topology, expected pCPUs out of 0-4,6-8", 0);
	refused("5", "pCPU 5 is not in the topology", 0);
	refused("0-3,^5", "pCPU 5 is not in the topology", 4);
}

static void junk_is_refused_with_its_place(void **state)
{
	(void)state;
	refused("", "empty CPU list", 0);
	refused("0,,1", "empty term", 2);
	refused("0,", "empty term", 2);
	refused("abc", "'abc' is not a CPU list term", 0);
	refused("0-3,x", "'x' is not a CPU list term", 4);
	refused("1-", "has no end", 0);
	refused("-1", "not a CPU list term", 0);
	refused("1-2-3", "followed by junk", 0);
	refused("1x", "followed by junk", 0);
	refused("0x1", "followed by junk", 0);
	refused("+1", "not a CPU list term", 0);
	refused("1 2", "followed by junk", 0);
	refused("^^1", "not a CPU list term", 0);
	refused("node:", "not a CPU list term", 0);
	refused("node:x", "not a CPU list term", 0);
	refused("ALL", "not a CPU list term", 0);
}

static void what_names_nothing_is_refused(void **state)
{
	(void)state;
	refused("3-1", "runs backwards", 0);
	refused("^all", "not allowed", 0);
	refused("0-3,^all", "not allowed", 4);
	refused("9", "pCPU 9 is not in the topology", 0);
	refused("0-9", "pCPU 9 is not in the topology", 0);
	refused("99999999999999999999", "is not in the topology", 0);
	refused("node:1", "node 1 is not in the topology, expected nodes out of 0,4", 0);
	refused("0,^0", "names no pCPU", 0);
	refused("^0", "names no pCPU", 0);
}

static void masks_are_printed_as_ranges_and_cut_when_too_long(void **state)
{
	struct hv_mask m = {0};
	char text[16];

	(void)state;
	assert_string_equal(sc_mask_format(&m, text, sizeof(text)), "");
	for (unsigned int c = 0; c < 20; c += 2)
		hv_mask_set(&m, c);
	assert_string_equal(sc_mask_format(&m, text, sizeof(text)), "0,2,4,6,8,10...");
	hv_mask_fill(&m, SC_NW, SC_MAX_CPUS);
	assert_string_equal(sc_mask_format(&m, text, sizeof(text)), "0-1023");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_and_ranges_add_up),
		cmocka_unit_test(a_caret_takes_away_from_what_stands_before_it),
		cmocka_unit_test(nodes_stand_for_their_pcpus),
		cmocka_unit_test(ranges_skip_numbers_that_do_not_exist_inside),
		cmocka_unit_test(junk_is_refused_with_its_place),
		cmocka_unit_test(what_names_nothing_is_refused),
		cmocka_unit_test(masks_are_printed_as_ranges_and_cut_when_too_long),
	};

	return cmocka_run_group_tests_name("scenario_cpulist", tests, NULL, NULL);
}
