/* load.c - the configuration of a command, whole or of this host only */

#include "ctl/base/ctl.h"

#include <string.h>

#include "common/exits.h"
#include "ctl/base/outcome.h"

/* Those of servers that it uses. */
bool
ctl_has_secrets(const struct ctl *c, struct err *e)
{
	enum command_needs	needs = c->command->needs;

	if (needs < NEEDS_HOST && conf_check_mysql_secret(c->conf, e) < 0)
		return false;
	return (needs != NEEDS_SERVERS && needs != NEEDS_STATE) ||
	    conf_check_destination_secrets(c->conf, e) == 0;
}

bool
ctl_load(struct ctl *c)
{
	struct conf	*former = c->conf;
	bool		 whole;

	c->bad_file.text[0] = '\0';
	c->bad_secret = false;
	c->conf = conf_load(c->path, NULL, &c->bad_file);
	whole = c->conf != NULL && ctl_has_secrets(c, &c->bad_file);
	/*
	 * The daemon may run with what the file was before.  A file that is
	 * not the default one and names no pid file may be that of anything.
	 */
	if (!whole && (c->command->needs == NEEDS_STATE ||
	    c->command->needs == NEEDS_HOST)) {
		c->bad_secret = c->conf != NULL;
		if (c->conf == NULL)
			c->conf = conf_load_host(c->path, strcmp(c->path,
			    DEFAULT_CONF) != 0);
		whole = c->conf != NULL;
	}
	if (!whole) {
		conf_free(c->conf);
		c->conf = former;
		return false;
	}
	conf_free(former);
	return true;
}

int
ctl_need_conf(struct ctl *c)
{
	if (ctl_load(c))
		return CTL_DONE;
	ctl_error("%s", c->bad_file.text);
	outcome_remedy("correct the configuration; outbox-master -t checks it");
	return EXIT_CONFIG;
}
