/*
 * See console.h. Columns and their order are those of xl (core-scheduling section 7.1), so that
 * what reads xl's tables reads these.
 */
#include "cli/console.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/host.h"

#define MASK_TEXT 512

static bool wrong(const char *command, const char *usage)
{
	fprintf(stderr, "%s: expected '%s'\n", command, usage);
	return false;
}

static void print_list(struct lab_run *run, const struct hv_mask *machine, char text[MASK_TEXT])
{
	struct hv_mask user;

	lab_mask_to_user(lab_scenario(run), machine, &user);
	sc_mask_format(&user, text, MASK_TEXT);
}

/* "all", "none" or ranges. */
static const char *affinity(struct lab_run *run, const struct hv_mask *machine,
			    char text[MASK_TEXT])
{
	const struct scenario *s = lab_scenario(run);
	struct hv_mask user;

	lab_mask_to_user(s, machine, &user);
	if (hv_mask_empty(&user, SC_NW))
		return "none";
	if (hv_mask_subset(&s->topo.present, &user, SC_NW))
		return "all";
	return sc_mask_format(&user, text, MASK_TEXT);
}

static const char *domain_name(const struct sc_vm *vm)
{
	return vm->dom0 ? "Domain-0" : vm->name;
}

/* The VMs that a word names: a VM, a group, its domain number. */
static bool find_vms(struct lab_run *run, const char *word, unsigned *first, unsigned *n)
{
	const struct scenario *s = lab_scenario(run);
	char *end;
	long id = strtol(word, &end, 10);

	if (strcmp(word, "Domain-0") == 0)
		word = "dom0";
	if (scenario_find(s, word, first, n))
		return true;
	for (unsigned i = 0; end != word && !*end && i < s->n_vms; i++) {
		if (lab_domain_id(run, i) != id)
			continue;
		*first = i;
		*n = 1;
		return true;
	}
	fprintf(stderr, "no VM is named '%s'\n", word);
	return false;
}

static struct hv_domain *domain_of(struct lab_run *run, unsigned vm)
{
	struct mc_vm *mvm = lab_vm_of(run, vm);

	return mvm ? mvm->domain : NULL;
}

/* ---- vcpu-list */

static void show_vcpus(struct lab_run *run, unsigned vm)
{
	const struct hv_domain *d = domain_of(run, vm);
	char hard[MASK_TEXT], soft[MASK_TEXT];

	for (unsigned i = 0; d && i < d->nr_vcpus; i++) {
		const struct hv_vcpu *v = d->vcpus[i];
		struct hv_runstate rs;

		hv_runstate_get(v, &rs);
		printf("%-32s %5d %5u", domain_name(&lab_scenario(run)->vm[vm]), d->id, i);
		if (v->pause_flags & HV_PF_DOWN)
			printf(" %5c %3c%cp ", '-', '-', '-');
		else
			printf(" %5u %3c%c- ", lab_scenario(run)->topo.cpu[v->pcpu].id,
			       v->is_running ? 'r' : '-',
			       v->pause_flags & HV_PF_BLOCKED ? 'b' : '-');
		printf("%9.1f  %s / %s\n", (double)rs.time[HV_RUNNING] / 1e9,
		       affinity(run, &v->unit->hard, hard), affinity(run, &v->unit->soft, soft));
	}
}

static bool vcpu_list(struct lab_run *run, const struct console_line *line)
{
	unsigned first = 0, n = lab_scenario(run)->n_vms;

	for (unsigned w = 1; w < line->n; w++) {
		if (!find_vms(run, line->word[w], &first, &n))
			return false;
	}
	printf("%-32s %5s %5s %5s %5s %9s %s\n", "Name", "ID", "VCPU", "CPU", "State", "Time(s)",
	       "Affinity (Hard / Soft)");
	for (unsigned w = 1; w < line->n || w == 1; w++) {
		if (w < line->n)
			(void)find_vms(run, line->word[w], &first, &n);
		for (unsigned i = first; i < first + n; i++)
			show_vcpus(run, i);
	}
	return true;
}

/* ---- list */

static void show_domain(struct lab_run *run, unsigned vm, bool pool)
{
	const struct sc_vm *sc = &lab_scenario(run)->vm[vm];
	const struct hv_domain *d = domain_of(run, vm);
	bool running = false, blocked = true;
	unsigned online = 0;
	int64_t time = 0;

	if (!d)
		return;
	for (unsigned i = 0; i < d->nr_vcpus; i++) {
		const struct hv_vcpu *v = d->vcpus[i];
		struct hv_runstate rs;

		hv_runstate_get(v, &rs);
		time += rs.time[HV_RUNNING];
		if (v->pause_flags & HV_PF_DOWN)
			continue;
		online++;
		running |= v->is_running;
		blocked &= (v->pause_flags & HV_PF_BLOCKED) != 0;
	}
	printf("%-40s %5d %5lld %5u     %c%c%c---  %8.1f", domain_name(sc), d->id,
	       (long long)(sc->memory >> 20), online, running ? 'r' : '-',
	       blocked && !running ? 'b' : '-', d->pause_count ? 'p' : '-', (double)time / 1e9);
	if (pool)
		printf(" %16s", lab_pool_name(run, d->pool->id));
	putchar('\n');
}

static bool list(struct lab_run *run, const struct console_line *line)
{
	const struct scenario *s = lab_scenario(run);
	bool pool = line->n > 1 &&
		    (strcmp(line->word[1], "-c") == 0 || strcmp(line->word[1], "--cpupool") == 0);
	unsigned first = 0, n = s->n_vms, at = pool ? 2 : 1;

	if (line->n > at + 1 || (line->n > at && line->word[at][0] == '-'))
		return wrong("list", "list [-c] [DOM]");
	if (line->n > at && !find_vms(run, line->word[at], &first, &n))
		return false;
	printf("Name                                        ID   Mem VCPUs\tState\tTime(s)%s\n",
	       pool ? "         Cpupool" : "");
	for (unsigned i = first; i < first + n; i++)
		show_domain(run, i, pool);
	return true;
}

/* ---- cpupool-list */

static struct hv_pool *next_pool(struct lab_run *run, const struct hv_pool *after)
{
	return hv_pool_next(mc_sys(lab_machine(run)), after ? after->id + 1 : 0);
}

static void show_pool(struct lab_run *run, const struct hv_pool *pool, bool cpus)
{
	const char *comma = "";

	printf("%-19s", lab_pool_name(run, pool->id));
	if (!cpus)
		printf("%3u %9s       y       %4u", hv_mask_weight(&pool->cpu_valid, SC_NW),
		       pool->sched->policy->name, pool->nr_domains);
	hv_mask_for_each(c, &pool->cpu_valid, SC_NW)
	{
		if (cpus)
			printf("%s%u", comma, lab_scenario(run)->topo.cpu[c].id);
		comma = ",";
	}
	putchar('\n');
}

static bool cpupool_list(struct lab_run *run, const struct console_line *line)
{
	bool cpus = line->n > 1 &&
		    (strcmp(line->word[1], "-c") == 0 || strcmp(line->word[1], "--cpus") == 0);
	unsigned at = cpus ? 2 : 1;
	struct hv_pool *only = NULL;

	if (line->n > at + 1 || (line->n > at && line->word[at][0] == '-'))
		return wrong("cpupool-list", "cpupool-list [-c] [POOL]");
	if (line->n > at && !(only = lab_pool_find(run, line->word[at]))) {
		fprintf(stderr, "no pool is named '%s'\n", line->word[at]);
		return false;
	}
	printf("%-19s%s\n", "Name", cpus ? "CPU list" : "CPUs   Sched     Active   Domain count");
	for (struct hv_pool *p = next_pool(run, NULL); p; p = next_pool(run, p)) {
		if (!only || p == only)
			show_pool(run, p, cpus);
	}
	return true;
}

/* ---- sched-credit, sched-credit2, sched-rtds without values: what is in force */

struct sched_query {
	const char *sched;
	const char *domain, *pool, *vcpu;
	bool params;
};

static void show_sched_pool(struct lab_run *run, const struct sched_query *q, struct hv_pool *pool)
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

static void show_sched_head(const struct sched_query *q)
{
	if (strcmp(q->sched, "rtds") != 0)
		printf("%-33s %4s %6s %4s\n", "Name", "ID", "Weight", "Cap");
	else if (q->vcpu)
		printf("%-33s %4s %4s %9s %9s %10s\n", "Name", "ID", "VCPU", "Period", "Budget",
		       "Extratime");
	else
		printf("%-33s %4s %9s %9s %10s\n", "Name", "ID", "Period", "Budget", "Extratime");
}

static bool show_sched_domain(struct lab_run *run, const struct sched_query *q, unsigned vm)
{
	const char *name = domain_name(&lab_scenario(run)->vm[vm]);
	struct hv_domain *d = domain_of(run, vm);
	struct hv_domain_params p = {0};
	struct hv_unit_params u;

	assert(d);
	if (hv_domain_params_get(d, &p) != 0)
		return false;
	if (strcmp(q->sched, "rtds") != 0) {
		printf("%-33s %4d %6u %4u\n", name, d->id, p.weight, p.cap);
		return true;
	}
	if (!q->vcpu) {
		printf("%-33s %4d %9u %9u %10s\n", name, d->id, p.period_us, p.budget_us, "yes");
		return true;
	}
	for (unsigned i = 0; i < d->nr_vcpus; i++) {
		if (strcmp(q->vcpu, "all") != 0 && (unsigned)atoi(q->vcpu) != i)
			continue;
		if (hv_unit_params_get(d->vcpus[i], &u) == 0)
			printf("%-33s %4d %4u %9u %9u %10s\n", name, d->id, i, u.period_us,
			       u.budget_us, u.extratime ? "yes" : "no");
	}
	return true;
}

static bool show_sched_of(struct lab_run *run, const struct sched_query *q)
{
	unsigned first, n;

	if (!find_vms(run, q->domain, &first, &n))
		return false;
	for (unsigned i = first; i < first + n; i++) {
		const struct hv_domain *d = domain_of(run, i);

		if (!d || strcmp(d->pool->sched->policy->name, q->sched) != 0) {
			fprintf(stderr,
				d ? "VM '%s' is not under the scheduler %s\n"
				  : "there is no VM '%s' at this time\n",
				lab_scenario(run)->vm[i].name, q->sched);
			return false;
		}
	}
	show_sched_head(q);
	for (unsigned i = first; i < first + n; i++)
		show_sched_domain(run, q, i);
	return true;
}

static bool show_sched(struct lab_run *run, const struct sched_query *q)
{
	struct hv_pool *only = q->pool ? lab_pool_find(run, q->pool) : NULL;
	bool any = false;

	if (q->domain)
		return show_sched_of(run, q);
	if (q->pool && !only) {
		fprintf(stderr, "no pool is named '%s'\n", q->pool);
		return false;
	}
	for (struct hv_pool *p = next_pool(run, NULL); p; p = next_pool(run, p)) {
		if ((only && p != only) || strcmp(p->sched->policy->name, q->sched) != 0)
			continue;
		any = true;
		show_sched_pool(run, q, p);
		if (q->params)
			continue;
		show_sched_head(q);
		for (unsigned i = 0; i < lab_scenario(run)->n_vms; i++) {
			const struct hv_domain *d = domain_of(run, i);

			if (d && d->pool == p)
				show_sched_domain(run, q, i);
		}
	}
	if (!any)
		fprintf(stderr, "no pool%s%s%s has the scheduler %s\n", only ? " '" : "",
			only ? q->pool : "", only ? "'" : "", q->sched);
	return any;
}

/* False: it has values to set, or is wrong; the command language will say. */
static bool read_query(const struct console_line *line, struct sched_query *q)
{
	bool rtds = strcmp(line->word[0], "sched-rtds") == 0;

	*q = (struct sched_query){.sched = line->word[0] + strlen("sched-")};
	for (unsigned i = 1; i < line->n; i++) {
		const char *w = line->word[i], **value = NULL;

		if (!rtds && (strcmp(w, "-s") == 0 || strcmp(w, "--schedparam") == 0)) {
			q->params = true;
			continue;
		}
		if (strcmp(w, "-d") == 0 || strcmp(w, "--domain") == 0)
			value = &q->domain;
		else if (strcmp(w, rtds ? "-c" : "-p") == 0 || strcmp(w, "--cpupool") == 0)
			value = &q->pool;
		else if (rtds && (strcmp(w, "-v") == 0 || strcmp(w, "--vcpuid") == 0))
			value = &q->vcpu;
		if (!value || i + 1 == line->n)
			return false;
		*value = line->word[++i];
	}
	return !(q->domain && (q->pool || q->params));
}

/* ---- info */

static bool info(struct lab_run *run)
{
	const struct scenario *s = lab_scenario(run);
	struct hv_sys *sys = mc_sys(lab_machine(run));
	char text[MASK_TEXT];
	struct hv_mask free = {{0}};

	hv_free_pcpus(sys, &free);
	printf("%-23s: %s\n", "host", s->topo.name);
	printf("%-23s: %u\n", "nr_cpus", hv_mask_weight(hv_online_mask(sys), SC_NW));
	printf("%-23s: %u\n", "max_cpu_id", s->topo.nr_ids - 1);
	printf("%-23s: %u\n", "nr_nodes", s->topo.n_nodes);
	printf("%-23s: %u\n", "cores_per_socket", s->topo.n_cores / s->topo.n_sockets);
	printf("%-23s: %u\n", "threads_per_core", s->topo.threads_per_core);
	print_list(run, hv_online_mask(sys), text);
	printf("%-23s: %s\n", "online_cpus", text);
	print_list(run, &free, text);
	printf("%-23s: %u%s%s\n", "free_cpus", hv_mask_weight(&free, SC_NW), *text ? " : " : "",
	       text);
	printf("%-23s: %s\n", "xen_scheduler", sc_sched_name(s->xen.sched));
	printf("%-23s: %s\n", "xen_commandline", s->xen.cmdline ? s->xen.cmdline : "");
	for (struct hv_pool *p = next_pool(run, NULL); p; p = next_pool(run, p))
		printf("/cpupool/%d/sched-gran   : %s\n", p->id, sc_gran_name(p->gran));
	printf("%-23s: %.6f s\n", "time", (double)mc_now(lab_machine(run)) / 1e9);
	return true;
}

/* ---- */

void console_show_help(void)
{
	puts("  vcpu-list [DOM...]          list [-c] [DOM]          cpupool-list [-c] [POOL]\n"
	     "  sched-credit2 [-d DOM | -p POOL] [-s]                (likewise sched-credit)\n"
	     "  sched-rtds [-d DOM [-v VCPU|all] | -c POOL]          info");
}

bool console_show(struct lab_run *run, const struct console_line *line, bool *known)
{
	const char *w = line->word[0];
	struct sched_query query;

	assert(line->n > 0);
	*known = true;
	if (strcmp(w, "vcpu-list") == 0)
		return vcpu_list(run, line);
	if (strcmp(w, "list") == 0)
		return list(run, line);
	if (strcmp(w, "cpupool-list") == 0)
		return cpupool_list(run, line);
	if (strcmp(w, "info") == 0)
		return line->n == 1 ? info(run) : wrong("info", "info");
	if ((strcmp(w, "sched-credit2") == 0 || strcmp(w, "sched-credit") == 0 ||
	     strcmp(w, "sched-rtds") == 0) &&
	    read_query(line, &query))
		return show_sched(run, &query);
	*known = false;
	return false;
}
