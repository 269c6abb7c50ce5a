/* audit_list.c - audit list: which changes were made, when and by whom */

#include <stdlib.h>
#include <string.h>

#include "ctl/base/filter.h"
#include "ctl/base/listing.h"
#include "util/xalloc.h"

static const struct rows_column columns[] = {
	{ "id", ROWS_NUMBER }, { "at", ROWS_TIME }, { "login", ROWS_TEXT },
	{ "user", ROWS_TEXT }, { "command", ROWS_TEXT },
	{ "arguments", ROWS_TEXT }, { "changed", ROWS_NUMBER },
};

#define NCOLUMNS	(sizeof(columns) / sizeof(columns[0]))

static const char *const shown[] = { "id", "at", "user", "login", "changed",
	"command", "arguments", NULL };

static void
select_changes(struct ctl *c)
{
	store_sql(c->store, "SELECT a.id, a.at, a.login, a.unix_user, "
	    "a.command, a.arguments, a.changed FROM {audit} a WHERE a.id");
}

/* "alice" is alice@HOST, also behind sudo, and the login 'alice'@'...'. */
static void
put_user(struct store *s, const char *user)
{
	const char	*end = strchr(user, '@') == NULL ? "@*" : "";
	char		*is = xasprintf("%s%s", user, end);
	char		*is_for = xasprintf("* for %s%s", user, end);

	store_put(s, " AND (a.unix_user LIKE :is OR a.unix_user LIKE :is_for "
	    "OR a.login LIKE :is)", SQL_PATTERN("is", is),
	    SQL_PATTERN("is_for", is_for));
	free(is_for);
	free(is);
}

static void
put_filters(struct ctl *c)
{
	static const struct filter	f = { .time = "a.at" };
	char				*arguments;

	filter_put(c, &f);
	if (c->args.command != NULL) {
		arguments = xasprintf("%s *", c->args.command);
		store_put(c->store, " AND (a.command LIKE :command "
		    "OR a.command LIKE :more)",
		    SQL_PATTERN("command", c->args.command),
		    SQL_PATTERN("more", arguments));
		free(arguments);
	}
	if (c->args.user != NULL)
		put_user(c->store, c->args.user);
}

int
audit_list(struct ctl *c)
{
	static const struct listing	l = { columns, NCOLUMNS, shown,
	    select_changes, put_filters, NULL };
	struct err			e;

	return listing_print(c, cursor_new(c, CURSOR_AUDIT, &e), &l, &e);
}
