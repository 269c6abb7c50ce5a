/* display.c - see display.h */

#include "util/display.h"

#include <limits.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

#include "util/xalloc.h"

#define ELLIPSIS	"\xe2\x80\xa6"
#define JOINER		"\xe2\x80\x8d"

/* Newer than the tables of the library: emoji are added from here on. */
#define EMOJI_FROM	0x1f000
#define EMOJI_TO	0x1faff

/* Characters and their widths do not depend on the locale of the session. */
static locale_t
enter_utf8(void)
{
	static locale_t	utf8;

	if (utf8 == (locale_t)0)
		utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	return utf8 == (locale_t)0 ? utf8 : uselocale(utf8);
}

static void
leave_utf8(locale_t former)
{
	if (former != (locale_t)0)
		uselocale(former);
}

/* The bytes of the character at p, at least 1; L'\0': not one of UTF-8. */
static size_t
read_char(const char *p, wchar_t *c)
{
	mbstate_t	state = { 0 };
	size_t		left = strnlen(p, MB_LEN_MAX);
	size_t		n = mbrtowc(c, p, left, &state);

	if (n == 0 || n > left) {
		*c = L'\0';
		return 1;
	}
	return n;
}

static int
char_width(wchar_t c)
{
	int	n = wcwidth(c);

	if (c == L'\0')
		return 1;
	return n >= 0 ? n : c >= EMOJI_FROM && c <= EMOJI_TO ? 2 : 1;
}

/* The length of "ESC [ ... m" at p, else 0. */
static size_t
colour_length(const char *p)
{
	size_t	n;

	if (p[0] != '\033' || p[1] != '[')
		return 0;
	n = 2 + strspn(p + 2, "0123456789;");
	return p[n] == 'm' ? n + 1 : 0;
}

/*
 * Control characters; marks that embed, override or isolate the direction of
 * writing; a byte order mark, and marks around a text that is not shown.
 */
static bool
is_unsafe(wchar_t c)
{
	return iswcntrl((wint_t)c) || (c >= 0x202a && c <= 0x202e) ||
	    (c >= 0x2066 && c <= 0x206f) || c == 0x200e || c == 0x200f ||
	    c == 0x061c || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb);
}

void
display_clean_but(char *text, const char *keep)
{
	locale_t	 former;
	char		*to;
	wchar_t		 c;
	size_t		 n;

	/* Plain ASCII, as nearly all is, costs no conversion. */
	while ((*text >= ' ' && *text < 0x7f) || (*text != '\0' &&
	    strchr(keep, *text) != NULL))
		text++;
	if (*text == '\0')
		return;
	former = enter_utf8();
	to = text;
	for (const char *p = text; *p != '\0'; p += n) {
		n = read_char(p, &c);
		if (is_unsafe(c) && strchr(keep, *p) == NULL) {
			*to++ = '?';
			continue;
		}
		memmove(to, p, n);
		to += n;
	}
	*to = '\0';
	leave_utf8(former);
}

void
display_clean(char *text)
{
	display_clean_but(text, "");
}

void
display_print(FILE *to, const char *fmt, ...)
{
	va_list	ap;

	va_start(ap, fmt);
	display_vprint(to, fmt, ap);
	va_end(ap);
}

void
display_vprint(FILE *to, const char *fmt, va_list ap)
{
	char	*text;

	if (vasprintf(&text, fmt, ap) < 0)
		abort();
	display_clean_but(text, "\n\t");
	fputs(text, to);
	free(text);
}

void
display_put_word(struct buf *b, const char *word)
{
	static const char	plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_./:@%+,-";
	char			*clean = xstrdup(word);
	/* What a terminal must not get stands in $'...' as octal digits. */
	bool			 octal;

	display_clean(clean);
	octal = strcmp(clean, word) != 0;
	free(clean);
	buf_str(b, "");
	if (*word != '\0' && word[strspn(word, plain)] == '\0') {
		buf_str(b, word);
		return;
	}
	buf_str(b, octal ? "$'" : "'");
	for (; *word != '\0'; word++)
		if (octal && (*word == '\'' || *word == '\\' || *word < ' ' ||
		    *word > '~'))
			buf_printf(b, "\\%03o", (unsigned char)*word);
		else if (*word == '\'')
			buf_str(b, "'\\''");
		else
			buf_add(b, word, 1);
	buf_str(b, "'");
}

void
display_put_operand(struct buf *b, const char *word)
{
	if (*word == '-')
		buf_str(b, "-- ");
	display_put_word(b, word);
}

void
display_escape(struct buf *b, const char *json)
{
	locale_t	former = enter_utf8();
	wchar_t		c;
	size_t		n;

	buf_str(b, "");
	for (; *json != '\0'; json += n) {
		n = read_char(json, &c);
		if (c != L'\0' && is_unsafe(c))
			buf_printf(b, "\\u%04X", (unsigned)c);
		else
			buf_add(b, json, n);
	}
	leave_utf8(former);
}

/* The bytes that fit into the width, and *used, the columns they take. */
static size_t
fitting(const char *text, int width, int *used)
{
	size_t	at = 0, n;
	wchar_t	c;

	for (*used = 0; text[at] != '\0'; at += n) {
		int w = 0;

		if ((n = colour_length(text + at)) == 0) {
			n = read_char(text + at, &c);
			w = char_width(c);
		}
		if (*used + w > width)
			break;
		*used += w;
	}
	return at;
}

int
display_width(const char *text)
{
	locale_t	former = enter_utf8();
	int		used;

	fitting(text, INT32_MAX, &used);
	leave_utf8(former);
	return used;
}

void
display_cut(struct buf *b, const char *text, int width)
{
	locale_t	former = enter_utf8();
	int		used;
	size_t		n = fitting(text, width, &used);

	if (text[n] == '\0') {
		buf_add(b, text, n);
	} else {
		n = fitting(text, width - 1, &used);
		/* Nothing may join the mark that follows. */
		while (n >= 3 && memcmp(text + n - 3, JOINER, 3) == 0)
			n -= 3;
		buf_add(b, text, n);
		buf_str(b, ELLIPSIS);
	}
	leave_utf8(former);
}

size_t
display_char(const char *text, int *columns)
{
	locale_t	former = enter_utf8();
	wchar_t		c;
	size_t		n = read_char(text, &c);

	*columns = char_width(c);
	leave_utf8(former);
	return n;
}

size_t
display_line(const char *text, int width)
{
	locale_t	former = enter_utf8();
	int		used;
	size_t		n = fitting(text, width, &used), word;

	leave_utf8(former);
	if (text[n] != '\0' && text[n] != ' ') {
		word = n;
		while (word > 0 && text[word - 1] != ' ')
			word--;
		n = word > 0 ? word : n + strcspn(text + n, " ");
	}
	while (n > 0 && text[n - 1] == ' ')
		n--;
	return n;
}

const char *
display_number(char to[DISPLAY_SIZE], int64_t number)
{
	char	digits[DISPLAY_SIZE];
	size_t	n, used = 0;

	snprintf(digits, sizeof(digits), "%lld", (long long)number);
	n = strlen(digits);
	for (size_t i = 0; i < n; i++) {
		if (i > (number < 0) && (n - i) % 3 == 0)
			to[used++] = ',';
		to[used++] = digits[i];
	}
	to[used] = '\0';
	return to;
}
