/*
 * conf_files.c - files of configuration, good and bad
 *
 * Refused forms and relations with the line and key that the answer must
 * name; options of the command line over a file; mutated files.
 */
#include "unit/conf_test.h"

#include "util/buf.h"

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

#define PEOPLE(item)	"monitor: {tokens: [{" item "}]}"
#define NAMED(item)	"monitor: {user_header: X-User, proxies: [10.0.0.7], " \
			"tokens: [{may: act, " item "}]}"

/* A value that a key does not take. */
static const struct {
	const char	*key, *value, *what;
} forms[] = {
	/* The monitor. */
	{ "monitor.listen", "127.0.0.1", "is not ADDRESS:PORT" },
	{ "monitor.listen", "':9180'", "is not ADDRESS:PORT" },
	{ "monitor.listen", "127.0.0.1:0", "is not ADDRESS:PORT" },
	{ "monitor.listen", "db1:9180", "has a name in it: use an address" },
	{ "monitor.listen", "'[::]:9180'", "other hosts could read all "
	  "messages: set monitor.require_token: true" },
	{ "monitor.listen", "0.0.0.0:9180", "other hosts could read all" },
	{ "monitor.require_token", "true", "true needs monitor.token_file or "
	  "monitor.tokens" },
	{ "monitor.user_header", "X_User", "is not the name of an HTTP header" },
	{ "monitor.user_header", "origin", "origin has another meaning" },
	{ "monitor.user_header", "X-User", "needs monitor.proxies" },
	{ "monitor.proxies", "[proxy.example]", "proxy.example is neither an "
	  "address such as 10.0.0.7, nor uid:NUMBER" },
	{ "monitor.proxies", "['10.0.0.7:80']", "is neither an address" },
	{ "monitor.proxies", "['10.0.0.0/8']", "is neither an address" },
	{ "monitor.proxies", "['uid:']", "is neither an address" },
	{ "monitor.proxies", "['uid:033']", "is neither an address" },
	{ "monitor.proxies", "['uid:www']", "is neither an address" },
	{ "monitor.proxies", "['uid:33']", "needs monitor.user_header" },
	{ "monitor.hosts", "['a:1']", "is no host name" },
	{ "monitor.hosts", "['http://a']", "is no host name" },
	/* Words of an enum. */
	{ "log.level", "Info",
	  "Info is unknown: choose one of error, warn, info, debug" },
	{ "publish.driver", "amqp", "amqp is unknown: choose one of nats, "
	  "http, kafka, stdout, discard" },
	{ "master.workers", "900", "900 is not from 1 to 256" },
	{ "log.target", "file.log",
	  "file.log is not stderr, syslog or an absolute path" },
	/* Hosts. */
	{ "mysql.hosts", "[db1, 'db2:0']", "port" },
	{ "mysql.hosts", "'db1:'", "port" },
	{ "mysql.hosts", "'db1:03306'", "port" },
	{ "mysql.hosts", "':3306'", "HOST:PORT" },
	{ "mysql.hosts", "'::1'", "[IPV6]:PORT" },
	{ "mysql.hosts", "'[::g]:3306'", "[IPV6]:PORT" },
	{ "mysql.hosts", "'[::1'", "[IPV6]:PORT" },
	{ "mysql.hosts", "'[::1]3306'", "[IPV6]:PORT" },
	{ "mysql.hosts", "db 1", "HOST:PORT" },
	{ "mysql.hosts", "'db1,db2'", "comma" },
	{ "mysql.hosts", "'u:" SECRET "@db'",
	  "use mysql.user and mysql.password_file" },
	{ "mysql.database", "a.b", "dot" },
	/* Servers of NATS, and secrets that stand where they must not. */
	{ "nats.servers", "'nats://u:" SECRET "@h:4222'",
	  "use nats.user and nats.password_file" },
	{ "nats.servers", "'nats://" SECRET "@h'", "use nats.user" },
	{ "nats.servers", "'nats://u:" SECRET "'", "port" },
	{ "nats.servers", "'http://" SECRET "'",
	  "must begin with nats:// or tls://" },
	{ "publish.types", "[a b]", "comma" },
	{ "nats.servers", "'nats://h:4222/x'", "port" },
	{ "nats.servers", "'nats://h/x'", "HOST:PORT" },
	{ "nats.servers", "'nats://'", "HOST:PORT" },
	{ "nats.servers", "'nats://a,nats://b'", "comma" },
	{ "nats.password", SECRET, "did you mean nats.password_file?" },
	{ "nats.credentials_file", SECRET, "absolute path" },
	/* Names and templates of NATS. */
	{ "nats.stream", "a.b", "dot" },
	{ "nats.stream", "a b", "blank" },
	{ "nats.stream", "'*'", "*" },
	{ "nats.stream", "'>'", ">" },
	{ "nats.stream", "a/b", "slash" },
	{ "nats.stream", "'a\\b'", "slash" },
	{ "nats.domain", "a.b", "dot" },
	{ "nats.domain", "'*'", "*" },
	{ "nats.api_prefix", "from.A.API.", "empty token" },
	{ "nats.api_prefix", "'from.A.>'", "wildcard >" },
	{ "nats.api_prefix", "'from.{partition}'", "brace" },
	{ "nats.advisory", "a b", "blank" },
	{ "nats.advisory", "'a.*'", "wildcard *" },
	{ "nats.advisory", "'a.>'", "wildcard >" },
	{ "nats.advisory", "a..b", "empty token" },
	{ "nats.advisory", "a.", "empty token" },
	{ "nats.advisory", "'a.{event_type}'", "brace" },
	{ "nats.advisory", "$JS.API.X", "reserved for" },
	{ "nats.advisory", "_INBOX.x", "reserved for" },
	{ "nats.nkey", "SUAHJMJBDXGJGKPQWX74QTGYP4NOYXQCQEBU4BFSIMQMHVQAQAOWEF",
	  "is a secret seed" },
	{ "nats.nkey", "UABC", "public key of a user" },
	{ "nats.nkey", "AAZWKBNYA7TE5PBEYJ6MDQNWIYSV7RQSMX6E4NGDUSZSDF5WAXRZDNOD",
	  "public key of a user" },
	{ "nats.inbox_prefix", "a.", "empty token" },
	{ "nats.inbox_prefix", "'a.>'", "wildcard >" },
	{ "nats.inbox_prefix", "'{event_type}'", "brace" },
	{ "nats.inbox_prefix", "$JS.ACK", "reserved for" },
	{ "nats.inbox_prefix",
	  "a123456789b123456789c123456789d123456789e123456789f123456789g1234",
	  "longer than 64" },
	/* Counts. */
	{ "outbox.former_counts", "[16, 0]",
	  "0 is not a number from 1 to 4096" },
	{ "outbox.former_counts", "4097",
	  "4097 is not a number from 1 to 4096" },
	{ "outbox.former_counts", "4294967312",
	  "4294967312 is not a number from 1 to 4096" },
	{ "outbox.former_counts", "18446744073709551632",
	  "not a number from 1 to 4096" },
	{ "outbox.former_counts", "-16", "-16 is not a number from 1 to 4096" },
	{ "outbox.former_counts", "p16", "p16 is not a number from 1 to 4096" },
	{ "outbox.former_counts", "'8,16'", "8,16 is not" },
	{ "outbox.former_counts",
	  "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]",
	  "has 17 counts, but at most 16" },
	{ "wake.subject", "a b", "blank" },
	{ "wake.subject", "'a.>'", "wildcard >" },
	{ "wake.subject", "'a.*'", "wildcard *" },
	{ "wake.subject", "'a.{partition}'", "brace" },
	{ "wake.subject", "$SYS.x", "reserved for" },
	{ "nats.msg_id_prefix", "a b", "ASCII" },
	{ "nats.msg_id_prefix", "\xc3\xb6", "ASCII" },
	{ "nats.subject", "'e.{type}'", "{type} is not {event_type}" },
	{ "nats.subject", "'e.{stream_no}'",
	  "{stream_no} is not {event_type}" },
	{ "nats.subject", "'e.{}'", "{} is not" },
	{ "nats.subject", "'e.{event_type'", "a { without its }" },
	{ "nats.subject", "'e.{a{event_type}}'", "a { without its }" },
	{ "nats.subject", "'e.event_type}'", "a } without its {" },
	{ "nats.subject", "e f", "blank" },
	{ "nats.subject", "'e.*'", "wildcard *" },
	{ "nats.subject", "'e.>'", "wildcard >" },
	{ "nats.subject", "'.e'", "empty token" },
	{ "nats.subject", "'e.'", "empty token" },
	{ "nats.subject", "'e..{partition}'", "empty token" },
	{ "nats.subject", "'e.{topic}'", "outbox.mode: inline" },
	/* Tables. */
	{ "outbox.tables.outbox", "a.b", "a.b may only have letters" },
	{ "outbox.tables.events", "'a`b'", "letters, digits" },
	{ "outbox.tables.workers", "a b", "letters, digits" },
	{ "outbox.tables.workers", "\xc3\xb6", "letters, digits" },
};

/* The same in documents of another form. */
static const struct answer refused[] = {
	{ "nats: {user: u, password_env: 1PW}", 2, "nats.password_env",
	  "not the name of an environment variable" },
	{ "mysql:\n  hosts:\n  - db1\n  - db2:65536", 4, "mysql.hosts",
	  "port from 1 to 65535" },
	{ "nats:\n  servers:\n    - a\n\n    - b@c", 6, "nats.servers",
	  "nats.user" },
	{ "nats: {user: u, password_file: " SECRET "}", 2,
	  "nats.password_file", "absolute path" },
	{ "nats: {user: u, password_env: " SECRET "-}", 2,
	  "nats.password_env", "environment" },
	{ "outbox:\n  partition_count: 17\n  former_counts:\n  - 16", 4,
	  "outbox.former_counts", "no common divisor" },
	{ "outbox:\n  former_counts: [1024]\n  partition_count: 1023", 3,
	  "outbox.former_counts", "own 1024 labels together" },
	{ "outbox: {partition_count: 64, former_counts: [1]}", 2,
	  "outbox.former_counts", "own 65 labels together" },
};

#define ROUTE	"name: a, type: b, driver: nats"

/* Of maps, records and destinations, some of which are not available yet. */
static const struct answer nested[] = {
	{ "http:\n  headers:\n    X-A: b\n    X-a: c", 5, "http.headers",
	  "X-a is already the name of the item on line 4" },
	{ "http:\n  headers:\n  - {name: X-A, value: b}\n"
	  "  - {name: x-a, value: c}", 5, "http.headers",
	  "x-a is already the name of the item on line 4" },
	{ "http: {headers: [{name: a, value: b, file: /c}]}", 2,
	  "http.headers", "a: needs a value or a file" },
	{ "http: {headers: [{name: a}]}", 2, "http.headers",
	  "a: needs a value or a file" },
	{ "http: {headers: [{name: a, file: b}]}", 2, "http.headers.file",
	  "absolute path" },
	{ PEOPLE("name: a, file: /a"), 2, "monitor.tokens",
	  "an item must have the field may" },
	{ PEOPLE("name: a, may: act"), 2, "monitor.tokens",
	  "a needs the field file, or monitor.user_header" },
	{ NAMED("name: '*', file: /a"), 2, "monitor.tokens", "* is each person "
	  "whom monitor.user_header names, and has no file" },
	{ PEOPLE("name: a, file: /a, may: act}, {name: a, file: /b, may: act"),
	  2, "monitor.tokens", "a is already the name of the item" },
	{ PEOPLE("name: a, may: act, file: b"), 2, "monitor.tokens.file",
	  "is not an absolute path" },
	{ PEOPLE("may: []"), 2, "monitor.tokens.may", "must not be empty" },
	{ PEOPLE("may: all"), 2, "monitor.tokens.may", "all is unknown: choose "
	  "read, act, or a list of retry, discard, replay, pause, resume, "
	  "release, dead-retry, dead-purge" },
	{ PEOPLE("may: [retry, write]"), 2, "monitor.tokens.may",
	  "write is unknown" },
	{ PEOPLE("may: [retry, retry]"), 2, "monitor.tokens.may",
	  "retry is listed twice" },
	{ PEOPLE("may: {retry: true}"), 2, "monitor.tokens.may",
	  "expected a list of texts, found a mapping" },
	{ PEOPLE("may: [[retry]]"), 2, "monitor.tokens.may",
	  "expected a text, found a list" },
	{ PEOPLE("name: a b"), 2, "monitor.tokens.name", "a b is no name of a "
	  "person: use up to 63 printable ASCII characters without blanks" },
	{ PEOPLE("name: \"a\xc3\xa9\""), 2, "monitor.tokens.name",
	  "is no name of a person" },
	{ "monitor: {user_header: X-User, proxies: ['::1']}", 2,
	  "monitor.user_header", "needs monitor.tokens" },
	{ PEOPLE("name: monitor"), 2, "monitor.tokens.name",
	  "monitor is the name of the token of monitor.token_file" },
	{ "http: {headers: [{value: b}]}", 2, "http.headers",
	  "must have the field name" },
	{ "http: {headers: {a: (hidden)}}", 2, "http.headers",
	  "in place of a secret" },
	{ "http: {headers: {X A: b}}", 2, "http.headers",
	  "X A: is not the name of an HTTP header" },
	{ "http: {headers: {host: b}}", 2, "http.headers",
	  "host: is set by the daemon" },
	{ "http: {headers: {x-outbox-a: b}}", 2, "http.headers",
	  "is set by the daemon, as all X-Outbox-*" },
	{ "http: {headers: {authorization: " SECRET "}}", 2, "http.headers",
	  "use http.token_file" },
	{ "http: {headers: {a: }}", 2, "http.headers",
	  "a: must not be empty" },
	{ "http: {headers: {'': b}}", 2, "http.headers", "must not be empty" },
	{ "http: {headers: x}", 2, "http.headers",
	  "expected a mapping of names to texts, or a list of mappings, found a "
	  "single value" },
	{ "http: {headers: {a: [b]}}", 2, "http.headers",
	  "a: expected a text, found a list" },
	{ "outbox:\n  columns:\n    stream_idd: x", 4, "outbox.columns",
	  "stream_idd: is not a column of the outbox; did you mean "
	  "stream_id?" },
	{ "outbox: {columns: {xyzzy: x}}", 2, "outbox.columns",
	  "xyzzy: is not a column of the outbox" },
	{ "outbox: {columns: {stream_id: a b}}", 2, "outbox.columns",
	  "stream_id: a b may only have letters" },
	{ "outbox:\n  columns:\n    attempts: x\n    last_error: X", 4,
	  "outbox.columns", "attempts: x is also the column of last_error" },
	{ "outbox: {columns: {global_sequence: claim_token}}", 2,
	  "outbox.columns", "also the column of claim_token" },
	{ "outbox: {mode: inline, columns: {scheduled_at: Available_At}}", 2,
	  "outbox.columns", "also the column of available_at" },
	{ "outbox: {columns: {topic: type}}", 2, "outbox.columns",
	  "topic is not a column of outbox.mode: pointer" },
	{ "outbox: {mode: inline, columns: {stream_id: a}}", 2,
	  "outbox.columns", "stream_id is not a column of outbox.mode: inline" },
	{ "outbox: {mode: inline}\nreconcile: {at_start: on}", 3,
	  "reconcile.at_start", "on needs outbox.mode: pointer" },
	{ "outbox: {partition_by: $.a..b}", 2, "outbox.partition_by",
	  "a path such as $.tenant" },
	{ "outbox: {partition_by: '$.'}", 2, "outbox.partition_by",
	  "a path such as $.tenant" },
	{ "outbox: {tables: {messages: events}}", 2, "outbox.tables.messages",
	  "is also the name of outbox.tables.events" },
	{ "publish: {source: 'a b'}", 2, "publish.source", "is not a URI" },
	{ "publish: {type_aliases: {a: 'b.*'}}", 2, "publish.type_aliases",
	  "a: has the wildcard *" },
	{ "publish: {type_aliases: {a: 'b..c'}}", 2, "publish.type_aliases",
	  "empty token" },
	{ "publish: {type_aliases: {a: '{topic}'}}", 2,
	  "publish.type_aliases", "brace" },
	{ "publish: {type_aliases: {'a*': b}}", 2, "publish.type_aliases",
	  "a*: * is no wildcard here" },
	{ "publish:\n  type_aliases:\n    a: x.y\n    b: z\n    c: x.y", 6,
	  "publish.type_aliases",
	  "c: x.y is also the alias of a of line 4: each type needs its own" },
	{ "publish:\n  type_case: kebab\n  type_aliases:\n"
	  "    'A\\OrderPaid': x\n    c: a.order-paid", 6,
	  "publish.type_aliases", "c: a.order-paid is also what "
	  "publish.type_case makes of A\\OrderPaid of line 5" },
	{ "publish:\n  type_case: snake\n  type_aliases:\n"
	  "    c: a.order_paid\n    'A.OrderPaid': x", 5,
	  "publish.type_aliases", "c: a.order_paid is also what "
	  "publish.type_case makes of A.OrderPaid of line 6" },
	{ "publish: {type_aliases: {a: b, b: c}}", 2, "publish.type_aliases",
	  "a: b is also what publish.type_case makes of b" },
	{ "publish: {unmatched: hold}", 2, "publish.unmatched",
	  "needs publish.routes" },
	{ "publish: {routes: {" ROUTE "}}", 2, "publish.routes",
	  "expected a list of mappings, found a mapping" },
	{ "publish: {routes: [a]}", 2, "publish.routes",
	  "expected a mapping of keys, found a single value" },
	{ "publish:\n  routes:\n  - name: a\n    typ: b", 5,
	  "publish.routes", "typ is not a field; did you mean type?" },
	{ "publish:\n  routes:\n  - name: a\n    qqq: b", 5,
	  "publish.routes", "qqq is not a field" },
	{ "publish:\n  routes:\n  - {" ROUTE "}\n  - {" ROUTE "}", 5,
	  "publish.routes", "a is already the name of the item on line 4" },
	{ "publish:\n  routes:\n  - name: a\n    type: b\n    type: c", 6,
	  "publish.routes.type", "is set twice in one item" },
	{ "publish:\n  routes:\n  - type: b", 4, "publish.routes",
	  "an item must have the field name" },
	{ "publish: {routes: [{name: a, type: b}]}", 2, "publish.routes",
	  "an item must have the field driver" },
	{ "publish: {routes: [{name: a, driver: nats}]}", 2, "publish.routes",
	  "a: needs type, topic or header" },
	{ "publish: {routes: [{name: A}]}", 2, "publish.routes.name",
	  "A may only have small letters" },
	{ "publish: {routes: [{name: }]}", 2, "publish.routes.name",
	  "must not be empty" },
	{ "publish:\n  routes:\n  - name: a\n    driver: x", 5,
	  "publish.routes.driver", "x is unknown: choose one of nats, http, "
	  "kafka, stdout, discard" },
	{ "publish: {routes: [{driver: ''}]}", 2, "publish.routes.driver",
	  "an empty value is unknown" },
	{ "publish: {routes: [{max_attempts: 0}]}", 2,
	  "publish.routes.max_attempts", "0 is not from 1 to 1000" },
	{ "publish: {routes: [{max_attempts: '3'}]}", 2,
	  "publish.routes.max_attempts", "in quotes is a text" },
	{ "publish: {routes: [{backoff: 1ms}]}", 2,
	  "publish.routes.backoff", "1ms is not from 100ms to 1h" },
	{ "publish: {routes: [{header: a}]}", 2, "publish.routes.header",
	  "a is not NAME=PATTERN" },
	{ "publish: {routes: [{header: 'a b=c'}]}", 2,
	  "publish.routes.header", "blank or a colon" },
	{ "publish: {routes: [{subject: 'a.*'}]}", 2,
	  "publish.routes.subject", "wildcard *" },
	{ "publish: {routes: [{type: [a]}]}", 2, "publish.routes.type",
	  "expected a text, found a list" },
	{ "publish:\n  routes:\n  - {" ROUTE ", backoff: 10m}", 4,
	  "publish.routes", "a: backoff (600000ms) must not be more than "
	  "max_backoff (300000ms)" },
	{ "publish: {routes: [{" ROUTE ", path: x}]}", 2, "publish.routes",
	  "a: path is for driver: http" },
	{ "publish: {routes: [{" ROUTE ", endpoint: 'http://h'}]}", 2,
	  "publish.routes", "a: endpoint is for driver: http" },
	{ "publish: {routes: [{name: a, type: b, driver: stdout, subject: c}]}",
	  2, "publish.routes", "a: subject is for driver: nats" },
	{ "publish: {routes: [{name: a, type: b, driver: kafka, subject: c/d}]}",
	  2, "publish.routes", "a: subject: c/d may only have letters" },
	{ "publish: {routes: [{name: a, type: b, driver: http}]}", 2,
	  "publish.routes", "a: driver: http needs an endpoint" },
	{ "publish: {routes: [{name: a, topic: b, driver: nats}]}", 2,
	  "publish.routes", "a: topic needs outbox.mode: inline" },
	{ "publish: {routes: [{" ROUTE ", subject: '{topic}'}]}", 2,
	  "publish.routes", "a: {topic} needs outbox.mode: inline" },
	{ "publish: {driver: http}", 2, "publish.driver",
	  "http needs http.endpoint" },
	{ "nats:\n  domain: leaf\n  api_prefix: a.API", 4,
	  "nats.api_prefix", "contradicts nats.domain, which stands for "
	  "$JS.leaf.API: set one of them" },
	{ "nats:\n  domain: leaf\n  stream: ''", 3, "nats.domain",
	  "name the stream" },
	{ "nats: {core: true}", 2, "nats.core", "set nats.stream: \"\"" },
	{ "http: {endpoint: ftp://h}", 2, "http.endpoint",
	  "must begin with http:// or https://" },
	{ "http: {endpoint: 'http://u:" SECRET "@h'}", 2, "http.endpoint",
	  "use http.token_file" },
	{ "http: {endpoint: 'http://h/a?b'}", 2, "http.endpoint",
	  "has a ? in it" },
	{ "http: {endpoint: 'http://h/#b'}", 2, "http.endpoint",
	  "has a # in it" },
	{ "http: {endpoint: 'http://h:0/'}", 2, "http.endpoint", "port" },
	{ "http: {endpoint: 'http:///a'}", 2, "http.endpoint", "HOST:PORT" },
	{ "http: {endpoint: 'http://h/a b'}", 2, "http.endpoint", "blank" },
	{ "http: {endpoint: 'http://h/{topic}'}", 2, "http.endpoint",
	  "only http.path may have" },
	{ "http: {path: '/a'}", 2, "http.path", "begin with a slash" },
	{ "http: {path: 'a?b'}", 2, "http.path", "has a ? in it" },
	{ "http: {path: '{type}'}", 2, "http.path", "is not {event_type}" },
	{ "http: {path: 'a}'}", 2, "http.path", "a } without its {" },
	{ "http: {path: '{topic}'}", 2, "http.path", "outbox.mode: inline" },
	{ "http: {proxy: 'https://p'}", 2, "http.proxy",
	  "must begin with http:// or socks5://" },
	{ "http: {proxy: 'http://p/x'}", 2, "http.proxy", "has a path" },
	{ "http: {proxy: 'http://u:" SECRET "@p'}", 2, "http.proxy",
	  "is not supported" },
	{ "http: {signing_keys: [{id: a b, file: /k}]}", 2,
	  "http.signing_keys.id", "letters, digits, _ and -" },
	{ "http: {signing_keys: [{id: a, file: k}]}", 2,
	  "http.signing_keys.file", "absolute path" },
	{ "http: {signing_keys: [{id: a}]}", 2, "http.signing_keys",
	  "an item must have the field file" },
	{ "http: {token_file: /t, token_env: T}", 2, "http.token_env",
	  "together with http.token_file" },
	{ "http: {headers: {X-A: \"a\\r\\nX-B: c\"}}", 2, "http.headers",
	  "control character" },
	{ "http: {proxy: 'http://p', allow_private: false}", 2,
	  "http.allow_private", "contradicts http.proxy" },
	{ "publish: {driver: http}", 2, "publish.driver",
	  "http needs http.endpoint" },
	{ "publish: {driver: stdout}\nwake: {subject: a}", 3, "wake.subject",
	  "needs publish.driver: nats" },
	{ "publish: {driver: discard}\nnats: {advisory: a}", 3,
	  "nats.advisory", "needs publish.driver: nats" },
	{ "http: {tls: {cert: /c}}", 2, "http.tls.cert",
	  "needs http.tls.key" },
	{ "http: {tls: {key: /c}}", 2, "http.tls.key",
	  "needs http.tls.cert" },
};

START_TEST(bad_item_is_refused)
{
	check_answer(&nested[_i]);
}
END_TEST

/* One more than a key takes. */
START_TEST(records_are_limited)
{
	struct buf	b = { 0 };
	struct err	e;

	for (int n = 8; n <= 9; n++) {
		buf_str(&b, "http: {signing_keys: [");
		for (int i = 0; i < n; i++)
			buf_printf(&b, "{id: k%d, file: /k},", i);
		buf_str(&b, "]}");
		if (n == 8)
			conf_free(must_load(b.data));
		else
			ck_assert_ptr_null(load(b.data, NULL, &e));
		buf_free(&b);
	}
	check_error(&e, 2, "http.signing_keys", "has more than 8 items");
}
END_TEST

/* Typed fields, and those that are left to the keys for all. */
START_TEST(route_has_its_fields)
{
	struct conf		*c;
	const struct conf_route	*r;

	c = must_load("publish:\n  routes:\n  - {" ROUTE ", backoff: 2}\n"
	    "  - {name: b, header: x=y, driver: discard, max_attempts: 3,\n"
	    "     envelope: json}");
	r = c->publish.routes.items;
	ck_assert_uint_eq(c->publish.routes.n, 2);
	ck_assert_str_eq(r[0].name, "a");
	ck_assert_uint_eq(r[0].line, 4);
	ck_assert_uint_eq(r[1].line, 5);
	ck_assert_int_eq(r[0].driver, DRIVER_NATS);
	ck_assert_int_eq(r[1].driver, DRIVER_DISCARD);
	ck_assert_int_eq(r[0].backoff, 2000);
	ck_assert_int_eq(r[1].backoff, CONF_INHERIT);
	ck_assert_int_eq(r[0].max_attempts, CONF_INHERIT);
	ck_assert_int_eq(r[1].max_attempts, 3);
	ck_assert_int_eq(r[0].envelope, CONF_INHERIT);
	ck_assert_int_eq(r[1].envelope, ENVELOPE_JSON);
	ck_assert_str_eq(r[0].topic, "");
	ck_assert(conf_uses_driver(c, DRIVER_DISCARD));
	ck_assert(!conf_uses_driver(c, DRIVER_HTTP));
	conf_free(c);
}
END_TEST

static const struct {
	const char	*text, *destination;
} destinations[] = {
	{ "publish: {driver: nats}", "nats stream EVENTS" },
	{ "nats: {stream: ''}", "nats subject events.{event_type}" },
	{ "publish: {driver: http}\nhttp: {endpoint: 'https://h:8443/a'}",
	  "https://h:8443" },
	{ "publish: {driver: discard}", "nowhere (discard)" },
	{ "publish: {driver: nats, routes: ["
	  "{name: hooks, type: a.*, driver: http, endpoint: 'http://h'}]}",
	  "nats stream EVENTS, and 1 route: hooks" },
	{ "publish: {unmatched: hold, routes: ["
	  "{name: hooks, type: a.*, driver: http, endpoint: 'http://h'}, "
	  "{name: kept, type: b, driver: nats}]}", "2 routes: hooks, kept" },
};

START_TEST(destination_has_words)
{
	char		 text[CONF_DESTINATION];
	struct conf	*c;

	c = must_load(destinations[_i].text);
	ck_assert_str_eq(conf_destination(c, text),
	    destinations[_i].destination);
	conf_free(c);
}
END_TEST

/* The column of the registry takes 255 characters. */
START_TEST(destination_of_many_routes_is_cut)
{
	char		 text[CONF_DESTINATION];
	struct buf	 doc = { 0 };
	struct conf	*c;

	buf_str(&doc, "publish:\n  routes:\n");
	for (int i = 10; i < 40; i++)
		buf_printf(&doc, "  - {name: a-long-name-%d, type: t%d, "
		    "driver: nats}\n", i, i);
	c = must_load(doc.data);
	conf_destination(c, text);
	ck_assert_uint_le(strlen(text), 255);
	ck_assert_int_eq(strncmp(text, "nats stream EVENTS, and 30 routes: "
	    "a-long-name-10, ", 51), 0);
	ck_assert_str_eq(text + strlen(text) - 19, "a-long-name-22, ...");
	conf_free(c);
	buf_free(&doc);
}
END_TEST

/* A key, a mapping of files, a field of records: whose driver, and the line. */
static const struct {
	const char	*driver, *doc, *key, *what;
} secrets[] = {
	{ "nats", "nats: {user: u, password_file: /none/x}",
	  "nats.password_file", "/none/x: " },
	{ "nats", "nats: {user: u, password_env: NO_SUCH}",
	  "nats.password_env", "NO_SUCH" },
	{ "nats", "nats: {token_file: /none/x}", "nats.token_file", "" },
	{ "nats", "nats: {credentials_file: /none/x}",
	  "nats.credentials_file", "" },
	{ "nats", "nats: {tls: {cert: /none/c, key: /none/x}}",
	  "nats.tls.key", "" },
	{ "http", "http: {endpoint: 'https://h', token_env: NO_SUCH}",
	  "http.token_env", "" },
	{ "http", "http: {endpoint: 'http://h', tls: {cert: /none/c, "
	  "key: /none/x}}", "http.tls.key", "" },
	{ "http", "http: {endpoint: 'http://h', signing_keys: [{id: k, "
	  "file: /none/x}]}", "http.signing_keys", "k: /none/x: " },
	{ "http", "http: {endpoint: 'https://h', headers: [{name: X-A, "
	  "file: /none/x}]}", "http.headers", "X-A: /none/x: " },
	{ "kafka", "kafka: {sasl: {mechanism: PLAIN, user: u, "
	  "password_file: /none/x}}", "kafka.sasl.password_file", "" },
	{ "kafka", "kafka: {client_files: {ssl.key.password: /none/x}}",
	  "kafka.client_files", "ssl.key.password: /none/x: " },
	{ "kafka", "kafka: {tls: {cert: /none/c, key: /none/x}}",
	  "kafka.tls.key", "" },
};

/* Those of a destination are read only if something is sent there. */
START_TEST(secrets_are_checked)
{
	struct err	 e;
	struct conf	*c;
	char		*doc = xasprintf("publish: {driver: discard}\n%s\n",
			    secrets[_i].doc);

	c = must_load(doc);
	ck_assert_int_eq(conf_check_destination_secrets(c, &e), 0);
	conf_free(c);
	free(doc);
	doc = xasprintf("publish: {driver: %s}\n%s\n", secrets[_i].driver,
	    secrets[_i].doc);
	c = must_load(doc);
	ck_assert_int_eq(conf_check_destination_secrets(c, &e), -1);
	check_error(&e, 3, secrets[_i].key, secrets[_i].what);
	conf_free(c);
	free(doc);
}
END_TEST

static const struct {
	const char	*name;
	bool		 hidden;
} header_names[] = {
	{ "Apikey", true }, { "X-Functions-Key", true }, { "X-Key", true },
	{ "Ocp-Apim-Subscription-Key", true }, { "X-Routing-Key-Key", true },
	{ "X-JWT", true }, { "X-Pwd", true },
	{ "X-Routing-Key", false }, { "partition_key", false },
	{ "X-MessageKey", false }, { "Surrogate-Key", false },
	{ "X-Api-Key", true }, { "x_auth_token", true }, { "Cookie", true },
	{ "X-Password", true }, { "X-Client-Secret", true },
	{ "X-Team", false }, { "User-Agent", false },
};

/* Nothing shows the value of a header whose name tells a secret. */
START_TEST(dump_hides_headers)
{
	char		*doc = xasprintf("http: {headers: {%s: hunter2}}\n",
			    header_names[_i].name), *dump;
	struct conf	*c = must_load(doc);
	size_t		 len;
	FILE		*f = xopen_memstream(&dump, &len);

	conf_dump(c, f);
	fclose(f);
	ck_assert_int_eq(strstr(dump, "hunter2") == NULL,
	    header_names[_i].hidden);
	ck_assert_int_eq(strstr(dump, "value: \"" CONF_HIDDEN "\"") != NULL,
	    header_names[_i].hidden);
	free(dump);
	free(doc);
	conf_free(c);
}
END_TEST

#define HTTP(host, keys) \
	"publish: {driver: http}\nhttp: {endpoint: 'http://" host "'" keys "}\n"
#define NATS(host, keys) "nats: {servers: ['" host "']" keys "}\n"
#define KAFKA(host, mechanism, mode) "publish: {driver: kafka}\nkafka: " \
	"{brokers: ['" host "'], sasl: {mechanism: " mechanism ", user: u, " \
	"password_file: /p}, tls: {mode: " mode "}}\n"
#define TOKEN	", token_file: /t"

/* Secrets that go by http://; NULL: they may. */
static const struct {
	const char	*doc, *what;
} clear[] = {
	{ HTTP("h:80/x", TOKEN), "http.endpoint: http://h:80/x gets the token "
	  "without TLS" },
	{ HTTP("h", ", token_env: T"), "allow it by http.allow_clear: [h]" },
	{ HTTP("h", ", headers: {X-Api-Key: a}"), "gets secret headers" },
	{ HTTP("h", ", headers: [{name: X-A, file: /a}]" TOKEN),
	  "gets the token and secret headers" },
	{ HTTP("h", ", headers: {X-Team: a}"), NULL },
	{ HTTP("h", ", headers: {X-Routing-Key: a}"), NULL },
	{ HTTP("h", ", headers: {X-Mine: bearer a}"), "gets secret headers" },
	{ HTTP("h", ""), NULL },
	{ HTTP("localhost.h", TOKEN), "localhost.h gets" },
	{ HTTP("127.0.0.1.h", TOKEN), "127.0.0.1.h gets" },
	{ HTTP("127.0.0.2:8/a", TOKEN), NULL },
	{ HTTP("[::1]:8/a", TOKEN), NULL }, { HTTP("localhost", TOKEN), NULL },
	{ HTTP("[fd00::1]:8/a", TOKEN), "http.allow_clear: [fd00::1]" },
	{ HTTP("H:8/a", TOKEN ", allow_clear: [x, h]"), NULL },
	{ HTTP("[fd00::1]", TOKEN ", allow_clear: ['fd00::1']"), NULL },
	{ HTTP("h2", TOKEN ", allow_clear: [h]"), "http://h2 gets" },
	{ HTTP("127.0.0.1", TOKEN ", proxy: 'http://p:1'"), "by http.proxy" },
	{ HTTP("127.0.0.1", TOKEN ", proxy: 'http://[::1]:1'"), NULL },
	{ "publish: {driver: http}\nhttp: {endpoint: 'https://h'" TOKEN "}",
	  NULL },
	{ "http: {endpoint: 'http://h'" TOKEN "}", NULL },
	{ "http: {endpoint: ''" TOKEN "}\npublish: {unmatched: dead, routes: ["
	  "{name: r, type: a, driver: http, endpoint: 'http://h'}]}",
	  "line 3: publish.routes: r: http://h gets" },
};

START_TEST(clear_secrets_are_refused)
{
	struct err	 e;
	struct conf	*c = load(clear[_i].doc, NULL, &e);

	if (clear[_i].what == NULL)
		ck_assert_msg(c != NULL, "%s", e.text);
	else {
		ck_assert_ptr_null(c);
		holds(e.text, clear[_i].what);
	}
	conf_free(c);
}
END_TEST

/* NULL: nothing is told. */
static const struct {
	const char	*doc, *told;
} warnings[] = {
	{ "publish: {driver: http}\nhttp: {endpoint: 'https://h', tls: {verify: "
	  "false}" TOKEN "}", "gets the messages, and the token" },
	{ HTTP("h", ""), NULL },
	{ NATS("nats://n", ", user: a, password_file: /p, tls: {mode: disable}"),
	  "nats.tls.mode: disable: nats://n gets the password" },
	{ NATS("n", ", token_file: /p, tls: {mode: disable}"), "the token" },
	{ NATS("n", ", token_file: /p"), NULL },
	{ NATS("127.0.0.1", ", token_file: /p, tls: {mode: disable}"), NULL },
	{ NATS("n", ", tls: {mode: disable}"), NULL },
	{ KAFKA("b", "PLAIN", "disable"), "kafka.tls.mode: disable: b gets the "
	  "password" },
	{ KAFKA("127.0.0.1", "PLAIN", "disable"), NULL },
	{ KAFKA("b", "PLAIN", "auto"), NULL },
	{ KAFKA("b", "SCRAM-SHA-512", "disable"), NULL },
	{ NAMED("name: a"), NULL },
	{ "monitor: {user_header: X-User, proxies: ['uid:33', '::1'], tokens: "
	  "[{name: a, may: act}]}", "monitor.proxies: ::1: each user of this "
	  "host can" },
	{ "worker: {linger_ms: 5}", NULL },
};

static void
note_warning(void *arg, const char *key, const char *text)
{
	buf_printf(arg, "%s: %s\n", key, text);
}

START_TEST(unsafe_is_told)
{
	struct conf	*c = must_load(warnings[_i].doc);
	struct buf	 told = { 0 };

	conf_warn(c, note_warning, &told);
	if (warnings[_i].told == NULL)
		ck_assert_msg(told.len == 0, "%s", told.data);
	else
		holds(told.data, warnings[_i].told);
	buf_free(&told);
	conf_free(c);
}
END_TEST

START_TEST(bad_form_is_refused)
{
	int	i = _i - NROWS(forms);

	if (i < 0)
		check_refused(forms[_i].key, forms[_i].value, forms[_i].what);
	else
		check_answer(&refused[i]);
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
	{ "worker: {leasing: false}\nmaster: {workers: 2}", 2,
	  "worker.leasing",
	  "needs outbox.ordering: none, or master.workers: 1" },
	{ "worker: {leasing: off}\noutbox: {ordering: partition}\n"
	  "master: {workers: 2}", 2, "worker.leasing", "(it is 2)" },
	{ "mysql:\n  database: a\n  hosts: db\n  socket: /s", 4,
	  "mysql.socket", "together with mysql.hosts of line 3" },
	{ "mysql:\n  database: a\n  socket: ''", 3, "mysql.socket",
	  "mysql.hosts" },
	{ "mysql:\n  database: a\n  hosts: []\n  socket:", 4,
	  "mysql.socket", "mysql.hosts" },
	{ "mysql:\n  database: a\n  password_file: /p\n  password_env: P", 4,
	  "mysql.password_env",
	  "together with mysql.password_file of line 3" },
	{ "mysql:\n  database: a\n  operator:\n    password_file: /p", 4,
	  "mysql.operator.password_file", "needs mysql.operator.user" },
	{ "mysql:\n  database: a\n  operator:\n    password_env: P", 4,
	  "mysql.operator.password_env", "needs mysql.operator.user" },
	{ "mysql:\n  database: a\n  operator:\n    user: op\n"
	  "    password_file: /p\n    password_env: P", 6,
	  "mysql.operator.password_env", "together with" },
	{ "mysql:\n  database: a\n  tls:\n    cert: /c", 4, "mysql.tls.cert",
	  "needs mysql.tls.key" },
	{ "mysql:\n  database: a\n  tls:\n    key: /k", 4, "mysql.tls.key",
	  "needs mysql.tls.cert" },
	{ "nats:\n  servers: [a, tls://b]\n  tls: {mode: disable}", 4,
	  "nats.tls.mode", "contradicts tls://b of nats.servers" },
	{ "nats:\n  tls:\n    cert: /c", 4, "nats.tls.cert",
	  "needs nats.tls.key" },
	{ "nats:\n  tls:\n    key: /k", 4, "nats.tls.key",
	  "needs nats.tls.cert" },
	{ "nats:\n  user: u\n  password_file: /p\n  password_env: P", 5,
	  "nats.password_env", "together with nats.password_file of line 4" },
	{ "nats:\n  token_file: /t\n  token_env: T", 4, "nats.token_env",
	  "together with nats.token_file" },
	{ "nats:\n  user: u\n  token_file: /t", 4, "nats.token_file",
	  "together with nats.user of line 3" },
	{ "nats:\n  user: u\n  token_env: T", 4, "nats.token_env",
	  "together with nats.user" },
	{ "nats:\n  user: u\n  credentials_file: /c", 4,
	  "nats.credentials_file", "together with nats.user" },
	{ "nats:\n  token_file: /t\n  credentials_file: /c", 4,
	  "nats.credentials_file", "together with nats.token_file" },
	{ "nats:\n  token_env: T\n  credentials_file: /c", 4,
	  "nats.credentials_file", "together with nats.token_env" },
	{ "nats:\n  nkey_file: /n", 3, "nats.nkey_file", "needs nats.nkey" },
	{ "nats:\n  user: u\n  nkey_file: /n", 4, "nats.nkey_file",
	  "together with nats.user" },
	{ "nats:\n  token_env: T\n  nkey_file: /n", 4, "nats.nkey_file",
	  "together with nats.token_env" },
	{ "nats:\n  tls: {mode: disable, first: true}", 3, "nats.tls.mode",
	  "contradicts nats.tls.first" },
	{ "nats:\n  password_file: /p", 3, "nats.password_file",
	  "needs nats.user" },
	{ "nats:\n  password_env: P", 3, "nats.password_env",
	  "needs nats.user" },
	{ "outbox:\n  tables:\n    events: outbox", 4, "outbox.tables.events",
	  "outbox is also the name of outbox.tables.outbox" },
	{ "outbox:\n  tables:\n    outbox: events", 4, "outbox.tables.outbox",
	  "events is also the name of outbox.tables.events" },
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
	"mysql: {database: a, hosts: []}",
	"mysql: {database: a, password_file: '', password_env: P}",
	"mysql: {database: a, password_file: ''}",
	"mysql: {database: a, tls: {mode: require}}",
	"mysql: {database: a, hosts: ['[::ffff:1.2.3.4]:1', 'a_b.c-d:65535']}",
	"mysql:\n  database: a\nworker:\nretry: ~\n",
	"nats: {user: u}",
	"nats: {servers: [localhost, 'nats://10.0.0.1', 'tls://a.b:1']}",
	"nats: {servers: [a, 'nats://b'], tls: {mode: disable}}",
	"nats: {servers: 'tls://b', tls: {mode: require}}",
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
	{ "? : 4", 2, NULL, "the name of a key, found a mapping" },
	{ "\"a\\nb\": 4", 2, "a?b", "is not a key" },
	{ "master: {\"workers\\0x\": 4}", 2, NULL, "NUL" },
	{ "\"master\\0\": {workers: 4}", 2, NULL, "NUL" },
	{ "master.workers: 4", 2, "master.workers", "nested" },
	{ "<<: {workers: 4}", 2, "<<", "is not a key" },
	{ "? [a]\n: 4", 2, NULL, "the name of a key, found a list" },
	{ "{a: b}: 4", 2, NULL, "the name of a key, found a mapping" },
	{ "master: {workers: 1,\n  workers: 2}", 3, "master.workers",
	  "is already set on line 2" },
	{ "nats:\n  servers: [a]\n  servers: [b]", 4, "nats.servers",
	  "is already set on line 3" },
	{ "log: {level: info}\nlog: {format: text}", 3, "log",
	  "already begins on line 2" },
	{ "mysql: {tls: {mode: auto},\n  tls: {ca: /c}}", 2, "mysql.tls",
	  "already begins on line 1" },
	{ "nats: {servers: [[a]]}", 2, "nats.servers",
	  "expected a text, found a list" },
	{ "nats: {servers: {a: b}}", 2, "nats.servers",
	  "expected a list of texts, found a mapping" },
	{ "nats: {stream: [a]}", 2, "nats.stream",
	  "expected a text, found a list" },
	{ "log: {level: [info]}", 2, "log.level",
	  "expected one of error, warn, info, debug, found a list" },
	{ "log: [a]", 2, "log", "a mapping of keys, found a list" },
	{ "log: debug", 2, "log", "a mapping of keys, found a single value" },
	{ "log: \"\"", 2, "log", "a mapping of keys, found a single value" },
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
	/* The first error of a file is the one that is told. */
	{ "nope: 1\nlog: [", 2, "nope", "is not a key" },
	{ "log: {level: 7}\nnats: *x", 2, "log.level", "7 is unknown" },
	{ "log: {level: info}\nnats: *x\nlog: [", 3, "nats", "alias" },
	{ "nats: {servers: [a, {b", 2, "nats.servers",
	  "expected a text, found a mapping" },
	{ "worker:\n  &a batch_size: 5", 3, NULL, "anchor" },
	{ "http: {headers: [{name: a, value: &x b}]}", 2, "http.headers",
	  "anchor" },
	{ "http: {headers: {a: b, \"c\\0\": d}}", 2, "http.headers", "NUL" },
	{ "worker: {gather: true}", 2, "worker.gather", "is not a key" },
	{ "nats: {servers: [a, {b: c]}", 2, "nats.servers", "found a mapping" },
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
	{ "\n- a\n", 2, NULL, "a mapping of keys, found a list" },
	{ "text", 1, NULL, "a mapping of keys, found a single value" },
	{ "\"\"", 1, NULL, "a mapping of keys, found a single value" },
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

/* What no key can have is not read for ever. */
START_TEST(tree_is_bounded)
{
	struct buf		b = { 0 };
	struct conf_document	doc;

	for (int depth = 20; depth <= 40; depth += 20) {
		buf_clear(&b);
		buf_printf(&b, "%.*s%.*s", depth,
		    "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", depth,
		    "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]");
		conf_document_read(&doc, b.data, b.len);
		ck_assert_int_eq(doc.broken, depth == 40);
		conf_document_free(&doc);
	}
	buf_clear(&b);
	buf_str(&b, "[");
	for (int i = 0; i < 200000; i++)
		buf_str(&b, "a,");
	buf_str(&b, "]");
	conf_document_read(&doc, b.data, b.len);
	ck_assert(doc.broken);
	holds(doc.root.items[doc.root.n - 1].error, "has more than 200000 "
	    "values, or more than 32 levels");
	conf_document_free(&doc);
	buf_free(&b);
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

#define PIDFILE	"/run/outbox/outbox-master.pid"

/* A file in error, and where it says that the daemon of this host is. */
static const struct {
	const char	*doc, *pidfile, *target;	/* NULL: not known */
	bool		 named;
} broken_files[] = {
	{ "nonsense: 1\nmaster: {workers: many, pidfile: /run/a.pid}\n"
	  "log: {target: /var/log/a}", "/run/a.pid", "/var/log/a", true },
	{ "nonsense: 1", PIDFILE, "stderr", false },
	{ "nonsense: 1", NULL, NULL, true },
	{ "master: [1, 2]\nlog: {target: [x]}", PIDFILE,
	  "stderr", false },
	{ "[a, b]", PIDFILE, "stderr", false },
	{ "master: {pidfile: relative}", NULL, NULL, false },
	{ "master: {pidfile: /run/a.pid", NULL, NULL, false },
	{ "a: \001", NULL, NULL, false },
	{ "a: &x b\nmaster: {pidfile: /run/a.pid}", "/run/a.pid", "stderr",
	  true },
	{ "master: {pidfile: *p}", NULL, NULL, false },
	{ "master: {pidfile: /run/a.pid}\n---\n{}", "/run/a.pid", "stderr",
	  true },
	{ "", PIDFILE, "stderr", false },
};

START_TEST(broken_file_finds_the_daemon)
{
	struct err	 e;
	const char	*doc = broken_files[_i].doc;
	struct conf	*c;

	ck_assert_ptr_null(load_bytes(doc, strlen(doc), NULL, &e));
	c = conf_load_host(conf_path, broken_files[_i].named);
	ck_assert((c != NULL) == (broken_files[_i].pidfile != NULL));
	if (c == NULL)
		return;
	ck_assert_str_eq(c->master.pidfile, broken_files[_i].pidfile);
	ck_assert_str_eq(c->log.target, broken_files[_i].target);
	conf_free(c);
}
END_TEST

START_TEST(variable_finds_the_daemon)
{
	struct conf	*c;

	load("master: {pidfile: /run/a.pid}\nx: y", NULL, &(struct err){ 0 });
	setenv("OUTBOX_MASTER_PIDFILE", "/run/b.pid", 1);
	c = conf_load_host(conf_path, true);
	unsetenv("OUTBOX_MASTER_PIDFILE");
	ck_assert_str_eq(c->master.pidfile, "/run/b.pid");
	conf_free(c);
	ck_assert_ptr_null(conf_load_host("/nonexistent/o.yml", false));
	ck_assert_ptr_null(conf_load_host("/dev/zero", false));
}
END_TEST

/* What is given in place of a default leaves nothing of the default. */
START_TEST(default_yields)
{
	struct conf	*c;

	c = must_load("mysql: {database: a, hosts: db, password_env: P}");
	ck_assert_str_eq(c->mysql.socket, "");
	ck_assert_str_eq(c->mysql.password_file, "");
	conf_free(c);
	c = must_load("mysql: {database: a}");
	ck_assert_uint_eq(c->mysql.hosts.n, 0);
	ck_assert_str_eq(c->mysql.socket, "/run/mysqld/mysqld.sock");
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
	{ "", { .no_leasing = true, .workers = 2 },
	  "--no-leasing: false needs " },
	{ "worker: {leasing: true}\nmaster: {workers: 2}", { .no_leasing = true },
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
	    "log: {target: syslog}");
	ck_assert_str_eq(conf_changed_restart(a, b, &i), "master.user");
	ck_assert_str_eq(conf_changed_restart(a, b, &i), "master.pidfile");
	ck_assert_ptr_null(conf_changed_restart(a, b, &i));
	ck_assert_ptr_null(conf_changed_restart(a, b, &i));
	i = 0;
	ck_assert_ptr_null(conf_changed_restart(a, a, &i));
	conf_free(a);
	conf_free(b);
	conf_free(NULL);
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
			starts(e.text, conf_path);
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

/* Each change of a file, and the file after it; NULL: it is refused. */
static const struct edit {
	const char	*text, *name, *value, *after;
} edits[] = {
	{ "mysql: {database: a}\n", "mysql.database", "b",
	  "mysql: {database: b}\n" },
	{ "# \xc3\xb6\xe2\x82\xac\nmysql:\n  database: 'a'  # \xc3\xb6\n",
	  "mysql.database", "b_c",
	  "# \xc3\xb6\xe2\x82\xac\nmysql:\n  database: b_c  # \xc3\xb6\n" },
	{ "nats: {stream: A, subject: x}\nmysql: {database: a}\n",
	  "nats.stream", "B2",
	  "nats: {stream: \"B2\", subject: x}\nmysql: {database: a}\n" },
	{ "mysql:\n  user:\n  database: a\n", "mysql.user", "o\"\\o",
	  "mysql:\n  user: \"o\\\"\\\\o\"\n  database: a\n" },
	/* A comment keeps its column where there is room. */
	{ "mysql:\n  database: app   # required\n  user: x     # u\n",
	  "mysql.database", "orders",
	  "mysql:\n  database: orders # required\n  user: x     # u\n" },
	{ "mysql:\n  database: \"\"  # required\n", "mysql.database", "s",
	  "mysql:\n  database: s   # required\n" },
	{ "mysql:\n  database: a # required\n", "mysql.database", "orders",
	  "mysql:\n  database: orders # required\n" },
	{ "mysql:\n  user:      # \xc3\xb6\n  database: a\n", "mysql.user",
	  "\xc3\xb6", "mysql:\n  user: \"\xc3\xb6\"  # \xc3\xb6\n"
	  "  database: a\n" },
	{ "mysql: {database: a, user: \"b #\"}    # c\n", "mysql.database",
	  "abc", "mysql: {database: abc, user: \"b #\"}  # c\n" },
	{ "mysql:\n  database: a\t# c\n", "mysql.database", "abc",
	  "mysql:\n  database: abc\t# c\n" },
	{ "mysql: {database: a}\n", "mysql.user", "b", NULL },
	{ "mysql: {database: a}\n", "mysql", "b", NULL },
	{ "mysql: {database: a}\n", "mysql.database", "", NULL },
	{ "mysql: {database: a}\n", "mysql.database", "a.b", NULL },
	{ "mysql: [\n", "mysql.database", "b", NULL },
};

START_TEST(edit_changes_values_only)
{
	const struct edit		*t = &edits[_i];
	const struct conf_change	 change = { t->name, t->value };
	struct err			 e;
	struct conf			*c;
	FILE				*f;
	char				 after[200] = "";

	c = load_bytes(t->text, strlen(t->text), NULL, &e);
	conf_free(c);
	ck_assert_int_eq(conf_edit(conf_path, &change, 1, &e),
	    t->after == NULL ? -1 : 0);
	f = fopen(conf_path, "r");
	ck_assert_uint_gt(fread(after, 1, sizeof(after) - 1, f), 0);
	fclose(f);
	ck_assert_str_eq(after, t->after == NULL ? t->text : t->after);
}
END_TEST

/* A file, a variable, and what comes of it: an error, or the dump's line. */
static const struct {
	const char	*doc, *variable, *value, *result;
} variables[] = {
	{ "master: {workers: 2}", "OUTBOX_MASTER_WORKERS", "9",
	  "  workers: 9\n" },
	{ "mysql: {database: \"\"}", "OUTBOX_MYSQL_DATABASE", "named",
	  "  database: named\n" },
	{ "mysql: {database: a, hosts: [b, c]}", "OUTBOX_MYSQL_HOSTS",
	  "d:33,e", "  hosts: [\"d:33\", e]\n" },
	{ "mysql: {database: a, hosts: [b]}", "OUTBOX_MYSQL_SOCKET", "/s",
	  "OUTBOX_MYSQL_SOCKET: " },
	{ "", "OUTBOX_MASTER_WORKERS", "many", "OUTBOX_MASTER_WORKERS: many" },
	{ "", "OUTBOX_MASTER_WORKERS", "", "OUTBOX_MASTER_WORKERS: " },
	{ "", "OUTBOX_WORKER_LEASE_TTL", "6", "OUTBOX_WORKER_LEASE_TTL: " },
	{ "", "OUTBOX_NATS_SUBJECT", "a b", "OUTBOX_NATS_SUBJECT: " },
	{ "", "OUTBOX_NO_SUCH_KEY", "x", "  workers: 1\n" },
};

START_TEST(variable_wins)
{
	struct err	 e;
	struct conf	*c;
	char		*out;

	setenv(variables[_i].variable, variables[_i].value, 1);
	c = load(variables[_i].doc, NULL, &e);
	out = c == NULL ? xstrdup(e.text) : dump(c);
	ck_assert_msg(c == NULL ?
	    strncmp(out, variables[_i].result,
	    strlen(variables[_i].result)) == 0 :
	    strstr(out, variables[_i].result) != NULL, "%s", out);
	unsetenv(variables[_i].variable);
	free(out);
	conf_free(c);
}
END_TEST

/* An option wins over a variable. */
START_TEST(option_wins_over_variable)
{
	struct conf	*c;
	struct err	 e;

	setenv("OUTBOX_MASTER_WORKERS", "9", 1);
	c = load("", &(struct conf_override){ .workers = 3 }, &e);
	ck_assert_int_eq(c->master.workers, 3);
	unsetenv("OUTBOX_MASTER_WORKERS");
	conf_free(c);
}
END_TEST

/* Names that only begin like an address of the loopback are other hosts. */
START_TEST(loopback_is_an_address)
{
	static const char *const	here[] = { "localhost", "LocalHost",
		"127.0.0.1", "127.255.0.9", "::1", "::ffff:127.0.0.1" };
	static const char *const	there[] = { "127.db.example", "127.",
		"127.0.0.1.example", "128.0.0.1", "0.0.0.0", "::", "::2",
		"::ffff:10.0.0.1", "localhost.example", "12.7.0.0", "" };

	for (int i = 0; i < NROWS(here); i++)
		ck_assert_msg(conf_is_loopback(here[i]), "%s", here[i]);
	for (int i = 0; i < NROWS(there); i++)
		ck_assert_msg(!conf_is_loopback(there[i]), "%s", there[i]);
}
END_TEST

void
add_files(TCase *tc)
{
	tcase_add_loop_test(tc, bad_item_is_refused, 0, NROWS(nested));
	tcase_add_test(tc, records_are_limited);
	tcase_add_test(tc, route_has_its_fields);
	tcase_add_loop_test(tc, destination_has_words, 0,
	    NROWS(destinations));
	tcase_add_test(tc, destination_of_many_routes_is_cut);
	tcase_add_loop_test(tc, secrets_are_checked, 0, NROWS(secrets));
	tcase_add_loop_test(tc, clear_secrets_are_refused, 0, NROWS(clear));
	tcase_add_loop_test(tc, unsafe_is_told, 0, NROWS(warnings));
	tcase_add_loop_test(tc, dump_hides_headers, 0,
	    NROWS(header_names));
	tcase_add_loop_test(tc, edit_changes_values_only, 0, NROWS(edits));
	tcase_add_loop_test(tc, variable_wins, 0, NROWS(variables));
	tcase_add_test(tc, option_wins_over_variable);
	tcase_add_loop_test(tc, bad_form_is_refused, 0,
	    NROWS(forms) + NROWS(refused));
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
	tcase_add_test(tc, tree_is_bounded);
	tcase_add_test(tc, unreadable_file);
	tcase_add_loop_test(tc, broken_file_finds_the_daemon, 0,
	    NROWS(broken_files));
	tcase_add_test(tc, variable_finds_the_daemon);
	tcase_add_test(tc, loopback_is_an_address);
	tcase_add_test(tc, default_yields);
	tcase_add_test(tc, restart_keys_are_named);
}
