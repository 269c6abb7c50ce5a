/* schema_text.c - the texts of sql/ with other names, and their statements */

#include "ctl/schema/schema_impl.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "util/log.h"
#include "util/xalloc.h"

#define NAME_MAX_SQL	64

#define WORD	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" \
		"0123456789_@-"

/* A column; all other words that begin with a table's name belong to it. */
static const char	column[] = "outbox_id";

static const char *
configured(const struct conf *conf, const struct conf_key *k)
{
	return *(char *const *)((const char *)conf + k->at);
}

/* In the text of one mode the names of the other mean its own. */
static const struct {
	const char	*ours, *inlined;
} same[] = {
	{ "outbox", "outbox_messages" }, { "events", "outbox_messages" },
	{ "outbox_enqueue", "outbox_enqueue_message" },
};
#define NSAME	(sizeof(same) / sizeof(same[0]))

/*
 * The configuration key of the table with this name, or whose name and "_"
 * begin the word: outbox_workers_heartbeat belongs to outbox_workers.
 */
static const struct conf_key *
table_of(const char *word, size_t len)
{
	static const char	 prefix[] = "outbox.tables.";
	const struct conf_key	*keys, *best = NULL;
	size_t			 n, longest = 0;

	keys = conf_keys(&n);
	for (size_t i = 0; i < n; i++) {
		size_t k = keys[i].dflt == NULL ? 0 : strlen(keys[i].dflt);

		if (strncmp(keys[i].name, prefix, sizeof(prefix) - 1) != 0 ||
		    k <= longest || k > len ||
		    memcmp(word, keys[i].dflt, k) != 0 ||
		    (k < len && word[k] != '_'))
			continue;
		longest = k;
		best = &keys[i];
	}
	return best;
}

static int
put_schema_word(const struct conf *conf, struct buf *to, const char *word,
    size_t len, struct err *e)
{
	const struct conf_key	*k = NULL;
	const char		*name;
	char			*whole;
	size_t			 cut;

	for (size_t i = 0; i < NSAME && conf->outbox.mode == MODE_INLINE &&
	    word[len] != '.'; i++)
		if (strlen(same[i].ours) == len &&
		    memcmp(same[i].ours, word, len) == 0) {
			len = strlen(same[i].inlined);
			word = same[i].inlined;
			break;
		}
	if (len != sizeof(column) - 1 || memcmp(word, column, len) != 0)
		k = table_of(word, len);
	if (k == NULL || strcmp(configured(conf, k), k->dflt) == 0) {
		buf_add(to, word, len);
		return 0;
	}
	name = configured(conf, k);
	cut = strlen(k->dflt);
	if (strlen(name) + len - cut > NAME_MAX_SQL)
		return err_set(e, "%s: %s%.*s would be longer than %d "
		    "characters", k->name, name, (int)(len - cut), word + cut,
		    NAME_MAX_SQL);
	whole = xasprintf("%s%.*s", name, (int)(len - cut), word + cut);
	db_name(to, whole);
	free(whole);
	return 0;
}

int
schema_put_text(const struct conf *conf, const char *text, struct buf *to,
    struct err *e)
{
	const char	*name, *p = text;
	char		*word;
	size_t		 n;

	for (; *p != '\0'; p += n) {
		n = strcspn(p, WORD);
		buf_add(to, p, n);
		p += n;
		if ((n = strspn(p, WORD)) == 0)
			break;
		if (p - text < 4 || memcmp(p - 4, "NEW.", 4) != 0) {
			if (put_schema_word(conf, to, p, n, e) < 0)
				return -1;
			continue;
		}
		/* A column of a trigger's row. */
		word = xstrndup(p, n);
		name = conf_column(conf, word);
		if (strcmp(name, word) == 0)
			buf_str(to, word);
		else
			db_name(to, name);
		free(word);
	}
	buf_str(to, "");
	return 0;
}

static int
put_part(const struct conf *conf, const char *from, const char *end,
    struct buf *to, struct err *e)
{
	char	*text = xstrndup(from, (size_t)(end - from));
	int	 rc = schema_put_text(conf, text, to, e);

	free(text);
	return rc;
}

int
schema_put_table(const struct conf *conf, const char *file, const char *name,
    struct buf *to, struct err *e)
{
	char		*create = xasprintf("CREATE TABLE IF NOT EXISTS %s (",
			    name);
	const char	*at = strstr(file, create), *end;

	free(create);
	if (at == NULL || (end = strstr(at, ";\n")) == NULL)
		panic("sql/: no table %s", name);
	while (at > file && strncmp(at, "\n\n", 2) != 0)
		at--;
	return put_part(conf, at + 1, end + 2, to, e);
}

static int
render_inline(const struct conf *conf, struct buf *to, struct err *e)
{
	static const char	 include[] = "-- include ", skip[] =
				    "-- of our own columns", go_on[] =
				    "-- of any columns";
	const char		*p = schema_file_inline, *end;
	char			*table;
	bool			 left = false;
	int			 rc = 0;

	for (; rc == 0 && *p != '\0'; p = end) {
		end = p + strcspn(p, "\n");
		if (strncmp(p, include, strlen(include)) == 0) {
			p += strlen(include);
			table = xstrndup(p, (size_t)(end - p));
			rc = schema_put_table(conf, schema_file_schema, table,
			    to, e);
			free(table);
		} else if (strncmp(p, skip, strlen(skip)) == 0)
			left = conf->outbox.columns.n > 0;
		else if (strncmp(p, go_on, strlen(go_on)) == 0)
			left = false;
		else if (!left)
			rc = put_part(conf, p, end + (*end == '\n'), to, e);
		end += *end == '\n';
	}
	buf_str(to, "");
	return rc;
}

/* The procedures of schema.sql know only our own names of columns. */
int
schema_render(const struct conf *conf, struct buf *to, struct err *e)
{
	static const char	 procedure[] = "\n--\n-- outbox_enqueue(";
	const char		*end = strstr(schema_file_schema, procedure);

	if (conf->outbox.mode == MODE_INLINE)
		return render_inline(conf, to, e);
	if (conf->outbox.columns.n == 0 || end == NULL)
		return schema_put_text(conf, schema_file_schema, to, e);
	return put_part(conf, schema_file_schema, end + 1, to, e);
}

/* Length of text at p that is not parsed further; 0: none. */
static size_t
opaque_length(const char *p)
{
	const char	*end;

	if (strncmp(p, "-- ", 3) == 0 || strncmp(p, "--\n", 3) == 0)
		return strcspn(p, "\n");
	if (*p != '\'' && *p != '"' && *p != '`')
		return 0;
	end = strchr(p + 1, *p);
	return end == NULL ? strlen(p) : (size_t)(end + 1 - p);
}

bool
schema_next(struct schema_walk *w, struct buf *statement)
{
	const char	*start;
	size_t		 n;

	/* Skip blanks, comments and DELIMITER lines. */
	for (;;) {
		w->at += strspn(w->at, " \t\r\n");
		if (strncmp(w->at, "--", 2) != 0 &&
		    sscanf(w->at, "DELIMITER %7s", w->delimiter) != 1)
			break;
		w->at += strcspn(w->at, "\n");
	}
	start = w->at;
	while (*w->at != '\0' &&
	    strncmp(w->at, w->delimiter, strlen(w->delimiter)) != 0) {
		n = opaque_length(w->at);
		w->at += n == 0 ? 1 : n;
	}
	buf_clear(statement);
	buf_add(statement, start, (size_t)(w->at - start));
	buf_str(statement, "");
	if (*w->at != '\0')
		w->at += strlen(w->delimiter);
	return statement->len > 0;
}

void
schema_squeeze(struct buf *to, const char *text, size_t n)
{
	size_t	begin = to->len;

	for (size_t i = 0; i < n; i++)
		if (!isspace((unsigned char)text[i]))
			buf_add(to, &text[i], 1);
		else if (to->len > begin && to->data[to->len - 1] != ' ')
			buf_add(to, " ", 1);
	if (to->len > begin && to->data[to->len - 1] == ' ')
		buf_chop(to, 1);
	buf_str(to, "");
}
