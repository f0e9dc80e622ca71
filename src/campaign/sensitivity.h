/*
 * Does what an experiment claims survive other values of the parameters that nobody measured?
 *
 * Every row of experiments/sensitivity.csv (hardware-model section 10) changes one parameter of the
 * host for all cells, and the experiment is run again. Law: a change never touches one cell alone.
 */
#ifndef HVSCHED_CAMPAIGN_SENSITIVITY_H
#define HVSCHED_CAMPAIGN_SENSITIVITY_H

#include "campaign/experiment.h"

#define SENSITIVITY_MAX 64 /* changes in the list */

struct sensitivity_run {
	const char *change;  /* as the list names it */
	bool done;	     /* false: not run, the user stopped it or the change does not fit */
	struct experiment e; /* scored; valid when done */
};

struct sensitivity {
	struct csv list;
	struct sensitivity_run run[SENSITIVITY_MAX];
	unsigned n;
	bool interrupted;
};

/*
 * Run all changes on top of set[]. Messages about a change that cannot be applied go to diag and
 * the others go on. 0, -HV_ENOMEM, -EAGAIN. To be freed whatever is returned.
 */
int sensitivity_run(const char *name, const struct sc_set *set, unsigned n_sets,
		    const struct campaign_options *options, struct sc_diag *diag,
		    struct sensitivity *out);
void sensitivity_free(struct sensitivity *s);

/* A line per change: what it reproduces, and each ratio and order that differs from base. */
int sensitivity_print(FILE *out, const struct sensitivity *s, const struct experiment *base);

#endif
