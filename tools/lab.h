/*
 * lab.h - the laboratory: produces events and checks their delivery
 *
 * It shares no code with the daemon, so that it does not share its bugs.  It is
 * a tool for people and scripts: a failure ends the program with a line that
 * gives the reason, and any call may block.
 */
#ifndef LAB_H
#define LAB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mysql.h>
#include <nats/nats.h>

#define LAB_MAX_HEADERS	64
#define LAB_MAX_KINDS	8
#define LAB_MAX_LOSSES	16
#define LAB_LABEL	32	/* bytes, with quotes and NUL */
#define LAB_TABLE	256	/* the same of a table as SQL */

struct lab_opts {
	/* where the servers are */
	const char	*socket, *host, *user, *password_env, *database;
	const char	*nats, *creds, *nats_ca, *kafka;
	int64_t		 timeout;	/* s, of the database; 0: none */

	/* stream, publish, show, ... */
	const char	*stream, *subject, *subjects, *id, *data, *into;
	const char	*headers[LAB_MAX_HEADERS];
	size_t		 nheaders;
	int64_t		 seq, dup_window, max_msg_size, max_msgs, replicas;
	bool		 discard_new, memory, work_queue, no_ack, delete, last;

	/* topic, ... of Kafka; what it is set to is in headers */
	const char	*topic, *key;
	int64_t		 partitions, partition;

	/* produce */
	int64_t		 events, keys, payload, producers, per_txn, rate;
	int64_t		 rollback;
	const char	*key_prefix, *type, *producers_by, *count_file;
	bool		 bulk, forever, same;

	/* plain */
	int64_t		 every, seconds;	/* ms; 0: until a signal */

	/* produce, count, check: whose table; NULL: our events and outbox */
	const char	*shape;

	/* check */
	int64_t		 since, wait, expect_dead, max_phantoms;
	const char	*outbox_id, *recovered;
	bool		 json, allow_phantoms, moved;
};

/* A connection to NATS with its JetStream context. */
struct lab_bus {
	natsConnection	*nc;
	jsCtx		*js;
	natsSubscription **kept;	/* end after the connection */
	size_t		 nkept;
};

/* A message of a stream, or a record of a topic. */
struct lab_msg {
	const void	*data, *key;	/* key: of a record */
	size_t		 len, key_len;
	const char	*subject;	/* or the topic */
	char		 where[300];
	uint64_t	 number;	/* in the stream; how many were read */
	int64_t		 when;		/* ns */
	bool		 is_record;
	unsigned	 gone;		/* with the n-th topic of this name; 0:
					   it is there */
	int32_t		 partition;
	int64_t		 offset;
	natsMsg		*nats;		/* one of these has its headers */
	struct rd_kafka_headers_s *kafka;
};

/* Set by SIGINT and SIGTERM once lab_catch_signals() was called. */
extern atomic_bool lab_stopped;

void		 lab_catch_signals(void);
int64_t		 lab_now_ms(void);	/* monotonic */
void		 lab_pause(int64_t ms);	/* shorter when stopped */
void		*lab_realloc(void *, size_t n, size_t size);
char		*lab_strdup(const char *);

/*
 * Try once; NULL: failed, with the reason in why (256 bytes).  In a list of
 * hosts, separated by commas, takes the first that accepts writes.
 */
MYSQL		*lab_db_try(const struct lab_opts *, char *why);
/* False also if the server does not answer: it may be dying. */
bool		 lab_db_takes_writes(MYSQL *);
/* These end the program on failure. */
MYSQL		*lab_db_open(const struct lab_opts *);
MYSQL_RES	*lab_db_query(MYSQL *, const char *sql, bool stream);
uint64_t	 lab_db_number(MYSQL *, const char *sql);
bool		 lab_db_has(MYSQL *, const char *table);

/* A table in which a row is a message with its state: names of columns. */
struct lab_shape {
	const char	*name, *table;
	const char	*seq;		/* the order, counted by the server */
	const char	*id, *key, *type, *payload, *published;
	const char	*headers;	/* or NULL */
	const char	*other;		/* needs a value; or NULL */
};

/* NULL: our own tables.  Ends the program if it is unknown. */
const struct lab_shape	*lab_shape(const struct lab_opts *);
/* The events, the outbox: a table, or a part of the shape's like it. */
void		 lab_events(const struct lab_opts *, char text[LAB_TABLE]);
void		 lab_outbox(const struct lab_opts *, char text[LAB_TABLE]);

void		 lab_bus_open(const struct lab_opts *, struct lab_bus *);
void		 lab_bus_close(struct lab_bus *);
/*
 * Until the connection is closed messages may come in, and the library must not
 * lose a subscription meanwhile: it would use what was freed.
 */
void		 lab_bus_keep(struct lab_bus *, natsSubscription *);
void		 lab_bus_die(const char *what, natsStatus)
		    __attribute__((noreturn));

/* Returns the number of messages; *last, unless NULL: the last sequence. */
uint64_t	 lab_stream_state(struct lab_bus *, const char *stream,
		    uint64_t *last);
/*
 * Call each(arg, message, sequence, time in ns) for every message that the
 * stream's leader has.  Ends the program if that is not sure.
 */
void		 lab_read_stream(struct lab_bus *, const char *stream,
		    void (*each)(void *, natsMsg *, uint64_t, int64_t), void *);

/* NULL: it has none of this name. */
const char	*lab_header(const struct lab_msg *, const char *name);

/*
 * The same for all records of the topics, those first that were there before a
 * topic was made anew (lab recreate).
 */
void		 lab_read_topics(const struct lab_opts *,
		    void (*each)(void *, const struct lab_msg *), void *);
uint64_t	 lab_topic_count(const struct lab_opts *);

/* How the rows of a producer get labels, and by which partition count. */
struct lab_kind {
	enum lab_by {
		LAB_BY_PROCEDURE,	/* outbox_enqueue */
		LAB_BY_TRIGGER,		/* plain INSERTs, and the trigger */
		LAB_BY_MIXED,		/* both of these, in one session */
		LAB_BY_FIXED,		/* own label, by the count n */
		LAB_BY_LATE	/* own, read every 0 to n s */
	}		by;
	uint64_t	n;
};

/* Parse --producers-by; returns the number of kinds. */
size_t		 lab_kinds(const struct lab_opts *,
		    struct lab_kind kinds[LAB_MAX_KINDS]);
/* The label as SQL, as applications make it: 'p%02d', or NULL if count is 1. */
void		 lab_label(char text[LAB_LABEL], uint32_t crc, uint64_t count);
/* Ends the program if the file has none. */
uint64_t	 lab_count_in_file(const char *path);

/* The commands; each returns the exit status. */
int		 lab_stream(const struct lab_opts *);
int		 lab_publish(const struct lab_opts *);
int		 lab_purge(const struct lab_opts *);
int		 lab_delete_msg(const struct lab_opts *);
int		 lab_list(const struct lab_opts *);
int		 lab_show(const struct lab_opts *);
int		 lab_produce(const struct lab_opts *);
int		 lab_count(const struct lab_opts *);
int		 lab_check(const struct lab_opts *);
int		 lab_plain(const struct lab_opts *);
int		 lab_topic(const struct lab_opts *);
int		 lab_recreate(const struct lab_opts *);
/* With --kafka. */
int		 lab_publish_record(const struct lab_opts *);
int		 lab_list_records(const struct lab_opts *);
int		 lab_show_record(const struct lab_opts *);

#endif
