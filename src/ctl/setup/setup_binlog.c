/*
 * setup_binlog.c - the right to follow the binlog
 *
 * Only on demand: whoever has it can read what all applications of the server
 * write.
 */

#include "ctl/schema/schema.h"
#include "ctl/setup/setup.h"

int
setup_binlog(struct setup *s, struct err *e)
{
	struct store	*st = s->admin.store;
	bool		 off = s->ctl->conf->wake.binlog == WAKE_OFF;
	bool		 wanted = s->ctl->args.follow_binlog, has, written;
	const char	*when = "";
	struct buf	 sql = { 0 };

	if (off && !wanted)
		return 0;
	store_sql(st, "SELECT 1 FROM information_schema.user_privileges "
	    "WHERE privilege_type = 'REPLICATION SLAVE' "
	    "AND grantee = :account", SQL_TEXT("account", s->account));
	if (store_query_any(st, "setup", &has, e) < 0)
		return -1;
	/* A server of MariaDB writes none unless it is told to. */
	store_sql(st, "SELECT 1 FROM (SELECT 1) AS x WHERE @@GLOBAL.log_bin");
	if (store_query_any(st, "setup", &written, e) < 0)
		return -1;
	if (!has && wanted) {
		buf_printf(&sql, "GRANT %s ON *.* TO %s;\n",
		    schema_binlog_rights(&s->admin), s->account);
		if (setup_run_sql(s, &sql, e) < 0)
			return -1;
		when = off ? "; wake.binlog is false: remove that, then "
		    "outboxctl reload" : "; a daemon that runs does so within "
		    "a minute, or after outboxctl reload";
	}
	if (!written)
		setup_step(s, "binlog", "the server writes none, so the "
		    "workers poll; log_bin in its configuration, and its "
		    "restart, change that%s", has || wanted ? "" : "; then "
		    "outboxctl setup --no-event --follow-binlog lets the "
		    "daemon follow it");
	else if (has || wanted)
		setup_step(s, "binlog", "%s may follow it, and so read all "
		    "changes of all databases of the server%s", s->account,
		    when);
	else
		setup_step(s, "binlog", "%s may not follow it, so the workers "
		    "poll; setup --no-event --follow-binlog allows it, and "
		    "with it to read all changes of all databases of the server",
		    s->account);
	return 0;
}
