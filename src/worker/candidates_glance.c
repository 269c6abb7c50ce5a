/*
 * candidates_glance.c - a scan that looks at all waiting rows
 *
 * While few rows wait, one statement whose text is always the same reads them
 * all, whatever partitions they are of, and the rows of ours are picked here.
 */

#include "worker/candidates_impl.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/clock.h"
#include "util/xalloc.h"

/*
 * The pause after a glance that found too many rows, or after two that took
 * CROWDED_SLOW_MS, as old index entries at the head make them: CROWDED_MS, or
 * CROWDED_TIMES as long as the glance if that is more.
 */
#define CROWDED_MS	1000
#define CROWDED_SLOW_MS	200
#define CROWDED_TIMES	50

/* Printable ASCII without blanks: equal only if the letters are. */
static bool
is_plain(const char *label, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (label[i] <= ' ' || label[i] > '~')
			return false;
	return true;
}

/*
 * Might the server call this label equal to one of ours, which has other bytes?
 * Its collation may ignore case, blanks at the end, accents and more.
 */
static bool
is_unclear(const struct parts *ps, struct bytes label)
{
	if (!is_plain(label.data, label.len))
		return true;
	for (size_t i = 0; i < ps->nentries; i++) {
		const char *ours = ps->entries[i].label;
		size_t	    len = strlen(ours);

		if (!is_plain(ours, len) || (len == label.len &&
		    strncasecmp(ours, label.data, len) == 0))
			return true;
	}
	return false;
}

/* Rows without a label are of the lease "". */
static struct bytes
label_of(const struct glanced *row)
{
	return row->label.data != NULL ? row->label : (struct bytes){ "", 0 };
}

/*
 * Note which partitions have rows, or heads that may be gone; false: of one row
 * it is not clear.
 */
static bool
note_glanced(struct candidates *l, const struct glance *g)
{
	size_t	ours = 0;

	for (size_t i = 0; i < l->parts->n; i++)
		l->parts->items[i]->glanced =
		    l->parts->items[i]->nblocked > 0;
	for (size_t i = 0; i < g->n; i++) {
		struct part *p = parts_find(l->parts, label_of(&g->rows[i]));

		if (p != NULL) {
			p->glanced = true;
			ours++;
		} else if (is_unclear(l->parts, label_of(&g->rows[i])))
			return false;
	}
	l->foreign = ours < g->n - ours;
	return true;
}

/* Pause the glances if there are too many rows, or if two in a row are slow. */
static void
note_crowd(struct candidates *l, const struct glance *g, int64_t took)
{
	bool	slow = took >= CROWDED_SLOW_MS;

	/* A busy server makes one slow, and ranges cost it more. */
	if (!g->all || (slow && l->slow))
		l->crowded_until = clock_ms() +
		    later(took * CROWDED_TIMES, CROWDED_MS);
	l->slow = slow;
}

/* Keep the rows of our partitions, and the messages read with them. */
static void
take_glanced(struct candidates *l, const struct glance *g)
{
	struct scan	*s = &l->scan;

	s->rows = xcalloc(g->n + 1, sizeof(*s->rows));
	for (size_t i = 0; i < g->n; i++) {
		struct bytes	 label = label_of(&g->rows[i]);
		struct part	*p = parts_find(l->parts, label);

		if (p != NULL && p->in_scan)
			s->rows[s->n++] = (struct candidate){
			    .range = parts_label(l->parts, label)->range,
			    .sequence = g->rows[i].sequence };
	}
	store_sort_candidates(s->rows, s->n);
	s->ahead = g->ahead;
}

int
candidates_glance(struct candidates *l, bool *done, struct err *e)
{
	int64_t		 began = clock_ms();
	size_t		 longest = (size_t)l->conf->worker.batch_bytes /
			    GLANCE_ROWS;
	struct glance	 g;

	/*
	 * Without leases nobody knows whether a message is still as it was
	 * read.  Messages of other workers and of rows that wait are read for
	 * nothing.
	 */
	if (!l->conf->worker.leasing || l->foreign ||
	    lanes_count(l->lanes) > 0)
		longest = 0;
	if (store_glance(l->store, longest, &g, e) < 0)
		return -1;
	note_crowd(l, &g, clock_ms() - began);
	*done = g.all && note_glanced(l, &g);
	if (*done) {
		candidates_choose_glanced(l);
		take_glanced(l, &g);
		/* Whatever was known of partitions without rows is over. */
		for (size_t i = 0; i < l->parts->n; i++) {
			struct part *p = l->parts->items[i];

			for (size_t k = 0; !p->in_scan && k < p->nlabels; k++)
				p->labels[k].full = false;
		}
	} else
		batch_free(&g.ahead);
	free(g.rows);
	return 0;
}
