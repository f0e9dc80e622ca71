/*
 * `hvsched check FILE...`: validates scenarios and prints what the program understood: the
 * effective configuration of each variant with all defaults resolved, and the runqueues that the
 * policy makes of its pCPUs. Nothing is run. Exit 0, or 2 after messages.
 */
#include <argp.h>
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/session.h"
#include "lab/lab.h"
#include "scenario/scenario.h"

#define MAX_SETS 256

struct arguments {
	char **path;
	unsigned int n_paths;
	const char *variant; /* NULL: all */
	bool quiet;
	struct sc_set set[MAX_SETS];
	unsigned int n_sets;
};

static void add_set(struct arguments *a, char *arg, struct argp_state *state)
{
	char *equal = strchr(arg, '=');

	if (!equal || equal == arg)
		argp_error(state, "--set %s: expected PATH=VALUE, such as vms.build.weight=512",
			   arg);
	if (a->n_sets == MAX_SETS)
		argp_error(state, "more than %d times --set", MAX_SETS);
	*equal = 0;
	a->set[a->n_sets++] = (struct sc_set){.path = arg, .value = equal + 1};
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'q':
		a->quiet = true;
		return 0;
	case 'v':
		a->variant = arg;
		return 0;
	case 's':
		add_set(a, arg, state);
		return 0;
	case ARGP_KEY_ARGS:
		a->path = state->argv + state->next;
		a->n_paths = (unsigned int)(state->argc - state->next);
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which scenario?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Where units wait under a policy without runqueues of several pCPUs. */
static const char *queue_of(enum sc_sched sched)
{
	switch (sched) {
	case SC_SCHED_RTDS:
	case SC_SCHED_ROUND_ROBIN:
		return "one queue for the pool";
	case SC_SCHED_ARINC653:
		return "a time table for the pool";
	case SC_SCHED_NULL:
		return "one slot per pCPU";
	default:
		return "one queue per pCPU";
	}
}

/* "# Runqueues: 4 of 4 pCPUs: 0-3 4-7 8-11 12-15" */
static int print_arrangement(const struct scenario *s)
{
	struct lab_runqueue *queue = NULL;
	uint32_t n = 0;
	char text[256];
	int error = lab_arrangement(s, &queue, &n);

	if (error) {
		fprintf(stderr, "hvsched check: cannot arrange the runqueues: %s\n",
			strerror(-error));
		return EXIT_INTERNAL;
	}
	if (n == 0)
		printf("# Runqueues: none, sched=%s has %s\n", sc_sched_name(s->xen.sched),
		       queue_of(s->xen.sched));
	else
		printf("# Runqueues: %u\n", n);
	for (uint32_t i = 0; i < n; i++)
		printf("#   %d: %u pCPUs, %s\n", queue[i].id, queue[i].size,
		       sc_mask_format(&queue[i].pcpus, text, sizeof(text)));
	free(queue);
	return EXIT_HELD;
}

static int print_file(const struct scenario_file *f, const char *variant)
{
	int worst = EXIT_HELD;
	bool found = false;

	printf("# %s: %u variant%s\n", f->path, f->n_variants, f->n_variants == 1 ? "" : "s");
	for (unsigned int i = 0; i < f->n_variants; i++) {
		const struct scenario *s = &f->variant[i];
		int code;

		if (variant && strcmp(variant, s->variant) != 0)
			continue;
		found = true;
		printf("--- # %s%s\n", *s->variant ? "variant " : "the scenario", s->variant);
		scenario_print(stdout, s);
		code = print_arrangement(s);
		worst = code > worst ? code : worst;
	}
	if (!found)
		return session_no_variant("hvsched check", f, variant);
	if (f->n_expects) {
		puts("--- # expectations");
		scenario_print_expects(stdout, f);
	}
	return worst;
}

static int check_file(const struct arguments *a, const char *path)
{
	struct sc_diag diag = {.out = stderr};
	struct scenario_file *f;
	int code = EXIT_HELD, error;

	error = scenario_load(path, a->set, a->n_sets, &diag, &f);
	if (error) {
		fprintf(stderr, "%s: %u error%s\n", path, diag.errors, diag.errors == 1 ? "" : "s");
		return EXIT_USAGE;
	}
	assert(f->n_variants > 0);
	if (a->quiet)
		printf("%s: ok\n", path);
	else
		code = print_file(f, a->variant);
	scenario_file_free(f);
	return code;
}

int cmd_check(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{"quiet", 'q', NULL, 0, "Only say whether the files are right", 0},
		{"variant", 'v', "NAME", 0, "Print this variant only", 0},
		{"set", 's', "PATH=VALUE", 0, "Change a key, such as vms.build.weight=512", 0},
		{0},
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "FILE...",
		.doc = "Check scenario files and print their effective configuration.\v"
		       "Exit code: 0 all are right, 2 usage or bad input, 4 internal error or "
		       "failed I/O."};
	struct arguments arguments = {0};
	int worst = EXIT_HELD, code;

	if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0)
		return EXIT_USAGE;
	for (unsigned int i = 0; i < arguments.n_paths; i++) {
		code = check_file(&arguments, arguments.path[i]);
		worst = code > worst ? code : worst;
	}
	if (fflush(stdout) != 0 || ferror(stdout)) {
		fprintf(stderr, "hvsched check: cannot write: %s\n", strerror(errno));
		return EXIT_INTERNAL;
	}
	return worst;
}
