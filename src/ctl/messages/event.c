/* event.c - see event.h */

#include "ctl/messages/event.h"

#include <string.h>

#define BLANK		" \t\r\n"
#define EXACT		9007199254740992.0	/* 2^53 */

static int
take_event_text(const char **to, const char *name, const json_t *v,
    struct err *e)
{
	const char	*text = json_string_value(v);

	if (text == NULL || text[0] == '\0')
		return err_set(e, "\"%s\" is empty or not a text", name);
	if (strlen(text) != json_string_length(v))
		return err_set(e, "\"%s\" contains a NUL", name);
	if (*to != NULL)
		return err_set(e, "\"key\" and \"stream_id\" mean the same: "
		    "give one of them");
	*to = text;
	return 0;
}

static int
take_number(uint64_t *to, const char *name, const json_t *v, struct err *e)
{
	double	n = json_number_value(v);

	if (!json_is_number(v) || n < 1 || n > EXACT ||
	    n != (double)(uint64_t)n)
		return err_set(e, "\"%s\" is not a whole number from 1 to "
		    "2^53", name);
	*to = (uint64_t)n;
	return 0;
}

/*
 * Length of the value that begins here.  The line has been parsed, so its JSON
 * is well-formed.
 */
static size_t
value_length(const char *from)
{
	const char	*p = from;
	unsigned	 depth = 0;

	do {
		if (*p == '"') {
			for (p++; *p != '"'; p++)
				p += *p == '\\';
			p++;
		} else if (*p == '{' || *p == '[') {
			depth++;
			p++;
		} else if (*p == '}' || *p == ']') {
			depth--;
			p++;
		} else
			p += strcspn(p, depth == 0 ? ",}" BLANK : "\"{}[]");
	} while (depth > 0);
	return (size_t)(p - from);
}

/*
 * The text of a member as it is in the line: numbers might change if they were
 * parsed and printed again.
 */
static int
take_raw(const char **to, size_t *to_len, const char *line, const char *name,
    struct err *e)
{
	const char	*p = strchr(line, '{') + 1, *key;
	size_t		 n = strlen(name);

	for (;; p += *to_len) {
		p += strspn(p, BLANK ",");
		if (*p != '"')
			return err_set(e, "write the name \"%s\" without "
			    "escapes", name);
		key = p + 1;
		p += value_length(p);
		p += strspn(p, BLANK ":");
		*to_len = value_length(p);
		if (strncmp(key, name, n) == 0 && key[n] == '"') {
			*to = p;
			return 0;
		}
	}
}

/* Check the text, because the server decodes invalid base64 to NULL. */
static int
take_base64(struct event *ev, const json_t *v, struct err *e)
{
	static const char	 digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz0123456789+/";
	const char		*text = json_string_value(v);
	size_t			 n, len = json_string_length(v);

	if (ev->payload != NULL)
		return err_set(e, "give \"payload\" or \"payload_base64\", "
		    "not both");
	n = text == NULL ? 0 : strspn(text, digits);
	if (text == NULL || len % 4 != 0 || len - n > 2 ||
	    strspn(text + n, "=") != len - n)
		return err_set(e, "\"payload_base64\" is not base64");
	ev->payload = text;
	ev->payload_len = len;
	ev->base64 = true;
	return 0;
}

/* Members that only one mode has. */
static const struct {
	const char	*name;
	bool		 inlined;
} of_mode[] = {
	{ "version", false }, { "correlation_id", false },
	{ "stream_sequence", false }, { "message_id", true },
	{ "content_type", true }, { "scheduled_at", true },
};

static int
take_member(struct event *ev, const char *line, bool inlined, const char *name,
    const json_t *v, struct err *e)
{
	bool	null = json_is_null(v);

	for (size_t i = 0; i < sizeof(of_mode) / sizeof(of_mode[0]); i++)
		if (strcmp(of_mode[i].name, name) == 0 &&
		    of_mode[i].inlined != inlined)
			return err_set(e, "\"%s\" is not a member of an event: "
			    "outbox.mode is %s", name, inlined ? "inline" :
			    "pointer");
	if (strcmp(name, "key") == 0 || strcmp(name, "stream_id") == 0)
		return take_event_text(&ev->key, name, v, e);
	if (strcmp(name, "type") == 0)
		return take_event_text(&ev->type, name, v, e);
	if (strcmp(name, "payload") == 0) {
		if (ev->payload != NULL)
			return err_set(e, "give \"payload\" or "
			    "\"payload_base64\", not both");
		if (!json_is_string(v))
			return take_raw(&ev->payload, &ev->payload_len, line,
			    "payload", e);
		ev->payload = json_string_value(v);
		ev->payload_len = json_string_length(v);
		return 0;
	}
	if (strcmp(name, "payload_base64") == 0)
		return take_base64(ev, v, e);
	if (strcmp(name, "metadata") == 0)
		return null ? 0 : take_raw(&ev->metadata, &ev->metadata_len,
		    line, name, e);
	if (strcmp(name, "version") == 0)
		return null ? 0 : take_number(&ev->version, name, v, e);
	if (strcmp(name, "correlation_id") == 0)
		return null ? 0 : take_event_text(&ev->correlation, name, v, e);
	if (strcmp(name, "message_id") == 0)
		return null ? 0 : take_event_text(&ev->id, name, v, e);
	if (strcmp(name, "content_type") == 0)
		return null ? 0 : take_event_text(&ev->content_type, name, v,
		    e);
	if (strcmp(name, "scheduled_at") == 0)
		return null ? 0 : take_event_text(&ev->scheduled_at, name, v,
		    e);
	if (strcmp(name, "stream_sequence") == 0)
		return null ? 0 : take_number(&ev->stream_sequence, name, v, e);
	return err_set(e, "\"%s\" is not a member of an event", name);
}

static int
take_all(struct event *ev, const char *line, bool inlined, struct err *e)
{
	const char	*name;
	json_t		*v;

	if (!json_is_object(ev->json))
		return err_set(e, "it is not a JSON object");
	json_object_foreach(ev->json, name, v)
		if (take_member(ev, line, inlined, name, v, e) < 0)
			return -1;
	if (ev->key == NULL && !inlined)
		return err_set(e, "\"key\" is missing");
	if (ev->type == NULL)
		return err_set(e, "\"type\" is missing");
	if (ev->payload == NULL)
		return err_set(e, "\"payload\" is missing");
	return 0;
}

int
event_parse(struct event *ev, const char *line, size_t len, bool inlined,
    struct err *e)
{
	json_error_t	why;

	memset(ev, 0, sizeof(*ev));
	/* jansson takes one after a number; the text is read as a string. */
	if (memchr(line, '\0', len) != NULL)
		return err_set(e, "it is not JSON: it has a NUL byte");
	/* A payload may contain integers of any length. */
	ev->json = json_loadb(line, len, JSON_REJECT_DUPLICATES |
	    JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, &why);
	if (ev->json == NULL)
		return err_set(e, "it is not JSON: %s", why.text);
	if (take_all(ev, line, inlined, e) == 0)
		return 0;
	event_free(ev);
	return -1;
}

void
event_free(struct event *ev)
{
	json_decref(ev->json);
	ev->json = NULL;
}
