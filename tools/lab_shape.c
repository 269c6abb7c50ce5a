/*
 * lab_shape.c - the tables in which messages are: our own, or one table of an
 * application, as outbox.columns maps it
 */
#include <err.h>
#include <stdio.h>
#include <string.h>

#include "lab.h"

#define USAGE	2

/* Those of tests/lib/shapes.sql have the columns that schema check adds. */
static const struct lab_shape shapes[] = {
	{ "inline", "outbox_messages", "id", "message_id", "order_key",
	    "topic", "payload", "published_at", "headers", NULL },
	{ "laravel", "outbox_messages", "outbox_seq", "id", "topic", "topic",
	    "payload", "sent_at", NULL, NULL },
	{ "debezium", "outboxevent", "outbox_seq", "id", "aggregateid", "type",
	    "payload", "published_at", NULL, "aggregatetype" },
};

#define NSHAPES	(sizeof(shapes) / sizeof(shapes[0]))

const struct lab_shape *
lab_shape(const struct lab_opts *o)
{
	if (o->shape == NULL)
		return NULL;
	for (size_t i = 0; i < NSHAPES; i++)
		if (strcmp(shapes[i].name, o->shape) == 0)
			return &shapes[i];
	errx(USAGE, "--shape: %s is unknown", o->shape);
}

void
lab_events(const struct lab_opts *o, char text[LAB_TABLE])
{
	const struct lab_shape	*s = lab_shape(o);

	if (s == NULL)
		snprintf(text, LAB_TABLE, "events");
	else
		snprintf(text, LAB_TABLE, "(SELECT %s AS sequence, %s AS "
		    "stream_id, %s AS event_type, %s AS event_data FROM %s) "
		    "AS events", s->seq, s->key, s->type, s->payload,
		    s->table);
}

void
lab_outbox(const struct lab_opts *o, char text[LAB_TABLE])
{
	const struct lab_shape	*s = lab_shape(o);

	if (s == NULL)
		snprintf(text, LAB_TABLE, "outbox");
	else
		snprintf(text, LAB_TABLE, "(SELECT %s AS global_sequence, %s "
		    "AS published_at, attempts, last_error FROM %s) AS outbox",
		    s->seq, s->published, s->table);
}
