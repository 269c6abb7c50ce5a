/*
 * conf_yaml.c - a YAML file as a tree of its values
 *
 * The only file that knows libyaml.  A document of libyaml itself forgets which
 * values had an anchor or a tag, and there is none if the file is in error.
 * This tree ends where the error is, so that what is wrong before it is told
 * first.
 */
#include "conf/conf_impl.h"

#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "util/xalloc.h"

#define DEPTH_MAX	32	/* of lists and mappings in each other */
#define NODES_MAX	200000	/* that is about 20 MB */

struct reader {
	struct conf_document	*doc;
	const char		*text;		/* the file */
	size_t			 size;
	yaml_parser_t		 parser;
	yaml_event_type_t	 last;		/* event that was read */
	size_t			 nnodes;
	bool			 stopped;	/* in error */
};

static void
stop(struct reader *r, struct conf_node *node, const char *why)
{
	r->stopped = true;
	node->type = NODE_END;
	node->error = why;
}

static void
stop_at_syntax(struct reader *r, struct conf_node *node)
{
	const yaml_parser_t	*p = &r->parser;
	const char		*problem = p->problem != NULL ? p->problem :
				    "out of memory";
	struct err		*e = &r->doc->syntax;

	stop(r, node, e->text);
	node->line = (unsigned)p->problem_mark.line + 1;
	if (p->error == YAML_READER_ERROR) {
		/* For bytes that are not text there is an offset, no line. */
		node->line = 1;
		for (size_t i = 0; i < p->problem_offset && i < r->size; i++)
			node->line += r->text[i] == '\n';
		err_set(e, "%s", problem);
	} else if (p->context == NULL)
		err_set(e, "%s", problem);
	else if (p->context_mark.line == p->problem_mark.line)
		err_set(e, "%s %s", problem, p->context);
	else
		err_set(e, "%s %s that began on line %zu", problem,
		    p->context, p->context_mark.line + 1);
}

static void	read_items(struct reader *, struct conf_node *, unsigned depth);

/*
 * Read what comes next: a value with all that is in it, or the error that is
 * there.  false: something begins that is no value, or ends.
 */
static bool
read_node(struct reader *r, struct conf_node *node, unsigned depth)
{
	const yaml_char_t	*anchor = NULL, *tag = NULL;
	yaml_event_t		 event;

	*node = (struct conf_node){ .type = NODE_END };
	if (!yaml_parser_parse(&r->parser, &event)) {
		stop_at_syntax(r, node);
		return true;
	}
	r->last = event.type;
	node->line = (unsigned)event.start_mark.line + 1;
	node->start = event.start_mark.index;
	node->end = event.end_mark.index;
	switch (event.type) {
	case YAML_SCALAR_EVENT:
		anchor = event.data.scalar.anchor;
		tag = event.data.scalar.tag;
		node->type = NODE_TEXT;
		node->text = xstrdup((const char *)event.data.scalar.value);
		node->quoted = event.data.scalar.style !=
		    YAML_PLAIN_SCALAR_STYLE;
		break;
	case YAML_ALIAS_EVENT:
		node->type = NODE_TEXT;
		node->text = xstrdup("*");	/* no key takes that */
		break;
	case YAML_SEQUENCE_START_EVENT:
		anchor = event.data.sequence_start.anchor;
		tag = event.data.sequence_start.tag;
		node->type = NODE_LIST;
		break;
	case YAML_MAPPING_START_EVENT:
		anchor = event.data.mapping_start.anchor;
		tag = event.data.mapping_start.tag;
		node->type = NODE_MAPPING;
		break;
	default:
		break;
	}
	if (event.type == YAML_ALIAS_EVENT)
		node->error = "an alias (*name) is not supported: write it out";
	else if (node->type == NODE_TEXT &&
	    strlen(node->text) != event.data.scalar.length)
		node->error = "a NUL character cannot be part of a text";
	else if (anchor != NULL)
		node->error = "an anchor (&name) is not supported: write it "
		    "out";
	else if (tag != NULL)
		node->error = "a tag (!name) is not supported: leave it out";
	yaml_event_delete(&event);
	if (depth > DEPTH_MAX || ++r->nnodes > NODES_MAX)
		stop(r, node, "has more than 200000 values, or more than 32 "
		    "levels: is it the right file?");
	else if (node->type == NODE_LIST || node->type == NODE_MAPPING)
		read_items(r, node, depth + 1);
	return node->type != NODE_END || r->stopped;
}

static void
read_items(struct reader *r, struct conf_node *node, unsigned depth)
{
	do {
		/* Twice the room at each power of two. */
		if ((node->n & (node->n - 1)) == 0)
			node->items = xreallocarray(node->items,
			    node->n == 0 ? 1 : 2 * node->n,
			    sizeof(*node->items));
		if (!read_node(r, &node->items[node->n], depth))
			return;
		node->n++;
	} while (!r->stopped);
}

void
conf_document_read(struct conf_document *doc, const char *text, size_t size)
{
	struct reader	 r = { .doc = doc, .text = text, .size = size };

	*doc = (struct conf_document){ .broken = true };
	if (!yaml_parser_initialize(&r.parser)) {
		stop(&r, &doc->root, "out of memory");
		return;
	}
	yaml_parser_set_input_string(&r.parser, (const yaml_char_t *)text,
	    size);
	/* The stream begins, then the document, unless the file is empty. */
	while (!read_node(&r, &doc->root, 0) && r.last != YAML_STREAM_END_EVENT)
		;
	if (!r.stopped && r.last != YAML_STREAM_END_EVENT)
		read_node(&r, &doc->rest, 0);
	doc->broken = r.stopped;
	if (r.last == YAML_DOCUMENT_END_EVENT &&
	    !read_node(&r, &doc->rest, 0) &&
	    r.last == YAML_DOCUMENT_START_EVENT)
		doc->rest.error = "a second document begins (---): only one "
		    "is allowed";
	yaml_parser_delete(&r.parser);
}

static void
free_node(struct conf_node *node)
{
	for (size_t i = 0; i < node->n; i++)
		free_node(&node->items[i]);
	free(node->items);
	free(node->text);
}

void
conf_document_free(struct conf_document *doc)
{
	free_node(&doc->root);
}

const struct conf_node *
conf_document_find(const struct conf_document *doc, const char *name)
{
	const struct conf_node	*node = &doc->root, *map;
	size_t			 n;

	for (; node != NULL && *name != '\0'; name += n, name += *name == '.') {
		n = strcspn(name, ".");
		map = node;
		node = NULL;
		for (size_t i = 0; node == NULL && map->type == NODE_MAPPING &&
		    i + 1 < map->n; i += 2) {
			const char	*text = map->items[i].text;

			if (text != NULL && strlen(text) == n &&
			    memcmp(text, name, n) == 0)
				node = &map->items[i + 1];
		}
	}
	return node;
}
