/* doctor_db.c - the database: session, server, tables, rights */

#include "ctl/doctor/doctor.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "mysql/db.h"
#include "util/log.h"

/* With a larger difference logs of host and server are hard to compare. */
#define CLOCK_MAX_US	INT64_C(2000000)

struct db_rows *
doctor_query(struct doctor *d, const char *what)
{
	struct err	 e;
	struct db_rows	*rows = store_query(d->ctl->store, what, &e);

	if (rows == NULL)
		doctor_say(d, DOCTOR_FAIL, what, "%s", e.text);
	return rows;
}

/* Try the hosts of the list until one works, as the daemon does. */
void
doctor_connect(struct doctor *d)
{
	struct store	*s = d->ctl->store;
	size_t		 n = d->ctl->conf->mysql.hosts.n;
	struct err	 e;

	if (n == 0)
		n = 1;		/* a socket */
	for (size_t i = 0; i < n && !d->connected; i++) {
		d->connected = store_open(s, &e) == 0;
		if (!d->connected)
			doctor_say(d, i + 1 < n ? DOCTOR_WARN : DOCTOR_FAIL,
			    "database", "%s", e.text);
	}
	/* store_open() fails on servers that do not allow READ COMMITTED. */
	if (d->connected)
		doctor_say(d, DOCTOR_OK, "database", "%s: a primary, the "
		    "session is READ COMMITTED", store_peer(s));
}

static bool
is_value(const char *value, const char *wanted)
{
	return strcasecmp(value, wanted) == 0;
}

/*
 * Variables with one right value, and the cost of any other.  Variables that a
 * server lacks are not checked.
 */
static const struct variable {
	const char	*name, *wanted, *cost;
} variables[] = {
	{ "time_zone", "+00:00", "moments would be wrong: the session did not "
	  "become UTC" },
	{ "innodb_flush_log_at_trx_commit", "1", "a crash of the machine "
	  "undoes commits, and with them events, or takes back what is marked "
	  "as sent, which is sent again then: SET GLOBAL "
	  "innodb_flush_log_at_trx_commit = 1" },
	{ "sync_binlog", "1", "after a crash of the machine replicas may have "
	  "rows that the primary lacks, or lack some: SET GLOBAL sync_binlog "
	  "= 1" },
	{ "binlog_format", "ROW", "a binlog listener sees row events only: SET "
	  "GLOBAL binlog_format = ROW" },
};

/* binlog_format and sync_binlog matter only with a binlog. */
static bool
matters(const struct doctor *d, const char *name, bool binlog)
{
	if (strcmp(name, "binlog_format") == 0)
		return binlog && d->ctl->conf->wake.binlog;
	return binlog || strcmp(name, "sync_binlog") != 0;
}

static void
judge_variable(struct doctor *d, const char *name, const char *value,
    bool binlog)
{
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		if (strcmp(variables[i].name, name) == 0 &&
		    !is_value(value, variables[i].wanted) &&
		    matters(d, name, binlog))
			doctor_say(d, DOCTOR_WARN, "server", "%s is %s: %s",
			    name, value, variables[i].cost);
}

/* The server closes sessions that are silent for longer. */
static void
judge_timeout(struct doctor *d, const char *name, const char *value)
{
	int64_t	renew = d->ctl->conf->worker.lease_renew;

	if (strcmp(name, "wait_timeout") == 0 &&
	    strtoll(value, NULL, 10) * 1000 <= renew)
		doctor_say(d, DOCTOR_FAIL, "server", "wait_timeout is %s s, "
		    "and a worker may be silent for worker.lease_renew (%lld "
		    "s): its leases would go: make wait_timeout longer", value,
		    (long long)renew / 1000);
}

static void
check_variables(struct doctor *d)
{
	struct db_rows	*rows;
	bool		 binlog = false;

	store_sql(d->ctl->store, "SHOW SESSION VARIABLES WHERE Variable_name "
	    "IN ('log_bin', 'wait_timeout'");
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		store_putf(d->ctl->store, ", '%s'", variables[i].name);
	store_put(d->ctl->store, ")");
	if ((rows = doctor_query(d, "server")) == NULL)
		return;
	while (db_next(rows))
		if (strcmp(db_text(rows, 0), "log_bin") == 0)
			binlog = is_value(db_text(rows, 1), "ON");
	db_rewind(rows);
	while (db_next(rows)) {
		judge_variable(d, db_text(rows, 0), db_text(rows, 1), binlog);
		judge_timeout(d, db_text(rows, 0), db_text(rows, 1));
	}
	db_rows_free(rows);
	if (d->ctl->conf->wake.binlog && !binlog)
		doctor_say(d, DOCTOR_FAIL, "server", "wake.binlog needs a "
		    "binlog: log_bin is OFF");
}

static void
check_mysql_tls(struct doctor *d)
{
	struct db_rows	*rows;
	const char	*cipher = "";

	store_sql(d->ctl->store, "SHOW SESSION STATUS LIKE 'Ssl_cipher'");
	if ((rows = doctor_query(d, "database tls")) == NULL)
		return;
	if (db_next(rows) && db_text(rows, 1) != NULL)
		cipher = db_text(rows, 1);
	if (cipher[0] != '\0')
		doctor_say(d, DOCTOR_OK, "database tls", "%s", cipher);
	else if (d->ctl->conf->mysql.tls.mode == TLS_DISABLE &&
	    d->ctl->conf->mysql.socket[0] == '\0')
		doctor_say(d, DOCTOR_WARN, "database tls", "events are "
		    "readable on the way: mysql.tls.mode: verify");
	else
		doctor_say(d, DOCTOR_OK, "database tls", "not needed on this "
		    "host");
	db_rows_free(rows);
}

/* The binlog listener needs the right of a replica. */
static void
check_binlog_right(struct doctor *d)
{
	struct db_rows	*rows;
	bool		 may = false;

	if (!d->ctl->conf->wake.binlog)
		return;
	store_sql(d->ctl->store, "SHOW GRANTS");
	if ((rows = doctor_query(d, "binlog")) == NULL)
		return;
	while (db_next(rows))
		may = may || strstr(db_text(rows, 0), "REPLICATION SLAVE") !=
		    NULL || strstr(db_text(rows, 0),
		    "ALL PRIVILEGES ON *.*") != NULL;
	db_rows_free(rows);
	if (may)
		doctor_say(d, DOCTOR_OK, "binlog", "may be followed");
	else
		doctor_say(d, DOCTOR_FAIL, "binlog", "wake.binlog needs a "
		    "right: GRANT REPLICATION SLAVE ON *.* to the daemon's "
		    "account; see sql/grants.sql");
}

void
doctor_server(struct doctor *d)
{
	size_t	before = json_array_size(d->lines);

	check_variables(d);
	if (json_array_size(d->lines) == before)
		doctor_say(d, DOCTOR_OK, "server", "what is committed is "
		    "durable");
	check_mysql_tls(d);
	check_binlog_right(d);
}

/* The option that prevents pipelined claims; NULL: none. */
static const char *
late_by_conf(const struct conf *conf)
{
	if (!conf->wake.binlog && conf->wake.subject[0] == '\0')
		return "nobody wakes workers: wake.binlog: true";
	if (conf->nats.stream[0] == '\0')
		return "the stream cannot be asked what it has: set "
		    "nats.stream";
	if (conf->nats.recover == RECOVER_OFF)
		return "the stream is not asked what it has: nats.recover: "
		    "lost";
	return NULL;
}

/* Without it latency is a few tenths of a millisecond higher: no warning. */
void
doctor_pipelining(struct doctor *d)
{
	const char	*why = late_by_conf(d->ctl->conf);

	if (why == NULL)
		why = store_no_pipeline_reason(d->ctl->store);
	if (why == NULL)
		doctor_say(d, DOCTOR_OK, "latency", "messages go while their "
		    "claim is being committed");
	else
		doctor_say(d, DOCTOR_OK, "latency", "messages wait for the "
		    "commit of their claim: %s", why);
}

static int64_t
wall_us(void)
{
	struct timespec	ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* The daemon uses only the database's clock, but operators read both. */
void
doctor_clock(struct doctor *d)
{
	struct db_rows	*rows;
	int64_t		 before, after, diff = 0;

	store_sql(d->ctl->store, "SELECT TIMESTAMPDIFF(MICROSECOND, "
	    "'1970-01-01', UTC_TIMESTAMP(6))");
	before = wall_us();
	if ((rows = doctor_query(d, "clock")) == NULL)
		return;
	after = wall_us();
	if (db_next(rows))
		diff = (int64_t)db_u64(rows, 0) - (before + after) / 2;
	db_rows_free(rows);
	if (llabs(diff) > CLOCK_MAX_US)
		doctor_say(d, DOCTOR_WARN, "clock", "the server's is %.1f s "
		    "%s of this host's: synchronize both",
		    (double)llabs(diff) / 1e6, diff > 0 ? "ahead" : "behind");
	else
		doctor_say(d, DOCTOR_OK, "clock", "within %.1f s of the "
		    "server's", (double)CLOCK_MAX_US / 1e6);
}

static void
on_line(void *arg, enum log_level level, const char *text)
{
	doctor_say(arg, level == LOG_LVL_ERROR ? DOCTOR_FAIL : DOCTOR_WARN,
	    "tables", "%s", text);
}

/* Query information_schema for our tables; NULL: the error was printed. */
static struct db_rows *
ask_schema(struct doctor *d, const char *what, const char *select,
    const char *which)
{
	struct store	*s = d->ctl->store;

	store_sql(s, "SELECT table_name, ");
	store_put(s, select);
	store_put(s, " WHERE table_schema = DATABASE() AND ");
	store_put(s, which);
	store_put(s, " AND table_name IN (");
	for (enum store_table t = 0; t < NTABLES; t++) {
		store_put(s, t == 0 ? "" : ", ");
		store_put_text(s, store_table_name(s, t));
	}
	store_put(s, ")");
	return doctor_query(d, what);
}

/* Only InnoDB has transactions. */
static void
check_engines(struct doctor *d)
{
	struct db_rows	*rows = ask_schema(d, "tables",
			    "engine FROM information_schema.tables",
			    "engine <> 'InnoDB'");

	if (rows == NULL)
		return;
	while (db_next(rows))
		doctor_say(d, DOCTOR_FAIL, "tables", "%s is %s, which has no "
		    "transactions: ALTER TABLE %s ENGINE = InnoDB",
		    db_text(rows, 0), db_text(rows, 1), db_text(rows, 0));
	db_rows_free(rows);
}

/* The meaning of a DATETIME depends on the time zone of the session. */
static void
check_moments(struct doctor *d)
{
	struct db_rows	*rows = ask_schema(d, "time zone",
			    "column_name FROM information_schema.columns",
			    "data_type = 'datetime'");

	if (rows == NULL)
		return;
	if (db_nrows(rows) == 0)
		doctor_say(d, DOCTOR_OK, "time zone", "the session is UTC, and "
		    "moments are TIMESTAMPs");
	while (db_next(rows))
		doctor_say(d, DOCTOR_WARN, "time zone", "%s.%s is a DATETIME: "
		    "producers with another time zone than UTC shift it: make "
		    "it a TIMESTAMP(6)", db_text(rows, 0), db_text(rows, 1));
	db_rows_free(rows);
}

void
doctor_tables(struct doctor *d)
{
	size_t		before = json_array_size(d->lines);
	struct err	e;

	log_to(on_line, d, LOG_LVL_WARN);
	d->learned = store_learn(d->ctl->store, &e) == 0;
	log_to(NULL, NULL, LOG_LVL_ERROR);
	if (!d->learned)
		doctor_say(d, DOCTOR_FAIL, "tables", "%s", e.text);
	check_engines(d);
	if (json_array_size(d->lines) == before)
		doctor_say(d, DOCTOR_OK, "tables", "all are there, with all "
		    "columns and the claim's index");
	check_moments(d);
}

/* Report messages whose events this database has lost. */
void
doctor_phantoms(struct doctor *d)
{
	struct db_rows	*rows;

	if (!store_has(d->ctl->store, T_STREAMS))
		return;
	store_sql(d->ctl->store, "SELECT name, phantoms, phantom_first, "
	    "phantom_last, phantom_at FROM {streams} WHERE phantoms > 0");
	if ((rows = doctor_query(d, "phantoms")) == NULL)
		return;
	if (db_nrows(rows) == 0)
		doctor_say(d, DOCTOR_OK, "phantoms", "each message that was "
		    "compared has its event");
	while (db_next(rows))
		doctor_say(d, DOCTOR_FAIL, "phantoms", "stream %s has %s "
		    "messages without an event here, stream sequences %s to "
		    "%s, found at %s: the database went back (a failover, a "
		    "restored backup), and consumers know of events that do "
		    "not exist any more: restore them from the former primary "
		    "or its binlog, or tell the consumers and delete the "
		    "messages; then outboxctl phantoms forget",
		    db_text(rows, 0), db_text(rows, 1), db_text(rows, 2),
		    db_text(rows, 3), db_text(rows, 4));
	db_rows_free(rows);
}

/* Rights of the daemon on each table, with a column that it updates. */
static const struct rights {
	enum store_table	 table;
	const char		*name, *column;
	const char		*letters;	/* SELECT, INSERT, ... */
	bool			(*wanted)(const struct conf *);	/* or NULL */
} rights[] = {
	{ T_EVENTS, "{events}", NULL, "S", NULL },
	{ T_OUTBOX, "{outbox}", "attempts", "SUD", NULL },
	{ T_PARTITIONS, "{partitions}", "lease_epoch", "SIU", NULL },
	{ T_WORKERS, "{workers}", "heartbeat_until", "SIUD", NULL },
	{ T_SETTINGS, "{settings}", "partition_count", "SIU", NULL },
	{ T_DEAD, "{dead}", "reason", "SIU", NULL },
	{ T_BLOCKED, "{blocked}", "reason", "SIUD", NULL },
	{ T_STREAMS, "{streams}", "checked_at", "SIU", NULL },
	{ T_AUDIT, "{audit}", "changed", "SIU", NULL },
	{ T_OUTBOX, "{outbox}", NULL, "I", conf_wants_reconcile },
	{ T_DEAD, "{dead}", NULL, "D", conf_wants_retention },
};

/* Begin a statement on no row; returns its verb.  INSERT needs all columns. */
static const char *
put_try(struct store *s, const struct rights *r, char letter)
{
	switch (letter) {
	case 'S':
		store_sql(s, "SELECT 1 FROM ");
		store_put(s, r->name);
		store_put(s, " WHERE 1 = 0");
		return "SELECT";
	case 'I':
		store_sql(s, "INSERT INTO ");
		store_put(s, r->name);
		store_put(s, " SELECT * FROM ");
		store_put(s, r->name);
		store_put(s, " AS t WHERE 1 = 0");
		return "INSERT";
	case 'U':
		store_sql(s, "UPDATE ");
		store_put(s, r->name);
		store_putf(s, " SET %s = NULL WHERE 1 = 0", r->column);
		return "UPDATE";
	default:
		store_sql(s, "DELETE FROM ");
		store_put(s, r->name);
		store_put(s, " WHERE 1 = 0");
		return "DELETE";
	}
}

static bool
try_right(struct doctor *d, const struct rights *r, char letter)
{
	struct store	*s = d->ctl->store;
	const char	*name = put_try(s, r, letter);
	struct db_rows	*rows = NULL;
	struct err	 e;
	bool		 may;

	if (letter == 'S')
		may = (rows = store_query(s, "grants", &e)) != NULL;
	else
		may = store_exec(s, "grants", NULL, &e) == 0;
	db_rows_free(rows);
	if (!may)
		doctor_say(d, r->table == T_AUDIT ? DOCTOR_WARN : DOCTOR_FAIL,
		    "grants", "%s; GRANT %s ON %s to the daemon's account, "
		    "see sql/grants.sql", e.text, name,
		    store_table_name(s, r->table));
	return may;
}

void
doctor_grants(struct doctor *d)
{
	struct err	e;
	bool		all = true;

	if (store_begin(d->ctl->store, &e) < 0) {
		doctor_say(d, DOCTOR_FAIL, "grants", "%s", e.text);
		return;
	}
	for (size_t i = 0; i < sizeof(rights) / sizeof(rights[0]); i++) {
		if (!store_has(d->ctl->store, rights[i].table) ||
		    (rights[i].wanted != NULL &&
		    !rights[i].wanted(d->ctl->conf)))
			continue;
		for (const char *p = rights[i].letters; *p != '\0'; p++)
			all = try_right(d, &rights[i], *p) && all;
	}
	store_end(d->ctl->store, -1, &e);	/* roll back */
	if (all)
		doctor_say(d, DOCTOR_OK, "grants", "all that the daemon "
		    "needs");
}
