/*
 * canvas.h - a picture of character cells, in memory
 *
 * Nothing here knows a terminal.  A text may be anything: characters that could
 * move a cursor are replaced, as display_clean() does it, and wide and combining
 * characters take the columns that they need.
 */
#ifndef OUTBOXCTL_CANVAS_H
#define OUTBOXCTL_CANVAS_H

#include "ctl/base/screen.h"

enum style {
	STYLE_PLAIN = SCREEN_PLAIN, STYLE_BOLD = SCREEN_BOLD,
	STYLE_DIM = SCREEN_DIM, STYLE_GOOD = SCREEN_GREEN,
	STYLE_WARN = SCREEN_YELLOW, STYLE_BAD = SCREEN_RED, STYLES
};
#define STYLE_REVERSE	0x10	/* to be added */

#define CELL_SIZE	20
struct cell {
	char	text[CELL_SIZE];	/* a character with its marks; "": the
					   second half of a wide one */
	int	style;
};

/* A zeroed one is empty and ready. */
struct canvas {
	int		 rows, cols;
	struct cell	*cells;
};

/* Make it a picture of blanks. */
void	canvas_reset(struct canvas *, int rows, int cols);
void	canvas_free(struct canvas *);

/* Add an empty row at the end; returns its number. */
int	canvas_add(struct canvas *);

/*
 * Put the text into so many columns at most; a longer one ends in U+2026.
 * Returns the columns taken.  What is outside the picture is left out.
 */
int	canvas_put(struct canvas *, int row, int col, int width, int style,
	    const char *);

/* The same, and at the right end of these columns. */
void	canvas_put_right(struct canvas *, int row, int col, int width,
	    int style, const char *);

/* Add rows with the text, broken at blanks, behind an indent. */
void	canvas_add_text(struct canvas *, int indent, int style, const char *);

/* Set the style of a part of a row. */
void	canvas_style(struct canvas *, int row, int col, int width, int style);

/* Copy rows of another picture, from its row first on. */
void	canvas_copy(struct canvas *, int row, int col,
	    const struct canvas *from, int first, int rows);

/* What is shown for a cell's text where only ASCII can be. */
char	canvas_ascii(const char *text);

#endif
