/*
 * Cpupools of a scenario: the section `pools:`. Inside the scenario layer.
 */
#ifndef HV_SCENARIO_POOLS_H
#define HV_SCENARIO_POOLS_H

#include "scenario/fields.h"
#include "scenario/scenario.h"

/*
 * Reads the list (NULL: none) into s->pool, Pool-0 first, which gets what is left. The topology and
 * the command line must be there.
 */
void sc_pools_read(struct sc_parse *p, const struct sc_node *list, struct scenario *s);
/* The key `pool` of a VM, a name or a number: its index. */
void sc_pool_take(struct sc_fields *f, const struct scenario *s, unsigned int *pool);
void sc_pools_print(FILE *out, const struct scenario *s);

/* A letter, then letters, digits, '_', '-', '.'. */
bool sc_pool_is_name(const char *text);
/* "Pool-0, rt": the pools that are known. */
const char *sc_pool_names(struct sc_arena *arena, const struct scenario *s);
bool sc_sched_find(const char *name, enum sc_sched *out);
bool sc_gran_find(const char *name, enum hv_gran *out);
/* "credit2, credit, ... or null": for messages. */
const char *sc_sched_names(struct sc_arena *arena);

#endif
