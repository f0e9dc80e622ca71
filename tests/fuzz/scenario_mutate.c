/*
 * Scenario files with random changes: none may crash the reader, and each ends as told.
 *
 * usage: fuzz_scenario_mutate COUNT FILE...     (files that are right; COUNT mutations over all)
 *
 * Laws: a text is either refused, with at least one error and a message for it, or accepted; what
 * is accepted can be printed, and the print is accepted and prints as itself. The mutations follow
 * from their number, so a failure is found again by the same COUNT and files. Prints TAP.
 */
#include <assert.h>
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scenario/scenario.h"

#define MAX_TEXT  32768 /* bytes of a mutated text */
#define MAX_FILES 256

static const char built_in_text[] =
	"host: {topology: 2x2x2, cmdline: sched=credit2 credit2_runqueue=core smt=1}\n"
	"dom0: {vcpus: 2, workload: [iperf-dom0, idle]}\n"
	"classes: {build: {sigma: 0.6}}\n"
	"workloads:\n"
	"  own: {params: {t: 3ms, n: 4}, locks: {l: {kind: futex, count: $n}},\n"
	"    program: [{loop: {times: $n, do: [{compute: exp($t)}, {lock: l}, {unlock: l}]}},\n"
	"      done],\n"
	"    metric: elapsed}\n"
	"vms:\n"
	"  - {name: a, vcpus: 2, maxvcpus: 3, weight: 512, cap: 50, cpus: '0-3,^1',\n"
	"     workload: {use: own, t: 4ms}, placement: {0: 25%, 1: 75%}, memory: 1GiB,\n"
	"     start: 10ms}\n"
	"  - {name: b, count: 3, cpus: [['0'], ['2-3']], cpus_soft: 'node:1',\n"
	"     workload: {use: xen-build, jobs: 3}}\n"
	"  - {name: i, workload: iperf}\n"
	"run: {warmup: 1s, duration: 2s, seeds: 2, seed: 7, until: a, stall_limit: 1s}\n"
	"variants:\n"
	"  - {name: x}\n"
	"  - {name: y, cmdline: smt=off, set: {vms.a.weight: 100, run.seeds: 1}}\n"
	"timeline:\n"
	"  - {at: 1s, every: 10ms, times: 5, do: [pause b, unpause b1, 'vcpu-pin a all 0-1 -']}\n"
	"  - {at: 1s, do: 'sched-credit2 -d a -w 3 -c 20'}\n"
	"expect:\n"
	"  - a.elapsed[x] < a.elapsed[y] * 2 +- 5%\n"
	"  - {that: 'sum(b.cpu) <= 300%', seeds: each}\n";

/* What bugs like: borders, units, YAML's own signs, names that mean something. */
static const char *const words[] = {
	"0",
	"1",
	"-1",
	"65535",
	"65536",
	"4096",
	"4097",
	"1024",
	"99999999999999999999",
	"0.5",
	"9223372036854775807",
	"1e9",
	"%",
	"100%",
	"ms",
	"30ms",
	"0ns",
	"GiB",
	"GB/s",
	"/s",
	"x",
	"[",
	"]",
	"{",
	"}",
	":",
	": ",
	",",
	"'",
	"\"",
	"&a ",
	"*a",
	"!!int ",
	"- ",
	"? ",
	"#",
	"|",
	">",
	"\n",
	"\t",
	"  ",
	"---\n",
	"~",
	"null",
	"\xff",
	"\xc3\xa9",
	"\x01",
	"$",
	"$vcpus",
	"${",
	"all",
	"^all",
	"node:",
	"node:1",
	"0-",
	"3-1",
	"this-host",
	"2x8x2",
	"64x64x64",
	"0x0x0",
	"pack:2 core:2 pu:2",
	"sched=null",
	"sched=credit",
	"credit_tickle=head-fixed",
	"sched-credit -s -t 5 -r 100 -m 1",
	"sched=",
	"smt=off",
	"maxcpus=1",
	"nosmp",
	"dom0_nodes=1",
	"dom0_max_vcpus=0-",
	"exp(",
	"uniform(1ms, 2ms)",
	"lognormal(1ms, 9)",
	"r0/0",
	"r9",
	"noise",
	"hog",
	"idle",
	"dom0",
	"host",
	"cpu",
	"none",
	"off",
	"use",
	"name",
	"count",
	"program",
	"forever",
	"loop",
	"done",
	"elapsed",
	"rate",
	"a",
	"b",
	"b1",
	"(",
	")",
	"+-",
	"==",
	"<",
};
#define N_WORDS (sizeof(words) / sizeof(words[0]))

static uint64_t random_state;

static unsigned int draw(unsigned int n)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return n ? (unsigned int)(random_state >> 33) % n : 0;
}

/* text[at, at + cut) is replaced by `with`. */
static void splice(char *text, size_t at, size_t cut, const char *with, size_t len)
{
	size_t all = strlen(text);

	if (at > all || cut > all - at || all - cut + len >= MAX_TEXT)
		return;
	memmove(text + at + len, text + at + cut, all - at - cut + 1);
	memcpy(text + at, with, len);
}

static size_t line_start(const char *text, size_t at)
{
	while (at > 0 && text[at - 1] != '\n')
		at--;
	return at;
}

/* A word, a number or a single sign around `at`. */
static size_t token_end(const char *text, size_t at)
{
	if (!isalnum((unsigned char)text[at]))
		return text[at] ? at + 1 : at;
	while (isalnum((unsigned char)text[at]))
		at++;
	return at;
}

static void mutate(char *text)
{
	size_t len = strlen(text), at = draw((unsigned int)len), end, start;
	const char *word = words[draw(N_WORDS)];
	char line[512], byte;

	switch (draw(8)) {
	case 0: /* a token becomes another */
	case 1:
	case 2:
		splice(text, at, token_end(text, at) - at, word, strlen(word));
		break;
	case 3: /* something comes in */
		splice(text, at, 0, word, strlen(word));
		break;
	case 4: /* something is missing */
		splice(text, at, draw(12), "", 0);
		break;
	case 5: /* one byte changes */
		byte = (char)(1 + draw(255));
		splice(text, at, at < len, &byte, 1);
		break;
	case 6: /* a line is there twice */
		start = line_start(text, at);
		end = start + strcspn(text + start, "\n") + (at < len);
		if (end - start < sizeof(line) && end <= len) {
			memcpy(line, text + start, end - start);
			splice(text, start, 0, line, end - start);
		}
		break;
	default: /* the file ends early */
		if (draw(8) == 0)
			text[at] = 0;
	}
}

static void print_all(const struct scenario *s, char **text)
{
	size_t len = 0;
	FILE *out = open_memstream(text, &len);

	assert(out);
	scenario_print(out, s);
	fclose(out);
}

static const char *shown_part(const char *print)
{
	const char *part = strstr(print, "topology:"); /* behind the preset's name, a comment */

	return part ? part : print;
}

/* What was accepted prints as something that is accepted and prints the same. */
static bool prints_as_itself(const struct scenario *s)
{
	struct sc_diag diag = {0};
	struct scenario_file *f;
	char *once = NULL, *twice = NULL;
	bool same = false;

	print_all(s, &once);
	if (scenario_load_text("print", once, strlen(once), ".", NULL, 0, &diag, &f) == 0) {
		print_all(&f->variant[0], &twice);
		same = strcmp(shown_part(once), shown_part(twice)) == 0;
		scenario_file_free(f);
	}
	if (!same) {
		diag.out = stderr;
		scenario_load_text("print", once, strlen(once), ".", NULL, 0, &diag, &f);
		printf("# printed:\n%s\n# again:\n%s\n", once, twice ? twice : "(refused)");
	}
	free(once);
	free(twice);
	return same;
}

/* Returns 1 if it was accepted, 0 if refused, -1 if a law is broken. */
static int try(const char *text)
{
	char *messages = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&messages, &len);
	struct sc_diag diag = {.out = out};
	struct scenario_file *f = NULL;
	int ret, result = 0;

	assert(out);
	ret = scenario_load_text("m.yaml", text, strlen(text), ".", NULL, 0, &diag, &f);
	fclose(out);
	if (ret) {
		if (f || diag.errors == 0 || !strstr(messages, "error: "))
			result = -1;
	} else {
		result = 1;
		for (unsigned int i = 0; i < f->n_variants && result > 0; i++) {
			if (!prints_as_itself(&f->variant[i]))
				result = -1;
		}
		scenario_file_free(f);
	}
	free(messages);
	return result;
}

static char *read_file(const char *path)
{
	char *text = calloc(1, MAX_TEXT);
	FILE *file = fopen(path, "rb");

	assert(text);
	if (file) {
		if (fread(text, 1, MAX_TEXT - 1, file) == 0)
			text[0] = 0;
		fclose(file);
	}
	return text;
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000, accepted = 0;
	char *base[MAX_FILES], text[MAX_TEXT];
	unsigned int n = 0;

	base[n++] = strdup(built_in_text);
	for (int i = 2; i < argc && n < MAX_FILES; i++)
		base[n++] = read_file(argv[i]);
	puts("1..2");
	printf("%sok 1 - the built-in text is right\n", try(built_in_text) == 1 ? "" : "not ");
	for (unsigned long i = 0; i < count; i++) {
		int result;

		random_state = i * 2654435761u + 12345;
		/* Every second one starts from the text that has all kinds of keys. */
		snprintf(text, sizeof(text), "%s", base[i % 2 ? draw(n) : 0]);
		for (unsigned int k = 1 + draw(4); k > 0; k--)
			mutate(text);
		alarm(60); /* no mutation may take long */
		result = try(text);
		if (result < 0) {
			printf("# mutation %lu breaks a law:\n%s\nnot ok 2 - mutations\n", i, text);
			return 1;
		}
		accepted += (unsigned long)result;
	}
	printf("# %lu mutations of %u files, %lu still right\n", count, n, accepted);
	puts("ok 2 - no mutation crashes, every one ends as told");
	for (unsigned int i = 0; i < n; i++)
		free(base[i]);
	return 0;
}
