/* audit.c - see ctl.h */

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ctl/base/ctl.h"
#include "util/display.h"

/* "user@host"; with sudo "root for user@host". */
static const char *
unix_user(char *out, size_t size)
{
	const char	*who = getenv("OUTBOXCTL_FOR");
	struct passwd	*pw = getpwuid(getuid());
	char		 host[256] = "";

	if (who == NULL)
		who = getenv("SUDO_USER");
	gethostname(host, sizeof(host) - 1);
	snprintf(out, size, "%s%s%s@%s", pw == NULL ? "?" : pw->pw_name,
	    who == NULL ? "" : " for ", who == NULL ? "" : who, host);
	return out;
}

int
audit_note(struct ctl *c, uint64_t n, struct err *e)
{
	char	user[512];

	c->audited += n;
	if (store_is_pillar(c->store)) {
		if (c->audit++ == 0)
			display_print(stderr, "outboxctl: %s: no such table, so this "
			    "change is not recorded: outboxctl setup "
			    "--no-event creates it\n",
			    store_table_name(c->store, T_AUDIT));
		return 0;
	}
	if (c->audit > 0) {
		store_sql(c->store, "UPDATE {audit} "
		    "SET changed = changed + :n WHERE id = :id",
		    SQL_NUMBER("n", n), SQL_NUMBER("id", c->audit));
		return store_exec(c->store, "audit", NULL, e);
	}
	store_sql(c->store, "INSERT INTO {audit} (login, unix_user, command, "
	    "arguments, changed) VALUES (CURRENT_USER(), LEFT(:user, 255), "
	    ":command, LEFT(:arguments, 1000), :n)",
	    SQL_TEXT("user", unix_user(user, sizeof(user))),
	    SQL_TEXT("command", c->command->words),
	    SQL_TEXT("arguments", c->arguments), SQL_NUMBER("n", n));
	if (store_exec(c->store, "audit", NULL, e) < 0)
		return -1;
	store_sql(c->store, "SELECT LAST_INSERT_ID()");
	return store_query_number(c->store, "audit", &c->audit, e);
}
