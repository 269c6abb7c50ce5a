/*
 * envelope.c - makes a message of a row, and checks that it is legal; pure
 *
 * nats.c sends a subject with a blank or a header with a line break as it is,
 * and the server then closes the connection.  So each text of a row is checked
 * here.
 */

#include "driver/envelope.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <jansson.h>

#include "conf/conf.h"
#include "util/printable.h"

static void
put_bytes(struct envelope *v, struct bytes b)
{
	buf_add(&v->text, b.data == NULL ? "" : b.data, b.len);
}

static void
end_text(struct envelope *v)
{
	buf_add(&v->text, "", 1);
}

static void
open_header(struct envelope *v, const char *name)
{
	v->headers[v->nheaders].name = v->text.len;
	buf_str(&v->text, name);
	end_text(v);
	v->headers[v->nheaders].value = v->text.len;
}

static void
close_header(struct envelope *v)
{
	end_text(v);
	/* "name: value\r\n" on the wire, here two NULs */
	v->size += v->text.len - v->headers[v->nheaders].name + 2;
	v->nheaders++;
}

static bool
is_line(struct bytes b)
{
	return b.data == NULL || (memchr(b.data, '\r', b.len) == NULL &&
	    memchr(b.data, '\n', b.len) == NULL &&
	    memchr(b.data, '\0', b.len) == NULL);
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
	open_header(v, name);
	printable_put(&v->text, value.data, value.len);
	close_header(v);
}

static void
add_id(struct envelope *v, const struct envelope_form *f, struct msg *m)
{
	struct message_id	id = msg_id(m);

	open_header(v, MESSAGE_ID_HEADER);
	message_id_put(&v->text, f->id_prefix, &id);
	close_header(v);
}

static void
add_time(struct envelope *v, struct bytes time)
{
	char	*space;

	open_header(v, "Outbox-Time");
	put_bytes(v, time);
	space = strchr(v->text.data + v->headers[v->nheaders].value, ' ');
	if (space != NULL)
		*space = 'T';
	buf_str(&v->text, "Z");
	close_header(v);
}

static void
add_columns(struct envelope *v, const struct envelope_form *f,
    struct msg *m)
{
	add_id(v, f, m);
	if (f->stream[0] != '\0') {
		open_header(v, "Nats-Expected-Stream");
		buf_str(&v->text, f->stream);
		close_header(v);
	}
	open_header(v, "Outbox-Sequence");
	buf_u64(&v->text, m->sequence);
	close_header(v);
	if (m->replay > 0) {
		open_header(v, "Outbox-Replay");
		buf_u64(&v->text, m->replay);
		close_header(v);
	}
	if (m->time.data != NULL)
		add_time(v, m->time);
	add_column(v, "Outbox-Partition", m->partition);
	add_column(v, "Outbox-Key", m->key);
	add_column(v, "Outbox-Type", m->type);
	add_column(v, "Outbox-Stream-Sequence", m->stream_sequence);
	add_column(v, "Outbox-Version", m->version);
	add_column(v, "Outbox-Correlation-Id", m->correlation);
}

/* True for an HTTP token that is not a name of ours or the server's. */
static bool
is_free_name(const char *name)
{
	if (name[0] == '\0' || strncasecmp(name, "nats-", 5) == 0 ||
	    strncasecmp(name, "outbox-", 7) == 0)
		return false;
	for (const char *p = name; *p != '\0'; p++)
		if (!isalnum((unsigned char)*p) &&
		    strchr("!#$%&'*+-.^_`|~", *p) == NULL)
			return false;
	return true;
}

/* Write the shortest digits that read back as the same number. */
static bool
put_real(struct envelope *v, double real)
{
	char	text[40];

	/* Above 2^53 an integer read as a real may be another number. */
	if (v->rounded && fabs(real) >= 9007199254740992.0)
		return false;
	snprintf(text, sizeof(text), "%.15g", real);
	if (strtod(text, NULL) != real)
		snprintf(text, sizeof(text), "%.17g", real);
	buf_str(&v->text, text);
	return true;
}

static bool
put_scalar(struct envelope *v, json_t *value)
{
	struct bytes	text;

	switch (json_typeof(value)) {
	case JSON_STRING:
		text.data = json_string_value(value);
		text.len = json_string_length(value);
		if (text.len == 0 || !is_line(text))
			return false;
		put_bytes(v, text);
		return true;
	case JSON_INTEGER:
		buf_printf(&v->text, "%" JSON_INTEGER_FORMAT,
		    json_integer_value(value));
		return true;
	case JSON_REAL:
		return put_real(v, json_real_value(value));
	case JSON_TRUE:
	case JSON_FALSE:
		buf_str(&v->text, json_is_true(value) ? "true" : "false");
		return true;
	default:
		return false;
	}
}

static void
add_entry(struct envelope *v, const char *name, json_t *value)
{
	size_t	start = v->text.len;

	if (v->nheaders == ENVELOPE_MAX_HEADERS || !is_free_name(name)) {
		v->skipped++;
		return;
	}
	open_header(v, name);
	if (!put_scalar(v, value)) {
		buf_chop(&v->text, v->text.len - start);
		v->skipped++;
		return;
	}
	close_header(v);
}

static json_t *
parse_metadata(struct envelope *v, struct bytes text, json_error_t *je)
{
	size_t	flags = JSON_ALLOW_NUL | JSON_DECODE_ANY;
	json_t	*root;

	root = json_loadb(text.data, text.len, flags, je);
	/* An integer of more than 64 bits is legal JSON, too. */
	v->rounded = root == NULL &&
	    json_error_code(je) == json_error_numeric_overflow;
	if (v->rounded)
		root = json_loadb(text.data, text.len,
		    flags | JSON_DECODE_INT_AS_REAL, je);
	return root;
}

static int
add_metadata(struct envelope *v, struct bytes text, struct err *e)
{
	json_error_t	 je;
	json_t		*root, *value;
	const char	*name;
	int		 rc = 0;

	if (text.len > MSG_METADATA_MAX)
		return err_set(e, "metadata of %zu bytes is longer than %d",
		    text.len, MSG_METADATA_MAX);
	if (text.data == NULL || text.len == 0)
		return 0;
	if ((root = parse_metadata(v, text, &je)) == NULL)
		return err_set(e, "metadata is not JSON: %s", je.text);
	if (json_is_object(root))
		json_object_foreach(root, name, value)
			add_entry(v, name, value);
	/* PHP writes an empty map as [] */
	else if (!json_is_null(root) &&
	    !(json_is_array(root) && json_array_size(root) == 0))
		rc = err_set(e, "metadata is not a JSON object");
	json_decref(root);
	return rc;
}

static struct bytes
placeholder_value(const struct msg *m, const char *name, size_t len)
{
	if (len == 10 && memcmp(name, "event_type", 10) == 0)
		return m->type;
	if (len == 9 && memcmp(name, "stream_id", 9) == 0)
		return m->key;
	return m->partition;
}

static int
check_message_subject(const char *subject, size_t len, struct err *e)
{
	char	before = '.';

	/* A row must not reach the server's own API, such as a purge. */
	if (subject[0] == '$' || strncmp(subject, "_INBOX.", 7) == 0)
		return err_set(e, "subject \"%s\" is not legal: it is "
		    "reserved for the server", subject);
	if (len > ENVELOPE_MAX_SUBJECT)
		return err_set(e, "subject of %zu bytes is longer than %d", len,
		    ENVELOPE_MAX_SUBJECT);
	for (size_t i = 0; i < len; before = subject[i++]) {
		unsigned char c = (unsigned char)subject[i];

		if (c <= ' ' || c == 0x7f)
			return err_set(e, "subject \"%s\" is not legal: it "
			    "holds a blank or a control character", subject);
		if (c == '*' || c == '>')
			return err_set(e, "subject \"%s\" is not legal: it "
			    "holds a wildcard", subject);
		if (c == '.' && before == '.')
			return err_set(e, "subject \"%s\" is not legal: it "
			    "has an empty token", subject);
	}
	if (before == '.')
		return err_set(e, "subject \"%s\" is not legal: it has an "
		    "empty token", subject);
	return 0;
}

/* True if the bytes can be one or several tokens of a subject. */
static bool
is_tokens(struct bytes b)
{
	if (!printable_is(b.data, b.len) || b.len == 0 ||
	    b.data[0] == '.' || b.data[b.len - 1] == '.')
		return false;
	return memchr(b.data, ' ', b.len) == NULL &&
	    memchr(b.data, '*', b.len) == NULL &&
	    memchr(b.data, '>', b.len) == NULL &&
	    memmem(b.data, b.len, "..", 2) == NULL;
}

/* A key may have any bytes; in a subject such a key is written in hex. */
static void
put_placeholder(struct envelope *v, const struct msg *m, const char *name,
    size_t len)
{
	struct bytes	b = placeholder_value(m, name, len);

	if (b.data != NULL && b.data == m->key.data && !is_tokens(b))
		printable_put_hex(&v->text, b.data, b.len);
	else
		put_bytes(v, b);
}

static int
put_subject(struct envelope *v, const char *template, const struct msg *m,
    struct err *e)
{
	const char	*p = template, *open;

	v->subject = v->text.len;
	while ((open = strchr(p, '{')) != NULL) {
		size_t n = strcspn(open + 1, "}");

		buf_add(&v->text, p, (size_t)(open - p));
		put_placeholder(v, m, open + 1, n);
		p = open + n + 2;
	}
	buf_str(&v->text, p);
	end_text(v);
	return check_message_subject(v->text.data + v->subject,
	    v->text.len - v->subject - 1, e);
}

struct envelope_form
envelope_form_of(const struct conf *c, const char *prefix)
{
	return (struct envelope_form){ c->nats.subject, prefix,
	    c->nats.stream };
}

int
envelope_fill(struct envelope *v, const struct envelope_form *f,
    struct msg *m, struct err *e)
{
	buf_clear(&v->text);
	v->nheaders = 0;
	v->skipped = 0;
	v->payload = m->payload;
	v->size = strlen("NATS/1.0\r\n\r\n") + m->payload.len;
	if (put_subject(v, f->subject, m, e) < 0)
		return -1;
	add_columns(v, f, m);
	return add_metadata(v, m->metadata, e);
}

void
envelope_free(struct envelope *v)
{
	buf_free(&v->text);
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

	buf_clear(&v->text);
	v->nheaders = 0;
	put_subject(v, f->subject, m, &e);	/* written in any case */
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
