/*
 * VMs and domain 0 (core-scheduling sections 7.2 and 7.3).
 *
 * Law: after reading, every VM has 1 <= vcpus <= maxvcpus, weight 1..65535, cap 0..100 * vcpus,
 * hard masks with an online pCPU, memory shares that sum to SC_ONE, and a unique name.
 */
#include "scenario/vm.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#include "scenario/cpulist.h"
#include "scenario/fields.h"
#include "scenario/pools.h"
#include "scenario/realtime.h"

#define MEMORY_DEFAULT (2LL << 30)		    /* bytes; only its place matters */
#define MEMORY_MIN     (1LL << 20)		    /* bytes */
#define MEMORY_MAX     (1LL << 50)		    /* bytes */
#define START_MAX      (1000LL * 3600 * 1000000000) /* ns */

struct reading {
	struct sc_parse *p;
	const struct sc_library *library;
	struct scenario *s;
	unsigned int room; /* of s->vm */
	uint64_t all_vcpus;
};

/* --- CPU masks -------------------------------------------------------------------------------- */

bool sc_mask_read(struct sc_parse *p, const struct sc_node *node, const char *name,
		  const struct sc_topology *topo, bool must_run, struct hv_mask *out)
{
	char error[SC_CPULIST_ERROR];
	struct sc_mark mark = node->mark;
	struct hv_mask online;
	const char *text;
	size_t at;

	if (!sc_read_text(p, node, name, &text))
		return false;
	if (sc_cpulist_parse(text, topo, out, error, &at) < 0) {
		mark.column += (int)at;
		sc_error(p, &mark, "%s: %s", name, error);
		return false;
	}
	hv_mask_and(&online, out, &topo->online, SC_NW);
	if (must_run && hv_mask_empty(&online, SC_NW)) {
		sc_error(p, &node->mark, "%s: none of the pCPUs '%s' is online", name, text);
		return false;
	}
	return true;
}

/* A string for all vCPUs, or a list with one string per vCPU: surplus ignored, missing unpinned. */
static bool read_masks(struct sc_parse *p, const struct sc_node *node, const char *name,
		       const struct sc_topology *topo, bool must_run, unsigned int n,
		       struct hv_mask *out)
{
	const struct sc_node *c;
	unsigned int i = 0;

	assert(n > 0);
	if (node->kind != SC_LIST) {
		if (!sc_mask_read(p, node, name, topo, must_run, &out[0]))
			return false;
		for (i = 1; i < n; i++)
			out[i] = out[0];
		return true;
	}
	for (c = node->child; c && i < n; c = c->next)
		sc_mask_read(p, c, name, topo, must_run, &out[i++]);
	if (c)
		sc_warning(p, &c->mark, "%s: %u entries for %u vCPUs, the surplus is ignored", name,
			   node->n_children, n);
	return true;
}

/* A list of such lists or strings, one for each VM of a group? */
static bool is_per_vm(const struct sc_node *node)
{
	for (const struct sc_node *c = node && node->kind == SC_LIST ? node->child : NULL; c;
	     c = c->next) {
		if (c->kind == SC_LIST)
			return true;
	}
	return false;
}

static struct hv_mask *all_masks(struct sc_parse *p, const struct sc_topology *topo, unsigned int n)
{
	struct hv_mask *masks = sc_alloc(p->arena, n, sizeof(*masks));

	for (unsigned int i = 0; i < n; i++)
		masks[i] = topo->present;
	return masks;
}

/* --- Memory ----------------------------------------------------------------------------------- */

/* Equal shares over a set of nodes; the first gets what does not divide. */
static void stripe(struct sc_vm *vm, uint64_t nodes)
{
	unsigned int n = (unsigned int)__builtin_popcountll(nodes);
	int64_t left = SC_ONE;

	assert(n > 0);
	memset(vm->node_share, 0, sizeof(vm->node_share));
	for (unsigned int i = 0; i < SC_MAX_NODES; i++) {
		if (nodes >> i & 1) {
			vm->node_share[i] = SC_ONE / (int)n;
			left -= SC_ONE / (int)n;
		}
	}
	vm->node_share[__builtin_ctzll(nodes)] += left;
}

static uint64_t all_nodes(const struct sc_topology *topo)
{
	return topo->n_nodes == 64 ? ~0ULL : (1ULL << topo->n_nodes) - 1;
}

/*
 * The nodes whose pCPUs the VM may use: the toolstack's placement follows affinity (workloads E1).
 */
static uint64_t nodes_of_affinity(const struct sc_vm *vm, const struct sc_topology *topo)
{
	uint64_t nodes = 0;

	for (unsigned int v = 0; v < vm->maxvcpus; v++) {
		for (unsigned int n = 0; n < topo->n_nodes; n++) {
			if (hv_mask_intersects(&vm->hard[v], &topo->node_cpus[n], SC_NW))
				nodes |= 1ULL << n;
		}
	}
	return nodes ? nodes : all_nodes(topo);
}

static int node_index(const struct sc_topology *topo, int64_t id)
{
	for (unsigned int i = 0; i < topo->n_nodes; i++) {
		if (topo->node_id[i] == id)
			return (int)i;
	}
	return -1;
}

/* {0: 75%, 1: 25%} */
static void read_shares(struct sc_parse *p, const struct sc_node *map,
			const struct sc_topology *topo, struct sc_vm *vm)
{
	int64_t sum = 0, id, share;
	int last = -1, node;

	memset(vm->node_share, 0, sizeof(vm->node_share));
	for (const struct sc_node *c = map->child; c; c = c->next) {
		if (sc_quantity_parse(c->key->text, SC_Q_COUNT, &id) != SC_Q_OK ||
		    (node = node_index(topo, id)) < 0) {
			sc_error(p, &c->key->mark,
				 "placement: '%s' is no memory node of the topology (it has %u)",
				 c->key->text, topo->n_nodes);
			return;
		}
		if (!sc_read_quantity(p, c, "placement", SC_Q_SHARE, 0, SC_ONE, &share))
			return;
		vm->node_share[node] = share;
		sum += share;
		last = share ? node : last;
	}
	/* Thirds and the like: shares are rounded to 2^-20, the last one takes the rest. */
	if (last < 0 || sum < SC_ONE - SC_ONE / 100 || sum > SC_ONE + SC_ONE / 100)
		sc_error(p, &map->mark, "placement: the shares must sum to 100%%");
	else
		vm->node_share[last] += SC_ONE - sum;
}

static void read_placement(struct sc_parse *p, const struct sc_node *node,
			   const struct sc_topology *topo, struct sc_vm *vm)
{
	int64_t id;
	int index;

	if (!node || (node->kind == SC_SCALAR && strcmp(node->text, "auto") == 0)) {
		stripe(vm, nodes_of_affinity(vm, topo));
	} else if (node->kind == SC_MAP) {
		read_shares(p, node, topo, vm);
	} else if (node->kind == SC_SCALAR && strcmp(node->text, "striped") == 0) {
		stripe(vm, all_nodes(topo));
	} else if (node->kind == SC_SCALAR && strncmp(node->text, "node:", 5) == 0) {
		if (sc_quantity_parse(node->text + 5, SC_Q_COUNT, &id) != SC_Q_OK ||
		    (index = node_index(topo, id)) < 0)
			sc_error(p, &node->mark,
				 "placement: '%s' is not in the topology (it has %u memory nodes)",
				 node->text, topo->n_nodes);
		else
			stripe(vm, 1ULL << index);
	} else {
		sc_error(
			p, &node->mark,
			"placement: found %s, expected auto, striped, node:N or {0: 75%%, 1: 25%%}",
			sc_describe(p, node));
	}
}

/* --- What domain 0 and other VMs share -------------------------------------------------------- */

static void read_vcpus(struct sc_fields *f, struct sc_vm *vm)
{
	const struct sc_node *max;
	int64_t value;

	sc_take_uint(f, "vcpus", 1, SC_MAX_VCPUS, &vm->vcpus);
	vm->maxvcpus = vm->vcpus;
	max = sc_take(f, "maxvcpus");
	if (max && sc_read_quantity(f->p, max, "maxvcpus", SC_Q_COUNT, 1, SC_MAX_VCPUS, &value)) {
		if (value < vm->vcpus)
			sc_error(f->p, &max->mark,
				 "maxvcpus: %s is less than vcpus, expected at least %u", max->text,
				 vm->vcpus);
		else
			vm->maxvcpus = (unsigned int)value;
	}
	if (vm->maxvcpus < vm->vcpus)
		vm->maxvcpus = vm->vcpus;
}

/* `cpu_weight` is xl's name of it. */
static void read_weight(struct sc_fields *f, struct sc_vm *vm)
{
	const struct sc_node *xl;

	sc_take_uint(f, "weight", 1, SC_WEIGHT_MAX, &vm->weight);
	xl = sc_map_find(f->map, "cpu_weight");
	if (xl && sc_map_find(f->map, "weight"))
		sc_error(f->p, &xl->mark, "cpu_weight is another name of weight: give one of them");
	sc_take_uint(f, "cpu_weight", 1, SC_WEIGHT_MAX, &vm->weight);
}

/* Keys of xl that Xen takes and forgets. */
static void ignore_xl(struct sc_fields *f)
{
	static const char *const keys[] = {"slice", "latency"};

	for (unsigned int i = 0; i < 2; i++) {
		const struct sc_node *node = sc_take(f, keys[i]);

		if (node)
			sc_warning(f->p, &node->mark, "%s has no effect, in Xen neither", keys[i]);
	}
}

/* Each vCPU may run somewhere in its pool. */
static void check_pool(struct reading *r, const struct sc_mark *mark, const struct sc_vm *vm)
{
	const struct sc_pool *pool = &r->s->pool[vm->pool];

	for (unsigned int i = 0; i < vm->maxvcpus; i++) {
		if (hv_mask_intersects(&vm->hard[i], &pool->cpus, SC_NW))
			continue;
		sc_error(r->p, mark, "vCPU %u may run on no pCPU of its pool '%s'", i, pool->name);
		return;
	}
}

/* xl starts no VM outside its vm.cpumask; domain 0 is not of its making. */
static void apply_cpumask(struct reading *r, const struct sc_mark *mark, struct sc_vm *vm)
{
	struct hv_mask online;

	if (hv_mask_subset(&r->s->topo.present, &r->s->cpumask, SC_NW) || vm->dom0)
		return;
	vm->has_hard = true;
	for (unsigned int i = 0; i < vm->maxvcpus; i++) {
		hv_mask_and(&vm->hard[i], &vm->hard[i], &r->s->cpumask, SC_NW);
		hv_mask_and(&online, &vm->hard[i], &r->s->topo.online, SC_NW);
		if (!hv_mask_empty(&online, SC_NW))
			continue;
		sc_error(r->p, mark, "cpus: vCPU %u has no pCPU of the host's cpumask", i);
		return;
	}
}

/* counted: a group, whose masks may be given for each VM; those are left to own_masks(). */
static void read_common(struct reading *r, struct sc_fields *f, bool counted, struct sc_vm *vm)
{
	const struct sc_topology *topo = &r->s->topo;
	const struct sc_node *c;

	vm->weight = SC_WEIGHT_DEFAULT;
	vm->memory = MEMORY_DEFAULT;
	vm->line = f->map ? f->map->mark.line : 0;
	read_vcpus(f, vm);
	read_weight(f, vm);
	sc_take_uint(f, "cap", 0, 100 * vm->maxvcpus, &vm->cap);
	sc_rtds_read(f, vm);
	ignore_xl(f);
	if (!vm->hard)
		vm->hard = all_masks(r->p, topo, vm->maxvcpus);
	if (!vm->soft)
		vm->soft = all_masks(r->p, topo, vm->maxvcpus);
	if ((c = sc_take(f, "cpus")) && !(counted && is_per_vm(c)))
		vm->has_hard |= read_masks(r->p, c, "cpus", topo, true, vm->maxvcpus, vm->hard);
	if ((c = sc_take(f, "cpus_soft")) && !(counted && is_per_vm(c)))
		vm->has_soft |=
			read_masks(r->p, c, "cpus_soft", topo, false, vm->maxvcpus, vm->soft);
	if (f->map) {
		apply_cpumask(r, &f->map->mark, vm);
		check_pool(r, &f->map->mark, vm);
	}
	sc_take_quantity(f, "memory", SC_Q_SIZE, MEMORY_MIN, MEMORY_MAX, &vm->memory);
	read_placement(r->p, sc_take(f, "placement"), topo, vm);
}

static bool count_vcpus(struct reading *r, const struct sc_mark *mark, uint64_t more)
{
	r->all_vcpus += more;
	if (r->all_vcpus <= SC_MAX_ALL_VCPUS)
		return true;
	if (r->all_vcpus - more <= SC_MAX_ALL_VCPUS)
		sc_error(r->p, mark, "more than %d vCPUs in all", SC_MAX_ALL_VCPUS);
	return false;
}

static struct sc_vm *add_vm(struct reading *r)
{
	struct sc_vm *larger;

	if (r->s->n_vms == r->room) {
		r->room = r->room ? 2 * r->room : 16;
		larger = sc_alloc(r->p->arena, r->room, sizeof(*larger));
		if (r->s->n_vms)
			memcpy(larger, r->s->vm, r->s->n_vms * sizeof(*larger));
		r->s->vm = larger;
	}
	return &r->s->vm[r->s->n_vms++];
}

/* --- Domain 0 --------------------------------------------------------------------------------- */

/* The pCPUs of dom0_nodes, or all. */
static struct hv_mask dom0_cpus(struct reading *r)
{
	const struct sc_topology *topo = &r->s->topo;
	const struct sc_xen *xen = &r->s->xen;
	struct hv_mask m = {0};

	if (!xen->dom0_nodes_set)
		return topo->present;
	for (unsigned int i = 0; i < topo->n_nodes; i++) {
		if (topo->node_id[i] < 64 && (xen->dom0_nodes >> topo->node_id[i] & 1))
			hv_mask_or(&m, &m, &topo->node_cpus[i], SC_NW);
	}
	return m;
}

/* core-scheduling section 7.3: the number of pCPUs of the pool and dom0_nodes, clamped. */
static unsigned int dom0_vcpus(const struct reading *r, const struct hv_mask *cpus)
{
	const struct sc_xen *xen = &r->s->xen;
	struct hv_mask online;
	unsigned int n;

	hv_mask_and(&online, cpus, &r->s->pool[0].cpus, SC_NW);
	n = hv_mask_weight(&online, SC_NW);
	if (n < xen->dom0_min_vcpus)
		n = xen->dom0_min_vcpus;
	if (n > xen->dom0_max_vcpus)
		n = xen->dom0_max_vcpus;
	if (n > SC_MAX_VCPUS)
		n = SC_MAX_VCPUS;
	return n ? n : 1;
}

/* Masks by dom0_nodes and dom0_vcpus_pin; vCPU n starts on the n-th of its pCPUs, cyclically. */
static void dom0_affinity(struct reading *r, const struct hv_mask *cpus, struct sc_vm *vm)
{
	const struct sc_xen *xen = &r->s->xen;
	struct hv_mask online;
	unsigned int next;

	if (xen->dom0_nodes_set) {
		struct hv_mask *masks = xen->dom0_nodes_relaxed ? vm->soft : vm->hard;

		for (unsigned int i = 0; i < vm->maxvcpus; i++)
			masks[i] = *cpus;
		vm->has_soft = xen->dom0_nodes_relaxed;
		vm->has_hard = !xen->dom0_nodes_relaxed;
	}
	if (!xen->dom0_vcpus_pin)
		return;
	hv_mask_and(&online, cpus, &r->s->pool[0].cpus, SC_NW);
	next = hv_mask_first(&online, SC_NW);
	for (unsigned int i = 0; i < vm->maxvcpus; i++) {
		hv_mask_zero(&vm->hard[i], SC_NW);
		hv_mask_set(&vm->hard[i], next);
		next = hv_mask_after(&online, next, SC_NW);
	}
	vm->has_hard = true;
}

/* The number of vCPUs that both the command line and the file may give: they must not differ. */
static unsigned int dom0_count(struct reading *r, const struct sc_node *node,
			       const struct hv_mask *cpus)
{
	const struct sc_node *given = sc_map_find(node, "vcpus"),
			     *max = sc_map_find(node, "maxvcpus");
	unsigned int n = dom0_vcpus(r, cpus);
	bool told = r->s->xen.dom0_max_vcpus != UINT_MAX || r->s->xen.dom0_min_vcpus;
	int64_t value = n, limit;

	if (given && sc_quantity_parse(given->text, SC_Q_COUNT, &value) == SC_Q_OK && told &&
	    value != n)
		sc_error(r->p, &given->mark,
			 "dom0: vcpus: %s contradicts dom0_max_vcpus on the command line (%u)",
			 given->text, n);
	if (value < 1 || value > SC_MAX_VCPUS)
		value = 1;
	if (max && sc_quantity_parse(max->text, SC_Q_COUNT, &limit) == SC_Q_OK && limit > value &&
	    limit <= SC_MAX_VCPUS)
		value = limit;
	return (unsigned int)value;
}

static const struct workload *dom0_workload(struct reading *r, struct sc_fields *f,
					    const struct sc_mark *mark, unsigned int vcpus,
					    bool *builtin)
{
	const struct sc_node *own = sc_take(f, "workload"), *back = sc_take(f, "background");
	const struct workload *w = NULL, *b = NULL;
	bool off = back && back->kind == SC_SCALAR && sc_bool_word(back->text) == 0;

	*builtin =
		!r->library->classes && (own ? off && sc_workload_is_builtin(r->library, own)
					     : !back || sc_bool_word(back->text) >= 0 ||
							 sc_workload_is_builtin(r->library, back));
	if (own)
		w = sc_workload_read(r->p, r->library, own, vcpus);
	if (!own && off)
		return sc_workload_builtin(r->p, r->library, mark, "idle", vcpus);
	if (off)
		return w;
	if (back && !(back->kind == SC_SCALAR && sc_bool_word(back->text) == 1))
		b = sc_workload_read(r->p, r->library, back, vcpus);
	else
		b = sc_workload_builtin(r->p, r->library, mark, "dom0-background", vcpus);
	if (!own)
		return b;
	return w && b ? sc_workload_merge(r->p, mark, w, b) : NULL;
}

static void read_dom0(struct reading *r, const struct sc_node *node)
{
	static const struct sc_mark nowhere = {.file = "dom0"};
	struct hv_mask cpus = dom0_cpus(r);
	struct sc_fields f;
	struct sc_vm *vm;

	if (node && node->kind == SC_SCALAR && strcmp(node->text, "none") == 0)
		return;
	if (!sc_fields_open(&f, r->p, node, "dom0"))
		return;
	vm = add_vm(r);
	*vm = (struct sc_vm){.name = "dom0", .group = "dom0", .dom0 = true};
	vm->vcpus = vm->maxvcpus = dom0_count(r, node, &cpus);
	vm->hard = all_masks(r->p, &r->s->topo, vm->maxvcpus);
	vm->soft = all_masks(r->p, &r->s->topo, vm->maxvcpus);
	dom0_affinity(r, &cpus, vm);
	if (!sc_map_find(node, "vcpus"))
		vm->vcpus = dom0_vcpus(r, &cpus);
	read_common(r, &f, false, vm);
	vm->workload = dom0_workload(r, &f, node ? &node->mark : &nowhere, vm->vcpus, &vm->builtin);
	sc_fields_close(&f);
	count_vcpus(r, node ? &node->mark : &nowhere, vm->maxvcpus);
}

/* --- Other VMs -------------------------------------------------------------------------------- */

static bool name_taken(const struct scenario *s, const char *name)
{
	for (unsigned int i = 0; i < s->n_vms; i++) {
		if (strcmp(s->vm[i].name, name) == 0 || strcmp(s->vm[i].group, name) == 0)
			return true;
	}
	return false;
}

static bool check_name(struct reading *r, const struct sc_node *node, const char *name)
{
	static const char *const reserved[] = {"host", "cpu", "dom0", "all", "none"};

	if (!sc_is_name(name)) {
		sc_error(r->p, &node->mark,
			 "name: '%s' is not a name, expected a letter, then letters, digits, "
			 "'_', '-'",
			 name);
		return false;
	}
	for (unsigned int i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++) {
		if (strcmp(name, reserved[i]) == 0) {
			sc_error(r->p, &node->mark, "name: '%s' is reserved", name);
			return false;
		}
	}
	if (name_taken(r->s, name)) {
		sc_error(r->p, &node->mark, "name: another VM is called '%s'", name);
		return false;
	}
	return true;
}

/*
 * The masks of VM number vm->index of a group, if they are given for each; VMs behind the end of
 * the list are unpinned, entries behind the last VM unused. Memory follows them.
 */
static void own_masks(struct reading *r, const struct sc_node *node, const char *name, bool hard,
		      struct sc_vm *vm)
{
	const struct sc_node *list = sc_map_find(node, name), *c;
	const struct sc_topology *topo = &r->s->topo;
	struct hv_mask *masks;

	if (!is_per_vm(list))
		return;
	c = list->child;
	for (unsigned int i = 0; c && i < vm->index; i++)
		c = c->next;
	if (!c)
		return;
	masks = all_masks(r->p, topo, vm->maxvcpus);
	if (!read_masks(r->p, c, name, topo, hard, vm->maxvcpus, masks))
		return;
	if (hard) {
		vm->hard = masks;
		vm->has_hard = true;
		apply_cpumask(r, &c->mark, vm);
		check_pool(r, &c->mark, vm);
		read_placement(r->p, sc_map_find(node, "placement"), topo, vm);
	} else {
		vm->soft = masks;
		vm->has_soft = true;
	}
}

/* Adds the VM, or `count` of them: name1, name2, ... They share the workload. */
static void expand(struct reading *r, const struct sc_node *node, const struct sc_vm *model,
		   bool counted, unsigned int count)
{
	struct sc_mark mark = node->mark;
	struct sc_vm *vm;

	if (r->s->n_vms + count > SC_MAX_VMS) {
		sc_error(r->p, &mark, "more than %d VMs", SC_MAX_VMS);
		return;
	}
	for (unsigned int i = 0; i < count; i++) {
		const char *name = model->group;

		if (counted) {
			name = sc_format(r->p->arena, "%s%u", model->group, i + 1);
			for (unsigned int j = 0; j < r->s->n_vms - i; j++) {
				if (strcmp(r->s->vm[j].name, name) == 0)
					sc_error(r->p, &mark, "name: another VM is called '%s'",
						 name);
			}
		}
		if (!count_vcpus(r, &mark, model->maxvcpus))
			return;
		vm = add_vm(r);
		*vm = *model;
		vm->name = name;
		vm->index = i;
		if (counted) {
			own_masks(r, node, "cpus", true, vm);
			own_masks(r, node, "cpus_soft", false, vm);
		}
	}
}

static void read_vm(struct reading *r, const struct sc_node *node)
{
	const struct sc_node *name_node, *load;
	unsigned int count = 1;
	struct sc_vm vm = {.vcpus = 1};
	struct sc_fields f;
	bool counted, named = false;

	if (!sc_fields_open(&f, r->p, node, "a VM"))
		return;
	name_node = sc_require(&f, "name");
	if (name_node && sc_read_text(r->p, name_node, "name", &vm.group))
		named = check_name(r, name_node, vm.group);
	counted = sc_take(&f, "count") != NULL;
	sc_take_uint(&f, "count", 0, SC_MAX_VMS, &count);
	sc_pool_take(&f, r->s, &vm.pool);
	read_common(r, &f, counted, &vm);
	sc_take_quantity(&f, "start", SC_Q_DURATION, 0, START_MAX, &vm.start);
	load = sc_take(&f, "workload");
	vm.builtin = load ? sc_workload_is_builtin(r->library, load) : !r->library->classes;
	if (load)
		vm.workload = sc_workload_read(r->p, r->library, load, vm.vcpus);
	else
		vm.workload = sc_workload_builtin(r->p, r->library, &node->mark, "idle", vm.vcpus);
	sc_fields_close(&f);
	if (named)
		expand(r, node, &vm, counted, count);
}

/* A channel of another VM must be there, in a workload of one VM only. */
static void check_channels(struct reading *r, const char *file)
{
	const struct scenario *s = r->s;
	struct sc_mark mark = {.file = file, .column = 1};
	unsigned int first, n;

	for (unsigned int i = 0; i < s->n_vms; i++) {
		const struct workload *w = s->vm[i].workload;

		mark.line = s->vm[i].line;
		for (unsigned int c = 0; w && c < w->n_channels; c++) {
			const struct channel_desc *ch = &w->channel[c];

			if (!ch->vm)
				continue;
			if (!scenario_find(s, ch->vm, &first, &n))
				sc_error(
					r->p, &mark,
					"VM '%s': its workload '%s' wants channel '%s' of VM '%s', "
					"which does not exist",
					s->vm[i].name, w->name, ch->name, ch->vm);
			else if (n > 1)
				sc_error(r->p, &mark,
					 "VM '%s': its workload '%s' wants channel '%s' of '%s', "
					 "which is a group; name one of its VMs",
					 s->vm[i].name, w->name, ch->name, ch->vm);
			else if (s->vm[first].workload &&
				 !sc_workload_channel(s->vm[first].workload, ch->name))
				sc_error(
					r->p, &mark,
					"VM '%s': its workload '%s' wants channel '%s' of VM '%s', "
					"whose workload '%s' has no such channel",
					s->vm[i].name, w->name, ch->name, ch->vm,
					s->vm[first].workload->name);
		}
	}
}

void sc_vms_read(struct sc_parse *p, const struct sc_library *library, const struct sc_node *dom0,
		 const struct sc_node *vms, const struct sc_mark *cmdline, struct scenario *s)
{
	struct reading r = {.p = p, .library = library, .s = s};
	unsigned int errors = p->diag->errors;

	assert(s->topo.n_cpus > 0);
	for (unsigned int n = 0; s->xen.dom0_nodes_set && n < 64; n++) {
		if ((s->xen.dom0_nodes >> n & 1) && node_index(&s->topo, n) < 0)
			sc_error(p, cmdline,
				 "dom0_nodes: node %u is not in the topology (it has %u)", n,
				 s->topo.n_nodes);
	}
	if (p->diag->errors == errors)
		read_dom0(&r, dom0);
	if (vms && sc_read_list(p, vms, "vms")) {
		for (const struct sc_node *c = vms->child; c; c = c->next)
			read_vm(&r, c);
	}
	if (p->diag->errors == errors)
		check_channels(&r, vms ? vms->mark.file : cmdline->file);
}
