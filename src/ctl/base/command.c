/* command.c - see command.h */

#include "ctl/base/command.h"

#include <stdio.h>
#include <string.h>

#include "ctl/base/outcome.h"
#include "util/buf.h"

/* How many arguments are the command's words; 0: another command. */
static int
words_met(const char *words, int argc, char **argv)
{
	int	n = 0;

	while (*words != '\0') {
		size_t len = strcspn(words, " ");

		if (n >= argc || strlen(argv[n]) != len ||
		    memcmp(argv[n], words, len) != 0)
			return 0;
		n++;
		words += len;
		words += strspn(words, " ");
	}
	return n;
}

const struct command *
command_find(const struct command *table, int argc, char **argv, int *nwords)
{
	for (const struct command *c = table; c->words != NULL; c++)
		if ((*nwords = words_met(c->words, argc, argv)) > 0)
			return c;
	return NULL;
}

int
command_unknown(const struct command *table, const char *word)
{
	size_t		 n = strlen(word);
	const char	*lead = "; known: ";
	struct buf	 known = { 0 };

	buf_str(&known, "");
	for (const struct command *c = table; c->words != NULL; c++)
		if (strncmp(c->words, word, n) == 0 && c->words[n] == ' ') {
			buf_printf(&known, "%s%s", lead, c->words);
			lead = ", ";
		}
	if (known.len > 0)
		ctl_error("%s: its command is missing or unknown%s", word,
		    known.data);
	else
		ctl_error("%s: unknown command; see outboxctl --help", word);
	buf_free(&known);
	return CTL_USAGE;
}

bool
command_is_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

void
command_remedy(const struct command *c)
{
	char	remedy[80];

	snprintf(remedy, sizeof(remedy), "see outboxctl %s%s--help",
	    c == NULL ? "" : c->words, c == NULL ? "" : " ");
	outcome_remedy(remedy);
}
