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

static bool wrong(const char *command, const char *usage)
{
	fprintf(stderr, "%s: expected '%s'\n", command, usage);
	return false;
}

const char *console_cpus(struct lab_run *run, const struct hv_mask *machine,
			 char text[CONSOLE_MASK])
{
	struct hv_mask user;

	lab_mask_to_user(lab_scenario(run), machine, &user);
	return sc_mask_format(&user, text, CONSOLE_MASK);
}

const char *console_affinity(struct lab_run *run, const struct hv_mask *machine,
			     char text[CONSOLE_MASK])
{
	const struct scenario *s = lab_scenario(run);
	struct hv_mask user;

	lab_mask_to_user(s, machine, &user);
	if (hv_mask_empty(&user, SC_NW))
		return "none";
	if (hv_mask_subset(&s->topo.present, &user, SC_NW))
		return "all";
	return sc_mask_format(&user, text, CONSOLE_MASK);
}

const char *console_vm_name(struct lab_run *run, unsigned vm)
{
	const struct sc_vm *sc = &lab_scenario(run)->vm[vm];

	return sc->dom0 ? "Domain-0" : sc->name;
}

bool console_find_vms(struct lab_run *run, const char *word, unsigned *first, unsigned *n)
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

struct hv_domain *console_domain(struct lab_run *run, unsigned vm)
{
	struct mc_vm *mvm = lab_vm_of(run, vm);

	return mvm ? mvm->domain : NULL;
}

/* ---- vcpu-list */

static void show_vcpus(struct lab_run *run, unsigned vm)
{
	const struct hv_domain *d = console_domain(run, vm);
	char hard[CONSOLE_MASK], soft[CONSOLE_MASK];

	for (unsigned i = 0; d && i < d->nr_vcpus; i++) {
		const struct hv_vcpu *v = d->vcpus[i];
		struct hv_runstate rs;

		hv_runstate_get(v, &rs);
		printf("%-32s %5d %5u", console_vm_name(run, vm), d->id, i);
		if (v->pause_flags & HV_PF_DOWN)
			printf(" %5c %3c%cp ", '-', '-', '-');
		else
			printf(" %5u %3c%c- ", lab_scenario(run)->topo.cpu[v->pcpu].id,
			       v->is_running ? 'r' : '-',
			       v->pause_flags & HV_PF_BLOCKED ? 'b' : '-');
		printf("%9.1f  %s / %s\n", (double)rs.time[HV_RUNNING] / 1e9,
		       console_affinity(run, &v->unit->hard, hard),
		       console_affinity(run, &v->unit->soft, soft));
	}
}

static bool vcpu_list(struct lab_run *run, const struct console_line *line)
{
	unsigned first = 0, n = lab_scenario(run)->n_vms;

	for (unsigned w = 1; w < line->n; w++) {
		if (!console_find_vms(run, line->word[w], &first, &n))
			return false;
	}
	printf("%-32s %5s %5s %5s %5s %9s %s\n", "Name", "ID", "VCPU", "CPU", "State", "Time(s)",
	       "Affinity (Hard / Soft)");
	for (unsigned w = 1; w < line->n || w == 1; w++) {
		if (w < line->n)
			(void)console_find_vms(run, line->word[w], &first, &n);
		for (unsigned i = first; i < first + n; i++)
			show_vcpus(run, i);
	}
	return true;
}

/* ---- list */

static void show_domain(struct lab_run *run, unsigned vm, bool pool)
{
	const struct sc_vm *sc = &lab_scenario(run)->vm[vm];
	const struct hv_domain *d = console_domain(run, vm);
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
	printf("%-40s %5d %5lld %5u     %c%c%c---  %8.1f", console_vm_name(run, vm), d->id,
	       (long long)(sc->memory >> 20), online, running ? 'r' : '-',
	       blocked && !running ? 'b' : '-', d->pause_count ? 'p' : '-', (double)time / 1e9);
	if (pool)
		printf(" %16s", lab_pool_name(run, d->pool->id));
	putchar('\n');
}

static bool list(struct lab_run *run, const struct console_line *line)
{
	bool pool = line->n > 1 &&
		    (strcmp(line->word[1], "-c") == 0 || strcmp(line->word[1], "--cpupool") == 0);
	unsigned first = 0, n = lab_scenario(run)->n_vms, at = pool ? 2 : 1;

	for (unsigned w = at; w < line->n; w++) {
		if (line->word[w][0] == '-')
			return wrong("list", "list [-c] [DOM...]");
		if (!console_find_vms(run, line->word[w], &first, &n))
			return false;
	}
	printf("Name                                        ID   Mem VCPUs\tState\tTime(s)%s\n",
	       pool ? "         Cpupool" : "");
	for (unsigned w = at; w < line->n || w == at; w++) {
		if (w < line->n)
			(void)console_find_vms(run, line->word[w], &first, &n);
		for (unsigned i = first; i < first + n; i++)
			show_domain(run, i, pool);
	}
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

/* ---- info */

static bool info(struct lab_run *run)
{
	const struct scenario *s = lab_scenario(run);
	struct hv_sys *sys = mc_sys(lab_machine(run));
	char text[CONSOLE_MASK];
	struct hv_mask free = {{0}};

	hv_free_pcpus(sys, &free);
	printf("%-23s: %s\n", "host", s->topo.name);
	printf("%-23s: %u\n", "nr_cpus", hv_mask_weight(hv_online_mask(sys), SC_NW));
	printf("%-23s: %u\n", "max_cpu_id", s->topo.nr_ids - 1);
	printf("%-23s: %u\n", "nr_nodes", s->topo.n_nodes);
	printf("%-23s: %u\n", "cores_per_socket", s->topo.n_cores / s->topo.n_sockets);
	printf("%-23s: %u\n", "threads_per_core", s->topo.threads_per_core);
	printf("%-23s: %s\n", "online_cpus", console_cpus(run, hv_online_mask(sys), text));
	console_cpus(run, &free, text);
	printf("%-23s: %u%s%s\n", "free_cpus", hv_mask_weight(&free, SC_NW), *text ? " : " : "",
	       text);
	printf("%-23s: %s\n", "xen_scheduler", sc_sched_name(s->xen.sched));
	printf("%-23s: %s\n", "xen_commandline", s->xen.cmdline ? s->xen.cmdline : "");
	for (struct hv_pool *p = next_pool(run, NULL); p; p = next_pool(run, p))
		printf("/cpupool/%d/sched-gran   : %s\n", p->id, sc_gran_name(p->gran));
	printf("%-23s: %.6f s\n", "time", (double)mc_now(lab_machine(run)) / 1e9);
	return true;
}

/* ---- xenhypfs: what only reads */

/* The pool whose node /cpupool/ID/sched-gran this is. */
static struct hv_pool *pool_of_node(struct lab_run *run, const char *path)
{
	char text[64];

	for (struct hv_pool *p = next_pool(run, NULL); p; p = next_pool(run, p)) {
		snprintf(text, sizeof(text), "/cpupool/%d/sched-gran", p->id);
		if (strcmp(text, path) == 0)
			return p;
	}
	return NULL;
}

static bool hypfs(struct lab_run *run, const struct console_line *line)
{
	const struct hv_pool *pool;

	if (line->n != 3 || (strcmp(line->word[1], "cat") != 0 && strcmp(line->word[1], "ls") != 0))
		return wrong("xenhypfs", "xenhypfs cat|write /cpupool/ID/sched-gran [MODE], "
					 "xenhypfs ls /cpupool");
	if (strcmp(line->word[1], "ls") == 0) {
		if (strcmp(line->word[2], "/cpupool") != 0)
			return wrong("xenhypfs", "xenhypfs ls /cpupool");
		for (struct hv_pool *p = next_pool(run, NULL); p; p = next_pool(run, p))
			printf("%d\n", p->id);
		return true;
	}
	pool = pool_of_node(run, line->word[2]);
	if (!pool) {
		fprintf(stderr,
			"xenhypfs: no node '%s' (ENOENT), expected /cpupool/ID/sched-gran\n",
			line->word[2]);
		return false;
	}
	puts(sc_gran_name(pool->gran));
	return true;
}

/* ---- */

void console_show_help(void)
{
	puts("  vcpu-list [DOM...]          list [-c] [DOM...]       cpupool-list [-c] [POOL]\n"
	     "  sched-credit2 [-d DOM | -p POOL] [-s]                (likewise sched-credit)\n"
	     "  sched-rtds [-d DOM [-v VCPU... | -v all] | -c POOL]  info\n"
	     "  xenhypfs cat /cpupool/ID/sched-gran                  debug-keys r");
}

bool console_show(struct lab_run *run, const struct console_line *line, bool *known)
{
	const char *w = line->word[0];

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
	if (strcmp(w, "debug-keys") == 0) {
		if (line->n != 2 || strcmp(line->word[1], "r") != 0)
			return wrong("debug-keys", "debug-keys r, the schedulers' state");
		console_dump(run);
		return true;
	}
	if (strcmp(w, "xenhypfs") == 0 && !(line->n > 1 && strcmp(line->word[1], "write") == 0))
		return hypfs(run, line);
	if (strcmp(w, "sched-credit2") == 0 || strcmp(w, "sched-credit") == 0 ||
	    strcmp(w, "sched-rtds") == 0)
		return console_sched(run, line, known);
	*known = false;
	return false;
}
