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

#include "util/xalloc.h"

/* Free to acquire: no owner, or expired. */
#define IS_FREE	"(lease_owner IS NULL OR lease_until IS NULL OR " \
		"lease_until <= NOW(6))"
#define IS_MINE	"(lease_owner = {me} AND lease_until > NOW(6))"

static void
put_register(struct store *s)
{
	char	host[256] = "";

	gethostname(host, sizeof(host) - 1);
	store_sql(s, "INSERT INTO {workers} (id, hostname, pid, started_at, "
	    "updated_at, heartbeat_until) VALUES ({me}, ");
	store_put_text(s, host);
	buf_printf(&s->sql, ", %ld", (long)getpid());
	store_put(s, ", {now}, {now}, {now}");
	store_put_interval(s, s->conf->worker.heartbeat_ttl);
	buf_str(&s->sql, ") ON DUPLICATE KEY UPDATE "
	    "heartbeat_until = VALUES(heartbeat_until)");
}

int
store_register(struct store *s, struct err *e)
{
	put_register(s);
	return store_exec(s, "register", NULL, e);
}

static int
exec_template(struct store *s, const char *what, const char *sql, struct err *e)
{
	store_sql(s, sql);
	return store_exec(s, what, NULL, e);
}

static int
inherit_leases(struct store *s, const char *dead_id, struct err *e)
{
	put_register(s);
	if (store_exec(s, "take over", NULL, e) < 0)
		return -1;
	store_sql(s, "DELETE FROM {workers} WHERE id = ");
	store_put_text(s, dead_id);
	if (store_exec(s, "take over", NULL, e) < 0)
		return -1;
	store_sql(s, "UPDATE {partitions} SET lease_owner = {me}, "
	    STORE_NEW_EPOCH ", lease_until = {now}");
	store_put_interval(s, s->conf->worker.lease_ttl);
	buf_str(&s->sql, " WHERE lease_owner = ");
	store_put_text(s, dead_id);
	return store_exec(s, "take over", NULL, e);
}

int
store_take_over(struct store *s, const char *dead_id, struct err *e)
{
	if (store_begin(s, e) < 0)
		return -1;
	return store_end(s, inherit_leases(s, dead_id, e), e);
}

int
store_beat(struct store *s, bool *known, struct err *e)
{
	uint64_t	matched;

	store_sql(s, "UPDATE {workers} SET updated_at = {now}, "
	    "heartbeat_until = {now}");
	store_put_interval(s, s->conf->worker.heartbeat_ttl);
	store_put(s, " WHERE id = {me}");
	if (store_exec(s, "heartbeat", &matched, e) < 0)
		return -1;
	*known = matched > 0;
	return *known ? 0 : store_register(s, e);
}

static int
lease_by_label(const void *a, const void *b)
{
	const struct lease	*x = a, *y = b;

	return strcmp(x->label, y->label);
}

/* " word partition_key IN (...)", or nothing if there is no list. */
static void
put_only(struct store *s, const char *word, const char *const *labels,
    size_t n)
{
	if (labels == NULL)
		return;
	buf_printf(&s->sql, " %s partition_key IN (", word);
	store_put_labels(s, labels, n);
	buf_str(&s->sql, ")");
}

/* The first column of the counts in a row of the view. */
#define COUNTS_AT	7

/*
 * Three kinds of rows, told apart by their NULL columns: to share a column, two
 * tables would need one collation.
 */
static void
put_view(struct store *s, const struct labels *leases)
{
	store_sql(s, "(SELECT id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, "
	    "NULL, NULL FROM {workers} WHERE heartbeat_until > NOW(6)) "
	    "UNION ALL (SELECT NULL, partition_key, lease_epoch, "
	    "COALESCE(" IS_MINE ", 0), " IS_FREE ", ");
	store_put(s, store_has_in_doubt_marks(s) ?
	    "in_doubt_epoch, in_doubt_upto" :
	    "NULL, NULL");
	store_put(s, ", NULL, NULL, NULL FROM {partitions}");
	if (leases != NULL)
		put_only(s, "WHERE", leases->list, leases->n);
	buf_str(&s->sql, ")");
	if (s->exists[T_SETTINGS]) {
		buf_str(&s->sql, " UNION ALL (SELECT NULL, NULL, NULL, NULL, "
		    "NULL, NULL, NULL, ");
		store_put_counts(s);
		buf_str(&s->sql, ")");
	}
}

static void
read_lease(struct db_rows *rows, struct lease *l)
{
	memset(l, 0, sizeof(*l));
	strlcpy(l->label, db_text(rows, 1), sizeof(l->label));
	l->epoch = db_u64(rows, 2);
	l->mine = db_u64(rows, 3) != 0;
	l->free = db_u64(rows, 4) != 0;
	if (db_u64(rows, 5) != l->epoch)
		l->in_doubt_upto = db_u64(rows, 6);
}

/* One row, of any of the three kinds. */
static int
read_seen(struct store *s, struct db_rows *row, struct store_view *v,
    struct err *e)
{
	const char	*label = db_nullable(row, 1);
	uint64_t	 first;

	if (db_nullable(row, 0) != NULL)
		v->ids[v->nids++] = xstrdup(db_text(row, 0));
	else if (db_nullable(row, COUNTS_AT) != NULL)
		return store_take_counts(row, COUNTS_AT, &v->counts, e);
	/* A parked label needs no lease: a row for one is ignored. */
	else if (label != NULL &&
	    !store_is_parked(s, label, db_length(row, 1), &first))
		read_lease(row, &v->leases[v->nleases++]);
	return 0;
}

int
store_view(struct store *s, const struct labels *leases,
    struct store_view *v, struct err *e)
{
	struct db_rows	*found;
	int		 rc = 0;

	memset(v, 0, sizeof(*v));
	store_counts_from_file(s, &v->counts);
	put_view(s, leases);
	if ((found = store_query(s, "leases", e)) == NULL)
		return -1;
	v->ids = xcalloc(db_nrows(found) + 1, sizeof(*v->ids));
	v->leases = xcalloc(db_nrows(found) + 1, sizeof(*v->leases));
	while (rc == 0 && db_next(found))
		rc = read_seen(s, found, v, e);
	db_rows_free(found);
	qsort(v->ids, v->nids, sizeof(*v->ids), ident_cmp);
	qsort(v->leases, v->nleases, sizeof(*v->leases), lease_by_label);
	if (rc < 0)
		store_view_free(v);
	return rc;
}

void
store_view_free(struct store_view *v)
{
	for (size_t i = 0; i < v->nids; i++)
		free(v->ids[i]);
	free(v->ids);
	free(v->leases);
	memset(v, 0, sizeof(*v));
}

int
store_renew(struct store *s, const char *const *labels, size_t nlabels,
    uint64_t *n, struct err *e)
{
	store_sql(s, "UPDATE {partitions} SET updated_at = {now}, "
	    "lease_until = {now}");
	store_put_interval(s, s->conf->worker.lease_ttl);
	store_put(s, " WHERE " IS_MINE);
	put_only(s, "AND", labels, nlabels);
	return store_exec(s, "renew", n, e);
}

static void
put_leases(struct store *s, const struct lease *const *leases, size_t n)
{
	buf_str(&s->sql, " WHERE partition_key IN (");
	for (size_t i = 0; i < n; i++)
		store_put_labels(s, &(const char *){ leases[i]->label }, 1);
	buf_str(&s->sql, ")");
}

int
store_acquire(struct store *s, const struct lease *const *leases, size_t n,
    uint64_t *taken, struct err *e)
{
	store_sql(s, "UPDATE {partitions} SET lease_owner = {me}, "
	    STORE_NEW_EPOCH ", lease_until = {now}");
	store_put_interval(s, s->conf->worker.lease_ttl);
	put_leases(s, leases, n);
	buf_str(&s->sql, " AND " IS_FREE);
	return store_exec(s, "acquire", taken, e);
}

int
store_release(struct store *s, const struct lease *const *leases, size_t n,
    struct err *e)
{
	store_sql(s, "UPDATE {partitions} SET lease_owner = NULL, "
	    "lease_until = NULL, updated_at = {now}");
	put_leases(s, leases, n);
	store_put(s, " AND lease_owner = {me}");
	return store_exec(s, "release", NULL, e);
}

int
store_bump_own_epochs(struct store *s, struct err *e)
{
	return exec_template(s, "bump own",
	    "UPDATE {partitions} SET " STORE_NEW_EPOCH " WHERE lease_owner = "
	    "{me}", e);
}

int
store_bump_epochs(struct store *s, const char *what,
    const char *const *labels, size_t n, struct err *e)
{
	if (n == 0)
		return 0;
	store_sql(s, "UPDATE {partitions} SET " STORE_NEW_EPOCH);
	put_only(s, "WHERE", labels, n);
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
	if (!store_has_column(s, COL_FORMER_LABEL_AT))
		return 0;
	return exec_template(s, "former label",
	    "UPDATE {partitions} SET former_label_at = {now} WHERE "
	    "partition_key = 'p00'", e);
}

int
store_leave(struct store *s, struct err *e)
{
	store_sql(s, "UPDATE {partitions} SET lease_owner = NULL, "
	    "lease_until = NULL, updated_at = {now}");
	store_put(s, " WHERE lease_owner = {me}");
	if (store_exec(s, "leave", NULL, e) < 0)
		return -1;
	return exec_template(s, "leave",
	    "DELETE FROM {workers} WHERE id = {me}", e);
}

int
store_purge(struct store *s, uint64_t *purged, struct err *e)
{
	store_sql(s, "DELETE FROM {workers} WHERE heartbeat_until <= NOW(6)");
	return store_exec(s, "purge", purged, e);
}
