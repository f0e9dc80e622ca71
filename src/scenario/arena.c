/*
 * Bump allocation in blocks; see arena.h.
 */
#include "scenario/arena.h"

#include <assert.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_SIZE 65536 /* bytes; larger requests get a block of their own */

struct block {
	struct block *next;
	size_t used, size;
	alignas(max_align_t) unsigned char data[];
};

struct sc_arena {
	struct block *blocks; /* the first one is being filled */
};

static _Noreturn void out_of_memory(void)
{
	fputs("hvsched: out of memory\n", stderr);
	exit(4);
}

struct sc_arena *sc_arena_create(void)
{
	struct sc_arena *arena = calloc(1, sizeof(*arena));

	if (!arena)
		out_of_memory();
	return arena;
}

void sc_arena_destroy(struct sc_arena *arena)
{
	struct block *next;

	if (!arena)
		return;
	for (struct block *b = arena->blocks; b; b = next) {
		assert(b->used <= b->size);
		next = b->next;
		free(b);
	}
	free(arena);
}

static struct block *add_block(struct sc_arena *arena, size_t size)
{
	size_t room = size > BLOCK_SIZE ? size : BLOCK_SIZE;
	struct block *b = calloc(1, sizeof(*b) + room);

	if (!b)
		out_of_memory();
	b->size = room;
	b->next = arena->blocks;
	arena->blocks = b;
	return b;
}

void *sc_alloc(struct sc_arena *arena, size_t n, size_t size)
{
	const size_t align = alignof(max_align_t);
	struct block *b;
	size_t bytes;
	void *p;

	assert(arena);
	assert(size > 0);
	if (n > (SIZE_MAX / 2) / size)
		out_of_memory();
	bytes = (n * size + align - 1) / align * align;
	if (bytes == 0)
		bytes = align;
	b = arena->blocks;
	if (!b || b->size - b->used < bytes)
		b = add_block(arena, bytes);
	p = b->data + b->used;
	b->used += bytes;
	assert((uintptr_t)p % align == 0);
	return p;
}

char *sc_strndup(struct sc_arena *arena, const char *text, size_t len)
{
	char *copy = sc_alloc(arena, len + 1, 1);

	assert(text || len == 0);
	if (len)
		memcpy(copy, text, len);
	return copy;
}

char *sc_strdup(struct sc_arena *arena, const char *text)
{
	return sc_strndup(arena, text, strlen(text));
}

char *sc_format(struct sc_arena *arena, const char *format, ...)
{
	va_list args;
	char *text;
	int len;

	assert(format);

	va_start(args, format);
	len = vsnprintf(NULL, 0, format, args);
	va_end(args);
	assert(len >= 0);
	text = sc_alloc(arena, (size_t)len + 1, 1);
	va_start(args, format);
	vsnprintf(text, (size_t)len + 1, format, args);
	va_end(args);
	return text;
}
