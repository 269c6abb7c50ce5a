/* envelope.h - a row as the broker gets it: subject, headers, message id */
#ifndef OUTBOX_ENVELOPE_H
#define OUTBOX_ENVELOPE_H

#include <stdbool.h>
#include <stddef.h>

#include "util/buf.h"
#include "util/err.h"
#include "common/msg.h"

#define ENVELOPE_MAX_HEADERS	64
#define ENVELOPE_MAX_SUBJECT	3000	/* the server's line is 4096 in all */

struct envelope {
	struct bytes	 payload;
	size_t		 nheaders;
	size_t		 size;		/* headers and payload on the wire */
	unsigned	 skipped;	/* metadata entries left out */
	bool		 rounded;	/* its integers were read as reals */

	struct buf	 text;		/* what the offsets point into */
	size_t		 subject;
	struct {
		size_t	name, value;
	} headers[ENVELOPE_MAX_HEADERS];
};

/* How envelopes of this process are made; all texts are borrowed. */
struct envelope_form {
	const char	*subject;	/* template of nats.subject */
	const char	*id_prefix;	/* not empty */
	const char	*stream;	/* "": no Nats-Expected-Stream */
};

/*
 * Fill the envelope, which is zeroed before its first use and may be used
 * again, for a row that has its event; it gets its hash.  Returns -1 when the row cannot be
 * sent as it is, with what is wrong with it; that is the message's fault.
 */
int	envelope_fill(struct envelope *, const struct envelope_form *,
	    struct msg *, struct err *);
void	envelope_free(struct envelope *);

const char *envelope_subject(const struct envelope *);
const char *envelope_name(const struct envelope *, size_t i);
const char *envelope_value(const struct envelope *, size_t i);

#endif
