/*
 * A published experiment: its set-up as an ordinary scenario file, the published figures, and which
 * ratios and orders of them a simulation may honestly be asked for (workloads section 4).
 *
 * An experiment NAME is five or six embedded files, so that a new one needs no code:
 *   experiments/NAME.yaml           the scenario; its first comment line says what it is; a variant
 *                                   per cell, named "CONFIGURATION LOAD WORKLOAD"
 *   experiments/NAME.published.csv  the cells: workload,configuration,load,metric,unit,better,value
 *   experiments/NAME.ratios.csv     ratios of two cells with band and grade
 *   experiments/NAME.orderings.csv  orders of configurations within one load
 *   experiments/NAME.metrics.csv    (workload, metric) -> "vm.metric" and the size of the unit
 *   experiments/NAME.linked.csv     perhaps: the same cells from a second source, shown beside the
 *                                   first and judged by nobody; `source_ref` says what it is
 *
 * Laws (workloads section 4.7): no figure is compared before all runs are made; every cell, ratio
 * and order of the files is reported, misses as well; what was fitted is labelled and not counted;
 * all variants have one set of hardware parameters, whose hash is reported.
 */
#ifndef HVSCHED_CAMPAIGN_EXPERIMENT_H
#define HVSCHED_CAMPAIGN_EXPERIMENT_H

#include "campaign/campaign.h"
#include "campaign/csv.h"

#define EXPERIMENT_MAX_CLAUSES 8 /* configurations in one demanded order */

struct experiment_cell {
	const char *workload, *configuration, *load, *metric, *unit;
	bool lower_is_better;
	double published; /* in `unit` */
	double linked;	  /* the same from the second source; NAN = it has none */
	unsigned variant; /* of the scenario */
	double *value;	  /* [n_seeds] in `unit`, NAN where the run has none */
	struct report_range simulated;
};

/* Does an order hold (workloads section 4.7, rule 3)? */
enum experiment_order {
	ORDER_NOT_DEMANDED,
	ORDER_UNREAD, /* demanded in words that the program does not check */
	ORDER_HELD,
	ORDER_MISSED,
	ORDER_NO_VALUE,
};

struct experiment_ordering {
	const char *workload, *load, *metric, *demanded, *observed;
	unsigned n; /* cells of the demanded order, best first; 0 if none is demanded */
	unsigned cell[EXPERIMENT_MAX_CLAUSES];
	bool strict
		[EXPERIMENT_MAX_CLAUSES]; /* [i]: cell i is better than i + 1, not just as good */
	enum experiment_order result;
};

enum experiment_result { RESULT_PASS, RESULT_MISS, RESULT_NO_VALUE };

struct experiment_ratio {
	const char *id, *note;
	unsigned num, den; /* cells */
	bool percent;	   /* 100 * (num / den - 1), as printed; otherwise num / den */
	double observed, lower, upper;
	char grade; /* A band, B band and order, C report only */
	bool fitted;
	const struct experiment_ordering *order; /* that B also asks for, or NULL */
	bool has_value;
	double simulated;	  /* of the means */
	struct report_range seed; /* seed by seed */
	double error;		  /* per cent of the observed ratio; percentage points if percent */
	bool in_band;
	enum experiment_result result;
};

struct experiment {
	const char *name, *about;
	struct scenario_file *file;
	struct csv published, ratios, orderings, metrics, linked;
	bool has_linked;
	struct experiment_cell *cell;
	struct experiment_ratio *ratio;
	struct experiment_ordering *ordering;
	unsigned n_cells, n_ratios, n_orderings;
	uint64_t parameters; /* hash of the hardware parameters */

	/* after experiment_score() */
	unsigned n_seeds;
	unsigned reproduced, counted; /* ratios of grade A and B, without fitted ones */
	unsigned orders_held, orders_demanded;
	unsigned fitted_missed;
};

/* Name and first comment line of the next experiment; previous is NULL for the first one. */
const char *experiment_next(const char *previous, char *name, size_t size, const char **about);

/*
 * Read an experiment. 0; -ENOENT: there is none of this name; -EINVAL: its files or the changes in
 * set[] are wrong, messages were given through diag; -HV_ENOMEM. On success to be freed.
 */
int experiment_load(const char *name, const struct sc_set *set, unsigned n_sets,
		    struct sc_diag *diag, struct experiment *out);
void experiment_free(struct experiment *e);

/* Take the figures of a campaign of e->file and judge. 0, -HV_ENOMEM. */
int experiment_score(struct experiment *e, const struct campaign *c);

/* The judging alone, from the cells' values: what experiment_score() ends with, and tests. */
void experiment_judge(struct experiment *e);

/* Everything that counts was reproduced? (Ratios of grade A and B, fitted ones too, and orders.) */
bool experiment_reproduced(const struct experiment *e);

/* The tables. 0, -HV_ENOMEM (and -EIO for JSON). */
int experiment_print(FILE *out, const struct experiment *e);
/* The headline and, last, one line for machines. */
void experiment_print_verdict(FILE *out, const struct experiment *e);
int experiment_json(FILE *out, const struct experiment *e);

#endif
