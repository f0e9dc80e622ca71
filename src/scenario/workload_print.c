/*
 * A workload as YAML (docs/workloads.md), without parameters: what sc_workload_read() reads back
 * into an equal struct.
 */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "scenario/quantity.h"
#include "scenario/scenario.h"

#define PAD "      " /* everything stands below `workload:` of a VM */

static const char *amount(const struct amount *a, enum sc_quantity kind, char buf[128])
{
	char x[48], y[48];

	switch (a->kind) {
	case AMOUNT_CONST:
		return sc_quantity_format(kind, a->a, buf);
	case AMOUNT_UNIFORM:
		snprintf(buf, 128, "\"uniform(%s, %s)\"", sc_quantity_format(kind, a->a, x),
			 sc_quantity_format(kind, a->b, y));
		break;
	case AMOUNT_EXP:
		snprintf(buf, 128, "exp(%s)", sc_quantity_format(kind, a->a, x));
		break;
	case AMOUNT_LOGNORMAL:
		snprintf(buf, 128, "\"lognormal(%s, %s)\"", sc_quantity_format(kind, a->a, x),
			 sc_quantity_format(SC_Q_RATIO, a->b, y));
		break;
	case AMOUNT_REGISTER:
		snprintf(buf, 128, "r%" PRId64 "/%" PRId64, a->a, a->b);
		break;
	}
	return buf;
}

/*
 * The name of object i of an array whose structs start with their names. Merged workloads may have
 * a name twice: later ones get their index as well.
 */
static const char *name_in(const void *array, size_t size, uint32_t i, char buf[96])
{
	const char *name, *other;

	memcpy(&name, (const char *)array + i * size, sizeof(name));
	for (uint32_t k = 0; k < i; k++) {
		memcpy(&other, (const char *)array + k * size, sizeof(other));
		if (strcmp(name, other) == 0) {
			snprintf(buf, 96, "%s-%u", name, i);
			return buf;
		}
	}
	return name;
}

#define NAME(field, i, buf) name_in(w->field, sizeof(w->field[0]), (uint32_t)(i), buf)

static const char *plain(enum sc_quantity kind, int64_t value, char buf[48])
{
	return sc_quantity_format(kind, value, buf);
}

static void print_classes(FILE *out, const struct workload *w)
{
	char a[48], b[48], c[48], d[48], name[96];
	const char *head = PAD "classes:\n";

	for (uint32_t i = 0; i < w->n_classes; i++) {
		const struct work_class *k = &w->cls[i];

		/* The first one is there by itself. */
		if (i == 0)
			continue;
		fprintf(out,
			"%s" PAD "  %s: {sigma: %s, mu: %s, working_set: %s, bandwidth: %s, "
			"shared_set: %s}\n",
			head, NAME(cls, i, name), plain(SC_Q_RATIO, k->sigma, a),
			plain(SC_Q_RATIO, k->mu, b), plain(SC_Q_SIZE, k->working_set, c),
			plain(SC_Q_BANDWIDTH, k->bandwidth, d), k->shared_set ? "on" : "off");
		head = "";
	}
}

static void print_backgrounds(FILE *out, const struct workload *w)
{
	char a[48], b[128], c[48], d[48], name[96];
	const char *head = PAD "backgrounds:\n";

	for (uint32_t i = 0; i < w->n_backgrounds; i++) {
		const struct background *k = &w->background[i];

		fprintf(out,
			"%s" PAD "  %s: {lock_rate: %d/s, lock_hold: %s, partner_rate: %d/s, "
			"partner_work: %s, shootdown_rate: %d/s,\n" PAD
			"    fault_rate: %d/s, fault_cost: %s, system_share: %s}\n",
			head, NAME(background, i, name), k->lock_rate,
			plain(SC_Q_DURATION, k->lock_hold, a), k->partner_rate,
			amount(&k->partner_work, SC_Q_DURATION, b), k->shootdown_rate,
			k->fault_rate, plain(SC_Q_DURATION, k->fault_cost, c),
			plain(SC_Q_SHARE, k->system_share, d));
		head = "";
	}
}

static void print_locks(FILE *out, const struct workload *w)
{
	static const char *const lock_kinds[] = {"spin", "mutex", "futex", "rw"};
	static const char *const barrier_kinds[] = {"sleep", "spin"};
	char a[48], name[96];

	if (w->n_locks)
		fputs(PAD "locks:\n", out);
	for (uint32_t i = 0; i < w->n_locks; i++)
		fprintf(out, PAD "  %s: {kind: %s, count: %u}\n", NAME(lock, i, name),
			lock_kinds[w->lock[i].kind], w->lock[i].count);
	if (w->n_barriers)
		fputs(PAD "barriers:\n", out);
	for (uint32_t i = 0; i < w->n_barriers; i++) {
		const struct barrier_desc *b = &w->barrier[i];

		fprintf(out, PAD "  %s: {parties: %u, kind: %s", NAME(barrier, i, name), b->parties,
			barrier_kinds[b->kind]);
		if (b->kind == BARRIER_SPIN)
			fprintf(out, ", spin: %s", plain(SC_Q_DURATION, b->spin, a));
		fputs("}\n", out);
	}
	if (w->n_semaphores)
		fputs(PAD "semaphores:\n", out);
	for (uint32_t i = 0; i < w->n_semaphores; i++)
		fprintf(out, PAD "  %s: {initial: %u}\n", NAME(semaphore, i, name),
			w->semaphore[i].initial);
}

/* Channels keep their names: other VMs know them by name. */
static void print_channels(FILE *out, const struct workload *w)
{
	char a[128], b[48], name[96];

	if (w->n_channels)
		fputs(PAD "channels:\n", out);
	for (uint32_t i = 0; i < w->n_channels; i++) {
		if (w->channel[i].vm)
			fprintf(out, PAD "  %s: {vm: %s}\n", w->channel[i].name, w->channel[i].vm);
		else
			fprintf(out, PAD "  %s: {slots: %u, poll: %s}\n", w->channel[i].name,
				w->channel[i].slots, plain(SC_Q_DURATION, w->channel[i].poll, b));
	}
	if (w->n_devices)
		fputs(PAD "devices:\n", out);
	for (uint32_t i = 0; i < w->n_devices; i++) {
		const struct device_desc *d = &w->device[i];

		fprintf(out, PAD "  %s: {latency: %s, slots: %u", NAME(device, i, name),
			amount(&d->latency, SC_Q_DURATION, a), d->slots);
		if (d->rate)
			fprintf(out, ", rate: %s", plain(SC_Q_BANDWIDTH, d->rate, b));
		fputs("}\n", out);
	}
}

static void print_pools(FILE *out, const struct workload *w)
{
	char name[96], program[96], cls[96];

	if (w->n_pools)
		fputs(PAD "pools:\n", out);
	for (uint32_t i = 0; i < w->n_pools; i++) {
		const struct pool_desc *p = &w->pool[i];

		fprintf(out,
			PAD
			"  %s: {jobs: %u, directories: %u, tokens: %u, program: %s, class: %s}\n",
			NAME(pool, i, name), p->jobs, p->directories, p->tokens,
			NAME(program, p->program, program), NAME(cls, p->cls, cls));
	}
}

/* An amount whose kind the program has forgotten (draw, count): a plain number is its base unit. */
static void print_typed(FILE *out, const struct op *op)
{
	char buf[128];

	fprintf(out, "count: %s}", amount(&op->amount, SC_Q_COUNT, buf));
}

/* Ops that name an object. */
static bool print_named(FILE *out, const struct workload *w, const struct op *op)
{
	char name[96];

	switch (op->kind) {
	case OP_LOCK:
		fprintf(out, "lock: %s", NAME(lock, op->arg, name));
		return true;
	case OP_LOCK_SHARED:
		fprintf(out, "lock_shared: %s", NAME(lock, op->arg, name));
		return true;
	case OP_UNLOCK:
		fprintf(out, "unlock: %s", NAME(lock, op->arg, name));
		return true;
	case OP_WAIT:
		fprintf(out, "wait: %s", NAME(semaphore, op->arg, name));
		return true;
	case OP_BARRIER:
		fprintf(out, "barrier: %s", NAME(barrier, op->arg, name));
		return true;
	case OP_SEND:
		fprintf(out, "send: %s", NAME(channel, op->arg, name));
		return true;
	case OP_RECV:
		fprintf(out, "recv: %s", NAME(channel, op->arg, name));
		return true;
	case OP_FORK:
		fprintf(out, "fork: %s", NAME(pool, op->arg, name));
		return true;
	case OP_JOIN:
		fprintf(out, "join: %s", NAME(pool, op->arg, name));
		return true;
	default:
		return false;
	}
}

static void print_op(FILE *out, const struct workload *w, const struct op *op)
{
	char a[128], name[96];

	if (print_named(out, w, op))
		return;
	switch (op->kind) {
	case OP_COMPUTE:
		fprintf(out, "compute: {work: %s", amount(&op->amount, SC_Q_DURATION, a));
		if (op->arg >= 0)
			fprintf(out, ", background: %s", NAME(background, op->arg, name));
		fputc('}', out);
		break;
	case OP_SLEEP:
		fprintf(out, "sleep: %s", amount(&op->amount, SC_Q_DURATION, a));
		break;
	case OP_IO:
		fprintf(out, "io: {device: %s, bytes: %s}", NAME(device, op->arg, name),
			amount(&op->amount, SC_Q_SIZE, a));
		break;
	case OP_SIGNAL:
		fprintf(out, "signal: {semaphore: %s, count: %s}", NAME(semaphore, op->arg, name),
			amount(&op->amount, SC_Q_COUNT, a));
		break;
	case OP_CLOCK:
		fprintf(out, "clock: %s", amount(&op->amount, SC_Q_COUNT, a));
		break;
	case OP_DRAW:
		fprintf(out, "draw: {to: r%u, ", op->reg);
		print_typed(out, op);
		break;
	case OP_COUNT:
		fputs("count: {", out);
		print_typed(out, op);
		break;
	default:
		fputs(op->kind == OP_SHOOTDOWN ? "shootdown"
		      : op->kind == OP_DONE    ? "done"
					       : "exit",
		      out);
	}
}

static void pad(FILE *out, unsigned int depth)
{
	fprintf(out, PAD "    %*s", 6 * (int)depth, "");
}

/* The head of a loop or chance, up to its list. */
static void print_head(FILE *out, const struct workload *w, const struct op *op, unsigned int depth)
{
	int column = 14 + 6 * (int)depth;
	char a[128], b[96];

	if (op->kind == OP_FOREVER) {
		fputs("- forever:", out);
		return;
	}
	if (op->kind == OP_LOOP)
		fprintf(out, "- loop:\n%*stimes: %s\n", column, "",
			amount(&op->amount, SC_Q_COUNT, a));
	else if (op->kind == OP_TRY)
		fprintf(out, "- try:\n%*ssemaphore: %s\n", column, "", NAME(semaphore, op->arg, b));
	else
		fprintf(out, "- chance:\n%*sp: %s\n", column, "", plain(SC_Q_SHARE, op->arg, b));
	fprintf(out, "%*s%s:", column, "", op->kind == OP_TRY ? "else" : "do");
}

static void print_ops(FILE *out, const struct workload *w, const struct program *prog)
{
	uint32_t close_at[PROGRAM_MAX_NEST];
	unsigned int depth = 0;

	for (uint32_t i = 0; i < prog->n_ops; i++) {
		const struct op *op = &prog->op[i];
		bool nests = op->kind == OP_LOOP || op->kind == OP_FOREVER ||
			     op->kind == OP_CHANCE || op->kind == OP_TRY;

		while (depth && close_at[depth - 1] <= i)
			depth--;
		if (op->kind == OP_END)
			continue;
		pad(out, depth);
		if (!nests) {
			fputs("- ", out);
			print_op(out, w, op);
			fputc('\n', out);
			continue;
		}
		print_head(out, w, op, depth);
		/* An empty body: the next op is the end already, or behind it. */
		if (op->target <= i + 1 ||
		    (i + 1 < prog->n_ops && op->target == i + 2 && prog->op[i + 1].kind == OP_END))
			fputs(" []", out);
		fputc('\n', out);
		assert(depth < PROGRAM_MAX_NEST);
		close_at[depth++] = op->target;
	}
}

static void print_tasks(FILE *out, const struct workload *w)
{
	static const char *const places[] = {"any", "each", "one"};
	char a[128], name[96], program[96], cls[96];

	fprintf(out, PAD "tasks:%s\n", w->n_groups ? "" : " {}");
	for (uint32_t i = 0; i < w->n_groups; i++) {
		const struct task_group *g = &w->group[i];

		fprintf(out, PAD "  %s: {program: %s, class: %s, count: %u, place: %s",
			NAME(group, i, name), NAME(program, g->program, program),
			NAME(cls, g->cls, cls), g->count, places[g->placement]);
		if (g->placement != PLACE_ANY)
			fprintf(out, ", vcpu: %u", g->vcpu);
		fprintf(out, ", start: %s}\n", amount(&g->start, SC_Q_DURATION, a));
	}
}

void sc_workload_print(FILE *out, const struct workload *w)
{
	static const char *const metrics[] = {"none", "elapsed", "rate"};
	char name[96];

	assert(out && w);
	fputs(PAD "name: ", out);
	sc_print_scalar(out, w->name);
	fputc('\n', out);
	print_classes(out, w);
	print_backgrounds(out, w);
	print_locks(out, w);
	print_channels(out, w);
	print_pools(out, w);
	fprintf(out, PAD "programs:%s\n", w->n_programs ? "" : " {}");
	for (uint32_t i = 0; i < w->n_programs; i++) {
		fprintf(out, PAD "  %s:%s\n", NAME(program, i, name),
			w->program[i].n_ops ? "" : " []");
		print_ops(out, w, &w->program[i]);
	}
	print_tasks(out, w);
	fprintf(out, PAD "metric: {kind: %s, name: ", metrics[w->metric.kind]);
	sc_print_scalar(out, w->metric.name);
	if (*w->metric.unit) {
		fputs(", unit: ", out);
		sc_print_scalar(out, w->metric.unit);
	}
	fprintf(out, "}\n" PAD "runs: %u\n", w->runs);
}
