/*
 * The world of a conformance script: time, schedule requests, timers and guests around the engine.
 *
 * It has its own rules of order (docs/conformance.md), simpler than those of a machine: operations
 * take no time, a request for another pCPU arrives after a fixed latency, and what is due at the
 * same time is done in a fixed order.
 */
#ifndef HV_CONFORM_WORLD_H
#define HV_CONFORM_WORLD_H

#include "conform/record.h"
#include "conform/script.h"

enum replay_status {
	REPLAY_DONE,
	REPLAY_REFUSED, /* the script asks for something that this build does not have */
	REPLAY_BROKEN,	/* a law of the engine was broken, or it makes passes without end */
	REPLAY_NO_MEMORY,
};

struct replay_options {
	bool check; /* walk the engine's whole state after every operation */
	/* The engine's allocation of this number (from 1) fails; 0 = none. Tests use it. */
	uint64_t fail_allocation;
};

struct replay_result {
	enum replay_status status;
	hv_time time; /* where it stopped */
	uint64_t operations;
	struct script_error why; /* unless done; line 0: not about one line of the script */
};

/*
 * Replays a script and adds its lines to the record (empty at first), also those before a broken
 * law. Nothing of the engine is left afterwards. The result's status is also returned.
 */
enum replay_status replay(const struct script *s, const struct replay_options *options,
			  struct record *out, struct replay_result *result);

#endif
