/*
 * db_early.c - a change whose COMMIT is not waited for
 *
 * One packet takes a transaction to the server, and each of its statements has
 * an answer: after that of the change all of it is done and locked, but for
 * the disks.
 */

#include "db_impl.h"

#include <mysqld_error.h>

#include "fault.h"

bool
db_can_early(const struct db *db)
{
	return !db->clustered && !db->single;
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

/* The transaction and its end in one packet: one way there, not three. */
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

/* Something on the way made one answer of all: what came of it is unknown. */
static int
is_single(struct db *db, const char *what, struct err *e)
{
	db->single = true;
	db_close(db);
	db->fault = DB_LOST;
	return err_set(e, "%s: three statements had one answer: from now on one "
	    "at a time", what);
}

int
db_exec_early(struct db *db, const char *what, const struct buf *sql,
    uint64_t *matched, struct err *e)
{
	int	more;

	if (!db_can_early(db))
		return db_exec(db, what, sql, matched, e);
	if (ask_for_many(db, what, e) < 0 || send_whole(db, what, sql, e) < 0) {
		/* To whom one statement is all, three are none. */
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

int
db_finish(struct db *db, struct err *e)
{
	if (db->mysql == NULL) {
		db->fault = DB_CLOSED;
		return err_set(e, "commit: not connected");
	}
	if (!db->committing)
		return 0;
	db->committing = false;
	fault_point("commit early", "before", db->mysql->net.fd);
	if (mysql_next_result(db->mysql) != 0) {
		/* Whatever it was, what stood before it may be undone. */
		db_fail(db, "commit", e);
		db->fault = DB_LOST;
		db_close(db);
		return -1;
	}
	fault_point("commit early", "after", db->mysql->net.fd);
	return 0;
}
