/*
 * Files that a scenario names: read whole, with a limit, with messages at the place that named
 * them.
 */
#ifndef HV_SCENARIO_FILE_H
#define HV_SCENARIO_FILE_H

#include "scenario/embedded.h"
#include "scenario/tree.h"

/* The directory part of a path, "." if it has none. */
const char *sc_file_dir(struct sc_arena *arena, const char *path);

/* A name that starts from dir, unless it is absolute. */
const char *sc_file_path(struct sc_arena *arena, const char *dir, const char *name);

/*
 * Whole text of a file, NUL-terminated. NULL and a negative errno in *error if it cannot be read.
 */
char *sc_file_text(struct sc_arena *arena, const char *path, size_t *len, int *error);

/* The YAML tree of a built-in file, read once; it must not be changed. NULL after an error. */
const struct sc_node *sc_file_builtin(struct sc_parse *p, const struct embedded_file *file);

/* The YAML tree of a file named in a scenario at `mark`; relative names start from dir. */
struct sc_node *sc_file_tree(struct sc_parse *p, const struct sc_mark *mark, const char *dir,
			     const char *name, const char *what);

#endif
