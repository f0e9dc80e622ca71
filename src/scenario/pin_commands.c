/*
 * Operator commands on affinity: xl's vcpu-pin, and what a guest does by itself, pin_override
 * (core-scheduling sections 3.6, 7.1).
 */
#include <string.h>

#include "scenario/command.h"

/* Options stand before the domain; the mask "-" is none. False: an error was told. */
static bool read_options(struct sc_command *c, struct sc_op *op, unsigned int *at)
{
	for (*at = 1; *at < c->n && c->word[*at][0] == '-' && c->word[*at][1]; ++*at) {
		const char *w = c->word[*at];
		bool word = w[1] == '-';

		if (strcmp(w, "--force") == 0)
			op->force = true;
		else if (strcmp(w, "--ignore-global-affinity-masks") == 0)
			op->ignore_masks = true;
		else if (word || w[1 + strspn(w + 1, "fi")])
			return sc_wrong_at(c, *at, SC_TEXT(c, "unknown option '%s'", w));
		op->force |= !word && strchr(w, 'f');
		op->ignore_masks |= !word && strchr(w, 'i');
	}
	return true;
}

static bool read_vcpu(struct sc_command *c, unsigned int i, struct sc_op *op)
{
	unsigned int vcpu;

	if (!sc_read_number(c, i, "vCPU", 0, sc_min_maxvcpus(c, op) - 1, &vcpu))
		return false;
	op->vcpu = (int)vcpu;
	return true;
}

/* What is left of a hard mask: pCPUs that can be on line, and that VMs may have. */
static bool check_hard(struct sc_command *c, unsigned int i, struct sc_op *op)
{
	struct hv_mask left;

	hv_mask_and(&left, &op->hard, &c->s->topo.online, SC_NW);
	if (hv_mask_empty(&left, SC_NW))
		return sc_wrong_at(c, i, "none of these pCPUs is online");
	if (op->ignore_masks)
		return true;
	hv_mask_and(&op->hard, &op->hard, &c->s->cpumask, SC_NW);
	hv_mask_and(&left, &op->hard, &c->s->topo.online, SC_NW);
	return !hv_mask_empty(&left, SC_NW) ||
	       sc_wrong_at(c, i,
			   "none of these pCPUs is in the host's cpumask ('-i' leaves that out)");
}

/* vcpu-pin [-f] [-i] DOM VCPU|all HARD [SOFT] */
bool sc_cmd_pin(struct sc_command *c, struct sc_op *op)
{
	unsigned int at;

	op->kind = SC_OP_VCPU_PIN;
	if (!read_options(c, op, &at) ||
	    !sc_need_words(c, at + 3, at + 4, "vcpu-pin [-f] [-i] DOM VCPU|all HARD [SOFT]") ||
	    !sc_command_vm(c, at, op))
		return false;
	if (strcmp(c->word[at + 1], "all") != 0) {
		if (!read_vcpu(c, at + 1, op))
			return false;
	} else if (op->force) {
		return sc_wrong_at(c, at + 1, "'-f' is for one vCPU, not for all");
	}
	if (!sc_command_cpus(c, at + 2, &op->hard, &op->set_hard) ||
	    (c->n == at + 4 && !sc_command_cpus(c, at + 3, &op->soft, &op->set_soft)))
		return false;
	if (!op->set_hard && !op->set_soft)
		return sc_wrong_at(c, at + 2, "neither hard nor soft affinity is given");
	return !op->set_hard || check_hard(c, at + 2, op);
}

/* pin-override DOM VCPU PCPU|none; no command of xl: the hypercall SCHEDOP_pin_override */
bool sc_cmd_override(struct sc_command *c, struct sc_op *op)
{
	unsigned int id;

	op->kind = SC_OP_PIN_OVERRIDE;
	if (!sc_need_words(c, 4, 4, "pin-override DOM VCPU PCPU|none") || !sc_command_vm(c, 1, op))
		return false;
	if (!c->s->vm[op->vm].dom0)
		return sc_wrong_at(c, 1, "the hypervisor lets only domain 0 override its affinity");
	if (!read_vcpu(c, 2, op))
		return false;
	if (strcmp(c->word[3], "none") == 0)
		return true;
	if (!sc_read_number(c, 3, "pCPU, or none", 0, c->s->topo.nr_ids - 1, &id))
		return false;
	if (!hv_mask_test(&c->s->topo.present, id))
		return sc_wrong_at(c, 3, SC_TEXT(c, "there is no pCPU %u", id));
	hv_mask_set(&op->cpus, id);
	return true;
}
