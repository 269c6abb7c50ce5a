/* help.c - see help.h; the texts are in the tables */

#include "ctl/help.h"

#include <string.h>

#include "util/buf.h"

static void
print_row(const struct command *c, FILE *to)
{
	fprintf(to, "  %-22s  %s\n", c->words, c->help);
}

void
help_all(const struct command *commands, FILE *to)
{
	fputs("usage: outboxctl [-c FILE] [--json] [--wide] COMMAND [option ...]\n\n",
	    to);
	for (const struct command *c = commands; c->words != NULL; c++)
		print_row(c, to);
	fprintf(to, "  %-22s  %s\n", "help [COMMAND]", "print the options of a "
	    "command, or a group");
	fputs("\n  -c, --config FILE       configuration (" DEFAULT_CONF ")\n"
	    "      --json              print JSON\n"
	    "      --wide              cut no text to the terminal's width\n"
	    "  -V, --version\n"
	    "  -h, --help              after a command: print its options\n",
	    to);
}

void
help_command(const struct command *c)
{
	printf("usage: outboxctl %s [option ...]%s%s\n\n%s\n\n", c->words,
	    c->rest == NULL ? "" : " ", c->rest == NULL ? "" : c->rest,
	    c->help);
	args_help(c, stdout);
}

bool
help_group(const struct command *commands, int nwords, char **words)
{
	struct buf	group = { 0 };
	bool		found = false;

	if (nwords < 1)
		return false;
	for (int i = 0; i < nwords; i++)
		buf_printf(&group, "%s ", words[i]);
	for (const struct command *c = commands; c->words != NULL; c++) {
		if (strncmp(c->words, group.data, group.len) != 0)
			continue;
		if (!found)
			printf("usage: outboxctl %sCOMMAND [option ...]\n\n",
			    group.data);
		found = true;
		print_row(c, stdout);
	}
	if (found)
		printf("\noutboxctl help %sCOMMAND prints its options.\n",
		    group.data);
	buf_free(&group);
	return found;
}
