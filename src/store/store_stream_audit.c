/*
 * store_stream_audit.c - delivered rows, and whether the stream still has them
 *
 * One worker of the fleet checks a stream and the others wait.  It holds the
 * stream's row like a lease, by name and time.  A transaction would not do,
 * because its leases have to be renewed on the same connection.
 */

#include "store/store_impl.h"

#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>

#include "util/log.h"
#include "util/xalloc.h"

/*
 * A row delivered so many seconds before the last good check is on the broker's
 * disk: twice the longest interval at which it syncs.
 */
#define DOUBT_S		(5 * 60)

/* Delivered rows among which a message of before a doubt is looked for. */
#define BEFORE	100

/* Rows to read where none of the nearest ones went to the stream. */
#define FAR	5000

/* Seconds to keep a row that no check will ever ask for. */
#define UNCHECKED_S	(24 * 60 * 60)

/* The row of a stream whose checker we are. */
#define CHECKER	" WHERE name = :stream AND checker = {me}"

/* Each server of a cluster is listed once. */
#define SERVERS	"servers = IF(FIND_IN_SET(:server, servers), servers, " \
	"TRIM(TRAILING ',' FROM CONCAT(:server, ',', " \
	"SUBSTRING_INDEX(servers, ',', 7))))"

/* The time of the first alarm stays. */
#define ALARM	"alarm_at = COALESCE(alarm_at, {now}), alarm = :alarm"

bool
store_can_audit_stream(const struct store *s)
{
	return !store_is_pillar(s) && store_has_word(s, "ack_sequence");
}

static struct db_rows *
query_stream(struct store *s, const struct stream_identity *id, struct err *e)
{
	/* Rows delivered to another stream since are not in this one. */
	store_sql(s, "SELECT s.created, FIND_IN_SET(:server, s.servers) > 0, "
	    "s.prefix <> '' AND s.prefix <> :prefix OR EXISTS (SELECT 1 "
	    "FROM {streams} AS o WHERE o.name <> s.name "
	    "AND o.name <> '" CONF_TOPICS "' "
	    "AND o.checked_at > COALESCE(s.checked_at, s.known_since)), "
	    "GREATEST(s.known_since, COALESCE(s.checked_at - "
	    "INTERVAL :doubt SECOND, s.known_since)), s.known_since, "
	    "s.tail_sequence, s.tail_at, s.first_sequence, :contents, "
	    "s.phantom_first, s.phantom_last "
	    "FROM {streams} AS s WHERE s.name = :stream",
	    SQL_TEXT("server", id->server), SQL_TEXT("prefix", id->prefix),
	    SQL_NUMBER("doubt", DOUBT_S),
	    SQL_EITHER("contents", store_is_full(s),
	    "s.gaps, s.damage, s.leader, s.missing, '" STORE_LOST "' IN "
	    "(COALESCE(s.suspicion, ''), COALESCE(s.scrub_for, '')), "
	    "s.server_since",
	    "NULL, NULL, NULL, 0, FALSE, NULL"),
	    SQL_TEXT("stream", id->name));
	return store_query(s, "stream", e);
}

int
store_stream(struct store *s, const struct stream_identity *id,
    struct stream_row *r, struct err *e)
{
	struct db_rows	*rows = query_stream(s, id, e);

	if (rows != NULL && db_nrows(rows) == 0) {
		db_rows_free(rows);
		store_sql(s, "INSERT IGNORE INTO {streams} (name) "
		    "VALUES (:stream)", SQL_TEXT("stream", id->name));
		if (store_exec(s, "stream", NULL, e) < 0)
			return -1;
		rows = query_stream(s, id, e);
	}
	if (rows == NULL)
		return -1;
	if (!db_next(rows)) {
		db_rows_free(rows);
		return err_set(e, "stream: cannot insert %s into %s: run "
		    "outboxctl schema check", id->name, s->tables[T_STREAMS]);
	}
	strlcpy(r->created, db_text(rows, 0), sizeof(r->created));
	r->checked = db_u64(rows, 1) != 0;
	r->fresh = db_u64(rows, 2) != 0;
	strlcpy(r->since, db_text(rows, 3), sizeof(r->since));
	strlcpy(r->known_since, db_text(rows, 4), sizeof(r->known_since));
	r->has_tail = db_nullable(rows, 5) != NULL &&
	    db_nullable(rows, 6) != NULL;
	r->tail = db_u64(rows, 5);
	strlcpy(r->tail_at, r->has_tail ? db_text(rows, 6) : "",
	    sizeof(r->tail_at));
	r->first = db_u64(rows, 7);
	r->has_gaps = db_nullable(rows, 8) != NULL;
	r->gaps = db_u64(rows, 8);
	r->damage = db_u64(rows, 9);
	strlcpy(r->leader, db_text(rows, 10), sizeof(r->leader));
	r->missing = db_u64(rows, 11);
	r->suspected = db_u64(rows, 12) != 0;
	r->has_since = db_nullable(rows, 13) != NULL;
	r->server_since = db_u64(rows, 13);
	r->phantom_first = db_u64(rows, 14);
	r->phantom_last = db_u64(rows, 15);
	db_rows_free(rows);
	return 0;
}

int
store_check_begin(struct store *s, const char *name, bool *taken,
    struct err *e)
{
	uint64_t	matched;

	/* A checker without a row of its own is dead: no need to wait. */
	store_sql(s, "UPDATE {streams} SET checker = {me}, "
	    "checker_since = {now}, "
	    "checker_until = {now} + INTERVAL :ttl MICROSECOND "
	    "WHERE name = :stream AND (checker IS NULL OR checker = {me} OR "
	    "checker_until <= NOW(6) OR checker NOT IN "
	    "(SELECT id FROM {workers}))",
	    SQL_MS("ttl", s->conf->worker.lease_ttl), SQL_TEXT("stream", name));
	if (store_exec(s, "stream", &matched, e) < 0)
		return -1;
	*taken = matched > 0;
	return 0;
}

int
store_check_renew(struct store *s, const char *name, struct err *e)
{
	store_sql(s, "UPDATE {streams} "
	    "SET checker_until = {now} + INTERVAL :ttl MICROSECOND" CHECKER,
	    SQL_MS("ttl", s->conf->worker.lease_ttl), SQL_TEXT("stream", name));
	return store_exec(s, "stream", NULL, e);
}

int
store_check_drop(struct store *s, const char *name, struct err *e)
{
	store_sql(s, "UPDATE {streams} SET checker = NULL, "
	    "checker_until = NULL" CHECKER, SQL_TEXT("stream", name));
	return store_exec(s, "stream", NULL, e);
}

/*
 * What the broker says of the stream now.  A suspicion is of what it said
 * before, and the worse one stays.  In another stream the sequences begin anew.
 */
static void
put_contents(struct store *s, const struct stream_identity *id, bool other)
{
	if (!store_is_full(s))
		return;
	/* Values are assigned from left to right: gaps_since before gaps. */
	store_put(s, ":suspected, "
	    "gaps_since = IF(gaps <=> :gaps, gaps_since, {now}), "
	    "gaps = :gaps, damage = :damage, leader = :leader:other",
	    SQL_IF("suspected", id->suspicion != NULL,
	    ", suspected_at = IF(suspicion IS NULL, {now}, suspected_at), "
	    "suspicion = IF(suspicion = '" STORE_LOST "' OR (suspicion = '"
	    STORE_CHANGE "' AND :suspicion = '" STORE_LOOK "'), suspicion, "
	    ":suspicion)"),
	    SQL_TEXT("suspicion", id->suspicion),
	    SQL_NUMBER("gaps", id->gaps), SQL_NUMBER("damage", id->damage),
	    SQL_TEXT("leader", id->leader),
	    SQL_IF("other", other,
	    ", missing = 0, missing_at = NULL, holes = NULL, accepted = NULL, "
	    "suspicion = NULL, scrub_began = NULL"));
}

void
store_put_loss(struct store *s, const struct store_loss *loss)
{
	store_put(s, ":alarmed:lost",
	    SQL_IF("alarmed", loss->alarm != NULL, ", " ALARM),
	    SQL_TEXT("alarm", loss->alarm),
	    /* The time of the first loss stays: it is set before the number. */
	    SQL_IF("lost", loss->messages > 0,
	    ", lost_at = IF(lost > 0, lost_at, {now}), "
	    "lost_first = LEAST(COALESCE(lost_first, :first), :first), "
	    "lost_last = GREATEST(COALESCE(lost_last, 0), :last), "
	    "lost = lost + :messages"),
	    SQL_NUMBER("first", loss->first), SQL_NUMBER("last", loss->last),
	    SQL_NUMBER("messages", loss->messages));
}

int
store_check_end(struct store *s, const struct stream_identity *id, bool anew,
    const struct store_loss *loss, struct err *e)
{
	store_sql(s, "UPDATE {streams} SET " SERVERS ", created = :created, "
	    "prefix = :prefix:since:loss:contents"
	    ", checked_at = checker_since, checker = NULL, "
	    "checker_until = NULL" CHECKER,
	    SQL_TEXT("server", id->server), SQL_TEXT("created", id->created),
	    SQL_TEXT("prefix", id->prefix),
	    SQL_IF("since", anew, ", known_since = checker_since"),
	    SQL_PUT("loss", s, store_put_loss(s, loss)),
	    SQL_PUT("contents", s, put_contents(s, id,
	    anew && loss->messages == 0)),
	    SQL_TEXT("stream", id->name));
	return store_exec(s, "stream", NULL, e);
}

int
store_stream_alarm(struct store *s, const char *name, const char *alarm,
    struct err *e)
{
	store_sql(s, "UPDATE {streams} SET " ALARM " WHERE name = :stream",
	    SQL_TEXT("alarm", alarm), SQL_TEXT("stream", name));
	return store_exec(s, "stream", NULL, e);
}

int
store_check_short(struct store *s, const struct stream_identity *id,
    uint64_t first, uint64_t last, struct err *e)
{
	store_sql(s, "UPDATE {streams} SET " SERVERS ", checked_at = {now}, "
	    "first_sequence = :first:tail:contents WHERE name = :stream",
	    SQL_TEXT("server", id->server),
	    SQL_NUMBER("first", first),
	    SQL_IF("tail", last != 0,
	    ", tail_sequence = :last, tail_at = {now}"),
	    SQL_NUMBER("last", last),
	    SQL_PUT("contents", s, put_contents(s, id, false)),
	    SQL_TEXT("stream", id->name));
	return store_exec(s, "stream", NULL, e);
}

/* The same as query_stream() gives a check to begin with. */
int
store_needed_since(struct store *s, char since[STORE_TIME], struct err *e)
{
	const char	*stream = s->conf->nats.stream;

	store_sql(s, "SELECT COALESCE(:known"
	    "NOW(6) - INTERVAL :unchecked SECOND)",
	    SQL_IF("known", s->conf->nats.recover != RECOVER_OFF &&
	    stream[0] != '\0' && store_can_audit_stream(s),
	    "(SELECT GREATEST(known_since, COALESCE("
	    "checked_at - INTERVAL :doubt SECOND, known_since)) "
	    "FROM {streams} WHERE name = :stream), "),
	    SQL_NUMBER("doubt", DOUBT_S), SQL_TEXT("stream", stream),
	    SQL_NUMBER("unchecked", UNCHECKED_S));
	return store_query_text(s, "stream", since, STORE_TIME, e);
}

int
store_now(struct store *s, char now[STORE_TIME], struct err *e)
{
	store_sql(s, "SELECT NOW(6)");
	return store_query_text(s, "now", now, STORE_TIME, e);
}

/* Delivered rows by time; without an index the server chooses how. */
void
store_put_delivered(struct store *s, const char *from, const char *until)
{
	store_put(s, " FROM {outbox}:index "
	    "WHERE {published_at} > :from:upto",
	    SQL_IF("index", s->index_by_time, " {index}"),
	    SQL_TEXT("from", from),
	    SQL_IF("upto", until != NULL, " AND {published_at} <= :until"),
	    SQL_TEXT("until", until));
}

int
store_delivered_end(struct store *s, const struct store_period *p, size_t max,
    char end[STORE_TIME], struct err *e)
{
	store_sql(s, "SELECT {published_at}:delivered "
	    "ORDER BY {published_at} LIMIT :max, 1", SQL_PUT("delivered", s,
	    store_put_delivered(s, p->from, p->until)),
	    SQL_NUMBER("max", max - 1));
	if (store_query_text(s, "delivered", end, STORE_TIME, e) < 0)
		return -1;
	if (end[0] == '\0')
		strlcpy(end, p->until, STORE_TIME);
	return 0;
}

/* Sequences of the stream; others are places in Kafka. */
#define IN_STREAM	"{ack_sequence} BETWEEN 1 AND (1 << 48) - 1"

/*
 * The columns for read_acked().  An archived event comes without its hash,
 * because it could not be sent again.
 */
static void
put_acked(struct store *s)
{
	store_put(s, "{global_sequence}, IF(" IN_STREAM ", {ack_sequence}, "
	    "NULL) {as ack_sequence}, {replay_no}, "
	    "IF(EXISTS (SELECT 1 FROM {events} AS e "
	    "WHERE {e.sequence} = {outbox.global_sequence}), {message_hash}, "
	    "NULL) {as message_hash}");
}

static int
read_acked(struct store *s, struct acked_list *l, struct err *e)
{
	struct db_rows	*rows;

	if ((rows = store_query(s, "delivered", e)) == NULL)
		return -1;
	l->rows = xcalloc(db_nrows(rows) + 1, sizeof(*l->rows));
	for (l->n = 0; db_next(rows); l->n++)
		l->rows[l->n] = (struct acked){ .ack = db_u64(rows, 1),
		    .id = { .sequence = db_u64(rows, 0),
		    .replay = (unsigned)db_u64(rows, 2),
		    .hashed = db_nullable(rows, 3) != NULL,
		    .hash = db_u64(rows, 3) } };
	db_rows_free(rows);
	return 0;
}

int
store_acked(struct store *s, struct store_period *p, uint64_t unknown_below,
    size_t max, struct acked_list *l, struct err *e)
{
	char	end[STORE_TIME];

	if (store_delivered_end(s, p, max, end, e) < 0)
		return -1;
	store_sql(s, "SELECT :acked:delivered AND (" IN_STREAM ":unknown) "
	    "ORDER BY {global_sequence}", SQL_PUT("acked", s, put_acked(s)),
	    SQL_PUT("delivered", s, store_put_delivered(s, p->from, end)),
	    SQL_IF("unknown", unknown_below > 0,
	    " OR {global_sequence} < :below"),
	    SQL_NUMBER("below", unknown_below));
	if (read_acked(s, l, e) < 0)
		return -1;
	strlcpy(p->from, end, STORE_TIME);
	return 0;
}

int
store_is_acked(struct store *s, const struct acked *a, bool *is,
    struct err *e)
{
	store_sql(s, "SELECT 1 FROM {outbox} WHERE {published_at} IS NOT NULL "
	    "AND {global_sequence} = :row AND {ack_sequence} = :ack",
	    SQL_NUMBER("row", a->id.sequence), SQL_NUMBER("ack", a->ack));
	return store_query_any(s, "delivered", is, e);
}

/*
 * Reads n of the delivered rows that store_put_delivered() names, and keeps max
 * rows with a stream sequence.  *all: there were no more than n.
 */
static int
read_some_acked(struct store *s, const struct store_period *p, bool latest,
    size_t n, size_t max, struct acked_list *l, bool *all, struct err *e)
{
	size_t	known = 0;

	store_sql(s, "SELECT {global_sequence}, {ack_sequence}, {replay_no}, "
	    "{message_hash} FROM (SELECT {published_at}, :acked:delivered "
	    "ORDER BY {published_at} :direction LIMIT :n) AS t "
	    "ORDER BY {published_at}, {ack_sequence} DESC",
	    SQL_PUT("acked", s, put_acked(s)), SQL_PUT("delivered", s,
	    store_put_delivered(s, p->from, p->until)),
	    SQL_EITHER("direction", latest, "DESC", "ASC"),
	    SQL_NUMBER("n", n));
	if (read_acked(s, l, e) < 0)
		return -1;
	*all = l->n < n;
	for (size_t i = 0; i < l->n; i++)
		if (l->rows[i].ack != 0)
			l->rows[known++] = l->rows[i];
	l->n = known < max ? known : max;
	if (latest)
		memmove(l->rows, l->rows + known - l->n,
		    l->n * sizeof(*l->rows));
	return 0;
}

/* All of them may have gone to another destination: look farther then. */
static int
find_some_acked(struct store *s, const struct store_period *p, bool latest,
    size_t max, struct acked_list *l, struct err *e)
{
	bool	all;

	if (read_some_acked(s, p, latest, max, max, l, &all, e) < 0)
		return -1;
	if (l->n > 0 || all)
		return 0;
	free(l->rows);
	return read_some_acked(s, p, latest, FAR, max, l, &all, e);
}

int
store_some_acked(struct store *s, const char *since, bool latest, size_t max,
    struct acked_list *l, struct err *e)
{
	struct store_period	p = { .until = NULL };

	strlcpy(p.from, since, sizeof(p.from));
	return find_some_acked(s, &p, latest, max, l, e);
}

void
store_put_by_row(struct store *s, const struct acked *rows, size_t n,
    bool hashes)
{
	store_put(s, "ELT(INTERVAL({global_sequence}:rows)",
	    SQL_LIST_OF("rows", rows, n, id.sequence));
	for (size_t i = 0; i < n; i++)
		if (hashes)
			store_put_item(s, rows[i].id.hash);
		else if (rows[i].ack != 0)
			store_put_item(s, rows[i].ack);
		else
			store_put(s, ",NULL");
	store_put(s, ")");
}

int
store_moved(struct store *s, const struct acked_list *l, const uint64_t *acks,
    struct err *e)
{
	struct acked	*new = xcalloc(l->n, sizeof(*new));
	int		 rc;

	for (size_t i = 0; i < l->n; i++)
		new[i] = (struct acked){ l->rows[i].id, acks[i] };
	store_sql(s, "UPDATE {outbox} {primary} SET {ack_sequence} = :new "
	    "WHERE {published_at} IS NOT NULL AND {global_sequence} IN (:rows) "
	    "AND {ack_sequence} = CAST(:old AS UNSIGNED)",
	    SQL_PUT("new", s, store_put_by_row(s, new, l->n, false)),
	    SQL_LIST_OF("rows", l->rows, l->n, id.sequence),
	    SQL_PUT("old", s, store_put_by_row(s, l->rows, l->n, false)));
	rc = store_exec(s, "moved", NULL, e);
	free(new);
	return rc;
}

static int
reset_rows(struct store *s, const struct acked *rows, size_t n,
    const char *before, const char *known_ids, uint64_t *reset, struct err *e)
{
	struct counts	c;

	if (store_hold_counts(s, &c, e) < 0)
		return -1;
	/* Values are assigned from left to right: published_at comes late. */
	store_sql(s, "UPDATE {outbox} {primary} SET :new_id"
	    "{published_at} = NULL, {ack_sequence} = NULL, "
	    "{claim_token} = NULL, {available_at} = :at_once"
	    "{clear in_doubt_since}{clear message_hash} "
	    "WHERE {published_at} IS NOT NULL AND {global_sequence} IN (:rows) "
	    "AND {ack_sequence} <=> CAST(:acks AS UNSIGNED):before",
	    SQL_IF("before", before != NULL, " AND {published_at} < :moment"),
	    SQL_TEXT("moment", before),
	    SQL_IF("new_id", known_ids != NULL &&
	    store_has_word(s, "replay_no"),
	    "{replay_no} = {replay_no} + ({published_at} > :known_ids), "),
	    SQL_TEXT("known_ids", known_ids),
	    SQL_PUT("at_once", s, store_put_at_once(s)),
	    SQL_LIST_OF("rows", rows, n, id.sequence),
	    SQL_PUT("acks", s, store_put_by_row(s, rows, n, false)));
	if (store_exec(s, "send again", reset, e) < 0)
		return -1;
	if (c.changed) {
		/* Under a former count?  They wait with others of their key. */
		store_sql(s, "UPDATE {outbox} AS o {primary} "
		    "STRAIGHT_JOIN {events} AS e {events_primary} "
		    "ON {e.sequence} = {o.global_sequence} "
		    "SET {o.partition_key} = :label "
		    "WHERE {o.published_at} IS NULL "
		    "AND {o.global_sequence} IN (:rows)",
		    SQL_PUT("label", s, store_put_relabel(s, &c,
		    SQL("{o.partition_key}"), "e", SQL("{e.stream_id}"))),
		    SQL_LIST_OF("rows", rows, n, id.sequence));
		if (store_exec(s, "send again", NULL, e) < 0)
			return -1;
	}
	/* Old rows are due: their owners scan from the first row. */
	store_sql(s, "SELECT DISTINCT COALESCE({partition_key}, '') "
	    "FROM {outbox} {primary} WHERE {global_sequence} IN (:rows)",
	    SQL_LIST_OF("rows", rows, n, id.sequence));
	return store_bump_selected(s, "send again", e);
}

int
store_reset(struct store *s, const struct acked *rows, size_t n,
    const char *before, const char *known_ids, uint64_t *reset, struct err *e)
{
	struct isolate	i = isolate_rows(n, 0);
	int		rc;

	for (*reset = 0; isolate_next(&i); *reset += i.changed) {
		rc = store_begin(s, e);
		if (rc == 0)
			rc = store_end(s, reset_rows(s, rows + i.from, i.n,
			    before, known_ids, &i.changed, e), e);
		if (store_isolate(s, &i, rc))
			log_event(LOG_LVL_ERROR, LOG_FIELDS(LOG_NUMBER(
			    "sequence", rows[i.from].id.sequence),
			    LOG_TEXT("error_class", "row")),
			    "sequence %llu is lost and cannot be sent again: "
			    "the database refuses this row: %s; repair the row "
			    "or the table, then run outboxctl stream republish",
			    (unsigned long long)rows[i.from].id.sequence,
			    e->text);
	}
	return i.rc;
}

bool
store_can_resolve_in_doubt(const struct store *s)
{
	return store_has_word(s, "ack_sequence") &&
	    store_has_word(s, "in_doubt_since");
}

int
store_acked_before(struct store *s, const struct batch *b,
    const uint64_t *sequences, size_t n, struct acked_list *l, struct err *e)
{
	char			from[STORE_TIME];
	struct store_period	p = { STORE_EVER, from };

	/* A second earlier, because times may be cut to whole seconds. */
	store_sql(s, "SELECT COALESCE(MIN({in_doubt_since}) - INTERVAL 1 "
	    "SECOND, '" STORE_EVER "') FROM {outbox} {primary}" STORE_HELD,
	    SQL_LIST("held", sequences, n), SQL_TEXT("token", b->token));
	return store_query_text(s, "in doubt", from, STORE_TIME, e) < 0 ? -1 :
	    find_some_acked(s, &p, true, BEFORE, l, e);
}

int
store_in_doubt_ever(struct store *s, const struct batch *b,
    const uint64_t *sequences, size_t n, struct err *e)
{
	store_sql(s, "UPDATE {outbox} {primary} "
	    "SET {in_doubt_since} = '" STORE_EVER "'" STORE_HELD,
	    SQL_LIST("held", sequences, n), SQL_TEXT("token", b->token));
	return store_exec(s, "in doubt", NULL, e);
}

int
store_not_in_doubt(struct store *s, const struct batch *b,
    const uint64_t *sequences, size_t n, struct err *e)
{
	store_sql(s, "UPDATE {outbox} {primary} "
	    "SET {in_doubt_since} = NULL" STORE_HELD,
	    SQL_LIST("held", sequences, n), SQL_TEXT("token", b->token));
	return store_exec(s, "in doubt", NULL, e);
}
