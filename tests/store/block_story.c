/*
 * block_story.c - two workers and everything that may happen, at random
 *
 * The rule: when a message is sent, no earlier one of its key waits that was
 * not acknowledged, and its key is not halted in front of it.  In the end
 * nothing is left.  A step is one round of one worker, so that its knowledge
 * may be of any age.
 */
#include "store/block_test.h"

#include <libdeflate.h>

#include "util/clock.h"

#define NKEYS		6
#define NSEEDS		16
#define NSHARED		32	/* with labels of several counts */
#define NSEEDS_SHORT	5	/* each choice of choose_story() is among them */
#define NSHARED_SHORT	2
#define NSTEPS		400

/* The applications, which may use several partition counts. */
static struct {
	struct late {
		uint64_t	sequence;
		unsigned	key;
	}		late[MAX_SEQUENCE];	/* events without a row yet */
	size_t		nlate;
	struct store	*changer;	/* of the counts; NULL: none */
	const unsigned	*wishes;	/* four of them */
	struct counts	 counts;	/* declared */
	bool		 straggle;	/* former ones are used as well */
} apps;

/* A producer that keeps the order of a key commits its rows one by one. */
static bool
is_late(unsigned key)
{
	for (size_t i = 0; i < apps.nlate; i++)
		if (apps.late[i].key == key)
			return true;
	return false;
}

/* What a producer gives a row of this key, quoted. */
static const char *
label_of_key(unsigned key)
{
	static char	 text[16];
	char		 name[8];
	unsigned	 count, n;

	if (apps.changer == NULL && key > 3)
		return "NULL";
	if (apps.changer == NULL) {
		snprintf(text, sizeof(text), "'p0%u'", key % 2);
		return text;
	}
	n = apps.straggle ? dice((unsigned)apps.counts.nformer + 1) : 0;
	count = n == 0 ? apps.counts.count : apps.counts.former[n - 1];
	if (count == 1 && dice(2) == 0)
		return dice(2) == 0 ? "NULL" : "''";
	snprintf(name, sizeof(name), "k%u", key);
	snprintf(text, sizeof(text), "'p%02u'", libdeflate_crc32(0, name,
	    strlen(name)) % count);
	return text;
}

static void
produce(unsigned key)
{
	for (unsigned i = 0; i < 1 + dice(6); i++) {
		uint64_t sequence;

		sql("INSERT INTO events (stream_id, stream_sequence, "
		    "event_type, event_data) SELECT 'k%u', COUNT(*), 't', "
		    "REPEAT('x', %u) FROM events", key, dice(3) == 0 ?
		    dice(2000) : dice(40));
		sequence = strtoull(sql_text("SELECT LAST_INSERT_ID()"), NULL,
		    10);
		ck_assert_uint_lt(sequence, MAX_SEQUENCE);
		if (dice(5) == 0 || is_late(key))
			apps.late[apps.nlate++] = (struct late){ sequence,
			    key };
		else
			sql("INSERT INTO outbox (global_sequence, partition_key)"
			    " VALUES (%llu, %s)", (unsigned long long)sequence,
			    label_of_key(key));
	}
}

static void
commit_late(void)
{
	uint64_t	sequence;
	size_t		i = 0;
	unsigned	key;

	if (apps.nlate == 0)
		return;
	key = apps.late[dice((unsigned)apps.nlate)].key;
	while (apps.late[i].key != key)
		i++;
	sequence = apps.late[i].sequence;
	memmove(&apps.late[i], &apps.late[i + 1],
	    (--apps.nlate - i) * sizeof(apps.late[0]));
	sql("INSERT INTO outbox (global_sequence, partition_key) VALUES "
	    "(%llu, %s)", (unsigned long long)sequence, label_of_key(key));
}

/* A message that died of a later attempt is not known to be stored. */
static void
forget_dead(void)
{
	char	*list = xstrdup(sql_text("SELECT COALESCE(GROUP_CONCAT("
		    "global_sequence), '') FROM outbox_dead_letters")),
		*at = list, *one;

	while ((one = strsep(&at, ",")) != NULL && one[0] != '\0') {
		story.stored[strtoull(one, NULL, 10)] = false;
		story.acked[strtoull(one, NULL, 10)] = false;
	}
	free(list);
}

/* The label of a row that comes back: of the present count. */
static const char *
label_now(const char *key)
{
	static char	text[256];

	snprintf(text, sizeof(text), "CONCAT('p', LPAD(CRC32(CAST(%s AS CHAR)) "
	    "MOD %u, 2, '0'))", key, apps.counts.count);
	return text;
}

/* Of the partitions where rows come back, as outboxctl does it. */
static void
raise_epochs(bool retry)
{
	if (apps.changer == NULL) {
		sql("UPDATE outbox_partitions SET lease_epoch = lease_epoch + "
		    "1");
		return;
	}
	sql("UPDATE outbox_partitions SET lease_epoch = lease_epoch + 1 "
	    "WHERE partition_key IN (SELECT partition_key FROM "
	    "outbox_blocked_keys WHERE reason = 'halted')");
	if (retry)
		sql("UPDATE outbox_partitions SET lease_epoch = lease_epoch + "
		    "1 WHERE partition_key IN (SELECT %s FROM "
		    "outbox_dead_letters)", label_now("order_key"));
}

/* The release of schema.sql; dead rows may come back. */
static void
release_all(bool retry)
{
	if (retry)
		forget_dead();
	sql("START TRANSACTION");
	raise_epochs(retry);
	if (retry)
		sql("INSERT INTO outbox (global_sequence, partition_key) "
		    "SELECT global_sequence, %s FROM outbox_dead_letters; "
		    "DELETE FROM outbox_dead_letters", apps.changer == NULL ?
		    "partition_key" : label_now("order_key"));
	sql("UPDATE outbox_blocked_keys SET reason = 'released' WHERE reason = "
	    "'halted'; COMMIT");
}

static void
release_some(void)
{
	release_all(true);
}

/* Send again a delivered row in front of others of its key that wait. */
static void
replay(void)
{
	uint64_t	sequence = strtoull(sql_text("SELECT COALESCE(("
			    "SELECT x.global_sequence FROM outbox AS x JOIN "
			    "events AS a ON a.sequence = x.global_sequence "
			    "WHERE x.published_at IS NOT NULL AND EXISTS "
			    "(SELECT 1 FROM outbox AS y JOIN events AS b ON "
			    "b.sequence = y.global_sequence WHERE b.stream_id "
			    "= a.stream_id AND b.sequence > a.sequence AND "
			    "y.published_at IS NULL) ORDER BY RAND() LIMIT 1), "
			    "0)"), NULL, 10);

	story.acked[sequence] = story.stored[sequence] = false;
	sql("START TRANSACTION; UPDATE outbox JOIN events ON sequence = "
	    "global_sequence SET published_at = NULL, partition_key = %s, "
	    "attempts = 0, available_at = NOW(6), replay_no = replay_no + 1 "
	    "WHERE sequence = %llu; UPDATE outbox_partitions SET lease_epoch = "
	    "lease_epoch + 1 WHERE partition_key = (SELECT partition_key FROM "
	    "outbox WHERE global_sequence = %llu); COMMIT",
	    label_now("stream_id"), (unsigned long long)sequence,
	    (unsigned long long)sequence);
}

static void
move_lease(void)
{
	sql("UPDATE outbox_partitions SET lease_epoch = lease_epoch + 1, "
	    "lease_owner = '%s', lease_until = NOW(6) + INTERVAL 1 HOUR "
	    "ORDER BY RAND() LIMIT 1", nodes[dice(2)].id);
}

static void
change_to(unsigned wish)
{
	struct repartition	r;

	ck_ok(store_repartition(apps.changer, wish, &r, &e));
	ck_assert_msg(!r.refused, "%s", r.why.text);
	if (r.changed)
		apps.counts = r.counts;
}

static void
repartition(void)
{
	change_to(apps.wishes[dice(4)]);
}

/* Does anything wait under a label that its key has not now? */
static bool
is_former_used(void)
{
	return strcmp(sql_text("SELECT COUNT(*) FROM (SELECT partition_key, "
	    "stream_id FROM outbox JOIN events ON sequence = global_sequence "
	    "WHERE published_at IS NULL UNION ALL SELECT partition_key, "
	    "order_key FROM outbox_blocked_keys) AS t WHERE NOT (partition_key "
	    "<=> %s)", label_now("stream_id")), "0") != 0;
}

/* The operator declares that no producer uses a former count any more. */
static void
end_former(void)
{
	struct counts	c = { .count = apps.counts.count, .changed = true };

	if (apps.counts.nformer == 0 || is_former_used())
		return;
	if (store_begin(apps.changer, &e) < 0 || store_end(apps.changer,
	    store_write_counts(apps.changer, &c, &e), &e) < 0) {
		ck_assert_int_eq(store_fault(apps.changer), DB_BUSY);
		return;
	}
	apps.counts = c;
}

/* Rows under labels that no worker has seen yet. */
static void
change_and_produce(void)
{
	unsigned	key = dice(NKEYS);

	repartition();
	apps.straggle = true;
	produce(key);
	produce(key);
}

static void
stop_straggling(void)
{
	apps.straggle = false;
}

/* Events that may come between a scan and a claim, for instance. */
static void
disturb(void)
{
	static void		(*const events[])(void) = {
		repartition, change_and_produce, stop_straggling, end_former,
		end_former, release_some, replay, replay, replay, move_lease,
		commit_late,
	};
	static const char *const	before[] = {
		"LOCK IN SHARE MODE) = ",		/* claim */
		"SET lease_owner = ",			/* take and give up */
		"heartbeat_until > NOW(6)) UNION",	/* view */
		"published_at IS NULL LIMIT",		/* glance */
		"ORDER BY global_sequence LIMIT",	/* scan */
	};

	story.event = events[dice(NROWS(events))];
	story.event_at = before[dice(2) == 0 ? 0 : dice(NROWS(before))];
}

static void
stumble(void)
{
	struct node	*n = &nodes[dice(2)];

	switch (dice(20)) {
	case 0: case 1:
		produce(dice(NKEYS));
		return;
	case 2:
		commit_late();
		return;
	case 3: case 9:
		time_passes(dice(2) == 0 ? 6000 : 1500);
		return;
	case 4:
		sql("UPDATE outbox SET available_at = NOW(6) + INTERVAL %u "
		    "SECOND WHERE published_at IS NULL AND claim_token IS NULL "
		    "ORDER BY RAND() LIMIT 2", 5 + dice(20));
		return;
	case 5:		/* its owner does not know of it */
		if (dice(3) == 0)
			move_lease();
		return;
	case 6:
		if (dice(3) == 0)
			node_dies(n);
		return;
	case 7:
		if (dice(3) == 0)
			release_all(dice(2) == 0);
		return;
	case 8:
		fleet_reread(&n->fleet);
		/* FALLTHROUGH */
	default:
		if (apps.changer != NULL && dice(4) == 0)
			disturb();
		node_works(n);
		if (story.event != NULL)
			happen();
	}
}

static bool
is_all_done(void)
{
	return strcmp(sql_text("SELECT (SELECT COUNT(*) FROM outbox WHERE "
	    "published_at IS NULL) + (SELECT COUNT(*) FROM "
	    "outbox_blocked_keys)"), "0") == 0;
}

static void
choose_story(int seed)
{
	srand((unsigned)seed);
	memset(&apps, 0, sizeof(apps));
	story.failures = 25;
	story.crowded = seed % 5 > 1 ? 50 : 0;
	conf->nats.recover = RECOVER_LOST;
	if (seed % 5 == 4)
		conf->worker.batch_size = 1;
	if (seed % 3 == 2)	/* room for all of them */
		conf->worker.batch_bytes = 65536;
	if (seed % 5 == 1) {	/* little to do, and that goes early */
		conf->worker.batch_bytes = 1 << 20;
		story.failures = 1;
		story.calm = true;
	}
	conf->retry.on_dead = seed % 2 == 0 ? DEAD_CONTINUE : DEAD_HALT;
	conf->retry.max_attempts = seed % 4 < 2 ? 3 : 1000;
}

static void
tell_story(void)
{
	int	left = 300;

	node_start(&nodes[0]);
	node_start(&nodes[1]);
	for (int i = 0; i < (story.calm ? 3 * NSTEPS : NSTEPS); i++)
		stumble();
	while (apps.nlate > 0)
		commit_late();
	story.failures = 0;
	while (!is_all_done() && left-- > 0) {
		/* Again: a row not yet written back may halt its key. */
		if (left % 50 == 49)
			release_all(true);
		if (left % 4 == 0)
			time_passes(6000);
		node_works(&nodes[left % 2]);
	}
	ck_assert_msg(left >= 0, "left: %s; on record: %s", labels(),
	    records());
	ck_sql("0", "SELECT COUNT(*) FROM outbox WHERE partition_key LIKE "
	    "'!%%' AND published_at IS NULL");
}

START_TEST(order_is_kept_at_random)
{
	choose_story(_i);
	tell_story();
}
END_TEST

static const unsigned	wishes[][4] = {
	{ 2, 4, 8, 6 }, { 4, 8, 12, 16 }, { 1, 2, 4, 8 }, { 3, 6, 9, 12 },
	{ 2, 4, 2, 4 },
};

/* Rows of a key have labels of all declared counts, and the counts change. */
START_TEST(order_is_kept_under_several_counts)
{
	choose_story(NSEEDS + _i);
	apps.wishes = wishes[_i % NROWS(wishes)];
	apps.counts.count = apps.wishes[0];
	sql("UPDATE outbox_settings SET partition_count = %u",
	    apps.counts.count);
	apps.straggle = true;
	apps.changer = store_of(conf, "here:09:ffffffffffffffff");
	change_to(apps.wishes[1]);
	tell_story();
	store_free(apps.changer);
}
END_TEST

void
add_stories(TCase *tc)
{
	tcase_add_loop_test(tc, order_is_kept_at_random, 0, NSEEDS_SHORT);
	tcase_add_loop_test(tc, order_is_kept_under_several_counts, 0,
	    NSHARED_SHORT);
}

void
add_more_stories(TCase *tc)
{
	tcase_add_loop_test(tc, order_is_kept_at_random, NSEEDS_SHORT, NSEEDS);
	tcase_add_loop_test(tc, order_is_kept_under_several_counts,
	    NSHARED_SHORT, NSHARED);
}
