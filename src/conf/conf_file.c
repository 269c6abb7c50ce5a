/*
 * conf_file.c - what a file says, to the keys
 *
 * Joins nested names with dots and passes each text and its line to conf_set().
 * The shape of the file is checked here, and the names; the meaning of a value
 * is not.
 */
#include "conf/conf_impl.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/xalloc.h"

/* A name in quotes of up to 1024 characters is all that YAML takes. */
#define NAME_MAX_BYTES	255

static int	read_section(struct conf_draft *, const char *section,
		    unsigned line, const struct conf_node *, struct err *);
static int	read_key(struct conf_draft *, const char *section,
		    const struct conf_node *map, const struct conf_node *leaf,
		    struct err *);
static int	read_value(struct conf_draft *, const struct conf_key *,
		    unsigned line, const struct conf_node *, struct err *);
static int	unknown_key(const struct conf_draft *, const char *section,
		    const char *leaf, unsigned line, struct err *);

/*
 * A value can be refused: then the error has the name of the key, or none.  In
 * place of one can be what is no YAML.
 */
static int
reach(const struct conf_draft *d, const char *name,
    const struct conf_node *node, struct err *e)
{
	return node->error == NULL ? 0 :
	    conf_fail(d, node->line, node->type == NODE_END ? NULL : name, e,
	    "%s", node->error);
}

/* True for "key:" without a value, and for YAML's words for null. */
static bool
is_null(const struct conf_node *node)
{
	static const char *const	words[] =
	    { "", "~", "null", "Null", "NULL" };

	if (node->type != NODE_TEXT || node->quoted)
		return node->type == NODE_END;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(node->text, words[i]) == 0)
			return true;
	return false;
}

static const char *
text_of(const struct conf_node *node)
{
	return is_null(node) ? "" : node->text;
}

/* True also for "", which is an empty list. */
static bool
is_nothing(const struct conf_node *node)
{
	return node->type == NODE_TEXT && *text_of(node) == '\0';
}

static const char *
kind(const struct conf_node *node)
{
	return node->type == NODE_LIST ? "a list" :
	    node->type == NODE_MAPPING ? "a mapping" : "a single value";
}

int
conf_read(struct conf_draft *d, const char *text, size_t size, struct err *e)
{
	struct conf_document	doc;
	int			rc;

	conf_document_read(&doc, text, size);
	rc = reach(d, NULL, &doc.root, e);
	if (rc == 0)
		rc = read_section(d, "", doc.root.line, &doc.root, e);
	if (rc == 0)
		rc = reach(d, NULL, &doc.rest, e);
	conf_document_free(&doc);
	return rc;
}

static int
not_a_mapping(const struct conf_draft *d, unsigned line, const char *name,
    const struct conf_node *node, struct err *e)
{
	return conf_fail(d, line, name, e,
	    "expected a mapping of keys, found %s", kind(node));
}

/* A section without keys, or with all of them commented out, is allowed. */
static int
read_section(struct conf_draft *d, const char *section, unsigned line,
    const struct conf_node *map, struct err *e)
{
	if (is_null(map))
		return 0;
	if (map->type != NODE_MAPPING)
		return not_a_mapping(d, line, *section == '\0' ? NULL :
		    section, map, e);
	for (size_t i = 0; i < map->n; i += 2) {
		const struct conf_node	*leaf = &map->items[i];

		if (reach(d, NULL, leaf, e) < 0)
			return -1;
		if (leaf->type != NODE_TEXT)
			return conf_fail(d, leaf->line, NULL, e,
			    "expected the name of a key, found %s", kind(leaf));
		if (read_key(d, section, map, leaf, e) < 0)
			return -1;
	}
	return 0;
}

/* A key of the section, or a section in it; its value stands behind it. */
static int
read_key(struct conf_draft *d, const char *section,
    const struct conf_node *map, const struct conf_node *leaf, struct err *e)
{
	const struct conf_node	*value = leaf + 1;
	const struct conf_key	*k;
	char			 name[CONF_NAME_SIZE];
	int			 len;

	len = snprintf(name, sizeof(name), "%s%s%s", section,
	    *section != '\0' ? "." : "", leaf->text);
	if (strchr(leaf->text, '.') != NULL || len >= (int)sizeof(name))
		return unknown_key(d, section, leaf->text, leaf->line, e);
	if ((k = conf_key(name)) != NULL)
		return read_value(d, k, leaf->line, value, e);
	if (*leaf->text == '\0' || !conf_key_is_section(name))
		return unknown_key(d, section, leaf->text, leaf->line, e);
	for (const struct conf_node *o = map->items; o < leaf; o += 2)
		if (strcmp(o->text, leaf->text) == 0)
			return conf_fail(d, leaf->line, name, e, "already "
			    "begins on line %u: join the two", o->line);
	return reach(d, name, value, e) < 0 ? -1 :
	    read_section(d, name, leaf->line, value, e);
}

static int
unknown_key(const struct conf_draft *d, const char *section, const char *leaf,
    unsigned line, struct err *e)
{
	struct conf_phrase	best = conf_key_near(section, leaf);
	char			name[2 * sizeof(best.text)];

	snprintf(name, sizeof(name), "%s%s%s", section,
	    *section != '\0' ? "." : "",
	    *leaf != '\0' ? conf_show(leaf).text : "\"\"");
	if (conf_key(leaf) != NULL)
		return conf_fail(d, line, name, e, "must be nested, not "
		    "written with dots: each name on its own line, indented "
		    "below its section");
	if (*best.text != '\0')
		return conf_fail(d, line, name, e,
		    "is not a key; did you mean %s?", best.text);
	return conf_fail(d, line, name, e, "is not a key");
}

static int
read_single(struct conf_draft *d, const struct conf_key *k, unsigned line,
    const struct conf_node *value, struct err *e)
{
	if (value->type != NODE_TEXT)
		return conf_fail(d, line, k->name, e, "expected %s, found %s",
		    conf_wanted(k).text, kind(value));
	/* A package's file has an empty database, which a variable may name. */
	if (k->required && *text_of(value) == '\0' &&
	    conf_key_variable(k) != NULL)
		return 0;
	return conf_set(d->conf, k, text_of(value), value->quoted, e) < 0 ?
	    conf_in(d, line, k->name, e) : 0;
}

/*
 * A list, or a single value for a list of one; name is that of the key, or of
 * the field if base is a record.
 */
static int
read_list(const struct conf_draft *d, void *base, const struct conf_key *k,
    const char *name, unsigned line, const struct conf_node *list,
    struct err *e)
{
	bool			 single = list->type != NODE_LIST;
	const struct conf_node	*item = single ? list : list->items;
	size_t			 n = single ? !is_nothing(list) : list->n;

	for (; n > 0; n--, item++) {
		unsigned	at = single ? line : item->line;

		if (reach(d, name, item, e) < 0)
			return -1;
		if (item->type != NODE_TEXT)
			return conf_fail(d, at, name, e, "expected %s, found "
			    "%s", single ? conf_wanted(k).text : "a text",
			    kind(item));
		if (conf_set(base, k, text_of(item), item->quoted, e) < 0)
			return conf_in(d, at, name, e);
	}
	if (k->required && conf_is_empty(base, k))
		return conf_fail(d, line, name, e, "must not be empty");
	return 0;
}

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

static int
add_to_map(struct conf *c, const struct conf_key *k, const char *name,
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

/*
 * A record without values, at the end; NULL: there are too many, see err.  Its
 * fields are keys like any other, with their places in the record.
 */
static void *
add_record(struct conf *c, const struct conf_key *k, unsigned line,
    struct err *e)
{
	struct conf_records	*r = (void *)((char *)c + k->at);
	struct err		 ignored;
	char			*record;

	if (r->n == k->max_records) {
		err_set(e, "has more than %zu items", k->max_records);
		return NULL;
	}
	r->items = xreallocarray(r->items, r->n + 1, k->record_size);
	record = conf_record(r, k, r->n++);
	memset(record, 0, k->record_size);
	memcpy(record, &line, sizeof(line));
	/* An empty string, or what the keys for all say. */
	for (size_t i = 0; i < k->nfields; i++) {
		const struct conf_key	*field = &k->fields[i];
		void			*at = record + field->at;

		if (field->type == CONF_STRING)
			*(char **)at = xstrdup("");
		else if (field->inherits)
			(void)conf_set(record, field, "", false, &ignored);
		else if (field->type == CONF_ENUM)
			*(int *)at = CONF_INHERIT;
	}
	return record;
}

/* All of the last record's fields are read: is it whole, and its name new? */
static int
check_record(const struct conf *c, const struct conf_key *k, struct err *e)
{
	const struct conf_records	*r = conf_field(c, k);
	const void			*last = conf_record(r, k, r->n - 1);
	const char	*name = *(char *const *)conf_field(last, k->fields);

	for (size_t i = 0; i < k->nfields; i++) {
		const struct conf_key	*field = &k->fields[i];
		const int		*word = conf_field(last, field);

		/* Required words are CONF_INHERIT until they are set. */
		if (field->required && (field->type == CONF_ENUM ?
		    *word == CONF_INHERIT : conf_is_empty(last, field)))
			return err_set(e, "an item must have the field %s",
			    field->name);
	}
	for (size_t i = 0; i + 1 < r->n; i++) {
		const void	*other = conf_record(r, k, i);
		unsigned	 line;

		memcpy(&line, other, sizeof(line));
		if ((k->fold_names ? strcasecmp : strcmp)(
		    *(char *const *)conf_field(other, k->fields), name) == 0)
			return err_set(e, "%s is already the %s of the item "
			    "on line %u", name, k->fields[0].name, line);
	}
	return 0;
}

/* A record whose two fields are the name and the value in a mapping. */
static int
add_pair(struct conf *c, const struct conf_key *k, const char *name,
    const char *value, unsigned line, struct err *e)
{
	void	*record = add_record(c, k, line, e);

	if (record == NULL)
		return -1;
	if (conf_set(record, &k->fields[0], name, false, e) < 0 ||
	    check_value(&k->fields[1], value, e) < 0 ||
	    conf_set(record, &k->fields[1], value, false, e) < 0 ||
	    check_record(c, k, e) < 0)
		return err_in(e, "%s", conf_show(name).text);
	return 0;
}

static int
read_map(struct conf_draft *d, const struct conf_key *k,
    const struct conf_node *map, struct err *e)
{
	for (size_t i = 0; i < map->n; i += 2) {
		const struct conf_node	*name = &map->items[i];
		const struct conf_node	*value = name + 1;

		if (reach(d, k->name, name, e) < 0)
			return -1;
		if (name->type != NODE_TEXT)
			return conf_fail(d, name->line, k->name, e,
			    "expected a name, found %s", kind(name));
		if (reach(d, k->name, value, e) < 0)
			return -1;
		if (value->type != NODE_TEXT)
			return conf_fail(d, name->line, k->name, e,
			    "%s: expected a text, found %s",
			    conf_show(name->text).text, kind(value));
		if ((k->pairs ? add_pair : add_to_map)(d->conf, k, name->text,
		    text_of(value), name->line, e) < 0)
			return conf_in(d, name->line, k->name, e);
	}
	return 0;
}

/* NULL: see err. */
static const struct conf_key *
find_field(const struct conf_key *k, const char *name, struct err *e)
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

static int
read_record(struct conf_draft *d, const struct conf_key *k,
    const struct conf_node *map, struct err *e)
{
	unsigned	 seen = 0;	/* fields: a bit each */
	void		*record;

	if (map->type != NODE_MAPPING)
		return not_a_mapping(d, map->line, k->name, map, e);
	if ((record = add_record(d->conf, k, map->line, e)) == NULL)
		return conf_in(d, map->line, k->name, e);
	for (size_t i = 0; i < map->n; i += 2) {
		const struct conf_node	*name = &map->items[i];
		const struct conf_node	*value = name + 1;
		const struct conf_key	*field;
		char			 where[2 * CONF_NAME_SIZE];

		if (reach(d, k->name, name, e) < 0)
			return -1;
		if (name->type != NODE_TEXT)
			return conf_fail(d, name->line, k->name, e, "expected "
			    "the name of a field, found %s", kind(name));
		if ((field = find_field(k, name->text, e)) == NULL)
			return conf_in(d, name->line, k->name, e);
		snprintf(where, sizeof(where), "%s.%s", k->name, field->name);
		if ((seen & 1u << (field - k->fields)) != 0)
			return conf_fail(d, name->line, where, e,
			    "is set twice in one item");
		seen |= 1u << (field - k->fields);
		if (reach(d, k->name, value, e) < 0)
			return -1;
		if (field->type == CONF_LIST) {
			if (read_list(d, record, field, where, name->line,
			    value, e) < 0)
				return -1;
			continue;
		}
		if (value->type != NODE_TEXT)
			return conf_fail(d, name->line, where, e, "expected "
			    "%s, found %s", conf_wanted(field).text,
			    kind(value));
		if (conf_set(record, field, text_of(value), value->quoted,
		    e) < 0)
			return conf_in(d, name->line, where, e);
	}
	return check_record(d->conf, k, e) < 0 ?
	    conf_in(d, map->line, k->name, e) : 0;
}

/* line: of the key's name. */
static int
read_value(struct conf_draft *d, const struct conf_key *k, unsigned line,
    const struct conf_node *value, struct err *e)
{
	struct conf_source	*from = &d->from[k - conf_table];
	int			 rc = 0;

	if (from->line != 0)
		return conf_fail(d, line, k->name, e,
		    "is already set on line %u", from->line);
	from->line = line;
	if (reach(d, k->name, value, e) < 0)
		return -1;
	if (k->type == CONF_LIST)
		return read_list(d, d->conf, k, k->name, line, value, e);
	if (k->type != CONF_MAP && k->type != CONF_RECORDS)
		return read_single(d, k, line, value, e);
	if (is_nothing(value))
		return 0;
	if ((k->type == CONF_MAP || k->pairs) && value->type == NODE_MAPPING)
		return read_map(d, k, value, e);
	if (k->type == CONF_MAP || value->type != NODE_LIST)
		return conf_fail(d, line, k->name, e, "expected %s, found %s",
		    conf_wanted(k).text, kind(value));
	for (size_t i = 0; rc == 0 && i < value->n; i++)
		if ((rc = reach(d, k->name, &value->items[i], e)) == 0)
			rc = read_record(d, k, &value->items[i], e);
	return rc;
}
