/* rounds.c - the overview again and again, whatever is away meanwhile */

#include <string.h>

#include "ctl/state/state.h"
#include "drivers/drivers.h"

/*
 * Open the database, again if it was lost, which one that is kept does not
 * tell by itself.  NULL, or the error in *e.
 */
static const struct err *
reach_database(struct ctl *c, bool kept, struct err *e)
{
	if (c->bad_file.text[0] != '\0')
		return &c->bad_file;
	if (c->store != NULL)
		ctl_follow_workers(c);
	if (kept && c->store != NULL && store_is_open(c->store))
		(void)db_check(store_db(c->store), e);	/* closes a lost one */
	if ((c->store != NULL && store_is_open(c->store)) ||
	    ctl_open(c, e) == 0)
		return NULL;
	return e;
}

void
rounds_begin(struct ctl *c, struct rounds *r)
{
	r->bus = c->bus;
	r->begun = false;
	if (r->bus == NULL) {
		/* The library of NATS must be first, see drivers.h. */
		r->own = drivers_new_first(c->conf, "outboxctl");
		r->bus = &r->own;
	}
	r->this_host = c->host_before != NULL ? c->host_before :
	    state_this_host(c);
}

json_t *
rounds_next(struct ctl *c, struct rounds *r)
{
	struct err	 e;
	json_t		*state;
	bool		 kept = r->begun;

	/* The file was in error: it may have been mended. */
	if (r->begun && c->bad_file.text[0] != '\0' && r->bus == &r->own) {
		pub_free(&r->own);
		(void)ctl_load(c);
		r->own = drivers_new_first(c->conf, "outboxctl");
	}
	r->begun = true;
	state = state_overview(c, r->bus, r->this_host,
	    reach_database(c, kept, &e));
	json_decref(r->this_host);
	r->this_host = json_incref(json_object_get(state, "this_host"));
	return state;
}

void
rounds_end(struct ctl *c, struct rounds *r)
{
	if (c->bus != NULL) {
		c->host_before = r->this_host;
		return;
	}
	json_decref(r->this_host);
	pub_free(&r->own);
}
