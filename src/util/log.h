/*
 * log.h - log lines, their levels and their fields
 *
 * error: the operator must act.  warn: the daemon recovered, or will.  info:
 * a state changed; one line.  debug: the rest.  No level logs each row.  A line
 * has neither a payload nor a secret.
 *
 * No call blocks for long or fails: a line that cannot be written is lost and
 * counted.  When the log can be written again, the first line tells how many
 * were lost.
 */
#ifndef OUTBOX_LOG_H
#define OUTBOX_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "util/err.h"

enum log_level { LOG_LVL_ERROR, LOG_LVL_WARN, LOG_LVL_INFO, LOG_LVL_DEBUG };

/*
 * A field is a name with a text or a number: a member of the object in JSON,
 * name=value in brackets at the end of a text.  A field with the text NULL is
 * left out.  A text may have any bytes; rows show theirs by printable_text().
 * The same thing has the same name everywhere: see LOG in outbox-master(8).
 */
struct log_field {
	const char	*name;
	const char	*text;
	int64_t		 number;
	bool		 is_number;
};

#define LOG_TEXT(name, text)	{ (name), (text), 0, false }
#define LOG_NUMBER(name, n)	{ (name), NULL, (int64_t)(n), true }
#define LOG_FIELDS(...)							\
	((const struct log_field[]){ __VA_ARGS__, { NULL, NULL, 0, false } })

/*
 * The prefix of each line: "master", "worker 2".  Copied.  Set after fork: a
 * child counts its own lost lines.
 */
void	log_role(const char *);

/* The same for a worker, whose number is a field of each JSON line, too. */
void	log_worker(unsigned number);

/*
 * Where lines go: "stderr", "syslog" or the path of a file, which is created
 * with mode 0640 and appended to.  "syslog:PATH" is a socket in place of
 * /dev/log.  Returns -1 and keeps the old target if the file cannot be opened.
 * Before the first call lines go to stderr.
 */
int	log_open(const char *target, enum log_level, bool json, struct err *);

/*
 * Open stderr a second time, so as not to block, if it is a pipe or a terminal:
 * see line_output_own().  log_open() does that; call this before if it must be
 * done as root.  Not for a process that detaches: its stderr would stay open.
 */
void	log_keep_stderr(void);

/*
 * Pass lines up to this level to a function, without time and role, instead of
 * writing them.  NULL: write them again.
 */
void	log_to(void (*)(void *, enum log_level, const char *text), void *,
	    enum log_level);

/*
 * Open the file again, after rotation.  -1: the old one stays in use, its lines
 * count as lost, and log_retry() tries again.
 */
int	log_reopen(struct err *);

/* Connect to the system's log now, and not with the first line; is it that? */
void	log_connect(void);
bool	log_is_syslog(void);

/*
 * How often the log was opened: a process that was forked earlier has the one
 * before.
 */
unsigned	log_opens(void);

/* The lines of this process that were lost since its start. */
uint64_t log_lost(void);

/*
 * False from a line that was lost until one could be written again, and while
 * the file cannot be opened again.
 */
bool	log_works(void);

/*
 * Tell of lost lines now, if the log can be written again, or open the file
 * again, if that failed; else nothing.
 */
void	log_retry(void);

/* Are lines of this level logged?  To save the work for those that are not. */
bool	log_has(enum log_level);

void	log_error(const char *, ...) __attribute__((format(printf, 1, 2)));
void	log_warn(const char *, ...) __attribute__((format(printf, 1, 2)));
void	log_info(const char *, ...) __attribute__((format(printf, 1, 2)));
void	log_debug(const char *, ...) __attribute__((format(printf, 1, 2)));

/* A line with fields; LOG_FIELDS() makes their list.  NULL: no fields. */
void	log_event(enum log_level, const struct log_field *, const char *, ...)
	    __attribute__((format(printf, 3, 4)));

/* The first line of a log file: of level info, and logged at every level. */
void	log_head(const struct log_field *, const char *, ...)
	    __attribute__((format(printf, 2, 3)));

/* For the operator's mistakes: log it and exit with the given code. */
void	fatal(int code, const char *, ...)
	    __attribute__((noreturn, format(printf, 2, 3)));

/* For a bug of the program: log it and abort. */
void	panic(const char *, ...)
	    __attribute__((noreturn, format(printf, 1, 2)));

#endif
