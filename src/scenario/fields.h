/*
 * Reading a mapping key by key, strictly.
 *
 * sc_fields_open() starts on a mapping; each sc_take*() asks for a key and remembers its name;
 * sc_fields_close() reports every key that nobody asked for, with the closest known one.
 * The typed readers leave *out untouched and return false if the key is absent or wrong (the error
 * has been reported then).
 */
#ifndef HV_SCENARIO_FIELDS_H
#define HV_SCENARIO_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

#include "scenario/quantity.h"
#include "scenario/tree.h"

#define SC_MAX_KEYS 64 /* known keys of one mapping */

struct sc_fields {
	struct sc_parse *p;
	const struct sc_node *map; /* NULL: the mapping is absent or was not one */
	const char *what;	   /* "a VM": for messages */
	const char *known[SC_MAX_KEYS];
	unsigned int n_known;
};

/*
 * node may be NULL (absent): then every take answers "absent". Returns false if it is not a
 * mapping.
 */
bool sc_fields_open(struct sc_fields *f, struct sc_parse *p, const struct sc_node *node,
		    const char *what);
void sc_fields_close(struct sc_fields *f);

/* The value of the key, or NULL. A key with nothing behind it is an error and counts as absent. */
const struct sc_node *sc_take(struct sc_fields *f, const char *key);
/* The same; absence is an error ("'name' is missing"). */
const struct sc_node *sc_require(struct sc_fields *f, const char *key);

bool sc_take_quantity(struct sc_fields *f, const char *key, enum sc_quantity kind, int64_t min,
		      int64_t max, int64_t *out);
bool sc_take_uint(struct sc_fields *f, const char *key, unsigned int min, unsigned int max,
		  unsigned int *out);
bool sc_take_bool(struct sc_fields *f, const char *key, bool *out);
bool sc_take_text(struct sc_fields *f, const char *key, const char **out);
/* One of n words; *out is its index. */
bool sc_take_word(struct sc_fields *f, const char *key, const char *const *words, unsigned int n,
		  unsigned int *out);

/* The same for a node that is at hand; `name` is used in messages. */
bool sc_read_quantity(struct sc_parse *p, const struct sc_node *node, const char *name,
		      enum sc_quantity kind, int64_t min, int64_t max, int64_t *out);
bool sc_read_bool(struct sc_parse *p, const struct sc_node *node, const char *name, bool *out);
bool sc_read_text(struct sc_parse *p, const struct sc_node *node, const char *name,
		  const char **out);
bool sc_read_word(struct sc_parse *p, const struct sc_node *node, const char *name,
		  const char *const *words, unsigned int n, unsigned int *out);
/* The node must be a list (or a single value, if `single`): error if it is not. */
bool sc_read_list(struct sc_parse *p, const struct sc_node *node, const char *name);

/* A name of a VM, variant entity or program: letter, then letters, digits, '_' and '-'. */
bool sc_is_name(const char *text);

/* Xen's boolean words: 1 0 yes no on off true false enable disable. -1: none of them. */
int sc_bool_word(const char *text);

/* "1..65535" with units, for "expected" texts. */
const char *sc_range_text(struct sc_parse *p, enum sc_quantity kind, int64_t min, int64_t max);

#endif
