/*
 * The operator: xl's commands, carried out one after another in virtual time.
 *
 * A command that has to wait until guests have left a pCPU looks again every LAB_RETRY; those
 * behind it wait, as in a shell. One of a timeline that is refused ends the run: the scenario was
 * checked against what can be known beforehand, so a refusal is news to its author.
 *
 * Source: core-scheduling sections 4.2, 7.1.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/run.h"

int lab_refuse(struct lab_run *run, int error, const char *fmt, ...)
{
	va_list args;

	assert(error < 0);
	va_start(args, fmt);
	vsnprintf(run->operator.text, sizeof(run->operator.text), fmt, args);
	va_end(args);
	return error;
}

void lab_tell(struct lab_run *run, const char *fmt, ...)
{
	size_t used = strlen(run->operator.text);
	va_list args;

	/* One line more. */
	if (used > 0 && used + 1 < sizeof(run->operator.text))
		run->operator.text[used++] = '\n';
	va_start(args, fmt);
	vsnprintf(run->operator.text + used, sizeof(run->operator.text) - used, fmt, args);
	va_end(args);
}

/* ---- commands on VMs */

/* A command of one scheduler does not reach a pool of another. */
static int wrong_sched(struct lab_run *run, const struct hv_pool *pool, const struct sc_op *op,
		       const char *vm)
{
	const char *sched = pool->sched->policy->name;

	if (strcmp(sched, sc_sched_name(op->sched)) == 0)
		return 0;
	return lab_refuse(run, -HV_EINVAL, "%s%s%spool '%s' has the scheduler %s, not %s",
			  vm ? "VM '" : "", vm ? vm : "", vm ? "': its " : "",
			  lab_pool_name(run, pool->id), sched, sc_sched_name(op->sched));
}

static int set_domain(struct lab_vm_run *v, const struct sc_op *op)
{
	struct hv_domain_params p;
	int ret = wrong_sched(v->run, v->mvm->domain->pool, op, v->vm->name);

	if (ret == 0)
		ret = hv_domain_params_get(v->mvm->domain, &p);
	if (ret != 0)
		return ret;
	if (op->set_weight)
		p.weight = op->weight;
	if (op->set_cap)
		p.cap = op->cap;
	return hv_domain_params_set(v->mvm->domain, &p);
}

static int set_pool(struct lab_run *run, const struct sc_op *op)
{
	struct hv_pool *pool = op->pool ? lab_pool_find(run, op->pool) : mc_pool(run->machine);
	struct hv_sched_params p;
	int ret;

	if (!pool)
		return lab_refuse(run, -HV_ENOENT, "no pool is named '%s'", op->pool);
	ret = wrong_sched(run, pool, op, NULL);
	if (ret == 0)
		ret = hv_sched_params_get(pool, &p);
	if (ret != 0)
		return ret;
	if (op->set_ratelimit)
		p.ratelimit_us = op->ratelimit_us;
	if (op->set_tslice)
		p.tslice_ms = op->tslice_ms;
	if (op->set_migration_delay)
		p.migration_delay_us = op->migration_delay_us;
	if (op->sched == SC_SCHED_CREDIT && p.ratelimit_us > p.tslice_ms * 1000)
		return lab_refuse(
			run, -HV_EINVAL,
			"the rate limit (%u us) would be longer than the timeslice (%u ms)",
			p.ratelimit_us, p.tslice_ms);
	return hv_sched_params_set(pool, &p);
}

static int set_rtds(struct lab_vm_run *v, const struct sc_op *op)
{
	int ret = wrong_sched(v->run, v->mvm->domain->pool, op, v->vm->name);

	/* In order; what comes before one that is refused stays, as with xl. */
	for (unsigned i = 0; ret == 0 && i < op->n_rtds; i++) {
		const struct sc_rtds_change *c = &op->rtds[i];

		for (unsigned k = 0; ret == 0 && k < v->mvm->nr_vcpus; k++) {
			if (c->vcpu < 0 || (unsigned)c->vcpu == k)
				ret = lab_set_rtds(v, k, &c->value);
		}
	}
	return ret;
}

unsigned lab_vcpus_online(const struct hv_domain *d)
{
	unsigned n = 0;

	for (unsigned i = 0; i < d->nr_vcpus; i++)
		n += !(d->vcpus[i]->pause_flags & HV_PF_DOWN);
	return n;
}

/* Raising it above what the host has is mostly an error of typing: -i says that it is none. */
static int set_vcpus(struct lab_vm_run *v, const struct sc_op *op)
{
	const struct hv_mask *online = hv_online_mask(mc_sys(v->run->machine));
	unsigned pcpus = hv_mask_weight(online, SC_NW);

	assert(op->vcpus <= v->mvm->nr_vcpus);
	if (op->vcpus == 0)
		return 0;
	if (!op->ignore_host && op->vcpus > pcpus && op->vcpus > lab_vcpus_online(v->mvm->domain))
		return lab_refuse(
			v->run, -HV_EINVAL,
			"%u vCPUs are more than the %u pCPUs that are on line ('-i' allows "
			"that)",
			op->vcpus, pcpus);
	guest_set_vcpus(v->guest, op->vcpus);
	return 0;
}

/* The domain is gone once its vCPUs have left their pCPUs. */
static int destroy(struct lab_task *task, struct lab_vm_run *v)
{
	if (!task->dying) {
		guest_stop(v->guest);
		mc_vm_destroy(v->mvm);
		task->dying = v->mvm;
		v->mvm = NULL;
	}
	if (task->dying->domain)
		return -HV_EAGAIN;
	task->dying = NULL;
	return 0;
}

static int do_vm(struct lab_task *task, struct lab_vm_run *v)
{
	const struct sc_op *op = task->op;
	int ret;

	switch (op->kind) {
	case SC_OP_SCHED_DOM:
		return set_domain(v, op);
	case SC_OP_SCHED_RTDS:
		return set_rtds(v, op);
	case SC_OP_VCPU_PIN:
		return lab_pin(v, op);
	case SC_OP_PIN_OVERRIDE:
		return lab_override(v, op);
	case SC_OP_VCPU_SET:
		return set_vcpus(v, op);
	case SC_OP_PAUSE:
		return hv_domain_pause(v->mvm->domain);
	case SC_OP_UNPAUSE:
		ret = hv_domain_unpause(v->mvm->domain);
		return ret ? lab_refuse(v->run, ret, "VM '%s' is not paused", v->vm->name) : 0;
	case SC_OP_DESTROY:
		return destroy(task, v);
	case SC_OP_POOL_MIGRATE:
		return lab_migrate(v->run, task, v);
	case SC_OP_OVERRUN:
		/* The hypervisor works on its behalf and looks at no request meanwhile. */
		mc_charge(v->mvm->vcpu[op->vcpu < 0 ? 0 : op->vcpu], op->time,
			  MC_CHARGE_HYPERVISOR);
		return 0;
	default:
		return -HV_EINVAL;
	}
}

static int do_task(struct lab_run *run, struct lab_task *task)
{
	const struct sc_op *op = task->op;
	int ret = 0;

	if (run->suspended && op->kind != SC_OP_RESUME)
		return lab_refuse(run, -HV_EBUSY, "the host is suspended; 'resume' wakes it");
	if (op->kind == SC_OP_SCHED_POOL)
		return set_pool(run, op);
	if (op->kind == SC_OP_FRAME) {
		ret = lab_set_frame(run, &op->frame);
		if (ret == -HV_EOPNOTSUPP)
			return lab_refuse(run, ret, "no pool has the scheduler arinc653");
		return ret;
	}
	if (op->kind >= SC_OP_POOL_CREATE && op->kind != SC_OP_POOL_MIGRATE)
		return lab_pool_op(run, task);
	for (; task->vm < op->vm + op->n_vms; task->vm++) {
		struct lab_vm_run *v = &run->vm[task->vm];

		/* Not created yet, or destroyed. */
		if (!v->mvm && !task->dying)
			return lab_refuse(run, -HV_ESRCH, "there is no VM '%s' at this time",
					  v->vm->name);
		ret = do_vm(task, v);
		if (ret != 0)
			return ret;
		task->since = mc_now(run->machine);
	}
	return 0;
}

/* ---- one after another */

static const char *plain_words(int error)
{
	switch (error) {
	case -HV_ESRCH:
		return "no such VM at this time";
	case -HV_EINVAL:
		return "invalid argument";
	case -HV_ENOMEM:
		return "the hypervisor has no memory";
	case -HV_EOPNOTSUPP:
		return "this scheduler has no such parameter";
	case -HV_EBUSY:
		return "busy";
	case -HV_EOVERFLOW:
		return "too often";
	default:
		return "the hypervisor says no";
	}
}

static void end_task(struct lab_run *run, struct lab_task *task, int error)
{
	struct lab_operator *o = &run->operator;
	struct lab_outcome *outcome = task->outcome;
	const char *why = *o->text ? o->text : plain_words(error);

	o->first = task->next;
	if (!o->first)
		o->last = &o->first;
	if (outcome) {
		outcome->done = true;
		outcome->error = error;
		snprintf(outcome->text, sizeof(outcome->text), "%s", error ? why : o->text);
	} else if (error) {
		/* One line in a report. */
		for (char *c = o->text; (c = strchr(c, '\n')); c++)
			*c = ';';
		mc_fail(run->machine, MC_FAULT_LAW, "timeline, line %d: '%s' is refused: %s",
			task->op->line, task->op->text, why);
	}
	free(task);
}

static void work(struct lab_run *run)
{
	struct lab_operator *o = &run->operator;

	while (o->first && !mc_fault(run->machine)) {
		struct lab_task *task = o->first;
		int ret;

		if (!task->begun) {
			task->begun = true;
			task->vm = task->op->vm;
			task->since = mc_now(run->machine);
			*o->text = '\0';
		}
		o->retry = LAB_RETRY;
		ret = do_task(run, task);
		if (task->op->kind >= SC_OP_POOL_CREATE)
			mc_reshaped(run->machine);
		if (ret == -HV_EAGAIN) {
			mc_timer_set(&o->timer, mc_now(run->machine) + o->retry);
			return;
		}
		end_task(run, task, ret);
	}
}

static void work_due(struct mc_timer *t)
{
	work(t->data);
}

int lab_command(struct lab_run *run, const struct sc_op *op, struct lab_outcome *outcome)
{
	struct lab_operator *o = &run->operator;
	struct lab_task *task = calloc(1, sizeof(*task));
	bool busy = o->first != NULL;

	if (!task)
		return -HV_ENOMEM;
	task->op = op;
	task->outcome = outcome;
	*o->last = task;
	o->last = &task->next;
	if (!busy)
		work(run);
	return 0;
}

void lab_operator_start(struct lab_run *run)
{
	run->operator.last = & run->operator.first;
	mc_timer_init(&run->operator.timer, run->machine, MC_TIMER_SAMPLE,
		      run->s->n_events + run->s->n_vms, work_due, run);
}

void lab_operator_stop(struct lab_run *run)
{
	while (run->operator.first) {
		struct lab_task *task = run->operator.first;

		run->operator.first = task->next;
		free(task);
	}
	while (run->pool) {
		struct lab_pool *pool = run->pool;

		run->pool = pool->next;
		free(pool);
	}
}
