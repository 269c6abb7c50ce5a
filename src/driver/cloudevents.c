/*
 * cloudevents.c - a row as a CloudEvent 1.0
 *
 * See envelope_impl.h.  Structured mode has the attributes in a JSON object,
 * binary mode in headers, whose values are percent-encoded.
 */

#include "driver/envelope_impl.h"

#include <ctype.h>

#include "util/printable.h"

#define SOURCE_START	"urn:outbox:"
#define SEQUENCE_DIGITS	20		/* of the largest 64-bit number */

static bool
is_visible(unsigned char c)
{
	return c > ' ' && c < 0x7f && c != '"' && c != '%';
}

static bool
is_unreserved(unsigned char c)
{
	return isalnum(c) || (c != '\0' && strchr("-._~", c) != NULL);
}

/* Percent-encode all but the bytes that may stand. */
static void
put_percent(struct buf *b, struct bytes text, bool (*may_stand)(unsigned char))
{
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.data[i];

		if (may_stand(c))
			buf_add(b, &c, 1);
		else
			buf_printf(b, "%%%02X", c);
	}
}

static void
add_header(struct envelope *v, const char *name, struct bytes value)
{
	char	full[32];

	snprintf(full, sizeof(full), "ce-%s", name);
	envelope_open_header(v, full);
	put_percent(&v->text, value, is_visible);
	envelope_close_header(v);
}

static void
add_member(struct envelope *v, const char *name, struct bytes value)
{
	envelope_put_text(&v->body, name, value);
}

/* Where an attribute goes: one of the two functions above. */
struct place {
	struct envelope	*v;
	void		(*add)(struct envelope *, const char *, struct bytes);
};

static void
add_text(const struct place *p, const char *name, const char *text)
{
	p->add(p->v, name, (struct bytes){ text, strlen(text) });
}

/* What was written to scratch. */
static void
add_scratch(const struct place *p, const char *name)
{
	p->add(p->v, name,
	    (struct bytes){ p->v->scratch.data, p->v->scratch.len });
	buf_clear(&p->v->scratch);
}

static void
add_column(const struct place *p, const char *name, struct bytes value)
{
	if (!envelope_has(value))
		return;
	printable_put(&p->v->scratch, value.data, value.len);
	add_scratch(p, name);
}

/* "2026-01-31 12:00:00", with a fraction or without; not "0000-00-00 ..." */
static bool
is_date(struct bytes time)
{
	static const char	form[] = "dddd-dd-dd dd:dd:dd.";

	if (time.data == NULL || time.len < sizeof(form) - 2 ||
	    time.len == sizeof(form) - 1 ||
	    memcmp(time.data + 5, "00", 2) == 0 ||
	    memcmp(time.data + 8, "00", 2) == 0)
		return false;
	for (size_t i = 0; i < time.len; i++) {
		char want = (char)(i < sizeof(form) - 1 ? form[i] : 'd');

		if (want == 'd' ? !isdigit((unsigned char)time.data[i]) :
		    time.data[i] != want)
			return false;
	}
	return true;
}

/* The context of a trace, if the metadata has it. */
static void
add_trace(const struct place *p, json_t *metadata, const char *name)
{
	json_t		*text = json_object_get(metadata, name);
	struct bytes	 value = { json_string_value(text),
			    json_string_length(text) };

	if (envelope_has(value) && printable_is(value.data, value.len))
		p->add(p->v, name, value);
}

static void
add_attributes(const struct place *p, const struct envelope_form *f,
    struct msg *m, json_t *metadata)
{
	struct buf	*b = &p->v->scratch;

	buf_clear(b);
	add_text(p, "specversion", "1.0");
	msg_put_id(b, f->id_prefix, m);
	add_scratch(p, "id");
	if (f->source != NULL && f->source[0] != '\0')
		add_text(p, "source", f->source);
	else {
		buf_str(b, SOURCE_START);
		put_percent(b, (struct bytes){ f->id_prefix,
		    strlen(f->id_prefix) }, is_unreserved);
		add_scratch(p, "source");
	}
	add_column(p, "type", m->type);
	add_column(p, "subject", m->key);
	if (is_date(m->time)) {
		envelope_put_time(b, m->time);
		add_scratch(p, "time");
	}
	add_column(p, "partitionkey", m->key);
	/* Compared as texts these must be in order: hence the zeros. */
	buf_printf(b, "%0*llu", SEQUENCE_DIGITS,
	    (unsigned long long)m->sequence);
	add_scratch(p, "sequence");
	add_trace(p, metadata, "traceparent");
	add_trace(p, metadata, "tracestate");
}

int
cloudevents_check(const struct msg *m, struct err *e)
{
	return envelope_has(m->type) ? 0 :
	    err_set(e, "it has no event type, and a CloudEvent needs one");
}

void
cloudevents_add_headers(struct envelope *v, const struct envelope_form *f,
    struct msg *m, json_t *metadata)
{
	struct place	p = { v, add_header };

	add_attributes(&p, f, m, metadata);
}

void
cloudevents_put_body(struct envelope *v, const struct envelope_form *f,
    struct msg *m, json_t *metadata)
{
	struct place	p = { v, add_member };
	struct bytes	type = m->content_type;
	const char	*found;

	buf_str(&v->body, "{");
	add_attributes(&p, f, m, metadata);
	if (m->payload.data != NULL) {
		found = envelope_put_payload(v, m, "data", "data_base64") ?
		    "application/json" : "application/octet-stream";
		/* Without a content type readers take the data for JSON. */
		if (!envelope_has(type))
			type = (struct bytes){ found, strlen(found) };
		add_member(v, "datacontenttype", type);
	}
	buf_str(&v->body, "}");
}
