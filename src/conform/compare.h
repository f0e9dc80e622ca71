/*
 * Recordings, and how a replay is compared with one: line by line, byte by byte, up to the first
 * difference. After it everything may differ.
 */
#ifndef HV_CONFORM_COMPARE_H
#define HV_CONFORM_COMPARE_H

#include <stdio.h>

#include "conform/record.h"
#include "conform/script.h"

/* Lines shown before and after a difference. */
#define COMPARE_CONTEXT 10

/*
 * Reads a recording, gzip or plain text. Returns 0, -HV_EINVAL when it is damaged, truncated or no
 * recording (err->text says what, err->line where it is known), -HV_ENOMEM, or another negative
 * errno when the file cannot be read. record_free() in any case.
 */
int recording_read(const char *path, struct record *out, struct script_error *err);

/* Index of the first line that differs (one record may end there), SIZE_MAX when all agree. */
size_t compare_records(const struct record *a, const struct record *b);

/* Prints the lines around line `at`: common ones, then those of both sides from there. */
void compare_print(FILE *out, const struct record *recorded, const struct record *ours, size_t at);

#endif
