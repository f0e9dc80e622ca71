/*
 * Builds records. Law: text holds nr whole lines, each with its newline, and start[] their places;
 * only between record_begin() and record_end() there is one line more that has no end yet.
 */
#include "conform/record.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Room for `more` bytes at the end, or NULL. */
static char *reserve(struct record *r, size_t more)
{
	size_t room = r->room ? r->room : 4096;
	char *text;

	if (r->failed)
		return NULL;
	while (room - r->len < more)
		room *= 2;
	if (room != r->room) {
		text = realloc(r->text, room);
		if (!text) {
			r->failed = true;
			return NULL;
		}
		r->text = text;
		r->room = room;
	}
	return r->text + r->len;
}

static void put(struct record *r, const char *text, size_t len)
{
	char *to = reserve(r, len);

	if (!to)
		return;
	memcpy(to, text, len);
	r->len += len;
}

static void put_string(struct record *r, const char *text)
{
	assert(text);
	put(r, text, strlen(text));
}

static void put_int(struct record *r, int64_t value)
{
	char digits[24];
	char *p = digits + sizeof(digits);
	/* The magnitude of INT64_MIN needs the unsigned type. */
	uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;

	do {
		*--p = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest);
	if (value < 0)
		*--p = '-';
	assert(p >= digits);
	put(r, p, (size_t)(digits + sizeof(digits) - p));
}

static void put_name(struct record *r, const char *name)
{
	bool first = r->len && r->text[r->len - 1] == '{';

	put_string(r, first ? "\"" : ",\"");
	put_string(r, name);
	put(r, "\":", 2);
}

static void mark_start(struct record *r)
{
	size_t room = r->start_room;
	size_t *start;

	if (r->nr == room) {
		room = room ? 2 * room : 256;
		start = realloc(r->start, room * sizeof(*start));
		if (!start) {
			r->failed = true;
			return;
		}
		r->start = start;
		r->start_room = room;
	}
	r->start[r->nr] = r->len;
}

void record_begin(struct record *r, hv_time time, const char *event)
{
	assert(r->len == 0 || r->failed || r->text[r->len - 1] == '\n');
	mark_start(r);
	put_string(r, "{\"t\":");
	put_int(r, time);
	record_text(r, "ev", event);
}

void record_int(struct record *r, const char *name, int64_t value)
{
	put_name(r, name);
	put_int(r, value);
}

void record_text(struct record *r, const char *name, const char *value)
{
	assert(!strpbrk(value, "\"\\\n"));
	put_name(r, name);
	put(r, "\"", 1);
	put_string(r, value);
	put(r, "\"", 1);
}

void record_list_begin(struct record *r, const char *name)
{
	put_name(r, name);
	put(r, "[", 1);
}

void record_list_text(struct record *r, bool first, const char *value)
{
	assert(!strpbrk(value, "\"\\\n"));
	put_string(r, first ? "\"" : ",\"");
	put_string(r, value);
	put(r, "\"", 1);
}

void record_list_end(struct record *r)
{
	put(r, "]", 1);
}

void record_object_begin(struct record *r, const char *name)
{
	put_name(r, name);
	put(r, "{", 1);
}

void record_object_end(struct record *r)
{
	put(r, "}", 1);
}

void record_vcpu(struct record *r, const char *name, int domain, unsigned vcpu)
{
	put_name(r, name);
	put(r, "\"d", 2);
	put_int(r, domain);
	put(r, "v", 1);
	put_int(r, vcpu);
	put(r, "\"", 1);
}

void record_pcpus(struct record *r, const char *name, const struct hv_mask *pcpus, unsigned nw)
{
	const char *comma = "";

	put_name(r, name);
	put(r, "\"", 1);
	hv_mask_for_each(first, pcpus, nw)
	{
		unsigned last = first;

		while (last + 1 < nw * 64 && hv_mask_test(pcpus, last + 1))
			last++;
		put_string(r, comma);
		comma = ",";
		put_int(r, first);
		if (last != first) {
			put(r, "-", 1);
			put_int(r, last);
		}
		first = last;
	}
	put(r, "\"", 1);
}

void record_end(struct record *r)
{
	put(r, "}\n", 2);
	if (!r->failed)
		r->nr++;
}

void record_abandon(struct record *r)
{
	if (r->len && r->text[r->len - 1] != '\n')
		r->len = r->start[r->nr];
	assert(r->len == 0 || r->text[r->len - 1] == '\n');
}

void record_line(struct record *r, const char *text, size_t len)
{
	assert(!memchr(text, '\n', len));
	mark_start(r);
	put(r, text, len);
	put(r, "\n", 1);
	if (!r->failed)
		r->nr++;
}

const char *record_get(const struct record *r, size_t i, size_t *len)
{
	size_t end;

	assert(i < r->nr);
	end = i + 1 < r->nr ? r->start[i + 1] : r->len;
	assert(r->text[end - 1] == '\n');
	*len = end - r->start[i] - 1;
	return r->text + r->start[i];
}

int record_write(const struct record *r, FILE *out)
{
	if (r->len && fwrite(r->text, 1, r->len, out) != r->len)
		return -1;
	return fflush(out) ? -1 : 0;
}

void record_free(struct record *r)
{
	free(r->text);
	free(r->start);
	memset(r, 0, sizeof(*r));
}
