/* SPDX-License-Identifier: MIT */
/*
 * The rendezvous of one resource of G pCPUs, modelled: src/engine/rendezvous.c, with what that
 * needs of schedule.c (the decision), wake.c (wake, sleep), migrate.c, resource.c and hotplug.c
 * (leaving, split). An inline here is the function of the same name there, hv_ dropped, and does
 * the same in the same order. hosts.pml, which includes this, calls it.
 *
 * LAW(P, cond) belongs to property P; -DONLY=P checks that one alone. -DBROKEN_name leaves out one
 * thing that the protocol needs. README.md tells the rest.
 *
 * Source: core-scheduling sections 2.3 to 2.9, 3.2, 3.5, 4.4, 4.5.
 */
#ifndef G
#define G 2
#endif
#ifndef NA
#define NA G
#endif
#ifndef NB
#define NB 1
#endif

/* Properties. */
#define P_ASSERT    1  /* what the code asserts */
#define P_DECISION  2  /* one decision for each gathering, when all have arrived */
#define P_SAVED     4  /* no guest is entered before all have saved */
#define P_ISOLATION 8  /* never two domains in guest mode; no idle work beside a guest */
#define P_COUNTERS  16 /* enter and leave count what they say, and are 0 outside a rendezvous */
#define P_LOST      32 /* when all is quiet nothing is owed to anybody */
#define P_DEADLOCK  64 /* when nothing can move nobody waits */
#ifndef ONLY
#define ONLY 127
#endif
#define LAW(p, cond)    assert(((p) & ONLY) == 0 || (cond))
#define HV_ASSERT(cond) LAW(P_ASSERT, cond)

/* What a run includes; the smaller ones leave something out. */
#ifndef NO_HOTPLUG
#define HOTPLUG
#endif
#ifndef NO_MIGRATE
#define MIGRATE
#endif
#ifndef NO_WORK
#define WORK
#define HAS_WORK true
#else
#define HAS_WORK false
#endif

/* Which progress is to be shown; safety otherwise. */
#if defined(GATHERS) || defined(DECIDES)
#define FAIR
#endif

/* Units; vCPUs 0..NA-1 are A's, NA..NV-1 are B's. */
#define A    0
#define B    1
#define IDLE 2 /* the idle unit, and in loaded[] and from[]: this pCPU's idle vCPU */
#define NONE 3
#define NV   (NA + NB)
#ifndef NS
#define NS NV /* vCPUs 0..NS-1 may sleep: block, or be paused */
#endif
#define VIDLE (NV)
#define NOV   (NV + 1)

#define unit_of(v)   ((v) < NA -> A : B)
#define rank_of(v)   ((v) < NA -> (v) : (v) - NA)
#define member(u, k) \
	((u) == A -> ((k) < NA -> (k) : NOV) : ((u) == B && (k) < NB -> NA + (k) : NOV))

/* enum hv_wait */
#define WAIT_NONE  0
#define WAIT_ENTER 1
#define WAIT_LOAD  2
#define WAIT_LEAVE 3

/* enum hv_next_kind */
#define KEEP   0
#define SWITCH 1
#define AGAIN  2

/* Where the host of a pCPU is. */
#define RUN         0 /* its loaded vCPU: in guest mode, or in the idle loop */
#define SAVING      1 /* was told to switch: calls saved() when that is done */
#define AGAIN_EVENT 2 /* event() said AGAIN */
#define AGAIN_SAVED 3 /* saved() said AGAIN */
#define BLOCKING    4 /* in block(): the flag is set, the event is not raised yet */
#define BARRIER     5 /* waits for idle-context work of another pCPU, and handles no event */
#define OFF         6 /* off line */
#define TAKEN       7 /* has taken its pending events, and will call event() with them */

#define STAYS  0 /* the resource is not leaving its pool */
#define REMOVE 1 /* hv_pool_remove_pcpu() was called */
#define UNPLUG 2 /* hv_pcpu_down() of one of its pCPUs was called */

/* The resource; units' counters. */
byte curr = IDLE, prev = NONE;
byte enter[3], leave[3];
bool u_running[3]; /* hv_unit.is_running */
bool here[2] = true; /* assigned to this resource; a unit without vCPUs counts for nothing */
bool attached = true;
byte leaving = STAYS;

/* pCPUs */
byte loaded[G] = VIDLE, from[G] = NOV, idle_unit[G] = IDLE;
byte wait[G] = WAIT_NONE;
bool came_in[G]; /* reset by a decision, too: nobody reads it before the next gathering */
bool enqueued[G], scheduled[G]; /* HV_WORK_* */
bool work_leaving[G];		/* HV_WORK_LEAVING: of the master only */
bool p_slave[G], p_schedule[G]; /* pending events */
#ifdef TAKES_FIRST
bool t_slave[G], t_schedule[G]; /* those that TAKEN will handle */
#endif
byte host[G] = RUN;
byte barrier = NONE; /* one is in BARRIER: for work of this pCPU */

/* vCPUs; asleep stands for every reason but migration: blocked, paused, down. */
bool asleep[NV], migrating[NV];
bool is_running[NV], force_switch[NV], sleeps_late[NV];

/* What only the properties read. */
byte in_guest[G] = NOV; /* who is in guest mode there */
bool unsaved[G];	/* holds registers of before the last decision */
bool want;		/* a decision was asked for and not made since */
#ifdef DECIDES
bool errand; /* a pCPU was asked to switch one alone, or to work, and did or declined */
#define ERRAND(is) errand = is
#else
#define ERRAND(is) skip
#endif

/* Registers of the functions below: no state, each is written before it is read. */
#ifdef SHORTEST /* breadth first search hides nothing */
#define hidden
#define CLEAR kind = 0; i = 0; j = 0; k = 0; m = 0; n = 0; own = 0; old = 0; vp = 0; vn = 0; \
	ok = 0; again = 0
#else
#define CLEAR skip /* a loop must not be the last of a d_step */
#endif
hidden int k1, k2, l1, l2; /* symmetry.pml */
hidden byte kind, i, j, k, m, n, own, old, vp, vn;
hidden byte ok, again; /* bool: spin hides no bits */
/* These live across the choice of the policy. */
bool deciding, work;
byte next = NONE; /* the choice */
bool slave, schedule; /* what event() is called with */

/*
 * -DMERGED: a step that touches nothing of others is taken together with the step before it: to
 * start saving after a decision, and to see that all have saved.
 */
#ifdef MERGED
#define MERGE_LOAD(c)                                                                            \
	if                                                                                       \
	:: from[c] != NOV ->                                                                     \
		wait[c] = WAIT_NONE;                                                             \
		host[c] = SAVING                                                                 \
	:: else                                                                                  \
	fi
#define MERGE_LEAVE                                                                              \
	for (i : 0 .. G - 1) {                                                                   \
		if                                                                               \
		:: wait[i] == WAIT_LEAVE ->                                                      \
			wait[i] = WAIT_NONE;                                                     \
			host[i] = RUN;                                                           \
			enter_guest(i)                                                           \
		:: else                                                                          \
		fi                                                                               \
	}
#else
#define MERGE_LOAD(c) skip
#define MERGE_LEAVE   skip
#endif

/* The master of the resource, and the pCPU that goes off line. */
#ifdef SYMMETRY
byte master, down; /* any, chosen where it matters */
#if G == 2
#define CHOOSE(c) if :: c = 0 :: c = 1 fi
#else
#define CHOOSE(c) if :: c = 0 :: c = 1 :: c = 2 fi
#endif
#define DONE in_order(); master = 0; down = 0
#else
#define DONE in_order()
#define master    0
#define down      (G - 1)
#define CHOOSE(c) skip
#endif

#define runnable(v) (!asleep[v] && !migrating[v])

inline poke_schedule(c) { p_schedule[c] = true; want = attached }
inline poke_slave(c)    { p_slave[c] = true }

/* Member k of a unit exists, and this holds for it; G is 2 or 3. */
#define IF_MEMBER(u, k, cond) (member(u, k) < NV -> (cond) : false)
#define is_up(u, k)     IF_MEMBER(u, k, runnable(member(u, k)))
#define is_loaded(u, k) IF_MEMBER(u, k, loaded[k] == member(u, k))
#if G == 2
#define unit_runnable(u) (is_up(u, 0) || is_up(u, 1))
#define nr_running(u)    (is_loaded(u, 0) + is_loaded(u, 1))
#else
#define unit_runnable(u) (is_up(u, 0) || is_up(u, 1) || is_up(u, 2))
#define nr_running(u)    (is_loaded(u, 0) + is_loaded(u, 1) + is_loaded(u, 2))
#endif
/* nr_running() is runstate_count[HV_RUNNING]: a member is RUNNING iff it is loaded. */

/* ---- rendezvous.c: one vCPU alone */

inline force_request(v)
{
	HV_ASSERT(u_running[unit_of(v)]);
	if
	:: !force_switch[v] ->
		force_switch[v] = true;
		p_slave[rank_of(v)] = true /* poke */
	:: else
	fi
}

inline release_sleepers(u)
{
	for (j : 0 .. G - 1) {
		m = member(u, j);
		if
		:: m != NOV ->
			if
#ifndef BROKEN_LATE
			:: sleeps_late[m] && is_running[m] && !runnable(m) -> force_request(m)
#endif
			:: else
			fi;
			sleeps_late[m] = false
		:: else
		fi
	}
}

#ifdef BROKEN_CAME_IN
#define MAY_COME_IN(c) true
#else
#define MAY_COME_IN(c) (enter[curr] == 0 || !came_in[c])
#endif

/* In `ok`: done. v is the member of the current unit whose place is c. */
inline force(c, v)
{
	force_switch[v] = false;
	ok = false;
	if
	:: runnable(v) == is_running[v]
#ifndef BROKEN_CAME_IN
	:: runnable(v) && !is_running[v] && enter[curr] > 0 && came_in[c]
#endif
	:: runnable(v) && !is_running[v] && MAY_COME_IN(c) ->
		HV_ASSERT(loaded[c] == VIDLE);
		came_in[c] = enter[curr] > 0;
		idle_unit[c] = IDLE;
		from[c] = VIDLE;
		loaded[c] = v;
		is_running[v] = true;
		ok = true;
		poke_comes_back(c);
		release_sleepers(curr)
	:: !runnable(v) && is_running[v] ->
		HV_ASSERT(loaded[c] == v);
		if
		:: nr_running(unit_of(v)) == 1
		:: else ->
			idle_unit[c] = unit_of(v);
			from[c] = v;
			loaded[c] = VIDLE;
			ok = true;
			poke_comes_back(c)
		fi
	fi;
	ERRAND(true)
}

/* SLAVE on itself: a gathering may have called meanwhile. */
inline poke_comes_back(c)
{
#ifndef BROKEN_COME_BACK
	poke_slave(c)
#else
	skip
#endif
}

/* ---- schedule.c, migrate.c: the unit switched away from is saved */

inline migrate_finish(u)
{
	if
	:: IF_MEMBER(u, 0, migrating[member(u, 0)]) && !u_running[u] ->
		/* To another resource; any decision here may take it back, unless leaving. */
		for (j : 0 .. G - 1) {
			m = member(u, j);
			if
			:: m != NOV -> migrating[m] = false
			:: else
			fi
		}
		here[u] = false
	:: else
	fi
}

inline unit_saved()
{
	old = prev;
	if
	:: old != NONE ->
		for (j : 0 .. G - 1) {
			m = member(old, j);
			if
			:: m != NOV ->
				force_switch[m] = false;
				sleeps_late[m] = false
			:: else
			fi
		}
		u_running[old] = false;
		prev = NONE;
		migrate_finish(old)
	:: else
	fi
}

/* ---- rendezvous.c: leave */

/* In `ok`: all have saved. */
inline leave_turn(c)
{
	ok = true;
	if
	:: leave[curr] != 0 ->
		HV_ASSERT(leave[curr] > 1);
		leave[curr]--;
		if
#ifdef BROKEN_LEAVE
		:: leave[curr] > 1
#else
		:: leave[curr] > 1 ->
			wait[c] = WAIT_LEAVE;
			ok = false
#endif
		:: else ->
			unit_saved();
			leave[curr] = 0;
			MERGE_LEAVE
		fi
	:: else
	fi
}

inline load(c)
{
	wait[c] = WAIT_NONE;
	if
	:: from[c] != NOV -> kind = SWITCH
	:: else ->
		leave_turn(c);
		kind = (ok -> KEEP : AGAIN)
	fi
}

/* ---- rendezvous.c: enter */

/* In `ok`: it goes. */
inline go_early(c)
{
	HV_ASSERT(enter[curr] > 0);
	own = member(curr, c);
	ok = false;
	if
	:: own != NOV && force_switch[own] -> force(c, own)
	:: else
	fi;
	if
	:: ok -> kind = SWITCH
#if defined(WORK) && !defined(BROKEN_WORK)
	:: !ok && curr == IDLE && enqueued[c] ->
		scheduled[c] = true;
		poke_comes_back(c);
		ERRAND(true);
		ok = true;
		kind = KEEP
#endif
	:: else
	fi;
	if
	:: ok ->
#ifndef BROKEN_ENTER
		enter[curr]++;
#endif
		wait[c] = WAIT_NONE
	:: else
	fi
}

inline arrive(c)
{
	HV_ASSERT(enter[curr] > 0 && wait[c] == WAIT_NONE);
	enter[curr]--;
	kind = AGAIN;
	if
	:: enter[curr] == 0 -> deciding = true
	:: else ->
		go_early(c);
		if
		:: !ok -> wait[c] = WAIT_ENTER
		:: else
		fi
	fi
}

/* In `ok`: not spurious. */
inline slave_turn(c)
{
	own = member(curr, c);
	again = own != NOV && force_switch[own];
	ok = false;
	if
	:: again -> force(c, own)
	:: else
	fi;
	if
	:: ok -> kind = SWITCH
	:: !ok && enter[curr] == 0
	:: !ok && enter[curr] != 0 ->
		arrive(c);
		ok = true
	fi
}

inline schedule_turn(c)
{
	kind = KEEP;
	if
#ifdef BROKEN_SECOND
	:: enter[curr] > 0 && false
#else
	:: enter[curr] > 0 ->
		p_schedule[c] = true;
		slave_turn(c)
#endif
	:: else ->
#ifdef BROKEN_GATHER
		enter[curr] = 1;
#else
		enter[curr] = G;
#endif
		for (i : 0 .. G - 1) {
			came_in[i] = false;
			if
			:: i != c -> poke_slave(i)
			:: else
			fi
		}
		arrive(c)
	fi
}

/* turn(): with SLAVE, SCHEDULE or both. */
inline turn(c)
{
	kind = KEEP;
	ok = false;
	if
	:: slave ->
		slave_turn(c);
		if
		:: ok && schedule -> p_schedule[c] = true
#ifndef BROKEN_DECLINED
		:: !ok && again && !schedule -> poke_schedule(c)
#endif
		:: else
		fi
	:: else
	fi;
	if
	:: !ok && schedule -> schedule_turn(c)
	:: else
	fi
}

/* ---- schedule.c: the decision, in two halves with the policy's choice between them */

inline work_wanted()
{
	work = false;
	for (i : 0 .. G - 1) {
		work = work || enqueued[i] || work_leaving[i];
		scheduled[i] = HAS_WORK && (enqueued[i] || work_leaving[i])
	}
}

#define may_choose(u) (!work && unit_runnable(u) && (here[u] || leaving == STAYS))

inline decide(c)
{
	/* P_DECISION: the gathering is over, and all but this one wait in it. */
	LAW(P_DECISION, enter[curr] == 0);
	for (i : 0 .. G - 1) {
		LAW(P_DECISION, i == c || (wait[i] == WAIT_ENTER && in_guest[i] == NOV));
		LAW(P_DECISION, from[i] == NOV && (host[i] == AGAIN_EVENT || i == c))
	}
	want = false;
	if
	:: next != curr ->
		HV_ASSERT(!u_running[next] && prev == NONE);
		prev = curr;
		curr = next;
		u_running[next] = true
	:: else
	fi;
	if
	:: next < IDLE -> here[next] = true
	:: else
	fi;
	for (i : 0 .. G - 1) {
		vp = loaded[i];
		vn = VIDLE;
		m = member(next, i);
		if
		:: m != NOV && runnable(m) -> vn = m
		:: else
		fi;
		if
		:: vp != vn ->
			if
			:: vn != VIDLE ->
				HV_ASSERT(!is_running[vn]);
				is_running[vn] = true
			:: else
			fi;
			from[i] = vp;
			loaded[i] = vn;
			unsaved[i] = true
		:: else
		fi;
		if
		:: vn == VIDLE -> idle_unit[i] = next
		:: else
		fi;
		/* rendezvous.c: decide() */
		HV_ASSERT(i == c || wait[i] == WAIT_ENTER);
		wait[i] = WAIT_LOAD;
		came_in[i] = false;
		MERGE_LOAD(i)
	}
#if defined(BROKEN_LEAVE_COUNT)
	leave[next] = G
#elif defined(BROKEN_GATHER)
	leave[next] = 2
#else
	leave[next] = G + 1
#endif
}

/* ---- rendezvous.c: hv_event() and hv_saved() */

/* A free pCPU decides alone, for idle. */
inline free_event(c)
{
	kind = KEEP;
	if
	:: schedule -> scheduled[c] = enqueued[c]
	:: else
	fi
}

inline event(c)
{
	ERRAND(false);
	deciding = false;
	HV_ASSERT(from[c] == NOV || wait[c] == WAIT_LOAD);
	if
	:: !attached -> free_event(c)
	:: attached && wait[c] == WAIT_NONE -> turn(c)
	:: attached && wait[c] == WAIT_ENTER ->
		go_early(c);
		if
		:: !ok -> kind = AGAIN
		:: else
		fi
	:: attached && wait[c] == WAIT_LEAVE ->
		if
		:: leave[curr] == 0 -> wait[c] = WAIT_NONE; kind = KEEP
		:: else -> kind = AGAIN
		fi
	:: attached && wait[c] == WAIT_LOAD -> load(c)
	fi
}

inline saved(c)
{
	old = from[c];
	if
	:: old == NOV ->
		if
		:: wait[c] == WAIT_LEAVE && leave[curr] == 0 -> wait[c] = WAIT_NONE
		:: else
		fi;
		kind = (wait[c] != WAIT_NONE -> AGAIN : KEEP)
	:: else ->
		HV_ASSERT(wait[c] == WAIT_NONE);
		from[c] = NOV;
		unsaved[c] = false;
		ERRAND(false);
		if
		:: old == VIDLE -> idle_unit[c] = IDLE
		:: else -> is_running[old] = false
		fi;
		leave_turn(c);
		kind = (ok -> KEEP : AGAIN)
	fi
}

/* ---- wake.c */

/* Its unit is current and it is not loaded, though its registers may not be saved yet. */
#define is_off(v) (curr == unit_of(v) && loaded[rank_of(v)] != (v))

inline wake_locked(v)
{
	if
	:: runnable(v) ->
		/* policy->wake(): what it may ask for, the outer world's timers ask for too. */
		if
#if defined(BROKEN_WAKE)
		:: false
#elif defined(BROKEN_WAKE_SAVING)
		:: u_running[unit_of(v)] && !is_running[v] -> force_request(v)
#else
		:: u_running[unit_of(v)] && (!is_running[v] || is_off(v)) -> force_request(v)
#endif
		:: else
		fi
	:: else
	fi
}

inline sleep_locked(v)
{
	if
	:: !runnable(v) ->
		if
		:: unit_runnable(unit_of(v)) ->
			if
#ifdef BROKEN_SLEEP
			:: false
#else
			:: is_running[v] && nr_running(unit_of(v)) > 1 -> force_request(v)
#endif
			:: else -> sleeps_late[v] = is_running[v]
			fi
		/* policy->sleep() */
		:: !unit_runnable(unit_of(v)) && curr == unit_of(v) -> poke_schedule(master)
		:: else
		fi
	:: else
	fi
}

/* ---- resource.c, hotplug.c: leaving */

inline migrate_start(u)
{
	for (i : 0 .. G - 1) {
		m = member(u, i);
		if
		:: m != NOV ->
			migrating[m] = true;
			sleep_locked(m)
		:: else
		fi
	}
}

/* hv_resource_detach(): hv_rendezvous_end(), then the split. */
inline detach()
{
	HV_ASSERT(curr == IDLE && prev == NONE);
	for (i : 0 .. G - 1) {
		HV_ASSERT(loaded[i] == VIDLE && from[i] == NOV);
#ifndef BROKEN_SPLIT
		wait[i] = WAIT_NONE;
#endif
		idle_unit[i] = IDLE
	}
#ifndef BROKEN_SPLIT
	enter[IDLE] = 0;
	leave[IDLE] = 0;
#endif
	attached = false;
	leaving = STAYS;
	want = false
}

/* hv_leave_finish() */
inline leave_finish()
{
	for (k : 0 .. 1) {
		if
		:: here[k] ->
			migrate_start(k);
			migrate_finish(k)
		:: else
		fi
	}
	if
	:: !here[A] && (NB == 0 || !here[B]) -> detach()
	:: else
	fi
}

/* hv_resource_is_quiet(): in `ok`. */
inline resource_is_quiet()
{
	ok = curr == IDLE && prev == NONE;
	for (j : 0 .. G - 1) {
		ok = ok && from[j] == NOV && wait[j] == WAIT_NONE
	}
}

#if G == 2
#define is_asked_to_leave (work_leaving[0] || work_leaving[1])
#else
#define is_asked_to_leave (work_leaving[0] || work_leaving[1] || work_leaving[2])
#endif

inline forget_leaving()
{
	for (i : 0 .. G - 1) {
		work_leaving[i] = false
	}
}

/* One call of hv_pcpu_down(down). */
inline pcpu_down()
{
	leaving = UNPLUG;
	resource_is_quiet();
	if
	:: ok ->
		forget_leaving();
		leave_finish();
		HV_ASSERT(!attached);
		/* take_off(), and the host stops the pCPU. */
		enqueued[down] = false;
		scheduled[down] = false;
		p_slave[down] = false;
		p_schedule[down] = false;
#ifdef TAKES_FIRST
		t_slave[down] = false;
		t_schedule[down] = false;
#endif
		barrier = (host[down] == BARRIER -> NONE : barrier);
		host[down] = OFF
	:: !ok && !is_asked_to_leave ->
		for (i : 0 .. G - 1) {
			/* Whose it is matters to other work only. */
			work_leaving[i] = i == master || !HAS_WORK
		}
		poke_schedule(master)
	:: else
	fi
}

/* hv_pcpu_up(down), or hv_pool_add_pcpu() of what was removed. */
inline pcpu_up()
{
	for (i : 0 .. G - 1) {
		HV_ASSERT(loaded[i] == VIDLE && from[i] == NOV && wait[i] == WAIT_NONE)
	}
	for (i : 0 .. G - 1) {
		if
		:: host[i] == OFF -> host[i] = RUN
		:: else
		fi
	}
	attached = true;
	poke_schedule(master)
}

inline leave_check()
{
	if
	:: attached -> check()
	:: else
	fi
}

inline leave_cancel()
{
	forget_leaving();
	leaving = STAYS;
	poke_schedule(master)
}
