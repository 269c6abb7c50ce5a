/* batch.c - see ctl.h */

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "util/clock.h"
#include "ctl/base/ctl.h"

#define TRIES		6	/* of a transaction with lock conflicts */
#define FIND_OUT_MS	10000	/* wait for the server to return */
#define FIND_OUT_PAUSE_MS 200
#define SHOW_MS		200	/* between updates of the bar */
#define BAR		30	/* its width */

void
ctl_sleep(int64_t ms)
{
	struct timespec	t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

enum fate { DONE, AGAIN, FAILED };

/*
 * COMMIT was sent and its answer is lost.  The same transaction changed the
 * audit row, so that row tells whether it was committed; the lock on it makes
 * us wait while the server still works on the transaction.
 */
static enum fate
find_out(struct ctl *c, bool has_noted, struct err *e)
{
	struct store	*s = c->store;
	int64_t		 until = clock_ms() + FIND_OUT_MS;
	uint64_t	 noted;
	struct err	 why = *e, other;

	c->in_doubt = true;
	for (; has_noted && clock_ms() < until; ctl_sleep(FIND_OUT_PAUSE_MS)) {
		if (!store_is_open(s) && store_open(s, &other) != 0)
			continue;
		/* Has the row the value that the transaction wrote? */
		store_sql(s, "UPDATE {audit} SET changed = changed "
		    "WHERE id = :id AND changed = :n",
		    SQL_NUMBER("id", c->audit), SQL_NUMBER("n", c->audited));
		if (store_exec(s, "audit", &noted, &other) != 0)
			continue;
		c->in_doubt = false;
		return noted > 0 ? DONE : AGAIN;
	}
	err_set(e, "%.400s: it is not known whether this was done: "
	    "look before you repeat it", why.text);
	return FAILED;
}

static enum fate
try_once(struct ctl *c, int (*fn)(struct ctl *, void *, struct err *),
    void *arg, struct err *e)
{
	uint64_t	audit = c->audit, audited = c->audited;
	int		rc;

	if (store_begin(c->store, e) == 0) {
		rc = fn(c, arg, e);
		if (store_end(c->store, rc, e) == 0)
			return DONE;
		if (rc == 0 && store_fault(c->store) == DB_LOST)
			return find_out(c, !store_is_pillar(c->store) &&
			    (c->audit != audit || c->audited != audited), e);
	}
	return store_fault(c->store) == DB_BUSY ? AGAIN : FAILED;
}

int
ctl_transaction(struct ctl *c, int (*fn)(struct ctl *, void *, struct err *),
    void *arg, struct err *e)
{
	uint64_t	audit = c->audit, audited = c->audited;
	enum fate	fate;

	for (int i = 1;; i++) {
		if ((fate = try_once(c, fn, arg, e)) == DONE)
			return 0;
		c->audit = audit;	/* our row was rolled back, too */
		c->audited = audited;
		if (fate != AGAIN || i == TRIES)
			return -1;
		ctl_sleep(50 << i);
	}
}

void
progress_show(struct progress *p, uint64_t done, uint64_t total)
{
	int64_t	now = clock_ms();
	int	n;

	if (now < p->next_at || !isatty(STDERR_FILENO))
		return;
	p->next_at = now + SHOW_MS;
	p->shown = true;
	if (total == 0) {
		fprintf(stderr, "\r%s %llu", p->what, (unsigned long long)done);
		return;
	}
	n = done < total ? (int)(done * BAR / total) : BAR;
	fprintf(stderr, "\r%s [%.*s%*s] %3llu%% %llu of %llu", p->what, n,
	    "##############################", BAR - n, "",
	    (unsigned long long)(done < total ? done * 100 / total : 100),
	    (unsigned long long)done, (unsigned long long)total);
}

void
progress_end(struct progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
	p->shown = false;
}
