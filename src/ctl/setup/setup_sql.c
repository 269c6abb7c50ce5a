/*
 * setup_sql.c - what administrators have to run in place of setup
 *
 * It is made to be pasted, and kept by binlogs and logs, so it has hashes of
 * the passwords.  The place of one that is missing is no SQL, and stands before
 * the GRANTs in one session, which the client ends at its first error.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/setup/setup.h"
#include "mysql/db.h"
#include "util/display.h"
#include "util/secret.h"
#include "util/xalloc.h"

/*
 * The account with the hash of its password, which its user reads in this file
 * or else in this variable.  Without a password the statement is no SQL.
 */
static void
put_account(const struct setup *s, const char *account, const char *file,
    const char *env, struct buf *to)
{
	struct err	 e;
	char		*password = file[0] == '\0' && env[0] == '\0' ? NULL :
			    secret_read(file, env, &e);
	char		*where = xasprintf("%s%s", file[0] != '\0' ? "" : "$",
			    file[0] != '\0' ? file : env);

	display_clean(where);
	if (password != NULL)
		setup_put_account(s, account, password, to);
	else
		buf_printf(to, "CREATE USER IF NOT EXISTS %s IDENTIFIED\n"
		    "    <HASH>%s; -- write a password into %s: then this\n"
		    "    -- command prints its hash here\n", account,
		    s->require_tls ? " REQUIRE SSL" : "",
		    where[1] == '\0' ? "a file, named in mysql.operator" :
		    where);
	free(where);
	secret_free(password);
}

static void
print_block(const struct setup *s, const char *grants)
{
	const struct conf	*c = s->ctl->conf;
	const char	*name = c->mysql.database;
	char		*file = setup_operator_path(c);
	struct buf	 sql = { 0 }, create = { 0 }, database = { 0 };
	struct buf	 path = { 0 }, mark = { 0 };
	bool		 in_file = conf_variable("mysql.database") == NULL;

	put_account(s, s->account, c->mysql.password_file,
	    c->mysql.password_env, &sql);
	put_account(s, s->operator, file == NULL ? "" : file,
	    c->mysql.operator.password_env, &sql);
	buf_str(&sql, grants);
	buf_str(&create, "CREATE DATABASE IF NOT EXISTS ");
	db_name(&create, name);
	buf_str(&create, " CHARACTER SET utf8mb4;\n");
	/* A line that neither text has, to end it for the shell. */
	buf_str(&mark, "SQL");
	while (strstr(sql.data, mark.data) != NULL ||
	    strstr(create.data, mark.data) != NULL)
		buf_str(&mark, "_");
	display_put_word(&database, name);
	display_put_word(&path, s->ctl->path);
	display_print(stdout, "An administrator of the database has to run "
	    "this; there are no passwords in it,\nonly hashes:\n\n"
	    "    mariadb <<'%s'\n%s%s\n"
	    "    %s%s%soutboxctl -c %s schema print | mariadb -- %s\n"
	    "    mariadb -- %s <<'%s'\n%s%s\n\n", mark.data, create.data,
	    mark.data, in_file ? "" : "OUTBOX_MYSQL_DATABASE=",
	    in_file ? "" : database.data, in_file ? "" : " ", path.data,
	    database.data, database.data, mark.data,
	    sql.data, mark.data);
	buf_free(&sql);
	buf_free(&create);
	buf_free(&database);
	buf_free(&path);
	buf_free(&mark);
	free(file);
}

int
setup_print_sql(struct setup *s)
{
	struct buf	grants = { 0 };
	struct err	e;

	/* What the server offers is unknown, but the daemon asks for it. */
	s->require_tls = setup_is_remote(s->ctl) && db_uses_tls(s->ctl->conf);

	if (setup_put_grants(s, &grants, &e) < 0 ||
	    setup_put_operator_grants(s, &grants, &e) < 0) {
		buf_free(&grants);
		return ctl_error("%s", e.text);
	}
	/* The right to follow the binlog: a comment, if not asked for. */
	if (!s->ctl->args.follow_binlog)
		buf_str(&grants, "-- Only if the daemon shall follow the "
		    "binlog: it can then read all changes\n-- of all databases "
		    "of the server.\n-- ");
	/* MariaDB, which needs the first right only, skips this comment. */
	buf_printf(&grants, "GRANT REPLICATION SLAVE /*!80000 , REPLICATION "
	    "CLIENT */ ON *.* TO %s;\n", s->account);
	if (!s->ctl->args.json)
		print_block(s, grants.data);
	else
		json_array_append_new(s->steps, json_pack("{s:s, s:s}",
		    "what", "grants", "text", grants.data));
	buf_free(&grants);
	fflush(stdout);		/* an error may say "above" */
	return CTL_DONE;
}
