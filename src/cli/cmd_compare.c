/*
 * `hvsched compare FILE --policies all|LIST`: one scenario under several policies, side by side.
 *
 * The file's own variants and expectations are left aside: a variant per policy, named by it, takes
 * their place, each checked as if the file had said sched=POLICY. What a policy has no use for in
 * the scenario (weights under null), and why one was left out (no time table for arinc653), is a
 * note in the report: nothing is dropped silently. Some policies may let a vCPU wait for ever;
 * under these a stall is not the end of the run.
 */
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/session.h"

#define MAX_NOTES 32
#define NOTE	  512	  /* bytes of one */
#define NO_STALL  "1000h" /* the longest run.stall_limit */

struct arguments {
	struct session session; /* first: it is the input of the shared options as well */
	const char *policies;
};

struct comparison {
	enum sc_sched policy[SC_NR_SCHEDS];
	unsigned n;
	char text[MAX_NOTES][NOTE];
	const char *note[MAX_NOTES]; /* into text */
	unsigned n_notes;
};

enum { KEY_POLICIES = 0x300 };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case KEY_POLICIES:
		a->policies = arg;
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->session;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options[] = {
	{"policies", KEY_POLICIES, "LIST", 0,
	 "Policies, separated by commas, or all (default): credit2,null", 2},
	{0},
};

/* ---- which policies */

static void unknown_policy(const char *argv0, const char *name, size_t len)
{
	fprintf(stderr, "%s: --policies: there is no policy '%.*s'; there are:", argv0, (int)len,
		name);
	for (unsigned i = 0; i < SC_NR_SCHEDS; i++)
		fprintf(stderr, "%s %s", i ? "," : "", sc_sched_name((enum sc_sched)i));
	fputc('\n', stderr);
}

static int choose_policies(struct comparison *c, const char *argv0, const char *list)
{
	if (!list || strcmp(list, "all") == 0) {
		while (c->n < SC_NR_SCHEDS) {
			c->policy[c->n] = (enum sc_sched)c->n;
			c->n++;
		}
		return EXIT_HELD;
	}
	for (const char *s = list;; s++) {
		size_t len = strcspn(s, ",");
		unsigned i = 0;

		while (i < SC_NR_SCHEDS && (strncmp(s, sc_sched_name((enum sc_sched)i), len) != 0 ||
					    sc_sched_name((enum sc_sched)i)[len]))
			i++;
		if (i == SC_NR_SCHEDS) {
			unknown_policy(argv0, s, len);
			return EXIT_USAGE;
		}
		for (unsigned k = 0; k < c->n; k++) {
			if (c->policy[k] != (enum sc_sched)i)
				continue;
			fprintf(stderr, "%s: --policies: '%.*s' is named twice\n", argv0, (int)len,
				s);
			return EXIT_USAGE;
		}
		c->policy[c->n++] = (enum sc_sched)i;
		s += len;
		if (!*s)
			return EXIT_HELD;
	}
}

/* ---- what each of them makes of the scenario */

static void note(struct comparison *c, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void note(struct comparison *c, const char *format, ...)
{
	va_list args;

	assert(c->n_notes < MAX_NOTES);
	va_start(args, format);
	vsnprintf(c->text[c->n_notes], NOTE, format, args);
	va_end(args);
	c->note[c->n_notes] = c->text[c->n_notes];
	c->n_notes++;
}

/* What a scenario may give that is not for every policy. */
enum {
	WEIGHTS = 1 << 0,
	CAPS = 1 << 1,
	PERIODS = 1 << 2,
	TABLE = 1 << 3,
	HARD = 1 << 4,
	SOFT = 1 << 5,
};

static const char *const gift_names[] = {
	"weights",	 "caps",	 "periods and budgets", "the arinc653 table",
	"hard affinity", "soft affinity"};

static unsigned gifts_of(const struct scenario *s)
{
	unsigned gifts = s->frame.n ? TABLE : 0;

	for (unsigned i = 0; i < s->n_vms; i++) {
		const struct sc_vm *vm = &s->vm[i];

		gifts |= vm->weight != SC_WEIGHT_DEFAULT ? WEIGHTS : 0;
		gifts |= vm->cap ? CAPS : 0;
		gifts |= vm->rtds ? PERIODS : 0;
		gifts |= vm->has_hard ? HARD : 0;
		gifts |= vm->has_soft ? SOFT : 0;
	}
	return gifts;
}

static unsigned uses_of(enum sc_sched policy)
{
	switch (policy) {
	case SC_SCHED_CREDIT2:
	case SC_SCHED_CREDIT:
		return WEIGHTS | CAPS | HARD | SOFT;
	case SC_SCHED_RTDS:
		return PERIODS | HARD;
	case SC_SCHED_ARINC653:
		return TABLE;
	case SC_SCHED_NULL:
	case SC_SCHED_ROUND_ROBIN:
		return HARD | SOFT;
	case SC_NR_SCHEDS:
		break;
	}
	return 0;
}

/* A vCPU may wait for ever under it, and nothing is wrong. */
static bool may_starve(enum sc_sched policy)
{
	return policy == SC_SCHED_NULL || policy == SC_SCHED_RTDS || policy == SC_SCHED_ARINC653;
}

static void note_unused(struct comparison *c, const struct scenario *s)
{
	const unsigned n = sizeof(gift_names) / sizeof(gift_names[0]);

	for (unsigned i = 0; i < c->n; i++) {
		unsigned unused = gifts_of(s) & ~uses_of(c->policy[i]);
		char text[256] = "";

		for (unsigned k = 0; k < n; k++) {
			if (unused >> k & 1)
				snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
					 *text ? ", " : "", gift_names[k]);
		}
		if (*text)
			note(c, "%s: without effect: %s", sc_sched_name(c->policy[i]), text);
	}
}

static void note_starving(struct comparison *c, const struct scenario *s)
{
	unsigned vcpus = 0;

	for (unsigned i = 0; i < s->n_vms; i++)
		vcpus += s->vm[i].vcpus;
	for (unsigned i = 0; i < c->n; i++) {
		const char *name = sc_sched_name(c->policy[i]);

		if (c->policy[i] == SC_SCHED_NULL && vcpus > s->topo.n_online)
			note(c,
			     "%s: %u vCPUs on %u pCPUs: who has no pCPU of its own does not run "
			     "(not judged as a stall)",
			     name, vcpus, s->topo.n_online);
		if (c->policy[i] == SC_SCHED_RTDS)
			note(c,
			     "%s: budgets decide who runs; without them each vCPU has 4 ms in 10 "
			     "ms, and what is left over (stalls are not judged)",
			     name);
		if (c->policy[i] == SC_SCHED_ARINC653)
			note(c, "%s: the table decides who runs (stalls are not judged)", name);
	}
}

/* ---- variants */

/* One variant per policy as YAML; "null" is quoted because it is a word of YAML. */
static char *variants_text(const enum sc_sched *policy, unsigned n)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fputc('[', out);
	for (unsigned i = 0; i < n; i++) {
		const char *name = sc_sched_name(policy[i]);

		fprintf(out, "%s{name: \"%s\", cmdline: sched=%s", i ? ", " : "", name, name);
		if (may_starve(policy[i]))
			fputs(", set: {run.stall_limit: " NO_STALL "}", out);
		fputc('}', out);
	}
	fputc(']', out);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

static int load_policies(const struct arguments *a, const enum sc_sched *policy, unsigned n,
			 struct sc_diag *diag, struct scenario_file **out)
{
	char *variants = variants_text(policy, n);
	int ret = variants ? scenario_load_as(a->session.path, a->session.set, a->session.n_sets,
					      variants, diag, out)
			   : -ENOMEM;

	free(variants);
	return ret;
}

/* The first error in what the loader said, in place. */
static const char *first_error(char *text)
{
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		if (strstr(line, " error: "))
			return line;
	}
	return "it cannot be loaded";
}

/* Can the scenario run under this policy? A note says why not. 0, -ENOMEM. */
static int try_policy(struct comparison *c, const struct arguments *a, enum sc_sched policy,
		      bool *ok)
{
	struct scenario_file *file = NULL;
	struct sc_diag diag = {0};
	char *text = NULL;
	size_t size = 0;
	int ret;

	diag.out = open_memstream(&text, &size);
	if (!diag.out)
		return -ENOMEM;
	ret = load_policies(a, &policy, 1, &diag, &file);
	if (fclose(diag.out) != 0)
		ret = -ENOMEM;
	*ok = ret == 0;
	if (ret != 0 && ret != -ENOMEM)
		note(c, "%s: left out: %s", sc_sched_name(policy), first_error(text));
	scenario_file_free(file);
	free(text);
	return ret == -ENOMEM ? ret : 0;
}

/* Leaves those policies that can run it. 0, -ENOMEM. */
static int keep_possible(struct comparison *c, const struct arguments *a, const struct scenario *s)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < c->n; i++) {
		enum sc_sched policy = c->policy[i];
		bool ok = true;
		int ret = 0;

		if (policy == SC_SCHED_ARINC653 && !s->frame.n &&
		    s->xen.sched != SC_SCHED_ARINC653) {
			note(c, "%s: left out: the scenario has no arinc653 table",
			     sc_sched_name(policy));
			ok = false;
		} else {
			ret = try_policy(c, a, policy, &ok);
		}
		if (ret != 0)
			return ret;
		if (ok)
			c->policy[kept++] = policy;
	}
	c->n = kept;
	return 0;
}

/* 0, or as scenario_load() after its messages. */
static int prepare(struct comparison *c, const struct arguments *a)
{
	struct sc_diag diag = {.out = stderr}, silent = {0};
	struct scenario_file *original = NULL, *base = NULL;
	const struct session *l = &a->session;
	int ret = scenario_load(a->session.path, l->set, l->n_sets, &diag, &original);

	if (ret == 0)
		ret = scenario_load_as(a->session.path, l->set, l->n_sets, "[{name: base}]",
				       &silent, &base);
	if (ret == 0)
		ret = keep_possible(c, a, &base->variant[0]);
	if (ret == 0 && *original->variant[0].variant)
		note(c, "the file's %u variants are not used, but what they start from",
		     original->n_variants);
	if (ret == 0 && original->n_expects)
		note(c,
		     "the file's %u expectations are not judged: they are about its own "
		     "scheduler",
		     original->n_expects);
	scenario_file_free(base);
	scenario_file_free(original);
	return ret;
}

static int run(struct comparison *c, struct arguments *a, const char *argv0)
{
	struct sc_diag diag = {.out = stderr};
	struct scenario_file *file = NULL;
	int code, ret;

	if (c->n == 0) {
		for (unsigned i = 0; i < c->n_notes; i++)
			fprintf(stderr, "%s: %s\n", argv0, c->note[i]);
		return EXIT_USAGE;
	}
	ret = load_policies(a, c->policy, c->n, &diag, &file);
	if (ret != 0)
		return ret == -ENOMEM ? EXIT_INTERNAL : EXIT_USAGE;
	note_unused(c, &file->variant[0]);
	note_starving(c, &file->variant[0]);
	a->session.view.note = c->note;
	a->session.view.n_notes = c->n_notes;
	session_override_seeds(&a->session, file);
	code = session_open_json(&a->session, argv0);
	if (code == EXIT_HELD)
		code = session_run(&a->session, argv0, file);
	scenario_file_free(file);
	return code;
}

int cmd_compare(int argc, char **argv)
{
	static const struct argp_child children[] = {{&session_file_argp, 0, NULL, 0}, {0}};
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "FILE",
		.doc = "Run a scenario under several policies, each a variant of its name.\v"
		       "Exit code: 0 all ran, 2 usage or bad input, 3 stall or broken law, "
		       "4 internal error or failed I/O, 130 interrupted.",
		.children = children,
	};
	struct arguments a = {.policies = NULL};
	struct comparison c = {.n = 0};
	int code, ret;

	assert(argc > 0);
	if (argp_parse(&argp, argc, argv, 0, NULL, &a) != 0)
		return EXIT_USAGE;
	code = choose_policies(&c, argv[0], a.policies);
	if (code == EXIT_HELD) {
		ret = prepare(&c, &a);
		if (ret != 0)
			code = ret == -ENOMEM ? EXIT_INTERNAL : EXIT_USAGE;
	}
	if (code == EXIT_HELD)
		code = run(&c, &a, argv[0]);
	session_free(&a.session);
	return code;
}
