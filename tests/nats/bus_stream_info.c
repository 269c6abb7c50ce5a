/* bus_stream_info.c - what is asked about the stream and its messages */

#include "nats/bus_test.h"

#include "util/xalloc.h"

START_TEST(stream_is_looked_at)
{
	struct stream_report	r;

	ck_assert_msg(check(&r), "%s", e.text);
	ck_assert_msg(!r.unfit, "%s", r.why.text);
	js_DeleteStream(js, "EVENTS", NULL, NULL);
	ck_assert_msg(check(&r), "%s", e.text);
	ck_assert(r.unfit);
	ck_has(r.why.text, "10059");
	plain_stream("EVENTS", "other.>");
	ck_assert_msg(check(&r), "%s", e.text);
	ck_assert(r.unfit);
	ck_has(r.why.text, "events.");
	free(conf->nats.stream);
	conf->nats.stream = xstrdup("");	/* nothing to look at */
	ck_assert(check(&r));
	ck_assert(!r.unfit);
}
END_TEST

/* It takes nothing from the batches before and after. */
START_TEST(looking_disturbs_no_batch)
{
	struct stream_report	r;

	send_row(1, 12);
	pub_wait(&bus, 1, -1, 0);
	ck_assert_msg(check(&r), "%s", e.text);
	ck_assert(!r.unfit);
	bus.ops->begin(bus.arg, INT64_MAX);
	ck_no_answer(50);
	send_row(2, 12);
	ck_stored(12, 2);
}
END_TEST

START_TEST(closed_bus_cannot_look)
{
	struct stream_report	r;

	bus.ops->close(bus.arg);
	ck_assert(!check(&r));
	ck_assert_str_ne(e.text, "");
}
END_TEST

START_TEST(state_is_told)
{
	struct stream_state	st;
	char			server_id[64];

	send_row(1, 0);
	send_row(2, 1);
	ck_stored(0, 1);
	ck_stored(1, 2);
	ck_nats(js_DeleteMsg(js, "EVENTS", 1, NULL, NULL));
	ck_assert_msg(bus.ops->state(bus.arg, &st, &e), "%s", e.text);
	ck_assert_uint_eq(st.first, 2);
	ck_assert_uint_eq(st.last, 2);
	ck_assert_uint_eq(st.messages, 1);
	ck_assert_int_eq(st.dedup_window_ms, 120000);
	ck_assert(!st.forgets && !st.expires);
	ck_assert_int_eq(st.answer, STREAM_THERE);
	ck_assert_str_ne(st.created, "");
	ck_assert_int_gt(st.first_at, 0);
	ck_assert_int_ge(st.last_at, st.first_at);
	ck_nats(natsConnection_GetConnectedServerId(admin, server_id,
	    sizeof(server_id)));
	ck_assert_str_eq(st.server, server_id);
	js_DeleteStream(js, "EVENTS", NULL, NULL);
	ck_assert_msg(bus.ops->state(bus.arg, &st, &e), "%s", e.text);
	ck_assert_int_eq(st.answer, STREAM_MISSING);
	bus.ops->close(bus.arg);
	ck_assert(!bus.ops->state(bus.arg, &st, &e));
	ck_assert_int_eq(st.answer, STREAM_UNKNOWN);
}
END_TEST

START_TEST(places_are_looked_up)
{
	struct stored_message	p[] = { { .sequence = 4 }, { .sequence = 2 },
				    { .sequence = 0 }, { .sequence = 9 },
				    { .sequence = 1 }, { .sequence = 3 } };

	send_row(17, 0);
	ck_stored(0, 1);
	ck_nats(js_Publish(NULL, js, "events.x", "{}", 2, NULL, NULL));
	send_row(18, 1);
	ck_stored(1, 3);
	send_row(19, 2);
	ck_stored(2, 4);
	ck_nats(js_DeleteMsg(js, "EVENTS", 3, NULL, NULL));
	ck_assert_msg(get_stored(p, 6) == 0, "%s", e.text);
	ck_assert(p[0].what == STORED_OURS && p[0].id.sequence == 19);
	ck_assert(p[1].what == STORED_OTHER);
	ck_assert(p[2].what == STORED_EMPTY);
	ck_assert(p[3].what == STORED_EMPTY);
	ck_assert(p[4].what == STORED_OURS && p[4].id.sequence == 17);
	ck_assert(p[5].what == STORED_EMPTY);
	ck_assert_int_eq(get_stored(p, 0), 0);
	/* It takes nothing from the next batch. */
	bus.ops->begin(bus.arg, INT64_MAX);
	send_row(20, 12);
	ck_stored(12, 5);
}
END_TEST

/* Small ones, and some so large that few may be out at a time. */
START_TEST(many_places_are_looked_up)
{
	static char		 big[700000];
	struct stored_message	 p[2000] = { 0 };
	const size_t		 n = _i == 0 ? 2000 : 60;

	memset(big, 'x', sizeof(big));
	for (uint32_t i = 0; i < n; i++) {
		write_letter(1000 + i, "t", (struct bytes){ big,
		    _i == 0 ? 100 : sizeof(big) });
		ck_assert_int_eq(send_letter(i), PUB_SENT);
		if (i % 50 == 49)
			pub_wait(&bus, 1, -1, 50);
		p[i].sequence = n - i;
	}
	for (int64_t until = patience(); stored("EVENTS") < n; )
		pub_wait(&bus, 1, -1, (wait_more(&until, "messages"), 10));
	ck_assert_msg(get_stored(p, n) == 0, "%s", e.text);
	for (size_t i = 0; i < n; i++)
		ck_assert(p[i].what == STORED_OURS &&
		    p[i].id.sequence == 1000 + n - i - 1);
}
END_TEST

START_TEST(looking_up_is_broken_off)
{
	struct stored_message	p[300] = { 0 };

	for (size_t i = 0; i < 300; i++)
		p[i].sequence = i + 1;
	asked = 0;
	enough = 2;
	ck_assert_int_eq(get_stored(p, 300), -1);
	ck_assert_uint_eq(asked, 2);
	bus.ops->begin(bus.arg, INT64_MAX);
	ck_no_answer(50);	/* the late ones are nobody's */
	send_row(1, 12);
	ck_stored(12, 1);
}
END_TEST

void
add_looks(Suite *s)
{
	TCase	*tc = server_case(s, "look", start_nats, begin, end);

	tcase_add_test(tc, stream_is_looked_at);
	tcase_add_test(tc, looking_disturbs_no_batch);
	tcase_add_test(tc, closed_bus_cannot_look);
	tcase_add_test(tc, state_is_told);
	tcase_add_test(tc, places_are_looked_up);
	tcase_add_loop_test(tc, many_places_are_looked_up, 0, 2);
	tcase_add_test(tc, looking_up_is_broken_off);
}
