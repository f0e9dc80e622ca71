/*
 * Host presets and hardware parameters (hardware-model sections 2 to 8).
 *
 * A preset is a data file: hosts/NAME.yaml of the program, or a file of the user's. Every preset
 * starts from hosts/generic.yaml, which sets all parameters; then come the preset's own, then cache
 * sizes told by hwloc, then `params:` and `costs:` of the scenario. The later one wins.
 */
#include "scenario/host.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/embedded.h"
#include "scenario/file.h"
#include "scenario/topology.h"

#define MS	   1000000LL /* ns */
#define RATIO_MAX  (64LL * SC_ONE)
#define BW_MAX	   (1LL << 50) /* bytes/s */
#define CACHE_MAX  (1LL << 40) /* bytes */
#define PRESET_DIR "hosts/"

#define P(key, kind, field, min, max, meaning)                              \
	{                                                                   \
		key, kind, offsetof(struct sc_hw, field), min, max, meaning \
	}

const struct sc_param sc_hw_params[] = {
	P("clock", SC_Q_FREQUENCY, clock_hz, 100000000, 20000000000, "base clock"),
	P("l2", SC_Q_SIZE, l2_bytes, 4096, CACHE_MAX, "private cache of a core"),
	P("llc", SC_Q_SIZE, llc_bytes, 4096, CACHE_MAX, "last-level cache of a socket"),
	P("mem_bw", SC_Q_BANDWIDTH, mem_bw, 1000000, BW_MAX, "memory bandwidth of a node"),
	P("mem_bw_thread", SC_Q_BANDWIDTH, mem_bw_thread, 1000000, BW_MAX,
	  "memory bandwidth of one thread (refill of the last-level cache)"),
	P("l3_bw", SC_Q_BANDWIDTH, l3_bw, 1000000, BW_MAX, "refill bandwidth of the private cache"),
	P("d_remote", SC_Q_RATIO, d_remote, SC_ONE, RATIO_MAX,
	  "memory distance of another node, local is 1"),
	P("chi", SC_Q_RATIO, chi, 0, RATIO_MAX, "weight of last-level cache contention"),
	P("s_vm", SC_Q_RATIO, s_vm, 0, SC_ONE, "bonus when SMT siblings run one VM"),
	P("p_spin", SC_Q_RATIO, p_spin, 0, SC_ONE, "pressure of a spinning or polling SMT sibling"),
	P("cold_share", SC_Q_RATIO, cold_share, SC_ONE / 100, SC_ONE - SC_ONE / 100,
	  "share of time lost while the cache is cold"),
	P("deadband", SC_Q_SHARE, deadband, 0, SC_ONE,
	  "change of working set or demand that re-evaluates a socket"),
	P("lock_base", SC_Q_DURATION, lock_base, 0, MS, "hold time of a run-queue lock"),
	P("lock_per_entity", SC_Q_DURATION, lock_per_entity, 0, MS, "more for each entity scanned"),
	P("handover_local", SC_Q_DURATION, handover_local, 0, MS,
	  "guest lock handover to a running waiter of the socket"),
	P("handover_remote", SC_Q_DURATION, handover_remote, 0, MS,
	  "guest lock handover to a running waiter of another socket"),
	P("ple_window", SC_Q_DURATION, ple_window, 0, MS, "spinning before a pause-loop exit"),
	P("pv_spin_polls", SC_Q_COUNT, pv_spin_polls, 1, 1 << 30,
	  "polls before a paravirtual lock halts"),
	P("halt_poll", SC_Q_DURATION, halt_poll, 0, 1000 * MS, "host polling before idle"),
	{0},
};

#define C(key, field, meaning) P(key, SC_Q_DURATION, cost.field, 0, 1000 * MS, meaning)

const struct sc_param sc_hw_costs[] = {
	C("C1", c1_exit, "VM exit and re-entry"),
	C("C2", c2_exit_device_model, "exit handled by the device model"),
	C("C3", c3_hypercall, "hypercall, HVM"),
	C("C3_pv", c3_hypercall_pv, "hypercall, PV"),
	C("C4", c4_switch, "vCPU switch on a pCPU"),
	C("C5", c5_task_switch, "guest task switch, process"),
	C("C5_thread", c5_thread_switch, "guest task switch, thread"),
	C("C6", c6_ipi, "IPI to a busy pCPU, handler entry included"),
	C("C7", c7_guest_ipi, "guest IPI to a running vCPU"),
	C("C7_target", c7_target_loss, "lost by the target of a guest IPI"),
	C("C8_extra", c8_wake_extra, "added to the wake of a halted vCPU"),
	P("C8_scale", SC_Q_RATIO, cost.c8_wake_scale, 0, RATIO_MAX,
	  "factor on the wake of a halted vCPU"),
	C("C9", c9_guest_tick, "guest timer tick"),
	C("C10", c10_host_tick, "host tick or scheduler timer"),
	C("C11", c11_timer_slop, "how late a host timer may fire"),
	C("C12", c12_ple_handler, "pause-loop exit, beside C1"),
	C("C13", c13_critical, "longest critical section that a rendezvous waits for"),
	C("C14", c14_l1d_flush, "L1D flush"),
	C("C14_refill", c14_l1d_refill, "L1D refill after a flush"),
	C("C15", c15_ibpb, "IBPB on a vCPU switch"),
	C("C16", c16_shootdown, "TLB shootdown"),
	C("C16_target", c16_per_target, "more for each target"),
	C("C17", c17_broadcast, "broadcast wake, each idle target"),
	C("C18", c18_clock_read, "guest clock read by system call"),
	{0},
};

const char *const sc_l1d_words[3] = {"off", "cond", "always"};

/* --- Parameters ------------------------------------------------------------------------------- */

static void read_table(struct sc_fields *f, const struct sc_param *table, struct sc_hw *hw)
{
	for (; table->key; table++)
		sc_take_quantity(f, table->key, table->kind, table->min, table->max,
				 sc_param_field(hw, table));
}

static void read_cstates(struct sc_parse *p, const struct sc_node *list, struct sc_hw *hw)
{
	int64_t last = -1;

	if (!sc_read_list(p, list, "cstates"))
		return;
	if (list->n_children > SC_MAX_CSTATES) {
		sc_error(p, &list->mark, "cstates: %u states, expected at most %d",
			 list->n_children, SC_MAX_CSTATES);
		return;
	}
	hw->n_cstates = 0;
	for (const struct sc_node *c = list->child; c; c = c->next) {
		struct sc_cstate *state = &hw->cstate[hw->n_cstates];
		struct sc_fields f;
		const char *name = "";

		if (!sc_fields_open(&f, p, c, "an idle state"))
			continue;
		sc_require(&f, "name");
		if (sc_take_text(&f, "name", &name))
			snprintf(state->name, sizeof(state->name), "%s", name);
		if (strlen(name) >= sizeof(state->name))
			sc_error(p, &c->mark, "name: '%s' is too long (at most %zu letters)", name,
				 sizeof(state->name) - 1);
		sc_take_quantity(&f, "exit", SC_Q_DURATION, 0, 1000 * MS, &state->exit_ns);
		sc_take_quantity(&f, "residency", SC_Q_DURATION, 0, 10000 * MS,
				 &state->residency_ns);
		sc_fields_close(&f);
		if (state->residency_ns <= last)
			sc_error(p, &c->mark, "cstates: residency must grow from state to state");
		last = state->residency_ns;
		hw->n_cstates++;
	}
	hw->cstate_cap = hw->n_cstates ? hw->n_cstates - 1 : 0;
}

static void read_cap(struct sc_parse *p, const struct sc_node *node, struct sc_hw *hw)
{
	const char *names[SC_MAX_CSTATES];

	for (unsigned int i = 0; i < hw->n_cstates; i++)
		names[i] = hw->cstate[i].name;
	if (hw->n_cstates == 0)
		sc_error(p, &node->mark, "cstate_cap: the host has no idle states");
	else
		sc_read_word(p, node, "cstate_cap", names, hw->n_cstates, &hw->cstate_cap);
}

static void read_turbo(struct sc_parse *p, const struct sc_node *list, struct sc_hw *hw)
{
	if (!sc_read_list(p, list, "turbo"))
		return;
	if (list->n_children > SC_MAX_TURBO) {
		sc_error(p, &list->mark, "turbo: %u entries, expected at most %d", list->n_children,
			 SC_MAX_TURBO);
		return;
	}
	hw->n_turbo = 0;
	for (const struct sc_node *c = list->child; c; c = c->next)
		sc_read_quantity(p, c, "turbo", SC_Q_RATIO, SC_ONE / 4, 4 * SC_ONE,
				 &hw->turbo[hw->n_turbo++]);
}

static void read_curve(struct sc_parse *p, const struct sc_node *list, struct sc_hw *hw)
{
	unsigned int n = 0;

	if (!sc_read_list(p, list, "curve"))
		return;
	if (list->n_children < 2 || list->n_children > SC_MAX_CURVE) {
		sc_error(p, &list->mark, "curve: %u points, expected 2..%d", list->n_children,
			 SC_MAX_CURVE);
		return;
	}
	for (const struct sc_node *c = list->child; c; c = c->next, n++) {
		if (c->kind != SC_LIST || c->n_children != 2) {
			sc_error(p, &c->mark, "curve: found %s, expected a pair [use, stretch]",
				 sc_describe(p, c));
			return;
		}
		sc_read_quantity(p, c->child, "curve", SC_Q_RATIO, 0, RATIO_MAX, &hw->curve_rho[n]);
		sc_read_quantity(p, c->child->next, "curve", SC_Q_RATIO, SC_ONE, RATIO_MAX,
				 &hw->curve_stretch[n]);
		if (n ? hw->curve_rho[n] <= hw->curve_rho[n - 1] : hw->curve_rho[n] != 0)
			sc_error(p, &c->mark, "curve: the use must start at 0 and grow");
	}
	hw->n_curve = n;
}

static void read_params(struct sc_parse *p, const struct sc_node *node, struct sc_hw *hw)
{
	const struct sc_node *c;
	unsigned int word;
	struct sc_fields f;

	if (!node || !sc_fields_open(&f, p, node, "params"))
		return;
	read_table(&f, sc_hw_params, hw);
	sc_take_bool(&f, "ibpb", &hw->ibpb);
	if (sc_take_word(&f, "l1d", sc_l1d_words, 3, &word))
		hw->l1d = (enum sc_l1d)word;
	if ((c = sc_take(&f, "cstates")))
		read_cstates(p, c, hw);
	if ((c = sc_take(&f, "cstate_cap")))
		read_cap(p, c, hw);
	if ((c = sc_take(&f, "turbo")))
		read_turbo(p, c, hw);
	if ((c = sc_take(&f, "curve")))
		read_curve(p, c, hw);
	sc_fields_close(&f);
}

static void read_costs(struct sc_parse *p, const struct sc_node *node, struct sc_hw *hw)
{
	struct sc_fields f;

	if (!node || !sc_fields_open(&f, p, node, "costs"))
		return;
	read_table(&f, sc_hw_costs, hw);
	sc_fields_close(&f);
}

/* --- Presets ---------------------------------------------------------------------------------- */

/* The tree of a built-in preset whose name or alias is `name`; NULL if there is none. */
static const struct sc_node *find_preset(struct sc_parse *p, const char *name, const char **names,
					 size_t *n, size_t max)
{
	const struct embedded_file *file = NULL;
	const struct sc_node *alias, *found = NULL, *tree, *own;

	while ((file = embedded_next(file, PRESET_DIR))) {
		tree = sc_file_builtin(p, file);
		own = sc_map_find(tree, "name");
		if (!own)
			continue; /* has been reported, or is no preset */
		if (*n < max)
			names[(*n)++] = own->text;
		if (strcmp(own->text, name) == 0)
			found = tree;
		alias = sc_map_find(tree, "aliases");
		for (alias = alias ? alias->child : NULL; alias; alias = alias->next) {
			if (*n < max)
				names[(*n)++] = alias->text;
			if (strcmp(alias->text, name) == 0)
				found = tree;
		}
	}
	return found;
}

static bool is_path(const char *text)
{
	size_t len = strlen(text);

	return strchr(text, '/') || (len > 5 && strcmp(text + len - 5, ".yaml") == 0);
}

static const struct sc_node *open_preset(struct sc_parse *p, const struct sc_mark *mark,
					 const char *name, const char *dir)
{
	const char *names[64], *close, *list = "";
	const struct sc_node *tree;
	size_t n = 0;

	if (is_path(name))
		return sc_file_tree(p, mark, dir, name, "host preset");
	tree = find_preset(p, name, names, &n, sizeof(names) / sizeof(names[0]));
	if (tree)
		return tree;
	close = sc_closest(name, names, n);
	for (size_t i = 0; i < n; i++)
		list = sc_format(p->arena, "%s%s%s", list, i ? ", " : "", names[i]);
	if (close)
		sc_error(p, mark, "unknown host preset '%s'; did you mean '%s'?", name, close);
	else
		sc_error(p, mark, "unknown host preset '%s', expected one of: %s", name, list);
	return NULL;
}

/* Returns the preset's topology node (NULL if it has none or the preset is wrong). */
static const struct sc_node *apply_preset(struct sc_parse *p, const struct sc_mark *mark,
					  const char *name, const char *dir, struct scenario *s)
{
	const struct sc_node *tree = open_preset(p, mark, name, dir), *topology;
	const char *text;
	struct sc_fields f;

	if (!tree || !sc_fields_open(&f, p, tree, "a host preset"))
		return NULL;
	if (sc_take_text(&f, "name", &text))
		s->preset = text;
	sc_take(&f, "aliases");
	sc_take_text(&f, "about", &text);
	topology = sc_take(&f, "topology");
	read_params(p, sc_take(&f, "params"), &s->hw);
	read_costs(p, sc_take(&f, "costs"), &s->hw);
	sc_fields_close(&f);
	return topology;
}

bool sc_host_read(struct sc_fields *f, const char *dir, struct scenario *s)
{
	struct sc_parse *p = f->p;
	unsigned int errors = p->diag->errors;
	const struct sc_node *topology, *own, *preset = sc_take(f, "preset");
	const char *name = NULL;

	own = sc_take(f, "topology");
	topology = apply_preset(p, &f->map->mark, "generic", dir, s);
	assert(topology || p->diag->errors > errors);
	if (preset && sc_read_text(p, preset, "preset", &name))
		topology = apply_preset(p, &preset->mark, name, dir, s);
	if (own)
		topology = own;
	else if (!preset)
		sc_error(p, &f->map->mark,
			 "the host has no shape, expected 'preset' or 'topology' in host");
	if (topology && sc_topology_resolve(p, topology, dir, &s->topo)) {
		if (s->topo.l2_bytes)
			s->hw.l2_bytes = s->topo.l2_bytes;
		if (s->topo.llc_bytes)
			s->hw.llc_bytes = s->topo.llc_bytes;
	} else if (preset && name && !topology && p->diag->errors == errors) {
		sc_error(p, &preset->mark,
			 "preset '%s' has no topology, expected 'topology' beside it", name);
	}
	read_params(p, sc_take(f, "params"), &s->hw);
	read_costs(p, sc_take(f, "costs"), &s->hw);
	return s->topo.n_cpus > 0;
}
