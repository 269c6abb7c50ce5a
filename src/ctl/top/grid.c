/* grid.c - see grid.h */

#include "ctl/top/grid.h"

#include <stdlib.h>
#include <string.h>

#include "util/display.h"

#define GAP		2	/* between columns */
#define COLUMNS		16	/* of a grid, at most */
#define RANKS		9
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

/* The caller frees it as a buf. */
static struct buf
text_of(const json_t *row, const struct grid_column *c)
{
	const json_t	*v = json_object_get(row, c->name);
	struct buf	 b = { 0 };

	if (json_is_string(v))
		buf_str(&b, json_string_value(v));
	else if (!json_is_integer(v))
		buf_str(&b, "-");
	else if (c->kind == GRID_SPAN)
		grid_put_span(&b, json_integer_value(v));
	else if (c->kind == GRID_COUNT)
		buf_str(&b, DISPLAY_NUMBER(json_integer_value(v)));
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

/* Unknown ones come last, either way. */
static int
compare(const json_t *x, const json_t *y, bool reverse)
{
	int	n = json_is_string(x) - json_is_string(y);

	if (is_known(x) != is_known(y))
		return is_known(x) ? -1 : 1;
	if (json_is_integer(x) && json_is_integer(y))
		n = (json_integer_value(x) > json_integer_value(y)) -
		    (json_integer_value(x) < json_integer_value(y));
	else if (json_is_string(x) && json_is_string(y))
		n = strcmp(json_string_value(x), json_string_value(y));
	return reverse ? -n : n;
}

/* Where a row belongs in a sorted list: behind those that are equal. */
static size_t
place_in(const json_t *list, const json_t *row, const char *name, bool reverse)
{
	size_t	from = 0, to = json_array_size(list), middle;

	while (from < to) {
		middle = (from + to) / 2;
		if (compare(json_object_get(row, name), json_object_get(
		    json_array_get(list, middle), name), reverse) < 0)
			to = middle;
		else
			from = middle + 1;
	}
	return from;
}

json_t *
grid_select(const json_t *rows, const struct grid_column *columns,
    const struct grid_order *o)
{
	json_t	*list = json_array(), *row;
	size_t	 i;

	json_array_foreach(rows, i, row)
		if (*o->filter == '\0' || has(row, columns, o->filter))
			json_array_insert(list, o->column < 0 ?
			    json_array_size(list) : place_in(list, row,
			    columns[o->column].name, o->reverse), row);
	return list;
}

/* Draw */

struct widths {
	int	natural[COLUMNS];
	int	shown[COLUMNS];		/* 0: left out */
};

/* Show the columns up to this rank; returns the width that is left over. */
static int
show_rank(struct widths *w, const struct grid_column *c, int rank, int width)
{
	int	left = width + GAP;

	for (int k = 0; c[k].name != NULL; k++) {
		w->shown[k] = c[k].rank > rank ? 0 : w->natural[k];
		if ((c[k].flags & GRID_FLEXIBLE) != 0 &&
		    w->shown[k] > FLEXIBLE_MIN)
			w->shown[k] = FLEXIBLE_MIN;
		if (w->shown[k] > 0)
			left -= w->shown[k] + GAP;
	}
	return left;
}

/* Add a row; NULL: the titles. */
static void
draw_row(struct canvas *to, const struct widths *w,
    const struct grid_column *c, const struct grid_order *o,
    const json_t *object, int reverse)
{
	int	row = canvas_add(to), col = 0;

	canvas_style(to, row, 0, to->cols, STYLE_PLAIN | reverse);
	for (int k = 0; c[k].name != NULL; k++) {
		bool		sorted = object == NULL && k == o->column;
		int		style = sorted ? STYLE_BOLD : STYLE_DIM;
		struct buf	b = { 0 };

		if (w->shown[k] == 0)
			continue;
		if (object == NULL) {
			buf_str(&b, c[k].title);
		} else {
			b = text_of(object, &c[k]);
			style = reverse | (c[k].flags & GRID_COLOURED ?
			    (int)screen_colour_of(b.data) : STYLE_PLAIN);
		}
		if (c[k].kind == GRID_TEXT)
			canvas_put(to, row, col, w->shown[k], style, b.data);
		else
			canvas_put_right(to, row, col, w->shown[k], style,
			    b.data);
		col += w->shown[k];
		if (sorted)
			canvas_put(to, row, col, 1, STYLE_BOLD, o->reverse ?
			    "↓" : "↑");
		col += GAP;
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
	int		 rank = RANKS;
	int		 left;

	/* Measure the columns, and share the width among them. */
	for (int k = 0; c[k].name != NULL; k++) {
		w.natural[k] = display_width(c[k].title);
		json_array_foreach(rows, i, row) {
			struct buf	b = text_of(row, &c[k]);
			int		n = display_width(b.data);

			if (n > w.natural[k])
				w.natural[k] = n;
			buf_free(&b);
		}
	}
	while ((left = show_rank(&w, c, rank, to->cols)) < 0 && rank > 0)
		rank--;
	for (int k = 0; c[k].name != NULL && left > 0; k++) {
		int more = w.natural[k] - w.shown[k];

		if ((c[k].flags & GRID_FLEXIBLE) == 0 || w.shown[k] == 0)
			continue;
		more = more < left ? more : left;
		w.shown[k] += more;
		left -= more;
	}
	draw_row(to, &w, c, o, NULL, 0);
	json_array_foreach(rows, i, row)
		draw_row(to, &w, c, o, row, (int)i == cursor ?
		    STYLE_REVERSE : 0);
}
