/*
 * check_verdict.c - each row of the table of verdicts, from a real server
 *
 * For every row there is a way to make a server say just that, or a reason
 * why it cannot be made to, which is reported as a skipped test.  A row
 * without either fails.
 */

#include <nats/nats.h>

#include "nats/bus.h"
#include "util/clock.h"
#include "publish/relay.h"
#include "lib/servers.h"
#include "nats/nats_verdict.h"
#include "util/xalloc.h"

#define MANY		60	/* so often something full is sent to */
#define COUNTED		"\"allow_msg_counter\":true"
#define PER_SUBJECT	"\"max_msgs_per_subject\":1,\"discard\":\"new\"," \
			"\"discard_new_per_subject\":true"

/* What the library says of a call on a connection to a real server. */
static natsStatus	too_big(natsConnection *);
static natsStatus	no_subject(natsConnection *);
static natsStatus	no_header(natsConnection *);
static natsStatus	nobody(natsConnection *);
static natsStatus	closed(natsConnection *);

static const struct proof {
	int		 status, code;	/* which row; text as in the table */
	const char	*text;
	const char	*why_not;	/* it cannot be shown */
	int		 since;		/* 212: by servers from 2.12 on */

	natsStatus	(*call)(natsConnection *);
	const char	*server;	/* NULL: "plain" */
	const char	*user;
	const char	*ask, *body;	/* a request instead of a message */
	const char	*stream;	/* what is special about it */
	const char	*later;		/* added by an update */
	const char	*header, *value;
	size_t		 value_size;	/* instead of value */
	size_t		 payload;
} proofs[] = {
	{ .status = NATS_MAX_PAYLOAD, .call = too_big, .server = "tight" },
	{ .status = NATS_INVALID_SUBJECT, .call = no_subject },
	{ .status = NATS_INVALID_ARG, .call = no_header },
	{ .status = NATS_NO_RESPONDERS, .call = nobody },
	{ .status = NATS_CONNECTION_CLOSED, .call = closed },

	{ .code = 10054, .stream = "\"max_msg_size\":300", .payload = 400 },
	{ .code = 10097, .header = "Big", .value_size = 65536 },
	{ .code = 10077, .text = "message too large", .since = 215,
	  .payload = 33 * 1024 * 1024 },
	{ .code = 10070, .header = "Nats-Expected-Last-Msg-Id",
	  .value = "none" },
	{ .code = 10071, .header = "Nats-Expected-Last-Sequence",
	  .value = "5" },
	{ .code = 10164, .why_not = "takes two senders at the same moment, "
	  "in a cluster" },
	{ .code = 10111, .header = "Nats-Rollup", .value = "all" },
	{ .code = 10165, .since = 211, .stream = "\"allow_msg_ttl\":true",
	  .header = "Nats-TTL", .value = "soon" },
	{ .code = 10166, .since = 211, .header = "Nats-TTL", .value = "1h" },
	{ .code = 10158, .why_not = "takes two senders at the same moment, "
	  "in a cluster" },
	{ .code = 10077, .text = "per subject", .stream = PER_SUBJECT },
	{ .code = 10077, .stream = "\"max_msgs\":2,\"discard\":\"new\"" },
	{ .code = 10077, .stream = "\"max_bytes\":999,\"discard\":\"new\"",
	  .payload = 300 },
	{ .code = 10023, .server = "tight", .payload = 100000 },
	{ .code = 10002, .server = "accounts", .user = "a",
	  .payload = 100000 },
	{ .code = 10047, .server = "tight", .ask = "STREAM.CREATE.NEW",
	  .body = "{\"name\":\"NEW\",\"subjects\":[\"new\"],"
	  "\"max_bytes\":9999999}" },
	{ .code = 10060, .header = "Nats-Expected-Stream", .value = "OTHER" },
	{ .code = 10109, .later = ",\"sealed\":true" },
	{ .code = 10167, .why_not = "takes more messages than a server can "
	  "queue" },
	{ .code = 10169, .since = 212, .stream = COUNTED },
	{ .code = 10059, .ask = "STREAM.INFO.NONE", .body = "" },
	{ .code = 10039, .server = "accounts", .user = "n", .ask = "INFO",
	  .body = "" },
	{ .code = 10076, .why_not = "nobody answers where JetStream is off" },
	{ .code = 10008, .why_not = "takes a cluster without a leader" },
	{ .code = 10118, .why_not = "takes a stream of a newer server" },
};

static const struct nats_verdict_row	*rows;
static size_t			 nrows;
static natsConnection		*nc;
static int			 version;	/* 209, 210, ... */
static struct envelope		 letter;
static struct err		 e;

static bool
is_proof_of(const struct proof *p, const struct nats_verdict_row *r)
{
	return p->status == r->status && p->code == r->code &&
	    (p->text == NULL ? r->text == NULL :
	    r->text != NULL && strcmp(p->text, r->text) == 0);
}

static const struct nats_verdict_row *
row_of(const struct proof *p)
{
	for (size_t i = 0; i < nrows; i++)
		if (is_proof_of(p, &rows[i]))
			return &rows[i];
	ck_abort_msg("no row for status %d, code %d", p->status, p->code);
}

static void
start_servers(void)
{
	static const char *const	plain[] = { "max_payload: 40MB", NULL };
	static const char *const	tight[] = {
		"jetstream {max_file: 2MB, max_mem: 1MB}", NULL };
	static const char *const	accounts[] = {
		"accounts: {",
		"A: {jetstream: {max_file: 500K, max_mem: 1K},",
		"users: [{user: a, password: a}]},",
		"N: {users: [{user: n, password: n}]}}", NULL };

	servers_start("plain", "nats", plain);
	servers_start("tight", "nats", tight);
	servers_start("accounts", "nats", accounts);
}

static void
setup(void)
{
	int	major = 0, minor = 0;

	start_servers();
	sscanf(servers_get("plain", "VERSION"), "%d.%d", &major, &minor);
	version = major * 100 + minor;
}

static const char *
server_of(const struct proof *p)
{
	return p->server != NULL ? p->server : "plain";
}

static void
connect_to(const struct proof *p)
{
	char	url[100];

	snprintf(url, sizeof(url), "nats://%s%s%s%s127.0.0.1:%s",
	    p->user != NULL ? p->user : "", p->user != NULL ? ":" : "",
	    p->user != NULL ? p->user : "", p->user != NULL ? "@" : "",
	    servers_get(server_of(p), "PORT"));
	ck_nats(natsConnection_ConnectTo(&nc, url));
}

/*
 * Statuses
 */

static natsStatus
too_big(natsConnection *c)
{
	static char	big[1024 * 1024 + 1];

	return natsConnection_Publish(c, "x", big, sizeof(big));
}

static natsStatus
no_subject(natsConnection *c)
{
	return natsConnection_PublishString(c, "", "x");
}

static natsStatus
no_header(natsConnection *c)
{
	natsMsg		*m;
	natsStatus	 s;

	(void)c;
	ck_nats(natsMsg_Create(&m, "x", NULL, "x", 1));
	s = natsMsgHeader_Set(m, "", "x");
	natsMsg_Destroy(m);
	return s;
}

static natsStatus
nobody(natsConnection *c)
{
	natsMsg	*m = NULL;

	return natsConnection_RequestString(&m, c, "nobody.there", "x", 5000);
}

static natsStatus
closed(natsConnection *c)
{
	natsConnection_Close(c);
	return natsConnection_PublishString(c, "x", "x");
}

/*
 * Answers
 */

static struct pub_answer
ask(const char *subject, const char *body)
{
	char			 full[100];
	struct pub_answer	 a;
	natsMsg			*m;

	snprintf(full, sizeof(full), "$JS.API.%s", subject);
	ck_nats(natsConnection_RequestString(&m, nc, full, body, 5000));
	bus_read_ack(natsMsg_GetData(m), natsMsg_GetDataLength(m), "", NULL,
	    "", &a);
	natsMsg_Destroy(m);
	return a;
}

static void
make_stream(const char *verb, const char *one, const char *two)
{
	char			subject[40], body[300];
	struct pub_answer	a;

	snprintf(subject, sizeof(subject), "STREAM.%s.EVENTS", verb);
	snprintf(body, sizeof(body), "{\"name\":\"EVENTS\",\"subjects\":"
	    "[\"events.>\"],\"storage\":\"file\",\"num_replicas\":1%s%s%s}",
	    one != NULL ? "," : "", one != NULL ? one : "",
	    two != NULL ? two : "");
	a = ask(subject, body);
	/* The description of a stream is no PubAck, but no error either. */
	ck_assert_msg(a.verdict == VERDICT_ELSEWHERE, "%s: %s", body, a.text);
	ck_has(a.text, "not a PubAck");
}

static void
add_header(const char *name, const char *value, size_t len)
{
	struct buf	*b = &letter.text;

	letter.headers[letter.nheaders].name = b->len;
	buf_add(b, name, strlen(name) + 1);
	letter.headers[letter.nheaders].value = b->len;
	buf_add(b, value, len);
	buf_add(b, "", 1);
	letter.size += strlen(name) + len + 4;
	letter.nheaders++;
}

/* Headers that no row can have are added behind the envelope's back. */
static void
write_letter(const struct proof *p, uint64_t sequence)
{
	struct envelope_form	 form = { .subject = "events.t",
				    .id_prefix = "abc", .stream = "" };
	struct msg		 m = { .sequence = sequence };
	char			*text = xcalloc(1, p->payload +
				    p->value_size + 1);

	memset(text, 'x', p->payload + p->value_size);
	free((void *)(uintptr_t)letter.payload.data);
	m.key = m.type = (struct bytes){ "t", 1 };
	m.payload = (struct bytes){ text, p->payload };
	ck_assert_int_eq(envelope_fill(&letter, &form, &m, &e), 0);
	if (p->header != NULL)
		add_header(p->header, p->value != NULL ? p->value : text,
		    p->value != NULL ? strlen(p->value) : p->value_size);
}

static struct pub_answer
send_letter(struct pub *bus)
{
	struct pub_answer	a = { .verdict = VERDICT_LOST };
	int64_t			until = clock_ms() + 10000;

	bus->ops->begin(bus->arg, INT64_MAX);
	ck_assert_msg(bus->ops->send(bus->arg, &letter, 1, &e) == PUB_SENT,
	    "%s", e.text);
	while (!bus->ops->answer(bus->arg, &a) && clock_ms() < until &&
	    bus->ops->is_open(bus->arg))
		pub_wait(bus, 1, -1, until - clock_ms());
	return a;
}

static struct pub
open_bus(const struct proof *p, struct conf **conf)
{
	struct pub	bus;

	*conf = servers_conf("mysql: {database: app}\nnats: {servers: "
	    "[\"%s\"], stream: \"\"%s%s%s}\n", servers_get(server_of(p),
	    "URL"), p->user != NULL ? ", user: " : "",
	    p->user != NULL ? p->user : "",
	    p->user != NULL ? ", password_env: PW" : "");
	setenv("PW", p->user != NULL ? p->user : "", 1);
	bus = bus_new(*conf, "check");
	ck_assert_msg(bus.ops->open(bus.arg, &e) == 0, "%s", e.text);
	return bus;
}

/* Send it until it is refused, which most are at once. */
static struct pub_answer
publish(const struct proof *p)
{
	struct pub_answer	 a = { .verdict = VERDICT_STORED };
	struct conf		*conf;
	struct pub		 bus;

	ask("STREAM.DELETE.EVENTS", "");
	make_stream("CREATE", p->stream, NULL);
	if (p->later != NULL)
		make_stream("UPDATE", p->stream, p->later);
	bus = open_bus(p, &conf);
	for (uint64_t i = 1; i < MANY && a.verdict == VERDICT_STORED; i++) {
		write_letter(p, i);
		a = send_letter(&bus);
	}
	ck_assert_msg(bus.ops->is_open(bus.arg), "the connection was cut");
	ask("STREAM.DELETE.EVENTS", "");
	natsConnection_Destroy(nc);	/* the bus closes the library */
	nc = NULL;
	pub_free(&bus);
	envelope_free(&letter);
	conf_free(conf);
	return a;
}

START_TEST(row_is_what_a_server_says)
{
	const struct proof		*p = &proofs[_i];
	const struct nats_verdict_row	*row = row_of(p);
	struct pub_answer		 a;
	char				 code[20];

	connect_to(p);
	if (p->call != NULL) {
		natsStatus s = p->call(nc);

		ck_assert_msg((int)s == row->status, "%s",
		    natsStatus_GetText(s));
		ck_assert_int_eq(nats_verdict_of_status((int)s), row->verdict);
	} else {
		a = p->ask != NULL ? ask(p->ask, p->body) : publish(p);
		snprintf(code, sizeof(code), "(%d)", row->code);
		ck_assert_msg(strstr(a.text, code) != NULL, "%d: %s",
		    (int)a.verdict, a.text);
		if (row->text != NULL)
			ck_assert_msg(strstr(a.text, row->text) != NULL, "%s",
			    a.text);
		ck_assert_int_eq(a.verdict, row->verdict);
	}
	natsConnection_Destroy(nc);
}
END_TEST

START_TEST(row_has_a_proof)
{
	for (int i = 0; i < NROWS(proofs); i++)
		if (is_proof_of(&proofs[i], &rows[_i]))
			return;
	ck_abort_msg("status %d, code %d: %s", rows[_i].status, rows[_i].code,
	    rows[_i].what);
}
END_TEST

/*
 * TAP of our own: libcheck knows no skipped tests.
 */

static unsigned	ntests;

static void
say(bool ok, const char *name, const char *skip, const char *why)
{
	printf("%sok %u - %s%s%s\n", ok ? "" : "not ", ++ntests, name,
	    skip != NULL ? " # SKIP " : "", skip != NULL ? skip : "");
	if (why != NULL)
		printf("# %s\n", why);
	fflush(stdout);
}

static void
name_proof(char *name, size_t size, const struct proof *p)
{
	for (size_t i = 0; i < nrows; i++)
		if (is_proof_of(p, &rows[i]))
			snprintf(name, size, "%s %d: %s",
			    p->status != 0 ? "status" : "code",
			    p->status + p->code, rows[i].what);
}

/* Why not with this server; NULL: it can. */
static const char *
why_not(const struct proof *p)
{
	static char	text[60];

	if (p->why_not != NULL || version >= p->since)
		return p->why_not;
	snprintf(text, sizeof(text), "servers from %d.%d on, this is %d.%d",
	    p->since / 100, p->since % 100, version / 100, version % 100);
	return text;
}

/* One test as a suite of its own. */
static bool
run(const char *name, const TTest *test, int i)
{
	Suite		 *s = suite_create("verdict");
	TCase		 *tc = tcase_create(name);
	SRunner		 *sr;
	TestResult	**results;
	bool		  ok;

	suite_add_tcase(s, tc);
	tcase_set_timeout(tc, 60);
	tcase_add_unchecked_fixture(tc, setup, NULL);
	tcase_add_loop_test(tc, test, i, i + 1);
	sr = srunner_create(s);
	srunner_set_tap(sr, "/dev/null");	/* not where automake says */
	srunner_run_all(sr, CK_SILENT);
	ok = srunner_ntests_failed(sr) == 0;
	results = srunner_results(sr);
	say(ok, name, NULL, ok ? NULL : tr_msg(results[0]));
	free(results);
	srunner_free(sr);
	return ok;
}

int
main(void)
{
	char	name[100] = "no such row";
	bool	ok = true;

	servers_begin();
	rows = nats_verdict_table(&nrows);
	for (size_t i = 0; i < nrows; i++) {
		snprintf(name, sizeof(name), "row %zu has its proof", i);
		ok = run(name, row_has_a_proof, (int)i) && ok;
	}
	for (int i = 0; i < NROWS(proofs); i++) {
		name_proof(name, sizeof(name), &proofs[i]);
		if (why_not(&proofs[i]) != NULL)
			say(true, name, why_not(&proofs[i]), NULL);
		else
			ok = run(name, row_is_what_a_server_says, i) && ok;
	}
	printf("1..%u\n", ntests);
	servers_end();
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
