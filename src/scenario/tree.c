/*
 * YAML into a tree of our own, through libfyaml; messages with places. See tree.h.
 */
#include "scenario/tree.h"

#include <assert.h>
#include <libfyaml.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "scenario/scenario.h"

#define MAX_DEPTH  64	       /* nested lists and maps */
#define MAX_NODES  200000      /* after expansion of aliases */
#define MAX_SCALAR (64 * 1024) /* bytes */

/* --- Messages --------------------------------------------------------------------------------- */

struct sc_said {
	struct sc_said *next;
	const char *line;
};

static bool said_before(struct sc_parse *p, const char *line)
{
	struct sc_said *said;

	for (said = p->said; said; said = said->next) {
		if (strcmp(said->line, line) == 0)
			return true;
	}
	said = sc_alloc(p->arena, 1, sizeof(*said));
	said->line = line;
	said->next = p->said;
	p->said = said;
	return false;
}

static bool say(struct sc_parse *p, const struct sc_mark *mark, const char *kind,
		const char *format, va_list args)
{
	const char *place = "", *line;
	char text[2048];

	assert(p && p->diag);
	vsnprintf(text, sizeof(text), format, args);
	if (mark && mark->line > 0)
		place = sc_format(p->arena, "%s:%d:%d: ", mark->file, mark->line, mark->column);
	else if (mark && mark->file)
		place = sc_format(p->arena, "%s: ", mark->file);
	if (p->variant && *p->variant)
		line = sc_format(p->arena, "%s%s: variant '%s': %s", place, kind, p->variant, text);
	else
		line = sc_format(p->arena, "%s%s: %s", place, kind, text);
	if (said_before(p, line))
		return false;
	if (p->diag->out)
		fprintf(p->diag->out, "%s\n", line);
	return true;
}

void sc_error(struct sc_parse *p, const struct sc_mark *mark, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(p, mark, "error", format, args);
	va_end(args);
	p->diag->errors++; /* a repeated message is still an error of its own */
}

void sc_warning(struct sc_parse *p, const struct sc_mark *mark, const char *format, ...)
{
	const char *variant = p->variant;
	va_list args;

	p->variant = NULL; /* a warning belongs to its place, whichever variant reads it */
	va_start(args, format);
	if (say(p, mark, "warning", format, args))
		p->diag->warnings++;
	va_end(args);
	p->variant = variant;
}

/* --- Reading ---------------------------------------------------------------------------------- */

struct reader {
	struct sc_parse *p;
	const char *file, *text; /* text: the whole document */
	size_t len;
	unsigned int nodes;
	bool failed;
};

static struct sc_mark mark_of(const struct reader *r, struct fy_node *fyn)
{
	struct sc_mark mark = {.file = r->file};
	const struct fy_mark *m = NULL;
	struct fy_token *token;

	if (fyn && fy_node_is_scalar(fyn)) {
		token = fy_node_get_scalar_token(fyn);
		m = token ? fy_token_start_mark(token) : NULL;
	}
	if (m) {
		mark.line = m->line + 1;
		mark.column = m->column + 1;
		/* The place of a quoted value is behind its quote, in every version of libfyaml. */
		if (m->input_pos < r->len && fy_node_get_style(fyn) != FYNS_PLAIN &&
		    strchr("'\"", r->text[m->input_pos]))
			mark.column++;
	}
	return mark;
}

static void fail(struct reader *r, const struct sc_mark *mark, const char *what)
{
	if (!r->failed)
		sc_error(r->p, mark, "%s", what);
	r->failed = true;
}

static struct sc_node *read_node(struct reader *r, struct fy_node *fyn, const struct sc_mark *near,
				 int depth);

static void read_scalar(struct reader *r, struct fy_node *fyn, struct sc_node *node)
{
	size_t len = 0;
	const char *text = fy_node_get_scalar(fyn, &len);
	enum fy_node_style style = fy_node_get_style(fyn);

	if (!text)
		len = 0;
	if (len > MAX_SCALAR)
		fail(r, &node->mark, "this value is too long (limit 64 KiB)");
	else if (len && memchr(text, 0, len))
		fail(r, &node->mark, "a NUL character in a value");
	else
		node->text = sc_strndup(r->p->arena, text, len);
	if (!node->text)
		node->text = "";
	node->quoted = style != FYNS_PLAIN && style != FYNS_ANY;
}

static void read_list(struct reader *r, struct fy_node *fyn, struct sc_node *node, int depth)
{
	struct sc_node **tail = &node->child;
	struct fy_node *item;
	void *it = NULL;

	while ((item = fy_node_sequence_iterate(fyn, &it)) && !r->failed) {
		*tail = read_node(r, item, &node->mark, depth + 1);
		if (node->n_children == 0)
			node->mark = (*tail)->mark;
		node->n_children++;
		tail = &(*tail)->next;
	}
}

static void read_map(struct reader *r, struct fy_node *fyn, struct sc_node *node, int depth)
{
	struct sc_node **tail = &node->child;
	struct fy_node_pair *pair;
	struct sc_node *key, *value, *old;
	void *it = NULL;

	while ((pair = fy_node_mapping_iterate(fyn, &it)) && !r->failed) {
		key = read_node(r, fy_node_pair_key(pair), &node->mark, depth + 1);
		if (node->n_children == 0)
			node->mark = key->mark;
		if (key->kind != SC_SCALAR) {
			fail(r, &key->mark, "a key must be a plain word");
			return;
		}
		value = read_node(r, fy_node_pair_value(pair), &key->mark, depth + 1);
		old = sc_map_find(node, key->text);
		if (old) {
			sc_error(r->p, &key->mark,
				 "key '%s' is repeated; it was first given at line %d", key->text,
				 old->key->mark.line);
			continue;
		}
		value->key = key;
		node->n_children++;
		*tail = value;
		tail = &value->next;
	}
}

/* `near` is the place reported when the node itself has none (an empty value, an empty list). */
static struct sc_node *read_node(struct reader *r, struct fy_node *fyn, const struct sc_mark *near,
				 int depth)
{
	struct sc_node *node = sc_alloc(r->p->arena, 1, sizeof(*node));

	node->mark = mark_of(r, fyn);
	if (node->mark.line == 0)
		node->mark = *near;
	node->text = "";
	if (!fyn)
		return node;
	if (depth > MAX_DEPTH || ++r->nodes > MAX_NODES) {
		fail(r, &node->mark,
		     depth > MAX_DEPTH ? "lists and mappings are nested too deeply"
				       : "the document is too large");
		return node;
	}
	if (fy_node_is_alias(fyn)) {
		struct fy_node *target = fy_node_resolve_alias(fyn);

		if (!target) {
			fail(r, &node->mark, "this alias names no anchor");
			return node;
		}
		return read_node(r, target, &node->mark, depth + 1);
	}
	switch (fy_node_get_type(fyn)) {
	case FYNT_SCALAR:
		read_scalar(r, fyn, node);
		break;
	case FYNT_SEQUENCE:
		node->kind = SC_LIST;
		read_list(r, fyn, node, depth);
		break;
	case FYNT_MAPPING:
		node->kind = SC_MAP;
		read_map(r, fyn, node, depth);
		break;
	}
	return node;
}

static void report_yaml_errors(struct sc_parse *p, const char *file, struct fy_diag *diag)
{
	struct fy_diag_error *e;
	void *it = NULL;
	unsigned int n = 0;

	while ((e = fy_diag_errors_iterate(diag, &it))) {
		struct sc_mark mark = {.file = file, .line = e->line, .column = e->column};

		sc_error(p, &mark, "not valid YAML: %s", e->msg ? e->msg : "syntax error");
		n++;
	}
	if (n == 0)
		sc_error(p, &(struct sc_mark){.file = file}, "not valid YAML");
}

static struct sc_node *read_document(struct reader *r, struct fy_parser *parser,
				     struct fy_diag *diag)
{
	struct sc_parse *p = r->p;
	const char *file = r->file;
	struct sc_mark start = {.file = file, .line = 1, .column = 1};
	struct fy_document *doc, *second;
	struct sc_node *root = NULL;
	unsigned int errors = p->diag->errors;

	doc = fy_parse_load_document(parser);
	if (!doc) {
		if (fy_parser_get_stream_error(parser))
			report_yaml_errors(p, file, diag);
		else
			sc_error(p, &(struct sc_mark){.file = file}, "the file is empty");
		return NULL;
	}
	if (fy_document_root(doc))
		root = read_node(r, fy_document_root(doc), &start, 0);
	else
		sc_error(p, &start, "the file is empty");
	fy_parse_document_destroy(parser, doc);
	second = fy_parse_load_document(parser);
	if (second) {
		sc_error(p, &start, "more than one YAML document in the file");
		fy_parse_document_destroy(parser, second);
	} else if (fy_parser_get_stream_error(parser)) {
		report_yaml_errors(p, file, diag);
	}
	return p->diag->errors == errors ? root : NULL;
}

struct sc_node *sc_tree_read(struct sc_parse *p, const char *name, const char *text, size_t len)
{
	struct fy_diag_cfg diag_cfg;
	struct fy_parse_cfg cfg = {.flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG |
					    FYPCF_ALLOW_DUPLICATE_KEYS};
	struct reader r = {.p = p, .file = sc_strdup(p->arena, name), .text = text, .len = len};
	struct sc_node *root = NULL;
	struct fy_parser *parser;

	assert(text || len == 0);
	if (memchr(text, 0, len)) {
		sc_error(p, &(struct sc_mark){.file = name}, "not a text file (it has a NUL byte)");
		return NULL;
	}
	if (strspn(text, " \t\r\n") == len) {
		sc_error(p, &(struct sc_mark){.file = name}, "the file is empty");
		return NULL;
	}
	fy_diag_cfg_default(&diag_cfg);
	diag_cfg.fp = NULL;
	cfg.diag = fy_diag_create(&diag_cfg);
	if (cfg.diag) {
		fy_diag_set_collect_errors(cfg.diag, true);
		parser = fy_parser_create(&cfg);
		if (parser && fy_parser_set_string(parser, text, len) == 0)
			root = read_document(&r, parser, cfg.diag);
		else
			sc_error(p, &(struct sc_mark){.file = name},
				 "cannot start the YAML parser");
		fy_parser_destroy(parser);
		fy_diag_destroy(cfg.diag);
	}
	return root;
}

/* --- Trees ------------------------------------------------------------------------------------ */

struct sc_node *sc_tree_copy(struct sc_parse *p, const struct sc_node *node)
{
	struct sc_node *copy = sc_alloc(p->arena, 1, sizeof(*copy));
	struct sc_node **tail = &copy->child;

	*copy = *node;
	copy->child = NULL;
	copy->next = NULL;
	for (const struct sc_node *c = node->child; c; c = c->next) {
		*tail = sc_tree_copy(p, c);
		tail = &(*tail)->next;
	}
	return copy;
}

struct sc_node *sc_tree_scalar(struct sc_parse *p, const struct sc_mark *mark, const char *text)
{
	struct sc_node *node = sc_alloc(p->arena, 1, sizeof(*node));

	assert(text);
	node->mark = *mark;
	node->text = sc_strdup(p->arena, text);
	return node;
}

struct sc_node *sc_map_find(const struct sc_node *map, const char *key)
{
	if (!map || map->kind != SC_MAP)
		return NULL;
	for (struct sc_node *c = map->child; c; c = c->next) {
		if (strcmp(c->key->text, key) == 0)
			return c;
	}
	return NULL;
}

void sc_map_put(struct sc_parse *p, struct sc_node *map, const char *key, struct sc_node *value)
{
	struct sc_node **at = &map->child;

	assert(map->kind == SC_MAP);
	assert(!value->next);
	while (*at && strcmp((*at)->key->text, key) != 0)
		at = &(*at)->next;
	if (*at) {
		value->key = (*at)->key;
		value->next = (*at)->next;
	} else {
		value->key = sc_tree_scalar(p, &value->mark, key);
		map->n_children++;
	}
	*at = value;
}

bool sc_is_null(const struct sc_node *node)
{
	return node->kind == SC_SCALAR && !node->quoted &&
	       (!*node->text || strcmp(node->text, "~") == 0 || strcmp(node->text, "null") == 0);
}

const char *sc_describe(struct sc_parse *p, const struct sc_node *node)
{
	if (node->kind == SC_LIST)
		return "a list";
	if (node->kind == SC_MAP)
		return "a mapping";
	if (sc_is_null(node))
		return "nothing";
	return sc_format(p->arena, "'%.80s'", node->text);
}

/* --- Did you mean ----------------------------------------------------------------------------- */

#define MAX_WORD 40

/*
 * Edits (insert, delete, replace, swap of neighbours) between two words; large if one is too long.
 */
static unsigned int edits(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);
	unsigned int d[MAX_WORD + 1][MAX_WORD + 1];

	if (n > MAX_WORD || m > MAX_WORD)
		return 2 * MAX_WORD;
	for (unsigned int i = 0; i <= n; i++)
		d[i][0] = i;
	for (unsigned int j = 0; j <= m; j++)
		d[0][j] = j;
	for (size_t i = 1; i <= n; i++) {
		for (size_t j = 1; j <= m; j++) {
			unsigned int best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

			if (d[i - 1][j] + 1 < best)
				best = d[i - 1][j] + 1;
			if (d[i][j - 1] + 1 < best)
				best = d[i][j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    d[i - 2][j - 2] + 1 < best)
				best = d[i - 2][j - 2] + 1;
			d[i][j] = best;
		}
	}
	return d[n][m];
}

const char *sc_closest(const char *text, const char *const *candidates, size_t n)
{
	unsigned int best = 2 * MAX_WORD, d;
	const char *found = NULL;
	size_t limit = strlen(text) / 3; /* so much of the word may be wrong */

	for (size_t i = 0; i < n; i++) {
		if (!candidates[i])
			continue;
		d = edits(text, candidates[i]);
		if (d < best && d <= limit) {
			best = d;
			found = candidates[i];
		}
	}
	return found;
}
