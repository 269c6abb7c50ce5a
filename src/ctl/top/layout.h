/* layout.h - which panel stands where, for a width and a height */
#ifndef OUTBOXCTL_LAYOUT_H
#define OUTBOXCTL_LAYOUT_H

/* In the order of their keys, 1 to 7. */
enum panel {
	PANEL_SUMMARY, PANEL_THROUGHPUT, PANEL_PARTITIONS, PANEL_WORKERS,
	PANEL_ERRORS, PANEL_PROBLEMS, PANEL_DESTINATIONS, PANELS
};

#define LAYOUT_MIN_COLS	40
#define LAYOUT_MIN_ROWS	10
#define LAYOUT_GAP	2	/* blank columns between panels */

/* Its title is the first of its rows.  No rows: it is not shown. */
struct place {
	int	row, col, rows, cols;
};

struct layout {
	int		columns;	/* 1 to 3 */
	int		height;		/* rows of all; more than there are: it
					   is scrolled */
	struct place	places[PANELS];
};

/* 3 from 140 characters, 2 from 100, else 1. */
int	layout_columns(int cols);

/* The width of each panel's content, before it is known how long that is. */
void	layout_widths(struct layout *, int cols);

/*
 * Place the panels in so many rows.  content is the rows that each one has to
 * show, 0: it is not wanted.
 */
void	layout_place(struct layout *, int rows, const int content[PANELS]);

#endif
