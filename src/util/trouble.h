/* trouble.h - one line when trouble starts, few while it lasts, one at the end */
#ifndef OUTBOX_TROUBLE_H
#define OUTBOX_TROUBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TROUBLE_TEXTS	8

/* A zeroed struct trouble is no trouble. */
struct trouble {
	bool	active;
	bool	any_text;	/* another text is no news; stays set */
	int64_t	since;		/* clock_ms() */
	int64_t	logged_at;
	int64_t	pace_ms;
	char	texts[TROUBLE_TEXTS][512];	/* the latest that were logged */
	size_t	ntexts;		/* in all */
};

/*
 * It is there: logs a warning when it is new or has a text it did not have
 * lately (at most once a second), and again after 1, 2, 4, ... at most 60
 * seconds.
 */
void	trouble_met(struct trouble *, const char *text, int64_t now);

/* It is gone: logs "what: works again" if there was any. */
void	trouble_over(struct trouble *, const char *what, int64_t now);

#endif
