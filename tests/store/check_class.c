/*
 * check_class.c - labels of several partition counts, against real servers
 *
 * Declared are 4 and, as a former count, 2: p00 and p02 are a class, and so
 * are p01 and p03.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "lib/frame.h"
#include "lib/stages.h"
#include "common/lane.h"
#include "util/xalloc.h"

static struct fleet	 fleet;
static struct backlog	 backlog;
static struct picks	 picks;
static int64_t		 now;

static struct bytes
bytes_of(const char *text)
{
	return (struct bytes){ text, strlen(text) };
}

static struct part *
part(const char *label)
{
	return parts_find(&backlog.parts, bytes_of(label));
}

static void
declare(unsigned count, const char *former)
{
	sql("UPDATE outbox_settings SET partition_count = %u, former_counts = "
	    "NULLIF('%s', '')", count, former);
}

/* Look at the leases until there is nothing to do, and read the records. */
static void
settle(void)
{
	for (int i = 0; i < 3; i++) {
		fleet_reread(&fleet);
		ck_ok(adopt_round(&fleet, &backlog, ++now, &e));
		ck_ok(parked_round(&backlog.parked, 100, now, &e));
	}
}

static void
class_begin(void)
{
	begin_store();
	conf->worker.lease_renew = 2000;
	store_free(st);
	st = store_of(conf, ME);
	ck_ok(store_register(st, &e));
	backlog_init(&backlog, conf, st);
	memset(&picks, 0, sizeof(picks));
	now = 0;
	declare(4, "2");
	ck_ok(fill_partitions(st, 4));
	fleet_init(&fleet, conf, st);
	settle();
}

static void
class_end(void)
{
	picks_free(&picks);
	backlog_free(&backlog);
	fleet_free(&fleet);
	end_store();
}

/* "p00+p02 p01": the partitions that are ours. */
static const char *
owned(void)
{
	static char	text[4096];

	text[0] = '\0';
	for (size_t i = 0; i < fleet.parts.n; i++)
		for (size_t k = 0; k < fleet.parts.items[i]->nlabels; k++) {
			strcat(text, k > 0 ? "+" : i > 0 ? " " : "");
			strcat(text, fleet.parts.items[i]->labels[k].label);
		}
	return text;
}

static const char *
found(size_t limit)
{
	static char	text[4096];
	size_t		len = 0;

	picks_free(&picks);
	memset(&picks, 0, sizeof(picks));
	ck_ok(candidates_pick(&backlog.candidates, &picks, limit, &e));
	text[0] = '\0';
	for (size_t i = 0; i < picks.n; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
		    "%s%llu", i == 0 ? "" : " ",
		    (unsigned long long)picks.sequences[i]);
	return text;
}

/*
 * Owning
 */

static const char *const	obstacles[] = { OTHER, STORE_PAUSED };

/* Under a part of the leases nothing is claimed, but they are kept. */
START_TEST(class_is_owned_as_a_whole)
{
	ck_assert_str_eq(owned(), "p00+p02 p01+p03");
	sql("UPDATE outbox_partitions SET lease_owner = '%s', lease_epoch = "
	    "lease_epoch + 1, lease_until = NOW(6) + INTERVAL 1 HOUR WHERE "
	    "partition_key = 'p02'", obstacles[_i]);
	settle();
	ck_assert_str_eq(owned(), "p01+p03");
	ck_assert_ptr_null(part("p00"));
	add_rows(1, 3, "'p00'");
	ck_assert_str_eq(found(100), "");
	now += 2000;
	update_lease("p00", "lease_until = NOW(6) + INTERVAL 5 SECOND");
	settle();
	ck_sql("1", "SELECT lease_owner = '" ME "' AND lease_until > NOW(6) + "
	    "INTERVAL 10 SECOND FROM outbox_partitions WHERE partition_key = "
	    "'p00'");
	update_lease("p02", "lease_owner = NULL, lease_until = NULL");
	settle();
	ck_assert_str_eq(owned(), "p00+p02 p01+p03");
	ck_assert_str_eq(found(100), "1 2 3");
}
END_TEST

START_TEST(modulo_runs_over_classes)
{
	sql("INSERT INTO outbox_workers (id, heartbeat_until) VALUES ('" OTHER
	    "', NOW(6) + INTERVAL 1 HOUR)");
	settle();
	ck_assert_str_eq(owned(), "p00+p02");
	ck_sql("p01,p03", "SELECT GROUP_CONCAT(partition_key) FROM "
	    "outbox_partitions WHERE lease_owner IS NULL");
	/* With one count each label is one. */
	declare(4, "");
	settle();
	ck_assert_str_eq(owned(), "p00 p02");
}
END_TEST

START_TEST(without_an_order_labels_are_alone)
{
	conf->outbox.ordering = ORDER_NONE;
	settle();
	ck_assert_str_eq(owned(), "p00 p01 p02 p03");
}
END_TEST

static const struct {
	unsigned	 count;
	const char	*former, *more, *want;
} classes[] = {
	{ 4, "1", "", "+p00+p01+p02+p03" },	/* without a label, too */
	{ 4, "2", "p2", "p00+p02+p2 p01+p03" },
	{ 4, "2", "p0000000003", "p00+p02 p0000000003+p01+p03" },
	/* What no declared count makes, and what is no label of a count. */
	{ 4, "2", "p04", "p00+p02 p01+p03 p04" },
	{ 4, "2", "p99999999999999999999", "p00+p02 p01+p03 "
	    "p99999999999999999999" },
	{ 4, "2", "vip", "p00+p02 p01+p03 vip" },
	{ 4, "2", "", " p00+p02 p01+p03" },
	{ 4, "", "", " p00 p01 p02 p03" },
};

START_TEST(labels_fall_into_classes)
{
	declare(classes[_i].count, classes[_i].former);
	sql("INSERT INTO outbox_partitions (partition_key) VALUES ('%s')",
	    classes[_i].more);
	settle();
	ck_assert_str_eq(owned(), classes[_i].want);
}
END_TEST

/* More than a statement looks at, by zeros that no daemon would write. */
START_TEST(class_too_large_is_told)
{
	char	label[80] = "p";

	for (int i = 1; i <= 62; i++) {
		strcat(label, "0");
		sql("INSERT IGNORE INTO outbox_partitions (partition_key) "
		    "VALUES ('%s')", label);
	}
	settle();
	ck_assert_ptr_nonnull(part("p00"));
	sql("INSERT INTO outbox_partitions (partition_key) VALUES ('p002'), "
	    "('p0002')");
	settle();
	settle();
	ck_assert_str_eq(owned(), "p01+p03");
	ck_assert_uint_eq(times_logged("at most 64 can be served"), 1);
}
END_TEST

/* A label that nobody knew joins a class: its owner has to learn of it. */
START_TEST(adopted_label_raises_its_class)
{
	char		label[STORE_LABEL];
	unsigned	n;

	sql("UPDATE outbox_partitions SET lease_epoch = 7");
	add_rows(1, 1, "'p002'");
	add_rows(2, 2, "'vip'");
	n = adopt_strays(st, label);
	ck_assert_uint_eq(n, 2);
	ck_sql("p00 8,p002 1,p01 7,p02 8,p03 7,vip 0", "SELECT GROUP_CONCAT("
	    "CONCAT(partition_key, ' ', lease_epoch) ORDER BY partition_key) "
	    "FROM outbox_partitions");
}
END_TEST

/* A producer with a count of its own must not wait for scan after scan. */
START_TEST(all_strays_are_found_at_once)
{
	char		label[STORE_LABEL], text[16];
	unsigned	n;

	for (unsigned i = 0; i < 300; i++) {
		snprintf(text, sizeof(text), "'p%02u'", i);
		add_rows(i + 1, i + 1, text);
	}
	n = adopt_strays(st, label);
	ck_assert_uint_eq(n, 296);
}
END_TEST

/*
 * Looking and claiming
 */

START_TEST(rows_of_a_class_are_merged)
{
	add_rows(1, 1, "'p00'");
	add_rows(2, 2, "'p02'");
	add_rows(3, 4, "'p00'");
	add_rows(5, 5, "'p02'");
	ck_assert_str_eq(found(100), "1 2 3 4 5");
	for (size_t i = 0; i < picks.n; i++)
		ck_assert_ptr_eq(picks.items[i].part, part("p02"));
}
END_TEST

/* Behind the cut there may be an earlier row of the key. */
START_TEST(cut_label_limits_the_others)
{
	add_rows(1, 120, "'p00'");
	add_rows(121, 121, "'p02'");
	add_rows(122, 240, "'p00'");
	ck_assert_str_eq(found(8), "1 2");
	/* The busy label is asked for more, and the others for as much. */
	ck_assert_str_eq(found(8), "1 2 3 4 5 6 7 8");
	sql("UPDATE outbox SET published_at = NOW(6) WHERE global_sequence <= "
	    "118");
	ck_assert_str_eq(found(8), "119 120 121 122 123 124 125 126");
}
END_TEST

/* Somebody makes a row due under a label that has none in the batch. */
START_TEST(fence_names_all_labels)
{
	struct range	ranges[STORE_RANGES];
	struct batch	b = { 0 };
	uint64_t	n;
	size_t		nranges;

	add_rows(1, 2, "'p00'");
	ck_assert_str_eq(found(100), "1 2");
	nranges = picks_ranges(&picks, ranges);
	ck_assert_uint_eq(nranges, 2);
	if (_i == 0)
		update_lease("p02", "lease_epoch = lease_epoch + 1");
	ck_ok(store_claim(st, &(struct claim_set){ ranges, nranges,
	    picks.sequences, picks.n }, &b, &n, &e));
	ck_assert_uint_eq(n, _i == 0 ? 0 : 2);
}
END_TEST

START_TEST(lane_of_a_class)
{
	struct msg	 msgs[2] = { { .partition = bytes_of("p00"),
			     .key = bytes_of("a") },
			     { .partition = bytes_of("p02"),
			     .key = bytes_of("b") } };
	char		 labels[1][MSG_LABEL] = { "p00" };
	struct batch	 b = { .msgs = msgs, .n = 2, .labels = labels };

	for (int i = 0; i < 2; i++) {
		struct bytes l = lane_of_msg(ORDER_PARTITION, &b, &msgs[i]);

		ck_assert_uint_eq(l.len, 3);
		ck_assert_int_eq(memcmp(l.data, "p00", 3), 0);
		ck_assert_ptr_eq(lane_of_msg(ORDER_KEY, &b, &msgs[i]).data,
		    msgs[i].key.data);
	}
}
END_TEST

/* Told with the renewal, and once. */
START_TEST(former_labels_are_noted)
{
	ck_sql("0", "SELECT COUNT(former_label_at) FROM outbox_partitions");
	now += 2000;
	settle();
	ck_sql("0", "SELECT COUNT(former_label_at) FROM outbox_partitions");
	fleet.former_sent = true;
	now += 2000;
	settle();
	ck_sql("1", "SELECT COUNT(former_label_at) FROM outbox_partitions");
	ck_assert(!fleet.former_sent);
}
END_TEST

/*
 * Another count
 */

static const char *
settings(void)
{
	return sql_text("SELECT CONCAT(partition_count, ' ', COALESCE("
	    "former_counts, '-'), ' ', counts_since IS NOT NULL, ' ', (SELECT "
	    "CONCAT(COUNT(*), ' ', SUM(lease_epoch > 9)) FROM "
	    "outbox_partitions)) FROM outbox_settings");
}

static const struct {
	unsigned	 count;
	const char	*former;
	unsigned	 wish;
	const char	*want, *why;
} changes[] = {
	{ 16, "", 64, "64 16 1 64 4", NULL },
	{ 64, "16", 8, "8 16,64 1 64 4", NULL },
	{ 8, "16,64", 16, "16 64,8 1 64 4", NULL },
	{ 16, "", 16, "16 - 0 4 0", NULL },
	{ 16, "", 17, "16 - 0 4 0", "multiple or a divisor" },
	{ 1024, "", 1023, "1024 - 0 4 0", "multiple or a divisor" },
	{ 16, "", 2048, "16 - 0 4 0", "own 128 labels together" },
	{ 1, "", 64, "1 - 0 4 0", "own 65 labels together" },
	{ 1, "", 32, "32 1 1 33 4", NULL },
	{ 16, "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,17", 24, NULL,
	    "16 former counts" },
};

START_TEST(count_is_changed_or_refused)
{
	struct repartition	 r;
	char			*before;

	declare(changes[_i].count, changes[_i].former);
	sql("UPDATE outbox_partitions SET lease_epoch = 9");
	before = xstrdup(settings());
	ck_ok(store_repartition(st, changes[_i].wish, &r, &e));
	ck_assert(!r.busy);
	ck_assert_str_eq(settings(), changes[_i].want == NULL ? before :
	    changes[_i].want);
	ck_assert_int_eq(r.refused, changes[_i].why != NULL);
	if (r.refused)
		ck_has(r.why.text, changes[_i].why);
	ck_assert_int_eq(r.changed, strcmp(before, settings()) != 0);
	free(before);
}
END_TEST

/* The claim of who does not know of it yet takes nothing. */
START_TEST(change_closes_the_fence)
{
	struct store		*other = store_of(conf, OTHER);
	struct repartition	 r;
	struct range		 ranges[STORE_RANGES];
	struct batch		 b = { 0 };
	uint64_t		 n;
	size_t			 nranges;

	add_rows(1, 1, "'p00'");
	ck_assert_str_eq(found(100), "1");
	nranges = picks_ranges(&picks, ranges);
	ck_ok(store_repartition(other, 8, &r, &e));
	ck_assert(r.changed);
	ck_ok(store_claim(st, &(struct claim_set){ ranges, nranges,
	    picks.sequences, 1 }, &b, &n, &e));
	ck_assert_uint_eq(n, 0);
	settle();
	ck_assert_str_eq(owned(), "p00+p02+p04+p06 p01+p03+p05+p07");
	store_free(other);
}
END_TEST

/* Who holds the counts to give rows labels by them is waited for. */
START_TEST(locked_settings_are_waited_for)
{
	struct repartition	r;
	int64_t			start = clock_ms();

	sql("START TRANSACTION; SELECT * FROM outbox_settings LOCK IN SHARE "
	    "MODE");
	ck_ok(store_repartition(st, 8, &r, &e));
	ck_assert(r.busy && !r.changed && !r.refused);
	ck_near(ms_since(start), 900, 5000);
	sql("COMMIT");
	fleet.wish = 8;
	fleet.wish_at = 0;
	settle();
	ck_assert_uint_eq(fleet.wish, 0);
	ck_sql("8 2,4", "SELECT partition_count, former_counts FROM "
	    "outbox_settings");
}
END_TEST

START_TEST(strangers_make_it_refused)
{
	struct repartition	r;

	sql("INSERT INTO outbox_workers (id, heartbeat_until) VALUES ('pillar-"
	    "7', NOW(6) + INTERVAL 1 HOUR), ('gone-8', NOW(6) - INTERVAL 1 "
	    "HOUR)");
	ck_ok(store_repartition(st, 8, &r, &e));
	ck_assert(r.refused && !r.changed);
	ck_has(r.why.text, "pillar-7");
	sql("UPDATE outbox_workers SET heartbeat_until = NOW(6) - INTERVAL 1 "
	    "HOUR WHERE id LIKE 'pillar%%'");
	ck_ok(store_repartition(st, 8, &r, &e));
	ck_assert(r.changed);
}
END_TEST

/* Before there is a count, rows may have been enqueued without a label. */
START_TEST(first_count_knows_of_rows_without_a_label)
{
	unsigned	count = 16;

	sql("UPDATE outbox_settings SET partition_count = NULL, former_counts "
	    "= NULL");
	if (_i == 1)
		add_rows(1, 1, "NULL");
	ck_ok(store_settings(st, &count, &e));
	ck_assert_uint_eq(count, 16);
	ck_sql(_i == 1 ? "16 1" : "16 NULL", "SELECT partition_count, "
	    "former_counts FROM outbox_settings");
}
END_TEST

/* So may those that the file declared as long as there was no table. */
START_TEST(first_count_knows_the_file)
{
	struct conf	*c = servers_conf("mysql: {socket: \"%s\", user: "
			    "outbox, password_env: OUTBOX_PW, database: app}\n"
			    "outbox: {partition_count: 16, former_counts: [8, 1]}\n",
			    conf->mysql.socket);
	struct store	*s = store_of(c, OTHER);
	unsigned	 count = 16;

	sql("UPDATE outbox_settings SET partition_count = NULL, former_counts "
	    "= NULL; UPDATE outbox_partitions SET lease_epoch = 9");
	ck_ok(store_settings(s, &count, &e));
	ck_assert_uint_eq(count, 16);
	ck_assert_str_eq(settings(), "16 8,1 1 17 4");
	store_free(s);
	conf_free(c);
}
END_TEST

/* A worker that connected before has to learn that counts can be declared. */
START_TEST(new_settings_are_learned)
{
	sql("RENAME TABLE outbox_settings TO away, outbox_dead_letters TO a2, "
	    "outbox_blocked_keys TO a3, outbox_streams TO a4");
	ck_ok(store_learn(st, &e));
	settle();
	ck_assert_str_eq(owned(), "p00 p01 p02 p03");
	sql("RENAME TABLE away TO outbox_settings, a2 TO outbox_dead_letters, "
	    "a3 TO outbox_blocked_keys, a4 TO outbox_streams");
	settle();
	ck_assert(store_is_open(st));
	declare(4, "2");
	sql("UPDATE outbox_partitions SET lease_epoch = lease_epoch + 1");
	fleet_reread(&fleet);
	ck_fails(fleet_round(&fleet, ++now, &e));
	ck_assert(!store_is_open(st));
	ck_ok(store_open(st, &e));
	ck_ok(store_learn(st, &e));
	fleet_restart(&fleet);
	settle();
	ck_assert_str_eq(owned(), "p00+p02 p01+p03");
}
END_TEST

/* A class that is full takes no label more: status tells it. */
START_TEST(full_class_takes_no_label)
{
	char		label[STORE_LABEL];
	struct stray	stray;
	unsigned	n;

	declare(1, "63");
	ck_ok(store_fill_declared(st, &(struct counts){ .count = 63,
	    .former = { 1 }, .nformer = 1 }, &e));
	ck_sql("64", "SELECT COUNT(*) FROM outbox_partitions");
	declare(63, "1");
	add_rows(1, 1, "'p007'");
	n = adopt_strays(st, label);
	ck_assert_uint_eq(n, 0);
	ck_assert_uint_eq(strays_of(st, &stray), 1);
	ck_has(stray.why, "as many labels as workers can serve");
	ck_sql("1", "SELECT partition_key = CONCAT('p', LPAD(CRC32(stream_id) "
	    "MOD 63, 2, '0')) FROM outbox JOIN events ON sequence = "
	    "global_sequence");
	ck_assert_uint_eq(strays_of(st, &stray), 0);
	settle();
	ck_assert_ptr_nonnull(part("p62"));
}
END_TEST

/* A producer cannot make leases without end. */
START_TEST(own_labels_are_limited)
{
	char		label[STORE_LABEL];
	struct stray	stray;
	unsigned	n;

	declare(63, "1");
	sql("INSERT INTO outbox_partitions (partition_key) SELECT "
	    "CONCAT('own-', n) FROM " NUMBERS " WHERE n < %d",
	    STORE_OWN_LABELS - 1);
	add_rows(1, 1, "'vip'");
	add_rows(2, 2, "'vip2'");
	add_rows(3, 3, "'vip3'");
	n = adopt_strays(st, label);
	ck_assert_uint_eq(n, 1);
	ck_assert_str_eq(label, "vip");
	ck_assert_uint_eq(strays_of(st, &stray), 2);
	ck_assert_str_eq(stray.label, "vip2");
	ck_has(stray.why, "as many labels as workers can serve");
	ck_sql("1 2", "SELECT SUM(partition_key = 'vip'), SUM(partition_key = "
	    "CONCAT('p', LPAD(CRC32(stream_id) MOD 63, 2, '0'))) "
	    "FROM outbox JOIN events ON sequence = global_sequence");
}
END_TEST

/* An account that may not is no reason to stop: all else goes on. */
START_TEST(account_without_the_right_refuses_it)
{
	struct repartition	r;

	sql("REVOKE UPDATE ON app.outbox_settings FROM outbox@localhost");
	ck_ok(store_repartition(st, 8, &r, &e));
	sql("GRANT UPDATE ON app.outbox_settings TO outbox@localhost");
	ck_assert(r.refused);
	ck_has(r.why.text, "denied");
	ck_assert(store_is_open(st));
	ck_sql("4 2", "SELECT partition_count, former_counts FROM "
	    "outbox_settings");
}
END_TEST

START_TEST(odd_list_is_told)
{
	struct counts	c;

	sql("UPDATE outbox_settings SET former_counts = '16;8'");
	ck_fails(store_read_counts(st, &c, &e));
	ck_has(e.text, "former_counts");
	fleet_reread(&fleet);
	ck_fails(fleet_round(&fleet, ++now, &e));
}
END_TEST

static void
add_classes(Suite *s, const struct kind *k)
{
	TCase	*tc = add_case(s, "class", k, k->start, class_begin,
		    class_end);

	tcase_add_loop_test(tc, class_is_owned_as_a_whole, 0, 2);
	tcase_add_test(tc, modulo_runs_over_classes);
	tcase_add_test(tc, without_an_order_labels_are_alone);
	tcase_add_loop_test(tc, labels_fall_into_classes, 0,
	    sizeof(classes) / sizeof(classes[0]));
	tcase_add_test(tc, class_too_large_is_told);
	tcase_add_test(tc, adopted_label_raises_its_class);
	tcase_add_test(tc, all_strays_are_found_at_once);
	tcase_add_test(tc, rows_of_a_class_are_merged);
	tcase_add_test(tc, cut_label_limits_the_others);
	tcase_add_loop_test(tc, fence_names_all_labels, 0, 2);
	tcase_add_test(tc, lane_of_a_class);
	tcase_add_test(tc, former_labels_are_noted);
	tcase_add_loop_test(tc, count_is_changed_or_refused, 0,
	    sizeof(changes) / sizeof(changes[0]));
	tcase_add_test(tc, change_closes_the_fence);
	tcase_add_test(tc, locked_settings_are_waited_for);
	tcase_add_test(tc, strangers_make_it_refused);
	tcase_add_loop_test(tc, first_count_knows_of_rows_without_a_label, 0,
	    2);
	tcase_add_test(tc, first_count_knows_the_file);
	tcase_add_test(tc, new_settings_are_learned);
	tcase_add_test(tc, full_class_takes_no_label);
	tcase_add_test(tc, own_labels_are_limited);
	tcase_add_test(tc, account_without_the_right_refuses_it);
	tcase_add_test(tc, odd_list_is_told);
}

int
main(void)
{
	return frame_run("class", add_classes);
}
