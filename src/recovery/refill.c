/*
 * refill.c - see refill.h
 *
 * For a stream that was made anew or purged by mistake: a decision that the
 * daemon does not take by itself.  Beside a running one it is harmless: a row
 * that was sent again meanwhile has another place and is left alone.
 */

#include "recovery/refill.h"

#include <stdio.h>
#include <string.h>

#include <bsd/string.h>

#include "nats/bus.h"
#include "util/log.h"
#include "recovery/recover.h"
#include "util/sig.h"

#define THE_BEGINNING	"1970-01-01 00:00:01.000000"

struct refill {
	const struct conf	*conf;
	struct store		*store;
	struct relay		 relay;
	struct recover		 recover;
	char			 prefix[STORE_PREFIX];
};

/* A wait lets the signals in. */
static enum keep
keep(void *arg)
{
	(void)arg;
	return got_term ? KEEP_FINISH : KEEP_ON;
}

static int
connect_both(struct refill *f, struct err *e)
{
	struct pub	*p = &f->relay.pub;
	unsigned	 count = (unsigned)f->conf->outbox.partition_count;

	if (p->ops->open(p->arg, e) < 0 || store_open(f->store, e) < 0 ||
	    store_learn(f->store, e) < 0 ||
	    store_settings(f->store, &count, e) < 0)
		return -1;
	if (!store_can_recover(f->store))
		return err_set(e, "refill: the tables do not keep where the "
		    "stream has a message: see sql/schema.sql");
	store_prefix(f->store, f->prefix);
	return 0;
}

static int
walk(struct refill *f, struct recover_walk *w, struct err *e)
{
	char	from[STORE_TIME] = THE_BEGINNING, until[STORE_TIME];

	if (store_now(f->store, until, e) < 0)
		return -1;
	return recover_walk(&f->recover, w, from, until, e) == WALK_DONE ?
	    0 : -1;
}

static void
report(const struct conf *conf, const struct recover_walk *w)
{
	printf("%llu delivered rows: %llu are in stream %s, %llu are not",
	    (unsigned long long)(w->there + w->lost),
	    (unsigned long long)w->there, conf->nats.stream,
	    (unsigned long long)w->lost);
	if (w->lost == 0)
		puts("");
	else if (w->dry)
		puts("; --yes has them sent again");
	else
		printf("; %llu are sent again\n",
		    (unsigned long long)w->reset);
}

static int
run(struct refill *f, bool yes, struct err *e)
{
	struct recover_walk	w = { .all = true, .absent = true };

	if (f->conf->nats.stream[0] == '\0')
		return err_set(e, "refill: nats.stream names no stream");
	w.dry = !yes;
	if (connect_both(f, e) < 0)
		return -1;
	if (walk(f, &w, e) < 0)
		return err_in(e, "refill: stream %s", f->conf->nats.stream);
	report(f->conf, &w);
	return 0;
}

int
refill_main(const struct conf *conf, const char *id, bool yes)
{
	struct refill	f = { .conf = conf };
	struct err	e;
	int		rc;

	f.relay.conf = conf;
	f.relay.form.id_prefix = f.prefix;
	f.relay.keep = keep;
	f.relay.pub = bus_new(conf, id);
	f.store = store_new(conf, id);
	recover_init(&f.recover, conf, f.store, &f.relay);
	if ((rc = run(&f, yes, &e)) < 0)
		log_error("%s", e.text);
	store_free(f.store);
	bus_free(&f.relay.pub);
	return rc < 0 ? 1 : 0;
}
