/* health_host.c - problems of the daemon on this host, by its scoreboard */

#include "health/health_impl.h"

#include <string.h>

#include "util/duration.h"

/*
 * A worker gives a sign of life at least once a second, unless a statement or a
 * batch takes longer.
 */
#define SILENT_MS	6000

static void
judge_silence(struct health *h, const json_t *worker)
{
	long long	ms = health_number(worker, "silent_ms");

	if (ms > SILENT_MS)
		health_add(h, HEALTH_SILENT_WORKER, (struct health_about){
		    NULL, json_pack("{s:O}", "worker", json_object_get(worker,
		    "id")) }, "look at the process: it is stopped, or waits "
		    "for a disk or for the database", "worker %s, pid %lld, is "
		    "silent for %s", health_text(worker, "id"),
		    (long long)health_number(worker, "pid"),
		    duration_words(ms).text);
}

/* Workers of a host often wait for the same reason: it is told once. */
static void
judge_waits(struct health *h, const json_t *worker, json_t *told)
{
	const char	*why = health_text(worker, "why");
	const char	*state = health_text(worker, "state");
	bool		 paused = strcmp(state, "paused") == 0;

	if (why[0] == '\0' || json_object_get(told, why) != NULL)
		return;
	json_object_set_new(told, why, json_true());
	health_add(h, paused ? HEALTH_PAUSED_PUBLISHING : HEALTH_WAITING_WORKER,
	    (struct health_about){ NULL, json_pack("{s:O}", "worker",
	    json_object_get(worker, "id")) }, "", "%s: %s", state, why);
}

/* Messages are sent without the listener and the janitor, too. */
static void
judge_helper(struct health *h, const char *role, const json_t *process,
    const json_t *told)
{
	const char	*why = health_text(process, "why");

	if (why[0] != '\0' && json_object_get(told, why) == NULL)
		health_add(h, HEALTH_WAITING_WORKER, (struct health_about){
		    NULL, json_pack("{s:s}", "process", role) }, "outboxctl "
		    "doctor", "%s: %s: %s", role,
		    health_text(process, "state"), why);
}

static void
judge_reload(struct health *h, const json_t *reload)
{
	if (!json_is_false(json_object_get(reload, "accepted")))
		return;
	health_add(h, HEALTH_RELOAD_REFUSED, (struct health_about){
	    .since = health_member(reload, "at") }, "correct the file, then outboxctl "
	    "reload", "the last reload was refused, and the daemon goes on "
	    "with its former configuration: %s", health_text(reload, "why"));
}

static void
judge_subjects(struct health *h, const json_t *here)
{
	json_t	*t;
	size_t	 i;

	json_array_foreach(json_object_get(here, "refused"), i, t)
		health_add(h, HEALTH_REFUSED_SUBJECT, (struct health_about){
		    health_member(t, "since"), json_pack("{s:O, s:O}",
		    "subject", json_object_get(t, "subject"),
		    "type", json_object_get(t, "type")) },
		    strcmp(health_text(t, "class"), "no_stream") == 0 ?
		    "outboxctl stream info shows its subjects" : "", "%s",
		    health_text(t, "why"));
}

/* Of all processes, since each has started. */
static long long
count_lost_lines(const json_t *here)
{
	static const char *const	 others[] = { "master", "listener",
					    "janitor" };
	long long			 n = 0;
	json_t				*w;
	size_t				 i;

	json_array_foreach(json_object_get(here, "workers"), i, w)
		n += health_number(w, "log_lost");
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		n += health_number(json_object_get(here, others[i]),
		    "log_lost");
	return n;
}

static void
judge_log(struct health *h, const json_t *here)
{
	long long	lost = count_lost_lines(here);

	if (lost > 0)
		health_add(h, HEALTH_LOG_LOST, (struct health_about){ 0 },
		    "make room, or correct the rights of log.target, then "
		    "outboxctl reload",
		    "lines of the log are lost: %lld", lost);
}

static void
judge_absence(struct health *h)
{
	long long	pid = health_number(h->state, "daemon_died");

	if (pid > 0)
		health_add(h, HEALTH_DAEMON_DIED, (struct health_about){ 0 },
		    "start it again, and read the end of its log",
		    "the daemon of this host has died (pid %lld)", pid);
	else if (health_number(json_object_get(h->state, "workers"),
	    "live") > 0)
		health_add(h, HEALTH_NO_DAEMON, (struct health_about){ 0 },
		    "start outbox-master, if this host has to send",
		    "no daemon runs on this host");
}

void
health_judge_host(struct health *h)
{
	const json_t	*here = json_object_get(h->state, "this_host");
	json_t		*told = json_object(), *worker;
	size_t		 i;

	if (!json_is_object(here))
		judge_absence(h);
	json_array_foreach(json_object_get(here, "workers"), i, worker) {
		judge_silence(h, worker);
		judge_waits(h, worker, told);
	}
	judge_helper(h, "listener", json_object_get(here, "listener"), told);
	judge_helper(h, "janitor", json_object_get(here, "janitor"), told);
	judge_reload(h, json_object_get(here, "reload"));
	judge_subjects(h, here);
	judge_log(h, here);
	json_decref(told);
}
