/*
 * finish.c - partitions sync --finish: no producer uses a former count any more
 *
 * The operator declares this; first the program checks rows and leases.  Then
 * one transaction removes the former counts and raises all epochs: from then on
 * each label is a partition by itself.
 */

#include "ctl/partitions/finish.h"

#include <stdio.h>
#include <stdlib.h>

#include "util/clock.h"
#include "mysql/db.h"
#include "ctl/partitions/leases.h"
#include "ctl/state/state.h"
#include "ctl/partitions/sync.h"
#include "util/display.h"
#include "util/duration.h"

#define PAUSE_MS	1000	/* between attempts */

struct finish {
	struct ctl		*c;
	struct finish_ways	 ways;
	struct former_use	 use;
	struct counts		 to;		/* the present one alone */
	json_t			*removed;	/* labels of leases */
	bool			 moved;		/* counts have changed */
	bool			 busy;		/* they are locked */
};

/* Checks */

static bool
is_quiet(const struct finish *f)
{
	return f->c->args.force || (f->use.noted && f->use.wait_ms == 0);
}

static bool
may_finish(const struct finish *f)
{
	return !f->busy && !f->moved &&
	    json_array_size(f->ways.list) == 0 && is_quiet(f);
}

/* Output */

static void
report_finish(const struct finish *f, bool done)
{
	static const char *const	 shown[] = { "partition", "key",
	    "rows", "reason", "parked", NULL };
	bool				 dry = f->c->args.dry_run;
	json_int_t			 n = done ? 1 + (json_int_t)
					    json_array_size(f->removed) : 0;

	if (f->c->args.json) {
		print_object(f->c, json_pack("{s:I, s:b, s:b, s:i, s:o, s:O, "
		    "s:b, s:o, s:O}", "changed", n, "dry_run", dry,
		    "finished", done, "count", (int)f->to.count,
		    "former", state_former_json(&f->ways.counts),
		    "in_the_way", f->ways.list, "more", f->ways.more,
		    "wait_ms", f->use.noted ? json_integer(f->use.wait_ms) :
		    json_null(), "removed", f->removed));
		return;
	}
	print_rows(f->c, shown, json_incref(f->ways.list));
	if (!done)
		return;
	sync_say_labels(dry ? "would remove" : "removed", f->removed);
	display_print(stdout, "%s: %u partitions\n",
	    dry ? "would be finished" : "finished", f->to.count);
}

/* Print that nothing is done, and why. */
static int
refuse_finish(const struct finish *f)
{
	const struct former_use	*u = &f->use;
	size_t			 n = json_array_size(f->ways.list);

	report_finish(f, false);
	if (f->moved)
		ctl_refuse("check them, and try again",
		    "another session has changed the counts");
	if (n > 0)
		ctl_refuse("wait until their rows are sent, and release halted "
		    "keys (keys release, dead retry)", "%zu%s wait%s "
		    "under labels of a former count", n, f->ways.more ?
		    " or more keys" : n == 1 ? " key" : " keys",
		    n == 1 && !f->ways.more ? "s" : "");
	if (!is_quiet(f) && !u->noted)
		ctl_refuse("run outboxctl schema upgrade, or use --force",
		    "%s has no column former_label_at, so it is not known "
		    "whether a producer still uses a former count",
		    store_table_name(f->c->store, T_PARTITIONS));
	else if (!is_quiet(f))
		ctl_error(u->is_after ? "at %s a message was sent under a "
		    "label of a former count, so a producer still uses it: "
		    "try again in %s, or use --force" : "the counts were "
		    "changed at %s, and a producer may not know it yet: try "
		    "again in %s, or use --force", u->is_after ? u->last :
		    u->since, duration_words(u->wait_ms).text);
	return ctl_error("nothing was done");
}

/* The change */

/* A transaction, which checks again for what came since the first check. */
static int
finish(struct ctl *c, void *arg, struct err *e)
{
	struct finish	*f = arg;
	struct db_rows	*rows;
	struct counts	 k;

	if (store_lock_counts(c->store, &k, e) < 0) {
		f->busy = store_fault(c->store) == DB_BUSY;
		return f->busy ? 0 : -1;
	}
	f->moved = !counts_are_same(&k, &f->ways.counts);
	/* With the leases locked no worker can claim rows or write records. */
	store_sql(c->store, "SELECT lease_epoch FROM {partitions} FOR UPDATE");
	if ((rows = store_query(c->store, "finish", e)) == NULL)
		return -1;
	db_rows_free(rows);
	if (state_former_use(c, &f->use, e) < 0 ||
	    finish_check_blocked(c, &f->ways, e) < 0)
		return -1;
	if (!may_finish(f))
		return 0;
	if (store_write_counts(c->store, &f->to, e) < 0 ||
	    leases_remove_under(c, &f->to, f->removed, e) < 0)
		return -1;
	return audit_note(c, 1 + json_array_size(f->removed), e);
}

/* Try for --wait seconds: another session may lock the settings row. */
static int
finish_now(struct finish *f)
{
	struct ctl	*c = f->c;
	int64_t		 until = clock_ms() + c->args.wait * 1000;
	struct err	 e;

	/* Rows may have come while the operator thought about the question. */
	if (finish_check(c, &f->ways, &e) < 0)
		return ctl_fail(c, &e);
	if (!may_finish(f))
		return refuse_finish(f);
	if (store_hurry(c->store, true, &e) < 0)
		return ctl_fail(c, &e);
	for (;; ctl_sleep(PAUSE_MS)) {
		f->busy = false;
		if (ctl_transaction(c, finish, f, &e) < 0)
			return ctl_fail(c, &e);
		if (!f->busy || clock_ms() >= until)
			break;
	}
	if (f->busy)
		return ctl_error(SYNC_BUSY,
		    store_table_name(c->store, T_SETTINGS));
	if (!may_finish(f))
		return refuse_finish(f);
	report_finish(f, true);
	return CTL_DONE;
}

static int
check_and_finish(struct finish *f)
{
	struct ctl	*c = f->c;
	json_t		*leases, *p, *label;
	struct err	 e;
	char		*text;
	size_t		 i;

	if (finish_check(c, &f->ways, &e) < 0 ||
	    (leases = state_partitions(c, 0, &e)) == NULL)
		return ctl_fail(c, &e);
	/* Choose the empty leases that only former counts make. */
	json_array_foreach(leases, i, p) {
		label = json_object_get(p, "partition");
		if (!state_is_obsolete(json_string_value(label),
		    &f->ways.counts) && state_is_obsolete(json_string_value(
		    label), &f->to) &&
		    json_is_false(json_object_get(p, "waiting")))
			json_array_append(f->removed, label);
	}
	json_decref(leases);
	if (state_former_use(c, &f->use, &e) < 0)
		return ctl_fail(c, &e);
	if (!may_finish(f))
		return refuse_finish(f);
	/* Then the counts are in the file, which only an operator changes. */
	if (store_is_pillar(c->store)) {
		report_finish(f, false);
		if (!c->args.json)
			display_print(stdout, "Nothing prevents it: remove "
			    "outbox.former_counts from the configuration of "
			    "each host, and reload the daemons.\n");
		return CTL_DONE;
	}
	text = state_counts_text(&f->ways.counts);
	if (!c->args.json)
		display_print(stdout, "declared: %s\nafter --finish: %u, "
		    "without classes; a producer that still uses another count "
		    "gets its keys out of order\n", text, f->to.count);
	fflush(stdout);
	free(text);
	if (!ctl_confirm(c, f->to.count, "partition", "changed"))
		return CTL_FAILED;
	if (!c->args.dry_run)
		return finish_now(f);
	report_finish(f, true);
	return CTL_DONE;
}

static int
run_finish(struct finish *f)
{
	struct ctl	*c = f->c;
	unsigned	 ours = (unsigned)c->conf->outbox.partition_count;
	struct err	 e;

	if (state_counts(c, &f->ways.counts, &e) < 0)
		return ctl_fail(c, &e);
	f->to = f->ways.counts;
	f->to.nformer = 0;
	if (f->to.count != ours)
		return ctl_error("the present count is %u, but "
		    "outbox.partition_count is %u: correct the file, or run "
		    "partitions sync first; nothing was done", f->to.count,
		    ours);
	if (f->ways.counts.nformer > 0)
		return check_and_finish(f);
	report_finish(f, false);
	if (!c->args.json)
		display_print(stdout, "Nothing to do: no former count is "
		    "declared.\n");
	return CTL_DONE;
}

int
finish_run(struct ctl *c)
{
	struct finish	f = { .c = c, .removed = json_array(),
			    .ways.list = json_array() };
	int		status = run_finish(&f);

	json_decref(f.ways.list);
	json_decref(f.removed);
	return status;
}
