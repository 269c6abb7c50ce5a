/*
 * conf.h - the configuration as one value
 *
 * Parsed whole, checked whole and never changed: a reload makes a new value.
 * Every key is one row of the table in conf_keys.c, which the parser, the
 * dump, the check of the manual and the tests walk.
 */
#ifndef OUTBOX_CONF_H
#define OUTBOX_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "conf/counts.h"
#include "util/err.h"

#define CONF_MAX_WORKERS	256
#define CONF_MAX_PARTITIONS	4096
#define CONF_ROUTES_MAX		32
#define CONF_PEOPLE_MAX		64
#define CONF_PERSON_SIZE	64	/* of a person's name, with its NUL */

/*
 * A claim must last this many ms longer than a publish may take: the time to
 * write the outcome back before the claim expires.
 */
#define CONF_CLAIM_MARGIN_MS	2000

enum conf_type {
	CONF_INT,		/* int64_t, min..max */
	CONF_DURATION,		/* int64_t milliseconds; "30", "0.5", "15s" */
	CONF_FRACTION,		/* double, min..max in hundredths */
	CONF_BOOL,		/* bool */
	CONF_STRING,		/* char *, never NULL */
	CONF_LIST,		/* struct conf_list of strings */
	CONF_MAP,		/* struct conf_map: names and strings */
	CONF_RECORDS,		/* struct conf_records, each with fields */
	CONF_ENUM		/* int, an index into words */
};

enum conf_mode { MODE_POINTER, MODE_INLINE };
enum conf_ordering { ORDER_KEY, ORDER_PARTITION, ORDER_NONE };
enum conf_on_dead { DEAD_CONTINUE, DEAD_HALT };
enum conf_driver {
	DRIVER_NATS, DRIVER_HTTP, DRIVER_KAFKA, DRIVER_STDOUT, DRIVER_DISCARD,
	CONF_DRIVERS
};
enum conf_scheduled { SCHEDULED_PASS, SCHEDULED_HOLD };
enum conf_envelope {
	ENVELOPE_RAW, ENVELOPE_JSON, ENVELOPE_CLOUDEVENTS,
	ENVELOPE_CLOUDEVENTS_BINARY
};
enum conf_type_case { CASE_NONE, CASE_KEBAB, CASE_SNAKE };
enum conf_unmatched { UNMATCHED_DEFAULT, UNMATCHED_DEAD, UNMATCHED_HOLD };
enum conf_tls { TLS_AUTO, TLS_DISABLE, TLS_REQUIRE, TLS_VERIFY };
enum conf_recover { RECOVER_LOST, RECOVER_REPORT, RECOVER_OFF };
enum conf_wake { WAKE_AUTO, WAKE_ON, WAKE_OFF };
enum conf_at_start { AT_START_AUTO, AT_START_ON, AT_START_OFF };
enum conf_log_format { FORMAT_TEXT, FORMAT_JSON };

/* The changes that the monitor makes: POST /api/actions/NAME. */
enum conf_action {
	ACTION_RETRY, ACTION_DISCARD, ACTION_REPLAY, ACTION_PAUSE,
	ACTION_RESUME, ACTION_RELEASE, ACTION_DEAD_RETRY, ACTION_DEAD_PURGE,
	CONF_ACTIONS
};
extern const char *const	conf_actions[CONF_ACTIONS + 1];

struct conf_list {
	char	**items;
	size_t	  n;
};

struct conf_pair {
	char		*name, *value;
	unsigned	 line;		/* of the file */
};

struct conf_map {
	struct conf_pair *items;
	size_t		  n;
};

/* An array of structures, each of which begins with the line of the file. */
struct conf_records {
	void	*items;
	size_t	 n;
};

/* A field of a record that is not set: as the keys for all say. */
#define CONF_INHERIT	(-1)

/* An item of publish.routes; strings are never NULL. */
struct conf_route {
	unsigned	 line;
	char		*name;
	char		*type, *topic;	/* patterns; "": any */
	char		*header;	/* "name=pattern"; "": any */
	int		 driver;	/* enum conf_driver */
	char		*subject;	/* "": nats.subject, or kafka.topic */
	char		*endpoint;	/* "": http.endpoint */
	char		*path;		/* "": http.path */
	int		 envelope;	/* enum conf_envelope, CONF_INHERIT */
	int64_t		 max_attempts;	/* or CONF_INHERIT, as these two: */
	int64_t		 backoff, max_backoff;
};

/* An item of http.signing_keys. */
struct conf_signing_key {
	unsigned	 line;
	char		*id, *file;
};

/* An item of http.headers: a value, or the file whose first line it is. */
struct conf_header {
	unsigned	 line;
	char		*name, *value, *file;
};

/* An item of monitor.tokens: a person, and what that person may do. */
struct conf_person {
	unsigned	 line;
	char		*name;		/* CONF_ANYBODY: whom no other has */
	char		*file;		/* of the token; empty: none */
	struct conf_list may;		/* "read", "act", of conf_actions */
};

/* All durations are milliseconds. */
struct conf {
	struct {
		int64_t		 workers;
		char		*user;		/* empty: stay root */
		char		*pidfile;	/* absolute, never empty */
		int64_t		 stop_timeout;
		int64_t		 hang_timeout;	/* 0: never kill */
	} master;
	struct {
		struct conf_list hosts;		/* "host:3306", "[::1]", ... */
		char		*socket;	/* if set, hosts is empty */
		char		*user;
		char		*password_file;
		char		*password_env;
		char		*server_public_key;
		char		*database;
		struct {
			char	*user;		/* empty: the one above */
			char	*password_file, *password_env;
		} operator;
		struct {
			int	 mode;		/* enum conf_tls */
			char	*ca, *cert, *key;
		} tls;
	} mysql;
	struct {
		int		 mode;		/* enum conf_mode */
		int64_t		 partition_count;
		struct conf_list former_counts;	/* of numbers */
		int		 ordering;	/* enum conf_ordering */
		struct {
			char	*outbox, *events, *partitions, *workers;
			char	*settings, *dead_letters, *blocked_keys;
			char	*streams;
			char	*audit;
			char	*registry;	/* of all outboxes */
			char	*messages;	/* of mode inline */
		} tables;
		struct conf_map	 columns;	/* our name, theirs */
		int		 scheduled;	/* enum conf_scheduled */
		char		*partition_by;	/* empty: the order key */
	} outbox;
	struct {
		bool		 leasing;
		int64_t		 lease_ttl;
		int64_t		 lease_renew;
		int64_t		 heartbeat_ttl;
		int64_t		 batch_size;
		int64_t		 batch_bytes;
		int64_t		 claim_ttl;
		int64_t		 linger_ms;
		int64_t		 idle_backoff_ms;
	} worker;
	struct {
		int64_t		 backoff;
		int64_t		 max_backoff;
		double		 jitter;
		int64_t		 max_attempts;
		int		 on_dead;	/* enum conf_on_dead */
		int64_t		 blame_after;
		int64_t		 burst;
		int64_t		 burst_time;
	} retry;
	struct {
		int		 driver;	/* enum conf_driver */
		int64_t		 window;
		int64_t		 timeout_ms;
		struct conf_list types;		/* patterns; none: all */
		int		 envelope;	/* enum conf_envelope */
		char		*source;	/* empty: of the outbox id */
		int		 type_case;	/* enum conf_type_case */
		struct conf_map	 type_aliases;	/* type, subject tokens */
		int		 unmatched;	/* enum conf_unmatched */
		struct conf_records routes;	/* struct conf_route */
	} publish;
	struct {
		struct conf_list servers;	/* "nats://host:4222", ... */
		char		*stream;	/* empty: not checked */
		char		*domain;	/* empty: the server's */
		char		*api_prefix;	/* empty: by domain */
		char		*subject;
		char		*msg_id_prefix;	/* empty: the outbox id */
		char		*advisory;	/* empty: off */
		char		*inbox_prefix;
		int		 recover;	/* enum conf_recover */
		int64_t		 scrub;		/* rows a second; 0: off */
		bool		 core;		/* at most once, no acks */
		char		*user;
		char		*password_file;
		char		*password_env;
		char		*token_file;
		char		*token_env;
		char		*nkey;		/* public: "U..." */
		char		*nkey_file;	/* its seed */
		char		*credentials_file;
		struct {
			int	 mode;		/* enum conf_tls */
			bool	 first;		/* before anything is said */
			char	*ca, *cert, *key;
		} tls;
	} nats;
	struct {
		char		*endpoint;	/* empty: none */
		char		*path;		/* template */
		char		*content_type;	/* of what is no JSON; or empty */
		int64_t		 concurrency;
		struct conf_records signing_keys; /* conf_signing_key */
		struct conf_records headers;	/* conf_header */
		struct conf_list metadata_headers; /* names kept as they are */
		char		*token_file, *token_env;
		bool		 follow_redirects;
		bool		 allow_private;
		struct conf_list allow_clear;	/* hosts */
		char		*proxy;		/* empty: none */
		struct {
			bool	 verify;
			char	*ca, *cert, *key;
		} tls;
	} http;
	struct {
		struct conf_list brokers;	/* "host:9092", ... */
		char		*topic;		/* template */
		int		 recover;	/* enum conf_recover */
		struct conf_map	 client;	/* properties of librdkafka */
		struct conf_map	 client_files;	/* the same, in files */
		struct {
			char	*mechanism;	/* empty: no login */
			char	*user, *password_file, *password_env;
		} sasl;
		struct {
			int	 mode;		/* enum conf_tls */
			char	*ca, *cert, *key;
		} tls;
	} kafka;
	struct {
		char		*subject;	/* empty: off */
		int		 binlog;	/* enum conf_wake */
	} wake;
	struct {
		int64_t		 days;		/* 0: for ever */
		int64_t		 dead_days;	/* 0: for ever */
		int64_t		 batch;
	} retention;
	struct {
		int		 at_start;	/* enum conf_at_start */
	} reconcile;
	struct {
		int64_t		 max_age;	/* ms */
	} health;
	struct {
		char		*socket;	/* empty: see daemon.h */
		char		*listen;	/* empty: none */
		bool		 allow_remote;
		struct conf_list hosts;
		char		*token_file;	/* empty: none */
		struct conf_records tokens;	/* conf_person */
		char		*user_header;	/* empty: none */
		struct conf_list proxies;	/* "10.0.0.7", "uid:33" */
		bool		 require_token;
	} monitor;
	struct {
		int		 level;		/* enum log_level of log.h */
		char		*target;	/* "stderr", "syslog", path */
		int		 format;	/* enum conf_log_format */
	} log;
	char			*path;		/* of the file */
	unsigned		*lines;		/* of the file, as conf_keys();
						   0: not in it */
};

/* What a key says of a secret; else it says nothing. */
enum conf_secret {
	SECRET_TEXT = 1,	/* the file or variable that has it */
	SECRET_LINE,		/* the same, and it goes into a header */
	SECRET_KEY,		/* the file of a key that signs */
	SECRET_FILE		/* the file, which a library reads by itself */
};

struct conf_key {
	const char	*name;		/* "worker.lease_ttl" */
	enum conf_type	 type;
	size_t		 at;		/* offset in struct conf; of a
					   field: in the record */
	const char	*dflt;		/* as it would stand in the file */
	const char	*yields_to;	/* default is "" if this key is set */
	int64_t		 min, max;	/* CONF_INT; CONF_DURATION in ms */
	const char *const *words;	/* CONF_ENUM, NULL-terminated */
	int		(*check)(const char *, struct err *);
					/* CONF_STRING, items of CONF_LIST,
					   values of CONF_MAP */
	int		(*check_name)(const char *, struct err *);
					/* names of CONF_MAP */
	const struct conf_key *fields;	/* CONF_RECORDS; the first one is a
					   string that differs in each */
	size_t		 nfields, record_size, max_records;
	bool		 pairs;		/* a mapping will do: of the first field
					   to the second */
	bool		 fold_names;	/* first field: case does not count */
	bool		(*hides)(const void *record);
					/* field: is its value a secret? */
	enum conf_secret secret;	/* CONF_STRING, values of CONF_MAP,
					   field: the daemon needs it */
	bool		 inherits;	/* field: empty is CONF_INHERIT */
	bool		 restart;	/* a reload cannot change it */
	bool		 required;	/* string or list: must not be empty;
					   field: must be there */
	const char	*help;		/* one line, ASCII */
};

/* Options that override keys of the file; 0 or false: not given. */
struct conf_override {
	int64_t		 workers;
	bool		 no_leasing;
	const char	*pidfile;	/* NULL: not given */
};

/*
 * Read, parse and check a file, with the keys that variables of the environment
 * set in their place: OUTBOX_WORKER_LEASE_TTL.  Returns NULL with "FILE: line
 * N: KEY: what is wrong" in err, without "line N: " if the file does not name
 * the key, and "--workers: what is wrong" if an option or a variable is
 * wrong.  The override (or NULL) is applied before the relations between keys
 * are checked.  Blocks only to read the file.  Errors never show a secret.
 * Free the result with conf_free().
 */
struct conf	*conf_load(const char *path, const struct conf_override *,
		    struct err *);
void		 conf_free(struct conf *);

/*
 * Of a file that conf_load() refuses: master.pidfile and log.target, of the
 * file or the environment, and all else as by default, required or not.  For
 * commands that look for the daemon of this host only.  NULL: nobody knows
 * which daemon is meant, because it cannot be read, or is no YAML, or does not
 * set master.pidfile, if that must be named.
 */
struct conf	*conf_load_host(const char *path, bool named);

/*
 * Can this process read the secrets that it needs: to log in to the database,
 * and of the destinations that are in use, by the marks in the table of keys?
 * -1 with an error like that of conf_load().
 */
int		 conf_check_mysql_secret(const struct conf *, struct err *);
int		 conf_check_destination_secrets(const struct conf *,
		    struct err *);
int		 conf_check_secrets(const struct conf *, struct err *);

/* Tell what is not safe, one text for each. */
void		 conf_warn(const struct conf *,
		    void (*tell)(void *, const char *key, const char *text),
		    void *);

/* A key that signs, of CONF_KEY_MIN bytes or more.  NULL: see err.  Free it. */
#define CONF_KEY_MIN	32
char		*conf_signing_key(const char *file, struct err *);

/*
 * The token of http, "" for none, and the value of a header: what a request can
 * have as a header.  NULL: see err.  Free them: secret_free().
 */
char		*conf_http_token(const struct conf *, struct err *);
char		*conf_http_header(const struct conf_header *, struct err *);

#define CONF_TOKEN_MIN	16	/* characters of a token of the monitor */

/* What the token of monitor.token_file is called, and so nobody else. */
#define CONF_NOBODY	"monitor"

/* The row of each person whom a proxy names and who has none. */
#define CONF_ANYBODY	"*"

/* The row of all topics in outbox.tables.streams; no stream has this name. */
#define CONF_TOPICS	"topics of Kafka"

/*
 * Can this text be the name of a person: printable ASCII without a blank, not
 * too long, and not one of these two?
 */
bool		 conf_is_person(const char *);

/* The changes that a person may make: a bit for each enum conf_action. */
unsigned	 conf_may(const struct conf_person *);

/*
 * Write the effective configuration as YAML that conf_load reads back, but for
 * secrets: in their place stands CONF_HIDDEN, which it refuses.
 */
#define CONF_HIDDEN	"(hidden)"
void		 conf_dump(const struct conf *, FILE *);

/*
 * Change values of keys that the file has; all else in it stays as it is.  The
 * file is replaced in one step, or left as it was: -1, see err, where a key is
 * not in the file or the result would be no configuration.
 */
struct conf_change {
	const char	*name;		/* "mysql.database" */
	const char	*value;		/* a text */
};

int		 conf_edit(const char *path, const struct conf_change *,
		    size_t n, struct err *);

/*
 * The variable of a key, which wins over the file: its value, or NULL; and set it
 * for this process and those that it starts.  The next conf_load() finds it.
 */
const char	*conf_variable(const char *name);
void		 conf_put_variable(const struct conf_change *);

/*
 * Returns the name of the next key marked restart whose value differs in the
 * two, or NULL.  Set *i to 0 before the first call.
 */
const char	*conf_changed_restart(const struct conf *, const struct conf *,
		    size_t *i);

/*
 * True if the value, in a configuration or a record, is an empty string, list
 * or map, or one that is inherited.
 */
bool		 conf_is_empty(const void *base, const struct conf_key *);

/* Is the field of this record a secret, which nothing may show? */
bool		 conf_is_hidden(const void *record, const struct conf_key *);

/* Does the header hold a secret: by its file, or as its name says? */
bool		 conf_header_is_secret(const struct conf_header *);

/* The table of keys; sets *n to its length. */
const struct conf_key *conf_keys(size_t *n);

/* Make mysql.operator, if it is set, the account that logs in. */
void		 conf_use_operator(struct conf *);

/* The tables of the messages and of their events: one with mode inline. */
const char	*conf_outbox_table(const struct conf *);
const char	*conf_events_table(const struct conf *);

/* What a column of these tables is called: ours, or as outbox.columns says. */
const char	*conf_column(const struct conf *, const char *ours);

/* The prefix of message ids; outbox_id may be "", for an outbox without one. */
const char	*conf_id_prefix(const struct conf *, const char *outbox_id);

/*
 * Where messages go, in words: "nats stream EVENTS, and 2 routes: hooks, audit";
 * without a secret.
 */
#define CONF_DESTINATION	256
const char	*conf_destination(const struct conf *,
		    char text[CONF_DESTINATION]);

/* The same of one route; NULL: of what no route takes. */
const char	*conf_route_destination(const struct conf *,
		    const struct conf_route *, char text[CONF_DESTINATION]);

/* The route of this name; NULL: there is none. */
const struct conf_route *conf_route(const struct conf *, const char *name);

/* Is the partition of a message computed of its order key? */
bool		 conf_partitions_by_key(const struct conf *);

/* The partition counts of the file, with at most COUNTS_MAX former ones. */
void		 conf_counts(const struct conf *, struct counts *);

/* True if publish.driver is this one, or that of a route. */
bool		 conf_uses_driver(const struct conf *, enum conf_driver);

/* The same, for what is in a section of keys. */
bool		 conf_uses_nats(const struct conf *);
bool		 conf_uses_http(const struct conf *);
bool		 conf_uses_kafka(const struct conf *);

/* True if what no route takes goes to a stream, whether or not it is named. */
bool		 conf_goes_to_stream(const struct conf *);

/* True if some messages go elsewhere than to NATS. */
bool		 conf_goes_elsewhere(const struct conf *);

/*
 * nats.stream, which takes all messages that go to NATS, and in which they can
 * be looked up by their sequences; "": there is none, or NATS is not used.
 */
const char	*conf_stream(const struct conf *);

struct buf;
/* Append the items of a list, with this text between them. */
void		 conf_put_list(struct buf *, const struct conf_list *,
		    const char *between);

/*
 * The subject of a request to the JetStream that has nats.stream, such as
 * "STREAM.INFO." and that name, which may be empty.
 */
#define CONF_API	400
const char	*conf_api(const struct conf *, const char *request,
		    const char *stream, char subject[CONF_API]);

/* The host of a URL or of HOST:PORT, without brackets. */
#define CONF_HOST	256
void		 conf_url_host(const char *url, char host[CONF_HOST]);

/* nats.tls.mode for this server; never TLS_AUTO. */
enum conf_tls	 conf_nats_tls(const struct conf *, const char *server);

/* kafka.tls.mode, for all brokers; never TLS_AUTO. */
enum conf_tls	 conf_kafka_tls(const struct conf *);

/* True for an address or a name of this host that no other host has. */
bool		 conf_is_loopback(const char *host);

/* True if missing rows are created at the start; if old rows are deleted. */
bool		 conf_wants_reconcile(const struct conf *);
bool		 conf_wants_retention(const struct conf *);

#endif
