/*
 * `debug-keys r` of the console: what the schedulers have in their heads, pool by pool, the free
 * pCPUs last (core-scheduling section 7.1). Xen writes the like of it to its own console; its lines
 * are meant for people and differ from release to release, and so do these.
 */
#include "cli/console.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "machine/machine.h"

static const char *const state_names[] = {"running", "runnable", "blocked", "offline"};

static unsigned user_id(struct lab_run *run, unsigned pcpu)
{
	return lab_scenario(run)->topo.cpu[pcpu].id;
}

/* "[1.0]": the unit's domain and first vCPU, as Xen writes it. */
static const char *unit_name(const struct hv_unit *u, char text[32])
{
	if (u->idle)
		return "idle";
	snprintf(text, 32, "[%d.%u]", u->domain->id, u->id);
	return text;
}

static void dump_unit(struct lab_run *run, const struct hv_unit *u)
{
	char cpus[CONSOLE_MASK], name[32];
	struct hv_state state;

	printf("    %-9s pCPU %-4u", unit_name(u, name), user_id(run, u->res->master));
	for (unsigned i = 0; i < u->nr_vcpus; i++) {
		struct hv_runstate rs;

		hv_runstate_get(u->domain->vcpus[u->id + i], &rs);
		printf("%c%s", i ? '+' : ' ', state_names[rs.state]);
	}
	hv_unit_state(u, &state);
	for (unsigned i = 0; i < state.nr; i++)
		printf(" %s=%lld", state.v[i].name, (long long)state.v[i].value);
	printf(" affinity=%s\n", console_affinity(run, &u->hard, cpus));
}

static void dump_domain(struct lab_run *run, const struct hv_domain *d, const char *name)
{
	struct hv_domain_params p = {0};
	int ret = hv_domain_params_get((struct hv_domain *)d, &p);

	printf("  Domain %d: %s", d->id, name);
	if (ret == 0 && p.weight)
		printf(", weight %u, cap %u", p.weight, p.cap);
	if (d->pause_count)
		printf(", paused (%u)", d->pause_count);
	putchar('\n');
	for (const struct hv_unit *u = d->units; u; u = u->link)
		dump_unit(run, u);
}

static void dump_runqueues(struct lab_run *run, struct hv_pool *pool)
{
	struct hv_runqueue_info rq;
	char cpus[CONSOLE_MASK];

	for (unsigned i = 0; hv_runqueue_info(pool, i, &rq) == 0; i++)
		printf("  Runqueue %d: cpus %s, %u queued, instantaneous load %u, average load "
		       "%.2f\n",
		       rq.id, console_cpus(run, &rq.pcpus, cpus), rq.nr_queued, rq.nr_load,
		       (double)rq.load / (double)(1LL << rq.load_shift));
}

static void dump_frame(struct hv_pool *pool)
{
	struct hv_window window[HV_MAX_WINDOWS];
	uint64_t major;
	unsigned n;

	if (hv_frame_get(pool, &major, &n, window) != 0)
		return;
	printf("  Major frame: %.6f s, windows:", (double)major / 1e9);
	for (unsigned i = 0; i < n; i++) {
		const uint8_t *h = window[i].handle + HV_HANDLE_BYTES - 4;

		printf(" [%u.%u] %.6f s%s",
		       (unsigned)h[0] << 24 | (unsigned)h[1] << 16 | (unsigned)h[2] << 8 | h[3],
		       window[i].vcpu, (double)window[i].runtime / 1e9, i + 1 < n ? "," : "");
	}
	putchar('\n');
}

/* A resource: what it runs, and until when. */
static void dump_resource(struct lab_run *run, unsigned master)
{
	struct mc_machine *m = lab_machine(run);
	const struct hv_resource *r = hv_resource_of(mc_sys(m), master);
	char cpus[CONSOLE_MASK], name[32];

	printf("    CPU[%02u] siblings=%s current=%s", user_id(run, master),
	       console_cpus(run, &r->pcpus, cpus), unit_name(r->curr, name));
	if (r->timer.armed)
		printf(" slice ends in %.1f us", (double)(r->timer.expiry - mc_now(m)) / 1e3);
	putchar('\n');
}

static void dump_pool(struct lab_run *run, struct hv_pool *pool)
{
	const struct scenario *s = lab_scenario(run);
	char cpus[CONSOLE_MASK];

	printf("Cpupool %d: %s\n  Cpus: %s\n  Scheduling granularity: %s, %u CPU%s per "
	       "sched-resource\n  Scheduler: %s\n",
	       pool->id, lab_pool_name(run, pool->id), console_cpus(run, &pool->cpu_valid, cpus),
	       sc_gran_name(pool->gran), pool->g, pool->g > 1 ? "s" : "",
	       pool->sched->policy->name);
	dump_runqueues(run, pool);
	dump_frame(pool);
	for (unsigned i = 0; i < s->n_vms; i++) {
		const struct mc_vm *vm = lab_vm_of(run, i);

		if (vm && vm->domain && vm->domain->pool == pool)
			dump_domain(run, vm->domain, s->vm[i].name);
	}
	puts("  CPUs info:");
	hv_mask_for_each(c, &pool->res_valid, SC_NW) dump_resource(run, c);
}

void console_dump(struct lab_run *run)
{
	struct hv_sys *sys = mc_sys(lab_machine(run));
	const struct scenario *s = lab_scenario(run);
	char cpus[CONSOLE_MASK];
	struct hv_mask free = {{0}};

	printf("sched_smt_power_savings: %s\nNOW=%lld\nOnline Cpus: %s\n",
	       s->xen.smt_power_savings ? "enabled" : "disabled",
	       (long long)mc_now(lab_machine(run)), console_cpus(run, hv_online_mask(sys), cpus));
	for (struct hv_pool *p = hv_pool_next(sys, 0); p; p = hv_pool_next(sys, p->id + 1))
		dump_pool(run, p);
	hv_free_pcpus(sys, &free);
	if (hv_mask_empty(&free, SC_NW))
		return;
	printf("Free Cpus: %s\n  Scheduler: idle\n  CPUs info:\n", console_cpus(run, &free, cpus));
	hv_mask_for_each(c, &free, SC_NW) dump_resource(run, c);
}
