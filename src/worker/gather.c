/* gather.c - see gather.h */

#include "worker/gather.h"

#include <string.h>

/* Behind: rows are left, or other rows wait long for the end of a batch. */
#define SLOW_US		200000
#define BEHIND_MS	200	/* for so long: spread */

#define MEASURE_MS	1000
#define SPREAD_MS	10000	/* at least for so long */
#define SPREAD_ROWS	20	/* fewer a second are never much */

unsigned
gather_first(const struct gather *g, int64_t now)
{
	const struct scoreboard_line	*l;

	if (g->board == NULL || !g->enabled || now < g->board->spread_until)
		return 0;
	for (unsigned i = 0; i < CONF_MAX_WORKERS; i++) {
		l = &g->board->lines[i];
		if (l->id[0] != '\0' && now >= l->trusted_from)
			return i + 1;
	}
	return 0;
}

bool
gather_is_on(const struct gather *g, int64_t now)
{
	return gather_first(g, now) > 0;
}

/* More than half of what was too much for one: it may be again. */
static bool
is_still_much(const struct gather *g, int64_t now)
{
	return now < g->board->spread_until && g->board->spread_rate > 0 &&
	    scoreboard_rate(g->board, g->nslots, now) >
	    g->board->spread_rate / 2;
}

static uint32_t
rate(const struct gather *g, int64_t now)
{
	int64_t	ms = now - g->measured_at;

	return (uint32_t)(g->rows * 1000 / (uint64_t)(ms > 0 ? ms : 1));
}

/* Rows are counted at the end of a tick, so a short time tells nothing. */
static uint32_t
present_rate(const struct gather *g, int64_t now)
{
	uint32_t	n = now - g->measured_at >= BEHIND_MS ? rate(g, now) :
			    g->board->lines[g->slot].rate;

	return n > SPREAD_ROWS ? n : SPREAD_ROWS;
}

static void
spread(const struct gather *g, int64_t now)
{
	if (now >= g->board->spread_until || g->board->spread_rate == 0)
		g->board->spread_rate = present_rate(g, now);
	g->board->spread_until = now + SPREAD_MS;
}

/* A reload replaces those that are gathered: they are to take their shares. */
static void
forbid(const struct gather *g, int64_t now)
{
	g->board->spread_rate = 0;
	g->board->spread_until = now + SPREAD_MS;
}

void
gather_measure(struct gather *g, int64_t now)
{
	if (g->board == NULL || now - g->measured_at < MEASURE_MS)
		return;
	g->board->lines[g->slot].rate = rate(g, now);
	g->rows = 0;
	g->measured_at = now;
	if (!g->enabled && g->nslots > 1)
		forbid(g, now);
	else if (is_still_much(g, now))
		spread(g, now);
}

void
gather_worked(struct gather *g, const struct gather_work *w, int64_t now)
{
	if (g->board == NULL)
		return;
	g->rows += w->rows;
	if (!w->left && w->batch_us < SLOW_US)
		g->behind_since = 0;
	else if (g->behind_since == 0)
		g->behind_since = now;
	else if (g->enabled && now - g->behind_since >= BEHIND_MS)
		spread(g, now);
	gather_measure(g, now);
}

/*
 * Until a new worker is registered the database has the id of the one before.
 * A reload may change the number of slots: those that are to end, and those
 * that are new to this worker, are of this master as well.
 */
static const struct scoreboard_line *
find_line(const struct gather *g, const char *id)
{
	const struct scoreboard_line	*l;

	for (unsigned i = 0; g->board != NULL && i < CONF_MAX_WORKERS; i++) {
		l = &g->board->lines[i];
		if (strcmp(l->id, id) == 0 || strcmp(l->former_id, id) == 0)
			return l;
	}
	return NULL;
}

bool
gather_has(const struct gather *g, const char *id)
{
	return find_line(g, id) != NULL;
}

bool
gather_trusts(const struct gather *g, const char *id, int64_t now)
{
	const struct scoreboard_line	*l = find_line(g, id);

	return l != NULL && now >= l->trusted_from;
}

bool
gather_is_well(const struct gather *g, int64_t now)
{
	for (unsigned i = 0; i < g->nslots; i++)
		if (g->board->lines[i].owned > 0 &&
		    scoreboard_is_well(&g->board->lines[i], now))
			return true;
	return false;
}

void
gather_tell_others(const struct gather *g)
{
	for (unsigned i = 0; g->wakeup != NULL && i < g->nslots; i++)
		if (i != g->slot)
			wakeup_notify_leases(g->wakeup, i);
}
