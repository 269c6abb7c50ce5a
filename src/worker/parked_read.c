/* parked_read.c - reads records and leases of partitions; see parked.h */

#include "worker/parked_impl.h"

#include <stdlib.h>
#include <string.h>

#include "common/lane.h"
#include "util/log.h"
#include "util/printable.h"
#include "util/xalloc.h"

/* Partitions in one statement, and records after which a round ends. */
#define READ_PARTS	16
#define READ_MAX	10000

/* From a merge that was refused to the next try. */
#define MERGE_MS	30000

const char *const parked_reasons[] = {
	[BLOCK_CLAIMED] = "claimed", [BLOCK_DELAYED] = "delayed",
	[BLOCK_FAILED] = "failed", [BLOCK_REFUSED] = "refused",
	[BLOCK_DOUBT] = STORE_DOUBT, [BLOCK_TYPE] = "refused",
};

void
parked_set_range(struct range *r, char label[STORE_PARKED], uint64_t first,
    size_t limit)
{
	store_parked_label(label, first);
	*r = (struct range){ .label = label, .limit = limit };
}

void
parked_add_leases(struct leases *ls, const struct part *part)
{
	for (size_t i = 0; i < ls->n; i++)
		if (ls->items[i].label == part_name(part))
			return;
	ls->items = xreallocarray(ls->items, ls->n + part->nlabels,
	    sizeof(*ls->items));
	for (size_t i = 0; i < part->nlabels; i++)
		ls->items[ls->n++] = (struct range){
		    .label = part->labels[i].label,
		    .epoch = part->labels[i].epoch };
}

static bool
is_halted(const struct blocked *b)
{
	return strcmp(b->reason, STORE_HALTED) == 0;
}

/*
 * Two records of one lane: after a halt in a lane whose rows were coming back,
 * or after another outbox.ordering.  The second is emptied, a batch at a time,
 * and deleted; the record of a halt stays.
 */
static int
merge_records(struct parked *p, struct part *part, const struct blocked *b,
    struct err *e)
{
	struct leases		 ls = { 0 };
	char			 label[STORE_PARKED];
	struct candidate	*found;
	struct range		 range;
	uint64_t		*list;
	size_t			 n;
	int			 rc = 0;

	parked_set_range(&range, label, b->first,
	    (size_t)p->conf->worker.batch_size);
	if (store_candidates(p->store, &range, 1, &found, &n, e) < 0)
		return -1;
	parked_add_leases(&ls, part);
	list = xcalloc(n + 1, sizeof(*list));
	for (size_t i = 0; i < n; i++)
		list[i] = found[i].sequence;
	if (n > 0)
		rc = store_unpark(p->store, &p->parts->counts, ls.items, ls.n,
		    list, n, e);
	free(list);
	free(found);
	if (rc == 0 && n == range.limit)
		part->merging = true;
	else if (rc == 0 && !is_halted(b) && store_unblock(p->store, ls.items,
	    ls.n, &b->first, 1, e) < 0 && !db_refused_value(store_db(p->store)))
		rc = -1;
	free(ls.items);
	return rc;
}

/*
 * The database refuses a row of the second record: all of the lane waits, as if
 * halted before its first row, until the merge is tried again.
 */
static void
wait_unmerged(struct parked *p, struct part *part, struct blocked_lane *l,
    int64_t now, const struct err *e)
{
	char	key[PRINTABLE_SIZE];

	printable_text(key, l->key.data, l->key.len);
	if (!part->unmerged)
		log_event(LOG_LVL_ERROR, LOG_FIELDS(LOG_TEXT("key", key),
		    LOG_TEXT("error_class", "row")), "key %s: the database "
		    "refuses to unpark its rows: %s; the key waits: correct "
		    "the rows or the table", key, e->text);
	part->unmerged = true;
	part->merge_at = now + MERGE_MS;
	lanes_halt(p->lanes, l, part, 0);
}

static int
load_record(struct parked *p, const struct blocked *b, uint64_t parked_from,
    int64_t now, struct err *e)
{
	struct bytes		 label = { b->label, strlen(b->label) };
	struct blocked_lane	*l;
	struct wait		 w = { .part = parts_find(p->parts, label),
				     .key = b->key, .why = BLOCK_DELAYED,
				     .sequence = LANE_NONE,
				     .due_at = INT64_MAX };

	if (w.part == NULL)
		return 0;
	for (int i = BLOCK_TYPE; i-- > 0;)
		if (strcmp(parked_reasons[i], b->reason) == 0)
			w.why = (enum block_why)i;
	label = (struct bytes){ part_name(w.part),
	    strlen(part_name(w.part)) };
	w.lane = lane_of((enum conf_ordering)p->conf->outbox.ordering, b->key,
	    label, &b->first);
	/* Unless an earlier row is parked: one that was committed late. */
	if (b->pending && !is_halted(b) && b->head < parked_from) {
		w.sequence = b->head;
		w.due_at = now + b->due_ms;
	}
	/* With no head and no parked row, the next round deletes the record. */
	if (!b->pending && !is_halted(b) && parked_from == LANE_NONE)
		parked_from = b->first;
	if ((l = lanes_find(p->lanes, w.lane)) == NULL)
		l = lanes_load(p->lanes, &w, b->first, parked_from,
		    b->head_parked && w.sequence != LANE_NONE);
	else if (merge_records(p, w.part, b, e) < 0) {
		if (!db_refused_value(store_db(p->store)))
			return -1;
		wait_unmerged(p, w.part, l, now, e);
	}
	if (is_halted(b) && l->record == 0) {
		l->record = b->first;
		l->home = w.part;
	}
	if (is_halted(b))
		lanes_halt(p->lanes, l, w.part, b->head);
	return 0;
}

/*
 * In pieces: the lowest parked sequence of each record, without its head, and
 * then the records.
 */
static int
load_list(struct parked *p, struct blocked_list *list, int64_t now,
    struct err *e)
{
	struct range		 ranges[STORE_RANGES];
	char			 labels[STORE_RANGES][STORE_PARKED];
	uint64_t		 parked_from[STORE_RANGES];
	struct candidate	*found;
	size_t			 nfound, n;

	for (size_t at = 0; at < list->n; at += n) {
		const struct blocked	*b = &list->items[at];

		n = list->n - at < STORE_RANGES ? list->n - at : STORE_RANGES;
		for (size_t i = 0; i < n; i++) {
			parked_set_range(&ranges[i], labels[i], b[i].first, 2);
			parked_from[i] = LANE_NONE;
		}
		if (store_candidates(p->store, ranges, n, &found, &nfound,
		    e) < 0)
			return -1;
		for (size_t i = nfound; i-- > 0;)
			if (found[i].sequence != b[found[i].range].head)
				parked_from[found[i].range] =
				    found[i].sequence;
		free(found);
		for (size_t i = 0; i < n; i++)
			if (load_record(p, &b[i], parked_from[i], now, e) < 0)
				return -1;
	}
	return 0;
}

void
parked_end_reading(struct parked *p, struct part *const *parts, size_t n,
    bool failed)
{
	for (size_t i = 0; i < n; i++) {
		parts[i]->unread = failed || parts[i]->merging;
		parts[i]->merging = false;
		if (parts[i]->unread)
			lanes_forget_part(p->lanes, parts[i]);
	}
}

static int
read_parts(struct parked *p, struct part *const *parts, size_t n, size_t *nread,
    int64_t now, struct err *e)
{
	const char		**labels;
	struct blocked_list	  list = { 0 };
	size_t			  nlabels = 0;
	int			  rc;

	labels = xcalloc(n * STORE_RANGES, sizeof(*labels));
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < parts[i]->nlabels; k++)
			labels[nlabels++] = parts[i]->labels[k].label;
	rc = store_blocked(p->store, labels, nlabels, &list, e);
	if (rc == 0)
		rc = load_list(p, &list, now, e);
	*nread += list.n;
	parked_end_reading(p, parts, n, rc < 0);
	store_blocked_free(&list);
	free(labels);
	return rc;
}

/* After READ_MAX records the rest waits: leases must be renewed in between. */
int
parked_read_fresh(struct parked *p, int64_t now, struct err *e)
{
	struct parts	*ps = p->parts;
	struct part	*parts[READ_PARTS];
	size_t		 n = 0, nread = 0;

	for (size_t i = 0; i < ps->n && nread < READ_MAX; i++) {
		struct part *part = ps->items[i];

		/* A merge was refused: read again when its time has come. */
		if (part->merge_at != 0 && now >= part->merge_at) {
			part->merge_at = 0;
			part->unread = true;
			lanes_forget_part(p->lanes, part);
		}
		if (part->unread)
			parts[n++] = part;
		if (n == 0 || (n < READ_PARTS && i + 1 < ps->n))
			continue;
		if (read_parts(p, parts, n, &nread, now, e) < 0)
			return -1;
		n = 0;
	}
	return 0;
}
