/*
 * binlog_event.c - see binlog_event.h
 *
 * Most events are of other tables.  They cost the comparison of a name, once
 * per statement, and of a number.
 */

#include "mysql/binlog_event.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define CHECKSUM_BYTES	4
#define FLAG_IGNORABLE	0x80	/* of an event's header */
#define FLAG_STANDALONE	0x01	/* of MariaDB's GTID: no commit follows */

/* MariaDB's own are those from 160 on. */
enum event_type {
	EV_QUERY = 2,
	EV_STOP = 3,
	EV_ROTATE = 4,
	EV_INTVAR = 5,
	EV_RAND = 13,
	EV_USER_VAR = 14,
	EV_FORMAT = 15,
	EV_XID = 16,
	EV_TABLE_MAP = 19,
	EV_WRITE_V1 = 23,
	EV_UPDATE_V1 = 24,
	EV_DELETE_V1 = 25,
	EV_HEARTBEAT = 27,
	EV_IGNORABLE = 28,
	EV_ROWS_QUERY = 29,
	EV_WRITE = 30,
	EV_UPDATE = 31,
	EV_DELETE = 32,
	EV_GTID = 33,
	EV_ANONYMOUS_GTID = 34,
	EV_PREVIOUS_GTIDS = 35,
	EV_TRANSACTION_CONTEXT = 36,
	EV_VIEW_CHANGE = 37,
	EV_XA_PREPARE = 38,
	EV_PARTIAL_UPDATE = 39,
	EV_HEARTBEAT_V2 = 41,
	EV_TAGGED_GTID = 42,
	EV_ANNOTATE_ROWS = 160,
	EV_BINLOG_CHECKPOINT = 161,
	EV_MARIADB_GTID = 162,
	EV_GTID_LIST = 163,
	EV_START_ENCRYPTION = 164,
	EV_WRITE_COMPRESSED_V1 = 166,
	EV_UPDATE_COMPRESSED_V1 = 167,
	EV_DELETE_COMPRESSED_V1 = 168,
	EV_WRITE_COMPRESSED = 169,
	EV_UPDATE_COMPRESSED = 170,
	EV_DELETE_COMPRESSED = 171
};

/* How the value of a column is stored in a row. */
enum layout {
	FIXED,		/* size bytes */
	FRACTION,	/* size bytes and the fraction of a second */
	VARIABLE,	/* length prefix, as wide as the maximum needs */
	BLOB,		/* length prefix, as wide as the metadata says */
	STRING,		/* CHAR, ENUM or SET */
	DECIMAL,
	BITS
};

static const struct {
	uint8_t		type;
	uint8_t		meta_bytes;	/* in the table map */
	uint8_t		size;
	enum layout	layout;
} types[] = {
	{ 1, 0, 1, FIXED },		/* TINYINT */
	{ 2, 0, 2, FIXED },		/* SMALLINT */
	{ 3, 0, 4, FIXED },		/* INT */
	{ 4, 1, 4, FIXED },		/* FLOAT */
	{ 5, 1, 8, FIXED },		/* DOUBLE */
	{ 7, 0, 4, FIXED },		/* TIMESTAMP of old tables */
	{ 8, 0, 8, FIXED },		/* BIGINT */
	{ 9, 0, 3, FIXED },		/* MEDIUMINT */
	{ 10, 0, 3, FIXED },		/* DATE */
	{ 11, 0, 3, FIXED },		/* TIME of old tables */
	{ 12, 0, 8, FIXED },		/* DATETIME of old tables */
	{ 13, 0, 1, FIXED },		/* YEAR */
	{ 14, 0, 3, FIXED },		/* DATE */
	{ 15, 2, 0, VARIABLE },		/* VARCHAR */
	{ 16, 2, 0, BITS },
	{ 17, 1, 4, FRACTION },		/* TIMESTAMP */
	{ 18, 1, 5, FRACTION },		/* DATETIME */
	{ 19, 1, 3, FRACTION },		/* TIME */
	{ 242, 1, 0, BLOB },		/* VECTOR */
	{ 245, 1, 0, BLOB },		/* JSON */
	{ 246, 2, 0, DECIMAL },
	{ 252, 1, 0, BLOB },
	{ 253, 2, 0, VARIABLE },
	{ 254, 2, 0, STRING },
	{ 255, 1, 0, BLOB },		/* GEOMETRY */
};

#define NTYPES	(sizeof(types) / sizeof(types[0]))

/* Bytes still to be read; bad is set when more are taken than are left. */
struct reader {
	const uint8_t	*p;
	size_t		 left;
	bool		 bad;
};

static const uint8_t *
take_bytes(struct reader *c, size_t n)
{
	const uint8_t	*p = c->p;

	if (c->bad || n > c->left) {
		c->bad = true;
		return NULL;
	}
	c->p += n;
	c->left -= n;
	return p;
}

/* Little-endian, 1 to 8 bytes; 0 if they are missing. */
static uint64_t
read_little_endian(struct reader *c, size_t bytes)
{
	const uint8_t	*p = take_bytes(c, bytes);
	uint64_t	 n = 0;

	for (size_t i = bytes; p != NULL && i > 0; i--)
		n = n << 8 | p[i - 1];
	return n;
}

/* A number whose first byte says how long it is. */
static uint64_t
packed(struct reader *c)
{
	uint64_t	n = read_little_endian(c, 1);

	if (n < 251)
		return n;
	if (n == 251 || n == 255)
		c->bad = true;
	return read_little_endian(c, n == 252 ? 2 : n == 253 ? 3 : 8);
}

static void
forget_labels(struct binlog_watch *w)
{
	w->labels.all = false;
	w->labels.n = 0;
	w->told = false;
	vanish_reset(&w->vanish);
}

static void
add_row_label(struct binlog_labels *l, const uint8_t *text, size_t len)
{
	if (l->all)
		return;
	for (size_t i = 0; i < l->n; i++)
		if (l->list[i].len == len &&
		    memcmp(l->list[i].text, text, len) == 0)
			return;
	if (l->n == BINLOG_LABELS || len > BINLOG_LABEL_BYTES) {
		l->all = true;
		return;
	}
	l->list[l->n].len = (uint8_t)len;
	memcpy(l->list[l->n++].text, text, len);
}

static enum binlog_news
end_transaction(struct binlog_watch *w)
{
	w->open = false;
	w->told = true;
	return w->labels.all || w->labels.n > 0 ? BINLOG_COMMITTED :
	    BINLOG_NOTHING;
}

static enum binlog_news
begin_transaction(struct binlog_watch *w, bool open)
{
	forget_labels(w);
	w->open = open;
	return BINLOG_NOTHING;
}

/* Counts as rows of any label; committed now if no transaction is open. */
static enum binlog_news
unread(struct binlog_watch *w)
{
	w->labels.all = true;
	return w->open ? BINLOG_NOTHING : end_transaction(w);
}

/* The columns of the outbox; ncolumns is 0 if a type is not known. */
static void
read_columns(struct binlog_watch *w, struct reader *c)
{
	uint64_t	 n = packed(c);
	const uint8_t	*type = take_bytes(c, n);
	uint64_t	 meta_bytes = packed(c);
	const uint8_t	*bytes = take_bytes(c, meta_bytes);
	struct reader	 meta = { bytes, meta_bytes, c->bad };

	w->ncolumns = 0;
	if (c->bad || n > BINLOG_COLUMNS)
		return;
	for (unsigned i = 0; i < n; i++) {
		size_t	t = 0;

		while (t < NTYPES && types[t].type != type[i])
			t++;
		if (t == NTYPES)
			return;
		w->columns[i].type = (uint8_t)t;
		w->columns[i].meta = types[t].meta_bytes == 0 ? 0 :
		    (uint16_t)read_little_endian(&meta, types[t].meta_bytes);
	}
	if (!meta.bad && meta.left == 0)
		w->ncolumns = (unsigned)n;
}

static bool
is_name(const uint8_t *name, size_t len, const char *wanted)
{
	return name != NULL && strlen(wanted) == len &&
	    strncasecmp((const char *)name, wanted, len) == 0;
}

static enum binlog_news
table_map(struct binlog_watch *w, struct reader *c)
{
	uint64_t	 id = read_little_endian(c, 6), len;
	const uint8_t	*name;
	bool		 ours;

	take_bytes(c, 2);
	len = read_little_endian(c, 1);
	name = take_bytes(c, len);
	ours = is_name(name, len, w->database);
	take_bytes(c, 1);
	len = read_little_endian(c, 1);
	name = take_bytes(c, len);
	ours = ours && is_name(name, len, w->table);
	take_bytes(c, 1);
	if (ours) {
		w->mapped = true;
		w->table_id = id;
		read_columns(w, c);
	} else if (id == w->table_id)
		w->mapped = false;
	return c->bad ? BINLOG_DAMAGED : BINLOG_NOTHING;
}

/* Nine digits take four bytes, fewer take fewer. */
static size_t
decimal_bytes(uint16_t meta)
{
	static const uint8_t	partial[] = { 0, 1, 1, 2, 2, 3, 3, 4, 4 };
	unsigned		precision = meta & 0xff, scale = meta >> 8;
	unsigned		whole = precision > scale ? precision - scale : 0;

	return whole / 9 * 4 + partial[whole % 9] +
	    scale / 9 * 4 + partial[scale % 9];
}

/* CHAR hides the upper bits of a long length in the byte of its type. */
static size_t
string_bytes(struct reader *c, uint16_t meta)
{
	unsigned	type = meta & 0xff, length = meta >> 8;

	if ((type & 0x30) != 0x30) {
		length |= ((type & 0x30) ^ 0x30) << 4;
		type |= 0x30;
	}
	if (type == 247 || type == 248)		/* ENUM, SET */
		return length;
	return read_little_endian(c, length > 255 ? 2 : 1);
}

/* Take a column's value; *len is without the prefix. */
static const uint8_t *
value(struct reader *c, const struct binlog_column *column, size_t *len)
{
	uint16_t	meta = column->meta;
	size_t		size = types[column->type].size;

	switch (types[column->type].layout) {
	case FIXED:
		break;
	case FRACTION:
		size += (meta + 1u) / 2;
		break;
	case VARIABLE:
		size = read_little_endian(c, meta > 255 ? 2 : 1);
		break;
	case BLOB:
		size = meta >= 1 && meta <= 4 ? read_little_endian(c, meta) :
		    SIZE_MAX;
		break;
	case STRING:
		size = string_bytes(c, meta);
		break;
	case DECIMAL:
		size = decimal_bytes(meta);
		break;
	case BITS:
		size = (meta >> 8) + ((meta & 0xff) > 0);
		break;
	}
	*len = size;
	return take_bytes(c, size);
}

static bool
is_text(const struct binlog_column *column)
{
	enum layout	layout = types[column->type].layout;

	return layout == VARIABLE || (layout == STRING &&
	    ((column->meta & 0xff) | 0x30) == 254);
}

static bool
bit(const uint8_t *bits, unsigned i)
{
	return (bits[i / 8] >> i % 8 & 1) != 0;
}

/* The image of a row: what is read of it. */
struct image {
	const uint8_t	*label;		/* NULL: it is not there */
	size_t		 label_len;
	uint64_t	 key;		/* hash of the primary key */
	uint64_t	 keys;		/* its columns that are there */
};

static void
read_image(struct binlog_watch *w, struct reader *c, const uint8_t *present,
    unsigned npresent, struct image *row)
{
	const uint8_t	*nulls = take_bytes(c, (npresent + 7) / 8), *p;
	size_t		 len;
	unsigned	 nth = 0;

	*row = (struct image){ .key = VANISH_HASH };
	for (unsigned i = 0; !c->bad && i < w->ncolumns; i++) {
		if (!bit(present, i))
			continue;
		len = 0;
		p = bit(nulls, nth++) ? c->p : value(c, &w->columns[i], &len);
		if (i == w->column) {
			row->label = p;
			row->label_len = len;
		}
		if (p != NULL && (w->keys >> i & 1) != 0) {
			row->key = vanish_hash(row->key, p, len);
			row->keys |= UINT64_C(1) << i;
		}
	}
}

static void
read_row_images(struct binlog_watch *w, struct reader *c, bool inserted)
{
	uint64_t	 ncolumns = packed(c);
	const uint8_t	*present = take_bytes(c, (ncolumns + 7) / 8);
	unsigned	 npresent = 0;
	struct image	 row;

	if (c->bad || ncolumns != w->ncolumns || w->column >= w->ncolumns ||
	    !is_text(&w->columns[w->column])) {
		w->labels.all = w->labels.all || inserted;
		return;
	}
	for (unsigned i = 0; i < w->ncolumns; i++)
		npresent += bit(present, i);
	while (c->left > 0 && !c->bad && npresent > 0) {
		/* When all labels count, rows are read for their keys. */
		if (inserted && w->labels.all &&
		    (w->keys == 0 || w->vanish.n >= VANISH_ROWS))
			break;
		read_image(w, c, present, npresent, &row);
		/* Is its primary key known?  It may be there in part. */
		if (!c->bad && w->keys != 0 && row.keys == w->keys) {
			if (inserted)
				vanish_insert(&w->vanish, row.key);
			else
				vanish_delete(&w->vanish, row.key);
		}
		if (!inserted)
			continue;
		/* If an image lacks the label, it may have any. */
		if (c->bad || row.label == NULL)
			w->labels.all = true;
		else
			add_row_label(&w->labels, row.label, row.label_len);
	}
	if (npresent == 0)
		w->labels.all = w->labels.all || inserted;
}

/* Rows that are inserted or deleted. */
static enum binlog_news
change_rows(struct binlog_watch *w, struct reader *c, enum event_type type)
{
	uint64_t	id = read_little_endian(c, 6), extra = 2;
	bool		v2 = type == EV_WRITE || type == EV_WRITE_COMPRESSED ||
			    type == EV_DELETE;

	take_bytes(c, 2);
	if (c->bad)
		return BINLOG_DAMAGED;
	if (!w->mapped || id != w->table_id)
		return BINLOG_NOTHING;
	if (v2 && (extra = read_little_endian(c, 2)) >= 2)
		take_bytes(c, extra - 2);
	if (c->bad || extra < 2)
		return BINLOG_DAMAGED;
	if (type == EV_WRITE || type == EV_WRITE_V1)
		read_row_images(w, c, true);
	else if (type == EV_DELETE || type == EV_DELETE_V1)
		read_row_images(w, c, false);
	else
		w->labels.all = true;
	return BINLOG_NOTHING;
}

static bool
is_word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' ||
	    (unsigned char)c >= 0x80;
}

/* Does the text contain the word, in upper or lower case? */
static bool
mentions(const char *text, size_t len, const char *word)
{
	size_t	n = strlen(word);

	for (size_t i = 0; i + n <= len; i++)
		/* The first comparison is quick, and lets too many pass. */
		if ((text[i] | 0x20) == (word[0] | 0x20) &&
		    strncasecmp(text + i, word, n) == 0 &&
		    (i == 0 || !is_word_char(text[i - 1])) &&
		    (i + n == len || !is_word_char(text[i + n])))
			return true;
	return false;
}

static bool
text_is(const char *text, size_t len, const char *wanted)
{
	return strlen(wanted) == len && strncmp(text, wanted, len) == 0;
}

static bool
starts(const char *text, size_t len, const char *with)
{
	return len >= strlen(with) && strncmp(text, with, strlen(with)) == 0;
}

static enum binlog_news
query_event(struct binlog_watch *w, struct reader *c)
{
	uint64_t	 database_len, status_len;
	const uint8_t	*database;
	const char	*text;
	size_t		 len;

	take_bytes(c, 8);
	database_len = read_little_endian(c, 1);
	take_bytes(c, 2);
	status_len = read_little_endian(c, 2);
	take_bytes(c, status_len);
	database = take_bytes(c, database_len);
	take_bytes(c, 1);
	if (c->bad)
		return BINLOG_DAMAGED;
	text = (const char *)c->p;
	len = c->left;
	if (text_is(text, len, "BEGIN") || starts(text, len, "XA START"))
		return begin_transaction(w, true);
	if (text_is(text, len, "COMMIT"))
		return end_transaction(w);
	if (text_is(text, len, "ROLLBACK"))
		return begin_transaction(w, false);
	/* Its rows were read, and dropped, when it was prepared. */
	if (starts(text, len, "XA COMMIT"))
		return unread(w);
	if (mentions(text, len, w->table) && (is_name(database, database_len,
	    w->database) || mentions(text, len, w->database)))
		return unread(w);
	return BINLOG_NOTHING;
}

static enum binlog_news
mariadb_gtid(struct binlog_watch *w, struct reader *c)
{
	uint64_t	flags;

	take_bytes(c, 12);
	flags = read_little_endian(c, 1);
	if (c->bad)
		return BINLOG_DAMAGED;
	return begin_transaction(w, (flags & FLAG_STANDALONE) == 0);
}

static enum binlog_news
xa_prepare(struct binlog_watch *w, struct reader *c)
{
	uint64_t	one_phase = read_little_endian(c, 1);

	if (c->bad)
		return BINLOG_DAMAGED;
	return one_phase != 0 ? end_transaction(w) :
	    begin_transaction(w, false);
}

static enum binlog_news
body(struct binlog_watch *w, struct reader *c, enum event_type type,
    bool ignorable)
{
	switch (type) {
	case EV_TABLE_MAP:
		return table_map(w, c);
	case EV_WRITE_V1:
	case EV_WRITE:
	case EV_WRITE_COMPRESSED_V1:
	case EV_WRITE_COMPRESSED:
		return change_rows(w, c, type);
	case EV_DELETE_V1:
	case EV_DELETE:
		/* Without rows that were inserted none of them counts. */
		return w->vanish.n > 0 ? change_rows(w, c, type) :
		    BINLOG_NOTHING;
	case EV_QUERY:
		return query_event(w, c);
	case EV_XID:
		return end_transaction(w);
	case EV_XA_PREPARE:
		return xa_prepare(w, c);
	case EV_MARIADB_GTID:
		return mariadb_gtid(w, c);
	case EV_GTID:
	case EV_ANONYMOUS_GTID:
	case EV_TAGGED_GTID:
		return begin_transaction(w, false);
	case EV_STOP:
	case EV_ROTATE:
	case EV_INTVAR:
	case EV_RAND:
	case EV_USER_VAR:
	case EV_UPDATE_V1:
	case EV_HEARTBEAT:
	case EV_IGNORABLE:
	case EV_ROWS_QUERY:
	case EV_UPDATE:
	case EV_PREVIOUS_GTIDS:
	case EV_TRANSACTION_CONTEXT:
	case EV_VIEW_CHANGE:
	case EV_PARTIAL_UPDATE:
	case EV_HEARTBEAT_V2:
	case EV_ANNOTATE_ROWS:
	case EV_BINLOG_CHECKPOINT:
	case EV_GTID_LIST:
	case EV_START_ENCRYPTION:
	case EV_UPDATE_COMPRESSED_V1:
	case EV_DELETE_COMPRESSED_V1:
	case EV_UPDATE_COMPRESSED:
	case EV_DELETE_COMPRESSED:
		return BINLOG_NOTHING;
	case EV_FORMAT:
		return BINLOG_NOTHING;	/* see binlog_event() */
	}
	/* Compressed transactions or statements, and unknown events. */
	return ignorable ? BINLOG_NOTHING : unread(w);
}

void
binlog_watch_init(struct binlog_watch *w, const char *database,
    const char *table, unsigned column)
{
	memset(w, 0, sizeof(*w));
	w->database = database;
	w->table = table;
	w->column = column;
}

enum binlog_news
binlog_event(struct binlog_watch *w, const uint8_t *bytes, size_t len)
{
	struct reader	c = { bytes, len, false };
	uint64_t	type, size, flags;

	take_bytes(&c, 4);		/* timestamp */
	type = read_little_endian(&c, 1);
	take_bytes(&c, 4);		/* the server's id */
	size = read_little_endian(&c, 4);
	take_bytes(&c, 4);		/* position of the next event */
	flags = read_little_endian(&c, 2);
	if (c.bad || size != len)
		return BINLOG_DAMAGED;
	if (w->told)
		forget_labels(w);
	/* Its last bytes tell whether the events after it have a checksum. */
	if (type == EV_FORMAT && c.left < CHECKSUM_BYTES + 1)
		return BINLOG_DAMAGED;
	if (type == EV_FORMAT) {
		w->trailer = c.p[c.left - CHECKSUM_BYTES - 1] == 0 ? 0 :
		    CHECKSUM_BYTES;
		w->mapped = false;
		return BINLOG_NOTHING;
	}
	/* The first event of a stream is artificial, without a checksum. */
	if (type == EV_ROTATE)
		return BINLOG_NOTHING;
	if (c.left < w->trailer)
		return BINLOG_DAMAGED;
	c.left -= w->trailer;
	return body(w, &c, (enum event_type)type,
	    (flags & FLAG_IGNORABLE) != 0);
}
