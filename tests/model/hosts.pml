/* SPDX-License-Identifier: MIT */
/*
 * Who calls the rendezvous, and what must hold: a host for each pCPU, which does what hvsched.h
 * asks of it, and an outer world that does anything at any time: pauses, wakes, timers,
 * idle-context work, migration, removal from the pool, hotplug. This is the file that spin reads.
 *
 * Two domains share the resource: A with NA vCPUs and B with NB, one unit each. The policy is any
 * policy: whatever is runnable may be chosen at a decision, and idle always.
 *
 * Source: core-scheduling sections 2.1 to 2.9.
 */
#include "rendezvous.pml"

/* ---- properties of every state */

/* check.c: check_rendezvous() and part of check_pcpu(). */
inline check()
{
	i = 0; /* have arrived */
	n = 0; /* have yet to leave */
	for (j : 0 .. G - 1) {
		i = i + (wait[j] == WAIT_ENTER -> 1 : 0);
		n = n + (wait[j] == WAIT_LOAD || (from[j] != NOV && wait[j] == WAIT_NONE) -> 1 : 0);
		LAW(P_ASSERT, (loaded[j] == VIDLE -> idle_unit[j] : unit_of(loaded[j])) == curr);
		LAW(P_ASSERT, loaded[j] == VIDLE || is_running[loaded[j]])
	}
	LAW(P_COUNTERS, i == (enter[curr] != 0 -> G - enter[curr] : 0));
	LAW(P_COUNTERS, enter[curr] == 0 || leave[curr] == 0);
	LAW(P_COUNTERS, leave[curr] == 0 || leave[curr] == n + 1);
	LAW(P_COUNTERS, leave[curr] != 0 || prev == NONE);
	for (j : 0 .. 2) {
		LAW(P_COUNTERS, j == curr || (enter[j] == 0 && leave[j] == 0))
	}
	CLEAR
}

/*
 * The pCPU goes on with what is loaded: in guest mode if it is a guest's. What is pending comes
 * first; what is raised later interrupts the guest, at any time.
 */
inline enter_guest(c)
{
	if
	:: loaded[c] != VIDLE && !p_slave[c] && !p_schedule[c] ->
		in_guest[c] = loaded[c];
		for (j : 0 .. G - 1) {
			LAW(P_SAVED, !unsaved[j]);
			LAW(P_ISOLATION,
			    in_guest[j] == NOV || unit_of(in_guest[j]) == unit_of(loaded[c]))
		}
	:: else
	fi
}

/* What the host does with an answer; `again_in` is where it waits. */
inline follow(c, again_in)
{
	if
	:: kind == KEEP ->
		host[c] = RUN;
		enter_guest(c)
	:: kind == SWITCH -> host[c] = SAVING
	:: kind == AGAIN -> host[c] = again_in
	fi;
	leave_check()
}

/* With -DMAX_OPERATIONS a run has so many pauses, wakes and blocks, else any number. */
#ifdef MAX_OPERATIONS
byte operations;
#define another (operations < MAX_OPERATIONS)
#define COUNT   operations++
#else
#define another true
#define COUNT   skip
#endif

/* With -DMAX_EVENTS the outer world acts so often, else as often as it likes. */
#ifdef MAX_EVENTS
byte events;
#define acts   (events < MAX_EVENTS)
#define ACTS   events++
#else
#define acts true
#define ACTS skip
#endif

/* ---- the host of one pCPU */

#define work_ready(c) \
	(enqueued[c] && scheduled[c] && loaded[c] == VIDLE && idle_unit[c] == IDLE)

/* A call of event() by one that waits would do something. */
#define looks(c)                                                                               \
	(!attached || wait[c] == WAIT_NONE || wait[c] == WAIT_LOAD ||                          \
	 (wait[c] == WAIT_LEAVE && leave[curr] == 0) ||                                        \
	 (wait[c] == WAIT_ENTER &&                                                             \
	  ((member(curr, c) < NOV && force_switch[member(curr, c)]) || early_work(c))))
#if defined(WORK) && !defined(BROKEN_WORK)
#define early_work(c) (curr == IDLE && enqueued[c])
#else
#define early_work(c) false
#endif

/* The call of event(), with the choice of the policy if it comes to a decision. */
inline call_event(c)
{
	d_step {
		in_guest[c] = NOV;
#ifndef TAKES_FIRST
		p_slave[c] = p_slave[c] && !slave;
		p_schedule[c] = p_schedule[c] && !schedule;
#endif
		event(c);
		slave = false;
		schedule = false;
		if
		:: deciding ->
			work_wanted();
			host[c] = AGAIN_EVENT
		:: else -> follow(c, AGAIN_EVENT)
		fi
	}
	if
	:: deciding ->
		if
		:: may_choose(A) -> next = A
		:: may_choose(B) -> next = B
		:: true -> next = IDLE
		fi;
		d_step {
			decide(c);
			deciding = false;
			work = false;
			next = NONE;
			check()
		}
	:: else
	fi
}

#define has_events(c) (!work_ready(c) && (p_slave[c] || p_schedule[c]))
#ifdef TAKES_FIRST
#define EVENTS_IN TAKEN
#else
#define EVENTS_IN RUN
#endif

active [G] proctype pcpu()
{
	/* _pid is the number of the pCPU: these processes are the first. */
end:	do
	/* Events, or another look. The host does idle-context work first: see README.md. */
	:: atomic {
		(host[_pid] == EVENTS_IN && (host[_pid] == TAKEN || has_events(_pid))) ||
		(host[_pid] == AGAIN_EVENT && looks(_pid)) ->
		if
		:: host[_pid] == AGAIN_EVENT /* with no events */
#ifdef TAKES_FIRST
		:: host[_pid] == TAKEN ->
			slave = t_slave[_pid];
			schedule = t_schedule[_pid];
			t_slave[_pid] = false;
			t_schedule[_pid] = false
#else
		:: host[_pid] == RUN && p_slave[_pid] && p_schedule[_pid] ->
			slave = true; /* both together */
			schedule = true
		:: host[_pid] == RUN && p_slave[_pid] -> /* SLAVE first, as Xen does */
			slave = true
		:: host[_pid] == RUN && !p_slave[_pid] -> schedule = true
#endif
		fi;
		call_event(_pid)
	   }
#ifdef TAKES_FIRST
	/* A host of several threads: a sibling may get in between. */
	:: d_step { host[_pid] == RUN && has_events(_pid) ->
		in_guest[_pid] = NOV;
		t_slave[_pid] = p_slave[_pid];
		t_schedule[_pid] = p_schedule[_pid];
		p_slave[_pid] = false;
		p_schedule[_pid] = false;
		host[_pid] = TAKEN
	   }
#endif
	:: d_step { (host[_pid] == SAVING || (host[_pid] == AGAIN_SAVED && looks(_pid))) ->
		saved(_pid);
		follow(_pid, AGAIN_SAVED)
	   }
	/* The guest blocks: the flag first, without the lock, then the event. */
	:: d_step { host[_pid] == RUN && in_guest[_pid] != NOV && !toolstack_stopped && another ->
		COUNT;
		asleep[in_guest[_pid]] = true;
		in_guest[_pid] = NOV;
		host[_pid] = BLOCKING
	   }
	:: d_step { host[_pid] == BLOCKING ->
		poke_schedule(_pid);
		host[_pid] = RUN
	   }
#ifdef WORK
	:: d_step { host[_pid] == RUN && work_ready(_pid) ->
		for (j : 0 .. G - 1) {
			LAW(P_ISOLATION, in_guest[j] == NOV)
		}
		enqueued[_pid] = false; /* hv_work(false) */
		poke_schedule(_pid);
		errand = false
	   }
	/* The hypervisor here waits for work on the next pCPU (as RCU and stop-machine do). */
	:: d_step { host[_pid] == RUN && attached && curr == IDLE && !outside_stopped && !barrier &&
		    acts && !enqueued[(_pid + 1) % G] ->
		ACTS;
		n = (_pid + 1) % G;
		enqueued[n] = true;
		poke_schedule(n);
		host[_pid] = BARRIER;
		barrier = true
	   }
	:: d_step { host[_pid] == BARRIER && !enqueued[(_pid + 1) % G] ->
		host[_pid] = RUN;
		barrier = false
	   }
#endif
	od
}

/*
 * Pauses and wakes, from any other pCPU. Each is two steps: the flag, without the lock; and the
 * rest under it, which for a unit elsewhere is another resource's affair.
 */
active proctype toolstack()
{
	byte v;

	do
	:: atomic { another -> COUNT;
		if
		:: v = 0
		:: v = 1
#if NV > 2
		:: v = 2
#endif
#if NV > 3
		:: v = 3
#endif
#if NV > 4
		:: v = 4
#endif
#if NV > 5
		:: v = 5
#endif
		fi;
		if
		:: asleep[v] = true
		:: asleep[v] -> asleep[v] = false
		fi
	   }
	   d_step {
		if
		:: attached && here[unit_of(v)] ->
			if
			:: asleep[v] -> sleep_locked(v)
			:: else -> wake_locked(v)
			fi;
			check()
		:: else
		fi;
		v = 0
	   }
	:: toolstack_stopped = true -> break
	od
}

/* Timers, work, migration, removal and hotplug. */
active proctype outside()
{
	do
	/* Timers, tickles, a guest that yields. */
	:: d_step { acts && attached && !p_schedule[0] -> ACTS; poke_schedule(0) }
	:: d_step { acts && attached && !p_schedule[1] -> ACTS; poke_schedule(1) }
#if G > 2
	:: d_step { acts && attached && !p_schedule[2] -> ACTS; poke_schedule(2) }
#endif
#ifdef WORK
	:: d_step { acts && !enqueued[0] -> ACTS; enqueued[0] = true; poke_schedule(0) }
	:: d_step { acts && host[1] != OFF && !enqueued[1] -> ACTS;
		enqueued[1] = true;
		poke_schedule(1)
	   }
#endif
#ifdef MIGRATE
	:: d_step { acts && attached && u_running[A] -> ACTS; migrate_start(A); check() }
	:: d_step { acts && attached && u_running[B] -> ACTS; migrate_start(B); check() }
	:: d_step { acts && attached && leaving != UNPLUG -> ACTS;
		leaving = REMOVE;
		leave_finish();
		leave_check()
	   }
#endif
#ifdef HOTPLUG
	:: d_step { acts && attached && leaving != REMOVE -> ACTS; pcpu_down(); leave_check() }
#endif
	:: d_step { acts && attached && leaving != STAYS -> ACTS; leave_cancel() }
	:: d_step { acts && !attached -> ACTS; pcpu_up() }
	:: outside_stopped = true -> break
	od
}

/* All that was asked for is done; or who waits will wait for ever. */
#define OWES(v) (here[unit_of(v)] && attached && unit_of(v) == curr &&         \
		 (runnable(v) != (loaded[rank_of(v)] == (v))))

#ifndef PROGRESS
active proctype watch()
{
end:	timeout ->
	d_step {
		for (i : 0 .. G - 1) {
			LAW(P_DEADLOCK, host[i] == RUN || host[i] == OFF);
			LAW(P_LOST, !p_slave[i] && !p_schedule[i] && !enqueued[i])
		}
		LAW(P_LOST, !want);
		for (i : 0 .. NV - 1) {
			LAW(P_LOST, !OWES(i) && !force_switch[i])
		}
		LAW(P_COUNTERS, enter[curr] == 0 && leave[curr] == 0)
	}
}
#endif

/* Progress, with weak fairness. */
#define busy(c) \
	((host[c] != RUN && host[c] != OFF) || p_slave[c] || p_schedule[c] || enqueued[c])
#if G == 2
#define is_quiet (!busy(0) && !busy(1))
#else
#define is_quiet (!busy(0) && !busy(1) && !busy(2))
#endif
#ifdef PROGRESS
/* Once nothing comes from outside, all that was begun ends. */
ltl settles { [] ((toolstack_stopped && outside_stopped) -> <> is_quiet) }
/* A decision that was asked for is made, unless pCPUs go on errands for ever. */
ltl decides { ([] <> errand) || ([] (want -> <> !want)) }
#endif
