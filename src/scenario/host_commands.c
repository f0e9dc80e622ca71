/*
 * Operator commands on the host: those of xen-hptool, suspend and resume, the granularity of a pool
 * through xenhypfs (core-scheduling sections 4.2, 4.5, 7.1).
 */
#include <assert.h>
#include <string.h>

#include "scenario/command.h"
#include "scenario/cpulist.h"
#include "scenario/pools.h"

#define GRAN_SIZE 8 /* bytes that the node of a pool takes, the NUL among them */

static const char *const verbs[] = {
	"cpu-online", "cpu-offline", "smt-enable", "smt-disable", "suspend", "resume", "xenhypfs",
};

const char *const *sc_host_commands(unsigned int *n)
{
	*n = sizeof(verbs) / sizeof(verbs[0]);
	return verbs;
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

/* suspend: of the host */
static bool cmd_suspend(struct sc_command *c, struct sc_op *op)
{
	op->kind = SC_OP_SUSPEND;
	return c->n == 1 ||
	       sc_wrong_at(c, 1,
			   "'suspend' puts the whole host to sleep and takes no argument; one VM "
			   "stops with 'pause DOM'");
}

/* resume [lost=LIST] */
static bool cmd_resume(struct sc_command *c, struct sc_op *op)
{
	static const char key[] = "lost=";
	char error[SC_CPULIST_ERROR];
	size_t at;

	op->kind = SC_OP_RESUME;
	if (!sc_need_words(c, 1, 2, "resume [lost=LIST]"))
		return false;
	if (c->n == 1)
		return true;
	if (strncmp(c->word[1], key, strlen(key)) != 0)
		return sc_wrong_at(
			c, 1,
			SC_TEXT(c, "found '%s', expected lost=LIST, the pCPUs that do not return",
				c->word[1]));
	return sc_cpulist_parse(c->word[1] + strlen(key), &c->s->topo, &op->cpus, error, &at) ==
		       0 ||
	       sc_wrong_at(c, 1, error);
}

/* The pool in /cpupool/ID/sched-gran. */
static bool node_pool(struct sc_command *c, unsigned int i, const char **pool)
{
	static const char head[] = "/cpupool/", tail[] = "/sched-gran";
	const char *path = c->word[i];
	size_t n = strlen(path), ends = strlen(head) + strlen(tail);
	size_t digits;

	if (n > ends && strncmp(path, head, strlen(head)) == 0 &&
	    strcmp(path + n - strlen(tail), tail) == 0) {
		*pool = sc_strndup(c->p->arena, path + strlen(head), n - ends);
		digits = strspn(*pool, "0123456789");
		if (digits == n - ends)
			return true;
	}
	return sc_wrong_at(c, i, SC_TEXT(c, "no node '%s', expected /cpupool/ID/sched-gran", path));
}

/* xenhypfs write /cpupool/ID/sched-gran MODE; what only reads is the console's */
static bool cmd_hypfs(struct sc_command *c, struct sc_op *op)
{
	static const char usage[] = "xenhypfs write /cpupool/ID/sched-gran cpu|core|socket";

	op->kind = SC_OP_POOL_GRAN;
	if (!sc_need_words(c, 4, 4, usage))
		return false;
	if (strcmp(c->word[1], "write") != 0)
		return sc_wrong_at(c, 1, SC_TEXT(c, "expected '%s'", usage));
	if (!node_pool(c, 2, &op->pool))
		return false;
	if (strlen(c->word[3]) >= GRAN_SIZE)
		return sc_wrong_at(c, 3,
				   SC_TEXT(c,
					   "'%s' is longer than the node (ENOSPC), expected cpu, "
					   "core or socket",
					   c->word[3]));
	op->set_gran = sc_gran_find(c->word[3], &op->gran);
	return op->set_gran ||
	       sc_wrong_at(c, 3,
			   SC_TEXT(c, "no granularity '%s' (EINVAL), expected cpu, core or socket",
				   c->word[3]));
}

bool sc_host_command(struct sc_command *c, struct sc_op *op, bool *known)
{
	static const struct {
		const char *name;
		bool (*parse)(struct sc_command *c, struct sc_op *op);
	} commands[] = {{"cpu-online", cmd_cpu},  {"cpu-offline", cmd_cpu}, {"smt-enable", cmd_smt},
			{"smt-disable", cmd_smt}, {"suspend", cmd_suspend}, {"resume", cmd_resume},
			{"xenhypfs", cmd_hypfs}};

	assert(c->n > 0);
	*known = true;
	for (unsigned int i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(c->word[0], commands[i].name) == 0)
			return commands[i].parse(c, op);
	}
	*known = false;
	return false;
}
