/* worker_ring.c - who wakes a worker, and for which partitions */

#include "worker_impl.h"

#include "clock.h"

/* What does not want to hear it does not spin over it either. */
int
worker_bell_fd(const struct worker *w)
{
	return w->a->bell == NULL || !pace_listens(&w->pace, clock_ms()) ? -1 :
	    bell_fd(w->a->bell, w->a->slot);
}

bool
worker_hear(struct worker *w)
{
	struct pub	*p = &w->relay.pub;
	bool		 rung = p->ops->woken(p->arg);

	if (w->a->bell != NULL && bell_heard(w->a->bell, w->a->slot))
		rung = true;
	if (rung)
		pace_ring(&w->pace, clock_ms());
	return rung;
}

bool
worker_is_rung(void *arg)
{
	return worker_hear(arg);
}

bool
worker_expects_rings(const struct conf *conf)
{
	return conf->wake.subject[0] != '\0' || conf->wake.binlog;
}

/*
 * For those who ring.  Shown first, looked at then: what was inserted before
 * it was shown is found by the look, and what is inserted later is rung for.
 */
void
worker_show_served(struct worker *w)
{
	uint64_t	served[BOARD_SERVED / 64] = { 0 };

	if (w->moves_seen == w->member.moves)
		return;
	w->moves_seen = w->member.moves;
	for (size_t i = 0; i < w->member.nparts; i++)
		board_serve(served, w->member.parts[i]->label);
	for (size_t i = 0; i < BOARD_SERVED / 64; i++)
		w->line->served[i] = served[i];
	pace_ring(&w->pace, clock_ms());
}
