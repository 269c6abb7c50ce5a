/* bus_wake.c - rings through the broker, and what ends the idling */

#include "nats/bus_test.h"

#include "ipc/wakeup.h"

/* Anew, and the library with it; only a server with users looks at ours. */
void
listen_to(const char *subject, const char *login)
{
	char	url[128];

	snprintf(url, sizeof(url), "nats://admin:admin@127.0.0.1:%s",
	    servers_get(server, "PORT"));
	admin_close();
	pub_free(&bus);
	conf_free(conf);
	conf = servers_conf("mysql: {database: app}\n"
	    "nats: {servers: [\"%s\"]%s}\nwake: {subject: %s}\n",
	    servers_get(server, "URL"), login, subject);
	bus = bus_new(conf, "check");
	admin_open(url);
	plain_stream("EVENTS", "events.>");
	ck_assert_msg(open_bus(&bus) == 0, "%s", e.text);
}

/* The subscription has arrived once something later was answered. */
void
is_subscribed(void)
{
	struct pub_answer	a;

	bus.ops->begin(bus.arg, INT64_MAX);
	send_row(1, 1);
	ck_assert(answers(&a, 5000));
}

bool
is_woken(int64_t ms)
{
	int64_t	until = clock_ms() + ms;

	do {
		pub_wait(&bus, 1, -1, 20);
		if (bus.ops->woken(bus.arg))
			return true;
	} while (clock_ms() < until);
	return false;
}

void
ring(const char *subject, unsigned times)
{
	for (unsigned i = 0; i < times; i++)
		ck_nats(natsConnection_PublishString(admin, subject, "x"));
	ck_nats(natsConnection_FlushTimeout(admin, 10000));
}

START_TEST(ring_is_heard_once)
{
	listen_to("wake.up", "");
	is_subscribed();
	ck_assert(!is_woken(50));
	ring("wake.other", 1);
	ring("wake.up.there", 1);
	ck_assert(!is_woken(100));
	ring("wake.up", 3);
	ck_assert(is_woken(5000));
	ck_assert(!is_woken(50));
	/* With every connection anew. */
	bus.ops->close(bus.arg);
	ck_assert(!is_woken(0));
	ck_assert_int_eq(open_bus(&bus), 0);
	is_subscribed();
	ring("wake.up", 1);
	ck_assert(is_woken(5000));
}
END_TEST

/* One that comes while a batch is out is not an answer, and not forgotten. */
START_TEST(ring_disturbs_no_batch)
{
	listen_to("wake.up", "");
	is_subscribed();
	for (uint32_t i = 2; i < 10; i++) {
		ring("wake.up", 1);
		send_row(i, i);
		ck_stored(i, i);
	}
	ck_no_answer(50);
	ck_assert(bus.ops->woken(bus.arg));
	ck_assert(!is_woken(50));
}
END_TEST

START_TEST(flood_of_rings_is_read)
{
	listen_to("wake.up", "");
	is_subscribed();
	ring("wake.up", 200000);
	ck_assert(is_woken(5000));
	for (int64_t until = patience(); is_woken(100); )
		wait_more(&until, "the end of the rings");
	ck_assert(!bus.ops->complaint(bus.arg, PUB_MESSAGES, &e));
	send_row(2, 2);
	ck_stored(2, 2);
}
END_TEST

START_TEST(nobody_rings_without_the_key)
{
	ring("wake.up", 3);
	is_subscribed();
	ck_assert(!is_woken(50));
}
END_TEST

/* With a connection and without, and the ring is left for its owner. */
START_TEST(ring_ends_the_idling)
{
	struct wakeup		wakeup;
	int64_t			start = clock_ms();

	ck_assert_int_eq(wakeup_open(&wakeup, &e), 0);
	if (_i == 1)
		bus.ops->close(bus.arg);
	wakeup_notify(&wakeup, 3);
	/* The server's first PING may end one of them early. */
	for (int i = 0; i < 2; i++)
		pub_wait(&bus, 1, wakeup_fd(&wakeup, 3), 60000);
	ck_assert_int_lt(ms_since(start), 5000);
	ck_assert(wakeup_take(&wakeup, 3));
	start = clock_ms();
	for (int i = 0; i < 2; i++)
		pub_wait(&bus, 1, wakeup_fd(&wakeup, 3), 100);
	ck_near(ms_since(start), 99, 1000);
	wakeup_close(&wakeup);
}
END_TEST

void
add_wakes(Suite *s)
{
	TCase	*tc = server_case(s, "wake", start_nats, begin, end);

	tcase_add_loop_test(tc, ring_ends_the_idling, 0, 2);
	tcase_add_test(tc, ring_is_heard_once);
	tcase_add_test(tc, ring_disturbs_no_batch);
	tcase_add_test(tc, flood_of_rings_is_read);
	tcase_add_test(tc, nobody_rings_without_the_key);
}
