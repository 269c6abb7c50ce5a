/* numbers.c - see numbers.h */

#include "ctl/top/numbers.h"

#include <string.h>

#include "ctl/base/ctl.h"
#include "ctl/state/state.h"
#include "ctl/top/grid.h"
#include "health/health.h"
#include "util/buf.h"
#include "util/display.h"
#include "util/duration.h"

#define NAME_WIDTH	12	/* of a line of the summary */
#define PAIR_WIDTH	76	/* from here two of them share a row */

/* Summary */

/* Lines of the summary, in two halves of a row if there is room for them. */
struct facts {
	struct canvas	*to;
	int		 width;		/* of one */
	bool		 right;		/* the next one is the second of a row */
};

static void
put_fact(struct facts *f, const char *name, int style, const char *text)
{
	int	row = f->right ? f->to->rows - 1 : canvas_add(f->to);
	int	col = f->right ? f->width + 2 : 0;

	canvas_put(f->to, row, col, NAME_WIDTH - 1, STYLE_DIM, name);
	canvas_put(f->to, row, col + NAME_WIDTH, f->width - NAME_WIDTH, style,
	    text);
	f->right = !f->right && f->width < f->to->cols;
}

/* Frees the text. */
static void
put_buf(struct facts *f, const char *name, int style, struct buf *b)
{
	put_fact(f, name, style, b->data);
	buf_free(b);
}

static void
put_state(struct facts *f, const struct model *m)
{
	const json_t	*problems = model_part(m, "problems");
	const char	*worst = member_text(json_array_get(problems, 0),
			    "severity");

	if (health_exit(problems) == CTL_DONE)
		put_fact(f, "state", STYLE_GOOD, "healthy");
	else
		put_fact(f, "state", grid_style(worst), worst);
}

static void
put_workers(struct facts *f, const struct model *m)
{
	const json_t	*w = model_part(m, "workers");
	json_int_t	 live = member_number(w, "live");
	struct buf	 b = { 0 };

	buf_printf(&b, "%lld alive on %s", live,
	    COUNTED((uint64_t)member_number(w, "hosts"), "host"));
	if (member_number(w, "stale") > 0)
		buf_printf(&b, ", %lld stale", member_number(w, "stale"));
	put_buf(f, "workers", live == 0 ? STYLE_BAD : STYLE_PLAIN, &b);
}

static void
put_partitions(struct facts *f, const struct model *m)
{
	static const char *const	 states[] = { "free", "expired",
					    "paused", "missing", "obsolete" };
	const json_t			*p = model_part(m, "partitions");
	struct buf			 b = { 0 };
	int				 style = STYLE_PLAIN;

	buf_printf(&b, "%lld of %lld owned", member_number(p, "owned"),
	    member_number(p, "count"));
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		if (member_number(p, states[i]) == 0)
			continue;
		style = STYLE_WARN;
		buf_printf(&b, ", %lld %s", member_number(p, states[i]),
		    states[i]);
	}
	put_buf(f, "partitions", style, &b);
}

static void
put_backlog(struct facts *f, const struct model *m)
{
	const json_t	*w = model_part(m, "backlog");
	json_int_t	 growth = member_number(w, "growth_per_second");
	char		 number[DISPLAY_SIZE], parked[STATE_PARKED_SIZE];
	struct buf	 b = { 0 };

	if (!json_is_object(w)) {
		put_fact(f, "waiting", STYLE_PLAIN, "not counted");
		return;
	}
	buf_printf(&b, "%s%s", json_is_true(json_object_get(w, "exact")) ? "" :
	    "about ", display_number(number, member_number(w, "waiting")));
	if (growth != 0)
		buf_printf(&b, ", %s%s/s", growth > 0 ? "+" : "",
		    display_number(number, growth));
	if (member_number(w, "parked") > 0)
		buf_printf(&b, ", %s parked", state_parked_text(parked, w));
	put_buf(f, "waiting", growth > 0 && member_text(w, "growing_since") !=
	    NULL ? STYLE_WARN : STYLE_PLAIN, &b);
}

static void
put_oldest(struct facts *f, const struct model *m)
{
	const json_t	*o = model_part(m, "oldest");
	struct buf	 b = { 0 };

	if (!json_is_object(o))
		buf_str(&b, member_number(model_part(m, "backlog"),
		    "waiting") == 0 ? "none" : "parked, or without a lease");
	else
		buf_printf(&b, "%s in %s", duration_words(member_number(o,
		    "age_ms")).text, *member_text(o, "partition") == '\0' ?
		    "(none)" : member_text(o, "partition"));
	put_buf(f, "oldest", STYLE_PLAIN, &b);
}

static void
put_rate(struct facts *f, const struct model *m)
{
	const json_t	*host = model_part(m, "this_host");
	const json_t	*d = model_part(m, "delivered");
	char		 number[DISPLAY_SIZE];
	struct buf	 b = { 0 };

	if (!json_is_object(host))
		buf_str(&b, "no daemon on this host");
	else
		buf_printf(&b, "%s/s here", display_number(number,
		    member_number(host, "per_second")));
	if (json_is_object(d))
		buf_printf(&b, ", %s%s in 1 h", json_is_true(json_object_get(d,
		    "exact")) ? "" : "~", display_number(number,
		    member_number(d, "last_hour")));
	put_buf(f, "delivered", STYLE_PLAIN, &b);
}

static void
put_dead(struct facts *f, const struct model *m)
{
	const json_t	*d = model_part(m, "dead");
	char		 number[DISPLAY_SIZE];
	struct buf	 b = { 0 };

	buf_printf(&b, "%s%s", json_is_false(json_object_get(d, "exact")) ?
	    "at least " : "", display_number(number, member_number(d,
	    "count")));
	if (member_number(d, "new") > 0)
		buf_printf(&b, ", %s new", display_number(number,
		    member_number(d, "new")));
	put_buf(f, "dead", member_number(d, "new") > 0 ? STYLE_WARN :
	    STYLE_PLAIN, &b);
}

static void
put_blocked(struct facts *f, const struct model *m)
{
	struct buf	 b = { 0 };
	char		 number[DISPLAY_SIZE];
	int		 style = STYLE_PLAIN;
	json_t		*o;
	size_t		 i;

	json_array_foreach(model_part(m, "blocked"), i, o) {
		buf_printf(&b, "%s%s %s", i > 0 ? ", " : "", display_number(
		    number, member_number(o, "keys")),
		    member_text(o, "reason"));
		if (strcmp(member_text(o, "reason"), "halted") == 0)
			style = STYLE_WARN;
	}
	if (b.len == 0)
		buf_str(&b, "none");
	put_buf(f, "blocked", style, &b);
}

static void
put_destination(struct facts *f, const struct model *m)
{
	const json_t	*broker = model_part(m, "broker");
	const char	*to = member_text(model_part(m, "outbox"),
			    "destination");
	const char	*error = member_text(broker, "error");

	if (error == NULL)
		error = member_text(broker, "unfit");
	if (to == NULL)
		to = member_text(broker, "driver");
	put_fact(f, "sends to", error != NULL ? STYLE_BAD : STYLE_PLAIN,
	    to == NULL ? "-" : to);
}

/* Without a database only some of it is known. */
void
numbers_summary(struct canvas *to, const struct model *m)
{
	struct facts	f = { .to = to, .width = to->cols >= PAIR_WIDTH ?
			    to->cols / 2 - 1 : to->cols };

	if (m->status == NULL) {
		put_fact(&f, "state", STYLE_PLAIN, "asking ...");
		return;
	}
	put_state(&f, m);
	put_destination(&f, m);
	if (json_is_object(model_part(m, "partitions"))) {
		put_workers(&f, m);
		put_partitions(&f, m);
		put_backlog(&f, m);
		put_oldest(&f, m);
	}
	put_rate(&f, m);
	if (json_is_object(model_part(m, "dead")))
		put_dead(&f, m);
	if (json_is_array(model_part(m, "blocked")))
		put_blocked(&f, m);
}

/* Throughput */

#define STEPS		8	/* of a character */

struct chart {
	int	 columns;
	int64_t	 step;		/* seconds of a column */
	int64_t	 value[MODEL_RATES];
	int64_t	 most;
};

static int64_t
rate_at(const struct model *m, uint64_t n)
{
	return m->rates[n % MODEL_RATES];
}

/* Columns stand for the same seconds all the time, so they do not waver. */
static void
make_chart(struct chart *c, const struct model *m, int width)
{
	uint64_t	kept = m->nrates < MODEL_RATES ? m->nrates :
			    MODEL_RATES;
	uint64_t	first = m->nrates - kept, begin;

	memset(c, 0, sizeof(*c));
	c->step = kept == 0 ? 1 : ((int64_t)kept + width - 1) / width;
	begin = (first + (uint64_t)c->step - 1) / (uint64_t)c->step;
	for (uint64_t k = begin; k * (uint64_t)c->step < m->nrates &&
	    c->columns < width; k++) {
		int64_t		 sum = 0, n = 0;
		uint64_t	 at = k * (uint64_t)c->step;

		for (; n < c->step && at < m->nrates; n++, at++)
			sum += rate_at(m, at);
		c->value[c->columns] = n == 0 ? 0 : sum / n;
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
	int				top = to->rows, left;

	for (int i = 0; i < rows; i++)
		canvas_add(to);
	left = to->cols - c->columns;
	for (int k = 0; k < c->columns; k++) {
		int64_t	height = c->most == 0 ? 0 : (c->value[k] * rows *
			    STEPS + c->most - 1) / c->most;

		for (int i = rows - 1; i >= 0; i--, height -= STEPS)
			canvas_put(to, top + i, left + k, 1, STYLE_GOOD,
			    blocks[height <= 0 ? 0 : height > STEPS ? STEPS :
			    height]);
	}
}

static void
put_rates(struct canvas *to, const struct model *m, const struct chart *c)
{
	char		number[DISPLAY_SIZE];
	struct buf	b = { 0 };
	int		row = canvas_add(to), used;

	used = canvas_put(to, row, 0, to->cols, STYLE_BOLD,
	    display_number(number, m->nrates == 0 ? 0 : rate_at(m,
	    m->nrates - 1)));
	canvas_put(to, row, used, to->cols - used, STYLE_PLAIN, "/s now");
	buf_printf(&b, "peak %s/s, ", display_number(number, c->most));
	grid_put_span(&b, c->columns * c->step * 1000);
	canvas_put_right(to, row, to->cols / 3, to->cols - to->cols / 3,
	    STYLE_DIM, b.data);
	buf_free(&b);
}

static void
put_counts(struct canvas *to, const char *name, const struct model_counts *n)
{
	const int64_t	values[] = { n->claimed, n->published, n->failed };
	int		row = canvas_add(to), width = (to->cols - 10) / 3;
	char		number[DISPLAY_SIZE];

	width = width > 16 ? 16 : width;
	canvas_put(to, row, 0, 9, STYLE_DIM, name);
	for (int i = 0; i < 3; i++)
		canvas_put_right(to, row, 9 + i * width, width, i == 2 &&
		    values[i] > 0 ? STYLE_WARN : STYLE_PLAIN,
		    display_number(number, values[i]));
}

static void
put_count_titles(struct canvas *to)
{
	static const char *const	titles[] = { "claimed", "published",
					    "failed" };
	int				row = canvas_add(to);
	int				width = (to->cols - 10) / 3;

	width = width > 16 ? 16 : width;
	for (int i = 0; i < 3; i++)
		canvas_put_right(to, row, 9 + i * width, width, STYLE_DIM,
		    titles[i]);
}

/* "5 min window: 3m12s left" */
static void
put_countdown(struct canvas *to, const struct model_window *w, int64_t now)
{
	struct buf	b = { 0 };
	int64_t		left = w->begin + w->length - now;

	buf_printf(&b, "window of %lld min: ", (long long)w->length / 60000);
	grid_put_span(&b, left < 1000 ? 0 : left / 1000 * 1000);
	buf_str(&b, " left");
	canvas_put(to, canvas_add(to), 0, to->cols, STYLE_PLAIN, b.data);
	buf_free(&b);
}

void
numbers_throughput(struct canvas *to, const struct model *m, int chart,
    int64_t now)
{
	struct chart	c;

	if (!json_is_object(model_part(m, "this_host"))) {
		canvas_put(to, canvas_add(to), 0, to->cols, STYLE_DIM,
		    m->status == NULL ? "asking ..." :
		    "no daemon runs on this host");
		return;
	}
	make_chart(&c, m, to->cols < MODEL_RATES ? to->cols : MODEL_RATES);
	put_rates(to, m, &c);
	draw_chart(to, &c, chart);
	put_countdown(to, &m->window, now);
	put_count_titles(to);
	put_counts(to, "this one", &m->window.now);
	if (m->window.has_last)
		put_counts(to, "last one", &m->window.last);
}
