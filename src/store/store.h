/*
 * store.h - the statements of the daemon, as functions
 *
 * One function per statement of the protocol; doc/design.md explains each.  No
 * SQL and no type of the client library appears here.  All times are the
 * database's.  Every function that takes a struct err may block, no statement
 * for longer than the timeout of the connection.  It returns -1 on failure,
 * with an error that starts with the statement's name; store_fault then tells
 * the kind of failure.
 */
#ifndef OUTBOX_STORE_H
#define OUTBOX_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"
#include "conf/counts.h"
#include "mysql/db.h"
#include "mysql/server.h"
#include "util/err.h"
#include "util/isolate.h"
#include "util/sequence_set.h"
#include "common/away.h"
#include "common/ident.h"
#include "common/msg.h"

#define STORE_LABEL	MSG_LABEL
#define STORE_RANGES	64	/* partitions of one query, at most */

struct store;

/* wait_ms: timeout of a statement; a worker takes worker.lease_renew. */
struct store	*store_new(const struct conf *, const char *id,
		    int64_t wait_ms);
void		 store_free(struct store *);

/* Its connection: for which server it takes, and what that is. */
struct db	*store_db(const struct store *);

int		 store_open(struct store *, struct err *);
void		 store_close(struct store *);
bool		 store_is_open(const struct store *);
const char	*store_id(const struct store *);
const char	*store_peer(const struct store *);

/*
 * What the server is, alone or of which cluster, as server_read.  A worker that
 * registers afterwards says its name.
 */
int		 store_cluster(struct store *, struct server *, struct err *);
enum db_fault	 store_fault(const struct store *);

/* isolate_judge() of what the last statement has returned. */
bool		 store_isolate(const struct store *, struct isolate *, int rc);

/*
 * Rows that cannot be written now, the first ones: the database refuses them
 * for their contents, or another session has locked them.
 */
#define STORE_REFUSALS	16
struct refusal {
	uint64_t	sequence;
	int64_t		since;		/* clock_ms() */
	unsigned	claim;		/* the last one that met it */
	struct err	why;		/* "cannot be claimed: ..." */
};
struct refusals {
	struct refusal	items[STORE_REFUSALS];
	size_t		n;
	unsigned	claim;		/* the present one */
};

/*
 * Log that the database refuses this row for its contents, and list it; once,
 * until it leaves the list.  what is the act that failed, such as "buried".
 * Beyond STORE_REFUSALS rows nothing is logged: the first ones stand for all.
 */
void		 store_say_refused(struct store *, uint64_t sequence,
		    const char *what, const struct err *);

/* Log it, once, of a row that just stays as it is. */
void		 store_say_kept(struct store *, uint64_t sequence,
		    const char *what, const struct err *why);

/* As store_say_refused of a row that another session has locked: a warning. */
#define STORE_LOCKED	"another session has locked the row"
void		 store_say_locked(struct store *, uint64_t sequence);

/* The owner of the rows removes those that are not refused any more. */
struct refusals	*store_refusals(struct store *);
void		 store_drop_refusal(struct refusals *, size_t i);

/*
 * Treat the claims of this dead worker as free.  A nonce is 16 hex digits.
 * Claims with the store's own nonce are always free, because a worker claims
 * only while it has no claim open.
 */
void		 store_note_dead(struct store *, const char *nonce);
void		 store_forget_dead(struct store *);	/* all of them */

/*
 * store_schema.c - what the tables can do
 */

/*
 * The schema version of sql/schema.sql.  A daemon refuses to run on a newer
 * one, so raise it there only when an older daemon would do harm.  This daemon
 * must also run on the version before: what is full now becomes before, with
 * the code that asks for it.
 */
extern const unsigned	store_schema_version;

/*
 * A database has one of three profiles.  pillar: of the tables the outbox, the
 * events, the leases and the workers, and none that the daemon has beside them.
 * before: all tables, as the schema version before has them.  full: as this
 * version has them.
 */
enum store_profile { PROFILE_PILLAR, PROFILE_BEFORE, PROFILE_FULL };

/* The profile, as of store_learn(): is it no more than pillar; is it full? */
bool	store_is_pillar(const struct store *);
bool	store_is_full(const struct store *);

/*
 * Read which profile it is, and which columns and indexes the outbox and the
 * events have.  What is missing of the profile is an error that names it and
 * says what to run; so is a database with some tables of ours and not others, or
 * with none where rows are parked, or where a former connection has learnt all.
 * But a store that has learnt pillar goes on with that while others are made.
 */
int	store_learn(struct store *, struct err *);

/* Once more if that was five seconds ago: they may have changed since. */
int	store_learn_again(struct store *, struct err *);

/*
 * store_unstable.c: the columns that message ids are made of, from 0 on; NULL:
 * no more.  Else why it changes without a change of the message, so that ids
 * leave it out, or "".  *word is its name in the pointer layout.
 */
const char *store_unstable(const struct store *, size_t i, const char **word);

/* Find them; store_learn() does it, too.  Log a warning of each. */
int	store_find_unstable(struct store *, struct err *);
void	store_warn_of_unstable(const struct store *);

enum store_table {
	T_OUTBOX, T_EVENTS, T_PARTITIONS, T_WORKERS, T_SETTINGS, T_DEAD,
	T_BLOCKED, T_STREAMS, T_AUDIT, T_REGISTRY, NTABLES
};

/* Some tables of ours were there, as of store_learn, and this was not. */
bool	store_lacks(const struct store *, enum store_table);

/*
 * Insert the missing lease rows p00, p01, ... up to the largest declared count;
 * "" too if 1 is one of several.
 */
int	store_fill_declared(struct store *, const struct counts *,
	    struct err *);

/* Record that a message was sent under a label of a former count. */
int	store_note_former(struct store *, struct err *);

/*
 * store_settings.c - the id of the outbox, and the first partition count
 */

/*
 * Read the partition count of the settings into *count.  If it is NULL there,
 * it is set to *count first.  Without a settings table *count stays.
 */
int	store_settings(struct store *, unsigned *count, struct err *);

/* What message ids begin with, see conf_id_prefix. */
#define STORE_PREFIX	128
void	store_prefix(const struct store *, char prefix[STORE_PREFIX]);

/* Leases for labels that no declared count makes, at most. */
#define STORE_OWN_LABELS	1000

struct waiting;
struct range;

/*
 * store_scheduled.c - messages with a time of their own, scheduled_at
 *
 * Move rows of our partitions, whose time is to come, out of the way of scans;
 * rows of which that is not so any more stay.  May this one be moved?
 */
bool	store_can_schedule(const struct store *);
bool	store_may_schedule(const struct store *, const struct waiting *);
int	store_schedule(struct store *, const struct range *, size_t nranges,
	    const uint64_t *sequences, size_t n, struct err *);

/* What became of rows whose time has come. */
struct unscheduled {
	bool		more;		/* there may be others */
	bool		busy;		/* none was moved: a lease or the
					   settings are locked */
	size_t		nlocked;	/* rows that are locked: left out */
	struct err	why;		/* if busy */
};

/*
 * Bring them back.  A row that the database refuses is logged and left out for
 * a minute.  A lock is no failure, and holds this up for a second at most.
 */
int	store_unschedule(struct store *, struct unscheduled *, struct err *);

/*
 * store_strays.c - labels of waiting rows without a lease
 */
struct adopted {
	unsigned	n;			/* leases that were created */
	char		label[STORE_LABEL];	/* of one of them */
	bool		left;			/* some label can have none */
	bool		busy;			/* a lock was in the way */
	struct err	why;			/* if busy */
};

/*
 * Find labels of waiting rows, and of records of blocked keys, that have no
 * lease row, and create it.  A lock is no failure, and is waited for a second
 * at most.
 */
int	store_adopt_strays(struct store *, struct adopted *, struct err *);

/* A label that no worker can lease. */
struct stray {
	char		*label;		/* any bytes */
	size_t		 len;
	const char	*why;		/* never NULL for the caller */
};

struct strays {
	struct stray	*items;
	size_t		 n;
};

/*
 * Find those labels of waiting rows, a thousand at most.  *sql, to be freed, is
 * the statement that gives their rows the label of their key; NULL: there are
 * none.
 */
int	store_strays(struct store *, struct strays *, char **sql,
	    struct err *);
void	store_strays_free(struct strays *);

/*
 * store_lease.c - workers and leases
 */

/* Announce this worker, alive for worker.heartbeat_ttl. */
int	store_register(struct store *, struct err *);

/*
 * Take over from a dead worker, in one transaction: delete its row, and give
 * its leases to this worker under new epochs.
 */
int	store_take_over(struct store *, const char *dead_id, struct err *);

/*
 * What this worker says is away, see away.h; written with each heartbeat, where
 * the tables have a column for it.
 */
void	store_say_away(struct store *, const char *list);

/*
 * This worker's row says of which master it is, so that hosts with one name can
 * be told apart.  Borrowed.
 */
void	store_say_instance(struct store *, const char *);

/* Renew the heartbeat.  *known is false if the row was gone; it is back now. */
int	store_beat(struct store *, bool *known, struct err *);

struct lease {
	char		label[STORE_LABEL];	/* "": rows without a label */
	uint64_t	epoch;
	bool		mine;		/* this worker's, not expired */
	bool		free;		/* no owner, or expired */
};

struct live_worker {
	char	*id;
	char	*away;		/* see away.h; NULL: it does not say */
};

/*
 * What a worker reads every second, in one statement, so that the counts belong
 * to the epochs.
 */
struct store_view {
	struct live_worker	*workers;	/* sorted bytewise by id */
	size_t			 nworkers;
	struct lease		*leases;	/* sorted bytewise by label */
	size_t			 nleases;
	struct counts		 counts;	/* as declared */
};

struct labels {
	const char	**list;
	size_t		  n;
};

/*
 * Read the live workers and all leases.  After -1 there is nothing to free.  A
 * worker whose heartbeat stays as it is for too long is no live one, see
 * store_silent.c, and its leases are free in the next view.
 */
int	store_view(struct store *, struct store_view *, struct err *);
void	store_view_free(struct store_view *);

/* Renew this worker's live leases; *n is how many. */
int	store_renew(struct store *, uint64_t *n, struct err *);

/*
 * Who holds one of these leases, until when, and how far ahead that is of the
 * clock of the server; "": nobody does, or they are paused.
 */
int	store_holder(struct store *, const struct labels *, struct err *text,
	    struct err *);

/* Take those that are free, with new epochs; *taken is how many. */
int	store_acquire(struct store *, const struct lease *const *, size_t n,
	    uint64_t *taken, struct err *);

/* Give up those of the n leases that this worker owns. */
int	store_release(struct store *, const struct lease *const *, size_t n,
	    struct err *);

/*
 * Raise the epochs of this worker's leases.  A statement that is still under
 * way on a lost connection then finds an outdated epoch, or it has had its
 * effect before this returns.
 */
int	store_bump_own_epochs(struct store *, struct err *);

/* Give up all leases and delete this worker's row. */
int	store_leave(struct store *, struct err *);

/*
 * Delete the rows of workers whose heartbeat has expired; the last one of a host
 * stays, as the trace of one that vanished, until an operator forgets it.
 */
int	store_purge(struct store *, uint64_t *purged, struct err *);

/* The first rows of a partition that this worker owns, limit at most. */
struct range {
	const char	*label;
	uint64_t	 epoch;
	size_t		 limit;
};

/*
 * store_candidates.c, store_claim.c - candidates, claims and messages
 */

struct candidate {
	uint64_t	sequence;
	unsigned	range;		/* index of the range it came from */
};

/* By sequence. */
void	store_sort_candidates(struct candidate *, size_t n);

/* A waiting row, and the label as the row has it; NULL: none. */
struct glanced {
	uint64_t	 sequence;
	struct bytes	 label;		/* valid until batch_free(&ahead) */
};

struct glance {
	struct glanced	*rows;		/* the caller's to free */
	size_t		 n;
	bool		 all;		/* there are no others; else no rows */
	struct batch	 ahead;		/* messages; batch_free() frees them */
};

/*
 * Read all waiting rows, due or not, of all partitions, of other workers too,
 * but not those that are parked or set apart until their time.
 * If there are GLANCE_ROWS or more, all is false and there are no rows.  While
 * few wait this costs the same for any number of partitions; without an index
 * for it, store_may_glance() is false.
 *
 * With the rows come the messages of those that have no claim and whose bodies
 * have at most max bytes; max 0: none.  A row that is claimed later is still as
 * it was read if our lease has lasted all the time: no other worker can have
 * claimed it in between.
 */
#define GLANCE_ROWS	100
bool	store_may_glance(const struct store *);
int	store_glance(struct store *, size_t max, struct glance *, struct err *);

/*
 * Read the first waiting rows, due or not, of at most STORE_RANGES ranges,
 * sorted by sequence.  The caller frees *out.
 */
int	store_candidates(struct store *, const struct range *, size_t n,
	    struct candidate **out, size_t *nout, struct err *);

/* Rows to be claimed: the ranges that they are from, and their sequences. */
struct claim_set {
	const struct range	*ranges;
	size_t			 nranges;
	const uint64_t		*sequences;
	size_t			 n;
};

/*
 * Claim those rows of the set that are free and due.  Claims none unless this
 * worker still owns all ranges under their epochs.  Sets the batch's token and
 * claimed_at; *claimed is how many.
 */
int	store_claim(struct store *, const struct claim_set *, struct batch *,
	    uint64_t *claimed, struct err *);

/*
 * Fetch those of the n that the batch's token holds, in sequence order.  Bodies
 * (payload and metadata) of more than max bytes are left out: away.
 */
int	store_fetch(struct store *, const uint64_t *sequences, size_t n,
	    size_t max, struct batch *, struct err *);

/*
 * Fetch the bodies of these messages that are away, once per batch.  has_event
 * becomes false if the event is gone.
 */
int	store_fetch_away(struct store *, const uint64_t *sequences, size_t n,
	    struct batch *, struct err *);

/*
 * store_backlog.c: the number of waiting rows.  Up to STORE_BACKLOG_EXACT they
 * are counted.  Above it, the number is an estimate from a few hundred samples.
 * Reads no more than about 12,000 rows.
 */
#define STORE_BACKLOG_EXACT	10000
struct store_backlog {
	bool		known;		/* false: no index allows it without
					   reading all rows */
	bool		exact;
	uint64_t	waiting;
	uint64_t	parked;		/* of these */
	bool		parked_least;	/* so many, or more */
};
int	store_backlog(struct store *, struct store_backlog *, struct err *);

/* The same of rows that were delivered in the last hour, of 1,000 at most. */
int	store_delivered(struct store *, struct store_backlog *, struct err *);

/*
 * store_newest.c: the next number that a row or event will get, and the highest
 * one of a row or a dead letter.  Between them are rows that are not committed,
 * or that have vanished.
 */
struct store_newest {
	bool		known;		/* false: nothing gives the numbers */
	uint64_t	next, row;
};
int	store_newest(struct store *, struct store_newest *, struct err *);

/*
 * No row has the number from or a higher one: may they have vanished?  False if
 * a transaction that is open has such a row, or if most of the events before
 * have no row either.
 */
int	store_may_vanish(struct store *, const struct store_newest *,
	    uint64_t from, bool *may, struct err *);

/*
 * store_peek.c: read one message without claiming it, with its body: the row
 * of the outbox as it is sent when it comes to that, or the row that a retry of
 * the dead letter makes.  b is zeroed, and gets no message if there is no such
 * row; batch_free() frees it.
 */
int	store_peek(struct store *, uint64_t sequence, bool dead,
	    struct batch *b, struct err *);

/* Why a candidate was not claimed. */
struct waiting {
	uint64_t	 sequence;
	struct bytes	 partition;
	struct bytes	 key;
	bool		 pending;	/* false: delivered meanwhile */
	bool		 claimed;	/* it has a claim */
	int64_t		 due_ms;	/* in how long; 0: due now */
	int64_t		 scheduled_ms;	/* the same, for its own time */
};

/* The texts belong to the list; free it with store_waiting_free. */
struct waiting_list {
	struct waiting	*items;
	size_t		 n;
	void		*rows;
};

int	store_waiting(struct store *, const uint64_t *sequences, size_t n,
	    struct waiting_list *, struct err *);
void	store_waiting_free(struct waiting_list *);

/*
 * store_counts.c, store_repartition.c - the partition counts that producers may
 * use, and how to change them
 */

/* Read the declared counts: from the settings or, without them, the file. */
int	store_read_counts(struct store *, struct counts *, struct err *);

/*
 * The settings table may have been made since we connected: to be called when
 * an epoch has risen.  If it was, this closes the connection and returns -1, so
 * that the next connection reads the schema again.
 */
int	store_check_counts(struct store *, struct err *);

struct repartition {
	bool		changed;
	bool		busy;		/* locked by another; nothing done */
	bool		refused;	/* not allowed, see why */
	struct err	why;
	struct counts	before, counts;	/* before it, and now */
};

/*
 * Declare this count; the present one becomes a former one.  Does nothing
 * without a settings table: the file declares the count then.  Waits for locks
 * for at most a second.
 */
int	store_repartition(struct store *, unsigned count,
	    struct repartition *, struct err *);

/* The same as a dry run: changes and locks nothing. */
int	store_plan_repartition(struct store *, unsigned count,
	    struct repartition *, struct err *);

/*
 * store_block.c - blocked keys, and the rows parked behind them
 *
 * A change takes effect only under leases of this worker and with the epochs
 * given (the limit of a range is ignored).  A row or a lease that is gone is
 * skipped, without an error.
 */

#define STORE_PAUSED	"paused"	/* as an owner: keeps workers off */
#define STORE_FOR_EVER	"2038-01-01 00:00:00"	/* the last year of TIMESTAMP */
#define STORE_HALTED	"halted"	/* a reason; others only inform */
#define STORE_DOUBT	"in doubt"	/* another one */

/*
 * store_parked.c: the label of parked rows, such as "!4711", is made of the
 * sequence that names their record.  No such label has a lease.  "!", "!x" and
 * "!01" are not among them, but an application's own.
 */
#define STORE_PARKED	24
void	store_parked_label(char label[STORE_PARKED], uint64_t first);
bool	store_is_parked(const struct store *, const char *label, size_t,
	    uint64_t *first);

/* A blocked key.  first names it: the sequence that blocked it originally. */
struct blocked {
	uint64_t	 first;
	uint64_t	 head;		/* what it waits for now */
	const char	*label;		/* its partition */
	uint64_t	 epoch;		/* of its lease; not set by reads */
	struct bytes	 key;		/* order key; data NULL: none */
	const char	*reason;	/* STORE_HALTED, "failed", ... */

	/* Set by store_blocked() only. */
	bool		 pending;	/* the head is a waiting row */
	bool		 head_parked;
	int64_t		 due_ms;	/* until the head is due; 0: it is, or
					   it has a claim */
};

/* The texts belong to the list; free it with store_blocked_free. */
struct blocked_list {
	struct blocked	*items;
	size_t		 n;
	void		*rows;
};

/* Is there a table of blocked keys, and are there leases to guard it? */
bool	store_can_block(const struct store *);

/*
 * Record blocked keys.  *written is less than n if a lease was lost, and 0 if
 * one of the records exists already.
 */
int	store_block(struct store *, const struct blocked *, size_t n,
	    uint64_t *written, struct err *);

/* Remove records by their names. */
int	store_unblock(struct store *, const struct range *, size_t nranges,
	    const uint64_t *firsts, size_t n, struct err *);

/* The blocked keys of these partitions. */
int	store_blocked(struct store *, const char *const *labels, size_t n,
	    struct blocked_list *, struct err *);
void	store_blocked_free(struct blocked_list *);

/* Rows of one lane, to be parked under the name of its record. */
struct parking {
	uint64_t	 first;
	const uint64_t	*sequences;
	size_t		 n;
};

/* Park rows; unpark rows, of any lanes, while these counts are declared. */
int	store_park(struct store *, const struct range *, size_t nranges,
	    const struct parking *, size_t n, struct err *);
int	store_unpark(struct store *, const struct counts *,
	    const struct range *, size_t nranges, const uint64_t *sequences,
	    size_t n, struct err *);

/*
 * store_settle.c - write back the outcomes
 */

/*
 * Write back every message of the batch, with one statement per outcome.
 * Counts the rows that changed; rows that the token no longer holds are fenced.
 * Safe to repeat after an error: done remembers what was written.
 *
 * A row that the database refuses for its contents (a constraint, a trigger)
 * does not keep the others from being written.  It becomes OUT_DEFER with an
 * error that says why, or OUT_KEEP_CLAIM if that is refused too; delay_ms is
 * the time to the next try.
 */
struct settled {
	uint64_t	delivered, retried, deferred, dead, returned, fenced;
	unsigned	done;		/* bit per outcome; 0 at first */
};

int	store_settle(struct store *, const struct batch *, struct settled *,
	    struct err *);

/*
 * store_stream_audit.c - delivered rows, and whether the stream still has them
 */

#define STORE_TIME	27	/* "2026-01-31 12:00:00.123456" */

/* A time before anything in the database. */
#define STORE_EVER	"1970-01-02"

/* Do the tables have the columns that the stream audit needs? */
bool	store_can_audit_stream(const struct store *);

/* And those for looking up messages in doubt before a resend? */
bool	store_can_resolve_in_doubt(const struct store *);

/*
 * Mark these rows as in doubt since an unknown time, if the batch's token holds
 * them.
 */
int	store_in_doubt_ever(struct store *, const struct batch *,
	    const uint64_t *sequences, size_t n, struct err *);

/*
 * These rows are not in doubt any more, if the batch's token holds them.  If
 * the mark of a lease covers them, they are in doubt from now on.
 */
int	store_not_in_doubt(struct store *, const struct batch *,
	    const uint64_t *sequences, size_t n, struct err *);

/* What is known of a stream. */
struct stream_row {
	char		created[65];
	bool		checked;	/* since this start of the broker */
	bool		fresh;		/* lacks all delivered before */
	char		since[STORE_TIME];	/* rows after it are checked */
	char		known_since[STORE_TIME];
	bool		has_tail;	/* the next three are known */
	uint64_t	tail;		/* events are compared up to it */
	char		tail_at[STORE_TIME];	/* when; "" if not known */
	uint64_t	first;		/* the stream's first one then */
	bool		has_gaps;	/* the next three are known, of then */
	char		leader[65];	/* "": it was not told */
	uint64_t	gaps, damage;	/* as in struct stream_state */
	bool		suspected;	/* STORE_LOST, and not all is read */
	uint64_t	missing;	/* holes that an operator is told of */
	bool		has_since;	/* the next one is known */
	uint64_t	server_since;	/* the stream's last sequence when this
					   database server came into use */
	uint64_t	phantom_first, phantom_last;	/* 0: none */
};

/* Which stream it is, as the broker and the configuration have it; borrowed. */
struct stream_identity {
	const char	*name;
	const char	*server;	/* its id, of this start */
	const char	*created;	/* when it was made */
	const char	*prefix;	/* of our message ids in it */
	const char	*leader;	/* of its replicas; "": not told */
	uint64_t	gaps, damage;	/* as in struct stream_state */
	const char	*suspicion;	/* to record for the scrub: one of the
					   next three; NULL: none */
};

/* Why all kept rows are to be read, the worst last: see recovery/. */
#define STORE_LOOK	"look"
#define STORE_CHANGE	"change"
#define STORE_LOST	"lost"

/*
 * Read the stream's row, or insert it.  It is fresh if message ids had another
 * prefix, or another stream was in use since the last check: delivered rows
 * cannot be told from lost ones then.
 */
int	store_stream(struct store *, const struct stream_identity *,
	    struct stream_row *, struct err *);

/*
 * Take or keep the role of the stream's checker, for worker.lease_ttl.  *taken
 * is false if another worker has it.
 */
int	store_check_begin(struct store *, const char *name, bool *taken,
	    struct err *);
int	store_check_renew(struct store *, const char *name, struct err *);

/* Give the role up without a result. */
int	store_check_drop(struct store *, const char *name, struct err *);

/* What a check has found, and an operator has to deal with. */
struct store_loss {
	uint64_t	messages;		/* lost, and not sent again */
	uint64_t	first, last;		/* their stream sequences */
	const char	*alarm;			/* see store_stream_alarm; or NULL */
};

/*
 * Record a finished check, if this worker is still the checker, and add the
 * loss to that of the checks before.  anew: rows delivered before the check
 * began are not expected in the stream.
 */
int	store_check_end(struct store *, const struct stream_identity *,
	    bool anew, const struct store_loss *, struct err *);

/* Record what is wrong with the stream: "was created again ...". */
int	store_stream_alarm(struct store *, const char *name,
	    const char *alarm, struct err *);

/*
 * Record that a short check has found nothing wrong.  first is the stream's
 * first sequence.  The messages up to last are of events of this database, if
 * it is still the one that was compared; 0: not known.
 */
int	store_check_short(struct store *, const struct stream_identity *,
	    uint64_t first, uint64_t last, struct err *);

/*
 * Keep rows that were delivered later than this: a check may still find that
 * the stream lost them.  Where no check is made, it is a day ago.
 */
int	store_needed_since(struct store *, char since[STORE_TIME],
	    struct err *);

/* The database's time. */
int	store_now(struct store *, char now[STORE_TIME], struct err *);

/*
 * When rows were delivered: after from and up to until, which is borrowed.
 * Functions that read a slice of the rows advance from to its end.
 */
struct store_period {
	char		 from[STORE_TIME];
	const char	*until;
};

struct acked_list {
	struct acked	*rows;		/* the caller frees them */
	size_t		 n;
};

/*
 * Read about the first max rows that were delivered in the period, in sequence
 * order; rows of one moment stay together.  Rows without a stream sequence come
 * only below this global sequence.  from advances; at the end it equals until,
 * and the list is empty.
 */
int	store_acked(struct store *, struct store_period *,
	    uint64_t unknown_below, size_t max, struct acked_list *,
	    struct err *);

/*
 * Read the latest or the oldest max rows delivered after since, older ones
 * first; those without a stream sequence are left out.  If all of these max are
 * such, max of the 5,000 nearest that have one.
 */
int	store_some_acked(struct store *, const char *since, bool latest,
	    size_t max, struct acked_list *, struct err *);

/*
 * The same, of about 100 rows that were delivered before the first of these
 * rows was in doubt: their messages were stored earlier.
 */
int	store_acked_before(struct store *, const struct batch *,
	    const uint64_t *sequences, size_t n, struct acked_list *,
	    struct err *);

/* Is this row still delivered with this stream sequence? */
int	store_is_acked(struct store *, const struct acked *, bool *is,
	    struct err *);

/*
 * Make those of the n rows wait again that are still delivered with that stream
 * sequence, and were before that moment (NULL: whenever); *reset is how many.
 * They are in sequence order, 1000 at most.  A row that was delivered after
 * known_ids gets a new message id, because the broker would take the old one
 * for a duplicate; NULL: all keep theirs.  Raises the epochs of their
 * partitions.  A row that the database refuses stays as it is and is logged.
 */
int	store_reset(struct store *, const struct acked *, size_t n,
	    const char *before, const char *known_ids, uint64_t *reset,
	    struct err *);

/*
 * store_topics.c - what Kafka has acknowledged, and whether it is still there
 */

/* As a suspicion, by an operator: send all again that topics lack. */
#define STORE_REFILL	"refill"

bool	store_can_audit_topics(const struct store *);

struct topics_row {
	bool	taken;			/* we have the role; the rest is set */
	char	known_since[STORE_TIME];	/* older rows are not expected */
	char	since[STORE_TIME];	/* rows after it are not checked */
	char	now[STORE_TIME];
	bool	refill;			/* STORE_REFILL */
};

/*
 * Take or keep the role of the topics' auditor for ttl_ms, with a configuration
 * of this name: by another one rows went elsewhere, and are not expected.
 */
int	store_topics_take(struct store *, const char *me, int64_t ttl_ms,
	    const char *conf, struct topics_row *, struct err *);

/*
 * Record that all rows delivered before now, of the row, are checked, if we have
 * the role, and add the loss.  anew: they are not expected any more.
 */
int	store_topics_checked(struct store *, const char *me,
	    const struct topics_row *, bool anew, const struct store_loss *,
	    struct err *);

/* Delivered rows whose places in Kafka are known, the latest first. */
struct placed {
	struct batch	 rows;		/* with their hashes */
	uint64_t	*places;	/* of each, see msg_place() */
	const char	**times;	/* the same: published_at */
};

/*
 * Read the last ones, about max rows, that were delivered after since and before
 * upto, which moves back; to "" if there are no more.  headers: with metadata.
 */
int	store_placed(struct store *, const char *since,
	    char upto[STORE_TIME], size_t max, bool headers,
	    struct placed *, struct err *);
void	store_placed_free(struct placed *);

/*
 * store_scrub.c - what is known of holes in the stream, and the rounds in which
 * all delivered rows are read
 */

/*
 * Read the stream sequences of delivered messages that the stream lacks: those
 * that an operator is told of, and those that one has accepted.  Appends to
 * both sets.
 */
int	store_holes(struct store *, const char *stream,
	    struct sequence_set *told, struct sequence_set *accepted,
	    struct err *);

/*
 * Tell an operator of the holes found, and not any more of those healed and of
 * those below first, the stream's.  A transaction of its own.
 */
int	store_holes_change(struct store *, const char *stream,
	    const struct sequence_set *found, const struct sequence_set *healed,
	    uint64_t first, struct err *);

/* All that is told is accepted.  Part of a transaction. */
int	store_holes_accept(struct store *, const char *stream, struct err *);

/* Are there full tables, and the index for rounds? */
bool	store_can_scrub(const struct store *);

/* The scrub of a stream. */
struct scrub_row {
	char	suspicion[9];		/* for the next round; "": none */
	bool	may_look;		/* STORE_LOOK is due already */
	bool	under_way;		/* a round is, and: */
	char	purpose[9];		/* as suspicion; "": routine */
	char	until[STORE_TIME];	/* rows delivered up to then */
	char	at[STORE_TIME];		/* and read up to here */
	int64_t	began_ms;		/* ago */
	char	checked_at[STORE_TIME];	/* the last check; or "" */
	bool	steady;			/* a whole round was made since the
					   stream has as many gaps as then */
};

/*
 * Take or keep the role of the stream's scrubber for ttl_ms.  *taken is false
 * if another has it, or if the stream is not known yet.
 */
int	store_scrub_take(struct store *, const char *stream, const char *me,
	    int64_t ttl_ms, bool *taken, struct err *);

/* The stream's row must be there. */
int	store_scrub(struct store *, const char *stream, struct scrub_row *,
	    struct err *);

/*
 * Begin a round, save that n more rows are read, those delivered up to at, or
 * end it.  Nothing happens if the role went to another.  for_suspicion: the
 * round is for it.
 */
int	store_scrub_begin(struct store *, const char *stream, const char *me,
	    bool for_suspicion, struct err *);
int	store_scrub_save(struct store *, const char *stream, const char *me,
	    const char *at, uint64_t n, struct err *);
int	store_scrub_end(struct store *, const char *stream, const char *me,
	    struct err *);

/*
 * store_timeline.c - has the database gone back in time?
 *
 * After a failover to a replica that lacked the last transactions, a crash of a
 * server whose commits were not durable, or a restored backup, the stream has
 * messages without an event (phantoms), and rows wait although the stream has
 * their messages.
 */

/* A database server and its start. */
#define STORE_SERVER	64
#define STORE_SERVER_NAME	128
struct db_server {
	char	identity[STORE_SERVER];	/* uuid, or server id and domain */
	char	name[STORE_SERVER_NAME];	/* for people: host and port */
	char	started[STORE_TIME];	/* give or take a second */
};

/* The server of this connection. */
int	store_server(struct store *, struct db_server *, struct err *);

/*
 * Was this stream compared on this server last, with no restart since, and was
 * the server in use all the time?  (Its tail was moved on.)
 */
int	store_server_is_known(struct store *, const char *stream,
	    const struct db_server *, bool *known, struct err *);

/* Was the table of the outbox made after this moment? */
int	store_outbox_is_newer(struct store *, const char *than, bool *newer,
	    struct err *);

/* What the database has for a message of the stream. */
enum match {
	MATCH_FINE,		/* its event, or that is archived */
	MATCH_WAITS,		/* its event, and its row waits */
	MATCH_PHANTOM		/* no event, or a different one */
};

/*
 * Wait until what other members of a group have committed is here: what they
 * have sent has its event then.  A Galera node waits when a worker writes, see
 * worker_test_server.  -1 after a second: it lags, the fault is DB_BUSY.
 */
int	store_catch_up(struct store *, struct err *);

/*
 * Compare these messages, 1000 at most, with the events.  Reads payloads only
 * where the rows do not decide, some megabytes at a time.
 */
int	store_match(struct store *, const struct acked *, size_t n,
	    enum match *, struct err *);

/* The hash of an event, as in its message id; *exists: is there an event? */
int	store_event_hash(struct store *, uint64_t sequence, bool *exists,
	    uint64_t *hash, struct err *);

/*
 * These delivered rows have these sequences in the stream now, instead of the
 * ones that they are listed with.  In sequence order.
 */
int	store_moved(struct store *, const struct acked_list *,
	    const uint64_t *acks, struct err *);

/*
 * The stream has the messages of these rows: mark those as delivered that still
 * wait without a claim; *n_found is how many.  In sequence order, each once.  A
 * row that the database refuses waits on and is logged.
 */
int	store_found(struct store *, const struct acked *, size_t n,
	    uint64_t *n_found, struct err *);

/* The result of a comparison with the events. */
struct tail {
	uint64_t	last;		/* compared up to this sequence */
	uint64_t	phantoms;
	uint64_t	phantom_first, phantom_last;	/* stream sequences */
};

/*
 * Save it, if this worker is the stream's checker.  server: it was compared to
 * the end, on this one; NULL: more follows.
 */
int	store_tail_save(struct store *, const char *stream,
	    const struct db_server *, const struct tail *, struct err *);

/*
 * Another server publishes under our outbox id: these phantoms, the first of
 * them stored at that time, in ms since 1970, or 0.  pause: pause all partitions, too.
 * *new_rival: it was not known before.
 */
int	store_rival_save(struct store *, const char *stream, const char *rival,
	    int64_t at, const struct tail *, bool pause, bool *new_rival,
	    struct err *);

#endif
