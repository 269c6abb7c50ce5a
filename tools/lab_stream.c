/* lab_stream.c - make and change a stream; publish, show and delete messages */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab.h"

#define MAX_SUBJECTS	64

static void
delete_stream(struct lab_bus *bus, const struct lab_opts *o)
{
	jsErrCode	code = 0;
	natsStatus	s;

	s = js_DeleteStream(bus->js, o->stream, NULL, &code);
	if (s != NATS_OK && s != NATS_NOT_FOUND)
		lab_bus_die("deleting the stream", s);
}

static void
make_stream(struct lab_bus *bus, jsStreamConfig *cfg)
{
	jsStreamInfo	*si = NULL;
	jsErrCode	 code = 0;
	natsStatus	 s;

	s = js_GetStreamInfo(&si, bus->js, cfg->Name, NULL, &code);
	jsStreamInfo_Destroy(si);
	if (s == NATS_NOT_FOUND)
		s = js_AddStream(NULL, bus->js, cfg, NULL, &code);
	else if (s == NATS_OK)
		s = js_UpdateStream(NULL, bus->js, cfg, NULL, &code);
	if (s != NATS_OK)
		lab_bus_die("making the stream", s);
}

static int
split_subjects(char *list, const char **subjects)
{
	int	 n = 0;
	char	*save = NULL, *p;

	for (p = strtok_r(list, ", ", &save); p != NULL;
	    p = strtok_r(NULL, ", ", &save)) {
		if (n == MAX_SUBJECTS)
			errx(1, "--subjects: at most %d", MAX_SUBJECTS);
		subjects[n++] = p;
	}
	return n;
}

int
lab_stream(const struct lab_opts *o)
{
	const char	*subjects[MAX_SUBJECTS];
	char		*list = lab_strdup(o->subjects != NULL ?
			    o->subjects : "");
	struct lab_bus	 bus;
	jsStreamConfig	 cfg;

	jsStreamConfig_Init(&cfg);
	cfg.Name = o->stream;
	cfg.Subjects = subjects;
	cfg.SubjectsLen = split_subjects(list, subjects);
	cfg.Storage = o->memory ? js_MemoryStorage : js_FileStorage;
	cfg.Retention = o->work_queue ? js_WorkQueuePolicy : js_LimitsPolicy;
	cfg.Discard = o->discard_new ? js_DiscardNew : js_DiscardOld;
	cfg.Duplicates = o->dup_window * 1000000000;
	cfg.MaxMsgs = o->max_msgs;
	cfg.MaxMsgSize = (int32_t)o->max_msg_size;
	cfg.Replicas = o->replicas;
	cfg.NoAck = o->no_ack;
	lab_bus_open(o, &bus);
	if (o->delete)
		delete_stream(&bus, o);
	else
		make_stream(&bus, &cfg);
	lab_bus_close(&bus);
	free(list);
	return 0;
}

static char *
read_all(FILE *f, size_t *len)
{
	size_t	 size = 65536, n;
	char	*data = lab_realloc(NULL, size, 1);

	*len = 0;
	while ((n = fread(data + *len, 1, size - *len, f)) > 0) {
		*len += n;
		if (*len == size)
			data = lab_realloc(data, size *= 2, 1);
	}
	return data;
}

static void
set_headers(natsMsg *m, const struct lab_opts *o)
{
	natsStatus	s = NATS_OK;

	if (o->id != NULL)
		s = natsMsgHeader_Set(m, "Nats-Msg-Id", o->id);
	for (size_t i = 0; s == NATS_OK && i < o->nheaders; i++) {
		char	*key = lab_strdup(o->headers[i]);
		char	*value = strchr(key, '=');

		if (value == NULL)
			errx(1, "--header %s: must be KEY=VALUE", key);
		*value++ = '\0';
		s = natsMsgHeader_Add(m, key, value);
		free(key);
	}
	if (s != NATS_OK)
		lab_bus_die("setting headers", s);
}

int
lab_publish(const struct lab_opts *o)
{
	struct lab_bus	 bus;
	natsMsg		*m = NULL;
	jsPubAck	*ack = NULL;
	jsErrCode	 code = 0;
	natsStatus	 s;
	size_t		 len = 0;
	char		*in = NULL;

	if (o->kafka != NULL)
		return lab_publish_record(o);
	if (o->data == NULL)
		in = read_all(stdin, &len);
	else
		len = strlen(o->data);
	lab_bus_open(o, &bus);
	s = natsMsg_Create(&m, o->subject, NULL, in != NULL ? in : o->data,
	    (int)len);
	if (s != NATS_OK)
		lab_bus_die("making the message", s);
	set_headers(m, o);
	if ((s = js_PublishMsg(&ack, bus.js, m, NULL, &code)) != NATS_OK)
		lab_bus_die("publishing", s);
	printf("stream=%s seq=%llu duplicate=%s\n", ack->Stream,
	    (unsigned long long)ack->Sequence, ack->Duplicate ? "yes" : "no");
	jsPubAck_Destroy(ack);
	natsMsg_Destroy(m);
	lab_bus_close(&bus);
	free(in);
	return 0;
}

/* The state of a copy into another stream. */
struct copying {
	jsCtx		*js;
	const char	*into;
	uint64_t	 last;		/* sequence copied */
	bool		 failed;
};

static void
copy_failed(jsCtx *js, jsPubAckErr *pae, void *arg)
{
	(void)js;
	(void)pae;
	((struct copying *)arg)->failed = true;
}

static natsStatus
copy_headers(natsMsg *to, natsMsg *from)
{
	const char	**keys = NULL, *value;
	int		  n = 0;
	natsStatus	  s = natsMsgHeader_Keys(from, &keys, &n);

	for (int i = 0; s == NATS_OK && i < n; i++)
		if (strncmp(keys[i], "Nats-", 5) != 0 &&
		    natsMsgHeader_Get(from, keys[i], &value) == NATS_OK)
			s = natsMsgHeader_Set(to, keys[i], value);
	free((void *)keys);
	return s == NATS_NOT_FOUND ? NATS_OK : s;
}

/* The id contains the origin's sequence, so copying twice changes nothing. */
static void
copy_message(void *arg, natsMsg *m, uint64_t seq, int64_t when)
{
	struct copying	*c = arg;
	char		 subject[512], id[512];
	const char	*old = "";
	natsMsg		*copy = NULL;
	natsStatus	 s;

	(void)when;
	snprintf(subject, sizeof(subject), "%s.%s", c->into,
	    natsMsg_GetSubject(m));
	natsMsgHeader_Get(m, "Nats-Msg-Id", &old);
	snprintf(id, sizeof(id), "%llu %s", (unsigned long long)seq, old);
	s = natsMsg_Create(&copy, subject, NULL, natsMsg_GetData(m),
	    natsMsg_GetDataLength(m));
	if (s == NATS_OK)
		s = copy_headers(copy, m);
	if (s == NATS_OK)
		s = natsMsgHeader_Set(copy, "Nats-Msg-Id", id);
	if (s == NATS_OK)
		s = js_PublishMsgAsync(c->js, &copy, NULL);
	if (s != NATS_OK)
		lab_bus_die("copying a message", s);
	c->last = seq;
}

/* Returns the sequence after the last one copied, to purge up to. */
static uint64_t
copy_stream(struct lab_bus *bus, const struct lab_opts *o)
{
	struct copying	c = { .into = o->into };
	jsOptions	jo;
	jsPubOptions	po;
	natsStatus	s;

	jsOptions_Init(&jo);
	jo.PublishAsync.MaxPending = 4000;
	jo.PublishAsync.StallWait = 30000;
	jo.PublishAsync.ErrHandler = copy_failed;
	jo.PublishAsync.ErrHandlerClosure = &c;
	if ((s = natsConnection_JetStream(&c.js, bus->nc, &jo)) != NATS_OK)
		lab_bus_die("copying", s);
	lab_read_stream(bus, o->stream, copy_message, &c);
	jsPubOptions_Init(&po);
	po.MaxWait = 10000;
	if ((s = js_PublishAsyncComplete(c.js, &po)) != NATS_OK)
		lab_bus_die("copying", s);
	if (c.failed)
		errx(1, "NATS: %s did not store all copies", o->into);
	jsCtx_Destroy(c.js);
	return c.last + 1;
}

int
lab_purge(const struct lab_opts *o)
{
	struct lab_bus	bus;
	jsOptions	jo;
	jsErrCode	code = 0;
	natsStatus	s;

	jsOptions_Init(&jo);
	lab_bus_open(o, &bus);
	if (o->into != NULL)
		jo.Stream.Purge.Sequence = copy_stream(&bus, o);
	if ((s = js_PurgeStream(bus.js, o->stream, &jo, &code)) != NATS_OK)
		lab_bus_die("purging the stream", s);
	lab_bus_close(&bus);
	return 0;
}

int
lab_delete_msg(const struct lab_opts *o)
{
	struct lab_bus	bus;
	jsErrCode	code = 0;
	natsStatus	s;

	lab_bus_open(o, &bus);
	s = js_DeleteMsg(bus.js, o->stream, (uint64_t)o->seq, NULL, &code);
	if (s != NATS_OK)
		lab_bus_die("deleting the message", s);
	lab_bus_close(&bus);
	return 0;
}

static void
print_headers(natsMsg *m)
{
	const char	**keys = NULL, **values = NULL;
	int		  nkeys = 0, n = 0;

	if (natsMsgHeader_Keys(m, &keys, &nkeys) != NATS_OK)
		return;
	for (int i = 0; i < nkeys; i++) {
		if (natsMsgHeader_Values(m, keys[i], &values, &n) != NATS_OK)
			continue;
		for (int j = 0; j < n; j++)
			printf("%s: %s\n", keys[i], values[j]);
		free((void *)values);
	}
	free((void *)keys);
}

static void
list_message(void *arg, natsMsg *m, uint64_t seq, int64_t when)
{
	const char	*event = NULL;

	(void)arg;
	if (natsMsgHeader_Get(m, "Outbox-Sequence", &event) != NATS_OK)
		event = "-";
	printf("%llu %s %lld\n", (unsigned long long)seq, event,
	    (long long)when);
}

int
lab_list(const struct lab_opts *o)
{
	struct lab_bus	bus;

	if (o->kafka != NULL)
		return lab_list_records(o);
	lab_bus_open(o, &bus);
	lab_read_stream(&bus, o->stream, list_message, NULL);
	lab_bus_close(&bus);
	if (fflush(stdout) != 0)
		err(1, "writing the list");
	return 0;
}

/* Print subject and sequence, the headers, an empty line and the payload. */
int
lab_show(const struct lab_opts *o)
{
	struct lab_bus	 bus;
	natsMsg		*m = NULL;
	jsErrCode	 code = 0;
	natsStatus	 s;
	uint64_t	 seq = (uint64_t)o->seq;

	if (o->kafka != NULL)
		return lab_show_record(o);
	lab_bus_open(o, &bus);
	if (o->last)
		lab_stream_state(&bus, o->stream, &seq);
	s = js_GetMsg(&m, bus.js, o->stream, seq, NULL, &code);
	if (s != NATS_OK)
		lab_bus_die("reading the message", s);
	printf("Subject: %s\nSequence: %llu\n", natsMsg_GetSubject(m),
	    (unsigned long long)seq);
	print_headers(m);
	putchar('\n');
	fwrite(natsMsg_GetData(m), 1, (size_t)natsMsg_GetDataLength(m),
	    stdout);
	putchar('\n');
	natsMsg_Destroy(m);
	lab_bus_close(&bus);
	return 0;
}
