/*
 * Reading the event log; format and laws in log.h.
 *
 * The file is read in order through a window. Nothing in it is trusted: every length, number and
 * time is checked against its range before it is used, and the hashes tell harm that is plausible.
 */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "observe/log.h"

#define WINDOW (64 * 1024)
/* More than any run makes; they bound what a bad file can cost. */
#define VCPUS_MAX   (1u << 24)
#define DOMAINS_MAX (1u << 20)

struct domain_name {
	int32_t id;
	char *name;
};

struct log_reader {
	FILE *file;
	char *path;
	uint64_t offset; /* of window[at] in the file */
	size_t at, end;
	size_t hashed; /* window[hashed..at) was read but is not hashed yet */
	bool at_eof;
	bool finished; /* LOG_END was given out */

	hv_time time;
	uint64_t records;
	struct log_hash hash;
	struct log_header header;
	uint32_t *numbers; /* storage of the topology */
	char scenario[LOG_NAME_MAX + 1], variant[LOG_NAME_MAX + 1], name[LOG_NAME_MAX + 1];
	struct log_vcpu *vcpu; /* [0] stands for idle */
	uint32_t nr_vcpus, room_vcpus;
	struct domain_name *domain;
	uint32_t nr_domains, room_domains;

	const char *fault; /* why the present item cannot be read, NULL = all well */
	uint8_t window[WINDOW];
};

__attribute__((format(printf, 4, 5))) static void complain(const struct log_reader *l, char *error,
							   size_t size, const char *format, ...)
{
	int n = snprintf(error, size, "%s: error: byte %llu: ", l->path,
			 (unsigned long long)l->offset);
	va_list args;

	assert(size > 0);
	if (n < 0 || (size_t)n >= size)
		return;
	va_start(args, format);
	vsnprintf(error + n, size - (size_t)n, format, args);
	va_end(args);
}

static const char truncated[] =
	"the log ends too early: the run did not finish, or the disk was full";

/* ------------------------------------------------------------------ bytes */

/* Hash what was read up to here. In pieces as long as possible: bytes one by one are slow. */
static void catch_up(struct log_reader *l)
{
	assert(l->hashed <= l->at);
	log_hash_add(&l->hash, l->window + l->hashed, l->at - l->hashed);
	l->hashed = l->at;
}

static uint64_t hash_so_far(struct log_reader *l)
{
	catch_up(l);
	return log_hash_value(&l->hash);
}

static void hash_anew(struct log_reader *l)
{
	l->hashed = l->at;
	log_hash_init(&l->hash);
}

/* There is a byte to read. */
static bool fill(struct log_reader *l)
{
	if (l->at < l->end)
		return true;
	if (l->at_eof)
		return false;
	catch_up(l);
	l->at = l->hashed = 0;
	l->end = fread(l->window, 1, WINDOW, l->file);
	if (l->end < WINDOW)
		l->at_eof = true;
	if (l->end == 0 && ferror(l->file))
		l->fault = "cannot read on: input/output error";
	return l->end > 0;
}

/* The next byte; 0 and a fault at the end of the file. */
static uint8_t get_byte(struct log_reader *l)
{
	if (l->fault)
		return 0;
	if (!fill(l)) {
		if (!l->fault)
			l->fault = truncated;
		return 0;
	}
	l->offset++;
	return l->window[l->at++];
}

static uint64_t get_varint(struct log_reader *l)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte = get_byte(l);

		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	l->fault = "a number is longer than 64 bits";
	return 0;
}

static int64_t get_signed(struct log_reader *l)
{
	uint64_t raw = get_varint(l);

	return (int64_t)(raw >> 1 ^ (0 - (raw & 1)));
}

static uint64_t get_fixed(struct log_reader *l, unsigned bytes)
{
	uint64_t value = 0;

	assert(bytes <= 8);
	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)get_byte(l) << (8 * i);
	return value;
}

/* Control characters never reach a terminal: they become '?'. */
static void get_string(struct log_reader *l, char out[LOG_NAME_MAX + 1])
{
	uint64_t n = get_varint(l);

	out[0] = '\0';
	if (l->fault)
		return;
	if (n > LOG_NAME_MAX) {
		l->fault = "a name is longer than 255 bytes";
		return;
	}
	for (uint64_t i = 0; i < n; i++) {
		uint8_t byte = get_byte(l);

		out[i] = byte < 0x20 || byte == 0x7f ? '?' : (char)byte;
	}
	out[n] = '\0';
}

/* ------------------------------------------------------------------ header */

static void read_topology(struct log_reader *l)
{
	struct hv_topology *t = &l->header.topology;
	uint64_t nr = get_varint(l);
	uint32_t *to;

	if (l->fault)
		return;
	if (nr < 1 || nr > HV_MAX_PCPUS) {
		l->fault = "the number of pCPUs is not in 1..1024";
		return;
	}
	to = l->numbers = calloc(3 * nr, sizeof(*to));
	if (!to) {
		l->fault = "out of memory";
		return;
	}
	t->nr_pcpus = (unsigned)nr;
	t->core = to;
	t->socket = to + nr;
	t->node = to + 2 * nr;
	for (uint64_t c = 0; c < nr; c++) {
		for (unsigned level = 0; level < 3; level++) {
			uint64_t value = get_varint(l);

			if (value > UINT32_MAX)
				l->fault = "a core, socket or node number is beyond 32 bits";
			to[level * nr + c] = (uint32_t)value;
		}
	}
}

static void read_header(struct log_reader *l)
{
	static const char magic[] = "hvlog\r\n\x1a";
	uint64_t length, start;

	for (unsigned i = 0; i < 8; i++) {
		uint8_t byte = get_byte(l);

		if (l->fault == truncated && l->offset == 0)
			l->fault = "the file is empty, expected an event log";
		if (!l->fault && byte != (uint8_t)magic[i])
			l->fault = "this is not an event log (it does not begin as one, \"hvlog\")";
	}
	if (l->fault)
		return;
	if (get_fixed(l, 4) != 0x01020304 && !l->fault)
		l->fault = "the byte order mark is wrong: the file was changed on its way";
	if (get_fixed(l, 4) != LOG_VERSION && !l->fault)
		l->fault = "the log has another version than 1, the one that this program reads";
	length = get_fixed(l, 4);
	start = l->offset;
	hash_anew(l);
	l->header.seed = get_varint(l);
	l->header.start = get_signed(l);
	if (l->header.start < 0 || l->header.start > INT64_MAX / 2)
		l->fault = l->fault ? l->fault : "the start is not in 0..146 years";
	get_string(l, l->scenario);
	get_string(l, l->variant);
	if (!l->fault)
		read_topology(l);
	if (!l->fault && l->offset - start != length)
		l->fault = "the header has another length than it says: the file is corrupt";

	uint64_t hash = hash_so_far(l);

	if (get_fixed(l, 8) != hash && !l->fault)
		l->fault = "the header does not agree with its hash: the file is corrupt";
	l->time = l->header.start;
	hash_anew(l);
}

struct log_reader *log_open(const char *path, char *error, size_t size)
{
	struct log_reader *l = calloc(1, sizeof(*l));

	assert(size > 0);
	if (!l || !(l->path = strdup(path)) || !(l->vcpu = calloc(1, sizeof(*l->vcpu)))) {
		snprintf(error, size, "%s: error: out of memory", path);
		log_close(l);
		return NULL;
	}
	l->room_vcpus = 1;
	l->file = fopen(path, "rb");
	if (!l->file) {
		snprintf(error, size, "%s: error: cannot open the event log: %s", path,
			 strerror(errno));
		log_close(l);
		return NULL;
	}
	l->header.scenario = l->scenario;
	l->header.variant = l->variant;
	read_header(l);
	if (l->fault) {
		complain(l, error, size, "%s", l->fault);
		log_close(l);
		return NULL;
	}
	return l;
}

void log_close(struct log_reader *l)
{
	if (!l)
		return;
	if (l->file)
		fclose(l->file);
	for (uint32_t i = 0; i < l->nr_domains; i++)
		free(l->domain[i].name);
	free(l->domain);
	free(l->vcpu);
	free(l->numbers);
	free(l->path);
	free(l);
}

const struct log_header *log_header(const struct log_reader *l)
{
	return &l->header;
}

uint32_t log_nr_vcpus(const struct log_reader *l)
{
	return l->nr_vcpus;
}

const struct log_vcpu *log_vcpu(const struct log_reader *l, uint32_t number)
{
	assert(number <= l->nr_vcpus);
	return &l->vcpu[number];
}

const char *log_domain_name(const struct log_reader *l, int32_t domain)
{
	for (uint32_t i = 0; i < l->nr_domains; i++) {
		if (l->domain[i].id == domain)
			return l->domain[i].name;
	}
	return NULL;
}

/* ------------------------------------------------------------------ records */

static void learn_domain(struct log_reader *l, const struct log_record *r)
{
	char *name = strdup(r->name);
	struct domain_name *d = NULL;

	for (uint32_t i = 0; i < l->nr_domains && !d; i++)
		d = l->domain[i].id == r->domain ? &l->domain[i] : NULL;
	if (!d && l->nr_domains == l->room_domains) {
		uint32_t room = l->room_domains ? 2 * l->room_domains : 16;
		struct domain_name *more = NULL;

		if (room <= DOMAINS_MAX)
			more = realloc(l->domain, room * sizeof(*more));
		if (!more) {
			l->fault = "out of memory for domains";
			free(name);
			return;
		}
		l->domain = more;
		l->room_domains = room;
	}
	if (!name) {
		l->fault = "out of memory";
		return;
	}
	if (!d) {
		d = &l->domain[l->nr_domains++];
		*d = (struct domain_name){.id = r->domain};
	}
	free(d->name);
	d->name = name;
}

static void learn_vcpu(struct log_reader *l, const struct log_record *r)
{
	if (r->vcpu != l->nr_vcpus + 1 || r->vcpu >= VCPUS_MAX) {
		l->fault = "a vCPU has a number out of turn";
		return;
	}
	if (r->a < 0 || r->a >= HV_MAX_VCPUS) {
		l->fault = "a vCPU id is not in 0..8191";
		return;
	}
	if (r->vcpu >= l->room_vcpus) {
		uint32_t room = 2 * l->room_vcpus + 16;
		struct log_vcpu *more = realloc(l->vcpu, room * sizeof(*more));

		if (!more) {
			l->fault = "out of memory";
			return;
		}
		l->vcpu = more;
		l->room_vcpus = room;
	}
	l->nr_vcpus = r->vcpu;
	l->vcpu[r->vcpu] = (struct log_vcpu){.domain = r->domain, .id = (uint32_t)r->a};
}

static void get_field(struct log_reader *l, struct log_record *r, uint8_t field)
{
	uint64_t value;

	switch (field) {
	case LOG_F_PCPU:
		value = get_varint(l);
		/* An unknown pCPU is allowed: a vCPU that was not placed yet. */
		if (value >= l->header.topology.nr_pcpus && value != HV_NO_PCPU)
			l->fault = l->fault ? l->fault : "a pCPU is not in the topology";
		r->pcpu = (uint32_t)value;
		break;
	case LOG_F_VCPU:
	case LOG_F_PREV:
		value = get_varint(l);
		if (value > l->nr_vcpus && r->kind != LOG_VCPU)
			l->fault = l->fault ? l->fault : "a vCPU was not introduced before";
		if (value > UINT32_MAX)
			l->fault = l->fault ? l->fault : "a vCPU number is beyond 32 bits";
		if (field == LOG_F_VCPU)
			r->vcpu = (uint32_t)value;
		else
			r->prev = (uint32_t)value;
		break;
	case LOG_F_DOMAIN:
		value = (uint64_t)get_signed(l);
		if ((int64_t)value < INT32_MIN || (int64_t)value > INT32_MAX)
			l->fault = l->fault ? l->fault : "a domain id is beyond 32 bits";
		r->domain = (int32_t)value;
		break;
	case LOG_F_A:
		r->a = get_signed(l);
		break;
	case LOG_F_B:
		r->b = get_signed(l);
		break;
	case LOG_F_NS:
		value = get_byte(l);
		if (value >> OBSERVE_NR_RUN)
			l->fault = l->fault ? l->fault : "a time has no category";
		for (unsigned c = 0; c < OBSERVE_NR_RUN; c++)
			r->ns[c] = value >> c & 1 ? get_signed(l) : 0;
		break;
	case LOG_F_NAME:
		get_string(l, l->name);
		r->name = l->name;
		break;
	}
}

/* What the fields of a kind must satisfy beyond their own range. */
static const char *check_record(const struct log_reader *l, const struct log_record *r)
{
	int64_t age = r->time - l->header.start;

	switch (r->kind) {
	case HV_TRACE_RUNSTATE:
		if (r->a < 0 || r->a >= HV_NR_RUNSTATES || r->b < 0 || r->b >= HV_NR_RUNSTATES)
			return "a runstate is not in 0..3";
		break;
	case LOG_VCPU:
		if (r->b < 0 || r->b >= HV_NR_RUNSTATES)
			return "a runstate is not in 0..3";
		break;
	case LOG_PCPU:
		if (r->a < 0 || r->a >= OBSERVE_NR_MODES || r->pcpu == HV_NO_PCPU)
			return "the mode of a pCPU is not in 0..4";
		break;
	case HV_TRACE_SWITCH:
	case HV_TRACE_CONT:
	case HV_TRACE_TICKLE:
	case HV_TRACE_ENTER:
	case HV_TRACE_MISSED:
		if (r->pcpu == HV_NO_PCPU)
			return "a pCPU is missing";
		break;
	case LOG_RUN:
	case LOG_IDLE_RUNNABLE:
		if (r->a < 0 || r->b < 0 || r->a > age || r->b > age - r->a)
			return "an interval begins before the run";
		break;
	}
	switch (r->kind) {
	case HV_TRACE_WAKE:
	case HV_TRACE_BLOCK:
	case HV_TRACE_YIELD:
	case HV_TRACE_RUNSTATE:
	case HV_TRACE_PAUSE:
	case HV_TRACE_FORCE:
	case LOG_VCPU:
	case LOG_GONE:
	case LOG_RUN:
	case LOG_CORE_WAIT:
	case LOG_IDLE_RUNNABLE:
		return r->vcpu == 0 ? "a vCPU is missing" : NULL;
	}
	return NULL;
}

static void get_record(struct log_reader *l, struct log_record *r)
{
	uint8_t tag = get_byte(l);
	uint64_t delta;

	*r = (struct log_record){.kind = tag & 0x7f, .pcpu = HV_NO_PCPU};
	if (l->fault)
		return;
	if (!log_kind_name(r->kind)) {
		l->fault = "no kind of record has this number: the file is corrupt";
		return;
	}
	delta = tag & 0x80 ? 0 : get_varint(l);
	/* Half the range on both sides of zero: differences of times never overflow. */
	if (delta > INT64_MAX / 2 || (int64_t)delta > INT64_MAX / 2 - l->time) {
		l->fault = "a time is beyond 146 years";
		return;
	}
	r->time = l->time + (int64_t)delta;
	for (const uint8_t *field = log_layout[r->kind]; *field != LOG_F_NONE; field++)
		get_field(l, r, *field);
	if (l->fault)
		return;
	l->fault = check_record(l, r);
	if (!l->fault && r->kind == LOG_DOMAIN)
		learn_domain(l, r);
	if (!l->fault && r->kind == LOG_VCPU)
		learn_vcpu(l, r);
	l->time = r->time;
}

/* LOG_END is read; sum: hash of everything before it, own: hash of its own bytes. */
static void check_end(struct log_reader *l, const struct log_record *r, uint64_t sum)
{
	uint64_t own = hash_so_far(l);

	if (get_fixed(l, 8) != own && !l->fault)
		l->fault = "the end record does not agree with its hash: the file is corrupt";
	if (!l->fault && (uint64_t)r->a != l->records)
		l->fault = "the number of records is not what the end record says";
	if (!l->fault && (uint64_t)r->b != sum)
		l->fault = "the records do not agree with their hash: the file is corrupt";
	if (!l->fault && fill(l))
		l->fault = "there is something after the end record";
	l->finished = true;
}

int log_next(struct log_reader *l, struct log_record *r, char *error, size_t size)
{
	uint64_t sum = 0;

	if (l->finished && !l->fault)
		return 0;
	if (!l->fault && fill(l) && (l->window[l->at] & 0x7f) == LOG_END) {
		sum = hash_so_far(l);
		hash_anew(l);
	}
	if (!l->fault)
		get_record(l, r);
	if (!l->fault && r->kind == LOG_END)
		check_end(l, r, sum);
	if (l->fault) {
		complain(l, error, size, "%s", l->fault);
		return -1;
	}
	l->records++;
	return 1;
}
