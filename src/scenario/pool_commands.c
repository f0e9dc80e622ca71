/*
 * Operator commands on cpupools and pCPUs: xl's cpupool-*, and those of xen-hptool (core-scheduling
 * section 7.1).
 *
 * A pool's name is only checked here where no command makes pools; else it is looked up when the
 * command is done.
 */
#include <assert.h>
#include <string.h>

#include "scenario/command.h"
#include "scenario/cpulist.h"
#include "scenario/fields.h"
#include "scenario/pools.h"

static const char *const verbs[] = {
	"cpupool-create",     "cpupool-destroy", "cpupool-rename", "cpupool-cpu-add",
	"cpupool-cpu-remove", "cpupool-migrate", "cpu-online",	   "cpu-offline",
	"smt-enable",	      "smt-disable",
};

const char *const *sc_pool_commands(unsigned int *n)
{
	*n = sizeof(verbs) / sizeof(verbs[0]);
	return verbs;
}

bool sc_command_pool(struct sc_command *c, unsigned int i, const char **pool)
{
	const struct scenario *s = c->s;
	const char *word = c->word[i];

	assert(s->n_pools > 0);
	*pool = word;
	if (c->console || s->pools_change)
		return true;
	for (unsigned int k = 0; k < s->n_pools; k++) {
		if (strcmp(s->pool[k].name, word) == 0 || strcmp(SC_TEXT(c, "%u", k), word) == 0)
			return true;
	}
	return sc_wrong_at(c, i,
			   SC_TEXT(c, "no pool is named '%s', expected %s", word,
				   sc_pool_names(c->p->arena, s)));
}

/* The value behind key=, without quotes. NULL: another key. */
static const char *value_of(struct sc_command *c, unsigned int i, const char *key)
{
	const char *w = c->word[i];
	size_t n = strlen(key);

	if (strncmp(w, key, n) != 0 || w[n] != '=')
		return NULL;
	w += n + 1;
	n = strlen(w);
	if (n >= 2 && (w[0] == '"' || w[0] == '\'') && w[n - 1] == w[0])
		return sc_strndup(c->p->arena, w + 1, n - 2);
	return w;
}

static bool read_list(struct sc_command *c, unsigned int i, const char *list, struct sc_op *op)
{
	char error[SC_CPULIST_ERROR];
	size_t at;

	if (sc_cpulist_parse(list, &c->s->topo, &op->cpus, error, &at) < 0)
		return sc_wrong_at(c, i, error);
	return true;
}

static bool read_key(struct sc_command *c, unsigned int i, struct sc_op *op, const char **cpus,
		     const char **nodes)
{
	const char *value;

	if ((value = value_of(c, i, "name"))) {
		op->pool = value;
		return sc_pool_is_name(value) ||
		       sc_wrong_at(c, i,
				   "a pool's name is a letter, then letters, digits, '_', "
				   "'-'");
	}
	if ((value = value_of(c, i, "sched"))) {
		op->set_sched = sc_sched_find(value, &op->sched);
		return op->set_sched ||
		       sc_wrong_at(c, i,
				   SC_TEXT(c, "unknown scheduler '%s', expected %s", value,
					   sc_sched_names(c->p->arena)));
	}
	if ((value = value_of(c, i, "gran"))) {
		op->set_gran = sc_gran_find(value, &op->gran);
		return op->set_gran ||
		       sc_wrong_at(c, i,
				   SC_TEXT(c, "found '%s', expected cpu, core or socket", value));
	}
	if ((value = value_of(c, i, "cpus"))) {
		*cpus = value;
		return read_list(c, i, value, op);
	}
	if ((value = value_of(c, i, "nodes"))) {
		*nodes = SC_TEXT(c, "nodes:%s", value);
		return read_list(c, i, *nodes, op);
	}
	return sc_wrong_at(c, i,
			   SC_TEXT(c, "found '%s', expected name=, sched=, gran=, cpus= or nodes=",
				   c->word[i]));
}

/* cpupool-create name=NAME [sched=SCHED] [gran=GRAN] [cpus=LIST] [nodes=LIST] */
static bool cmd_create(struct sc_command *c, struct sc_op *op)
{
	const char *cpus = NULL, *nodes = NULL;

	op->kind = SC_OP_POOL_CREATE;
	for (unsigned int i = 1; i < c->n; i++) {
		if (!read_key(c, i, op, &cpus, &nodes))
			return false;
	}
	if (!op->pool)
		return sc_wrong_at(c, 0,
				   "expected 'cpupool-create name=NAME [sched=SCHED] [gran=GRAN] "
				   "[cpus=LIST] [nodes=LIST]'");
	/* As with xl, nodes beat cpus. */
	return !nodes || read_list(c, 0, nodes, op);
}

static bool cmd_pool(struct sc_command *c, struct sc_op *op)
{
	static const struct {
		const char *name, *usage;
		enum sc_op_kind kind;
		unsigned int words;
	} forms[] = {
		{"cpupool-destroy", "cpupool-destroy POOL", SC_OP_POOL_DESTROY, 2},
		{"cpupool-rename", "cpupool-rename POOL NAME", SC_OP_POOL_RENAME, 3},
		{"cpupool-cpu-add", "cpupool-cpu-add POOL LIST", SC_OP_POOL_CPU_ADD, 3},
		{"cpupool-cpu-remove", "cpupool-cpu-remove POOL LIST", SC_OP_POOL_CPU_REMOVE, 3},
	};
	unsigned int i = 0;

	while (strcmp(forms[i].name, c->word[0]) != 0)
		i++;
	assert(i < sizeof(forms) / sizeof(forms[0]));
	op->kind = forms[i].kind;
	if (!sc_need_words(c, forms[i].words, forms[i].words, forms[i].usage) ||
	    !sc_command_pool(c, 1, &op->pool))
		return false;
	if (op->kind == SC_OP_POOL_DESTROY)
		return true;
	if (op->kind != SC_OP_POOL_RENAME)
		return read_list(c, 2, c->word[2], op);
	op->name = c->word[2];
	return sc_pool_is_name(op->name) ||
	       sc_wrong_at(c, 2, "a pool's name is a letter, then letters, digits, '_', '-'");
}

/* cpupool-migrate DOM POOL */
static bool cmd_migrate(struct sc_command *c, struct sc_op *op)
{
	op->kind = SC_OP_POOL_MIGRATE;
	if (!sc_need_words(c, 3, 3, "cpupool-migrate DOM POOL") || !sc_command_vm(c, 1, op))
		return false;
	if (c->s->vm[op->vm].dom0)
		return sc_wrong_at(c, 1, "domain 0 cannot be moved");
	return sc_command_pool(c, 2, &op->pool);
}

/* cpu-online N, cpu-offline N */
static bool cmd_cpu(struct sc_command *c, struct sc_op *op)
{
	bool online = strcmp(c->word[0], "cpu-online") == 0;
	unsigned int id;

	op->kind = online ? SC_OP_CPU_ONLINE : SC_OP_CPU_OFFLINE;
	if (!sc_need_words(c, 2, 2, online ? "cpu-online N" : "cpu-offline N") ||
	    !sc_read_number(c, 1, "pCPU", 0, c->s->topo.nr_ids - 1, &id))
		return false;
	if (!hv_mask_test(&c->s->topo.present, id))
		return sc_wrong_at(c, 1, SC_TEXT(c, "there is no pCPU %u", id));
	hv_mask_set(&op->cpus, id);
	return true;
}

static bool cmd_smt(struct sc_command *c, struct sc_op *op)
{
	op->kind = SC_OP_SMT;
	op->on = strcmp(c->word[0], "smt-enable") == 0;
	return sc_need_words(c, 1, 1, op->on ? "smt-enable" : "smt-disable");
}

bool sc_pool_command(struct sc_command *c, struct sc_op *op, bool *known)
{
	const char *w = c->word[0];

	*known = true;
	if (strcmp(w, "cpupool-create") == 0)
		return cmd_create(c, op);
	if (strcmp(w, "cpupool-migrate") == 0)
		return cmd_migrate(c, op);
	if (strcmp(w, "cpu-online") == 0 || strcmp(w, "cpu-offline") == 0)
		return cmd_cpu(c, op);
	if (strcmp(w, "smt-enable") == 0 || strcmp(w, "smt-disable") == 0)
		return cmd_smt(c, op);
	for (unsigned int i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strcmp(w, verbs[i]) == 0)
			return cmd_pool(c, op);
	}
	*known = false;
	return false;
}
