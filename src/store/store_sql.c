/* store_sql.c - build statements from templates, see store_sql.h */

#include "store/store_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/log.h"

#define LETTERS		"abcdefghijklmnopqrstuvwxyz_"

/* Values */

static void
put_bytes(struct store *s, const char *bytes, size_t len)
{
	if (bytes == NULL)
		buf_str(&s->sql, "NULL");
	else
		db_quote(s->db, &s->sql, bytes, len);
}

void
store_put_text(struct store *s, const char *text)
{
	put_bytes(s, text, text == NULL ? 0 : strlen(text));
}

static void
put_pattern(struct store *s, const char *pattern)
{
	struct buf	like = { 0 };

	for (; *pattern != '\0'; pattern++) {
		if (strchr("%_\\", *pattern) != NULL)
			buf_str(&like, "\\");
		buf_add(&like, *pattern == '*' ? "%" : pattern, 1);
	}
	store_put_text(s, like.len == 0 ? "" : like.data);
	buf_free(&like);
}

void
store_put_comma(struct store *s)
{
	int	last = s->sql.len == 0 ? ' ' : s->sql.data[s->sql.len - 1];

	if (last != '(' && last != ' ')
		buf_str(&s->sql, ",");
}

void
store_put_item(struct store *s, uint64_t number)
{
	store_put_comma(s);
	buf_u64(&s->sql, number);
}

static void
put_fit(struct store *s, enum store_fit which, const char *data, size_t len)
{
	struct buf	text = { 0 };

	if (data != NULL && !store_fits(s, which, data, len)) {
		store_make_fit(s, which, data, len, &text);
		put_bytes(s, text.data, text.len);
	} else
		put_bytes(s, data, len);
	buf_free(&text);
}

static void
put_error(struct store *s, enum store_fit which, const char *error)
{
	struct buf	text = { 0 };

	if (error != NULL)
		store_make_error_fit(s, which, error, &text);
	put_fit(s, which, text.data, text.len);
	buf_free(&text);
}

/* Words */

/* PRIMARY as a word, not as a name: it is what our own tables have. */
static void
put_index(struct store *s, const char *name)
{
	buf_str(&s->sql, "FORCE INDEX (");
	if (strcmp(name, "PRIMARY") == 0)
		buf_str(&s->sql, name);
	else
		db_name(&s->sql, name);
	buf_str(&s->sql, ")");
}

static void
put_outbox_primary(struct store *s)
{
	put_index(s, s->primary[T_OUTBOX]);
}

static void
put_events_primary(struct store *s)
{
	put_index(s, s->primary[T_EVENTS]);
}

static void
put_claim_index(struct store *s)
{
	if (s->index[0] != '\0')
		put_index(s, s->index);
}

/* MySQL would round NOW(6) up, into the future. */
static void
put_now(struct store *s)
{
	buf_str(&s->sql, s->whole_seconds ? "NOW()" : "NOW(6)");
}

static void
put_me(struct store *s)
{
	store_put_text(s, s->id);
}

static bool
is_word(const char *word, size_t len, const char *wanted)
{
	return strlen(wanted) == len && memcmp(wanted, word, len) == 0;
}

static void
put_word(struct store *s, const char *word, size_t len)
{
	static const char *const tables[NTABLES] = {
		[T_OUTBOX] = "outbox", [T_EVENTS] = "events",
		[T_PARTITIONS] = "partitions", [T_WORKERS] = "workers",
		[T_SETTINGS] = "settings", [T_DEAD] = "dead",
		[T_BLOCKED] = "blocked",
		[T_STREAMS] = "streams", [T_AUDIT] = "audit",
		[T_REGISTRY] = "registry",
	};
	static const struct {
		const char	*word;
		void		(*put)(struct store *);
	} others[] = {
		{ "now", put_now }, { "me", put_me },
		{ "primary", put_outbox_primary },
		{ "events_primary", put_events_primary },
		{ "index", put_claim_index },
	};

	if (memchr(word, ' ', len) != NULL) {
		store_put_verb(s, word, len);
		return;
	}
	for (size_t i = 0; i < NTABLES; i++)
		if (is_word(word, len, tables[i])) {
			db_name(&s->sql, s->tables[i]);
			return;
		}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (is_word(word, len, others[i].word)) {
			others[i].put(s);
			return;
		}
	if (!store_put_column(s, word, len))
		panic("statement: unknown word {%.*s}", (int)len, word);
}

/* Templates */

static void	put_template(struct store *, const char *,
		    const struct sql_arg *);

/* Item i of a list in an array of structs, or of plain values. */
static const void *
item_of(const struct sql_arg *a, size_t i)
{
	return (const char *)a->list + i * a->stride;
}

static void
put_list(struct store *s, const struct sql_arg *a)
{
	for (size_t i = 0; i < a->n; i++)
		if (a->kind == SQL_IS_LIST)
			store_put_item(s, *(const uint64_t *)item_of(a, i));
		else {
			store_put_comma(s);
			store_put_text(s, *(const char *const *)item_of(a, i));
		}
}

/* All arguments, because parts of the template may name any of them. */
static void
put_arg(struct store *s, const struct sql_arg *args, const char *name,
    size_t len)
{
	const struct sql_arg	*a = args;

	while (a->name != NULL && !is_word(name, len, a->name))
		a++;
	if (a->name == NULL)
		panic("statement: no argument :%.*s", (int)len, name);
	switch (a->kind) {
	case SQL_IS_TEXT:
		store_put_text(s, a->text);
		break;
	case SQL_IS_BYTES:
		put_bytes(s, a->text, a->n);
		break;
	case SQL_IS_PATTERN:
		put_pattern(s, a->text);
		break;
	case SQL_IS_NAME:
		db_name(&s->sql, a->text);
		break;
	case SQL_IS_FIT:
		put_fit(s, a->fit, a->text, a->n);
		break;
	case SQL_IS_ERROR:
		put_error(s, a->fit, a->text);
		break;
	case SQL_IS_NUMBER:
		buf_u64(&s->sql, a->number);
		break;
	case SQL_IS_MS:
		buf_printf(&s->sql, "%lld", (long long)a->ms * 1000);
		break;
	case SQL_IS_LIST:
	case SQL_IS_LABELS:
		put_list(s, a);
		break;
	case SQL_IS_EPOCHS:
		for (size_t i = 0; i < a->n; i++) {
			store_put_comma(s);
			store_put(s, "(:label,:epoch)",
			    SQL_TEXT("label", a->ranges[i].label),
			    SQL_NUMBER("epoch", a->ranges[i].epoch));
		}
		break;
	case SQL_IS_PART:
		put_template(s, a->text, args);
		break;
	case SQL_IS_RAW:
		buf_str(&s->sql, a->text);
		break;
	case SQL_IS_MADE:
		buf_str(&s->sql, a->made == NULL ? "" : a->made);
		break;
	}
}

/*
 * The length of the word or the name that begins here; 0: it is none, as in the
 * {16} of a regular expression and the 12:00 of a time.
 */
static size_t
word_len(const char *p, bool braces)
{
	if (strchr(LETTERS, *p) == NULL || *p == '\0')
		return 0;
	return braces ? strcspn(p, "}") : strspn(p, LETTERS "0123456789");
}

static void
put_template(struct store *s, const char *p, const struct sql_arg *args)
{
	const char	*from = p;
	bool		 braces;
	size_t		 n;

	for (; *p != '\0'; p++) {
		braces = *p == '{';
		if ((!braces && (*p != ':' || args->name == NULL)) ||
		    (n = word_len(p + 1, braces)) == 0)
			continue;
		buf_add(&s->sql, from, (size_t)(p - from));
		if (braces)
			put_word(s, p + 1, n++);
		else
			put_arg(s, args, p + 1, n);
		p += n;
		from = p + 1;
	}
	buf_str(&s->sql, from);
}

void
store_put_template(struct store *s, const char *template,
    const struct sql_arg *args)
{
	put_template(s, template, args);
	for (; args->name != NULL; args++)
		if (args->kind == SQL_IS_MADE)
			free(args->made);
}

void
store_sql_template(struct store *s, const char *template,
    const struct sql_arg *args)
{
	buf_clear(&s->sql);
	store_put_template(s, template, args);
}

void
store_put_sql(struct store *s, const char *template)
{
	put_template(s, template, &(struct sql_arg){ .name = NULL });
}

/* Parts are made apart, because another one may begin before this one ends. */
void
store_begin_part(struct store *s)
{
	if (s->nparts == STORE_PARTS)
		panic("statement: too many parts in one another");
	s->outer[s->nparts++] = s->sql;
	s->sql = (struct buf){ .data = NULL };
}

char *
store_end_part(struct store *s)
{
	char	*part = s->sql.data;

	s->sql = s->outer[--s->nparts];
	return part;
}
