/*
 * traits.h - what drivers differ in where no message is sent
 *
 * How a driver sends is its struct pub_ops, of driver/pub.h.  This is for code
 * that has only the configuration, and needs neither a connection nor the
 * library of a driver: it asks for a trait, never which driver it is.
 */
#ifndef OUTBOX_TRAITS_H
#define OUTBOX_TRAITS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/msg.h"
#include "conf/conf.h"
#include "util/buf.h"
#include "util/err.h"

#define SUBJECT_MAX	3000	/* a NATS server's line: 4096 in all */

#define TRAITS_HEAD	4	/* and the end of the list */

/* A text, or a list of texts, at this offset of struct conf. */
struct traits_setting {
	const char	*name;		/* NULL: none */
	size_t		 at;
	bool		 is_list;
};

struct driver_traits {
	const char	*noun;		/* "broker", "destination" */

	/*
	 * It is a bus: all routes to it are one destination, ROUTE_STREAM;
	 * it carries advisories and wake-ups, and has the stream of
	 * conf_stream(), if there is one.  Of one driver at most.
	 */
	bool		 has_stream;
	bool		 has_topics;	/* that outboxctl topic asks about */
	bool		 takes_stdout;	/* nothing else may write there */

	/*
	 * The template of where a message goes: the key that has it, its offset
	 * in struct conf, and that of a route's own in struct conf_route; 0:
	 * none, it is "{event_type}".
	 */
	const char	*template_key;
	size_t		 template, own_template;

	/*
	 * What a value of a row becomes in the template.  NULL: it stands as it
	 * is, but for a key that is not taken, which is written in hex.
	 */
	void		(*put_value)(struct buf *, const char *, size_t);
	bool		(*takes_key)(struct bytes);

	/* Is that legal, as a whole?  -1: no, see err.  NULL: always. */
	int		(*check)(const char *, size_t, struct err *);

	/*
	 * How losses are told that the audit found: of its row in
	 * outbox_streams; NULL: of a row for each stream, which "stream " stands
	 * before.  What the numbers of a loss count, and the key that says
	 * whether it is sent again.
	 */
	struct {
		const char	*row, *before, *behind, *numbers, *recover;
	} audit;

	/* Its part of the first line of a log file. */
	struct traits_setting head[TRAITS_HEAD];

	/* Append what to do about an error; rule as in traits_of(). */
	void		(*put_remedy)(const struct conf *,
			    const struct conf_route *rule, const char *error,
			    struct buf *);
};

extern const struct driver_traits	traits_nats, traits_http, traits_kafka,
					traits_stdout, traits_discard;

/* By enum conf_driver. */
extern const struct driver_traits	*const traits[CONF_DRIVERS];

/* Of a route's driver; NULL: of what no route takes. */
const struct driver_traits *traits_of(const struct conf *,
	    const struct conf_route *);

/* Of the driver whose losses a row of outbox_streams tells. */
const struct driver_traits *traits_of_audit(const char *row);

/* The template of such messages; never NULL. */
const char	*traits_template(const struct conf *,
		    const struct conf_route *);

/* Does a driver that is used write to standard output? */
bool		 traits_take_stdout(const struct conf *);

#endif
