/*
 * store_timeline.c - has the database gone back in time?
 *
 * Messages of the stream are compared with rows and events.  A delivered row
 * has the hash of its message, so as a rule no event is read.
 */

#include "store/store_impl.h"

#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>

#include "common/message_id.h"
#include "util/xalloc.h"

/* Seconds by which computed times of one start may differ. */
#define START_ERROR_S	5

/*
 * A server is in use while its tail is moved on, every ten seconds, or once
 * after claim_ttl.  If it was not for longer, another may have been.
 */
#define UNUSED_MS	30000

/* Payloads are read in pieces of this size; one may be longer. */
#define READ_BYTES	(8 * 1024 * 1024)

/* One column of a query that has one row. */
static int
query_text(struct store *s, unsigned column, char *text, size_t size,
    struct err *e)
{
	struct db_rows	*rows = store_query(s, "server", e);
	bool		 found;

	if (rows == NULL)
		return -1;
	found = db_next(rows) && db_nullable(rows, column) != NULL;
	if (found)
		strlcpy(text, db_text(rows, column), size);
	db_rows_free(rows);
	return found ? 0 : err_set(e, "server: no identity or no start time");
}

/*
 * By what a server has, beginning with what one of its kind should have: a proxy
 * or a fork may lack it.
 */
int
store_server(struct store *s, struct db_server *server, struct err *e)
{
	static const struct sql	ways[] = { { "@@server_uuid" },
	    { "CONCAT(@@server_id, '-', @@gtid_domain_id)" },
	    { "@@server_uuid" }, { "CONCAT(@@hostname, ':', @@port)" } };
	size_t			i = db_is_mariadb(s->db) ? 1 : 0;
	char			uptime[32];
	int			rc;

	do {
		store_sql(s, "SELECT :identity", SQL_PART("identity", ways[i]));
		rc = query_text(s, 0, server->identity, STORE_SERVER, e);
	} while (rc < 0 && db_learnt_wrong(s->db) && ++i < 4);
	if (rc < 0)
		return -1;
	store_sql(s, "SELECT CONCAT(@@hostname, ':', @@port)");
	if (query_text(s, 0, server->name, sizeof(server->name), e) < 0) {
		if (!db_learnt_wrong(s->db))
			return -1;
		strlcpy(server->name, server->identity, sizeof(server->name));
	}
	store_sql(s, "SHOW GLOBAL STATUS LIKE 'Uptime'");
	if (query_text(s, 1, uptime, sizeof(uptime), e) < 0)
		return -1;
	store_sql(s, "SELECT NOW(6) - INTERVAL :uptime SECOND",
	    SQL_NUMBER("uptime", strtoull(uptime, NULL, 10)));
	return query_text(s, 0, server->started, sizeof(server->started), e);
}

int
store_catch_up(struct store *s, struct err *e)
{
	struct err	why;
	bool		any;
	int		rc;

	if (db_catch_up(s->db, true, e) < 0)
		return -1;
	store_sql(s, "SELECT 1 FROM {streams} LIMIT 1");
	rc = store_query_any(s, "stream", &any, e);
	if (db_catch_up(s->db, false, &why) == 0 || rc < 0)
		return rc;
	*e = why;
	return -1;
}

/* Append a condition: the stream's row is of this use of this server. */
static void
put_same_use(struct store *s, const struct db_server *server)
{
	store_put(s, "database_server = :identity AND "
	    "ABS(TIMESTAMPDIFF(SECOND, database_started, :started)) <= :error "
	    "AND tail_at > NOW(6) - INTERVAL :unused MICROSECOND",
	    SQL_TEXT("identity", server->identity),
	    SQL_TEXT("started", server->started),
	    SQL_NUMBER("error", START_ERROR_S),
	    SQL_MS("unused", s->conf->worker.claim_ttl + UNUSED_MS));
}

int
store_server_is_known(struct store *s, const char *stream,
    const struct db_server *server, bool *known, struct err *e)
{
	store_sql(s, "SELECT 1 FROM {streams} WHERE name = :stream AND :same",
	    SQL_TEXT("stream", stream),
	    SQL_PUT("same", s, put_same_use(s, server)));
	return store_query_any(s, "server", known, e);
}

/*
 * The server tells whole seconds.  An ALTER that builds the table anew makes it
 * newer as well.
 */
int
store_outbox_is_newer(struct store *s, const char *than, bool *newer,
    struct err *e)
{
	store_sql(s, "SELECT 1 FROM information_schema.tables "
	    "WHERE table_schema = DATABASE() AND table_name = :outbox "
	    "AND create_time + INTERVAL 1 SECOND > :than",
	    SQL_TEXT("outbox", s->tables[T_OUTBOX]), SQL_TEXT("than", than));
	return store_query_any(s, "server", newer, e);
}

/* Append assignments: the tail was compared to the end on this server. */
static void
put_use(struct store *s, const struct db_server *server, uint64_t last)
{
	/* From left to right: server_since while the others are the old ones. */
	store_put(s, ":since, database_server = :identity, "
	    "database_started = :started, tail_at = {now}",
	    SQL_PUT_IF("since", store_is_full(s), s, store_put(s,
	    ", server_since = IF(:same, COALESCE(server_since, :last), :last)",
	    SQL_PUT("same", s, put_same_use(s, server)),
	    SQL_NUMBER("last", last))),
	    SQL_TEXT("identity", server->identity),
	    SQL_TEXT("started", server->started));
}

/* Append assignments: so many more phantoms. */
static void
put_phantoms(struct store *s, const struct tail *t)
{
	store_put(s, ", phantoms = phantoms + :found, phantom_first = "
	    "LEAST(COALESCE(phantom_first, :first), :first), phantom_last = "
	    "GREATEST(COALESCE(phantom_last, 0), :newest), "
	    "phantom_at = {now}", SQL_NUMBER("found", t->phantoms),
	    SQL_NUMBER("first", t->phantom_first),
	    SQL_NUMBER("newest", t->phantom_last));
}

int
store_tail_save(struct store *s, const char *stream,
    const struct db_server *server, const struct tail *t, struct err *e)
{
	store_sql(s, "UPDATE {streams} SET tail_sequence = :last:server"
	    ":phantoms WHERE name = :stream AND checker = {me}",
	    SQL_NUMBER("last", t->last),
	    SQL_PUT_IF("server", server != NULL, s,
	    put_use(s, server, t->last)),
	    SQL_PUT_IF("phantoms", t->phantoms > 0, s, put_phantoms(s, t)),
	    SQL_TEXT("stream", stream));
	return store_exec(s, "stream", NULL, e);
}

static int
save_rival(struct store *s, const char *stream, const char *rival, int64_t at,
    const struct tail *t, bool pause, struct err *e)
{
	store_sql(s, "UPDATE {streams} SET "
	    "rival_at = IF(rival = :rival, rival_at, "
	    "COALESCE(FROM_UNIXTIME(NULLIF(:at, 0)), {now})), "
	    "rival = :rival:phantoms WHERE name = :stream",
	    SQL_TEXT("rival", rival), SQL_NUMBER("at", at / 1000),
	    SQL_PUT("phantoms", s, put_phantoms(s, t)),
	    SQL_TEXT("stream", stream));
	if (store_exec(s, "split brain", NULL, e) < 0)
		return -1;
	if (!pause)
		return 0;
	store_sql(s, "UPDATE {partitions} SET lease_owner = '" STORE_PAUSED
	    "', lease_until = '" STORE_FOR_EVER "', " STORE_NEW_EPOCH
	    " WHERE lease_owner IS NULL OR lease_owner <> '" STORE_PAUSED "'");
	return store_exec(s, "split brain", NULL, e);
}

int
store_rival_save(struct store *s, const char *stream, const char *rival,
    int64_t at, const struct tail *t, bool pause, bool *new_rival,
    struct err *e)
{
	bool	known;

	store_sql(s, "SELECT 1 FROM {streams} WHERE name = :stream "
	    "AND rival = :rival", SQL_TEXT("stream", stream),
	    SQL_TEXT("rival", rival));
	if (store_query_any(s, "split brain", &known, e) < 0 ||
	    store_begin(s, e) < 0)
		return -1;
	*new_rival = !known;
	return store_end(s, save_rival(s, stream, rival, at, t, pause, e), e);
}

/*
 * What the database knows of one sequence
 */

struct known {
	uint64_t	sequence;
	bool		row, waits;
	bool		hashed;		/* the row has the hash of its message */
	uint64_t	hash;
	unsigned	replay;
	bool		event;
	uint64_t	event_hash;	/* as in its message id */
	bool		dead;
};

struct knowledge {
	struct known	*items;		/* sorted, each sequence once */
	size_t		 n;
	bool		 has_events;	/* the table is not empty */
	uint64_t	 oldest;	/* event's sequence */
};

static int
known_cmp(const void *a, const void *b)
{
	const struct known	*x = a, *y = b;

	return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

static struct known *
find_known(const struct knowledge *k, uint64_t sequence)
{
	struct known	key = { .sequence = sequence };

	return bsearch(&key, k->items, k->n, sizeof(key), known_cmp);
}

/* The rows of these sequences. */
static int
read_known_rows(struct store *s, struct knowledge *k, struct err *e)
{
	struct db_rows	*rows;
	struct known	*x;

	store_sql(s, "SELECT {global_sequence}, {published_at} IS NULL, "
	    "{message_hash}, {replay_no} FROM {outbox} {primary} "
	    "WHERE {global_sequence} IN (:rows)",
	    SQL_LIST_OF("rows", k->items, k->n, sequence));
	if ((rows = store_query(s, "compare rows", e)) == NULL)
		return -1;
	while (db_next(rows)) {
		if ((x = find_known(k, db_u64(rows, 0))) == NULL)
			continue;	/* a server's fault: not asked for */
		x->row = true;
		x->waits = db_u64(rows, 1) != 0;
		x->hashed = db_nullable(rows, 2) != NULL;
		x->hash = db_u64(rows, 2);
		x->replay = (unsigned)db_u64(rows, 3);
	}
	db_rows_free(rows);
	return 0;
}

/* Was the row delivered as this message?  Then its event is not read. */
static bool
is_told_by_row(const struct known *x, const struct acked *a)
{
	return x->row && !x->waits && x->hashed && a->id.hashed &&
	    x->hash == a->id.hash;
}

/* Read events, which together have READ_BYTES or a single payload. */
static int
read_events(struct store *s, struct knowledge *k, const uint64_t *list,
    size_t n, struct err *e)
{
	struct db_rows	*rows;
	struct known	*x;

	store_sql(s, "SELECT {sequence}, {stream_id}, {stream_sequence}, "
	    "{event_type}, {occurred_at}, {event_data} "
	    "FROM {events} {events_primary} WHERE {sequence} IN (:events)",
	    SQL_LIST("events", list, n));
	if ((rows = store_query(s, "compare events", e)) == NULL)
		return -1;
	while (db_next(rows)) {
		struct msg m = { .key = store_column(rows, 1),
		    .stream_sequence = store_column(rows, 2),
		    .type = store_column(rows, 3),
		    .time = store_column(rows, 4),
		    .payload = store_column(rows, 5),
		    .left_out = s->left_out };

		if ((x = find_known(k, db_u64(rows, 0))) == NULL)
			continue;
		x->event = true;
		x->event_hash = message_hash(&m);
	}
	db_rows_free(rows);
	return 0;
}

int
store_event_hash(struct store *s, uint64_t sequence, bool *exists,
    uint64_t *hash, struct err *e)
{
	struct known		x = { .sequence = sequence };
	struct knowledge	k = { .items = &x, .n = 1 };

	if (read_events(s, &k, &sequence, 1, e) < 0)
		return -1;
	*exists = x.event;
	*hash = x.event_hash;
	return 0;
}

/* Lengths first, so that large payloads are not read all at once. */
static int
read_all_events(struct store *s, struct knowledge *k, const uint64_t *list,
    size_t n, struct err *e)
{
	uint64_t	*some = xcalloc(n + 1, sizeof(*some)), bytes = 0;
	struct db_rows	*rows;
	size_t		 nsome = 0;
	int		 rc = 0;

	store_sql(s, "SELECT {sequence}, OCTET_LENGTH({event_data}) "
	    "FROM {events} {events_primary} WHERE {sequence} IN (:events)",
	    SQL_LIST("events", list, n));
	if ((rows = store_query(s, "compare events", e)) == NULL)
		rc = -1;
	while (rc == 0 && db_next(rows)) {
		if (nsome > 0 && bytes + db_u64(rows, 1) > READ_BYTES) {
			rc = read_events(s, k, some, nsome, e);
			nsome = bytes = 0;
		}
		some[nsome++] = db_u64(rows, 0);
		bytes += db_u64(rows, 1);
	}
	if (rc == 0 && nsome > 0)
		rc = read_events(s, k, some, nsome, e);
	db_rows_free(rows);
	free(some);
	return rc;
}

/* For sequences without an event: are they dead, or archived? */
static int
read_dead(struct store *s, struct knowledge *k, const uint64_t *list,
    size_t n, struct err *e)
{
	struct db_rows	*rows;
	struct known	*x;

	store_sql(s, "SELECT MIN({sequence}), NULL FROM {events} "
	    "UNION ALL SELECT NULL, global_sequence "
	    "FROM {dead} WHERE global_sequence IN (:events)",
	    SQL_LIST("events", list, n));
	if ((rows = store_query(s, "compare dead", e)) == NULL)
		return -1;
	while (db_next(rows))
		if (db_nullable(rows, 1) != NULL) {
			if ((x = find_known(k, db_u64(rows, 1))) != NULL)
				x->dead = true;
		} else if (db_nullable(rows, 0) != NULL) {
			k->has_events = true;
			k->oldest = db_u64(rows, 0);
		}
	db_rows_free(rows);
	return 0;
}

static enum match
judge_match(const struct store *s, const struct knowledge *k,
    const struct acked *a)
{
	const struct known	*x = find_known(k, a->id.sequence);
	bool			 other = x->hashed && x->hash != a->id.hash;

	if (is_told_by_row(x, a))
		return MATCH_FINE;
	if (!x->event && x->row)
		return other && a->id.hashed ? MATCH_PHANTOM : MATCH_FINE;
	/* An events table that is emptied or archived is no evidence. */
	if (!x->event)
		return x->dead || !k->has_events || x->sequence < k->oldest ?
		    MATCH_FINE : MATCH_PHANTOM;
	if (!a->id.hashed)
		return MATCH_FINE;
	/*
	 * An earlier version may have sent it, with a hash that left out
	 * nothing: then only a row that was delivered as another message is
	 * evidence.
	 */
	if (x->event_hash != a->id.hash)
		return s->left_out == 0 || (x->row && !x->waits && other) ?
		    MATCH_PHANTOM : MATCH_FINE;
	return x->row && x->waits && x->replay == a->id.replay ? MATCH_WAITS :
	    MATCH_FINE;
}

int
store_match(struct store *s, const struct acked *a, size_t n,
    enum match *out, struct err *e)
{
	uint64_t		*list = xcalloc(n + 1, sizeof(*list));
	struct knowledge	 k = { .n = 0 };
	size_t			 nlist = 0;
	int			 rc = 0;

	k.items = xcalloc(n + 1, sizeof(*k.items));
	for (size_t i = 0; i < n; i++)
		k.items[i].sequence = a[i].id.sequence;
	qsort(k.items, n, sizeof(*k.items), known_cmp);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || k.items[i].sequence != k.items[k.n - 1].sequence)
			k.items[k.n++] = k.items[i];
	if (n > 0)
		rc = read_known_rows(s, &k, e);
	for (size_t i = 0; rc == 0 && i < n; i++)
		if (!is_told_by_row(find_known(&k, a[i].id.sequence), &a[i]))
			list[nlist++] = a[i].id.sequence;
	if (nlist > 0 && (read_all_events(s, &k, list, nlist, e) < 0 ||
	    read_dead(s, &k, list, nlist, e) < 0))
		rc = -1;
	for (size_t i = 0; rc == 0 && i < n; i++)
		out[i] = judge_match(s, &k, &a[i]);
	free(k.items);
	free(list);
	return rc;
}

int
store_found(struct store *s, const struct acked *a, size_t n,
    uint64_t *n_found, struct err *e)
{
	bool		hashes = store_has_word(s, "message_hash");
	struct isolate	i = isolate_rows(n, 0);

	for (*n_found = 0; isolate_next(&i); *n_found += i.changed) {
		const struct acked	*some = a + i.from;

		store_sql(s, "UPDATE {outbox} {primary} "
		    "SET {published_at} = {now}, {ack_sequence} = :acks:hashes "
		    "WHERE {published_at} IS NULL AND {claim_token} IS NULL "
		    "AND {global_sequence} IN (:rows)",
		    SQL_PUT("acks", s, store_put_by_row(s, some, i.n, false)),
		    SQL_IF("hashes", hashes, ", {message_hash} = :values"),
		    SQL_PUT_IF("values", hashes, s, store_put_by_row(s, some,
		    i.n, true)),
		    SQL_LIST_OF("rows", some, i.n, id.sequence));
		if (store_isolate(s, &i, store_exec(s, "rows found",
		    &i.changed, e)))
			store_say_refused(s, some->id.sequence,
			    "marked as delivered", e);
	}
	return i.rc;
}
