/*
 * doctor.h - the checks of doctor, each in the file of what it looks at
 *
 * A check says at least one line.  None changes anything or stays for long in
 * the way of a daemon.
 */
#ifndef OUTBOXCTL_DOCTOR_H
#define OUTBOXCTL_DOCTOR_H

#include "ctl/base/ctl.h"
#include "nats/pub.h"

enum doctor_level { DOCTOR_OK, DOCTOR_WARN, DOCTOR_FAIL };

struct doctor {
	struct ctl		*ctl;
	struct pub		 bus;
	json_t			*lines;
	enum doctor_level	 worst;
	bool			 connected;	/* to the database */
	bool			 learned;	/* store_learn went well */
};

/*
 * doctor_say.c: "level  what: text"; the text names the remedy where there is
 * one.
 */
void	doctor_say(struct doctor *, enum doctor_level, const char *what,
	    const char *, ...) __attribute__((format(printf, 4, 5)));

/* Send the statement that was begun; NULL: that was said. */
struct db_rows *doctor_query(struct doctor *, const char *what);

/* doctor_local.c */
void	doctor_secrets(struct doctor *);
void	doctor_run_directory(struct doctor *);
void	doctor_daemon(struct doctor *);

/* doctor_db.c; all but the first need a connection */
void	doctor_connect(struct doctor *);
void	doctor_server(struct doctor *);
void	doctor_clock(struct doctor *);
void	doctor_tables(struct doctor *);
void	doctor_early(struct doctor *);		/* needs the columns, too */
void	doctor_phantoms(struct doctor *);
void	doctor_grants(struct doctor *);

/* doctor_settings.c; needs the tables */
void	doctor_settings(struct doctor *);

/* doctor_plans.c; needs the tables */
void	doctor_plans(struct doctor *);

/* doctor_bus.c */
void	doctor_broker(struct doctor *);

#endif
