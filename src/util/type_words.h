/*
 * type_words.h - a class-like type as tokens of a subject
 *
 * Backslash, slash, dot and a double colon separate tokens.  A token is split
 * into words, which become small letters (of ASCII; other characters stay) and
 * are joined by one character:
 *
 *	App\Events\OrderCreated		app.events.order-created
 *	Billing::HTTPServerError	billing.http-server-error
 *	order_created			order-created
 *	Order2Paid			order2-paid
 *
 * A word ends before a capital that follows a small letter or a digit, before
 * the last of several capitals if a small letter follows, and at _ and -.  One
 * separator in front, as PHP and Ruby may write it, is left out.
 */
#ifndef OUTBOX_TYPE_WORDS_H
#define OUTBOX_TYPE_WORDS_H

#include <stddef.h>

#include "util/buf.h"

/* Append the tokens, legal or not; joint: '-' or '_'. */
void	type_words_put(struct buf *, const char *type, size_t len, char joint);

#endif
