/*
 * Two workloads in one guest: the arrays of both behind each other, indices moved.
 *
 * Law: nothing of a or b is changed; a's objects keep their indices. Channels keep their names, so
 * those of both must differ.
 */
#include <assert.h>
#include <string.h>

#include "scenario/workload.h"

static void *join(struct sc_parse *p, const void *a, uint32_t na, const void *b, uint32_t nb,
		  size_t size, uint32_t *n)
{
	char *both = sc_alloc(p->arena, (size_t)na + nb, size);

	if (na)
		memcpy(both, a, na * size);
	if (nb)
		memcpy(both + na * size, b, nb * size);
	*n = na + nb;
	return both;
}

#define JOIN(p, w, a, b, field, count)                                        \
	((w)->field = join(p, (a)->field, (a)->count, (b)->field, (b)->count, \
			   sizeof((w)->field[0]), &(w)->count))

/* How far an op's argument moves: by the number of a's objects of the kind it names. */
static uint32_t shift_of(const struct workload *a, enum op_kind kind)
{
	switch (kind) {
	case OP_COMPUTE:
		return a->n_backgrounds;
	case OP_LOCK:
	case OP_LOCK_SHARED:
	case OP_UNLOCK:
		return a->n_locks;
	case OP_IO:
		return a->n_devices;
	case OP_WAIT:
	case OP_TRY:
	case OP_SIGNAL:
		return a->n_semaphores;
	case OP_BARRIER:
		return a->n_barriers;
	case OP_SEND:
	case OP_RECV:
		return a->n_channels;
	case OP_FORK:
	case OP_JOIN:
		return a->n_pools;
	default:
		return 0;
	}
}

static void move_program(struct sc_parse *p, const struct workload *a, struct program *prog)
{
	struct op *op = sc_alloc(p->arena, prog->n_ops, sizeof(*op));

	if (prog->n_ops)
		memcpy(op, prog->op, prog->n_ops * sizeof(*op));
	for (uint32_t i = 0; i < prog->n_ops; i++) {
		if (op[i].arg >= 0)
			op[i].arg += (int32_t)shift_of(a, op[i].kind);
	}
	prog->op = op;
}

static bool fits(const struct workload *a, const struct workload *b)
{
	return a->n_programs + b->n_programs <= WORKLOAD_MAX &&
	       a->n_groups + b->n_groups <= WORKLOAD_MAX &&
	       a->n_classes + b->n_classes <= WORKLOAD_MAX &&
	       a->n_backgrounds + b->n_backgrounds <= WORKLOAD_MAX &&
	       a->n_locks + b->n_locks <= WORKLOAD_MAX &&
	       a->n_barriers + b->n_barriers <= WORKLOAD_MAX &&
	       a->n_semaphores + b->n_semaphores <= WORKLOAD_MAX &&
	       a->n_channels + b->n_channels <= WORKLOAD_MAX &&
	       a->n_pools + b->n_pools <= WORKLOAD_MAX &&
	       a->n_devices + b->n_devices <= WORKLOAD_MAX &&
	       a->n_params + b->n_params <= WORKLOAD_MAX;
}

static bool check(struct sc_parse *p, const struct sc_mark *mark, const struct workload *a,
		  const struct workload *b)
{
	if (b->metric.kind != METRIC_NONE && a->metric.kind != METRIC_NONE) {
		sc_error(p, mark,
			 "workloads '%s' and '%s' in one VM both measure something; expected one "
			 "of them to have no metric",
			 a->name, b->name);
		return false;
	}
	for (uint32_t i = 0; i < b->n_channels; i++) {
		if (!b->channel[i].vm && sc_workload_channel(a, b->channel[i].name)) {
			sc_error(p, mark,
				 "workloads '%s' and '%s' in one VM both have a channel '%s'",
				 a->name, b->name, b->channel[i].name);
			return false;
		}
	}
	if (!fits(a, b)) {
		sc_error(p, mark, "workloads '%s' and '%s' are too large for one VM", a->name,
			 b->name);
		return false;
	}
	return true;
}

const struct workload *sc_workload_merge(struct sc_parse *p, const struct sc_mark *mark,
					 const struct workload *a, const struct workload *b)
{
	struct workload *w;

	assert(a && b);
	if (!check(p, mark, a, b))
		return NULL;
	if (b->metric.kind != METRIC_NONE) {
		const struct workload *t = a;

		a = b;
		b = t;
	}
	w = sc_alloc(p->arena, 1, sizeof(*w));
	w->name = sc_format(p->arena, "%s+%s", a->name, b->name);
	w->text = sc_format(p->arena, "%s; %s", a->text, b->text);
	w->metric = a->metric;
	w->runs = a->runs;
	JOIN(p, w, a, b, param, n_params);
	JOIN(p, w, a, b, cls, n_classes);
	JOIN(p, w, a, b, background, n_backgrounds);
	JOIN(p, w, a, b, lock, n_locks);
	JOIN(p, w, a, b, barrier, n_barriers);
	JOIN(p, w, a, b, semaphore, n_semaphores);
	JOIN(p, w, a, b, channel, n_channels);
	JOIN(p, w, a, b, device, n_devices);
	JOIN(p, w, a, b, program, n_programs);
	for (uint32_t i = a->n_programs; i < w->n_programs; i++)
		move_program(p, a, &w->program[i]);
	JOIN(p, w, a, b, pool, n_pools);
	for (uint32_t i = a->n_pools; i < w->n_pools; i++) {
		w->pool[i].program += a->n_programs;
		w->pool[i].cls += a->n_classes;
	}
	JOIN(p, w, a, b, group, n_groups);
	for (uint32_t i = a->n_groups; i < w->n_groups; i++) {
		w->group[i].program += a->n_programs;
		w->group[i].cls += a->n_classes;
	}
	return w;
}
