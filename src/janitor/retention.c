/*
 * retention.c - see retention.h
 *
 * Only one janitor per outbox table works: it holds a named lock, which ends
 * with its connection.  Where a proxy or a cluster refuses named locks, each
 * works, which costs time and is safe.  The state of a pass ends with the
 * connection, too: after a failed step a new pass begins.
 */

#include "janitor/retention.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "store/watermark.h"
#include "util/log.h"
#include "store/prune.h"
#include "store/store_sql.h"
#include "util/xalloc.h"

#define PASS_MS		(60 * 1000)	/* between passes */
#define DEAD_MS		(60 * 60 * 1000)	/* the same for dead letters */
#define ELECT_MS	(5 * 1000)	/* between attempts to get the lock */
#define HISTORY_MS	(5 * 1000)	/* between reads of the history */
#define TELL_MS		(60 * 60 * 1000)

/* If the database refuses to delete more rows, it is not the rows. */
#define REFUSED_MAX	100

enum phase { ELECT, BEGIN, SLICE, ROWS, DEAD, END };

struct retention {
	const struct conf	*conf;
	struct store		*store;
	enum phase		 phase;

	struct prune_limits	 limits;
	struct store_period	 left;		/* not counted yet */
	struct store_period	 slice;		/* counted: rows to delete */
	uint64_t		*list;		/* a batch */
	uint64_t		 refused[REFUSED_MAX];	/* rows that stay */
	size_t			 nrefused;
	struct prune_page	 dead_page;	/* its dead letters: in list */

	bool			 no_history;	/* history not readable */
	bool			 waits;		/* for the server's purge */
	int64_t			 history_at;	/* next read of the history */
	int64_t			 dead_at;	/* next scan of dead letters */

	bool			 introduced, second, stuck;	/* logged */
	bool			 told_no_lock;			/* the same */
	bool			 went_through;	/* a pass has deleted rows */
	int64_t			 told_at;
	uint64_t		 rows, dead, marks;	/* since told_at */
};

struct retention *
retention_new(const struct conf *conf, struct store *store)
{
	struct retention	*r = xcalloc(1, sizeof(*r));

	r->conf = conf;
	r->store = store;
	r->list = xcalloc((size_t)conf->retention.batch, sizeof(*r->list));
	r->dead_page.list = r->list;
	r->dead_page.max = (size_t)conf->retention.batch;
	r->dead_page.marks = xcalloc(r->dead_page.max, sizeof(*r->list));
	r->told_at = clock_ms();
	return r;
}

void
retention_reset(struct retention *r)
{
	r->phase = ELECT;
	r->no_history = false;
	r->dead_at = 0;
}

static const char *
how_long(char text[32], int64_t days)
{
	snprintf(text, 32, days == 0 ? "for ever" : "for %lld day(s)",
	    (long long)days);
	return text;
}

/*
 * The lock's name is made of database and table, so that instances that share a
 * server do not block each other.  It has at most 64 characters.
 */
static int
elect(struct retention *r, int64_t *delay_ms, struct err *e)
{
	struct store	*s = r->store;
	char		 rows[32], dead[32];
	uint64_t	 got;

	store_sql(s, "SELECT GET_LOCK(CONCAT('outbox janitor ', LEFT(SHA2("
	    "CONCAT(DATABASE(), '.', :outbox), 256), 40)), 0)",
	    SQL_TEXT("outbox", store_table_name(s, T_OUTBOX)));
	if (store_query_number(s, "retention", &got, e) < 0) {
		/* It reads no table: what is wrong is the function. */
		if (store_fault(s) != DB_WRONG || !store_is_open(s))
			return -1;
		if (!r->told_no_lock)
			log_warn("retention: goes on without a lock, which a "
			    "proxy or the server refuses; janitors of several "
			    "hosts may do the same work twice, which is safe: "
			    "%s", e->text);
		r->told_no_lock = true;
		got = 1;
	}
	if (got != 1) {
		if (!r->second)
			log_info("retention: another janitor has the lock: "
			    "waiting");
		r->second = true;
		*delay_ms = ELECT_MS;
		return 0;
	}
	if (!r->introduced)
		log_info("retention: delivered rows are kept %s, dead letters "
		    "%s", how_long(rows, r->conf->retention.days),
		    how_long(dead, r->conf->retention.dead_days));
	r->introduced = true;
	r->second = false;
	r->phase = BEGIN;
	return 0;
}

static int
begin_pass(struct retention *r, struct err *e)
{
	struct store	*s = r->store;
	char		 cutoff[64];
	bool		 indexed;

	snprintf(cutoff, sizeof(cutoff), "NOW(6) - INTERVAL %lld DAY",
	    (long long)r->conf->retention.days);
	if (prune_limits(s, cutoff, r->conf->retention.dead_days, &r->limits,
	    e) < 0)
		return -1;
	r->left = (struct store_period){ PRUNE_BEGINNING, r->limits.until };
	r->dead_page.after = 0;
	r->nrefused = 0;
	r->phase = DEAD;
	if (r->conf->retention.days == 0)
		return 0;
	r->phase = SLICE;
	if (r->limits.needed && !r->stuck)
		log_info("retention: rows delivered after %.19sZ stay: a "
		    "stream check may need them", r->limits.until);
	r->stuck = r->limits.needed;
	/* Older tables may lack the index; each slice then reads all rows. */
	store_sql(s, "SELECT 1 FROM information_schema.statistics "
	    "WHERE table_schema = DATABASE() AND seq_in_index = 1 "
	    "AND column_name = :published_at AND table_name = :outbox",
	    SQL_TEXT("published_at", store_column_name(s, "published_at")),
	    SQL_TEXT("outbox", store_table_name(s, T_OUTBOX)));
	if (store_query_any(s, "retention", &indexed, e) < 0)
		return -1;
	if (!indexed)
		return err_set(e, "%s has no index that begins with %s: "
		    "outboxctl schema upgrade makes one",
		    store_table_name(s, T_OUTBOX),
		    store_column_name(s, "published_at"));
	/* Check the right first: without it the watermark must not rise. */
	store_sql(s, "DELETE FROM {outbox} WHERE FALSE");
	return store_exec(s, "retention", NULL, e);
}

static int
take_slice(struct retention *r, struct err *e)
{
	uint64_t	n, highest;

	if (strcmp(r->left.from, r->left.until) >= 0) {
		r->phase = DEAD;
		return 0;
	}
	r->slice = r->left;
	r->slice.until = r->left.from;	/* where the slice will end */
	if (prune_slice(r->store, &r->left, &n, &highest, e) < 0)
		return -1;
	if (n == 0)
		return 0;
	r->phase = ROWS;
	return watermark_raise(r->store, highest, e);
}

/* It stays for this pass, and is told once. */
static int
note_refused(struct retention *r, uint64_t sequence, struct err *e)
{
	store_say_kept(r->store, sequence, "deleted", e);
	r->refused[r->nrefused++] = sequence;
	return r->nrefused < REFUSED_MAX ? 0 : err_in(e, "more than %d rows "
	    "cannot be deleted", REFUSED_MAX);
}

static int
delete_row_batch(struct retention *r, struct err *e)
{
	struct isolate	i;
	size_t		n, max = (size_t)r->conf->retention.batch;

	if (prune_find(r->store, &r->slice, &(struct prune_skip){ r->refused,
	    r->nrefused }, max, r->list, &n, e) < 0)
		return -1;
	if (n < max)
		r->phase = SLICE;
	for (i = isolate_rows(n, 0); isolate_next(&i); r->rows += i.changed)
		if (store_isolate(r->store, &i, prune_delete(r->store,
		    r->list + i.from, i.n, r->slice.until, &i.changed, e)) &&
		    note_refused(r, r->list[i.from], e) < 0)
			return -1;
	return i.rc;
}

/* Purge dead letters or marks; adds to *done how many there were. */
static int
purge_piece(struct retention *r, const uint64_t *list, size_t n, uint64_t *done,
    struct err *e)
{
	struct isolate	i = isolate_rows(n, 0);
	int		rc;

	for (; isolate_next(&i); *done += i.changed) {
		rc = store_begin(r->store, e);
		if (rc == 0)
			rc = store_end(r->store, watermark_purge(r->store,
			    list + i.from, i.n, &i.changed, e), e);
		if (store_isolate(r->store, &i, rc) && (r->nrefused >=
		    REFUSED_MAX || note_refused(r, list[i.from], e) < 0))
			return -1;
	}
	return i.rc;
}

static int
purge_dead_batch(struct retention *r, struct err *e)
{
	struct prune_page	*p = &r->dead_page;
	struct watermark	 h;

	if (store_is_pillar(r->store) || clock_ms() < r->dead_at) {
		r->phase = END;
		return 0;
	}
	if (watermark_read(r->store, &h, e) < 0 ||
	    prune_find_dead(r->store, h.known ? h.at : UINT64_MAX,
	    r->conf->retention.dead_days == 0 ? NULL : r->limits.dead_until,
	    p, e) < 0)
		return -1;
	if (p->nread < p->max) {
		r->phase = END;
		r->dead_at = clock_ms() + DEAD_MS;
	}
	if (purge_piece(r, p->list, p->n, &r->dead, e) < 0)
		return -1;
	return purge_piece(r, p->marks, p->nmarks, &r->marks, e);
}

/* Log a summary after the first pass that deleted rows, then hourly. */
static void
tell_deleted(struct retention *r)
{
	int64_t	now = clock_ms();
	bool	first = !r->went_through && r->phase == END;
	char	marks[64] = "";

	if (r->rows + r->dead + r->marks == 0 ||
	    (!first && now - r->told_at < TELL_MS))
		return;
	if (r->marks > 0)
		snprintf(marks, sizeof(marks), ", and %llu mark(s) of former "
		    "ones", (unsigned long long)r->marks);
	log_event(LOG_LVL_INFO, LOG_FIELDS(LOG_NUMBER("rows", r->rows),
	    LOG_NUMBER("dead", r->dead), LOG_NUMBER("marks", r->marks)),
	    "retention: deleted %llu delivered row(s) and %llu dead "
	    "letter(s)%s", (unsigned long long)r->rows,
	    (unsigned long long)r->dead, marks);
	r->went_through |= first;
	r->told_at = now;
	r->rows = r->dead = r->marks = 0;
}

/* Each delete adds an old row version: wait while the server has too many. */
static bool
must_wait(struct retention *r)
{
	int64_t		now = clock_ms();
	uint64_t	n;

	if (now < r->history_at)
		return r->waits;
	r->history_at = now + HISTORY_MS;
	n = prune_history(r->store, &r->no_history);
	if (n > PRUNE_HISTORY && !r->waits)
		log_warn("retention: paused: the server has %llu old row "
		    "versions to purge: end transactions that stay open",
		    (unsigned long long)n);
	else if (n <= PRUNE_HISTORY && r->waits)
		log_info("retention: continues: the server has purged them");
	r->waits = n > PRUNE_HISTORY;
	return r->waits;
}

int
retention_step(struct retention *r, int64_t *delay_ms, struct err *e)
{
	int	rc = 0;

	*delay_ms = 0;
	switch (r->phase) {
	case ELECT:
		rc = elect(r, delay_ms, e);
		break;
	case BEGIN:
		rc = begin_pass(r, e);
		break;
	case SLICE:
		rc = take_slice(r, e);
		break;
	case ROWS:
		if (must_wait(r))
			*delay_ms = HISTORY_MS;
		else
			rc = delete_row_batch(r, e);
		break;
	case DEAD:
		rc = purge_dead_batch(r, e);
		break;
	case END:
		r->phase = BEGIN;
		*delay_ms = PASS_MS;
		break;
	}
	if (rc < 0) {
		if (r->phase != ELECT)
			r->phase = BEGIN;
		return -1;
	}
	tell_deleted(r);
	return 0;
}
