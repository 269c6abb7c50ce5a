/* store_lease.c - workers, their leases, and whose they become */

#include "store/store_test.h"

#include <unistd.h>

#include "lib/stages.h"
#include "util/clock.h"
#include "worker/fleet.h"
#include "util/xalloc.h"

START_TEST(worker_is_registered)
{
	char	host[64], want[160];

	gethostname(host, sizeof(host));
	snprintf(want, sizeof(want), ME " %s %ld", host, (long)getpid());
	ck_ok(store_register(st, &e));
	ck_ok(store_register(st, &e));
	ck_sql(want, "SELECT id, hostname, pid FROM outbox_workers");
	ck_sql("1", "SELECT heartbeat_until BETWEEN "
	    "NOW(6) + INTERVAL 14 SECOND AND NOW(6) + INTERVAL 15 SECOND "
	    "AND started_at <= NOW(6) FROM outbox_workers");
}
END_TEST

START_TEST(heart_beats)
{
	bool	known;

	ck_ok(store_beat(st, &known, &e));
	ck_assert(!known);
	ck_ok(store_beat(st, &known, &e));
	ck_assert(known);
	sql("UPDATE outbox_workers SET heartbeat_until = NOW(6)");
	ck_ok(store_beat(st, &known, &e));
	ck_assert(known);
	ck_sql("1", "SELECT heartbeat_until > NOW(6) + INTERVAL 10 SECOND "
	    "FROM outbox_workers");
	sql("DELETE FROM outbox_workers");
	ck_ok(store_beat(st, &known, &e));
	ck_assert(!known);
	ck_sql(ME, "SELECT id FROM outbox_workers");
}
END_TEST

/* The two halves of a view, as the tests want them. */
static char **
fleet(size_t *n)
{
	struct store_view	  v;
	char			**ids;

	ck_ok(store_view(st, &v, &e));
	ids = xcalloc(v.nworkers + 1, sizeof(*ids));
	for (*n = 0; *n < v.nworkers; ++*n)
		ids[*n] = xstrdup(v.workers[*n].id);
	store_view_free(&v);
	return ids;
}

static struct lease *
leases_of(size_t *n)
{
	struct store_view	 v;
	struct lease		*leases;

	ck_ok(store_view(st, &v, &e));
	leases = v.leases;
	*n = v.nleases;
	v.leases = NULL;
	store_view_free(&v);
	return leases;
}

START_TEST(fleet_is_sorted_and_alive)
{
	static const char *const	want[] =
	    { "B:1", "a-b:1", "a.b:1", "a:00", "a:1", "a_b:1", "b:1" };
	char				**ids;
	size_t				  n;

	ids = fleet(&n);
	ck_assert_uint_eq(n, 0);
	free(ids);
	sql("INSERT INTO outbox_workers (id, heartbeat_until) VALUES "
	    "('late', NOW(6) - INTERVAL 1 SECOND), ('now', NOW(6))");
	for (int i = NROWS(want) - 1; i >= 0; i--)
		sql("INSERT INTO outbox_workers (id, heartbeat_until) "
		    "VALUES ('%s', NOW(6) + INTERVAL 60 SECOND)", want[i]);
	ids = fleet(&n);
	ck_assert_uint_eq(n, NROWS(want));
	for (size_t i = 0; i < n; i++) {
		ck_assert_str_eq(ids[i], want[i]);
		free(ids[i]);
	}
	free(ids);
}
END_TEST

#define ALL_LEASES	"SELECT partition_key, lease_owner, lease_epoch, " \
			"lease_until > NOW(6), lease_until > NOW(6) + " \
			"INTERVAL 16 SECOND FROM outbox_partitions " \
			"ORDER BY partition_key"

/* Live and run out ones of both, one of nobody. */
static void
mix_leases(void)
{
	add_lease("mine", ME, 3);
	add_lease("mine-old", ME, 3);
	add_lease("other", OTHER, 3);
	add_lease("other-old", OTHER, 3);
	sql("INSERT INTO outbox_partitions (partition_key) VALUES ('none'); "
	    "UPDATE outbox_partitions SET lease_until = NOW(6) "
	    "WHERE partition_key LIKE '%%old'");
	ck_sql("mine " ME " 3 1 1\nmine-old " ME " 3 0 0\n"
	    "none NULL 0 NULL NULL\nother " OTHER " 3 1 1\n"
	    "other-old " OTHER " 3 0 0", ALL_LEASES);
}

START_TEST(leases_are_listed)
{
	static const struct lease	want[] = {
		{ "Z", 0, false, true },
		{ "mine", 3, true, false },
		{ "mine-old", 3, false, true },
		{ "none", 0, false, true },
		{ "other", 3, false, false },
		{ "other-old", 3, false, true },
	};
	struct lease			*leases;
	size_t				 n;

	leases = leases_of(&n);
	ck_assert_uint_eq(n, 0);
	free(leases);
	mix_leases();
	sql("INSERT INTO outbox_partitions (partition_key) VALUES ('Z')");
	leases = leases_of(&n);
	ck_assert_uint_eq(n, NROWS(want));
	for (size_t i = 0; i < n; i++) {
		ck_assert_str_eq(leases[i].label, want[i].label);
		ck_assert_uint_eq(leases[i].epoch, want[i].epoch);
		ck_assert(leases[i].mine == want[i].mine);
		ck_assert(leases[i].free == want[i].free);
	}
	free(leases);
}
END_TEST

/* Both written by a node whose clock is a minute ahead; for "ttl" seconds. */
static void
write_ahead(const char *worker, int ttl)
{
	sql("REPLACE INTO outbox_workers (id, updated_at, heartbeat_until) "
	    "VALUES ('%s', NOW(6) + INTERVAL 60 SECOND, "
	    "NOW(6) + INTERVAL %d SECOND)", worker, 60 + ttl);
	sql("REPLACE INTO outbox_partitions (partition_key, lease_owner, "
	    "lease_epoch, updated_at, lease_until) VALUES ('p-%s', '%s', 3, "
	    "NOW(6) + INTERVAL 60 SECOND, NOW(6) + INTERVAL %d SECOND)",
	    worker, worker, 60 + ttl);
}

/* Views each 200 ms, while the second one renews: who is alive, what is free? */
static void
watch(int64_t ms, const char *renews, struct store_view *v)
{
	for (int64_t began = clock_ms(); ; usleep(200000)) {
		if (renews != NULL)
			write_ahead(renews, 1);
		ck_ok(store_view(st, v, &e));
		if (ms_since(began) >= ms)
			return;
		store_view_free(v);
	}
}

/*
 * Only the worker that has not renewed for its own TTL is dead, and only its
 * lease is free; one with a longer TTL, or a pause, is not.
 */
START_TEST(silent_worker_is_dead)
{
	struct store_view	v;
	uint64_t		taken;
	const struct lease	*list[4];

	write_ahead("dead", 1);
	write_ahead("slow", 30);
	sql("INSERT INTO outbox_partitions (partition_key, lease_owner, "
	    "updated_at, lease_until) VALUES ('x', 'paused', NOW(6), "
	    "NOW(6) + INTERVAL 1 YEAR)");
	watch(0, "live", &v);
	ck_assert_uint_eq(v.nworkers, 3);
	store_view_free(&v);
	watch(2600, "live", &v);
	ck_assert_uint_eq(v.nworkers, 2);
	ck_assert_str_eq(v.workers[0].id, "live");
	ck_assert_str_eq(v.workers[1].id, "slow");
	ck_assert_uint_eq(v.nleases, 4);
	for (size_t i = 0; i < v.nleases; i++) {
		list[i] = &v.leases[i];
		ck_assert_msg(list[i]->free ==
		    (strcmp(list[i]->label, "p-dead") == 0), "%s",
		    list[i]->label);
	}
	ck_ok(store_acquire(st, list, v.nleases, &taken, &e));
	ck_assert_uint_eq(taken, 1);
	ck_sql(ME " 4", "SELECT lease_owner, lease_epoch "
	    "FROM outbox_partitions WHERE partition_key = 'p-dead'");
	store_view_free(&v);
}
END_TEST

START_TEST(holder_is_told)
{
	const char	*list[] = { "p-dead", "x" };
	struct labels	 labels = { list, NROWS(list) };
	struct err	 text;

	sql("INSERT INTO outbox_partitions (partition_key, lease_owner, "
	    "lease_until) VALUES ('x', 'paused', NOW(6) + INTERVAL 1 YEAR)");
	ck_ok(store_holder(st, &labels, &text, &e));
	ck_assert_str_eq(text.text, "");
	write_ahead("dead", 15);
	ck_ok(store_holder(st, &labels, &text, &e));
	ck_has(text.text, "\"p-dead\" is leased to dead until 20");
	ck_has(text.text, " UTC, 75 s ahead of the clock of this server");
}
END_TEST

START_TEST(own_live_leases_are_renewed)
{
	uint64_t	n;

	mix_leases();
	ck_ok(store_renew(st, &n, &e));
	ck_assert_uint_eq(n, 1);
	ck_sql("mine " ME " 3 1 0\nmine-old " ME " 3 0 0\n"
	    "none NULL 0 NULL NULL\nother " OTHER " 3 1 1\n"
	    "other-old " OTHER " 3 0 0", ALL_LEASES);
	ck_sql("1", "SELECT lease_until > NOW(6) + INTERVAL 14 SECOND "
	    "FROM outbox_partitions WHERE partition_key = 'mine'");
}
END_TEST

size_t
every_lease(struct lease **all, const struct lease *list[16])
{
	size_t	n;

	*all = leases_of(&n);
	for (size_t i = 0; i < n; i++)
		list[i] = &(*all)[i];
	return n;
}

START_TEST(free_leases_are_acquired)
{
	struct lease		*all;
	const struct lease	*list[16];
	uint64_t		 taken;
	size_t			 n;

	mix_leases();
	n = every_lease(&all, list);
	ck_ok(store_acquire(st, list + 2, 1, &taken, &e));	/* none */
	ck_assert_uint_eq(taken, 1);
	ck_ok(store_acquire(st, list, n, &taken, &e));
	ck_assert_uint_eq(taken, 2);
	ck_sql("mine " ME " 3 1 1\nmine-old " ME " 4 1 0\n"
	    "none " ME " 1 1 0\nother " OTHER " 3 1 1\n"
	    "other-old " ME " 4 1 0", ALL_LEASES);
	free(all);
}
END_TEST

START_TEST(own_leases_are_released)
{
	struct lease		*all;
	const struct lease	*list[16];
	size_t			 n;

	mix_leases();
	n = every_lease(&all, list);
	ck_ok(store_release(st, list, n - 4, &e));	/* mine */
	ck_sql("NULL NULL 3\n" ME " 0 3", "SELECT lease_owner, lease_until > "
	    "NOW(6), lease_epoch FROM outbox_partitions "
	    "WHERE partition_key LIKE 'mine%%' ORDER BY partition_key");
	ck_ok(store_release(st, list, n, &e));
	ck_sql("mine NULL 3 NULL NULL\nmine-old NULL 3 NULL NULL\n"
	    "none NULL 0 NULL NULL\nother " OTHER " 3 1 1\n"
	    "other-old " OTHER " 3 0 0", ALL_LEASES);
	free(all);
}
END_TEST

START_TEST(labels_are_quoted)
{
	struct lease		*all;
	const struct lease	*list[16];
	struct range		 r = range("it's \\", 1);
	struct candidate	*c;
	struct batch		 b = { 0 };
	uint64_t		 n, one = 1;
	size_t			 nc;

	sql("INSERT INTO outbox_partitions (partition_key) "
	    "VALUES ('it''s \\\\')");
	add_rows(1, 1, "'it''s \\\\'");
	ck_assert_uint_eq(every_lease(&all, list), 1);
	ck_assert_str_eq(list[0]->label, r.label);
	ck_ok(store_acquire(st, list, 1, &n, &e));
	ck_assert_uint_eq(n, 1);
	ck_ok(store_candidates(st, &r, 1, &c, &nc, &e));
	ck_assert_uint_eq(nc, 1);
	ck_ok(store_claim(st, &(struct claim_set){ &r, 1, &one, 1 }, &b, &n,
	    &e));
	ck_assert_uint_eq(n, 1);
	ck_ok(store_release(st, list, 1, &e));
	ck_sql("NULL", "SELECT lease_owner FROM outbox_partitions");
	free(c);
	free(all);
}
END_TEST

/* 64 characters are up to 256 bytes, which differ only at the end here. */
START_TEST(long_labels_are_kept)
{
	struct lease	*leases;
	char		 labels[2][STORE_LABEL] = { "", "" };
	char		 adopted[STORE_LABEL], literal[STORE_LABEL + 2];
	struct range	 ranges[2] = { range(labels[0], 1),
			    range(labels[1], 1) };
	uint64_t	 sequences[] = { 1, 2 }, claimed;
	struct batch	 b = { 0 };
	unsigned	 nstrays;
	size_t		 n;

	for (unsigned i = 0; i < 2; i++) {
		while (strlen(labels[i]) < 63 * 4)
			strcat(labels[i], "\xf0\x9f\x90\x98");
		strcat(labels[i], i == 0 ? "\xf0\x9f\x90\x98" :
		    "\xf0\x9f\x90\x99");
		snprintf(literal, sizeof(literal), "'%s'", labels[i]);
		add_rows(i + 1, i + 1, literal);
		nstrays = adopt_strays(st, adopted);
		ck_assert_uint_eq(nstrays, 1);
		ck_assert_str_eq(adopted, labels[i]);
	}
	leases = leases_of(&n);
	ck_assert_uint_eq(n, 2);
	ck_assert_str_eq(leases[0].label, labels[0]);
	ck_assert_str_eq(leases[1].label, labels[1]);
	sql("UPDATE outbox_partitions SET lease_owner = '" ME "', lease_epoch ="
	    " 1, lease_until = NOW(6) + INTERVAL 60 SECOND");
	ck_assert_str_eq(candidates(ranges, 2), "1:0 2:1");
	ck_ok(store_claim(st, &(struct claim_set){ ranges, 1, sequences, 2 },
	    &b, &claimed, &e));
	ck_assert_uint_eq(claimed, 1);
	free(leases);
}
END_TEST

/*
 * A member of a fleet with many partitions
 */

static struct fleet	 member;

/* ME is the first of five, who want a fifth of 300 each. */
static void
join_fleet(void)
{
	conf->worker.lease_renew = 2000;
	ck_ok(fill_partitions(st, 300));
	for (int i = 0; i < 4; i++)
		sql("INSERT INTO outbox_workers (id, heartbeat_until) VALUES "
		    "('zz:0%d:0', NOW(6) + INTERVAL 60 SECOND)", i);
	ck_ok(store_register(st, &e));
	fleet_init(&member, conf, st);
	ck_ok(fleet_round(&member, 1000, &e));
	ck_assert_uint_eq(member.parts.n, 60);
	ck_sql("60", "SELECT COUNT(*) FROM outbox_partitions WHERE lease_owner "
	    "= '" ME "' AND lease_until > NOW(6)");
}

static void
leave_fleet(void)
{
	fleet_free(&member);
}

/* Who is gone is succeeded at the next look. */
START_TEST(share_follows_the_fleet)
{
	join_fleet();
	sql("DELETE FROM outbox_workers WHERE id = 'zz:03:0'");
	ck_ok(fleet_round(&member, 1000 + FLEET_READ_MS, &e));
	ck_assert_uint_eq(member.parts.n, 75);
	sql("DELETE FROM outbox_workers WHERE id LIKE 'zz:%%'");
	ck_ok(fleet_round(&member, 1000 + 2 * FLEET_READ_MS, &e));
	ck_assert_uint_eq(member.parts.n, 300);
	leave_fleet();
}
END_TEST

START_TEST(leaver_gives_up_everything)
{
	struct store	*other = store_of(conf, OTHER);

	mix_leases();
	ck_ok(store_register(st, &e));
	ck_ok(store_register(other, &e));
	ck_ok(store_leave(st, &e));
	ck_sql(OTHER, "SELECT id FROM outbox_workers");
	ck_sql("mine NULL 3 NULL NULL\nmine-old NULL 3 NULL NULL\n"
	    "none NULL 0 NULL NULL\nother " OTHER " 3 1 1\n"
	    "other-old " OTHER " 3 0 0", ALL_LEASES);
	store_free(other);
}
END_TEST

START_TEST(silent_workers_are_purged)
{
	uint64_t	n;

	ck_ok(store_register(st, &e));
	sql("INSERT INTO outbox_workers (id, heartbeat_until) VALUES "
	    "('late', NOW(6) - INTERVAL 1 DAY), ('now', NOW(6)), "
	    "('live', NOW(6) + INTERVAL 5 SECOND)");
	ck_ok(store_purge(st, &n, &e));
	ck_assert_uint_eq(n, 2);
	ck_sql(ME "\nlive", "SELECT id FROM outbox_workers ORDER BY id");
}
END_TEST

/* The last row of a host without a live worker is its trace. */
START_TEST(host_that_vanished_is_kept)
{
	uint64_t	n;

	sql("INSERT INTO outbox_workers (id, hostname, heartbeat_until) VALUES "
	    "('a:00', 'a', NOW(6) - INTERVAL 2 DAY), "
	    "('a:01', 'a', NOW(6) - INTERVAL 1 DAY), "
	    "('a:02', 'a', NOW(6) - INTERVAL 2 DAY), "
	    "('b:00', 'b', '2026-01-01'), ('b:01', 'b', '2026-01-01'), "
	    "('c:00', 'c', NOW(6) - INTERVAL 1 DAY), "
	    "('c:01', 'c', NOW(6) + INTERVAL 1 DAY)");
	for (int i = 0; i < 2; i++) {
		ck_ok(store_purge(st, &n, &e));
		ck_assert_uint_eq(n, i == 0 ? 4 : 0);
		ck_sql("a:01\nb:01\nc:01", "SELECT id FROM outbox_workers "
		    "ORDER BY id");
	}
}
END_TEST

/* What the dead left: a row, a lease, a run out one; others keep theirs. */
static void
leave_legacy(void)
{
	struct store	*dead = store_of(conf, DEAD);

	ck_ok(store_register(dead, &e));
	store_free(dead);
	mix_leases();
	add_lease("dead", DEAD, 5);
	add_lease("dead-old", DEAD, 5);
	update_lease("dead-old", "lease_until = NOW(6)");
}

START_TEST(dead_is_inherited)
{
	leave_legacy();
	ck_ok(store_take_over(st, DEAD, &e));
	ck_sql(ME, "SELECT id FROM outbox_workers");
	ck_sql("dead " ME " 6 1 0\ndead-old " ME " 6 1 0\n"
	    "mine " ME " 3 1 1\nmine-old " ME " 3 0 0\n"
	    "none NULL 0 NULL NULL\nother " OTHER " 3 1 1\n"
	    "other-old " OTHER " 3 0 0", ALL_LEASES);
	/* Once more, and nobody there. */
	ck_ok(store_take_over(st, DEAD, &e));
	ck_sql("6", "SELECT lease_epoch FROM outbox_partitions "
	    "WHERE partition_key = 'dead'");
}
END_TEST

/* One transaction: whoever looks sees all of it or nothing. */
START_TEST(broken_inheritance_changes_nothing)
{
	const char	*want;

	leave_legacy();
	want = sql_text(ALL_LEASES);
	put_obstacle("HY000", "UPDATE", "outbox_partitions",
	    "OLD.partition_key = 'dead-old'");
	ck_fails(store_take_over(st, DEAD, &e));
	ck_assert_int_eq(strncmp(e.text, "take over: ", 11), 0);
	ck_has(e.text, "obstacle");
	ck_assert_int_eq(store_fault(st), DB_WRONG);
	/* And it is over: nobody has to wait for these rows. */
	sql("SET innodb_lock_wait_timeout = 1; "
	    "SELECT * FROM outbox_workers FOR UPDATE");
	ck_sql(DEAD, "SELECT id FROM outbox_workers");
	ck_sql(want, ALL_LEASES);
	sql("DROP TRIGGER obstacle");
	ck_ok(store_take_over(st, DEAD, &e));
	ck_sql(ME, "SELECT id FROM outbox_workers");
}
END_TEST

void
add_leases(Suite *s, const struct kind *k)
{
	TCase	*tc = add_case(s, "lease", k, k->start, begin_store, end_store);

	tcase_add_test(tc, worker_is_registered);
	tcase_add_test(tc, heart_beats);
	tcase_add_test(tc, fleet_is_sorted_and_alive);
	tcase_add_test(tc, leases_are_listed);
	tcase_add_test(tc, silent_worker_is_dead);
	tcase_add_test(tc, holder_is_told);
	tcase_add_test(tc, own_live_leases_are_renewed);
	tcase_add_test(tc, share_follows_the_fleet);
	tcase_add_test(tc, free_leases_are_acquired);
	tcase_add_test(tc, own_leases_are_released);
	tcase_add_test(tc, labels_are_quoted);
	tcase_add_test(tc, long_labels_are_kept);
	tcase_add_test(tc, leaver_gives_up_everything);
	tcase_add_test(tc, silent_workers_are_purged);
	tcase_add_test(tc, host_that_vanished_is_kept);
	tcase_add_test(tc, dead_is_inherited);
	tcase_add_test(tc, broken_inheritance_changes_nothing);
}
