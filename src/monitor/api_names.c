/* api_names.c - errors of outboxctl in words of the API, see monitor_impl.h */

#include "monitor/monitor_impl.h"

#include <string.h>

static const struct {
	const char	*word, *name;
} words[] = {
	{ "SEQUENCE...", "sequences" },
	{ "LABEL...", "labels" },
	{ "KEY...", "keys" },
	{ "outboxctl dead groups", "/api/dead/groups" },
};

/* How much of the text is a word of the table; 0: none. */
static size_t
put_word(struct buf *b, const char *text)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t	n = strlen(words[i].word);

		if (strncmp(text, words[i].word, n) == 0) {
			buf_str(b, words[i].name);
			return n;
		}
	}
	return 0;
}

/* The option --dry-run is dry_run; returns how much of the text it is, or 0. */
static size_t
put_option(struct buf *b, const char *text)
{
	size_t	n = strspn(text + 2, "abcdefghijklmnopqrstuvwxyz-");

	if (n == 0)
		return 0;
	for (size_t i = 2; i < n + 2; i++)
		buf_printf(b, "%c", text[i] == '-' ? '_' : text[i]);
	return n + 2;
}

/* How a command is called ends the text. */
static bool
is_usage(const char *text)
{
	return strncmp(text, "; usage: ", sizeof("; usage: ") - 1) == 0;
}

/* What is quoted came from the client. */
void
api_names(struct buf *b, const char *text)
{
	bool	quoted = false, begins = true;
	size_t	n;

	for (; *text != '\0' && (quoted || !is_usage(text)); text += n) {
		n = 0;
		if (*text == '"')
			quoted = !quoted;
		if (!quoted && begins)
			n = strncmp(text, "--", 2) == 0 ? put_option(b, text) :
			    put_word(b, text);
		begins = *text == ' ';
		if (n == 0) {
			buf_printf(b, "%c", *text);
			n = 1;
		}
	}
}
