/*
 * several.c - see several.h
 *
 * The index of a message says nothing of its destination, so that is noted for
 * each message that is out.  What only NATS has (a stream that can be asked,
 * wake-ups, advisories) is asked of NATS.
 */

#include "drivers/several.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "util/xalloc.h"

#define NOT_OUT		UINT8_MAX

struct several {
	struct pub	 drivers[CONF_DRIVERS];
	size_t		 asked;		/* the driver that is asked; see asked() */
	size_t		 ends[CONF_DRIVERS];	/* of their descriptors */
	uint8_t		*out;		/* by index: its driver, or NOT_OUT */
	uint32_t	 size, next;	/* of out; the next to be looked at */
	struct err	 why[CONF_DRIVERS];	/* the last open() failed */
};

/* The next driver that is used, from *i on; NULL: none. */
static const struct pub *
next_driver(const struct several *s, size_t *i)
{
	for (; *i < CONF_DRIVERS; (*i)++)
		if (s->drivers[*i].ops != NULL)
			return &s->drivers[*i];
	return NULL;
}


static bool
is_open(const struct pub *p)
{
	return p->ops->is_open(p->arg);
}

static bool
several_is_open(void *arg)
{
	const struct pub	*p;

	for (size_t i = 0; (p = next_driver(arg, &i)) != NULL; i++)
		if (is_open(p))
			return true;
	return false;
}

static bool
several_is_whole(void *arg)
{
	const struct pub	*p;

	for (size_t i = 0; (p = next_driver(arg, &i)) != NULL; i++)
		if (!is_open(p))
			return false;
	return true;
}

/* Opens what is away; -1 if something still is. */
static int
several_open(void *arg, struct err *e)
{
	struct several		*s = arg;
	const struct pub	*p;
	struct err		 one;
	int			 rc = 0;

	for (size_t i = 0; (p = next_driver(s, &i)) != NULL; i++) {
		if (is_open(p) || p->ops->open(p->arg, &one) == 0)
			continue;
		s->why[i] = one;
		if (rc == 0)
			*e = one;
		rc = -1;
	}
	return rc;
}

static bool
several_caution(void *arg, struct err *e)
{
	const struct pub	*p;
	struct err		 one;
	bool			 any = false;

	for (size_t i = 0; (p = next_driver(arg, &i)) != NULL; i++)
		if (p->ops->caution(p->arg, &one) && !any) {
			*e = one;
			any = true;
		}
	return any;
}

static void
several_close(void *arg)
{
	const struct pub	*p;

	for (size_t i = 0; (p = next_driver(arg, &i)) != NULL; i++)
		p->ops->close(p->arg);
}

static void
several_free(void *arg)
{
	struct several	*s = arg;

	for (size_t i = 0; i < CONF_DRIVERS; i++)
		if (s->drivers[i].ops != NULL)
			pub_free(&s->drivers[i]);
	free(s->out);
	free(s);
}

/* The broker, or else any: all but the broker answer such questions alike. */
static const struct pub *
asked(const struct several *s)
{
	return &s->drivers[s->asked];
}

static bool
several_check(void *arg, struct stream_report *r, struct err *e)
{
	const struct pub	*p = asked(arg);

	return p->ops->check(p->arg, r, e);
}

static bool
several_state(void *arg, struct stream_state *st, struct err *e)
{
	const struct pub	*p = asked(arg);

	return p->ops->state(p->arg, st, e);
}

static int
several_get_stored(void *arg, const char *prefix, struct stored_message *m,
    size_t n, const struct pub_go_on *go_on, struct err *e)
{
	const struct pub	*p = asked(arg);

	return p->ops->get_stored(p->arg, prefix, m, n, go_on, e);
}

static bool
several_removed(void *arg, struct stream_removed *r, struct err *e)
{
	const struct pub	*p = asked(arg);

	return p->ops->removed(p->arg, r, e);
}

/* The largest: a driver refuses by itself what is too long for it. */
static int64_t
several_max_payload(void *arg)
{
	const struct pub	*p;
	int64_t			 max = 0;

	for (size_t i = 0; (p = next_driver(arg, &i)) != NULL; i++)
		max = later(max, p->ops->max_payload(p->arg));
	return max;
}

static int64_t
several_capacity(void *arg)
{
	const struct pub	*p;
	int64_t			 least = INT64_MAX;

	for (size_t i = 0; (p = next_driver(arg, &i)) != NULL; i++)
		least = sooner(least, p->ops->capacity(p->arg));
	return least;
}

static int64_t
several_unread(void *arg)
{
	const struct pub	*p;
	int64_t			 sum = 0;

	for (size_t i = 0; (p = next_driver(arg, &i)) != NULL; i++)
		sum += p->ops->unread(p->arg);
	return sum;
}

static void
several_begin(void *arg, int64_t until)
{
	struct several		*s = arg;
	const struct pub	*p;

	memset(s->out, NOT_OUT, s->size);
	for (size_t i = 0; (p = next_driver(s, &i)) != NULL; i++)
		p->ops->begin(p->arg, until);
}

static void
note_out(struct several *s, uint32_t index, enum conf_driver driver)
{
	uint32_t	size = s->size;

	if (index >= size) {
		s->size = index * 2 + 64;
		s->out = xreallocarray(s->out, s->size, 1);
		memset(s->out + size, NOT_OUT, s->size - size);
	}
	s->out[index] = (uint8_t)driver;
}

/* A driver that has lost its connection is away, as one without it. */
static enum pub_sent
several_send(void *arg, const struct envelope *v, uint32_t index,
    struct err *e)
{
	struct several		*s = arg;
	const struct pub	*p = &s->drivers[v->driver];
	enum pub_sent		 sent = PUB_LOST;

	err_set(e, "%s: not connected%s%s", p->ops->name,
	    s->why[v->driver].text[0] == '\0' ? "" : ": ",
	    s->why[v->driver].text);
	if (is_open(p))
		sent = p->ops->send(p->arg, v, index, e);
	if (sent == PUB_SENT)
		note_out(s, index, v->driver);
	return sent == PUB_LOST ? PUB_AWAY : sent;
}

static void
several_prepare(void *arg, struct pub_polls *polls)
{
	struct several		*s = arg;
	const struct pub	*p;
	size_t			 start = polls->n;

	for (size_t i = 0; (p = next_driver(s, &i)) != NULL; i++) {
		if (is_open(p))
			p->ops->prepare(p->arg, polls);
		s->ends[i] = polls->n - start;
	}
}

static void
several_proceed(void *arg, const struct pollfd *fds, size_t n)
{
	struct several		*s = arg;
	const struct pub	*p;
	size_t			 at = 0;

	(void)n;
	for (size_t i = 0; (p = next_driver(s, &i)) != NULL; i++) {
		if (s->ends[i] > at)
			p->ops->proceed(p->arg, fds + at, s->ends[i] - at);
		at = s->ends[i];
	}
	s->next = 0;
}

static bool
several_woken(void *arg)
{
	const struct pub	*p = asked(arg);

	return p->ops->woken(p->arg);
}

/* A message whose driver is away by now will get no answer. */
static bool
take_lost(struct several *s, struct pub_answer *a)
{
	for (; s->next < s->size; s->next++) {
		uint8_t	driver = s->out[s->next];

		if (driver == NOT_OUT || is_open(&s->drivers[driver]))
			continue;
		s->out[s->next] = NOT_OUT;
		*a = (struct pub_answer){ .index = s->next++,
		    .verdict = VERDICT_DESTINATION, .class = CLASS_OFFLINE,
		    .in_doubt = true };
		snprintf(a->text, sizeof(a->text),
		    "%s: the connection was lost",
		    s->drivers[driver].ops->name);
		return true;
	}
	return false;
}

static bool
several_answer(void *arg, struct pub_answer *a)
{
	struct several		*s = arg;
	const struct pub	*p;

	for (size_t i = 0; (p = next_driver(s, &i)) != NULL; i++) {
		if (!p->ops->answer(p->arg, a))
			continue;
		if (a->index < s->size)
			s->out[a->index] = NOT_OUT;
		return true;
	}
	return several_is_whole(s) ? false : take_lost(s, a);
}

static enum error_class
several_complaint(void *arg, enum pub_about about, struct err *e)
{
	const struct pub	*p;
	enum error_class	 class;

	for (size_t i = 0; (p = next_driver(arg, &i)) != NULL; i++)
		if ((class = p->ops->complaint(p->arg, about, e)) !=
		    CLASS_NONE)
			return class;
	return CLASS_NONE;
}

static void
several_tell(void *arg, const char *subject, const char *text)
{
	const struct pub	*p = asked(arg);

	p->ops->tell(p->arg, subject, text);
}

#define SEVERAL_OPS(ask) {						\
	.name = "several", .peer = "destination", .can_ask = (ask),	\
	.free = several_free, .open = several_open,			\
	.close = several_close, .is_open = several_is_open,		\
	.is_whole = several_is_whole, .caution = several_caution,	\
	.check = several_check,						\
	.state = several_state, .get_stored = several_get_stored,	\
	.removed = several_removed,					\
	.max_payload = several_max_payload,				\
	.capacity = several_capacity, .unread = several_unread,		\
	.begin = several_begin, .send = several_send,			\
	.prepare = several_prepare, .proceed = several_proceed,		\
	.woken = several_woken, .answer = several_answer,		\
	.complaint = several_complaint, .tell = several_tell,		\
}

/* Answers of several destinations have no order among them. */
static const struct pub_ops	ops[] = {
	SEVERAL_OPS(false), SEVERAL_OPS(true)
};

struct pub
several_new(const struct pub drivers[CONF_DRIVERS])
{
	struct several	*s = xcalloc(1, sizeof(*s));

	memcpy(s->drivers, drivers, sizeof(s->drivers));
	if (drivers[DRIVER_NATS].ops == NULL)
		next_driver(s, &s->asked);
	s->out = xcalloc(1, 1);
	return (struct pub){ &ops[asked(s)->ops->can_ask], s };
}
