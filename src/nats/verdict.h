/* verdict.h - the meaning of the broker's answers */
#ifndef OUTBOX_VERDICT_H
#define OUTBOX_VERDICT_H

#include <stddef.h>

enum verdict {
	VERDICT_STORED,		/* acknowledged with a sequence */
	VERDICT_DUPLICATE,	/* was stored before; as good as stored */
	VERDICT_MESSAGE,	/* can never be stored as it is */
	VERDICT_TRANSIENT,	/* not stored; try again later */
	VERDICT_ABSENT,		/* not stored: no stream took it */
	VERDICT_DESTINATION,	/* the stream's fault, not the message's */
	VERDICT_LOST		/* the connection ended: in doubt */
};

/* An error of the library or the server; the table is in verdict.c. */
struct verdict_row {
	int		 status;	/* natsStatus of a call; 0: none */
	int		 code;		/* err_code of an answer; 0: none */
	const char	*text;		/* part of its text; NULL: any */
	enum verdict	 verdict;
	const char	*what;		/* the text of the library or server */
};

/* The table, for the test that walks it; sets *n to its length. */
const struct verdict_row *verdict_table(size_t *n);

/*
 * The verdict on a natsStatus that a call returned.  An unknown status means
 * that the connection cannot be used any more.
 */
enum verdict	 verdict_of_status(int status);

/*
 * The verdict on the err_code of an answer and its text.  An unknown code is
 * the destination's fault: waiting is better than a dead message.
 */
enum verdict	 verdict_of_error(int code, const char *text);

#endif
