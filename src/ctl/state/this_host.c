/* this_host.c - the daemon of this host, read from its scoreboard */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ipc/scoreboard.h"
#include "util/clock.h"
#include "util/sandbox.h"
#include "ipc/daemon.h"
#include "ctl/state/state_impl.h"
#include "util/xalloc.h"

/* Several workers meet the same type: one entry, the earliest. */
static void
put_refused(json_t *list, const struct scoreboard_refused *r, int64_t now)
{
	json_t	*type = state_text(r->type, sizeof(r->type));
	json_t	*o = state_find(list, "type", json_string_value(type));

	if (o == NULL) {
		json_array_append_new(list, json_pack("{s:o, s:o, s:o, s:o, "
		    "s:o, s:I, s:i}", "type", type,
		    "subject", state_text(r->subject, sizeof(r->subject)),
		    "class", state_text(r->class, sizeof(r->class)),
		    "why", state_text(r->why, sizeof(r->why)),
		    "since", state_since(r->since, now),
		    "for_ms", (json_int_t)(now - r->since), "workers", 1));
		return;
	}
	json_decref(type);
	member_add(o, "workers", 1);
	if (member_number(o, "for_ms") < now - r->since) {
		json_object_set_new(o, "since", state_since(r->since, now));
		member_set(o, "for_ms", now - r->since);
	}
}

/* The types that workers hold back while others are taken. */
static json_t *
refused_json(const struct scoreboard *b, int64_t now)
{
	struct scoreboard_refused	 types[SCOREBOARD_REFUSED_TYPES];
	json_t				*list = json_array();

	for (unsigned i = 0; i < CONF_MAX_WORKERS; i++) {
		const struct scoreboard_line	*l = &b->lines[i];
		size_t				 n;

		if (l->state == SCOREBOARD_FREE)
			continue;
		n = scoreboard_refused_read(l, types);
		for (size_t k = 0; k < n; k++)
			put_refused(list, &types[k], now);
	}
	return list;
}

/* "T": stopped by a signal.  "": its /proc is not that of our processes. */
static json_t *
kernel_state(pid_t pid)
{
	char	 path[40], line[512] = "", state[2] = "", *end;
	FILE	*f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if ((f = fopen(path, "re")) == NULL)
		return json_string("");
	if (fgets(line, sizeof(line), f) != NULL &&
	    strstr(line, "(outbox-master)") != NULL &&
	    (end = strrchr(line, ')')) != NULL && end[1] == ' ')
		state[0] = end[2];
	fclose(f);
	return json_string(state);
}

/* What each process has; null: it does not run. */
/* What the kernel refuses to this process. */
static json_t *
sandbox_json(uint32_t flags)
{
	static const struct {
		uint32_t	 flag;
		const char	*word;
	} words[] = { { SANDBOX_CALLS, "calls" }, { SANDBOX_FILES, "files" },
	    { SANDBOX_PORTS, "ports" } };
	json_t	*list = json_array();

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (flags & words[i].flag)
			json_array_append_new(list, json_string(words[i].word));
	return list;
}

static json_t *
process_json(const struct scoreboard_line *l, int64_t now)
{
	/* Is it held up now?  Its line keeps old errors, too. */
	bool		 held_up = l->state == SCOREBOARD_NO_DATABASE ||
			    l->state == SCOREBOARD_NO_BROKER ||
			    l->state == SCOREBOARD_PAUSED ||
			    l->state == SCOREBOARD_REFUSED ||
			    l->state == SCOREBOARD_NO_BINLOG;
	const char	*why = held_up ? l->last_error : l->wait.why;
	int64_t		 since = held_up ? l->state_since : l->wait.since;
	json_t		*o;

	if (l->pid == 0 || l->state == SCOREBOARD_FREE)
		return json_null();
	if (!held_up && now - since < SCOREBOARD_WAIT_MS)
		since = 0;
	o = json_pack("{s:i, s:i, s:s, s:I, s:I, s:I, s:I}", "pid", l->pid,
	    "generation", (int)l->generation,
	    "state", scoreboard_state_word(l->state),
	    "state_ms", (json_int_t)(now - l->state_since),
	    "up_ms", (json_int_t)(now - l->started_at),
	    "silent_ms", (json_int_t)(now - l->alive_at),
	    "log_lost", (json_int_t)l->log_lost);
	json_object_set_new(o, "kernel_state", kernel_state(l->pid));
	json_object_set_new(o, "sandbox", sandbox_json(l->sandbox));
	json_object_set_new(o, "why", since == 0 ? json_null() :
	    state_text(why, sizeof(struct err)));
	json_object_set_new(o, "why_since", since == 0 ? json_null() :
	    state_since(since, now));
	/* A text without a time is the reason of a state, and no error. */
	json_object_set_new(o, "last_error", l->last_error_at == 0 ?
	    json_string("") :
	    state_text(l->last_error, sizeof(l->last_error)));
	json_object_set_new(o, "last_error_at", state_moment(l->last_error_at));
	return o;
}

static json_t *
worker_json(const struct scoreboard_line *l, int64_t now)
{
	const struct scoreboard_pause	*p = &l->pause;
	json_t				*o = process_json(l, now), *rows;

	if (!json_is_object(o))
		return o;
	json_object_set_new(o, "id", state_text(l->id, sizeof(l->id)));
	/* null: the destination takes messages, as far as is known. */
	json_object_set_new(o, "paused", p->since == 0 ? json_null() :
	    json_pack("{s:o, s:I, s:o, s:o}",
	    "since", state_since(p->since, now),
	    "for_ms", (json_int_t)(now - p->since),
	    "class", state_text(p->class, sizeof(p->class)),
	    "why", state_text(p->why, sizeof(p->why))));
	member_set(o, "types_refused", l->refused.n);
	/* Rows that it cannot write. */
	rows = json_array();
	for (size_t i = 0; i < l->nrows && i < SCOREBOARD_ROWS; i++)
		json_array_append_new(rows, json_pack("{s:I, s:o, s:o}",
		    "sequence", (json_int_t)l->rows[i].sequence,
		    "since", state_since(l->rows[i].since, now),
		    "why", state_text(l->rows[i].why,
		    sizeof(l->rows[i].why))));
	json_object_set_new(o, "rows", rows);
	member_set(o, "owned", l->owned);
	member_set(o, "desired", l->desired);
	member_set(o, "lanes_waiting", l->waiting);
	json_object_set_new(o, "handling", l->handling == 0 ? json_null() :
	    json_integer((json_int_t)l->handling));
	json_object_update_new(o, json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, "
	    "s:I, s:I, s:I, s:o}", "ticks", (json_int_t)l->ticks,
	    "delivered", (json_int_t)l->delivered,
	    "duplicates", (json_int_t)l->duplicates,
	    "failed", (json_int_t)l->failed, "dead", (json_int_t)l->dead,
	    "fenced", (json_int_t)l->fenced,
	    "skipped", (json_int_t)l->skipped,
	    "recovered", (json_int_t)l->recovered,
	    "former_labels", (json_int_t)l->former_labels,
	    "former_label_at", state_moment(l->former_label_at)));
	return o;
}

/* The listener or the janitor, and rows of the outbox that it saw vanish. */
static json_t *
watcher_json(const struct scoreboard_line *l, int64_t now)
{
	json_t	*o = process_json(l, now);

	if (json_is_object(o)) {
		member_set(o, "vanished", (json_int_t)l->vanished);
		member_set(o, "vanished_last", (json_int_t)l->vanished_last);
		member_set(o, "inserted_last", (json_int_t)l->inserted_last);
		json_object_set_new(o, "vanished_at",
		    state_moment(l->vanished_at));
		json_object_set_new(o, "vanished_ms", l->vanished_at == 0 ?
		    json_null() : json_integer((json_int_t)
		    (time(NULL) - l->vanished_at) * 1000));
	}
	return o;
}

/* null: there was none since the start of the master. */
static json_t *
reload_json(const struct scoreboard *b)
{
	const struct scoreboard_reload	*r = &b->reload;
	json_t				*why;
	int				 outdated = 0;

	if (r->result == SCOREBOARD_RELOAD_NONE)
		return json_null();
	/* Processes that still have the configuration before it. */
	for (unsigned i = 0; i < SCOREBOARD_LINES; i++)
		outdated += b->lines[i].state != SCOREBOARD_FREE &&
		    b->lines[i].generation != b->generation;
	why = r->why[0] == '\0' ? json_null() :
	    state_text(r->why, sizeof(r->why));
	return json_pack("{s:I, s:b, s:o, s:o, s:o, s:o, s:o, s:i}",
	    "count", (json_int_t)r->count,
	    "accepted", r->result == SCOREBOARD_RELOAD_ACCEPTED,
	    "at", state_moment(r->at), "why", why,
	    "renew_by", state_moment(r->renew_by),
	    "renewed_at", state_moment(r->renewed_at),
	    "renewed_ms", r->renewed_at == 0 ? json_null() :
	    json_integer((json_int_t)r->renewed_ms),
	    "outdated", outdated);
}

static json_t *
scoreboard_json(const struct ctl *c, const struct scoreboard *b)
{
	const struct scoreboard_line	*m = &b->lines[SCOREBOARD_MONITOR];
	const struct scoreboard_line	*j = &b->lines[SCOREBOARD_JANITOR];
	int64_t	 now = clock_ms();
	json_t	*workers = json_array(), *monitor = process_json(m, now);
	json_t	*janitor = watcher_json(j, now);
	char	*socket = daemon_monitor_socket(c->conf);

	for (unsigned i = 0; i < CONF_MAX_WORKERS; i++) {
		json_t	*worker = worker_json(&b->lines[i], now);

		if (json_is_object(worker))
			json_array_append_new(workers, worker);
	}
	if (json_is_object(janitor))
		member_set(janitor, "recovered", (json_int_t)j->recovered);
	if (json_is_object(monitor)) {
		json_object_set_new(monitor, "socket", json_string(socket));
		json_object_set_new(monitor, "listen",
		    json_string(c->conf->monitor.listen));
	}
	free(socket);
	return json_pack("{s:i, s:i, s:I, s:o, s:o, s:o, s:o, s:o, s:I, s:o, "
	    "s:o, s:o}",
	    "pid", b->master, "generation", (int)b->generation,
	    "at_ms", (json_int_t)now, "reload", reload_json(b),
	    "master", process_json(&b->lines[SCOREBOARD_MASTER], now),
	    "listener", watcher_json(&b->lines[SCOREBOARD_LISTENER], now),
	    "janitor", janitor, "monitor", monitor,
	    "monitor_gone_ms", m->state == SCOREBOARD_FREE &&
	    m->state_since != 0 ? (json_int_t)(now - m->state_since) :
	    (json_int_t)0,
	    "refused", refused_json(b, now),
	    "destinations", state_destinations(c, b, now),
	    "workers", workers);
}

/* The caller frees it. */
static char *
path_of_scoreboard(const struct ctl *c)
{
	char	*prefix = daemon_run_prefix(c->conf->master.pidfile);
	char	*path = xasprintf("%s.scoreboard", prefix);

	free(prefix);
	return path;
}

/* The scoreboard of this host, and whether its master lives; NULL: none. */
static struct scoreboard *
open_scoreboard(const struct ctl *c, bool *alive)
{
	char			*path = path_of_scoreboard(c);
	struct err		 e;
	struct scoreboard	*b = scoreboard_open(path, alive, &e);

	free(path);
	return b;
}

json_t *
state_this_host(const struct ctl *c)
{
	bool			 alive;
	struct scoreboard	*b = open_scoreboard(c, &alive);
	json_t			*this_host;

	this_host = b != NULL && alive ? scoreboard_json(c, b) :
	    json_null();
	scoreboard_close(b);
	return this_host;
}

json_t *
state_totals(const struct ctl *c)
{
	bool			 alive;
	struct scoreboard	*b = open_scoreboard(c, &alive);
	json_t			*totals = json_null();
	struct totals		 sum = { 0 };
	uint64_t		 failed;

	if (b != NULL && alive) {
		for (unsigned i = 0; i < SCOREBOARD_LINES; i++)
			totals_add(&sum, &b->totals[i]);
		failed = sum.failed_message + sum.failed_transient;
		for (unsigned i = 0; i < TOTALS_CLASSES; i++)
			failed += sum.refused[i];
		totals = json_pack("{s:i, s:I, s:I, s:I}", "pid", b->master,
		    "claimed", (json_int_t)sum.claimed,
		    "published", (json_int_t)sum.published,
		    "failed", (json_int_t)failed);
	}
	scoreboard_close(b);
	return totals;
}

void
state_backlog_ring(const struct ctl *c, struct backlog_ring *ring)
{
	bool			 alive;
	struct scoreboard	*b = open_scoreboard(c, &alive);

	*ring = b != NULL && alive ? b->backlog : (struct backlog_ring){ 0 };
	scoreboard_close(b);
}

int
state_files_lost(const struct ctl *c)
{
	char	*path = path_of_scoreboard(c);
	bool	 gone = access(path, F_OK) < 0 && errno == ENOENT;

	free(path);
	return gone ? (int)daemon_find(c->conf->master.pidfile) : 0;
}

/* A master that ends by itself frees its line. */
static bool
has_died(const struct scoreboard *b, bool alive)
{
	return b != NULL && !alive &&
	    b->lines[SCOREBOARD_MASTER].state != SCOREBOARD_FREE;
}

int
state_dead_master(const struct ctl *c)
{
	bool			 alive;
	struct scoreboard	*b = open_scoreboard(c, &alive);
	int			 pid = has_died(b, alive) ? b->master : 0;

	scoreboard_close(b);
	return pid;
}

json_t *
state_orphans(const struct ctl *c)
{
	bool			 alive;
	struct scoreboard	*b = open_scoreboard(c, &alive);
	json_t			*ids = json_object();

	for (unsigned i = 0; has_died(b, alive) && i < CONF_MAX_WORKERS; i++) {
		const struct scoreboard_line	*l = &b->lines[i];
		json_t				*id;

		if (l->state == SCOREBOARD_FREE)
			continue;
		id = state_text(l->id, sizeof(l->id));
		json_object_set_new(ids, json_string_value(id), json_true());
		json_decref(id);
	}
	scoreboard_close(b);
	return ids;
}

void
state_rate(json_t *now, const json_t *before)
{
	const json_t	*former = json_object_get(before, "workers");
	json_int_t	 ms = member_number(now, "at_ms") -
			    member_number(before, "at_ms");
	json_int_t	 n = 0;
	json_t		*l;
	size_t		 i;

	if (!json_is_object(now) || !json_is_object(before) || ms <= 0)
		return;
	/* One that started later had delivered nothing then. */
	json_array_foreach(json_object_get(now, "workers"), i, l)
		n += member_number(l, "delivered") - member_number(state_find(
		    former, "id", member_text(l, "id")), "delivered");
	member_set(now, "per_second", n * 1000 / ms);
	state_rate_destinations(now, before, ms);
}
