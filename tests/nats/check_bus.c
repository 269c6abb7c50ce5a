/*
 * check_bus.c - the publisher against a real nats-server
 *
 * Here is what the tests share, see bus_test.h.
 */
#include "nats/bus_test.h"

const char	*server;
struct conf	*conf;
struct pub	 bus;
struct err	 e;
struct envelope	 letter;
natsConnection	*admin;
jsCtx		*js;

struct conf *
conf_with(const char *keys)
{
	return servers_conf("mysql: {database: app}\nnats: {%s}\n", keys);
}

struct conf *
conf_of_server(const char *more)
{
	char	keys[1024];

	snprintf(keys, sizeof(keys), "servers: [\"%s\"]%s%s",
	    servers_get(server, "URL"), more[0] == '\0' ? "" : ", ", more);
	return conf_with(keys);
}

int
open_bus(struct pub *p)
{
	e.text[0] = '\0';
	return p->ops->open(p->arg, &e);
}

bool
is_open(void)
{
	return bus.ops->is_open(bus.arg);
}

void
add_stream(jsStreamConfig *cfg, const char *name, const char *subject)
{
	const char	*subjects[] = { subject };
	int64_t		 until = clock_ms() + 5000;
	jsErrCode	 code;
	natsStatus	 status;

	cfg->Name = name;
	cfg->Subjects = subjects;
	cfg->SubjectsLen = 1;
	/* Newer servers may still remove the files of a deleted stream. */
	do {
		status = js_AddStream(NULL, js, cfg, NULL, &code);
	} while (status == NATS_ERR && clock_ms() < until);
	ck_assert_msg(status == NATS_OK, "%s: %s, code %d", name,
	    natsStatus_GetText(status), (int)code);
}

void
plain_stream(const char *name, const char *subject)
{
	jsStreamConfig	cfg;

	jsStreamConfig_Init(&cfg);
	add_stream(&cfg, name, subject);
}

uint64_t
stored(const char *stream)
{
	jsStreamInfo	*si;
	jsErrCode	 code;
	uint64_t	 n;

	ck_nats(js_GetStreamInfo(&si, js, stream, NULL, &code));
	n = si->State.Msgs;
	jsStreamInfo_Destroy(si);
	return n;
}

void
admin_open(const char *url)
{
	jsErrCode	code;

	ck_nats(natsConnection_ConnectTo(&admin, url));
	ck_nats(natsConnection_JetStream(&js, admin, NULL));
	js_DeleteStream(js, "EVENTS", NULL, &code);
	js_DeleteStream(js, "OTHER", NULL, &code);
}

void
admin_close(void)
{
	jsCtx_Destroy(js);
	natsConnection_Destroy(admin);
	js = NULL;
	admin = NULL;
}

void
begin(void)
{
	conf = conf_of_server("");
	bus = bus_new(conf, "check");
	admin_open(conf->nats.servers.items[0]);
	plain_stream("EVENTS", "events.>");
	ck_assert_msg(open_bus(&bus) == 0, "%s", e.text);
	bus.ops->begin(bus.arg, INT64_MAX);
}

void
end(void)
{
	admin_close();
	pub_free(&bus);
	envelope_free(&letter);
	conf_free(conf);
}

void
start_nats(void)
{
	server = "nats";
	servers_start("nats", "nats", NULL);
}

struct bytes
bytes(const char *text)
{
	return (struct bytes){ text, text == NULL ? 0 : strlen(text) };
}

void
write_letter(uint64_t sequence, const char *type, struct bytes payload)
{
	struct envelope_form	form = { .subject = "events.{event_type}",
				    .id_prefix = "abc", .stream = "" };
	struct msg		m = { .sequence = sequence };

	m.partition = bytes("p00");
	m.key = bytes("key");
	m.type = bytes(type);
	m.payload = payload;
	ck_assert_msg(envelope_fill(&letter, &form, &m, &e) == 0, "%s",
	    e.text);
}

enum pub_sent
send_letter(uint32_t index)
{
	e.text[0] = '\0';
	return bus.ops->send(bus.arg, &letter, index, &e);
}

void
send_row(uint64_t sequence, uint32_t index)
{
	write_letter(sequence, "t", bytes("{}"));
	ck_assert_int_eq(send_letter(index), PUB_SENT);
}

bool
answers(struct pub_answer *a, int64_t ms)
{
	int64_t	until = clock_ms() + ms, left;

	memset(a, 0xff, sizeof(*a));
	while (!bus.ops->answer(bus.arg, a)) {
		if ((left = until - clock_ms()) <= 0 || !is_open())
			return false;
		pub_wait(&bus, 1, -1, left);
	}
	return true;
}

void
ck_answer(uint32_t index, enum verdict verdict, const char *text)
{
	struct pub_answer	a;

	ck_assert_msg(answers(&a, 5000), "no answer");
	ck_assert_msg(a.index == index && a.verdict == verdict,
	    "slot %u, verdict %d: %s", a.index, (int)a.verdict, a.text);
	if (text == NULL)
		ck_assert_str_eq(a.text, "");
	else
		ck_has(a.text, text);
}

void
ck_no_answer(int64_t ms)
{
	struct pub_answer	a;

	ck_assert_msg(!answers(&a, ms), "slot %u, verdict %d: %s", a.index,
	    (int)a.verdict, a.text);
}

void
ck_stored(uint32_t index, uint64_t sequence)
{
	struct pub_answer	a;

	ck_assert_msg(answers(&a, 5000), "no answer");
	ck_assert_msg(a.verdict == VERDICT_STORED, "%d: %s", (int)a.verdict,
	    a.text);
	ck_assert_uint_eq(a.index, index);
	ck_assert_uint_eq(a.ack_sequence, sequence);
	ck_assert_str_eq(a.text, "");
}

bool
check(struct stream_report *r)
{
	e.text[0] = '\0';
	return bus.ops->check(bus.arg, r, &e);
}

unsigned	asked;
unsigned	enough;

static bool
go_on(void *arg)
{
	(void)arg;
	return ++asked != enough;
}

int
get_stored(struct stored_message *stored, size_t n)
{
	static const struct pub_go_on	until_enough = { go_on, NULL };

	e.text[0] = '\0';
	return bus.ops->get_stored(bus.arg, "abc", stored, n,
	    &until_enough, &e);
}

int
main(void)
{
	Suite	*s = suite_create("bus");

	add_publishing(s);
	add_wakes(s);
	add_refusals(s);
	add_looks(s);
	add_logins(s);
	add_encryption(s);
	add_losses(s);
	add_hostile(s);
	return servers_test(s);
}
