/*
 * state.h - the state of tables, broker and host, as JSON
 *
 * For status, doctor, workers and partitions list.  Reads only, and a bounded
 * number of rows; may block on the database.  The caller frees.  NULL, -1: see
 * err.
 */
#ifndef OUTBOXCTL_STATE_H
#define OUTBOXCTL_STATE_H

#include <stdint.h>

#include "ctl/base/ctl.h"
#include "driver/pub.h"

/* Limit for counting blocked keys. */
#define STATE_EXACT	10000

/* Rows of the table of dead letters that are looked at, marks included. */
#define STATE_DEAD	100000

/* Later was written before the clock was put back: cluster nodes differ less. */
#define STATE_AHEAD	"NOW(6) + INTERVAL 5 SECOND"

/*
 * overview.c: everything, and "problems", the list of health.h:
 *
 *	workers, partitions, oldest, strays, backlog, delivered, blocked, dead,
 *	streams, counts, undeclared, rights, outbox: of the tables;
 *	workers of a daemon that has died are stale, though their heartbeat is
 *	not over
 *	hosts		[{"host", "instance", "workers", "servers"}]: where live
 *			workers are, and which database servers they use;
 *			instance tells two hosts of one name apart
 *	cluster		what the server is that was asked: a struct server, with
 *			"kind" (single, primary, galera or group) and "text", its
 *			line; null: not known
 *	schema		{"version", "newest"} if it is newer than this program
 *			knows; else null
 *	database_host	"127.0.0.1:3306", or a socket: what was asked
 *	database	null, or {"error"}: then those above are missing
 *	missing		[{"table", "cost"}]: tables of ours that are gone, which
 *			is then the error of the database
 *	broker		{"driver", "error", "unfit", "full", "subjects",
 *			"warnings"}; also of another destination
 *	topics		as state_topics(), with Kafka
 *	this_host	as state_this_host
 *	daemon_died	as state_dead_master
 *	files_lost	as state_files_lost
 *	configuration	{"error", "secret"} of the file, or only of a secret
 *			that it names: then only the last three are
 *			there
 *
 * host_before is an earlier this_host, for a rate.  away is the error if the
 * database could not be opened; else NULL.  Connects to the broker if
 * necessary, and blocks on it for some seconds at most.
 */
json_t	*state_overview(struct ctl *, struct pub *, const json_t *host_before,
	    const struct err *away);

/*
 * topics.c: an object for each of these topics of Kafka: topic, exists, and if it
 * does partitions, replicas, without_leader, not_in_sync, min_insync_replicas,
 * retention_ms, retention_bytes and max_message_bytes, of which null is not
 * known or no limit; findings, [{"level": fail, warn or advice, "text"}], as
 * kafka_topic_judge() has them.
 */
json_t	*state_topics(const struct conf *, char *const *names, size_t n,
	    struct err *);

/*
 * topics.c: the topic of messages of this type; the caller frees.  NULL: they go
 * elsewhere, or it depends on the key.
 */
char	*state_topic_of(const struct conf *, const char *type);

/*
 * rounds.c: the overview again and again.  Each connects to the database again
 * if it was lost, and reads a file again that was in error.
 */
struct rounds {
	struct pub	*bus, own;	/* bus: that of the ctl, or our own */
	json_t		*this_host;	/* of the round before, for the rate;
					   kept by a ctl that has a bus */
	bool		 begun;
};
void	 rounds_begin(struct ctl *, struct rounds *);
json_t	*rounds_next(struct ctl *, struct rounds *);
void	 rounds_end(struct ctl *, struct rounds *);

/* workers.c: an object per row of outbox_workers, sorted bytewise by id. */
json_t	*state_workers(struct ctl *, struct err *);

/*
 * partitions.c: an object per lease, sorted bytewise by label, with its oldest
 * waiting row.  "ahead": it was renewed before the clock was put back.  At most
 * count rows of all labels are counted; beyond that "waiting" is an estimate and
 * "exact" is false.  With 0 "waiting" is a boolean.
 */
json_t	*state_partitions(struct ctl *, uint64_t count, struct err *);

/*
 * declared.c: the declared partition counts; if the database has none yet, that
 * of the file.
 */
int	 state_counts(struct ctl *, struct counts *, struct err *);

/* The class of the label; COUNTS_NONE: none, or no former count is declared. */
unsigned state_class(const struct ctl *, const struct counts *,
	    const char *label);

/* Does no declared count make this label?  Never true of "". */
bool	 state_is_obsolete(const char *label, const struct counts *);

/* [16, 8] */
json_t	*state_former_json(const struct counts *);

/* "48, formerly 16: 16 classes of up to 4 labels; ..." */
char	*state_counts_text(const struct counts *);

/*
 * Use of former counts: when workers last sent a message whose label is not the
 * one of its key under the present count.  partitions sync --finish needs
 * STATE_QUIET_MS without such a message and since the last change.
 */
#define STATE_QUIET_MS	(10 * 60 * 1000)
struct former_use {
	bool	 noted;			/* leases have the column */
	char	 last[ROWS_TIME_SIZE];	/* RFC 3339; "": never */
	char	 since[ROWS_TIME_SIZE];	/* last change; "": there was none */
	bool	 is_after;		/* last is later than since */
	int64_t	 wait_ms;
};
int	 state_former_use(struct ctl *, struct former_use *, struct err *);

/*
 * *text: the problem that a producer uses a count that is not declared; NULL:
 * none is known.
 */
int	 state_straggler(struct ctl *, const struct counts *,
	    const struct former_use *, char **text, struct err *);

/*
 * backlog.c: "12", "about 2,300", "1,000 or more": how many rows of the member
 * "backlog" are parked.
 */
#define STATE_PARKED_SIZE	48
const char *state_parked_text(char text[STATE_PARKED_SIZE],
	    const json_t *backlog);

/*
 * this_host.c: the scoreboard of this host; null: no daemon runs here, or one
 * of another version.  Its members, beside pid, generation and at_ms:
 *
 * reload	the last one, or null: accepted, at, why, renew_by, renewed_at,
 *		renewed_ms, count, and outdated, the processes that are still to
 *		be replaced
 * master, listener, janitor, monitor	a process each; null: it does not run
 * monitor	has more: socket and listen, where it listens
 * janitor	has more: recovered, rows of lost messages to be sent again
 * monitor_gone_ms	since when it does not run; 0: it does
 * workers	the processes that publish; what they have more: paused (null,
 *		or since, for_ms, class, why), types_refused, rows that the
 *		database refuses or another session has locked (sequence, since,
 *		why), and counters
 * refused	event types that are refused while others are sent: type,
 *		subject, class, why, since, for_ms, and how many workers say so
 * destinations	of the running workers, in the order of publish.routes, each with
 *		destination (the name of its route; "publish.driver": of what no
 *		route takes), to (where, null if the file does not name it any
 *		more), state (unused, works, fails: it takes nothing, held up:
 *		the workers wait for it), since, for_ms and why of the last two,
 *		taken, failed, per_second (taken; null if it is not known),
 *		failed_percent (of the last minute's tries; null: there was
 *		none), last_error and last_error_at
 *
 * Each process has pid, generation, state, state_ms, up_ms, silent_ms,
 * kernel_state (the letter of ps; "" if it is not known here), sandbox (a list:
 * calls, files, ports, as in sandbox.h), log_lost, why (of a wait, or of
 * statements that fail for seconds; of the listener also why workers poll),
 * why_since, last_error and last_error_at.  Members that end in _ms are
 * durations up to now; class is a word of error_class_word().
 */
json_t	*state_this_host(const struct ctl *);

/* The pid of the daemon of this host if it died without stopping; else 0. */
int	 state_dead_master(const struct ctl *);

/* The pid of the daemon of this host if its scoreboard is gone; else 0. */
int	 state_files_lost(const struct ctl *);

/* {"id": true} for each worker that it had then. */
json_t	*state_orphans(const struct ctl *);

/*
 * Did the worker die with the daemon of this host?  orphans is of
 * state_orphans(); another daemon may use this host's name.
 */
bool	 state_is_gone(const json_t *worker, const json_t *orphans);

/*
 * {"pid", "claimed", "published", "failed"}: messages since the start of the
 * daemon of this host; null: none runs.
 */
json_t	*state_totals(const struct ctl *);

/* Put "per_second" into it: messages delivered since the earlier scoreboard. */
void	 state_rate(json_t *now, const json_t *before);

#endif
