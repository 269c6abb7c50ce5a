/* ndjson.c - see ndjson.h */

#include "local/ndjson.h"

#include <string.h>

#include <jansson.h>

/* Headers that are members of their own. */
static const struct {
	const char	*header, *member;
} members[] = {
	{ MESSAGE_ID_HEADER, "id" },
	{ "Outbox-Key", "key" },
	{ "Outbox-Type", "type" },
	{ "Outbox-Time", "time" },
};

#define NMEMBERS	(sizeof(members) / sizeof(members[0]))

static void
put_text(struct buf *b, const char *text)
{
	static const char	hex[] = "0123456789abcdef";

	buf_str(b, "\"");
	for (const char *p = text; *p != '\0'; p++) {
		unsigned char c = (unsigned char)*p;

		if (c == '"' || c == '\\') {
			buf_str(b, "\\");
			buf_add(b, p, 1);
		} else if (c < ' ' || c == 0x7f) {
			buf_str(b, "\\u00");
			buf_add(b, &hex[c >> 4], 1);
			buf_add(b, &hex[c & 15], 1);
		} else
			buf_add(b, p, 1);
	}
	buf_str(b, "\"");
}

static const char *
header(const struct envelope *v, const char *name)
{
	for (size_t i = 0; i < v->nheaders; i++)
		if (strcmp(envelope_name(v, i), name) == 0)
			return envelope_value(v, i);
	return NULL;
}

static void
put_members(struct buf *b, const struct envelope *v)
{
	for (size_t i = 0; i < NMEMBERS; i++) {
		const char *value = header(v, members[i].header);

		buf_str(b, i == 0 ? "" : ",");
		put_text(b, members[i].member);
		buf_str(b, ":");
		if (value == NULL)
			buf_str(b, "null");
		else
			put_text(b, value);
	}
}

static bool
is_member(const char *name)
{
	for (size_t i = 0; i < NMEMBERS; i++)
		if (strcmp(members[i].header, name) == 0)
			return true;
	return false;
}

static void
put_headers(struct buf *b, const struct envelope *v)
{
	const char	*comma = "";

	buf_str(b, ",\"headers\":{");
	for (size_t i = 0; i < v->nheaders; i++) {
		if (is_member(envelope_name(v, i)))
			continue;
		buf_str(b, comma);
		put_text(b, envelope_name(v, i));
		buf_str(b, ":");
		put_text(b, envelope_value(v, i));
		comma = ",";
	}
	buf_str(b, "}");
}

/* Numbers are not read, only checked: they stay as they are written. */
static bool
is_json(struct bytes b)
{
	json_t	*root = b.data == NULL ? NULL : json_loadb(b.data, b.len,
		    JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL,
		    NULL);

	json_decref(root);
	return root != NULL;
}

/* In JSON a line break is only a blank between two tokens. */
static void
put_json(struct buf *b, struct bytes json)
{
	size_t	start = b->len;

	buf_add(b, json.data, json.len);
	for (size_t i = start; i < b->len; i++)
		if (b->data[i] == '\n' || b->data[i] == '\r')
			b->data[i] = ' ';
}

static void
put_base64(struct buf *b, struct bytes raw)
{
	static const char	digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "abcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char	*p = (const unsigned char *)raw.data;
	char			*out = buf_reserve(b, (raw.len + 2) / 3 * 4);
	size_t			 n = 0;

	for (size_t i = 0; i < raw.len; i += 3) {
		unsigned	three = (unsigned)p[i] << 16;

		if (i + 1 < raw.len)
			three |= (unsigned)p[i + 1] << 8;
		if (i + 2 < raw.len)
			three |= p[i + 2];
		out[n++] = digits[three >> 18];
		out[n++] = digits[three >> 12 & 63];
		out[n++] = i + 1 < raw.len ? digits[three >> 6 & 63] : '=';
		out[n++] = i + 2 < raw.len ? digits[three & 63] : '=';
	}
	out[n] = '\0';
	b->len += n;
}

void
ndjson_put(struct buf *b, const struct envelope *v)
{
	buf_str(b, "{");
	put_members(b, v);
	put_headers(b, v);
	if (is_json(v->payload)) {
		buf_str(b, ",\"payload\":");
		put_json(b, v->payload);
	} else {
		buf_str(b, ",\"payload_base64\":\"");
		put_base64(b, v->payload);
		buf_str(b, "\"");
	}
	buf_str(b, "}\n");
}
