/*
 * check_fleet.c - several partition counts and several workers, against real
 * servers
 *
 * A change of the count, and how it is seen by workers that read all leases, or
 * only those of their share.  See frame.h.
 */
#include <dlfcn.h>
#include <mysql.h>

#include <bsd/string.h>

#include "util/clock.h"
#include "lib/frame.h"
#include "lib/stages.h"
#include "store/store_sql.h"
#include "worker/tick.h"
#include "util/xalloc.h"

#define COUNTS	"SELECT partition_count, former_counts, counts_since IS NOT " \
		"NULL FROM outbox_settings"

static struct backlog	 backlog;
static struct fleet	 fleet;
static struct repartition rp;

/* An event before a statement of the account. */
static struct {
	const char	*before;
	void		(*what)(void);
} meanwhile;

/* In place of the library's. */
int STDCALL
mysql_send_query(MYSQL *mysql, const char *text, unsigned long len)
{
	static int	(*real)(MYSQL *, const char *, unsigned long);

	if (real == NULL)
		*(void **)&real = dlsym(RTLD_NEXT, "mysql_send_query");
	if (meanwhile.before != NULL && strcmp(mysql->user, "outbox") == 0 &&
	    strstr(text, meanwhile.before) != NULL) {
		meanwhile.before = NULL;
		meanwhile.what();
	}
	return real(mysql, text, len);
}

static void
declare(unsigned count, const char *former)
{
	sql("UPDATE outbox_settings SET partition_count = %u, former_counts = "
	    "NULLIF('%s', ''), counts_since = NOW(6)", count, former);
}

static void
fleet_begin(void)
{
	begin_store();
	meanwhile.before = NULL;
	declare(16, "");
	sql("UPDATE outbox_settings SET counts_since = NULL");
	ck_ok(fill_partitions(st, 16));
	fleet_init(&fleet, conf, st);
	backlog_init(&backlog, conf, st);
}

static void
fleet_end(void)
{
	backlog_free(&backlog);
	fleet_free(&fleet);
	end_store();
}

static void
repartition(unsigned count)
{
	ck_ok(store_repartition(st, count, &rp, &e));
	ck_assert(!rp.busy);
}

static void
give_away(const char *label)
{
	update_lease(label, "lease_owner = '" OTHER "'");
}

/* Log statements, of a new store. */
static void
log_new_store(void)
{
	store_free(st);
	fleet.store = st = store_of(conf, ME);
	log_statements();
}

/*
 * Another count
 */

START_TEST(change_is_one_transaction)
{
	sql("UPDATE outbox_partitions SET lease_owner = '" OTHER "', "
	    "lease_until = NOW(6) + INTERVAL 60 SECOND, lease_epoch = 7 "
	    "WHERE partition_key = 'p03'");
	add_rows(1, 3, "'p03'");
	repartition(48);
	ck_assert(rp.changed && !rp.refused);
	ck_assert_uint_eq(rp.before.count, 16);
	ck_assert_uint_eq(rp.before.nformer, 0);
	ck_assert_uint_eq(rp.counts.count, 48);
	ck_assert_uint_eq(rp.counts.nformer, 1);
	ck_sql("48 16 1", COUNTS);
	/* Old leases keep their owners, and every epoch is raised. */
	ck_sql("48 47", "SELECT COUNT(*), SUM(lease_epoch = 1) "
	    "FROM outbox_partitions");
	ck_sql(OTHER " 8 1", "SELECT lease_owner, lease_epoch, lease_until > "
	    "NOW(6) + INTERVAL 50 SECOND FROM outbox_partitions "
	    "WHERE partition_key = 'p03'");
	/* No row is touched. */
	ck_sql("p03 3", "SELECT MIN(partition_key), COUNT(*) FROM outbox");
	repartition(16);
	ck_sql("16 48 1", COUNTS);
	repartition(32);
	ck_sql("32 48,16 1", COUNTS);
	ck_sql("48", "SELECT COUNT(*) FROM outbox_partitions");
	ck_sql("10", "SELECT lease_epoch FROM outbox_partitions "
	    "WHERE partition_key = 'p03'");
}
END_TEST

START_TEST(same_count_changes_nothing)
{
	declare(16, "8");
	repartition(16);
	ck_assert(!rp.changed && !rp.refused);
	ck_assert_uint_eq(rp.counts.count, 16);
	ck_sql("16 8 1", COUNTS);
	/* Nor does another count before the first start. */
	sql("UPDATE outbox_settings SET partition_count = NULL");
	repartition(8);
	ck_assert(!rp.changed && !rp.refused);
	ck_sql("NULL 8 1", COUNTS);
	ck_sql("0", "SELECT SUM(lease_epoch) FROM outbox_partitions");
}
END_TEST

/* A lease is locked: the changes that were made before are undone. */
START_TEST(busy_change_is_undone)
{
	sql("START TRANSACTION; SELECT * FROM outbox_partitions "
	    "WHERE partition_key = 'p09' FOR UPDATE");
	ck_ok(store_repartition(st, 64, &rp, &e));
	ck_assert(rp.busy && !rp.changed);
	sql("COMMIT");
	ck_sql("16 NULL 0", COUNTS);
	ck_sql("16 0", "SELECT COUNT(*), SUM(lease_epoch) "
	    "FROM outbox_partitions");
	repartition(64);
	ck_assert(rp.changed);
	ck_sql("64 64", "SELECT COUNT(*), SUM(lease_epoch) "
	    "FROM outbox_partitions");
}
END_TEST

/* A producer's transaction neither waits nor delays the change. */
START_TEST(producers_and_a_change_do_not_meet)
{
	int64_t	start;

	if (_i == 1)
		sql("SET SESSION binlog_format = 'MIXED'");
	sql("START TRANSACTION; CALL outbox_enqueue('before', NULL, 't', 1, "
	    "NULL, NULL, 'x')");
	start = clock_ms();
	repartition(48);
	ck_assert(rp.changed);
	/* Nor does one that begins while the change is under way. */
	sql("CALL outbox_enqueue('before', NULL, 't', 1, NULL, NULL, 'x'); "
	    "COMMIT");
	ck_ok(store_begin(st, &e));
	ck_ok(store_write_counts(st, &(struct counts){ .count = 48 }, &e));
	sql("START TRANSACTION; CALL outbox_enqueue('while', NULL, 't', 1, "
	    "NULL, NULL, 'x'); COMMIT");
	ck_ok(store_end(st, 0, &e));
	ck_assert_int_le(ms_since(start), 900);
	ck_sql("3", "SELECT COUNT(*) FROM outbox");
}
END_TEST

START_TEST(file_says_it_where_there_is_no_table)
{
	static char	 name[] = "not_there";
	char		*items[] = { "16", "024" };
	__typeof__(conf->outbox.tables) was = conf->outbox.tables;
	struct store	*other;
	struct counts	 c;
	unsigned	 count = 48;

	conf->outbox.tables.settings = conf->outbox.tables.dead_letters =
	    conf->outbox.tables.blocked_keys = conf->outbox.tables.streams =
	    name;
	conf->outbox.partition_count = 48;
	conf->outbox.former_counts.items = items;
	conf->outbox.former_counts.n = 2;
	other = store_of(conf, OTHER);
	ck_assert(store_is_pillar(other));
	ck_ok(store_read_counts(other, &c, &e));
	ck_assert(counts_are_same(&c, &(struct counts){ 48, { 16, 24 }, 2,
	    true }));
	ck_assert(c.changed);
	ck_ok(store_settings(other, &count, &e));
	ck_assert_uint_eq(count, 48);
	ck_ok(store_repartition(other, 32, &rp, &e));
	ck_assert(!rp.changed && !rp.refused && !rp.busy);
	ck_sql("16 0", "SELECT COUNT(*), SUM(lease_epoch) "
	    "FROM outbox_partitions");
	conf->outbox.former_counts.n = 0;
	conf->outbox.former_counts.items = NULL;
	conf->outbox.tables = was;
	store_free(other);
}
END_TEST

/*
 * The first count
 */

static const struct {
	const char	*label;		/* of a row that waits; NULL: none does */
	unsigned	 count;
	const char	*then;
	bool		 told;
} firsts[] = {
	{ NULL, 16, "16 NULL 0", false },
	{ "NULL", 16, "16 1 1", false },
	{ "''", 16, "16 1 1", false },
	{ "'p00'", 16, "16 NULL 0", false },
	{ "'vip'", 16, "16 NULL 0", false },
	{ "NULL", 1, "1 NULL 0", false },
	{ "NULL", 63, "63 1 1", false },
	{ "NULL", 64, "64 NULL 0", true },
};

/* Rows without a label have what a count of 1 gives. */
START_TEST(rows_from_before_the_first_count_stay_in_order)
{
	unsigned	count = firsts[_i].count;

	sql("UPDATE outbox_settings SET partition_count = NULL, "
	    "former_counts = NULL, counts_since = NULL");
	if (firsts[_i].label != NULL)
		add_rows(1, 1, firsts[_i].label);
	/* It does not wait. */
	add_rows(2, 2, "NULL");
	update_row(2, "published_at = NOW(6)");
	ck_ok(store_settings(st, &count, &e));
	ck_assert_uint_eq(count, firsts[_i].count);
	ck_sql(firsts[_i].then, COUNTS);
	ck_assert((strstr(logged(), "may lose their order") != NULL) ==
	    firsts[_i].told);
	/* Once only. */
	add_rows(3, 3, "NULL");
	count = 8;
	ck_ok(store_settings(st, &count, &e));
	ck_assert_uint_eq(count, firsts[_i].count);
	ck_sql(firsts[_i].then, COUNTS);
}
END_TEST

/*
 * Who owns what
 */

/* "p00+p02 p01*": our partitions; the star: its records are not read yet. */
static const char *
owned(const struct backlog *b)
{
	static char	text[4096];

	text[0] = '\0';
	for (size_t i = 0; i < b->parts.n; i++) {
		const struct part *p = b->parts.items[i];

		for (size_t k = 0; k < p->nlabels; k++) {
			strlcat(text, k > 0 ? "+" : i > 0 ? " " : "",
			    sizeof(text));
			strlcat(text, p->labels[k].label, sizeof(text));
		}
		strlcat(text, p->unread ? "*" : "", sizeof(text));
	}
	return text;
}

static void
read_fresh(struct backlog *b)
{
	do
		ck_ok(parked_round(&b->parked, 100, 0, &e));
	while (parts_have_fresh(&b->parts));
}

/* The counts 4 and 2, and all leases ours under epoch 1. */
static void
own_begin(void)
{
	fleet_begin();
	declare(4, "2");
	sql("DELETE FROM outbox_partitions");
	own_leases(0, 3);
	ck_ok(store_register(st, &e));
	ck_ok(adopt_round(&fleet, &backlog, 1000, &e));
	read_fresh(&backlog);
}

static int64_t
look_again(void)
{
	static int64_t	now = 2000;

	now += FLEET_READ_MS;
	ck_ok(adopt_round(&fleet, &backlog, now, &e));
	return now;
}

static struct part *
part(const char *label)
{
	return parts_find(&backlog.parts, (struct bytes){ label,
	    strlen(label) });
}

/* Row 3, of the key k, waits in this partition. */
static void
block_row(const char *label)
{
	lanes_block(backlog.lanes, &(struct wait){ .part = part(label),
	    .lane = { "k", 1 }, .key = { "k", 1 }, .sequence = 3,
	    .due_at = INT64_MAX });
}

START_TEST(one_epoch_is_that_of_the_class)
{
	unsigned	moves = fleet.parts.version;

	block_row("p00");
	update_lease("p03", "lease_epoch = 2");
	look_again();
	ck_assert_str_eq(owned(&backlog), "p00+p02 p01+p03*");
	ck_assert_uint_eq(lanes_count(backlog.lanes), 1);
	ck_assert_uint_gt(fleet.parts.version, moves);
	update_lease("p02", "lease_epoch = 2");
	look_again();
	ck_assert_str_eq(owned(&backlog), "p00+p02* p01+p03*");
	ck_assert_uint_eq(lanes_count(backlog.lanes), 0);
}
END_TEST

/* Other counts, other classes: the old ones are forgotten. */
START_TEST(classes_follow_the_counts)
{
	struct store	*other = store_of(conf, OTHER);

	block_row("p01");
	ck_ok(store_repartition(other, 8, &rp, &e));
	look_again();
	ck_assert_str_eq(owned(&backlog), "p00+p02+p04+p06* p01+p03+p05+p07*");
	ck_assert_uint_eq(lanes_count(backlog.lanes), 0);
	read_fresh(&backlog);
	ck_ok(store_repartition(other, 1, &rp, &e));
	look_again();
	ck_assert_str_eq(owned(&backlog),
	    "+p00+p01+p02+p03+p04+p05+p06+p07*");
	/* And the end of all former ones. */
	ck_ok(store_begin(other, &e));
	ck_ok(store_write_counts(other, &(struct counts){ .count = 2 }, &e));
	ck_ok(store_end(other, 0, &e));
	look_again();
	ck_assert_str_eq(owned(&backlog),
	    "* p00* p01* p02* p03* p04* p05* p06* p07*");
	store_free(other);
}
END_TEST

static const struct {
	const char	*label, *owned, *left;
} newcomers[] = {
	{ "p002", "p00+p002+p02* p01+p03", "p01+p03" },
	{ "p04", "p00+p02 p01+p03 p04*", "p00+p02 p01+p03" },
	{ "", "* p00+p02 p01+p03", "p00+p02 p01+p03" },
};

/* A label that is new. */
START_TEST(new_lease_joins_its_class)
{
	const char	*label = newcomers[_i].label;

	sql("INSERT INTO outbox_partitions (partition_key) VALUES ('%s')",
	    label);
	look_again();
	ck_assert_str_eq(owned(&backlog), newcomers[_i].owned);
	give_away(label);
	look_again();
	ck_assert_str_eq(owned(&backlog), newcomers[_i].left);
}
END_TEST

/* Workers of a fleet; the first has the variables above. */
#define NFLEET	3

static struct fellow {
	struct store	*store;
	struct fleet	 fleet;
	struct backlog	 backlog;
} fellows[NFLEET];

static void
start_fleet(void)
{
	static const char *const	ids[] = { ME, OTHER, DEAD };

	for (int i = 0; i < NFLEET; i++) {
		struct fellow *f = &fellows[i];

		f->store = i == 0 ? st : store_of(conf, ids[i]);
		if (i > 0) {
			fleet_init(&f->fleet, conf, f->store);
			backlog_init(&f->backlog, conf, f->store);
		}
		ck_ok(store_register(f->store, &e));
	}
}

static struct fleet *
fellow(int i)
{
	return i == 0 ? &fleet : &fellows[i].fleet;
}

static struct backlog *
backlog_of(int i)
{
	return i == 0 ? &backlog : &fellows[i].backlog;
}

static void
stop_fleet(void)
{
	for (int i = 1; i < NFLEET; i++) {
		backlog_free(&fellows[i].backlog);
		fleet_free(&fellows[i].fleet);
		store_free(fellows[i].store);
	}
}

/* All workers read the leases until no lease moves any more. */
static void
settle_fleet(void)
{
	static int64_t	now = 1000000;
	size_t		moved = 1;

	for (int rounds = 0; moved > 0; rounds++) {
		ck_assert_int_lt(rounds, 10);
		moved = 0;
		now += 5 * FLEET_READ_MS;
		for (int i = 0; i < NFLEET; i++) {
			fleet_clear_report(fellow(i));
			ck_ok(adopt_round(fellow(i), backlog_of(i), now,
			    &e));
			moved += fellow(i)->nleased + fellow(i)->nreleased;
		}
	}
	for (int i = 0; i < NFLEET; i++)
		read_fresh(backlog_of(i));
}

static const struct {
	unsigned	 count;
	const char	*former;
	const char	*owned[NFLEET];
} fleets[] = {
	{ 12, "4", { "p00+p04+p08 p03+p07+p11", "p01+p05+p09 p12",
		     "p02+p06+p10 vip" } },
	{ 4, "2", { "p00+p02 p05 p08 p11", "p01+p03 p06 p09 p12",
		    "p04 p07 p10 vip" } },
	{ 12, "4,2", { "p00+p02+p04+p06+p08+p10 vip",
		       "p01+p03+p05+p07+p09+p11", "p12" } },
	{ 12, "", { "p00 p03 p06 p09 p12", "p01 p04 p07 p10 vip",
		    "p02 p05 p08 p11" } },
	{ 12, "1", { "p00+p01+p02+p03+p04+p05+p06+p07+p08+p09+p10+p11", "p12",
		     "vip" } },
};

/* After any change, all workers agree on the owner of each class. */
START_TEST(workers_agree_on_classes)
{
	int	from = _i / NROWS(fleets), to = _i % NROWS(fleets);

	sql("DELETE FROM outbox_partitions");
	ck_ok(fill_partitions(st, 13));
	sql("INSERT INTO outbox_partitions (partition_key) VALUES ('vip')");
	start_fleet();
	declare(fleets[from].count, fleets[from].former);
	settle_fleet();
	declare(fleets[to].count, fleets[to].former);
	sql("UPDATE outbox_partitions SET lease_epoch = lease_epoch + 1");
	settle_fleet();
	for (int i = 0; i < NFLEET; i++)
		ck_assert_str_eq(owned(backlog_of(i)), fleets[to].owned[i]);
	stop_fleet();
}
END_TEST

/*
 * Many labels, few of them ours
 */

static struct store	*changer;

static void
change_to_40(void)
{
	ck_ok(store_repartition(changer, 40, &rp, &e));
	ck_assert(rp.changed);
}

/* 80 labels, and ours are every sixth of them, or of what they make up. */
static void
small_begin(void)
{
	fleet_begin();
	declare(80, "");
	sql("UPDATE outbox_settings SET counts_since = NULL");
	ck_ok(fill_partitions(st, 80));
	for (int i = 1; i < 6; i++)
		sql("INSERT INTO outbox_workers (id, heartbeat_until) VALUES "
		    "('here:0%d:00000000000000ff', NOW(6) + INTERVAL 60 "
		    "SECOND)", i);
	ck_ok(store_register(st, &e));
	changer = store_of(conf, OTHER);
	look_again();
	read_fresh(&backlog);
	ck_assert_uint_eq(fleet.parts.n, 14);
	for (size_t i = 0; i < fleet.parts.n; i++)
		ck_assert_uint_eq(fleet.parts.items[i]->nlabels, 1);
}

static void
small_end(void)
{
	store_free(changer);
	fleet_end();
}

/* Each partition that is ours is a whole class of the declared counts. */
static void
ck_whole(void)
{
	for (size_t i = 0; i < backlog.parts.n; i++) {
		const struct part *p = backlog.parts.items[i];
		unsigned	   n = (unsigned)atoi(part_name(p) + 1);

		ck_assert_uint_eq(p->nlabels, 2);
		ck_assert_int_eq(atoi(p->labels[1].label + 1), (int)n + 40);
	}
}

START_TEST(change_is_seen_by_who_looks_at_his_share)
{
	change_to_40();
	look_again();
	ck_whole();
	/* The other halves are free. */
	ck_assert_uint_eq(fleet.parts.n, 7);
	for (int i = 0; i < 3; i++)
		look_again();
	ck_whole();
	ck_assert_uint_eq(fleet.parts.n, 7);
	/* One of them goes, and its class with it. */
	give_away("p46");
	look_again();
	ck_assert_ptr_null(part("p06"));
	ck_assert_uint_eq(fleet.parts.n, 6);
	ck_assert_uint_eq(fleet.nowned, 13);
	ck_whole();
}
END_TEST

/*
 * The counts change when the leases have been read once, those of the share or
 * all: until then only halves of classes are known, and desired.
 */
START_TEST(change_between_two_views_is_noticed)
{
	int64_t	now;

	update_lease("p06", "lease_owner = NULL");
	meanwhile.before = "SET lease_owner = '" ME "'";
	meanwhile.what = change_to_40;
	now = look_again();
	ck_assert_ptr_null(meanwhile.before);
	ck_assert_uint_eq(fleet.nowned, 14);
	ck_whole();
	/* Desired by the former counts: it is chosen again at once. */
	ck_assert_int_le(fleet_next(&fleet), now);
	look_again();
	ck_whole();
	ck_assert_uint_eq(fleet.parts.n, 7);
}
END_TEST

/* One statement, also while several counts are declared. */
START_TEST(look_is_one_statement)
{
	if (_i == 1)
		change_to_40();
	look_again();
	look_again();
	fleet.purge_at = fleet.strays_at = fleet.beat_at = INT64_MAX;
	log_new_store();
	look_again();
	sql("SET GLOBAL general_log = 0");
	ck_sql("1", "SELECT COUNT(*) " STATEMENTS);
	ck_sql("1", "SELECT COUNT(*) " STATEMENTS
	    "AND argument LIKE '%%outbox_settings%%'");
}
END_TEST

/* A label of class 6, in other words; the first worker makes its lease. */
static void
adopt_p6(void)
{
	char		label[STORE_LABEL];
	unsigned	n;

	add_rows(1, 1, "'p6'");
	n = adopt_strays(changer, label);
	ck_assert_uint_eq(n, 1);
}

/*
 * A worker that reads only its share does not see the new lease, but the epochs
 * that were raised with it.  Until it has read all, its claims of that class
 * are fenced.
 */
START_TEST(new_label_is_not_overlooked)
{
	change_to_40();
	look_again();
	look_again();
	fleet.strays_at = INT64_MAX;
	if (_i == 1) {
		give_away("p46");
		look_again();
		ck_assert_ptr_null(part("p06"));
		update_lease("p46", "lease_owner = NULL");
	}
	if (_i == 2) {		/* between the round's two views */
		update_lease("p12", "lease_owner = NULL");
		meanwhile.before = "SET lease_owner = '" ME "'";
		meanwhile.what = adopt_p6;
	} else
		adopt_p6();
	for (int i = 0; i < 2; i++) {
		look_again();
		for (size_t k = 0; part("p06") != NULL &&
		    part("p06")->nlabels < 3 && k < 2; k++)
			ck_sql("1", "SELECT lease_epoch > %llu FROM "
			    "outbox_partitions WHERE partition_key = '%s'",
			    (unsigned long long)part("p06")->labels[k].epoch,
			    part("p06")->labels[k].label);
	}
	ck_assert_ptr_null(meanwhile.before);
	ck_assert_ptr_nonnull(part("p6"));
	ck_assert_ptr_eq(part("p6"), part("p46"));
	ck_assert_uint_eq(part("p6")->nlabels, 3);
}
END_TEST

/*
 * A class that fills a statement, and another label beside it
 */

static void
large_begin(void)
{
	fleet_begin();
	declare(63, "1");
	sql("DELETE FROM outbox_partitions; INSERT INTO outbox_partitions "
	    "(partition_key) VALUES (''), ('%s')", "vip");
	ck_ok(fill_partitions(st, 63));
	ck_ok(store_register(st, &e));
	look_again();
	read_fresh(&backlog);
	ck_assert_uint_eq(fleet.parts.n, 2);
	ck_assert_uint_eq(part("")->nlabels, STORE_RANGES);
}

/* Is this row picked within so many scans? */
static bool
is_met(uint64_t sequence, int looks)
{
	bool	met = false;

	while (!met && looks-- > 0) {
		struct picks	k = { 0 };

		ck_ok(candidates_pick(&backlog.candidates, &k, 100, &e));
		met = picks_part(&k, sequence) != NULL;
		candidates_end_tick(&backlog.candidates, k.n > 0);
		candidates_drop(&backlog.candidates);
		picks_free(&k);
	}
	return met;
}

/* Both are scanned in turn: neither starves the other. */
START_TEST(large_class_and_label_take_turns)
{
	/* 0: the class is busy; 1: it is empty. */
	if (_i == 0)
		add_rows(1, 200, "'p07'");
	add_rows(201, 201, "'vip'");
	add_rows(202, 202, "NULL");
	for (int i = 0; i < 6; i++)
		ck_assert(is_met(i % 2 == 0 ? 201 : _i == 1 ? 202 : 1, 3));
}
END_TEST

/*
 * Three hosts of two workers, and what each of them says is away
 */

#define NHOSTS		3
#define NMEMBERS	6

static struct {
	struct store	*store;
	struct fleet	 fleet;
} members[NMEMBERS];

static void
hosts_begin(void)
{
	static const char *const	hosts[] = { "a", "b", "c" };
	char				id[IDENT_SIZE];

	fleet_begin();
	for (int i = 0; i < NMEMBERS; i++) {
		ident_new(id, hosts[i / 2], (unsigned)i % 2);
		members[i].store = store_of(conf, id);
		ck_ok(store_register(members[i].store, &e));
		fleet_init(&members[i].fleet, conf, members[i].store);
	}
}

static void
hosts_end(void)
{
	for (int i = 0; i < NMEMBERS; i++) {
		fleet_free(&members[i].fleet);
		store_free(members[i].store);
	}
	fleet_end();
}

/* "6 5 5": partitions of each host, after each worker has looked n times. */
static const char *
shares(int n)
{
	static int64_t	now;
	static char	text[40];
	size_t		owned[NHOSTS] = { 0 };

	for (int k = 0; k < n; k++) {
		now += FLEET_READ_MS;
		for (int i = 0; i < NMEMBERS; i++)
			ck_ok(fleet_round(&members[i].fleet, now, &e));
	}
	for (int i = 0; i < NMEMBERS; i++)
		owned[i / 2] += members[i].fleet.parts.n;
	snprintf(text, sizeof(text), "%zu %zu %zu", owned[0], owned[1],
	    owned[2]);
	return text;
}

/* The rest of a division is not the last hosts' loss alone. */
START_TEST(shares_are_even_over_hosts)
{
	ck_assert_str_eq(shares(2), "6 5 5");
	ck_sql("16 16", "SELECT COUNT(*), SUM(lease_until > NOW(6)) FROM "
	    "outbox_partitions");
	/* Another program's worker counts as it sorts: the second of seven. */
	sql("INSERT INTO outbox_workers (id, heartbeat_until) VALUES "
	    "('a:01', NOW(6) + INTERVAL 1 HOUR)");
	ck_assert_str_eq(shares(2), "5 4 4");
}
END_TEST

static const struct {
	const char	*away[NMEMBERS];
	const char	*shares;
} absences[] = {
	{ { "", "", "x", "x", "", "" }, "8 0 8" },
	{ { "", "", "", "x", "", "" }, "7 3 6" },
	{ { "x", "x", "x", "x", "x", "x" }, "6 5 5" },
	{ { "x", "x", "y", "y", "x,y", "x,y" }, "8 8 0" },
	{ { "x", "x", "", "", "x?", "x?" }, "0 8 8" },
	{ { "x", "x", "x?", "x?", "x?", "x?" }, "6 5 5" },
};

START_TEST(who_reaches_less_stands_back)
{
	for (int i = 0; i < NMEMBERS; i++)
		fleet_say_away(&members[i].fleet, absences[_i].away[i]);
	/* Each looks at the others before all have said it, too. */
	ck_assert_str_eq(shares(3), absences[_i].shares);
	ck_sql("16", "SELECT SUM(lease_until > NOW(6)) FROM "
	    "outbox_partitions");
	/* While one says nothing, nobody does; then all as before. */
	sql("INSERT INTO outbox_workers (id, heartbeat_until) VALUES "
	    "('z:01:0123456789abcdef', NOW(6) + INTERVAL 1 HOUR)");
	ck_assert_str_eq(shares(3), "6 4 4");
	sql("DELETE FROM outbox_workers WHERE id LIKE 'z%%'");
	for (int i = 0; i < NMEMBERS; i++)
		fleet_say_away(&members[i].fleet, "");
	ck_assert_str_eq(shares(3), "6 5 5");
}
END_TEST

/* In tables of a version before, and Pillar's. */
START_TEST(tables_without_the_column)
{
	sql("ALTER TABLE outbox_workers DROP COLUMN away");
	for (int i = 0; i < NMEMBERS; i++) {
		ck_ok(store_learn(members[i].store, &e));
		fleet_say_away(&members[i].fleet, i < 2 ? "x" : "");
	}
	ck_assert_str_eq(shares(3), "6 6 4");
}
END_TEST

/*
 * Host a is of a version before, whose two workers want the first and the second
 * of each six partitions: the others want what is left, and all of it.
 */
START_TEST(versions_before_sort_as_bytes)
{
	sql("UPDATE outbox_workers SET away = NULL WHERE id LIKE 'a:%%'");
	for (int k = 1; k <= 3; k++)
		for (int i = 2; i < NMEMBERS; i++)
			ck_ok(fleet_round(&members[i].fleet,
			    k * FLEET_READ_MS, &e));
	ck_sql("p02,p03,p04,p05,p08,p09,p10,p11,p14,p15", "SELECT "
	    "GROUP_CONCAT(partition_key ORDER BY partition_key) FROM "
	    "outbox_partitions WHERE lease_until > NOW(6)");
}
END_TEST

static void
add_members(Suite *s, const struct kind *k)
{
	TCase	*tc = add_case(s, "change", k, k->start, fleet_begin,
		    fleet_end);

	tcase_add_test(tc, change_is_one_transaction);
	tcase_add_test(tc, same_count_changes_nothing);
	tcase_add_test(tc, busy_change_is_undone);
	tcase_add_loop_test(tc, producers_and_a_change_do_not_meet, 0, 2);
	tcase_add_test(tc, file_says_it_where_there_is_no_table);
	tcase_add_loop_test(tc, rows_from_before_the_first_count_stay_in_order,
	    0, NROWS(firsts));
	tcase_add_loop_test(tc, workers_agree_on_classes, 0,
	    NROWS(fleets) * NROWS(fleets));

	tc = add_case(s, "own", k, k->start, own_begin, fleet_end);
	tcase_add_test(tc, one_epoch_is_that_of_the_class);
	tcase_add_test(tc, classes_follow_the_counts);
	tcase_add_loop_test(tc, new_lease_joins_its_class, 0,
	    NROWS(newcomers));

	tc = add_case(s, "small", k, k->start, small_begin, small_end);
	tcase_add_test(tc, change_is_seen_by_who_looks_at_his_share);
	tcase_add_test(tc, change_between_two_views_is_noticed);
	tcase_add_loop_test(tc, look_is_one_statement, 0, 2);
	tcase_add_loop_test(tc, new_label_is_not_overlooked, 0, 3);

	tc = add_case(s, "hosts", k, k->start, hosts_begin, hosts_end);
	tcase_add_test(tc, shares_are_even_over_hosts);
	tcase_add_loop_test(tc, who_reaches_less_stands_back, 0,
	    NROWS(absences));
	tcase_add_test(tc, versions_before_sort_as_bytes);
	tcase_add_test(tc, tables_without_the_column);

	tc = add_case(s, "large", k, k->start, large_begin, fleet_end);
	tcase_add_loop_test(tc, large_class_and_label_take_turns, 0, 2);
}

int
main(void)
{
	return frame_run("fleet", add_members);
}
