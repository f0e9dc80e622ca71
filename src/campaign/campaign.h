/*
 * Many runs: every variant of a scenario file with every seed, on all cores.
 *
 * Laws: a run's place in the table depends on its variant and seed only, never on which thread did
 * it or when; a campaign that was interrupted holds every run that was completed, and says which.
 */
#ifndef HVSCHED_CAMPAIGN_CAMPAIGN_H
#define HVSCHED_CAMPAIGN_CAMPAIGN_H

#include "lab/lab.h"
#include "report/report.h"

struct campaign {
	const struct scenario_file *file;
	unsigned n_variants;
	unsigned n_seeds;	   /* width of the table: the largest run.seeds of the file */
	struct lab_result *result; /* [variant * n_seeds + seed]; valid where done is set */
	bool *wanted, *done;	   /* likewise: runs that were asked for, that were made */
	bool interrupted;	   /* stopped on request: not every run was made whole */
	bool has_variant;	   /* only this one was asked for */
	unsigned variant;
};

struct campaign_options {
	unsigned threads; /* 0 = one per on-line CPU of this computer */
	unsigned seeds;	  /* 0 = as the scenario says */
	bool has_seed;	  /* first seed is `seed` instead of run.seed_base */
	uint64_t seed;
	bool has_variant; /* only this one is run */
	unsigned variant;
	bool check_determinism; /* each run is made twice; unequal hashes are a broken law */
	const char *log_path;	/* event log of the one run (one variant, one seed) */
	atomic_bool *stop;	/* set by a signal handler; may be NULL */
	bool progress;		/* a progress line on standard error */
};

/* 0, -HV_ENOMEM, -EAGAIN (no thread could be started). *out is to be freed by campaign_free(). */
int campaign_run(const struct scenario_file *file, const struct campaign_options *options,
		 struct campaign *out);
void campaign_free(struct campaign *c);

/* Runs that were asked for. */
unsigned campaign_planned(const struct campaign *c);

/* Run of a variant and a seed, NULL when it was not made. */
const struct lab_result *campaign_result(const struct campaign *c, unsigned variant, unsigned seed);

/* The worst status of all runs, and the run that has it. LAB_DONE when there is none. */
enum lab_status campaign_status(const struct campaign *c, const struct lab_result **worst);

/* Value of a reference in one run, for sc_expect_eval(); ctx is the struct campaign. */
int campaign_value(void *ctx, unsigned variant, unsigned seed, const struct sc_ref *ref, int vm,
		   double *value);

/*
 * The report of a campaign, its expectations evaluated. It points into the campaign, which must
 * live longer; campaign_report_free() frees what is its own. 0, -HV_ENOMEM.
 */
int campaign_report(const struct campaign *c, struct report *out);
void campaign_report_free(struct report *r);

#endif
