/*
 * store_lease.c - workers and leases
 *
 * A lease is ours while it names this worker and has not expired, by the
 * database's clock.  Every acquisition raises the epoch, so that a claim
 * prepared under an older one finds nothing.
 */

#include "store/store_impl.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bsd/string.h>

#include "util/clock.h"
#include "util/xalloc.h"

/* Free to acquire: no owner, expired, or of a silent owner. */
#define IS_FREE	"(lease_owner IS NULL OR lease_until IS NULL OR " \
		"lease_until <= NOW(6):silent)"
#define SQL_SILENT(s)	SQL_RAW("silent", \
			    (s)->silent.len > 0 ? (s)->silent.data : "")
#define IS_MINE	"(lease_owner = {me} AND lease_until > NOW(6))"

static void
put_register(struct store *s)
{
	char	host[256] = "";

	gethostname(host, sizeof(host) - 1);
	store_sql(s, "INSERT INTO {workers} (id, hostname, pid, started_at, "
	    "updated_at, heartbeat_until:says) VALUES ({me}, :host, :pid, "
	    "{now}, {now}, {now} + INTERVAL :ttl MICROSECOND:said) "
	    "ON DUPLICATE KEY UPDATE updated_at = VALUES(updated_at), "
	    "heartbeat_until = VALUES(heartbeat_until):again",
	    SQL_TEXT("host", host), SQL_NUMBER("pid", getpid()),
	    SQL_MS("ttl", s->conf->worker.heartbeat_ttl),
	    SQL_IF("says", store_is_full(s), ", away, instance, server"),
	    SQL_IF("said", store_is_full(s), ", :away, :instance, "
	    "NULLIF(:server, '')"),
	    SQL_IF("again", store_is_full(s), ", away = VALUES(away), "
	    "server = VALUES(server)"),
	    SQL_TEXT("away", s->away), SQL_TEXT("instance", s->instance),
	    SQL_TEXT("server", s->server));
}

void
store_say_away(struct store *s, const char *list)
{
	strlcpy(s->away, list, sizeof(s->away));
}

void
store_say_instance(struct store *s, const char *instance)
{
	s->instance = instance;
}

int
store_register(struct store *s, struct err *e)
{
	put_register(s);
	return store_exec(s, "register", NULL, e);
}

int
store_take_over(struct store *s, const char *dead_id, struct err *e)
{
	int	rc;

	if (store_begin(s, e) < 0)
		return -1;
	put_register(s);
	rc = store_exec(s, "take over", NULL, e);
	if (rc == 0) {
		store_sql(s, "DELETE FROM {workers} WHERE id = :dead",
		    SQL_TEXT("dead", dead_id));
		rc = store_exec(s, "take over", NULL, e);
	}
	if (rc == 0) {
		store_sql(s, "UPDATE {partitions} SET lease_owner = {me}, "
		    STORE_NEW_EPOCH ", "
		    "lease_until = {now} + INTERVAL :ttl MICROSECOND "
		    "WHERE lease_owner = :dead",
		    SQL_MS("ttl", s->conf->worker.lease_ttl),
		    SQL_TEXT("dead", dead_id));
		rc = store_exec(s, "take over", NULL, e);
	}
	return store_end(s, rc, e);
}

int
store_beat(struct store *s, bool *known, struct err *e)
{
	uint64_t	matched;

	store_sql(s, "UPDATE {workers} SET updated_at = {now}, "
	    "heartbeat_until = {now} + INTERVAL :ttl MICROSECOND:away "
	    "WHERE id = {me}", SQL_MS("ttl", s->conf->worker.heartbeat_ttl),
	    SQL_IF("away", store_is_full(s), ", away = :names"),
	    SQL_TEXT("names", s->away));
	if (store_exec(s, "heartbeat", &matched, e) < 0)
		return -1;
	*known = matched > 0;
	return *known ? 0 : store_register(s, e);
}

static int
worker_by_id(const void *a, const void *b)
{
	const struct live_worker	*x = a, *y = b;

	return strcmp(x->id, y->id);
}

static int
lease_by_label(const void *a, const void *b)
{
	const struct lease	*x = a, *y = b;

	return strcmp(x->label, y->label);
}

/* Columns of the view: what a worker says, and the first of the counts. */
#define AWAY_AT		5
#define COUNTS_AT	6

/* One row, of any of the three kinds. */
static int
read_seen(struct store *s, struct db_rows *row, struct store_view *v,
    struct heard *heard, size_t *nheard, struct err *e)
{
	const char		*label = db_nullable(row, 1);
	struct live_worker	*w = &v->workers[v->nworkers];
	struct lease		*l = &v->leases[v->nleases];
	uint64_t		 first;

	if (db_nullable(row, 0) != NULL) {
		if (!store_hear(s, heard, nheard, db_text(row, 0),
		    strtoll(db_text(row, 2), NULL, 10),
		    strtoll(db_text(row, 3), NULL, 10) / 1000))
			return 0;
		w->id = xstrdup(db_text(row, 0));
		if (db_nullable(row, AWAY_AT) != NULL)
			w->away = xstrdup(db_text(row, AWAY_AT));
		v->nworkers++;
		return 0;
	}
	if (db_nullable(row, COUNTS_AT) != NULL)
		return store_take_counts(row, COUNTS_AT, &v->counts, e);
	/* A parked label needs no lease: a row for one is ignored. */
	if (label == NULL ||
	    store_is_parked(s, label, db_length(row, 1), &first))
		return 0;
	memset(l, 0, sizeof(*l));
	strlcpy(l->label, label, sizeof(l->label));
	l->epoch = db_u64(row, 2);
	l->mine = db_u64(row, 3) != 0;
	l->free = db_u64(row, 4) != 0;
	v->nleases++;
	return 0;
}

int
store_view(struct store *s, struct store_view *v, struct err *e)
{
	struct db_rows	*found;
	struct heard	*heard;
	size_t		 nheard = 0;
	bool		 from_file;
	int		 rc = 0;

	memset(v, 0, sizeof(*v));
	from_file = store_counts_from_file(s, &v->counts);
	s->heard_at = clock_ms();
	/*
	 * Three kinds of rows, told apart by their NULL columns: to share a
	 * column, two tables would need one collation.
	 */
	store_sql(s, "(SELECT id, NULL, TIMESTAMPDIFF(MICROSECOND, "
	    "'1970-01-01', heartbeat_until), TIMESTAMPDIFF(MICROSECOND, "
	    "updated_at, heartbeat_until), NULL, :away, "
	    "NULL, NULL, NULL FROM {workers} WHERE heartbeat_until > NOW(6)) "
	    "UNION ALL (SELECT NULL, partition_key, lease_epoch, "
	    "COALESCE(" IS_MINE ", 0), " IS_FREE ", NULL, NULL, NULL, NULL "
	    "FROM {partitions}):counts",
	    SQL_EITHER("away", store_is_full(s), "away", "NULL"),
	    SQL_SILENT(s), SQL_IF("counts", !from_file,
	    " UNION ALL (SELECT NULL, NULL, NULL, NULL, NULL, NULL, "
	    STORE_COUNTS ")"));
	if ((found = store_query(s, "leases", e)) == NULL)
		return -1;
	v->workers = xcalloc(db_nrows(found) + 1, sizeof(*v->workers));
	v->leases = xcalloc(db_nrows(found) + 1, sizeof(*v->leases));
	heard = xcalloc(db_nrows(found) + 1, sizeof(*heard));
	buf_clear(&s->silent);
	while (rc == 0 && db_next(found))
		rc = read_seen(s, found, v, heard, &nheard, e);
	db_rows_free(found);
	store_heard(s, heard, nheard);
	qsort(v->workers, v->nworkers, sizeof(*v->workers), worker_by_id);
	qsort(v->leases, v->nleases, sizeof(*v->leases), lease_by_label);
	if (rc < 0)
		store_view_free(v);
	return rc;
}

void
store_view_free(struct store_view *v)
{
	for (size_t i = 0; i < v->nworkers; i++) {
		free(v->workers[i].id);
		free(v->workers[i].away);
	}
	free(v->workers);
	free(v->leases);
	memset(v, 0, sizeof(*v));
}

int
store_renew(struct store *s, uint64_t *n, struct err *e)
{
	store_sql(s, "UPDATE {partitions} SET updated_at = {now}, "
	    "lease_until = {now} + INTERVAL :ttl MICROSECOND "
	    "WHERE " IS_MINE, SQL_MS("ttl", s->conf->worker.lease_ttl));
	return store_exec(s, "renew", n, e);
}

static void
put_labels(struct store *s, const struct lease *const *leases, size_t n)
{
	for (size_t i = 0; i < n; i++)
		store_put(s, ":label",
		    SQL_LABELS("label", &(const char *){ leases[i]->label }, 1));
}

int
store_acquire(struct store *s, const struct lease *const *leases, size_t n,
    uint64_t *taken, struct err *e)
{
	store_sql(s, "UPDATE {partitions} SET lease_owner = {me}, "
	    STORE_NEW_EPOCH ", lease_until = {now} + INTERVAL :ttl MICROSECOND "
	    "WHERE partition_key IN (:labels) AND " IS_FREE,
	    SQL_MS("ttl", s->conf->worker.lease_ttl), SQL_SILENT(s),
	    SQL_PUT("labels", s, put_labels(s, leases, n)));
	return store_exec(s, "acquire", taken, e);
}

int
store_holder(struct store *s, const struct labels *labels, struct err *text,
    struct err *e)
{
	struct db_rows	*rows;

	text->text[0] = '\0';
	store_sql(s, "SELECT partition_key, lease_owner, lease_until, "
	    "TIMESTAMPDIFF(MICROSECOND, NOW(6), lease_until) FROM {partitions} "
	    "WHERE partition_key IN (:labels) AND lease_until > NOW(6) "
	    "AND lease_owner <> '" STORE_PAUSED "' AND lease_owner <> {me} "
	    "ORDER BY lease_until DESC LIMIT 1",
	    SQL_LABELS("labels", labels->list, labels->n));
	if ((rows = store_query(s, "holder", e)) == NULL)
		return -1;
	if (db_next(rows))
		err_set(text, "\"%s\" is leased to %s until %s UTC, %.0f s "
		    "ahead of the clock of this server (%s)", db_text(rows, 0),
		    db_text(rows, 1), db_text(rows, 2),
		    (double)db_u64(rows, 3) / 1e6, store_peer(s));
	db_rows_free(rows);
	return 0;
}

int
store_release(struct store *s, const struct lease *const *leases, size_t n,
    struct err *e)
{
	store_sql(s, "UPDATE {partitions} SET lease_owner = NULL, "
	    "lease_until = NULL, updated_at = {now} "
	    "WHERE partition_key IN (:labels) AND lease_owner = {me}",
	    SQL_PUT("labels", s, put_labels(s, leases, n)));
	return store_exec(s, "release", NULL, e);
}

int
store_bump_own_epochs(struct store *s, struct err *e)
{
	store_sql(s, "UPDATE {partitions} SET " STORE_NEW_EPOCH
	    " WHERE lease_owner = {me}");
	return store_exec(s, "bump own", NULL, e);
}

int
store_bump_epochs(struct store *s, const char *what,
    const char *const *labels, size_t n, struct err *e)
{
	if (n == 0)
		return 0;
	store_sql(s, "UPDATE {partitions} SET " STORE_NEW_EPOCH
	    " WHERE partition_key IN (:labels)",
	    SQL_LABELS("labels", labels, n));
	return store_exec(s, what, NULL, e);
}

int
store_bump_selected(struct store *s, const char *what, struct err *e)
{
	struct db_rows	 *rows = store_query(s, what, e);
	const char	**labels;
	size_t		  n = 0;
	int		  rc;

	if (rows == NULL)
		return -1;
	labels = xcalloc(db_nrows(rows) + 1, sizeof(*labels));
	while (db_next(rows))
		labels[n++] = db_text(rows, 0);
	rc = store_bump_epochs(s, what, labels, n, e);
	free(labels);
	db_rows_free(rows);
	return rc;
}

/* In the lease of p00: it always exists, and no producer locks it. */
int
store_note_former(struct store *s, struct err *e)
{
	if (store_is_pillar(s))
		return 0;
	store_sql(s, "UPDATE {partitions} SET former_label_at = {now} "
	    "WHERE partition_key = 'p00'");
	return store_exec(s, "former label", NULL, e);
}

int
store_leave(struct store *s, struct err *e)
{
	store_sql(s, "UPDATE {partitions} SET lease_owner = NULL, "
	    "lease_until = NULL, updated_at = {now} WHERE lease_owner = {me}");
	if (store_exec(s, "leave", NULL, e) < 0)
		return -1;
	store_sql(s, "DELETE FROM {workers} WHERE id = {me}");
	return store_exec(s, "leave", NULL, e);
}

int
store_purge(struct store *s, uint64_t *purged, struct err *e)
{
	struct db_rows	 *rows;
	const char	**ids;
	size_t		  n = 0;
	int		  rc = 0;

	/* Read first: a DELETE with a join would lock rows of live workers. */
	store_sql(s, "SELECT w.id FROM {workers} AS w "
	    "LEFT JOIN {workers} AS o ON o.hostname = w.hostname AND "
	    "(o.heartbeat_until > w.heartbeat_until OR "
	    "(o.heartbeat_until = w.heartbeat_until AND o.id > w.id)) "
	    "WHERE w.heartbeat_until <= NOW(6) "
	    "AND (w.hostname IS NULL OR o.id IS NOT NULL)");
	*purged = 0;
	if ((rows = store_query(s, "purge", e)) == NULL)
		return -1;
	ids = xcalloc(db_nrows(rows) + 1, sizeof(*ids));
	while (db_next(rows))
		ids[n++] = db_text(rows, 0);
	if (n > 0) {
		store_sql(s, "DELETE FROM {workers} WHERE id IN (:ids) "
		    "AND heartbeat_until <= NOW(6)",
		    SQL_LABELS("ids", ids, n));
		rc = store_exec(s, "purge", purged, e);
	}
	free(ids);
	db_rows_free(rows);
	return rc;
}
