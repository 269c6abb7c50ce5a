/*
 * display.h - text and numbers for people, on a terminal
 *
 * Widths are columns of a terminal: a letter takes one, most emoji and Chinese
 * characters two, a combining mark none.  Text is UTF-8, whatever the locale;
 * a byte that is not UTF-8 takes one column.
 */
#ifndef OUTBOX_DISPLAY_H
#define OUTBOX_DISPLAY_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "util/buf.h"

/*
 * Replace, in place, each control character (C0, DEL, C1), each mark that turns
 * the direction of writing, and each byte that is not UTF-8, by a question
 * mark: data must not move the cursor.  The second leaves the characters in
 * keep, such as "\n\t".
 */
void	display_clean(char *);
void	display_clean_but(char *, const char *keep);

/*
 * Append a JSON document on one line, with each such character in its strings
 * as \uXXXX.
 */
void	display_escape(struct buf *, const char *json);

/*
 * Print for people: each such character of the text but "\n" and "\t" becomes a
 * question mark.  Whatever a command prints goes this way, unless it is JSON,
 * or a payload that was asked for as it is.
 */
void	display_print(FILE *, const char *, ...)
	    __attribute__((format(printf, 2, 3)));

void	display_vprint(FILE *, const char *, va_list)
	    __attribute__((format(printf, 2, 0)));

/*
 * Append a word for a shell, on one line: in quotes, unless it is plain; as
 * $'...', which bash and the like read, if a terminal must not get it as it is.
 */
void	display_put_word(struct buf *, const char *);

/* The same for the last words of a command: it is taken for no option. */
void	display_put_operand(struct buf *, const char *);

/* The columns it takes; sequences that set a colour (ESC [ ... m) take none. */
int	display_width(const char *);

/* Append the text; a wider one is cut at a character and ends in U+2026. */
void	display_cut(struct buf *, const char *, int width);

/*
 * The bytes of the character at the text's begin, at least 1, and its columns:
 * 0, 1 or 2.  The text is not empty.
 */
size_t	display_char(const char *, int *columns);

/*
 * The bytes of the first line, if the text is broken at blanks into lines of
 * this width.  A word is not broken: it may be wider.
 */
size_t	display_line(const char *, int width);

/*
 * "1,234,567"; fills and returns the array.  DISPLAY_NUMBER() is valid in its
 * block.
 */
#define DISPLAY_SIZE	32
const char *display_number(char to[DISPLAY_SIZE], int64_t);
#define DISPLAY_NUMBER(n)	display_number((char[DISPLAY_SIZE]){ 0 }, n)

#endif
