/* route.c - see route.h; no I/O */

#include "driver/route.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>
#include <jansson.h>

#include "drivers/traits/traits.h"
#include "util/clock.h"

/* The metadata of a message, parsed when the first route asks for it. */
struct headers {
	bool	 parsed;
	json_t	*root;
};

/* Goes back to the last * only: a later one can take what it must not. */
static bool
matches(const char *pattern, const char *text, size_t len)
{
	const char	*star = NULL;
	size_t		 i = 0, again = 0;

	while (i < len) {
		if (*pattern == '*') {
			star = pattern++;
			again = i;
		} else if (*pattern != '\0' && *pattern == text[i]) {
			pattern++;
			i++;
		} else if (star != NULL) {
			pattern = star + 1;
			i = ++again;
		} else
			return false;
	}
	while (*pattern == '*')
		pattern++;
	return *pattern == '\0';
}

static bool
type_matches(const char *pattern, const struct msg *m)
{
	return pattern[0] == '\0' || matches(pattern,
	    m->type.data == NULL ? "" : m->type.data, m->type.len);
}

static bool
value_matches(const char *pattern, const json_t *value)
{
	char	*text;
	bool	 match;

	if (json_is_string(value))
		return matches(pattern, json_string_value(value),
		    json_string_length(value));
	if (!json_is_number(value) && !json_is_boolean(value))
		return false;
	text = json_dumps(value, JSON_ENCODE_ANY);
	match = text != NULL && matches(pattern, text, strlen(text));
	free(text);
	return match;
}

static bool
rule_matches(const struct conf_route *rule, struct headers *h,
    const struct msg *m)
{
	const char	*header = rule->header;
	size_t		 n = strcspn(header, "=");

	if (!type_matches(rule->type, m) || !type_matches(rule->topic, m))
		return false;
	if (header[0] == '\0')
		return true;
	if (!h->parsed && m->metadata.data != NULL)
		h->root = json_loadb(m->metadata.data, m->metadata.len,
		    JSON_ALLOW_NUL, NULL);
	h->parsed = true;
	return value_matches(header + n + 1,
	    json_object_getn(h->root, header, n));
}

const struct route *
route_of(const struct route_set *set, const struct msg *m)
{
	struct headers	h = { false, NULL };
	size_t		i = 0;

	while (i < set->n && !rule_matches(set->routes[i].rule, &h, m))
		i++;
	json_decref(h.root);
	return &set->routes[i];
}

/* Each route is a destination, but for those to the broker of the stream. */
static void
init_route(struct route_set *set, size_t i, enum conf_driver driver)
{
	struct route		*r = &set->routes[i];
	const struct conf_route	*rule = r->rule;

	r->driver = driver;
	r->destination = traits[driver]->has_stream ? ROUTE_STREAM :
	    (unsigned)i + 1;
	if (r->destination == ROUTE_STREAM)
		r->group[0] = '\0';
	else if (rule == NULL)
		strlcpy(r->group, "publish.driver", sizeof(r->group));
	else
		snprintf(r->group, sizeof(r->group), "route %s", rule->name);
	if (r->destination != set->routes[0].destination)
		set->several = true;
}

void
route_set_init(struct route_set *set, const struct conf *c,
    const struct envelope_form *form)
{
	const struct conf_route	*rules = c->publish.routes.items;

	*set = (struct route_set){ .conf = c, .n = c->publish.routes.n };
	for (size_t i = 0; i < set->n; i++) {
		set->routes[i].rule = &rules[i];
		set->routes[i].form = envelope_form_of_route(c, &rules[i],
		    form);
		init_route(set, i, (enum conf_driver)rules[i].driver);
	}
	init_route(set, set->n, (enum conf_driver)c->publish.driver);
	if (!set->several)
		for (size_t i = 0; i <= set->n; i++)
			set->routes[i].group[0] = '\0';
}

const char *
route_name(const struct route_set *set, unsigned destination)
{
	return destination == ROUTE_STREAM ? "route to the broker" :
	    set->routes[destination - 1].group;
}

int64_t
route_max_attempts(const struct conf *c, const struct conf_route *r)
{
	return r == NULL || r->max_attempts == CONF_INHERIT ?
	    c->retry.max_attempts : r->max_attempts;
}

int64_t
route_backoff(const struct conf *c, const struct conf_route *r)
{
	return r == NULL || r->backoff == CONF_INHERIT ?
	    c->retry.backoff : r->backoff;
}

int64_t
route_max_backoff(const struct conf *c, const struct conf_route *r)
{
	return r == NULL || r->max_backoff == CONF_INHERIT ?
	    c->retry.max_backoff : r->max_backoff;
}

int64_t
route_longest_backoff(const struct conf *c)
{
	const struct conf_route	*rules = c->publish.routes.items;
	int64_t			 longest = c->retry.max_backoff;

	for (size_t i = 0; i < c->publish.routes.n; i++)
		longest = later(longest, route_max_backoff(c, &rules[i]));
	return longest;
}
