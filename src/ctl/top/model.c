/* model.c - see model.h */

#include "ctl/top/model.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ctl/base/ctl.h"
#include "ctl/top/rows.h"

#define ERRORS_MAX	200	/* that are kept */

/* Errors */

static bool
is_known(const json_t *errors, const json_t *error)
{
	json_t	*e;
	size_t	 i;

	json_array_foreach(errors, i, e)
		if (json_equal(e, error))
			return true;
	return false;
}

/* Where it belongs by its time. */
static void
insert_error(json_t *errors, json_t *error)
{
	const char	*at = member_text(error, "at");
	json_t		*e;
	size_t		 i;

	json_array_foreach(errors, i, e)
		if (strcmp(member_text(e, "at"), at) <= 0)
			break;
	json_array_insert(errors, i, error);
	if (json_array_size(errors) > ERRORS_MAX)
		json_array_remove(errors, ERRORS_MAX);
}

static void
add_error(struct model *m, const char *process, const char *at,
    const char *text)
{
	json_t	*e = json_pack("{s:s, s:s, s:s}", "at", at, "process", process,
		    "text", text);

	if (m->errors == NULL)
		m->errors = json_array();
	if (e != NULL && !is_known(m->errors, e))
		insert_error(m->errors, e);
	json_decref(e);
}

static void
note_process(struct model *m, const char *name, const json_t *p)
{
	const char	*at = member_text(p, "last_error_at");
	const char	*text = member_text(p, "last_error");

	if (at != NULL && text != NULL && *text != '\0')
		add_error(m, name, at, text);
}

/* The last error of each process of this host. */
static void
note_errors(struct model *m, json_t *host)
{
	const char	*name;
	json_t		*p, *w, *id;
	size_t		 i;

	json_object_foreach(host, name, p)
		if (json_is_object(p))
			note_process(m, name, p);
	json_array_foreach(json_object_get(host, "workers"), i, w) {
		id = rows_short_id(member_text(w, "id"));
		note_process(m, json_string_length(id) == 0 ? "worker" :
		    json_string_value(id), w);
		json_decref(id);
	}
}

void
model_note(struct model *m, const char *process, const char *text)
{
	time_t		t = time(NULL);
	struct tm	tm;
	char		at[40];

	if (gmtime_r(&t, &tm) == NULL)
		return;
	strftime(at, sizeof(at), "%Y-%m-%dT%H:%M:%SZ", &tm);
	add_error(m, process, at, text);
}

/* "2026-01-31T12:00:00.123Z warn worker 0[12]: text"; else as it is. */
void
model_log(struct model *m, const char *line)
{
	char		 at[32];
	const char	*text = strchr(line, ' ');

	if (text == NULL || text - line < 20 || text - line > 30 ||
	    line[10] != 'T') {
		model_note(m, "log", line);
		return;
	}
	snprintf(at, sizeof(at), "%.19sZ", line);
	add_error(m, "log", at, text + 1);
}

/* Throughput */

/* Another daemon counts from 0 again. */
static int64_t
grown(const json_t *now, const json_t *before, const char *name)
{
	int64_t	n = member_number(now, name);

	if (json_is_object(before) && member_number(before, "pid") ==
	    member_number(now, "pid"))
		n -= member_number(before, name);
	return n;
}

static void
count(struct model *m, const json_t *totals)
{
	struct model_counts	*w = &m->window.now;

	if (json_is_object(totals) && m->totals != NULL) {
		w->claimed += grown(totals, m->totals, "claimed");
		w->published += grown(totals, m->totals, "published");
		w->failed += grown(totals, m->totals, "failed");
	}
	/* Of a daemon that was away, all that it did is new. */
	if (json_is_object(totals) || m->totals == NULL) {
		json_decref(m->totals);
		m->totals = json_incref((json_t *)totals);
	}
}

static void
take_rate(struct model *m)
{
	const json_t	*host = model_part(m, "this_host");

	if (json_is_integer(json_object_get(host, "per_second")))
		m->rates[m->nrates++ % MODEL_RATES] =
		    member_number(host, "per_second");
}

void
model_tick(struct model *m, int64_t now)
{
	struct model_window	*w = &m->window;

	if (w->begin == 0)
		w->begin = now;
	if (now - w->begin < w->length)
		return;
	w->last = w->now;
	w->has_last = now - w->begin < 2 * w->length;
	w->now = (struct model_counts){ 0 };
	w->begin += (now - w->begin) / w->length * w->length;
}

/* Rounds */

const json_t *
model_part(const struct model *m, const char *name)
{
	return json_object_get(m->status, name);
}

static void
replace(json_t **to, json_t *value)
{
	json_decref(*to);
	*to = value;
}

void
model_take(struct model *m, json_t *round, int64_t now)
{
	const json_t	*lists = json_object_get(round, "partitions");

	model_tick(m, now);
	replace(&m->host, json_incref(json_object_get(m->status,
	    "this_host")));
	replace(&m->status, json_incref(json_object_get(round, "status")));
	m->round_at = now;
	count(m, json_object_get(round, "totals"));
	take_rate(m);
	note_errors(m, json_object_get(m->status, "this_host"));
	replace(&m->destinations, rows_of_destinations(json_object_get(
	    m->status, "this_host")));
	if (lists != NULL) {
		m->lists_at = now;
		replace(&m->workers, rows_of_workers(round, m->host));
		replace(&m->partitions, rows_of_partitions(round));
	}
	json_decref(round);
}

void
model_free(struct model *m)
{
	json_decref(m->status);
	json_decref(m->workers);
	json_decref(m->partitions);
	json_decref(m->destinations);
	json_decref(m->errors);
	json_decref(m->totals);
	json_decref(m->host);
	*m = (struct model){ 0 };
}
