/*
 * What the subcommands of the program share: their entry points and the exit codes.
 *
 * A subcommand NAME is one file cmd_NAME.c with one function cmd_NAME(), a line here and one in the
 * table of main.c. It gets its own argv, whose argv[0] is "hvsched NAME" for its messages, parses
 * the rest with argp and returns one of the exit codes.
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

int cmd_check(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_console(int argc, char **argv);
int cmd_conform(int argc, char **argv);
int cmd_experiment(int argc, char **argv);
int cmd_log(int argc, char **argv);
int cmd_run(int argc, char **argv);

#endif
