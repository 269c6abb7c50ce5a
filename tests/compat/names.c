/*
 * names.c - what of the configuration and the tables users rely on; for
 * compat_test.sh
 *
 *   names keys|columns RECORDED
 *
 * Prints a line for each fact, from the program's own tables.  A value that a key
 * accepts, or a length that a column holds, is printed if it is the limit, and if
 * RECORDED, a file of such lines, has it and it is still true.
 */
#include "conf/conf_impl.h"
#include "ctl/schema/schema_impl.h"

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/xalloc.h"

static const char *const types[] = {
	[CONF_INT] = "integer", [CONF_DURATION] = "duration",
	[CONF_FRACTION] = "fraction", [CONF_BOOL] = "boolean",
	[CONF_STRING] = "string", [CONF_LIST] = "list", [CONF_MAP] = "map",
	[CONF_RECORDS] = "records", [CONF_ENUM] = "word",
};

/* A route's type is "publish.routes[].type". */
static void
print_key(const char *prefix, const struct conf_key *k)
{
	printf("%s%s %s\n", prefix, k->name, types[k->type]);
	if (k->required && (k->dflt == NULL || *k->dflt == '\0'))
		printf("! %s%s needed\n", prefix, k->name);
	if (k->type == CONF_INT)
		printf("%s%s may be %" PRId64 "\n%s%s may be %" PRId64 "\n",
		    prefix, k->name, k->min, prefix, k->name, k->max);
	if (k->type == CONF_DURATION)
		printf("%s%s may be %" PRId64 "ms\n%s%s may be %" PRId64
		    "ms\n", prefix, k->name, k->min, prefix, k->name, k->max);
	for (size_t i = 0; k->words != NULL && k->words[i] != NULL; i++)
		printf("%s%s may be %s\n", prefix, k->name, k->words[i]);
	/* Numbers are pace and limits, which may be tuned. */
	if (k->dflt != NULL && k->type != CONF_INT &&
	    k->type != CONF_DURATION && k->type != CONF_FRACTION)
		printf("%s%s is \"%s\" by default\n", prefix, k->name, k->dflt);
	for (size_t i = 0; i < k->nfields; i++) {
		char	*name = xasprintf("%s%s[].", prefix, k->name);

		print_key(name, &k->fields[i]);
		free(name);
	}
}

static bool
accepts(const char *name, const char *value)
{
	const struct conf_key	*k = conf_key(name);
	char			*base;
	struct err		 e;
	bool			 ok;

	if (k == NULL || k->type == CONF_RECORDS)
		return false;
	base = xcalloc(1, sizeof(struct conf));
	ok = conf_set(base, k, value, false, &e) == 0;
	free(base);
	return ok;
}

static void
keys(FILE *recorded)
{
	char	name[128], value[512];

	for (const struct conf_key *k = conf_table; k->name != NULL; k++)
		print_key("", k);
	for (char line[1024]; fgets(line, sizeof(line), recorded) != NULL;)
		if (sscanf(line, "%127s may be %511[^\n]", name, value) == 2 &&
		    accepts(name, value))
			printf("%s may be %s\n", name, value);
}

static void
print_columns(const struct schema_wanted *w)
{
	const struct schema_column	*c = w->columns;

	for (; c < w->columns + w->ncolumns; c++) {
		printf("%s.%s %s\n", w->name, c->name, c->type);
		if (!c->nullable && !c->optional)
			printf("! %s.%s needed\n", w->name, c->name);
		if (c->length != 0)
			printf("%s.%s holds %" PRIu64 "\n", w->name, c->name,
			    c->length);
	}
}

static bool
holds(const struct schema_wanted *tables, const char *name, uint64_t length)
{
	for (const struct schema_wanted *w = tables; w < tables + NTABLES; w++)
		for (size_t i = 0; i < w->ncolumns; i++) {
			char	*full = xasprintf("%s.%s", w->name,
				    w->columns[i].name);
			bool	 is_it = strcmp(full, name) == 0;

			free(full);
			if (is_it)
				return w->columns[i].length >= length;
		}
	return false;
}

static void
columns(FILE *recorded)
{
	char		name[128];
	uint64_t	length;

	for (unsigned t = 0; t < NTABLES; t++) {
		print_columns(&schema_wanted[t]);
		print_columns(&schema_wanted_inline[t]);
	}
	for (char line[1024]; fgets(line, sizeof(line), recorded) != NULL;)
		if (sscanf(line, "%127s holds %" SCNu64, name, &length) == 2 &&
		    (holds(schema_wanted, name, length) ||
		    holds(schema_wanted_inline, name, length)))
			printf("%s holds %" PRIu64 "\n", name, length);
}

int
main(int argc, char **argv)
{
	FILE	*recorded;

	if (argc != 3)
		errx(2, "usage: names keys|columns RECORDED");
	if ((recorded = fopen(argv[2], "r")) == NULL)
		err(1, "%s", argv[2]);
	if (strcmp(argv[1], "keys") == 0)
		keys(recorded);
	else
		columns(recorded);
	fclose(recorded);
	return 0;
}
