/*
 * doctor_hosts.c - what each server of mysql.hosts is, and whether the numbers
 * of events follow their commits, which depends on it
 */

#include "ctl/doctor/doctor.h"

#include <stdlib.h>
#include <string.h>

#include "mysql/db.h"
#include "mysql/server.h"

/* With a larger difference logs are hard to compare, and leases are not even. */
#define CLOCK_MAX_US	INT64_C(2000000)

/* How long a server may take for each answer. */
#define WAIT_MS		2000

void
doctor_cluster(struct doctor *d)
{
	char		text[SERVER_TEXT];
	struct err	e;

	if (store_cluster(d->ctl->store, &d->server, &e) < 0) {
		doctor_say(d, DOCTOR_FAIL, "server", "%s", e.text);
		return;
	}
	server_text(&d->server, text);
	doctor_say(d, DOCTOR_OK, "server", "%s, %s", text,
	    d->server.version);
}

/* Connect to this host alone, whether it is a primary or not. */
static int
ask_host(const struct doctor *d, char *host, struct server *s, struct err *e)
{
	struct conf	 c = *d->ctl->conf;
	struct db	*db;
	int		 rc;

	c.mysql.hosts.items = &host;
	c.mysql.hosts.n = 1;
	db = db_new(&c, WAIT_MS);
	db_take_any(db);
	rc = db_open(db, e) < 0 ? -1 : server_read(db, s, e);
	db_free(db);
	return rc;
}

static void
put_host(struct buf *b, const char *host, const struct server *s)
{
	char	text[SERVER_TEXT];

	server_text(s, text);
	buf_printf(b, "%s: %s%s, %s, clock %+.1f s", host, text, s->read_only &&
	    strstr(text, "read-only") == NULL ? ", read-only" : "", s->version,
	    (double)s->ahead_us / 1e6);
	if (s->kind == SERVER_GALERA && s->sync_wait != SERVER_UNKNOWN)
		buf_printf(b, ", wsrep_sync_wait %d", s->sync_wait);
	if (s->consistency[0] != '\0')
		buf_printf(b, ", consistency %s", s->consistency);
	if (s->increment != SERVER_UNKNOWN)
		buf_printf(b, ", AUTO_INCREMENT by %d from %d", s->increment,
		    s->offset);
}

void
doctor_hosts(struct doctor *d)
{
	const struct conf_list	*hosts = &d->ctl->conf->mysql.hosts;
	struct server		 s, writer;
	const char		*writes = NULL;	/* a host */
	struct buf		 b = { 0 };
	struct err		 e;
	int64_t			 first = INT64_MAX, last = INT64_MIN;

	if (hosts->n < 2)
		return;
	for (size_t i = 0; i < hosts->n; i++) {
		if (ask_host(d, hosts->items[i], &s, &e) < 0) {
			doctor_say(d, DOCTOR_ADVICE, "database host", "%s",
			    e.text);
			continue;
		}
		put_host(&b, hosts->items[i], &s);
		doctor_say(d, DOCTOR_OK, "database host", "%s", b.data);
		buf_clear(&b);
		if (!s.read_only && writes != NULL) {
			/* Two that take writes, without a common history: one
			   may be an old primary. */
			if (strcmp(writer.source, s.source) != 0)
				doctor_say(d, DOCTOR_WARN, "database host",
				    "%s and %s accept writes, and are not "
				    "members of one cluster: each lacks what "
				    "is written on the other, and a daemon "
				    "that starts passes over the one that "
				    "lacks the event of the stream's newest "
				    "message: make the one that applications "
				    "do not use a replica of the other: SET "
				    "GLOBAL read_only = 1", writes,
				    hosts->items[i]);
		} else if (!s.read_only) {
			writes = hosts->items[i];
			writer = s;
		}
		if (s.ahead_us < first)
			first = s.ahead_us;
		if (s.ahead_us > last)
			last = s.ahead_us;
	}
	buf_free(&b);
	if (last > first && last - first > CLOCK_MAX_US)
		doctor_say(d, DOCTOR_ADVICE, "clock", "the clocks of the "
		    "database hosts differ by %.1f s: synchronize them, or a "
		    "claim of a host that died lasts longer by that",
		    (double)(last - first) / 1e6);
}

/* The daemon uses only the database's clock, but operators read both. */
void
doctor_clock(struct doctor *d)
{
	int64_t	diff = d->server.ahead_us;

	if (llabs(diff) > CLOCK_MAX_US)
		doctor_say(d, DOCTOR_ADVICE, "clock", "the server's clock is "
		    "%.1f s %s this host's: synchronize both",
		    (double)llabs(diff) / 1e6, diff > 0 ? "ahead of" :
		    "behind");
	else
		doctor_say(d, DOCTOR_OK, "clock", "within %.1f s of the "
		    "server's clock", (double)CLOCK_MAX_US / 1e6);
}

#define SAMPLE	1000

/*
 * A number that is taken on one node before the rows of another have arrived
 * there is out of order.  Applications that count the events of a key show it.
 */
void
doctor_order(struct doctor *d)
{
	struct store	*s = d->ctl->store;
	uint64_t	 n;
	struct err	 e;

	if (store_is_inline(s))
		return;
	store_sql(s, "SELECT COUNT(*) FROM (SELECT n, LAG(n) OVER "
	    "(PARTITION BY order_key ORDER BY step) AS before_it FROM (SELECT "
	    "{e.sequence} AS n, " STORE_BYTES("{e.stream_id}") " AS order_key, "
	    "{e.stream_sequence} AS step FROM {events} AS e "
	    "ORDER BY {e.sequence} DESC LIMIT :max) AS newest "
	    "WHERE step IS NOT NULL) AS steps WHERE n < before_it",
	    SQL_NUMBER("max", SAMPLE));
	if (store_query_number(s, "event order", &n, &e) < 0) {
		if (!store_is_open(s))
			doctor_say(d, DOCTOR_FAIL, "event order", "%s",
			    e.text);
		return;
	}
	if (n > 0)
		doctor_say(d, DOCTOR_ADVICE, "event order", "in the newest %d "
		    "events %s goes back %llu time(s) where %s of the same "
		    "key goes on: producers do not commit the events of a key "
		    "in turn, or they do so on several servers (AUTO_INCREMENT "
		    "by %d): messages are sent in the order of %s", SAMPLE,
		    store_column_name(s, "sequence"), (unsigned long long)n,
		    store_column_name(s, "stream_sequence"),
		    d->server.increment, store_column_name(s, "sequence"));
	else
		doctor_say(d, DOCTOR_OK, "event order", "in the newest %d "
		    "events those of each key are numbered in their order",
		    SAMPLE);
}
