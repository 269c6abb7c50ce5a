/*
 * replay.c - send delivered messages again
 *
 * First the sequences are found by an index and sorted.  Then their rows become
 * waiting rows again, in that order and at the rate asked for.  Each gets a new
 * replay_no, which gives it a new message id: the stream would drop the old id
 * as a duplicate.  The daemon sends them as any waiting row.
 */

#include <stdio.h>
#include <stdlib.h>

#include "ctl/base/selection.h"
#include "util/clock.h"
#include "mysql/db.h"
#include "ctl/base/filter.h"
#include "ctl/base/bulk_update.h"
#include "util/sig.h"
#include "util/xalloc.h"

struct replay {
	struct ctl		*c;
	struct selection	 selection;
	uint64_t		 done;
	uint64_t		 last;		/* rows up to it are done */
	struct progress		 bar;
};

/* A row without its event would become a dead letter. */
static void
select_delivered(struct ctl *c)
{
	store_sql(c->store, "SELECT {o.global_sequence} FROM {outbox} AS o "
	    "{primary} JOIN {events} AS e "
	    "ON {e.sequence} = {o.global_sequence} "
	    "WHERE {o.published_at} IS NOT NULL AND {o.global_sequence}");
}

static void
put_replay_filter(struct ctl *c)
{
	static const struct filter	f = { .key = "{e.stream_id}",
	    .type = "{e.event_type}", .partition =
	    "COALESCE({o.partition_key}, '')", .time = "{o.published_at}" };

	filter_put(c, &f);
}

/* Lock the delivered rows: no other session may replay or prune them. */
static int
lock_replayed(struct ctl *c, const uint64_t *list, size_t n, uint64_t **locked,
    size_t *nlocked, struct err *e)
{
	store_sql(c->store, "SELECT {global_sequence} FROM {outbox} "
	    "{primary} WHERE {published_at} IS NOT NULL "
	    "AND {global_sequence}");
	filter_put_rows(c->store, list, n);
	store_put(c->store, " FOR UPDATE");
	return bulk_update_select(c, locked, nlocked, e);
}

/*
 * Append the row's label from now on: the count may have changed since it was
 * written, and a row that was parked returns to the partition of its key.
 */
static void
put_replay_label(struct ctl *c)
{
	struct store	*s = c->store;

	store_put(s, "IF(COALESCE(" PARKED_IS("{o.partition_key}") ", 0), ");
	store_put_label(s, &c->counts, "e", "{e.stream_id}");
	store_put(s, ", ");
	store_put_relabel(s, &c->counts, "{o.partition_key}", "e",
	    "{e.stream_id}");
	store_put(s, ")");
}

static int
replay_locked(struct ctl *c, const uint64_t *list, size_t n,
    uint64_t *changed, struct err *e)
{
	static const char	rows[] = "{outbox} AS o {primary} "
				    "STRAIGHT_JOIN {events} AS e "
				    "{events_primary} "
				    "ON {e.sequence} = {o.global_sequence}";
	struct store		*s = c->store;

	/* Raise the epochs, so that owners scan from the first row. */
	store_sql(s, "SELECT DISTINCT COALESCE(");
	put_replay_label(c);
	store_put(s, ", '') FROM ");
	store_put(s, rows);
	store_put(s, " WHERE {o.global_sequence}");
	filter_put_rows(s, list, n);
	if (store_bump_selected(s, "bump", e) < 0)
		return -1;
	store_sql(s, "UPDATE ");
	store_put(s, rows);
	store_put(s, " SET {o.partition_key} = ");
	put_replay_label(c);
	store_put(s, ", {o.replay_no} = {o.replay_no} + 1, "
	    "{o.published_at} = NULL, {o.available_at} = {now}, "
	    "{o.attempts} = 0, {o.claim_token} = NULL, {o.last_error} = NULL");
	if (store_has_column(s, COL_ACK_SEQUENCE))
		store_put(s, ", {o.ack_sequence} = NULL");
	if (store_has_column(s, COL_MESSAGE_HASH))
		store_put(s, ", {o.message_hash} = NULL");
	if (store_has_column(s, COL_IN_DOUBT_SINCE))
		store_put(s, ", {o.in_doubt_since} = NULL");
	store_put(s, " WHERE {o.published_at} IS NOT NULL "
	    "AND {o.global_sequence}");
	filter_put_rows(s, list, n);
	return store_exec(s, "replay", changed, e);
}

static const struct bulk_change replay = { lock_replayed, replay_locked };

/*
 * Replay a chunk, with an audit row of its own: after a kill the audit tells
 * where to continue.
 */
static int
replay_chunk(struct replay *r, const uint64_t *list, size_t n, struct err *e)
{
	struct ctl	*c = r->c;
	char		*given = c->arguments;
	uint64_t	 changed = 0;
	int		 rc;

	if (store_has(c->store, T_AUDIT))
		c->audit = c->audited = 0;
	c->arguments = xasprintf("up to %llu: %s",
	    (unsigned long long)list[n - 1], given);
	rc = bulk_update(c, list, n, &replay, &changed, e);
	free(c->arguments);
	c->arguments = given;
	r->done += changed;
	if (rc == 0)
		r->last = list[n - 1];
	return rc;
}

/* A signal ends it between two chunks. */
static int
replay_all(struct replay *r, struct err *e)
{
	const struct selection	*ch = &r->selection;
	uint64_t		 rate = (uint64_t)r->c->args.rate;
	size_t			 chunk = rate < BULK_UPDATE_CHUNK ? rate :
				    BULK_UPDATE_CHUNK;
	int64_t			 began = clock_ms(), due;

	sig_init();
	for (size_t i = 0, n; i < ch->n; i += n) {
		n = ch->n - i < chunk ? ch->n - i : chunk;
		due = began + (int64_t)(i * 1000 / rate);
		do
			sig_wait(NULL, 0, due > clock_ms() ?
			    due - clock_ms() : 0);
		while (!got_term && clock_ms() < due);
		if (got_term)
			return 0;
		if (replay_chunk(r, ch->list + i, n, e) < 0)
			return -1;
		progress_show(&r->bar, i + n, ch->n);
	}
	return 0;
}

/* Print how far an unfinished replay came. */
static int
tell_rest(const struct replay *r, int status)
{
	const char	*next = store_fault(r->c->store) == DB_LOST ?
			    "; the audit log shows whether the next ones were" :
			    "";

	if (r->last == 0)
		ctl_error("nothing was replayed%s", next);
	else
		ctl_error("%s replayed; to continue, add --after %llu%s",
		    COUNTED(r->done, "message"), (unsigned long long)r->last,
		    next);
	return status;
}

static int
replay_chunks(struct replay *r)
{
	const struct selection	*ch = &r->selection;
	struct err		 e;
	int			 rc = 0;

	if (!ctl_confirm(r->c, ch->n, "message", "replayed"))
		return CTL_FAILED;
	if (r->c->args.dry_run)
		r->done = ch->n;
	else
		rc = replay_all(r, &e);
	progress_end(&r->bar);
	if (r->c->args.json)
		print_object(r->c, json_pack("{s:I, s:I, s:b}",
		    "changed", (json_int_t)r->done,
		    "last", (json_int_t)r->last,
		    "dry_run", r->c->args.dry_run));
	else if (rc == 0)
		print_changed(r->c, r->done, "message", "replayed");
	if (rc < 0)
		return tell_rest(r, ctl_fail(r->c, &e));
	if (ch->n > 0 && !r->c->args.dry_run && r->last != ch->list[ch->n - 1])
		return tell_rest(r, CTL_FAILED);
	if (r->done < ch->n)
		ctl_error("%llu skipped: already waiting, or deleted by "
		    "another session", (unsigned long long)(ch->n - r->done));
	return ch->all_there && r->done == ch->n ? CTL_DONE : CTL_FAILED;
}

static int
run_replay(struct replay *r)
{
	struct args		*a = &r->c->args;
	struct selection	*ch = &r->selection;
	uint64_t		 after = a->after;
	struct err		 e;
	size_t			 skip = 0;

	/* It applies to the sorted sequences, not to the cursor's order. */
	a->after = 0;
	if (selection_make(r->c, ch, &e) < 0)
		return ctl_fail(r->c, &e);
	while (skip < ch->n && ch->list[skip] <= after)
		skip++;
	ch->n -= skip;
	for (size_t i = 0; i < ch->n; i++)
		ch->list[i] = ch->list[i + skip];
	return replay_chunks(r);
}

int
messages_replay(struct ctl *c)
{
	struct replay	r = { .c = c, .bar.what = "replay", .selection = {
			    .select = select_delivered,
			    .finish = put_replay_filter,
			    .by = c->args.key != NULL ? CURSOR_KEY :
			    CURSOR_DELIVERED, .missing = "no such message, or "
			    "it was not delivered" } };
	int		status = selection_check(c, &r.selection);

	if (status == CTL_DONE && !store_has_column(c->store, COL_REPLAY_NO))
		status = ctl_refuse("run outboxctl schema upgrade",
		    "messages replay needs the column replay_no of %s",
		    store_table_name(c->store, T_OUTBOX));
	else if (status == CTL_DONE)
		status = run_replay(&r);
	selection_free(&r.selection);
	return status;
}
