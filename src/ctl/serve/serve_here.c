/*
 * serve_here.c - commands that only read, in this process
 *
 * The configuration and the connections to database and broker stay for the
 * next command.  All of them go when the file changed, and the one to the
 * database when a command failed: nothing that it began outlives it.
 */

#include <string.h>

#include "drivers/drivers.h"
#include "ctl/serve/serve.h"
#include "util/clock.h"

/*
 * After so long connect anew: the tables may have changed, or another server
 * may be the primary.
 */
#define CONNECTION_MS	60000

/* All that borrows the configuration. */
static void
let_go(struct here *h)
{
	store_free(h->c.store);
	h->c.store = NULL;
	json_decref(h->c.host_before);
	h->c.host_before = NULL;
	if (h->loaded)
		pub_free(&h->bus);
	h->c.bus = NULL;
	h->loaded = false;
}

/* A secret is in a file of its own, which may be gone. */
static bool
is_current(const struct here *h)
{
	const struct stat	*was = &h->stat;
	struct stat		 now;
	struct err		 e;

	return h->loaded && h->c.bad_file.text[0] == '\0' &&
	    stat(h->c.path, &now) == 0 && now.st_dev == was->st_dev &&
	    now.st_ino == was->st_ino && now.st_size == was->st_size &&
	    now.st_mtim.tv_sec == was->st_mtim.tv_sec &&
	    now.st_mtim.tv_nsec == was->st_mtim.tv_nsec &&
	    now.st_ctim.tv_sec == was->st_ctim.tv_sec &&
	    now.st_ctim.tv_nsec == was->st_ctim.tv_nsec &&
	    ctl_has_secrets(&h->c, &e);
}

static int
load(struct here *h)
{
	int	status;

	if (is_current(h))
		return CTL_DONE;
	let_go(h);
	/* Before it is read: a later change is seen by the next command. */
	if (stat(h->c.path, &h->stat) < 0)
		memset(&h->stat, 0, sizeof(h->stat));
	if ((status = ctl_need_conf(&h->c)) != CTL_DONE)
		return status;
	/* The library of NATS must be first, see drivers.h. */
	h->bus = drivers_new_first(h->c.conf, "outboxctl");
	h->c.bus = &h->bus;
	h->loaded = true;
	return CTL_DONE;
}

static bool
is_open(const struct here *h)
{
	return h->c.store != NULL && store_is_open(h->c.store);
}

int
here_run(struct here *h)
{
	int		status = load(h);
	bool		was_open;
	struct err	e;

	if (status != CTL_DONE)
		return status;
	if (h->c.store != NULL)
		ctl_follow_workers(&h->c);
	/* It may have been lost since, or have lasted long enough. */
	if (is_open(h) && (clock_ms() - h->opened_at > CONNECTION_MS ||
	    db_check(store_db(h->c.store), &e) < 0))
		store_close(h->c.store);
	was_open = is_open(h);
	if (h->c.command->needs == NEEDS_TABLES && !was_open)
		status = ctl_connect(&h->c);
	if (status == CTL_DONE && (status = ctl_check_table(&h->c)) == CTL_DONE)
		status = h->c.command->run(&h->c);
	if (!was_open)
		h->opened_at = clock_ms();
	return status;
}

/* The status of status tells of problems, also if all could be read. */
void
here_settle(struct here *h, int status, const json_t *result)
{
	bool	read = status == CTL_DONE || status == CTL_USAGE ||
		    json_is_null(json_object_get(result, "database"));

	if (!read && is_open(h))
		store_close(h->c.store);
}

void
here_free(struct here *h)
{
	let_go(h);
	conf_free(h->c.conf);
}
