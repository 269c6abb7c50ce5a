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

/* " <column> LIKE '<pattern><end>'", after the operator. */
static void
put_like(struct store *s, const char *op, const char *column,
    const char *begin, const char *pattern, const char *end)
{
	char	*text = xasprintf("%s%s%s", begin, pattern, end);

	store_put(s, op);
	store_put(s, column);
	store_put(s, " LIKE ");
	store_put_pattern(s, text);
	free(text);
}

/* "alice" is alice@HOST, also behind sudo, and the login 'alice'@'...'. */
static void
put_user(struct store *s, const char *user)
{
	const char	*end = strchr(user, '@') == NULL ? "@*" : "";

	put_like(s, " AND (", "a.unix_user", "", user, end);
	put_like(s, " OR ", "a.unix_user", "* for ", user, end);
	put_like(s, " OR ", "a.login", "", user, end);
	store_put(s, ")");
}

static void
put_filters(struct ctl *c)
{
	static const struct filter	f = { .time = "a.at" };

	filter_put(c, &f);
	if (c->args.command != NULL) {
		put_like(c->store, " AND (", "a.command", "", c->args.command,
		    "");
		put_like(c->store, " OR ", "a.command", "", c->args.command,
		    " *");
		store_put(c->store, ")");
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

	if (!store_has(c->store, T_AUDIT))
		return ctl_no_table(c, T_AUDIT);
	return listing_print(c, cursor_new(c, CURSOR_AUDIT, &e), &l, &e);
}
