/*
 * check_binlog.c - which commits touched the outbox, from bytes alone
 *
 * The bytes are those that real servers sent; each is then cut at every
 * place, and changed at every place, so that a sanitizer sees what is read.
 */
#include "lib/check.h"

#include "mysql/binlog_event.h"
#include "unit/binlog_events.h"
#include "util/buf.h"
#include "mysql/gtid.h"
#include "util/xalloc.h"

#define HEADER	19
#define COLUMN	6	/* partition_key in sql/schema.sql, from 0 */

/*
 * What is to be told, a word for each commit: its labels, "*" for any, "*"
 * where that is because something could not be read.
 */
static const struct {
	const char	*name, *head, *events, *table;
	unsigned	 column;
	const char	*told;
} captures[] = {
#define BOTH(name, told) \
	{ "MariaDB " #name, mariadb_head, mariadb_##name, "outbox", COLUMN, \
	  told }, \
	{ "MySQL " #name, mysql_head, mysql_##name, "outbox", COLUMN, told }
	BOTH(insert, "p07 "),
	BOTH(many, "p01,,p02 "),
	BOTH(own, ""),
	BOTH(foreign, ""),
	BOTH(ddl, "* "),		/* TRUNCATE TABLE outbox */
	BOTH(statement, "* "),
	BOTH(rollback, ""),
	BOTH(xa, "* p09 "),	/* in two phases, then in one */
	BOTH(minimal, "p05 * "),
	/* Statements about other tables end nothing that is ours. */
	{ "compressed", mariadb_head, mariadb_compressed, "outbox", COLUMN,
	  "* * " },
	{ "payload", mysql_head, mysql_payload, "outbox", COLUMN, "* " },
	/* Every type of column stands in front of the label here. */
	{ "MariaDB types", mariadb_head, mariadb_types, "types", 23,
	  "p11,p12 " },
	{ "MySQL types", mysql_head, mysql_types, "types", 23, "p11,p12 " },
	{ "any case", mariadb_head, mariadb_insert, "OUTBOX", COLUMN, "p07 " },
	{ "no column", mariadb_head, mariadb_insert, "outbox",
	  BINLOG_NO_COLUMN, "* " },
	{ "a column that is no text", mariadb_head, mariadb_insert, "outbox",
	  0, "* " },
	{ "a part of a name", mariadb_head, mariadb_insert, "outbo", COLUMN,
	  "" },
};

static struct binlog_watch	watch;

static size_t
unhex(const char *hex, uint8_t *bytes)
{
	unsigned	byte;
	size_t		n = 0;

	for (; hex[2 * n] != '\0'; n++) {
		ck_assert_int_eq(sscanf(hex + 2 * n, "%2x", &byte), 1);
		bytes[n] = (uint8_t)byte;
	}
	return n;
}

static size_t
length(const uint8_t *event)
{
	return event[9] | (size_t)event[10] << 8 | (size_t)event[11] << 16;
}

static void
note(char *told, size_t size)
{
	const struct binlog_labels	*l = &watch.labels;

	for (size_t i = 0; !l->all && i < l->n; i++)
		snprintf(told + strlen(told), size - strlen(told), "%s%.*s",
		    i > 0 ? "," : "", l->list[i].len, l->list[i].text);
	strncat(told, l->all ? "* " : " ",
	    size - strlen(told) - 1);
}

/* In memory of its own, so that a byte too many is found. */
static enum binlog_news
feed(const uint8_t *bytes, size_t len)
{
	uint8_t			*copy = xcalloc(1, len + (len == 0));
	enum binlog_news	 news;

	memcpy(copy, bytes, len);
	news = binlog_event(&watch, copy, len);
	free(copy);
	return news;
}

static void
play(const char *hex, char *told, size_t size)
{
	uint8_t	*bytes = xcalloc(1, strlen(hex) / 2 + 1);
	size_t	 n = unhex(hex, bytes);

	for (size_t at = 0; at < n; at += length(bytes + at)) {
		enum binlog_news news = feed(bytes + at, length(bytes + at));

		ck_assert_int_ne(news, BINLOG_DAMAGED);
		if (news == BINLOG_COMMITTED)
			note(told, size);
	}
	free(bytes);
}

START_TEST(captured_events_are_understood)
{
	char	told[1000] = "";

	binlog_watch_init(&watch, "app", captures[_i].table,
	    captures[_i].column);
	play(captures[_i].head, told, sizeof(told));
	ck_assert_str_eq(told, "");
	play(captures[_i].events, told, sizeof(told));
	ck_assert_msg(strcmp(told, captures[_i].told) == 0,
	    "%s: \"%s\" was told", captures[_i].name, told);
}
END_TEST

START_TEST(other_databases_do_not_count)
{
	char	told[1000] = "";

	binlog_watch_init(&watch, "ap", "outbox", COLUMN);
	play(captures[_i].head, told, sizeof(told));
	play(captures[_i].events, told, sizeof(told));
	/* What cannot be read counts whatever it is about. */
	ck_assert_str_eq(told, strstr(captures[_i].name, "xa") ? "* " : "");
}
END_TEST

START_TEST(every_part_of_an_event_is_refused)
{
	const char	*hex[] = { captures[_i].head, captures[_i].events };
	uint8_t		*bytes;
	size_t		 n, len;

	binlog_watch_init(&watch, "app", captures[_i].table,
	    captures[_i].column);
	for (size_t h = 0; h < 2; h++) {
		bytes = xcalloc(1, strlen(hex[h]) / 2 + 1);
		n = unhex(hex[h], bytes);
		for (size_t at = 0; at < n; at += len) {
			len = length(bytes + at);
			for (size_t part = 0; part < len; part++)
				ck_assert_int_eq(feed(bytes + at, part),
				    BINLOG_DAMAGED);
			feed(bytes + at, len);
		}
		free(bytes);
	}
}
END_TEST

static void
set_length(uint8_t *event, size_t len)
{
	for (size_t i = 0; i < 4; i++)
		event[9 + i] = (uint8_t)(len >> 8 * i);
}

/* Cut, and yet with the length that its header tells. */
START_TEST(short_events_are_not_read_past_their_end)
{
	uint8_t	*bytes = xcalloc(1, strlen(captures[_i].events) / 2 + 1);
	size_t	 n = unhex(captures[_i].events, bytes), len;
	char	 told[1000] = "";

	binlog_watch_init(&watch, "app", captures[_i].table,
	    captures[_i].column);
	play(captures[_i].head, told, sizeof(told));
	for (size_t at = 0; at < n; at += len) {
		len = length(bytes + at);
		for (size_t part = HEADER; part < len; part++) {
			set_length(bytes + at, part);
			feed(bytes + at, part);
		}
		set_length(bytes + at, len);
		feed(bytes + at, len);
	}
	free(bytes);
}
END_TEST

static const uint8_t	changes[] = { 0x00, 0x01, 0x7f, 0x80, 0xfb, 0xfc, 0xfd,
			    0xfe, 0xff };

/* Each byte takes many values, with the table map as it was and changed. */
START_TEST(changed_events_are_not_read_past_their_end)
{
	uint8_t	*bytes = xcalloc(1, strlen(captures[_i].events) / 2 + 1);
	size_t	 n = unhex(captures[_i].events, bytes), len;
	char	 told[1000] = "";

	binlog_watch_init(&watch, "app", captures[_i].table,
	    captures[_i].column);
	play(captures[_i].head, told, sizeof(told));
	for (size_t i = 0; i < n; i++) {
		uint8_t	was = bytes[i];

		for (int c = 0; c < NROWS(changes); c++) {
			bytes[i] = changes[c];
			for (size_t at = 0; n - at >= HEADER; at += len) {
				len = length(bytes + at);
				if (len < HEADER || len > n - at)
					break;
				feed(bytes + at, len);
			}
		}
		bytes[i] = was;
	}
	free(bytes);
}
END_TEST

/*
 * Sets of transactions
 */

#define UUID	"00112233-4455-6677-8899-aAbBcCdDeEfF"
#define U	"00112233445566778899aabbccddeeff"
#define N(n)	n "00000000000000"

static const struct {
	const char	*text, *bytes;		/* NULL: refused */
} sets[] = {
	{ "", N("00") },
	{ UUID ":1", N("01") U N("01") N("01") N("02") },
	{ UUID ":1-5:7", N("01") U N("02") N("01") N("06") N("07") N("08") },
	{ UUID ":1-255,\n" UUID ":3\n", N("02") U N("01") N("01")
	  "0001000000000000" U N("01") N("03") N("04") },
	{ UUID, NULL },
	{ UUID ":", NULL },
	{ UUID ":0", NULL },
	{ UUID ":-1", NULL },
	{ UUID ":1-", NULL },
	{ UUID ":1;", NULL },
	{ UUID ":tag:1-5", NULL },
	{ UUID ":1-5:tag:1", NULL },
	{ UUID ":9223372036854775807", NULL },
	{ UUID ":99999999999999999999", NULL },
	{ "00112233-4455", NULL },
	{ "x", NULL },
};

START_TEST(sets_are_encoded)
{
	struct buf	b = { 0 };
	uint8_t		bytes[200];
	size_t		n;

	if (sets[_i].bytes == NULL) {
		ck_assert_int_eq(gtid_encode(sets[_i].text, &b), -1);
	} else {
		n = unhex(sets[_i].bytes, bytes);
		ck_assert_int_eq(gtid_encode(sets[_i].text, &b), 0);
		ck_assert_uint_eq(b.len, n);
		ck_assert_mem_eq(b.data, bytes, n);
	}
	buf_free(&b);
}
END_TEST

/* An event that a test makes up: a header, a body, no checksum. */
static enum binlog_news
make(uint8_t type, uint16_t flags, const void *body, size_t len)
{
	uint8_t	event[512] = { 0 };

	event[4] = type;
	event[17] = (uint8_t)flags;
	set_length(event, HEADER + len);
	memcpy(event + HEADER, body, len);
	return feed(event, HEADER + len);
}

static enum binlog_news
say_sql(const char *database, const char *text)
{
	char	body[400] = { 0 };
	size_t	dlen = strlen(database), tlen = strlen(text);

	body[8] = (char)dlen;
	memcpy(body + 13, database, dlen);
	memcpy(body + 13 + dlen + 1, text, tlen);
	return make(2, 0, body, 13 + dlen + 1 + tlen);
}

static const struct {
	const char	*database, *text;
	bool		 ours;
} statements[] = {
	{ "app", "INSERT INTO outbox (global_sequence) VALUES (1)", true },
	{ "app", "insert into `OUTBOX` values (1)", true },
	{ "app", "insert into outbox", true },
	{ "APP", "insert into outbox", true },
	{ "other", "insert into app.outbox values (1)", true },
	{ "other", "insert into outbox values (1)", false },
	{ "", "insert into outbox values (1)", false },
	{ "app", "insert into outbox_partitions values (1)", false },
	{ "app", "insert into my_outbox values (1)", false },
	{ "app", "insert into outbox2 values (1)", false },
	{ "app", "insert into orders values (1)", false },
	{ "app", "", false },
};

START_TEST(statements_are_searched_for_the_table)
{
	enum binlog_news	alone = statements[_i].ours ?
				    BINLOG_COMMITTED : BINLOG_NOTHING;

	binlog_watch_init(&watch, "app", "outbox", COLUMN);
	ck_assert_int_eq(say_sql(statements[_i].database,
	    statements[_i].text), alone);
	ck_assert_int_eq(say_sql("", "BEGIN"), BINLOG_NOTHING);
	ck_assert_int_eq(say_sql(statements[_i].database,
	    statements[_i].text), BINLOG_NOTHING);
	ck_assert_int_eq(say_sql("", "COMMIT"), alone);
	ck_assert_int_eq(say_sql("", "COMMIT"), BINLOG_NOTHING);
}
END_TEST

START_TEST(what_is_rolled_back_is_forgotten)
{
	binlog_watch_init(&watch, "app", "outbox", COLUMN);
	say_sql("", "BEGIN");
	say_sql("app", "insert into outbox");
	ck_assert_int_eq(say_sql("", "ROLLBACK"), BINLOG_NOTHING);
	ck_assert_int_eq(say_sql("", "COMMIT"), BINLOG_NOTHING);
}
END_TEST

START_TEST(unknown_events_count_unless_marked)
{
	binlog_watch_init(&watch, "app", "outbox", COLUMN);
	ck_assert_int_eq(make(99, 0, "", 0), BINLOG_COMMITTED);
	ck_assert(watch.labels.all);
	ck_assert_int_eq(make(99, 0x80, "", 0), BINLOG_NOTHING);
	ck_assert_int_eq(make(200, 0x80, "", 0), BINLOG_NOTHING);
}
END_TEST

/* A table of a number and a VARCHAR(300), and rows that a test makes up. */
static void
map_table(void)
{
	static const char	map[] = "\7\0\0\0\0\0\0\0" "\3app\0" "\6outbox\0"
				    "\2" "\3\xf" "\2\x2c\1" "\0";

	binlog_watch_init(&watch, "app", "outbox", 1);
	ck_assert_int_eq(make(19, 0, map, sizeof(map) - 1), BINLOG_NOTHING);
}

static size_t
add_row(char *body, size_t at, const char *label)
{
	size_t	len = strlen(label);

	memcpy(body + at, "\0\1\2\3\4", 5);
	body[at + 5] = (char)len;
	body[at + 6] = 0;
	memcpy(body + at + 7, label, len);
	return at + 7 + len;
}

static void
insert_labels(unsigned from, unsigned n)
{
	char	body[400] = "\7\0\0\0\0\0\0\0" "\2" "\3", label[12];
	size_t	at = 10;

	for (unsigned i = from; i < from + n; i++) {
		snprintf(label, sizeof(label), "p%02u", i);
		at = add_row(body, at, label);
	}
	ck_assert_int_eq(make(23, 0, body, at), BINLOG_NOTHING);
}

START_TEST(many_labels_are_all)
{
	map_table();
	insert_labels(0, 20);
	insert_labels(10, BINLOG_LABELS - 10);
	ck_assert_int_eq(make(16, 0, "12345678", 8), BINLOG_COMMITTED);
	ck_assert_uint_eq(watch.labels.n, BINLOG_LABELS);
	ck_assert(!watch.labels.all);

	insert_labels(0, 20);
	insert_labels(20, BINLOG_LABELS - 20 + 1);
	insert_labels(0, 1);
	ck_assert_int_eq(make(16, 0, "12345678", 8), BINLOG_COMMITTED);
	ck_assert(watch.labels.all);
}
END_TEST

START_TEST(long_label_is_any)
{
	char	body[400] = "\7\0\0\0\0\0\0\0" "\2" "\3" "\0\1\2\3\4"
		    "\1\1";

	map_table();
	memset(body + 17, 'x', 257);
	ck_assert_int_eq(make(23, 0, body, 17 + 257), BINLOG_NOTHING);
	ck_assert_int_eq(make(16, 0, "12345678", 8), BINLOG_COMMITTED);
	ck_assert(watch.labels.all);
}
END_TEST

/* Events of rows; each row is a number of four bytes and the label "a". */
static void
change(uint8_t type, const char *numbers)
{
	char	body[400] = "\7\0\0\0\0\0\0\0" "\2" "\3";
	size_t	at = 10;

	for (; *numbers != '\0'; numbers++) {
		memcpy(body + at, "\0" "\0\0\0\0" "\1\0a", 8);
		body[at + 1] = *numbers;
		at += 8;
	}
	ck_assert_int_eq(make(type, 0, body, at), BINLOG_NOTHING);
}

/* Events of one transaction: + inserts and - deletes rows. */
static const struct {
	const char	*events;
	size_t		 gone;
} vanishing[] = {
	{ "+1 -1", 1 },
	{ "+123 -123", 3 },
	{ "+1 -1 +2 -2", 2 },
	{ "+12 -2", 1 },
	{ "+1 -2", 0 },		/* the other one was there before */
	{ "-1 +1", 0 },		/* REPLACE */
	{ "+1 -1 +1", 0 },
	{ "+1 -1 +1 -1", 1 },
	{ "+1", 0 },
	{ "-1", 0 },
};

START_TEST(rows_that_come_and_go_are_counted)
{
	char	 text[40], *word, *save = NULL;
	bool	 minimal = _i % 2 != 0;

	map_table();
	watch.keys = 1;
	snprintf(text, sizeof(text), "%s", vanishing[_i / 2].events);
	for (word = strtok_r(text, " ", &save); word != NULL;
	    word = strtok_r(NULL, " ", &save))
		if (word[0] == '+' || !minimal)
			change(word[0] == '+' ? 23 : 25, word + 1);
		else
			for (const char *p = word + 1; *p != '\0'; p++) {
				char	body[] = "\7\0\0\0\0\0\0\0" "\2" "\1"
					    "\0" "\0\0\0\0";

				body[11] = *p;
				make(25, 0, body, sizeof(body) - 1);
			}
	make(16, 0, "12345678", 8);
	ck_assert_uint_eq(watch.vanish.gone, vanishing[_i / 2].gone);

	/* The next transaction begins with none. */
	change(25, "1");
	make(16, 0, "12345678", 8);
	ck_assert_uint_eq(watch.vanish.gone, 0);
}
END_TEST

/* Of more rows than are kept the first ones count. */
START_TEST(many_rows_that_come_and_go)
{
	map_table();
	watch.keys = 1;
	for (int i = 0; i < 60; i++)
		insert_labels(i % 3 * 20, 20);
	ck_assert_uint_eq(watch.vanish.n, VANISH_ROWS);
	ck_assert(watch.labels.all);
	make(16, 0, "12345678", 8);
	ck_assert_uint_eq(watch.vanish.gone, 0);
}
END_TEST

/* Numbers of tables are given anew after a restart and a FLUSH. */
START_TEST(table_number_may_go_to_another)
{
	static const char	other[] = "\7\0\0\0\0\0\0\0" "\3app\0" "\5other\0"
				    "\1" "\3" "\0" "\0";

	map_table();
	ck_assert_int_eq(make(19, 0, other, sizeof(other) - 1), BINLOG_NOTHING);
	insert_labels(0, 1);
	ck_assert_int_eq(make(16, 0, "12345678", 8), BINLOG_NOTHING);
}
END_TEST

START_TEST(rows_that_do_not_fit_may_be_any)
{
	/* Of three columns; with none of them; and one that is cut. */
	static const struct {
		const char	*body;
		size_t		 len;
	} rows[] = {
		{ "\7\0\0\0\0\0\0\0" "\3" "\7" "\0\1\2\3\4\1\0x", 18 },
		{ "\7\0\0\0\0\0\0\0" "\2" "\0" "\0\0\0\0", 14 },
		{ "\7\0\0\0\0\0\0\0" "\2" "\3" "\0\1\2\3\4\3\0x", 18 },
	};

	for (int i = 0; i < NROWS(rows); i++) {
		map_table();
		ck_assert_int_eq(make(23, 0, rows[i].body, rows[i].len),
		    BINLOG_NOTHING);
		ck_assert_int_eq(make(16, 0, "12345678", 8), BINLOG_COMMITTED);
		ck_assert(watch.labels.all);
	}
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("binlog");
	TCase	*tc = tcase_create("captured");

	suite_add_tcase(s, tc);
	tcase_add_loop_test(tc, captured_events_are_understood, 0,
	    NROWS(captures));
	tcase_add_loop_test(tc, other_databases_do_not_count, 0, 18);
	tcase_add_loop_test(tc, every_part_of_an_event_is_refused, 0,
	    NROWS(captures));
	tcase_add_loop_test(tc, short_events_are_not_read_past_their_end, 0,
	    NROWS(captures));
	tcase_add_loop_test(tc, changed_events_are_not_read_past_their_end, 0,
	    NROWS(captures));

	tc = tcase_create("made up");
	suite_add_tcase(s, tc);
	tcase_add_loop_test(tc, statements_are_searched_for_the_table, 0,
	    NROWS(statements));
	tcase_add_loop_test(tc, sets_are_encoded, 0, NROWS(sets));
	tcase_add_test(tc, what_is_rolled_back_is_forgotten);
	tcase_add_test(tc, unknown_events_count_unless_marked);
	tcase_add_test(tc, many_labels_are_all);
	tcase_add_test(tc, long_label_is_any);
	tcase_add_loop_test(tc, rows_that_come_and_go_are_counted, 0,
	    2 * NROWS(vanishing));
	tcase_add_test(tc, many_rows_that_come_and_go);
	tcase_add_test(tc, table_number_may_go_to_another);
	tcase_add_test(tc, rows_that_do_not_fit_may_be_any);

	return run_suite(s);
}
