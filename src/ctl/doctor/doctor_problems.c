/* doctor_problems.c - the problems that status shows, too */

#include "ctl/doctor/doctor.h"

#include <string.h>

#include "ctl/state/state.h"
#include "health/health.h"

static enum doctor_level
level_of(const json_t *problem)
{
	const char	*severity = member_text(problem, "severity");

	if (strcmp(severity, "critical") == 0)
		return DOCTOR_FAIL;
	return strcmp(severity, "advice") == 0 ? DOCTOR_ADVICE : DOCTOR_WARN;
}

void
doctor_problems(struct doctor *d)
{
	bool	 known = d->connected && d->learned;
	json_t	*state = state_overview(d->ctl, &d->bus, NULL,
		    known ? NULL : &d->away);
	json_t	*problems = json_object_get(state, "problems"), *p, *o;
	size_t	 i;

	if (json_is_object(json_object_get(state, "this_host")))
		doctor_say(d, DOCTOR_OK, "daemon", "runs with pid %lld, "
		    "generation %lld", member_number(json_object_get(state,
		    "this_host"), "pid"), member_number(json_object_get(state,
		    "this_host"), "generation"));
	else
		doctor_say(d, DOCTOR_OK, "daemon", "does not run on this host");
	json_array_foreach(json_object_get(state, "topics"), i, o)
		if (json_array_size(json_object_get(o, "findings")) == 0)
			doctor_say(d, DOCTOR_OK, "topic", "%s: partitions "
			    "%lld, replicas %lld, of which %lld must be in "
			    "sync", member_text(o, "topic"),
			    member_number(o, "partitions"),
			    member_number(o, "replicas"),
			    member_number(o, "min_insync_replicas"));
	if (json_array_size(problems) == 0)
		doctor_say(d, DOCTOR_OK, "problems", "none");
	json_array_foreach(problems, i, p)
		doctor_say_problem(d, level_of(p), p);
	json_array_foreach(json_object_get(state, "advice"), i, p)
		doctor_say_problem(d, level_of(p), p);
	if (json_is_array(json_object_get(state, "rights")) &&
	    json_array_size(json_object_get(state, "rights")) == 0)
		doctor_say(d, DOCTOR_OK, "grants", "the account has all "
		    "rights that the daemon needs");
	d->status = health_exit(problems);
	json_decref(state);
}
