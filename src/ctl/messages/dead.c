/*
 * dead.c - dead letters: show, retry, purge
 *
 * A retried message keeps its sequence, so it has its old message id and
 * precedes all later messages of its key.
 */

#include <stdio.h>
#include <stdlib.h>

#include "ctl/base/filter.h"
#include "ctl/base/selection.h"
#include "store/watermark.h"
#include "ctl/base/bulk_update.h"
#include "ctl/messages/dead.h"
#include "ctl/messages/dead_group.h"
#include "ctl/messages/impact.h"
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
	if (!store_has(c->store, T_DEAD))
		return ctl_no_table(c, T_DEAD);
	if (o == NULL)
		return ctl_error("%s: no such dead letter", c->args.rest[0]);
	json_decref(o);
	return messages_show(c);
}

/* Selection */

static void
select_sequences(struct ctl *c)
{
	store_sql(c->store, "SELECT d.global_sequence " DEAD_ROWS
	    "WHERE d.reason NOT IN " DEAD_MARKS " AND d.global_sequence");
}

static int
check_selection(struct ctl *c, struct selection *ch)
{
	const struct args	*a = &c->args;

	if (selection_is_filtered(a) && !a->all)
		return ctl_misuse_of("choice", "all", "a filter needs all",
		    "a filter needs --all");
	if (a->all && a->nrest > 0)
		return ctl_misuse_of("choice", "sequences", "give either "
		    "sequences or all", "give either SEQUENCE... or --all");
	if (dead_group_check(c) != CTL_DONE)
		return CTL_USAGE;
	if ((ch->named = args_sequences(a)) == NULL)
		return CTL_USAGE;
	return store_has(c->store, T_DEAD) ? CTL_DONE : ctl_no_table(c, T_DEAD);
}

/* Changes */

/*
 * Lock the dead letters: no other session may retry or purge them.  Those that
 * were put back by hand are left out.
 */
static int
lock_letters(struct ctl *c, const uint64_t *list, size_t n, uint64_t **locked,
    size_t *nlocked, struct err *e)
{
	store_sql(c->store, "SELECT d.global_sequence FROM {dead} AS d "
	    "WHERE NOT EXISTS (SELECT 1 FROM {outbox} AS o "
	    "WHERE {o.global_sequence} = d.global_sequence) "
	    "AND d.reason NOT IN " DEAD_MARKS " AND d.global_sequence");
	filter_put_rows(c->store, list, n);
	store_put(c->store, " FOR UPDATE");
	return bulk_update_select(c, locked, nlocked, e);
}

static void
put_letter_label(struct ctl *c)
{
	store_put_relabel(c->store, &c->counts, "d.partition_key", "e",
	    DEAD_KEY);
}

static int
bump_letter_epochs(struct ctl *c, const uint64_t *list, size_t n, struct err *e)
{
	store_sql(c->store, "SELECT COALESCE(");
	put_letter_label(c);
	store_put(c->store, ", '') " DEAD_ROWS "WHERE d.global_sequence");
	filter_put_rows(c->store, list, n);
	if (store_has(c->store, T_BLOCKED)) {
		store_put(c->store, " UNION SELECT partition_key "
		    "FROM {blocked} WHERE first_sequence");
		filter_put_rows(c->store, list, n);
	}
	return store_bump_selected(c->store, "bump", e);
}

/* The record of a halt has the sequence of the dead letter. */
static int
release_letter_keys(struct ctl *c, const uint64_t *list, size_t n,
    struct err *e)
{
	if (!store_has(c->store, T_BLOCKED))
		return 0;
	return bulk_update_release(c, list, n, NULL, e);
}

static int
requeue_locked(struct ctl *c, const uint64_t *list, size_t n, uint64_t *changed,
    struct err *e)
{
	struct store	*s = c->store;
	bool		 dated = store_has_column(s, COL_CREATED_AT);
	bool		 counts = store_has_column(s, COL_REPLAY_NO);

	if (bump_letter_epochs(c, list, n, e) < 0)
		return -1;
	store_sql(s, "INSERT INTO {outbox} ({global_sequence}, "
	    "{partition_key}, {attempts}, {available_at}");
	store_put(s, dated ? ", {created_at}" : "");
	store_put(s, counts ? ", {replay_no}" : "");
	if (store_is_inline(s))
		store_put_whole_columns(s);
	store_put(s, ") SELECT d.global_sequence, ");
	put_letter_label(c);
	store_put(s, ", 0, {now}");
	store_put(s, dated ? ", COALESCE(d.created_at, {now})" : "");
	store_put(s, counts ? ", d.replay_no" : "");
	if (store_is_inline(s))
		store_put_whole_values(s);
	store_put(s, " " DEAD_ROWS "WHERE d.global_sequence");
	filter_put_rows(s, list, n);
	if (store_exec(s, "retry", NULL, e) < 0 ||
	    release_letter_keys(c, list, n, e) < 0)
		return -1;
	store_sql(s, "DELETE FROM {dead} WHERE global_sequence");
	filter_put_rows(s, list, n);
	return store_exec(s, "forget", changed, e);
}

static int
purge_all(struct ctl *c, const uint64_t *list, size_t n, uint64_t *changed,
    struct err *e)
{
	if (c->args.release && (bump_letter_epochs(c, list, n, e) < 0 ||
	    release_letter_keys(c, list, n, e) < 0))
		return -1;
	return watermark_purge(c->store, list, n, changed, e);
}

static const struct bulk_change requeue_letters = { lock_letters,
	requeue_locked };
static const struct bulk_change purge_letters = { NULL, purge_all };

/* Count the keys that these dead letters halt. */
static int
count_halted(struct ctl *c, const struct selection *ch, uint64_t *halted,
    struct err *e)
{
	*halted = 0;
	if (!store_has(c->store, T_BLOCKED))
		return 0;
	for (size_t i = 0; i < ch->n; i += BULK_UPDATE_CHUNK) {
		size_t	  left = ch->n - i, n;
		uint64_t *list;

		store_sql(c->store, "SELECT first_sequence FROM {blocked} "
		    "WHERE reason = '" STORE_HALTED "' "
		    "AND first_sequence");
		filter_put_rows(c->store, ch->list + i,
		    left < BULK_UPDATE_CHUNK ? left : BULK_UPDATE_CHUNK);
		if (bulk_update_select(c, &list, &n, e) < 0)
			return -1;
		free(list);
		*halted += n;
	}
	return 0;
}

/* Ask if there are many; before a purge of all, say what is given up. */
static int
update_letters(struct ctl *c, struct selection *ch,
    const struct bulk_change *how, const char *what, struct err *e)
{
	bool		 purge = how == &purge_letters, may;
	uint64_t	 changed = ch->n;
	json_t		*halts;

	if (!purge || ch->n == 0 || (!c->args.all && ch->n <= CTL_MANY))
		may = ctl_confirm(c, ch->n, "dead letter", what);
	else if (impact_confirm_loss(c, ch->list, ch->n, true, what, &may,
	    e) < 0)
		return ctl_fail(c, e);
	if (!may)
		return CTL_FAILED;
	if (!c->args.dry_run &&
	    bulk_update(c, ch->list, ch->n, how, &changed, e) < 0)
		return ctl_fail(c, e);
	/* Each goes on, unless another message halts its key. */
	if (purge)
		print_changed(c, changed, "dead letter", what);
	else if ((halts = impact_halts(c, ch->list, ch->n, e)) == NULL)
		return ctl_fail(c, e);
	else
		impact_report(c, changed, "dead letter", what, halts);
	if (changed < ch->n)
		ctl_error("%llu skipped: already in the outbox, or deleted by "
		    "another session", (unsigned long long)(ch->n - changed));
	return ch->all_there && changed == ch->n ? CTL_DONE : CTL_FAILED;
}

static int
run_on_letters(struct ctl *c, const struct bulk_change *how, const char *what,
    uint64_t *halted)
{
	struct selection	ch = { .select = select_sequences,
				    .finish = dead_put_filter,
				    .keep = dead_group_keep,
				    .by = CURSOR_DEAD,
				    .missing = "no such dead letter" };
	struct err		e;
	int			status = check_selection(c, &ch);

	*halted = 0;
	if (status == CTL_DONE) {
		if (selection_make(c, &ch, &e) < 0 ||
		    count_halted(c, &ch, halted, &e) < 0)
			status = ctl_fail(c, &e);
		else
			status = update_letters(c, &ch, how, what, &e);
	}
	selection_free(&ch);
	return status;
}

int
dead_retry(struct ctl *c)
{
	uint64_t	halted;

	return run_on_letters(c, &requeue_letters, "put back", &halted);
}

int
dead_purge(struct ctl *c)
{
	uint64_t	halted;
	int		status = run_on_letters(c, &purge_letters, "purged",
			    &halted);

	/* A purge does not release the rows behind the dead letter. */
	if (halted > 0 && !c->args.release)
		display_print(stderr, "outboxctl: %s %s halted: use keys release, or "
		    "purge with --release\n", COUNTED(halted, "key"),
		    halted == 1 ? "stays" : "stay");
	return status;
}
