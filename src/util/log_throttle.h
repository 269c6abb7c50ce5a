/* log_throttle.h - logs a problem when it begins and ends, rarely between */
#ifndef OUTBOX_LOG_THROTTLE_H
#define OUTBOX_LOG_THROTTLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/log.h"

#define LOG_THROTTLE_KEYS	8

/* Zeroed: no problem. */
struct log_throttle {
	const char *error_class;	/* a field of its lines; or NULL */
	bool	active;
	bool	told;		/* at least one line was logged */
	bool	any_text;	/* a new text is no reason to log; kept */
	int64_t	since;		/* clock_ms() */
	int64_t	logged_at;
	int64_t	interval_ms;	/* from logged_at to the next line */
	char	keys[LOG_THROTTLE_KEYS][512];	/* the last that were logged;
						   a text is its own key */
	size_t	nkeys;		/* logged so far */
};

/*
 * There is a problem: logs a warning at once, again after 1, 2, 4, ... at most
 * 60 seconds, and when the text is none of the last LOG_THROTTLE_KEYS, but at
 * most once a second.
 */
void	log_throttle_warn(struct log_throttle *, const char *text, int64_t now);

/* The same with fields. */
void	log_throttle_event(struct log_throttle *, const struct log_field *,
	    const char *text, int64_t now);

/*
 * The same; texts with the same key tell of the same problem, and only the
 * first of them is new.
 */
void	log_throttle_keyed(struct log_throttle *, const char *key,
	    const char *text, int64_t now);

/* There is a problem; told: the caller has logged that it begins. */
void	log_throttle_begin(struct log_throttle *, bool told, int64_t now);

/*
 * It is over: logs "what: works again after 3 min 5 s" if there was a problem,
 * at level debug if it was silent.
 */
void	log_throttle_over(struct log_throttle *, const char *what, int64_t now);

#endif
