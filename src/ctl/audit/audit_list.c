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

/*
 * "alice" is alice@HOST, also behind sudo, who has a token of the monitor, and
 * the login 'alice'@'...'.
 */
static void
select_changes(struct ctl *c, const uint64_t *list, size_t n, struct sql order)
{
	static const struct filter	 f = { .time = { "a.at" } };
	const char			*user = c->args.user;
	const char			*command = c->args.command;
	char				*more, *is, *is_for, *asked;

	more = xasprintf("%s *", command == NULL ? "" : command);
	is = xasprintf("%s%s", user == NULL ? "" : user,
	    user != NULL && strchr(user, '@') == NULL ? "@*" : "");
	is_for = xasprintf("* for %s", is);
	asked = xasprintf("* for %s (*)@*", user == NULL ? "" : user);
	store_sql(c->store, "SELECT a.id, a.at, a.login, a.unix_user, "
	    "a.command, a.arguments, a.changed FROM {audit} a "
	    "WHERE a.id IN (:rows):filter:command:user ORDER BY :order",
	    SQL_LIST("rows", list, n),
	    SQL_PUT("filter", c->store, filter_put(c, &f)),
	    SQL_IF("command", command != NULL,
	    " AND (a.command LIKE :words OR a.command LIKE :more)"),
	    SQL_PATTERN("words", command), SQL_PATTERN("more", more),
	    SQL_IF("user", user != NULL, " AND (a.unix_user LIKE :is "
	    "OR a.unix_user LIKE :is_for OR a.unix_user LIKE :asked "
	    "OR a.login LIKE :is)"),
	    SQL_PATTERN("is", is), SQL_PATTERN("is_for", is_for),
	    SQL_PATTERN("asked", asked), SQL_PART("order", order));
	free(asked);
	free(is_for);
	free(is);
	free(more);
}

int
audit_list(struct ctl *c)
{
	static const struct listing	l = { columns, NCOLUMNS, shown,
	    select_changes, NULL };
	struct err			e;

	return listing_print(c, cursor_new(c, CURSOR_AUDIT, &e), &l, &e);
}
