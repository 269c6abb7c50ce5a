/*
 * follow.h - follows one message through its life, at level debug
 *
 * One message a second gets a line when it was claimed, sent, acknowledged and
 * settled, each with the time since its claim began.  At any other level
 * nothing is done.
 */
#ifndef OUTBOX_FOLLOW_H
#define OUTBOX_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "common/msg.h"

/* Zeroed: no message is followed. */
struct follow {
	bool		on;
	uint64_t	sequence;
	int64_t		began_us;	/* when its claim was sent */
	int64_t		next_us;	/* the earliest time of the next one */
	enum outcome	outcome;
	char		error[200];	/* why it was not delivered; or "" */
};

/* A batch was claimed, by a statement that was sent at clock_us() began. */
void	follow_claimed(struct follow *, const struct batch *, int64_t began);

/* The message was handed to the connection. */
void	follow_sent(const struct follow *, struct msg *, const char *id_prefix,
	    const char *subject);

/* It was acknowledged: stored, or a duplicate. */
void	follow_acked(const struct follow *, const struct msg *,
	    bool duplicate);

/* The batch was published: keeps the outcome for follow_settled(). */
void	follow_published(struct follow *, const struct batch *);

/* The outcomes of the batch are in the database. */
void	follow_settled(struct follow *);

#endif
