/*
 * Look-up in the table of embedded data files; see embedded.h. The table itself is generated.
 */
#include "scenario/embedded.h"

#include <assert.h>
#include <string.h>

const struct embedded_file *embedded_find(const char *name)
{
	assert(name);
	for (const struct embedded_file *file = embedded_files; file->name; file++) {
		if (strcmp(file->name, name) == 0)
			return file;
	}
	return NULL;
}

const struct embedded_file *embedded_next(const struct embedded_file *previous, const char *prefix)
{
	const struct embedded_file *file = previous ? previous + 1 : embedded_files;

	assert(prefix);
	assert(!previous || previous->name);
	while (file->name && strncmp(file->name, prefix, strlen(prefix)) != 0)
		file++;
	return file->name ? file : NULL;
}
