/*
 * Commands on cpupools and pCPUs: xl's cpupool-*, xen-hptool's cpu-* and smt-* (core-scheduling
 * sections 4.2 to 4.6, 7.1).
 *
 * The hypervisor answers in numbers; here they become words. What takes pCPUs from guests is asked
 * again until the guests are off them; one that never gets free is called off after LAB_GIVE_UP.
 *
 * Law: as with xl, a list of pCPUs is tried one by one, and those behind one that is refused are
 * tried all the same.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/run.h"

#define SUMMARY 48 /* bytes of a text that are kept for its last line */

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

static bool is_online(const struct lab_run *run, unsigned pcpu)
{
	return hv_mask_test(hv_online_mask(mc_sys(run->machine)), pcpu);
}

/* One reason, made up of what is known. */
static const char *because(struct lab_run *run, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static const char *because(struct lab_run *run, const char *fmt, ...)
{
	struct lab_operator *o = &run->operator;
	va_list args;

	va_start(args, fmt);
	vsnprintf(o->why, sizeof(o->why), fmt, args);
	va_end(args);
	return o->why;
}

/* They are scheduled as one under this granularity. */
static bool together(const struct lab_run *run, enum hv_gran gran, unsigned a, unsigned b)
{
	const struct sc_cpu *x = &run->s->topo.cpu[a], *y = &run->s->topo.cpu[b];

	return gran == HV_GRAN_CPU    ? a == b
	       : gran == HV_GRAN_CORE ? x->core == y->core
				      : x->socket == y->socket;
}

/* Which pCPU of its core or socket is in the way. */
static const char *why_incomplete(struct lab_run *run, const struct hv_pool *pool, unsigned pcpu)
{
	const char *what = sc_gran_name(pool->gran);

	for (unsigned c = 0; c < run->s->topo.n_cpus; c++) {
		const struct hv_pool *other = pool_of(run, c);

		if (c == pcpu || !together(run, pool->gran, c, pcpu))
			continue;
		if (!is_online(run, c))
			return because(run,
				       "pCPU %u of its %s is off line, and the %s is added as a "
				       "whole (bring that on line first: 'cpu-online %u')",
				       user_id(run, c), what, what, user_id(run, c));
		if (other)
			return because(run, "pCPU %u of its %s is in pool '%s'", user_id(run, c),
				       what, name_of(run, other));
	}
	return because(run, "its %s has not as many pCPUs as the others", what);
}

static const char *why_not_added(struct lab_run *run, const struct hv_pool *to, unsigned pcpu,
				 int error)
{
	const struct hv_pool *pool = pool_of(run, pcpu);

	switch (error) {
	case -HV_ENODEV:
		if (!is_online(run, pcpu))
			return "it is off line";
		if (pool)
			return because(run,
				       "it is in pool '%s', from which it must be removed first",
				       name_of(run, pool));
		return why_incomplete(run, to, pcpu);
	case -HV_EADDRNOTAVAIL:
		return "it is just being removed from another pool";
	case -HV_ENOMEM:
		return "the hypervisor has no memory";
	default:
		return "the hypervisor refuses it";
	}
}

/* Who is on a pCPU of its core or socket that should be empty. */
static const char *who_is_there(struct lab_run *run, unsigned pcpu, const char *then)
{
	const struct hv_resource *r = hv_resource_of(mc_sys(run->machine), pcpu);

	hv_mask_for_each(c, &r->pcpus, SC_NW)
	{
		const struct hv_vcpu *v = hv_pcpu_loaded(mc_sys(run->machine), c);

		for (unsigned i = 0; !v->idle && i < run->s->n_vms; i++) {
			const struct mc_vm *mvm = run->vm[i].mvm;
			const char *name = run->s->vm[i].name;

			if (mvm && mvm->domain == v->domain)
				return because(
					run,
					"vCPU %u of VM '%s' has taken it and does not leave; "
					"%s ('pause %s' or pin that vCPU elsewhere, then "
					"try again)",
					v->id, name, then, name);
		}
	}
	return because(run, "a vCPU was there until just now; %s (try again)", then);
}

/* Whose guest holds it, or another one of its core or socket, for a while. */
static const char *who_is_pinned(struct lab_run *run, unsigned pcpu)
{
	const struct hv_resource *r = hv_resource_of(mc_sys(run->machine), pcpu);

	for (unsigned i = 0; i < run->s->n_vms; i++) {
		const struct mc_vm *mvm = run->vm[i].mvm;

		for (unsigned k = 0; mvm && mvm->domain && k < mvm->domain->nr_vcpus; k++) {
			const struct hv_vcpu *v = mvm->domain->vcpus[k];

			if (v->pins && hv_mask_test(&v->unit->hard, r->master))
				return because(run,
					       "vCPU %u of VM '%s' is pinned there by its guest at "
					       "the moment ('vcpu-pin -f' ends that)",
					       k, run->s->vm[i].name);
		}
	}
	return "a vCPU is pinned there at the moment (try again)";
}

static const char *why_not_removed(struct lab_run *run, const struct hv_pool *pool, unsigned pcpu,
				   int error)
{
	switch (error) {
	case -HV_EINVAL:
		if (!is_online(run, pcpu))
			return "it is off line";
		if (pcpu == 0)
			return "the first pCPU must stay in Pool-0";
		return because(run, "its %s has the first pCPU, which must stay in Pool-0",
			       sc_gran_name(pool->gran));
	case -HV_EADDRNOTAVAIL:
		if (pool_of(run, pcpu) != pool)
			return "it is not in this pool";
		return "another removal is unfinished";
	case -HV_EBUSY:
		return "it is the last one of a pool that has VMs";
	case -HV_EADDRINUSE:
		return who_is_pinned(run, pcpu);
	case -HV_ENOMEM:
		return "the hypervisor has no memory";
	default:
		return "the hypervisor refuses it";
	}
}

static const char *why_not_offline(struct lab_run *run, unsigned pcpu, int error)
{
	const struct hv_pool *pool = pool_of(run, pcpu);

	switch (error) {
	case -HV_EINVAL:
		if (pcpu == 0)
			return "the first pCPU cannot go off line";
		return because(run, "its %s has the first pCPU, which must stay in Pool-0",
			       pool ? sc_gran_name(pool->gran) : "pool");
	case -HV_EEXIST:
		return "it is off line already";
	case -HV_ENODEV:
		return because(run, "it is in pool '%s', not Pool-0: it must be removed first",
			       pool ? name_of(run, pool) : "?");
	case -HV_EBUSY:
		return "it is the last one of Pool-0, which has VMs";
	case -HV_EADDRNOTAVAIL:
		return "another removal is unfinished";
	case -HV_EADDRINUSE:
		return who_is_pinned(run, pcpu);
	case -HV_EAGAIN:
		return who_is_there(run, pcpu, "it stays on line");
	default:
		return "the hypervisor refuses it";
	}
}

/* xl's users see one error for what is forbidden and what will pass; here they are told apart. */
static const char *why_not_smt(struct lab_run *run, int error)
{
	struct hv_sys *sys = mc_sys(run->machine);

	switch (error) {
	case -HV_EOPNOTSUPP:
		return "this host has no SMT";
	case -HV_EBUSY:
		for (struct hv_pool *p = hv_pool_next(sys, 0); p;
		     p = hv_pool_next(sys, p->id + 1)) {
			if (p->gran != HV_GRAN_CPU)
				return because(run,
					       "forbidden while a pool has sched-gran core or "
					       "socket ('%s' has %s)",
					       name_of(run, p), sc_gran_name(p->gran));
		}
		return "busy: Pool-0 has VMs, and all its pCPUs are second threads; give it a "
		       "first one";
	case -HV_ENODEV:
		return "busy: a second thread is in a pool other than Pool-0; remove it there "
		       "first";
	case -HV_EADDRNOTAVAIL:
		return "busy: a removal is unfinished; try again";
	case -HV_EADDRINUSE:
		return "busy: a vCPU is pinned to a second thread by its guest at the moment "
		       "('vcpu-pin -f' ends that)";
	default:
		return "the hypervisor refuses it";
	}
}

/* One more about a pCPU that was refused; the others are tried all the same. */
static void note(struct lab_run *run, struct lab_task *task, unsigned pcpu, int error,
		 const char *why)
{
	const size_t room = sizeof(run->operator.text) - SUMMARY;
	char *text = run->operator.text;
	size_t used = strlen(text);

	assert(error < 0);
	/* A list of hundreds: those who read it know after some. */
	if (used + strlen(why) + 32 < room)
		snprintf(text + used, room - used, "%spCPU %u: %s", used ? "\n" : "",
			 user_id(run, pcpu), why);
	task->error = task->error ? task->error : error;
	task->refused++;
}

/* How it went when a list was tried. */
static int sum_up(struct lab_run *run, const struct lab_task *task, const char *done)
{
	char *text = run->operator.text;
	size_t used = strlen(text);
	struct hv_mask all;
	unsigned n;

	lab_mask_to_machine(run->s, &task->op->cpus, &all);
	n = hv_mask_weight(&all, SC_NW);
	if (task->refused && n > 1)
		snprintf(text + used, sizeof(run->operator.text) - used, "\n%u of %u pCPUs %s",
			 n - task->refused, n, done);
	return task->error;
}

/* ---- pools */

static int add_list(struct lab_run *run, struct lab_task *task, struct hv_pool *pool)
{
	hv_mask_for_each(c, &task->left, SC_NW)
	{
		int ret = hv_pool_add_pcpu(pool, c);

		if (ret != 0)
			note(run, task, c, ret, why_not_added(run, pool, c, ret));
	}
	return task->error;
}

/*
 * One attempt. A policy would put the next vCPU where one was sent away: work for its idle
 * context, as a hypervisor has it for a removal, keeps the pCPU free for the attempt after this.
 */
static int try_remove(struct lab_run *run, struct lab_task *task, struct hv_pool *pool,
		      unsigned pcpu, const char **why)
{
	struct hv_sys *sys = mc_sys(run->machine);
	int ret = hv_pool_remove_pcpu(pool, pcpu);

	*why = NULL;
	if (ret == -HV_EAGAIN && mc_now(run->machine) - task->since < LAB_GIVE_UP) {
		if (!task->idling) {
			task->idling = true;
			task->idle = hv_resource_of(sys, pcpu)->master;
			mc_idle_work(run->machine, task->idle, true);
		}
		return ret;
	}
	if (task->idling)
		mc_idle_work(run->machine, task->idle, false);
	task->idling = false;
	if (ret != -HV_EAGAIN)
		return ret;
	*why = who_is_there(run, pcpu, "it stays in the pool");
	(void)hv_pool_add_pcpu(pool, pcpu); /* calls it off */
	return -HV_EBUSY;
}

/* One resource after the other; what left with another pCPU of the list has left. */
int lab_remove_pcpus(struct lab_run *run, struct lab_task *task, struct hv_pool *pool)
{
	struct hv_mask left = task->left, free;
	const char *why;
	int ret;

	hv_mask_for_each(c, &left, SC_NW)
	{
		ret = try_remove(run, task, pool, c, &why);
		if (ret == -HV_EAGAIN)
			return ret;
		hv_free_pcpus(mc_sys(run->machine), &free);
		if (ret == -HV_EADDRNOTAVAIL && task->pool == pool && hv_mask_test(&free, c))
			ret = 0;
		if (ret != 0)
			note(run, task, c, ret, why ? why : why_not_removed(run, pool, c, ret));
		else
			task->pool = pool;
		hv_mask_clear(&task->left, c);
		task->since = mc_now(run->machine);
	}
	return task->error;
}

int lab_pool_make(struct lab_run *run, const char *name, const char *sched, enum hv_gran gran,
		  struct hv_pool **out)
{
	int ret = hv_pool_create(mc_sys(run->machine), -1, sched, gran, out);

	if (ret == -HV_EINVAL)
		return lab_refuse(run, ret, "gran=%s is not possible on this host",
				  sc_gran_name(gran));
	if (ret == -HV_ENOSPC)
		return lab_refuse(run, ret, "there are too many pools");
	if (ret != 0)
		return ret;
	ret = lab_pool_add(run, (*out)->id, name);
	if (ret != 0)
		(void)hv_pool_destroy(*out);
	return ret;
}

void lab_pool_unmake(struct lab_run *run, struct hv_pool *pool)
{
	struct hv_mask pcpus = pool->cpu_valid;
	int id = pool->id, ret;

	hv_mask_for_each(c, &pcpus, SC_NW)
	{
		/* Those behind it in its resource have left with the first one. */
		if (hv_mask_test(&pool->cpu_valid, c)) {
			ret = hv_pool_remove_pcpu(pool, c);
			assert(ret == 0);
		}
	}
	ret = hv_pool_destroy(pool);
	assert(ret == 0);
	(void)ret;
	forget_pool(run, id);
}

/* The pCPUs that it is to have: all those named, or what is free of nodes. */
static int choose(struct lab_run *run, struct lab_task *task, struct hv_pool *pool)
{
	struct hv_mask free = {{0}};

	hv_free_pcpus(mc_sys(run->machine), &free);
	if (task->op->of_nodes) {
		hv_mask_and(&task->left, &task->left, &free, SC_NW);
		return hv_mask_empty(&task->left, SC_NW)
			       ? lab_refuse(run, -HV_ENODEV, "no pCPU of these nodes is free")
			       : 0;
	}
	hv_mask_for_each(c, &task->left, SC_NW)
	{
		if (!hv_mask_test(&free, c))
			note(run, task, c, -HV_ENODEV, why_not_added(run, pool, c, -HV_ENODEV));
	}
	return task->error;
}

/* All or nothing: nothing runs there yet. */
static int create(struct lab_run *run, struct lab_task *task)
{
	const struct sc_op *op = task->op;
	const char *sched = sc_sched_name(op->set_sched ? op->sched : run->s->xen.sched);
	enum hv_gran gran = op->set_gran ? op->gran : run->s->pool[0].gran;
	struct hv_pool *pool;
	int ret;

	if (lab_pool_find(run, op->pool))
		return lab_refuse(run, -HV_EEXIST, "there is a pool '%s' already", op->pool);
	ret = lab_pool_make(run, op->pool, sched, gran, &pool);
	if (ret != 0)
		return ret;
	ret = choose(run, task, pool);
	if (ret == 0)
		ret = add_list(run, task, pool);
	if (ret == 0 && op->dry_run)
		lab_tell(run,
			 "cpupool name:   %s\nscheduler:      %s\ngranularity:    %s\n"
			 "number of cpus: %u",
			 op->pool, sched, sc_gran_name(gran),
			 hv_mask_weight(&pool->cpu_valid, SC_NW));
	if (ret != 0 || op->dry_run)
		lab_pool_unmake(run, pool);
	return ret;
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
	ret = lab_remove_pcpus(run, task, pool);
	if (ret == 0)
		ret = hv_pool_destroy(pool);
	if (ret == 0)
		forget_pool(run, id);
	return ret;
}

int lab_pool_rename(struct lab_run *run, int id, const char *name)
{
	if (lab_pool_find(run, name))
		return lab_refuse(run, -HV_EEXIST, "there is a pool '%s' already", name);
	forget_pool(run, id);
	return lab_pool_add(run, id, name);
}

/* xenhypfs write /cpupool/ID/sched-gran */
static int set_gran(struct lab_run *run, const struct sc_op *op, struct hv_pool *pool)
{
	int ret = hv_pool_set_gran(pool, op->gran);

	if (ret == -HV_EBUSY)
		return lab_refuse(run, ret,
				  "pool '%s' has pCPUs (EBUSY): only an empty pool changes its "
				  "granularity",
				  name_of(run, pool));
	if (ret == -HV_EINVAL)
		return lab_refuse(run, ret,
				  "%s is not possible on this host (EINVAL): not all have the same "
				  "number of pCPUs",
				  sc_gran_name(op->gran));
	return ret;
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
	if (ret == -HV_EAGAIN && mc_now(run->machine) - task->since >= LAB_GIVE_UP) {
		(void)hv_domain_move(d, d->pool); /* calls it off */
		return lab_refuse(run, -HV_EBUSY, "a vCPU of VM '%s' is still running",
				  v->vm->name);
	}
	if (ret == -HV_ENOENT)
		return lab_refuse(run, ret, "pool '%s' has no pCPU", name_of(run, pool));
	if (ret == -HV_EBUSY)
		return lab_refuse(run, ret, "VM '%s' is on its way to another pool%s", v->vm->name,
				  d->move ? "" : ", or pinned by its guest at the moment");
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
		if (ret == -HV_EAGAIN && mc_now(run->machine) - task->since < LAB_GIVE_UP)
			return ret;
		why = ret == 0 ? "" : why_not_offline(run, c, ret);
		if (ret == -HV_EAGAIN)
			(void)hv_pcpu_up(sys, c); /* calls it off */
	}
	if (ret != 0)
		note(run, task, c, ret, why);
	return ret == -HV_EAGAIN ? -HV_EBUSY : ret;
}

static int do_pool(struct lab_run *run, struct lab_task *task)
{
	struct hv_pool *pool = lab_pool_find(run, task->op->pool);
	int ret;

	if (!pool)
		return no_pool(run, task->op->pool);
	switch (task->op->kind) {
	case SC_OP_POOL_DESTROY:
		return destroy(run, task, pool);
	case SC_OP_POOL_RENAME:
		return lab_pool_rename(run, pool->id, task->op->name);
	case SC_OP_POOL_GRAN:
		return set_gran(run, task->op, pool);
	case SC_OP_POOL_CPU_ADD:
		add_list(run, task, pool);
		return sum_up(run, task, "were added");
	default:
		ret = lab_remove_pcpus(run, task, pool);
		return ret == -HV_EAGAIN ? ret : sum_up(run, task, "were removed");
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
	case SC_OP_SUSPEND:
		return lab_suspend(run, task);
	case SC_OP_RESUME:
		return lab_resume(run, task->op);
	case SC_OP_POOL_SPLIT:
		return lab_numa_split(run, task);
	default:
		return do_pool(run, task);
	}
}
