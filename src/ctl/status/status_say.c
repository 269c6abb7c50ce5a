/*
 * status_say.c - print the status object as text
 *
 * Problems stand first, then what all hosts share, then this host.
 */

#include "ctl/status/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bsd/stdlib.h>

#include "ctl/base/screen.h"
#include "ctl/state/state.h"
#include "health/health.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/display.h"
#include "util/duration.h"
#include "util/xalloc.h"

#define WIDTH	10	/* of the names */
#define WATCH_S	2	/* without SECONDS */

/* Append "for 3 min 20 s"; the clock may be that of the database. */
static void
put_since(struct buf *b, const char *since)
{
	int64_t	age = moment_age_ms(since);

	if (age < 0)
		buf_printf(b, "since %s", since);
	else if (age < 1000)
		buf_str(b, "for less than 1 s");
	else
		buf_printf(b, "for %s", duration_words(age).text);
}

static void
say_member(const struct ctl *c, const char *name, struct buf *text)
{
	display_clean(text->data);
	print_member(c, WIDTH, name, text->data);
	buf_free(text);
}

static void
say_heading(const char *text)
{
	fputc('\n', screen_out());
	screen_put(SCREEN_BOLD, text);
	fputc('\n', screen_out());
}

/* Problems */

/* "! critical: why (for 3 min 20 s)", the remedy below; "- advice: ..." */
static void
say_problem(const struct ctl *c, const json_t *p)
{
	const char	*severity = member_text(p, "severity");
	const char	*remedy = member_text(p, "remedy");
	const char	*since = member_text(p, "since");
	struct buf	 b = { 0 };
	char		*copy;
	int		 indent = 2;

	screen_put(screen_colour_of(severity), strcmp(severity, "advice") == 0 ?
	    "- " : "! ");
	screen_put(screen_colour_of(severity), severity);
	fputs(": ", screen_out());
	indent += display_width(severity) + 2;
	buf_str(&b, member_text(p, "why"));
	if (since != NULL && strstr(b.data, since) == NULL) {
		buf_str(&b, " (");
		put_since(&b, since);
		buf_str(&b, ")");
	}
	display_clean(b.data);
	screen_put_lines(c, indent, b.data);
	buf_free(&b);
	if (remedy[0] == '\0')
		return;
	/* In one line, to be copied as a command. */
	copy = xstrdup(remedy);
	display_clean(copy);
	display_print(screen_out(), "  remedy: %s\n", copy);
	free(copy);
}

/*
 * The problems, which come in the order of their severity, and the advice; then
 * their ids, by which the manual explains them.
 */
static void
say_problems(const struct ctl *c, const json_t *status)
{
	const json_t	*problems = json_object_get(status, "problems");
	const json_t	*lists[] = { problems,
			    json_object_get(status, "advice") };
	struct buf	 b = { 0 };
	const char	*id, *last = "";
	json_t		*p;
	size_t		 i;

	if (health_exit(problems) == CTL_DONE) {
		screen_put(screen_colour_of("healthy"), "healthy");
		fputs(": nothing needs an operator\n", screen_out());
	}
	buf_str(&b, "see PROBLEMS in outboxctl(1): ");
	for (int k = 0; k < 2; k++)
		json_array_foreach(lists[k], i, p) {
			say_problem(c, p);
			id = member_text(p, "id");
			if (strcmp(id, last) != 0)
				buf_printf(&b, "%s%s", *last == '\0' ? "" :
				    ", ", id);
			last = id;
		}
	if (*last != '\0') {
		fputs("  ", screen_out());
		screen_put_lines(c, 2, b.data);
	}
	buf_free(&b);
}

/* The fleet */

/* Changes of less than this in a minute are left out; estimates wobble. */
#define NOTABLE_ROWS	1000
#define NOTABLE_PERCENT	10
#define NOTABLE_PERCENT_ESTIMATED	25

/* Append ", grows by 210 a second" or what it does. */
static void
put_growth(struct buf *b, const json_t *backlog)
{
	long long	rate = member_number(backlog, "growth_per_second");
	long long	in_minute = (rate < 0 ? -rate : rate) * 60;
	int		percent = member_true(backlog, "exact") ?
			    NOTABLE_PERCENT : NOTABLE_PERCENT_ESTIMATED;

	if (in_minute < NOTABLE_ROWS || in_minute <
	    member_number(backlog, "waiting") / 100 * percent)
		return;
	buf_printf(b, ", %s by %s a second", rate < 0 ? "shrinks" : "grows",
	    DISPLAY_NUMBER(in_minute / 60));
	if (member_number(backlog, "drained_in_ms") > 0)
		buf_printf(b, ", empty in %s", duration_words(member_number(
		    backlog, "drained_in_ms")).text);
}

/* The messages that wait, those that were sent, and those that died. */
static void
say_messages(const struct ctl *c, const json_t *status)
{
	const json_t	*w = json_object_get(status, "backlog");
	const json_t	*oldest = json_object_get(status, "oldest");
	const json_t	*d = json_object_get(status, "delivered");
	const json_t	*dead = json_object_get(status, "dead");
	const char	*least = member_true(dead, "exact") ? "" : "at least ";
	long long	 waiting = member_number(w, "waiting");
	struct buf	 b = { 0 };
	char		 text[STATE_PARKED_SIZE];

	if (!json_is_object(w)) {
		buf_str(&b, "not counted: no index begins with published_at");
	} else {
		buf_str(&b, member_true(w, "exact") ? "" : "about ");
		buf_str(&b, COUNTED((uint64_t)waiting, "row"));
		buf_printf(&b, ", %s parked", state_parked_text(text, w));
		put_growth(&b, w);
	}
	say_member(c, "waiting", &b);

	/* It is looked for under the labels of leases, where none is parked. */
	if (json_is_object(oldest))
		buf_printf(&b, "sequence %lld in \"%s\", %s old",
		    member_number(oldest, "sequence"),
		    member_text(oldest, "partition"),
		    duration_words(member_number(oldest, "age_ms")).text);
	else if (waiting == 0)
		buf_str(&b, "none");
	else if (member_number(w, "parked") >= waiting)
		buf_str(&b, "none but parked rows: they wait for an earlier "
		    "message of their key, or for their time");
	else
		buf_str(&b, "not known: rows wait under labels that have no "
		    "lease");
	say_member(c, "oldest", &b);

	if (json_is_object(d)) {
		buf_printf(&b, "%s%s in the last hour", member_true(d, "exact")
		    ? "" : "about ", COUNTED((uint64_t)member_number(d,
		    "last_hour"), "row"));
		say_member(c, "delivered", &b);
	}
	if (!json_is_object(dead))
		buf_str(&b, "no such table");
	else
		buf_printf(&b, "%s%s, %s%s new", least, COUNTED((uint64_t)
		    member_number(dead, "count"), "letter"), least,
		    DISPLAY_NUMBER(member_number(dead, "new")));
	say_member(c, "dead", &b);
}

/* How far the scrub has come, and how long it takes. */
static void
put_scrub(struct buf *b, const json_t *stream)
{
	const char	*purpose = member_text(stream, "scrub_for");
	const char	*began = member_text(stream, "scrub_began");
	json_t		*round = json_object_get(stream, "scrub_round_ms");

	if (began == NULL &&
	    json_is_null(json_object_get(stream, "scrub_ended")))
		return;
	buf_printf(b, "; scrub%s: %s looked up", began != NULL ?
	    " under way" : "", COUNTED((uint64_t)
	    member_number(stream, "scrub_rows"), "row"));
	if (began != NULL)
		buf_printf(b, ", to those delivered at %s%s",
		    member_text(stream, "scrub_at"),
		    purpose == NULL || *purpose == '\0' ? "" :
		    ", as the stream or its server has changed");
	if (json_is_integer(round))
		buf_printf(b, ", %s %s", began != NULL ?
		    "the last round took" : "in",
		    duration_words(json_integer_value(round)).text);
}

/* Print a line per reason of blocked keys, and a line per stream. */
static void
say_lists(const struct ctl *c, const json_t *status)
{
	struct buf	 b = { 0 };
	json_t		*o;
	size_t		 i;

	json_array_foreach(json_object_get(status, "blocked"), i, o) {
		buf_str(&b, COUNTED((uint64_t)member_number(o, "keys"), "key"));
		buf_printf(&b, " %s ", member_text(o, "reason"));
		put_since(&b, member_text(o, "since"));
		say_member(c, "blocked", &b);
	}
	json_array_foreach(json_object_get(status, "streams"), i, o) {
		buf_printf(&b, "%s, checked %s", member_text(o, "name"),
		    member_text(o, "checked_at") == NULL ? "never" :
		    duration_words(member_number(o, "checked_ms")).text);
		if (member_text(o, "checked_at") != NULL)
			buf_str(&b, " ago");
		put_scrub(&b, o);
		say_member(c, strcmp(member_text(o, "name"), CONF_TOPICS) ==
		    0 ? "audit" : "stream", &b);
	}
}

/*
 * "Galera n2 (3 of 3, Synced); hosts A on n1, B on n2": the server that was
 * asked, and who uses which; a lone host that uses this one is not worth a word.
 */
static void
say_database(const struct ctl *c, const json_t *status)
{
	const json_t	*cluster = json_object_get(status, "cluster");
	const json_t	*hosts = json_object_get(status, "hosts");
	json_t		*asked = json_object_get(cluster, "name"), *servers;
	json_t		*h, *o;
	struct buf	 b = { 0 };
	size_t		 i, k, same;

	if (member_text(cluster, "text") == NULL)
		return;
	buf_str(&b, member_text(cluster, "text"));
	json_array_foreach(hosts, i, h) {
		servers = json_object_get(h, "servers");
		if (json_array_size(hosts) == 1 &&
		    (json_array_size(servers) == 0 ||
		    json_equal(json_array_get(servers, 0), asked)))
			continue;
		buf_str(&b, i > 0 ? ", " : json_array_size(hosts) == 1 ?
		    "; host " : "; hosts ");
		buf_str(&b, member_text(h, "host") == NULL ? "?" :
		    member_text(h, "host"));
		same = 0;
		json_array_foreach(hosts, k, o)
			same += json_equal(json_object_get(o, "host"),
			    json_object_get(h, "host"));
		if (same > 1 && member_text(h, "instance") != NULL)
			buf_printf(&b, " (%.4s)", member_text(h, "instance"));
		json_array_foreach(servers, k, o)
			buf_printf(&b, " %s %s", k == 0 ? "on" : "and",
			    json_string_value(o));
	}
	say_member(c, "database", &b);
}

static void
say_fleet(const struct ctl *c, const json_t *status)
{
	static const char *const	 states[] = { "free", "expired",
	    "paused", "missing", "obsolete" };
	const json_t	*outbox = json_object_get(status, "outbox"), *other;
	const json_t	*w = json_object_get(status, "workers");
	const json_t	*p = json_object_get(status, "partitions");
	struct buf	 b = { 0 };
	json_t		*counts = json_object(), *text;
	const char	*name;
	size_t		 i;

	say_heading("Fleet");
	/* Where another sends is from the registry: no daemon writes it. */
	buf_printf(&b, "%s to %s", member_text(outbox, "name"),
	    member_text(outbox, "destination"));
	json_array_foreach(json_object_get(outbox, "others"), i, other)
		buf_printf(&b, "%s%s (%s)", i > 0 ? ", " :
		    "; the same events go to ", member_text(other, "name"),
		    member_text(other, "destination"));
	if (i > 0)
		buf_str(&b, ", as of their last schema install");
	say_member(c, "outbox", &b);
	say_database(c, status);

	if (c->conf->mysql.hosts.n > 1) {
		buf_str(&b, member_text(status, "database_host"));
		say_member(c, "server", &b);
	}

	buf_printf(&b, "%lld alive, ", member_number(w, "live"));
	if (member_number(w, "stale") > 0)
		buf_printf(&b, "%lld stale, ", member_number(w, "stale"));
	buf_str(&b, "on ");
	buf_str(&b, COUNTED((uint64_t)member_number(w, "hosts"), "host"));
	say_member(c, "workers", &b);

	buf_printf(&b, "%lld of %lld: %lld owned", member_number(p, "total"),
	    member_number(p, "count"), member_number(p, "owned"));
	for (i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (member_number(p, states[i]) > 0)
			buf_printf(&b, ", %lld %s",
			    member_number(p, states[i]), states[i]);
	if (member_number(p, "idle") > 0)
		buf_printf(&b, "; %lld without rows",
		    member_number(p, "idle"));
	say_member(c, "partitions", &b);

	say_messages(c, status);
	status_say_counts(status, counts);
	json_object_foreach(counts, name, text)
		print_member(c, WIDTH, name, json_string_value(text));
	json_decref(counts);
	say_lists(c, status);
}

/* This host */

/* Does a problem tell this reason already? */
static bool
is_told(const json_t *problems, const char *why)
{
	json_t	*p;
	size_t	 i;

	json_array_foreach(problems, i, p)
		if (strstr(member_text(p, "why"), why) != NULL)
			return true;
	return false;
}

/* Why workers wait: a line for each reason, with the number of workers. */
static void
say_reasons(const struct ctl *c, const json_t *workers, const json_t *problems)
{
	json_t		*times = json_object(), *w, *n;
	struct buf	 b = { 0 };
	const char	*why;
	size_t		 i;

	json_array_foreach(workers, i, w)
		if ((why = member_text(w, "why")) != NULL && *why != '\0' &&
		    !is_told(problems, why))
			member_add(times, why, 1);
	json_object_foreach(times, why, n) {
		buf_str(&b, COUNTED((uint64_t)json_integer_value(n), "worker"));
		buf_printf(&b, ": %s", why);
		say_member(c, "why", &b);
	}
	json_decref(times);
}

/* These times are whole seconds: "0 ms" would be too exact. */
static struct duration_words
whole_seconds(int64_t ms)
{
	return duration_words(later(ms, 1000));
}

/*
 * "refused 3 min ago", why is a problem; or "accepted 3 min ago: ...", and how
 * far its workers are.
 */
static void
say_reload(const struct ctl *c, const json_t *reload)
{
	const char	*why = member_text(reload, "why");
	long long	 old = member_number(reload, "outdated");
	int64_t		 late = moment_age_ms(member_text(reload, "renew_by"));
	struct buf	 b = { 0 };

	if (!json_is_object(reload))
		return;
	if (!member_true(reload, "accepted")) {
		buf_printf(&b, "refused %s ago", whole_seconds(moment_age_ms(
		    member_text(reload, "at"))).text);
		say_member(c, "reload", &b);
		return;
	}
	buf_printf(&b, "accepted %s ago: ", whole_seconds(moment_age_ms(
	    member_text(reload, "at"))).text);
	if (member_text(reload, "renewed_at") != NULL) {
		buf_printf(&b, "all workers were new after %s", duration_words(
		    member_number(reload, "renewed_ms")).text);
	} else {
		buf_str(&b, "the workers are being replaced");
		if (old > 0)
			buf_printf(&b, ", %lld %s left", old, old == 1 ?
			    "process is" : "processes are");
		buf_printf(&b, late < 0 ? "; done within %s" :
		    "; overdue for %s", whole_seconds(llabs(late)).text);
	}
	if (why != NULL)
		buf_printf(&b, "; %s", why);
	say_member(c, "reload", &b);
}

/*
 * The workers; one that a problem calls silent is in that state, and may have
 * lost its partitions to others.
 */
static json_t *
workers_shown(const json_t *workers, const json_t *problems)
{
	json_t	*shown = json_deep_copy(workers), *w, *p;
	size_t	 i, k;

	json_array_foreach(problems, i, p) {
		if (strcmp(member_text(p, "id"), "silent_worker") != 0)
			continue;
		json_array_foreach(shown, k, w)
			if (json_equal(json_object_get(w, "id"),
			    json_object_get(json_object_get(p, "touches"),
			    "worker"))) {
				json_object_set_new(w, "state",
				    json_string("silent"));
				json_object_set_new(w, "owned", json_null());
			}
	}
	return shown;
}

/* Where messages go, unless that is JetStream. */
static void
say_destination(const struct ctl *c, const json_t *status)
{
	const char	*driver = member_text(json_object_get(status, "broker"),
			    "driver");
	bool		 routes = c->conf->publish.routes.n > 0;
	char		 destination[CONF_DESTINATION];
	struct buf	 b = { 0 };

	if (driver == NULL || (conf_goes_to_stream(c->conf) && !routes))
		return;
	buf_str(&b, routes ? conf_destination(c->conf, destination) : driver);
	if (conf_uses_http(c->conf) && !routes)
		buf_printf(&b, " %s", c->conf->http.endpoint);
	if (conf_uses_nats(c->conf) && c->conf->nats.core)
		buf_str(&b, ", nats.core: at most once");
	say_member(c, "sends to", &b);
}

#define TOPICS_SHOWN	4

static void
say_topics(const struct ctl *c, const json_t *topics)
{
	struct buf	 b = { 0 };
	json_t		*o;
	size_t		 i, n = json_array_size(topics);

	if (n == 0)
		return;
	json_array_foreach(topics, i, o) {
		buf_printf(&b, "%s%s", i == 0 ? "" : ", ",
		    i == TOPICS_SHOWN ? "..." : member_text(o, "topic"));
		if (i == TOPICS_SHOWN)
			break;
		if (member_true(o, "exists"))
			buf_printf(&b, " (partitions %lld, replicas %lld)",
			    member_number(o, "partitions"),
			    member_number(o, "replicas"));
		else
			buf_str(&b, " (missing)");
	}
	say_member(c, "topics", &b);
}

static void
say_this_host(const struct ctl *c, const json_t *status)
{
	static const char *const	 shown[] = { "pid", "state", "owned",
	    "desired", "lanes_waiting", "delivered", "failed", "dead", NULL };
	static const char *const	 shown_destinations[] = {
	    "destination", "to", "state", "per_second", "failed_percent",
	    "taken", "failed", "last_error", NULL };
	const json_t	*here = json_object_get(status, "this_host");
	const json_t	*listener = json_object_get(here, "listener");
	const json_t	*monitor = json_object_get(here, "monitor");
	const json_t	*problems = json_object_get(status, "problems");
	const json_t	*destinations = json_object_get(here, "destinations");
	const json_t	*workers = json_object_get(here, "workers");
	char		 name[256] = "", heading[300];
	struct buf	 b = { 0 };

	gethostname(name, sizeof(name) - 1);
	snprintf(heading, sizeof(heading), "This host (%s)", name);
	say_heading(heading);
	if (!json_is_object(here))
		buf_str(&b, "does not run on this host");
	else
		buf_printf(&b, "pid %lld, generation %lld, %s messages/s",
		    member_number(here, "pid"),
		    member_number(here, "generation"),
		    DISPLAY_NUMBER(member_number(here, "per_second")));
	say_member(c, "daemon", &b);
	/* Why no commit wakes the workers, if wake.binlog leaves that open. */
	if (json_is_object(listener) &&
	    strcmp(member_text(listener, "state"), "no binlog") == 0) {
		buf_printf(&b, "the workers poll (wake.binlog: auto), "
		    "which is no fault: %s",
		    member_text(listener, "why"));
		say_member(c, "wake-ups", &b);
	}
	if (json_is_object(monitor)) {
		buf_str(&b, member_text(monitor, "socket"));
		if (*member_text(monitor, "listen") != '\0')
			buf_printf(&b, ", http://%s",
			    member_text(monitor, "listen"));
		say_member(c, "monitor", &b);
	}
	say_destination(c, status);
	say_topics(c, json_object_get(status, "topics"));
	say_reload(c, json_object_get(here, "reload"));
	say_reasons(c, workers, problems);
	if (json_array_size(destinations) > 0) {
		fputc('\n', screen_out());
		print_rows(c, shown_destinations,
		    json_deep_copy(destinations));
	}
	if (json_array_size(workers) > 0) {
		fputc('\n', screen_out());
		print_rows(c, shown, workers_shown(workers, problems));
	}
}

/* Watch */

int64_t
status_pause(const struct args *a)
{
	return a->nrest == 0 ? WATCH_S :
	    strtonum(a->rest[0], 1, STATUS_WATCH_MAX_S, NULL);
}

void
status_say(const struct ctl *c, json_t *status)
{
	char		now[40], text[100];
	time_t		t = time(NULL);
	struct tm	tm;

	if (c->args.json) {
		print_object(c, json_incref(status));
		return;
	}
	if (c->args.watch) {
		screen_begin();
		strftime(now, sizeof(now), "%Y-%m-%dT%H:%M:%SZ",
		    gmtime_r(&t, &tm));
		snprintf(text, sizeof(text), "%s, every %s; Ctrl-C ends it",
		    now, duration_words(status_pause(&c->args) * 1000).text);
		screen_put(SCREEN_BOLD, text);
		fputs("\n\n", screen_out());
	}
	say_problems(c, status);
	if (json_is_object(json_object_get(status, "partitions")))
		say_fleet(c, status);
	say_this_host(c, status);
	screen_end();
}
