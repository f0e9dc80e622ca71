/*
 * Random scripts: every command, random machines, parameters and guests, in any order. The engine's
 * whole state is walked after every operation; a replay must come to its end, twice with the same
 * record, and leave no memory behind.
 *
 * usage: conform_random [SCRIPTS [FIRST_SEED]]
 *
 * Script number n of a policy depends on FIRST_SEED + n only. One that fails is printed whole, so
 * that `hvsched conform --check --write` shows it again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conform/compare.h"
#include "conform/world.h"

#define MAX_DOMAINS 12

static unsigned nr_scripts = 250;
static uint64_t first_seed = 1;

/* A script being written. */
struct draft {
	FILE *out;
	char *text;
	size_t len;
	uint64_t random;
	const char *policy;
	bool has_weights; /* of domains, and caps */
	bool has_periods; /* rtds */
	bool has_table;	  /* arinc653 */
	bool has_pools;	  /* pools and hotplug */
	bool many_pools;  /* and a pool besides pool 0 is created */
	unsigned pcpus;
	unsigned nr_domains;
	unsigned id[MAX_DOMAINS], vcpus[MAX_DOMAINS];
	int64_t time, end; /* ns */
};

/* splitmix64 */
static uint64_t draw(struct draft *d)
{
	uint64_t z = d->random += 0x9E3779B97F4A7C15;

	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
	return z ^ (z >> 31);
}

static unsigned below(struct draft *d, unsigned n)
{
	return (unsigned)(draw(d) % n);
}

static bool one_in(struct draft *d, unsigned n)
{
	return below(d, n) == 0;
}

static unsigned one_of(struct draft *d, const unsigned *values, size_t nr)
{
	return values[below(d, (unsigned)nr)];
}

#define ONE_OF(d, ...)                             \
	one_of(d, (const unsigned[]){__VA_ARGS__}, \
	       sizeof((const unsigned[]){__VA_ARGS__}) / sizeof(unsigned))

static void write_topology(struct draft *d)
{
	unsigned sockets = ONE_OF(d, 1, 1, 2, 2, 3, 4);
	unsigned cores = ONE_OF(d, 1, 2, 2, 4, 5);
	unsigned threads = ONE_OF(d, 1, 2, 2, 4);

	/* More than 64 pCPUs now and then: masks of several words. */
	if (one_in(d, 25)) {
		cores = 17;
		threads = 2;
	}
	d->pcpus = sockets * cores * threads;
	fprintf(d->out, "topology %u %u %u", sockets, cores, threads);
	if (one_in(d, 2))
		fprintf(d->out, " nodes %u", 1 + below(d, sockets));
	fprintf(d->out, "\nipi %u\n", ONE_OF(d, 0, 0, 1, 700, 2500, 20000, 300000));
}

static void write_credit_params(struct draft *d)
{
	static const char *const tickle[] = {"head", "head-fixed", "head-without", "with-2012",
					     "without-2012"};

	if (one_in(d, 2))
		fprintf(d->out, "param credit_tickle %s\n", tickle[below(d, 5)]);
	if (one_in(d, 3))
		fprintf(d->out, "param sched_ratelimit_us %u\n", ONE_OF(d, 0, 50, 1000, 20000));
	if (one_in(d, 3))
		fprintf(d->out, "param sched_credit_tslice_ms %u\n", ONE_OF(d, 1, 2, 5, 10));
	if (one_in(d, 3))
		fprintf(d->out, "param vcpu_migration_delay %u\n", ONE_OF(d, 1, 1500, 100000));
	if (one_in(d, 3))
		fprintf(d->out, "param load-balance-ratelimit %u\n", ONE_OF(d, 0, 100, 5000));
	if (one_in(d, 4))
		fprintf(d->out, "param tickle_one_idle_cpu 0\n");
}

static void write_credit2_params(struct draft *d)
{
	static const char *const arrangement[] = {"cpu", "core", "socket", "node", "all"};

	if (!one_in(d, 4))
		fprintf(d->out, "param credit2_runqueue %s\n", arrangement[below(d, 5)]);
	if (one_in(d, 3))
		fprintf(d->out, "param sched_ratelimit_us %u\n", ONE_OF(d, 0, 100, 1000, 20000));
	if (one_in(d, 3))
		fprintf(d->out, "param sched_credit2_max_cpus_runqueue %u\n", 1 + below(d, 8));
	if (one_in(d, 3))
		fprintf(d->out, "param sched_credit2_migrate_resist %u\n", ONE_OF(d, 0, 1, 20000));
	if (one_in(d, 3))
		fprintf(d->out, "param credit2_cap_period_ms %u\n", 1 + below(d, 12));
	if (one_in(d, 4))
		fprintf(d->out, "param credit2_load_window_shift %u\n", 11 + below(d, 20));
	if (one_in(d, 4))
		fprintf(d->out, "param credit2_load_precision_shift %u\n", 4 + below(d, 15));
	if (one_in(d, 4))
		fprintf(d->out, "param credit2_balance_under %d\n", (int)below(d, 7) - 6);
	if (one_in(d, 4))
		fprintf(d->out, "param credit2_balance_over %d\n", (int)below(d, 7) - 6);
}

static void write_params(struct draft *d)
{
	if (one_in(d, 4))
		fprintf(d->out, "param sched_smt_power_savings 1\n");
	if (strcmp(d->policy, "credit") == 0)
		write_credit_params(d);
	else if (strcmp(d->policy, "credit2") == 0)
		write_credit2_params(d);
}

/* "DOM.VCPU" of any vCPU. */
static void write_vcpu(struct draft *d)
{
	unsigned i = below(d, d->nr_domains);

	fprintf(d->out, " %u.%u", d->id[i], below(d, d->vcpus[i]));
}

static void write_domain(struct draft *d)
{
	unsigned i = d->nr_domains++;
	static const unsigned weights[] = {1, 16, 256, 256, 256, 300, 512, 1024, 65535};

	/* Ids do not ascend, and are unique: i is in their lower digit. */
	d->id[i] = 1 + MAX_DOMAINS * below(d, 100) + i;
	d->vcpus[i] = 1 + below(d, one_in(d, 6) ? 12 : 4);
	fprintf(d->out, "domain %u vcpus %u", d->id[i], d->vcpus[i]);
	if (d->has_weights && one_in(d, 2))
		fprintf(d->out, " weight %u", one_of(d, weights, sizeof(weights) / 4));
	if (d->has_weights && one_in(d, 3))
		fprintf(d->out, " cap %u", 1 + below(d, 100 * d->vcpus[i] + 10));
	if (d->has_table && one_in(d, 4))
		fprintf(d->out, " handle %u", d->id[below(d, i + 1)]);
	if (d->has_table && one_in(d, 4))
		fputs(" control", d->out);
	fputc('\n', d->out);
}

static void write_behaviour(struct draft *d)
{
	unsigned run = ONE_OF(d, 1, 50000, 300000, 1000000, 3000000);
	unsigned sleep = ONE_OF(d, 1, 100000, 1000000, 5000000);

	fputs("behave", d->out);
	write_vcpu(d);
	switch (below(d, 5)) {
	case 0:
		fputs(" busy\n", d->out);
		break;
	case 1:
		/* Without sleep and latency it must not act a million times. */
		fprintf(d->out, " yielder %u\n", run + 20000);
		break;
	case 2:
		fprintf(d->out, " periodic %u %u\n", run, sleep + 1000);
		break;
	default:
		fprintf(d->out, " random %" PRIu64 " %u %u\n", draw(d), run + 10000, sleep + 10000);
	}
}

/* Sets that are dense, sparse, or one pCPU. */
static void write_pcpus(struct draft *d)
{
	unsigned dense = ONE_OF(d, 2, 4, 100);
	const char *comma = " ";

	if (one_in(d, 5)) {
		fputs(" all\n", d->out);
		return;
	}
	for (unsigned p = 0; p < d->pcpus; p++) {
		if (!one_in(d, dense))
			continue;
		fprintf(d->out, "%s%u", comma, p);
		comma = ",";
	}
	if (*comma == ' ')
		fprintf(d->out, " %u", below(d, d->pcpus));
	fputc('\n', d->out);
}

static void write_domain_parameter(struct draft *d)
{
	unsigned i = below(d, d->nr_domains);

	if (one_in(d, 2))
		fprintf(d->out, "weight %u %u\n", d->id[i], ONE_OF(d, 0, 1, 100, 256, 512, 65535));
	else
		fprintf(d->out, "cap %u %u\n", d->id[i],
			one_in(d, 3) ? 0 : 1 + below(d, 100 * d->vcpus[i] + 10));
}

/* Some are refused: more in the windows than in the frame, or a length of zero. */
static void write_table(struct draft *d)
{
	unsigned nr = one_in(d, 10) ? below(d, 67) : below(d, 6);
	unsigned window = ONE_OF(d, 50000, 300000, 1000000, 5000000);

	if (one_in(d, 5)) {
		fputs("arinc-get\n", d->out);
		return;
	}
	fprintf(d->out, "arinc %" PRIu64,
		(uint64_t)nr * window + (one_in(d, 2) ? below(d, 9000000) : 0));
	for (unsigned i = 0; i < nr; i++) {
		unsigned k = below(d, d->nr_domains);

		fprintf(d->out, " %u.%u:%u", one_in(d, 9) ? 9999 : d->id[k],
			below(d, d->vcpus[k] + 1),
			one_in(d, 40) ? 0 : window + (one_in(d, 30) ? 1 : 0));
	}
	fputc('\n', d->out);
}

static void write_periods(struct draft *d)
{
	unsigned period = ONE_OF(d, 9, 100, 1000, 5000, 10000, 40000);

	fputs("rtds", d->out);
	write_vcpu(d);
	fprintf(d->out, " %u %u %u\n", period, one_in(d, 5) ? period : 1 + below(d, period + 9),
		below(d, 2));
}

/* What only the policy has; with several pools, some policy. */
static void write_policy_command(struct draft *d)
{
	if (d->has_table)
		write_table(d);
	else if (d->has_periods || (d->many_pools && one_in(d, 2)))
		write_periods(d);
	else
		write_domain_parameter(d);
}

/* Pools are numbered 0 to 3, whether they are there or not. */
static void write_pool_command(struct draft *d)
{
	static const char *const policies[] = {"credit2", "credit", "rtds", "null", "arinc653"};
	static const char *const grans[] = {"cpu", "core", "socket"};
	unsigned pool = below(d, 4), pcpu = below(d, d->pcpus);

	switch (below(d, 12)) {
	case 0:
	case 1:
		fprintf(d->out, "pool-create %u %s", pool, policies[below(d, 5)]);
		d->many_pools = true;
		if (one_in(d, 3))
			fputs("\n", d->out);
		else
			fprintf(d->out, " gran %s\n", grans[below(d, 3)]);
		break;
	case 2:
		fprintf(d->out, "pool-destroy %u\n", pool);
		break;
	case 3:
		fprintf(d->out, "pool-gran %u %s\n", pool, grans[below(d, 3)]);
		break;
	case 4:
	case 5:
		fprintf(d->out, "pool-add %u %u\n", pool, pcpu);
		break;
	case 6:
	case 7:
		fprintf(d->out, "pool-remove %u %u\n", one_in(d, 3) ? pool : 0, pcpu);
		break;
	case 8:
	case 9:
		fprintf(d->out, "pool-move %u %u\n", d->id[below(d, d->nr_domains)], pool);
		break;
	case 10:
		fprintf(d->out, "offline %u\n", pcpu);
		break;
	default:
		fprintf(d->out, "online %u\n", pcpu);
	}
}

static void write_command(struct draft *d)
{
	static const char *const words[] = {"wake",  "wake",	"wake",	 "wake", "block", "block",
					    "yield", "unpause", "pause", "down", "hard",  "soft"};
	unsigned choice = below(d, 16);

	if (d->has_pools && one_in(d, 4)) {
		write_pool_command(d);
		return;
	}
	if (choice < sizeof(words) / sizeof(words[0])) {
		fputs(words[choice], d->out);
		write_vcpu(d);
		if (choice >= 10)
			write_pcpus(d);
		else
			fputc('\n', d->out);
	} else if (choice == 12) {
		write_behaviour(d);
	} else if (choice == 13 && d->nr_domains < MAX_DOMAINS && one_in(d, 3)) {
		write_domain(d);
	} else if (choice == 14) {
		fprintf(d->out, "ratelimit %u\n", ONE_OF(d, 0, 100, 1000, 50000, 99));
	} else {
		write_policy_command(d);
	}
}

/* The script of a seed; d->text is the caller's. */
static void write_script(struct draft *d, uint64_t seed, const char *policy)
{
	unsigned commands;

	memset(d, 0, sizeof(*d));
	d->random = seed;
	d->policy = policy;
	d->has_weights = strncmp(policy, "credit", 6) == 0;
	d->has_periods = strcmp(policy, "rtds") == 0;
	d->has_table = strcmp(policy, "arinc653") == 0;
	/* A replay keeps Xen's order of steps, which does not suit a policy that is not Xen's. */
	d->has_pools = one_in(d, 3) && !d->has_table && strcmp(policy, "round-robin") != 0;
	d->out = open_memstream(&d->text, &d->len);
	assert_non_null(d->out);
	fprintf(d->out, "sched %s\n", policy);
	write_topology(d);
	if (d->has_pools && one_in(d, 2))
		fprintf(d->out, "param sched-gran %s\n", one_in(d, 3) ? "socket" : "core");
	write_params(d);
	for (unsigned n = 1 + below(d, 5); n; n--)
		write_domain(d);
	for (unsigned n = below(d, 12); n; n--)
		write_behaviour(d);
	for (unsigned n = below(d, 3) * 4; n; n--)
		write_command(d);
	commands = ONE_OF(d, 20, 60, 120);
	for (unsigned n = 0; n < commands; n++) {
		/* Often several lines at one time. */
		if (!one_in(d, 4))
			d->time += below(d, ONE_OF(d, 3, 3000, 400000, 2000000));
		fprintf(d->out, "at %" PRId64 " ", d->time);
		write_command(d);
	}
	fprintf(d->out, "run-until %" PRId64 "\n", d->time + below(d, 5000000));
	assert_int_equal(fclose(d->out), 0);
}

static void replay_checked(const struct script *s, const struct draft *d, uint64_t seed,
			   struct record *out)
{
	static const struct replay_options checked = {.check = true};
	struct replay_result result;

	if (replay(s, &checked, out, &result) == REPLAY_DONE)
		return;
	print_error("%s# seed %" PRIu64 ", at %" PRId64 " ns, line %u: %s\n", d->text, seed,
		    result.time, result.why.line, result.why.text);
	fail();
}

static void random_scripts(const char *policy)
{
	size_t lines = 0;

	for (uint64_t seed = first_seed; seed < first_seed + nr_scripts; seed++) {
		struct draft d;
		struct script s;
		struct script_error err;
		struct record once = {0}, again = {0};

		write_script(&d, seed, policy);
		if (script_parse(d.text, d.len, &s, &err)) {
			print_error("%s# seed %" PRIu64 ", line %u: %s\n", d.text, seed, err.line,
				    err.text);
			fail();
		}
		replay_checked(&s, &d, seed, &once);
		replay_checked(&s, &d, seed, &again);
		if (compare_records(&once, &again) != SIZE_MAX)
			fail_msg("seed %" PRIu64 " gives two records", seed);
		lines += once.nr;
		record_free(&once);
		record_free(&again);
		script_free(&s);
		free(d.text);
	}
	/* They do something: 60 lines on average are far below what a working replay gives. */
	assert_true(lines > 60 * (size_t)nr_scripts);
}

static void random_credit_scripts_break_no_law(void **state)
{
	(void)state;
	random_scripts("credit");
}

static void random_credit2_scripts_break_no_law(void **state)
{
	(void)state;
	random_scripts("credit2");
}

static void random_null_scripts_break_no_law(void **state)
{
	(void)state;
	random_scripts("null");
}

static void random_rtds_scripts_break_no_law(void **state)
{
	(void)state;
	random_scripts("rtds");
}

static void random_arinc653_scripts_break_no_law(void **state)
{
	(void)state;
	random_scripts("arinc653");
}

static void random_round_robin_scripts_break_no_law(void **state)
{
	(void)state;
	random_scripts("round-robin");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_credit_scripts_break_no_law),
		cmocka_unit_test(random_credit2_scripts_break_no_law),
		cmocka_unit_test(random_null_scripts_break_no_law),
		cmocka_unit_test(random_rtds_scripts_break_no_law),
		cmocka_unit_test(random_arinc653_scripts_break_no_law),
		cmocka_unit_test(random_round_robin_scripts_break_no_law),
	};

	if (argc > 1)
		nr_scripts = (unsigned)strtoul(argv[1], NULL, 10);
	if (argc > 2)
		first_seed = strtoull(argv[2], NULL, 10);
	return cmocka_run_group_tests_name("conform_random", tests, NULL, NULL);
}
