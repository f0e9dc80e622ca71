/*
 * Writing the event log; format and laws in log.h.
 *
 * Records are encoded into a buffer that is hashed and written when it is full. A failed write
 * stops the writing, not the run and not the hash: the first error is kept and reported.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "observe/log.h"

#define BUFFER_SIZE (64 * 1024)
/* A record's most bytes: kind, time, every field at its longest. */
#define RECORD_MAX (1 + 10 + LOG_MAX_FIELDS * 10 + 1 + 10 * OBSERVE_NR_RUN + LOG_NAME_MAX)

const uint8_t log_layout[LOG_NR_KINDS][LOG_MAX_FIELDS] = {
	[HV_TRACE_INSERT] = {LOG_F_VCPU, LOG_F_PCPU},
	[HV_TRACE_REMOVE] = {LOG_F_VCPU},
	[HV_TRACE_WAKE] = {LOG_F_VCPU, LOG_F_PCPU},
	[HV_TRACE_BLOCK] = {LOG_F_VCPU, LOG_F_PCPU},
	[HV_TRACE_YIELD] = {LOG_F_VCPU, LOG_F_PCPU},
	[HV_TRACE_TICKLE] = {LOG_F_PCPU},
	[HV_TRACE_RESET] = {LOG_F_PCPU, LOG_F_A},
	[HV_TRACE_RQMOVE] = {LOG_F_VCPU, LOG_F_A, LOG_F_B},
	[HV_TRACE_SWITCH] = {LOG_F_PCPU, LOG_F_PREV, LOG_F_VCPU, LOG_F_A},
	[HV_TRACE_CONT] = {LOG_F_PCPU, LOG_F_VCPU, LOG_F_A},
	[HV_TRACE_SAVED] = {LOG_F_PCPU, LOG_F_VCPU},
	[HV_TRACE_ASSIGN] = {LOG_F_VCPU, LOG_F_A, LOG_F_B},
	[HV_TRACE_RUNSTATE] = {LOG_F_VCPU, LOG_F_PCPU, LOG_F_A, LOG_F_B},
	[HV_TRACE_PAUSE] = {LOG_F_VCPU, LOG_F_A, LOG_F_B},
	[HV_TRACE_ENTER] = {LOG_F_PCPU},
	[HV_TRACE_FORCE] = {LOG_F_VCPU, LOG_F_PCPU},
	[HV_TRACE_MISSED] = {LOG_F_PCPU, LOG_F_A},
	[LOG_DOMAIN] = {LOG_F_DOMAIN, LOG_F_NAME},
	[LOG_VCPU] = {LOG_F_VCPU, LOG_F_DOMAIN, LOG_F_A, LOG_F_B},
	[LOG_GONE] = {LOG_F_VCPU},
	[LOG_RUN] = {LOG_F_VCPU, LOG_F_A, LOG_F_B, LOG_F_NS},
	[LOG_PCPU] = {LOG_F_PCPU, LOG_F_A, LOG_F_DOMAIN},
	[LOG_CORE_WAIT] = {LOG_F_VCPU, LOG_F_A},
	[LOG_IDLE_RUNNABLE] = {LOG_F_VCPU, LOG_F_A, LOG_F_B},
	[LOG_MARK] = {LOG_F_NONE},
	[LOG_END] = {LOG_F_A, LOG_F_B},
};

const char *log_kind_name(unsigned kind)
{
	static const char *const names[LOG_NR_KINDS] = {
		[HV_TRACE_INSERT] = "insert",
		[HV_TRACE_REMOVE] = "remove",
		[HV_TRACE_WAKE] = "wake",
		[HV_TRACE_BLOCK] = "block",
		[HV_TRACE_YIELD] = "yield",
		[HV_TRACE_TICKLE] = "tickle",
		[HV_TRACE_RESET] = "reset",
		[HV_TRACE_RQMOVE] = "rqmove",
		[HV_TRACE_SWITCH] = "switch",
		[HV_TRACE_CONT] = "continue",
		[HV_TRACE_SAVED] = "saved",
		[HV_TRACE_ASSIGN] = "assign",
		[HV_TRACE_RUNSTATE] = "runstate",
		[HV_TRACE_PAUSE] = "pause",
		[HV_TRACE_ENTER] = "enter",
		[HV_TRACE_FORCE] = "force",
		[HV_TRACE_MISSED] = "missed",
		[LOG_DOMAIN] = "domain",
		[LOG_VCPU] = "vcpu",
		[LOG_GONE] = "gone",
		[LOG_RUN] = "run",
		[LOG_PCPU] = "pcpu",
		[LOG_CORE_WAIT] = "core-wait",
		[LOG_IDLE_RUNNABLE] = "idle-runnable",
		[LOG_MARK] = "mark",
		[LOG_END] = "end",
	};

	return kind < LOG_NR_KINDS ? names[kind] : NULL;
}

/* ------------------------------------------------------------------ hash */

#define FNV_OFFSET 0xcbf29ce484222325ULL
#define FNV_PRIME  0x00000100000001b3ULL

static inline uint64_t fold(uint64_t state, uint64_t word)
{
	state = (state ^ word) * FNV_PRIME;
	return state ^ state >> 32; /* else high bits of a word would never reach low ones */
}

void log_hash_init(struct log_hash *h)
{
	*h = (struct log_hash){.state = FNV_OFFSET};
}

void log_hash_add(struct log_hash *h, const uint8_t *bytes, size_t n)
{
	assert(h);
	assert(bytes || !n);
	for (size_t i = 0; i < n;) {
		unsigned at = (unsigned)(h->length % 8);

		if (at == 0 && n - i >= 8) {
			uint64_t word;

			memcpy(&word, bytes + i, 8);
			if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
				word = __builtin_bswap64(word);
			h->state = fold(h->state, word);
			h->length += 8;
			i += 8;
			continue;
		}
		h->word |= (uint64_t)bytes[i++] << (8 * at);
		h->length++;
		if (at == 7) {
			h->state = fold(h->state, h->word);
			h->word = 0;
		}
	}
}

uint64_t log_hash_value(const struct log_hash *h)
{
	uint64_t state = h->state;

	if (h->length % 8)
		state = fold(state, h->word);
	return fold(state, h->length);
}

/* ------------------------------------------------------------------ writer */

struct log_writer {
	int fd; /* -1 = hash only, or given up */
	int error;
	hv_time last;
	uint64_t records;
	struct log_hash hash;
	size_t used;
	uint8_t buffer[BUFFER_SIZE];
};

static void write_out(struct log_writer *w, const uint8_t *bytes, size_t n)
{
	while (n > 0 && w->fd >= 0 && !w->error) {
		ssize_t done = write(w->fd, bytes, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0) {
			w->error = done < 0 ? -errno : -EIO;
			return;
		}
		bytes += done;
		n -= (size_t)done;
	}
}

static void flush(struct log_writer *w)
{
	assert(w->used <= BUFFER_SIZE);
	log_hash_add(&w->hash, w->buffer, w->used);
	write_out(w, w->buffer, w->used);
	w->used = 0;
}

static inline uint8_t *put_varint(uint8_t *p, uint64_t value)
{
	while (value >= 0x80) {
		*p++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*p++ = (uint8_t)value;
	return p;
}

static inline uint8_t *put_signed(uint8_t *p, int64_t value)
{
	return put_varint(p, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

static uint8_t *put_string(uint8_t *p, const char *text)
{
	size_t n = text ? strnlen(text, LOG_NAME_MAX) : 0;

	p = put_varint(p, n);
	if (n)
		memcpy(p, text, n);
	return p + n;
}

/* A byte that tells which categories are not zero, then those. */
static uint8_t *put_split(uint8_t *p, const int64_t *ns)
{
	uint8_t *present = p++;

	*present = 0;
	for (unsigned c = 0; c < OBSERVE_NR_RUN; c++) {
		if (ns[c]) {
			*present |= (uint8_t)(1u << c);
			p = put_signed(p, ns[c]);
		}
	}
	return p;
}

static uint8_t *put_record(uint8_t *p, const struct log_record *r, hv_time last)
{
	bool same = r->time <= last; /* a clock that runs back is the ledger's to report */

	*p++ = (uint8_t)(r->kind | (same ? 0x80u : 0));
	if (!same)
		p = put_varint(p, (uint64_t)(r->time - last));
	for (const uint8_t *field = log_layout[r->kind]; *field != LOG_F_NONE; field++) {
		switch (*field) {
		case LOG_F_PCPU:
			p = put_varint(p, r->pcpu);
			break;
		case LOG_F_VCPU:
			p = put_varint(p, r->vcpu);
			break;
		case LOG_F_PREV:
			p = put_varint(p, r->prev);
			break;
		case LOG_F_DOMAIN:
			p = put_signed(p, r->domain);
			break;
		case LOG_F_A:
			p = put_signed(p, r->a);
			break;
		case LOG_F_B:
			p = put_signed(p, r->b);
			break;
		case LOG_F_NS:
			p = put_split(p, r->ns);
			break;
		case LOG_F_NAME:
			p = put_string(p, r->name);
			break;
		}
	}
	return p;
}

void log_write(struct log_writer *w, const struct log_record *r)
{
	assert(r->kind < LOG_NR_KINDS && log_kind_name(r->kind));
	if (w->used + RECORD_MAX > BUFFER_SIZE)
		flush(w);

	uint8_t *end = put_record(w->buffer + w->used, r, w->last);

	w->used = (size_t)(end - w->buffer);
	w->records++;
	if (r->time > w->last)
		w->last = r->time;
	assert(w->used <= BUFFER_SIZE);
}

static uint8_t *put_fixed(uint8_t *p, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		*p++ = (uint8_t)(value >> (8 * i));
	return p;
}

static int write_header(struct log_writer *w, const struct observe_config *config)
{
	const struct hv_topology *t = config->topology;
	size_t most = 4 * 10 + 2 * (10 + LOG_NAME_MAX) + (size_t)t->nr_pcpus * 3 * 10;
	uint8_t *body = malloc(most), *p = body;
	uint8_t frame[20];
	struct log_hash hash;

	if (!body)
		return -HV_ENOMEM;
	p = put_varint(p, config->seed);
	p = put_signed(p, config->start);
	p = put_string(p, config->scenario);
	p = put_string(p, config->variant);
	p = put_varint(p, t->nr_pcpus);
	for (unsigned c = 0; c < t->nr_pcpus; c++) {
		p = put_varint(p, t->core[c]);
		p = put_varint(p, t->socket[c]);
		p = put_varint(p, t->node[c]);
	}

	size_t length = (size_t)(p - body);

	assert(length <= most);
	log_hash_init(&hash);
	log_hash_add(&hash, body, length);
	memcpy(frame, "hvlog\r\n\x1a", 8);
	p = put_fixed(frame + 8, 0x01020304, 4);
	p = put_fixed(p, LOG_VERSION, 4);
	put_fixed(p, length, 4);
	write_out(w, frame, sizeof(frame));
	write_out(w, body, length);
	put_fixed(frame, log_hash_value(&hash), 8);
	write_out(w, frame, 8);
	free(body);
	return 0;
}

int log_writer_create(const struct observe_config *config, struct log_writer **out)
{
	struct log_writer *w = malloc(sizeof(*w));

	if (!w)
		return -HV_ENOMEM;
	w->fd = -1;
	w->error = 0;
	w->last = config->start;
	w->records = 0;
	w->used = 0;
	log_hash_init(&w->hash);
	if (config->log_path) {
		w->fd = open(config->log_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

		int err = w->fd < 0 ? -errno : write_header(w, config);

		if (!err)
			err = w->error;
		if (err) {
			log_writer_destroy(w);
			return err;
		}
	}
	*out = w;
	return 0;
}

int log_writer_error(const struct log_writer *w)
{
	return w->error;
}

uint64_t log_writer_hash(const struct log_writer *w)
{
	struct log_hash hash = w->hash;

	log_hash_add(&hash, w->buffer, w->used);
	return log_hash_value(&hash);
}

int log_writer_close(struct log_writer *w, hv_time t)
{
	struct log_record end = {.kind = LOG_END, .time = t};

	if (w->fd < 0)
		return w->error;
	end.a = (int64_t)w->records;
	end.b = (int64_t)log_writer_hash(w);

	/* LOG_END goes out behind the hashed bytes, so that the hash stays that of the records. */
	flush(w);
	uint8_t *p = put_record(w->buffer, &end, w->last);
	struct log_hash own;

	log_hash_init(&own);
	log_hash_add(&own, w->buffer, (size_t)(p - w->buffer));
	p = put_fixed(p, log_hash_value(&own), 8);
	write_out(w, w->buffer, (size_t)(p - w->buffer));
	if (close(w->fd) < 0 && !w->error)
		w->error = -errno;
	w->fd = -1;
	return w->error;
}

void log_writer_destroy(struct log_writer *w)
{
	if (!w)
		return;
	if (w->fd >= 0) {
		flush(w);
		close(w->fd);
	}
	free(w);
}
