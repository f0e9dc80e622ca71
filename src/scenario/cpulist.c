/*
 * xl's CPU list grammar; see cpulist.h. source: core-scheduling section 7.
 *
 *   list  = term { "," term }
 *   term  = [ "^" ] [ ( "node:" | "nodes:" ) ] range | "all"
 *   range = number [ "-" number ] | "all" after "node:" only
 *
 * Terms act from left to right: "^" takes away from what was named before it. Both ends of a range
 * must exist; numbers between them that do not (sparse hosts) are skipped.
 */
#include "scenario/cpulist.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "scenario/scenario.h"

#define MAX_NUMBER 1000000 /* far above any id, far below overflow */

struct list {
	const char *text;
	const struct sc_topology *topo;
	struct hv_mask mask;
	char *error;
	bool nodes; /* numbers are those of nodes */
};

static int wrong(struct list *l, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int wrong(struct list *l, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(l->error, SC_CPULIST_ERROR, format, args);
	va_end(args);
	return -EINVAL;
}

static bool skip(const char **s, const char *word)
{
	size_t len = strlen(word);

	if (strncmp(*s, word, len) != 0)
		return false;
	*s += len;
	return true;
}

static bool number(const char **s, unsigned int *out)
{
	unsigned int value = 0;

	if (!isdigit((unsigned char)**s))
		return false;
	for (; isdigit((unsigned char)**s); (*s)++) {
		value = value * 10 + (unsigned int)(**s - '0');
		if (value > MAX_NUMBER)
			value = MAX_NUMBER;
	}
	*out = value;
	return true;
}

static bool exists(const struct list *l, bool node, unsigned int id)
{
	if (!node)
		return id < SC_MAX_CPUS && hv_mask_test(&l->topo->present, id);
	for (unsigned int i = 0; i < l->topo->n_nodes; i++) {
		if (l->topo->node_id[i] == id)
			return true;
	}
	return false;
}

static const char *present_text(const struct list *l, bool node, char *buf, size_t size)
{
	size_t used = 0;

	if (!node)
		return sc_mask_format(&l->topo->present, buf, size);
	buf[0] = 0;
	for (unsigned int i = 0; i < l->topo->n_nodes && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s%u", i ? "," : "",
					 l->topo->node_id[i]);
	return buf;
}

static void apply(struct list *l, bool take_away, const struct hv_mask *m)
{
	if (take_away)
		hv_mask_andnot(&l->mask, &l->mask, m, SC_NW);
	else
		hv_mask_or(&l->mask, &l->mask, m, SC_NW);
}

/* The present pCPUs (or those of the nodes) with numbers low..high. */
static struct hv_mask select_range(const struct list *l, bool node, unsigned int low,
				   unsigned int high)
{
	struct hv_mask m = {0};

	assert(low <= high);
	if (!node) {
		for (unsigned int c = low; c <= high && c < SC_MAX_CPUS; c++) {
			if (hv_mask_test(&l->topo->present, c))
				hv_mask_set(&m, c);
		}
		return m;
	}
	for (unsigned int i = 0; i < l->topo->n_nodes; i++) {
		if (l->topo->node_id[i] >= low && l->topo->node_id[i] <= high)
			hv_mask_or(&m, &m, &l->topo->node_cpus[i], SC_NW);
	}
	return m;
}

/* One term, text without blanks around it. */
static int term(struct list *l, const char *text)
{
	const char *s = text;
	bool take_away = skip(&s, "^");
	bool node = skip(&s, "nodes:") || skip(&s, "node:") || l->nodes;
	const char *what = node ? "node" : "pCPU";
	unsigned int low, high;
	char present[80];
	struct hv_mask m;

	if (strcmp(s, "all") == 0) {
		if (take_away)
			return wrong(l, "'%.40s' would leave nothing, it is not allowed", text);
		apply(l, false, &l->topo->present);
		return 0;
	}
	if (!number(&s, &low))
		return wrong(l,
			     "'%.40s' is not a CPU list term, expected N, A-B, ^N, node:N or all",
			     text);
	high = low;
	if (skip(&s, "-") && !number(&s, &high))
		return wrong(l, "'%.40s' has no end, expected A-B", text);
	if (*s)
		return wrong(l, "'%.40s' is followed by junk in '%.40s'", s, text);
	if (high < low)
		return wrong(l, "range '%.40s' runs backwards, expected A-B with A <= B", text);
	if (!exists(l, node, low) || !exists(l, node, high))
		return wrong(l, "%s %u is not in the topology, expected %ss out of %s", what,
			     exists(l, node, low) ? high : low, what,
			     present_text(l, node, present, sizeof(present)));
	m = select_range(l, node, low, high);
	apply(l, take_away, &m);
	return 0;
}

static int parse(const char *text, const struct sc_topology *topo, bool nodes, struct hv_mask *out,
		 char error[SC_CPULIST_ERROR], size_t *at)
{
	struct list l = {.text = text, .topo = topo, .error = error, .nodes = nodes};
	const char *s = text;
	char word[96];
	size_t len;
	int ret;

	assert(text && topo && out);
	for (;;) {
		while (*s == ' ')
			s++;
		*at = (size_t)(s - text);
		len = strcspn(s, ",");
		for (const char *e = s + len; len > 0 && e[-1] == ' '; e--)
			len--;
		if (len == 0)
			return wrong(&l, *text ? "empty term in the CPU list" : "empty CPU list");
		if (len >= sizeof(word))
			return wrong(&l, "'%.40s...' is not a CPU list term", s);
		memcpy(word, s, len);
		word[len] = 0;
		ret = term(&l, word);
		if (ret)
			return ret;
		s += strcspn(s, ",");
		if (!*s)
			break;
		s++;
	}
	if (hv_mask_empty(&l.mask, SC_NW)) {
		*at = 0;
		return wrong(&l, "CPU list '%.60s' names no pCPU", text);
	}
	*out = l.mask;
	return 0;
}

int sc_cpulist_parse(const char *text, const struct sc_topology *topo, struct hv_mask *out,
		     char error[SC_CPULIST_ERROR], size_t *at)
{
	return parse(text, topo, false, out, error, at);
}

int sc_nodelist_parse(const char *text, const struct sc_topology *topo, struct hv_mask *out,
		      char error[SC_CPULIST_ERROR], size_t *at)
{
	return parse(text, topo, true, out, error, at);
}
