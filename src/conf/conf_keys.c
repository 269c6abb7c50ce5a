/*
 * conf_keys.c - the table of keys
 *
 * A row has everything there is to know about a key: the parser, the dump, the
 * tests, the sample and the manual follow it.  Rows of a section stand
 * together, its subsections last, because the dump prints them in this order.
 * Relations between keys belong in conf_check.c.
 */
#include "conf/conf_impl.h"

#include <stddef.h>

#define NKEYS		(sizeof(conf_table) / sizeof(conf_table[0]) - 1)
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
static const char *const driver_words[] =
    { "nats", "http", "kafka", "stdout", "discard", NULL };
static const char *const scheduled_words[] = { "pass", "hold", NULL };
static const char *const envelope_words[] =
    { "raw", "json", "cloudevents", "cloudevents-binary", NULL };
static const char *const type_case_words[] =
    { "none", "kebab", "snake", NULL };
static const char *const unmatched_words[] =
    { "default", "dead", "hold", NULL };
static const char *const recover_words[] =
    { "lost", "report", "off", NULL };
static const char *const wake_words[] = { "auto", "true", "false", NULL };
static const char *const at_start_words[] = { "auto", "on", "off", NULL };
static const char *const level_words[] =
    { "error", "warn", "info", "debug", NULL };
static const char *const format_words[] = { "text", "json", NULL };

/* Limits that a route shares with the keys for all. */
#define BACKOFF_RANGE		.min = SECOND / 10, .max = 1 * HOUR
#define MAX_BACKOFF_RANGE	.min = SECOND / 10, .max = 24 * HOUR
#define MAX_ATTEMPTS_RANGE	.min = 1, .max = 1000

#define FIELDS(table, record) \
	.fields = (table), .nfields = sizeof(table) / sizeof((table)[0]), \
	.record_size = sizeof(struct record)
#define FIELD(record, field, kind) \
	.name = #field, .type = CONF_##kind, \
	.at = offsetof(struct record, field)

/* A key has the name of its place in struct conf. */
#define KEY(key, kind, value) \
	.name = #key, .type = CONF_##kind, .at = offsetof(struct conf, key), \
	.dflt = value

static const struct conf_key route_fields[] = {
	{ FIELD(conf_route, name, STRING), .check = conf_form_route,
	  .required = true,
	  .help = "name of the route" },
	{ FIELD(conf_route, type, STRING), .check = conf_form_type,
	  .help = "pattern of the type" },
	{ FIELD(conf_route, topic, STRING), .check = conf_form_type,
	  .help = "pattern of the topic" },
	{ FIELD(conf_route, header, STRING), .check = conf_form_match,
	  .help = "header and pattern of its value" },
	{ FIELD(conf_route, driver, ENUM), .words = driver_words,
	  .required = true,
	  .help = "where messages go" },
	{ FIELD(conf_route, subject, STRING), .check = conf_form_subject,
	  .help = "in place of nats.subject, or of kafka.topic" },
	{ FIELD(conf_route, endpoint, STRING), .check = conf_form_endpoint,
	  .help = "in place of http.endpoint" },
	{ FIELD(conf_route, path, STRING), .check = conf_form_url_path,
	  .help = "in place of http.path" },
	{ FIELD(conf_route, envelope, ENUM), .words = envelope_words,
	  .inherits = true,
	  .help = "in place of publish.envelope" },
	{ FIELD(conf_route, max_attempts, INT), MAX_ATTEMPTS_RANGE,
	  .inherits = true,
	  .help = "in place of retry.max_attempts" },
	{ FIELD(conf_route, backoff, DURATION), BACKOFF_RANGE, .inherits = true,
	  .help = "in place of retry.backoff" },
	{ FIELD(conf_route, max_backoff, DURATION), MAX_BACKOFF_RANGE,
	  .inherits = true,
	  .help = "in place of retry.max_backoff" },
};

static const struct conf_key signing_key_fields[] = {
	{ FIELD(conf_signing_key, id, STRING), .check = conf_form_key_id,
	  .required = true,
	  .help = "name of the key, which receivers see" },
	{ FIELD(conf_signing_key, file, STRING), .check = conf_form_path,
	  .required = true, .secret = SECRET_KEY,
	  .help = "file whose first line is the key" },
};

static bool
hides_header(const void *record)
{
	return conf_header_is_secret(record);
}

static const struct conf_key header_fields[] = {
	{ FIELD(conf_header, name, STRING), .check = conf_form_header,
	  .required = true,
	  .help = "name of the header" },
	{ FIELD(conf_header, value, STRING), .check = conf_form_header_value,
	  .hides = hides_header,
	  .help = "its value" },
	{ FIELD(conf_header, file, STRING), .check = conf_form_path,
	  .secret = SECRET_LINE,
	  .help = "or the file whose first line is the value, a secret" },
};

static const struct conf_key person_fields[] = {
	{ FIELD(conf_person, name, STRING), .check = conf_form_person,
	  .required = true,
	  .help = "name of the person, which the audit shows" },
	{ FIELD(conf_person, file, STRING), .check = conf_form_path,
	  .help = "file whose first line is the token" },
	{ FIELD(conf_person, may, LIST), .check = conf_form_may,
	  .required = true,
	  .help = "read, act, or a list of actions" },
};

const struct conf_key	conf_table[] = {
	{ KEY(master.workers, INT, "1"), .min = 1, .max = CONF_MAX_WORKERS,
	  .help = "worker processes to keep running" },
	{ KEY(master.user, STRING, "outbox"), .restart = true,
	  .help = "user to run as when started as root; empty: stay root" },
	{ KEY(master.pidfile, STRING, "/run/outbox/outbox-master.pid"),
	  .check = conf_form_path, .restart = true, .required = true,
	  .help = "file with the process id of the master" },
	{ KEY(master.stop_timeout, DURATION, "30s"),
	  .min = 1 * SECOND, .max = 1 * HOUR,
	  .help = "time until a stopping worker is killed" },
	{ KEY(master.hang_timeout, DURATION, "60s"), .min = 0, .max = 24 * HOUR,
	  .help = "silence after which a worker is killed; 0: never" },

	{ KEY(mysql.hosts, LIST, ""), .check = conf_form_host,
	  .help = "servers; the first that takes writes is used" },
	{ KEY(mysql.socket, STRING, "/run/mysqld/mysqld.sock"),
	  .yields_to = "mysql.hosts", .check = conf_form_socket,
	  .help = "Unix socket of the server, in place of mysql.hosts" },
	{ KEY(mysql.user, STRING, "outbox"), .required = true,
	  .help = "user to log in as" },
	{ KEY(mysql.password_file, STRING, "/etc/outbox/mysql.password"),
	  .yields_to = "mysql.password_env", .check = conf_form_path,
	  .secret = SECRET_TEXT,
	  .help = "file whose first line is the password; empty: none" },
	{ KEY(mysql.password_env, STRING, ""), .check = conf_form_env,
	  .secret = SECRET_TEXT,
	  .help = "environment variable that holds the password" },
	{ KEY(mysql.server_public_key, STRING, ""), .check = conf_form_path,
	  .help = "RSA key of a MySQL server, to log in without TLS" },
	{ KEY(mysql.database, STRING, ""), .check = conf_form_database,
	  .required = true,
	  .help = "database with the outbox" },
	{ KEY(mysql.operator.user, STRING, ""),
	  .help = "user of outboxctl for changes; empty: mysql.user" },
	{ KEY(mysql.operator.password_file, STRING, ""),
	  .check = conf_form_path,
	  .help = "file whose first line is that user's password" },
	{ KEY(mysql.operator.password_env, STRING, ""), .check = conf_form_env,
	  .help = "environment variable that holds it" },
	{ KEY(mysql.tls.mode, ENUM, "auto"), .words = tls_words,
	  .help = "whether to encrypt and whom to trust" },
	{ KEY(mysql.tls.ca, STRING, ""), .check = conf_form_path,
	  .help = "certificates to trust; empty: those of the system" },
	{ KEY(mysql.tls.cert, STRING, ""), .check = conf_form_path,
	  .help = "certificate to show to the server" },
	{ KEY(mysql.tls.key, STRING, ""), .check = conf_form_path,
	  .secret = SECRET_FILE,
	  .help = "private key of that certificate" },

	{ KEY(outbox.mode, ENUM, "pointer"), .words = mode_words,
	  .help = "layout of the tables" },
	{ KEY(outbox.partition_count, INT, "16"),
	  .min = 1, .max = CONF_MAX_PARTITIONS,
	  .help = "partitions; a count in the database overrides it" },
	{ KEY(outbox.former_counts, LIST, ""), .check = conf_form_count,
	  .help = "counts that producers may still use, if there is no "
	  "settings table" },
	{ KEY(outbox.ordering, ENUM, "key"), .words = ordering_words,
	  .help = "which messages stay in order" },
	{ KEY(outbox.columns, MAP, ""), .check = conf_form_table,
	  .check_name = conf_form_column,
	  .help = "columns with other names: ours, then theirs" },
	{ KEY(outbox.scheduled, ENUM, "pass"), .words = scheduled_words,
	  .help = "whether later messages pass a scheduled one of their key" },
	{ KEY(outbox.partition_by, STRING, ""), .check = conf_form_partition_by,
	  .help = "what the partition is computed of; empty: the order key" },
	{ KEY(outbox.tables.outbox, STRING, "outbox"), .check = conf_form_table,
	  .required = true,
	  .help = "table of the rows to relay" },
	{ KEY(outbox.tables.events, STRING, "events"), .check = conf_form_table,
	  .required = true,
	  .help = "table of the events they point at" },
	{ KEY(outbox.tables.partitions, STRING, "outbox_partitions"),
	  .check = conf_form_table, .required = true,
	  .help = "table of the partitions and their leases" },
	{ KEY(outbox.tables.workers, STRING, "outbox_workers"),
	  .check = conf_form_table, .required = true,
	  .help = "table of the live workers" },
	{ KEY(outbox.tables.settings, STRING, "outbox_settings"),
	  .check = conf_form_table, .required = true,
	  .help = "table of the settings that producers and hosts share" },
	{ KEY(outbox.tables.dead_letters, STRING, "outbox_dead_letters"),
	  .check = conf_form_table, .required = true,
	  .help = "table of the dead messages" },
	{ KEY(outbox.tables.blocked_keys, STRING, "outbox_blocked_keys"),
	  .check = conf_form_table, .required = true,
	  .help = "table of the blocked keys" },
	{ KEY(outbox.tables.streams, STRING, "outbox_streams"),
	  .check = conf_form_table, .required = true,
	  .help = "table of the state of the streams" },
	{ KEY(outbox.tables.audit, STRING, "outbox_audit"),
	  .check = conf_form_table, .required = true,
	  .help = "table of the changes by operators" },
	{ KEY(outbox.tables.registry, STRING, "outbox_registry"),
	  .check = conf_form_table, .required = true,
	  .help = "table of all outboxes of the database" },
	{ KEY(outbox.tables.messages, STRING, "outbox_messages"),
	  .check = conf_form_table, .required = true,
	  .help = "table of the messages of mode inline" },

	{ KEY(worker.leasing, BOOL, "true"),
	  .help = "workers share the partitions by leases" },
	{ KEY(worker.lease_ttl, DURATION, "15s"),
	  .min = 1 * SECOND, .max = 1 * HOUR,
	  .help = "time until a lease expires that is not renewed" },
	{ KEY(worker.lease_renew, DURATION, "5s"),
	  .min = SECOND / 10, .max = HOUR / 2,
	  .help = "how often leases and the heartbeat are renewed" },
	{ KEY(worker.heartbeat_ttl, DURATION, "15s"),
	  .min = 1 * SECOND, .max = 1 * HOUR,
	  .help = "time for which a silent worker counts as alive" },
	{ KEY(worker.batch_size, INT, "1000"), .min = 1, .max = 10000,
	  .help = "rows to claim at a time" },
	{ KEY(worker.batch_bytes, INT, "33554432"),
	  .min = 64 * KIBIBYTE, .max = 1024 * 1024 * KIBIBYTE,
	  .help = "payloads that a worker holds at a time, in bytes" },
	{ KEY(worker.claim_ttl, DURATION, "30s"),
	  .min = 1 * SECOND, .max = 1 * HOUR,
	  .help = "time until the claim on a row expires" },
	{ KEY(worker.linger_ms, INT, "20"), .min = 0, .max = 1000,
	  .help = "how long a row may wait to be sent with others, in ms" },
	{ KEY(worker.idle_backoff_ms, INT, "200"), .min = 1, .max = 60000,
	  .help = "longest pause of a worker without work, in ms" },

	{ KEY(retry.backoff, DURATION, "1s"), BACKOFF_RANGE,
	  .help = "delay after the first failure; doubles" },
	{ KEY(retry.max_backoff, DURATION, "5m"), MAX_BACKOFF_RANGE,
	  .help = "longest delay; equal to retry.backoff: constant" },
	{ KEY(retry.jitter, FRACTION, "0.2"), .min = 0, .max = 100,
	  .help = "random part of the delay, both ways" },
	{ KEY(retry.max_attempts, INT, "25"), MAX_ATTEMPTS_RANGE,
	  .help = "failures after which a message is dead" },
	{ KEY(retry.on_dead, ENUM, "continue"), .words = on_dead_words,
	  .help = "whether the key of a dead message goes on" },
	{ KEY(retry.blame_after, DURATION, "10m"),
	  .min = 1000, .max = 24 * 3600 * 1000,
	  .help = "how long a refusal lasts until it is the message's own" },
	{ KEY(retry.burst, INT, "100"), .min = 0, .max = 1000000,
	  .help = "dead letters of one cause before more are held; 0: no limit" },
	{ KEY(retry.burst_time, DURATION, "10m"),
	  .min = 1000, .max = 24 * 3600 * 1000,
	  .help = "within this time" },

	{ KEY(publish.driver, ENUM, "nats"), .words = driver_words,
	  .help = "where messages go" },
	{ KEY(publish.window, INT, "512"), .min = 1, .max = 10000,
	  .help = "messages in flight per worker" },
	{ KEY(publish.timeout_ms, INT, "5000"), .min = 100, .max = 60000,
	  .help = "how long to wait for an ack, in ms" },
	{ KEY(publish.types, LIST, ""), .check = conf_form_type,
	  .help = "types that reconcile and the trigger enqueue; empty: all" },
	{ KEY(publish.envelope, ENUM, "raw"), .words = envelope_words,
	  .help = "what surrounds the payload" },
	{ KEY(publish.source, STRING, ""), .check = conf_form_source,
	  .help = "source of CloudEvents; empty: made of the outbox id" },
	{ KEY(publish.type_case, ENUM, "none"), .words = type_case_words,
	  .help = "how a type is written in a subject" },
	{ KEY(publish.type_aliases, MAP, ""), .check = conf_form_alias,
	  .check_name = conf_form_aliased,
	  .help = "types, and what stands for them in a subject" },
	{ KEY(publish.unmatched, ENUM, "default"), .words = unmatched_words,
	  .help = "what becomes of a message that no route takes" },
	{ KEY(publish.routes, RECORDS, ""), FIELDS(route_fields, conf_route),
	  .max_records = CONF_ROUTES_MAX,
	  .help = "other destinations for some messages" },

	{ KEY(nats.servers, LIST, "nats://127.0.0.1:4222"),
	  .check = conf_form_server, .required = true,
	  .help = "servers of one cluster" },
	{ KEY(nats.stream, STRING, "EVENTS"), .check = conf_form_stream,
	  .help = "stream that must store the messages; empty: any" },
	{ KEY(nats.domain, STRING, ""), .check = conf_form_domain,
	  .help = "JetStream domain of the stream; empty: the server's" },
	{ KEY(nats.api_prefix, STRING, ""), .check = conf_form_api_prefix,
	  .help = "JetStream's API where the account imports it" },
	{ KEY(nats.subject, STRING, "events.{event_type}"),
	  .check = conf_form_subject, .required = true,
	  .help = "template of the subject" },
	{ KEY(nats.msg_id_prefix, STRING, ""), .check = conf_form_prefix,
	  .help = "start of Nats-Msg-Id; empty: the outbox id" },
	{ KEY(nats.advisory, STRING, ""), .check = conf_form_plain_subject,
	  .help = "subject for notices of dead messages; empty: off" },
	{ KEY(nats.inbox_prefix, STRING, "_INBOX.outbox"),
	  .check = conf_form_inbox, .required = true,
	  .help = "start of the subjects of acknowledgements" },
	{ KEY(nats.recover, ENUM, "lost"), .words = recover_words,
	  .help = "whether messages that the stream lost are sent again" },
	{ KEY(nats.scrub, INT, "300"), .min = 0, .max = 100000,
	  .help = "delivered rows looked up in the stream again, a second" },
	{ KEY(nats.core, BOOL, "false"),
	  .help = "publish without acknowledgement: at most once" },
	{ KEY(nats.user, STRING, ""),
	  .help = "user to log in as" },
	{ KEY(nats.password_file, STRING, ""), .check = conf_form_path,
	  .secret = SECRET_TEXT,
	  .help = "file whose first line is the password" },
	{ KEY(nats.password_env, STRING, ""), .check = conf_form_env,
	  .secret = SECRET_TEXT,
	  .help = "environment variable that holds the password" },
	{ KEY(nats.token_file, STRING, ""), .check = conf_form_path,
	  .secret = SECRET_TEXT,
	  .help = "file whose first line is the token" },
	{ KEY(nats.token_env, STRING, ""), .check = conf_form_env,
	  .secret = SECRET_TEXT,
	  .help = "environment variable that holds the token" },
	{ KEY(nats.nkey, STRING, ""), .check = conf_form_nkey,
	  .help = "public key of the user to log in as" },
	{ KEY(nats.nkey_file, STRING, ""), .check = conf_form_path,
	  .secret = SECRET_TEXT,
	  .help = "file whose first line is the seed of that key" },
	{ KEY(nats.credentials_file, STRING, ""), .check = conf_form_path,
	  .secret = SECRET_FILE,
	  .help = "file with a user JWT and its seed" },
	{ KEY(nats.tls.mode, ENUM, "auto"), .words = tls_words,
	  .help = "whether to encrypt and whom to trust" },
	{ KEY(nats.tls.first, BOOL, "false"),
	  .help = "encrypt before the server has said anything" },
	{ KEY(nats.tls.ca, STRING, ""), .check = conf_form_path,
	  .help = "certificates to trust; empty: those of the system" },
	{ KEY(nats.tls.cert, STRING, ""), .check = conf_form_path,
	  .help = "certificate to show to the server" },
	{ KEY(nats.tls.key, STRING, ""), .check = conf_form_path,
	  .secret = SECRET_FILE,
	  .help = "private key of that certificate" },

	{ KEY(http.endpoint, STRING, ""), .check = conf_form_endpoint,
	  .help = "URL that the path is added to" },
	{ KEY(http.path, STRING, "{event_type}"), .check = conf_form_url_path,
	  .help = "template of the path; empty: the endpoint" },
	{ KEY(http.content_type, STRING, "application/octet-stream"),
	  .check = conf_form_content_type,
	  .help = "of a payload that is no JSON, if the row has none" },
	{ KEY(http.concurrency, INT, "32"), .min = 1, .max = 1024,
	  .help = "requests in flight per worker" },
	{ KEY(http.signing_keys, RECORDS, ""),
	  FIELDS(signing_key_fields, conf_signing_key), .max_records = 8,
	  .help = "keys that sign requests; empty: none is signed" },
	{ KEY(http.headers, RECORDS, ""), FIELDS(header_fields, conf_header),
	  .max_records = 256, .pairs = true, .fold_names = true,
	  .help = "headers of each request" },
	{ KEY(http.metadata_headers, LIST, ""),
	  .check = conf_form_metadata_header,
	  .help = "metadata sent as headers of these names" },
	{ KEY(http.token_file, STRING, ""), .check = conf_form_path,
	  .secret = SECRET_LINE,
	  .help = "file whose first line is the bearer token" },
	{ KEY(http.token_env, STRING, ""), .check = conf_form_env,
	  .secret = SECRET_LINE,
	  .help = "environment variable that holds the token" },
	{ KEY(http.follow_redirects, BOOL, "false"),
	  .help = "send a request again to where an answer points" },
	{ KEY(http.allow_private, BOOL, "true"),
	  .help = "connect to addresses of this host and of private nets" },
	{ KEY(http.allow_clear, LIST, ""), .check = conf_form_url_host,
	  .help = "hosts that get secrets without TLS, by http://" },
	{ KEY(http.proxy, STRING, ""), .check = conf_form_proxy,
	  .help = "URL of a proxy; empty: none" },
	{ KEY(http.tls.verify, BOOL, "true"),
	  .help = "check the certificate and the name of the server" },
	{ KEY(http.tls.ca, STRING, ""), .check = conf_form_path,
	  .help = "certificates to trust; empty: those of the system" },
	{ KEY(http.tls.cert, STRING, ""), .check = conf_form_path,
	  .help = "certificate to show to the server" },
	{ KEY(http.tls.key, STRING, ""), .check = conf_form_path,
	  .secret = SECRET_FILE,
	  .help = "private key of that certificate" },

	{ KEY(kafka.brokers, LIST, "127.0.0.1:9092"), .check = conf_form_broker,
	  .required = true,
	  .help = "brokers that are asked for the others" },
	{ KEY(kafka.topic, STRING, "events.{event_type}"),
	  .check = conf_form_topic, .required = true,
	  .help = "template of the topic" },
	{ KEY(kafka.recover, ENUM, "lost"), .words = recover_words,
	  .help = "whether messages that a topic lost are sent again" },
	{ KEY(kafka.client, MAP, ""), .check = conf_form_line,
	  .check_name = conf_form_property,
	  .help = "properties of librdkafka, and their values" },
	{ KEY(kafka.client_files, MAP, ""), .check = conf_form_path,
	  .check_name = conf_form_file_property, .secret = SECRET_TEXT,
	  .help = "the same, and files whose first line is the value" },
	{ KEY(kafka.sasl.mechanism, STRING, ""), .check = conf_form_mechanism,
	  .help = "how to log in: PLAIN, SCRAM-SHA-512, ...; empty: no login" },
	{ KEY(kafka.sasl.user, STRING, ""),
	  .help = "user to log in as" },
	{ KEY(kafka.sasl.password_file, STRING, ""), .check = conf_form_path,
	  .secret = SECRET_TEXT,
	  .help = "file whose first line is the password" },
	{ KEY(kafka.sasl.password_env, STRING, ""), .check = conf_form_env,
	  .secret = SECRET_TEXT,
	  .help = "environment variable that holds the password" },
	{ KEY(kafka.tls.mode, ENUM, "auto"), .words = tls_words,
	  .help = "whether to encrypt and whom to trust" },
	{ KEY(kafka.tls.ca, STRING, ""), .check = conf_form_path,
	  .help = "certificates to trust; empty: those of the system" },
	{ KEY(kafka.tls.cert, STRING, ""), .check = conf_form_path,
	  .help = "certificate to show to the brokers" },
	{ KEY(kafka.tls.key, STRING, ""), .check = conf_form_path,
	  .secret = SECRET_FILE,
	  .help = "private key of that certificate" },

	{ KEY(wake.subject, STRING, ""), .check = conf_form_plain_subject,
	  .help = "subject that wakes idle workers; empty: off" },
	{ KEY(wake.binlog, ENUM, "auto"), .words = wake_words,
	  .help = "follow the binlog and wake workers for new rows; "
	  "auto: if the account may" },

	{ KEY(retention.days, INT, "0"), .min = 0, .max = 36500,
	  .help = "delivered rows older than this are deleted; 0: none" },
	{ KEY(retention.dead_days, INT, "0"), .min = 0, .max = 36500,
	  .help = "the same for dead letters; 0: none" },
	{ KEY(retention.batch, INT, "1000"), .min = 1, .max = 10000,
	  .help = "rows that a statement deletes" },

	{ KEY(reconcile.at_start, ENUM, "auto"), .words = at_start_words,
	  .help = "create missing rows; auto: if publish.types is set" },

	{ KEY(health.max_age, DURATION, "60s"),
	  .min = 1 * SECOND, .max = 24 * HOUR,
	  .help = "age at which a waiting message is a problem" },

	{ KEY(monitor.socket, STRING, ""), .check = conf_form_socket,
	  .help = "Unix socket of the monitor; empty: beside the pid file" },
	{ KEY(monitor.listen, STRING, ""), .check = conf_form_listen,
	  .help = "ADDRESS:PORT of the monitor; empty: no TCP" },
	{ KEY(monitor.allow_remote, BOOL, "false"),
	  .help = "monitor.listen may be no loopback address, without token" },
	{ KEY(monitor.hosts, LIST, ""), .check = conf_form_host_name,
	  .help = "further names of the monitor in URLs" },
	{ KEY(monitor.token_file, STRING, ""), .check = conf_form_path,
	  .help = "file with the token for changes; empty: none" },
	{ KEY(monitor.tokens, RECORDS, ""), FIELDS(person_fields, conf_person),
	  .max_records = CONF_PEOPLE_MAX,
	  .help = "people with tokens of their own, and what they may do" },
	{ KEY(monitor.user_header, STRING, ""), .check = conf_form_user_header,
	  .help = "header with which a proxy names one of these people" },
	{ KEY(monitor.proxies, LIST, ""), .check = conf_form_peer,
	  .help = "who may send it: addresses, or uid:NUMBER" },
	{ KEY(monitor.require_token, BOOL, "false"),
	  .help = "the token is needed to read, too" },

	{ KEY(log.level, ENUM, "info"), .words = level_words,
	  .help = "least urgent lines to log" },
	{ KEY(log.target, STRING, "stderr"), .check = conf_form_log,
	  .required = true,
	  .help = "stderr, syslog or a file" },
	{ KEY(log.format, ENUM, "text"), .words = format_words,
	  .help = "form of a line" },

	{ .name = NULL },
};

_Static_assert(NKEYS <= CONF_KEYS_MAX, "raise CONF_KEYS_MAX");
_Static_assert(sizeof(route_fields) / sizeof(route_fields[0]) <=
    CONF_FIELDS_MAX, "raise CONF_FIELDS_MAX");

const struct conf_key *
conf_keys(size_t *n)
{
	*n = NKEYS;
	return conf_table;
}
