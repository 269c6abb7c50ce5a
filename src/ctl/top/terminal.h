/*
 * terminal.h - the terminal: a picture on it, its size, its keys
 *
 * The only file that knows curses.
 */
#ifndef OUTBOXCTL_TERMINAL_H
#define OUTBOXCTL_TERMINAL_H

#include "util/err.h"
#include "ctl/top/canvas.h"

/* Keys that are no characters. */
enum terminal_key {
	KEY_NONE = 0,		/* no key is waiting */
	KEY_GONE = 0x200000,	/* the terminal is gone */
	KEY_OTHER,		/* one that we have no use for */
	KEY_TAB, KEY_BACK_TAB, KEY_RETURN, KEY_ESCAPE, KEY_ERASE,
	KEY_GO_UP, KEY_GO_DOWN, KEY_GO_LEFT, KEY_GO_RIGHT,
	KEY_PAGE_UP, KEY_PAGE_DOWN, KEY_GO_HOME, KEY_GO_END
};

/* Begin and end drawing.  -1: it is not known, or cannot do that, see err. */
int	terminal_begin(struct err *);
void	terminal_end(void);

/* Draw all again after a change of the size, or after a stop. */
void	terminal_again(void);
void	terminal_resume(void);

void	terminal_size(int *rows, int *cols);

/* Show the picture: only what changed is sent. */
void	terminal_show(const struct canvas *);

/* The next key, a character or one of those above.  Does not block. */
int	terminal_key(void);

#endif
