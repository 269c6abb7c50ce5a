/* log_head.h - a log is opened, and its first line has version and settings */
#ifndef OUTBOX_LOG_HEAD_H
#define OUTBOX_LOG_HEAD_H

#include <stdint.h>

#include "conf/conf.h"

/* Open the log as configured, at the start and after a reload. */
int	log_head_open(const struct conf *, bool to_syslog, struct err *);

/*
 * Log the text with the version, the configuration file, its generation and
 * what matters of its settings; no secret.  At every log level.
 */
void	log_head_write(const char *text, const struct conf *, const char *path,
	    uint32_t generation);

/* Log what is not safe in the configuration; reads its secrets. */
void	log_head_warn(const struct conf *);

#endif
