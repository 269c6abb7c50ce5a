/*
 * route.h - which of publish.routes a message takes
 *
 * The first route whose patterns all match.  In a pattern * stands for any
 * characters, also none and blanks; all others stand for themselves.
 */
#ifndef OUTBOX_ROUTE_H
#define OUTBOX_ROUTE_H

#include <stdbool.h>
#include <stddef.h>

#include "conf/conf.h"
#include "common/msg.h"
#include "driver/envelope.h"

/* ROUTE_STREAM, one for each route, the driver of the rest, and nowhere. */
#define ROUTE_DESTINATIONS	(CONF_ROUTES_MAX + 3)

/* Of what has no route, and waits for one. */
#define ROUTE_NOWHERE	(ROUTE_DESTINATIONS - 1)

/* That of all routes to the driver whose trait is has_stream: one broker. */
#define ROUTE_STREAM	0

struct route {
	const struct conf_route	*rule;		/* NULL: no route matched */
	struct envelope_form	 form;
	enum conf_driver	 driver;
	unsigned		 destination;	/* its number; routes with one
						   number fail together */
	char			 group[64];	/* its name to the operator;
						   "": it need not be named */
};

/*
 * conf and the texts of the forms are borrowed.  routes[n] is of the messages
 * that no rule matches: its rule is NULL, its form the one of relay.h.  Zeroed,
 * there are no routes.
 */
struct route_set {
	const struct conf	*conf;
	size_t			 n;
	struct route		 routes[CONF_ROUTES_MAX + 1];
	bool			 several;	/* destinations */
};

/* form: as of relay.h; what a rule does not say is taken from it. */
void	route_set_init(struct route_set *, const struct conf *,
	    const struct envelope_form *form);

/*
 * The route of the message.  A header is an entry of the metadata: a text,
 * number, true or false.  Metadata that is no JSON object has no headers.
 * Parsed only if a route asks for a header.
 */
const struct route *route_of(const struct route_set *, const struct msg *);

/* The name of a destination, as status has it, while there are several. */
const char *route_name(const struct route_set *, unsigned destination);

/* What to do with a failed message: the rule's, or retry's without one. */
int64_t	route_max_attempts(const struct conf *, const struct conf_route *);
int64_t	route_backoff(const struct conf *, const struct conf_route *);
int64_t	route_max_backoff(const struct conf *, const struct conf_route *);

/* The longest delay in ms, without jitter, that any rule, or retry, gives. */
int64_t	route_longest_backoff(const struct conf *);

#endif
