/*
 * log.h - log lines and their levels
 *
 * error: the operator must act.  warn: the daemon recovered, or will.  info:
 * a state changed; one line.  debug: the rest.  No level logs each row.
 */
#ifndef OUTBOX_LOG_H
#define OUTBOX_LOG_H

#include <stdbool.h>

#include "util/err.h"

enum log_level { LOG_LVL_ERROR, LOG_LVL_WARN, LOG_LVL_INFO, LOG_LVL_DEBUG };

/* The prefix of each line: "master", "worker 2".  Copied.  Set after fork. */
void	log_role(const char *);

/*
 * Where lines go: "stderr", "syslog" or the path of a file, which is created
 * with mode 0640 and appended to.  Returns -1 and keeps the old target if the
 * file cannot be opened.  Before the first call lines go to stderr.
 */
int	log_open(const char *target, enum log_level, bool json, struct err *);

/*
 * Pass lines up to this level to a function, without time and role, instead of
 * writing them.  NULL: write them again.
 */
void	log_to(void (*)(void *, enum log_level, const char *text), void *,
	    enum log_level);

/* Open the file again, after rotation.  -1: the old one stays in use. */
int	log_reopen(struct err *);

void	log_error(const char *, ...) __attribute__((format(printf, 1, 2)));
void	log_warn(const char *, ...) __attribute__((format(printf, 1, 2)));
void	log_info(const char *, ...) __attribute__((format(printf, 1, 2)));
void	log_debug(const char *, ...) __attribute__((format(printf, 1, 2)));

/* For the operator's mistakes: log it and exit with the given code. */
void	fatal(int code, const char *, ...)
	    __attribute__((noreturn, format(printf, 2, 3)));

/* For a bug of the program: log it and abort. */
void	panic(const char *, ...)
	    __attribute__((noreturn, format(printf, 1, 2)));

#endif
