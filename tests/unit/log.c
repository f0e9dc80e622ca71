/*
 * The event log: what is written is what is read; a cut or changed file is refused; a failing disk
 * is reported; the log alone gives the ledger's figures.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "observe/log.h"
#include "observe/log_summary.h"
#include "observe_world.h"
#include "temporary.h"

static char path[PATH_MAX];

static int make_file(void **state)
{
	(void)state;
	return temporary_make(path, ".log") ? 0 : -1;
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

static struct observe *create(bool log, bool hash)
{
	struct observe_config config = {
		.topology = &world_topology,
		.hash = hash,
		.log_path = log ? path : NULL,
		.scenario = "x.yaml",
		.variant = "runq=core",
		.seed = 1ULL << 63,
	};
	struct observe *o = NULL;

	assert_int_equal(observe_create(&config, &o), 0);
	return o;
}

/* A random run; mark_at < 0: without warm-up. Leaves the closed observer in w->o. */
static void run_world(struct world *w, struct observe *o, uint64_t seed, int steps, int mark_at)
{
	assert_int_equal(observe_domain_name(o, 1, "web\033[31m"), 0);
	world_create(w, o, seed);
	for (int step = 0; step < steps; step++) {
		world_step(w);
		if (step == mark_at)
			world_mark(w);
		if (step == steps / 2)
			world_destroy_vcpu(w, 0);
	}
	observe_idle_runnable(o, &w->vcpu[3].v, w->now / 2, w->now);
	world_report_all(w);
	assert_int_equal(observe_close(o, w->now), 0);
}

static uint8_t *read_file(size_t *size)
{
	FILE *f = fopen(path, "rb");
	uint8_t *bytes = malloc(1 << 22);

	assert_non_null(f);
	*size = fread(bytes, 1, 1 << 22, f);
	assert_true(*size < 1 << 22);
	fclose(f);
	return bytes;
}

static void write_file(const uint8_t *bytes, size_t size)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

/* Reads to the end: number of records, or -1 with the message. */
static long read_all(char *error, size_t size)
{
	struct log_reader *l = log_open(path, error, size);
	struct log_record r;
	long records = 0;
	int got = -1;

	if (!l)
		return -1;
	while ((got = log_next(l, &r, error, size)) > 0)
		records++;
	if (got < 0)
		assert_int_equal(log_next(l, &r, error, size), -1); /* and it stays so */
	else
		assert_int_equal(log_next(l, &r, error, size), 0);
	log_close(l);

	/* The summary meets the same harm, and comes to the same end. */
	struct log_summary s;

	l = log_open(path, error, size);
	assert_non_null(l);
	assert_int_equal(log_summarize(l, -1, -1, &s, error, size), got < 0 ? -1 : 0);
	log_close(l);
	log_summary_fini(&s);
	return got < 0 ? -1 : records;
}

static void the_header_tells_the_run(void **state)
{
	char error[256];
	struct world w;

	(void)state;
	run_world(&w, create(true, false), 5, 100, -1);

	struct log_reader *l = log_open(path, error, sizeof(error));

	assert_non_null(l);
	assert_string_equal(log_header(l)->scenario, "x.yaml");
	assert_string_equal(log_header(l)->variant, "runq=core");
	assert_true(log_header(l)->seed == 1ULL << 63);
	assert_int_equal(log_header(l)->start, 0);
	assert_int_equal(log_header(l)->topology.nr_pcpus, WORLD_PCPUS);
	for (int c = 0; c < WORLD_PCPUS; c++)
		assert_int_equal(log_header(l)->topology.core[c], world_core[c]);
	log_close(l);
	observe_destroy(w.o);
}

static void every_field_of_every_kind_comes_back(void **state)
{
	const struct observe_config config = {.topology = &world_topology, .log_path = path};
	const int64_t extremes[] = {0, 1, -1, 63, 64, INT32_MAX, INT64_MAX, INT64_MIN};
	struct log_record sent[200], r;
	struct log_writer *w;
	struct log_reader *l;
	char error[256];
	int n = 0;

	(void)state;
	assert_int_equal(log_writer_create(&config, &w), 0);
	sent[n++] = (struct log_record){
		.kind = LOG_VCPU, .time = 7, .vcpu = 1, .domain = -5, .a = 8191, .b = HV_OFFLINE};
	sent[n++] = (struct log_record){
		.kind = LOG_DOMAIN, .time = 7, .domain = 32752, .name = "a name"};
	for (unsigned kind = 0; kind < LOG_NR_KINDS; kind++) {
		if (!log_kind_name(kind) || kind == LOG_VCPU || kind == LOG_DOMAIN ||
		    kind == LOG_END)
			continue;
		for (unsigned e = 0; e < 8; e++) {
			bool free_ab = kind == HV_TRACE_RQMOVE || kind == HV_TRACE_PAUSE ||
				       kind == HV_TRACE_ASSIGN;

			r = (struct log_record){.kind = kind,
						.time = 1000LL * n,
						.pcpu = 3,
						.vcpu = 1,
						.prev = e % 2,
						.domain = 9};
			r.a = free_ab ? extremes[e] : e % 4;
			r.b = free_ab ? extremes[7 - e] : (e + 1) % 4;
			for (int c = 0; c < OBSERVE_NR_RUN; c++)
				r.ns[c] = extremes[(e + (unsigned)c) % 8];
			sent[n++] = r;
		}
	}
	for (int i = 0; i < n; i++)
		log_write(w, &sent[i]);
	assert_int_equal(log_writer_close(w, 1000LL * n), 0);
	log_writer_destroy(w);
	l = log_open(path, error, sizeof(error));
	for (int i = 0; i < n; i++) {
		assert_int_equal(log_next(l, &r, error, sizeof(error)), 1);
		assert_int_equal(r.kind, sent[i].kind);
		assert_int_equal(r.time, sent[i].time);
		for (const uint8_t *f = log_layout[r.kind]; *f; f++) {
			if (*f == LOG_F_PCPU)
				assert_int_equal(r.pcpu, sent[i].pcpu);
			else if (*f == LOG_F_VCPU)
				assert_int_equal(r.vcpu, sent[i].vcpu);
			else if (*f == LOG_F_PREV)
				assert_int_equal(r.prev, sent[i].prev);
			else if (*f == LOG_F_DOMAIN)
				assert_int_equal(r.domain, sent[i].domain);
			else if (*f == LOG_F_A)
				assert_int_equal(r.a, sent[i].a);
			else if (*f == LOG_F_B)
				assert_int_equal(r.b, sent[i].b);
			else if (*f == LOG_F_NS)
				assert_memory_equal(r.ns, sent[i].ns, sizeof(r.ns));
			else
				assert_string_equal(r.name, sent[i].name);
		}
	}
	assert_int_equal(log_next(l, &r, error, sizeof(error)), 1);
	assert_int_equal(r.kind, LOG_END);
	assert_int_equal(r.a, n);
	assert_int_equal(log_next(l, &r, error, sizeof(error)), 0);
	assert_string_equal(log_domain_name(l, 32752), "a name");
	assert_int_equal(log_vcpu(l, 1)->domain, -5);
	log_close(l);
}

static void control_characters_of_a_name_never_come_out(void **state)
{
	char error[256];
	struct log_record r;
	struct world w;

	(void)state;
	run_world(&w, create(true, false), 5, 100, -1);

	struct log_reader *l = log_open(path, error, sizeof(error));

	assert_non_null(l);
	while (log_next(l, &r, error, sizeof(error)) > 0)
		;
	assert_string_equal(log_domain_name(l, 1), "web?[31m");
	assert_null(log_domain_name(l, 99));
	log_close(l);
	observe_destroy(w.o);
}

/* The witness and the ledger, window by window. */
static void compare(const struct world *w, const struct log_summary *s)
{
	struct observe_totals totals;
	uint64_t wakes = 0, switches = 0;

	observe_totals(w->o, &totals);
	assert_int_equal(s->from, totals.start);
	assert_int_equal(s->to, totals.end);
	assert_int_equal(s->nr_vcpus, observe_nr_vcpus(w->o));
	for (uint32_t i = 1; i <= s->nr_vcpus; i++) {
		const struct observe_vcpu *v = observe_vcpu(w->o, i);
		int64_t waiting = 0;

		for (int c = OBSERVE_NR_RUN; c < OBSERVE_BLOCKED; c++)
			waiting += v->ns[c];
		assert_int_equal(s->vcpu[i].state[HV_RUNNING], observe_cpu_time(v->ns));
		assert_int_equal(s->vcpu[i].state[HV_BLOCKED], v->ns[OBSERVE_BLOCKED]);
		assert_int_equal(s->vcpu[i].state[HV_RUNNABLE] + s->vcpu[i].state[HV_OFFLINE],
				 waiting);
		assert_int_equal(s->vcpu[i].dispatches, v->counts.dispatches);
		for (int c = 0; c < OBSERVE_NR_RUN; c++)
			assert_int_equal(s->vcpu[i].run[c], v->ns[c]);
	}
	for (unsigned c = 0; c < WORLD_PCPUS; c++) {
		for (int m = 0; m < OBSERVE_NR_MODES; m++)
			assert_int_equal(s->pcpu[c].mode[m], observe_pcpu_result(w->o, c)->ns[m]);
		switches += observe_pcpu_result(w->o, c)->switches;
	}
	for (uint32_t d = 0; d < observe_nr_domains(w->o); d++)
		wakes += observe_domain(w->o, d)->wake.count;
	assert_int_equal(s->wake.count, wakes);
	assert_int_equal(s->count[HV_TRACE_SWITCH], switches);
	assert_int_equal(s->count[HV_TRACE_WAKE], totals.vcpus.counts.wakes);
}

static void the_log_alone_gives_the_ledgers_figures(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct log_summary s;
		char error[256];
		struct world w;

		run_world(&w, create(true, false), seed, 6000, seed % 3 ? 2000 : -1);

		struct log_reader *l = log_open(path, error, sizeof(error));

		assert_non_null(l);
		assert_int_equal(log_summarize(l, -1, -1, &s, error, sizeof(error)), 0);
		log_close(l);
		compare(&w, &s);
		assert_true(s.wake.count > 0);
		log_summary_fini(&s);
		observe_destroy(w.o);
	}
}

static void windows_of_the_log_add_up(void **state)
{
	struct log_summary whole, part[2];
	char error[256];
	struct world w;

	(void)state;
	run_world(&w, create(true, false), 3, 5000, -1);
	for (int i = 0; i < 3; i++) {
		struct log_reader *l = log_open(path, error, sizeof(error));
		hv_time from = i == 2 ? w.now / 3 : 0, to = i == 1 ? w.now / 3 : -1;

		assert_non_null(l);
		assert_int_equal(
			log_summarize(l, from, to, i ? &part[i - 1] : &whole, error, sizeof(error)),
			0);
		log_close(l);
	}
	for (uint32_t v = 1; v <= whole.nr_vcpus; v++) {
		for (int c = 0; c < HV_NR_RUNSTATES; c++)
			assert_int_equal(whole.vcpu[v].state[c],
					 part[0].vcpu[v].state[c] + part[1].vcpu[v].state[c]);
	}
	for (int kind = 0; kind < LOG_NR_KINDS; kind++) {
		if (kind != LOG_VCPU)
			assert_int_equal(whole.count[kind],
					 part[0].count[kind] + part[1].count[kind]);
	}
	assert_int_equal(part[0].to, part[1].from);
	log_summary_fini(&whole);
	log_summary_fini(&part[0]);
	log_summary_fini(&part[1]);
	observe_destroy(w.o);
}

static void a_log_cut_at_any_byte_is_refused(void **state)
{
	char error[256];
	struct world w;
	size_t size;
	uint8_t *bytes;

	(void)state;
	run_world(&w, create(true, false), 9, 400, 100);
	observe_destroy(w.o);
	bytes = read_file(&size);
	assert_true(read_all(error, sizeof(error)) > 200);
	for (size_t cut = 0; cut < size; cut++) {
		write_file(bytes, cut);
		error[0] = '\0';
		assert_int_equal(read_all(error, sizeof(error)), -1);
		assert_non_null(strstr(error, path));
		assert_non_null(strstr(error, cut ? "the log ends too early" : "empty"));
	}
	bytes[size] = 0;
	write_file(bytes, size + 1);
	assert_int_equal(read_all(error, sizeof(error)), -1);
	assert_non_null(strstr(error, "something after the end record"));
	free(bytes);
}

static void a_log_changed_in_any_byte_is_refused(void **state)
{
	const uint8_t changes[] = {0x01, 0x80, 0xff, 0x20};
	char error[256];
	struct world w;
	size_t size;
	uint8_t *bytes;

	(void)state;
	run_world(&w, create(true, false), 10, 400, 100);
	observe_destroy(w.o);
	bytes = read_file(&size);
	for (size_t at = 0; at < size; at++) {
		for (unsigned i = 0; i < sizeof(changes); i++) {
			bytes[at] ^= changes[i];
			write_file(bytes, size);
			error[0] = '\0';
			assert_int_equal(read_all(error, sizeof(error)), -1);
			assert_true(strlen(error) > strlen(path));
			bytes[at] ^= changes[i];
		}
	}
	free(bytes);
}

static void random_bytes_are_refused(void **state)
{
	uint8_t bytes[600];
	char error[256];
	struct world w;
	size_t size;
	uint8_t *good;

	(void)state;
	run_world(&w, create(true, false), 10, 4, -1);
	observe_destroy(w.o);
	good = read_file(&size);
	assert_true(size > 100);
	for (int round = 0; round < 3000; round++) {
		/* A good beginning, then noise. */
		size_t keep = world_random(&w, size < 500 ? size : 500);

		memcpy(bytes, good, keep);
		for (size_t i = keep; i < sizeof(bytes); i++)
			bytes[i] = (uint8_t)world_random(&w, 256);
		write_file(bytes, sizeof(bytes));
		assert_int_equal(read_all(error, sizeof(error)), -1);
	}
	free(good);
}

/* ------------------------------------------------------------------ failing disks */

static void a_log_that_cannot_be_made_is_an_error(void **state)
{
	struct observe_config config = {.topology = &world_topology,
					.log_path = "no-such-directory/x.log"};
	struct observe *o = NULL;
	char error[256];

	(void)state;
	assert_int_equal(observe_create(&config, &o), -ENOENT);
	assert_null(log_open("no-such-directory/x.log", error, sizeof(error)));
	assert_string_equal(error, "no-such-directory/x.log: error: cannot open the event log: "
				   "No such file or directory");
	assert_null(log_open(".", error, sizeof(error)));
	assert_non_null(strstr(error, "cannot"));
}

static void a_full_disk_at_the_start_is_an_error(void **state)
{
	struct observe_config config = {.topology = &world_topology, .log_path = "/dev/full"};
	struct observe *o = NULL;

	(void)state;
	assert_int_equal(observe_create(&config, &o), -ENOSPC);
	assert_null(o);
}

/* The disk takes `limit` bytes more than the header, then no more. */
static void run_with_limit(rlim_t limit, int steps, bool expect_early)
{
	struct rlimit saved, little;
	struct observe *o;
	struct world w;
	uint64_t hash;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &saved), 0);
	signal(SIGXFSZ, SIG_IGN);
	o = create(true, false);
	little = saved;
	little.rlim_cur = limit;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
	world_create(&w, o, 11);
	for (int step = 0; step < steps; step++)
		world_step(&w);
	world_report_all(&w);
	assert_int_equal(observe_error(o), expect_early ? -EFBIG : 0);
	hash = observe_hash(o);
	assert_int_equal(observe_close(o, w.now), -EFBIG);
	assert_int_equal(observe_error(o), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &saved), 0);
	observe_destroy(o);

	/* The hash is that of the run, not of what found its way to the disk. */
	o = create(false, true);
	world_create(&w, o, 11);
	for (int step = 0; step < steps; step++)
		world_step(&w);
	world_report_all(&w);
	assert_true(observe_hash(o) == hash);
	observe_destroy(o);
}

static void a_disk_that_fills_up_during_the_run_is_reported(void **state)
{
	char error[256];

	(void)state;
	run_with_limit(1000, 40000, true);
	assert_int_equal(read_all(error, sizeof(error)), -1);
	assert_non_null(strstr(error, "the log ends too early"));
}

static void a_disk_that_fills_up_at_the_very_end_is_reported(void **state)
{
	(void)state;
	run_with_limit(1000, 400, false); /* all in the buffer until observe_close() */
}

/* ------------------------------------------------------------------ hash */

static uint64_t hash_of(uint64_t seed, bool log, int64_t extra)
{
	struct observe *o = create(log, true);
	uint64_t hash;
	struct world w;

	world_create(&w, o, seed);
	for (int step = 0; step < 20000; step++)
		world_step(&w);
	if (extra) {
		world_report_all(&w);
		observe_pcpu(o, 1, w.now + extra, OBSERVE_PCPU_OFFLINE, 0);
	}
	hash = observe_hash(o);
	observe_destroy(o);
	return hash;
}

static void the_hash_is_the_same_with_and_without_a_file(void **state)
{
	(void)state;
	assert_true(hash_of(1, false, 0) == hash_of(1, true, 0));
	assert_true(hash_of(1, false, 0) == hash_of(1, false, 0));
}

static void the_hash_tells_runs_apart(void **state)
{
	(void)state;
	assert_true(hash_of(1, false, 0) != hash_of(2, false, 0));
	assert_true(hash_of(1, false, 1) != hash_of(1, false, 2)); /* one ns in the last record */
	assert_true(hash_of(1, false, 0) != hash_of(1, false, 1));
}

static void without_hash_or_log_there_is_none(void **state)
{
	(void)state;
	struct observe *o = create(false, false);

	assert_true(observe_hash(o) == 0);
	assert_int_equal(observe_close(o, 5), 0);
	observe_destroy(o);
}

static void the_hash_does_not_depend_on_how_bytes_are_cut(void **state)
{
	uint8_t bytes[100];
	struct log_hash whole, pieces;

	(void)state;
	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 37 + 11);
	log_hash_init(&whole);
	log_hash_add(&whole, bytes, sizeof(bytes));
	for (size_t a = 0; a <= sizeof(bytes); a++) {
		for (size_t b = a; b <= sizeof(bytes); b += 7) {
			log_hash_init(&pieces);
			log_hash_add(&pieces, bytes, a);
			log_hash_add(&pieces, bytes + a, b - a);
			log_hash_add(&pieces, bytes + b, sizeof(bytes) - b);
			assert_true(log_hash_value(&pieces) == log_hash_value(&whole));
		}
	}
}

static void every_bit_and_zeros_at_the_end_change_the_hash(void **state)
{
	uint8_t bytes[24] = {0};
	uint64_t seen[24 * 8 + 24];
	struct log_hash h;
	int n = 0;

	(void)state;
	for (size_t length = 1; length <= sizeof(bytes); length++) { /* zeros only */
		log_hash_init(&h);
		log_hash_add(&h, bytes, length);
		seen[n++] = log_hash_value(&h);
	}
	for (unsigned bit = 0; bit < 8 * sizeof(bytes); bit++) {
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		log_hash_init(&h);
		log_hash_add(&h, bytes, sizeof(bytes));
		seen[n++] = log_hash_value(&h);
		bytes[bit / 8] = 0;
	}
	for (int i = 0; i < n; i++) {
		for (int k = 0; k < i; k++)
			assert_true(seen[i] != seen[k]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_header_tells_the_run),
		cmocka_unit_test(every_field_of_every_kind_comes_back),
		cmocka_unit_test(control_characters_of_a_name_never_come_out),
		cmocka_unit_test(the_log_alone_gives_the_ledgers_figures),
		cmocka_unit_test(windows_of_the_log_add_up),
		cmocka_unit_test(a_log_cut_at_any_byte_is_refused),
		cmocka_unit_test(a_log_changed_in_any_byte_is_refused),
		cmocka_unit_test(random_bytes_are_refused),
		cmocka_unit_test(a_log_that_cannot_be_made_is_an_error),
		cmocka_unit_test(a_full_disk_at_the_start_is_an_error),
		cmocka_unit_test(a_disk_that_fills_up_during_the_run_is_reported),
		cmocka_unit_test(a_disk_that_fills_up_at_the_very_end_is_reported),
		cmocka_unit_test(the_hash_is_the_same_with_and_without_a_file),
		cmocka_unit_test(the_hash_tells_runs_apart),
		cmocka_unit_test(without_hash_or_log_there_is_none),
		cmocka_unit_test(the_hash_does_not_depend_on_how_bytes_are_cut),
		cmocka_unit_test(every_bit_and_zeros_at_the_end_change_the_hash),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
