/* vanishing.c - see vanishing.h */

#include "ipc/vanishing.h"

uint64_t
vanishing_add(struct vanishing *v, const struct vanishing_sample *s)
{
	uint64_t	gone;
	bool		rows_seen, ended;

	/* A number that is lower than before is another table's. */
	rows_seen = v->last.at == 0 || s->row >= v->from ||
	    s->next < v->from || s->handled != v->last.handled;
	ended = v->since != 0 && s->next == v->last.next &&
	    s->at - v->moved_at > VANISHING_LASTS_MS;
	if (rows_seen || ended) {
		v->from = s->next;
		v->since = v->moved_at = 0;
	} else if (s->next > v->last.next) {
		v->moved_at = s->at;
		if (v->since == 0)
			v->since = s->at;
	}
	v->last = *s;
	gone = s->next - v->from;
	return gone >= VANISHING_ROWS && s->at - v->since >= VANISHING_MS ?
	    gone : 0;
}

/* Those that are gone are spread evenly: of many rows the last ones are kept. */
bool
vanishing_share_add(struct vanishing_share *v, size_t rows, size_t gone)
{
	size_t	left = 0;

	for (size_t i = 0; i < rows; i++) {
		bool	is_gone;

		left += gone;
		is_gone = left >= rows;
		if (is_gone)
			left -= rows;
		if (v->rows < VANISHING_LAST)
			v->rows++;
		else if (v->is_gone[v->next])
			v->gone--;
		v->is_gone[v->next] = is_gone;
		v->gone += is_gone;
		v->next = (v->next + 1) % VANISHING_LAST;
	}
	return v->gone >= VANISHING_FEW && v->gone * 2 > v->rows;
}
