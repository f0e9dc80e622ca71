/*
 * An experiment as one JSON object: cells, ratios and orders with the values of every seed.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>

#include "campaign/experiment.h"

static void put(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static json_t *number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static void put_range(json_t *object, const struct report_range *r)
{
	put(object, "min", r->n ? number(r->min) : json_null());
	put(object, "max", r->n ? number(r->max) : json_null());
}

static json_t *cell_object(const struct experiment *e, const struct experiment_cell *c)
{
	json_t *object = json_object(), *seeds = json_array();

	for (unsigned i = 0; i < e->n_seeds; i++)
		json_array_append_new(seeds, number(c->value[i]));
	put(object, "workload", json_string(c->workload));
	put(object, "configuration", json_string(c->configuration));
	put(object, "load", json_string(c->load));
	put(object, "metric", json_string(c->metric));
	put(object, "unit", json_string(c->unit));
	put(object, "published", number(c->published));
	if (e->has_linked)
		put(object, "linked", number(c->linked));
	put(object, "mean", c->simulated.n ? number(c->simulated.mean) : json_null());
	put_range(object, &c->simulated);
	put(object, "seeds", seeds);
	return object;
}

static json_t *ratio_object(const struct experiment_ratio *r)
{
	static const char *const result[] = {
		[RESULT_PASS] = "pass", [RESULT_MISS] = "miss", [RESULT_NO_VALUE] = "no value"};
	json_t *object = json_object();
	char grade[2] = {r->grade};

	put(object, "id", json_string(r->id));
	put(object, "numerator", json_integer(r->num));
	put(object, "denominator", json_integer(r->den));
	put(object, "kind", json_string(r->percent ? "percent" : "ratio"));
	put(object, "published", number(r->observed));
	put(object, "lower", number(r->lower));
	put(object, "upper", number(r->upper));
	put(object, "grade", json_string(grade));
	put(object, "fitted", json_boolean(r->fitted));
	put(object, "note", json_string(r->note));
	put(object, "simulated", r->has_value ? number(r->simulated) : json_null());
	put_range(object, &r->seed);
	put(object, "error", r->has_value ? number(r->error) : json_null());
	put(object, "inside", r->has_value ? json_boolean(r->in_band) : json_null());
	put(object, "result", json_string(r->grade == 'C' ? "report only" : result[r->result]));
	return object;
}

static json_t *ordering_object(const struct experiment_ordering *o)
{
	static const char *const result[] = {[ORDER_NOT_DEMANDED] = "not demanded",
					     [ORDER_UNREAD] = "not checked",
					     [ORDER_HELD] = "held",
					     [ORDER_MISSED] = "miss",
					     [ORDER_NO_VALUE] = "no value"};
	json_t *object = json_object();

	put(object, "workload", json_string(o->workload));
	put(object, "load", json_string(o->load));
	put(object, "metric", json_string(o->metric));
	put(object, "published", json_string(o->observed));
	put(object, "demanded", json_string(o->demanded));
	put(object, "result", json_string(result[o->result]));
	return object;
}

int experiment_json(FILE *out, const struct experiment *e)
{
	json_t *root = json_object(), *cells = json_array(), *ratios = json_array(),
	       *orders = json_array();
	char hash[20];
	int ret;

	assert(out && e);
	for (unsigned i = 0; i < e->n_cells; i++)
		json_array_append_new(cells, cell_object(e, &e->cell[i]));
	for (unsigned i = 0; i < e->n_ratios; i++)
		json_array_append_new(ratios, ratio_object(&e->ratio[i]));
	for (unsigned i = 0; i < e->n_orderings; i++)
		json_array_append_new(orders, ordering_object(&e->ordering[i]));
	snprintf(hash, sizeof(hash), "%016" PRIx64, e->parameters);
	put(root, "experiment", json_string(e->name));
	put(root, "verdict", json_string(experiment_reproduced(e) ? "reproduced" : "missed"));
	put(root, "parameters", json_string(hash));
	put(root, "seeds", json_integer(e->n_seeds));
	put(root, "reproduced", json_integer(e->reproduced));
	put(root, "counted", json_integer(e->counted));
	put(root, "orders_held", json_integer(e->orders_held));
	put(root, "orders_demanded", json_integer(e->orders_demanded));
	put(root, "cells", cells);
	put(root, "ratios", ratios);
	put(root, "orders", orders);
	if (!root || !cells || !ratios || !orders) {
		json_decref(root);
		return -HV_ENOMEM;
	}
	ret = json_dumpf(root, out, JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(15));
	if (ret == 0 && fputc('\n', out) == EOF)
		ret = -1;
	json_decref(root);
	return ret == 0 ? 0 : -EIO;
}
