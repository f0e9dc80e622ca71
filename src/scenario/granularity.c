/*
 * What scheduling granularity means for the VMs of a scenario: which one is in effect, and which
 * VMs do not fill their units.
 *
 * Law: a unit has as many vCPUs as a resource has pCPUs, and what the last unit of a VM lacks is a
 * pCPU that nobody can use while that unit runs (core-scheduling sections 2.1 and 6.1).
 */
#include "scenario/granularity.h"

#include <assert.h>

/* Online pCPUs of each core or socket: the same for all that have one, else 0. */
static unsigned int equal_size(const struct sc_topology *t, bool socket)
{
	unsigned int size = 0;

	for (unsigned int i = 0; i < t->n_cpus; i++) {
		unsigned int n = 0;

		if (!t->cpu[i].online)
			continue;
		for (unsigned int k = 0; k < t->n_cpus; k++)
			n += t->cpu[k].online && (socket ? t->cpu[k].socket == t->cpu[i].socket
							 : t->cpu[k].core == t->cpu[i].core);
		if (size && n != size)
			return 0;
		size = n;
	}
	return size;
}

unsigned int sc_gran_size(const struct scenario *s, enum hv_gran *effective)
{
	enum hv_gran gran = s->xen.gran;
	unsigned int size = 1;

	assert(gran <= HV_GRAN_SOCKET);
	while (gran != HV_GRAN_CPU) {
		size = equal_size(&s->topo, gran == HV_GRAN_SOCKET);
		if (size)
			break;
		gran--;
	}
	*effective = gran;
	assert(gran == HV_GRAN_CPU || size >= 1);
	return gran == HV_GRAN_CPU ? 1 : size;
}

/* vCPUs of a unit in pools of each granularity; 0: the host has no resources of that. */
static void unit_sizes(const struct scenario *s, unsigned int size[3])
{
	size[HV_GRAN_CPU] = 1;
	size[HV_GRAN_CORE] = equal_size(&s->topo, false);
	size[HV_GRAN_SOCKET] = equal_size(&s->topo, true);
}

void sc_gran_check(struct sc_parse *p, const struct sc_mark *cmdline, const struct scenario *s)
{
	struct sc_mark mark = {.file = cmdline->file, .column = 1};
	unsigned int sizes[3];
	enum hv_gran gran;

	sc_gran_size(s, &gran);
	unit_sizes(s, sizes);
	if (gran != s->xen.gran)
		sc_warning(p, cmdline,
			   "sched-gran=%s: not all have the same number of pCPUs, sched-gran=%s is "
			   "used, as Xen does",
			   sc_gran_name(s->xen.gran), sc_gran_name(gran));
	for (unsigned int i = 0; i < s->n_vms; i++) {
		const struct sc_vm *vm = &s->vm[i];
		enum hv_gran own = s->pool[vm->pool].gran;
		unsigned int size = sizes[own];
		unsigned int in_last = size ? vm->vcpus % size : 0;

		if (!in_last || vm->dom0 || vm->index > 0)
			continue;
		mark.line = vm->line;
		sc_warning(
			p, &mark,
			"VM '%s' has %u vCPU%s: under sched-gran=%s its last unit leaves %u of %u "
			"pCPUs idle while it runs; %u vCPUs would use them",
			vm->group, vm->vcpus, vm->vcpus == 1 ? "" : "s", sc_gran_name(own),
			size - in_last, size, vm->vcpus - in_last + size);
	}
}
