/* panels.h - the content of each panel, for any width */
#ifndef OUTBOXCTL_PANELS_H
#define OUTBOXCTL_PANELS_H

#include "ctl/top/canvas.h"
#include "ctl/top/grid.h"
#include "ctl/top/model.h"
#include "ctl/top/layout.h"

extern const char *const	 panel_names[PANELS];

/* The columns of a panel that is a list; NULL: it is text. */
const struct grid_column	*panel_columns(enum panel);

/* Its rows, sorted and filtered; the caller frees. */
json_t	*panel_rows(const struct model *, enum panel, const struct grid_order *);

/* Add the text of a panel that is no list, for a screen of so many rows. */
void	 panel_text(struct canvas *, const struct model *, enum panel,
	    int rows, int64_t now);

/* Add all that is known of a row of a list. */
void	 panel_details(struct canvas *, const json_t *row);

#endif
