/*
 * db_open.c - connect: choose a host, log in, prepare the session
 *
 * Oracle's libmysqlclient and MariaDB's Connector/C differ in the handling of
 * character sets: see set_session().  For TLS see db_tls.c.
 */

#include "mysql/db_impl.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <bsd/stdlib.h>
#include <bsd/string.h>

#include "util/secret.h"

#define CONNECT_TIMEOUT_S	2

/* The servers' own limit: all that they could store can be fetched. */
#define MAX_PACKET		(1024 * 1024 * 1024UL)

static void
set_options(struct db *db, bool tcp)
{
	/* To the libraries "localhost" means a socket of their own choice. */
	unsigned	protocol = tcp ? MYSQL_PROTOCOL_TCP :
			    MYSQL_PROTOCOL_SOCKET;
	unsigned	connect_s = CONNECT_TIMEOUT_S;
	unsigned	wait_s = (unsigned)(db->wait_ms / 1000);
	unsigned long	max_packet = MAX_PACKET;
	unsigned	no_files = 0;	/* or a server may ask for any file */

	mysql_options(db->mysql, MYSQL_OPT_PROTOCOL, &protocol);
	mysql_options(db->mysql, MYSQL_OPT_CONNECT_TIMEOUT, &connect_s);
	mysql_options(db->mysql, MYSQL_OPT_READ_TIMEOUT, &wait_s);
	mysql_options(db->mysql, MYSQL_OPT_WRITE_TIMEOUT, &wait_s);
	mysql_options(db->mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
	mysql_options(db->mysql, MYSQL_OPT_MAX_ALLOWED_PACKET, &max_packet);
	mysql_options(db->mysql, MYSQL_OPT_LOCAL_INFILE, &no_files);
}

static const char *
or_null(const char *s)
{
	return s[0] == '\0' ? NULL : s;
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
		port = (unsigned)strtonum(colon + 1, 1, 65535, NULL);
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
	if (ok == NULL) {
		db_fail(db, "connect", e);
		return db_explain_login(db, host, e);
	}
	return 0;
}

/* A wait for a lock has to end before the timeout of its answer. */
static int64_t
lock_wait_s(const struct db *db)
{
	return db->wait_ms / 2000 < 1 ? 1 : db->wait_ms / 2000;
}

int
db_hurry(struct db *db, bool hurry, struct err *e)
{
	struct buf	sql = { 0 };
	enum db_fault	fault = db->fault;
	unsigned	code = db->code;
	int		rc;

	buf_printf(&sql, "SET SESSION innodb_lock_wait_timeout = %lld",
	    hurry ? 1LL : (long long)lock_wait_s(db));
	rc = db_exec(db, "session", &sql, NULL, e);
	buf_free(&sql);
	if (rc == 0) {
		db->fault = fault;
		db->code = code;
	}
	return rc;
}

/*
 * UTC, because the tables hold TIMESTAMPs; READ COMMITTED, because claims at
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
	rc = db_exec(db, "session", &sql, NULL, e);
	/*
	 * Once more: Oracle's library asks for a collation when it connects,
	 * and if MariaDB does not know it, the session stays with latin1.
	 */
	if (rc == 0 && mysql_set_character_set(db->mysql, "utf8mb4") != 0)
		rc = db_fail(db, "session", e);
	buf_clear(&sql);
	buf_str(&sql, "SET SESSION TRANSACTION ISOLATION LEVEL READ "
	    "COMMITTED");
	if (rc == 0)
		rc = db_exec(db, "session", &sql, NULL, e);
	buf_free(&sql);
	return rc;
}

static int
refuse_server(struct db *db, enum db_fault fault, struct err *e,
    const char *why)
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
			return refuse_server(db, DB_WRONG, e,
			    "binlog_format=STATEMENT cannot log READ COMMITTED: "
			    "set it to ROW or MIXED");
		return 0;
	}
	if (strstr(name, "read_only") != NULL && strcasecmp(value, "OFF") != 0)
		return refuse_server(db, DB_READONLY, e,
		    "the server is read-only: not a primary");
	if (strstr(name, "isolation") != NULL &&
	    strcasecmp(value, "READ-COMMITTED") != 0)
		return refuse_server(db, DB_WRONG, e,
		    "the session is not at READ COMMITTED although that was "
		    "set: does a proxy change it?");
	return 0;
}

/*
 * A Galera node that is cut off from its cluster answers SHOW and SET, but 1047
 * to statements on tables.
 */
static int
check_cluster(struct db *db, struct err *e)
{
	struct buf	 sql = { 0 };
	struct db_rows	*rows;
	bool		 ready;

	buf_str(&sql, "SHOW GLOBAL STATUS LIKE 'wsrep_ready'");
	rows = db_query(db, "session", &sql, e);
	buf_free(&sql);
	if (rows == NULL)
		return -1;
	ready = !db_next(rows) || strcasecmp(db_text(rows, 1), "ON") == 0;
	db_rows_free(rows);
	return ready ? 0 : refuse_server(db, DB_READONLY, e, "wsrep_ready is "
	    "not ON: the node is cut off from its cluster, or joins it");
}

static int
ask_server(struct db *db, struct err *e)
{
	struct buf	 sql = { 0 };
	struct db_rows	*rows;
	bool		 binlog = false, cluster = false;
	int		 rc = 0;

	buf_str(&sql, "SHOW SESSION VARIABLES WHERE Variable_name IN "
	    "('binlog_format', 'read_only', 'super_read_only', "
	    "'innodb_read_only', 'tx_isolation', 'transaction_isolation', "
	    "'wsrep_provider', "
	    DB_PIPELINE_VARIABLES ")");
	rows = db_query(db, "session", &sql, e);
	buf_free(&sql);
	if (rows == NULL)
		return -1;
	while (db_next(rows)) {
		if (strcmp(db_text(rows, 0), "log_bin") == 0)
			binlog = strcasecmp(db_text(rows, 1), "ON") == 0;
		if (strcmp(db_text(rows, 0), "wsrep_provider") == 0)
			cluster = strcmp(db_text(rows, 1), "none") != 0;
	}
	db_learn_pipelining(db, rows);
	db_rewind(rows);
	while (rc == 0 && db_next(rows))
		rc = check_variable(db, db_text(rows, 0), db_text(rows, 1),
		    binlog, e);
	db_rows_free(rows);
	return rc == 0 && cluster ? check_cluster(db, e) : rc;
}

int
db_check(struct db *db, struct err *e)
{
	int	rc = ask_server(db, e);

	if (rc < 0)
		db_close(db);
	if (rc < 0 && db->fault == DB_READONLY)
		db->next_host = db->host + 1;
	return rc;
}

static int
greet(struct db *db, enum conf_tls tls, struct err *e)
{
	db->mariadb = strcasestr(mysql_get_server_info(db->mysql),
	    "mariadb") != NULL;
	/* Connector/C has been seen to go on in clear text. */
	if (tls != TLS_DISABLE && mysql_get_ssl_cipher(db->mysql) == NULL)
		return refuse_server(db, DB_WRONG, e,
		    "the server offers no TLS, but mysql.tls.mode needs it");
	return set_session(db, e) < 0 ? -1 : ask_server(db, e);
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
		db->host = db->next_host++ % hosts->n;
		port = split_host(hosts->items[db->host], host, sizeof(host));
		strlcpy(db->peer, hosts->items[db->host], sizeof(db->peer));
	} else
		strlcpy(db->peer, socket, sizeof(db->peer));
	if ((db->mysql = mysql_init(NULL)) == NULL)
		abort();
	tls = db_tls(db->conf, socket == NULL ? host : NULL);
	set_options(db, socket == NULL);
	if (db_set_tls(db, socket == NULL ? host : NULL, e) < 0 ||
	    log_in(db, socket == NULL ? host : NULL, port, socket, e) < 0 ||
	    greet(db, tls, e) < 0) {
		db_close(db);
		return err_in(e, "mysql %s", db->peer);
	}
	db->next_host = 0;	/* begin with the first host next time */
	return 0;
}
