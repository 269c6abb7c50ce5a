/* stored_message.c - see stored_message.h; no I/O, parses text */

#include "nats/stored_message.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <bsd/string.h>
#include <jansson.h>

#include "nats/stream.h"
#include "util/xalloc.h"

#define NO_MESSAGE_FOUND	10037

/* Decode base64 up to its padding.  The caller frees the text. */
static char *
decode(const char *from)
{
	static const char	 digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "abcdefghijklmnopqrstuvwxyz0123456789+/";
	char			*text = xcalloc(strlen(from) + 1, 1);
	char			*to = text;
	const char		*at;
	unsigned		 bits = 0, nbits = 0;

	for (; *from != '\0' && (at = strchr(digits, *from)) != NULL; from++) {
		bits = bits << 6 | (unsigned)(at - digits);
		nbits += 6;
		if (nbits < 8)
			continue;
		nbits -= 8;
		*to++ = (char)(bits >> nbits & 0xff);
	}
	return text;
}

/* The value of the first header of this name, up to the end of its line. */
static const char *
find_header(const char *text, const char *name)
{
	size_t	n = strlen(name);

	for (const char *line = text; line != NULL;
	    line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncasecmp(line, name, n) == 0 && line[n] == ':')
			return line + n + 1 + strspn(line + n + 1, " ");
	}
	return NULL;
}

static void
read_headers(struct stored_message *p, const char *prefix, const char *hdrs)
{
	char		*text = decode(hdrs);
	const char	*id = find_header(text, MESSAGE_ID_OWN_HEADER);
	const char	*time = find_header(text, MESSAGE_TIME_HEADER);
	const char	*origin = find_header(text, MESSAGE_ORIGIN_HEADER);

	if (id == NULL)
		id = find_header(text, MESSAGE_ID_HEADER);
	p->what = id != NULL && message_id_read(&p->id, prefix, id) ?
	    STORED_OURS : STORED_OTHER;
	if (origin != NULL && strcspn(origin, "\r\n") < sizeof(p->origin))
		strlcpy(p->origin, origin, strcspn(origin, "\r\n") + 1);
	else
		p->origin[0] = '\0';
	stored_read_time(p, time, time == NULL ? 0 : strcspn(time, "\r\n"));
	free(text);
}

/* An answer without the message's data, which may be very long. */
struct excerpt {
	struct {
		const char	*data;
		size_t		 len;
	} parts[2];
};

/*
 * This cannot be inside a JSON string, where quotes are escaped.  Base64 has
 * no quotes.
 */
static void
leave_out_data(struct excerpt *x, const char *body, size_t len)
{
	static const char	name[] = "\"data\":\"";
	const char		*from = memmem(body, len, name, strlen(name));
	const char		*end = body + len, *to;

	x->parts[0].data = body;
	x->parts[0].len = len;
	x->parts[1].len = 0;
	if (from == NULL)
		return;
	from += strlen(name);
	if ((to = memchr(from, '"', (size_t)(end - from))) == NULL)
		return;
	x->parts[0].len = (size_t)(from - body);
	x->parts[1].data = to;
	x->parts[1].len = (size_t)(end - to);
}

/* The callback of json_load_callback. */
static size_t
read_excerpt(void *to, size_t max, void *arg)
{
	struct excerpt	*x = arg;
	int		 i = x->parts[0].len > 0 ? 0 : 1;
	size_t		 n = x->parts[i].len < max ? x->parts[i].len : max;

	if (n == 0)
		return 0;
	memcpy(to, x->parts[i].data, n);
	x->parts[i].data += n;
	x->parts[i].len -= n;
	return n;
}

int
stored_message_read(struct stored_message *p, const char *prefix,
    const char *body, size_t len, struct err *e)
{
	struct excerpt	 x;
	json_t		*answer, *error, *message;
	const char	*hdrs, *text;
	json_int_t	 code;
	int		 rc = 0;

	leave_out_data(&x, body, len);
	answer = json_load_callback(read_excerpt, &x, 0, NULL);
	error = json_object_get(answer, "error");
	message = json_object_get(answer, "message");
	if (error != NULL) {
		text = json_string_value(json_object_get(error, "description"));
		code = json_integer_value(json_object_get(error, "err_code"));
		if (code == NO_MESSAGE_FOUND)
			p->what = STORED_EMPTY;
		else
			rc = err_set(e, "%s (%lld)", text == NULL ? "error" :
			    text, (long long)code);
	} else if (message == NULL)
		rc = err_set(e, "the answer has no message and no error");
	else {
		hdrs = json_string_value(json_object_get(message, "hdrs"));
		read_headers(p, prefix, hdrs == NULL ? "" : hdrs);
		p->at = stream_time(json_string_value(json_object_get(
		    message, "time")));
	}
	json_decref(answer);
	return rc;
}
