/*
 * Ops and amounts of workload programs (docs/workloads.md): the nested YAML list becomes the flat
 * op array of guest/program.h.
 *
 * Laws: loops nest at most PROGRAM_MAX_NEST deep; the target of a loop's end is the first op of its
 * body, the target of its begin the op after its end; every name is resolved to an index.
 */
#include <assert.h>
#include <limits.h>
#include <string.h>

#include "scenario/fields.h"
#include "scenario/scenario.h"
#include "scenario/workload.h"

#define CV_MAX (8LL * PROGRAM_ONE) /* coefficient of variation */

/* --- Amounts ---------------------------------------------------------------------------------- */

static struct sc_node part_of(struct sc_parse *p, const struct sc_node *node, const char *from,
			      size_t len)
{
	struct sc_node part = *node;

	while (len && *from == ' ') {
		from++;
		len--;
	}
	while (len && from[len - 1] == ' ')
		len--;
	part.text = sc_strndup(p->arena, from, len);
	return part;
}

/* "r0" or "r0/10". Returns 0: not a register at all, 1: read, -1: error. */
static int read_register(struct sc_parse *p, const struct sc_node *node, const char *name,
			 struct amount *out)
{
	const char *s = node->text;
	int64_t divisor = 1;
	struct sc_node part;

	if (s[0] != 'r' || s[1] < '0' || s[1] > '9' || (s[2] && s[2] != '/' && s[2] != ' '))
		return 0;
	if (s[1] - '0' >= PROGRAM_REGS) {
		sc_error(p, &node->mark, "%s: found '%s', expected a register r0..r%d", name, s,
			 PROGRAM_REGS - 1);
		return -1;
	}
	if (s[2]) {
		s += 2 + strspn(s + 2, " ");
		if (*s != '/') {
			sc_error(p, &node->mark, "%s: found '%s', expected r0 or r0/10", name,
				 node->text);
			return -1;
		}
		part = part_of(p, node, s + 1, strlen(s + 1));
		if (!sc_read_quantity(p, &part, name, SC_Q_COUNT, 1, INT_MAX, &divisor))
			return -1;
	}
	*out = (struct amount){AMOUNT_REGISTER, node->text[1] - '0', divisor};
	return 1;
}

/* "exp(5ms)": the function's name is `func`. Arguments into arg[]; returns their number or -1. */
static int read_arguments(struct sc_parse *p, const struct sc_node *node, const char *open,
			  struct sc_node arg[2])
{
	size_t len = strlen(node->text);
	const char *end = node->text + len - 1, *comma;
	int n = 0;

	if (*end != ')')
		return -1;
	for (const char *s = open + 1; s <= end && n < 2; s = comma + 1) {
		comma = memchr(s, ',', (size_t)(end - s));
		if (!comma)
			comma = end;
		arg[n++] = part_of(p, node, s, (size_t)(comma - s));
		if (comma == end)
			return n;
	}
	return -1;
}

bool sc_amount_read(struct sc_parse *p, const struct sc_node *node, const char *name, int kind,
		    struct amount *out)
{
	static const struct {
		const char *name, *usage;
		enum amount_kind kind;
		int args;
	} funcs[] = {{"exp(", "exp(MEAN)", AMOUNT_EXP, 1},
		     {"uniform(", "uniform(A, B)", AMOUNT_UNIFORM, 2},
		     {"lognormal(", "lognormal(MEAN, CV)", AMOUNT_LOGNORMAL, 2}};
	const int64_t max = INT64_MAX / 1024; /* leaves room for tails of distributions */
	struct sc_node arg[2];
	int reg;

	*out = (struct amount){.kind = AMOUNT_CONST};
	if (node->kind != SC_SCALAR)
		return sc_read_quantity(p, node, name, (enum sc_quantity)kind, 0, max, &out->a);
	reg = read_register(p, node, name, out);
	if (reg)
		return reg > 0;
	for (unsigned int i = 0; i < 3; i++) {
		size_t len = strlen(funcs[i].name);

		if (strncmp(node->text, funcs[i].name, len) != 0)
			continue;
		out->kind = funcs[i].kind;
		if (read_arguments(p, node, node->text + len - 1, arg) != funcs[i].args) {
			sc_error(p, &node->mark, "%s: found '%s', expected %s", name, node->text,
				 funcs[i].usage);
			return false;
		}
		if (!sc_read_quantity(p, &arg[0], name, (enum sc_quantity)kind, 0, max, &out->a))
			return false;
		if (out->kind == AMOUNT_UNIFORM)
			return sc_read_quantity(p, &arg[1], name, (enum sc_quantity)kind, out->a,
						max, &out->b);
		return out->kind == AMOUNT_EXP ||
		       sc_read_quantity(p, &arg[1], name, SC_Q_RATIO, 0, CV_MAX, &out->b);
	}
	return sc_read_quantity(p, node, name, (enum sc_quantity)kind, 0, max, &out->a);
}

/* --- Ops -------------------------------------------------------------------------------------- */

struct build {
	struct sc_parse *p;
	const struct workload *w;
	struct program *prog;
	unsigned int nest;
	bool ok;
	struct op spare; /* taken when the array is full: the program is refused then */
};

static bool read_list(struct build *b, const struct sc_node *list, const char *name);

static struct op *add_op(struct build *b, const struct sc_node *node, enum op_kind kind)
{
	struct op *op;

	if (b->prog->n_ops == PROGRAM_MAX_OPS) {
		if (b->ok)
			sc_error(b->p, &node->mark, "more than %d ops in program '%s'",
				 PROGRAM_MAX_OPS, b->prog->name);
		b->ok = false;
		return &b->spare;
	}
	op = &b->prog->op[b->prog->n_ops++];
	*op = (struct op){.kind = kind, .arg = -1};
	return op;
}

int sc_workload_find(struct sc_parse *p, const struct sc_node *node, const char *what,
		     const void *array, uint32_t n, size_t size)
{
	const char *names[WORKLOAD_MAX], *text, *close;

	assert(n <= WORKLOAD_MAX);
	if (!sc_read_text(p, node, what, &text))
		return -1;
	for (uint32_t i = 0; i < n; i++) {
		memcpy(&names[i], (const char *)array + i * size, sizeof(names[i]));
		if (strcmp(names[i], text) == 0)
			return (int)i;
	}
	close = sc_closest(text, names, n);
	if (close)
		sc_error(p, &node->mark, "no %s is named '%s'; did you mean '%s'?", what, text,
			 close);
	else
		sc_error(p, &node->mark, "no %s is named '%s'", what, text);
	return -1;
}

#define FIND(b, node, what, field, count, out)                                        \
	((*(out) = sc_workload_find((b)->p, node, what, (b)->w->field, (b)->w->count, \
				    sizeof((b)->w->field[0]))) >= 0)

static bool op_compute(struct build *b, const struct sc_node *v)
{
	struct op *op = add_op(b, v, OP_COMPUTE);
	const struct sc_node *c;
	struct sc_fields f;
	bool ok = true;

	if (v->kind != SC_MAP)
		return sc_amount_read(b->p, v, "compute", SC_Q_DURATION, &op->amount);
	sc_fields_open(&f, b->p, v, "compute");
	c = sc_require(&f, "work");
	if (c)
		ok = sc_amount_read(b->p, c, "work", SC_Q_DURATION, &op->amount);
	c = sc_take(&f, "background");
	if (c)
		ok = FIND(b, c, "background", background, n_backgrounds, &op->arg) && ok;
	sc_fields_close(&f);
	return ok;
}

static bool op_sleep(struct build *b, const struct sc_node *v)
{
	return sc_amount_read(b->p, v, "sleep", SC_Q_DURATION, &add_op(b, v, OP_SLEEP)->amount);
}

static bool lock_op(struct build *b, const struct sc_node *v, enum op_kind kind)
{
	struct op *op = add_op(b, v, kind);

	if (!FIND(b, v, "lock", lock, n_locks, &op->arg))
		return false;
	if (kind == OP_LOCK_SHARED && b->w->lock[op->arg].kind != LOCK_RW) {
		sc_error(b->p, &v->mark, "lock_shared: lock '%s' is not of kind rw", v->text);
		return false;
	}
	return true;
}

static bool op_lock(struct build *b, const struct sc_node *v)
{
	return lock_op(b, v, OP_LOCK);
}

static bool op_lock_shared(struct build *b, const struct sc_node *v)
{
	return lock_op(b, v, OP_LOCK_SHARED);
}

static bool op_unlock(struct build *b, const struct sc_node *v)
{
	return lock_op(b, v, OP_UNLOCK);
}

static bool op_io(struct build *b, const struct sc_node *v)
{
	struct op *op = add_op(b, v, OP_IO);
	const struct sc_node *device = v, *bytes = NULL;
	struct sc_fields f;

	if (v->kind == SC_MAP) {
		sc_fields_open(&f, b->p, v, "io");
		device = sc_require(&f, "device");
		bytes = sc_take(&f, "bytes");
		sc_fields_close(&f);
	}
	if (bytes && !sc_amount_read(b->p, bytes, "bytes", SC_Q_SIZE, &op->amount))
		return false;
	return device && FIND(b, device, "device", device, n_devices, &op->arg);
}

static bool op_wait(struct build *b, const struct sc_node *v)
{
	return FIND(b, v, "semaphore", semaphore, n_semaphores, &add_op(b, v, OP_WAIT)->arg);
}

static bool op_signal(struct build *b, const struct sc_node *v)
{
	struct op *op = add_op(b, v, OP_SIGNAL);
	const struct sc_node *semaphore = v, *count = NULL;
	struct sc_fields f;

	op->amount.a = 1;
	if (v->kind == SC_MAP) {
		sc_fields_open(&f, b->p, v, "signal");
		semaphore = sc_require(&f, "semaphore");
		count = sc_take(&f, "count");
		sc_fields_close(&f);
	}
	if (count && !sc_amount_read(b->p, count, "count", SC_Q_COUNT, &op->amount))
		return false;
	return semaphore && FIND(b, semaphore, "semaphore", semaphore, n_semaphores, &op->arg);
}

static bool op_barrier(struct build *b, const struct sc_node *v)
{
	return FIND(b, v, "barrier", barrier, n_barriers, &add_op(b, v, OP_BARRIER)->arg);
}

static bool op_send(struct build *b, const struct sc_node *v)
{
	return FIND(b, v, "channel", channel, n_channels, &add_op(b, v, OP_SEND)->arg);
}

static bool op_recv(struct build *b, const struct sc_node *v)
{
	return FIND(b, v, "channel", channel, n_channels, &add_op(b, v, OP_RECV)->arg);
}

static bool op_fork(struct build *b, const struct sc_node *v)
{
	return FIND(b, v, "pool", pool, n_pools, &add_op(b, v, OP_FORK)->arg);
}

static bool op_join(struct build *b, const struct sc_node *v)
{
	return FIND(b, v, "pool", pool, n_pools, &add_op(b, v, OP_JOIN)->arg);
}

/* The body of a loop or a chance, between begin (already there) and, for a loop, its OP_END. */
static bool body(struct build *b, const struct sc_node *list, uint32_t begin, bool loop)
{
	bool ok = true;

	if (++b->nest > PROGRAM_MAX_NEST) {
		sc_error(b->p, &list->mark, "loops and chances nest deeper than %d",
			 PROGRAM_MAX_NEST);
		ok = false;
	} else {
		ok = read_list(b, list, "do");
		if (loop)
			add_op(b, list, OP_END)->target = begin + 1;
		b->prog->op[begin].target = b->prog->n_ops;
	}
	b->nest--;
	return ok;
}

static bool op_loop(struct build *b, const struct sc_node *v)
{
	uint32_t begin = b->prog->n_ops;
	struct op *op = add_op(b, v, OP_LOOP);
	const struct sc_node *times, *list;
	struct sc_fields f;
	bool ok;

	if (!b->ok || !sc_fields_open(&f, b->p, v, "loop"))
		return false;
	times = sc_require(&f, "times");
	list = sc_require(&f, "do");
	sc_fields_close(&f);
	ok = times && list && sc_amount_read(b->p, times, "times", SC_Q_COUNT, &op->amount);
	return list && body(b, list, begin, true) && ok;
}

static bool op_forever(struct build *b, const struct sc_node *v)
{
	uint32_t begin = b->prog->n_ops;

	add_op(b, v, OP_FOREVER);
	return b->ok && body(b, v, begin, true);
}

static bool op_chance(struct build *b, const struct sc_node *v)
{
	uint32_t begin = b->prog->n_ops;
	const struct sc_node *list;
	struct sc_fields f;
	int64_t share = 0;
	bool ok;

	add_op(b, v, OP_CHANCE);
	if (!b->ok || !sc_fields_open(&f, b->p, v, "chance"))
		return false;
	sc_require(&f, "p");
	ok = sc_take_quantity(&f, "p", SC_Q_SHARE, 0, PROGRAM_ONE, &share);
	list = sc_require(&f, "do");
	sc_fields_close(&f);
	b->prog->op[begin].arg = (int32_t)share;
	return list && body(b, list, begin, false) && ok;
}

/* {time: A}, {size: A} or {count: A}: what a drawn or counted amount is. */
static bool typed_amount(struct build *b, struct sc_fields *f, struct amount *out)
{
	static const struct {
		const char *key;
		enum sc_quantity kind;
	} types[] = {{"time", SC_Q_DURATION}, {"size", SC_Q_SIZE}, {"count", SC_Q_COUNT}};
	const struct sc_node *v;
	unsigned int n = 0;
	bool ok = true;

	for (unsigned int i = 0; i < 3; i++) {
		v = sc_take(f, types[i].key);
		if (!v)
			continue;
		n++;
		ok = sc_amount_read(b->p, v, types[i].key, types[i].kind, out) && ok;
	}
	if (n != 1)
		sc_error(b->p, &f->map->mark, "expected one of time, size, count in %s", f->what);
	return ok && n == 1;
}

/* {semaphore: NAME, else: [...]} */
static bool op_try(struct build *b, const struct sc_node *v)
{
	uint32_t begin = b->prog->n_ops;
	const struct sc_node *semaphore, *list;
	struct sc_fields f;
	bool ok;

	add_op(b, v, OP_TRY);
	if (!b->ok || !sc_fields_open(&f, b->p, v, "try"))
		return false;
	semaphore = sc_require(&f, "semaphore");
	list = sc_require(&f, "else");
	sc_fields_close(&f);
	ok = semaphore &&
	     FIND(b, semaphore, "semaphore", semaphore, n_semaphores, &b->prog->op[begin].arg);
	return list && body(b, list, begin, false) && ok;
}

static bool op_clock(struct build *b, const struct sc_node *v)
{
	struct op *op = add_op(b, v, OP_CLOCK);

	return sc_amount_read(b->p, v, "clock", SC_Q_COUNT, &op->amount);
}

static bool op_draw(struct build *b, const struct sc_node *v)
{
	static const char *const regs[PROGRAM_REGS] = {"r0", "r1", "r2", "r3"};
	struct op *op = add_op(b, v, OP_DRAW);
	unsigned int reg = 0;
	struct sc_fields f;
	bool ok;

	if (!sc_fields_open(&f, b->p, v, "draw"))
		return false;
	sc_require(&f, "to");
	ok = sc_take_word(&f, "to", regs, PROGRAM_REGS, &reg);
	op->reg = (uint8_t)reg;
	ok = typed_amount(b, &f, &op->amount) && ok;
	sc_fields_close(&f);
	return ok;
}

static bool op_count(struct build *b, const struct sc_node *v)
{
	struct op *op = add_op(b, v, OP_COUNT);
	struct sc_fields f;
	bool ok;

	if (v->kind != SC_MAP)
		return sc_amount_read(b->p, v, "count", SC_Q_COUNT, &op->amount);
	sc_fields_open(&f, b->p, v, "count");
	ok = typed_amount(b, &f, &op->amount);
	sc_fields_close(&f);
	return ok;
}

static const struct {
	const char *name;
	enum op_kind kind;					    /* when it takes nothing */
	bool (*read)(struct build *b, const struct sc_node *value); /* NULL: takes nothing */
} ops[] = {
	{"compute", OP_COMPUTE, op_compute},
	{"sleep", OP_SLEEP, op_sleep},
	{"lock", OP_LOCK, op_lock},
	{"lock_shared", OP_LOCK_SHARED, op_lock_shared},
	{"unlock", OP_UNLOCK, op_unlock},
	{"io", OP_IO, op_io},
	{"wait", OP_WAIT, op_wait},
	{"signal", OP_SIGNAL, op_signal},
	{"barrier", OP_BARRIER, op_barrier},
	{"send", OP_SEND, op_send},
	{"recv", OP_RECV, op_recv},
	{"clock", OP_CLOCK, op_clock},
	{"shootdown", OP_SHOOTDOWN, NULL},
	{"fork", OP_FORK, op_fork},
	{"join", OP_JOIN, op_join},
	{"loop", OP_LOOP, op_loop},
	{"forever", OP_FOREVER, op_forever},
	{"draw", OP_DRAW, op_draw},
	{"chance", OP_CHANCE, op_chance},
	{"try", OP_TRY, op_try},
	{"count", OP_COUNT, op_count},
	{"done", OP_DONE, NULL},
	{"exit", OP_EXIT, NULL},
};

#define N_OPS (sizeof(ops) / sizeof(ops[0]))

static bool unknown_op(struct build *b, const struct sc_mark *mark, const char *name)
{
	const char *names[N_OPS], *close;

	for (size_t i = 0; i < N_OPS; i++)
		names[i] = ops[i].name;
	close = sc_closest(name, names, N_OPS);
	if (close)
		sc_error(b->p, mark, "unknown op '%s'; did you mean '%s'?", name, close);
	else
		sc_error(b->p, mark, "unknown op '%s'", name);
	return false;
}

static bool read_op(struct build *b, const struct sc_node *node)
{
	const struct sc_node *key = node, *value = NULL;

	if (node->kind == SC_MAP && node->n_children == 1) {
		value = node->child;
		key = value->key;
	} else if (node->kind != SC_SCALAR) {
		sc_error(b->p, &node->mark, "found %s, expected one op such as 'compute: 3ms'",
			 sc_describe(b->p, node));
		return false;
	}
	for (size_t i = 0; i < N_OPS; i++) {
		if (strcmp(ops[i].name, key->text) != 0)
			continue;
		if (!ops[i].read) {
			if (value && !sc_is_null(value)) {
				sc_error(b->p, &value->mark, "'%s' takes no value", key->text);
				return false;
			}
			add_op(b, node, ops[i].kind);
			return b->ok;
		}
		if (!value || sc_is_null(value)) {
			sc_error(b->p, &key->mark, "'%s' has no value", key->text);
			return false;
		}
		return ops[i].read(b, value) && b->ok;
	}
	return unknown_op(b, &key->mark, key->text);
}

static bool read_list(struct build *b, const struct sc_node *list, const char *name)
{
	bool ok = true;

	if (!sc_read_list(b->p, list, name))
		return false;
	for (const struct sc_node *c = list->child; c && b->ok; c = c->next)
		ok = read_op(b, c) && ok;
	return ok && b->ok;
}

/* An op of the list becomes at most two of the array (begin and end), and is at least one node. */
static size_t bound(const struct sc_node *node)
{
	size_t n = 2;

	for (const struct sc_node *c = node->child; c; c = c->next)
		n += bound(c);
	return n;
}

bool sc_workload_ops(struct sc_parse *p, const struct workload *w, const struct sc_node *list,
		     struct program *prog)
{
	struct build b = {.p = p, .w = w, .prog = prog, .ok = true};
	size_t room = bound(list);

	assert(prog->name);
	room = room < PROGRAM_MAX_OPS ? room : PROGRAM_MAX_OPS;
	prog->op = sc_alloc(p->arena, room, sizeof(struct op));
	prog->n_ops = 0;
	return read_list(&b, list, prog->name);
}
