/* impact.c - see impact.h */

#include "ctl/messages/impact.h"

#include <stdio.h>

#include "util/display.h"

#define TYPES_SHOWN	3
#define TYPE_WIDTH	40	/* of a name in the question */
#define HALTS_SHOWN	10

/* What is given up */

static const struct rows_column of_loss[] = {
	{ "key", ROWS_BYTES }, { "type", ROWS_BYTES },
};

/* Their keys, as members, and the number of messages of each type. */
static int
read_loss(struct chosen *r, json_t *keys, json_t *types, struct err *e)
{
	struct store	*s = r->c->store;
	struct db_rows	*rows;
	json_t		*page, *row;
	const char	*key, *type;
	size_t		 k;

	for (size_t i = 0, n; i < r->n; i += n) {
		n = change_piece(r->n - i);
		r->how->select_loss(r->c, r->list + i, n);
		if ((rows = store_query(s, "select", e)) == NULL)
			return -1;
		page = rows_json(rows, of_loss, 2);
		json_array_foreach(page, k, row) {
			if ((key = member_text(row, "key")) != NULL)
				json_object_set_new(keys, key, json_true());
			if ((type = member_text(row, "type")) != NULL)
				member_add(types, type, 1);
		}
		json_decref(page);
	}
	return 0;
}

/* Append the type with the most messages, and remove it; false: none is left */
static bool
take_type(json_t *types, struct buf *to, const char *lead)
{
	const char	*name, *most = NULL;
	json_t		*count;

	json_object_foreach(types, name, count)
		if (most == NULL || json_integer_value(count) >
		    member_number(types, most))
			most = name;
	if (most == NULL)
		return false;
	buf_printf(to, "%s%lld ", lead, member_number(types, most));
	display_cut(to, most, TYPE_WIDTH);
	json_object_del(types, most);
	return true;
}

/*
 * "3 messages of 2 keys (2 order.paid, 1 order.made) would be discarded and
 * never sent"; a dead letter may have neither key nor type.
 */
int
impact_ask(struct chosen *r, bool *may, struct err *e)
{
	const struct args	*a = &r->c->args;
	json_t			*keys, *types;
	struct buf		 text = { 0 };
	size_t			 left;

	if (a->yes || a->dry_run || r->n == 0 || (r->n <= CTL_MANY &&
	    !a->all && !r->how->asks_of_few))
		return 0;
	keys = json_object();
	types = json_object();
	if (read_loss(r, keys, types, e) < 0) {
		json_decref(keys);
		json_decref(types);
		return -1;
	}
	buf_str(&text, COUNTED(r->n, r->how->thing));
	if (json_object_size(keys) > 0)
		buf_printf(&text, " of %s", COUNTED(json_object_size(keys),
		    "key"));
	if (take_type(types, &text, " (")) {
		for (int i = 1; i < TYPES_SHOWN; i++)
			take_type(types, &text, ", ");
		left = json_object_size(types);
		if (left > 0)
			buf_printf(&text, ", and %s", COUNTED(left,
			    "other type"));
		buf_str(&text, ")");
	}
	*may = ctl_confirm_impact(r->c, "%s would be %s and never sent",
	    text.data, r->done);
	buf_free(&text);
	json_decref(keys);
	json_decref(types);
	return 0;
}

/* Keys that stay halted */

static const struct rows_column of_halt[] = {
	{ "by", ROWS_NUMBER }, { "key", ROWS_BYTES },
};

/* Add each halt once, and none that a message of the list itself causes. */
static void
add_halts(json_t *halts, const json_t *rows, const uint64_t *list, size_t n)
{
	json_t	*row, *other;
	size_t	 i, k;

	json_array_foreach(rows, i, row) {
		uint64_t	by = (uint64_t)member_number(row, "by");
		bool		known = false;

		for (k = 0; k < n; k++)
			known = known || list[k] == by;
		json_array_foreach(halts, k, other)
			known = known || member_number(other, "by") ==
			    (long long)by;
		if (!known)
			json_array_append(halts, row);
	}
}

/* An event names the key of a row, and of a dead letter if it still exists. */
static int
find_halts(const struct chosen *r, json_t *halts, struct err *e)
{
	struct store	*s = r->c->store;
	struct db_rows	*rows;
	json_t		*page;

	for (size_t i = 0, n; !store_is_pillar(s) && i < r->n; i += n) {
		n = change_piece(r->n - i);
		store_sql(s, "SELECT DISTINCT b.first_sequence, "
		    STORE_KEY_OF("{k.stream_id}", "b.order_key") " FROM "
		    "{events} AS e {events_primary} STRAIGHT_JOIN {blocked} "
		    "AS b LEFT JOIN {events} AS k "
		    "ON {k.sequence} = b.first_sequence "
		    "WHERE b.reason = '" STORE_HALTED "' AND "
		    STORE_BYTES("{e.stream_id}") " = "
		    STORE_KEY_OF("{k.stream_id}", "b.order_key")
		    " AND {e.sequence} IN (:rows)",
		    SQL_LIST("rows", r->list + i, n));
		if ((rows = store_query(s, "halted", e)) == NULL)
			return -1;
		page = rows_json(rows, of_halt, 2);
		add_halts(halts, page, r->list, r->n);
		json_decref(page);
	}
	return 0;
}

int
impact_report(struct chosen *r)
{
	json_t		*halts = json_array(), *h;
	struct err	 e;
	size_t		 i, n;

	if (find_halts(r, halts, &e) < 0) {
		json_decref(halts);
		return ctl_fail(r->c, &e);
	}
	if (!r->c->args.json)
		print_changed(r->c, r->changed, r->how->thing, r->done);
	n = json_array_size(halts);
	json_array_foreach(halts, i, h) {
		struct buf	key = { 0 }, word = { 0 };

		if (i == HALTS_SHOWN)
			break;
		buf_str(&key, member_text(h, "key"));
		display_put_operand(&word, key.data);
		display_clean(key.data);
		display_print(stderr, "outboxctl: key %s stays halted by dead "
		    "message %lld: \"dead retry %lld\" sends that first, "
		    "\"keys release %s\" goes on without it\n", key.data,
		    member_number(h, "by"), member_number(h, "by"), word.data);
		buf_free(&word);
		buf_free(&key);
	}
	if (n > HALTS_SHOWN)
		display_print(stderr, "outboxctl: and %s: keys blocked lists "
		    "them\n", COUNTED(n - HALTS_SHOWN, "other halted key"));
	if (r->c->args.json)
		print_object(r->c, json_pack("{s:I, s:b, s:O}", "changed",
		    (json_int_t)r->changed, "dry_run", r->c->args.dry_run,
		    "halted", halts));
	json_decref(halts);
	return CTL_DONE;
}
