/*
 * check_candidates.c - which rows a look finds, and by which statements
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

/* "1 2 3": the rows that a look gives out. */
static const char *
found(void)
{
	static char	text[4096];
	size_t		len = 0;

	picks_free(&picks);
	memset(&picks, 0, sizeof(picks));
	ck_ok(candidates_pick(&backlog.candidates, &picks, 100, &e));
	text[0] = '\0';
	for (size_t i = 0; i < picks.n; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
		    "%s%llu", i == 0 ? "" : " ",
		    (unsigned long long)picks.sequences[i]);
	return text;
}

/* Glances with messages, or NOT, since the last log_looks(). */
static unsigned
nglances(const char *not)
{
	sql("SET GLOBAL general_log = 0");
	return (unsigned)atoi(sql_text("SELECT COUNT(*) " STATEMENTS
	    "AND argument LIKE '%%published_at IS NULL LIMIT%%' "
	    "AND argument %s LIKE '%%event_type%%'", not));
}

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

/* Whoever reads the general log has a connection of its own. */
static void
log_looks(void)
{
	log_statements();
	store_free(st);
	backlog.candidates.store = st = store_of(conf, ME);
	ck_ok(store_learn(st, &e));
}

static void
wait_in_lane(const char *label, uint64_t sequence, int64_t due_at)
{
	char	key[24];
	size_t	len = (size_t)snprintf(key, sizeof(key), "k%llu",
		    (unsigned long long)sequence);

	lanes_block(backlog.lanes, &(struct wait){ .part = part(label),
	    .lane = { key, len }, .key = { key, len }, .sequence = sequence,
	    .due_at = due_at, .why = BLOCK_DELAYED });
}

static void
own_anew(unsigned n)
{
	backlog_free(&backlog);
	fleet_free(&fleet);
	own(n);
}

START_TEST(a_glance_is_one_statement)
{
	own_anew(3 * STORE_RANGES);
	add_rows(4, 4, "'p150'");
	add_rows(5, 5, "NULL");
	log_statements();
	ck_assert_str_eq(found(), "1 2 3 4");
	ck_assert_uint_eq(nreads(), 1);
	/* What comes first is not taken for all. */
	add_rows(6, 5 + GLANCE_ROWS, "'p190'");
	ck_assert_str_ne(found(), "1 2 3 4");
}
END_TEST

/* A hundred rows: the first ones of p01 are not all that it has. */
START_TEST(a_crowd_is_not_glanced_at)
{
	sql("DELETE FROM outbox; DELETE FROM events");
	add_rows(1, 2, "'p01'");
	add_rows(3, GLANCE_ROWS - 1, "'p09'");
	found();
	ck_assert_uint_eq(backlog.candidates.crowded_until, 0);
	add_rows(GLANCE_ROWS, GLANCE_ROWS, "'p01'");
	ck_assert_str_eq(found(), "1 2 100");
	ck_assert_int_gt(backlog.candidates.crowded_until, clock_ms());
	/* Nor again at once. */
	sql("DELETE FROM outbox WHERE partition_key = 'p09'");
	log_looks();
	ck_assert_str_eq(found(), "1 2 100");
	ck_assert_uint_eq(nglances(""), 0);
	log_looks();
	backlog.candidates.crowded_until = 0;
	ck_assert_str_eq(found(), "1 2 100");
	ck_assert_uint_eq(nglances("NOT"), 1);
}
END_TEST

/* While many rows wait in lanes, each glance would be full of them. */
START_TEST(rows_that_wait_are_passed)
{
	wait_in_lane("p01", 2, INT64_MAX);
	add_rows(4, 4, "'p01'");
	log_looks();
	ck_assert_str_eq(found(), "1 3 4");
	ck_assert_uint_eq(nglances("NOT"), 1);
	for (uint64_t i = 0; i < GLANCE_ROWS / 2; i++)
		wait_in_lane("p03", 1000 + i, INT64_MAX);
	log_looks();
	ck_assert_str_eq(found(), "1 3 4");
	ck_assert_uint_eq(nglances("") + nglances("NOT"), 0);
}
END_TEST

/* However many are parked, or wait for their time in a place of their own. */
START_TEST(rows_of_no_lease_are_no_crowd)
{
	add_rows(10, 9 + GLANCE_ROWS, "'!@20991231T235959p01'");
	add_rows(500, 499 + GLANCE_ROWS, "'!12'");
	ck_assert_str_eq(found(), "1 2 3");
	ck_assert_int_eq(backlog.candidates.crowded_until, 0);
}
END_TEST

/* Somebody has deleted it, and nothing else waits in its partition. */
START_TEST(a_head_that_is_gone_is_tried)
{
	wait_in_lane("p00", 9, 1);
	ck_assert_str_eq(found(), "1 2 3 9");
}
END_TEST

/* In partition order nothing passes a head, so nothing behind it is read. */
START_TEST(a_blocked_partition_is_not_glanced_at)
{
	conf->outbox.ordering = ORDER_PARTITION;
	wait_in_lane("p01", 1, INT64_MAX);
	ck_assert_str_eq(found(), "3");
}
END_TEST

/* What one statement cannot name comes at once, with the next. */
START_TEST(glances_go_around)
{
	char	label[16];
	size_t	n = 0;

	own_anew(STORE_RANGES + 20);
	sql("DELETE FROM outbox; DELETE FROM events");
	for (unsigned i = 0; i < STORE_RANGES + 19; i++) {
		snprintf(label, sizeof(label), "'p%02u'", i);
		add_rows(i + 1, i + 1, label);
	}
	snprintf(label, sizeof(label), "'p%02u'", STORE_RANGES + 19);
	add_rows(900, 900, label);
	for (int i = 0; i < 2; i++) {
		found();
		for (size_t k = 0; k < picks.n; k++)
			n += picks.sequences[k] == 900;
		if (n == 0)
			ck_assert(candidates_left_some(&backlog.candidates));
		ck_assert_int_eq(candidates_end_tick(&backlog.candidates,
		    false), i == 0);
		candidates_drop(&backlog.candidates);
	}
	ck_assert_uint_ge(n, 1);
}
END_TEST

/* With many rows of other workers, messages are fetched, not read. */
START_TEST(messages_of_others_are_not_read)
{
	found();
	ck_assert_uint_eq(picks.ahead.n, 3);
	add_rows(4, 7, "'p77'");
	log_looks();
	ck_assert_str_eq(found(), "1 2 3");
	ck_assert_str_eq(found(), "1 2 3");
	ck_assert_uint_eq(nglances(""), 1);
	ck_assert_uint_eq(nglances("NOT"), 1);
	ck_assert_uint_eq(picks.ahead.n, 0);
}
END_TEST

/* The collation decides which labels are the same, also for a glance. */
START_TEST(a_glance_leaves_equal_labels_to_the_server)
{
	sql("ALTER TABLE outbox MODIFY partition_key VARCHAR(64) COLLATE "
	    "utf8mb4_general_ci NULL DEFAULT NULL");
	add_rows(4, 4, _i == 0 ? "'P01'" : "'p01 '");
	add_rows(5, 5, "'p01'");
	ck_assert_str_eq(found(), "1 2 3 4 5");
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
	ck_todo(strcmp(found(), "1 2 3 4") == 0,
	    "a label that is equal by its collation is not ours for a glance");
	/* For the other look it is. */
	backlog.candidates.crowded_until = INT64_MAX;
	ck_assert_str_eq(found(), "1 2 3 4");
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
	ck_assert_str_eq(found(), "1 2 300");
}
END_TEST

static void
add_looks(Suite *s, const struct kind *k)
{
	TCase	*tc = add_case(s, "look", k, k->start, look_begin, look_end);

	tcase_add_test(tc, a_glance_is_one_statement);
	tcase_add_test(tc, a_crowd_is_not_glanced_at);
	tcase_add_test(tc, rows_that_wait_are_passed);
	tcase_add_test(tc, rows_of_no_lease_are_no_crowd);
	tcase_add_test(tc, a_head_that_is_gone_is_tried);
	tcase_add_test(tc, a_blocked_partition_is_not_glanced_at);
	tcase_add_test(tc, glances_go_around);
	tcase_add_test(tc, messages_of_others_are_not_read);
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
