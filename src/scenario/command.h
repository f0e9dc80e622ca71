/*
 * An operator command while it is parsed: its words and options, as xl takes them (core-scheduling
 * section 7.1). Inside the scenario layer.
 */
#ifndef HV_SCENARIO_COMMAND_H
#define HV_SCENARIO_COMMAND_H

#include <stdbool.h>

#include "scenario/scenario.h"
#include "scenario/tree.h"

#define SC_MAX_WORDS 80 /* of a command: a table of arinc653 with all its windows */

struct sc_command {
	struct sc_parse *p;
	const struct scenario *s;
	struct sc_mark mark; /* of the text */
	const char *text;
	const char *word[SC_MAX_WORDS];
	int column[SC_MAX_WORDS]; /* offset of the word in the text */
	unsigned int n;
	const char *dir; /* files that it names start from here, NULL = where we are */
	bool console;	 /* pools may exist that the scenario does not know */
};

#define SC_TEXT(c, ...) sc_format((c)->p->arena, __VA_ARGS__)

/* An error at word i of the command; false. */
bool sc_wrong_at(struct sc_command *c, unsigned int i, const char *what);
bool sc_split(struct sc_command *c);
/*
 * Options as xl takes them become words of their own: --weight=512, -w512, -sr5000. flags: the
 * letters without a value. A word behind an option that wants one is its value, whatever it is.
 */
bool sc_split_options(struct sc_command *c, const char *flags);
bool sc_need_words(struct sc_command *c, unsigned int min, unsigned int max, const char *usage);
bool sc_read_number(struct sc_command *c, unsigned int i, const char *what, unsigned int min,
		    unsigned int max, unsigned int *out);
/* The VMs that word i names: op->vm, op->n_vms. */
bool sc_command_vm(struct sc_command *c, unsigned int i, struct sc_op *op);
/* The smallest maxvcpus of the VMs of the op: limits hold for each of them. */
unsigned int sc_min_maxvcpus(const struct sc_command *c, const struct sc_op *op);
/* A CPU list; "-" leaves *set false. */
bool sc_command_cpus(struct sc_command *c, unsigned int i, struct hv_mask *out, bool *set);
/* The pool that word i names, by name or number; checked as far as it can be known. */
bool sc_command_pool(struct sc_command *c, unsigned int i, const char **pool);

/* pin_commands.c */
bool sc_cmd_pin(struct sc_command *c, struct sc_op *op);
bool sc_cmd_override(struct sc_command *c, struct sc_op *op);
/* pool_commands.c: pools. False and *known false when the command is none of them. */
bool sc_pool_command(struct sc_command *c, struct sc_op *op, bool *known);
/* host_commands.c: pCPUs, suspend. Likewise. */
bool sc_host_command(struct sc_command *c, struct sc_op *op, bool *known);
/* The names of these commands, for messages; *n of them. */
const char *const *sc_pool_commands(unsigned int *n);
const char *const *sc_host_commands(unsigned int *n);

#endif
