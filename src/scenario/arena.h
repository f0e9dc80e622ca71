/*
 * Memory of one scenario file: everything is allocated from one arena and freed at once.
 *
 * Law: nothing from an arena is freed or moved before sc_arena_destroy(). Memory is zeroed. Out of
 * memory ends the program with exit code 4: a parser that has nothing to undo needs no recovery.
 */
#ifndef HV_SCENARIO_ARENA_H
#define HV_SCENARIO_ARENA_H

#include <stddef.h>

struct sc_arena;

struct sc_arena *sc_arena_create(void);
void sc_arena_destroy(struct sc_arena *arena); /* NULL is allowed */

/* n elements of `size` bytes, zeroed, aligned for any type. n may be 0. */
void *sc_alloc(struct sc_arena *arena, size_t n, size_t size);
char *sc_strndup(struct sc_arena *arena, const char *text, size_t len);
char *sc_strdup(struct sc_arena *arena, const char *text);
char *sc_format(struct sc_arena *arena, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
