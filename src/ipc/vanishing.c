/* vanishing.c - see vanishing.h */

#include "ipc/vanishing.h"

static void
begin_anew(struct vanishing *v, const struct vanishing_sample *s)
{
	v->from = s->next;
	v->since = v->moved_at = 0;
}

/* A number that is lower than before is another table's. */
static bool
is_seen(const struct vanishing *v, const struct vanishing_sample *s)
{
	return v->last.at == 0 || s->row >= v->from || s->next < v->from ||
	    s->handled != v->last.handled;
}

uint64_t
vanishing_add(struct vanishing *v, const struct vanishing_sample *s)
{
	uint64_t	gone;

	if (is_seen(v, s) || (v->since != 0 && s->next == v->last.next &&
	    s->at - v->moved_at > VANISHING_LASTS_MS))
		begin_anew(v, s);
	else if (s->next > v->last.next) {
		v->moved_at = s->at;
		if (v->since == 0)
			v->since = s->at;
	}
	v->last = *s;
	gone = s->next - v->from;
	return gone >= VANISHING_ROWS && s->at - v->since >= VANISHING_MS ?
	    gone : 0;
}

static void
put_row(struct vanishing_share *v, bool gone)
{
	if (v->rows < VANISHING_LAST)
		v->rows++;
	else if (v->is_gone[v->next])
		v->gone--;
	v->is_gone[v->next] = gone;
	v->gone += gone;
	v->next = (v->next + 1) % VANISHING_LAST;
}

/* Those that are gone are spread evenly: of many rows the last ones are kept. */
bool
vanishing_share_add(struct vanishing_share *v, size_t rows, size_t gone)
{
	size_t	left = 0;

	for (size_t i = 0; i < rows; i++) {
		left += gone;
		put_row(v, left >= rows);
		if (left >= rows)
			left -= rows;
	}
	return v->gone >= VANISHING_FEW && v->gone * 2 > v->rows;
}
