/*
 * token.c - the token for changes, see monitor_impl.h
 *
 * It is read each second, so that one that was replaced or removed counts at
 * once.  A change is made by outboxctl with mysql.operator: if its password
 * cannot be read by this user, no change is possible, and that is told before
 * anybody tries.
 */

#include "monitor/monitor_impl.h"

#include <string.h>

#include "util/secret.h"

bool
token_read(struct monitor *m)
{
	const struct conf	*conf = m->a->conf;
	char			*old = m->token, *secret;
	struct err		 e = { 0 };
	bool			 changed;

	if (conf->monitor.token_file[0] == '\0')
		return false;
	m->token = conf_monitor_token(conf, &e);
	/* Could outboxctl log in as the operator? */
	if (m->token != NULL && conf->mysql.operator.user[0] != '\0') {
		secret = secret_read(conf->mysql.operator.password_file,
		    conf->mysql.operator.password_env, &e);
		if (secret == NULL)
			err_in(&e, "monitor.token_file allows changes, but "
			    "mysql.operator cannot be used");
		secret_free(secret);
	}
	if (old != NULL && (m->token == NULL || !secret_is(old, m->token)))
		events_revoke(m);
	secret_free(old);
	changed = strcmp(e.text, m->bad_token.text) != 0;
	m->bad_token = e;
	return changed;
}
