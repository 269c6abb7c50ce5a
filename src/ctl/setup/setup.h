/*
 * setup.h - shared by the steps of setup
 *
 * A step creates what is missing and reports it with setup_step(); what exists
 * stays as it is, so setup can be repeated.  Each returns an exit status, with
 * its error printed, and may block on a server.
 */
#ifndef OUTBOXCTL_SETUP_H
#define OUTBOXCTL_SETUP_H

#include "ctl/base/ctl.h"
#include "driver/pub.h"
#include "util/buf.h"

struct setup {
	struct ctl	*ctl;
	struct ctl	 admin;		/* logged in as the administrator; its
					   store is NULL if that failed */
	struct err	 no_admin;	/* why it failed */
	struct pub	 bus;
	char		*account;	/* 'outbox'@'localhost', as SQL */
	char		*operator;	/* the one of outboxctl, as SQL */
	char		*topic;		/* of Kafka, for the event; or NULL */
	json_t		*steps;
	bool		 clear;		/* passwords are sent as they are */
	bool		 require_tls;	/* of accounts of other hosts */
};

/*
 * setup_step.c: report a finished step, as a line or with --json as an object
 * of the list that is printed at the end.
 */
void	setup_step(struct setup *, const char *what, const char *, ...)
	    __attribute__((format(printf, 3, 4)));

/*
 * An existing stream or topic may have other settings: can the daemon use it?
 * Its findings, of which a failure is an error.
 */
int	setup_judge(struct setup *, const char *what, const char *name,
	    const json_t *findings);

/* setup_database.c */
int	setup_database(struct setup *);

/* setup_account.c */

/* Run and wipe statements as the administrator. */
int	setup_run_sql(struct setup *, struct buf *, struct err *);

/* Is there this account?  -1: see err. */
int	setup_has_account(struct setup *, const char *account, bool *,
	    struct err *);

/* The account of this user on the daemon's host, as SQL; the caller frees. */
char	*setup_account_name(const struct ctl *, const char *user);

/*
 * The password of the account.  A missing mysql.password_file is made, with a
 * random password; *made says so.  The caller frees it with secret_free().
 * NULL: see err.
 */
char	*setup_password(const struct conf *, bool *made, struct err *);

/* The same for a file that only its owner may read. */
char	*setup_own_password(const char *path, bool *made, struct err *);

/* Are the accounts for logins from other hosts? */
bool	setup_is_remote(const struct ctl *);

/*
 * CREATE USER, and with --new-password ALTER USER, with the password as a hash.
 * Without an administrator's login for both servers.  With clear it is as it
 * is: wipe it after use.
 */
void	setup_put_account(const struct setup *, const char *account,
	    const char *password, struct buf *);

/* Set clear and require_tls by what the administrator's server can do. */
int	setup_choose_login(struct setup *, struct err *);

/* The error that it exists, and its password is nowhere. */
int	setup_no_password(const char *account, const char *path,
	    struct err *);

/*
 * Create it, if it does not exist, or with --new-password give it this one, and
 * say if it may log in from other hosts without TLS.  Asks where only clear text
 * is possible; see --clear-password.
 */
int	setup_make_account(struct setup *, const char *account, bool exists,
	    const char *password, struct err *);

/* The GRANTs of the daemon's account, and of the operator's. */
int	setup_put_grants(const struct setup *, struct buf *, struct err *);
int	setup_put_operator_grants(const struct setup *, struct buf *,
	    struct err *);

/*
 * setup_binlog.c: with --follow-binlog grant the right to follow it; else say
 * whether the account has it.
 */
int	setup_binlog(struct setup *, struct err *);

/* setup_sql.c: print what an administrator of the database has to run */
int	setup_print_sql(struct setup *);

/*
 * setup_operator.c: the account that outboxctl makes changes with, its file
 * and its keys in the configuration.  The names; the caller frees the path,
 * which is NULL if mysql.password_file says no directory.
 */
const char *setup_operator_user(const struct conf *);
char	*setup_operator_path(const struct conf *);

/* Create it as the administrator, who is logged in. */
int	setup_operator(struct setup *, struct err *);

/*
 * setup_stream.c: nothing, if the messages go to no stream.  The second prints
 * how one would be made, and asks no broker.
 */
int	setup_print_stream(struct setup *);
int	setup_stream(struct setup *);

/* The same for the topic of Kafka (setup_topic.c), and its name; or NULL. */
int	setup_print_topic(struct setup *);
int	setup_topic(struct setup *);
char	*setup_topic_name(const struct ctl *);

/* setup_event.c: send an event, and see it in the stream */
#define SETUP_TYPE	"outbox.setup"
int	setup_event(struct setup *);

/* Does a worker run, on any host?  The administrator is logged in. */
int	setup_has_daemon(struct setup *, bool *, struct err *);

#endif
