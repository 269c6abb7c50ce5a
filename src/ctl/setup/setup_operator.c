/*
 * setup_operator.c - the account that outboxctl makes changes with
 *
 * It is another one than the daemon's, which may not write the audit.  Its
 * password is in a file beside the daemon's that only its owner can read.
 */

#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl/setup/setup.h"
#include "util/secret.h"
#include "util/xalloc.h"

#define OPERATOR	"outbox_operator"
#define FILE_NAME	"operator.password"

const char *
setup_operator_user(const struct conf *conf)
{
	return conf->mysql.operator.user[0] != '\0' ?
	    conf->mysql.operator.user : OPERATOR;
}

char *
setup_operator_path(const struct conf *conf)
{
	char	*copy, *path;

	if (conf->mysql.operator.user[0] != '\0')
		return conf->mysql.operator.password_file[0] == '\0' ? NULL :
		    xstrdup(conf->mysql.operator.password_file);
	if (conf->mysql.password_file[0] == '\0')
		return NULL;
	copy = xstrdup(conf->mysql.password_file);
	path = xasprintf("%s/" FILE_NAME, dirname(copy));
	free(copy);
	return path;
}

static int
create(struct setup *s, const char *path, bool exists, struct err *e)
{
	struct buf	 sql = { 0 };
	char		*password;
	bool		 made;
	int		 rc;

	if (exists && !s->ctl->args.new_password && access(path, F_OK) < 0)
		return setup_no_password(s->operator, path, e);
	if ((password = setup_own_password(path, &made, e)) == NULL)
		return -1;
	rc = setup_make_account(s, s->operator, exists, password, e);
	secret_free(password);
	if (rc < 0)
		return -1;
	if (setup_put_operator_grants(s, &sql, e) < 0) {
		buf_free(&sql);
		return -1;
	}
	return setup_run_sql(s, &sql, e);
}

int
setup_operator(struct setup *s, struct err *e)
{
	const struct ctl		*c = s->ctl;
	char				*path = setup_operator_path(c->conf);
	const struct conf_change	 changes[] = {
		{ "mysql.operator.user", OPERATOR },
		{ "mysql.operator.password_file", path },
	};
	const char			*is;
	struct err			 why;
	bool				 exists;

	if (path == NULL)	/* its password is the administrator's affair */
		return 0;
	if (setup_has_account(s, s->operator, &exists, e) < 0 ||
	    create(s, path, exists, e) < 0) {
		free(path);
		return -1;
	}
	is = exists ? "exists" : "created";
	/* A file without these keys stays as it is. */
	if (c->conf->mysql.operator.user[0] != '\0' ||
	    conf_edit(c->path, changes, 2, &why) == 0)
		setup_step(s, "operator", "%s %s, for changes with outboxctl",
		    s->operator, is);
	else
		setup_step(s, "operator", "%s %s; for changes with outboxctl "
		    "add to %s, in section mysql: operator: {user: %s, "
		    "password_file: %s}", s->operator, is, c->path, OPERATOR,
		    path);
	free(path);
	return 0;
}
