/* verdict.h - the meaning of a destination's answer, and of its faults */
#ifndef OUTBOX_VERDICT_H
#define OUTBOX_VERDICT_H

enum verdict {
	VERDICT_STORED,		/* acknowledged with a sequence */
	VERDICT_DUPLICATE,	/* was stored before; as good as stored */
	VERDICT_MESSAGE,	/* it can be the message's own fault */
	VERDICT_TOO_LARGE,	/* the same: too long for some limit */
	VERDICT_ADDRESS,	/* as a rule it is not its fault; one message
				   may have an address that is not there */
	VERDICT_TRANSIENT,	/* not stored; try again later */
	VERDICT_PENDING,	/* another copy of it is being stored: in doubt */
	VERDICT_ABSENT,		/* not stored: no stream took it */
	VERDICT_DESTINATION,	/* the stream's fault, not the message's */
	VERDICT_ELSEWHERE,	/* not by the stream, whose own answer may yet
				   come: in doubt */
	VERDICT_LOST,		/* the connection ended: in doubt */
	VERDICT_LOST_TOGETHER	/* the same, of one that others shared */
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
	CLASS_NO_ROUTE,		/* no rule of publish.routes matches */
	CLASS_OTHER,
	CLASSES
};

/* "no_stream", "full", ...; "" for CLASS_NONE. */
const char	*error_class_word(enum error_class);

#endif
