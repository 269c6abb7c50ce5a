/*
 * conf_edit.c - change values in a configuration file
 *
 * Only the text of the values changes: comments and order stay.  The new text
 * is loaded before it takes the place of the old one.
 */
#include "conf/conf_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/buf.h"
#include "util/xalloc.h"

static int	replace(struct buf *, const char *path,
		    const struct conf_change *, struct err *);
static int	write_new(const char *new, const char *old, const struct buf *);

int
conf_edit(const char *path, const struct conf_change *changes, size_t n,
    struct err *e)
{
	struct buf	 text = { 0 };
	struct conf	*conf;
	char		*real = realpath(path, NULL);	/* not a link to it */
	char		*new;
	int		 rc;

	if (real == NULL)
		return err_set(e, "%s: %s", path, strerror(errno));
	new = xasprintf("%s.new", real);
	text.data = conf_read_text(real, &text.len, e);
	rc = text.data == NULL ? -1 : 0;
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = replace(&text, path, &changes[i], e);
	if (rc == 0 && write_new(new, real, &text) < 0)
		rc = err_set(e, "%s: %s", new, strerror(errno));
	/* Is it a configuration?  Then it takes the place of the old one. */
	if (rc == 0) {
		conf = conf_load(new, NULL, e);
		rc = conf == NULL ? -1 : 0;
		conf_free(conf);
	}
	if (rc == 0 && rename(new, real) < 0)
		rc = err_set(e, "%s: %s", real, strerror(errno));
	if (rc < 0)
		unlink(new);
	buf_free(&text);
	free(new);
	free(real);
	return rc;
}

/* Marks of libyaml count characters. */
static size_t
byte_offset(const char *text, size_t characters)
{
	const char	*p = text;

	for (; characters > 0 && *p != '\0'; characters--) {
		p++;
		while (((unsigned char)*p & 0xc0) == 0x80)
			p++;
	}
	return (size_t)(p - text);
}

static size_t
count_characters(const char *text, size_t n)
{
	size_t	found = 0;

	for (size_t i = 0; i < n; i++)
		found += ((unsigned char)text[i] & 0xc0) != 0x80;
	return found;
}

/*
 * What follows a value that was longer by so many characters, or shorter.  The
 * blanks before a comment take the difference, so that it keeps its column.
 */
static void
put_rest(struct buf *to, const char *rest, ssize_t longer)
{
	const char	*p = rest, *end;
	char		 quote = '\0';
	ssize_t		 blanks;

	/* Where is the comment that ends this line? */
	for (; *p != '\0' && *p != '\n'; p++) {
		if (*p == '#' && quote == '\0' && p > rest && p[-1] == ' ')
			break;
		if (*p == quote)
			quote = '\0';
		else if (quote == '\0' && (*p == '\'' || *p == '"'))
			quote = *p;
	}
	if (*p == '#') {
		for (end = p; end > rest && end[-1] == ' '; end--)
			;
		blanks = p - end + longer;
		buf_add(to, rest, (size_t)(end - rest));
		buf_printf(to, "%*s", blanks < 1 ? 1 : (int)blanks, "");
		rest = p;
	}
	buf_printf(to, "%s", rest);
}

/* In quotes, unless it cannot be anything but a plain text. */
static void
put_value(struct buf *to, const char *value)
{
	if (value[0] != '\0' &&
	    value[strspn(value, CONF_LETTERS "_")] == '\0') {
		buf_printf(to, "%s", value);
		return;
	}
	buf_printf(to, "\"");
	for (; *value != '\0'; value++)
		buf_printf(to, "%s%c", strchr("\\\"", *value) != NULL ? "\\" :
		    "", *value);
	buf_printf(to, "\"");
}

static int
replace(struct buf *text, const char *path, const struct conf_change *change,
    struct err *e)
{
	struct conf_document	 doc;
	const struct conf_node	*was;
	struct buf		 new = { 0 };
	size_t			 start;

	conf_document_read(&doc, text->data, text->len);
	was = conf_document_find(&doc, change->name);
	if (doc.broken || was == NULL || was->text == NULL) {
		conf_document_free(&doc);
		return err_set(e, "%s: %s: the file does not have this key: "
		    "add it there", path, change->name);
	}
	start = byte_offset(text->data, was->start);
	buf_add(&new, text->data, start);
	if (was->start == was->end)	/* "key:" without a value */
		buf_str(&new, " ");
	put_value(&new, change->value);
	put_rest(&new, text->data + byte_offset(text->data, was->end),
	    (ssize_t)(was->end - was->start) -
	    (ssize_t)count_characters(new.data + start, new.len - start));
	conf_document_free(&doc);
	buf_free(text);
	*text = new;
	return 0;
}

/* A new file with the owner and the mode of the old one. */
static int
write_new(const char *new, const char *old, const struct buf *text)
{
	struct stat	 st;
	FILE		*f;
	bool		 ok;
	int		 fd;

	if (stat(old, &st) < 0 || (unlink(new) < 0 && errno != ENOENT))
		return -1;
	fd = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || (f = fdopen(fd, "w")) == NULL)
		return -1;
	ok = fwrite(text->data, 1, text->len, f) == text->len &&
	    fflush(f) == 0 && fchown(fd, st.st_uid, st.st_gid) == 0 &&
	    fchmod(fd, st.st_mode & 07777) == 0 && fsync(fd) == 0;
	return fclose(f) == 0 && ok ? 0 : -1;
}
