/*
 * The Xen command line: words separated by blanks, each "name", "no-name" or "name=value"; a later
 * word replaces an earlier one.
 *
 * Law: what Xen corrects with a warning is corrected here in the same way, with a warning; text
 * that it could not read is an error (Xen would go on with its default, which nobody asked for). A
 * parameter of Xen that has no effect on scheduling is accepted with a warning; one that Xen does
 * not know is an error. Ours are: credit_tickle, sched=round-robin.
 * source: credit2 section 1, credit section 2, core-scheduling section 7.3.
 */
#include "scenario/cmdline.h"

#include <assert.h>
#include <ctype.h>
#include <limits.h>
#include <string.h>

#include "scenario/fields.h"

#define RATELIMIT_MIN 100
#define RATELIMIT_MAX 500000

struct word {
	struct sc_parse *p;
	struct sc_mark mark;
	const char *name;
	const char *value; /* NULL: none was given */
	bool negated;	   /* "no-name" */
};

typedef bool (*reader)(const struct word *w, struct sc_xen *xen);

static bool wrong(const struct word *w, const char *expected)
{
	if (w->value)
		sc_error(w->p, &w->mark, "%s: found '%s', expected %s", w->name, w->value,
			 expected);
	else
		sc_error(w->p, &w->mark, "%s has no value, expected %s", w->name, expected);
	return false;
}

/* Decimal or 0x... within min..max, perhaps negative. */
static bool read_int(const struct word *w, const char *text, int64_t min, int64_t max, int64_t *out)
{
	bool negative = text && *text == '-';
	unsigned int base = 10, digit;
	int64_t value = 0;

	if (!text)
		return false;
	text += negative;
	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
		base = 16;
		text += 2;
	}
	if (!*text)
		return false;
	for (; *text; text++) {
		if (!isxdigit((unsigned char)*text))
			return false;
		digit = isdigit((unsigned char)*text)
				? (unsigned int)(*text - '0')
				: (unsigned int)(tolower((unsigned char)*text) - 'a') + 10;
		if (digit >= base || value > INT64_MAX / 32)
			return false;
		value = value * base + digit;
	}
	if (negative)
		value = -value;
	assert(w->p);
	if (value < min || value > max)
		return false;
	*out = value;
	return true;
}

static bool read_bool(const struct word *w, bool *out)
{
	int value = w->value ? sc_bool_word(w->value) : 1;

	if (value < 0 || (w->negated && w->value))
		return wrong(w, "a boolean such as 0, 1, on, off");
	*out = (value != 0) != w->negated;
	return true;
}

static bool read_uint(const struct word *w, unsigned int min, unsigned int max, unsigned int *out)
{
	int64_t value;

	if (!read_int(w, w->value, min, max, &value))
		return wrong(w, sc_format(w->p->arena, "a whole number %u..%u", min, max));
	*out = (unsigned int)value;
	return true;
}

/* --- One reader per parameter ----------------------------------------------------------------- */

static const char *const sched_names[] = {"credit2",  "credit", "rtds",
					  "arinc653", "null",	"round-robin"};
/* By enum hv_gran. */
static const char *const gran_names[] = {"cpu", "core", "socket"};
static const char *const runqueue_names[] = {"cpu", "core", "socket", "node", "all"};
static const char *const tickle_names[] = {"head", "head-fixed", "head-without", "with-2012",
					   "without-2012"};

static int index_of(const char *text, const char *const *words, unsigned int n)
{
	for (unsigned int i = 0; text && i < n; i++) {
		if (strcmp(text, words[i]) == 0)
			return (int)i;
	}
	return -1;
}

static bool read_sched(const struct word *w, struct sc_xen *xen)
{
	int found = index_of(w->value, sched_names, SC_NR_SCHEDS);

	if (found >= 0) {
		xen->sched = (enum sc_sched)found;
		return true;
	}
	return wrong(w, "credit2, credit, rtds, arinc653, null or round-robin");
}

static bool read_gran(const struct word *w, struct sc_xen *xen)
{
	int found = index_of(w->value, gran_names, 3);

	if (found < 0)
		return wrong(w, "cpu, core or socket");
	xen->gran = (enum hv_gran)found;
	return true;
}

static bool read_runqueue(const struct word *w, struct sc_xen *xen)
{
	int found = index_of(w->value, runqueue_names, 5);

	if (found < 0)
		return wrong(w, "cpu, core, socket, node or all");
	xen->runqueue = (enum sc_runqueue)found;
	return true;
}

static bool read_max_cpus(const struct word *w, struct sc_xen *xen)
{
	return read_uint(w, 1, UINT_MAX, &xen->max_cpus_runqueue);
}

static bool read_resist(const struct word *w, struct sc_xen *xen)
{
	return read_uint(w, 0, INT_MAX / 1000, &xen->migrate_resist_us);
}

/* Below 4 it becomes 4; beyond 40 the load of one unit leaves too little room for a runqueue's. */
static bool read_precision(const struct word *w, struct sc_xen *xen)
{
	if (!read_uint(w, 0, 40, &xen->load_precision_shift))
		return false;
	if (xen->load_precision_shift < 4) {
		sc_warning(w->p, &w->mark, "%s: %s is too small, 4 is used, as Xen does", w->name,
			   w->value);
		xen->load_precision_shift = 4;
	}
	return true;
}

/* 10 or less becomes 30; beyond 50 (13 days) sums over the window leave 64 bits. */
static bool read_window(const struct word *w, struct sc_xen *xen)
{
	if (!read_uint(w, 0, 50, &xen->load_window_shift))
		return false;
	if (xen->load_window_shift <= 10) {
		sc_warning(w->p, &w->mark, "%s: %s is too small, 30 is used, as Xen does", w->name,
			   w->value);
		xen->load_window_shift = 30;
	}
	return true;
}

static bool read_balance(const struct word *w, int *out)
{
	int64_t value;

	if (!read_int(w, w->value, -62, 62, &value))
		return wrong(w, "a whole number -62..62");
	*out = (int)value;
	return true;
}

static bool read_under(const struct word *w, struct sc_xen *xen)
{
	return read_balance(w, &xen->balance_under);
}

static bool read_over(const struct word *w, struct sc_xen *xen)
{
	return read_balance(w, &xen->balance_over);
}

static bool read_cap_period(const struct word *w, struct sc_xen *xen)
{
	if (!read_uint(w, 0, 1000000, &xen->cap_period_ms))
		return false;
	if (xen->cap_period_ms == 0) {
		sc_warning(w->p, &w->mark, "%s: 0 is too small, 10 is used, as Xen does", w->name);
		xen->cap_period_ms = 10;
	}
	return true;
}

static bool read_ratelimit(const struct word *w, struct sc_xen *xen)
{
	unsigned int value;

	if (!read_uint(w, 0, INT_MAX, &value))
		return false;
	if (value && (value < RATELIMIT_MIN || value > RATELIMIT_MAX)) {
		sc_warning(w->p, &w->mark,
			   "%s: %u is out of range (0 or %d..%d), 1000 is used, as Xen does",
			   w->name, value, RATELIMIT_MIN, RATELIMIT_MAX);
		value = 1000;
	}
	xen->ratelimit_us = value;
	return true;
}

/* Beyond min..max it becomes `instead`. */
static bool read_bounded(const struct word *w, unsigned int min, unsigned int max,
			 unsigned int instead, unsigned int *out)
{
	unsigned int value;

	if (!read_uint(w, 0, UINT_MAX, &value))
		return false;
	if (value < min || value > max) {
		sc_warning(w->p, &w->mark,
			   "%s: %u is out of range (%u..%u), %u is used, as Xen does", w->name,
			   value, min, max, instead);
		value = instead;
	}
	*out = value;
	return true;
}

static bool read_tslice(const struct word *w, struct sc_xen *xen)
{
	return read_bounded(w, 1, 1000, 30, &xen->tslice_ms);
}

static bool read_migration_delay(const struct word *w, struct sc_xen *xen)
{
	return read_bounded(w, 0, 100000, 0, &xen->migration_delay_us);
}

static bool read_balance_ratelimit(const struct word *w, struct sc_xen *xen)
{
	return read_bounded(w, 0, 1000000, 1000000, &xen->balance_ratelimit_us);
}

static bool read_tickle_one(const struct word *w, struct sc_xen *xen)
{
	return read_bool(w, &xen->tickle_one_idle_cpu);
}

static bool read_tickle(const struct word *w, struct sc_xen *xen)
{
	int found = index_of(w->value, tickle_names, 5);

	if (found < 0)
		return wrong(w, "head, head-fixed, head-without, with-2012 or without-2012");
	xen->tickle = (enum sc_tickle)found;
	return true;
}

static bool read_power(const struct word *w, struct sc_xen *xen)
{
	return read_bool(w, &xen->smt_power_savings);
}

static bool read_smt(const struct word *w, struct sc_xen *xen)
{
	return read_bool(w, &xen->smt);
}

static bool read_maxcpus(const struct word *w, struct sc_xen *xen)
{
	return read_uint(w, 1, INT_MAX, &xen->maxcpus);
}

static bool read_nosmp(const struct word *w, struct sc_xen *xen)
{
	bool on;

	if (!read_bool(w, &on))
		return false;
	if (on)
		xen->maxcpus = 1;
	return true;
}

/* N, MIN-MAX, MIN- or -MAX. */
static bool read_dom0_vcpus(const struct word *w, struct sc_xen *xen)
{
	static const char expected[] = "N, MIN-MAX, MIN- or -MAX with numbers 0..4096";
	const char *dash = w->value ? strchr(w->value, '-') : NULL;
	int64_t min = 0, max = UINT_MAX;

	if (!dash) {
		if (!read_int(w, w->value, 0, SC_MAX_VCPUS, &min))
			return wrong(w, expected);
		max = min;
	} else {
		const char *low = sc_strndup(w->p->arena, w->value, (size_t)(dash - w->value));

		if (*low && !read_int(w, low, 0, SC_MAX_VCPUS, &min))
			return wrong(w, expected);
		if (dash[1] && !read_int(w, dash + 1, 0, SC_MAX_VCPUS, &max))
			return wrong(w, expected);
		if ((!*low && !dash[1]) || min > max)
			return wrong(w, expected);
	}
	xen->dom0_min_vcpus = (unsigned int)min;
	xen->dom0_max_vcpus = (unsigned int)max;
	return true;
}

static bool read_dom0_pin(const struct word *w, struct sc_xen *xen)
{
	return read_bool(w, &xen->dom0_vcpus_pin);
}

static bool read_dom0_nodes(const struct word *w, struct sc_xen *xen)
{
	static const char expected[] = "node numbers 0..63, strict or relaxed, separated by commas";
	const char *s = w->value;
	uint64_t nodes = 0;
	bool relaxed = false;
	int64_t node;

	if (!s || !*s)
		return wrong(w, expected);
	for (;; s++) {
		size_t len = strcspn(s, ",");
		const char *item = sc_strndup(w->p->arena, s, len);

		if (strcmp(item, "relaxed") == 0)
			relaxed = true;
		else if (strcmp(item, "strict") == 0)
			relaxed = false;
		else if (read_int(w, item, 0, SC_MAX_NODES - 1, &node))
			nodes |= 1ULL << node;
		else
			return wrong(w, expected);
		s += len;
		if (!*s)
			break;
	}
	xen->dom0_nodes = nodes;
	xen->dom0_nodes_set = nodes != 0;
	xen->dom0_nodes_relaxed = relaxed;
	return true;
}

/* Parameters of schedulers that are not in use: known, without effect. */
static bool read_other(const struct word *w, struct sc_xen *xen)
{
	(void)xen;
	sc_warning(w->p, &w->mark, "%s has no effect here", w->name);
	return true;
}

/* --- The table -------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	reader read;
	bool boolean; /* may stand alone, and as no-name */
} params[] = {
	{"sched", read_sched, false},
	{"sched-gran", read_gran, false},
	{"credit2_runqueue", read_runqueue, false},
	{"sched_credit2_max_cpus_runqueue", read_max_cpus, false},
	{"sched_credit2_migrate_resist", read_resist, false},
	{"credit2_load_precision_shift", read_precision, false},
	{"credit2_load_window_shift", read_window, false},
	{"credit2_balance_under", read_under, false},
	{"credit2_balance_over", read_over, false},
	{"credit2_cap_period_ms", read_cap_period, false},
	{"sched_ratelimit_us", read_ratelimit, false},
	{"sched_credit_tslice_ms", read_tslice, false},
	{"vcpu_migration_delay", read_migration_delay, false},
	{"load-balance-ratelimit", read_balance_ratelimit, false},
	{"tickle_one_idle_cpu", read_tickle_one, true},
	{"credit_tickle", read_tickle, false},
	{"sched_smt_power_savings", read_power, true},
	{"smt", read_smt, true},
	{"maxcpus", read_maxcpus, false},
	{"nosmp", read_nosmp, true},
	{"dom0_max_vcpus", read_dom0_vcpus, false},
	{"dom0_vcpus_pin", read_dom0_pin, true},
	{"dom0_nodes", read_dom0_nodes, false},
	{"rcu-idle-timer-period-ms", read_other, false},
	{"dom0_mem", read_other, false},
	{"console", read_other, false},
	{"com1", read_other, false},
	{"vga", read_other, false},
	{"loglvl", read_other, false},
	{"guest_loglvl", read_other, false},
	{"ucode", read_other, false},
	{"iommu", read_other, false},
	{"watchdog", read_other, true},
	{"crashkernel", read_other, false},
	{"noreboot", read_other, true},
};

#define N_PARAMS (sizeof(params) / sizeof(params[0]))

static bool unknown(const struct word *w)
{
	const char *names[N_PARAMS], *close;

	for (size_t i = 0; i < N_PARAMS; i++)
		names[i] = params[i].name;
	close = sc_closest(w->name, names, N_PARAMS);
	if (close)
		sc_error(w->p, &w->mark, "unknown Xen parameter '%s'; did you mean '%s'?", w->name,
			 close);
	else
		sc_error(w->p, &w->mark, "unknown Xen parameter '%s'", w->name);
	return false;
}

static bool read_word(struct word *w, struct sc_xen *xen)
{
	for (size_t i = 0; i < N_PARAMS; i++) {
		if (strcmp(w->name, params[i].name) == 0)
			return params[i].read(w, xen);
		if (params[i].boolean && strncmp(w->name, "no-", 3) == 0 &&
		    strcmp(w->name + 3, params[i].name) == 0) {
			w->negated = true;
			return params[i].read(w, xen);
		}
	}
	return unknown(w);
}

static const char *name_part(const char *word, size_t len)
{
	const char *equal = memchr(word, '=', len);

	return equal ? equal : word + len;
}

/* The effective text: words of `old` whose name is not in `line`, then `line`. */
static const char *merge(struct sc_parse *p, const char *old, const char *line)
{
	const char *text = "", *s = old, *t;
	size_t len, name, len2;
	bool replaced;

	for (;; s += len) {
		s += strspn(s, " \t\n");
		len = strcspn(s, " \t\n");
		if (!len)
			break;
		name = (size_t)(name_part(s, len) - s);
		replaced = false;
		for (t = line;; t += len2) {
			t += strspn(t, " \t\n");
			len2 = strcspn(t, " \t\n");
			if (!len2)
				break;
			replaced |= (size_t)(name_part(t, len2) - t) == name &&
				    strncmp(s, t, name) == 0;
		}
		if (!replaced)
			text = sc_format(p->arena, "%s%.*s ", text, (int)len, s);
	}
	line += strspn(line, " \t\n");
	return sc_format(p->arena, "%s%s", text, line);
}

void sc_cmdline_default(struct sc_xen *xen)
{
	*xen = (struct sc_xen){
		.cmdline = "",
		.sched = SC_SCHED_CREDIT2,
		.runqueue = SC_RUNQ_SOCKET,
		.max_cpus_runqueue = 16,
		.migrate_resist_us = 500,
		.load_precision_shift = 18,
		.load_window_shift = 30,
		.balance_under = 0,
		.balance_over = -3,
		.cap_period_ms = 10,
		.ratelimit_us = 1000,
		.tslice_ms = 30,
		.balance_ratelimit_us = 1000,
		.tickle_one_idle_cpu = true,
		.tickle = SC_TICKLE_HEAD,
		.smt = true,
		.dom0_max_vcpus = UINT_MAX,
	};
}

bool sc_cmdline_read(struct sc_parse *p, const struct sc_node *node, struct sc_xen *xen)
{
	const char *text, *s;
	bool ok = true;
	size_t len;

	if (!node)
		return true;
	if (!sc_read_text(p, node, "cmdline", &text))
		return false;
	for (s = text;; s += len) {
		struct word w = {.p = p, .mark = node->mark};
		const char *word;

		s += strspn(s, " \t\n");
		len = strcspn(s, " \t\n");
		if (!len)
			break;
		w.mark.column += (int)(s - text);
		word = sc_strndup(p->arena, s, len);
		w.name = sc_strndup(p->arena, word, (size_t)(name_part(word, len) - word));
		w.value =
			w.name[0] && word[strlen(w.name)] == '=' ? word + strlen(w.name) + 1 : NULL;
		ok = read_word(&w, xen) && ok;
	}
	xen->cmdline = merge(p, xen->cmdline, text);
	return ok;
}

const char *sc_gran_name(enum hv_gran gran)
{
	assert(gran <= HV_GRAN_SOCKET);
	return gran_names[gran];
}

void sc_cmdline_settle(struct sc_parse *p, const struct sc_mark *mark, struct sc_xen *xen)
{
	unsigned int tslice_us = xen->tslice_ms * 1000;

	assert(xen->tslice_ms > 0);
	if (xen->sched != SC_SCHED_CREDIT || xen->ratelimit_us <= tslice_us)
		return;
	sc_warning(p, mark,
		   "sched_ratelimit_us: %u is longer than the timeslice (%u ms), %u is used, as "
		   "Xen does",
		   xen->ratelimit_us, xen->tslice_ms, tslice_us);
	xen->ratelimit_us = tslice_us;
}

const char *sc_sched_name(enum sc_sched sched)
{
	assert(sched < SC_NR_SCHEDS);
	return sched_names[sched];
}

const char *sc_tickle_name(enum sc_tickle tickle)
{
	assert(tickle <= SC_TICKLE_WITHOUT_2012);
	return tickle_names[tickle];
}

const char *sc_runqueue_name(enum sc_runqueue runq)
{
	assert(runq <= SC_RUNQ_ALL);
	return runqueue_names[runq];
}
