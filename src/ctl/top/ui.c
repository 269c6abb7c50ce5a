/* ui.c - see ui.h */

#include "ctl/top/ui.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/top/terminal.h"

void
ui_begin(struct ui *u)
{
	memset(u, 0, sizeof(*u));
	u->focus = PANEL_WORKERS;
	for (int p = 0; p < PANELS; p++)
		u->lists[p].order.column = -1;
}

void
ui_end(struct ui *u)
{
	free(u->row);
	u->row = NULL;
}

/* The filter */

static void
edit_filter(struct ui *u, int key)
{
	char	*text = u->lists[u->focus].order.filter;
	size_t	 n = strlen(text);

	switch (key) {
	case KEY_RETURN:
		u->filtering = false;
		break;
	case KEY_ESCAPE:
		u->filtering = false;
		text[0] = '\0';
		break;
	case KEY_ERASE:
		if (n > 0)
			text[n - 1] = '\0';
		break;
	default:
		if (n + 1 < GRID_FILTER && key >= ' ' && key < 0x7f) {
			text[n] = (char)key;
			text[n + 1] = '\0';
		}
	}
}

/* Moves */

/* Past the ends is allowed: the next picture corrects it. */
static bool
move_in(int *at, int page, int key)
{
	page = page > 1 ? page - 1 : 1;
	switch (key) {
	case KEY_GO_UP:
	case 'k':
		*at -= 1;
		break;
	case KEY_GO_DOWN:
	case 'j':
		*at += 1;
		break;
	case KEY_PAGE_UP:
		*at -= page;
		break;
	case KEY_PAGE_DOWN:
	case ' ':
		*at += page;
		break;
	case KEY_GO_HOME:
	case 'g':
		*at = 0;
		break;
	case KEY_GO_END:
	case 'G':
		*at = INT_MAX / 2;
		break;
	default:
		return false;
	}
	if (*at < 0)
		*at = 0;
	return true;
}

/* Keys that only some pages have. */
static void
page_key(struct ui *u, int key, int columns)
{
	struct ui_list	*l = &u->lists[u->focus];
	bool		 list = u->page == UI_ALL || u->page == UI_PANEL;

	if (!list) {
		move_in(&u->row_top, l->page, key);
		return;
	}
	if (key == KEY_OTHER)
		return;
	u->moved = true;
	if (move_in(&l->cursor, l->page, key))
		return;
	if (key >= '1' && key < '1' + PANELS)
		u->focus = (enum panel)(key - '1');
	else if (key == KEY_TAB || key == KEY_GO_RIGHT)
		u->focus = (enum panel)((u->focus + 1) % PANELS);
	else if (key == KEY_BACK_TAB || key == KEY_GO_LEFT)
		u->focus = (enum panel)((u->focus + PANELS - 1) % PANELS);
	else if (key == 's' && columns > 0)	/* not sorted; each column */
		l->order.column = l->order.column + 1 < columns ?
		    l->order.column + 1 : -1;
	else if (key == 'r' && columns > 0)
		l->order.reverse = !l->order.reverse;
	else if (key == '/' && columns > 0)
		u->filtering = true;
}

void
ui_key(struct ui *u, int key, int columns)
{
	char	*filter = u->lists[u->focus].order.filter;

	if (u->filtering && key != KEY_GONE) {
		edit_filter(u, key);
		return;
	}
	switch (key) {
	case 'q':
	case KEY_GONE:
		u->quit = true;
		break;
	case 'p':
		u->paused = !u->paused;
		break;
	case '?':
	case 'h':
		if (u->page != UI_HELP) {
			u->back = u->page;
			u->page = UI_HELP;
			u->row_top = 0;
		}
		break;
	case KEY_RETURN:
		if (u->page == UI_ALL)
			u->page = UI_PANEL;
		else if (u->page == UI_PANEL && columns > 0)
			u->page = UI_ROW;
		u->row_top = 0;
		break;
	case KEY_ESCAPE:
	case KEY_ERASE:
		if (u->page == UI_HELP) {
			u->page = u->back;
		} else if (u->page == UI_ROW) {
			u->page = UI_PANEL;
			free(u->row);
			u->row = NULL;
		} else if (filter[0] != '\0') {
			filter[0] = '\0';
		} else {
			u->page = UI_ALL;
		}
		break;
	default:
		page_key(u, key, columns);
	}
}
