/*
 * db_pipeline.c - run a change without waiting for its COMMIT
 *
 * One packet takes a transaction to the server, which answers each of its
 * statements.  After the answer to the change all of it is done and locked;
 * only the disks are still to be waited for.
 */

#include "mysql/db_impl.h"

#include <mysqld_error.h>

#include <string.h>
#include <strings.h>

#define AFTER_COMMIT_SHOWS(variable)	variable " is not AFTER_SYNC: a row " \
	"can be read before a replica has it: SET GLOBAL " variable	      \
	" = AFTER_SYNC"

/*
 * A row must not be readable before its producer's COMMIT is on the disk, and
 * on a replica where COMMITs wait for one.  With a binlog the row appears after
 * its sync; without one InnoDB shows the row first and flushes its log then.
 */
static const struct condition {
	const char	*name, *wanted, *reason;
	bool		 optional;	/* not every server has it */
	const char	*only_if;	/* applies if this one is ON */
} conditions[] = {
	{ "log_bin", "ON", "log_bin is not ON: without a binlog a row can be "
	  "read before it is on disk: start the server with log_bin",
	  false, NULL },
	{ "sync_binlog", "1", "sync_binlog is not 1: a row can be read before "
	  "it is on disk: SET GLOBAL sync_binlog = 1", false, NULL },
	{ "innodb_flush_log_at_trx_commit", "1",
	  "innodb_flush_log_at_trx_commit is not 1: a row can be read before "
	  "it is on disk: SET GLOBAL innodb_flush_log_at_trx_commit = 1",
	  false, NULL },
	{ "rpl_semi_sync_master_wait_point", "AFTER_SYNC",
	  AFTER_COMMIT_SHOWS("rpl_semi_sync_master_wait_point"), true,
	  "rpl_semi_sync_master_enabled" },
	{ "rpl_semi_sync_source_wait_point", "AFTER_SYNC",
	  AFTER_COMMIT_SHOWS("rpl_semi_sync_source_wait_point"), true,
	  "rpl_semi_sync_source_enabled" },
	{ "wsrep_on", "OFF", "wsrep_on is not OFF: another server of the "
	  "cluster may refuse a COMMIT", true, NULL },
	{ "group_replication_group_name", "", "group_replication_group_name "
	  "is set: another server of the group may refuse a COMMIT", true,
	  NULL },
};

/* The variable's value; NULL: the server does not have it. */
static const char *
find_value(struct db_rows *rows, const char *name)
{
	db_rewind(rows);
	while (db_next(rows))
		if (strcmp(db_text(rows, 0), name) == 0)
			return db_text(rows, 1);
	return NULL;
}

static bool
is_met(struct db_rows *rows, const struct condition *c)
{
	const char	*value;

	if (c->only_if != NULL && ((value = find_value(rows, c->only_if)) ==
	    NULL || strcasecmp(value, "ON") != 0))
		return true;
	value = find_value(rows, c->name);
	return value == NULL ? c->optional : strcasecmp(value, c->wanted) == 0;
}

void
db_learn_pipelining(struct db *db, struct db_rows *rows)
{
	db->late = NULL;
	for (size_t i = 0; db->late == NULL &&
	    i < sizeof(conditions) / sizeof(conditions[0]); i++)
		if (!is_met(rows, &conditions[i]))
			db->late = conditions[i].reason;
}

const char *
db_late_reason(const struct db *db)
{
	if (db->single)
		return "the server or a proxy rejects several statements at "
		    "once";
	return db->late;
}

static int
ask_for_many(struct db *db, const char *what, struct err *e)
{
	if (db->many)
		return 0;
	if (db_finish(db, e) < 0)
		return -1;
	db->many = mysql_set_server_option(db->mysql,
	    MYSQL_OPTION_MULTI_STATEMENTS_ON) == 0;
	return db->many ? 0 : db_fail(db, what, e);
}

/* The whole transaction in one packet: one round trip, not three. */
static int
send_whole(struct db *db, const char *what, const struct buf *sql,
    struct err *e)
{
	struct buf	all = { 0 };
	int		rc;

	buf_str(&all, "START TRANSACTION; ");
	buf_add(&all, sql->data, sql->len);
	buf_str(&all, "; COMMIT");
	rc = db_exec(db, what, &all, NULL, e);
	buf_free(&all);
	return rc;
}

/* A proxy merged several answers into one: the outcome is not known. */
static int
is_single(struct db *db, const char *what, struct err *e)
{
	db->single = true;
	db_close(db);
	db->fault = DB_LOST;
	return err_set(e, "%s: three statements had one answer, from a proxy "
	    "perhaps: they are sent one by one from now on", what);
}

int
db_exec_pipelined(struct db *db, const char *what, const struct buf *sql,
    uint64_t *matched, struct err *e)
{
	int	more;

	if (db_late_reason(db) != NULL)
		return db_exec(db, what, sql, matched, e);
	if (ask_for_many(db, what, e) < 0 || send_whole(db, what, sql, e) < 0) {
		/* The server rejects several at once: send them one by one. */
		if (db->fault != DB_WRONG || (db->many &&
		    db->code != ER_PARSE_ERROR))
			return -1;
		db->single = true;
		return db_exec(db, what, sql, matched, e);
	}
	if ((more = mysql_next_result(db->mysql)) < 0)
		return is_single(db, what, e);
	if (more > 0) {
		db_fail(db, what, e);
		db_rollback(db);
		return -1;
	}
	*matched = mysql_affected_rows(db->mysql);
	db->committing = true;
	return 0;
}
