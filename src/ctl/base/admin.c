/* admin.c - the login of an administrator of the database */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl/base/ctl.h"
#include "util/xalloc.h"

#define ADMIN		"root"
#define ADMIN_SOCKET	"/run/mysqld/mysqld.sock"

static void
set_text(char **to, const char *text)
{
	free(*to);
	*to = xstrdup(text);
}

void
ctl_use_admin(const struct ctl *c, struct conf *conf)
{
	const struct conf_list	*hosts = &conf->mysql.hosts;

	set_text(&conf->mysql.user, c->args.admin == NULL ? ADMIN :
	    c->args.admin);
	set_text(&conf->mysql.password_file,
	    c->args.admin_password_file == NULL ? "" :
	    c->args.admin_password_file);
	set_text(&conf->mysql.password_env, "");
	/* Without a password it logs in by the socket, as on Debian. */
	if (c->args.admin_password_file == NULL && hosts->n == 1 &&
	    strncmp(hosts->items[0], "127.0.0.1", 9) == 0 &&
	    access(ADMIN_SOCKET, F_OK) == 0)
		set_text(&conf->mysql.socket, ADMIN_SOCKET);
}
