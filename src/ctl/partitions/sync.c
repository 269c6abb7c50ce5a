/*
 * sync.c - set the number of partitions without losing the order of keys
 *
 * The daemon does the same on a reload with another count; see
 * store_repartition.c.  Only unused leases are removed: if a label still has
 * rows, workers would make its lease again.
 */

#include "ctl/partitions/sync.h"

#include <stdio.h>
#include <string.h>

#include "util/clock.h"
#include "ctl/partitions/leases.h"
#include "ctl/state/state.h"

#define COUNT		1000	/* limit for counting rows */
#define PAUSE_MS	1000	/* between attempts */

/* State */

static bool
has_lease_of(const json_t *leases, const char *label)
{
	const json_t	*p;
	size_t		 i;

	json_array_foreach(leases, i, p)
		if (strcmp(member_text(p, "partition"), label) == 0)
			return true;
	return false;
}

static int
read_sync_state(struct sync *y, struct err *e)
{
	json_t		*leases = state_partitions(y->c, COUNT, e), *p;
	char		 missing[STORE_LABEL];
	uint64_t	 blocked;
	size_t		 i;
	int		 rc = 0;

	if (leases == NULL)
		return -1;
	json_array_clear(y->added);
	json_array_clear(y->obsolete);
	for (unsigned k = 0; k < counts_max(&y->counts); k++) {
		snprintf(missing, sizeof(missing), "p%02u", k);
		if (!has_lease_of(leases, missing))
			json_array_append_new(y->added, json_string(missing));
	}
	json_array_foreach(leases, i, p) {
		const char *label = member_text(p, "partition");

		if (!state_is_obsolete(label, &y->counts))
			continue;
		if ((rc = leases_blocked(y->c, label, &blocked, e)) < 0)
			break;
		json_array_append_new(y->obsolete, json_pack("{s:s, s:O, s:O, "
		    "s:O, s:I}", "partition", label,
		    "state", json_object_get(p, "state"),
		    "waiting", json_object_get(p, "waiting"),
		    "exact", json_object_get(p, "exact"),
		    "blocked", (json_int_t)blocked));
	}
	json_decref(leases);
	return rc;
}

/* Change of the count, new leases */

/* Try for --wait seconds: another session may lock the settings row. */
static int
sync_repartition(struct sync *y, struct err *e)
{
	int64_t	until = clock_ms() + y->c->args.wait * 1000;

	while (store_repartition(y->c->store, y->wish, &y->change, e) == 0) {
		if (!y->change.busy || clock_ms() >= until)
			return 0;
		ctl_sleep(PAUSE_MS);
	}
	return -1;
}

static int
add_missing_leases(struct ctl *c, void *arg, struct err *e)
{
	struct sync	*y = arg;

	if (store_fill_declared(c->store, &y->counts, e) < 0)
		return -1;
	return audit_note(c, json_array_size(y->added), e);
}

/* Removing */

static void
choose_removed_labels(struct sync *y)
{
	const json_t	*o;
	size_t		 i;

	if (!y->c->args.prune)
		return;
	json_array_foreach(y->obsolete, i, o)
		if (leases_is_empty(o))
			json_array_append(y->removed, json_object_get(o,
			    "partition"));
}

/* The command */

static int
sync_now(struct sync *y, struct err *e)
{
	struct store	*s = y->c->store;
	unsigned	 count = y->wish;
	json_t		*added;
	int		 rc;

	if (store_settings(s, &count, e) < 0 ||
	    (y->change.changed && sync_repartition(y, e) < 0))
		return -1;
	if (y->change.busy || y->change.refused)
		return 0;
	if (store_read_counts(s, &y->counts, e) < 0 ||
	    ((y->change.changed || json_array_size(y->added) > 0) &&
	    ctl_transaction(y->c, add_missing_leases, y, e) < 0))
		return -1;
	/* Read the obsolete leases after the change; remove the unused ones. */
	added = json_deep_copy(y->added);
	rc = read_sync_state(y, e);
	json_decref(y->added);
	y->added = added;
	if (rc < 0)
		return -1;
	choose_removed_labels(y);
	return leases_remove(y->c, y->removed, e);
}

/* Print that nothing was done, and why. */
static int
refuse_sync(const struct sync *y)
{
	if (y->change.busy)
		return ctl_error(SYNC_BUSY,
		    store_table_name(y->c->store, T_SETTINGS));
	return ctl_error("%s; nothing was done", y->change.why.text);
}

static int
run_sync(struct sync *y)
{
	struct err	e;
	size_t		n;

	if (store_plan_repartition(y->c->store, y->wish, &y->change, &e) < 0)
		return ctl_fail(y->c, &e);
	if (y->change.refused)
		return refuse_sync(y);
	/* A database without a count gets the configured one. */
	y->counts = y->change.counts;
	if (y->counts.count == 0)
		y->counts.count = y->wish;
	if (read_sync_state(y, &e) < 0)
		return ctl_fail(y->c, &e);
	choose_removed_labels(y);
	sync_say_plan(y);
	/* A change raises the epochs of all leases. */
	n = json_array_size(y->added) + json_array_size(y->removed);
	if (y->change.changed && n < counts_max(&y->counts))
		n = counts_max(&y->counts);
	if (!ctl_confirm(y->c, n, "partition", "changed"))
		return CTL_FAILED;
	if (!y->c->args.dry_run) {
		json_array_clear(y->removed);
		if (sync_now(y, &e) < 0)
			return ctl_fail(y->c, &e);
	}
	if (y->change.busy || y->change.refused)
		return refuse_sync(y);
	sync_report(y);
	return CTL_DONE;
}

int
partitions_sync(struct ctl *c)
{
	struct sync	y;
	int		status;

	if (c->args.force && !c->args.finish)
		return ctl_misuse("--force needs --finish");
	if (c->args.prune && c->args.finish)
		return ctl_misuse("give --prune or --finish, not both");
	if (c->args.finish)
		return finish_run(c);
	y = (struct sync){ .c = c,
	    .wish = (unsigned)c->conf->outbox.partition_count,
	    .added = json_array(), .obsolete = json_array(),
	    .removed = json_array() };
	status = run_sync(&y);
	json_decref(y.added);
	json_decref(y.obsolete);
	json_decref(y.removed);
	return status;
}
