/*
 * The command line of a scenario and the policies agree: what the scenario says is in force is what
 * a policy takes, without a further correction; defaults are the same.
 */
#include "scenario_text.h"

#include <inttypes.h>

#include "policy/policies.h"

static int64_t in_force(const struct sc_xen *x, const char *name)
{
	const struct {
		const char *name;
		int64_t value;
	} fields[] = {{"credit2_runqueue", x->runqueue},
		      {"sched_credit2_max_cpus_runqueue", x->max_cpus_runqueue},
		      {"sched_credit2_migrate_resist", x->migrate_resist_us},
		      {"credit2_load_precision_shift", x->load_precision_shift},
		      {"credit2_load_window_shift", x->load_window_shift},
		      {"credit2_balance_under", x->balance_under},
		      {"credit2_balance_over", x->balance_over},
		      {"credit2_cap_period_ms", x->cap_period_ms},
		      {"sched_ratelimit_us", x->ratelimit_us},
		      {"sched_smt_power_savings", x->smt_power_savings},
		      {"sched_credit_tslice_ms", x->tslice_ms},
		      {"vcpu_migration_delay", x->migration_delay_us},
		      {"load-balance-ratelimit", x->balance_ratelimit_us},
		      {"tickle_one_idle_cpu", x->tickle_one_idle_cpu},
		      {"credit_tickle", x->tickle}};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (strcmp(fields[i].name, name) == 0)
			return fields[i].value;
	}
	fail_msg("the command line does not know %s", name);
	return 0;
}

/* What the policy makes of a number. */
static int64_t taken(const struct hv_param_desc *d, int64_t value)
{
	return value >= d->min && value <= d->max ? value : d->fix ? d->fix(value) : value;
}

/*
 * exactly: the policy's own correction is the scenario's too. Not so for credit, whose first pool
 * takes an odd rate limit raw, as in Xen: the scenario gives it a value that is never odd.
 */
static void compare(const struct hv_param_desc *d, bool exactly, const char *text, int64_t given)
{
	struct scenario_file *f = load_with(text, NULL, 0);
	int64_t value;

	if (!f)
		return; /* refused: nothing is in force */
	value = in_force(&f->variant[0].xen, d->name);
	if (value != taken(d, value) || (exactly && value != taken(d, given)))
		fail_msg("%s=%" PRId64 ": the scenario says %" PRId64 ", the policy %" PRId64,
			 d->name, given, value, taken(d, given));
	scenario_file_free(f);
}

static void numbers_are_corrected_alike(const struct hv_param_desc *d, bool exactly)
{
	const int64_t tried[] = {0,	 1,	 3,	     4,		9,   10,   11,
				 30,	 32,	 62,	     99,	100, 1000, 1001,
				 100000, 500000, 500001,     1000001,	-1,  -62,  d->min,
				 d->max, d->def, d->min - 1, d->max + 1};
	char text[256];

	for (size_t i = 0; i < sizeof(tried) / sizeof(tried[0]); i++) {
		snprintf(text, sizeof(text),
			 "host: {preset: H0, cmdline: %s=%" PRId64 "}\nvms: [{name: a}]\n", d->name,
			 tried[i]);
		compare(d, exactly, text, tried[i]);
	}
}

static void choices_have_the_same_words(const struct hv_param_desc *d)
{
	char text[256];

	for (int64_t i = 0; d->choices[i]; i++) {
		struct scenario_file *f;

		snprintf(text, sizeof(text),
			 "host: {preset: H0, cmdline: %s=%s}\nvms: [{name: a}]\n", d->name,
			 d->choices[i]);
		f = load(text);
		assert_int_equal(in_force(&f->variant[0].xen, d->name), i);
		scenario_file_free(f);
	}
}

static void every_parameter_of_a_usable_policy(void **state)
{
	struct scenario_file *defaults = load(HOST "vms: [{name: a}]\n");
	unsigned int n = 0;

	(void)state;
	for (const struct hv_policy *const *p = hv_policies; *p; p++) {
		char text[128];

		snprintf(text, sizeof(text),
			 "host: {preset: H0, cmdline: sched=%s}\nvms: [{name: a}]\n", (*p)->name);
		scenario_file_free(defaults);
		defaults = load_with(text, NULL, 0);
		if (!defaults)
			continue; /* the scenario has no such policy yet */
		for (unsigned int i = 0; i < (*p)->nr_params; i++) {
			const struct hv_param_desc *d = &(*p)->params[i];

			assert_int_equal(in_force(&defaults->variant[0].xen, d->name), d->def);
			if (d->kind == HV_PARAM_INT)
				numbers_are_corrected_alike(d, strcmp((*p)->name, "credit2") == 0);
			else if (d->kind == HV_PARAM_CHOICE)
				choices_have_the_same_words(d);
			n++;
		}
	}
	scenario_file_free(defaults);
	free(messages);
	assert_true(n >= 10); /* those of credit2 at least */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_parameter_of_a_usable_policy),
	};

	return cmocka_run_group_tests_name("scenario_policy", tests, NULL, NULL);
}
