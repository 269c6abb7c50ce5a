/*
 * waiting.c - changes of waiting messages: messages retry and discard, and of
 * those that are held, keys retry and bury
 *
 * No statement here matches a row that a worker is sending.  The epochs of the
 * partitions are raised, because owners keep waiting heads in memory.
 */

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "ctl/base/change.h"
#include "ctl/base/filter.h"
#include "ctl/messages/impact.h"
#include "ctl/messages/messages.h"
#include "mysql/db.h"
#include "util/clock.h"
#include "util/display.h"
#include "util/xalloc.h"

#define POLL_MS		100	/* poll interval for rows being sent */

/* Which messages */

/* The named ones, or the delayed ones that pass the filters. */
static void
select_waiting(struct ctl *c, const uint64_t *list, size_t n)
{
	store_sql(c->store, "SELECT {o.global_sequence}" MESSAGE_FROM " WHERE "
	    MESSAGE_FREE ":delayed:filter AND {o.global_sequence} IN (:rows)",
	    MESSAGE_PARTS(c->store), SQL_LIST("rows", list, n),
	    SQL_IF("delayed", c->args.nrest == 0,
	    " AND ({o.available_at} > NOW(6):tried)"),
	    SQL_IF("tried", c->args.reset_attempts, " OR {o.attempts} > 0"),
	    SQL_PUT("filter", c->store,
	    message_put_filter(c, SQL("{e.occurred_at}"))));
}

/*
 * The heads of blocked keys whose error says that they are held: after a burst
 * of dead letters of one cause a worker makes no more of them (retry.burst).
 */
static void
select_held(struct ctl *c, const char *key)
{
	store_sql(c->store, "SELECT b.head_sequence FROM {blocked} AS b "
	    "JOIN {outbox} AS o ON {o.global_sequence} = b.head_sequence "
	    "LEFT JOIN {events} AS k ON {k.sequence} = b.first_sequence "
	    "WHERE {o.published_at} IS NULL AND "
	    "{o.last_error} LIKE 'held: %':of_key",
	    SQL_IF("of_key", key != NULL, " AND:key"),
	    SQL_PUT_IF("key", key != NULL, c->store, filter_put_key(c->store,
	    SQL(STORE_KEY_OF("{k.stream_id}", "b.order_key")), key)));
}

static int
check_held(struct chosen *r)
{
	return r->c->args.all != (r->c->args.nrest > 0) ? CTL_DONE :
	    ctl_misuse("give either KEY... or --all");
}

static void
select_loss(struct ctl *c, const uint64_t *list, size_t n)
{
	store_sql(c->store, "SELECT {e.stream_id}, {e.event_type}" MESSAGE_FROM
	    " WHERE {o.global_sequence} IN (:rows)", MESSAGE_PARTS(c->store),
	    SQL_LIST("rows", list, n));
}

/* The statements */

#define LOCK_FREE	"SELECT {o.global_sequence} FROM {outbox} AS o " \
	"{primary} WHERE " MESSAGE_FREE " AND {o.global_sequence}"

/* An expired claim stays: its token marks the row as in doubt. */
static int
make_due(struct chosen *r, const uint64_t *list, size_t n, uint64_t *changed,
    struct err *e)
{
	store_sql(r->c->store, "UPDATE {outbox} AS o {primary} "
	    "SET {o.available_at} = LEAST({o.available_at}, {now}):reset "
	    "WHERE " MESSAGE_FREE " AND {o.global_sequence} IN (:rows)",
	    SQL_IF("reset", r->c->args.reset_attempts, ", {o.attempts} = 0"),
	    SQL_LIST("rows", list, n));
	return store_exec(r->c->store, "retry", changed, e);
}

static struct bytes
cell(const struct db_rows *rows, unsigned i)
{
	return (struct bytes){ db_nullable(rows, i), db_length(rows, i) };
}

/* The rows are locked, so the values read stay valid. */
static int
discard(struct chosen *r, const uint64_t *list, size_t n, uint64_t *changed,
    struct err *e)
{
	struct store	*s = r->c->store;
	struct db_rows	*rows;

	store_sql(s, "SELECT {o.global_sequence}, :partition, {e.stream_id}, "
	    "{e.event_type}, {o.last_error}, {o.attempts}, {o.created_at}, "
	    "COALESCE({o.replay_no}, 0)" MESSAGE_FROM
	    " WHERE {o.global_sequence} IN (:rows)",
	    MESSAGE_PARTS(s), SQL_LIST("rows", list, n));
	if ((rows = store_query(s, "discard", e)) == NULL)
		return -1;
	store_sql(s, "INSERT INTO {dead} (global_sequence, partition_key, "
	    "order_key, event_type, last_error, attempts, reason, created_at, "
	    "died_at, replay_no) VALUES ");
	while (db_next(rows)) {
		store_put_comma(s);
		store_put(s, "(:row, :label, :key, :type, :error, :attempts, "
		    "'discarded', :created_at, {now}, :replay_no)",
		    SQL_NUMBER("row", db_u64(rows, 0)),
		    SQL_FIT("label", FIT_DEAD_LABEL, cell(rows, 1)),
		    SQL_FIT("key", FIT_DEAD_KEY, cell(rows, 2)),
		    SQL_FIT("type", FIT_DEAD_TYPE, cell(rows, 3)),
		    SQL_FIT("error", FIT_DEAD_ERROR, cell(rows, 4)),
		    SQL_NUMBER("attempts", db_u64(rows, 5)),
		    SQL_TEXT("created_at", db_nullable(rows, 6)),
		    SQL_NUMBER("replay_no", db_u64(rows, 7)));
	}
	db_rows_free(rows);
	store_put(s, STORE_OTHER_LETTER);
	if (store_exec(s, "discard", NULL, e) < 0 ||
	    (store_is_inline(s) && store_keep_whole(s, list, n, e) < 0))
		return -1;
	store_sql(s, "DELETE FROM {outbox} WHERE {published_at} IS NULL AND "
	    "({claim_token} IS NULL OR {available_at} <= NOW(6)) "
	    "AND {global_sequence} IN (:rows)", SQL_LIST("rows", list, n));
	return store_exec(s, "discard", changed, e);
}

/* The state of named messages */

enum state { NOWHERE, DEAD, DELIVERED, DELIVERING, PENDING };

/* The state of each named message; the caller frees.  NULL: see err. */
static enum state *
read_states(const struct chosen *r, struct err *e)
{
	struct store	*s = r->c->store;
	size_t		 named = (size_t)r->c->args.nrest;
	enum state	*states = xcalloc(named, sizeof(*states));
	struct db_rows	*rows;

	for (size_t i = 0, n; i < named; i += n) {
		n = change_piece(named - i);
		store_sql(s, "SELECT {o.global_sequence}, "
		    "IF({o.published_at} IS NOT NULL, :delivered, "
		    "IF(" MESSAGE_FREE ", :pending, :delivering)) "
		    "FROM {outbox} AS o {primary} "
		    "WHERE {o.global_sequence} IN (:rows):letters",
		    SQL_IF("letters", !store_is_pillar(s), " UNION ALL "
		    "SELECT global_sequence, :dead FROM {dead} "
		    "WHERE global_sequence IN (:rows)"),
		    SQL_NUMBER("delivered", DELIVERED),
		    SQL_NUMBER("pending", PENDING),
		    SQL_NUMBER("delivering", DELIVERING),
		    SQL_NUMBER("dead", DEAD),
		    SQL_LIST("rows", r->named + i, n));
		if ((rows = store_query(s, "select", e)) == NULL) {
			free(states);
			return NULL;
		}
		while (db_next(rows))
			for (size_t k = i; k < i + n; k++)
				if (r->named[k] == db_u64(rows, 0) &&
				    states[k] < db_u64(rows, 1))
					states[k] = (enum state)db_u64(rows, 1);
		db_rows_free(rows);
	}
	return states;
}

/* Messages that a worker is sending may be free in a moment: --wait. */
static int
discard_until(struct chosen *r, struct err *e)
{
	size_t		 named = (size_t)r->c->args.nrest, left;
	int64_t		 until = clock_ms() + r->c->args.wait * 1000;
	enum state	*states;
	int		 rc;

	while ((rc = change_all(r, e)) == 0 && r->changed < named) {
		if ((states = read_states(r, e)) == NULL)
			return -1;
		for (left = 0; left < named && states[left] < DELIVERING;)
			left++;
		free(states);
		if (left == named || clock_ms() >= until)
			return 0;
		poll(NULL, 0, POLL_MS);
		if (change_choose(r, e) < 0)
			return -1;
	}
	return rc;
}

/*
 * Print for each named message that was not changed why not.  A chosen message
 * was changed if it has this state now; NOWHERE: whatever it has.
 */
static int
tell_others(const struct chosen *r, enum state state)
{
	static const struct {
		const char	*text, *remedy;
	} why[] = {
		[NOWHERE] = { "no such message", NULL },
		[DEAD] = { "not changed, it is dead", "see dead retry" },
		[DELIVERED] = { "not changed, it was delivered", NULL },
		[DELIVERING] = { "not changed, a worker is sending it", NULL },
		[PENDING] = { "not changed, a worker was sending it", NULL },
	};
	size_t		 named = (size_t)r->c->args.nrest, k;
	enum state	*states;
	struct err	 e;
	int		 status = CTL_DONE;

	if (r->changed == named)
		return CTL_DONE;
	if ((states = read_states(r, &e)) == NULL)
		return ctl_fail(r->c, &e);
	for (size_t i = 0; i < named; i++) {
		for (k = 0; k < r->n && r->list[k] != r->named[i]; k++)
			;
		if (k == r->n || (state != NOWHERE && states[i] != state))
			status = ctl_refuse(why[states[i]].remedy, "%llu: %s",
			    (unsigned long long)r->named[i],
			    why[states[i]].text);
	}
	free(states);
	return status;
}

/* The reports */

/* A retry does not release a halted key. */
static int
report_retry(struct chosen *r)
{
	int	status = impact_report(r);

	if (status != CTL_DONE)
		return status;
	if (r->changed < r->n)
		display_print(stderr, "outboxctl: %llu skipped: a worker sends "
		    "them, or they are not pending any more\n",
		    (unsigned long long)(r->n - r->changed));
	return tell_others(r, NOWHERE);
}

static int
report_discard(struct chosen *r)
{
	change_report(r);
	return tell_others(r, r->c->args.dry_run ? NOWHERE : DEAD);
}

/* The changes */

const struct change messages_retry = {
	.thing = "message", .done = "due now", .check = change_check_filter,
	.select = select_waiting, .by = CURSOR_WAITING, .by_key = CURSOR_KEY,
	.lock = { LOCK_FREE }, .epochs = message_put_epochs, .change = make_due,
	.report = report_retry,
};

const struct change messages_discard = {
	.thing = "message", .done = "discarded",
	.select = select_waiting, .ask = impact_ask,
	.select_loss = select_loss, .lock = { LOCK_FREE },
	.epochs = message_put_epochs, .change = discard,
	.apply = discard_until, .report = report_discard,
};

const struct change keys_retry = {
	.thing = "message", .done = "due now", .check = check_held,
	.select_key = select_held,
	.missing = "no message of this key is held", .lock = { LOCK_FREE },
	.epochs = message_put_epochs, .change = make_due,
	.skipped = "a worker sends them, or they are not pending any more",
};

const struct change keys_bury = {
	.thing = "message", .done = "buried", .check = check_held,
	.select_key = select_held,
	.missing = "no message of this key is held", .ask = impact_ask,
	.select_loss = select_loss, .asks_of_few = true, .lock = { LOCK_FREE },
	.epochs = message_put_epochs, .change = discard,
	.skipped = "a worker sends them, or they are not pending any more",
};
