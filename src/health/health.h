/*
 * health.h - what is wrong, and with what remedy
 *
 * A healthy fleet has no problem.  The functions judge a state and ask no
 * server; the same state gives the same problems.
 */
#ifndef OUTBOX_HEALTH_H
#define OUTBOX_HEALTH_H

#include <stddef.h>

#include <jansson.h>

#include "conf/conf.h"

enum health_severity {
	HEALTH_INFO,		/* no action needed */
	HEALTH_WARNING,		/* an operator is needed */
	HEALTH_CRITICAL		/* messages are not sent, or events are lost */
};

/* A kind of problem. */
struct health_kind {
	const char		*id;		/* "halted_keys" */
	enum health_severity	 severity;
};

/* All kinds, in the order in which problems are listed. */
const struct health_kind *health_kinds(size_t *n);

/* "info", "warning", "critical" */
const char *health_severity_word(enum health_severity);

/*
 * The problems of a state, the worst first, as an array of
 *
 *	{"id", "severity", "since", "touches", "why", "remedy", "text"}
 *
 * since is RFC 3339 or null, touches an object such as {"key": "order-17"}, and
 * text is why and remedy as a sentence.  The caller frees.
 *
 * The state is an object with the members of status --json, see state.h.  What
 * was not read is missing there, and is not judged.
 */
json_t	*health_judge(const struct conf *, const json_t *state);

/*
 * The exit status: 0 healthy, 1 an operator is needed, 3 cannot tell, 78 the
 * configuration is in error.
 */
int	 health_exit(const json_t *problems);

#endif
