/* command_file.c - see command_file.h */

#include "common/command_file.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "util/display.h"

#define CTL	"outboxctl "
#define MASTER	"outbox-master "

/* The first words of all commands, or prose would be taken for one. */
static const char *const	words[] = { "audit", "config", "dead", "doctor",
	"enqueue", "keys", "logs", "messages", "partitions", "phantoms",
	"probe", "prune", "reconcile", "reload", "retry-plan", "schema",
	"serve", "setup", "status", "stop", "stream", "top", "workers" };

static bool
begins_command(const char *word)
{
	size_t	n = strspn(word, "abcdefghijklmnopqrstuvwxyz-");

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i]) == n && strncmp(words[i], word, n) == 0)
			return true;
	return false;
}

/* The length of the program's name and the blank, if a command begins here. */
static size_t
program_at(const char *text, const char *at)
{
	if (at > text && (isalnum((unsigned char)at[-1]) ||
	    strchr("/-_@", at[-1]) != NULL))
		return 0;
	if (strncmp(at, CTL, strlen(CTL)) == 0)
		return begins_command(at + strlen(CTL)) ? strlen(CTL) : 0;
	if (strncmp(at, MASTER "-", strlen(MASTER "-")) == 0)
		return at[strlen(MASTER) + 1] == 'c' ? 0 : strlen(MASTER);
	return 0;
}

static bool
is_default(const char *file)
{
	return file == NULL || file[0] == '\0' ||
	    strcmp(file, DEFAULT_CONF) == 0;
}

void
command_file_put(struct buf *b, const char *text, const char *file)
{
	const char	*at = text, *from = text;
	size_t		 n;

	buf_str(b, "");
	if (is_default(file)) {
		buf_str(b, text);
		return;
	}
	while (*at != '\0') {
		if ((n = program_at(text, at)) == 0) {
			at++;
			continue;
		}
		buf_add(b, from, (size_t)(at - from) + n);
		buf_str(b, "-c ");
		display_put_word(b, file);
		buf_str(b, " ");
		from = at += n;
	}
	buf_str(b, from);
}

/* "NAME.yml" beside the default file, in its folder of instances? */
static size_t
instance_length(const char *file)
{
	size_t	dir = strlen(DEFAULT_CONF) - strlen(".yml"), n = strlen(file);

	if (n < dir + strlen("/x.yml") || file[dir] != '/' ||
	    strncmp(file, DEFAULT_CONF, dir) != 0 ||
	    strcmp(file + n - strlen(".yml"), ".yml") != 0 ||
	    strchr(file + dir + 1, '/') != NULL)
		return 0;
	return n - dir - strlen("/.yml");
}

void
command_file_start(struct buf *b, const char *file)
{
	size_t	n;

	if (is_default(file)) {
		buf_str(b, "service outbox-master start");
	} else if ((n = instance_length(file)) > 0) {
		buf_printf(b, access("/run/systemd/system", F_OK) == 0 ?
		    "service outbox-master@%.*s start" :
		    "service outbox-master start %.*s", (int)n,
		    file + strlen(DEFAULT_CONF) - strlen(".yml") + 1);
	} else {
		buf_str(b, "outbox-master -c ");
		display_put_word(b, file);
	}
}
