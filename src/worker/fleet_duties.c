/*
 * fleet_duties.c - what the first worker does for all of them
 *
 * A row or a lease that another transaction has locked, and a row that the
 * database refuses, hold up what they concern, and nothing else: the worker's
 * own partitions go on, and so do the other duties.
 */

#include "worker/fleet_impl.h"

#include "util/clock.h"
#include "util/log.h"

#define STRAYS_MS	2500	/* so new labels have a lease within 5 s */
#define PURGE_MS	(5 * 60 * 1000)

#define DUE_ROUNDS	10	/* of a thousand rows, then other duties */
#define DUE_BUSY_MS	5000	/* after a wait for a lock in vain */
#define DUE_WAIT_MS	500	/* a deadlock is over sooner: no wait */
#define DUE_LATE_MS	2000	/* shorter delays are nothing to tell */

/*
 * Messages whose time has come
 */

static int
bring_back_due(struct fleet *f, int64_t now, struct err *e)
{
	struct unscheduled	u;
	struct err		late;
	unsigned		rounds = DUE_ROUNDS;
	int64_t			began;

	if (now < f->due_at)
		return 0;
	do {
		began = clock_ms();
		if (store_unschedule(f->store, &u, e) < 0)
			return -1;
	} while (u.more && rounds-- > 0);
	if (u.busy && clock_ms() - began >= DUE_WAIT_MS)
		f->due_at = now + DUE_BUSY_MS;
	if (!u.busy && u.nlocked == 0) {
		f->due_late_since = 0;
		log_throttle_over(&f->due_late, "scheduled messages", now);
		return 0;
	}
	if (f->due_late_since == 0)
		f->due_late_since = now;
	if (now - f->due_late_since < DUE_LATE_MS)
		return 0;
	if (u.busy)
		err_set(&late, "messages whose scheduled_at has come wait: "
		    "another transaction locks the row of settings or a "
		    "lease: %s; it is tried again within %d s: end that "
		    "transaction", u.why.text, DUE_BUSY_MS / 1000);
	else
		err_set(&late, "%zu message(s) whose scheduled_at has come "
		    "wait: another transaction locks their rows; they are sent "
		    "when it ends: end it if it does not", u.nlocked);
	log_throttle_keyed(&f->due_late, u.busy ? "busy" : "locked",
	    late.text, now);
	return 0;
}

/*
 * Labels without a lease
 */

/*
 * Log the new lease rows, with the remedy if a producer is to blame, and what
 * is left.
 */
static int
adopt_labels(struct fleet *f, int64_t now, const struct counts *c,
    bool *created, struct err *e)
{
	struct adopted	a;
	struct err	left;

	if (store_adopt_strays(f->store, &a, e) < 0)
		return -1;
	*created |= a.n > 0;
	if (a.n > 0 && counts_is_label(a.label) &&
	    counts_class(c, a.label) == COUNTS_NONE)
		log_warn("%u partition label(s) of waiting rows had no lease "
		    "row, \"%s\" among them: created; a producer uses a "
		    "partition count that is not declared, so that keys may "
		    "lose their order: let it use %u, or set "
		    "outbox.partition_count to its count", a.n, a.label,
		    c->count);
	else if (a.n > 0)
		log_warn("%u partition label(s) of waiting rows had no "
		    "lease row, \"%s\" among them: created; if you do not "
		    "expect such labels, check their producer", a.n, a.label);
	if (!a.busy && !a.left) {
		log_throttle_over(&f->strays, "labels without a lease", now);
		return 0;
	}
	if (a.busy)
		err_set(&left, "rows under labels without a lease wait: "
		    "another transaction locks a lease: %s; it is tried again: "
		    "end that transaction", a.why.text);
	else
		err_set(&left, "rows wait under labels that no worker can "
		    "lease: outboxctl status names them and the statement that "
		    "gives these rows the label of their key; correct the "
		    "labels that the producer writes");
	log_throttle_keyed(&f->strays, a.busy ? "busy" : "left", left.text,
	    now);
	return 0;
}

int
fleet_housekeep(struct fleet *f, int64_t now, const struct counts *c,
    bool *created, struct err *e)
{
	if (f->rank != 0)
		return 0;
	if (bring_back_due(f, now, e) < 0)
		return -1;
	if (now >= f->strays_at) {
		f->strays_at = now + STRAYS_MS;
		if (adopt_labels(f, now, c, created, e) < 0)
			return -1;
	}
	if (now >= f->purge_at) {
		f->purge_at = now + PURGE_MS;
		if (store_purge(f->store, &f->purged, e) < 0)
			return -1;
	}
	return 0;
}
