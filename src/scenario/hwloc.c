/*
 * Topologies through libhwloc: synthetic strings, XML files of real hosts, this host.
 *
 * pCPU ids are hwloc's OS indexes, which may be sparse; sockets, cores, caches are numbered densely
 * in the order of the lowest pCPU in them. Memory nodes keep their OS index as the number users
 * give. A pCPU without a package, core or L3 object gets one of its own kind: socket 0, its own
 * core, its socket's cache.
 */
#include <assert.h>
#include <errno.h>
#include <hwloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "scenario/topology.h"

/* Dense numbers for objects in order of appearance. */
struct numbering {
	const void *object[SC_MAX_CPUS];
	unsigned int n;
};

static unsigned int number_of(struct numbering *m, const void *object)
{
	for (unsigned int i = 0; i < m->n; i++) {
		if (m->object[i] == object)
			return i;
	}
	assert(m->n < SC_MAX_CPUS);
	m->object[m->n] = object;
	return m->n++;
}

struct builder {
	struct sc_parse *p;
	const struct sc_mark *mark;
	const char *source;
	hwloc_topology_t hwloc;
	struct sc_topology *out;
	struct numbering socket, core, llc;
};

static bool wrong(struct builder *b, const char *what)
{
	sc_error(b->p, b->mark, "topology '%s': %s", b->source, what);
	return false;
}

static bool read_nodes(struct builder *b)
{
	hwloc_obj_t node = NULL;
	unsigned int id[SC_MAX_NODES], n = 0, i;

	while ((node = hwloc_get_next_obj_by_type(b->hwloc, HWLOC_OBJ_NUMANODE, node))) {
		if (n == SC_MAX_NODES)
			return wrong(b, "more memory nodes than supported (64)");
		for (i = n; i > 0 && id[i - 1] > node->os_index; i--)
			id[i] = id[i - 1];
		id[i] = node->os_index;
		n++;
	}
	if (n == 0)
		id[n++] = 0;
	memcpy(b->out->node_id, id, n * sizeof(id[0]));
	b->out->n_nodes = n;
	return true;
}

static unsigned int node_of(const struct builder *b, hwloc_obj_t pu)
{
	int first = pu->nodeset ? hwloc_bitmap_first(pu->nodeset) : -1;

	for (unsigned int i = 0; i < b->out->n_nodes; i++) {
		if (first >= 0 && b->out->node_id[i] == (unsigned int)first)
			return i;
	}
	return 0;
}

static void read_cache_sizes(struct builder *b)
{
	hwloc_obj_t l2 = hwloc_get_next_obj_by_type(b->hwloc, HWLOC_OBJ_L2CACHE, NULL);
	hwloc_obj_t l3 = hwloc_get_next_obj_by_type(b->hwloc, HWLOC_OBJ_L3CACHE, NULL);

	if (l2 && l2->attr->cache.size < INT64_MAX)
		b->out->l2_bytes = (int64_t)l2->attr->cache.size;
	if (l3 && l3->attr->cache.size < INT64_MAX)
		b->out->llc_bytes = (int64_t)l3->attr->cache.size;
}

static void read_cpu(struct builder *b, hwloc_obj_t pu, struct sc_cpu *c)
{
	hwloc_obj_t pack = hwloc_get_ancestor_obj_by_type(b->hwloc, HWLOC_OBJ_PACKAGE, pu);
	hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(b->hwloc, HWLOC_OBJ_CORE, pu);
	hwloc_obj_t l3 = hwloc_get_ancestor_obj_by_type(b->hwloc, HWLOC_OBJ_L3CACHE, pu);

	c->id = pu->os_index;
	c->socket = number_of(&b->socket, pack);
	c->core = number_of(&b->core, core ? core : pu);
	c->llc = number_of(&b->llc, l3 ? l3 : pack);
	c->node = node_of(b, pu);
}

static bool read_cpus(struct builder *b)
{
	int n = hwloc_get_nbobjs_by_type(b->hwloc, HWLOC_OBJ_PU);
	struct hv_mask seen = {0};
	hwloc_obj_t pu = NULL;

	if (n < 1 || n > SC_MAX_CPUS)
		return wrong(b, "expected 1..1024 pCPUs");
	b->out->cpu = sc_alloc(b->p->arena, (size_t)n, sizeof(b->out->cpu[0]));
	while ((pu = hwloc_get_next_obj_by_type(b->hwloc, HWLOC_OBJ_PU, pu))) {
		if (pu->os_index >= SC_MAX_CPUS)
			return wrong(b, "a pCPU number is above the limit of 1023");
		if (hv_mask_test(&seen, pu->os_index))
			return wrong(b, "a pCPU number is there twice");
		hv_mask_set(&seen, pu->os_index);
	}
	/* Ascending ids, so that dense numbers follow the lowest pCPU. */
	for (int id = 0, i = 0; id < SC_MAX_CPUS; id++) {
		if (!hv_mask_test(&seen, (unsigned int)id))
			continue;
		pu = hwloc_get_pu_obj_by_os_index(b->hwloc, (unsigned int)id);
		assert(pu && i < n);
		read_cpu(b, pu, &b->out->cpu[i++]);
		b->out->n_cpus = (unsigned int)i;
	}
	return true;
}

static bool load_source(struct builder *b, enum sc_hwloc_source source, const char *text)
{
	FILE *file;

	switch (source) {
	case SC_HWLOC_SYNTHETIC:
		if (hwloc_topology_set_synthetic(b->hwloc, text) < 0)
			return wrong(b, "not an hwloc synthetic string, expected for example "
					"'pack:2 core:8 pu:2'");
		return true;
	case SC_HWLOC_XML:
		file = fopen(text, "r");
		if (!file)
			return wrong(b, sc_format(b->p->arena, "cannot read the hwloc file: %s",
						  strerror(errno)));
		fclose(file);
		if (hwloc_topology_set_xml(b->hwloc, text) < 0)
			return wrong(b, "not an hwloc XML file");
		return true;
	case SC_HWLOC_THIS_HOST:
		return true;
	}
	return false;
}

bool sc_topology_hwloc(struct sc_parse *p, const struct sc_mark *mark, enum sc_hwloc_source source,
		       const char *text, struct sc_topology *out)
{
	struct builder *b = sc_alloc(p->arena, 1, sizeof(*b));
	bool ok = false;

	*b = (struct builder){.p = p, .mark = mark, .source = text, .out = out};
	if (hwloc_topology_init(&b->hwloc) < 0)
		return wrong(b, "cannot start hwloc");
	hwloc_topology_set_flags(b->hwloc, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
	if (load_source(b, source, text)) {
		if (hwloc_topology_load(b->hwloc) < 0)
			wrong(b, source == SC_HWLOC_XML ? "not an hwloc XML file"
							: "hwloc cannot load it");
		else
			ok = read_nodes(b) && read_cpus(b);
	}
	if (ok) {
		read_cache_sizes(b);
		sc_topology_finish(out);
	}
	hwloc_topology_destroy(b->hwloc);
	return ok;
}
