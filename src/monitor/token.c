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

/* Could outboxctl log in as the operator?  What it says is for status. */
static int
check_operator(const struct conf *conf, struct err *e)
{
	const char	*file = conf->mysql.operator.password_file;
	char		*secret;

	if (conf->mysql.operator.user[0] == '\0')
		return 0;
	secret = secret_read(file, conf->mysql.operator.password_env, e);
	secret_free(secret);
	return secret == NULL ? err_in(e, "monitor.token_file allows changes, "
	    "but mysql.operator cannot be used") : 0;
}

/* NULL, and what is wrong, if it cannot be used. */
static char *
read_token(const struct conf *conf, struct err *e)
{
	char	*token = conf_monitor_token(conf, e);

	if (token != NULL)
		(void)check_operator(conf, e);
	return token;
}

bool
token_read(struct monitor *m)
{
	char		*old = m->token;
	struct err	 e = { 0 };
	bool		 changed;

	if (m->a->conf->monitor.token_file[0] == '\0')
		return false;
	m->token = read_token(m->a->conf, &e);
	if (old != NULL && (m->token == NULL || !secret_is(old, m->token)))
		events_revoke(m);
	secret_free(old);
	changed = strcmp(e.text, m->bad_token.text) != 0;
	m->bad_token = e;
	return changed;
}
