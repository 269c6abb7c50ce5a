/*
 * db_abandoned.c - end sessions of ours whose statement had no answer
 *
 * A server works on a statement whose client has hung up, and the session keeps
 * its locks: on the row that registers us, and on our leases.  It is ended when
 * the same server, since the same start, lets us in again, and only if the list
 * of processes has it under our account and host.  Behind a proxy nobody is:
 * the number of a session is then the proxy's.
 */

#include "mysql/db_impl.h"

#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>

#include "util/clock.h"
#include "util/log.h"

#define SAME_START_MS	1500	/* the uptime is in whole seconds */

static struct db_rows *
ask(struct db *db, struct buf *sql)
{
	struct err	 e;
	struct db_rows	*rows = db_query(db, "session", sql, &e);

	buf_clear(sql);
	return rows;
}

/* An id of 0: a session that is never ended. */
static void
learn(struct db *db, struct db_session *s)
{
	struct buf	 sql = { 0 };
	struct db_rows	*rows;
	int64_t		 up_s = -1;

	s->id = 0;
	buf_str(&sql, "SHOW GLOBAL STATUS LIKE 'Uptime'");
	if ((rows = ask(db, &sql)) != NULL && db_next(rows))
		up_s = (int64_t)db_u64(rows, 1);
	db_rows_free(rows);
	s->since = clock_ms() - up_s * 1000;
	buf_str(&sql, "SELECT CONNECTION_ID(), CONCAT_WS('/', @@hostname, "
	    "@@port, @@pid_file, @@server_id)");
	if (up_s >= 0 && (rows = ask(db, &sql)) != NULL) {
		if (db_next(rows) &&
		    db_u64(rows, 0) == mysql_thread_id(db->mysql))
			s->id = db_u64(rows, 0);
		strlcpy(s->server, db_text(rows, 1), sizeof(s->server));
		db_rows_free(rows);
	}
	buf_free(&sql);
}

/* Of the same account, from the same host; a port follows the host's name. */
#define HOST(p)	"LEFT(" p ".host, CHAR_LENGTH(" p ".host) - " \
		"CHAR_LENGTH(SUBSTRING_INDEX(" p ".host, ':', -1)))"

static bool
is_listed(struct db *db, uint64_t id)
{
	struct buf	 sql = { 0 };
	struct db_rows	*rows;
	bool		 listed;

	buf_printf(&sql, "SELECT 1 FROM information_schema.processlist AS it "
	    "JOIN information_schema.processlist AS me "
	    "ON me.id = CONNECTION_ID() AND it.user = me.user "
	    "AND " HOST("it") " = " HOST("me") " WHERE it.id = %llu",
	    (unsigned long long)id);
	rows = ask(db, &sql);
	listed = rows != NULL && db_next(rows);
	db_rows_free(rows);
	buf_free(&sql);
	return listed;
}

void
db_end_abandoned(struct db *db)
{
	struct db_session	 then = db->abandoned[db->host];
	struct buf		 sql = { 0 };
	struct err		 e;

	learn(db, &db->session);
	db->abandoned[db->host].id = 0;
	if (db->mysql == NULL || then.id == 0 || db->session.id == 0 ||
	    strcmp(then.server, db->session.server) != 0 ||
	    llabs(then.since - db->session.since) > SAME_START_MS ||
	    !is_listed(db, then.id))
		return;
	buf_printf(&sql, "KILL %llu", (unsigned long long)then.id);
	if (db_exec(db, "session", &sql, NULL, &e) == 0)
		log_info("database: %s: connection %llu of this process, which "
		    "had no answer, is ended", db->peer,
		    (unsigned long long)then.id);
	buf_free(&sql);
}
