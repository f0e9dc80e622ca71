/*
 * sched-credit, sched-credit2 and sched-rtds without values to set: what is in force, in xl's
 * columns (core-scheduling section 7.1).
 *
 * What is no such question, or a wrong one, is left to the command language, which says what is
 * expected.
 */
#include "cli/console.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/machine.h"

struct sched_query {
	const char *sched;
	const char *domain, *pool;
	bool params; /* only what holds for the pool */
	unsigned n_vcpus;
	const char *vcpu[CONSOLE_WORDS];
};

/* ---- the words */

/* Where the value of an option goes, NULL = no option of a question. */
static const char **slot(struct sched_query *q, const char *name)
{
	bool rtds = strcmp(q->sched, "rtds") == 0;

	if (strcmp(name, "-d") == 0 || strcmp(name, "--domain") == 0)
		return &q->domain;
	if (strcmp(name, rtds ? "-c" : "-p") == 0 || strcmp(name, "--cpupool") == 0)
		return &q->pool;
	if (rtds && (strcmp(name, "-v") == 0 || strcmp(name, "--vcpuid") == 0))
		return &q->vcpu[q->n_vcpus++];
	return NULL;
}

/*
 * One option, as getopt takes it: -d DOM, -dDOM, --domain DOM, --domain=DOM. w is the word, or a
 * part of it whose second character is the letter.
 */
static bool read_option(struct sched_query *q, const struct console_line *line, const char *w,
			unsigned *i)
{
	const char *equal = strchr(w, '='), *value = NULL, **place;
	char name[16] = {'-', w[1]};

	if (w[1] != '-') {
		value = w[1] && w[2] ? w + 2 : NULL;
	} else {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(w, "="), w);
		value = equal ? equal + 1 : NULL;
	}
	place = slot(q, name);
	if (!place || *place || (!value && *i + 1 == line->n))
		return false;
	*place = value ? value : line->word[++*i];
	return true;
}

/* False: it has values to set, or is wrong. */
static bool read_query(const struct console_line *line, struct sched_query *q)
{
	*q = (struct sched_query){.sched = line->word[0] + strlen("sched-")};
	for (unsigned i = 1; i < line->n; i++) {
		const char *w = line->word[i];
		bool flag = strncmp(w, "-s", 2) == 0 || strcmp(w, "--schedparam") == 0;

		if (flag && strcmp(q->sched, "rtds") != 0) {
			q->params = true;
			if (w[1] == '-' || !w[2])
				continue;
			w++; /* -sp POOL: the letter behind it is an option, too */
		} else if (*w != '-') {
			return false;
		}
		if (!read_option(q, line, w, &i))
			return false;
	}
	return !(q->domain && (q->pool || q->params)) && !(q->pool && q->n_vcpus);
}

/* ---- the answers */

static void show_pool(struct lab_run *run, const struct sched_query *q, struct hv_pool *pool)
{
	const char *name = lab_pool_name(run, pool->id);
	struct hv_sched_params p = {0};

	(void)hv_sched_params_get(pool, &p);
	if (strcmp(q->sched, "rtds") == 0)
		printf("Cpupool %s: sched=RTDS\n", name);
	else if (strcmp(q->sched, "credit") == 0)
		printf("Cpupool %s: tslice=%ums ratelimit=%uus migration-delay=%uus\n", name,
		       p.tslice_ms, p.ratelimit_us, p.migration_delay_us);
	else
		printf("Cpupool %s: ratelimit=%uus\n", name, p.ratelimit_us);
}

static void show_head(const struct sched_query *q)
{
	if (strcmp(q->sched, "rtds") != 0)
		printf("%-33s %4s %6s %4s\n", "Name", "ID", "Weight", "Cap");
	else if (q->n_vcpus)
		printf("%-33s %4s %4s %9s %9s %10s\n", "Name", "ID", "VCPU", "Period", "Budget",
		       "Extratime");
	else
		printf("%-33s %4s %9s %9s %10s\n", "Name", "ID", "Period", "Budget", "Extratime");
}

static void show_vcpu(const struct hv_domain *d, const char *name, unsigned vcpu)
{
	struct hv_unit_params u;

	if (hv_unit_params_get(d->vcpus[vcpu], &u) == 0)
		printf("%-33s %4d %4u %9u %9u %10s\n", name, d->id, vcpu, u.period_us, u.budget_us,
		       u.extratime ? "yes" : "no");
}

static void show_domain(struct lab_run *run, const struct sched_query *q, unsigned vm)
{
	const char *name = console_vm_name(run, vm);
	struct hv_domain *d = console_domain(run, vm);
	struct hv_domain_params p = {0};

	assert(d);
	if (hv_domain_params_get(d, &p) != 0)
		return;
	if (strcmp(q->sched, "rtds") != 0)
		printf("%-33s %4d %6u %4u\n", name, d->id, p.weight, p.cap);
	else if (q->n_vcpus == 0)
		printf("%-33s %4d %9u %9u %10s\n", name, d->id, p.period_us, p.budget_us, "yes");
	else if (strcmp(q->vcpu[0], "all") == 0)
		for (unsigned i = 0; i < d->nr_vcpus; i++)
			show_vcpu(d, name, i);
	else
		for (unsigned i = 0; i < q->n_vcpus; i++)
			show_vcpu(d, name, (unsigned)atoi(q->vcpu[i]));
}

/* Every vCPU that is asked for is one of the VM's. */
static bool has_vcpus(struct lab_run *run, const struct sched_query *q, unsigned vm)
{
	const struct hv_domain *d = console_domain(run, vm);

	for (unsigned i = 0; i < q->n_vcpus; i++) {
		const char *v = q->vcpu[i];

		if (strcmp(v, "all") == 0 && q->n_vcpus == 1)
			return true;
		if (strcmp(v, "all") == 0) {
			fputs("'-v all' stands alone\n", stderr);
			return false;
		}
		if (!*v || v[strspn(v, "0123456789")] || strlen(v) > 6 ||
		    (unsigned)atoi(v) >= d->nr_vcpus) {
			fprintf(stderr, "VM '%s' has no vCPU '%s', expected 0..%u or all\n",
				console_vm_name(run, vm), v, d->nr_vcpus - 1);
			return false;
		}
	}
	return true;
}

static bool show_vms(struct lab_run *run, const struct sched_query *q)
{
	unsigned first, n;

	if (!console_find_vms(run, q->domain, &first, &n))
		return false;
	for (unsigned i = first; i < first + n; i++) {
		const struct hv_domain *d = console_domain(run, i);

		if (!d || strcmp(d->pool->sched->policy->name, q->sched) != 0) {
			fprintf(stderr,
				d ? "VM '%s' is not under the scheduler %s\n"
				  : "there is no VM '%s' at this time\n",
				console_vm_name(run, i), q->sched);
			return false;
		}
		if (!has_vcpus(run, q, i))
			return false;
	}
	show_head(q);
	for (unsigned i = first; i < first + n; i++)
		show_domain(run, q, i);
	return true;
}

/* Pools with the scheduler: all, or this one. */
static bool show_pools(struct lab_run *run, const struct sched_query *q, struct hv_pool *only)
{
	struct hv_sys *sys = mc_sys(lab_machine(run));
	bool any = false;

	for (struct hv_pool *p = hv_pool_next(sys, 0); p; p = hv_pool_next(sys, p->id + 1)) {
		if ((only && p != only) || strcmp(p->sched->policy->name, q->sched) != 0)
			continue;
		any = true;
		show_pool(run, q, p);
		if (q->params)
			continue;
		show_head(q);
		for (unsigned i = 0; i < lab_scenario(run)->n_vms; i++) {
			const struct hv_domain *d = console_domain(run, i);

			if (d && d->pool == p)
				show_domain(run, q, i);
		}
	}
	if (!any && only)
		fprintf(stderr, "pool '%s' has the scheduler %s, not %s\n",
			lab_pool_name(run, only->id), only->sched->policy->name, q->sched);
	else if (!any)
		fprintf(stderr, "no pool has the scheduler %s\n", q->sched);
	return any;
}

bool console_sched(struct lab_run *run, const struct console_line *line, bool *known)
{
	struct hv_pool *only = NULL;
	struct sched_query q;

	assert(line->n > 0);
	*known = read_query(line, &q);
	if (!*known)
		return false;
	if (q.domain)
		return show_vms(run, &q);
	if (q.n_vcpus && (q.n_vcpus > 1 || strcmp(q.vcpu[0], "all") != 0)) {
		fputs("sched-rtds: '-v VCPU' needs '-d DOM'\n", stderr);
		return false;
	}
	if (q.pool && !(only = lab_pool_find(run, q.pool))) {
		fprintf(stderr, "no pool is named '%s'\n", q.pool);
		return false;
	}
	/* As xl has it: -s by itself means Pool-0. */
	if (q.params && !only)
		only = mc_pool(lab_machine(run));
	return show_pools(run, &q, only);
}
