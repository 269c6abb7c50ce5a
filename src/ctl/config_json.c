/*
 * config_json.c - config --json: the effective configuration with its types
 *
 * JSON is YAML: outbox-master reads the result as its configuration.
 */

#include "ctl/config_json.h"

#include <string.h>

static json_t	*value_json(const void *, const struct conf_key *);

static json_t *
records_json(const struct conf_records *records, const struct conf_key *k)
{
	json_t	*a = json_array();

	for (size_t i = 0; i < records->n; i++) {
		const char	*record = (const char *)records->items +
				    i * k->record_size;
		json_t		*o = json_object();

		for (size_t j = 0; j < k->nfields; j++)
			if (!conf_is_empty(record, &k->fields[j]))
				json_object_set_new(o, k->fields[j].name,
				    conf_is_hidden(record, &k->fields[j]) ?
				    json_string(CONF_HIDDEN) :
				    value_json(record, &k->fields[j]));
		json_array_append_new(a, o);
	}
	return a;
}

static json_t *
value_json(const void *base, const struct conf_key *k)
{
	const void		*at = (const char *)base + k->at;
	const struct conf_list	*list = at;
	const struct conf_map	*map = at;
	const char		*word;
	int64_t			 ms;
	json_t			*v;

	switch (k->type) {
	case CONF_INT:
		return json_integer(*(const int64_t *)at);
	case CONF_DURATION:	/* in seconds, as without a unit in the file */
		ms = *(const int64_t *)at;
		return ms % 1000 == 0 ? json_integer(ms / 1000) :
		    json_real((double)ms / 1000);
	case CONF_FRACTION:
		return json_real(*(const double *)at);
	case CONF_BOOL:
		return json_boolean(*(const bool *)at);
	case CONF_STRING:
		return json_string(*(char *const *)at);
	case CONF_LIST:
		v = json_array();
		for (size_t i = 0; i < list->n; i++)
			json_array_append_new(v, json_string(list->items[i]));
		return v;
	case CONF_MAP:
		v = json_object();
		for (size_t i = 0; i < map->n; i++)
			json_object_set_new(v, map->items[i].name,
			    json_string(map->items[i].value));
		return v;
	case CONF_RECORDS:
		return records_json(at, k);
	case CONF_ENUM:
		break;
	}
	/* A boolean stays one where another word is allowed as well. */
	word = k->words[*(const int *)at];
	return strcmp(word, "true") == 0 || strcmp(word, "false") == 0 ?
	    json_boolean(word[0] == 't') : json_string(word);
}

/* The object of the section that a name is in; *name becomes its last part. */
static json_t *
section_of(json_t *o, const char **name)
{
	const char	*dot;

	for (; (dot = strchr(*name, '.')) != NULL; *name = dot + 1) {
		char	 section[64];
		json_t	*inner;

		snprintf(section, sizeof(section), "%.*s", (int)(dot - *name),
		    *name);
		if ((inner = json_object_get(o, section)) == NULL) {
			inner = json_object();
			json_object_set_new(o, section, inner);
		}
		o = inner;
	}
	return o;
}

json_t *
config_json(const struct conf *c)
{
	size_t			 n;
	const struct conf_key	*keys = conf_keys(&n);
	json_t			*o = json_object();

	for (size_t i = 0; i < n; i++) {
		const char	*name = keys[i].name;
		json_t		*section = section_of(o, &name);

		json_object_set_new(section, name, value_json(c, &keys[i]));
	}
	return o;
}
