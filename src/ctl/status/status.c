/*
 * status.c - an overview of everything, once or with --watch
 *
 * The exit status follows from the problems, see health.h.
 */

#include <stdio.h>

#include "ctl/base/outcome.h"
#include "ctl/state/state.h"
#include "ctl/status/status.h"
#include "health/health.h"
#include "util/sig.h"

static int
round_of(struct ctl *c, struct rounds *r)
{
	json_t	*state = rounds_next(c, r);
	int	 rc = health_exit(json_object_get(state, "problems"));

	status_say(c, state);
	json_decref(state);
	return rc;
}

/* Repeat until a signal; a server that is away does not end it. */
static int
watch(struct ctl *c, struct rounds *r, int64_t pause_ms)
{
	sig_init();
	while (!sig_took(&got_term) && !sig_took(&got_hup)) {
		round_of(c, r);
		if (!outcome_is_written())
			return CTL_FAILED;
		sig_wait(NULL, 0, pause_ms);
	}
	return CTL_DONE;
}

int
status_show(struct ctl *c)
{
	int64_t		 seconds = status_pause(&c->args);
	struct rounds	 r;
	int		 rc;

	if (seconds == 0 || (c->args.nrest > 0 && !c->args.watch)) {
		return ctl_misuse("%s: SECONDS go with --watch, from 1 to %d",
		    c->args.rest[0], STATUS_WATCH_MAX_S);
	}
	rounds_begin(c, &r);
	rc = c->args.watch ? watch(c, &r, seconds * 1000) : round_of(c, &r);
	rounds_end(c, &r);
	return rc;
}
