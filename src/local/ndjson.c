/* ndjson.c - see ndjson.h */

#include "local/ndjson.h"

#include <stdlib.h>
#include <string.h>

#include "util/display.h"
#include "util/json_text.h"
#include "util/xalloc.h"

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

static bool
is_member(const char *name)
{
	for (size_t i = 0; i < NMEMBERS; i++)
		if (strcmp(members[i].header, name) == 0)
			return true;
	return false;
}

/* The line may be read on a terminal: what moves its cursor is in strings. */
static void
escape(struct buf *b, size_t start)
{
	char	*line;

	for (size_t i = start; i < b->len; i++)
		if ((unsigned char)b->data[i] >= 0x7f) {
			line = xstrndup(b->data + start, b->len - start);
			b->len = start;
			display_escape(b, line);
			free(line);
			return;
		}
}

static void
put_payload(struct buf *b, struct bytes payload)
{
	size_t	start;

	if (payload.data == NULL ||
	    !json_text_is_valid(payload.data, payload.len)) {
		buf_str(b, ",\"payload_base64\":\"");
		json_text_put_base64(b, payload.data, payload.len);
		buf_str(b, "\"");
		return;
	}
	buf_str(b, ",\"payload\":");
	start = b->len;
	buf_add(b, payload.data, payload.len);
	/* In JSON these are only blanks between two tokens. */
	for (size_t i = start; i < b->len; i++)
		if (b->data[i] == '\n' || b->data[i] == '\r' ||
		    b->data[i] == '\t')
			b->data[i] = ' ';
}

void
ndjson_put(struct buf *b, const struct envelope *v)
{
	size_t		 start = b->len;
	const char	*value, *comma = "";

	buf_str(b, "{");
	for (size_t i = 0; i < NMEMBERS; i++) {
		value = header(v, members[i].header);
		buf_str(b, i == 0 ? "" : ",");
		put_text(b, members[i].member);
		buf_str(b, ":");
		if (value == NULL)
			buf_str(b, "null");
		else
			put_text(b, value);
	}
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
	put_payload(b, v->payload);
	escape(b, start);
	buf_str(b, "}\n");
}
