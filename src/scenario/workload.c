/*
 * Workload files and inline programs (docs/workloads.md) into struct workload.
 *
 * Order of reading: parameters first (defaults, then the user's), which are put in place of `$name`
 * everywhere; then shared objects, so that names have indices; then programs; then tasks.
 */
#include "scenario/workload.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/embedded.h"
#include "scenario/fields.h"
#include "scenario/file.h"
#include "scenario/scenario.h"

#define MAX_PARAMS     64
#define TIME_MAX       (1000LL * 3600 * 1000000000) /* ns */
#define SIZE_MAX_BYTES (1LL << 50)		    /* bytes, bytes/s */
#define RATE_MAX       100000000		    /* per second: one each 10 ns */
#define SIGMA_GENERIC  608174			    /* 0.58, hardware-model section 3.2 */
#define MU_GENERIC     157286			    /* 0.15 */

struct context {
	struct sc_parse *p;
	const struct sc_library *library;
	struct workload *w;
	unsigned int vcpus;
};

/* --- Sections of named objects ---------------------------------------------------------------- */

/*
 * Makes an array of one struct of `size` bytes per entry of the section (more: extra ones in
 * front). Each struct starts with its name. Returns NULL for an absent section without extras.
 */
static void *name_objects(struct context *c, const struct sc_node *section, const char *what,
			  unsigned int extra, size_t size, uint32_t *n)
{
	char *array;

	*n = extra;
	if (section && section->kind != SC_MAP) {
		sc_error(c->p, &section->mark, "%s: found %s, expected a mapping of names", what,
			 sc_describe(c->p, section));
		section = NULL;
	}
	if (section && section->n_children + extra > WORKLOAD_MAX) {
		sc_error(c->p, &section->mark, "%s: %u entries, expected at most %d", what,
			 section->n_children, WORKLOAD_MAX);
		section = NULL;
	}
	array = sc_alloc(c->p->arena, extra + (section ? section->n_children : 0), size);
	for (const struct sc_node *e = section ? section->child : NULL; e; e = e->next) {
		if (!sc_is_name(e->key->text))
			sc_error(c->p, &e->key->mark,
				 "'%s' is not a name, expected a letter, then letters, digits, "
				 "'_', '-'",
				 e->key->text);
		memcpy(array + *n * size, &e->key->text, sizeof(e->key->text));
		(*n)++;
	}
	return array;
}

/* The entry of a section for object i (extras have none). */
static const struct sc_node *entry(const struct sc_node *section, unsigned int i)
{
	const struct sc_node *e = section && section->kind == SC_MAP ? section->child : NULL;

	while (e && i--)
		e = e->next;
	return e;
}

/* *out stays as it was after an error. */
static void find_name(struct context *c, const struct sc_node *node, const char *what,
		      const void *array, uint32_t n, size_t size, uint32_t *out)
{
	int i = sc_workload_find(c->p, node, what, array, n, size);

	if (i >= 0)
		*out = (uint32_t)i;
}

#define FIND(c, node, what, field, count, out) \
	find_name(c, node, what, (c)->w->field, (c)->w->count, sizeof((c)->w->field[0]), out)

static void take_int32(struct sc_fields *f, const char *key, enum sc_quantity kind, int64_t min,
		       int64_t max, int32_t *out)
{
	int64_t value;

	if (sc_take_quantity(f, key, kind, min, max, &value))
		*out = (int32_t)value;
}

/* --- Classes and backgrounds ------------------------------------------------------------------ */

static void read_class(struct context *c, const struct sc_node *node, struct work_class *cls)
{
	struct sc_fields f;

	if (!node || !sc_fields_open(&f, c->p, node, "a class"))
		return;
	take_int32(&f, "sigma", SC_Q_RATIO, 1, PROGRAM_ONE, &cls->sigma);
	take_int32(&f, "mu", SC_Q_RATIO, 0, PROGRAM_ONE, &cls->mu);
	sc_take_quantity(&f, "working_set", SC_Q_SIZE, 0, SIZE_MAX_BYTES, &cls->working_set);
	sc_take_quantity(&f, "bandwidth", SC_Q_BANDWIDTH, 0, SIZE_MAX_BYTES, &cls->bandwidth);
	sc_take_bool(&f, "shared_set", &cls->shared_set);
	sc_fields_close(&f);
}

/* The scenario's `classes:` changes a class of this name wherever it is used. */
static void override_class(struct context *c, struct work_class *cls)
{
	const struct sc_node *all = c->library->classes;
	unsigned int i = 0;

	for (const struct sc_node *e = all ? all->child : NULL; e; e = e->next, i++) {
		if (strcmp(e->key->text, cls->name) != 0)
			continue;
		c->library->class_used[i] = true;
		read_class(c, e, cls);
	}
}

static void read_classes(struct context *c, const struct sc_node *section)
{
	struct workload *w = c->w;

	w->cls = name_objects(c, section, "classes", 1, sizeof(w->cls[0]), &w->n_classes);
	w->cls[0].name = "default";
	for (uint32_t i = 0; i < w->n_classes; i++) {
		w->cls[i].sigma = SIGMA_GENERIC;
		w->cls[i].mu = MU_GENERIC;
		if (i == 0)
			continue;
		if (strcmp(w->cls[i].name, "default") == 0)
			sc_error(c->p, &section->mark, "classes: 'default' is reserved");
		read_class(c, entry(section, i - 1), &w->cls[i]);
		override_class(c, &w->cls[i]);
	}
}

static void read_backgrounds(struct context *c, const struct sc_node *section)
{
	struct workload *w = c->w;

	w->background = name_objects(c, section, "backgrounds", 0, sizeof(w->background[0]),
				     &w->n_backgrounds);
	for (uint32_t i = 0; i < w->n_backgrounds; i++) {
		struct background *b = &w->background[i];
		const struct sc_node *work;
		struct sc_fields f;

		if (!sc_fields_open(&f, c->p, entry(section, i), "a background"))
			continue;
		take_int32(&f, "lock_rate", SC_Q_RATE, 0, RATE_MAX, &b->lock_rate);
		sc_take_quantity(&f, "lock_hold", SC_Q_DURATION, 0, TIME_MAX, &b->lock_hold);
		take_int32(&f, "partner_rate", SC_Q_RATE, 0, RATE_MAX, &b->partner_rate);
		work = sc_take(&f, "partner_work");
		if (work)
			sc_amount_read(c->p, work, "partner_work", SC_Q_DURATION, &b->partner_work);
		take_int32(&f, "shootdown_rate", SC_Q_RATE, 0, RATE_MAX, &b->shootdown_rate);
		take_int32(&f, "fault_rate", SC_Q_RATE, 0, RATE_MAX, &b->fault_rate);
		sc_take_quantity(&f, "fault_cost", SC_Q_DURATION, 0, TIME_MAX, &b->fault_cost);
		take_int32(&f, "system_share", SC_Q_SHARE, 0, PROGRAM_ONE, &b->system_share);
		sc_fields_close(&f);
	}
}

/* --- Shared objects --------------------------------------------------------------------------- */

static void read_locks(struct context *c, const struct sc_node *section)
{
	static const char *const kinds[] = {"spin", "mutex", "futex", "rw"};
	struct workload *w = c->w;

	w->lock = name_objects(c, section, "locks", 0, sizeof(w->lock[0]), &w->n_locks);
	for (uint32_t i = 0; i < w->n_locks; i++) {
		unsigned int kind = LOCK_MUTEX;
		struct sc_fields f;

		w->lock[i].count = 1;
		if (!sc_fields_open(&f, c->p, entry(section, i), "a lock"))
			continue;
		sc_require(&f, "kind");
		sc_take_word(&f, "kind", kinds, 4, &kind);
		w->lock[i].kind = (enum lock_kind)kind;
		sc_take_uint(&f, "count", 1, 65536, &w->lock[i].count);
		sc_fields_close(&f);
	}
}

static void read_barriers(struct context *c, const struct sc_node *section)
{
	static const char *const kinds[] = {"sleep", "spin"};
	struct workload *w = c->w;

	w->barrier = name_objects(c, section, "barriers", 0, sizeof(w->barrier[0]), &w->n_barriers);
	for (uint32_t i = 0; i < w->n_barriers; i++) {
		struct barrier_desc *b = &w->barrier[i];
		unsigned int kind = BARRIER_SLEEP;
		const struct sc_node *spin;
		struct sc_fields f;

		b->parties = 1;
		if (!sc_fields_open(&f, c->p, entry(section, i), "a barrier"))
			continue;
		sc_require(&f, "parties");
		sc_take_uint(&f, "parties", 1, WORKLOAD_TASKS, &b->parties);
		sc_take_word(&f, "kind", kinds, 2, &kind);
		b->kind = (enum barrier_kind)kind;
		spin = sc_take(&f, "spin");
		if (spin && b->kind != BARRIER_SPIN)
			sc_error(c->p, &spin->mark, "spin: only for a barrier of kind spin");
		else if (spin)
			sc_read_quantity(c->p, spin, "spin", SC_Q_DURATION, 0, TIME_MAX, &b->spin);
		sc_fields_close(&f);
	}
}

static void read_semaphores(struct context *c, const struct sc_node *section)
{
	struct workload *w = c->w;

	w->semaphore = name_objects(c, section, "semaphores", 0, sizeof(w->semaphore[0]),
				    &w->n_semaphores);
	for (uint32_t i = 0; i < w->n_semaphores; i++) {
		struct sc_fields f;

		if (!sc_fields_open(&f, c->p, entry(section, i), "a semaphore"))
			continue;
		sc_take_uint(&f, "initial", 0, INT_MAX, &w->semaphore[i].initial);
		sc_fields_close(&f);
	}
}

static void read_channels(struct context *c, const struct sc_node *section)
{
	struct workload *w = c->w;

	w->channel = name_objects(c, section, "channels", 0, sizeof(w->channel[0]), &w->n_channels);
	for (uint32_t i = 0; i < w->n_channels; i++) {
		struct channel_desc *ch = &w->channel[i];
		struct sc_fields f;

		if (!sc_fields_open(&f, c->p, entry(section, i), "a channel"))
			continue;
		sc_take_uint(&f, "slots", 1, 1000000, &ch->slots);
		sc_take_quantity(&f, "poll", SC_Q_DURATION, 0, INT64_MAX, &ch->poll);
		sc_take_text(&f, "vm", &ch->vm);
		sc_fields_close(&f);
		if ((ch->slots != 0) == (ch->vm != NULL))
			sc_error(c->p, &f.map->mark,
				 "channel '%s': expected either 'slots' or 'vm'", ch->name);
	}
}

static void read_devices(struct context *c, const struct sc_node *section)
{
	struct workload *w = c->w;

	w->device = name_objects(c, section, "devices", 0, sizeof(w->device[0]), &w->n_devices);
	for (uint32_t i = 0; i < w->n_devices; i++) {
		struct device_desc *d = &w->device[i];
		const struct sc_node *latency;
		struct sc_fields f;

		if (!sc_fields_open(&f, c->p, entry(section, i), "a device"))
			continue;
		latency = sc_take(&f, "latency");
		if (latency)
			sc_amount_read(c->p, latency, "latency", SC_Q_DURATION, &d->latency);
		sc_take_quantity(&f, "rate", SC_Q_BANDWIDTH, 1, SIZE_MAX_BYTES, &d->rate);
		sc_take_uint(&f, "slots", 0, 65536, &d->slots);
		sc_fields_close(&f);
	}
}

/* Pools name programs and classes, so both must have their names by now. */
static void read_pools(struct context *c, const struct sc_node *section)
{
	struct workload *w = c->w;

	w->pool = name_objects(c, section, "pools", 0, sizeof(w->pool[0]), &w->n_pools);
	for (uint32_t i = 0; i < w->n_pools; i++) {
		struct pool_desc *pool = &w->pool[i];
		const struct sc_node *node;
		struct sc_fields f;

		pool->jobs = pool->directories = pool->tokens = 1;
		if (!sc_fields_open(&f, c->p, entry(section, i), "a pool"))
			continue;
		sc_require(&f, "jobs");
		sc_take_uint(&f, "jobs", 1, WORKLOAD_JOBS, &pool->jobs);
		sc_take_uint(&f, "directories", 1, pool->jobs, &pool->directories);
		sc_take_uint(&f, "tokens", 1, WORKLOAD_TASKS, &pool->tokens);
		if ((node = sc_require(&f, "program")))
			FIND(c, node, "program", program, n_programs, &pool->program);
		if ((node = sc_take(&f, "class")))
			FIND(c, node, "class", cls, n_classes, &pool->cls);
		sc_fields_close(&f);
	}
}

/* --- Programs, tasks, metric ------------------------------------------------------------------ */

static void read_group(struct context *c, const struct sc_node *node, struct task_group *g)
{
	static const char *const places[] = {"any", "each", "one"};
	unsigned int place = PLACE_ANY;
	const struct sc_node *n;
	struct sc_fields f;

	g->count = 1;
	if (!sc_fields_open(&f, c->p, node, "a task group"))
		return;
	if ((n = sc_require(&f, "program")))
		FIND(c, n, "program", program, n_programs, &g->program);
	if ((n = sc_take(&f, "class")))
		FIND(c, n, "class", cls, n_classes, &g->cls);
	sc_take_uint(&f, "count", 1, WORKLOAD_TASKS, &g->count);
	sc_take_word(&f, "place", places, 3, &place);
	g->placement = (enum placement)place;
	if ((n = sc_take(&f, "vcpu"))) {
		int64_t vcpu;

		if (g->placement == PLACE_ANY)
			sc_error(c->p, &n->mark, "vcpu: needs 'place: each' or 'place: one'");
		else if (sc_read_quantity(c->p, n, "vcpu", SC_Q_COUNT, 0, c->vcpus - 1, &vcpu))
			g->vcpu = (uint32_t)vcpu;
	}
	if ((n = sc_take(&f, "start")))
		sc_amount_read(c->p, n, "start", SC_Q_DURATION, &g->start);
	sc_fields_close(&f);
}

static void read_tasks(struct context *c, const struct sc_node *section, bool short_form)
{
	struct workload *w = c->w;
	uint64_t tasks = 0;

	if (!section && short_form) {
		/* One task per vCPU runs the only program. */
		w->group = sc_alloc(c->p->arena, 1, sizeof(w->group[0]));
		w->group[0] = (struct task_group){.name = "main", .count = c->vcpus};
		w->n_groups = 1;
		return;
	}
	w->group = name_objects(c, section, "tasks", 0, sizeof(w->group[0]), &w->n_groups);
	for (uint32_t i = 0; i < w->n_groups; i++) {
		read_group(c, entry(section, i), &w->group[i]);
		tasks += w->group[i].count;
	}
	for (uint32_t i = 0; i < w->n_pools; i++)
		tasks += 2ULL * w->pool[i].tokens; /* a worker and its partner */
	if (tasks > WORKLOAD_TASKS)
		sc_error(c->p, &section->mark, "more than %d tasks in one guest", WORKLOAD_TASKS);
}

static void read_programs(struct context *c, const struct sc_node *section,
			  const struct sc_node *single)
{
	struct workload *w = c->w;

	for (uint32_t i = 0; i < w->n_programs; i++) {
		const struct sc_node *list = single ? single : entry(section, i);

		assert(list);
		sc_workload_ops(c->p, w, list, &w->program[i]);
	}
}

static bool has_op(const struct workload *w, enum op_kind kind)
{
	for (uint32_t i = 0; i < w->n_programs; i++) {
		for (uint32_t k = 0; k < w->program[i].n_ops; k++) {
			if (w->program[i].op[k].kind == kind)
				return true;
		}
	}
	return false;
}

static void read_metric(struct context *c, const struct sc_node *node)
{
	static const char *const kinds[] = {"none", "elapsed", "rate"};
	struct metric *m = &c->w->metric;
	unsigned int kind = METRIC_NONE;
	struct sc_fields f;

	m->name = "none";
	m->unit = "";
	if (!node)
		return;
	if (node->kind == SC_SCALAR) {
		sc_read_word(c->p, node, "metric", kinds, 3, &kind);
	} else {
		if (!sc_fields_open(&f, c->p, node, "metric"))
			return;
		sc_require(&f, "kind");
		sc_take_word(&f, "kind", kinds, 3, &kind);
	}
	m->kind = (enum metric_kind)kind;
	m->name = kind == METRIC_RATE ? "throughput" : kinds[kind];
	m->unit = kind == METRIC_RATE ? "counts" : "";
	if (node->kind == SC_MAP) {
		sc_take_text(&f, "name", &m->name);
		sc_take_text(&f, "unit", &m->unit);
		sc_fields_close(&f);
	}
	if (m->kind == METRIC_ELAPSED && !has_op(c->w, OP_DONE))
		sc_error(c->p, &node->mark, "metric: elapsed needs a program with the op 'done'");
	if (m->kind == METRIC_RATE && !has_op(c->w, OP_COUNT))
		sc_error(c->p, &node->mark, "metric: a rate needs a program with the op 'count'");
}

/* --- The whole workload ----------------------------------------------------------------------- */

/* Reads everything but params, which have been put in place. */
static const struct workload *read_body(struct context *c, struct sc_fields *f, const char *name)
{
	const struct sc_node *programs, *single, *pools, *tasks;
	unsigned int errors = c->p->diag->errors;
	struct workload *w = c->w;

	w->name = name;
	w->text = "";
	w->runs = 1;
	sc_take_text(f, "name", &w->name);
	sc_take_text(f, "text", &w->text);
	read_classes(c, sc_take(f, "classes"));
	read_backgrounds(c, sc_take(f, "backgrounds"));
	read_locks(c, sc_take(f, "locks"));
	read_barriers(c, sc_take(f, "barriers"));
	read_semaphores(c, sc_take(f, "semaphores"));
	read_channels(c, sc_take(f, "channels"));
	read_devices(c, sc_take(f, "devices"));
	pools = sc_take(f, "pools");
	programs = sc_take(f, "programs");
	single = sc_take(f, "program");
	tasks = sc_take(f, "tasks");
	if (!programs == !single)
		sc_error(c->p, &f->map->mark, "expected either 'programs' or 'program' in %s",
			 f->what);
	else if (!single && !tasks)
		sc_error(c->p, &f->map->mark, "'tasks' is missing in %s", f->what);
	w->program = name_objects(c, programs, "programs", single ? 1 : 0, sizeof(w->program[0]),
				  &w->n_programs);
	if (single)
		w->program[0].name = "main";
	read_pools(c, pools);
	read_programs(c, programs, single);
	read_tasks(c, tasks, single != NULL);
	read_metric(c, sc_take(f, "metric"));
	sc_take_uint(f, "runs", 0, INT_MAX, &w->runs);
	sc_fields_close(f);
	return c->p->diag->errors == errors ? w : NULL;
}

/* A parameter's default: `jobs: 16` or `jobs: {default: 16, text: ...}`. */
static const struct sc_node *default_of(struct sc_parse *p, const struct sc_node *node)
{
	const struct sc_node *value;
	const char *text;
	struct sc_fields f;

	if (node->kind == SC_SCALAR)
		return node;
	if (!sc_fields_open(&f, p, node, "a parameter"))
		return NULL;
	value = sc_require(&f, "default");
	sc_take_text(&f, "text", &text);
	sc_fields_close(&f);
	if (value && value->kind != SC_SCALAR) {
		sc_error(p, &value->mark, "default: found %s, expected a value",
			 sc_describe(p, value));
		return NULL;
	}
	return value;
}

/*
 * Fills param[] from the file's defaults; param[0] is $vcpus. Returns their number, 0 after an
 * error.
 */
static unsigned int read_params(struct context *c, const struct sc_node *section,
				struct sc_parameter param[MAX_PARAMS])
{
	static const struct sc_mark nowhere = {.file = "vcpus"};
	char text[16];
	unsigned int n = 1;

	snprintf(text, sizeof(text), "%u", c->vcpus);
	param[0] = (struct sc_parameter){"vcpus", sc_tree_scalar(c->p, &nowhere, text), true};
	if (!section)
		return 1;
	if (section->kind != SC_MAP || section->n_children >= MAX_PARAMS) {
		sc_error(c->p, &section->mark, "params: expected a mapping of at most %d names",
			 MAX_PARAMS - 1);
		return 0;
	}
	for (const struct sc_node *e = section->child; e; e = e->next) {
		const struct sc_node *value = default_of(c->p, e);
		struct sc_node *copy;

		if (!value)
			return 0;
		if (strcmp(e->key->text, "vcpus") == 0 || strcmp(e->key->text, "use") == 0)
			sc_error(c->p, &e->key->mark, "params: '%s' is reserved", e->key->text);
		copy = sc_tree_copy(c->p, value);
		sc_substitute(c->p, copy, param, n);
		param[n++] = (struct sc_parameter){e->key->text, copy, false};
	}
	return n;
}

/*
 * The kind of a parameter follows from its default: "16" a count, "5.5ms" a duration; -1: a word.
 */
static int kind_of(const char *text)
{
	static const enum sc_quantity kinds[] = {SC_Q_COUNT, SC_Q_RATIO, SC_Q_DURATION, SC_Q_SIZE,
						 SC_Q_SHARE, SC_Q_RATE,	 SC_Q_BANDWIDTH};
	int64_t value;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (sc_quantity_parse(text, kinds[i], &value) == SC_Q_OK)
			return (int)kinds[i];
	}
	return -1;
}

/* The user's value is of the default's kind, or a distribution of it. */
static bool fits_default(struct context *c, const struct sc_node *value, const char *name,
			 const struct sc_node *initial)
{
	int kind = kind_of(initial->text);
	struct amount amount;

	return kind < 0 || sc_amount_read(c->p, value, name, kind, &amount);
}

static void override(struct context *c, const struct sc_node *use, const char *name,
		     struct sc_parameter *param, unsigned int n)
{
	const char *names[MAX_PARAMS], *close, *list = "";
	unsigned int i;

	for (i = 1; i < n; i++) {
		names[i - 1] = param[i].name;
		list = sc_format(c->p->arena, "%s%s%s", list, i > 1 ? ", " : "", param[i].name);
	}
	for (const struct sc_node *e = use ? use->child : NULL; e; e = e->next) {
		if (strcmp(e->key->text, "use") == 0)
			continue;
		for (i = 1; i < n && strcmp(param[i].name, e->key->text) != 0; i++)
			;
		if (i < n && e->kind == SC_SCALAR && !sc_is_null(e)) {
			struct sc_node *copy = sc_tree_copy(c->p, e);

			sc_substitute(c->p, copy, param, 1); /* $vcpus */
			if (fits_default(c, copy, param[i].name, param[i].value))
				param[i].value = copy;
		} else if (i < n) {
			sc_error(c->p, &e->mark, "%s: found %s, expected a value", e->key->text,
				 sc_describe(c->p, e));
		} else if ((close = sc_closest(e->key->text, names, n - 1))) {
			sc_error(c->p, &e->key->mark,
				 "workload '%s' has no parameter '%s'; did you mean '%s'?", name,
				 e->key->text, close);
		} else {
			sc_error(c->p, &e->key->mark,
				 "workload '%s' has no parameter '%s', expected one of: %s", name,
				 e->key->text, n > 1 ? list : "(none)");
		}
	}
}

static void keep_params(struct context *c, const struct sc_parameter *param, unsigned int n)
{
	struct workload *w = c->w;

	w->param = sc_alloc(c->p->arena, n, sizeof(w->param[0]));
	for (unsigned int i = 1; i < n; i++) {
		w->param[i - 1].name = param[i].name;
		w->param[i - 1].text = param[i].value->text;
		/* A plain count has a value of its own; others are text with a unit. */
		sc_quantity_parse(param[i].value->text, SC_Q_COUNT, &w->param[i - 1].value);
	}
	w->n_params = n - 1;
}

/* tree: the workload's mapping; use: {use: NAME, PARAMETER: ...} or NULL. */
static const struct workload *read_tree(struct sc_parse *p, const struct sc_library *library,
					const struct sc_node *tree, const struct sc_node *use,
					const char *name, unsigned int vcpus)
{
	struct context c = {.p = p, .library = library, .vcpus = vcpus};
	struct sc_parameter param[MAX_PARAMS];
	struct sc_node *copy = sc_tree_copy(p, tree);
	unsigned int n, errors = p->diag->errors;
	struct sc_fields f;

	assert(vcpus > 0);
	c.w = sc_alloc(p->arena, 1, sizeof(*c.w));
	if (!sc_fields_open(&f, p, copy, "a workload"))
		return NULL;
	n = read_params(&c, sc_take(&f, "params"), param);
	if (!n)
		return NULL;
	override(&c, use, name, param, n);
	for (struct sc_node *e = copy->child; e; e = e->next) {
		if (strcmp(e->key->text, "params") != 0)
			sc_substitute(p, e, param, n);
	}
	if (p->diag->errors != errors)
		return NULL;
	keep_params(&c, param, n);
	return read_body(&c, &f, name);
}

static bool is_path(const char *text)
{
	size_t len = strlen(text);

	return strchr(text, '/') || (len > 5 && strcmp(text + len - 5, ".yaml") == 0);
}

/* The file's base name: what a built-in workload is called. */
static const char *base_name(struct sc_arena *arena, const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;

	return sc_strndup(arena, base, strlen(base) - strlen(".yaml"));
}

static const struct sc_node *find_workload(struct sc_parse *p, const struct sc_library *library,
					   const struct sc_mark *mark, const char *name)
{
	const struct sc_node *own = sc_map_find(library->own, name);
	const struct embedded_file *file = NULL;
	const char *names[128], *close, *list = "";
	size_t n = 0;

	if (own)
		return own;
	if (is_path(name))
		return sc_file_tree(p, mark, library->dir, name, "workload");
	while ((file = embedded_next(file, "workloads/")) && n < 64) {
		names[n] = base_name(p->arena, file->name);
		if (strcmp(names[n], name) == 0)
			return sc_file_builtin(p, file);
		list = sc_format(p->arena, "%s%s%s", list, n ? ", " : "", names[n]);
		n++;
	}
	own = library->own ? library->own->child : NULL;
	for (; own && n < 128; own = own->next) {
		list = sc_format(p->arena, "%s, %s", list, own->key->text);
		names[n++] = own->key->text;
	}
	close = sc_closest(name, names, n);
	if (close)
		sc_error(p, mark, "unknown workload '%s'; did you mean '%s'?", name, close);
	else
		sc_error(p, mark, "unknown workload '%s', expected one of: %s", name, list);
	return NULL;
}

const struct workload *sc_workload_builtin(struct sc_parse *p, const struct sc_library *library,
					   const struct sc_mark *mark, const char *name,
					   unsigned int vcpus)
{
	const struct sc_node *tree = find_workload(p, library, mark, name);

	return tree ? read_tree(p, library, tree, NULL, name, vcpus) : NULL;
}

static const struct workload *read_list(struct sc_parse *p, const struct sc_library *library,
					const struct sc_node *node, unsigned int vcpus)
{
	const struct workload *all = NULL, *w;
	bool ok = true;

	if (!node->child)
		sc_error(p, &node->mark, "workload: the list is empty");
	for (const struct sc_node *c = node->child; c; c = c->next) {
		w = sc_workload_read(p, library, c, vcpus);
		if (w && all)
			w = sc_workload_merge(p, &c->mark, all, w);
		ok = ok && w;
		all = w ? w : all;
	}
	return ok ? all : NULL;
}

const struct workload *sc_workload_read(struct sc_parse *p, const struct sc_library *library,
					const struct sc_node *node, unsigned int vcpus)
{
	const struct sc_node *use, *tree;

	if (node->kind == SC_SCALAR)
		return sc_workload_builtin(p, library, &node->mark, node->text, vcpus);
	if (node->kind == SC_LIST)
		return read_list(p, library, node, vcpus);
	use = sc_map_find(node, "use");
	if (!use)
		return read_tree(p, library, node, NULL, "own", vcpus);
	if (use->kind != SC_SCALAR || sc_is_null(use)) {
		sc_error(p, &use->mark, "use: found %s, expected the name of a workload",
			 sc_describe(p, use));
		return NULL;
	}
	tree = find_workload(p, library, &use->mark, use->text);
	return tree ? read_tree(p, library, tree, node, use->text, vcpus) : NULL;
}

bool sc_workload_is_builtin(const struct sc_library *library, const struct sc_node *node)
{
	const struct sc_node *use = node->kind == SC_MAP ? sc_map_find(node, "use") : node;

	return use && use->kind == SC_SCALAR && !is_path(use->text) &&
	       !sc_map_find(library->own, use->text) && !library->classes;
}

const struct channel_desc *sc_workload_channel(const struct workload *w, const char *name)
{
	for (uint32_t i = 0; i < w->n_channels; i++) {
		if (!w->channel[i].vm && strcmp(w->channel[i].name, name) == 0)
			return &w->channel[i];
	}
	return NULL;
}
