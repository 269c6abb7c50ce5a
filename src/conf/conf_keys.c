/*
 * conf_keys.c - the table of keys
 *
 * A row has everything there is to know about a key: the parser, the dump, the
 * tests, the sample and the manual follow it.  Rows of a section stand
 * together, its subsections last, because the dump prints them in this order.
 * Relations between keys belong in conf_check.c.
 */
#include "conf/conf_impl.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define AT(field)	offsetof(struct conf, field)
#define NKEYS		(sizeof(keys) / sizeof(keys[0]))
#define SECOND		INT64_C(1000)
#define MINUTE		(60 * SECOND)
#define HOUR		(60 * MINUTE)
#define KIBIBYTE	INT64_C(1024)

/* Each in the order of its enum. */
static const char *const tls_words[] =
    { "auto", "disable", "require", "verify", NULL };
static const char *const mode_words[] = { "pointer", "inline", NULL };
static const char *const ordering_words[] =
    { "key", "partition", "none", NULL };
static const char *const on_dead_words[] = { "continue", "halt", NULL };
static const char *const driver_words[] = { "nats", "http", "stdout", NULL };
static const char *const recover_words[] =
    { "lost", "report", "off", NULL };
static const char *const at_start_words[] = { "auto", "on", "off", NULL };
static const char *const level_words[] =
    { "error", "warn", "info", "debug", NULL };
static const char *const format_words[] = { "text", "json", NULL };

static const struct conf_key keys[] = {
	{ .name = "master.workers", .type = CONF_INT,
	  .at = AT(master.workers), .dflt = "4",
	  .min = 1, .max = CONF_MAX_WORKERS,
	  .help = "worker processes to keep running" },
	{ .name = "master.user", .type = CONF_STRING,
	  .at = AT(master.user), .dflt = "outbox", .restart = true,
	  .help = "user to run as when started as root; empty: stay root" },
	{ .name = "master.pidfile", .type = CONF_STRING,
	  .at = AT(master.pidfile), .dflt = "/run/outbox/outbox-master.pid",
	  .check = conf_form_path, .restart = true, .required = true,
	  .help = "file with the process id of the master" },
	{ .name = "master.stop_timeout", .type = CONF_DURATION,
	  .at = AT(master.stop_timeout), .dflt = "30s",
	  .min = 1 * SECOND, .max = 1 * HOUR,
	  .help = "time until a stopping worker is killed" },
	{ .name = "master.hang_timeout", .type = CONF_DURATION,
	  .at = AT(master.hang_timeout), .dflt = "60s",
	  .min = 0, .max = 24 * HOUR,
	  .help = "silence after which a worker is killed; 0: never" },

	{ .name = "mysql.hosts", .type = CONF_LIST,
	  .at = AT(mysql.hosts), .dflt = "", .check = conf_form_host,
	  .help = "servers; the first that takes writes is used" },
	{ .name = "mysql.socket", .type = CONF_STRING,
	  .at = AT(mysql.socket), .dflt = "/run/mysqld/mysqld.sock",
	  .yields_to = "mysql.hosts", .check = conf_form_socket,
	  .help = "Unix socket of the server, in place of mysql.hosts" },
	{ .name = "mysql.user", .type = CONF_STRING,
	  .at = AT(mysql.user), .dflt = "outbox", .required = true,
	  .help = "user to log in as" },
	{ .name = "mysql.password_file", .type = CONF_STRING,
	  .at = AT(mysql.password_file), .dflt = "/etc/outbox/mysql.password",
	  .yields_to = "mysql.password_env", .check = conf_form_path,
	  .help = "file whose first line is the password; empty: none" },
	{ .name = "mysql.password_env", .type = CONF_STRING,
	  .at = AT(mysql.password_env), .dflt = "", .check = conf_form_env,
	  .help = "environment variable that holds the password" },
	{ .name = "mysql.server_public_key", .type = CONF_STRING,
	  .at = AT(mysql.server_public_key), .dflt = "",
	  .check = conf_form_path,
	  .help = "RSA key of a MySQL server, to log in without TLS" },
	{ .name = "mysql.database", .type = CONF_STRING,
	  .at = AT(mysql.database), .dflt = "",
	  .check = conf_form_database, .required = true,
	  .help = "database with the outbox" },
	{ .name = "mysql.operator.user", .type = CONF_STRING,
	  .at = AT(mysql.operator.user), .dflt = "",
	  .help = "user of outboxctl for changes; empty: mysql.user" },
	{ .name = "mysql.operator.password_file", .type = CONF_STRING,
	  .at = AT(mysql.operator.password_file), .dflt = "",
	  .check = conf_form_path,
	  .help = "file whose first line is that user's password" },
	{ .name = "mysql.operator.password_env", .type = CONF_STRING,
	  .at = AT(mysql.operator.password_env), .dflt = "",
	  .check = conf_form_env,
	  .help = "environment variable that holds it" },
	{ .name = "mysql.tls.mode", .type = CONF_ENUM,
	  .at = AT(mysql.tls.mode), .dflt = "auto", .words = tls_words,
	  .help = "whether to encrypt and whom to trust" },
	{ .name = "mysql.tls.ca", .type = CONF_STRING,
	  .at = AT(mysql.tls.ca), .dflt = "", .check = conf_form_path,
	  .help = "certificates to trust; empty: those of the system" },
	{ .name = "mysql.tls.cert", .type = CONF_STRING,
	  .at = AT(mysql.tls.cert), .dflt = "", .check = conf_form_path,
	  .help = "certificate to show to the server" },
	{ .name = "mysql.tls.key", .type = CONF_STRING,
	  .at = AT(mysql.tls.key), .dflt = "", .check = conf_form_path,
	  .help = "private key of that certificate" },

	{ .name = "outbox.mode", .type = CONF_ENUM,
	  .at = AT(outbox.mode), .dflt = "pointer", .words = mode_words,
	  .later = 1u << MODE_INLINE,
	  .help = "layout of the tables" },
	{ .name = "outbox.partition_count", .type = CONF_INT,
	  .at = AT(outbox.partition_count), .dflt = "16",
	  .min = 1, .max = CONF_MAX_PARTITIONS,
	  .help = "partitions; a count in the database overrides it" },
	{ .name = "outbox.former_counts", .type = CONF_LIST,
	  .at = AT(outbox.former_counts), .dflt = "",
	  .check = conf_form_count,
	  .help = "counts that producers may still use, if there is no "
	  "settings table" },
	{ .name = "outbox.ordering", .type = CONF_ENUM,
	  .at = AT(outbox.ordering), .dflt = "key", .words = ordering_words,
	  .help = "which messages stay in order" },
	{ .name = "outbox.tables.outbox", .type = CONF_STRING,
	  .at = AT(outbox.tables.outbox), .dflt = "outbox",
	  .check = conf_form_table, .required = true,
	  .help = "table of the rows to relay" },
	{ .name = "outbox.tables.events", .type = CONF_STRING,
	  .at = AT(outbox.tables.events), .dflt = "events",
	  .check = conf_form_table, .required = true,
	  .help = "table of the events they point at" },
	{ .name = "outbox.tables.partitions", .type = CONF_STRING,
	  .at = AT(outbox.tables.partitions), .dflt = "outbox_partitions",
	  .check = conf_form_table, .required = true,
	  .help = "table of the partitions and their leases" },
	{ .name = "outbox.tables.workers", .type = CONF_STRING,
	  .at = AT(outbox.tables.workers), .dflt = "outbox_workers",
	  .check = conf_form_table, .required = true,
	  .help = "table of the live workers" },
	{ .name = "outbox.tables.settings", .type = CONF_STRING,
	  .at = AT(outbox.tables.settings), .dflt = "outbox_settings",
	  .check = conf_form_table, .required = true,
	  .help = "table of the settings that producers and hosts share" },
	{ .name = "outbox.tables.dead_letters", .type = CONF_STRING,
	  .at = AT(outbox.tables.dead_letters), .dflt = "outbox_dead_letters",
	  .check = conf_form_table, .required = true,
	  .help = "table of the dead messages" },
	{ .name = "outbox.tables.blocked_keys", .type = CONF_STRING,
	  .at = AT(outbox.tables.blocked_keys), .dflt = "outbox_blocked_keys",
	  .check = conf_form_table, .required = true,
	  .help = "table of the blocked keys" },
	{ .name = "outbox.tables.streams", .type = CONF_STRING,
	  .at = AT(outbox.tables.streams), .dflt = "outbox_streams",
	  .check = conf_form_table, .required = true,
	  .help = "table of the state of the streams" },
	{ .name = "outbox.tables.audit", .type = CONF_STRING,
	  .at = AT(outbox.tables.audit), .dflt = "outbox_audit",
	  .check = conf_form_table, .required = true,
	  .help = "table of the changes by operators" },

	{ .name = "worker.leasing", .type = CONF_BOOL,
	  .at = AT(worker.leasing), .dflt = "true",
	  .help = "workers share the partitions by leases" },
	{ .name = "worker.lease_ttl", .type = CONF_DURATION,
	  .at = AT(worker.lease_ttl), .dflt = "15s",
	  .min = 1 * SECOND, .max = 1 * HOUR,
	  .help = "time until a lease expires that is not renewed" },
	{ .name = "worker.lease_renew", .type = CONF_DURATION,
	  .at = AT(worker.lease_renew), .dflt = "5s",
	  .min = SECOND / 10, .max = HOUR / 2,
	  .help = "how often leases and the heartbeat are renewed" },
	{ .name = "worker.heartbeat_ttl", .type = CONF_DURATION,
	  .at = AT(worker.heartbeat_ttl), .dflt = "15s",
	  .min = 1 * SECOND, .max = 1 * HOUR,
	  .help = "time for which a silent worker counts as alive" },
	{ .name = "worker.batch_size", .type = CONF_INT,
	  .at = AT(worker.batch_size), .dflt = "1000",
	  .min = 1, .max = 10000,
	  .help = "rows to claim at a time" },
	{ .name = "worker.batch_bytes", .type = CONF_INT,
	  .at = AT(worker.batch_bytes), .dflt = "33554432",
	  .min = 64 * KIBIBYTE, .max = 1024 * 1024 * KIBIBYTE,
	  .help = "payloads that a worker holds at a time, in bytes" },
	{ .name = "worker.claim_ttl", .type = CONF_DURATION,
	  .at = AT(worker.claim_ttl), .dflt = "30s",
	  .min = 1 * SECOND, .max = 1 * HOUR,
	  .help = "time until the claim on a row expires" },
	{ .name = "worker.idle_backoff_ms", .type = CONF_INT,
	  .at = AT(worker.idle_backoff_ms), .dflt = "1000",
	  .min = 1, .max = 60000,
	  .help = "longest pause of a worker without work, in ms" },

	{ .name = "retry.backoff", .type = CONF_DURATION,
	  .at = AT(retry.backoff), .dflt = "1s",
	  .min = SECOND / 10, .max = 1 * HOUR,
	  .help = "delay after the first failure; doubles" },
	{ .name = "retry.max_backoff", .type = CONF_DURATION,
	  .at = AT(retry.max_backoff), .dflt = "5m",
	  .min = SECOND / 10, .max = 24 * HOUR,
	  .help = "longest delay; equal to retry.backoff: constant" },
	{ .name = "retry.jitter", .type = CONF_FRACTION,
	  .at = AT(retry.jitter), .dflt = "0.2", .min = 0, .max = 100,
	  .help = "random part of the delay, both ways" },
	{ .name = "retry.max_attempts", .type = CONF_INT,
	  .at = AT(retry.max_attempts), .dflt = "25",
	  .min = 1, .max = 1000,
	  .help = "failures after which a message is dead" },
	{ .name = "retry.on_dead", .type = CONF_ENUM,
	  .at = AT(retry.on_dead), .dflt = "continue",
	  .words = on_dead_words,
	  .help = "whether the key of a dead message goes on" },

	{ .name = "publish.driver", .type = CONF_ENUM,
	  .at = AT(publish.driver), .dflt = "nats", .words = driver_words,
	  .later = 1u << DRIVER_HTTP | 1u << DRIVER_STDOUT,
	  .help = "where messages go" },
	{ .name = "publish.window", .type = CONF_INT,
	  .at = AT(publish.window), .dflt = "512",
	  .min = 1, .max = 10000,
	  .help = "messages in flight per worker" },
	{ .name = "publish.timeout_ms", .type = CONF_INT,
	  .at = AT(publish.timeout_ms), .dflt = "5000",
	  .min = 100, .max = 60000,
	  .help = "how long to wait for an ack, in ms" },
	{ .name = "publish.types", .type = CONF_LIST,
	  .at = AT(publish.types), .dflt = "", .check = conf_form_type,
	  .help = "types that reconcile and the trigger enqueue; empty: all" },

	{ .name = "nats.servers", .type = CONF_LIST,
	  .at = AT(nats.servers), .dflt = "nats://127.0.0.1:4222",
	  .check = conf_form_server, .required = true,
	  .help = "servers of one cluster" },
	{ .name = "nats.stream", .type = CONF_STRING,
	  .at = AT(nats.stream), .dflt = "EVENTS", .check = conf_form_stream,
	  .help = "stream that must store the messages; empty: any" },
	{ .name = "nats.subject", .type = CONF_STRING,
	  .at = AT(nats.subject), .dflt = "events.{event_type}",
	  .check = conf_form_subject, .required = true,
	  .help = "template of the subject" },
	{ .name = "nats.msg_id_prefix", .type = CONF_STRING,
	  .at = AT(nats.msg_id_prefix), .dflt = "",
	  .check = conf_form_prefix,
	  .help = "start of Nats-Msg-Id; empty: the outbox id" },
	{ .name = "nats.advisory", .type = CONF_STRING,
	  .at = AT(nats.advisory), .dflt = "",
	  .check = conf_form_plain_subject,
	  .help = "subject for notices of dead messages; empty: off" },
	{ .name = "nats.inbox_prefix", .type = CONF_STRING,
	  .at = AT(nats.inbox_prefix), .dflt = "_INBOX.outbox",
	  .check = conf_form_inbox, .required = true,
	  .help = "start of the subjects of acknowledgements" },
	{ .name = "nats.recover", .type = CONF_ENUM,
	  .at = AT(nats.recover), .dflt = "lost", .words = recover_words,
	  .help = "whether messages that the stream lost are sent again" },
	{ .name = "nats.user", .type = CONF_STRING,
	  .at = AT(nats.user), .dflt = "",
	  .help = "user to log in as" },
	{ .name = "nats.password_file", .type = CONF_STRING,
	  .at = AT(nats.password_file), .dflt = "", .check = conf_form_path,
	  .help = "file whose first line is the password" },
	{ .name = "nats.password_env", .type = CONF_STRING,
	  .at = AT(nats.password_env), .dflt = "", .check = conf_form_env,
	  .help = "environment variable that holds the password" },
	{ .name = "nats.token_file", .type = CONF_STRING,
	  .at = AT(nats.token_file), .dflt = "", .check = conf_form_path,
	  .help = "file whose first line is the token" },
	{ .name = "nats.token_env", .type = CONF_STRING,
	  .at = AT(nats.token_env), .dflt = "", .check = conf_form_env,
	  .help = "environment variable that holds the token" },
	{ .name = "nats.nkey", .type = CONF_STRING,
	  .at = AT(nats.nkey), .dflt = "", .check = conf_form_nkey,
	  .help = "public key of the user to log in as" },
	{ .name = "nats.nkey_file", .type = CONF_STRING,
	  .at = AT(nats.nkey_file), .dflt = "", .check = conf_form_path,
	  .help = "file whose first line is the seed of that key" },
	{ .name = "nats.credentials_file", .type = CONF_STRING,
	  .at = AT(nats.credentials_file), .dflt = "",
	  .check = conf_form_path,
	  .help = "file with a user JWT and its seed" },
	{ .name = "nats.tls.mode", .type = CONF_ENUM,
	  .at = AT(nats.tls.mode), .dflt = "auto", .words = tls_words,
	  .help = "whether to encrypt and whom to trust" },
	{ .name = "nats.tls.first", .type = CONF_BOOL,
	  .at = AT(nats.tls.first), .dflt = "false",
	  .help = "encrypt before the server has said anything" },
	{ .name = "nats.tls.ca", .type = CONF_STRING,
	  .at = AT(nats.tls.ca), .dflt = "", .check = conf_form_path,
	  .help = "certificates to trust; empty: those of the system" },
	{ .name = "nats.tls.cert", .type = CONF_STRING,
	  .at = AT(nats.tls.cert), .dflt = "", .check = conf_form_path,
	  .help = "certificate to show to the server" },
	{ .name = "nats.tls.key", .type = CONF_STRING,
	  .at = AT(nats.tls.key), .dflt = "", .check = conf_form_path,
	  .help = "private key of that certificate" },

	{ .name = "wake.subject", .type = CONF_STRING,
	  .at = AT(wake.subject), .dflt = "",
	  .check = conf_form_plain_subject,
	  .help = "subject that wakes idle workers; empty: off" },
	{ .name = "wake.binlog", .type = CONF_BOOL,
	  .at = AT(wake.binlog), .dflt = "false",
	  .help = "follow the binlog and wake workers for new rows" },

	{ .name = "retention.days", .type = CONF_INT,
	  .at = AT(retention.days), .dflt = "0", .min = 0, .max = 36500,
	  .help = "delivered rows older than this are deleted; 0: none" },
	{ .name = "retention.dead_days", .type = CONF_INT,
	  .at = AT(retention.dead_days), .dflt = "0", .min = 0, .max = 36500,
	  .help = "the same for dead letters; 0: none" },
	{ .name = "retention.batch", .type = CONF_INT,
	  .at = AT(retention.batch), .dflt = "1000", .min = 1, .max = 10000,
	  .help = "rows that a statement deletes" },

	{ .name = "reconcile.at_start", .type = CONF_ENUM,
	  .at = AT(reconcile.at_start), .dflt = "auto",
	  .words = at_start_words,
	  .help = "create missing rows; auto: if publish.types is set" },

	{ .name = "health.max_age", .type = CONF_DURATION,
	  .at = AT(health.max_age), .dflt = "60s",
	  .min = 1 * SECOND, .max = 24 * HOUR,
	  .help = "age at which a waiting message is a problem" },

	{ .name = "monitor.socket", .type = CONF_STRING,
	  .at = AT(monitor.socket), .dflt = "/run/outbox/monitor.sock",
	  .check = conf_form_socket, .restart = true,
	  .help = "Unix socket of the monitor; reserved" },
	{ .name = "monitor.listen", .type = CONF_STRING,
	  .at = AT(monitor.listen), .dflt = "", .check = conf_form_later,
	  .restart = true,
	  .help = "TCP address of the monitor; not available yet" },

	{ .name = "log.level", .type = CONF_ENUM,
	  .at = AT(log.level), .dflt = "info", .words = level_words,
	  .help = "least urgent lines to log" },
	{ .name = "log.target", .type = CONF_STRING,
	  .at = AT(log.target), .dflt = "stderr", .check = conf_form_log,
	  .required = true,
	  .help = "stderr, syslog or a file" },
	{ .name = "log.format", .type = CONF_ENUM,
	  .at = AT(log.format), .dflt = "text", .words = format_words,
	  .help = "form of a line" },
};

_Static_assert(NKEYS <= CONF_KEYS_MAX, "raise CONF_KEYS_MAX");

const struct conf_key *
conf_keys(size_t *n)
{
	*n = NKEYS;
	return keys;
}

int
conf_key_find(const char *name)
{
	for (size_t i = 0; i < NKEYS; i++)
		if (strcmp(keys[i].name, name) == 0)
			return (int)i;
	return -1;
}

/* The part of a name after "section."; NULL: it is not in the section. */
static const char *
inside(const char *name, const char *section)
{
	size_t	n = strlen(section);

	if (n == 0)
		return name;
	return strncmp(name, section, n) == 0 && name[n] == '.' ?
	    name + n + 1 : NULL;
}

bool
conf_key_is_section(const char *name)
{
	for (size_t i = 0; i < NKEYS; i++)
		if (inside(keys[i].name, name) != NULL)
			return true;
	return false;
}

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* The edit distance of a, which fits a name, and the blen bytes of b. */
static size_t
distance(const char *a, const char *b, size_t blen)
{
	size_t	row[CONF_NAME_SIZE], alen = strlen(a);

	for (size_t i = 0; i <= alen; i++)
		row[i] = i;
	for (size_t j = 0; j < blen; j++) {
		size_t	diagonal = row[0];

		row[0] = j + 1;
		for (size_t i = 0; i < alen; i++) {
			size_t	above = row[i + 1];
			bool	same = tolower((unsigned char)a[i]) ==
				    tolower((unsigned char)b[j]);

			row[i + 1] = least(diagonal + !same,
			    1 + least(above, row[i]));
			diagonal = above;
		}
	}
	return row[alen];
}

/* Similar: up to three letters differ, or one begins with the other. */
static size_t
how_far(const char *leaf, const char *name, size_t len)
{
	size_t	n = strlen(leaf), d = distance(leaf, name, len);

	if (d <= least((n + 1) / 3, 3))
		return d;
	return strncmp(leaf, name, least(n, len)) == 0 ? 4 : SIZE_MAX;
}

/* The only key in a section with this leaf: the file misplaced it. */
static const char *
only_one(const char *section, const char *leaf)
{
	const char	*found = NULL;

	for (size_t i = 0; i < NKEYS; i++) {
		const char	*name = keys[i].name;

		if (inside(name, section) == NULL ||
		    strcmp(strrchr(name, '.') + 1, leaf) != 0)
			continue;
		if (found != NULL)
			return NULL;
		found = name;
	}
	return found;
}

/* The name in the section that is most similar to the leaf, or "". */
static struct conf_phrase
closest(const char *section, const char *leaf)
{
	struct conf_phrase	 best = { "" };
	size_t			 far = SIZE_MAX;

	for (size_t i = 0; i < NKEYS; i++) {
		const char	*name = inside(keys[i].name, section);
		size_t		 len, d;

		if (name == NULL)
			continue;
		len = strcspn(name, ".");
		if ((d = how_far(leaf, name, len)) < far) {
			far = d;
			snprintf(best.text, sizeof(best.text), "%.*s",
			    (int)(name - keys[i].name + (ptrdiff_t)len),
			    keys[i].name);
		}
	}
	return best;
}

struct conf_phrase
conf_key_near(const char *section, const char *leaf)
{
	struct conf_phrase	 best = { "" };
	const char		*name = only_one(section, leaf);

	if (*leaf == '\0' || strlen(leaf) >= CONF_NAME_SIZE)
		return best;
	if (name == NULL)
		name = only_one("", leaf);
	if (name == NULL)
		return closest(section, leaf);
	snprintf(best.text, sizeof(best.text), "%s", name);
	return best;
}
