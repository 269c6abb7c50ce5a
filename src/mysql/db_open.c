/*
 * db_open.c - connect: choose a host, log in, prepare the session
 *
 * One rule for all: a round tries each host of the list without a pause, and
 * the first one that passes is used.  To pass is to log in, to have the
 * variables set, to be a primary, and to pass the owner's own test, which a
 * worker makes of the statement that registers it: a server may let everybody in
 * and block what they write.  A node that is not Synced, or a host that was
 * demoted, is used if no other one passes.
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
#include "util/xalloc.h"

#define NODE_SYNCED		4	/* wsrep_local_state */

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

unsigned
db_port(const char *host)
{
	char	name[256];

	return split_host(host, name, sizeof(name));
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
	if (db->any && fault == DB_READONLY)
		return 0;
	db->fault = fault;
	return err_set(e, "%s", why);
}

/* Without a shard a statement would go to all of them, or to none. */
static int
learn_vtgate(struct db *db, struct err *e)
{
	db->vtgate = strstr(mysql_get_server_info(db->mysql), "Vitess") != NULL;
	if (db->vtgate && strchr(db->conf->mysql.database, ':') == NULL)
		return refuse_server(db, DB_WRONG, e, "this is Vitess' vtgate: "
		    "mysql.database must name one shard, as ks:-80@primary");
	return 0;
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
 * to statements on tables: its cluster is asked for.  A donor of a state
 * transfer is ready, too, and may block all that is written: db->unsynced.
 */
static int
judge_node(struct db *db, struct err *e)
{
	struct db_rows	*rows = ask(db, "SHOW GLOBAL STATUS WHERE Variable_name "
			    "IN ('wsrep_ready', 'wsrep_local_state')", e);
	bool		 ready = true;

	if (rows == NULL)
		return -1;
	while (db_next(rows)) {
		if (strcasecmp(db_text(rows, 0), "wsrep_ready") == 0)
			ready = strcasecmp(db_text(rows, 1), "ON") == 0;
		else
			db->unsynced = db_u64(rows, 1) != NODE_SYNCED;
	}
	db_rows_free(rows);
	return ready ? 0 : refuse_server(db, DB_READONLY, e, "wsrep_ready is "
	    "not ON: the node is cut off from its cluster, or joins it");
}

static int
judge_server(struct db *db, struct db_rows *rows, struct err *e)
{
	bool	binlog = false, cluster = false, statement = false;
	bool	readonly = false;

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
	return cluster ? judge_node(db, e) : 0;
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

	if (rc < 0 && db->fault == DB_READONLY)
		db_leave(db);
	else if (rc < 0)
		db_close(db);
	return rc;
}

static size_t
nhosts(const struct db *db)
{
	return db->conf->mysql.socket[0] != '\0' ? 1 : db->conf->mysql.hosts.n;
}

static int
connect_to(struct db *db, size_t i, struct err *e)
{
	const char	*socket = db->conf->mysql.socket[0] == '\0' ?
			    NULL : db->conf->mysql.socket;
	char		 name[256];
	const char	*host = socket == NULL ? name : NULL;
	/* To the libraries "localhost" means a socket of their own choice. */
	unsigned	 protocol = socket == NULL ?
			    MYSQL_PROTOCOL_TCP : MYSQL_PROTOCOL_SOCKET;
	unsigned	 connect_s = nhosts(db) > 1 ? 1 : 2;
	unsigned	 wait_s = (unsigned)(db->wait_ms / 1000);
	unsigned long	 max_packet = MAX_PACKET;
	unsigned	 no_files = 0;	/* or it may ask for any file */
	unsigned	 port = 0;

	db->host = i;
	db->fault = DB_FINE;
	db->unsynced = false;
	strlcpy(db->peer, socket != NULL ? socket :
	    db->conf->mysql.hosts.items[i], sizeof(db->peer));
	if (socket == NULL)
		port = split_host(db->peer, name, sizeof(name));
	if ((db->mysql = mysql_init(NULL)) == NULL)
		abort();
	mysql_options(db->mysql, MYSQL_OPT_PROTOCOL, &protocol);
	mysql_options(db->mysql, MYSQL_OPT_CONNECT_TIMEOUT, &connect_s);
	mysql_options(db->mysql, MYSQL_OPT_READ_TIMEOUT, &wait_s);
	mysql_options(db->mysql, MYSQL_OPT_WRITE_TIMEOUT, &wait_s);
	mysql_options(db->mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
	mysql_options(db->mysql, MYSQL_OPT_MAX_ALLOWED_PACKET, &max_packet);
	mysql_options(db->mysql, MYSQL_OPT_LOCAL_INFILE, &no_files);
	if (db_set_tls(db, host, e) < 0 ||
	    log_in(db, host, port, socket, e) < 0)
		return -1;
	learn_version(db, mysql_get_server_info(db->mysql));
	/* Connector/C has been seen to go on in clear text. */
	if (db_tls(db->conf, host) != TLS_DISABLE &&
	    mysql_get_ssl_cipher(db->mysql) == NULL)
		return refuse_server(db, DB_WRONG, e, "the server offers no "
		    "TLS, but mysql.tls.mode needs it");
	if (learn_vtgate(db, e) < 0 || db_set_session(db, e) < 0)
		return -1;
	return ask_server(db, true, e);
}

/*
 * With other hosts to choose from, one that lets the test wait is left soon, and
 * by an error of its own: a statement that is given up may run later.
 */
static int
run_test(struct db *db, struct err *e)
{
	bool	hurry = nhosts(db) > 1;
	int	rc;

	if (db->test == NULL)
		return 0;
	db_end_abandoned(db);
	if (hurry && db_hurry(db, true, e) < 0)
		return -1;
	db->trial = hurry;
	rc = db->test(db->test_arg, e);
	db->trial = false;
	if (rc < 0 && db->fault == DB_FINE)	/* a verdict of its own */
		db->fault = DB_WRONG;
	return rc == 0 && hurry ? db_hurry(db, false, e) : rc;
}

static int
try_host(struct db *db, size_t i, bool choosy, struct err *e)
{
	int	rc = connect_to(db, i, e);

	if (rc == 0 && choosy && db->demoted[i])
		rc = refuse_server(db, DB_READONLY, e, "it lacks events of "
		    "messages in the stream");
	else if (rc == 0 && choosy && db->unsynced)
		rc = refuse_server(db, DB_READONLY, e, "the node is not "
		    "Synced: a donor of a state transfer, or desynced");
	if (rc < 0)
		err_in(e, "mysql %s", db->peer);
	else if ((rc = run_test(db, e)) < 0 && nhosts(db) > 1)
		err_in(e, "mysql %s", db->peer);
	if (rc < 0)
		db_close(db);
	return rc;
}

/* The hosts that were tried, each with its reason, in the order of the list. */
static void
put_reasons(const struct err *reasons, size_t n, struct err *e)
{
	size_t	used = 0;
	int	max = (int)(sizeof(e->text) / n) - 2;

	e->text[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		struct err	all = *e;

		if (reasons[i].text[0] == '\0')
			continue;
		err_set(e, "%s%s%.*s", all.text, used++ == 0 ? "" : "; ",
		    max, reasons[i].text);
	}
}

int
db_open(struct db *db, struct err *e)
{
	size_t		 n = nhosts(db), first = db->first % n, i = first;
	struct err	*reasons = xcalloc(n, sizeof(*reasons));
	bool		*spare = xcalloc(n, sizeof(*spare)), choosy;
	enum db_fault	 fault = DB_WRONG;
	int		 rc = -1;

	db_close(db);
	/* All hosts, then those that only a better one would be taken for. */
	for (size_t k = 0; rc < 0 && k < 2 * n; k++) {
		i = (first + k) % n;
		if (k >= n && !spare[i])
			continue;
		choosy = n > 1 && k < n && !(db->preferred && k == 0);
		rc = try_host(db, i, choosy, &reasons[i]);
		spare[i] = choosy && (db->unsynced || db->demoted[i]);
		if (rc < 0 && db->fault < fault)
			fault = db->fault;
	}
	db->preferred = false;
	db->first = rc == 0 ? i : first;
	if (rc == 0)
		reasons[i].text[0] = '\0';
	else
		db->fault = fault;
	put_reasons(reasons, n, rc == 0 ? &db->passed_over : e);
	free(reasons);
	free(spare);
	return rc;
}
