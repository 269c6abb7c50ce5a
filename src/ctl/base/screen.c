/* screen.c - see screen.h */

#include "ctl/base/screen.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <bsd/stdlib.h>

#include "util/display.h"
#include "util/xalloc.h"

#define WIDTH_UNKNOWN	80
#define WIDTH_MAX	10000

/* Sequences of ECMA-48, which all terminals know. */
#define HOME		"\033[H"
#define CLEAR_LINE	"\033[K"	/* from the cursor to its end */
#define CLEAR_BELOW	"\033[J"

static FILE	*picture;
static char	*picture_text;
static size_t	 picture_size;

static bool
is_terminal(void)
{
	return isatty(STDOUT_FILENO) == 1;
}

/* Rows and columns; 0: unknown. */
static struct winsize
terminal_size(void)
{
	struct winsize	size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
		memset(&size, 0, sizeof(size));
	return size;
}

static int
terminal_width(void)
{
	const char	*columns = getenv("COLUMNS");
	int		 width = terminal_size().ws_col;

	if (width == 0 && columns != NULL)
		width = (int)strtonum(columns, 1, WIDTH_MAX, NULL);
	return width == 0 ? WIDTH_UNKNOWN : width;
}

int
screen_width(const struct ctl *c)
{
	return c->args.wide || !is_terminal() ? 0 : terminal_width();
}

/* Colour */

enum screen_colour
screen_colour_of(const char *word)
{
	static const struct {
		const char		*word;
		enum screen_colour	 colour;
	} words[] = {
		{ "critical", SCREEN_RED }, { "fail", SCREEN_RED },
		{ "no database", SCREEN_RED }, { "no broker", SCREEN_RED },
		{ "expired", SCREEN_RED }, { "dead", SCREEN_RED },
		{ "halted", SCREEN_RED }, { "silent", SCREEN_RED },
		{ "fails", SCREEN_RED }, { "held up", SCREEN_RED },
		{ "warning", SCREEN_YELLOW }, { "warn", SCREEN_YELLOW },
		{ "paused", SCREEN_YELLOW }, { "refused", SCREEN_YELLOW },
		{ "starting", SCREEN_YELLOW }, { "stopping", SCREEN_YELLOW },
		{ "missing", SCREEN_YELLOW },
		{ "ok", SCREEN_GREEN }, { "running", SCREEN_GREEN },
		{ "healthy", SCREEN_GREEN }, { "works", SCREEN_GREEN },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(word, words[i].word) == 0)
			return words[i].colour;
	return SCREEN_PLAIN;
}

void
screen_put(enum screen_colour colour, const char *text)
{
	static const char *const codes[] = { [SCREEN_BOLD] = "1",
	    [SCREEN_DIM] = "2", [SCREEN_GREEN] = "32", [SCREEN_YELLOW] = "33",
	    [SCREEN_RED] = "1;31" };
	const char	*off = getenv("NO_COLOR"), *term = getenv("TERM");

	if (colour == SCREEN_PLAIN || *text == '\0' || !is_terminal() ||
	    (off != NULL && *off != '\0') ||
	    (term != NULL && strcmp(term, "dumb") == 0)) {
		display_print(screen_out(), "%s", text);
	} else {
		fprintf(screen_out(), "\033[%sm", codes[colour]);
		display_print(screen_out(), "%s", text);
		fputs("\033[0m", screen_out());
	}
}

void
screen_put_lines(const struct ctl *c, int indent, const char *text)
{
	int	width = screen_width(c), room = width - indent;
	size_t	n;

	/* A column of a few characters is worse than long lines. */
	if (room <= width / 2) {
		display_print(screen_out(), "%s\n", text);
		return;
	}
	for (;;) {
		struct buf	b = { 0 };
		char		*line;

		n = display_line(text, room);
		line = xstrndup(text, n);
		buf_str(&b, "");
		display_cut(&b, line, room);
		display_print(screen_out(), "%s\n", b.data);
		buf_free(&b);
		free(line);
		text += n;
		text += strspn(text, " ");
		if (*text == '\0')
			return;
		display_print(screen_out(), "%*s", indent, "");
	}
}

/* Picture */

FILE *
screen_out(void)
{
	return picture != NULL ? picture : stdout;
}

void
screen_begin(void)
{
	if (is_terminal())
		picture = open_memstream(&picture_text, &picture_size);
}

/* The lines that fit into the rows; the last row is the cursor's. */
void
screen_end(void)
{
	struct buf	 b = { 0 };
	char		*line, *end;
	int		 rows, columns, width, height, used = 0, left = 0;

	if (picture == NULL)
		return;
	fclose(picture);
	picture = NULL;
	rows = terminal_size().ws_row;
	columns = terminal_width();
	buf_str(&b, HOME);
	for (line = picture_text; (end = strchr(line, '\n')) != NULL;
	    line = end + 1)
		left++;
	for (line = picture_text; (end = strchr(line, '\n')) != NULL;
	    line = end + 1) {
		*end = '\0';
		width = display_width(line);
		height = width == 0 ? 1 : (width + columns - 1) / columns;
		if (rows > 0 && used + height + (left > 1) > rows - 1)
			break;
		buf_str(&b, line);
		/* A cursor behind the last column is still in it. */
		if (width == 0 || width % columns != 0)
			buf_str(&b, CLEAR_LINE);
		buf_str(&b, "\n");
		used += height;
		left--;
	}
	if (left > 0)
		buf_printf(&b, "(%d more lines)" CLEAR_LINE "\n", left);
	buf_str(&b, CLEAR_BELOW);
	fwrite(b.data, 1, b.len, stdout);
	fflush(stdout);
	buf_free(&b);
	free(picture_text);
	picture_text = NULL;
}
