/* check_top.c - outboxctl top without a terminal: cells, places, rows, keys */
#include "lib/check.h"

#include "ctl/top/canvas.h"
#include "ctl/top/grid.h"
#include "ctl/top/layout.h"
#include "ctl/top/terminal.h"
#include "ctl/top/ui.h"

/* The caller frees. */
static char *
text_of(const struct canvas *c, int row)
{
	struct buf	b = { 0 };

	buf_str(&b, "");
	for (int col = 0; col < c->cols; col++)
		buf_str(&b, c->cells[row * c->cols + col].text);
	while (b.len > 0 && b.data[b.len - 1] == ' ')
		buf_chop(&b, 1);
	return b.data;
}

/* Canvas */

static const struct {
	const char	*text;
	int		 width;
	const char	*shown;
	int		 columns;
} puts_[] = {
	{ "plain", 10, "plain", 5 },
	{ "too long for it", 8, "too lon…", 8 },
	{ "\033[2Jclear", 20, "?[2Jclear", 9 },
	{ "a\tb\nc\rd\177e", 20, "a?b?c?d?e", 9 },
	{ "\xe2\x80\xaeright to left", 20, "?right to left", 14 },
	{ "\xe4\xbd\xa0\xe5\xa5\xbd", 10, "\xe4\xbd\xa0\xe5\xa5\xbd", 4 },
	{ "e\xcc\x81t\xc3\xa9", 10, "e\xcc\x81t\xc3\xa9", 3 },
	{ "\xff\xfe", 10, "??", 2 },
	{ "", 10, "", 0 },
	{ "x", 0, "", 0 },
};

START_TEST(text_is_put_into_cells)
{
	struct canvas	 c = { 0 };
	char		*row;

	canvas_reset(&c, 1, 30);
	ck_assert_int_eq(canvas_put(&c, 0, 0, puts_[_i].width, STYLE_PLAIN,
	    puts_[_i].text), puts_[_i].columns);
	row = text_of(&c, 0);
	ck_assert_str_eq(row, puts_[_i].shown);
	free(row);
	canvas_free(&c);
}
END_TEST

/* Nothing is written outside; a sanitizer sees if it is. */
START_TEST(what_is_outside_is_left_out)
{
	struct canvas	 c = { 0 }, big = { 0 };
	char		*row;

	canvas_reset(&c, 2, 4);
	canvas_put(&c, -1, 0, 4, STYLE_PLAIN, "no");
	canvas_put(&c, 2, 0, 4, STYLE_PLAIN, "no");
	canvas_put(&c, 0, -2, 4, STYLE_PLAIN, "abcd");
	canvas_put(&c, 1, 3, 9, STYLE_PLAIN, "\xe4\xbd\xa0");
	canvas_style(&c, 1, -3, 99, STYLE_BOLD);
	canvas_reset(&big, 9, 9);
	canvas_put(&big, 8, 0, 9, STYLE_PLAIN, "123456789");
	canvas_copy(&c, 1, 1, &big, 8, 5);
	row = text_of(&c, 1);
	ck_assert_str_eq(row, " 123");
	free(row);
	row = text_of(&c, 0);
	ck_assert_str_eq(row, "cd");
	free(row);
	canvas_free(&c);
	canvas_free(&big);
}
END_TEST

START_TEST(text_is_broken_at_blanks)
{
	struct canvas	 c = { 0 };
	char		*row;

	canvas_reset(&c, 0, 12);
	canvas_add_text(&c, 2, STYLE_PLAIN, "one two three four");
	ck_assert_int_eq(c.rows, 2);
	row = text_of(&c, 1);
	ck_assert_str_eq(row, "  three four");
	free(row);
	canvas_free(&c);
}
END_TEST

START_TEST(cells_have_an_ascii_form)
{
	ck_assert_int_eq(canvas_ascii("a"), 'a');
	ck_assert_int_eq(canvas_ascii("─"), '-');
	ck_assert_int_eq(canvas_ascii("█"), '#');
	ck_assert_int_eq(canvas_ascii("\xe4\xbd\xa0"), '?');
	ck_assert_int_eq(canvas_ascii(""), ' ');
}
END_TEST

/* Layout */

static const struct {
	int	cols, columns;
} widths[] = {
	{ 40, 1 }, { 80, 1 }, { 99, 1 }, { 100, 2 }, { 139, 2 }, { 140, 3 },
	{ 400, 3 },
};

START_TEST(columns_follow_from_the_width)
{
	ck_assert_int_eq(layout_columns(widths[_i].cols), widths[_i].columns);
}
END_TEST

static bool
overlap(const struct place *a, const struct place *b)
{
	return a->rows > 0 && b->rows > 0 && a->row < b->row + b->rows &&
	    b->row < a->row + a->rows && a->col < b->col + b->cols &&
	    b->col < a->col + a->cols;
}

/* For all sizes and many contents: inside, and none over another. */
static void
check_places(int rows, int cols, const int content[PANELS])
{
	struct layout	l;

	layout_widths(&l, cols);
	layout_place(&l, rows, content);
	for (int a = 0; a < PANELS; a++) {
		const struct place *p = &l.places[a];

		ck_assert_int_ge(p->col, 0);
		ck_assert_int_le(p->col + p->cols, cols);
		ck_assert_int_ge(p->row, 0);
		ck_assert_msg(p->rows == 0 || p->row + p->rows <= l.height,
		    "%dx%d panel %d: row %d and %d of %d", cols, rows, a,
		    p->row, p->rows, l.height);
		ck_assert(l.columns == 1 || l.height <= rows);
		for (int b = 0; b < a; b++)
			ck_assert_msg(!overlap(p, &l.places[b]),
			    "%dx%d: panels %d and %d", cols, rows, a, b);
	}
}

START_TEST(panels_do_not_overlap)
{
	static const int	contents[][PANELS] = {
		{ 9, 8, 17, 7, 0, 0 }, { 9, 8, 257, 65, 30, 40 },
		{ 1, 1, 1, 1, 1, 1 }, { 9, 12, 1, 3, 2, 3 },
	};

	for (int cols = 40; cols <= 200; cols += 7)
		for (int rows = 8; rows <= 70; rows++)
			check_places(rows, cols, contents[_i]);
}
END_TEST

START_TEST(problems_are_first_if_there_are_any)
{
	struct layout	l;
	int		n[PANELS] = { 9, 8, 17, 7, 0, 2 };

	for (int cols = 80; cols <= 160; cols += 40) {
		n[PANEL_PROBLEMS] = 2;
		layout_widths(&l, cols);
		layout_place(&l, 40, n);
		ck_assert_int_eq(l.places[PANEL_PROBLEMS].row, 0);
		ck_assert_int_eq(l.places[PANEL_PROBLEMS].rows, 3);
		ck_assert_int_eq(l.places[PANEL_SUMMARY].row, 3);
		n[PANEL_PROBLEMS] = 0;
		layout_place(&l, 40, n);
		ck_assert_int_eq(l.places[PANEL_PROBLEMS].rows, 0);
		ck_assert_int_eq(l.places[PANEL_SUMMARY].row, 0);
	}
}
END_TEST

/* Rows */

static const struct grid_column	columns[] = {
	{ "name", "name", GRID_TEXT, 0, GRID_FLEXIBLE },
	{ "n", "n", GRID_COUNT, 1, 0 },
	{ "ms", "for", GRID_SPAN, 2, 0 },
	{ .name = NULL }
};

static json_t *
three_rows(void)
{
	return json_pack("[{s:s, s:i, s:i}, {s:s, s:i, s:n}, {s:s, s:n, s:i}]",
	    "name", "Beta", "n", 9, "ms", 125000, "name", "alpha", "n", 1234,
	    "ms", "name", "gamma", "n", "ms", 50);
}

static const struct {
	struct grid_order	 order;
	const char		*names;
} orders[] = {
	{ { -1, false, "" }, "Beta alpha gamma " },
	{ { 0, false, "" }, "Beta alpha gamma " },
	{ { 0, true, "" }, "gamma alpha Beta " },
	{ { 1, false, "" }, "Beta alpha gamma " },
	{ { 1, true, "" }, "alpha Beta gamma " },
	{ { 2, true, "" }, "Beta gamma alpha " },
	{ { 2, false, "" }, "gamma Beta alpha " },
	{ { -1, false, "ALPHA" }, "alpha " },
	{ { -1, false, "1,234" }, "alpha " },
	{ { -1, false, "2m05s" }, "Beta " },
	{ { 1, false, "a" }, "Beta alpha gamma " },
	{ { 1, false, "none" }, "" },
};

START_TEST(rows_are_sorted_and_filtered)
{
	json_t		*rows = three_rows(), *list, *row;
	struct buf	 b = { 0 };
	size_t		 i;

	buf_str(&b, "");
	list = grid_select(rows, columns, &orders[_i].order);
	json_array_foreach(list, i, row)
		buf_printf(&b, "%s ", json_string_value(json_object_get(row,
		    "name")));
	ck_assert_str_eq(b.data, orders[_i].names);
	buf_free(&b);
	json_decref(list);
	json_decref(rows);
}
END_TEST

static const struct {
	int		 width;
	const char	*titles, *first;
} fits[] = {
	{ 40, "name       n    for", "Beta       9  2m05s" },
	{ 19, "name       n    for", "Beta       9  2m05s" },
	{ 18, "name       n", "Beta       9" },
	{ 12, "name       n", "Beta       9" },
	{ 11, "name", "Beta" },
};

START_TEST(columns_are_left_out_by_rank)
{
	json_t			*rows = three_rows();
	struct grid_order	 o = { .column = -1 };
	struct canvas		 c = { 0 };
	char			*row;

	canvas_reset(&c, 0, fits[_i].width);
	grid_draw(&c, rows, columns, &o, -1);
	ck_assert_int_eq(c.rows, 4);
	row = text_of(&c, 0);
	ck_assert_str_eq(row, fits[_i].titles);
	free(row);
	row = text_of(&c, 1);
	ck_assert_str_eq(row, fits[_i].first);
	free(row);
	canvas_free(&c);
	json_decref(rows);
}
END_TEST

static const struct {
	int64_t		 ms;
	const char	*text;
} spans[] = {
	{ -1, "-" }, { 0, "0ms" }, { 999, "999ms" }, { 4250, "4.2s" },
	{ 59999, "59s" }, { 125000, "2m05s" }, { 7500000, "2h05m" },
	{ INT64_C(273600000), "3d04h" },
};

START_TEST(span_is_short)
{
	struct buf	b = { 0 };

	grid_put_span(&b, spans[_i].ms);
	ck_assert_str_eq(b.data, spans[_i].text);
	buf_free(&b);
}
END_TEST

/* Keys */

static void
type(struct ui *u, const int *keys)
{
	for (; *keys != KEY_NONE; keys++)
		ui_key(u, *keys, 3);
}

START_TEST(filter_takes_all_characters)
{
	struct ui	u;

	ui_begin(&u);
	type(&u, (int[]){ '4', '/', 'q', 'p', '?', KEY_ERASE, KEY_OTHER,
	    0x1f600, KEY_RETURN, KEY_NONE });
	ck_assert(!u.quit && !u.paused && !u.filtering);
	ck_assert_str_eq(u.lists[PANEL_WORKERS].order.filter, "qp");
	for (int i = 0; i < 2 * GRID_FILTER; i++)
		type(&u, (int[]){ '/', 'x', KEY_NONE });
	ck_assert_uint_eq(strlen(u.lists[PANEL_WORKERS].order.filter),
	    GRID_FILTER - 1);
	type(&u, (int[]){ KEY_ESCAPE, KEY_NONE });
	ck_assert_str_eq(u.lists[PANEL_WORKERS].order.filter, "");
	ui_end(&u);
}
END_TEST

START_TEST(keys_lead_to_pages_and_back)
{
	struct ui	u;

	ui_begin(&u);
	type(&u, (int[]){ '3', KEY_TAB, KEY_BACK_TAB, KEY_RETURN, KEY_NONE });
	ck_assert_int_eq(u.focus, PANEL_PARTITIONS);
	ck_assert_int_eq(u.page, UI_PANEL);
	type(&u, (int[]){ KEY_RETURN, '?', KEY_NONE });
	ck_assert_int_eq(u.page, UI_HELP);
	type(&u, (int[]){ KEY_ESCAPE, KEY_NONE });
	ck_assert_int_eq(u.page, UI_ROW);
	type(&u, (int[]){ KEY_ESCAPE, KEY_ESCAPE, KEY_NONE });
	ck_assert_int_eq(u.page, UI_ALL);
	type(&u, (int[]){ 'p', 'q', KEY_NONE });
	ck_assert(u.paused && u.quit);
	ui_end(&u);
}
END_TEST

START_TEST(sort_goes_round_all_columns)
{
	struct ui	u;

	ui_begin(&u);
	for (int column = 0; column < 3; column++) {
		type(&u, (int[]){ 's', KEY_NONE });
		ck_assert_int_eq(u.lists[u.focus].order.column, column);
	}
	type(&u, (int[]){ 's', 'r', KEY_GO_UP, KEY_NONE });
	ck_assert_int_eq(u.lists[u.focus].order.column, -1);
	ck_assert(u.lists[u.focus].order.reverse);
	ck_assert_int_eq(u.lists[u.focus].cursor, 0);
	ui_end(&u);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("top");
	TCase	*tc = add_case(s, "canvas");

	tcase_add_loop_test(tc, text_is_put_into_cells, 0, NROWS(puts_));
	tcase_add_test(tc, what_is_outside_is_left_out);
	tcase_add_test(tc, text_is_broken_at_blanks);
	tcase_add_test(tc, cells_have_an_ascii_form);

	tc = add_case(s, "layout");
	tcase_add_loop_test(tc, columns_follow_from_the_width, 0,
	    NROWS(widths));
	tcase_add_loop_test(tc, panels_do_not_overlap, 0, 4);
	tcase_add_test(tc, problems_are_first_if_there_are_any);

	tc = add_case(s, "rows");
	tcase_add_loop_test(tc, rows_are_sorted_and_filtered, 0,
	    NROWS(orders));
	tcase_add_loop_test(tc, columns_are_left_out_by_rank, 0, NROWS(fits));
	tcase_add_loop_test(tc, span_is_short, 0, NROWS(spans));

	tc = add_case(s, "keys");
	tcase_add_test(tc, filter_takes_all_characters);
	tcase_add_test(tc, keys_lead_to_pages_and_back);
	tcase_add_test(tc, sort_goes_round_all_columns);
	return run_suite(s);
}
