/*
 * probes.c - signs of life, and whether the fleet is ready, see request.h
 *
 * /healthz reads the scoreboard only: a database that is away is no reason to
 * start the daemon again.  The listener and the janitor do not count: they may
 * wait for a server for longer, and the relay works without them.  /readyz says
 * what outboxctl status says.
 */

#include "monitor/monitor_impl.h"

#include <string.h>

#include "health/health.h"
#include "util/duration.h"

#define SILENT_MS	15000	/* if master.hang_timeout is 0 or longer */

/* Append why this process is no sign of life; true if it is one. */
static bool
is_alive(const struct scoreboard_line *l, const char *role, unsigned index,
    int64_t longest, int64_t now, struct buf *b)
{
	if (l->state == SCOREBOARD_FREE || l->pid == 0) {
		buf_printf(b, "%s %u does not run\n", role, index);
		return false;
	}
	if (now - l->alive_at < longest)
		return true;
	buf_printf(b, "%s %u, pid %d, has been silent for %s\n", role, index,
	    (int)l->pid, duration_words(now - l->alive_at).text);
	return false;
}

bool
probe_is_alive(const struct monitor *m, struct buf *why)
{
	const struct scoreboard	*s = m->a->scoreboard;
	int64_t			 longest = m->a->conf->master.hang_timeout;
	unsigned		 n = (unsigned)m->a->conf->master.workers;
	struct buf		 b = { 0 };
	bool			 alive;

	if (longest <= 0 || longest > SILENT_MS)
		longest = SILENT_MS;
	alive = is_alive(&s->lines[SCOREBOARD_MASTER], "master", 0, longest,
	    m->now, &b);
	for (unsigned i = 0; i < n; i++)
		alive = is_alive(&s->lines[i], "worker", i, longest, m->now,
		    &b) && alive;
	if (why != NULL && b.len > 0)
		buf_add(why, b.data, b.len);
	buf_free(&b);
	return alive;
}

bool
probe_is_ready(const struct monitor *m)
{
	const struct snapshot	*s = &m->questions.state;

	return snapshot_is_fresh(s, m->now, SNAPSHOT_OLD_MS) &&
	    health_exit(json_object_get(s->document, "problems")) == 0;
}

void
probe_health(struct request *r)
{
	struct buf	b = { 0 };
	bool		alive = probe_is_alive(r->monitor, &b);

	if (alive)
		buf_str(&b, "ok\n");
	answer_text(r, alive ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE,
	    "text/plain; charset=utf-8", b.data, b.len);
	buf_free(&b);
}

/* Is one of them critical? */
static bool
are_critical(const json_t *problems)
{
	json_t	*p;
	size_t	 i;

	json_array_foreach(problems, i, p)
		if (strcmp(json_string_value(json_object_get(p, "severity")),
		    "critical") == 0)
			return true;
	return false;
}

/*
 * "critical: broker: the broker cannot be used: ..."; without the text, which
 * may have a key or an address in it, for who may not read.
 */
static void
answer_ready(struct request *r)
{
	const struct snapshot	*s = &r->monitor->questions.state;
	const json_t		*problems = json_object_get(s->document,
				    "problems"), *p;
	bool			 fresh = snapshot_is_fresh(s, r->monitor->now,
				    SNAPSHOT_OLD_MS);
	bool			 may_read = guard_may_read(r);
	/* With severity=critical others do not count. */
	bool			 ready = r->nquery == 0 ?
				    probe_is_ready(r->monitor) :
				    fresh && !are_critical(problems);
	struct buf		 b = { 0 };
	size_t			 i;

	if (ready)
		buf_str(&b, "ready\n");
	if (!fresh)
		buf_printf(&b, "cannot tell: %s\n", s->why.text[0] == '\0' ||
		    !may_read ? "outboxctl gives no answer" : s->why.text);
	else
		json_array_foreach(problems, i, p)
			buf_printf(&b, "%s: %s%s%s\n",
			    json_string_value(json_object_get(p, "severity")),
			    json_string_value(json_object_get(p, "id")),
			    may_read ? ": " : "", may_read ?
			    json_string_value(json_object_get(p, "text")) : "");
	answer_text(r, ready ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE,
	    "text/plain; charset=utf-8", b.data, b.len);
	buf_free(&b);
}

void
probe_ready(struct request *r)
{
	if (r->nquery > 0 && strcmp(r->values[0], "critical") != 0)
		answer_error(r, MHD_HTTP_BAD_REQUEST, "severity: only critical "
		    "is known", NULL);
	else
		wait_for_state(r, answer_ready);
}
