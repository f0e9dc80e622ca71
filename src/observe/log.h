/*
 * The event log: a compact binary file with every record of a run, the single truth that all other
 * figures can be derived from.
 *
 * Format (version 1; all fixed-width numbers little-endian on every machine):
 *   magic "hvlog\r\n\x1a" | byte-order mark u32 0x01020304 | version u32 | length u32 of the body |
 *   body | hash u64 of the body
 *   body: varint seed | varint start (zigzag) | string scenario | string variant | varint pCPUs |
 *   per pCPU varint core, socket, node. A string is a varint length (<= LOG_NAME_MAX) and bytes.
 * Then records: a byte with the kind (bit 7: same time as the record before), varint ns since the
 * record before unless bit 7 is set, and the fields of the kind (log_layout). The last record is
 * LOG_END, followed by the hash u64 of its own bytes; nothing comes after that. A varint has 7 bits
 * a byte, low bits first, bit 7 = more follow.
 *
 * Laws: what is written is what is read back; a file cut at any byte, or changed in any byte, is
 * refused with a message; a write that fails is never lost.
 */
#ifndef HVSCHED_OBSERVE_LOG_H
#define HVSCHED_OBSERVE_LOG_H

#include <hvsched.h>
#include <stdio.h>

#include "observe/observe.h"

#define LOG_VERSION  1
#define LOG_NAME_MAX 255 /* longest name in bytes; longer ones are cut */

/* Kinds beyond the engine's own enum hv_trace_kind. */
enum log_kind {
	LOG_ENGINE = HV_TRACE_MISSED + 1, /* kinds below are the engine's */
	LOG_DOMAIN = 32,		  /* domain, name: a domain has that name */
	LOG_VCPU,	   /* vcpu: new record of number vcpu; domain, a: vCPU id, b: runstate */
	LOG_GONE,	   /* vcpu: destroyed */
	LOG_RUN,	   /* vcpu: ns[] of running; a: time - end of the interval, b: its length */
	LOG_PCPU,	   /* pcpu: mode a from now on, domain (in mode guest) */
	LOG_CORE_WAIT,	   /* vcpu: a */
	LOG_IDLE_RUNNABLE, /* vcpu: waited b ns although a pCPU was idle; a: time - end */
	LOG_MARK,	   /* the measured window starts */
	LOG_END,	   /* a: number of records before it, b: their hash */
	LOG_NR_KINDS,
};

/* One record. vCPUs are given by the observer's numbers, units by their first vCPU; 0 = idle. */
struct log_record {
	unsigned kind;
	hv_time time;
	uint32_t pcpu;
	uint32_t vcpu;
	uint32_t prev;	/* HV_TRACE_SWITCH */
	int32_t domain; /* id */
	int64_t a, b;	/* as in struct hv_trace */
	int64_t ns[OBSERVE_NR_RUN];
	const char *name;
};

/* Fields that a kind has, in the order of the file, ended by LOG_F_NONE. */
enum log_field {
	LOG_F_NONE,
	LOG_F_PCPU,
	LOG_F_VCPU,
	LOG_F_PREV,
	LOG_F_DOMAIN,
	LOG_F_A,
	LOG_F_B,
	LOG_F_NS,
	LOG_F_NAME,
};
#define LOG_MAX_FIELDS 6
extern const uint8_t log_layout[LOG_NR_KINDS][LOG_MAX_FIELDS];
/* "switch", "wake", ...; NULL for a number that is no kind. */
const char *log_kind_name(unsigned kind);

/*
 * Hash of a byte stream, independent of how it is cut into pieces: FNV-1a over little-endian words
 * of 8 bytes, high bits folded down after each, the last word filled with zeros, then the length.
 */
struct log_hash {
	uint64_t state, word, length;
};
void log_hash_init(struct log_hash *h);
void log_hash_add(struct log_hash *h, const uint8_t *bytes, size_t n);
uint64_t log_hash_value(const struct log_hash *h);

/* ------------------------------------------------------------------ writing */

struct log_writer;

/* path NULL: the records are hashed only. 0, -HV_ENOMEM, or the negative errno of open(). */
int log_writer_create(const struct observe_config *config, struct log_writer **out);
/* Never fails at once: see log_writer_error(). */
void log_write(struct log_writer *w, const struct log_record *r);
int log_writer_error(const struct log_writer *w); /* 0 or the negative errno of the first failure */
uint64_t log_writer_hash(const struct log_writer *w); /* of the records so far, LOG_END excluded */
/* Write LOG_END and close the file. 0 or the negative errno of the first failure. */
int log_writer_close(struct log_writer *w, hv_time t);
void log_writer_destroy(struct log_writer *w);

/* ------------------------------------------------------------------ reading */

struct log_reader;

struct log_header {
	uint64_t seed;
	hv_time start;
	const char *scenario, *variant; /* "" when not told */
	struct hv_topology topology;
};

/* Names of a vCPU as far as the file is read. */
struct log_vcpu {
	int32_t domain;
	uint32_t id;
};

/* NULL with a message (without newline, with the file's name) in error. */
struct log_reader *log_open(const char *path, char *error, size_t size);
void log_close(struct log_reader *l);
const struct log_header *log_header(const struct log_reader *l);
/*
 * Next record: 1; 0 after the end of a complete and unharmed file (LOG_END itself is given out
 * before); -1 with a message in error. Every number in a record is inside its range. r->name is
 * valid until the next call.
 */
int log_next(struct log_reader *l, struct log_record *r, char *error, size_t size);
uint32_t log_nr_vcpus(const struct log_reader *l);
const struct log_vcpu *log_vcpu(const struct log_reader *l, uint32_t number);
/* The domain's name, or NULL. */
const char *log_domain_name(const struct log_reader *l, int32_t domain);

#endif
