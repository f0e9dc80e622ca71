/*
 * Parameters of workloads: `$jobs` or `${jobs}` in a value stands for the parameter's text.
 *
 * Law: a value that is nothing but one parameter takes over the place of what the user gave, so
 * that an error in it is reported there.
 */
#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "scenario/workload.h"

static struct sc_parameter *find(struct sc_parameter *param, unsigned int n, const char *name,
				 size_t len)
{
	for (unsigned int i = 0; i < n; i++) {
		if (strlen(param[i].name) == len && strncmp(param[i].name, name, len) == 0)
			return &param[i];
	}
	return NULL;
}

/* The name after '$' and where it ends; NULL if there is none. */
static const char *scan_name(const char *s, size_t *len, const char **end)
{
	bool brace = s[1] == '{';
	const char *name = s + 1 + brace;

	*len = 0;
	while (isalnum((unsigned char)name[*len]) || name[*len] == '_')
		(*len)++;
	*end = name + *len + brace;
	if (*len == 0 || (brace && name[*len] != '}'))
		return NULL;
	return name;
}

static void unknown(struct sc_parse *p, const struct sc_node *node, struct sc_parameter *param,
		    unsigned int n, const char *name, size_t len)
{
	const char *names[256], *close, *text = sc_strndup(p->arena, name, len);

	n = n < 256 ? n : 256;
	for (unsigned int i = 0; i < n; i++)
		names[i] = param[i].name;
	close = sc_closest(text, names, n);
	if (close)
		sc_error(p, &node->mark, "unknown parameter '$%s'; did you mean '$%s'?", text,
			 close);
	else
		sc_error(p, &node->mark, "unknown parameter '$%s'", text);
}

static void substitute_scalar(struct sc_parse *p, struct sc_node *node, struct sc_parameter *param,
			      unsigned int n)
{
	const char *s = node->text, *dollar, *name, *end, *text = "";
	struct sc_parameter *found;
	size_t len;

	if (!strchr(s, '$'))
		return;
	while ((dollar = strchr(s, '$'))) {
		name = scan_name(dollar, &len, &end);
		if (!name) {
			sc_error(p, &node->mark,
				 "found '%s', expected the name of a parameter after '$'",
				 node->text);
			return;
		}
		found = find(param, n, name, len);
		if (!found) {
			unknown(p, node, param, n, name, len);
			return;
		}
		found->used = true;
		if (dollar == node->text && !*end) {
			node->mark = found->value->mark;
			node->text = found->value->text;
			node->quoted = found->value->quoted;
			return;
		}
		text = sc_format(p->arena, "%s%.*s%s", text, (int)(dollar - s), s,
				 found->value->text);
		s = end;
	}
	node->text = sc_format(p->arena, "%s%s", text, s);
}

void sc_substitute(struct sc_parse *p, struct sc_node *node, struct sc_parameter *param,
		   unsigned int n)
{
	assert(node);
	if (node->kind == SC_SCALAR)
		substitute_scalar(p, node, param, n);
	for (struct sc_node *c = node->child; c; c = c->next)
		sc_substitute(p, c, param, n);
}
