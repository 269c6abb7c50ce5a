/* grid.h - a list of objects as rows and columns: sorted, filtered, fitted */
#ifndef OUTBOXCTL_GRID_H
#define OUTBOXCTL_GRID_H

#include <stdbool.h>

#include <jansson.h>

#include "ctl/top/canvas.h"
#include "util/buf.h"

enum grid_kind {
	GRID_TEXT,
	GRID_COUNT,	/* "1,234" */
	GRID_PLAIN,	/* a number that is a name, such as a pid */
	GRID_SPAN	/* ms, "2m05s" */
};

#define GRID_FLEXIBLE	1	/* takes what the other columns leave */
#define GRID_COLOURED	2	/* by its word, a state */

struct grid_column {
	const char	*name;		/* of the member; NULL ends the list */
	const char	*title;
	enum grid_kind	 kind;
	int		 rank;		/* columns of the highest rank are left
					   out first; 0: never */
	int		 flags;		/* GRID_... */
};

#define GRID_FILTER	64

struct grid_order {
	int	column;		/* -1: as the list is */
	bool	reverse;
	char	filter[GRID_FILTER];	/* rows that have it in a column */
};

/* A new list, for the caller to free; the rows are those of the old one. */
json_t	*grid_select(const json_t *rows, const struct grid_column *,
	    const struct grid_order *);

/*
 * Add a row of titles and all rows; the one at the cursor is shown reversed.
 * -1: none.
 */
void	 grid_draw(struct canvas *, const json_t *rows,
	    const struct grid_column *, const struct grid_order *, int cursor);

/* Append a duration of a few characters: "85ms", "4.2s", "2m05s", "3d04h". */
void	 grid_put_span(struct buf *, int64_t ms);

#endif
