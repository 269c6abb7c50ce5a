/* lab_conn.c - connections of the laboratory, and helpers for all commands */
#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lab.h"

#define CONNECT_MS	10000

/*
 * What our statements need, whatever the server is set to.  (Comments that only
 * one of the servers reads.)
 */
#define SESSION	"SET SESSION sql_mode = 'STRICT_TRANS_TABLES', autocommit = 1, " \
		"sql_select_limit = 9223372036854775807, " \
		"sql_safe_updates = 0, sql_big_selects = 1, " \
		"sql_auto_is_null = 0, completion_type = 0, " \
		"time_zone = '+00:00' " \
		"/*M! , max_statement_time = 0, tx_read_only = 0 */ " \
		"/*!80000 , max_execution_time = 0, " \
		"transaction_read_only = 0 */"

atomic_bool	lab_stopped;

static void
on_signal(int sig)
{
	(void)sig;
	lab_stopped = true;
}

void
lab_catch_signals(void)
{
	struct sigaction	sa = { .sa_handler = on_signal };

	sigemptyset(&sa.sa_mask);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
}

int64_t
lab_now_ms(void)
{
	struct timespec	ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Sleep in short pieces, because another thread may get the signal. */
void
lab_pause(int64_t ms)
{
	int64_t		end = lab_now_ms() + ms, left;
	struct timespec	ts = { 0, 0 };

	while (!lab_stopped && (left = end - lab_now_ms()) > 0) {
		ts.tv_nsec = (left < 50 ? left : 50) * 1000000;
		nanosleep(&ts, NULL);
	}
}

void *
lab_realloc(void *p, size_t n, size_t size)
{
	if ((p = reallocarray(p, n, size)) == NULL)
		err(1, NULL);
	return p;
}

char *
lab_strdup(const char *s)
{
	char	*p = strdup(s);

	if (p == NULL)
		err(1, NULL);
	return p;
}

static const char *
password(const struct lab_opts *o)
{
	const char	*p;

	if (o->password_env == NULL)
		return NULL;
	if ((p = getenv(o->password_env)) == NULL)
		errx(1, "%s is not set", o->password_env);
	return p;
}

/* Split HOST[:PORT]; an IPv6 address with a port is [HOST]:PORT. */
static unsigned
split_host(const char *text, char *host, size_t size)
{
	const char	*from = text + (*text == '[');
	const char	*colon = strrchr(text, ':');
	size_t		 len;

	if (*text == '[') {
		len = strcspn(from, "]");
		colon = strstr(text, "]:") != NULL ? colon : NULL;
	} else {
		if (colon != NULL && strchr(text, ':') != colon)
			colon = NULL;
		len = colon != NULL ? (size_t)(colon - text) : strlen(text);
	}
	snprintf(host, size, "%.*s", (int)len, from);
	return colon != NULL ? (unsigned)strtoul(colon + 1, NULL, 10) : 0;
}

static MYSQL *
try_server(const struct lab_opts *o, const char *host, unsigned port,
    char *why)
{
	unsigned	 seconds = 10, answer = (unsigned)o->timeout;
	MYSQL		*db;

	if ((db = mysql_init(NULL)) == NULL)
		errx(1, "mysql_init: out of memory");
	if (answer > 0) {
		seconds = 2;
		mysql_options(db, MYSQL_OPT_READ_TIMEOUT, &answer);
		mysql_options(db, MYSQL_OPT_WRITE_TIMEOUT, &answer);
	}
	mysql_options(db, MYSQL_OPT_CONNECT_TIMEOUT, &seconds);
	mysql_options(db, MYSQL_SET_CHARSET_NAME, "utf8mb4");
	mysql_options(db, MYSQL_INIT_COMMAND, "SET NAMES utf8mb4");
	mysql_options(db, MYSQL_INIT_COMMAND, SESSION);
	if (mysql_real_connect(db, host, o->user, password(o), o->database,
	    port, o->socket, 0) != NULL)
		return db;
	snprintf(why, 256, "%s", mysql_error(db));
	mysql_close(db);
	return NULL;
}

/* The last column of the first row is this. */
static bool
answers(MYSQL *db, const char *sql, const char *text)
{
	MYSQL_RES	*res = NULL;
	MYSQL_ROW	 row;
	bool		 yes = false;
	unsigned	 last;

	if (mysql_query(db, sql) == 0)
		res = mysql_store_result(db);
	if (res != NULL && (row = mysql_fetch_row(res)) != NULL) {
		last = mysql_num_fields(res) - 1;
		yes = row[last] != NULL && strcmp(row[last], text) == 0;
	}
	mysql_free_result(res);
	return yes;
}

/* A server that is no node of Galera is not "ready" either. */
bool
lab_db_takes_writes(MYSQL *db)
{
	return answers(db, "SELECT @@GLOBAL.read_only", "0") &&
	    !(answers(db, "SELECT @@wsrep_on", "1") &&
	    answers(db, "SHOW GLOBAL STATUS LIKE 'wsrep_ready'", "OFF"));
}

MYSQL *
lab_db_try(const struct lab_opts *o, char *why)
{
	char		 host[256], *save = NULL, *list;
	const char	*each;
	MYSQL		*db = NULL;
	unsigned	 port;

	if (o->socket != NULL)
		return try_server(o, "localhost", 0, why);
	if (strchr(o->host, ',') == NULL) {
		port = split_host(o->host, host, sizeof(host));
		return try_server(o, host, port, why);
	}
	snprintf(why, 256, "none of %s takes writes", o->host);
	list = lab_strdup(o->host);
	for (each = strtok_r(list, ",", &save); each != NULL && db == NULL;
	    each = strtok_r(NULL, ",", &save)) {
		port = split_host(each, host, sizeof(host));
		db = try_server(o, host, port, why);
		if (db != NULL && !lab_db_takes_writes(db)) {
			snprintf(why, 256, "%s is read only", each);
			mysql_close(db);
			db = NULL;
		}
		/* Galera: see what was committed on other nodes before. */
		if (db != NULL)
			(void)mysql_query(db, "SET SESSION wsrep_sync_wait = 7");
	}
	free(list);
	return db;
}

MYSQL *
lab_db_open(const struct lab_opts *o)
{
	char	 why[256];
	MYSQL	*db;

	/* libnats must be the first to set up OpenSSL, or exit may crash. */
	nats_Open(-1);
	if (mysql_library_init(0, NULL, NULL) != 0)
		errx(1, "cannot initialise the MySQL client library");
	if ((db = lab_db_try(o, why)) == NULL)
		errx(1, "database: %s", why);
	return db;
}

MYSQL_RES *
lab_db_query(MYSQL *db, const char *sql, bool stream)
{
	MYSQL_RES	*res = NULL;

	if (mysql_query(db, sql) == 0)
		res = stream ? mysql_use_result(db) : mysql_store_result(db);
	if (res == NULL)
		errx(1, "database: %s: %s", mysql_error(db), sql);
	return res;
}

/* The first column of the first row; 0 for NULL and for no row. */
uint64_t
lab_db_number(MYSQL *db, const char *sql)
{
	MYSQL_RES	*res = lab_db_query(db, sql, false);
	MYSQL_ROW	 row = mysql_fetch_row(res);
	uint64_t	 n = 0;

	if (row != NULL && row[0] != NULL)
		n = strtoull(row[0], NULL, 10);
	mysql_free_result(res);
	return n;
}

/* Does the table exist?  Databases of other programs may lack some. */
bool
lab_db_has(MYSQL *db, const char *table)
{
	char	sql[256];

	snprintf(sql, sizeof(sql), "SELECT COUNT(*) FROM "
	    "information_schema.tables WHERE table_schema = DATABASE() "
	    "AND table_name = '%s'", table);
	return lab_db_number(db, sql) > 0;
}

/* After these two the last error of the library is stale. */
void
lab_bus_die(const char *what, natsStatus s)
{
	const char	*text = NULL;

	if (s != NATS_TIMEOUT && s != NATS_NO_RESPONDERS)
		text = nats_GetLastError(NULL);
	errx(1, "NATS: %s: %s%s%s", what, natsStatus_GetText(s),
	    text != NULL && *text != '\0' ? ": " : "",
	    text != NULL ? text : "");
}

static natsOptions *
bus_options(const struct lab_opts *o)
{
	natsOptions	*no = NULL;
	natsStatus	 s;

	if ((s = natsOptions_Create(&no)) == NATS_OK)
		s = natsOptions_SetURL(no, o->nats);
	if (s == NATS_OK)
		s = natsOptions_SetTimeout(no, CONNECT_MS);
	if (s == NATS_OK && o->creds != NULL)
		s = natsOptions_SetUserCredentialsFromFiles(no, o->creds,
		    NULL);
	if (s == NATS_OK && o->nats_ca != NULL)
		s = natsOptions_LoadCATrustedCertificates(no, o->nats_ca);
	if (s == NATS_OK && o->nats_ca != NULL)
		s = natsOptions_SetSecure(no, true);
	if (s != NATS_OK)
		lab_bus_die(o->nats, s);
	return no;
}

void
lab_bus_open(const struct lab_opts *o, struct lab_bus *bus)
{
	natsOptions	*no = bus_options(o);
	natsStatus	 s;

	*bus = (struct lab_bus){ .nc = NULL };
	if ((s = natsConnection_Connect(&bus->nc, no)) == NATS_OK)
		s = natsConnection_JetStream(&bus->js, bus->nc, NULL);
	natsOptions_Destroy(no);
	if (s != NATS_OK)
		lab_bus_die(o->nats, s);
}

void
lab_bus_keep(struct lab_bus *bus, natsSubscription *sub)
{
	bus->kept = lab_realloc(bus->kept, bus->nkept + 1, sizeof(sub));
	bus->kept[bus->nkept++] = sub;
}

void
lab_bus_close(struct lab_bus *bus)
{
	jsCtx_Destroy(bus->js);
	natsConnection_Destroy(bus->nc);
	for (size_t i = 0; i < bus->nkept; i++)
		natsSubscription_Destroy(bus->kept[i]);
	free((void *)bus->kept);
	nats_Close();
}

/* Returns the number of messages; *last, unless NULL: the last sequence. */
uint64_t
lab_stream_state(struct lab_bus *bus, const char *stream, uint64_t *last)
{
	jsStreamInfo	*si = NULL;
	jsErrCode	 code = 0;
	natsStatus	 s;
	uint64_t	 n;

	s = js_GetStreamInfo(&si, bus->js, stream, NULL, &code);
	if (s != NATS_OK)
		lab_bus_die(stream, s);
	n = si->State.Msgs;
	if (last != NULL)
		*last = si->State.LastSeq;
	jsStreamInfo_Destroy(si);
	return n;
}
