/*
 * people.h - who has a token for the monitor, and what each may do
 *
 * The table of monitor.tokens, and the token of monitor.token_file as one row
 * of it, which may do everything.  With monitor.user_header a proxy can name the
 * people of the table, whether they have tokens or not.  It holds no token, but
 * the hash of each.  The monitor has it to know who may look, and strangers;
 * outboxctl serve, who may change what.
 */
#ifndef OUTBOX_PEOPLE_H
#define OUTBOX_PEOPLE_H

#include <stdbool.h>

#include "conf/conf.h"

#define PEOPLE_MAX	(CONF_PEOPLE_MAX + 1)

struct person {
	char		name[CONF_PERSON_SIZE];	/* CONF_NOBODY: monitor.token_file */
	unsigned char	hash[32];	/* SHA-256 of the token */
	unsigned	has_token;	/* 0: none, or it cannot be used */
	unsigned	is_named;	/* a proxy can name this one */
	unsigned	may;		/* see conf_may() */
};

/* Two tables are the same if their bytes are. */
struct people {
	struct person	list[PEOPLE_MAX];
	unsigned	n;
};

/*
 * Read the tokens of all.  -1: that of somebody cannot be used, see err, which
 * begins with the name of the key; the others can.  Two with the same token
 * have none: nobody could tell which of them it is.
 */
int	people_read(struct people *, const struct conf *, struct err *);

/*
 * The person with this token; NULL: there is none.  Takes as long for each
 * token of its length, so that nobody learns one by measuring.
 */
const struct person *people_find(const struct people *, const char *token);

/* The person whom a proxy names; NULL: there is none. */
const struct person *people_named(const struct people *, const char *name);

/* The change that this command of outboxctl is; CONF_ACTIONS: none of them. */
enum conf_action people_action(const char *command);
extern const char *const people_commands[CONF_ACTIONS];

/* May anybody change something? */
bool	people_may_act(const struct people *);

#endif
