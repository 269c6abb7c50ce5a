/* panels.c - see panels.h */

#include "ctl/top/panels.h"

#include <stdlib.h>
#include <string.h>

#include "ctl/base/ctl.h"
#include "ctl/base/moment.h"
#include "ctl/top/rows.h"
#include "ctl/top/numbers.h"
#include "util/duration.h"

#define NAME_WIDTH	18	/* of a member on a page of its own */

const char *const	panel_names[PANELS] = {
	"Summary", "Throughput", "Partitions", "Workers", "Recent errors",
	"Problems", "Destinations"
};

const struct grid_column *
panel_columns(enum panel p)
{
	switch (p) {
	case PANEL_PARTITIONS:
		return rows_partition_columns;
	case PANEL_WORKERS:
		return rows_worker_columns;
	case PANEL_ERRORS:
		return rows_error_columns;
	case PANEL_DESTINATIONS:
		return rows_destination_columns;
	default:
		return NULL;
	}
}

json_t *
panel_rows(const struct model *m, enum panel p, const struct grid_order *o)
{
	const json_t	*rows = p == PANEL_PARTITIONS ? m->partitions :
			    p == PANEL_WORKERS ? m->workers :
			    p == PANEL_DESTINATIONS ? m->destinations :
			    m->errors;

	return grid_select(rows, panel_columns(p), o);
}

/* Problems, and advice below them */

/* "warning: why (for 3 min 20 s)" */
static void
put_problem(struct canvas *to, const json_t *p)
{
	const char	*severity = member_text(p, "severity");
	const char	*since = member_text(p, "since");
	const char	*remedy = member_text(p, "remedy");
	int64_t		 age = moment_age_ms(since);
	struct buf	 b = { 0 };
	int		 row = to->rows;

	buf_printf(&b, "%s: %s", severity, member_text(p, "why"));
	if (age >= 0 && strstr(b.data, since) == NULL)
		buf_printf(&b, " (for %s)", duration_words(age).text);
	canvas_add_text(to, 0, STYLE_PLAIN, b.data);
	canvas_style(to, row, 0, (int)strlen(severity), grid_style(severity));
	buf_free(&b);
	if (*remedy == '\0')
		return;
	buf_printf(&b, "remedy: %s", remedy);
	canvas_add_text(to, 2, STYLE_PLAIN, b.data);
	buf_free(&b);
}

static void
put_problems(struct canvas *to, const struct model *m)
{
	const json_t	*problems = model_part(m, "problems");
	const json_t	*advice = model_part(m, "advice");
	json_t		*p;
	size_t		 i;

	json_array_foreach(problems, i, p)
		put_problem(to, p);
	json_array_foreach(advice, i, p)
		put_problem(to, p);
	if (json_array_size(problems) + json_array_size(advice) == 0)
		canvas_put(to, canvas_add(to), 0, to->cols, STYLE_GOOD,
		    m->status == NULL ? "" : "none");
}

/* A chart is as high as leaves room for all else. */
static int
chart_rows(int rows)
{
	return rows < 24 ? 2 : rows < 30 ? 3 : rows < 36 ? 5 : 8;
}

void
panel_text(struct canvas *to, const struct model *m, enum panel p, int rows,
    int64_t now)
{
	if (p == PANEL_SUMMARY)
		numbers_summary(to, m);
	else if (p == PANEL_THROUGHPUT)
		numbers_throughput(to, m, chart_rows(rows), now);
	else if (p == PANEL_PROBLEMS)
		put_problems(to, m);
}

/* A page of one row */

static bool
ends_in(const char *text, const char *end)
{
	size_t	n = strlen(text), k = strlen(end);

	return n > k && strcmp(text + n - k, end) == 0;
}

static void
put_value(struct buf *b, const char *name, const json_t *v)
{
	char	*text;

	if (json_is_null(v) || v == NULL) {
		buf_str(b, "-");
	} else if (json_is_string(v)) {
		buf_str(b, json_string_value(v));
	} else if (json_is_integer(v) && ends_in(name, "_ms")) {
		buf_str(b, duration_words(json_integer_value(v)).text);
	} else if (json_is_boolean(v)) {
		buf_str(b, json_is_true(v) ? "yes" : "no");
	} else {
		text = json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT);
		buf_str(b, text == NULL ? "" : text);
		free(text);
	}
}

/* Two objects may have a member in common. */
static json_t *
merged(const json_t *objects)
{
	json_t	*all = json_object(), *o;
	size_t	 i;

	json_array_foreach(objects, i, o)
		json_object_update(all, o);
	return all;
}

void
panel_details(struct canvas *to, const json_t *row)
{
	const json_t	*objects = json_object_get(row, "all");
	json_t		*all = objects == NULL ? json_copy((json_t *)row) :
			    merged(objects), *v;
	const char	*name;
	int		 at;

	json_object_foreach(all, name, v) {
		struct buf	b = { 0 };

		put_value(&b, name, v);
		at = to->rows;
		canvas_add_text(to, NAME_WIDTH, STYLE_PLAIN, *b.data == '\0' ?
		    "-" : b.data);
		canvas_put(to, at, 0, NAME_WIDTH - 1, STYLE_DIM, name);
		buf_free(&b);
	}
	json_decref(all);
}
