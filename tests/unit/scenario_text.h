/*
 * Help for tests of the scenario layer: load a text, keep the messages.
 */
#ifndef HV_TESTS_SCENARIO_TEXT_H
#define HV_TESTS_SCENARIO_TEXT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scenario/scenario.h"

#define HOST "host: {preset: H0}\n" /* 2 x 4 x 2, pCPUs 0-15 */

static char *messages; /* of the last load */

__attribute__((unused)) static struct scenario_file *
load_with(const char *text, const struct sc_set *set, unsigned int n_sets)
{
	struct sc_diag diag = {0};
	struct scenario_file *f = NULL;
	size_t len;
	int ret;

	free(messages);
	diag.out = open_memstream(&messages, &len);
	assert_non_null(diag.out);
	ret = scenario_load_text("x.yaml", text, strlen(text), ".", set, n_sets, &diag, &f);
	fclose(diag.out);
	if (ret) {
		assert_null(f);
		assert_true(diag.errors > 0);
		assert_true(strlen(messages) > 0);
	} else {
		assert_non_null(f);
		assert_int_equal(diag.errors, 0);
	}
	return f;
}

/* A text that is right. */
__attribute__((unused)) static struct scenario_file *load(const char *text)
{
	struct scenario_file *f = load_with(text, NULL, 0);

	if (!f)
		fail_msg("refused: %s%s", text, messages);
	return f;
}

/* A text that is refused with this message (a part of it, with its place). */
__attribute__((unused)) static void refuse(const char *text, const char *message)
{
	struct scenario_file *f = load_with(text, NULL, 0);

	if (f)
		fail_msg("accepted: %s", text);
	if (!strstr(messages, message))
		fail_msg("%s\nsaid: %sexpected: %s", text, messages, message);
}

/* A text that is accepted with this warning. */
__attribute__((unused)) static void warn(const char *text, const char *message)
{
	scenario_file_free(load(text));
	if (!strstr(messages, message))
		fail_msg("%s\nsaid: %sexpected: %s", text, messages, message);
}

#endif
