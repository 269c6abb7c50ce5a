/* verdict.h - what an answer of the broker means */
#ifndef OUTBOX_VERDICT_H
#define OUTBOX_VERDICT_H

#include <stddef.h>

enum verdict {
	VERDICT_STORED,		/* acknowledged with a sequence */
	VERDICT_DUPLICATE,	/* was stored before; as good as stored */
	VERDICT_MESSAGE,	/* this message will never work as it is */
	VERDICT_TRANSIENT,	/* not stored; try again later */
	VERDICT_ABSENT,		/* not stored: nobody was there to take it */
	VERDICT_DESTINATION,	/* the fault is the stream's, not the message's */
	VERDICT_LOST		/* the connection's end: nobody knows */
};

/* One thing that the library or a server says; see the table in verdict.c. */
struct verdict_row {
	int		 status;	/* natsStatus of a call; 0: no such */
	int		 code;		/* err_code of an answer; 0: no such */
	const char	*text;		/* with this in its text; NULL: any */
	enum verdict	 verdict;
	const char	*what;		/* in the words of who says it */
};

/* The table, for the test that walks it; *n is set to its length. */
const struct verdict_row *verdict_table(size_t *n);

/*
 * The verdict on a natsStatus that a call returned. Those nobody here has
 * seen mean that the connection is of no use any more.
 */
enum verdict	 verdict_of_status(int status);

/*
 * The verdict on the err_code of an answer and its text.  Codes nobody here
 * has seen are the destination's: better a route that waits than a message
 * that dies.
 */
enum verdict	 verdict_of_error(int code, const char *text);

#endif
