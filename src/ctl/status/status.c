/*
 * status.c - an overview of everything, once or with --watch
 *
 * The status is one object.  "problems" lists in words the tasks of an
 * operator; if there is one, the exit status is 1.
 */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include <bsd/stdlib.h>

#include "mysql/db.h"
#include "store/watermark.h"
#include "util/sig.h"
#include "ctl/state/state.h"
#include "ctl/status/status.h"

/* Between two reads of the scoreboard, to compute a rate. */
#define RATE_MS		250

#define WATCH_S		2
#define WATCH_MAX_S	3600

static void
problem(json_t *status, const char *fmt, ...)
{
	va_list	ap;

	va_start(ap, fmt);
	json_array_append_new(json_object_get(status, "problems"),
	    json_vsprintf(fmt, ap));
	va_end(ap);
}

static int
put_workers(struct ctl *c, json_t *status, struct err *e)
{
	json_t	*workers = state_workers(c, e), *hosts = json_object(), *w;
	int	 live = 0, stale = 0;
	size_t	 i;

	json_array_foreach(workers, i, w) {
		if (!json_is_true(json_object_get(w, "live"))) {
			stale++;
			continue;
		}
		live++;
		if (member_text(w, "host") != NULL)
			json_object_set_new(hosts, member_text(w, "host"),
			    json_true());
	}
	json_object_set_new(status, "workers", json_pack("{s:i, s:i, s:i}",
	    "live", live, "stale", stale,
	    "hosts", (int)json_object_size(hosts)));
	json_decref(hosts);
	json_decref(workers);
	return workers == NULL ? -1 : 0;
}

static void
put_oldest(json_t *status, const json_t *oldest)
{
	json_object_set_new(status, "oldest", oldest == NULL ? json_null() :
	    json_pack("{s:O, s:O, s:O, s:O}",
	    "sequence", json_object_get(oldest, "oldest"),
	    "partition", json_object_get(oldest, "partition"),
	    "at", json_object_get(oldest, "oldest_at"),
	    "age_ms", json_object_get(oldest, "oldest_ms")));
}

/* The older of two; an unknown age (the event is gone) counts as younger. */
static const json_t *
older(const json_t *a, const json_t *b)
{
	if (json_is_null(json_object_get(b, "oldest")))
		return a;
	return a == NULL || member_number(b, "oldest_ms") >
	    member_number(a, "oldest_ms") ? b : a;
}

static void
sum_up_partitions(json_t *sums, const json_t *p)
{
	static const char *const	 flags[] = { "obsolete", "idle" };
	bool				 set[] = {
		json_is_true(json_object_get(p, "obsolete")),
		json_is_false(json_object_get(p, "waiting"))
	};
	const char			*state = member_text(p, "state");

	json_object_set_new(sums, state,
	    json_integer(member_number(sums, state) + 1));
	for (int i = 0; i < 2; i++)
		if (set[i])
			json_object_set_new(sums, flags[i],
			    json_integer(member_number(sums, flags[i]) + 1));
}

static int
put_partitions(struct ctl *c, json_t *status, struct err *e)
{
	struct counts	 k;
	json_t		*list = state_counts(c, &k, e) < 0 ? NULL :
			    state_partitions(c, 0, e);
	const json_t	*oldest = NULL;
	json_t		*sums, *p;
	json_int_t	 labels = 0;
	size_t		 i;

	if (list == NULL)
		return -1;
	sums = json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}",
	    "count", (int)k.count, "total", (int)json_array_size(list),
	    "owned", 0, "free", 0, "expired", 0, "paused", 0, "idle", 0,
	    "missing", 0, "obsolete", 0);
	json_array_foreach(list, i, p) {
		sum_up_partitions(sums, p);
		labels += member_text(p, "partition")[0] != '\0' &&
		    !json_is_true(json_object_get(p, "obsolete"));
		oldest = older(oldest, p);
	}
	json_object_set_new(sums, "missing",
	    json_integer(counts_max(&k) - labels));
	json_object_set_new(status, "partitions", sums);
	put_oldest(status, oldest);
	json_decref(list);
	return 0;
}

static int
put_backlog(struct ctl *c, json_t *status, struct err *e)
{
	json_t	*backlog = state_backlog(c, e);

	return backlog == NULL ? -1 :
	    json_object_set_new(status, "backlog", backlog);
}

/* Send the prepared SELECT, and put its rows under a name. */
static int
put_query(struct ctl *c, json_t *status, const char *name,
    const struct rows_column *columns, size_t n, struct err *e)
{
	struct db_rows	*rows = store_query(c->store, name, e);

	if (rows == NULL)
		return -1;
	json_object_set_new(status, name, rows_json(rows, columns, n));
	return 0;
}

static int
put_blocked_keys(struct ctl *c, json_t *status, struct err *e)
{
	static const struct rows_column	 columns[] = {
	    { "reason", ROWS_TEXT }, { "keys", ROWS_NUMBER },
	    { "since", ROWS_TIME } };

	if (!store_has(c->store, T_BLOCKED))
		return json_object_set_new(status, "blocked", json_null());
	store_sql(c->store, "SELECT reason, COUNT(*), MIN(since) FROM "
	    "(SELECT reason, since FROM {blocked} ");
	store_putf(c->store, "LIMIT %d) AS t GROUP BY reason ORDER BY reason",
	    STATE_EXACT);
	return put_query(c, status, "blocked", columns, 3, e);
}

/* The latest dead letters by sequence, about those that died last. */
static int
put_dead_letters(struct ctl *c, json_t *status, struct err *e)
{
	struct db_rows	*rows;
	json_int_t	 count, fresh = 0;

	if (!store_has(c->store, T_DEAD))
		return json_object_set_new(status, "dead", json_null());
	store_sql(c->store, "SELECT died_at >= ");
	store_put(c->store, c->args.since != NULL ? c->args.since :
	    "NOW(6) - INTERVAL 1 DAY");
	store_put(c->store, " FROM {dead} WHERE reason NOT IN " DEAD_MARKS " "
	    "ORDER BY global_sequence DESC ");
	store_putf(c->store, "LIMIT %d", STATE_EXACT + 1);
	if ((rows = store_query(c->store, "dead", e)) == NULL)
		return -1;
	count = (json_int_t)db_nrows(rows);
	while (db_next(rows))
		fresh += (json_int_t)db_u64(rows, 0);
	db_rows_free(rows);
	return json_object_set_new(status, "dead", json_pack(
	    "{s:I, s:b, s:I}", "count",
	    count > STATE_EXACT ? STATE_EXACT : count,
	    "exact", count <= STATE_EXACT, "new", fresh));
}

static int
put_streams(struct ctl *c, json_t *status, struct err *e)
{
	static const struct rows_column	 columns[] = {
	    { "name", ROWS_TEXT }, { "checked_at", ROWS_TIME },
	    { "checked_ms", ROWS_NUMBER }, { "checker", ROWS_TEXT },
	    { "phantoms", ROWS_NUMBER }, { "phantom_first", ROWS_NUMBER },
	    { "phantom_last", ROWS_NUMBER }, { "phantom_at", ROWS_TIME } };

	if (!store_has(c->store, T_STREAMS))
		return json_object_set_new(status, "streams", json_null());
	store_sql(c->store, "SELECT name, checked_at, "
	    "TIMESTAMPDIFF(MICROSECOND, checked_at, NOW(6)) DIV 1000, "
	    "IF(checker_until > NOW(6), checker, NULL), phantoms, "
	    "phantom_first, phantom_last, phantom_at "
	    "FROM {streams} ORDER BY name LIMIT 100");
	return put_query(c, status, "streams", columns, 8, e);
}

/* The rate since the previous round; at first, over RATE_MS from now. */
static void
put_this_host(struct ctl *c, json_t *status, const json_t *before)
{
	json_t	*this_host = state_this_host(c);
	int64_t	 left = member_number(before, "at_ms") + RATE_MS -
		    member_number(this_host, "at_ms");

	if (json_is_object(this_host) && json_is_object(before) && left > 0) {
		sig_wait(NULL, 0, left);
		json_decref(this_host);
		this_host = state_this_host(c);
	}
	state_rate(this_host, before);
	json_object_set_new(status, "this_host", this_host);
}

static void
judge_workers(const struct ctl *c, json_t *status)
{
	const json_t	*backlog = json_object_get(status, "backlog");
	json_int_t	 n = member_number(backlog, "waiting");

	/* Without leases workers do not register. */
	if (!c->conf->worker.leasing || member_number(json_object_get(status,
	    "workers"), "live") > 0)
		return;
	if (n > 0)
		problem(status, "no worker is alive and %s%lld rows wait: "
		    "start outbox-master", json_is_true(json_object_get(backlog,
		    "exact")) ? "" : "about ", (long long)n);
	else if (json_is_object(json_object_get(status, "oldest")))
		problem(status, "no worker is alive and rows wait: start "
		    "outbox-master");
}

/* Workers of a host often wait for the same reason: report it once. */
static void
judge_this_host(json_t *status)
{
	json_t	*said = json_object(), *w;
	size_t	 i;

	json_array_foreach(json_object_get(json_object_get(status, "this_host"),
	    "workers"), i, w) {
		const char *why = member_text(w, "why");

		if (why == NULL || json_object_get(said, why) != NULL)
			continue;
		json_object_set_new(said, why, json_true());
		problem(status, "%s: %s", member_text(w, "state"), why);
	}
	json_decref(said);
}

static void
judge_streams(json_t *status)
{
	json_t	*s;
	size_t	 i;

	json_array_foreach(json_object_get(status, "streams"), i, s)
		if (member_number(s, "phantoms") > 0)
			problem(status, "stream %s: %lld phantoms, messages "
			    "whose events this database has lost: see "
			    "outboxctl doctor", member_text(s, "name"),
			    member_number(s, "phantoms"));
}

static void
judge_status(const struct ctl *c, json_t *status)
{
	json_int_t	 fresh = member_number(json_object_get(status, "dead"),
			    "new");
	json_t		*b;
	size_t		 i;

	judge_workers(c, status);
	judge_this_host(status);
	judge_streams(status);
	json_array_foreach(json_object_get(status, "blocked"), i, b)
		if (strcmp(member_text(b, "reason"), STORE_HALTED) == 0)
			problem(status, "halted keys: %lld, the first since "
			    "%s: see outboxctl keys blocked",
			    member_number(b, "keys"), member_text(b, "since"));
	if (member_number(json_object_get(status, "partitions"), "paused") > 0)
		problem(status, "paused partitions: %lld: nothing is sent from "
		    "them until outboxctl partitions resume",
		    member_number(json_object_get(status,
		    "partitions"), "paused"));
	if (fresh > 0)
		problem(status, "new dead letters: %lld: see outboxctl dead "
		    "list", (long long)fresh);
}

static json_t *
take_status(struct ctl *c, const json_t *before, struct err *e)
{
	static int	(*const parts[])(struct ctl *, json_t *,
			    struct err *) = {
		put_workers, put_partitions, put_backlog,
		put_blocked_keys, put_dead_letters, put_streams,
	};
	json_t		*status = json_pack("{s:[]}", "problems");

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i](c, status, e) < 0) {
			json_decref(status);
			return NULL;
		}
	put_this_host(c, status, before);
	judge_status(c, status);
	if (status_counts(c, status, e) == 0)
		return status;
	json_decref(status);
	return NULL;
}

/* *this_host is the scoreboard of the round before, then that of this one. */
static int
round_of(struct ctl *c, json_t **this_host)
{
	struct err	 e;
	json_t		*status = take_status(c, *this_host, &e);
	int		 rc;

	if (status == NULL)
		return ctl_fail(c, &e);
	if (c->args.watch && !c->args.json && isatty(STDOUT_FILENO))
		fputs("\033[H\033[2J", stdout);
	status_say(c, status);
	rc = json_array_size(json_object_get(status, "problems")) > 0 ?
	    CTL_FAILED : CTL_DONE;
	json_decref(*this_host);
	*this_host = json_incref(json_object_get(status, "this_host"));
	json_decref(status);
	return rc;
}

static int
reconnect(struct ctl *c)
{
	struct err	e;

	if (store_is_open(c->store))
		return CTL_DONE;
	if (store_open(c->store, &e) < 0 || store_learn(c->store, &e) < 0)
		return ctl_fail(c, &e);
	return CTL_DONE;
}

/* Repeat until a signal; a server that is away does not end it. */
static int
watch(struct ctl *c, json_t **this_host, int64_t pause_ms)
{
	int	rc;

	while (!sig_took(&got_term) && !sig_took(&got_hup)) {
		rc = reconnect(c);
		if (rc == CTL_DONE)
			rc = round_of(c, this_host);
		if (rc != CTL_DONE && rc != CTL_FAILED && rc != EX_UNAVAILABLE)
			return rc;
		if (fflush(stdout) == EOF)
			return CTL_FAILED;
		sig_wait(NULL, 0, pause_ms);
	}
	return CTL_DONE;
}

/* SECONDS of --watch; 0: not valid. */
static int64_t
pause_of(const struct args *a)
{
	return a->nrest == 0 ? WATCH_S :
	    strtonum(a->rest[0], 1, WATCH_MAX_S, NULL);
}

int
status_show(struct ctl *c)
{
	int64_t	 seconds = pause_of(&c->args);
	json_t	*this_host;
	int	 rc;

	if (seconds == 0 || (c->args.nrest > 0 && !c->args.watch)) {
		return ctl_misuse("%s: SECONDS go with --watch, from 1 to %d",
		    c->args.rest[0], WATCH_MAX_S);
	}
	if (c->args.watch)
		sig_init();
	this_host = state_this_host(c);
	rc = c->args.watch ? watch(c, &this_host, seconds * 1000) :
	    round_of(c, &this_host);
	json_decref(this_host);
	return rc;
}
