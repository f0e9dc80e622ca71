/*
 * Reads conformance scripts (format: docs/conformance.md).
 *
 * Two steps. Every line is read by its keyword's reader; pCPU lists need the topology and names
 * need the domains, which may stand further down (boot lines come in any order), so that the
 * readers of commands run in a second pass, in the order of execution: unprefixed lines first, then
 * `at` lines.
 */
#include "conform/script.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conform/words.h"

struct parser {
	struct script *s;
	struct words w;
	unsigned line_capacity;
	bool has_topology, has_ipi, has_end;
	hv_time at; /* of the latest `at` line */
};

/* --- room ------------------------------------------------------------------------------------- */

/* One more element; capacity doubles at powers of two. NULL: out of memory. */
static void *grow(void *array, unsigned nr, size_t size)
{
	assert(size > 0);
	if (nr & (nr - 1))
		return array;
	return realloc(array, (nr ? 2 * (size_t)nr : 1) * size);
}

#define GROW(array, nr)                                           \
	({                                                        \
		void *grown_ = grow(array, nr, sizeof(*(array))); \
		if (grown_)                                       \
			(array) = grown_;                         \
		grown_ != NULL;                                   \
	})

/* --- boot section ----------------------------------------------------------------------------- */

static int read_sched(struct parser *p)
{
	char *name;
	int rc = words_text(&p->w, "the name of a policy", &name);

	if (rc)
		return rc;
	if (p->s->sched)
		return words_fail(&p->w, "a second `sched` line");
	p->s->sched = strdup(name);
	p->s->sched_line = p->w.line;
	return p->s->sched ? 0 : -HV_ENOMEM;
}

const char *const script_gran_names[3] = {"cpu", "core", "socket"};

static int read_gran(struct parser *p, const char *name, enum hv_gran *out)
{
	for (unsigned i = 0; i < 3; i++) {
		if (strcmp(name, script_gran_names[i]) == 0) {
			*out = (enum hv_gran)i;
			return 0;
		}
	}
	return words_fail(&p->w, "expected cpu, core or socket, found '%.80s'", name);
}

static int read_param(struct parser *p)
{
	char *name, *value;
	struct script_param *param;

	if (words_text(&p->w, "the name of a boot parameter", &name) ||
	    words_text(&p->w, "the value of the boot parameter", &value))
		return -HV_EINVAL;
	if (strcmp(name, "sched-gran") == 0) {
		p->s->format = 2;
		if (read_gran(p, value, &p->s->gran))
			return -HV_EINVAL;
	}
	if (!GROW(p->s->param, p->s->nr_params))
		return -HV_ENOMEM;
	param = &p->s->param[p->s->nr_params++];
	param->number = p->w.line;
	param->name = strdup(name);
	param->value = strdup(value);
	return param->name && param->value ? 0 : -HV_ENOMEM;
}

static int read_topology(struct parser *p)
{
	struct script *s = p->s;

	if (p->has_topology)
		return words_fail(&p->w, "a second `topology` line");
	if (words_unsigned(&p->w, "the number of sockets", 1, HV_MAX_PCPUS, &s->sockets) ||
	    words_unsigned(&p->w, "cores per socket", 1, HV_MAX_PCPUS, &s->cores) ||
	    words_unsigned(&p->w, "threads per core", 1, HV_MAX_PCPUS, &s->threads))
		return -HV_EINVAL;
	s->nodes = s->sockets;
	if (words_take(&p->w, "nodes") &&
	    words_unsigned(&p->w, "the number of nodes", 1, HV_MAX_PCPUS, &s->nodes))
		return -HV_EINVAL;
	/* Each factor is at most 2^10: the product fits. */
	s->nr_pcpus = s->sockets * s->cores * s->threads;
	if (s->nr_pcpus > HV_MAX_PCPUS)
		return words_fail(&p->w, "%u pCPUs, expected at most %d", s->nr_pcpus,
				  HV_MAX_PCPUS);
	p->has_topology = true;
	return 0;
}

static int read_ipi(struct parser *p)
{
	if (p->has_ipi)
		return words_fail(&p->w, "a second `ipi` line");
	p->has_ipi = true;
	return words_time(&p->w, "a latency in ns", 0, &p->s->ipi);
}

static int read_run_until(struct parser *p)
{
	if (p->has_end)
		return words_fail(&p->w, "a second `run-until` line");
	p->has_end = true;
	return words_time(&p->w, "a time in ns", 0, &p->s->end);
}

/* --- commands --------------------------------------------------------------------------------- */

static int find_domain(struct parser *p, int id, unsigned *out)
{
	for (unsigned i = 0; i < p->s->nr_domains; i++) {
		if (p->s->domain[i].id == id) {
			*out = i;
			return 0;
		}
	}
	return words_fail(&p->w, "domain %d does not exist here", id);
}

/* DOM.VCPU of a domain that an earlier line created. */
static int read_vcpu(struct parser *p, struct script_line *l)
{
	const struct script_domain *d;
	unsigned vcpu;
	int id;

	if (words_vcpu(&p->w, &id, &vcpu) || find_domain(p, id, &l->domain))
		return -HV_EINVAL;
	d = &p->s->domain[l->domain];
	if (vcpu >= d->vcpus)
		return words_fail(&p->w, "domain %d has vCPUs 0-%u, no vCPU %u", id, d->vcpus - 1,
				  vcpu);
	l->vcpu = d->first + vcpu;
	return 0;
}

/* Options of a `domain` line: weight and cap, or handle and control. */
static int read_domain_options(struct parser *p, struct script_line *l)
{
	struct words *w = &p->w;
	bool arinc = strcmp(p->s->sched, "arinc653") == 0;

	while (words_peek(w)) {
		unsigned handle;

		if (words_take(w, "weight")) {
			l->create.has_weight = true;
			if (words_unsigned(w, "a weight", 0, UINT16_MAX, &l->create.weight))
				return -HV_EINVAL;
		} else if (words_take(w, "cap")) {
			l->create.has_cap = true;
			if (words_unsigned(w, "a cap in per cent", 0, UINT16_MAX, &l->create.cap))
				return -HV_EINVAL;
		} else if (words_take(w, "pool")) {
			p->s->format = 2;
			if (words_unsigned(w, "a pool id", 0, SCRIPT_MAX_POOL, &l->create.pool))
				return -HV_EINVAL;
		} else if (arinc && words_take(w, "handle")) {
			l->create.has_handle = true;
			if (words_unsigned(w, "the id of a domain", 0, SCRIPT_MAX_DOMID, &handle))
				return -HV_EINVAL;
			l->create.handle = (int)handle;
		} else if (arinc && words_take(w, "control")) {
			l->create.control = true;
		} else {
			return words_fail(w, "expected %s, found '%.80s'",
					  arinc ? "weight, cap, pool, handle or control"
						: "weight, cap or pool",
					  words_peek(w));
		}
	}
	return 0;
}

static int read_domain(struct parser *p, struct script_line *l)
{
	struct script *s = p->s;
	struct script_domain *d;
	unsigned id, vcpus;

	if (words_unsigned(&p->w, "a domain id", 0, SCRIPT_MAX_DOMID, &id))
		return -HV_EINVAL;
	for (unsigned i = 0; i < s->nr_domains; i++) {
		if (s->domain[i].id == (int)id)
			return words_fail(&p->w, "domain %u exists already", id);
	}
	if (!words_take(&p->w, "vcpus"))
		return words_fail(&p->w, "expected `vcpus N`, found '%.80s'",
				  words_peek(&p->w) ? words_peek(&p->w) : "end of line");
	if (words_unsigned(&p->w, "the number of vCPUs", 1, HV_MAX_VCPUS, &vcpus))
		return -HV_EINVAL;
	if (s->nr_vcpus + vcpus > SCRIPT_MAX_VCPUS)
		return words_fail(&p->w, "more than %u vCPUs in one script", SCRIPT_MAX_VCPUS);
	if (!GROW(s->domain, s->nr_domains))
		return -HV_ENOMEM;
	l->domain = s->nr_domains;
	l->vcpu = s->nr_vcpus;
	d = &s->domain[s->nr_domains++];
	d->id = (int)id;
	d->first = s->nr_vcpus;
	d->vcpus = vcpus;
	s->nr_vcpus += vcpus;
	return read_domain_options(p, l);
}

static int read_behave(struct parser *p, struct script_line *l)
{
	struct words *w = &p->w;
	struct script_behaviour *b = &l->behaviour;
	/* A mean of M gives up to 2 * M - 1. */
	uint64_t most = SCRIPT_MAX_TIME / 2;
	uint64_t run = 0, sleep = 0;

	if (read_vcpu(p, l))
		return -HV_EINVAL;
	if (words_take(w, "busy")) {
		b->kind = BEHAVE_BUSY;
		return 0;
	}
	if (words_take(w, "yielder")) {
		b->kind = BEHAVE_YIELDER;
		if (words_number(w, "CPU time in ns", 1, most, &run))
			return -HV_EINVAL;
	} else if (words_take(w, "periodic")) {
		b->kind = BEHAVE_PERIODIC;
		if (words_number(w, "CPU time in ns", 1, most, &run) ||
		    words_number(w, "sleep time in ns", 1, most, &sleep))
			return -HV_EINVAL;
	} else if (words_take(w, "random")) {
		b->kind = BEHAVE_RANDOM;
		if (words_number(w, "a seed", 0, UINT64_MAX, &b->seed) ||
		    words_number(w, "mean CPU time in ns", 1, most, &run) ||
		    words_number(w, "mean sleep time in ns", 1, most, &sleep))
			return -HV_EINVAL;
	} else {
		return words_fail(w, "expected busy, periodic, random or yielder, found '%.80s'",
				  words_peek(w) ? words_peek(w) : "end of line");
	}
	b->run = (hv_time)run;
	b->sleep = (hv_time)sleep;
	return 0;
}

/* DOM VALUE */
static int read_domain_value(struct parser *p, struct script_line *l, const char *what)
{
	unsigned id;

	if (words_unsigned(&p->w, "a domain id", 0, SCRIPT_MAX_DOMID, &id) ||
	    find_domain(p, (int)id, &l->domain))
		return -HV_EINVAL;
	return words_unsigned(&p->w, what, 0, UINT16_MAX, &l->value);
}

static int read_weight(struct parser *p, struct script_line *l)
{
	return read_domain_value(p, l, "a weight");
}

static int read_cap(struct parser *p, struct script_line *l)
{
	return read_domain_value(p, l, "a cap in per cent");
}

static int read_affinity(struct parser *p, struct script_line *l)
{
	if (read_vcpu(p, l))
		return -HV_EINVAL;
	return words_pcpus(&p->w, p->s->nr_pcpus, &l->pcpus);
}

static int read_rtds(struct parser *p, struct script_line *l)
{
	uint64_t period, budget;
	unsigned extra;

	if (read_vcpu(p, l) || words_number(&p->w, "a period in us", 0, UINT32_MAX, &period) ||
	    words_number(&p->w, "a budget in us", 0, UINT32_MAX, &budget) ||
	    words_unsigned(&p->w, "extra time", 0, 1, &extra))
		return -HV_EINVAL;
	l->rtds.period_us = (int64_t)period;
	l->rtds.budget_us = (int64_t)budget;
	l->rtds.extra = extra;
	return 0;
}

static int read_ratelimit(struct parser *p, struct script_line *l)
{
	if (words_unsigned(&p->w, "a rate limit in us", 0, INT32_MAX, &l->value))
		return -HV_EINVAL;
	if (!words_take(&p->w, "pool"))
		return 0;
	p->s->format = 2;
	return words_unsigned(&p->w, "a pool id", 0, SCRIPT_MAX_POOL, &l->of_pool);
}

static int read_pool(struct parser *p, struct script_line *l)
{
	p->s->format = 2;
	return words_unsigned(&p->w, "a pool id", 0, SCRIPT_MAX_POOL, &l->pool.id);
}

static int read_pcpu(struct parser *p, struct script_line *l)
{
	return words_unsigned(&p->w, "a pCPU", 0, HV_MAX_PCPUS - 1, &l->pool.pcpu);
}

static int read_pool_create(struct parser *p, struct script_line *l)
{
	char *sched, *gran;

	if (read_pool(p, l) || words_text(&p->w, "the name of a policy", &sched))
		return -HV_EINVAL;
	l->pool.gran = p->s->gran;
	l->pool.sched = strdup(sched);
	if (!l->pool.sched)
		return -HV_ENOMEM;
	if (!words_take(&p->w, "gran"))
		return 0;
	return words_text(&p->w, "cpu, core or socket", &gran) || read_gran(p, gran, &l->pool.gran)
		       ? -HV_EINVAL
		       : 0;
}

static int read_pool_gran(struct parser *p, struct script_line *l)
{
	char *gran;

	return read_pool(p, l) || words_text(&p->w, "cpu, core or socket", &gran) ||
			       read_gran(p, gran, &l->pool.gran)
		       ? -HV_EINVAL
		       : 0;
}

/* POOL CPU; a pCPU that the machine has not is for `offline` and `online` only. */
static int read_pool_pcpu(struct parser *p, struct script_line *l)
{
	if (read_pool(p, l) || read_pcpu(p, l))
		return -HV_EINVAL;
	if (l->pool.pcpu >= p->s->nr_pcpus)
		return words_fail(&p->w, "the machine has pCPUs 0-%u, no pCPU %u",
				  p->s->nr_pcpus - 1, l->pool.pcpu);
	return 0;
}

static int read_pool_move(struct parser *p, struct script_line *l)
{
	unsigned id;

	if (words_unsigned(&p->w, "a domain id", 0, SCRIPT_MAX_DOMID, &id) ||
	    find_domain(p, (int)id, &l->domain))
		return -HV_EINVAL;
	return read_pool(p, l);
}

static int read_hotplug(struct parser *p, struct script_line *l)
{
	p->s->format = 2;
	return read_pcpu(p, l);
}

static int read_arinc(struct parser *p, struct script_line *l)
{
	unsigned nr = p->w.nr - p->w.at;

	if (words_number(&p->w, "a major frame in ns", 0, UINT64_MAX, &l->arinc.major))
		return -HV_EINVAL;
	l->arinc.window = calloc(nr, sizeof(*l->arinc.window));
	if (!l->arinc.window)
		return -HV_ENOMEM;
	while (words_peek(&p->w)) {
		assert(l->arinc.nr_windows < nr);
		if (words_window(&p->w, &l->arinc.window[l->arinc.nr_windows++]))
			return -HV_EINVAL;
	}
	return 0;
}

static int read_nothing(struct parser *p, struct script_line *l)
{
	(void)p;
	(void)l;
	return 0;
}

/* --- lines ------------------------------------------------------------------------------------ */

static const struct {
	const char *word;
	int (*read)(struct parser *p);
} boot_lines[] = {
	{"sched", read_sched}, {"param", read_param},	      {"topology", read_topology},
	{"ipi", read_ipi},     {"run-until", read_run_until},
};

static const struct {
	const char *word;
	enum script_op op;
	int (*read)(struct parser *p, struct script_line *l);
	const char *sched; /* the policy that knows the command, NULL = all */
} commands[] = {
	{"domain", SCRIPT_DOMAIN, read_domain, NULL},
	{"behave", SCRIPT_BEHAVE, read_behave, NULL},
	{"wake", SCRIPT_WAKE, read_vcpu, NULL},
	{"block", SCRIPT_BLOCK, read_vcpu, NULL},
	{"yield", SCRIPT_YIELD, read_vcpu, NULL},
	{"pause", SCRIPT_PAUSE, read_vcpu, NULL},
	{"unpause", SCRIPT_UNPAUSE, read_vcpu, NULL},
	{"down", SCRIPT_DOWN, read_vcpu, NULL},
	{"weight", SCRIPT_WEIGHT, read_weight, NULL},
	{"cap", SCRIPT_CAP, read_cap, NULL},
	{"hard", SCRIPT_HARD, read_affinity, NULL},
	{"soft", SCRIPT_SOFT, read_affinity, NULL},
	{"rtds", SCRIPT_RTDS, read_rtds, "rtds"},
	{"ratelimit", SCRIPT_RATELIMIT, read_ratelimit, NULL},
	{"arinc", SCRIPT_ARINC, read_arinc, "arinc653"},
	{"arinc-get", SCRIPT_ARINC_GET, read_nothing, "arinc653"},
	{"pool-create", SCRIPT_POOL_CREATE, read_pool_create, NULL},
	{"pool-gran", SCRIPT_POOL_GRAN, read_pool_gran, NULL},
	{"pool-destroy", SCRIPT_POOL_DESTROY, read_pool, NULL},
	{"pool-add", SCRIPT_POOL_ADD, read_pool_pcpu, NULL},
	{"pool-remove", SCRIPT_POOL_REMOVE, read_pool_pcpu, NULL},
	{"pool-move", SCRIPT_POOL_MOVE, read_pool_move, NULL},
	{"offline", SCRIPT_OFFLINE, read_hotplug, NULL},
	{"online", SCRIPT_ONLINE, read_hotplug, NULL},
};

#define NR_BOOT_LINES (sizeof(boot_lines) / sizeof(boot_lines[0]))
#define NR_COMMANDS   (sizeof(commands) / sizeof(commands[0]))

/* The prefix `at TIME`, if the line has one. */
static int read_prefix(struct parser *p, bool *timed, hv_time *at)
{
	*timed = words_take(&p->w, "at");
	*at = 0;
	return *timed ? words_time(&p->w, "a time in ns", 0, at) : 0;
}

/* First pass: boot lines are done; a line with a command is counted only. */
static int first_pass(struct parser *p, bool *is_command)
{
	bool timed;
	hv_time at;
	char *word;
	int rc;

	*is_command = false;
	if (!p->w.nr)
		return 0;
	if (read_prefix(p, &timed, &at) || words_text(&p->w, "a command", &word))
		return -HV_EINVAL;
	for (unsigned i = 0; i < NR_BOOT_LINES; i++) {
		if (strcmp(word, boot_lines[i].word) != 0)
			continue;
		if (timed)
			return words_fail(&p->w,
					  "`%s` belongs to the boot section and takes no "
					  "time",
					  word);
		rc = boot_lines[i].read(p);
		return rc ? rc : words_end(&p->w);
	}
	for (unsigned i = 0; i < NR_COMMANDS; i++) {
		if (strcmp(word, commands[i].word) != 0)
			continue;
		if (timed && at < p->at)
			return words_fail(&p->w,
					  "times of `at` lines must ascend, %lld ns comes "
					  "after %lld ns",
					  (long long)at, (long long)p->at);
		if (timed)
			p->at = at;
		p->s->many_pools |= commands[i].op == SCRIPT_POOL_CREATE;
		*is_command = true;
		return 0;
	}
	return words_fail(&p->w, "expected a boot line or a command, found '%.80s'", word);
}

/* Second pass over the commands, once for the unprefixed lines and once for the `at` lines. */
static int second_pass(struct parser *p, bool want_timed)
{
	struct script_line *l;
	bool timed, other_pool;
	hv_time at;
	char *word;
	unsigned i = 0;
	int rc;

	if (!p->w.nr)
		return 0;
	if (read_prefix(p, &timed, &at) || words_text(&p->w, "a command", &word))
		return -HV_EINVAL;
	while (i < NR_COMMANDS && strcmp(word, commands[i].word) != 0)
		i++;
	if (i == NR_COMMANDS || timed != want_timed)
		return 0;
	/* rtds lines name a vCPU, whose pool may have that policy; tables are pool 0's. */
	other_pool = commands[i].op == SCRIPT_RTDS && p->s->many_pools;
	if (commands[i].sched && !other_pool && strcmp(commands[i].sched, p->s->sched) != 0)
		return words_fail(&p->w, "`%s` needs `sched %s`", word, commands[i].sched);
	assert(p->s->nr_lines < p->line_capacity);
	l = &p->s->line[p->s->nr_lines++];
	l->at = at;
	l->timed = timed;
	l->number = p->w.line;
	l->op = commands[i].op;
	rc = commands[i].read(p, l);
	return rc ? rc : words_end(&p->w);
}

enum pass { PASS_BOOT, PASS_UNPREFIXED, PASS_TIMED };

/* Runs one pass over all lines of the text; *last is the number of the last line. */
static int run_pass(struct parser *p, const char *text, size_t len, enum pass pass, unsigned *last)
{
	char *copy = malloc(len + 1);
	char *line = copy;
	unsigned number = 0;
	int rc = 0;

	if (!copy)
		return -HV_ENOMEM;
	memcpy(copy, text, len);
	copy[len] = '\0';
	while (!rc && line < copy + len) {
		char *end = strchr(line, '\n');
		bool is_command = false;

		if (end)
			*end = '\0';
		rc = words_split(&p->w, line, ++number);
		if (!rc && pass == PASS_BOOT) {
			rc = first_pass(p, &is_command);
			p->line_capacity += is_command;
		} else if (!rc) {
			rc = second_pass(p, pass == PASS_TIMED);
		}
		line = end ? end + 1 : copy + len;
	}
	free(copy);
	*last = number;
	return rc;
}

/* What a script must have. */
static int check_complete(struct parser *p, unsigned last)
{
	const char *missing = !p->s->sched	 ? "sched NAME"
			      : !p->has_topology ? "topology S C T"
			      : !p->has_end	 ? "run-until T"
						 : NULL;

	if (!missing)
		return 0;
	p->w.line = last;
	return words_fail(&p->w, "the script ends here without a line `%s`: is it truncated?",
			  missing);
}

int script_parse(const char *text, size_t len, struct script *s, struct script_error *err)
{
	struct parser p = {.s = s, .w = {.err = err}};
	unsigned last = 0;
	int rc = 0;

	memset(s, 0, sizeof(*s));
	memset(err, 0, sizeof(*err));
	s->format = 1;
	if (memchr(text, '\0', len)) {
		snprintf(err->text, sizeof(err->text), "not a script: it contains a zero byte");
		return -HV_EINVAL;
	}
	rc = run_pass(&p, text, len, PASS_BOOT, &last);
	if (!rc)
		rc = check_complete(&p, last);
	if (!rc && p.line_capacity) {
		s->line = calloc(p.line_capacity, sizeof(*s->line));
		if (!s->line)
			rc = -HV_ENOMEM;
	}
	if (!rc)
		rc = run_pass(&p, text, len, PASS_UNPREFIXED, &last);
	if (!rc)
		rc = run_pass(&p, text, len, PASS_TIMED, &last);
	assert(rc || s->nr_lines == p.line_capacity);
	words_free(&p.w);
	if (rc == -HV_ENOMEM)
		snprintf(err->text, sizeof(err->text), "out of memory");
	return rc;
}

int script_load(const char *path, struct script *s, struct script_error *err)
{
	FILE *file = fopen(path, "r");
	char *text = NULL;
	size_t len = 0;
	int rc = 0;

	memset(s, 0, sizeof(*s));
	memset(err, 0, sizeof(*err));
	if (!file) {
		snprintf(err->text, sizeof(err->text), "cannot be opened: %s", strerror(errno));
		return -errno;
	}
	for (;;) {
		char *grown = realloc(text, len + 65536);

		if (!grown) {
			rc = -HV_ENOMEM;
			break;
		}
		text = grown;
		size_t got = fread(text + len, 1, 65536, file);

		len += got;
		if (got == 0)
			break;
	}
	if (ferror(file)) {
		rc = errno ? -errno : -HV_EINVAL;
		snprintf(err->text, sizeof(err->text), "cannot be read: %s", strerror(-rc));
	}
	fclose(file);
	if (!rc)
		rc = script_parse(text, len, s, err);
	free(text);
	return rc;
}

void script_free(struct script *s)
{
	for (unsigned i = 0; i < s->nr_params; i++) {
		free(s->param[i].name);
		free(s->param[i].value);
	}
	for (unsigned i = 0; i < s->nr_lines; i++) {
		if (s->line[i].op == SCRIPT_ARINC)
			free(s->line[i].arinc.window);
		if (s->line[i].op == SCRIPT_POOL_CREATE)
			free(s->line[i].pool.sched);
	}
	free(s->sched);
	free(s->param);
	free(s->domain);
	free(s->line);
	memset(s, 0, sizeof(*s));
}
