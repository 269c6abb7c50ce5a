/*
 * health.h - what is wrong, and with what remedy
 *
 * A healthy fleet has no problem.  A problem needs a person, now: messages are
 * not sent, or are lost, or what the configuration asks for does not happen.
 * What works and could be better is advice: it is shown, and changes no exit
 * status, no readiness and no alert.  The functions judge a state and ask no
 * server; the same state gives the same answer.
 */
#ifndef OUTBOX_HEALTH_H
#define OUTBOX_HEALTH_H

#include <stddef.h>

#include <jansson.h>

#include "conf/conf.h"

enum health_severity {
	HEALTH_ADVICE,		/* no problem: it may stay as it is */
	HEALTH_WARNING,		/* an operator is needed */
	HEALTH_CRITICAL		/* messages are not sent, or events are lost */
};

/* A kind of problem or advice. */
struct health_kind {
	const char		*id;		/* "halted_keys" */
	enum health_severity	 severity;
};

/* All kinds, in the order in which problems are listed. */
const struct health_kind *health_kinds(size_t *n);

/* "advice", "warning", "critical" */
const char *health_severity_word(enum health_severity);

/*
 * Add two members to a state: its problems, the worst first, and the advice;
 * each is an array of
 *
 *	{"id", "severity", "since", "touches", "why", "remedy", "text"}
 *
 * since is RFC 3339 or null, touches an object such as {"key": "order-17"}, and
 * text is why and remedy as a sentence.
 *
 * The state is an object with the members of status --json, see state.h.  What
 * was not read is missing there, and is not judged.
 */
void	 health_judge(const struct conf *, json_t *state);

/*
 * The exit status by the problems: 0 there is none, 1 an operator is needed, 3
 * cannot tell, 78 the configuration is in error.
 */
int	 health_exit(const json_t *problems);

#endif
