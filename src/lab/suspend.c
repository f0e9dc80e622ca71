/*
 * The host goes to sleep and wakes (core-scheduling section 4.5).
 *
 * Virtual time goes on meanwhile, as the clock on the wall does: what VMs wait for comes late. The
 * operator sits in domain 0, which sleeps with the others: until the host wakes nobody commands it.
 *
 * Law: pools are not touched but where pCPUs do not return.
 */
#include <assert.h>

#include "lab/run.h"

int lab_suspend(struct lab_run *run, struct lab_task *task)
{
	struct hv_sys *sys = mc_sys(run->machine);
	int ret = hv_suspend(sys);

	assert(!run->suspended);
	if (ret == -HV_EAGAIN) {
		if (mc_now(run->machine) - task->since < LAB_GIVE_UP)
			return ret;
		(void)hv_resume(sys, NULL); /* calls it off */
		return lab_refuse(run, -HV_EBUSY,
				  "a vCPU does not leave its pCPU; the host goes on");
	}
	if (ret == -HV_EBUSY)
		return lab_refuse(run, ret, "busy: a removal is unfinished");
	run->suspended = ret == 0;
	return ret;
}

int lab_resume(struct lab_run *run, const struct sc_op *op)
{
	const struct scenario *s = run->s;
	struct hv_mask lost, back;
	int ret;

	if (!run->suspended)
		return lab_refuse(run, -HV_EINVAL, "the host is not suspended");
	lab_mask_to_machine(s, &op->cpus, &lost);
	hv_mask_andnot(&back, hv_online_mask(mc_sys(run->machine)), &lost, SC_NW);
	if (!hv_mask_test(&back, 0))
		return lab_refuse(run, -HV_EINVAL,
				  "pCPU %u is the first one, which resumes the others: it returns "
				  "always",
				  s->topo.cpu[0].id);
	ret = hv_resume(mc_sys(run->machine), &back);
	if (ret == -HV_EINVAL)
		return lab_refuse(run, ret,
				  "Pool-0 would have no pCPU for its VMs: a core or socket returns "
				  "as a whole");
	run->suspended = ret != 0;
	return ret;
}
