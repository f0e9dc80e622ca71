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
	const struct lab_result *const *run; /* [n_runs], none NULL */
	unsigned n_runs;
};

/* Outcome of one `expect` line. */
struct report_expect {
	const struct sc_expect *expect;
	struct sc_verdict verdict;
	const char *variant; /* where it failed, or NULL */
};

struct report {
	const char *path; /* of the scenario */
	const struct report_variant *variant;
	unsigned n_variants;
	const struct report_expect *expect;
	unsigned n_expects;
	bool interrupted;
	bool each_vm; /* a line for each VM, not for each group */
};

/* Mean and range over runs. n = 0: no run has the value. */
struct report_range {
	unsigned n;
	double mean, min, max;
};

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
extern const struct report_quantity report_ledger_quantities[];	 /* shares of vCPU time */
extern const struct report_quantity report_machine_quantities[]; /* counters of the run */

/* "12.4 ms", "49.8 %", "17", "23.1 Gbyte/s" for METRIC (unit text of a rate, NULL = elapsed). */
char *report_format(enum report_unit unit, const char *rate, double value, char *buf, size_t size);
/* Mean, and the range in brackets when it is wider than what is printed. */
char *report_format_range(enum report_unit unit, const char *rate, const struct report_range *range,
			  char *buf, size_t size);

/* All tables, the expectations and the verdict line. 0, -HV_ENOMEM. */
int report_print(FILE *out, const struct report *r);
/* One JSON object, the same figures and more. 0, -HV_ENOMEM, -EIO. */
int report_json(FILE *out, const struct report *r);

/* The exit code's meaning in one word: held, missed, stall, broken, failed, interrupted. */
const char *report_verdict(const struct report *r);
/* One line, key=value, for machines: always the last line of a report. */
void report_print_verdict(FILE *out, const struct report *r);

/* Expected-versus-found lines of one table of text columns (libsmartcols). */
struct report_table;
struct report_table *report_table_new(const char *const *titles, unsigned n, unsigned n_text);
int report_table_row(struct report_table *t, const char *const *cells);
int report_table_print(struct report_table *t, FILE *out);
void report_table_free(struct report_table *t);

#endif
