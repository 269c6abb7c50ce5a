/*
 * db_early.c - a change whose COMMIT is not waited for
 *
 * One packet takes a transaction to the server, and each of its statements has
 * an answer: after that of the change all of it is done and locked, but for
 * the disks.
 */

#include "db_impl.h"

#include "fault.h"

bool
db_can_early(const struct db *db)
{
	return !db->clustered && !db->single;
}

/* May several statements go at once?  A proxy may say no. */
static void
ask_for_many(struct db *db)
{
	struct err	e;

	if (db->mysql == NULL || db->many || db_finish(db, &e) < 0)
		return;
	db->many = mysql_set_server_option(db->mysql,
	    MYSQL_OPTION_MULTI_STATEMENTS_ON) == 0;
	db->single = !db->many;
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

int
db_exec_early(struct db *db, const char *what, const struct buf *sql,
    uint64_t *matched, struct err *e)
{
	ask_for_many(db);
	if (!db_can_early(db))
		return db_exec(db, what, sql, matched, e);
	if (send_whole(db, what, sql, e) < 0) {
		/* Nobody refuses to begin a transaction: not all of it. */
		if (db->fault != DB_WRONG)
			return -1;
		db->single = true;
		return db_exec(db, what, sql, matched, e);
	}
	if (mysql_next_result(db->mysql) != 0) {
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
