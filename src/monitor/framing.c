/*
 * framing.c - requests that two programs may read in two ways, see request.h
 *
 * A proxy before us and the library must agree where a request ends and whom it
 * is for; else its rest becomes another request, which the proxy has not seen.
 * So what leaves a doubt is refused, and no more of its connection is read.
 */

#include "monitor/monitor_impl.h"

#include <string.h>
#include <strings.h>

#define NONCE	(sizeof(once) / sizeof(once[0]))

enum { HOST, LENGTH, ENCODING };

/* Something depends on their values, so there is one at most. */
static const char *const once[] = {
	[HOST] = "Host", [LENGTH] = "Content-Length",
	[ENCODING] = "Transfer-Encoding", "Authorization", "Content-Type",
	"Origin", "Sec-Fetch-Site"
};

struct framing {
	const char	*values[NONCE];		/* NULL: no such header */
	const char	*user_header;		/* ... of the configuration */
	unsigned	 nusers;
	bool		 in_place;		/* see is_in_place() */
	uintptr_t	 end;			/* of the last line */
	struct err	 why;			/* "": all is well */
};

/* Of a token of HTTP: a name has no blank before the colon, among others. */
static const char name_chars[] = "!#$%&'*+-.^_`|~0123456789"
    "abcdefghijklmnopqrstuvwxyz"
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

static bool
is_value(const char *value, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (((unsigned char)value[i] < ' ' && value[i] != '\t') ||
		    value[i] == '\177')
			return false;
	return true;
}

/*
 * Before version 1.0 the library takes a lone LF for the end of a line, and
 * makes of a folded line something else; neither shows in what it hands on, but
 * in where that stands: it is the client's text, with NUL for colon, CR and LF.
 * (1.0 refuses such requests itself.)
 */
static bool
is_in_place(struct framing *f, const char *name, size_t name_len,
    const char *value, size_t len)
{
	uintptr_t	at = (uintptr_t)name, to = (uintptr_t)value;
	bool		follows = at == f->end + 2;

	f->end = to + len;
	return follows && to > at + name_len &&
	    strspn(name + name_len + 1, " \t") == to - at - name_len - 1;
}

static enum MHD_Result
take_header(void *arg, enum MHD_ValueKind kind, const char *name,
    size_t name_len, const char *value, size_t len)
{
	struct framing	*f = arg;

	(void)kind;
	if (name_len == 0 || strspn(name, name_chars) != name_len ||
	    !is_value(value, len))
		err_set(&f->why, "a header has a character that is not "
		    "allowed");
	else if (f->in_place && !is_in_place(f, name, name_len, value, len))
		err_set(&f->why, "a line of the header is folded, or does not "
		    "end with CR LF");
	for (size_t i = 0; i < NONCE; i++) {
		if (strcasecmp(name, once[i]) != 0)
			continue;
		if (f->values[i] != NULL)
			err_set(&f->why, "%s is given twice", once[i]);
		f->values[i] = value;
	}
	if (strcasecmp(name, f->user_header) == 0 && f->nusers++ > 0)
		err_set(&f->why, "%s is given twice", f->user_header);
	return f->why.text[0] == '\0' ? MHD_YES : MHD_NO;
}

/* The first of all that two programs may read in two ways; NULL: nothing. */
static const char *
find_doubt(const struct request *r, const char *version,
    const struct framing *f)
{
	uintptr_t	 method = (uintptr_t)r->method;
	const char	*encoding = f->values[ENCODING];
	size_t		 len = MHD_get_connection_info(r->connection,
			    MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE)->
			    header_size;

	if (f->why.text[0] != '\0')
		return f->why.text;
	/* The oldest libraries do not know how long the header was. */
	if (f->in_place && len <= SERVER_HEADERS_MAX &&
	    method + len != f->end + 4)
		return "the header does not end with an empty line";
	if (encoding != NULL && f->values[LENGTH] != NULL)
		return "Transfer-Encoding beside Content-Length";
	if (encoding != NULL && strcasecmp(encoding, "chunked") != 0)
		return "Transfer-Encoding is not chunked";
	if (encoding != NULL && strcmp(version, "HTTP/1.0") == 0)
		return "Transfer-Encoding in HTTP/1.0";
	/* A proxy may take these blanks for an empty path, or a part of it. */
	if (f->in_place && (uintptr_t)r->path != method + strlen(r->method) + 1)
		return "there is more than one blank before the path";
	/* Also http://HOST/PATH: a proxy may look at either host. */
	if (*r->path != '/')
		return "what is asked for is no path";
	return NULL;
}

bool
framing_is_clear(struct request *r, const char *version)
{
	struct framing	 f = { .end = (uintptr_t)version + strlen(version),
			    .in_place = *MHD_get_version() == '0',
			    .user_header = r->monitor->a->conf->monitor.
			    user_header };
	const char	*doubt;

	MHD_get_connection_values_n(r->connection, MHD_HEADER_KIND,
	    take_header, &f);
	doubt = find_doubt(r, version, &f);
	/* A proxy may see the end of a piece of its body elsewhere. */
	r->is_last = doubt != NULL || f.values[ENCODING] != NULL;
	if (doubt != NULL)
		answer_error(r, MHD_HTTP_BAD_REQUEST, doubt, NULL);
	return doubt == NULL;
}
