/* SPDX-License-Identifier: MIT */
/*
 * Boot parameters by their names on the Xen command line. Several policies may have a parameter of
 * the same name; setting it sets it for all of them, or for none when the value is not of its kind.
 *
 * Source: core-scheduling section 7.3; each policy's own table of parameters.
 */
#include "engine/engine.h"

static bool same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

int hv_policy_index(const struct hv_sys *sys, const char *name)
{
	for (unsigned i = 0; i < sys->nr_policies; i++) {
		if (same(sys->policies[i]->name, name))
			return (int)i;
	}
	return -1;
}

int hv_params_init(struct hv_sys *sys)
{
	size_t nr = sys->nr_policies ? sys->nr_policies : 1;

	sys->params = hv_alloc(sys, nr * sizeof(*sys->params));
	if (!sys->params)
		return -HV_ENOMEM;
	for (unsigned i = 0; i < sys->nr_policies; i++) {
		const struct hv_policy *p = sys->policies[i];

		if (p->nr_params == 0)
			continue;
		sys->params[i] = hv_alloc(sys, p->nr_params * sizeof(**sys->params));
		if (!sys->params[i])
			return -HV_ENOMEM;
		for (unsigned k = 0; k < p->nr_params; k++)
			sys->params[i][k] = p->params[k].def;
	}
	return 0;
}

void hv_params_free(struct hv_sys *sys)
{
	size_t nr = sys->nr_policies ? sys->nr_policies : 1;

	if (!sys->params)
		return;
	for (unsigned i = 0; i < sys->nr_policies; i++)
		hv_free(sys, sys->params[i], sys->policies[i]->nr_params * sizeof(**sys->params));
	hv_free(sys, sys->params, nr * sizeof(*sys->params));
}

/* Decimal with optional sign, the whole string, no overflow. */
static int parse_int(const char *s, int64_t *out)
{
	bool negative = *s == '-';
	int64_t v = 0;

	if (negative || *s == '+')
		s++;
	if (!*s)
		return -HV_EINVAL;
	for (; *s; s++) {
		int digit = *s - '0';

		if (digit < 0 || digit > 9 || v > (INT64_MAX - digit) / 10)
			return -HV_EINVAL;
		v = v * 10 + digit;
	}
	*out = negative ? -v : v;
	return 0;
}

static int parse_bool(const char *s, int64_t *out)
{
	static const char *const words[][2] = {
		{"0", "1"}, {"no", "yes"}, {"off", "on"}, {"false", "true"}, {"disable", "enable"},
	};

	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		for (int value = 0; value < 2; value++) {
			if (same(s, words[i][value])) {
				*out = value;
				return 0;
			}
		}
	}
	return -HV_EINVAL;
}

static int parse_choice(const char *const *choices, const char *s, int64_t *out)
{
	for (int i = 0; choices[i]; i++) {
		if (same(s, choices[i])) {
			*out = i;
			return 0;
		}
	}
	return -HV_EINVAL;
}

/* 0 as given, 1 corrected, -HV_EINVAL. */
static int parse(const struct hv_param_desc *d, const char *s, int64_t *out)
{
	int64_t v = 0;
	int rc = d->kind == HV_PARAM_INT    ? parse_int(s, &v)
		 : d->kind == HV_PARAM_BOOL ? parse_bool(s, &v)
					    : parse_choice(d->choices, s, &v);

	if (rc)
		return rc;
	*out = v;
	if (d->kind == HV_PARAM_INT && (v < d->min || v > d->max) && d->fix)
		*out = d->fix(v);
	return *out != v;
}

int hv_param_set(struct hv_sys *sys, const char *name, const char *value)
{
	int rc = -HV_ENOENT;

	if (sys->pools)
		return -HV_EBUSY;
	/* First pass: is it good for everybody? Second: store. */
	for (int pass = 0; pass < 2; pass++) {
		for (unsigned i = 0; i < sys->nr_policies; i++) {
			const struct hv_policy *p = sys->policies[i];

			for (unsigned k = 0; k < p->nr_params; k++) {
				int64_t v;
				int r;

				if (!same(p->params[k].name, name))
					continue;
				r = parse(&p->params[k], value, &v);
				if (r < 0)
					return r;
				rc = r > rc ? r : rc;
				if (pass == 1)
					sys->params[i][k] = v;
			}
		}
	}
	return rc;
}

int hv_param_get(const struct hv_sys *sys, const char *name, int64_t *value)
{
	for (unsigned i = 0; i < sys->nr_policies; i++) {
		const struct hv_policy *p = sys->policies[i];

		for (unsigned k = 0; k < p->nr_params; k++) {
			if (same(p->params[k].name, name)) {
				*value = sys->params[i][k];
				return 0;
			}
		}
	}
	return -HV_ENOENT;
}
