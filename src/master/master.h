/* master.h - forks, waits, reaps, reloads, stops; nothing else */
#ifndef OUTBOX_MASTER_H
#define OUTBOX_MASTER_H

#include <stdint.h>

#include "conf/conf.h"
#include "worker/report.h"

/* Arguments of master_new; all are borrowed. */
struct master_args {
	const char			*conf_path;	/* for SIGHUP */
	const struct conf_override	*override;
	struct report_form		 report;
	int64_t				 interval_ms;
	const char			*run_prefix;	/* "/run/outbox/outbox-master" */
	bool				 log_to_syslog;	/* -d with log.target stderr */
};

struct master;

/*
 * Open the scoreboard and the list of workers.  The caller holds the lock of
 * the pid file.  Takes ownership of the configuration; on error returns NULL,
 * and the caller keeps it.
 */
struct master	*master_new(const struct master_args *, struct conf *,
		    struct err *);

/*
 * Run until stopped; signals must be blocked (sig_init).  Frees the master and
 * its configuration.  Returns the exit status.
 */
int		 master_run(struct master *);

#endif
