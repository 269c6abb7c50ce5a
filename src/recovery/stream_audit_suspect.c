/*
 * stream_audit_suspect.c - has the stream changed such that it may have lost
 * messages?
 *
 * Its state may show another leader or run of the server than was recorded,
 * more gaps, or more bytes that the server calls lost.
 */

#include "recovery/stream_audit_impl.h"

#include <string.h>

#include "util/log.h"

bool
stream_audit_is_checked(const struct stream_row *row, const struct stream_state *st)
{
	return row->checked && !row->fresh &&
	    strcmp(row->created, st->created) == 0;
}

bool
stream_audit_looks_the_same(const struct stream_row *row,
    const struct stream_state *st)
{
	return st->replicated && !row->fresh && row->has_gaps &&
	    strcmp(row->created, st->created) == 0 &&
	    st->damage <= row->damage && st->gaps == row->gaps &&
	    (st->first <= row->first || st->limited);
}

/* Another start of the server, stream, or leader of its replicas. */
static bool
has_changed(const struct stream_row *row, const struct stream_state *st)
{
	return !stream_audit_is_checked(row, st) || (row->leader[0] != '\0' &&
	    st->leader[0] != '\0' && strcmp(row->leader, st->leader) != 0);
}

enum suspicion
stream_audit_suspect(const struct stream_row *row,
    const struct stream_state *st)
{
	bool	changed = has_changed(row, st);

	if (!row->has_gaps)
		return changed ? SUSPECT_CHANGE : SUSPECT_NOTHING;
	if (st->damage > row->damage ||
	    (changed && st->gaps > 0 && st->gaps != row->gaps))
		return SUSPECT_LOST;
	if (changed)
		return SUSPECT_CHANGE;
	/* Where single messages may go, their number says nothing. */
	return st->gaps > row->gaps && !st->forgets ? SUSPECT_LOOK :
	    SUSPECT_NOTHING;
}

const char *
stream_audit_suspicion(const struct stream_row *row, const struct stream_state *st)
{
	static const char *const	words[] = {
		[SUSPECT_NOTHING] = NULL, [SUSPECT_LOOK] = STORE_LOOK,
		[SUSPECT_CHANGE] = STORE_CHANGE, [SUSPECT_LOST] = STORE_LOST };

	return words[stream_audit_suspect(row, st)];
}

/*
 * The change made no holes that were there before.  But another worker
 * may have seen them come, and the scrub has not read all rows since.
 */
bool
stream_audit_holes_are_lost(const struct stream_row *row, const struct stream_state *st)
{
	return row->suspected ||
	    stream_audit_suspect(row, st) == SUSPECT_LOST ||
	    (!row->has_gaps && has_changed(row, st));
}

void
stream_audit_tell_suspicion(const struct stream_audit *r,
    const struct stream_row *row, const struct stream_state *st)
{
	const char	*stream = r->conf->nats.stream;

	if (stream_audit_suspect(row, st) == SUSPECT_NOTHING)
		return;
	if (has_changed(row, st))
		log_info("stream %s: %s leads it now, %llu messages are "
		    "missing in it, formerly %s and %llu: all delivered "
		    "messages are looked up", stream, st->leader,
		    (unsigned long long)st->gaps, row->leader,
		    (unsigned long long)row->gaps);
	else
		log_info("stream %s: %llu messages are missing in it, formerly "
		    "%llu: all delivered messages are looked up", stream,
		    (unsigned long long)st->gaps,
		    (unsigned long long)row->gaps);
}
