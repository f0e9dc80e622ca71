/*
 * Real-time policies in a scenario: periods, budgets and extratime of vCPUs under rtds (rtds
 * section 2), the time table of arinc653 (arinc653 sections 2, 4).
 *
 * They may be given whatever the scheduler is, so that variants can change it; they count under
 * their own policy only.
 */
#include "scenario/realtime.h"

#include <assert.h>
#include <inttypes.h>

#define RTDS_PERIOD_US 10000 /* defaults of the policy */
#define RTDS_BUDGET_US 4000
#define RTDS_MIN_US    10
#define US	       INT64_C(1000)		    /* ns */
#define MAX_FRAME      (1000LL * 3600 * 1000000000) /* ns, 1000 h */

/* --- rtds ------------------------------------------------------------------------------------- */

static bool read_us(struct sc_parse *p, const struct sc_node *node, const char *key,
		    unsigned int *us)
{
	int64_t ns;

	if (!sc_read_quantity(p, node, key, SC_Q_DURATION, RTDS_MIN_US * US, UINT32_MAX * US, &ns))
		return false;
	if (ns % US) {
		sc_error(p, &node->mark, "%s: '%s' is no whole number of microseconds", key,
			 node->text);
		return false;
	}
	*us = (unsigned int)(ns / US);
	return true;
}

static void read_one(struct sc_parse *p, const struct sc_node *node, const char *key,
		     struct sc_rtds *r)
{
	assert(node && r);
	if (key[0] == 'p')
		read_us(p, node, key, &r->period_us);
	else if (key[0] == 'b')
		read_us(p, node, key, &r->budget_us);
	else
		sc_read_bool(p, node, key, &r->extratime);
}

/* One value for all, or a list: surplus ignored, missing ones keep the default (as `cpus`). */
static void read_each(struct sc_parse *p, const struct sc_node *node, const char *key,
		      struct sc_vm *vm)
{
	const struct sc_node *c;
	unsigned int i = 0;

	if (!node)
		return;
	if (node->kind != SC_LIST) {
		read_one(p, node, key, &vm->rtds[0]);
		for (i = 1; i < vm->maxvcpus; i++) {
			if (key[0] == 'p')
				vm->rtds[i].period_us = vm->rtds[0].period_us;
			else if (key[0] == 'b')
				vm->rtds[i].budget_us = vm->rtds[0].budget_us;
			else
				vm->rtds[i].extratime = vm->rtds[0].extratime;
		}
		return;
	}
	for (c = node->child; c && i < vm->maxvcpus; c = c->next)
		read_one(p, c, key, &vm->rtds[i++]);
	if (c)
		sc_warning(p, &c->mark, "%s: %u entries for %u vCPUs, the surplus is ignored", key,
			   node->n_children, vm->maxvcpus);
}

void sc_rtds_read(struct sc_fields *f, struct sc_vm *vm)
{
	const struct sc_node *period = sc_take(f, "period"), *budget = sc_take(f, "budget");
	const struct sc_node *extratime = sc_take(f, "extratime");
	unsigned int errors = f->p->diag->errors;

	assert(vm->maxvcpus > 0);
	if (!period && !budget && !extratime)
		return;
	vm->rtds = sc_alloc(f->p->arena, vm->maxvcpus, sizeof(*vm->rtds));
	for (unsigned int i = 0; i < vm->maxvcpus; i++)
		vm->rtds[i] = (struct sc_rtds){RTDS_PERIOD_US, RTDS_BUDGET_US, true};
	read_each(f->p, period, "period", vm);
	read_each(f->p, budget, "budget", vm);
	read_each(f->p, extratime, "extratime", vm);
	for (unsigned int i = 0; f->p->diag->errors == errors && i < vm->maxvcpus; i++) {
		const struct sc_rtds *r = &vm->rtds[i];

		if (r->budget_us > r->period_us)
			sc_error(f->p, budget ? &budget->mark : &period->mark,
				 "budget: vCPU %u has %u us in a period of %u us, expected at most "
				 "the period",
				 i, r->budget_us, r->period_us);
	}
}

/* --- arinc653 --------------------------------------------------------------------------------- */

const char *sc_frame_fault(struct sc_arena *arena, const struct sc_frame *frame)
{
	int64_t sum = 0;

	if (frame->n == 0 || frame->n > HV_MAX_WINDOWS)
		return sc_format(arena, "%u windows, expected 1..%d", frame->n, HV_MAX_WINDOWS);
	/* Every length is at most MAX_FRAME, so that the sum stays below 2^63. */
	for (unsigned int i = 0; i < frame->n; i++)
		sum += frame->window[i].runtime;
	if (sum > frame->major)
		return sc_format(arena,
				 "the windows take %" PRId64 " us, more than the major frame of "
				 "%" PRId64 " us",
				 sum / US, frame->major / US);
	return NULL;
}

static bool read_window(struct sc_parse *p, const struct sc_node *node, const struct scenario *s,
			struct sc_window *w)
{
	const struct sc_node *vm, *runtime;
	const char *name = NULL;
	struct sc_fields f;
	unsigned int n;
	bool ok;

	if (!sc_fields_open(&f, p, node, "a window"))
		return false;
	vm = sc_require(&f, "vm");
	ok = vm && sc_read_text(p, vm, "vm", &name);
	if (ok && !scenario_find(s, name, &w->vm, &n)) {
		sc_error(p, &vm->mark, "vm: no VM is named '%s'", name);
		ok = false;
	} else if (ok && n > 1) {
		sc_error(p, &vm->mark, "vm: '%s' is a group, name one of its VMs", name);
		ok = false;
	}
	sc_take_uint(&f, "vcpu", 0, ok ? s->vm[w->vm].maxvcpus - 1 : SC_MAX_VCPUS, &w->vcpu);
	runtime = sc_require(&f, "runtime");
	ok = ok && runtime &&
	     sc_read_quantity(p, runtime, "runtime", SC_Q_DURATION, 1, MAX_FRAME, &w->runtime);
	sc_fields_close(&f);
	return ok;
}

void sc_frame_read(struct sc_parse *p, const struct sc_node *node, struct scenario *s)
{
	unsigned int errors = p->diag->errors;
	const struct sc_node *windows;
	struct sc_fields f;
	const char *fault;

	if (!node || !sc_fields_open(&f, p, node, "arinc653"))
		return;
	if (sc_require(&f, "major"))
		sc_take_quantity(&f, "major", SC_Q_DURATION, 1, MAX_FRAME, &s->frame.major);
	windows = sc_require(&f, "windows");
	sc_fields_close(&f);
	if (!windows || !sc_read_list(p, windows, "windows"))
		return;
	s->frame.window = sc_alloc(p->arena, windows->n_children + 1, sizeof(*s->frame.window));
	for (const struct sc_node *c = windows->child; c; c = c->next)
		s->frame.n += read_window(p, c, s, &s->frame.window[s->frame.n]);
	if (p->diag->errors != errors)
		return;
	fault = sc_frame_fault(p->arena, &s->frame);
	if (fault)
		sc_error(p, &windows->mark, "arinc653: %s", fault);
}

static bool frame_has(const struct sc_frame *frame, unsigned int vm, unsigned int vcpu)
{
	for (unsigned int i = 0; i < frame->n; i++) {
		if (frame->window[i].vm == vm && frame->window[i].vcpu == vcpu)
			return true;
	}
	return false;
}

/* In the table, or in one that the timeline sets. */
static bool has_window(const struct scenario *s, unsigned int vm, unsigned int vcpu)
{
	if (frame_has(&s->frame, vm, vcpu))
		return true;
	for (unsigned int e = 0; e < s->n_events; e++) {
		for (unsigned int i = 0; i < s->event[e].n_ops; i++) {
			if (s->event[e].op[i].kind == SC_OP_FRAME &&
			    frame_has(&s->event[e].op[i].frame, vm, vcpu))
				return true;
		}
	}
	return false;
}

void sc_frame_check(struct sc_parse *p, const char *file, const struct scenario *s)
{
	struct sc_mark mark = {.file = file, .column = 1};

	if (s->xen.sched != SC_SCHED_ARINC653)
		return;
	for (unsigned int i = 0; i < s->n_vms; i++) {
		const struct sc_vm *vm = &s->vm[i];
		unsigned int missing = 0, first = 0;

		/* The control domain has windows of its own until a table is set. */
		if (vm->dom0 && s->frame.n == 0)
			continue;
		for (unsigned int k = vm->vcpus; k-- > 0;) {
			if (!has_window(s, i, k)) {
				missing++;
				first = k;
			}
		}
		mark.line = vm->line;
		if (missing == vm->vcpus)
			sc_warning(p, &mark,
				   "VM '%s' has no window in the arinc653 table: it never runs",
				   vm->name);
		else if (missing)
			sc_warning(p, &mark,
				   "vCPU %u of VM '%s' has no window in the arinc653 table: it "
				   "never runs",
				   first, vm->name);
	}
}

/* --- Printing --------------------------------------------------------------------------------- */

static unsigned int value_of(const struct sc_rtds *r, unsigned int which)
{
	return which == 0 ? r->period_us : which == 1 ? r->budget_us : r->extratime;
}

static void print_value(FILE *out, const struct sc_rtds *r, unsigned int which)
{
	char text[48];

	if (which == 2)
		fputs(r->extratime ? "on" : "off", out);
	else
		fputs(sc_quantity_format(SC_Q_DURATION, value_of(r, which) * US, text), out);
}

void sc_rtds_print(FILE *out, const struct sc_vm *vm)
{
	static const char *const keys[] = {"period", "budget", "extratime"};

	for (unsigned int which = 0; vm->rtds && which < 3; which++) {
		bool same = true;

		for (unsigned int i = 1; i < vm->maxvcpus; i++)
			same &= value_of(&vm->rtds[i], which) == value_of(&vm->rtds[0], which);
		fprintf(out, "    %s: %s", keys[which], same ? "" : "[");
		for (unsigned int i = 0; i < (same ? 1 : vm->maxvcpus); i++) {
			fputs(i ? ", " : "", out);
			print_value(out, &vm->rtds[i], which);
		}
		fputs(same ? "\n" : "]\n", out);
	}
}

void sc_frame_print(FILE *out, const struct scenario *s)
{
	char text[48];

	if (s->frame.n == 0)
		return;
	fprintf(out, "arinc653:\n  major: %s\n  windows:\n",
		sc_quantity_format(SC_Q_DURATION, s->frame.major, text));
	for (unsigned int i = 0; i < s->frame.n; i++) {
		const struct sc_window *w = &s->frame.window[i];

		fprintf(out, "    - {vm: %s, vcpu: %u, runtime: %s}\n", s->vm[w->vm].name, w->vcpu,
			sc_quantity_format(SC_Q_DURATION, w->runtime, text));
	}
}
