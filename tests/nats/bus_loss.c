/* bus_loss.c - a server that is stopped or killed, and slow or silent ones */

#include "nats/bus_test.h"

#include <poll.h>
#include <signal.h>

#include "nats/bus_impl.h"

static void
start_loss(void)
{
	server = "loss";
	servers_start("loss", "nats", NULL);
}

static void
loss_begin(void)
{
	if (!servers_runs("loss"))
		servers_restart("loss");
	servers_signal("loss", SIGCONT);
	begin();
}

/* In flight when the server dies: nobody may wait for these answers. */
START_TEST(killed_server_is_noticed)
{
	int64_t	start;

	send_row(1, 1);
	ck_stored(1, 1);
	servers_signal("loss", SIGSTOP);
	for (uint32_t i = 2; i < 100; i++)
		send_row(i, i);
	pub_wait(&bus, 1, -1, 0);
	servers_kill("loss");
	start = clock_ms();
	while (is_open()) {
		pub_wait(&bus, 1, -1, 5000);
		ck_assert_int_lt(ms_since(start), 1000);
	}
	ck_no_answer(50);
	ck_assert_int_eq(send_letter(3), PUB_LOST);
	start = clock_ms();
	bus.ops->close(bus.arg);
	ck_assert_int_lt(ms_since(start), 100);
	ck_assert_int_eq(open_bus(&bus), -1);
}
END_TEST

/* The loss shows when the collected writes go out: that is no time to wait. */
START_TEST(loss_while_writing_ends_the_wait)
{
	int64_t	start;

	/* What it has not read makes it hang up with a reset. */
	servers_signal("loss", SIGSTOP);
	send_row(1, 1);
	pub_wait(&bus, 1, -1, 0);
	servers_kill("loss");
	send_row(2, 2);
	start = clock_ms();
	pub_wait(&bus, 1, -1, 2000);
	ck_assert_int_lt(ms_since(start), 500);
	ck_assert(!is_open());
}
END_TEST

START_TEST(restarted_server_is_used_again)
{
	send_row(1, 1);
	ck_stored(1, 1);
	servers_kill("loss");
	for (int64_t until = patience(); is_open(); )
		wait_more(&until, "the loss"), pub_wait(&bus, 1, -1, 20);
	ck_assert_int_eq(open_bus(&bus), -1);
	servers_restart("loss");
	ck_assert_msg(open_bus(&bus) == 0, "%s", e.text);
	bus.ops->begin(bus.arg, INT64_MAX);
	send_row(1, 7);
	ck_answer(7, VERDICT_DUPLICATE, NULL);
	send_row(2, 8);
	ck_stored(8, 2);
}
END_TEST

/* Also without having been told of the loss. */
START_TEST(open_makes_a_new_connection)
{
	ck_assert_int_eq(open_bus(&bus), 0);
	bus.ops->begin(bus.arg, INT64_MAX);
	send_row(1, 1);
	ck_stored(1, 1);
	servers_restart("loss");
	ck_assert_int_eq(open_bus(&bus), 0);
	ck_assert(is_open());
	bus.ops->begin(bus.arg, INT64_MAX);
	send_row(2, 2);
	ck_stored(2, 2);
}
END_TEST

/* The library tells of an end when there is a new connection. */
START_TEST(late_end_is_not_the_new_ones)
{
	struct stream_report	r;

	ck_assert_int_eq(open_bus(&bus), 0);
	bus_on_detach(bus.arg);
	ck_assert_msg(bus.ops->check(bus.arg, &r, &e), "%s", e.text);
}
END_TEST

/* What was given up on is not sent behind our back. */
START_TEST(nothing_is_sent_later)
{
	servers_kill("loss");
	for (uint32_t i = 0; i < 50; i++) {
		write_letter(i + 1, "t", bytes("x"));
		send_letter(i);
	}
	pub_wait(&bus, 1, -1, 20);
	servers_restart("loss");
	ck_assert_int_eq(open_bus(&bus), 0);
	bus.ops->begin(bus.arg, INT64_MAX);
	send_row(1000, 1);
	ck_answer(1, VERDICT_STORED, NULL);
	ck_no_answer(50);
	admin_close();
	ck_nats(natsConnection_ConnectTo(&admin, conf->nats.servers.items[0]));
	ck_nats(natsConnection_JetStream(&js, admin, NULL));
	ck_assert_uint_eq(stored("EVENTS"), 1);
}
END_TEST

START_TEST(silent_server_answers_later)
{
	int64_t	start;

	servers_signal("loss", SIGSTOP);
	send_row(1, 1);
	start = clock_ms();
	ck_no_answer(300);
	ck_near(ms_since(start), 299, 1000);
	ck_assert(is_open());
	servers_signal("loss", SIGCONT);
	ck_stored(1, 1);
}
END_TEST

/*
 * A server that was stopped answers no PING.  A worker that does not wait, but
 * for its database, hears nothing of a server that is well.
 */
START_TEST(silence_is_noticed)
{
	int64_t	start = clock_ms();

	ck_no_answer(2500);
	poll(NULL, 0, 6000);
	ck_no_answer(2500);
	ck_assert(is_open());

	servers_signal("loss", SIGSTOP);
	start = clock_ms();
	send_row(1, 1);
	while (is_open()) {
		pub_wait(&bus, 1, -1, 500);
		ck_assert_int_lt(ms_since(start), 6000);
	}
	ck_assert_int_ge(ms_since(start), 2000);
	ck_assert(bus.ops->complaint(bus.arg, PUB_MESSAGES, &e));
	ck_has(e.text, "the server is silent");
}
END_TEST

/* More than the socket takes: sending never blocks, and all of it arrives. */
START_TEST(slow_server_blocks_nobody)
{
	enum { NMSGS = 40, SIZE = 900 * 1024 };
	static char	big[SIZE];
	int64_t		start;

	servers_signal("loss", SIGSTOP);
	for (uint32_t i = 0; i < NMSGS; i++) {
		write_letter(i + 1, "t", (struct bytes){ big, SIZE });
		start = clock_ms();
		ck_assert_int_eq(send_letter(i), PUB_SENT);
		ck_assert_int_lt(ms_since(start), 300);
		start = clock_ms();
		pub_wait(&bus, 1, -1, 1);
		ck_assert_int_lt(ms_since(start), 300);
	}
	servers_signal("loss", SIGCONT);
	for (uint32_t i = 0; i < NMSGS; i++)
		ck_stored(i, i + 1);
	ck_assert(is_open());
}
END_TEST

static void
on_count(natsConnection *nc, natsSubscription *sub, natsMsg *m, void *arg)
{
	(void)nc;
	(void)sub;
	natsMsg_Destroy(m);
	__atomic_add_fetch((int *)arg, 1, __ATOMIC_SEQ_CST);
}

/* Also when nobody answers in between. */
START_TEST(the_rest_is_written_while_waiting)
{
	enum { NMSGS = 20, SIZE = 900 * 1024 };
	static char		big[SIZE];
	natsSubscription	*sub;
	int64_t			start;
	int			got = 0, idle = 0;

	js_DeleteStream(js, "EVENTS", NULL, NULL);
	ck_nats(natsConnection_Subscribe(&sub, admin, "events.t", on_count,
	    &got));
	ck_nats(natsConnection_Flush(admin));
	servers_signal("loss", SIGSTOP);
	for (uint32_t i = 0; i < NMSGS; i++) {
		write_letter(i + 1, "t", (struct bytes){ big, SIZE });
		ck_assert_int_eq(send_letter(i), PUB_SENT);
	}
	pub_wait(&bus, 1, -1, 1);
	servers_signal("loss", SIGCONT);
	while (__atomic_load_n(&got, __ATOMIC_SEQ_CST) < NMSGS && idle < 4) {
		start = clock_ms();
		pub_wait(&bus, 1, -1, 200);
		idle += ms_since(start) >= 200;
	}
	/* Only when all is written there is nothing to wake up for. */
	ck_assert_int_lt(idle, 3);
	ck_no_answer(0);
	natsSubscription_Destroy(sub);
}
END_TEST

static void
wait_until(int64_t at)
{
	while (clock_ms() < at)
		poll(NULL, 0, (int)(at - clock_ms()));
}

static void
ck_held_back(uint64_t most)
{
	ck_assert(!is_open());
	ck_assert(bus.ops->complaint(bus.arg, PUB_MESSAGES, &e));
	ck_has(e.text, "time to send was over");
	ck_assert_uint_le(stored("EVENTS"), most);
}

/* As if the machine had stood still between the send and the write. */
START_TEST(what_is_late_is_not_written)
{
	int64_t	until = clock_ms() + 500;

	bus.ops->begin(bus.arg, until);
	send_row(1, 1);
	pub_wait(&bus, 1, -1, 0);
	for (int64_t p = patience(); stored("EVENTS") < 1; )
		wait_more(&p, "the first to be stored");
	send_row(2, 2);
	wait_until(until);
	pub_wait(&bus, 1, -1, 5000);
	ck_held_back(1);
	/* And the next connection is as any other. */
	ck_assert_msg(open_bus(&bus) == 0, "%s", e.text);
	bus.ops->begin(bus.arg, clock_ms() + 60000);
	send_row(2, 2);
	ck_stored(2, 2);
}
END_TEST

/* Nor by a question or a word after the batch. */
START_TEST(what_is_late_goes_with_nothing_else)
{
	struct stream_report	r;

	bus.ops->begin(bus.arg, clock_ms() - 1);
	send_row(1, 1);
	if (_i == 0)
		bus.ops->tell(bus.arg, "told", "text");
	else if (_i == 1)
		ck_assert(!check(&r));
	else {
		bus.ops->begin(bus.arg, INT64_MAX);
		send_row(2, 2);
		pub_wait(&bus, 1, -1, 5000);
	}
	ck_held_back(0);
}
END_TEST

/* What has nothing to do with a batch has no such time. */
START_TEST(other_things_are_written_later)
{
	struct stream_report	r;
	int64_t			until = clock_ms() + 500;

	bus.ops->begin(bus.arg, until);
	send_row(1, 1);
	ck_stored(1, 1);
	wait_until(until);
	bus.ops->tell(bus.arg, "events.told", "text");
	ck_assert(check(&r));
	ck_assert(is_open());
	ck_assert_uint_eq(stored("EVENTS"), 2);
	ck_assert(!bus.ops->complaint(bus.arg, PUB_MESSAGES, &e));
}
END_TEST

/* The server did not read: what is left of the batch is not for later. */
START_TEST(the_rest_is_not_written_late)
{
	enum { NMSGS = 20, SIZE = 900 * 1024 };
	static char	big[SIZE];

	servers_signal("loss", SIGSTOP);
	bus.ops->begin(bus.arg, clock_ms() + 300);
	for (uint32_t i = 0; i < NMSGS; i++) {
		write_letter(i + 1, "t", (struct bytes){ big, SIZE });
		ck_assert_int_eq(send_letter(i), PUB_SENT);
	}
	ck_no_answer(400);
	servers_signal("loss", SIGCONT);
	for (int64_t p = patience(); is_open(); wait_more(&p, "the end"))
		pub_wait(&bus, 1, -1, 100);
	ck_held_back(NMSGS - 1);
}
END_TEST

/* A refusal names nobody: one that has arrived, one that is under way. */
START_TEST(older_refusal_is_silent)
{
	js_DeleteStream(js, "EVENTS", NULL, NULL);
	servers_signal("loss", SIGSTOP);
	send_row(1, 1);
	pub_wait(&bus, 1, -1, 0);	/* it is written */
	if (_i == 1)
		bus.ops->begin(bus.arg, INT64_MAX);
	servers_signal("loss", SIGCONT);
	if (_i == 0) {
		pub_wait(&bus, 1, -1, 5000);
		bus.ops->begin(bus.arg, INT64_MAX);
	}
	ck_no_answer(200);
	send_row(2, 2);
	ck_answer(PUB_SOME_INDEX, VERDICT_ABSENT, "responders");
}
END_TEST

START_TEST(looking_at_a_silent_server_is_bounded)
{
	struct stream_report	r;
	int64_t			start = clock_ms();

	servers_signal("loss", SIGSTOP);
	ck_assert(!check(&r));
	ck_near(ms_since(start), 900, 1400);
	ck_assert_str_ne(e.text, "");
	servers_signal("loss", SIGCONT);
	bus.ops->begin(bus.arg, INT64_MAX);
	ck_no_answer(100);	/* the late answer is nobody's */
	send_row(1, 12);
	ck_stored(12, 1);
}
END_TEST

START_TEST(looking_ends_with_the_connection)
{
	struct stream_report	r;
	int64_t			start;

	servers_kill("loss");
	start = clock_ms();
	ck_assert(!check(&r));
	ck_assert_int_lt(ms_since(start), 500);
	ck_assert(!is_open());
}
END_TEST

START_TEST(telling_a_silent_server_blocks_nobody)
{
	static char	text[4000];
	int64_t		start = clock_ms();

	memset(text, 'x', sizeof(text) - 1);
	servers_signal("loss", SIGSTOP);
	for (int i = 0; i < 10000; i++)
		bus.ops->tell(bus.arg, "ops.dead", text);
	servers_signal("loss", SIGCONT);
	ck_assert_int_lt(ms_since(start), 3000);
	send_row(1, 1);
	ck_stored(1, 1);
}
END_TEST

START_TEST(looking_up_ends_with_the_connection)
{
	struct stored_message	p = { .sequence = 1 };
	int64_t			start;

	servers_kill("loss");
	start = clock_ms();
	ck_assert_int_eq(get_stored(&p, 1), -1);
	ck_assert_int_lt(ms_since(start), 500);
	ck_assert(!is_open());
}
END_TEST

/*
 * Answers to a look that was broken off come while another question is open,
 * which then gets none.
 */
START_TEST(old_answers_are_not_the_answer)
{
	struct stored_message	stored[16] = { 0 };
	struct stream_state	st;

	for (size_t i = 0; i < NROWS(stored); i++)
		stored[i].sequence = i + 1;
	servers_signal("loss", SIGSTOP);
	asked = 0;
	enough = 2;
	ck_assert_int_eq(get_stored(stored, NROWS(stored)), -1);
	enough = 0;
	servers_signal("loss", SIGCONT);
	for (int64_t until = clock_ms() + 200; clock_ms() < until; )
		continue;		/* they are on their way */
	servers_signal("loss", SIGSTOP);
	ck_assert(!bus.ops->state(bus.arg, &st, &e));
	ck_has(e.text, "no answer");
	servers_signal("loss", SIGCONT);
}
END_TEST

START_TEST(closing_a_silent_server_is_fast)
{
	int64_t	start;

	servers_signal("loss", SIGSTOP);
	for (uint32_t i = 0; i < 100; i++)
		send_row(i + 1, i);
	pub_wait(&bus, 1, -1, 0);
	start = clock_ms();
	bus.ops->close(bus.arg);
	ck_assert_int_lt(ms_since(start), 100);
	start = clock_ms();
	ck_assert_int_eq(open_bus(&bus), -1);
	ck_assert_int_lt(ms_since(start), 2500);
	servers_signal("loss", SIGCONT);
	ck_assert_msg(open_bus(&bus) == 0, "%s", e.text);
}
END_TEST

#define LIMIT_LINE	"limits { max_payload: "

static void
start_account(void)
{
	static const char *const lines[] = {
	    "accounts { A { jetstream: enabled, "
	    "users: [{user: a, password: a}], " LIMIT_LINE "8000 } } }",
	    "no_auth_user: a", NULL };

	server = "account";
	servers_start(server, "nats", lines);
}

/*
 * A server tells the limit of an account after the connect, and a new one not
 * at all: then it ends the connection with the first longer message.
 */
START_TEST(limit_of_an_account_is_known)
{
	static char	long_text[6000];
	struct err	why;

	memset(long_text, 'x', sizeof(long_text));
	for (int64_t until = patience(); bus.ops->max_payload(bus.arg) != 8000;)
		wait_more(&until, "the limit"), pub_wait(&bus, 1, -1, 20);
	servers_run("sed -i 's/" LIMIT_LINE "8000/" LIMIT_LINE "3000/' %s",
	    servers_get(server, "CONF"));
	servers_signal(server, SIGHUP);
	for (int64_t until = patience(); is_open();) {
		write_letter(1, "t", (struct bytes){ long_text,
		    sizeof(long_text) });
		send_letter(1);
		wait_more(&until, "the end"), pub_wait(&bus, 1, -1, 20);
	}
	ck_assert_int_ne(bus.ops->complaint(bus.arg, PUB_MESSAGES, &why),
	    CLASS_NONE);
	ck_has(why.text, "Maximum Payload");
	ck_assert_msg(open_bus(&bus) == 0, "%s", e.text);
	ck_assert_int_eq(bus.ops->max_payload(bus.arg), 3000);
}
END_TEST

void
add_losses(Suite *s)
{
	TCase	*tc = server_case(s, "account", start_account, begin, end);

	tcase_add_test(tc, limit_of_an_account_is_known);
	tc = server_case(s, "loss", start_loss, loss_begin, end);

	tcase_add_test(tc, killed_server_is_noticed);
	tcase_add_test(tc, loss_while_writing_ends_the_wait);
	tcase_add_test(tc, restarted_server_is_used_again);
	tcase_add_test(tc, open_makes_a_new_connection);
	tcase_add_test(tc, late_end_is_not_the_new_ones);
	tcase_add_test(tc, nothing_is_sent_later);
	tcase_add_test(tc, silent_server_answers_later);
	tcase_add_test(tc, silence_is_noticed);
	tcase_add_test(tc, slow_server_blocks_nobody);
	tcase_add_loop_test(tc, older_refusal_is_silent, 0, 2);
	tcase_add_test(tc, the_rest_is_written_while_waiting);
	tcase_add_test(tc, what_is_late_is_not_written);
	tcase_add_loop_test(tc, what_is_late_goes_with_nothing_else, 0, 3);
	tcase_add_test(tc, other_things_are_written_later);
	tcase_add_test(tc, the_rest_is_not_written_late);
	tcase_add_test(tc, telling_a_silent_server_blocks_nobody);
	tcase_add_test(tc, closing_a_silent_server_is_fast);
	tcase_add_test(tc, looking_at_a_silent_server_is_bounded);
	tcase_add_test(tc, looking_ends_with_the_connection);
	tcase_add_test(tc, old_answers_are_not_the_answer);
	tcase_add_test(tc, looking_up_ends_with_the_connection);
}
