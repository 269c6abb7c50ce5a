/* health_problem.c - kinds of problems, and a problem as JSON */

#include "health/health_impl.h"

#include <stdarg.h>
#include <string.h>

#include "common/command_file.h"

const struct health_kind health_table[NHEALTH] = {
	[HEALTH_CONFIGURATION] = { "configuration", HEALTH_CRITICAL },
	[HEALTH_DATABASE] = { "database", HEALTH_CRITICAL },
	[HEALTH_SPLIT_BRAIN] = { "split_brain", HEALTH_CRITICAL },
	[HEALTH_SCHEMA_NEWER] = { "schema_newer", HEALTH_CRITICAL },
	[HEALTH_NO_WORKER] = { "no_worker", HEALTH_CRITICAL },
	[HEALTH_BROKER] = { "broker", HEALTH_CRITICAL },
	[HEALTH_STREAM_UNFIT] = { "stream_unfit", HEALTH_CRITICAL },
	[HEALTH_STREAM_FULL] = { "stream_full", HEALTH_CRITICAL },
	[HEALTH_NO_CONSUMER] = { "no_consumer", HEALTH_CRITICAL },
	[HEALTH_PAUSED_PUBLISHING] = { "publishing_paused", HEALTH_CRITICAL },
	[HEALTH_DESTINATION_FAILS] = { "destination_fails", HEALTH_CRITICAL },
	[HEALTH_LOST_MESSAGES] = { "lost_messages", HEALTH_CRITICAL },
	[HEALTH_ROWS_VANISH] = { "rows_vanish", HEALTH_CRITICAL },
	[HEALTH_STREAM_ALARM] = { "stream_alarm", HEALTH_CRITICAL },
	[HEALTH_PHANTOMS] = { "phantoms", HEALTH_CRITICAL },
	[HEALTH_RIGHTS] = { "rights", HEALTH_CRITICAL },
	[HEALTH_NOT_FILLED] = { "not_filled", HEALTH_CRITICAL },
	[HEALTH_STRAY_LABELS] = { "stray_labels", HEALTH_CRITICAL },
	[HEALTH_UNDECLARED_COUNT] = { "undeclared_count", HEALTH_CRITICAL },
	[HEALTH_MISSING_TABLE] = { "missing_table", HEALTH_CRITICAL },
	[HEALTH_MISSING_MESSAGES] = { "missing_messages", HEALTH_WARNING },
	[HEALTH_WRONG_FILE] = { "wrong_file", HEALTH_WARNING },
	[HEALTH_OPTIONAL_RIGHTS] = { "optional_rights", HEALTH_WARNING },
	[HEALTH_REFUSED_SUBJECT] = { "refused_subject", HEALTH_WARNING },
	[HEALTH_REFUSED_ROW] = { "refused_row", HEALTH_WARNING },
	[HEALTH_HALTED_KEYS] = { "halted_keys", HEALTH_WARNING },
	[HEALTH_HELD] = { "held_messages", HEALTH_WARNING },
	[HEALTH_IN_DOUBT] = { "in_doubt", HEALTH_WARNING },
	[HEALTH_DEAD_LETTERS] = { "dead_letters", HEALTH_WARNING },
	[HEALTH_PAUSED_PARTITIONS] = { "paused_partitions", HEALTH_WARNING },
	[HEALTH_UNOWNED_PARTITIONS] = { "unowned_partitions", HEALTH_WARNING },
	[HEALTH_HOST_STANDS_BACK] = { "host_stands_back", HEALTH_WARNING },
	[HEALTH_HOST_VANISHED] = { "host_vanished", HEALTH_WARNING },
	[HEALTH_CLOCK_BACK] = { "clock_back", HEALTH_WARNING },
	[HEALTH_SILENT_WORKER] = { "silent_worker", HEALTH_WARNING },
	[HEALTH_WAITING_WORKER] = { "waiting_worker", HEALTH_WARNING },
	[HEALTH_DAEMON_DIED] = { "daemon_died", HEALTH_WARNING },
	[HEALTH_RUN_FILES] = { "run_files", HEALTH_WARNING },
	[HEALTH_MONITOR] = { "monitor", HEALTH_WARNING },
	[HEALTH_RELOAD_REFUSED] = { "reload_refused", HEALTH_WARNING },
	[HEALTH_LOG_LOST] = { "log_lost", HEALTH_WARNING },
	[HEALTH_STREAM_SETTINGS] = { "stream_settings", HEALTH_WARNING },
	[HEALTH_OLDEST] = { "oldest", HEALTH_WARNING },
	[HEALTH_BACKLOG_GROWING] = { "backlog_growing", HEALTH_WARNING },
	[HEALTH_NO_DAEMON] = { "no_daemon", HEALTH_ADVICE },
	[HEALTH_COUNT_CHANGE] = { "count_change", HEALTH_ADVICE },
	[HEALTH_SENT_AGAIN] = { "sent_again", HEALTH_ADVICE },
	[HEALTH_ROWS_GONE] = { "rows_gone", HEALTH_ADVICE },
	[HEALTH_ROWS_UNSEEN] = { "rows_unseen", HEALTH_ADVICE },
	[HEALTH_SEVERAL_WRITERS] = { "several_writers", HEALTH_ADVICE },
	[HEALTH_ASYNCHRONOUS] = { "asynchronous", HEALTH_ADVICE },
	[HEALTH_WAIT_TIMEOUT] = { "wait_timeout", HEALTH_ADVICE },
	[HEALTH_MISSING_INDEX] = { "missing_index", HEALTH_ADVICE },
	[HEALTH_STREAM_ADVICE] = { "stream_advice", HEALTH_ADVICE },
};

const char *const health_severities[] = { "advice", "warning", "critical" };

const struct health_kind *
health_kinds(size_t *n)
{
	*n = NHEALTH;
	return health_table;
}

const char *
health_severity_word(enum health_severity severity)
{
	return health_severities[severity];
}

const char *
health_text(const json_t *o, const char *member)
{
	const char	*text = json_string_value(json_object_get(o, member));

	return text == NULL ? "" : text;
}

long long
health_number(const json_t *o, const char *member)
{
	return json_integer_value(json_object_get(o, member));
}

json_t *
health_member(const json_t *o, const char *member)
{
	json_t	*v = json_object_get(o, member);

	return json_is_null(v) ? NULL : json_incref(v);
}

bool
health_has(const struct health *h, enum health_id id)
{
	json_t	*p;
	size_t	 i;

	json_array_foreach(h->problems, i, p)
		if (strcmp(health_text(p, "id"), health_table[id].id) == 0)
			return true;
	return false;
}

/* The text with the file in its commands; frees it. */
static json_t *
with_file(const struct health *h, json_t *text)
{
	struct buf	b = { 0 };

	if (text == NULL)
		return json_string("(not UTF-8)");
	command_file_put(&b, json_string_value(text), h->conf->path);
	json_string_set(text, b.data);
	buf_free(&b);
	return text;
}

void
health_add(struct health *h, enum health_id id, struct health_about about,
    const char *remedy, const char *fmt, ...)
{
	va_list	 ap;
	json_t	*why, *cure = with_file(h, json_string(remedy));

	va_start(ap, fmt);
	why = with_file(h, json_vsprintf(fmt, ap));
	va_end(ap);
	json_array_append_new(h->problems, json_pack(
	    "{s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "id", health_table[id].id,
	    "severity", health_severities[health_table[id].severity],
	    "since", about.since == NULL ? json_null() : about.since,
	    "touches", about.touches == NULL ? json_object() : about.touches,
	    "why", why, "remedy", cure,
	    "text", json_sprintf("%s%s%s", json_string_value(why),
	    remedy[0] == '\0' ? "" : ": ", json_string_value(cure))));
}
