/*
 * replay.c - send delivered messages again
 *
 * First the sequences are found by an index and sorted.  Then their rows become
 * waiting rows again, in that order and at the rate asked for.  Each gets a new
 * replay_no, which gives it a new message id: the stream would drop the old id
 * as a duplicate.  The daemon sends them as any waiting row.
 */

#include <stdlib.h>
#include <string.h>

#include "ctl/base/change.h"
#include "ctl/base/filter.h"
#include "mysql/db.h"
#include "util/clock.h"
#include "util/sig.h"
#include "util/xalloc.h"

/* Which messages */

static int
check_replay(struct chosen *r)
{
	struct ctl	*c = r->c;
	int		 status = change_check_filter(r);

	if (status == CTL_DONE && !store_has_word(c->store, "replay_no"))
		status = ctl_refuse("run outboxctl schema upgrade",
		    "messages replay needs the column replay_no of %s",
		    store_table_name(c->store, T_OUTBOX));
	return status;
}

/* A row without its event would become a dead letter. */
static void
select_delivered(struct ctl *c, const uint64_t *list, size_t n)
{
	static const struct filter	f = { .key = { "{e.stream_id}" },
	    .type = { "{e.event_type}" },
	    .partition = { "COALESCE({o.partition_key}, '')" },
	    .time = { "{o.published_at}" } };

	store_sql(c->store, "SELECT {o.global_sequence} FROM {outbox} AS o "
	    "{primary} JOIN {events} AS e "
	    "ON {e.sequence} = {o.global_sequence} "
	    "WHERE {o.published_at} IS NOT NULL:filter "
	    "AND {o.global_sequence} IN (:rows)",
	    SQL_PUT("filter", c->store, filter_put(c, &f)),
	    SQL_LIST("rows", list, n));
}

/* --after applies to the sorted sequences, not to the cursor's order. */
static int
find_delivered(struct chosen *r, struct err *e)
{
	uint64_t	after = r->c->args.after;
	size_t		skip = 0;

	r->c->args.after = 0;
	if (change_choose(r, e) < 0)
		return -1;
	while (skip < r->n && r->list[skip] <= after)
		skip++;
	r->n -= skip;
	memmove(r->list, r->list + skip, r->n * sizeof(*r->list));
	return 0;
}

/* The statements */

#define DELIVERED	"{outbox} AS o {primary} STRAIGHT_JOIN {events} AS e " \
	"{events_primary} ON {e.sequence} = {o.global_sequence}"

/*
 * Append the row's label from now on: the count may have changed since it was
 * written, and a row that was parked returns to the partition of its key.
 */
static void
put_replay_label(struct ctl *c)
{
	struct store	*s = c->store;

	store_put(s, "IF(COALESCE(" PARKED_IS("{o.partition_key}") ", 0), "
	    ":home, :label)",
	    SQL_PUT("home", s, store_put_label(s, &c->counts, "e",
	    SQL("{e.stream_id}"))),
	    SQL_PUT("label", s, store_put_relabel(s, &c->counts,
	    SQL("{o.partition_key}"), "e", SQL("{e.stream_id}"))));
}

/* Owners then scan from the first row. */
static bool
put_replay_epochs(struct ctl *c, const uint64_t *list, size_t n)
{
	store_sql(c->store, "SELECT DISTINCT COALESCE(:label, '') "
	    "FROM " DELIVERED " WHERE {o.global_sequence} IN (:rows)",
	    SQL_PUT("label", c->store, put_replay_label(c)),
	    SQL_LIST("rows", list, n));
	return true;
}

static int
replay(struct chosen *r, const uint64_t *list, size_t n, uint64_t *changed,
    struct err *e)
{
	struct store	*s = r->c->store;

	store_sql(s, "UPDATE " DELIVERED " SET {o.partition_key} = :label, "
	    "{o.replay_no} = {o.replay_no} + 1, {o.published_at} = NULL, "
	    "{o.available_at} = {now}, {o.attempts} = 0, "
	    "{o.claim_token} = NULL, {o.last_error} = NULL"
	    "{clear o.ack_sequence}{clear o.message_hash}"
	    "{clear o.in_doubt_since} "
	    "WHERE {o.published_at} IS NOT NULL "
	    "AND {o.global_sequence} IN (:rows)",
	    SQL_PUT("label", s, put_replay_label(r->c)),
	    SQL_LIST("rows", list, n));
	return store_exec(s, "replay", changed, e);
}

/* At its pace */

/*
 * A signal ends it between two chunks.  Each chunk has an audit row of its own:
 * after a kill the audit tells where to continue.
 */
static int
replay_all(struct chosen *r, struct err *e)
{
	struct ctl	*c = r->c;
	char		*given = c->arguments;
	size_t		 rate = (size_t)c->args.rate, before, n;
	int64_t		 began = clock_ms(), due;
	int		 rc;

	sig_init();
	while ((before = r->at) < r->n) {
		due = began + (int64_t)(before * 1000 / rate);
		do
			sig_wait(NULL, 0, due > clock_ms() ?
			    due - clock_ms() : 0);
		while (!got_term && clock_ms() < due);
		if (got_term)
			return 0;
		n = change_piece(r->n - before < rate ? r->n - before : rate);
		if (!store_is_pillar(c->store))
			c->audit = c->audited = 0;
		c->arguments = xasprintf("up to %llu: %s",
		    (unsigned long long)r->list[before + n - 1], given);
		rc = change_next(r, n, e);
		free(c->arguments);
		c->arguments = given;
		if (rc < 0)
			return -1;
		if (change_check_refused(r, e) < 0) {
			r->at = before;
			return -1;
		}
	}
	return 0;
}

/* The reports */

/* How far an unfinished one came. */
static void
tell_rest(struct chosen *r)
{
	const char	*next = store_fault(r->c->store) == DB_LOST ?
			    "; the audit log shows whether the next ones were" :
			    "";

	if (r->at == 0)
		ctl_error("nothing was replayed%s", next);
	else
		ctl_error("%s replayed; to continue, add --after %llu%s",
		    COUNTED(r->changed, "message"),
		    (unsigned long long)r->list[r->at - 1], next);
}

static void
print_replayed(const struct chosen *r)
{
	if (r->c->args.json)
		print_object(r->c, json_pack("{s:I, s:I, s:b}",
		    "changed", (json_int_t)r->changed, "last", r->at == 0 ?
		    0 : (json_int_t)r->list[r->at - 1],
		    "dry_run", r->c->args.dry_run));
	else
		print_changed(r->c, r->changed, "message", r->done);
}

static int
report_replayed(struct chosen *r)
{
	print_replayed(r);
	if (r->c->args.dry_run || r->at == r->n)
		return change_status(r);
	tell_rest(r);
	return CTL_FAILED;
}

static void
tell_failed(struct chosen *r)
{
	if (r->c->args.json)
		print_replayed(r);
	tell_rest(r);
}

const struct change messages_replay = {
	.thing = "message", .done = "replayed", .check = check_replay,
	.select = select_delivered, .by = CURSOR_DELIVERED,
	.by_key = CURSOR_KEY, .find = find_delivered,
	.missing = "no such message, or it was not delivered",
	.lock = { "SELECT {global_sequence} FROM {outbox} {primary} "
	    "WHERE {published_at} IS NOT NULL AND {global_sequence}" },
	.epochs = put_replay_epochs, .change = replay, .apply = replay_all,
	.bar = "replay",
	.skipped = "already waiting, or deleted by another session",
	.report = report_replayed, .failed = tell_failed,
};
