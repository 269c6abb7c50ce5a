/*
 * trigger.c - the trigger on events: its text, and a check that it exists and
 * enqueues the published types
 */

#include <stdlib.h>
#include <string.h>

#include "ctl/schema/schema_impl.h"
#include "store/partition_by.h"
#include "util/xalloc.h"

#define CODE_BINLOG	1419	/* CREATE TRIGGER needs SUPER */

/* The condition in sql/trigger.sql, for all types; it is replaced. */
static const char	all_types[] = "NEW.event_type LIKE '%'";

/* What its label is computed of, by default; it is replaced, too. */
static const char	key_hash[] =
			    "CRC32(CONVERT(NEW.stream_id USING utf8mb4))";
static const char	inline_hash[] = "CRC32(CONVERT(COALESCE(NEW.order_key,\n"
			    "\t    NEW.message_id) USING utf8mb4))";

#define PLAIN	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" \
		"0123456789 %|._:/+-"

/*
 * A pattern like "order.*" as a LIKE condition.  Characters that are not plain
 * are written as hex.  This works without a server that quotes them, and
 * MariaDB shows triggers without their backslashes and names of character sets.
 */
static void
put_pattern(struct buf *to, const char *pattern)
{
	struct buf	like = { 0 };

	for (const char *p = pattern; *p != '\0'; p++) {
		if (strchr("%_|", *p) != NULL)
			buf_str(&like, "|");
		buf_add(&like, *p == '*' ? "%" : p, 1);
	}
	buf_str(&like, "");
	buf_str(to, "NEW.event_type LIKE ");
	if (like.data[strspn(like.data, PLAIN)] == '\0')
		buf_printf(to, "'%s'", like.data);
	else {
		buf_str(to, "x'");
		for (const char *p = like.data; *p != '\0'; p++)
			buf_printf(to, "%02x", (unsigned)(unsigned char)*p);
		buf_str(to, "'");
	}
	buf_str(to, " ESCAPE '|'");
	buf_free(&like);
}

/* Copy the text with other words in place of "from". */
static void
replace(const char *text, const char *from, const char *by, struct buf *to)
{
	const char	*at;

	for (; (at = strstr(text, from)) != NULL; text = at + strlen(from)) {
		buf_add(to, text, (size_t)(at - text));
		buf_str(to, by);
	}
	buf_str(to, text);
}

int
trigger_render(const struct conf *conf, struct buf *to, struct err *e)
{
	bool		 inlined = conf->outbox.mode == MODE_INLINE;
	const char	*by_key = inlined ? inline_hash : key_hash;
	const struct conf_list *list = &conf->publish.types;
	struct buf	 text = { 0 }, some = { 0 }, types = { 0 };
	struct buf	 hash = { 0 };

	if (schema_put_text(conf, inlined ? schema_file_inline_trigger :
	    schema_file_trigger, &text, e) < 0) {
		buf_free(&text);
		return -1;
	}
	for (size_t i = 0; i < list->n; i++) {
		buf_str(&types, i == 0 ? "" : " OR ");
		put_pattern(&types, list->items[i]);
	}
	if (list->n == 0)
		buf_str(&types, all_types);
	if (conf_partitions_by_key(conf))
		buf_str(&hash, by_key);
	else if (inlined)
		partition_put_hash(conf, "NEW.", "NEW.headers",
		    "COALESCE(NEW.order_key, NEW.message_id)", &hash);
	else
		partition_put_hash(conf, "NEW.", "NEW.metadata",
		    "NEW.stream_id", &hash);
	replace(text.data, all_types, types.data, &some);
	replace(some.data, by_key, hash.data, to);
	buf_free(&hash);
	buf_free(&types);
	buf_free(&some);
	buf_free(&text);
	return 0;
}

/* Does the server, or a proxy, let this account lock the events? */
static bool
may_lock(struct ctl *c, struct err *why)
{
	struct err	e;
	bool		may;

	store_sql(c->store, "LOCK TABLES {events} WRITE");
	may = store_exec(c->store, "schema", NULL, why) == 0;
	if (!may)
		return store_fault(c->store) != DB_WRONG ||
		    db_learnt_wrong(store_db(c->store)) ||
		    !store_is_open(c->store);
	store_sql(c->store, "UNLOCK TABLES");
	store_exec(c->store, "schema", NULL, &e);
	return true;
}

int
trigger_install(struct ctl *c, struct err *e)
{
	struct buf	 text = { 0 }, unlocked = { 0 }, *sql = &text;
	struct err	 why;
	const char	*line, *end;
	int		 rc = trigger_render(c->conf, &text, e);

	if (rc == 0 && !may_lock(c, &why)) {
		ctl_error("the trigger is made without LOCK TABLES, which is "
		    "refused: what is written at that moment may get no row "
		    "or label of it; outboxctl reconcile makes it: %s",
		    why.text);
		for (line = text.data; *line != '\0'; line = end) {
			end = strchr(line, '\n');
			end = end == NULL ? line + strlen(line) : end + 1;
			if (strncmp(line, "LOCK TABLES ", 12) != 0 &&
			    strncmp(line, "UNLOCK TABLES", 13) != 0)
				buf_add(&unlocked, line, (size_t)(end - line));
		}
		sql = &unlocked;
	}
	if (rc == 0 && (rc = schema_run_all(c, sql->data, e)) < 0) {
		if (db_last_code(store_db(c->store)) == CODE_BINLOG) {
			why = *e;
			err_set(e, "%.300s; the server has a binlog: CREATE "
			    "TRIGGER takes SUPER, or SET GLOBAL "
			    "log_bin_trust_function_creators = 1", why.text);
		}
		store_sql(c->store, "UNLOCK TABLES");
		store_exec(c->store, "schema", NULL, &why);
	}
	buf_free(&unlocked);
	buf_free(&text);
	return rc;
}

/*
 * Has the text a "CREATE TRIGGER name ... FOR EACH ROW body"?  Ignores white
 * space.
 */
static bool
has_trigger(const char *text, const char *name, const char *body)
{
	struct schema_walk	 walk = { .at = text, .delimiter = ";" };
	struct buf		 sql = { 0 }, line = { 0 }, wanted = { 0 };
	const char		*from;
	bool			 has = false;

	schema_squeeze(&wanted, body, strlen(body));
	while (!has && schema_next(&walk, &sql)) {
		buf_clear(&line);
		schema_squeeze(&line, sql.data, sql.len);
		from = strstr(line.data, " FOR EACH ROW ");
		if (strncmp(line.data, "CREATE TRIGGER ", 15) == 0 &&
		    from != NULL && strncmp(line.data + 15 +
		    (line.data[15] == '`'), name, strlen(name)) == 0)
			has = strcmp(from + 14, wanted.data) == 0;
	}
	buf_free(&wanted);
	buf_free(&line);
	buf_free(&sql);
	return has;
}

#define CODE_NO_TRIGGER	1360

/*
 * One that the account has no right to see is in no list, but a question for it
 * is denied.
 */
static int
judge_no_trigger(struct check *k, const char *name, struct err *e)
{
	struct store	*s = k->ctl->store;
	struct db_rows	*rows;

	store_sql(s, "SHOW CREATE TRIGGER :name", SQL_NAME("name", name));
	rows = store_query(s, k->ctl->command->words, e);
	db_rows_free(rows);
	if (rows == NULL && store_fault(s) != DB_WRONG)
		return -1;
	if (rows == NULL && db_last_code(store_db(s)) != CODE_NO_TRIGGER)
		schema_find(k, T_EVENTS, SCHEMA_NOTE, "run it with an account "
		    "that has the right TRIGGER on the table, to compare the "
		    "trigger", "there is a trigger that this account cannot "
		    "see");
	else if (k->ctl->args.trigger)
		schema_find(k, T_EVENTS, SCHEMA_WARN,
		    store_is_inline(k->ctl->store) ?
		    "rows without a label are one partition, and those "
		    "without a message_id get none; "
		    "outboxctl schema install --trigger creates it" :
		    "events without an outbox row wait for reconcile; "
		    "outboxctl schema install --trigger creates it",
		    "no trigger, which --trigger asks for");
	return 0;
}

int
trigger_check(struct check *k, struct err *e)
{
	struct store	*s = k->ctl->store;
	bool		 inlined = store_is_inline(s);
	char		*name = xasprintf(inlined ? "%s_before" :
			    "%s_after_event", schema_name(k, T_OUTBOX));
	struct buf	 text = { 0 };
	struct db_rows	*rows = NULL;
	const char	*body;
	int		 rc = trigger_render(k->ctl->conf, &text, e);

	if (rc == 0) {
		store_sql(s, "SELECT action_statement FROM "
		    "information_schema.triggers WHERE trigger_schema = "
		    "DATABASE() AND event_object_table = :events "
		    "AND trigger_name = :name",
		    SQL_TEXT("events", schema_name(k, T_EVENTS)),
		    SQL_TEXT("name", name));
		rows = store_query(s, k->ctl->command->words, e);
		rc = rows == NULL ? -1 : 0;
	}
	body = rc == 0 && db_next(rows) ? db_text(rows, 0) : "";
	if (rc == 0 && body[0] == '\0')
		rc = judge_no_trigger(k, name, e);
	else if (rc == 0 && !has_trigger(text.data, name, body))
		schema_find(k, T_EVENTS, SCHEMA_WARN, inlined ?
		    "it completes rows in another way; outboxctl schema "
		    "upgrade replaces it" :
		    "it enqueues other events than publish.types, or in "
		    "another way; outboxctl schema upgrade replaces it",
		    "the trigger differs from the configured one")->by =
		    BY_TRIGGER;
	db_rows_free(rows);
	buf_free(&text);
	free(name);
	return rc;
}
