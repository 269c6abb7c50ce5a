/* draw.c - see draw.h */

#include "ctl/top/draw.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ctl/base/ctl.h"
#include "ctl/top/panels.h"
#include "util/buf.h"
#include "util/display.h"
#include "util/xalloc.h"

#define STALE_MS	3000	/* data that is older is called old */
#define EDGES		2	/* rows of head and keys */

static const char	help[] =
"Tab, 1 to 7      the next panel, or that one\n"
"Up, Down, PgUp, PgDn, Home, End\n"
"                 move in it\n"
"Enter            the panel on a page of its own; then all of the row\n"
"Esc              back; ends a filter\n"
"s, r             sort by the next column; reverse\n"
"/                show only rows with this text\n"
"p                pause, and go on\n"
"?                this page\n"
"q                quit\n"
"\n"
"beat: since the worker's last heartbeat in the database; ttl: until its\n"
"leases end without another one. parts: partitions that it owns. Rates,\n"
"ticks and errors are known of the daemon of this host only; all else is\n"
"of all hosts. A partition that drains has a label of a former count.\n";

int
draw_columns(const struct ui *u)
{
	const struct grid_column	*c = panels[u->focus].columns;
	int				 n = 0;

	while (c != NULL && c[n].name != NULL)
		n++;
	return n;
}

/* Head and keys */

static void
put_keys(struct canvas *to, const struct ui *u)
{
	static const char *const	 keys[] = {
		[UI_ALL] = "q quit  ? help  Tab panel  Enter page  s sort  "
		    "/ filter  p pause",
		[UI_PANEL] = "q quit  Esc back  Enter details  s sort  "
		    "r reverse  / filter  p pause",
		[UI_ROW] = "q quit  Esc back  p pause",
		[UI_HELP] = "q quit  Esc back"
	};
	int				 row = to->rows - 1, used;

	if (!u->filtering) {
		canvas_put(to, row, 0, to->cols, STYLE_DIM, keys[u->page]);
		return;
	}
	used = canvas_put(to, row, 0, to->cols, STYLE_BOLD, "filter: ");
	used += canvas_put(to, row, used, to->cols - used, STYLE_PLAIN,
	    u->lists[u->focus].order.filter);
	canvas_put(to, row, used, 1, STYLE_REVERSE, " ");
}

/* Panels */

/* What is shown of a panel. */
struct content {
	struct canvas	text;
	json_t		*rows;	/* of a list; else NULL */
	int		 head;	/* rows that do not scroll */
	int		 total;	/* the others */
};

static void
fill(struct content *c, const struct model *m, struct ui *u, enum panel p,
    int rows, int cols, int64_t now)
{
	struct ui_list	*l = &u->lists[p];

	memset(c, 0, sizeof(*c));
	canvas_reset(&c->text, 0, cols);
	if (panels[p].columns == NULL) {
		panel_text(&c->text, m, p, rows, now);
		c->total = c->text.rows;
		return;
	}
	c->rows = grid_select(m->rows[p], panels[p].columns, &l->order);
	c->total = (int)json_array_size(c->rows);
	c->head = 1;
	if (l->cursor >= c->total)
		l->cursor = c->total > 0 ? c->total - 1 : 0;
	grid_draw(&c->text, c->rows, panels[p].columns, &l->order,
	    u->focus == p ? l->cursor : -1);
}

static void
content_free(struct content *c)
{
	canvas_free(&c->text);
	json_decref(c->rows);
}

/* The first row to be shown: the cursor of a list stays in sight. */
static void
scroll_to(struct ui_list *l, const struct content *c, int room)
{
	int	last = c->total > room ? c->total - room : 0;

	l->page = room;
	if (c->rows == NULL) {
		l->cursor = l->cursor > last ? last : l->cursor;
		l->top = l->cursor;
		return;
	}
	if (l->top > l->cursor)
		l->top = l->cursor;
	if (l->top < l->cursor - room + 1)
		l->top = l->cursor - room + 1;
	if (l->top > last)
		l->top = last;
}

/* In its title at the right "1-5 of 20" if there are more. */
static void
put_panel(struct canvas *to, struct place at, const struct content *c,
    const struct model *m, struct ui *u, enum panel p)
{
	struct ui_list	*l = &u->lists[p];
	struct buf	 b = { 0 };
	int		 room = at.rows - 1 - c->head, used;
	const char	*title = panels[p].name;

	if (p == PANEL_ERRORS && m->has_log)
		title = "Log and errors";
	if (p == PANEL_PROBLEMS &&
	    json_array_size(model_part(m, "problems")) == 0)
		title = "Advice";
	scroll_to(l, c, room > 0 ? room : 0);
	for (int i = 0; i < at.cols; i++)
		canvas_put(to, at.row, at.col + i, 1, STYLE_DIM, "─");
	buf_printf(&b, " %d %s ", p + 1, title);
	used = canvas_put(to, at.row, at.col, at.cols, u->focus == p ?
	    STYLE_BOLD | STYLE_REVERSE : STYLE_BOLD, b.data);
	buf_clear(&b);
	if (l->order.filter[0] != '\0')
		buf_printf(&b, " \"%s\" ", l->order.filter);
	if (c->total > room && room > 0)
		buf_printf(&b, " %d-%d of %d ", l->top + 1, l->top + room,
		    c->total);
	canvas_put_right(to, at.row, at.col + used, at.cols - used,
	    STYLE_PLAIN, b.data);
	buf_free(&b);
	canvas_copy(to, at.row + 1, at.col, &c->text, 0, c->head);
	canvas_copy(to, at.row + 1 + c->head, at.col, &c->text,
	    c->head + l->top, room);
}

static void
draw_all(struct canvas *to, const struct model *m, struct ui *u, int64_t now)
{
	bool		 trouble = json_array_size(model_part(m,
			    "problems")) > 0 ||
			    json_array_size(model_part(m, "advice")) > 0;
	struct layout	 l;
	struct place	*focus = &l.places[u->focus];
	struct content	 c[PANELS];
	struct canvas	 area = { 0 };
	int		 rows = to->rows - EDGES, n[PANELS], last;

	layout_widths(&l, to->cols);
	for (int p = 0; p < PANELS; p++) {
		fill(&c[p], m, u, (enum panel)p, rows, l.places[p].cols, now);
		n[p] = c[p].head + (c[p].total > 0 ? c[p].total : 1);
	}
	/* What may be none is shown if there is any; all else always. */
	if (c[PANEL_ERRORS].total == 0)
		n[PANEL_ERRORS] = 0;
	if (c[PANEL_DESTINATIONS].total == 0)
		n[PANEL_DESTINATIONS] = 0;
	if (!trouble)
		n[PANEL_PROBLEMS] = 0;
	layout_place(&l, rows, n);
	canvas_reset(&area, l.height, to->cols);
	for (int p = 0; p < PANELS; p++) {
		if (l.places[p].rows > 0)
			put_panel(&area, l.places[p], &c[p], m, u,
			    (enum panel)p);
		content_free(&c[p]);
	}
	/* Keep the panel in focus in sight, if the screen is lower than all. */
	last = l.height > rows ? l.height - rows : 0;
	if (u->moved) {
		if (u->scroll + rows < focus->row + focus->rows)
			u->scroll = focus->row + focus->rows - rows;
		if (u->scroll > focus->row)
			u->scroll = focus->row;
		if (u->scroll > last)
			u->scroll = last;
	}
	canvas_copy(to, 1, 0, &area, u->scroll, rows);
	canvas_free(&area);
}

/* Pages */

static const char *
name_of(const json_t *row)
{
	static const char *const	names[] = { "id", "partition", "text",
					    "destination" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (member_text(row, names[i]) != NULL)
			return member_text(row, names[i]);
	return "";
}

/* Lines below a title, from u->row_top on. */
static void
put_page(struct canvas *to, struct canvas *text, struct ui *u,
    const char *title)
{
	int	room = to->rows - EDGES - 1;
	int	last = text->rows > room ? text->rows - room : 0;

	for (int i = 0; i < to->cols; i++)
		canvas_put(to, 1, i, 1, STYLE_DIM, "─");
	canvas_put(to, 1, 0, to->cols, STYLE_BOLD | STYLE_REVERSE, title);
	u->lists[u->focus].page = room;
	if (u->row_top > last)
		u->row_top = last;
	canvas_copy(to, 2, 0, text, u->row_top, room);
}

/* The page of a row: at first, of the one at the cursor. */
static void
draw_row(struct canvas *to, const struct model *m, struct ui *u)
{
	const struct ui_list	*l = &u->lists[u->focus];
	json_t			*rows = grid_select(m->rows[u->focus],
				    panels[u->focus].columns, &l->order);
	json_t			*row = json_array_get(rows, (size_t)l->cursor);
	json_t			*r;
	struct canvas		 text = { 0 };
	char			*title;
	size_t			 i;

	if (u->row != NULL) {
		row = NULL;
		json_array_foreach(m->rows[u->focus], i, r)
			if (row == NULL && strcmp(name_of(r), u->row) == 0)
				row = r;
	} else if (row != NULL) {
		u->row = xstrdup(name_of(row));
	}
	title = xasprintf(" %s: %s ", panels[u->focus].name,
	    u->row == NULL ? "" : u->row);
	canvas_reset(&text, 0, to->cols);
	if (row != NULL)
		panel_details(&text, row);
	else
		canvas_add_text(&text, 0, STYLE_PLAIN, "It is gone.");
	put_page(to, &text, u, title);
	canvas_free(&text);
	json_decref(rows);
	free(title);
}

static void
draw_help(struct canvas *to, struct ui *u)
{
	struct canvas	text = { 0 };
	size_t		n;

	canvas_reset(&text, 0, to->cols);
	for (const char *p = help; *p != '\0'; p += n + 1) {
		char *line;

		n = strcspn(p, "\n");
		line = xstrndup(p, n);
		canvas_put(&text, canvas_add(&text), 0, to->cols, STYLE_PLAIN,
		    line);
		free(line);
	}
	put_page(to, &text, u, " Help ");
	canvas_free(&text);
}

void
draw(struct canvas *to, const struct model *m, struct ui *u, int64_t now)
{
	struct place	 all = { 1, 0, to->rows - EDGES, to->cols };
	struct content	 c;
	const char	*outbox;
	int64_t		 age;
	bool		 old;
	struct buf	 b = { 0 };
	int		 used;
	char		 at[16];
	time_t		 t;
	struct tm	 tm;

	if (to->cols < LAYOUT_MIN_COLS || to->rows < LAYOUT_MIN_ROWS) {
		canvas_put(to, 0, 0, to->cols, STYLE_PLAIN,
		    "needs 40 columns, 10 lines");
		return;
	}
	/* At the right the time, and "data of 12 s ago". */
	outbox = member_text(model_part(m, "outbox"), "name");
	age = now - m->round_at;
	old = m->round_at != 0 && age >= STALE_MS;
	used = canvas_put(to, 0, 0, to->cols, STYLE_BOLD, "outboxctl top");
	t = time(NULL);
	if (outbox != NULL && to->cols >= 60) {
		buf_printf(&b, "  outbox: %s", outbox);
		canvas_put(to, 0, used, to->cols / 2, STYLE_DIM, b.data);
		buf_clear(&b);
	}
	strftime(at, sizeof(at), "%H:%M:%S", localtime_r(&t, &tm));
	if (u->paused)
		buf_str(&b, "paused, ");
	if (old)
		buf_printf(&b, "data of %lld s ago, ", (long long)age / 1000);
	buf_printf(&b, " %s", at);
	canvas_put_right(to, 0, 20, to->cols - 20, u->paused || old ?
	    STYLE_WARN : STYLE_DIM, b.data);
	buf_free(&b);
	if (u->page == UI_ALL) {
		draw_all(to, m, u, now);
	} else if (u->page == UI_PANEL) {
		fill(&c, m, u, u->focus, to->rows, to->cols, now);
		put_panel(to, all, &c, m, u, u->focus);
		content_free(&c);
	} else if (u->page == UI_ROW) {
		draw_row(to, m, u);
	} else {
		draw_help(to, u);
	}
	put_keys(to, u);
}
