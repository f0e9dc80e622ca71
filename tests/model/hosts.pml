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

byte whose = NOV; /* the flag of this one is changed, the rest is to come */

#include "symmetry.pml"

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

#ifdef SETTLES
bool stopped; /* nothing comes from outside any more */
#define is_over stopped
#else
#define is_over false
#endif

/* With -DMAX_OPERATIONS a run has so many pauses, wakes and blocks, else any number. */
#ifdef MAX_OPERATIONS
byte operations;
#define another (operations < MAX_OPERATIONS && !is_over)
#define COUNT   operations++
#else
#define another (!is_over)
#define COUNT   skip
#endif

/* With -DMAX_EVENTS the outer world acts so often, else as often as it likes. */
#ifdef MAX_EVENTS
byte events;
#define acts   (events < MAX_EVENTS && !is_over)
#define ACTS   events++
#else
#define acts (!is_over)
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
		:: else -> follow(c, AGAIN_EVENT); in_order()
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
			check();
			in_order()
		}
	:: else
	fi
}

#ifdef BROKEN_HOST_WORK
#define has_events(c) (p_slave[c] || p_schedule[c])
#else
#define has_events(c) (!work_ready(c) && (p_slave[c] || p_schedule[c]))
#endif
#define timer_may_fire(c) (!work_ready(c) && attached && !p_schedule[c] && acts)
#ifdef TAKES_FIRST
inline take(c)
{
	in_guest[c] = NOV;
	t_slave[c] = p_slave[c];
	t_schedule[c] = p_schedule[c];
	p_slave[c] = false;
	p_schedule[c] = false;
	host[c] = TAKEN;
	in_order()
}
#define EVENTS_IN TAKEN
#else
#define EVENTS_IN RUN
#endif

#define WAIT_FOR_WORK(c)                                                                         \
	:: d_step { host[_pid] == RUN && _pid != c && host[c] != OFF && attached &&              \
		    curr == IDLE && barrier == NONE && acts && !enqueued[c] ->                   \
		ACTS;                                                                            \
		enqueued[c] = true;                                                              \
		poke_schedule(c);                                                                \
		host[_pid] = BARRIER;                                                            \
		barrier = c;                                                                     \
		in_order()                                                                       \
	   }

active [G] proctype pcpu()
{
	/* _pid is the number of the pCPU: these processes are the first. */
end:	do
	/*
	 * Events, or another look. Timers, tickles and yields are a SCHEDULE that comes just now:
	 * one that waits is taken when that is over, and so it may be raised as late.
	 */
	:: atomic {
		(host[_pid] == EVENTS_IN &&
		 (host[_pid] == TAKEN || has_events(_pid) || timer_may_fire(_pid))) ||
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
		:: host[_pid] == RUN && !p_slave[_pid] && p_schedule[_pid] -> schedule = true
		:: host[_pid] == RUN && timer_may_fire(_pid) -> /* just now */
			ACTS;
			poke_schedule(_pid);
			slave = p_slave[_pid];
			schedule = true
#endif
		fi;
		call_event(_pid)
	   }
#ifdef TAKES_FIRST
	/* A host of several threads: a sibling may get in between. */
	:: d_step { host[_pid] == RUN && has_events(_pid) -> take(_pid) }
	:: d_step { host[_pid] == RUN && timer_may_fire(_pid) ->
		ACTS;
		poke_schedule(_pid);
		take(_pid)
	   }
#endif
	:: d_step { (host[_pid] == SAVING || (host[_pid] == AGAIN_SAVED && looks(_pid))) ->
		saved(_pid);
		follow(_pid, AGAIN_SAVED);
		in_order()
	   }
#ifdef FAIR
	:: host[_pid] == RUN && !has_events(_pid) && !work_ready(_pid) /* no timer fires */
#endif
	/* The guest blocks: the flag first, without the lock, then the event. */
	:: d_step { host[_pid] == RUN && in_guest[_pid] < NS && another ->
		COUNT;
		asleep[in_guest[_pid]] = true;
		in_guest[_pid] = NOV;
		host[_pid] = BLOCKING;
		in_order()
	   }
	:: d_step { host[_pid] == BLOCKING ->
		poke_schedule(_pid);
		host[_pid] = RUN;
		in_order()
	   }
#ifdef WORK
	:: d_step { host[_pid] == RUN && work_ready(_pid) ->
		for (j : 0 .. G - 1) {
			LAW(P_ISOLATION, in_guest[j] == NOV)
		}
		enqueued[_pid] = false; /* hv_work(false) */
		poke_schedule(_pid);
		ERRAND(true);
		in_order()
	   }
	/* The hypervisor here waits for work on another pCPU (as RCU and stop-machine do). */
	WAIT_FOR_WORK(0)
	WAIT_FOR_WORK(1)
#if G > 2
	WAIT_FOR_WORK(2)
#endif
	:: d_step { host[_pid] == BARRIER && !enqueued[barrier] ->
		host[_pid] = RUN;
		barrier = NONE;
		in_order()
	   }
#endif
	od
}

/*
 * Pauses and wakes, from any other pCPU. Each is two steps: the flag, without the lock; and the
 * rest under it, which for a unit elsewhere is another resource's affair.
 */
#define BEGIN(v)                                                                                 \
	COUNT;                                                                                   \
	whose = v;                                                                               \
	in_order()
#define PAUSE_OR_WAKE(v)                                                                         \
	:: d_step { whose == NOV && another -> asleep[v] = true; BEGIN(v) }                      \
	:: d_step { whose == NOV && another && asleep[v] -> asleep[v] = false; BEGIN(v) }

/* Then its resource's master is asked for a decision. */
#define stops_unit(v)                                                                            \
	(attached && asleep[v] && curr == unit_of(v) && !unit_runnable(unit_of(v)))

active proctype toolstack()
{
end:	do
	PAUSE_OR_WAKE(0)
	PAUSE_OR_WAKE(1)
#if NS > 2
	PAUSE_OR_WAKE(2)
#endif
#if NS > 3
	PAUSE_OR_WAKE(3)
#endif
#if NS > 4
	PAUSE_OR_WAKE(4)
#endif
#if NS > 5
	PAUSE_OR_WAKE(5)
#endif
	:: atomic { whose != NOV ->
		if
		:: stops_unit(whose) -> CHOOSE(master)
		:: else
		fi;
		d_step {
		if
		:: attached && here[unit_of(whose)] ->
			if
			:: asleep[whose] -> sleep_locked(whose)
			:: else -> wake_locked(whose)
			fi;
			check()
		:: else
		fi;
		whose = NOV;
		DONE
		}
	   }
#ifdef FAIR
	:: whose == NOV /* or does nothing, which is as fair */
#endif
	od
}

/* As resource_is_quiet(). */
#define is_quiet(c) (from[c] == NOV && wait[c] == WAIT_NONE)
#if G == 2
#define are_quiet (is_quiet(0) && is_quiet(1))
#else
#define are_quiet (is_quiet(0) && is_quiet(1) && is_quiet(2))
#endif
#define can_go_down (curr == IDLE && prev == NONE && are_quiet)

#define WORK_COMES(c)                                                                            \
	:: d_step { acts && host[c] != OFF && !enqueued[c] ->                                    \
		ACTS;                                                                            \
		enqueued[c] = true;                                                              \
		poke_schedule(c);                                                                \
		in_order()                                                                       \
	   }

/* Work, migration, removal and hotplug. */
active proctype outside()
{
end:	do
#ifdef WORK
	WORK_COMES(0)
	WORK_COMES(1)
#if G > 2
	WORK_COMES(2)
#endif
#endif
#ifdef MIGRATE
	:: atomic { acts && attached && u_running[A] -> CHOOSE(master);
		d_step { ACTS; migrate_start(A); check(); DONE }
	   }
	:: atomic { acts && attached && u_running[B] -> CHOOSE(master);
		d_step { ACTS; migrate_start(B); check(); DONE }
	   }
	:: atomic { acts && attached && leaving != UNPLUG -> CHOOSE(master);
		d_step { ACTS; leaving = REMOVE; leave_finish(); leave_check(); DONE }
	   }
#endif
#ifdef HOTPLUG
	:: atomic { acts && attached && leaving != REMOVE && can_go_down -> CHOOSE(down);
		d_step { ACTS; pcpu_down(); DONE }
	   }
	:: atomic { acts && attached && leaving != REMOVE && !can_go_down && !is_asked_to_leave ->
		CHOOSE(master);
		d_step { ACTS; pcpu_down(); check(); DONE }
	   }
#endif
	:: atomic { acts && attached && leaving != STAYS -> CHOOSE(master);
		d_step { ACTS; leave_cancel(); DONE }
	   }
	:: atomic { acts && !attached -> CHOOSE(master);
		d_step { ACTS; pcpu_up(); DONE }
	   }
#ifdef SETTLES
	:: d_step { !stopped -> stopped = true }
#endif
#ifdef FAIR
	:: whose <= NOV
#endif
	od
}

/* All that was asked for is done; or who waits will wait for ever. */
#define OWES(v) (here[unit_of(v)] && attached && unit_of(v) == curr &&         \
		 (runnable(v) != (loaded[rank_of(v)] == (v))))

#define is_stuck(c)                                                                              \
	((host[c] == RUN && !p_slave[c] && !p_schedule[c] && !work_ready(c)) || host[c] == OFF ||\
	 ((host[c] == AGAIN_EVENT || host[c] == AGAIN_SAVED) && !looks(c)) ||                    \
	 (host[c] == BARRIER && enqueued[((c) + 1) % G]))
#if G == 2
#define are_stuck (whose == NOV && is_stuck(0) && is_stuck(1))
#else
#define are_stuck (whose == NOV && is_stuck(0) && is_stuck(1) && is_stuck(2))
#endif

#if !defined(SETTLES) && !defined(FAIR)
/* Nothing moves any more unless something comes from outside. */
active proctype watch()
{
end:	do
	:: d_step { are_stuck ->
		for (i : 0 .. G - 1) {
			LAW(P_DEADLOCK, host[i] == RUN || host[i] == OFF);
			LAW(P_LOST, !p_slave[i] && !p_schedule[i] && !enqueued[i])
		}
		LAW(P_LOST, !want);
		for (i : 0 .. NV - 1) {
			LAW(P_LOST, !OWES(i) && !force_switch[i])
		}
		LAW(P_COUNTERS, enter[curr] == 0 && leave[curr] == 0);
		CLEAR
	   }
	od
}
#endif

#ifdef SETTLES
#define is_calm(c) \
	((host[c] == RUN || host[c] == OFF) && !p_slave[c] && !p_schedule[c] && !enqueued[c])
#if G == 2
#define are_calm (is_calm(0) && is_calm(1))
#else
#define are_calm (is_calm(0) && is_calm(1) && is_calm(2))
#endif
/*
 * Once nothing comes from outside, all that was begun ends, in whatever order pCPUs act: this
 * needs no fairness. Here is what must never be: from some time on it goes on, or hangs.
 */
never settles
{
	do
	:: true
	:: stopped && !are_calm -> break
	od;
accept:	do
	:: !are_calm
	od
}
#endif
/* With weak fairness: a pCPU that can act does so some time; the outer world may do nothing. */
#ifdef GATHERS
/* A gathering that has begun ends in a decision. */
#define gathering (enter[A] + enter[B] + enter[IDLE] > 0)
ltl gathers { [] (gathering -> <> !gathering) }
#endif
#ifdef DECIDES
/* A decision that was asked for is made, unless pCPUs go on errands for ever. */
ltl decides { ([] <> errand) || ([] (want -> <> !want)) }
#endif
