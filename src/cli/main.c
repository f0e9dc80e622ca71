/*
 * The program `hvsched`: finds the subcommand and hands over to it.
 *
 * Options before the subcommand belong to the program (--help, --version); everything after it
 * belongs to the subcommand. Exit codes are in cli.h.
 */
#include <argp.h>
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
};

/* One line per subcommand, in the order that `hvsched help` prints. */
static const struct command commands[] = {
	{"run", cmd_run, "run a scenario: every variant with every seed, and report"},
	{"check", cmd_check, "check scenarios and print their effective configuration"},
	{"compare", cmd_compare, "run a scenario under several policies"},
	{"console", cmd_console, "hold a run open: run to a time, command, look, go on"},
	{"experiment", cmd_experiment, "run a published experiment and compare"},
	{"conform", cmd_conform, "replay scripts, compare with recordings of the real scheduler"},
	{"log", cmd_log, "print the event log of a run as text"},
	{NULL, NULL, NULL},
};

struct arguments {
	const struct command *command; /* NULL: `help` was asked for */
	int at;			       /* index of the subcommand in argv */
};

static const struct command *find_command(const char *name)
{
	assert(name);
	for (const struct command *command = commands; command->name; command++) {
		if (strcmp(command->name, name) == 0)
			return command;
	}
	return NULL;
}

static void list_commands(FILE *out)
{
	assert(out);
	for (const struct command *command = commands; command->name; command++)
		fprintf(out, "  %-12s %s\n", command->name, command->summary);
	fprintf(out, "  %-12s %s\n", "help", "this list, or `hvsched help COMMAND`");
}

static void print_help(FILE *out)
{
	fputs("Usage: hvsched COMMAND [ARGUMENTS...]\n"
	      "hvsched: vCPU scheduling for virtualization hosts.\n\nCommands:\n",
	      out);
	list_commands(out);
	fputs("\n`hvsched COMMAND --help` tells a command's arguments.\n"
	      "Exit code: 0 held, 1 an expectation failed, 2 usage or bad input,\n"
	      "3 stall or broken law, 4 internal error or failed I/O.\n",
	      out);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case '?':
		print_help(stdout);
		exit(EXIT_HELD);
	case 'V':
		puts("hvsched " HVSCHED_VERSION);
		exit(EXIT_HELD);
	case ARGP_KEY_ARG:
		arguments->at = state->next - 1;
		arguments->command = find_command(arg);
		if (!arguments->command && strcmp(arg, "help") != 0)
			argp_failure(state, EXIT_USAGE, 0,
				     "unknown command '%s'; `hvsched help` lists the commands",
				     arg);
		state->next = state->argc; /* the rest is the subcommand's */
		return 0;
	case ARGP_KEY_NO_ARGS:
		print_help(stderr);
		exit(EXIT_USAGE);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int run_command(const struct command *command, int argc, char **argv)
{
	char title[64];

	assert(command->run);
	assert(argc > 0);
	snprintf(title, sizeof(title), "hvsched %s", command->name);
	argv[0] = title;
	return command->run(argc, argv);
}

/* `hvsched help` or `hvsched help COMMAND`; argv[0] is "help". */
static int help_command(int argc, char **argv)
{
	const struct command *command;
	char help_option[] = "--help";
	char *help_argv[] = {argv[0], help_option, NULL};

	if (argc < 2) {
		print_help(stdout);
		return EXIT_HELD;
	}
	command = find_command(argv[1]);
	if (!command) {
		fprintf(stderr, "hvsched help: unknown command '%s'\n", argv[1]);
		return EXIT_USAGE;
	}
	return run_command(command, 2, help_argv);
}

int main(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{"help", '?', NULL, 0, "Give this help list", 0},
		{"version", 'V', NULL, 0, "Print the program's version", 0},
		{0},
	};
	static const struct argp argp = {.options = options, .parser = parse};
	struct arguments arguments = {0};

	argp_err_exit_status = EXIT_USAGE;
	if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER | ARGP_NO_HELP, NULL, &arguments) != 0)
		return EXIT_USAGE;
	assert(arguments.at > 0);
	if (!arguments.command)
		return help_command(argc - arguments.at, argv + arguments.at);
	return run_command(arguments.command, argc - arguments.at, argv + arguments.at);
}
