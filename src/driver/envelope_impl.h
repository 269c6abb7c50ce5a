/*
 * envelope_impl.h - shared by the files of the envelope, and private to them
 *
 * envelope.c		the whole; subject, and headers of columns
 * envelope_metadata.c	entries of the metadata as headers
 * envelope_json.c	the payload in a JSON object
 * cloudevents.c	a row as a CloudEvent
 */
#ifndef OUTBOX_ENVELOPE_IMPL_H
#define OUTBOX_ENVELOPE_IMPL_H

#include <string.h>

#include <jansson.h>

#include "driver/envelope.h"

/* Inline: called a dozen times for each message. */
static inline void
envelope_open_header(struct envelope *v, const char *name)
{
	v->headers[v->nheaders].name = v->text.len;
	buf_add(&v->text, name, strlen(name) + 1);
	v->headers[v->nheaders].value = v->text.len;
}

static inline void
envelope_close_header(struct envelope *v)
{
	buf_add(&v->text, "", 1);
	/* "name: value\r\n" on the wire, here two NULs */
	v->size += v->text.len - v->headers[v->nheaders].name + 2;
	v->nheaders++;
}

/* True if it is neither NULL nor empty. */
static inline bool
envelope_has(struct bytes b)
{
	return b.data != NULL && b.len > 0;
}

/* envelope_metadata.c */
/* *root NULL: there are no entries.  The caller frees it. */
int	envelope_read_metadata(struct envelope *, struct bytes text,
	    json_t **root, struct err *);
/* Entries with a name of ours are left out, and depend on the form. */
void	envelope_add_metadata(struct envelope *, const struct envelope_form *,
	    json_t *root);

/* envelope_json.c: these write the members of an object into the body. */
void	envelope_put_text(struct buf *, const char *name, struct bytes);
/* Append a time of the database as RFC 3339. */
void	envelope_put_time(struct buf *, struct bytes);
/* The payload under one of two names; returns true if it is JSON. */
bool	envelope_put_payload(struct envelope *, const struct msg *,
	    const char *json, const char *base64);
int	envelope_put_json(struct envelope *, const struct envelope_form *,
	    struct msg *, json_t *metadata, struct err *);

/* cloudevents.c: -1 with an error if the row can be none. */
int	cloudevents_check(const struct msg *, struct err *);
void	cloudevents_add_headers(struct envelope *,
	    const struct envelope_form *, struct msg *, json_t *metadata);
void	cloudevents_put_body(struct envelope *, const struct envelope_form *,
	    struct msg *, json_t *metadata);

#endif
