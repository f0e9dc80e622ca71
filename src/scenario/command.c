/*
 * Words and options of operator commands; see command.h.
 */
#include "scenario/command.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#include "scenario/cpulist.h"
#include "scenario/quantity.h"

bool sc_wrong_at(struct sc_command *c, unsigned int i, const char *what)
{
	struct sc_mark mark = c->mark;

	if (i < c->n)
		mark.column += c->column[i];
	sc_error(c->p, &mark, "%s in '%s'", what, c->text);
	return false;
}

bool sc_split(struct sc_command *c)
{
	const char *s = c->text;

	for (;;) {
		size_t len;

		s += strspn(s, " \t");
		len = strcspn(s, " \t");
		if (!len)
			break;
		if (c->n == SC_MAX_WORDS)
			return sc_wrong_at(c, 0, "too many words");
		c->column[c->n] = (int)(s - c->text);
		c->word[c->n++] = sc_strndup(c->p->arena, s, len);
		s += len;
	}
	return c->n > 0 || sc_wrong_at(c, 0, "empty command");
}

static bool add_word(struct sc_command *c, const char *word, int column)
{
	if (c->n == SC_MAX_WORDS)
		return sc_wrong_at(c, 0, "too many words");
	c->column[c->n] = column;
	c->word[c->n++] = word;
	return true;
}

/*
 * Options as xl takes them become words of their own: --weight=512, -w512, -sr5000. flags: the
 * letters without a value. A word behind an option that wants one is its value, whatever it is.
 */
bool sc_split_options(struct sc_command *c, const char *flags)
{
	struct sc_command in = *c;
	bool ok = true;

	c->n = 0;
	for (unsigned int i = 0; ok && i < in.n; i++) {
		const char *w = in.word[i], *equal = strchr(w, '=');
		bool letter = w[0] == '-' && w[1] && w[1] != '-';
		int at = in.column[i];

		if (strncmp(w, "--", 2) == 0 && equal) {
			ok = add_word(c, sc_strndup(c->p->arena, w, (size_t)(equal - w)), at) &&
			     add_word(c, equal + 1, at + (int)(equal + 1 - w));
			continue;
		}
		for (; letter && w[2] && strchr(flags, w[1]); at++) {
			ok = ok && add_word(c, SC_TEXT(c, "-%c", w[1]), at);
			w = SC_TEXT(c, "-%s", w + 2);
		}
		if (letter && w[2]) {
			ok = ok && add_word(c, SC_TEXT(c, "-%c", w[1]), at) &&
			     add_word(c, w + 2, at + 2);
			continue;
		}
		ok = ok && add_word(c, w, at);
		if (i > 0 && w[0] == '-' && strcmp(w, "--schedparam") != 0 &&
		    !(letter && strchr(flags, w[1])) && i + 1 < in.n) {
			i++;
			ok = ok && add_word(c, in.word[i], in.column[i]);
		}
	}
	return ok;
}

bool sc_need_words(struct sc_command *c, unsigned int min, unsigned int max, const char *usage)
{
	if (c->n >= min && c->n <= max)
		return true;
	return sc_wrong_at(c, 0, SC_TEXT(c, "expected '%s'", usage));
}

bool sc_read_number(struct sc_command *c, unsigned int i, const char *what, unsigned int min,
		    unsigned int max, unsigned int *out)
{
	int64_t value;

	if (sc_quantity_parse(c->word[i], SC_Q_COUNT, &value) == SC_Q_OK && value >= min &&
	    value <= max) {
		*out = (unsigned int)value;
		return true;
	}
	return sc_wrong_at(
		c, i, SC_TEXT(c, "%s: found '%s', expected %u..%u", what, c->word[i], min, max));
}

bool sc_command_vm(struct sc_command *c, unsigned int i, struct sc_op *op)
{
	const char *names[128], *close;
	size_t n = 0;
	int64_t id;

	if (strcmp(c->word[i], "Domain-0") == 0)
		c->word[i] = "dom0";
	if (scenario_find(c->s, c->word[i], &op->vm, &op->n_vms))
		return true;
	/* xl takes the domain's number as well. */
	if (sc_quantity_parse(c->word[i], SC_Q_COUNT, &id) == SC_Q_OK) {
		id -= c->s->n_vms && c->s->vm[0].dom0 ? 0 : 1;
		op->vm = (unsigned int)id;
		op->n_vms = 1;
		if (id >= 0 && id < c->s->n_vms)
			return true;
	}
	for (unsigned int v = 0; v < c->s->n_vms && n < 128; v++)
		names[n++] = c->s->vm[v].name;
	close = sc_closest(c->word[i], names, n);
	if (close)
		return sc_wrong_at(
			c, i,
			SC_TEXT(c, "no VM is named '%s'; did you mean '%s'?", c->word[i], close));
	return sc_wrong_at(c, i, SC_TEXT(c, "no VM is named '%s'", c->word[i]));
}

/* The smallest value of a member over the VMs of the op: limits hold for each of them. */
unsigned int sc_min_maxvcpus(const struct sc_command *c, const struct sc_op *op)
{
	unsigned int min = UINT_MAX;

	assert(op->n_vms > 0);
	for (unsigned int i = 0; i < op->n_vms; i++) {
		unsigned int max = c->s->vm[op->vm + i].maxvcpus;

		min = max < min ? max : min;
	}
	return min;
}

bool sc_command_cpus(struct sc_command *c, unsigned int i, struct hv_mask *out, bool *set)
{
	char error[SC_CPULIST_ERROR];
	size_t at;

	*set = false;
	if (strcmp(c->word[i], "-") == 0)
		return true;
	if (sc_cpulist_parse(c->word[i], &c->s->topo, out, error, &at) < 0)
		return sc_wrong_at(c, i, error);
	*set = true;
	return true;
}
