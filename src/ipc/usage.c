/* usage.c - see usage.h */

#include "ipc/usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The beginning of a file of /proc/PID. */
static bool
read_file(pid_t pid, const char *name, char *text, size_t size)
{
	char	 path[64];
	FILE	*f;
	size_t	 n;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	if ((f = fopen(path, "re")) == NULL)
		return false;
	n = fread(text, 1, size - 1, f);
	fclose(f);
	text[n] = '\0';
	return n > 0;
}

/* The number in a field, counted from 0, of fields with a blank between. */
static double
field(const char *text, unsigned i)
{
	while (i > 0 && text != NULL && (text = strchr(text, ' ')) != NULL) {
		text++;
		i--;
	}
	return text == NULL ? 0 : (double)strtoull(text, NULL, 10);
}

/* The times of user and kernel, behind the name, which may have blanks. */
static bool
read_cpu(pid_t pid, double *seconds)
{
	char		 text[1024];
	const char	*p;

	if (!read_file(pid, "stat", text, sizeof(text)) ||
	    (p = strrchr(text, ')')) == NULL)
		return false;
	*seconds = (field(p, 12) + field(p, 13)) /
	    (double)sysconf(_SC_CLK_TCK);
	return true;
}

static bool
read_memory(pid_t pid, double *bytes)
{
	char	text[256];

	if (!read_file(pid, "statm", text, sizeof(text)))
		return false;
	*bytes = field(text, 1) * (double)sysconf(_SC_PAGESIZE);
	return true;
}

void
usage_note(struct scoreboard *s)
{
	for (unsigned i = 0; i < SCOREBOARD_LINES; i++) {
		struct scoreboard_line	*l = &s->lines[i];

		if (l->pid > 0 && l->state != SCOREBOARD_FREE &&
		    read_cpu(l->pid, &l->cpu_s))
			(void)read_memory(l->pid, &l->resident);
	}
}
