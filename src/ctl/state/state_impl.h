/* state_impl.h - private to the files of state; -1: see err */
#ifndef OUTBOXCTL_STATE_IMPL_H
#define OUTBOXCTL_STATE_IMPL_H

#include "ctl/state/state.h"
#include "ipc/backlog_ring.h"
#include "ipc/scoreboard.h"

/*
 * counts.c: put "counts", null if there is no former one, and "undeclared", the
 * text of the problem that a producer uses a count that is not declared.
 */
int	 state_put_counts(struct ctl *, json_t *state, struct err *);

/*
 * hosts.c: of the list of workers, hosts with workers that stand back, [{"host",
 * "workers", "away"}], see common/away.h; and hosts of which no worker is alive,
 * but that did not leave: [{"host", "workers", "since"}].
 */
json_t	*state_hosts_back(const json_t *workers);
json_t	*state_hosts_vanished(const json_t *workers);

/*
 * outboxes.c: put "outbox": its name and destination, and others over the same
 * events.  With others, also whether it is registered, and the newest events
 * that have no row in it.
 */
int	 state_put_outboxes(struct ctl *, json_t *state, struct err *);

/*
 * gaps.c: for an outbox that is alone, after state_put_outboxes() and
 * state_broker(): of the newest events without a row and above the watermark,
 * the "unfilled", whose messages were never sent, and those that are "gone":
 * delivered, or not known.  "unfilled_first", "gone_first" and "gone_last" are
 * sequences; "settings" is the table, quoted for SQL; "unfilled_since" is when
 * the first of the unfilled occurred.  Events that have no row on purpose do not
 * count.
 */
int	 state_put_gaps(struct ctl *, struct pub *, json_t *state, struct err *);

/*
 * clock.c: put "clock": rows, and these leases, with moments that lie ahead
 * because the clock of the database was put back; null if that is not known.
 */
int	 state_put_clock(struct ctl *, json_t *state, json_int_t leases,
	    struct err *);

/* cluster.c: put "cluster"; count a live worker in the list "hosts". */
int	 state_put_cluster(struct ctl *, json_t *state, struct err *);
void	 state_count_host(json_t *hosts, const json_t *worker);

/*
 * backlog.c: put "backlog": the number of waiting rows, null if no index allows
 * it without reading all rows:
 *
 * waiting, exact, parked, parked_least	as in store_backlog()
 * growth_per_second	as in backlog_ring_growth(); null if the daemon of this
 *			host has too few samples of it
 * drained_in_ms	at this rate no row waits that is not parked; null if the
 *			number does not shrink
 * growing_since, growing_for_ms	see backlog_ring.h; null if it does not
 *			grow for minutes
 */
int	 state_put_backlog(struct ctl *, json_t *state, struct err *);

/*
 * backlog.c: put "delivered": how many rows of the "last_hour", by any host, are
 * still there, and whether that is "exact"; null: no index tells it.
 */
int	 state_put_delivered(struct ctl *, json_t *state, struct err *);

/* rights.c: put "rights", an object for each right that the account lacks. */
int	 state_put_rights(struct ctl *, json_t *state, struct err *);

/*
 * broker.c: {"error", "unfit", "warnings"}: why there is no answer, why the
 * stream takes no message, and its unsafe settings.  Connects if necessary;
 * blocks for some seconds at most.
 */
json_t	*state_broker(const struct ctl *, struct pub *);

/*
 * topics.c: put "topics" if messages go to Kafka, as state_topics() has them:
 * those that the configuration names, and of the types of the newest rows; with
 * tables these can be read.
 */
int	 state_put_topics(struct ctl *, json_t *state, bool tables,
	    struct err *);

/*
 * this_host.c: the samples of the backlog, as the daemon of this host took
 * them; empty if none runs.
 */
void	 state_backlog_ring(const struct ctl *, struct backlog_ring *);

/* values.c: a clock_ms() of the past, or seconds since 1970 (0: never), as RFC 3339. */
json_t	*state_since(int64_t since, int64_t now);
json_t	*state_moment(int64_t seconds);

/* The first object of the list whose member is this text; NULL: none is. */
json_t	*state_find(const json_t *list, const char *member, const char *text);

/* A text of the scoreboard, which its process may be writing. */
json_t	*state_text(const char *, size_t size);

/*
 * destinations.c: those of this host, see state.h; and "per_second" in each,
 * since the state of ms before.
 */
json_t	*state_destinations(const struct ctl *, const struct scoreboard *,
	    int64_t now);
void	 state_rate_destinations(json_t *now, const json_t *before,
	    int64_t ms);

#endif
