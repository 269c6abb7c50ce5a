/* master.h - forks, waits, reaps, reloads, stops; nothing else */
#ifndef OUTBOX_MASTER_H
#define OUTBOX_MASTER_H

#include <stdint.h>

#include "board.h"
#include "conf.h"
#include "report.h"

/* What the master is born with; borrowed. */
struct master_args {
	const char			*conf_path;	/* for SIGHUP */
	const struct conf_override	*override;
	struct report_form		 report;	/* fd is not used */
	int64_t				 interval_ms;
	const char			*run_prefix;	/* "/run/outbox/outbox-master" */
	bool				 log_to_syslog;	/* -d with log.target stderr */
};

/*
 * Run until stopped; takes the configuration over.  Call with the pid file
 * locked and signals blocked (sig_init).  Returns the exit status.
 */
int	master_main(const struct master_args *, struct conf *);

/* Set up the log as the configuration says; also after a reload. */
int	master_open_log(const struct conf *, bool to_syslog, struct err *);

#endif
