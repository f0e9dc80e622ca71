/*
 * Reading of whole files; see file.h.
 */
#include "scenario/file.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAX_FILE (8u << 20) /* bytes; a scenario of 1000 VMs has 100 KiB */

const char *sc_file_dir(struct sc_arena *arena, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return ".";
	return slash == path ? "/" : sc_strndup(arena, path, (size_t)(slash - path));
}

const char *sc_file_path(struct sc_arena *arena, const char *dir, const char *name)
{
	if (*name == '/' || !dir || !*dir || strcmp(dir, ".") == 0)
		return name;
	return sc_format(arena, "%s/%s", dir, name);
}

char *sc_file_text(struct sc_arena *arena, const char *path, size_t *len, int *error)
{
	FILE *file = fopen(path, "rb");
	size_t size = 0, room = 65536, got;
	char *text = NULL, *larger;

	assert(path && len && error);
	*error = -errno;
	if (!file)
		return NULL;
	text = sc_alloc(arena, room + 1, 1);
	while ((got = fread(text + size, 1, room - size, file)) > 0) {
		size += got;
		if (size < room)
			continue;
		if (room >= MAX_FILE) {
			fclose(file);
			*error = -EFBIG;
			return NULL;
		}
		larger = sc_alloc(arena, 2 * room + 1, 1);
		memcpy(larger, text, size);
		text = larger;
		room *= 2;
	}
	*error = ferror(file) ? -errno : 0;
	fclose(file);
	*len = size;
	text[size] = 0;
	return *error ? NULL : text;
}

struct sc_node *sc_file_tree(struct sc_parse *p, const struct sc_mark *mark, const char *dir,
			     const char *name, const char *what)
{
	const char *path = sc_file_path(p->arena, dir, name);
	size_t len = 0;
	int error = 0;
	char *text;

	text = sc_file_text(p->arena, path, &len, &error);
	if (!text) {
		sc_error(p, mark, "cannot read %s '%s': %s", what, path, strerror(-error));
		return NULL;
	}
	return sc_tree_read(p, path, text, len);
}

struct sc_builtin {
	struct sc_builtin *next;
	const struct embedded_file *file;
	const struct sc_node *tree;
};

const struct sc_node *sc_file_builtin(struct sc_parse *p, const struct embedded_file *file)
{
	struct sc_builtin *b;

	assert(p && file);
	for (b = p->builtin; b; b = b->next) {
		if (b->file == file)
			return b->tree;
	}
	b = sc_alloc(p->arena, 1, sizeof(*b));
	b->file = file;
	b->tree = sc_tree_read(p, file->name, (const char *)file->data, file->size);
	b->next = p->builtin;
	p->builtin = b;
	return b->tree;
}
