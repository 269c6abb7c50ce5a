/*
 * lab_label.c - the labels of a producer, and its source of the partition count
 *
 * Some applications learn late of a changed count, and some never.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab.h"

#define USAGE		2
#define DAY		86400

static const struct form {
	const char	*name;
	enum lab_by	 by;
	const char	*dflt;		/* value after ":"; NULL: required */
	uint64_t	 min, max;
} forms[] = {
	{ "procedure", LAB_BY_PROCEDURE, "0", 0, 0 },
	{ "trigger", LAB_BY_TRIGGER, "0", 0, 0 },
	{ "mixed", LAB_BY_MIXED, "0", 0, 0 },
	{ "fixed", LAB_BY_FIXED, NULL, 1, 1000000 },
	{ "late", LAB_BY_LATE, "10", 0, DAY },
};

#define NFORMS	(sizeof(forms) / sizeof(forms[0]))

static struct lab_kind
parse_kind(const char *text)
{
	size_t			 len = strcspn(text, ":");
	const struct form	*f;
	const char		*value;
	char			*end;
	uint64_t		 n;

	for (f = forms; f < forms + NFORMS; f++)
		if (strlen(f->name) == len && strncmp(text, f->name, len) == 0)
			break;
	if (f == forms + NFORMS)
		errx(USAGE, "--producers-by: %s is unknown", text);
	value = text[len] == ':' ? text + len + 1 : f->dflt;
	if (value == NULL)
		errx(USAGE, "--producers-by: %s needs :N", f->name);
	n = strtoull(value, &end, 10);
	if (*value < '0' || *value > '9' || *end != '\0' || n < f->min ||
	    n > f->max)
		errx(USAGE, "--producers-by: %s is not from %llu to %llu", text,
		    (unsigned long long)f->min, (unsigned long long)f->max);
	return (struct lab_kind){ f->by, n };
}

size_t
lab_kinds(const struct lab_opts *o, struct lab_kind kinds[LAB_MAX_KINDS])
{
	const char	*list = o->producers_by, *text;
	char		*copy, *save = NULL;
	size_t		 n = 0;

	if (list == NULL)
		list = o->bulk ? "late:0" : "procedure";
	copy = lab_strdup(list);
	for (text = strtok_r(copy, ",", &save); text != NULL;
	    text = strtok_r(NULL, ",", &save)) {
		if (n == LAB_MAX_KINDS)
			errx(USAGE, "--producers-by: at most %d kinds",
			    LAB_MAX_KINDS);
		kinds[n] = parse_kind(text);
		if (o->bulk && (kinds[n].by == LAB_BY_PROCEDURE ||
		    kinds[n].by == LAB_BY_MIXED))
			errx(USAGE, "--bulk cannot use the procedure");
		n++;
	}
	free(copy);
	if (n == 0)
		errx(USAGE, "--producers-by: the list is empty");
	return n;
}

void
lab_label(char text[LAB_LABEL], uint32_t crc, uint64_t count)
{
	if (count == 1)
		snprintf(text, LAB_LABEL, "NULL");
	else
		snprintf(text, LAB_LABEL, "'p%02llu'",
		    (unsigned long long)(crc % count));
}

uint64_t
lab_count_in_file(const char *path)
{
	unsigned long long	 n = 0;
	FILE			*f;

	if ((f = fopen(path, "r")) == NULL)
		err(1, "%s", path);
	if (fscanf(f, "%llu", &n) != 1 || n == 0)
		errx(1, "%s has no partition count", path);
	fclose(f);
	return n;
}
