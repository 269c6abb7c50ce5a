/* terminal.c - see terminal.h */

#include "ctl/top/terminal.h"

#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <curses.h>
#include <term.h>

#define ESCAPE_MS	25	/* what follows it is of the same key */

static bool	utf8, colour;

int
terminal_begin(struct err *e)
{
	const char	*off = getenv("NO_COLOR");
	int		 known;

	if (setupterm(NULL, STDOUT_FILENO, &known) != OK)
		return err_set(e, "TERM=%s: no such terminal is known",
		    getenv("TERM") == NULL ? "" : getenv("TERM"));
	if (setlocale(LC_CTYPE, "") == NULL)
		setlocale(LC_CTYPE, "C");
	utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	if (newterm(NULL, stdout, stdin) == NULL)
		return err_set(e, "TERM=%s: this terminal cannot move its "
		    "cursor", getenv("TERM"));
	colour = (off == NULL || *off == '\0') && has_colors() &&
	    start_color() == OK;
	if (colour) {
		use_default_colors();
		init_pair(STYLE_GOOD, COLOR_GREEN, -1);
		init_pair(STYLE_WARN, COLOR_YELLOW, -1);
		init_pair(STYLE_BAD, COLOR_RED, -1);
	}
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	curs_set(0);
	return 0;
}

void
terminal_end(void)
{
	if (isendwin())
		return;
	/* Without a second screen the shell goes on in the last line. */
	move(LINES - 1, 0);
	clrtoeol();
	refresh();
	endwin();
}

void
terminal_again(void)
{
	struct winsize	w;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_row > 0 &&
	    w.ws_col > 0)
		resizeterm(w.ws_row, w.ws_col);
	clearok(curscr, TRUE);
}

void
terminal_resume(void)
{
	/* Whoever had the terminal since may have left it in any mode. */
	if (!isendwin())
		endwin();
	terminal_again();
}

void
terminal_size(int *rows, int *cols)
{
	*rows = LINES;
	*cols = COLS;
}

static attr_t
attributes_of(int style)
{
	static const attr_t	 attributes[STYLES] = {
		[STYLE_BOLD] = A_BOLD, [STYLE_DIM] = A_DIM,
		[STYLE_WARN] = A_BOLD, [STYLE_BAD] = A_BOLD
	};
	int			 kind = style & ~STYLE_REVERSE;
	attr_t			 a = attributes[kind];

	if (colour && kind >= STYLE_GOOD)
		a |= (attr_t)COLOR_PAIR(kind);
	return style & STYLE_REVERSE ? a | A_REVERSE : a;
}

void
terminal_show(const struct canvas *c)
{
	const struct cell	*cell = c->cells;

	erase();
	for (int row = 0; row < c->rows && row < LINES; row++)
		for (int col = 0; col < c->cols; col++, cell++) {
			attrset(attributes_of(cell->style));
			if (!utf8)
				mvaddch(row, col, (chtype)(unsigned char)
				    canvas_ascii(cell->text));
			else if (cell->text[0] != '\0')
				mvaddstr(row, col, cell->text);
		}
	attrset(A_NORMAL);
	wnoutrefresh(stdscr);
	doupdate();
}

/* A key that curses does not know sends ESC [ ... letter: skip all of it. */
static int
skip_sequence(void)
{
	wint_t	c;
	int	kind;

	timeout(ESCAPE_MS);
	kind = get_wch(&c);
	if (kind == OK && (c == '[' || c == 'O'))
		while (get_wch(&c) == OK && (c < 0x40 || c > 0x7e))
			continue;
	nodelay(stdscr, TRUE);
	if (kind == OK && c == 0x1b)
		unget_wch((wchar_t)c);
	return kind == ERR || c == 0x1b ? KEY_ESCAPE : KEY_OTHER;
}

int
terminal_key(void)
{
	static const struct {
		wint_t	curses;
		int	ours;
	} keys[] = {
		{ KEY_UP, KEY_GO_UP }, { KEY_DOWN, KEY_GO_DOWN },
		{ KEY_LEFT, KEY_GO_LEFT }, { KEY_RIGHT, KEY_GO_RIGHT },
		{ KEY_PPAGE, KEY_PAGE_UP }, { KEY_NPAGE, KEY_PAGE_DOWN },
		{ KEY_HOME, KEY_GO_HOME }, { KEY_END, KEY_GO_END },
		{ KEY_ENTER, KEY_RETURN }, { KEY_BTAB, KEY_BACK_TAB },
		{ KEY_BACKSPACE, KEY_ERASE }, { KEY_DC, KEY_ERASE },
	};
	struct pollfd	p = { STDIN_FILENO, POLLIN, 0 };
	wint_t		c;
	int		kind = get_wch(&c);

	if (kind == ERR)
		return poll(&p, 1, 0) == 1 && (p.revents & (POLLHUP |
		    POLLERR | POLLNVAL)) != 0 ? KEY_GONE : KEY_NONE;
	if (kind == KEY_CODE_YES) {
		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
			if (keys[i].curses == c)
				return keys[i].ours;
		return KEY_OTHER;
	}
	switch (c) {
	case '\t':
		return KEY_TAB;
	case '\r':
	case '\n':
		return KEY_RETURN;
	case 0x08:
	case 0x7f:
		return KEY_ERASE;
	case 0x1b:
		return skip_sequence();
	default:
		return c < ' ' || c >= KEY_GONE ? KEY_OTHER : (int)c;
	}
}
