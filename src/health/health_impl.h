/* health_impl.h - private to the health*.c files */
#ifndef OUTBOX_HEALTH_IMPL_H
#define OUTBOX_HEALTH_IMPL_H

#include "health/health.h"
#include "drivers/traits/traits.h"
#include "util/buf.h"

enum health_id {
	HEALTH_CONFIGURATION, HEALTH_DATABASE, HEALTH_SPLIT_BRAIN,
	HEALTH_SCHEMA_NEWER, HEALTH_NO_WORKER, HEALTH_BROKER,
	HEALTH_STREAM_UNFIT, HEALTH_STREAM_FULL, HEALTH_NO_CONSUMER,
	HEALTH_PAUSED_PUBLISHING, HEALTH_DESTINATION_FAILS,
	HEALTH_LOST_MESSAGES,
	HEALTH_ROWS_VANISH, HEALTH_STREAM_ALARM, HEALTH_PHANTOMS, HEALTH_RIGHTS,
	HEALTH_NOT_FILLED, HEALTH_STRAY_LABELS, HEALTH_UNDECLARED_COUNT,
	HEALTH_MISSING_TABLE,
	HEALTH_MISSING_MESSAGES,
	HEALTH_WRONG_FILE,
	HEALTH_OPTIONAL_RIGHTS,
	HEALTH_REFUSED_SUBJECT,
	HEALTH_REFUSED_ROW, HEALTH_HALTED_KEYS, HEALTH_HELD,
	HEALTH_IN_DOUBT, HEALTH_DEAD_LETTERS,
	HEALTH_PAUSED_PARTITIONS, HEALTH_UNOWNED_PARTITIONS,
	HEALTH_HOST_STANDS_BACK, HEALTH_HOST_VANISHED,
	HEALTH_CLOCK_BACK,
	HEALTH_SILENT_WORKER, HEALTH_WAITING_WORKER,
	HEALTH_DAEMON_DIED, HEALTH_RUN_FILES, HEALTH_MONITOR, HEALTH_RELOAD_REFUSED,
	HEALTH_LOG_LOST,
	HEALTH_STREAM_SETTINGS, HEALTH_OLDEST, HEALTH_BACKLOG_GROWING,
	HEALTH_NO_DAEMON, HEALTH_COUNT_CHANGE,
	HEALTH_SENT_AGAIN, HEALTH_ROWS_UNSEEN, HEALTH_ROWS_GONE,
	HEALTH_SEVERAL_WRITERS, HEALTH_ASYNCHRONOUS,
	HEALTH_WAIT_TIMEOUT,
	HEALTH_MISSING_INDEX,
	HEALTH_STREAM_ADVICE,
	NHEALTH
};

struct health {
	const struct conf	*conf;
	const json_t		*state;
	json_t			*problems;	/* and advice */
};

/* Two JSON values of a problem; both are taken over and may be NULL. */
struct health_about {
	json_t	*since, *touches;
};

extern const struct health_kind health_table[];	/* by health_id */
extern const char *const health_severities[];	/* by health_severity */

/*
 * Add a problem or advice; the format is of "why", the remedy may be "".  Their
 * commands get the file of the configuration, see command_file.h.
 */
void	health_add(struct health *, enum health_id, struct health_about,
	    const char *remedy, const char *, ...)
	    __attribute__((format(printf, 5, 6)));

/* Was a problem of this kind added? */
bool	health_has(const struct health *, enum health_id);

/* A member of the state, or of one of its objects; never NULL. */
const char *health_text(const json_t *, const char *member);	/* or "" */
long long health_number(const json_t *, const char *member);	/* or 0 */

/* What to do if the broker takes nothing, by the error; NULL: not known. */
const char *health_refusal_remedy(const char *error);

/* A new reference to a member; NULL without it, or if it is null. */
json_t	*health_member(const json_t *, const char *member);

/* Append what to do about this error of the broker, or of the database. */
void	health_broker_remedy(const struct conf *, const char *error,
	    struct buf *);
void	health_database_remedy(const struct health *, const char *error,
	    struct buf *);

/* Is the topic of an error, "topic NAME: ...", a problem of its own already? */
bool	health_topic_is_told(const struct health *, const char *error);

void	health_judge_database(struct health *);	/* health_database.c */
void	health_judge_cluster(struct health *);	/* health_cluster.c */
void	health_judge_fleet(struct health *);	/* health_fleet.c; after it */
void	health_judge_keys(struct health *);	/* health_keys.c */
void	health_judge_broker(struct health *);	/* health_broker.c */
void	health_judge_host(struct health *);	/* health_host.c */

/* health_destination.c: this_host; after its workers were judged. */
void	health_judge_destinations(struct health *, const json_t *here);

/* After all others: if its cause is told, a late message is no problem. */
void	health_judge_backlog(struct health *);	/* health_fleet.c */

#endif
