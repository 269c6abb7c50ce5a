/*
 * db_session.c - the session's variables: all that our statements depend on
 *
 * A server has its own defaults, init_connect runs before us, and an account
 * may have limits.  So nothing is left as it is found that could change what a
 * statement of ours does.  Not here is what only costs time or memory (buffers,
 * the optimizer's flags: our statements name their indexes), what only protects
 * the server (idle_transaction_timeout and the like end a connection, which is
 * opened again), what only is logged or told, and what needs a right.
 *
 * One statement sets them.  The server itself skips what it does not know: the
 * text after '!' or 'M!' in a comment is run from that version on, by MySQL
 * and MariaDB or by MariaDB alone, and MariaDB skips that of MySQL 5.7 to 9.
 * The greeting decides nothing, as it may be a proxy's.
 */

#include "mysql/db_impl.h"

#include <string.h>
#include <strings.h>

#define ALL		""
#define MARIADB		"M! "
#define MYSQL_8		"!80013 "
#define NO_LIMIT	"18446744073709551615"
#define FOR_ALL		"9223372036854775807"	/* vtgate knows no more */

/* The order matters: max_join_size changes sql_big_selects. */
static const struct db_variable variables[] = {
	/* what is cut or refused */
	{ "max_join_size", NO_LIMIT, NO_LIMIT, ALL,
	  "a large join would be refused (1104)" },
	{ "sql_select_limit", NO_LIMIT, NO_LIMIT, ALL,
	  "a SELECT without LIMIT would be cut" },
	{ "sql_big_selects", "1", "ON", ALL,
	  "a large join would be refused (1104)" },
	{ "sql_safe_updates", "0", "OFF", ALL,
	  "an UPDATE without a key would be refused (1175)" },
	{ "max_statement_time", "0", "0.000000", MARIADB,
	  "a statement would be stopped (1969): it has our own time-out" },
	{ "max_execution_time", "0", "0", MYSQL_8,
	  "a SELECT would be stopped (3024): it has our own time-out" },
	{ "group_concat_max_len", "1048576", "1048576", ALL,
	  "the columns of an index would be cut" },

	/* what a statement means */
	{ "sql_mode", "'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION'",
	  "STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION", ALL,
	  "quotes, ||, - and NOT would mean something else, or a value that "
	  "does not fit would be cut" },
	{ "character_set_client", "'utf8mb4'", "utf8mb4", ALL,
	  "statements are UTF-8" },
	{ "character_set_results", "'utf8mb4'", "utf8mb4", ALL,
	  "texts of keys and errors are read as UTF-8" },
	{ "collation_connection", "'utf8mb4_bin'", "utf8mb4_bin", ALL,
	  "texts compare as bytes, and with a column of any collation" },
	{ "time_zone", "'+00:00'", "+00:00", ALL,
	  "moments are TIMESTAMPs, written and read as UTC" },
	{ "sql_auto_is_null", "0", "OFF", ALL,
	  "sequence IS NULL would be true of the row inserted last" },
	{ "max_sort_length", "1024", "1024", ALL,
	  "labels would be sorted by their first letter" },
	{ "default_regex_flags", "''", "", MARIADB,
	  "a REGEXP would match something else" },
	{ "system_versioning_asof", "DEFAULT", "DEFAULT", MARIADB,
	  "versioned tables would show rows of the past" },
	{ "sql_if_exists", "0", "OFF", MARIADB,
	  "an ALTER of a table that is missing would succeed" },
	{ "lc_messages", "'en_US'", "en_US", ALL,
	  "the remedy of an error depends on its text" },
	{ "sql_quote_show_create", "1", "ON", ALL,
	  "SHOW CREATE TABLE is parsed" },
	{ "information_schema_stats_expiry", "0", "0", MYSQL_8,
	  "statistics of tables would be a day old" },
	{ "use_secondary_engine", "'OFF'", "OFF", MYSQL_8,
	  "a secondary engine may be behind" },

	/* constraints that guard our rows and those of producers */
	{ "foreign_key_checks", "1", "ON", ALL,
	  "rows without their events would be possible" },
	{ "unique_checks", "1", "ON", ALL,
	  "two rows for one event would be possible" },
	{ "check_constraint_checks", "1", "ON", MARIADB,
	  "a second row of settings would be possible" },

	/*
	 * Transactions.  READ COMMITTED, because claims at REPEATABLE READ
	 * deadlock with producers' inserts.  MariaDB has the longer names from
	 * 11.1 on, too.
	 */
	{ "autocommit", "1", "ON", ALL,
	  "a statement of its own would not be committed" },
	{ "completion_type", "0", "NO_CHAIN", ALL,
	  "COMMIT would begin a transaction or end the connection" },
	{ "tx_isolation", "'READ-COMMITTED'", "READ-COMMITTED", MARIADB,
	  "claims and inserts would deadlock" },
	{ "tx_read_only", "0", "OFF", MARIADB,
	  "nothing could be written (1792)" },
	{ "transaction_isolation", "'READ-COMMITTED'", "READ-COMMITTED",
	  MYSQL_8, "claims and inserts would deadlock" },
	{ "transaction_read_only", "0", "OFF", MYSQL_8,
	  "nothing could be written (1792)" },
	/* Not in each build, and in each series since another version. */
	{ "innodb_snapshot_isolation", "0", "OFF", DB_IF_SHOWN,
	  "rows that change while they are read would be an error (1020)" },
	{ "wsrep_dirty_reads", "0", "OFF", DB_IF_SHOWN,
	  "a node that is cut off would show rows of the past" },

	/* plans: long lists of sequences must be ranges of an index */
	{ "in_predicate_conversion_threshold", "0", "0", MARIADB,
	  "long IN lists would become a join" },
	{ "optimizer_max_sel_arg_weight", "0", "0", MARIADB,
	  "long IN lists would be no ranges, and lock all rows" },
	{ "range_optimizer_max_mem_size", "0", "0", MYSQL_8,
	  "long IN lists would be no ranges, and lock all rows" },

	/*
	 * Time-outs.  No wait for a lock may outlive the next lease renewal,
	 * nor the time-out of its answer; a worker waits idle until it renews
	 * its leases, outboxctl for a person or for its input.
	 */
	{ "innodb_lock_wait_timeout", DB_WAIT, NULL, ALL,
	  "a wait for a row would look like a lost connection" },
	{ "lock_wait_timeout", DB_WAIT, NULL, ALL,
	  "a wait for a table would look like a lost connection" },
	{ "wait_timeout", "28800", NULL, ALL,
	  "an idle connection would be closed" },
	{ "net_read_timeout", "30", "30", ALL,
	  "a long statement on a slow line would be lost" },
	{ "net_write_timeout", "60", "60", ALL,
	  "a long result on a slow line would be lost" },
};
#define NVARIABLES	(sizeof(variables) / sizeof(variables[0]))

/*
 * vtgate refuses the first two, and ignores the others without a word.  It does
 * not limit SELECTs until a client asks it to; the columns of our tables bring
 * their own collations; a wait for a table ends with vttablet's time-outs.
 */
static const char *const	not_of_vtgate[] = {
	"sql_select_limit", "use_secondary_engine", "collation_connection",
	"lock_wait_timeout"
};

static bool
is_set(const struct db *db, const struct db_variable *v)
{
	size_t	n = sizeof(not_of_vtgate) / sizeof(not_of_vtgate[0]);

	for (size_t i = 0; db->vtgate && i < n; i++)
		if (strcmp(v->name, not_of_vtgate[i]) == 0)
			return false;
	return true;
}

const struct db_variable *
db_variables(size_t *n)
{
	*n = NVARIABLES;
	return variables;
}

/* A wait for a lock has to end before the timeout of its answer. */
static int64_t
lock_wait_s(const struct db *db)
{
	return db->wait_ms / 2000 < 1 ? 1 : db->wait_ms / 2000;
}

/* The fault of the statement before stays; with try a refusal does, too. */
static int
set_variables(struct db *db, struct buf *sql, bool try, struct err *e)
{
	enum db_fault	fault = db->fault;
	unsigned	code = db->code;
	int		rc = db_exec(db, "session", sql, NULL, e);

	buf_free(sql);
	if (rc < 0 && !(try && db_is_open(db)))
		return -1;
	db->fault = fault;
	db->code = code;
	return 0;
}

int
db_hurry(struct db *db, bool hurry, struct err *e)
{
	struct buf	sql = { 0 };
	long long	wait_s = hurry ? 1 : (long long)lock_wait_s(db);

	buf_printf(&sql, "SET SESSION innodb_lock_wait_timeout = %lld, "
	    "lock_wait_timeout = %lld", wait_s, wait_s);
	return set_variables(db, &sql, false, e);
}

/* The wait of a statement for its group ends with wait_timeout. */
int
db_catch_up(struct db *db, bool on, struct err *e)
{
	struct buf	sql = { 0 };

	buf_printf(&sql, "SET SESSION group_replication_consistency = %s, "
	    "wait_timeout = %s", on ? "'BEFORE'" : "DEFAULT",
	    on ? "1" : "28800");
	return set_variables(db, &sql, true, e);
}

static void
put_setting(const struct db *db, struct buf *sql, const struct db_variable *v)
{
	buf_printf(sql, "%s = ", v->name);
	if (strcmp(v->value, DB_WAIT) == 0)
		buf_printf(sql, "%lld", (long long)lock_wait_s(db));
	else
		buf_str(sql, v->value);
}

/*
 * All that a server must have, and in comments what one may have.  A server that
 * lacks one of them sets none.  Then they are set by what it shows, of which
 * there must be no limit; the time-outs, whose values are ours alone and which
 * all servers have, are set here.
 */
int
db_set_session(struct db *db, struct err *e)
{
	struct buf			 sql = { 0 };
	const struct db_variable	*v;
	int				 rc;

	buf_str(&sql, "SET SESSION ");
	for (v = variables; v < variables + NVARIABLES; v++) {
		if (strcmp(v->since, DB_IF_SHOWN) == 0 || !is_set(db, v))
			continue;
		if (v->since[0] != '\0')
			buf_printf(&sql, " /*%s", v->since);
		buf_str(&sql, v == variables ? "" : ", ");
		put_setting(db, &sql, v);
		if (v->since[0] != '\0')
			buf_str(&sql, " */");
	}
	rc = db_exec(db, "session", &sql, NULL, e);
	if (rc < 0 && db->mysql != NULL) {
		buf_clear(&sql);
		buf_str(&sql, "SET SESSION sql_select_limit = " FOR_ALL);
		for (v = variables; v < variables + NVARIABLES; v++)
			if (v->shown == NULL) {
				buf_str(&sql, ", ");
				put_setting(db, &sql, v);
			}
		rc = db_exec(db, "session", &sql, NULL, e);
	}
	buf_free(&sql);
	return rc;
}

void
db_put_variables(struct buf *sql)
{
	for (size_t i = 0; i < NVARIABLES; i++)
		buf_printf(sql, "%s'%s'", i == 0 ? "" : ", ",
		    variables[i].name);
}

/* The variable of the present row, if its value is not as we set it. */
static const struct db_variable *
changed_variable(const struct db *db, const struct db_rows *rows)
{
	const char	*value = db_nullable(rows, 1);

	for (size_t i = 0; value != NULL && i < NVARIABLES; i++)
		if (strcasecmp(variables[i].name, db_text(rows, 0)) == 0)
			return variables[i].shown == NULL ||
			    !is_set(db, &variables[i]) ||
			    strcasecmp(variables[i].shown, value) == 0 ?
			    NULL : &variables[i];
	return NULL;
}

int
db_mend_session(struct db *db, struct db_rows *rows, bool *mended,
    struct err *e)
{
	const struct db_variable	*v;
	struct buf			 sql = { 0 };
	int				 rc = 0;

	db_rewind(rows);
	while (db_next(rows)) {
		if ((v = changed_variable(db, rows)) == NULL)
			continue;
		buf_str(&sql, sql.len == 0 ? "SET SESSION " : ", ");
		put_setting(db, &sql, v);
	}
	*mended = sql.len > 0;
	if (*mended && (rc = db_exec(db, "session", &sql, NULL, e)) < 0)
		err_in(e, "%s", sql.data);
	buf_free(&sql);
	return rc;
}

int
db_check_session(struct db *db, struct db_rows *rows, struct err *e)
{
	const struct db_variable	*v;

	db_rewind(rows);
	while (db_next(rows)) {
		if ((v = changed_variable(db, rows)) == NULL)
			continue;
		db->fault = DB_WRONG;
		return err_set(e, "%s is %s in the session although %s was "
		    "set: %s: does a proxy change it?", v->name,
		    db_text(rows, 1), v->shown, v->reason);
	}
	return 0;
}
