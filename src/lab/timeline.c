/*
 * The operator's commands of a scenario's timeline, carried out in virtual time.
 *
 * A command that the hypervisor refuses (a cap above 100 times the vCPUs, say) ends the run: the
 * scenario was checked against what can be known beforehand, so a refusal is news to its author.
 */
#include <assert.h>
#include <stdio.h>

#include "lab/run.h"

static int set_domain(struct lab_vm_run *v, const struct sc_op *op)
{
	struct hv_domain_params p;
	int ret = hv_domain_params_get(v->mvm->domain, &p);

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
	struct hv_sched_params p;
	int ret = hv_sched_params_get(mc_pool(run->machine), &p);

	if (ret != 0)
		return ret;
	if (op->set_ratelimit)
		p.ratelimit_us = op->ratelimit_us;
	if (op->set_tslice)
		p.tslice_ms = op->tslice_ms;
	if (op->set_migration_delay)
		p.migration_delay_us = op->migration_delay_us;
	return hv_sched_params_set(mc_pool(run->machine), &p);
}

static int set_rtds(struct lab_vm_run *v, const struct sc_op *op)
{
	int ret = 0;

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

static int pin(struct lab_vm_run *v, const struct sc_op *op)
{
	const struct scenario *s = v->run->s;
	struct hv_mask hard, soft;
	int ret = 0;

	if (op->set_hard)
		lab_mask_to_machine(s, &op->hard, &hard);
	if (op->set_soft)
		lab_mask_to_machine(s, &op->soft, &soft);
	for (unsigned i = 0; ret == 0 && i < v->mvm->nr_vcpus; i++) {
		if (op->vcpu >= 0 && (unsigned)op->vcpu != i)
			continue;
		ret = hv_affinity_set(v->mvm->vcpu[i]->hv, op->set_hard ? &hard : NULL,
				      op->set_soft ? &soft : NULL);
	}
	return ret;
}

static int destroy(struct lab_vm_run *v)
{
	guest_stop(v->guest);
	mc_vm_destroy(v->mvm);
	v->mvm = NULL;
	return 0;
}

static int do_vm(struct lab_vm_run *v, const struct sc_op *op)
{
	assert(v->mvm);
	switch (op->kind) {
	case SC_OP_SCHED_DOM:
		return set_domain(v, op);
	case SC_OP_SCHED_RTDS:
		return set_rtds(v, op);
	case SC_OP_VCPU_PIN:
		return pin(v, op);
	case SC_OP_VCPU_SET:
		guest_set_vcpus(v->guest, op->vcpus);
		return 0;
	case SC_OP_PAUSE:
		return hv_domain_pause(v->mvm->domain);
	case SC_OP_UNPAUSE:
		return hv_domain_unpause(v->mvm->domain);
	case SC_OP_DESTROY:
		return destroy(v);
	case SC_OP_OVERRUN:
		/* The hypervisor works on its behalf and looks at no request meanwhile. */
		mc_charge(v->mvm->vcpu[op->vcpu < 0 ? 0 : op->vcpu], op->time,
			  MC_CHARGE_HYPERVISOR);
		return 0;
	case SC_OP_SCHED_POOL:
	case SC_OP_FRAME:
		break;
	}
	return -HV_EINVAL;
}

static int do_op(struct lab_run *run, const struct sc_op *op)
{
	int ret = 0;

	if (op->kind == SC_OP_SCHED_POOL)
		return set_pool(run, op);
	if (op->kind == SC_OP_FRAME)
		return lab_set_frame(run, &op->frame);
	for (unsigned i = op->vm; ret == 0 && i < op->vm + op->n_vms; i++) {
		/* Not created yet, or destroyed: xl would say that there is no such domain. */
		if (!run->vm[i].mvm)
			return -HV_ESRCH;
		ret = do_vm(&run->vm[i], op);
	}
	return ret;
}

static void event_due(struct mc_timer *t)
{
	struct lab_event_run *e = t->data;
	const struct sc_event *event = e->event;

	assert(e->left > 0);
	for (unsigned i = 0; i < event->n_ops; i++) {
		int ret = do_op(e->run, &event->op[i]);

		if (ret == 0)
			continue;
		mc_fail(e->run->machine, MC_FAULT_LAW, "timeline, line %d: '%s' is refused: %s",
			event->op[i].line, event->op[i].text,
			ret == -HV_ESRCH    ? "no such VM at this time"
			: ret == -HV_EINVAL ? "invalid argument"
					    : "the hypervisor says no");
		return;
	}
	if (--e->left > 0)
		mc_timer_set(t, mc_now(e->run->machine) + event->every);
}

void lab_timeline_start(struct lab_run *run)
{
	assert(run->machine);
	for (unsigned i = 0; i < run->s->n_events; i++) {
		struct lab_event_run *e = &run->event[i];

		e->run = run;
		e->event = &run->s->event[i];
		e->left = e->event->count;
		mc_timer_init(&e->timer, run->machine, MC_TIMER_SAMPLE, i, event_due, e);
		if (e->left > 0)
			mc_timer_set(&e->timer, e->event->at);
	}
}
