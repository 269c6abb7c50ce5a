/* succession.c - the workers that died, and who takes over from them */

#include "master/master_impl.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ipc/predecessors.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/xalloc.h"

/* Save the ids whose leases are to be taken over if we are killed now. */
void
succession_note(struct master *m, const struct slot *s)
{
	struct predecessor	all[SLOT_PREDECESSORS] = { { "", 0 } };
	char			ids[PREDECESSORS_PER_SLOT][IDENT_SIZE];
	size_t			n = 0;
	struct err		e;

	/* For all workers: whichever gets their partitions, claims are void. */
	memcpy(all, s->predecessors, s->npredecessors * sizeof(all[0]));
	memcpy(m->scoreboard->predecessors[s->index], all, sizeof(all));
	for (size_t i = 0; i < s->npredecessors; i++)
		memcpy(ids[n++], s->predecessors[i].id, IDENT_SIZE);
	if (s->id[0] != '\0')
		memcpy(ids[n++], s->id, IDENT_SIZE);
	if (predecessors_write(m->predecessors_fd, s->index,
	    (const char (*)[IDENT_SIZE])ids, n, &e) < 0)
		log_warn("%s: if this master is killed, the next one waits "
		    "until leases expire", e.text);
}

/* The pid file's lock was free, so the former master's workers are dead. */
void
succession_inherit(struct master *m)
{
	size_t	n;
	char	(*ids)[IDENT_SIZE] = predecessors_read(m->predecessors_fd, &n);

	unsigned	workers = (unsigned)m->conf->master.workers;

	for (size_t i = 0; i < n; i++)
		slot_inherit(&m->slots[ident_slot(ids[i]) % workers],
		    ids[i], clock_ms());
	for (unsigned i = 0; i < workers; i++)
		succession_note(m, &m->slots[i]);
	predecessors_cut(m->predecessors_fd, workers);
	if (n > 0)
		log_info("taking over from %zu workers of a former master", n);
	free(ids);
}

/* Remove the list: workers that left need no successor. */
void
succession_forget(struct master *m)
{
	char	*path;

	for (unsigned i = 0; i < CONF_MAX_WORKERS; i++)
		if (m->slots[i].npredecessors > 0)
			return;
	path = xasprintf("%s.workers", m->a->run_prefix);
	unlink(path);
	free(path);
}
