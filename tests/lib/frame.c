/* frame.c - see frame.h */

#include "lib/frame.h"

#include <signal.h>

#include "util/log.h"
#include "util/xalloc.h"

const char	*server;
struct conf	*conf;
struct store	*st;
struct err	 e;

bool
is_mysql(void)
{
	return strcmp(server, "mysql") == 0;
}

/* Start a server that is fast, but not durable. */
static void
start_plain(const char *kind)
{
	static const char *const	lines[] = {
		"innodb_flush_log_at_trx_commit=0", "sync_binlog=0",
		"max_connections=40", NULL, NULL
	};
	const char			*all[NROWS(lines)];

	memcpy(all, lines, sizeof(lines));
	if (strcmp(kind, "mysql") == 0)
		all[NROWS(lines) - 2] = "tls_version=";
	server = kind;
	if (servers_runs(kind))
		return;
	servers_start(kind, kind, all);
	sql_open(kind);
	sql_load(kind, "app");
	sql_close();
}

void
frame_start_mariadb(void)
{
	start_plain("mariadb");
}

void
frame_start_mysql(void)
{
	start_plain("mysql");
}

struct conf *
conf_for(const char *database)
{
	return servers_conf("mysql: {socket: \"%s\", user: outbox, "
	    "password_env: OUTBOX_PW, database: %s}\n",
	    servers_get(server, "SOCKET"), database);
}

/* Undo global settings that a failed test may have left. */
void
calm_down(void)
{
	if (is_mysql())
		sql("SET GLOBAL super_read_only = 0");
	sql("SET GLOBAL read_only = 0; SET GLOBAL general_log = 0; "
	    "SET GLOBAL binlog_format = 'ROW'; SET GLOBAL "
	    "innodb_flush_log_at_trx_commit = 0, GLOBAL sync_binlog = 0");
}

void
begin(void)
{
	const char	*path = servers_write("log", "");

	servers_signal(server, SIGCONT);
	sql_open(server);
	calm_down();
	sql("USE app; DROP TRIGGER IF EXISTS obstacle; "
	    "DELETE FROM outbox; DELETE FROM events; "
	    "DELETE FROM outbox_partitions; DELETE FROM outbox_workers; "
	    "DELETE FROM outbox_dead_letters; "
	    "DELETE FROM outbox_blocked_keys; UPDATE outbox_settings SET "
	    "partition_count = NULL, former_counts = NULL, counts_since = "
	    "NULL, schema_version = 1, outbox_id = 'abc'");
	if (is_mysql())		/* EXPLAIN as a table, for ck_plan() */
		sql("SET explain_format = 'TRADITIONAL'");
	ck_ok(log_open(path, LOG_LVL_DEBUG, false, &e));
	conf = conf_for("app");
}

void
end(void)
{
	conf_free(conf);
	sql_close();
}

/* The whole log. */
const char *
logged(void)
{
	static char	 text[8192];
	FILE		*f = fopen(servers_path("log"), "r");

	ck_assert_ptr_nonnull(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	return text;
}

void
wait_for_locks(unsigned n)
{
	char	want[64];

	snprintf(want, sizeof(want), "Innodb_row_lock_current_waits %u", n);
	for (int64_t until = patience(); strcmp(sql_text("SHOW GLOBAL STATUS "
	    "LIKE 'Innodb_row_lock_current_waits'"), want) != 0; )
		wait_more(&until, "a transaction to wait for a lock");
}

void
kill_thread(unsigned long thread)
{
	sql("KILL %lu", thread);
	for (int64_t until = patience(); strcmp(sql_text("SELECT COUNT(*) FROM "
	    "information_schema.processlist WHERE id = %lu", thread), "0") != 0;
	    )
		wait_more(&until, "the connection to go");
}

void
kill_latest(void)
{
	kill_thread(strtoul(sql_text("SELECT MAX(id) FROM "
	    "information_schema.processlist WHERE user = 'outbox'"), NULL, 10));
}

void
wait_for_goodbye(void)
{
	for (int64_t until = patience(); strcmp(sql_text("SELECT COUNT(*) "
	    "FROM information_schema.processlist WHERE user = 'outbox'"),
	    "0") != 0; )
		wait_more(&until, "the end of all connections");
}

struct store *
store_of(const struct conf *c, const char *id)
{
	struct store	*s = store_new(c, id, c->worker.lease_renew);

	ck_ok(store_open(s, &e));
	ck_ok(store_learn(s, &e));
	ck_assert_str_eq(store_id(s), id);
	return s;
}

int
fill_partitions(struct store *s, unsigned count)
{
	struct counts	c = { .count = count };

	return store_fill_declared(s, &c, &e);
}

unsigned
adopt_strays(struct store *s, char label[STORE_LABEL])
{
	struct adopted	a;

	ck_ok(store_adopt_strays(s, &a, &e));
	ck_assert(!a.busy);
	memcpy(label, a.label, STORE_LABEL);
	return a.n;
}

size_t
strays_of(struct store *s, struct stray *first)
{
	static char	label[1000];
	struct strays	l;
	char		*update;
	size_t		 n;

	ck_ok(store_strays(s, &l, &update, &e));
	n = l.n;
	ck_assert_int_eq(n > 0, update != NULL);
	if (n > 0) {
		*first = l.items[0];
		ck_assert_uint_lt(first->len, sizeof(label));
		first->label = memcpy(label, first->label, first->len + 1);
		sql("%s", update);
	}
	free(update);
	store_strays_free(&l);
	return n;
}

void
begin_store(void)
{
	begin();
	st = store_of(conf, ME);
}

void
end_store(void)
{
	store_free(st);
	end();
}

/* Add rows first..last with an event each; label: an SQL literal or NULL. */
void
add_rows(unsigned first, unsigned last, const char *label)
{
	for (unsigned i = first; i <= last; i++)
		sql("INSERT INTO events (sequence, stream_id, stream_sequence,"
		    " event_type, event_data) VALUES (%u, 'k%u', 1, 't', '{}');"
		    "INSERT INTO outbox (global_sequence, partition_key) "
		    "VALUES (%u, %s)", i, i, i, label);
}

void
put_obstacle(const char *state, const char *verb, const char *table,
    const char *row)
{
	sql("CREATE TRIGGER obstacle BEFORE %s ON %s FOR EACH ROW IF %s THEN "
	    "SIGNAL SQLSTATE '%s' SET MESSAGE_TEXT = 'obstacle'; END IF",
	    verb, table, row, state);
}

unsigned
times_logged(const char *text)
{
	unsigned	n = 0;

	for (const char *at = logged(); (at = strstr(at, text)) != NULL; at++)
		n++;
	return n;
}

void
add_lease(const char *label, const char *id, unsigned epoch)
{
	sql("INSERT INTO outbox_partitions (partition_key, lease_owner, "
	    "lease_until, lease_epoch) VALUES ('%s', '%s', "
	    "NOW(6) + INTERVAL 60 SECOND, %u)", label, id, epoch);
}

void
own_leases(unsigned first, unsigned last)
{
	char	label[16];

	for (unsigned i = first; i <= last; i++) {
		snprintf(label, sizeof(label), "p%02u", i);
		add_lease(label, ME, 1);
	}
}

void
own_rows(unsigned n)
{
	add_lease("p00", ME, 1);
	add_rows(1, n, "'p00'");
}

void
update_row(unsigned sequence, const char *what)
{
	sql("UPDATE outbox SET %s WHERE global_sequence = %u", what, sequence);
}

void
update_lease(const char *label, const char *what)
{
	sql("UPDATE outbox_partitions SET %s WHERE partition_key = '%s'", what,
	    label);
}

struct range
range(const char *label, uint64_t epoch)
{
	return (struct range){ .label = label, .epoch = epoch, .limit = 100 };
}

/* Claim first..last of partition p00 under epoch 1; returns the number. */
uint64_t
claim(struct store *s, struct batch *b, uint64_t first, uint64_t last)
{
	struct range	r = range("p00", 1);
	uint64_t	sequences[128], claimed = 99;
	size_t		n = 0;

	for (uint64_t i = first; i <= last; i++)
		sequences[n++] = i;
	ck_ok(store_claim(s, &(struct claim_set){ &r, 1, sequences, n }, b,
	    &claimed, &e));
	return claimed;
}

/* Claim and fetch a batch of first..last. */
void
take(struct batch *b, uint64_t first, uint64_t last)
{
	uint64_t	sequences[128];
	size_t		n = 0;

	ck_assert_uint_eq(claim(st, b, first, last), last - first + 1);
	for (uint64_t i = first; i <= last; i++)
		sequences[n++] = i;
	ck_ok(store_fetch(st, sequences, n, SIZE_MAX, b, &e));
	ck_assert_uint_eq(b->n, n);
}

const char *
candidates_text(struct candidate *c, size_t nc)
{
	static char	text[4096];
	size_t		len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < nc; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
		    "%s%llu:%u", i == 0 ? "" : " ",
		    (unsigned long long)c[i].sequence, c[i].range);
	free(c);
	return text;
}

const char *
candidates(const struct range *ranges, size_t n)
{
	struct candidate	*c;
	size_t			 nc;

	ck_ok(store_candidates(st, ranges, n, &c, &nc, &e));
	return candidates_text(c, nc);
}

/* Log statements into mysql.general_log; see STATEMENTS. */
void
log_statements(void)
{
	sql("SET GLOBAL log_output = 'TABLE'; TRUNCATE TABLE "
	    "mysql.general_log; SET GLOBAL general_log = 1");
}

unsigned long
reads(void)
{
	return strtoul(sql_text("SELECT SUM(variable_value) FROM %s."
	    "global_status WHERE variable_name LIKE 'Handler_read%%'",
	    is_mysql() ? "performance_schema" : "information_schema"), NULL,
	    10);
}

/* Check each line of the plan, except those of a union's result. */
void
ck_plan(const char *statement, const char *want_keys)
{
	char	*tables, *types, *keys, *extras, *t[4], *at[4];

	tables = xstrdup(sql_column("table", "EXPLAIN %s", statement));
	types = xstrdup(sql_column("type", "EXPLAIN %s", statement));
	keys = xstrdup(sql_column("key", "EXPLAIN %s", statement));
	extras = xstrdup(sql_column("Extra", "EXPLAIN %s", statement));
	t[0] = tables, t[1] = types, t[2] = keys, t[3] = extras;
	memcpy(at, t, sizeof(t));
	while (at[0] != NULL) {
		const char	*cell[4];

		for (int i = 0; i < 4; i++)
			cell[i] = strsep(&at[i], "\n");
		if (cell[0][0] == '<' || strcmp(cell[0], "NULL") == 0)
			continue;
		ck_assert_msg(strcmp(cell[1], "ALL") != 0 &&
		    strcmp(cell[1], "index") != 0, "%s: scan of %s: %.500s",
		    cell[1], cell[0], statement);
		ck_assert_msg(strstr(cell[3], "filesort") == NULL,
		    "filesort of %s: %.500s", cell[0], statement);
		ck_assert_msg(strstr(want_keys, cell[2]) != NULL,
		    "key %s of %s: %.500s", cell[2], cell[0], statement);
	}
	for (int i = 0; i < 4; i++)
		free(t[i]);
}

TCase *
add_case(Suite *s, const char *what, const struct kind *k,
    void (*start)(void), void (*setup)(void), void (*teardown)(void))
{
	static char	 names[32][32];		/* libcheck keeps them */
	static unsigned	 next;
	char		*name = names[next++];

	snprintf(name, sizeof(names[0]), "%s-%s", what, k->name);
	return server_case(s, name, start, setup, teardown);
}

int
frame_run(const char *name, void (*add)(Suite *, const struct kind *))
{
	static const struct kind kinds[] = {
		{ "mariadb", frame_start_mariadb },
		{ "mysql", frame_start_mysql },
	};
	const char	*only = getenv("KIND");
	int		 n = getenv("OUTBOX_MYSQL_TREE") != NULL ? 2 : 1;
	Suite		*s = suite_create(name);

	for (const struct kind *k = kinds; k < kinds + n; k++)
		if (only == NULL || strcmp(only, k->name) == 0)
			add(s, k);
	return servers_test(s);
}
