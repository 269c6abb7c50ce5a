/* drivers.c - see drivers.h */

#include "drivers/drivers.h"

#include "http/http.h"
#include "kafka/kafka.h"
#include "local/local.h"
#include "nats/bus.h"

static struct pub (*const makers[])(const struct conf *, const char *) = {
	[DRIVER_NATS] = bus_new,
	[DRIVER_HTTP] = http_new,
	[DRIVER_KAFKA] = kafka_new,
	[DRIVER_STDOUT] = stdout_new,
	[DRIVER_DISCARD] = discard_new,
};

size_t
drivers_new(struct pub pubs[CONF_DRIVERS], const struct conf *c,
    const char *name)
{
	for (size_t i = 0; i < CONF_DRIVERS; i++)
		pubs[i] = conf_uses_driver(c, (enum conf_driver)i) ?
		    makers[i](c, name) : (struct pub){ NULL, NULL };
	return DRIVER_NATS;
}

struct pub
drivers_new_first(const struct conf *c, const char *name)
{
	size_t	i = 0;

	while (i < CONF_DRIVERS - 1 &&
	    !conf_uses_driver(c, (enum conf_driver)i))
		i++;
	return makers[i](c, name);
}

struct pub
drivers_new_asked(const struct conf *c, const char *name)
{
	if (!conf_uses_nats(c) || c->nats.core)
		return (struct pub){ NULL, NULL };
	return bus_new(c, name);
}
