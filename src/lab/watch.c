/*
 * What the lab watches beside the observer: laws of placement and the state that only a policy
 * knows. It reads; it never changes what happens.
 */
#include <assert.h>
#include <string.h>

#include "lab/run.h"

bool lab_unit_value(const struct hv_unit *u, const char *name, int64_t *value)
{
	struct hv_state state = {0};

	assert(u && !u->idle);
	hv_unit_state(u, &state);
	for (unsigned i = 0; i < state.nr; i++) {
		if (strcmp(state.v[i].name, name) == 0) {
			*value = state.v[i].value;
			return true;
		}
	}
	return false;
}

static struct lab_vm_run *vm_of(struct lab_run *run, const struct hv_unit *u)
{
	unsigned first = run->s->vm[0].dom0 ? 0 : 1;

	assert(u->domain->id >= (int)first);
	return &run->vm[(unsigned)u->domain->id - first];
}

/* A unit leaves its pCPU: its run time has just been accounted. */
static void watch_credit(struct lab_run *run, const struct hv_unit *u)
{
	int64_t *lowest = &vm_of(run, u)->credit_min[u->id];
	int64_t credit;

	if (lab_unit_value(u, "credit", &credit) && credit < *lowest)
		*lowest = credit;
}

void lab_watch(void *ctx, const struct hv_trace *ev)
{
	struct lab_run *run = ctx;

	if (ev->kind != HV_TRACE_SWITCH)
		return;
	if (!ev->prev->idle)
		watch_credit(run, ev->prev);
	if (!ev->unit->idle && !hv_mask_test(&ev->unit->hard, ev->pcpu))
		vm_of(run, ev->unit)->outside_affinity++;
}

void lab_watch_reset(struct lab_run *run)
{
	for (unsigned i = 0; i < run->s->n_vms; i++) {
		run->vm[i].outside_affinity = 0;
		for (unsigned k = 0; k < run->s->vm[i].maxvcpus; k++)
			run->vm[i].credit_min[k] = INT64_MAX;
	}
}
