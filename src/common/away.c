/* away.c - see away.h; no I/O */

#include "common/away.h"

#include <string.h>

#include <bsd/string.h>

#define DOUBT	'?'
#define BACK	'!'

/* The next name, without its mark. */
static const char *
next_name(const char **at, size_t *len, bool *doubt)
{
	const char	*name = *at += **at == BACK;
	size_t		 n = strcspn(name, ",");

	if (n == 0)
		return NULL;
	*at += n + (name[n] == ',');
	*doubt = name[n - 1] == DOUBT;
	*len = n - *doubt;
	return name;
}

const char *
away_next(const char **at, size_t *len)
{
	const char	*name;
	bool		 doubt = false;

	do
		name = next_name(at, len, &doubt);
	while (name != NULL && doubt);
	return name;
}

static bool
has(const char *list, const char *name, size_t len)
{
	const char	*own;
	size_t		 n;

	while ((own = away_next(&list, &n)) != NULL)
		if (n == len && memcmp(own, name, len) == 0)
			return true;
	return false;
}

/*
 * Is less away there than is here?  For sure, unless this worker stands back
 * already.
 */
static bool
is_less(const char *there, const char *here)
{
	const char	*name;
	size_t		 len, nthere = 0, nhere = 0;
	bool		 doubt, back = here[0] == BACK;

	while ((name = next_name(&there, &len, &doubt)) != NULL) {
		if (doubt && back)
			continue;
		if (!has(here, name, len))
			return false;
		nthere++;
	}
	while (away_next(&here, &len) != NULL)
		nhere++;
	return nthere < nhere;
}

void
away_judge(const char *const *lists, size_t n, bool *back)
{
	bool	all_say = true;

	for (size_t i = 0; i < n; i++)
		all_say = all_say && lists[i] != NULL;
	for (size_t i = 0; i < n; i++) {
		back[i] = false;
		for (size_t k = 0; all_say && lists[i][0] != '\0' && k < n &&
		    !back[i]; k++)
			back[i] = is_less(lists[k], lists[i]);
	}
}

void
away_begin(char list[AWAY_SIZE], bool stands_back)
{
	list[0] = stands_back ? BACK : '\0';
	list[1] = '\0';
}

void
away_add(char list[AWAY_SIZE], const char *name, bool doubt)
{
	size_t	used = strlen(list), n = strlen(name);

	if (used + 1 + n + 1 >= AWAY_SIZE)
		return;
	if (used > 0 && list[used - 1] != BACK)
		list[used++] = ',';
	memcpy(list + used, name, n);
	used += n;
	if (doubt)
		list[used++] = DOUBT;
	list[used] = '\0';
}
