/* store.c - the store's frame: open, close, and sending statements */

#include "store/store_impl.h"

#include <stdlib.h>
#include <string.h>
#include <bsd/string.h>

#include "util/clock.h"
#include "util/log.h"
#include "util/xalloc.h"

#define WHOLE_MAX	10000000	/* rows; more would not fit anyway */

struct store *
store_new(const struct conf *conf, const char *id, int64_t wait_ms)
{
	struct store	*s = xcalloc(1, sizeof(*s));

	s->conf = conf;
	s->db = db_new(conf, wait_ms);
	s->tables[T_OUTBOX] = conf_outbox_table(conf);
	s->tables[T_EVENTS] = conf_events_table(conf);
	s->tables[T_PARTITIONS] = conf->outbox.tables.partitions;
	s->tables[T_WORKERS] = conf->outbox.tables.workers;
	s->tables[T_SETTINGS] = conf->outbox.tables.settings;
	s->tables[T_DEAD] = conf->outbox.tables.dead_letters;
	s->tables[T_BLOCKED] = conf->outbox.tables.blocked_keys;
	s->tables[T_STREAMS] = conf->outbox.tables.streams;
	s->tables[T_AUDIT] = conf->outbox.tables.audit;
	s->tables[T_REGISTRY] = conf->outbox.tables.registry;
	strlcpy(s->id, id, sizeof(s->id));
	strlcpy(s->primary[T_OUTBOX], "PRIMARY", sizeof(s->primary[0]));
	strlcpy(s->primary[T_EVENTS], "PRIMARY", sizeof(s->primary[0]));
	store_name_columns(s);
	return s;
}

void
store_free(struct store *s)
{
	if (s == NULL)
		return;
	db_free(s->db);
	buf_free(&s->sql);
	buf_free(&s->dead);
	buf_free(&s->silent);
	free(s->heard);
	free(s);
}

struct db *
store_db(const struct store *s)
{
	return s->db;
}

int
store_open(struct store *s, struct err *e)
{
	s->served = s->learnt;
	return db_open(s->db, e);
}

void
store_close(struct store *s)
{
	db_close(s->db);
}

bool
store_is_open(const struct store *s)
{
	return db_is_open(s->db);
}

const char *
store_id(const struct store *s)
{
	return s->id;
}

const char *
store_peer(const struct store *s)
{
	return db_peer(s->db);
}

int
store_cluster(struct store *s, struct server *server, struct err *e)
{
	if (server_read(s->db, server, e) < 0)
		return -1;
	strlcpy(s->server, server->name, sizeof(s->server));
	return 0;
}

enum db_fault
store_fault(const struct store *s)
{
	return db_last_fault(s->db);
}

void
store_note_dead(struct store *s, const char *nonce)
{
	buf_printf(&s->dead, ",'%.16s'", nonce);
}

void
store_forget_dead(struct store *s)
{
	buf_clear(&s->dead);
}

void
store_explain(struct store *s, void (*planned)(void *, const char *,
    struct db_rows *, const struct err *), void *arg)
{
	s->planned = planned;
	s->planned_arg = arg;
	s->planned_waits = false;
}

static void
explain(struct store *s, const char *what)
{
	struct buf	 sql = { 0 };
	struct db_rows	*plan;
	struct err	 e;

	if (s->planned_waits)
		return;
	buf_str(&sql, "EXPLAIN FORMAT=TRADITIONAL ");
	buf_add(&sql, s->sql.data, s->sql.len);
	plan = db_query(s->db, what, &sql, &e);
	s->planned(s->planned_arg, what, plan, &e);
	s->planned_waits = plan == NULL && strstr(e.text, "(1205)") != NULL;
	db_rows_free(plan);
	buf_free(&sql);
}

int
store_exec(struct store *s, const char *what, uint64_t *matched,
    struct err *e)
{
	if (s->planned != NULL) {
		explain(s, what);
		if (matched != NULL)
			*matched = 0;
		return 0;
	}
	return db_exec(s->db, what, &s->sql, matched, e);
}

static bool
ends_with(const struct buf *sql, const char *text)
{
	size_t	n = strlen(text);

	return sql->len >= n && memcmp(sql->data + sql->len - n, text, n) == 0;
}

/*
 * What a SELECT returns is taken for whole: rows that are not there are
 * delivered, or have no lease, or were never lost.  So each has a LIMIT of its
 * own, which no setting replaces; returns whether it is this one.  A SELECT in
 * parentheses that stands alone has it inside.
 */
static bool
limit_select(struct buf *sql)
{
	static const char *const	locks[] = { " FOR UPDATE SKIP LOCKED",
					    " FOR UPDATE",
					    " LOCK IN SHARE MODE" };
	const char			*lock = "";
	struct buf			 head;
	bool				 whole;

	if (sql->len == 0 || (strncmp(sql->data, "SELECT", 6) != 0 &&
	    (sql->data[0] != '(' || strstr(sql->data, " UNION ") == NULL)))
		return false;
	for (size_t i = 0; i < sizeof(locks) / sizeof(locks[0]) &&
	    lock[0] == '\0'; i++)
		if (ends_with(sql, locks[i]))
			lock = locks[i];
	buf_chop(sql, strlen(lock));
	/* Does it end with a LIMIT?  One in a literal has a quote behind it. */
	head = *sql;
	while (head.len > 0 &&
	    strchr("0123456789, ", head.data[head.len - 1]) != NULL)
		head.len--;
	whole = !ends_with(&head, " LIMIT");
	if (whole)
		buf_printf(sql, " LIMIT %d", WHOLE_MAX + 1);
	buf_str(sql, lock);
	return whole;
}

struct db_rows *
store_query(struct store *s, const char *what, struct err *e)
{
	bool		 whole = limit_select(&s->sql);
	struct db_rows	*rows;

	if (s->planned != NULL) {
		explain(s, what);
		err_set(e, "%s: explained", what);
		return NULL;
	}
	rows = db_query(s->db, what, &s->sql, e);
	if (rows == NULL || !whole || db_nrows(rows) <= WHOLE_MAX)
		return rows;
	db_rows_free(rows);
	err_set(e, "%s: more than %d rows", what, WHOLE_MAX);
	return NULL;
}

int
store_query_text(struct store *s, const char *what, char *text, size_t size,
    struct err *e)
{
	struct db_rows	*rows = store_query(s, what, e);

	if (rows == NULL)
		return -1;
	strlcpy(text, db_next(rows) ? db_text(rows, 0) : "", size);
	db_rows_free(rows);
	return 0;
}

int
store_query_number(struct store *s, const char *what, uint64_t *n,
    struct err *e)
{
	char	text[32];

	if (store_query_text(s, what, text, sizeof(text), e) < 0)
		return -1;
	*n = strtoull(text, NULL, 10);
	return 0;
}

int
store_query_any(struct store *s, const char *what, bool *any, struct err *e)
{
	struct db_rows	*rows = store_query(s, what, e);

	if (rows == NULL)
		return -1;
	*any = db_next(rows);
	db_rows_free(rows);
	return 0;
}

bool
store_isolate(const struct store *s, struct isolate *i, int rc)
{
	return isolate_judge(i, rc, db_refused_value(s->db));
}

/*
 * False: it is known, or one of too many.  anew: nobody removes rows from the
 * list, so the oldest makes room.
 */
static bool
is_news(struct refusals *l, uint64_t sequence, const char *what,
    const char *why, bool anew)
{
	struct refusal	*r;

	for (size_t i = 0; i < l->n; i++)
		if (l->items[i].sequence == sequence) {
			l->items[i].claim = l->claim;
			return false;
		}
	if (l->n == STORE_REFUSALS && !anew)
		return false;
	if (l->n == STORE_REFUSALS)
		store_drop_refusal(l, 0);
	r = &l->items[l->n++];
	*r = (struct refusal){ .sequence = sequence, .since = clock_ms(),
	    .claim = l->claim };
	err_set(&r->why, "cannot be %s: %s", what, why);
	return true;
}

void
store_say_refused(struct store *s, uint64_t sequence, const char *what,
    const struct err *why)
{
	if (is_news(&s->refusals, sequence, what, why->text, false))
		log_event(LOG_LVL_ERROR, LOG_FIELDS(LOG_NUMBER("sequence",
		    sequence), LOG_TEXT("error_class", "row")),
		    "sequence %llu cannot be %s: the database refuses this "
		    "row: %s; the row and its key wait: repair the row or the "
		    "table, or run outboxctl messages discard %llu",
		    (unsigned long long)sequence, what, why->text,
		    (unsigned long long)sequence);
}

void
store_say_kept(struct store *s, uint64_t sequence, const char *what,
    const struct err *why)
{
	if (is_news(&s->refusals, sequence, what, why->text, true))
		log_event(LOG_LVL_ERROR, LOG_FIELDS(LOG_NUMBER("sequence",
		    sequence), LOG_TEXT("error_class", "row")),
		    "sequence %llu cannot be %s: the database refuses this "
		    "row: %s; the others go on: repair the row or the table",
		    (unsigned long long)sequence, what, why->text);
}

void
store_say_locked(struct store *s, uint64_t sequence)
{
	if (is_news(&s->refusals, sequence, "claimed", STORE_LOCKED, false))
		log_event(LOG_LVL_WARN, LOG_FIELDS(LOG_NUMBER("sequence",
		    sequence), LOG_TEXT("error_class", "row")),
		    "sequence %llu cannot be claimed: " STORE_LOCKED "; the "
		    "row and its key wait until that ends",
		    (unsigned long long)sequence);
}

struct refusals *
store_refusals(struct store *s)
{
	return &s->refusals;
}

void
store_drop_refusal(struct refusals *l, size_t i)
{
	memmove(&l->items[i], &l->items[i + 1],
	    (--l->n - i) * sizeof(l->items[0]));
}

int
store_begin(struct store *s, struct err *e)
{
	if (s->planned != NULL)		/* it has no plan */
		return 0;
	store_sql(s, "START TRANSACTION");
	return store_exec(s, "begin", NULL, e);
}

int
store_end(struct store *s, int rc, struct err *e)
{
	if (s->planned != NULL)
		return rc;
	if (rc == 0) {
		store_sql(s, "COMMIT");
		rc = store_exec(s, "commit", NULL, e);
	}
	if (rc < 0)
		db_rollback(s->db);
	return rc;
}

int
store_hurry(struct store *s, bool hurry, struct err *e)
{
	return s->planned != NULL ? 0 : db_hurry(s->db, hurry, e);
}

int
store_end_in_a_hurry(struct store *s, int rc, struct err *e)
{
	rc = store_end(s, rc, e);
	if (!db_is_open(s->db))
		return rc;
	return store_hurry(s, false, e) < 0 ? -1 : rc;
}

int
store_begin_in_a_hurry(struct store *s, struct err *e)
{
	if (store_hurry(s, true, e) < 0)
		return -1;
	return store_begin(s, e) == 0 ? 0 : store_end_in_a_hurry(s, -1, e);
}

bool
store_is_pillar(const struct store *s)
{
	return s->profile == PROFILE_PILLAR;
}

bool
store_is_full(const struct store *s)
{
	return s->profile == PROFILE_FULL;
}

bool
store_lacks(const struct store *s, enum store_table t)
{
	return s->profile != PROFILE_PILLAR && !s->exists[t];
}

const char *
store_table_name(const struct store *s, enum store_table table)
{
	return s->tables[table];
}
