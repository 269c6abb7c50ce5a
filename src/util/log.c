/*
 * log.c - levels, role prefix, fields, stderr, file or syslog, text or JSON
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
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>
#include <bsd/string.h>

#include "util/display.h"
#include "util/line_output.h"
#include "util/syslog_socket.h"
#include "util/xalloc.h"

/* Escaped it is at most twice as long, and leaves room for fields. */
#define TEXT_MAX_BYTES	1024
#define FIELD_MAX_BYTES	512

/* Longest wait for a slow reader: the log must not stop the relay. */
#define PATIENCE_MS	100

static const char *const names[] = { "error", "warn", "info", "debug" };
static const int priorities[] = { LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

static struct {
	enum log_level	 level;
	bool		 json;
	char		*syslog;	/* path of its socket; or NULL */
	bool		 stream;	/* that socket: lines end with a NUL */
	bool		 journal;	/* lines begin with their priority */
	char		*path;		/* of the file; or NULL */
	char		 role[32];
	int		 worker;	/* -1: none */
	void		(*tell)(void *, enum log_level, const char *);
	void		*tell_arg;
	struct line_output to;
} out = { .level = LOG_LVL_INFO, .to = { .fd = STDERR_FILENO },
	  .role = "outbox-master", .worker = -1 };

static unsigned	opens;

static struct {
	uint64_t	 all;		/* since the start of the process */
	uint64_t	 untold;
	time_t		 since;		/* the first that is untold */
	int		 error;		/* errno of the last */
	bool		 misplaced;	/* the file could not be opened again:
					   lines go to the former one */
	time_t		 tried_at;	/* to open it */
} lost;

struct line {
	char	text[LINE_OUTPUT_ATOMIC];
	size_t	n;
	bool	full;		/* something did not fit */
};

void
log_role(const char *role)
{
	strlcpy(out.role, role, sizeof(out.role));
	out.worker = -1;
	line_output_forget(&out.to);
	memset(&lost, 0, sizeof(lost));
}

void
log_worker(unsigned number)
{
	char	role[sizeof(out.role)];

	snprintf(role, sizeof(role), "worker %u", number);
	log_role(role);
	out.worker = (int)number;
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
	if (fd == out.to.fd)
		return;
	opens++;
	line_output_end(&out.to);
	if (out.to.fd > STDERR_FILENO)
		close(out.to.fd);
	out.to.fd = fd;
}

/* A pipe that root has opened, by log_keep_stderr(), stays open. */
static int
open_stderr(void)
{
	int		fd = line_output_own(STDERR_FILENO);
	struct stat	was, now;

	return fd == STDERR_FILENO && fstat(out.to.fd, &was) == 0 &&
	    fstat(fd, &now) == 0 && was.st_dev == now.st_dev &&
	    was.st_ino == now.st_ino ? out.to.fd : fd;
}

void
log_keep_stderr(void)
{
	replace_fd(open_stderr());
}

/* systemd names the socket that it has made standard error. */
static bool
stderr_is_journal(void)
{
	const char		*stream = getenv("JOURNAL_STREAM");
	unsigned long long	 dev, ino;
	struct stat		 st;

	/* A number that is too large is another one, as it should be. */
	return stream != NULL &&
	    sscanf(stream, "%llu:%llu", &dev, &ino) == 2 && /* NOLINT(cert-err34-c) */
	    fstat(STDERR_FILENO, &st) == 0 && st.st_dev == dev &&
	    st.st_ino == ino;
}

int
log_open(const char *target, enum log_level level, bool json, struct err *e)
{
	const char	*path = target[0] == '/' ? target : NULL;
	const char	*socket = NULL;
	int		 fd = -1;	/* to be connected by the first line */

	if (strcmp(target, "syslog") == 0)
		socket = _PATH_LOG;
	else if (strncmp(target, "syslog:", 7) == 0)
		socket = target + 7;
	if (path != NULL && (fd = open_file(path, e)) < 0)
		return err_in(e, "log.target");
	if (path == NULL && socket == NULL)
		fd = open_stderr();
	replace_fd(fd);
	free(out.path);
	free(out.syslog);
	out.path = path == NULL ? NULL : xstrdup(path);
	out.syslog = socket == NULL ? NULL : xstrdup(socket);
	out.journal = path == NULL && socket == NULL && stderr_is_journal();
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
	fd = open_file(out.path, e);
	lost.misplaced = fd < 0;
	if (fd < 0)
		return -1;
	replace_fd(fd);
	return 0;
}

void
log_connect(void)
{
	if (out.syslog != NULL && out.to.fd < 0)
		out.to.fd = syslog_socket_open(out.syslog, &out.stream);
}

bool
log_is_syslog(void)
{
	return out.syslog != NULL;
}

unsigned
log_opens(void)
{
	return opens;
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

static void	put(struct line *, const char *, ...)
		    __attribute__((format(printf, 2, 3)));

static void
put(struct line *l, const char *fmt, ...)
{
	size_t	room = sizeof(l->text) - l->n;
	va_list	ap;
	int	n;

	va_start(ap, fmt);
	n = vsnprintf(l->text + l->n, room, fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < room)
		l->n += (size_t)n;
	else
		l->full = true;
}

static void
put_char(struct line *l, char c)
{
	if (l->n + 1 >= sizeof(l->text)) {
		l->full = true;
		return;
	}
	l->text[l->n++] = c;
	l->text[l->n] = '\0';
}

/* Escapes only " and \: the control characters have been replaced. */
static void
put_escaped(struct line *l, const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '"' || *text == '\\')
			put_char(l, '\\');
		put_char(l, *text);
	}
}

/* One line of UTF-8 that is safe on a terminal; a line break is a blank. */
static void
clean(char *text)
{
	for (char *p = text; *p != '\0'; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = ' ';
	display_clean(text);
}

/* A field that does not fit is left out; so is room for the end of the line. */
static void
put_fields(struct line *l, const struct log_field *f, bool json)
{
	const char	*before = " [";
	char		 text[FIELD_MAX_BYTES];

	for (; f != NULL && f->name != NULL; f++) {
		size_t	n = l->n;
		bool	bare;

		if (!f->is_number && f->text == NULL)
			continue;
		strlcpy(text, f->text == NULL ? "" : f->text, sizeof(text));
		clean(text);
		bare = !json && text[0] != '\0' &&
		    text[strcspn(text, " \"\\=]")] == '\0';
		if (json)
			put(l, ",\"%s\":", f->name);
		else
			put(l, "%s%s=", before, f->name);
		if (f->is_number)
			put(l, "%lld", (long long)f->number);
		else if (bare)
			put(l, "%s", text);
		else {
			put(l, "\"");
			put_escaped(l, text);
			put(l, "\"");
		}
		if (l->full || l->n + 3 > sizeof(l->text)) {
			l->n = n;
			l->full = false;
		} else
			before = " ";
	}
	if (!json && before[1] == '\0')
		put(l, "]");
}

static int
patience(void)
{
	return lost.untold > 0 ? 0 : PATIENCE_MS;
}

/* A new system's log has a new socket: connect again, at once. */
static int
to_syslog(const struct line *l)
{
	for (int tries = 0; tries < 2; tries++) {
		if (out.to.fd < 0 && (out.to.fd = syslog_socket_open(out.syslog,
		    &out.stream)) < 0)
			return -1;
		if (line_output_write(&out.to, l->text, l->n +
		    (out.stream ? 1 : 0), patience()) == 0)
			return 0;
		if (errno == EAGAIN)
			return -1;
		line_output_forget(&out.to);
		close(out.to.fd);
		out.to.fd = -1;
	}
	return -1;
}

static int
to_output(enum log_level level, const struct log_field *fields,
    const char *text)
{
	struct line	l = { .n = 0 };
	char		time[40];

	if (out.syslog != NULL) {
		l.n = syslog_socket_head(l.text, sizeof(l.text),
		    priorities[level]);
		put(&l, "%s: %s", out.role, text);
		put_fields(&l, fields, false);
		l.text[l.n] = '\0';
		return to_syslog(&l);
	}
	if (out.journal)
		put(&l, "<%d>", priorities[level]);
	put_log_time(time, sizeof(time));
	if (out.json) {
		put(&l, "{\"ts\":\"%s\",\"level\":\"%s\",\"role\":\"%s\","
		    "\"pid\":%d", time, names[level], out.role,
		    (int)getpid());
		if (out.worker >= 0)
			put(&l, ",\"worker\":%d", out.worker);
		put(&l, ",\"msg\":\"");
		put_escaped(&l, text);
		put(&l, "\"");
		put_fields(&l, fields, true);
		put(&l, "}\n");
	} else {
		put(&l, "%s %s %s[%d]: %s", time, names[level], out.role,
		    (int)getpid(), text);
		put_fields(&l, fields, false);
		put(&l, "\n");
	}
	return line_output_write(&out.to, l.text, l.n, patience());
}

static int
tell_lost(void)
{
	char		since[40], text[200];
	struct tm	tm;

	gmtime_r(&lost.since, &tm);
	strftime(since, sizeof(since), "%Y-%m-%dT%H:%M:%SZ", &tm);
	snprintf(text, sizeof(text), "%llu line%s lost since %s: the log could "
	    "not be written: %s", (unsigned long long)lost.untold,
	    lost.untold == 1 ? "" : "s", since, strerror(lost.error));
	if (to_output(LOG_LVL_WARN, LOG_FIELDS(LOG_NUMBER("lost",
	    lost.untold), LOG_TEXT("error_class", "log")), text) < 0)
		return -1;
	lost.untold = 0;
	return 0;
}

static void
vlog(enum log_level level, const struct log_field *fields, const char *fmt,
    va_list ap)
{
	char	text[TEXT_MAX_BYTES];
	int	saved = errno;

	vsnprintf(text, sizeof(text), fmt, ap);
	clean(text);
	if (out.tell != NULL)
		out.tell(out.tell_arg, level, text);
	else if ((lost.untold == 0 || tell_lost() == 0) &&
	    to_output(level, fields, text) == 0)
		lost.all += lost.misplaced;
	else {
		lost.error = errno;
		if (lost.untold++ == 0)
			lost.since = time(NULL);
		lost.all++;
	}
	errno = saved;
}

bool
log_has(enum log_level level)
{
	return level <= out.level;
}

uint64_t
log_lost(void)
{
	return lost.all;
}

bool
log_works(void)
{
	return lost.untold == 0 && !lost.misplaced;
}

void
log_retry(void)
{
	int		saved = errno;
	struct err	e;

	if (lost.misplaced && lost.tried_at != time(NULL)) {
		lost.tried_at = time(NULL);
		if (log_reopen(&e) == 0)
			log_warn("the log is open again: the lines since it "
			    "could not be opened are in the former file");
	}
	if (lost.untold > 0 && out.tell == NULL)
		tell_lost();
	errno = saved;
}

void
log_event(enum log_level level, const struct log_field *fields,
    const char *fmt, ...)
{
	va_list	ap;

	if (!log_has(level))
		return;
	va_start(ap, fmt);
	vlog(level, fields, fmt, ap);
	va_end(ap);
}

void
log_head(const struct log_field *fields, const char *fmt, ...)
{
	va_list	ap;

	va_start(ap, fmt);
	vlog(LOG_LVL_INFO, fields, fmt, ap);
	va_end(ap);
}

#define DEFINE_LOG(name, level)						\
void									\
name(const char *fmt, ...)						\
{									\
	va_list	ap;							\
									\
	if (!log_has(level))						\
		return;							\
	va_start(ap, fmt);						\
	vlog(level, NULL, fmt, ap);					\
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
	vlog(LOG_LVL_ERROR, NULL, fmt, ap);
	va_end(ap);
	exit(code);
}

void
panic(const char *fmt, ...)
{
	va_list	ap;

	va_start(ap, fmt);
	vlog(LOG_LVL_ERROR, NULL, fmt, ap);
	va_end(ap);
	abort();
}
