/*
 * The report as one JSON object. Every figure of the tables and more, each as
 * {"mean", "min", "max", "seeds": [one value per run, null where that run has none]}.
 * Times are in ns, shares in per cent, rates per second; names are those of the tables' quantities.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "report/report.h"

/* jansson's *_new functions steal references and pass NULL on: one check at the end is enough. */
static int put(json_t *object, const char *key, json_t *value)
{
	return json_object_set_new(object, key, value);
}

static json_t *hash_text(uint64_t hash)
{
	char text[20];

	if (!hash)
		return json_null();
	snprintf(text, sizeof(text), "%016" PRIx64, hash);
	return json_string(text);
}

static json_t *figure(const struct report_variant *v, report_get get, unsigned first, unsigned n)
{
	struct report_range range = report_range(v, get, first, n);
	json_t *object = json_object(), *seeds = json_array();

	for (unsigned i = 0; i < v->n_runs; i++) {
		double value;
		bool has = report_measured(v->run[i]) && get(v, v->run[i], first, n, &value);

		json_array_append_new(seeds, has ? json_real(value) : json_null());
	}
	put(object, "mean", range.n ? json_real(range.mean) : json_null());
	put(object, "min", range.n ? json_real(range.min) : json_null());
	put(object, "max", range.n ? json_real(range.max) : json_null());
	put(object, "seeds", seeds);
	return object;
}

static json_t *figures(const struct report_variant *v, const struct report_quantity *q,
		       unsigned first, unsigned n)
{
	json_t *object = json_object();

	for (; q->name; q++)
		put(object, q->name, figure(v, q->get, first, n));
	return object;
}

static json_t *vm_object(const struct report_variant *v, const struct report_group *g)
{
	const struct sc_vm *vm = &v->scenario->vm[g->first];
	const struct metric *m = &vm->workload->metric;
	json_t *object = json_object();
	char unit[64] = "ns";

	if (m->kind == METRIC_RATE)
		snprintf(unit, sizeof(unit), "%s/s", report_rate_unit(v->scenario, g));
	put(object, "name", json_string(g->name));
	put(object, "vms", json_integer(g->n));
	put(object, "vcpus", json_integer(vm->vcpus));
	put(object, "weight", json_integer(vm->weight));
	put(object, "cap", json_integer(vm->cap));
	put(object, "workload", json_string(vm->workload->name ? vm->workload->name : "idle"));
	put(object, "metric_name",
	    m->kind == METRIC_NONE ? json_null() : json_string(m->name ? m->name : "elapsed"));
	put(object, "metric_unit", m->kind == METRIC_NONE ? json_null() : json_string(unit));
	json_object_update_new(object, figures(v, report_vm_quantities, g->first, g->n));
	json_object_update_new(object, figures(v, report_more_vm_quantities, g->first, g->n));
	json_object_update_new(object, figures(v, report_weight_quantities, g->first, g->n));
	put(object, "ledger", figures(v, report_ledger_quantities, g->first, g->n));
	return object;
}

static json_t *vms_array(const struct report *r, const struct report_variant *v)
{
	json_t *array = json_array();
	struct report_group g;

	for (unsigned i = 0; i < v->scenario->n_vms; i += g.n) {
		g = report_group_at(v->scenario, i, r->each_vm);
		json_array_append_new(array, vm_object(v, &g));
	}
	return array;
}

static json_t *cpus_array(const struct report_variant *v)
{
	json_t *array = json_array();

	for (unsigned i = 0; v->n_runs && i < v->run[0]->n_cpus; i++) {
		json_t *object = json_object();

		put(object, "id", json_integer(v->run[0]->cpu[i].id));
		json_object_update_new(object, figures(v, report_cpu_quantities, i, 1));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *runs_array(const struct report_variant *v)
{
	static const char *const status[] = {[LAB_DONE] = "done",
					     [LAB_INTERRUPTED] = "interrupted",
					     [LAB_STALL] = "stall",
					     [LAB_BROKEN] = "broken",
					     [LAB_FAILED] = "failed"};
	json_t *array = json_array();

	for (unsigned i = 0; i < v->n_runs; i++) {
		const struct lab_result *run = v->run[i];
		json_t *object = json_object();

		put(object, "seed", json_integer((json_int_t)run->seed));
		put(object, "status", json_string(status[run->status]));
		put(object, "message", *run->message ? json_string(run->message) : json_null());
		put(object, "hash", hash_text(run->hash));
		put(object, "start", json_integer(run->start));
		put(object, "end", json_integer(run->end));
		put(object, "events", json_integer((json_int_t)run->events));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *runqueues_array(const struct report_variant *v)
{
	json_t *array = json_array();
	char text[1024];

	for (unsigned i = 0; v->n_runs && i < v->run[0]->n_runqueues; i++) {
		const struct lab_runqueue *q = &v->run[0]->runqueue[i];
		json_t *object = json_object();

		put(object, "id", json_integer(q->id));
		put(object, "size", json_integer(q->size));
		put(object, "pcpus", json_string(sc_mask_format(&q->pcpus, text, sizeof(text))));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *variant_object(const struct report *r, const struct report_variant *v)
{
	const struct scenario *s = v->scenario;
	json_t *object = json_object();

	put(object, "name", json_string(s->variant));
	put(object, "host", json_string(s->topo.name));
	put(object, "hardware", s->preset ? json_string(s->preset) : json_null());
	put(object, "pcpus", json_integer(s->topo.n_online));
	put(object, "scheduler", json_string(sc_sched_name(s->xen.sched)));
	put(object, "cmdline", json_string(s->xen.cmdline ? s->xen.cmdline : ""));
	put(object, "warmup", json_integer(s->run.warmup));
	put(object, "runqueues", runqueues_array(v));
	put(object, "runs", runs_array(v));
	put(object, "vms", vms_array(r, v));
	put(object, "cpus", cpus_array(v));
	put(object, "machine", figures(v, report_machine_quantities, 0, 0));
	return object;
}

static json_t *expect_object(const struct report *r, const struct report_expect *e)
{
	static const char *const unit[] = {
		[SC_DIM_NUMBER] = "", [SC_DIM_TIME] = "ns", [SC_DIM_PERCENT] = "%"};
	json_t *object = json_object();
	bool unknown = report_unknown(r, e);

	put(object, "line", json_integer(e->expect->line));
	put(object, "text", json_string(e->expect->text));
	put(object, "why", e->expect->why ? json_string(e->expect->why) : json_null());
	put(object, "held", unknown ? json_null() : json_boolean(e->verdict.held));
	if (e->verdict.error == 0 && !e->skipped) {
		put(object, "found", json_real(e->verdict.lhs));
		put(object, "expected", json_real(e->verdict.rhs));
		put(object, "tolerance", json_real(e->verdict.tolerance));
		put(object, "unit", json_string(unit[e->expect->lhs->dim]));
	}
	put(object, "variant", e->variant ? json_string(e->variant) : json_null());
	return object;
}

static json_t *notes_array(const struct report *r)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < r->n_notes; i++)
		json_array_append_new(array, json_string(r->note[i]));
	return array;
}

int report_json(FILE *out, const struct report *r)
{
	json_t *root = json_object(), *variants = json_array(), *expects = json_array();
	int ret;

	assert(out && r);
	for (unsigned i = 0; i < r->n_variants; i++)
		json_array_append_new(variants, variant_object(r, &r->variant[i]));
	for (unsigned i = 0; i < r->n_expects; i++)
		json_array_append_new(expects, expect_object(r, &r->expect[i]));
	put(root, "file", json_string(r->path));
	put(root, "verdict", json_string(report_verdict_name(report_verdict(r))));
	put(root, "interrupted", json_boolean(r->interrupted));
	put(root, "hash", hash_text(report_hash(r)));
	put(root, "variants", variants);
	put(root, "expectations", expects);
	if (r->n_notes)
		put(root, "notes", notes_array(r));
	if (!root || !variants || !expects) {
		json_decref(root);
		return -HV_ENOMEM;
	}
	ret = json_dumpf(root, out, JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(15));
	if (ret == 0 && fputc('\n', out) == EOF)
		ret = -1;
	json_decref(root);
	return ret == 0 ? 0 : -EIO;
}
