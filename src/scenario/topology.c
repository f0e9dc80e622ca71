/*
 * Topologies: the plain "SOCKETSxCORESxTHREADS" form, and what all sources share. See topology.h.
 *
 * Numbering of the plain form (hardware-model section 2): threads of a core are neighbours, cores
 * of a socket are consecutive; one last-level cache and one memory node per socket.
 */
#include "scenario/topology.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/fields.h"

static int by_id(const void *a, const void *b)
{
	const struct sc_cpu *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static unsigned int max_of(unsigned int a, unsigned int b)
{
	return a > b ? a : b;
}

void sc_topology_finish(struct sc_topology *topo)
{
	unsigned int in_core[SC_MAX_CPUS] = {0};

	assert(topo->n_cpus > 0 && topo->n_cpus <= SC_MAX_CPUS);
	assert(topo->n_nodes > 0 && topo->n_nodes <= SC_MAX_NODES);
	qsort(topo->cpu, topo->n_cpus, sizeof(topo->cpu[0]), by_id);
	for (unsigned int i = 0; i < topo->n_cpus; i++) {
		struct sc_cpu *c = &topo->cpu[i];

		assert(c->id < SC_MAX_CPUS && c->core < SC_MAX_CPUS);
		assert(!hv_mask_test(&topo->present, c->id));
		c->thread = in_core[c->core]++;
		c->online = true;
		hv_mask_set(&topo->present, c->id);
		hv_mask_set(&topo->node_cpus[c->node], c->id);
		topo->n_sockets = max_of(topo->n_sockets, c->socket + 1);
		topo->n_cores = max_of(topo->n_cores, c->core + 1);
		topo->n_llcs = max_of(topo->n_llcs, c->llc + 1);
		topo->threads_per_core = max_of(topo->threads_per_core, in_core[c->core]);
	}
	topo->nr_ids = topo->cpu[topo->n_cpus - 1].id + 1;
	topo->n_online = topo->n_cpus;
	topo->online = topo->present;
}

void sc_topology_apply_boot(struct sc_topology *topo, const struct sc_xen *xen)
{
	unsigned int limit = xen->maxcpus ? xen->maxcpus : topo->n_cpus;

	topo->n_online = 0;
	hv_mask_zero(&topo->online, SC_NW);
	for (unsigned int i = 0; i < topo->n_cpus; i++) {
		struct sc_cpu *c = &topo->cpu[i];

		c->online = topo->n_online < limit && (xen->smt || c->thread == 0);
		if (!c->online)
			continue;
		topo->n_online++;
		hv_mask_set(&topo->online, c->id);
	}
	assert(topo->n_online > 0);
}

/* "2x8x2": three numbers. Returns false if the text has another form. */
static bool scan_shape(const char *text, unsigned int shape[3])
{
	for (unsigned int i = 0; i < 3; i++) {
		unsigned int value = 0;

		if (!isdigit((unsigned char)*text))
			return false;
		for (; isdigit((unsigned char)*text); text++)
			value = value > 100000 ? value : value * 10 + (unsigned int)(*text - '0');
		shape[i] = value;
		if (*text++ != (i < 2 ? 'x' : 0))
			return false;
	}
	return true;
}

static bool build_shape(struct sc_parse *p, const struct sc_node *node, const unsigned int shape[3],
			struct sc_topology *out)
{
	uint64_t n = (uint64_t)shape[0] * shape[1] * shape[2];

	if (n == 0 || n > SC_MAX_CPUS || shape[0] > SC_MAX_NODES) {
		sc_error(p, &node->mark,
			 "topology '%s' is out of range, expected 1..%d sockets and 1..%d pCPUs",
			 node->text, SC_MAX_NODES, SC_MAX_CPUS);
		return false;
	}
	out->cpu = sc_alloc(p->arena, (size_t)n, sizeof(out->cpu[0]));
	out->n_cpus = (unsigned int)n;
	out->n_nodes = shape[0];
	for (unsigned int i = 0; i < shape[0]; i++)
		out->node_id[i] = i;
	for (unsigned int i = 0; i < n; i++) {
		struct sc_cpu *c = &out->cpu[i];

		c->id = i;
		c->core = i / shape[2];
		c->socket = c->core / shape[1];
		c->node = c->socket;
		c->llc = c->socket;
	}
	sc_topology_finish(out);
	return true;
}

static bool is_xml(const char *text)
{
	size_t len = strlen(text);

	return len > 4 && strcmp(text + len - 4, ".xml") == 0;
}

bool sc_topology_resolve(struct sc_parse *p, const struct sc_node *node, const char *dir,
			 struct sc_topology *out)
{
	unsigned int shape[3];
	const char *text;

	if (!sc_read_text(p, node, "topology", &text))
		return false;
	*out = (struct sc_topology){.name = text};
	if (scan_shape(text, shape))
		return build_shape(p, node, shape, out);
	if (strcmp(text, "this-host") == 0)
		return sc_topology_hwloc(p, &node->mark, SC_HWLOC_THIS_HOST, text, out);
	if (is_xml(text)) {
		if (*text != '/' && strcmp(dir, ".") != 0)
			text = sc_format(p->arena, "%s/%s", dir, text);
		return sc_topology_hwloc(p, &node->mark, SC_HWLOC_XML, text, out);
	}
	if (strchr(text, ':'))
		return sc_topology_hwloc(p, &node->mark, SC_HWLOC_SYNTHETIC, text, out);
	sc_error(p, &node->mark,
		 "topology: found '%s', expected SOCKETSxCORESxTHREADS such as 2x8x2, an hwloc "
		 "synthetic string such as 'pack:2 core:8 pu:2', an hwloc .xml file, or this-host",
		 text);
	return false;
}
