/* url_path.h - values of a row in the path of a URL */
#ifndef OUTBOX_URL_PATH_H
#define OUTBOX_URL_PATH_H

#include "util/buf.h"
#include "util/err.h"

#define URL_PATH_MAX	8000

/*
 * Append a value so that it is within one segment: all but letters, digits and
 * "-._~" as % and two hex digits.  A value that is not plain text is written in
 * hex first, see printable.h.
 */
void	url_path_put(struct buf *, const char *, size_t);

/*
 * -1 with an error: it is too long, or a segment is empty, "." or "..", which
 * would lead elsewhere.  "" is legal.
 */
int	url_path_check(const char *path, size_t len, struct err *);

#endif
