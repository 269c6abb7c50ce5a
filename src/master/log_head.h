/* log_head.h - the first line of a log file: version and settings */
#ifndef OUTBOX_LOG_HEAD_H
#define OUTBOX_LOG_HEAD_H

#include <stdint.h>

#include "conf/conf.h"

/*
 * Log the text with the version, the configuration file, its generation and
 * what matters of its settings; no secret.  At every log level.
 */
void	log_head_write(const char *text, const struct conf *, const char *path,
	    uint32_t generation);

#endif
