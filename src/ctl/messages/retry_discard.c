/*
 * retry_discard.c - waiting messages: retry (send now) and discard
 *
 * No statement here matches a row that a worker is sending.  The epochs of the
 * partitions are raised, because owners keep waiting heads in memory.
 */

#include <poll.h>
#include <stdlib.h>

#include "util/clock.h"
#include "mysql/db.h"
#include "ctl/base/bulk_update.h"
#include "ctl/base/filter.h"
#include "ctl/messages/impact.h"
#include "ctl/messages/messages.h"
#include "util/xalloc.h"

#define POLL_MS		100	/* poll interval for rows being sent */

/* The state of a message. */
enum where { NOWHERE, DEAD, DELIVERED, DELIVERING, PENDING, NWHERE };

struct wanted {
	uint64_t	*list;
	enum where	*where;
	size_t		 n;
};

static struct wanted *
wanted_new(struct ctl *c)
{
	struct wanted	*w = xcalloc(1, sizeof(*w));

	w->n = (size_t)c->args.nrest;
	w->where = xcalloc(w->n, sizeof(*w->where));
	if ((w->list = args_sequences(&c->args)) != NULL)
		return w;
	free(w->where);
	free(w);
	return NULL;
}

static void
wanted_free(struct wanted *w)
{
	free(w->list);
	free(w->where);
	free(w);
}

static int
read_where(struct ctl *c, struct wanted *w, struct err *e)
{
	struct db_rows	*rows = store_query(c->store, "select", e);

	if (rows == NULL)
		return -1;
	while (db_next(rows))
		for (size_t i = 0; i < w->n; i++)
			if (w->list[i] == db_u64(rows, 0))
				w->where[i] = (enum where)db_u64(rows, 1);
	db_rows_free(rows);
	return 0;
}

static int
locate_messages(struct ctl *c, struct wanted *w, struct err *e)
{
	struct store	*s = c->store;
	size_t		 n;

	for (size_t i = 0; i < w->n; i++)
		w->where[i] = NOWHERE;
	for (size_t i = 0; i < w->n; i += n) {
		n = w->n - i < BULK_UPDATE_CHUNK ? w->n - i :
		    BULK_UPDATE_CHUNK;
		if (store_has(s, T_DEAD)) {
			store_sql(s, "SELECT global_sequence, ");
			store_putf(s, "%d FROM {dead} WHERE global_sequence",
			    DEAD);
			filter_put_rows(s, w->list + i, n);
			if (read_where(c, w, e) < 0)
				return -1;
		}
		store_sql(s, "SELECT {o.global_sequence}, "
		    "IF({o.published_at} IS NOT NULL, ");
		store_putf(s, "%d, IF(" MESSAGE_FREE ", %d, %d))", DELIVERED,
		    PENDING, DELIVERING);
		store_put(s, " FROM {outbox} AS o {primary} "
		    "WHERE {o.global_sequence}");
		filter_put_rows(s, w->list + i, n);
		if (read_where(c, w, e) < 0)
			return -1;
	}
	return 0;
}

static uint64_t *
pending(const struct wanted *w, size_t *n)
{
	uint64_t	*list = xcalloc(w->n + 1, sizeof(*list));

	*n = 0;
	for (size_t i = 0; i < w->n; i++)
		if (w->where[i] == PENDING)
			list[(*n)++] = w->list[i];
	return list;
}

/* Print for each message that was not changed why not. */
static int
tell_others(const struct wanted *w, const bool *done)
{
	static const struct {
		const char	*text, *remedy;
	} why[NWHERE] = {
		[NOWHERE] = { "no such message", NULL },
		[DEAD] = { "not changed, it is dead", "see dead retry" },
		[DELIVERED] = { "not changed, it was delivered", NULL },
		[DELIVERING] = { "not changed, a worker is sending it", NULL },
		[PENDING] = { "not changed, a worker was sending it", NULL },
	};
	int	status = CTL_DONE;

	for (size_t i = 0; i < w->n; i++)
		if (!done[i]) {
			status = ctl_refuse(why[w->where[i]].remedy,
			    "%llu: %s", (unsigned long long)w->list[i],
			    why[w->where[i]].text);
		}
	return status;
}

/* Lock the rows that no worker is sending. */
static int
lock_free_rows(struct ctl *c, const uint64_t *list, size_t n, uint64_t **locked,
    size_t *nlocked, struct err *e)
{
	store_sql(c->store, "SELECT {o.global_sequence} FROM {outbox} AS o "
	    "{primary} WHERE {o.global_sequence}");
	filter_put_rows(c->store, list, n);
	store_put(c->store, " AND " MESSAGE_FREE " FOR UPDATE");
	return bulk_update_select(c, locked, nlocked, e);
}

int
message_bump_epochs(struct ctl *c, const uint64_t *list, size_t n,
    struct err *e)
{
	store_sql(c->store, "SELECT DISTINCT COALESCE(");
	message_put_partition(c->store);
	store_put(c->store, ", '')");
	message_put_from(c->store);
	store_put(c->store, " WHERE {o.global_sequence}");
	filter_put_rows(c->store, list, n);
	return store_bump_selected(c->store, "bump", e);
}

static void
put_fit(struct store *s, enum store_fit which, const struct db_rows *rows,
    unsigned col)
{
	store_put_fit(s, which, db_nullable(rows, col),
	    db_nullable(rows, col) == NULL ? 0 : db_length(rows, col));
	store_put(s, ", ");
}

/* The rows are locked, so the values read stay valid. */
static int
insert_discarded(struct ctl *c, const uint64_t *list, size_t n, struct err *e)
{
	struct store	*s = c->store;
	struct db_rows	*rows;

	store_sql(s, "SELECT {o.global_sequence}, ");
	message_put_partition(s);
	store_put(s, ", {e.stream_id}, {e.event_type}, {o.last_error}, "
	    "{o.attempts}, ");
	store_put(s, store_has_column(s, COL_CREATED_AT) ? "{o.created_at}, " :
	    "NULL, ");
	store_put(s, store_has_column(s, COL_REPLAY_NO) ? "{o.replay_no}" :
	    "0");
	message_put_from(s);
	store_put(s, " WHERE {o.global_sequence}");
	filter_put_rows(s, list, n);
	if ((rows = store_query(s, "discard", e)) == NULL)
		return -1;
	store_sql(s, "INSERT INTO {dead} (global_sequence, partition_key, "
	    "order_key, event_type, last_error, attempts, reason, created_at, "
	    "died_at, replay_no) VALUES ");
	while (db_next(rows)) {
		store_put_comma(s);
		store_putf(s, "(%llu, ", (unsigned long long)db_u64(rows, 0));
		put_fit(s, FIT_DEAD_LABEL, rows, 1);
		put_fit(s, FIT_DEAD_KEY, rows, 2);
		put_fit(s, FIT_DEAD_TYPE, rows, 3);
		put_fit(s, FIT_DEAD_ERROR, rows, 4);
		store_putf(s, "%llu, 'discarded', ",
		    (unsigned long long)db_u64(rows, 5));
		store_put_text(s, db_nullable(rows, 6));
		store_put(s, ", {now}, ");
		store_putf(s, "%llu)", (unsigned long long)db_u64(rows, 7));
	}
	db_rows_free(rows);
	store_put(s, " ON DUPLICATE KEY UPDATE attempts = VALUES(attempts), "
	    "reason = VALUES(reason), last_error = VALUES(last_error), "
	    "died_at = VALUES(died_at), replay_no = VALUES(replay_no)");
	return store_exec(s, "discard", NULL, e);
}

/* An expired claim stays: its token marks the row as in doubt. */
static int
make_locked_due(struct ctl *c, const uint64_t *list, size_t n,
    uint64_t *changed, struct err *e)
{
	if (message_bump_epochs(c, list, n, e) < 0)
		return -1;
	store_sql(c->store, "UPDATE {outbox} AS o {primary} "
	    "SET {o.available_at} = LEAST({o.available_at}, {now})");
	store_put(c->store, c->args.reset_attempts ? ", {o.attempts} = 0" : "");
	store_put(c->store, " WHERE {o.global_sequence}");
	filter_put_rows(c->store, list, n);
	store_put(c->store, " AND " MESSAGE_FREE);
	return store_exec(c->store, "retry", changed, e);
}

static int
discard_locked(struct ctl *c, const uint64_t *list, size_t n,
    uint64_t *changed, struct err *e)
{
	if (message_bump_epochs(c, list, n, e) < 0 ||
	    insert_discarded(c, list, n, e) < 0 ||
	    (store_is_inline(c->store) &&
	    store_keep_whole(c->store, list, n, e) < 0))
		return -1;
	store_sql(c->store, "DELETE FROM {outbox} WHERE {global_sequence}");
	filter_put_rows(c->store, list, n);
	store_put(c->store, " AND {published_at} IS NULL AND "
	    "({claim_token} IS NULL OR {available_at} <= NOW(6))");
	return store_exec(c->store, "discard", changed, e);
}

const struct bulk_change message_retry_change = { lock_free_rows,
	make_locked_due };
const struct bulk_change message_discard_change = { lock_free_rows,
	discard_locked };

/* Change the waiting rows.  If a worker was faster, read the states again. */
static int
update_pending(struct ctl *c, struct wanted *w, const struct bulk_change *how,
    bool *done, uint64_t *changed, struct err *e)
{
	size_t		 n;
	uint64_t	*list = pending(w, &n), more = n;
	int		 rc = 0;

	for (size_t i = 0; i < w->n; i++)
		done[i] = done[i] || w->where[i] == PENDING;
	if (n > 0 && !c->args.dry_run)
		rc = bulk_update(c, list, n, how, &more, e);
	free(list);
	if (rc < 0)
		return -1;
	*changed += more;
	if (more == n || how == &message_retry_change)	/* the others are being sent */
		return 0;
	if (locate_messages(c, w, e) < 0)
		return -1;
	for (size_t i = 0; i < w->n; i++)
		done[i] = done[i] && w->where[i] == DEAD;
	return 0;
}

static int
update_until_done(struct ctl *c, struct wanted *w,
    const struct bulk_change *how, bool *done, uint64_t *changed, struct err *e)
{
	int64_t	until = clock_ms() + c->args.wait * 1000;
	bool	left;

	*changed = 0;
	while (update_pending(c, w, how, done, changed, e) == 0) {
		left = false;
		for (size_t i = 0; i < w->n; i++)
			left = left || (!done[i] && (w->where[i] == PENDING ||
			    w->where[i] == DELIVERING));
		if (how == &message_retry_change || c->args.dry_run || !left ||
		    clock_ms() >= until)
			return 0;
		poll(NULL, 0, POLL_MS);
		if (locate_messages(c, w, e) < 0)
			break;
	}
	return -1;
}

/* Ask if there are many; a discard also says what is given up. */
static int
confirm_change(struct ctl *c, const struct wanted *w,
    const struct bulk_change *how, const char *what, bool *may, struct err *e)
{
	size_t		 n;
	uint64_t	*list = pending(w, &n);
	int		 rc = 0;

	if (how == &message_retry_change || n <= CTL_MANY)
		*may = ctl_confirm(c, n, "message", what);
	else
		rc = impact_confirm_loss(c, list, n, false, what, may, e);
	free(list);
	return rc;
}

/* Print the result; a retry does not release a halted key. */
static int
report_change(struct ctl *c, const struct wanted *w, const bool *done,
    const struct bulk_change *how, const char *what, uint64_t changed)
{
	struct err	 e;
	json_t		*halts;

	if (how == &message_discard_change)
		print_changed(c, changed, "message", what);
	else if ((halts = impact_halts(c, w->list, w->n, &e)) == NULL)
		return ctl_fail(c, &e);
	else
		impact_report(c, changed, "message", what, halts);
	return tell_others(w, done);
}

static int
retry_or_discard(struct ctl *c, struct wanted *w, const struct bulk_change *how,
    const char *what)
{
	bool		*done = xcalloc(w->n, sizeof(*done)), may;
	struct err	 e;
	uint64_t	 changed;
	int		 status;

	if (locate_messages(c, w, &e) < 0 ||
	    confirm_change(c, w, how, what, &may, &e) < 0)
		status = ctl_fail(c, &e);
	else if (!may)
		status = CTL_FAILED;
	else if (update_until_done(c, w, how, done, &changed, &e) < 0)
		status = ctl_fail(c, &e);
	else
		status = report_change(c, w, done, how, what, changed);
	free(done);
	return status;
}

int
message_retry_named(struct ctl *c)
{
	struct wanted	*w = wanted_new(c);
	int		 status = CTL_USAGE;

	if (w != NULL) {
		status = retry_or_discard(c, w, &message_retry_change, "due now");
		wanted_free(w);
	}
	return status;
}

int
messages_discard(struct ctl *c)
{
	struct wanted	*w;
	int		 status = CTL_USAGE;

	if (!store_has(c->store, T_DEAD))
		return ctl_no_table(c, T_DEAD);
	if ((w = wanted_new(c)) != NULL) {
		status = retry_or_discard(c, w, &message_discard_change, "discarded");
		wanted_free(w);
	}
	return status;
}
