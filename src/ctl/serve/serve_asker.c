/*
 * serve_asker.c - who asks for a change, and may that person make it?
 *
 * The monitor parses what strangers send, so what it says of a person is not
 * believed: it hands over the person's token, of which it keeps none.  Only
 * where a proxy may say who somebody is does its word count, as the proxy tells
 * nobody else.
 */

#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>

#include "common/exits.h"
#include "ctl/serve/serve.h"
#include "ipc/people.h"

int
asker_judge(struct here *h)
{
	bool			 is_monitor = getenv("OUTBOXCTL_MAY") != NULL;
	enum conf_action	 i = people_action(h->c.command->words);
	const struct person	*p = NULL;
	struct people		 people;
	struct conf		*conf;
	struct err		 e;

	if (h->token == NULL && !is_monitor) {
		/* Who runs this may do so in any name. */
		strlcpy(h->name, h->person == NULL ? "" : h->person,
		    sizeof(h->name));
		return CTL_DONE;
	}
	if (i == CONF_ACTIONS)
		return ctl_misuse("%s: no change of monitor.tokens",
		    h->c.command->words);
	if ((conf = conf_load(h->c.path, NULL, &e)) == NULL)
		return ctl_error("%s", e.text), EXIT_CONFIG;
	/* What is wrong with the token of one is in the way of no other. */
	(void)people_read(&people, conf, &e);
	conf_free(conf);
	if (h->token != NULL)
		p = people_find(&people, h->token);
	else if (h->person != NULL)
		p = people_named(&people, h->person);
	if (p == NULL) {
		h->is_forged = true;
		return ctl_error("a change needs the token of a person who may "
		    "make it"), EXIT_REFUSED;
	}
	if (h->token == NULL)
		strlcpy(h->name, h->person, sizeof(h->name));
	else if (strcmp(p->name, CONF_NOBODY) != 0)
		strlcpy(h->name, p->name, sizeof(h->name));
	if ((p->may & 1U << i) != 0)
		return CTL_DONE;
	err_set(&e, "add %s to what %s may do, in monitor.tokens; or use "
	    "outboxctl", conf_actions[i], p->name);
	return ctl_refuse(e.text, "%s may not %s", h->name, conf_actions[i]),
	    EXIT_REFUSED;
}
