/*
 * log.c - levels, role prefix, stderr, file or syslog, text or JSON
 *
 * A line is built whole and written with one write(2), so that lines of
 * several processes on one file do not mix.  Control characters, which may
 * come from a server's error text, never reach the log.
 */

#include "util/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>
#include <bsd/string.h>

#include "util/utf8.h"

#define LINE_MAX_BYTES	2048

static const char *const names[] = { "error", "warn", "info", "debug" };
static const int priorities[] = { LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

static struct {
	enum log_level	 level;
	bool		 json;
	bool		 syslog;
	int		 fd;
	char		*path;		/* NULL: stderr or syslog */
	char		 role[32];
	void		(*tell)(void *, enum log_level, const char *);
	void		*tell_arg;
} out = { .level = LOG_LVL_INFO, .fd = STDERR_FILENO,
	  .role = "outbox-master" };

void
log_role(const char *role)
{
	strlcpy(out.role, role, sizeof(out.role));
}

void
log_to(void (*tell)(void *, enum log_level, const char *), void *arg,
    enum log_level level)
{
	out.tell = tell;
	out.tell_arg = arg;
	out.level = level;
}

static int
open_file(const char *path, struct err *e)
{
	int	fd;

	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
	if (fd < 0)
		return err_set(e, "%s: %s", path, strerror(errno));
	return fd;
}

static void
replace_fd(int fd)
{
	if (out.fd != STDERR_FILENO)
		close(out.fd);
	out.fd = fd;
}

int
log_open(const char *target, enum log_level level, bool json, struct err *e)
{
	bool	 to_file = target[0] == '/';
	char	*path = NULL;
	int	 fd = STDERR_FILENO;

	if (to_file) {
		if ((fd = open_file(target, e)) < 0)
			return err_in(e, "log.target");
		if ((path = strdup(target)) == NULL)
			abort();
	}
	replace_fd(fd);
	free(out.path);
	out.path = path;
	out.syslog = strcmp(target, "syslog") == 0;
	if (out.syslog)
		openlog("outbox-master", LOG_PID | LOG_NDELAY, LOG_DAEMON);
	out.level = level;
	out.json = json;
	return 0;
}

int
log_reopen(struct err *e)
{
	int	fd;

	if (out.path == NULL)
		return 0;
	if ((fd = open_file(out.path, e)) < 0)
		return -1;
	replace_fd(fd);
	return 0;
}

static size_t
put_log_time(char *p, size_t size)
{
	struct timespec	 ts;
	struct tm	 tm;
	size_t		 n;

	clock_gettime(CLOCK_REALTIME, &ts);
	gmtime_r(&ts.tv_sec, &tm);
	n = strftime(p, size, "%Y-%m-%dT%H:%M:%S", &tm);
	return n + (size_t)snprintf(p + n, size - n, ".%03ldZ",
	    ts.tv_nsec / 1000000);
}

/* Escapes only " and \: vlog has replaced the control characters. */
static size_t
put_json_text(char *p, size_t size, const char *text)
{
	size_t	n = 0;

	for (; *text != '\0' && n + 3 < size; text++) {
		if (*text == '"' || *text == '\\')
			p[n++] = '\\';
		p[n++] = *text;
	}
	p[n] = '\0';
	return n;
}

static size_t
format_json(char *line, size_t size, enum log_level level, const char *text)
{
	char	time[40], body[LINE_MAX_BYTES];

	put_log_time(time, sizeof(time));
	put_json_text(body, sizeof(body), text);
	return (size_t)snprintf(line, size, "{\"ts\":\"%s\",\"level\":\"%s\","
	    "\"role\":\"%s\",\"pid\":%d,\"msg\":\"%s\"}\n", time, names[level],
	    out.role, (int)getpid(), body);
}

static size_t
format_text(char *line, size_t size, enum log_level level, const char *text)
{
	char	time[40];

	put_log_time(time, sizeof(time));
	return (size_t)snprintf(line, size, "%s %s %s[%d]: %s\n", time,
	    names[level], out.role, (int)getpid(), text);
}

static void
write_log_line(enum log_level level, const char *text)
{
	char	line[LINE_MAX_BYTES * 2 + 256];
	size_t	n;

	if (out.tell != NULL) {
		out.tell(out.tell_arg, level, text);
		return;
	}
	if (out.syslog) {
		syslog(priorities[level], "%s: %s", out.role, text);
		return;
	}
	n = out.json ? format_json(line, sizeof(line), level, text) :
	    format_text(line, sizeof(line), level, text);
	if (n >= sizeof(line))
		n = sizeof(line) - 1;
	/* A log that cannot be written must not stop the relay. */
	if (write(out.fd, line, n) < 0)
		return;
}

static void
vlog(enum log_level level, const char *fmt, va_list ap)
{
	char	text[LINE_MAX_BYTES / 2];
	int	saved = errno;

	if (level > out.level)
		return;
	vsnprintf(text, sizeof(text), fmt, ap);
	for (char *p = text; *p != '\0'; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = ' ';
	utf8_clean(text);
	write_log_line(level, text);
	errno = saved;
}

#define DEFINE_LOG(name, level)						\
void									\
name(const char *fmt, ...)						\
{									\
	va_list	ap;							\
									\
	va_start(ap, fmt);						\
	vlog(level, fmt, ap);						\
	va_end(ap);							\
}

DEFINE_LOG(log_error, LOG_LVL_ERROR)
DEFINE_LOG(log_warn, LOG_LVL_WARN)
DEFINE_LOG(log_info, LOG_LVL_INFO)
DEFINE_LOG(log_debug, LOG_LVL_DEBUG)

void
fatal(int code, const char *fmt, ...)
{
	va_list	ap;

	va_start(ap, fmt);
	vlog(LOG_LVL_ERROR, fmt, ap);
	va_end(ap);
	exit(code);
}

void
panic(const char *fmt, ...)
{
	va_list	ap;

	va_start(ap, fmt);
	vlog(LOG_LVL_ERROR, fmt, ap);
	va_end(ap);
	abort();
}
