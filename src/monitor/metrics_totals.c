/* metrics_totals.c - what the processes of this master have done */

#include "monitor/metrics_impl.h"

#include <stddef.h>

#include "driver/verdict.h"
#include "ipc/destinations.h"
#include "monitor/exposition.h"
#include "util/clock.h"

#define US	1e6	/* in a second */
#define ROWS	13	/* bounds of a batch: it has not more than 10,000 */

/* Counters without a label. */
static const struct counter {
	const char	*name, *help;
	size_t		 at;	/* in struct totals */
} counters[] = {
	{ "outbox_claimed_messages_total", "Rows claimed to be sent.",
	    offsetof(struct totals, claimed) },
	{ "outbox_published_messages_total",
	    "Rows whose delivery was written back.",
	    offsetof(struct totals, published) },
	{ "outbox_duplicate_messages_total",
	    "Messages that were stored already when they were sent.",
	    offsetof(struct totals, duplicates) },
	{ "outbox_renamed_messages_total",
	    "Messages sent under the daemon's id, as another's has theirs.",
	    offsetof(struct totals, renamed) },
	{ "outbox_unread_duplicates_total",
	    "Duplicates of message_ids that nobody could read.",
	    offsetof(struct totals, unread) },
	{ "outbox_retried_messages_total",
	    "Rows that failed, to be sent again after a delay.",
	    offsetof(struct totals, retried) },
	{ "outbox_deferred_messages_total",
	    "Rows that wait for a while by no fault of theirs.",
	    offsetof(struct totals, deferred) },
	{ "outbox_returned_messages_total",
	    "Rows that were claimed and given back without being sent.",
	    offsetof(struct totals, returned) },
	{ "outbox_fenced_messages_total",
	    "Rows that lost their claim before the write-back.",
	    offsetof(struct totals, fenced) },
	{ "outbox_recovered_messages_total",
	    "Delivered rows that the stream had lost, to be sent again.",
	    offsetof(struct totals, recovered) },
	{ "outbox_former_label_messages_total",
	    "Messages sent under the label of a former partition count.",
	    offsetof(struct totals, former_labels) },
	{ "outbox_skipped_metadata_entries_total",
	    "Entries of metadata that cannot be headers.",
	    offsetof(struct totals, skipped) },
	{ "outbox_leases_taken_total", "Leases of partitions taken.",
	    offsetof(struct totals, leases_taken) },
	{ "outbox_leases_released_total", "Leases given back.",
	    offsetof(struct totals, leases_released) },
	{ "outbox_leases_lost_total",
	    "Leases that expired or were taken away.",
	    offsetof(struct totals, leases_lost) },
};

static void
put_counters(struct buf *b, const struct totals *t)
{
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		exposition_counter(b, counters[i].name, counters[i].help,
		    *(const uint64_t *)((const char *)t + counters[i].at));
}

static void
put_failures(struct buf *b, const struct totals *t)
{
	static const char	name[] = "outbox_failures_total";

	exposition_head(b, name, "counter", "Sends that failed: by the fault "
	    "of the message, for a while, or by a fault of the destination.");
	exposition_count(b, name, t->failed_message, LABELS("class",
	    "message"));
	exposition_count(b, name, t->failed_transient, LABELS("class",
	    "transient"));
	for (unsigned i = CLASS_NONE + 1; i < CLASSES; i++)
		exposition_count(b, name, t->refused[i], LABELS("class",
		    error_class_word((enum error_class)i)));
}

/* Of each route, and of what no route takes. */
static void
put_destinations(struct buf *b, const struct scoreboard *s)
{
	static const char	 taken[] = "outbox_destination_taken_total";
	static const char	 failed[] = "outbox_destination_failed_total";
	static const char	 fails[] = "outbox_destination_fails";
	static struct destination list[FIGURES_MAX];
	size_t			 n = destinations_read(s, clock_ms(), list);

	exposition_head(b, taken, "counter",
	    "Messages that a destination took.");
	for (size_t i = 0; i < n; i++)
		exposition_count(b, taken, list[i].sum.taken,
		    LABELS("destination", list[i].sum.name));
	exposition_head(b, failed, "counter",
	    "Tries to send a message that a destination failed.");
	for (size_t i = 0; i < n; i++)
		exposition_count(b, failed, list[i].sum.failed,
		    LABELS("destination", list[i].sum.name));
	exposition_head(b, fails, "gauge",
	    "1 while a destination takes nothing that is sent to it.");
	for (size_t i = 0; i < n; i++)
		exposition_count(b, fails, list[i].state >= DESTINATION_FAILS,
		    LABELS("destination", list[i].sum.name));
}

static void
put_dead(struct buf *b, const struct totals *t)
{
	static const char	name[] = "outbox_dead_messages_total";

	exposition_head(b, name, "counter",
	    "Messages that became dead letters, by reason.");
	for (unsigned i = 0; i < TOTALS_REASONS; i++)
		exposition_count(b, name, t->dead[i], LABELS("reason",
		    totals_reason_word((enum totals_reason)i)));
}

static void
put_wakeups(struct buf *b, const struct totals *t)
{
	static const char	name[] = "outbox_wakeups_total";

	exposition_head(b, name, "counter",
	    "Times that a worker was told of new rows.");
	exposition_count(b, name, t->wakeups[TOTALS_BY_BINLOG],
	    LABELS("source", "binlog"));
	exposition_count(b, name, t->wakeups[TOTALS_BY_SUBJECT],
	    LABELS("source", "subject"));
}

static void
put_peers(struct buf *b, const char *name, const char *help,
    const uint64_t n[TOTALS_PEERS])
{
	exposition_head(b, name, "counter", help);
	exposition_count(b, name, n[TOTALS_DATABASE], LABELS("peer",
	    "database"));
	exposition_count(b, name, n[TOTALS_BROKER], LABELS("peer", "broker"));
}

static void
put_histograms(struct buf *b, const struct totals *t)
{
	exposition_histogram(b, "outbox_commit_to_ack_seconds",
	    "From the insert of a row to the acknowledgement of its message.",
	    &t->commit_to_ack, histogram_us, HISTOGRAM_BOUNDS, US);
	exposition_histogram(b, "outbox_publish_to_ack_seconds",
	    "From sending a message to its acknowledgement.",
	    &t->publish_to_ack, histogram_us, HISTOGRAM_BOUNDS, US);
	exposition_histogram(b, "outbox_tick_seconds",
	    "A worker's tick: scan, claim, publish, write back.",
	    &t->tick, histogram_us, HISTOGRAM_BOUNDS, US);
	exposition_histogram(b, "outbox_batch_messages",
	    "Rows claimed at once.", &t->batch, histogram_rows, ROWS, 1);
}

/* Those that were sent at least once. */
static void
put_statements(struct buf *b, const struct totals *t)
{
	static const char	 count[] = "outbox_statements_total";
	static const char	 time[] = "outbox_statement_seconds_total";
	const char		*name;

	exposition_head(b, count, "counter",
	    "Statements sent to the database, by name.");
	for (unsigned i = 0; (name = totals_statement_name(i)) != NULL; i++)
		if (t->statements[i].count > 0)
			exposition_count(b, count, t->statements[i].count,
			    LABELS("statement", name));
	exposition_head(b, time, "counter",
	    "Time until their answers were here.");
	for (unsigned i = 0; (name = totals_statement_name(i)) != NULL; i++)
		if (t->statements[i].count > 0)
			exposition_real(b, time, (double)t->statements[i].us /
			    US, LABELS("statement", name));
}

static void
put_restarts(struct buf *b, const struct scoreboard *s)
{
	static const char	name[] = "outbox_restarts_total";

	exposition_head(b, name, "counter",
	    "Processes that ended and were replaced, by cause.");
	for (unsigned r = 0; r < TOTALS_ROLES; r++)
		for (unsigned e = 0; e < TOTALS_ENDS; e++)
			exposition_count(b, name, s->restarts[r][e],
			    LABELS("role", totals_role_word((enum
			    totals_role)r), "cause", totals_end_word((enum
			    totals_end)e)));
}

void
metrics_totals(struct buf *b, const struct scoreboard *s)
{
	struct totals	t = { 0 };

	for (unsigned i = 0; i < SCOREBOARD_LINES; i++)
		totals_add(&t, &s->totals[i]);
	put_counters(b, &t);
	put_failures(b, &t);
	put_destinations(b, s);
	put_dead(b, &t);
	put_wakeups(b, &t);
	put_peers(b, "outbox_connects_total",
	    "Connections made to database and broker.", t.connects);
	put_peers(b, "outbox_connect_failures_total",
	    "Tries to connect that failed.", t.connects_failed);
	put_histograms(b, &t);
	put_statements(b, &t);
	put_restarts(b, s);
}
