/* canvas.c - see canvas.h */

#include "ctl/top/canvas.h"

#include <stdlib.h>
#include <string.h>

#include "util/buf.h"
#include "util/display.h"
#include "util/xalloc.h"

#define JOINER	"\xe2\x80\x8d"	/* would make one of two characters */

static struct cell *
cell_at(const struct canvas *c, int row, int col)
{
	if (row < 0 || row >= c->rows || col < 0 || col >= c->cols)
		return NULL;
	return &c->cells[(size_t)row * (size_t)c->cols + (size_t)col];
}

int
canvas_add(struct canvas *c)
{
	c->cells = xreallocarray(c->cells, ((size_t)c->rows + 1) *
	    (size_t)(c->cols > 0 ? c->cols : 1), sizeof(*c->cells));
	c->rows++;
	for (int i = 0; i < c->cols; i++)
		c->cells[(size_t)(c->rows - 1) * (size_t)c->cols + (size_t)i] =
		    (struct cell){ " ", STYLE_PLAIN };
	return c->rows - 1;
}

void
canvas_reset(struct canvas *c, int rows, int cols)
{
	c->rows = 0;
	c->cols = cols < 0 ? 0 : cols;
	while (c->rows < rows)
		canvas_add(c);
}

void
canvas_free(struct canvas *c)
{
	free(c->cells);
	*c = (struct canvas){ 0 };
}

/* A mark that joins the character before it. */
static void
add_mark(struct cell *cell, const char *p, size_t n)
{
	size_t	len;

	if (cell == NULL || (n == 3 && memcmp(p, JOINER, 3) == 0))
		return;
	len = strlen(cell->text);
	if (len > 0 && len + n < sizeof(cell->text)) {
		memcpy(cell->text + len, p, n);
		cell->text[len + n] = '\0';
	}
}

/* Free of what could harm, and not wider than this; the caller frees. */
static char *
fit(const char *text, int width)
{
	char		*clean = xstrdup(text);
	struct buf	 b = { 0 };

	display_clean(clean);
	buf_str(&b, "");
	if (width > 0)
		display_cut(&b, clean, width);
	free(clean);
	return b.data;
}

int
canvas_put(struct canvas *c, int row, int col, int width, int style,
    const char *text)
{
	int	 left = c->cols - col, at = col, columns;
	char	*fitting = fit(text, width < left ? width : left);
	size_t	 n;

	for (const char *p = fitting; *p != '\0'; p += n, at += columns) {
		struct cell *cell;

		n = display_char(p, &columns);
		cell = cell_at(c, row, columns == 0 ? at - 1 : at);
		if (columns == 0) {
			add_mark(cell, p, n);
		} else if (cell != NULL) {
			*cell = (struct cell){ .style = style };
			memcpy(cell->text, p, n);
			if (columns == 2 && cell_at(c, row, at + 1) != NULL)
				cell[1] = (struct cell){ .style = style };
		}
	}
	free(fitting);
	return at - col;
}

void
canvas_put_right(struct canvas *c, int row, int col, int width, int style,
    const char *text)
{
	char	*fitting = fit(text, width);

	canvas_put(c, row, col + width - display_width(fitting), width, style,
	    fitting);
	free(fitting);
}

void
canvas_add_text(struct canvas *c, int indent, int style, const char *text)
{
	int	width = c->cols - indent;
	size_t	n;
	char	*clean = xstrdup(text), *line;

	display_clean(clean);
	for (const char *p = clean; width > 0 && *p != '\0';
	    p += strspn(p, " ")) {
		n = display_line(p, width);
		line = xstrndup(p, n);
		canvas_put(c, canvas_add(c), indent, width, style, line);
		free(line);
		p += n > 0 ? n : 1;
	}
	free(clean);
}

void
canvas_style(struct canvas *c, int row, int col, int width, int style)
{
	for (int i = 0; i < width; i++) {
		struct cell *cell = cell_at(c, row, col + i);

		if (cell != NULL)
			cell->style = style;
	}
}

void
canvas_copy(struct canvas *c, int row, int col, const struct canvas *from,
    int first, int rows)
{
	struct cell		*to;
	const struct cell	*cell;

	for (int r = 0; r < rows; r++)
		for (int k = 0; k < from->cols; k++)
			if ((to = cell_at(c, row + r, col + k)) != NULL &&
			    (cell = cell_at(from, first + r, k)) != NULL)
				*to = *cell;
}

char
canvas_ascii(const char *text)
{
	static const struct {
		const char	*text;
		char		 ascii;
	} known[] = {
		{ "─", '-' }, { "│", '|' }, { "…", '~' }, { "↑", '^' },
		{ "↓", 'v' }, { "▁", '.' }, { "▂", ':' }, { "▃", ':' },
		{ "▄", '|' }, { "▅", '|' }, { "▆", '#' }, { "▇", '#' },
		{ "█", '#' }, { "·", '.' }, { "–", '-' }, { "▸", '>' },
		{ "●", '*' },
	};

	if (text[0] == '\0')
		return ' ';
	if ((unsigned char)text[0] < 0x80)
		return text[0];
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(text, known[i].text) == 0)
			return known[i].ascii;
	return '?';
}
