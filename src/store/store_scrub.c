/*
 * store_scrub.c - holes in the stream, and rounds over all delivered rows
 *
 * The janitors of a fleet make a round together: what they know of it is in the
 * stream's row, and one of them holds the role of the scrubber at a time.
 */

#include "store/store_impl.h"

#include <bsd/string.h>

/* Texts of holes: a list in more runs than this is made coarser. */
#define RUNS_MAX	20000

/* A look that is asked for again and again takes a hundredth of the time. */
#define LOOK_PAUSE	99

/* The row of a stream whose scrubber we are. */
#define SCRUBBER	" WHERE name = :stream AND scrubber = :me"

static void
read_set(const struct db_rows *rows, unsigned column, struct sequence_set *set)
{
	if (db_nullable(rows, column) != NULL)
		sequence_set_read(set, db_text(rows, column));
}

static int
read_holes(struct store *s, const char *stream, struct sql lock,
    struct sequence_set *told, struct sequence_set *accepted, struct err *e)
{
	struct db_rows	*rows;

	store_sql(s, "SELECT holes, accepted FROM {streams} "
	    "WHERE name = :stream:lock", SQL_TEXT("stream", stream),
	    SQL_PART("lock", lock));
	if ((rows = store_query(s, "holes", e)) == NULL)
		return -1;
	if (db_next(rows)) {
		read_set(rows, 0, told);
		read_set(rows, 1, accepted);
	}
	db_rows_free(rows);
	return 0;
}

int
store_holes(struct store *s, const char *stream, struct sequence_set *told,
    struct sequence_set *accepted, struct err *e)
{
	return store_is_full(s) ?
	    read_holes(s, stream, SQL(""), told, accepted, e) : 0;
}

static void
put_set(struct store *s, struct sequence_set *set)
{
	struct buf	text = { 0 };

	sequence_set_fit(set, RUNS_MAX);
	sequence_set_put(set, RUNS_MAX, &text);
	store_put_text(s, text.len == 0 ? NULL : text.data);
	buf_free(&text);
}

static int
write_holes(struct store *s, const char *stream, struct sequence_set *told,
    struct sequence_set *accepted, struct err *e)
{
	store_sql(s, "UPDATE {streams} SET holes = :holes:accepted, "
	    "missing = :missing, missing_at = :since WHERE name = :stream",
	    SQL_PUT("holes", s, put_set(s, told)),
	    SQL_IF("accepted", accepted != NULL, ", accepted = :old"),
	    SQL_PUT_IF("old", accepted != NULL, s, put_set(s, accepted)),
	    SQL_NUMBER("missing", sequence_set_count(told)),
	    SQL_EITHER("since", told->n == 0, "NULL",
	    "COALESCE(missing_at, {now})"),
	    SQL_TEXT("stream", stream));
	return store_exec(s, "holes", NULL, e);
}

int
store_holes_change(struct store *s, const char *stream,
    const struct sequence_set *found, const struct sequence_set *healed,
    uint64_t first, struct err *e)
{
	struct sequence_set	told = { 0 }, accepted = { 0 };
	int			rc;

	if (!store_is_full(s))
		return 0;
	if (store_begin(s, e) < 0)
		return -1;
	rc = read_holes(s, stream, SQL(" FOR UPDATE"), &told, &accepted, e);
	if (rc == 0) {
		sequence_set_add_all(&told, found);
		for (size_t i = 0; i < healed->n; i++)
			for (uint64_t n = healed->runs[i].first;
			    n <= healed->runs[i].last; n++)
				sequence_set_remove(&told, n);
		sequence_set_cut(&told, first);
		rc = write_holes(s, stream, &told, NULL, e);
	}
	sequence_set_free(&told);
	sequence_set_free(&accepted);
	return store_end(s, rc, e);
}

int
store_holes_accept(struct store *s, const char *stream, struct err *e)
{
	struct sequence_set	told = { 0 }, accepted = { 0 }, none = { 0 };
	int			rc;

	rc = read_holes(s, stream, SQL(" FOR UPDATE"), &told, &accepted, e);
	if (rc == 0 && told.n > 0) {
		sequence_set_add_all(&accepted, &told);
		rc = write_holes(s, stream, &none, &accepted, e);
	}
	sequence_set_free(&told);
	sequence_set_free(&accepted);
	return rc;
}

bool
store_can_scrub(const struct store *s)
{
	return store_can_audit_stream(s) && store_is_full(s) &&
	    s->index_by_time;
}

int
store_scrub_take(struct store *s, const char *stream, const char *me,
    int64_t ttl_ms, bool *taken, struct err *e)
{
	uint64_t	matched;

	store_sql(s, "UPDATE {streams} SET scrubber = :me, "
	    "scrubber_until = {now} + INTERVAL :ttl MICROSECOND "
	    "WHERE name = :stream AND (scrubber IS NULL OR "
	    "scrubber_until <= NOW(6) OR scrubber = :me)",
	    SQL_TEXT("me", me), SQL_MS("ttl", ttl_ms),
	    SQL_TEXT("stream", stream));
	if (store_exec(s, "scrub", &matched, e) < 0)
		return -1;
	*taken = matched > 0;
	return 0;
}

int
store_scrub(struct store *s, const char *stream, struct scrub_row *r,
    struct err *e)
{
	struct db_rows	*rows;

	store_sql(s, "SELECT COALESCE(suspicion, ''), "
	    "COALESCE(look_after <= NOW(6), TRUE), scrub_began IS NOT NULL, "
	    "COALESCE(scrub_for, ''), COALESCE(scrub_began, ''), "
	    "COALESCE(GREATEST(scrub_at, known_since), ''), "
	    "COALESCE(TIMESTAMPDIFF(MICROSECOND, scrub_began, NOW(6)) DIV "
	    "1000, 0), COALESCE(checked_at, ''), "
	    "COALESCE(scrub_whole >= gaps_since, FALSE) "
	    "FROM {streams} WHERE name = :stream", SQL_TEXT("stream", stream));
	if ((rows = store_query(s, "scrub", e)) == NULL)
		return -1;
	memset(r, 0, sizeof(*r));
	if (db_next(rows)) {
		strlcpy(r->suspicion, db_text(rows, 0), sizeof(r->suspicion));
		r->may_look = db_u64(rows, 1) != 0;
		r->under_way = db_u64(rows, 2) != 0;
		strlcpy(r->purpose, db_text(rows, 3), sizeof(r->purpose));
		strlcpy(r->until, db_text(rows, 4), sizeof(r->until));
		strlcpy(r->at, db_text(rows, 5), sizeof(r->at));
		r->began_ms = (int64_t)db_u64(rows, 6);
		strlcpy(r->checked_at, db_text(rows, 7),
		    sizeof(r->checked_at));
		r->steady = db_u64(rows, 8) != 0;
	}
	db_rows_free(rows);
	return 0;
}

/* Values are assigned from left to right. */
int
store_scrub_begin(struct store *s, const char *stream, const char *me,
    bool for_suspicion, struct err *e)
{
	store_sql(s, "UPDATE {streams} SET scrub_for = :suspicion, "
	    "scrub_began = {now}, scrub_at = known_since, scrub_rows = 0"
	    SCRUBBER, SQL_EITHER("suspicion", for_suspicion,
	    "suspicion, suspicion = NULL, suspected_at = NULL", "NULL"),
	    SQL_TEXT("stream", stream), SQL_TEXT("me", me));
	return store_exec(s, "scrub", NULL, e);
}

int
store_scrub_save(struct store *s, const char *stream, const char *me,
    const char *at, uint64_t n, struct err *e)
{
	store_sql(s, "UPDATE {streams} SET scrub_at = :at, "
	    "scrub_rows = scrub_rows + :n" SCRUBBER,
	    SQL_TEXT("at", at), SQL_NUMBER("n", n),
	    SQL_TEXT("stream", stream), SQL_TEXT("me", me));
	return store_exec(s, "scrub", NULL, e);
}

#define TOOK	"TIMESTAMPDIFF(MICROSECOND, scrub_began, NOW(6))"

int
store_scrub_end(struct store *s, const char *stream, const char *me,
    struct err *e)
{
	store_sql(s, "UPDATE {streams} SET scrub_ms = IF(scrub_for IS NULL, "
	    TOOK " DIV 1000, scrub_ms), look_after = IF(scrub_for IS NULL, "
	    "look_after, NOW(6) + INTERVAL :pause * " TOOK " MICROSECOND), "
	    "scrub_ended = {now}, scrub_whole = scrub_began, "
	    "scrub_for = NULL, scrub_began = NULL" SCRUBBER,
	    SQL_NUMBER("pause", LOOK_PAUSE),
	    SQL_TEXT("stream", stream), SQL_TEXT("me", me));
	return store_exec(s, "scrub", NULL, e);
}
