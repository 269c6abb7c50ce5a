/*
 * store_topics.c - what Kafka has acknowledged, and whether it is still there
 *
 * All topics have one row among the streams, and one janitor of the fleet has
 * the role of its scrubber.
 */

#include "store/store_impl.h"

#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>

#include "util/xalloc.h"

#define MINE	" WHERE name = '" CONF_TOPICS "' AND scrubber = :me"

/* Workers with the former configuration send for so long at most. */
#define FORMER_S	(5 * 60)

/* A loss is noticed so much later than it happens, at most. */
#define NOTICED_S	10

/* Metadata comes with the payload, if both are no longer than that. */
#define BODY_MAX	65536

bool
store_can_audit_topics(const struct store *s)
{
	return store_can_scrub(s) && store_has_word(s, "message_hash");
}

/* The row is there, and is of this configuration. */
static int
prepare_row(struct store *s, const char *conf, struct err *e)
{
	struct db_rows	*rows;
	bool		 there, same;

	store_sql(s, "SELECT created FROM {streams} "
	    "WHERE name = '" CONF_TOPICS "'");
	if ((rows = store_query(s, "topics", e)) == NULL)
		return -1;
	there = db_next(rows);
	same = there && strcmp(db_text(rows, 0), conf) == 0;
	db_rows_free(rows);
	if (same)
		return 0;
	if (there)
		store_sql(s, "UPDATE {streams} SET created = :conf, "
		    "known_since = {now} + INTERVAL :former SECOND "
		    "WHERE name = '" CONF_TOPICS "'",
		    SQL_TEXT("conf", conf), SQL_NUMBER("former", FORMER_S));
	else
		store_sql(s, "INSERT IGNORE INTO {streams} (name, created) "
		    "VALUES ('" CONF_TOPICS "', :conf)",
		    SQL_TEXT("conf", conf));
	return store_exec(s, "topics", NULL, e);
}

int
store_topics_take(struct store *s, const char *me, int64_t ttl_ms,
    const char *conf, struct topics_row *r, struct err *e)
{
	struct db_rows	*rows;

	if (prepare_row(s, conf, e) < 0 ||
	    store_scrub_take(s, CONF_TOPICS, me, ttl_ms, &r->taken, e) < 0)
		return -1;
	if (!r->taken)
		return 0;
	store_sql(s, "SELECT known_since, GREATEST(known_since, COALESCE("
	    "checked_at - INTERVAL :noticed SECOND, known_since)), NOW(6), "
	    "suspicion <=> '" STORE_REFILL "' FROM {streams}" MINE,
	    SQL_NUMBER("noticed", NOTICED_S), SQL_TEXT("me", me));
	if ((rows = store_query(s, "topics", e)) == NULL)
		return -1;
	r->taken = db_next(rows);
	if (r->taken) {
		strlcpy(r->known_since, db_text(rows, 0),
		    sizeof(r->known_since));
		strlcpy(r->since, db_text(rows, 1), sizeof(r->since));
		strlcpy(r->now, db_text(rows, 2), sizeof(r->now));
		r->refill = db_u64(rows, 3) != 0;
	}
	db_rows_free(rows);
	return 0;
}

int
store_topics_checked(struct store *s, const char *me,
    const struct topics_row *r, bool anew, const struct store_loss *loss,
    struct err *e)
{
	store_sql(s, "UPDATE {streams} SET checked_at = :at:refilled:since:loss"
	    MINE, SQL_TEXT("at", r->now),
	    SQL_IF("refilled", r->refill, ", suspicion = NULL"),
	    SQL_IF("since", anew, ", known_since = :at"),
	    SQL_PUT("loss", s, store_put_loss(s, loss)), SQL_TEXT("me", me));
	return store_exec(s, "topics", NULL, e);
}

void
store_placed_free(struct placed *d)
{
	batch_free(&d->rows);
	free(d->places);
	free(d->times);
	*d = (struct placed){ .places = NULL };
}

int
store_placed(struct store *s, const char *since, char upto[STORE_TIME],
    size_t max, bool headers, struct placed *d, struct err *e)
{
	struct db_rows	*rows;
	size_t		 body = headers ? BODY_MAX : 0;
	char		 from[STORE_TIME];

	*d = (struct placed){ .places = NULL };
	store_sql(s, "SELECT {published_at} FROM {outbox}:index "
	    "WHERE {published_at} > :since AND {published_at} < :upto "
	    "ORDER BY {published_at} DESC LIMIT :max, 1",
	    SQL_IF("index", s->index_by_time, " {index}"),
	    SQL_TEXT("since", since), SQL_TEXT("upto", upto),
	    SQL_NUMBER("max", max - 1));
	if (store_query_text(s, "delivered", from, STORE_TIME, e) < 0)
		return -1;
	/* Rows of one moment stay together. */
	store_sql(s, "SELECT :message, {o.ack_sequence}, {o.message_hash}, "
	    "{o.published_at} FROM "
	    STORE_ROWS_AND_EVENTS(":index") " WHERE {o.published_at} :above "
	    ":from AND {o.published_at} < :upto AND {e.sequence} IS NOT NULL "
	    "AND {o.ack_sequence} >= :places AND {o.message_hash} IS NOT NULL "
	    "ORDER BY {o.published_at} DESC",
	    SQL_PUT("message", s, store_put_msg(s, body)),
	    SQL_IF("index", s->index_by_time, "{index}"),
	    SQL_EITHER("above", from[0] == '\0', ">", ">="),
	    SQL_TEXT("from", from[0] == '\0' ? since : from),
	    SQL_TEXT("upto", upto), SQL_NUMBER("places", MSG_PLACES));
	if ((rows = store_query(s, "delivered", e)) == NULL)
		return -1;
	d->rows.msgs = xcalloc(db_nrows(rows) + 1, sizeof(*d->rows.msgs));
	d->places = xcalloc(db_nrows(rows) + 1, sizeof(*d->places));
	d->times = xcalloc(db_nrows(rows) + 1, sizeof(*d->times));
	while (db_next(rows)) {
		struct msg *m = &d->rows.msgs[d->rows.n];

		store_read_msg(s, m, rows, body);
		d->places[d->rows.n] = db_u64(rows, STORE_MSG_COLUMNS);
		d->times[d->rows.n++] = db_text(rows, STORE_MSG_COLUMNS + 2);
		m->hash = db_u64(rows, STORE_MSG_COLUMNS + 1);
		m->hashed = true;
	}
	store_keep_rows(&d->rows, rows);
	strlcpy(upto, from, STORE_TIME);
	return 0;
}
