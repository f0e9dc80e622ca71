/*
 * Paths into a scenario's tree; see override.h.
 *
 * Only the place is found here. Whether the key exists and the value fits is for the reader of that
 * key, so that a changed scenario passes exactly the checks of a written one.
 */
#include "scenario/override.h"

#include <assert.h>
#include <string.h>

#include "scenario/fields.h"

static bool wrong(struct sc_parse *p, const struct sc_mark *mark, const char *path,
		  const char *what)
{
	sc_error(p, mark, "%s in '%s', expected for example vms.NAME.weight or host.costs.C4", what,
		 path);
	return false;
}

static struct sc_node *find_in_list(struct sc_node *list, const char *word)
{
	int64_t index;

	for (struct sc_node *c = list->child; c; c = c->next) {
		const struct sc_node *name = sc_map_find(c, "name");

		if (name && name->kind == SC_SCALAR && strcmp(name->text, word) == 0)
			return c;
	}
	if (sc_quantity_parse(word, SC_Q_COUNT, &index) != SC_Q_OK)
		return NULL;
	for (struct sc_node *c = list->child; c; c = c->next) {
		if (index-- == 0)
			return c;
	}
	return NULL;
}

/* `workload: noise` becomes `workload: {use: noise}`, so that a parameter can be added. */
static void make_map(struct sc_parse *p, struct sc_node *node)
{
	struct sc_node *use = sc_tree_copy(p, node);

	use->key = NULL;
	node->kind = SC_MAP;
	node->text = "";
	node->child = NULL;
	node->n_children = 0;
	sc_map_put(p, node, "use", use);
}

static struct sc_node *empty_map(struct sc_parse *p, const struct sc_mark *mark)
{
	struct sc_node *map = sc_tree_scalar(p, mark, "");

	map->kind = SC_MAP;
	return map;
}

/* One step down; NULL after an error. */
static struct sc_node *step(struct sc_parse *p, struct sc_node *at, const struct sc_mark *mark,
			    const char *path, const char *word)
{
	struct sc_node *next = NULL;

	switch (at->kind) {
	case SC_LIST:
		next = find_in_list(at, word);
		if (!next)
			wrong(p, mark, path,
			      sc_format(p->arena, "'%s' names nothing that is there", word));
		break;
	case SC_MAP:
		next = sc_map_find(at, word);
		if (!next) {
			next = empty_map(p, mark);
			sc_map_put(p, at, word, next);
		} else if (next->kind == SC_SCALAR &&
			   (strcmp(word, "workload") == 0 || strcmp(word, "background") == 0)) {
			make_map(p, next);
		}
		break;
	case SC_SCALAR:
		wrong(p, mark, path,
		      sc_format(p->arena, "there is nothing below a value at '%s'", word));
		break;
	}
	return next;
}

static void replace_in_list(struct sc_node *list, struct sc_node *old, struct sc_node *value)
{
	struct sc_node **at = &list->child;

	while (*at != old)
		at = &(*at)->next;
	value->next = old->next;
	*at = value;
}

bool sc_override(struct sc_parse *p, struct sc_node *root, const struct sc_mark *mark,
		 const char *path, const struct sc_node *value)
{
	struct sc_node *at = root, *old, *copy = sc_tree_copy(p, value);
	const char *s = path, *word;
	size_t len;

	assert(root && path && value);
	copy->key = NULL;
	for (;; s += len + 1) {
		len = strcspn(s, ".");
		if (len == 0)
			return wrong(p, mark, path, "an empty name");
		word = sc_strndup(p->arena, s, len);
		if (!s[len])
			break;
		at = step(p, at, mark, path, word);
		if (!at)
			return false;
	}
	if (at == root && (strcmp(word, "variants") == 0 || strcmp(word, "expect") == 0))
		return wrong(p, mark, path, sc_format(p->arena, "'%s' cannot be set", word));
	if (at->kind == SC_MAP) {
		sc_map_put(p, at, word, copy);
		return true;
	}
	old = at->kind == SC_LIST ? find_in_list(at, word) : NULL;
	if (!old)
		return wrong(p, mark, path,
			     sc_format(p->arena, "'%s' names nothing that is there", word));
	replace_in_list(at, old, copy);
	return true;
}
