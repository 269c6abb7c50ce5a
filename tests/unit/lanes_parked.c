/*
 * lanes_parked.c - lanes on record, some rows of which are parked, as parked.c
 * treats them; and lanes that are halted
 */
#include "unit/lanes_test.h"

static struct blocked_lane *
lane_of_name(const char *lane)
{
	struct blocked_lane	*l = lanes_find(lanes, bytes_of(lane));

	ck_assert_msg(l != NULL, "lane %s does not wait", lane);
	return l;
}

/* Park these rows of a lane: "10 11". */
static void
park(const char *lane, const char *rows)
{
	struct blocked_lane	*l = lane_of_name(lane);
	uint64_t		 list[16];
	char			*end;
	size_t			 n = 0;

	if (l->record == 0) {
		l->record = l->head;
		l->home = l->part;
	}
	for (; *rows != '\0'; rows = end)
		list[n++] = strtoull(rows, &end, 10);
	lanes_parked(lanes, l, list, n);
}

static bool
returns(const char *lane)
{
	return lane_is_returning(lane_of_name(lane));
}

/* The parked rows of a lane before next are back; LANE_NONE: all are. */
static void
come_back(const char *lane, uint64_t next)
{
	lanes_rows_back(lanes, lane_of_name(lane), next);
}

static void
halt(const char *lane, uint64_t sequence)
{
	lanes_halt(lanes, lane_of_name(lane), &p1, sequence);
}

static struct blocked_lane *
load(const char *lane, uint64_t head, int64_t due_at, uint64_t parked_from,
    bool head_parked)
{
	struct wait	w = { .part = &p1, .lane = bytes_of(lane),
			    .key = bytes_of(lane), .sequence = head,
			    .due_at = due_at };

	return lanes_load(lanes, &w, 7, parked_from, head_parked);
}

/* The records to be deleted: "10 30". */
static const char *
lifted(void)
{
	static char	text[200];

	text[0] = '\0';
	for (size_t i = 0; i < lanes->nlifted; i++)
		sprintf(text + strlen(text), "%s%d", i > 0 ? " " : "",
		    (int)lanes->lifted[i].record);
	return text;
}

/* The rows that can be parked, sorted. */
static const char *
listed(const char *lane, size_t max)
{
	static char	text[200];
	uint64_t	list[16];
	size_t		n = lane_list_rows(lane_of_name(lane), list, max);

	ck_assert_uint_le(n, max);
	text[0] = '\0';
	for (uint64_t i = 0; i < 100; i++)
		for (size_t j = 0; j < n; j++)
			if (list[j] == i)
				sprintf(text + strlen(text), "%s%d",
				    text[0] != '\0' ? " " : "", (int)i);
	return text;
}

START_TEST(parked_rows_are_out_of_the_way)
{
	put("a", 10, 1000);
	for (uint64_t i = 11; i < 15; i++)
		put("a", i, INT64_MAX);
	ck_assert_str_eq(listed("a", 16), "11 12 13 14");
	ck_assert_uint_eq(strlen(listed("a", 2)), strlen("11 12"));
	park("a", "12 14");
	ck_assert_str_eq(held(), "10 11 13");
	ck_assert_str_eq(listed("a", 16), "11 13");
	ck_bars("a", 11);
	ck_assert(!returns("a"));
	ck_assert_str_eq(due(1000, 16), "10");
	/* The rows before the first parked one are free, the others are not. */
	lanes_row_gone(lanes, 10);
	ck_assert(returns("a"));
	ck_assert_uint_eq(lanes->nreturning, 1);
	ck_bars("a", 12);
	ck_assert_str_eq(held(), "13");
	ck_assert_str_eq(due(INT64_MAX - 1, 16), "");
	ck_assert_str_eq(lifted(), "");
}
END_TEST

START_TEST(rows_come_back_in_order)
{
	put("a", 10, 1000);
	for (uint64_t i = 11; i < 15; i++)
		put("a", i, INT64_MAX);
	park("a", "11 12 13 14");
	put("a", 15, INT64_MAX);
	lanes_row_gone(lanes, 10);
	come_back("a", 13);
	ck_bars("a", 13);
	ck_assert_str_eq(held(), "15");
	/* A row that came back fails: it is the head; the others wait. */
	put("a", 12, 5000);
	ck_assert(!returns("a"));
	ck_assert_uint_eq(lanes->nreturning, 0);
	ck_bars("a", 13);
	ck_assert_str_eq(due(5000, 16), "12");
	lanes_row_gone(lanes, 12);
	ck_assert(returns("a"));
	come_back("a", LANE_NONE);
	ck_bars("a", LANE_NONE);
	ck_assert_uint_eq(lanes_count(lanes), 0);
	ck_assert_str_eq(held(), "");
	ck_assert_uint_eq(lanes->nreturning, 0);
	ck_assert_str_eq(lifted(), "10");
}
END_TEST

START_TEST(record_goes_with_its_lane)
{
	put("a", 10, 1000);
	put("b", 20, 1000);
	put("b", 21, INT64_MAX);
	park("b", "21");
	lane_of_name("a")->record = 10;
	lane_of_name("a")->home = &p1;
	put("c", 30, 1000);
	lanes_row_gone(lanes, 30);
	lanes_row_gone(lanes, 10);
	ck_assert_str_eq(lifted(), "10");
	lanes_row_gone(lanes, 20);
	come_back("b", LANE_NONE);
	ck_assert_str_eq(lifted(), "10 20");
}
END_TEST

START_TEST(parked_head_comes_when_it_is_due)
{
	put("a", 10, 1000);
	put("a", 11, INT64_MAX);
	park("a", "10 11");
	ck_assert(lane_of_name("a")->head_parked);
	ck_assert_str_eq(held(), "");
	ck_assert_int_eq(lanes_next_due(lanes), 1000);
	ck_assert_str_eq(due(1000, 16), "");
	ck_assert(!returns("a"));
	lanes_head_back(lanes, lane_of_name("a"));
	ck_assert_str_eq(due(1000, 16), "10");
	ck_assert_str_eq(held(), "10");
	lanes_row_gone(lanes, 10);
	ck_assert(returns("a"));
	ck_bars("a", 11);
}
END_TEST

/*
 * The database refused to unpark the head: it is due when that is tried again,
 * not before, whatever becomes of its type.
 */
START_TEST(parked_head_stays_aside)
{
	lanes_block(lanes, &(struct wait){ .part = &p1, .lane = bytes_of("a"),
	    .key = bytes_of("a"), .sequence = 10, .due_at = 1000,
	    .why = BLOCK_TYPE });
	park("a", "10");
	lanes_put_aside(lanes, lane_of_name("a"), 31000);
	ck_assert_int_eq(lanes_next_due(lanes), 31000);
	lanes_types_taken(lanes, NULL, 0, 2000);
	ck_assert_int_eq(lanes_next_due(lanes), 31000);
	/* In its partition it can be sent. */
	lanes_head_back(lanes, lane_of_name("a"));
	lanes_types_taken(lanes, NULL, 0, 3000);
	ck_assert_str_eq(due(3000, 16), "10");
}
END_TEST

/* A row with a lower id is committed late, and fails. */
START_TEST(parked_head_stays_parked_behind_a_new_one)
{
	put("a", 10, 1000);
	put("a", 20, INT64_MAX);
	park("a", _i == 0 ? "10" : "10 20");
	put("a", 3, 2000);
	ck_assert_int_eq(lanes_next_due(lanes), 2000);
	lanes_row_gone(lanes, 3);
	ck_assert(returns("a"));
	ck_assert_str_eq(lifted(), "");
	ck_bars("a", 10);
	ck_assert_uint_eq(lanes->nreturning, 1);
	come_back("a", LANE_NONE);
	ck_assert_str_eq(lifted(), "10");
}
END_TEST

START_TEST(halted_lane_goes_so_far)
{
	put("a", 10, 1000);
	put("a", 11, INT64_MAX);
	halt("a", 12);
	put("a", 13, INT64_MAX);
	ck_assert_str_eq(due(1000, 16), "10");
	lanes_row_gone(lanes, 10);
	ck_bars("a", 13);
	ck_assert(!returns("a"));
	/* The dead row, put back: it may fail and go like any other. */
	put("a", 12, 3000);
	ck_assert_str_eq(due(3000, 16), "12");
	lanes_row_gone(lanes, 12);
	ck_assert_str_eq(held(), "13");
	ck_bars("a", 13);
	/* A later halt changes nothing, an earlier one counts. */
	halt("a", 20);
	ck_bars("a", 13);
	halt("a", 5);
	ck_bars("a", 6);
	ck_assert_str_eq(lifted(), "");
}
END_TEST

/* A head that cannot go must not be tried, or it is tried all the time. */
START_TEST(head_behind_a_halt_is_not_tried)
{
	put("a", 10, 1000);
	put("a", 11, INT64_MAX);
	if (_i == 1)
		park("a", "10");
	if (_i == 2)
		park("a", "10 11");
	halt("a", 5);
	ck_assert_int_eq(lanes_next_due(lanes), INT64_MAX);
	ck_assert_str_eq(due(INT64_MAX - 1, 16), "");
	ck_assert(!returns("a"));
	ck_bars("a", 6);
	put("a", 4, 2000);
	ck_assert_str_eq(due(2000, 16), "4");
	lanes_row_gone(lanes, 4);
	ck_bars("a", 6);
	ck_assert_uint_eq(lanes->nreturning, 0);
}
END_TEST

START_TEST(lanes_are_loaded)
{
	struct blocked_lane	*l = load("a", 10, 1000, LANE_NONE, false);

	ck_assert_ptr_eq(l, lane_of_name("a"));
	ck_assert_str_eq(due(1000, 16), "10");
	ck_bars("a", 11);
	load("b", 20, 500, 21, true);
	ck_assert_str_eq(held(), "10");
	ck_assert_int_eq(lanes_next_due(lanes), 500);
	ck_assert(!returns("b"));
	load("c", LANE_NONE, INT64_MAX, 30, false);
	ck_assert(returns("c"));
	ck_bars("c", 30);
	ck_assert_uint_eq(lanes->nreturning, 1);
	halt("c", 25);
	ck_assert_uint_eq(lanes->nreturning, 0);
	ck_bars("c", 26);
	ck_assert_str_eq(held(), "10");
	lanes_forget_part(lanes, &p1);
	ck_assert_uint_eq(lanes_count(lanes), 0);
	ck_assert_str_eq(held(), "");
	ck_assert_uint_eq(lanes->nreturning, 0);
	ck_assert_int_eq(lanes_next_due(lanes), INT64_MAX);
}
END_TEST

/*
 * The next owner reads the record, and may park rows under it: a deletion that
 * is still to be done here must not remove it when the partition is back.
 */
START_TEST(forgotten_records_are_not_lifted)
{
	put("a", 10, 1000);
	park("a", "10");
	lanes_head_back(lanes, lane_of_name("a"));
	put_in(&p2, BYTES("b"), 20, 1000);
	park("b", "20");
	lanes_head_back(lanes, lane_of_name("b"));
	lanes_row_gone(lanes, 10);
	lanes_row_gone(lanes, 20);
	ck_assert_str_eq(lifted(), "10 20");
	lanes_forget_part(lanes, &p1);
	ck_assert_str_eq(lifted(), "20");
	lanes_forget_part(lanes, &p2);
	ck_assert_str_eq(lifted(), "");
}
END_TEST

/* The key has rows in two partitions, and its record in one of them. */
START_TEST(lane_outlives_the_home_of_its_record)
{
	put("a", 10, 1000);
	put_in(&p2, BYTES("a"), 11, INT64_MAX);
	put("a", 12, INT64_MAX);
	ck_assert_str_eq(listed("a", 16), "12");
	park("a", "12");
	if (_i == 0) {			/* the head is in the other one */
		put_in(&p2, BYTES("a"), 5, 2000);
		lanes_forget_part(lanes, &p1);
		ck_assert_str_eq(due(2000, 16), "5");
		ck_bars("a", 6);
		ck_assert_uint_eq(lane_of_name("a")->record, 0);
		lanes_row_gone(lanes, 5);
		ck_assert_uint_eq(lanes_count(lanes), 0);
	} else if (_i == 1) {		/* everything is lost */
		lanes_forget_part(lanes, &p1);
		ck_assert_uint_eq(lanes_count(lanes), 0);
	} else {			/* the rows elsewhere are lost */
		lanes_forget_part(lanes, &p2);
		ck_bars("a", 11);
		ck_assert_str_eq(due(1000, 16), "10");
		lanes_row_gone(lanes, 10);
		ck_assert(returns("a"));
	}
	ck_assert_str_eq(lifted(), "");
	ck_assert_str_eq(held(), "");
	ck_assert_uint_eq(lanes->nreturning, _i == 2);
}
END_TEST

void
add_parked(TCase *tc)
{
	tcase_add_test(tc, parked_rows_are_out_of_the_way);
	tcase_add_test(tc, rows_come_back_in_order);
	tcase_add_test(tc, record_goes_with_its_lane);
	tcase_add_test(tc, parked_head_comes_when_it_is_due);
	tcase_add_test(tc, parked_head_stays_aside);
	tcase_add_loop_test(tc, parked_head_stays_parked_behind_a_new_one, 0,
	    2);
	tcase_add_test(tc, halted_lane_goes_so_far);
	tcase_add_loop_test(tc, head_behind_a_halt_is_not_tried, 0, 3);
	tcase_add_test(tc, lanes_are_loaded);
	tcase_add_test(tc, forgotten_records_are_not_lifted);
	tcase_add_loop_test(tc, lane_outlives_the_home_of_its_record, 0, 3);
}
