/*
 * Commands on cpupools and pCPUs: xl's cpupool-*, xen-hptool's cpu-* and smt-* (core-scheduling
 * sections 4.2 to 4.6, 7.1).
 *
 * The hypervisor answers in numbers; here they become words. What takes pCPUs from guests is asked
 * again until the guests are off them; one that never gets free is called off after GIVE_UP.
 *
 * Law: as with xl, a list of pCPUs is tried one by one, and those behind one that is refused are
 * tried all the same.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/run.h"

#define GIVE_UP 1000000000LL /* ns */

/* ---- names */

int lab_pool_add(struct lab_run *run, int id, const char *name)
{
	size_t size = strlen(name) + 1;
	struct lab_pool *pool = malloc(sizeof(*pool) + size), **place = &run->pool;

	if (!pool)
		return -HV_ENOMEM;
	pool->id = id;
	memcpy(pool->name, name, size);
	while (*place && (*place)->id < id)
		place = &(*place)->next;
	assert(!*place || (*place)->id != id);
	pool->next = *place;
	*place = pool;
	return 0;
}

static void forget_pool(struct lab_run *run, int id)
{
	struct lab_pool **place = &run->pool, *pool;

	while (*place && (*place)->id != id)
		place = &(*place)->next;
	pool = *place;
	assert(pool);
	*place = pool->next;
	free(pool);
}

const char *lab_pool_name(const struct lab_run *run, int id)
{
	const struct lab_pool *pool = run->pool;

	while (pool && pool->id != id)
		pool = pool->next;
	return pool ? pool->name : "?";
}

struct hv_pool *lab_pool_find(struct lab_run *run, const char *name)
{
	const struct lab_pool *pool;
	char number[16];

	for (pool = run->pool; pool; pool = pool->next) {
		snprintf(number, sizeof(number), "%d", pool->id);
		if (strcmp(pool->name, name) == 0 || strcmp(number, name) == 0)
			return hv_pool_find(mc_sys(run->machine), pool->id);
	}
	return NULL;
}

static const char *name_of(const struct lab_run *run, const struct hv_pool *pool)
{
	return lab_pool_name(run, pool->id);
}

static unsigned user_id(const struct lab_run *run, unsigned pcpu)
{
	return run->s->topo.cpu[pcpu].id;
}

static struct hv_pool *pool_of(const struct lab_run *run, unsigned pcpu)
{
	struct hv_sys *sys = mc_sys(run->machine);

	return hv_mask_test(hv_online_mask(sys), pcpu) ? hv_resource_of(sys, pcpu)->pool : NULL;
}

/* ---- words */

static int no_pool(struct lab_run *run, const char *name)
{
	return lab_refuse(run, -HV_ENOENT, "no pool is named '%s'", name);
}

static const char *why_not_added(const struct lab_run *run, unsigned pcpu, int error)
{
	const struct hv_pool *pool = pool_of(run, pcpu);

	switch (error) {
	case -HV_ENODEV:
		if (!hv_mask_test(hv_online_mask(mc_sys(run->machine)), pcpu))
			return "it is off line";
		return pool ? "it is in another pool, from which it must be removed first"
			    : "another pCPU of its core or socket is not free";
	case -HV_EADDRNOTAVAIL:
		return "it is just being removed from another pool";
	case -HV_EBUSY:
		return "the host is suspended";
	case -HV_ENOMEM:
		return "the hypervisor has no memory";
	default:
		return "the hypervisor refuses it";
	}
}

static const char *why_not_removed(const struct lab_run *run, const struct hv_pool *pool,
				   unsigned pcpu, int error)
{
	switch (error) {
	case -HV_EINVAL:
		if (!hv_mask_test(hv_online_mask(mc_sys(run->machine)), pcpu))
			return "it is off line";
		return "the first pCPU must stay in Pool-0";
	case -HV_EADDRNOTAVAIL:
		if (pool_of(run, pcpu) != pool)
			return "it is not in this pool";
		return "another removal is unfinished";
	case -HV_EBUSY:
		if (pool->nr_domains && hv_mask_weight(&pool->res_valid, SC_NW) <= 1)
			return "it is the last one of a pool that has VMs";
		return "a vCPU is still running there; it stays in the pool (pause or pin that "
		       "vCPU, and try again)";
	case -HV_ENOMEM:
		return "the hypervisor has no memory";
	default:
		return "the hypervisor refuses it";
	}
}

static const char *why_not_offline(int error)
{
	switch (error) {
	case -HV_EINVAL:
		return "the first pCPU cannot go off line";
	case -HV_EEXIST:
		return "it is off line already";
	case -HV_ENODEV:
		return "it is in a pool other than Pool-0, from which it must be removed first";
	case -HV_EBUSY:
		return "it is the last one of Pool-0, which has VMs";
	case -HV_EADDRNOTAVAIL:
		return "another removal is unfinished";
	case -HV_EAGAIN:
		return "a vCPU is still running there; it stays on line";
	default:
		return "the hypervisor refuses it";
	}
}

static const char *why_not_smt(const struct lab_run *run, int error)
{
	switch (error) {
	case -HV_EOPNOTSUPP:
		return "this host has no SMT";
	case -HV_EBUSY:
		for (struct hv_pool *p = hv_pool_next(mc_sys(run->machine), 0); p;
		     p = hv_pool_next(mc_sys(run->machine), p->id + 1)) {
			if (p->gran != HV_GRAN_CPU)
				return "forbidden while a pool has sched-gran core or socket";
		}
		return "Pool-0 has VMs and would lose its last pCPU";
	case -HV_ENODEV:
		return "a second thread is in a pool other than Pool-0";
	case -HV_EADDRNOTAVAIL:
		return "a removal is unfinished";
	default:
		return "the hypervisor refuses it";
	}
}

/* One more line about a pCPU that was refused; the others are tried all the same. */
static void note(struct lab_run *run, struct lab_task *task, unsigned pcpu, int error,
		 const char *why)
{
	char *text = run->operator.text;
	size_t used = strlen(text);

	snprintf(text + used, sizeof(run->operator.text) - used, "%spCPU %u: %s", used ? "; " : "",
		 user_id(run, pcpu), why);
	task->error = task->error ? task->error : error;
}

/* ---- pools */

static int add_list(struct lab_run *run, struct lab_task *task, struct hv_pool *pool)
{
	hv_mask_for_each(c, &task->left, SC_NW)
	{
		int ret = hv_pool_add_pcpu(pool, c);

		if (ret != 0)
			note(run, task, c, ret, why_not_added(run, c, ret));
	}
	return task->error;
}

/*
 * One attempt. A policy would put the next vCPU where one was sent away: work for its idle
 * context, as a hypervisor has it for a removal, keeps the pCPU free for the attempt after this.
 */
static int try_remove(struct lab_run *run, struct lab_task *task, struct hv_pool *pool,
		      unsigned pcpu)
{
	struct hv_sys *sys = mc_sys(run->machine);
	int ret = hv_pool_remove_pcpu(pool, pcpu);

	if (ret == -HV_EAGAIN && mc_now(run->machine) - task->since < GIVE_UP) {
		if (!task->idling) {
			task->idling = true;
			task->idle = hv_resource_of(sys, pcpu)->master;
			hv_work(sys, task->idle, true);
		}
		return ret;
	}
	if (task->idling)
		hv_work(sys, task->idle, false);
	task->idling = false;
	if (ret != -HV_EAGAIN)
		return ret;
	(void)hv_pool_add_pcpu(pool, pcpu); /* calls it off */
	return -HV_EBUSY;
}

/*
 * Off they go, one resource after the other; what left with another pCPU of the list has left.
 */
static int remove_list(struct lab_run *run, struct lab_task *task, struct hv_pool *pool)
{
	struct hv_mask left = task->left, free;
	int ret;

	hv_mask_for_each(c, &left, SC_NW)
	{
		ret = try_remove(run, task, pool, c);
		if (ret == -HV_EAGAIN)
			return ret;
		hv_free_pcpus(mc_sys(run->machine), &free);
		if (ret == -HV_EADDRNOTAVAIL && task->pool == pool && hv_mask_test(&free, c))
			ret = 0;
		if (ret != 0)
			note(run, task, c, ret, why_not_removed(run, pool, c, ret));
		else
			task->pool = pool;
		hv_mask_clear(&task->left, c);
		task->since = mc_now(run->machine);
	}
	return task->error;
}

static int create(struct lab_run *run, struct lab_task *task)
{
	const struct sc_op *op = task->op;
	struct hv_sys *sys = mc_sys(run->machine);
	enum sc_sched sched = op->set_sched ? op->sched : run->s->xen.sched;
	enum hv_gran gran = op->set_gran ? op->gran : run->s->pool[0].gran;
	struct hv_mask free;
	struct hv_pool *pool;
	int ret;

	if (lab_pool_find(run, op->pool))
		return lab_refuse(run, -HV_EEXIST, "there is a pool '%s' already", op->pool);
	hv_free_pcpus(sys, &free);
	hv_mask_for_each(c, &task->left, SC_NW)
	{
		if (!hv_mask_test(&free, c))
			note(run, task, c, -HV_ENODEV, why_not_added(run, c, -HV_ENODEV));
	}
	if (task->error)
		return task->error;
	ret = hv_pool_create(sys, -1, sc_sched_name(sched), gran, &pool);
	if (ret == -HV_EINVAL)
		return lab_refuse(run, ret, "gran=%s is not possible on this host",
				  sc_gran_name(gran));
	if (ret == -HV_ENOSPC)
		return lab_refuse(run, ret, "there are too many pools");
	if (ret == 0) {
		ret = lab_pool_add(run, pool->id, op->pool);
		if (ret != 0)
			(void)hv_pool_destroy(pool);
	}
	if (ret != 0 || add_list(run, task, pool) == 0)
		return ret;
	/* All or nothing: nothing runs there yet. */
	for (unsigned c = hv_mask_first(&pool->cpu_valid, SC_NW); c < SC_MAX_CPUS && ret == 0;
	     c = hv_mask_first(&pool->cpu_valid, SC_NW))
		ret = hv_pool_remove_pcpu(pool, c);
	forget_pool(run, pool->id);
	ret = hv_pool_destroy(pool);
	assert(ret == 0);
	return task->error;
}

static int destroy(struct lab_run *run, struct lab_task *task, struct hv_pool *pool)
{
	int id = pool->id, ret;

	if (id == 0)
		return lab_refuse(run, -HV_EBUSY, "Pool-0 cannot be destroyed");
	if (pool->nr_domains + pool->nr_coming)
		return lab_refuse(run, -HV_EBUSY, "pool '%s' has VMs (%u); move them first",
				  name_of(run, pool), pool->nr_domains + pool->nr_coming);
	if (hv_mask_empty(&task->left, SC_NW))
		task->left = pool->cpu_valid;
	ret = remove_list(run, task, pool);
	if (ret == 0)
		ret = hv_pool_destroy(pool);
	if (ret == 0)
		forget_pool(run, id);
	return ret;
}

static int rename_pool(struct lab_run *run, const struct sc_op *op, struct hv_pool *pool)
{
	int id = pool->id;

	if (lab_pool_find(run, op->name))
		return lab_refuse(run, -HV_EEXIST, "there is a pool '%s' already", op->name);
	forget_pool(run, id);
	return lab_pool_add(run, id, op->name);
}

int lab_migrate(struct lab_run *run, struct lab_task *task, struct lab_vm_run *v)
{
	struct hv_pool *pool = lab_pool_find(run, task->op->pool);
	struct hv_domain *d = v->mvm->domain;
	int ret;

	if (!pool)
		return no_pool(run, task->op->pool);
	if (!d)
		return lab_refuse(run, -HV_ESRCH, "VM '%s' is being destroyed", v->vm->name);
	ret = hv_domain_move(d, pool);
	if (ret == -HV_EAGAIN && mc_now(run->machine) - task->since >= GIVE_UP) {
		(void)hv_domain_move(d, d->pool); /* calls it off */
		return lab_refuse(run, -HV_EBUSY, "a vCPU of VM '%s' is still running",
				  v->vm->name);
	}
	if (ret == -HV_ENOENT)
		return lab_refuse(run, ret, "pool '%s' has no pCPU", name_of(run, pool));
	if (ret == -HV_EBUSY)
		return lab_refuse(run, ret, "VM '%s' is on its way to another pool", v->vm->name);
	return ret;
}

/* ---- pCPUs */

static int hotplug(struct lab_run *run, struct lab_task *task)
{
	struct hv_sys *sys = mc_sys(run->machine);
	unsigned c = hv_mask_first(&task->left, SC_NW);
	const char *why;
	int ret;

	assert(c < run->s->topo.n_cpus);
	if (task->op->kind == SC_OP_CPU_ONLINE) {
		ret = hv_pcpu_up(sys, c);
		why = ret == -HV_EEXIST ? "it is on line already" : "the hypervisor refuses it";
	} else {
		ret = hv_pcpu_down(sys, c);
		if (ret == -HV_EAGAIN && mc_now(run->machine) - task->since < GIVE_UP)
			return ret;
		if (ret == -HV_EAGAIN)
			(void)hv_pcpu_up(sys, c); /* calls it off */
		why = why_not_offline(ret);
	}
	if (ret != 0)
		note(run, task, c, ret, why);
	return ret == -HV_EAGAIN ? -HV_EBUSY : ret;
}

static int do_pool(struct lab_run *run, struct lab_task *task)
{
	struct hv_pool *pool = lab_pool_find(run, task->op->pool);

	if (!pool)
		return no_pool(run, task->op->pool);
	switch (task->op->kind) {
	case SC_OP_POOL_DESTROY:
		return destroy(run, task, pool);
	case SC_OP_POOL_RENAME:
		return rename_pool(run, task->op, pool);
	case SC_OP_POOL_CPU_ADD:
		return add_list(run, task, pool);
	default:
		return remove_list(run, task, pool);
	}
}

int lab_pool_op(struct lab_run *run, struct lab_task *task)
{
	int ret;

	if (!task->listed) {
		task->listed = true;
		lab_mask_to_machine(run->s, &task->op->cpus, &task->left);
	}
	switch (task->op->kind) {
	case SC_OP_POOL_CREATE:
		return create(run, task);
	case SC_OP_CPU_ONLINE:
	case SC_OP_CPU_OFFLINE:
		return hotplug(run, task);
	case SC_OP_SMT:
		ret = hv_smt_set(mc_sys(run->machine), task->op->on);
		return ret == 0 || ret == -HV_EAGAIN
			       ? ret
			       : lab_refuse(run, ret, "%s", why_not_smt(run, ret));
	default:
		return do_pool(run, task);
	}
}
