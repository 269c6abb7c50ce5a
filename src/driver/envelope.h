/*
 * envelope.h - a row as a message: subject, headers, body
 *
 * What surrounds the payload depends on the form: see publish.envelope.  The
 * headers that name the message and its row are in every form.
 */
#ifndef OUTBOX_ENVELOPE_H
#define OUTBOX_ENVELOPE_H

#include <stdbool.h>
#include <stddef.h>

#include "conf/conf.h"
#include "util/buf.h"
#include "util/err.h"
#include "common/msg.h"
#include "driver/type_tokens.h"

#define ENVELOPE_MAX_HEADERS	64

#define ENVELOPE_CONTENT_TYPE	"Content-Type"

struct envelope {
	struct bytes	 payload;	/* as it is sent */
	struct bytes	 key, time;	/* of the row, as in its struct msg */
	size_t		 nheaders;
	size_t		 size;		/* headers and payload on the wire */
	unsigned	 skipped;	/* metadata entries left out */
	bool		 rounded;	/* its integers were read as reals */

	struct buf	 text;		/* the offsets below point into it */
	size_t		 subject;
	enum conf_driver driver;	/* as in its form */
	const char	*endpoint;	/* as in its form */
	bool		 typed;		/* it has a content type */
	struct {
		size_t	name, value;
	} headers[ENVELOPE_MAX_HEADERS];
	struct buf	 body;		/* the payload with what surrounds it */
	struct buf	 scratch;
};

/* How a message is made: a value, so that messages may differ in it. */
struct envelope_form {
	const char	*subject;	/* template of nats.subject, of http.path,
					   or of what logs name */
	const char	*id_prefix;	/* not empty */
	const char	*stream;	/* "": no Nats-Expected-Stream */
	enum conf_driver driver;	/* where it goes */
	const char	*endpoint;	/* of the driver http */
	enum conf_envelope kind;
	const char	*source;	/* of CloudEvents; NULL or "": it is made
					   of id_prefix */
	const char	*origin;	/* MESSAGE_ORIGIN_HEADER; borrowed; NULL
					   or "": none */
	struct type_tokens types;
};

/* The form of this configuration; prefix: as conf_id_prefix() returns it. */
struct envelope_form envelope_form_of(const struct conf *,
	    const char *prefix);

/* The same with what a route says; form: of messages without a route. */
struct envelope_form envelope_form_of_route(const struct conf *,
	    const struct conf_route *, const struct envelope_form *form);

/*
 * Make the message of a row that has its event.  Its id needs the hash of the
 * event: msg_id() stores that in the row.  The envelope is zeroed before its
 * first use and may be used again.  Returns -1 with an error if the row can
 * never be sent as it is.
 */
int	envelope_fill(struct envelope *, const struct envelope_form *,
	    struct msg *, struct err *);
void	envelope_free(struct envelope *);

/* Valid until the next envelope_fill(); i is less than nheaders. */
const char *envelope_subject(const struct envelope *);

/*
 * The subject that this message would have, legal or not.  Uses the envelope's
 * memory: its former contents are gone.
 */
const char *envelope_subject_of(struct envelope *, const struct envelope_form *,
	    const struct msg *);
const char *envelope_name(const struct envelope *, size_t i);
const char *envelope_value(const struct envelope *, size_t i);

#endif
