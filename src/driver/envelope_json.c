/*
 * envelope_json.c - the payload in a JSON object, with what is known of it
 *
 * See envelope_impl.h.  A payload that is JSON stands in it byte for byte:
 * printing it anew would change numbers of more than 53 bits.
 */

#include "driver/envelope_impl.h"

#include <ctype.h>
#include <strings.h>

#include "util/json_text.h"
#include "util/printable.h"

static void
put_name(struct buf *b, const char *name)
{
	if (b->len > 0 && b->data[b->len - 1] != '{')
		buf_str(b, ",");
	json_text_put(b, name, strlen(name));
	buf_str(b, ":");
}

void
envelope_put_text(struct buf *b, const char *name, struct bytes text)
{
	put_name(b, name);
	json_text_put(b, text.data, text.len);
}

void
envelope_put_time(struct buf *b, struct bytes time)
{
	size_t	 from = b->len;
	char	*blank;

	buf_add(b, time.data, time.len);
	if ((blank = memchr(b->data + from, ' ', time.len)) != NULL)
		*blank = 'T';
	buf_str(b, "Z");
}

/* "application/json", "text/json; charset=utf-8", "application/vnd.x+json" */
static bool
is_json_type(struct bytes type)
{
	const char	*end = memchr(type.data, ';', type.len);
	size_t		 n = end == NULL ? type.len : (size_t)(end - type.data);

	while (n > 0 && type.data[n - 1] == ' ')
		n--;
	return n >= 5 && (type.data[n - 5] == '/' || type.data[n - 5] == '+') &&
	    strncasecmp(type.data + n - 4, "json", 4) == 0;
}

/*
 * Text of another content type that happens to be JSON, such as 007 or true,
 * would reach the reader as another value.
 */
bool
envelope_put_payload(struct envelope *v, const struct msg *m,
    const char *json, const char *base64)
{
	if ((!envelope_has(m->content_type) || is_json_type(m->content_type)) &&
	    json_text_is_valid(m->payload.data, m->payload.len)) {
		put_name(&v->body, json);
		buf_add(&v->body, m->payload.data, m->payload.len);
		return true;
	}
	put_name(&v->body, base64);
	buf_str(&v->body, "\"");
	json_text_put_base64(&v->body, m->payload.data, m->payload.len);
	buf_str(&v->body, "\"");
	return false;
}

/* Bytes of a row as text, by the same rule as in headers. */
static void
put_column(struct envelope *v, const char *name, struct bytes value)
{
	if (!envelope_has(value))
		return;
	buf_clear(&v->scratch);
	printable_put(&v->scratch, value.data, value.len);
	envelope_put_text(&v->body, name,
	    (struct bytes){ v->scratch.data, v->scratch.len });
}

/* As JSON writes it, of any length. */
static bool
is_integer(struct bytes b)
{
	size_t	sign = b.data[0] == '-';

	if (b.len == sign || (b.data[sign] == '0' && b.len > sign + 1))
		return false;
	for (size_t i = sign; i < b.len; i++)
		if (!isdigit((unsigned char)b.data[i]))
			return false;
	return true;
}

static void
put_integer(struct envelope *v, const char *name, struct bytes value)
{
	if (envelope_has(value) && is_integer(value)) {
		put_name(&v->body, name);
		buf_add(&v->body, value.data, value.len);
	} else
		put_column(v, name, value);
}

int
envelope_put_json(struct envelope *v, const struct envelope_form *f,
    struct msg *m, json_t *metadata, struct err *e)
{
	struct buf	*b = &v->body;

	buf_str(b, "{");
	buf_clear(&v->scratch);
	msg_put_id(&v->scratch, f->id_prefix, m);
	envelope_put_text(b, "id",
	    (struct bytes){ v->scratch.data, v->scratch.len });
	put_name(b, "sequence");
	buf_u64(b, m->sequence);
	put_column(v, "key", m->key);
	put_column(v, "type", m->type);
	put_integer(v, "version", m->version);
	if (envelope_has(m->time) && printable_is(m->time.data, m->time.len)) {
		buf_clear(&v->scratch);
		envelope_put_time(&v->scratch, m->time);
		envelope_put_text(b, "time",
		    (struct bytes){ v->scratch.data, v->scratch.len });
	}
	put_column(v, "partition", m->partition);
	put_integer(v, "stream_sequence", m->stream_sequence);
	put_column(v, "correlation_id", m->correlation);
	/* As stored, or an empty object.  The parser has read deeper ones. */
	if (metadata != NULL &&
	    !json_text_is_valid(m->metadata.data, m->metadata.len))
		return err_set(e, "metadata cannot stand in a JSON object: it "
		    "is nested deeper than %d", JSON_TEXT_DEEPEST);
	put_name(b, "metadata");
	if (metadata != NULL)
		buf_add(b, m->metadata.data, m->metadata.len);
	else
		buf_str(b, "{}");
	put_column(v, "content_type", m->content_type);
	if (m->payload.data != NULL)
		envelope_put_payload(v, m, "payload", "payload_base64");
	buf_str(b, "}");
	return 0;
}
