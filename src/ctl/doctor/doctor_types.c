/*
 * doctor_types.c - event types, and what stands for them in a subject or path
 *
 * Types that share one cannot be told apart by consumers.  Which types
 * there are only the rows tell: a sample of those that wait, and the latest
 * events.
 */

#include "ctl/doctor/doctor.h"

#include <stdlib.h>
#include <string.h>

#include "driver/type_tokens.h"
#include "drivers/traits/traits.h"
#include "mysql/db.h"
#include "util/printable.h"
#include "util/xalloc.h"

#define SAMPLE		1000	/* rows of each kind */
#define SHOWN		50	/* types */

struct type {
	char	*name, *tokens;
	size_t	 len;		/* of the name, which may be any bytes */
};

struct types {
	struct type	*items;
	size_t		 n;
};

static int
name_cmp(const void *a, const void *b)
{
	const struct type	*x = a, *y = b;
	int			 diff = memcmp(x->name, y->name,
				    x->len < y->len ? x->len : y->len);

	return diff != 0 ? diff : (x->len > y->len) - (x->len < y->len);
}

static int
tokens_cmp(const void *a, const void *b)
{
	const struct type	*x = a, *y = b;
	int			 diff = strcmp(x->tokens, y->tokens);

	return diff != 0 ? diff : name_cmp(a, b);
}

static void
add(struct types *t, const char *name, size_t len)
{
	t->items = xreallocarray(t->items, t->n + 1, sizeof(*t->items));
	t->items[t->n].tokens = NULL;
	t->items[t->n].len = len;
	t->items[t->n].name = xcalloc(1, len + 1);
	memcpy(t->items[t->n++].name, name, len);
}

/* Add what the prepared statement returns; false: the error was printed. */
static bool
add_rows(struct doctor *d, struct types *t)
{
	struct db_rows	*rows = doctor_query(d, "types");

	if (rows == NULL)
		return false;
	while (db_next(rows))
		if (db_nullable(rows, 0) != NULL)
			add(t, db_text(rows, 0), db_length(rows, 0));
	db_rows_free(rows);
	return true;
}

/*
 * Without an index that begins with the time of delivery, waiting rows may be
 * among any number of others: then only the latest events are read.
 */
static bool
add_sample(struct doctor *d, struct types *t)
{
	struct store	*s = d->ctl->store;

	if (store_index(s) == INDEX_BY_TIME) {
		store_sql(s, "SELECT {e.event_type} FROM "
		    "(SELECT {global_sequence} AS waiting FROM {outbox} "
		    "{index} WHERE {published_at} IS NULL LIMIT :max) AS w "
		    "JOIN {events} AS e ON {e.sequence} = w.waiting",
		    SQL_NUMBER("max", SAMPLE));
		if (!add_rows(d, t))
			return false;
	}
	store_sql(s, "SELECT {e.event_type} FROM {events} AS e "
	    "{events_primary} ORDER BY {e.sequence} DESC LIMIT :max",
	    SQL_NUMBER("max", SAMPLE));
	return add_rows(d, t);
}

/* Each type once, sorted by its tokens. */
static void
map_types(const struct conf *c, struct types *t)
{
	struct type_tokens	 how = type_tokens_of(c);
	struct buf		 b = { 0 };
	size_t			 kept = 0;

	for (size_t i = 0; i < c->publish.type_aliases.n; i++) {
		const char *name = c->publish.type_aliases.items[i].name;

		add(t, name, strlen(name));
	}
	if (t->n == 0)		/* qsort() wants an array */
		return;
	qsort(t->items, t->n, sizeof(*t->items), name_cmp);
	for (size_t i = 0; i < t->n; i++) {
		if (kept > 0 && name_cmp(&t->items[kept - 1],
		    &t->items[i]) == 0)
			free(t->items[i].name);
		else
			t->items[kept++] = t->items[i];
	}
	t->n = kept;
	for (size_t i = 0; i < t->n; i++) {
		buf_clear(&b);
		buf_str(&b, "");
		type_tokens_put(&b, &how, (struct bytes){ t->items[i].name,
		    t->items[i].len });
		t->items[i].tokens = xstrdup(b.data);
	}
	buf_free(&b);
	qsort(t->items, t->n, sizeof(*t->items), tokens_cmp);
}

static void
say_types(struct doctor *d, const struct types *t)
{
	const char	*where = traits_of(d->ctl->conf, NULL)->template_key;
	char		 names[2][PRINTABLE_SIZE];
	size_t		 shared = 0, shown = 0;

	for (size_t i = 1; i < t->n; i++) {
		const struct type *a = &t->items[i - 1], *b = &t->items[i];

		if (strcmp(a->tokens, b->tokens) != 0)
			continue;
		shared++;
		printable_text(names[0], a->name, a->len);
		printable_text(names[1], b->name, b->len);
		doctor_say(d, DOCTOR_ADVICE, "types", "%s and %s are both %s "
		    "in %s, so consumers cannot tell them apart by it: give "
		    "one of them an alias in publish.type_aliases", names[0],
		    names[1], a->tokens, where);
	}
	for (size_t i = 0; i < t->n && shown < SHOWN; i++) {
		const struct type *a = &t->items[i];

		/* A type that stands as it is needs no line. */
		if (strcmp(a->name, a->tokens) == 0)
			continue;
		shown++;
		printable_text(names[0], a->name, a->len);
		printable_text(names[1], a->tokens, strlen(a->tokens));
		doctor_say(d, DOCTOR_OK, "types", "%s is %s in %s", names[0],
		    names[1], where);
	}
	if (shared == 0)
		doctor_say(d, DOCTOR_OK, "types", "%s among the "
		    "waiting messages and the latest %d events, and no two of "
		    "them are the same in %s", COUNTED(t->n, "event type"),
		    SAMPLE, where);
}

void
doctor_types(struct doctor *d)
{
	const struct driver_traits	*to = traits_of(d->ctl->conf, NULL);
	const char			*template = to->template == 0 ? "" :
					    traits_template(d->ctl->conf, NULL);
	struct types			 t = { 0 };

	if (strstr(template, "{event_type}") == NULL &&
	    strstr(template, "{topic}") == NULL) {
		doctor_say(d, DOCTOR_OK, "types", "%s has no {event_type}",
		    to->template_key);
		return;
	}
	if (add_sample(d, &t)) {
		map_types(d->ctl->conf, &t);
		say_types(d, &t);
	}
	for (size_t i = 0; i < t.n; i++) {
		free(t.items[i].name);
		free(t.items[i].tokens);
	}
	free(t.items);
}
