/*
 * What commands on scenarios share, `run`, `compare` and `experiment` before all: options that say
 * how runs are made, Ctrl-C, where results go, and how a scenario is run and reported.
 */
#ifndef HVSCHED_CLI_SESSION_H
#define HVSCHED_CLI_SESSION_H

#include <argp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "campaign/campaign.h"
#include "cli/cli.h"

/* Exit code of a run that Ctrl-C ended while nothing had failed, as shells say it: 128 + SIGINT. */
#define EXIT_INTERRUPTED 130

/* How the report of a scenario is shown. */
struct session_view {
	bool each_vm, quiet;
	const char *const *note; /* see struct report */
	unsigned n_notes;
};

struct session {
	struct campaign_options campaign;
	struct sc_set *set;
	char **text; /* what set[] points into */
	unsigned n_sets;
	bool json;
	const char *json_path; /* NULL = standard output */
	FILE *json_out;
	const char *path; /* the scenario, of a command that takes one */
	struct session_view view;
};

/* The shared options, a child of the command's argp that has the session as its input. */
extern const struct argp session_argp;
/* The same and what a command on one scenario FILE takes besides: the file, and how it is shown. */
extern const struct argp session_file_argp;

void session_free(struct session *s);
/* Ctrl-C sets the campaign's stop flag, a second one kills. Progress only on a terminal. */
void session_start(struct session *s, bool quiet);
/* The seeds of the command line become those of every variant, as if the file had said so. */
void session_override_seeds(const struct session *s, struct scenario_file *f);
/* The file has no variant of this name: says so, and which it has. EXIT_USAGE. */
int session_no_variant(const char *argv0, const struct scenario_file *f, const char *name);
/* An unsigned decimal number up to max, or a usage error that names the option. */
uint64_t session_number(struct argp_state *state, const char *option, const char *text,
			uint64_t min, uint64_t max);

/* Open the JSON file before anything is run. EXIT_HELD, or EXIT_INTERNAL after a message. */
int session_open_json(struct session *s, const char *argv0);
/*
 * Write through `print` into the JSON file of the session. EXIT_HELD or EXIT_INTERNAL after a
 * message (named after argv0).
 */
typedef int (*session_print)(FILE *out, const void *what);
int session_write_json(struct session *s, const char *argv0, session_print print, const void *what);
/*
 * The exit code at the end: `code`, or EXIT_INTERNAL after a message when what was printed has not
 * reached its file.
 */
int session_close_stdout(const char *argv0, int code);
/* Run the campaign of a file, print its report (tables, JSON or both): the exit code. */
int session_run(struct session *s, const char *argv0, const struct scenario_file *f);

#endif
