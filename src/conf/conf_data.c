/*
 * conf_data.c - values in memory: where they are, and how they are freed
 */
#include "conf/conf_impl.h"

#include <stdlib.h>

const void *
conf_field(const void *base, const struct conf_key *k)
{
	return (const char *)base + k->at;
}

void *
conf_record(const struct conf_records *r, const struct conf_key *k, size_t i)
{
	return (char *)r->items + i * k->record_size;
}

bool
conf_has_items(const struct conf_key *k)
{
	return k->type == CONF_LIST || k->type == CONF_MAP ||
	    k->type == CONF_RECORDS;
}

bool
conf_is_empty(const void *base, const struct conf_key *k)
{
	const void	*at = conf_field(base, k);
	const char	*text;

	switch (k->type) {
	case CONF_STRING:
		text = *(char *const *)at;
		return text == NULL || *text == '\0';
	case CONF_LIST:
		return ((const struct conf_list *)at)->n == 0;
	case CONF_MAP:
		return ((const struct conf_map *)at)->n == 0;
	case CONF_RECORDS:
		return ((const struct conf_records *)at)->n == 0;
	case CONF_ENUM:
		return k->inherits && *(const int *)at == CONF_INHERIT;
	default:
		return k->inherits && *(const int64_t *)at == CONF_INHERIT;
	}
}

bool
conf_is_hidden(const void *record, const struct conf_key *field)
{
	return field->hides != NULL && field->hides(record);
}

static void
clear_string(void *at)
{
	free(*(char **)at);
	*(char **)at = NULL;
}

static void
clear_list(struct conf_list *list)
{
	while (list->n > 0)
		free(list->items[--list->n]);
	free(list->items);
	list->items = NULL;
}

static void
clear_map(struct conf_map *map)
{
	while (map->n > 0) {
		map->n--;
		free(map->items[map->n].name);
		free(map->items[map->n].value);
	}
	free(map->items);
	map->items = NULL;
}

static void
clear_records(struct conf_records *r, const struct conf_key *k)
{
	while (r->n > 0) {
		r->n--;
		for (size_t i = 0; i < k->nfields; i++)
			if (k->fields[i].type == CONF_STRING)
				clear_string((char *)conf_record(r, k, r->n) +
				    k->fields[i].at);
	}
	free(r->items);
	r->items = NULL;
}

void
conf_clear(void *base, const struct conf_key *k)
{
	void	*at = (char *)base + k->at;

	if (k->type == CONF_STRING)
		clear_string(at);
	else if (k->type == CONF_LIST)
		clear_list(at);
	else if (k->type == CONF_MAP)
		clear_map(at);
	else if (k->type == CONF_RECORDS)
		clear_records(at, k);
}
