/*
 * cpupool-numa-split: one pool for each memory node (core-scheduling section 7.1).
 *
 * Pool-0 becomes that of the first pCPU's node and keeps all VMs; the pCPUs of the other nodes go
 * into new pools with its scheduler. Domain 0 gets no more vCPUs on line than its node has pCPUs;
 * its kernel has 10 s for that.
 *
 * Law: all or nothing. What can be checked is checked first, and what was done is undone.
 */
#include <assert.h>
#include <stdio.h>

#include "lab/run.h"

#define WAIT  10000000000LL /* ns, for domain 0 */
#define RETRY 10000000LL    /* ns until it is looked at again */

enum step { CHECK, WAIT_FOR_DOM0, REMOVE };

static unsigned node_of(const struct lab_run *run, unsigned pcpu)
{
	return run->s->topo.cpu[pcpu].node;
}

static unsigned node_id(const struct lab_run *run, unsigned pcpu)
{
	return run->s->topo.node_id[node_of(run, pcpu)];
}

/* pCPUs that go: those of Pool-0 on other nodes than the first one's. */
static void others(const struct lab_run *run, struct hv_mask *out)
{
	*out = mc_pool(run->machine)->cpu_valid;
	for (unsigned c = 0; c < run->s->topo.n_cpus; c++) {
		if (node_of(run, c) == node_of(run, 0))
			hv_mask_clear(out, c);
	}
}

/* No resource of Pool-0 lies on two nodes. */
static int check_resources(struct lab_run *run)
{
	const struct hv_pool *boot = mc_pool(run->machine);

	hv_mask_for_each(c, &boot->res_valid, SC_NW)
	{
		const struct hv_resource *r = hv_resource_of(mc_sys(run->machine), c);

		hv_mask_for_each(k, &r->pcpus, SC_NW)
		{
			if (node_of(run, k) != node_of(run, c))
				return lab_refuse(run, -HV_EINVAL,
						  "under sched-gran=%s pCPUs %u and %u belong "
						  "together, but are of different nodes",
						  sc_gran_name(boot->gran), run->s->topo.cpu[c].id,
						  run->s->topo.cpu[k].id);
		}
	}
	return 0;
}

/* Domain 0, NULL when there is none. */
static struct lab_vm_run *dom0(struct lab_run *run)
{
	return run->s->n_vms && run->s->vm[0].dom0 && run->vm[0].mvm ? &run->vm[0] : NULL;
}

static int begin(struct lab_run *run, struct lab_task *task)
{
	const struct lab_vm_run *d = dom0(run);
	unsigned fit;
	int ret;

	if (hv_pool_next(mc_sys(run->machine), 1))
		return lab_refuse(run, -HV_EBUSY,
				  "there are cpupools already: only a host with one pool is split");
	ret = check_resources(run);
	if (ret != 0)
		return ret;
	others(run, &task->taken);
	task->left = task->taken;
	fit = hv_mask_weight(&mc_pool(run->machine)->cpu_valid, SC_NW) -
	      hv_mask_weight(&task->taken, SC_NW);
	assert(fit > 0);
	task->vcpus = d ? lab_vcpus_online(d->mvm->domain) : 0;
	task->step = REMOVE;
	if (task->vcpus > fit) {
		guest_set_vcpus(d->guest, fit);
		task->step = WAIT_FOR_DOM0;
	}
	return 0;
}

static void restore_dom0(struct lab_run *run, const struct lab_task *task)
{
	if (task->vcpus && lab_vcpus_online(dom0(run)->mvm->domain) != task->vcpus)
		guest_set_vcpus(dom0(run)->guest, task->vcpus);
}

static int wait_for_dom0(struct lab_run *run, struct lab_task *task)
{
	const struct hv_pool *boot = mc_pool(run->machine);
	unsigned fit =
		hv_mask_weight(&boot->cpu_valid, SC_NW) - hv_mask_weight(&task->taken, SC_NW);
	unsigned online = lab_vcpus_online(dom0(run)->mvm->domain);

	if (online <= fit) {
		task->step = REMOVE;
		task->since = mc_now(run->machine);
		return 0;
	}
	if (mc_now(run->machine) - task->since < WAIT) {
		run->operator.retry = RETRY;
		return -HV_EAGAIN;
	}
	guest_set_vcpus(dom0(run)->guest, task->vcpus);
	return lab_refuse(
		run, -HV_EBUSY,
		"domain 0 has %u vCPUs on line after 10 s, its node has %u pCPUs; nothing "
		"is split",
		online, fit);
}

/* The pool of the node of this pCPU, with all that was taken of that. */
static int make_pool(struct lab_run *run, const struct lab_task *task, unsigned pcpu)
{
	const struct hv_pool *boot = mc_pool(run->machine);
	struct hv_pool *pool;
	char name[32];
	int ret;

	snprintf(name, sizeof(name), "Pool-node%u", node_id(run, pcpu));
	ret = lab_pool_make(run, name, boot->sched->policy->name, boot->gran, &pool);
	hv_mask_for_each(c, &task->taken, SC_NW)
	{
		if (ret == 0 && node_of(run, c) == node_of(run, pcpu))
			ret = hv_pool_add_pcpu(pool, c);
	}
	return ret;
}

static void undo(struct lab_run *run, const struct lab_task *task)
{
	struct hv_pool *p;

	while ((p = hv_pool_next(mc_sys(run->machine), 1)))
		lab_pool_unmake(run, p);
	hv_mask_for_each(c, &task->taken, SC_NW)(void) hv_pool_add_pcpu(mc_pool(run->machine), c);
	restore_dom0(run, task);
}

static int split(struct lab_run *run, struct lab_task *task)
{
	int ret = lab_remove_pcpus(run, task, mc_pool(run->machine));
	char name[32];

	if (ret == -HV_EAGAIN)
		return ret;
	for (unsigned n = 0; n < run->s->topo.n_nodes && ret == 0; n++) {
		unsigned first = SC_MAX_CPUS;

		hv_mask_for_each(c, &task->taken, SC_NW)
		{
			if (first == SC_MAX_CPUS && node_of(run, c) == n)
				first = c;
		}
		if (first < SC_MAX_CPUS)
			ret = make_pool(run, task, first);
	}
	snprintf(name, sizeof(name), "Pool-node%u", node_id(run, 0));
	if (ret == 0)
		ret = lab_pool_rename(run, 0, name);
	if (ret != 0)
		undo(run, task);
	return ret;
}

int lab_numa_split(struct lab_run *run, struct lab_task *task)
{
	int ret = 0;

	if (task->step == CHECK)
		ret = begin(run, task);
	if (ret == 0 && task->step == WAIT_FOR_DOM0)
		ret = wait_for_dom0(run, task);
	return ret == 0 ? split(run, task) : ret;
}
