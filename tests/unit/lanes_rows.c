/*
 * lanes_rows.c - rows that wait in memory behind the head of their lane
 */
#include "unit/lanes_test.h"

START_TEST(nothing_waits_at_first)
{
	ck_bars("a", LANE_NONE);
	ck_assert_str_eq(held(), "");
	ck_assert_str_eq(due(INT64_MAX, 16), "");
	ck_assert_int_eq(lanes_next_due(lanes), INT64_MAX);
	ck_assert_uint_eq(lanes_count(lanes), 0);
	lanes_row_gone(lanes, 1);
	lanes_forget_part(lanes, &p1);
	lanes_free(NULL);
}
END_TEST

START_TEST(head_bars_what_comes_later)
{
	put("a", 10, 1000);
	ck_bars("a", 11);
	ck_bars("b", LANE_NONE);
	ck_assert_str_eq(held(), "10");
	ck_assert_uint_eq(lanes_count(lanes), 1);
}
END_TEST

START_TEST(lanes_are_compared_as_bytes)
{
	put("a", 10, 1000);
	ck_bars("A", LANE_NONE);
	ck_bars("a ", LANE_NONE);
	ck_bars("", LANE_NONE);
	ck_assert(!lanes_blocks(lanes, BYTES("a\0"), 11));
	put_in(&p1, BYTES("a\0b"), 20, 1000);
	ck_assert(lanes_blocks(lanes, BYTES("a\0b"), 21));
	ck_assert(!lanes_blocks(lanes, BYTES("a\0c"), 21));
	put("", 30, 1000);
	ck_bars("", 31);
	ck_assert_uint_eq(lanes_count(lanes), 3);
}
END_TEST

/* The key is a piece of a batch that is freed. */
START_TEST(hold_keeps_its_own_copy)
{
	char	*key = strdup("a");

	put(key, 10, 1000);
	memset(key, 'b', 1);
	free(key);
	ck_bars("a", 11);
	ck_bars("b", LANE_NONE);
}
END_TEST

START_TEST(later_row_changes_no_head)
{
	put("a", 10, 1000);
	put("a", 11, 5);
	put("a", 12, INT64_MAX);
	ck_assert_str_eq(held(), "10 11 12");
	ck_assert_uint_eq(lanes_count(lanes), 1);
	ck_assert_str_eq(due(999, 16), "");
	ck_assert_str_eq(due(1000, 16), "10");
	ck_assert_int_eq(lanes_next_due(lanes), 1000);
	ck_bars("a", 11);
}
END_TEST

START_TEST(earlier_row_becomes_the_head)
{
	put("a", 10, 1000);
	put("a", 5, 2000);
	ck_assert_str_eq(held(), "5 10");
	ck_bars("a", 6);
	ck_assert_str_eq(due(1999, 16), "");
	ck_assert_str_eq(due(2000, 16), "5");
	/* The old head is a row like any other now. */
	lanes_row_gone(lanes, 10);
	ck_bars("a", 6);
	ck_assert_str_eq(held(), "5");
}
END_TEST

START_TEST(head_that_fails_again_is_due_later)
{
	put("a", 10, 1000);
	put("a", 11, INT64_MAX);
	put("a", 10, 3000);
	ck_assert_str_eq(held(), "10 11");
	ck_assert_int_eq(lanes_next_due(lanes), 3000);
	put("a", 11, 7);		/* again; it is not the head */
	ck_assert_int_eq(lanes_next_due(lanes), 3000);
	ck_assert_str_eq(held(), "10 11");
	put("a", 10, 2000);
	ck_assert_int_eq(lanes_next_due(lanes), 2000);
}
END_TEST

START_TEST(due_heads_are_found)
{
	put("a", 30, 1000);
	put("b", 10, 2000);
	put("c", 20, 2000);
	put("c", 21, 0);
	put("d", 40, INT64_MAX);
	ck_assert_int_eq(lanes_next_due(lanes), 1000);
	ck_assert_str_eq(due(999, 16), "");
	ck_assert_str_eq(due(1000, 16), "30");
	ck_assert_str_eq(due(2000, 16), "10 20 30");
	ck_assert_str_eq(due(2000, 0), "");
	ck_assert_uint_eq(strlen(due(2000, 2)), strlen("10 20"));
	lanes_row_gone(lanes, 30);
	ck_assert_int_eq(lanes_next_due(lanes), 2000);
}
END_TEST

START_TEST(gone_head_releases_its_lane)
{
	put("a", 10, 1000);
	put("a", 12, INT64_MAX);
	put("a", 14, INT64_MAX);
	put("b", 11, 1000);
	lanes_row_gone(lanes, 10);
	ck_bars("a", LANE_NONE);
	ck_bars("b", 12);
	ck_assert_str_eq(held(), "11");
	ck_assert_uint_eq(lanes_count(lanes), 1);
	ck_assert_str_eq(due(INT64_MAX - 1, 16), "11");
}
END_TEST

/* Labels are the rows' own: a key may have rows in two partitions. */
START_TEST(rows_count_where_they_are)
{
	put("a", 10, 1000);
	put_in(&p2, BYTES("a"), 20, INT64_MAX);
	put_in(&p2, BYTES("a"), 21, INT64_MAX);
	ck_assert_uint_eq(p1.nblocked, 1);
	ck_assert_uint_eq(p2.nblocked, 2);
	ck_bars("a", 11);
	lanes_forget_part(lanes, &p2);
	ck_assert_uint_eq(p1.nblocked, 1);
	ck_assert_str_eq(held(), "10");
	ck_bars("a", 11);
	put_in(&p2, BYTES("a"), 20, INT64_MAX);
	lanes_row_gone(lanes, 10);
	ck_assert_str_eq(held(), "");
	ck_bars("a", LANE_NONE);
}
END_TEST

START_TEST(gone_row_leaves_the_head)
{
	put("a", 10, 1000);
	put("a", 11, INT64_MAX);
	put("a", 12, INT64_MAX);
	put("a", 13, INT64_MAX);
	lanes_row_gone(lanes, 12);
	lanes_row_gone(lanes, 13);
	lanes_row_gone(lanes, 13);
	ck_assert_str_eq(held(), "10 11");
	ck_bars("a", 11);
	lanes_row_gone(lanes, 11);
	ck_bars("a", 11);
	lanes_row_gone(lanes, 10);
	ck_bars("a", LANE_NONE);
	ck_assert_str_eq(held(), "");
	ck_assert_uint_eq(lanes_count(lanes), 0);
}
END_TEST

START_TEST(forgotten_part_holds_nothing)
{
	put("a", 10, 1000);
	put("a", 11, 1000);
	put("b", 12, 1000);
	put_in(&p2, BYTES("c"), 20, 1000);
	put_in(&p2, BYTES("c"), 21, 1000);
	ck_assert_uint_eq(p1.nblocked, 3);
	ck_assert_uint_eq(p2.nblocked, 2);
	lanes_forget_part(lanes, &p1);
	ck_assert_uint_eq(p2.nblocked, 2);
	ck_assert_str_eq(held(), "20 21");
	ck_bars("a", LANE_NONE);
	ck_bars("c", 21);
	ck_assert_str_eq(due(1000, 16), "20");
	lanes_forget_part(lanes, &p2);
	ck_assert_uint_eq(lanes_count(lanes), 0);
	ck_assert_int_eq(lanes_next_due(lanes), INT64_MAX);
}
END_TEST

/* The head of a lane waits for its type. */
static void
put_type(const char *lane, uint64_t sequence, uint64_t type, int64_t due_at)
{
	lanes_block(lanes, &(struct wait){ .part = &p1, .lane = bytes_of(lane),
	    .key = bytes_of(lane), .sequence = sequence, .due_at = due_at,
	    .why = BLOCK_TYPE, .type = type });
}

/* One is asked for: that which waits longest, and a parked one at last. */
START_TEST(one_head_of_a_type_is_offered)
{
	put_type("a", 10, 7, 60000);
	put_type("b", 20, 7, 60000);
	put_type("c", 30, 7, 60000);
	put_type("d", 40, 8, 60000);
	lanes_parked(lanes, lanes_find(lanes, bytes_of("a")),
	    (uint64_t[]){ 10 }, 1);
	lanes_offer_one(lanes, 7, 1000);
	ck_assert_str_eq(due(1000, 16), "20");
	put_type("b", 20, 7, 60000);
	lanes_offer_one(lanes, 7, 2000);
	ck_assert_str_eq(due(2000, 16), "30");
	lanes_row_gone(lanes, 20);
	lanes_row_gone(lanes, 30);
	lanes_offer_one(lanes, 7, 3000);
	ck_assert_int_eq(lanes_next_due(lanes), 3000);
	ck_assert_str_eq(due(3000, 16), "");
	lanes_head_back(lanes, lanes_find(lanes, bytes_of("a")));
	ck_assert_str_eq(due(3000, 16), "10");
}
END_TEST

/* Types are taken again, but not those that are listed. */
START_TEST(heads_wait_for_their_own_type)
{
	static const uint64_t	refused[] = { 7, 8 };

	put("a", 10, 60000);
	put_type("b", 20, 7, 60000);
	put_type("c", 30, 8, 60000);
	put_type("d", 40, 9, 60000);
	put_type("e", 50, 9, 500);
	lanes_types_taken(lanes, refused, 2, 1000);
	ck_assert_str_eq(due(1000, 16), "40 50");
	ck_assert_int_eq(lanes_next_due(lanes), 500);
	lanes_types_taken(lanes, refused, 1, 2000);
	ck_assert_str_eq(due(2000, 16), "30 40 50");
	/* It failed by its own fault: the type of its first try is over. */
	put("b", 20, 60000);
	lanes_types_taken(lanes, refused, 0, 3000);
	ck_assert_str_eq(due(3000, 16), "30 40 50");
}
END_TEST

static const struct {
	enum block_why	why;
	bool		waits;
} whys[] = {
	{ BLOCK_CLAIMED, true }, { BLOCK_DELAYED, false },
	{ BLOCK_FAILED, false }, { BLOCK_REFUSED, true },
	{ BLOCK_TYPE, false }, { BLOCK_DOUBT, true },
};

START_TEST(some_heads_wait_for_the_route)
{
	struct wait	w = { .part = &p1, .lane = BYTES("a"),
			    .key = BYTES("a"), .sequence = 10,
			    .due_at = 1000, .why = whys[_i].why };

	ck_assert(!lanes_wait_for_route(lanes));
	lanes_block(lanes, &w);
	ck_assert(lanes_wait_for_route(lanes) == whys[_i].waits);
	/* A halt before it: it is no head any more. */
	lanes_halt(lanes, lanes_find(lanes, BYTES("a")), &p1, 5);
	ck_assert(!lanes_wait_for_route(lanes));
	ck_assert_uint_eq(lanes_count(lanes), 1);
}
END_TEST

START_TEST(picks_know_their_part)
{
	struct pick	picks[2];

	put("a", 10, 1000);
	put_in(&p2, BYTES("b"), 20, 1000);
	ck_assert_uint_eq(lanes_due(lanes, 1000, picks, 2), 2);
	for (int i = 0; i < 2; i++)
		ck_assert_ptr_eq(picks[i].part,
		    picks[i].sequence == 10 ? &p1 : &p2);
}
END_TEST

void
add_rows(TCase *tc)
{
	tcase_add_test(tc, nothing_waits_at_first);
	tcase_add_test(tc, head_bars_what_comes_later);
	tcase_add_test(tc, lanes_are_compared_as_bytes);
	tcase_add_test(tc, hold_keeps_its_own_copy);
	tcase_add_test(tc, later_row_changes_no_head);
	tcase_add_test(tc, earlier_row_becomes_the_head);
	tcase_add_test(tc, head_that_fails_again_is_due_later);
	tcase_add_test(tc, due_heads_are_found);
	tcase_add_test(tc, gone_head_releases_its_lane);
	tcase_add_test(tc, rows_count_where_they_are);
	tcase_add_test(tc, gone_row_leaves_the_head);
	tcase_add_test(tc, forgotten_part_holds_nothing);
	tcase_add_test(tc, one_head_of_a_type_is_offered);
	tcase_add_test(tc, heads_wait_for_their_own_type);
	tcase_add_loop_test(tc, some_heads_wait_for_the_route, 0, NROWS(whys));
	tcase_add_test(tc, picks_know_their_part);
}
