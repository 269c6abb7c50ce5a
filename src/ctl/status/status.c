/*
 * status.c - an overview of everything, once or with --watch
 *
 * The exit status follows from the problems, see health.h.
 */

#include <stdio.h>
#include <string.h>

#include "ctl/base/outcome.h"
#include "ctl/state/state.h"
#include "ctl/status/status.h"
#include "drivers/drivers.h"
#include "health/health.h"
#include "util/sig.h"

/* Open the database, again if it was lost.  NULL, or the error in *e. */
static const struct err *
reach_database(struct ctl *c, struct err *e)
{
	if (c->bad_file.text[0] != '\0')
		return &c->bad_file;
	if ((c->store != NULL && store_is_open(c->store)) ||
	    ctl_open(c, e) == 0)
		return NULL;
	return e;
}

/* *this_host is the scoreboard of the round before, then that of this one. */
static int
round_of(struct ctl *c, struct pub *bus, json_t **this_host)
{
	struct err	 e;
	json_t		*state = state_overview(c, bus, *this_host,
			    reach_database(c, &e));
	int		 rc = health_exit(json_object_get(state, "problems"));

	status_say(c, state);
	json_decref(*this_host);
	*this_host = json_incref(json_object_get(state, "this_host"));
	json_decref(state);
	return rc;
}

/* The file was in error: it may have been mended. */
static void
load_again(struct ctl *c, struct pub *bus)
{
	pub_free(bus);
	(void)ctl_load(c);
	*bus = drivers_new(c->conf, "outboxctl");
}

/* Repeat until a signal; a server that is away does not end it. */
static int
watch(struct ctl *c, struct pub *bus, json_t **this_host, int64_t pause_ms)
{
	sig_init();
	while (!sig_took(&got_term) && !sig_took(&got_hup)) {
		round_of(c, bus, this_host);
		if (!outcome_is_written())
			return CTL_FAILED;
		sig_wait(NULL, 0, pause_ms);
		if (c->bad_file.text[0] != '\0')
			load_again(c, bus);
	}
	return CTL_DONE;
}

int
status_show(struct ctl *c)
{
	int64_t		 seconds = status_pause(&c->args);
	struct pub	 own, *bus = c->bus;
	json_t		*this_host;
	int		 rc;

	if (seconds == 0 || (c->args.nrest > 0 && !c->args.watch)) {
		return ctl_misuse("%s: SECONDS go with --watch, from 1 to %d",
		    c->args.rest[0], STATUS_WATCH_MAX_S);
	}
	if (bus == NULL) {
		/* The library of NATS must be first, see drivers.h. */
		own = drivers_new(c->conf, "outboxctl");
		bus = &own;
	}
	this_host = c->host_before != NULL ? c->host_before :
	    state_this_host(c);
	rc = c->args.watch ? watch(c, bus, &this_host, seconds * 1000) :
	    round_of(c, bus, &this_host);
	if (c->bus != NULL) {
		c->host_before = this_host;
		return rc;
	}
	json_decref(this_host);
	pub_free(&own);
	return rc;
}
