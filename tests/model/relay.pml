/*
 * relay.pml - claim, publish, settle, lease and take-over, for spin
 *
 * Two workers, one partition, three messages.  Whatever happens when,
 *
 *   - each message is settled in the end, and none before it is in the
 *     stream (no loss);
 *   - the messages of a key enter the stream in order, and each once;
 *   - no worker claims a row under a lease that is not his, or settles one
 *     that his token does not hold (who is fenced changes nothing).
 *
 * There is no clock.  A lease, a claim or a delay may run out at any moment,
 * and a worker may rest for as long as it likes between two of its steps, so
 * pauses of every length are in here.  A worker may die, and its successor
 * takes its place.  How often leases run out, workers die and publishes fail
 * is bounded below.
 *
 * What nobody can see half done, such as a statement, is one step: a d_step
 * or atomic.  Each names the function it stands for.
 *
 * What can be checked, with -D:
 *
 *   (nothing)	all of the above, for messages of one key
 *   TWO_KEYS	the same, but the second message has a key of its own
 *   PROMPT	no lease and no claim ever runs out: also what a worker held
 *		that died is delivered
 *   CALM	nobody dies, no publish fails and who has a batch out keeps
 *		the lease: then nothing is even sent twice
 *
 * and with something taken out, which must go wrong:
 *
 *   NO_FENCE	a claim does not ask whose the lease is
 *   NO_HOLD	a message does not wait for an earlier one of its key
 *   NO_VOID	claims of the dead are worth as much as those of the living
 *   NO_TOKEN	a settle does not ask whose the claim is
 *   NO_IDS	the stream does not know message ids
 *   GONE_NOW	a head that is gone frees its lane while the tick still has
 *		later rows of it and has not looked at those in between
 *   HEADS_FIRST	a head that is due does not wait until the scan has
 *		seen what is in front of it
 *   FLOOR	a scan starts above the rows known to wait, and sees now and
 *		then what was committed below them
 *
 * Hold and ids are what the stream owes its order to: without fence and token
 * check it stays in order here, as long as it remembers every id.  They keep
 * two workers from doing the same work and from undoing that of the other.
 *
 * Left out: other partitions, who wants which, leases given back; dead
 * letters and pauses of the route; lanes that fly at the same time; that what
 * failed and what was not sent are written back by two statements; the send
 * deadline, because it is there for the end of the duplicate window, and this
 * stream remembers every id.  Also statements that fail: one that was not
 * executed is a worker that rests, one whose answer is lost finds itself done,
 * a worker that drops its batch is one that dies.  And claims that the server
 * loses after their messages were sent: check_block has these.
 */

#define N		3	/* messages, in order of their sequence */
#ifndef EARLY
#define EARLY		2	/* so many are there from the start */
#endif
#ifndef EPOCHS
#define EPOCHS		2	/* no lease runs out after that many */
#endif
#ifdef CALM
#define FAILURES	0
#define CRASHES		0
#define NO_IDS
#endif
#ifndef FAILURES
#define FAILURES	1	/* of publishing */
#endif
#ifndef CRASHES
#define CRASHES		1	/* 2 at most, for the claims' sake */
#endif

/* Sets of messages, one bit for each. */
#define BIT(m)		(1 << (m))
#define BELOW(m)	(BIT(m) - 1)
#define ALL		BELOW(N)
#define ADD(set, m)	set = set | BIT(m)
#define DROP(set, some)	set = set & ~(some)
#define UPTO(set)	((set) & 4 -> 7 : ((set) & 2 -> 3 : (set)))
#define FIRST(set)	((set) & 1 -> 0 : ((set) & 2 -> 1 : 2))
#define FILTER(such)	((such(0) -> 1 : 0) | (such(1) -> 2 : 0) | \
			    (such(2) -> 4 : 0))

/* For each message: if it is such, do this. */
#define EACH(such, this) \
	m = 0; \
	do \
	:: m < N -> \
		if \
		:: such -> this \
		:: else \
		fi; \
		m++ \
	:: else -> \
		m = 0; \
		break \
	od

/* lane.c: the messages that must keep their order */
#ifdef TWO_KEYS
#define LANE(m)		((m) == 1 -> BIT(1) : ALL & ~BIT(1))
#else
#define LANE(m)		ALL
#endif
#define BEFORE(m)	(LANE(m) & BELOW(m))

/* The table outbox. */
byte	committed = BELOW(EARLY);
byte	due = BELOW(EARLY);	/* available_at has come */
byte	published;
byte	token[N];		/* of whose claim; 0: NULL */

#define WAITING		(committed & ~published)

/* The table outbox_partitions. */
byte	owner = 1, epoch = 1;
bool	live = true;		/* lease_until is to come */

/* JetStream.  That the list is append-only is seen at each append. */
byte	stored;
byte	flying;			/* sent, given up, and still under way */

byte	failures = FAILURES, crashes = CRASHES;

/*
 * The switches.
 */
#define MINE		(live && owner == me && epoch == mine)
#ifdef NO_FENCE
#define FENCE		true
#else
#define FENCE		MINE
#endif
#ifdef CALM
#define ALLOWED		true	/* what comes of it is the question there */
#else
#define ALLOWED		MINE
#endif

/* A worker counts its own claims as void, too: it has nothing else open. */
#ifdef NO_VOID
#define VOID(m)		(token[m] == me)
#else
#define VOID(m)		(token[m] && (token[m] - 1) % 2 == slot)
#endif
#define FREE(m)		((due & BIT(m)) || VOID(m))
#define CLAIM(m)	\
	assert(ALLOWED);	\
	token[m] = me;		\
	DROP(due, BIT(m));	\
	ADD(batch, m)

#ifdef NO_TOKEN
#define HOLDS(m)	true
#else
#define HOLDS(m)	(token[m] == me)
#endif

#ifdef NO_IDS
#define KNOWN(m)	false
#else
#define KNOWN(m)	(stored & BIT(m))
#endif

#ifdef NO_HOLD
#define BARRED(m)	false
#define BEHIND(m)	BIT(m)
#else
#define BARRED(m)	(held & BEFORE(m))
#define BEHIND(m)	LANE(m)
#endif

#ifdef GONE_NOW
#define NOTE_GONE(m)	forget(m)
#else
#define NOTE_GONE(m)	ADD(gone, m)
#endif

#ifdef HEADS_FIRST
#define SEEN(c)		ALL
#else
#define SEEN(c)		BELOW(c)
#endif

#ifdef FLOOR
#define PASSED		(held -> floor : 0)
#else
#define PASSED		0
#endif

/*
 * A message arrives.
 */
inline store(m)
{
	if
	:: KNOWN(m)
	:: else ->
		assert(!(stored & BIT(m)));		/* each once */
		assert(!(BEFORE(m) & ~stored));		/* in order */
		ADD(stored, m)
	fi
}

/*
 * What happens by itself.  Transactions on one key follow one another; they
 * may ask for a delay.  A claim stamps the same time on all its rows.
 */
#define COMMIT(m) \
	:: atomic { \
		!(committed & BIT(m)) && !(BEFORE(m) & ~committed) -> \
		ADD(committed, m); \
		if \
		:: ADD(due, m) \
		:: true \
		fi \
	}

#define WAITS(m, t)	((WAITING & ~due & BIT(m)) && token[m] == (t))
#define RUNS_OUT(t) \
	:: d_step { \
		WAITS(0, t) || WAITS(1, t) || WAITS(2, t) -> \
		due = due | (WAITS(0, t) -> 1 : 0) | \
		    (WAITS(1, t) -> 2 : 0) | (WAITS(2, t) -> 4 : 0) \
	}

#define ARRIVE(m) \
	:: d_step { \
		flying & BIT(m) -> \
		DROP(flying, BIT(m)); \
		store(m) \
	}

#ifdef CALM
#define KEPT	(token[0] == owner || token[1] == owner || token[2] == owner)
#else
#define KEPT	false
#endif

active proctype world()
{
end:	do
	COMMIT(0) COMMIT(1) COMMIT(2)
	ARRIVE(0) ARRIVE(1) ARRIVE(2)
	RUNS_OUT(0)				/* delays */
#ifndef PROMPT
	RUNS_OUT(1) RUNS_OUT(2)			/* claims */
	RUNS_OUT(3) RUNS_OUT(4) RUNS_OUT(5) RUNS_OUT(6)
	:: d_step { live && epoch < EPOCHS && !KEPT -> live = false }
#endif
	od
}

/* hold.c: heads of lanes, and those that a tick could do something about */
#define HEAD(m)		((held & BIT(m)) && !(held & BEFORE(m)))
#define STIRS(m) \
	(HEAD(m) && ((published & BIT(m)) || (FENCE && FREE(m))))

/* hold_row_gone(): the next scan sees the other rows of the lane */
inline forget(m)
{
	if
	:: HEAD(m) -> DROP(held, LANE(m))
	:: else -> DROP(held, BIT(m))
	fi
}

/*
 * take_picks(): rows of the scan that are not known to wait, as far as the
 * batch has room for them, and heads that are due.
 */
#define FRESH		(WAITING & ~held & ~PASSED)
#define PICK(c) \
	:: mine && (FRESH & BELOW(c)) -> picks = FRESH & BELOW(c) \
	:: mine && (FILTER(STIRS) & SEEN(c)) -> \
		picks = FRESH & BELOW(c) | FILTER(HEAD) & SEEN(c)

#define OR_DIE		:: atomic { crashes -> crashes--; goto die }

/*
 * A worker and its successors.  Each has a number, which is its id; since it
 * never has two batches, it is the token of its claims as well.  A tick that
 * would change nothing is not begun, so that waiting in vain shows as a
 * deadlock.
 */
proctype worker(byte slot)
{
	byte	me = slot + 1;
	byte	mine = 1 - slot;	/* epoch of our lease; 0: none */
	byte	held;			/* hold.c: rows that wait */
	byte	picks;			/* rows to claim */
	byte	batch;			/* rows fetched */
	byte	todo;			/* those to be sent */
	byte	ok, failed;		/* what became of them */
	byte	gone;			/* picks that others have settled */
#ifdef FLOOR
	byte	floor, scan;
#endif
	byte	m;

life:	do
	:: published == ALL ->
		assert(stored == ALL);
		break

	:: d_step {		/* member_round(): take what is free */
		!MINE && (!live || owner == me) ->
		if
		:: live
		:: else ->
			owner = me;
			epoch++;
			live = true
		fi;
		mine = epoch;
		held = 0
	}

#ifdef FLOOR
	:: floor -> floor = 0
#endif
	OR_DIE

	:: atomic {		/* look(); is the lease still ours? not asked */
		if
		PICK(0) PICK(1) PICK(2) PICK(3)
		fi;
#ifdef FLOOR
		scan = WAITING & ~PASSED
#endif
	}

	d_step {		/* store_claim(): what is free, */
		EACH((picks & WAITING & due & BIT(m)) && !token[m] && FENCE,
			CLAIM(m))
	}
	d_step {		/* and what is abandoned; store_fetch() */
		EACH((picks & ~batch & WAITING & BIT(m)) && token[m] &&
		    FREE(m) && FENCE,
			CLAIM(m))
	}

	/* learn_waiting(): why was it not claimed?  And bar_lanes(). */
	if
	:: d_step {
		true ->
		EACH(picks & ~batch & BIT(m),
			if
			:: published & BIT(m) -> NOTE_GONE(m)
			:: else -> ADD(held, m)
			fi);
		EACH((batch & BIT(m)) && !BARRED(m), ADD(todo, m));
		picks = 0
	}
	OR_DIE
	fi;

	/*
	 * relay_publish(): one at a time of a lane, and none after one that
	 * failed.  It arrives and we hear of it; or we do not hear, while it
	 * arrives, or will, or never does; then it failed, or the connection
	 * is lost, which leaves it as if it had not been sent.
	 */
	do
	:: atomic {
		todo ->
		m = FIRST(todo);
		if
		:: store(m);
			ADD(ok, m);
			DROP(todo, BIT(m))
		:: failures ->
			failures--;
			if
			:: store(m)
			:: ADD(flying, m)
			fi;
			if
			:: ADD(failed, m);
				DROP(todo, BEHIND(m))
			:: todo = 0
			fi
		fi;
		m = 0
	}
	OR_DIE
	:: !todo -> break
	od;

	if
	:: d_step {		/* write_delivered() */
		true ->
		EACH((ok & BIT(m)) && HOLDS(m),
			assert(token[m] == me);
			assert(stored & BIT(m));
			ADD(published, m);
			DROP(due, BIT(m));
			token[m] = 0)
	}
	OR_DIE
	fi;

	if
	:: d_step {		/* write_retry(), write_unsent() */
		true ->
		EACH((batch & ~ok & BIT(m)) && HOLDS(m),
			assert(token[m] == me);
			token[m] = 0;
			due = (failed & BIT(m) -> due & ~BIT(m) :
			    due | BIT(m)));

		/* remember(), forget_done() */
		EACH(batch & ~ok & BIT(m),
			if
			:: (failed & BIT(m)) || BARRED(m) -> ADD(held, m)
			:: else
			fi);
		EACH((ok | gone) & BIT(m), forget(m));
#ifdef FLOOR
		floor = PASSED | UPTO(scan);
		scan = 0;
#endif
		batch = 0;
		ok = 0;
		failed = 0;
		gone = 0
	}
	OR_DIE
	fi
	od;
	goto over;

	/*
	 * Dead, and its successor does store_take_over().  What time passes
	 * between the two is rest before the death.
	 */
die:	atomic {
		m = me;
		me = me + 2;
		if
		:: owner == m ->
			owner = me;
			epoch++;
			live = true
		:: else
		fi;
		mine = 0;
		held = 0;
		picks = 0;
		batch = 0;
		todo = 0;
		ok = 0;
		failed = 0;
		gone = 0;
		m = 0
	}
	goto life;
over:	skip
}

init
{
	atomic {
		run worker(0);
		run worker(1)
	}
}
