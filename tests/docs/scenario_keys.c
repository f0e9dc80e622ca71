/*
 * docs/scenarios.md tells every metric, hardware parameter and cost, with the defaults of the
 * generic host.
 *
 * usage: docs_scenario_keys docs/scenarios.md        Prints TAP.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/host.h"
#include "scenario/scenario.h"

static char *read_text(const char *path)
{
	char *text = calloc(1, 1 << 20);
	FILE *file = fopen(path, "rb");

	assert(text && file);
	if (fread(text, 1, (1 << 20) - 1, file) == 0)
		text[0] = 0;
	fclose(file);
	return text;
}

static unsigned int forgotten_metrics(const char *text)
{
	unsigned int missing = 0;
	const struct sc_metric *metric;
	char row[256];
	size_t n;

	metric = sc_metrics(&n);
	for (size_t i = 0; i < n; i++) {
		snprintf(row, sizeof(row), "\n| `%s` |", metric[i].name);
		if (strstr(text, row))
			continue;
		printf("# metric %s has no row\n", metric[i].name);
		missing++;
	}
	return missing;
}

static unsigned int forgotten_params(const char *text, const struct sc_param *p,
				     const struct sc_hw *hw)
{
	unsigned int missing = 0;
	char row[512], value[48];

	for (; p->key; p++) {
		sc_quantity_format(p->kind, sc_param_value(hw, p), value);
		snprintf(row, sizeof(row), "\n| `%s` | %s | %s |", p->key, value, p->meaning);
		if (strstr(text, row))
			continue;
		printf("# parameter %s has no row, or another default or meaning: %s\n", p->key,
		       row + 1);
		missing++;
	}
	return missing;
}

int main(int argc, char **argv)
{
	static const char generic[] = "host: {preset: generic}\nvms: [{name: a}]\n";
	struct sc_diag diag = {.out = stderr};
	struct scenario_file *f;
	const struct sc_hw *hw;
	unsigned int missing;
	char *text;

	assert(argc == 2);
	text = read_text(argv[1]);
	if (scenario_load_text("generic", generic, strlen(generic), ".", NULL, 0, &diag, &f) != 0)
		return 1;
	hw = &f->variant[0].hw;
	puts("1..2");
	missing = forgotten_metrics(text);
	printf("%sok 1 - every metric is told\n", missing ? "not " : "");
	missing =
		forgotten_params(text, sc_hw_params, hw) + forgotten_params(text, sc_hw_costs, hw);
	printf("%sok 2 - every parameter is told with its default\n", missing ? "not " : "");
	scenario_file_free(f);
	free(text);
	return 0;
}
