/* metrics.c - see metrics.h */

#include "monitor/metrics_impl.h"

#include "monitor/exposition.h"

void
metrics_write(struct buf *b, const struct metrics_from *from)
{
	static const char		 build[] = "outbox_build_info";
	const struct scoreboard		*s = from->scoreboard;
	const struct scoreboard_reload	*r = &s->reload;

	exposition_head(b, build, "gauge", "The version that runs; always 1.");
	exposition_count(b, build, 1, LABELS("version", PACKAGE_VERSION));
	exposition_gauge(b, "outbox_up",
	    "1 if the processes of this host give signs of life.", from->up);
	exposition_gauge(b, "outbox_ready",
	    "1 if outboxctl status finds no problem.", from->ready);
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
	metrics_totals(b, s);
	metrics_processes(b, s);
	if (from->state == NULL)
		return;
	exposition_gauge(b, "outbox_state_age_seconds",
	    "How old the state of database and broker is.",
	    (double)from->state_age_ms / 1000);
	if (from->state_age_ms >= METRICS_STATE_MS)
		return;
	metrics_state(b, from->state);
	if (from->partitions != NULL)
		metrics_partitions(b, from->partitions);
}
