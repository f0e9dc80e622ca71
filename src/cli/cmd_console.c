/*
 * `hvsched console FILE`: a run that is held open. Commands are read line by line: run to a time,
 * look, do what an operator does, go on.
 *
 * Laws: commands that change something are those of a timeline, parsed and carried out by the same
 * code; what a command says does not depend on where its line came from, so that a session can be
 * written down and repeated. A wrong command says what was expected, and the console goes on.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/console.h"
#include "cli/session.h"
#include "machine/machine.h"
#include "scenario/quantity.h"

#define MAX_TIME (1000LL * 3600 * 1000000000) /* ns, 1000 h */

struct arguments {
	const char *path, *variant;
	bool has_seed;
	uint64_t seed;
};

/* How a command ended. */
enum ending { WENT_WELL, WAS_WRONG, RUN_IS_OVER, QUIT };

struct console {
	struct scenario_file *file;
	const struct scenario *s;
	struct lab_options options;
	struct lab_result result;
	struct lab_run *run;
	bool terminal;
	int line; /* number of the present line */
};

enum { KEY_VARIANT = 0x400, KEY_SEED };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case KEY_VARIANT:
		a->variant = arg;
		return 0;
	case KEY_SEED:
		a->has_seed = true;
		a->seed = session_number(state, "--seed", arg, 0, INT64_MAX);
		return 0;
	case ARGP_KEY_ARG:
		if (a->path)
			argp_error(state, "one FILE at a time, '%s' is the second", arg);
		a->path = arg;
		return 0;
	case ARGP_KEY_END:
		if (!a->path)
			argp_error(state, "which scenario? `hvsched console FILE`");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options[] = {
	{"variant", KEY_VARIANT, "NAME", 0, "This variant (default: the first)", 0},
	{"seed", KEY_SEED, "N", 0, "This seed (default: the file's first)", 0},
	{0},
};

/* ---- commands of the console itself */

static hv_time now(const struct console *c)
{
	return mc_now(lab_machine(c->run));
}

static enum ending go_to(struct console *c, hv_time until)
{
	return lab_run_to(c->run, until) ? WENT_WELL : RUN_IS_OVER;
}

static enum ending run_command(struct console *c, const struct console_line *line)
{
	bool to = strcmp(line->word[0], "run-to") == 0;
	int64_t time;

	if (line->n != 2) {
		fprintf(stderr, "%s: expected '%s'\n", line->word[0],
			to ? "run-to TIME, for example run-to 20s"
			   : "run TIME, for example run 5s");
		return WAS_WRONG;
	}
	if (sc_quantity_parse(line->word[1], SC_Q_DURATION, &time) != SC_Q_OK || time < 0 ||
	    time > MAX_TIME) {
		fprintf(stderr, "%s: found '%s', expected %s\n", line->word[0], line->word[1],
			sc_quantity_expected(SC_Q_DURATION));
		return WAS_WRONG;
	}
	if (to && time < now(c)) {
		fprintf(stderr, "run-to: it is %.6f s already\n", (double)now(c) / 1e9);
		return WAS_WRONG;
	}
	return go_to(c, to ? time : now(c) + time);
}

static void help(void)
{
	puts("Time:\n"
	     "  run TIME                    go on for so long, for example run 5s\n"
	     "  run-to TIME                 go on up to this time, for example run-to 20s\n"
	     "Looking (columns as xl prints them):");
	console_show_help();
	puts("Pools:\n"
	     "  cpupool-create [-n] [FILE] [name=NAME] [sched=SCHED] [gran=GRAN] [cpus=LIST]\n"
	     "                 [nodes=LIST]  (-n: only show; FILE: these keys, as xl has them)\n"
	     "  cpupool-destroy POOL        cpupool-rename POOL NAME\n"
	     "  cpupool-cpu-add POOL LIST   cpupool-cpu-remove POOL LIST\n"
	     "  cpupool-migrate DOM POOL    cpupool-numa-split\n"
	     "  xenhypfs write /cpupool/ID/sched-gran cpu|core|socket\n"
	     "Host:\n"
	     "  cpu-offline N   cpu-online N   smt-enable   smt-disable\n"
	     "  suspend         resume [lost=LIST]\n"
	     "VMs:\n"
	     "  vcpu-pin [-f] [-i] DOM VCPU|all HARD [SOFT]          vcpu-set [-i] DOM N\n"
	     "  pin-override DOM VCPU PCPU|none                      (domain 0, by itself)\n"
	     "  pause DOM   unpause DOM   destroy DOM\n"
	     "  sched-credit2 -d DOM [-w WEIGHT] [-c CAP]\n"
	     "  sched-credit2 [-p POOL] -s -r US\n"
	     "  sched-credit -d DOM [-w WEIGHT] [-c CAP]\n"
	     "  sched-credit [-p POOL] -s [-t MS] [-r US] [-m US]\n"
	     "  sched-rtds -d DOM -v VCPU|all -p US -b US -e 0|1 ...\n"
	     "  arinc653-set MAJOR DOM.VCPU:TIME...                  overrun DOM VCPU TIME\n"
	     "help, quit. A line that starts with # is a comment; 'xl' before a command is\n"
	     "allowed.");
}

/* ---- those of the command language */

static enum ending operate(struct console *c, const char *text)
{
	struct sc_diag diag = {.out = stderr};
	const char *why;
	struct sc_op op;
	int ret;

	if (!scenario_command(c->file, c->s, text, c->line, &diag, &op))
		return WAS_WRONG;
	ret = lab_do(c->run, &op, &why);
	if (c->result.status != LAB_DONE)
		return RUN_IS_OVER;
	if (ret == 0 && *why)
		puts(why);
	if (ret == 0)
		return WENT_WELL;
	fprintf(stderr, "refused: %s\n", why);
	return WAS_WRONG;
}

static bool split(char *text, struct console_line *line)
{
	char *save = NULL;

	line->n = 0;
	for (char *w = strtok_r(text, " \t", &save); w; w = strtok_r(NULL, " \t", &save)) {
		if (line->n == 0 && (strcmp(w, "xl") == 0 || strcmp(w, "xen-hptool") == 0))
			continue;
		if (line->n == CONSOLE_WORDS) {
			fputs("too many words\n", stderr);
			return false;
		}
		line->word[line->n++] = w;
	}
	return true;
}

static enum ending command(struct console *c, const char *text)
{
	char *copy = strdup(text);
	struct console_line line;
	enum ending end = WAS_WRONG;
	bool known = false, ok;

	if (!copy) {
		fputs("out of memory\n", stderr);
		return WAS_WRONG;
	}
	if (!split(copy, &line)) {
		end = WAS_WRONG;
	} else if (line.n == 0) {
		end = WENT_WELL;
	} else if (strcmp(line.word[0], "quit") == 0 || strcmp(line.word[0], "exit") == 0) {
		end = QUIT;
	} else if (strcmp(line.word[0], "help") == 0) {
		help();
		end = WENT_WELL;
	} else if (strcmp(line.word[0], "run") == 0 || strcmp(line.word[0], "run-to") == 0) {
		end = run_command(c, &line);
	} else {
		ok = console_show(c->run, &line, &known);
		end = known ? (ok ? WENT_WELL : WAS_WRONG) : operate(c, text);
	}
	free(copy);
	return end;
}

/* ---- the session */

static void prompt(const struct console *c)
{
	if (c->terminal)
		printf("%.6f s> ", (double)now(c) / 1e9);
	fflush(stdout);
}

/* In a session from a file the line is repeated, so that what follows can be read. */
static void echo(const struct console *c, const char *text)
{
	if (!c->terminal)
		printf("%.6f s> %s\n", (double)now(c) / 1e9, text);
	fflush(stdout);
}

static int end_code(const struct console *c, const char *argv0)
{
	if (c->result.status == LAB_DONE)
		return EXIT_HELD;
	fprintf(stderr, "%s: %s\n", argv0, c->result.message);
	return c->result.status == LAB_INTERRUPTED ? EXIT_INTERRUPTED
	       : c->result.status == LAB_FAILED	   ? EXIT_INTERNAL
						   : EXIT_BROKEN;
}

static int converse(struct console *c, const char *argv0)
{
	enum ending end = WENT_WELL;
	char *text = NULL;
	size_t size = 0;
	ssize_t n;

	prompt(c);
	while (end < RUN_IS_OVER && (n = getline(&text, &size, stdin)) >= 0) {
		c->line++;
		while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r'))
			text[--n] = '\0';
		if ((size_t)n != strlen(text)) {
			fputs("a NUL character in a command\n", stderr);
			end = WAS_WRONG;
		} else if (text[strspn(text, " \t")] && text[strspn(text, " \t")] != '#') {
			echo(c, text);
			end = command(c, text);
		}
		if (end < RUN_IS_OVER)
			prompt(c);
	}
	free(text);
	if (end == RUN_IS_OVER)
		return end_code(c, argv0);
	if (c->terminal)
		putchar('\n');
	return end == WAS_WRONG && !c->terminal ? EXIT_USAGE : EXIT_HELD;
}

static const struct scenario *choose(const struct arguments *a, const char *argv0,
				     const struct scenario_file *f)
{
	if (!a->variant)
		return &f->variant[0];
	for (unsigned i = 0; i < f->n_variants; i++) {
		if (strcmp(f->variant[i].variant, a->variant) == 0)
			return &f->variant[i];
	}
	session_no_variant(argv0, f, a->variant);
	return NULL;
}

static int hold_session(struct console *c, const struct arguments *a, const char *argv0)
{
	struct session session = {.campaign = {0}};
	int code, ret;

	session_start(&session, true);
	c->options.hold = true;
	c->options.stop = session.campaign.stop;
	c->terminal = isatty(STDIN_FILENO);
	ret = lab_open(c->s, a->has_seed ? a->seed : c->s->run.seed_base, &c->options, &c->result,
		       &c->run);
	if (ret != 0) {
		fprintf(stderr, "%s: %s\n", argv0,
			ret == -HV_ENOMEM ? "out of memory" : c->result.message);
		return EXIT_INTERNAL;
	}
	code = converse(c, argv0);
	lab_close(c->run);
	return code;
}

int cmd_console(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "FILE",
		.doc = "Hold a scenario's run open and command it line by line; `help` lists the "
		       "commands.\v"
		       "Exit code: 0, or 2 when the last line of a session that is not at a "
		       "terminal was wrong or refused; 3 broken law, 4 internal error, 130 "
		       "interrupted.",
	};
	struct arguments a = {.path = NULL};
	struct sc_diag diag = {.out = stderr};
	struct console c = {.line = 0};
	int code = EXIT_USAGE, ret;

	assert(argc > 0);
	if (argp_parse(&argp, argc, argv, 0, NULL, &a) != 0)
		return EXIT_USAGE;
	ret = scenario_load(a.path, NULL, 0, &diag, &c.file);
	if (ret != 0) {
		if (diag.errors == 0)
			fprintf(stderr, "%s: %s: %s\n", argv[0], a.path, strerror(-ret));
		return ret == -ENOMEM ? EXIT_INTERNAL : EXIT_USAGE;
	}
	/* Who makes a vCPU wait for ever wants to see it, not to be thrown out. */
	for (unsigned i = 0; i < c.file->n_variants; i++)
		c.file->variant[i].run.stall_limit = 0;
	c.s = choose(&a, argv[0], c.file);
	if (c.s)
		code = session_close_stdout(argv[0], hold_session(&c, &a, argv[0]));
	scenario_file_free(c.file);
	return code;
}
