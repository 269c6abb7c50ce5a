/*
 * relay.pml - claim, publish, settle, lease, take-over and another partition
 * count, for spin
 *
 * Two workers, two partitions, three messages.  The partition count changes
 * at any moment, once: the key has label A under the former count and label B
 * under the new one.  Some producers never learn of the change, so a row of
 * after it may have either label.  While both counts are declared the labels
 * are one class, and an operator may end that.  Whatever happens when,
 *
 *   - each message is settled in the end, and none before it is in the
 *     stream (no loss);
 *   - the messages of a key enter the stream in order, and each once;
 *   - a row that comes back is not passed by a later one of its key that is
 *     claimed after that;
 *   - no worker claims a row without all leases of its class, or settles one
 *     that its token does not hold (a fenced worker changes nothing).
 *
 * There is no clock.  A lease, a claim or a delay may run out at any moment,
 * and a worker may rest for as long as it likes between two of its steps, so
 * pauses of every length are in here.  A worker may die, and its successor
 * takes its place.  Workers may come and go, which moves leases, one at a
 * time.  FAULTS says how often any of this happens, or a publish fails.
 *
 * What nobody can see half done, such as a statement, is one step: a d_step
 * or atomic.  Each names the function it stands for.
 *
 * What can be checked, with -D:
 *
 *   (nothing)	all of the above, for messages of one key
 *   TWO_KEYS	the same, but the second message has a key of its own
 *   DELAYS	the same, and a producer may ask for a delay
 *   REPLAY	the same, and a row that was published comes back once
 *   ONE_COUNT	the count stays as it is
 *   PROMPT	no lease and no claim ever runs out, and none goes to another
 *		worker: also what a worker held that died is delivered
 *   CALM	nobody dies, no publish fails and a worker keeps its leases
 *		while it has a batch out: then nothing is even sent twice
 *
 * and with something taken out, which must go wrong:
 *
 *   NO_FENCE	a claim does not ask whose the leases are
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
 *   PART	a worker claims from a class of which it holds a part
 *   FENCE_ROWS	the fence names only the labels of the rows to be claimed
 *   TWO_SCANS	the labels of a class are read at two moments
 *   TWO_PICKS	rows of a class are not merged: those of one label may be cut
 *		off where those of the other are not
 *   OLD_COUNTS	a worker reads the counts before it reads the epochs
 *   SAME_EPOCHS	a change of the count raises no epoch
 *   QUIET	a row that comes back raises no epoch
 *   OLD_LOOK	messages are those that an earlier look has read
 *   TOO_SOON	the former count goes while rows wait under its label
 *
 * ORDER_ONLY does not look whose leases a claim is made under, to see what
 * comes of it.  With one count, and if no row comes back, nothing does: the
 * stream owes its order to hold and ids, as long as it remembers every id,
 * and fence and token check keep two workers from doing the same work and
 * from undoing that of the other.  With two counts the order needs the fence.
 *
 * Left out: other classes, more than two counts, labels of counts that are not
 * declared; parked rows, dead letters and pauses; lanes that fly at the same
 * time; that what failed and what was not sent are written back by two
 * statements; the send deadline, because it is there for the end of the
 * duplicate window, and this stream remembers every id.  Also statements that
 * fail: one that was not executed is a worker that rests, one whose answer is
 * lost finds itself done, a worker that drops its batch is one that dies.  And
 * claims that the server loses after their messages were sent: check_stream_audit
 * and chaos have these.
 */

#define N		3	/* messages, in order of their sequence */
#ifndef EARLY
#define EARLY		1	/* so many are there from the start */
#endif
#ifndef FAULTS
#define FAULTS		2	/* in all */
#endif
#ifdef CALM
#define NO_IDS
#define MAY_FAIL	false
#define MAY_DIE		false
#else
#define MAY_FAIL	faults
#define MAY_DIE		faults
#endif
#ifdef REPLAY
#define REPLAYS		1	/* 1 at most */
#else
#define REPLAYS		0
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

/* Sets of labels and of leases. */
#define A		1
#define B		2
#define BOTH		3

/* The table outbox. */
byte	committed = BELOW(EARLY);
byte	under_b;		/* label B; all others have A */
byte	due = BELOW(EARLY);	/* available_at has come */
byte	published;
byte	token[N];		/* of whose claim; 0: NULL */

#define WAITING		(committed & ~published)
#define UNDER(labels)	(((labels) & A -> ALL & ~under_b : 0) | \
			    ((labels) & B -> under_b : 0))
#define LABELS(set)	(((set) & ~under_b -> A : 0) | \
			    ((set) & under_b -> B : 0))

/* The table outbox_settings: the labels of the key under declared counts. */
byte	declared = A;		/* then BOTH, then B */

/*
 * The tables outbox_partitions and outbox_workers, for each worker: the leases
 * that it owns, and those of them whose epoch it has read.  An epoch is only
 * ever compared with the one that was read, so it has no number here: to raise
 * it is to make both workers forget it.
 */
byte	owned[2], known[2];
bit	first;			/* the worker that wants the class */

#define RAISE(labels)	\
	DROP(known[0], labels); \
	DROP(known[1], labels)

/* JetStream.  That the list is append-only is seen at each append. */
byte	stored;
byte	flying;			/* sent, given up, and still under way */

/* The row that came back, and workers whose batch, or messages, are older. */
byte	replayed;
byte	excused, stale;

byte	faults = FAULTS, replays = REPLAYS;

/*
 * The switches.
 */

/* To a worker that knows of one count each label is a class. */
#if defined(FENCE_ROWS)
#define CLASSES(set)	LABELS(set)
#elif defined(PART)
#define CLASSES(set)	(knows -> mine : LABELS(set))
#else
#define CLASSES(set)	(knows -> BOTH : LABELS(set))
#endif
#ifdef PART
#define MAY_LOOK	true
#else
#define MAY_LOOK	(!knows || mine == BOTH)
#endif

#ifdef NO_FENCE
#define FENCE(set)	true
#else
#define FENCE(set)	!(CLASSES(set) & ~known[slot])
#endif

#if defined(CALM) || defined(ORDER_ONLY)
#define ALLOWED(m)	true	/* what comes of it is the question there */
#else
#define ALLOWED(m)	!((declared == BOTH -> BOTH : LABELS(BIT(m))) & \
			    ~known[slot])
#endif

/* A worker counts its own claims as void, too: it has nothing else open. */
#ifdef NO_VOID
#define VOID(m)		(token[m] == me)
#else
#define VOID(m)		(token[m] && (token[m] - 1) % 2 == slot)
#endif
#define FREE(m)		((due & BIT(m)) || VOID(m))
#define CLAIM(m)	\
	assert(ALLOWED(m));	\
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

#ifdef TWO_PICKS
#define CUT(c)		(BELOW(c) | under_b)
#else
#define CUT(c)		BELOW(c)
#endif

#ifdef TWO_SCANS
#define VISIBLE		((mine & A -> scanned : 0) | \
			    WAITING & UNDER(mine & B))
#else
#define VISIBLE		(WAITING & UNDER(mine))
#endif

#ifdef SAME_EPOCHS
#define RAISE_ALL
#else
#define RAISE_ALL	RAISE(BOTH)
#endif

#ifdef QUIET
#define RAISE_ONE(label)
#else
#define RAISE_ONE(label)	RAISE(label)
#endif

/*
 * A message is sent.  A batch that was claimed before a row came back may pass
 * that row.  If it has the row itself, that is the message of before, whose id
 * the stream knows.
 */
#define EXCUSED		((excused >> slot & 1) * replayed)
#define STALE		((stale >> slot & 1) * replayed)
#define IN_ORDER(m)	!(BEFORE(m) & ~stored & ~EXCUSED)

/* It arrives. */
inline store(m, former)
{
	if
	:: KNOWN(m) || (former & BIT(m))
	:: else ->
		assert(!(stored & BIT(m)));		/* each once */
		ADD(stored, m)
	fi
}

/*
 * What happens by itself.  Transactions on one key follow one another.  A
 * producer writes the label of the former count as long as that is declared,
 * or that of the new one.
 */
#ifdef DELAYS
#define DELAYED		true
#else
#define DELAYED		false
#endif
#define COMMIT(m) \
	:: atomic { \
		!(committed & BIT(m)) && !(BEFORE(m) & ~committed) -> \
		ADD(committed, m); \
		if \
		:: declared & A \
		:: declared & B -> ADD(under_b, m) \
		fi; \
		if \
		:: ADD(due, m) \
		:: DELAYED \
		fi \
	}

/* A claim stamps the same time on all its rows. */
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
		store(m, 0) \
	}

/*
 * Leases of a worker run out, and perhaps it does not count among the living
 * any more.  Or a worker comes or goes, and the two want other leases.
 */
#ifdef CALM
#define KEPT(s)	(token[0] == s + 1 || token[1] == s + 1 || token[2] == s + 1)
#else
#define KEPT(s)	false
#endif
#define LOSE(s, leases) \
	:: atomic { \
		faults && (owned[s] & (leases)) == (leases) && !KEPT(s) -> \
		faults--; \
		DROP(owned[s], leases); \
		DROP(known[s], leases); \
		if \
		:: first = 1 - (s) \
		:: true \
		fi \
	}
#define OTHER_ORDER \
	:: d_step { \
		faults -> \
		faults--; \
		first = 1 - first \
	}

/* store_repartition() */
#define CHANGE \
	:: d_step { \
		declared == A -> \
		declared = BOTH; \
		RAISE_ALL \
	}

/* outboxctl partitions sync --finish: nobody writes label A any more. */
#ifdef TOO_SOON
#define IS_OVER		true
#else
#define IS_OVER		!(WAITING & UNDER(A))
#endif
#define FINISH \
	:: d_step { \
		declared == BOTH && IS_OVER -> \
		declared = B; \
		RAISE_ALL \
	}

/* A replay: another id, and the label of the key under the present count. */
#define COME_BACK(m) \
	:: d_step { \
		replays && (published & BIT(m)) -> \
		replays--; \
		DROP(published, BIT(m)); \
		DROP(stored, BIT(m)); \
		DROP(flying, BIT(m)); \
		ADD(due, m); \
		if \
		:: declared & B -> ADD(under_b, m) \
		:: else \
		fi; \
		RAISE_ONE(LABELS(BIT(m))); \
		replayed = BIT(m); \
		excused = 3; \
		stale = 3 \
	}

active proctype world()
{
end:	do
	COMMIT(0) COMMIT(1) COMMIT(2)
	ARRIVE(0) ARRIVE(1) ARRIVE(2)
#ifndef ONE_COUNT
	CHANGE
#endif
	RUNS_OUT(0)				/* delays */
#ifndef PROMPT
	RUNS_OUT(1) RUNS_OUT(2)			/* claims */
	RUNS_OUT(3) RUNS_OUT(4)
	LOSE(0, A) LOSE(0, B) LOSE(0, BOTH)
	LOSE(1, A) LOSE(1, B) LOSE(1, BOTH)
	OTHER_ORDER
	FINISH
#endif
#ifdef REPLAY
	COME_BACK(0) COME_BACK(1)
	:: replays && published == ALL -> replays--	/* or never */
#endif
	od
}

/* Where a worker is: between two batches, or done with publishing. */
#define IDLE		!(picks | batch)
#define SENT		(batch && !(picks | todo))

/*
 * fleet.c: there are two classes or one, and the first of the fleet wants the
 * first of them.
 */
#ifdef ONE_COUNT
#define OTHER		0	/* the label B is not used */
#else
#define OTHER		B
#endif
#define WANTED		(declared == BOTH -> (slot == first -> BOTH : 0) : \
			    (slot == first -> A : OTHER))

/* store_view(): leases and counts of one moment */
#ifdef OLD_COUNTS
#define COUNTS		heard
#else
#define COUNTS		declared
#endif
#define IS_NEWS	\
	(mine != owned[slot] || known[slot] != owned[slot] || \
	    knows != (COUNTS == BOTH && owned[slot]))
#define SEE \
	mine = owned[slot]; \
	known[slot] = mine; \
	knows = (COUNTS == BOTH && owned[slot]); \
	held = 0

/* store_release() and store_acquire(), each followed by another view */
#define GIVE_UP(lease) \
	:: d_step { \
		IDLE && (owned[slot] & ~WANTED & (lease)) -> \
		DROP(owned[slot], lease); \
		SEE \
	}
#define TAKE(lease) \
	:: d_step { \
		IDLE && (WANTED & ~owned[0] & ~owned[1] & (lease)) -> \
		owned[slot] = owned[slot] | (lease); \
		SEE \
	}

/* lanes.c: heads of lanes, and those that a tick could do something about */
#define HEAD(m)		((held & BIT(m)) && !(held & BEFORE(m)))
#define STIRS(m) \
	(HEAD(m) && ((published & BIT(m)) || (FENCE(BIT(m)) && FREE(m))))

/* lanes_row_gone(): the next scan sees the other rows of the lane */
inline forget(m)
{
	if
	:: HEAD(m) -> DROP(held, LANE(m))
	:: else -> DROP(held, BIT(m))
	fi
}

/*
 * candidates_pick(): rows of the scan that are not known to wait, merged by
 * sequence, as far as the batch has room for them, and heads that are due.
 */
#define FRESH		(VISIBLE & ~held & ~PASSED)
#define PICK(c) \
	:: IDLE && MAY_LOOK && (FRESH & CUT(c)) && FENCE(FRESH & CUT(c)) -> \
		picks = FRESH & CUT(c) \
	:: IDLE && MAY_LOOK && (FILTER(STIRS) & SEEN(c)) -> \
		picks = FRESH & CUT(c) | FILTER(HEAD) & SEEN(c)

/* backlog_hold_back() */
#define MAY_SEND(m)	((batch & BIT(m)) && !BARRED(m))
#define BEGIN_BATCH \
	todo = FILTER(MAY_SEND); \
	picks = 0; \
	asked = 0

/* backlog_end_batch() */
#define END_BATCH \
	EACH(gone & BIT(m), forget(m)); \
	gone = 0; \
	failed = 0; \
	END_SCAN

#ifdef FLOOR
#define END_SCAN	floor = PASSED | UPTO(scan); scan = 0
#else
#define END_SCAN	skip
#endif

/*
 * A worker and its successors.  It never has two batches, so the token of its
 * claims is its own number, and dead workers of its slot have another one.
 * A tick that would change nothing is not begun, so that waiting in vain shows
 * as a deadlock.  What no other process can see goes with the step before it.
 */
proctype worker(bit slot)
{
	byte	me = slot + 1;
	byte	mine;			/* its leases, as it read them last */
	bool	knows;			/* and with them, of two counts */
	byte	held;			/* lanes.c: rows that wait */
	byte	picks;			/* rows to claim */
	byte	asked;			/* in so many statements */
	byte	batch;			/* rows fetched */
	byte	todo;			/* those to be sent */
	byte	ok, failed;		/* what became of them */
	byte	gone;			/* settled, by us or others */
#ifdef FLOOR
	byte	floor, scan;
#endif
#ifdef TWO_SCANS
	byte	scanned;
#endif
#ifdef OLD_COUNTS
	byte	heard;
#endif
	byte	m;

	do
	:: IDLE && published == ALL && !replays ->
		assert(stored == ALL);
		break

	/* Between two batches. */
	:: d_step { IDLE && IS_NEWS -> SEE }
	GIVE_UP(A) GIVE_UP(B)
	TAKE(A) TAKE(B)
#ifdef OLD_COUNTS
	:: IDLE && heard != declared -> heard = declared
#endif
#ifdef FLOOR
	:: IDLE && floor -> floor = 0
#endif
#ifdef TWO_SCANS
	:: d_step {
		IDLE && scanned != (WAITING & UNDER(mine & A)) ->
		scanned = WAITING & UNDER(mine & A)
	}
#endif
	:: atomic {	/* look(): rows, messages, heads; it locks nothing */
		if
		PICK(0) PICK(1) PICK(2) PICK(3)
		fi;
#ifndef OLD_LOOK
		DROP(stale, BIT(slot));
#endif
#ifdef FLOOR
		scan = WAITING & ~PASSED
#endif
	}

	:: d_step {		/* store_claim(): what is free, */
		picks && asked == 0 ->
		DROP(excused, BIT(slot));
		EACH((picks & WAITING & due & BIT(m)) && !token[m] &&
		    FENCE(picks),
			CLAIM(m));
		if	/* all of it: the messages of the look are sent */
		:: picks == batch -> BEGIN_BATCH
		:: else -> asked = 1
		fi
	}
	:: d_step {		/* and what is abandoned; store_fetch() */
		asked == 1 ->
		EACH((picks & ~batch & WAITING & BIT(m)) && token[m] &&
		    FREE(m) && FENCE(picks),
			CLAIM(m));
		DROP(stale, BIT(slot));
		asked = 2
	}
	:: d_step {		/* backlog_learn_missed(): why was it not claimed? */
		asked == 2 ->
		EACH(picks & ~batch & BIT(m),
			if
			:: published & BIT(m) -> NOTE_GONE(m)
			:: else -> ADD(held, m)
			fi);
		BEGIN_BATCH;
		if
		:: batch
		:: else -> END_BATCH
		fi
	}

	/*
	 * relay_publish(): one at a time of a lane, and none after one that
	 * failed.  It arrives and we hear of it; or we do not hear, while it
	 * arrives, or will, or never does; then it failed, or the connection
	 * is lost, which leaves it as if it had not been sent.
	 */
	:: atomic {
		todo ->
		m = FIRST(todo);
		assert((stored & BIT(m)) || IN_ORDER(m));
		if
		:: store(m, STALE);
			ADD(ok, m);
			DROP(todo, BIT(m))
		:: MAY_FAIL ->
			faults--;
			if
			:: store(m, STALE)
			:: !(STALE & BIT(m)) -> ADD(flying, m)
			fi;
			if
			:: ADD(failed, m);
				DROP(todo, BEHIND(m))
			:: todo = 0
			fi
		fi;
		m = 0
	}

	:: d_step {		/* write_delivered() */
		SENT && ok ->
		EACH((ok & BIT(m)) && HOLDS(m),
			assert(token[m] == me);
			assert(stored & BIT(m));
			ADD(published, m);
			DROP(due, BIT(m));
			token[m] = 0);
		gone = gone | ok;
		DROP(batch, ok);
		ok = 0;
		if
		:: batch
		:: else -> END_BATCH
		fi
	}
	:: d_step {		/* write_delayed(), write_unsent() */
		SENT && !ok ->
		EACH((batch & BIT(m)) && HOLDS(m),
			assert(token[m] == me);
			token[m] = 0;
			due = (failed & BIT(m) -> due & ~BIT(m) :
			    due | BIT(m)));

		/* backlog_learn() */
		EACH(batch & BIT(m),
			if
			:: (failed & BIT(m)) || BARRED(m) -> ADD(held, m)
			:: else
			fi);
		batch = 0;
		END_BATCH
	}

	/*
	 * It dies, and its successor does store_take_over().  What time passes
	 * between the two is rest before the death.  Without a batch it leaves
	 * nothing behind, which is as if it had rested.
	 */
	:: d_step {
		MAY_DIE && batch ->
		faults--;
		EACH(token[m] == me, token[m] = me + 2);
		known[slot] = 0;
		mine = 0;
		knows = false;
		held = 0;
		picks = 0;
		asked = 0;
		batch = 0;
		todo = 0;
		ok = 0;
		failed = 0;
		gone = 0
	}
	od
}

init
{
	atomic {
		owned[0] = A;
		owned[1] = OTHER;
		run worker(0);
		run worker(1)
	}
}
