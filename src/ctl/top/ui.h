/* ui.h - what is looked at, and what a key changes of that */
#ifndef OUTBOXCTL_UI_H
#define OUTBOXCTL_UI_H

#include <stdbool.h>

#include "ctl/top/grid.h"
#include "ctl/top/layout.h"

enum ui_page {
	UI_ALL,		/* all panels */
	UI_PANEL,	/* the panel in focus */
	UI_ROW,		/* a row of it */
	UI_HELP
};

/* How a panel is looked at. */
struct ui_list {
	int	cursor;		/* row, or the first line of a text */
	int	top;		/* first row that is shown */
	int	page;		/* rows that there was room for */
	struct grid_order	order;
};

struct ui {
	enum ui_page	page, back;	/* back: behind the help */
	enum panel	focus;
	struct ui_list	lists[PANELS];
	int		scroll;		/* of all panels, one below the other */
	int		row_top;	/* first line of a row's page */
	char		*row;		/* its name, see draw.h */
	bool		moved;		/* a panel was chosen: it is in sight */
	bool		paused, filtering, quit;
};

void	ui_begin(struct ui *);
void	ui_end(struct ui *);

/* A key of terminal.h.  columns: how many the list in focus has, 0: no list. */
void	ui_key(struct ui *, int key, int columns);

#endif
