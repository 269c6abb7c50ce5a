/*
 * store.h - what a worker asks of the database
 *
 * One function per statement of the protocol; doc/design.md tells why each
 * looks as it does.  No SQL and no client type leaves the store.  All times
 * are the database's.  Every function may block, none for longer than the
 * timeouts of the connection, and returns -1 with an error that starts with
 * the statement's name; store_fault then tells what kind it was.
 */
#ifndef OUTBOX_STORE_H
#define OUTBOX_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"
#include "conf/counts.h"
#include "mysql/db.h"
#include "util/err.h"
#include "common/ident.h"
#include "common/msg.h"

#define STORE_LABEL	MSG_LABEL
#define STORE_RANGES	64	/* partitions a candidate statement looks at */

struct store;

struct store	*store_new(const struct conf *, const char *id);
/* Waits for an answer as long as this; see db_new. */
struct store	*store_new_patient(const struct conf *, const char *id,
		    int64_t wait_ms);
void		 store_free(struct store *);
int		 store_open(struct store *, struct err *);

/* What the server is like may change meanwhile: ask again, see db_check. */
int		 store_check_server(struct store *, struct err *);
void		 store_close(struct store *);
bool		 store_is_open(const struct store *);
const char	*store_id(const struct store *);
const char	*store_peer(const struct store *);
enum db_fault	 store_fault(const struct store *);

/* The last one failed, and because of a value in it: see db_refused_value. */
bool		 store_refused_value(const struct store *);

/*
 * Claims of these dead workers are void: treated as free.  A nonce is 16 hex
 * digits.  The store's own nonce always counts, because a worker claims only
 * when nothing of its own is open.
 */
void		 store_void_claims_of(struct store *, const char *nonce);

/*
 * store_schema.c - what tables there are
 */

/*
 * The schema that this version makes, from sql/schema.sql.  Raise it there
 * when a daemon that does not know of the change would do harm: it refuses
 * to run on a newer one.  This one also has to work on the one before.
 */
extern const unsigned	store_schema_version;

/*
 * Read the catalogue: tables and columns must be there, the rest is optional.
 * Warns of what is missing but not needed.
 */
int	store_learn(struct store *, struct err *);

/* Is there a table for dead letters? */
bool	store_has_dead(const struct store *);

/* Create the lease rows p00, p01, ... that are missing, so many in all. */
int	store_fill_partitions(struct store *, unsigned count, struct err *);

/* The same for all declared counts: with a former one of 1, that of "" too. */
int	store_fill_declared(struct store *, const struct counts *,
	    struct err *);

/* A message was sent under a label that its key has not, see counts.h. */
int	store_note_former(struct store *, struct err *);

/*
 * store_settings.c - whose outbox it is, and the first partition count
 */

/*
 * The partition count that producers and hosts agree on.  An empty settings
 * row is filled with *count, otherwise *count becomes what the database says.
 * Without a settings table *count stays.
 */
int	store_settings(struct store *, unsigned *count, struct err *);

/* The random id of this outbox, "" where there is no settings table. */
const char *store_outbox_id(const struct store *);

/* What message ids begin with, see conf_id_prefix. */
#define STORE_PREFIX	128
void	store_prefix(const struct store *, char prefix[STORE_PREFIX]);

/*
 * store_strays.c - labels without a lease
 *
 * Look for waiting rows whose label has no lease row and create it; *n is
 * how many were made and label one of them.  Rows whose label cannot
 * have one get that of their keys, and it is said.
 */
int	store_adopt_strays(struct store *, unsigned *n, char label[STORE_LABEL],
	    struct err *);

/*
 * The same for what is parked: a partition that only records know, rows whose
 * record is gone, and rows among those of a record that have another key.
 * Looks once or twice at each label, not at each row.
 */
int	store_adopt_parked(struct store *, unsigned *n, char label[STORE_LABEL],
	    struct err *);

/*
 * store_lease.c - workers and leases
 */

/* Announce this worker, alive for worker.heartbeat_ttl. */
int	store_register(struct store *, struct err *);

/*
 * Take the place of a worker that is known to be dead, in one transaction:
 * its row goes, its leases become ours with a new epoch.
 */
int	store_take_over(struct store *, const char *dead_id, struct err *);

/* Stay alive.  *known is false when the row was gone (and is back now). */
int	store_beat(struct store *, bool *known, struct err *);

struct lease {
	char		label[STORE_LABEL];	/* "": rows without a label */
	uint64_t	epoch;
	bool		mine;		/* owner is me and it has not expired */
	bool		free;		/* nobody's, or expired */
	uint64_t	early_upto;	/* rows its owner may send early; or 0 */
	uint64_t	unsure_upto;	/* that a former one may have; or 0 */
};

/*
 * What a worker of the fleet looks at every second, at one moment: the counts
 * are those of the epochs.
 */
struct store_view {
	char		**ids;		/* of live workers, sorted bytewise */
	size_t		  nids;
	struct lease	 *leases;	/* sorted bytewise by label */
	size_t		  nleases;
	struct counts	  counts;	/* as declared */
	bool		  waits;	/* a row of the partitions asked about */
};

struct labels {
	const char	**list;
	size_t		  n;
};

/*
 * The fleet, the leases of these partitions or with NULL of all, and whether
 * rows wait in those others, due or not; NULL for none.  After -1 there is
 * nothing to free.
 */
int	store_view(struct store *, const struct labels *leases,
	    const struct labels *rows, struct store_view *, struct err *);
void	store_view_free(struct store_view *);

/*
 * Prolong what is mine and live, of these or with NULL of all, and mark it:
 * messages up to this row may be sent early; with 0 the mark goes after a
 * while.  See store_mark.c.
 */
int	store_renew(struct store *, const char *const *labels, size_t nlabels,
	    uint64_t early_upto, uint64_t *n, struct err *);

/* Take those of the n that are free, with a new epoch; *taken is how many. */
int	store_acquire(struct store *, const struct lease *const *, size_t n,
	    uint64_t *taken, struct err *);

/* Give up the n, as far as they are mine. */
int	store_release(struct store *, const struct lease *const *, size_t n,
	    struct err *);

/*
 * A new epoch for all that is mine: a statement that a lost connection still
 * has under way finds an older one, or has had its effect before this returns.
 */
int	store_bump_own_epochs(struct store *, struct err *);

/* Give up everything and take my row out. */
int	store_leave(struct store *, struct err *);

/* Remove the rows of workers that stopped beating. */
int	store_purge(struct store *, uint64_t *purged, struct err *);

/* A range of one owned partition to look at. */
struct range {
	const char	*label;
	uint64_t	 epoch;
	size_t		 limit;
};

/*
 * store_mark.c - messages that go before their claim is committed
 *
 * If such a claim is lost with the server, its row says nothing of it.  The
 * lease does.
 */

/* Can the leases say so, and does the server do it? */
bool	store_can_go_early(const struct store *);

/* Why not, and what to do about it; NULL: they can. */
const char	*store_late_reason(const struct store *);

/*
 * What the leases of these rows know of them, the rows shall know: to be
 * called before they are claimed, where a lease has unsure_upto.
 */
int	store_mark_rows(struct store *, const uint64_t *sequences, size_t n,
	    struct err *);

/*
 * These marks are nobody's business any more: they are mine, of epochs under
 * which I have nothing more to claim, and all that I claimed is committed.
 */
int	store_forget_marks(struct store *, const struct range *, size_t n,
	    struct err *);

/* Forget unsure_upto of my leases where all rows up to there know. */
int	store_clear_marks(struct store *, struct err *);

/*
 * store_claim.c - rows
 */

struct candidate {
	uint64_t	sequence;
	unsigned	range;		/* index of the range it came from */
};

/*
 * All waiting rows, due or not, of at most STORE_RANGES partitions, sorted by
 * sequence, if they are fewer than STORE_FEW; otherwise none, and not *all.
 * *out is the caller's to free.
 */
#define STORE_FEW	100
int	store_few(struct store *, const struct range *, size_t n,
	    struct candidate **out, size_t *nout, bool *all, struct err *);

/*
 * The same in one statement, and with them what a fetch would bring of those
 * that nobody has claimed and whose bodies are not longer than max bytes;
 * batch_free() gives *ahead back.  If our claim takes such a row and our lease
 * has lasted since before the look, it is still as it was read: nobody else
 * can have claimed it in between.
 */
int	store_few_ahead(struct store *, const struct range *, size_t n,
	    size_t max, struct candidate **out, size_t *nout,
	    struct batch *ahead, bool *all, struct err *);

/*
 * Waiting rows, due or not, of at most STORE_RANGES ranges, sorted by
 * sequence.  *out is the caller's to free.
 */
int	store_candidates(struct store *, const struct range *, size_t n,
	    struct candidate **out, size_t *nout, struct err *);

/*
 * Claim those of the n sequences, each of a row in one of the ranges, that are
 * free and due; none if not all of the ranges are still mine, each under its
 * epoch.  Sets the batch's token and claimed_at; *claimed is how many.  If the
 * batch is early, that may not be committed yet.
 */
int	store_claim(struct store *, const struct range *, size_t nranges,
	    const uint64_t *sequences, size_t n, struct batch *,
	    uint64_t *claimed, struct err *);

/*
 * Wait for the claim of an early batch to be committed.  -1: nobody knows
 * whether it is, and the connection is closed.
 */
int	store_finish(struct store *, struct err *);

/*
 * Fetch what the batch's token holds among the n, in sequence order.  Payload
 * and metadata that together are longer than max bytes stay away.
 */
int	store_fetch(struct store *, const uint64_t *sequences, size_t n,
	    size_t max, struct batch *, struct err *);

/*
 * Fetch these of the batch that are away, once in the life of a batch.  A row
 * whose event is gone by now has none.
 */
int	store_fetch_away(struct store *, const uint64_t *sequences, size_t n,
	    struct batch *, struct err *);

/* Why a candidate was not claimed. */
struct waiting {
	uint64_t	 sequence;
	struct bytes	 partition;
	struct bytes	 key;
	bool		 pending;	/* false: delivered meanwhile */
	bool		 claimed;	/* somebody holds it */
	int64_t		 due_ms;	/* in how long; 0: due now */
};

/* Texts live in the batch of rows returned; free with store_waiting_free. */
struct waiting_list {
	struct waiting	*items;
	size_t		 n;
	void		*rows;
};

int	store_waiting(struct store *, const uint64_t *sequences, size_t n,
	    struct waiting_list *, struct err *);
void	store_waiting_free(struct waiting_list *);

/*
 * store_counts.c, store_repartition.c - the partition counts that producers
 * may use, and another one
 */

/* As they are declared: in the settings, or without that table in the file. */
int	store_read_counts(struct store *, struct counts *, struct err *);

/* Is there a table of settings?  Otherwise the file declares the counts. */
bool	store_has_settings(const struct store *);

/*
 * Tables that could not declare counts when we connected may have been upgraded
 * since: to be called when an epoch was learned.  -1: they have, and the
 * connection is closed, for a new one to learn what they are like.
 */
int	store_check_counts(struct store *, struct err *);

/* Have the tables what it takes to declare another count? */
bool	store_can_change(const struct store *);

/* Can the leases say when a message went with a label of a former count? */
bool	store_notes_former(const struct store *);

struct repartition {
	bool		changed;
	bool		busy;		/* nothing done: somebody has the row, */
	bool		refused;	/* or it may not be; and why not */
	struct err	why;
	struct counts	before, counts;	/* before it, and now */
};

/*
 * Make this the present count and the present one a former one.  Without a
 * table of settings nothing is done: the file says it.  Waits a second at most.
 */
int	store_repartition(struct store *, unsigned count,
	    struct repartition *, struct err *);

/* What that would come to, by the counts of now; changes and locks nothing. */
int	store_plan_repartition(struct store *, unsigned count,
	    struct repartition *, struct err *);

/*
 * store_block.c - keys that wait, and rows out of the scan's way behind them
 *
 * All of it only under leases that are mine, with the epochs that the caller
 * knows (the limit of a range does not count here). A row that is not there any
 * more, or a lease that is gone, changes nothing and is no error.
 */

#define STORE_PAUSED	"paused"	/* owner of a lease that nobody gets */
#define STORE_HALTED	"halted"	/* a reason; others are for people */

/*
 * store_parked.c: the label of parked rows, "!4711", by the name of their
 * record; and whether a label is one of those, which no lease may have.  "!",
 * "!x" and "!01" are the application's.
 */
#define STORE_PARKED	24
void	store_parked_label(char label[STORE_PARKED], uint64_t first);
bool	store_is_parked(const struct store *, const char *label, size_t,
	    uint64_t *first);

/* A blocked key.  first names it: the sequence that blocked it at first. */
struct blocked {
	uint64_t	 first;
	uint64_t	 head;		/* what it waits for now */
	const char	*label;		/* its partition */
	uint64_t	 epoch;		/* of its lease; not as read */
	struct bytes	 key;		/* order key; data NULL: none */
	const char	*reason;	/* STORE_HALTED, "failed", ... */

	/* As read. */
	bool		 pending;	/* the head is a waiting row */
	bool		 head_parked;
	int64_t		 due_ms;	/* the head is due in; 0: now, or
					   it is claimed: try it */
};

/* Texts live in the rows; free with store_blocked_free. */
struct blocked_list {
	struct blocked	*items;
	size_t		 n;
	void		*rows;
};

/* Is there a table of blocked keys, and are there leases to guard it? */
bool	store_can_block(const struct store *);

/*
 * Record keys; *written is fewer than n if a lease is not ours any more, and 0
 * if there is a record of that name.
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

/* Park rows; unpark them, whatever lane they are of. */
int	store_park(struct store *, const struct range *, size_t nranges,
	    const struct parking *, size_t n, struct err *);
int	store_unpark(struct store *, const struct range *, size_t nranges,
	    const uint64_t *sequences, size_t n, struct err *);

/*
 * store_settle.c - what became of rows
 */

/*
 * Write back every message of the batch by its outcome, one statement per
 * kind of outcome.  Counts what changed; what the token no longer holds was
 * fenced.  Safe to repeat after an error: done[] remembers what was written.
 *
 * A row that the database refuses because of what is in it (a constraint, a
 * trigger) keeps no other from being written.  It becomes OUT_DEFER with an
 * error that says why, and OUT_UNKNOWN where that is refused too; both have a
 * delay until the next try.
 */
struct settled {
	uint64_t	delivered, retried, deferred, dead, returned, fenced;
	unsigned	done;		/* bit per kind; zero before the first call */
};

int	store_settle(struct store *, const struct batch *, struct settled *,
	    struct err *);

/*
 * store_turn.c - from one batch to the next
 */

/*
 * Write back a batch that is delivered as a whole and claim the next one, as
 * store_claim does, but only rows that carry no token.  *changed counts the
 * rows of both: how many of them were claimed tells the fetch.  Until
 * store_turned was told, nobody knows of the first batch, and store_settle
 * writes it again.
 */
int	store_turn(struct store *, const struct batch *delivered,
	    struct settled *, const struct range *, size_t nranges,
	    const uint64_t *sequences, size_t n, struct batch *,
	    uint64_t *changed, struct err *);

/* So many rows of the first batch were written back. */
void	store_turned(const struct batch *delivered, struct settled *,
	    uint64_t written);

/*
 * store_recover.c - delivered rows, and whether the stream still has them
 */

#define STORE_TIME	27	/* "2026-01-31 12:00:00.123456" */

/* Have the tables what it takes? */
bool	store_can_recover(const struct store *);

/* And to look before sending again? */
bool	store_can_doubt(const struct store *);

/*
 * The highest place of rows that were delivered before any of these rows of
 * the batch became unsure; 0: none is known.
 */
int	store_place_before(struct store *, const struct batch *,
	    const uint64_t *sequences, size_t n, uint64_t *place,
	    struct err *);

/*
 * Since when these are in doubt is not known: since ever, as far as the
 * batch's token holds them.
 */
int	store_unsure_ever(struct store *, const struct batch *,
	    const uint64_t *sequences, size_t n, struct err *);

/*
 * Nobody is unsure of these any more, as far as the batch's token holds them;
 * or, where the mark of a lease speaks of them, from now on only.
 */
int	store_not_unsure(struct store *, const struct batch *,
	    const uint64_t *sequences, size_t n, struct err *);

/* What is known of a stream. */
struct stream_row {
	char		created[65];
	bool		checked;	/* for this start of the server */
	bool		fresh;		/* nothing delivered before is in it */
	char		since[STORE_TIME];	/* later rows are in doubt */
	char		known_since[STORE_TIME];
	bool		has_tail;	/* the next three are known */
	uint64_t	tail;		/* up to here events were compared */
	char		tail_at[STORE_TIME];	/* when; "" if not known */
	uint64_t	first;		/* its first sequence at that time */
};

/*
 * The stream's row, which is made if there is none.  It is fresh if the
 * message ids or, since it was checked, the stream were others: delivered
 * rows cannot be told from lost ones.
 */
int	store_stream(struct store *, const char *name, const char *server,
	    const char *prefix, struct stream_row *, struct err *);

/*
 * Become the one who checks a stream, or stay it, for worker.lease_ttl.
 * *taken is false when somebody else is at it.
 */
int	store_check_begin(struct store *, const char *name, bool *taken,
	    struct err *);
int	store_check_renew(struct store *, const char *name, struct err *);

/* Nothing came of it: another may try. */
int	store_check_drop(struct store *, const char *name, struct err *);

/*
 * The check was made: by us as long as we are the one who checks.  anew:
 * from when it began on; what was delivered before is not expected.
 */
int	store_check_end(struct store *, const char *name, const char *server,
	    const char *created, const char *prefix, bool anew, struct err *);

/*
 * Nothing is wrong as far as a short look can tell.  The messages up to last
 * are of events that this database has, as long as it is the one that was
 * checked; 0: that is not known.  first is the stream's first sequence.
 */
int	store_check_short(struct store *, const char *name, uint64_t first,
	    uint64_t last, struct err *);

/*
 * Rows that were delivered later than this are needed: a check of the stream
 * may still find that it lost them.  Where nobody ever checks it is a day.
 */
int	store_needed_since(struct store *, char since[STORE_TIME],
	    struct err *);

/* What time it is. */
int	store_now(struct store *, char now[STORE_TIME], struct err *);

/*
 * Delivered rows of a stream, in sequence order, those of a moment together:
 * about max of what was delivered later than from, and not later than until.
 * from moves on; rows without a known place only if all is set.  *n is 0 and
 * from is until at the end.  *rows is the caller's to free.
 */
int	store_acked(struct store *, char from[STORE_TIME], const char *until,
	    bool all, size_t max, struct acked **rows, size_t *n,
	    struct err *);

/*
 * The latest or the oldest of those, at most max, the older ones first.  All
 * have a known place.
 */
int	store_some_acked(struct store *, const char *since, bool latest,
	    size_t max, struct acked **rows, size_t *n, struct err *);

/* Is this row still a delivered one with this ack? */
int	store_is_acked(struct store *, const struct acked *, bool *is,
	    struct err *);

/*
 * These rows, in sequence order and no more than a thousand, are to be sent
 * again as far as they are still delivered with that ack; *reset is how many.
 * The owners of their partitions start from the first row.  One that the
 * database refuses by itself stays as it is and is told of.
 */
int	store_reset(struct store *, const struct acked *, size_t n,
	    uint64_t *reset, struct err *);

/*
 * store_timeline.c - is this database still what it was?
 *
 * After a failover to a replica that lacked the last transactions, a crash of
 * a server whose commits were not durable, or a restored backup, the stream
 * has messages whose events do not exist (phantoms), and rows wait here whose
 * messages are in the stream.
 */

/* Have the tables what it takes? */
bool	store_has_timeline(const struct store *);

/* A server, and since when it runs. */
#define STORE_SERVER	64
struct db_server {
	char	identity[STORE_SERVER];	/* server_uuid, or server id and GTID
					   domain */
	char	started[STORE_TIME];	/* give or take a second */
};

/* The one that this connection leads to. */
int	store_server(struct store *, struct db_server *, struct err *);

/* Is it the one on which this stream was compared last, without a restart? */
int	store_server_is_known(struct store *, const char *stream,
	    const struct db_server *, bool *known, struct err *);

/* What the database has for a message of the stream. */
enum match {
	MATCH_FINE,		/* its event; or nobody can tell: archived */
	MATCH_WAITS,		/* the same, and its row waits */
	MATCH_PHANTOM		/* no event, or another one of that number */
};

/*
 * Hold these messages against the events, no more than a thousand at a time.
 * Reads payloads only where the rows do not tell, some megabytes at a time.
 */
int	store_match(struct store *, const struct acked *, size_t n,
	    enum match *, struct err *);

/* The hash of one event, for its message id; *exists: there is such an event. */
int	store_event_hash(struct store *, uint64_t sequence, bool *exists,
	    uint64_t *hash, struct err *);

/*
 * The messages of these rows are in the stream: they are delivered, as far as
 * they still wait unclaimed; *n_found is how many.  In sequence order, no
 * sequence twice.  One that the database refuses by itself waits on and is told
 * of.
 */
int	store_found(struct store *, const struct acked *, size_t n,
	    uint64_t *n_found, struct err *);

/* What was found when events were compared. */
struct tail {
	uint64_t	last;		/* compared up to this sequence */
	uint64_t	phantoms;
	uint64_t	phantom_first, phantom_last;	/* stream sequences */
};

/*
 * Write it down, as the one who checks the stream.  A server: all is compared
 * on this one; NULL: there is more to come.
 */
int	store_tail_save(struct store *, const char *stream,
	    const struct db_server *, const struct tail *, struct err *);

#endif
