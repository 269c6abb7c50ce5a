/*
 * log.h - one line for whoever reads the log
 *
 * error: someone must act.  warn: it healed or will.  info: a state changed,
 * once.  debug: the rest.  Never one line per row.
 */
#ifndef OUTBOX_LOG_H
#define OUTBOX_LOG_H

#include <stdbool.h>

#include "util/err.h"

enum log_level { LOG_LVL_ERROR, LOG_LVL_WARN, LOG_LVL_INFO, LOG_LVL_DEBUG };

/* "master", "worker 2": stands before every line; copied.  Set after fork. */
void	log_role(const char *);

/*
 * Where lines go: "stderr", "syslog" or a file, which is created with mode
 * 0640 and appended to.  Returns -1 and leaves the old target in place when
 * the file cannot be opened.  Before the first call lines go to stderr.
 */
int	log_open(const char *target, enum log_level, bool json, struct err *);

/*
 * Lines up to that level go to a function instead, without time and role.
 * NULL: as before.
 */
void	log_to(void (*)(void *, enum log_level, const char *text), void *,
	    enum log_level);

/* Open the file again under its name, after rotation. */
int	log_reopen(struct err *);

void	log_error(const char *, ...) __attribute__((format(printf, 1, 2)));
void	log_warn(const char *, ...) __attribute__((format(printf, 1, 2)));
void	log_info(const char *, ...) __attribute__((format(printf, 1, 2)));
void	log_debug(const char *, ...) __attribute__((format(printf, 1, 2)));

/* The operator's problem: log it and exit with the given code. */
void	fatal(int code, const char *, ...)
	    __attribute__((noreturn, format(printf, 2, 3)));

/* Our own bug: log it and abort. */
void	panic(const char *, ...)
	    __attribute__((noreturn, format(printf, 1, 2)));

#endif
