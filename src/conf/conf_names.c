/*
 * conf_names.c - keys by their names, and what a wrong name probably means
 */
#include "conf/conf_impl.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct conf_key *
conf_key(const char *name)
{
	for (const struct conf_key *k = conf_table; k->name != NULL; k++)
		if (strcmp(k->name, name) == 0)
			return k;
	return NULL;
}

/* The part of a name after "section."; NULL: it is not in the section. */
static const char *
inside(const char *name, const char *section)
{
	size_t	n = strlen(section);

	if (n == 0)
		return name;
	return strncmp(name, section, n) == 0 && name[n] == '.' ?
	    name + n + 1 : NULL;
}

bool
conf_key_is_section(const char *name)
{
	for (const struct conf_key *k = conf_table; k->name != NULL; k++)
		if (inside(k->name, name) != NULL)
			return true;
	return false;
}

/* The only key in a section with this leaf: the file misplaced it. */
static const char *
only_one(const char *section, const char *leaf)
{
	const char	*found = NULL;

	for (const struct conf_key *k = conf_table; k->name != NULL; k++) {
		if (inside(k->name, section) == NULL ||
		    strcmp(strrchr(k->name, '.') + 1, leaf) != 0)
			continue;
		if (found != NULL)
			return NULL;
		found = k->name;
	}
	return found;
}

struct conf_phrase
conf_key_near(const char *section, const char *leaf)
{
	struct conf_phrase	 best = { "" };
	const char		*name = only_one(section, leaf);
	size_t			 far = SIZE_MAX, d, len;

	if (*leaf == '\0' || strlen(leaf) >= CONF_NAME_SIZE)
		return best;
	if (name == NULL)
		name = only_one("", leaf);
	if (name != NULL) {
		snprintf(best.text, sizeof(best.text), "%s", name);
		return best;
	}
	/* The name in the section that is most similar to the leaf. */
	for (const struct conf_key *k = conf_table; k->name != NULL; k++) {
		if ((name = inside(k->name, section)) == NULL)
			continue;
		len = strcspn(name, ".");
		if ((d = conf_how_far(leaf, name, len)) < far) {
			far = d;
			snprintf(best.text, sizeof(best.text), "%.*s",
			    (int)(name - k->name + (ptrdiff_t)len), k->name);
		}
	}
	return best;
}

/* "worker.lease_ttl" is OUTBOX_WORKER_LEASE_TTL in the environment. */
const char *
conf_key_variable_name(const struct conf_key *k)
{
	static char	 names[CONF_KEYS_MAX][CONF_NAME_SIZE + 8];
	char		*name = names[k - conf_table];

	snprintf(name, sizeof(names[0]), "OUTBOX_%s", k->name);
	for (char *p = name; *p != '\0'; p++)
		*p = (char)(*p == '.' ? '_' : toupper((unsigned char)*p));
	return name;
}

const char *
conf_key_variable(const struct conf_key *k)
{
	return getenv(conf_key_variable_name(k));
}

const char *
conf_variable(const char *name)
{
	const struct conf_key	*k = conf_key(name);

	return k == NULL ? NULL : conf_key_variable(k);
}

void
conf_put_variable(const struct conf_change *change)
{
	const struct conf_key	*k = conf_key(change->name);

	if (k == NULL ||
	    setenv(conf_key_variable_name(k), change->value, 1) < 0)
		abort();
}
