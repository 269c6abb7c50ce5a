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
		refused = db_last_fault(binlog_db(b)) == DB_WRONG;
	}
	binlog_free(b);
	return can;
}

/* With auto a choice of the operator, which may stay as it is. */
static void
say_refusal(struct doctor *d, const struct err *refusal)
{
	const struct conf	*c = d->ctl->conf;
	const char		*why = strncmp(refusal->text, PREFIX,
				    strlen(PREFIX)) == 0 ?
				    refusal->text + strlen(PREFIX) :
				    refusal->text;
	json_t			*here = state_this_host(d->ctl);
	const char		*listener = member_text(json_object_get(here,
				    "listener"), "state");
	struct buf		 b = { 0 };
	struct err		 e;
	char			*account;

	buf_str(&b, why);
	if (strstr(why, "REPLICATION") != NULL &&
	    (account = schema_account(d->ctl, &e)) != NULL) {
		buf_printf(&b, ": GRANT %s ON *.* TO %s (it can then read all "
		    "changes of all databases of the server)",
		    schema_binlog_rights(d->ctl), account);
		free(account);
	}
	/* A server goes on with a connection whose account has lost the right. */
	if (listener != NULL && strcmp(listener, "running") == 0)
		doctor_say(d, DOCTOR_ADVICE, "binlog", "the daemon of this "
		    "host follows it until its connection ends, and then its "
		    "workers poll: %s", b.data);
	else if (c->wake.binlog == WAKE_ON)
		doctor_say(d, DOCTOR_FAIL, "binlog", "wake.binlog is on, but "
		    "workers poll: %s", b.data);
	else
		doctor_say(d, DOCTOR_OK, "binlog", "workers poll, so a message "
		    "after a pause waits for up to %lld ms "
		    "(worker.idle_backoff_ms); to send it at once let the "
		    "account follow the binlog, or set wake.binlog: false to "
		    "leave it at that: %s",
		    (long long)c->worker.idle_backoff_ms, b.data);
	buf_free(&b);
	json_decref(here);
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
