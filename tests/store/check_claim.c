/*
 * check_claim.c - a batch from the claim to the write-back
 *
 * Here is the claim; store_fetch.c and store_settle.c have the others.  Time
 * is not waited for: the rows are made older instead.
 */
#include "util/clock.h"
#include "store/claim_test.h"

#include "mysql/db.h"
#include "store/store_sql.h"

struct batch	b;

void
claim_begin(void)
{
	begin_store();
	memset(&b, 0, sizeof(b));
}

void
claim_end(void)
{
	batch_free(&b);
	end_store();
}

START_TEST(due_rows_are_claimed)
{
	int64_t		before = clock_ms();
	char		first[sizeof(b.token)];

	own_rows(4);
	ck_assert_uint_eq(claim(st, &b, 1, 3), 3);
	ck_near(b.claimed_at, before, clock_ms());
	ck_assert_int_eq(strncmp(b.token, MY_NONCE "-", 17), 0);
	ck_sql("1 2 3", "SELECT GROUP_CONCAT(global_sequence ORDER BY 1 "
	    "SEPARATOR ' ') FROM outbox WHERE claim_token = '%s' "
	    "AND available_at BETWEEN NOW(6) + INTERVAL 28 SECOND "
	    "AND NOW(6) + INTERVAL 30 SECOND", b.token);
	ck_sql("NULL 0 NULL", "SELECT claim_token, attempts, last_error "
	    "FROM outbox WHERE global_sequence = 4");
	strcpy(first, b.token);
	ck_assert_uint_eq(claim(st, &b, 4, 4), 1);
	ck_assert_str_ne(b.token, first);
	ck_sql("3", "SELECT COUNT(*) FROM outbox WHERE claim_token = '%s'",
	    first);
}
END_TEST

/* The clock is put back an hour: what was written before lies ahead. */
static const struct {
	const char	*set;
	unsigned	 claimed;
} steps[] = {
	{ "available_at = created_at", 1 },
	{ "available_at = created_at, attempts = 1", 1 },
	{ "available_at = created_at + INTERVAL 1 MICROSECOND", 0 },
	{ "available_at = created_at + INTERVAL 2 SECOND, attempts = 1", 0 },
	/* Put off unsent, as its route was away: before, and since then. */
	{ "available_at = created_at + INTERVAL 2 SECOND, last_error = 'x'", 1 },
	{ "available_at = NOW(6) + INTERVAL 30 SECOND, last_error = 'x'", 0 },
	{ "available_at = created_at - INTERVAL 1 SECOND, created_at = NOW(6), "
	  "last_error = 'x'", 0 },
	{ "available_at = created_at + INTERVAL 2 SECOND, last_error = 'x', "
	  "attempts = 1", 0 },
	/* An application's own time, and its wish. */
	{ "created_at = created_at - INTERVAL 1 DAY", 0 },
	{ "created_at = created_at + INTERVAL 1 DAY", 0 },
	{ "available_at = NOW(6), created_at = NOW(6) + INTERVAL 1 DAY", 1 },
	{ "claim_token = '" OTHER_NONCE "-1-30000'", 0 },
	{ "claim_token = '" MY_NONCE "-9-30000'", 1 },
};

START_TEST(row_of_a_clock_put_back_is_due)
{
	struct waiting_list	w;
	uint64_t		one = 1;

	own_rows(1);
	sql("UPDATE outbox SET created_at = NOW(6) + INTERVAL 1 HOUR, "
	    "available_at = created_at");
	sql("UPDATE outbox SET %s", steps[_i].set);
	ck_ok(store_waiting(st, &one, 1, &w, &e));
	ck_assert_uint_eq(w.items[0].due_ms == 0 || w.items[0].claimed,
	    steps[_i].claimed || w.items[0].claimed);
	store_waiting_free(&w);
	ck_assert_uint_eq(claim(st, &b, 1, 1), steps[_i].claimed);
}
END_TEST

/* Then what was given back unsent is due as before. */
START_TEST(returned_row_of_a_clock_put_back_is_due)
{
	struct settled	done = { 0 };

	own_rows(1);
	ck_assert_uint_eq(claim(st, &b, 1, 1), 1);
	ck_ok(store_fetch(st, (uint64_t[]){ 1 }, 1, SIZE_MAX, &b, &e));
	ck_ok(store_settle(st, &b, &done, &e));
	ck_assert_uint_eq(done.returned, 1);
	sql("UPDATE outbox SET created_at = created_at + INTERVAL 1 HOUR, "
	    "available_at = available_at + INTERVAL 1 HOUR");
	batch_free(&b);
	ck_assert_uint_eq(claim(st, &b, 1, 1), 1);
}
END_TEST

/* A column is dropped beside us: the error says so, and then we do without. */
START_TEST(lost_column_is_learnt)
{
	struct settled	done = { 0 };

	own_rows(1);
	ck_assert_uint_eq(claim(st, &b, 1, 1), 1);
	ck_ok(store_fetch(st, (uint64_t[]){ 1 }, 1, SIZE_MAX, &b, &e));
	sql("ALTER TABLE outbox DROP COLUMN message_hash");
	b.msgs[0].outcome = OUT_DELIVERED;
	ck_fails(store_settle(st, &b, &done, &e));
	ck_assert(db_learnt_wrong(store_db(st)));
	ck_assert(store_is_open(st));
	ck_ok(store_learn(st, &e));
	ck_ok(store_settle(st, &b, &done, &e));
	ck_assert_uint_eq(done.delivered, 1);
	ck_assert(!db_learnt_wrong(store_db(st)));
	sql("ALTER TABLE outbox ADD COLUMN message_hash BIGINT UNSIGNED NULL");
	ck_ok(store_learn(st, &e));
}
END_TEST

/* What must have happened to the lease for the claim to find nothing. */
static const struct {
	const char	*to;		/* NULL: no row any more */
	unsigned	 claimed;
} fences[] = {
	{ "lease_epoch = 1", 2 },
	{ "lease_until = NOW(6) + INTERVAL 1 SECOND", 2 },
	{ "lease_owner = '" OTHER "'", 0 },
	{ "lease_owner = 'here:00:00000000000000a2'", 0 },
	{ "lease_owner = NULL", 0 },
	{ "lease_epoch = 2", 0 },
	{ "lease_epoch = 0", 0 },
	{ "lease_until = NOW(6)", 0 },
	{ "lease_until = NOW(6) - INTERVAL 1 DAY", 0 },
	{ "lease_until = NULL", 0 },
	{ "lease_owner = '" OTHER "', lease_epoch = 2", 0 },
	{ "partition_key = 'p02'", 0 },
	{ NULL, 0 },
};

START_TEST(claim_is_fenced)
{
	bool		abandoned = _i >= NROWS(fences);

	_i %= NROWS(fences);
	add_lease("p00", ME, 1);
	add_lease("p01", ME, 1);
	add_rows(1, 2, "'p00'");
	if (abandoned)
		sql("UPDATE outbox SET claim_token = 'gone-1'");
	if (fences[_i].to == NULL)
		sql("DELETE FROM outbox_partitions "
		    "WHERE partition_key = 'p00'");
	else
		sql("UPDATE outbox_partitions SET %s "
		    "WHERE partition_key = 'p00'", fences[_i].to);
	ck_assert_uint_eq(claim(st, &b, 1, 2), fences[_i].claimed);
	ck_sql(fences[_i].claimed == 2 ? "2" : "0",
	    "SELECT COUNT(*) FROM outbox WHERE claim_token = '%s' AND "
	    "available_at > NOW(6)", b.token);
}
END_TEST

static void
note_plan(void *arg, const char *what, struct db_rows *plan,
    const struct err *why)
{
	char	*seen = arg;
	int	 key;

	ck_assert_msg(plan != NULL, "%s: %s", what, why->text);
	ck_assert_int_ge(key = db_column(plan, "key"), 0);
	ck_assert_int_ge(db_column(plan, "Extra"), 0);
	ck_assert_int_eq(db_column(plan, "sauce"), -1);
	ck_assert(db_next(plan));
	snprintf(seen + strlen(seen), 256 - strlen(seen), "%s %s ", what,
	    db_text(plan, (unsigned)key));
}

START_TEST(explained_is_not_done)
{
	struct range	 r = range("p00", 1);
	uint64_t	 list[] = { 1, 2 }, n = 9;
	char		 seen[256] = "";

	own_rows(2);
	store_explain(st, note_plan, seen);
	ck_ok(store_begin(st, &e));
	ck_ok(store_claim(st, &(struct claim_set){ &r, 1, list, 2 }, &b, &n,
	    &e));
	ck_assert_uint_eq(n, 0);
	ck_assert_int_eq(store_fetch(st, list, 2, 1, &b, &e), -1);
	ck_ok(store_end(st, 0, &e));
	ck_assert_str_eq(seen, "claim PRIMARY claim PRIMARY fetch PRIMARY ");
	ck_sql("2", "SELECT COUNT(*) FROM outbox WHERE claim_token IS NULL");
	store_explain(st, NULL, NULL);
	ck_ok(store_claim(st, &(struct claim_set){ &r, 1, list, 2 }, &b, &n,
	    &e));
	ck_assert_uint_eq(n, 2);
}
END_TEST

/* A row of a partition that is mine, but was not among the ranges. */
START_TEST(only_named_partitions_are_claimed)
{
	struct range	ranges[2] = { range("p00", 1), range("p02", 5) };
	uint64_t	sequences[] = { 6, 5, 4, 3, 2, 1 }, n;

	add_lease("p00", ME, 1);
	add_lease("p01", ME, 1);
	add_lease("p02", ME, 5);
	add_lease("", ME, 1);
	add_rows(1, 2, "'p00'");
	add_rows(3, 3, "'p01'");
	add_rows(4, 4, "'p02'");
	add_rows(5, 5, "NULL");
	add_rows(6, 6, "''");
	ck_ok(store_claim(st, &(struct claim_set){ ranges, 2, sequences, 6 },
	    &b, &n, &e));
	ck_assert_uint_eq(n, 3);
	ck_sql("1\n2\n4", "SELECT global_sequence FROM outbox "
	    "WHERE claim_token = '%s' ORDER BY 1", b.token);
}
END_TEST

/* Where one lease is lost, what is known of the others is old too. */
START_TEST(all_leases_or_no_claim)
{
	struct range	ranges[2] = { range("p00", 1), range("p02", 5) };
	uint64_t	sequences[] = { 1, 2, 3 }, n;

	add_lease("p00", ME, 1);
	if (_i > 0)
		add_lease("p02", _i == 1 ? OTHER : ME, _i == 2 ? 4 : 5);
	add_rows(1, 2, "'p00'");
	add_rows(3, 3, "'p02'");
	ck_ok(store_claim(st, &(struct claim_set){ ranges, 2, sequences, 3 },
	    &b, &n, &e));
	ck_assert_uint_eq(n, _i == 3 ? 3 : 0);
	ck_sql(_i == 3 ? "3" : "0", "SELECT COUNT(*) FROM outbox "
	    "WHERE claim_token IS NOT NULL OR available_at > NOW(6)");
}
END_TEST

/* They are two statements, but one batch. */
START_TEST(abandoned_rows_go_with_the_free_ones)
{
	own_rows(5);
	sql("UPDATE outbox SET claim_token = 'gone-1' WHERE global_sequence = 2;"
	    "UPDATE outbox SET claim_token = 'busy-1', available_at = NOW(6) + "
	    "INTERVAL 9 SECOND WHERE global_sequence = 4");
	ck_assert_uint_eq(claim(st, &b, 1, 5), 4);
	ck_sql("1\n2\n3\n5", "SELECT global_sequence FROM outbox "
	    "WHERE claim_token = '%s' ORDER BY 1", b.token);
	ck_sql("2", "SELECT global_sequence FROM outbox "
	    "WHERE in_doubt_since IS NOT NULL");
}
END_TEST

START_TEST(rows_without_label_are_claimed)
{
	struct range	r = range("", 1);
	uint64_t	sequences[] = { 1, 2 }, n;

	add_lease("", _i == 0 ? ME : OTHER, 1);
	add_rows(1, 1, "NULL");
	add_rows(2, 2, "''");
	ck_ok(store_claim(st, &(struct claim_set){ &r, 1, sequences, 2 }, &b,
	    &n, &e));
	ck_assert_uint_eq(n, _i == 0 ? 2 : 0);
	ck_ok(store_fetch(st, sequences, 2, SIZE_MAX, &b, &e));
	ck_assert_uint_eq(b.n, n);
	if (n == 2) {
		ck_assert_ptr_null(b.msgs[0].partition.data);
		ck_assert_str_eq(b.msgs[1].partition.data, "");
	}
}
END_TEST

/* Which rows are free; the claims of C3 are void, B2 lives. */
static const struct {
	const char	*to;
	unsigned	 claimed;
} rows[] = {
	{ "attempts = 3", 1 },
	{ "available_at = NOW(6)", 1 },
	{ "available_at = NOW(6) + INTERVAL 2 SECOND", 0 },
	{ "published_at = NOW(6)", 0 },
	{ "published_at = NOW(6), claim_token = '" DEAD_NONCE "-1'", 0 },
	{ "available_at = NOW(6) + INTERVAL 9 SECOND, "
	  "claim_token = '" OTHER_NONCE "-1'", 0 },
	{ "available_at = NOW(6) + INTERVAL 9 SECOND, "
	  "claim_token = 'somebody-else'", 0 },
	{ "available_at = NOW(6) - INTERVAL 9 SECOND, "
	  "claim_token = '" OTHER_NONCE "-1'", 1 },
	{ "available_at = NOW(6) + INTERVAL 9 SECOND, "
	  "claim_token = '" DEAD_NONCE "-1f'", 1 },
	{ "available_at = NOW(6) + INTERVAL 9 SECOND, "
	  "claim_token = '" MY_NONCE "-77'", 1 },
	{ "available_at = NOW(6) + INTERVAL 9 SECOND, "
	  "claim_token = '00000000000000A1-77'", 0 },
	{ "available_at = NOW(6) + INTERVAL 9 SECOND, claim_token = ''", 0 },
};

START_TEST(only_free_rows_are_claimed)
{
	own_rows(1);
	sql("UPDATE outbox SET %s", rows[_i].to);
	store_note_dead(st, DEAD_NONCE);
	ck_assert_uint_eq(claim(st, &b, 1, 1), rows[_i].claimed);
	ck_sql(rows[_i].claimed ? "1" : "0", "SELECT COUNT(*) FROM outbox "
	    "WHERE claim_token = '%s'", b.token);
}
END_TEST

START_TEST(many_dead_are_known)
{
	char		nonce[17];

	own_rows(100);
	for (unsigned i = 1; i <= 100; i++) {
		snprintf(nonce, sizeof(nonce), "%016x", 0xd0000 + i);
		store_note_dead(st, nonce);
		sql("UPDATE outbox SET claim_token = '%s-1', available_at = "
		    "NOW(6) + INTERVAL 9 SECOND WHERE global_sequence = %u",
		    nonce, i);
	}
	ck_assert_uint_eq(claim(st, &b, 61, 100), 40);
	store_forget_dead(st);
	ck_assert_uint_eq(claim(st, &b, 1, 2), 0);
}
END_TEST

START_TEST(no_lease_is_needed_without_leasing)
{
	conf->worker.leasing = false;
	add_rows(1, 2, "'p00'");
	add_rows(3, 3, "NULL");
	update_row(2, "available_at = NOW(6) + INTERVAL 9 SECOND");
	ck_assert_uint_eq(claim(st, &b, 1, 3), 2);
	ck_assert_uint_eq(claim(st, &b, 2, 2), 0);
}
END_TEST

START_TEST(claim_lasts_as_configured)
{
	conf->worker.claim_ttl = 5500;
	own_rows(1);
	ck_assert_uint_eq(claim(st, &b, 1, 1), 1);
	ck_sql("1", "SELECT available_at BETWEEN NOW(6) + INTERVAL 4 SECOND "
	    "AND NOW(6) + INTERVAL 5500000 MICROSECOND FROM outbox");
}
END_TEST

/* Nor does a claim wait for a producer; see claim_locks_no_gaps. */
START_TEST(claim_passes_a_producer)
{
	own_rows(2);
	sql("START TRANSACTION; INSERT INTO outbox (global_sequence, "
	    "partition_key) VALUES (3, 'p00'), (4, NULL)");
	ck_assert_uint_eq(claim(st, &b, 1, 2), 2);
	sql("COMMIT");
}
END_TEST

/* A token says how long its claim was made for. */
START_TEST(token_tells_how_long_its_claim_lasts)
{
	conf->worker.claim_ttl = 5500;
	own_rows(1);
	ck_assert_uint_eq(claim(st, &b, 1, 1), 1);
	ck_sql("1", "SELECT claim_token REGEXP '^" MY_NONCE "-[0-9a-f]+-5500$' "
	    "FROM outbox");
}
END_TEST

/*
 * By a host where claims last longer or shorter than ours, 5.5 s: the moment
 * is that of the claim.  Of other tokens nobody knows, and ours has to do.
 */
static const struct {
	const char	*token, *since;
} orphans[] = {
	{ OTHER_NONCE "-1-30000", "2026-01-31 12:00:00.000000" },
	{ OTHER_NONCE "-1f-1000", "2026-01-31 12:00:29.000000" },
	{ OTHER_NONCE "-1", "2026-01-31 12:00:24.500000" },
	{ OTHER_NONCE "-1-", "2026-01-31 12:00:24.500000" },
	{ OTHER_NONCE "-1-1x", "2026-01-31 12:00:24.500000" },
	{ OTHER_NONCE "-1-1-1", "2026-01-31 12:00:24.500000" },
	{ OTHER_NONCE "-1-99999999999", "2026-01-31 12:00:24.500000" },
	{ "somebody-else-1000", "2026-01-31 12:00:24.500000" },
	{ "550e8400-e29b-41d4-a716-446655440000",
	    "2026-01-31 12:00:24.500000" },
	{ "", "2026-01-31 12:00:24.500000" },
};

START_TEST(orphans_are_in_doubt_since_their_claim)
{
	conf->worker.claim_ttl = 5500;
	own_rows(1);
	sql("UPDATE outbox SET available_at = '2026-01-31 12:00:30', "
	    "claim_token = '%s'", orphans[_i].token);
	ck_assert_uint_eq(claim(st, &b, 1, 1), 1);
	ck_sql(orphans[_i].since, "SELECT in_doubt_since FROM outbox");
}
END_TEST

/* MySQL has no regular expressions for bytes. */
START_TEST(token_may_be_bytes)
{
	uint64_t	one = 1, n;
	struct range	r = range("p00", 1);
	int		rc;

	own_rows(1);
	sql("UPDATE outbox SET available_at = '2026-01-31 12:00:30', "
	    "claim_token = '" OTHER_NONCE "-1-4000'; "
	    "ALTER TABLE outbox MODIFY claim_token VARBINARY(64) NULL");
	rc = store_claim(st, &(struct claim_set){ &r, 1, &one, 1 }, &b, &n,
	    &e);
	sql("ALTER TABLE outbox MODIFY claim_token VARCHAR(64) "
	    "CHARACTER SET ascii COLLATE ascii_bin NULL");
	ck_ok(rc);
	ck_sql("2026-01-31 12:00:26.000000",
	    "SELECT in_doubt_since FROM outbox");
}
END_TEST

/* Claimed by somebody who is gone, and perhaps sent: since his claim. */
START_TEST(orphans_are_in_doubt)
{
	uint64_t	sequences[] = { 1, 2, 3, 4 };

	conf->worker.claim_ttl = 5500;
	own_rows(4);
	sql("UPDATE outbox SET available_at = '2026-01-31 12:00:10.500000'; "
	    "UPDATE outbox SET claim_token = '" OTHER_NONCE "-1' "
	    "WHERE global_sequence IN (2, 3); "
	    "UPDATE outbox SET in_doubt_since = NOW(6) - INTERVAL 7 SECOND "
	    "WHERE global_sequence IN (3, 4)");
	ck_assert_uint_eq(claim(st, &b, 1, 4), 4);
	ck_sql("1 NULL\n2 2026-01-31 12:00:05.000000", "SELECT "
	    "global_sequence, in_doubt_since FROM outbox "
	    "WHERE global_sequence < 3 ORDER BY 1");
	ck_sql("2", "SELECT COUNT(*) FROM outbox WHERE in_doubt_since BETWEEN "
	    "NOW(6) - INTERVAL 17 SECOND AND NOW(6) - INTERVAL 7 SECOND");
	ck_ok(store_fetch(st, sequences, 4, SIZE_MAX, &b, &e));
	ck_assert_int_eq(b.msgs[0].in_doubt_ms, -1);
	ck_assert_int_gt(b.msgs[1].in_doubt_ms, 1000000);
	ck_near(b.msgs[2].in_doubt_ms, 7000, 17000);
	ck_near(b.msgs[3].in_doubt_ms, 7000, 17000);
}
END_TEST

static void
add_claims(Suite *s, const struct kind *k)
{
	TCase	*tc = add_case(s, "claim", k, k->start, claim_begin, claim_end);

	tcase_add_test(tc, due_rows_are_claimed);
	tcase_add_test(tc, lost_column_is_learnt);
	tcase_add_loop_test(tc, row_of_a_clock_put_back_is_due, 0,
	    NROWS(steps));
	tcase_add_test(tc, returned_row_of_a_clock_put_back_is_due);
	tcase_add_loop_test(tc, claim_is_fenced, 0, 2 * NROWS(fences));
	tcase_add_test(tc, explained_is_not_done);
	tcase_add_test(tc, only_named_partitions_are_claimed);
	tcase_add_loop_test(tc, all_leases_or_no_claim, 0, 4);
	tcase_add_test(tc, abandoned_rows_go_with_the_free_ones);
	tcase_add_loop_test(tc, rows_without_label_are_claimed, 0, 2);
	tcase_add_loop_test(tc, only_free_rows_are_claimed, 0, NROWS(rows));
	tcase_add_test(tc, many_dead_are_known);
	tcase_add_test(tc, no_lease_is_needed_without_leasing);
	tcase_add_test(tc, claim_lasts_as_configured);
	tcase_add_test(tc, claim_passes_a_producer);
	tcase_add_test(tc, token_tells_how_long_its_claim_lasts);
	tcase_add_loop_test(tc, orphans_are_in_doubt_since_their_claim, 0,
	    NROWS(orphans));
	tcase_add_test(tc, token_may_be_bytes);
	tcase_add_test(tc, orphans_are_in_doubt);
}

static void
add_all(Suite *s, const struct kind *k)
{
	add_claims(s, k);
	add_fetches(s, k);
	add_settling(s, k);
}

int
main(void)
{
	return frame_run("claim", add_all);
}
