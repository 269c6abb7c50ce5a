/*
 * held.c - messages that are held instead of being dead letters: bury them, or
 * try them again
 *
 * The heads of blocked keys whose error says so: after a burst of dead letters
 * of one cause a worker makes no more of them (retry.burst).
 */

#include <stdlib.h>

#include "ctl/base/bulk_update.h"
#include "ctl/base/ctl.h"
#include "ctl/base/filter.h"
#include "ctl/messages/impact.h"
#include "ctl/messages/messages.h"
#include "util/xalloc.h"

/* The heads that are held: all, or the one of this key. */
static int
find_held(struct ctl *c, const char *key, uint64_t **list, size_t *n,
    struct err *e)
{
	store_sql(c->store, "SELECT b.head_sequence FROM {blocked} AS b "
	    "JOIN {outbox} AS o ON {o.global_sequence} = b.head_sequence "
	    "LEFT JOIN {events} AS k ON {k.sequence} = b.first_sequence "
	    "WHERE {o.published_at} IS NULL AND "
	    "{o.last_error} LIKE 'held: %'");
	if (key != NULL) {
		store_put(c->store, " AND");
		filter_put_key(c->store, STORE_KEY_OF("{k.stream_id}",
		    "b.order_key"), key);
	}
	return bulk_update_select(c, list, n, e);
}

/* Those of all keys that are named; *missing counts keys without any. */
static int
find_named(struct ctl *c, uint64_t **list, size_t *n, int *missing,
    struct err *e)
{
	*list = NULL;
	*n = 0;
	for (int i = 0; i < c->args.nrest; i++) {
		uint64_t	*more;
		size_t		 nmore;

		if (find_held(c, c->args.rest[i], &more, &nmore, e) < 0)
			return -1;
		if (nmore == 0) {
			ctl_error("%s: no message of this key is held",
			    c->args.rest[i]);
			++*missing;
		}
		*list = xreallocarray(*list, *n + nmore + 1, sizeof(**list));
		for (size_t k = 0; k < nmore; k++)
			(*list)[(*n)++] = more[k];
		free(more);
	}
	return 0;
}

static int
change_held(struct ctl *c, const uint64_t *list, size_t n,
    const struct bulk_change *how, const char *what, struct err *e)
{
	uint64_t	changed = n;
	bool		may = true;

	if (n == 0)		/* no question, then */
		;
	else if (how == &message_retry_change)
		may = ctl_confirm(c, n, "message", what);
	else if (impact_confirm_loss(c, list, n, false, what, &may, e) < 0)
		return ctl_fail(c, e);
	if (!may)
		return CTL_FAILED;
	if (n > 0 && !c->args.dry_run &&
	    bulk_update(c, list, n, how, &changed, e) < 0)
		return ctl_fail(c, e);
	print_changed(c, changed, "message", what);
	return changed == n ? CTL_DONE : CTL_FAILED;
}

static int
run_on_held(struct ctl *c, const struct bulk_change *how, const char *what)
{
	uint64_t	*list = NULL;
	size_t		 n;
	struct err	 e;
	int		 missing = 0, rc;

	if (c->args.all == (c->args.nrest > 0))
		return ctl_misuse("give either KEY... or --all");
	if (!store_has(c->store, T_BLOCKED))
		return ctl_no_table(c, T_BLOCKED);
	if (!store_has(c->store, T_DEAD))
		return ctl_no_table(c, T_DEAD);
	rc = c->args.all ? find_held(c, NULL, &list, &n, &e) :
	    find_named(c, &list, &n, &missing, &e);
	rc = rc < 0 ? ctl_fail(c, &e) : change_held(c, list, n, how, what, &e);
	free(list);
	return missing > 0 ? CTL_FAILED : rc;
}

int
keys_bury(struct ctl *c)
{
	return run_on_held(c, &message_discard_change, "buried");
}

int
keys_retry(struct ctl *c)
{
	return run_on_held(c, &message_retry_change, "due now");
}
