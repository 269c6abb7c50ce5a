/* doctor_db.c - the database: session, server, tables, rights */

#include "ctl/doctor/doctor.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "mysql/db.h"
#include "util/log.h"

struct db_rows *
doctor_query(struct doctor *d, const char *what)
{
	struct err	 e;
	struct db_rows	*rows = store_query(d->ctl->store, what, &e);

	if (rows == NULL)
		doctor_say(d, DOCTOR_FAIL, what, "%s", e.text);
	return rows;
}

/*
 * Hosts that are passed over are advice.  If none works that is a problem, see
 * doctor_problems.c.
 */
void
doctor_connect(struct doctor *d)
{
	struct store	*s = d->ctl->store;

	ctl_follow_workers(d->ctl);
	d->connected = store_open(s, &d->away) == 0;
	if (d->connected && db_passed_over(store_db(s))[0] != '\0')
		doctor_say(d, DOCTOR_ADVICE, "database", "%s",
		    db_passed_over(store_db(s)));
	/* store_open() fails on servers that do not allow READ COMMITTED. */
	if (d->connected)
		doctor_say(d, DOCTOR_OK, "database", "%s: it is a primary, and "
		    "the session is READ COMMITTED", store_peer(s));
}

/*
 * Variables with one right value, and the cost of any other.  Variables that a
 * server lacks are not checked.
 */
static const struct variable {
	const char	*name, *wanted, *cost;
} variables[] = {
	{ "time_zone", "+00:00", "the session did not become UTC, so times "
	  "would be wrong" },
	{ "innodb_flush_log_at_trx_commit", "1", "a crash of the machine can "
	  "undo commits: events are lost, or sent messages are sent again: SET "
	  "GLOBAL innodb_flush_log_at_trx_commit = 1" },
	{ "sync_binlog", "1", "after a crash of the machine replicas may have "
	  "rows that the primary lacks, or lack some: SET GLOBAL sync_binlog "
	  "= 1" },
	{ "binlog_format", "ROW", "the binlog listener reads row events only: "
	  "SET GLOBAL binlog_format = ROW" },
};
#define NVARIABLES	(sizeof(variables) / sizeof(variables[0]))

static void
check_variables(struct doctor *d)
{
	struct db_rows	*rows;
	bool		 binlog = false;

	store_sql(d->ctl->store, "SHOW SESSION VARIABLES WHERE Variable_name "
	    "IN ('log_bin':names)",
	    SQL_LABELS_OF("names", variables, NVARIABLES, name));
	if ((rows = doctor_query(d, "server")) == NULL)
		return;
	while (db_next(rows))
		if (strcmp(db_text(rows, 0), "log_bin") == 0)
			binlog = strcasecmp(db_text(rows, 1), "ON") == 0;
	db_rewind(rows);
	while (db_next(rows)) {
		const char	*name = db_text(rows, 0);
		const char	*value = db_text(rows, 1);

		/* Two of them matter only with a binlog. */
		if (strcmp(name, "binlog_format") == 0 &&
		    (!binlog || d->ctl->conf->wake.binlog != WAKE_ON))
			continue;
		/* A node of Galera gets what it lacks from the others. */
		if (strcmp(name, "sync_binlog") == 0 &&
		    (!binlog || d->server.kind == SERVER_GALERA))
			continue;
		for (size_t i = 0; i < NVARIABLES; i++)
			if (strcmp(variables[i].name, name) == 0 &&
			    strcasecmp(value, variables[i].wanted) != 0)
				doctor_say(d, DOCTOR_ADVICE, "server",
				    "%s is %s: %s", name, value,
				    variables[i].cost);
	}
	db_rows_free(rows);
}

void
doctor_server(struct doctor *d)
{
	size_t		 before = json_array_size(d->lines);
	struct db_rows	*rows;
	const char	*cipher = "";

	check_variables(d);
	if (json_array_size(d->lines) == before)
		doctor_say(d, DOCTOR_OK, "server", "commits are durable");

	store_sql(d->ctl->store, "SHOW SESSION STATUS LIKE 'Ssl_cipher'");
	if ((rows = doctor_query(d, "database tls")) == NULL)
		return;
	if (db_next(rows))
		cipher = db_text(rows, 1);
	if (cipher[0] != '\0')
		doctor_say(d, DOCTOR_OK, "database tls", "%s", cipher);
	else if (d->ctl->conf->mysql.tls.mode == TLS_DISABLE &&
	    d->ctl->conf->mysql.socket[0] == '\0')
		doctor_say(d, DOCTOR_ADVICE, "database tls", "events can "
		    "be read on the network: set mysql.tls.mode: verify");
	else
		doctor_say(d, DOCTOR_OK, "database tls", "not needed on this "
		    "host");
	db_rows_free(rows);
}

static void
on_line(void *arg, enum log_level level, const char *text)
{
	doctor_say(arg, level == LOG_LVL_ERROR ? DOCTOR_FAIL : DOCTOR_ADVICE,
	    "tables", "%s", text);
}

/* Query information_schema for our tables; NULL: the error was printed. */
static struct db_rows *
ask_schema(struct doctor *d, const char *what, struct sql select,
    struct sql which)
{
	struct store	*s = d->ctl->store;
	const char	*tables[NTABLES];

	for (enum store_table t = 0; t < NTABLES; t++)
		tables[t] = store_table_name(s, t);
	store_sql(s, "SELECT table_name, :select WHERE table_schema = "
	    "DATABASE() AND :which AND table_name IN (:tables)",
	    SQL_PART("select", select), SQL_PART("which", which),
	    SQL_LABELS("tables", tables, NTABLES));
	return doctor_query(d, what);
}

/* The meaning of a DATETIME depends on the time zone of the session. */
static void
check_moments(struct doctor *d)
{
	struct db_rows	*rows = ask_schema(d, "time zone",
			    SQL("column_name "
			    "FROM information_schema.columns"),
			    SQL("data_type = 'datetime'"));

	if (rows == NULL)
		return;
	if (db_nrows(rows) == 0)
		doctor_say(d, DOCTOR_OK, "time zone", "the session is UTC, and "
		    "times are TIMESTAMPs");
	while (db_next(rows))
		doctor_say(d, DOCTOR_ADVICE, "time zone", "%s.%s is a DATETIME, "
		    "and producers in another time zone than UTC write a wrong "
		    "time: make it a TIMESTAMP(6)", db_text(rows, 0),
		    db_text(rows, 1));
	db_rows_free(rows);
}

void
doctor_tables(struct doctor *d)
{
	const struct store	*s = d->ctl->store;
	size_t			 before = json_array_size(d->lines);
	const char		*why, *word;
	struct db_rows		*rows;

	log_to(on_line, d, LOG_LVL_WARN);
	d->learned = store_learn(d->ctl->store, &d->away) == 0;
	log_to(NULL, NULL, LOG_LVL_ERROR);
	if (!d->learned)
		doctor_say(d, DOCTOR_FAIL, "tables", "%s", d->away.text);
	/* Only InnoDB has transactions. */
	rows = ask_schema(d, "tables", SQL("engine FROM "
	    "information_schema.tables"), SQL("engine <> 'InnoDB'"));
	if (rows != NULL) {
		while (db_next(rows)) {
			char *name = db_named(db_text(rows, 0));

			doctor_say(d, DOCTOR_FAIL, "tables", "%s is %s, which "
			    "has no transactions: ALTER TABLE %s ENGINE = "
			    "InnoDB", db_text(rows, 0), db_text(rows, 1), name);
			free(name);
		}
		db_rows_free(rows);
	}
	if (json_array_size(d->lines) == before)
		doctor_say(d, DOCTOR_OK, "tables", "all exist, with all "
		    "columns and the index of the claim");
	check_moments(d);
	/* What a message id is made of must not change by itself. */
	for (size_t i = 0; (why = store_unstable(s, i, &word)) != NULL; i++)
		if (why[0] != '\0')
			doctor_say(d, DOCTOR_FAIL, "message ids", "%s.%s %s: "
			    "ids leave it out, and its value in messages is "
			    "any; outboxctl schema check names the ALTER",
			    store_table_name(s, T_EVENTS),
			    store_column_name(s, word), why);
}
