/* model.c - see model.h */

#include "ctl/top/model.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ctl/base/ctl.h"
#include "ctl/top/rows.h"

#define ERRORS_MAX	200	/* that are kept */

const char *const	 model_counts[MODEL_COUNTS] = { "claimed",
			    "published", "failed" };

/* Errors */

/* Each one once, where it belongs by its time. */
static void
add_error(struct model *m, const char *process, const char *at,
    const char *text)
{
	json_t	**errors = &m->rows[PANEL_ERRORS], *e;
	json_t	 *new = json_pack("{s:s, s:s, s:s}", "at", at, "process",
		    process, "text", text);
	size_t	  i, place;

	if (new == NULL)
		return;
	if (*errors == NULL)
		*errors = json_array();
	place = json_array_size(*errors);
	json_array_foreach(*errors, i, e) {
		if (json_equal(e, new)) {
			json_decref(new);
			return;
		}
		if (strcmp(member_text(e, "at"), at) <= 0 && i < place)
			place = i;
	}
	json_array_insert_new(*errors, place, new);
	json_array_remove(*errors, ERRORS_MAX);
}

static void
note_process(struct model *m, const char *name, const json_t *p)
{
	const char	*at = member_text(p, "last_error_at");
	const char	*text = member_text(p, "last_error");

	if (at != NULL && text != NULL && *text != '\0')
		add_error(m, name, at, text);
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

/* Add what was done since the round before. */
static void
count(struct model *m, const json_t *totals)
{
	const json_t	*before = m->totals;
	bool		 same = json_is_object(before) && member_number(before,
			    "pid") == member_number(totals, "pid");

	/* Another daemon counts from 0 again. */
	for (int i = 0; i < MODEL_COUNTS && before != NULL &&
	    json_is_object(totals); i++)
		m->window.now[i] += member_number(totals, model_counts[i]) -
		    (same ? member_number(before, model_counts[i]) : 0);
	/* Of a daemon that was away, all that it did is new. */
	if (json_is_object(totals) || before == NULL) {
		json_decref(m->totals);
		m->totals = json_incref((json_t *)totals);
	}
}

void
model_tick(struct model *m, int64_t now)
{
	struct model_window	*w = &m->window;

	if (w->begin == 0)
		w->begin = now;
	if (now - w->begin < w->length)
		return;
	memcpy(w->last, w->now, sizeof(w->last));
	memset(w->now, 0, sizeof(w->now));
	w->has_last = now - w->begin < 2 * w->length;
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
	json_t	*status = json_object_get(round, "status");
	json_t	*host = json_object_get(status, "this_host");
	json_t	*p, *id;
	const char	*name;
	size_t	 i;

	model_tick(m, now);
	replace(&m->host, json_incref(json_object_get(m->status,
	    "this_host")));
	replace(&m->status, json_incref(status));
	m->round_at = now;
	count(m, json_object_get(round, "totals"));
	if (json_is_integer(json_object_get(host, "per_second")))
		m->rates[m->nrates++ % MODEL_RATES] =
		    member_number(host, "per_second");
	/* The last error of each process of this host. */
	json_object_foreach(host, name, p)
		if (json_is_object(p))
			note_process(m, name, p);
	json_array_foreach(json_object_get(host, "workers"), i, p) {
		id = rows_short_id(member_text(p, "id"));
		note_process(m, json_string_length(id) == 0 ? "worker" :
		    json_string_value(id), p);
		json_decref(id);
	}
	replace(&m->rows[PANEL_DESTINATIONS], rows_of_destinations(host));
	if (json_object_get(round, "partitions") != NULL) {
		replace(&m->rows[PANEL_WORKERS], rows_of_workers(round,
		    m->host));
		replace(&m->rows[PANEL_PARTITIONS], rows_of_partitions(round));
	}
	json_decref(round);
}

void
model_free(struct model *m)
{
	json_decref(m->status);
	for (int p = 0; p < PANELS; p++)
		json_decref(m->rows[p]);
	json_decref(m->totals);
	json_decref(m->host);
	*m = (struct model){ 0 };
}
