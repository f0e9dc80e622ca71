/*
 * What the subcommands of the program share: their entry points and the exit codes.
 *
 * A subcommand NAME is one file cmd_NAME.c with one function cmd_NAME(), a line here and a line in
 * the table of main.c. It gets its own argv: argv[0] is the subcommand's name ("hvsched run"), and it
 * parses the rest with argp. It returns one of the exit codes.
 */
#ifndef HVSCHED_CLI_CLI_H
#define HVSCHED_CLI_CLI_H

enum exit_code {
	EXIT_HELD = 0,	   /* all went well and every expectation held */
	EXIT_MISSED = 1,   /* an expectation failed */
	EXIT_USAGE = 2,	   /* wrong usage or bad input */
	EXIT_BROKEN = 3,   /* a stall, or a law of the model was broken */
	EXIT_INTERNAL = 4, /* internal error, or input/output failed (a full disk) */
};

#endif
