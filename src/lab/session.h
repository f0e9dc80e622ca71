/*
 * A run that is held open: run up to a time, look, command, go on. lab_run() is built on it.
 *
 * Law: a command is carried out by the same code, at the same place of the event loop, whether it
 * comes from a timeline or from here.
 */
#ifndef HVSCHED_LAB_SESSION_H
#define HVSCHED_LAB_SESSION_H

#include "lab/lab.h"

struct lab_run;
struct mc_machine;
struct mc_vm;
struct hv_pool;

/*
 * Build the machine of s, with its VMs, at time 0. *result tells what ended the run (status,
 * message) and is filled by lab_finish(); it stays where it is until lab_close(). -HV_ENOMEM, or
 * another negative errno with a message in result.
 */
int lab_open(const struct scenario *s, uint64_t seed, const struct lab_options *options,
	     struct lab_result *result, struct lab_run **out);
/* Run up to `until`. False: the run is over, see the result. */
bool lab_run_to(struct lab_run *run, hv_time until);
/*
 * Carry out a command now; virtual time goes on until it is done. 0, or the hypervisor's negative
 * errno; *why says it in words, up to the next call (or, with 0, what the command has to tell;
 * mostly nothing). The run must not be over.
 */
int lab_do(struct lab_run *run, const struct sc_op *op, const char **why);
/* Fill the result. 0, -HV_ENOMEM. */
int lab_finish(struct lab_run *run);
void lab_close(struct lab_run *run);

/* ---- looking */

const struct scenario *lab_scenario(const struct lab_run *run);
struct mc_machine *lab_machine(const struct lab_run *run);
/* NULL while the VM is not there: before its start, after it was destroyed. */
struct mc_vm *lab_vm_of(const struct lab_run *run, unsigned vm);
int lab_domain_id(const struct lab_run *run, unsigned vm);
const char *lab_pool_name(const struct lab_run *run, int id);
/* By name or number; NULL = none. */
struct hv_pool *lab_pool_find(struct lab_run *run, const char *name);

#endif
