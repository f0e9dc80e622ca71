/*
 * What the console shows: xl's tables about a run that is held open.
 */
#ifndef HVSCHED_CLI_CONSOLE_H
#define HVSCHED_CLI_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>

#include "lab/session.h"

#define CONSOLE_WORDS 80

/* A line that was typed, in words. */
struct console_line {
	unsigned n;
	char *word[CONSOLE_WORDS];
};

/*
 * Carry out a command that only looks. *known is false, and nothing was said, when it is none.
 * False after an error message on standard error.
 */
bool console_show(struct lab_run *run, const struct console_line *line, bool *known);
/* Usage of these commands, one a line. */
void console_show_help(void);
/* The same for what sched-credit, sched-credit2 and sched-rtds show. */
bool console_sched(struct lab_run *run, const struct console_line *line, bool *known);
/* debug-keys r: the schedulers' own state. */
void console_dump(struct lab_run *run);

#define CONSOLE_MASK 512 /* bytes of a CPU list */
/* A set of the machine's pCPUs in the user's numbers, "0-3,5"; returns text. */
const char *console_cpus(struct lab_run *run, const struct hv_mask *machine,
			 char text[CONSOLE_MASK]);
/* The same as an affinity: "all", "none" or ranges. */
const char *console_affinity(struct lab_run *run, const struct hv_mask *machine,
			     char text[CONSOLE_MASK]);
/* The VMs that a word names: a VM, a group, its domain number. False after a message. */
bool console_find_vms(struct lab_run *run, const char *word, unsigned *first, unsigned *n);
/* As xl names it. */
const char *console_vm_name(struct lab_run *run, unsigned vm);
/* NULL while the VM is not there. */
struct hv_domain *console_domain(struct lab_run *run, unsigned vm);

#endif
