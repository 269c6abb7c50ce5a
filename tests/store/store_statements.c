/* store_statements.c - statements are made of templates, see store_sql.h */

#include "store/store_test.h"

#include <stdlib.h>
#include <string.h>

#include "store/store_sql.h"

static char	result[4096];

static const char *
answer(void)
{
	ck_assert_msg(store_query_text(st, "test", result, sizeof(result),
	    &e) == 0, "%s", e.text);
	return result;
}

/* A template becomes this text, which has neither " nor backslash in it. */
#define ck_text(text, template, ...)	do {				\
	store_sql(st, "SELECT \"" template "\"", __VA_ARGS__);		\
	ck_assert_str_eq(answer(), (text));				\
} while (0)

START_TEST(values_become_literals)
{
	const uint64_t		numbers[] = { 1, 20, UINT64_MAX };
	const char *const	texts[] = { "a", NULL, "" };
	const struct range	ranges[] = { { "p00", 1, 0 },
				    { "", UINT64_MAX, 7 } };
	const struct bytes	key = { "abc", 2 };

	ck_text("'x' NULL 'x'", ":t :none :t", SQL_TEXT("t", "x"),
	    SQL_TEXT("none", NULL));
	ck_text("'ab' NULL '' x'FF00'", ":two :none :empty:binary",
	    SQL_BYTES("two", "abc", 2), SQL_BYTES("none", NULL, 5),
	    SQL_BYTES("empty", "", 0), SQL_BYTES("binary", "\xff\0", 2));
	ck_text("0 18446744073709551615 -5000 1000",
	    ":zero :most :before :after", SQL_NUMBER("zero", 0),
	    SQL_NUMBER("most", UINT64_MAX), SQL_MS("before", -5),
	    SQL_MS("after", 1));
	ck_text("(1,20,18446744073709551615) () (20)", "(:all) (:none) (:one)",
	    SQL_LIST("all", numbers, 3), SQL_LIST("none", NULL, 0),
	    SQL_LIST("one", numbers + 1, 1));
	ck_text("(1,20,1) ELT(x,1)", "(:two:one) ELT(x:one)",
	    SQL_LIST("two", numbers, 2), SQL_LIST("one", numbers, 1));
	ck_text("('a',NULL,'') ()", "(:labels) (:none)",
	    SQL_LABELS("labels", texts, 3), SQL_LABELS("none", NULL, 0));
	ck_text("('p00','') (1,18446744073709551615)", "(:labels) (:epochs)",
	    SQL_LABELS_OF("labels", ranges, 2, label),
	    SQL_LIST_OF("epochs", ranges, 2, epoch));
	ck_text("(('p00',1),('',18446744073709551615)) ()", "(:both) (:none)",
	    SQL_EPOCHS("both", ranges, 2), SQL_EPOCHS("none", NULL, 0));
	ck_text("`a``b` {x} :y", ":name :raw", SQL_NAME("name", "a`b"),
	    SQL_RAW("raw", "{x} :y"));
	ck_text("'ab' NULL", ":key :error",
	    SQL_FIT("key", FIT_BLOCKED_KEY, key),
	    SQL_ERROR("error", FIT_ERROR, NULL));
}
END_TEST

static void
put_box(struct store *s, struct sql text, bool another)
{
	store_put(s, "[:text:box]", SQL_PART("text", text),
	    SQL_PUT_IF("box", another, s, put_box(s, SQL("in"), false)));
}

START_TEST(parts_stand_in_their_place)
{
	ck_text("a2B", "a:yes:no" "B", SQL_IF("yes", true, ":n"),
	    SQL_IF("no", false, ":missing"), SQL_NUMBER("n", 2));
	ck_text("IS NULL = 'x'", ":one :other",
	    SQL_EITHER("one", true, "IS NULL", "= :label"),
	    SQL_EITHER("other", false, "IS NULL", "= :label"),
	    SQL_TEXT("label", "x"));
	/* A longer name is another one; what is no name stays. */
	ck_text("1 2 '12:00' a{16} {1,9} : :A", ":n :nn '12:00' a{16} {1,9} : "
	    ":A", SQL_NUMBER("n", 1), SQL_NUMBER("nn", 2));
	/* Each part is made apart, and its names are its own. */
	ck_text("<[1[in]] 3 [2]>", "<:a :text :b>",
	    SQL_PUT("a", st, put_box(st, SQL("1"), true)),
	    SQL_PUT("b", st, put_box(st, SQL("2"), false)),
	    SQL_NUMBER("text", 3));
	ck_text("`outbox` attempts o.attempts", "{outbox} {attempts} "
	    "{o.attempts}", SQL_NUMBER("unused", 1));
	/* More may follow. */
	store_sql(st, "SELECT CONCAT(:a", SQL_TEXT("a", "x"));
	store_put(st, ", :b)", SQL_TEXT("b", "y"));
	ck_assert_str_eq(answer(), "xy");
}
END_TEST

static void
ck_kept(const char *bytes, size_t len)
{
	struct buf	want = { 0 };

	for (size_t i = 0; i < len; i++)
		buf_printf(&want, "%02X", (unsigned char)bytes[i]);
	store_sql(st, "SELECT HEX(:value)", SQL_BYTES("value", bytes, len));
	ck_assert_str_eq(answer(), want.len == 0 ? "" : want.data);
	buf_free(&want);
}

/* No byte ends a literal before its end, whatever a backslash means. */
START_TEST(any_bytes_are_quoted)
{
	static const char	odd[] = "'\\\"\0\n\r\x1a%_`:{}a\xc3\xa4\xff";
	char			bytes[40];

	srandom(34);
	for (int mode = 0; mode < 2; mode++) {
		store_sql(st, "SET SESSION sql_mode = CONCAT(@@sql_mode, :m)",
		    SQL_TEXT("m", mode == 0 ? "" : ",NO_BACKSLASH_ESCAPES"));
		ck_ok(store_exec(st, "mode", NULL, &e));
		ck_kept("' OR 1 = 1 -- ", 14);
		ck_kept("\\' OR 1 = 1 -- ", 15);
		for (int i = 0; i < 300; i++) {
			size_t	n = (size_t)random() % sizeof(bytes);

			for (size_t k = 0; k < n; k++)
				bytes[k] = odd[(size_t)random() %
				    (sizeof(odd) - 1)];
			ck_kept(bytes, n);
		}
	}
}
END_TEST

START_TEST(patterns_are_for_like)
{
	store_sql(st, "SELECT CONCAT_WS(',', 'a_b.c' LIKE :p, 'axb.c' LIKE :p, "
	    "'a_b' LIKE :p, '100%' LIKE :q)", SQL_PATTERN("p", "a_b.*"),
	    SQL_PATTERN("q", "1*%"));
	ck_assert_str_eq(answer(), "1,0,0,1");
}
END_TEST

void
add_statements(Suite *s, const struct kind *k)
{
	TCase	*tc = add_case(s, "statements", k, k->start, begin_store,
		    end_store);

	tcase_add_test(tc, values_become_literals);
	tcase_add_test(tc, parts_stand_in_their_place);
	tcase_add_test(tc, any_bytes_are_quoted);
	tcase_add_test(tc, patterns_are_for_like);
}
