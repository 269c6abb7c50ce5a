/*
 * store_fit.c - make values of rows fit the columns of our tables
 *
 * Events and outbox may be an application's own, with wider or binary columns,
 * and our tables may be of an older schema.sql.  A strict server refuses a
 * value that does not fit, and with it the statement of many rows.  So the
 * width of the columns is read at each connect.
 */

#include "store/store_impl.h"

#include <string.h>
#include <strings.h>

#include "util/printable.h"
#include "util/utf8.h"

static const char	mark[] = "...";

#define MARK_LEN	(sizeof(mark) - 1)

static const struct {
	enum store_table	 table;
	const char		*column;
} columns[NFITS] = {
	[FIT_LABEL] = { T_PARTITIONS, "partition_key" },
	[FIT_ERROR] = { T_OUTBOX, "last_error" },
	[FIT_DEAD_LABEL] = { T_DEAD, "partition_key" },
	[FIT_DEAD_KEY] = { T_DEAD, "order_key" },
	[FIT_DEAD_TYPE] = { T_DEAD, "event_type" },
	[FIT_DEAD_ERROR] = { T_DEAD, "last_error" },
	[FIT_BLOCKED_KEY] = { T_BLOCKED, "order_key" },
};

void
store_learn_fit(struct store *s, const char *table, const char *column,
    const char *charset, uint64_t length)
{
	for (size_t i = 0; i < NFITS; i++) {
		struct fit *f = &s->fits[i];

		if (strcmp(s->tables[columns[i].table], table) != 0 ||
		    strcasecmp(columns[i].table == T_OUTBOX ?
		    store_column_name(s, columns[i].column) :
		    columns[i].column, column) != 0)
			continue;
		f->max = (size_t)length;
		f->kind = charset == NULL ? FIT_BYTES :
		    strcasecmp(charset, "utf8mb4") == 0 ? FIT_UTF8 : FIT_ASCII;
	}
}

/* Can the column hold such bytes?  Their number does not matter here. */
static bool
is_of_kind(const struct fit *f, const char *data, size_t len)
{
	switch (f->kind) {
	case FIT_BYTES:
		return true;
	case FIT_UTF8:
		return utf8_is_valid(data, len);
	default:	/* others: only ASCII is certain */
		return utf8_is_ascii(data, len);
	}
}

/* The bytes that fit into max characters (or bytes) of the column. */
static size_t
first_of(const struct fit *f, const char *data, size_t len, size_t max)
{
	size_t	n = len < max ? len : max;

	if (f->kind == FIT_UTF8)
		return utf8_first(data, len, max);
	/* Do not cut a character of UTF-8, in a binary column either. */
	while (n > 0 && n < len && utf8_is_valid(data, len) &&
	    (data[n] & 0xc0) == 0x80)
		n--;
	return n;
}

bool
store_fits(const struct store *s, enum store_fit which, const char *data,
    size_t len)
{
	const struct fit	*f = &s->fits[which];

	return f->max == 0 || (is_of_kind(f, data, len) &&
	    first_of(f, data, len, f->max) == len);
}

static void
add_cut(const struct fit *f, const char *data, size_t len, struct buf *to)
{
	size_t	n = first_of(f, data, len, f->max);

	if (n < len && f->max > MARK_LEN) {
		n = first_of(f, data, len, f->max - MARK_LEN);
		buf_add(to, data, n);
		buf_str(to, mark);
	} else
		buf_add(to, data, n);
}

void
store_make_fit(const struct store *s, enum store_fit which, const char *data,
    size_t len, struct buf *to)
{
	const struct fit	*f = &s->fits[which];
	struct buf		 hex = { 0 };

	if (is_of_kind(f, data, len)) {
		add_cut(f, data, len, to);
		return;
	}
	printable_put_hex(&hex, data, len);
	add_cut(f, hex.data, hex.len, to);
	buf_free(&hex);
}

/* Errors are for people: in a column that is not UTF-8, '?' instead of hex. */
void
store_make_error_fit(const struct store *s, enum store_fit which,
    const char *error, struct buf *to)
{
	buf_str(to, error);
	for (size_t i = 0; s->fits[which].kind == FIT_ASCII && i < to->len; i++)
		if ((unsigned char)to->data[i] >= 0x80)
			to->data[i] = '?';
}
