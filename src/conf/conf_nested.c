/*
 * conf_nested.c - maps and records: keys whose items have names of their own
 *
 * conf_yaml.c reads them, from the file only.  A field of a record is a key
 * like any other, with its place in the record.
 */
#include "conf/conf_impl.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/xalloc.h"

/* A name in quotes of up to 1024 characters is all that YAML takes. */
#define NAME_MAX_BYTES	255

static int
check_name(const struct conf_map *map, const struct conf_key *k,
    const char *name, struct err *e)
{
	if (*name == '\0')
		return err_set(e, "a name must not be empty");
	if (conf_form_text(name, e) < 0)
		return -1;
	if (strlen(name) > NAME_MAX_BYTES)
		return err_set(e, "is longer than %d bytes", NAME_MAX_BYTES);
	for (size_t i = 0; i < map->n; i++)
		if (strcmp(map->items[i].name, name) == 0)
			return err_set(e, "is already set on line %u",
			    map->items[i].line);
	return k->check_name != NULL ? k->check_name(name, e) : 0;
}

static int
check_value(const struct conf_key *k, const char *value, struct err *e)
{
	if (*value == '\0')
		return err_set(e, "must not be empty");
	return conf_check_string(k, value, e);
}

int
conf_map_add(struct conf *c, const struct conf_key *k, const char *name,
    const char *value, unsigned line, struct err *e)
{
	struct conf_map	*map = (void *)((char *)c + k->at);

	if (check_name(map, k, name, e) < 0 || check_value(k, value, e) < 0)
		return err_in(e, "%s", conf_show(name).text);
	map->items = xreallocarray(map->items, map->n + 1,
	    sizeof(map->items[0]));
	map->items[map->n++] = (struct conf_pair){ .name = xstrdup(name),
	    .value = xstrdup(value), .line = line };
	return 0;
}

/* Without a value: an empty string, or what the keys for all say. */
static void
begin_fields(void *record, const struct conf_key *k)
{
	struct err	e;

	for (size_t i = 0; i < k->nfields; i++) {
		const struct conf_key	*field = &k->fields[i];

		if (field->type == CONF_STRING)
			*(char **)(void *)((char *)record + field->at) =
			    xstrdup("");
		else if (field->inherits)
			(void)conf_set(record, field, "", false, &e);
		else
			*(int *)(void *)((char *)record + field->at) =
			    CONF_INHERIT;
	}
}

void *
conf_record_add(struct conf *c, const struct conf_key *k, unsigned line,
    struct err *e)
{
	struct conf_records	*r = (void *)((char *)c + k->at);
	void			*record;

	if (r->n == k->max_records) {
		err_set(e, "has more than %zu items", k->max_records);
		return NULL;
	}
	r->items = xreallocarray(r->items, r->n + 1, k->record_size);
	record = conf_record(r, k, r->n++);
	memset(record, 0, k->record_size);
	memcpy(record, &line, sizeof(line));
	begin_fields(record, k);
	return record;
}

static const char *
record_name(const struct conf_records *r, const struct conf_key *k, size_t i)
{
	return *(char *const *)conf_field(conf_record(r, k, i), k->fields);
}

/* Required fields that are words stay at CONF_INHERIT until they are set. */
static bool
is_missing(const void *record, const struct conf_key *field)
{
	if (!field->required)
		return false;
	return field->type == CONF_STRING ? conf_is_empty(record, field) :
	    *(const int *)conf_field(record, field) == CONF_INHERIT;
}

int
conf_record_check(const struct conf *c, const struct conf_key *k,
    struct err *e)
{
	const struct conf_records	*r = conf_field(c, k);
	const void			*record = conf_record(r, k, r->n - 1);
	const char			*name = record_name(r, k, r->n - 1);

	for (size_t i = 0; i < k->nfields; i++)
		if (is_missing(record, &k->fields[i]))
			return err_set(e, "an item must have the field %s",
			    k->fields[i].name);
	for (size_t i = 0; i + 1 < r->n; i++) {
		unsigned	line;

		memcpy(&line, conf_record(r, k, i), sizeof(line));
		if ((k->fold_names ? strcasecmp : strcmp)(record_name(r, k, i),
		    name) == 0)
			return err_set(e, "%s is already the %s of the item "
			    "on line %u", name, k->fields[0].name, line);
	}
	return 0;
}

const struct conf_key *
conf_record_field(const struct conf_key *k, const char *name, struct err *e)
{
	const char		*words[CONF_FIELDS_MAX + 1] = { NULL };
	struct conf_phrase	 best;

	for (size_t i = 0; i < k->nfields && i < CONF_FIELDS_MAX; i++) {
		words[i] = k->fields[i].name;
		if (strcmp(words[i], name) == 0)
			return &k->fields[i];
	}
	best = conf_word_near(words, name);
	if (best.text[0] != '\0')
		err_set(e, "%s is not a field; did you mean %s?",
		    conf_show(name).text, best.text);
	else
		err_set(e, "%s is not a field", conf_show(name).text);
	return NULL;
}

int
conf_record_add_pair(struct conf *c, const struct conf_key *k,
    const char *name, const char *value, unsigned line, struct err *e)
{
	void	*record = conf_record_add(c, k, line, e);

	if (record == NULL)
		return -1;
	if (conf_set(record, &k->fields[0], name, false, e) < 0 ||
	    check_value(&k->fields[1], value, e) < 0 ||
	    conf_set(record, &k->fields[1], value, false, e) < 0 ||
	    conf_record_check(c, k, e) < 0)
		return err_in(e, "%s", conf_show(name).text);
	return 0;
}
