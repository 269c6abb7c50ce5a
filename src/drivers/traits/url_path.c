/* url_path.c - see url_path.h */

#include "drivers/traits/url_path.h"

#include <ctype.h>
#include <string.h>

#include "util/printable.h"

void
url_path_put(struct buf *b, const char *value, size_t n)
{
	static const char	hex[] = "0123456789ABCDEF";

	if (!printable_is(value, n)) {
		printable_put_hex(b, value, n);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)value[i];

		if ((c < 0x80 && isalnum(c)) ||
		    (c != '\0' && strchr("-._~", c) != NULL)) {
			buf_add(b, &value[i], 1);
			continue;
		}
		buf_str(b, "%");
		buf_add(b, &hex[c >> 4], 1);
		buf_add(b, &hex[c & 15], 1);
	}
}

int
url_path_check(const char *path, size_t len, struct err *e)
{
	size_t	n;

	if (len > URL_PATH_MAX)
		return err_set(e, "path of %zu bytes is longer than %d", len,
		    URL_PATH_MAX);
	for (const char *p = path; *path != '\0'; p += n + 1) {
		n = strcspn(p, "/");
		if (n == 0 || (n <= 2 && memcmp(p, "..", n) == 0))
			return err_set(e, "path \"%s\" is not legal: a segment "
			    "is empty, . or ..", path);
		if (p[n] == '\0')
			break;
	}
	return 0;
}
