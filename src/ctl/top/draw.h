/* draw.h - the picture of all: head, panels or a page, and the keys */
#ifndef OUTBOXCTL_DRAW_H
#define OUTBOXCTL_DRAW_H

#include "ctl/top/canvas.h"
#include "ctl/top/model.h"
#include "ctl/top/ui.h"

/*
 * Draw on a canvas of the terminal's size.  Corrects cursors of *ui that are
 * past the end, and notes the name of the row whose page is shown.
 */
void	draw(struct canvas *, const struct model *, struct ui *, int64_t now);

/* The columns of the list in focus; 0: it is no list. */
int	draw_columns(const struct ui *);

#endif
