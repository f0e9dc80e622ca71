/*
 * The effective configuration as text. It is YAML that can be read again: defaults and preset are
 * resolved into plain values, so the copy does not depend on this version of the program.
 */
#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "scenario/fields.h"
#include "scenario/host.h"
#include "scenario/pools.h"
#include "scenario/realtime.h"
#include "scenario/scenario.h"

char *sc_mask_format(const struct hv_mask *m, char *buf, size_t size)
{
	size_t used = 0;
	unsigned int c = hv_mask_first(m, SC_NW), end;

	assert(buf && size >= 8);
	buf[0] = 0;
	while (c != HV_NO_PCPU) {
		char item[32];
		int len;

		for (end = c; end + 1 < SC_MAX_CPUS && hv_mask_test(m, end + 1); end++)
			;
		if (end > c)
			len = snprintf(item, sizeof(item), "%s%u-%u", used ? "," : "", c, end);
		else
			len = snprintf(item, sizeof(item), "%s%u", used ? "," : "", c);
		if (used + (size_t)len + 4 > size) {
			memcpy(buf + used, "...", 4);
			break;
		}
		memcpy(buf + used, item, (size_t)len + 1);
		used += (size_t)len;
		c = hv_mask_next(m, end + 1, SC_NW);
	}
	return buf;
}

void sc_print_scalar(FILE *out, const char *text)
{
	assert(out && text);
	if (isalnum((unsigned char)*text) && strcmp(text, "null") != 0 &&
	    strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			 "0123456789./%_-()") == strlen(text)) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else if ((unsigned char)*text < ' ' || *text == 127)
			fprintf(out, "\\x%02x", (unsigned char)*text);
		else
			fputc(*text, out);
	}
	fputc('"', out);
}

/* "key: text" */
static void print_text(FILE *out, const char *key, const char *text)
{
	fprintf(out, "%s: ", key);
	sc_print_scalar(out, text);
	fputc('\n', out);
}

static const char *quantity(enum sc_quantity kind, int64_t value, char buf[48])
{
	return sc_quantity_format(kind, value, buf);
}

/* --- Host ------------------------------------------------------------------------------------- */

static void print_table(FILE *out, const struct sc_param *table, const struct sc_hw *hw)
{
	char buf[48];

	for (; table->key; table++)
		fprintf(out, "    %s: %s # %s\n", table->key,
			quantity(table->kind, sc_param_value(hw, table), buf), table->meaning);
}

static void print_lists(FILE *out, const struct sc_hw *hw)
{
	char a[48], b[48];

	fputs("    cstates:\n", out);
	for (unsigned int i = 0; i < hw->n_cstates; i++)
		fprintf(out, "      - {name: %s, exit: %s, residency: %s}\n", hw->cstate[i].name,
			quantity(SC_Q_DURATION, hw->cstate[i].exit_ns, a),
			quantity(SC_Q_DURATION, hw->cstate[i].residency_ns, b));
	if (hw->n_cstates)
		fprintf(out, "    cstate_cap: %s\n", hw->cstate[hw->cstate_cap].name);
	fputs("    turbo: [", out);
	for (unsigned int i = 0; i < hw->n_turbo; i++)
		fprintf(out, "%s%s", i ? ", " : "", quantity(SC_Q_RATIO, hw->turbo[i], a));
	fputs("]\n    curve: [", out);
	for (unsigned int i = 0; i < hw->n_curve; i++)
		fprintf(out, "%s[%s, %s]", i ? ", " : "", quantity(SC_Q_RATIO, hw->curve_rho[i], a),
			quantity(SC_Q_RATIO, hw->curve_stretch[i], b));
	fputs("]\n", out);
}

static void print_host(FILE *out, const struct scenario *s)
{
	const struct sc_topology *t = &s->topo;
	char mask[256];

	fputs("host:\n", out);
	fprintf(out, "  # preset %s; %u pCPUs (%u online: %s), %u sockets, %u cores, %u nodes\n",
		s->preset ? s->preset : "generic", t->n_cpus, t->n_online,
		sc_mask_format(&t->online, mask, sizeof(mask)), t->n_sockets, t->n_cores,
		t->n_nodes);
	print_text(out, "  topology", t->name);
	fputs("  hypervisor: xen\n", out);
	if (*s->xen.cmdline)
		print_text(out, "  cmdline", s->xen.cmdline);
	if (!hv_mask_subset(&t->present, &s->cpumask, SC_NW))
		fprintf(out, "  cpumask: \"%s\"\n",
			sc_mask_format(&s->cpumask, mask, sizeof(mask)));
	fputs("  params:\n", out);
	print_table(out, sc_hw_params, &s->hw);
	fprintf(out, "    ibpb: %s\n    l1d: \"%s\"\n", s->hw.ibpb ? "on" : "off",
		sc_l1d_words[s->hw.l1d]);
	print_lists(out, &s->hw);
	fputs("  costs:\n", out);
	print_table(out, sc_hw_costs, &s->hw);
}

static void print_xen(FILE *out, const struct sc_xen *xen)
{
	fprintf(out, "# Xen: sched=%s", sc_sched_name(xen->sched));
	if (xen->sched == SC_SCHED_CREDIT2)
		fprintf(out,
			" credit2_runqueue=%s sched_credit2_max_cpus_runqueue=%u"
			" sched_credit2_migrate_resist=%u\n"
			"#      credit2_load_precision_shift=%u credit2_load_window_shift=%u"
			" credit2_balance_under=%d\n"
			"#      credit2_balance_over=%d credit2_cap_period_ms=%u",
			sc_runqueue_name(xen->runqueue), xen->max_cpus_runqueue,
			xen->migrate_resist_us, xen->load_precision_shift, xen->load_window_shift,
			xen->balance_under, xen->balance_over, xen->cap_period_ms);
	if (xen->sched == SC_SCHED_CREDIT)
		fprintf(out,
			" sched_credit_tslice_ms=%u vcpu_migration_delay=%u"
			" load-balance-ratelimit=%u\n"
			"#      tickle_one_idle_cpu=%d credit_tickle=%s",
			xen->tslice_ms, xen->migration_delay_us, xen->balance_ratelimit_us,
			xen->tickle_one_idle_cpu, sc_tickle_name(xen->tickle));
	fprintf(out,
		" sched-gran=%s sched_ratelimit_us=%u\n#      sched_smt_power_savings=%d smt=%d",
		sc_gran_name(xen->gran), xen->ratelimit_us, xen->smt_power_savings, xen->smt);
	if (xen->maxcpus)
		fprintf(out, " maxcpus=%u", xen->maxcpus);
	fprintf(out, " dom0_vcpus_pin=%d\n", xen->dom0_vcpus_pin);
}

/* --- VMs -------------------------------------------------------------------------------------- */

static bool same_masks(const struct hv_mask *m, unsigned int n)
{
	for (unsigned int i = 1; i < n; i++) {
		if (!hv_mask_equal(&m[i], &m[0], SC_NW))
			return false;
	}
	return true;
}

static void print_mask_list(FILE *out, const struct hv_mask *m, unsigned int n)
{
	char text[4096];

	fputc('[', out);
	for (unsigned int i = 0; i < n; i++)
		fprintf(out, "%s\"%s\"", i ? ", " : "", sc_mask_format(&m[i], text, sizeof(text)));
	fputc(']', out);
}

static const struct hv_mask *masks_of(const struct sc_vm *vm, bool hard)
{
	return hard ? vm->hard : vm->soft;
}

/* Of the n VMs of a group: one for all, a list by vCPU, or a list of those, by VM. */
static void print_masks(FILE *out, const char *key, const struct sc_vm *vm, unsigned int n,
			bool hard)
{
	size_t size = vm->maxvcpus * sizeof(struct hv_mask);
	const struct hv_mask *m = masks_of(vm, hard);
	bool given = false, same = true;
	char text[4096];

	for (unsigned int i = 0; i < n; i++) {
		given |= hard ? vm[i].has_hard : vm[i].has_soft;
		same &= memcmp(masks_of(&vm[i], hard), m, size) == 0;
	}
	if (!given)
		return;
	fprintf(out, "    %s: ", key);
	if (same && same_masks(m, vm->maxvcpus)) {
		fprintf(out, "\"%s\"", sc_mask_format(&m[0], text, sizeof(text)));
	} else if (same) {
		print_mask_list(out, m, vm->maxvcpus);
	} else {
		for (unsigned int i = 0; i < n; i++) {
			fputs(i ? ", " : "[", out);
			print_mask_list(out, masks_of(&vm[i], hard), vm->maxvcpus);
		}
		fputc(']', out);
	}
	fputc('\n', out);
}

static void print_placement(FILE *out, const struct scenario *s, const struct sc_vm *vm,
			    unsigned int n)
{
	const char *comma = "";
	char buf[48];

	for (unsigned int i = 1; i < n; i++) {
		if (memcmp(vm[i].node_share, vm->node_share, sizeof(vm->node_share)) != 0) {
			/* only affinity of their own can make the VMs of a group differ */
			fputs("    placement: auto\n", out);
			return;
		}
	}
	fputs("    placement: {", out);
	for (unsigned int i = 0; i < s->topo.n_nodes; i++) {
		if (!vm->node_share[i])
			continue;
		fprintf(out, "%s%u: %s", comma, s->topo.node_id[i],
			quantity(SC_Q_SHARE, vm->node_share[i], buf));
		comma = ", ";
	}
	fputs("}\n", out);
}

static void print_workload(FILE *out, const struct sc_vm *vm)
{
	const struct workload *w = vm->workload;

	if (!vm->builtin) {
		fputs("    workload:\n", out);
		sc_workload_print(out, w);
		return;
	}
	fprintf(out, "    workload: # %.*s\n", (int)strcspn(w->text, "\n"), w->text);
	print_text(out, "      use", w->name);
	for (uint32_t i = 0; i < w->n_params; i++) {
		fputs("      ", out);
		print_text(out, w->param[i].name, w->param[i].text);
	}
}

/* VMs of a group are printed once. */
static bool first_of_group(const struct scenario *s, unsigned int i)
{
	return i == 0 || strcmp(s->vm[i].group, s->vm[i - 1].group) != 0;
}

static void print_vm(FILE *out, const struct scenario *s, const struct sc_vm *vm)
{
	unsigned int first, n;
	char buf[48];

	if (!scenario_find(s, vm->group, &first, &n))
		return;
	if (vm->dom0)
		fputs("dom0:\n", out);
	else
		fprintf(out, "  - name: %s\n", vm->group);
	if (!vm->dom0 && strcmp(vm->name, vm->group) != 0)
		fprintf(out, "    count: %u\n", n);
	fprintf(out, "    vcpus: %u\n    maxvcpus: %u\n    weight: %u\n    cap: %u\n", vm->vcpus,
		vm->maxvcpus, vm->weight, vm->cap);
	if (vm->pool)
		fprintf(out, "    pool: %s\n", s->pool[vm->pool].name);
	sc_rtds_print(out, vm);
	print_masks(out, "cpus", vm, n, true);
	print_masks(out, "cpus_soft", vm, n, false);
	fprintf(out, "    memory: %s\n", quantity(SC_Q_SIZE, vm->memory, buf));
	print_placement(out, s, vm, n);
	if (!vm->dom0)
		fprintf(out, "    start: %s\n", quantity(SC_Q_DURATION, vm->start, buf));
	else
		fputs("    background: off # part of the workload below\n", out);
	print_workload(out, vm);
}

static void print_vms(FILE *out, const struct scenario *s)
{
	bool head = false;

	if (s->n_vms == 0 || !s->vm[0].dom0)
		fputs("dom0: none\n", out);
	for (unsigned int i = 0; i < s->n_vms; i++) {
		if (!first_of_group(s, i))
			continue;
		if (!s->vm[i].dom0 && !head) {
			fputs("vms:\n", out);
			head = true;
		}
		print_vm(out, s, &s->vm[i]);
	}
}

/* --- Run and timeline ------------------------------------------------------------------------- */

static void print_run(FILE *out, const struct sc_run *run)
{
	char a[48], b[48], c[48];

	fprintf(out,
		"run:\n  warmup: %s\n  duration: %s\n  seeds: %u\n  seed: %" PRIu64
		"\n  stall_limit: %s\n",
		quantity(SC_Q_DURATION, run->warmup, a), quantity(SC_Q_DURATION, run->duration, b),
		run->seeds, run->seed_base, quantity(SC_Q_DURATION, run->stall_limit, c));
	if (run->until)
		fprintf(out, "  until: %s\n", run->until);
}

static void print_timeline(FILE *out, const struct scenario *s)
{
	char at[48], every[48];

	if (s->n_events)
		fputs("timeline:\n", out);
	for (unsigned int i = 0; i < s->n_events; i++) {
		const struct sc_event *e = &s->event[i];

		fprintf(out, "  - at: %s\n", quantity(SC_Q_DURATION, e->at, at));
		if (e->every)
			fprintf(out, "    every: %s\n    times: %" PRIu64 "\n",
				quantity(SC_Q_DURATION, e->every, every), e->count);
		fputs("    do:\n", out);
		for (unsigned int k = 0; k < e->n_ops; k++) {
			fputs("      - ", out);
			sc_print_scalar(out, e->op[k].text);
			fputc('\n', out);
		}
	}
}

void scenario_print(FILE *out, const struct scenario *s)
{
	assert(out && s);
	print_host(out, s);
	print_xen(out, &s->xen);
	sc_pools_print(out, s);
	print_vms(out, s);
	sc_frame_print(out, s);
	print_run(out, &s->run);
	print_timeline(out, s);
}

void scenario_print_expects(FILE *out, const struct scenario_file *f)
{
	assert(out && f);
	if (f->n_expects)
		fputs("expect:\n", out);
	for (unsigned int i = 0; i < f->n_expects; i++) {
		const struct sc_expect *e = &f->expect[i];

		print_text(out, "  - that", e->text);
		fprintf(out, "    seeds: %s\n", e->over == SC_OVER_EACH ? "each" : "mean");
		if (e->why)
			print_text(out, "    why", e->why);
	}
}
