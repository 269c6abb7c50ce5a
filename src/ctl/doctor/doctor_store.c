/*
 * doctor_store.c - where a NATS server of this host keeps its streams
 *
 * Without a store_dir that is a directory below /tmp, which a reboot deletes.  A
 * unit with a private /tmp, as Debian's, deletes it with each restart.  Servers
 * do not tell, so this looks at the process that listens.  What this user may
 * not see is not judged.
 */

#include "ctl/doctor/doctor.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/xalloc.h"

#define SERVER	"nats-server"
#define PORT	4222		/* of a URL without one */
#define LISTENS	"0A"		/* its state in /proc/net/tcp */
#define MAX	(1024 * 1024)	/* of a file that is read */

/* A file of /proc/PID, with a NUL behind; NULL: not readable. */
static char *
read_of_process(long pid, const char *name, size_t *n)
{
	char	*path = xasprintf("/proc/%ld/%s", pid, name);
	FILE	*f = fopen(path, "re");
	char	*text;

	free(path);
	if (f == NULL)
		return NULL;
	text = xcalloc(MAX + 1, 1);
	*n = fread(text, 1, MAX, f);
	fclose(f);
	return text;
}

/* The words of a line of /proc/net/tcp. */
enum { LOCAL = 1, STATE = 3, INODE = 9, NWORDS };

/* Is the line about who listens at this port?  Then name is "socket:[4711]". */
static bool
is_listener(char *line, unsigned port, char name[64])
{
	char	*words[NWORDS] = { NULL }, *word, *at;
	size_t	 n = 0;

	while (n < NWORDS && (word = strsep(&line, " ")) != NULL)
		if (*word != '\0')
			words[n++] = word;
	if (n < NWORDS || strcmp(words[STATE], LISTENS) != 0 ||
	    (at = strrchr(words[LOCAL], ':')) == NULL ||
	    strtoul(at + 1, NULL, 16) != port)
		return false;
	snprintf(name, 64, "socket:[%.40s]", words[INODE]);
	return true;
}

/* One file is for IPv4. */
static bool
find_socket(const char *path, unsigned port, char name[64])
{
	FILE	*f = fopen(path, "re");
	char	 line[512];
	bool	 found = false;

	while (f != NULL && !found && fgets(line, sizeof(line), f) != NULL)
		found = is_listener(line, port, name);
	if (f != NULL)
		fclose(f);
	return found;
}

static bool
has_socket(long pid, const char *name)
{
	char		*path = xasprintf("/proc/%ld/fd", pid), *fd;
	DIR		*dir = opendir(path);
	struct dirent	*entry;
	char		 target[64];
	bool		 found = false;
	ssize_t		 n;

	while (dir != NULL && !found && (entry = readdir(dir)) != NULL) {
		fd = xasprintf("%s/%s", path, entry->d_name);
		n = readlink(fd, target, sizeof(target) - 1);
		target[n < 0 ? 0 : n] = '\0';
		found = strcmp(target, name) == 0;
		free(fd);
	}
	if (dir != NULL)
		closedir(dir);
	free(path);
	return found;
}

/* The nats-server that listens at this port; 0: none that can be seen. */
static long
find_server(unsigned port)
{
	char		 name[64], *comm;
	DIR		*dir;
	struct dirent	*entry;
	long		 pid = 0, found = 0;
	size_t		 n;

	if (!find_socket("/proc/net/tcp", port, name) &&
	    !find_socket("/proc/net/tcp6", port, name))
		return 0;
	if ((dir = opendir("/proc")) == NULL)
		return 0;
	while (found == 0 && (entry = readdir(dir)) != NULL) {
		pid = strtol(entry->d_name, NULL, 10);
		comm = pid <= 0 ? NULL : read_of_process(pid, "comm", &n);
		if (comm != NULL && strcmp(comm, SERVER "\n") == 0 &&
		    has_socket(pid, name))
			found = pid;
		free(comm);
	}
	closedir(dir);
	return found;
}

/*
 * The value of an option, "-sd DIR" or "--store_dir=DIR", in the words of a
 * command, each with a NUL behind it; NULL: it is not there.
 */
static const char *
find_option(const char *words, size_t n, const char *brief, const char *name)
{
	for (const char *w = words; w < words + n; w += strlen(w) + 1) {
		const char	*o = w + strspn(w, "-");
		size_t		 len = strcspn(o, "=");

		if (o == w || ((strlen(brief) != len ||
		    strncmp(o, brief, len) != 0) && (strlen(name) != len ||
		    strncmp(o, name, len) != 0)))
			continue;
		return o[len] == '=' ? o + len + 1 : w + strlen(w) + 1;
	}
	return NULL;
}

/* The same in a configuration file, outside of comments; the caller frees. */
static char *
find_key(const char *text, const char *name)
{
	const char	*p = text, *line;

	while ((p = strcasestr(p, name)) != NULL) {
		for (line = p; line > text && line[-1] != '\n'; line--)
			if (line[-1] == '#' || (line[-1] == '/' &&
			    line[0] == '/'))
				break;
		p += strlen(name);
		if (line > text && line[-1] != '\n')
			continue;
		p += strspn(p, " \t:='\"");
		return xstrndup(p, strcspn(p, "'\",;} \t\r\n"));
	}
	return NULL;
}

/* What the process of the server was started with. */
struct store_of {
	long	 pid;
	char	*words, *conf;		/* or NULL */
	size_t	 nwords;
};

/* Only if its whole configuration is known. */
static bool
has_jetstream(const struct store_of *s)
{
	bool	named = s->words != NULL && find_option(s->words, s->nwords,
		    "c", "config") != NULL;

	if (s->words == NULL || (named && (s->conf == NULL ||
	    strstr(s->conf, "include ") != NULL)))
		return false;
	return find_option(s->words, s->nwords, "js", "jetstream") != NULL ||
	    (s->conf != NULL && strcasestr(s->conf, "jetstream") != NULL);
}

/* Where it keeps its streams if nothing else is said; the caller frees. */
static char *
default_directory(const struct store_of *s)
{
	size_t		 n;
	char		*env = read_of_process(s->pid, "environ", &n), *path;
	const char	*tmp = "/tmp";

	for (const char *v = env; v != NULL && v < env + n; v += strlen(v) + 1)
		if (strncmp(v, "TMPDIR=/", 8) == 0)
			tmp = v + 7;
	path = xasprintf("%s/nats/jetstream", tmp);
	free(env);
	return path;
}

static void
judge(struct doctor *d, const struct store_of *s)
{
	const char	*option = find_option(s->words, s->nwords, "sd",
			    "store_dir");
	char		*given = option == NULL ? NULL : xstrdup(option);
	char		*tmp = xasprintf("/proc/%ld/root/tmp", s->pid), *dir;
	struct stat	 its, ours;
	bool		 own, gone;

	if (given == NULL && s->conf != NULL)
		given = find_key(s->conf, "store_dir");
	if (given == NULL && s->conf != NULL)
		given = find_key(s->conf, "storedir");
	dir = given != NULL ? given : default_directory(s);
	/* Does it see another /tmp than we do? */
	own = stat(tmp, &its) == 0 && stat("/tmp", &ours) == 0 &&
	    (its.st_dev != ours.st_dev || its.st_ino != ours.st_ino);
	gone = strncmp(dir, "/tmp/", 5) == 0 ||
	    strncmp(dir, "/var/tmp/", 9) == 0;
	if (gone && (own || given == NULL))
		doctor_say(d, DOCTOR_WARN, "broker store", "nats-server, pid "
		    "%ld, keeps its streams in %s%s, which %s: set "
		    "in its configuration jetstream {store_dir: "
		    "\"/var/lib/nats\"}, a directory of its user, and restart "
		    "it; then outboxctl setup --no-event", s->pid, dir,
		    given == NULL ? ", because no store_dir is set" : "", own ?
		    "is deleted with each restart of its unit, because its "
		    "/tmp is private" : "is deleted with a reboot");
	else
		doctor_say(d, DOCTOR_OK, "broker store", "%s%s", dir, gone ?
		    ", for tests: a reboot deletes it" : "");
	free(tmp);
	free(dir);
}

void
doctor_store(struct doctor *d, const char *server)
{
	const char	*port = strrchr(server, ':'), *option;
	unsigned	 n = port == NULL || strpbrk(port, "]/") != NULL ?
			    PORT : (unsigned)strtoul(port + 1, NULL, 10);
	struct store_of	 s = { .pid = find_server(n == 0 ? PORT : n) };
	char		*path;
	size_t		 len;

	if (s.pid == 0)
		return;
	s.words = read_of_process(s.pid, "cmdline", &s.nwords);
	option = s.words == NULL ? NULL : find_option(s.words, s.nwords,
	    "c", "config");
	if (option != NULL) {
		/* The path is one of the server's own file system. */
		path = xasprintf("%s%s", option[0] == '/' ? "root" : "cwd/",
		    option);
		s.conf = read_of_process(s.pid, path, &len);
		free(path);
	}
	if (has_jetstream(&s))
		judge(d, &s);
	free(s.words);
	free(s.conf);
}
