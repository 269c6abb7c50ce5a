/*
 * conf_check_types.c - aliases of event types that share a subject
 *
 * See conf_check.c.  Two types under one subject cannot be told apart by
 * consumers, and nothing later would say so.
 */
#include "conf/conf_impl.h"

#include <string.h>

#include "util/buf.h"
#include "util/type_words.h"

static int
refuse(const struct conf_draft *d, const struct conf_pair *p,
    const struct conf_pair *other, const char *why, struct err *e)
{
	err_set(e, "%s: %s is also %s %s of line %u: each type needs its own",
	    conf_show(p->name).text, conf_show(p->value).text, why,
	    conf_show(other->name).text, other->line);
	return conf_in(d, p->line, "publish.type_aliases", e);
}

/* What publish.type_case makes of a type. */
static void
put_by_rule(struct buf *b, const struct conf *c, const char *type)
{
	if (c->publish.type_case == CASE_NONE)
		buf_str(b, type);
	else
		type_words_put(b, type, strlen(type),
		    c->publish.type_case == CASE_KEBAB ? '-' : '_');
}

/* No other alias may be that of this type, or what it was before it had one. */
static int
check_alias(const struct conf_draft *d, const struct conf_pair *type,
    struct err *e)
{
	const struct conf_map	*map = &d->conf->publish.type_aliases;
	const struct conf_pair	*p = map->items, *end = p + map->n;
	struct buf		 own = { 0 };
	int			 rc = 0;

	buf_str(&own, "");
	put_by_rule(&own, d->conf, type->name);
	for (; p < end && rc == 0; p++) {
		if (p > type && strcmp(p->value, type->value) == 0)
			rc = refuse(d, p, type, "the alias of", e);
		else if (p != type && strcmp(p->value, own.data) == 0)
			rc = refuse(d, p, type, "what publish.type_case "
			    "makes of", e);
	}
	buf_free(&own);
	return rc;
}

int
conf_check_types(const struct conf_draft *d, struct err *e)
{
	const struct conf_map	*map = &d->conf->publish.type_aliases;

	for (size_t i = 0; i < map->n; i++)
		if (check_alias(d, &map->items[i], e) < 0)
			return -1;
	return 0;
}
