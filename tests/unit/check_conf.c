/*
 * check_conf.c - the configuration, key by key
 *
 * Most of it are tables that are walked: a wrong value for every key by its
 * type, refused forms and relations with the line and key that the answer
 * must name, and for every key a value that must arrive in its field.  A key
 * without a row, or without a place in the sample or the manual, fails.
 */
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/conf.h"
#include "conf/conf_impl.h"
#include "util/err.h"
#include "util/xalloc.h"

#define NROWS(table)	((int)(sizeof(table) / sizeof((table)[0])))
#define SECRET		"hunter2"

static char	path[64];		/* of the last file written */

static void
write_file(const char *text, size_t size)
{
	int	fd;

	strcpy(path, "/tmp/check_conf.XXXXXX");
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, size), (ssize_t)size);
	close(fd);
}

static struct conf *
load_bytes(const char *text, size_t size, const struct conf_override *over,
    struct err *e)
{
	struct conf	*c;

	write_file(text, size);
	e->text[0] = '\0';
	c = conf_load(path, over, e);
	unlink(path);
	if (c == NULL) {
		ck_assert_str_ne(e->text, "");
		ck_assert_ptr_null(strstr(e->text, SECRET));
	} else
		ck_assert_str_eq(e->text, "");
	return c;
}

/* Rows leave the one required key to this, unless they set mysql. */
static struct conf *
load(const char *doc, const struct conf_override *over, struct err *e)
{
	char		*text = strncmp(doc, "mysql:", 6) == 0 ?
			    xstrdup(doc) :
			    xasprintf("mysql: {database: app}\n%s", doc);
	struct conf	*c = load_bytes(text, strlen(text), over, e);

	free(text);
	return c;
}

static struct conf *
must_load(const char *doc)
{
	struct err	 e;
	struct conf	*c = load(doc, NULL, &e);

	ck_assert_msg(c != NULL, "%s\n%s", e.text, doc);
	return c;
}

static void
starts(const char *text, const char *with)
{
	ck_assert_msg(strncmp(text, with, strlen(with)) == 0,
	    "\"%s\" does not start with \"%s\"", text, with);
}

static void
holds(const char *text, const char *what)
{
	ck_assert_msg(strstr(text, what) != NULL,
	    "\"%s\" does not hold \"%s\"", text, what);
}

/* line 0, key NULL: the error has none. */
static void
check_error(const struct err *e, unsigned line, const char *key,
    const char *what)
{
	char	where[256];
	int	n;

	n = snprintf(where, sizeof(where), "%s: ", path);
	if (line != 0)
		n += snprintf(where + n, sizeof(where) - (size_t)n,
		    "line %u: ", line);
	if (key != NULL)
		snprintf(where + n, sizeof(where) - (size_t)n, "%s: ", key);
	starts(e->text, where);
	holds(e->text + strlen(where), what);
}

static char *
dump(const struct conf *c)
{
	char	*text;
	size_t	 len;
	FILE	*f = open_memstream(&text, &len);

	conf_dump(c, f);
	fclose(f);
	return text;
}

static const struct conf_key *
key_at(int i)
{
	size_t			 n;
	const struct conf_key	*keys = conf_keys(&n);

	ck_assert_int_lt(i, (int)n);
	return &keys[i];
}

static int
nkeys(void)
{
	size_t	n;

	conf_keys(&n);
	return (int)n;
}

static char *
slurp(const char *name)
{
	const char	*dir = getenv("srcdir");
	char		*file = xasprintf("%s/%s", dir != NULL ? dir : ".",
			    name), *text = NULL;
	size_t		 size = 0;
	FILE		*f = fopen(file, "r");

	ck_assert_msg(f != NULL, "%s is not there", file);
	ck_assert_int_ge(getdelim(&text, &size, '\0', f), 0);
	fclose(f);
	free(file);
	return text;
}

/* A file with one key beside the required one; returns the key's line. */
static unsigned
document(char **text, const char *key, const char *value)
{
	bool		 mysql = strncmp(key, "mysql.", 6) == 0;
	const char	*name = mysql ? key + 6 : key, *dot;
	int		 depth = mysql ? 1 : 0;
	unsigned	 line = 0;
	size_t		 len;
	FILE		*f = open_memstream(text, &len);

	fputs(mysql ? "mysql:\n" : "mysql: {database: app}\n", f);
	if (mysql && strcmp(key, "mysql.database") != 0)
		fputs("  database: app\n", f);
	for (; (dot = strchr(name, '.')) != NULL; name = dot + 1)
		fprintf(f, "%*s%.*s:\n", 2 * depth++, "", (int)(dot - name),
		    name);
	fprintf(f, "%*s%s: %s\n", 2 * depth, "", name, value);
	fclose(f);
	for (const char *s = *text; *s != '\0'; s++)
		line += *s == '\n';
	return line;
}

/* The key with this value is refused, on its line and by its name. */
static void
check_refused(const struct conf_key *k, const char *value, const char *what)
{
	struct err	 e;
	char		*text;
	unsigned	 line = document(&text, k->name, value);
	struct conf	*c = load_bytes(text, strlen(text), NULL, &e);

	ck_assert_msg(c == NULL, "%s: %s was taken", k->name, value);
	check_error(&e, line, k->name, what);
	free(text);
}

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

static const char *const *const wrong[] = {
	[CONF_INT] = wrong_ints, [CONF_DURATION] = wrong_durations,
	[CONF_FRACTION] = wrong_fractions, [CONF_BOOL] = wrong_bools,
	[CONF_STRING] = wrong_strings, [CONF_LIST] = wrong_lists,
	[CONF_ENUM] = wrong_enums,
};

START_TEST(wrong_type_is_refused)
{
	const struct conf_key	*k = key_at(_i);

	for (size_t i = 0; wrong[k->type][i] != NULL; i++)
		check_refused(k, wrong[k->type][i], "");
}
END_TEST

/* Strings and lists that must not be empty; mysql.hosts is a relation. */
static const char *const required[] = { "master.pidfile", "mysql.hosts",
	"mysql.user", "mysql.database", "outbox.tables.outbox",
	"outbox.tables.events", "outbox.tables.partitions",
	"outbox.tables.workers", "outbox.tables.settings",
	"outbox.tables.dead_letters", "outbox.tables.blocked_keys",
	"outbox.tables.streams", "outbox.tables.audit",
	"nats.servers", "nats.subject", "log.target" };

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
	static const char *const	 empty[] = { "", "~", "\"\"", "[]" };
	const struct conf_key		*k = key_at(_i);

	if (k->type != CONF_STRING && k->type != CONF_LIST)
		return;
	for (size_t i = 0; i < (k->type == CONF_LIST ? 4 : 3); i++) {
		struct conf	*c;
		char		*text;

		if (is_required(k->name)) {
			check_refused(k, empty[i], "empty");
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
	check_refused(k, text, "longer than");
}
END_TEST

/* What no key of a kind takes. */
static const struct {
	const char	*key, *value, *what;
} kinds[] = {
	{ "master.pidfile", "a/b", "absolute path" },
	{ "mysql.socket", "a/b", "absolute path" },
	{ "mysql.password_file", "a/b", "absolute path" },
	{ "mysql.tls.ca", "a/b", "absolute path" },
	{ "mysql.tls.cert", "a/b", "absolute path" },
	{ "mysql.tls.key", "a/b", "absolute path" },
	{ "nats.password_file", "a/b", "absolute path" },
	{ "nats.token_file", "a/b", "absolute path" },
	{ "nats.credentials_file", "a/b", "absolute path" },
	{ "nats.tls.ca", "a/b", "absolute path" },
	{ "nats.tls.cert", "a/b", "absolute path" },
	{ "nats.tls.key", "a/b", "absolute path" },
	{ "monitor.socket", "a/b", "absolute path" },
	{ "mysql.password_env", "A-B", "environment variable" },
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
	{ "nats.msg_id_prefix", 64 }, { "mysql.hosts", 255 },
	{ "nats.advisory", 255 }, { "wake.subject", 255 },
};

START_TEST(length_is_kept)
{
	const struct conf_key	*k = key_at(conf_key_find(lengths[_i].key));
	unsigned		 n = lengths[_i].max;
	char			 value[1100] = "/", *doc;

	/* A path begins with a slash, and most names have none. */
	if (strstr(k->name, "socket") == NULL && k->check != conf_form_log)
		value[0] = 'a';
	memset(value + 1, 'a', n);
	value[n + 1] = '\0';
	check_refused(k, value, k->type == CONF_LIST ? "HOST" :
	    "is longer than ");
	value[n] = '\0';
	document(&doc, k->name, value);
	conf_free(must_load(doc));
	free(doc);
}
END_TEST

START_TEST(key_is_of_its_kind)
{
	check_refused(key_at(conf_key_find(kinds[_i].key)), kinds[_i].value,
	    kinds[_i].what);
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

	check_refused(k, past, "is not from ");
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

#define F(field)	offsetof(struct conf, field)
#define TLS_PAIR	"tls: {cert: /c.pem, key: /k.pem}"

/* For every key a value that is not the default, and how it reads back. */
static const struct {
	const char	*key;
	size_t		 at;
	const char	*doc, *text;
} stored[] = {
	{ "master.workers", F(master.workers), "master: {workers: 7}", "7" },
	{ "master.user", F(master.user), "master: {user: nobody}", "nobody" },
	{ "master.pidfile", F(master.pidfile), "master: {pidfile: /p}", "/p" },
	{ "master.stop_timeout", F(master.stop_timeout),
	  "master: {stop_timeout: 5.5}", "5500ms" },
	{ "master.hang_timeout", F(master.hang_timeout),
	  "master: {hang_timeout: 0}", "0s" },
	{ "mysql.hosts", F(mysql.hosts),
	  "mysql: {database: a, hosts: [db1, 'db-2:33', '[::1]:3306']}",
	  "[db1, \"db-2:33\", \"[::1]:3306\"]" },
	{ "mysql.hosts", F(mysql.hosts),
	  "mysql:\n  database: a\n  hosts:\n  - db1\n  - '[fe80::1]'\n",
	  "[db1, \"[fe80::1]\"]" },
	{ "mysql.hosts", F(mysql.hosts), "mysql: {database: a, hosts: db1}",
	  "[db1]" },
	{ "mysql.socket", F(mysql.socket),
	  "mysql: {database: a, socket: /run/my.sock}", "/run/my.sock" },
	{ "mysql.socket", F(mysql.socket),
	  "mysql: {database: a, hosts: , socket: /run/my.sock}",
	  "/run/my.sock" },
	{ "mysql.user", F(mysql.user), "mysql: {database: a, user: 'o\"\\x'}",
	  "\"o\\\"\\\\x\"" },
	{ "mysql.password_file", F(mysql.password_file),
	  "mysql: {database: a, password_file: /pw}", "/pw" },
	{ "mysql.password_env", F(mysql.password_env),
	  "mysql: {database: a, password_env: DB_PW2}", "DB_PW2" },
	{ "mysql.database", F(mysql.database), "mysql: {database: 2024}",
	  "\"2024\"" },
	{ "mysql.tls.mode", F(mysql.tls.mode),
	  "mysql: {database: a, tls: {mode: verify}}", "verify" },
	{ "mysql.tls.ca", F(mysql.tls.ca),
	  "mysql: {database: a, tls: {ca: /ca.pem}}", "/ca.pem" },
	{ "mysql.tls.cert", F(mysql.tls.cert),
	  "mysql: {database: a, " TLS_PAIR "}", "/c.pem" },
	{ "mysql.tls.key", F(mysql.tls.key),
	  "mysql: {database: a, " TLS_PAIR "}", "/k.pem" },
	{ "outbox.partition_count", F(outbox.partition_count),
	  "outbox: {partition_count: +64}", "64" },
	{ "outbox.former_counts", F(outbox.former_counts),
	  "outbox: {partition_count: 48, former_counts: [16, '024', 1]}",
	  "[\"16\", \"024\", \"1\"]" },
	{ "outbox.former_counts", F(outbox.former_counts),
	  "outbox: {former_counts: 64}", "[\"64\"]" },
	{ "outbox.ordering", F(outbox.ordering), "outbox: {ordering: none}",
	  "none" },
	{ "outbox.ordering", F(outbox.ordering),
	  "outbox: {ordering: \"partition\"}", "partition" },
	{ "outbox.tables.outbox", F(outbox.tables.outbox),
	  "outbox: {tables: {outbox: o-1}}", "o-1" },
	{ "outbox.tables.events", F(outbox.tables.events),
	  "outbox: {tables: {events: $e_1}}", "\"$e_1\"" },
	{ "outbox.tables.partitions", F(outbox.tables.partitions),
	  "outbox: {tables: {partitions: no}}", "\"no\"" },
	{ "outbox.tables.workers", F(outbox.tables.workers),
	  "outbox: {tables: {workers: '0123'}}", "\"0123\"" },
	{ "outbox.tables.settings", F(outbox.tables.settings),
	  "outbox: {tables: {settings: 'null'}}", "\"null\"" },
	{ "outbox.tables.dead_letters", F(outbox.tables.dead_letters),
	  "outbox: {tables: {dead_letters: d}}", "d" },
	{ "outbox.tables.blocked_keys", F(outbox.tables.blocked_keys),
	  "outbox: {tables: {blocked_keys: b}}", "b" },
	{ "retry.on_dead", F(retry.on_dead), "retry: {on_dead: halt}", "halt" },
	{ "outbox.tables.streams", F(outbox.tables.streams),
	  "outbox: {tables: {streams: t}}", "t" },
	{ "outbox.tables.audit", F(outbox.tables.audit),
	  "outbox: {tables: {audit: a}}", "a" },
	{ "worker.leasing", F(worker.leasing),
	  "worker: {leasing: Off}\noutbox: {ordering: none}", "false" },
	{ "worker.leasing", F(worker.leasing),
	  "worker: {leasing: no}\nmaster: {workers: 1}", "false" },
	{ "worker.lease_ttl", F(worker.lease_ttl), "worker: {lease_ttl: 20}",
	  "20s" },
	{ "worker.lease_renew", F(worker.lease_renew),
	  "worker: {lease_renew: 1500ms}", "1500ms" },
	{ "worker.heartbeat_ttl", F(worker.heartbeat_ttl),
	  "worker: {heartbeat_ttl: 10.001}", "10001ms" },
	{ "worker.batch_size", F(worker.batch_size), "worker: {batch_size: 1}",
	  "1" },
	{ "worker.batch_bytes", F(worker.batch_bytes),
	  "worker: {batch_bytes: 65536}", "65536" },
	{ "worker.claim_ttl", F(worker.claim_ttl), "worker: {claim_ttl: 1h}",
	  "1h" },
	{ "worker.idle_backoff_ms", F(worker.idle_backoff_ms),
	  "worker: {idle_backoff_ms: 60000}", "60000" },
	{ "wake.binlog", F(wake.binlog), "wake: {binlog: yes}", "true" },
	{ "retry.backoff", F(retry.backoff), "retry: {backoff: .5}", "500ms" },
	{ "retry.max_backoff", F(retry.max_backoff),
	  "retry: {max_backoff: 90s}", "90s" },
	{ "retry.jitter", F(retry.jitter), "retry: {jitter: 0.123456}",
	  "0.123456" },
	{ "retry.jitter", F(retry.jitter), "retry: {jitter: 1}", "1" },
	{ "retry.jitter", F(retry.jitter), "retry: {jitter: 0}", "0" },
	{ "retry.max_attempts", F(retry.max_attempts),
	  "retry: {max_attempts: 3}", "3" },
	{ "publish.window", F(publish.window), "publish: {window: 1}", "1" },
	{ "publish.timeout_ms", F(publish.timeout_ms),
	  "publish: {timeout_ms: 100}", "100" },
	{ "publish.types", F(publish.types),
	  "publish: {types: [order.*, a]}", "[\"order.*\", a]" },
	{ "nats.servers", F(nats.servers),
	  "nats: {servers: [tls://n1, 'n2:4223', 'nats://[::1]:1']}",
	  "[\"tls://n1\", \"n2:4223\", \"nats://[::1]:1\"]" },
	{ "nats.stream", F(nats.stream), "nats: {stream: }", "\"\"" },
	{ "nats.subject", F(nats.subject),
	  "nats: {subject: 'a.{stream_id}.x{partition}y.{event_type}'}",
	  "\"a.{stream_id}.x{partition}y.{event_type}\"" },
	{ "nats.msg_id_prefix", F(nats.msg_id_prefix),
	  "nats: {msg_id_prefix: 'a!~'}", "\"a!~\"" },
	{ "nats.advisory", F(nats.advisory), "nats: {advisory: ops.dead}",
	  "ops.dead" },
	{ "nats.recover", F(nats.recover), "nats: {recover: report}", "report" },
	{ "nats.user", F(nats.user), "nats: {user: bj\xc3\xb6rn}",
	  "\"bj\xc3\xb6rn\"" },
	{ "nats.password_file", F(nats.password_file),
	  "nats: {user: u, password_file: /pw}", "/pw" },
	{ "nats.password_env", F(nats.password_env),
	  "nats: {user: u, password_env: _PW}", "\"_PW\"" },
	{ "nats.token_file", F(nats.token_file), "nats: {token_file: /t}",
	  "/t" },
	{ "nats.token_env", F(nats.token_env), "nats: {token_env: T}", "T" },
	{ "nats.credentials_file", F(nats.credentials_file),
	  "nats: {credentials_file: /c.creds}", "/c.creds" },
	{ "nats.tls.ca", F(nats.tls.ca), "nats: {tls: {ca: /ca.pem}}",
	  "/ca.pem" },
	{ "nats.tls.cert", F(nats.tls.cert), "nats: {" TLS_PAIR "}",
	  "/c.pem" },
	{ "nats.tls.key", F(nats.tls.key), "nats: {" TLS_PAIR "}", "/k.pem" },
	{ "retention.days", F(retention.days), "retention: {days: 7}", "7" },
	{ "retention.dead_days", F(retention.dead_days),
	  "retention: {dead_days: 36500}", "36500" },
	{ "retention.batch", F(retention.batch), "retention: {batch: 1}", "1" },
	{ "reconcile.at_start", F(reconcile.at_start),
	  "reconcile: {at_start: on}", "on" },
	{ "reconcile.at_start", F(reconcile.at_start),
	  "reconcile: {at_start: off}", "off" },
	{ "wake.subject", F(wake.subject), "wake: {subject: outbox.wake}",
	  "outbox.wake" },
	{ "monitor.socket", F(monitor.socket), "monitor: {socket: ''}",
	  "\"\"" },
	{ "log.level", F(log.level), "log: {level: debug}", "debug" },
	{ "log.target", F(log.target), "log: {target: /var/log/o b.log}",
	  "\"/var/log/o b.log\"" },
	{ "log.format", F(log.format), "log: {format: json}", "json" },
};

/* Keys that have but one value until their features come. */
static const struct {
	const char	*key;
	size_t		 at;
} fixed[] = {
	{ "outbox.mode", F(outbox.mode) },
	{ "retry.on_dead", F(retry.on_dead) },
	{ "publish.driver", F(publish.driver) },
	{ "monitor.listen", F(monitor.listen) },
};

START_TEST(value_arrives_in_its_field)
{
	const struct conf_key	*k = key_at(conf_key_find(stored[_i].key));
	struct conf		*dflt = must_load(""), *c;
	char			*text, *was;

	ck_assert_uint_eq(k->at, stored[_i].at);
	c = must_load(stored[_i].doc);
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

START_TEST(dump_reads_back)
{
	struct conf	*c = must_load(stored[_i].doc), *again;
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

START_TEST(every_key_has_a_row)
{
	const struct conf_key	*k = key_at(_i);
	bool			 found = false;

	for (int i = 0; i < NROWS(stored); i++)
		found |= strcmp(stored[i].key, k->name) == 0;
	for (int i = 0; i < NROWS(fixed); i++)
		if (strcmp(fixed[i].key, k->name) == 0) {
			found = true;
			ck_assert_uint_eq(fixed[i].at, k->at);
		}
	ck_assert_msg(found, "%s has no row in stored[]", k->name);
}
END_TEST

struct answer {
	const char	*doc;
	unsigned	 line;		/* 0: without one */
	const char	*key;		/* NULL: none */
	const char	*what;
};

/* Line 1 is the required key, except where mysql is in the row. */
static void
check_answer(const struct answer *a)
{
	struct err	 e;
	struct conf	*c = load(a->doc, NULL, &e);

	ck_assert_msg(c == NULL, "this was taken:\n%s", a->doc);
	check_error(&e, a->line, a->key, a->what);
}

static const struct answer refused[] = {
	/* What is not there yet is refused by name, with what is. */
	{ "outbox: {mode: inline}", 2, "outbox.mode",
	  "inline is not available yet: choose pointer" },
	{ "publish: {driver: http}", 2, "publish.driver",
	  "http is not available yet: choose nats" },
	{ "publish: {driver: stdout}", 2, "publish.driver",
	  "stdout is not available yet: choose nats" },
	{ "monitor: {listen: 127.0.0.1:9180}", 2, "monitor.listen",
	  "127.0.0.1:9180 is not available yet: leave it empty" },
	/* Words of an enum. */
	{ "log: {level: Info}", 2, "log.level",
	  "Info is unknown: choose one of error, warn, info, debug" },
	{ "publish: {driver: kafka}", 2, "publish.driver",
	  "kafka is unknown: choose nats" },
	{ "master: {workers: 900}", 2, "master.workers",
	  "900 is not from 1 to 256" },
	/* What is of the machine. */
	{ "log: {target: file.log}", 2, "log.target",
	  "file.log is not stderr, syslog or an absolute path" },
	{ "nats: {user: u, password_env: 1PW}", 2, "nats.password_env",
	  "not the name of an environment variable" },
	/* Hosts. */
	{ "mysql:\n  hosts: [db1, 'db2:0']", 2, "mysql.hosts", "port" },
	{ "mysql:\n  hosts:\n  - db1\n  - db2:65536", 4, "mysql.hosts",
	  "port from 1 to 65535" },
	{ "mysql:\n  hosts: 'db1:'", 2, "mysql.hosts", "port" },
	{ "mysql:\n  hosts: 'db1:03306'", 2, "mysql.hosts", "port" },
	{ "mysql:\n  hosts: ':3306'", 2, "mysql.hosts", "HOST:PORT" },
	{ "mysql:\n  hosts: '::1'", 2, "mysql.hosts", "[IPV6]:PORT" },
	{ "mysql:\n  hosts: '[::g]:3306'", 2, "mysql.hosts", "[IPV6]:PORT" },
	{ "mysql:\n  hosts: '[::1'", 2, "mysql.hosts", "[IPV6]:PORT" },
	{ "mysql:\n  hosts: '[::1]3306'", 2, "mysql.hosts", "[IPV6]:PORT" },
	{ "mysql:\n  hosts: db 1", 2, "mysql.hosts", "HOST:PORT" },
	{ "mysql:\n  hosts: 'db1,db2'", 2, "mysql.hosts", "comma" },
	{ "mysql:\n  hosts: 'u:" SECRET "@db'", 2, "mysql.hosts",
	  "use mysql.user and mysql.password_file" },
	{ "mysql:\n  database: a.b", 2, "mysql.database", "dot" },
	/* Servers of NATS, and secrets that stand where they must not. */
	{ "nats: {servers: 'nats://u:" SECRET "@h:4222'}", 2, "nats.servers",
	  "use nats.user and nats.password_file" },
	{ "nats: {servers: 'nats://" SECRET "@h'}", 2, "nats.servers",
	  "use nats.user" },
	{ "nats: {servers: 'nats://u:" SECRET "'}", 2, "nats.servers",
	  "port" },
	{ "nats: {servers: 'http://" SECRET "'}", 2, "nats.servers",
	  "neither with nats:// nor with tls://" },
	{ "publish: {types: [a b]}", 2, "publish.types", "comma" },
	{ "nats: {servers: 'nats://h:4222/x'}", 2, "nats.servers", "port" },
	{ "nats: {servers: 'nats://h/x'}", 2, "nats.servers", "HOST:PORT" },
	{ "nats: {servers: 'nats://'}", 2, "nats.servers", "HOST:PORT" },
	{ "nats: {servers: 'nats://a,nats://b'}", 2, "nats.servers", "comma" },
	{ "nats:\n  servers:\n    - a\n\n    - b@c", 6, "nats.servers",
	  "nats.user" },
	{ "nats: {password: " SECRET "}", 2, "nats.password",
	  "did you mean nats.password_file?" },
	{ "nats: {user: u, password_file: " SECRET "}", 2,
	  "nats.password_file", "absolute path" },
	{ "nats: {user: u, password_env: " SECRET "-}", 2,
	  "nats.password_env", "environment" },
	{ "nats: {credentials_file: " SECRET "}", 2, "nats.credentials_file",
	  "absolute path" },
	/* Names and templates of NATS. */
	{ "nats: {stream: a.b}", 2, "nats.stream", "dot" },
	{ "nats: {stream: a b}", 2, "nats.stream", "blank" },
	{ "nats: {stream: '*'}", 2, "nats.stream", "*" },
	{ "nats: {stream: '>'}", 2, "nats.stream", ">" },
	{ "nats: {stream: a/b}", 2, "nats.stream", "slash" },
	{ "nats: {stream: 'a\\b'}", 2, "nats.stream", "slash" },
	{ "nats: {advisory: a b}", 2, "nats.advisory", "blank" },
	{ "nats: {advisory: 'a.*'}", 2, "nats.advisory", "wildcard *" },
	{ "nats: {advisory: 'a.>'}", 2, "nats.advisory", "wildcard >" },
	{ "nats: {advisory: a..b}", 2, "nats.advisory", "empty token" },
	{ "nats: {advisory: a.}", 2, "nats.advisory", "empty token" },
	{ "nats: {advisory: 'a.{event_type}'}", 2, "nats.advisory", "brace" },
	{ "nats: {advisory: $JS.API.X}", 2, "nats.advisory", "server's own" },
	{ "nats: {advisory: _INBOX.x}", 2, "nats.advisory", "server's own" },
	/* Counts. */
	{ "outbox: {former_counts: [16, 0]}", 2, "outbox.former_counts",
	  "0 is not a number from 1 to 4096" },
	{ "outbox: {former_counts: 4097}", 2, "outbox.former_counts",
	  "4097 is not a number from 1 to 4096" },
	{ "outbox: {former_counts: 4294967312}", 2, "outbox.former_counts",
	  "4294967312 is not a number from 1 to 4096" },
	{ "outbox: {former_counts: 18446744073709551632}", 2,
	  "outbox.former_counts", "not a number from 1 to 4096" },
	{ "outbox: {former_counts: -16}", 2, "outbox.former_counts",
	  "-16 is not a number from 1 to 4096" },
	{ "outbox: {former_counts: p16}", 2, "outbox.former_counts",
	  "p16 is not a number from 1 to 4096" },
	{ "outbox: {former_counts: '8,16'}", 2, "outbox.former_counts",
	  "8,16 is not" },
	{ "outbox:\n  partition_count: 17\n  former_counts:\n  - 16", 4,
	  "outbox.former_counts", "no common divisor" },
	{ "outbox:\n  former_counts: [1024]\n  partition_count: 1023", 3,
	  "outbox.former_counts", "classes of 1024 labels" },
	{ "outbox: {partition_count: 64, former_counts: [1]}", 2,
	  "outbox.former_counts", "classes of 65 labels" },
	{ "outbox: {former_counts: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, "
	  "14, 15, 16, 17]}", 2, "outbox.former_counts",
	  "has 17 counts, 16 at most" },
	{ "wake: {subject: a b}", 2, "wake.subject", "blank" },
	{ "wake: {subject: 'a.>'}", 2, "wake.subject", "wildcard >" },
	{ "wake: {subject: 'a.*'}", 2, "wake.subject", "wildcard *" },
	{ "wake: {subject: 'a.{partition}'}", 2, "wake.subject", "brace" },
	{ "wake: {subject: $SYS.x}", 2, "wake.subject", "server's own" },
	{ "nats: {msg_id_prefix: a b}", 2, "nats.msg_id_prefix", "ASCII" },
	{ "nats: {msg_id_prefix: \xc3\xb6}", 2, "nats.msg_id_prefix",
	  "ASCII" },
	{ "nats: {subject: 'e.{type}'}", 2, "nats.subject",
	  "{type} is not {event_type}" },
	{ "nats: {subject: 'e.{stream_no}'}", 2, "nats.subject",
	  "{stream_no} is not {event_type}" },
	{ "nats: {subject: 'e.{}'}", 2, "nats.subject", "{} is not" },
	{ "nats: {subject: 'e.{event_type'}", 2, "nats.subject",
	  "a { without its }" },
	{ "nats: {subject: 'e.{a{event_type}}'}", 2, "nats.subject",
	  "a { without its }" },
	{ "nats: {subject: 'e.event_type}'}", 2, "nats.subject",
	  "a } without its {" },
	{ "nats: {subject: e f}", 2, "nats.subject", "blank" },
	{ "nats: {subject: 'e.*'}", 2, "nats.subject", "wildcard *" },
	{ "nats: {subject: 'e.>'}", 2, "nats.subject", "wildcard >" },
	{ "nats: {subject: '.e'}", 2, "nats.subject", "empty token" },
	{ "nats: {subject: 'e.'}", 2, "nats.subject", "empty token" },
	{ "nats: {subject: 'e..{partition}'}", 2, "nats.subject",
	  "empty token" },
	{ "nats: {subject: 'e.{topic}'}", 2, "nats.subject",
	  "outbox.mode: inline" },
	/* Tables. */
	{ "outbox: {tables: {outbox: a.b}}", 2, "outbox.tables.outbox",
	  "a.b has more" },
	{ "outbox: {tables: {events: 'a`b'}}", 2, "outbox.tables.events",
	  "letters, digits" },
	{ "outbox: {tables: {workers: a b}}", 2, "outbox.tables.workers",
	  "letters, digits" },
	{ "outbox: {tables: {workers: \xc3\xb6}}", 2, "outbox.tables.workers",
	  "letters, digits" },
};

START_TEST(bad_form_is_refused)
{
	check_answer(&refused[_i]);
}
END_TEST

static const struct answer relations[] = {
	{ "worker:\n  lease_renew: 7.5", 3, "worker.lease_renew",
	  "7500ms must be less than half of worker.lease_ttl (15s)" },
	{ "worker:\n  lease_ttl: 10", 3, "worker.lease_ttl",
	  "10s must be more than twice worker.lease_renew (5s)" },
	{ "worker:\n  lease_ttl: 20\n  lease_renew: 10", 4,
	  "worker.lease_renew", "less than half of worker.lease_ttl (20s)" },
	{ "worker:\n  heartbeat_ttl: 10", 3, "worker.heartbeat_ttl",
	  "10s must be more than twice worker.lease_renew (5s)" },
	{ "worker:\n  heartbeat_ttl: 8\n  lease_renew: 4", 4,
	  "worker.lease_renew", "half of worker.heartbeat_ttl (8s)" },
	{ "worker:\n  heartbeat_ttl: 15001ms", 3, "worker.heartbeat_ttl",
	  "15001ms must not be more than worker.lease_ttl (15s)" },
	{ "worker:\n  lease_ttl: 14", 3, "worker.lease_ttl",
	  "14s must not be less than worker.heartbeat_ttl (15s)" },
	{ "worker:\n  claim_ttl: 7", 3, "worker.claim_ttl",
	  "7s must be more than 2s above publish.timeout_ms (5000)" },
	{ "publish:\n  timeout_ms: 28000", 3, "publish.timeout_ms",
	  "28000 must be more than 2s below worker.claim_ttl (30s)" },
	{ "publish:\n  timeout_ms: 6000\nworker: {claim_ttl: 8}", 4,
	  "worker.claim_ttl", "above publish.timeout_ms (6000)" },
	{ "retry:\n  backoff: 301", 3, "retry.backoff",
	  "301s must not be more than retry.max_backoff (5m)" },
	{ "retry:\n  max_backoff: 999ms", 3, "retry.max_backoff",
	  "999ms must not be less than retry.backoff (1s)" },
	{ "retry:\n  max_backoff: 1\n  backoff: 2", 3, "retry.max_backoff",
	  "1s must not be less than retry.backoff (2s)" },
	{ "master:\n  hang_timeout: 15", 3, "master.hang_timeout",
	  "15s must be more than worker.lease_ttl (15s)" },
	{ "worker:\n  lease_ttl: 60", 3, "worker.lease_ttl",
	  "1m must be less than master.hang_timeout (1m)" },
	{ "master: {hang_timeout: 20}\npublish: {timeout_ms: 20000}", 2,
	  "master.hang_timeout", "more than publish.timeout_ms (20000)" },
	{ "worker: {claim_ttl: 1h}\npublish: {timeout_ms: 60000}", 3,
	  "publish.timeout_ms", "less than master.hang_timeout (1m)" },
	{ "master: {stop_timeout: 5}", 2, "master.stop_timeout",
	  "5s must be more than publish.timeout_ms (5000)" },
	{ "worker: {claim_ttl: 1h}\npublish: {timeout_ms: 30000}", 3,
	  "publish.timeout_ms", "less than master.stop_timeout (30s)" },
	{ "worker: {leasing: false}", 2, "worker.leasing",
	  "needs outbox.ordering: none, or a single worker" },
	{ "worker: {leasing: off}\noutbox: {ordering: partition}\n"
	  "master: {workers: 2}", 2, "worker.leasing", "master.workers is 2" },
	{ "mysql:\n  database: a\n  hosts: db\n  socket: /s", 4,
	  "mysql.socket", "excludes mysql.hosts of line 3" },
	{ "mysql:\n  database: a\n  hosts: []", 3, "mysql.hosts",
	  "mysql.socket" },
	{ "mysql:\n  database: a\n  password_file: /p\n  password_env: P", 4,
	  "mysql.password_env", "excludes mysql.password_file of line 3" },
	{ "mysql:\n  database: a\n  tls:\n    cert: /c", 4, "mysql.tls.cert",
	  "needs mysql.tls.key" },
	{ "mysql:\n  database: a\n  tls:\n    key: /k", 4, "mysql.tls.key",
	  "needs mysql.tls.cert" },
	{ "nats:\n  tls:\n    cert: /c", 4, "nats.tls.cert",
	  "needs nats.tls.key" },
	{ "nats:\n  tls:\n    key: /k", 4, "nats.tls.key",
	  "needs nats.tls.cert" },
	{ "nats:\n  user: u\n  password_file: /p\n  password_env: P", 5,
	  "nats.password_env", "excludes nats.password_file of line 4" },
	{ "nats:\n  token_file: /t\n  token_env: T", 4, "nats.token_env",
	  "excludes nats.token_file" },
	{ "nats:\n  user: u\n  token_file: /t", 4, "nats.token_file",
	  "excludes nats.user of line 3" },
	{ "nats:\n  user: u\n  token_env: T", 4, "nats.token_env",
	  "excludes nats.user" },
	{ "nats:\n  user: u\n  credentials_file: /c", 4,
	  "nats.credentials_file", "excludes nats.user" },
	{ "nats:\n  token_file: /t\n  credentials_file: /c", 4,
	  "nats.credentials_file", "excludes nats.token_file" },
	{ "nats:\n  token_env: T\n  credentials_file: /c", 4,
	  "nats.credentials_file", "excludes nats.token_env" },
	{ "nats:\n  password_file: /p", 3, "nats.password_file",
	  "needs nats.user" },
	{ "nats:\n  password_env: P", 3, "nats.password_env",
	  "needs nats.user" },
	{ "outbox:\n  tables:\n    events: outbox", 4, "outbox.tables.events",
	  "outbox is outbox.tables.outbox already" },
	{ "outbox:\n  tables:\n    outbox: events", 4, "outbox.tables.outbox",
	  "events is outbox.tables.events already" },
	{ "outbox:\n  tables:\n    workers: x\n    dead_letters: x", 5,
	  "outbox.tables.dead_letters", "outbox.tables.workers" },
	{ "retry:\n  on_dead: halt\noutbox: {ordering: none}", 3, "retry.on_dead",
	  "halt needs outbox.ordering: key or partition" },
	{ "retry:\n  on_dead: halt\nworker: {leasing: no}\nmaster: {workers: 1}",
	  3, "retry.on_dead", "halt needs worker.leasing: true" },
};

START_TEST(broken_relation_is_refused)
{
	check_answer(&relations[_i]);
}
END_TEST

/* The last value that is still good, and ways to write one. */
static const char *const accepted[] = {
	"worker: {lease_renew: 7499ms}",
	"worker: {lease_ttl: 16, heartbeat_ttl: 16}",
	"worker: {claim_ttl: 7001ms}",
	"publish: {timeout_ms: 27999}",
	"retry: {backoff: 5, max_backoff: 5}",
	"master: {hang_timeout: 15001ms}",
	"master: {hang_timeout: 0}\nworker: {lease_ttl: 1h, claim_ttl: 1h}",
	"master: {stop_timeout: 5001ms}",
	"mysql: {database: a, socket: '', hosts: db}",
	"mysql: {database: a, socket: /s, hosts: []}",
	"mysql: {database: a, socket: /s, hosts: ''}",
	"mysql: {database: a, password_file: '', password_env: P}",
	"mysql: {database: a, password_file: ''}",
	"mysql: {database: a, tls: {mode: require}}",
	"mysql: {database: a, hosts: ['[::ffff:1.2.3.4]:1', 'a_b.c-d:65535']}",
	"mysql:\n  database: a\nworker:\nretry: ~\n",
	"nats: {user: u}",
	"nats: {servers: [localhost, 'nats://10.0.0.1', 'tls://a.b:1']}",
	"nats: {subject: '{event_type}'}",
	"nats: {subject: a-b_c.$x./}",
	"master: {stop_timeout: \"15s\", hang_timeout: '100'}",
	"\"master\": {'workers': 2}",
	"master:\r\n  workers: 2\r\n",
	"worker: {leasing: TRUE}",
};

START_TEST(good_file_is_taken)
{
	conf_free(must_load(accepted[_i]));
}
END_TEST

/* Whole files, without the required key before them. */
static const char *const wholes[] = {
	"{mysql: {database: app},\n log: {level: warn}}",
	"---\nmysql: {database: app}\nlog: {level: warn}\n...\n",
	"%YAML 1.1\n---\nmysql: {database: app}\nlog: {level: warn}",
	"\xef\xbb\xbfmysql: {database: app}\nlog: {level: warn}",
	"log:\r\n  level: warn\r\nmysql:\r\n  database: app\r\n",
	"log:\r  level: warn\rmysql:\r  database: app",
	"# a\n\n\"log\" : { 'level' : \"warn\" , }\nmysql:\n database:\n  app",
};

START_TEST(good_whole_file_is_taken)
{
	struct err	 e;
	struct conf	*c = load_bytes(wholes[_i], strlen(wholes[_i]), NULL,
			    &e);

	ck_assert_msg(c != NULL, "%s", e.text);
	ck_assert_str_eq(c->mysql.database, "app");
	ck_assert_int_eq(c->log.level, 1);
	conf_free(c);
}
END_TEST

static const struct answer syntax[] = {
	{ "master: {worker: 4}", 2, "master.worker",
	  "is not a key; did you mean master.workers?" },
	{ "master: {WORKERS: 4}", 2, "master.WORKERS",
	  "did you mean master.workers?" },
	{ "workers: 4", 2, "workers", "is not a key" },
	{ "partition_count: 4", 2, "partition_count",
	  "did you mean outbox.partition_count?" },
	{ "mysql: {cert: 4}", 1, "mysql.cert", "did you mean mysql.tls.cert?" },
	{ "nats: {max_attempts: 4}", 2, "nats.max_attempts",
	  "did you mean retry.max_attempts?" },
	{ "workr: {lease_ttl: 4}", 2, "workr", "did you mean worker?" },
	{ "outbox: {tabels: {}}", 2, "outbox.tabels",
	  "did you mean outbox.tables?" },
	{ "something: 4", 2, "something", "is not a key" },
	{ "'': 4", 2, "\"\"", "is not a key" },
	{ "? : 4", 2, NULL, "a mapping stands where the name" },
	{ "\"a\\nb\": 4", 2, "a?b", "is not a key" },
	{ "master: {\"workers\\0x\": 4}", 2, NULL, "NUL" },
	{ "\"master\\0\": {workers: 4}", 2, NULL, "NUL" },
	{ "master.workers: 4", 2, "master.workers", "nested" },
	{ "<<: {workers: 4}", 2, "<<", "is not a key" },
	{ "? [a]\n: 4", 2, NULL, "a list stands where the name" },
	{ "{a: b}: 4", 2, NULL, "a mapping stands where the name" },
	{ "master: {workers: 1,\n  workers: 2}", 3, "master.workers",
	  "is set on line 2 already" },
	{ "nats:\n  servers: [a]\n  servers: [b]", 4, "nats.servers",
	  "is set on line 3 already" },
	{ "log: {level: info}\nlog: {format: text}", 3, "log",
	  "begins on line 2 already" },
	{ "mysql: {tls: {mode: auto},\n  tls: {ca: /c}}", 2, "mysql.tls",
	  "begins on line 1 already" },
	{ "nats: {servers: [[a]]}", 2, "nats.servers",
	  "a list stands where a text is wanted" },
	{ "nats: {servers: {a: b}}", 2, "nats.servers",
	  "a mapping stands where a list of texts is wanted" },
	{ "nats: {stream: [a]}", 2, "nats.stream",
	  "a list stands where a text is wanted" },
	{ "log: {level: [info]}", 2, "log.level",
	  "a list stands where one of error, warn, info, debug is wanted" },
	{ "log: [a]", 2, "log", "a list stands where a mapping" },
	{ "log: debug", 2, "log", "a single value stands where a mapping" },
	{ "log: \"\"", 2, "log", "a single value stands where a mapping" },
	{ "log: &l {level: info}", 2, "log", "anchor" },
	{ "log: *l", 2, "log", "alias" },
	{ "*l : x", 2, NULL, "alias" },
	{ "&l log: {}", 2, NULL, "anchor" },
	{ "log: !x {level: info}", 2, "log", "tag" },
	{ "nats: {servers: [a, &x b]}", 2, "nats.servers", "anchor" },
	{ "nats: {servers: [a, *x]}", 2, "nats.servers", "alias" },
	{ "nats:\n  servers: !!seq [a]", 3, "nats.servers", "tag" },
	{ "---\nlog: {level: info}", 2, NULL, "second document" },
	{ "...\n---\n", 3, NULL, "second document" },
	{ "log: {level: info", 3, NULL,
	  "did not find expected ',' or '}' while parsing a flow mapping "
	  "that began on line 2" },
	{ "log:\n  level: info\n format: text", 4, NULL, "did not find" },
	{ "log:\n\tlevel: info", 3, NULL, "cannot start any token" },
	{ "log:\n  level: info: x", 3, NULL, "mapping values are not allowed" },
	{ "log: \"abc\n", 3, NULL, "unexpected end of stream" },
	{ "log: @x", 2, NULL, "found character that cannot start any token "
	  "while scanning for the next token" },
	{ "log: {level: info}\n# \xff", 3, NULL, "UTF-8" },
	{ "log: {level: \x01}\n", 2, NULL, "control characters" },
	{ "mysql:\n", 0, "mysql.database", "is missing and has no default" },
	{ "mysql: {database: }\n", 1, "mysql.database", "must not be empty" },
};

START_TEST(bad_yaml_is_refused)
{
	check_answer(&syntax[_i]);
}
END_TEST

static const struct answer roots[] = {
	{ "", 0, "mysql.database", "is missing and has no default" },
	{ "# nothing\n\n", 0, "mysql.database", "is missing" },
	{ "---\n", 0, "mysql.database", "is missing" },
	{ "~", 0, "mysql.database", "is missing" },
	{ "\xef\xbb\xbf", 0, "mysql.database", "is missing" },
	{ "\n- a\n", 2, NULL, "a list stands where a mapping" },
	{ "text", 1, NULL, "a single value stands where a mapping" },
	{ "\"\"", 1, NULL, "a single value stands where a mapping" },
	{ "&a {b: c}", 1, NULL, "anchor" },
	{ "*a", 1, NULL, "alias" },
	{ "--- {}\n--- {}\n", 2, NULL, "second document" },
	{ "%YAML 3.0\n---\n", 1, NULL, "incompatible YAML" },
	{ "%", 1, NULL, "directive" },
};

START_TEST(bad_root_is_refused)
{
	struct err	 e;
	const char	*doc = roots[_i].doc;
	struct conf	*c = load_bytes(doc, strlen(doc), NULL, &e);

	ck_assert_ptr_null(c);
	check_error(&e, roots[_i].line, roots[_i].key, roots[_i].what);
}
END_TEST

START_TEST(unreadable_file)
{
	struct err	e;

	ck_assert_ptr_null(conf_load("/nonexistent/o.yml", NULL, &e));
	ck_assert_str_eq(e.text,
	    "/nonexistent/o.yml: No such file or directory");
	ck_assert_ptr_null(conf_load("/", NULL, &e));
	ck_assert_str_eq(e.text, "/: Is a directory");
	ck_assert_ptr_null(conf_load("/dev/zero", NULL, &e));
	starts(e.text, "/dev/zero: is larger than ");
}
END_TEST

/* What is given in place of a default leaves nothing of the default. */
START_TEST(default_yields)
{
	struct conf	*c;

	c = must_load("mysql: {database: a, socket: /s, password_env: P}");
	ck_assert_uint_eq(c->mysql.hosts.n, 0);
	ck_assert_str_eq(c->mysql.password_file, "");
	conf_free(c);
	c = must_load("mysql: {database: a}");
	ck_assert_uint_eq(c->mysql.hosts.n, 1);
	ck_assert_str_eq(c->mysql.hosts.items[0], "127.0.0.1:3306");
	ck_assert_str_eq(c->mysql.password_file, "/etc/outbox/mysql.password");
	conf_free(c);
}
END_TEST

/* Durations as written and as kept. */
static const struct {
	const char	*text;
	int64_t		 ms;
} durations[] = {
	{ "30", 30000 }, { "7.5", 7500 }, { "6.001", 6001 }, { "+30", 30000 },
	{ "6500ms", 6500 }, { "15s", 15000 }, { "15.5s", 15500 },
	{ "5m", 300000 }, { "1.5m", 90000 }, { "1h", 3600000 },
	{ "0.25h", 900000 }, { "30.000", 30000 }, { "\"10\"", 10000 },
};

START_TEST(duration_is_read)
{
	char		*doc = xasprintf("master: {stop_timeout: %s}",
			    durations[_i].text);
	struct conf	*c = must_load(doc);

	ck_assert_int_eq(c->master.stop_timeout, durations[_i].ms);
	free(doc);
	conf_free(c);
}
END_TEST

static const struct {
	const char		*doc;
	struct conf_override	 over;
	const char		*error;		/* NULL: it loads */
} options[] = {
	{ "master: {workers: 2}", { .workers = 9 }, NULL },
	{ "", { .workers = 256 }, NULL },
	{ "", { .pidfile = "/tmp/p" }, NULL },
	{ "outbox: {ordering: none}", { .no_leasing = true }, NULL },
	{ "", { .no_leasing = true, .workers = 1 }, NULL },
	{ "worker: {leasing: false}", { .workers = 1 }, NULL },
	{ "", { .workers = 257 }, "--workers: 257 is not from 1 to 256" },
	{ "", { .workers = -1 }, "--workers: -1 is not from 1 to 256" },
	{ "", { .pidfile = "p" }, "-p: is not an absolute path" },
	{ "", { .pidfile = "" }, "-p: must not be empty" },
	{ "", { .pidfile = "/\xff" }, "-p: has a control character" },
	{ "", { .no_leasing = true }, "--no-leasing: false needs " },
	{ "worker: {leasing: true}", { .no_leasing = true },
	  "--no-leasing: false needs outbox.ordering: none" },
};

START_TEST(option_wins)
{
	struct err			 e;
	const struct conf_override	*over = &options[_i].over;
	struct conf			*c = load(options[_i].doc, over, &e);

	if (options[_i].error != NULL) {
		ck_assert_ptr_null(c);
		starts(e.text, options[_i].error);
		return;
	}
	ck_assert_msg(c != NULL, "%s", e.text);
	if (over->workers != 0)
		ck_assert_int_eq(c->master.workers, over->workers);
	if (over->pidfile != NULL)
		ck_assert_str_eq(c->master.pidfile, over->pidfile);
	if (over->no_leasing)
		ck_assert(!c->worker.leasing);
	conf_free(c);
}
END_TEST

/* A bad file is a bad file, whatever an option puts over it. */
START_TEST(option_hides_nothing)
{
	struct conf_override	over = { .workers = 2 };
	struct err		e;

	ck_assert_ptr_null(load("master: {workers: 900}", &over, &e));
	check_error(&e, 2, "master.workers", "900 is not from 1 to 256");
}
END_TEST

START_TEST(restart_keys_are_named)
{
	struct conf	*a = must_load(""), *b;
	size_t		 i = 0;

	b = must_load("master: {workers: 9, user: x, pidfile: /p}\n"
	    "monitor: {socket: /m}\nlog: {target: syslog}");
	ck_assert_str_eq(conf_changed_restart(a, b, &i), "master.user");
	ck_assert_str_eq(conf_changed_restart(a, b, &i), "master.pidfile");
	ck_assert_str_eq(conf_changed_restart(a, b, &i), "monitor.socket");
	ck_assert_ptr_null(conf_changed_restart(a, b, &i));
	ck_assert_ptr_null(conf_changed_restart(a, b, &i));
	i = 0;
	ck_assert_ptr_null(conf_changed_restart(a, a, &i));
	ck_assert(key_at(conf_key_find("monitor.listen"))->restart);
	conf_free(a);
	conf_free(b);
	conf_free(NULL);
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

/* The same numbers on every run: a failure can be looked at again. */
static unsigned
chance(unsigned *seed, unsigned below)
{
	*seed = *seed * 1103515245u + 12345u;
	return (*seed >> 8) % below;
}

/* Put a piece in place of up to 8 bytes, somewhere in the text. */
static char *
mutate(char *text, size_t *size, unsigned *seed)
{
	static const char *const	pieces[] = { "", "\n", "\t", ":", "- ",
		"[", "]", "{", "}", "\"", "'", "#", "&a ", "*a", "!", "|\n",
		"? ", "\xff", "\xc3", "\xe2\x80\xa8", "\\", "%", "0", "-1",
		"99999999999999999999", "1e9", "~", "  ", "\r", "---\n",
		"<<: ", "master:\n", "workers: 4\n", "a@b", "\x01", "," };
	unsigned			which = chance(seed, NROWS(pieces));
	size_t				n = strlen(pieces[which]);
	size_t				at = chance(seed, (unsigned)*size);
	size_t				cut = chance(seed, 9);
	char				*fresh;

	if (cut > *size - at)
		cut = *size - at;
	fresh = xcalloc(*size + n + 1, 1);
	memcpy(fresh, text, at);
	memcpy(fresh + at, pieces[which], n);
	memcpy(fresh + at + n, text + at + cut, *size - at - cut);
	*size += n - cut;
	free(text);
	return fresh;
}

/* Whatever the bytes: a good value, or an error that names the file. */
START_TEST(mutated_file_does_no_harm)
{
	unsigned	seed = (unsigned)_i + 1;
	char		*text = slurp("etc/outbox.yml"), *out;
	size_t		size = strlen(text);
	struct err	e;
	struct conf	*c;

	for (int i = 0; i < 40 && size > 1; i++) {
		text = mutate(text, &size, &seed);
		c = load_bytes(text, size, NULL, &e);
		if (c == NULL)
			starts(e.text, path);
		else {
			out = dump(c);
			conf_free(c);
			c = load_bytes(out, strlen(out), NULL, &e);
			ck_assert_msg(c != NULL, "%s\n%s", e.text, out);
			free(out);
		}
		conf_free(c);
		if (i % 4 == 3) {
			free(text);
			text = slurp("etc/outbox.yml");
			size = strlen(text);
		}
	}
	free(text);
}
END_TEST

/* What an error shows of a value is short, whole and one line. */
START_TEST(shown_text_is_tame)
{
	struct conf_phrase	p;

	ck_assert_str_eq(conf_show("abc").text, "abc");
	ck_assert_str_eq(conf_show("a\tb\x7f").text, "a?b?");
	p = conf_show("0123456789012345678901234567890123456789"
	    "0123456789012345678\xc3\xb6 and so on");
	ck_assert_str_eq(p.text, "0123456789012345678901234567890123456789"
	    "0123456789012345678...");
}
END_TEST

START_TEST(error_is_built_inside_out)
{
	struct err	e = { "" };

	ck_assert_int_eq(err_set(&e, "%d is bad", 7), -1);
	ck_assert_int_eq(err_in(&e, "line %u", 3u), -1);
	err_in(&e, "%s", "f");
	ck_assert_str_eq(e.text, "f: line 3: 7 is bad");
	err_in(&e, "%s", e.text);
	ck_assert_str_eq(e.text, "f: line 3: 7 is bad: f: line 3: 7 is bad");
}
END_TEST

/* _i bytes and then characters of two and three bytes: none is cut. */
START_TEST(error_is_cut_at_a_character)
{
	char		text[2 * sizeof(((struct err *)0)->text)] = "";
	struct err	e;
	size_t		n;

	for (int i = 0; i < _i; i++)
		strcat(text, "x");
	while (strlen(text) + 6 < sizeof(text))
		strcat(text, "\xc3\xb6\xe2\x82\xac");
	for (int in = 0; in < 3; in++) {
		if (in == 0)
			err_set(&e, "%s", text);
		else
			err_in(&e, "%s", in == 1 ? "in" : text);
		n = strlen(e.text);
		ck_assert_uint_ge(n, sizeof(e.text) - 3);
		ck_assert_int_eq(conf_form_text(e.text + (in == 1 ? 4 : 0),
		    &(struct err){ "" }), 0);
	}
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("conf");
	TCase	*tc = tcase_create("conf");
	SRunner	*sr;
	int	 failed;

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, wrong_type_is_refused, 0, nkeys());
	tcase_add_loop_test(tc, empty_value, 0, nkeys());
	tcase_add_loop_test(tc, key_is_of_its_kind, 0, NROWS(kinds));
	tcase_add_loop_test(tc, length_is_kept, 0, NROWS(lengths));
	tcase_add_loop_test(tc, long_text_is_refused, 0, nkeys());
	tcase_add_loop_test(tc, range_is_kept, 0, nkeys());
	tcase_add_loop_test(tc, every_key_has_a_row, 0, nkeys());
	tcase_add_loop_test(tc, manual_has_the_key, 0, nkeys());
	tcase_add_loop_test(tc, value_arrives_in_its_field, 0, NROWS(stored));
	tcase_add_loop_test(tc, dump_reads_back, 0, NROWS(stored));
	tcase_add_loop_test(tc, bad_form_is_refused, 0, NROWS(refused));
	tcase_add_loop_test(tc, broken_relation_is_refused, 0,
	    NROWS(relations));
	tcase_add_loop_test(tc, good_file_is_taken, 0, NROWS(accepted));
	tcase_add_loop_test(tc, good_whole_file_is_taken, 0, NROWS(wholes));
	tcase_add_loop_test(tc, bad_yaml_is_refused, 0, NROWS(syntax));
	tcase_add_loop_test(tc, bad_root_is_refused, 0, NROWS(roots));
	tcase_add_loop_test(tc, duration_is_read, 0, NROWS(durations));
	tcase_add_loop_test(tc, option_wins, 0, NROWS(options));
	tcase_add_loop_test(tc, error_is_cut_at_a_character, 0, 6);
	tcase_add_loop_test(tc, mutated_file_does_no_harm, 0, 10);
	tcase_add_test(tc, shown_text_is_tame);
	tcase_add_test(tc, error_is_built_inside_out);
	tcase_add_test(tc, option_hides_nothing);
	tcase_add_test(tc, unreadable_file);
	tcase_add_test(tc, default_yields);
	tcase_add_test(tc, restart_keys_are_named);
	tcase_add_test(tc, sample_is_the_defaults);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
