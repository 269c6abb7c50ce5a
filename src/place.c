/* place.c - see place.h; no I/O, the answer comes as text */

#include "place.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <jansson.h>

#include "xalloc.h"

#define NO_MESSAGE_FOUND	10037
#define ID_HEADER		"Nats-Msg-Id:"

static int
sextet(char c)
{
	static const char	digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "abcdefghijklmnopqrstuvwxyz0123456789+/";
	const char		*at = c == '\0' ? NULL : strchr(digits, c);

	return at == NULL ? -1 : (int)(at - digits);
}

/* Base64 up to its padding, as a text to be freed. */
static char *
decode(const char *from)
{
	char		*text = xcalloc(strlen(from) + 1, 1), *to = text;
	unsigned	 bits = 0, nbits = 0;
	int		 six;

	for (; (six = sextet(*from)) >= 0; from++) {
		bits = bits << 6 | (unsigned)six;
		nbits += 6;
		if (nbits < 8)
			continue;
		nbits -= 8;
		*to++ = (char)(bits >> nbits & 0xff);
	}
	return text;
}

/* The row in "<prefix>-<row>-..."; false: it is not of that form. */
static bool
read_id(const char *id, const char *prefix, uint64_t *row)
{
	size_t	 n = strlen(prefix);
	char	*end;

	if (strncmp(id, prefix, n) != 0 || id[n] != '-' ||
	    id[n + 1] < '0' || id[n + 1] > '9')
		return false;
	*row = strtoull(id + n + 1, &end, 10);
	return *end == '-';
}

static void
read_headers(struct place *p, const char *prefix, const char *hdrs)
{
	char	*text = decode(hdrs), *line = text;

	p->what = PLACE_OTHER;
	for (; line != NULL; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncasecmp(line, ID_HEADER, strlen(ID_HEADER)) != 0)
			continue;
		line += strlen(ID_HEADER);
		line += strspn(line, " ");
		if (read_id(line, prefix, &p->row))
			p->what = PLACE_OURS;
		break;
	}
	free(text);
}

static int
read_error(struct place *p, json_t *error, struct err *e)
{
	const char	*text = json_string_value(json_object_get(error,
			    "description"));
	json_int_t	 code = json_integer_value(json_object_get(error,
			    "err_code"));

	if (code != NO_MESSAGE_FOUND)
		return err_set(e, "%s (%lld)", text == NULL ? "error" : text,
		    (long long)code);
	p->what = PLACE_EMPTY;
	return 0;
}

int
place_read(struct place *p, const char *prefix, const char *body, size_t len,
    struct err *e)
{
	json_t		*answer = json_loadb(body, len, 0, NULL);
	json_t		*error = json_object_get(answer, "error");
	json_t		*message = json_object_get(answer, "message");
	const char	*hdrs;
	int		 rc = 0;

	if (error != NULL)
		rc = read_error(p, error, e);
	else if (message == NULL)
		rc = err_set(e, "an answer nobody understands");
	else {
		hdrs = json_string_value(json_object_get(message, "hdrs"));
		read_headers(p, prefix, hdrs == NULL ? "" : hdrs);
	}
	json_decref(answer);
	return rc;
}
