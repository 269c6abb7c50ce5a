/* filter.c - see filter.h */

#include "ctl/base/filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mysql/db.h"
#include "util/plain.h"

static void
put_partition(struct store *s, const char *column, const char *value)
{
	if (column == NULL || value == NULL)
		return;
	store_put(s, " AND ");
	store_put(s, column);
	store_put(s, " IN (");
	filter_put_label(s, value);
	store_put(s, ")");
}

static void
put_time(struct store *s, const char *column, const char *op,
    const char *moment)
{
	if (column == NULL || moment == NULL)
		return;
	store_put(s, " AND ");
	store_put(s, column);
	store_put(s, op);
	store_put(s, moment);
}

/* STORE_BYTES of what is known at run time. */
static void
put_bytes_of(struct store *s, const char *column)
{
	store_put(s, "IF(CHARSET(");
	store_put(s, column);
	store_put(s, ") = 'binary', ");
	store_put(s, column);
	store_put(s, ", CAST(CONVERT(");
	store_put(s, column);
	store_put(s, " USING utf8mb4) AS BINARY))");
}

/* The first comparison may use an index, the second is right. */
static void
put_is_key(struct store *s, const char *column, const char *data, size_t len)
{
	store_put(s, column);
	store_put(s, " = ");
	store_put_bytes(s, data, len);
	store_put(s, " AND ");
	put_bytes_of(s, column);
	store_put(s, " = CAST(");
	store_put_bytes(s, data, len);
	store_put(s, " AS BINARY)");
}

void
filter_put_key(struct store *s, const char *column, const char *key)
{
	struct buf	bytes = { 0 };

	store_put(s, " ((");
	put_is_key(s, column, key, strlen(key));
	if (plain_parse_hex(&bytes, key)) {
		store_put(s, ") OR (");
		put_is_key(s, column, bytes.len == 0 ? "" : bytes.data,
		    bytes.len);
	}
	store_put(s, "))");
	buf_free(&bytes);
}

void
filter_put_label(struct store *s, const char *label)
{
	struct buf	bytes = { 0 };

	store_put_text(s, label);
	if (plain_parse_hex(&bytes, label)) {
		store_put(s, ", ");
		store_put_bytes(s, bytes.len == 0 ? "" : bytes.data,
		    bytes.len);
	}
	buf_free(&bytes);
}

void
filter_put(struct ctl *c, const struct filter *f)
{
	struct store	*s = c->store;

	if (f->key != NULL && c->args.key != NULL) {
		store_put(s, " AND");
		filter_put_key(s, f->key, c->args.key);
	}
	put_partition(s, f->partition, c->args.partition);
	if (f->type != NULL && c->args.type != NULL) {
		store_put(s, " AND (");
		store_put(s, f->type);
		store_put(s, " LIKE ");
		store_put_pattern(s, c->args.type);
		store_put(s, " OR");
		filter_put_key(s, f->type, c->args.type);
		store_put(s, ")");
	}
	put_time(s, f->time, " >= ", c->args.since);
	put_time(s, f->time, " < ", c->args.until);
}

/* What a list has found, and how far it got. */
struct found {
	json_t		*rows;
	size_t		 limit, looked;
	uint64_t	 last;		/* where to go on behind */
	bool		 ended;
};

/* No more than were asked for: the last one shown is where it goes on. */
static void
take(struct found *f, const struct listing *l, json_t *page, uint64_t last)
{
	size_t	i, room = f->limit - json_array_size(f->rows);
	json_t	*row;

	f->last = last;
	if (json_array_size(page) > room)
		f->ended = false;
	json_array_foreach(page, i, row) {
		if (i == room)
			break;
		json_array_append(f->rows, row);
	}
	if (i == room && room > 0) {
		row = json_array_get(page, room - 1);
		f->last = (uint64_t)json_integer_value(json_object_get(row,
		    l->columns[0].name));
		f->ended = f->ended && f->last == last;
	}
	json_decref(page);
}

static int
take_page(struct ctl *c, struct walk *w, const struct listing *l,
    struct found *f, size_t max, struct err *e)
{
	uint64_t	 sequences[WALK_PAGE];
	struct db_rows	*rows;
	size_t		 n;

	if (walk_next(w, sequences, max, &n, e) < 0)
		return -1;
	f->looked += n;
	f->ended = n < max;
	if (n == 0)
		return 0;
	l->select(c);
	store_put_list(c->store, sequences, n);
	store_put(c->store, ")");
	l->finish(c);
	store_put(c->store, " ORDER BY ");
	store_put(c->store, walk_order(w));
	if ((rows = store_query(c->store, "list", e)) == NULL)
		return -1;
	take(f, l, rows_json(rows, l->columns, l->ncolumns),
	    sequences[n - 1]);
	return 0;
}

/* As many as are wanted, and with a filter that lets few pass ever more. */
static int
collect(struct ctl *c, struct walk *w, const struct listing *l,
    struct found *f, struct err *e)
{
	size_t	max = f->limit + 1;

	while (!f->ended && f->looked < WALK_BUDGET &&
	    json_array_size(f->rows) < f->limit) {
		if (max > WALK_PAGE)
			max = WALK_PAGE;
		if (max > WALK_BUDGET - f->looked)
			max = WALK_BUDGET - f->looked;
		if (take_page(c, w, l, f, max, e) < 0)
			return -1;
		max *= 2;
	}
	return 0;
}

static int
print_found(struct ctl *c, const struct listing *l, struct found *f)
{
	json_t	*next = f->ended ? json_null() :
	    json_integer((json_int_t)f->last);

	if (c->args.json) {
		print_object(c, json_pack("{s:o, s:I, s:o}", "rows", f->rows,
		    "looked_at", (json_int_t)f->looked, "next", next));
		return CTL_DONE;
	}
	print_rows(c, l->shown, f->rows);
	if (!f->ended)
		fprintf(stderr, "outboxctl: looked at %zu rows; to go on: "
		    "--after %llu\n", f->looked, (unsigned long long)f->last);
	json_decref(next);
	return CTL_DONE;
}

int
filter_list(struct ctl *c, struct walk *w, const struct listing *l,
    struct err *e)
{
	struct found	f = { .rows = json_array(),
			    .limit = (size_t)c->args.limit };
	int		rc;

	rc = w == NULL ? -1 : collect(c, w, l, &f, e);
	walk_free(w);
	if (rc == 0)
		return print_found(c, l, &f);
	json_decref(f.rows);
	return ctl_fail(c, e);
}
