/* drivers.c - see drivers.h */

#include "drivers/drivers.h"

#include "http/http.h"
#include "kafka/kafka.h"
#include "local/local.h"
#include "nats/bus.h"

static const struct {
	struct pub	(*make)(const struct conf *, const char *);
	int		(*check)(const struct conf *, struct err *);
} drivers[CONF_DRIVERS] = {
	[DRIVER_NATS] = { bus_new, NULL },
	[DRIVER_HTTP] = { http_new, NULL },
	[DRIVER_KAFKA] = { kafka_new, kafka_check },
	[DRIVER_STDOUT] = { stdout_new, NULL },
	[DRIVER_DISCARD] = { discard_new, NULL },
};

int
drivers_check(const struct conf *c, struct err *e)
{
	for (size_t i = 0; i < CONF_DRIVERS; i++)
		if (conf_uses_driver(c, (enum conf_driver)i) &&
		    drivers[i].check != NULL && drivers[i].check(c, e) < 0)
			return -1;
	return 0;
}

size_t
drivers_new(struct pub pubs[CONF_DRIVERS], const struct conf *c,
    const char *name)
{
	for (size_t i = 0; i < CONF_DRIVERS; i++)
		pubs[i] = conf_uses_driver(c, (enum conf_driver)i) ?
		    drivers[i].make(c, name) : (struct pub){ NULL, NULL };
	return DRIVER_NATS;
}

struct pub
drivers_new_first(const struct conf *c, const char *name)
{
	size_t	i = 0;

	while (i < CONF_DRIVERS - 1 &&
	    !conf_uses_driver(c, (enum conf_driver)i))
		i++;
	return drivers[i].make(c, name);
}

struct pub
drivers_new_asked(const struct conf *c, const char *name)
{
	if (!conf_uses_nats(c) || c->nats.core)
		return (struct pub){ NULL, NULL };
	return bus_new(c, name);
}

void
drivers_new_searched(struct pub pubs[CONF_DRIVERS], const struct conf *c,
    const char *name)
{
	for (size_t i = 0; i < CONF_DRIVERS; i++)
		pubs[i] = (struct pub){ NULL, NULL };
	if (conf_uses_kafka(c))
		pubs[DRIVER_KAFKA] = kafka_new(c, name);
}
