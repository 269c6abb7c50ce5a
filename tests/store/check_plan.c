/*
 * check_plan.c - the statements of every tick, as the server runs them
 *
 * By which keys, how much they read, and which locks they wait for.
 */
#include "lib/frame.h"

#include <pthread.h>

#include "util/clock.h"
#include "util/xalloc.h"

#define NBIG		5000

/* So many rows in 64 partitions, all ours; every other one is delivered. */
static void
fill_big(unsigned total)
{
	sql("DELETE FROM outbox; DELETE FROM events; "
	    "DELETE FROM outbox_partitions");
	ck_ok(fill_partitions(st, STORE_RANGES));
	sql("UPDATE outbox_partitions SET lease_owner = '" ME "', lease_epoch ="
	    " 1, lease_until = NOW(6) + INTERVAL 60 SECOND; "
	    "INSERT INTO events (sequence, stream_id, stream_sequence, "
	    "event_type, event_data) SELECT a.n + 10 * b.n + 100 * c.n + "
	    "1000 * d.n + 10000 * f.n + 1, CONCAT('k', b.n), a.n + 10 * c.n + "
	    "100 * d.n + 1000 * f.n, 't', '{}' FROM " DIGITS("a") ", "
	    DIGITS("b") ", " DIGITS("c") ", " DIGITS("d") ", " DIGITS("f")
	    " WHERE 1000 * d.n + 10000 * f.n < %u; "
	    "INSERT INTO outbox (global_sequence, partition_key, published_at)"
	    " SELECT sequence, CONCAT('p', LPAD(sequence DIV 2 MOD 64, 2, '0'))"
	    ", IF(sequence MOD 2, NOW(6), NULL) FROM events; "
	    "ANALYZE TABLE outbox; ANALYZE TABLE events; "
	    "ANALYZE TABLE outbox_partitions", total);
}

/* One tick over n rows, with every outcome. */
static void
tick_big(size_t n)
{
	struct range		 ranges[STORE_RANGES];
	char			 labels[STORE_RANGES][8];
	char			 stray[STORE_LABEL];
	struct candidate	*c;
	uint64_t		 claimed, *sequences;
	unsigned		 nstrays;
	size_t			 nc;
	struct waiting_list	 w;
	struct settled		 done = { 0 };
	struct batch		 b = { 0 };
	struct glance		 g;

	for (unsigned i = 0; i < STORE_RANGES; i++) {
		snprintf(labels[i], sizeof(labels[i]), "p%02u", i);
		ranges[i] = range(labels[i], 1);
		ranges[i].limit = n / STORE_RANGES + 1;
	}
	nstrays = adopt_strays(st, stray);
	ck_assert_uint_eq(nstrays, 0);
	for (size_t max = 0; max <= 100; max += 100) {
		ck_ok(store_glance(st, max, &g, &e));
		batch_free(&g.ahead);
		free(g.rows);
	}
	ck_ok(store_candidates(st, ranges, STORE_RANGES, &c, &nc, &e));
	ck_assert_uint_ge(nc, n);
	sequences = xcalloc(n, sizeof(*sequences));
	for (size_t i = 0; i < n; i++)
		sequences[i] = c[i].sequence;
	/* And one that somebody has left. */
	sql("UPDATE outbox SET claim_token = 'gone-1' "
	    "WHERE global_sequence = %llu",
	    (unsigned long long)sequences[0]);
	ck_ok(store_claim(st, &(struct claim_set){ ranges, STORE_RANGES,
	    sequences, n }, &b, &claimed, &e));
	ck_assert_uint_eq(claimed, n);
	ck_ok(store_fetch(st, sequences, n, 1, &b, &e));
	ck_ok(store_fetch_away(st, sequences, n, &b, &e));
	ck_ok(store_waiting(st, sequences, n, &w, &e));
	for (size_t i = 0; i < n; i++) {
		msg_fail(&b.msgs[i], (enum outcome)(i % OUT_KEEP_CLAIM), "why");
		b.msgs[i].reason = "message";
	}
	ck_ok(store_settle(st, &b, &done, &e));
	store_waiting_free(&w);
	batch_free(&b);
	free(sequences);
	free(c);
}

/* Ours to explain: with the key that must be used, or NULL. */
static const char *
hot_key(const char *statement)
{
	static const struct {
		const char	*part, *key;
	} hot[] = {
		{ "UNION ALL", "outbox_claim" },
		{ " IS NULL LIMIT", "outbox_claim PRIMARY" },
		{ "UPDATE `outbox` ", "PRIMARY" },
		{ "SELECT global_sequence", "PRIMARY" },
		{ "SELECT o.global_sequence", "PRIMARY" },
		{ "SELECT sequence, metadata", "PRIMARY" },
		{ "DELETE FROM `outbox`", "PRIMARY" },
	};

	for (int i = 0; i < NROWS(hot); i++)
		if (strstr(statement, hot[i].part) != NULL)
			return hot[i].key;
	return NULL;
}

/*
 * Around 900 and 1,000 rows both optimizers change their minds.  The short form
 * has the first NTICKS_SHORT, and of those only NREADS_SHORT are counted.
 */
#define NTICKS_SHORT	4
#define NREADS_SHORT	2
static const struct {
	unsigned	rows;
	size_t		batch;
} ticks[] = {
	{ 5000, 10 }, { 5000, 1000 }, { 5000, 900 }, { 5000, 1100 },
	{ 40000, 10 }, { 40000, 900 }, { 40000, 1000 }, { 40000, 1100 },
};

/* What it asks stands in the table seen afterwards. */
static void
note_tick(size_t n)
{
	log_statements();
	store_free(st);
	st = store_of(conf, ME);
	tick_big(n);
	sql("SET GLOBAL general_log = 0; DROP TABLE IF EXISTS seen; "
	    "CREATE TABLE seen (id INT AUTO_INCREMENT PRIMARY KEY, "
	    "text LONGTEXT); INSERT INTO seen (text) SELECT argument "
	    STATEMENTS "ORDER BY event_time");
}

/* Rows and leases by their keys, whatever is in the tables. */
static void
ck_claim(const char *text)
{
	ck_assert_str_eq(sql_column("key", "EXPLAIN %s", text),
	    "PRIMARY\nPRIMARY");
	ck_assert_str_eq(sql_column("table", "EXPLAIN %s", text), "o\np");
}

/*
 * The plans that the tables as they are now have for it.  Where there is
 * nothing to read, only what the order of locks depends on counts.
 */
static void
ck_plans(bool empty)
{
	int	n, nhot = 0, nclaims = 0;

	n = atoi(sql_text("SELECT COUNT(*) FROM seen"));
	for (int i = 1; i <= n; i++) {
		char *text = xstrdup(sql_text("SELECT text FROM seen "
		    "WHERE id = %d", i));

		if (strncmp(text, "SET SESSION", 11) == 0)
			sql("%s", text);
		if (hot_key(text) != NULL && strstr(text, "schema") == NULL) {
			nhot++;
			if (!empty)
				ck_plan(text, hot_key(text));
			if (strstr(text, " AS p ") != NULL) {
				nclaims++;
				ck_claim(text);
			}
		}
		free(text);
	}
	ck_assert_int_eq(nclaims, 2);
	/*
	 * Strays, two glances, candidates, two claims, fetch, fetch away,
	 * waiting, six to settle.
	 */
	ck_assert_int_eq(nhot, 15);
}

START_TEST(hot_statements_use_their_keys)
{
	fill_big(ticks[_i].rows);
	note_tick(ticks[_i].batch);
	/* As it was before: the plan must not profit from an empty queue. */
	fill_big(ticks[_i].rows);
	ck_plans(false);
	fill_big(0);
	ck_plans(true);
	sql("DROP TABLE seen");
}
END_TEST

static unsigned long
reads_of_tick(unsigned total, size_t batch)
{
	unsigned long	before, asking, sum;

	fill_big(total);
	before = reads();
	asking = reads() - before;
	before = reads();
	tick_big(batch);
	sum = reads() - before;
	return sum > asking ? sum - asking : 0;
}

/*
 * A tick reads some entries per row of its batch and per partition, and no
 * more because the tables are large.
 */
START_TEST(tick_reads_no_more_in_large_tables)
{
	size_t		batch = ticks[_i].batch;
	unsigned long	small = reads_of_tick(3000, batch),
			large = reads_of_tick(60000, batch);

	ck_assert_uint_le(small, 12 * batch + 8 * STORE_RANGES +
	    5 * GLANCE_ROWS);
	ck_assert_uint_le(large, small + small / 20 + 10);
}
END_TEST

/*
 * The fence under way
 */

/* A claim in a thread of its own, because it will wait. */
struct claimer {
	struct store	*store;
	uint64_t	 first, last, n;
	struct batch	 b;
	pthread_t	 thread;
};

static void *
claimer_run(void *arg)
{
	struct claimer	*c = arg;

	c->n = claim(c->store, &c->b, c->first, c->last);
	return NULL;
}

static void
claimer_start(struct claimer *c)
{
	ck_assert_int_eq(pthread_create(&c->thread, NULL, claimer_run, c), 0);
	wait_for_locks(1);
}

struct predecessor {
	int		 rc;
	bool		 takes_over;
	struct err	 e;
	pthread_t	 thread;
};

static void *
predecessor_run(void *arg)
{
	struct predecessor	*h = arg;
	struct lease		 p00 = { .label = "p00" };
	const struct lease	*list = &p00;
	uint64_t		 n = 1;

	h->rc = h->takes_over ? store_take_over(st, DEAD, &h->e) :
	    store_acquire(st, &list, 1, &n, &h->e);
	ck_assert_uint_eq(n, 1);
	return NULL;
}

/*
 * The claim has begun in time and waits for a row: whoever wants the lease,
 * even after it has run out, must wait until the claim has committed.
 */
START_TEST(claim_keeps_the_lease_until_it_is_done)
{
	struct claimer		c = { .first = 1, .last = 3 };
	struct predecessor	h = { .takes_over = _i == 0 };

	conf->worker.lease_renew = 9000;
	store_free(st);
	st = store_of(conf, ME);
	c.store = store_of(conf, DEAD);
	add_rows(1, 4, "'p00'");
	add_lease("p00", DEAD, 1);
	sql("START TRANSACTION; SELECT * FROM outbox "
	    "WHERE global_sequence = 3 FOR UPDATE");
	if (!h.takes_over) {
		sql("COMMIT; UPDATE outbox_partitions SET lease_until = "
		    "NOW(6) + INTERVAL 400000 MICROSECOND; START TRANSACTION; "
		    "SELECT * FROM outbox WHERE global_sequence = 3 "
		    "FOR UPDATE");
	}
	claimer_start(&c);
	for (int64_t until = patience(); !h.takes_over && strcmp(sql_text(
	    "SELECT lease_until < NOW(6) FROM outbox_partitions"), "1") != 0; )
		wait_more(&until, "the lease to run out");
	ck_assert_int_eq(pthread_create(&h.thread, NULL, predecessor_run, &h),
	    0);
	wait_for_locks(2);
	ck_sql(DEAD " 1", "SELECT lease_owner, lease_epoch "
	    "FROM outbox_partitions");
	sql("COMMIT");
	pthread_join(c.thread, NULL);
	pthread_join(h.thread, NULL);
	ck_assert_uint_eq(c.n, 3);
	ck_assert_msg(h.rc == 0, "%s", h.e.text);
	ck_sql(ME " 2", "SELECT lease_owner, lease_epoch "
	    "FROM outbox_partitions");
	ck_assert_uint_eq(claim(c.store, &c.b, 4, 4), 0);
	store_free(c.store);
}
END_TEST

/* A producer's insert does not wait for a claim that goes around it. */
START_TEST(claim_locks_no_gaps)
{
	struct claimer	c = { .first = 1, .last = 9 };

	c.store = st;
	own_rows(2);
	add_rows(9, 9, "'p00'");
	sql("SET innodb_lock_wait_timeout = 1; START TRANSACTION; "
	    "SELECT * FROM outbox WHERE global_sequence = 9 FOR UPDATE");
	claimer_start(&c);
	sql("INSERT INTO outbox (global_sequence, partition_key) "
	    "VALUES (5, 'p00'), (6, NULL)");
	sql("COMMIT");
	pthread_join(c.thread, NULL);
	ck_assert_uint_eq(c.n, 3);
}
END_TEST

/* Claims ten at a time until it gets none. */
struct racer {
	struct store	*store;
	uint64_t	 next;
	uint64_t	 n;
	char		 error[200];
	pthread_t	 thread;
};

static void *
racer_run(void *arg)
{
	struct racer	*r = arg;
	struct range	 p00 = range("p00", 1);
	struct batch	 b = { 0 };
	struct err	 err = { "" };
	uint64_t	 sequences[10], n;

	while (r->next < NBIG && r->error[0] == '\0') {
		for (int i = 0; i < 10; i++)
			sequences[i] = r->next + (uint64_t)i + 1;
		if (store_claim(r->store, &(struct claim_set){ &p00, 1,
		    sequences, 10 }, &b, &n, &err) == 0) {
			r->n += n;
			r->next += 10;
			if (n == 0)
				return NULL;
		} else if (store_fault(r->store) != DB_BUSY)
			snprintf(r->error, sizeof(r->error), "%.190s",
			    err.text);
	}
	return NULL;
}

#define NROUNDS	30

/*
 * A worker claims as fast as it can while another one takes its lease over:
 * once that has committed, the number of rows claimed never grows.
 */
START_TEST(no_row_is_claimed_under_a_lost_lease)
{
	char		id[IDENT_SIZE];
	unsigned	seed = 1, races = 0;

	sql("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
	fill_big(NBIG);
	sql("UPDATE outbox SET partition_key = 'p00', published_at = NULL; "
	    "DELETE FROM outbox_partitions");
	for (unsigned round = 1; round <= NROUNDS; round++) {
		struct racer	 r = { .next = 0 };
		int64_t		 start;
		const char	*first;

		snprintf(id, sizeof(id), "race:00:%016x", 0xace00 + round);
		r.store = store_of(conf, id);
		sql("DELETE FROM outbox_partitions; UPDATE outbox SET "
		    "claim_token = NULL, available_at = NOW(6)");
		add_lease("p00", id, 1);
		ck_assert_int_eq(pthread_create(&r.thread, NULL, racer_run,
		    &r), 0);
		start = clock_us();
		while (clock_us() - start < 1000 + rand_r(&seed) % 15000)
			sched_yield();
		while (store_take_over(st, id, &e) < 0)
			ck_assert_msg(store_fault(st) == DB_BUSY, "%s",
			    e.text);
		first = sql_text("SELECT COUNT(*) FROM outbox "
		    "WHERE claim_token LIKE '%016x-%%'", 0xace00 + round);
		pthread_join(r.thread, NULL);
		ck_assert_str_eq(r.error, "");
		ck_sql(first, "SELECT COUNT(*) FROM outbox "
		    "WHERE claim_token LIKE '%016x-%%'", 0xace00 + round);
		ck_assert_uint_eq(r.n, strtoull(first, NULL, 10));
		/* On a busy machine it may have got all before. */
		races += r.next < NBIG;
		store_free(r.store);
	}
	ck_assert_uint_gt(races, 0);
}
END_TEST

static void
add_plans(Suite *s, const struct kind *k)
{
	TCase	*tc = add_case(s, "plan", k, k->start, begin_store, end_store);

	tcase_add_loop_test(tc, hot_statements_use_their_keys, 0,
	    NTICKS_SHORT);
	tcase_add_loop_test(tc, tick_reads_no_more_in_large_tables, 0,
	    NREADS_SHORT);

	tc = add_case(s, "plans", k, k->start, begin_store, end_store);
	tcase_set_tags(tc, "long");
	tcase_add_loop_test(tc, hot_statements_use_their_keys, NTICKS_SHORT,
	    NROWS(ticks));
	tcase_add_loop_test(tc, tick_reads_no_more_in_large_tables,
	    NREADS_SHORT, 4);

	tc = add_case(s, "fence", k, k->start, begin_store, end_store);
	tcase_add_loop_test(tc, claim_keeps_the_lease_until_it_is_done, 0, 2);
	tcase_add_test(tc, claim_locks_no_gaps);
	tcase_add_test(tc, no_row_is_claimed_under_a_lost_lease);
}

int
main(void)
{
	return frame_run("plan", add_plans);
}
