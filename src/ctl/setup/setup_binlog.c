/*
 * setup_binlog.c - the right to follow the binlog
 *
 * Only on demand: whoever has it can read what all applications of the server
 * write.
 */

#include "ctl/schema/schema.h"
#include "ctl/setup/setup.h"

static int
has_right(struct setup *s, bool *has, struct err *e)
{
	store_sql(s->admin.store, "SELECT 1 FROM "
	    "information_schema.user_privileges "
	    "WHERE privilege_type = 'REPLICATION SLAVE' "
	    "AND grantee = :account", SQL_TEXT("account", s->account));
	return store_query_any(s->admin.store, "setup", has, e);
}

/* A server of MariaDB writes none unless it is told to. */
static int
has_binlog(struct setup *s, bool *has, struct err *e)
{
	store_sql(s->admin.store, "SELECT 1 FROM (SELECT 1) AS x WHERE "
	    "@@GLOBAL.log_bin");
	return store_query_any(s->admin.store, "setup", has, e);
}

static int
grant_right(struct setup *s, struct err *e)
{
	struct buf	sql = { 0 };

	buf_printf(&sql, "GRANT %s ON *.* TO %s;\n",
	    schema_binlog_rights(&s->admin), s->account);
	return setup_run_sql(s, &sql, e);
}

static const char *
when(const struct setup *s)
{
	return s->ctl->conf->wake.binlog == WAKE_OFF ?
	    "; wake.binlog is false: remove that, then outboxctl reload" :
	    "; a daemon that runs does so within a minute, or after outboxctl "
	    "reload";
}

int
setup_binlog(struct setup *s, struct err *e)
{
	bool	wanted = s->ctl->args.follow_binlog, has, given, written;

	if (s->ctl->conf->wake.binlog == WAKE_OFF && !wanted)
		return 0;
	if (has_right(s, &has, e) < 0 || has_binlog(s, &written, e) < 0)
		return -1;
	given = !has && wanted;
	if (given && grant_right(s, e) < 0)
		return -1;
	if (!written)
		setup_step(s, "binlog", "the server writes none, so the "
		    "workers poll; log_bin in its configuration, and its "
		    "restart, change that%s", has || wanted ? "" : "; then "
		    "outboxctl setup --no-event --follow-binlog lets the "
		    "daemon follow it");
	else if (has || wanted)
		setup_step(s, "binlog", "%s may follow it, and so read all "
		    "changes of all databases of the server%s", s->account,
		    given ? when(s) : "");
	else
		setup_step(s, "binlog", "%s may not follow it, so the workers "
		    "poll; setup --no-event --follow-binlog allows it, and "
		    "with it to read all changes of all databases of the server",
		    s->account);
	return 0;
}
