/*
 * doors.c - what the monitor listens on, see master_impl.h
 *
 * The sockets stay open while the monitor is replaced, so its clients wait for
 * the next one.
 */

#include "master/master_impl.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bsd/string.h>

#include "ipc/daemon.h"
#include "util/clock.h"

bool
doors_open(struct master *m, int64_t now)
{
	char		*socket = daemon_monitor_socket(m->conf);
	const char	*names[NDOORS] = { [DOOR_UNIX] = socket,
			    [DOOR_TCP] = m->conf->monitor.listen };
	bool		 changed = false;

	for (int i = 0; i < NDOORS; i++) {
		struct door	*d = &m->doors[i], fresh = {
				    .is_tcp = i == DOOR_TCP, .fd = -1 };

		strlcpy(fresh.name, names[i], sizeof(fresh.name));
		if (strcmp(d->name, fresh.name) != 0) {
			door_close(d);
			*d = fresh;
			changed = true;
		}
		changed = door_open(d, now) || changed;
	}
	free(socket);
	return changed;
}

int64_t
doors_deadline(const struct master *m)
{
	int64_t	next = INT64_MAX;

	for (int i = 0; i < NDOORS; i++)
		if (m->doors[i].why.text[0] != '\0')
			next = sooner(next, m->doors[i].try_at);
	return next;
}

void
doors_close(struct master *m)
{
	for (int i = 0; i < NDOORS; i++)
		door_close(&m->doors[i]);
}

void
doors_leave(const struct master *m)
{
	for (int i = 0; i < NDOORS; i++)
		if (m->doors[i].fd >= 0)
			close(m->doors[i].fd);
}
