/*
 * check_kafka.c - what becomes of records, at a cluster that librdkafka plays
 *
 * It answers as a broker does, with any error that is wanted.  What only a real
 * broker says is in tests/driver and tests/system/run_kafka.sh.
 */
#include "lib/check.h"

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdlib.h>
#include <unistd.h>

#include "kafka/kafka_impl.h"
#include "kafka/kafka_topic.h"
#include "util/clock.h"

#define E(name)	RD_KAFKA_RESP_ERR_##name
#define PRODUCE	0		/* the request, as Kafka numbers them */
#define ALL	1000		/* tries */
#define PARTS	12

static rd_kafka_t		*player;
static rd_kafka_mock_cluster_t	*cluster;
static struct conf		*conf;
static struct pub		 pub;
static struct envelope		 env;
static struct err		 e;
static int			 timeout = 400;

static struct conf *
load(const char *rest)
{
	char	 path[] = "/tmp/check_kafka.XXXXXX";
	int	 fd = mkstemp(path);
	FILE	*f = fdopen(fd, "w");

	ck_assert_int_ge(fd, 0);
	fprintf(f, "mysql: {database: app}\n"
	    "publish: {driver: kafka, timeout_ms: %d, window: 2}\n"
	    "kafka: {brokers: ['%s'], topic: t%s}\n", timeout,
	    rd_kafka_mock_cluster_bootstraps(cluster), rest);
	fclose(f);
	conf = conf_load(path, NULL, &e);
	unlink(path);
	ck_assert_msg(conf != NULL, "%s", e.text);
	return conf;
}

static void
begin(const char *rest)
{
	rd_kafka_conf_t	*rc = rd_kafka_conf_new();

	rd_kafka_conf_set(rc, "log_level", "0", NULL, 0);
	player = rd_kafka_new(RD_KAFKA_PRODUCER, rc, NULL, 0);
	cluster = rd_kafka_mock_cluster_new(player, 1);
	rd_kafka_mock_topic_create(cluster, "t", PARTS, 1);
	pub = kafka_new(load(rest), "check");
	ck_assert_msg(pub.ops->open(pub.arg, &e) == 0, "%s", e.text);
}

static void
end(void)
{
	pub_free(&pub);
	envelope_free(&env);
	rd_kafka_mock_cluster_destroy(cluster);
	rd_kafka_destroy(player);
	conf_free(conf);
}

static void
fail_produce(rd_kafka_resp_err_t err, int times)
{
	for (int i = 0; i < times; i++)
		rd_kafka_mock_push_request_errors(cluster, PRODUCE, 1, err);
}

static struct msg
message(const char *key, const char *payload)
{
	return (struct msg){ .sequence = 7, .hash = 1, .hashed = true,
	    .key = { key, key == NULL ? 0 : strlen(key) },
	    .type = { "made", 4 }, .payload = { payload, strlen(payload) },
	    .time = { "2026-01-31 12:00:00.5", 21 }, .has_event = true };
}

static enum pub_sent
send_one(struct msg m, uint32_t index)
{
	struct envelope_form	form = envelope_form_of(conf, "abc");

	ck_assert_msg(envelope_fill(&env, &form, &m, &e) == 0, "%s", e.text);
	return pub.ops->send(pub.arg, &env, index, &e);
}

static struct pub_answer
answer(void)
{
	struct pub_answer	a;

	for (int64_t until = clock_ms() + 10000; !pub.ops->answer(pub.arg,
	    &a); ) {
		ck_assert_int_lt(clock_ms(), until);
		pub_wait(&pub, 1, -1, 100);
	}
	return a;
}

static void
wait_for_end(void)
{
	for (int64_t until = clock_ms() + 5000; pub.ops->is_open(pub.arg); ) {
		ck_assert_int_lt(clock_ms(), until);
		pub_wait(&pub, 1, -1, 100);
	}
}

/* Send a message in a batch of its own, and wait for what becomes of it. */
static struct pub_answer
outcome(void)
{
	if (!pub.ops->is_open(pub.arg))
		ck_assert_msg(pub.ops->open(pub.arg, &e) == 0, "%s", e.text);
	pub.ops->begin(pub.arg, clock_ms() + 20000);
	ck_assert_int_eq(send_one(message("k", "{}"), 3), PUB_SENT);
	return answer();
}

static const struct {
	rd_kafka_resp_err_t	 err;
	int			 times;
	enum verdict		 verdict;
	enum error_class	 class;
	bool			 closes;
} rows[] = {
	{ E(NO_ERROR), 0, VERDICT_STORED, CLASS_NONE, false },
	/* The library tries again, and the broker knows its number. */
	{ E(NOT_LEADER_FOR_PARTITION), 1, VERDICT_STORED, CLASS_NONE, false },
	{ E(NOT_ENOUGH_REPLICAS), 1, VERDICT_STORED, CLASS_NONE, false },
	{ E(NOT_LEADER_FOR_PARTITION), ALL, VERDICT_DESTINATION,
	  CLASS_OFFLINE, false },
	{ E(LEADER_NOT_AVAILABLE), ALL, VERDICT_DESTINATION, CLASS_OFFLINE,
	  false },
	{ E(NOT_ENOUGH_REPLICAS), ALL, VERDICT_DESTINATION, CLASS_OFFLINE,
	  false },
	{ E(KAFKA_STORAGE_ERROR), ALL, VERDICT_DESTINATION, CLASS_OFFLINE,
	  false },
	/* It has been written, and nobody says for how long. */
	{ E(NOT_ENOUGH_REPLICAS_AFTER_APPEND), ALL, VERDICT_LOST_TOGETHER,
	  CLASS_LOST, false },
	{ E(REQUEST_TIMED_OUT), ALL, VERDICT_LOST_TOGETHER, CLASS_LOST, false },
	{ E(OUT_OF_ORDER_SEQUENCE_NUMBER), 1, VERDICT_LOST_TOGETHER,
	  CLASS_LOST, true },
	{ E(UNKNOWN), 1, VERDICT_LOST_TOGETHER, CLASS_LOST, false },
	/* A refusal that is not of this message alone. */
	{ E(TOPIC_AUTHORIZATION_FAILED), 1, VERDICT_ADDRESS, CLASS_PERMISSION,
	  false },
	{ E(UNKNOWN_TOPIC_OR_PART), ALL, VERDICT_DESTINATION, CLASS_OFFLINE,
	  false },
	{ E(POLICY_VIOLATION), 1, VERDICT_ADDRESS, CLASS_UNFIT, false },
	{ E(CLUSTER_AUTHORIZATION_FAILED), 1, VERDICT_DESTINATION,
	  CLASS_PERMISSION, false },
	{ E(UNSUPPORTED_VERSION), 1, VERDICT_DESTINATION, CLASS_UNFIT, false },
	{ E(INVALID_REQUIRED_ACKS), 1, VERDICT_DESTINATION, CLASS_UNFIT,
	  false },
	{ E(THROTTLING_QUOTA_EXCEEDED), 1, VERDICT_TRANSIENT, CLASS_OVERLOAD,
	  false },
	/* Perhaps another record of the request is at fault. */
	{ E(MSG_SIZE_TOO_LARGE), 1, VERDICT_DESTINATION, CLASS_OTHER, true },
	{ E(INVALID_RECORD), 1, VERDICT_DESTINATION, CLASS_OTHER, true },
	{ E(INVALID_TIMESTAMP), 1, VERDICT_DESTINATION, CLASS_OTHER, true },
};

START_TEST(error_has_its_verdict)
{
	struct pub_answer	a;

	begin(", client: {topic.metadata.refresh.interval.ms: 200}");
	fail_produce(rows[_i].err, rows[_i].times);
	a = outcome();
	ck_assert_msg(a.verdict == rows[_i].verdict &&
	    a.class == rows[_i].class, "%s: verdict %d, class %d: %s",
	    rd_kafka_err2name(rows[_i].err), (int)a.verdict, (int)a.class,
	    a.text);
	ck_assert_uint_eq(a.index, 3);
	ck_assert((a.text[0] == '\0') == (a.verdict == VERDICT_STORED));
	if (rows[_i].closes)
		wait_for_end();
	ck_assert_int_eq(pub.ops->is_open(pub.arg), !rows[_i].closes);
	/* What is made anew works; a refused topic is asked for again. */
	rd_kafka_mock_clear_request_errors(cluster, PRODUCE);
	for (int64_t until = clock_ms() + 5000; outcome().verdict !=
	    VERDICT_STORED; usleep(50000))
		ck_assert_int_lt(clock_ms(), until);
	end();
}
END_TEST

static const struct {
	rd_kafka_resp_err_t	err;
	enum verdict		verdict;
} own[] = {
	{ E(MSG_SIZE_TOO_LARGE), VERDICT_TOO_LARGE },
	{ E(INVALID_RECORD), VERDICT_MESSAGE },
	{ E(INVALID_TIMESTAMP), VERDICT_MESSAGE },
};

/* After the first such refusal each goes alone, so it is about that one. */
START_TEST(record_is_at_fault_alone)
{
	begin("");
	fail_produce(own[_i].err, 1);
	ck_assert_int_eq(outcome().verdict, VERDICT_DESTINATION);
	fail_produce(own[_i].err, 1);
	ck_assert_int_eq(outcome().verdict, own[_i].verdict);
	ck_assert(pub.ops->is_open(pub.arg));
	ck_assert_int_eq(outcome().verdict, VERDICT_STORED);
	end();
}
END_TEST

START_TEST(brokers_go_and_come_back)
{
	struct pub_answer	a;

	begin("");
	ck_assert_int_eq(outcome().verdict, VERDICT_STORED);
	rd_kafka_mock_broker_set_down(cluster, 1);
	pub.ops->begin(pub.arg, clock_ms() + 20000);
	if (send_one(message("k", "{}"), 0) == PUB_SENT) {
		a = answer();
		ck_assert(a.verdict == VERDICT_DESTINATION ||
		    a.verdict == VERDICT_LOST_TOGETHER);
	}
	wait_for_end();
	ck_assert_int_eq(pub.ops->open(pub.arg, &e), -1);
	ck_assert_msg(strstr(e.text, "refused") != NULL, "%s", e.text);
	rd_kafka_mock_broker_set_up(cluster, 1);
	ck_assert_int_eq(outcome().verdict, VERDICT_STORED);
	end();
}
END_TEST

/* The time to write is over long before the library would give up. */
START_TEST(nothing_goes_on_after_the_end)
{
	int64_t	began = clock_ms();

	timeout = 20000;
	begin("");
	ck_assert_int_eq(outcome().verdict, VERDICT_STORED);
	rd_kafka_mock_broker_set_rtt(cluster, 1, 15000);
	pub.ops->begin(pub.arg, clock_ms() + 200);
	ck_assert_int_eq(send_one(message("a", "{}"), 0), PUB_SENT);
	ck_assert_int_eq(answer().verdict, VERDICT_LOST_TOGETHER);
	ck_assert(!pub.ops->is_open(pub.arg));
	ck_assert_int_lt(clock_ms() - began, 8000);
	timeout = 400;
	end();
}
END_TEST

/* What the library has not sent is no more than the window. */
START_TEST(queue_is_the_window)
{
	struct pub_answer	a;

	begin("");
	ck_assert_int_eq(outcome().verdict, VERDICT_STORED);
	rd_kafka_mock_broker_set_rtt(cluster, 1, 3000);
	pub.ops->begin(pub.arg, clock_ms() + 20000);
	for (uint32_t i = 0; i < 3; i++)
		ck_assert_int_eq(send_one(message("a", "{}"), i), PUB_SENT);
	ck_assert(pub.ops->answer(pub.arg, &a));
	ck_assert_uint_eq(a.index, 2);
	ck_assert_int_eq(a.verdict, VERDICT_DESTINATION);
	ck_assert_int_eq(a.class, CLASS_OVERLOAD);
	end();
}
END_TEST

/* The default partitioner of Java: Utils.murmur2() of these keys. */
static const struct {
	const char	*key;
	int32_t		 hash;
} java[] = {
	{ "21", -973932308 },
	{ "foobar", -790332482 },
	{ "a-little-bit-long-string", -985981536 },
	{ "a-little-bit-longer-string", -1486304829 },
	{ "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971 },
	{ "abc", 479470107 },
};

START_TEST(partition_is_that_of_java)
{
	struct pub_answer	a;
	int32_t			partition = (java[_i].hash & 0x7fffffff) % PARTS;

	begin("");
	pub.ops->begin(pub.arg, clock_ms() + 20000);
	ck_assert_int_eq(send_one(message(java[_i].key, "{}"), 0), PUB_SENT);
	a = answer();
	ck_assert_int_eq(a.verdict, VERDICT_STORED);
	ck_assert_uint_ge(a.ack_sequence, MSG_PLACES);
	ck_assert_int_eq(msg_place_partition(a.ack_sequence), partition);
	ck_assert_int_eq(msg_place_offset(a.ack_sequence), 0);
	ck_assert_uint_eq(a.stream, kafka_place_hash("t", partition));
	end();
}
END_TEST

START_TEST(too_long_a_message_is_refused)
{
	char	text[3000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	begin(", client: {message.max.bytes: 2512}");
	ck_assert_int_eq(pub.ops->max_payload(pub.arg), 2000);
	pub.ops->begin(pub.arg, clock_ms() + 20000);
	ck_assert_int_eq(send_one(message("a", text), 0), PUB_REFUSED);
	ck_assert_int_eq(outcome().verdict, VERDICT_STORED);
	end();
}
END_TEST

static const struct {
	const char	*client, *error;	/* NULL: it is taken */
} properties[] = {
	{ "client: {linger.mss: 5}", "kafka.client: linger.mss: No such" },
	{ "client: {compression.type: lz5}",
	  "kafka.client: compression.type: Invalid value \"lz5\"" },
	{ "client: {linger.ms: 300}",
	  "kafka.client: linger.ms: must be less than 300, " },
	{ "client: {compression.type: lz4, linger.ms: 299.5}", NULL },
	{ "client_files: {ssl.key.passwords: FILE}",
	  "kafka.client_files: ssl.key.passwords: librdkafka has no such" },
	{ "client_files: {linger.ms: FILE}",
	  "kafka.client_files: linger.ms: its value is refused" },
};

/* What -t refuses before a broker is asked, and open refuses as well. */
START_TEST(wrong_property_is_told)
{
	const char	*error = properties[_i].error;
	char		 file[] = "/tmp/check_kafka.XXXXXX", text[200];
	char		*at = strstr(properties[_i].client, "FILE");
	FILE		*f = fdopen(mkstemp(file), "w");
	bool		 is_open;

	fputs("hunter2\n", f);
	fclose(f);
	snprintf(text, sizeof(text), ", %.*s%s%s", at == NULL ? 100 : (int)(at -
	    properties[_i].client), properties[_i].client, at == NULL ? "" :
	    file, at == NULL ? "" : "}");
	begin("");
	pub_free(&pub);
	conf_free(conf);
	pub = kafka_new(load(text), "check");
	ck_assert_int_eq(kafka_check(conf, &e), error == NULL ? 0 : -1);
	ck_assert_msg(error == NULL || (strstr(e.text, ": line 3: ") != NULL &&
	    strstr(e.text, error) != NULL), "%s", e.text);
	ck_assert_ptr_null(strstr(e.text, "hunter2"));
	is_open = pub.ops->open(pub.arg, &e) == 0;
	ck_assert_msg(is_open == (error == NULL), "%s", e.text);
	unlink(file);
	end();
}
END_TEST

static void
judged(struct kafka_topic t, const char *text)
{
	struct stream_report	r;

	kafka_topic_judge(conf, &t, &r);
	ck_assert_int_eq(r.unfit + (int)r.warnings.n + (int)r.advice.n, 1);
	ck_assert_str_eq(r.unfit ? r.why.text : r.warnings.n > 0 ?
	    r.warnings.list[0].text : r.advice.list[0].text, text);
}

/* What run_kafka_operator.sh has not: it takes more brokers, or longer. */
START_TEST(topic_is_judged)
{
	struct kafka_topic	good = { .name = "t", .exists = true,
				    .partitions = 4, .replicas = 3,
				    .in_sync = 3, .described = true,
				    .min_insync = 2, .retention_ms = -1,
				    .retention_bytes = -1,
				    .max_message_bytes = 1048588 };
	struct kafka_topic	t = good;
	struct stream_report	r;

	begin("");
	conf->retention.days = 14;
	kafka_topic_judge(conf, &good, &r);
	ck_assert(!r.unfit && r.warnings.n == 0 && r.advice.n == 0);
	t.leaderless = 1;
	judged(t, "has no leader for 1 of 4 partitions: bring back the brokers "
	    "that are away");
	t = good;
	t.in_sync = 1;
	judged(t, "has a partition with 1 of its replicas in sync, and takes "
	    "messages with min.insync.replicas, 2: bring back the brokers that "
	    "are away");
	t.in_sync = t.behind = 2;
	judged(t, "has 2 of 4 partitions with a replica that is not in sync: "
	    "bring back the brokers that are away");
	t = good;
	t.min_insync = 1;
	judged(t, "has min.insync.replicas 1, so a message counts as delivered "
	    "though one broker alone has it: set it to 2");
	t = good;
	t.compacts = true;
	judged(t, "is compacted, so of each key only the last message stays: "
	    "set cleanup.policy to delete");
	t = good;
	t.retention_ms = 7 * INT64_C(86400000);
	judged(t, "keeps a message for 7 days, less than retention.days of 14: "
	    "raise retention.ms, or lower that");
	end();
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("kafka");
	TCase	*tc = tcase_create("kafka");

	tcase_add_loop_test(tc, error_has_its_verdict, 0,
	    sizeof(rows) / sizeof(rows[0]));
	tcase_add_loop_test(tc, record_is_at_fault_alone, 0,
	    sizeof(own) / sizeof(own[0]));
	tcase_add_test(tc, brokers_go_and_come_back);
	tcase_add_test(tc, nothing_goes_on_after_the_end);
	tcase_add_test(tc, queue_is_the_window);
	tcase_add_test(tc, topic_is_judged);
	tcase_add_loop_test(tc, partition_is_that_of_java, 0,
	    sizeof(java) / sizeof(java[0]));
	tcase_add_test(tc, too_long_a_message_is_refused);
	tcase_add_loop_test(tc, wrong_property_is_told, 0,
	    sizeof(properties) / sizeof(properties[0]));
	suite_add_tcase(s, tc);
	return run_suite(s);
}
