/*
 * doctor.h - the checks of doctor, a file for each subject
 *
 * A check prints at least one line and changes nothing.  It blocks on the
 * server it checks, but holds no locks that delay a daemon.
 */
#ifndef OUTBOXCTL_DOCTOR_H
#define OUTBOXCTL_DOCTOR_H

#include "ctl/base/ctl.h"
#include "driver/pub.h"
#include "mysql/server.h"

/*
 * Checks say advice of what works and could be better, and fail of what needs a
 * person; warn is for problems that are not critical.
 */
enum doctor_level { DOCTOR_OK, DOCTOR_ADVICE, DOCTOR_WARN, DOCTOR_FAIL };

struct doctor {
	struct ctl		*ctl;
	struct pub		 bus;
	json_t			*lines;
	enum doctor_level	 worst;
	struct server		 server;	/* in use */
	struct err		 away;		/* why not connected or learned */
	int			 status;	/* of the problems */
	bool			 connected;	/* to the database */
	bool			 learned;	/* store_learn succeeded */
};

/*
 * doctor_say.c: print "level  what: text"; the text ends with the remedy.  On a
 * terminal the line has a colour and is broken at blanks, and the remedy of a
 * problem is a line of its own, to be copied.
 */
void	doctor_say(struct doctor *, enum doctor_level, const char *what,
	    const char *, ...) __attribute__((format(printf, 4, 5)));
void	doctor_say_problem(struct doctor *, enum doctor_level,
	    const json_t *problem);

/* Send the prepared statement; NULL: the error was printed. */
struct db_rows *doctor_query(struct doctor *, const char *what);

/* doctor_kafka.c */
void	doctor_kafka(struct doctor *);

/* doctor_local.c */
void	doctor_secrets(struct doctor *);
void	doctor_run_directory(struct doctor *);
void	doctor_sandbox(struct doctor *);

/* doctor_db.c; all but the first need a connection */
void	doctor_connect(struct doctor *);
void	doctor_server(struct doctor *);
void	doctor_tables(struct doctor *);

/* doctor_hosts.c; all but the second need a connection, doctor_order the tables */
void	doctor_cluster(struct doctor *);
void	doctor_hosts(struct doctor *);
void	doctor_clock(struct doctor *);
void	doctor_order(struct doctor *);

/* doctor_binlog.c; needs a connection */
void	doctor_binlog(struct doctor *);

/* doctor_settings.c; needs the tables */
void	doctor_settings(struct doctor *);

/* doctor_types.c; needs the tables */
void	doctor_types(struct doctor *);

/* doctor_plans.c; needs the tables */
void	doctor_plans(struct doctor *);

/* doctor_bus.c */
void	doctor_broker(struct doctor *);

/* doctor_store.c; for the URL of a server of this host */
void	doctor_store(struct doctor *, const char *server);

/* doctor_problems.c: the problems that status shows, too; after all others */
void	doctor_problems(struct doctor *);

#endif
