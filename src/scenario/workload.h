/*
 * Workloads: from a YAML program (docs/workloads.md) to the plain data of guest/program.h.
 */
#ifndef HV_SCENARIO_WORKLOAD_H
#define HV_SCENARIO_WORKLOAD_H

#include "guest/program.h"
#include "scenario/tree.h"

/* Where names are looked up: what stands beside the VM in the scenario. */
struct sc_library {
	const char *dir;	       /* relative files start here */
	const struct sc_node *own;     /* the scenario's `workloads:`, or NULL */
	const struct sc_node *classes; /* the scenario's `classes:`, or NULL */
	bool *class_used;	       /* one per entry of classes */
};

/*
 * Reads what stands behind `workload:`: a name, {use: NAME, PARAMETER: ...}, a program of its own,
 * or a list of these (merged into one). `vcpus` is the value of $vcpus. NULL after an error.
 */
const struct workload *sc_workload_read(struct sc_parse *p, const struct sc_library *library,
					const struct sc_node *node, unsigned int vcpus);

/* A built-in workload with its defaults; messages are placed at the mark. */
const struct workload *sc_workload_builtin(struct sc_parse *p, const struct sc_library *library,
					   const struct sc_mark *mark, const char *name,
					   unsigned int vcpus);

/*
 * Both in one guest: the tasks of a and b side by side; metric and runs are a's, and b must have
 * none of its own (METRIC_NONE).
 */
const struct workload *sc_workload_merge(struct sc_parse *p, const struct sc_mark *mark,
					 const struct workload *a, const struct workload *b);

/* What stands behind `workload:` is a built-in one with parameters, nothing else. */
bool sc_workload_is_builtin(const struct sc_library *library, const struct sc_node *node);

/* The channel of this name that lives in w itself, or NULL. */
const struct channel_desc *sc_workload_channel(const struct workload *w, const char *name);

/*
 * workload_ops.c: the entry that a name stands for, in an array whose entries begin with their
 * names (char pointers). Its index, or -1 after an error that says `what` was looked for.
 */
int sc_workload_find(struct sc_parse *p, const struct sc_node *node, const char *what,
		     const void *array, uint32_t n, size_t size);

/*
 * workload_ops.c: the op list of one program, into prog. Names are looked up in w, whose other
 * arrays are complete. Returns false after an error.
 */
bool sc_workload_ops(struct sc_parse *p, const struct workload *w, const struct sc_node *list,
		     struct program *prog);

/* An amount: "30ms", "exp(5ms)", "uniform(1, 3)", "lognormal(177ms, 0.8)", "r0", "r0/10". */
bool sc_amount_read(struct sc_parse *p, const struct sc_node *node, const char *name, int kind,
		    struct amount *out);

/* workload_params.c: replaces $NAME in all values below node. */
struct sc_parameter {
	const char *name;
	const struct sc_node *value; /* scalar: its text and where it was given */
	bool used;
};
void sc_substitute(struct sc_parse *p, struct sc_node *node, struct sc_parameter *param,
		   unsigned int n);

#endif
