/* health_remedy.c - what to do about an error of the stream or the database */

#include "health/health_impl.h"

#include <string.h>

#include "common/advice.h"

/* Parts of texts: see STORE_LOCKED and DB_TOO_SLOW. */
#define LOCKED		"another session has locked"
#define TOO_SLOW	"no answer within"

/* Those that wait for a lock themselves come last. */
#define HOLDERS "SELECT p.id, p.user, p.host, p.command, p.time, p.state, " \
	"t.trx_started, p.info FROM information_schema.processlist AS p LEFT " \
	"JOIN information_schema.innodb_trx AS t ON t.trx_mysql_thread_id = " \
	"p.id WHERE p.command NOT IN ('Daemon', 'Binlog Dump') AND p.id <> " \
	"CONNECTION_ID() ORDER BY COALESCE(p.state, '') LIKE 'Waiting for%" \
	"lock' OR t.trx_state <=> 'LOCK WAIT', t.trx_started IS NULL, " \
	"t.trx_started, p.time DESC"

#define CREATE_TABLES	"outboxctl setup --no-event, or correct mysql.database"
#define MAKE_PRIMARY	"correct mysql.hosts or mysql.socket; or, if it is to be " \
			"the primary, as an administrator, SET GLOBAL " \
			"read_only = 0, and in my.cnf"
#define UPGRADE		"as an administrator, outboxctl schema upgrade " \
			"--admin root"

/* Why the broker takes nothing, or none of a type. */
static const struct advice of_refusal[] = {
	{ "no space left", "make room on the disk of the broker, where its "
	  "store_dir is" },
	{ "insufficient", "make room: raise max_file or max_mem of JetStream, "
	  "or delete messages of its streams" },
	{ "resource limits", "raise the limits of the account, or delete "
	  "messages of its streams" },
	{ "maximum ", "raise this limit of the stream, or delete messages "
	  "that its consumers have read" },
	{ "no leader", "start the servers of the cluster that are away: a "
	  "stream needs most of its replicas; their election takes some "
	  "seconds" },
	{ "no answer", "the log of the broker tells why it stores nothing: "
	  "its disk may be full (make room, and restart it if it still gives "
	  "no answer), or the stream has no leader; outboxctl stream info "
	  "shows the stream" },
	{ NULL, NULL }
};

static const struct advice of_database[] = {
	{ "(1040)", "the server runs: as an administrator, for whom it keeps "
	  "one, see in SHOW PROCESSLIST who has its connections, and end some "
	  "(KILL), or SET GLOBAL max_connections, and in my.cnf" },
	{ "(1203)", "end other connections of this account, or SET GLOBAL "
	  "max_user_connections" },
	{ "(1226)", "end other connections of this account, or raise its "
	  "limit: ALTER USER ... WITH MAX_USER_CONNECTIONS 0" },
	{ "(1129)", "as an administrator, FLUSH HOSTS, or with MySQL TRUNCATE "
	  "performance_schema.host_cache; its error log tells why logins of "
	  "this host failed" },
	{ "(1130)", "create the account for this host: outboxctl setup "
	  "--no-event, there with --account-host" },
	{ "(1820)", "give the account a password that does not expire: ALTER "
	  "USER ... PASSWORD EXPIRE NEVER" },
	{ "(1862)", "give the account a password that does not expire: ALTER "
	  "USER ... PASSWORD EXPIRE NEVER" },
	{ "(3118)", "unlock the account: ALTER USER ... ACCOUNT UNLOCK" },
	{ "(4151)", "unlock the account: ALTER USER ... ACCOUNT UNLOCK" },
	{ "(1044)", "correct mysql.database, or grant it: outboxctl setup "
	  "--no-event" },
	{ "ccess denied", "correct mysql.user and its password; outboxctl "
	  "setup --no-event --new-password creates the account, or gives it "
	  "the password of the configuration" },
	{ "nknown database", "correct mysql.database, or create it: outboxctl "
	  "setup --no-event" },
	{ "doesn't exist", CREATE_TABLES },
	{ "missing or not granted: outboxctl setup", CREATE_TABLES },
	{ "missing or not granted: run outboxctl schema", UPGRADE " adds it; "
	  "if it is there, outboxctl setup --no-event grants it" },
	{ "needs a whole number", UPGRADE " changes it, or tells how" },
	{ "nknown column", UPGRADE " adds it" },
	{ "(1176)", UPGRADE " adds the index" },
	{ "for column", UPGRADE " changes the column, or tells how" },
	{ "nknown system variable", "does a proxy stand before the server? "
	  "Connect to the server itself, or let it pass this variable" },
	{ "(1305)", "as an administrator, outboxctl schema install --admin "
	  "root creates procedures" },
	{ "denied", "outboxctl setup --no-event grants what is missing" },
	{ "read only", MAKE_PRIMARY },
	{ "read-only", MAKE_PRIMARY },
	{ "TLS", "correct mysql.tls, or the server's certificate" },
	{ "SSL", "correct mysql.tls, or the server's certificate" },
	{ NULL, NULL }
};

/* Of what nobody has foreseen. */
#define UNKNOWN		"the error log of the database server tells more; " \
			"outboxctl schema check compares the tables"

const char *
health_refusal_remedy(const char *error)
{
	return advice_find(of_refusal, error);
}

void
health_broker_remedy(const struct conf *conf, const char *error, struct buf *b)
{
	traits_of(conf, NULL)->put_remedy(conf, NULL, error, b);
}

/* The server tells where it writes, if it answers at all. */
static void
put_disks(const struct health *h, struct buf *b)
{
	const json_t	*server = json_object_get(h->state, "server");
	const char	*data = health_text(server, "datadir");
	const char	*binlog = health_text(server, "log_bin_basename");

	buf_printf(b, "make room on the disk of the server's data%s%s",
	    data[0] == '\0' ? "" : ", ", data);
	if (data[0] == '\0' || (binlog[0] != '\0' &&
	    strncmp(binlog, data, strlen(data)) != 0))
		buf_printf(b, ", and of its binlog%s%s", binlog[0] == '\0' ?
		    "" : ", ", binlog);
}

void
health_database_remedy(const struct health *h, const char *error,
    struct buf *b)
{
	const struct conf *conf = h->conf;
	const char	*known = advice_find(of_database, error);

	if (strstr(error, "(1205)") != NULL || strstr(error, LOCKED) != NULL) {
		buf_str(b, "an administrator of the server sees who holds the "
		    "lock: the oldest transaction first, then sessions that "
		    "may have locked tables, at last those that wait: " HOLDERS
		    "; KILL its id ends it; if it hangs in COMMIT, ");
		put_disks(h, b);
	} else if (strstr(error, TOO_SLOW) != NULL) {
		buf_str(b, "the server runs, and is slow or waits: ");
		put_disks(h, b);
		buf_str(b, ", if it is full; if not, an administrator sees "
		    "what COMMIT waits for, such as a replica: SHOW FULL "
		    "PROCESSLIST");
	} else if (strstr(error, "(1114)") != NULL ||
	    strstr(error, "(1021)") != NULL || strstr(error, "(1026)") != NULL)
		put_disks(h, b);
	else if (known != NULL)
		buf_str(b, known);
	else if (strstr(error, "onnect") == NULL &&
	    strstr(error, "gone") == NULL)
		buf_str(b, UNKNOWN);
	else if (conf->mysql.hosts.n == 0)
		buf_printf(b, "start the database server at %s, or correct "
		    "mysql.socket", conf->mysql.socket == NULL ? "" :
		    conf->mysql.socket);
	else {
		buf_str(b, "start the database server at ");
		conf_put_list(b, &conf->mysql.hosts, " or ");
		buf_str(b, ", or correct mysql.hosts");
	}
}
