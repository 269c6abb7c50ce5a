/*
 * envelope.c - makes a message of a row, and checks that it is legal; pure
 *
 * nats.c sends a subject with a blank or a header with a line break as it is,
 * and the server then closes the connection.  So each text of a row is checked
 * here.
 */

#include "driver/envelope_impl.h"

#include "drivers/traits/traits.h"
#include "util/printable.h"

/* A larger body gives its memory back. */
#define BODY_KEPT	(1024 * 1024)

static void
put_bytes(struct buf *to, struct bytes b)
{
	buf_add(to, b.data == NULL ? "" : b.data, b.len);
}

/*
 * Add a column as a header, unless it is NULL or empty.  A value that is not
 * plain text, such as a binary key, becomes 0x and hex digits: see printable.h.
 */
static void
add_column(struct envelope *v, const char *name, struct bytes value)
{
	/* An empty header makes nats.c subscribers refuse all headers. */
	if (value.data == NULL || value.len == 0)
		return;
	envelope_open_header(v, name);
	printable_put(&v->text, value.data, value.len);
	envelope_close_header(v);
}

/* What is known of the payload as it is sent. */
static struct bytes
content_type(const struct envelope_form *f, const struct msg *m)
{
	static const char	json[] = "application/json";
	static const char	event[] = "application/cloudevents+json";

	switch (f->kind) {
	case ENVELOPE_JSON:
		return (struct bytes){ json, sizeof(json) - 1 };
	case ENVELOPE_CLOUDEVENTS:
		return (struct bytes){ event, sizeof(event) - 1 };
	default:
		return m->content_type;
	}
}

/* The column is sent as it is, or not at all. */
static int
check_content_type(struct bytes type, struct err *e)
{
	if (!envelope_has(type))
		return 0;
	for (size_t i = 0; i < type.len; i++)
		if (type.data[i] < ' ' || type.data[i] > '~')
			return err_set(e, "content_type holds a character "
			    "that is not legal in a header");
	if (type.data[0] == ' ' || type.data[type.len - 1] == ' ')
		return err_set(e, "content_type has a blank at an end");
	return 0;
}

static void
add_columns(struct envelope *v, const struct envelope_form *f,
    struct msg *m)
{
	struct message_id	id = msg_id(m);

	envelope_open_header(v, MESSAGE_ID_HEADER);
	msg_put_id(&v->text, f->id_prefix, m);
	envelope_close_header(v);
	if (msg_has_own_id(m)) {
		envelope_open_header(v, MESSAGE_ID_OWN_HEADER);
		message_id_put(&v->text, f->id_prefix, &id);
		envelope_close_header(v);
	}
	if (msg_has_own_id(m) && m->renamed) {
		envelope_open_header(v, MESSAGE_ID_AUTHOR_HEADER);
		msg_put_author_id(&v->text, m);
		envelope_close_header(v);
	}
	if (f->stream[0] != '\0') {
		envelope_open_header(v, "Nats-Expected-Stream");
		buf_str(&v->text, f->stream);
		envelope_close_header(v);
	}
	if (traits[f->driver]->has_stream && f->origin != NULL &&
	    f->origin[0] != '\0') {
		envelope_open_header(v, MESSAGE_ORIGIN_HEADER);
		buf_str(&v->text, f->origin);
		envelope_close_header(v);
	}
	envelope_open_header(v, "Outbox-Sequence");
	buf_u64(&v->text, m->sequence);
	envelope_close_header(v);
	if (m->replay > 0) {
		envelope_open_header(v, "Outbox-Replay");
		buf_u64(&v->text, m->replay);
		envelope_close_header(v);
	}
	/* An application's column may be a text, with whatever is in it. */
	if (m->time.data != NULL && !printable_is(m->time.data, m->time.len))
		add_column(v, MESSAGE_TIME_HEADER, m->time);
	else if (m->time.data != NULL) {
		envelope_open_header(v, MESSAGE_TIME_HEADER);
		envelope_put_time(&v->text, m->time);
		envelope_close_header(v);
	}
	add_column(v, "Outbox-Partition", m->partition);
	add_column(v, "Outbox-Key", m->key);
	add_column(v, "Outbox-Type", m->type);
	add_column(v, "Outbox-Stream-Sequence", m->stream_sequence);
	add_column(v, "Outbox-Version", m->version);
	add_column(v, "Outbox-Correlation-Id", m->correlation);
	v->typed = envelope_has(content_type(f, m));
	add_column(v, ENVELOPE_CONTENT_TYPE, content_type(f, m));
}

static bool
is_name(const char *name, size_t len, const char *other)
{
	return len == strlen(other) && memcmp(name, other, len) == 0;
}

static void
put_placeholder(struct envelope *v, const struct envelope_form *f,
    const struct msg *m, const char *name, size_t len)
{
	const struct driver_traits	*t = traits[f->driver];
	bool		 as_it_is = t->put_value == NULL;
	bool		 key = is_name(name, len, "stream_id");
	struct buf	*b = as_it_is ? &v->text : &v->scratch;

	if (!as_it_is)
		buf_clear(b);
	/* A key may have any bytes. */
	if (key && as_it_is && m->key.data != NULL && !t->takes_key(m->key))
		printable_put_hex(b, m->key.data, m->key.len);
	else if (key)
		put_bytes(b, m->key);
	else if (is_name(name, len, "partition"))
		put_bytes(b, m->partition);
	else if (m->type.data != NULL)		/* event_type or topic */
		type_tokens_put(b, &f->types, m->type);
	if (!as_it_is)
		t->put_value(&v->text, b->data, b->len);
}

static int
put_subject(struct envelope *v, const struct envelope_form *f,
    const struct msg *m, struct err *e)
{
	const char	*p = f->subject, *open;
	int		(*check)(const char *, size_t, struct err *) =
			    traits[f->driver]->check;

	v->subject = v->text.len;
	while ((open = strchr(p, '{')) != NULL) {
		size_t n = strcspn(open + 1, "}");

		buf_add(&v->text, p, (size_t)(open - p));
		put_placeholder(v, f, m, open + 1, n);
		p = open + n + 2;
	}
	buf_str(&v->text, p);
	buf_add(&v->text, "", 1);
	return check == NULL ? 0 : check(envelope_subject(v),
	    v->text.len - v->subject - 1, e);
}

struct envelope_form
envelope_form_of(const struct conf *c, const char *prefix)
{
	enum conf_driver	driver = (enum conf_driver)c->publish.driver;

	return (struct envelope_form){ .driver = driver,
	    .subject = traits_template(c, NULL), .id_prefix = prefix,
	    .stream = traits[driver]->has_stream ? conf_stream(c) : "",
	    .endpoint = c->http.endpoint,
	    .kind = (enum conf_envelope)c->publish.envelope,
	    .source = c->publish.source, .types = type_tokens_of(c) };
}

struct envelope_form
envelope_form_of_route(const struct conf *c, const struct conf_route *r,
    const struct envelope_form *form)
{
	struct envelope_form	f = *form;

	f.driver = (enum conf_driver)r->driver;
	f.subject = traits_template(c, r);
	f.stream = traits[f.driver]->has_stream ? conf_stream(c) : "";
	if (r->endpoint[0] != '\0')
		f.endpoint = r->endpoint;
	if (r->envelope != CONF_INHERIT)
		f.kind = (enum conf_envelope)r->envelope;
	return f;
}

static void
clear(struct envelope *v)
{
	buf_clear(&v->text);
	if (v->body.size > BODY_KEPT)
		buf_free(&v->body);
	buf_clear(&v->body);
	v->nheaders = 0;
	v->typed = false;
	v->skipped = 0;
}

/* Surround the payload with what the form wants, in headers or the body. */
static int
wrap(struct envelope *v, const struct envelope_form *f, struct msg *m,
    json_t *metadata, struct err *e)
{
	switch (f->kind) {
	case ENVELOPE_JSON:
		if (envelope_put_json(v, f, m, metadata, e) < 0)
			return -1;
		break;
	case ENVELOPE_CLOUDEVENTS:
		if (cloudevents_check(m, e) < 0)
			return -1;
		cloudevents_put_body(v, f, m, metadata);
		break;
	case ENVELOPE_CLOUDEVENTS_BINARY:
		if (cloudevents_check(m, e) < 0)
			return -1;
		cloudevents_add_headers(v, f, m, metadata);
		return 0;
	default:
		return 0;
	}
	v->payload = (struct bytes){ v->body.data, v->body.len };
	return 0;
}

int
envelope_fill(struct envelope *v, const struct envelope_form *f,
    struct msg *m, struct err *e)
{
	json_t	*metadata;
	int	 rc;

	clear(v);
	v->payload = m->payload;
	v->key = m->key;
	v->time = m->time;
	v->driver = f->driver;
	v->endpoint = f->endpoint;
	v->size = strlen("NATS/1.0\r\n\r\n");
	if (put_subject(v, f, m, e) < 0 ||
	    check_content_type(m->content_type, e) < 0)
		return -1;
	add_columns(v, f, m);
	if (envelope_read_metadata(v, m->metadata, &metadata, e) < 0)
		return -1;
	rc = wrap(v, f, m, metadata, e);
	envelope_add_metadata(v, f, metadata);
	json_decref(metadata);
	v->size += v->payload.len;
	return rc;
}

void
envelope_free(struct envelope *v)
{
	buf_free(&v->text);
	buf_free(&v->body);
	buf_free(&v->scratch);
}

const char *
envelope_subject(const struct envelope *v)
{
	return v->text.data + v->subject;
}

const char *
envelope_subject_of(struct envelope *v, const struct envelope_form *f,
    const struct msg *m)
{
	struct err	e;

	clear(v);
	put_subject(v, f, m, &e);	/* written in any case */
	return envelope_subject(v);
}

const char *
envelope_name(const struct envelope *v, size_t i)
{
	return v->text.data + v->headers[i].name;
}

const char *
envelope_value(const struct envelope *v, size_t i)
{
	return v->text.data + v->headers[i].value;
}

