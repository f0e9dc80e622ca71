/*
 * `hvsched conform`: replays scripts and compares with what the real scheduler did.
 *
 * Each NAME.ev has its recording NAME.jsonl.gz (or NAME.jsonl) beside it. The exit code is the
 * worst of all files: a file that agrees 0, that differs 1, bad input 2, a broken law 3, failed
 * output 4.
 */
#include <argp.h>
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "conform/compare.h"
#include "conform/script.h"
#include "conform/world.h"

struct conform {
	bool write;	       /* print our own record, compare nothing */
	const char *write_dir; /* ... into files here, NULL = standard output */
	struct replay_options options;
	char **path;
	int nr_paths;

	unsigned agree, differ, failed;
	size_t lines; /* of the files that agree */
	int exit_code;
};

static void worst(struct conform *c, int code)
{
	if (code > c->exit_code)
		c->exit_code = code;
}

/* One file cannot be handled: FILE[:LINE]: error: TEXT */
static void complain(struct conform *c, const char *path, const struct script_error *err, int code)
{
	fflush(stdout);
	if (err->line)
		fprintf(stderr, "%s:%u: error: %s\n", path, err->line, err->text);
	else
		fprintf(stderr, "%s: error: %s\n", path, err->text);
	c->failed++;
	worst(c, code);
}

static void complain_text(struct conform *c, const char *path, const char *text, int code)
{
	struct script_error err = {0};

	snprintf(err.text, sizeof(err.text), "%s", text);
	complain(c, path, &err, code);
}

/* NAME of .../NAME.ev, or false. */
static bool script_name(const char *path, char *name, size_t size)
{
	const char *base = strrchr(path, '/');
	size_t len;

	base = base ? base + 1 : path;
	len = strlen(base);
	if (len <= 3 || strcmp(base + len - 3, ".ev") != 0 || len - 3 >= size)
		return false;
	memcpy(name, base, len - 3);
	name[len - 3] = '\0';
	return true;
}

/* The recording beside a script; false when there is none. */
static bool find_recording(const char *script, char *path, size_t size)
{
	static const char *const suffixes[] = {".jsonl.gz", ".jsonl"};
	size_t stem = strlen(script) - 3;

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		if (stem + strlen(suffixes[i]) >= size)
			return false;
		memcpy(path, script, stem);
		strcpy(path + stem, suffixes[i]);
		if (access(path, F_OK) == 0)
			return true;
	}
	return false;
}

/* --- one script ------------------------------------------------------------------------------- */

static void write_record(struct conform *c, const char *name, const struct record *ours)
{
	char path[PATH_MAX];
	FILE *file;
	int failed;

	if (!c->write_dir) {
		/* A failure stays in the stream and is told at the end. */
		record_write(ours, stdout);
		return;
	}
	if ((size_t)snprintf(path, sizeof(path), "%s/%s.jsonl", c->write_dir, name) >=
	    sizeof(path)) {
		complain_text(c, c->write_dir, strerror(ENAMETOOLONG), EXIT_INTERNAL);
		return;
	}
	file = fopen(path, "w");
	if (!file) {
		complain_text(c, path, strerror(errno), EXIT_INTERNAL);
		return;
	}
	failed = record_write(ours, file);
	failed |= fclose(file);
	if (failed) {
		complain_text(c, path, strerror(errno), EXIT_INTERNAL);
		return;
	}
	printf("wrote %s (%zu lines)\n", path, ours->nr);
}

/* Compares as far as the replay went; true when all of it agrees. */
static bool compare(const char *name, const struct record *recorded, const struct record *ours,
		    bool complete)
{
	size_t at = compare_records(recorded, ours);

	if (at == SIZE_MAX)
		return true;
	/* A replay that stopped early agrees up to its end. */
	if (!complete && at == ours->nr)
		return true;
	printf("differs %s at line %zu (recorded: %zu lines, ours: %zu)\n", name, at + 1,
	       recorded->nr, ours->nr);
	compare_print(stdout, recorded, ours, at);
	return false;
}

static void finish(struct conform *c, const char *path, const char *name,
		   const struct record *recorded, const struct record *ours,
		   struct replay_result *result)
{
	char text[sizeof(result->why.text)];

	switch (result->status) {
	case REPLAY_REFUSED:
		complain(c, path, &result->why, EXIT_USAGE);
		return;
	case REPLAY_NO_MEMORY:
		complain(c, path, &result->why, EXIT_INTERNAL);
		return;
	case REPLAY_BROKEN:
		if (!c->write)
			compare(name, recorded, ours, false);
		snprintf(text, sizeof(text), "%s", result->why.text);
		snprintf(result->why.text, sizeof(result->why.text),
			 "broken law at %lld ns: %.200s", (long long)result->time, text);
		complain(c, path, &result->why, EXIT_BROKEN);
		return;
	case REPLAY_DONE:
		break;
	}
	if (c->write) {
		write_record(c, name, ours);
	} else if (compare(name, recorded, ours, true)) {
		printf("ok %s (%zu lines)\n", name, ours->nr);
		c->agree++;
		c->lines += ours->nr;
	} else {
		c->differ++;
		worst(c, EXIT_MISSED);
	}
}

static void one_script(struct conform *c, const char *path)
{
	char name[NAME_MAX + 1], recording[PATH_MAX];
	struct script script = {0};
	struct record recorded = {0}, ours = {0};
	struct script_error err = {0};
	struct replay_result result;
	bool readable = true;

	if (!script_name(path, name, sizeof(name))) {
		complain_text(c, path, "expected a script with a name that ends in .ev",
			      EXIT_USAGE);
		return;
	}
	if (script_load(path, &script, &err)) {
		complain(c, path, &err, EXIT_USAGE);
		readable = false;
	} else if (!c->write && !find_recording(path, recording, sizeof(recording))) {
		complain_text(c, path,
			      "its recording is missing: expected a .jsonl.gz or .jsonl file "
			      "of the same name beside it",
			      EXIT_USAGE);
		readable = false;
	} else if (!c->write && recording_read(recording, &recorded, &err)) {
		complain(c, recording, &err, EXIT_USAGE);
		readable = false;
	}
	if (readable) {
		replay(&script, &c->options, &ours, &result);
		finish(c, path, name, &recorded, &ours, &result);
	}
	script_free(&script);
	record_free(&recorded);
	record_free(&ours);
}

/* --- folders ---------------------------------------------------------------------------------- */

static int is_script(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return len > 3 && strcmp(entry->d_name + len - 3, ".ev") == 0;
}

/* Names in byte order, whatever the locale says. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void folder(struct conform *c, const char *path)
{
	struct dirent **entry;
	int nr = scandir(path, &entry, is_script, by_name);
	const char *slash = path[strlen(path) - 1] == '/' ? "" : "/";

	if (nr < 0) {
		complain_text(c, path, strerror(errno), EXIT_USAGE);
		return;
	}
	if (nr == 0)
		complain_text(c, path, "the folder has no script (*.ev)", EXIT_USAGE);
	for (int i = 0; i < nr; i++) {
		char script[PATH_MAX] = "";

		if (ferror(stdout))
			; /* nobody would see the rest */
		else if ((size_t)snprintf(script, sizeof(script), "%s%s%s", path, slash,
					  entry[i]->d_name) < sizeof(script))
			one_script(c, script);
		else
			complain_text(c, path, strerror(ENAMETOOLONG), EXIT_USAGE);
		free(entry[i]);
	}
	free(entry);
}

static void one_path(struct conform *c, const char *path)
{
	struct stat st;

	if (!*path || stat(path, &st))
		complain_text(c, path, *path ? strerror(errno) : "an empty name", EXIT_USAGE);
	else if (S_ISDIR(st.st_mode))
		folder(c, path);
	else
		one_script(c, path);
}

static void summary(const struct conform *c)
{
	unsigned all = c->agree + c->differ + c->failed;

	assert(!c->write);
	printf("%u script%s: %u agree (%zu lines), %u differ, %u could not be compared\n", all,
	       all == 1 ? "" : "s", c->agree, c->lines, c->differ, c->failed);
}

/* --- arguments -------------------------------------------------------------------------------- */

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct conform *c = state->input;

	switch (key) {
	case 'c':
		c->options.check = true;
		return 0;
	case 'w':
		c->write = true;
		c->write_dir = arg;
		return 0;
	case ARGP_KEY_ARGS:
		c->path = state->argv + state->next;
		c->nr_paths = state->argc - state->next;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "expected a script (FILE.ev) or a folder of scripts");
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int cmd_conform(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{"check", 'c', NULL, 0, "Walk the engine's whole state after every operation", 0},
		{"write", 'w', "DIR", OPTION_ARG_OPTIONAL,
		 "Write our own record to standard output, or to DIR/NAME.jsonl; compare nothing",
		 0},
		{0},
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "FILE.ev|FOLDER...",
		.doc = "Replays conformance scripts and compares each with its recording "
		       "(NAME.jsonl.gz or NAME.jsonl beside NAME.ev), line by line.\v"
		       "Exit code: 0 all agree, 1 some differ, 2 bad input, 3 broken law, "
		       "4 failed output.",
	};
	struct conform c = {0};

	argp_err_exit_status = EXIT_USAGE;
	if (argp_parse(&argp, argc, argv, 0, NULL, &c) != 0)
		return EXIT_USAGE;
	assert(c.nr_paths > 0);
	for (int i = 0; i < c.nr_paths && !ferror(stdout); i++)
		one_path(&c, c.path[i]);
	if (!c.write)
		summary(&c);
	if (fflush(stdout) || ferror(stdout)) {
		fputs("hvsched conform: standard output cannot be written\n", stderr);
		worst(&c, EXIT_INTERNAL);
	}
	return c.exit_code;
}
