/*
 * db.c - statements, their results, and what errors mean
 *
 * For connecting see db_open.c, and for the libraries' binlog calls binlog.c.
 */

#include "mysql/db_impl.h"

#include <errmsg.h>
#include <mysqld_error.h>

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/clock.h"
#include "util/fault.h"
#include "util/utf8.h"
#include "util/xalloc.h"

/* Codes that one of the two header sets lacks. */
#define FAULT_NO_SUCH_THREAD_KILLED	1927	/* MariaDB: ER_CONNECTION_KILLED */
#define FAULT_IDLE_DISCONNECT		4031	/* MySQL 8 */
#define FAULT_READ_ONLY_TRANSACTION	1792
#define FAULT_READ_ONLY_MODE		1836
#define FAULT_WSREP_NOT_READY		1047
#define FAULT_COMMIT			1180	/* Galera: the node is cut off */
#define FAULT_BEFORE_COMMIT		3100	/* MySQL: of its group, too */
#define FAULT_NOT_CERTIFIED		3101	/* MySQL: another member won */
#define FAULT_MEMBER_STATE		3796	/* MySQL: it is not ONLINE */
#define FAULT_CONSISTENCY_WAIT		3797	/* MySQL: the member lags */
#define FAULT_CHECKREAD			1020	/* MariaDB: record has changed */
#define FAULT_SORT_ABORTED		1028
#define FAULT_BIG_SELECT		1104
#define FAULT_SAFE_UPDATES		1175
#define FAULT_STATEMENT_TIME		1969	/* MariaDB: max_statement_time */
#define FAULT_EXECUTION_TIME		3024	/* MySQL: max_execution_time */
#define FAULT_SESSION_KILLED		3169	/* MySQL 8 */

#define TRIAL_MS	2000	/* of an answer in the owner's test, at least */

struct db_rows {
	MYSQL_RES	*res;
	MYSQL_ROW	 row;
	unsigned long	*lengths;
};

static const struct {
	unsigned	code;
	enum db_fault	fault;
} faults[] = {
	{ FAULT_CHECKREAD, DB_BUSY },
	{ ER_LOCK_WAIT_TIMEOUT, DB_BUSY },
	{ ER_LOCK_DEADLOCK, DB_BUSY },
	{ ER_QUERY_INTERRUPTED, DB_BUSY },
	{ FAULT_SORT_ABORTED, DB_BUSY },
	{ FAULT_STATEMENT_TIME, DB_BUSY },
	{ FAULT_EXECUTION_TIME, DB_BUSY },
	{ ER_CON_COUNT_ERROR, DB_LOST },
	{ ER_SERVER_SHUTDOWN, DB_LOST },
	{ FAULT_NO_SUCH_THREAD_KILLED, DB_LOST },
	{ FAULT_IDLE_DISCONNECT, DB_LOST },
	{ FAULT_SESSION_KILLED, DB_LOST },
	/* We have set that away: this is not our session any more. */
	{ FAULT_BIG_SELECT, DB_LOST },
	{ FAULT_SAFE_UPDATES, DB_LOST },
	{ ER_OPTION_PREVENTS_STATEMENT, DB_READONLY },
	{ FAULT_READ_ONLY_TRANSACTION, DB_READONLY },
	{ FAULT_READ_ONLY_MODE, DB_READONLY },
	{ FAULT_WSREP_NOT_READY, DB_READONLY },
	/* Rolled back here; the cluster may have had it before we were cut off. */
	{ FAULT_COMMIT, DB_LOST },
	{ FAULT_BEFORE_COMMIT, DB_LOST },
	{ FAULT_NOT_CERTIFIED, DB_BUSY },
	{ FAULT_MEMBER_STATE, DB_BUSY },
	{ FAULT_CONSISTENCY_WAIT, DB_BUSY },
};

/*
 * vtgate has one code for most of its own trouble, above all for a shard that
 * changes its primary: the statement may have run.
 */
#define FAULT_OF_VTGATE			1105

/*
 * The library ends some of its texts with an errno: "... (111)", "... system
 * error: 110".  Put it in words.  Connector/C tells of each connect that failed
 * that it is in progress.
 */
static struct err
error_text(const char *text, unsigned code)
{
	size_t		end = strlen(text), from;
	bool		closed = end > 0 && text[end - 1] == ')';
	long		number;
	struct err	e;

	end -= closed;
	for (from = end; from > 0 && isdigit((unsigned char)text[from - 1]); )
		from--;
	number = strtol(text + from, NULL, 10);
	if (code < CR_MIN_ERROR || code >= 3000 || from == end || from == 0 ||
	    strchr("( ", text[from - 1]) == NULL || number < 1 ||
	    number > INT_MAX)
		err_set(&e, "%s", text);
	else
		err_set(&e, "%.*s%s%s", (int)from, text,
		    number == EINPROGRESS ? "refused, or not reachable" :
		    strerror((int)number), closed ? ")" : "");
	return e;
}

/* How long an answer may take; in the test longer than a lock: db_hurry(). */
static int64_t
limit_ms(const struct db *db)
{
	int64_t	ms = !db->trial ? db->wait_ms : db->wait_ms < 2 * TRIAL_MS ?
		    TRIAL_MS : db->wait_ms / 2;

	return ms / 1000 * 1000;
}

/* The server has not answered in time: another one is tried first. */
static int
gave_up(struct db *db, const char *what, unsigned code, struct err *e)
{
	db->fault = DB_LOST;
	db->code = code;
	err_set(e, "%s: " DB_TOO_SLOW " %lld s (%u)", what,
	    (long long)limit_ms(db) / 1000, code);
	db_leave(db);
	return -1;
}

int
db_fail(struct db *db, const char *what, struct err *e)
{
	unsigned	code = mysql_errno(db->mysql);

	/* 2000..2999 are the library's own: the connection is no good. */
	db->fault = code >= CR_MIN_ERROR && code < 3000 ? DB_LOST : DB_WRONG;
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		if (faults[i].code == code)
			db->fault = faults[i].fault;
	if (db->vtgate && code == FAULT_OF_VTGATE)
		db->fault = DB_LOST;
	db->code = code;
	memcpy(db->state, mysql_sqlstate(db->mysql), sizeof(db->state));
	/*
	 * Have we hung up ourselves?  The library says the same when the server
	 * does.
	 */
	if (db->fault == DB_LOST && db->asked_at != 0 &&
	    clock_ms() - db->asked_at >= limit_ms(db))
		return gave_up(db, what, code, e);
	err_set(e, "%s: %s (%u)", what,
	    error_text(mysql_error(db->mysql), code).text, code);
	if (db->fault != DB_LOST)	/* it is an answer */
		db->asked_at = 0;
	if (db->fault == DB_READONLY || code == FAULT_COMMIT ||
	    code == FAULT_BEFORE_COMMIT)
		db_leave(db);
	else if (db->fault == DB_LOST)
		db_close(db);
	return -1;
}

struct db *
db_new(const struct conf *conf, int64_t wait_ms)
{
	struct db	*db = xcalloc(1, sizeof(*db));

	db->conf = conf;
	db->wait_ms = wait_ms < 2000 ? 2000 : wait_ms;
	db->abandoned = xcalloc(conf->mysql.hosts.n + 1,
	    sizeof(*db->abandoned));
	db->demoted = xcalloc(conf->mysql.hosts.n + 1, sizeof(*db->demoted));
	return db;
}

void
db_set_test(struct db *db, int (*test)(void *, struct err *), void *arg)
{
	db->test = test;
	db->test_arg = arg;
}

void
db_observe(struct db *db, void (*observe)(void *, const char *, int64_t),
    void *arg)
{
	db->observe = observe;
	db->observe_arg = arg;
}

/* When a statement begins; 0: it is not sent, for lack of a connection. */
static int64_t
begins_at(const struct db *db)
{
	return db->mysql == NULL || db->observe == NULL ? 0 : clock_us();
}

static void
observed(const struct db *db, const char *what, int64_t began_us)
{
	if (began_us != 0)
		db->observe(db->observe_arg, what, clock_us() - began_us);
}

void
db_free(struct db *db)
{
	if (db == NULL)
		return;
	db_close(db);
	free(db->abandoned);
	free(db->demoted);
	free(db);
}

void
db_close(struct db *db)
{
	if (db->mysql != NULL && db->asked_at != 0)
		db->abandoned[db->host] = db->session;
	if (db->mysql != NULL)
		mysql_close(db->mysql);
	db->mysql = NULL;
	db->session.id = 0;
	db->asked_at = 0;
}

void
db_take_any(struct db *db)
{
	db->any = true;
}

bool
db_prefer(struct db *db, const char *peer)
{
	const struct conf_list	*hosts = &db->conf->mysql.hosts;

	for (size_t i = 0; i < hosts->n; i++)
		if (strcmp(hosts->items[i], peer) == 0) {
			db->first = i;
			db->preferred = true;
			return true;
		}
	return false;
}

void
db_leave(struct db *db)
{
	db->first = db->host + 1;
	db_close(db);
}

void
db_demote(struct db *db)
{
	db->demoted[db->host] = true;
	db_leave(db);
}

bool
db_is_demoted(const struct db *db)
{
	return db->demoted[db->host];
}

bool
db_is_open(const struct db *db)
{
	return db->mysql != NULL;
}

const char *
db_peer(const struct db *db)
{
	return db->peer;
}

const char *
db_passed_over(const struct db *db)
{
	return db->passed_over.text;
}

bool
db_is_mariadb(const struct db *db)
{
	return db->mariadb;
}

bool
db_is_vtgate(const struct db *db)
{
	return db->vtgate;
}

enum db_fault
db_last_fault(const struct db *db)
{
	return db->fault;
}

unsigned
db_last_code(const struct db *db)
{
	return db->code;
}

/* Errors about a value that have no class of their own. */
static const unsigned	value_codes[] = {
	1265,	/* data truncated */
	1300,	/* no characters of its character set */
	1366,	/* incorrect string value */
	3819	/* MySQL: a CHECK constraint */
};

bool
db_refused_value(const struct db *db)
{
	if (db->fault != DB_WRONG)
		return false;
	for (size_t i = 0; i < sizeof(value_codes) / sizeof(value_codes[0]);
	    i++)
		if (db->code == value_codes[i])
			return true;
	/* Data exceptions, violated constraints, SIGNAL in a trigger. */
	return memcmp(db->state, "22", 2) == 0 ||
	    memcmp(db->state, "23", 2) == 0 || memcmp(db->state, "45", 2) == 0;
}

/* No such column, table, key, index, variable, procedure, function. */
static const unsigned	stale_codes[] = {
	1054, 1146, 1072, 1176, 1193, 1305, 1630
};

bool
db_learnt_wrong(const struct db *db)
{
	for (size_t i = 0; i < sizeof(stale_codes) / sizeof(stale_codes[0]);
	    i++)
		if (db->fault == DB_WRONG && db->code == stale_codes[i])
			return true;
	return false;
}

/*
 * During the owner's test: is the answer there in time?  A signal, or a packet
 * of TLS, only means that the library waits for it.
 */
static bool
is_answered(const struct db *db)
{
	struct pollfd	p = { .fd = db->mysql->net.fd, .events = POLLIN };

	return !db->trial || poll(&p, 1, (int)limit_ms(db)) != 0;
}

/* The one place that sends a statement and reads the head of its answer. */
static int
ask(struct db *db, const char *what, const char *sql, size_t len,
    struct err *e)
{
	fault_instead(what, &sql, &len);
	db->asked_at = clock_ms();
	fault_point(what, "before", db->mysql->net.fd);
	if (mysql_send_query(db->mysql, sql, len) != 0)
		return db_fail(db, what, e);
	fault_point(what, "sent", db->mysql->net.fd);
	if (!is_answered(db))
		return gave_up(db, what, CR_SERVER_LOST, e);
	if (mysql_read_query_result(db->mysql) != 0)
		return db_fail(db, what, e);
	db->asked_at = 0;
	fault_point(what, "after", db->mysql->net.fd);
	return 0;
}

static int
exec(struct db *db, const char *what, const struct buf *sql,
    uint64_t *matched, struct err *e)
{
	db->fault = DB_CLOSED;
	db->code = 0;
	if (db->mysql == NULL)
		return err_set(e, "%s: not connected to the database", what);
	if (ask(db, what, sql->data, sql->len, e) < 0)
		return -1;
	if (matched != NULL)
		*matched = mysql_affected_rows(db->mysql);
	db->fault = DB_FINE;
	return 0;
}

int
db_exec(struct db *db, const char *what, const struct buf *sql,
    uint64_t *matched, struct err *e)
{
	int64_t	began = begins_at(db);
	int	rc = exec(db, what, sql, matched, e);

	observed(db, what, began);
	return rc;
}

void
db_rollback(struct db *db)
{
	static const char	sql[] = "ROLLBACK";
	enum db_fault		fault = db->fault;
	struct err		e;

	if (db->mysql != NULL && ask(db, "rollback", sql, strlen(sql), &e) < 0)
		db_close(db);
	db->fault = fault;
}

struct db_rows *
db_query(struct db *db, const char *what, const struct buf *sql, struct err *e)
{
	struct db_rows	*rows;
	MYSQL_RES	*res = NULL;
	int64_t		 began = begins_at(db);
	int		 rc = exec(db, what, sql, NULL, e);

	if (rc == 0)
		res = mysql_store_result(db->mysql);
	observed(db, what, began);
	if (rc < 0)
		return NULL;
	if (res == NULL) {
		db_fail(db, what, e);
		if (db->code == 0)
			err_set(e, "%s: the server sent no rows, not even "
			    "none: is that a proxy?", what);
		return NULL;
	}
	rows = xcalloc(1, sizeof(*rows));
	rows->res = res;
	return rows;
}

bool
db_next(struct db_rows *rows)
{
	rows->row = mysql_fetch_row(rows->res);
	if (rows->row == NULL)
		return false;
	rows->lengths = mysql_fetch_lengths(rows->res);
	return true;
}

void
db_rewind(struct db_rows *rows)
{
	mysql_data_seek(rows->res, 0);
}

size_t
db_nrows(const struct db_rows *rows)
{
	return (size_t)mysql_num_rows(rows->res);
}

const char *
db_nullable(const struct db_rows *rows, unsigned col)
{
	return rows->row == NULL || col >= mysql_num_fields(rows->res) ? NULL :
	    rows->row[col];
}

const char *
db_text(const struct db_rows *rows, unsigned col)
{
	const char	*text = db_nullable(rows, col);

	return text == NULL ? "" : text;
}

size_t
db_length(const struct db_rows *rows, unsigned col)
{
	return db_nullable(rows, col) == NULL ? 0 : rows->lengths[col];
}

uint64_t
db_u64(const struct db_rows *rows, unsigned col)
{
	return strtoull(db_text(rows, col), NULL, 10);
}

int
db_column(const struct db_rows *rows, const char *name)
{
	unsigned	 n = mysql_num_fields(rows->res);
	MYSQL_FIELD	*fields = mysql_fetch_fields(rows->res);

	for (unsigned i = 0; i < n; i++)
		if (strcasecmp(fields[i].name, name) == 0)
			return (int)i;
	return -1;
}

void
db_rows_free(struct db_rows *rows)
{
	if (rows == NULL)
		return;
	mysql_free_result(rows->res);
	free(rows);
}

void
db_quote(struct db *db, struct buf *b, const char *text, size_t len)
{
	bool	 plain = utf8_is_valid(text, len);
	char	*to;

	if (db->mysql == NULL)	/* the statement will not be sent either */
		return;
	/* Other bytes might be refused as quoted text; it may follow a word. */
	buf_str(b, plain ? "'" : " x'");
	to = buf_reserve(b, len * 2 + 1);
	b->len += plain ? mysql_real_escape_string(db->mysql, to, text, len) :
	    mysql_hex_string(to, text, len);
	buf_str(b, "'");
}

void
db_name(struct buf *b, const char *name)
{
	buf_str(b, "`");
	for (; *name != '\0'; name++)
		buf_add(b, *name == '`' ? "``" : name, *name == '`' ? 2 : 1);
	buf_str(b, "`");
}

char *
db_named(const char *name)
{
	struct buf	b = { 0 };

	db_name(&b, name);
	return b.data;
}
