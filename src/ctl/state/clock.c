/*
 * clock.c - what waits only because the clock of the database was put back
 *
 * Moments in its tables are its own.  One that lies ahead, and that no wish or
 * delay can have made, was written before.
 */

#include "ctl/state/state_impl.h"

#include "driver/route.h"
#include "store/store_sql.h"
#include "util/clock.h"

/* The waiting rows that are looked at, the first ones. */
#define ROWS_MAX	200

/*
 * Rows that are made later than now and put off since, that are claimed for
 * longer than a claim lasts, or that wait for longer than any try is put off.
 */
int
state_put_clock(struct ctl *c, json_t *state, json_int_t leases,
    struct err *e)
{
	struct store	*s = c->store;
	struct db_rows	*rows;

	if (store_index(s) != INDEX_BY_TIME)
		return json_object_set_new(state, "clock", json_null());
	store_sql(s, "SELECT COUNT(*), COALESCE(MIN(r.n), 0), COALESCE(MAX("
	    "TIMESTAMPDIFF(MICROSECOND, NOW(6), r.upto)), 0) DIV 1000 FROM "
	    "(SELECT {o.global_sequence} AS n, {o.available_at} AS upto, "
	    "{o.available_at} > NOW(6) AND "
	    "NOT ({o.claim_token} IS NULL AND :is_due) AS waits, "
	    ":made AS made, {o.claim_token} AS token, ({o.attempts} > 0 "
	    "OR {o.last_error} IS NOT NULL) AS put_off FROM {outbox} AS o "
	    "{index} WHERE {o.published_at} IS NULL LIMIT :max) AS r WHERE "
	    "r.waits AND (r.made > " STATE_AHEAD " OR "
	    "(r.token IS NOT NULL AND r.upto > " STATE_AHEAD " + INTERVAL "
	    "1000 * IF(CONVERT(r.token USING utf8mb4) REGEXP "
	    "'^[0-9a-f]{16}-[0-9a-f]+-[0-9]{1,9}$', "
	    "SUBSTRING_INDEX(r.token, '-', -1), :ttl) MICROSECOND) "
	    "OR (r.token IS NULL AND r.put_off AND r.upto > " STATE_AHEAD
	    " + INTERVAL :longest MICROSECOND))",
	    SQL_PUT("is_due", s, store_put_is_due(s)),
	    SQL_EITHER("made", store_stamps_rows(s), "{o.created_at}", "NULL"),
	    SQL_NUMBER("max", ROWS_MAX),
	    SQL_NUMBER("ttl", c->conf->worker.claim_ttl),
	    SQL_MS("longest", later(2 * route_longest_backoff(c->conf),
	    store_put_off_ms(s))));
	if ((rows = store_query(s, "clock", e)) == NULL)
		return -1;
	db_next(rows);
	json_object_set_new(state, "clock", json_pack("{s:I, s:I, s:I, s:I}",
	    "rows", (json_int_t)db_u64(rows, 0),
	    "first", (json_int_t)db_u64(rows, 1),
	    "ahead_ms", (json_int_t)db_u64(rows, 2),
	    "leases", leases));
	db_rows_free(rows);
	return 0;
}
