/*
 * conf_host.c - of a file that is in error: what finds the daemon of this host
 *
 * Somebody who edits the file makes an error, and the daemon goes on with what
 * it has read before.  Its state can be shown, and it can be stopped.
 */
#include "conf/conf_impl.h"

#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "util/xalloc.h"

#define PIDFILE	0

static const char *const names[] = { "master.pidfile", "log.target" };

/* The value of the key in a mapping; NULL: it has none. */
static const yaml_node_t *
find_node(yaml_document_t *doc, const yaml_node_t *map, const char *key,
    size_t len)
{
	const yaml_node_pair_t	*p;

	if (map == NULL || map->type != YAML_MAPPING_NODE)
		return NULL;
	for (p = map->data.mapping.pairs.start;
	    p < map->data.mapping.pairs.top; p++) {
		const yaml_node_t *k = yaml_document_get_node(doc, p->key);

		if (k != NULL && k->type == YAML_SCALAR_NODE &&
		    k->data.scalar.length == len &&
		    memcmp(k->data.scalar.value, key, len) == 0)
			return yaml_document_get_node(doc, p->value);
	}
	return NULL;
}

/* The text of "section.leaf"; NULL: the default. */
static const char *
find_text(yaml_document_t *doc, const char *name)
{
	const char		*dot = strchr(name, '.');
	const yaml_node_t	*node = find_node(doc,
				    yaml_document_get_root_node(doc), name,
				    (size_t)(dot - name));

	node = find_node(doc, node, dot + 1, strlen(dot + 1));
	return node == NULL || node->type != YAML_SCALAR_NODE ? NULL :
	    (const char *)node->data.scalar.value;
}

/* Variables win over the file.  -1: nobody knows which daemon is meant. */
static int
set_keys(struct conf *c, yaml_document_t *doc, bool named)
{
	size_t			 n;
	const struct conf_key	*keys = conf_keys(&n);
	struct err		 e;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		int		 k = conf_key_find(names[i]);
		const char	*text = conf_key_variable((size_t)k);

		if (text == NULL)
			text = find_text(doc, names[i]);
		if (text != NULL && conf_set(c, &keys[k], text, true, &e) < 0)
			return -1;
		if (text == NULL && named && i == PIDFILE)
			return -1;
	}
	return 0;
}

static void
set_all_defaults(struct conf *c)
{
	size_t			 n;
	const struct conf_key	*keys = conf_keys(&n);
	struct err		 e;

	for (size_t i = 0; i < n; i++)
		if (keys[i].dflt[0] != '\0' || !conf_has_items(&keys[i]))
			(void)conf_set(c, &keys[i], keys[i].dflt, false, &e);
}

static bool
parse_document(const char *text, size_t size, yaml_document_t *doc)
{
	yaml_parser_t	parser;
	bool		loaded;

	if (!yaml_parser_initialize(&parser))
		return false;
	yaml_parser_set_input_string(&parser, (const yaml_char_t *)text, size);
	loaded = yaml_parser_load(&parser, doc);
	yaml_parser_delete(&parser);
	return loaded;
}

static bool
load_document(const char *path, yaml_document_t *doc)
{
	struct err	 e;
	size_t		 size;
	char		*text = conf_read_text(path, &size, &e);
	bool		 loaded = text != NULL &&
			    parse_document(text, size, doc);

	free(text);
	return loaded;
}

struct conf *
conf_load_host(const char *path, bool named)
{
	yaml_document_t	 doc;
	struct conf	*c;

	if (!load_document(path, &doc))
		return NULL;
	c = xcalloc(1, sizeof(*c));
	set_all_defaults(c);
	c->path = xstrdup(path);
	if (set_keys(c, &doc, named) < 0) {
		conf_free(c);
		c = NULL;
	}
	yaml_document_delete(&doc);
	return c;
}
