/* nats_verdict.h - the meaning of the errors of nats.c and nats-server */
#ifndef OUTBOX_NATS_VERDICT_H
#define OUTBOX_NATS_VERDICT_H

#include <stddef.h>

#include "driver/verdict.h"

/* An error of the library or the server; the table is in nats_verdict.c. */
struct nats_verdict_row {
	int		 status;	/* natsStatus of a call; 0: none */
	int		 code;		/* err_code of an answer; 0: none */
	const char	*text;		/* part of its text; NULL: any */
	enum verdict	 verdict;
	enum error_class class;		/* CLASS_NONE: CLASS_OTHER */
	const char	*what;		/* the text of the library or server */
};

/* The table, for the test that walks it; sets *n to its length. */
const struct nats_verdict_row *nats_verdict_table(size_t *n);

/*
 * The verdict on a natsStatus that a call returned.  An unknown status means
 * that the connection cannot be used any more.
 */
enum verdict	 nats_verdict_of_status(int status);

/*
 * The verdict on the err_code of an answer and its text.  An unknown code is
 * the destination's fault: waiting is better than a dead message.
 */
enum verdict	 nats_verdict_of_error(int code, const char *text);

/* The class of the same, and of a complaint that names no message. */
enum error_class nats_verdict_class(int code, const char *text);
enum error_class nats_verdict_class_of_complaint(const char *text);

#endif
