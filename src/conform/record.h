/*
 * A record: the lines of a replay, or of a recording that was read, in one buffer.
 *
 * Every line is one JSON object whose fields stand in the order of the recordings, without blanks:
 * two records agree exactly if their lines are equal byte by byte.
 */
#ifndef HV_CONFORM_RECORD_H
#define HV_CONFORM_RECORD_H

#include <hvsched.h>
#include <stdio.h>

struct record {
	char *text;
	size_t len, room;
	size_t *start; /* of each line in text */
	size_t nr, start_room;
	bool failed; /* out of memory: the record is not complete */
};

/* The forms of recordings that this program writes and reads: 1 .. RECORD_FORMATS. */
#define RECORD_FORMATS 2
/* The Xen commit whose decisions the recordings hold. */
#define RECORD_XEN "c447b7308b"

/* Starts a line {"t":TIME,"ev":"EVENT" ; fields follow; record_end() finishes it. */
void record_begin(struct record *r, hv_time time, const char *event);
void record_int(struct record *r, const char *name, int64_t value);
void record_text(struct record *r, const char *name, const char *value);
/* "dDvV" */
void record_vcpu(struct record *r, const char *name, int domain, unsigned vcpu);
/* "0-3,8" */
void record_pcpus(struct record *r, const char *name, const struct hv_mask *pcpus, unsigned nw);
/* A list of texts: begin, each text, end. */
void record_list_begin(struct record *r, const char *name);
void record_list_text(struct record *r, bool first, const char *value);
void record_list_end(struct record *r);
/* An object: begin, fields, end. */
void record_object_begin(struct record *r, const char *name);
void record_object_end(struct record *r);
void record_end(struct record *r);

/* Drops a line that was begun and not finished. */
void record_abandon(struct record *r);

/* A finished line as it is, without its newline. */
void record_line(struct record *r, const char *text, size_t len);
/* The i-th line and its length without newline. */
const char *record_get(const struct record *r, size_t i, size_t *len);

/* 0, or -1 with errno when the stream failed. */
int record_write(const struct record *r, FILE *out);
void record_free(struct record *r);

#endif
