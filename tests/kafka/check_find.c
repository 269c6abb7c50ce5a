/*
 * check_find.c - the search for messages in a topic, at a real broker
 *
 * A topic with more partitions than are read at a time, one that is made anew
 * meanwhile, and a broker that stops in the middle.
 */
#include "lib/servers.h"

#include <librdkafka/rdkafka.h>
#include <signal.h>
#include <unistd.h>

#include <bsd/string.h>

#include "kafka/kafka_impl.h"
#include "util/clock.h"

#define PARTS	6	/* more than are read at a time */
#define SENT	60

static char		 topic[40];
static const char	*type = "made";		/* of what is sent */
static struct conf	*conf;
static struct pub	 pub;
static uint64_t		 places[SENT + 2];	/* by sequence */
static struct err	 e;

static void
start(void)
{
	servers_start("kafka", "kafka", NULL);
}

/* DROP_RECORDS: the first half of each partition, as retention does. */
enum change { MAKE, DELETE, DROP_RECORDS };

static int64_t	 dropped[PARTS];	/* the first offset that is there */

static void
drop_records(rd_kafka_t *rk, rd_kafka_queue_t *queue)
{
	rd_kafka_topic_partition_list_t	*list;
	rd_kafka_DeleteRecords_t	*drop;

	list = rd_kafka_topic_partition_list_new(PARTS);
	for (int i = 0; i < PARTS; i++) {
		int64_t	low, high;

		ck_assert_int_eq(rd_kafka_query_watermark_offsets(rk, topic, i,
		    &low, &high, 20000), 0);
		dropped[i] = (low + high) / 2;
		rd_kafka_topic_partition_list_add(list, topic, i)->offset =
		    dropped[i];
	}
	drop = rd_kafka_DeleteRecords_new(list);
	rd_kafka_topic_partition_list_destroy(list);
	rd_kafka_DeleteRecords(rk, &drop, 1, NULL, queue);
	rd_kafka_DeleteRecords_destroy(drop);
}

static void
change_topic(enum change change)
{
	rd_kafka_conf_t		*rc = rd_kafka_conf_new();
	char			 address[40], why[200];
	rd_kafka_NewTopic_t	*new = rd_kafka_NewTopic_new(topic, PARTS, 1,
				    NULL, 0);
	rd_kafka_DeleteTopic_t	*old = rd_kafka_DeleteTopic_new(topic);
	rd_kafka_queue_t	*queue;
	rd_kafka_event_t	*event;
	rd_kafka_t		*rk;

	snprintf(address, sizeof(address), "127.0.0.1:%s",
	    servers_get("kafka", "PORT"));
	rd_kafka_conf_set(rc, "bootstrap.servers", address, NULL, 0);
	rk = rd_kafka_new(RD_KAFKA_PRODUCER, rc, why, sizeof(why));
	ck_assert_msg(rk != NULL, "%s", why);
	queue = rd_kafka_queue_new(rk);
	if (change == MAKE)
		rd_kafka_CreateTopics(rk, &new, 1, NULL, queue);
	else if (change == DELETE)
		rd_kafka_DeleteTopics(rk, &old, 1, NULL, queue);
	else
		drop_records(rk, queue);
	event = rd_kafka_queue_poll(queue, 20000);
	ck_assert_ptr_nonnull(event);
	ck_assert_int_eq(rd_kafka_event_error(event), 0);
	rd_kafka_event_destroy(event);
	rd_kafka_NewTopic_destroy(new);
	rd_kafka_DeleteTopic_destroy(old);
	rd_kafka_queue_destroy(queue);
	rd_kafka_destroy(rk);
}

/* At the n-th question from now on, records are dropped. */
static int	drops_at;

static bool
may_go_on(void *arg)
{
	(void)arg;
	if (--drops_at == 0)
		change_topic(DROP_RECORDS);
	return true;
}

static struct message_id
id_of(uint64_t sequence)
{
	return (struct message_id){ .sequence = sequence, .hash = sequence,
	    .hashed = true };
}

/* Send these messages, and wait until all are stored. */
static void
send_all(uint64_t from, uint64_t to)
{
	struct envelope_form	form = envelope_form_of(conf, "abc");
	struct envelope		env = { .nheaders = 0 };
	struct pub_answer	a;
	char			key[24];
	int64_t			until = patience();

	pub.ops->begin(pub.arg, clock_ms() + 20000);
	for (uint64_t i = from; i <= to; i++) {
		struct msg m = { .sequence = i, .hash = i, .hashed = true,
		    .key = { key, (size_t)snprintf(key, sizeof(key), "k%d",
		    (int)i) }, .type = { type, strlen(type) },
		    .payload = { "{}", 2 },
		    .time = { "2026-01-31 12:00:00.5", 21 },
		    .has_event = true };

		ck_assert_msg(envelope_fill(&env, &form, &m, &e) == 0, "%s",
		    e.text);
		ck_assert_int_eq(pub.ops->send(pub.arg, &env, (uint32_t)i, &e),
		    PUB_SENT);
	}
	for (uint64_t n = from; n <= to; ) {
		wait_more(&until, "answers");
		if (!pub.ops->answer(pub.arg, &a)) {
			pub_wait(&pub, 1, -1, 100);
			continue;
		}
		ck_assert_msg(a.verdict == VERDICT_STORED, "%s", a.text);
		places[a.index] = a.ack_sequence;
		n++;
	}
	envelope_free(&env);
}

static void
begin(void)
{
	servers_signal("kafka", SIGCONT);
	snprintf(topic, sizeof(topic), "t%d.made", (int)getpid());
	change_topic(MAKE);
	conf = servers_conf("mysql: {database: app}\n"
	    "publish: {driver: kafka, timeout_ms: 5000}\n"
	    "kafka: {brokers: ['127.0.0.1:%s'], topic: 't%d.{event_type}'}\n",
	    servers_get("kafka", "PORT"), (int)getpid());
	pub = kafka_new(conf, "check");
	ck_assert_msg(pub.ops->open(pub.arg, &e) == 0, "%s", e.text);
	send_all(1, SENT);
}

static void
end(void)
{
	servers_signal("kafka", SIGCONT);
	pub_free(&pub);
	conf_free(conf);
}

static struct pub_sought
sought(uint64_t sequence, bool placed)
{
	return (struct pub_sought){ .where = topic, .id = id_of(sequence),
	    .time = { "2026-01-31 12:00:00.5", 21 }, .since = INT64_MIN,
	    .place = placed ? places[sequence] : 0 };
}

/* One call, of that many ms. */
static enum found
find(struct pub_sought *x, size_t n, int64_t ms)
{
	const struct pub_go_on	 go_on = { may_go_on, NULL };

	pub.ops->find(pub.arg, "abc", x, n, clock_ms() + ms, &go_on);
	return x->found;
}

/* Until the first one is decided. */
static enum found
find_all(struct pub_sought *x, size_t n)
{
	int64_t	until = patience();

	while (find(x, n, 500) == FOUND_LATER || x->found == FOUND_UNKNOWN) {
		wait_more(&until, "an end of the search");
		pub_wait(&pub, 1, -1, 50);
	}
	return x->found;
}

/* Until each is decided. */
static void
find_each(struct pub_sought *x, size_t n)
{
	int64_t	until = patience();

	for (size_t left = n; left > 0; ) {
		left = 0;
		find(x, n, 500);
		for (size_t i = 0; i < n; i++)
			left += x[i].found == FOUND_LATER ||
			    x[i].found == FOUND_UNKNOWN;
		wait_more(&until, "an end of the look-up");
	}
}

/*
 * Nobody has to wait until all brokers know all topics.  The library itself
 * refuses what is longer than 512 characters.
 */
START_TEST(name_that_is_not_legal)
{
	struct pub_sought	x = sought(1, false);
	int64_t			until = patience();
	char			name[601];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	x.where = _i == 0 ? "not legal" : name;
	while (find(&x, 1, 2000) == FOUND_UNKNOWN)
		wait_more(&until, "an answer");
	ck_assert_int_eq(x.found, FOUND_ABSENT);
}
END_TEST

/* Some partitions wait for others to be read. */
START_TEST(all_partitions_are_read)
{
	struct pub_sought	x[SENT + 1];
	bool			seen[PARTS] = { false };

	x[0] = sought(SENT + 5, false);		/* was never sent */
	for (uint64_t i = 1; i <= SENT; i++) {
		x[i] = sought(i, false);
		seen[msg_place_partition(places[i])] = true;
	}
	for (size_t i = 0; i < PARTS; i++)
		ck_assert(seen[i]);
	ck_assert_int_eq(find_all(x, SENT + 1), FOUND_ABSENT);
	for (uint64_t i = 1; i <= SENT; i++) {
		ck_assert_int_eq(x[i].found, FOUND_THERE);
		ck_assert_uint_eq(x[i].stored.sequence, places[i]);
	}
}
END_TEST

/* By then it is sent, and what was read before knows nothing of that. */
START_TEST(absent_is_told_once)
{
	struct pub_sought	x[2] = { sought(SENT + 1, false),
				    sought(SENT + 2, false) };

	/* The second one is not asked for again: its search is kept. */
	find(x, 2, 100);
	ck_assert_int_eq(find_all(x, 1), FOUND_ABSENT);
	send_all(SENT + 1, SENT + 1);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(find(x, 1, 100), FOUND_LATER);
	/* When that is over a new search reads all again. */
	ck_assert_int_eq(find_all(x, 1), FOUND_THERE);
}
END_TEST

/* At its place each is, or another one is there, or the log is not so long. */
START_TEST(places_are_compared)
{
	struct pub_sought	x[3] = { sought(1, true), sought(2, true),
				    sought(3, true) };

	find_each(x, 3);
	ck_assert_int_eq(x[0].found, FOUND_THERE);
	ck_assert_int_eq(x[1].found, FOUND_THERE);
	x[0].id.hash = 4711;
	x[1].place += 1000;
	find_each(x, 3);
	ck_assert_int_eq(x[0].found, FOUND_ABSENT);
	ck_assert_int_eq(x[1].found, FOUND_ABSENT);
	ck_assert_int_eq(x[2].found, FOUND_THERE);
}
END_TEST

START_TEST(topic_made_anew_ends_the_search)
{
	struct pub_sought	x[2] = { sought(SENT + 1, false),
				    sought(1, false) };

	find(x, 2, 1);
	change_topic(DELETE);
	change_topic(MAKE);
	/* What is not there any more was not there, or is gone. */
	ck_assert_int_eq(find_all(x, 2), FOUND_ABSENT);
	ck_assert_int_ne(x[1].found, FOUND_LATER);
}
END_TEST

/* Send another message, to a topic of its own. */
static struct pub_sought
send_elsewhere(bool placed)
{
	static char		other[sizeof(topic)];
	struct pub_sought	x;

	snprintf(topic, sizeof(topic), "t%d.other", (int)getpid());
	strlcpy(other, topic, sizeof(other));
	change_topic(MAKE);
	snprintf(topic, sizeof(topic), "t%d.made", (int)getpid());
	type = "other";
	send_all(SENT + 1, SENT + 1);
	x = sought(SENT + 1, placed);
	x.where = other;
	return x;
}

/*
 * Retention deletes after the offsets of the first topic are known, and before
 * it is read.
 */
START_TEST(removed_meanwhile)
{
	struct pub_sought	x[SENT + 1];

	for (size_t i = 0; i < SENT; i++)
		x[i] = sought(i + 1, true);
	x[SENT] = send_elsewhere(true);
	drops_at = 2;
	find(x, SENT + 1, 500);
	ck_assert_int_lt(drops_at, 1);
	find_each(x, SENT + 1);
	for (size_t i = 0; i < SENT; i++)
		ck_assert_int_eq(x[i].found, msg_place_offset(x[i].place) <
		    dropped[msg_place_partition(x[i].place)] ? FOUND_REMOVED :
		    FOUND_THERE);
	ck_assert_int_eq(x[SENT].found, FOUND_THERE);
}
END_TEST

START_TEST(topic_that_cannot_be_read_holds_up_no_other)
{
	struct pub_sought	x[2] = { sought(1, false),
				    send_elsewhere(false) };
	int64_t			until = patience();

	drops_at = 2;
	while (find(x, 2, 500) == FOUND_LATER || x[1].found == FOUND_LATER)
		wait_more(&until, "an end of the search");
	ck_assert_int_lt(drops_at, 1);
	ck_assert_int_eq(x[0].found, FOUND_UNKNOWN);
	ck_assert_int_eq(x[1].found, FOUND_THERE);
}
END_TEST

/* Between the question for the ends and the reading. */
START_TEST(broker_that_stops_tells_nothing)
{
	struct pub_sought	x[2] = { sought(SENT + 1, false),
				    sought(1, false) };
	int64_t			until;

	find(x, 2, 1);
	servers_signal("kafka", SIGSTOP);
	for (until = clock_ms() + 4000; clock_ms() < until; )
		ck_assert_int_ne(find(x, 2, 500), FOUND_ABSENT);
	servers_signal("kafka", SIGCONT);
	if (!pub.ops->is_open(pub.arg))
		for (until = patience(); pub.ops->open(pub.arg, &e) < 0; )
			wait_more(&until, "the broker");
	ck_assert_int_eq(find_all(x, 2), FOUND_ABSENT);
	ck_assert_int_eq(x[1].found, FOUND_THERE);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("find");
	TCase	*tc;

	if (!servers_have_kafka()) {
		puts("1..0 # SKIP a long test, of Kafka");
		return EXIT_SUCCESS;
	}
	tc = server_case(s, "kafka", start, begin, end);
	tcase_add_test(tc, all_partitions_are_read);
	tcase_add_test(tc, absent_is_told_once);
	tcase_add_test(tc, places_are_compared);
	tcase_add_test(tc, topic_made_anew_ends_the_search);
	tcase_add_loop_test(tc, name_that_is_not_legal, 0, 2);
	tcase_add_test(tc, removed_meanwhile);
	tcase_add_test(tc, topic_that_cannot_be_read_holds_up_no_other);
	tcase_add_test(tc, broker_that_stops_tells_nothing);
	return servers_test(s);
}
