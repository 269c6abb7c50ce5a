/*
 * doctor_binlog.c - can the binlog be followed, as the listener would?
 *
 * It is requested for a moment: rights may come from roles, and a proxy may be
 * in the way.
 */

#include "ctl/doctor/doctor.h"

#include <stdlib.h>
#include <string.h>

#include "ctl/schema/schema.h"
#include "ctl/state/state.h"
#include "mysql/binlog.h"

#define PREFIX	"binlog: "	/* of its errors */

/* Each call tries one host, until one refuses the request or grants it. */
static bool
can_follow(const struct doctor *d, struct err *e)
{
	struct binlog	*b = binlog_new(d->ctl->conf);
	size_t		 n = d->ctl->conf->mysql.hosts.n;
	const uint8_t	*event;
	size_t		 len;
	bool		 can = false, refused = false;

	for (size_t i = 0; i < (n > 0 ? n : 1) && !can && !refused; i++) {
		can = binlog_open(b, e) == 0 &&
		    binlog_next(b, &event, &len, e) == 0;
		refused = binlog_fault(b) == DB_WRONG;
	}
	binlog_free(b);
	return can;
}

/* ": GRANT ...", if that is what it takes. */
static void
put_remedy(struct doctor *d, const char *why, struct buf *b)
{
	struct err	 e;
	char		*account;

	if (strstr(why, "REPLICATION") == NULL)
		return;
	if ((account = schema_account(d->ctl, &e)) == NULL)
		return;
	buf_printf(b, ": GRANT %s ON *.* TO %s (it can then read all changes "
	    "of all databases of the server)", schema_binlog_rights(d->ctl),
	    account);
	free(account);
}

static bool
is_followed(const struct doctor *d)
{
	json_t		*here = state_this_host(d->ctl);
	const char	*now = member_text(json_object_get(here, "listener"),
			    "state");
	bool		 is = now != NULL && strcmp(now, "running") == 0;

	json_decref(here);
	return is;
}

/* With auto a choice of the operator, which may stay as it is. */
static void
say_refusal(struct doctor *d, const struct err *e)
{
	const char	*why = strncmp(e->text, PREFIX, strlen(PREFIX)) == 0 ?
			    e->text + strlen(PREFIX) : e->text;
	struct buf	 b = { 0 };

	buf_str(&b, why);
	put_remedy(d, why, &b);
	/* A server goes on with a connection whose account has lost the right. */
	if (is_followed(d))
		doctor_say(d, DOCTOR_ADVICE, "binlog", "the daemon of this "
		    "host follows it until its connection ends, and then its "
		    "workers poll: %s", b.data);
	else if (d->ctl->conf->wake.binlog == WAKE_ON)
		doctor_say(d, DOCTOR_FAIL, "binlog", "wake.binlog is on, but "
		    "workers poll: %s", b.data);
	else
		doctor_say(d, DOCTOR_OK, "binlog", "workers poll, so a message "
		    "after a pause waits for up to %lld ms "
		    "(worker.idle_backoff_ms); to send it at once let the "
		    "account follow the binlog, or set wake.binlog: false to "
		    "leave it at that: %s",
		    (long long)d->ctl->conf->worker.idle_backoff_ms, b.data);
	buf_free(&b);
}

void
doctor_binlog(struct doctor *d)
{
	struct err	e;

	if (d->ctl->conf->wake.binlog == WAKE_OFF)
		return;
	if (can_follow(d, &e))
		doctor_say(d, DOCTOR_OK, "binlog",
		    "the account may read it: commits wake the workers");
	else
		say_refusal(d, &e);
}
