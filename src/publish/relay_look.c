/*
 * relay_look.c - a duplicate of an id that its author gave: whose is it
 *
 * An id of ours is in no other message.  But one that a row's author has chosen
 * may be in another program's message, and JetStream drops ours for it.  So the
 * message that is there is read.  It is ours if it has our whole id in
 * Outbox-Id, and as good as ours if another row of this outbox said the same:
 * an author repeats a row under its id to have it sent once.  Otherwise ours
 * goes under our own id.  What cannot be read counts as delivered, since as a
 * rule such a duplicate is our own of an earlier try.
 *
 * They are read together when no message is out to the stream, for the look-up
 * is a batch of its own to the driver.  Without duplicates this costs nothing.
 */

#include "publish/relay_impl.h"

#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "util/xalloc.h"

/* After a look-up that failed none is tried for so many ms. */
#define BLIND_MS	60000

/* What was too late is sent again after so many ms. */
#define LATE_MS		1000

struct look {
	struct flight		*f;
	size_t			 n;
	size_t			*index;		/* of each message */
	struct stored_message	*found;
	bool			 abandoned;
	bool			 late;
	struct err		 why;		/* "": all were read */
};

/*
 * Not beyond the time of the last answer: then the claim is about to end.  A
 * complaint about a permission comes instead of all answers.
 */
static bool
go_on(void *arg)
{
	struct look	*l = arg;
	struct flight	*f = l->f;
	const struct pub *p = relay_stream(f->r);
	enum keep	 keep = f->r->keep(f->r->keep_arg);

	f->closed = f->closed || keep == KEEP_FINISH;
	l->abandoned = keep == KEEP_ABANDON;
	l->late = clock_ms() >= f->deadline + f->r->conf->publish.timeout_ms;
	return !l->abandoned && !l->late && p->ops->complaint(p->arg,
	    PUB_FORBIDDEN, &l->why) == CLASS_NONE;
}

/*
 * With its time its hash is that of ours: key, type and payload are the same.
 * What an operator sends again is not to be told from it.
 */
static bool
says_the_same(struct msg *m, const struct stored_message *found)
{
	struct msg	as = *m;

	if (m->replay > 0)
		return false;
	if (msg_has_hash(m, found->id.hash, found->time))
		return true;
	as.time = found->time[0] == '\0' ? (struct bytes){ NULL, 0 } :
	    (struct bytes){ found->time, strlen(found->time) };
	return !found->id.hashed || message_hash(&as) == found->id.hash;
}

static void
rename_message(struct flight *f, size_t i, const struct stored_message *found)
{
	struct msg	*m = &f->b->msgs[i];
	struct buf	 id = { 0 };

	msg_put_author_id(&id, m);
	if (f->res->renamed++ == 0)
		err_set(&f->res->renamed_why, "sequence %llu, id %.100s: %s "
		    "has that id in the stream, at its sequence %llu: sent "
		    "under the id of the daemon, and its own is in "
		    MESSAGE_ID_AUTHOR_HEADER, (unsigned long long)m->sequence,
		    id.data, found->what == STORED_OURS ? "another message of "
		    "this outbox" : "another program's message",
		    (unsigned long long)found->sequence);
	buf_free(&id);
	m->renamed = true;
	f->ways[i].state = AGAIN;
	if (f->nagain++ == 0)
		f->again_at = clock_ms();
}

static void
judge_found(struct look *l, size_t k)
{
	struct flight			*f = l->f;
	size_t				 i = l->index[k];
	struct msg			*m = &f->b->msgs[i];
	const struct stored_message	*p = &l->found[k];

	switch (p->what) {
	case STORED_OURS:
		if (msg_is_stored(m, &p->id, p->time))
			relay_deliver(f, i, p->sequence, true);
		/* The place is not its own: the audit would miss it there. */
		else if (says_the_same(m, p))
			relay_deliver(f, i, 0, true);
		else
			rename_message(f, i, p);
		break;
	case STORED_OTHER:
		rename_message(f, i, p);
		break;
	case STORED_EMPTY:
		relay_deliver_unread(f, i, p->sequence, "it is not there any "
		    "more");
		break;
	case STORED_UNKNOWN:
		relay_deliver_unread(f, i, p->sequence, l->why.text);
		break;
	}
	f->nlook--;
	if (f->ways[i].state == DONE)
		inflight_resolved(&f->w, i, true);
}

/* The claim is about to end: it is sent again, and asked about then. */
static void
give_back(struct look *l, size_t k)
{
	struct flight	*f = l->f;
	size_t		 i = l->index[k];
	struct msg	*m = &f->b->msgs[i];
	static const char why[] = "a duplicate, and no time to read whose "
				  "message it is";

	relay_note_failure(f, i, why);
	msg_fail(m, OUT_DEFER, why);
	m->delay_ms = LATE_MS;
	m->in_doubt = true;
	f->nlook--;
	f->ways[i].state = DONE;
	inflight_resolved(&f->w, i, false);
}

bool
relay_look(struct flight *f)
{
	struct look		 l = { .f = f };
	const struct pub	*p = relay_stream(f->r);
	const struct pub_go_on	 keep_on = { go_on, &l };
	struct err		 e;
	bool			 stay;

	if (f->nlook == 0 || f->lines[DRIVER_NATS].nout > 0)
		return true;
	l.index = xcalloc(f->nlook, sizeof(*l.index));
	l.found = xcalloc(f->nlook, sizeof(*l.found));
	for (size_t i = 0; i < f->b->n; i++) {
		if (f->ways[i].state != LOOK)
			continue;
		l.index[l.n] = i;
		l.found[l.n++] = f->places[i];
	}
	p->ops->complaint(p->arg, PUB_FORBIDDEN, &e);	/* an older one */
	if (p->ops->get_stored(p->arg, f->r->form.id_prefix, l.found, l.n,
	    &keep_on, &e) < 0 && l.why.text[0] == '\0')
		l.why = e;
	/* It was a batch of its own. */
	p->ops->begin(p->arg, f->deadline + RELAY_WRITE_MS);

	/* Those that are not read stay if that may be made good. */
	stay = l.abandoned || !pub_is_open(p);
	if (l.why.text[0] != '\0' && !stay && !l.late)
		f->r->blind_until = clock_ms() + BLIND_MS;
	for (size_t k = 0; k < l.n; k++)
		if (l.found[k].what != STORED_UNKNOWN || (!stay && !l.late))
			judge_found(&l, k);
		else if (!stay)
			give_back(&l, k);
	free(l.index);
	free(l.found);
	return !l.abandoned;
}
