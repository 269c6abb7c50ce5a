/* type_words.c - see type_words.h; pure */

#include "util/type_words.h"

#include <ctype.h>
#include <stdbool.h>

enum before {
	START,		/* of a token */
	JOINT,		/* between two words */
	CAPITAL,
	SMALL,		/* or a digit, or a byte that is not ASCII */
	OTHER
};

/* The bytes of the separator of tokens at text; 0: there is none. */
static size_t
separator(const char *text, size_t left)
{
	if (text[0] == '\\' || text[0] == '/' || text[0] == '.')
		return 1;
	return left > 1 && text[0] == ':' && text[1] == ':' ? 2 : 0;
}

/* Does a word begin at this capital? */
static bool
begins_word(enum before before, const char *capital, size_t left)
{
	return before == SMALL || (before == CAPITAL && left > 1 &&
	    capital[1] >= 'a' && capital[1] <= 'z');
}

void
type_words_put(struct buf *b, const char *type, size_t len, char joint)
{
	enum before	before = START;
	size_t		i = 0, n;
	bool		capital;
	char		c, small;

	if (len > 0 && type[0] != '.')
		i = separator(type, len);
	for (; i < len; i++) {
		if ((n = separator(type + i, len - i)) > 0) {
			buf_str(b, ".");
			before = START;
			i += n - 1;
			continue;
		}
		c = type[i];
		if (c == '_' || c == '-') {
			before = before == START ? START : JOINT;
			continue;
		}
		capital = c >= 'A' && c <= 'Z';
		if (before == JOINT || (capital && begins_word(before,
		    type + i, len - i)))
			buf_add(b, &joint, 1);
		small = (char)(capital ? c - 'A' + 'a' : c);
		buf_add(b, &small, 1);
		before = capital ? CAPITAL : islower((unsigned char)c) ||
		    isdigit((unsigned char)c) || (unsigned char)c >= 0x80 ?
		    SMALL : OTHER;
	}
}
