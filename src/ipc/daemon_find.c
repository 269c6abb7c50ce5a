/* daemon_find.c - a master of this host, by the title of its process */

#include "ipc/daemon.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/xalloc.h"

#define TITLE	"outbox-master: master ["
#define PIDFILE	" --pidfile "

char *
daemon_file_of(pid_t pid, char **options)
{
	char	*proc = xasprintf("/proc/%d/cmdline", (int)pid), *end;
	char	 title[4096] = "";
	FILE	*f = fopen(proc, "re");
	size_t	 n = f == NULL ? 0 : fread(title, 1, sizeof(title) - 1, f);

	if (f != NULL)
		fclose(f);
	free(proc);
	title[n] = '\0';
	if (strncmp(title, TITLE, strlen(TITLE)) != 0 ||
	    (end = strrchr(title, ']')) == NULL)
		return NULL;
	*end = '\0';
	*options = xstrdup(end + 1);
	return xstrdup(title + strlen(TITLE));
}

/* By the option, or else by the file. */
static bool
has_pidfile(const char *file, const char *options, const char *pidfile)
{
	const char	*given = strstr(options, PIDFILE);
	struct conf	*conf;
	bool		 has;

	if (given != NULL)
		return strcmp(given + strlen(PIDFILE), pidfile) == 0;
	conf = conf_load_host(file, false);
	has = conf != NULL && strcmp(conf->master.pidfile, pidfile) == 0;
	conf_free(conf);
	return has;
}

/* In a namespace below ours (a container) a process has several numbers. */
static bool
is_in_our_namespace(pid_t pid)
{
	char	*path = xasprintf("/proc/%d/status", (int)pid), *text;
	char	 line[256];
	FILE	*f = fopen(path, "re");
	bool	 is = false;

	free(path);
	if (f == NULL)
		return false;
	while (fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, "NSpid:", strlen("NSpid:")) != 0)
			continue;
		text = line + strlen("NSpid:");
		text += strspn(text, " \t");
		text += strcspn(text, " \t\n");	/* behind the first one */
		is = text[strspn(text, " \t\n")] == '\0';
	}
	fclose(f);
	return is;
}

pid_t
daemon_find(const char *pidfile)
{
	DIR		*proc = opendir("/proc");
	struct dirent	*d;
	char		*file, *options;
	pid_t		 pid, found = 0;

	if (proc == NULL)
		return 0;
	while (found == 0 && (d = readdir(proc)) != NULL) {
		if (!isdigit((unsigned char)d->d_name[0]))
			continue;
		pid = (pid_t)strtol(d->d_name, NULL, 10);
		if ((file = daemon_file_of(pid, &options)) == NULL)
			continue;
		if (is_in_our_namespace(pid) &&
		    has_pidfile(file, options, pidfile))
			found = pid;
		free(options);
		free(file);
	}
	closedir(proc);
	return found;
}
