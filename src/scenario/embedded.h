/*
 * The data files that the program carries: built-in workloads, host presets and experiments.
 *
 * The table is generated from the directories workloads/, hosts/ and experiments/ at build time
 * (scripts/embed), so the installed program needs no data directory. A name is the path in the
 * source tree: "workloads/noise.yaml". The table is sorted by name and constant.
 */
#ifndef HVSCHED_SCENARIO_EMBEDDED_H
#define HVSCHED_SCENARIO_EMBEDDED_H

#include <stddef.h>

struct embedded_file {
	const char *name;
	const unsigned char *data; /* `size` bytes of the file, then one NUL that is not counted */
	size_t size;
};

/* All of them, sorted; the last entry has a NULL name. */
extern const struct embedded_file embedded_files[];

/* The file of exactly this name, or NULL. */
const struct embedded_file *embedded_find(const char *name);

/*
 * The next file whose name starts with `prefix` ("workloads/"; "" is all): the first one when
 * `previous` is NULL, and NULL after the last.
 */
const struct embedded_file *embedded_next(const struct embedded_file *previous, const char *prefix);

#endif
