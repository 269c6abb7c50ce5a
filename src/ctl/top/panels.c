/*
 * panels.c - see panels.h
 *
 * Lists, the facts of the summary, the throughput with its chart, problems and
 * advice, and a page of one row.
 */

#include "ctl/top/panels.h"

#include <stdlib.h>
#include <string.h>

#include "ctl/base/ctl.h"
#include "ctl/state/state.h"
#include "health/health.h"
#include "util/display.h"
#include "util/duration.h"
#include "util/xalloc.h"

#define MEMBER_WIDTH	18	/* of a name on a page of its own */
#define FACT_WIDTH	12	/* of a name of the summary */
#define PAIR_WIDTH	76	/* from here two facts share a row */
#define STEPS		8	/* of a character of the chart */

static const struct grid_column	worker_columns[] = {
	{ "host", "host", GRID_TEXT, 0, GRID_FLEXIBLE },
	{ "pid", "pid", GRID_PLAIN, 0, 0 },
	{ "state", "state", GRID_TEXT, 0, GRID_COLOURED },
	{ "beat_ms", "beat", GRID_SPAN, 1, 0 },
	{ "ttl_ms", "ttl", GRID_SPAN, 2, 0 },
	{ "partitions", "parts", GRID_COUNT, 1, 0 },
	{ "rate", "msg/s", GRID_COUNT, 1, 0 },
	{ "ticks", "ticks", GRID_COUNT, 4, 0 },
	{ "since_ms", "up", GRID_SPAN, 3, 0 },
	{ "id", "id", GRID_TEXT, 5, GRID_FLEXIBLE },
	{ .name = NULL }
};

static const struct grid_column	partition_columns[] = {
	{ "partition", "label", GRID_TEXT, 0, 0 },
	{ "state", "state", GRID_TEXT, 0, GRID_COLOURED },
	{ "waiting", "waiting", GRID_COUNT, 0, 0 },
	{ "oldest_ms", "oldest", GRID_SPAN, 1, 0 },
	{ "owner", "owner", GRID_TEXT, 1, GRID_FLEXIBLE },
	{ "epoch", "epoch", GRID_PLAIN, 2, 0 },
	{ "ttl_ms", "ttl", GRID_SPAN, 3, 0 },
	{ .name = NULL }
};

static const struct grid_column	error_columns[] = {
	{ "at", "time", GRID_TEXT, 0, 0 },
	{ "process", "process", GRID_TEXT, 1, GRID_FLEXIBLE },
	{ "text", "error", GRID_TEXT, 0, GRID_FLEXIBLE },
	{ .name = NULL }
};

static const struct grid_column	destination_columns[] = {
	{ "destination", "destination", GRID_TEXT, 0, 0 },
	{ "to", "to", GRID_TEXT, 4, GRID_FLEXIBLE },
	{ "state", "state", GRID_TEXT, 0, GRID_COLOURED },
	{ "per_second", "msg/s", GRID_COUNT, 0, 0 },
	{ "failed_percent", "failed %", GRID_COUNT, 0, 0 },
	{ "taken", "taken", GRID_COUNT, 3, 0 },
	{ "failed", "failed", GRID_COUNT, 2, 0 },
	{ "last_error", "last error", GRID_TEXT, 1, GRID_FLEXIBLE },
	{ .name = NULL }
};

const struct panel_kind	panels[PANELS] = {
	[PANEL_SUMMARY] = { "Summary", NULL },
	[PANEL_THROUGHPUT] = { "Throughput", NULL },
	[PANEL_PARTITIONS] = { "Partitions", partition_columns },
	[PANEL_WORKERS] = { "Workers", worker_columns },
	[PANEL_ERRORS] = { "Recent errors", error_columns },
	[PANEL_PROBLEMS] = { "Problems", NULL },
	[PANEL_DESTINATIONS] = { "Destinations", destination_columns },
};

/* Summary */

/* Its facts, in two halves of a row if there is room for them. */
struct facts {
	struct canvas		*to;
	const struct model	*m;
	int			 width;		/* of one */
	bool			 right;		/* the next one is the second
						   of a row */
	struct buf		 text;		/* of the next one */
};

static void
put_fact(struct facts *f, const char *name, int style)
{
	int	row = f->right ? f->to->rows - 1 : canvas_add(f->to);
	int	col = f->right ? f->width + 2 : 0;

	canvas_put(f->to, row, col, FACT_WIDTH - 1, STYLE_DIM, name);
	canvas_put(f->to, row, col + FACT_WIDTH, f->width - FACT_WIDTH, style,
	    f->text.data);
	f->right = !f->right && f->width < f->to->cols;
	buf_clear(&f->text);
}

static void
put_fleet(struct facts *f)
{
	static const char *const	 states[] = { "free", "expired",
					    "paused", "missing", "obsolete" };
	const json_t			*w = model_part(f->m, "workers");
	const json_t			*p = model_part(f->m, "partitions");
	int				 style = STYLE_PLAIN;

	buf_printf(&f->text, "%lld alive on %s", member_number(w, "live"),
	    COUNTED((uint64_t)member_number(w, "hosts"), "host"));
	if (member_number(w, "stale") > 0)
		buf_printf(&f->text, ", %lld stale", member_number(w,
		    "stale"));
	put_fact(f, "workers", member_number(w, "live") == 0 ? STYLE_BAD :
	    STYLE_PLAIN);

	buf_printf(&f->text, "%lld of %lld owned", member_number(p, "owned"),
	    member_number(p, "count"));
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		if (member_number(p, states[i]) == 0)
			continue;
		style = STYLE_WARN;
		buf_printf(&f->text, ", %lld %s", member_number(p, states[i]),
		    states[i]);
	}
	put_fact(f, "partitions", style);
}

static void
put_backlog(struct facts *f)
{
	const json_t	*w = model_part(f->m, "backlog");
	const json_t	*oldest = model_part(f->m, "oldest");
	json_int_t	 growth = member_number(w, "growth_per_second");
	char		 parked[STATE_PARKED_SIZE];

	if (json_is_object(w))
		buf_printf(&f->text, "%s%s", member_true(w, "exact") ? "" :
		    "about ", DISPLAY_NUMBER(member_number(w, "waiting")));
	else
		buf_str(&f->text, "not counted");
	if (growth != 0)
		buf_printf(&f->text, ", %s%s/s", growth > 0 ? "+" : "",
		    DISPLAY_NUMBER(growth));
	if (member_number(w, "parked") > 0)
		buf_printf(&f->text, ", %s parked", state_parked_text(parked,
		    w));
	put_fact(f, "waiting", growth > 0 && member_text(w, "growing_since") !=
	    NULL ? STYLE_WARN : STYLE_PLAIN);

	if (json_is_object(oldest))
		buf_printf(&f->text, "%s in %s", duration_words(member_number(
		    oldest, "age_ms")).text, *member_text(oldest, "partition")
		    == '\0' ? "(none)" : member_text(oldest, "partition"));
	else
		buf_str(&f->text, member_number(w, "waiting") == 0 ? "none" :
		    "parked, or without a lease");
	put_fact(f, "oldest", STYLE_PLAIN);
}

static void
put_messages(struct facts *f)
{
	const json_t	*host = model_part(f->m, "this_host");
	const json_t	*delivered = model_part(f->m, "delivered");
	const json_t	*dead = model_part(f->m, "dead");
	json_int_t	 new = member_number(dead, "new");

	if (json_is_object(host))
		buf_printf(&f->text, "%s/s here", DISPLAY_NUMBER(
		    member_number(host, "per_second")));
	else
		buf_str(&f->text, "no daemon on this host");
	if (json_is_object(delivered))
		buf_printf(&f->text, ", %s%s in 1 h",
		    member_true(delivered, "exact") ? "" : "~",
		    DISPLAY_NUMBER(member_number(delivered, "last_hour")));
	put_fact(f, "delivered", STYLE_PLAIN);

	if (!json_is_object(dead))
		return;
	buf_printf(&f->text, "%s%s", json_is_false(json_object_get(dead,
	    "exact")) ? "at least " : "",
	    DISPLAY_NUMBER(member_number(dead, "count")));
	if (new > 0)
		buf_printf(&f->text, ", %s new", DISPLAY_NUMBER(new));
	put_fact(f, "dead", new > 0 ? STYLE_WARN : STYLE_PLAIN);
}

/* Without a database only some of it is known. */
static void
put_summary(struct canvas *to, const struct model *m)
{
	struct facts	 f = { .to = to, .m = m,
			    .width = to->cols >= PAIR_WIDTH ?
			    to->cols / 2 - 1 : to->cols };
	const json_t	*problems = model_part(m, "problems");
	const json_t	*broker = model_part(m, "broker");
	const char	*worst = member_text(json_array_get(problems, 0),
			    "severity");
	const char	*sends_to = member_text(model_part(m, "outbox"),
			    "destination");
	bool		 healthy = health_exit(problems) == CTL_DONE;
	const json_t	*blocked = model_part(m, "blocked");
	int		 style = STYLE_PLAIN;
	json_t		*o;
	size_t		 i;

	if (m->status == NULL) {
		buf_str(&f.text, "asking ...");
		put_fact(&f, "state", STYLE_PLAIN);
		buf_free(&f.text);
		return;
	}
	buf_str(&f.text, healthy ? "healthy" : worst);
	put_fact(&f, "state", healthy ? STYLE_GOOD :
	    (int)screen_colour_of(worst));
	if (sends_to == NULL)
		sends_to = member_text(broker, "driver");
	buf_str(&f.text, sends_to == NULL ? "-" : sends_to);
	put_fact(&f, "sends to", member_text(broker, "error") != NULL ||
	    member_text(broker, "unfit") != NULL ? STYLE_BAD : STYLE_PLAIN);
	if (json_is_object(model_part(m, "partitions"))) {
		put_fleet(&f);
		put_backlog(&f);
	}
	put_messages(&f);
	json_array_foreach(blocked, i, o) {
		buf_printf(&f.text, "%s%s %s", i > 0 ? ", " : "",
		    DISPLAY_NUMBER(member_number(o, "keys")),
		    member_text(o, "reason"));
		if (strcmp(member_text(o, "reason"), "halted") == 0)
			style = STYLE_WARN;
	}
	if (json_is_array(blocked)) {
		if (f.text.len == 0)
			buf_str(&f.text, "none");
		put_fact(&f, "blocked", style);
	}
	buf_free(&f.text);
}

/* Throughput */

struct chart {
	int	 columns;
	int64_t	 step;		/* seconds of a column */
	int64_t	 value[MODEL_RATES];
	int64_t	 most;
};

/* Columns stand for the same seconds all the time, so they do not waver. */
static void
make_chart(struct chart *c, const struct model *m, int width)
{
	uint64_t	kept = m->nrates < MODEL_RATES ? m->nrates :
			    MODEL_RATES;
	uint64_t	step = kept == 0 ? 1 : (kept + (uint64_t)width - 1) /
			    (uint64_t)width;
	uint64_t	at = (m->nrates - kept + step - 1) / step * step;

	memset(c, 0, sizeof(*c));
	c->step = (int64_t)step;
	while (at < m->nrates && c->columns < width) {
		int64_t	sum = 0, n = 0;

		for (; n < c->step && at < m->nrates; n++, at++)
			sum += m->rates[at % MODEL_RATES];
		c->value[c->columns] = sum / n;
		if (c->value[c->columns] > c->most)
			c->most = c->value[c->columns];
		c->columns++;
	}
}

static void
draw_chart(struct canvas *to, const struct chart *c, int rows)
{
	static const char *const	blocks[] = { " ", "▁", "▂", "▃", "▄",
					    "▅", "▆", "▇", "█" };
	int				top = to->rows;
	int				left = to->cols - c->columns;

	for (int i = 0; i < rows; i++)
		canvas_add(to);
	for (int k = 0; k < c->columns; k++) {
		int64_t	height = c->most == 0 ? 0 : (c->value[k] * rows *
			    STEPS + c->most - 1) / c->most;

		for (int i = rows - 1; i >= 0; i--, height -= STEPS)
			canvas_put(to, top + i, left + k, 1, STYLE_GOOD,
			    blocks[height <= 0 ? 0 : height > STEPS ? STEPS :
			    height]);
	}
}

/* The counts of a window; NULL: their titles. */
static void
put_counts(struct canvas *to, const char *name, const int64_t *counts)
{
	int	row = canvas_add(to), width = (to->cols - 10) / 3;

	width = width > 16 ? 16 : width;
	canvas_put(to, row, 0, 9, STYLE_DIM, name);
	for (int i = 0; i < MODEL_COUNTS; i++)
		canvas_put_right(to, row, 9 + i * width, width,
		    counts == NULL ? STYLE_DIM : i == 2 && counts[i] > 0 ?
		    STYLE_WARN : STYLE_PLAIN, counts == NULL ?
		    model_counts[i] : DISPLAY_NUMBER(counts[i]));
}

static void
put_throughput(struct canvas *to, const struct model *m, int rows, int64_t now)
{
	const struct model_window	*w = &m->window;
	int64_t				 left = w->begin + w->length - now;
	struct buf			 b = { 0 };
	struct chart			 c;
	int				 row, used, third = to->cols / 3;

	if (!json_is_object(model_part(m, "this_host"))) {
		canvas_put(to, canvas_add(to), 0, to->cols, STYLE_DIM,
		    m->status == NULL ? "asking ..." :
		    "no daemon runs on this host");
		return;
	}
	make_chart(&c, m, to->cols < MODEL_RATES ? to->cols : MODEL_RATES);
	row = canvas_add(to);
	used = canvas_put(to, row, 0, to->cols, STYLE_BOLD,
	    DISPLAY_NUMBER(m->nrates == 0 ? 0 :
	    m->rates[(m->nrates - 1) % MODEL_RATES]));
	canvas_put(to, row, used, to->cols - used, STYLE_PLAIN, "/s now");
	buf_printf(&b, "peak %s/s, ", DISPLAY_NUMBER(c.most));
	grid_put_span(&b, c.columns * c.step * 1000);
	canvas_put_right(to, row, third, to->cols - third, STYLE_DIM, b.data);
	buf_clear(&b);
	/* The chart is as high as leaves room for all else. */
	draw_chart(to, &c, rows < 24 ? 2 : rows < 30 ? 3 : rows < 36 ? 5 : 8);
	buf_printf(&b, "window of %lld min: ", (long long)w->length / 60000);
	grid_put_span(&b, left < 1000 ? 0 : left / 1000 * 1000);
	buf_str(&b, " left");
	canvas_put(to, canvas_add(to), 0, to->cols, STYLE_PLAIN, b.data);
	buf_free(&b);
	put_counts(to, "", NULL);
	put_counts(to, "this one", w->now);
	if (w->has_last)
		put_counts(to, "last one", w->last);
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
	canvas_style(to, row, 0, (int)strlen(severity),
	    (int)screen_colour_of(severity));
	buf_clear(&b);
	buf_printf(&b, "remedy: %s", remedy);
	if (*remedy != '\0')
		canvas_add_text(to, 2, STYLE_PLAIN, b.data);
	buf_free(&b);
}

void
panel_text(struct canvas *to, const struct model *m, enum panel p, int rows,
    int64_t now)
{
	json_t	*o;
	size_t	 i;

	if (p == PANEL_SUMMARY)
		put_summary(to, m);
	if (p == PANEL_THROUGHPUT)
		put_throughput(to, m, rows, now);
	if (p != PANEL_PROBLEMS)
		return;
	json_array_foreach(model_part(m, "problems"), i, o)
		put_problem(to, o);
	json_array_foreach(model_part(m, "advice"), i, o)
		put_problem(to, o);
	if (to->rows == 0)
		canvas_put(to, canvas_add(to), 0, to->cols, STYLE_GOOD,
		    m->status == NULL ? "" : "none");
}

/* A page of one row: the members of all its objects, each once. */
void
panel_details(struct canvas *to, const json_t *row)
{
	const json_t	*objects = json_object_get(row, "all");
	json_t		*all = objects == NULL ? json_copy((json_t *)row) :
			    json_object(), *v;
	const char	*name;
	size_t		 i;

	json_array_foreach(objects, i, v)
		json_object_update(all, v);
	json_object_foreach(all, name, v) {
		size_t	 n = strlen(name);
		/* Counts are plain here, and no time is negative. */
		char	*text = json_is_integer(v) && n > 3 &&
			    strcmp(name + n - 3, "_ms") == 0 ?
			    xstrdup(duration_words(json_integer_value(v)).text)
			    : print_text("", v);
		int	 at = to->rows;

		canvas_add_text(to, MEMBER_WIDTH, STYLE_PLAIN,
		    *text == '\0' ? "-" : text);
		canvas_put(to, at, 0, MEMBER_WIDTH - 1, STYLE_DIM, name);
		free(text);
	}
	json_decref(all);
}
