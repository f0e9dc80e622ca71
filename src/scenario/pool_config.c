/*
 * xl's configuration syntax; see pool_config.h.
 *
 *   file    = { setting ( newline | ";" ) }
 *   setting = key "=" ( atom | "[" [ atom { "," atom } [ "," ] ] "]" )
 *   atom    = "..." | '...' | number
 *
 * A comment runs from "#" to the end of the line. Inside of brackets lines may end.
 */
#include "scenario/pool_config.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

struct reader {
	struct sc_arena *arena;
	char *text; /* a copy: a list is put together where it stands */
	const char *at;
	const char *expected; /* after a mistake */
	bool bare;
};

static bool wrong(struct reader *r, const char *expected)
{
	r->expected = expected;
	return false;
}

/* Blanks and comments; lines: ends of lines, too. */
static void skip(struct reader *r, bool lines)
{
	for (;; r->at++) {
		if (*r->at == '#')
			r->at += strcspn(r->at, "\n");
		if (!*r->at || !strchr(lines ? " \t\r\n" : " \t\r", *r->at))
			return;
	}
}

static bool read_key(struct reader *r, const char **key)
{
	const char *start = r->at;

	while (isalnum((unsigned char)*r->at) || *r->at == '_')
		r->at++;
	if (r->at == start || isdigit((unsigned char)*start))
		return wrong(r, "KEY = VALUE");
	*key = sc_strndup(r->arena, start, (size_t)(r->at - start));
	skip(r, false);
	if (*r->at != '=')
		return wrong(r, "'=' behind the key");
	r->at++;
	skip(r, false);
	return true;
}

/* Quoted, a number, or bare: up to what ends it. */
static bool read_atom(struct reader *r, bool in_list, const char **out)
{
	const char *start = r->at, *end;
	size_t n;

	if (*start == '"' || *start == '\'') {
		end = strchr(start + 1, *start);
		n = strcspn(start, "\n");
		if (!end || (size_t)(end - start) > n)
			return wrong(r, "the closing quote");
		*out = sc_strndup(r->arena, start + 1, (size_t)(end - start - 1));
		r->at = end + 1;
		return true;
	}
	n = strcspn(start, in_list ? " \t\r\n;#,]" : " \t\r\n;#");
	if (n == 0 || (!r->bare && strspn(start, "0123456789") != n))
		return wrong(r, in_list ? "a text in quotes, or a number"
					: "a text in quotes, a number or a list in [ ]");
	*out = sc_strndup(r->arena, start, n);
	r->at += n;
	return true;
}

static bool read_list(struct reader *r, const char **out)
{
	char *const list = r->text + (r->at - r->text);
	const char *atom;
	char *end = list; /* stays behind what is read, be the list as long as it will */

	assert(*r->at == '[');
	*out = list;
	r->at++;
	for (skip(r, true); *r->at != ']'; skip(r, true)) {
		if (!read_atom(r, true, &atom))
			return false;
		if (end > list)
			*end++ = ',';
		end = stpcpy(end, atom);
		assert(end < r->at);
		skip(r, true);
		if (*r->at == ',')
			r->at++;
		else if (*r->at != ']')
			return wrong(r, "',' or ']' in the list");
	}
	*end = '\0';
	r->at++;
	return true;
}

static bool read_setting(struct reader *r, struct sc_setting *s)
{
	s->key_at = (size_t)(r->at - r->text);
	if (!read_key(r, &s->key))
		return false;
	s->at = (size_t)(r->at - r->text);
	if (!(*r->at == '[' ? read_list(r, &s->value) : read_atom(r, false, &s->value)))
		return false;
	skip(r, false);
	return !*r->at || *r->at == '\n' || *r->at == ';' ||
	       wrong(r, "the end of the line behind a value");
}

bool sc_config_parse(struct sc_arena *arena, const char *text, bool bare, struct sc_setting **out,
		     const char **expected, size_t *at)
{
	struct reader r = {.arena = arena, .text = sc_strdup(arena, text), .bare = bare};

	assert(text && out);
	r.at = r.text;
	*out = NULL;
	for (;;) {
		struct sc_setting *s;

		for (skip(&r, true); *r.at == ';'; skip(&r, true))
			r.at++;
		if (!*r.at)
			return true;
		s = sc_alloc(arena, 1, sizeof(*s));
		if (!read_setting(&r, s))
			break;
		*out = s;
		out = &s->next;
	}
	*expected = r.expected;
	*at = (size_t)(r.at - r.text);
	return false;
}
