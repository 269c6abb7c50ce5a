/* check_display.c - widths, numbers and durations for people */
#include "lib/check.h"

#include "util/clock.h"
#include "util/display.h"
#include "util/duration.h"
#include "util/utf8.h"

#define RABBIT	"\xf0\x9f\x90\x87"
#define WOMAN	"\xf0\x9f\x91\xa9"
#define LAPTOP	"\xf0\x9f\x92\xbb"
#define JOINER	"\xe2\x80\x8d"
#define ACUTE	"\xcc\x81"		/* combines with the letter before */
#define NICHI	"\xe6\x97\xa5"
#define HON	"\xe6\x9c\xac"
#define DOTS	"\xe2\x80\xa6"

static const struct {
	const char	*text;
	int		 width;
} widths[] = {
	{ "", 0 }, { "plain", 5 }, { "sch\xc3\xb6n", 5 },
	{ NICHI HON, 4 }, { RABBIT, 2 }, { "e" ACUTE, 1 },
	{ WOMAN JOINER LAPTOP, 4 }, { DOTS, 1 },
	{ "\xff", 1 }, { "a\xe2\x80", 3 },
	{ "\xf0\x9f\xab\xbf", 2 },	/* an emoji that no library knows yet */
	{ "\033[1;31mred\033[0m", 3 },
};

START_TEST(width_is_that_of_a_terminal)
{
	ck_assert_int_eq(display_width(widths[_i].text), widths[_i].width);
}
END_TEST

static const struct {
	const char	*text;
	int		 width;
	const char	*cut;
} cuts[] = {
	{ "", 0, "" }, { "plain", 6, "plain" }, { "plain", 5, "plain" },
	{ "plain", 4, "pla" DOTS }, { "plain", 1, DOTS },
	{ NICHI HON, 4, NICHI HON }, { NICHI HON, 3, NICHI DOTS },
	{ NICHI HON, 2, DOTS },
	{ RABBIT RABBIT RABBIT, 4, RABBIT DOTS },
	{ "e" ACUTE "e" ACUTE, 2, "e" ACUTE "e" ACUTE },
	{ "e" ACUTE "e" ACUTE "e" ACUTE, 2, "e" ACUTE DOTS },
	{ WOMAN JOINER LAPTOP "x", 4, WOMAN DOTS },
	{ "sch\xc3\xb6n", 4, "sch" DOTS },
};

START_TEST(text_is_cut_at_a_character)
{
	struct buf	b = { 0 };

	buf_str(&b, ":");
	display_cut(&b, cuts[_i].text, cuts[_i].width);
	ck_assert_str_eq(b.data + 1, cuts[_i].cut);
	buf_free(&b);
}
END_TEST

START_TEST(cut_text_fits_every_width)
{
	static const char *const	 parts[] = { "a", "e" ACUTE, NICHI,
	    RABBIT, WOMAN JOINER LAPTOP, " " };
	struct buf			 text = { 0 }, b = { 0 };

	for (int i = 0; i < 40; i++)
		buf_str(&text, parts[i * 7 % NROWS(parts)]);
	for (int width = 1; width < 90; width++) {
		buf_clear(&b);
		display_cut(&b, text.data, width);
		ck_assert_int_le(display_width(b.data), width);
		ck_assert_int_ge(display_width(b.data), (int)sooner(width,
		    display_width(text.data)) - 2);
		ck_assert(utf8_is_valid(b.data, b.len));
	}
	buf_free(&b);
	buf_free(&text);
}
END_TEST

static const struct {
	const char	*text, *clean;
} cleans[] = {
	{ "", "" }, { "sch\xc3\xb6n " RABBIT, "sch\xc3\xb6n " RABBIT },
	{ "a\tb\nc", "a?b?c" }, { "\033[2J", "?[2J" }, { "\x7f", "?" },
	{ "\xc2\x9b" "31m", "?31m" },		/* CSI as one character */
	{ "a\xe2\x80\xae" "b", "a?b" },		/* right to left from here */
	{ "\xe2\x81\xa6" "a\xe2\x81\xa9", "?a?" },
	{ "\xc2\x80\xc2\x85\xc2\x9f\xc2\xa0", "???\xc2\xa0" },
	{ "\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c", "???" },
	{ "\xe2\x80\xaa\xe2\x80\xab\xe2\x80\xac\xe2\x80\xad", "????" },
	{ "\xe2\x81\xa7\xe2\x81\xa8\xe2\x80\xa8", "???" },
	{ "a\xff" "b", "a?b" }, { "\xe2\x80", "??" },
	{ "\xef\xbb\xbf" "a", "?a" },		/* a byte order mark */
	{ "\xe2\x81\xaa\xe2\x81\xab\xe2\x81\xaf", "???" },	/* U+206A .. */
	{ "\xef\xbf\xb9" "a\xef\xbf\xba" "b\xef\xbf\xbb", "?a?b?" },
	{ WOMAN JOINER LAPTOP, WOMAN JOINER LAPTOP },
};

START_TEST(nothing_moves_the_cursor)
{
	char	text[64];

	strcpy(text, cleans[_i].text);
	display_clean(text);
	ck_assert_str_eq(text, cleans[_i].clean);
}
END_TEST

START_TEST(some_may_stay)
{
	char	text[] = "a\tb\nc\r\xc2\x9b\x7f";

	display_clean_but(text, "\n\t");
	ck_assert_str_eq(text, "a\tb\nc???");
}
END_TEST

static const struct {
	const char	*word, *quoted;
} words[] = {
	{ "app", "app" }, { "", "''" }, { "it's; x", "'it'\\''s; x'" },
	{ "a\\b", "'a\\b'" }, { "sch\xc3\xb6n", "'sch\xc3\xb6n'" },
	{ "a'\\\n\033[2J", "$'a\\047\\134\\012\\033[2J'" },
	{ "\xc2\x9b", "$'\\302\\233'" }, { "\xff" "7", "$'\\3777'" },
	{ "\xe2\x80\xae", "$'\\342\\200\\256'" },
};

START_TEST(word_is_one_for_a_shell)
{
	struct buf	b = { 0 };

	display_put_word(&b, words[_i].word);
	ck_assert_str_eq(b.data, words[_i].quoted);
	buf_clear(&b);
	display_put_operand(&b, "--all; x");
	ck_assert_str_eq(b.data, "-- '--all; x'");
	buf_free(&b);
}
END_TEST

START_TEST(json_has_escapes)
{
	struct buf	b = { 0 };

	display_escape(&b, "{\"sch\xc3\xb6n\":\"\xc2\x9b" "2J\x7f"
	    "\xe2\x80\xae" RABBIT "\\n\"}");
	ck_assert_str_eq(b.data, "{\"sch\xc3\xb6n\":\"\\u009B2J\\u007F"
	    "\\u202E" RABBIT "\\n\"}");
	buf_clear(&b);
	display_escape(&b, "");
	ck_assert_str_eq(b.data, "");
	buf_free(&b);
}
END_TEST

static const struct {
	const char	*text;
	int		 width;
	size_t		 bytes;
} lines[] = {
	{ "", 4, 0 }, { "ab cd", 9, 5 }, { "ab cd", 5, 5 }, { "ab cd", 4, 2 },
	{ "ab cd", 2, 2 }, { "ab   cd", 4, 2 }, { "abcdef gh", 4, 6 },
	{ "abcdef", 4, 6 }, { NICHI " " HON, 4, 3 }, { "a bc def", 4, 4 },
};

START_TEST(line_ends_at_a_blank)
{
	ck_assert_uint_eq(display_line(lines[_i].text, lines[_i].width),
	    lines[_i].bytes);
}
END_TEST

static const struct {
	int64_t		 number;
	const char	*text;
} numbers[] = {
	{ 0, "0" }, { 999, "999" }, { 1000, "1,000" },
	{ 123456, "123,456" }, { 1234567, "1,234,567" }, { -123, "-123" },
	{ -1234, "-1,234" }, { INT64_MAX, "9,223,372,036,854,775,807" },
	{ INT64_MIN, "-9,223,372,036,854,775,808" },
};

START_TEST(number_has_separators)
{
	char	text[DISPLAY_SIZE];

	ck_assert_str_eq(display_number(text, numbers[_i].number),
	    numbers[_i].text);
}
END_TEST

#define HOUR	INT64_C(3600000)

static const struct {
	int64_t		 ms;
	const char	*text;
} durations[] = {
	{ 0, "0 ms" }, { 999, "999 ms" }, { 1000, "1 s" },
	{ 1050, "1 s" }, { 1500, "1.5 s" }, { 9999, "9.9 s" },
	{ 10900, "10 s" }, { 59999, "59 s" }, { 60000, "1 min" },
	{ 200000, "3 min 20 s" }, { HOUR - 1, "59 min 59 s" },
	{ HOUR, "1 h" }, { 2 * HOUR + 5 * 60000 + 999, "2 h 5 min" },
	{ 24 * HOUR, "1 d" }, { 76 * HOUR, "3 d 4 h" },
};

START_TEST(duration_is_in_words)
{
	ck_assert_str_eq(duration_words(durations[_i].ms).text,
	    durations[_i].text);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("display");
	TCase	*tc = add_case(s, "text");

	tcase_add_loop_test(tc, width_is_that_of_a_terminal, 0,
	    NROWS(widths));
	tcase_add_loop_test(tc, text_is_cut_at_a_character, 0, NROWS(cuts));
	tcase_add_test(tc, cut_text_fits_every_width);
	tcase_add_loop_test(tc, nothing_moves_the_cursor, 0, NROWS(cleans));
	tcase_add_test(tc, some_may_stay);
	tcase_add_loop_test(tc, word_is_one_for_a_shell, 0, NROWS(words));
	tcase_add_test(tc, json_has_escapes);
	tcase_add_loop_test(tc, line_ends_at_a_blank, 0, NROWS(lines));

	tc = add_case(s, "numbers");
	tcase_add_loop_test(tc, number_has_separators, 0, NROWS(numbers));
	tcase_add_loop_test(tc, duration_is_in_words, 0, NROWS(durations));
	return run_suite(s);
}
