/* verdict.h - what an answer of the broker means */
#ifndef OUTBOX_VERDICT_H
#define OUTBOX_VERDICT_H

enum verdict {
	VERDICT_STORED,		/* acknowledged with a sequence */
	VERDICT_DUPLICATE,	/* was stored before; as good as stored */
	VERDICT_MESSAGE,	/* this message will never work as it is */
	VERDICT_TRANSIENT,	/* not stored; try again later */
	VERDICT_ABSENT,		/* not stored: nobody was there to take it */
	VERDICT_DESTINATION	/* the fault is the stream's, not the message's */
};

/*
 * The verdict on a JetStream API error.  Codes nobody here has seen are the
 * destination's: better a route that waits than a message that dies.
 */
enum verdict	 verdict_of(int err_code);

#endif
