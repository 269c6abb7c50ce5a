/* json_text.c - see json_text.h; a scanner without recursion, no memory */

#include "util/json_text.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "util/utf8.h"

struct scan {
	const char	*p, *end;
	size_t		 depth;
	bool		 in_object[JSON_TEXT_DEEPEST + 1];	/* by depth */
};

static bool
is_at(const struct scan *s, char c)
{
	return s->p < s->end && *s->p == c;
}

static bool
take(struct scan *s, char c)
{
	if (!is_at(s, c))
		return false;
	s->p++;
	return true;
}

static void
skip_blanks(struct scan *s)
{
	while (is_at(s, ' ') || is_at(s, '\n') || is_at(s, '\t') ||
	    is_at(s, '\r'))
		s->p++;
}

static bool
take_word(struct scan *s, const char *word)
{
	size_t	n = strlen(word);

	if ((size_t)(s->end - s->p) < n || memcmp(s->p, word, n) != 0)
		return false;
	s->p += n;
	return true;
}

static bool
take_digits(struct scan *s)
{
	const char	*from = s->p;

	while (s->p < s->end && isdigit((unsigned char)*s->p))
		s->p++;
	return s->p > from;
}

static bool
take_number(struct scan *s)
{
	take(s, '-');
	if (!take(s, '0') && !take_digits(s))
		return false;
	if (take(s, '.') && !take_digits(s))
		return false;
	if (!take(s, 'e') && !take(s, 'E'))
		return true;
	if (!take(s, '+'))
		take(s, '-');
	return take_digits(s);
}

/* The four digits of \uXXXX; -1: they are none. */
static int
take_hex(struct scan *s)
{
	int	value = 0;

	if (s->end - s->p < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		unsigned char c = (unsigned char)*s->p++;

		if (!isxdigit(c))
			return -1;
		value = value * 16 + (isdigit(c) ? c - '0' :
		    tolower(c) - 'a' + 10);
	}
	return value;
}

/* After a backslash. */
static bool
take_escape(struct scan *s)
{
	int	code;

	if (s->p == s->end)
		return false;
	if (*s->p != 'u')
		return strchr("\"\\/bfnrt", *s->p++) != NULL && s->p[-1] != '\0';
	s->p++;
	if ((code = take_hex(s)) < 0xd800 || code > 0xdfff)
		return code >= 0;
	if (code > 0xdbff || !take_word(s, "\\u"))
		return false;
	code = take_hex(s);
	return code >= 0xdc00 && code <= 0xdfff;
}

static bool
take_string(struct scan *s)
{
	if (!take(s, '"'))
		return false;
	while (s->p < s->end && (unsigned char)*s->p >= ' ') {
		char c = *s->p++;

		if (c == '"')
			return true;
		if (c == '\\' && !take_escape(s))
			return false;
	}
	return false;
}

/* In an object each value has a name before it. */
static bool
take_name(struct scan *s)
{
	if (!s->in_object[s->depth])
		return true;
	skip_blanks(s);
	if (!take_string(s))
		return false;
	skip_blanks(s);
	return take(s, ':');
}

static bool
take_scalar(struct scan *s)
{
	if (is_at(s, '"'))
		return take_string(s);
	if (is_at(s, 't'))
		return take_word(s, "true");
	if (is_at(s, 'f'))
		return take_word(s, "false");
	if (is_at(s, 'n'))
		return take_word(s, "null");
	return take_number(s);
}

/* A scalar, or the beginning of a list or an object that is not empty. */
static bool
take_value(struct scan *s, bool *ended)
{
	bool	object;

	skip_blanks(s);
	*ended = !is_at(s, '{') && !is_at(s, '[');
	if (*ended)
		return take_scalar(s);
	if (++s->depth > JSON_TEXT_DEEPEST)
		return false;
	object = *s->p++ == '{';
	s->in_object[s->depth] = object;
	skip_blanks(s);
	*ended = take(s, object ? '}' : ']');
	s->depth -= *ended;
	return *ended || take_name(s);
}

/* After a value; more: another one follows in the same list or object. */
static bool
take_end(struct scan *s, bool *more)
{
	for (*more = false; s->depth > 0; s->depth--) {
		skip_blanks(s);
		if ((*more = take(s, ',')))
			return take_name(s);
		if (!take(s, s->in_object[s->depth] ? '}' : ']'))
			return false;
	}
	skip_blanks(s);
	return s->p == s->end;
}

bool
json_text_is_valid(const char *text, size_t len)
{
	struct scan	s = { .p = text, .end = text + len };
	bool		ended, more = true;

	while (more) {
		if (!take_value(&s, &ended))
			return false;
		if (ended && !take_end(&s, &more))
			return false;
	}
	return utf8_is_valid(text, len);
}

void
json_text_put(struct buf *b, const char *text, size_t len)
{
	size_t	from = 0;

	buf_add(b, "\"", 1);
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c >= ' ' && c != '"' && c != '\\')
			continue;
		buf_add(b, text + from, i - from);
		from = i + 1;
		if (c < ' ')
			buf_printf(b, "\\u%04x", c);
		else
			buf_printf(b, "\\%c", c);
	}
	buf_add(b, text + from, len - from);
	buf_add(b, "\"", 1);
}

void
json_text_put_base64(struct buf *b, const void *data, size_t len)
{
	static const char	 digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "abcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char	*p = data;
	char			*to = buf_reserve(b, (len + 2) / 3 * 4 + 1);

	for (size_t i = 0; i < len; i += 3) {
		uint32_t group = (uint32_t)p[i] << 16;

		if (i + 1 < len)
			group |= (uint32_t)p[i + 1] << 8;
		if (i + 2 < len)
			group |= p[i + 2];
		*to++ = digits[group >> 18];
		*to++ = digits[group >> 12 & 63];
		*to++ = (char)(i + 1 < len ? digits[group >> 6 & 63] : '=');
		*to++ = (char)(i + 2 < len ? digits[group & 63] : '=');
	}
	*to = '\0';
	b->len += (len + 2) / 3 * 4;
}
