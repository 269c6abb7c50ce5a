/*
 * relay_look.c - a duplicate of an id that its author gave: whose is it
 *
 * An id that the daemon makes is in no other message.  But an id that a row's
 * author has chosen may be in another program's message, and JetStream drops
 * the row's for it.  So the message that is there is read.  It is the row's if
 * Outbox-Id has the row's whole id, and as good if another row of this outbox
 * said the same: an author repeats a row under its id to have it sent once.
 * Otherwise the row's message goes under the daemon's id.  What cannot be read
 * counts as delivered: as a rule it is the row's own, of an earlier try.
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
 * Key, type and payload are the same if, with the time of the message that is
 * there, the row's has its hash.  A replay cannot be told from the original.
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
		/* It is not at that place: the audit would miss it there. */
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

bool
relay_look(struct flight *f)
{
	static const char	 too_late[] = "a duplicate, and no time to "
				     "read whose message it is";
	struct look		 l = { .f = f };
	const struct pub	*p = relay_stream(f->r);
	const struct pub_go_on	 keep_on = { go_on, &l };
	struct err		 e;
	bool			 stay;

	if (f->nlook == 0 || f->lines[f->r->stream].nout > 0)
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
	for (size_t k = 0; k < l.n; k++) {
		size_t		 i = l.index[k];
		struct msg	*m = &f->b->msgs[i];

		if (l.found[k].what != STORED_UNKNOWN || (!stay && !l.late)) {
			judge_found(&l, k);
			continue;
		}
		if (stay)
			continue;
		/* The claim is about to end: send it and ask about it again. */
		msg_fail(m, OUT_DEFER, too_late);
		m->delay_ms = LATE_MS;
		m->in_doubt = true;
		f->nlook--;
		f->ways[i].state = DONE;
		inflight_resolved(&f->w, i, false);
	}
	free(l.index);
	free(l.found);
	return !l.abandoned;
}
