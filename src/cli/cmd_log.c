/*
 * `hvsched log FILE`: a binary event log as readable text, or what it says in sum.
 *
 * Every figure here comes from the log alone. A log that is cut or harmed is bad input (exit 2),
 * told after the lines before the harm.
 */
#include <argp.h>
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "observe/log.h"
#include "observe/log_summary.h"
#include "scenario/quantity.h"

struct arguments {
	const char *path;
	const char *vm;	  /* NULL = all */
	hv_time from, to; /* -1 = not given */
	bool summary;
};

/* ------------------------------------------------------------------ names */

#define NAME_SIZE 32

static const char *vcpu_name(const struct log_reader *l, uint32_t number, char out[NAME_SIZE])
{
	if (number == 0)
		return "idle";
	snprintf(out, NAME_SIZE, "d%dv%u", log_vcpu(l, number)->domain, log_vcpu(l, number)->id);
	return out;
}

/* NAME is a VM's name, dX or dXvY. */
static bool vcpu_matches(const struct log_reader *l, uint32_t number, const char *wanted)
{
	char name[NAME_SIZE];
	const char *vm;

	if (number == 0)
		return false;
	vm = log_domain_name(l, log_vcpu(l, number)->domain);
	if (vm && strcmp(vm, wanted) == 0)
		return true;
	if (strcmp(vcpu_name(l, number, name), wanted) == 0)
		return true;
	snprintf(name, sizeof(name), "d%d", log_vcpu(l, number)->domain);
	return strcmp(name, wanted) == 0;
}

/* Some vCPU of the log, as far as it is read, has this name; else say so. */
static bool name_is_known(const struct log_reader *l, const struct arguments *a)
{
	for (uint32_t i = 1; a->vm && i <= log_nr_vcpus(l); i++) {
		if (vcpu_matches(l, i, a->vm))
			return true;
	}
	if (a->vm)
		fprintf(stderr,
			"%s: error: no VM or vCPU is named '%s', expected a VM's name, dX or "
			"dXvY\n",
			a->path, a->vm);
	return !a->vm;
}

/* ------------------------------------------------------------------ lines */

static const char *const state_names[HV_NR_RUNSTATES] = {"running", "runnable", "blocked",
							 "offline"};

static void print_header(const struct log_reader *l)
{
	const struct log_header *h = log_header(l);

	printf("# event log, scenario %s, variant %s, seed %" PRIu64 ", %u pCPUs\n",
	       *h->scenario ? h->scenario : "-", *h->variant ? h->variant : "-", h->seed,
	       h->topology.nr_pcpus);
}

static void print_flags(const struct log_record *r)
{
	static const struct {
		int64_t flag;
		const char *name;
	} flags[] = {
		{HV_PF_BLOCKED, "blocked"},
		{HV_PF_DOWN, "down"},
		{HV_PF_MIGRATING, "migrating"},
		{HV_PF_PARKED, "parked"},
	};
	const char *sign = " ";

	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		if (r->a & flags[i].flag) {
			printf("%s%s", sign, flags[i].name);
			sign = ",";
		}
	}
	if (r->b)
		printf("%spaused %" PRId64, sign, r->b);
	else if (!r->a)
		printf(" none");
}

static void print_split(const struct log_record *r)
{
	printf(" %" PRId64 " ns:", r->b);
	for (unsigned c = 0; c < OBSERVE_NR_RUN; c++) {
		if (r->ns[c])
			printf(" %s %" PRId64, observe_time_names[c], r->ns[c]);
	}
	if (r->a)
		printf(", until %" PRId64 " ns ago", r->a);
}

static void print_slice(int64_t slice)
{
	if (slice >= 0)
		printf(", slice %" PRId64 " ns", slice);
}

/* Details of the engine's records, behind the vCPU's name. */
static void print_engine(const struct log_record *r)
{
	switch (r->kind) {
	case HV_TRACE_CONT:
		print_slice(r->a);
		break;
	case HV_TRACE_RESET:
		printf(" credits of runqueue %" PRId64, r->a);
		break;
	case HV_TRACE_MISSED:
		printf(" %" PRId64 " windows", r->a);
		break;
	case HV_TRACE_RQMOVE:
		printf(" runqueue %" PRId64 " -> %" PRId64, r->a, r->b);
		break;
	case HV_TRACE_ASSIGN:
		printf(" p%" PRId64 " -> p%" PRId64, r->a, r->b);
		break;
	case HV_TRACE_RUNSTATE:
		printf(" %s -> %s", state_names[r->a], state_names[r->b]);
		break;
	case HV_TRACE_PAUSE:
		print_flags(r);
		break;
	}
}

/* Details of all other records. */
static void print_report(const struct log_record *r)
{
	switch (r->kind) {
	case LOG_DOMAIN:
		printf(" d%d is %s", r->domain, r->name);
		break;
	case LOG_VCPU:
		printf(" is new, %s", state_names[r->b]);
		break;
	case LOG_GONE:
		printf(" is destroyed");
		break;
	case LOG_RUN:
		print_split(r);
		break;
	case LOG_PCPU:
		printf(" %s", observe_mode_names[r->a]);
		if (r->a == OBSERVE_PCPU_GUEST)
			printf(" d%d", r->domain);
		break;
	case LOG_CORE_WAIT:
		printf(" %s", r->a ? "begins" : "ends");
		break;
	case LOG_IDLE_RUNNABLE:
		printf(" %" PRId64 " ns beside an idle pCPU", r->b);
		break;
	case LOG_MARK:
		printf(" measured window starts");
		break;
	case LOG_END:
		printf(" %" PRId64 " records, hash %016" PRIx64, r->a, (uint64_t)r->b);
		break;
	}
}

static bool has_field(unsigned kind, uint8_t field)
{
	for (const uint8_t *f = log_layout[kind]; *f != LOG_F_NONE; f++) {
		if (*f == field)
			return true;
	}
	return false;
}

static void print_record(const struct log_reader *l, const struct log_record *r)
{
	char name[NAME_SIZE], prev[NAME_SIZE], pcpu[16] = "-";

	if (has_field(r->kind, LOG_F_PCPU) && r->pcpu != HV_NO_PCPU)
		snprintf(pcpu, sizeof(pcpu), "p%u", r->pcpu);
	printf("%6" PRId64 ".%09" PRId64 " %-5s %-13s", r->time / 1000000000, r->time % 1000000000,
	       pcpu, log_kind_name(r->kind));
	if (r->kind == HV_TRACE_SWITCH) {
		printf(" %s -> %s", vcpu_name(l, r->prev, prev), vcpu_name(l, r->vcpu, name));
		print_slice(r->a);
	} else {
		if (has_field(r->kind, LOG_F_VCPU))
			printf(" %s", vcpu_name(l, r->vcpu, name));
		if (r->kind < LOG_ENGINE)
			print_engine(r);
		else
			print_report(r);
	}
	putchar('\n');
}

static bool is_wanted(const struct log_reader *l, const struct log_record *r,
		      const struct arguments *a)
{
	if (r->time < a->from || (a->to >= 0 && r->time >= a->to))
		return false;
	if (!a->vm)
		return true;
	return vcpu_matches(l, r->vcpu, a->vm) || vcpu_matches(l, r->prev, a->vm);
}

static int print_lines(struct log_reader *l, const struct arguments *a)
{
	struct log_record r;
	char error[512];
	int got;

	print_header(l);
	while ((got = log_next(l, &r, error, sizeof(error))) > 0) {
		if (is_wanted(l, &r, a))
			print_record(l, &r);
	}
	if (got < 0) {
		fflush(stdout);
		fprintf(stderr, "%s\n", error);
		return EXIT_USAGE;
	}
	return name_is_known(l, a) ? EXIT_HELD : EXIT_USAGE;
}

/* ------------------------------------------------------------------ summary */

/* Milliseconds with all their ns. */
static void print_ms(int64_t ns)
{
	printf(" %9" PRId64 ".%06" PRId64, ns / 1000000, ns % 1000000);
}

static void print_counts(const struct log_summary *s)
{
	printf("\n%-14s %12s\n", "event", "count");
	for (unsigned kind = 0; kind < LOG_NR_KINDS; kind++) {
		if (s->count[kind])
			printf("%-14s %12" PRIu64 "\n", log_kind_name(kind), s->count[kind]);
	}
}

static void print_delays(const struct log_summary *s)
{
	static const struct {
		const char *name;
		unsigned at;
	} quantiles[] = {{"p50", 5000}, {"p99", 9900}, {"p99.9", 9990}};

	printf("\n%-14s %12" PRIu64 " delays from wake to running, ms\n", "wake", s->wake.count);
	if (!s->wake.count)
		return;
	for (size_t i = 0; i < sizeof(quantiles) / sizeof(*quantiles); i++) {
		printf("  %-12s", quantiles[i].name);
		print_ms(histogram_quantile(&s->wake, quantiles[i].at));
		putchar('\n');
	}
	printf("  %-12s", "max");
	print_ms(s->wake.max);
	putchar('\n');
}

static void print_vcpus(const struct log_reader *l, const struct log_summary *s, const char *vm)
{
	char name[NAME_SIZE];

	printf("\n%-10s %-16s", "vCPU", "VM");
	for (unsigned state = 0; state < HV_NR_RUNSTATES; state++)
		printf(" %16s", state_names[state]);
	printf(" %12s %12s\n", "dispatches", "migrations");
	for (uint32_t i = 1; i <= s->nr_vcpus; i++) {
		const struct log_vcpu_times *v = &s->vcpu[i];
		const char *vm_name = log_domain_name(l, log_vcpu(l, i)->domain);

		if (vm && !vcpu_matches(l, i, vm))
			continue;
		printf("%-10s %-16s", vcpu_name(l, i, name), vm_name ? vm_name : "-");
		for (unsigned state = 0; state < HV_NR_RUNSTATES; state++)
			print_ms(v->state[state]);
		printf(" %12" PRIu64 " %12" PRIu64 "\n", v->dispatches, v->migrations);
	}
}

static void print_pcpus(const struct log_summary *s)
{
	printf("\n%-10s", "pCPU");
	for (unsigned mode = 0; mode < OBSERVE_NR_MODES; mode++)
		printf(" %16s", observe_mode_names[mode]);
	putchar('\n');
	for (unsigned c = 0; c < s->nr_pcpus; c++) {
		char name[16];

		snprintf(name, sizeof(name), "p%u", c);
		printf("%-10s", name);
		for (unsigned mode = 0; mode < OBSERVE_NR_MODES; mode++)
			print_ms(s->pcpu[c].mode[mode]);
		putchar('\n');
	}
}

static int print_summary(struct log_reader *l, const struct arguments *a)
{
	struct log_summary s;
	char error[512];

	if (log_summarize(l, a->from, a->to, &s, error, sizeof(error))) {
		fprintf(stderr, "%s\n", error);
		return EXIT_USAGE;
	}
	if (!name_is_known(l, a)) {
		log_summary_fini(&s);
		return EXIT_USAGE;
	}
	print_header(l);
	printf("# times in ms, from %" PRId64 ".%09" PRId64 " s to %" PRId64 ".%09" PRId64 " s\n",
	       s.from / 1000000000, s.from % 1000000000, s.to / 1000000000, s.to % 1000000000);
	print_counts(&s);
	print_delays(&s);
	print_vcpus(l, &s, a->vm);
	print_pcpus(&s);
	log_summary_fini(&s);
	return EXIT_HELD;
}

/* ------------------------------------------------------------------ arguments */

static hv_time parse_time(struct argp_state *state, const char *option, const char *text)
{
	int64_t ns;

	if (sc_quantity_parse(text, SC_Q_DURATION, &ns) != SC_Q_OK || ns < 0)
		argp_failure(state, EXIT_USAGE, 0, "%s '%s': expected %s", option, text,
			     sc_quantity_expected(SC_Q_DURATION));
	return ns;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'f':
		a->from = parse_time(state, "--from", arg);
		return 0;
	case 't':
		a->to = parse_time(state, "--to", arg);
		return 0;
	case 'v':
		a->vm = arg;
		return 0;
	case 's':
		a->summary = true;
		return 0;
	case ARGP_KEY_ARG:
		if (a->path)
			argp_failure(state, EXIT_USAGE, 0, "'%s': expected one file only", arg);
		a->path = arg;
		return 0;
	case ARGP_KEY_END:
		if (!a->path)
			argp_failure(state, EXIT_USAGE, 0, "expected an event log file");
		if (a->from >= 0 && a->to >= 0 && a->to < a->from)
			argp_failure(state, EXIT_USAGE, 0, "--to is before --from");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int cmd_log(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{"from", 'f', "TIME", 0, "Begin at this time of the run, e.g. 1.5s", 0},
		{"to", 't', "TIME", 0, "End before this time", 0},
		{"vm", 'v', "NAME", 0, "Only this VM or vCPU: a VM's name, dX or dXvY", 0},
		{"summary", 's', NULL, 0,
		 "Counts, wake delays and times; of the measured window unless --from is given", 0},
		{0},
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "FILE",
		.doc = "Print an event log that `hvsched run --log` wrote, one line per event: "
		       "time in s, pCPU, event, vCPU and details.\v"
		       "Exit code: 0 printed, 2 usage or a damaged log, 4 failed I/O.",
	};
	struct arguments a = {.from = -1, .to = -1};
	struct log_reader *l;
	char error[512];
	int code;

	argp_err_exit_status = EXIT_USAGE;
	if (argp_parse(&argp, argc, argv, 0, NULL, &a) != 0)
		return EXIT_USAGE;
	assert(a.path);
	l = log_open(a.path, error, sizeof(error));
	if (!l) {
		fprintf(stderr, "%s\n", error);
		return EXIT_USAGE;
	}
	code = a.summary ? print_summary(l, &a) : print_lines(l, &a);
	log_close(l);
	if (fflush(stdout) || ferror(stdout)) {
		perror("hvsched log: standard output");
		return EXIT_INTERNAL;
	}
	return code;
}
