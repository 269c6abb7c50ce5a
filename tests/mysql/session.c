/*
 * session.c - whatever a server is set to, a session of ours is the same
 */
#include <strings.h>

#include "mysql/db_impl.h"
#include "mysql/session_test.h"
#include "util/buf.h"

static struct db	*db;

/* To what a server could be set; NULL: for sessions only. */
static const struct {
	const char	*name, *evil;
} evils[] = {
	{ "max_join_size", "1" },
	{ "sql_select_limit", "2" },
	{ "sql_big_selects", "0" },
	{ "sql_safe_updates", "1" },
	{ "max_statement_time", "0.001" },
	{ "max_execution_time", "1" },
	{ "group_concat_max_len", "4" },
	{ "sql_mode", "'ANSI,NO_BACKSLASH_ESCAPES,NO_UNSIGNED_SUBTRACTION'" },
	{ "character_set_client", "'latin1'" },
	{ "character_set_results", "'latin1'" },
	{ "collation_connection", "'latin1_german2_ci'" },
	{ "time_zone", "'+05:00'" },
	{ "sql_auto_is_null", "1" },
	{ "max_sort_length", "64" },
	{ "default_regex_flags", "'EXTENDED'" },
	{ "system_versioning_asof", "'2020-01-01 00:00:00'" },
	{ "sql_if_exists", "1" },
	{ "lc_messages", "'de_DE'" },
	{ "sql_quote_show_create", "0" },
	{ "information_schema_stats_expiry", "86400" },
	{ "use_secondary_engine", NULL },
	{ "foreign_key_checks", "0" },
	{ "unique_checks", "0" },
	{ "check_constraint_checks", "0" },
	{ "autocommit", "0" },
	{ "completion_type", "2" },
	{ "tx_isolation", "'SERIALIZABLE'" },
	{ "tx_read_only", "1" },
	{ "transaction_isolation", "'SERIALIZABLE'" },
	{ "transaction_read_only", "1" },
	{ "innodb_snapshot_isolation", "1" },
	{ "wsrep_dirty_reads", "1" },
	{ "in_predicate_conversion_threshold", "1000" },
	{ "optimizer_max_sel_arg_weight", "1" },
	{ "range_optimizer_max_mem_size", "1" },
	{ "innodb_lock_wait_timeout", "999" },
	{ "lock_wait_timeout", "999" },
	{ "wait_timeout", "2" },
	{ "net_read_timeout", "1" },
	{ "net_write_timeout", "1" },
};

static void
be_evil(void)
{
	for (size_t i = 0; i < sizeof(evils) / sizeof(evils[0]); i++)
		if (evils[i].evil != NULL &&
		    !sql_works("SET GLOBAL %s = %s", evils[i].name,
		    evils[i].evil))
			ck_assert_uint_eq(sql_errno(), 1193);	/* unknown */
}

static void
session_end(void)
{
	for (size_t i = 0; i < sizeof(evils) / sizeof(evils[0]); i++)
		(void)sql_works("SET GLOBAL %s = DEFAULT", evils[i].name);
	sql("SET GLOBAL time_zone = SYSTEM, GLOBAL init_connect = ''");
	db_free(db);
	db = NULL;
	end();
}

static int
db_run(const char *text)
{
	struct buf	b = { 0 };
	int		rc;

	buf_str(&b, text);
	rc = db_exec(db, "doing", &b, NULL, &e);
	buf_free(&b);
	return rc;
}

static void
ask(const char *text, char *value, size_t size)
{
	struct buf	 b = { 0 };
	struct db_rows	*rows;

	buf_str(&b, text);
	rows = db_query(db, "asking", &b, &e);
	buf_free(&b);
	ck_assert_msg(rows != NULL, "%s: %s", text, e.text);
	snprintf(value, size, "%s", !db_next(rows) ? "nothing" :
	    db_text(rows, db_nullable(rows, 1) == NULL ? 0 : 1));
	db_rows_free(rows);
}

/* Is it a variable of this server? */
static bool
is_here(const struct db_variable *v)
{
	return v->since[0] == '\0' || strcmp(v->since, DB_IF_SHOWN) == 0 ||
	    (strncmp(v->since, "M!", 2) == 0) == !is_mysql();
}

static void
ck_session(void)
{
	const struct db_variable	*v;
	char				 text[128], value[512];
	size_t				 n;

	v = db_variables(&n);
	for (size_t i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "SHOW SESSION VARIABLES LIKE "
		    "'%s'", v[i].name);
		ask(text, value, sizeof(value));
		/* MariaDB has some of MySQL's as well, since 11.1. */
		if (strcmp(value, "nothing") == 0)
			ck_assert_msg(!is_here(&v[i]) ||
			    strcmp(v[i].since, DB_IF_SHOWN) == 0, "no %s",
			    v[i].name);
		else
			ck_assert_msg(v[i].shown == NULL ||
			    strcasecmp(v[i].shown, value) == 0, "%s is %s",
			    v[i].name, value);
	}
}

START_TEST(session_has_our_values)
{
	be_evil();
	db = db_new(conf, 6000);
	ck_ok(db_open(db, &e));
	ck_session();
	ck_ok(db_check(db, &e));
}
END_TEST

/* What was set before us is set again: by init_connect, or for the account. */
START_TEST(others_come_before_us)
{
	if (!is_mysql())
		sql("ALTER USER outbox@localhost WITH MAX_STATEMENT_TIME 0.5");
	sql("SET GLOBAL init_connect = 'SET SESSION sql_select_limit = 1, "
	    "sql_safe_updates = 1, autocommit = 0'");
	db = db_new(conf, 6000);
	ck_ok(db_open(db, &e));
	ck_session();
	if (!is_mysql())
		sql("ALTER USER outbox@localhost WITH MAX_STATEMENT_TIME 0");
}
END_TEST

/* Each row of the table has a test, and a reason. */
START_TEST(table_is_whole)
{
	const struct db_variable	*v;
	size_t				 n, nevils = NROWS(evils);

	v = db_variables(&n);
	ck_assert_uint_eq(n, nevils);
	for (size_t i = 0; i < n; i++) {
		ck_assert_str_eq(v[i].name, evils[i].name);
		ck_assert_uint_gt(strlen(v[i].reason), 10);
	}
}
END_TEST

/* A variable that another session has got behind our back is told. */
START_TEST(change_is_told)
{
	db = db_new(conf, 6000);
	ck_ok(db_open(db, &e));
	ck_ok(db_run("SET SESSION sql_select_limit = 300"));
	ck_fails(db_check(db, &e));
	ck_assert_int_eq(db_last_fault(db), DB_WRONG);
	ck_has(e.text, "sql_select_limit is 300");
	ck_assert(!db_is_open(db));
}
END_TEST

/* A statement that takes too long did nothing; it is tried again. */
START_TEST(statement_that_is_stopped_is_busy)
{
	struct buf	b = { 0 };
	char		value[64];

	db = db_new(conf, 6000);
	ck_ok(db_open(db, &e));
	ck_ok(db_run(is_mysql() ? "SET SESSION max_execution_time = 50" :
	    "SET SESSION max_statement_time = 0.05"));
	buf_str(&b, "SELECT COUNT(*) FROM information_schema.columns AS a "
	    "JOIN information_schema.columns AS b "
	    "JOIN information_schema.columns AS c");
	ck_assert_ptr_null(db_query(db, "asking", &b, &e));
	buf_free(&b);
	ck_has(e.text, is_mysql() ? "3024" : "1969");
	ck_assert_int_eq(db_last_fault(db), DB_BUSY);
	ck_assert(db_is_open(db));
	ask("SELECT 7", value, sizeof(value));
	ck_assert_str_eq(value, "7");
}
END_TEST

/* These cannot come in our session: it is another's, so begin a new one. */
START_TEST(session_of_another_is_lost)
{
	db = db_new(conf, 6000);
	ck_ok(db_open(db, &e));
	ck_ok(db_run("SET SESSION sql_safe_updates = 1"));
	ck_fails(db_run("UPDATE outbox SET attempts = 0"));
	ck_has(e.text, "1175");
	ck_assert_int_eq(db_last_fault(db), DB_LOST);
	ck_ok(db_open(db, &e));
	ck_ok(db_run("UPDATE outbox SET attempts = 0"));
}
END_TEST

void
add_session(Suite *s, const struct kind *k)
{
	TCase	*tc = add_case(s, "session", k, k->start, begin, session_end);

	tcase_add_test(tc, session_has_our_values);
	tcase_add_test(tc, others_come_before_us);
	tcase_add_test(tc, table_is_whole);
	tcase_add_test(tc, change_is_told);
	tcase_add_test(tc, statement_that_is_stopped_is_busy);
	tcase_add_test(tc, session_of_another_is_lost);
}
