/*
 * fan_out_rights.c - may all that write events write the new outbox?
 *
 * Without the right their calls of outbox_enqueue would fail from the moment it
 * is registered.  outboxctl enqueue calls it, too, so operators count.  Others
 * than an administrator see their own rights only.
 */

#include "ctl/schema/schema_impl.h"

#define PRODUCER	"'outbox_producer'@'localhost'"
#define OPERATOR	"'outbox_operator'@'localhost'"

#define WRITERS_OF(table) "SELECT grantee " \
	"FROM information_schema.table_privileges " \
	"WHERE table_schema = DATABASE() AND privilege_type = 'INSERT' " \
	"AND table_name = " table " UNION SELECT grantee " \
	"FROM information_schema.column_privileges " \
	"WHERE table_schema = DATABASE() AND privilege_type = 'INSERT' " \
	"AND table_name = " table

/* "'shop'@'%', 'web'@'%' what it has for 'outbox_producer'@'localhost'" */
static void
put_remedy(struct buf *to, const struct buf *accounts, const char *has)
{
	if (accounts->len > 0)
		buf_printf(to, "%s%s what it has for %s", to->len == 0 ? "" :
		    ", and ", accounts->data, has);
}

int
fan_out_refuse(struct ctl *c, struct err *e)
{
	struct store	*s = c->store;
	const char	*outbox = store_table_name(s, T_OUTBOX);
	const char	*events = store_table_name(s, T_EVENTS);
	struct buf	 accounts[2] = { 0 }, *list, remedy = { 0 };
	struct db_rows	*rows;
	bool		 producers, operators;

	/* Only operators write the audit. */
	store_sql(s, "SELECT grantee, grantee IN (" WRITERS_OF(":audit") ") "
	    "FROM (" WRITERS_OF(":events") ") AS w "
	    "WHERE grantee NOT IN (" WRITERS_OF(":outbox") " UNION "
	    "SELECT grantee FROM information_schema.schema_privileges "
	    "WHERE table_schema = DATABASE() AND privilege_type = 'INSERT' "
	    "UNION SELECT grantee FROM information_schema.user_privileges "
	    "WHERE privilege_type = 'INSERT') ORDER BY 2, 1",
	    SQL_TEXT("audit", store_table_name(s, T_AUDIT)),
	    SQL_TEXT("events", events), SQL_TEXT("outbox", outbox));
	if ((rows = store_query(s, c->command->words, e)) == NULL)
		return -1;
	while (db_next(rows)) {
		list = &accounts[db_u64(rows, 1) != 0];
		buf_printf(list, "%s%s", list->len == 0 ? "" : ", ",
		    db_text(rows, 0));
	}
	db_rows_free(rows);
	producers = accounts[0].len > 0;
	operators = accounts[1].len > 0;
	if (!producers && !operators)
		return 0;

	put_remedy(&remedy, &accounts[0], PRODUCER);
	put_remedy(&remedy, &accounts[1], OPERATOR);
	err_set(e, "%s%s%s may write %s, but not %s: outbox_enqueue would fail "
	    "there, so the new outbox is not used yet; see outboxctl schema "
	    "print --grants, grant %s, and repeat this",
	    producers ? accounts[0].data : "",
	    producers && operators ? ", " : "",
	    operators ? accounts[1].data : "", events, outbox, remedy.data);
	buf_free(&remedy);
	buf_free(&accounts[0]);
	buf_free(&accounts[1]);
	return -1;
}
