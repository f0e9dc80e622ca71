/*
 * Cpupools of a scenario; see pools.h.
 *
 * Laws: pools have no pCPU in common; each consists of whole resources of its granularity; pCPU 0
 * is in Pool-0 (core-scheduling section 4.1).
 */
#include "scenario/pools.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "scenario/cpulist.h"
#include "scenario/granularity.h"

bool sc_pool_is_name(const char *text)
{
	return isalpha((unsigned char)*text) &&
	       text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				 "_-.")] == '\0';
}

bool sc_sched_find(const char *name, enum sc_sched *out)
{
	for (unsigned int i = 0; i < SC_NR_SCHEDS; i++) {
		if (strcmp(name, sc_sched_name((enum sc_sched)i)) != 0)
			continue;
		*out = (enum sc_sched)i;
		return true;
	}
	return false;
}

bool sc_gran_find(const char *name, enum hv_gran *out)
{
	for (unsigned int i = HV_GRAN_CPU; i <= HV_GRAN_SOCKET; i++) {
		if (strcmp(name, sc_gran_name((enum hv_gran)i)) != 0)
			continue;
		*out = (enum hv_gran)i;
		return true;
	}
	return false;
}

const char *sc_sched_names(struct sc_arena *arena)
{
	const char *list = sc_sched_name((enum sc_sched)0);

	for (unsigned int i = 1; i < SC_NR_SCHEDS; i++)
		list = sc_format(arena, "%s%s%s", list, i + 1 < SC_NR_SCHEDS ? ", " : " or ",
				 sc_sched_name((enum sc_sched)i));
	return list;
}

const char *sc_pool_names(struct sc_arena *arena, const struct scenario *s)
{
	const char *list = s->pool[0].name;

	for (unsigned int i = 1; i < s->n_pools; i++)
		list = sc_format(arena, "%s%s%s", list, i + 1 < s->n_pools ? ", " : " or ",
				 s->pool[i].name);
	return list;
}

/* --- Reading ---------------------------------------------------------------------------------- */

static bool read_name(struct sc_parse *p, struct sc_fields *f, const struct scenario *s,
		      struct sc_pool *pool)
{
	const struct sc_node *node = sc_require(f, "name");

	if (!node || !sc_read_text(p, node, "name", &pool->name))
		return false;
	if (!sc_pool_is_name(pool->name)) {
		sc_error(p, &node->mark,
			 "name: '%s' is not a name, expected a letter, then letters, digits, '_', "
			 "'-', '.'",
			 pool->name);
		return false;
	}
	for (unsigned int i = 0; i < s->n_pools; i++) {
		if (strcmp(s->pool[i].name, pool->name) != 0)
			continue;
		sc_error(p, &node->mark, "name: another pool is called '%s'", pool->name);
		return false;
	}
	return true;
}

static bool read_cpus(struct sc_parse *p, const struct sc_node *node, bool nodes,
		      const struct scenario *s, struct hv_mask *out)
{
	const char *what = nodes ? "nodes" : "cpus", *text;
	char error[SC_CPULIST_ERROR];
	size_t at;

	if (!sc_read_text(p, node, what, &text))
		return false;
	if ((nodes ? sc_nodelist_parse : sc_cpulist_parse)(text, &s->topo, out, error, &at) < 0) {
		sc_error(p, &node->mark, "%s: %s", what, error);
		return false;
	}
	hv_mask_and(out, out, &s->topo.online, SC_NW);
	if (!hv_mask_empty(out, SC_NW))
		return true;
	sc_error(p, &node->mark, "%s: none of these pCPUs is online", what);
	return false;
}

/* What of the pool's pCPUs cannot be its own. */
static void check_cpus(struct sc_parse *p, const struct sc_mark *mark, const struct scenario *s,
		       const struct sc_pool *pool)
{
	if (hv_mask_test(&pool->cpus, s->topo.cpu[0].id))
		sc_error(p, mark, "pool '%s': pCPU %u is the first one, which stays in Pool-0",
			 pool->name, s->topo.cpu[0].id);
	for (unsigned int i = 1; i < s->n_pools; i++) {
		if (hv_mask_intersects(&s->pool[i].cpus, &pool->cpus, SC_NW))
			sc_error(p, mark, "pool '%s': a pCPU of it is in pool '%s', too",
				 pool->name, s->pool[i].name);
	}
}

/* The host's pCPUs form resources of this granularity. */
static bool gran_is_possible(const struct scenario *s, enum hv_gran gran)
{
	struct scenario host = *s;
	enum hv_gran effective;

	host.xen.gran = gran;
	sc_gran_size(&host, &effective);
	return effective == gran;
}

static void read_pool(struct sc_parse *p, const struct sc_node *node, struct scenario *s)
{
	struct sc_pool pool = {.sched = s->xen.sched, .gran = s->pool[0].gran};
	const struct sc_node *cpus, *nodes, *c;
	struct sc_fields f;
	bool ok;

	if (!sc_fields_open(&f, p, node, "a pool"))
		return;
	pool.line = node->mark.line;
	ok = read_name(p, &f, s, &pool);
	cpus = sc_take(&f, "cpus");
	nodes = sc_take(&f, "nodes");
	if ((c = sc_take(&f, "sched")) && c->kind == SC_SCALAR &&
	    !sc_sched_find(c->text, &pool.sched))
		sc_error(p, &c->mark, "sched: unknown scheduler '%s', expected %s", c->text,
			 sc_sched_names(p->arena));
	if ((c = sc_take(&f, "gran")) && c->kind == SC_SCALAR && !sc_gran_find(c->text, &pool.gran))
		sc_error(p, &c->mark, "gran: found '%s', expected cpu, core or socket", c->text);
	sc_fields_close(&f);
	if (!gran_is_possible(s, pool.gran))
		sc_error(p, &node->mark,
			 "gran: %s is not possible here: not all have the same number of pCPUs",
			 sc_gran_name(pool.gran));
	if (!cpus == !nodes) {
		sc_error(p, &node->mark, "a pool: expected either 'cpus' or 'nodes'");
		return;
	}
	ok = read_cpus(p, nodes ? nodes : cpus, nodes, s, &pool.cpus) && ok;
	if (!ok)
		return;
	check_cpus(p, &node->mark, s, &pool);
	hv_mask_andnot(&s->pool[0].cpus, &s->pool[0].cpus, &pool.cpus, SC_NW);
	s->pool[s->n_pools++] = pool;
}

static unsigned int place(const struct sc_cpu *c, enum hv_gran gran)
{
	return gran == HV_GRAN_CPU ? c->id : gran == HV_GRAN_CORE ? c->core : c->socket;
}

/* A resource is in one pool, or it is none. */
static void check_resources(struct sc_parse *p, const struct sc_mark *list,
			    const struct scenario *s, const struct sc_pool *pool)
{
	struct sc_mark mark = *list;

	if (pool->line)
		mark.line = pool->line;
	for (unsigned int i = 0; i < s->topo.n_cpus; i++) {
		const struct sc_cpu *a = &s->topo.cpu[i];

		for (unsigned int k = 0; k < s->topo.n_cpus; k++) {
			const struct sc_cpu *b = &s->topo.cpu[k];

			if (!hv_mask_test(&pool->cpus, a->id) || !b->online ||
			    hv_mask_test(&pool->cpus, b->id) ||
			    place(a, pool->gran) != place(b, pool->gran))
				continue;
			sc_error(p, &mark,
				 "pool '%s': under sched-gran=%s pCPUs %u and %u belong together, "
				 "but pCPU %u is not in the pool",
				 pool->name, sc_gran_name(pool->gran), a->id, b->id, b->id);
			return;
		}
	}
}

void sc_pools_read(struct sc_parse *p, const struct sc_node *list, struct scenario *s)
{
	unsigned int n = list && list->kind == SC_LIST ? list->n_children : 0;
	unsigned int errors = p->diag->errors;

	assert(s->topo.n_cpus > 0);
	s->pool = sc_alloc(p->arena, n + 1, sizeof(*s->pool));
	s->pool[0] =
		(struct sc_pool){.name = "Pool-0", .cpus = s->topo.online, .sched = s->xen.sched};
	s->n_pools = 1;
	sc_gran_size(s, &s->pool[0].gran);
	if (!list || !sc_read_list(p, list, "pools"))
		return;
	for (const struct sc_node *c = list->child; c; c = c->next)
		read_pool(p, c, s);
	for (unsigned int i = 0; p->diag->errors == errors && i < s->n_pools; i++)
		check_resources(p, &list->mark, s, &s->pool[i]);
	/* So that VMs are not told of pools that will be others. */
	for (unsigned int i = 0; p->diag->errors != errors && i < s->n_pools; i++)
		s->pool[i].cpus = s->topo.online;
}

void sc_pool_take(struct sc_fields *f, const struct scenario *s, unsigned int *pool)
{
	const struct sc_node *node = sc_take(f, "pool");
	const char *name;

	*pool = 0;
	if (!node || !sc_read_text(f->p, node, "pool", &name))
		return;
	while (*pool < s->n_pools && strcmp(s->pool[*pool].name, name) != 0 &&
	       strcmp(sc_format(f->p->arena, "%u", *pool), name) != 0)
		(*pool)++;
	if (*pool < s->n_pools)
		return;
	*pool = 0;
	sc_error(f->p, &node->mark, "pool: no pool is named '%s', expected %s", name,
		 sc_pool_names(f->p->arena, s));
}

void sc_pools_print(FILE *out, const struct scenario *s)
{
	char text[1024];

	if (s->n_pools > 1)
		fputs("pools:\n", out);
	for (unsigned int i = 1; i < s->n_pools; i++) {
		const struct sc_pool *pool = &s->pool[i];

		fprintf(out, "  - {name: %s, cpus: \"%s\", sched: %s, gran: %s}\n", pool->name,
			sc_mask_format(&pool->cpus, text, sizeof(text)), sc_sched_name(pool->sched),
			sc_gran_name(pool->gran));
	}
}
