/*
 * The words of one script line, and what single words may mean: numbers, vCPU names, pCPU lists.
 *
 * Every reader returns 0, or -HV_EINVAL after it has put what was expected and what was found into
 * the error.
 */
#ifndef HV_CONFORM_WORDS_H
#define HV_CONFORM_WORDS_H

#include "conform/script.h"

struct words {
	char **word; /* the words of the line, NULL-terminated */
	unsigned nr, at, capacity;
	unsigned line;
	struct script_error *err;
};

/* Splits a line (it is modified); '#' starts a comment. 0 or -HV_ENOMEM. */
int words_split(struct words *w, char *line, unsigned number);
void words_free(struct words *w);

/* Fills the error of the current line. Always -HV_EINVAL. */
int words_fail(struct words *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The next word without taking it, or NULL at the end of the line. */
static inline const char *words_peek(const struct words *w)
{
	return w->at < w->nr ? w->word[w->at] : NULL;
}

/* Takes the next word if it is this one. */
bool words_take(struct words *w, const char *word);
/* The next word, whatever it is; `what` names it in the message when there is none. */
int words_text(struct words *w, const char *what, char **out);
/* An unsigned decimal number in lo..hi. */
int words_number(struct words *w, const char *what, uint64_t lo, uint64_t hi, uint64_t *out);
int words_unsigned(struct words *w, const char *what, unsigned lo, unsigned hi, unsigned *out);
/* A time or duration in ns. */
int words_time(struct words *w, const char *what, hv_time lo, hv_time *out);
/* DOM.VCPU; only the form is checked. */
int words_vcpu(struct words *w, int *domain, unsigned *vcpu);
/* DOM.VCPU:RUNTIME of an arinc653 window. */
int words_window(struct words *w, struct script_window *out);
/* `all` or a list such as 0-3,8, of pCPUs below nr_pcpus. */
int words_pcpus(struct words *w, unsigned nr_pcpus, struct hv_mask *out);
/* Nothing may follow. */
int words_end(struct words *w);

#endif
