/*
 * conf_later.c - values whose feature is not there yet
 *
 * They are read and checked like others, so that the tests know them, and are
 * refused here by name: nobody may set a key that does nothing.
 */
#include "conf/conf_impl.h"

#include <stdlib.h>
#include <string.h>

/* -1 with an error if a word is marked later. */
static int
check_word(const void *base, const struct conf_key *k, struct err *e)
{
	int	i;

	if (k->type != CONF_ENUM || conf_is_empty(base, k))
		return 0;
	i = *(const int *)conf_field(base, k);
	if (i < 0 || (k->later & 1u << i) == 0)
		return 0;
	return err_set(e, "%s is not available yet: choose %s", k->words[i],
	    conf_wanted(k).text);
}

static bool
is_default(const struct conf *c, const struct conf_key *k)
{
	struct conf	 other = { .path = NULL };
	struct err	 e;
	char		*value, *dflt;
	bool		 answer;

	if (conf_has_items(k))
		return conf_is_empty(c, k);
	(void)conf_set(&other, k, k->dflt, false, &e);
	value = conf_text(c, k);
	dflt = conf_text(&other, k);
	answer = strcmp(value, dflt) == 0;
	free(value);
	free(dflt);
	conf_clear(&other, k);
	return answer;
}

/* The words of all records. */
static int
check_records(const struct conf_draft *d, const struct conf_key *k,
    struct err *e)
{
	const struct conf_records	*r = conf_field(d->conf, k);
	unsigned			 line;

	for (size_t i = 0; i < r->n; i++)
		for (size_t j = 0; j < k->nfields; j++) {
			const void	*record = conf_record(r, k, i);

			if (check_word(record, &k->fields[j], e) == 0)
				continue;
			memcpy(&line, record, sizeof(line));
			err_in(e, "%s.%s", k->name, k->fields[j].name);
			return conf_in(d, line, NULL, e);
		}
	return 0;
}

int
conf_check_later(const struct conf_draft *d, struct err *e)
{
	size_t			 n;
	const struct conf_key	*k = conf_keys(&n), *end = k + n;

	for (; k < end; k++) {
		if (k->not_yet && !is_default(d->conf, k)) {
			err_set(e, "is not available yet: leave it out");
			return conf_blame(d, k->name, e);
		}
		if (check_word(d->conf, k, e) < 0)
			return conf_blame(d, k->name, e);
		if (k->type == CONF_RECORDS && check_records(d, k, e) < 0)
			return -1;
	}
	return 0;
}
