/*
 * stream.h - is the stream fit for what is to be sent to it?
 *
 * Judges the broker's description of a stream against the configuration.
 * What cannot work pauses the route before a message is tried; what is unsafe
 * is a warning with its remedy.
 */
#ifndef OUTBOX_STREAM_H
#define OUTBOX_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"
#include "util/err.h"

#define STREAM_WARNINGS	8

struct stream_report {
	bool		unfit;		/* nothing would arrive */
	struct err	why;		/* unfit: what is wrong and the remedy */
	struct err	warnings[STREAM_WARNINGS];
	size_t		nwarnings;
};

/* What a stream holds, and what it may drop with nothing being wrong. */
struct stream_state {
	char		server[64];	/* id of the server since its start */
	char		created[48];	/* "": there is no such stream */
	uint64_t	first, last, messages;
	uint64_t	first_known;	/* messages from here on that are missing
					   below first are lost; 0: removed */
	int64_t		window_ms;	/* of duplicates */
	bool		forgets;	/* drops single messages anywhere */
	bool		expires;	/* by age: may empty itself */
	bool		limited;	/* by age, size or number, or forgets */
};

/* body is the answer to $JS.API.STREAM.INFO.<nats.stream>. */
void	stream_judge(struct stream_report *, const struct conf *,
	    const char *body, size_t len);

/*
 * The same answer as a state, without the server, which it does not name, and
 * without first_known.
 */
void	stream_read_state(struct stream_state *, const char *body, size_t len);

/*
 * Could a subject made from the template match the stream's subject?  Both
 * are compared token by token as far as the template's text is fixed.
 */
bool	stream_may_cover(const char *pattern, const char *template);

#endif
