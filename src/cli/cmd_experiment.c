/*
 * `hvsched experiment NAME`: a published experiment, run and compared with what was printed.
 *
 * Exit code 0 when everything that counts was reproduced, 1 when something was missed: a miss is a
 * result, and stays in the table.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "campaign/sensitivity.h"
#include "cli/session.h"

struct arguments {
	struct session session;
	const char *name;
	bool quiet, sensitivity;
};

enum { KEY_SENSITIVITY = 0x300 };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case KEY_SENSITIVITY:
		a->sensitivity = true;
		return 0;
	case 'q':
		a->quiet = true;
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->session;
		return 0;
	case ARGP_KEY_ARG:
		if (a->name)
			argp_error(state, "one experiment at a time, '%s' is the second", arg);
		a->name = arg;
		return 0;
	case ARGP_KEY_END:
		if (a->sensitivity && a->session.json && !a->session.json_path)
			argp_error(state, "--sensitivity prints a table: give --json=FILE");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options[] = {
	{"sensitivity", KEY_SENSITIVITY, NULL, 0,
	 "Run it again with each doubtful parameter changed, and show what flips (takes long)", 2},
	{"quiet", 'q', NULL, 0, "No progress line", 2},
	{0},
};

static void list(FILE *out)
{
	const char *previous = NULL, *about;
	char name[2][64];
	unsigned i = 0;

	while (experiment_next(previous, name[i], sizeof(name[i]), &about)) {
		about += strspn(about, "# ");
		fprintf(out, "  %-20s %.*s\n", name[i], (int)strcspn(about, "\n"), about);
		previous = name[i];
		i = !i;
	}
}

/* Runs that did not end well are no samples; say so. */
static int complain(const char *argv0, const struct campaign *c)
{
	int code = EXIT_HELD;

	for (unsigned i = 0; i < c->n_variants * c->n_seeds; i++) {
		const struct lab_result *r = &c->result[i];

		if (!c->done[i] || r->status == LAB_DONE)
			continue;
		fprintf(stderr, "%s: %s, seed %llu: %s\n", argv0,
			c->file->variant[i / c->n_seeds].variant, (unsigned long long)r->seed,
			r->message);
		if (r->status == LAB_FAILED)
			code = EXIT_INTERNAL;
		else if (r->status != LAB_INTERRUPTED && code == EXIT_HELD)
			code = EXIT_BROKEN;
	}
	return code;
}

static int print_json(FILE *out, const void *e)
{
	return experiment_json(out, e);
}

/* EXIT_HELD, EXIT_INTERNAL or EXIT_INTERRUPTED. */
static int run_sensitivity(const struct arguments *a, const char *argv0, const struct experiment *e)
{
	struct sc_diag diag = {.out = stderr};
	struct sensitivity s;
	int ret = sensitivity_run(a->name, a->session.set, a->session.n_sets, &a->session.campaign,
				  &diag, &s);
	bool interrupted = s.interrupted;

	if (ret == 0)
		ret = sensitivity_print(stdout, &s, e);
	sensitivity_free(&s);
	if (ret == 0)
		return interrupted ? EXIT_INTERRUPTED : EXIT_HELD;
	fprintf(stderr, "%s: %s\n", argv0, ret == -HV_ENOMEM ? "out of memory" : strerror(-ret));
	return EXIT_INTERNAL;
}

static int print(struct arguments *a, const char *argv0, const struct experiment *e)
{
	int code = EXIT_HELD;

	if (a->session.json)
		code = session_write_json(&a->session, argv0, print_json, e);
	if (a->session.json && !a->session.json_path)
		return code;
	if (experiment_print(stdout, e) != 0) {
		fprintf(stderr, "%s: out of memory\n", argv0);
		return EXIT_INTERNAL;
	}
	if (a->sensitivity && code == EXIT_HELD)
		code = run_sensitivity(a, argv0, e);
	experiment_print_verdict(stdout, e);
	return code;
}

static int run(struct arguments *a, const char *argv0, struct experiment *e)
{
	struct campaign campaign;
	int code, ret;

	session_start(&a->session, a->quiet);
	ret = campaign_run(e->file, &a->session.campaign, &campaign);
	if (ret == 0) {
		ret = experiment_score(e, &campaign);
		if (ret != 0)
			campaign_free(&campaign);
	}
	if (ret != 0) {
		fprintf(stderr, "%s: %s\n", argv0,
			ret == -HV_ENOMEM ? "out of memory" : strerror(-ret));
		return EXIT_INTERNAL;
	}
	code = complain(argv0, &campaign);
	ret = print(a, argv0, e);
	if (ret != EXIT_HELD)
		code = ret;
	if (code == EXIT_HELD && campaign.interrupted)
		code = EXIT_INTERRUPTED;
	else if (code == EXIT_HELD && !experiment_reproduced(e))
		code = EXIT_MISSED;
	campaign_free(&campaign);
	return session_close_stdout(argv0, code);
}

int cmd_experiment(int argc, char **argv)
{
	static const struct argp_child children[] = {{&session_argp, 0, NULL, 0}, {0}};
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "[NAME]",
		.doc = "Run a published experiment and compare; without NAME, list them.\v"
		       "Exit code: 0 reproduced, 1 something was missed, 2 usage, 3 stall or "
		       "broken law, 4 internal error or failed I/O, 130 interrupted.",
		.children = children,
	};
	struct arguments a = {.name = NULL};
	struct sc_diag diag = {.out = stderr};
	struct experiment e;
	int code, ret;

	assert(argc > 0);
	if (argp_parse(&argp, argc, argv, 0, NULL, &a) != 0)
		return EXIT_USAGE;
	if (!a.name) {
		printf("Published experiments:\n");
		list(stdout);
		session_free(&a.session);
		return session_close_stdout(argv[0], EXIT_HELD);
	}
	ret = experiment_load(a.name, a.session.set, a.session.n_sets, &diag, &e);
	if (ret == -ENOENT) {
		fprintf(stderr, "%s: there is no experiment '%s'; there are:\n", argv[0], a.name);
		list(stderr);
	} else if (ret != 0 && diag.errors == 0) {
		fprintf(stderr, "%s: %s: %s\n", argv[0], a.name, strerror(-ret));
	}
	if (ret != 0) {
		session_free(&a.session);
		return ret == -HV_ENOMEM || ret == -ENOMEM ? EXIT_INTERNAL : EXIT_USAGE;
	}
	session_override_seeds(&a.session, e.file);
	code = session_open_json(&a.session, argv[0]);
	if (code == EXIT_HELD)
		code = run(&a, argv[0], &e);
	experiment_free(&e);
	session_free(&a.session);
	return code;
}
