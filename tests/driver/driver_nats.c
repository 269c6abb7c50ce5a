/* driver_nats.c - a nats-server as a destination, see driver_test.h */

#include "driver/driver_test.h"

#include <signal.h>

#include <nats/nats.h>

#define SUBJECT	"events.>"

static natsConnection	*admin;
static jsCtx		*js;
static natsSubscription	*all;
static bool		 core;

void
start_nats(void)
{
	static const char *const	lines[] = { "max_payload: 4096", NULL };

	servers_start("nats", "nats", lines);
}

static void
set_limit(int64_t max)
{
	const char	*subjects[] = { SUBJECT };
	jsStreamConfig	 cfg;
	jsErrCode	 code;

	jsStreamConfig_Init(&cfg);
	cfg.Name = "EVENTS";
	cfg.Subjects = subjects;
	cfg.SubjectsLen = 1;
	cfg.MaxBytes = max;
	cfg.Discard = js_DiscardNew;
	if (js_UpdateStream(NULL, js, &cfg, NULL, &code) != NATS_OK)
		ck_nats(js_AddStream(NULL, js, &cfg, NULL, &code));
}

static struct conf *
begin_with(const char *keys)
{
	jsErrCode	code;

	ck_nats(natsConnection_ConnectTo(&admin, servers_get("nats", "URL")));
	ck_nats(natsConnection_JetStream(&js, admin, NULL));
	js_DeleteStream(js, "EVENTS", NULL, &code);
	ck_nats(natsConnection_SubscribeSync(&all, admin, SUBJECT));
	ck_nats(natsConnection_Flush(admin));
	return servers_conf("mysql: {database: app}\n"
	    "publish: {timeout_ms: 600}\nnats: {servers: [\"%s\"], %s}\n",
	    servers_get("nats", "URL"), keys);
}

static struct conf *
begin(void)
{
	struct conf	*c = begin_with("stream: EVENTS");

	core = false;
	set_limit(-1);
	return c;
}

static struct conf *
begin_core(void)
{
	core = true;
	return begin_with("stream: \"\", core: true");
}

static void
end(void)
{
	natsSubscription_Destroy(all);
	jsCtx_Destroy(js);
	natsConnection_Destroy(admin);
}

static void
come_back(void)
{
	servers_restart("nats");
	for (int64_t until = patience(); natsConnection_FlushTimeout(admin,
	    200) != NATS_OK; )
		wait_more(&until, "the server");
}

static void
feel(enum mood mood)
{
	static enum mood	now;

	if (now == SILENT)
		servers_signal("nats", SIGCONT);
	if (now == AWAY)
		come_back();
	if (now == REFUSES_ALL)
		set_limit(-1);
	now = mood;
	if (now == SILENT)
		servers_signal("nats", SIGSTOP);
	if (now == AWAY)
		servers_kill("nats");
	if (now == REFUSES_ALL)
		set_limit(1);
}

/* What the stream has. */
static size_t
list_stream(uint64_t *sequences, size_t max)
{
	natsMsg		*m;
	const char	*text;
	jsErrCode	 code;
	size_t		 n = 0;

	while (n < max && js_GetMsg(&m, js, "EVENTS", n + 1, NULL, &code) ==
	    NATS_OK) {
		ck_nats(natsMsgHeader_Get(m, "Outbox-Sequence", &text));
		sequences[n++] = strtoull(text, NULL, 10);
		natsMsg_Destroy(m);
	}
	return n;
}

/* What a subscriber got. */
static size_t
list(uint64_t *sequences, size_t max)
{
	natsMsg		*m;
	const char	*text;
	size_t		 n = 0;

	while (n < max && natsSubscription_NextMsg(&m, all, 200) == NATS_OK) {
		ck_nats(natsMsgHeader_Get(m, "Outbox-Sequence", &text));
		sequences[n++] = strtoull(text, NULL, 10);
		natsMsg_Destroy(m);
	}
	return n;
}

const struct destination	to_nats = {
	.name = "nats", .driver = "nats", .begin = begin, .end = end,
	.feel = feel, .list = list_stream,
	.cannot = {
		[CUTS] = "a connection that ends is AWAY",
	},
};

#define NO_ANSWER	"it gives no answers"

const struct destination	to_nats_core = {
	.name = "nats.core", .driver = "nats", .begin = begin_core, .end = end,
	.feel = feel, .list = list,
	.cannot = {
		[REFUSES_ALL] = NO_ANSWER, [SILENT] = NO_ANSWER,
		[CUTS] = NO_ANSWER,
	},
};
