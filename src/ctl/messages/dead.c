/*
 * dead.c - dead letters: show, retry, purge
 *
 * A retried message keeps its sequence, so it has its old message id and
 * precedes all later messages of its key.
 */

#include <stdio.h>
#include <stdlib.h>

#include "ctl/base/change.h"
#include "ctl/messages/dead.h"
#include "ctl/messages/dead_group.h"
#include "ctl/messages/impact.h"
#include "ctl/messages/keys.h"
#include "store/watermark.h"
#include "util/display.h"

/* Show it like messages show, if it is a dead letter. */
int
dead_show(struct ctl *c)
{
	struct err	 e;
	uint64_t	*sequence = args_sequences(&c->args);
	json_t		*o = NULL;
	int		 rc;

	if (sequence == NULL)
		return CTL_USAGE;
	rc = dead_add(c, *sequence, &o, &e);
	free(sequence);
	if (rc < 0)
		return ctl_fail(c, &e);
	if (o == NULL)
		return ctl_error("%s: no such dead letter", c->args.rest[0]);
	json_decref(o);
	return messages_show(c);
}

/* Which dead letters */

static int
check_letters(struct chosen *r)
{
	const struct args	*a = &r->c->args;

	if (change_is_filtered(a) && !a->all)
		return ctl_misuse_of("choice", "all", "a filter needs all",
		    "a filter needs --all");
	if (a->all && a->nrest > 0)
		return ctl_misuse_of("choice", "sequences", "give either "
		    "sequences or all", "give either SEQUENCE... or --all");
	return dead_group_check(r->c);
}

static void
select_letters(struct ctl *c, const uint64_t *list, size_t n)
{
	store_sql(c->store, "SELECT d.global_sequence " DEAD_ROWS
	    "WHERE d.reason NOT IN " DEAD_MARKS ":filter "
	    "AND d.global_sequence IN (:rows)",
	    SQL_PUT("filter", c->store, dead_put_filter(c)),
	    SQL_LIST("rows", list, n));
}

static void
select_loss(struct ctl *c, const uint64_t *list, size_t n)
{
	store_sql(c->store, "SELECT " DEAD_KEY ", d.event_type " DEAD_ROWS
	    "WHERE d.global_sequence IN (:rows)", SQL_LIST("rows", list, n));
}

/* The statements */

/*
 * No other session may retry or purge them meanwhile.  A letter whose row was
 * put back by hand is left out.
 */
#define LOCK_LETTERS	"SELECT d.global_sequence FROM {dead} AS d " \
	"WHERE NOT EXISTS (SELECT 1 FROM {outbox} AS o " \
	"WHERE {o.global_sequence} = d.global_sequence) " \
	"AND d.reason NOT IN " DEAD_MARKS " AND d.global_sequence"

static void
put_letter_label(struct ctl *c)
{
	store_put_relabel(c->store, &c->counts, SQL("d.partition_key"), "e",
	    SQL(DEAD_KEY));
}

static bool
put_letter_epochs(struct ctl *c, const uint64_t *list, size_t n)
{
	store_sql(c->store, "SELECT COALESCE(:label, '') " DEAD_ROWS
	    "WHERE d.global_sequence IN (:rows) UNION SELECT partition_key "
	    "FROM {blocked} WHERE first_sequence IN (:rows)",
	    SQL_PUT("label", c->store, put_letter_label(c)),
	    SQL_LIST("rows", list, n));
	return true;
}

static int
put_back(struct chosen *r, const uint64_t *list, size_t n, uint64_t *changed,
    struct err *e)
{
	struct store	*s = r->c->store;
	bool		 dated = store_has_word(s, "created_at");
	bool		 counts = store_has_word(s, "replay_no");
	bool		 whole = store_is_inline(s);

	store_sql(s, "INSERT INTO {outbox} ({global_sequence}, "
	    "{partition_key}, {attempts}, {available_at}:created:replay"
	    ":whole) SELECT d.global_sequence, :label, 0, {now}:created_at"
	    ":replay_no:message " DEAD_ROWS "WHERE d.global_sequence "
	    "IN (:rows)",
	    SQL_PUT("label", s, put_letter_label(r->c)),
	    SQL_IF("created", dated, ", {created_at}"),
	    SQL_IF("created_at", dated, ", COALESCE(d.created_at, {now})"),
	    SQL_IF("replay", counts, ", {replay_no}"),
	    SQL_IF("replay_no", counts, ", d.replay_no"),
	    SQL_PUT_IF("whole", whole, s, store_put_whole_columns(s)),
	    SQL_PUT_IF("message", whole, s, store_put_whole_values(s)),
	    SQL_LIST("rows", list, n));
	if (store_exec(s, "retry", NULL, e) < 0 ||
	    keys_release_halted(r->c, list, n, NULL, e) < 0)
		return -1;
	store_sql(s, "DELETE FROM {dead} WHERE global_sequence IN (:rows)",
	    SQL_LIST("rows", list, n));
	return store_exec(s, "forget", changed, e);
}

static bool
put_purge_epochs(struct ctl *c, const uint64_t *list, size_t n)
{
	return c->args.release && put_letter_epochs(c, list, n);
}

static int
purge(struct chosen *r, const uint64_t *list, size_t n, uint64_t *changed,
    struct err *e)
{
	if (r->c->args.release &&
	    keys_release_halted(r->c, list, n, NULL, e) < 0)
		return -1;
	return watermark_purge(r->c->store, list, n, changed, e);
}

/* The reports */

/* Each goes on, unless another message halts its key. */
static int
report_put_back(struct chosen *r)
{
	int	status = impact_report(r);

	return status != CTL_DONE ? status : change_status(r);
}

/* A purge does not release the rows behind the dead letters. */
static void
tell_halted(struct chosen *r)
{
	struct store	*s = r->c->store;
	uint64_t	 halted = 0, more;
	struct err	 e;

	if (r->c->args.release)
		return;
	for (size_t i = 0, n; i < r->n; i += n) {
		n = change_piece(r->n - i);
		store_sql(s, "SELECT COUNT(*) FROM {blocked} WHERE reason = '"
		    STORE_HALTED "' AND first_sequence IN (:rows)",
		    SQL_LIST("rows", r->list + i, n));
		if (store_query_number(s, "select", &more, &e) < 0)
			return;
		halted += more;
	}
	if (halted > 0)
		display_print(stderr, "outboxctl: %s %s halted: use keys "
		    "release, or purge with --release\n",
		    COUNTED(halted, "key"), halted == 1 ? "stays" : "stay");
}

/* The changes */

#define SKIPPED		"already in the outbox, or deleted by another session"

const struct change dead_retry = {
	.thing = "dead letter", .done = "put back", .check = check_letters,
	.select = select_letters, .by = CURSOR_DEAD,
	.by_key = CURSOR_DEAD, .keep = dead_group_keep,
	.missing = "no such dead letter", .lock = { LOCK_LETTERS },
	.epochs = put_letter_epochs, .change = put_back, .skipped = SKIPPED,
	.report = report_put_back,
};

const struct change dead_purge = {
	.thing = "dead letter", .done = "purged", .check = check_letters,
	.select = select_letters, .by = CURSOR_DEAD,
	.by_key = CURSOR_DEAD, .keep = dead_group_keep,
	.missing = "no such dead letter", .ask = impact_ask,
	.select_loss = select_loss, .epochs = put_purge_epochs,
	.change = purge, .skipped = SKIPPED, .end = tell_halted,
};
