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

#endif
