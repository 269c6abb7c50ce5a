/*
 * store_scheduled.c - messages that are to be sent at a time of their own
 *
 * Such a row waits under another label: "!@", its time, and the label that it
 * had.  No scan of its partition reads it, and the claim's index has these rows
 * in the order of their times: those that are due are the first of one range.
 * scheduled_at itself is only read: a delay of ours is in available_at.
 */

#include "store/store_impl.h"

#include <assert.h>
#include <stdlib.h>
#include <bsd/string.h>

#include "util/clock.h"
#include "util/log.h"
#include "util/xalloc.h"

#define MARK		"'!@'"
#define MARK_LEN	2
#define TIME_LEN	20	/* of TIME_FORMAT */
#define TIME_FORMAT	"'%Y%m%d%H%i%s%f'"
#define LABEL_MAX	(64 - MARK_LEN - TIME_LEN)
#define LABEL_AT	"23"	/* where the label that it had begins */

static_assert(MARK_LEN + TIME_LEN + 1 == 23, "LABEL_AT is behind the time");

/* Rows that one transaction brings back. */
#define BACK_MAX	1000

/* Refused rows that one transaction looks for: each costs ten statements. */
#define REFUSED_MAX	50
#define ASIDE_MS	(60 * 1000)
#define SAY_MS		(30 * 1000)	/* from one line on them to the next */

bool
store_can_schedule(const struct store *s)
{
	return store_has_word(s, "scheduled_at") && store_can_block(s);
}

bool
store_may_schedule(const struct store *s, const struct waiting *w)
{
	return store_can_schedule(s) && w->partition.len <= LABEL_MAX;
}

int
store_schedule(struct store *s, const struct range *ranges, size_t nranges,
    const uint64_t *sequences, size_t n, struct err *e)
{
	store_sql(s, "UPDATE {outbox} AS o {primary} "
	    "STRAIGHT_JOIN {partitions} AS p FORCE INDEX (PRIMARY) "
	    "ON p.partition_key = COALESCE({o.partition_key}, '') "
	    "SET {o.partition_key} = CONCAT(" MARK ", "
	    "DATE_FORMAT({o.scheduled_at}, " TIME_FORMAT "), "
	    "COALESCE({o.partition_key}, '')) "
	    "WHERE {o.global_sequence} IN (:rows) "
	    "AND {o.published_at} IS NULL "
	    "AND {o.claim_token} IS NULL AND {o.scheduled_at} > NOW(6)"
	    STORE_FENCE, SQL_LIST("rows", sequences, n),
	    SQL_EPOCHS("epochs", ranges, nranges));
	return store_exec(s, "schedule", NULL, e);
}

/* Rows whose time has come, the earliest first; or those to be locked now. */
static int
list_due(struct store *s, bool lock, uint64_t *list, size_t *n, struct err *e)
{
	const struct aside	*a = &s->aside;
	struct db_rows		*rows;

	store_sql(s, "SELECT {global_sequence} FROM {outbox} {index} WHERE "
	    "{published_at} IS NULL AND {partition_key} > " MARK " AND "
	    "{partition_key} < CONCAT(" MARK ", DATE_FORMAT(NOW(6), "
	    TIME_FORMAT ")):behind:aside "
	    "ORDER BY {partition_key}, {global_sequence} LIMIT :max:lock",
	    SQL_IF("behind", a->behind != 0,
	    " AND {partition_key} >= :label AND ({partition_key} > :label "
	    "OR {global_sequence} > :row)"),
	    SQL_TEXT("label", a->label), SQL_NUMBER("row", a->behind),
	    SQL_IF("aside", a->n > 0, " AND {global_sequence} NOT IN (:rows)"),
	    SQL_LIST("rows", a->rows, a->n), SQL_NUMBER("max", BACK_MAX),
	    SQL_IF("lock", lock, " FOR UPDATE SKIP LOCKED"));
	if ((rows = store_query(s, "scheduled", e)) == NULL)
		return -1;
	for (*n = 0; db_next(rows) && *n < BACK_MAX; )
		list[(*n)++] = db_u64(rows, 0);
	db_rows_free(rows);
	return 0;
}

/*
 * A minute from the end of the search, or a long one would begin anew.  If the
 * list is full, go on behind its last row, or good ones would wait.
 */
static int
put_aside(struct store *s, uint64_t sequence, size_t nrefused, struct err *e)
{
	struct aside	*a = &s->aside;
	struct db_rows	*rows;

	if (nrefused == 1) {
		a->first = sequence;
		a->why = *e;
	}
	if (nrefused == REFUSED_MAX || (a->n == 0 && a->behind == 0))
		a->until = clock_ms() + ASIDE_MS;
	a->rows[a->n++] = sequence;
	if (a->n < ASIDE_MAX)
		return 0;
	a->n = 0;	/* also if this fails: then they are tried again */
	store_sql(s, "SELECT {partition_key} FROM {outbox} "
	    "WHERE {global_sequence} = :row", SQL_NUMBER("row", sequence));
	if ((rows = store_query(s, "scheduled", e)) == NULL)
		return -1;
	if (db_next(rows)) {
		strlcpy(a->label, db_text(rows, 0), sizeof(a->label));
		a->behind = sequence;
	}
	db_rows_free(rows);
	return 0;
}

static void
forget_aside(struct aside *a)
{
	a->n = 0;
	a->behind = 0;
}

/* Each second may refuse others: they are told together. */
static void
say_refused(struct aside *a, size_t n)
{
	int64_t	now = clock_ms();

	a->nuntold += n;
	if (n == 0 || (a->said_at != 0 && now - a->said_at < SAY_MS))
		return;
	log_event(LOG_LVL_ERROR, LOG_FIELDS(LOG_NUMBER("sequence", a->first),
	    LOG_NUMBER("rows", a->nuntold), LOG_TEXT("error_class", "row")),
	    "%zu message(s) whose scheduled_at has come wait, sequence %llu is "
	    "one of them: the database refuses to give them the label of their "
	    "partition: %s; repair the rows or the table, or run outboxctl "
	    "messages discard; they are tried again within %d s", a->nuntold,
	    (unsigned long long)a->first, a->why.text, ASIDE_MS / 1000);
	a->nuntold = 0;
	a->said_at = now;
}

/* Rows that others have locked are left out: they may be so for long. */
static int
bring_back(struct store *s, uint64_t *list, size_t ndue,
    struct unscheduled *u, struct err *e)
{
	struct counts	c;
	struct isolate	i;
	size_t		n;

	if (store_hold_counts(s, &c, e) < 0 ||
	    list_due(s, true, list, &n, e) < 0)
		return -1;
	u->nlocked = ndue > n ? ndue - n : 0;
	if (n == 0)
		return 0;
	/* The label of the present count: it may have changed meanwhile. */
	for (i = isolate_rows(n, REFUSED_MAX); isolate_next(&i); ) {
		store_sql(s, "UPDATE {outbox} AS o {primary} "
		    "LEFT JOIN {events} AS e {events_primary} "
		    "ON {e.sequence} = {o.global_sequence} "
		    "SET {o.partition_key} = :label "
		    "WHERE {o.global_sequence} IN (:rows) "
		    "AND {o.published_at} IS NULL "
		    "AND LEFT({o.partition_key}, 2) = " MARK,
		    SQL_PUT("label", s, store_put_relabel(s, &c,
		    SQL("NULLIF(SUBSTRING({o.partition_key}, " LABEL_AT "), '')"),
		    "e", SQL("{e.stream_id}"))),
		    SQL_LIST("rows", list + i.from, i.n));
		if (store_isolate(s, &i, store_exec(s, "scheduled", NULL, e)) &&
		    put_aside(s, list[i.from], i.nrefused, e) < 0)
			return -1;
	}
	if (i.rc < 0)
		return -1;
	say_refused(&s->aside, i.nrefused);
	u->more = n == BACK_MAX && i.nrefused == 0;
	/* They were away, and are due: the owners scan from the first row. */
	store_sql(s, "SELECT DISTINCT COALESCE({partition_key}, '') "
	    "FROM {outbox} WHERE {global_sequence} IN (:rows)",
	    SQL_LIST("rows", list, n));
	return store_bump_selected(s, "scheduled", e);
}

int
store_unschedule(struct store *s, struct unscheduled *u, struct err *e)
{
	uint64_t	*list;
	size_t		 n;
	int		 rc;

	*u = (struct unscheduled){ .more = false };
	if (!store_can_schedule(s))
		return 0;
	if (clock_ms() >= s->aside.until)
		forget_aside(&s->aside);
	list = xcalloc(BACK_MAX, sizeof(*list));
	rc = list_due(s, false, list, &n, e);
	if (rc == 0 && n > 0 && (rc = store_begin_in_a_hurry(s, e)) == 0)
		rc = store_end_in_a_hurry(s, bring_back(s, list, n, u, e), e);
	free(list);
	/* Nothing was brought back: what is behind the cursor is not all. */
	if (rc < 0 && s->aside.behind != 0)
		forget_aside(&s->aside);
	if (rc == 0 || store_fault(s) != DB_BUSY)
		return rc;
	*u = (struct unscheduled){ .busy = true, .why = *e };
	return 0;
}

void
store_put_home_label(struct store *s, struct sql label)
{
	store_put(s, "IF(LEFT(:label, 2) = " MARK ", "
	    "SUBSTRING(:label, " LABEL_AT "), :label)",
	    SQL_PART("label", label));
}
