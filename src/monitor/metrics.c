/* metrics.c - see metrics.h */

#include "monitor/metrics_impl.h"

#include "monitor/exposition.h"

static void
put_build(struct buf *b)
{
	static const char	name[] = "outbox_build_info";

	exposition_head(b, name, "gauge", "The version that runs; always 1.");
	exposition_count(b, name, 1, LABELS("version", PACKAGE_VERSION));
}

/* The last reload of the configuration. */
static void
put_reload(struct buf *b, const struct scoreboard *s)
{
	const struct scoreboard_reload	*r = &s->reload;

	exposition_gauge(b, "outbox_start_time_seconds",
	    "When the master began, in seconds since 1970.",
	    (double)s->started_at);
	exposition_gauge(b, "outbox_configuration_generation",
	    "1, and one more for each accepted reload.",
	    (double)s->generation);
	exposition_counter(b, "outbox_reloads_total",
	    "Reloads that were asked for.", r->count);
	exposition_gauge(b, "outbox_reload_accepted",
	    "1 unless the last reload was refused.",
	    r->result != SCOREBOARD_RELOAD_REFUSED &&
	    r->result != SCOREBOARD_RELOAD_WRONG);
}

void
metrics_write(struct buf *b, const struct metrics_from *from)
{
	bool	fresh = from->state != NULL &&
		    from->state_age_ms < METRICS_STATE_MS;

	put_build(b);
	exposition_gauge(b, "outbox_up",
	    "1 if the processes of this host give signs of life.", from->up);
	exposition_gauge(b, "outbox_ready",
	    "1 if outboxctl status finds no problem.", from->ready);
	put_reload(b, from->scoreboard);
	metrics_totals(b, from->scoreboard);
	metrics_processes(b, from->scoreboard);
	if (from->state != NULL)
		exposition_gauge(b, "outbox_state_age_seconds",
		    "How old the state of database and broker is.",
		    (double)from->state_age_ms / 1000);
	if (!fresh)
		return;
	metrics_state(b, from->state);
	if (from->partitions != NULL)
		metrics_partitions(b, from->partitions);
}
