/* log_throttle.h - logs a problem when it begins and ends, rarely between */
#ifndef OUTBOX_LOG_THROTTLE_H
#define OUTBOX_LOG_THROTTLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_THROTTLE_TEXTS	8

/* Zeroed: no problem. */
struct log_throttle {
	bool	active;
	bool	any_text;	/* a new text is no reason to log; kept */
	int64_t	since;		/* clock_ms() */
	int64_t	logged_at;
	int64_t	interval_ms;	/* from logged_at to the next line */
	char	texts[LOG_THROTTLE_TEXTS][512];	/* the last that were logged */
	size_t	ntexts;		/* logged so far */
};

/*
 * There is a problem: logs a warning at once, again after 1, 2, 4, ... at most
 * 60 seconds, and when the text is none of the last LOG_THROTTLE_TEXTS, but at
 * most once a second.
 */
void	log_throttle_warn(struct log_throttle *, const char *text, int64_t now);

/* It is over: logs "what: works again after N s" if there was a problem. */
void	log_throttle_over(struct log_throttle *, const char *what, int64_t now);

#endif
