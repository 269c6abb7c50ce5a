/*
 * store_settle.c - write back the outcomes of a batch
 *
 * One statement per outcome, each only for rows that the batch's token still
 * holds: a row that another worker has claimed since belongs to that worker.
 */

#include "store/store_impl.h"

#include <stdlib.h>

#include "util/clock.h"
#include "util/xalloc.h"

/* The delay of a row that the database refuses for its contents. */
#define ASIDE_MS	5000

/* Bits of settled.done: written, and perhaps written. */
#define SETTLED(outcome)	(1u << (outcome))
#define SETTLED_IN_DOUBT(outcome)	(SETTLED(outcome) << 8)

static bool
is_unwritten(const struct msg *m, enum outcome outcome)
{
	return m->outcome == outcome && !m->written;
}

/* The rows of one outcome. */
static void
put_held(struct store *s, const struct batch *b, enum outcome outcome)
{
	for (size_t i = 0; i < b->n; i++)
		if (is_unwritten(&b->msgs[i], outcome))
			store_put_item(s, b->msgs[i].sequence);
}

static void
put_case(struct store *s, const struct batch *b, enum outcome outcome,
    bool errors)
{
	store_put(s, "CASE {global_sequence}");
	for (size_t i = 0; i < b->n; i++) {
		const struct msg *m = &b->msgs[i];

		if (is_unwritten(m, outcome))
			store_put(s, " WHEN :row THEN :value",
			    SQL_NUMBER("row", m->sequence),
			    SQL_EITHER("value", errors, ":error", ":delay"),
			    SQL_ERROR("error", FIT_ERROR, m->error),
			    SQL_MS("delay", m->delay_ms));
	}
	store_put(s, " END");
}

/*
 * Messages are in sequence order: INTERVAL of sorted constants is a binary
 * search, while CASE compares with one after the other.
 */
static void
put_values(struct store *s, const struct batch *b, bool hashes)
{
	store_put(s, "ELT(INTERVAL({global_sequence}");
	put_held(s, b, OUT_DELIVERED);
	store_put(s, ")");
	for (size_t i = 0; i < b->n; i++) {
		const struct msg *m = &b->msgs[i];

		if (!is_unwritten(m, OUT_DELIVERED))
			continue;
		if (!hashes && m->ack_sequence != 0)
			store_put_item(s, m->ack_sequence);
		else if (hashes && m->hashed)
			store_put_item(s, m->hash);
		else
			store_put(s, ",NULL");
	}
	store_put(s, ")");
}

static int
write_delivered(struct store *s, const struct batch *b, enum outcome outcome,
    uint64_t *matched, struct err *e)
{
	/* A sequence without the name of its stream is of no use. */
	bool	acks = store_has_word(s, "ack_sequence") &&
		    (conf_stream(s->conf)[0] != '\0' ||
		    conf_uses_kafka(s->conf));
	bool	hashes = acks && store_has_word(s, "message_hash");

	store_sql(s, "UPDATE {outbox} {primary} "
	    "SET {published_at} = {now}, {claim_token} = NULL:acks:hashes"
	    STORE_HELD,
	    SQL_IF("acks", acks, ", {ack_sequence} = :ack_values"),
	    SQL_PUT_IF("ack_values", acks, s, put_values(s, b, false)),
	    SQL_IF("hashes", hashes, ", {message_hash} = :hash_values"),
	    SQL_PUT_IF("hash_values", hashes, s, put_values(s, b, true)),
	    SQL_PUT("held", s, put_held(s, b, outcome)),
	    SQL_TEXT("token", b->token));
	return store_exec(s, "settle", matched, e);
}

static int
write_unsent(struct store *s, const struct batch *b, enum outcome outcome,
    uint64_t *matched, struct err *e)
{
	store_sql(s, "UPDATE {outbox} {primary} "
	    "SET {available_at} = :at_once, {claim_token} = NULL" STORE_HELD,
	    SQL_PUT("at_once", s, store_put_at_once(s)),
	    SQL_PUT("held", s, put_held(s, b, outcome)),
	    SQL_TEXT("token", b->token));
	return store_exec(s, "give back", matched, e);
}

static int
write_delayed(struct store *s, const struct batch *b, enum outcome outcome,
    uint64_t *matched, struct err *e)
{
	store_sql(s, "UPDATE {outbox} {primary} "
	    "SET {available_at} = {now} + INTERVAL :delays MICROSECOND, "
	    "{last_error} = :errors:tried, {claim_token} = NULL" STORE_HELD,
	    SQL_PUT("delays", s, put_case(s, b, outcome, false)),
	    SQL_PUT("errors", s, put_case(s, b, outcome, true)),
	    SQL_IF("tried", outcome == OUT_RETRY,
	    ", {attempts} = {attempts} + 1"),
	    SQL_PUT("held", s, put_held(s, b, outcome)),
	    SQL_TEXT("token", b->token));
	return store_exec(s, "retry", matched, e);
}

/* The next row of the batch; NULL: none.  Others were not asked for. */
static const struct msg *
next_held(const struct batch *b, struct db_rows *held)
{
	const struct msg	*m = NULL;

	while (m == NULL && db_next(held))
		m = batch_msg(b, db_u64(held, 0));
	return m;
}

/* Dead letters of the rows that the token still holds, in one statement. */
static int
insert_dead(struct store *s, const struct batch *b, struct db_rows *held,
    struct err *e)
{
	const struct msg	*m;

	store_sql(s, "INSERT INTO {dead} (global_sequence, partition_key, "
	    "order_key, event_type, attempts, reason, last_error, created_at, "
	    "died_at, replay_no) VALUES ");
	while ((m = next_held(b, held)) != NULL) {
		store_put_comma(s);
		store_put(s, "(:row, :label, :key, :type, :attempts, :reason, "
		    ":error, :created_at, {now}, :replay_no)",
		    SQL_NUMBER("row", m->sequence),
		    SQL_FIT("label", FIT_DEAD_LABEL, m->partition),
		    SQL_FIT("key", FIT_DEAD_KEY, m->key),
		    SQL_FIT("type", FIT_DEAD_TYPE, m->type),
		    SQL_NUMBER("attempts", m->attempts + 1),
		    SQL_TEXT("reason", m->reason),
		    SQL_ERROR("error", FIT_DEAD_ERROR, m->error),
		    SQL_TEXT("created_at", db_nullable(held, 1)),
		    SQL_NUMBER("replay_no", m->replay));
	}
	store_put(s, STORE_OTHER_LETTER);
	return store_exec(s, "bury", NULL, e);
}

/*
 * Block the keys of dead messages.  The dead row names the record.  The epoch
 * of its partition is raised next, so that the owner, perhaps another worker by
 * now, reads the record before its next claim.
 */
static int
halt_keys(struct store *s, const struct batch *b, struct db_rows *held,
    struct err *e)
{
	const char		**homes = xcalloc(db_nrows(held),
				    sizeof(*homes));
	const struct msg	*m;
	size_t			  n = 0;
	int			  rc;

	store_sql(s, "INSERT INTO {blocked} (first_sequence, partition_key, "
	    "order_key, reason, head_sequence, since) VALUES ");
	for (; (m = next_held(b, held)) != NULL; n++) {
		/*
		 * Its owner reads the record: the label of the row or, if it
		 * was parked since, of its key's record; otherwise the one it
		 * was claimed under.
		 */
		homes[n] = db_nullable(held, 2);
		if (homes[n] == NULL || !counts_is_label(homes[n]))
			homes[n] = b->labels[m->range];
		store_put_comma(s);
		store_put(s, "(:row, :home, :key, '" STORE_HALTED "', :row, "
		    "{now})", SQL_NUMBER("row", m->sequence),
		    SQL_TEXT("home", homes[n]),
		    SQL_FIT("key", FIT_BLOCKED_KEY, m->key));
	}
	/* One of another key is from before sequences were used again. */
	store_put(s, " ON DUPLICATE KEY UPDATE reason = VALUES(reason), "
	    "partition_key = VALUES(partition_key), "
	    "order_key = VALUES(order_key), "
	    "head_sequence = VALUES(head_sequence)");
	rc = store_exec(s, "halt", NULL, e);
	if (rc == 0)
		rc = store_bump_epochs(s, "halt", homes, n, e);
	free(homes);
	return rc;
}

/* A dead message moves from the outbox to the dead letters in one step. */
static int
write_dead(struct store *s, const struct batch *b, enum outcome outcome,
    uint64_t *matched, struct err *e)
{
	struct db_rows		*held;
	const struct msg	*m;
	uint64_t		*list;
	size_t			 n = 0;
	int			 rc = 0;

	if (store_begin(s, e) < 0)
		return -1;
	/* Lock the dead rows and read their labels, which may have changed. */
	store_sql(s, "SELECT {global_sequence}, {created_at}, :label "
	    "FROM {outbox} {primary}" STORE_HELD " FOR UPDATE",
	    /* Of Pillar's tables doctor asks only for the plan. */
	    SQL_EITHER("label", !store_is_pillar(s),
	    "IF(" PARKED_IS("{partition_key}") ", (SELECT k.partition_key "
	    "FROM {blocked} AS k WHERE k.first_sequence = "
	    PARKED_UNDER("{outbox.partition_key}") "), {partition_key})",
	    "{partition_key}"),
	    SQL_PUT("held", s, put_held(s, b, outcome)),
	    SQL_TEXT("token", b->token));
	if ((held = store_query(s, "bury", e)) == NULL)
		return store_end(s, -1, e);
	if (db_nrows(held) > 0)
		rc = insert_dead(s, b, held, e);
	if (rc == 0 && db_nrows(held) > 0 && store_is_inline(s)) {
		/* No other table has what they say. */
		list = xcalloc(db_nrows(held), sizeof(*list));
		db_rewind(held);
		while ((m = next_held(b, held)) != NULL)
			list[n++] = m->sequence;
		rc = store_keep_whole(s, list, n, e);
		free(list);
	}
	if (rc == 0 && db_nrows(held) > 0 &&
	    s->conf->retry.on_dead == DEAD_HALT) {
		db_rewind(held);
		rc = halt_keys(s, b, held, e);
	}
	db_rows_free(held);
	if (rc == 0) {
		store_sql(s, "DELETE FROM {outbox}" STORE_HELD,
		    SQL_PUT("held", s, put_held(s, b, outcome)),
		    SQL_TEXT("token", b->token));
		rc = store_exec(s, "bury", matched, e);
	}
	return store_end(s, rc, e);
}

/*
 * In doubt since the claim, because it was not sent before, or since an earlier
 * time that the row has.
 */
static int
write_in_doubt(struct store *s, const struct batch *b, struct err *e)
{
	uint64_t	*list;
	size_t		 n = 0;
	int		 rc = 0;

	if (!store_has_word(s, "in_doubt_since"))
		return 0;
	list = xcalloc(b->n + 1, sizeof(*list));
	for (size_t i = 0; i < b->n; i++) {
		const struct msg *m = &b->msgs[i];

		/* Sent again although the stream may have it already? */
		if (m->in_doubt && !m->written && (m->outcome == OUT_UNSENT ||
		    m->outcome == OUT_RETRY || m->outcome == OUT_DEFER))
			list[n++] = m->sequence;
	}
	if (n > 0) {
		store_sql(s, "UPDATE {outbox} {primary} SET {in_doubt_since} = "
		    "COALESCE({in_doubt_since}, {now} + INTERVAL :claimed "
		    "MICROSECOND)" STORE_HELD,
		    SQL_MS("claimed", b->claimed_at - clock_ms()),
		    SQL_LIST("held", list, n), SQL_TEXT("token", b->token));
		rc = store_exec(s, "in doubt", NULL, e);
	}
	free(list);
	return rc;
}

static const struct kind {
	enum outcome	outcome;
	const char	*what;		/* in an error */
	int		(*write)(struct store *, const struct batch *,
			    enum outcome, uint64_t *matched, struct err *);
	size_t		counter;
} kinds[] = {
	{ OUT_DELIVERED, "marked as delivered", write_delivered,
	  offsetof(struct settled, delivered) },
	{ OUT_RETRY, "scheduled for a retry", write_delayed,
	  offsetof(struct settled, retried) },
	{ OUT_DEAD, "moved to the dead letters", write_dead,
	  offsetof(struct settled, dead) },
	{ OUT_UNSENT, "released from its claim", write_unsent,
	  offsetof(struct settled, returned) },
	/* The last: a row that another statement refuses becomes this. */
	{ OUT_DEFER, "scheduled for a retry", write_delayed,
	  offsetof(struct settled, deferred) },
};
#define NKINDS	(sizeof(kinds) / sizeof(kinds[0]))

/*
 * The database refuses this row, alone too.  The row waits with its lane, its
 * attempts unchanged.  If that is refused as well, it keeps its claim.
 */
static void
set_aside(struct store *s, struct msg *m, const char *what,
    const struct err *why)
{
	struct err	e;

	store_say_refused(s, m->sequence, what, why);
	err_set(&e, "cannot be %s: %s", what, why->text);
	m->in_doubt = m->in_doubt || m->outcome == OUT_DELIVERED;
	msg_fail(m, m->outcome == OUT_DEFER ? OUT_KEEP_CLAIM : OUT_DEFER,
	    e.text);
	m->delay_ms = ASIDE_MS;
}

static struct batch
part_of(const struct batch *b, const struct isolate *i)
{
	struct batch	part = *b;

	part.msgs = b->msgs + i->from;
	part.n = i->n;
	return part;
}

/* Write all rows of an outcome in one statement. */
static int
write_some(struct store *s, const struct batch *b, const struct kind *k,
    struct settled *done, struct err *e)
{
	unsigned	 in_doubt = SETTLED_IN_DOUBT(k->outcome);
	uint64_t	 want = 0, matched = 0;
	uint64_t	*counter = (uint64_t *)((char *)done + k->counter);
	int		 rc;

	for (size_t i = 0; i < b->n; i++)
		want += is_unwritten(&b->msgs[i], k->outcome);
	if (want == 0)
		return 0;
	if ((rc = k->write(s, b, k->outcome, &matched, e)) == 0) {
		/* It ran before, without an answer, and wrote all of them. */
		if ((done->done & in_doubt) && matched == 0)
			matched = want;
		*counter += matched;
		done->fenced += want - matched;
		for (size_t i = 0; i < b->n; i++)
			b->msgs[i].written |= b->msgs[i].outcome == k->outcome;
	} else if (store_fault(s) == DB_LOST)
		/* The answer was lost: it may have been written. */
		done->done |= in_doubt;
	return rc;
}

static int
write_outcome(struct store *s, const struct batch *b, const struct kind *k,
    struct settled *done, struct err *e)
{
	struct isolate	i = isolate_rows(b->n, 0);
	struct batch	part;

	while (isolate_next(&i)) {
		part = part_of(b, &i);
		if (!store_isolate(s, &i, write_some(s, &part, k, done, e)))
			continue;
		set_aside(s, part.msgs, k->what, e);
		/* It must not lose that it is in doubt. */
		if (part.msgs[0].outcome == OUT_DEFER &&
		    write_in_doubt(s, &part, e) < 0 &&
		    !db_refused_value(s->db))
			return -1;
	}
	return i.rc;
}

int
store_settle(struct store *s, const struct batch *b, struct settled *done,
    struct err *e)
{
	struct isolate	i = isolate_rows(b->n, 0);
	struct batch	part;

	/* First: the others clear the token.  Refused, a row keeps its claim. */
	while (isolate_next(&i)) {
		part = part_of(b, &i);
		if (!store_isolate(s, &i, write_in_doubt(s, &part, e)))
			continue;
		part.msgs[0].outcome = OUT_DEFER;
		set_aside(s, part.msgs, "scheduled for a retry", e);
	}
	if (i.rc < 0)
		return -1;
	for (const struct kind *k = kinds; k < kinds + NKINDS; k++) {
		if (done->done & SETTLED(k->outcome))
			continue;
		if (write_outcome(s, b, k, done, e) < 0)
			return -1;
		done->done |= SETTLED(k->outcome);
	}
	return 0;
}
