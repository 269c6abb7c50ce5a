/*
 * check_lanes.c - what waits: rows behind a head, children behind a deadline
 *
 * hold and slot.  Time is a number that the test passes in.  The children of
 * the slot tests are real: they report each signal they are sent.
 */
#include "lib/check.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <bsd/string.h>

#include "common/exits.h"
#include "worker/lanes.h"
#include "master/slot.h"

/*
 * hold
 */

static struct lanes	*lanes;
static struct {
	struct part		 part;
	struct part_label	 label;
} parts[2];
#define p1	parts[0].part
#define p2	parts[1].part

static void
hold_setup(void)
{
	lanes = lanes_new();
	memset(parts, 0, sizeof(parts));
	p1.nlabels = p2.nlabels = 1;
}

static void
hold_teardown(void)
{
	lanes_free(lanes);
}

static void
put_in(struct part *part, struct bytes lane, uint64_t sequence,
    int64_t due_at)
{
	lanes_block(lanes, &(struct wait){ .part = part, .lane = lane, .key = lane,
	    .sequence = sequence, .due_at = due_at, .why = BLOCK_FAILED });
}

static void
put(const char *lane, uint64_t sequence, int64_t due_at)
{
	put_in(&p1, bytes_of(lane), sequence, due_at);
}

static bool
bars(const char *lane, uint64_t sequence)
{
	return lanes_blocks(lanes, bytes_of(lane), sequence);
}

/* The heads that are due, sorted: "10 30". */
static const char *
due(int64_t now, size_t max)
{
	static char	text[200];
	struct pick	picks[16];
	size_t		n = lanes_due(lanes, now, picks, max);

	ck_assert_uint_le(n, max);
	text[0] = '\0';
	for (size_t done = 0; done < n; done++) {
		size_t least = 0;

		for (size_t i = 1; i < n; i++)
			if (picks[i].sequence < picks[least].sequence)
				least = i;
		ck_assert_ptr_nonnull(picks[least].part);
		sprintf(text + strlen(text), "%s%d", done > 0 ? " " : "",
		    (int)picks[least].sequence);
		picks[least].sequence = UINT64_MAX;
	}
	return text;
}

START_TEST(nothing_waits_at_first)
{
	ck_assert(!bars("a", 1));
	ck_assert(!lanes_has_row(lanes, 1));
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
	ck_assert(bars("a", 11));
	ck_assert(bars("a", UINT64_MAX));
	ck_assert(!bars("a", 10));
	ck_assert(!bars("a", 9));
	ck_assert(!bars("b", 11));
	ck_assert(lanes_has_row(lanes, 10));
	ck_assert(!lanes_has_row(lanes, 11));
	ck_assert_uint_eq(p1.nblocked, 1);
	ck_assert_uint_eq(lanes_count(lanes), 1);
}
END_TEST

START_TEST(lanes_are_compared_as_bytes)
{
	put("a", 10, 1000);
	ck_assert(!bars("A", 11));
	ck_assert(!bars("a ", 11));
	ck_assert(!bars("", 11));
	ck_assert(!lanes_blocks(lanes, BYTES("a\0"), 11));
	put_in(&p1, BYTES("a\0b"), 20, 1000);
	ck_assert(lanes_blocks(lanes, BYTES("a\0b"), 21));
	ck_assert(!lanes_blocks(lanes, BYTES("a\0c"), 21));
	put("", 30, 1000);
	ck_assert(bars("", 31));
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
	ck_assert(bars("a", 11));
	ck_assert(!bars("b", 11));
}
END_TEST

START_TEST(later_row_changes_no_head)
{
	put("a", 10, 1000);
	put("a", 11, 5);
	put("a", 12, INT64_MAX);
	ck_assert_uint_eq(p1.nblocked, 3);
	ck_assert_uint_eq(lanes_count(lanes), 1);
	ck_assert_str_eq(due(999, 16), "");
	ck_assert_str_eq(due(1000, 16), "10");
	ck_assert_int_eq(lanes_next_due(lanes), 1000);
	ck_assert(!bars("a", 10));
	ck_assert(bars("a", 11));
}
END_TEST

START_TEST(earlier_row_becomes_the_head)
{
	put("a", 10, 1000);
	put("a", 5, 2000);
	ck_assert_uint_eq(p1.nblocked, 2);
	ck_assert(bars("a", 10));
	ck_assert(bars("a", 6));
	ck_assert(!bars("a", 5));
	ck_assert_str_eq(due(1999, 16), "");
	ck_assert_str_eq(due(2000, 16), "5");
	/* The old head is a row like any other now. */
	lanes_row_gone(lanes, 10);
	ck_assert(bars("a", 10));
	ck_assert_uint_eq(p1.nblocked, 1);
}
END_TEST

START_TEST(head_that_fails_again_is_due_later)
{
	put("a", 10, 1000);
	put("a", 11, INT64_MAX);
	put("a", 10, 3000);
	ck_assert_uint_eq(p1.nblocked, 2);
	ck_assert_int_eq(lanes_next_due(lanes), 3000);
	put("a", 11, 7);		/* again; it is not the head */
	ck_assert_int_eq(lanes_next_due(lanes), 3000);
	ck_assert_uint_eq(p1.nblocked, 2);
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
	ck_assert(!bars("a", 12));
	ck_assert(!bars("a", 15));
	ck_assert(bars("b", 12));
	ck_assert(!lanes_has_row(lanes, 10));
	ck_assert(!lanes_has_row(lanes, 12));
	ck_assert(!lanes_has_row(lanes, 14));
	ck_assert_uint_eq(p1.nblocked, 1);
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
	ck_assert(bars("a", 20));
	lanes_forget_part(lanes, &p2);
	ck_assert_uint_eq(p1.nblocked, 1);
	ck_assert_uint_eq(p2.nblocked, 0);
	ck_assert(!lanes_has_row(lanes, 20));
	ck_assert(bars("a", 22));
	put_in(&p2, BYTES("a"), 20, INT64_MAX);
	lanes_row_gone(lanes, 10);
	ck_assert_uint_eq(p1.nblocked + p2.nblocked, 0);
	ck_assert(!bars("a", 20));
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
	ck_assert(lanes_has_row(lanes, 10));
	ck_assert(lanes_has_row(lanes, 11));
	ck_assert(!lanes_has_row(lanes, 12));
	ck_assert(!lanes_has_row(lanes, 13));
	ck_assert_uint_eq(p1.nblocked, 2);
	ck_assert(bars("a", 12));
	lanes_row_gone(lanes, 11);
	ck_assert(bars("a", 11));
	lanes_row_gone(lanes, 10);
	ck_assert(!bars("a", 11));
	ck_assert_uint_eq(p1.nblocked, 0);
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
	ck_assert_uint_eq(p1.nblocked, 0);
	ck_assert(!bars("a", 11));
	ck_assert(!lanes_has_row(lanes, 12));
	ck_assert_uint_eq(p2.nblocked, 2);
	ck_assert(bars("c", 21));
	ck_assert_str_eq(due(1000, 16), "20");
	lanes_forget_part(lanes, &p2);
	ck_assert_uint_eq(lanes_count(lanes), 0);
	ck_assert_int_eq(lanes_next_due(lanes), INT64_MAX);
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

/*
 * What parked.c does: a lane gets a record, and its rows get out of the way
 */

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

/* Those that can be parked, sorted. */
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
	ck_assert_uint_eq(p1.nblocked, 3);
	ck_assert_uint_eq(lanes_nrows(lanes), 3);
	ck_assert(!lanes_has_row(lanes, 12));
	ck_assert_str_eq(listed("a", 16), "11 13");
	ck_assert(bars("a", 11));
	ck_assert(!returns("a"));
	ck_assert_str_eq(due(1000, 16), "10");
	/* What is before the first that is parked is free, the rest is not. */
	lanes_row_gone(lanes, 10);
	ck_assert(returns("a"));
	ck_assert_uint_eq(lanes->nreturning, 1);
	ck_assert(!bars("a", 11));
	ck_assert(bars("a", 12));
	ck_assert(bars("a", 15));
	ck_assert(!lanes_has_row(lanes, 11));
	ck_assert(lanes_has_row(lanes, 13));
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
	lanes_rows_back(lanes, lane_of_name("a"), 13);
	ck_assert(!bars("a", 12));
	ck_assert(bars("a", 13));
	ck_assert(lanes_has_row(lanes, 15));
	/* One that is back fails: it is the head, and nothing comes back. */
	put("a", 12, 5000);
	ck_assert(!returns("a"));
	ck_assert_uint_eq(lanes->nreturning, 0);
	ck_assert(bars("a", 13));
	ck_assert_str_eq(due(5000, 16), "12");
	lanes_row_gone(lanes, 12);
	ck_assert(returns("a"));
	lanes_rows_back(lanes, lane_of_name("a"), LANE_NONE);
	ck_assert(!bars("a", 16));
	ck_assert_uint_eq(lanes_count(lanes), 0);
	ck_assert_uint_eq(lanes_nrows(lanes), 0);
	ck_assert_uint_eq(p1.nblocked, 0);
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
	lanes_rows_back(lanes, lane_of_name("b"), LANE_NONE);
	ck_assert_str_eq(lifted(), "10 20");
}
END_TEST

START_TEST(parked_head_comes_when_it_is_due)
{
	put("a", 10, 1000);
	put("a", 11, INT64_MAX);
	park("a", "10 11");
	ck_assert(lane_of_name("a")->head_parked);
	ck_assert_uint_eq(p1.nblocked, 0);
	ck_assert_int_eq(lanes_next_due(lanes), 1000);
	ck_assert_str_eq(due(1000, 16), "");
	ck_assert(!returns("a"));
	lanes_head_back(lanes, lane_of_name("a"));
	ck_assert_str_eq(due(1000, 16), "10");
	ck_assert(lanes_has_row(lanes, 10));
	lanes_row_gone(lanes, 10);
	ck_assert(returns("a"));
	ck_assert(bars("a", 11));
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
	ck_assert(bars("a", 11));
	ck_assert(bars("a", 21));
	ck_assert(!bars("a", 9));
	ck_assert_uint_eq(lanes->nreturning, 1);
	lanes_rows_back(lanes, lane_of_name("a"), LANE_NONE);
	ck_assert_str_eq(lifted(), "10");
}
END_TEST

START_TEST(halted_lane_goes_so_far)
{
	put("a", 10, 1000);
	put("a", 11, INT64_MAX);
	lanes_halt(lanes, lane_of_name("a"), &p1, 12);
	put("a", 13, INT64_MAX);
	ck_assert_str_eq(due(1000, 16), "10");
	lanes_row_gone(lanes, 10);
	ck_assert(!bars("a", 11));
	ck_assert(!bars("a", 12));
	ck_assert(bars("a", 13));
	ck_assert(!returns("a"));
	/* The dead one, put back: it may fail and go like any other. */
	put("a", 12, 3000);
	ck_assert_str_eq(due(3000, 16), "12");
	lanes_row_gone(lanes, 12);
	ck_assert(!lanes_has_row(lanes, 12));
	ck_assert(lanes_has_row(lanes, 13));
	ck_assert_uint_eq(p1.nblocked, 1);
	ck_assert(bars("a", 13));
	/* Not a later one, wherever it halted at first. */
	lanes_halt(lanes, lane_of_name("a"), &p1, 20);
	ck_assert(bars("a", 13));
	lanes_halt(lanes, lane_of_name("a"), &p1, 5);
	ck_assert(bars("a", 6));
	ck_assert_str_eq(lifted(), "");
}
END_TEST

/* What is tried must be able to go, or it is tried all the time. */
START_TEST(head_behind_a_halt_is_not_tried)
{
	put("a", 10, 1000);
	put("a", 11, INT64_MAX);
	if (_i == 1)
		park("a", "10");
	if (_i == 2)
		park("a", "10 11");
	lanes_halt(lanes, lane_of_name("a"), &p1, 5);
	ck_assert_int_eq(lanes_next_due(lanes), INT64_MAX);
	ck_assert_str_eq(due(INT64_MAX - 1, 16), "");
	ck_assert(!returns("a"));
	ck_assert(bars("a", 10));
	ck_assert(!bars("a", 5));
	put("a", 4, 2000);
	ck_assert_str_eq(due(2000, 16), "4");
	lanes_row_gone(lanes, 4);
	ck_assert(bars("a", 10));
	ck_assert_uint_eq(lanes->nreturning, 0);
}
END_TEST

START_TEST(lanes_are_loaded)
{
	struct blocked_lane	*l = load("a", 10, 1000, LANE_NONE, false);

	ck_assert_ptr_eq(l, lane_of_name("a"));
	ck_assert(lanes_has_row(lanes, 10));
	ck_assert_str_eq(due(1000, 16), "10");
	ck_assert(bars("a", 11));
	load("b", 20, 500, 21, true);
	ck_assert(!lanes_has_row(lanes, 20));
	ck_assert_int_eq(lanes_next_due(lanes), 500);
	ck_assert(!returns("b"));
	load("c", LANE_NONE, INT64_MAX, 30, false);
	ck_assert(returns("c"));
	ck_assert(bars("c", 30));
	ck_assert(!bars("c", 29));
	ck_assert_uint_eq(lanes->nreturning, 1);
	lanes_halt(lanes, lane_of_name("c"), &p1, 25);
	ck_assert_uint_eq(lanes->nreturning, 0);
	ck_assert(bars("c", 26));
	ck_assert_uint_eq(p1.nblocked, 1);
	lanes_forget_part(lanes, &p1);
	ck_assert_uint_eq(lanes_count(lanes), 0);
	ck_assert_uint_eq(p1.nblocked, 0);
	ck_assert_uint_eq(lanes->nreturning, 0);
	ck_assert_int_eq(lanes_next_due(lanes), INT64_MAX);
}
END_TEST

/*
 * Whoever comes next reads the record, and may park rows under it: what is
 * still to be deleted here must not take that away when we are back.
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
		ck_assert(bars("a", 11));
		ck_assert_uint_eq(lane_of_name("a")->record, 0);
		lanes_row_gone(lanes, 5);
		ck_assert_uint_eq(lanes_count(lanes), 0);
	} else if (_i == 1) {		/* everything is lost */
		lanes_forget_part(lanes, &p1);
		ck_assert_uint_eq(lanes_count(lanes), 0);
	} else {			/* the rows elsewhere are lost */
		lanes_forget_part(lanes, &p2);
		ck_assert(bars("a", 11));
		ck_assert_str_eq(due(1000, 16), "10");
		lanes_row_gone(lanes, 10);
		ck_assert(returns("a"));
	}
	ck_assert_str_eq(lifted(), "");
	ck_assert_uint_eq(p1.nblocked + p2.nblocked, 0);
	ck_assert_uint_eq(lanes->nreturning, _i == 2);
}
END_TEST

/* A slow but obvious hold to compare with. */
#define NLANES		8
#define NSEQUENCES	200

static struct {
	bool	held[NSEQUENCES];
	int	head[NLANES];		/* NSEQUENCES: the lane is free */
	int64_t	due[NLANES];
} model;

static void
model_put(int sequence, int64_t due_at)
{
	int	lane = sequence % NLANES;

	model.held[sequence] = true;
	if (sequence > model.head[lane])
		return;
	model.head[lane] = sequence;
	model.due[lane] = due_at;
}

static void
model_gone(int sequence)
{
	int	lane = sequence % NLANES;

	if (model.held[sequence] && model.head[lane] == sequence) {
		for (int i = lane; i < NSEQUENCES; i += NLANES)
			model.held[i] = false;
		model.head[lane] = NSEQUENCES;
		model.due[lane] = INT64_MAX;
	}
	model.held[sequence] = false;
}

static void
compare(void)
{
	int64_t	next = INT64_MAX;
	size_t	nblocked[2] = { 0, 0 }, nlanes = 0;

	for (int i = 1; i < NSEQUENCES; i++) {
		char lane[2] = { (char)('a' + i % NLANES), '\0' };

		ck_assert(lanes_has_row(lanes, (uint64_t)i) == model.held[i]);
		ck_assert(bars(lane, (uint64_t)i) ==
		    (model.head[i % NLANES] < i));
		nblocked[i % NLANES % 2] += model.held[i];
	}
	for (int l = 0; l < NLANES; l++) {
		nlanes += model.head[l] < NSEQUENCES;
		if (model.due[l] < next)
			next = model.due[l];
	}
	ck_assert_uint_eq(p1.nblocked, nblocked[0]);
	ck_assert_uint_eq(p2.nblocked, nblocked[1]);
	ck_assert_uint_eq(lanes_count(lanes), nlanes);
	ck_assert_int_eq(lanes_next_due(lanes), next);
}

START_TEST(hold_agrees_with_a_model)
{
	srand((unsigned)_i);
	memset(&model, 0, sizeof(model));
	for (int l = 0; l < NLANES; l++) {
		model.head[l] = NSEQUENCES;
		model.due[l] = INT64_MAX;
	}
	for (int round = 0; round < 1000; round++) {
		int	i = 1 + rand() % (NSEQUENCES - 1);
		int64_t	due_at = rand() % 5 == 0 ? INT64_MAX : rand() % 1000;
		char	lane = (char)('a' + i % NLANES);

		if (rand() % 3 > 0) {
			put_in(i % NLANES % 2 == 0 ? &p1 : &p2,
			    (struct bytes){ &lane, 1 }, (uint64_t)i, due_at);
			model_put(i, due_at);
		} else {
			lanes_row_gone(lanes, (uint64_t)i);
			model_gone(i);
		}
		if (round % 10 == 0)
			compare();
	}
	compare();
}
END_TEST

/*
 * The same for lanes on record, as parked.c treats them: where each row is, and
 * everything else follows from that.  Lane l is in the partition l mod 2.
 */
enum place { NOWHERE, HELD, PARKED };

static struct {
	enum place	at[NSEQUENCES];
	int		head[NLANES];		/* NSEQUENCES: none */
	int		halted[NLANES];
	int64_t		due[NLANES];
	bool		waits[NLANES], recorded[NLANES];
	size_t		nlifted[2];
} yard;

#define FOR_ROWS(i, l)	\
	for (int i = (l) == 0 ? NLANES : (l); i < NSEQUENCES; i += NLANES)

static struct bytes
yard_lane(int l)
{
	static char	names[NLANES];

	names[l] = (char)('a' + l);
	return (struct bytes){ &names[l], 1 };
}

static struct part *
yard_part(int l)
{
	return l % 2 == 0 ? &p1 : &p2;
}

/* The first that is parked, but for the head. */
static int
yard_parked(int l)
{
	FOR_ROWS(i, l)
		if (yard.at[i] == PARKED && i != yard.head[l])
			return i;
	return NSEQUENCES;
}

static int
yard_behind(int l)
{
	int	parked = yard_parked(l);

	return yard.halted[l] < parked ? yard.halted[l] + 1 : parked;
}

static void
yard_clear(int l)
{
	FOR_ROWS(i, l)
		yard.at[i] = NOWHERE;
	yard.head[l] = yard.halted[l] = NSEQUENCES;
	yard.due[l] = INT64_MAX;
	yard.waits[l] = yard.recorded[l] = false;
}

static bool
yard_returns(int l)
{
	return yard.waits[l] && yard.head[l] == NSEQUENCES &&
	    yard.halted[l] == NSEQUENCES && yard_parked(l) < NSEQUENCES;
}

static void
yard_put(int i, int64_t due_at)
{
	int	l = i % NLANES, behind = yard_behind(l);

	if (yard.at[i] == PARKED)	/* the scan does not meet it */
		return;
	put_in(yard_part(l), yard_lane(l), (uint64_t)i, due_at);
	yard.waits[l] = true;
	yard.at[i] = HELD;
	if (i <= yard.head[l] && i < behind) {
		yard.head[l] = i;
		yard.due[l] = due_at;
	}
}

static void
yard_drop(int l, int before)
{
	FOR_ROWS(i, l)
		if (i < before && yard.at[i] == HELD)
			yard.at[i] = NOWHERE;
}

static void
yard_gone(int i)
{
	int	l = i % NLANES;

	lanes_row_gone(lanes, (uint64_t)i);
	if (yard.at[i] != HELD)
		return;
	yard.at[i] = NOWHERE;
	if (yard.head[l] != i)
		return;
	yard.head[l] = NSEQUENCES;
	yard.due[l] = INT64_MAX;
	yard_drop(l, yard_behind(l));
	if (yard_behind(l) == NSEQUENCES) {
		yard.nlifted[l % 2] += yard.recorded[l];
		yard_clear(l);
	}
}

static void
yard_park(int l, size_t max)
{
	struct blocked_lane	*lane = lanes_find(lanes, yard_lane(l));
	uint64_t		 list[NSEQUENCES];
	size_t			 n = 0;

	if (lane == NULL || (!yard.recorded[l] && yard.head[l] == NSEQUENCES))
		return;
	if (lane->record == 0)
		lane->record = lane->head;
	lane->home = yard_part(l);
	yard.recorded[l] = true;
	if (max % 2 == 0 && lane->head != LANE_NONE && !lane->head_parked)
		list[n++] = lane->head;
	n += lane_list_rows(lane, list + n, max);
	lanes_parked(lanes, lane, list, n);
	for (size_t i = 0; i < n; i++) {
		ck_assert(yard.at[list[i]] == HELD);
		yard.at[list[i]] = PARKED;
	}
}

/* The head, or the rows before the n-th that is parked. */
static void
yard_back(int l, int n)
{
	struct blocked_lane	*lane = lanes_find(lanes, yard_lane(l));
	int			 next = NSEQUENCES;

	if (yard.head[l] < NSEQUENCES && yard.at[yard.head[l]] == PARKED) {
		lanes_head_back(lanes, lane);
		yard.at[yard.head[l]] = HELD;
	}
	if (!yard_returns(l))
		return;
	FOR_ROWS(i, l)
		if (yard.at[i] == PARKED && n-- == 0)
			next = i;
	lanes_rows_back(lanes, lane, next == NSEQUENCES ? LANE_NONE : (uint64_t)next);
	FOR_ROWS(i, l)
		if (i < next)
			yard.at[i] = NOWHERE;
	if (next == NSEQUENCES) {
		yard.nlifted[l % 2] += yard.recorded[l];
		yard_clear(l);
	}
}

static void
yard_halt(int l, int sequence)
{
	struct blocked_lane	*lane = lanes_find(lanes, yard_lane(l));

	if (lane == NULL)
		return;
	if (lane->record == 0)
		lane->record = 1;
	lane->home = yard_part(l);
	yard.recorded[l] = true;
	lanes_halt(lanes, lane, yard_part(l), (uint64_t)sequence);
	if (sequence < yard.halted[l])
		yard.halted[l] = sequence;
	if (yard.head[l] > yard.halted[l]) {
		yard.head[l] = NSEQUENCES;
		yard.due[l] = INT64_MAX;
	}
}

static void
yard_forget(int part)
{
	lanes_forget_part(lanes, yard_part(part));
	for (int l = part; l < NLANES; l += 2)
		yard_clear(l);
	yard.nlifted[part] = 0;
}

static void
yard_compare(void)
{
	int64_t	next = INT64_MAX;
	size_t	nblocked[2] = { 0, 0 }, nlanes = 0, nreturning = 0;

	for (int i = 1; i < NSEQUENCES; i++) {
		int l = i % NLANES;

		ck_assert(lanes_has_row(lanes, (uint64_t)i) ==
		    (yard.at[i] == HELD));
		ck_assert(lanes_blocks(lanes, yard_lane(l), (uint64_t)i) ==
		    (yard.head[l] < i || yard_behind(l) <= i));
		nblocked[l % 2] += yard.at[i] == HELD;
	}
	for (int l = 0; l < NLANES; l++) {
		nlanes += yard.waits[l];
		nreturning += yard_returns(l);
		if (yard.due[l] < next)
			next = yard.due[l];
	}
	ck_assert_uint_eq(p1.nblocked, nblocked[0]);
	ck_assert_uint_eq(p2.nblocked, nblocked[1]);
	ck_assert_uint_eq(lanes_nrows(lanes), nblocked[0] + nblocked[1]);
	ck_assert_uint_eq(lanes_count(lanes), nlanes);
	ck_assert_uint_eq(lanes->nreturning, nreturning);
	ck_assert_uint_eq(lanes->nlifted, yard.nlifted[0] + yard.nlifted[1]);
	ck_assert_int_eq(lanes_next_due(lanes), next);
}

static void
yard_step(void)
{
	int	i = 1 + rand() % (NSEQUENCES - 1), l = i % NLANES;

	switch (rand() % 12) {
	case 0: case 1: case 2:
		yard_gone(yard.head[l] < NSEQUENCES ? yard.head[l] : i);
		break;
	case 3: case 4:
		yard_park(l, (size_t)(rand() % 5));
		break;
	case 5: case 6:
		yard_back(l, rand() % 4);
		break;
	case 7:
		if (rand() % 10 == 0)
			yard_halt(l, i);
		if (rand() % 20 == 0)
			yard_forget(i % 2);
		break;
	default:
		yard_put(i, rand() % 5 == 0 ? INT64_MAX : rand() % 1000);
	}
}

START_TEST(records_agree_with_a_model)
{
	srand((unsigned)_i);
	memset(&yard, 0, sizeof(yard));
	for (int l = 0; l < NLANES; l++)
		yard_clear(l);
	for (int round = 0; round < 3000; round++) {
		yard_step();
		if (round % 5 == 0)
			yard_compare();
	}
	yard_compare();
	yard_forget(0);
	yard_forget(1);
	yard_compare();
}
END_TEST

/*
 * slot: children
 */

#define ID		"host:03:0123456789abcdef"
#define NEVER		INT64_MAX

static struct scoreboard_line	line;
static struct slot		slot;
static int			reports = -1;

/* Tells each signal it gets, and lives until it is killed. */
static void __attribute__((noreturn))
be_a_child(int fd, const sigset_t *set)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		int signo;

		if (sigwait(set, &signo) == 0 &&
		    write(fd, &signo, sizeof(signo)) < 0)
			_exit(1);
	}
}

static void
start_child(int64_t now)
{
	sigset_t	set, old;
	int		fds[2];
	pid_t		pid;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, &old);
	ck_assert_int_eq(pipe(fds), 0);
	pid = fork();
	if (pid == 0)
		be_a_child(fds[1], &set);
	sigprocmask(SIG_SETMASK, &old, NULL);
	close(fds[1]);
	reports = fds[0];
	line.alive_at = now;
	slot_started(&slot, pid, 1, now);
	strlcpy(slot.id, ID, sizeof(slot.id));
}

/* The next signal the child has got; 0 when it is gone. */
static int
next_signal(void)
{
	struct pollfd	p = { reports, POLLIN, 0 };
	int		signo = 0;

	ck_assert_int_eq(poll(&p, 1, 3000), 1);
	ck_assert_int_ge(read(reports, &signo, sizeof(signo)), 0);
	return signo;
}

/* What comes now comes last: the kernel hands out lower numbers first. */
static void
no_signal(void)
{
	ck_assert_int_eq(kill(slot.pid, SIGRTMIN), 0);
	ck_assert_int_eq(next_signal(), SIGRTMIN);
}

/* Waits for the end of a child that was killed. */
static int
reap(void)
{
	int	status;

	ck_assert_int_eq(next_signal(), 0);
	ck_assert_int_eq(waitpid(slot.pid, &status, 0), slot.pid);
	close(reports);
	reports = -1;
	return status;
}

static void
slot_setup(void)
{
	log_to_file(LOG_LVL_INFO, false);
	memset(&line, 0, sizeof(line));
	line.state = SCOREBOARD_STARTING;
	slot_init(&slot, 3, "worker", &line);
}

static void
slot_teardown(void)
{
	if (reports < 0)
		return;
	kill(slot.pid, SIGKILL);
	reap();
}

START_TEST(asked_to_go_once)
{
	bool	leave = _i == 0;

	start_child(1000);
	slot_ask(&slot, leave ? ASK_LEAVE : ASK_HANDOVER, 5000);
	ck_assert_int_eq(next_signal(), leave ? SIGTERM : SIGUSR2);
	slot_ask(&slot, leave ? ASK_LEAVE : ASK_HANDOVER, 5000);
	slot_ask(&slot, leave ? ASK_LEAVE : ASK_HANDOVER, 6000);
	no_signal();
	ck_assert_int_eq(slot.kill_at, 5000);
	ck_assert_int_eq(slot_deadline(&slot, 0), 5000);
	ck_assert(slot.asked == (leave ? ASK_LEAVE : ASK_HANDOVER));
}
END_TEST

START_TEST(leaving_overrules_handing_over)
{
	start_child(1000);
	slot_ask(&slot, ASK_HANDOVER, 5000);
	ck_assert_int_eq(next_signal(), SIGUSR2);
	slot_ask(&slot, ASK_LEAVE, 9000);
	ck_assert_int_eq(next_signal(), SIGTERM);
	ck_assert_int_eq(slot.kill_at, 5000);
	slot_ask(&slot, ASK_HANDOVER, 9000);
	no_signal();
	ck_assert(slot.asked == ASK_LEAVE);
}
END_TEST

/* The second SIGTERM tells a worker to hurry. */
START_TEST(nearer_deadline_is_news)
{
	start_child(1000);
	slot_ask(&slot, ASK_LEAVE, 9000);
	ck_assert_int_eq(next_signal(), SIGTERM);
	slot_ask(&slot, ASK_LEAVE, 5000);
	ck_assert_int_eq(next_signal(), SIGTERM);
	ck_assert_int_eq(slot.kill_at, 5000);
	no_signal();
}
END_TEST

START_TEST(nobody_is_asked)
{
	/* kill(0, ...) would be the whole process group. */
	slot_ask(&slot, ASK_LEAVE, 0);
	slot_ask(&slot, ASK_HANDOVER, 0);
	slot_check(&slot, 1, 1000000);
	ck_assert(slot.asked == ASK_NONE);
	ck_assert_int_eq(slot_deadline(&slot, 1), NEVER);
	ck_assert_int_eq(nlogged(), 0);
}
END_TEST

START_TEST(killed_at_its_deadline)
{
	int	status;

	start_child(1000);
	slot_check(&slot, 0, 1000000);
	no_signal();
	slot_ask(&slot, ASK_LEAVE, 5000);
	ck_assert_int_eq(next_signal(), SIGTERM);
	slot_check(&slot, 0, 4999);
	no_signal();
	slot_check(&slot, 0, 5000);
	status = reap();
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), SIGKILL);
	holds(logged(), "worker 3: pid ");
	holds(logged(), "did not stop in time: killed");
	slot_exited(&slot, status, 5001);
	ck_assert_uint_eq(slot.npredecessors, 1);
}
END_TEST

START_TEST(killed_when_it_hangs)
{
	start_child(1000);
	ck_assert_int_eq(slot_deadline(&slot, 0), NEVER);
	ck_assert_int_eq(slot_deadline(&slot, 60000), 61000);
	line.alive_at = 2000;
	ck_assert_int_eq(slot_deadline(&slot, 60000), 62000);
	slot_check(&slot, 60000, 61999);
	slot_check(&slot, 0, 1000000);
	no_signal();
	slot_check(&slot, 60000, 62000);
	ck_assert_int_eq(WTERMSIG(reap()), SIGKILL);
	holds(logged(), " error ");
	holds(logged(), "no sign of life for 60 s: killed");
}
END_TEST

START_TEST(sooner_of_two_deadlines_counts)
{
	start_child(1000);
	slot_ask(&slot, ASK_LEAVE, 5000);
	ck_assert_int_eq(next_signal(), SIGTERM);
	ck_assert_int_eq(slot_deadline(&slot, 60000), 5000);
	ck_assert_int_eq(slot_deadline(&slot, 2000), 3000);
	slot_check(&slot, 2000, 2999);
	no_signal();
	slot_check(&slot, 2000, 3000);
	ck_assert_int_eq(WTERMSIG(reap()), SIGKILL);
}
END_TEST

/* A child without a line on the scoreboard has nowhere to show its life. */
START_TEST(child_without_a_line_does_not_hang)
{
	slot_init(&slot, 0, "printer", NULL);
	start_child(1000);
	ck_assert_int_eq(slot_deadline(&slot, 1), NEVER);
	slot_check(&slot, 1, 1000000);
	no_signal();
	ck_assert(!slot_is_ready(&slot));
}
END_TEST

/* The master asks and checks in every round; the end may take a while. */
START_TEST(kill_is_told_once)
{
	start_child(1000);
	slot_ask(&slot, ASK_LEAVE, 5000);
	ck_assert_int_eq(next_signal(), SIGTERM);
	for (int64_t now = 5000; now < 5300; now += 100) {
		slot_ask(&slot, ASK_LEAVE, 5000);
		slot_check(&slot, 1000, now);
	}
	reap();
	ck_assert_int_eq(nlogged(), 1);
}
END_TEST

/*
 * slot: one life after the other
 */

/* A life without a process: nothing here sends a signal. */
static void
live(int64_t born, int64_t died, enum scoreboard_state state,
    enum slot_ask asked, int status)
{
	slot_started(&slot, 1 << 30, 2, born);
	strlcpy(slot.id, ID, sizeof(slot.id));
	line.state = state;
	slot.asked = asked;
	if (asked != ASK_NONE)
		slot.kill_at = died + 1000;
	slot_exited(&slot, status, died);
}

#define EXIT(code)	((code) << 8)

static void
near(int64_t value, int64_t middle)
{
	ck_assert_int_ge(value, middle - middle / 5);
	ck_assert_int_le(value, middle + middle / 5);
}

START_TEST(empty_slot_is_due)
{
	ck_assert(slot_is_due(&slot, 0));
	ck_assert(!slot_is_ready(&slot));
	slot_started(&slot, 1 << 30, 7, 1000);
	ck_assert(!slot_is_due(&slot, 1000000));
	ck_assert_uint_eq(slot.gen, 7);
	ck_assert_int_eq(slot.started_at, 1000);
	ck_assert(slot.asked == ASK_NONE);
	ck_assert_int_eq(slot_deadline(&slot, 0), NEVER);
}
END_TEST

START_TEST(fork_that_fails_is_a_death)
{
	int64_t	now = 1000, expected = 100;

	for (int i = 0; i < 12; i++) {
		slot_started(&slot, -1, 1, now);
		ck_assert_int_eq(slot.pid, 0);
		near(slot.start_at - now, expected);
		ck_assert(!slot_is_due(&slot, slot.start_at - 1));
		ck_assert(slot_is_due(&slot, slot.start_at));
		now = slot.start_at;
		expected = expected * 2 > 60000 ? 60000 : expected * 2;
	}
	ck_assert_uint_eq(slot.npredecessors, 0);
}
END_TEST

START_TEST(crashes_slow_it_down)
{
	int64_t	now = 1000, expected = 100;

	for (int i = 0; i < 12; i++) {
		live(now, now + 50, SCOREBOARD_STARTING, ASK_NONE, SIGSEGV);
		near(slot.start_at - now - 50, expected);
		ck_assert(!slot_is_due(&slot, slot.start_at - 1));
		now = slot.start_at;
		ck_assert(slot_is_due(&slot, now));
		expected = expected * 2 > 60000 ? 60000 : expected * 2;
	}
}
END_TEST

static const struct {
	int64_t			lived_ms;
	enum scoreboard_state	state;
	bool			trusted;
} lives[] = {
	{ 1000, SCOREBOARD_RUNNING, true },
	{ 999, SCOREBOARD_RUNNING, false },
	{ 1000, SCOREBOARD_NO_DATABASE, true },	/* waits, does not crash */
	{ 1000, SCOREBOARD_NO_BROKER, true },
	{ 1000, SCOREBOARD_PAUSED, true },
	{ 3600000, SCOREBOARD_STARTING, false },
	{ 3600000, SCOREBOARD_FREE, false },
	{ 0, SCOREBOARD_RUNNING, false },
};

START_TEST(steady_life_is_trusted_again)
{
	int64_t	now = 1000;

	for (int i = 0; i < 4; i++)
		live(now, now, SCOREBOARD_STARTING, ASK_NONE, SIGSEGV);
	live(now, now + lives[_i].lived_ms, lives[_i].state, ASK_NONE,
	    SIGSEGV);
	near(slot.start_at - now - lives[_i].lived_ms,
	    lives[_i].trusted ? 100 : 1600);
}
END_TEST

static const int	statuses[] = {
	EXIT(0), EXIT(EXIT_HANDED_OVER), EXIT(1), SIGKILL
};

START_TEST(going_as_asked_costs_nothing)
{
	for (int i = 0; i < 5; i++)
		live(1000, 1000, SCOREBOARD_STARTING, ASK_NONE, SIGSEGV);
	live(1000, 2000, SCOREBOARD_STARTING, ASK_HANDOVER, statuses[_i]);
	ck_assert_int_eq(slot.start_at, 2000);
	ck_assert(slot_is_due(&slot, 2000));
	live(2000, 2000, SCOREBOARD_STARTING, ASK_NONE, SIGSEGV);
	near(slot.start_at - 2000, 100);
}
END_TEST

START_TEST(death_leaves_an_empty_slot)
{
	live(1000, 5000, SCOREBOARD_RUNNING, ASK_LEAVE, EXIT(0));
	ck_assert_int_eq(slot.pid, 0);
	ck_assert_str_eq(slot.id, "");
	ck_assert(slot.asked == ASK_NONE);
	ck_assert_int_eq(slot.kill_at, NEVER);
	ck_assert_uint_eq(line.state, SCOREBOARD_FREE);
	/* Nothing of it is left for the next one. */
	slot_started(&slot, 1 << 30, 2, 6000);
	ck_assert_int_eq(slot_deadline(&slot, 0), NEVER);
}
END_TEST

static const struct {
	enum slot_ask	 asked;
	int		 status;
	bool		 has_predecessor;
	const char	*obituary;
} deaths[] = {
	{ ASK_NONE, SIGKILL, true, "was killed by signal 9 (Killed) after "
	  "4000 ms; next start in " },
	{ ASK_NONE, EXIT(1), true, "exited with status 1 after 4000 ms" },
	{ ASK_NONE, EXIT(0), false, "exited with status 0 after 4000 ms" },
	{ ASK_NONE, EXIT(EXIT_HANDED_OVER), true, "exited with status " },
	{ ASK_HANDOVER, EXIT(EXIT_HANDED_OVER), true, "successor after 4 s" },
	{ ASK_HANDOVER, EXIT(0), false, "left as asked after 4 s" },
	{ ASK_HANDOVER, EXIT(1), true, "exited with status 1" },
	{ ASK_HANDOVER, SIGSEGV, true, "was killed by signal 11" },
	{ ASK_LEAVE, EXIT(0), false, "left as asked after 4 s" },
	{ ASK_LEAVE, EXIT(EXIT_HANDED_OVER), true, "successor after 4 s" },
	{ ASK_LEAVE, EXIT(1), true, "exited with status 1" },
	{ ASK_LEAVE, SIGKILL, true, "was killed by signal 9" },
};

START_TEST(death_has_its_predecessor_and_obituary)
{
	live(1000, 5000, SCOREBOARD_RUNNING, deaths[_i].asked,
	    deaths[_i].status);
	ck_assert_uint_eq(slot.npredecessors, deaths[_i].has_predecessor);
	if (deaths[_i].has_predecessor) {
		ck_assert_str_eq(slot.predecessors[0].id, ID);
		ck_assert_int_eq(slot.predecessors[0].died_at, 5000);
	}
	ck_assert_int_eq(nlogged(), 1);
	holds(logged(), "worker 3: pid 1073741824 ");
	holds(logged(), deaths[_i].obituary);
}
END_TEST

/* It had taken their places before it could leave. */
START_TEST(who_leaves_takes_the_predecessors_along)
{
	slot_inherit(&slot, "older", 500);
	slot_inherit(&slot, "old", 1000);
	live(2000, 3000, SCOREBOARD_RUNNING, ASK_NONE, SIGKILL);
	ck_assert_uint_eq(slot.npredecessors, 3);
	ck_assert_str_eq(slot.predecessors[0].id, "older");
	ck_assert_str_eq(slot.predecessors[2].id, ID);
	live(4000, 5000, SCOREBOARD_RUNNING, ASK_LEAVE, EXIT(0));
	ck_assert_uint_eq(slot.npredecessors, 0);
}
END_TEST

START_TEST(child_without_an_id_has_no_predecessor)
{
	slot_started(&slot, 1 << 30, 1, 1000);
	slot_exited(&slot, SIGKILL, 1001);
	ck_assert_uint_eq(slot.npredecessors, 0);
}
END_TEST

START_TEST(predecessors_are_pruned)
{
	slot_inherit(&slot, "old", 1000);
	slot_inherit(&slot, "older", 500);
	slot_inherit(&slot, "young", 2000);
	/* Nobody has taken the place yet. */
	slot_prune_predecessors(&slot, 30000, 100000);
	ck_assert_uint_eq(slot.npredecessors, 3);
	slot_started(&slot, 1 << 30, 1, 3000);
	line.state = SCOREBOARD_STARTING;
	slot_prune_predecessors(&slot, 30000, 100000);
	ck_assert_uint_eq(slot.npredecessors, 3);
	line.state = SCOREBOARD_RUNNING;
	slot_prune_predecessors(&slot, 30000, 30499);
	ck_assert_uint_eq(slot.npredecessors, 3);
	slot_prune_predecessors(&slot, 30000, 31000);
	ck_assert_uint_eq(slot.npredecessors, 1);
	ck_assert_str_eq(slot.predecessors[0].id, "young");
	slot_prune_predecessors(&slot, 30000, 32000);
	ck_assert_uint_eq(slot.npredecessors, 0);
}
END_TEST

START_TEST(oldest_predecessor_makes_room)
{
	char	id[IDENT_SIZE];

	for (int i = 0; i < SLOT_PREDECESSORS + 2; i++) {
		snprintf(id, sizeof(id), "predecessor %d", i);
		slot_inherit(&slot, id, i);
	}
	ck_assert_uint_eq(slot.npredecessors, SLOT_PREDECESSORS);
	ck_assert_str_eq(slot.predecessors[0].id, "predecessor 2");
	ck_assert_int_eq(slot.predecessors[0].died_at, 2);
	ck_assert_str_eq(slot.predecessors[SLOT_PREDECESSORS - 1].id, id);
}
END_TEST

static void
add_hold_tests(Suite *s)
{
	TCase	*tc = tcase_create("hold");

	tcase_add_checked_fixture(tc, hold_setup, hold_teardown);
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
	tcase_add_test(tc, picks_know_their_part);
	tcase_add_test(tc, parked_rows_are_out_of_the_way);
	tcase_add_test(tc, rows_come_back_in_order);
	tcase_add_test(tc, record_goes_with_its_lane);
	tcase_add_test(tc, parked_head_comes_when_it_is_due);
	tcase_add_loop_test(tc, parked_head_stays_parked_behind_a_new_one, 0,
	    2);
	tcase_add_test(tc, halted_lane_goes_so_far);
	tcase_add_loop_test(tc, head_behind_a_halt_is_not_tried, 0, 3);
	tcase_add_test(tc, lanes_are_loaded);
	tcase_add_test(tc, forgotten_records_are_not_lifted);
	tcase_add_loop_test(tc, lane_outlives_the_home_of_its_record, 0, 3);
	suite_add_tcase(s, tc);
}

/* The tag: valgrind would take ten minutes over these. */
static void
add_model_tests(Suite *s)
{
	TCase	*tc = tcase_create("model");

	tcase_set_tags(tc, "long");
	tcase_add_checked_fixture(tc, hold_setup, hold_teardown);
	tcase_add_loop_test(tc, hold_agrees_with_a_model, 0, 8);
	tcase_add_loop_test(tc, records_agree_with_a_model, 0, 16);
	suite_add_tcase(s, tc);
}

static void
add_slot_tests(Suite *s)
{
	TCase	*tc = tcase_create("slot");

	tcase_add_unchecked_fixture(tc, dir_make, dir_remove);
	tcase_add_checked_fixture(tc, slot_setup, slot_teardown);
	tcase_add_loop_test(tc, asked_to_go_once, 0, 2);
	tcase_add_test(tc, leaving_overrules_handing_over);
	tcase_add_test(tc, nearer_deadline_is_news);
	tcase_add_test(tc, nobody_is_asked);
	tcase_add_test(tc, killed_at_its_deadline);
	tcase_add_test(tc, killed_when_it_hangs);
	tcase_add_test(tc, sooner_of_two_deadlines_counts);
	tcase_add_test(tc, child_without_a_line_does_not_hang);
	tcase_add_test(tc, kill_is_told_once);
	tcase_add_test(tc, empty_slot_is_due);
	tcase_add_test(tc, fork_that_fails_is_a_death);
	tcase_add_test(tc, crashes_slow_it_down);
	tcase_add_loop_test(tc, steady_life_is_trusted_again, 0,
	    NROWS(lives));
	tcase_add_loop_test(tc, going_as_asked_costs_nothing, 0,
	    NROWS(statuses));
	tcase_add_test(tc, death_leaves_an_empty_slot);
	tcase_add_loop_test(tc, death_has_its_predecessor_and_obituary, 0,
	    NROWS(deaths));
	tcase_add_test(tc, who_leaves_takes_the_predecessors_along);
	tcase_add_test(tc, child_without_an_id_has_no_predecessor);
	tcase_add_test(tc, predecessors_are_pruned);
	tcase_add_test(tc, oldest_predecessor_makes_room);
	suite_add_tcase(s, tc);
}

int
main(void)
{
	Suite	*s = suite_create("hold");

	add_hold_tests(s);
	add_model_tests(s);
	add_slot_tests(s);
	return run_suite(s);
}
