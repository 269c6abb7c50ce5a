/*
 * db.c - the client library, kept in one room
 *
 * Oracle's libmysqlclient and MariaDB's Connector/C differ in TLS options and
 * in what they make of a character set; nothing of that leaves this file.
 * How they follow a binlog is in binlog.c.
 */

#include "mysql/db_impl.h"

#include <errmsg.h>
#include <mysqld_error.h>

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <bsd/string.h>

#include "util/fault.h"
#include "util/secret.h"
#include "util/utf8.h"
#include "util/xalloc.h"

/* Codes that one of the two header sets lacks. */
#define FAULT_NO_SUCH_THREAD_KILLED	1927	/* MariaDB: ER_CONNECTION_KILLED */
#define FAULT_IDLE_DISCONNECT		4031	/* MySQL 8 */
#define FAULT_READ_ONLY_TRANSACTION	1792
#define FAULT_READ_ONLY_MODE		1836
#define FAULT_WSREP_NOT_READY		1047
#define FAULT_CHECKREAD			1020	/* MariaDB: record has changed */

#define CONNECT_TIMEOUT_S	2

/* The servers' own limit: what they could store can be fetched. */
#define MAX_PACKET		(1024 * 1024 * 1024UL)

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
	{ ER_CON_COUNT_ERROR, DB_LOST },
	{ ER_SERVER_SHUTDOWN, DB_LOST },
	{ FAULT_NO_SUCH_THREAD_KILLED, DB_LOST },
	{ FAULT_IDLE_DISCONNECT, DB_LOST },
	{ ER_OPTION_PREVENTS_STATEMENT, DB_READONLY },
	{ FAULT_READ_ONLY_TRANSACTION, DB_READONLY },
	{ FAULT_READ_ONLY_MODE, DB_READONLY },
	{ FAULT_WSREP_NOT_READY, DB_READONLY },
};

static enum db_fault
classify(unsigned code)
{
	/* 2000..2999 are the client's own: whatever it was, hang up. */
	if (code >= CR_MIN_ERROR && code < 3000)
		return DB_LOST;
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		if (faults[i].code == code)
			return faults[i].fault;
	return DB_WRONG;
}

int
db_fail(struct db *db, const char *what, struct err *e)
{
	unsigned	code = mysql_errno(db->mysql);

	db->fault = classify(code);
	db->code = code;
	memcpy(db->state, mysql_sqlstate(db->mysql), sizeof(db->state));
	err_set(e, "%s: %s (%u)", what, mysql_error(db->mysql), code);
	if (db->fault == DB_LOST || db->fault == DB_READONLY)
		db_close(db);
	return -1;
}

struct db *
db_new(const struct conf *conf, int64_t wait_ms)
{
	struct db	*db = xcalloc(1, sizeof(*db));

	db->conf = conf;
	db->wait_ms = wait_ms < 2000 ? 2000 : wait_ms;
	return db;
}

void
db_free(struct db *db)
{
	if (db == NULL)
		return;
	db_close(db);
	free(db);
}

void
db_close(struct db *db)
{
	if (db->mysql != NULL)
		mysql_close(db->mysql);
	db->mysql = NULL;
	db->many = db->committing = false;
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

bool
db_is_mariadb(const struct db *db)
{
	return db->mariadb;
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
	/* Data exceptions, violations of constraints, what a trigger says. */
	return memcmp(db->state, "22", 2) == 0 ||
	    memcmp(db->state, "23", 2) == 0 || memcmp(db->state, "45", 2) == 0;
}

static void
set_limits(struct db *db)
{
	unsigned	connect_s = CONNECT_TIMEOUT_S;
	unsigned	wait_s = (unsigned)(db->wait_ms / 1000);
	unsigned long	max_packet = MAX_PACKET;

	mysql_options(db->mysql, MYSQL_OPT_CONNECT_TIMEOUT, &connect_s);
	mysql_options(db->mysql, MYSQL_OPT_READ_TIMEOUT, &wait_s);
	mysql_options(db->mysql, MYSQL_OPT_WRITE_TIMEOUT, &wait_s);
	mysql_options(db->mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
	mysql_options(db->mysql, MYSQL_OPT_MAX_ALLOWED_PACKET, &max_packet);
}

/* To the libraries "localhost" means a socket of their own choice. */
static void
set_protocol(struct db *db, bool tcp)
{
	unsigned	protocol = tcp ? MYSQL_PROTOCOL_TCP :
			    MYSQL_PROTOCOL_SOCKET;

	mysql_options(db->mysql, MYSQL_OPT_PROTOCOL, &protocol);
}

static bool
is_loopback(const char *host)
{
	return strcasecmp(host, "localhost") == 0 || strcmp(host, "::1") == 0 ||
	    strncmp(host, "127.", 4) == 0;
}

static enum conf_tls
effective_tls(const struct conf *conf, const char *host)
{
	if (conf->mysql.tls.mode != TLS_AUTO)
		return (enum conf_tls)conf->mysql.tls.mode;
	return host == NULL || is_loopback(host) ? TLS_DISABLE : TLS_VERIFY;
}

static const char *
or_null(const char *s)
{
	return s[0] == '\0' ? NULL : s;
}

static void
set_tls(struct db *db, enum conf_tls tls)
{
	const struct conf	*c = db->conf;

	if (tls != TLS_DISABLE)
		mysql_ssl_set(db->mysql, or_null(c->mysql.tls.key),
		    or_null(c->mysql.tls.cert), or_null(c->mysql.tls.ca), NULL,
		    NULL);
#ifdef LIBMARIADB
	my_bool	enforce = tls != TLS_DISABLE, verify = tls == TLS_VERIFY;

	mysql_options(db->mysql, MYSQL_OPT_SSL_ENFORCE, &enforce);
	mysql_options(db->mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
#else
	unsigned	mode = tls == TLS_DISABLE ? SSL_MODE_DISABLED :
	    tls == TLS_VERIFY ? SSL_MODE_VERIFY_IDENTITY : SSL_MODE_REQUIRED;
	bool		ask_key = true;	/* else caching_sha2 fails without TLS */

	mysql_options(db->mysql, MYSQL_OPT_SSL_MODE, &mode);
	mysql_options(db->mysql, MYSQL_OPT_GET_SERVER_PUBLIC_KEY, &ask_key);
#endif
}

/* "host", "host:port", "[v6]:port"; the configuration has checked it. */
static unsigned
split_host(const char *text, char *host, size_t size)
{
	const char	*colon = strrchr(text, ':');
	const char	*end = text + strlen(text);
	unsigned	 port = 3306;

	if (colon != NULL && strchr(text, ':') == colon)
		end = colon;
	if (text[0] == '[') {
		end = strchr(++text, ']');
		colon = end != NULL && end[1] == ':' ? end + 1 : NULL;
		if (end == NULL)
			end = text + strlen(text);
	} else if (end != colon) {
		colon = NULL;
	}
	if (colon != NULL)
		port = (unsigned)strtoul(colon + 1, NULL, 10);
	if ((size_t)(end - text) >= size)
		end = text + size - 1;
	memcpy(host, text, (size_t)(end - text));
	host[end - text] = '\0';
	return port;
}

static int
log_in(struct db *db, const char *host, unsigned port, const char *socket,
    struct err *e)
{
	const struct conf	*c = db->conf;
	char			*password;
	MYSQL			*ok;

	password = secret_read(c->mysql.password_file, c->mysql.password_env, e);
	if (password == NULL) {
		db->fault = DB_WRONG;
		return err_in(e, "mysql password");
	}
	ok = mysql_real_connect(db->mysql, host, c->mysql.user, password,
	    c->mysql.database, port, socket, CLIENT_FOUND_ROWS);
	secret_free(password);
	if (ok == NULL)
		return db_fail(db, "connect", e);
	return 0;
}

/* The one place where a statement goes out and the head of its answer in. */
static int
ask(struct db *db, const char *what, const char *sql, size_t len,
    struct err *e)
{
	if (db_finish(db, e) < 0)
		return -1;
	fault_instead(what, &sql, &len);
	fault_point(what, "before", db->mysql->net.fd);
	if (mysql_send_query(db->mysql, sql, len) != 0)
		return db_fail(db, what, e);
	fault_point(what, "sent", db->mysql->net.fd);
	if (mysql_read_query_result(db->mysql) != 0)
		return db_fail(db, what, e);
	fault_point(what, "after", db->mysql->net.fd);
	return 0;
}

static int
run(struct db *db, const char *what, const char *sql, struct err *e)
{
	return ask(db, what, sql, strlen(sql), e);
}

/* A wait for a lock has to end before the read of its answer does. */
static int64_t
lock_wait_s(const struct db *db)
{
	return db->wait_ms / 2000 < 1 ? 1 : db->wait_ms / 2000;
}

int
db_hurry(struct db *db, bool hurry, struct err *e)
{
	struct buf	sql = { 0 };
	int		rc;

	buf_printf(&sql, "SET SESSION innodb_lock_wait_timeout = %lld",
	    hurry ? 1LL : (long long)lock_wait_s(db));
	rc = db_exec(db, "session", &sql, NULL, e);
	buf_free(&sql);
	return rc;
}

/*
 * UTC, because the tables hold moments; READ COMMITTED, because claims at
 * REPEATABLE READ deadlock with producers' inserts; short lock waits, because
 * no wait may outlive the next lease renewal.
 */
static int
set_session(struct db *db, struct err *e)
{
	struct buf	sql = { 0 };
	int64_t		wait_s = lock_wait_s(db);
	int		rc;

	buf_printf(&sql, "SET SESSION time_zone = '+00:00', autocommit = 1, "
	    "completion_type = 0, "
	    "sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION', "
	    "innodb_lock_wait_timeout = %lld, lock_wait_timeout = %lld",
	    (long long)wait_s, (long long)wait_s);
	if (db->mariadb)	/* or long IN lists become a join */
		buf_str(&sql, ", in_predicate_conversion_threshold = 0");
	rc = run(db, "session", sql.data, e);
	buf_free(&sql);
	/*
	 * Once more: asked for a collation that MariaDB does not know, as
	 * Oracle's library does when it connects, it stays with latin1.
	 */
	if (rc == 0 && mysql_set_character_set(db->mysql, "utf8mb4") != 0)
		rc = db_fail(db, "session", e);
	if (rc == 0)
		rc = run(db, "session", "SET SESSION TRANSACTION ISOLATION "
		    "LEVEL READ COMMITTED", e);
	return rc;
}

static int
refuse(struct db *db, enum db_fault fault, struct err *e, const char *why)
{
	db->fault = fault;
	return err_set(e, "%s", why);
}

static int
check_variable(struct db *db, const char *name, const char *value, bool binlog,
    struct err *e)
{
	if (strcmp(name, "binlog_format") == 0) {
		if (binlog && strcasecmp(value, "STATEMENT") == 0)
			return refuse(db, DB_WRONG, e, "binlog_format=STATEMENT"
			    " cannot log READ COMMITTED: set it to ROW or MIXED");
		return 0;
	}
	if (strstr(name, "read_only") != NULL && strcasecmp(value, "OFF") != 0)
		return refuse(db, DB_READONLY, e,
		    "the server is read-only: not a primary");
	if (strstr(name, "isolation") != NULL &&
	    strcasecmp(value, "READ-COMMITTED") != 0)
		return refuse(db, DB_WRONG, e,
		    "the session did not become READ COMMITTED");
	return 0;
}

static int
check_server(struct db *db, struct err *e)
{
	struct buf	 sql = { 0 };
	struct db_rows	*rows;
	bool		 binlog = false;
	int		 rc = 0;

	buf_str(&sql, "SHOW SESSION VARIABLES WHERE Variable_name IN "
	    "('binlog_format', 'read_only', 'super_read_only', "
	    "'innodb_read_only', 'tx_isolation', 'transaction_isolation', "
	    DB_EARLY_VARIABLES ")");
	rows = db_query(db, "session", &sql, e);
	buf_free(&sql);
	if (rows == NULL)
		return -1;
	while (db_next(rows))
		if (strcmp(db_text(rows, 0), "log_bin") == 0)
			binlog = strcasecmp(db_text(rows, 1), "ON") == 0;
	db_learn_early(db, rows);
	db_rewind(rows);
	while (rc == 0 && db_next(rows))
		rc = check_variable(db, db_text(rows, 0), db_text(rows, 1),
		    binlog, e);
	db_rows_free(rows);
	return rc;
}

int
db_check(struct db *db, struct err *e)
{
	int	rc = check_server(db, e);

	if (rc < 0)
		db_close(db);
	return rc;
}

static int
check_cipher(struct db *db, enum conf_tls tls, struct err *e)
{
	/* Connector/C has been seen to go on in clear text. */
	if (tls != TLS_DISABLE && mysql_get_ssl_cipher(db->mysql) == NULL)
		return refuse(db, DB_WRONG, e, "the server offers no TLS "
		    "and mysql.tls.mode asks for it");
	return 0;
}

static int
greet(struct db *db, enum conf_tls tls, struct err *e)
{
	db->mariadb = strcasestr(mysql_get_server_info(db->mysql),
	    "mariadb") != NULL;
	if (check_cipher(db, tls, e) < 0 || set_session(db, e) < 0 ||
	    check_server(db, e) < 0)
		return -1;
	return 0;
}

int
db_open(struct db *db, struct err *e)
{
	const struct conf_list	*hosts = &db->conf->mysql.hosts;
	const char		*socket = or_null(db->conf->mysql.socket);
	char			 host[256];
	unsigned		 port = 0;
	enum conf_tls		 tls;

	db_close(db);
	db->fault = DB_FINE;
	if (socket == NULL) {
		const char *next = hosts->items[db->next_host++ % hosts->n];

		port = split_host(next, host, sizeof(host));
		strlcpy(db->peer, next, sizeof(db->peer));
	} else
		strlcpy(db->peer, socket, sizeof(db->peer));
	if ((db->mysql = mysql_init(NULL)) == NULL)
		abort();
	tls = effective_tls(db->conf, socket == NULL ? host : NULL);
	set_protocol(db, socket == NULL);
	set_limits(db);
	set_tls(db, tls);
	if (log_in(db, socket == NULL ? host : NULL, port, socket, e) < 0 ||
	    greet(db, tls, e) < 0) {
		db_close(db);
		return err_in(e, "mysql %s", db->peer);
	}
	db->next_host = 0;	/* the first that works is the one wanted */
	return 0;
}

int
db_exec(struct db *db, const char *what, const struct buf *sql,
    uint64_t *matched, struct err *e)
{
	db->fault = DB_CLOSED;
	db->code = 0;
	if (db->mysql == NULL)
		return err_set(e, "%s: not connected", what);
	if (ask(db, what, sql->data, sql->len, e) < 0)
		return -1;
	if (matched != NULL)
		*matched = mysql_affected_rows(db->mysql);
	db->fault = DB_FINE;
	return 0;
}

void
db_rollback(struct db *db)
{
	enum db_fault	fault = db->fault;
	struct err	e;

	if (db->mysql != NULL && run(db, "rollback", "ROLLBACK", &e) < 0)
		db_close(db);
	db->fault = fault;
}

struct db_rows *
db_query(struct db *db, const char *what, const struct buf *sql, struct err *e)
{
	struct db_rows	*rows;
	MYSQL_RES	*res;

	if (db_exec(db, what, sql, NULL, e) < 0)
		return NULL;
	if ((res = mysql_store_result(db->mysql)) == NULL) {
		db_fail(db, what, e);
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
db_text(const struct db_rows *rows, unsigned col)
{
	return rows->row[col];
}

size_t
db_length(const struct db_rows *rows, unsigned col)
{
	return rows->lengths[col];
}

uint64_t
db_u64(const struct db_rows *rows, unsigned col)
{
	return rows->row[col] == NULL ? 0 : strtoull(rows->row[col], NULL, 10);
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

/* Bytes that are no text of the connection: as it is, it may be refused. */
static void
put_binary(struct buf *b, const char *data, size_t len)
{
	char	*to;

	buf_str(b, " x'");	/* it may follow a word */
	to = buf_reserve(b, 2 * len + 1);
	b->len += mysql_hex_string(to, data, len);
	buf_str(b, "'");
}

void
db_quote(struct db *db, struct buf *b, const char *text, size_t len)
{
	char	*to;

	if (db->mysql == NULL)	/* the statement will not be sent either */
		return;
	if (!utf8_is_valid(text, len)) {
		put_binary(b, text, len);
		return;
	}
	buf_str(b, "'");
	to = buf_reserve(b, len * 2 + 1);
	b->len += mysql_real_escape_string(db->mysql, to, text, len);
	buf_str(b, "'");
}

void
db_name(struct buf *b, const char *name)
{
	/* The configuration allows no backtick in a name. */
	buf_printf(b, "`%s`", name);
}
