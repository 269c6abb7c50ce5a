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
	bool		 in_place;		/* see is_in_place() */
	uintptr_t	 end;			/* of the last line */
	struct err	 why;			/* "": all is well */
};

/* A token of HTTP: no blank before the colon, among others. */
static bool
is_name(const char *name, size_t len)
{
	static const char	chars[] = "!#$%&'*+-.^_`|~0123456789"
				    "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	return len > 0 && strspn(name, chars) == len;
}

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
	if (!is_name(name, name_len) || !is_value(value, len))
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
	return f->why.text[0] == '\0' ? MHD_YES : MHD_NO;
}

/* The empty line; the oldest libraries do not know how long the header was. */
static void
check_end(struct framing *f, const struct request *r)
{
	size_t	len = MHD_get_connection_info(r->connection,
		    MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE)->header_size;

	if (f->in_place && len <= SERVER_HEADERS_MAX &&
	    (uintptr_t)r->method + len != f->end + 4)
		err_set(&f->why, "the header does not end with an empty line");
}

/* A proxy may take the blanks before the path for an empty one, or a part. */
static void
check_path(struct framing *f, const struct request *r)
{
	uintptr_t	at = (uintptr_t)r->method + strlen(r->method) + 1;

	if (f->in_place && (uintptr_t)r->path != at)
		err_set(&f->why, "there is more than one blank before the "
		    "path");
	/* Also http://HOST/PATH: a proxy may look at either host. */
	else if (*r->path != '/')
		err_set(&f->why, "what is asked for is no path");
}

static void
check_body(struct framing *f, const char *version)
{
	const char	*encoding = f->values[ENCODING];

	if (encoding == NULL)
		return;
	if (f->values[LENGTH] != NULL)
		err_set(&f->why, "Transfer-Encoding beside Content-Length");
	else if (strcasecmp(encoding, "chunked") != 0)
		err_set(&f->why, "Transfer-Encoding is not chunked");
	else if (strcmp(version, "HTTP/1.0") == 0)
		err_set(&f->why, "Transfer-Encoding in HTTP/1.0");
}

bool
framing_is_clear(struct request *r, const char *version)
{
	struct framing	f = { .end = (uintptr_t)version + strlen(version),
			    .in_place = *MHD_get_version() == '0' };

	MHD_get_connection_values_n(r->connection, MHD_HEADER_KIND,
	    take_header, &f);
	if (f.why.text[0] == '\0')
		check_end(&f, r);
	if (f.why.text[0] == '\0')
		check_body(&f, version);
	if (f.why.text[0] == '\0')
		check_path(&f, r);
	/* A proxy may see the end of a piece of its body elsewhere. */
	r->is_last = f.why.text[0] != '\0' || f.values[ENCODING] != NULL;
	if (f.why.text[0] != '\0')
		answer_error(r, MHD_HTTP_BAD_REQUEST, f.why.text, NULL);
	return f.why.text[0] == '\0';
}
