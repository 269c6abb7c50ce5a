/*
 * check_candidates.c - looks at partitions that somebody has rung for
 *
 * Four partitions are ours, p00 to p03; rows 1 and 2 wait in p01, 3 in p02.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "lib/frame.h"
#include "lib/stages.h"
#include "lib/todo.h"
#include "worker/poll_interval.h"

static struct fleet	 fleet;
static struct backlog	 backlog;
static struct picks	 picks;

static struct part *
part(const char *label)
{
	struct part	*p = parts_find(&backlog.parts,
			    (struct bytes){ label, strlen(label) });

	ck_assert_msg(p != NULL, "%s is not ours", label);
	return p;
}

static void
own(unsigned n)
{
	char	label[16];

	sql("DELETE FROM outbox_partitions");
	for (unsigned i = 0; i < n; i++) {
		snprintf(label, sizeof(label), "p%02u", i);
		add_lease(label, ME, 1);
	}
	fleet_init(&fleet, conf, st);
	backlog_init(&backlog, conf, st);
	fleet.lease_until = INT64_MAX;
	do {
		ck_ok(adopt_round(&fleet, &backlog, 0, &e));
		ck_ok(parked_round(&backlog.parked, 100, 0, &e));
	} while (parts_have_fresh(&backlog.parts));
	ck_assert_uint_eq(fleet.parts.n, n);
}

static void
look_begin(void)
{
	begin_store();
	conf->worker.lease_renew = 2000;
	store_free(st);
	st = store_of(conf, ME);
	ck_ok(store_register(st, &e));
	memset(&picks, 0, sizeof(picks));
	own(4);
	add_rows(1, 2, "'p01'");
	add_rows(3, 3, "'p02'");
}

static void
look_end(void)
{
	picks_free(&picks);
	backlog_free(&backlog);
	fleet_free(&fleet);
	end_store();
}

static bool
ring(const char *label)
{
	struct label_set	which = { { 0 } };

	label_set_add(&which, label, strlen(label));
	return candidates_wake(&backlog.candidates, &which, clock_ms());
}

/* "1 2 3": the rows that a look gives out. */
static const char *
found(bool narrow)
{
	static char	text[4096];
	size_t		len = 0;

	picks_free(&picks);
	memset(&picks, 0, sizeof(picks));
	backlog.candidates.narrow = narrow;
	ck_ok(candidates_pick(&backlog.candidates, &picks, 100, &e));
	text[0] = '\0';
	for (size_t i = 0; i < picks.n; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
		    "%s%llu", i == 0 ? "" : " ",
		    (unsigned long long)picks.sequences[i]);
	return text;
}

/* The milliseconds of a ring are over. */
static void
let_pass(const char *label)
{
	for (int64_t until = patience();
	    clock_ms() < part(label)->woken_at + POLL_SOON_MS; )
		wait_more(&until, "a ring to be old");
}

START_TEST(narrow_look_goes_where_it_rang)
{
	ck_assert(ring("p01"));
	ck_assert(candidates_are_woken(&backlog.candidates));
	ck_assert_str_eq(found(true), "1 2");
	ck_assert(!candidates_are_woken(&backlog.candidates));
	ck_assert(!backlog.candidates.saw_all && !candidates_left_some(&backlog.candidates));
	ck_assert(!candidates_round_is_over(&backlog.candidates, true));
	let_pass("p01");
	ck_assert_str_eq(found(true), "");
	ring("p02");
	ring("p01");
	ck_assert_str_eq(found(true), "1 2 3");
	ck_assert_str_eq(found(false), "1 2 3");
	ck_assert(backlog.candidates.saw_all);
}
END_TEST

/* What the server is asked is about that partition and no other. */
START_TEST(narrow_look_reads_what_it_names)
{
	add_rows(4, 40, "'p03'");
	log_statements();
	store_free(st);
	backlog.candidates.store = st = store_of(conf, ME);
	ring("p01");
	ck_assert_str_eq(found(true), "1 2");
	sql("SET GLOBAL general_log = 0");
	ck_sql("1", "SELECT COUNT(*) " STATEMENTS "AND argument LIKE '%%p01%%'");
	ck_sql("0", "SELECT COUNT(*) " STATEMENTS
	    "AND argument REGEXP 'p00|p02|p03'");
}
END_TEST

START_TEST(foreign_ring_is_none)
{
	ck_assert(!ring("p44"));
	ck_assert(!candidates_are_woken(&backlog.candidates));
	ck_assert_str_eq(found(true), "");
}
END_TEST

/* A row may be heard of before it can be read. */
START_TEST(ring_is_repeated_when_it_is_old)
{
	ring("p03");
	ck_assert_str_eq(found(_i == 0), _i == 0 ? "" : "1 2 3");
	ck_assert(candidates_are_woken(&backlog.candidates));
	let_pass("p03");
	add_rows(4, 4, "'p03'");
	ck_assert_str_eq(found(true), "4");
	ck_assert(!candidates_are_woken(&backlog.candidates));
	ck_assert_str_eq(found(true), "");
	ring("p00");
	let_pass("p00");
	ck_assert_str_eq(found(true), "");
	ck_assert(!candidates_are_woken(&backlog.candidates));
}
END_TEST

/* One row is found; another was rung for as well. */
START_TEST(ring_lasts_for_a_moment)
{
	ring("p01");
	part("p01")->woken_at = clock_ms() + 60000;
	ck_assert_str_eq(found(true), "1 2");
	ck_assert(!candidates_are_woken(&backlog.candidates));
	sql("DELETE FROM outbox WHERE partition_key = 'p01'");
	ring("p02");
	add_rows(4, 4, "'p01'");
	part("p01")->woken_at = clock_ms() + 60000;
	ck_assert_str_eq(found(true), "3 4");
}
END_TEST

/* What the batch had no room for is found again. */
START_TEST(rows_that_are_left_are_rung_for)
{
	add_rows(4, 60, "'p01'");
	ring("p01");
	let_pass("p01");
	picks_free(&picks);
	memset(&picks, 0, sizeof(picks));
	backlog.candidates.narrow = true;
	ck_ok(candidates_pick(&backlog.candidates, &picks, 20, &e));
	ck_assert_uint_eq(picks.n, 20);
	ck_assert(candidates_left_some(&backlog.candidates) && candidates_are_woken(&backlog.candidates));
	candidates_drop(&backlog.candidates);
	candidates_all_done(&backlog.candidates);
	found(true);
	ck_assert_uint_eq(picks.n, 59);
}
END_TEST

/* Rows that are known are not what the ring was for. */
START_TEST(known_rows_answer_no_ring)
{
	lanes_block(backlog.lanes, &(struct wait){ .part = part("p02"),
	    .lane = { "k", 1 }, .key = { "k", 1 }, .sequence = 3,
	    .due_at = INT64_MAX, .why = BLOCK_DELAYED });
	ring("p02");
	ck_assert_str_eq(found(true), "");
	ck_assert(candidates_are_woken(&backlog.candidates));
	add_rows(4, 4, "'p02'");
	ck_assert_str_eq(found(true), "4");
	ck_assert(!candidates_are_woken(&backlog.candidates));
}
END_TEST

/* What one statement has no room for comes with the next. */
START_TEST(many_rings_take_looks)
{
	struct label_set	all;

	fleet_free(&fleet);
	backlog_free(&backlog);
	own(STORE_RANGES + 6);
	add_rows(4, 4, "'p69'");
	label_set_fill(&all);
	ck_assert(candidates_wake(&backlog.candidates, &all, clock_ms()));
	ck_assert_str_eq(found(true), "1 2 3");
	ck_assert(candidates_left_some(&backlog.candidates) && candidates_are_woken(&backlog.candidates));
	found(true);
	ck_assert_uint_gt(picks.n, 0);
	ck_assert_uint_eq(picks.sequences[picks.n - 1], 4);
}
END_TEST

/* What a narrow look has left is where the next one goes. */
START_TEST(narrow_look_goes_on)
{
	add_rows(10, 400, "'p01'");
	ring("p01");
	found(true);
	ck_assert_uint_eq(picks.n, 100);
	ck_assert(candidates_left_some(&backlog.candidates));
	found(true);
	ck_assert_uint_eq(picks.n, 100);
	ck_assert_uint_eq(picks.nranges, 1);
}
END_TEST

/* Statements that read rows, since the last log_statements(). */
static unsigned
nreads(void)
{
	unsigned	n;

	sql("SET GLOBAL general_log = 0");
	n = (unsigned)atoi(sql_text("SELECT COUNT(*) " STATEMENTS
	    "AND argument LIKE 'SELECT%%FROM `outbox`%%'"));
	return n;
}

START_TEST(a_glance_is_one_statement)
{
	backlog_free(&backlog);
	fleet_free(&fleet);
	own(3 * STORE_RANGES);
	add_rows(4, 4, "'p150'");
	add_rows(5, 5, "NULL");
	log_statements();
	ck_assert_str_eq(found(false), "1 2 3 4");
	ck_assert_uint_eq(nreads(), 1);
	/* What comes first is not taken for all. */
	add_rows(6, 5 + STORE_FEW, "'p190'");
	ck_assert_str_ne(found(false), "1 2 3 4");
}
END_TEST

/* The collation decides which labels are the same, also for a glance. */
START_TEST(a_glance_leaves_equal_labels_to_the_server)
{
	sql("ALTER TABLE outbox MODIFY partition_key VARCHAR(64) COLLATE "
	    "utf8mb4_general_ci NULL DEFAULT NULL");
	add_rows(4, 4, _i == 0 ? "'P01'" : "'p01 '");
	add_rows(5, 5, "'p01'");
	ck_assert_str_eq(found(false), "1 2 3 4 5");
	sql("ALTER TABLE outbox MODIFY partition_key VARCHAR(64) COLLATE "
	    "utf8mb4_bin NULL DEFAULT NULL");
}
END_TEST

/* For some collations letters are equal that are none of each other's case. */
START_TEST(a_glance_does_not_pass_an_equal_label)
{
	sql("ALTER TABLE outbox MODIFY partition_key VARCHAR(64) COLLATE "
	    "utf8mb4_roman_ci NULL DEFAULT NULL");
	update_lease("p03", "partition_key = 'vip'");
	fleet_reread(&fleet);
	do {
		ck_ok(adopt_round(&fleet, &backlog, 0, &e));
		ck_ok(parked_round(&backlog.parked, 100, 0, &e));
	} while (parts_have_fresh(&backlog.parts));
	add_rows(4, 4, "'uip'");
	ck_todo(strcmp(found(false), "1 2 3 4") == 0,
	    "a label that is equal by its collation is not ours for a glance");
	/* For a scan it is. */
	ring("vip");
	ck_assert_str_eq(found(true), "4");
	sql("ALTER TABLE outbox MODIFY partition_key VARCHAR(64) COLLATE "
	    "utf8mb4_bin NULL DEFAULT NULL");
}
END_TEST

/* There may be rows of its lane between what was seen and the head. */
START_TEST(head_is_not_taken_beyond_the_scan)
{
	add_rows(4, 300, "'p01'");
	lanes_block(backlog.lanes, &(struct wait){ .part = part("p01"),
	    .lane = { "k300", 4 }, .key = { "k300", 4 }, .sequence = 300,
	    .due_at = 1, .why = BLOCK_DELAYED });
	ck_ok(candidates_pick(&backlog.candidates, &picks, 20, &e));
	ck_assert_uint_gt(picks.n, 0);
	ck_assert_uint_lt(picks.sequences[picks.n - 1], 300);
	sql("DELETE FROM outbox WHERE global_sequence BETWEEN 3 AND 299");
	ck_assert_str_eq(found(false), "1 2 300");
}
END_TEST

static void
add_looks(Suite *s, const struct kind *k)
{
	TCase	*tc = add_case(s, "look", k, k->start, look_begin, look_end);

	tcase_add_test(tc, narrow_look_goes_where_it_rang);
	tcase_add_test(tc, narrow_look_reads_what_it_names);
	tcase_add_test(tc, foreign_ring_is_none);
	tcase_add_loop_test(tc, ring_is_repeated_when_it_is_old, 0, 2);
	tcase_add_test(tc, ring_lasts_for_a_moment);
	tcase_add_test(tc, rows_that_are_left_are_rung_for);
	tcase_add_test(tc, known_rows_answer_no_ring);
	tcase_add_test(tc, many_rings_take_looks);
	tcase_add_test(tc, narrow_look_goes_on);
	tcase_add_test(tc, a_glance_is_one_statement);
	tcase_add_loop_test(tc, a_glance_leaves_equal_labels_to_the_server, 0,
	    2);
	tcase_add_test(tc, a_glance_does_not_pass_an_equal_label);
	tcase_add_test(tc, head_is_not_taken_beyond_the_scan);
}

int
main(void)
{
	return frame_run("look", add_looks);
}
