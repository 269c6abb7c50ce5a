/* advice.h - what to do about an error, by a part of its text */
#ifndef OUTBOX_ADVICE_H
#define OUTBOX_ADVICE_H

#include "conf/conf.h"
#include "util/buf.h"

/* A list ends with NULL. */
struct advice {
	const char	*part, *remedy;
};

/* The remedy of the first one that fits; NULL: none. */
const char	*advice_find(const struct advice *, const char *error);

/*
 * Append that remedy; without one, to start or correct the servers of a key:
 * "start the brokers at 127.0.0.1:9092, or correct kafka.brokers".
 */
void		 advice_put(const struct advice *, const char *error,
		    const char *servers, const struct conf_list *,
		    const char *key, struct buf *);

#endif
