/*
 * The timeline: when an operator does what. Each command is parsed as xl would parse it, into a
 * typed op, and checked against the VMs and the topology (core-scheduling section 7.1).
 *
 * Law: what xl silently ignores is an error here (sched-credit2 -r without -s, a cap above 100 per
 * vCPU): an operator's typing error must not look like a result.
 */
#include "scenario/timeline.h"

#include <assert.h>
#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/command.h"
#include "scenario/fields.h"
#include "scenario/realtime.h"

#define MAX_REPEATS   10000000
#define MAX_COMMANDS  40 /* of all names */
#define RATELIMIT_MIN 100
#define RATELIMIT_MAX 500000
#define TSLICE_MAX    1000			   /* ms */
#define DELAY_MAX     100000			   /* us */
#define MAX_TIME      (1000LL * 3600 * 1000000000) /* ns, 1000 h */

/* --- Commands --------------------------------------------------------------------------------- */

/* Options of sched-credit2 and sched-credit: places of their values, -1 = not given. */
struct sched_options {
	int dom, weight, cap, rate, tslice, delay, pool;
	bool params, credit; /* -s; sched-credit */
};

static bool sched_pool(struct sc_command *c, struct sc_op *op, const struct sched_options *o)
{
	unsigned int rate = (unsigned int)o->rate;

	op->kind = SC_OP_SCHED_POOL;
	op->set_ratelimit = o->rate >= 0;
	op->set_tslice = o->tslice >= 0;
	op->set_migration_delay = o->delay >= 0;
	if (!op->set_ratelimit && !op->set_tslice && !op->set_migration_delay)
		return sc_wrong_at(c, 0,
				   o->credit ? "expected 'sched-credit -s [-t MS] [-r US] [-m US]'"
					     : "expected 'sched-credit2 -s -r US'");
	if (op->set_ratelimit &&
	    !sc_read_number(c, rate, "rate limit", 0, RATELIMIT_MAX, &op->ratelimit_us))
		return false;
	if (op->ratelimit_us && op->ratelimit_us < RATELIMIT_MIN)
		return sc_wrong_at(c, rate,
				   SC_TEXT(c, "rate limit: found '%s', expected 0 or %d..%d",
					   c->word[rate], RATELIMIT_MIN, RATELIMIT_MAX));
	if (op->set_tslice && !sc_read_number(c, (unsigned int)o->tslice, "timeslice in ms", 1,
					      TSLICE_MAX, &op->tslice_ms))
		return false;
	return !op->set_migration_delay ||
	       sc_read_number(c, (unsigned int)o->delay, "migration delay in us", 0, DELAY_MAX,
			      &op->migration_delay_us);
}

static bool sched_dom(struct sc_command *c, struct sc_op *op, int dom, int weight, int cap)
{
	op->kind = SC_OP_SCHED_DOM;
	if (dom < 0)
		return sc_wrong_at(c, 0, "expected '-d DOM' or '-s'");
	if (!sc_command_vm(c, (unsigned int)dom, op))
		return false;
	if (weight < 0 && cap < 0)
		return sc_wrong_at(c, 0, "expected '-w WEIGHT' or '-c CAP'");
	if (weight >= 0 &&
	    !sc_read_number(c, (unsigned int)weight, "weight", 1, SC_WEIGHT_MAX, &op->weight))
		return false;
	if (cap >= 0 &&
	    !sc_read_number(c, (unsigned int)cap, "cap", 0, 100 * sc_min_maxvcpus(c, op), &op->cap))
		return false;
	op->set_weight = weight >= 0;
	op->set_cap = cap >= 0;
	return true;
}

/* Where the place of an option's value is kept, NULL = no such option of this command. */
static int *sched_slot(struct sched_options *o, const char *w)
{
	const struct {
		const char *letter, *word;
		int *slot;
		bool credit_only;
	} table[] = {{"-d", "--domain", &o->dom, false},
		     {"-w", "--weight", &o->weight, false},
		     {"-c", "--cap", &o->cap, false},
		     {"-p", "--cpupool", &o->pool, false},
		     {"-r", "--ratelimit_us", &o->rate, false},
		     {"-t", "--tslice_ms", &o->tslice, true},
		     {"-m", "--migration_delay_us", &o->delay, true}};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if ((strcmp(w, table[i].letter) == 0 || strcmp(w, table[i].word) == 0) &&
		    (o->credit || !table[i].credit_only))
			return table[i].slot;
	}
	return NULL;
}

static bool sched_options(struct sc_command *c, struct sched_options *o)
{
	if (!sc_split_options(c, "s"))
		return false;
	for (unsigned int i = 1; i < c->n; i++) {
		const char *w = c->word[i];
		int *slot;

		if (strcmp(w, "-s") == 0 || strcmp(w, "--schedparam") == 0) {
			o->params = true;
			continue;
		}
		slot = sched_slot(o, w);
		if (!slot)
			return sc_wrong_at(c, i, SC_TEXT(c, "unknown option '%s'", w));
		if (*slot >= 0)
			return sc_wrong_at(c, i, SC_TEXT(c, "option '%s' is repeated", w));
		if (i + 1 == c->n)
			return sc_wrong_at(c, i, SC_TEXT(c, "option '%s' has no value", w));
		*slot = (int)++i;
	}
	return true;
}

/* Whether a pool with this scheduler can be there; the console and changing pools: perhaps. */
static bool has_sched(const struct sc_command *c, enum sc_sched sched)
{
	bool has = c->console || c->s->pools_change || c->s->xen.sched == sched;

	for (unsigned int i = 0; i < c->s->n_pools; i++)
		has |= c->s->pool[i].sched == sched;
	return has;
}

/*
 * sched-credit2 -d DOM [-w W] [-c C] | [-p POOL] -s -r US
 * sched-credit  -d DOM [-w W] [-c C] | [-p POOL] -s [-t MS] [-r US] [-m US]
 */
static bool cmd_sched(struct sc_command *c, struct sc_op *op)
{
	struct sched_options o = {-1, -1, -1, -1, -1, -1, -1, false, false};
	enum sc_sched sched;

	o.credit = strcmp(c->word[0], "sched-credit") == 0;
	sched = o.credit ? SC_SCHED_CREDIT : SC_SCHED_CREDIT2;
	if (!sched_options(c, &o))
		return false;
	if (!has_sched(c, sched))
		return sc_wrong_at(c, 0,
				   SC_TEXT(c, "the scheduler is not %s", sc_sched_name(sched)));
	if (!o.params && (o.rate >= 0 || o.tslice >= 0 || o.delay >= 0)) {
		int first = o.rate >= 0 ? o.rate : o.tslice >= 0 ? o.tslice : o.delay;

		return sc_wrong_at(c, (unsigned int)first,
				   SC_TEXT(c, "'%s' needs '-s'", c->word[first - 1]));
	}
	if ((o.params || o.pool >= 0) && (o.dom >= 0 || o.weight >= 0 || o.cap >= 0))
		return sc_wrong_at(c, 0,
				   SC_TEXT(c, "'%s' does not go with options of a domain",
					   o.params ? "-s" : "-p"));
	op->sched = sched;
	if (o.pool >= 0 && !sc_command_pool(c, (unsigned int)o.pool, &op->pool))
		return false;
	return o.params ? sched_pool(c, op, &o) : sched_dom(c, op, o.dom, o.weight, o.cap);
}

/* Options of sched-rtds: places of their values, one place for each time that it is given. */
struct rtds_options {
	int dom;
	int vcpu[SC_MAX_WORDS], period[SC_MAX_WORDS], budget[SC_MAX_WORDS], extra[SC_MAX_WORDS];
	unsigned int n_vcpus, n_periods, n_budgets, n_extras;
};

static bool rtds_option(struct sc_command *c, unsigned int i, struct rtds_options *o)
{
	const struct {
		const char *letter, *word;
		int *slot;
		unsigned int *n;
	} table[] = {{"-v", "--vcpuid", o->vcpu, &o->n_vcpus},
		     {"-p", "--period", o->period, &o->n_periods},
		     {"-b", "--budget", o->budget, &o->n_budgets},
		     {"-e", "--extratime", o->extra, &o->n_extras}};
	const char *w = c->word[i];

	if (strcmp(w, "-d") == 0 || strcmp(w, "--domain") == 0) {
		if (o->dom >= 0)
			return sc_wrong_at(c, i, SC_TEXT(c, "option '%s' is repeated", w));
		o->dom = (int)i + 1;
		return true;
	}
	for (size_t k = 0; k < sizeof(table) / sizeof(table[0]); k++) {
		if (strcmp(w, table[k].letter) == 0 || strcmp(w, table[k].word) == 0) {
			table[k].slot[(*table[k].n)++] = (int)i + 1;
			return true;
		}
	}
	if (strcmp(w, "-c") == 0 || strcmp(w, "--cpupool") == 0)
		return sc_wrong_at(c, i,
				   SC_TEXT(c, "'%s' does not go with options of a domain", w));
	return sc_wrong_at(c, i, SC_TEXT(c, "unknown option '%s'", w));
}

static bool rtds_change(struct sc_command *c, const struct sc_op *op, const struct rtds_options *o,
			unsigned int i, struct sc_rtds_change *change)
{
	unsigned int vcpu = 0, extra, at = (unsigned int)o->vcpu[i];
	struct sc_rtds *v = &change->value;

	change->vcpu = -1;
	if (strcmp(c->word[at], "all") != 0) {
		if (!sc_read_number(c, at, "vCPU", 0, sc_min_maxvcpus(c, op) - 1, &vcpu))
			return false;
		change->vcpu = (int)vcpu;
	} else if (o->n_vcpus > 1) {
		return sc_wrong_at(c, at, "'-v all' stands alone");
	}
	/* The tool takes 1 us, the hypervisor refuses what is below 10 us. */
	if (!sc_read_number(c, (unsigned int)o->period[i], "period in us", 10, UINT_MAX,
			    &v->period_us) ||
	    !sc_read_number(c, (unsigned int)o->budget[i], "budget in us", 10, v->period_us,
			    &v->budget_us) ||
	    !sc_read_number(c, (unsigned int)o->extra[i], "extratime", 0, 1, &extra))
		return false;
	v->extratime = extra;
	return true;
}

/* sched-rtds -d DOM -v VCPU -p US -b US -e 0|1 [-v VCPU -p US -b US -e 0|1 ...]; VCPU may be all */
static bool cmd_rtds(struct sc_command *c, struct sc_op *op)
{
	struct rtds_options o = {.dom = -1};

	op->kind = SC_OP_SCHED_RTDS;
	op->sched = SC_SCHED_RTDS;
	if (!sc_split_options(c, ""))
		return false;
	for (unsigned int i = 1; i < c->n; i += 2) {
		if (!rtds_option(c, i, &o))
			return false;
		if (i + 1 == c->n)
			return sc_wrong_at(c, i,
					   SC_TEXT(c, "option '%s' has no value", c->word[i]));
	}
	if (!has_sched(c, SC_SCHED_RTDS))
		return sc_wrong_at(c, 0, "the scheduler is not rtds");
	if (o.dom < 0 || o.n_vcpus == 0 || o.n_periods != o.n_vcpus || o.n_budgets != o.n_vcpus ||
	    o.n_extras != o.n_vcpus)
		return sc_wrong_at(
			c, 0,
			"expected 'sched-rtds -d DOM -v VCPU|all -p US -b US -e 0|1', with "
			"-p, -b and -e for each -v");
	if (!sc_command_vm(c, (unsigned int)o.dom, op))
		return false;
	op->rtds = sc_alloc(c->p->arena, o.n_vcpus, sizeof(*op->rtds));
	for (op->n_rtds = 0; op->n_rtds < o.n_vcpus; op->n_rtds++) {
		if (!rtds_change(c, op, &o, op->n_rtds, &op->rtds[op->n_rtds]))
			return false;
	}
	return true;
}

static bool read_time(struct sc_command *c, unsigned int i, const char *text, int64_t *out)
{
	if (sc_quantity_parse(text, SC_Q_DURATION, out) == SC_Q_OK && *out >= 1 && *out <= MAX_TIME)
		return true;
	return sc_wrong_at(
		c, i,
		SC_TEXT(c, "found '%s', expected %s", text, sc_quantity_expected(SC_Q_DURATION)));
}

/* DOM.VCPU:TIME */
static bool read_window(struct sc_command *c, unsigned int i, struct sc_window *w)
{
	const char *word = c->word[i], *dot = strchr(word, '.'), *colon = strchr(word, ':');
	struct sc_command part = *c;
	struct sc_op op = {.vcpu = -1};

	if (!dot || !colon || colon < dot)
		return sc_wrong_at(c, i, SC_TEXT(c, "found '%s', expected DOM.VCPU:TIME", word));
	part.word[i] = sc_strndup(c->p->arena, word, (size_t)(dot - word));
	if (!sc_command_vm(&part, i, &op))
		return false;
	if (op.n_vms > 1)
		return sc_wrong_at(
			c, i, SC_TEXT(c, "'%s' is a group, name one of its VMs", part.word[i]));
	part.word[i] = sc_strndup(c->p->arena, dot + 1, (size_t)(colon - dot - 1));
	w->vm = op.vm;
	return sc_read_number(&part, i, "vCPU", 0, sc_min_maxvcpus(c, &op) - 1, &w->vcpu) &&
	       read_time(c, i, colon + 1, &w->runtime);
}

/* arinc653-set MAJOR DOM.VCPU:TIME...; no command of xl, which has none for this policy */
static bool cmd_frame(struct sc_command *c, struct sc_op *op)
{
	const char *fault;

	op->kind = SC_OP_FRAME;
	if (!sc_need_words(c, 3, 2 + HV_MAX_WINDOWS, "arinc653-set MAJOR DOM.VCPU:TIME...") ||
	    !read_time(c, 1, c->word[1], &op->frame.major))
		return false;
	if (!has_sched(c, SC_SCHED_ARINC653))
		return sc_wrong_at(c, 0, "the scheduler is not arinc653");
	op->frame.window = sc_alloc(c->p->arena, c->n - 2, sizeof(*op->frame.window));
	for (; op->frame.n < c->n - 2; op->frame.n++) {
		if (!read_window(c, op->frame.n + 2, &op->frame.window[op->frame.n]))
			return false;
	}
	fault = sc_frame_fault(c->p->arena, &op->frame);
	return !fault || sc_wrong_at(c, 1, fault);
}

/* vcpu-set [-i] DOM N */
static bool cmd_set(struct sc_command *c, struct sc_op *op)
{
	unsigned int at = 1;
	const char *n;

	op->kind = SC_OP_VCPU_SET;
	if (c->n > 1 && (strcmp(c->word[1], "-i") == 0 || strcmp(c->word[1], "--ignore-host") == 0))
		op->ignore_host = at++;
	if (!sc_need_words(c, at + 2, at + 2, "vcpu-set [-i] DOM N") || !sc_command_vm(c, at, op))
		return false;
	n = c->word[at + 1];
	n += *n == '-';
	if (*n && n[strspn(n, "0123456789")] == '\0' &&
	    (n != c->word[at + 1] || n[strspn(n, "0")] == '\0')) {
		sc_warning(c->p, &c->mark, "less than one vCPU: '%s' is ignored", c->text);
		return true;
	}
	return sc_read_number(c, at + 1, "number of vCPUs", 1, sc_min_maxvcpus(c, op), &op->vcpus);
}

static bool cmd_plain(struct sc_command *c, struct sc_op *op)
{
	static const struct {
		const char *name, *usage;
		enum sc_op_kind kind;
	} plain[] = {{"pause", "pause DOM", SC_OP_PAUSE},
		     {"unpause", "unpause DOM", SC_OP_UNPAUSE},
		     {"destroy", "destroy DOM", SC_OP_DESTROY}};
	unsigned int i = 0;

	while (strcmp(plain[i].name, c->word[0]) != 0)
		i++;
	assert(i < 3);
	op->kind = plain[i].kind;
	if (!sc_need_words(c, 2, 2, plain[i].usage) || !sc_command_vm(c, 1, op))
		return false;
	if (op->kind == SC_OP_DESTROY && c->s->vm[op->vm].dom0)
		return sc_wrong_at(c, 1, "domain 0 cannot be destroyed");
	return true;
}

/* overrun DOM VCPU TIME */
static bool cmd_overrun(struct sc_command *c, struct sc_op *op)
{
	unsigned int vcpu;

	op->kind = SC_OP_OVERRUN;
	if (!sc_need_words(c, 4, 4, "overrun DOM VCPU TIME") || !sc_command_vm(c, 1, op) ||
	    !sc_read_number(c, 2, "vCPU", 0, sc_min_maxvcpus(c, op) - 1, &vcpu))
		return false;
	op->vcpu = (int)vcpu;
	if (sc_quantity_parse(c->word[3], SC_Q_DURATION, &op->time) != SC_Q_OK || op->time < 1 ||
	    op->time > 3600LL * 1000000000)
		return sc_wrong_at(c, 3,
				   SC_TEXT(c, "found '%s', expected %s", c->word[3],
					   sc_quantity_expected(SC_Q_DURATION)));
	return true;
}

static bool unknown_command(struct sc_command *c, const char *const *names, size_t n)
{
	static const char *const looking[] = {"run",  "run-to",	      "vcpu-list",
					      "list", "cpupool-list", "info",
					      "help", "quit",	      "debug-keys"};
	const size_t n_looking = sizeof(looking) / sizeof(looking[0]);
	const char *close = sc_closest(c->word[0], names, n), *list = names[0];

	for (size_t i = 0; i < n_looking; i++) {
		if (strcmp(c->word[0], looking[i]) == 0)
			return sc_wrong_at(
				c, 0,
				SC_TEXT(c, "'%s' is a command of the console only", looking[i]));
	}
	if (c->console && !close)
		close = sc_closest(c->word[0], looking, n_looking);

	if (close)
		return sc_wrong_at(
			c, 0,
			SC_TEXT(c, "unknown command '%s'; did you mean '%s'?", c->word[0], close));
	if (c->console)
		return sc_wrong_at(
			c, 0,
			SC_TEXT(c, "unknown command '%s', 'help' lists the commands", c->word[0]));
	for (size_t i = 1; i < n; i++)
		list = SC_TEXT(c, "%s%s%s", list, i + 1 < n ? ", " : " or ", names[i]);
	return sc_wrong_at(c, 0, SC_TEXT(c, "unknown command '%s', expected %s", c->word[0], list));
}

/* Those of the other files, behind the first n: how many there are then. */
static size_t add_names(const char *names[MAX_COMMANDS], size_t n)
{
	unsigned int n_pool, n_host;
	const char *const *pool = sc_pool_commands(&n_pool);
	const char *const *host = sc_host_commands(&n_host);

	assert(n + n_pool + n_host <= MAX_COMMANDS);
	memcpy(names + n, pool, n_pool * sizeof(*names));
	memcpy(names + n + n_pool, host, n_host * sizeof(*names));
	return n + n_pool + n_host;
}

static bool parse_command(struct sc_command *c, struct sc_op *op)
{
	static const struct {
		const char *name;
		bool (*parse)(struct sc_command *c, struct sc_op *op);
	} commands[] = {{"sched-credit2", cmd_sched}, {"sched-credit", cmd_sched},
			{"sched-rtds", cmd_rtds},     {"arinc653-set", cmd_frame},
			{"vcpu-pin", sc_cmd_pin},     {"pin-override", sc_cmd_override},
			{"vcpu-set", cmd_set},	      {"pause", cmd_plain},
			{"unpause", cmd_plain},	      {"destroy", cmd_plain},
			{"overrun", cmd_overrun}};
	const size_t n = sizeof(commands) / sizeof(commands[0]);
	const char *names[MAX_COMMANDS];
	unsigned int xl = 0;
	bool known, ok;

	if (!sc_split(c))
		return false;
	if ((strcmp(c->word[0], "xl") == 0 || strcmp(c->word[0], "xen-hptool") == 0) && c->n > 1) {
		for (xl = 1; xl < c->n; xl++) {
			c->word[xl - 1] = c->word[xl];
			c->column[xl - 1] = c->column[xl];
		}
		c->n--;
	}
	for (size_t i = 0; i < n; i++) {
		names[i] = commands[i].name;
		if (strcmp(c->word[0], names[i]) == 0)
			return commands[i].parse(c, op);
	}
	ok = sc_pool_command(c, op, &known);
	if (!known)
		ok = sc_host_command(c, op, &known);
	if (known)
		return ok;
	return unknown_command(c, names, add_names(names, n));
}

/* --- The list --------------------------------------------------------------------------------- */

static bool read_op(struct sc_parse *p, const struct sc_node *node, const char *dir,
		    const struct scenario *s, struct sc_op *op)
{
	struct sc_command c = {.p = p, .s = s, .mark = node->mark, .dir = dir};

	*op = (struct sc_op){.vcpu = -1};
	if (!sc_read_text(p, node, "do", &c.text))
		return false;
	op->text = c.text;
	op->line = node->mark.line;
	return parse_command(&c, op);
}

static void read_ops(struct sc_parse *p, const struct sc_node *node, const char *dir,
		     const struct scenario *s, struct sc_event *e)
{
	unsigned int n = node->kind == SC_LIST ? node->n_children : 1;

	e->op = sc_alloc(p->arena, n, sizeof(e->op[0]));
	if (node->kind != SC_LIST) {
		e->n_ops = read_op(p, node, dir, s, e->op);
		return;
	}
	if (n == 0)
		sc_error(p, &node->mark, "do: the list is empty");
	for (const struct sc_node *c = node->child; c; c = c->next)
		e->n_ops += read_op(p, c, dir, s, &e->op[e->n_ops]);
}

static void read_repeat(struct sc_parse *p, struct sc_fields *f, const struct scenario *s,
			struct sc_event *e)
{
	const struct sc_node *every, *until;
	int64_t end = s->run.warmup + s->run.duration, times = 0, fit;
	bool bounded;

	every = sc_take(f, "every");
	until = sc_take(f, "until");
	bounded = sc_take_quantity(f, "times", SC_Q_COUNT, 1, MAX_REPEATS, &times);
	e->count = 1;
	if (!every) {
		if (bounded || until)
			sc_error(p, &f->map->mark, "'times' and 'until' need 'every'");
		return;
	}
	if (!sc_read_quantity(p, every, "every", SC_Q_DURATION, 1000, MAX_TIME, &e->every))
		return;
	if (bounded && until)
		sc_error(p, &until->mark, "'until' does not go with 'times'");
	if (until)
		sc_read_quantity(p, until, "until", SC_Q_DURATION, e->at, MAX_TIME, &end);
	fit = end < e->at ? 1 : (end - e->at) / e->every + 1;
	if (bounded && times > fit)
		sc_warning(p, &every->mark, "only %lld of these %lld times are before the end",
			   (long long)fit, (long long)times);
	/* So that at + every * count stays far from overflow. */
	e->count = (uint64_t)(bounded && times < fit ? times : fit);
}

static void read_event(struct sc_parse *p, const struct sc_node *node, const char *dir,
		       struct scenario *s, struct sc_event *e)
{
	const struct sc_node *what;
	struct sc_fields f;

	if (!sc_fields_open(&f, p, node, "a timeline entry"))
		return;
	sc_require(&f, "at");
	sc_take_quantity(&f, "at", SC_Q_DURATION, 0, MAX_TIME, &e->at);
	read_repeat(p, &f, s, e);
	what = sc_require(&f, "do");
	if (what)
		read_ops(p, what, dir, s, e);
	sc_fields_close(&f);
	if (e->at > s->run.warmup + s->run.duration)
		sc_warning(p, &node->mark, "this is after the end of the run");
}

static int by_time(const void *a, const void *b)
{
	const struct sc_event *const *x = a, *const *y = b;

	if ((*x)->at != (*y)->at)
		return (*x)->at < (*y)->at ? -1 : 1;
	return *x < *y ? -1 : *x > *y;
}

/* The command sets parameters of this pool. */
static bool sets_params(const struct sc_op *op, const struct scenario *s, unsigned int pool)
{
	char number[16];

	if (op->kind != SC_OP_SCHED_POOL || op->sched != SC_SCHED_CREDIT)
		return false;
	snprintf(number, sizeof(number), "%u", pool);
	return op->pool ? strcmp(op->pool, s->pool[pool].name) == 0 || strcmp(op->pool, number) == 0
			: pool == 0;
}

static void check_slices_of(struct sc_parse *p, const char *file, const struct scenario *s,
			    const struct sc_event *const *event, unsigned int pool)
{
	unsigned int tslice = s->xen.tslice_ms, rate = s->xen.ratelimit_us;

	for (unsigned int i = 0; i < s->n_events; i++) {
		for (unsigned int k = 0; k < event[i]->n_ops; k++) {
			const struct sc_op *op = &event[i]->op[k];
			struct sc_mark mark = {.file = file, .line = op->line, .column = 1};

			if (!sets_params(op, s, pool))
				continue;
			tslice = op->set_tslice ? op->tslice_ms : tslice;
			rate = op->set_ratelimit ? op->ratelimit_us : rate;
			if (rate > tslice * 1000)
				sc_error(p, &mark,
					 "the rate limit (%u us) is longer than the timeslice "
					 "(%u ms) in '%s'",
					 rate, tslice, op->text);
		}
	}
}

/*
 * Under credit the rate limit must not exceed the timeslice; each may be set without the other, so
 * what counts is what is in force in the pool. (Of a repeated command the first time is looked at.)
 */
static void check_slices(struct sc_parse *p, const char *file, const struct scenario *s)
{
	const struct sc_event **event =
		sc_alloc(p->arena, s->n_events + 1, sizeof(struct sc_event *));

	for (unsigned int i = 0; i < s->n_events; i++)
		event[i] = &s->event[i];
	qsort(event, s->n_events, sizeof(struct sc_event *), by_time);
	for (unsigned int i = 0; i < s->n_pools; i++) {
		if (s->pool[i].sched == SC_SCHED_CREDIT)
			check_slices_of(p, file, s, event, i);
	}
}

/* Does the timeline make pools, or rename them? */
static bool makes_pools(const struct sc_node *node)
{
	if (node->kind == SC_SCALAR)
		return strstr(node->text, "cpupool-create") ||
		       strstr(node->text, "cpupool-rename") ||
		       strstr(node->text, "cpupool-numa-split");
	for (const struct sc_node *c = node->child; c; c = c->next) {
		if (makes_pools(c))
			return true;
	}
	return false;
}

bool scenario_command(struct scenario_file *f, const struct scenario *s, const char *text, int line,
		      struct sc_diag *diag, struct sc_op *op)
{
	struct sc_parse p = {.arena = f->arena, .diag = diag};
	struct sc_command c = {
		.p = &p,
		.s = s,
		.mark = {.file = "console", .line = line, .column = 1},
		.text = sc_strdup(f->arena, text),
		.console = true,
	};

	*op = (struct sc_op){.vcpu = -1, .text = c.text, .line = line};
	return parse_command(&c, op);
}

void sc_timeline_read(struct sc_parse *p, const struct sc_node *list, const char *dir,
		      struct scenario *s)
{
	if (!list || !sc_read_list(p, list, "timeline"))
		return;
	s->event = sc_alloc(p->arena, list->n_children, sizeof(s->event[0]));
	s->pools_change = makes_pools(list);
	for (const struct sc_node *c = list->child; c; c = c->next)
		read_event(p, c, dir, s, &s->event[s->n_events++]);
	check_slices(p, list->mark.file, s);
}
