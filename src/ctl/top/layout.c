/*
 * layout.c - see layout.h
 *
 * Problems and destinations take the whole width on top, errors at the bottom.
 * Between them are the columns: numbers at the left, then workers, then
 * partitions.
 */

#include "ctl/top/layout.h"

#include <string.h>

#define STACK_MAX	14	/* rows of a panel that is stacked */
#define BAND_MIN	4	/* rows of a band that there is room for */

int
layout_columns(int cols)
{
	return cols >= 140 ? 3 : cols >= 100 ? 2 : 1;
}

static void
set_width(struct layout *l, enum panel p, int col, int cols)
{
	l->places[p].col = col;
	l->places[p].cols = cols;
}

void
layout_widths(struct layout *l, int cols)
{
	int	left, middle, at;

	memset(l, 0, sizeof(*l));
	l->columns = layout_columns(cols);
	for (int p = 0; p < PANELS; p++)
		set_width(l, (enum panel)p, 0, cols);
	if (l->columns == 1)
		return;
	left = l->columns == 3 ? 40 : cols * 2 / 5;
	at = left + LAYOUT_GAP;
	set_width(l, PANEL_SUMMARY, 0, left);
	set_width(l, PANEL_THROUGHPUT, 0, left);
	set_width(l, PANEL_WORKERS, at, cols - at);
	set_width(l, PANEL_PARTITIONS, at, cols - at);
	if (l->columns == 2)
		return;
	middle = (cols - at - LAYOUT_GAP) / 2;
	set_width(l, PANEL_WORKERS, at, middle);
	at += middle + LAYOUT_GAP;
	set_width(l, PANEL_PARTITIONS, at, cols - at);
}

static int
smaller(int a, int b)
{
	return a < b ? a : b;
}

/* Put it at the row, as high as its content, but not above most rows. */
static int
put(struct layout *l, enum panel p, int row, int content, int most)
{
	struct place	*to = &l->places[p];

	to->row = row;
	to->rows = content == 0 ? 0 : smaller(content + 1, most);
	if (to->rows < 2)
		to->rows = 0;
	return row + to->rows;
}

/* Two of a column share its rows; the first gets at least half if it needs. */
static void
share(struct layout *l, enum panel a, enum panel b, int row, int end,
    const int content[PANELS])
{
	int	room = end - row, need = content[b] == 0 ? 0 : content[b] + 1;
	int	most = room - smaller(need, room / 2);

	row = put(l, a, row, content[a], most);
	put(l, b, row, content[b], end - row);
}

void
layout_place(struct layout *l, int rows, const int content[PANELS])
{
	static const enum panel	order[] = { PANEL_PROBLEMS, PANEL_SUMMARY,
				    PANEL_THROUGHPUT, PANEL_WORKERS,
				    PANEL_DESTINATIONS, PANEL_PARTITIONS,
				    PANEL_ERRORS };
	int			top = 0, end = rows, band = rows / 3;

	if (l->columns == 1) {	/* one below the other */
		for (int i = 0; i < PANELS; i++)
			top = put(l, order[i], top, content[order[i]],
			    smaller(rows, order[i] == PANEL_PROBLEMS ?
			    rows / 2 : STACK_MAX));
		l->height = top;
		return;
	}
	l->height = rows;
	band = band < BAND_MIN ? BAND_MIN : band;
	top = put(l, PANEL_PROBLEMS, 0, content[PANEL_PROBLEMS], band);
	top = put(l, PANEL_DESTINATIONS, top, content[PANEL_DESTINATIONS],
	    rows / 4);
	if (content[PANEL_ERRORS] > 0) {
		end -= smaller(content[PANEL_ERRORS] + 1, rows / 4);
		put(l, PANEL_ERRORS, end, content[PANEL_ERRORS], rows - end);
	}
	share(l, PANEL_SUMMARY, PANEL_THROUGHPUT, top, end, content);
	if (l->columns == 2) {
		share(l, PANEL_WORKERS, PANEL_PARTITIONS, top, end, content);
	} else {
		put(l, PANEL_WORKERS, top, content[PANEL_WORKERS], end - top);
		put(l, PANEL_PARTITIONS, top, content[PANEL_PARTITIONS],
		    end - top);
	}
}
