/*
 * Commands on affinity: vcpu-pin, and a guest's pin_override (core-scheduling sections 3.6, 7.1).
 *
 * A mask may name pCPUs that the VM cannot reach, because they are of another pool or, with core
 * or socket granularity, because the first pCPU of their core or socket is not in the mask. As with
 * xl that is no error as long as one remains; it is said.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "lab/run.h"

static unsigned user_id(const struct lab_run *run, unsigned pcpu)
{
	return run->s->topo.cpu[pcpu].id;
}

static const char *pool_of(const struct lab_vm_run *v)
{
	return lab_pool_name(v->run, v->mvm->domain->pool->id);
}

/* The pCPUs of a list that the VM never gets to. */
static struct hv_mask out_of_reach(const struct lab_vm_run *v, const struct hv_vcpu *vcpu,
				   const struct hv_mask *asked)
{
	struct hv_sys *sys = mc_sys(v->run->machine);
	struct hv_mask hard = {{0}}, soft = {{0}}, left = *asked;

	hv_affinity_effective(vcpu, &hard, &soft);
	hv_mask_for_each(c, &hard, SC_NW)
		hv_mask_andnot(&left, &left, &hv_resource_of(sys, c)->pcpus, SC_NW);
	return left;
}

/* What an operator should know about masks that were set, told once for all vCPUs. */
static void tell_effect(const struct lab_vm_run *v, const struct sc_op *op,
			const struct hv_vcpu *vcpu, const struct hv_mask *hard, bool soft_is_vain)
{
	const char *whole = v->mvm->domain->pool->g > 1
				    ? ", or the first ones of their core or socket are not listed"
				    : "";
	struct hv_mask lost, user;
	char text[512];

	if (op->set_hard) {
		lost = out_of_reach(v, vcpu, hard);
		lab_mask_to_user(v->run->s, &lost, &user);
		if (!hv_mask_empty(&lost, SC_NW))
			lab_tell(
				v->run,
				"note: VM '%s' cannot get to pCPUs %s: they are not in pool '%s'%s",
				v->vm->name, sc_mask_format(&user, text, sizeof(text)), pool_of(v),
				whole);
	}
	if (soft_is_vain)
		lab_tell(v->run,
			 "warning: VM '%s' can reach no pCPU of its soft affinity, which has no "
			 "effect",
			 v->vm->name);
}

static int refuse_pin(const struct lab_vm_run *v, unsigned vcpu, int error)
{
	const struct hv_unit *u = v->mvm->vcpu[vcpu]->hv->unit;

	if (error == -HV_EINVAL)
		return lab_refuse(
			v->run, error, "none of these pCPUs is in pool '%s', where VM '%s' is%s",
			pool_of(v), v->vm->name,
			u->domain->pool->g > 1 ? ", as the first one of its core or socket" : "");
	if (error == -HV_EBUSY)
		return lab_refuse(v->run, error,
				  "vCPU %u of VM '%s' is pinned to pCPU %u by its guest at the "
				  "moment ('-f' ends that)",
				  vcpu, v->vm->name,
				  user_id(v->run, hv_mask_first(&u->hard, SC_NW)));
	return error;
}

int lab_pin(struct lab_vm_run *v, const struct sc_op *op)
{
	const struct hv_vcpu *last = NULL;
	struct hv_mask hard = {{0}}, soft = {{0}}, reached = {{0}}, preferred = {{0}};
	bool vain = false;

	if (op->set_hard)
		lab_mask_to_machine(v->run->s, &op->hard, &hard);
	if (op->set_soft)
		lab_mask_to_machine(v->run->s, &op->soft, &soft);
	for (unsigned i = 0; i < v->mvm->nr_vcpus; i++) {
		struct hv_vcpu *vcpu = v->mvm->vcpu[i]->hv;
		int ret;

		if (op->vcpu >= 0 && (unsigned)op->vcpu != i)
			continue;
		ret = (op->force ? hv_affinity_force : hv_affinity_set)(
			vcpu, op->set_hard ? &hard : NULL, op->set_soft ? &soft : NULL);
		if (ret != 0)
			return refuse_pin(v, i, ret);
		hv_affinity_effective(vcpu, &reached, &preferred);
		vain |= hv_mask_empty(&preferred, SC_NW);
		last = vcpu;
	}
	if (last)
		tell_effect(v, op, last, &hard, vain);
	return 0;
}

int lab_override(struct lab_vm_run *v, const struct sc_op *op)
{
	struct hv_vcpu *vcpu;
	struct hv_mask m;
	unsigned pcpu;
	int ret;

	assert(op->vcpu >= 0 && (unsigned)op->vcpu < v->mvm->nr_vcpus);
	vcpu = v->mvm->vcpu[op->vcpu]->hv;
	lab_mask_to_machine(v->run->s, &op->cpus, &m);
	pcpu = hv_mask_first(&m, SC_NW);
	ret = hv_vcpu_pin(vcpu, pcpu, HV_PIN_OVERRIDE);
	if (ret == -HV_EINVAL && pcpu == HV_NO_PCPU)
		return lab_refuse(v->run, ret, "vCPU %d of VM '%s' has no override", op->vcpu,
				  v->vm->name);
	if (ret == -HV_EINVAL)
		return lab_refuse(v->run, ret, "pCPU %u is not in pool '%s'%s",
				  user_id(v->run, pcpu), pool_of(v),
				  vcpu->unit->domain->pool->g > 1
					  ? " as the first one of its core or socket"
					  : "");
	if (ret == -HV_EBUSY)
		return lab_refuse(v->run, ret,
				  "vCPU %d of VM '%s' has an override already, or one that is "
				  "scheduled with it is pinned elsewhere",
				  op->vcpu, v->vm->name);
	return ret;
}
