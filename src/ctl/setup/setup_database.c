/* setup_database.c - database, tables, account, partition count */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl/schema/schema.h"
#include "ctl/setup/setup.h"
#include "mysql/db.h"
#include "util/secret.h"
#include "util/xalloc.h"

#define ADMIN_WAIT_MS	60000	/* CREATE TABLE waits for locks */

static void
close_admin(struct setup *s)
{
	store_free(s->admin.store);
	conf_free(s->admin.conf);
	s->admin.store = NULL;
	s->admin.conf = NULL;
}

/* Log in as the administrator, to this database.  -1: see err. */
static int
open_admin(struct setup *s, const char *database, struct err *e)
{
	struct conf	*conf;

	close_admin(s);
	s->admin.conf = conf = conf_load(s->ctl->path, NULL, e);
	if (conf == NULL)
		return -1;
	ctl_use_admin(s->ctl, conf);
	free(conf->mysql.database);
	conf->mysql.database = xstrdup(database);
	s->admin.store = store_new(conf, "outboxctl", ADMIN_WAIT_MS);
	return store_open(s->admin.store, e);
}

static int
make_database(struct setup *s, struct err *e)
{
	const char	*name = s->ctl->conf->mysql.database;
	struct store	*st = s->admin.store;
	struct buf	 sql = { 0 };
	bool		 exists;

	store_sql(st, "SELECT 1 FROM information_schema.schemata "
	    "WHERE schema_name = :name", SQL_TEXT("name", name));
	if (store_query_any(st, "setup", &exists, e) < 0)
		return -1;
	buf_str(&sql, "CREATE DATABASE IF NOT EXISTS ");
	db_name(&sql, name);
	buf_str(&sql, " CHARACTER SET utf8mb4;");
	if (setup_run_sql(s, &sql, e) < 0 || open_admin(s, name, e) < 0)
		return -1;
	setup_step(s, "database", "%s %s", name, exists ? "exists" :
	    "created");
	return 0;
}

static int
count_tables(struct setup *s, uint64_t *n, struct err *e)
{
	struct store	*st = s->admin.store;
	const char	*tables[NTABLES];

	for (enum store_table t = 0; t < NTABLES; t++)
		tables[t] = store_table_name(st, t);
	store_sql(st, "SELECT COUNT(*) FROM information_schema.tables "
	    "WHERE table_schema = DATABASE() AND table_name IN (:tables)",
	    SQL_LABELS("tables", tables, NTABLES));
	return store_query_number(st, "setup", n, e);
}

/* Without a partition count producers cannot enqueue. */
static int
make_tables(struct setup *s, struct err *e)
{
	unsigned	partitions =
			    (unsigned)s->ctl->conf->outbox.partition_count;
	struct buf	sql = { 0 };
	uint64_t	before, after;

	if (count_tables(s, &before, e) < 0 ||
	    schema_render(s->ctl->conf, &sql, e) < 0 ||
	    setup_run_sql(s, &sql, e) < 0 || count_tables(s, &after, e) < 0 ||
	    store_learn(s->admin.store, e) < 0 ||
	    store_settings(s->admin.store, &partitions, e) < 0) {
		buf_free(&sql);
		return -1;
	}
	if (after > before)
		setup_step(s, "tables", "%s created, %u partitions",
		    COUNTED(after - before, "table"), partitions);
	else
		setup_step(s, "tables", "exist, %u partitions; outboxctl "
		    "schema check compares them", partitions);
	return 0;
}

/*
 * The account with its rights.  One that exists has a password, which only a
 * file can tell us.
 */
static int
make_account(struct setup *s, struct err *e)
{
	const struct conf	*conf = s->ctl->conf;
	struct buf		 grants = { 0 };
	char			*password;
	bool			 exists, made;
	int			 rc;

	if (setup_has_account(s, s->account, &exists, e) < 0)
		return -1;
	if (exists && !s->ctl->args.new_password &&
	    conf->mysql.password_file[0] != '\0' &&
	    access(conf->mysql.password_file, F_OK) < 0)
		return setup_no_password(s->account,
		    conf->mysql.password_file, e);
	if ((password = setup_password(conf, &made, e)) == NULL)
		return -1;
	rc = setup_make_account(s, s->account, exists, password, e);
	secret_free(password);
	if (rc < 0)
		return -1;
	if (made)
		setup_step(s, "password", "%s written",
		    conf->mysql.password_file);
	setup_step(s, "account", "%s %s", s->account, !exists ? "created" :
	    s->ctl->args.new_password ? "has a new password" : "exists");
	if (setup_put_grants(s, &grants, e) < 0) {
		buf_free(&grants);
		return -1;
	}
	return setup_run_sql(s, &grants, e);
}

static int
note_setup(struct ctl *c, void *arg, struct err *e)
{
	(void)arg;
	return audit_note(c, 1, e);
}

/* Can the daemon log in and see its tables? */
static int
log_in_as_daemon(struct setup *s, struct err *e)
{
	struct store	*st = store_new(s->ctl->conf, "outboxctl",
			    ADMIN_WAIT_MS);
	int		 rc = store_open(st, e) < 0 ||
			    store_learn(st, e) < 0 ? -1 : 0;

	store_free(st);
	return rc;
}

static int
create_all(struct setup *s, struct err *e)
{
	struct err	why;
	bool		denied;

	if (make_database(s, e) < 0 || make_tables(s, e) < 0 ||
	    setup_choose_login(s, e) < 0 || make_account(s, e) < 0 ||
	    setup_operator(s, e) < 0 ||
	    fan_out_register(&s->admin, e) < 0 ||
	    ctl_transaction(&s->admin, note_setup, NULL, e) < 0)
		return -1;
	if (log_in_as_daemon(s, &why) < 0) {
		/* It may have another password than the configuration. */
		denied = strstr(why.text, "(1045)") != NULL;
		return err_set(e, "the account %s exists, but cannot be used "
		    "with %s: %s%s", s->account, s->ctl->path, why.text,
		    denied ? ": outboxctl setup --new-password gives it the "
		    "password of the configuration" : "");
	}
	setup_step(s, "login", "%s can read and write the tables", s->account);
	return setup_binlog(s, e);
}

/* There is no administrator's login: is everything there already? */
static int
do_without_admin(struct setup *s)
{
	struct err	 e;
	char		*remedy;

	if (!s->ctl->args.follow_binlog && log_in_as_daemon(s, &e) == 0) {
		setup_step(s, "database", "%s is ready: %s can use it",
		    s->ctl->conf->mysql.database, s->account);
		return CTL_DONE;
	}
	setup_print_sql(s);
	remedy = xasprintf("%sgive --admin USER --admin-password-file FILE%s; "
	    "or have the statements above run, and repeat setup%s",
	    geteuid() == 0 ? "" : "run setup as root, or ",
	    s->ctl->conf->mysql.socket[0] != '\0' ? "" : ", or the socket of "
	    "a server on this host as mysql.socket",
	    s->ctl->args.follow_binlog ? " without --follow-binlog" : "");
	ctl_refuse(remedy, "the administrator cannot log in: %s",
	    s->no_admin.text);
	free(remedy);
	return CTL_FAILED;
}

int
setup_database(struct setup *s)
{
	struct err	e;

	if (open_admin(s, "", &s->no_admin) < 0) {
		if (s->admin.store != NULL &&
		    store_fault(s->admin.store) != DB_WRONG)
			return ctl_fail(&s->admin, &s->no_admin);
		close_admin(s);
		return do_without_admin(s);
	}
	if (create_all(s, &e) == 0)
		return CTL_DONE;
	return ctl_fail(&s->admin, &e);
}
