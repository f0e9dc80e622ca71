/*
 * A result as a person or a program reads it: tables and JSON.
 *
 * A report is made of columns of runs: one per variant, each with the results of its seeds. Every
 * figure is shown as the mean over seeds, with its range where seeds differ. Nothing is measured
 * here: each number is a sum, a share or a quantile of what the lab returned.
 */
#ifndef HVSCHED_REPORT_REPORT_H
#define HVSCHED_REPORT_REPORT_H

#include "lab/lab.h"

struct report_variant {
	const struct scenario *scenario;
	/* [n_runs], none NULL, by ascending seed. A failed run holds no more than its message. */
	const struct lab_result **run;
	unsigned n_runs;
};

/* Outcome of one `expect` line. */
struct report_expect {
	const struct sc_expect *expect;
	struct sc_verdict verdict;
	const char *variant; /* where it failed, or NULL */
	bool skipped;	     /* it asks for variants that were not run: neither held nor failed */
};

struct report {
	const char *path; /* of the scenario */
	struct report_variant *variant;
	unsigned n_variants;
	struct report_expect *expect;
	unsigned n_expects;
	unsigned n_planned; /* runs that were asked for */
	bool interrupted;
	bool each_vm;		 /* a line for each VM and pCPU, not for each group */
	const char *const *note; /* what the reader must know beforehand, a line each */
	unsigned n_notes;
};

/* Mean and range over runs. n = 0: no run has the value. */
struct report_range {
	unsigned n;
	double mean, min, max;
};

/* Did this run measure anything? A failed one did not. */
bool report_measured(const struct lab_result *r);
/* A value that is missing because its run was not made, or failed, says nothing about e. */
bool report_unknown(const struct report *r, const struct report_expect *e);

/* The value of one run, false when that run has none. Bound to a VM group or to the whole run. */
typedef bool (*report_get)(const struct report_variant *v, const struct lab_result *r,
			   unsigned first_vm, unsigned n_vms, double *value);

struct report_range report_range(const struct report_variant *v, report_get get, unsigned first_vm,
				 unsigned n_vms);
/* Add one value to a range that started as {0}; the mean is valid after each. */
void report_range_add(struct report_range *range, double value);

/* Quantities of a group of VMs or of the run, shared by tables and JSON. */
struct report_quantity {
	const char *name;  /* in JSON */
	const char *title; /* of the table's column */
	enum report_unit {
		REPORT_TIME,	/* ns */
		REPORT_PERCENT, /* per cent */
		REPORT_COUNT,
		REPORT_METRIC, /* the workload's own metric: ns or a rate */
	} unit;
	report_get get;
};

/* Tables of quantities, ended by a NULL name. */
extern const struct report_quantity report_vm_quantities[];	 /* metric, CPU, ready, delays */
extern const struct report_quantity report_more_vm_quantities[]; /* in JSON only */
extern const struct report_quantity report_weight_quantities[];	 /* asked for, and had */
extern const struct report_quantity report_ledger_quantities[];	 /* shares of vCPU time */
extern const struct report_quantity report_machine_quantities[]; /* counters of the run */
/* Of pCPUs: the get functions take indices of lab_result.cpu. The first four are shares of time. */
extern const struct report_quantity report_cpu_quantities[];
#define REPORT_CPU_SHARES 4

/* The VMs that are one line: a group of the file (or one VM when each is set). */
struct report_group {
	const char *name;
	unsigned first, n;
};
/* The group that starts at VM i; the next one starts at i + n. */
struct report_group report_group_at(const struct scenario *s, unsigned i, bool each);
/* The same line of another variant; false if that has no VM of this name. */
bool report_group_find(const struct scenario *s, const char *name, bool each,
		       struct report_group *out);
/* Unit text of the group's metric for report_format(), NULL for elapsed time or no metric. */
const char *report_rate_unit(const struct scenario *s, const struct report_group *g);

/* "12.4 ms", "49.8 %", "17", "23.1 Gbyte/s" for METRIC (unit text of a rate, NULL = elapsed). */
char *report_format(enum report_unit unit, const char *rate, double value, char *buf, size_t size);
/* Mean, and the range in brackets when it is wider than what is printed. */
char *report_format_range(enum report_unit unit, const char *rate, const struct report_range *range,
			  char *buf, size_t size);

void report_print_notes(FILE *out, const struct report *r);
/* Notes, all tables, the expectations and the verdict line. 0, -HV_ENOMEM. */
int report_print(FILE *out, const struct report *r);
/* The end of it alone: expectations, what went wrong, the verdict line. */
void report_print_findings(FILE *out, const struct report *r);
/* One JSON object, the same figures and more. 0, -HV_ENOMEM, -EIO. */
int report_json(FILE *out, const struct report *r);

/* How all of it ended, worst first. A run that was cut short does not hide what failed before. */
enum report_verdict {
	REPORT_FAILED,	    /* a run could not be made */
	REPORT_BROKEN,	    /* a law did not hold */
	REPORT_STALL,	    /* a vCPU waited longer than run.stall_limit */
	REPORT_MISSED,	    /* an expectation failed */
	REPORT_INTERRUPTED, /* stopped on request, nothing failed until then */
	REPORT_HELD,
};
enum report_verdict report_verdict(const struct report *r);
const char *report_verdict_name(enum report_verdict verdict);
/* Hash over the log hashes of all runs, in order; 0 when they were not asked for. */
uint64_t report_hash(const struct report *r);
/* One line, key=value, for machines: always the last line of a report. */
void report_print_verdict(FILE *out, const struct report *r);

/*
 * Plain tables of text cells: the first n_text columns to the left, the others to the right.
 * report_table_new() returns NULL when out of memory; the others 0 or -HV_ENOMEM.
 */
struct report_table;
struct report_table *report_table_new(const char *const *titles, unsigned n, unsigned n_text);
int report_table_row(struct report_table *t, const char *const *cells);
int report_table_print(struct report_table *t, FILE *out);
void report_table_free(struct report_table *t);

#endif
