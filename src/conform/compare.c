/*
 * Reads recordings and finds the first difference.
 *
 * A recording is complete when it starts with its meta line and ends with as many idletotal lines
 * as the meta line has pCPUs, and as many rqload lines as there are runqueue lines: so one that was
 * cut at the end of a line is seen as well.
 */
#define _GNU_SOURCE /* memmem */
#include "conform/compare.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static int fail(struct script_error *err, size_t line, const char *text)
{
	assert(text);
	err->line = (unsigned)line;
	snprintf(err->text, sizeof(err->text), "%s", text);
	return -HV_EINVAL;
}

/*
 * The whole content of a file, inflated if it is gzip. *text is the caller's, also after an error.
 */
static int read_all(gzFile file, char **text, size_t *len, struct script_error *err)
{
	size_t room = 0;
	int code = Z_OK, got;
	const char *message;

	*text = NULL;
	*len = 0;
	do {
		if (room - *len < 65536) {
			char *grown;

			room = room ? 2 * room : 1 << 18;
			grown = realloc(*text, room);
			if (!grown)
				return -HV_ENOMEM;
			*text = grown;
		}
		errno = 0;
		got = gzread(file, *text + *len, 65536);
		if (got > 0)
			*len += (size_t)got;
	} while (got > 0);
	message = gzerror(file, &code);
	if (code == Z_OK || code == Z_STREAM_END)
		return 0;
	if (code == Z_MEM_ERROR)
		return -HV_ENOMEM;
	if (code == Z_BUF_ERROR)
		return fail(err, 0,
			    "the recording is truncated: the compressed data end too early");
	if (code == Z_ERRNO) {
		int rc = errno ? -errno : -HV_EINVAL;

		fail(err, 0, strerror(-rc));
		return rc;
	}
	snprintf(err->text, sizeof(err->text), "the recording is damaged: %.160s", message);
	return -HV_EINVAL;
}

static int split_lines(const char *text, size_t len, struct record *out, struct script_error *err)
{
	size_t at = 0;

	while (at < len) {
		const char *end = memchr(text + at, '\n', len - at);

		if (!end)
			return fail(err, out->nr + 1,
				    "the recording is truncated: its last line has no end");
		record_line(out, text + at, (size_t)(end - (text + at)));
		at = (size_t)(end - text) + 1;
	}
	return out->failed ? -HV_ENOMEM : 0;
}

/* The line holds this text. */
static bool holds(const struct record *r, size_t i, const char *text)
{
	size_t len;
	const char *line = record_get(r, i, &len);

	return memmem(line, len, text, strlen(text)) != NULL;
}

/* The number after this text in the line, -1 if there is none. */
static long number_after(const struct record *r, size_t i, const char *text)
{
	size_t len;
	const char *line = record_get(r, i, &len);
	const char *p = memmem(line, len, text, strlen(text));
	long value = 0;

	if (!p)
		return -1;
	for (p += strlen(text); p < line + len && *p >= '0' && *p <= '9' && value < 100000000; p++)
		value = 10 * value + (*p - '0');
	return value;
}

/* Lines of this kind, which stand together: from line i, or before line i when backwards. */
static size_t count_kind(const struct record *r, size_t i, bool backwards, const char *kind)
{
	size_t n = 0;

	if (backwards) {
		while (n < i && holds(r, i - 1 - n, kind))
			n++;
	} else {
		while (i + n < r->nr && holds(r, i + n, kind))
			n++;
	}
	return n;
}

static int check_complete(const struct record *r, struct script_error *err)
{
	size_t runqueues, loads, idle;
	long cpus, format;

	if (r->nr == 0)
		return fail(err, 0, "the recording is empty");
	if (!holds(r, 0, "\"ev\":\"meta\""))
		return fail(err, 1, "not a recording: expected a line with \"ev\":\"meta\" first");
	format = number_after(r, 0, "\"format\":");
	if (format < 1 || format > RECORD_FORMATS)
		return fail(err, 1, "expected a recording with \"format\":1 or 2");
	cpus = number_after(r, 0, "\"cpus\":");
	runqueues = count_kind(r, 1, false, "\"ev\":\"runqueue\"");
	loads = count_kind(r, r->nr, true, "\"ev\":\"rqload\"");
	idle = count_kind(r, r->nr - loads, true, "\"ev\":\"idletotal\"");
	if (cpus < 1 || idle != (size_t)cpus || (format == 1 && loads != runqueues))
		return fail(err, r->nr,
			    "the recording is truncated: it does not end with the totals");
	return 0;
}

int recording_read(const char *path, struct record *out, struct script_error *err)
{
	gzFile file;
	char *text;
	size_t len;
	int rc;

	memset(out, 0, sizeof(*out));
	memset(err, 0, sizeof(*err));
	errno = 0;
	file = gzopen(path, "r");
	if (!file) {
		rc = errno ? -errno : -HV_ENOMEM;
		fail(err, 0, strerror(-rc));
		return rc;
	}
	rc = read_all(file, &text, &len, err);
	gzclose_r(file);
	if (!rc)
		rc = split_lines(text, len, out, err);
	free(text);
	if (!rc)
		rc = check_complete(out, err);
	if (rc == -HV_ENOMEM)
		fail(err, 0, "out of memory");
	return rc;
}

static bool same_line(const struct record *a, const struct record *b, size_t i)
{
	size_t a_len, b_len;
	const char *a_line = record_get(a, i, &a_len);
	const char *b_line = record_get(b, i, &b_len);

	return a_len == b_len && memcmp(a_line, b_line, a_len) == 0;
}

size_t compare_records(const struct record *a, const struct record *b)
{
	size_t shorter = a->nr < b->nr ? a->nr : b->nr;

	for (size_t i = 0; i < shorter; i++) {
		if (!same_line(a, b, i))
			return i;
	}
	return a->nr == b->nr ? SIZE_MAX : shorter;
}

/* Lines from..to-1 as far as they exist, with their numbers; the line `mark` is pointed out. */
static void print_lines(FILE *out, const struct record *r, size_t from, size_t to, size_t mark)
{
	size_t len;

	for (size_t i = from; i < to && i < r->nr; i++) {
		const char *line = record_get(r, i, &len);

		fprintf(out, "%c %6zu  %.*s\n", i == mark ? '>' : ' ', i + 1, (int)len, line);
	}
	if (mark == r->nr)
		fprintf(out, "> %6zu  (ends here)\n", r->nr + 1);
}

void compare_print(FILE *out, const struct record *recorded, const struct record *ours, size_t at)
{
	size_t from = at > COMPARE_CONTEXT ? at - COMPARE_CONTEXT : 0;
	size_t to = at + 1 + COMPARE_CONTEXT;

	assert(at <= recorded->nr && at <= ours->nr);
	fputs("  both:\n", out);
	print_lines(out, recorded, from, at, SIZE_MAX);
	fputs("  recorded:\n", out);
	print_lines(out, recorded, at, to, at);
	fputs("  ours:\n", out);
	print_lines(out, ours, at, to, at);
}
