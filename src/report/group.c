/*
 * Which VMs share a line: those of one entry of the scenario (`count: 12`), which are neighbours.
 */
#include <assert.h>
#include <string.h>

#include "report/report.h"

struct report_group report_group_at(const struct scenario *s, unsigned i, bool each)
{
	struct report_group g = {.name = each ? s->vm[i].name : s->vm[i].group, .first = i, .n = 1};

	assert(i < s->n_vms);
	while (!each && i + g.n < s->n_vms && strcmp(s->vm[i + g.n].group, g.name) == 0)
		g.n++;
	return g;
}

bool report_group_find(const struct scenario *s, const char *name, bool each,
		       struct report_group *out)
{
	assert(name && out);
	for (unsigned i = 0; i < s->n_vms; i += out->n) {
		*out = report_group_at(s, i, each);
		if (strcmp(out->name, name) == 0)
			return true;
	}
	return false;
}

const char *report_rate_unit(const struct scenario *s, const struct report_group *g)
{
	const struct metric *m = &s->vm[g->first].workload->metric;

	assert(g->n > 0);
	return m->kind == METRIC_RATE ? m->unit ? m->unit : "events" : NULL;
}
