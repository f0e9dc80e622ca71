/*
 * Parser of expectations. Blanks between tokens are free; a '-' inside a name belongs to it.
 *
 *   line    = expr cmp expr [ ( "+-" | "±" ) expr ]      cmp = < <= == != >= >
 *   expr    = product { ( "+" | "-" ) product }
 *   product = factor { ( "*" | "/" ) factor }
 *   factor  = [ "-" ] ( number [ unit ] | reference | "(" expr ")" | call )
 *   call    = func "(" expr { "," expr } ")"
 *   reference = entity [ ":" number ] "." metric [ "[" variant "]" ]
 *   func    = abs | min | max | sum | mean
 *
 * Law: dimensions agree. Times are compared and added with times, percentages with percentages,
 * numbers with numbers; a percentage may multiply anything. A tolerance in per cent is a share of
 * the right side, unless the right side is itself a percentage: then it is percentage points.
 */
#include "scenario/expect.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/fields.h"

#define MAX_DEPTH 32 /* nested parentheses */
#define MAX_WORD  128

struct parser {
	struct sc_parse *p;
	const struct scenario_file *file;
	struct sc_mark mark; /* of the text */
	const char *text, *s;
	unsigned int depth;
	bool failed;
	bool some_free; /* a reference without variant was seen */
};

static struct sc_expr *parse_expr(struct parser *e);

/* Reports the first error only: what follows would be nonsense. */
static struct sc_expr *wrong(struct parser *e, const char *at, const char *what)
{
	struct sc_mark mark = e->mark;

	if (!e->failed) {
		mark.column += (int)(at - e->text);
		sc_error(e->p, &mark, "%s in '%s'", what, e->text);
	}
	e->failed = true;
	return NULL;
}

#define TEXT(e, ...) sc_format((e)->p->arena, __VA_ARGS__)

static void blanks(struct parser *e)
{
	while (isspace((unsigned char)*e->s))
		e->s++;
}

static bool accept(struct parser *e, const char *token)
{
	size_t len = strlen(token);

	blanks(e);
	if (strncmp(e->s, token, len) != 0)
		return false;
	e->s += len;
	return true;
}

static struct sc_expr *new_expr(struct parser *e, enum sc_expr_op op, enum sc_dim dim)
{
	struct sc_expr *x = sc_alloc(e->p->arena, 1, sizeof(*x));

	x->op = op;
	x->dim = dim;
	return x;
}

static const char *dim_name(enum sc_dim dim)
{
	static const char *const names[] = {"a number", "a time", "a percentage"};

	return names[dim];
}

/* --- Numbers ---------------------------------------------------------------------------------- */

static struct sc_expr *parse_number(struct parser *e)
{
	static const struct {
		const char *name;
		enum sc_dim dim;
		double scale;
	} units[] = {
		{"", SC_DIM_NUMBER, 1},	    {"%", SC_DIM_PERCENT, 1},  {"ns", SC_DIM_TIME, 1},
		{"us", SC_DIM_TIME, 1e3},   {"ms", SC_DIM_TIME, 1e6},  {"s", SC_DIM_TIME, 1e9},
		{"min", SC_DIM_TIME, 6e10}, {"h", SC_DIM_TIME, 36e11}, {"k", SC_DIM_NUMBER, 1e3},
		{"M", SC_DIM_NUMBER, 1e6},  {"G", SC_DIM_NUMBER, 1e9},
	};
	const char *start = e->s;
	struct sc_expr *x;
	char digits[64], unit[8];
	size_t n = strspn(e->s, "0123456789."), u;

	if (n >= sizeof(digits))
		return wrong(e, start, "number too long");
	memcpy(digits, e->s, n);
	digits[n] = 0;
	e->s += n;
	u = *e->s == '%';
	while (!(u && *e->s == '%') && isalpha((unsigned char)e->s[u]))
		u++;
	if (u >= sizeof(unit))
		return wrong(e, e->s, "unknown unit");
	memcpy(unit, e->s, u);
	unit[u] = 0;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		char *end;

		if (strcmp(unit, units[i].name) != 0)
			continue;
		e->s += u;
		x = new_expr(e, SC_EXPR_NUMBER, units[i].dim);
		x->number = strtod(digits, &end) * units[i].scale;
		return *end ? wrong(e, start, "not a number") : x;
	}
	return wrong(e, e->s, TEXT(e, "unknown unit '%s'", unit));
}

/* --- References ------------------------------------------------------------------------------- */

/* A name: letters, digits, '_', and '-' between such. */
static bool word(struct parser *e, char out[MAX_WORD])
{
	size_t n = 0;

	if (!isalpha((unsigned char)*e->s))
		return false;
	while (isalnum((unsigned char)e->s[n]) || e->s[n] == '_' ||
	       (e->s[n] == '-' && isalnum((unsigned char)e->s[n + 1])))
		n++;
	if (n >= MAX_WORD)
		return false;
	memcpy(out, e->s, n);
	out[n] = 0;
	e->s += n;
	return true;
}

static const struct sc_metric *find_metric(struct parser *e, const char *at, const char *name)
{
	size_t n;
	const struct sc_metric *table = sc_metrics(&n);
	const char *names[128], *close;

	assert(n <= 128);
	for (size_t i = 0; i < n; i++) {
		if (strcmp(table[i].name, name) == 0)
			return &table[i];
		names[i] = table[i].name;
	}
	close = sc_closest(name, names, n);
	if (close)
		wrong(e, at, TEXT(e, "unknown metric '%s'; did you mean '%s'?", name, close));
	else
		wrong(e, at, TEXT(e, "unknown metric '%s'", name));
	return NULL;
}

static bool parse_selector(struct parser *e, struct sc_ref *ref)
{
	const char *start = ++e->s, *end = strchr(start, ']');

	ref->variant = -1;
	if (!end) {
		wrong(e, start - 1, "no ']' after '['");
		return false;
	}
	for (unsigned int i = 0; i < e->file->n_variants; i++) {
		const char *name = e->file->variant[i].variant;

		if (strlen(name) == (size_t)(end - start) &&
		    strncmp(name, start, strlen(name)) == 0)
			ref->variant = (int)i;
	}
	if (ref->variant < 0) {
		wrong(e, start, TEXT(e, "no variant is named '%.*s'", (int)(end - start), start));
		return false;
	}
	e->s = end + 1;
	return true;
}

/* The VM, vCPU or pCPU exists in the variant of the reference (in some one, if it names none). */
static bool entity_exists(const struct parser *e, const struct sc_ref *ref, bool *name_known)
{
	unsigned int first, n;
	bool ok = false;

	*name_known = false;
	for (unsigned int i = 0; i < e->file->n_variants; i++) {
		const struct scenario *s = &e->file->variant[i];

		if (ref->variant >= 0 && ref->variant != (int)i)
			continue;
		if (ref->scope == SC_SCOPE_CPU) {
			*name_known = true;
			ok |= ref->index < SC_MAX_CPUS &&
			      hv_mask_test(&s->topo.online, (unsigned int)ref->index);
		} else if (scenario_find(s, ref->entity, &first, &n)) {
			*name_known = true;
			ok |= ref->index < 0 || (unsigned int)ref->index < s->vm[first].maxvcpus;
		}
	}
	return ok;
}

static bool check_entity(struct parser *e, const char *at, const struct sc_ref *ref)
{
	bool known;

	if (ref->scope == SC_SCOPE_HOST)
		return true;
	if (entity_exists(e, ref, &known))
		return true;
	if (ref->scope == SC_SCOPE_CPU)
		wrong(e, at, TEXT(e, "pCPU %d is not online", ref->index));
	else if (known)
		wrong(e, at, TEXT(e, "VM '%s' has no vCPU %d", ref->entity, ref->index));
	else
		wrong(e, at,
		      TEXT(e, "no VM is named '%s' (names: VMs, groups, host, cpu:N)",
			   ref->entity));
	return false;
}

static bool check_scope(struct parser *e, const char *at, const struct sc_ref *ref)
{
	const struct sc_metric *m = ref->metric;

	if (!(m->scopes & ref->scope)) {
		wrong(e, at,
		      TEXT(e, "metric '%s' is kept for%s%s%s, not for '%s'", m->name,
			   m->scopes & SC_SCOPE_VM ? " VMs" : "",
			   m->scopes & SC_SCOPE_CPU ? " pCPUs" : "",
			   m->scopes & SC_SCOPE_HOST ? " the host" : "", ref->entity));
		return false;
	}
	if (ref->scope == SC_SCOPE_VM && ref->index >= 0 && !m->vcpu) {
		wrong(e, at, TEXT(e, "metric '%s' is not kept for a single vCPU", m->name));
		return false;
	}
	return true;
}

static struct sc_expr *parse_ref(struct parser *e, const char *start, const char *entity)
{
	struct sc_expr *x = new_expr(e, SC_EXPR_REF, SC_DIM_NUMBER);
	struct sc_ref *ref = &x->ref;
	const char *at;
	char name[MAX_WORD];

	*ref = (struct sc_ref){.index = -1, .variant = -1, .scope = SC_SCOPE_VM};
	ref->entity = sc_strdup(e->p->arena, entity);
	if (strcmp(entity, "host") == 0)
		ref->scope = SC_SCOPE_HOST;
	else if (strcmp(entity, "cpu") == 0)
		ref->scope = SC_SCOPE_CPU;
	if (*e->s == ':') {
		long index = strtol(e->s + 1, NULL, 10);

		at = ++e->s;
		e->s += strspn(e->s, "0123456789");
		if (e->s == at || index > 1000000)
			return wrong(e, at, "expected a vCPU or pCPU number after ':'");
		if (ref->scope == SC_SCOPE_HOST)
			return wrong(e, at, "the host has no number");
		ref->index = (int)index;
	} else if (ref->scope == SC_SCOPE_CPU) {
		return wrong(e, e->s, "expected cpu:NUMBER");
	}
	if (*e->s != '.')
		return wrong(e, e->s, TEXT(e, "expected '.METRIC' after '%s'", entity));
	at = ++e->s;
	if (!word(e, name))
		return wrong(e, at, "expected the name of a metric");
	ref->metric = find_metric(e, at, name);
	if (!ref->metric || (*e->s == '[' && !parse_selector(e, ref)))
		return NULL;
	if (!check_entity(e, start, ref) || !check_scope(e, at, ref))
		return NULL;
	x->dim = ref->metric->dim;
	if (ref->variant < 0)
		e->some_free = true;
	return x;
}

/* --- Expressions ------------------------------------------------------------------------------ */

static struct sc_expr *parse_call(struct parser *e, const char *at, const char *name)
{
	static const struct {
		const char *name;
		enum sc_expr_op many, one; /* of several arguments; of one reference */
	} funcs[] = {
		{"abs", SC_EXPR_ABS, SC_EXPR_ABS},     {"min", SC_EXPR_MIN, SC_EXPR_ANY_MIN},
		{"max", SC_EXPR_MAX, SC_EXPR_ANY_MAX}, {"sum", SC_EXPR_SUM, SC_EXPR_SUM},
		{"mean", SC_EXPR_MEAN, SC_EXPR_MEAN},
	};
	struct sc_expr *x = NULL, **tail;
	unsigned int n = 0, f;

	for (f = 0; f < 5 && strcmp(funcs[f].name, name) != 0; f++)
		;
	if (f == 5)
		return wrong(e, at,
			     TEXT(e, "unknown function '%s', expected abs, min, max, sum or mean",
				  name));
	x = new_expr(e, funcs[f].many, SC_DIM_NUMBER);
	tail = &x->arg;
	do {
		*tail = parse_expr(e);
		if (!*tail)
			return NULL;
		if (n++ && (*tail)->dim != x->arg->dim)
			return wrong(e, at, TEXT(e, "the arguments of %s() differ in kind", name));
		tail = &(*tail)->next;
	} while (accept(e, ","));
	if (!accept(e, ")"))
		return wrong(e, e->s, "expected ')'");
	x->dim = x->arg->dim;
	if (n == 1 && x->arg->op == SC_EXPR_REF)
		x->op = funcs[f].one;
	else if (x->op == SC_EXPR_SUM || x->op == SC_EXPR_MEAN)
		return wrong(e, at, TEXT(e, "%s() takes one name.metric", name));
	else if (x->op == SC_EXPR_ABS && n != 1)
		return wrong(e, at, "abs() takes one argument");
	return x;
}

static struct sc_expr *parse_factor(struct parser *e)
{
	struct sc_expr *x, *arg;
	const char *at;
	char name[MAX_WORD];

	blanks(e);
	at = e->s;
	if (++e->depth > MAX_DEPTH)
		return wrong(e, at, "nested too deeply");
	if (accept(e, "-")) {
		arg = parse_factor(e);
		if (!arg)
			return NULL;
		x = new_expr(e, SC_EXPR_NEG, arg->dim);
		x->arg = arg;
	} else if (accept(e, "(")) {
		x = parse_expr(e);
		if (x && !accept(e, ")"))
			return wrong(e, e->s, "expected ')'");
	} else if (isdigit((unsigned char)*e->s)) {
		x = parse_number(e);
	} else if (word(e, name)) {
		x = accept(e, "(") ? parse_call(e, at, name) : parse_ref(e, at, name);
	} else {
		return wrong(e, at, *at ? "expected a number or NAME.METRIC" : "unexpected end");
	}
	e->depth--;
	return x;
}

static struct sc_expr *binary(struct parser *e, enum sc_expr_op op, enum sc_dim dim,
			      struct sc_expr *a, struct sc_expr *b)
{
	struct sc_expr *x = new_expr(e, op, dim);

	x->arg = a;
	a->next = b;
	return x;
}

/* The dimension of a product or quotient; -1: none that we know. */
static int product_dim(enum sc_expr_op op, enum sc_dim a, enum sc_dim b)
{
	if (b == SC_DIM_NUMBER)
		return a;
	if (op == SC_EXPR_DIV)
		return a == b ? SC_DIM_NUMBER : -1;
	if (a == SC_DIM_NUMBER)
		return b;
	if (b == SC_DIM_PERCENT)
		return a;
	return a == SC_DIM_PERCENT ? (int)b : -1;
}

static struct sc_expr *parse_product(struct parser *e)
{
	struct sc_expr *a = parse_factor(e), *b;
	enum sc_expr_op op;
	const char *at;
	int dim;

	while (a) {
		blanks(e);
		at = e->s;
		if (accept(e, "*"))
			op = SC_EXPR_MUL;
		else if (accept(e, "/"))
			op = SC_EXPR_DIV;
		else
			break;
		b = parse_factor(e);
		if (!b)
			return NULL;
		dim = product_dim(op, a->dim, b->dim);
		if (dim < 0)
			return wrong(e, at,
				     TEXT(e, "%s cannot be %s %s", dim_name(a->dim),
					  op == SC_EXPR_MUL ? "multiplied with" : "divided by",
					  dim_name(b->dim)));
		a = binary(e, op, (enum sc_dim)dim, a, b);
	}
	return a;
}

static struct sc_expr *parse_expr(struct parser *e)
{
	struct sc_expr *a = parse_product(e), *b;
	enum sc_expr_op op;
	const char *at;

	while (a) {
		blanks(e);
		at = e->s;
		if (strncmp(at, "+-", 2) == 0)
			break;
		if (accept(e, "+"))
			op = SC_EXPR_ADD;
		else if (accept(e, "-"))
			op = SC_EXPR_SUB;
		else
			break;
		b = parse_product(e);
		if (!b)
			return NULL;
		if (a->dim != b->dim)
			return wrong(e, at,
				     TEXT(e, "%s and %s do not add up", dim_name(a->dim),
					  dim_name(b->dim)));
		a = binary(e, op, a->dim, a, b);
	}
	return a;
}

static bool parse_cmp(struct parser *e, enum sc_cmp *cmp)
{
	static const struct {
		const char *token;
		enum sc_cmp cmp;
	} cmps[] = {{"<=", SC_LE}, {">=", SC_GE}, {"==", SC_EQ},
		    {"!=", SC_NE}, {"<", SC_LT},  {">", SC_GT}};

	for (unsigned int i = 0; i < 6; i++) {
		if (accept(e, cmps[i].token)) {
			*cmp = cmps[i].cmp;
			return true;
		}
	}
	if (!e->failed)
		wrong(e, e->s,
		      *e->s == '=' ? "'=' is no comparison, expected '=='"
				   : "expected a comparison (<, <=, ==, !=, >=, >)");
	return false;
}

static bool parse_line(struct parser *e, struct sc_expect *x)
{
	static const char *const like[] = {"a plain number", "a time such as 12ms",
					   "a percentage such as 5%"};
	const char *at;

	x->lhs = parse_expr(e);
	if (!x->lhs || !parse_cmp(e, &x->cmp))
		return false;
	blanks(e);
	at = e->s;
	x->rhs = parse_expr(e);
	if (!x->rhs)
		return false;
	if (x->lhs->dim != x->rhs->dim)
		return wrong(e, at,
			     TEXT(e, "%s is compared with %s, expected %s", dim_name(x->lhs->dim),
				  dim_name(x->rhs->dim), like[x->lhs->dim]));
	blanks(e);
	at = e->s;
	if (accept(e, "+-") || accept(e, "\u00b1")) {
		x->tolerance = parse_expr(e);
		if (!x->tolerance)
			return false;
		x->relative = x->tolerance->dim == SC_DIM_PERCENT && x->rhs->dim != SC_DIM_PERCENT;
		if (!x->relative && x->tolerance->dim != x->rhs->dim)
			return wrong(e, at,
				     TEXT(e, "the tolerance is %s, expected %s",
					  dim_name(x->tolerance->dim), dim_name(x->rhs->dim)));
	}
	blanks(e);
	if (*e->s)
		return wrong(e, e->s, TEXT(e, "unexpected '%.20s'", e->s));
	return true;
}

/* --- The list --------------------------------------------------------------------------------- */

static bool read_one(struct sc_parse *p, const struct sc_node *node,
		     const struct scenario_file *file, struct sc_expect *out)
{
	static const char *const over_words[] = {"mean", "each"};
	const struct sc_node *that = node;
	struct parser e = {.p = p, .file = file};
	struct sc_fields f;
	unsigned int word_index;

	*out = (struct sc_expect){.over = SC_OVER_MEAN};
	if (node->kind == SC_MAP) {
		sc_fields_open(&f, p, node, "an expectation");
		that = sc_require(&f, "that");
		sc_take_text(&f, "why", &out->why);
		if (sc_take_word(&f, "seeds", over_words, 2, &word_index))
			out->over = (enum sc_over)word_index;
		sc_fields_close(&f);
		if (!that)
			return false;
	}
	if (!sc_read_text(p, that, "expect", &out->text))
		return false;
	e.mark = that->mark;
	e.text = out->text;
	e.s = out->text;
	out->line = that->mark.line;
	if (!parse_line(&e, out)) {
		assert(e.failed);
		return false;
	}
	out->per_variant = e.some_free;
	return true;
}

void sc_expect_read(struct sc_parse *p, const struct sc_node *list, struct scenario_file *file)
{
	if (!list || !sc_read_list(p, list, "expect"))
		return;
	file->expect = sc_alloc(p->arena, list->n_children, sizeof(file->expect[0]));
	for (const struct sc_node *c = list->child; c; c = c->next) {
		if (read_one(p, c, file, &file->expect[file->n_expects]))
			file->n_expects++;
	}
}
