/*
 * `hvsched run FILE`: every variant of a scenario with every seed, and what came out.
 *
 * Bad input ends before the first run (exit 2). After that, whatever was run is reported, also when
 * Ctrl-C ends it; the exit code is the worst of what happened.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/session.h"

struct arguments {
	struct session session; /* first: it is the input of the shared options as well */
	const char *variant;
	bool show_config;
};

enum { KEY_VARIANT = 0x300, KEY_LOG, KEY_CHECK, KEY_SHOW_CONFIG };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case KEY_VARIANT:
		a->variant = arg;
		return 0;
	case KEY_LOG:
		a->session.campaign.log_path = arg;
		return 0;
	case KEY_CHECK:
		a->session.campaign.check_determinism = true;
		return 0;
	case KEY_SHOW_CONFIG:
		a->show_config = true;
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->session;
		return 0;
	case ARGP_KEY_END:
		if (a->show_config && a->session.json && !a->session.json_path)
			argp_error(state, "--show-config and --json both write to standard "
					  "output: give --json=FILE");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options[] = {
	{"variant", KEY_VARIANT, "NAME", 0, "Run this variant only", 2},
	{"log", KEY_LOG, "FILE", 0, "Write the event log of one run (see `hvsched log`)", 2},
	{"check-determinism", KEY_CHECK, NULL, 0, "Do each run twice and compare the logs' hashes",
	 2},
	{"show-config", KEY_SHOW_CONFIG, NULL, 0, "Print each variant with all defaults first", 2},
	{0},
};

/* ---- the parts of the command; each returns an exit code */

static int choose_variant(struct arguments *a, const char *argv0, const struct scenario_file *f)
{
	struct campaign_options *c = &a->session.campaign;

	if (!a->variant)
		return EXIT_HELD;
	c->has_variant = true;
	for (c->variant = 0; c->variant < f->n_variants; c->variant++) {
		if (strcmp(f->variant[c->variant].variant, a->variant) == 0)
			return EXIT_HELD;
	}
	return session_no_variant(argv0, f, a->variant);
}

static int check_log(const struct arguments *a, const char *argv0, const struct scenario_file *f)
{
	const struct campaign_options *c = &a->session.campaign;
	unsigned runs = 0, variants = 0;

	for (unsigned i = 0; i < f->n_variants; i++) {
		if (c->has_variant && c->variant != i)
			continue;
		variants++;
		runs += f->variant[i].run.seeds;
	}
	if (!c->log_path || runs == 1)
		return EXIT_HELD;
	fprintf(stderr,
		"%s: --log is of one run, but this makes %u (%u variant%s): "
		"choose with%s%s --seed N\n",
		argv0, runs, variants, variants == 1 ? "" : "s",
		variants > 1 ? " --variant NAME" : "", variants > 1 ? " and" : "");
	return EXIT_USAGE;
}

static void show_config(const struct arguments *a, const struct scenario_file *f)
{
	for (unsigned i = 0; i < f->n_variants; i++) {
		if (a->session.campaign.has_variant && a->session.campaign.variant != i)
			continue;
		if (*f->variant[i].variant)
			printf("# variant %s\n", f->variant[i].variant);
		scenario_print(stdout, &f->variant[i]);
		putchar('\n');
	}
}

int cmd_run(int argc, char **argv)
{
	static const struct argp_child children[] = {{&session_file_argp, 0, NULL, 0}, {0}};
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "FILE",
		.doc = "Run a scenario: every variant with every seed, on all cores.\v"
		       "Exit code: 0 held, 1 an expectation failed, 2 usage or bad input, 3 stall "
		       "or broken law, 4 internal error or failed I/O, 130 interrupted.",
		.children = children,
	};
	struct arguments a = {.variant = NULL};
	struct sc_diag diag = {.out = stderr};
	struct scenario_file *file = NULL;
	int code = EXIT_HELD, ret;

	assert(argc > 0);
	if (argp_parse(&argp, argc, argv, 0, NULL, &a) != 0)
		return EXIT_USAGE;
	ret = scenario_load(a.session.path, a.session.set, a.session.n_sets, &diag, &file);
	if (ret != 0) {
		if (diag.errors == 0)
			fprintf(stderr, "%s: %s: %s\n", argv[0], a.session.path, strerror(-ret));
		session_free(&a.session);
		return ret == -ENOMEM ? EXIT_INTERNAL : EXIT_USAGE;
	}
	code = choose_variant(&a, argv[0], file);
	session_override_seeds(&a.session, file);
	if (code == EXIT_HELD)
		code = check_log(&a, argv[0], file);
	if (code == EXIT_HELD)
		code = session_open_json(&a.session, argv[0]);
	if (code == EXIT_HELD) {
		if (a.show_config)
			show_config(&a, file);
		code = session_run(&a.session, argv[0], file);
	}
	scenario_file_free(file);
	session_free(&a.session);
	return code;
}
