/* drivers.c - see drivers.h */

#include "drivers/drivers.h"

#include "drivers/several.h"
#include "http/http.h"
#include "local/local.h"
#include "nats/bus.h"

static struct pub (*const makers[])(const struct conf *, const char *) = {
	[DRIVER_NATS] = bus_new,
	[DRIVER_HTTP] = http_new,
	[DRIVER_STDOUT] = stdout_new,
	[DRIVER_DISCARD] = discard_new,
};

struct pub
drivers_new(const struct conf *c, const char *name)
{
	struct pub	 pubs[CONF_DRIVERS] = { { NULL, NULL } };
	struct pub	*one = NULL;
	size_t		 n = 0;

	for (size_t i = 0; i < CONF_DRIVERS; i++) {
		if (!conf_uses_driver(c, (enum conf_driver)i))
			continue;
		pubs[i] = makers[i](c, name);
		one = &pubs[i];
		n++;
	}
	return n == 1 ? *one : several_new(pubs);
}

struct pub
drivers_new_asked(const struct conf *c, const char *name)
{
	if (!conf_uses_driver(c, DRIVER_NATS) || c->nats.core)
		return (struct pub){ NULL, NULL };
	return bus_new(c, name);
}
