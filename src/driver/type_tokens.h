/*
 * type_tokens.h - an event type as tokens of a subject
 *
 * An alias of exactly this type wins; else the rule of publish.type_case
 * applies (type_words.h); without either the type stands as it is.
 */
#ifndef OUTBOX_TYPE_TOKENS_H
#define OUTBOX_TYPE_TOKENS_H

#include "util/buf.h"
#include "conf/conf.h"
#include "common/msg.h"

/* A value; zeroed: types stand as they are. */
struct type_tokens {
	enum conf_type_case	 type_case;
	const struct conf_map	*aliases;	/* borrowed; NULL: none */
};

struct type_tokens type_tokens_of(const struct conf *);

/* Append the tokens, which may be illegal: the type may be any bytes. */
void	type_tokens_put(struct buf *, const struct type_tokens *, struct bytes);

#endif
