/*
 * conf_form_monitor.c - people who use the monitor, what they may do, and who
 * may tell who somebody is
 *
 * As conf_form.c.  A name stands in the audit, as "outbox for anna (monitor)":
 * without a blank in it, no name can look like that of somebody else.
 */

#include "conf/conf_impl.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "util/buf.h"

/* Beside conf_actions: nothing, and all of them. */
#define MAY_READ	"read"
#define MAY_ACT		"act"

const char *const	conf_actions[CONF_ACTIONS + 1] = {
	[ACTION_RETRY] = "retry", [ACTION_DISCARD] = "discard",
	[ACTION_REPLAY] = "replay", [ACTION_PAUSE] = "pause",
	[ACTION_RESUME] = "resume", [ACTION_RELEASE] = "release",
	[ACTION_DEAD_RETRY] = "dead-retry",
	[ACTION_DEAD_PURGE] = "dead-purge", NULL
};

bool
conf_is_person(const char *text)
{
	size_t	n = 0;

	while (text[n] > ' ' && text[n] <= '~')
		n++;
	return text[n] == '\0' && n > 0 && n < CONF_PERSON_SIZE &&
	    strcmp(text, CONF_NOBODY) != 0 && strcmp(text, CONF_ANYBODY) != 0;
}

int
conf_form_person(const char *text, struct err *e)
{
	if (strcmp(text, CONF_NOBODY) == 0)
		return err_set(e, "%s is the name of the token of "
		    "monitor.token_file", text);
	return conf_is_person(text) || strcmp(text, CONF_ANYBODY) == 0 ? 0 :
	    err_set(e, "%s is no name of a "
	    "person: use up to %d printable ASCII characters without blanks",
	    conf_show(text).text, CONF_PERSON_SIZE - 1);
}

/* The action of this name; CONF_ACTIONS: there is none. */
static int
action_of(const char *text)
{
	int	i = 0;

	while (i < CONF_ACTIONS && strcmp(conf_actions[i], text) != 0)
		i++;
	return i;
}

int
conf_form_may(const char *text, struct err *e)
{
	struct buf	b = { 0 };

	if (strcmp(text, MAY_READ) == 0 || strcmp(text, MAY_ACT) == 0 ||
	    action_of(text) < CONF_ACTIONS)
		return 0;
	for (int i = 0; i < CONF_ACTIONS; i++)
		buf_printf(&b, "%s%s", i == 0 ? "" : ", ", conf_actions[i]);
	err_set(e, "%s is unknown: choose %s, %s, or a list of %s",
	    conf_show(text).text, MAY_READ, MAY_ACT, b.data);
	buf_free(&b);
	return -1;
}

unsigned
conf_may(const struct conf_person *p)
{
	unsigned	all = (1U << CONF_ACTIONS) - 1, may = 0;

	for (size_t i = 0; i < p->may.n; i++)
		may |= strcmp(p->may.items[i], MAY_ACT) == 0 ? all :
		    1U << action_of(p->may.items[i]);
	return may & all;
}

/* Not one that the monitor, or whoever reads the request, needs for itself. */
int
conf_form_user_header(const char *text, struct err *e)
{
	static const char *const	taken[] = { "Authorization",
		"Connection", "Content-Length", "Content-Type", "Cookie",
		"Host", "Origin", "Sec-Fetch-Site", "Transfer-Encoding" };

	if (text[strspn(text, CONF_LETTERS CONF_DIGITS "-")] != '\0')
		return err_set(e, "%s is not the name of an HTTP header: use "
		    "letters, digits and -", conf_show(text).text);
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		if (strcasecmp(text, taken[i]) == 0)
			return err_set(e, "%s has another meaning", text);
	return 0;
}

/* An address, or the user of a process by the Unix socket: no name is asked. */
int
conf_form_peer(const char *text, struct err *e)
{
	const char	*uid = strncmp(text, "uid:", 4) == 0 ? text + 4 : "";
	size_t		 n = strspn(uid, CONF_DIGITS);
	struct in6_addr	 to;

	if ((n > 0 && uid[n] == '\0' && (*uid != '0' || n == 1)) ||
	    inet_pton(AF_INET, text, &to) == 1 ||
	    inet_pton(AF_INET6, text, &to) == 1)
		return 0;
	return err_set(e, "%s is neither an address such as 10.0.0.7, nor "
	    "uid:NUMBER for a user of the Unix socket", conf_show(text).text);
}
