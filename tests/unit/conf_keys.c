/*
 * conf_keys.c - the configuration, key by key
 *
 * Most of it are tables that are walked: a wrong value for every key by its
 * type, and for every key a value that must arrive in its field.  A key
 * without a row, or without a place in the sample or the manual, fails.
 */
#include "unit/conf_test.h"

#include <ctype.h>
#include <inttypes.h>

#include "ctl/config_json.h"
#include "util/buf.h"

/* A wrong type, and what only looks like the right one. */
static const char *const wrong_ints[] = { "four", "\"4\"", "4.5", "4.",
	"[4]", "{a: 4}", "", "~", "null", "true", "0x10", "010", "1e2", "4 5",
	"4s", "+", "99999999999999999999", "-99999999999999999999", NULL };
static const char *const wrong_durations[] = { "soon", "15 s", "15d", "1e2",
	"-5", "-1ms", "[15]", "{s: 15}", "", "~", "5.", ".", "5s5", "--5",
	"05", "0.0001", "0.5ms", "99999999999999999999h", "2562047788016h",
	"0.00000000000000000000000000001", NULL };
static const char *const wrong_fractions[] = { "half", "\"0.5\"", "[0.5]",
	"{a: 1}", "", "~", "0,5", ".", "1e-1", ".nan", ".inf", "0.1234567",
	"0.1.1", "50%", NULL };
static const char *const wrong_bools[] = { "\"true\"", "maybe", "1", "0",
	"y", "[true]", "{a: true}", "", "~", NULL };
static const char *const wrong_strings[] = { "[a]", "{a: b}", "\"a\\tb\"",
	"\"a\\nb\"", "\"/a\\0b\"", "\"a\\u0085b\"", "\"a\\u2028b\"",
	"\"a\\ufeffb\"", "\"a\\uffffb\"", "\"\\x7f\"", "!!str a", "&a b",
	"*a", NULL };
static const char *const wrong_lists[] = { "{a: b}", "[[a]]", "[{a: b}]",
	"[\"\"]", "[~]", "[a, a]", "[\"a\\tb\"]", "[a b]", NULL };
static const char *const wrong_enums[] = { "nonsense", "[x]", "{x: y}", "",
	"~", "0", "\"\"", NULL };

static const char *const wrong_maps[] = { "a", "[a]", "[{a: b}]",
	"{a: [b]}", "{a: {b: c}}", "{a: }", "{'': b}", "{[a]: b}", "4",
	"{\"a\\tb\": c}", "{a: \"b\\tc\"}", NULL };
static const char *const wrong_records[] = { "a", "{a: b}", "[a]", "[[a]]",
	"[{}]", "[{a: b}]", "[{{a: b}: c}]", "4", "[~]",
	NULL };

/* A mapping or records. */
static const char *const wrong_pairs[] = { "a", "[a]", "[[a]]", "[{}]",
	"[{a: b}]", "[{{a: b}: c}]", "4", "[~]", "{a: [b]}", "{a: {b: c}}",
	"{a: }", "{'': b}", "{[a]: b}", "{\"a\\tb\": c}", "{a: \"b\\nc\"}",
	NULL };

static const char *const *const wrong[] = {
	[CONF_INT] = wrong_ints, [CONF_DURATION] = wrong_durations,
	[CONF_FRACTION] = wrong_fractions, [CONF_BOOL] = wrong_bools,
	[CONF_STRING] = wrong_strings, [CONF_LIST] = wrong_lists,
	[CONF_MAP] = wrong_maps, [CONF_RECORDS] = wrong_records,
	[CONF_ENUM] = wrong_enums,
};

START_TEST(wrong_type_is_refused)
{
	const struct conf_key		*k = key_at(_i);
	const char *const		*texts = k->pairs ? wrong_pairs :
					    wrong[k->type];

	for (size_t i = 0; texts[i] != NULL; i++)
		check_refused(k->name, texts[i], "");
}
END_TEST

/* Strings and lists that must not be empty; mysql.socket is a relation. */
static const char *const required[] = { "master.pidfile", "mysql.socket",
	"mysql.user", "mysql.database", "outbox.tables.outbox",
	"outbox.tables.events", "outbox.tables.partitions",
	"outbox.tables.workers", "outbox.tables.settings",
	"outbox.tables.dead_letters", "outbox.tables.blocked_keys",
	"outbox.tables.streams", "outbox.tables.audit",
	"outbox.tables.registry",
	"outbox.tables.messages",
	"nats.servers", "nats.subject", "nats.inbox_prefix", "kafka.brokers",
	"kafka.topic", "log.target" };

static bool
is_required(const char *name)
{
	for (int i = 0; i < NROWS(required); i++)
		if (strcmp(required[i], name) == 0)
			return true;
	return false;
}

/* An empty string or list: refused where required, taken where not. */
START_TEST(empty_value)
{
	const struct conf_key	*k = key_at(_i);
	const char		*empty[] = { "", "~", "\"\"",
				    k->type == CONF_MAP ? "{}" : "[]" };

	if (k->type != CONF_STRING && !conf_has_items(k))
		return;
	for (size_t i = 0; i < (conf_has_items(k) ? 4 : 3); i++) {
		struct conf	*c;
		char		*text;

		if (is_required(k->name)) {
			check_refused(k->name, empty[i], "empty");
			continue;
		}
		document(&text, k->name, empty[i]);
		c = must_load(text);
		ck_assert(conf_is_empty(c, k));
		conf_free(c);
		free(text);
	}
}
END_TEST

START_TEST(long_text_is_refused)
{
	const struct conf_key	*k = key_at(_i);
	char			 text[1100];

	if (k->type != CONF_STRING && k->type != CONF_LIST)
		return;
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	check_refused(k->name, text, "longer than");
}
END_TEST

/* What no key of a kind takes. */
static const struct {
	const char	*key, *value, *what;
} kinds[] = {
	{ "master.pidfile", "a/b", "absolute path" },
	{ "mysql.socket", "a/b", "absolute path" },
	{ "mysql.password_file", "a/b", "absolute path" },
	{ "mysql.server_public_key", "a/b", "absolute path" },
	{ "mysql.operator.password_file", "a/b", "absolute path" },
	{ "mysql.tls.ca", "a/b", "absolute path" },
	{ "mysql.tls.cert", "a/b", "absolute path" },
	{ "mysql.tls.key", "a/b", "absolute path" },
	{ "nats.password_file", "a/b", "absolute path" },
	{ "nats.token_file", "a/b", "absolute path" },
	{ "nats.nkey_file", "a/b", "absolute path" },
	{ "nats.credentials_file", "a/b", "absolute path" },
	{ "nats.tls.ca", "a/b", "absolute path" },
	{ "nats.tls.cert", "a/b", "absolute path" },
	{ "nats.tls.key", "a/b", "absolute path" },
	{ "monitor.socket", "a/b", "absolute path" },
	{ "monitor.token_file", "a/b", "absolute path" },
	{ "http.token_file", "a/b", "absolute path" },
	{ "http.content_type", "text", "is no content type" },
	{ "http.content_type", "text/", "is no content type" },
	{ "http.content_type", "text/ü", "not legal in a header" },
	{ "http.metadata_headers", "[TE]", "is not for rows to set" },
	{ "http.metadata_headers", "[proxy-x]", "is not for rows to set" },
	{ "http.metadata_headers", "[Host]", "set by the daemon" },
	{ "http.metadata_headers", "[proxy]", "is not for rows to set" },
	{ "http.metadata_headers", "[Proxy_A]", "is not for rows to set" },
	{ "http.metadata_headers", "[Content_Length]", "set by the daemon" },
	{ "http.metadata_headers", "[x_outbox_key]", "set by the daemon" },
	{ "http.metadata_headers", "[AUTHORIZATION]", "is a secret" },
	{ "http.metadata_headers", "[a b]", "not the name of an HTTP header" },
	{ "http.allow_clear", "['http://h']", "is no host name" },
	{ "http.allow_clear", "['[::1]']", "is no host name" },
	{ "http.tls.ca", "a/b", "absolute path" },
	{ "http.tls.cert", "a/b", "absolute path" },
	{ "http.tls.key", "a/b", "absolute path" },
	{ "http.token_env", "A-B", "environment variable" },
	{ "kafka.brokers", "['ssl://b']", "has a scheme" },
	{ "kafka.brokers", "['a:1,b:1']", "has a comma" },
	{ "kafka.topic", "a b", "letters, digits" },
	{ "kafka.topic", "'a}'", "letters, digits" },
	{ "kafka.topic", "'{type}'", "is not {event_type}" },
	{ "kafka.topic", "..", "is not the name of a topic" },
	{ "kafka.client", "{acks: '1'}", "is always all" },
	{ "kafka.client", "{request.required.acks: '1'}", "is always all" },
	{ "kafka.client", "{enable.idempotence: 'false'}", "is always true" },
	{ "kafka.client", "{message.timeout.ms: '0'}", "publish.timeout_ms" },
	{ "kafka.client", "{delivery.timeout.ms: '0'}", "publish.timeout_ms" },
	{ "kafka.client", "{max.in.flight: '1'}", "publish.window" },
	{ "kafka.client", "{max.in.flight.requests.per.connection: '1'}",
	  "publish.window" },
	{ "kafka.client", "{partitioner: random}", "Java" },
	{ "kafka.client", "{queue.buffering.max.messages: '1'}",
	  "publish.window" },
	{ "kafka.client", "{delivery.report.only.error: 'true'}", "driver's" },
	{ "kafka.client", "{dr_msg_cb: 'x'}", "driver's" },
	{ "kafka.client", "{transactional.id: 'x'}", "not supported" },
	{ "kafka.client", "{bootstrap.servers: 'x'}", "kafka.brokers" },
	{ "kafka.client", "{sasl.password: 'x'}", "kafka.sasl.password_file" },
	{ "kafka.client", "{ssl.key.password: 'x'}", "kafka.client_files" },
	{ "kafka.client", "{Linger: 'x'}", "lower-case" },
	{ "kafka.client_files", "{acks: /a}", "is always all" },
	{ "kafka.client_files", "{ssl.key.password: a}", "absolute path" },
	{ "kafka.sasl.mechanism", "plain", "is not PLAIN" },
	{ "kafka.sasl.password_file", "a/b", "absolute path" },
	{ "kafka.sasl.password_env", "A-B", "environment variable" },
	{ "kafka.tls.ca", "a/b", "absolute path" },
	{ "kafka.tls.cert", "a/b", "absolute path" },
	{ "kafka.tls.key", "a/b", "absolute path" },
	{ "outbox.tables.messages", "a.b", "letters, digits" },
	{ "outbox.partition_by", "a.b", "letters, digits" },
	{ "mysql.password_env", "A-B", "environment variable" },
	{ "mysql.operator.password_env", "A-B", "environment variable" },
	{ "nats.password_env", "A-B", "environment variable" },
	{ "nats.token_env", "A-B", "environment variable" },
	{ "outbox.tables.outbox", "a.b", "letters, digits" },
	{ "outbox.tables.events", "a.b", "letters, digits" },
	{ "outbox.tables.partitions", "a.b", "letters, digits" },
	{ "outbox.tables.workers", "a.b", "letters, digits" },
	{ "outbox.tables.settings", "a.b", "letters, digits" },
	{ "outbox.tables.dead_letters", "a.b", "letters, digits" },
	{ "outbox.tables.blocked_keys", "a.b", "letters, digits" },
};

/* How long a text may be: so much is taken, one more is not. */
static const struct {
	const char	*key;
	unsigned	 max;
} lengths[] = {
	{ "master.user", 1023 }, { "log.target", 1023 },
	{ "mysql.socket", 107 }, { "monitor.socket", 107 },
	{ "mysql.database", 64 }, { "outbox.tables.events", 64 },
	{ "nats.stream", 255 }, { "nats.subject", 255 },
	{ "nats.domain", 64 }, { "nats.api_prefix", 100 },
	{ "nats.msg_id_prefix", 64 }, { "mysql.hosts", 255 },
	{ "nats.advisory", 255 }, { "wake.subject", 255 },
	{ "http.path", 255 }, { "publish.source", 255 },
};

START_TEST(length_is_kept)
{
	const struct conf_key	*k = conf_key(lengths[_i].key);
	unsigned		 n = lengths[_i].max;
	char			 value[1100] = "/", *doc;

	/* A path begins with a slash, and most names have none. */
	if (strstr(k->name, "socket") == NULL && k->check != conf_form_log)
		value[0] = 'a';
	memset(value + 1, 'a', n);
	value[n + 1] = '\0';
	check_refused(k->name, value, k->type == CONF_LIST ? "HOST" :
	    "is longer than ");
	value[n] = '\0';
	document(&doc, k->name, value);
	conf_free(must_load(doc));
	free(doc);
}
END_TEST

START_TEST(key_is_of_its_kind)
{
	check_refused(kinds[_i].key, kinds[_i].value, kinds[_i].what);
}
END_TEST

static char *
outside(const struct conf_key *k, int64_t limit, int step)
{
	if (k->type == CONF_DURATION)
		return xasprintf("%" PRId64 "ms", limit + step);
	if (k->type == CONF_INT)
		return xasprintf("%" PRId64, limit + step);
	/* Hundredths, and a step of one millionth past a whole number. */
	return limit == 0 ? xstrdup(step != 0 ? "-0.000001" : "0") :
	    xasprintf("%" PRId64 "%s", limit / 100, step != 0 ? ".000001" :
	    "");
}

/* At its limit a value may still break a relation, but not its range. */
static void
check_limit(const struct conf_key *k, int64_t limit, int step)
{
	struct err	 e;
	char		*past = outside(k, limit, step);
	char		*at = outside(k, limit, 0), *text;
	struct conf	*c;

	check_refused(k->name, past, "is not from ");
	document(&text, k->name, at);
	if ((c = load_bytes(text, strlen(text), NULL, &e)) == NULL)
		holds(e.text, " must ");
	conf_free(c);
	free(text);
	free(past);
	free(at);
}

START_TEST(range_is_kept)
{
	const struct conf_key	*k = key_at(_i);

	if (k->type != CONF_INT && k->type != CONF_DURATION &&
	    k->type != CONF_FRACTION)
		return;
	check_limit(k, k->min, -1);
	check_limit(k, k->max, 1);
}
END_TEST

#define KEY(field)	.key = #field, .at = offsetof(struct conf, field)
#define NKEY	"UAGS3RYOZ66WQ3IQQQ7RBKU2A5EW3F2BQRVYDXCZUICKXVMUPOXLOKGW"
#define TLS_PAIR	"tls: {cert: /c.pem, key: /k.pem}"
#define NAMED	"monitor: {user_header: X-User, proxies: ['::1', 'uid:33'], " \
		"tokens: [{name: '*', may: read}]}"

/* For every key a value that is not the default, and how it reads back. */
static const struct {
	const char	*key;
	size_t		 at;
	const char	*value, *text;
	const char	*doc;		/* with other keys; or NULL */
} stored[] = {
	{ KEY(master.workers), "7", "7" },
	{ KEY(master.user), "nobody", "nobody" },
	{ KEY(master.pidfile), "/p", "/p" },
	{ KEY(master.stop_timeout), "5.5", "5500ms" },
	{ KEY(master.hang_timeout), "0", "0s" },
	{ KEY(mysql.hosts), "[db1, 'db-2:33', '[::1]:3306']",
	  "[db1, \"db-2:33\", \"[::1]:3306\"]" },
	{ KEY(mysql.hosts), NULL, "[db1, \"[fe80::1]\"]",
	  "mysql:\n  database: a\n  hosts:\n  - db1\n  - '[fe80::1]'\n" },
	{ KEY(mysql.hosts), "db1", "[db1]" },
	{ KEY(mysql.socket), "/run/my.sock", "/run/my.sock" },
	{ KEY(mysql.socket), NULL, "/run/my.sock",
	  "mysql: {database: a, hosts: , socket: /run/my.sock}" },
	{ KEY(mysql.user), "'o\"\\x'", "\"o\\\"\\\\x\"" },
	{ KEY(mysql.password_file), "/pw", "/pw" },
	{ KEY(mysql.password_env), "DB_PW2", "DB_PW2" },
	{ KEY(mysql.database), "2024", "\"2024\"" },
	{ KEY(mysql.server_public_key), "/key.pem", "/key.pem" },
	{ KEY(mysql.operator.user), NULL, "op",
	  "mysql: {database: a, operator: {user: op}}" },
	{ KEY(mysql.operator.password_file), NULL, "/pw",
	  "mysql: {database: a, operator: {user: op, password_file: /pw}}" },
	{ KEY(mysql.operator.password_env), NULL, "PW",
	  "mysql: {database: a, operator: {user: op, password_env: PW}}" },
	{ KEY(mysql.tls.mode), "verify", "verify" },
	{ KEY(mysql.tls.ca), "/ca.pem", "/ca.pem" },
	{ KEY(mysql.tls.cert), NULL, "/c.pem",
	  "mysql: {database: a, " TLS_PAIR "}" },
	{ KEY(mysql.tls.key), NULL, "/k.pem",
	  "mysql: {database: a, " TLS_PAIR "}" },
	{ KEY(outbox.partition_count), "+64", "64" },
	{ KEY(outbox.former_counts), NULL, "[\"16\", \"024\", \"1\"]",
	  "outbox: {partition_count: 48, former_counts: [16, '024', 1]}" },
	{ KEY(outbox.former_counts), "64", "[\"64\"]" },
	{ KEY(outbox.mode), "inline", "inline" },
	{ KEY(outbox.ordering), "none", "none" },
	{ KEY(outbox.ordering), "\"partition\"", "partition" },
	{ KEY(outbox.tables.outbox), "o-1", "o-1" },
	{ KEY(outbox.tables.events), "$e_1", "\"$e_1\"" },
	{ KEY(outbox.tables.partitions), "no", "\"no\"" },
	{ KEY(outbox.tables.workers), "'0123'", "\"0123\"" },
	{ KEY(outbox.tables.settings), "'null'", "\"null\"" },
	{ KEY(outbox.tables.dead_letters), "d", "d" },
	{ KEY(outbox.tables.blocked_keys), "b", "b" },
	{ KEY(retry.on_dead), "halt", "halt" },
	{ KEY(outbox.tables.streams), "t", "t" },
	{ KEY(outbox.tables.audit), "a", "a" },
	{ KEY(outbox.tables.registry), "r", "r" },
	{ KEY(outbox.tables.messages), "m", "m" },
	{ KEY(outbox.columns), "{sequence: 'n', event_data: $p}",
	  "{sequence: \"n\", event_data: \"$p\"}" },
	{ KEY(outbox.columns), NULL, "{stream_id: key, metadata: key}",
	  "outbox:\n  columns:\n    stream_id: key\n    metadata: key" },
	{ KEY(outbox.scheduled), "hold", "hold" },
	{ KEY(outbox.partition_by), "tenant", "tenant" },
	{ KEY(outbox.partition_by), "$.a-1.b", "\"$.a-1.b\"" },
	{ KEY(worker.leasing), NULL, "false",
	  "worker: {leasing: Off}\noutbox: {ordering: none}" },
	{ KEY(worker.leasing), NULL, "false",
	  "worker: {leasing: no}\nmaster: {workers: 1}" },
	{ KEY(worker.lease_ttl), "20", "20s" },
	{ KEY(worker.lease_renew), "1500ms", "1500ms" },
	{ KEY(worker.heartbeat_ttl), "10.001", "10001ms" },
	{ KEY(worker.batch_size), "1", "1" },
	{ KEY(worker.batch_bytes), "65536", "65536" },
	{ KEY(worker.claim_ttl), "1h", "1h" },
	{ KEY(worker.linger_ms), "0", "0" },
	{ KEY(worker.idle_backoff_ms), "60000", "60000" },
	{ KEY(wake.binlog), "yes", "true" },
	{ KEY(wake.binlog), "true", "true" },
	{ KEY(wake.binlog), "Off", "false" },
	{ KEY(retry.backoff), ".5", "500ms" },
	{ KEY(retry.max_backoff), "90s", "90s" },
	{ KEY(retry.jitter), "0.123456", "0.123456" },
	{ KEY(retry.jitter), "1", "1" },
	{ KEY(retry.jitter), "0", "0" },
	{ KEY(retry.max_attempts), "3", "3" },
	{ KEY(retry.blame_after), "30", "30s" },
	{ KEY(retry.burst), "3", "3" },
	{ KEY(retry.burst_time), "30", "30s" },
	{ KEY(publish.window), "1", "1" },
	{ KEY(publish.timeout_ms), "100", "100" },
	{ KEY(publish.types), "[order.*, a]", "[\"order.*\", a]" },
	{ KEY(publish.driver), "stdout", "stdout" },
	{ KEY(publish.driver), "discard", "discard" },
	{ KEY(publish.driver), NULL, "http",
	  "publish: {driver: http}\nhttp: {endpoint: 'http://h'}" },
	{ KEY(publish.envelope), "json", "json" },
	{ KEY(publish.envelope), "cloudevents-binary", "cloudevents-binary" },
	{ KEY(publish.source), "//shop/a", "//shop/a" },
	{ KEY(publish.type_case), "kebab", "kebab" },
	{ KEY(publish.type_case), "snake", "snake" },
	{ KEY(publish.type_aliases), "{OrderPlaced: order.placed, 'a\"b': c}",
	  "{OrderPlaced: order.placed, \"a\\\"b\": c}" },
	{ KEY(publish.unmatched), NULL, "dead",
	  "publish:\n  unmatched: dead\n  routes:\n"
	  "  - {name: a, type: b, driver: nats}" },
	{ KEY(publish.routes), NULL,
	  "[{name: a, type: \"order.*\", driver: nats, "
	  "subject: \"x.{event_type}\", envelope: json, max_attempts: 3, "
	  "backoff: 2s, max_backoff: 1h}, "
	  "{name: \"1-b\", header: \"tenant=*\", driver: http, "
	  "endpoint: \"https://h/x\", path: \"{stream_id}\"}]",
	  "publish:\n  routes:\n  - name: a\n    type: order.*\n"
	  "    driver: nats\n    subject: 'x.{event_type}'\n"
	  "    envelope: json\n    max_attempts: 3\n    backoff: 2\n"
	  "    max_backoff: 60m\n  - {name: 1-b, header: 'tenant=*',\n"
	  "     driver: http, endpoint: 'https://h/x', path: '{stream_id}',\n"
	  "     envelope: '', max_attempts: , backoff: ~, topic: ''}" },
	{ KEY(publish.routes), NULL,
	  "[{name: a, topic: \"b*\", driver: nats, subject: \"{topic}\"}]",
	  "outbox: {mode: inline}\npublish: {routes: [{name: a, topic: b*,"
	  " driver: nats, subject: '{topic}'}]}" },
	{ KEY(nats.core), NULL, "true", "nats: {core: true, stream: ''}" },
	{ KEY(http.endpoint), "https://[::1]:8443/a/b",
	  "\"https://[::1]:8443/a/b\"" },
	{ KEY(http.endpoint), "http://h", "\"http://h\"" },
	{ KEY(http.path), "'a/{stream_id}/{partition}%20'",
	  "\"a/{stream_id}/{partition}%20\"" },
	{ KEY(http.path), "''", "\"\"" },
	{ KEY(http.content_type), "text/plain; charset=utf-8",
	  "\"text/plain; charset=utf-8\"" },
	{ KEY(http.concurrency), "1024", "1024" },
	{ KEY(http.signing_keys), "[{id: k-1, file: /k1}, {file: /k, id: K_2}]",
	  "[{id: k-1, file: /k1}, {id: K_2, file: /k}]" },
	{ KEY(http.headers), "{X-Team: \"a, b\", x.y: '1'}",
	  "[{name: X-Team, value: \"a, b\"}, {name: x.y, value: \"1\"}]" },
	{ KEY(http.headers), "[{name: X-Api-Key, file: /k}, {value: b, "
	  "name: a}]", "[{name: X-Api-Key, file: /k}, {name: a, value: b}]" },
	{ KEY(http.metadata_headers), "[X-Tenant, a.b]", "[X-Tenant, a.b]" },
	{ KEY(http.token_file), "/t", "/t" },
	{ KEY(http.token_env), "T", "T" },
	{ KEY(http.follow_redirects), "true", "true" },
	{ KEY(http.allow_private), "false", "false" },
	{ KEY(http.allow_clear), "[h, '::1']", "[h, \"::1\"]" },
	{ KEY(http.proxy), "socks5://p:1080", "\"socks5://p:1080\"" },
	{ KEY(http.tls.verify), "off", "false" },
	{ KEY(http.tls.ca), "/ca.pem", "/ca.pem" },
	{ KEY(http.tls.cert), NULL, "/c.pem", "http: {" TLS_PAIR "}" },
	{ KEY(http.tls.key), NULL, "/k.pem", "http: {" TLS_PAIR "}" },
	{ KEY(publish.driver), "kafka", "kafka" },
	{ KEY(kafka.brokers), "[k1, 'k2:9093', '[::1]:1']",
	  "[k1, \"k2:9093\", \"[::1]:1\"]" },
	{ KEY(kafka.topic), "'{event_type}_{partition}-x'",
	  "\"{event_type}_{partition}-x\"" },
	{ KEY(kafka.recover), "off", "off" },
	{ KEY(kafka.client), "{compression.type: lz4, linger.ms: 5}",
	  "{compression.type: lz4, linger.ms: \"5\"}" },
	{ KEY(kafka.client_files), "{ssl.key.password: /p}",
	  "{ssl.key.password: /p}" },
	{ KEY(kafka.sasl.mechanism), "SCRAM-SHA-512", "SCRAM-SHA-512" },
	{ KEY(kafka.sasl.user), NULL, "u",
	  "kafka: {sasl: {mechanism: PLAIN, user: u}}" },
	{ KEY(kafka.sasl.password_file), NULL, "/p",
	  "kafka: {sasl: {mechanism: PLAIN, user: u, password_file: /p}}" },
	{ KEY(kafka.sasl.password_env), NULL, "P",
	  "kafka: {sasl: {mechanism: PLAIN, user: u, password_env: P}}" },
	{ KEY(kafka.tls.mode), "require", "require" },
	{ KEY(kafka.tls.ca), "/ca.pem", "/ca.pem" },
	{ KEY(kafka.tls.cert), NULL, "/c.pem", "kafka: {" TLS_PAIR "}" },
	{ KEY(kafka.tls.key), NULL, "/k.pem", "kafka: {" TLS_PAIR "}" },
	{ KEY(nats.servers), "[tls://n1, 'n2:4223', 'nats://[::1]:1']",
	  "[\"tls://n1\", \"n2:4223\", \"nats://[::1]:1\"]" },
	{ KEY(nats.stream), "", "\"\"" },
	{ KEY(nats.domain), "leaf", "leaf" },
	{ KEY(nats.api_prefix), "$JS.hub.API", "\"$JS.hub.API\"" },
	{ KEY(nats.subject), "'a.{stream_id}.x{partition}y.{event_type}'",
	  "\"a.{stream_id}.x{partition}y.{event_type}\"" },
	{ KEY(nats.msg_id_prefix), "'a!~'", "\"a!~\"" },
	{ KEY(nats.advisory), "ops.dead", "ops.dead" },
	{ KEY(nats.inbox_prefix), "_OUTBOX.a", "\"_OUTBOX.a\"" },
	{ KEY(nats.recover), "report", "report" },
	{ KEY(nats.scrub), "5000", "5000" },
	{ KEY(nats.user), "bj\xc3\xb6rn", "\"bj\xc3\xb6rn\"" },
	{ KEY(nats.password_file), NULL, "/pw",
	  "nats: {user: u, password_file: /pw}" },
	{ KEY(nats.password_env), NULL, "\"_PW\"",
	  "nats: {user: u, password_env: _PW}" },
	{ KEY(nats.token_file), "/t", "/t" },
	{ KEY(nats.token_env), "T", "T" },
	{ KEY(nats.nkey), NULL, NKEY, "nats: {nkey: " NKEY ", nkey_file: /s}" },
	{ KEY(nats.nkey_file), NULL, "/s",
	  "nats: {nkey: " NKEY ", nkey_file: /s}" },
	{ KEY(nats.credentials_file), "/c.creds", "/c.creds" },
	{ KEY(nats.tls.mode), "require", "require" },
	{ KEY(nats.tls.first), "true", "true" },
	{ KEY(nats.tls.ca), "/ca.pem", "/ca.pem" },
	{ KEY(nats.tls.cert), NULL, "/c.pem",
	  "nats: {" TLS_PAIR "}" },
	{ KEY(nats.tls.key), NULL, "/k.pem",
	  "nats: {" TLS_PAIR "}" },
	{ KEY(retention.days), "7", "7" },
	{ KEY(retention.dead_days), "36500", "36500" },
	{ KEY(retention.batch), "1", "1" },
	{ KEY(reconcile.at_start), "on", "on" },
	{ KEY(reconcile.at_start), "off", "off" },
	{ KEY(wake.subject), "outbox.wake", "outbox.wake" },
	{ KEY(health.max_age), "5m", "5m" },
	{ KEY(monitor.socket), "/m.sock", "/m.sock" },
	{ KEY(monitor.listen), "'[::1]:9180'", "\"[::1]:9180\"" },
	{ KEY(monitor.allow_remote), "true", "true" },
	{ KEY(monitor.hosts), "[a.example, b]", "[a.example, b]" },
	{ KEY(monitor.token_file), "/t", "/t" },
	{ KEY(monitor.tokens), "[{name: anna, file: /a, may: act}, {may: [read,"
	  " dead-retry], file: /b, name: 'b@x.example'}]",
	  "[{name: anna, file: /a, may: [act]}, {name: \"b@x.example\", "
	  "file: /b, may: [read, dead-retry]}]" },
	{ KEY(monitor.user_header), NULL, "X-User", NAMED },
	{ KEY(monitor.proxies), NULL, "[\"::1\", \"uid:33\"]", NAMED },
	{ KEY(monitor.require_token), NULL, "true",
	  "monitor: {token_file: /t, require_token: true}" },
	{ KEY(log.level), "debug", "debug" },
	{ KEY(log.target), "/var/log/o b.log", "\"/var/log/o b.log\"" },
	{ KEY(log.format), "json", "json" },
};

static struct conf *
load_stored(int i)
{
	struct conf	*c;
	char		*doc;

	if (stored[i].doc != NULL)
		return must_load(stored[i].doc);
	document(&doc, stored[i].key, stored[i].value);
	c = must_load(doc);
	free(doc);
	return c;
}

START_TEST(value_arrives_in_its_field)
{
	const struct conf_key	*k = conf_key(stored[_i].key);
	struct conf		*dflt = must_load(""), *c;
	char			*text, *was;

	ck_assert_uint_eq(k->at, stored[_i].at);
	c = load_stored(_i);
	text = conf_text(c, k);
	was = conf_text(dflt, k);
	ck_assert_str_eq(text, stored[_i].text);
	ck_assert_str_ne(text, was);
	free(text);
	free(was);
	conf_free(c);
	conf_free(dflt);
}
END_TEST

/* The same key as a variable: "worker.lease_ttl", OUTBOX_WORKER_LEASE_TTL. */
static char *
variable_of(const char *key)
{
	char	*name = xasprintf("OUTBOX_%s", key);

	for (char *p = name; *p != '\0'; p++)
		*p = *p == '.' ? '_' : (char)toupper((unsigned char)*p);
	return name;
}

/* The value of a variable: a text as it is, a list with commas. */
static char *
value_of_variable(const struct conf *c, const struct conf_key *k)
{
	const struct conf_list	*list = conf_field(c, k);
	struct buf		 b = { 0 };

	if (k->type == CONF_STRING)
		return xstrdup(*(char *const *)conf_field(c, k));
	if (k->type != CONF_LIST)
		return conf_text(c, k);
	for (size_t i = 0; i < list->n; i++)
		buf_printf(&b, "%s%s", i == 0 ? " " : " , ", list->items[i]);
	return b.data;
}

/* The variable has the row's value, the file has none or the default. */
START_TEST(variable_arrives_in_its_field)
{
	const struct conf_key	*k = conf_key(stored[_i].key);
	struct conf		*c = load_stored(_i);
	char			*name, *value, *text;

	if (k->type == CONF_MAP || k->type == CONF_RECORDS) {
		conf_free(c);
		return;
	}
	name = variable_of(k->name);
	value = value_of_variable(c, k);
	conf_free(c);
	ck_assert_int_eq(setenv(name, value, 1), 0);
	c = stored[_i].doc == NULL ? must_load("") : load_stored(_i);
	text = conf_text(c, k);
	ck_assert_str_eq(text, stored[_i].text);
	unsetenv(name);
	free(text);
	free(value);
	free(name);
	conf_free(c);
}
END_TEST

/* A map or records have names that no variable could spell. */
START_TEST(variable_cannot_be_nested)
{
	const struct conf_key	*k = key_at(_i);
	char			*name = variable_of(k->name);
	struct err		 e;

	if (k->type == CONF_MAP || k->type == CONF_RECORDS) {
		ck_assert_int_eq(setenv(name, "{}", 1), 0);
		ck_assert_ptr_null(load("", NULL, &e));
		starts(e.text, name);
		holds(e.text, "which only the file can set");
		unsetenv(name);
	}
	free(name);
}
END_TEST

/* A field has a setter, and a value that says that it is not set. */
START_TEST(field_can_be_left_out)
{
	const struct conf_key	*k = key_at(_i);

	ck_assert(k->type != CONF_RECORDS || (k->nfields > 0 &&
	    k->fields[0].type == CONF_STRING && k->fields[0].required));
	for (size_t i = 0; i < k->nfields; i++) {
		const struct conf_key	*f = &k->fields[i];

		ck_assert_msg(f->type == CONF_STRING || f->inherits ||
		    f->type == CONF_LIST ||
		    (f->type == CONF_ENUM && f->required), "%s", f->name);
		ck_assert_str_ne(f->help, "");
	}
}
END_TEST

START_TEST(dump_reads_back)
{
	struct conf	*c = load_stored(_i), *again;
	char		*first = dump(c), *second, *line;
	struct err	 e;

	line = xasprintf("%s: %s\n", strrchr(stored[_i].key, '.') + 1,
	    stored[_i].text);
	holds(first, line);
	again = load_bytes(first, strlen(first), NULL, &e);
	ck_assert_msg(again != NULL, "%s\n%s", e.text, first);
	second = dump(again);
	ck_assert_str_eq(first, second);
	free(line);
	free(first);
	free(second);
	conf_free(c);
	conf_free(again);
}
END_TEST

/* What outboxctl config --json prints. */
START_TEST(json_reads_back)
{
	struct conf	*c = load_stored(_i), *again;
	json_t		*json = config_json(c);
	char		*first = dump(c), *second;
	char		*text = json_dumps(json, JSON_REAL_PRECISION(15));
	struct err	 e;

	again = load_bytes(text, strlen(text), NULL, &e);
	ck_assert_msg(again != NULL, "%s\n%s", e.text, text);
	second = dump(again);
	ck_assert_str_eq(first, second);
	json_decref(json);
	free(text);
	free(first);
	free(second);
	conf_free(c);
	conf_free(again);
}
END_TEST

START_TEST(every_key_has_a_row)
{
	const struct conf_key	*k = key_at(_i);
	bool			 found = false;

	for (int i = 0; i < NROWS(stored); i++)
		found |= strcmp(stored[i].key, k->name) == 0;
	ck_assert_msg(found, "%s has no row in stored[]", k->name);
}
END_TEST

/* The sample has every key, each with its default. */
START_TEST(sample_is_the_defaults)
{
	static const char	 names[] = "etc/outbox.yml";
	char			*text = slurp(names), *a, *b;
	struct conf_draft	 d = { .path = names };
	struct conf		*c, *dflt = must_load("");
	struct err		 e = { "" };

	d.conf = xcalloc(1, sizeof(*d.conf));
	ck_assert_msg(conf_read(&d, text, strlen(text), &e) == 0, "%s",
	    e.text);
	conf_free(d.conf);
	for (int i = 0; i < nkeys(); i++)
		ck_assert_msg(d.from[i].line != 0, "%s: no %s", names,
		    key_at(i)->name);
	c = load_bytes(text, strlen(text), NULL, &e);
	ck_assert_msg(c != NULL, "%s", e.text);
	a = dump(c);
	b = dump(dflt);
	ck_assert_str_eq(a, b);
	free(a);
	free(b);
	free(text);
	conf_free(c);
	conf_free(dflt);
}
END_TEST

/* The line after the item of a key says type, range and default. */
START_TEST(manual_has_the_key)
{
	static const char *const	 types[] = {
		[CONF_INT] = "Integer", [CONF_DURATION] = "Duration",
		[CONF_FRACTION] = "Fraction", [CONF_BOOL] = "Boolean",
		[CONF_STRING] = "String", [CONF_LIST] = "List",
		[CONF_MAP] = "Map", [CONF_RECORDS] = "Records",
		[CONF_ENUM] = "Word",
	};
	const struct conf_key		*k = key_at(_i);
	char				*man = slurp("man/outbox.yml.5");
	char				*item, *at, *what;

	item = xasprintf("\n.It Ic %s\n", k->name);
	at = strstr(man, item);
	ck_assert_msg(at != NULL, "no \"%s\" in the manual", item + 1);
	at += strlen(item);
	at[strcspn(at, "\n")] = '\0';
	starts(at, types[k->type]);
	if (k->max != 0)
		holds(at, conf_range(k).text + strlen("from "));
	if (k->words != NULL)
		holds(at, conf_wanted(k).text);
	what = *k->dflt == '\0' && k->required ? xstrdup("required.") :
	    xasprintf("default %s.", *k->dflt == '\0' ? "empty" : k->dflt);
	holds(at, what);
	ck_assert_str_ne(k->help, "");
	free(what);
	free(item);
	free(man);
}
END_TEST

void
add_keys(TCase *tc)
{
	tcase_add_loop_test(tc, variable_cannot_be_nested, 0, nkeys());
	tcase_add_loop_test(tc, field_can_be_left_out, 0, nkeys());
	tcase_add_loop_test(tc, wrong_type_is_refused, 0, nkeys());
	tcase_add_loop_test(tc, empty_value, 0, nkeys());
	tcase_add_loop_test(tc, key_is_of_its_kind, 0, NROWS(kinds));
	tcase_add_loop_test(tc, length_is_kept, 0, NROWS(lengths));
	tcase_add_loop_test(tc, long_text_is_refused, 0, nkeys());
	tcase_add_loop_test(tc, range_is_kept, 0, nkeys());
	tcase_add_loop_test(tc, every_key_has_a_row, 0, nkeys());
	tcase_add_loop_test(tc, manual_has_the_key, 0, nkeys());
	tcase_add_loop_test(tc, value_arrives_in_its_field, 0, NROWS(stored));
	tcase_add_loop_test(tc, variable_arrives_in_its_field, 0,
	    NROWS(stored));
	tcase_add_loop_test(tc, dump_reads_back, 0, NROWS(stored));
	tcase_add_loop_test(tc, json_reads_back, 0, NROWS(stored));
	tcase_add_test(tc, sample_is_the_defaults);
}
