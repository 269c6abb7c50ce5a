/*
 * store_schema.c - tables that are not as sql/ makes them, and settings
 *
 * Time is not waited for: the rows are made older instead.
 */
#include "store/store_test.h"

#include <pthread.h>

#include "util/buf.h"
#include "store/store_sql.h"
#include "util/log.h"

/* Another database, for tests that spoil it. */
static struct conf	*other_conf;

static void
other_begin(void)
{
	begin();
	sql_load(server, "other");
	sql("USE other");
	other_conf = conf_for("other");
	st = store_new(other_conf, ME, other_conf->worker.lease_renew);
	ck_ok(store_open(st, &e));
}

static void
other_end(void)
{
	store_free(st);
	conf_free(other_conf);
	end();
}

#define FF8	"\xff\xff\xff\xff\xff\xff\xff\xff"
#define A_UML	"\xc3\xa4"

/* A column, a value, and what is kept of it. */
static const struct {
	const char	*type, *value;
	size_t		 len;
	const char	*kept;
	size_t		 kept_len;
} fits[] = {
#define ROW(type, value, kept)	\
	{ type, value, sizeof(value) - 1, kept, sizeof(kept) - 1 }
#define TEXT10	"VARCHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
	ROW(TEXT10, "", ""), ROW(TEXT10, "it's \\ %s", "it's \\ %s"),
	ROW(TEXT10, "0123456789", "0123456789"),
	ROW(TEXT10, "0123456789a", "0123456..."),
	ROW(TEXT10, "a\0b", "a\0b"),
	ROW(TEXT10, A_UML "bcdefghi" A_UML, A_UML "bcdefghi" A_UML),
	ROW(TEXT10, A_UML A_UML A_UML A_UML A_UML A_UML A_UML A_UML A_UML
	    A_UML A_UML, A_UML A_UML A_UML A_UML A_UML A_UML A_UML "..."),
	ROW(TEXT10, "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"),
	ROW(TEXT10, "\xff\x0a", "0xff0a"),
	ROW(TEXT10, "a\xc3", "0x61c3"),
	ROW(TEXT10, FF8, "0xfffff..."),
	ROW("VARCHAR(3) CHARACTER SET utf8mb4", "abcd", "abc"),
	ROW("VARCHAR(10) CHARACTER SET ascii", "abc", "abc"),
	ROW("VARCHAR(10) CHARACTER SET ascii", A_UML, "0xc3a4"),
	ROW("VARCHAR(10) CHARACTER SET latin1", A_UML, "0xc3a4"),
	ROW("VARCHAR(10) CHARACTER SET utf8mb3", "\xf0\x9f\x98\x80",
	    "0xf09f9880"),
	ROW("VARBINARY(10)", "\xff\0\xfe", "\xff\0\xfe"),
	ROW("VARBINARY(10)", FF8 "\xff\xff", FF8 "\xff\xff"),
	ROW("VARBINARY(10)", FF8 FF8, "\xff\xff\xff\xff\xff\xff\xff..."),
	ROW("VARBINARY(10)", "aaaaaa" A_UML "bbb", "aaaaaa..."),
	ROW("VARBINARY(10)", "aaaaa" A_UML "bbbb", "aaaaa" A_UML "..."),
	ROW("VARBINARY(10)", "\xff" "aaaaa" A_UML "bbb",
	    "\xff" "aaaaa\xc3" "..."),
	ROW("VARBINARY(2)", "abc", "ab"), ROW("LONGBLOB", FF8, FF8),
	ROW("LONGTEXT CHARACTER SET utf8mb4", "0123456789a", "0123456789a"),
#undef ROW
};

START_TEST(values_are_made_to_fit)
{
	for (int i = 0; i < NROWS(fits); i++) {
		struct buf	want = { 0 };

		sql("DELETE FROM outbox_dead_letters; ALTER TABLE "
		    "outbox_dead_letters MODIFY order_key %s NULL",
		    fits[i].type);
		ck_ok(store_learn(st, &e));
		ck_assert(store_fits(st, FIT_DEAD_KEY, fits[i].value,
		    fits[i].len) == (fits[i].len == fits[i].kept_len &&
		    memcmp(fits[i].value, fits[i].kept, fits[i].len) == 0));
		store_sql(st, "INSERT INTO {dead} (global_sequence, reason, "
		    "order_key) VALUES (1, 'x', :key) ON DUPLICATE KEY UPDATE "
		    "order_key = VALUES(order_key)",
		    SQL_FIT("key", FIT_DEAD_KEY,
		    ((struct bytes){ fits[i].value, fits[i].len })));
		ck_assert_msg(store_exec(st, "fit", NULL, &e) == 0,
		    "%d: %s: %s", i, fits[i].type, e.text);
		for (size_t k = 0; k < fits[i].kept_len; k++)
			buf_printf(&want, "%02X",
			    (unsigned char)fits[i].kept[k]);
		ck_assert_msg(strcmp(sql_text("SELECT HEX(order_key) FROM "
		    "outbox_dead_letters"), want.len == 0 ? "" :
		    want.data) == 0, "%d: %s: %s is not %s", i, fits[i].type,
		    sql_text("SELECT HEX(order_key) FROM "
		    "outbox_dead_letters"), want.len == 0 ? "" : want.data);
		buf_free(&want);
	}
	store_sql(st, "UPDATE {dead} SET order_key = :key",
	    SQL_FIT("key", FIT_DEAD_KEY, ((struct bytes){ NULL, 0 })));
	ck_ok(store_exec(st, "fit", NULL, &e));
	ck_sql("NULL", "SELECT order_key FROM outbox_dead_letters");
}
END_TEST

/* An error stays one where its column knows nothing but ASCII. */
START_TEST(errors_are_made_to_fit)
{
	sql("ALTER TABLE outbox_dead_letters MODIFY last_error VARCHAR(8) "
	    "CHARACTER SET ascii NULL");
	ck_ok(store_learn(st, &e));
	store_sql(st, "INSERT INTO {dead} (global_sequence, reason, "
	    "last_error) VALUES (1, 'x', :error), (2, 'x', :none)",
	    SQL_ERROR("error", FIT_DEAD_ERROR, "a" A_UML "bcdefgh"),
	    SQL_ERROR("none", FIT_DEAD_ERROR, NULL));
	ck_ok(store_exec(st, "fit", NULL, &e));
	ck_sql("a??bc...\nNULL", "SELECT last_error FROM outbox_dead_letters "
	    "ORDER BY global_sequence");
}
END_TEST

START_TEST(own_schema_is_understood)
{
	ck_ok(store_learn(st, &e));
	ck_assert(store_is_full(st));
	ck_assert_str_eq(logged(), "");
	ck_assert_str_eq(store_peer(st), conf->mysql.socket);
	ck_assert_int_eq(store_fault(st), DB_FINE);
}
END_TEST

static const char *const	needed[] = {
	"outbox", "events", "outbox_partitions", "outbox_workers"
};

START_TEST(missing_table_is_named)
{
	char	name[64];

	snprintf(name, sizeof(name), "other.%s ", needed[_i]);
	sql("RENAME TABLE %s TO gone", needed[_i]);
	ck_fails(store_learn(st, &e));
	ck_has(e.text, name);
	ck_has(e.text, "outboxctl setup --no-event");
	sql("RENAME TABLE gone TO %s", needed[_i]);
	ck_ok(store_learn(st, &e));
	sql("REVOKE ALL ON %s FROM 'outbox'@'localhost'", needed[_i]);
	ck_fails(store_learn(st, &e));
	ck_has(e.text, name);
	ck_has(e.text, "grant");
}
END_TEST

static const char *const	needed_columns[] = {
	"outbox.global_sequence", "outbox.attempts", "outbox.available_at",
	"outbox.published_at", "outbox.partition_key", "outbox.claim_token",
	"outbox.last_error", "events.sequence", "events.stream_id",
	"events.stream_sequence", "events.correlation_id", "events.event_type",
	"events.event_version", "events.metadata", "events.event_data",
	"events.occurred_at", "outbox_partitions.partition_key",
	"outbox_partitions.lease_owner", "outbox_partitions.lease_until",
	"outbox_partitions.lease_epoch", "outbox_partitions.updated_at",
	"outbox_workers.id", "outbox_workers.hostname", "outbox_workers.pid",
	"outbox_workers.started_at", "outbox_workers.updated_at",
	"outbox_workers.heartbeat_until", "outbox_settings.schema_version",
	"outbox_settings.outbox_id", "outbox_dead_letters.global_sequence",
	"outbox_dead_letters.partition_key", "outbox_dead_letters.order_key",
	"outbox_dead_letters.event_type", "outbox_dead_letters.attempts",
	"outbox_dead_letters.reason", "outbox_dead_letters.last_error",
	"outbox_partitions.former_label_at", "outbox_settings.fan_out",
	"outbox_settings.types", "outbox_blocked_keys.head_sequence",
	"outbox_streams.alarm",
};

START_TEST(missing_column_is_named)
{
	for (int i = 0; i < NROWS(needed_columns); i++) {
		const char	*column = strchr(needed_columns[i], '.') + 1;
		int		 n = (int)(column - needed_columns[i]) - 1;

		sql("ALTER TABLE %.*s RENAME COLUMN %s TO gone", n,
		    needed_columns[i], column);
		ck_fails(store_learn(st, &e));
		ck_has(e.text, needed_columns[i]);
		sql("ALTER TABLE %.*s RENAME COLUMN gone TO %s", n,
		    needed_columns[i], column);
	}
	ck_ok(store_learn(st, &e));
}
END_TEST

/* With none of these the tables are Pillar's; with some they are refused. */
static const char *const	ours[] = {
	"outbox_settings", "outbox_dead_letters", "outbox_blocked_keys",
	"outbox_streams"
};

START_TEST(some_of_our_tables_are_refused)
{
	char	name[64];

	snprintf(name, sizeof(name), "table other.%s is missing ", ours[_i]);
	sql("RENAME TABLE %s TO gone", ours[_i]);
	for (int learnt = 0; learnt < 2; learnt++) {
		ck_fails(store_learn(st, &e));
		ck_has(e.text, name);
		ck_has(e.text, ": run outboxctl schema upgrade");
		ck_assert(!store_is_pillar(st));
		for (int i = 0; i < NROWS(ours); i++)
			ck_assert(store_lacks(st, T_SETTINGS +
			    (enum store_table)i) == (i == _i));
		sql("RENAME TABLE gone TO %s", ours[_i]);
		ck_ok(store_learn(st, &e));
		ck_assert(store_is_full(st));
		ck_assert(!store_lacks(st, T_SETTINGS + (enum store_table)_i));
		sql("RENAME TABLE %s TO gone", ours[_i]);
	}
	sql("RENAME TABLE gone TO %s; REVOKE ALL ON %s FROM "
	    "'outbox'@'localhost'", ours[_i], ours[_i]);
	ck_fails(store_learn(st, &e));
	ck_has(e.text, name);
	ck_has(e.text, "setup --no-event also grants it");
}
END_TEST

/* Their warnings are those of tables that Pillar's migrations make. */
START_TEST(none_of_our_tables_is_pillar)
{
	struct store	*other;
	unsigned	 count = 12;
	char		 prefix[STORE_PREFIX];

	for (int i = 0; i < NROWS(ours); i++)
		sql("RENAME TABLE %s TO away_%d", ours[i], i);
	ck_ok(store_learn(st, &e));
	ck_assert(store_is_pillar(st));
	for (int i = 1; i < NROWS(ours); i++)
		ck_has(logged(), ours[i]);
	ck_ok(store_settings(st, &count, &e));
	ck_assert_uint_eq(count, 12);
	store_prefix(st, prefix);
	ck_assert_str_eq(prefix, other_conf->mysql.database);
	ck_assert(!store_can_audit_stream(st));
	/* They are told once, and not each time that leases move. */
	servers_write("log", "");
	ck_ok(store_check_counts(st, &e));
	ck_assert_str_eq(logged(), "");

	/* While others are made, who has learnt it goes on. */
	other = store_new(other_conf, OTHER, 1000);
	ck_ok(store_open(other, &e));
	for (int i = 0; i < NROWS(ours); i++) {
		sql("RENAME TABLE away_%d TO %s", i, ours[i]);
		ck_ok(store_learn(st, &e));
		ck_assert(store_is_pillar(st) == (i + 1 < NROWS(ours)));
		ck_assert((store_learn(other, &e) < 0) == store_is_pillar(st));
	}
	ck_assert(store_is_full(st));
	store_free(other);
}
END_TEST

/* Who was refused without any of them has learnt nothing, least of all Pillar. */
START_TEST(tables_that_come_back_are_not_pillar)
{
	ck_ok(store_learn(st, &e));
	for (int i = 0; i < NROWS(ours); i++)
		sql("RENAME TABLE %s TO away_%d", ours[i], i);
	sql("RENAME TABLE events TO gone");
	ck_fails(store_learn(st, &e));
	ck_has(e.text, "other.events ");
	sql("RENAME TABLE gone TO events");
	for (int i = 0; i < NROWS(ours) - 1; i++)
		sql("RENAME TABLE away_%d TO %s", i, ours[i]);
	ck_fails(store_learn(st, &e));
	ck_has(e.text, "other.outbox_streams ");
	sql("RENAME TABLE away_%d TO %s", NROWS(ours) - 1,
	    ours[NROWS(ours) - 1]);
	ck_ok(store_learn(st, &e));
	ck_assert(store_is_full(st));
}
END_TEST

/*
 * Who has served all of them waits when all of them go, as each worker does when
 * it connects anew: who was never connected cannot know.
 */
START_TEST(served_tables_that_go_are_not_pillar)
{
	struct store	*other;

	ck_ok(store_learn(st, &e));
	store_close(st);
	for (int i = 0; i < NROWS(ours); i++)
		sql("RENAME TABLE %s TO away_%d", ours[i], i);
	for (int i = 0; i < 2; i++) {
		ck_ok(store_open(st, &e));
		ck_fails(store_learn(st, &e));
		ck_has(e.text, "table other.outbox_settings is missing or not "
		    "granted: run outboxctl schema upgrade");
		ck_assert(!store_is_pillar(st));
		for (enum store_table t = T_SETTINGS; t <= T_STREAMS; t++)
			ck_assert(store_lacks(st, t));
		store_close(st);
	}
	other = store_of(other_conf, OTHER);
	ck_assert(store_is_pillar(other));
	for (int i = 0; i < NROWS(ours); i++)
		sql("RENAME TABLE away_%d TO %s", i, ours[i]);
	ck_ok(store_open(st, &e));
	ck_ok(store_learn(st, &e));
	ck_assert(store_is_full(st));
	/* The other way round, the tables are new. */
	store_close(other);
	ck_ok(store_open(other, &e));
	ck_ok(store_learn(other, &e));
	ck_assert(store_is_full(other));
	store_free(other);
}
END_TEST

/* Labels, as SQL, of rows that wait; our tables alone know for what. */
static const struct {
	const char	*label;
	bool		 ours;
} parked[] = {
	{ "'!1'", true }, { "'!18446744073709551615'", true },
	{ "'!@20380101000000000000p02'", true }, { "'!'", false },
	{ "'!x'", false }, { "'!01'", false }, { "'!1x'", false },
	{ "'p01'", false }, { "'1'", false }, { "''", false },
	{ "NULL", false },
};

START_TEST(parked_rows_are_not_pillars)
{
	static const char *const	make[] = { "DO 0",
	    "ALTER TABLE outbox DROP KEY outbox_claim",
	    "ALTER TABLE outbox DROP KEY outbox_claim, "
	    "ADD KEY k (partition_key, published_at, available_at)",
	    "ALTER TABLE outbox DROP KEY outbox_claim, MODIFY partition_key "
	    "VARCHAR(64) COLLATE utf8mb4_unicode_ci NULL" };

	for (int i = 0; i < NROWS(ours); i++)
		sql("RENAME TABLE %s TO away_%d", ours[i], i);
	sql("%s", make[_i]);
	add_rows(1, 3, "'p00'");
	for (int i = 0; i < NROWS(parked); i++) {
		sql("UPDATE outbox SET partition_key = %s "
		    "WHERE global_sequence = 2", parked[i].label);
		ck_assert_msg((store_learn(st, &e) < 0) == parked[i].ours,
		    "%s", parked[i].label);
		ck_assert(store_is_pillar(st) != parked[i].ours);
		ck_assert(store_lacks(st, T_BLOCKED) == parked[i].ours);
		if (!parked[i].ours)
			continue;
		ck_has(e.text, "table other.outbox_blocked_keys is missing or "
		    "not granted, and rows of outbox wait under labels such "
		    "as !");
		ck_has(e.text, "run outboxctl schema upgrade");
	}
	/* What was delivered waits for nothing. */
	sql("UPDATE outbox SET partition_key = '!2', published_at = NOW(6)");
	ck_ok(store_learn(st, &e));
	ck_assert(store_is_pillar(st));
	/* While others are made, who was served as Pillar's goes on. */
	sql("RENAME TABLE away_0 TO %s", ours[0]);
	ck_ok(store_learn(st, &e));
	/* But not if another, who sees all of them, parks rows meanwhile. */
	sql("UPDATE outbox SET published_at = NULL");
	ck_fails(store_learn(st, &e));
	for (int i = 1; i < NROWS(ours); i++)
		sql("RENAME TABLE away_%d TO %s", i, ours[i]);
	ck_ok(store_learn(st, &e));
	ck_assert(store_is_full(st));
}
END_TEST

/* The schema before: it works without what is new, and half of that is none. */
START_TEST(former_schema_is_served)
{
	ck_ok(store_learn(st, &e));
	ck_assert(store_can_scrub(st));
	sql("ALTER TABLE outbox_streams DROP COLUMN leader");
	ck_ok(store_learn(st, &e));
	ck_assert(!store_is_pillar(st) && !store_is_full(st));
	ck_assert(store_can_audit_stream(st) && !store_can_scrub(st));
	ck_assert_str_eq(logged(), "");
	sql("ALTER TABLE outbox_streams DROP COLUMN gaps, DROP COLUMN damage, "
	    "DROP COLUMN gaps_since, DROP COLUMN suspicion, "
	    "DROP COLUMN suspected_at, DROP COLUMN look_after, "
	    "DROP COLUMN scrubber, DROP COLUMN scrubber_until, "
	    "DROP COLUMN scrub_for, DROP COLUMN scrub_began, "
	    "DROP COLUMN scrub_at, DROP COLUMN scrub_rows, "
	    "DROP COLUMN scrub_ended, DROP COLUMN scrub_whole, "
	    "DROP COLUMN scrub_ms, DROP COLUMN missing, "
	    "DROP COLUMN missing_at, DROP COLUMN holes, "
	    "DROP COLUMN accepted");
	ck_ok(store_learn(st, &e));
	ck_assert(!store_is_pillar(st) && !store_is_full(st));
}
END_TEST

static const struct {
	const char	*name, *type;
} spares[] = {
	{ "ack_sequence", "BIGINT UNSIGNED NULL" },
	{ "message_hash", "BIGINT UNSIGNED NULL" },
	{ "in_doubt_since", "TIMESTAMP(6) NULL" },
};

START_TEST(column_may_be_missing)
{
	char	remedy[128];

	sql("ALTER TABLE outbox DROP COLUMN %s", spares[_i].name);
	ck_ok(store_learn(st, &e));
	ck_assert(store_can_audit_stream(st) == (_i != 0));
	snprintf(remedy, sizeof(remedy), "ALTER TABLE `outbox` ADD COLUMN "
	    "`%s` %s",
	    spares[_i].name, spares[_i].type);
	ck_has(logged(), remedy);
	servers_write("log", "");
	sql("%s", remedy);
	ck_ok(store_learn(st, &e));
	ck_has_not(logged(), "ALTER TABLE");
}
END_TEST

/* All of these at once: they are NULL in statements, and are not written. */
START_TEST(statements_do_without_columns)
{
	struct batch		b = { 0 };
	struct acked_list	l = { 0 };
	uint64_t		reset;

	sql("ALTER TABLE outbox DROP COLUMN message_hash, DROP COLUMN "
	    "in_doubt_since, DROP COLUMN replay_no, DROP COLUMN created_at");
	ck_ok(store_learn(st, &e));
	add_rows(1, 2, "'p00'");
	ck_ok(store_peek(st, 1, false, &b, &e));
	ck_assert_uint_eq(b.n, 1);
	ck_assert_uint_eq(b.msgs[0].sequence, 1);
	batch_free(&b);
	sql("UPDATE outbox SET published_at = NOW(6), ack_sequence = 7 "
	    "WHERE global_sequence = 2");
	ck_ok(store_some_acked(st, "1970-01-02", true, 9, &l, &e));
	ck_assert_uint_eq(l.n, 1);
	ck_assert_uint_eq(l.rows[0].ack, 7);
	ck_assert(!l.rows[0].id.hashed && l.rows[0].id.replay == 0);
	ck_ok(store_reset(st, l.rows, 1, NULL, "2026-01-01", &reset, &e));
	ck_assert_uint_eq(reset, 1);
	ck_sql("2", "SELECT COUNT(*) FROM outbox WHERE published_at IS NULL "
	    "AND ack_sequence IS NULL");
	free(l.rows);
}
END_TEST

/* Tables under other names, as the configuration has it. */
START_TEST(tables_may_have_other_names)
{
	static const char *const names[] =
	    { "o-1", "e$", "select", "w", "s", "d", "t" };
	struct range	 r = range("p00", 1);
	struct conf	*c;
	struct store	*s;
	uint64_t	 one = 1, n;
	unsigned	 count = 2;
	struct batch	 b = { 0 };
	struct settled	 done = { 0 };
	char		 label[STORE_LABEL];
	bool		 known;

	sql("RENAME TABLE outbox TO `o-1`, events TO `e$`, outbox_partitions "
	    "TO `select`, outbox_workers TO w, outbox_settings TO s, "
	    "outbox_dead_letters TO d, outbox_streams TO t");
	for (int i = 0; i < NROWS(names); i++)
		sql("GRANT ALL ON `%s` TO 'outbox'@'localhost'", names[i]);
	c = servers_conf("mysql: {socket: \"%s\", user: outbox, password_env: "
	    "OUTBOX_PW, database: other}\noutbox: {tables: {outbox: o-1, "
	    "events: e$, partitions: select, workers: w, settings: s, "
	    "dead_letters: d, streams: t}}\n", conf->mysql.socket);
	s = store_of(c, ME);
	ck_ok(store_settings(s, &count, &e));
	ck_ok(fill_partitions(s, count));
	ck_ok(store_beat(s, &known, &e));
	sql("INSERT INTO `o-1` (global_sequence, partition_key) "
	    "VALUES (1, 'p00'); UPDATE `select` SET lease_owner = '" ME "', "
	    "lease_epoch = 1, lease_until = NOW(6) + INTERVAL 60 SECOND");
	adopt_strays(s, label);
	ck_ok(store_claim(s, &(struct claim_set){ &r, 1, &one, 1 }, &b, &n,
	    &e));
	ck_ok(store_fetch(s, &one, 1, SIZE_MAX, &b, &e));
	ck_assert_uint_eq(b.n, 1);
	msg_fail(&b.msgs[0], OUT_DEAD, "why");
	b.msgs[0].reason = "message";
	ck_ok(store_settle(s, &b, &done, &e));
	ck_sql("1 p00 message why",
	    "SELECT global_sequence, partition_key, reason, last_error FROM d");
	ck_ok(store_leave(s, &e));
	batch_free(&b);
	store_free(s);
	conf_free(c);
}
END_TEST

static const struct {
	const char	*key;		/* NULL: none */
	bool		 good;
} indexes[] = {
	{ "`odd name` (published_at, partition_key, global_sequence)", true },
	{ "k2 (partition_key, published_at, global_sequence)", true },
	{ "k3 (published_at, partition_key)", true },
	{ "k4 (partition_key, published_at)", true },
	{ "k5 (partition_key, available_at)", false },
	{ "k6 (published_at, available_at, partition_key)", false },
	{ "k7 (published_at)", false },
	{ NULL, false },
};

START_TEST(index_is_found)
{
	struct range		 ranges[2] = { range("p00", 1), range("", 1) };
	struct candidate	*c;
	size_t			 n;
	char			 name[32] = "FORCE INDEX (`odd name`)";

	sql("ALTER TABLE outbox DROP KEY outbox_claim");
	if (indexes[_i].key != NULL)
		sql("ALTER TABLE outbox ADD KEY %s", indexes[_i].key);
	if (_i > 0 && indexes[_i].good)
		snprintf(name, sizeof(name), "FORCE INDEX (`%.2s`)",
		    indexes[_i].key);
	ck_ok(store_learn(st, &e));
	ck_assert((strstr(logged(), "ADD KEY outbox_claim") == NULL) ==
	    indexes[_i].good);
	sql("INSERT INTO outbox (global_sequence, partition_key) VALUES "
	    "(4, 'p00'), (3, NULL), (2, 'p00'), (1, '')");
	log_statements();
	ck_ok(store_candidates(st, ranges, 2, &c, &n, &e));
	sql("SET GLOBAL general_log = 0");
	ck_sql(indexes[_i].good ? "1" : "0", "SELECT COUNT(*) " STATEMENTS
	    "AND argument LIKE '%%%s%%'", indexes[_i].good ? name :
	    "FORCE INDEX");
	ck_assert_uint_eq(n, 4);
	for (size_t i = 0; i < n; i++)
		ck_assert_uint_eq(c[i].sequence, i + 1);
	free(c);
}
END_TEST

/* As long as a name may be: 64 characters, here of three bytes each. */
#define LONG8	"\xe3\x81\x82\xe3\x81\x82\xe3\x81\x82\xe3\x81\x82" \
		"\xe3\x81\x82\xe3\x81\x82\xe3\x81\x82\xe3\x81\x82"
#define LONG56	LONG8 LONG8 LONG8 LONG8 LONG8 LONG8 LONG8
#define LONG	LONG56 LONG8
#define TABLE	LONG8 LONG8 LONG8 LONG8	/* it is the name of a file, too */

START_TEST(names_may_be_long)
{
	struct range		 range_of = range("p00", 1);
	struct store_backlog	 b;
	struct candidate	*c;
	char			 name[DB_NAME_SIZE];
	size_t			 n;

	sql("SET NAMES utf8mb4; ALTER TABLE outbox DROP KEY outbox_claim, "
	    "DROP PRIMARY KEY, ADD UNIQUE KEY `" LONG "`(global_sequence), "
	    "ADD KEY `index-a:" LONG56 "`(published_at, partition_key, "
	    "global_sequence); CREATE TABLE `" TABLE "` "
	    "(reconcile_watermark INT); GRANT SELECT ON `" TABLE "` TO "
	    "'outbox'@'localhost'");
	ck_ok(store_learn(st, &e));
	sql("INSERT INTO outbox (global_sequence, partition_key) VALUES "
	    "(1, 'p00')");
	ck_ok(store_candidates(st, &range_of, 1, &c, &n, &e));
	ck_assert_uint_eq(n, 1);
	free(c);
	store_sql(st, "UPDATE {outbox} {primary} SET {attempts} = 1 WHERE "
	    "{global_sequence} = 1");
	ck_ok(store_exec(st, "primary", NULL, &e));
	ck_ok(store_backlog(st, &b, &e));
	ck_assert(b.known && b.waiting == 1);
	ck_ok(store_unregistered(st, name, &e));
	ck_assert_str_eq(name, TABLE);
}
END_TEST

/* Of the truth, in percent. */
static unsigned
percent(uint64_t n, uint64_t truth)
{
	return (unsigned)(n * 100 / truth);
}

/*
 * The newest 24,576 rows of 65,536 wait.  A snapshot keeps the entries of all in
 * the index.
 */
START_TEST(backlog_is_estimated)
{
	struct store		*other = store_of(conf, OTHER);
	struct store_backlog	 b;

	sql("INSERT INTO outbox (global_sequence, partition_key) VALUES "
	    "(1, 'p00')");
	for (int n = 1; n < 65536; n *= 2)
		sql("INSERT INTO outbox (global_sequence, partition_key) "
		    "SELECT global_sequence + (SELECT MAX(global_sequence) "
		    "FROM outbox), 'p00' FROM outbox");
	ck_ok(store_backlog(st, &b, &e));
	ck_assert(!b.exact && b.parked == 0);
	ck_assert_uint_ge(percent(b.waiting, 65536), 90);
	ck_assert_uint_le(percent(b.waiting, 65536), 110);
	ck_ok(store_delivered(st, &b, &e));
	ck_assert(b.exact && b.waiting == 0);
	store_sql(other, "START TRANSACTION WITH CONSISTENT SNAPSHOT");
	ck_ok(store_exec(other, "begin", NULL, &e));
	sql("UPDATE outbox SET published_at = NOW(6) WHERE global_sequence <= "
	    "40960; UPDATE outbox SET partition_key = '!2' WHERE "
	    "global_sequence > 60000");
	ck_ok(store_backlog(st, &b, &e));
	ck_assert_uint_ge(percent(b.waiting, 24576), 85);
	ck_assert_uint_le(percent(b.waiting, 24576), 115);
	ck_assert_uint_ge(percent(b.parked, 5536), 50);
	ck_assert_uint_le(percent(b.parked, 5536), 200);
	ck_ok(store_delivered(st, &b, &e));
	ck_assert(!b.exact);
	ck_assert_uint_ge(percent(b.waiting, 40960), 85);
	ck_assert_uint_le(percent(b.waiting, 40960), 115);
	store_free(other);
}
END_TEST

START_TEST(empty_settings_are_filled)
{
	unsigned	count = 24, other = 8;
	struct store	*s = store_of(conf, OTHER);
	char		prefix[STORE_PREFIX];

	ck_ok(store_settings(st, &count, &e));
	ck_assert_uint_eq(count, 24);
	ck_sql("24", "SELECT partition_count FROM outbox_settings");
	store_prefix(st, prefix);
	ck_assert_str_eq(prefix, "abc");
	/* Who comes later must take what is there. */
	ck_ok(store_settings(s, &other, &e));
	ck_assert_uint_eq(other, 24);
	store_free(s);
}
END_TEST

static void *
settings_run(void *arg)
{
	ck_ok(store_settings(st, arg, &e));
	return NULL;
}

/* Both saw that nothing was there; who commits first has said it. */
START_TEST(first_to_fill_wins)
{
	unsigned	count = 24;
	pthread_t	thread;

	sql("START TRANSACTION; UPDATE outbox_settings "
	    "SET partition_count = 8");
	ck_assert_int_eq(pthread_create(&thread, NULL, settings_run, &count),
	    0);
	wait_for_locks(1);
	sql("COMMIT");
	pthread_join(thread, NULL);
	ck_assert_uint_eq(count, 8);
	ck_sql("8", "SELECT partition_count FROM outbox_settings");
}
END_TEST

START_TEST(settings_win)
{
	unsigned	count = 24;

	sql("UPDATE outbox_settings SET partition_count = 8");
	ck_ok(store_settings(st, &count, &e));
	ck_assert_uint_eq(count, 8);
	ck_sql("8", "SELECT partition_count FROM outbox_settings");
}
END_TEST

#define MOMENT		"TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)"
#define ON_UPDATE	MOMENT " ON UPDATE CURRENT_TIMESTAMP(6)"
#define INLINE		"CREATE TABLE outbox_messages (id BIGINT PRIMARY KEY, " \
			"attempts INT, available_at " MOMENT ", published_at " \
			"TIMESTAMP(6) NULL DEFAULT NULL, touched " ON_UPDATE \
			", headers JSON, payload BLOB, "

/* Columns of messages that change by themselves, and with what. */
static const struct {
	const char	*outbox, *sql;
	const char	*unstable;
} made[] = {
	{ "", "DO 0", "" },
	{ "", "ALTER TABLE events MODIFY occurred_at " ON_UPDATE,
	  "occurred_at" },
	{ "", "ALTER TABLE events MODIFY occurred_at DATETIME NULL ON UPDATE "
	  "CURRENT_TIMESTAMP, ADD COLUMN touched " ON_UPDATE, "occurred_at" },
	{ "mode: inline", INLINE "topic VARCHAR(99), created_at " MOMENT ")",
	  "" },
	{ "mode: inline", INLINE "topic VARCHAR(99), created_at " ON_UPDATE ")",
	  "occurred_at" },
	{ "mode: inline, columns: {created_at: touched}", INLINE
	  "topic VARCHAR(99), created_at " MOMENT ")", "occurred_at" },
	{ "mode: inline, columns: {order_key: partition_key}", INLINE
	  "topic VARCHAR(99), partition_key VARCHAR(99))", "stream_id" },
};

START_TEST(what_changes_by_itself_is_no_part_of_an_id)
{
	struct buf	 words = { 0 };
	const char	*why, *word;
	struct conf	*c;

	c = servers_conf("mysql: {socket: \"%s\", user: outbox, "
	    "password_env: OUTBOX_PW, database: other}\noutbox: {%s}\n",
	    servers_get(server, "SOCKET"), made[_i].outbox);
	store_free(st);
	st = store_new(c, ME, 1000);
	ck_ok(store_open(st, &e));
	sql("SET NAMES utf8mb4; %s", made[_i].sql);
	sql("GRANT SELECT ON other.* TO 'outbox'@'localhost'");
	ck_ok(store_find_unstable(st, &e));
	buf_str(&words, "");
	for (size_t i = 0; (why = store_unstable(st, i, &word)) != NULL; i++)
		if (why[0] != '\0')
			buf_printf(&words, "%s%s", words.len == 0 ? "" : " ",
			    word);
	ck_assert_str_eq(words.data, made[_i].unstable);
	buf_free(&words);
	store_free(st);
	conf_free(c);
	st = store_new(other_conf, ME, 1000);
}
END_TEST

START_TEST(claim_that_would_deliver_is_refused)
{
	sql("ALTER TABLE outbox MODIFY published_at TIMESTAMP(6) NULL "
	    "DEFAULT NULL ON UPDATE CURRENT_TIMESTAMP(6)");
	ck_fails(store_learn(st, &e));
	ck_has(e.text, "outbox.published_at has ON UPDATE");
}
END_TEST

/* Numbers are written without quotes, and a text such as '1x' is equal to 1. */
static const struct {
	const char	*table, *column, *type;
	bool		 taken;
} orders[] = {
	{ "outbox", "global_sequence", "VARCHAR(20)", false },
	{ "outbox", "global_sequence", "VARBINARY(20)", false },
	{ "outbox", "global_sequence", "TIMESTAMP(6)", false },
	{ "outbox", "global_sequence", "DOUBLE", false },
	{ "outbox", "global_sequence", "INT UNSIGNED", true },
	{ "outbox", "global_sequence", "DECIMAL(20)", true },
	{ "events", "sequence", "CHAR(36) CHARACTER SET ascii", false },
	{ "events", "sequence", "BIGINT", true },
};

START_TEST(order_is_a_number)
{
	char	name[80];

	sql("ALTER TABLE %s MODIFY %s %s NOT NULL", orders[_i].table,
	    orders[_i].column, orders[_i].type);
	if (orders[_i].taken) {
		ck_ok(store_learn(st, &e));
		return;
	}
	ck_fails(store_learn(st, &e));
	snprintf(name, sizeof(name), "schema: column %s.%s is ",
	    orders[_i].table, orders[_i].column);
	ck_has(e.text, name);
	ck_has(e.text, ", and the order needs a whole number: run outboxctl "
	    "schema check");
}
END_TEST

START_TEST(odd_settings_are_refused)
{
	unsigned	count = 24;

	sql("UPDATE outbox_settings SET schema_version = 99");
	ck_fails(store_settings(st, &count, &e));
	ck_has(e.text, "newer");
	sql("DELETE FROM outbox_settings");
	ck_fails(store_settings(st, &count, &e));
	ck_has(e.text, "outbox_settings");
	sql("INSERT INTO outbox_settings (schema_version, outbox_id) "
	    "VALUES (1, 'abc')");
	ck_ok(store_settings(st, &count, &e));
}
END_TEST

START_TEST(partitions_are_filled)
{
	sql("INSERT INTO outbox_partitions (partition_key, lease_owner, "
	    "lease_epoch) VALUES ('p01', 'x', 7), ('mine', NULL, 0)");
	ck_ok(fill_partitions(st, 3));
	ck_sql("mine NULL 0\np00 NULL 0\np01 x 7\np02 NULL 0", "SELECT "
	    "partition_key, lease_owner, lease_epoch FROM outbox_partitions "
	    "ORDER BY 1");
	ck_ok(fill_partitions(st, 120));
	ck_sql("121 p119", "SELECT COUNT(*), (SELECT partition_key "
	    "FROM outbox_partitions WHERE partition_key LIKE 'p119') "
	    "FROM outbox_partitions");
	ck_sql("p09 p10 p99 p100", "SELECT GROUP_CONCAT(partition_key ORDER BY "
	    "LENGTH(partition_key), partition_key SEPARATOR ' ') "
	    "FROM outbox_partitions "
	    "WHERE partition_key IN ('p09', 'p9', 'p10', 'p99', 'p100')");
	ck_ok(fill_partitions(st, 16));
	ck_sql("121", "SELECT COUNT(*) FROM outbox_partitions");
	/* Nothing to fill: no claim in progress is waited for. */
	sql("START TRANSACTION; SELECT * FROM outbox_partitions FOR UPDATE");
	ck_ok(fill_partitions(st, 120));
	sql("COMMIT");
}
END_TEST

static unsigned
adopt(char label[STORE_LABEL])
{
	return adopt_strays(st, label);
}

START_TEST(no_stray_is_adopted)
{
	char	label[STORE_LABEL];

	ck_assert_uint_eq(adopt(label), 0);
	ck_ok(fill_partitions(st, 3));
	ck_assert_uint_eq(adopt(label), 0);
	add_rows(1, 3, "'p01'");
	add_rows(4, 4, "'gone'");
	add_rows(5, 5, "NULL");
	sql("UPDATE outbox SET published_at = NOW(6) "
	    "WHERE global_sequence >= 4");
	ck_assert_uint_eq(adopt(label), 0);
	ck_sql("3", "SELECT COUNT(*) FROM outbox_partitions");
}
END_TEST

static const char *const	strays[][2] = {
	{ "NULL", "" }, { "''", "" }, { "'a'", "a" }, { "'p005'", "p005" },
	{ "'p01x'", "p01x" }, { "'zebra'", "zebra" }, { "'P01'", "P01" },
	{ "'it''s \\\\'", "it's \\" }, { "'\xc3\xa4'", "\xc3\xa4" },
};

START_TEST(stray_is_adopted)
{
	char	label[STORE_LABEL] = "?";

	if (_i % 2 == 0)
		ck_ok(fill_partitions(st, 3));
	add_rows(1, 2, strays[_i][0]);
	ck_assert_uint_eq(adopt(label), 1);
	ck_assert_str_eq(label, strays[_i][1]);
	ck_sql("1", "SELECT COUNT(*) FROM outbox_partitions "
	    "WHERE partition_key = COALESCE(%s, '') AND lease_owner IS NULL",
	    strays[_i][0]);
	ck_assert_uint_eq(adopt(label), 0);
}
END_TEST

START_TEST(all_strays_are_adopted_in_time)
{
	char		label[STORE_LABEL];
	unsigned	sum = 0, n;

	ck_ok(fill_partitions(st, 3));
	for (int i = 0; i < NROWS(strays); i++)
		add_rows((unsigned)i + 1, (unsigned)i + 1, strays[i][0]);
	while ((n = adopt(label)) > 0)
		sum += n;
	ck_assert_uint_ge(sum, 8);	/* '' may be counted twice */
	ck_sql("11", "SELECT COUNT(*) FROM outbox_partitions");
	ck_sql("0", "SELECT COUNT(*) FROM outbox LEFT JOIN outbox_partitions "
	    "USING (partition_key) WHERE outbox_partitions.partition_key "
	    "IS NULL AND outbox.partition_key IS NOT NULL");
}
END_TEST

static const struct {
	const char	*text;
	size_t		 n;
} locking[] = {
	{ " FOR UPDATE", 4 },
	{ " FOR UPDATE SKIP LOCKED", 4 },
	{ " LIMIT 3 FOR UPDATE SKIP LOCKED", 3 },
};

/* A limit that came into the session cuts nothing: each SELECT has its own. */
START_TEST(result_is_whole)
{
	struct store_period	p = { .from = "2000-01-01 00:00:00",
				    .until = "2100-01-01 00:00:00" };
	struct acked_list	l;
	struct store_view	v;
	struct db_rows		*rows;
	uint64_t		n;

	sql("INSERT INTO outbox (global_sequence, published_at, ack_sequence) "
	    "VALUES (1, NOW(6), 1), (2, NOW(6), 2), (3, NOW(6), 3), "
	    "(4, NOW(6), 4); INSERT INTO outbox_partitions (partition_key) "
	    "VALUES ('p00'), ('p01'), ('p02'), ('p03')");
	store_sql(st, "SET SESSION sql_select_limit = 2");
	ck_ok(store_exec(st, "limit", NULL, &e));
	ck_ok(store_learn(st, &e));
	ck_ok(store_acked(st, &p, UINT64_MAX, 100, &l, &e));
	ck_assert_uint_eq(l.n, 4);
	free(l.rows);
	ck_ok(store_view(st, &v, &e));
	ck_assert_uint_eq(v.nleases, 4);
	store_view_free(&v);
	ck_ok(store_begin(st, &e));
	store_sql(st, "SELECT COUNT(*) FROM (SELECT 1) AS t FOR UPDATE");
	ck_ok(store_query_number(st, "lock", &n, &e));
	ck_assert_uint_eq(n, 1);
	for (size_t i = 0; i < NROWS(locking); i++) {
		store_sql(st, "SELECT {global_sequence} FROM {outbox} "
		    "{primary} ORDER BY 1:lock",
		    SQL_RAW("lock", locking[i].text));
		ck_assert_ptr_nonnull(rows = store_query(st, "lock", &e));
		ck_assert_uint_eq(db_nrows(rows), locking[i].n);
		db_rows_free(rows);
	}
	ck_ok(store_end(st, 0, &e));
	/* Its own limit stays, whatever a literal looks like. */
	store_sql(st, "SELECT COUNT(*) FROM (SELECT 1) AS t WHERE ' LIMIT 7' "
	    "= ' LIMIT 7' LIMIT 1, 5");
	ck_ok(store_query_number(st, "limit", &n, &e));
	ck_assert_uint_eq(n, 0);
}
END_TEST

void
add_schema(Suite *s, const struct kind *k)
{
	TCase	*tc = add_case(s, "schema", k, k->start, other_begin,
		    other_end);

	tcase_add_loop_test(tc, missing_table_is_named, 0, NROWS(needed));
	tcase_add_test(tc, missing_column_is_named);
	tcase_add_loop_test(tc, some_of_our_tables_are_refused, 0,
	    NROWS(ours));
	tcase_add_test(tc, none_of_our_tables_is_pillar);
	tcase_add_test(tc, tables_that_come_back_are_not_pillar);
	tcase_add_test(tc, served_tables_that_go_are_not_pillar);
	tcase_add_loop_test(tc, parked_rows_are_not_pillars, 0, 4);
	tcase_add_test(tc, former_schema_is_served);
	tcase_add_loop_test(tc, what_changes_by_itself_is_no_part_of_an_id, 0,
	    NROWS(made));
	tcase_add_test(tc, claim_that_would_deliver_is_refused);
	tcase_add_loop_test(tc, order_is_a_number, 0, NROWS(orders));
	tcase_add_test(tc, names_may_be_long);
	tcase_add_loop_test(tc, column_may_be_missing, 0, NROWS(spares));
	tcase_add_test(tc, statements_do_without_columns);
	tcase_add_test(tc, tables_may_have_other_names);
	tcase_add_loop_test(tc, index_is_found, 0, NROWS(indexes));
	tcase_add_test(tc, values_are_made_to_fit);
	tcase_add_test(tc, errors_are_made_to_fit);

	tc = add_case(s, "settings", k, k->start, begin_store, end_store);
	tcase_add_test(tc, own_schema_is_understood);
	tcase_add_test(tc, result_is_whole);
	tcase_add_test(tc, backlog_is_estimated);
	tcase_add_test(tc, empty_settings_are_filled);
	tcase_add_test(tc, first_to_fill_wins);
	tcase_add_test(tc, settings_win);
	tcase_add_test(tc, odd_settings_are_refused);
	tcase_add_test(tc, partitions_are_filled);
	tcase_add_test(tc, no_stray_is_adopted);
	tcase_add_loop_test(tc, stray_is_adopted, 0, NROWS(strays));
	tcase_add_test(tc, all_strays_are_adopted_in_time);
}
