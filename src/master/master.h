/* master.h - forks, waits, reaps, reloads, stops; nothing else */
#ifndef OUTBOX_MASTER_H
#define OUTBOX_MASTER_H

#include <stdint.h>

#include "ipc/board.h"
#include "conf/conf.h"
#include "worker/report.h"

/* What the master is born with; borrowed. */
struct master_args {
	const char			*conf_path;	/* for SIGHUP */
	const struct conf_override	*override;
	struct report_form		 report;	/* fd is not used */
	int64_t				 interval_ms;
	const char			*run_prefix;	/* "/run/outbox/outbox-master" */
	bool				 log_to_syslog;	/* -d with log.target stderr */
};

struct master;

/*
 * Open what a master needs beside the pid file, whose lock must be held:
 * board, list of workers, report socket.  Takes the configuration over; on
 * an error returns NULL and the configuration stays the caller's.
 */
struct master	*master_new(const struct master_args *, struct conf *,
		    struct err *);

/*
 * Run until stopped, with signals blocked (sig_init); frees the master and
 * its configuration.  Returns the exit status.
 */
int		 master_run(struct master *);

/* Set up the log as the configuration says; also after a reload. */
int		 master_open_log(const struct conf *, bool to_syslog,
		    struct err *);

#endif
