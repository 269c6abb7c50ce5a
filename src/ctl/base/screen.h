/*
 * screen.h - what standard output can show: its width, colours, and a picture
 * that is drawn again in the same place
 */
#ifndef OUTBOXCTL_SCREEN_H
#define OUTBOXCTL_SCREEN_H

#include <stdio.h>

#include "ctl/base/ctl.h"

/* The columns of the terminal; 0: no limit (--wide, or no terminal). */
int	screen_width(const struct ctl *);

enum screen_colour { SCREEN_PLAIN, SCREEN_BOLD, SCREEN_DIM, SCREEN_GREEN,
	SCREEN_YELLOW, SCREEN_RED };

/* The colour of a state, a severity or a level; SCREEN_PLAIN: an unknown one */
enum screen_colour screen_colour_of(const char *word);

/* Where text for people goes: standard output, or the picture. */
FILE	*screen_out(void);

/* Print the text, in colour if a terminal shows it and NO_COLOR is not set. */
void	screen_put(enum screen_colour, const char *);

/*
 * Print the text, whose first line begins at the column indent, and end it with
 * a newline.  On a terminal it is broken at blanks, and a word that is wider
 * than a line is cut.
 */
void	screen_put_lines(const struct ctl *, int indent, const char *);

/*
 * Until screen_end() nothing is printed; it draws over the former picture,
 * without clearing it first.  Lines that the terminal has no room for are
 * counted instead.  Where standard output is no terminal both do nothing.
 */
void	screen_begin(void);
void	screen_end(void);

#endif
