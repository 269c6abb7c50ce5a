/* grid.c - see grid.h */

#include "ctl/top/grid.h"

#include <stdlib.h>
#include <string.h>

#include "ctl/base/ctl.h"
#include "ctl/base/screen.h"
#include "util/display.h"

#define GAP		2	/* between columns */
#define COLUMNS		16	/* of a grid, at most */
#define FLEXIBLE_MIN	12

void
grid_put_span(struct buf *b, int64_t ms)
{
	long long	s = ms / 1000;

	if (ms < 0)
		buf_str(b, "-");
	else if (ms < 1000)
		buf_printf(b, "%lldms", (long long)ms);
	else if (s < 10)
		buf_printf(b, "%lld.%llds", s, (long long)ms / 100 % 10);
	else if (s < 60)
		buf_printf(b, "%llds", s);
	else if (s < 3600)
		buf_printf(b, "%lldm%02llds", s / 60, s % 60);
	else if (s < 86400)
		buf_printf(b, "%lldh%02lldm", s / 3600, s / 60 % 60);
	else
		buf_printf(b, "%lldd%02lldh", s / 86400, s / 3600 % 24);
}

int
grid_style(const char *word)
{
	static const int	styles[] = {
		[SCREEN_PLAIN] = STYLE_PLAIN, [SCREEN_BOLD] = STYLE_BOLD,
		[SCREEN_GREEN] = STYLE_GOOD, [SCREEN_YELLOW] = STYLE_WARN,
		[SCREEN_RED] = STYLE_BAD
	};

	return styles[screen_colour_of(word)];
}

/* The caller frees it as a buf. */
static struct buf
text_of(const json_t *row, const struct grid_column *c)
{
	const json_t	*v = json_object_get(row, c->name);
	struct buf	 b = { 0 };
	char		 number[DISPLAY_SIZE];

	if (json_is_string(v))
		buf_str(&b, json_string_value(v));
	else if (!json_is_integer(v))
		buf_str(&b, "-");
	else if (c->kind == GRID_SPAN)
		grid_put_span(&b, json_integer_value(v));
	else if (c->kind == GRID_COUNT)
		buf_str(&b, display_number(number, json_integer_value(v)));
	else
		buf_printf(&b, "%lld", (long long)json_integer_value(v));
	return b;
}

/* Select */

static bool
has(const json_t *row, const struct grid_column *columns, const char *filter)
{
	bool	found = false;

	for (; columns->name != NULL && !found; columns++) {
		struct buf b = text_of(row, columns);

		found = strcasestr(b.data, filter) != NULL;
		buf_free(&b);
	}
	return found;
}

static bool
is_known(const json_t *v)
{
	return json_is_string(v) || json_is_integer(v);
}

static int
compare(const json_t *a, const json_t *b, const char *name)
{
	const json_t	*x = json_object_get(a, name);
	const json_t	*y = json_object_get(b, name);

	if (json_is_integer(x) && json_is_integer(y))
		return (json_integer_value(x) > json_integer_value(y)) -
		    (json_integer_value(x) < json_integer_value(y));
	if (json_is_string(x) && json_is_string(y))
		return strcmp(json_string_value(x), json_string_value(y));
	return json_is_string(x) - json_is_string(y);
}

struct sorting {
	const char	*name;
	bool		 reverse;
};

static int
by_member(const void *a, const void *b, void *how)
{
	const json_t *const	*x = a, *const *y = b;
	const struct sorting	*s = how;
	bool			 known = is_known(json_object_get(*x,
				    s->name));
	int			 n;

	/* Unknown ones come last, either way. */
	if (known != is_known(json_object_get(*y, s->name)))
		return known ? -1 : 1;
	n = compare(*x, *y, s->name);
	return s->reverse ? -n : n;
}

static void
sort(json_t *list, struct sorting s)
{
	size_t	 n = json_array_size(list), i;
	json_t	**rows = calloc(n + 1, sizeof(json_t *)), *row;

	if (rows == NULL)
		return;
	json_array_foreach(list, i, row)
		rows[i] = json_incref(row);
	qsort_r(rows, n, sizeof(json_t *), by_member, &s);
	json_array_clear(list);
	for (i = 0; i < n; i++)
		json_array_append_new(list, rows[i]);
	free(rows);
}

json_t *
grid_select(const json_t *rows, const struct grid_column *columns,
    const struct grid_order *o)
{
	json_t	*list = json_array(), *row;
	size_t	 i;

	json_array_foreach(rows, i, row)
		if (o->filter == NULL || *o->filter == '\0' ||
		    has(row, columns, o->filter))
			json_array_append(list, row);
	if (o->column >= 0)
		sort(list, (struct sorting){ columns[o->column].name,
		    o->reverse });
	return list;
}

/* Draw */

struct widths {
	int	natural[COLUMNS];
	int	shown[COLUMNS];		/* 0: left out */
};

static void
measure(struct widths *w, const json_t *rows, const struct grid_column *c)
{
	json_t	*row;
	size_t	 i;

	for (int k = 0; c[k].name != NULL; k++) {
		w->natural[k] = display_width(c[k].title);
		json_array_foreach(rows, i, row) {
			struct buf	b = text_of(row, &c[k]);
			int		n = display_width(b.data);

			if (n > w->natural[k])
				w->natural[k] = n;
			buf_free(&b);
		}
	}
}

/* Show the columns up to this rank; returns the width that is left over. */
static int
show_rank(struct widths *w, const struct grid_column *c, int rank, int width)
{
	int	left = width + GAP;

	for (int k = 0; c[k].name != NULL; k++) {
		w->shown[k] = c[k].rank > rank ? 0 : w->natural[k];
		if ((c[k].flags & GRID_FLEXIBLE) != 0 && w->shown[k] > FLEXIBLE_MIN)
			w->shown[k] = FLEXIBLE_MIN;
		if (w->shown[k] > 0)
			left -= w->shown[k] + GAP;
	}
	return left;
}

static void
fit_columns(struct widths *w, const struct grid_column *c, int width)
{
	int	rank = 0, left;

	for (int k = 0; c[k].name != NULL; k++)
		if (c[k].rank > rank)
			rank = c[k].rank;
	while ((left = show_rank(w, c, rank, width)) < 0 && rank > 0)
		rank--;
	for (int k = 0; c[k].name != NULL && left > 0; k++) {
		int more = w->natural[k] - w->shown[k];

		if ((c[k].flags & GRID_FLEXIBLE) == 0 || w->shown[k] == 0)
			continue;
		more = more < left ? more : left;
		w->shown[k] += more;
		left -= more;
	}
}

static void
put(struct canvas *to, int row, int col, int width, int style,
    const struct grid_column *c, const char *text)
{
	if (c->kind == GRID_TEXT)
		canvas_put(to, row, col, width, style, text);
	else
		canvas_put_right(to, row, col, width, style, text);
}

static void
draw_titles(struct canvas *to, const struct widths *w,
    const struct grid_column *c, const struct grid_order *o)
{
	int	row = canvas_add(to), col = 0;

	for (int k = 0; c[k].name != NULL; k++) {
		if (w->shown[k] == 0)
			continue;
		put(to, row, col, w->shown[k], k == o->column ? STYLE_BOLD :
		    STYLE_DIM, &c[k], c[k].title);
		col += w->shown[k];
		if (k == o->column)
			canvas_put(to, row, col, 1, STYLE_BOLD, o->reverse ?
			    "↓" : "↑");
		col += GAP;
	}
}

static void
draw_row(struct canvas *to, const struct widths *w,
    const struct grid_column *c, const json_t *object, int reverse)
{
	int	row = canvas_add(to), col = 0;

	canvas_style(to, row, 0, to->cols, STYLE_PLAIN | reverse);
	for (int k = 0; c[k].name != NULL; k++) {
		struct buf	b;
		int		style;

		if (w->shown[k] == 0)
			continue;
		b = text_of(object, &c[k]);
		style = c[k].flags & GRID_COLOURED ? grid_style(b.data) : STYLE_PLAIN;
		put(to, row, col, w->shown[k], style | reverse, &c[k], b.data);
		col += w->shown[k] + GAP;
		buf_free(&b);
	}
}

void
grid_draw(struct canvas *to, const json_t *rows, const struct grid_column *c,
    const struct grid_order *o, int cursor)
{
	struct widths	 w;
	json_t		*row;
	size_t		 i;

	measure(&w, rows, c);
	fit_columns(&w, c, to->cols);
	draw_titles(to, &w, c, o);
	json_array_foreach(rows, i, row)
		draw_row(to, &w, c, row, (int)i == cursor ? STYLE_REVERSE : 0);
}
