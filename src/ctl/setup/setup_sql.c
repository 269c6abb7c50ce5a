/*
 * setup_sql.c - what administrators have to run in place of setup
 *
 * It is made to be pasted, so it must not run before the passwords are filled
 * in: their places are no SQL, and stand before the GRANTs in one session,
 * which the client ends at its first error.
 */

#include <stdio.h>
#include <stdlib.h>

#include "ctl/setup/setup.h"

/* The right to follow the binlog: a comment, unless it was asked for. */
static void
put_binlog_grant(const struct setup *s, struct buf *to)
{
	if (!s->ctl->args.follow_binlog)
		buf_str(to, "-- Only if the daemon shall follow the binlog: it "
		    "can then read all changes\n-- of all databases of the "
		    "server.\n-- ");
	/* MariaDB, which needs the first right only, skips this comment. */
	buf_printf(to, "GRANT REPLICATION SLAVE /*!80000 , REPLICATION CLIENT "
	    "*/ ON *.* TO %s;\n", s->account);
}

/* Its user reads the password in this file or else in this variable. */
static void
put_account(const char *account, const char *file, const char *env,
    struct buf *to)
{
	buf_printf(to, "CREATE USER IF NOT EXISTS %s IDENTIFIED BY\n"
	    "    <PASSWORD>; -- in quotes; without them it belongs into ",
	    account);
	if (file[0] != '\0')
		buf_printf(to, "%s\n", file);
	else if (env[0] != '\0')
		buf_printf(to, "$%s\n", env);
	else
		buf_str(to, "a file, to be named in mysql.operator\n");
}

static void
put_accounts(const struct setup *s, struct buf *to)
{
	const struct conf	*conf = s->ctl->conf;
	char			*path = setup_operator_path(conf);

	put_account(s->account, conf->mysql.password_file,
	    conf->mysql.password_env, to);
	put_account(s->operator, path == NULL ? "" : path,
	    conf->mysql.operator.password_env, to);
	free(path);
}

static void
print_block(const struct setup *s, const char *grants)
{
	const char	*database = s->ctl->conf->mysql.database;
	struct buf	 accounts = { 0 };

	put_accounts(s, &accounts);
	printf("An administrator of the database has to run this, with a "
	    "password in each place\nof <PASSWORD>:\n\n"
	    "    mariadb <<'SQL'\n"
	    "CREATE DATABASE IF NOT EXISTS `%s` CHARACTER SET utf8mb4;\nSQL\n"
	    "    outboxctl -c %s schema print | mariadb %s\n"
	    "    mariadb %s <<'SQL'\n%s%sSQL\n\n", database, s->ctl->path,
	    database, database, accounts.data, grants);
	buf_free(&accounts);
}

int
setup_print_sql(const struct setup *s)
{
	struct buf	grants = { 0 };
	struct err	e;

	if (setup_put_grants(s, &grants, &e) < 0 ||
	    setup_put_operator_grants(s, &grants, &e) < 0) {
		buf_free(&grants);
		return ctl_error("%s", e.text);
	}
	put_binlog_grant(s, &grants);
	if (!s->ctl->args.json)
		print_block(s, grants.data);
	else
		json_array_append_new(s->steps, json_pack("{s:s, s:s}",
		    "what", "grants", "text", grants.data));
	buf_free(&grants);
	fflush(stdout);		/* an error may say "above" */
	return CTL_DONE;
}
