/* doctor_settings.c - settings that producers and hosts share */

#include <stdlib.h>

#include "mysql/db.h"
#include "ctl/doctor/doctor.h"
#include "ctl/state/state.h"

/* An open change of the count is no failure; warn once it can be finished. */
static int
check_declared_counts(struct doctor *d, struct err *e)
{
	struct ctl		*c = d->ctl;
	struct counts		 k;
	struct former_use	 u;
	struct store_view	 v;
	char			*text;
	bool			 may;

	if (state_counts(c, &k, e) < 0 || state_former_use(c, &u, e) < 0)
		return -1;
	if (k.nformer == 0)
		return 0;
	text = state_counts_text(&k);
	may = u.noted && u.wait_ms == 0;
	doctor_say(d, may ? DOCTOR_ADVICE : DOCTOR_OK, "settings", "declared "
	    "partition counts: %s; changed: %s; last message under a label of "
	    "another count: %s%s", text,
	    u.since[0] == '\0' ? "never" : u.since,
	    u.last[0] == '\0' ? "never" : u.last, may ?
	    ": when no producer uses a former count, run outboxctl "
	    "partitions sync --finish" : "");
	free(text);

	/* Workers of other programs take single labels, not classes. */
	if (store_view(c->store, &v, e) < 0)
		return -1;
	for (size_t i = 0; i < v.nworkers; i++)
		if (!ident_is_valid(v.workers[i].id))
			doctor_say(d, DOCTOR_FAIL, "settings", "worker %s of "
			    "another program is alive, and does not keep keys "
			    "in order under several partition counts: stop it",
			    v.workers[i].id);
	store_view_free(&v);
	return 0;
}

/* Of the newest events, keys that are in several partitions. */
#define SAMPLE	1000

static int
check_keys(struct doctor *d, struct err *e)
{
	struct store	*s = d->ctl->store;
	uint64_t	 n;

	if (conf_partitions_by_key(d->ctl->conf))
		return 0;
	store_sql(s, "SELECT COUNT(*) FROM (SELECT 1 FROM (SELECT "
	    STORE_BYTES("{e.stream_id}") " AS order_key, :hash AS h "
	    "FROM {events} AS e ORDER BY {e.sequence} DESC LIMIT :max) "
	    "AS newest WHERE order_key IS NOT NULL GROUP BY order_key "
	    "HAVING COUNT(DISTINCT h) > 1) AS several",
	    SQL_PUT("hash", s, store_put_hash(s, "e",
	    SQL("{e.stream_id}"))),
	    SQL_NUMBER("max", SAMPLE));
	if (store_query_number(s, "partition_by", &n, e) < 0)
		return -1;
	if (n > 0)
		doctor_say(d, DOCTOR_FAIL, "settings", "outbox.partition_by: %s "
		    "has several values within each of %llu keys, in the "
		    "newest %d events: the partition must be the same for all "
		    "events of a key, or they lose their order",
		    d->ctl->conf->outbox.partition_by, (unsigned long long)n,
		    SAMPLE);
	else
		doctor_say(d, DOCTOR_OK, "settings", "outbox.partition_by: in "
		    "the newest %d events each key has one partition", SAMPLE);
	return 0;
}

void
doctor_settings(struct doctor *d)
{
	unsigned	ours = (unsigned)d->ctl->conf->outbox.partition_count;
	unsigned	count = ours;
	bool		pillar = store_is_pillar(d->ctl->store), missing;
	struct db_rows	*rows;
	struct err	e;

	/* store_settings() would set a missing count, so check first. */
	if (!pillar) {
		store_sql(d->ctl->store, "SELECT 1 FROM {settings} "
		    "WHERE id = 1 AND partition_count IS NULL");
		if ((rows = doctor_query(d, "settings")) == NULL)
			return;
		missing = db_nrows(rows) > 0;
		db_rows_free(rows);
		if (missing) {
			doctor_say(d, DOCTOR_ADVICE, "settings", "no partition "
			    "count yet, so producers cannot enqueue: start the "
			    "daemon, which sets it");
			return;
		}
	}
	if (check_declared_counts(d, &e) < 0 || check_keys(d, &e) < 0)
		doctor_say(d, DOCTOR_FAIL, "settings", "%s", e.text);
	if (pillar)
		return;
	if (store_settings(d->ctl->store, &count, &e) < 0)
		doctor_say(d, DOCTOR_FAIL, "settings", "%s", e.text);
	else if (count != ours)
		doctor_say(d, DOCTOR_ADVICE, "settings", "the database has %u "
		    "partitions and outbox.partition_count is %u: the "
		    "database's count is used; correct the file, or run "
		    "outboxctl partitions sync", count, ours);
	else
		doctor_say(d, DOCTOR_OK, "settings", "%u partitions", count);
}
