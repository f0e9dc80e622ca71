/*
 * xl's configuration syntax, as far as a pool file has it (core-scheduling sections 7.1, 7.2):
 *
 *   name = "rt"          # a comment
 *   cpus = ["4-5", 7]; sched = 'rtds'
 *
 * Inside the scenario layer.
 */
#ifndef HV_SCENARIO_POOL_CONFIG_H
#define HV_SCENARIO_POOL_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "scenario/arena.h"

struct sc_setting {
	const char *key, *value; /* of a list: its members, with commas between them */
	size_t at, key_at;	 /* offsets of the value and the key in the text */
	struct sc_setting *next;
};

/*
 * bare: values without quotes are text, too, as a shell leaves them on a command line; else they
 * are numbers. False after a mistake: what was expected, and where (offset).
 */
bool sc_config_parse(struct sc_arena *arena, const char *text, bool bare, struct sc_setting **out,
		     const char **expected, size_t *at);

#endif
