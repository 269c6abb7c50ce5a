/*
 * db_open.c - connect: choose a host, log in, prepare the session
 *
 * For the session's variables see db_session.c, for TLS db_tls.c.
 */

#include "mysql/db_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <bsd/stdlib.h>
#include <bsd/string.h>

#include "util/secret.h"

#define CONNECT_TIMEOUT_S	2

/* The servers' own limit: all that they could store can be fetched. */
#define MAX_PACKET		(1024 * 1024 * 1024UL)

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

bool
db_uses_tls(const struct conf *conf)
{
	const struct conf_list	*hosts = &conf->mysql.hosts;
	char			 host[256];

	if (conf->mysql.socket[0] != '\0')
		return false;
	for (size_t i = 0; i < hosts->n; i++) {
		split_host(hosts->items[i], host, sizeof(host));
		if (db_tls(conf, host) == TLS_DISABLE)
			return false;
	}
	return true;
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

static int
refuse_server(struct db *db, enum db_fault fault, struct err *e,
    const char *why)
{
	db->fault = fault;
	return err_set(e, "%s", why);
}

/* A greeting may be a proxy's, and of another kind of server. */
static void
learn_version(struct db *db, const char *text)
{
	unsigned long	 major, minor, patch = 0;
	char		*end;

	major = strtoul(text, &end, 10);
	if (*end != '.')
		return;
	minor = strtoul(end + 1, &end, 10);
	if (*end == '.')
		patch = strtoul(end + 1, NULL, 10);
	db->mariadb = strcasestr(text, "mariadb") != NULL;
	db->version = (unsigned)(major * 10000 + minor * 100 + patch);
}

static struct db_rows *
ask(struct db *db, const char *text, struct err *e)
{
	struct buf	 sql = { 0 };
	struct db_rows	*rows;

	buf_str(&sql, text);
	rows = db_query(db, "session", &sql, e);
	buf_free(&sql);
	return rows;
}

static struct db_rows *
show_variables(struct db *db, struct err *e)
{
	struct buf	 sql = { 0 };
	struct db_rows	*rows;

	buf_str(&sql, "SHOW SESSION VARIABLES WHERE Variable_name IN "
	    "('version', 'binlog_format', 'read_only', 'super_read_only', "
	    "'innodb_read_only', 'wsrep_provider', 'log_bin', ");
	db_put_variables(&sql);
	buf_str(&sql, ")");
	rows = ask(db, sql.data, e);
	buf_free(&sql);
	return rows;
}

/*
 * A Galera node that is cut off from its cluster answers SHOW and SET, but 1047
 * to statements on tables: its cluster is asked for.
 */
static int
judge_server(struct db *db, struct db_rows *rows, struct err *e)
{
	bool	binlog = false, cluster = false, statement = false;
	bool	readonly = false, ready;

	db_rewind(rows);
	while (db_next(rows)) {
		const char *name = db_text(rows, 0), *value = db_text(rows, 1);

		if (strcmp(name, "version") == 0)
			learn_version(db, value);
		else if (strcmp(name, "log_bin") == 0)
			binlog = strcasecmp(value, "ON") == 0;
		else if (strcmp(name, "wsrep_provider") == 0)
			cluster = strcmp(value, "none") != 0;
		else if (strcmp(name, "binlog_format") == 0)
			statement = strcasecmp(value, "STATEMENT") == 0;
		else if (strstr(name, "read_only") != NULL)
			readonly |= strcasecmp(value, "OFF") != 0;
	}
	if (binlog && statement)
		return refuse_server(db, DB_WRONG, e,
		    "binlog_format=STATEMENT cannot log READ COMMITTED: "
		    "set it to ROW or MIXED");
	if (readonly)
		return refuse_server(db, DB_READONLY, e,
		    "the server is read-only: not a primary");
	if (!cluster)
		return 0;
	if ((rows = ask(db, "SHOW GLOBAL STATUS LIKE 'wsrep_ready'",
	    e)) == NULL)
		return -1;
	ready = !db_next(rows) || strcasecmp(db_text(rows, 1), "ON") == 0;
	db_rows_free(rows);
	return ready ? 0 : refuse_server(db, DB_READONLY, e, "wsrep_ready is "
	    "not ON: the node is cut off from its cluster, or joins it");
}

/* fresh: the session's variables may still be set. */
static int
ask_server(struct db *db, bool fresh, struct err *e)
{
	struct db_rows	*rows = show_variables(db, e);
	bool		 mended = false;
	int		 rc = rows == NULL ? -1 : 0;

	if (rc == 0 && fresh)
		rc = db_mend_session(db, rows, &mended, e);
	if (rc == 0 && mended) {
		db_rows_free(rows);
		rows = show_variables(db, e);
		rc = rows == NULL ? -1 : 0;
	}
	if (rc == 0 && (rc = db_check_session(db, rows, e)) == 0)
		rc = judge_server(db, rows, e);
	db_rows_free(rows);
	if (rc < 0)
		return -1;
	/*
	 * The one answer that a proxy passes on: its greeting, and its
	 * variables, may be of another kind of server.  Without it these have
	 * to do.
	 */
	if ((rows = ask(db, "SELECT VERSION()", e)) == NULL)
		return db->mysql == NULL ? -1 : 0;
	if (db_next(rows))
		learn_version(db, db_text(rows, 0));
	db_rows_free(rows);
	return 0;
}

int
db_check(struct db *db, struct err *e)
{
	int	rc = ask_server(db, false, e);

	if (rc < 0)
		db_close(db);
	if (rc < 0 && db->fault == DB_READONLY)
		db->next_host = db->host + 1;
	return rc;
}

int
db_open(struct db *db, struct err *e)
{
	const struct conf_list	*hosts = &db->conf->mysql.hosts;
	const char		*socket = db->conf->mysql.socket[0] == '\0' ?
				    NULL : db->conf->mysql.socket;
	char			 name[256];
	const char		*host = socket == NULL ? name : NULL;
	/* To the libraries "localhost" means a socket of their own choice. */
	unsigned		 protocol = socket == NULL ?
				    MYSQL_PROTOCOL_TCP : MYSQL_PROTOCOL_SOCKET;
	unsigned		 connect_s = CONNECT_TIMEOUT_S;
	unsigned		 wait_s = (unsigned)(db->wait_ms / 1000);
	unsigned long		 max_packet = MAX_PACKET;
	unsigned		 no_files = 0;	/* or it may ask for any file */
	unsigned		 port = 0;
	int			 rc = -1;

	db_close(db);
	db->asked_at = 0;
	db->fault = DB_FINE;
	if (socket == NULL) {
		db->host = db->next_host++ % hosts->n;
		port = split_host(hosts->items[db->host], name, sizeof(name));
		strlcpy(db->peer, hosts->items[db->host], sizeof(db->peer));
	} else
		strlcpy(db->peer, socket, sizeof(db->peer));
	if ((db->mysql = mysql_init(NULL)) == NULL)
		abort();
	mysql_options(db->mysql, MYSQL_OPT_PROTOCOL, &protocol);
	mysql_options(db->mysql, MYSQL_OPT_CONNECT_TIMEOUT, &connect_s);
	mysql_options(db->mysql, MYSQL_OPT_READ_TIMEOUT, &wait_s);
	mysql_options(db->mysql, MYSQL_OPT_WRITE_TIMEOUT, &wait_s);
	mysql_options(db->mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
	mysql_options(db->mysql, MYSQL_OPT_MAX_ALLOWED_PACKET, &max_packet);
	mysql_options(db->mysql, MYSQL_OPT_LOCAL_INFILE, &no_files);
	if (db_set_tls(db, host, e) == 0 &&
	    log_in(db, host, port, socket, e) == 0) {
		learn_version(db, mysql_get_server_info(db->mysql));
		/* Connector/C has been seen to go on in clear text. */
		if (db_tls(db->conf, host) != TLS_DISABLE &&
		    mysql_get_ssl_cipher(db->mysql) == NULL)
			refuse_server(db, DB_WRONG, e, "the server offers no "
			    "TLS, but mysql.tls.mode needs it");
		else if (db_set_session(db, e) == 0)
			rc = ask_server(db, true, e);
	}
	if (rc < 0) {
		db_close(db);
		return err_in(e, "mysql %s", db->peer);
	}
	db->next_host = 0;	/* begin with the first host next time */
	return 0;
}
