/*
 * sync.c - as many partitions as are configured, and no key out of order
 *
 * The daemon does the same when it is reloaded with another count; see
 * store_change.c.  What is removed here are leases that nobody needs: one
 * whose label rows still have would only be made again.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "leases.h"
#include "mend.h"
#include "state.h"
#include "xalloc.h"

#define COUNT		1000	/* rows of an obsolete partition */
#define PAUSE_MS	1000	/* between two tries: producers go on */

struct sync {
	struct ctl	*c;
	unsigned	 wish;
	struct counts	 before;
	struct change	 change;
	json_t		*added;		/* labels */
	json_t		*obsolete;	/* objects */
	json_t		*removed;	/* labels */
};

/*
 * What there is
 */

static bool
has_label(const json_t *leases, const char *label)
{
	const json_t	*p;
	size_t		 i;

	json_array_foreach(leases, i, p)
		if (strcmp(json_string_value(json_object_get(p, "partition")),
		    label) == 0)
			return true;
	return false;
}

static void
find_missing(struct sync *y, const json_t *leases)
{
	char	label[STORE_LABEL];

	for (unsigned i = 0; i < y->wish; i++) {
		snprintf(label, sizeof(label), "p%02u", i);
		if (!has_label(leases, label))
			json_array_append_new(y->added, json_string(label));
	}
}

static int
find_obsolete(struct sync *y, const json_t *leases, struct err *e)
{
	json_t		*p, *o;
	json_int_t	 blocked;
	size_t		 i;

	json_array_foreach(leases, i, p) {
		const char *label = json_string_value(json_object_get(p,
		    "partition"));

		if (!state_is_obsolete(label, y->wish))
			continue;
		if (leases_blocked(y->c, label, &blocked, e) < 0)
			return -1;
		o = json_pack("{s:s, s:O, s:O, s:O, s:I}", "partition", label,
		    "state", json_object_get(p, "state"),
		    "waiting", json_object_get(p, "waiting"),
		    "exact", json_object_get(p, "exact"), "blocked", blocked);
		json_array_append_new(y->obsolete, o);
	}
	return 0;
}

static int
look(struct sync *y, struct err *e)
{
	json_t	*leases;
	int	 rc;

	json_array_clear(y->added);
	json_array_clear(y->obsolete);
	if (store_read_counts(y->c->store, &y->before, e) < 0 ||
	    (leases = state_partitions(y->c, COUNT, e)) == NULL)
		return -1;
	find_missing(y, leases);
	rc = find_obsolete(y, leases, e);
	json_decref(leases);
	return rc;
}

static json_int_t
number(const json_t *o, const char *name)
{
	return json_integer_value(json_object_get(o, name));
}

static bool
is_empty(const json_t *o)
{
	return number(o, "waiting") == 0 && number(o, "blocked") == 0 &&
	    strcmp(json_string_value(json_object_get(o, "state")),
	    STORE_PAUSED) != 0;
}

/*
 * Adding, and the count
 */

static int
add(struct ctl *c, void *arg, struct err *e)
{
	struct sync	*y = arg;

	if (store_fill_partitions(c->store, y->wish, e) < 0)
		return -1;
	return audit_note(c, json_array_size(y->added), e);
}

/* Whoever has enqueued and not committed is waited for, a second at a time. */
static int
change_count(struct sync *y, struct err *e)
{
	struct store	*s = y->c->store;
	int64_t		 until = clock_ms() + y->c->args.wait * 1000;
	unsigned	 count = y->wish;

	if (store_has(s, T_SETTINGS) && store_settings(s, &count, e) < 0)
		return -1;
	while (store_change(s, y->wish, &y->change, e) == 0) {
		if (!y->change.busy || clock_ms() >= until)
			return 0;
		ctl_sleep(PAUSE_MS);
	}
	return -1;
}

/*
 * Removing
 */

static void
choose_removed(struct sync *y)
{
	const json_t	*o;
	size_t		 i;

	if (!y->c->args.prune)
		return;
	json_array_foreach(y->obsolete, i, o)
		if (is_empty(o))
			json_array_append(y->removed, json_object_get(o,
			    "partition"));
}

/*
 * What is told
 */

static void
say_labels(const char *what, const json_t *labels)
{
	const json_t	*l;
	size_t		 i;

	if (json_array_size(labels) == 0)
		return;
	printf("%s %zu lease(s):", what, json_array_size(labels));
	json_array_foreach(labels, i, l) {
		if (i == 5 && json_array_size(labels) > 6) {
			printf(" ... %s", json_string_value(json_array_get(
			    labels, json_array_size(labels) - 1)));
			break;
		}
		printf(" \"%s\"", json_string_value(l));
	}
	putchar('\n');
}

static void
say_obsolete(const struct sync *y)
{
	static const char *const	 shown[] = { "partition", "state",
	    "waiting", "blocked", NULL };
	json_t				*left = json_array(), *o;
	size_t				 i, empty = json_array_size(
					    y->obsolete);

	json_array_foreach(y->obsolete, i, o) {
		if (is_empty(o))
			continue;
		if (json_is_false(json_object_get(o, "exact")))
			json_object_set_new(o, "waiting", json_sprintf("%d+",
			    COUNT));
		json_array_append(left, o);
	}
	empty -= json_array_size(left);
	if (empty > json_array_size(y->removed))
		printf("obsolete and empty: %zu: --prune removes them\n",
		    empty - json_array_size(y->removed));
	if (json_array_size(left) > 0)
		puts("obsolete; what waits in them is sent as ever:");
	print_rows(y->c, shown, left);
}

/* What keeps a change from ending, but for time. */
static int
find_obstacles(struct sync *y, json_t *list, struct err *e)
{
	struct ctl	*c = y->c;
	json_t		*workers = state_workers(c, e), *w;
	bool		 live = false;
	size_t		 i;

	if (workers == NULL)
		return -1;
	json_array_foreach(workers, i, w)
		live = live || json_is_true(json_object_get(w, "live"));
	json_decref(workers);
	if (!live)
		json_array_append_new(list, json_string("nobody is alive: "
		    "start outbox-master"));
	if (y->change.paused)
		json_array_append_new(list, json_string("a partition is "
		    "paused: outboxctl partitions resume"));
	if (c->conf->outbox.ordering == ORDER_PARTITION)
		json_array_append_new(list, json_string("outbox.ordering is "
		    "partition: all of a partition has to go, and what is "
		    "halted has to be released"));
	return 0;
}

static void
say_change(const struct sync *y, const json_t *change, const json_t *obstacles)
{
	char		*text = state_change_text(change);
	const json_t	*o;
	size_t		 i;

	if (y->change.begun)
		printf("partition count changed from %u to %u\n",
		    y->change.counts.former, y->change.counts.count);
	else if (y->c->args.dry_run && y->before.count != 0 &&
	    y->before.count != y->wish)
		printf("partition count would change from %u to %u\n",
		    y->before.count, y->wish);
	if (text == NULL)
		return;
	printf("a change %s\n", text);
	free(text);
	json_array_foreach(obstacles, i, o)
		printf("in its way: %s\n", json_string_value(o));
}

static int
report(struct sync *y, struct err *e)
{
	json_t		*change = state_change(y->c, e), *ways = json_array();
	bool		 dry = y->c->args.dry_run;
	json_int_t	 n = (json_int_t)(json_array_size(y->added) +
			    json_array_size(y->removed)) + y->change.begun;
	int		 rc = change == NULL ? -1 : 0;

	if (rc == 0 && json_is_object(change))
		rc = find_obstacles(y, ways, e);
	if (rc == 0 && y->c->args.json)
		print_object(y->c, json_pack("{s:I, s:b, s:i, s:O, s:O, s:O, "
		    "s:O, s:O}", "changed", n, "dry_run", dry,
		    "count", (int)y->wish, "added", y->added,
		    "obsolete", y->obsolete, "removed", y->removed,
		    "change", change, "in_the_way", ways));
	else if (rc == 0) {
		say_labels(dry ? "would add" : "added", y->added);
		say_labels(dry ? "would remove" : "removed", y->removed);
		say_change(y, change, ways);
		say_obsolete(y);
		if (n == 0 && !json_is_object(change))
			puts("Nothing to do: the leases are as configured.");
	}
	json_decref(change);
	json_decref(ways);
	return rc;
}

/*
 * All of it
 */

static int
refuse_to_prune(struct sync *y)
{
	return ctl_no_such(y->c, "a change of the partition count is under "
	    "way: nothing is removed before it is over");
}

/* Obsolete ones as they are after a change, and what can go of them. */
static int
remove_some(struct sync *y, struct err *e)
{
	json_t	*added = json_deep_copy(y->added);

	if (look(y, e) < 0) {
		json_decref(added);
		return -1;
	}
	json_decref(y->added);
	y->added = added;
	choose_removed(y);
	return leases_remove(y->c, y->removed, e);
}

static int
do_it(struct sync *y, struct err *e)
{
	if (json_array_size(y->added) > 0 &&
	    ctl_transaction(y->c, add, y, e) < 0)
		return -1;
	if (change_count(y, e) < 0)
		return -1;
	if (y->change.begun && json_array_size(y->added) == 0 &&
	    ctl_transaction(y->c, add, y, e) < 0)
		return -1;
	return y->change.busy ? 0 : remove_some(y, e);
}

static bool
is_changing(const struct sync *y)
{
	return y->before.boundary != 0 || y->before.wanted != 0;
}

static int
run(struct sync *y)
{
	struct err	e;

	if (look(y, &e) < 0)
		return ctl_fail(y->c, &e);
	choose_removed(y);
	if (!ctl_confirm(y->c, json_array_size(y->added) +
	    json_array_size(y->removed), "leases"))
		return CTL_FAILED;
	if (!y->c->args.dry_run) {
		json_array_clear(y->removed);
		if (do_it(y, &e) < 0)
			return mend_fail(y->c, &e);
	}
	if (y->change.busy)
		return ctl_no_such(y->c, "an open transaction that has "
		    "enqueued is in the way: the partition count stays, try "
		    "again, with a longer --wait perhaps");
	if (report(y, &e) < 0)
		return ctl_fail(y->c, &e);
	return y->c->args.prune && is_changing(y) ? refuse_to_prune(y) :
	    y->change.paused ? CTL_FAILED : CTL_DONE;
}

int
partitions_sync(struct ctl *c)
{
	struct sync	y = { .c = c,
			    .wish = (unsigned)c->conf->outbox.partition_count,
			    .added = json_array(), .obsolete = json_array(),
			    .removed = json_array() };
	int		status = run(&y);

	json_decref(y.added);
	json_decref(y.obsolete);
	json_decref(y.removed);
	return status;
}
