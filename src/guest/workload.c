/*
 * The laws of a workload (program.h), checked before anything runs.
 */
#include <string.h>

#include "guest/program.h"
#include <hvsched.h>

struct checker {
	const struct workload *w;
	struct workload_fault *fault;
};

const struct workload workload_idle = {
	.name = "idle",
	.text = "halted vCPUs, the kernel's residual timers only",
	.metric = {.kind = METRIC_NONE, .name = "none", .unit = ""},
};

static int broken(struct checker *c, const char *law, uint32_t program, uint32_t op)
{
	c->fault->law = law;
	c->fault->program = program;
	c->fault->op = op;
	return -HV_EINVAL;
}

static int broken_object(struct checker *c, const char *law)
{
	return broken(c, law, UINT32_MAX, UINT32_MAX);
}

static bool amount_ok(const struct amount *a)
{
	switch (a->kind) {
	case AMOUNT_CONST:
	case AMOUNT_EXP:
		return a->a >= 0;
	case AMOUNT_UNIFORM:
		return a->a >= 0 && a->b >= a->a;
	case AMOUNT_LOGNORMAL:
		return a->a >= 0 && a->b >= 0 && a->b <= 8 * PROGRAM_ONE;
	case AMOUNT_REGISTER:
		return a->a >= 0 && a->a < PROGRAM_REGS && a->b >= 1;
	}
	return false;
}

static bool takes_time(enum op_kind kind)
{
	switch (kind) {
	case OP_COMPUTE:
	case OP_SLEEP:
	case OP_IO:
	case OP_WAIT:
	case OP_BARRIER:
	case OP_SEND:
	case OP_RECV:
	case OP_JOIN:
	case OP_EXIT:
		return true;
	default:
		return false;
	}
}

static uint32_t objects_of(const struct workload *w, enum op_kind kind)
{
	switch (kind) {
	case OP_LOCK:
	case OP_LOCK_SHARED:
	case OP_UNLOCK:
		return w->n_locks;
	case OP_IO:
		return w->n_devices;
	case OP_WAIT:
	case OP_TRY:
	case OP_SIGNAL:
		return w->n_semaphores;
	case OP_BARRIER:
		return w->n_barriers;
	case OP_SEND:
	case OP_RECV:
		return w->n_channels;
	case OP_FORK:
	case OP_JOIN:
		return w->n_pools;
	default:
		return 0;
	}
}

static bool arg_ok(const struct workload *w, const struct op *op)
{
	switch (op->kind) {
	case OP_COMPUTE:
		return op->arg >= -1 && op->arg < (int64_t)w->n_backgrounds;
	case OP_CHANCE:
		return op->arg >= 0 && op->arg <= PROGRAM_ONE;
	case OP_LOCK_SHARED:
		return op->arg >= 0 && op->arg < (int64_t)w->n_locks &&
		       w->lock[op->arg].kind == LOCK_RW;
	case OP_LOCK:
	case OP_UNLOCK:
	case OP_IO:
	case OP_WAIT:
	case OP_TRY:
	case OP_SIGNAL:
	case OP_BARRIER:
	case OP_SEND:
	case OP_RECV:
	case OP_FORK:
	case OP_JOIN:
		return op->arg >= 0 && op->arg < (int64_t)objects_of(w, op->kind);
	default:
		return true;
	}
}

static bool is_spin(const struct workload *w, const struct op *op)
{
	return w->lock[op->arg].kind == LOCK_SPIN_GLOBAL;
}

/* Loops and branches nest, for-ever loops take time, nobody sleeps under a spin lock. */
static int check_structure(struct checker *c, uint32_t program)
{
	const struct program *p = &c->w->program[program];
	uint32_t stack[PROGRAM_MAX_NEST], depth = 0;
	bool timed[PROGRAM_MAX_NEST] = {false}, spin = false;

	for (uint32_t i = 0; i < p->n_ops; i++) {
		const struct op *op = &p->op[i];

		if (spin && takes_time(op->kind) && op->kind != OP_COMPUTE)
			return broken(c, "a task sleeps inside a spin lock", program, i);
		if (takes_time(op->kind))
			for (uint32_t k = 0; k < depth; k++)
				timed[k] = true;
		if (op->kind == OP_LOCK && is_spin(c->w, op)) {
			if (spin)
				return broken(c, "a spin lock inside a spin lock", program, i);
			spin = true;
		} else if (op->kind == OP_UNLOCK && is_spin(c->w, op)) {
			spin = false;
		} else if (op->kind == OP_LOOP || op->kind == OP_FOREVER) {
			if (depth == PROGRAM_MAX_NEST)
				return broken(c, "loops are nested too deeply", program, i);
			timed[depth] = false;
			stack[depth++] = i;
		} else if (op->kind == OP_END) {
			if (!depth)
				return broken(c, "an end without a loop", program, i);
			depth--;
			if (op->target != stack[depth] + 1 || p->op[stack[depth]].target != i + 1)
				return broken(c, "targets of a loop", program, i);
			if (p->op[stack[depth]].kind == OP_FOREVER && !timed[depth])
				return broken(c, "an endless loop without an op that takes time",
					      program, stack[depth]);
		} else if (op->kind == OP_CHANCE || op->kind == OP_TRY) {
			if (op->target <= i || op->target > p->n_ops)
				return broken(c, "target of a chance or try", program, i);
		}
	}
	if (depth)
		return broken(c, "a loop without an end", program, stack[depth - 1]);
	return spin ? broken(c, "a spin lock is never released", program, p->n_ops) : 0;
}

static int check_program(struct checker *c, uint32_t program)
{
	const struct program *p = &c->w->program[program];

	if (!p->name || p->n_ops > PROGRAM_MAX_OPS)
		return broken(c, "a program has a name and at most 4096 ops", program, 0);
	for (uint32_t i = 0; i < p->n_ops; i++) {
		const struct op *op = &p->op[i];

		if (op->kind < OP_COMPUTE || op->kind > OP_EXIT)
			return broken(c, "unknown op", program, i);
		if (!arg_ok(c->w, op))
			return broken(c, "object of an op", program, i);
		if (!amount_ok(&op->amount))
			return broken(c, "amount of an op", program, i);
		if (op->kind == OP_DRAW && op->reg >= PROGRAM_REGS)
			return broken(c, "register of a draw", program, i);
	}
	return check_structure(c, program);
}

static int check_kernel(struct checker *c)
{
	const struct workload *w = c->w;

	for (uint32_t i = 0; i < w->n_classes; i++) {
		const struct work_class *k = &w->cls[i];

		if (k->sigma <= 0 || k->sigma > PROGRAM_ONE || k->mu < 0 || k->mu > PROGRAM_ONE)
			return broken_object(c, "sigma in (0, 1] and mu in [0, 1] of a class");
		if (k->working_set < 0 || k->bandwidth < 0)
			return broken_object(c, "working set and bandwidth of a class");
	}
	for (uint32_t i = 0; i < w->n_backgrounds; i++) {
		const struct background *b = &w->background[i];

		if (b->lock_rate < 0 || b->lock_hold < 0 || b->partner_rate < 0 ||
		    b->shootdown_rate < 0 || b->fault_rate < 0 || b->fault_cost < 0)
			return broken_object(c, "rates of a background are not negative");
		if (b->lock_rate && b->lock_hold >= 1000000000LL / b->lock_rate)
			return broken_object(c, "a background holds its lock all the time");
		if (b->system_share < 0 || b->system_share > PROGRAM_ONE)
			return broken_object(c, "system share of a background");
		if (!amount_ok(&b->partner_work) || b->partner_work.kind == AMOUNT_REGISTER)
			return broken_object(c, "partner work of a background");
	}
	return 0;
}

static int check_objects(struct checker *c)
{
	const struct workload *w = c->w;

	for (uint32_t i = 0; i < w->n_locks; i++)
		if (!w->lock[i].count || w->lock[i].kind > LOCK_RW)
			return broken_object(c, "a lock has a kind and at least one stripe");
	for (uint32_t i = 0; i < w->n_barriers; i++)
		if (!w->barrier[i].parties || w->barrier[i].spin < 0)
			return broken_object(c, "a barrier has at least one party");
	for (uint32_t i = 0; i < w->n_channels; i++)
		if (!w->channel[i].vm && (!w->channel[i].slots || w->channel[i].poll < 0))
			return broken_object(c, "a channel has at least one slot");
	for (uint32_t i = 0; i < w->n_devices; i++)
		if (w->device[i].rate < 0 || !amount_ok(&w->device[i].latency))
			return broken_object(c, "latency and rate of a device");
	for (uint32_t i = 0; i < w->n_pools; i++) {
		const struct pool_desc *p = &w->pool[i];

		if (!p->jobs || p->jobs > WORKLOAD_JOBS || !p->directories || !p->tokens ||
		    p->directories > p->jobs)
			return broken_object(c, "a pool has tokens and a job for each directory");
		if (p->program >= w->n_programs || p->cls >= w->n_classes)
			return broken_object(c, "program and class of a pool");
	}
	for (uint32_t i = 0; i < w->n_groups; i++) {
		const struct task_group *g = &w->group[i];

		if (g->program >= w->n_programs || g->cls >= w->n_classes ||
		    g->count > WORKLOAD_TASKS)
			return broken_object(c, "program, class and count of a task group");
		if (!amount_ok(&g->start) || g->placement > PLACE_ONE)
			return broken_object(c, "start and placement of a task group");
	}
	return 0;
}

int workload_check(const struct workload *w, struct workload_fault *fault)
{
	struct checker c = {.w = w, .fault = fault};
	int err;

	if (!w->name || w->metric.kind > METRIC_RATE)
		return broken_object(&c, "a workload has a name and a metric");
	err = check_kernel(&c);
	if (!err)
		err = check_objects(&c);
	for (uint32_t i = 0; i < w->n_programs && !err; i++)
		err = check_program(&c, i);
	return err;
}
