/* batch.c - see ctl.h */

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "ctl.h"

#define TRIES		6	/* of a transaction that meets a lock */
#define SHOW_MS		200	/* between two looks of the bar */
#define BAR		30	/* its width */

void
ctl_sleep(int64_t ms)
{
	struct timespec	t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

int
ctl_transaction(struct ctl *c, int (*fn)(struct ctl *, void *, struct err *),
    void *arg, struct err *e)
{
	uint64_t	audit = c->audit;

	for (int i = 1;; i++) {
		if (store_begin(c->store, e) == 0 && fn(c, arg, e) == 0 &&
		    store_commit(c->store, e) == 0)
			return 0;
		store_rollback(c->store);
		c->audit = audit;	/* our row went with the rest */
		if (store_fault(c->store) != DB_BUSY || i == TRIES)
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
		fprintf(stderr, "\r%s %llu", p->what,
		    (unsigned long long)done);
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
