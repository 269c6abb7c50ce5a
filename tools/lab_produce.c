/*
 * lab_produce.c - commit events, as applications do
 *
 * Each producer is a thread with a connection and keys of its own, so the
 * transactions of a key follow each other and its order is known.  A producer
 * and its keys are of one kind, see struct lab_kind.  The producer sets
 * stream_sequence itself: after a connection is lost during COMMIT, the table
 * tells whether it was committed.
 */
#include <err.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <libdeflate.h>

#include "lab.h"

#define PATIENCE_MS	180000	/* longest wait for a database that is away */
#define CHUNK_ROWS	1000	/* rows of one INSERT, and */
#define CHUNK_BYTES	1000000	/* bytes, roughly */
#define BULK_TXN	5000
#define MAX_TYPES	8

enum outcome {
	DONE,
	AGAIN,		/* nothing happened: deadlock and the like */
	LOST,		/* the connection is gone */
	FAILED
};

struct key {
	char		 name[96];
	uint32_t	 crc;		/* makes its label */
	uint64_t	 next;		/* stream_sequence; 0: not known */
};

struct sql {
	char	*data;
	size_t	 len, size;
};

struct producer {
	const struct lab_opts	*o;
	const struct lab_shape	*shape;		/* NULL: our own tables */
	pthread_t	 thread;
	unsigned	 number;
	struct lab_kind	 kind;
	uint64_t	 count;		/* partition count known here */
	int64_t		 learn_at;	/* when to read it again */
	MYSQL		*db;
	struct key	*keys;
	size_t		 nkeys;
	struct key	**used;		/* by this transaction, in order */
	size_t		 nused;
	uint64_t	*ids;		/* of one chunk */
	uint64_t	 id_step;
	struct sql	 sql, payload;
	char		*type_list, *types[MAX_TYPES];
	size_t		 ntypes;
	uint64_t	 random, made, committed, share;
	bool		 committing;
	char		 why[512];
};

/* Shared by all producers. */
static _Atomic uint64_t	total;
static atomic_bool	broken;

static void
sql_reserve(struct sql *s, size_t n)
{
	if (s->size - s->len > n)
		return;
	s->size = (s->len + n) * 2 + 256;
	s->data = lab_realloc(s->data, s->size, 1);
}

static void __attribute__((format(printf, 2, 3)))
sql_add(struct sql *s, const char *fmt, ...)
{
	va_list	ap;
	size_t	room;
	int	n;

	sql_reserve(s, 64);
	for (;;) {
		room = s->size - s->len;
		va_start(ap, fmt);
		n = vsnprintf(s->data + s->len, room, fmt, ap);
		va_end(ap);
		if ((size_t)n < room)
			break;
		sql_reserve(s, (size_t)n);
	}
	s->len += (size_t)n;
}

static void
sql_quote(struct producer *p, const char *text, size_t len)
{
	struct sql	*s = &p->sql;

	sql_reserve(s, len * 2 + 3);
	s->data[s->len++] = '\'';
	s->len += mysql_real_escape_string(p->db, s->data + s->len, text, len);
	s->data[s->len++] = '\'';
	s->data[s->len] = '\0';
}

/* xorshift64: good enough to choose keys. */
static uint64_t
next_random(struct producer *p)
{
	p->random ^= p->random << 13;
	p->random ^= p->random >> 7;
	p->random ^= p->random << 17;
	return p->random;
}

static enum outcome
outcome_of(struct producer *p)
{
	snprintf(p->why, sizeof(p->why), "%s", mysql_error(p->db));
	switch (mysql_errno(p->db)) {
	case 1317:	/* interrupted: the session goes on, as in a pool */
		return p->committing ? LOST : AGAIN;
	case 1064:	/* of MariaDB: see query_kill in tests/chaos */
		return strstr(p->why, "has an error in its body") != NULL ?
		    AGAIN : FAILED;
	case 1020:	/* record has changed */
	case 1062:	/* another program numbers the same keys */
	case 1205:	/* lock wait */
	case 1213:	/* deadlock */
	case 1412:	/* the table is a new one */
	case 3101:	/* group replication: another member changed the rows */
		return AGAIN;
	case 1047:	/* Galera: not ready */
	case 1053:	/* shutdown */
	case 1105:	/* vtgate: its shard changes its primary */
	case 1180:	/* Galera: lost its majority in COMMIT */
	case 1290:	/* read only: another server is the primary now */
	case 1836:	/* read only by another name */
	case 1927:	/* killed */
	case 2006:
	case 2013:
	case 2055:
	case 3100:	/* group replication: the member left its group */
	case 4031:	/* idle for too long */
		return LOST;
	}
	return FAILED;
}

static enum outcome
run(struct producer *p, const char *sql, size_t len)
{
	if (mysql_real_query(p->db, sql, (unsigned long)len) == 0)
		return DONE;
	return outcome_of(p);
}

static enum outcome
run_text(struct producer *p, const char *sql)
{
	return run(p, sql, strlen(sql));
}

/* Query one number; *n is 0 if there is none. */
static enum outcome
ask(struct producer *p, uint64_t *n)
{
	enum outcome	 out = run(p, p->sql.data, p->sql.len);
	MYSQL_RES	*res;
	MYSQL_ROW	 row;

	*n = 0;
	if (out != DONE)
		return out;
	if ((res = mysql_store_result(p->db)) == NULL)
		return outcome_of(p);
	if ((row = mysql_fetch_row(res)) != NULL && row[0] != NULL)
		*n = strtoull(row[0], NULL, 10);
	mysql_free_result(res);
	return DONE;
}

static enum outcome
load_key(struct producer *p, struct key *k)
{
	enum outcome	out;
	uint64_t	last;

	p->sql.len = 0;
	if (p->shape != NULL) {
		sql_add(&p->sql, "SELECT MAX(CAST(SUBSTRING_INDEX(%s, '.', -1)"
		    " AS UNSIGNED)) FROM %s WHERE %s LIKE '%s.%%'",
		    p->shape->id, p->shape->table, p->shape->id, k->name);
	} else {
		sql_add(&p->sql, "SELECT MAX(stream_sequence) FROM events "
		    "WHERE stream_id = ");
		sql_quote(p, k->name, strlen(k->name));
	}
	if ((out = ask(p, &last)) == DONE)
		k->next = last + 1;
	return out;
}

/* Read the count as applications do: by a plain SELECT, now and then. */
static enum outcome
learn_count(struct producer *p)
{
	enum outcome	out;

	if (p->kind.by != LAB_BY_LATE || lab_now_ms() < p->learn_at)
		return DONE;
	if (p->o->count_file != NULL) {
		p->count = lab_count_in_file(p->o->count_file);
	} else {
		p->sql.len = 0;
		sql_add(&p->sql, "SELECT partition_count FROM outbox_settings"
		    " WHERE id = 1");
		if ((out = ask(p, &p->count)) != DONE)
			return out;
		if (p->count == 0)
			errx(1, "outbox_settings.partition_count is not set");
	}
	p->learn_at = lab_now_ms() +
	    (int64_t)(next_random(p) % (p->kind.n * 1000 + 1));
	return DONE;
}

/* Choose the keys of n events; before BEGIN, so that no snapshot is open. */
static enum outcome
choose(struct producer *p, size_t n)
{
	enum outcome	 out;
	struct key	*k;

	for (p->nused = 0; p->nused < n; p->nused++) {
		k = &p->keys[next_random(p) % p->nkeys];
		if (k->next == 0 && (out = load_key(p, k)) != DONE)
			return out;
		p->used[p->nused] = k;
	}
	return DONE;
}

static void
forget(struct producer *p)
{
	for (size_t i = 0; i < p->nused; i++)
		p->used[i]->next = 0;
}

static void
make_payload(struct producer *p, const struct key *k, uint64_t n)
{
	struct sql	*s = &p->payload;
	size_t		 want = (size_t)p->o->payload;

	s->len = 0;
	if (p->o->same) {
		sql_add(s, "{}");
		return;
	}
	sql_add(s, "{\"key\":\"%s\",\"n\":%llu,\"pad\":\"", k->name,
	    (unsigned long long)n);
	sql_reserve(s, want + 3);
	while (s->len + 2 < want) {
		s->data[s->len] = (char)('a' + (n + s->len) % 26);
		s->len++;
	}
	s->data[s->len] = '\0';
	sql_add(s, "\"}");
}

/* Of the n-th event: those of the list in turns. */
static const char *
type_of(const struct producer *p, uint64_t n)
{
	return p->types[n / (uint64_t)p->o->producers % p->ntypes];
}

/* Append the values that CALL and INSERT share. */
static void
add_event(struct producer *p, struct key *k)
{
	uint64_t	n = p->made++ * (uint64_t)p->o->producers + p->number;

	sql_add(&p->sql, "'%s', %llu, '%s', 1, ", k->name,
	    (unsigned long long)k->next++, type_of(p, n));
	if (n % 4 == 0)
		sql_add(&p->sql, "'c-%llu', '{\"traceparent\": "
		    "\"00-%032llx-%016llx-01\", \"tenant\": \"t%llu\"}', ",
		    (unsigned long long)n, (unsigned long long)n + 1,
		    (unsigned long long)n + 1, (unsigned long long)n % 3);
	else
		sql_add(&p->sql, "NULL, NULL, ");
	make_payload(p, k, n);
	sql_quote(p, p->payload.data, p->payload.len);
}

/* Is the type another column than the key? */
static bool
has_type(const struct lab_shape *s)
{
	return strcmp(s->type, s->key) != 0;
}

/*
 * The same for a message, whose id is its key and its number.  The label is
 * SQL; NULL for the procedure, which makes it, and for the trigger.
 */
static void
add_message(struct producer *p, struct key *k, const char *label)
{
	const struct lab_shape	*s = p->shape;
	uint64_t		 n;

	n = p->made++ * (uint64_t)p->o->producers + p->number;
	sql_add(&p->sql, "'%s.%llu', ", k->name, (unsigned long long)k->next++);
	if (has_type(s))
		sql_add(&p->sql, "'%s', ", type_of(p, n));
	sql_add(&p->sql, "'%s', ", k->name);
	if (label != NULL)
		sql_add(&p->sql, "%s, ", label);
	if (s->headers != NULL && n % 4 == 0)
		sql_add(&p->sql, "'{\"traceparent\": "
		    "\"00-%032llx-%016llx-01\"}', ", (unsigned long long)n + 1,
		    (unsigned long long)n + 1);
	else if (s->headers != NULL)
		sql_add(&p->sql, "NULL, ");
	make_payload(p, k, n);
	sql_quote(p, p->payload.data, p->payload.len);
}

/* The columns for it, in this order. */
static void
add_columns(struct producer *p, bool label)
{
	const struct lab_shape	*s = p->shape;

	sql_add(&p->sql, "INSERT INTO %s (", s->table);
	if (s->other != NULL)
		sql_add(&p->sql, "%s, ", s->other);
	sql_add(&p->sql, "%s, ", s->id);
	if (has_type(s))
		sql_add(&p->sql, "%s, ", s->type);
	sql_add(&p->sql, "%s, ", s->key);
	if (label)
		sql_add(&p->sql, "partition_key, ");
	if (s->headers != NULL)
		sql_add(&p->sql, "%s, ", s->headers);
	sql_add(&p->sql, "%s) VALUES ", s->payload);
}

static bool
has_labels(const struct producer *p)
{
	return p->kind.by == LAB_BY_FIXED || p->kind.by == LAB_BY_LATE;
}

/* Insert messages from the i-th on; *n is the number that fitted. */
static enum outcome
insert_messages(struct producer *p, size_t i, size_t *n)
{
	size_t	max = p->o->bulk ? CHUNK_ROWS : 1;
	char	label[LAB_LABEL];

	p->sql.len = 0;
	add_columns(p, has_labels(p));
	for (*n = 0; *n < max && i + *n < p->nused &&
	    p->sql.len < CHUNK_BYTES; ++*n) {
		if (has_labels(p))
			lab_label(label, p->used[i + *n]->crc, p->count);
		sql_add(&p->sql, *n > 0 ? ", (" : "(");
		if (p->shape->other != NULL)
			sql_add(&p->sql, "'lab', ");
		add_message(p, p->used[i + *n],
		    has_labels(p) ? label : NULL);
		sql_add(&p->sql, ")");
	}
	return run(p, p->sql.data, p->sql.len);
}

static enum outcome
call_each(struct producer *p)
{
	enum outcome	out;

	for (size_t i = 0; i < p->nused; i++) {
		p->sql.len = 0;
		if (p->shape != NULL) {
			sql_add(&p->sql, "CALL outbox_enqueue_message(");
			add_message(p, p->used[i], NULL);
			sql_add(&p->sql, ", 'application/json', NULL)");
		} else {
			sql_add(&p->sql, "CALL outbox_enqueue(");
			add_event(p, p->used[i]);
			sql_add(&p->sql, ")");
		}
		if ((out = run(p, p->sql.data, p->sql.len)) != DONE)
			return out;
	}
	return DONE;
}

/* Insert events from the i-th on; *n is the number that fitted. */
static enum outcome
insert_events(struct producer *p, size_t i, size_t *n)
{
	size_t		max = p->o->bulk ? CHUNK_ROWS : 1;
	enum outcome	out;

	p->sql.len = 0;
	sql_add(&p->sql, "INSERT INTO events (stream_id, stream_sequence, "
	    "event_type, event_version, correlation_id, metadata, event_data)"
	    " VALUES ");
	for (*n = 0; *n < max && i + *n < p->nused &&
	    p->sql.len < CHUNK_BYTES; ++*n) {
		sql_add(&p->sql, *n > 0 ? ", (" : "(");
		add_event(p, p->used[i + *n]);
		sql_add(&p->sql, ")");
	}
	if ((out = run(p, p->sql.data, p->sql.len)) != DONE)
		return out;
	/* That is the first id; a multi-row INSERT has consecutive ones. */
	for (size_t j = 0; j < *n; j++)
		p->ids[j] = mysql_insert_id(p->db) + j * p->id_step;
	return DONE;
}

static enum outcome
insert_outbox(struct producer *p, size_t i, size_t n)
{
	char	label[LAB_LABEL];

	p->sql.len = 0;
	sql_add(&p->sql, "INSERT INTO outbox (global_sequence, partition_key)"
	    " VALUES ");
	for (size_t j = 0; j < n; j++) {
		lab_label(label, p->used[i + j]->crc, p->count);
		sql_add(&p->sql, "%s(%llu, %s)", j > 0 ? ", " : "",
		    (unsigned long long)p->ids[j], label);
	}
	return run(p, p->sql.data, p->sql.len);
}

static enum outcome
insert_each(struct producer *p)
{
	enum outcome	out;
	size_t		n;

	for (size_t i = 0; i < p->nused; i += n) {
		out = p->shape != NULL ? insert_messages(p, i, &n) :
		    insert_events(p, i, &n);
		if (out == DONE && p->shape == NULL && has_labels(p))
			out = insert_outbox(p, i, n);
		if (out != DONE)
			return out;
	}
	return DONE;
}

static enum outcome
attempt(struct producer *p, size_t n)
{
	enum outcome	out;
	bool		back, call;

	back = next_random(p) % 100 < (uint64_t)p->o->rollback;
	call = p->kind.by == LAB_BY_PROCEDURE ||
	    (p->kind.by == LAB_BY_MIXED && next_random(p) % 2 == 0);
	if ((out = learn_count(p)) != DONE || (out = choose(p, n)) != DONE)
		return out;
	if ((out = run_text(p, "START TRANSACTION")) != DONE)
		return out;
	out = call ? call_each(p) : insert_each(p);
	if (out != DONE)
		return out;
	if (back) {
		out = run_text(p, "ROLLBACK");
		return out == DONE ? AGAIN : out;
	}
	p->committing = true;
	return run_text(p, "COMMIT");
}

/*
 * The connection was lost in COMMIT: does the last event exist?  The server may
 * still be committing; the shared lock waits for the outcome.
 */
static enum outcome
landed(struct producer *p)
{
	struct key	*k = p->used[p->nused - 1];
	enum outcome	 out;
	uint64_t	 yes;

	p->sql.len = 0;
	if (p->shape != NULL) {
		sql_add(&p->sql, "SELECT 1 FROM %s WHERE %s = '%s.%llu'",
		    p->shape->table, p->shape->id, k->name,
		    (unsigned long long)k->next - 1);
	} else {
		sql_add(&p->sql, "SELECT 1 FROM events WHERE stream_sequence "
		    "= %llu AND stream_id = ",
		    (unsigned long long)k->next - 1);
		sql_quote(p, k->name, strlen(k->name));
	}
	sql_add(&p->sql, " LOCK IN SHARE MODE");
	if ((out = ask(p, &yes)) != DONE)
		return out;
	return yes ? DONE : AGAIN;
}

static bool
connect_again(struct producer *p)
{
	int64_t	deadline = lab_now_ms() + PATIENCE_MS;
	char	why[256];

	mysql_close(p->db);
	while ((p->db = lab_db_try(p->o, why)) == NULL) {
		if (lab_stopped || lab_now_ms() > deadline) {
			snprintf(p->why, sizeof(p->why), "%s", why);
			return false;
		}
		lab_pause(200);
	}
	return true;
}

/* After a failed attempt, find out whether it was committed. */
static enum outcome
recover(struct producer *p, enum outcome out)
{
	while (out == LOST) {
		if (!connect_again(p))
			return FAILED;
		out = p->committing ? landed(p) : AGAIN;
	}
	if (out == AGAIN) {
		forget(p);
		if (run_text(p, "ROLLBACK") != DONE)
			return connect_again(p) ? AGAIN : FAILED;
	}
	return out;
}

/* Retry until n events are committed; false: failed or stopped. */
static bool
transaction(struct producer *p, size_t n)
{
	enum outcome	out = AGAIN;

	while (out == AGAIN && !lab_stopped) {
		p->committing = false;
		if ((out = attempt(p, n)) != DONE)
			out = recover(p, out);
	}
	if (out == DONE) {
		p->committed += n;
		total += n;
	}
	if (out == FAILED)
		warnx("database: %s", p->why);
	return out == DONE;
}

/* Sleep to keep the rate, which all producers share. */
static void
keep_pace(const struct producer *p, int64_t start)
{
	int64_t	due;

	if (p->o->rate == 0)
		return;
	due = start + (int64_t)(p->committed * 1000 *
	    (uint64_t)p->o->producers / (uint64_t)p->o->rate);
	lab_pause(due - lab_now_ms());
}

static void *
produce(void *arg)
{
	struct producer	*p = arg;
	int64_t		 start = lab_now_ms();
	uint64_t	 n;

	mysql_thread_init();
	while (!lab_stopped && !broken && p->committed < p->share) {
		n = p->share - p->committed;
		if (n > (uint64_t)p->o->per_txn)
			n = (uint64_t)p->o->per_txn;
		if (!transaction(p, (size_t)n) && !lab_stopped)
			broken = true;
		keep_pace(p, start);
	}
	mysql_thread_end();
	return NULL;
}

/* The keys are dealt out to the producers in turn. */
static void
make_keys(struct producer *p)
{
	size_t	all = (size_t)p->o->keys, step = (size_t)p->o->producers;

	p->nkeys = (all - p->number + step - 1) / step;
	p->keys = lab_realloc(NULL, p->nkeys, sizeof(*p->keys));
	for (size_t i = 0; i < p->nkeys; i++) {
		struct key	*k = &p->keys[i];

		snprintf(k->name, sizeof(k->name), "%s%zu", p->o->key_prefix,
		    i * step + p->number);
		k->next = 0;
		k->crc = libdeflate_crc32(0, k->name, strlen(k->name));
	}
}

static void
set_types(struct producer *p)
{
	char	*save = NULL;

	p->type_list = lab_strdup(p->o->type);
	p->types[0] = strtok_r(p->type_list, ",", &save);
	while (p->types[p->ntypes] != NULL && ++p->ntypes < MAX_TYPES)
		p->types[p->ntypes] = strtok_r(NULL, ",", &save);
	if (p->ntypes == 0 || strtok_r(NULL, ",", &save) != NULL)
		errx(2, "--type: one to %d types", MAX_TYPES);
}

static void
setup(struct producer *p, const struct lab_opts *o, struct lab_kind kind,
    unsigned number)
{
	memset(p, 0, sizeof(*p));
	p->o = o;
	p->shape = lab_shape(o);
	p->kind = kind;
	p->count = kind.n;
	p->number = number;
	p->random = (uint64_t)lab_now_ms() * 2654435761u + number + 1;
	p->share = (uint64_t)(o->events / o->producers +
	    (number < o->events % o->producers));
	if (o->forever)
		p->share = UINT64_MAX;
	set_types(p);
	p->db = lab_db_open(o);
	p->id_step = lab_db_number(p->db,
	    "SELECT @@SESSION.auto_increment_increment");
	make_keys(p);
	p->used = lab_realloc(NULL, (size_t)o->per_txn, sizeof(*p->used));
	p->ids = lab_realloc(NULL, CHUNK_ROWS, sizeof(*p->ids));
}

static void
finish(struct producer *p)
{
	if (p->db != NULL)
		mysql_close(p->db);
	free(p->type_list);
	free(p->keys);
	free(p->used);
	free(p->ids);
	free(p->sql.data);
	free(p->payload.data);
}

static void
check_names(const struct lab_opts *o)
{
	const char	*odd = "'\"\\";

	if (o->key_prefix[strcspn(o->key_prefix, odd)] != '\0' ||
	    o->type[strcspn(o->type, odd)] != '\0' ||
	    strlen(o->key_prefix) > 64)
		errx(2, "--key-prefix, --type: no quotes, and a prefix of "
		    "at most 64 bytes");
}

int
lab_produce(const struct lab_opts *given)
{
	struct lab_opts	 o = *given;
	struct lab_kind	 kinds[LAB_MAX_KINDS];
	size_t		 nkinds = lab_kinds(&o, kinds);
	struct producer	*p;

	check_names(&o);
	if (o.producers > o.keys)
		o.producers = o.keys;
	if ((size_t)o.producers < nkinds)
		errx(2, "--producers, --keys: at least one for each of the "
		    "%zu kinds", nkinds);
	if (o.per_txn == 0)
		o.per_txn = o.bulk ? BULK_TXN : 1;
	lab_catch_signals();
	p = lab_realloc(NULL, (size_t)o.producers, sizeof(*p));
	for (unsigned i = 0; i < o.producers; i++)
		setup(&p[i], &o, kinds[i % nkinds], i);
	for (unsigned i = 0; i < o.producers; i++)
		if (pthread_create(&p[i].thread, NULL, produce, &p[i]) != 0)
			errx(1, "no thread");
	for (unsigned i = 0; i < o.producers; i++) {
		pthread_join(p[i].thread, NULL);
		finish(&p[i]);
	}
	free(p);
	mysql_library_end();
	nats_Close();
	printf("committed %llu\n", (unsigned long long)total);
	if (broken)
		return 1;
	return o.forever || total == (uint64_t)o.events ? 0 : 1;
}
