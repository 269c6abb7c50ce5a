/* traits.c - see traits.h */

#include "drivers/traits/traits.h"

#include <string.h>

const struct driver_traits	*const traits[CONF_DRIVERS] = {
	[DRIVER_NATS] = &traits_nats,
	[DRIVER_HTTP] = &traits_http,
	[DRIVER_KAFKA] = &traits_kafka,
	[DRIVER_STDOUT] = &traits_stdout,
	[DRIVER_DISCARD] = &traits_discard,
};

const struct driver_traits *
traits_of(const struct conf *c, const struct conf_route *r)
{
	return traits[r == NULL ? c->publish.driver : r->driver];
}

const struct driver_traits *
traits_of_audit(const char *row)
{
	const struct driver_traits	*bus = NULL;

	for (size_t i = 0; i < CONF_DRIVERS; i++) {
		if (traits[i]->audit.row != NULL &&
		    strcmp(traits[i]->audit.row, row) == 0)
			return traits[i];
		if (traits[i]->has_stream)
			bus = traits[i];
	}
	return bus;
}

static const char *
text_at(const void *base, size_t at)
{
	return at == 0 ? "" : *(char *const *)((const char *)base + at);
}

const char *
traits_template(const struct conf *c, const struct conf_route *r)
{
	const struct driver_traits	*t = traits_of(c, r);
	const char			*own = r == NULL ? "" :
					    text_at(r, t->own_template);

	if (own[0] != '\0')
		return own;
	return t->template == 0 ? "{event_type}" : text_at(c, t->template);
}

bool
traits_take_stdout(const struct conf *c)
{
	for (size_t i = 0; i < CONF_DRIVERS; i++)
		if (traits[i]->takes_stdout &&
		    conf_uses_driver(c, (enum conf_driver)i))
			return true;
	return false;
}
