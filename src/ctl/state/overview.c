/*
 * overview.c - the state of everything as one object, with its problems
 */

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/state/state_impl.h"
#include "health/health.h"
#include "mysql/db.h"
#include "store/watermark.h"
#include "util/clock.h"
#include "util/sig.h"

/* Between two reads of the scoreboard, to compute a rate. */
#define RATE_MS		250

bool
state_is_gone(const json_t *worker, const json_t *orphans)
{
	const char	*id = member_text(worker, "id");

	return id != NULL && json_object_get(orphans, id) != NULL &&
	    kill((pid_t)member_number(worker, "pid"), 0) < 0 && errno == ESRCH;
}

static int
put_workers(struct ctl *c, json_t *state, struct err *e)
{
	json_t	*workers = state_workers(c, e), *hosts = json_array(), *w;
	json_t	*orphans = state_orphans(c);
	int	 live = 0, stale = 0;
	size_t	 i;

	json_array_foreach(workers, i, w) {
		if (!member_true(w, "live") || state_is_gone(w, orphans)) {
			stale++;
			continue;
		}
		live++;
		if (json_is_string(json_object_get(w, "host")))
			state_count_host(hosts, w);
	}
	json_object_set_new(state, "workers", json_pack(
	    "{s:i, s:i, s:i, s:o, s:o}", "live", live, "stale", stale,
	    "hosts", (int)json_array_size(hosts),
	    "back", state_hosts_back(workers),
	    "vanished", state_hosts_vanished(workers)));
	json_object_set_new(state, "hosts", hosts);
	json_decref(orphans);
	json_decref(workers);
	return workers == NULL ? -1 : 0;
}

#define NAMES	4	/* of paused ones, for an operator to know which */

/* Count it under its state, and what else is told of such. */
static void
sum_up_partition(json_t *sums, const json_t *p)
{
	const char	*state = member_text(p, "state");
	const char	*label = member_text(p, "partition");
	const char	*names = member_text(sums, "paused_names");
	json_int_t	 n = member_number(sums, state) + 1;

	member_set(sums, state, n);
	if (strcmp(state, "expired") == 0)
		member_set(sums, "expired_ms", later(member_number(sums,
		    "expired_ms"), -member_number(p, "ttl_ms")));
	if (strcmp(state, "paused") == 0 && names == NULL)
		json_object_set_new(sums, "paused_names", json_string(label));
	else if (strcmp(state, "paused") == 0 && n <= NAMES + 1)
		json_object_set_new(sums, "paused_names", json_sprintf("%s, %s",
		    names, n <= NAMES ? label : "..."));
	if (member_true(p, "obsolete"))
		member_add(sums, "obsolete", 1);
	if (json_is_false(json_object_get(p, "waiting")))
		member_add(sums, "idle", 1);
}

static int
put_partitions(struct ctl *c, json_t *state, struct err *e)
{
	struct counts	 k;
	json_t		*list = state_counts(c, &k, e) < 0 ? NULL :
			    state_partitions(c, 0, e);
	const json_t	*oldest = NULL;
	json_t		*sums, *p;
	json_int_t	 labels = 0, ahead = 0;
	size_t		 i;

	if (list == NULL)
		return -1;
	sums = json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}",
	    "count", (int)k.count, "total", (int)json_array_size(list),
	    "owned", 0, "free", 0, "expired", 0, "expired_ms", 0,
	    "paused", 0, "idle", 0, "missing", 0, "obsolete", 0);
	json_array_foreach(list, i, p) {
		sum_up_partition(sums, p);
		labels += member_text(p, "partition")[0] != '\0' &&
		    !member_true(p, "obsolete");
		ahead += member_true(p, "ahead");
		/* An unknown age (the event is gone) counts as younger. */
		if (!json_is_null(json_object_get(p, "oldest")) &&
		    (oldest == NULL || member_number(p, "oldest_ms") >
		    member_number(oldest, "oldest_ms")))
			oldest = p;
	}
	member_set(sums, "missing", counts_max(&k) - labels);
	json_object_set_new(state, "partitions", sums);
	json_object_set_new(state, "oldest", oldest == NULL ? json_null() :
	    json_pack("{s:O, s:O, s:O, s:O, s:b}",
	    "sequence", json_object_get(oldest, "oldest"),
	    "partition", json_object_get(oldest, "partition"),
	    "at", json_object_get(oldest, "oldest_at"),
	    "age_ms", json_object_get(oldest, "oldest_ms"),
	    "paused", strcmp(member_text(oldest, "state"), "paused") == 0));
	json_decref(list);
	return state_put_clock(c, state, ahead, e);
}

/* Send the prepared SELECT, and put its rows under a name. */
static int
put_query(struct ctl *c, json_t *state, const char *name,
    const struct rows_column *columns, size_t n, struct err *e)
{
	struct db_rows	*rows = store_query(c->store, name, e);

	if (rows == NULL)
		return -1;
	json_object_set_new(state, name, rows_json(rows, columns, n));
	return 0;
}

/* From when on a dead letter is new. */
static const char *
new_since(const struct ctl *c)
{
	return c->args.since != NULL ? c->args.since :
	    "NOW(6) - INTERVAL 1 DAY";
}

/* Of labels that no worker can lease, the first, and what mends all. */
static int
put_strays(struct ctl *c, json_t *state, struct err *e)
{
	struct strays	 l;
	char		*sql;

	if (store_index(c->store) != INDEX_BY_TIME)
		return json_object_set_new(state, "strays", json_null());
	if (store_strays(c->store, &l, &sql, e) < 0)
		return -1;
	json_object_set_new(state, "strays", l.n == 0 ? json_null() :
	    json_pack("{s:I, s:o, s:s, s:s}", "labels", (json_int_t)l.n,
	    "first", bytes_json(l.items[0].label, l.items[0].len),
	    "why", l.items[0].why, "sql", sql));
	store_strays_free(&l);
	free(sql);
	return 0;
}

/* By reason, with the key of the first; an event names its key. */
static int
put_blocked_keys(struct ctl *c, json_t *state, struct err *e)
{
	static const struct rows_column	 columns[] = {
	    { "reason", ROWS_TEXT }, { "keys", ROWS_NUMBER },
	    { "since", ROWS_TIME }, { "key", ROWS_BYTES },
	    { "head", ROWS_NUMBER }, { "new", ROWS_NUMBER },
	    { "purged", ROWS_BOOL }, { "died_of", ROWS_TEXT },
	    { "doubt_ms", ROWS_NUMBER }, { "error", ROWS_TEXT } };

	/*
	 * With the new dead letters that halt a key, counted once; how long
	 * the first head is in doubt, where a moment of long ago means that it
	 * is not known; and its last error, which tells what refuses it.
	 */
	store_sql(c->store, "SELECT t.reason, t.n, t.since, "
	    STORE_KEY_OF("{k.stream_id}", "b.order_key") ", b.head_sequence, "
	    "IF(t.reason = '" STORE_HALTED "', "
	    "(SELECT COUNT(DISTINCT d.global_sequence) FROM "
	    "(SELECT head_sequence FROM {blocked} WHERE reason = '"
	    STORE_HALTED "' LIMIT :max) AS heads "
	    "STRAIGHT_JOIN {dead} AS d ON d.global_sequence = "
	    "heads.head_sequence WHERE d.reason NOT IN " DEAD_MARKS
	    " AND d.died_at >= :new_since), 0), NOT EXISTS (SELECT 1 "
	    "FROM {dead} AS d WHERE d.global_sequence = b.head_sequence), "
	    "(SELECT d.reason FROM {dead} AS d WHERE d.global_sequence = "
	    "b.head_sequence), (SELECT IF(YEAR({o.in_doubt_since}) > 1970, "
	    "TIMESTAMPDIFF(MICROSECOND, {o.in_doubt_since}, NOW(6)) DIV 1000, "
	    "NULL) FROM {outbox} AS o "
	    "WHERE {o.global_sequence} = b.head_sequence), "
	    "(SELECT LEFT({o.last_error}, 500) FROM {outbox} AS o "
	    "WHERE {o.global_sequence} = b.head_sequence) "
	    "FROM (SELECT reason, COUNT(*) AS n, MIN(since) AS since, "
	    "MIN(first_sequence) AS first FROM (SELECT reason, since, "
	    "first_sequence FROM {blocked} LIMIT :max) AS rows_read "
	    "GROUP BY reason) AS t "
	    "LEFT JOIN {blocked} AS b ON b.first_sequence = t.first "
	    "LEFT JOIN {events} AS k ON {k.sequence} = b.first_sequence "
	    "ORDER BY t.reason", SQL_NUMBER("max", STATE_EXACT),
	    SQL_RAW("new_since", new_since(c)));
	return put_query(c, state, "blocked", columns,
	    sizeof(columns) / sizeof(columns[0]), e);
}

/*
 * Heads that are held instead of being dead letters: how many, since when, and
 * the error of the first.
 */
static int
put_held(struct ctl *c, json_t *state, struct err *e)
{
	static const struct rows_column	 columns[] = {
	    { "messages", ROWS_NUMBER }, { "since", ROWS_TIME },
	    { "first", ROWS_NUMBER }, { "error", ROWS_TEXT } };
	json_t	*held = NULL;

	store_sql(c->store, "SELECT h.n, h.since, h.first, (SELECT "
	    "LEFT({o.last_error}, 500) FROM {outbox} AS o WHERE "
	    "{o.global_sequence} = h.first) FROM (SELECT COUNT(*) AS n, "
	    "MIN(t.since) AS since, MIN(t.head_sequence) AS first FROM "
	    "(SELECT since, head_sequence FROM {blocked} LIMIT :max) AS t "
	    "STRAIGHT_JOIN {outbox} AS o "
	    "ON {o.global_sequence} = t.head_sequence "
	    "WHERE {o.published_at} IS NULL "
	    "AND {o.last_error} LIKE 'held: %') AS h WHERE h.n > 0",
	    SQL_NUMBER("max", STATE_EXACT));
	if (rows_one(c, "held", columns, sizeof(columns) / sizeof(columns[0]),
	    &held, e) < 0)
		return -1;
	return json_object_set_new(state, "held", held == NULL ? json_null() :
	    held);
}

/* What the server does with connections, and its disks; null: not told. */
static int
put_server(struct ctl *c, json_t *state, struct err *e)
{
	struct db_rows	*rows;
	json_t		*server = json_null();

	store_sql(c->store, "SHOW GLOBAL VARIABLES WHERE variable_name IN "
	    "('wait_timeout', 'datadir', 'log_bin_basename')");
	rows = store_query(c->store, "server", e);
	if (rows == NULL && !store_is_open(c->store))
		return -1;
	if (rows != NULL && db_nrows(rows) > 0)
		server = json_object();
	while (rows != NULL && db_next(rows))
		json_object_set_new(server, db_text(rows, 0),
		    strcmp(db_text(rows, 0), "wait_timeout") == 0 ?
		    json_integer((json_int_t)db_u64(rows, 1)) :
		    bytes_json(db_text(rows, 1), db_length(rows, 1)));
	json_object_set_new(state, "server", server);
	db_rows_free(rows);
	return 0;
}

/*
 * About those that died last.  Marks are left out after they were read, so the
 * limit is on what is read.
 */
static int
put_dead_letters(struct ctl *c, json_t *state, struct err *e)
{
	struct db_rows	*rows;

	store_sql(c->store, "SELECT COUNT(*), COALESCE(SUM(is_dead), 0), "
	    "COALESCE(SUM(is_new), 0), "
	    "COALESCE(MAX(IF(is_new, global_sequence, 0)), 0), "
	    "COALESCE(SUM(is_new AND reason = 'message'), 0) "
	    "FROM (SELECT reason, global_sequence, reason NOT IN " DEAD_MARKS
	    " AS is_dead, reason NOT IN " DEAD_MARKS
	    " AND died_at >= :new_since AS is_new FROM {dead} "
	    "ORDER BY global_sequence DESC LIMIT :max) AS latest",
	    SQL_RAW("new_since", new_since(c)), SQL_NUMBER("max", STATE_DEAD));
	if ((rows = store_query(c->store, "dead", e)) == NULL)
		return -1;
	db_next(rows);
	json_object_set_new(state, "dead", json_pack("{s:I, s:b, s:I, s:I, s:I}",
	    "count", (json_int_t)db_u64(rows, 1),
	    "exact", db_u64(rows, 0) < STATE_DEAD,
	    "new", (json_int_t)db_u64(rows, 2),
	    "last", (json_int_t)db_u64(rows, 3),
	    "new_wrong", (json_int_t)db_u64(rows, 4)));
	db_rows_free(rows);
	return 0;
}

/*
 * holes: the first ones, for people.  A round takes as long as the last one of
 * routine did; in the first one that is told by the part of it that is done.
 */
static int
put_streams(struct ctl *c, json_t *state, struct err *e)
{
	static const struct rows_column	 columns[] = {
	    { "name", ROWS_TEXT }, { "checked_at", ROWS_TIME },
	    { "checked_ms", ROWS_NUMBER }, { "checker", ROWS_TEXT },
	    { "phantoms", ROWS_NUMBER }, { "phantom_first", ROWS_NUMBER },
	    { "phantom_last", ROWS_NUMBER }, { "phantom_at", ROWS_TIME },
	    { "lost", ROWS_NUMBER }, { "lost_first", ROWS_NUMBER },
	    { "lost_last", ROWS_NUMBER }, { "lost_at", ROWS_TIME },
	    { "alarm", ROWS_TEXT }, { "alarm_at", ROWS_TIME },
	    { "missing", ROWS_NUMBER }, { "missing_at", ROWS_TIME },
	    { "holes", ROWS_TEXT },
	    { "scrub_at", ROWS_TIME }, { "scrub_rows", ROWS_NUMBER },
	    { "scrub_began", ROWS_TIME }, { "scrub_for", ROWS_TEXT },
	    { "scrub_ended", ROWS_TIME }, { "scrub_round_ms", ROWS_NUMBER },
	    { "scrubber", ROWS_TEXT },
	    { "rival", ROWS_TEXT }, { "rival_at", ROWS_TIME } };

	store_sql(c->store, "SELECT name, checked_at, "
	    "TIMESTAMPDIFF(MICROSECOND, checked_at, NOW(6)) DIV 1000, "
	    "IF(checker_until > NOW(6), checker, NULL), phantoms, "
	    "phantom_first, phantom_last, phantom_at, "
	    "lost, lost_first, lost_last, lost_at, alarm, alarm_at, :scrub "
	    "FROM {streams} ORDER BY name LIMIT 100",
	    SQL_EITHER("scrub", store_is_full(c->store),
	    "missing, missing_at, IF(CHAR_LENGTH(holes) > 100, CONCAT(LEFT("
	    "holes, 100 - LOCATE(',', REVERSE(LEFT(holes, 100)))), ',...'), "
	    "holes), scrub_at, scrub_rows, scrub_began, "
	    "COALESCE(scrub_for, suspicion), scrub_ended, COALESCE(scrub_ms, "
	    "TIMESTAMPDIFF(MICROSECOND, scrub_began, NOW(6)) * "
	    "TIMESTAMPDIFF(SECOND, known_since, scrub_began) DIV "
	    "TIMESTAMPDIFF(SECOND, known_since, scrub_at) DIV 1000), "
	    "IF(scrubber_until > NOW(6), scrubber, NULL), rival, rival_at",
	    "0, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, "
	    "NULL"));
	return put_query(c, state, "streams", columns,
	    sizeof(columns) / sizeof(columns[0]), e);
}

/* The rate since the previous round; at first, over RATE_MS from now. */
static void
put_this_host(struct ctl *c, json_t *state, const json_t *before)
{
	json_t	*this_host = state_this_host(c);
	int64_t	 left = member_number(before, "at_ms") + RATE_MS -
		    member_number(this_host, "at_ms");

	if (json_is_object(this_host) && json_is_object(before) && left > 0) {
		sig_wait(NULL, 0, left);
		json_decref(this_host);
		this_host = state_this_host(c);
	}
	state_rate(this_host, before);
	json_object_set_new(state, "this_host", this_host);
}

/* The tables; what cannot be read is left out. */
static int
put_known_tables(struct ctl *c, json_t *state, struct err *e)
{
	static const struct {
		int		(*put)(struct ctl *, json_t *, struct err *);
		const char	*ours;	/* of tables that Pillar lacks */
	} parts[] = {
		{ put_workers, NULL }, { put_partitions, NULL },
		{ put_strays, NULL }, { state_put_backlog, NULL },
		{ state_put_delivered, NULL },
		{ put_blocked_keys, "blocked" }, { put_held, "held" },
		{ put_dead_letters, "dead" }, { put_streams, "streams" },
		{ state_put_counts, NULL }, { state_put_rights, NULL },
		{ state_put_outboxes, NULL }, { put_server, NULL },
		{ state_put_cluster, NULL },
	};
	char	version[VERSION_SIZE];
	int	known = version_of(c, version, e);

	/* Known before the other tables are read; they may not be readable. */
	if (known < 0)
		return -1;
	json_object_set_new(state, "schema", known < 2 ? json_null() :
	    json_pack("{s:s, s:i}", "version", version, "newest",
	    (int)store_schema_version));
	/* The daemon may need a column that no statement here does. */
	if (store_learn_again(c->store, e) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].ours != NULL && store_is_pillar(c->store))
			json_object_set_new(state, parts[i].ours, json_null());
		else if (parts[i].put(c, state, e) < 0)
			return -1;
	return 0;
}

/* Tables may have come or gone since a lasting connection has looked at them. */
static int
put_tables(struct ctl *c, json_t *state, struct err *e)
{
	struct err	again;

	if (put_known_tables(c, state, e) == 0)
		return 0;
	return store_is_open(c->store) && store_learn(c->store, &again) == 0 ?
	    put_known_tables(c, state, e) : -1;
}

json_t *
state_overview(struct ctl *c, struct pub *bus, const json_t *host_before,
    const struct err *away)
{
	const struct store	*s = c->store;
	json_t			*state = json_object(), *missing;
	struct err		 e;

	put_this_host(c, state, host_before);
	member_set(state, "daemon_died", state_dead_master(c));
	member_set(state, "files_lost", state_files_lost(c));
	if (c->bad_file.text[0] != '\0') {
		json_object_set_new(state, "configuration", json_pack(
		    "{s:s, s:b}", "error", c->bad_file.text,
		    "secret", c->bad_secret));
		health_judge(c->conf, state);
		return state;
	}
	if (away == NULL && put_tables(c, state, &e) < 0)
		away = &e;
	/* Where tables of ours are gone, the others cannot be read. */
	if (s != NULL && store_is_open(s)) {
		missing = json_array();
		for (enum store_table t = T_SETTINGS; t <= T_STREAMS; t++)
			if (store_lacks(s, t))
				json_array_append_new(missing, json_pack(
				    "{s:s, s:s}", "table",
				    store_table_name(s, t), "cost",
				    t == T_SETTINGS ? "outbox_enqueue() "
				    "fails, and workers that connect anew "
				    "send nothing" : "workers that connect "
				    "anew send nothing"));
		json_object_set_new(state, "missing", missing);
	}
	json_object_set_new(state, "database_host", s == NULL ||
	    away != NULL ? json_null() : json_string(store_peer(s)));
	json_object_set_new(state, "database", away == NULL ? json_null() :
	    json_pack("{s:s}", "error", away->text));
	json_object_set_new(state, "broker", state_broker(c, bus));
	/* The problem is told by what else is read; these are looks more. */
	if (away == NULL)
		(void)state_put_gaps(c, bus, state, &e);
	(void)state_put_topics(c, state, away == NULL, &e);
	health_judge(c->conf, state);
	return state;
}
