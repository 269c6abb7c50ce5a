/*
 * check_metrics.c - totals, histograms, the Prometheus text, the throughput
 *
 * That the daemon counts is shown by tests/system/run_metrics.sh.
 */
#include "lib/check.h"

#include <math.h>

#include "driver/verdict.h"
#include "health/health.h"
#include "ipc/totals.h"
#include "ipc/usage.h"
#include "monitor/exposition.h"
#include "monitor/metrics.h"
#include "monitor/throughput.h"
#include "util/clock.h"
#include "util/histogram.h"

#define NOON	(1800000000 / 60 * 60)	/* a full minute, UTC */

static struct scoreboard	*board;

/* Large: not for the stack. */
static void
setup(void)
{
	board = calloc(1, sizeof(*board));
}

static void
teardown(void)
{
	free(board);
}

/*
 * histograms
 */

static const struct {
	int64_t		value;
	unsigned	at;
} values[] = {
	{ -5, 0 }, { 0, 0 }, { 200, 0 }, { 201, 1 }, { 1000, 2 },
	{ 300000000, 17 }, { 300000001, 18 },
};

START_TEST(value_is_counted_once)
{
	struct histogram	h = { .sum = 0 };

	histogram_add(&h, histogram_us, values[_i].value);
	ck_assert_uint_eq(h.counts[values[_i].at], 1);
	ck_assert_uint_eq(histogram_count(&h), 1);
	ck_assert_uint_eq(h.sum, (uint64_t)later(values[_i].value, 0));
}
END_TEST

START_TEST(bounds_rise)
{
	for (unsigned i = 1; i < HISTOGRAM_BOUNDS; i++) {
		ck_assert_int_gt(histogram_us[i], histogram_us[i - 1]);
		ck_assert_int_gt(histogram_rows[i], histogram_rows[i - 1]);
	}
}
END_TEST

START_TEST(quantile_is_between_bounds)
{
	struct histogram	h = { .sum = 0 };

	ck_assert(histogram_quantile(&h, histogram_us, 0.5) < 0);
	for (int i = 0; i < 99; i++)
		histogram_add(&h, histogram_us, 700);
	histogram_add(&h, histogram_us, 9000);
	ck_assert_double_gt(histogram_quantile(&h, histogram_us, 0.5), 500);
	ck_assert_double_le(histogram_quantile(&h, histogram_us, 0.99), 1000);
	ck_assert_double_gt(histogram_quantile(&h, histogram_us, 0.999), 5000);
	histogram_add(&h, histogram_us, 400000000);
	ck_assert_double_eq(histogram_quantile(&h, histogram_us, 1),
	    300000000);
}
END_TEST

/*
 * totals
 */

START_TEST(statements_are_counted_by_name)
{
	struct totals	t = { 0 };
	unsigned	i = 0;

	for (; totals_statement_name(i) != NULL; i++) {
		const char *name = totals_statement_name(i);

		totals_statement(&t, name, 5);
		ck_assert_msg(t.statements[i].count == 1, "%s", name);
		ck_assert_uint_eq(t.statements[i].us, 5);
		ck_assert(i == 0 || strcmp(name, "other") == 0 ||
		    strcmp(totals_statement_name(i - 1), name) < 0);
	}
	ck_assert_uint_le(i, TOTALS_STATEMENTS);
	totals_statement(&t, "never heard of", -7);
	ck_assert_uint_eq(t.statements[i - 1].count, 2);
	ck_assert_uint_eq(t.statements[i - 1].us, 5);
}
END_TEST

START_TEST(totals_are_added)
{
	struct totals	a = { .claimed = 1 }, b = { .claimed = 2 };

	b.statements[TOTALS_STATEMENTS - 1].us = 3;
	totals_add(&a, &b);
	ck_assert_uint_eq(a.claimed, 3);
	ck_assert_uint_eq(a.statements[TOTALS_STATEMENTS - 1].us, 3);
}
END_TEST

START_TEST(reason_is_a_word)
{
	for (unsigned i = 0; i < TOTALS_REASONS; i++)
		ck_assert_uint_eq(totals_reason(totals_reason_word(
		    (enum totals_reason)i)), i);
	ck_assert_uint_eq(totals_reason(NULL), TOTALS_MESSAGE);
}
END_TEST

/*
 * the text
 */

static char *
text_of(const json_t *state, int64_t age_ms, const json_t *partitions)
{
	struct buf	b = { 0 };

	metrics_write(&b, &(struct metrics_from){ .scoreboard = board,
	    .up = true, .state = state, .state_age_ms = age_ms,
	    .partitions = partitions });
	return b.data;
}

/* The value of a series; NAN: it is not there. */
static double
value_of(const char *text, const char *series)
{
	char	*line = NULL, *found;
	double	 value = NAN;

	ck_assert_int_gt(asprintf(&line, "\n%s ", series), 0);
	if ((found = strstr(text, line)) != NULL)
		value = strtod(found + strlen(line), NULL);
	free(line);
	return value;
}

#define ck_value(text, series, x)					\
	ck_assert_msg(fabs(value_of(text, series) - (x)) < 1e-9,	\
	    "%s is %g", series, value_of(text, series))

START_TEST(labels_are_escaped)
{
	struct buf	b = { 0 };

	exposition_count(&b, "x", 7, LABELS("a", "\"\\\n\t", "b", ""));
	exposition_real(&b, "y", 0.25, NULL);
	ck_assert_str_eq(b.data,
	    "x{a=\"\\\"\\\\\\n\t\",b=\"\"} 7\ny 0.25\n");
	buf_free(&b);
}
END_TEST

START_TEST(slots_are_summed)
{
	struct totals	*t = board->totals;
	char		*text;

	t[0].published = 3;
	t[CONF_MAX_WORKERS - 1].published = 4;
	t[1].refused[CLASS_FULL] = 5;
	t[1].failed_message = 6;
	t[2].dead[TOTALS_POISON] = 7;
	totals_statement(&t[SCOREBOARD_JANITOR], "backlog", 1500000);
	histogram_add(&t[0].commit_to_ack, histogram_us, 1500);
	histogram_add(&t[1].commit_to_ack, histogram_us, 500000000);
	histogram_add(&t[1].batch, histogram_rows, 100);
	board->restarts[TOTALS_MONITOR][TOTALS_HANG] = 8;
	text = text_of(NULL, 0, NULL);
	ck_value(text, "outbox_published_messages_total", 7);
	ck_value(text, "outbox_failures_total{class=\"full\"}", 5);
	ck_value(text, "outbox_failures_total{class=\"message\"}", 6);
	ck_value(text, "outbox_dead_messages_total{reason=\"poison\"}", 7);
	ck_value(text, "outbox_statements_total{statement=\"backlog\"}", 1);
	ck_value(text,
	    "outbox_statement_seconds_total{statement=\"backlog\"}", 1.5);
	ck_value(text, "outbox_restarts_total{role=\"monitor\",cause=\"hang\"}",
	    8);
	ck_value(text, "outbox_commit_to_ack_seconds_bucket{le=\"0.001\"}", 0);
	ck_value(text, "outbox_commit_to_ack_seconds_bucket{le=\"0.002\"}", 1);
	ck_value(text, "outbox_commit_to_ack_seconds_bucket{le=\"+Inf\"}", 2);
	ck_value(text, "outbox_commit_to_ack_seconds_count", 2);
	ck_value(text, "outbox_commit_to_ack_seconds_sum", 500.0015);
	ck_value(text, "outbox_batch_messages_bucket{le=\"100\"}", 1);
	free(text);
}
END_TEST

static void
start_worker(unsigned slot, enum scoreboard_state state)
{
	struct scoreboard_line	*l = &board->lines[slot];

	l->pid = getpid();
	l->state = state;
	l->alive_at = clock_ms() - 2000;
	l->owned = 3;
	l->desired = 4;
	usage_note(board);
}

START_TEST(processes_are_shown)
{
	struct scoreboard_line	*l = &board->lines[7];
	char			*text;

	start_worker(7, SCOREBOARD_PAUSED);
	start_worker(8, SCOREBOARD_FREE);	/* its pid is of the past */
	l->pause.since = 1;
	memcpy(l->pause.class, "full", 5);
	l->refused.n = 2;
	l->started_at = 1;
	board->figures[7].list[0] = (struct figures){ .name = "hooks",
	    .used = true, .taken = 3, .failed = 4, .failing_since = 1,
	    .tells = true, .failed_at = 2, .again_by = INT64_MAX };
	text = text_of(NULL, 0, NULL);
	ck_value(text, "outbox_destination_taken_total{destination=\"hooks\"}",
	    3);
	ck_value(text,
	    "outbox_destination_failed_total{destination=\"hooks\"}", 4);
	ck_value(text, "outbox_destination_fails{destination=\"hooks\"}", 1);
	ck_value(text, "outbox_worker_processes{state=\"paused\"}", 1);
	ck_value(text, "outbox_worker_processes{state=\"running\"}", 0);
	ck_value(text, "outbox_paused_workers{class=\"full\"}", 1);
	ck_value(text, "outbox_paused_workers{class=\"sealed\"}", 0);
	ck_value(text, "outbox_leases_held", 3);
	ck_value(text, "outbox_leases_wanted", 4);
	ck_value(text, "outbox_refused_types", 2);
	ck_assert_double_ge(value_of(text,
	    "outbox_process_silent_seconds{role=\"worker\",slot=\"7\"}"), 2);
	ck_assert_double_ge(value_of(text,
	    "outbox_process_cpu_seconds_total{role=\"worker\",slot=\"7\"}"), 0);
	ck_assert_double_gt(value_of(text, "outbox_process_resident_memory_"
	    "bytes{role=\"worker\",slot=\"7\"}"), 100000);
	ck_assert_ptr_null(strstr(text, "slot=\"8\""));
	free(text);
}
END_TEST

static json_t *
some_state(void)
{
	return json_pack("{s:{s:i, s:i}, s:{s:i, s:i}, s:{s:i, s:b, s:i}, "
	    "s:{s:i}, s:{s:i, s:i}, s:[{s:s, s:i}, {s:s, s:i}], "
	    "s:[{s:i, s:i, s:i}, {s:i}], s:n, s:{s:s}, s:[{s:s}], s:[{s:s}]}",
	    "workers", "live", 2, "stale", 1,
	    "partitions", "owned", 8, "paused", 1,
	    "backlog", "waiting", 100, "exact", 1, "parked", 7,
	    "oldest", "age_ms", 1500,
	    "dead", "count", 5, "new", 2,
	    "blocked", "reason", "halted", "keys", 3,
	    "reason", "a\"b", "keys", 1,
	    "streams", "phantoms", 1, "lost", 4, "missing", 3, "lost", 5,
	    "database", "broker", "error", "gone",
	    "problems", "id", "stream_full",
	    "advice", "id", "stream_advice");
}

START_TEST(state_is_shown)
{
	json_t	*state = some_state();
	char	*text = text_of(state, 500, NULL);

	ck_value(text, "outbox_state_age_seconds", 0.5);
	ck_value(text, "outbox_fleet_workers{state=\"live\"}", 2);
	ck_value(text, "outbox_fleet_workers{state=\"stale\"}", 1);
	ck_value(text, "outbox_partitions{state=\"owned\"}", 8);
	ck_value(text, "outbox_backlog_messages{state=\"waiting\"}", 100);
	ck_value(text, "outbox_backlog_messages{state=\"parked\"}", 7);
	ck_value(text, "outbox_backlog_exact", 1);
	ck_value(text, "outbox_oldest_message_age_seconds", 1.5);
	ck_value(text, "outbox_dead_letters", 5);
	ck_value(text, "outbox_new_dead_letters", 2);
	ck_value(text, "outbox_blocked_keys{reason=\"halted\"}", 3);
	ck_value(text, "outbox_blocked_keys{reason=\"a\\\"b\"}", 1);
	ck_value(text, "outbox_stream_lost_messages", 9);
	ck_value(text, "outbox_stream_missing_messages", 3);
	ck_value(text, "outbox_stream_phantom_messages", 1);
	ck_value(text, "outbox_database_reachable", 1);
	ck_value(text, "outbox_broker_reachable", 0);
	ck_value(text, "outbox_problem{id=\"stream_full\","
	    "severity=\"critical\"}", 1);
	ck_value(text, "outbox_problem{id=\"oldest\",severity=\"warning\"}",
	    0);
	/* No alert on problems is about advice. */
	ck_value(text, "outbox_advice{id=\"stream_advice\"}", 1);
	ck_value(text, "outbox_advice{id=\"no_daemon\"}", 0);
	ck_assert_ptr_null(strstr(text, "outbox_problem{id=\"no_daemon"));
	free(text);
	json_decref(state);
}
END_TEST

START_TEST(old_state_shows_its_age_only)
{
	json_t	*state = some_state();
	char	*text = text_of(state, METRICS_STATE_MS, NULL);

	ck_value(text, "outbox_state_age_seconds", METRICS_STATE_MS / 1000);
	ck_assert_ptr_null(strstr(text, "outbox_backlog"));
	ck_assert_ptr_null(strstr(text, "outbox_problem"));
	free(text);
	json_decref(state);
}
END_TEST

/* The database is away: what was not read is left out. */
START_TEST(half_a_state_is_shown)
{
	json_t	*state = json_pack("{s:{s:s}, s:n, s:[{s:s}]}", "database",
		    "error", "away", "blocked", "problems", "id", "database");
	char	*text = text_of(state, 0, NULL);

	ck_value(text, "outbox_database_reachable", 0);
	ck_value(text, "outbox_problem{id=\"database\",severity=\"critical\"}",
	    1);
	ck_assert_ptr_null(strstr(text, "outbox_backlog"));
	ck_assert_ptr_null(strstr(text, "outbox_dead_letters"));
	ck_assert_ptr_null(strstr(text, "outbox_blocked_keys"));
	free(text);
	json_decref(state);
}
END_TEST

START_TEST(few_partitions_are_shown)
{
	json_t	*list = json_array(), *state = some_state();
	char	*text;

	for (int i = 0; i < METRICS_PARTITIONS; i++)
		json_array_append_new(list, json_pack("{s:s, s:i, s:i}",
		    "partition", i == 0 ? "\"p" : "q", "oldest_ms", 2500,
		    "waiting", 6));
	text = text_of(state, 0, list);
	ck_value(text, "outbox_partition_oldest_message_age_seconds"
	    "{partition=\"\\\"p\"}", 2.5);
	ck_value(text, "outbox_partition_backlog_messages"
	    "{partition=\"\\\"p\"}", 6);
	free(text);
	json_array_append_new(list, json_object());
	text = text_of(state, 0, list);
	ck_assert_ptr_null(strstr(text, "outbox_partition_"));
	free(text);
	json_decref(list);
	json_decref(state);
}
END_TEST

/*
 * throughput
 */

static json_int_t
number_at(const json_t *o, size_t minute, const char *name)
{
	return json_integer_value(json_object_get(json_array_get(
	    json_object_get(o, "minutes"), minute), name));
}

START_TEST(minutes_are_counted)
{
	struct totals	*t = board->totals;
	json_t		*o;

	throughput_sample(board, NOON);
	t[0].claimed = 10;
	t[3].published = 8;
	t[3].failed_transient = 1;
	t[4].refused[CLASS_FULL] = 2;
	histogram_add(&t[3].commit_to_ack, histogram_us, 3000);
	throughput_sample(board, NOON + 1);
	t[3].published = 9;
	throughput_sample(board, NOON + 60);
	o = throughput_json(board, NOON + 61);
	ck_assert_uint_eq(json_array_size(json_object_get(o, "minutes")), 60);
	ck_assert_int_eq(number_at(o, 58, "claimed"), 10);
	ck_assert_int_eq(number_at(o, 58, "published"), 8);
	ck_assert_int_eq(number_at(o, 58, "failed"), 3);
	ck_assert_int_eq(number_at(o, 59, "published"), 1);
	ck_assert_int_eq(number_at(o, 57, "published"), 0);
	ck_assert_int_eq(json_integer_value(json_object_get(o, "published")),
	    9);
	ck_assert_double_gt(json_real_value(json_object_get(o, "p99_ms")), 2);
	ck_assert_str_eq(json_string_value(json_object_get(json_array_get(
	    json_object_get(o, "minutes"), 58), "at")), "2027-01-15T08:00:00Z");
	ck_assert(json_is_null(json_object_get(json_array_get(
	    json_object_get(o, "minutes"), 59), "p50_ms")));
	json_decref(o);
}
END_TEST

/* The ring has been round since: what is older than an hour is gone. */
START_TEST(minutes_are_forgotten)
{
	json_t	*o;

	board->totals[0].published = 5;
	throughput_sample(board, NOON);
	board->totals[0].published = 6;
	throughput_sample(board, NOON + 59 * 60);
	o = throughput_json(board, NOON + 59 * 60);
	ck_assert_int_eq(json_integer_value(json_object_get(o, "published")),
	    6);
	json_decref(o);
	o = throughput_json(board, NOON + 60 * 60);
	ck_assert_int_eq(json_integer_value(json_object_get(o, "published")),
	    1);
	json_decref(o);
	throughput_sample(board, NOON + 61 * 60);
	o = throughput_json(board, NOON + 61 * 60);
	ck_assert_int_eq(number_at(o, 59, "published"), 0);
	json_decref(o);
}
END_TEST

/* The first of the list in this minute, as "taken,failed". */
static const char *
tries_at(const json_t *o, size_t minute)
{
	static char	 text[32];
	const json_t	*m = json_array_get(json_object_get(json_array_get(
			    json_object_get(o, "destinations"), 0),
			    "minutes"), minute);

	snprintf(text, sizeof(text), "%d,%d", (int)json_integer_value(
	    json_object_get(m, "taken")), (int)json_integer_value(
	    json_object_get(m, "failed")));
	return text;
}

/* Their tries are those of all workers; a route may count from 0 again. */
START_TEST(tries_of_destinations_are_counted)
{
	struct figures	*f[2];
	json_t		*o;

	for (int i = 0; i < 2; i++) {
		board->lines[i].state = SCOREBOARD_RUNNING;
		board->lines[i].started_at = 1;
		f[i] = &board->figures[i].list[i];
		strcpy(f[i]->name, "hooks");
		f[i]->used = true;
	}
	throughput_sample(board, NOON);
	f[0]->taken = 7;
	f[1]->failed = 2;
	throughput_sample(board, NOON + 1);
	f[0]->taken = 8;
	throughput_sample(board, NOON + 60);
	f[0]->taken = 3;
	throughput_sample(board, NOON + 120);
	o = throughput_json(board, NOON + 121);
	ck_assert_uint_eq(json_array_size(json_object_get(o, "destinations")),
	    1);
	ck_assert_str_eq(tries_at(o, 56), "0,0");
	ck_assert_str_eq(tries_at(o, 57), "7,2");
	ck_assert_str_eq(tries_at(o, 58), "1,0");
	ck_assert_str_eq(tries_at(o, 59), "3,0");
	json_decref(o);
}
END_TEST

/* With as many other names as there is room for, those are gone. */
START_TEST(destinations_that_are_gone_give_way)
{
	struct figures	*f = board->figures[0].list;
	json_t		*o;

	board->lines[0].state = SCOREBOARD_RUNNING;
	board->lines[0].started_at = 1;
	for (int t = 0; t < 3; t++) {
		for (int i = 0; i < FIGURES_MAX; i++) {
			snprintf(f[i].name, sizeof(f[i].name), "r%d",
			    t * 20 + i);
			f[i].used = true;
			f[i].taken++;
		}
		throughput_sample(board, NOON);
	}
	o = throughput_json(board, NOON);
	ck_assert_uint_eq(json_array_size(json_object_get(o, "destinations")),
	    FIGURES_MAX);
	for (int i = 0; i < FIGURES_MAX; i++)
		ck_assert_int_ge(atoi(json_string_value(json_object_get(
		    json_array_get(json_object_get(o, "destinations"),
		    (size_t)i), "destination")) + 1), 40);
	json_decref(o);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("metrics");
	TCase	*tc;

	tc = add_case(s, "histogram");
	tcase_add_loop_test(tc, value_is_counted_once, 0, NROWS(values));
	tcase_add_test(tc, bounds_rise);
	tcase_add_test(tc, quantile_is_between_bounds);

	tc = add_case(s, "totals");
	tcase_add_test(tc, statements_are_counted_by_name);
	tcase_add_test(tc, totals_are_added);
	tcase_add_test(tc, reason_is_a_word);

	tc = add_case(s, "text");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, labels_are_escaped);
	tcase_add_test(tc, slots_are_summed);
	tcase_add_test(tc, processes_are_shown);
	tcase_add_test(tc, state_is_shown);
	tcase_add_test(tc, old_state_shows_its_age_only);
	tcase_add_test(tc, half_a_state_is_shown);
	tcase_add_test(tc, few_partitions_are_shown);

	tc = add_case(s, "throughput");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, minutes_are_counted);
	tcase_add_test(tc, minutes_are_forgotten);
	tcase_add_test(tc, tries_of_destinations_are_counted);
	tcase_add_test(tc, destinations_that_are_gone_give_way);
	return run_suite(s);
}
