/* panels.h - the content of each panel, for any width */
#ifndef OUTBOXCTL_PANELS_H
#define OUTBOXCTL_PANELS_H

#include "ctl/top/canvas.h"
#include "ctl/top/grid.h"
#include "ctl/top/model.h"
#include "ctl/top/layout.h"

struct panel_kind {
	const char			*name;
	const struct grid_column	*columns;	/* NULL: it is text */
};

extern const struct panel_kind	 panels[PANELS];

/* Add the text of a panel that is no list, for a screen of so many rows. */
void	 panel_text(struct canvas *, const struct model *, enum panel,
	    int rows, int64_t now);

/* Add all that is known of a row of a list. */
void	 panel_details(struct canvas *, const json_t *row);

#endif
