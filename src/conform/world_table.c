/*
 * Script lines of policies that plan time: parameters of rtds vCPUs, and the time tables of
 * arinc653, where the handle of domain id D is twelve zero bytes and D in four bytes, most
 * significant first.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "conform/world_state.h"

void world_handle(uint32_t id, uint8_t handle[HV_HANDLE_BYTES])
{
	memset(handle, 0, HV_HANDLE_BYTES);
	for (unsigned i = 0; i < 4; i++)
		handle[HV_HANDLE_BYTES - 1 - i] = (uint8_t)(id >> (8 * i));
}

static uint32_t handle_id(const uint8_t handle[HV_HANDLE_BYTES])
{
	uint32_t id = 0;

	for (unsigned i = HV_HANDLE_BYTES - 4; i < HV_HANDLE_BYTES; i++)
		id = id << 8 | handle[i];
	return id;
}

void world_table_set(struct world *w, const struct script_line *l)
{
	unsigned nr = l->arinc.nr_windows;
	struct hv_window *window = calloc(nr ? nr : 1, sizeof(*window));
	int rc;

	if (!window)
		world_stop(w, REPLAY_NO_MEMORY, "out of memory");
	for (unsigned i = 0; i < nr; i++) {
		world_handle(l->arinc.window[i].domain, window[i].handle);
		window[i].vcpu = l->arinc.window[i].vcpu;
		window[i].runtime = l->arinc.window[i].runtime;
	}
	rc = hv_frame_set(w->pool, l->arinc.major, nr, window);
	free(window);
	if (rc == 0)
		return;
	record_begin(w->out, w->now, "error");
	record_text(w->out, "cmd", "arinc");
	record_int(w->out, "rc", rc);
	record_end(w->out);
}

void world_table_get(struct world *w)
{
	struct hv_window window[HV_MAX_WINDOWS];
	uint64_t major = 0;
	unsigned nr = 0;
	int rc = hv_frame_get(w->pool, &major, &nr, window);

	assert(rc == 0);
	(void)rc;
	record_begin(w->out, w->now, "schedule");
	record_int(w->out, "frame", (int64_t)major);
	record_list_begin(w->out, "entries");
	for (unsigned i = 0; i < nr; i++) {
		char text[64];

		snprintf(text, sizeof(text), "%u.%u:%llu", handle_id(window[i].handle),
			 window[i].vcpu, (unsigned long long)window[i].runtime);
		record_list_text(w->out, i == 0, text);
	}
	record_list_end(w->out);
	record_end(w->out);
}

void world_unit_params(struct world *w, const struct script_line *l)
{
	struct hv_unit_params params = {
		.period_us = (uint32_t)l->rtds.period_us,
		.budget_us = (uint32_t)l->rtds.budget_us,
		.extratime = l->rtds.extra,
	};

	world_put_error(w, hv_unit_params_set(w->vcpu[l->vcpu].v, &params));
}
