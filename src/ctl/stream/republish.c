/*
 * republish.c - send all delivered messages again that the stream lacks
 *
 * For a stream that was recreated or purged by mistake; the daemon never does
 * this by itself.  It is safe beside a running daemon: a row that was sent
 * again meanwhile has another ack_sequence and is skipped.  Topics of Kafka are
 * left to the janitor, which audits them.
 */

#include "ctl/base/ctl.h"
#include "ctl/stream/broker.h"
#include "ctl/stream/losses.h"
#include "nats/bus.h"
#include "recovery/stream_audit.h"
#include "util/sig.h"

#define THE_BEGINNING	"1970-01-01 00:00:01.000000"

struct republish {
	struct ctl		*ctl;
	struct relay		 relay;
	struct stream_audit	 audit;
	char			 prefix[STORE_PREFIX];
};

/* Signals are handled during waits. */
static enum keep
republish_keep(void *arg)
{
	(void)arg;
	return got_term ? KEEP_FINISH : KEEP_ON;
}

static int
find_lost(struct republish *x, struct stream_audit_rows *w, bool dry,
    struct err *e)
{
	struct store		*s = x->ctl->store;
	char			until[STORE_TIME];
	struct store_period	all = { THE_BEGINNING, until };

	*w = (struct stream_audit_rows){ .absent = true, .dry = dry };
	/*
	 * A row without a sequence went to another destination, which may be
	 * gone by now, or is from before sequences were recorded: it has none
	 * in front of it that has one.  Where there is another destination
	 * nobody can tell.
	 */
	if (!conf_goes_elsewhere(x->ctl->conf)) {
		store_sql(s, "SELECT COALESCE((SELECT {global_sequence} FROM "
		    "{outbox} WHERE {ack_sequence} IS NOT NULL ORDER BY "
		    "{global_sequence} LIMIT 1), 18446744073709551615)");
		if (store_query_number(s, "delivered", &w->unknown_below,
		    e) < 0)
			return -1;
	}
	if (store_now(s, until, e) < 0)
		return -1;
	return stream_audit_rows(&x->audit, w, &all, e) == AUDIT_DONE ? 0 :
	    err_in(e, "stream %s", x->ctl->conf->nats.stream);
}

static int
note_republish(struct ctl *c, void *n, struct err *e)
{
	return audit_note(c, *(uint64_t *)n, e);
}

/* What was lost is sent again: it need not be reported any more. */
static int
end_republish(struct ctl *c, void *n, struct err *e)
{
	uint64_t	streams;

	if (losses_clear(c, c->conf->nats.stream, &streams, e) < 0)
		return -1;
	return *(uint64_t *)n == 0 && streams == 0 ? 0 :
	    note_republish(c, n, e);
}

/* Note it in the audit before the first change, which cannot be undone. */
static int
republish_lost(struct republish *x, struct stream_audit_rows *w, struct err *e)
{
	struct err	other;
	int		rc;

	sig_init();
	w->reset = 0;
	if (ctl_transaction(x->ctl, note_republish, &w->reset, e) < 0)
		return -1;
	rc = find_lost(x, w, false, e);
	if (rc < 0 && w->reset > 0)
		ctl_transaction(x->ctl, note_republish, &w->reset, &other);
	return rc;
}

static int
republish(struct republish *x)
{
	struct ctl			*c = x->ctl;
	struct pub			*p = &x->relay.pubs[0];
	struct stream_audit_rows	 w = { .lost = 1 };
	struct counts			 k;
	struct buf			 text = { 0 };
	struct err			 e;

	if (!store_can_audit_stream(c->store))
		return ctl_refuse("run outboxctl schema upgrade", "the tables "
		    "do not record the stream sequence of a message");
	/* store_settings() sets a missing count; no row is delivered then. */
	if (store_read_counts(c->store, &k, &e) < 0 ||
	    (k.count != 0 && store_settings(c->store, &k.count, &e) < 0))
		return ctl_fail(c, &e);
	store_prefix(c->store, x->prefix);
	stream_audit_init(&x->audit, c->conf, c->store, &x->relay);
	if (p->ops->open(p->arg, &e) < 0)
		return ctl_no_broker(&e);
	if ((!c->args.yes || c->args.dry_run) &&
	    find_lost(x, &w, true, &e) < 0)
		return ctl_fail(c, &e);
	if (!ctl_confirm(c, w.lost, "message", "sent again"))
		return CTL_FAILED;
	if (w.lost > 0 && !c->args.dry_run && republish_lost(x, &w, &e) < 0)
		return ctl_fail(c, &e);
	if (!c->args.dry_run &&
	    ctl_transaction(c, end_republish, &w.reset, &e) < 0)
		return ctl_fail(c, &e);
	buf_printf(&text, "%llu delivered rows: %llu are in stream %s, %llu "
	    "are not", (unsigned long long)(w.there + w.lost),
	    (unsigned long long)w.there, c->conf->nats.stream,
	    (unsigned long long)w.lost);
	if (w.lost > 0 && !c->args.dry_run)
		buf_printf(&text, "; %llu are sent again",
		    (unsigned long long)w.reset);
	print_done(c, w.dry ? w.lost : w.reset, "%s", text.data);
	buf_free(&text);
	return CTL_DONE;
}

static int
ask_janitor(struct ctl *c, void *asked, struct err *e)
{
	uint64_t	reported;

	if (losses_clear(c, CONF_TOPICS, &reported, e) < 0)
		return -1;
	store_sql(c->store, "UPDATE {streams} SET suspicion = '" STORE_REFILL
	    "' WHERE name = '" CONF_TOPICS "'");
	if (store_exec(c->store, "topics", asked, e) < 0)
		return -1;
	return *(uint64_t *)asked == 0 ? 0 : audit_note(c, 0, e);
}

static int
republish_topics(struct ctl *c)
{
	uint64_t	asked = 1;
	struct err	e;

	if (c->conf->kafka.recover == RECOVER_OFF ||
	    !store_can_audit_topics(c->store))
		return ctl_refuse("set kafka.recover, run outboxctl schema "
		    "upgrade", "no janitor looks whether topics lack messages");
	if (!ctl_confirm(c, 1, "search of all topics", "made"))
		return CTL_FAILED;
	if (!c->args.dry_run && ctl_transaction(c, ask_janitor, &asked, &e) < 0)
		return ctl_fail(c, &e);
	if (asked == 0)
		return ctl_refuse("start the daemon", "no janitor has looked "
		    "at the topics yet");
	print_done(c, asked, "the janitor looks up all delivered messages, and "
	    "sends again what topics lack: see the log");
	return CTL_DONE;
}

int
stream_republish(struct ctl *c)
{
	struct republish	x = { .ctl = c, .relay = { .conf = c->conf,
				    .keep = republish_keep } };
	int			status;

	if (conf_uses_kafka(c->conf) && !conf_goes_to_stream(c->conf))
		return (status = ctl_connect(c)) == CTL_DONE ?
		    republish_topics(c) : status;
	if ((status = broker_needed(c)) != CTL_DONE)
		return status;
	if (c->conf->nats.stream[0] == '\0')
		return ctl_refuse("set it", "nats.stream is not set, so there "
		    "is no stream to compare with");
	x.relay.form.id_prefix = x.prefix;
	/* The library of NATS must be first, see bus.h. */
	x.relay.pubs[0] = bus_new(c->conf, "outboxctl");
	if ((status = ctl_connect(c)) == CTL_DONE)
		status = republish(&x);
	if (status == CTL_DONE && conf_uses_kafka(c->conf))
		status = republish_topics(c);
	pub_free(&x.relay.pubs[0]);
	return status;
}
