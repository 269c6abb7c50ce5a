/*
 * conf_yaml.c - YAML to keys and text
 *
 * Walks the events of libyaml, joins nested names with dots and passes each
 * scalar and its line to conf_set.  It checks the shape of the file, never the
 * meaning of a value.  An unknown key ends the walk, so the recursion is never
 * deeper than the names in the table.
 */
#include "conf/conf_impl.h"

#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "util/xalloc.h"

#define SECTIONS_MAX	32

struct walk {
	struct conf_draft	*draft;
	struct err		*err;
	const char		*name;		/* being read; NULL: none */
	const char		*text;		/* the file */
	size_t			 size;
	yaml_parser_t		 parser;
	yaml_event_t		 event;		/* the current one */
	struct {
		char		 name[CONF_NAME_SIZE];
		unsigned	 line;
	} sections[SECTIONS_MAX];		/* that have begun */
	size_t			 nsections;
};

static int	walk_mapping(struct walk *, const char *section);

static unsigned
line_of(const struct walk *w)
{
	return (unsigned)w->event.start_mark.line + 1;
}

/* Put file, line and name before the error. */
static int
fail_at(struct walk *w, unsigned line, const char *name)
{
	return conf_in(w->draft, line, name, w->err);
}

/* For bytes that are not text libyaml gives an offset and no line. */
static unsigned
line_of_offset(const struct walk *w, size_t offset)
{
	unsigned	line = 1;

	for (size_t i = 0; i < offset && i < w->size; i++)
		line += w->text[i] == '\n';
	return line;
}

static int
syntax_error(struct walk *w)
{
	const yaml_parser_t	*p = &w->parser;
	const char		*problem = p->problem != NULL ? p->problem :
				    "out of memory";

	if (p->error == YAML_READER_ERROR) {
		err_set(w->err, "%s", problem);
		return fail_at(w, line_of_offset(w, p->problem_offset), NULL);
	}
	if (p->context == NULL)
		err_set(w->err, "%s", problem);
	else if (p->context_mark.line == p->problem_mark.line)
		err_set(w->err, "%s %s", problem, p->context);
	else
		err_set(w->err, "%s %s that began on line %zu", problem,
		    p->context, p->context_mark.line + 1);
	return fail_at(w, (unsigned)p->problem_mark.line + 1, NULL);
}

/* Why the event is refused: a feature of YAML that we do not support. */
static const char *
needless(const yaml_event_t *event)
{
	const yaml_char_t	*anchor = NULL, *tag = NULL;

	switch (event->type) {
	case YAML_SCALAR_EVENT:
		anchor = event->data.scalar.anchor;
		tag = event->data.scalar.tag;
		if (strlen((const char *)event->data.scalar.value) !=
		    event->data.scalar.length)
			return "a NUL character cannot be part of a text";
		break;
	case YAML_SEQUENCE_START_EVENT:
		anchor = event->data.sequence_start.anchor;
		tag = event->data.sequence_start.tag;
		break;
	case YAML_MAPPING_START_EVENT:
		anchor = event->data.mapping_start.anchor;
		tag = event->data.mapping_start.tag;
		break;
	case YAML_ALIAS_EVENT:
		return "an alias (*name) is not supported: write it out";
	default:
		break;
	}
	if (anchor != NULL)
		return "an anchor (&name) is not supported: write it out";
	if (tag != NULL)
		return "a tag (!name) is not supported: leave it out";
	return NULL;
}

/* Go on to the next event. */
static int
next(struct walk *w)
{
	const char	*why;

	yaml_event_delete(&w->event);
	if (!yaml_parser_parse(&w->parser, &w->event))
		return syntax_error(w);
	if ((why = needless(&w->event)) == NULL)
		return 0;
	err_set(w->err, "%s", why);
	return fail_at(w, line_of(w), w->name);
}

static const char *
scalar_text(const struct walk *w)
{
	return (const char *)w->event.data.scalar.value;
}

static bool
is_quoted(const struct walk *w)
{
	return w->event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
}

/* True for "key:" without a value, and for YAML's words for null. */
static bool
is_null(const struct walk *w)
{
	static const char *const	words[] =
	    { "", "~", "null", "Null", "NULL" };

	if (w->event.type != YAML_SCALAR_EVENT || is_quoted(w))
		return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(scalar_text(w), words[i]) == 0)
			return true;
	return false;
}

/* True also for "", which is an empty list. */
static bool
is_nothing(const struct walk *w)
{
	return is_null(w) || (w->event.type == YAML_SCALAR_EVENT &&
	    w->event.data.scalar.length == 0);
}

/* What the current event begins; NULL: a single value. */
static const char *
structure(const struct walk *w)
{
	return w->event.type == YAML_SEQUENCE_START_EVENT ? "a list" :
	    w->event.type == YAML_MAPPING_START_EVENT ? "a mapping" : NULL;
}

static int
not_a_mapping(struct walk *w, unsigned line, const char *name)
{
	err_set(w->err, "expected a mapping of keys, found %s",
	    structure(w) != NULL ? structure(w) : "a single value");
	return fail_at(w, line, name);
}

/* The file of a package has an empty database, which a variable may name. */
static bool
has_variable(const struct conf_key *k, const char *text)
{
	return k->required && *text == '\0' && conf_key_find(k->name) >= 0 &&
	    conf_key_variable((size_t)conf_key_find(k->name)) != NULL;
}

/* Pass the current event to the setter, as a value or an item of a list. */
static int
set_scalar(struct walk *w, const struct conf_key *k, unsigned line, bool item)
{
	const char	*what = structure(w), *text;

	if (what != NULL) {
		err_set(w->err, "expected %s, found %s",
		    item ? "a text" : conf_wanted(k).text, what);
		return fail_at(w, line, k->name);
	}
	text = is_null(w) ? "" : scalar_text(w);
	if (!item && has_variable(k, text))
		return 0;
	if (conf_set(w->draft->conf, k, text, is_quoted(w), w->err) < 0)
		return fail_at(w, line, k->name);
	return 0;
}

static int
walk_list(struct walk *w, const struct conf_key *k)
{
	for (;;) {
		if (next(w) < 0)
			return -1;
		if (w->event.type == YAML_SEQUENCE_END_EVENT)
			return 0;
		if (set_scalar(w, k, line_of(w), true) < 0)
			return -1;
	}
}

/* Refuse an empty list, "hosts:" or "hosts: []", if the key is required. */
static int
check_items(struct walk *w, const struct conf_key *k, unsigned line)
{
	if (!k->required || !conf_is_empty(w->draft->conf, k))
		return 0;
	err_set(w->err, "must not be empty");
	return fail_at(w, line, k->name);
}

/* The current event begins the name of an item; read it and its value. */
static int
walk_pair(struct walk *w, const struct conf_key *k)
{
	unsigned	 line = line_of(w);
	char		*name;
	int		 rc = 0;

	if (structure(w) != NULL) {
		err_set(w->err, "expected a name, found %s", structure(w));
		return fail_at(w, line, k->name);
	}
	name = xstrdup(scalar_text(w));
	if (next(w) < 0) {
		free(name);
		return -1;
	}
	if (structure(w) != NULL)
		rc = err_set(w->err, "%s: expected a text, found %s",
		    conf_show(name).text, structure(w));
	else
		rc = (k->pairs ? conf_record_add_pair : conf_map_add)(
		    w->draft->conf, k, name,
		    is_null(w) ? "" : scalar_text(w), line, w->err);
	free(name);
	return rc < 0 ? fail_at(w, line, k->name) : 0;
}

static int
walk_map(struct walk *w, const struct conf_key *k)
{
	for (;;) {
		if (next(w) < 0)
			return -1;
		if (w->event.type == YAML_MAPPING_END_EVENT)
			return 0;
		if (walk_pair(w, k) < 0)
			return -1;
	}
}

/* The current event is the name of a field; seen has those before it. */
static int
walk_field(struct walk *w, const struct conf_key *k, void *record,
    unsigned *seen)
{
	unsigned		 line = line_of(w);
	const struct conf_key	*field;
	const char		*name, *what = structure(w);
	char			 where[2 * CONF_NAME_SIZE];

	if (what != NULL) {
		err_set(w->err, "expected the name of a field, found %s", what);
		return fail_at(w, line, k->name);
	}
	name = scalar_text(w);
	if ((field = conf_record_field(k, name, w->err)) == NULL)
		return fail_at(w, line, k->name);
	snprintf(where, sizeof(where), "%s.%s", k->name, field->name);
	if ((*seen & 1u << (field - k->fields)) != 0) {
		err_set(w->err, "is set twice in one item");
		return fail_at(w, line, where);
	}
	*seen |= 1u << (field - k->fields);
	if (next(w) < 0)
		return -1;
	if ((what = structure(w)) != NULL)
		err_set(w->err, "expected %s, found %s",
		    conf_wanted(field).text, what);
	else if (conf_set(record, field, is_null(w) ? "" : scalar_text(w),
	    is_quoted(w), w->err) == 0)
		return 0;
	return fail_at(w, line, where);
}

static int
walk_record(struct walk *w, const struct conf_key *k)
{
	unsigned	 line = line_of(w), seen = 0;
	void		*record;

	if (w->event.type != YAML_MAPPING_START_EVENT)
		return not_a_mapping(w, line, k->name);
	record = conf_record_add(w->draft->conf, k, line, w->err);
	if (record == NULL)
		return fail_at(w, line, k->name);
	for (;;) {
		if (next(w) < 0)
			return -1;
		if (w->event.type == YAML_MAPPING_END_EVENT)
			break;
		if (walk_field(w, k, record, &seen) < 0)
			return -1;
	}
	if (conf_record_check(w->draft->conf, k, w->err) < 0)
		return fail_at(w, line, k->name);
	return 0;
}

static int
walk_records(struct walk *w, const struct conf_key *k)
{
	for (;;) {
		if (next(w) < 0)
			return -1;
		if (w->event.type == YAML_SEQUENCE_END_EVENT)
			return 0;
		if (walk_record(w, k) < 0)
			return -1;
	}
}

/* The value of a map or of records. */
static int
walk_nested(struct walk *w, const struct conf_key *k, unsigned line)
{
	const char	*what = structure(w);

	if (is_nothing(w))
		return 0;
	if ((k->type == CONF_MAP || k->pairs) &&
	    w->event.type == YAML_MAPPING_START_EVENT)
		return walk_map(w, k);
	if (k->type == CONF_RECORDS &&
	    w->event.type == YAML_SEQUENCE_START_EVENT)
		return walk_records(w, k);
	err_set(w->err, "expected %s, found %s", conf_wanted(k).text,
	    what != NULL ? what : "a single value");
	return fail_at(w, line, k->name);
}

static int
walk_value(struct walk *w, const struct conf_key *k, unsigned line)
{
	size_t			 n;
	struct conf_source	*from = &w->draft->from[k - conf_keys(&n)];

	if (from->line != 0) {
		err_set(w->err, "is already set on line %u", from->line);
		return fail_at(w, line, k->name);
	}
	from->line = line;
	w->name = k->name;
	if (next(w) < 0)
		return -1;
	if (k->type == CONF_MAP || k->type == CONF_RECORDS)
		return walk_nested(w, k, line);
	if (k->type != CONF_LIST)
		return set_scalar(w, k, line, false);
	if (w->event.type == YAML_SEQUENCE_START_EVENT) {
		if (walk_list(w, k) < 0)
			return -1;
	} else if (!is_nothing(w) && set_scalar(w, k, line, false) < 0)
		return -1;
	return check_items(w, k, line);
}

/* Note that a section begins; the second time is an error. */
static int
begin_section(struct walk *w, const char *name, unsigned line)
{
	size_t	i = 0;

	while (i < w->nsections && strcmp(w->sections[i].name, name) != 0)
		i++;
	if (i < w->nsections) {
		err_set(w->err, "already begins on line %u: join the two",
		    w->sections[i].line);
		return fail_at(w, line, name);
	}
	if (i == SECTIONS_MAX)
		abort();
	snprintf(w->sections[i].name, CONF_NAME_SIZE, "%s", name);
	w->sections[i].line = line;
	w->nsections++;
	return 0;
}

/* A section without keys, or with all of them commented out, is allowed. */
static int
walk_section(struct walk *w, const char *name, unsigned line)
{
	if (begin_section(w, name, line) < 0)
		return -1;
	w->name = name;
	if (next(w) < 0)
		return -1;
	if (w->event.type == YAML_MAPPING_START_EVENT)
		return walk_mapping(w, name);
	if (is_null(w))
		return 0;
	return not_a_mapping(w, line, name);
}

/* Read over the value of a key of a former version. */
static int
walk_retired(struct walk *w, unsigned i)
{
	unsigned	depth = 0;

	w->name = conf_retired[i].name;
	w->draft->conf->retired |= 1U << i;
	do {
		if (next(w) < 0)
			return -1;
		if (structure(w) != NULL)
			depth++;
		else if (w->event.type != YAML_SCALAR_EVENT)
			depth--;
	} while (depth > 0);
	return 0;
}

static int
unknown_key(struct walk *w, const char *section, unsigned line)
{
	const char		*leaf = scalar_text(w);
	struct conf_phrase	 best = conf_key_near(section, leaf);
	char			 name[2 * sizeof(best.text)];

	if (conf_key_find(leaf) >= 0)
		err_set(w->err, "must be nested, not written with dots: "
		    "each name on its own line, indented below its section");
	else if (*best.text != '\0')
		err_set(w->err, "is not a key; did you mean %s?", best.text);
	else
		err_set(w->err, "is not a key");
	snprintf(name, sizeof(name), "%s%s%s", section,
	    *section != '\0' ? "." : "",
	    *leaf != '\0' ? conf_show(leaf).text : "\"\"");
	return fail_at(w, line, name);
}

/* The current event is a key of the section; read its value. */
static int
walk_key(struct walk *w, const char *section)
{
	char			 name[CONF_NAME_SIZE];
	const char		*leaf = scalar_text(w);
	unsigned		 line = line_of(w);
	int			 len, i;
	size_t			 n;

	len = snprintf(name, sizeof(name), "%s%s%s", section,
	    *section != '\0' ? "." : "", leaf);
	if (strchr(leaf, '.') != NULL || len >= (int)sizeof(name))
		return unknown_key(w, section, line);
	if ((i = conf_key_find(name)) >= 0)
		return walk_value(w, &conf_keys(&n)[i], line);
	for (unsigned r = 0; conf_retired[r].name != NULL; r++)
		if (strcmp(conf_retired[r].name, name) == 0)
			return walk_retired(w, r);
	if (*leaf != '\0' && conf_key_is_section(name))
		return walk_section(w, name, line);
	return unknown_key(w, section, line);
}

static int
walk_mapping(struct walk *w, const char *section)
{
	for (;;) {
		w->name = NULL;
		if (next(w) < 0)
			return -1;
		if (w->event.type == YAML_MAPPING_END_EVENT)
			return 0;
		if (structure(w) != NULL) {
			err_set(w->err, "expected the name of a key, found %s",
			    structure(w));
			return fail_at(w, line_of(w), NULL);
		}
		if (walk_key(w, section) < 0)
			return -1;
	}
}

/* The root: a mapping, or nothing at all. */
static int
walk_root(struct walk *w)
{
	if (w->event.type == YAML_MAPPING_START_EVENT)
		return walk_mapping(w, "");
	if (is_null(w))
		return 0;
	return not_a_mapping(w, line_of(w), NULL);
}

static int
next_but_one(struct walk *w)
{
	return next(w) < 0 ? -1 : next(w);
}

static int
walk_stream(struct walk *w)
{
	/* The stream begins; then a document, unless the file is empty. */
	if (next_but_one(w) < 0)
		return -1;
	if (w->event.type == YAML_STREAM_END_EVENT)
		return 0;
	if (next(w) < 0 || walk_root(w) < 0)
		return -1;
	/* The document ends; then the stream must end. */
	if (next_but_one(w) < 0)
		return -1;
	if (w->event.type == YAML_STREAM_END_EVENT)
		return 0;
	err_set(w->err, "a second document begins (---): only one is allowed");
	return fail_at(w, line_of(w), NULL);
}

int
conf_read(struct conf_draft *d, const char *text, size_t size, struct err *e)
{
	struct walk	w = { .draft = d, .err = e, .text = text,
			    .size = size };
	int		status;

	if (!yaml_parser_initialize(&w.parser)) {
		err_set(e, "out of memory");
		return fail_at(&w, 0, NULL);
	}
	yaml_parser_set_input_string(&w.parser, (const yaml_char_t *)text,
	    size);
	status = walk_stream(&w);
	yaml_event_delete(&w.event);
	yaml_parser_delete(&w.parser);
	return status;
}
