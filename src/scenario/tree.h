/*
 * A YAML document as a tree of our own: kinds, text, and where each piece stands in which file.
 *
 * The tree hides libfyaml from all other files. Aliases are expanded into copies; a repeated key is
 * an error here; sizes are bounded, so that a hostile file ends in a message.
 *
 * Messages have one form, "file:line:col: error: text", and are counted in the sc_diag. The same
 * message for the same place is printed once: variants re-read the same nodes.
 */
#ifndef HV_SCENARIO_TREE_H
#define HV_SCENARIO_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "scenario/arena.h"

struct sc_diag;

struct sc_mark {
	const char *file;
	int line, column; /* from 1; 0 = unknown */
};

enum sc_node_kind { SC_SCALAR, SC_LIST, SC_MAP };

struct sc_node {
	enum sc_node_kind kind;
	struct sc_mark mark;
	const char *text;	      /* scalar: its value, NUL-terminated without inner NUL */
	bool quoted;		      /* scalar: written with quotes, so never a null */
	struct sc_node *key;	      /* in a map: the scalar before the colon */
	struct sc_node *child, *next; /* list or map: the values in order */
	unsigned int n_children;
};

/* What every parsing function gets. */
struct sc_parse {
	struct sc_arena *arena;
	struct sc_diag *diag;
	const char *variant;	    /* named in messages; NULL outside a variant */
	struct sc_said *said;	    /* messages so far */
	struct sc_builtin *builtin; /* built-in files read so far, file.c */
};

void sc_error(struct sc_parse *p, const struct sc_mark *mark, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void sc_warning(struct sc_parse *p, const struct sc_mark *mark, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Reads one document. NULL after an error message (also for an empty document). */
struct sc_node *sc_tree_read(struct sc_parse *p, const char *name, const char *text, size_t len);

struct sc_node *sc_tree_copy(struct sc_parse *p, const struct sc_node *node);
struct sc_node *sc_tree_scalar(struct sc_parse *p, const struct sc_mark *mark, const char *text);

/* The value of a key of a map, or NULL. */
struct sc_node *sc_map_find(const struct sc_node *map, const char *key);
/* Adds or replaces. `value` becomes part of the map. */
void sc_map_put(struct sc_parse *p, struct sc_node *map, const char *key, struct sc_node *value);

/* `key:` with nothing behind it, or ~ or null. */
bool sc_is_null(const struct sc_node *node);
/* "a list", "a mapping", "'text'": what stands there, for messages. */
const char *sc_describe(struct sc_parse *p, const struct sc_node *node);

/*
 * The candidate closest to `text`, or NULL if none is close. candidates: n strings, NULLs skipped.
 */
const char *sc_closest(const char *text, const char *const *candidates, size_t n);

#endif
