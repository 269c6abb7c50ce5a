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

/*
 * What kind of fault keeps messages from being stored: for readers that must
 * not parse texts, such as outboxctl.
 */
enum error_class {
	CLASS_NONE,
	CLASS_NO_STREAM,	/* no stream takes the subject, nats.stream does
				   not exist, or JetStream is off */
	CLASS_FULL,		/* a limit of stream, account or server */
	CLASS_SEALED,
	CLASS_PERMISSION,	/* the server forbids it to this user */
	CLASS_TIMEOUT,		/* no answer */
	CLASS_LOST,		/* the connection ended meanwhile */
	CLASS_OFFLINE,		/* stream or JetStream is not available now */
	CLASS_OVERLOAD,		/* too many requests */
	CLASS_UNFIT,		/* a setting of the stream: mirror, no_ack ... */
	CLASS_WRONG_STREAM,	/* another one than nats.stream took it */
	CLASS_TOO_LARGE,	/* for this server, not for one before */
	CLASS_AUDIT,		/* the stream is to be checked for lost messages
				   first, and cannot be */
	CLASS_OTHER,
	CLASSES
};

/* "no_stream", "full", ...; "" for CLASS_NONE. */
const char	*error_class_word(enum error_class);

/* An error of the library or the server; the table is in verdict.c. */
struct verdict_row {
	int		 status;	/* natsStatus of a call; 0: none */
	int		 code;		/* err_code of an answer; 0: none */
	const char	*text;		/* part of its text; NULL: any */
	enum verdict	 verdict;
	enum error_class class;		/* CLASS_NONE: CLASS_OTHER */
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

/* The class of the same, and of a complaint that names no message. */
enum error_class verdict_class(int code, const char *text);
enum error_class verdict_class_of_complaint(const char *text);

#endif
