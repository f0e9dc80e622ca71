/*
 * Strict reading of mappings; see fields.h.
 */
#include "scenario/fields.h"

#include <assert.h>
#include <ctype.h>
#include <stddef.h>
#include <string.h>

bool sc_fields_open(struct sc_fields *f, struct sc_parse *p, const struct sc_node *node,
		    const char *what)
{
	assert(p && what);
	*f = (struct sc_fields){.p = p, .what = what};
	if (!node)
		return true;
	if (node->kind != SC_MAP) {
		sc_error(p, &node->mark, "%s: found %s, expected a mapping of keys to values", what,
			 sc_describe(p, node));
		return false;
	}
	f->map = node;
	return true;
}

static void know(struct sc_fields *f, const char *key)
{
	assert(f->n_known < SC_MAX_KEYS);
	f->known[f->n_known++] = key;
}

static bool is_known(const struct sc_fields *f, const char *key)
{
	for (unsigned int i = 0; i < f->n_known; i++) {
		if (strcmp(f->known[i], key) == 0)
			return true;
	}
	return false;
}

static const char *list_known(struct sc_fields *f)
{
	const char *text = "";

	for (unsigned int i = 0; i < f->n_known; i++)
		text = sc_format(f->p->arena, "%s%s%s", text, i ? ", " : "", f->known[i]);
	return text;
}

void sc_fields_close(struct sc_fields *f)
{
	const char *close;

	if (!f->map)
		return;
	for (const struct sc_node *c = f->map->child; c; c = c->next) {
		if (is_known(f, c->key->text))
			continue;
		close = sc_closest(c->key->text, f->known, f->n_known);
		if (close)
			sc_error(f->p, &c->key->mark, "unknown key '%s' in %s; did you mean '%s'?",
				 c->key->text, f->what, close);
		else
			sc_error(f->p, &c->key->mark, "unknown key '%s' in %s; expected one of: %s",
				 c->key->text, f->what, list_known(f));
	}
}

const struct sc_node *sc_take(struct sc_fields *f, const char *key)
{
	const struct sc_node *node;

	know(f, key);
	node = sc_map_find(f->map, key);
	if (node && sc_is_null(node)) {
		sc_error(f->p, &node->key->mark, "'%s' has no value", key);
		return NULL;
	}
	return node;
}

const struct sc_node *sc_require(struct sc_fields *f, const char *key)
{
	const struct sc_node *node = sc_take(f, key);

	if (!node && f->map && !sc_map_find(f->map, key))
		sc_error(f->p, &f->map->mark, "'%s' is missing in %s", key, f->what);
	return node;
}

const char *sc_range_text(struct sc_parse *p, enum sc_quantity kind, int64_t min, int64_t max)
{
	char low[48], high[48];

	sc_quantity_format(kind, min, low);
	sc_quantity_format(kind, max, high);
	if (max == INT64_MAX)
		return sc_format(p->arena, "at least %s", low);
	return sc_format(p->arena, "%s..%s", low, high);
}

bool sc_read_quantity(struct sc_parse *p, const struct sc_node *node, const char *name,
		      enum sc_quantity kind, int64_t min, int64_t max, int64_t *out)
{
	enum sc_quantity_error error = SC_Q_NOT_A_NUMBER;
	int64_t value = 0;

	assert(min <= max);
	if (node->kind == SC_SCALAR)
		error = sc_quantity_parse(node->text, kind, &value);
	switch (error) {
	case SC_Q_OK:
		break;
	case SC_Q_NO_UNIT:
		sc_error(p, &node->mark, "%s: '%s' has no unit, expected %s", name, node->text,
			 sc_quantity_expected(kind));
		return false;
	case SC_Q_OVERFLOW:
		sc_error(p, &node->mark, "%s: '%s' is too large, expected %s", name, node->text,
			 sc_range_text(p, kind, min, max));
		return false;
	case SC_Q_NOT_A_NUMBER:
	case SC_Q_WRONG_UNIT:
		sc_error(p, &node->mark, "%s: found %s, expected %s", name, sc_describe(p, node),
			 sc_quantity_expected(kind));
		return false;
	}
	if (value < min || value > max) {
		sc_error(p, &node->mark, "%s: %s is out of range, expected %s", name, node->text,
			 sc_range_text(p, kind, min, max));
		return false;
	}
	*out = value;
	return true;
}

bool sc_take_quantity(struct sc_fields *f, const char *key, enum sc_quantity kind, int64_t min,
		      int64_t max, int64_t *out)
{
	const struct sc_node *node = sc_take(f, key);

	return node && sc_read_quantity(f->p, node, key, kind, min, max, out);
}

bool sc_take_uint(struct sc_fields *f, const char *key, unsigned int min, unsigned int max,
		  unsigned int *out)
{
	int64_t value;

	if (!sc_take_quantity(f, key, SC_Q_COUNT, min, max, &value))
		return false;
	*out = (unsigned int)value;
	return true;
}

int sc_bool_word(const char *text)
{
	static const char *const words[] = {"0",  "1",	   "no",   "yes",     "off",
					    "on", "false", "true", "disable", "enable"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(text, words[i]) == 0)
			return (int)(i % 2);
	}
	return -1;
}

bool sc_read_bool(struct sc_parse *p, const struct sc_node *node, const char *name, bool *out)
{
	int value = node->kind == SC_SCALAR ? sc_bool_word(node->text) : -1;

	if (value < 0) {
		sc_error(p, &node->mark, "%s: found %s, expected on or off", name,
			 sc_describe(p, node));
		return false;
	}
	*out = value != 0;
	return true;
}

bool sc_take_bool(struct sc_fields *f, const char *key, bool *out)
{
	const struct sc_node *node = sc_take(f, key);

	return node && sc_read_bool(f->p, node, key, out);
}

bool sc_read_text(struct sc_parse *p, const struct sc_node *node, const char *name,
		  const char **out)
{
	if (node->kind != SC_SCALAR || !*node->text) {
		sc_error(p, &node->mark, "%s: found %s, expected a text", name,
			 sc_describe(p, node));
		return false;
	}
	*out = node->text;
	return true;
}

bool sc_take_text(struct sc_fields *f, const char *key, const char **out)
{
	const struct sc_node *node = sc_take(f, key);

	return node && sc_read_text(f->p, node, key, out);
}

bool sc_read_word(struct sc_parse *p, const struct sc_node *node, const char *name,
		  const char *const *words, unsigned int n, unsigned int *out)
{
	const char *text = "", *close;

	assert(n > 0);
	for (unsigned int i = 0; i < n; i++) {
		if (node->kind == SC_SCALAR && strcmp(node->text, words[i]) == 0) {
			*out = i;
			return true;
		}
		text = sc_format(p->arena, "%s%s%s", text, i ? ", " : "", words[i]);
	}
	close = node->kind == SC_SCALAR ? sc_closest(node->text, words, n) : NULL;
	if (close)
		sc_error(p, &node->mark, "%s: unknown value %s; did you mean '%s'?", name,
			 sc_describe(p, node), close);
	else
		sc_error(p, &node->mark, "%s: found %s, expected one of: %s", name,
			 sc_describe(p, node), text);
	return false;
}

bool sc_take_word(struct sc_fields *f, const char *key, const char *const *words, unsigned int n,
		  unsigned int *out)
{
	const struct sc_node *node = sc_take(f, key);

	return node && sc_read_word(f->p, node, key, words, n, out);
}

bool sc_read_list(struct sc_parse *p, const struct sc_node *node, const char *name)
{
	if (node->kind == SC_LIST)
		return true;
	sc_error(p, &node->mark, "%s: found %s, expected a list", name, sc_describe(p, node));
	return false;
}

bool sc_is_name(const char *text)
{
	if (!isalpha((unsigned char)*text) || strlen(text) > 64 || strcmp(text, "null") == 0)
		return false;
	for (; *text; text++) {
		if (!isalnum((unsigned char)*text) && *text != '_' && *text != '-')
			return false;
	}
	return true;
}
