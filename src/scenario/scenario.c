/*
 * A scenario file as a whole: the base configuration, its variants, the expectations.
 *
 * A variant is the file's own tree with its `set:` applied and its command line parameters put over
 * those of the host, read by the same code as the base: every check holds for every variant. The
 * base is read first, so that its errors are reported once and without a variant's name.
 */
#include "scenario/scenario.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "scenario/cmdline.h"
#include "scenario/expect.h"
#include "scenario/fields.h"
#include "scenario/file.h"
#include "scenario/granularity.h"
#include "scenario/host.h"
#include "scenario/override.h"
#include "scenario/pools.h"
#include "scenario/realtime.h"
#include "scenario/timeline.h"
#include "scenario/topology.h"
#include "scenario/vm.h"

#define SECOND	     1000000000LL /* ns */
#define TIME_MAX     (1000 * 3600 * SECOND)
#define WARMUP	     (1 * SECOND) /* defaults: enough for credit2's load averages (2^30 ns) */
#define DURATION     (10 * SECOND)
#define DURATION_MAX (600 * SECOND) /* default with `until` */
#define STALL_LIMIT  (10 * SECOND)
#define SEEDS	     5

struct loader {
	struct sc_parse parse;
	const char *dir;
	const struct sc_node *root;
	struct scenario_file *file;
};

/* --- One configuration ------------------------------------------------------------------------ */

static void read_run(struct sc_parse *p, const struct sc_node *node, struct sc_run *run,
		     struct sc_mark *until_mark)
{
	const struct sc_node *until;
	struct sc_fields f;
	int64_t base = 1;

	*run = (struct sc_run){
		.warmup = WARMUP, .duration = DURATION, .seeds = SEEDS, .stall_limit = STALL_LIMIT};
	if (!sc_fields_open(&f, p, node, "run"))
		return;
	until = sc_take(&f, "until");
	if (until && sc_read_text(p, until, "until", &run->until)) {
		run->duration = DURATION_MAX;
		*until_mark = until->mark;
	}
	sc_take_quantity(&f, "warmup", SC_Q_DURATION, 0, TIME_MAX, &run->warmup);
	sc_take_quantity(&f, "duration", SC_Q_DURATION, 1000, TIME_MAX, &run->duration);
	sc_take_uint(&f, "seeds", 1, SC_MAX_SEEDS, &run->seeds);
	sc_take_quantity(&f, "seed", SC_Q_COUNT, 0, INT64_MAX - SC_MAX_SEEDS, &base);
	run->seed_base = (uint64_t)base;
	sc_take_quantity(&f, "stall_limit", SC_Q_DURATION, 1000000, TIME_MAX, &run->stall_limit);
	sc_fields_close(&f);
}

/* `until` names VMs whose workload can complete. */
static void check_until(struct sc_parse *p, const struct scenario *s, const struct sc_mark *mark)
{
	unsigned int first, n;

	if (!s->run.until)
		return;
	if (!scenario_find(s, s->run.until, &first, &n)) {
		sc_error(p, mark, "until: no VM is named '%s'", s->run.until);
		return;
	}
	for (unsigned int i = 0; i < n; i++) {
		const struct sc_vm *vm = &s->vm[first + i];

		if (vm->workload && vm->workload->metric.kind != METRIC_ELAPSED) {
			sc_error(
				p, mark,
				"until: the workload '%s' of VM '%s' has no end, expected one with "
				"metric elapsed",
				vm->workload->name, vm->name);
			return;
		}
	}
}

static bool read_host(struct sc_parse *p, const struct sc_node *host, const char *dir,
		      const struct sc_node *cmdline, struct scenario *s,
		      struct sc_mark *cmdline_mark)
{
	static const char *const hypervisors[] = {"xen"};
	const struct sc_node *own, *mask;
	unsigned int which = 0;
	struct sc_fields f;
	bool ok;

	sc_cmdline_default(&s->xen);
	if (!host || !sc_fields_open(&f, p, host, "host"))
		return false;
	own = sc_take(&f, "hypervisor");
	if (own && own->kind == SC_SCALAR && strcmp(own->text, "kvm") == 0)
		sc_error(p, &own->mark, "hypervisor: kvm is not available yet, expected xen");
	else if (own)
		sc_read_word(p, own, "hypervisor", hypervisors, 1, &which);
	own = sc_take(&f, "cmdline");
	*cmdline_mark = cmdline ? cmdline->mark : own ? own->mark : host->mark;
	ok = sc_cmdline_read(p, own, &s->xen);
	ok = sc_cmdline_read(p, cmdline, &s->xen) && ok;
	sc_cmdline_settle(p, cmdline_mark, &s->xen);
	ok = sc_host_read(&f, dir, s) && ok;
	mask = sc_take(&f, "cpumask");
	sc_fields_close(&f);
	if (!s->topo.n_cpus)
		return ok;
	sc_topology_apply_boot(&s->topo, &s->xen);
	s->cpumask = s->topo.present;
	if (mask)
		ok = sc_mask_read(p, mask, "cpumask", &s->topo, true, &s->cpumask) && ok;
	return ok;
}

static void open_library(struct sc_parse *p, struct sc_fields *f, const char *dir,
			 struct sc_library *library)
{
	struct sc_fields section;

	*library = (struct sc_library){.dir = dir};
	library->own = sc_take(f, "workloads");
	if (library->own && !sc_fields_open(&section, p, library->own, "workloads"))
		library->own = NULL;
	library->classes = sc_take(f, "classes");
	if (library->classes && !sc_fields_open(&section, p, library->classes, "classes"))
		library->classes = NULL;
	if (library->classes)
		library->class_used =
			sc_alloc(p->arena, library->classes->n_children, sizeof(bool));
}

static void close_library(struct sc_parse *p, const struct sc_library *library)
{
	unsigned int i = 0;

	if (!library->classes)
		return;
	for (const struct sc_node *c = library->classes->child; c; c = c->next, i++) {
		if (!library->class_used[i])
			sc_error(p, &c->key->mark, "classes: no workload here has a class '%s'",
				 c->key->text);
	}
}

/* Reads a whole configuration. Returns false after errors. */
static bool read_scenario(struct sc_parse *p, const struct sc_node *root, const char *dir,
			  const struct sc_node *cmdline, struct scenario *s)
{
	const struct sc_node *dom0, *vms, *frame, *timeline, *pools;
	unsigned int errors = p->diag->errors;
	struct sc_mark until = {0}, cmdline_mark = root->mark;
	struct sc_library library;
	struct sc_fields f;
	const char *text;
	bool host_ok;

	*s = (struct scenario){.file = sc_strdup(p->arena, root->mark.file),
			       .variant = p->variant ? p->variant : ""};
	if (!sc_fields_open(&f, p, root, "the scenario"))
		return false;
	sc_take_text(&f, "name", &text);
	sc_take_text(&f, "about", &text);
	host_ok = read_host(p, sc_require(&f, "host"), dir, cmdline, s, &cmdline_mark);
	read_run(p, sc_take(&f, "run"), &s->run, &until);
	open_library(p, &f, dir, &library);
	pools = sc_take(&f, "pools");
	dom0 = sc_take(&f, "dom0");
	vms = sc_take(&f, "vms");
	frame = sc_take(&f, "arinc653");
	timeline = sc_take(&f, "timeline");
	if (host_ok || s->topo.n_cpus) {
		sc_pools_read(p, pools, s);
		sc_vms_read(p, &library, dom0, vms, &cmdline_mark, s);
		if (!s->n_vms && p->diag->errors == errors)
			sc_error(p, &root->mark, "there is no VM, expected 'vms' or 'dom0'");
		/* Names of VMs that could not be read would only give errors that are no errors. */
		if (p->diag->errors == errors) {
			sc_frame_read(p, frame, s);
			sc_timeline_read(p, timeline, dir, s);
			sc_frame_check(p, root->mark.file, s);
			sc_gran_check(p, &cmdline_mark, s);
			check_until(p, s, &until);
			close_library(p, &library);
		}
	}
	sc_take(&f, "variants");
	sc_take(&f, "expect");
	sc_fields_close(&f);
	return p->diag->errors == errors;
}

/* --- Variants --------------------------------------------------------------------------------- */

static bool check_variant_name(struct loader *l, const struct sc_node *node, const char *name,
			       unsigned int n)
{
	if (strpbrk(name, "[]")) {
		sc_error(&l->parse, &node->mark, "name: '%s' must not contain '[' or ']'", name);
		return false;
	}
	for (unsigned int i = 0; i < n; i++) {
		if (strcmp(l->file->variant[i].variant, name) == 0) {
			sc_error(&l->parse, &node->mark, "name: another variant is called '%s'",
				 name);
			return false;
		}
	}
	return true;
}

static bool apply_sets(struct sc_parse *p, const struct sc_node *set, struct sc_node *root)
{
	bool ok = true;

	if (!set)
		return true;
	if (set->kind != SC_MAP) {
		sc_error(p, &set->mark, "set: found %s, expected a mapping of paths to values",
			 sc_describe(p, set));
		return false;
	}
	for (const struct sc_node *c = set->child; c; c = c->next)
		ok = sc_override(p, root, &c->key->mark, c->key->text, c) && ok;
	return ok;
}

static void read_variant(struct loader *l, const struct sc_node *node, bool base_ok)
{
	struct sc_parse *p = &l->parse;
	struct scenario *s = &l->file->variant[l->file->n_variants];
	const struct sc_node *name_node, *cmdline, *set;
	struct sc_node *root;
	struct sc_fields f;
	const char *name;
	bool ok;

	if (!sc_fields_open(&f, p, node, "a variant"))
		return;
	name_node = sc_require(&f, "name");
	cmdline = sc_take(&f, "cmdline");
	set = sc_take(&f, "set");
	sc_fields_close(&f);
	if (!name_node || !sc_read_text(p, name_node, "name", &name) ||
	    !check_variant_name(l, name_node, name, l->file->n_variants))
		return;
	s->variant = name;
	l->file->n_variants++;
	if (!base_ok)
		return;
	p->variant = name;
	root = sc_tree_copy(p, l->root);
	ok = apply_sets(p, set, root);
	if (ok)
		read_scenario(p, root, l->dir, cmdline, s);
	p->variant = NULL;
}

static void read_variants(struct loader *l, const struct sc_node *list, bool base_ok)
{
	struct sc_parse *p = &l->parse;

	if (!sc_read_list(p, list, "variants"))
		return;
	if (list->n_children == 0 || list->n_children > SC_MAX_VARIANTS) {
		sc_error(p, &list->mark, "variants: %u entries, expected 1..%d", list->n_children,
			 SC_MAX_VARIANTS);
		return;
	}
	l->file->variant = sc_alloc(p->arena, list->n_children, sizeof(struct scenario));
	for (const struct sc_node *c = list->child; c; c = c->next)
		read_variant(l, c, base_ok);
}

/* --- Loading ---------------------------------------------------------------------------------- */

/* `--set`: the value is YAML, so that lists and mappings can be given as well. */
static bool apply_command_line(struct loader *l, struct sc_node *root, const struct sc_set *set,
			       unsigned int n)
{
	struct sc_parse *p = &l->parse;
	bool ok = true;

	for (unsigned int i = 0; i < n; i++) {
		const char *place = sc_format(p->arena, "--set %s", set[i].path);
		struct sc_mark mark = {.file = place};
		struct sc_node *value;

		assert(set[i].path && set[i].value);
		if (strspn(set[i].value, " \t\r\n") == strlen(set[i].value)) {
			sc_error(p, &mark, "no value, expected PATH=VALUE");
			ok = false;
			continue;
		}
		value = sc_tree_read(p, place, set[i].value, strlen(set[i].value));
		ok = value && sc_override(p, root, &mark, set[i].path, value) && ok;
	}
	return ok;
}

/* What the caller changes in a file before it is read. */
struct changes {
	const struct sc_set *set;
	unsigned int n_sets;
	const char *variants; /* YAML: instead of the file's; its expectations are left out */
};

static bool replace_variants(struct sc_parse *p, struct sc_node *root, const char *variants)
{
	struct sc_node *node = sc_tree_read(p, "variants", variants, strlen(variants));

	if (node && root->kind == SC_MAP)
		sc_map_put(p, root, "variants", node);
	return node;
}

static void load_tree(struct loader *l, const struct changes *changes)
{
	struct sc_parse *p = &l->parse;
	struct scenario *base = sc_alloc(p->arena, 1, sizeof(*base));
	struct sc_node *root = sc_tree_copy(p, l->root);
	const struct sc_node *variants;
	bool ok;

	if (!apply_command_line(l, root, changes->set, changes->n_sets))
		return;
	if (changes->variants && !replace_variants(p, root, changes->variants))
		return;
	l->root = root;
	ok = read_scenario(p, root, l->dir, NULL, base);
	variants = sc_map_find(root, "variants");
	if (variants) {
		read_variants(l, variants, ok);
	} else {
		l->file->variant = base;
		l->file->n_variants = 1;
	}
	if (p->diag->errors == 0 && !changes->variants)
		sc_expect_read(p, sc_map_find(root, "expect"), l->file);
}

static int load_text(const char *name, const char *text, size_t len, const char *dir,
		     const struct changes *changes, struct sc_diag *diag,
		     struct scenario_file **out)
{
	struct sc_arena *arena = sc_arena_create();
	struct loader l = {.parse = {.arena = arena, .diag = diag}};

	assert(name && text && diag && out);
	*out = NULL;
	diag->errors = 0;
	l.dir = sc_strdup(arena, dir ? dir : ".");
	l.file = sc_alloc(arena, 1, sizeof(*l.file));
	l.file->arena = arena;
	l.file->path = sc_strdup(arena, name);
	l.root = sc_tree_read(&l.parse, name, text, len);
	if (l.root)
		load_tree(&l, changes);
	if (diag->errors) {
		sc_arena_destroy(arena);
		return -EINVAL;
	}
	assert(l.file->n_variants > 0);
	*out = l.file;
	return 0;
}

int scenario_load_text(const char *name, const char *text, size_t len, const char *dir,
		       const struct sc_set *set, unsigned int n_sets, struct sc_diag *diag,
		       struct scenario_file **out)
{
	struct changes changes = {.set = set, .n_sets = n_sets};

	return load_text(name, text, len, dir, &changes, diag, out);
}

int scenario_load_as(const char *path, const struct sc_set *set, unsigned int n_sets,
		     const char *variants, struct sc_diag *diag, struct scenario_file **out)
{
	struct sc_arena *arena = sc_arena_create();
	struct sc_parse p = {.arena = arena, .diag = diag};
	struct changes changes = {set, n_sets, variants};
	size_t len = 0;
	char *text;
	int error = 0;

	assert(path && diag && out);
	*out = NULL;
	text = sc_file_text(arena, path, &len, &error);
	if (text)
		error = load_text(path, text, len, sc_file_dir(arena, path), &changes, diag, out);
	else
		sc_error(&p, &(struct sc_mark){.file = path}, "cannot read the scenario: %s",
			 strerror(-error));
	sc_arena_destroy(arena);
	return error;
}

int scenario_load(const char *path, const struct sc_set *set, unsigned int n_sets,
		  struct sc_diag *diag, struct scenario_file **out)
{
	return scenario_load_as(path, set, n_sets, NULL, diag, out);
}

void scenario_file_free(struct scenario_file *f)
{
	if (f)
		sc_arena_destroy(f->arena);
}

bool scenario_find(const struct scenario *s, const char *name, unsigned int *first, unsigned int *n)
{
	*n = 0;
	assert(s && name);
	for (unsigned int i = 0; i < s->n_vms; i++) {
		if (strcmp(s->vm[i].name, name) == 0) {
			*first = i;
			*n = 1;
			return true;
		}
	}
	for (unsigned int i = 0; i < s->n_vms; i++) {
		if (strcmp(s->vm[i].group, name) != 0)
			continue;
		if (!(*n)++)
			*first = i;
	}
	return *n > 0;
}
