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

#include <yaml.h>

#include "util/buf.h"
#include "util/xalloc.h"

/* Where a value stands in the text, in bytes. */
struct place {
	size_t	start, end;
};

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

/* The value of a key of this mapping; NULL: it has no such key. */
static yaml_node_t *
value_of(yaml_document_t *d, const yaml_node_t *map, const char *key,
    size_t len)
{
	yaml_node_pair_t	*pair;

	if (map == NULL || map->type != YAML_MAPPING_NODE)
		return NULL;
	for (pair = map->data.mapping.pairs.start;
	    pair < map->data.mapping.pairs.top; pair++) {
		const yaml_node_t *k = yaml_document_get_node(d, pair->key);

		if (k->type == YAML_SCALAR_NODE &&
		    k->data.scalar.length == len &&
		    memcmp(k->data.scalar.value, key, len) == 0)
			return yaml_document_get_node(d, pair->value);
	}
	return NULL;
}

static bool
find_place(yaml_document_t *d, const char *text, const char *name,
    struct place *place)
{
	yaml_node_t	*node = yaml_document_get_root_node(d);
	size_t		 n;

	for (; node != NULL && *name != '\0'; name += n, name += *name == '.') {
		n = strcspn(name, ".");
		node = value_of(d, node, name, n);
	}
	if (node == NULL || node->type != YAML_SCALAR_NODE)
		return false;
	place->start = byte_offset(text, node->start_mark.index);
	place->end = byte_offset(text, node->end_mark.index);
	return true;
}

static size_t
count_characters(const char *text, size_t n)
{
	size_t	found = 0;

	for (size_t i = 0; i < n; i++)
		found += ((unsigned char)text[i] & 0xc0) != 0x80;
	return found;
}

/* The comment that ends this line; NULL: there is none. */
static const char *
find_comment(const char *line)
{
	char	quote = '\0';

	for (const char *p = line; *p != '\0' && *p != '\n'; p++) {
		if (*p == '#' && quote == '\0' && p > line && p[-1] == ' ')
			return p;
		if (*p == quote)
			quote = '\0';
		else if (quote == '\0' && (*p == '\'' || *p == '"'))
			quote = *p;
	}
	return NULL;
}

/*
 * What follows a value that was longer by so many characters, or shorter.  The
 * blanks before a comment take the difference, so that it keeps its column.
 */
static void
put_rest(struct buf *to, const char *rest, ssize_t longer)
{
	const char	*comment = find_comment(rest), *end = comment;
	ssize_t		 blanks;

	if (comment != NULL) {
		while (end > rest && end[-1] == ' ')
			end--;
		blanks = comment - end + longer;
		buf_add(to, rest, (size_t)(end - rest));
		buf_printf(to, "%*s", blanks < 1 ? 1 : (int)blanks, "");
		rest = comment;
	}
	buf_printf(to, "%s", rest);
}

/* In quotes, unless it cannot be anything but a plain text. */
static void
put_value(struct buf *to, const char *value)
{
	static const char	plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";

	if (value[0] != '\0' && value[strspn(value, plain)] == '\0') {
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
	yaml_parser_t	parser;
	yaml_document_t	document;
	struct place	place;
	struct buf	new = { 0 };
	size_t		was;
	bool		found = false;

	yaml_parser_initialize(&parser);
	yaml_parser_set_input_string(&parser, (const yaml_char_t *)text->data,
	    text->len);
	if (yaml_parser_load(&parser, &document)) {
		found = find_place(&document, text->data, change->name,
		    &place);
		yaml_document_delete(&document);
	}
	yaml_parser_delete(&parser);
	if (!found)
		return err_set(e, "%s: %s: the file does not have this key: "
		    "add it there", path, change->name);
	buf_add(&new, text->data, place.start);
	if (place.start == place.end)	/* "key:" without a value */
		buf_str(&new, " ");
	put_value(&new, change->value);
	was = count_characters(text->data + place.start,
	    place.end - place.start);
	put_rest(&new, text->data + place.end, (ssize_t)was -
	    (ssize_t)count_characters(new.data + place.start,
	    new.len - place.start));
	buf_free(text);
	*text = new;
	return 0;
}

static int
read_all(const char *path, struct buf *text, struct stat *st, struct err *e)
{
	FILE	*f = fopen(path, "re");
	char	 part[4096];
	size_t	 n;
	int	 rc = 0;

	if (f == NULL || fstat(fileno(f), st) < 0)
		rc = -1;
	while (rc == 0 && (n = fread(part, 1, sizeof(part), f)) > 0)
		buf_add(text, part, n);
	if (rc < 0 || ferror(f))
		rc = err_set(e, "%s: %s", path, strerror(errno));
	if (f != NULL)
		fclose(f);
	buf_str(text, "");
	return rc;
}

/* A new file with the owner and the mode of the old one. */
static int
write_new(const char *path, const struct buf *text, const struct stat *st)
{
	int	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	FILE	*f = fd < 0 ? NULL : fdopen(fd, "w");
	bool	ok;

	if (f == NULL)
		return -1;
	ok = fwrite(text->data, 1, text->len, f) == text->len &&
	    fflush(f) == 0 && fchown(fd, st->st_uid, st->st_gid) == 0 &&
	    fchmod(fd, st->st_mode & 07777) == 0 && fsync(fd) == 0;
	return fclose(f) == 0 && ok ? 0 : -1;
}

/* Is the new text a configuration?  Then it takes the place of the old. */
static int
put_in_place(const char *new, const char *path, struct err *e)
{
	struct conf	*conf = conf_load(new, NULL, e);

	if (conf == NULL)
		return -1;
	conf_free(conf);
	return rename(new, path) == 0 ? 0 :
	    err_set(e, "%s: %s", path, strerror(errno));
}

int
conf_edit(const char *path, const struct conf_change *changes, size_t n,
    struct err *e)
{
	struct buf	 text = { 0 };
	struct stat	 st = { 0 };
	char		*real = realpath(path, NULL);	/* not a link to it */
	char		*new;
	int		 rc;

	if (real == NULL)
		return err_set(e, "%s: %s", path, strerror(errno));
	new = xasprintf("%s.new", real);
	rc = read_all(real, &text, &st, e);
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = replace(&text, path, &changes[i], e);
	if (rc == 0 && unlink(new) < 0 && errno != ENOENT)
		rc = err_set(e, "%s: %s", new, strerror(errno));
	if (rc == 0 && write_new(new, &text, &st) < 0)
		rc = err_set(e, "%s: %s", new, strerror(errno));
	if (rc == 0)
		rc = put_in_place(new, real, e);
	if (rc < 0)
		unlink(new);
	buf_free(&text);
	free(new);
	free(real);
	return rc;
}
