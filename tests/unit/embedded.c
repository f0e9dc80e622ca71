/*
 * The table of embedded data files (scenario/embedded.h): what is in it is found, in order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "scenario/embedded.h"

static void every_file_is_found_by_its_name(void **state)
{
	(void)state;
	for (const struct embedded_file *file = embedded_files; file->name; file++)
		assert_ptr_equal(embedded_find(file->name), file);
	assert_null(embedded_find("workloads/no-such-file.yaml"));
	assert_null(embedded_find("workloads/"));
}

static void names_are_sorted_and_from_the_data_directories(void **state)
{
	(void)state;
	for (const struct embedded_file *file = embedded_files; file->name; file++) {
		assert_true(strncmp(file->name, "workloads/", 10) == 0 ||
			    strncmp(file->name, "hosts/", 6) == 0 ||
			    strncmp(file->name, "experiments/", 12) == 0);
		if (file != embedded_files)
			assert_true(strcmp(file[-1].name, file->name) < 0);
	}
}

static void the_iterator_visits_what_has_the_prefix(void **state)
{
	size_t all = 0, by_directory = 0;
	static const char *const directories[] = {"workloads/", "hosts/", "experiments/"};
	const struct embedded_file *file = NULL;

	(void)state;
	while ((file = embedded_next(file, "")))
		all++;
	for (size_t i = 0; i < 3; i++) {
		while ((file = embedded_next(file, directories[i]))) {
			assert_int_equal(
				strncmp(file->name, directories[i], strlen(directories[i])), 0);
			by_directory++;
		}
	}
	assert_int_equal(all, by_directory);
	assert_null(embedded_next(NULL, "elsewhere/"));
}

static void data_ends_with_a_nul_that_is_not_counted(void **state)
{
	(void)state;
	for (const struct embedded_file *file = embedded_files; file->name; file++)
		assert_int_equal(file->data[file->size], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_file_is_found_by_its_name),
		cmocka_unit_test(names_are_sorted_and_from_the_data_directories),
		cmocka_unit_test(the_iterator_visits_what_has_the_prefix),
		cmocka_unit_test(data_ends_with_a_nul_that_is_not_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
