/*
 * A file of a test's own: in $TMPDIR, or /tmp, whatever directory the test runs in.
 */
#ifndef TESTS_TEMPORARY_H
#define TESTS_TEMPORARY_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Make it, empty, with this end of its name; false: it cannot be made. */
static inline bool temporary_make(char path[PATH_MAX], const char *suffix)
{
	const char *dir = getenv("TMPDIR");
	int fd;

	snprintf(path, PATH_MAX, "%s/hvsched-test-XXXXXX%s", dir && *dir ? dir : "/tmp", suffix);
	fd = mkstemps(path, (int)strlen(suffix));
	return fd >= 0 && close(fd) == 0;
}

#endif
