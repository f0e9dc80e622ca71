/*
 * See session.h. The stop flag is the one piece of mutable file-scope data of the program: a signal
 * handler has no other way to be told where to write.
 */
#include "cli/session.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_bool stop;

static void on_signal(int number)
{
	(void)number;
	atomic_store(&stop, true);
}

void session_start(struct session *s, bool quiet)
{
	/* SA_RESETHAND: the second signal finds the default action and kills. */
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND | SA_RESTART};

	assert(s);
	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	s->campaign.stop = &stop;
	s->campaign.progress = !quiet && isatty(STDERR_FILENO);
}

void session_free(struct session *s)
{
	for (unsigned i = 0; i < s->n_sets; i++)
		free(s->text[i]);
	free(s->set);
	free(s->text);
	s->set = NULL;
	s->text = NULL;
	if (s->json_path && s->json_out)
		fclose(s->json_out); /* nothing was written: the error is told already */
	s->json_out = NULL;
	s->n_sets = 0;
}

void session_override_seeds(const struct session *s, struct scenario_file *f)
{
	for (unsigned i = 0; i < f->n_variants; i++) {
		if (s->campaign.seeds)
			f->variant[i].run.seeds = s->campaign.seeds;
		if (s->campaign.has_seed)
			f->variant[i].run.seed_base = s->campaign.seed;
	}
}

int session_no_variant(const char *argv0, const struct scenario_file *f, const char *name)
{
	assert(f->n_variants > 0);
	fprintf(stderr, "%s: %s has no variant '%s'", argv0, f->path, name);
	for (unsigned i = 0; i < f->n_variants && *f->variant[i].variant; i++)
		fprintf(stderr, "%s '%s'", i ? "," : "; it has:", f->variant[i].variant);
	fputs(*f->variant[0].variant ? "\n" : ": it has none\n", stderr);
	return EXIT_USAGE;
}

uint64_t session_number(struct argp_state *state, const char *option, const char *text,
			uint64_t min, uint64_t max)
{
	unsigned long long value;
	char *end;

	assert(text);
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || end == text || *end || strchr(text, '-') || value < min || value > max)
		argp_error(state, "%s: '%s' is not a number from %llu to %llu", option, text,
			   (unsigned long long)min, (unsigned long long)max);
	return value;
}

/* key=value; the key ends at the first '=' that is not inside brackets. */
static void add_set(struct session *s, struct argp_state *state, const char *text)
{
	struct sc_set *set = realloc(s->set, (s->n_sets + 1) * sizeof(*set));
	char **texts = realloc(s->text, (s->n_sets + 1) * sizeof(*texts));
	char *path = strdup(text), *equals = path ? strchr(path, '=') : NULL;

	s->set = set ? set : s->set;
	s->text = texts ? texts : s->text;
	if (!set || !texts || !path) {
		free(path);
		argp_failure(state, EXIT_INTERNAL, 0, "out of memory");
		return;
	}
	s->text[s->n_sets] = path;
	s->set[s->n_sets++] = (struct sc_set){.path = path, .value = equals ? equals + 1 : ""};
	if (!equals || equals == path)
		argp_error(state,
			   "--set: '%s' is not of the form key=value, for example "
			   "vms.build.weight=512",
			   text);
	else
		*equals = '\0';
}

enum { KEY_JSON = 0x200, KEY_SEED, KEY_SEEDS, KEY_SET, KEY_THREADS };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct session *s = state->input;

	switch (key) {
	case KEY_JSON:
		s->json = true;
		s->json_path = arg;
		return 0;
	case KEY_SEED:
		s->campaign.has_seed = true;
		s->campaign.seed = session_number(state, "--seed", arg, 0, INT64_MAX);
		return 0;
	case KEY_SEEDS:
		s->campaign.seeds =
			(unsigned)session_number(state, "--seeds", arg, 1, SC_MAX_SEEDS);
		return 0;
	case KEY_SET:
		add_set(s, state, arg);
		return 0;
	case KEY_THREADS:
		s->campaign.threads = (unsigned)session_number(state, "--threads", arg, 1, 4096);
		return 0;
	case ARGP_KEY_END:
		/* One seed was named: that one, unless --seeds asks for more from there on. */
		if (s->campaign.has_seed && !s->campaign.seeds)
			s->campaign.seeds = 1;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options[] = {
	{"json", KEY_JSON, "FILE", OPTION_ARG_OPTIONAL,
	 "Write the results as JSON, instead of the tables or (with =FILE) beside them", 1},
	{"seed", KEY_SEED, "N", 0, "Run seed N only; with --seeds, N is the first", 1},
	{"seeds", KEY_SEEDS, "N", 0, "Number of seeds, instead of the file's run.seeds", 1},
	{"set", KEY_SET, "KEY=VALUE", 0,
	 "Change a value of the file, before its variants: vms.build.weight=512", 1},
	{"threads", KEY_THREADS, "N", 0, "Runs at once (default: one per CPU)", 1},
	{0},
};

const struct argp session_argp = {.options = options, .parser = parse};

enum { KEY_EACH_VM = 0x280 };

static error_t parse_file(int key, char *arg, struct argp_state *state)
{
	struct session *s = state->input;

	switch (key) {
	case KEY_EACH_VM:
		s->view.each_vm = true;
		return 0;
	case 'q':
		s->view.quiet = true;
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = s;
		return 0;
	case ARGP_KEY_ARG:
		if (s->path)
			argp_error(state, "one FILE at a time, '%s' is the second", arg);
		s->path = arg;
		return 0;
	case ARGP_KEY_END:
		if (!s->path)
			argp_error(state, "which scenario? `%s FILE`", state->name);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option file_options[] = {
	{"each-vm", KEY_EACH_VM, NULL, 0, "A line for each VM of a group and each pCPU", 2},
	{"quiet", 'q', NULL, 0, "Print notes, expectations and the verdict only", 2},
	{0},
};

static const struct argp_child file_children[] = {{&session_argp, 0, NULL, 0}, {0}};

const struct argp session_file_argp = {
	.options = file_options,
	.parser = parse_file,
	.children = file_children,
};

int session_open_json(struct session *s, const char *argv0)
{
	if (!s->json)
		return EXIT_HELD;
	s->json_out = s->json_path ? fopen(s->json_path, "w") : stdout;
	if (s->json_out)
		return EXIT_HELD;
	fprintf(stderr, "%s: cannot write %s: %s\n", argv0, s->json_path, strerror(errno));
	return EXIT_INTERNAL;
}

int session_write_json(struct session *s, const char *argv0, session_print print, const void *what)
{
	const char *name = s->json_path ? s->json_path : "standard output";
	int ret;

	assert(s->json && s->json_out);
	errno = 0;
	ret = print(s->json_out, what);
	if (fflush(s->json_out) != 0 || ferror(s->json_out))
		ret = ret == -HV_ENOMEM ? ret : -EIO;
	if (s->json_path && fclose(s->json_out) != 0)
		ret = ret == -HV_ENOMEM ? ret : -EIO;
	s->json_out = NULL;
	if (ret == 0)
		return EXIT_HELD;
	fprintf(stderr, "%s: cannot write %s: %s\n", argv0, name,
		ret == -HV_ENOMEM ? "out of memory" : strerror(errno ? errno : EIO));
	return EXIT_INTERNAL;
}

int session_close_stdout(const char *argv0, int code)
{
	errno = 0;
	if ((fflush(stdout) == 0 && !ferror(stdout)) || code == EXIT_INTERNAL)
		return code;
	fprintf(stderr, "%s: cannot write standard output: %s\n", argv0,
		strerror(errno ? errno : EIO));
	return EXIT_INTERNAL;
}

static int exit_code(enum report_verdict verdict)
{
	switch (verdict) {
	case REPORT_FAILED:
		return EXIT_INTERNAL;
	case REPORT_BROKEN:
	case REPORT_STALL:
		return EXIT_BROKEN;
	case REPORT_MISSED:
		return EXIT_MISSED;
	case REPORT_INTERRUPTED:
		return EXIT_INTERRUPTED;
	case REPORT_HELD:
		return EXIT_HELD;
	}
	return EXIT_INTERNAL;
}

static int print_json(FILE *out, const void *report)
{
	return report_json(out, report);
}

static int print_report(struct session *s, const char *argv0, const struct report *r, bool quiet)
{
	int code = EXIT_HELD, ret = 0;

	if (s->json)
		code = session_write_json(s, argv0, print_json, r);
	if (!s->json || s->json_path) {
		if (quiet) {
			report_print_notes(stdout, r);
			report_print_findings(stdout, r);
		} else {
			ret = report_print(stdout, r);
		}
	}
	if (ret != 0) {
		fprintf(stderr, "%s: out of memory\n", argv0);
		return EXIT_INTERNAL;
	}
	return code;
}

int session_run(struct session *s, const char *argv0, const struct scenario_file *f)
{
	const struct session_view *view = &s->view;
	struct campaign campaign;
	struct report report;
	int code, ret;

	assert(s && f);
	session_start(s, view->quiet);
	ret = campaign_run(f, &s->campaign, &campaign);
	if (ret == 0) {
		ret = campaign_report(&campaign, &report);
		if (ret != 0)
			campaign_free(&campaign);
	}
	if (ret != 0) {
		fprintf(stderr, "%s: %s\n", argv0,
			ret == -HV_ENOMEM ? "out of memory" : strerror(-ret));
		return EXIT_INTERNAL;
	}
	report.each_vm = view->each_vm;
	report.note = view->note;
	report.n_notes = view->n_notes;
	code = print_report(s, argv0, &report, view->quiet);
	if (code == EXIT_HELD)
		code = exit_code(report_verdict(&report));
	campaign_report_free(&report);
	campaign_free(&campaign);
	return session_close_stdout(argv0, code);
}
