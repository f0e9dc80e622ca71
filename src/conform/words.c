/*
 * Reads the words of a script line. A number is decimal digits only, without sign, and never wraps.
 */
#include "conform/words.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int words_split(struct words *w, char *line, unsigned number)
{
	char *save = NULL;
	char *comment = strchr(line, '#');

	assert(number > 0);
	w->nr = 0;
	w->at = 0;
	w->line = number;
	if (comment)
		*comment = '\0';
	for (char *word = strtok_r(line, " \t\r", &save);; word = strtok_r(NULL, " \t\r", &save)) {
		if (w->nr == w->capacity) {
			unsigned capacity = w->capacity ? 2 * w->capacity : 16;
			char **grown = realloc(w->word, capacity * sizeof(*grown));

			if (!grown)
				return -HV_ENOMEM;
			w->word = grown;
			w->capacity = capacity;
		}
		w->word[w->nr] = word;
		if (!word)
			return 0;
		w->nr++;
	}
}

void words_free(struct words *w)
{
	free(w->word);
	memset(w, 0, sizeof(*w));
}

int words_fail(struct words *w, const char *format, ...)
{
	va_list args;

	w->err->line = w->line;
	va_start(args, format);
	vsnprintf(w->err->text, sizeof(w->err->text), format, args);
	va_end(args);
	return -HV_EINVAL;
}

/* For messages: the word at the reading place. */
static const char *found(const struct words *w)
{
	const char *word = words_peek(w);

	return word ? word : "end of line";
}

bool words_take(struct words *w, const char *word)
{
	const char *next = words_peek(w);

	assert(word);
	if (!next || strcmp(next, word) != 0)
		return false;
	w->at++;
	return true;
}

int words_text(struct words *w, const char *what, char **out)
{
	if (!words_peek(w))
		return words_fail(w, "expected %s, found end of line", what);
	*out = w->word[w->at++];
	return 0;
}

/* Digits at *text up to the first other character, which *text points to afterwards. */
static bool read_digits(const char **text, uint64_t *out)
{
	const char *p = *text;
	uint64_t value = 0;

	if (*p < '0' || *p > '9')
		return false;
	for (; *p >= '0' && *p <= '9'; p++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
			return false;
	}
	*text = p;
	*out = value;
	return true;
}

int words_number(struct words *w, const char *what, uint64_t lo, uint64_t hi, uint64_t *out)
{
	const char *p = words_peek(w);

	assert(lo <= hi);
	if (!p || !read_digits(&p, out) || *p || *out < lo || *out > hi)
		return words_fail(w, "expected %s (%" PRIu64 "..%" PRIu64 "), found '%.80s'", what,
				  lo, hi, found(w));
	w->at++;
	return 0;
}

int words_unsigned(struct words *w, const char *what, unsigned lo, unsigned hi, unsigned *out)
{
	uint64_t value;
	int rc = words_number(w, what, lo, hi, &value);

	if (rc)
		return rc;
	*out = (unsigned)value;
	return 0;
}

int words_time(struct words *w, const char *what, hv_time lo, hv_time *out)
{
	uint64_t value;
	int rc;

	assert(lo >= 0);
	rc = words_number(w, what, (uint64_t)lo, SCRIPT_MAX_TIME, &value);
	if (rc)
		return rc;
	*out = (hv_time)value;
	return 0;
}

/* DOM.VCPU at *text. */
static bool read_vcpu(const char **text, uint64_t *domain, uint64_t *vcpu)
{
	if (!read_digits(text, domain) || *(*text)++ != '.')
		return false;
	return read_digits(text, vcpu);
}

int words_vcpu(struct words *w, int *domain, unsigned *vcpu)
{
	const char *p = words_peek(w);
	uint64_t dom, id;

	if (!p || !read_vcpu(&p, &dom, &id) || *p || dom > SCRIPT_MAX_DOMID || id >= HV_MAX_VCPUS)
		return words_fail(w, "expected a vCPU, written DOM.VCPU, found '%.80s'", found(w));
	w->at++;
	*domain = (int)dom;
	*vcpu = (unsigned)id;
	return 0;
}

int words_window(struct words *w, struct script_window *out)
{
	const char *p = words_peek(w);
	uint64_t dom, id;

	if (!p || !read_vcpu(&p, &dom, &id) || *p++ != ':' || !read_digits(&p, &out->runtime) ||
	    *p || dom > UINT32_MAX || id > UINT32_MAX)
		return words_fail(w, "expected a window, written DOM.VCPU:RUNTIME, found '%.80s'",
				  found(w));
	w->at++;
	out->domain = (uint32_t)dom;
	out->vcpu = (uint32_t)id;
	return 0;
}

int words_pcpus(struct words *w, unsigned nr_pcpus, struct hv_mask *out)
{
	const char *p = words_peek(w);

	assert(nr_pcpus > 0 && nr_pcpus <= HV_MAX_PCPUS);
	hv_mask_zero(out, HV_MASK_WORDS);
	if (words_take(w, "all")) {
		hv_mask_fill(out, HV_MASK_WORDS, nr_pcpus);
		return 0;
	}
	for (;;) {
		uint64_t first, last;

		if (!p || !read_digits(&p, &first))
			break;
		last = first;
		if (*p == '-' && (p++, !read_digits(&p, &last)))
			break;
		if (first > last)
			break;
		if (last >= nr_pcpus)
			return words_fail(w,
					  "pCPU %" PRIu64 " in '%.80s' does not exist: the "
					  "topology has pCPUs 0-%u",
					  last, found(w), nr_pcpus - 1);
		for (unsigned c = (unsigned)first; c <= last; c++)
			hv_mask_set(out, c);
		if (!*p) {
			w->at++;
			return 0;
		}
		if (*p++ != ',')
			break;
	}
	return words_fail(w, "expected 'all' or a list of pCPUs such as 0-3,8, found '%.80s'",
			  found(w));
}

int words_end(struct words *w)
{
	if (words_peek(w))
		return words_fail(w, "expected end of line, found '%.80s'", found(w));
	return 0;
}
