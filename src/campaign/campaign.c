/*
 * The runs of a campaign, in threads. See campaign.h for the laws.
 *
 * Threads take the next run from a counter. A run knows its table place from its number alone, and
 * runs share nothing but the read-only scenario, so no lock guards the results: the threads are
 * joined before anyone reads them.
 */
#include "campaign/campaign.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PROGRESS_PERIOD_NS 200000000L /* between two progress lines, ns */

struct job_table {
	struct campaign *campaign;
	const struct campaign_options *options;
	atomic_uint next;     /* number of the next run */
	atomic_uint finished; /* runs that ended */
	atomic_bool running;  /* the progress line goes on */
};

static const struct scenario *variant_of(const struct campaign *c, unsigned variant)
{
	assert(variant < c->n_variants);
	return &c->file->variant[variant];
}

static uint64_t first_seed(const struct campaign_options *options, const struct scenario *s)
{
	return options->has_seed ? options->seed : s->run.seed_base;
}

static unsigned seeds_of(const struct campaign_options *options, const struct scenario *s)
{
	return options->seeds ? options->seeds : s->run.seeds;
}

static bool stop_asked(const struct campaign_options *options)
{
	return options->stop && atomic_load(options->stop);
}

/* The same run once more must leave the same hash. */
static void check_determinism(const struct scenario *s, const struct lab_options *options,
			      struct lab_result *first)
{
	struct lab_result second;

	assert(options->hash);
	if (first->status != LAB_DONE)
		return;
	if (lab_run(s, first->seed, options, &second) != 0) {
		first->status = LAB_FAILED;
		snprintf(first->message, sizeof(first->message),
			 "out of memory in the second run of the determinism check");
		return;
	}
	if (second.status == LAB_DONE && second.hash != first->hash) {
		first->status = LAB_BROKEN;
		snprintf(first->message, sizeof(first->message),
			 "not deterministic: event-log hashes %016llx and %016llx",
			 (unsigned long long)first->hash, (unsigned long long)second.hash);
	}
	lab_result_clear(&second);
}

static void one_run(struct job_table *table, unsigned number)
{
	struct campaign *c = table->campaign;
	const struct campaign_options *options = table->options;
	unsigned variant = number / c->n_seeds, seed = number % c->n_seeds;
	const struct scenario *s = variant_of(c, variant);
	uint64_t base = first_seed(options, s);
	struct lab_options lab = {
		.log_path = options->log_path,
		.hash = options->check_determinism || options->log_path,
		.stop = options->stop,
	};
	struct lab_result *result = &c->result[number];

	if (lab_run(s, base + seed, &lab, result) != 0) {
		memset(result, 0, sizeof(*result));
		result->status = LAB_FAILED;
		result->seed = base + seed;
		snprintf(result->message, sizeof(result->message), "out of memory");
	} else if (options->check_determinism) {
		lab.log_path = NULL;
		check_determinism(s, &lab, result);
	}
	/* A run that was cut short is no sample beside whole ones; it is kept only when it is the
	 * one run asked for. */
	if (result->status == LAB_INTERRUPTED && stop_asked(options) && campaign_planned(c) > 1) {
		lab_result_clear(result);
		return;
	}
	c->done[number] = true;
}

static void *worker(void *arg)
{
	struct job_table *table = arg;
	unsigned total = table->campaign->n_variants * table->campaign->n_seeds;

	while (!stop_asked(table->options)) {
		unsigned number = atomic_fetch_add(&table->next, 1);

		if (number >= total)
			break;
		if (!table->campaign->wanted[number])
			continue;
		one_run(table, number);
		atomic_fetch_add(&table->finished, 1);
	}
	return NULL;
}

static void *show_progress(void *arg)
{
	struct job_table *table = arg;
	unsigned total = campaign_planned(table->campaign);
	struct timespec pause = {.tv_nsec = PROGRESS_PERIOD_NS};

	while (atomic_load(&table->running)) {
		fprintf(stderr, "\r%u of %u runs", atomic_load(&table->finished), total);
		fflush(stderr);
		nanosleep(&pause, NULL);
	}
	fprintf(stderr, "\r\033[K");
	return NULL;
}

static unsigned thread_count(const struct campaign_options *options, unsigned runs)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned n = options->threads ? options->threads : cpus > 0 ? (unsigned)cpus : 1;

	return n < runs ? n : runs;
}

/* Number of threads that were started; at least one, or 0 on failure. */
static unsigned run_all(struct job_table *table, unsigned n)
{
	pthread_t *thread = calloc(n, sizeof(*thread)), progress;
	bool shown = false;
	unsigned started = 0;

	if (!thread)
		return 0;
	while (started < n && pthread_create(&thread[started], NULL, worker, table) == 0)
		started++;
	if (started && table->options->progress) {
		atomic_store(&table->running, true);
		shown = pthread_create(&progress, NULL, show_progress, table) == 0;
	}
	for (unsigned i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
	if (shown) {
		atomic_store(&table->running, false);
		pthread_join(progress, NULL);
	}
	free(thread);
	return started;
}

/* The table with its wanted runs. 0 or -HV_ENOMEM. */
static int plan(struct campaign *c, const struct campaign_options *options)
{
	unsigned runs;

	for (unsigned v = 0; v < c->n_variants; v++) {
		unsigned seeds = seeds_of(options, variant_of(c, v));

		if (seeds > c->n_seeds)
			c->n_seeds = seeds;
	}
	assert(c->n_seeds > 0);
	runs = c->n_variants * c->n_seeds;
	c->result = calloc(runs, sizeof(*c->result));
	c->wanted = calloc(runs, sizeof(*c->wanted));
	c->done = calloc(runs, sizeof(*c->done));
	if (!c->result || !c->wanted || !c->done)
		return -HV_ENOMEM;
	for (unsigned v = 0; v < c->n_variants; v++) {
		if (options->has_variant && options->variant != v)
			continue;
		for (unsigned i = 0; i < seeds_of(options, variant_of(c, v)); i++)
			c->wanted[v * c->n_seeds + i] = true;
	}
	return 0;
}

int campaign_run(const struct scenario_file *file, const struct campaign_options *options,
		 struct campaign *out)
{
	struct campaign c = {
		.file = file,
		.n_variants = file->n_variants,
		.has_variant = options->has_variant,
		.variant = options->variant,
	};
	struct job_table table = {.campaign = &c, .options = options};

	assert(file->n_variants > 0);
	assert(!options->has_variant || options->variant < file->n_variants);
	if (plan(&c, options) != 0) {
		campaign_free(&c);
		return -HV_ENOMEM;
	}
	assert(!options->log_path || campaign_planned(&c) == 1);
	if (run_all(&table, thread_count(options, campaign_planned(&c))) == 0) {
		campaign_free(&c);
		return -EAGAIN;
	}
	for (unsigned i = 0; i < c.n_variants * c.n_seeds && stop_asked(options); i++)
		c.interrupted |=
			c.wanted[i] && (!c.done[i] || c.result[i].status == LAB_INTERRUPTED);
	*out = c;
	return 0;
}

void campaign_free(struct campaign *c)
{
	unsigned runs = c->n_variants * c->n_seeds;

	for (unsigned i = 0; c->done && i < runs; i++) {
		if (c->done[i])
			lab_result_clear(&c->result[i]);
	}
	free(c->result);
	free(c->wanted);
	free(c->done);
	memset(c, 0, sizeof(*c));
}

unsigned campaign_planned(const struct campaign *c)
{
	unsigned n = 0;

	assert(c->wanted);
	for (unsigned i = 0; i < c->n_variants * c->n_seeds; i++)
		n += c->wanted[i];
	return n;
}

const struct lab_result *campaign_result(const struct campaign *c, unsigned variant, unsigned seed)
{
	assert(variant < c->n_variants);
	assert(seed < c->n_seeds);
	return c->done[variant * c->n_seeds + seed] ? &c->result[variant * c->n_seeds + seed]
						    : NULL;
}

enum lab_status campaign_status(const struct campaign *c, const struct lab_result **worst)
{
	enum lab_status status = LAB_DONE;

	if (worst)
		*worst = NULL;
	for (unsigned i = 0; i < c->n_variants * c->n_seeds; i++) {
		if (!c->done[i] || c->result[i].status <= status)
			continue;
		status = c->result[i].status;
		if (worst)
			*worst = &c->result[i];
	}
	return status;
}

int campaign_value(void *ctx, unsigned variant, unsigned seed, const struct sc_ref *ref, int vm,
		   double *value)
{
	const struct campaign *c = ctx;
	const struct lab_result *r = campaign_result(c, variant, seed);

	if (!r || r->status == LAB_FAILED)
		return -ENODATA;
	return lab_value(variant_of(c, variant), r, ref, vm, value);
}
