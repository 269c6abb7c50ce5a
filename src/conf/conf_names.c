/*
 * conf_names.c - keys by their names, and what a wrong name probably means
 */
#include "conf/conf_impl.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct conf_retired conf_retired[] = {
	{ "worker.gather", "does nothing any more, as each worker always has "
	    "its share of the partitions" },
	{ NULL, NULL }
};

int
conf_key_find(const char *name)
{
	size_t			 n;
	const struct conf_key	*keys = conf_keys(&n);

	for (size_t i = 0; i < n; i++)
		if (strcmp(keys[i].name, name) == 0)
			return (int)i;
	return -1;
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
	size_t			 n;
	const struct conf_key	*keys = conf_keys(&n);

	for (size_t i = 0; i < n; i++)
		if (inside(keys[i].name, name) != NULL)
			return true;
	return false;
}

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* The edit distance of a, which fits a name, and the blen bytes of b. */
static size_t
distance(const char *a, const char *b, size_t blen)
{
	size_t	row[CONF_NAME_SIZE], alen = strlen(a);

	for (size_t i = 0; i <= alen; i++)
		row[i] = i;
	for (size_t j = 0; j < blen; j++) {
		size_t	diagonal = row[0];

		row[0] = j + 1;
		for (size_t i = 0; i < alen; i++) {
			size_t	above = row[i + 1];
			bool	same = tolower((unsigned char)a[i]) ==
				    tolower((unsigned char)b[j]);

			row[i + 1] = least(diagonal + !same,
			    1 + least(above, row[i]));
			diagonal = above;
		}
	}
	return row[alen];
}

/* Similar: up to three letters differ, or one begins with the other. */
static size_t
how_far(const char *leaf, const char *name, size_t len)
{
	size_t	n = strlen(leaf), d = distance(leaf, name, len);

	if (d <= least((n + 1) / 3, 3))
		return d;
	return strncmp(leaf, name, least(n, len)) == 0 ? 4 : SIZE_MAX;
}

/* The only key in a section with this leaf: the file misplaced it. */
static const char *
only_one(const char *section, const char *leaf)
{
	size_t			 n;
	const struct conf_key	*keys = conf_keys(&n);
	const char		*found = NULL;

	for (size_t i = 0; i < n; i++) {
		const char	*name = keys[i].name;

		if (inside(name, section) == NULL ||
		    strcmp(strrchr(name, '.') + 1, leaf) != 0)
			continue;
		if (found != NULL)
			return NULL;
		found = name;
	}
	return found;
}

/* The name in the section that is most similar to the leaf, or "". */
static struct conf_phrase
closest(const char *section, const char *leaf)
{
	struct conf_phrase	 best = { "" };
	size_t			 n, far = SIZE_MAX;
	const struct conf_key	*keys = conf_keys(&n);

	for (size_t i = 0; i < n; i++) {
		const char	*name = inside(keys[i].name, section);
		size_t		 len, d;

		if (name == NULL)
			continue;
		len = strcspn(name, ".");
		if ((d = how_far(leaf, name, len)) < far) {
			far = d;
			snprintf(best.text, sizeof(best.text), "%.*s",
			    (int)(name - keys[i].name + (ptrdiff_t)len),
			    keys[i].name);
		}
	}
	return best;
}

struct conf_phrase
conf_key_near(const char *section, const char *leaf)
{
	struct conf_phrase	 best = { "" };
	const char		*name = only_one(section, leaf);

	if (*leaf == '\0' || strlen(leaf) >= CONF_NAME_SIZE)
		return best;
	if (name == NULL)
		name = only_one("", leaf);
	if (name == NULL)
		return closest(section, leaf);
	snprintf(best.text, sizeof(best.text), "%s", name);
	return best;
}

struct conf_phrase
conf_word_near(const char *const *words, const char *text)
{
	struct conf_phrase	 best = { "" };
	size_t			 far = SIZE_MAX, d;

	if (*text == '\0' || strlen(text) >= CONF_NAME_SIZE)
		return best;
	for (; *words != NULL; words++)
		if ((d = how_far(text, *words, strlen(*words))) < far) {
			far = d;
			snprintf(best.text, sizeof(best.text), "%s", *words);
		}
	return best;
}

/* "worker.lease_ttl" is OUTBOX_WORKER_LEASE_TTL in the environment. */
const char *
conf_key_variable_name(size_t i)
{
	static char		 names[CONF_KEYS_MAX][CONF_NAME_SIZE + 8];
	size_t			 n;
	const struct conf_key	*k = conf_keys(&n) + i;
	char			*p = names[i];

	p += snprintf(p, sizeof(names[i]), "OUTBOX_");
	for (const char *q = k->name; *q != '\0'; q++)
		*p++ = (char)(*q == '.' ? '_' :
		    toupper((unsigned char)*q));
	*p = '\0';
	return names[i];
}

const char *
conf_key_variable(size_t i)
{
	return getenv(conf_key_variable_name(i));
}

const char *
conf_variable(const char *name)
{
	return conf_key_variable((size_t)conf_key_find(name));
}

void
conf_put_variable(const struct conf_change *change)
{
	int	k = conf_key_find(change->name);

	if (setenv(conf_key_variable_name((size_t)k), change->value, 1) < 0)
		abort();
}
