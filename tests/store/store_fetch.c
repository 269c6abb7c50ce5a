/* store_fetch.c - the rows of a claim with their events */

#include "store/claim_test.h"

static void
ck_bytes(struct bytes got, const char *want, size_t len)
{
	ck_assert_ptr_nonnull(got.data);
	ck_assert_uint_eq(got.len, len);
	ck_assert_mem_eq(got.data, want, len);
}

START_TEST(row_arrives_whole)
{
	static const char	payload[] = "\x00\x01\xff\xfe'\\\r\n\x1a{";
	uint64_t		one = 1;
	const struct msg	*m;

	add_lease("p00", ME, 1);
	sql("INSERT INTO events VALUES (1, 'key \xc3\xa4\xf0\x9f\x90\x98', 42,"
	    " 'corr', 'a.b', 3, '{\"x\": [1, \"\xc3\xa4\"]}', "
	    "x'0001fffe275c0d0a1a7b', '2026-01-31 12:00:00.000120'); "
	    "INSERT INTO outbox (global_sequence, partition_key, attempts) "
	    "VALUES (1, 'p00', 7)");
	ck_assert_uint_eq(claim(st, &b, 1, 1), 1);
	ck_ok(store_fetch(st, &one, 1, SIZE_MAX, &b, &e));
	ck_assert_uint_eq(b.n, 1);
	m = b.msgs;
	ck_assert_uint_eq(m->sequence, 1);
	ck_assert_uint_eq(m->attempts, 7);
	ck_assert(m->has_event);
	ck_assert_int_eq(m->outcome, OUT_UNSENT);
	ck_assert_ptr_null(m->error);
	ck_bytes(m->partition, "p00", 3);
	ck_bytes(m->key, "key \xc3\xa4\xf0\x9f\x90\x98", 10);
	ck_bytes(m->stream_sequence, "42", 2);
	ck_bytes(m->correlation, "corr", 4);
	ck_bytes(m->type, "a.b", 3);
	ck_bytes(m->version, "3", 1);
	ck_bytes(m->payload, payload, sizeof(payload) - 1);
	ck_bytes(m->time, "2026-01-31 12:00:00.000120", 26);
	ck_has(m->metadata.data, "\"\xc3\xa4\"");
	ck_assert_uint_eq(m->metadata.len, strlen(m->metadata.data));
}
END_TEST

START_TEST(nulls_and_empty_arrive)
{
	uint64_t	sequences[] = { 1, 2 };

	own_rows(1);
	sql("UPDATE events SET event_data = ''; INSERT INTO outbox "
	    "(global_sequence, partition_key) VALUES (2, 'p00')");
	ck_assert_uint_eq(claim(st, &b, 1, 2), 2);
	ck_ok(store_fetch(st, sequences, 2, SIZE_MAX, &b, &e));
	ck_assert_uint_eq(b.n, 2);
	ck_assert(b.msgs[0].has_event);
	ck_bytes(b.msgs[0].payload, "", 0);
	ck_assert_ptr_null(b.msgs[0].metadata.data);
	ck_assert_ptr_null(b.msgs[0].correlation.data);
	/* Without its event the row is there all the same. */
	ck_assert(!b.msgs[1].has_event);
	ck_assert_uint_eq(b.msgs[1].sequence, 2);
	ck_assert_ptr_null(b.msgs[1].key.data);
	ck_assert_ptr_null(b.msgs[1].payload.data);
}
END_TEST

/* Rows 1 to 6 and their bodies: see the text of the test. */
static void
add_bodies(void)
{
	own_rows(5);
	sql("ALTER TABLE events MODIFY event_data LONGBLOB NULL; "
	    "UPDATE events SET event_data = CASE sequence WHEN 1 THEN '' "
	    "WHEN 2 THEN '1234567890' WHEN 3 THEN '12345678901' "
	    "WHEN 4 THEN '12345' END, "
	    "metadata = CASE sequence WHEN 4 THEN '{\"a\": 1}' END; "
	    "INSERT INTO outbox (global_sequence, partition_key) "
	    "VALUES (6, 'p00')");
}

/* "sequence:payload+metadata", with lengths in brackets where it is away. */
static const char *
bodies(void)
{
	static char	text[512];
	size_t		n = 0;

	text[0] = '\0';
	for (size_t i = 0; i < b.n; i++) {
		const struct msg *m = &b.msgs[i];
		bool none = m->payload.data == NULL &&
		    m->metadata.data == NULL;

		ck_assert(!m->away || none);
		n += (size_t)snprintf(text + n, sizeof(text) - n, m->away ?
		    "%s%u:(%zu+%zu)" : none && m->payload.len == 0 ?
		    "%s%u:NULL" : "%s%u:%zu+%zu", i == 0 ? "" : " ",
		    (unsigned)m->sequence, m->payload.len, m->metadata.len);
	}
	return text;
}

/*
 * Empty, as long as allowed, longer, longer by its metadata, NULL, and
 * without an event.
 */
START_TEST(long_bodies_stay_away)
{
	static const uint64_t	away[] = { 3, 4 };
	uint64_t		sequences[] = { 6, 5, 4, 3, 2, 1 };

	add_bodies();
	ck_assert_uint_eq(claim(st, &b, 1, 6), 6);
	ck_ok(store_fetch(st, sequences, 6, 10, &b, &e));
	ck_assert_str_eq(bodies(),
	    "1:0+0 2:10+0 3:(11+0) 4:(5+8) 5:NULL 6:NULL");
	ck_assert_uint_eq(b.naway, 2);
	ck_assert(b.msgs[4].has_event);
	ck_assert(!b.msgs[5].has_event);
	ck_assert_ptr_nonnull(b.msgs[0].payload.data);
	ck_bytes(b.msgs[3].key, "k4", 2);

	ck_ok(store_fetch_away(st, away, _i == 0 ? 2 : 1, &b, &e));
	ck_assert_str_eq(bodies(), _i == 0 ?
	    "1:0+0 2:10+0 3:11+0 4:5+8 5:NULL 6:NULL" :
	    "1:0+0 2:10+0 3:11+0 4:(5+8) 5:NULL 6:NULL");
	ck_bytes(b.msgs[2].payload, "12345678901", 11);
	ck_assert(b.msgs[2].has_event);
	ck_assert_ptr_null(b.msgs[2].metadata.data);
	if (_i == 0)
		ck_bytes(b.msgs[3].metadata, "{\"a\": 1}", 8);
	batch_free(&b);
	sql("DELETE FROM events; "
	    "ALTER TABLE events MODIFY event_data LONGBLOB NOT NULL");
}
END_TEST

START_TEST(event_may_go_before_it_is_fetched)
{
	static const uint64_t	away[] = { 1, 2 };
	uint64_t		sequences[] = { 1, 2 };

	own_rows(2);
	ck_assert_uint_eq(claim(st, &b, 1, 2), 2);
	ck_ok(store_fetch(st, sequences, 2, 1, &b, &e));
	ck_assert_uint_eq(b.naway, 2);
	sql("DELETE FROM events WHERE sequence = 1");
	ck_ok(store_fetch_away(st, away, 2, &b, &e));
	ck_assert(!b.msgs[0].has_event && !b.msgs[0].away);
	ck_bytes(b.msgs[1].payload, "{}", 2);
}
END_TEST

/* The server may have taken what is longer than it would take now. */
START_TEST(longer_than_a_packet_arrives)
{
	static const size_t	 size = 20 * 1024 * 1024;
	uint64_t		 one = 1;
	struct store		*late;

	sql("SET GLOBAL max_allowed_packet = 67108864");
	sql_close();
	sql_open(server);
	sql("USE app");
	add_lease("p00", OTHER, 1);
	add_rows(1, 1, "'p00'");
	sql("UPDATE events SET event_data = REPEAT('x', %zu)", size);
	sql("SET GLOBAL max_allowed_packet = 1048576");
	late = store_of(conf, OTHER);
	ck_assert_uint_eq(claim(late, &b, 1, 1), 1);
	ck_ok(store_fetch(late, &one, 1, _i == 0 ? SIZE_MAX : 1000, &b, &e));
	if (_i == 1)
		ck_ok(store_fetch_away(late, &one, 1, &b, &e));
	ck_assert_uint_eq(b.msgs[0].payload.len, size);
	ck_assert_int_eq(b.msgs[0].payload.data[size - 1], 'x');
	batch_free(&b);
	store_free(late);
	sql("SET GLOBAL max_allowed_packet = 16777216");
}
END_TEST

START_TEST(only_what_the_token_holds_is_fetched)
{
	uint64_t	sequences[] = { 5, 3, 1, 4, 2, 99 };
	struct batch	old = { 0 };

	own_rows(5);
	ck_assert_uint_eq(claim(st, &old, 1, 2), 2);
	sql("UPDATE outbox SET claim_token = '" OTHER_NONCE "-1', "
	    "available_at = NOW(6) + INTERVAL 9 SECOND "
	    "WHERE global_sequence = 4");
	ck_assert_uint_eq(claim(st, &b, 3, 5), 2);
	ck_ok(store_fetch(st, sequences, 6, SIZE_MAX, &b, &e));
	ck_assert_uint_eq(b.n, 2);
	ck_assert_uint_eq(b.msgs[0].sequence, 3);
	ck_assert_uint_eq(b.msgs[1].sequence, 5);
	ck_ok(store_fetch(st, sequences, 1, SIZE_MAX, &old, &e));
	ck_assert_uint_eq(old.n, 0);
	batch_free(&old);
}
END_TEST

START_TEST(order_is_by_number)
{
	uint64_t	sequences[] = { 18446744073709551615u, 9, 10, 100 };
	struct range	r = range("p00", 1);
	uint64_t	n;

	add_lease("p00", ME, 1);
	for (int i = 0; i < 4; i++)
		sql("INSERT INTO outbox (global_sequence, partition_key) "
		    "VALUES (%llu, 'p00')", (unsigned long long)sequences[i]);
	ck_assert_str_eq(candidates(&r, 1),
	    "9:0 10:0 100:0 18446744073709551615:0");
	ck_ok(store_claim(st, &(struct claim_set){ &r, 1, sequences, 4 }, &b,
	    &n, &e));
	ck_ok(store_fetch(st, sequences, 4, SIZE_MAX, &b, &e));
	ck_assert_uint_eq(b.n, 4);
	ck_assert_uint_eq(b.msgs[0].sequence, 9);
	ck_assert_uint_eq(b.msgs[3].sequence, UINT64_MAX);
}
END_TEST

START_TEST(waiting_rows_are_explained)
{
	uint64_t		sequences[] = { 1, 2, 3, 4, 5, 6 };
	struct waiting_list	list;
	struct waiting		*w[7] = { NULL };

	add_rows(1, 2, "'p00'");
	add_rows(3, 3, "NULL");
	add_rows(4, 4, "'p01'");
	sql("UPDATE outbox SET published_at = NOW(6) "
	    "WHERE global_sequence = 1; "
	    "UPDATE outbox SET claim_token = 'x', available_at = NOW(6) + "
	    "INTERVAL 9 SECOND WHERE global_sequence = 3; "
	    "UPDATE outbox SET available_at = NOW(6) + INTERVAL 1 DAY "
	    "WHERE global_sequence = 4; "
	    "INSERT INTO outbox (global_sequence) VALUES (5)");
	ck_ok(store_waiting(st, sequences, 6, &list, &e));
	ck_assert_uint_eq(list.n, 5);
	for (size_t i = 0; i < list.n; i++)
		w[list.items[i].sequence] = &list.items[i];
	ck_assert(!w[1]->pending);
	ck_assert(w[2]->pending && !w[2]->claimed && w[2]->due_ms == 0);
	ck_bytes(w[2]->partition, "p00", 3);
	ck_bytes(w[2]->key, "k2", 2);
	ck_assert(w[3]->pending && w[3]->claimed);
	ck_near(w[3]->due_ms, 7000, 9000);
	ck_assert_ptr_null(w[3]->partition.data);
	ck_assert(w[4]->pending && !w[4]->claimed);
	ck_near(w[4]->due_ms, 86390000, 86400000);
	ck_assert_ptr_null(w[5]->key.data);	/* no event */
	store_waiting_free(&list);
	ck_ok(store_waiting(st, sequences + 5, 1, &list, &e));
	ck_assert_uint_eq(list.n, 0);
	store_waiting_free(&list);
}
END_TEST

void
add_fetches(Suite *s, const struct kind *k)
{
	TCase	*tc = add_case(s, "fetch", k, k->start, claim_begin, claim_end);

	tcase_add_test(tc, row_arrives_whole);
	tcase_add_test(tc, nulls_and_empty_arrive);
	tcase_add_loop_test(tc, long_bodies_stay_away, 0, 2);
	tcase_add_test(tc, event_may_go_before_it_is_fetched);
	tcase_add_loop_test(tc, longer_than_a_packet_arrives, 0, 2);
	tcase_add_test(tc, only_what_the_token_holds_is_fetched);
	tcase_add_test(tc, order_is_by_number);
	tcase_add_test(tc, waiting_rows_are_explained);
}
